/* Lists of operations, drawn from a seed: posted together to one store, so that they share a
 * transaction, and one by one to another. All answers, and all that is known of each job, must be
 * the same.
 *
 *     batches_test                 the seeds of CI, on each store in turn
 *     PAWL_TEST_SEED=N batches_test    one seed by hand */
#include "base/rng.h"
#include "support/ops.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 40, ROUNDS = 60, OPS_MAX = 12, JOBS_MAX = 4000, KEYS = 4, SUBMIT_MAX = 4 };

struct pair {
    struct rig together, singly;
    struct pawl__rng rng;
    uint64_t seed;
    int round;
    struct pawl_job_id ids[JOBS_MAX];
    size_t count;
    char list[8192]; /* the operations of the round */
};

/* A job to be submitted. */
struct draw_job {
    struct pawl_job_id id;
    bool fresh, tagged;
    int64_t number;
    uint8_t keys[PAWL__KEYS_MAX]; /* one of each kind; 0: none */
    uint8_t on_conflict;
    uint8_t states; /* of the unique key */
};

/* One operation, before it is made for each of the stores. */
struct draw {
    enum pawl__op_kind kind;
    struct pawl_job_id id;
    int64_t run, number;
    enum pawl_control control;
    struct draw_job jobs[SUBMIT_MAX];
    size_t job_count;
};

static uint64_t below(struct pair *p, uint64_t bound)
{
    return pawl__rng_below(&p->rng, bound);
}

/* ---- drawing ---- */

static const uint8_t kinds[] = {
    PAWL__OP_SUBMIT,   PAWL__OP_SUBMIT,  PAWL__OP_SUBMIT,  PAWL__OP_COMPLETE, PAWL__OP_COMPLETE,
    PAWL__OP_COMPLETE, PAWL__OP_FAIL,    PAWL__OP_FAIL,    PAWL__OP_FAIL,     PAWL__OP_SNOOZE,
    PAWL__OP_SNOOZE,   PAWL__OP_CONTROL, PAWL__OP_CONTROL, PAWL__OP_CONTROL,  PAWL__OP_CONTROL,
    PAWL__OP_CONTROL,  PAWL__OP_CLAIM,   PAWL__OP_CLAIM,   PAWL__OP_ROUTE,    PAWL__OP_EXTEND,
    PAWL__OP_PRIORITY, PAWL__OP_DELETE,  PAWL__OP_LOG,     PAWL__OP_BULK,     PAWL__OP_PROMOTE,
    PAWL__OP_LAPSE,    PAWL__OP_EXPIRE,  PAWL__OP_ARCHIVE,
};

/* Mostly one of the newest, so that operations of a list meet. */
static struct pawl_job_id draw_id(struct pair *p)
{
    size_t recent = p->count < 12 ? p->count : 12;
    if (!p->count || below(p, 40) == 0) return rig_id(&p->together); // of no job
    return p->ids[p->count - 1 - below(p, below(p, 10) ? recent : p->count)];
}

/* Mostly with a fresh id; mostly without a key, else with one of a few, so that they meet. */
static struct draw_job draw_job(struct pair *p)
{
    struct draw_job job = { .id = rig_id(&p->together), .fresh = below(p, 3) > 0 };
    if (below(p, 20) == 0) {
        job.id = draw_id(p);
        job.fresh = false;
    }
    if (p->count < JOBS_MAX) p->ids[p->count++] = job.id;
    job.number = (int64_t)below(p, 3);
    job.tagged = below(p, 8) == 0;
    for (size_t i = 0; i < PAWL__KEYS_MAX; i++) {
        if (below(p, 3) == 0) job.keys[i] = (uint8_t)(1 + below(p, KEYS));
    }
    job.on_conflict = (uint8_t)below(p, 4);
    job.states = (uint8_t)below(p, 3);
    return job;
}

static struct draw draw_op(struct pair *p)
{
    struct draw d = { .kind = (enum pawl__op_kind)kinds[below(p, COUNT(kinds))] };
    d.id = draw_id(p);
    if (d.kind == PAWL__OP_SUBMIT) {
        size_t count = below(p, 3) ? 1 : 1 + below(p, SUBMIT_MAX);
        while (d.job_count < count)
            d.jobs[d.job_count++] = draw_job(p);
    }
    struct pawl_job job = { .run = 1 };
    if (job_exists(&p->singly, d.id)) job = job_get(&p->singly, d.id);
    d.run = job.run + (below(p, 8) == 0);
    d.number = (int64_t)below(p, 3);
    d.control = (enum pawl_control)(1 + below(p, PAWL_CONTROL_END - 1));
    return d;
}

/* ---- making ---- */

static const char *const queues[] = { "default" };
static const struct pawl_filter everything;

