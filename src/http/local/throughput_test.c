/* Minutes come and go. */
#include "http/local/throughput.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { MINUTE_MS = 60000, HOUR_MS = 60 * MINUTE_MS };

static const int64_t start_ms = INT64_C(1800000000000); // a minute begins

static void move(struct pawl__throughput *throughput, const char *queue, enum pawl_state from,
                 enum pawl_state to, int64_t at_ms, int64_t since_ms)
{
    struct pawl_moved moved = {
        .from = from, .to = to, .at_ms = at_ms, .queue = queue, .type = "t"
    };
    pawl__throughput_moved(throughput, &moved, since_ms);
}

static void end_job(struct pawl__throughput *throughput, const char *queue, enum pawl_state to,
                    int64_t at_ms)
{
    move(throughput, queue, PAWL_STATE_ACTIVE, to, at_ms, 0);
}

static void counts_each_queue_and_all(void **state)
{
    (void)state;
    struct pawl__throughput *throughput = pawl__throughput_new();
    end_job(throughput, "a", PAWL_STATE_COMPLETED, start_ms);
    end_job(throughput, "a", PAWL_STATE_RETRYABLE, start_ms);
    end_job(throughput, "b", PAWL_STATE_COMPLETED, start_ms);
    end_job(throughput, "b", PAWL_STATE_DISCARDED, start_ms);
    assert_int_equal(pawl__throughput_of(throughput, "a", start_ms).completed_last_minute, 1);
    assert_int_equal(pawl__throughput_of(throughput, "a", start_ms).failed_last_minute, 1);
    assert_int_equal(pawl__throughput_of(throughput, "b", start_ms).failed_last_hour, 1);
    assert_int_equal(pawl__throughput_of(throughput, NULL, start_ms).completed_last_hour, 2);
    assert_int_equal(pawl__throughput_of(throughput, NULL, start_ms).failed_last_minute, 2);
    assert_int_equal(pawl__throughput_of(throughput, "c", start_ms).completed_last_hour, 0);
    pawl__throughput_free(throughput);
}

static void counts_no_other_moves(void **state)
{
    (void)state;
    struct pawl__throughput *throughput = pawl__throughput_new();
    end_job(throughput, "a", PAWL_STATE_AVAILABLE, start_ms); // given back
    end_job(throughput, "a", PAWL_STATE_CANCELLED, start_ms);
    move(throughput, "a", PAWL_STATE_NONE, PAWL_STATE_AVAILABLE, start_ms, 0);
    move(throughput, "a", PAWL_STATE_RETRYABLE, PAWL_STATE_DISCARDED, start_ms,
         0); // by an operator
    struct pawl__recent recent = pawl__throughput_of(throughput, NULL, start_ms);
    assert_int_equal(recent.completed_last_hour, 0);
    assert_int_equal(recent.failed_last_hour, 0);
    pawl__throughput_free(throughput);
    pawl__throughput_free(NULL);
}

static void forgets_after_an_hour(void **state)
{
    (void)state;
    struct pawl__throughput *throughput = pawl__throughput_new();
    end_job(throughput, "a", PAWL_STATE_COMPLETED, start_ms);
    int64_t late_ms = start_ms + HOUR_MS - MINUTE_MS;
    assert_int_equal(pawl__throughput_of(throughput, "a", late_ms).completed_last_hour, 1);
    assert_int_equal(pawl__throughput_of(throughput, "a", late_ms).completed_last_minute, 0);
    assert_int_equal(pawl__throughput_of(throughput, "a", start_ms + HOUR_MS).completed_last_hour,
                     0);
    end_job(throughput, "a", PAWL_STATE_COMPLETED, start_ms + HOUR_MS); // takes the old one's place
    assert_int_equal(pawl__throughput_of(throughput, "a", start_ms + HOUR_MS).completed_last_hour,
                     1);
    assert_int_equal(pawl__throughput_of(throughput, NULL, start_ms + HOUR_MS).completed_last_hour,
                     1);
    pawl__throughput_free(throughput);
}

static void counts_one_minute_and_not_two(void **state)
{
    (void)state;
    struct pawl__throughput *throughput = pawl__throughput_new();
    for (int second = 0; second < 120; second++) { // one a second, for two minutes
        end_job(throughput, "a", PAWL_STATE_COMPLETED, start_ms + second * 1000);
    }
    int64_t half_ms = start_ms + MINUTE_MS + MINUTE_MS / 2;
    assert_int_equal(
        pawl__throughput_of(throughput, "a", start_ms + 2 * MINUTE_MS).completed_last_minute,
        60); // the new minute is empty, the last one counts whole
    assert_int_equal(
        pawl__throughput_of(throughput, "a", half_ms + MINUTE_MS).completed_last_minute, 30);
    assert_int_equal(
        pawl__throughput_of(throughput, "a", start_ms + 3 * MINUTE_MS).completed_last_minute, 0);
    pawl__throughput_free(throughput);
}

