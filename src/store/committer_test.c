/* The committer in front of a backend that does what a script says: nothing is stored, so what is
 * seen here is the committer's doing alone.
 *
 * The backend's functions and the answers run on the committer's thread, where nothing may be
 * asserted: they take notes, and the test's thread reads them. */
#include "store/committer.h"

#include "base/clock.h"
#include "base/diag.h"

#include <sched.h>
#include <stdatomic.h>

#include "base/test_kit.h"

enum { CALLS_MAX = 64 };

/* The scripted backend. What call n of apply says, and how long it takes, is set beforehand. */
struct pawl__backend {
    struct pawl__wake wake; /* first: it is its own way to tell others */
    _Atomic int64_t *mono_us;
    enum pawl_err says[CALLS_MAX];
    int64_t takes_us[CALLS_MAX];
    bool busy_at_times;                   /* every seventh call says BUSY */
    struct pawl__notice tells[CALLS_MAX]; /* with at_ms set: what it has to tell */

    struct pawl__mutex mutex;
    struct pawl__cond moved;
    /* guarded by mutex: */
    bool held;   /* apply stays inside until it is let go */
    bool inside; /* apply is under way */
    int begun;
    size_t sizes[CALLS_MAX]; /* operations in each call of apply */
    size_t largest;
    enum pawl_err reopen_says;
    int reopens;
    int64_t applied;
    int64_t answered;
    bool all_moves_asked;
    int heard; /* calls of the watcher */
    struct pawl__notice heard_last;
    int64_t heard_after; /* answers that were given before */
    bool heard_held;     /* the watcher stays inside until it is let go */
    bool heard_inside;
    struct pawl__notice others[CALLS_MAX]; /* what other processes were told */
    int other_count;
};

struct stage {
    struct pawl__backend backend;
    _Atomic int64_t mono_us;
    struct pawl_clock clock;
    struct pawl__committer committer;
};

/* An operation and what became of it. The notes are guarded by the backend's mutex. */
struct act {
    struct pawl__op op;
    struct stage *stage;
    enum pawl_err own_err; /* what apply finds for it */
    struct act *then;      /* posted by the answer */
    bool disposable;       /* freed by the answer */
    struct pawl_diag diag;
    int call; /* of apply, from 1; 0: never applied */
    int64_t applied_as, answered_as;
    int answers;
    bool early;   /* answered while apply was under way, or not applied at all */
    bool chained; /* as apply saw it */
};

static enum pawl_err script_apply(struct pawl__backend *backend, struct pawl__op **ops,
                                  size_t count, struct pawl_diag *diag)
{
    pawl__lock(&backend->mutex);
    int call = backend->begun++;
    if (call < CALLS_MAX) backend->sizes[call] = count;
    if (count > backend->largest) backend->largest = count;
    backend->inside = true;
    pawl__cond_broadcast(&backend->moved);
    while (backend->held) {
        pawl__cond_wait(&backend->moved, &backend->mutex);
    }
    for (size_t i = 0; i < count; i++) {
        struct act *act = ops[i]->user;
        ops[i]->err = act->own_err;
        act->call = call + 1;
        act->chained = ops[i]->chained;
        act->applied_as = backend->applied++;
    }
    enum pawl_err err = call < CALLS_MAX ? backend->says[call] : PAWL_OK;
    if (backend->busy_at_times && call % 7 == 3) err = PAWL_ERR_BUSY;
    if (call < CALLS_MAX) atomic_fetch_add(backend->mono_us, backend->takes_us[call]);
    backend->inside = false;
    pawl__unlock(&backend->mutex);
    return err ? pawl__fail(diag, err, "call %d of apply failed", call + 1) : PAWL_OK;
}

static enum pawl_err script_reopen(struct pawl__backend *backend, struct pawl_diag *diag)
{
    pawl__lock(&backend->mutex);
    int number = ++backend->reopens;
    enum pawl_err err = backend->reopen_says;
    pawl__unlock(&backend->mutex);
    return err ? pawl__fail(diag, err, "reopening %d failed", number) : PAWL_OK;
}

static void script_note(struct pawl__backend *backend, bool all_moves)
{
    pawl__lock(&backend->mutex);
    backend->all_moves_asked = all_moves;
    pawl__unlock(&backend->mutex);
}

static bool script_told(struct pawl__backend *backend, struct pawl__notice *out)
{
    pawl__lock(&backend->mutex);
    int call = backend->begun - 1;
    pawl__unlock(&backend->mutex);
    if (call >= CALLS_MAX || !backend->tells[call].at_ms) return false;
    *out = backend->tells[call];
    return true;
}

