/* Policies as JSON and back, and the printing of doubles that it stands on. */
#include "base/decimal.h"
#include "lifecycle/dice_test.h"
#include "lifecycle/lifecycle.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { CASES = 20000, DOUBLES = 20000, LIST_MAX = 5 };

static const char *print(const struct pawl_retry *retry, struct pawl__buf *buf)
{
    pawl__buf_clear(buf);
    pawl__retry_print(retry, buf);
    assert_false(buf->failed);
    return buf->len ? buf->at : "";
}

static enum pawl_err parse(const char *text, struct pawl__arena *arena, struct pawl_retry *out,
                           struct pawl_diag *diag)
{
    return pawl__retry_parse((struct pawl_span){ text, strlen(text) }, arena, out, diag);
}

/* ---- print ---- */

static void the_default_costs_no_bytes(void **ctx)
{
    (void)ctx;
    struct pawl__buf buf = { 0 };
    struct pawl_retry zeros = { 0 }, ojs = pawl__retry_ojs();
    assert_string_equal(print(&zeros, &buf), "");
    assert_string_equal(print(&ojs, &buf), "");
    pawl__buf_release(&buf);
}

static void only_what_differs_is_printed(void **ctx)
{
    (void)ctx;
    struct pawl__buf buf = { 0 };
    const struct pawl_retry one = { .attempts_max = 5 };
    assert_string_equal(print(&one, &buf), "{\"attempts_max\":5}");
    const struct pawl_retry usual = { .attempts_max = 3, .cap_ms = 300000, .coefficient = 2 };
    assert_string_equal(print(&usual, &buf), "");
    pawl__buf_release(&buf);
}

static void every_member_is_printed_in_one_order(void **ctx)
{
    (void)ctx;
    static const char *const list[] = { "auth.*", "say \"no\"" };
    struct pawl__buf buf = { 0 };
    const struct pawl_retry retry = { .attempts_max = 9,
                                      .backoff = PAWL_BACKOFF_POLYNOMIAL,
                                      .initial_ms = 250,
                                      .coefficient = 1.5,
                                      .cap_ms = 60000,
                                      .exponent_max = 20,
                                      .jitter = PAWL_JITTER_OFF,
                                      .jitter_low = 1,
                                      .jitter_high = 2.25,
                                      .non_retryable = list,
                                      .non_retryable_count = 2,
                                      .on_exhaustion = PAWL_EXHAUSTION_DEAD_LETTER };
    assert_string_equal(print(&retry, &buf),
                        "{\"attempts_max\":9,\"backoff\":\"polynomial\",\"initial_ms\":250,"
                        "\"coefficient\":1.5,\"cap_ms\":60000,\"exponent_max\":20,"
                        "\"jitter\":false,\"jitter_low\":1,\"jitter_high\":2.25,"
                        "\"on_exhaustion\":\"dead_letter\","
                        "\"non_retryable\":[\"auth.*\",\"say \\\"no\\\"\"]}");
    pawl__buf_release(&buf);
}

/* ---- parse ---- */

static void nothing_is_the_default(void **ctx)
{
    (void)ctx;
    static const char *const texts[] = { "", "{}", " { } ", "{\"attempts_max\":0}" };
    struct pawl__arena arena = { 0 };
    const struct pawl_retry ojs = pawl__retry_ojs();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct pawl_retry retry;
        assert_int_equal(parse(texts[i], &arena, &retry, NULL), PAWL_OK);
        assert_true(same_policy(&retry, &ojs));
    }
    struct pawl_retry retry;
    assert_int_equal(pawl__retry_parse((struct pawl_span){ 0 }, &arena, &retry, NULL), PAWL_OK);
    assert_true(same_policy(&retry, &ojs));
    pawl__arena_release(&arena);
}

