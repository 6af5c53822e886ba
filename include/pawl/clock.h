/* Clocks. A program may supply its own, for instance to control time in tests. */
#ifndef PAWL_CLOCK_H
#define PAWL_CLOCK_H

#include <stdint.h>

/* Both functions may be called from any thread. Wall time is used for stored instants, monotonic
 * time for durations. */
struct pawl_clock {
    int64_t (*wall_ms)(void *ctx);
    int64_t (*mono_us)(void *ctx);
    void *ctx;
};

#endif