static void script_tell(struct pawl__wake *wake, const struct pawl__notice *notice)
{
    struct pawl__backend *backend = (struct pawl__backend *)wake;
    pawl__lock(&backend->mutex);
    if (backend->other_count < CALLS_MAX) backend->others[backend->other_count++] = *notice;
    pawl__unlock(&backend->mutex);
}

static const struct pawl__backend_table script_table = {
    .scheme = "script:",
    .apply = script_apply,
    .reopen = script_reopen,
    .note = script_note,
    .told = script_told,
};

static const struct pawl__wake_table script_wake = { .tell = script_tell };

static void note_answer(struct pawl__op *op)
{
    struct act *act = op->user;
    struct stage *stage = act->stage;
    struct pawl__backend *backend = &stage->backend;
    pawl__lock(&backend->mutex);
    act->answers++;
    act->early = backend->inside || !act->call;
    act->answered_as = backend->answered++;
    struct act *then = act->then;
    bool disposable = act->disposable;
    pawl__cond_broadcast(&backend->moved);
    pawl__unlock(&backend->mutex);
    if (disposable) free(act);
    if (then) pawl__committer_post(&stage->committer, &then->op);
}

static int64_t read_mono(void *ctx)
{
    return atomic_load(&((struct stage *)ctx)->mono_us);
}

static struct stage *stage_new(void)
{
    struct stage *stage = calloc(1, sizeof *stage);
    assert_non_null(stage);
    stage->mono_us = 5000000;
    stage->clock = (struct pawl_clock){ .wall_ms = read_mono, .mono_us = read_mono, .ctx = stage };
    stage->backend.mono_us = &stage->mono_us;
    pawl__mutex_init(&stage->backend.mutex);
    pawl__cond_init(&stage->backend.moved);
    stage->backend.wake.table = &script_wake;
    assert_int_equal(pawl__committer_open(&stage->committer, &script_table, &stage->backend,
                                          &stage->backend.wake, &stage->clock, NULL),
                     PAWL_OK);
    return stage;
}

static void stage_free(struct stage *stage)
{
    pawl__cond_release(&stage->backend.moved);
    pawl__mutex_release(&stage->backend.mutex);
    free(stage);
}

static void stage_close(struct stage *stage)
{
    pawl__committer_close(&stage->committer);
    stage_free(stage);
}

static void hold(struct stage *stage, bool held)
{
    pawl__lock(&stage->backend.mutex);
    stage->backend.held = held;
    pawl__cond_broadcast(&stage->backend.moved);
    pawl__unlock(&stage->backend.mutex);
}

static void wait_until_begun(struct stage *stage, int calls)
{
    pawl__lock(&stage->backend.mutex);
    while (stage->backend.begun < calls) {
        pawl__cond_wait(&stage->backend.moved, &stage->backend.mutex);
    }
    pawl__unlock(&stage->backend.mutex);
}

static void wait_until_answered(struct stage *stage, int64_t count)
{
    pawl__lock(&stage->backend.mutex);
    while (stage->backend.answered < count) {
        pawl__cond_wait(&stage->backend.moved, &stage->backend.mutex);
    }
    pawl__unlock(&stage->backend.mutex);
}

static int64_t answered(struct stage *stage)
{
    pawl__lock(&stage->backend.mutex);
    int64_t count = stage->backend.answered;
    pawl__unlock(&stage->backend.mutex);
    return count;
}

static struct pawl__store_counters counters_of(struct stage *stage)
{
    pawl__lock(&stage->committer.mutex);
    struct pawl__store_counters counters = stage->committer.counters;
    pawl__unlock(&stage->committer.mutex);
    return counters;
}

/* Ready to be posted: an operation that weighs 1. */
static void act_init(struct act *act, struct stage *stage)
{
    *act = (struct act){ .stage = stage };
    act->op = (struct pawl__op){
        .kind = PAWL__OP_COMPLETE, .diag = &act->diag, .done = note_answer, .user = act
    };
}

static struct act *acts_new(struct stage *stage, size_t count)
{
    struct act *acts = calloc(count, sizeof *acts);
    assert_non_null(acts);
    for (size_t i = 0; i < count; i++) {
        act_init(&acts[i], stage);
    }
    return acts;
}

static void post(struct act *act)
{
    pawl__committer_post(&act->stage->committer, &act->op);
}

static void post_list(struct act *acts, size_t count)
{
    for (size_t i = 0; i + 1 < count; i++) {
        acts[i].op.next = &acts[i + 1].op;
    }
    post(&acts[0]);
}

/* Post, wait, and say what came of it. */
static enum pawl_err perform(struct stage *stage, struct act *act)
{
    act_init(act, stage);
    int64_t before = answered(stage);
    post(act);
    wait_until_answered(stage, before + 1);
    return act->op.err;
}

/* ---- answers ---- */