static void what_is_read_is_resolved(void **ctx)
{
    (void)ctx;
    struct pawl__arena arena = { 0 };
    struct pawl_retry retry;
    assert_int_equal(parse("{\"backoff\":\"linear\",\"initial_ms\":400000,\"jitter\":true,"
                           "\"on_exhaustion\":\"discard\",\"non_retryable\":[]}",
                           &arena, &retry, NULL),
                     PAWL_OK);
    assert_int_equal(retry.backoff, PAWL_BACKOFF_LINEAR);
    assert_int_equal(retry.initial_ms, 400000);
    assert_int_equal(retry.cap_ms, 400000);
    assert_int_equal(retry.attempts_max, 3);
    assert_int_equal(retry.jitter, PAWL_JITTER_ON);
    assert_int_equal(retry.on_exhaustion, PAWL_EXHAUSTION_DISCARD);
    assert_int_equal(retry.non_retryable_count, 0);
    pawl__arena_release(&arena);
}

static void what_is_not_a_policy_is_refused_and_named(void **ctx)
{
    (void)ctx;
    static const struct {
        const char *text, *field;
    } cases[] = {
        { "[]", "retry" },
        { "null", "retry" },
        { "5", "retry" },
        { "{\"attempts\":3}", "retry" },
        { "{\"attempts_max\\u0000\":3}", "retry" },
        { "{\"Attempts_max\":3}", "retry" },
        { "{\"attempts_max\":\"3\"}", "retry.attempts_max" },
        { "{\"attempts_max\":2.5}", "retry.attempts_max" },
        { "{\"attempts_max\":2147483648}", "retry.attempts_max" },
        { "{\"attempts_max\":-2147483649}", "retry.attempts_max" },
        { "{\"attempts_max\":-1}", "retry.attempts_max" },
        { "{\"attempts_max\":null}", "retry.attempts_max" },
        { "{\"backoff\":\"Linear\"}", "retry.backoff" },
        { "{\"backoff\":\"linear\\u0000\"}", "retry.backoff" },
        { "{\"backoff\":\"\"}", "retry.backoff" },
        { "{\"backoff\":2}", "retry.backoff" },
        { "{\"initial_ms\":9223372036854775808}", "retry.initial_ms" },
        { "{\"initial_ms\":9223372036854775807}", "retry.initial_ms" },
        { "{\"coefficient\":\"2\"}", "retry.coefficient" },
        { "{\"coefficient\":0.5}", "retry.coefficient" },
        { "{\"coefficient\":1e999}", "retry.coefficient" },
        { "{\"cap_ms\":1}", "retry.cap_ms" },
        { "{\"exponent_max\":-1}", "retry.exponent_max" },
        { "{\"jitter\":1}", "retry.jitter" },
        { "{\"jitter\":\"on\"}", "retry.jitter" },
        { "{\"jitter_low\":2}", "retry.jitter_high" },
        { "{\"jitter_high\":true}", "retry.jitter_high" },
        { "{\"on_exhaustion\":\"explode\"}", "retry.on_exhaustion" },
        { "{\"non_retryable\":\"a\"}", "retry.non_retryable" },
        { "{\"non_retryable\":[1]}", "retry.non_retryable" },
        { "{\"non_retryable\":[[\"a\"]]}", "retry.non_retryable" },
        { "{\"non_retryable\":[\"a\\u0000b\"]}", "retry.non_retryable" },
        { "{\"non_retryable\":[\"\"]}", "retry.non_retryable" },
    };
    struct pawl__arena arena = { 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pawl_diag diag = { 0 };
        struct pawl_retry retry = { .attempts_max = 77 };
        if (parse(cases[i].text, &arena, &retry, &diag) != PAWL_ERR_ARG ||
            strcmp(diag.field, cases[i].field) != 0 || retry.attempts_max != 77) {
            fail_msg("%s: field \"%s\", \"%s\"", cases[i].text, diag.field, diag.text);
        }
        assert_int_equal(parse(cases[i].text, &arena, &retry, NULL), PAWL_ERR_ARG);
    }
    pawl__arena_release(&arena);
}

