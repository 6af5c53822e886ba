/* A clock whose wall time changes only when a test moves it. Monotonic time is the system's, so
 * that timeouts still pass. Any thread. */
#ifndef PAWL_TESTS_HAND_CLOCK_H
#define PAWL_TESTS_HAND_CLOCK_H

#include <pawl/clock.h>

#include <stdatomic.h>
#include <stdint.h>

#define HAND_CLOCK_START_MS INT64_C(1750000000000) /* June 2025 */

struct hand_clock {
    struct pawl_clock clock;
    _Atomic int64_t wall_ms;
};

/* `hand` must stay where it is: the clock points to it. */
void hand_clock_init(struct hand_clock *hand, int64_t wall_ms);
void hand_clock_set(struct hand_clock *hand, int64_t wall_ms);
void hand_clock_advance(struct hand_clock *hand, int64_t by_ms);
int64_t hand_clock_now(struct hand_clock *hand);

#endif
