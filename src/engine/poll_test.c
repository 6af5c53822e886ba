/* Tests the safety poll: its modes, its documented numbers, and its invariants under random events.
 */
#include "engine/poll.h"

#include "base/test_kit.h"

#define START_MS INT64_C(1750000000000)
#define MINUTE_MS INT64_C(60000)

/* A third of the workers in use: at this load the factor is 1. */
enum { BUSY_NEUTRAL = 34, BATCH = 100 };

struct stand {
    struct pawl__poll_rules rules;
    struct pawl__poll poll;
    int64_t now_ms;
};

static void stand_init(struct stand *stand)
{
    *stand = (struct stand){ .now_ms = START_MS };
    pawl__poll_defaults(&stand->rules);
}

static void find(struct stand *stand, int64_t found)
{
    pawl__poll_note(&stand->poll, &stand->rules, stand->now_ms, BATCH, found, false);
}

static void find_times(struct stand *stand, int times, int64_t found)
{
    for (int i = 0; i < times; i++) {
        find(stand, found);
    }
}

static int64_t delay(const struct stand *stand, int32_t busy_percent)
{
    return pawl__poll_delay(&stand->poll, &stand->rules, busy_percent);
}

/* ---- the documented numbers ---- */

static void defaults_are_those_documented(void **state)
{
    struct pawl__poll_rules rules = { 0 };
    pawl__poll_defaults(&rules);
    assert_int_equal(rules.burst_ms, 500);
    assert_int_equal(rules.min_ms, 2000);
    assert_int_equal(rules.max_ms, 30000);
    assert_int_equal(rules.deep_ms, 60000);
    assert_int_equal(rules.deep_after_ms, 5 * MINUTE_MS);
    assert_int_equal(rules.idle_threshold, 5);
    assert_int_equal(PAWL__POLL_WINDOW, 10);
}

static void defaults_leave_what_was_given(void **state)
{
    struct pawl__poll_rules given = { .burst_ms = 10,
                                      .min_ms = 20,
                                      .max_ms = 300,
                                      .deep_ms = 4000,
                                      .deep_after_ms = 50000,
                                      .idle_threshold = 6 };
    struct pawl__poll_rules rules = given;
    pawl__poll_defaults(&rules);
    assert_memory_equal(&rules, &given, sizeof rules);
}

/* A caller that sets two of them need not set the others. */
static void defaults_keep_the_modes_in_order(void **state)
{
    static const struct pawl__poll_rules given[] = {
        { .min_ms = 50 }, { .min_ms = 40000 }, { .max_ms = 1000 }, { .max_ms = 120000 }, { 0 }
    };
    for (size_t i = 0; i < COUNT(given); i++) {
        struct pawl__poll_rules rules = given[i];
        pawl__poll_defaults(&rules);
        assert_true(rules.burst_ms <= rules.min_ms);
        assert_true(rules.min_ms <= rules.max_ms);
        assert_true(rules.max_ms <= rules.deep_ms);
    }
}

static void steady_state_waits_the_least_of_normal(void **state)
{
    struct stand stand;
    stand_init(&stand);
    find_times(&stand, 10, BATCH / 2);
    assert_int_equal(stand.poll.mode, PAWL__POLL_NORMAL);
    assert_int_equal(delay(&stand, BUSY_NEUTRAL), 2000 * 101 / 100);
}

/* ---- full batches ---- */

static void one_full_batch_halves_the_wait(void **state)
{
    struct stand stand;
    stand_init(&stand);
    find_times(&stand, 9, BATCH / 2);
    find(&stand, BATCH);
    assert_int_equal(delay(&stand, BUSY_NEUTRAL), 1000);
    find(&stand, BATCH);
    assert_int_equal(delay(&stand, BUSY_NEUTRAL), 1000);
}

static void three_full_batches_quarter_it(void **state)
{
    struct stand stand;
    stand_init(&stand);
    find_times(&stand, 3, BATCH);
    assert_int_equal(delay(&stand, BUSY_NEUTRAL), 500);
    find_times(&stand, 1000, BATCH);
    assert_int_equal(delay(&stand, BUSY_NEUTRAL), 500);
}

