/* Several stores on one server, each with its own connections as if in separate processes, perform
 * all kinds of operations on the same jobs. Afterwards no run was given to two, no job was
 * completed twice, no key has two live holders, and the store's check finds nothing.
 *
 * PAWL_TEST_SEED=N runs that seed only. The scheduling of the threads does not depend on the seed,
 * so it may take several runs to reproduce a failure. */
#include "support/ops.h"

#include "base/rng.h"

#include <pthread.h>

enum { STORES = 4, STEPS = 400, SEEDS = 3, RUNS_MAX = 64, RECENT = 96, KEYS = 6, LEDGER = 65536 };

struct crowd {
    pthread_mutex_t mutex;
    struct pawl_job_id recent[RECENT]; /* ids that anybody may meddle with */
    size_t recent_count;
    struct pawl_run claimed[LEDGER];
    size_t claimed_count;
    struct pawl_job_id completed[LEDGER];
    size_t completed_count;
};

struct worker {
    pthread_t thread;
    struct crowd *crowd;
    struct rig *rig;
    struct pawl__rng rng;
    uint64_t seed;
    uint32_t number, ids;
    struct pawl_run runs[RUNS_MAX]; /* that it holds, or has held */
    size_t run_count;
    char trouble[512];
};

static uint64_t below(struct worker *w, uint64_t n)
{
    return pawl__rng_below(&w->rng, n);
}

/* Own errors are part of the game; any other ends it. */
static enum pawl_err do_op(struct worker *w, struct pawl__op *op)
{
    struct pawl_diag diag = { 0 };
    op->diag = &diag;
    enum pawl_err err = pawl__store_do(w->rig->store, op);
    bool own = err == PAWL_OK || err == PAWL_ERR_NOT_FOUND || err == PAWL_ERR_EXISTS ||
               err == PAWL_ERR_DUPLICATE || err == PAWL_ERR_STATE || err == PAWL_ERR_STALE;
    if (!own && w->trouble[0] == '\0') {
        snprintf(w->trouble, sizeof w->trouble, "operation %d: %s: %s", (int)op->kind,
                 pawl_err_name(err), diag.text);
    }
    return err;
}

static struct pawl_job_id next_id(struct worker *w)
{
    int64_t ms = hand_clock_now(w->rig->clock);
    struct pawl_job_id id = { { 0 } };
    for (int i = 0; i < 6; i++)
        id.b[i] = (uint8_t)(ms >> (40 - 8 * i));
    id.b[6] = 0x70;
    id.b[8] = (uint8_t)(0x80 | w->number);
    for (int i = 0; i < 4; i++)
        id.b[12 + i] = (uint8_t)(w->ids >> (24 - 8 * i));
    w->ids++;
    return id;
}

static void publish(struct worker *w, struct pawl_job_id id)
{
    pthread_mutex_lock(&w->crowd->mutex);
    w->crowd->recent[w->crowd->recent_count++ % RECENT] = id;
    pthread_mutex_unlock(&w->crowd->mutex);
}

static struct pawl_job_id some_id(struct worker *w)
{
    pthread_mutex_lock(&w->crowd->mutex);
    size_t count = w->crowd->recent_count < RECENT ? w->crowd->recent_count : RECENT;
    struct pawl_job_id id = count > 0 ? w->crowd->recent[below(w, count)]
                                      : (struct pawl_job_id){ { 0 } };
    pthread_mutex_unlock(&w->crowd->mutex);
    return id;
}

static void step_submit(struct worker *w)
{
    static const char *const queues[] = { "a", "b" }, *const types[] = { "x", "y", "z" };
    struct pawl_job_spec specs[4] = { 0 };
    struct pawl__new_job jobs[4] = { 0 };
    struct pawl_submitted out[4];
    char names[4][8];
    size_t count = 1 + below(w, 4);
    for (size_t i = 0; i < count; i++) {
        specs[i] = (struct pawl_job_spec){ .type = types[below(w, 3)],
                                           .queue = queues[below(w, 2)],
                                           .args = span_of("[1]"),
                                           .priority = (int32_t)below(w, 3),
                                           .delay_ms = below(w, 4) == 0 ? 50 : 0,
                                           .expires_in_ms = below(w, 8) == 0 ? 200 : 0 };
        specs[i].retry.jitter = PAWL_JITTER_OFF;
        pawl__retry_resolve(&specs[i].retry);
        jobs[i] = (struct pawl__new_job){ .id = next_id(w), .spec = &specs[i] };
        if (below(w, 3) > 0) continue;
        snprintf(names[i], sizeof names[i], "key%d", (int)below(w, KEYS));
        specs[i].business_key = names[i];
        jobs[i].keys[0] = key_new(PAWL__KEY_BUSINESS, names[i]);
        jobs[i].keys[0].on_conflict = (enum pawl_conflict)(1 + below(w, 4));
        jobs[i].key_count = 1;
    }
    struct pawl__op op = { .kind = PAWL__OP_SUBMIT,
                           .submit = { .jobs = jobs, .count = count, .out = out } };
    if (do_op(w, &op) == PAWL_OK) {
        for (size_t i = 0; i < count; i++)
            publish(w, out[i].id);
    }
    pawl__arena_release(&op.arena);
}

