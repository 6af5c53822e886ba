/* Tests retry policies: the numbers of the three systems, the arithmetic at its limits, what is
 * refused. */
#include "fields/fields.h"
#include "lifecycle/dice_test.h"
#include "lifecycle/lifecycle.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { CASES = 100000, DRAWS = 20000 };

#define HOUR INT64_C(3600000)

/* A resolved policy without jitter. */
static struct pawl_retry plain(enum pawl_backoff backoff, int64_t initial_ms, double coefficient)
{
    struct pawl_retry retry = { .backoff = backoff,
                                .initial_ms = initial_ms,
                                .coefficient = coefficient,
                                .cap_ms = INT64_MAX,
                                .jitter = PAWL_JITTER_OFF };
    pawl__retry_resolve(&retry);
    return retry;
}

static void expect_delays(const struct pawl_retry *retry, const int64_t *want, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t got = pawl__retry_delay(retry, (int64_t)i + 1, NULL);
        if (got != want[i]) {
            fail_msg("delay %zu is %" PRId64 ", not %" PRId64, i + 1, got, want[i]);
        }
    }
}

#define EXPECT_DELAYS(retry, ...)                                                                  \
    expect_delays(retry, (const int64_t[]){ __VA_ARGS__ },                                         \
                  sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))

/* ---- the three systems ---- */

static void ojs_doubles_from_a_second_to_five_minutes(void **ctx)
{
    (void)ctx;
    struct pawl_retry retry = pawl__retry_ojs();
    assert_int_equal(retry.attempts_max, 3);
    assert_int_equal(retry.jitter, PAWL_JITTER_ON);
    retry.jitter = PAWL_JITTER_OFF;
    EXPECT_DELAYS(&retry, 1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000, 256000, 300000,
                  300000);
    assert_int_equal(pawl__retry_delay(&retry, INT64_MAX, NULL), 300000);
}

static void ojs_has_four_ways_to_grow(void **ctx)
{
    (void)ctx;
    struct pawl_retry retry = plain(PAWL_BACKOFF_LINEAR, 1000, 1);
    EXPECT_DELAYS(&retry, 1000, 2000, 3000, 4000, 5000);
    retry = plain(PAWL_BACKOFF_POLYNOMIAL, 1000, 2);
    EXPECT_DELAYS(&retry, 1000, 4000, 9000, 16000, 25000);
    retry = plain(PAWL_BACKOFF_CONSTANT, 1000, 2);
    EXPECT_DELAYS(&retry, 1000, 1000, 1000);
    retry = plain(PAWL_BACKOFF_EXPONENTIAL, 1000, 3);
    EXPECT_DELAYS(&retry, 1000, 3000, 9000, 27000);
    retry = plain(PAWL_BACKOFF_IMMEDIATE, 1000, 2);
    EXPECT_DELAYS(&retry, 0, 0, 0);
}

static void a_coefficient_with_a_fraction_rounds_to_the_nearest_ms(void **ctx)
{
    (void)ctx;
    struct pawl_retry retry = plain(PAWL_BACKOFF_EXPONENTIAL, 1000, 1.9);
    EXPECT_DELAYS(&retry, 1000, 1900, 3610, 6859, 13032); // 13032.1
    retry = plain(PAWL_BACKOFF_EXPONENTIAL, 1000, 1.1);
    EXPECT_DELAYS(&retry, 1000, 1100, 1210, 1331, 1464, 1611); // 1464.1, 1610.51
    retry = plain(PAWL_BACKOFF_EXPONENTIAL, 100, 1.5);
    EXPECT_DELAYS(&retry, 100, 150, 225, 338, 506); // 337.5, 506.25
    retry = plain(PAWL_BACKOFF_POLYNOMIAL, 1000, 1.5);
    EXPECT_DELAYS(&retry, 1000, 2828, 5196, 8000, 11180, 14697, 18520, 22627, 27000);
}

