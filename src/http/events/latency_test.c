/* Since when jobs are in their states: against a plain list, and at the bound. */
#include "http/events/latency.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { JOBS = 200, STEPS = 20000 };

static struct pawl_moved move(int job, enum pawl_state from, enum pawl_state to, int64_t at_ms)
{
    struct pawl_moved moved = { .from = from, .to = to, .at_ms = at_ms };
    moved.id.b[0] = (uint8_t)(job >> 8);
    moved.id.b[15] = (uint8_t)job;
    return moved;
}

static void measures_wait_and_run(void **state)
{
    (void)state;
    struct pawl__latency *latency = pawl__latency_new(8);
    struct pawl_moved moved = move(1, PAWL_STATE_NONE, PAWL_STATE_AVAILABLE, 1000);
    assert_int_equal(pawl__latency_move(latency, &moved), 0);
    moved = move(1, PAWL_STATE_AVAILABLE, PAWL_STATE_ACTIVE, 1500);
    assert_int_equal(pawl__latency_move(latency, &moved), 1000);
    moved = move(1, PAWL_STATE_ACTIVE, PAWL_STATE_COMPLETED, 1700);
    assert_int_equal(pawl__latency_move(latency, &moved), 1500);
    assert_int_equal(pawl__latency_count(latency), 0);
    pawl__latency_free(latency);
}

/* Another process moved it in between: what is known is of another state. */
static void says_nothing_of_states_it_did_not_see(void **state)
{
    (void)state;
    struct pawl__latency *latency = pawl__latency_new(8);
    struct pawl_moved moved = move(1, PAWL_STATE_NONE, PAWL_STATE_AVAILABLE, 1000);
    pawl__latency_move(latency, &moved);
    moved = move(1, PAWL_STATE_ACTIVE, PAWL_STATE_RETRYABLE, 3000);
    assert_int_equal(pawl__latency_move(latency, &moved), 0);
    assert_int_equal(pawl__latency_count(latency), 0);
    pawl__latency_free(latency);
}

static void keeps_room_for_running_jobs(void **state)
{
    (void)state;
    struct pawl__latency *latency = pawl__latency_new(100);
    for (int i = 0; i < 1000; i++) {
        struct pawl_moved moved = move(i, PAWL_STATE_NONE, PAWL_STATE_AVAILABLE, 1);
        pawl__latency_move(latency, &moved);
    }
    assert_int_equal(pawl__latency_count(latency), 75);
    for (int i = 900; i < 1000; i++) {
        struct pawl_moved moved = move(i, PAWL_STATE_AVAILABLE, PAWL_STATE_ACTIVE, 2);
        pawl__latency_move(latency, &moved);
    }
    assert_int_equal(pawl__latency_count(latency), 100);
    struct pawl_moved moved = move(900, PAWL_STATE_ACTIVE, PAWL_STATE_COMPLETED, 3);
    assert_int_equal(pawl__latency_move(latency, &moved), 2);
    pawl__latency_free(latency);
}

static void agrees_with_a_list(void **state)
{
    (void)state;
    static const enum pawl_state states[] = { PAWL_STATE_AVAILABLE, PAWL_STATE_ACTIVE,
                                              PAWL_STATE_RETRYABLE, PAWL_STATE_COMPLETED };
    struct {
        enum pawl_state state;
        int64_t since_ms;
    } list[JOBS] = { 0 };
    struct pawl__rng rng;
    uint64_t seed = pawl__rng_system_seed();
    struct pawl__latency *latency = pawl__latency_new(300);
    pawl__rng_seed(&rng, seed);
    for (int64_t step = 1; step <= STEPS; step++) {
        int job = (int)pawl__rng_below(&rng, JOBS);
        enum pawl_state to = states[pawl__rng_below(&rng, 4)];
        struct pawl_moved moved = move(job, list[job].state, to, step);
        bool kept = list[job].state == PAWL_STATE_AVAILABLE || list[job].state == PAWL_STATE_ACTIVE;
        int64_t since_ms = pawl__latency_move(latency, &moved);
        if (since_ms != (kept ? list[job].since_ms : 0)) {
            fail_msg("seed %llu step %lld", (unsigned long long)seed, (long long)step);
        }
        list[job].state = to;
        list[job].since_ms = step;
    }
    pawl__latency_free(latency);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_wait_and_run),
        cmocka_unit_test(says_nothing_of_states_it_did_not_see),
        cmocka_unit_test(keeps_room_for_running_jobs),
        cmocka_unit_test(agrees_with_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
