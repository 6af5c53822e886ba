/* Tests histograms: the bucket of a value, and the accuracy of quantiles. */
#include "base/histogram.h"

#include "base/test_kit.h"

static struct pawl_histogram of(const int64_t *values, size_t count)
{
    struct pawl_histogram histogram = { 0 };
    for (size_t i = 0; i < count; i++) {
        pawl__histogram_add(&histogram, values[i]);
    }
    return histogram;
}

static int64_t sum_of_buckets(const struct pawl_histogram *histogram)
{
    int64_t sum = 0;
    for (int i = 0; i < PAWL_HISTOGRAM_BUCKETS; i++) {
        sum += histogram->below[i];
    }
    return sum;
}

/* Bucket i counts what is below 2^i and not below 2^(i-1). */
static void buckets_part_at_powers_of_two(void **state)
{
    for (int i = 0; i < PAWL_HISTOGRAM_BUCKETS - 1; i++) {
        int64_t below = (INT64_C(1) << i) - 1, at = INT64_C(1) << i;
        struct pawl_histogram histogram = of((int64_t[]){ below, at }, 2);
        assert_int_equal(histogram.below[i], 1);
        assert_int_equal(histogram.below[i + 1], 1);
        assert_int_equal(sum_of_buckets(&histogram), 2);
    }
}

static void last_bucket_takes_all_that_is_larger(void **state)
{
    struct pawl_histogram histogram =
        of((int64_t[]){ INT64_C(1) << (PAWL_HISTOGRAM_BUCKETS - 2),
                        INT64_C(1) << (PAWL_HISTOGRAM_BUCKETS - 1), INT64_C(1) << 60 },
           3);
    assert_int_equal(histogram.below[PAWL_HISTOGRAM_BUCKETS - 1], 3);
    assert_int_equal(histogram.max_us, INT64_C(1) << 60);
}

static void negative_durations_count_as_none(void **state)
{
    struct pawl_histogram histogram = of((int64_t[]){ -1, INT64_MIN }, 2);
    assert_int_equal(histogram.below[0], 2);
    assert_int_equal(histogram.sum_us, 0);
    assert_int_equal(histogram.max_us, 0);
    assert_int_equal(histogram.count, 2);
}

static void count_sum_and_largest_are_exact(void **state)
{
    struct pawl_histogram histogram = of((int64_t[]){ 3, 1000, 7, 0, 999999 }, 5);
    assert_int_equal(histogram.count, 5);
    assert_int_equal(histogram.sum_us, 1001009);
    assert_int_equal(histogram.max_us, 999999);
    assert_int_equal(sum_of_buckets(&histogram), 5);
}

static void quantiles_of_nothing_are_zero(void **state)
{
    struct pawl_histogram histogram = { 0 };
    assert_int_equal(pawl_histogram_quantile(&histogram, 0), 0);
    assert_int_equal(pawl_histogram_quantile(&histogram, 0.5), 0);
    assert_int_equal(pawl_histogram_quantile(&histogram, 1), 0);
}

static void last_quantile_is_the_largest(void **state)
{
    struct pawl_histogram histogram = of((int64_t[]){ 5, 100, 1025 }, 3);
    assert_int_equal(pawl_histogram_quantile(&histogram, 1), 1025);
    histogram = of((int64_t[]){ INT64_C(1) << 50 }, 1);
    assert_int_equal(pawl_histogram_quantile(&histogram, 1), INT64_C(1) << 50);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* A quantile is in the same bucket as the value itself. */
static void quantiles_are_good_to_a_factor_of_two(void **state)
{
    enum { N = 1000 };
    static int64_t values[N];
    for_seeds(seed, 50)
    {
        struct pawl__rng rng;
        pawl__rng_seed(&rng, seed);
        for (int i = 0; i < N; i++) {
            values[i] = (int64_t)pawl__rng_below(&rng, UINT64_C(1) << (1 + i % 30));
        }
        struct pawl_histogram histogram = of(values, N);
        qsort(values, N, sizeof values[0], by_value);
        int64_t before = 0;
        for (int rank = 1; rank <= N; rank++) {
            int64_t near = pawl_histogram_quantile(&histogram, (double)rank / N);
            int64_t exact = values[rank - 1];
            prove(near >= before);
            prove(near <= 2 * exact + 1 && exact <= 2 * near + 1);
            before = near;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_part_at_powers_of_two),
        cmocka_unit_test(last_bucket_takes_all_that_is_larger),
        cmocka_unit_test(negative_durations_count_as_none),
        cmocka_unit_test(count_sum_and_largest_are_exact),
        cmocka_unit_test(quantiles_of_nothing_are_zero),
        cmocka_unit_test(last_quantile_is_the_largest),
        cmocka_unit_test(quantiles_are_good_to_a_factor_of_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