static void add_keys(struct rig *rig, const struct draw_job *d, struct pawl__new_job *job)
{
    static const enum pawl_conflict conflicts[] = { PAWL_CONFLICT_REJECT, PAWL_CONFLICT_IGNORE,
                                                    PAWL_CONFLICT_REPLACE,
                                                    PAWL_CONFLICT_REPLACE_EXCEPT_SCHEDULE };
    static const uint32_t states[] = { LIVE_STATES, PAWL_STATE_BIT(PAWL_STATE_AVAILABLE),
                                       LIVE_STATES | TERMINAL_STATES };
    for (int i = 0; i < PAWL__KEYS_MAX; i++) {
        if (!d->keys[i]) continue;
        enum pawl__key_kind kind = (enum pawl__key_kind)(i + 1);
        struct pawl__key key = key_new(kind, rig_text(rig, "key-%d", d->keys[i]));
        key.states = kind == PAWL__KEY_UNIQUE ? states[d->states] : LIVE_STATES;
        key.on_conflict = conflicts[d->on_conflict];
        if (kind == PAWL__KEY_IDEMPOTENCY) key.on_conflict = PAWL_CONFLICT_IGNORE;
        key.period_ms = kind == PAWL__KEY_BUSINESS || d->number == 0 ? 0 : 4000;
        job->keys[job->key_count++] = key;
    }
}

static void make_job(struct rig *rig, const struct draw_job *d, struct pawl__new_job *job)
{
    static const char *const tags[] = { "red", "round" };
    struct pawl_job_spec spec = { .id = &d->id,
                                  .delay_ms = d->number == 2 ? 5000 : 0,
                                  .expires_in_ms = d->number == 1 ? 20000 : 0,
                                  .retry = { .attempts_max = 2 } };
    if (d->tagged) {
        spec.tags = tags;
        spec.tag_count = COUNT(tags);
    }
    *job = job_new(rig, &spec);
    job->fresh_id = d->fresh;
    add_keys(rig, d, job);
}

static void make_submit(struct rig *rig, const struct draw *d, struct pawl__op *op)
{
    struct pawl__new_job *jobs = pawl__arena_calloc(&rig->arena, d->job_count, sizeof *jobs);
    struct pawl_submitted *out = pawl__arena_calloc(&rig->arena, d->job_count, sizeof *out);
    assert_true(jobs && out);
    for (size_t i = 0; i < d->job_count; i++)
        make_job(rig, &d->jobs[i], &jobs[i]);
    op->submit.jobs = jobs;
    op->submit.count = d->job_count;
    op->submit.out = out;
}

static void make_extend(struct rig *rig, const struct draw *d, struct pawl__op *op)
{
    struct pawl_run *ref = pawl__arena_calloc(&rig->arena, 1, sizeof *ref);
    enum pawl_err *result = pawl__arena_calloc(&rig->arena, 1, sizeof *result);
    assert_true(ref && result);
    *ref = (struct pawl_run){ d->id, d->run };
    op->extend.refs = ref;
    op->extend.count = 1;
    op->extend.lease_ms = LEASE_MS;
    op->extend.results = result;
}

static struct pawl__op make_op(struct rig *rig, const struct draw *d)
{
    struct pawl__op op = { .kind = d->kind };
    struct pawl_run ref = { d->id, d->run };
    switch (d->kind) {
    case PAWL__OP_SUBMIT:
        make_submit(rig, d, &op);
        break;
    case PAWL__OP_COMPLETE:
        op.complete.ref = ref;
        if (d->number) op.complete.result = span_of("{\"done\":true}");
        break;
    case PAWL__OP_FAIL:
        op.fail.ref = ref;
        op.fail.report = (struct pawl_report){ .code = "E", .lapse = d->number == 2 };
        break;
    case PAWL__OP_SNOOZE:
        op.snooze.ref = ref;
        op.snooze.delay_ms = d->number * 3000;
        break;
    case PAWL__OP_EXTEND:
        make_extend(rig, d, &op);
        break;
    case PAWL__OP_CONTROL:
        op.control.id = d->id;
        op.control.control = d->control;
        if (d->number == 2) op.control.by.reason = "because";
        break;
    case PAWL__OP_BULK:
        op.bulk.filter = &everything;
        op.bulk.control = d->control;
        op.bulk.limit = 3;
        break;
    case PAWL__OP_PRIORITY:
        op.priority.id = d->id;
        op.priority.priority = (int32_t)d->number;
        break;
    case PAWL__OP_DELETE:
        op.remove.id = d->id;
        break;
    case PAWL__OP_LOG:
        op.log.ref = ref;
        op.log.text = span_of("a line");
        break;
    case PAWL__OP_CLAIM:
    case PAWL__OP_ROUTE:
        op.claim.queues = queues;
        op.claim.queue_count = 1;
        op.claim.limit = 1 + d->number;
        op.claim.worker = WORKER;
        op.claim.lease_ms = 10000;
        break;
    case PAWL__OP_ARCHIVE:
        op.retire.states = TERMINAL_STATES;
        op.retire.age_ms = 5000;
        op.retire.limit = 5;
        break;
    default:
        op.sweep.limit = 3;
        break;
    }
    return op;
}

