/* Tests heartbeats: the documented factors, their bounds, and that a node has time to retry. */
#include "cluster/cluster.h"

#include "base/test_kit.h"

#define LEASE_MS                                                                                   \
    INT64_C(30000) /* whose third is the ten seconds that the factors were made for                \
                    */

static int64_t pause_ms(int64_t lease_ms, int64_t alive, int64_t ready)
{
    return pawl__heartbeat_ms(lease_ms, &(struct pawl_census){ .alive = alive, .ready = ready });
}

static void factor_of_nodes(void **state)
{
    static const struct {
        int64_t alive, ms;
    } rows[] = { { 1, 15000 }, { 2, 10000 }, { 3, 10000 }, { 4, 8000 },
                 { 6, 8000 },  { 7, 6000 },  { 100, 6000 } };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(pause_ms(LEASE_MS, rows[i].alive, 5), rows[i].ms);
    }
}

static void factor_of_jobs(void **state)
{
    static const struct {
        int64_t ready, ms;
    } rows[] = { { 0, 12000 }, { 1, 10000 },  { 10, 10000 }, { 11, 9000 },       { 50, 9000 },
                 { 51, 7000 }, { 200, 7000 }, { 201, 5000 }, { INT64_MAX, 5000 } };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(pause_ms(LEASE_MS, 2, rows[i].ready), rows[i].ms);
    }
}

static void factors_are_multiplied_and_bounded(void **state)
{
    assert_int_equal(pause_ms(LEASE_MS, 1, 0), 18000);
    assert_int_equal(pause_ms(LEASE_MS, 7, 1000), 5000); // 3 s by the factors
    assert_int_equal(pause_ms(10 * LEASE_MS, 7, 1000), 30000);
    assert_int_equal(pause_ms(10 * LEASE_MS, 1, 0), 180000);
}

static void short_leases_are_kept_too(void **state)
{
    assert_int_equal(pause_ms(3000, 2, 5), 1000);
    assert_int_equal(pause_ms(3000, 7, 1000), 1000); // not less than its third
    assert_int_equal(pause_ms(100, 1, 0), 59);
    assert_int_equal(pause_ms(1, 7, 1000), 1);
}

/* In any situation, after a failed heartbeat there is time for another before the lease ends. */
static void two_thirds_of_the_lease_at_most(void **state)
{
    for_seeds(seed, 1000)
    {
        struct pawl__rng rng;
        pawl__rng_seed(&rng, seed);
        int64_t lease_ms = 100 + (int64_t)(pawl__rng_next(&rng) % 86400000);
        int64_t alive = (int64_t)(pawl__rng_next(&rng) % 20);
        int64_t ready = (int64_t)(pawl__rng_next(&rng) % 1000);
        int64_t ms = pause_ms(lease_ms, alive, ready);
        prove(ms >= lease_ms / 12);
        prove(ms <= lease_ms * 2 / 3);
        prove(ms + pawl__heartbeat_retry_ms(lease_ms, 1) + pawl__heartbeat_retry_ms(lease_ms, 2) <
              lease_ms * 9 / 10);
    }
}

static void trouble_backs_off_and_is_bounded(void **state)
{
    assert_int_equal(pawl__heartbeat_retry_ms(LEASE_MS, 1), 1000);
    assert_int_equal(pawl__heartbeat_retry_ms(LEASE_MS, 2), 2000);
    assert_int_equal(pawl__heartbeat_retry_ms(LEASE_MS, 3), 4000);
    assert_int_equal(pawl__heartbeat_retry_ms(LEASE_MS, 4), 5000);
    assert_int_equal(pawl__heartbeat_retry_ms(LEASE_MS, INT32_MAX), 5000);
    assert_int_equal(pawl__heartbeat_retry_ms(10, 1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factor_of_nodes),
        cmocka_unit_test(factor_of_jobs),
        cmocka_unit_test(factors_are_multiplied_and_bounded),
        cmocka_unit_test(short_leases_are_kept_too),
        cmocka_unit_test(two_thirds_of_the_lease_at_most),
        cmocka_unit_test(trouble_backs_off_and_is_bounded),
    };
    return cmocka_run_group_tests_name("heartbeat", tests, NULL, NULL);
}
