/* What follows a run, what a control may do and who is in a key's way: each answer, and which
 * question comes first. */
#include "store/decide.h"

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
        pawl__timeout_tell(&run, &timeout);
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

static void a_control_says_why_unless_told(void **ctx)
{
    (void)ctx;
    struct pawl_by nobody = { 0 }, somebody = { .reason = "tired" };
    assert_string_equal("tired", pawl__control_reason(PAWL_CONTROL_CANCEL, &somebody));
    assert_string_equal("cancelled on request", pawl__control_reason(PAWL_CONTROL_CANCEL, &nobody));
    assert_string_equal("discarded on request",
                        pawl__control_reason(PAWL_CONTROL_DISCARD, &nobody));
    assert_string_equal("skipped on request", pawl__control_reason(PAWL_CONTROL_SKIP, &nobody));
    assert_null(pawl__control_reason(PAWL_CONTROL_PAUSE, &nobody));
}

static void controls_reach_the_states_that_they_can_move(void **ctx)
{
    (void)ctx;
    static const struct {
        enum pawl_control control;
        uint32_t states;
    } cases[] = {
        { PAWL_CONTROL_RESUME, PAWL_STATE_BIT(PAWL_STATE_PAUSED) },
        { PAWL_CONTROL_ACTIVATE, PAWL_STATE_BIT(PAWL_STATE_PENDING) },
        { PAWL_CONTROL_PROMOTE,
          PAWL_STATE_BIT(PAWL_STATE_SCHEDULED) | PAWL_STATE_BIT(PAWL_STATE_RETRYABLE) },
        { PAWL_CONTROL_DISCARD,
          PAWL_STATE_BIT(PAWL_STATE_ACTIVE) | PAWL_STATE_BIT(PAWL_STATE_RETRYABLE) },
        { PAWL_CONTROL_RETRY, PAWL_STATE_BIT(PAWL_STATE_DISCARDED) |
                                  PAWL_STATE_BIT(PAWL_STATE_CANCELLED) |
                                  PAWL_STATE_BIT(PAWL_STATE_EXPIRED) },
        { PAWL_CONTROL_NONE,
          PAWL_STATE_BIT(PAWL_STATE_COMPLETED) | PAWL_STATE_BIT(PAWL_STATE_SKIPPED) |
              PAWL_STATE_BIT(PAWL_STATE_CANCELLED) | PAWL_STATE_BIT(PAWL_STATE_DISCARDED) |
              PAWL_STATE_BIT(PAWL_STATE_EXPIRED) },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(cases[i].states, pawl__control_states(cases[i].control));
    }
    assert_string_equal("retry", pawl__control_verb(PAWL_CONTROL_RETRY));
    assert_int_equal(PAWL_EVENT_REVIVE, pawl__control_event(PAWL_CONTROL_RETRY));
    assert_true(
        pawl__control_allowed(PAWL_CONTROL_RESUME, PAWL_STATE_PAUSED, PAWL_STATE_RETRYABLE));
    assert_false(pawl__control_allowed(PAWL_CONTROL_RESUME, PAWL_STATE_PAUSED, PAWL_STATE_ACTIVE));
}

static void a_key_is_in_the_way_while_its_holder_counts(void **ctx)
{
    (void)ctx;
    struct pawl__key key = { .kind = PAWL__KEY_UNIQUE,
                             .states = PAWL_STATE_BIT(PAWL_STATE_ACTIVE) };
    struct pawl__holder holder = {
        .known = true, .state = PAWL_STATE_ACTIVE, .created_at_ms = NOW - 100, .until_ms = 1
    };
    assert_true(pawl__key_conflicts(&key, &holder, NOW)); // until_ms is nothing to it
    key.period_ms = 101;
    assert_true(pawl__key_conflicts(&key, &holder, NOW));
    key.period_ms = 100;
    assert_false(pawl__key_conflicts(&key, &holder, NOW));
    key.period_ms = 0;
    holder.state = PAWL_STATE_AVAILABLE;
    assert_false(pawl__key_conflicts(&key, &holder, NOW));
    holder.state = PAWL_STATE_ACTIVE;
    holder.known = false;
    assert_false(pawl__key_conflicts(&key, &holder, NOW));
}

static void an_idempotency_key_outlives_its_job(void **ctx)
{
    (void)ctx;
    struct pawl__key key = { .kind = PAWL__KEY_IDEMPOTENCY, .period_ms = 50 };
    struct pawl__holder holder = { .until_ms = NOW + 1 };
    assert_int_equal(NOW + 50, pawl__key_until(&key, NOW));
    assert_true(pawl__key_conflicts(&key, &holder, NOW));
    holder.until_ms = NOW;
    assert_false(pawl__key_conflicts(&key, &holder, NOW));
    holder.until_ms = 0;
    assert_true(pawl__key_conflicts(&key, &holder, NOW));
    key.period_ms = 0;
    assert_int_equal(0, pawl__key_until(&key, NOW));
    key = (struct pawl__key){ .kind = PAWL__KEY_UNIQUE, .period_ms = 50 };
    assert_int_equal(0, pawl__key_until(&key, NOW));
}

