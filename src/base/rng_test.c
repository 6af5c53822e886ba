#include "base/rng.h"

#include "base/test_kit.h"

/* The authors' reference, as restated by the tests of Rust's rand_xoshiro. */
static void draws_what_the_reference_draws(void **state)
{
    static const uint64_t expected[] = {
        11520,
        0,
        1509978240,
        UINT64_C(1215971899390074240),
        UINT64_C(1216172134540287360),
        UINT64_C(607988272756665600),
        UINT64_C(16172922978634559625),
        UINT64_C(8476171486693032832),
        UINT64_C(10595114339597558777),
        UINT64_C(2904607092377533576),
    };
    struct pawl__rng rng = { { 1, 2, 3, 4 } };
    for (size_t i = 0; i < COUNT(expected); i++) {
        assert_true(pawl__rng_next(&rng) == expected[i]);
    }
}

static void seeds_are_spread_by_splitmix(void **state)
{
    static const uint64_t expected[] = { UINT64_C(6457827717110365317),
                                         UINT64_C(3203168211198807973),
                                         UINT64_C(9817491932198370423),
                                         UINT64_C(4593380528125082431) };
    struct pawl__rng rng;
    pawl__rng_seed(&rng, 1234567);
    assert_memory_equal(rng.s, expected, sizeof expected);
}

static void zero_is_a_seed_like_others(void **state)
{
    struct pawl__rng rng;
    pawl__rng_seed(&rng, 0);
    uint64_t bits = 0;
    for (int i = 0; i < 100; i++) {
        bits |= pawl__rng_next(&rng);
    }
    assert_true(bits == UINT64_MAX);
}

static void same_seed_same_dice(void **state)
{
    struct pawl__rng a, b, c;
    pawl__rng_seed(&a, 42);
    pawl__rng_seed(&b, 42);
    pawl__rng_seed(&c, 43);
    int different = 0;
    for (int i = 0; i < 100; i++) {
        uint64_t x = pawl__rng_next(&a);
        assert_true(x == pawl__rng_next(&b));
        different += x != pawl__rng_next(&c);
    }
    assert_int_equal(different, 100);
}

static void below_stays_below_and_is_fair(void **state)
{
    enum { DRAWS = 60000, BOUND = 6 };
    struct pawl__rng rng;
    pawl__rng_seed(&rng, 7);
    int count[BOUND] = { 0 };
    for (int i = 0; i < DRAWS; i++) {
        uint64_t draw = pawl__rng_below(&rng, BOUND);
        assert_true(draw < BOUND);
        count[draw]++;
    }
    for (int i = 0; i < BOUND; i++) { // 5 standard deviations are 456
        assert_in_range(count[i], DRAWS / BOUND - 500, DRAWS / BOUND + 500);
    }
}

/* With two thirds of 2^64 a plain remainder would draw the lower half twice as often. */
static void below_is_fair_for_huge_bounds(void **state)
{
    const uint64_t bound = UINT64_MAX / 3 * 2;
    struct pawl__rng rng;
    pawl__rng_seed(&rng, 8);
    int low = 0;
    for (int i = 0; i < 10000; i++) {
        uint64_t draw = pawl__rng_below(&rng, bound);
        assert_true(draw < bound);
        low += draw < bound / 2;
    }
    assert_in_range(low, 4700, 5300);
    assert_true(pawl__rng_below(&rng, 1) == 0);
}

static void unit_lies_in_its_interval(void **state)
{
    struct pawl__rng rng;
    pawl__rng_seed(&rng, 9);
    double sum = 0, min = 1, max = 0;
    for (int i = 0; i < 100000; i++) {
        double x = pawl__rng_unit(&rng);
        sum += x;
        if (x < min) min = x;
        if (x > max) max = x;
    }
    assert_true(min >= 0 && min < 0.001);
    assert_true(max < 1 && max > 0.999);
    assert_true(sum > 49000 && sum < 51000);
}

static void system_seeds_differ(void **state)
{
    assert_true(pawl__rng_system_seed() != pawl__rng_system_seed());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_what_the_reference_draws),
        cmocka_unit_test(seeds_are_spread_by_splitmix),
        cmocka_unit_test(zero_is_a_seed_like_others),
        cmocka_unit_test(same_seed_same_dice),
        cmocka_unit_test(below_stays_below_and_is_fair),
        cmocka_unit_test(below_is_fair_for_huge_bounds),
        cmocka_unit_test(unit_lies_in_its_interval),
        cmocka_unit_test(system_seeds_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