static void ratchet_doubles_twenty_times_and_stops_at_a_day(void **ctx)
{
    (void)ctx;
    struct pawl_retry retry = pawl__retry_ratchet(PAWL__RATCHET_EXPONENTIAL, 3, 1000);
    assert_int_equal(retry.attempts_max, 4);
    EXPECT_DELAYS(&retry, 1000, 2000, 4000, 8000);
    assert_int_equal(pawl__retry_delay(&retry, 17, NULL), 65536000);
    assert_int_equal(pawl__retry_delay(&retry, 18, NULL), 24 * HOUR);
    assert_int_equal(pawl__retry_delay(&retry, INT64_MAX, NULL), 24 * HOUR);

    retry = pawl__retry_ratchet(PAWL__RATCHET_EXPONENTIAL, 100, 10);
    assert_int_equal(pawl__retry_delay(&retry, 20, NULL), 10 << 19);
    assert_int_equal(pawl__retry_delay(&retry, 21, NULL), 10 << 20);
    assert_int_equal(pawl__retry_delay(&retry, 22, NULL), 10 << 20);
    assert_int_equal(pawl__retry_delay(&retry, INT64_MAX, NULL), 10 << 20);
}

static void ratchet_none_waits_not_and_fixed_waits_the_same(void **ctx)
{
    (void)ctx;
    struct pawl_retry retry = pawl__retry_ratchet(PAWL__RATCHET_NONE, 3, 1000);
    EXPECT_DELAYS(&retry, 0, 0, 0);
    retry = pawl__retry_ratchet(PAWL__RATCHET_FIXED, 3, 1500);
    EXPECT_DELAYS(&retry, 1500, 1500, 1500);
    retry = pawl__retry_ratchet(PAWL__RATCHET_FIXED, 3, 48 * HOUR);
    EXPECT_DELAYS(&retry, 48 * HOUR);
    retry = pawl__retry_ratchet(PAWL__RATCHET_FIXED, 3, 0);
    EXPECT_DELAYS(&retry, 0, 0);
}

static void marie_waits_five_ten_twenty_seconds_and_then_fails(void **ctx)
{
    (void)ctx;
    struct pawl_retry retry = pawl__retry_marie(3, 5000, true, false);
    const struct pawl_report report = { .type = "boom" };
    for (int64_t charged = 1; charged <= 3; charged++) {
        struct pawl__verdict verdict = pawl__retry_decide(&retry, &report, charged, NULL);
        assert_int_equal(verdict.kind, PAWL__VERDICT_RETRY);
        assert_int_equal(verdict.delay_ms, 5000 << (charged - 1));
    }
    assert_int_equal(pawl__retry_decide(&retry, &report, 4, NULL).kind, PAWL__VERDICT_DISCARD);
}

static void marie_without_backoff_waits_the_delay(void **ctx)
{
    (void)ctx;
    struct pawl_retry retry = pawl__retry_marie(3, 5000, false, false);
    EXPECT_DELAYS(&retry, 5000, 5000, 5000, 5000);
    retry = pawl__retry_marie(3, 0, false, false);
    EXPECT_DELAYS(&retry, 0, 0);
    retry = pawl__retry_marie(3, 0, true, false);
    EXPECT_DELAYS(&retry, 1000, 2000);
}

static void marie_jitter_lies_between_once_and_twice_the_wait(void **ctx)
{
    (void)ctx;
    struct pawl_retry retry = pawl__retry_marie(5, 2000, true, true);
    uint64_t seed = dice_seed();
    struct pawl__rng rng;
    pawl__rng_seed(&rng, seed);
    for (int i = 0; i < DRAWS; i++) {
        int64_t n = 1 + i % 6, wait = INT64_C(2000) << (n - 1);
        int64_t delay = pawl__retry_delay(&retry, n, &rng);
        if (delay < wait || delay >= 2 * wait) {
            fail_msg("seed %" PRIu64 ", draw %d: %" PRId64, seed, i, delay);
        }
    }
}

