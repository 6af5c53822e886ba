/* Tests the control of jobs, through a real store in memory. */
#include "api/test_kit.h"

static struct pawl *desk(void **state)
{
    return ((struct kit *)*state)->pawl;
}

static struct pawl_job_id submit(struct pawl *pawl, const struct pawl_job_spec *spec)
{
    struct pawl_submitted out;
    KIT_OK(pawl_submit(pawl, spec, &out, &diag));
    return out.id;
}

static struct pawl_job_id submit_plain(void **state)
{
    return submit(desk(state), &(struct pawl_job_spec){ .type = "t" });
}

static void names_are_those_of_the_list(void **state)
{
    (void)state;
    assert_string_equal(pawl_control_name(PAWL_CONTROL_NONE), "none");
    assert_string_equal(pawl_control_name(PAWL_CONTROL_CANCEL), "cancel");
    assert_string_equal(pawl_control_name(PAWL_CONTROL_SKIP), "skip");
    assert_string_equal(pawl_control_name(PAWL_CONTROL_END), "none");
    assert_string_equal(pawl_control_name((enum pawl_control) - 1), "none");
}

static void control_answers_where_the_job_is_now(void **state)
{
    struct pawl_job_id id = submit_plain(state);
    static const struct {
        enum pawl_control control;
        enum pawl_state to;
    } steps[] = {
        { PAWL_CONTROL_PAUSE, PAWL_STATE_PAUSED },
        { PAWL_CONTROL_PAUSE, PAWL_STATE_PAUSED },
        { PAWL_CONTROL_RESUME, PAWL_STATE_AVAILABLE },
        { PAWL_CONTROL_CANCEL, PAWL_STATE_CANCELLED },
        { PAWL_CONTROL_RETRY, PAWL_STATE_AVAILABLE },
        { PAWL_CONTROL_SKIP, PAWL_STATE_SKIPPED },
    };
    for (size_t i = 0; i < COUNT(steps); i++) {
        enum pawl_state to = PAWL_STATE_NONE;
        KIT_OK(pawl_control(desk(state), id, steps[i].control, NULL, &to, &diag));
        assert_int_equal(to, steps[i].to);
    }
    id = submit(desk(state), &(struct pawl_job_spec){ .type = "t", .pending = true });
    KIT_OK(pawl_control(desk(state), id, PAWL_CONTROL_ACTIVATE, NULL, NULL, &diag));
    id = submit(desk(state), &(struct pawl_job_spec){ .type = "t", .delay_ms = 1000 });
    KIT_OK(pawl_control(desk(state), id, PAWL_CONTROL_PROMOTE, NULL, NULL, &diag));
}

static void refused_control_answers_where_the_job_stays(void **state)
{
    struct pawl_job_id id = submit_plain(state);
    enum pawl_state to = PAWL_STATE_NONE;
    struct pawl_diag found;
    assert_int_equal(pawl_control(desk(state), id, PAWL_CONTROL_RETRY, NULL, &to, &found),
                     PAWL_ERR_STATE);
    assert_int_equal(to, PAWL_STATE_AVAILABLE);
    assert_non_null(strstr(found.text, "available"));
    assert_int_equal(pawl_control(desk(state), id, PAWL_CONTROL_RESUME, NULL, NULL, NULL),
                     PAWL_ERR_STATE);
}

static void unknown_job_and_control_are_refused(void **state)
{
    static const struct pawl_job_id nobody = { { 1 } };
    struct pawl_job_id id = submit_plain(state);
    struct pawl_filter all = { .states = 0 };
    enum pawl_state to = PAWL_STATE_EXPIRED;
    int64_t moved = -7;
    assert_int_equal(pawl_control(desk(state), nobody, PAWL_CONTROL_CANCEL, NULL, &to, NULL),
                     PAWL_ERR_NOT_FOUND);
    assert_int_equal(to, PAWL_STATE_EXPIRED);
    KIT_FAILS(pawl_control(desk(state), id, PAWL_CONTROL_NONE, NULL, &to, &diag), PAWL_ERR_ARG,
              "control");
    KIT_FAILS(pawl_control(desk(state), id, PAWL_CONTROL_END, NULL, &to, &diag), PAWL_ERR_ARG,
              "control");
    // internally, NONE means delete
    KIT_FAILS(pawl_control_many(desk(state), &all, PAWL_CONTROL_NONE, 1, NULL, &moved, &diag),
              PAWL_ERR_ARG, "control");
    assert_int_equal(moved, -7);
}

