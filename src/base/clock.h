/* The system's clock, used if the caller supplies no other. */
#ifndef PAWL_BASE_CLOCK_H
#define PAWL_BASE_CLOCK_H

#include <pawl/clock.h>

extern const struct pawl_clock pawl__clock_system;

static inline int64_t pawl__clock_wall_ms(const struct pawl_clock *clock)
{
    return clock->wall_ms(clock->ctx);
}

static inline int64_t pawl__clock_mono_us(const struct pawl_clock *clock)
{
    return clock->mono_us(clock->ctx);
}

#endif
