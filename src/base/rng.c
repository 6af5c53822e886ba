/* xoshiro256** 1.0 by David Blackman and Sebastiano Vigna (public domain), its state filled by
 * their splitmix64 so that any seed, including 0, gives a state that is not all zero. */
#include "base/rng.h"

#include <assert.h>
#include <errno.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void pawl__rng_seed(struct pawl__rng *rng, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        rng->s[i] = splitmix(&seed);
    }
}

static uint64_t rotate_left(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

uint64_t pawl__rng_next(struct pawl__rng *rng)
{
    uint64_t *s = rng->s;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t pawl__rng_below(struct pawl__rng *rng, uint64_t bound)
{
    assert(bound > 0);
    uint64_t unfair = (0 - bound) % bound; // 2^64 mod bound: this many values would occur once more
                                           // than others
    for (;;) {
        uint64_t draw = pawl__rng_next(rng);
        if (draw >= unfair) return draw % bound;
    }
}

double pawl__rng_unit(struct pawl__rng *rng)
{
    return (double)(pawl__rng_next(rng) >> 11) * 0x1p-53;
}

uint64_t pawl__rng_system_seed(void)
{
    uint64_t seed;
    ssize_t got;
    do {
        got = getrandom(&seed, sizeof seed, 0);
    } while (got < 0 && errno == EINTR);
    if (got == (ssize_t)sizeof seed) return seed;
    // For a kernel without getrandom: two processes, or two calls, should still differ.
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    seed = (uint64_t)now.tv_sec << 32 ^ (uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 40 ^
           (uint64_t)(uintptr_t)&now;
    return splitmix(&seed);
}
