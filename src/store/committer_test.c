/* The committer: answers, batches, counters, and many threads that post. */
#include "store/committer_test_kit.h"

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

/* Make the operation one of `size` rows; false: the weight of its kind is fixed. */
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
    case PAWL__OP_DEADLINE:
    case PAWL__OP_FIRE:
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
        int64_t fixed = kind == PAWL__OP_FLOW_CONTROL ? PAWL__MAINTENANCE_MAX : 1;
        int64_t weight = set_size(&act.op, 37) ? 37 : fixed;
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
        cmocka_unit_test(counters_are_exact),
        cmocka_unit_test(many_threads_post_at_once),
        cmocka_unit_test(no_wake_up_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