static void streak_ends_with_a_batch_that_is_not_full(void **state)
{
    struct stand stand;
    stand_init(&stand);
    find_times(&stand, 3, BATCH);
    find(&stand, BATCH - 1);
    assert_int_equal(stand.poll.full_streak, 0);
    find(&stand, BATCH);
    assert_int_equal(delay(&stand, BUSY_NEUTRAL), 1000);
}

static void full_batches_have_floors(void **state)
{
    struct stand stand;
    stand_init(&stand);
    stand.rules.min_ms = 120;
    find(&stand, BATCH);
    assert_int_equal(delay(&stand, BUSY_NEUTRAL), 100);
    find_times(&stand, 2, BATCH);
    assert_int_equal(delay(&stand, BUSY_NEUTRAL), 50);
    stand.rules.min_ms = 400;
    assert_int_equal(delay(&stand, BUSY_NEUTRAL), 100);
}

/* The size of a claim depends on the load already; more jobs wait, so there is no reason to slow
 * down. */
static void load_does_not_slow_what_finds_full_batches(void **state)
{
    struct stand stand;
    stand_init(&stand);
    find(&stand, BATCH);
    for (int32_t busy = 0; busy <= 100; busy += 10) {
        assert_int_equal(delay(&stand, busy), 1000);
    }
}

/* ---- the window ---- */

static void nearly_full_window_halves_the_wait(void **state)
{
    struct stand stand;
    stand_init(&stand);
    find_times(&stand, 10, 81);
    assert_int_equal(delay(&stand, BUSY_NEUTRAL), 1000 * 101 / 100);
    find_times(&stand, 10, 80);
    assert_int_equal(delay(&stand, BUSY_NEUTRAL), 2000 * 101 / 100);
}

static void nearly_empty_window_doubles_it(void **state)
{
    struct stand stand;
    stand_init(&stand);
    find_times(&stand, 10, 19);
    assert_int_equal(delay(&stand, BUSY_NEUTRAL), 4000 * 101 / 100);
    find_times(&stand, 10, 20);
    assert_int_equal(delay(&stand, BUSY_NEUTRAL), 2000 * 101 / 100);
}

static void window_remembers_ten_polls(void **state)
{
    struct stand stand;
    stand_init(&stand);
    find_times(&stand, 50, 90);
    find_times(&stand, 9, 79); // the mean of ten is 80.1, cut to 80
    assert_int_equal(delay(&stand, BUSY_NEUTRAL), 2000 * 101 / 100);
    stand_init(&stand);
    find_times(&stand, 50, 99);
    find_times(&stand, 9, 79); // 81
    assert_int_equal(delay(&stand, BUSY_NEUTRAL), 1000 * 101 / 100);
    find(&stand, 79); // the last of the 99s has left
    assert_int_equal(delay(&stand, BUSY_NEUTRAL), 2000 * 101 / 100);
}

/* ---- utilisation ---- */

static void use_of_the_workers_slows_polling(void **state)
{
    struct stand stand;
    stand_init(&stand);
    find_times(&stand, 10, BATCH / 2);
    assert_int_equal(delay(&stand, 0), 1000);    // x 0.5
    assert_int_equal(delay(&stand, 50), 2500);   // x 1.25
    assert_int_equal(delay(&stand, 100), 4000);  // x 2
    assert_int_equal(delay(&stand, -50), 1000);  // invalid values are clamped
    assert_int_equal(delay(&stand, 1000), 4000); // more runs than workers: in tests, or at a stop
}

/* ---- idleness ---- */

static void idle_polls_double_the_wait_beyond_the_threshold(void **state)
{
    static const int64_t expected[] = { 4000, 4000, 4000, 4000, 8000, 16000, 30000, 30000, 30000 };
    struct stand stand;
    stand_init(&stand);
    for (size_t i = 0; i < COUNT(expected); i++) {
        find(&stand, 0);
        int64_t most = expected[i] * 101 / 100;
        assert_int_equal(delay(&stand, BUSY_NEUTRAL), most < 30000 ? most : 30000);
    }
}

static void backing_off_is_capped_for_ever(void **state)
{
    struct stand stand;
    stand_init(&stand);
    for (int i = 0; i < 100000; i++) {
        find(&stand, 0);
        assert_true(delay(&stand, 100) <= 30000);
    }
    assert_int_equal(delay(&stand, 100), 30000);
}

