/* What this room's tests share: cmocka with what it needs before it, and randomised runs whose
 * failures name their seed. PAWL_TEST_SEED=N runs that one seed. */
#ifndef PAWL_BASE_TEST_KIT_H
#define PAWL_BASE_TEST_KIT_H

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* `seed` must be in scope, so that whoever reads the failure can repeat it. */
#define prove(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fail_msg("%s (repeat with PAWL_TEST_SEED=%llu)", #condition,                           \
                     (unsigned long long)seed);                                                    \
        }                                                                                          \
    } while (0)

/* for_seeds (seed, 100) { ... } */
#define for_seeds(seed, runs)                                                                      \
    for (uint64_t seed = first_seed(), last_seed = seed_chosen() ? seed : (runs);                  \
         seed <= last_seed; seed++)

static inline bool seed_chosen(void)
{
    return getenv("PAWL_TEST_SEED") != NULL;
}

static inline uint64_t first_seed(void)
{
    const char *text = getenv("PAWL_TEST_SEED");
    return text ? strtoull(text, NULL, 10) : 1;
}

#endif