/* A clock that was set back must not make what is to come count. */
static void ignores_the_future(void **state)
{
    (void)state;
    struct pawl__throughput *throughput = pawl__throughput_new();
    end_job(throughput, "a", PAWL_STATE_COMPLETED, start_ms + 5 * MINUTE_MS);
    assert_int_equal(pawl__throughput_of(throughput, "a", start_ms).completed_last_hour, 0);
    assert_int_equal(pawl__throughput_of(throughput, "a", start_ms).completed_last_minute, 0);
    pawl__throughput_free(throughput);
}

static void tells_how_long_jobs_waited_and_ran(void **state)
{
    (void)state;
    struct pawl__throughput *throughput = pawl__throughput_new();
    move(throughput, "a", PAWL_STATE_AVAILABLE, PAWL_STATE_ACTIVE, start_ms, start_ms - 100);
    move(throughput, "a", PAWL_STATE_AVAILABLE, PAWL_STATE_ACTIVE, start_ms, start_ms - 300);
    move(throughput, "a", PAWL_STATE_AVAILABLE, PAWL_STATE_ACTIVE, start_ms, 0); // not known
    move(throughput, "a", PAWL_STATE_ACTIVE, PAWL_STATE_COMPLETED, start_ms + 1000, start_ms);
    move(throughput, "a", PAWL_STATE_ACTIVE, PAWL_STATE_RETRYABLE, start_ms + 2000, start_ms);
    move(throughput, "a", PAWL_STATE_ACTIVE, PAWL_STATE_CANCELLED, start_ms + 9000, start_ms);
    move(throughput, "b", PAWL_STATE_ACTIVE, PAWL_STATE_COMPLETED, start_ms,
         start_ms + 50); // set back
    struct pawl__recent recent = pawl__throughput_of(throughput, "a", start_ms + 2000);
    assert_int_equal(recent.wait_ms, 200);
    assert_int_equal(recent.run_ms, 1500);
    assert_int_equal(pawl__throughput_of(throughput, "b", start_ms).run_ms, 0);
    assert_int_equal(pawl__throughput_of(throughput, NULL, start_ms).run_ms, 1000);
    pawl__throughput_free(throughput);
}

static void forgets_the_queue_that_was_quiet_the_longest(void **state)
{
    (void)state;
    struct pawl__throughput *throughput = pawl__throughput_new();
    char name[16];
    for (int i = 0; i < PAWL__THROUGHPUT_QUEUES_MAX; i++) {
        snprintf(name, sizeof name, "q%d", i);
        end_job(throughput, name, PAWL_STATE_COMPLETED, start_ms);
    }
    end_job(throughput, "q0", PAWL_STATE_COMPLETED, start_ms); // so that q1 is the oldest
    end_job(throughput, "one-more", PAWL_STATE_COMPLETED, start_ms);
    assert_int_equal(pawl__throughput_of(throughput, "q0", start_ms).completed_last_hour, 2);
    assert_int_equal(pawl__throughput_of(throughput, "q1", start_ms).completed_last_hour, 0);
    assert_int_equal(pawl__throughput_of(throughput, "q2", start_ms).completed_last_hour, 1);
    assert_int_equal(pawl__throughput_of(throughput, "one-more", start_ms).completed_last_hour, 1);
    assert_int_equal(pawl__throughput_of(throughput, NULL, start_ms).completed_last_hour,
                     PAWL__THROUGHPUT_QUEUES_MAX + 2);
    pawl__throughput_free(throughput);
}

static void lists_all_queues_and_clears_them(void **state)
{
    (void)state;
    struct pawl__throughput *throughput = pawl__throughput_new();
    struct pawl__arena arena = { 0 };
    struct pawl__recent_list list;
    end_job(throughput, "a", PAWL_STATE_COMPLETED, start_ms);
    end_job(throughput, "b", PAWL_STATE_RETRYABLE, start_ms);
    assert_true(pawl__throughput_list(throughput, start_ms, &arena, &list));
    pawl__throughput_clear(throughput); // the list is a copy
    assert_int_equal(list.count, 2);
    assert_int_equal(pawl__recent_find(&list, "a").completed_last_hour, 1);
    assert_int_equal(pawl__recent_find(&list, "b").failed_last_hour, 1);
    assert_int_equal(pawl__recent_find(&list, "c").failed_last_hour, 0);
    assert_true(pawl__throughput_list(throughput, start_ms, &arena, &list));
    assert_int_equal(list.count, 0);
    assert_int_equal(pawl__throughput_of(throughput, NULL, start_ms).completed_last_hour, 0);
    pawl__arena_release(&arena);
    pawl__throughput_free(throughput);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_each_queue_and_all),
        cmocka_unit_test(counts_no_other_moves),
        cmocka_unit_test(forgets_after_an_hour),
        cmocka_unit_test(counts_one_minute_and_not_two),
        cmocka_unit_test(ignores_the_future),
        cmocka_unit_test(tells_how_long_jobs_waited_and_ran),
        cmocka_unit_test(forgets_the_queue_that_was_quiet_the_longest),
        cmocka_unit_test(lists_all_queues_and_clears_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