static void step_claim(struct worker *w)
{
    static const char *const queues[] = { "b", "a" }, *const types[] = { "x", "z" };
    struct pawl__op op = { .kind = PAWL__OP_CLAIM,
                           .claim = { .queues = queues,
                                      .queue_count = 2,
                                      .types = types,
                                      .type_count = below(w, 3),
                                      .limit = 1 + (int64_t)below(w, 6),
                                      .worker = "crowd",
                                      .lease_ms = 100 } };
    if (do_op(w, &op) == PAWL_OK) {
        pthread_mutex_lock(&w->crowd->mutex);
        for (size_t i = 0; i < op.claim.job_count; i++) {
            struct pawl_run run = { op.claim.jobs[i].id, op.claim.jobs[i].run };
            w->runs[w->run_count++ % RUNS_MAX] = run;
            if (w->crowd->claimed_count < LEDGER)
                w->crowd->claimed[w->crowd->claimed_count++] = run;
        }
        pthread_mutex_unlock(&w->crowd->mutex);
    }
    pawl__arena_release(&op.arena);
}

static void step_finish(struct worker *w)
{
    size_t count = w->run_count < RUNS_MAX ? w->run_count : RUNS_MAX;
    if (count == 0) return;
    struct pawl_run run = w->runs[below(w, count)];
    struct pawl__op op = { .kind = PAWL__OP_COMPLETE, .complete = { .ref = run } };
    enum pawl_err result;
    switch (below(w, 6)) {
    case 0:
        op = (struct pawl__op){ .kind = PAWL__OP_FAIL,
                                .fail = { .ref = run, .report = { .type = "oops" } } };
        break;
    case 1:
        op = (struct pawl__op){ .kind = PAWL__OP_SNOOZE,
                                .snooze = { .ref = run, .delay_ms = (int64_t)below(w, 2) * 20 } };
        break;
    case 2:
        op = (struct pawl__op){
            .kind = PAWL__OP_EXTEND,
            .extend = { .refs = &run, .count = 1, .lease_ms = 100, .results = &result }
        };
        break;
    default:
        break;
    }
    bool completes = op.kind == PAWL__OP_COMPLETE;
    if (do_op(w, &op) == PAWL_OK && completes) {
        pthread_mutex_lock(&w->crowd->mutex);
        if (w->crowd->completed_count < LEDGER)
            w->crowd->completed[w->crowd->completed_count++] = run.id;
        pthread_mutex_unlock(&w->crowd->mutex);
    }
    pawl__arena_release(&op.arena);
}

static void step_meddle(struct worker *w)
{
    struct pawl_job_id id = some_id(w);
    struct pawl__op op = { .kind = PAWL__OP_CONTROL,
                           .control = { .id = id,
                                        .control = (enum pawl_control)(1 + below(w, 7)) } };
    if (below(w, 5) == 0)
        op = (struct pawl__op){ .kind = PAWL__OP_PRIORITY,
                                .priority = { .id = id, .priority = (int32_t)below(w, 5) } };
    (void)do_op(w, &op);
    pawl__arena_release(&op.arena);
}

