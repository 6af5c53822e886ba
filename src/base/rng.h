/* Random numbers: xoshiro256**, seeded. Not for secrets. One thread at a time. */
#ifndef PAWL_BASE_RNG_H
#define PAWL_BASE_RNG_H

#include <stdint.h>

struct pawl__rng {
    uint64_t s[4];
};

void pawl__rng_seed(struct pawl__rng *rng, uint64_t seed); /* any seed is valid, including 0 */
uint64_t pawl__rng_next(struct pawl__rng *rng);
uint64_t pawl__rng_below(struct pawl__rng *rng, uint64_t bound); /* bound > 0; unbiased */
double pawl__rng_unit(struct pawl__rng *rng);                    /* [0, 1) */
uint64_t pawl__rng_system_seed(void);                            /* from the kernel */

#endif