/* ---- running ---- */

struct waiter {
    pthread_mutex_t mutex;
    pthread_cond_t done;
    size_t left;
};

static void note_done(struct pawl__op *op)
{
    struct waiter *waiter = op->user;
    pthread_mutex_lock(&waiter->mutex);
    if (--waiter->left == 0) pthread_cond_signal(&waiter->done);
    pthread_mutex_unlock(&waiter->mutex);
}

static void run_together(struct rig *rig, struct pawl__op *ops, size_t count)
{
    struct waiter waiter = { .left = count };
    pthread_mutex_init(&waiter.mutex, NULL);
    pthread_cond_init(&waiter.done, NULL);
    for (size_t i = 0; i < count; i++) {
        ops[i].done = note_done;
        ops[i].user = &waiter;
        ops[i].next = i + 1 < count ? &ops[i + 1] : NULL;
    }
    pawl__store_post_list(rig->store, ops);
    pthread_mutex_lock(&waiter.mutex);
    while (waiter.left)
        pthread_cond_wait(&waiter.done, &waiter.mutex);
    pthread_mutex_unlock(&waiter.mutex);
    pthread_cond_destroy(&waiter.done);
    pthread_mutex_destroy(&waiter.mutex);
}

/* ---- comparing ---- */

#define X(name, text, ...) text,
static const char *const names[] = { PAWL__OPS(X) };
#undef X

static size_t job_number(const struct pair *p, struct pawl_job_id id)
{
    size_t job = p->count;
    while (job > 0 && !same_id(p->ids[job - 1], id))
        job--;
    return job;
}

/* For the list that a difference is shown with. */
static void describe(struct pair *p, size_t at, const struct draw *d)
{
    size_t len = at ? strlen(p->list) : 0;
    len += (size_t)snprintf(p->list + len, sizeof p->list - len,
                            "\n  %zu %s job %zu run %" PRId64 " number %" PRId64 " control %d", at,
                            names[d->kind], job_number(p, d->id), d->run, d->number,
                            (int)d->control);
    for (size_t i = 0; i < d->job_count && len < sizeof p->list; i++) {
        const struct draw_job *job = &d->jobs[i];
        len += (size_t)snprintf(p->list + len, sizeof p->list - len,
                                " [job %zu fresh %d number %" PRId64 " keys %d %d %d conflict %d"
                                " states %d]",
                                job_number(p, job->id), job->fresh, job->number, job->keys[0],
                                job->keys[1], job->keys[2], job->on_conflict, job->states);
    }
}

static void same(struct pair *p, size_t at, const struct pawl__op *op, const char *what, int64_t a,
                 int64_t b)
{
    if (a == b) return;
    fail_msg("PAWL_TEST_SEED=%" PRIu64 ", round %d, operation %zu, %s: %s is %" PRId64
             " together and %" PRId64 " one by one%s",
             p->seed, p->round, at, names[op->kind], what, a, b, p->list);
}

static void compare_claims(struct pair *p, size_t at, const struct pawl__op *a,
                           const struct pawl__op *b)
{
    same(p, at, a, "job_count", (int64_t)a->claim.job_count, (int64_t)b->claim.job_count);
    for (size_t i = 0; i < a->claim.job_count; i++) {
        same(p, at, a, "id", 0,
             memcmp(&a->claim.jobs[i].id, &b->claim.jobs[i].id, sizeof(struct pawl_job_id)));
        same(p, at, a, "run", a->claim.jobs[i].run, b->claim.jobs[i].run);
    }
}

static void compare_submitted(struct pair *p, size_t at, const struct pawl__op *op,
                              const struct pawl_submitted *a, const struct pawl_submitted *b)
{
    same(p, at, op, "id", 0, memcmp(&a->id, &b->id, sizeof a->id));
    same(p, at, op, "state", a->state, b->state);
    same(p, at, op, "replaced", a->replaced, b->replaced);
    same(p, at, op, "deduplicated", a->deduplicated, b->deduplicated);
}

