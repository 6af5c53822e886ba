/* What follows a run: each answer, and which question comes first. */
#include "store/core/course.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#define NOW INT64_C(1000000)

/* The third run of its series, one of them free. */
static const struct pawl__run_facts facts = {
    .now_ms = NOW, .run = 13, .base_run = 10, .free_runs = 1, .started_at_ms = NOW - 1500
};

static struct pawl_retry policy(int32_t attempts_max)
{
    return (struct pawl_retry){ .attempts_max = attempts_max,
                                .backoff = PAWL_BACKOFF_CONSTANT,
                                .initial_ms = 100,
                                .cap_ms = 100,
                                .coefficient = 1,
                                .jitter = PAWL_JITTER_OFF,
                                .on_exhaustion = PAWL_EXHAUSTION_DEAD_LETTER };
}

static struct pawl__run_facts expired_at(int64_t at_ms)
{
    struct pawl__run_facts out = facts;
    out.expires_at_ms = at_ms;
    return out;
}

static struct pawl__course after_failure(const struct pawl__run_facts *of, int32_t attempts_max,
                                         const struct pawl_report *report)
{
    struct pawl_retry retry = policy(attempts_max);
    struct pawl__rng rng;
    pawl__rng_seed(&rng, 1);
    return pawl__course_failed(of, &retry, report, &rng);
}

static struct pawl__course after_lapse(const struct pawl__run_facts *of, int32_t attempts_max,
                                       int64_t crashes)
{
    struct pawl_retry retry = policy(attempts_max);
    return pawl__course_lapsed(of, &retry, crashes);
}

/* `second` END: there is one event only. */
static void assert_course(const struct pawl__course *course, enum pawl_event first,
                          enum pawl_event second, const char *reason)
{
    assert_int_equal(second == PAWL_EVENT_END ? 1 : 2, course->event_count);
    assert_int_equal(first, course->events[0]);
    if (second != PAWL_EVENT_END) assert_int_equal(second, course->events[1]);
    if (!reason) assert_null(course->reason);
    if (reason) assert_string_equal(reason, course->reason);
}

static void a_failure_is_retried_after_its_delay(void **ctx)
{
    (void)ctx;
    struct pawl__course course = after_failure(&facts, 3, &(struct pawl_report){ .code = "x" });
    assert_course(&course, PAWL_EVENT_FAIL, PAWL_EVENT_END, NULL);
    assert_int_equal(NOW + 100, course.due_at_ms);
    assert_int_equal(100, course.delay_ms);
    assert_true(course.fails && !course.lapsed && !course.uncharged && !course.dead_letter);
}

static void free_runs_do_not_count_as_attempts(void **ctx)
{
    (void)ctx;
    struct pawl__course course = after_failure(&facts, 2, &(struct pawl_report){ .code = "x" });
    assert_course(&course, PAWL_EVENT_EXHAUST, PAWL_EVENT_END, "attempts spent");
    assert_int_equal(-1, course.delay_ms);
    assert_int_equal(0, course.due_at_ms);
    assert_true(course.fails && course.dead_letter);
    course = after_failure(&facts, 3, &(struct pawl_report){ .code = "DISCARD" });
    assert_course(&course, PAWL_EVENT_EXHAUST, PAWL_EVENT_END, "discarded by its handler");
    assert_false(course.dead_letter);
}

static void a_retry_after_the_time_to_live_is_none(void **ctx)
{
    (void)ctx;
    struct pawl__run_facts late = expired_at(NOW), early = expired_at(NOW + 1);
    struct pawl__course course = after_failure(&late, 3, &(struct pawl_report){ .code = "x" });
    assert_course(&course, PAWL_EVENT_FAIL, PAWL_EVENT_EXPIRE, "expired after a failed attempt");
    assert_int_equal(-1, course.delay_ms);
    assert_int_equal(0, course.due_at_ms);
    assert_true(course.fails);
    course = after_failure(&early, 3, &(struct pawl_report){ .code = "x" });
    assert_course(&course, PAWL_EVENT_FAIL, PAWL_EVENT_END, NULL);
    course = after_failure(&late, 2, &(struct pawl_report){ .code = "x" });
    assert_course(&course, PAWL_EVENT_EXHAUST, PAWL_EVENT_END, "attempts spent");
}

static void a_requeued_run_is_free_and_no_failure(void **ctx)
{
    (void)ctx;
    struct pawl__run_facts late = expired_at(NOW);
    struct pawl__course course = after_failure(&late, 1, &(struct pawl_report){ .requeue = true });
    assert_course(&course, PAWL_EVENT_SNOOZE, PAWL_EVENT_DUE, NULL);
    assert_true(course.uncharged && !course.fails);
    assert_int_equal(0, course.delay_ms);
}

static void a_lapse_is_charged_and_runs_again_at_once(void **ctx)
{
    (void)ctx;
    struct pawl__course course = after_lapse(&facts, 3, PAWL__CRASHES_MAX - 2);
    assert_course(&course, PAWL_EVENT_LAPSE, PAWL_EVENT_END, NULL);
    assert_true(course.fails && course.lapsed && !course.uncharged);
    assert_int_equal(0, course.delay_ms);
    assert_int_equal(0, course.due_at_ms);
}