static void no_retries_means_one_run(void **ctx)
{
    (void)ctx;
    const struct pawl_retry policies[] = { pawl__retry_marie(0, 5000, true, false),
                                           pawl__retry_marie(-7, 5000, true, false),
                                           pawl__retry_ratchet(PAWL__RATCHET_FIXED, 0, 1000),
                                           { .attempts_max = 1 } };
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        struct pawl__verdict verdict =
            pawl__retry_decide(&policies[i], &(struct pawl_report){ 0 }, 1, NULL);
        assert_true(verdict.kind == PAWL__VERDICT_DISCARD ||
                    verdict.kind == PAWL__VERDICT_DEAD_LETTER);
        assert_string_equal(verdict.reason, "attempts spent");
    }
}

static void marie_stops_doubling_and_never_overflows(void **ctx)
{
    (void)ctx;
    struct pawl_retry retry = pawl__retry_marie(INT32_MAX, 1000, true, false);
    assert_int_equal(retry.attempts_max, INT32_MAX);
    assert_int_equal(pawl__retry_delay(&retry, 16, NULL), 32768000);
    assert_int_equal(pawl__retry_delay(&retry, INT64_MAX, NULL), 32768000);
    retry = pawl__retry_marie(5, INT64_MAX, true, false);
    assert_int_equal(pawl__retry_delay(&retry, INT64_MAX, NULL), PAWL__RETRY_MS_MAX);
}

static void presets_are_complete_and_valid_whatever_the_arguments(void **ctx)
{
    (void)ctx;
    uint64_t seed = dice_seed();
    struct pawl__rng rng;
    struct pawl_diag diag;
    pawl__rng_seed(&rng, seed);
    for (int i = 0; i < CASES; i++) {
        int64_t ms = dice_int64(&rng);
        int32_t retries = (int32_t)dice_int64(&rng);
        struct pawl_retry presets[] = {
            pawl__retry_ojs(),
            pawl__retry_ratchet(i % 3, retries, ms),
            pawl__retry_marie(retries, ms, i & 1, i & 2),
        };
        for (size_t j = 0; j < sizeof presets / sizeof *presets; j++) {
            struct pawl_retry resolved = presets[j];
            pawl__retry_resolve(&resolved);
            if (pawl__retry_check(&presets[j], &diag) || !same_policy(&resolved, &presets[j])) {
                fail_msg("seed %" PRIu64 ", case %d: preset %zu: %s", seed, i, j, diag.text);
            }
        }
    }
}

/* ---- arithmetic ---- */

static void the_cap_holds_before_and_after_jitter(void **ctx)
{
    (void)ctx;
    struct pawl_retry retry = { .initial_ms = 1000, .cap_ms = 3000 };
    struct pawl__rng rng;
    int at_cap = 0, below = 0;
    pawl__retry_resolve(&retry);
    pawl__rng_seed(&rng, 1);
    for (int i = 0; i < DRAWS; i++) {
        int64_t delay = pawl__retry_delay(&retry, 3, &rng); // 4000, capped to 3000, times 0.5..1.5
        assert_in_range(delay, 1500, 3000);
        at_cap += delay == 3000;
        below += delay < 3000;
    }
    assert_in_range(at_cap, DRAWS * 45 / 100, DRAWS * 55 / 100);
    assert_in_range(below, DRAWS * 45 / 100, DRAWS * 55 / 100);
}

static void jitter_covers_its_whole_range_evenly(void **ctx)
{
    (void)ctx;
    struct pawl_retry retry = { .initial_ms = 1000 };
    struct pawl__rng rng;
    int tenths[10] = { 0 };
    pawl__retry_resolve(&retry);
    pawl__rng_seed(&rng, 2);
    for (int i = 0; i < DRAWS; i++) {
        int64_t delay = pawl__retry_delay(&retry, 1, &rng);
        assert_in_range(delay, 500, 1499);
        tenths[(delay - 500) / 100]++;
    }
    for (int i = 0; i < 10; i++) {
        assert_in_range(tenths[i], DRAWS / 10 * 85 / 100, DRAWS / 10 * 115 / 100);
    }
}

/* For odd numbers, modulo 2^64. */
static uint64_t inverse(uint64_t odd)
{
    uint64_t x = odd; // right in the last three bits; each step doubles that
    for (int i = 0; i < 5; i++) {
        x *= 2 - odd * x;
    }
    return x;
}