static void answers_come_after_the_commit(void **state)
{
    struct stage *stage = stage_new();
    struct act *acts = acts_new(stage, 3);
    hold(stage, true);
    post_list(acts, 3);
    wait_until_begun(stage, 1);
    assert_int_equal(answered(stage), 0);
    hold(stage, false);
    wait_until_answered(stage, 3);
    for (int i = 0; i < 3; i++) {
        assert_false(acts[i].early);
        assert_int_equal(acts[i].op.err, PAWL_OK);
    }
    stage_close(stage);
    free(acts);
}

/* Some alone, some in lists. */
static void each_is_applied_and_answered_once_and_in_order(void **state)
{
    enum { ACTS = 5000 };
    struct stage *stage = stage_new();
    struct act *acts = acts_new(stage, ACTS);
    for (int at = 0, len = 1; at < ACTS; at += len, len = len % 9 + 1) {
        post_list(&acts[at], (size_t)(at + len < ACTS ? len : ACTS - at));
    }
    wait_until_answered(stage, ACTS);
    stage_close(stage); // whatever would be answered twice has been by now
    for (int i = 0; i < ACTS; i++) {
        assert_int_equal(acts[i].answers, 1);
        assert_int_equal(acts[i].applied_as, i);
        assert_int_equal(acts[i].answered_as, i);
    }
    free(acts);
}

static void own_errors_are_not_the_neighbours(void **state)
{
    struct stage *stage = stage_new();
    struct act *acts = acts_new(stage, 3);
    acts[1].own_err = PAWL_ERR_STALE;
    post_list(acts, 3);
    wait_until_answered(stage, 3);
    assert_int_equal(acts[0].op.err, PAWL_OK);
    assert_int_equal(acts[1].op.err, PAWL_ERR_STALE);
    assert_int_equal(acts[2].op.err, PAWL_OK);
    assert_int_equal(counters_of(stage).commits, 1);
    assert_int_equal(counters_of(stage).ops, 3);
    stage_close(stage);
    free(acts);
}

static void answer_may_post_the_next(void **state)
{
    enum { LINKS = 1000 };
    struct stage *stage = stage_new();
    struct act *acts = acts_new(stage, LINKS);
    for (int i = 0; i + 1 < LINKS; i++) {
        acts[i].then = &acts[i + 1];
    }
    post(&acts[0]);
    wait_until_answered(stage, LINKS);
    stage_close(stage);
    for (int i = 0; i < LINKS; i++) {
        assert_int_equal(acts[i].answers, 1);
        assert_int_equal(acts[i].call, i + 1);
    }
    free(acts);
}

/* Seen by AddressSanitizer. */
static void answer_may_free_the_operation(void **state)
{
    enum { ACTS = 300 };
    struct stage *stage = stage_new();
    for (int i = 0; i < ACTS; i++) {
        struct act *act = acts_new(stage, 1);
        act->disposable = true;
        act->op.diag = NULL;
        post(act);
    }
    wait_until_answered(stage, ACTS);
    stage_close(stage);
}

/* ---- batches ---- */

static void what_waits_shares_the_next_commit(void **state)
{
    struct stage *stage = stage_new();
    struct act *acts = acts_new(stage, 11);
    hold(stage, true);
    post(&acts[0]);
    wait_until_begun(stage, 1);
    for (int i = 1; i < 11; i++) {
        post(&acts[i]);
    }
    hold(stage, false);
    wait_until_answered(stage, 11);
    assert_int_equal(stage->backend.begun, 2);
    assert_int_equal(stage->backend.sizes[0], 1);
    assert_int_equal(stage->backend.sizes[1], 10);
    stage_close(stage);
    free(acts);
}

static void lists_are_marked_as_such(void **state)
{
    struct stage *stage = stage_new();
    struct act *acts = acts_new(stage, 4);
    post_list(acts, 3);
    post(&acts[3]);
    wait_until_answered(stage, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(acts[i].chained, i < 3);
    }
    post(&acts[1]); // it was in a list before
    wait_until_answered(stage, 5);
    assert_false(acts[1].chained);
    stage_close(stage);
    free(acts);
}

/* Make the operation one of `size` rows; false: its kind always weighs 1. */
static bool set_size(struct pawl__op *op, int64_t size)
{
    switch (op->kind) {
    case PAWL__OP_SUBMIT:
        op->submit.count = (size_t)size;
        return true;
    case PAWL__OP_CLAIM:
    case PAWL__OP_ROUTE:
        op->claim.limit = size;
        return true;
    case PAWL__OP_EXTEND:
        op->extend.count = (size_t)size;
        return true;
    case PAWL__OP_BULK:
        op->bulk.limit = size;
        return true;
    case PAWL__OP_PROMOTE:
    case PAWL__OP_LAPSE:
    case PAWL__OP_EXPIRE:
    case PAWL__OP_SETTLE:
        op->sweep.limit = size;
        return true;
    case PAWL__OP_ARCHIVE:
    case PAWL__OP_PURGE:
        op->retire.limit = size;
        return true;
    default:
        return false;
    }
}