static void compare_ops(struct pair *p, size_t at, const struct pawl__op *a,
                        const struct pawl__op *b)
{
    same(p, at, a, "err", a->err, b->err);
    if (a->kind == PAWL__OP_CONTROL) {
        same(p, at, a, "from", a->control.from, b->control.from);
        same(p, at, a, "to", a->control.to, b->control.to);
    }
    if (a->err && a->kind == PAWL__OP_SUBMIT) {
        same(p, at, a, "failed_index", (int64_t)a->submit.failed_index,
             (int64_t)b->submit.failed_index);
        if (a->err == PAWL_ERR_DUPLICATE)
            compare_submitted(p, at, a, &a->submit.holder, &b->submit.holder);
    }
    if (a->err) return;
    switch (a->kind) {
    case PAWL__OP_SUBMIT:
        for (size_t i = 0; i < a->submit.count; i++)
            compare_submitted(p, at, a, &a->submit.out[i], &b->submit.out[i]);
        break;
    case PAWL__OP_FAIL:
        same(p, at, a, "to", a->fail.to, b->fail.to);
        same(p, at, a, "due_at_ms", a->fail.due_at_ms, b->fail.due_at_ms);
        same(p, at, a, "attempt", a->fail.attempt, b->fail.attempt);
        same(p, at, a, "delay_ms", a->fail.delay_ms, b->fail.delay_ms);
        break;
    case PAWL__OP_EXTEND:
        same(p, at, a, "result", *a->extend.results, *b->extend.results);
        break;
    case PAWL__OP_BULK:
        same(p, at, a, "moved", a->bulk.moved, b->bulk.moved);
        break;
    case PAWL__OP_PROMOTE:
    case PAWL__OP_LAPSE:
    case PAWL__OP_EXPIRE:
        same(p, at, a, "moved", a->sweep.moved, b->sweep.moved);
        same(p, at, a, "next_at_ms", a->sweep.next_at_ms, b->sweep.next_at_ms);
        break;
    case PAWL__OP_CLAIM:
    case PAWL__OP_ROUTE:
        compare_claims(p, at, a, b);
        break;
    default:
        break;
    }
}

static void compare_jobs(struct pair *p)
{
    for (size_t i = 0; i < p->count; i++) {
        struct pawl_job_id id = p->ids[i];
        bool there = job_exists(&p->singly, id);
        if (there != job_exists(&p->together, id)) {
            fail_msg("seed %" PRIu64 ", round %d: job %zu is %sthere one by one", p->seed, p->round,
                     i, there ? "" : "not ");
        }
        if (!there) continue;
        const char *a = job_text(&p->together, id), *b = job_text(&p->singly, id);
        if (strcmp(a, b) == 0) continue;
        fail_msg("seed %" PRIu64 ", round %d: a job is, together:\n%s\nand one by one:\n%s",
                 p->seed, p->round, a, b);
    }
}

/* ---- the test ---- */

static void run_round(struct pair *p)
{
    struct draw draws[OPS_MAX];
    struct pawl__op a[OPS_MAX], b[OPS_MAX];
    size_t count = 1 + below(p, OPS_MAX);
    for (size_t i = 0; i < count; i++) {
        draws[i] = draw_op(p);
        describe(p, i, &draws[i]);
        a[i] = make_op(&p->together, &draws[i]);
        b[i] = make_op(&p->singly, &draws[i]);
    }
    run_together(&p->together, a, count);
    for (size_t i = 0; i < count; i++) {
        enum pawl_err err = pawl__store_do(p->singly.store, &b[i]);
        assert_int_equal(err, b[i].err);
        compare_ops(p, i, &a[i], &b[i]);
    }
    for (size_t i = 0; i < count; i++) {
        pawl__arena_release(&a[i].arena);
        pawl__arena_release(&b[i].arena);
    }
}

static void walk(struct pair *p)
{
    pawl__rng_seed(&p->rng, p->seed);
    for (p->round = 0; p->round < ROUNDS; p->round++) {
        run_round(p);
        int64_t by_ms = (int64_t)below(p, 6000);
        rig_advance(&p->together, by_ms);
        rig_advance(&p->singly, by_ms);
        if (p->round % 10 == 9) compare_jobs(p);
    }
    rig_check(&p->together);
    rig_check(&p->singly);
}

static void a_list_does_what_its_operations_do_one_by_one(void **state)
{
    (void)state;
    const char *chosen = getenv("PAWL_TEST_SEED");
    uint64_t first = chosen ? strtoull(chosen, NULL, 10) : 1;
    uint64_t last = chosen ? first : (uint64_t)scaled(SEEDS);
    for (size_t i = 0; i < store_kind_count; i++) {
        if (!store_kind_wanted(&store_kinds[i])) continue;
        for (uint64_t seed = first; seed <= last; seed++) {
            static struct pair pair;
            pair = (struct pair){ .seed = seed };
            rig_open(&pair.together, &store_kinds[i]);
            rig_open(&pair.singly, &store_kinds[i]);
            walk(&pair);
            rig_close(&pair.singly);
            rig_close(&pair.together);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_does_what_its_operations_do_one_by_one),
    };
    return cmocka_run_group_tests_name("batches", tests, NULL, NULL);
}