static void only_the_newest_that_ended_are_remembered(void **ctx)
{
    (void)ctx;
    struct pawl__key unique = { .kind = PAWL__KEY_UNIQUE };
    struct pawl__key idempotency = { .kind = PAWL__KEY_IDEMPOTENCY };
    struct pawl__holder live = { .known = true, .state = PAWL_STATE_PAUSED };
    struct pawl__holder over = { .known = true, .state = PAWL_STATE_COMPLETED };
    struct pawl__holder gone = { .known = false };
    size_t ended = 0;
    for (int i = 0; i < PAWL__KEY_HOLDERS_KEPT; i++) {
        assert_false(pawl__key_forgets(&unique, &over, &ended));
    }
    assert_true(pawl__key_forgets(&unique, &over, &ended));
    assert_false(pawl__key_forgets(&unique, &live, &ended));
    ended = 0;
    assert_true(pawl__key_forgets(&unique, &gone, &ended));
    assert_true(pawl__key_forgets(&idempotency, &over, &ended));
    assert_false(pawl__key_forgets(&idempotency, &live, &ended));
}

static void who_holds_the_key_is_told(void **ctx)
{
    (void)ctx;
    struct pawl_diag diag = { 0 };
    struct pawl__op op = { .kind = PAWL__OP_SUBMIT, .diag = &diag };
    struct pawl__holder holder = { .id = { { 1 } }, .state = PAWL_STATE_ACTIVE };
    struct pawl__key key = { .kind = PAWL__KEY_BUSINESS };
    assert_int_equal(PAWL_ERR_DUPLICATE, pawl__key_refuse(&op, &key, &holder));
    assert_string_equal("job \"01000000-0000-0000-0000-000000000000\", which is active, holds the "
                        "same business_key",
                        diag.text);
    assert_string_equal("business_key", diag.field);
    assert_memory_equal(&holder.id, &op.submit.holder.id, sizeof holder.id);
    assert_int_equal(PAWL_STATE_ACTIVE, op.submit.holder.state);
    key.kind = PAWL__KEY_UNIQUE;
    assert_int_equal(PAWL_ERR_DUPLICATE, pawl__key_refuse(&op, &key, &holder));
    assert_string_equal("unique", diag.field);
    assert_non_null(strstr(diag.text, "holds the same unique key"));
}

static void a_holder_of_the_same_batch_is_named_by_its_place(void **ctx)
{
    (void)ctx;
    struct pawl_diag diag = { 0 };
    struct pawl__new_job jobs[] = { { .id = { { 1 } } }, { .id = { { 2 } } }, { .id = { { 3 } } } };
    struct pawl__op op = {
        .kind = PAWL__OP_SUBMIT,
        .diag = &diag,
        .submit = { .jobs = jobs, .count = 3, .failed_index = 2, .holder.id = { { 9 } } }
    };
    struct pawl__holder holder = { .id = { { 2 } }, .state = PAWL_STATE_AVAILABLE };
    struct pawl__key key = { .kind = PAWL__KEY_UNIQUE };
    const struct pawl_submitted nobody = { 0 };
    assert_int_equal(PAWL_ERR_DUPLICATE, pawl__key_refuse(&op, &key, &holder));
    assert_string_equal("job [1] of the same batch has the same unique key", diag.text);
    assert_memory_equal(&nobody.id, &op.submit.holder.id, sizeof nobody.id);
    assert_int_equal(PAWL_STATE_NONE, op.submit.holder.state);
    op.submit.failed_index = 1; // the job in hand has the holder's id: that one was there before
    assert_int_equal(PAWL_ERR_DUPLICATE, pawl__key_refuse(&op, &key, &holder));
    assert_memory_equal(&holder.id, &op.submit.holder.id, sizeof holder.id);
    assert_int_equal(PAWL_STATE_AVAILABLE, op.submit.holder.state);
}

static void refusals_name_the_job_and_how_it_is(void **ctx)
{
    (void)ctx;
    struct pawl_diag diag = { 0 };
    struct pawl_run ref = { .id = { { 1 } }, .run = 4 };
    assert_int_equal(PAWL_ERR_NOT_FOUND, pawl__fail_unknown(&diag, ref.id));
    assert_string_equal("there is no job \"01000000-0000-0000-0000-000000000000\"", diag.text);
    assert_int_equal(PAWL_ERR_STATE,
                     pawl__fail_state(&diag, ref.id, PAWL_STATE_COMPLETED, "cancel"));
    assert_string_equal(
        "cannot cancel job \"01000000-0000-0000-0000-000000000000\": it is completed", diag.text);
    assert_int_equal(PAWL_ERR_STALE, pawl__fail_stale(&diag, &ref, PAWL_STATE_ACTIVE, 5));
    assert_string_equal("run 4 of job \"01000000-0000-0000-0000-000000000000\" is over: the job is "
                        "active and has had 5 runs",
                        diag.text);
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
        cmocka_unit_test(a_control_says_why_unless_told),
        cmocka_unit_test(controls_reach_the_states_that_they_can_move),
        cmocka_unit_test(a_key_is_in_the_way_while_its_holder_counts),
        cmocka_unit_test(an_idempotency_key_outlives_its_job),
        cmocka_unit_test(only_the_newest_that_ended_are_remembered),
        cmocka_unit_test(who_holds_the_key_is_told),
        cmocka_unit_test(a_holder_of_the_same_batch_is_named_by_its_place),
        cmocka_unit_test(refusals_name_the_job_and_how_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