static void every_call_checks_who_does_it(void **state)
{
    struct pawl_job_id id = submit_plain(state);
    struct pawl_by by = { .actor = "a\x01" };
    struct pawl_filter all = { .states = 0 };
    KIT_FAILS(pawl_control(desk(state), id, PAWL_CONTROL_CANCEL, &by, NULL, &diag), PAWL_ERR_ARG,
              "by.actor");
    KIT_FAILS(pawl_control_many(desk(state), &all, PAWL_CONTROL_CANCEL, 1, &by, NULL, &diag),
              PAWL_ERR_ARG, "by.actor");
    KIT_FAILS(pawl_delete(desk(state), id, &by, &diag), PAWL_ERR_ARG, "by.actor");
    KIT_FAILS(pawl_delete_many(desk(state), &all, 1, &by, NULL, &diag), PAWL_ERR_ARG, "by.actor");
    KIT_FAILS(pawl_priority(desk(state), id, 1, &by, NULL, &diag), PAWL_ERR_ARG, "by.actor");
    KIT_FAILS(pawl_queue_pause(desk(state), "q", true, &by, &diag), PAWL_ERR_ARG, "by.actor");
}

static void bulk_moves_at_most_limit_oldest_first(void **state)
{
    struct kit *kit = *state;
    struct pawl_job_id ids[5];
    struct pawl_filter filter = { .states = PAWL_STATE_BIT(PAWL_STATE_AVAILABLE) };
    int64_t moved = -1;
    for (size_t i = 0; i < COUNT(ids); i++) {
        kit->now_ms++;
        ids[i] = submit_plain(state);
    }
    KIT_OK(pawl_control_many(kit->pawl, &filter, PAWL_CONTROL_CANCEL, 3, NULL, &moved, &diag));
    assert_int_equal(moved, 3);
    for (size_t i = 0; i < COUNT(ids); i++) {
        struct pawl_jobs jobs = { .at = NULL };
        KIT_OK(pawl_get(kit->pawl, ids[i], &jobs, &diag));
        assert_int_equal(jobs.at[0].state, i < 3 ? PAWL_STATE_CANCELLED : PAWL_STATE_AVAILABLE);
        pawl_jobs_release(&jobs);
    }
    KIT_OK(pawl_control_many(kit->pawl, &filter, PAWL_CONTROL_CANCEL, 1000, NULL, &moved, &diag));
    assert_int_equal(moved, 2);
}

static void bulk_takes_a_filter_and_1_to_1000_jobs(void **state)
{
    struct pawl *pawl = desk(state);
    struct pawl_filter all = { .states = 0 }, bad = { .worker = "" };
    const enum pawl_control cancel = PAWL_CONTROL_CANCEL;
    int64_t n = -7;
    KIT_FAILS(pawl_control_many(pawl, NULL, cancel, 1, NULL, &n, &diag), PAWL_ERR_ARG, "filter");
    KIT_FAILS(pawl_control_many(pawl, &all, cancel, 0, NULL, &n, &diag), PAWL_ERR_ARG, "limit");
    KIT_FAILS(pawl_control_many(pawl, &all, cancel, 1001, NULL, &n, &diag), PAWL_ERR_ARG, "limit");
    KIT_FAILS(pawl_control_many(pawl, &bad, cancel, 1, NULL, &n, &diag), PAWL_ERR_ARG,
              "filter.worker");
    KIT_FAILS(pawl_delete_many(pawl, NULL, 1, NULL, &n, &diag), PAWL_ERR_ARG, "filter");
    KIT_FAILS(pawl_delete_many(pawl, &all, 0, NULL, &n, &diag), PAWL_ERR_ARG, "limit");
    KIT_FAILS(pawl_delete_many(pawl, &all, 1001, NULL, &n, &diag), PAWL_ERR_ARG, "limit");
    assert_int_equal(n, -7);
    KIT_OK(pawl_delete_many(pawl, &all, 1000, NULL, &n, &diag));
    assert_int_equal(n, 0);
}