static void a_lapse_ends_the_job_for_the_first_of_three_reasons(void **ctx)
{
    (void)ctx;
    struct pawl__run_facts late = expired_at(NOW);
    const char *poison = "poison pill: its leases lapsed too often";
    struct pawl__course course = after_lapse(&late, 2, PAWL__CRASHES_MAX - 1);
    assert_course(&course, PAWL_EVENT_EXHAUST, PAWL_EVENT_END, poison);
    assert_true(course.fails && course.lapsed && course.dead_letter);
    assert_int_equal(-1, course.delay_ms);
    course = after_lapse(&late, 2, 0);
    assert_course(&course, PAWL_EVENT_EXHAUST, PAWL_EVENT_END,
                  "attempts spent: its last lease lapsed");
    course = after_lapse(&late, 3, 0);
    assert_course(&course, PAWL_EVENT_LAPSE, PAWL_EVENT_EXPIRE, "expired after its lease lapsed");
    assert_true(course.fails && course.lapsed && !course.dead_letter);
    assert_int_equal(-1, course.delay_ms);
}

static void where_a_spent_job_ends_is_the_policys_choice(void **ctx)
{
    (void)ctx;
    struct pawl_retry retry = policy(2);
    retry.on_exhaustion = PAWL_EXHAUSTION_DISCARD;
    assert_false(pawl__course_lapsed(&facts, &retry, 0).dead_letter);
    assert_false(pawl__course_lapsed(&facts, &retry, PAWL__CRASHES_MAX).dead_letter);
}

static void a_snooze_is_free(void **ctx)
{
    (void)ctx;
    struct pawl__run_facts late = expired_at(NOW);
    struct pawl__course course = pawl__course_snoozed(&facts, 250);
    assert_course(&course, PAWL_EVENT_SNOOZE, PAWL_EVENT_END, NULL);
    assert_int_equal(NOW + 250, course.due_at_ms);
    assert_true(course.uncharged && !course.fails);
    course = pawl__course_snoozed(&late, 250);
    assert_course(&course, PAWL_EVENT_SNOOZE, PAWL_EVENT_EXPIRE, "expired after it snoozed");
    assert_int_equal(0, course.due_at_ms);
    assert_true(course.uncharged && !course.fails);
    course = pawl__course_snoozed(&late, 0);
    assert_course(&course, PAWL_EVENT_SNOOZE, PAWL_EVENT_DUE, NULL);
    assert_true(course.uncharged && !course.fails);
}

static void a_report_is_called_by_the_first_name_it_has(void **ctx)
{
    (void)ctx;
    struct pawl_report report = { .type = "t", .error_class = "e", .code = "c" };
    assert_string_equal("t", pawl__report_type(&report));
    report.type = "";
    assert_string_equal("e", pawl__report_type(&report));
    report.error_class = NULL;
    assert_string_equal("c", pawl__report_type(&report));
}

static void a_lease_that_ends_with_the_time_limit_is_a_timeout(void **ctx)
{
    (void)ctx;
    struct pawl__run_facts run = facts;
    run.lease_until_ms = run.started_at_ms;
    assert_false(pawl__run_is_timed(&run)); // there is no limit
    run.timeout_ms = 1250;
    assert_false(pawl__run_is_timed(&run));
    run.lease_until_ms = run.started_at_ms + 1250;
    assert_true(pawl__run_is_timed(&run));
}

static void a_timeout_tells_seconds_in_the_shortest_way(void **ctx)
{
    (void)ctx;
    static const struct {
        int64_t timeout_ms;
        const char *message, *details;
    } cases[] = {
        { 1250, "the run took longer than 1.25 s",
          "{\"timeout_kind\":\"execution\",\"limit_seconds\":1.25,\"elapsed_seconds\":1.5}" },
        { 1000, "the run took longer than 1 s",
          "{\"timeout_kind\":\"execution\",\"limit_seconds\":1,\"elapsed_seconds\":1.5}" },
        { 7, "the run took longer than 0.007 s",
          "{\"timeout_kind\":\"execution\",\"limit_seconds\":0.007,\"elapsed_seconds\":1.5}" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pawl__run_facts run = facts;
        struct pawl__timeout timeout;
        run.timeout_ms = cases[i].timeout_ms;
        pawl__timeout_describe(&run, &timeout);
        assert_string_equal(cases[i].message, timeout.report.message);
        assert_int_equal(strlen(cases[i].details), timeout.report.details.len);
        assert_memory_equal(cases[i].details, timeout.report.details.at,
                            timeout.report.details.len);
        assert_string_equal("timeout", timeout.report.type);
        assert_string_equal("timeout", timeout.report.code);
    }
}

static void a_policy_that_cannot_be_read_is_damage(void **ctx)
{
    (void)ctx;
    struct pawl__arena arena = { 0 };
    struct pawl_diag diag = { 0 };
    struct pawl_retry retry;
    struct pawl_span none = { "", 0 }, bad = { "{\"x\":1}", 7 };
    assert_int_equal(PAWL_OK, pawl__policy_read(none, 7, &arena, &retry, &diag));
    assert_int_equal(7, retry.attempts_max);
    assert_int_equal(PAWL_ERR_CORRUPT, pawl__policy_read(bad, 7, &arena, &retry, &diag));
    assert_string_equal("the store is damaged: a retry policy cannot be read", diag.text);
    pawl__arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_is_retried_after_its_delay),
        cmocka_unit_test(free_runs_do_not_count_as_attempts),
        cmocka_unit_test(a_retry_after_the_time_to_live_is_none),
        cmocka_unit_test(a_requeued_run_is_free_and_no_failure),
        cmocka_unit_test(a_lapse_is_charged_and_runs_again_at_once),
        cmocka_unit_test(a_lapse_ends_the_job_for_the_first_of_three_reasons),
        cmocka_unit_test(where_a_spent_job_ends_is_the_policys_choice),
        cmocka_unit_test(a_snooze_is_free),
        cmocka_unit_test(a_report_is_called_by_the_first_name_it_has),
        cmocka_unit_test(a_lease_that_ends_with_the_time_limit_is_a_timeout),
        cmocka_unit_test(a_timeout_tells_seconds_in_the_shortest_way),
        cmocka_unit_test(a_policy_that_cannot_be_read_is_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
