/* Rates from two readings of the counters. */
#include "cli/top.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { SECOND_US = 1000 * 1000 };

static struct pawl_queue_stats before, after;

static int reset(void **state)
{
    (void)state;
    before = (struct pawl_queue_stats){ .archived = 100 };
    for (enum pawl_state s = PAWL_STATE_NONE + 1; s < PAWL_STATE_END; s++) {
        before.count[s] = 1000;
    }
    after = before;
    return 0;
}

static void move(enum pawl_state from, enum pawl_state to, int64_t jobs)
{
    if (from != PAWL_STATE_NONE) after.count[from] -= jobs;
    if (to != PAWL_STATE_NONE) after.count[to] += jobs;
}

static void archive(enum pawl_state from, int64_t jobs)
{
    move(from, PAWL_STATE_NONE, jobs);
    after.archived += jobs;
}

/* Per second, in whole jobs. */
static void expect(int submitted, int completed, int failed)
{
    struct pawl__cli_top_rates rates = pawl__cli_top_rates(&before, &after, SECOND_US);
    assert_true(rates.known);
    assert_int_equal((int)(rates.submitted + 0.5), submitted);
    assert_int_equal((int)(rates.completed + 0.5), completed);
    assert_int_equal((int)(rates.failed + 0.5), failed);
}

static void nothing_happened_is_no_rate(void **state)
{
    expect(0, 0, 0);
}

static void new_jobs_are_submitted_wherever_they_stand(void **state)
{
    move(PAWL_STATE_NONE, PAWL_STATE_AVAILABLE, 3);
    move(PAWL_STATE_NONE, PAWL_STATE_COMPLETED, 2);
    move(PAWL_STATE_NONE, PAWL_STATE_SCHEDULED, 5);
    expect(10, 2, 0);
}

static void completions_survive_archiving(void **state)
{
    move(PAWL_STATE_ACTIVE, PAWL_STATE_COMPLETED, 20);
    archive(PAWL_STATE_COMPLETED, 500);
    expect(0, 20, 0);
}

static void archiving_other_endings_completes_nothing(void **state)
{
    archive(PAWL_STATE_DISCARDED, 300);
    archive(PAWL_STATE_CANCELLED, 40);
    expect(0, 0, 0);
    move(PAWL_STATE_ACTIVE, PAWL_STATE_COMPLETED, 7);
    archive(PAWL_STATE_COMPLETED, 9);
    expect(0, 7, 0);
}

static void reviving_does_not_hide_completions(void **state)
{
    move(PAWL_STATE_DISCARDED, PAWL_STATE_AVAILABLE, 50);
    move(PAWL_STATE_ACTIVE, PAWL_STATE_COMPLETED, 6);
    expect(0, 6, 0);
}

static void failures_wait_or_are_given_up(void **state)
{
    move(PAWL_STATE_ACTIVE, PAWL_STATE_RETRYABLE, 4);
    move(PAWL_STATE_ACTIVE, PAWL_STATE_DISCARDED, 2);
    expect(0, 0, 6);
}

static void second_failure_of_a_waiting_job_counts(void **state)
{
    move(PAWL_STATE_RETRYABLE, PAWL_STATE_DISCARDED, 4);
    expect(0, 0, 4);
}

static void forgotten_jobs_make_no_negative_rate(void **state)
{
    move(PAWL_STATE_COMPLETED, PAWL_STATE_NONE, 600);
    after.archived -= 50;
    expect(0, 0, 0);
}

static void rate_is_per_second(void **state)
{
    move(PAWL_STATE_NONE, PAWL_STATE_COMPLETED, 30);
    struct pawl__cli_top_rates rates = pawl__cli_top_rates(&before, &after, 4 * SECOND_US);
    assert_int_equal((int)(rates.completed * 10 + 0.5), 75);
    assert_int_equal((int)(rates.submitted * 10 + 0.5), 75);
}

static void too_short_a_time_says_nothing(void **state)
{
    move(PAWL_STATE_NONE, PAWL_STATE_COMPLETED, 30);
    assert_false(pawl__cli_top_rates(&before, &after, 0).known);
    assert_false(pawl__cli_top_rates(&before, &after, PAWL__CLI_TOP_RATE_MIN_US - 1).known);
    assert_true(pawl__cli_top_rates(&before, &after, PAWL__CLI_TOP_RATE_MIN_US).known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_happened_is_no_rate, reset),
        cmocka_unit_test_setup(new_jobs_are_submitted_wherever_they_stand, reset),
        cmocka_unit_test_setup(completions_survive_archiving, reset),
        cmocka_unit_test_setup(archiving_other_endings_completes_nothing, reset),
        cmocka_unit_test_setup(reviving_does_not_hide_completions, reset),
        cmocka_unit_test_setup(failures_wait_or_are_given_up, reset),
        cmocka_unit_test_setup(second_failure_of_a_waiting_job_counts, reset),
        cmocka_unit_test_setup(forgotten_jobs_make_no_negative_rate, reset),
        cmocka_unit_test_setup(rate_is_per_second, reset),
        cmocka_unit_test_setup(too_short_a_time_says_nothing, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