static void every_kind_weighs_what_it_touches(void **state)
{
    for (int kind = 0; kind < PAWL__OP_END; kind++) {
        struct stage *stage = stage_new();
        struct act act;
        act_init(&act, stage);
        act.op.kind = (enum pawl__op_kind)kind;
        int64_t weight = set_size(&act.op, 37) ? 37 : 1;
        post(&act);
        wait_until_answered(stage, 1);
        assert_int_equal(counters_of(stage).rows, weight);
        stage_close(stage);
    }
}

enum { BATCHED_MAX = 8 };

/* Submits of these weights, all waiting at once, go into commits of these many operations. */
static void expect_batches(const size_t *weights, size_t count, const size_t *sizes, bool listed)
{
    struct stage *stage = stage_new();
    struct act *acts = acts_new(stage, count + 1);
    hold(stage, true);
    post(&acts[count]); // keeps the committer busy while the others come
    wait_until_begun(stage, 1);
    int64_t rows = 1;
    for (size_t i = 0; i < count; i++) {
        acts[i].op.kind = PAWL__OP_SUBMIT;
        acts[i].op.submit.count = weights[i];
        rows += (int64_t)weights[i];
        if (!listed) post(&acts[i]);
    }
    if (listed) post_list(acts, count);
    hold(stage, false);
    wait_until_answered(stage, (int64_t)count + 1);
    size_t calls = 0;
    for (; calls < BATCHED_MAX && sizes[calls]; calls++) {
        assert_int_equal(stage->backend.sizes[calls + 1], sizes[calls]);
    }
    assert_int_equal(stage->backend.begun, calls + 1);
    assert_int_equal(counters_of(stage).rows, rows);
    stage_close(stage);
    free(acts);
}

static void batches_are_bounded_by_weight(void **state)
{
    enum { FULL = PAWL__COMMIT_WEIGHT_MAX };
    static const struct {
        size_t weights[BATCHED_MAX];
        size_t count;
        size_t sizes[BATCHED_MAX];
    } rows[] = {
        { { FULL - 1, 1, 1 }, 3, { 2, 1 } },              // exactly full
        { { FULL, 1 }, 2, { 1, 1 } },                     //
        { { FULL - 1, 2, FULL - 2, 1 }, 4, { 1, 2, 1 } }, // one too many waits
        { { FULL + 1, 1 }, 2, { 1, 1 } },                 // too large for any: alone
        { { 1, 5 * FULL, 1 }, 3, { 1, 1, 1 } },           //
        { { 10 * FULL, 10 * FULL, 1, 1 }, 4, { 1, 1, 2 } },
        { { 0, FULL, 0, 0, 1 }, 5, { 4, 1 } },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        expect_batches(rows[i].weights, rows[i].count, rows[i].sizes, false);
        expect_batches(rows[i].weights, rows[i].count, rows[i].sizes, true);
    }
}

/* What weighs nothing still takes a place. */
static void batches_are_bounded_by_number(void **state)
{
    static const size_t weights[2 * PAWL__COMMIT_WEIGHT_MAX + 5] = { 0 };
    static const size_t sizes[BATCHED_MAX] = { PAWL__COMMIT_WEIGHT_MAX, PAWL__COMMIT_WEIGHT_MAX,
                                               5 };
    expect_batches(weights, COUNT(weights), sizes, true);
}

/* ---- failures ---- */

static void failed_transaction_is_told_to_all(void **state)
{
    struct stage *stage = stage_new();
    struct act *acts = acts_new(stage, 4);
    stage->backend.says[0] = PAWL_ERR_FULL;
    acts[1].own_err = PAWL_ERR_STALE; // found, then undone with the rest
    acts[2].op.diag = NULL;
    post_list(acts, 4);
    wait_until_answered(stage, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(acts[i].op.err, PAWL_ERR_FULL);
        if (!acts[i].op.diag) continue;
        assert_int_equal(acts[i].diag.err, PAWL_ERR_FULL);
        assert_string_equal(acts[i].diag.text, "call 1 of apply failed");
    }
    assert_int_equal(acts[2].diag.err, PAWL_OK); // not ours to write
    stage_close(stage);
    free(acts);
}

static void only_the_storage_leaves_doubt(void **state)
{
    for (int err = PAWL_OK + 1; err < PAWL_ERR_END; err++) {
        bool doubt = err == PAWL_ERR_FULL || err == PAWL_ERR_IO || err == PAWL_ERR_CORRUPT ||
                     err == PAWL_ERR_READONLY;
        struct stage *stage = stage_new();
        struct act act;
        stage->backend.says[0] = (enum pawl_err)err;
        assert_int_equal(perform(stage, &act), err);
        assert_int_equal(perform(stage, &act), doubt ? PAWL_ERR_UNSAFE : PAWL_OK);
        assert_int_equal(stage->backend.begun, doubt ? 1 : 2);
        assert_int_equal(stage->backend.reopens, 0);
        stage_close(stage);
    }
}

