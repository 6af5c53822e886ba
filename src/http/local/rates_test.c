/* Tests of rates: token buckets. */
#include "http/local/rates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void lets_as_many_out_as_the_period_gives(void **state)
{
    (void)state;
    struct pawl__rates *rates = pawl__rates_new();
    assert_int_equal(pawl__rates_room(rates, "mail", 0), INT64_MAX);
    assert_false(pawl__rates_any(rates));
    pawl__rates_set(rates, "mail", &(struct pawl__rate){ 10, 1000 }, 5000);
    assert_true(pawl__rates_any(rates));
    assert_int_equal(pawl__rates_room(rates, "mail", 5000), 10);
    assert_int_equal(pawl__rates_room(rates, "other", 5000), INT64_MAX);
    pawl__rates_take(rates, "mail", 10);
    assert_int_equal(pawl__rates_room(rates, "mail", 5000), 0);
    assert_int_equal(pawl__rates_room(rates, "mail", 5099), 0);
    assert_int_equal(pawl__rates_room(rates, "mail", 5101), 1);
    assert_int_equal(pawl__rates_room(rates, "mail", 5551), 5);
    assert_int_equal(pawl__rates_room(rates, "mail", 99000), 10); // and never more
    pawl__rates_free(rates);
}

static void takes_back_what_was_not_handed_out(void **state)
{
    (void)state;
    struct pawl__rates *rates = pawl__rates_new();
    pawl__rates_set(rates, "mail", &(struct pawl__rate){ 4, 1000 }, 1);
    pawl__rates_take(rates, "mail", 4);
    pawl__rates_take(rates, "mail", -3);
    assert_int_equal(pawl__rates_room(rates, "mail", 1), 3);
    pawl__rates_take(rates, "mail", -3);
    assert_int_equal(pawl__rates_room(rates, "mail", 1), 4);
    pawl__rates_free(rates);
}

/* Every job of a queue brings its limit along: that must not fill the bucket again. */
static void keeps_its_tokens_when_a_limit_is_repeated(void **state)
{
    (void)state;
    struct pawl__rates *rates = pawl__rates_new();
    pawl__rates_set(rates, "mail", &(struct pawl__rate){ 4, 1000 }, 1);
    pawl__rates_take(rates, "mail", 4);
    pawl__rates_set(rates, "mail", &(struct pawl__rate){ 4, 1000 }, 1);
    assert_int_equal(pawl__rates_room(rates, "mail", 1), 0);
    pawl__rates_set(rates, "mail", &(struct pawl__rate){ 2, 1000 }, 5001);
    assert_int_equal(pawl__rates_room(rates, "mail", 5001), 2); // a smaller bucket holds less
    pawl__rates_set(rates, "mail", &(struct pawl__rate){ 0 }, 5001);
    assert_int_equal(pawl__rates_room(rates, "mail", 5001), INT64_MAX);
    assert_false(pawl__rates_any(rates));
    pawl__rates_free(rates);
}

static void hands_out_nothing_while_a_queue_is_paused(void **state)
{
    (void)state;
    struct pawl__rates *rates = pawl__rates_new();
    pawl__rates_pause(rates, "mail", 900, 1000);
    assert_false(pawl__rates_any(rates)); // that has been
    pawl__rates_pause(rates, "mail", 3000, 1000);
    pawl__rates_pause(rates, "mail", 2000, 1000); // the longest counts
    assert_int_equal(pawl__rates_room(rates, "mail", 2999), 0);
    assert_int_equal(pawl__rates_room(rates, "mail", 3000), INT64_MAX);
    assert_false(pawl__rates_any(rates));
    pawl__rates_free(rates);
}

static void limits_a_bounded_number_of_queues(void **state)
{
    (void)state;
    struct pawl__rates *rates = pawl__rates_new();
    char name[16];
    for (int i = 0; i <= 10000; i++) {
        snprintf(name, sizeof name, "q%d", i);
        pawl__rates_set(rates, name, &(struct pawl__rate){ 1, 1000 }, 1);
    }
    assert_int_equal(pawl__rates_room(rates, "q9999", 1), 1);
    assert_int_equal(pawl__rates_room(rates, "q10000", 1), INT64_MAX);
    pawl__rates_clear(rates);
    assert_int_equal(pawl__rates_room(rates, "q9999", 1), INT64_MAX);
    pawl__rates_free(rates);
    pawl__rates_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lets_as_many_out_as_the_period_gives),
        cmocka_unit_test(takes_back_what_was_not_handed_out),
        cmocka_unit_test(keeps_its_tokens_when_a_limit_is_repeated),
        cmocka_unit_test(hands_out_nothing_while_a_queue_is_paused),
        cmocka_unit_test(limits_a_bounded_number_of_queues),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