/* Dice whose next draw is the largest: rotl(5 * s[1], 7) * 9 is all ones. */
static struct pawl__rng loaded_dice(void)
{
    uint64_t turned = UINT64_MAX * inverse(9);
    return (struct pawl__rng){ .s = { 1, ((turned >> 7) | (turned << 57)) * inverse(5), 1, 1 } };
}

/* In doubles, one plus the largest draw is two: rounding must not reach the exclusive bound. */
static void the_upper_end_of_jitter_is_never_drawn(void **ctx)
{
    (void)ctx;
    struct pawl_retry retry = pawl__retry_marie(5, 1000, true, true);
    struct pawl__rng dice = loaded_dice(), same = dice;
    assert_true(pawl__rng_unit(&same) == 1 - 0x1p-53);
    assert_in_range(pawl__retry_delay(&retry, 1, &dice), 1000, 1999);
}

static void a_coefficient_below_one_counts_as_one(void **ctx)
{
    (void)ctx;
    static const double odd[] = { 0.5, -3, NAN, -INFINITY };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct pawl_retry retry = plain(PAWL_BACKOFF_EXPONENTIAL, 1000, odd[i]);
        assert_int_equal(pawl__retry_delay(&retry, 9, NULL), 1000);
    }
}

static void without_jitter_no_dice_are_drawn(void **ctx)
{
    (void)ctx;
    struct pawl_retry retry = plain(PAWL_BACKOFF_EXPONENTIAL, 1000, 2);
    struct pawl__rng rng, before;
    pawl__rng_seed(&rng, 3);
    before = rng;
    assert_int_equal(pawl__retry_delay(&retry, 5, &rng), 16000);
    assert_memory_equal(&rng, &before, sizeof rng);
    retry.jitter = PAWL_JITTER_ON;
    assert_in_range(pawl__retry_delay(&retry, 5, &rng), 8000, 23999);
    assert_memory_not_equal(&rng, &before, sizeof rng);
}

static void powers_of_two_are_exact_to_the_last_bit(void **ctx)
{
    (void)ctx;
    for (int64_t first = 1; first <= 9; first += 2) {
        struct pawl_retry retry = plain(PAWL_BACKOFF_EXPONENTIAL, first, 2);
        for (int n = 1; n <= 60; n++) {
            assert_int_equal(pawl__retry_delay(&retry, n, NULL), first << (n - 1));
        }
        assert_int_equal(pawl__retry_delay(&retry, 64, NULL), INT64_MAX);
    }
}

static void products_that_touch_the_largest_number_are_exact(void **ctx)
{
    (void)ctx;
    struct pawl_retry retry = plain(PAWL_BACKOFF_LINEAR, INT64_MAX / 7, 2); // 7 divides it
    assert_int_equal(pawl__retry_delay(&retry, 7, NULL), INT64_MAX);
    assert_int_equal(pawl__retry_delay(&retry, 6, NULL), INT64_MAX / 7 * 6);
    assert_int_equal(pawl__retry_delay(&retry, 8, NULL), INT64_MAX);
    assert_int_equal(pawl__retry_delay(&retry, INT64_MAX, NULL), INT64_MAX);
    retry = plain(PAWL_BACKOFF_POLYNOMIAL, 1, 2);
    assert_int_equal(pawl__retry_delay(&retry, 3037000499, NULL), 9223372030926249001);
    assert_int_equal(pawl__retry_delay(&retry, 3037000500, NULL), INT64_MAX);
    retry = plain(PAWL_BACKOFF_EXPONENTIAL, 1, INT32_MAX);
    assert_int_equal(pawl__retry_delay(&retry, 3, NULL), INT64_C(2147483647) * 2147483647);
    assert_int_equal(pawl__retry_delay(&retry, 4, NULL), INT64_MAX);
}