static void nothing_is_written_until_reopened(void **state)
{
    struct stage *stage = stage_new();
    struct act act;
    stage->backend.says[0] = PAWL_ERR_IO;
    stage->backend.takes_us[0] = 700;
    stage->backend.reopen_says = PAWL_ERR_CORRUPT;
    assert_int_equal(perform(stage, &act), PAWL_ERR_IO);
    assert_int_equal(perform(stage, &act), PAWL_ERR_UNSAFE);
    assert_int_equal(act.diag.err, PAWL_ERR_UNSAFE);
    assert_non_null(strstr(act.diag.text, "call 1 of apply failed")); // it says why

    atomic_fetch_add(&stage->mono_us, 999999); // a second counts from the end of the failure
    assert_int_equal(perform(stage, &act), PAWL_ERR_UNSAFE);
    assert_int_equal(stage->backend.reopens, 0);
    atomic_fetch_add(&stage->mono_us, 1);
    assert_int_equal(perform(stage, &act), PAWL_ERR_UNSAFE);
    assert_int_equal(stage->backend.reopens, 1);
    assert_non_null(strstr(act.diag.text, "reopening 1 failed"));

    atomic_fetch_add(&stage->mono_us, 999999); // and from the last attempt
    assert_int_equal(perform(stage, &act), PAWL_ERR_UNSAFE);
    assert_int_equal(stage->backend.reopens, 1);
    stage->backend.reopen_says = PAWL_OK;
    assert_int_equal(perform(stage, &act), PAWL_ERR_UNSAFE);
    assert_int_equal(stage->backend.reopens, 1);
    assert_int_equal(stage->backend.begun, 1); // nothing was applied all that time

    atomic_fetch_add(&stage->mono_us, 1);
    assert_int_equal(perform(stage, &act), PAWL_OK);
    assert_int_equal(stage->backend.reopens, 2);
    assert_int_equal(stage->backend.begun, 2);
    assert_int_equal(perform(stage, &act), PAWL_OK); // without further ado
    assert_int_equal(stage->backend.reopens, 2);
    assert_int_equal(counters_of(stage).reopened, 1);
    stage_close(stage);
}

static void doubt_may_come_back(void **state)
{
    struct stage *stage = stage_new();
    struct act act;
    for (int i = 0; i < 3; i++) {
        stage->backend.says[i] = PAWL_ERR_IO;
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(perform(stage, &act), PAWL_ERR_IO); // reopened, and failed again
        assert_int_equal(perform(stage, &act), PAWL_ERR_UNSAFE);
        atomic_fetch_add(&stage->mono_us, 1000000);
    }
    assert_int_equal(perform(stage, &act), PAWL_OK);
    struct pawl__store_counters counters = counters_of(stage);
    assert_int_equal(counters.reopened, 3);
    assert_int_equal(counters.failed_commits, 3);
    assert_int_equal(counters.commits, 1);
    stage_close(stage);
}

/* ---- closing ---- */

static void *close_committer(void *arg)
{
    pawl__committer_close(&((struct stage *)arg)->committer);
    return NULL;
}

static void closing_answers_all_that_was_posted(void **state)
{
    enum { ACTS = 100 };
    struct stage *stage = stage_new();
    struct act *acts = acts_new(stage, ACTS);
    hold(stage, true);
    for (int i = 0; i < ACTS; i++) {
        acts[i].op.kind = PAWL__OP_SUBMIT;
        acts[i].op.submit.count = 1000; // fifty commits
        post(&acts[i]);
    }
    pthread_t closer;
    assert_int_equal(pthread_create(&closer, NULL, close_committer, stage), 0);
    hold(stage, false);
    assert_int_equal(pthread_join(closer, NULL), 0);
    for (int i = 0; i < ACTS; i++) {
        assert_int_equal(acts[i].answers, 1);
        assert_int_equal(acts[i].op.err, PAWL_OK);
        assert_false(acts[i].early);
    }
    stage_free(stage);
    free(acts);
}

static void closing_in_doubt_refuses_what_was_posted(void **state)
{
    struct stage *stage = stage_new();
    struct act *acts = acts_new(stage, 6);
    stage->backend.says[0] = PAWL_ERR_READONLY;
    hold(stage, true);
    post(&acts[0]);
    wait_until_begun(stage, 1);
    post_list(&acts[1], 5);
    hold(stage, false);
    pawl__committer_close(&stage->committer);
    assert_int_equal(acts[0].op.err, PAWL_ERR_READONLY);
    for (int i = 1; i < 6; i++) {
        assert_int_equal(acts[i].answers, 1);
        assert_int_equal(acts[i].op.err, PAWL_ERR_UNSAFE);
        assert_int_equal(acts[i].call, 0);
    }
    stage_free(stage);
    free(acts);
}

