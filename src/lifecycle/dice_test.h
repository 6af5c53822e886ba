/* What the randomised tests of this room share. */
#ifndef PAWL_LIFECYCLE_DICE_TEST_H
#define PAWL_LIFECYCLE_DICE_TEST_H

#include "lifecycle/lifecycle.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* PAWL_TEST_SEED, or one from the system; a failing test prints it. */
static inline uint64_t dice_seed(void)
{
    const char *text = getenv("PAWL_TEST_SEED");
    return text && *text ? strtoull(text, NULL, 10) : pawl__rng_system_seed() >> 32;
}

/* Any int64_t, with the ends, the small ones and the powers of two far more often than by chance.
 */
static inline int64_t dice_int64(struct pawl__rng *rng)
{
    static const int64_t corners[] = { INT64_MIN, INT64_MIN + 1, -1,       0, 1,
                                       2,         INT64_MAX - 1, INT64_MAX };
    switch (pawl__rng_below(rng, 4)) {
    case 0:
        return corners[pawl__rng_below(rng, sizeof corners / sizeof *corners)];
    case 1:
        return (int64_t)pawl__rng_below(rng, 2000) - 1000;
    case 2:
        return (int64_t)((UINT64_C(1) << pawl__rng_below(rng, 63)) + pawl__rng_below(rng, 3)) - 1;
    default:
        return (int64_t)pawl__rng_next(rng);
    }
}

/* At least 1. */
static inline int64_t dice_positive(struct pawl__rng *rng)
{
    int64_t value = dice_int64(rng);
    return value < 1 ? 1 + (value & INT32_MAX) : value;
}

static inline bool same_lists(const struct pawl_retry *a, const struct pawl_retry *b)
{
    if (a->non_retryable_count != b->non_retryable_count) return false;
    for (size_t i = 0; i < a->non_retryable_count; i++) {
        if (strcmp(a->non_retryable[i], b->non_retryable[i]) != 0) return false;
    }
    return true;
}

static inline bool same_policy(const struct pawl_retry *a, const struct pawl_retry *b)
{
    return a->attempts_max == b->attempts_max && a->backoff == b->backoff &&
           a->initial_ms == b->initial_ms && a->coefficient == b->coefficient &&
           a->cap_ms == b->cap_ms && a->exponent_max == b->exponent_max && a->jitter == b->jitter &&
           a->jitter_low == b->jitter_low && a->jitter_high == b->jitter_high &&
           a->on_exhaustion == b->on_exhaustion && same_lists(a, b);
}

#endif