static void job_ends_the_backing_off(void **state)
{
    struct stand stand;
    stand_init(&stand);
    find_times(&stand, 9, 0);
    assert_int_equal(delay(&stand, BUSY_NEUTRAL), 30000);
    find(&stand, 1);
    assert_int_equal(delay(&stand, BUSY_NEUTRAL), 4000 * 101 / 100); // the window is still low
}

/* ---- deep idle ---- */

static void five_minutes_without_a_job_are_deep_idle(void **state)
{
    struct stand stand;
    stand_init(&stand);
    find(&stand, 1);
    stand.now_ms += 5 * MINUTE_MS - 1;
    find(&stand, 0);
    assert_int_equal(stand.poll.mode, PAWL__POLL_NORMAL);
    stand.now_ms += 1;
    find(&stand, 0);
    assert_int_equal(stand.poll.mode, PAWL__POLL_DEEP);
    for (int32_t busy = 0; busy <= 100; busy += 50) {
        assert_int_equal(delay(&stand, busy), 60000);
    }
}

static void idleness_counts_from_the_first_poll(void **state)
{
    struct stand stand;
    stand_init(&stand);
    find(&stand, 0);
    assert_int_equal(stand.poll.mode, PAWL__POLL_NORMAL); // whatever the time of day
    stand.now_ms += 5 * MINUTE_MS;
    find(&stand, 0);
    assert_int_equal(stand.poll.mode, PAWL__POLL_DEEP);
}

static void job_ends_deep_idle(void **state)
{
    struct stand stand;
    stand_init(&stand);
    find(&stand, 0);
    stand.now_ms += 5 * MINUTE_MS;
    find(&stand, 0);
    assert_int_equal(stand.poll.mode, PAWL__POLL_DEEP);
    find(&stand, 1);
    assert_int_equal(stand.poll.mode, PAWL__POLL_NORMAL);
    stand.now_ms += 5 * MINUTE_MS - 1; // and it takes as long as before to return to it
    find(&stand, 0);
    assert_int_equal(stand.poll.mode, PAWL__POLL_NORMAL);
}

static void wake_up_ends_deep_idle(void **state)
{
    struct stand stand;
    stand_init(&stand);
    find(&stand, 0);
    stand.now_ms += 5 * MINUTE_MS;
    find(&stand, 0);
    pawl__poll_wake(&stand.poll, stand.now_ms);
    assert_int_equal(stand.poll.mode, PAWL__POLL_BURST);
    assert_int_equal(delay(&stand, 100), 500);
}

/* ---- bursts ---- */

static void wake_up_begins_a_burst(void **state)
{
    struct stand stand;
    stand_init(&stand);
    find_times(&stand, 20, 0);
    pawl__poll_wake(&stand.poll, stand.now_ms);
    for (int32_t busy = 0; busy <= 100; busy += 50) {
        assert_int_equal(delay(&stand, busy), 500);
    }
}

static void burst_ends_after_as_many_empty_polls_as_the_threshold(void **state)
{
    struct stand stand;
    stand_init(&stand);
    pawl__poll_wake(&stand.poll, stand.now_ms);
    find_times(&stand, 4, 0);
    assert_int_equal(delay(&stand, BUSY_NEUTRAL), 500);
    find(&stand, 1);
    find_times(&stand, 4, 0); // they count anew
    assert_int_equal(delay(&stand, BUSY_NEUTRAL), 500);
    find(&stand, 0);
    assert_int_equal(stand.poll.mode, PAWL__POLL_NORMAL);
    assert_true(delay(&stand, BUSY_NEUTRAL) >= 2000);
}

/* ---- random events ---- */

static struct pawl__poll_rules some_rules(struct pawl__rng *rng)
{
    struct pawl__poll_rules rules = { 0 };
    if (pawl__rng_below(rng, 2)) rules.min_ms = 100 + (int64_t)pawl__rng_below(rng, 5000);
    if (pawl__rng_below(rng, 2)) rules.max_ms = 100 + (int64_t)pawl__rng_below(rng, 100000);
    if (pawl__rng_below(rng, 2)) rules.deep_after_ms = 1 + (int64_t)pawl__rng_below(rng, 500000);
    if (pawl__rng_below(rng, 2)) rules.idle_threshold = 1 + (int32_t)pawl__rng_below(rng, 10);
    pawl__poll_defaults(&rules);
    return rules;
}

