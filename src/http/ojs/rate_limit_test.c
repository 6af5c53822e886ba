/* Tests of rate limits as JSON. */
#include "http/ojs/rate_limit.h"

#include <setjmp.h>
#include <stdarg.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_form_of_a_limit),
        cmocka_unit_test(ignores_what_limits_no_rate_of_the_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
