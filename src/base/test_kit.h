/* Shared by this room's tests: cmocka with the headers that it needs, and randomized runs whose
 * failures print their seed. PAWL_TEST_SEED=N runs only that seed; otherwise PAWL_TEST_SCALE is the
 * percentage of seeds that are run. */
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

/* `seed` must be in scope; the failure prints it, so that the run can be repeated. */
#define prove(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fail_msg("%s (repeat with PAWL_TEST_SEED=%llu)", #condition,                           \
                     (unsigned long long)seed);                                                    \
        }                                                                                          \
    } while (0)

/* for_seeds (seed, 100) { ... } */
#define for_seeds(seed, runs)                                                                      \
    for (uint64_t seed = first_seed(), last_seed = final_seed(runs); seed <= last_seed; seed++)

static inline uint64_t first_seed(void)
{
    const char *text = getenv("PAWL_TEST_SEED");
    return text ? strtoull(text, NULL, 10) : 1;
}

static inline uint64_t final_seed(uint64_t runs)
{
    const char *scale = getenv("PAWL_TEST_SCALE");
    uint64_t some = runs * (scale ? strtoull(scale, NULL, 10) : 100) / 100;
    return getenv("PAWL_TEST_SEED") || some < 1 ? first_seed() : some;
}

#endif