/* ---- jobs that others hold ---- */

static void pass_over(struct stand *stand)
{
    pawl__poll_note(&stand->poll, &stand->rules, stand->now_ms, BATCH, 0, true);
    pawl__poll_round_end(&stand->poll);
}

static void round_that_only_met_held_jobs_is_soon_made_again(void **state)
{
    static const int64_t expected_ms[] = { 2, 4, 8, 16, 32, 64, 128, 256, 500, 500 };
    struct stand stand;
    stand_init(&stand);
    for (size_t i = 0; i < sizeof expected_ms / sizeof *expected_ms; i++) {
        pass_over(&stand);
        assert_int_equal(delay(&stand, 100), expected_ms[i]);
    }
    find(&stand, 0); // another group is empty, which does not matter for the first
    pass_over(&stand);
    assert_int_equal(delay(&stand, 100), 500);
}

static void found_job_ends_the_wait_for_held_ones(void **state)
{
    struct stand stand;
    stand_init(&stand);
    for (int i = 0; i < 5; i++) {
        pass_over(&stand);
    }
    find(&stand, 1);
    pass_over(&stand);
    assert_int_equal(delay(&stand, BUSY_NEUTRAL), 2);
    find(&stand, 0);
    pawl__poll_round_end(&stand.poll);
    assert_true(delay(&stand, BUSY_NEUTRAL) >= 2000); // the safety poll again
}

/* A long wait for a suspended process does not count as idle. */
static void held_jobs_are_no_empty_polls(void **state)
{
    struct stand stand;
    stand_init(&stand);
    pawl__poll_wake(&stand.poll, stand.now_ms);
    for (int i = 0; i < 100; i++) {
        stand.now_ms += MINUTE_MS;
        pass_over(&stand);
    }
    assert_int_equal(stand.poll.mode, PAWL__POLL_BURST);
    assert_int_equal(stand.poll.empty_streak, 0);
}

/* A random event. */
static void any_event(struct stand *stand, struct pawl__rng *rng)
{
    stand->now_ms += (int64_t)pawl__rng_below(rng, 40000);
    int64_t asked = 1 + (int64_t)pawl__rng_below(rng, 1000);
    switch (pawl__rng_below(rng, 6)) {
    case 0:
        pawl__poll_wake(&stand->poll, stand->now_ms);
        break;
    case 1:
        pawl__poll_note(&stand->poll, &stand->rules, stand->now_ms, asked, asked, false);
        break;
    case 2:
        asked = 1 + (int64_t)pawl__rng_below(rng, 1000);
        pawl__poll_note(&stand->poll, &stand->rules, stand->now_ms, asked,
                        (int64_t)pawl__rng_below(rng, (uint64_t)asked + 1), false);
        break;
    default:
        pawl__poll_note(&stand->poll, &stand->rules, stand->now_ms, asked, 0, false);
        break;
    }
}

static void wait_stays_within_its_bounds(void **state)
{
    for_seeds(seed, 200)
    {
        struct pawl__rng rng;
        pawl__rng_seed(&rng, seed);
        struct stand stand = { .rules = some_rules(&rng), .now_ms = START_MS };
        for (int i = 0; i < 500; i++) {
            any_event(&stand, &rng);
            int64_t ms = delay(&stand, (int32_t)pawl__rng_below(&rng, 101));
            const struct pawl__poll_rules *rules = &stand.rules;
            prove(ms >= 50);
            switch (stand.poll.mode) {
            case PAWL__POLL_BURST:
                prove(ms == rules->burst_ms);
                break;
            case PAWL__POLL_DEEP:
                prove(ms == rules->deep_ms);
                prove(stand.now_ms - stand.poll.idle_since_ms >= rules->deep_after_ms);
                break;
            default:
                prove(ms <= rules->max_ms);
                prove(stand.poll.full_streak || ms >= rules->min_ms / 4);
                break;
            }
        }
    }
}