static void what_is_not_json_is_refused(void **ctx)
{
    (void)ctx;
    static const char *const texts[] = { "{", "{\"attempts_max\":}", "{} {}", "{\"jitter\":True}",
                                         "{\"cap_ms\":5000,\"cap_ms\":6000}" };
    struct pawl__arena arena = { 0 };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct pawl_diag diag = { 0 };
        struct pawl_retry retry;
        assert_int_equal(parse(texts[i], &arena, &retry, &diag), PAWL_ERR_ARG);
        assert_true(strlen(diag.text) > 0);
    }
    pawl__arena_release(&arena);
}

/* ---- there and back ---- */

static double random_factor(struct pawl__rng *rng, double least)
{
    uint64_t bits = pawl__rng_next(rng) & INT64_MAX;
    double value;
    switch (pawl__rng_below(rng, 3)) {
    case 0:
        return least + (double)pawl__rng_below(rng, 1000) / 100;
    case 1:
        return least + pawl__rng_unit(rng);
    default:
        memcpy(&value, &bits, sizeof value);
        return isfinite(value) && value > least ? value : DBL_MAX;
    }
}

static struct pawl_retry random_policy(struct pawl__rng *rng, const char *const *list)
{
    struct pawl_retry retry = {
        .attempts_max = (int32_t)pawl__rng_below(rng, INT32_MAX),
        .backoff = (int)pawl__rng_below(rng, PAWL_BACKOFF_END),
        .initial_ms = (int64_t)pawl__rng_below(rng, 600000),
        .coefficient = random_factor(rng, 1),
        .cap_ms = PAWL__RETRY_MS_MAX - (int64_t)pawl__rng_below(rng, 1000000),
        .exponent_max = (int32_t)pawl__rng_below(rng, 3),
        .jitter = (int)pawl__rng_below(rng, 3),
        .jitter_low = random_factor(rng, 0x1p-60),
        .non_retryable = list,
        .non_retryable_count = pawl__rng_below(rng, LIST_MAX + 1),
        .on_exhaustion = (int)pawl__rng_below(rng, 3),
    };
    if (retry.jitter_low > 1.5) retry.jitter_high = retry.jitter_low;
    pawl__retry_resolve(&retry);
    return retry;
}

static void every_valid_policy_comes_back_the_same(void **ctx)
{
    (void)ctx;
    static const char *const list[LIST_MAX] = { "auth.*", "\x01\n\\", "gr\xc3\xbc\xc3\x9f", "\"",
                                                "\xf0\x9f\x90\x8c" };
    uint64_t seed = dice_seed();
    struct pawl__rng rng;
    struct pawl__arena arena = { 0 };
    struct pawl__buf buf = { 0 };
    pawl__rng_seed(&rng, seed);
    for (int i = 0; i < CASES; i++) {
        struct pawl_retry there = random_policy(&rng, list), back;
        struct pawl_diag diag = { 0 };
        enum pawl_err err = pawl__retry_check(&there, &diag);
        if (!err) err = parse(print(&there, &buf), &arena, &back, &diag);
        if (err || !same_policy(&there, &back)) {
            fail_msg("seed %" PRIu64 ", case %d: %s: %s", seed, i, buf.at, diag.text);
        }
        pawl__arena_reset(&arena);
    }
    pawl__buf_release(&buf);
    pawl__arena_release(&arena);
}

/* ---- doubles ---- */

static void expect_decimal(double value, const char *want, struct pawl__buf *buf)
{
    pawl__buf_clear(buf);
    pawl__decimal_print(value, buf);
    assert_false(buf->failed);
    assert_string_equal(buf->at, want);
}

