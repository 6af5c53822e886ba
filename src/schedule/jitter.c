/* Jitter: the same on every node, so that a repeated attempt to fire finds the same due time. */
#include "schedule/schedule.h"

#include <assert.h>

static uint64_t fnv(uint64_t hash, uint8_t byte)
{
    return (hash ^ byte) * UINT64_C(0x100000001b3);
}

/* The last step of MurmurHash3: spreads the differences of similar inputs over all bits. */
static uint64_t mix(uint64_t hash)
{
    hash = (hash ^ hash >> 33) * UINT64_C(0xff51afd7ed558ccd);
    hash = (hash ^ hash >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return hash ^ hash >> 33;
}

/* a * b >> 64, for a factor of at most 32 bits. */
static uint64_t high_half(uint64_t a, uint64_t b)
{
    assert(b <= UINT32_MAX);
    return ((a >> 32) * b + ((a & UINT32_MAX) * b >> 32)) >> 32;
}

int64_t pawl__jitter_ms(const char *name, int64_t at_ms, int64_t jitter_ms, int64_t next_at_ms)
{
    assert(jitter_ms >= 0 && next_at_ms > at_ms);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *name; name++) {
        hash = fnv(hash, (uint8_t)*name);
    }
    for (int shift = 56; shift >= 0; shift -= 8) {
        hash = fnv(hash, (uint8_t)((uint64_t)at_ms >> shift));
    }
    int64_t delay = (int64_t)high_half(mix(hash), (uint64_t)jitter_ms + 1);
    int64_t room = next_at_ms - 1 - at_ms;
    return delay < room ? delay : room;
}
