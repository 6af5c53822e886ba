/* Time as pawl sees it. Hand in your own to move time by hand. */
#ifndef PAWL_CLOCK_H
#define PAWL_CLOCK_H

#include <stdint.h>

/* Both functions may be called from any thread. Wall time is what is stored, monotonic time is for
 * how long things take. */
struct pawl_clock {
    int64_t (*wall_ms)(void *ctx);
    int64_t (*mono_us)(void *ctx);
    void *ctx;
};

#endif