static void closes_when_nothing_ever_came(void **state)
{
    for (int i = 0; i < 50; i++) {
        stage_close(stage_new());
    }
}

/* ---- counters ---- */

static void counters_are_exact(void **state)
{
    static const struct {
        size_t acts;
        enum pawl_err says;
        int64_t takes_us;
    } calls[] = { { 3, PAWL_OK, 250 }, { 7, PAWL_ERR_BUSY, 9000 }, { 1, PAWL_OK, 1000 },
                  { 5, PAWL_OK, 0 },   { 2, PAWL_ERR_NOMEM, 1 },   { 4, PAWL_OK, 400 } };
    struct stage *stage = stage_new();
    struct pawl__store_counters want = { .commit_us_max = 1000, .batch_max = 5 };
    for (size_t i = 0; i < COUNT(calls); i++) {
        struct act *acts = acts_new(stage, calls[i].acts);
        stage->backend.says[i] = calls[i].says;
        stage->backend.takes_us[i] = calls[i].takes_us;
        int64_t before = answered(stage);
        post_list(acts, calls[i].acts);
        wait_until_answered(stage, before + (int64_t)calls[i].acts);
        free(acts);
        want.failed_commits += calls[i].says != PAWL_OK;
        if (calls[i].says) continue;
        want.commits++;
        want.ops += (int64_t)calls[i].acts;
        want.rows += (int64_t)calls[i].acts;
        want.commit_us += calls[i].takes_us;
    }
    struct pawl__store_counters counters = counters_of(stage);
    assert_int_equal(counters.commit_times.count, want.commits);
    assert_int_equal(counters.commit_times.sum_us, want.commit_us);
    assert_int_equal(counters.batch_sizes.count, want.commits);
    assert_int_equal(counters.batch_sizes.sum_us, want.ops);
    counters.commit_times = counters.batch_sizes = (struct pawl_histogram){ 0 };
    assert_memory_equal(&counters, &want, sizeof want);
    stage_close(stage);
}

/* ---- telling ---- */

static void watch(void *ctx, const struct pawl__notice *notice)
{
    struct pawl__backend *backend = ctx;
    pawl__lock(&backend->mutex);
    backend->heard++;
    backend->heard_last = *notice;
    backend->heard_after = backend->answered;
    backend->heard_inside = true;
    pawl__cond_broadcast(&backend->moved);
    while (backend->heard_held) {
        pawl__cond_wait(&backend->moved, &backend->mutex);
    }
    backend->heard_inside = false;
    pawl__unlock(&backend->mutex);
}

static bool same_notice(const struct pawl__notice *a, const struct pawl__notice *b)
{
    return a->foreign == b->foreign && a->ready == b->ready && a->control == b->control &&
           a->due_at_ms == b->due_at_ms && a->at_ms == b->at_ms && a->moves == b->moves &&
           a->move_count == b->move_count && a->lost == b->lost;
}

static void watcher_hears_after_the_answers(void **state)
{
    static const struct pawl__move moves[] = { { .run = 1 }, { .run = 2 } };
    struct stage *stage = stage_new();
    struct act *acts = acts_new(stage, 3);
    stage->backend.tells[0] =
        (struct pawl__notice){ .at_ms = 77, .ready = true, .moves = moves, .move_count = 2 };
    pawl__committer_watch(&stage->committer, watch, &stage->backend, true);
    post_list(acts, 3);
    pawl__committer_close(&stage->committer);
    assert_int_equal(stage->backend.heard, 1);
    assert_int_equal(stage->backend.heard_after, 3);
    assert_true(same_notice(&stage->backend.heard_last, &stage->backend.tells[0]));
    assert_true(stage->backend.all_moves_asked);
    stage_free(stage);
    free(acts);
}

static void nothing_is_told_of_what_did_not_happen(void **state)
{
    struct stage *stage = stage_new();
    struct act act;
    stage->backend.says[0] = PAWL_ERR_BUSY;
    stage->backend.says[1] = PAWL_ERR_IO; // and what is refused after it
    for (int i = 0; i < CALLS_MAX; i++) {
        stage->backend.tells[i] = (struct pawl__notice){ .at_ms = 1, .ready = true };
    }
    pawl__committer_watch(&stage->committer, watch, &stage->backend, false);
    assert_int_equal(perform(stage, &act), PAWL_ERR_BUSY);
    assert_int_equal(perform(stage, &act), PAWL_ERR_IO);
    assert_int_equal(perform(stage, &act), PAWL_ERR_UNSAFE);
    pawl__committer_close(&stage->committer);
    assert_int_equal(stage->backend.heard, 0);
    assert_int_equal(stage->backend.other_count, 0);
    stage_free(stage);
}

