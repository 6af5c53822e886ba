/* Tests the decision after a failed run: the order of the criteria, and each result. */
#include "lifecycle/dice_test.h"
#include "lifecycle/lifecycle.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#define HOUR INT64_C(3600000)

static void a_star_matches_what_begins_with_the_rest(void **ctx)
{
    (void)ctx;
    static const char *const list[] = { "timeout", "auth.*", "a.b.*", "*", "x*" };
    const struct pawl_retry retry = { .non_retryable = list,
                                      .non_retryable_count = sizeof list / sizeof *list };
    static const char *const yes[] = { "timeout", "auth.x",  "auth.x.y", "auth.",
                                       "auth.*",  "a.b.c.d", "*",        "x*" };
    static const char *const no[] = { "timeouts", "Timeout", "auth",  "authx", "Auth.x",
                                      "a.b",      "a.bc",    "other", "xy",    "" };
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        assert_true(pawl__retry_is_final(&retry, yes[i]));
    }
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        assert_false(pawl__retry_is_final(&retry, no[i]));
    }
    assert_false(pawl__retry_is_final(&retry, NULL));
    assert_false(pawl__retry_is_final(&(struct pawl_retry){ 0 }, "timeout"));
}

/* Adjacent rows differ in the criterion with precedence. */
static void what_is_decided_first_wins(void **ctx)
{
    (void)ctx;
    static const char *const list[] = { "fatal.*" };
    struct pawl_retry retry = { .attempts_max = 3,
                                .jitter = PAWL_JITTER_OFF,
                                .non_retryable = list,
                                .non_retryable_count = 1,
                                .on_exhaustion = PAWL_EXHAUSTION_DEAD_LETTER };
    const struct {
        struct pawl_report report;
        int64_t charged;
        enum pawl__verdict_kind kind;
        int64_t delay_ms;
        const char *reason;
    } cases[] = {
        { { .requeue = true, .code = "DISCARD", .type = "fatal.x", .not_retryable = true },
          3,
          PAWL__VERDICT_REQUEUE,
          0,
          "requeued" },
        { { .code = "DISCARD", .type = "fatal.x", .not_retryable = true },
          3,
          PAWL__VERDICT_DISCARD,
          -1,
          "discarded by its handler" },
        { { .code = "FAIL" }, 1, PAWL__VERDICT_DISCARD, -1, "failed for good by its handler" },
        { { .code = "DEAD_LETTER" },
          1,
          PAWL__VERDICT_DEAD_LETTER,
          -1,
          "sent to the dead letters by its handler" },
        { { .code = "RETRY", .type = "fatal.x" },
          1,
          PAWL__VERDICT_DEAD_LETTER,
          -1,
          "error is listed as not retryable" },
        { { .type = "fatal.x", .not_retryable = true },
          3,
          PAWL__VERDICT_DEAD_LETTER,
          -1,
          "error is listed as not retryable" },
        { { .type = "other", .error_class = "fatal.x" },
          1,
          PAWL__VERDICT_DEAD_LETTER,
          -1,
          "error is listed as not retryable" },
        { { .code = "fatal.x" },
          1,
          PAWL__VERDICT_DEAD_LETTER,
          -1,
          "error is listed as not retryable" },
        { { .message = "fatal.x" }, 1, PAWL__VERDICT_RETRY, 1000, "will be tried again" },
        { { .not_retryable = true }, 3, PAWL__VERDICT_DEAD_LETTER, -1, "not retryable" },
        { { .not_retryable = true, .code = "RETRY" },
          1,
          PAWL__VERDICT_DEAD_LETTER,
          -1,
          "not retryable" },
        { { .code = "RETRY" }, 3, PAWL__VERDICT_DEAD_LETTER, -1, "attempts spent" },
        { { .type = "boom" }, 4, PAWL__VERDICT_DEAD_LETTER, -1, "attempts spent" },
        { { .type = "boom" }, 2, PAWL__VERDICT_RETRY, 2000, "will be tried again" },
        { { .code = "RETRY" }, 2, PAWL__VERDICT_RETRY, 2000, "will be tried again" },
        { { .code = "discard" }, 1, PAWL__VERDICT_RETRY, 1000, "will be tried again" },
        { { .code = "handler_error" }, 1, PAWL__VERDICT_RETRY, 1000, "will be tried again" },
    };
    pawl__retry_resolve(&retry);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pawl__verdict verdict =
            pawl__retry_decide(&retry, &cases[i].report, cases[i].charged, NULL);
        if (verdict.kind != cases[i].kind || verdict.delay_ms != cases[i].delay_ms ||
            strcmp(verdict.reason, cases[i].reason) != 0) {
            fail_msg("case %zu: kind %d, delay %" PRId64 ", \"%s\"", i, (int)verdict.kind,
                     verdict.delay_ms, verdict.reason);
        }
    }
}

