/* Tests of rates: reading limits, token buckets. */
#include "http/rates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static bool parse(const char *text, struct pawl__rate *out)
{
    return pawl__rate_parse((struct pawl_span){ text, strlen(text) }, "mail", out);
}

static void reads_every_form_of_a_limit(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t limit, period_ms;
    } cases[] = {
        { "{\"max_per_second\":1}", 1, 1000 },
        { "{\"max_per_second\":250}", 250, 1000 },
        { "{\"max_per_second\":0.5}", 1, 2000 },
        { "{\"key\":\"mail\",\"rate\":3,\"period\":\"second\"}", 3, 1000 },
        { "{\"key\":null,\"rate\":3,\"period\":\"minute\"}", 3, 60000 },
        { "{\"rate\":{\"limit\":7,\"period\":\"PT1H\"}}", 7, 3600000 },
        { "{\"limit\":9,\"period\":\"P1D\"}", 9, 86400000 },
        { "{\"limit\":9,\"period\":null}", 9, 1000 },
        { "{\"rate\":5}", 5, 1000 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pawl__rate rate = { 0 };
        if (!parse(cases[i].text, &rate)) fail_msg("%s was not read", cases[i].text);
        if (rate.limit != cases[i].limit || rate.period_ms != cases[i].period_ms) {
            fail_msg("%s was read as %lld in %lld ms", cases[i].text, (long long)rate.limit,
                     (long long)rate.period_ms);
        }
    }
}

static void ignores_what_limits_no_rate_of_the_queue(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "5",
        "[]",
        "{}",
        "{",
        "{\"key\":\"other\",\"rate\":1}",
        "{\"key\":7,\"rate\":1}",
        "{\"concurrency\":3}",
        "{\"max_per_second\":0}",
        "{\"max_per_second\":-1}",
        "{\"max_per_second\":\"1\"}",
        "{\"max_per_second\":1e12}",
        "{\"max_per_second\":1e-300}", // no number of milliseconds holds that
        "{\"rate\":1e-10,\"period\":\"P1D\"}",
        "{\"rate\":1,\"period\":\"fortnight\"}",
        "{\"rate\":1,\"period\":60}",
        "{\"rate\":1,\"period\":\"PT0S\"}",
        "{\"rate\":{\"period\":\"PT1S\"}}",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pawl__rate rate = { .limit = 42 };
        if (parse(cases[i], &rate)) fail_msg("%s was read", cases[i]);
        assert_int_equal(rate.limit, 42);
    }
}

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
        cmocka_unit_test(reads_every_form_of_a_limit),
        cmocka_unit_test(ignores_what_limits_no_rate_of_the_queue),
        cmocka_unit_test(lets_as_many_out_as_the_period_gives),
        cmocka_unit_test(takes_back_what_was_not_handed_out),
        cmocka_unit_test(keeps_its_tokens_when_a_limit_is_repeated),
        cmocka_unit_test(hands_out_nothing_while_a_queue_is_paused),
        cmocka_unit_test(limits_a_bounded_number_of_queues),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