/* Commits of one operation each, all waiting; the last is always told. */
static void others_are_told_every_few_milliseconds(void **state)
{
    static const struct pawl__notice tells[] = {
        { .at_ms = 1, .ready = true },    { .at_ms = 2, .control = true, .due_at_ms = 500 },
        { .at_ms = 3, .due_at_ms = 300 }, // 1999 us after the first: not yet
        { .at_ms = 4, .due_at_ms = 400 }, // 2000 us
        { .at_ms = 5, .move_count = 1 },  // nothing for others
        { .at_ms = 6, .ready = true },    // the last
    };
    static const struct pawl__notice others[] = {
        { .ready = true },
        { .control = true, .due_at_ms = 300 },
        { .ready = true },
    };
    struct stage *stage = stage_new();
    struct act *acts = acts_new(stage, COUNT(tells));
    hold(stage, true);
    for (size_t i = 0; i < COUNT(tells); i++) {
        stage->backend.tells[i] = tells[i];
        acts[i].op.kind = PAWL__OP_SUBMIT;
        acts[i].op.submit.count = PAWL__COMMIT_WEIGHT_MAX;
        post(&acts[i]);
    }
    stage->backend.takes_us[2] = 1999;
    stage->backend.takes_us[3] = 1;
    hold(stage, false);
    pawl__committer_close(&stage->committer);
    assert_int_equal(stage->backend.other_count, COUNT(others));
    for (size_t i = 0; i < COUNT(others); i++) {
        assert_true(same_notice(&stage->backend.others[i], &others[i]));
    }
    stage_free(stage);
    free(acts);
}

static void others_hear_of_a_thing_once(void **state)
{
    struct stage *stage = stage_new();
    struct act act;
    stage->backend.tells[0] = (struct pawl__notice){ .at_ms = 1, .ready = true };
    stage->backend.tells[2] = (struct pawl__notice){ .at_ms = 3, .move_count = 1 };
    for (int i = 0; i < 4; i++) {
        assert_int_equal(perform(stage, &act), PAWL_OK);
    }
    pawl__committer_close(&stage->committer);
    assert_int_equal(stage->backend.other_count, 1);
    stage_free(stage);
}

/* Lets the watcher go when somebody is waiting for it to end. */
static void *release_watcher(void *arg)
{
    struct stage *stage = arg;
    bool ending = false;
    while (!ending) {
        sched_yield();
        pawl__lock(&stage->committer.mutex);
        ending = stage->committer.watcher == NULL;
        pawl__unlock(&stage->committer.mutex);
    }
    pawl__lock(&stage->backend.mutex);
    stage->backend.heard_held = false;
    pawl__cond_broadcast(&stage->backend.moved);
    pawl__unlock(&stage->backend.mutex);
    return NULL;
}

static void watching_ends_when_the_call_under_way_has(void **state)
{
    struct stage *stage = stage_new();
    struct act act;
    stage->backend.tells[0] = (struct pawl__notice){ .at_ms = 1, .ready = true };
    stage->backend.tells[1] = stage->backend.tells[0];
    stage->backend.heard_held = true;
    pawl__committer_watch(&stage->committer, watch, &stage->backend, true);
    assert_int_equal(perform(stage, &act), PAWL_OK);
    pawl__lock(&stage->backend.mutex);
    while (!stage->backend.heard_inside) {
        pawl__cond_wait(&stage->backend.moved, &stage->backend.mutex);
    }
    pawl__unlock(&stage->backend.mutex);
    pthread_t helper;
    assert_int_equal(pthread_create(&helper, NULL, release_watcher, stage), 0);
    pawl__committer_watch(&stage->committer, NULL, NULL, true);
    pawl__lock(&stage->backend.mutex);
    bool inside = stage->backend.heard_inside;
    pawl__unlock(&stage->backend.mutex);
    assert_false(inside);
    assert_int_equal(pthread_join(helper, NULL), 0);
    assert_int_equal(perform(stage, &act), PAWL_OK);
    pawl__committer_close(&stage->committer);
    assert_int_equal(stage->backend.heard, 1);
    assert_false(stage->backend.all_moves_asked); // nobody wants them any more
    assert_int_equal(stage->backend.other_count, 2);
    stage_free(stage);
}

/* ---- threads ---- */

enum { THREADS = 8, LISTS = 250, LIST_MAX = 8 };

struct poster {
    struct stage *stage;
    struct pawl__rng rng;
    struct act *acts;
    size_t count;
};