static void a_coefficient_of_one_never_grows(void **ctx)
{
    (void)ctx;
    struct pawl_retry retry = plain(PAWL_BACKOFF_EXPONENTIAL, 1234, 1);
    assert_int_equal(pawl__retry_delay(&retry, INT64_MAX, NULL), 1234);
    retry = plain(PAWL_BACKOFF_POLYNOMIAL, 1234, 0x1p62);
    assert_int_equal(pawl__retry_delay(&retry, 1, NULL), 1234);
    assert_int_equal(pawl__retry_delay(&retry, 2, NULL), INT64_MAX);
}

static void a_count_below_one_is_taken_for_one(void **ctx)
{
    (void)ctx;
    struct pawl_retry retry = plain(PAWL_BACKOFF_EXPONENTIAL, 1000, 2);
    assert_int_equal(pawl__retry_delay(&retry, 0, NULL), 1000);
    assert_int_equal(pawl__retry_delay(&retry, -5, NULL), 1000);
    assert_int_equal(pawl__retry_delay(&retry, INT64_MIN, NULL), 1000);
}

static double random_double(struct pawl__rng *rng)
{
    static const double corners[] = { 1,        2,         1.5,         3,
                                      1e308,    1e-308,    0x1p63,      0x1p62,
                                      0x1p53,   -1,        0x1p-1074,   NAN,
                                      INFINITY, -INFINITY, 1 + 0x1p-52, 2 - 0x1p-52 };
    switch (pawl__rng_below(rng, 3)) {
    case 0:
        return corners[pawl__rng_below(rng, sizeof corners / sizeof *corners)];
    case 1:
        return 1 + 3 * pawl__rng_unit(rng);
    default: {
        uint64_t bits = pawl__rng_next(rng);
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    }
}

static struct pawl_retry random_policy(struct pawl__rng *rng)
{
    struct pawl_retry retry = { .backoff = 1 + (int)pawl__rng_below(rng, PAWL_BACKOFF_END - 1),
                                .initial_ms = dice_int64(rng),
                                .coefficient = random_double(rng),
                                .cap_ms = dice_int64(rng),
                                .exponent_max = (int32_t)dice_int64(rng),
                                .jitter = 1 + (int)pawl__rng_below(rng, 2),
                                .jitter_low = random_double(rng),
                                .jitter_high = random_double(rng) };
    pawl__retry_resolve(&retry);
    return retry;
}

/* Also for policies that would not pass the check: a damaged row must do no harm. */
static void no_policy_gives_a_wait_below_zero_or_over_its_cap(void **ctx)
{
    (void)ctx;
    uint64_t seed = dice_seed();
    struct pawl__rng rng;
    pawl__rng_seed(&rng, seed);
    for (int i = 0; i < CASES; i++) {
        struct pawl_retry retry = random_policy(&rng);
        int64_t n = dice_int64(&rng), delay = pawl__retry_delay(&retry, n, &rng);
        if (delay < 0 || (delay > retry.cap_ms && delay > 0)) {
            fail_msg("seed %" PRIu64 ", case %d: %" PRId64 " with a cap of %" PRId64, seed, i,
                     delay, retry.cap_ms);
        }
    }
}

static void without_jitter_waits_never_shrink(void **ctx)
{
    (void)ctx;
    uint64_t seed = dice_seed();
    struct pawl__rng rng;
    pawl__rng_seed(&rng, seed);
    for (int i = 0; i < CASES; i++) {
        struct pawl_retry retry = plain(1 + i % (PAWL_BACKOFF_END - 1),
                                        1 + (int64_t)pawl__rng_below(&rng, HOUR),
                                        1 + (double)pawl__rng_below(&rng, 4000) / 1000);
        retry.cap_ms = dice_positive(&rng);
        retry.exponent_max = (int32_t)pawl__rng_below(&rng, 40);
        int64_t n = 1 + (int64_t)pawl__rng_below(&rng, 70);
        int64_t now = pawl__retry_delay(&retry, n, NULL);
        int64_t then = pawl__retry_delay(&retry, n + 1, NULL);
        if (then < now) {
            fail_msg("seed %" PRIu64 ", case %d: %" PRId64 " and then %" PRId64, seed, i, now,
                     then);
        }
    }
}

/* Compares with the formula in wider numbers, where those are accurate enough. */
static void waits_agree_with_the_formulas(void **ctx)
{
    (void)ctx;
    uint64_t seed = dice_seed();
    struct pawl__rng rng;
    pawl__rng_seed(&rng, seed);
    for (int i = 0; i < CASES; i++) {
        double c = 1 + (double)pawl__rng_below(&rng, 3001) / 1000;
        int64_t first = 1 + (int64_t)pawl__rng_below(&rng, HOUR / 6);
        int64_t n = 1 + (int64_t)pawl__rng_below(&rng, 30);
        const long double formulas[PAWL_BACKOFF_END] = {
            [PAWL_BACKOFF_EXPONENTIAL] = first * powl(c, (long double)(n - 1)),
            [PAWL_BACKOFF_LINEAR] = (long double)first * n,
            [PAWL_BACKOFF_POLYNOMIAL] = first * powl((long double)n, c),
            [PAWL_BACKOFF_CONSTANT] = first,
        };
        for (int backoff = 1; backoff < PAWL_BACKOFF_END; backoff++) {
            struct pawl_retry retry = plain(backoff, first, c);
            retry.cap_ms = PAWL__RETRY_MS_MAX;
            long double want = fminl(formulas[backoff], PAWL__RETRY_MS_MAX);
            int64_t got = pawl__retry_delay(&retry, n, NULL);
            if (fabsl((long double)got - want) > 0.5L + want * 0x1p-51L) {
                fail_msg("seed %" PRIu64 ", case %d, backoff %d: %" PRId64 ", not %Lf", seed, i,
                         backoff, got, want);
            }
        }
    }
}

/* ---- resolve and check ---- */

static void zero_fields_take_the_defaults_that_are_promised(void **ctx)
{
    (void)ctx;
    struct pawl_retry retry = { 0 }, ojs = pawl__retry_ojs();
    pawl__retry_resolve(&retry);
    assert_true(same_policy(&retry, &ojs));
    assert_int_equal(retry.attempts_max, 3);
    assert_int_equal(retry.backoff, PAWL_BACKOFF_EXPONENTIAL);
    assert_int_equal(retry.initial_ms, 1000);
    assert_true(retry.coefficient == 2);
    assert_int_equal(retry.cap_ms, 300000);
    assert_int_equal(retry.exponent_max, 0);
    assert_int_equal(retry.jitter, PAWL_JITTER_ON);
    assert_true(retry.jitter_low == 0.5 && retry.jitter_high == 1.5);
    assert_int_equal(retry.non_retryable_count, 0);
    assert_int_equal(retry.on_exhaustion, PAWL_EXHAUSTION_DISCARD);
}

static void given_fields_stay_as_they_are(void **ctx)
{
    (void)ctx;
    static const char *const list[] = { "auth.*" };
    const struct pawl_retry given = { .attempts_max = 9,
                                      .backoff = PAWL_BACKOFF_LINEAR,
                                      .initial_ms = 7,
                                      .coefficient = 1.25,
                                      .cap_ms = 70,
                                      .exponent_max = 4,
                                      .jitter = PAWL_JITTER_OFF,
                                      .jitter_low = 0.9,
                                      .jitter_high = 1.1,
                                      .non_retryable = list,
                                      .non_retryable_count = 1,
                                      .on_exhaustion = PAWL_EXHAUSTION_DEAD_LETTER };
    struct pawl_retry retry = given;
    pawl__retry_resolve(&retry);
    assert_true(same_policy(&retry, &given));
}

static void a_long_first_wait_lifts_the_cap_that_was_not_given(void **ctx)
{
    (void)ctx;
    struct pawl_retry retry = { .initial_ms = HOUR };
    pawl__retry_resolve(&retry);
    assert_int_equal(retry.cap_ms, HOUR);
    assert_int_equal(pawl__retry_check(&retry, NULL), PAWL_OK);
}

static void a_broken_rule_is_named(void **ctx)
{
    (void)ctx;
    static const char *const hole[] = { "a", NULL }, *const empty[] = { "" },
                             *const broken[] = { "\xff" };
    static char wide[PAWL__NON_RETRYABLE_BYTES_MAX + 2];
    const char *too_long[] = { wide };
    memset(wide, 'x', sizeof wide - 1);
    const struct {
        struct pawl_retry retry;
        enum pawl_err err;
        const char *field;
    } cases[] = {
        { { .attempts_max = -1 }, PAWL_ERR_ARG, "retry.attempts_max" },
        { { .backoff = PAWL_BACKOFF_END }, PAWL_ERR_ARG, "retry.backoff" },
        { { .initial_ms = -1 }, PAWL_ERR_ARG, "retry.initial_ms" },
        { { .initial_ms = PAWL__RETRY_MS_MAX + 1 }, PAWL_ERR_ARG, "retry.initial_ms" },
        { { .coefficient = 0.99 }, PAWL_ERR_ARG, "retry.coefficient" },
        { { .coefficient = -2 }, PAWL_ERR_ARG, "retry.coefficient" },
        { { .coefficient = NAN }, PAWL_ERR_ARG, "retry.coefficient" },
        { { .coefficient = INFINITY }, PAWL_ERR_ARG, "retry.coefficient" },
        { { .cap_ms = 999 }, PAWL_ERR_ARG, "retry.cap_ms" },
        { { .cap_ms = PAWL__RETRY_MS_MAX + 1 }, PAWL_ERR_ARG, "retry.cap_ms" },
        { { .exponent_max = -1 }, PAWL_ERR_ARG, "retry.exponent_max" },
        { { .jitter = (enum pawl_jitter)3 }, PAWL_ERR_ARG, "retry.jitter" },
        { { .jitter_low = -0.1 }, PAWL_ERR_ARG, "retry.jitter_low" },
        { { .jitter_low = NAN }, PAWL_ERR_ARG, "retry.jitter_low" },
        { { .jitter_high = 0.4 }, PAWL_ERR_ARG, "retry.jitter_high" },
        { { .jitter_high = INFINITY }, PAWL_ERR_ARG, "retry.jitter_high" },
        { { .on_exhaustion = (enum pawl_exhaustion)3 }, PAWL_ERR_ARG, "retry.on_exhaustion" },
        { { .non_retryable_count = 1 }, PAWL_ERR_ARG, "retry.non_retryable" },
        { { .non_retryable = hole, .non_retryable_count = 2 },
          PAWL_ERR_ARG,
          "retry.non_retryable" },
        { { .non_retryable = empty, .non_retryable_count = 1 },
          PAWL_ERR_ARG,
          "retry.non_retryable" },
        { { .non_retryable = broken, .non_retryable_count = 1 },
          PAWL_ERR_ARG,
          "retry.non_retryable" },
        { { .non_retryable = too_long, .non_retryable_count = 1 },
          PAWL_ERR_LIMIT,
          "retry.non_retryable" },
        { { .non_retryable = hole, .non_retryable_count = PAWL__NON_RETRYABLE_MAX + 1 },
          PAWL_ERR_LIMIT,
          "retry.non_retryable" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pawl_retry retry = cases[i].retry;
        struct pawl_diag diag = { 0 };
        pawl__retry_resolve(&retry);
        assert_int_equal(pawl__retry_check(&retry, &diag), cases[i].err);
        assert_string_equal(diag.field, cases[i].field);
        assert_non_null(strstr(diag.text, cases[i].field));
    }
}

#define WRONG_I32(member) .member = -1
#define WRONG_I64(member) .member = -1
#define WRONG_REAL(member) .member = NAN
#define WRONG_BACKOFF(member) .member = PAWL_BACKOFF_END
#define WRONG_JITTER(member) .member = (enum pawl_jitter)9
#define WRONG_EXHAUSTION(member) .member = (enum pawl_exhaustion)9
#define WRONG_TEXTS(member) .member##_count = 1

static void every_member_of_the_list_has_a_check(void **ctx)
{
    (void)ctx;
    const struct {
        struct pawl_retry retry;
        const char *field;
    } cases[] = {
#define X(member, kind, ...) { { WRONG_##kind(member) }, "retry." #member },
        PAWL__RETRY_FIELDS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pawl_retry retry = cases[i].retry;
        struct pawl_diag diag = { 0 };
        pawl__retry_resolve(&retry);
        assert_int_equal(pawl__retry_check(&retry, &diag), PAWL_ERR_ARG);
        assert_string_equal(diag.field, cases[i].field);
    }
}

static void the_ends_of_what_is_allowed_pass(void **ctx)
{
    (void)ctx;
    static char widest[PAWL__NON_RETRYABLE_BYTES_MAX + 1];
    const char *list[PAWL__NON_RETRYABLE_MAX];
    memset(widest, 'x', sizeof widest - 1);
    for (int i = 0; i < PAWL__NON_RETRYABLE_MAX; i++) {
        list[i] = widest;
    }
    struct pawl_retry retry = { .attempts_max = INT32_MAX,
                                .initial_ms = PAWL__RETRY_MS_MAX,
                                .coefficient = 1e308,
                                .cap_ms = PAWL__RETRY_MS_MAX,
                                .exponent_max = INT32_MAX,
                                .jitter_low = 1e308,
                                .jitter_high = 1e308,
                                .non_retryable = list,
                                .non_retryable_count = PAWL__NON_RETRYABLE_MAX };
    pawl__retry_resolve(&retry);
    assert_int_equal(pawl__retry_check(&retry, NULL), PAWL_OK);
    retry =
        (struct pawl_retry){ .attempts_max = 1, .initial_ms = 1, .cap_ms = 1, .coefficient = 1 };
    pawl__retry_resolve(&retry);
    assert_int_equal(pawl__retry_check(&retry, NULL), PAWL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ojs_doubles_from_a_second_to_five_minutes),
        cmocka_unit_test(ojs_has_four_ways_to_grow),
        cmocka_unit_test(a_coefficient_with_a_fraction_rounds_to_the_nearest_ms),
        cmocka_unit_test(ratchet_doubles_twenty_times_and_stops_at_a_day),
        cmocka_unit_test(ratchet_none_waits_not_and_fixed_waits_the_same),
        cmocka_unit_test(marie_waits_five_ten_twenty_seconds_and_then_fails),
        cmocka_unit_test(marie_without_backoff_waits_the_delay),
        cmocka_unit_test(marie_jitter_lies_between_once_and_twice_the_wait),
        cmocka_unit_test(no_retries_means_one_run),
        cmocka_unit_test(marie_stops_doubling_and_never_overflows),
        cmocka_unit_test(presets_are_complete_and_valid_whatever_the_arguments),
        cmocka_unit_test(the_cap_holds_before_and_after_jitter),
        cmocka_unit_test(jitter_covers_its_whole_range_evenly),
        cmocka_unit_test(the_upper_end_of_jitter_is_never_drawn),
        cmocka_unit_test(a_coefficient_below_one_counts_as_one),
        cmocka_unit_test(without_jitter_no_dice_are_drawn),
        cmocka_unit_test(powers_of_two_are_exact_to_the_last_bit),
        cmocka_unit_test(products_that_touch_the_largest_number_are_exact),
        cmocka_unit_test(a_coefficient_of_one_never_grows),
        cmocka_unit_test(a_count_below_one_is_taken_for_one),
        cmocka_unit_test(no_policy_gives_a_wait_below_zero_or_over_its_cap),
        cmocka_unit_test(without_jitter_waits_never_shrink),
        cmocka_unit_test(waits_agree_with_the_formulas),
        cmocka_unit_test(zero_fields_take_the_defaults_that_are_promised),
        cmocka_unit_test(given_fields_stay_as_they_are),
        cmocka_unit_test(a_long_first_wait_lifts_the_cap_that_was_not_given),
        cmocka_unit_test(a_broken_rule_is_named),
        cmocka_unit_test(every_member_of_the_list_has_a_check),
        cmocka_unit_test(the_ends_of_what_is_allowed_pass),
    };
    return cmocka_run_group_tests_name("lifecycle/retry", tests, NULL, NULL);
}
