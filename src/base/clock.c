#include "base/clock.h"

#include <assert.h>
#include <time.h>

static struct timespec read_clock(clockid_t id)
{
    struct timespec now;
    int failed = clock_gettime(id, &now);
    assert(!failed); // fails only for an unknown clock
    (void)failed;
    return now;
}

static int64_t system_wall_ms(void *ctx)
{
    struct timespec now = read_clock(CLOCK_REALTIME);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t system_mono_us(void *ctx)
{
    struct timespec now = read_clock(CLOCK_MONOTONIC);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

const struct pawl_clock pawl__clock_system = { .wall_ms = system_wall_ms,
                                               .mono_us = system_mono_us };
