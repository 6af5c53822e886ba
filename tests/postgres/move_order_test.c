/* A process that commits in several sessions at once: its watcher is notified of all moves of each
 * job, each once, in the order in which they happened. */
#include "postgres/session.h"
#include "support/ops.h"

#include <pthread.h>

enum { CALLERS = 6, ROUNDS = 12, JOBS = 300, ALL = CALLERS * ROUNDS * JOBS };

/* The last move that was told of a job, by the number that its id ends in. */
struct ledger {
    pthread_mutex_t mutex;
    uint8_t last[ALL];
    int64_t told, wrong, lost, unknown;
};

struct caller {
    pthread_t thread;
    struct rig *rig;
    uint32_t number;
    enum pawl_err err;
    struct pawl_diag diag;
    struct pawl_job_id ids[JOBS];
};

static struct pawl_job_id id_of(struct rig *rig, uint32_t number)
{
    int64_t ms = hand_clock_now(rig->clock);
    struct pawl_job_id id = { .b = { [6] = 0x70, [8] = 0x80 } };
    for (int i = 0; i < 6; i++)
        id.b[i] = (uint8_t)(ms >> (40 - 8 * i));
    for (int i = 0; i < 4; i++)
        id.b[12 + i] = (uint8_t)(number >> (24 - 8 * i));
    return id;
}

static uint32_t number_of(const struct pawl_job_id *id)
{
    return (uint32_t)id->b[12] << 24 | (uint32_t)id->b[13] << 16 | (uint32_t)id->b[14] << 8 |
           id->b[15];
}

static void hear(void *ctx, const struct pawl__notice *notice)
{
    struct ledger *ledger = ctx;
    pthread_mutex_lock(&ledger->mutex);
    ledger->lost += notice->lost;
    for (size_t i = 0; i < notice->move_count; i++) {
        const struct pawl__move *move = &notice->moves[i];
        uint32_t number = number_of(&move->id);
        ledger->told++;
        if (number >= ALL) {
            ledger->unknown++;
            continue;
        }
        ledger->wrong += ledger->last[number] != (uint8_t)move->from;
        ledger->last[number] = (uint8_t)move->to;
    }
    pthread_mutex_unlock(&ledger->mutex);
}

static void act(struct caller *caller, struct pawl__op *op)
{
    op->diag = &caller->diag;
    enum pawl_err err = pawl__store_do(caller->rig->store, op);
    if (err && err != PAWL_ERR_STALE && !caller->err) caller->err = err;
}

static void submit(struct caller *caller, int round)
{
    static const char *const types[] = { "x", "y", "z" };
    struct pawl_job_spec spec = { .type = types[round % 3], .queue = "q", .args = { "[1]", 3 } };
    pawl__retry_resolve(&spec.retry);
    struct pawl__new_job jobs[JOBS];
    struct pawl_submitted out[JOBS];
    for (uint32_t i = 0; i < JOBS; i++) {
        uint32_t number = (caller->number * ROUNDS + (uint32_t)round) * JOBS + i;
        jobs[i] = (struct pawl__new_job){ .id = id_of(caller->rig, number),
                                          .fresh_id = round % 2 == 0,
                                          .spec = &spec };
    }
    struct pawl__op op = { .kind = PAWL__OP_SUBMIT,
                           .submit = { .jobs = jobs, .count = JOBS, .out = out } };
    act(caller, &op);
    pawl__arena_release(&op.arena);
}

/* Whoever submitted them. Some are given back, some completed, and of those some too late. */
static void claim_and_finish(struct caller *caller)
{
    static const char *const queues[] = { "q" };
    struct pawl__op claim = { .kind = PAWL__OP_CLAIM,
                              .claim = { .queues = queues,
                                         .queue_count = 1,
                                         .limit = JOBS,
                                         .worker = "told",
                                         .lease_ms = 3600000 } };
    act(caller, &claim);
    for (size_t i = 0; i < claim.claim.job_count; i++) {
        const struct pawl_job *job = &claim.claim.jobs[i];
        if (job->run > 1 || i % 32) continue;
        struct pawl__op back = { .kind = PAWL__OP_SNOOZE,
                                 .snooze = { .ref = { job->id, job->run } } };
        act(caller, &back);
        pawl__arena_release(&back.arena);
    }
    for (size_t i = 0; i < claim.claim.job_count; i += 16) {
        const struct pawl_job *job = &claim.claim.jobs[i];
        struct pawl__op done = { .kind = PAWL__OP_COMPLETE,
                                 .complete = { .ref = { job->id, job->run } } };
        act(caller, &done);
        pawl__arena_release(&done.arena);
    }
    pawl__arena_release(&claim.arena);
}

static void *work(void *arg)
{
    struct caller *caller = arg;
    for (int round = 0; round < ROUNDS && !caller->err; round++) {
        submit(caller, round);
        if (round % 2) claim_and_finish(caller);
    }
    return NULL;
}

static void moves_are_told_in_order(void **state)
{
    (void)state;
    static struct caller callers[CALLERS];
    static struct ledger ledger = { .mutex = PTHREAD_MUTEX_INITIALIZER };
    struct rig rig;
    rig_open(&rig, session_kind());
    assert_ok(&rig, pawl__store_watch(rig.store, hear, &ledger, true, &rig.diag));
    for (uint32_t i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){ .rig = &rig, .number = i };
        assert_int_equal(0, pthread_create(&callers[i].thread, NULL, work, &callers[i]));
    }
    for (int i = 0; i < CALLERS; i++) {
        assert_int_equal(0, pthread_join(callers[i].thread, NULL));
    }
    for (int i = 0; i < CALLERS; i++) {
        if (callers[i].err) fail_msg("%s", callers[i].diag.text);
    }
    assert_ok(&rig, pawl__store_watch(rig.store, NULL, NULL, false, &rig.diag));
    assert_i64(0, ledger.lost);
    assert_i64(0, ledger.unknown);
    assert_i64(0, ledger.wrong);
    assert_true(ledger.told > ALL);
    rig_check(&rig);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(moves_are_told_in_order) };
    return cmocka_run_group_tests_name("told", tests, NULL, NULL);
}