static void step_sweep(struct worker *w)
{
    static const enum pawl__op_kind sweeps[] = { PAWL__OP_PROMOTE, PAWL__OP_LAPSE,
                                                 PAWL__OP_EXPIRE };
    hand_clock_advance(w->rig->clock, (int64_t)below(w, 30));
    struct pawl__op op = { .kind = sweeps[below(w, 3)], .sweep = { .limit = 50 } };
    if (below(w, 4) == 0)
        op = (struct pawl__op){ .kind = below(w, 2) ? PAWL__OP_ARCHIVE : PAWL__OP_PURGE,
                                .retire = {
                                    .states = TERMINAL_STATES, .age_ms = 500, .limit = 20 } };
    (void)do_op(w, &op);
    pawl__arena_release(&op.arena);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    int64_t steps = scaled(STEPS);
    for (int64_t i = 0; i < steps && w->trouble[0] == '\0'; i++) {
        uint64_t dice = below(w, 100);
        if (dice < 25)
            step_submit(w);
        else if (dice < 50)
            step_claim(w);
        else if (dice < 75)
            step_finish(w);
        else if (dice < 90)
            step_meddle(w);
        else
            step_sweep(w);
    }
    return NULL;
}

static int compare_runs(const void *a, const void *b)
{
    const struct pawl_run *left = a, *right = b;
    int way = memcmp(left->id.b, right->id.b, sizeof left->id.b);
    return way != 0 ? way : left->run < right->run ? -1 : left->run > right->run;
}

static int compare_ids(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct pawl_job_id));
}

static void judge(struct crowd *crowd, struct rig *rig)
{
    assert_true(crowd->claimed_count > 0 && crowd->completed_count > 0);
    qsort(crowd->claimed, crowd->claimed_count, sizeof *crowd->claimed, compare_runs);
    for (size_t i = 1; i < crowd->claimed_count; i++)
        assert_true(compare_runs(&crowd->claimed[i - 1], &crowd->claimed[i]) != 0);
    qsort(crowd->completed, crowd->completed_count, sizeof *crowd->completed, compare_ids);
    for (size_t i = 1; i < crowd->completed_count; i++)
        assert_true(compare_ids(&crowd->completed[i - 1], &crowd->completed[i]) != 0);
    for (int i = 0; i < KEYS; i++) {
        struct pawl_filter live = { .states = LIVE_STATES,
                                    .business_key = rig_text(rig, "key%d", i) };
        // REPLACE and the like leave one, and a dead letter that is paused does not count
        struct claimed holders = query_all(rig, &live, true);
        int64_t owners = 0;
        for (size_t k = 0; k < holders.count; k++)
            owners += holders.at[k].paused_from != PAWL_STATE_DISCARDED;
        assert_true(owners <= 1);
    }
    rig_check(rig);
}

static void run_seed(uint64_t seed, const struct store_kind *kind)
{
    static struct crowd crowd;
    static struct rig rigs[STORES];
    static struct worker workers[STORES];
    memset(&crowd, 0, sizeof crowd);
    pthread_mutex_init(&crowd.mutex, NULL);
    rig_open(&rigs[0], kind);
    for (int i = 1; i < STORES; i++)
        rig_open_peer(&rigs[i], &rigs[0]);
    for (int i = 0; i < STORES; i++) {
        workers[i] = (struct worker){
            .crowd = &crowd, .rig = &rigs[i], .seed = seed, .number = (uint32_t)i
        };
        pawl__rng_seed(&workers[i].rng, seed * 100 + (uint64_t)i);
        assert_int_equal(0, pthread_create(&workers[i].thread, NULL, work, &workers[i]));
    }
    for (int i = 0; i < STORES; i++)
        pthread_join(workers[i].thread, NULL);
    print_message("# seed %llu: %zu runs, %zu completed\n", (unsigned long long)seed,
                  crowd.claimed_count, crowd.completed_count);
    for (int i = 0; i < STORES; i++) {
        if (workers[i].trouble[0] != '\0') {
            fail_msg("%s (seed %llu)", workers[i].trouble, (unsigned long long)seed);
        }
    }
    judge(&crowd, &rigs[0]);
    for (int i = STORES - 1; i >= 0; i--)
        rig_close(&rigs[i]);
}

static void crowd_leaves_the_store_whole(void **state)
{
    (void)state;
    const char *chosen = getenv("PAWL_TEST_SEED");
    uint64_t first = chosen != NULL ? strtoull(chosen, NULL, 10) : 1;
    for (uint64_t seed = first; seed < first + (chosen != NULL ? 1 : SEEDS); seed++) {
        for (size_t k = 0; k < store_kind_count; k++) {
            if (store_kinds[k].served && store_kind_wanted(&store_kinds[k]))
                run_seed(seed, &store_kinds[k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(crowd_leaves_the_store_whole) };
    return cmocka_run_group_tests_name("crowd", tests, NULL, NULL);
}