static void doubles_are_printed_as_people_write_them(void **ctx)
{
    (void)ctx;
    struct pawl__buf buf = { 0 };
    expect_decimal(0, "0", &buf);
    expect_decimal(2, "2", &buf);
    expect_decimal(-7, "-7", &buf);
    expect_decimal(9007199254740991, "9007199254740991", &buf);
    expect_decimal(1.5, "1.5", &buf);
    expect_decimal(-1.5, "-1.5", &buf);
    expect_decimal(0.1, "0.1", &buf);
    expect_decimal(0.3, "0.3", &buf);
    expect_decimal(0.1 + 0.2, "0.30000000000000004", &buf);
    expect_decimal(1.0 / 3, "0.3333333333333333", &buf);
    expect_decimal(1 + 0x1p-52, "1.0000000000000002", &buf);
    expect_decimal(123.456, "123.456", &buf);
    expect_decimal(0.0001, "0.0001", &buf);
    expect_decimal(0.00001, "1e-5", &buf);
    expect_decimal(1e22, "1e+22", &buf);
    expect_decimal(1e23, "9.999999999999999e+22", &buf); // 1e23 is half way to the next
    expect_decimal(9.5e-7, "9.5e-7", &buf);
    expect_decimal(1e308, "1e+308", &buf);
    expect_decimal(DBL_MAX, "1.7976931348623157e+308", &buf);
    expect_decimal(DBL_MIN, "2.2250738585072014e-308", &buf);
    pawl__buf_release(&buf);
}

/* The C library in its plain locale is the judge. */
static void every_double_reads_back_as_itself(void **ctx)
{
    (void)ctx;
    uint64_t seed = dice_seed();
    struct pawl__rng rng;
    struct pawl__buf buf = { 0 };
    pawl__rng_seed(&rng, seed);
    for (int i = 0; i < DOUBLES; i++) {
        uint64_t bits = pawl__rng_next(&rng);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (i % 4 == 1) value = ldexp(1, (int)pawl__rng_below(&rng, 2098) - 1074);
        if (i % 4 == 2) value = (double)pawl__rng_below(&rng, 100000) / 1000;
        if (i % 4 == 3) value = ldexp(pawl__rng_unit(&rng), -1022); // below the normal ones
        if (!isfinite(value)) continue;
        pawl__buf_clear(&buf);
        pawl__decimal_print(value, &buf);
        if (strtod(buf.at, NULL) != value) {
            fail_msg("seed %" PRIu64 ", case %d: %a became %s", seed, i, value, buf.at);
        }
    }
    pawl__buf_release(&buf);
}

static void no_digit_is_wasted(void **ctx)
{
    (void)ctx;
    uint64_t seed = dice_seed();
    struct pawl__rng rng;
    struct pawl__buf buf = { 0 };
    pawl__rng_seed(&rng, seed);
    for (int i = 0; i < DOUBLES; i++) {
        int64_t thousandths = 1001 + (int64_t)pawl__rng_below(&rng, 8998);
        char want[16];
        if (thousandths % 10 == 0) continue;
        snprintf(want, sizeof want, "%d.%03d", (int)(thousandths / 1000),
                 (int)(thousandths % 1000));
        expect_decimal((double)thousandths / 1000, want, &buf);
    }
    pawl__buf_release(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_costs_no_bytes),
        cmocka_unit_test(only_what_differs_is_printed),
        cmocka_unit_test(every_member_is_printed_in_one_order),
        cmocka_unit_test(nothing_is_the_default),
        cmocka_unit_test(what_is_read_is_resolved),
        cmocka_unit_test(what_is_not_a_policy_is_refused_and_named),
        cmocka_unit_test(what_is_not_json_is_refused),
        cmocka_unit_test(every_valid_policy_comes_back_the_same),
        cmocka_unit_test(doubles_are_printed_as_people_write_them),
        cmocka_unit_test(every_double_reads_back_as_itself),
        cmocka_unit_test(no_digit_is_wasted),
    };
    return cmocka_run_group_tests_name("lifecycle/retry_text", tests, NULL, NULL);
}
