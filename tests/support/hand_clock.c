#include "support/hand_clock.h"

#include "base/clock.h"

static int64_t wall_ms(void *ctx)
{
    struct hand_clock *hand = ctx;
    return atomic_load(&hand->wall_ms);
}

static int64_t mono_us(void *ctx)
{
    (void)ctx;
    return pawl__clock_mono_us(&pawl__clock_system);
}

void hand_clock_init(struct hand_clock *hand, int64_t at_ms)
{
    hand->clock = (struct pawl_clock){ .wall_ms = wall_ms, .mono_us = mono_us, .ctx = hand };
    atomic_store(&hand->wall_ms, at_ms);
}

void hand_clock_set(struct hand_clock *hand, int64_t at_ms)
{
    atomic_store(&hand->wall_ms, at_ms);
}

void hand_clock_advance(struct hand_clock *hand, int64_t by_ms)
{
    atomic_fetch_add(&hand->wall_ms, by_ms);
}

int64_t hand_clock_now(struct hand_clock *hand)
{
    return atomic_load(&hand->wall_ms);
}