static void only_ended_jobs_are_deleted(void **state)
{
    struct pawl_job_id live = submit_plain(state), ended = submit_plain(state);
    struct pawl_job_id also = submit_plain(state);
    struct pawl_filter all = { .states = 0 };
    struct pawl_jobs jobs = { .at = NULL };
    int64_t deleted = -1;
    assert_int_equal(pawl_delete(desk(state), live, NULL, NULL), PAWL_ERR_STATE);
    KIT_OK(pawl_control(desk(state), ended, PAWL_CONTROL_CANCEL, NULL, NULL, &diag));
    KIT_OK(pawl_control(desk(state), also, PAWL_CONTROL_CANCEL, NULL, NULL, &diag));
    KIT_OK(pawl_delete(desk(state), ended, NULL, &diag));
    assert_int_equal(pawl_get(desk(state), ended, &jobs, NULL), PAWL_ERR_NOT_FOUND);
    assert_int_equal(pawl_delete(desk(state), ended, NULL, NULL), PAWL_ERR_NOT_FOUND);
    KIT_OK(pawl_delete_many(desk(state), &all, 10, NULL, &deleted, &diag));
    assert_int_equal(deleted, 1);
}

static void priority_of_a_waiting_job_changes(void **state)
{
    struct pawl_job_id id =
        submit(desk(state), &(struct pawl_job_spec){ .type = "t", .priority = 4 });
    int32_t before = 99;
    KIT_FAILS(pawl_priority(desk(state), id, 101, NULL, &before, &diag), PAWL_ERR_ARG, "priority");
    assert_int_equal(before, 99);
    KIT_OK(pawl_priority(desk(state), id, -100, NULL, &before, &diag));
    assert_int_equal(before, 4);
    KIT_OK(pawl_priority(desk(state), id, 100, NULL, NULL, &diag));
    KIT_OK(pawl_control(desk(state), id, PAWL_CONTROL_CANCEL, NULL, NULL, &diag));
    assert_int_equal(pawl_priority(desk(state), id, 1, NULL, &before, NULL), PAWL_ERR_STATE);
}

static void queue_pause_checks_its_queue(void **state)
{
    KIT_FAILS(pawl_queue_pause(desk(state), NULL, true, NULL, &diag), PAWL_ERR_ARG, "queue");
    KIT_FAILS(pawl_queue_pause(desk(state), "Q", true, NULL, &diag), PAWL_ERR_ARG, "queue");
    KIT_OK(pawl_queue_pause(desk(state), "q", true, NULL, &diag));
    KIT_OK(pawl_queue_pause(desk(state), "q", false, NULL, &diag));
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, kit_open, kit_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_those_of_the_list),
        WITH_STORE(control_answers_where_the_job_is_now),
        WITH_STORE(refused_control_answers_where_the_job_stays),
        WITH_STORE(unknown_job_and_control_are_refused),
        WITH_STORE(every_call_checks_who_does_it),
        WITH_STORE(bulk_moves_at_most_limit_oldest_first),
        WITH_STORE(bulk_takes_a_filter_and_1_to_1000_jobs),
        WITH_STORE(only_ended_jobs_are_deleted),
        WITH_STORE(priority_of_a_waiting_job_changes),
        WITH_STORE(queue_pause_checks_its_queue),
    };
    return cmocka_run_group_tests_name("api/control", tests, NULL, NULL);
}