static void *post_many(void *arg)
{
    struct poster *poster = arg;
    for (int i = 0; i < LISTS; i++) {
        size_t len = 1 + pawl__rng_below(&poster->rng, LIST_MAX);
        post_list(&poster->acts[poster->count], len);
        poster->count += len;
    }
    return NULL;
}

/* All of one thread's went in the order in which it posted them, each of them once, and was told
 * how its own commit fared. */
static int64_t judge_poster(const struct poster *poster)
{
    int64_t ok = 0, last = -1;
    for (size_t i = 0; i < poster->count; i++) {
        const struct act *act = &poster->acts[i];
        assert_int_equal(act->answers, 1);
        assert_false(act->early);
        assert_true(act->applied_as > last);
        last = act->applied_as;
        assert_int_equal(act->op.err, (act->call - 1) % 7 == 3 ? PAWL_ERR_BUSY : PAWL_OK);
        ok += act->op.err == PAWL_OK;
    }
    return ok;
}

static void many_threads_post_at_once(void **state)
{
    struct stage *stage = stage_new();
    struct poster posters[THREADS];
    pthread_t threads[THREADS];
    stage->backend.busy_at_times = true;
    for (int i = 0; i < THREADS; i++) {
        posters[i] = (struct poster){ .stage = stage, .acts = acts_new(stage, LISTS * LIST_MAX) };
        pawl__rng_seed(&posters[i].rng, (uint64_t)i);
        assert_int_equal(pthread_create(&threads[i], NULL, post_many, &posters[i]), 0);
    }
    int64_t posted = 0;
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        posted += (int64_t)posters[i].count;
    }
    wait_until_answered(stage, posted);
    struct pawl__store_counters counters = counters_of(stage);
    pawl__committer_close(&stage->committer);
    int64_t ok = 0;
    for (int i = 0; i < THREADS; i++) {
        ok += judge_poster(&posters[i]);
        free(posters[i].acts);
    }
    assert_int_equal(stage->backend.applied, posted);
    assert_int_equal(counters.ops, ok);
    assert_int_equal(counters.rows, ok);
    assert_int_equal(counters.commits + counters.failed_commits, stage->backend.begun);
    assert_true(stage->backend.largest <= PAWL__COMMIT_WEIGHT_MAX);
    stage_free(stage);
}

/* One at a time, each waiting for its answer: a wake-up that is lost hangs here. */
static void *perform_many(void *arg)
{
    struct stage *stage = arg;
    for (int i = 0; i < 500; i++) {
        struct act act;
        act_init(&act, stage);
        post(&act);
        pawl__lock(&stage->backend.mutex);
        while (!act.answers) {
            pawl__cond_wait(&stage->backend.moved, &stage->backend.mutex);
        }
        pawl__unlock(&stage->backend.mutex);
    }
    return NULL;
}

static void no_wake_up_is_lost(void **state)
{
    struct stage *stage = stage_new();
    pthread_t threads[3];
    for (size_t i = 0; i < COUNT(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, perform_many, stage), 0);
    }
    for (size_t i = 0; i < COUNT(threads); i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(answered(stage), 500 * COUNT(threads));
    stage_close(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_come_after_the_commit),
        cmocka_unit_test(each_is_applied_and_answered_once_and_in_order),
        cmocka_unit_test(own_errors_are_not_the_neighbours),
        cmocka_unit_test(answer_may_post_the_next),
        cmocka_unit_test(answer_may_free_the_operation),
        cmocka_unit_test(what_waits_shares_the_next_commit),
        cmocka_unit_test(lists_are_marked_as_such),
        cmocka_unit_test(every_kind_weighs_what_it_touches),
        cmocka_unit_test(batches_are_bounded_by_weight),
        cmocka_unit_test(batches_are_bounded_by_number),
        cmocka_unit_test(failed_transaction_is_told_to_all),
        cmocka_unit_test(only_the_storage_leaves_doubt),
        cmocka_unit_test(nothing_is_written_until_reopened),
        cmocka_unit_test(doubt_may_come_back),
        cmocka_unit_test(closing_answers_all_that_was_posted),
        cmocka_unit_test(closing_in_doubt_refuses_what_was_posted),
        cmocka_unit_test(closes_when_nothing_ever_came),
        cmocka_unit_test(counters_are_exact),
        cmocka_unit_test(watcher_hears_after_the_answers),
        cmocka_unit_test(nothing_is_told_of_what_did_not_happen),
        cmocka_unit_test(others_are_told_every_few_milliseconds),
        cmocka_unit_test(others_hear_of_a_thing_once),
        cmocka_unit_test(watching_ends_when_the_call_under_way_has),
        cmocka_unit_test(many_threads_post_at_once),
        cmocka_unit_test(no_wake_up_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
