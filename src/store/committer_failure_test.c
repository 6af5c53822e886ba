/* The committer: transactions that fail, doubt about the storage, and closing. */
#include "store/committer_test_kit.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failed_transaction_is_told_to_all),
        cmocka_unit_test(only_the_storage_leaves_doubt),
        cmocka_unit_test(nothing_is_written_until_reopened),
        cmocka_unit_test(doubt_may_come_back),
        cmocka_unit_test(closing_answers_all_that_was_posted),
        cmocka_unit_test(closing_in_doubt_refuses_what_was_posted),
        cmocka_unit_test(closes_when_nothing_ever_came),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
