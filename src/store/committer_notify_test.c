/* The committer: what it tells its watcher and other processes after a commit. */
#include "store/committer_test_kit.h"

static void watch(void *ctx, const struct pawl__notice *notice)
{
    struct pawl__backend *backend = ctx;
    pawl__lock(&backend->mutex);
    backend->received++;
    backend->received_last = *notice;
    backend->received_after = backend->answered;
    backend->received_inside = true;
    pawl__cond_broadcast(&backend->moved);
    while (backend->received_held) {
        pawl__cond_wait(&backend->moved, &backend->mutex);
    }
    backend->received_inside = false;
    pawl__unlock(&backend->mutex);
}

static bool same_notice(const struct pawl__notice *a, const struct pawl__notice *b)
{
    return a->foreign == b->foreign && a->ready == b->ready && a->control == b->control &&
           a->due_at_ms == b->due_at_ms && a->fire_at_ms == b->fire_at_ms && a->at_ms == b->at_ms &&
           a->moves == b->moves && a->move_count == b->move_count && a->lost == b->lost;
}

static void watcher_hears_after_the_answers(void **state)
{
    static const struct pawl__move moves[] = { { .run = 1 }, { .run = 2 } };
    struct stage *stage = stage_new();
    struct act *acts = acts_new(stage, 3);
    stage->backend.notices[0] =
        (struct pawl__notice){ .at_ms = 77, .ready = true, .moves = moves, .move_count = 2 };
    pawl__committer_watch(&stage->committer, watch, &stage->backend, true);
    post_list(acts, 3);
    pawl__committer_close(&stage->committer);
    assert_int_equal(stage->backend.received, 1);
    assert_int_equal(stage->backend.received_after, 3);
    assert_true(same_notice(&stage->backend.received_last, &stage->backend.notices[0]));
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
        stage->backend.notices[i] = (struct pawl__notice){ .at_ms = 1, .ready = true };
    }
    pawl__committer_watch(&stage->committer, watch, &stage->backend, false);
    assert_int_equal(perform(stage, &act), PAWL_ERR_BUSY);
    assert_int_equal(perform(stage, &act), PAWL_ERR_IO);
    assert_int_equal(perform(stage, &act), PAWL_ERR_UNSAFE);
    pawl__committer_close(&stage->committer);
    assert_int_equal(stage->backend.received, 0);
    assert_int_equal(stage->backend.other_count, 0);
    stage_free(stage);
}

/* Commits of one operation each, all waiting; the last is always told. */
static void others_are_told_every_few_milliseconds(void **state)
{
    static const struct pawl__notice notices[] = {
        { .at_ms = 1, .ready = true },
        { .at_ms = 2, .control = true, .due_at_ms = 500 },
        { .at_ms = 3, .due_at_ms = 300, .fire_at_ms = 700 }, // 1999 us after the first: not yet
        { .at_ms = 4, .due_at_ms = 400, .fire_at_ms = 600 }, // 2000 us
        { .at_ms = 5, .move_count = 1 },                     // nothing for others
        { .at_ms = 6, .ready = true },                       // the last
    };
    static const struct pawl__notice others[] = {
        { .ready = true },
        { .control = true, .due_at_ms = 300, .fire_at_ms = 600 },
        { .ready = true },
    };
    struct stage *stage = stage_new();
    struct act *acts = acts_new(stage, COUNT(notices));
    hold(stage, true);
    for (size_t i = 0; i < COUNT(notices); i++) {
        stage->backend.notices[i] = notices[i];
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
    stage->backend.notices[0] = (struct pawl__notice){ .at_ms = 1, .ready = true };
    stage->backend.notices[2] = (struct pawl__notice){ .at_ms = 3, .move_count = 1 };
    for (int i = 0; i < 4; i++) {
        assert_int_equal(perform(stage, &act), PAWL_OK);
    }
    pawl__committer_close(&stage->committer);
    assert_int_equal(stage->backend.other_count, 1);
    stage_free(stage);
}

/* Else a schedule that one process adds would fire late in all others. */
static void others_hear_of_schedules(void **state)
{
    struct stage *stage = stage_new();
    struct act act;
    stage->backend.notices[0] = (struct pawl__notice){ .at_ms = 1, .fire_at_ms = 900 };
    assert_int_equal(perform(stage, &act), PAWL_OK);
    pawl__committer_close(&stage->committer);
    assert_int_equal(stage->backend.other_count, 1);
    assert_true(stage->backend.others[0].fire_at_ms == 900);
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
    stage->backend.received_held = false;
    pawl__cond_broadcast(&stage->backend.moved);
    pawl__unlock(&stage->backend.mutex);
    return NULL;
}

static void watching_ends_when_the_call_under_way_has(void **state)
{
    struct stage *stage = stage_new();
    struct act act;
    stage->backend.notices[0] = (struct pawl__notice){ .at_ms = 1, .ready = true };
    stage->backend.notices[1] = stage->backend.notices[0];
    stage->backend.received_held = true;
    pawl__committer_watch(&stage->committer, watch, &stage->backend, true);
    assert_int_equal(perform(stage, &act), PAWL_OK);
    pawl__lock(&stage->backend.mutex);
    while (!stage->backend.received_inside) {
        pawl__cond_wait(&stage->backend.moved, &stage->backend.mutex);
    }
    pawl__unlock(&stage->backend.mutex);
    pthread_t helper;
    assert_int_equal(pthread_create(&helper, NULL, release_watcher, stage), 0);
    pawl__committer_watch(&stage->committer, NULL, NULL, true);
    pawl__lock(&stage->backend.mutex);
    bool inside = stage->backend.received_inside;
    pawl__unlock(&stage->backend.mutex);
    assert_false(inside);
    assert_int_equal(pthread_join(helper, NULL), 0);
    assert_int_equal(perform(stage, &act), PAWL_OK);
    pawl__committer_close(&stage->committer);
    assert_int_equal(stage->backend.received, 1);
    assert_false(stage->backend.all_moves_asked); // nobody wants them any more
    assert_int_equal(stage->backend.other_count, 2);
    stage_free(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(watcher_hears_after_the_answers),
        cmocka_unit_test(nothing_is_told_of_what_did_not_happen),
        cmocka_unit_test(others_are_told_every_few_milliseconds),
        cmocka_unit_test(others_hear_of_a_thing_once),
        cmocka_unit_test(others_hear_of_schedules),
        cmocka_unit_test(watching_ends_when_the_call_under_way_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