static void on_exhaustion_chooses_where_a_job_ends(void **ctx)
{
    (void)ctx;
    static const char *const list[] = { "fatal" };
    const struct pawl_report reports[] = { { .type = "fatal" }, { .not_retryable = true }, { 0 } };
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        struct pawl_retry retry = { .attempts_max = 1,
                                    .non_retryable = list,
                                    .non_retryable_count = 1 };
        pawl__retry_resolve(&retry);
        assert_int_equal(pawl__retry_decide(&retry, &reports[i], 1, NULL).kind,
                         PAWL__VERDICT_DISCARD);
        retry.on_exhaustion = PAWL_EXHAUSTION_DEAD_LETTER;
        assert_int_equal(pawl__retry_decide(&retry, &reports[i], 1, NULL).kind,
                         PAWL__VERDICT_DEAD_LETTER);
    }
}

/* A handler's command takes precedence over on_exhaustion. */
static void an_order_overrules_on_exhaustion(void **ctx)
{
    (void)ctx;
    struct pawl_retry retry = { .on_exhaustion = PAWL_EXHAUSTION_DISCARD };
    pawl__retry_resolve(&retry);
    const struct pawl_report dead = { .code = "DEAD_LETTER" }, discard = { .code = "DISCARD" };
    assert_int_equal(pawl__retry_decide(&retry, &dead, 1, NULL).kind, PAWL__VERDICT_DEAD_LETTER);
    retry.on_exhaustion = PAWL_EXHAUSTION_DEAD_LETTER;
    assert_int_equal(pawl__retry_decide(&retry, &discard, 1, NULL).kind, PAWL__VERDICT_DISCARD);
}

static void a_handler_that_knows_when_is_believed(void **ctx)
{
    (void)ctx;
    struct pawl_retry retry = pawl__retry_ojs();
    struct pawl_report report = { .retry_after_ms = HOUR };
    struct pawl__rng rng, before;
    pawl__rng_seed(&rng, 4);
    before = rng;
    assert_int_equal(pawl__retry_decide(&retry, &report, 1, &rng).delay_ms, HOUR); // beyond the cap
    assert_memory_equal(&rng, &before, sizeof rng);
    report.retry_after_ms = INT64_MAX;
    assert_int_equal(pawl__retry_decide(&retry, &report, 1, &rng).delay_ms, PAWL__RETRY_MS_MAX);
    report.retry_after_ms = -1;
    assert_in_range(pawl__retry_decide(&retry, &report, 1, &rng).delay_ms, 500, 1499);
    report.retry_after_ms = HOUR;
    assert_int_equal(pawl__retry_decide(&retry, &report, 3, &rng).delay_ms, -1);
    report.requeue = true;
    assert_int_equal(pawl__retry_decide(&retry, &report, 1, &rng).delay_ms, 0);
}

static void no_verdict_waits_over_a_century(void **ctx)
{
    (void)ctx;
    const struct pawl_retry retry = { .attempts_max = 5,
                                      .backoff = PAWL_BACKOFF_CONSTANT,
                                      .initial_ms = INT64_MAX,
                                      .cap_ms = INT64_MAX,
                                      .jitter = PAWL_JITTER_OFF };
    assert_int_equal(pawl__retry_decide(&retry, &(struct pawl_report){ 0 }, 1, NULL).delay_ms,
                     PAWL__RETRY_MS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_star_matches_what_begins_with_the_rest),
        cmocka_unit_test(what_is_decided_first_wins),
        cmocka_unit_test(on_exhaustion_chooses_where_a_job_ends),
        cmocka_unit_test(an_order_overrules_on_exhaustion),
        cmocka_unit_test(a_handler_that_knows_when_is_believed),
        cmocka_unit_test(no_verdict_waits_over_a_century),
    };
    return cmocka_run_group_tests_name("lifecycle/decide", tests, NULL, NULL);
}
