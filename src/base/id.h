/* Generates UUIDv7 ids: 48 bits of ms, a 12-bit counter that starts low and random in each ms, 62
 * random bits. Ids of one generator strictly increase, even if the clock steps back or a ms runs
 * out of numbers (then the generator runs ahead of the clock). Any thread. */
#ifndef PAWL_BASE_ID_H
#define PAWL_BASE_ID_H

#include "base/rng.h"
#include "base/sync.h"

#include <pawl/clock.h>
#include <pawl/job.h>

struct pawl__idgen {
    const struct pawl_clock *clock;
    struct pawl__mutex mutex;
    /* guarded by mutex: */
    struct pawl__rng rng;
    int64_t ms;
    uint32_t counter;
};

void pawl__idgen_init(struct pawl__idgen *gen, const struct pawl_clock *clock, uint64_t seed);
void pawl__idgen_release(struct pawl__idgen *gen);
struct pawl_job_id pawl__idgen_next(struct pawl__idgen *gen);
/* Generates `count` ids under one lock. */
void pawl__idgen_take(struct pawl__idgen *gen, struct pawl_job_id *out, size_t count);
/* The same if some ids are given: an id that is not all zeros is kept if the generator could have
 * generated it now, and replaced otherwise. So `ids` increase, and are above all earlier ids. */
void pawl__idgen_follow(struct pawl__idgen *gen, struct pawl_job_id *ids, size_t count);

/* The lowest and the highest id that begin with `prefix`: 8 to 32 hexadecimal digits; dashes
 * between them are ignored. False: not such a prefix. */
bool pawl__id_range(const char *prefix, struct pawl_job_id *low, struct pawl_job_id *high);

#endif