/* Each of several consecutive empty polls waits at least as long as the one before. */
static void wait_grows_with_idleness(void **state)
{
    for_seeds(seed, 200)
    {
        struct pawl__rng rng;
        pawl__rng_seed(&rng, seed);
        struct stand stand = { .rules = some_rules(&rng), .now_ms = START_MS };
        for (int i = 0; i < 50; i++) {
            any_event(&stand, &rng);
        }
        int32_t busy = (int32_t)pawl__rng_below(&rng, 101);
        find(&stand, 0);
        int64_t before = delay(&stand, busy);
        for (int i = 0; i < 50; i++) {
            stand.now_ms += before;
            find(&stand, 0);
            int64_t ms = delay(&stand, busy);
            prove(ms >= before);
            before = ms;
        }
    }
}

static void wait_grows_with_use(void **state)
{
    for_seeds(seed, 200)
    {
        struct pawl__rng rng;
        pawl__rng_seed(&rng, seed);
        struct stand stand = { .rules = some_rules(&rng), .now_ms = START_MS };
        for (int i = 0; i < 20; i++) {
            any_event(&stand, &rng);
        }
        for (int32_t busy = 1; busy <= 100; busy++) {
            prove(delay(&stand, busy) >= delay(&stand, busy - 1));
        }
    }
}

/* Without events it enters deep idle within five minutes and one wait. */
static void silence_ends_in_deep_idle(void **state)
{
    for_seeds(seed, 200)
    {
        struct pawl__rng rng;
        pawl__rng_seed(&rng, seed);
        struct stand stand = { .rules = some_rules(&rng), .now_ms = START_MS };
        for (int i = 0; i < 30; i++) {
            any_event(&stand, &rng);
        }
        find(&stand, 1);
        int64_t from_ms = stand.now_ms, waited_ms = 0;
        while (stand.poll.mode != PAWL__POLL_DEEP) {
            waited_ms = delay(&stand, 0);
            stand.now_ms += waited_ms;
            find(&stand, 0);
            int64_t limit_ms = stand.rules.deep_after_ms + waited_ms +
                               stand.rules.idle_threshold * stand.rules.burst_ms;
            prove(stand.now_ms - from_ms <= limit_ms);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_documented),
        cmocka_unit_test(defaults_leave_what_was_given),
        cmocka_unit_test(defaults_keep_the_modes_in_order),
        cmocka_unit_test(steady_state_waits_the_least_of_normal),
        cmocka_unit_test(one_full_batch_halves_the_wait),
        cmocka_unit_test(three_full_batches_quarter_it),
        cmocka_unit_test(streak_ends_with_a_batch_that_is_not_full),
        cmocka_unit_test(full_batches_have_floors),
        cmocka_unit_test(load_does_not_slow_what_finds_full_batches),
        cmocka_unit_test(nearly_full_window_halves_the_wait),
        cmocka_unit_test(nearly_empty_window_doubles_it),
        cmocka_unit_test(window_remembers_ten_polls),
        cmocka_unit_test(use_of_the_workers_slows_polling),
        cmocka_unit_test(idle_polls_double_the_wait_beyond_the_threshold),
        cmocka_unit_test(backing_off_is_capped_for_ever),
        cmocka_unit_test(job_ends_the_backing_off),
        cmocka_unit_test(five_minutes_without_a_job_are_deep_idle),
        cmocka_unit_test(idleness_counts_from_the_first_poll),
        cmocka_unit_test(job_ends_deep_idle),
        cmocka_unit_test(wake_up_ends_deep_idle),
        cmocka_unit_test(wake_up_begins_a_burst),
        cmocka_unit_test(burst_ends_after_as_many_empty_polls_as_the_threshold),
        cmocka_unit_test(wait_stays_within_its_bounds),
        cmocka_unit_test(wait_grows_with_idleness),
        cmocka_unit_test(wait_grows_with_use),
        cmocka_unit_test(silence_ends_in_deep_idle),
        cmocka_unit_test(round_that_only_met_held_jobs_is_soon_made_again),
        cmocka_unit_test(found_job_ends_the_wait_for_held_ones),
        cmocka_unit_test(held_jobs_are_no_empty_polls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
