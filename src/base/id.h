/* Makes UUIDv7 ids: 48 bits of ms, a 12-bit counter that starts low and random in each ms, 62
 * random bits. Ids of one generator strictly increase, also when the clock steps back or a ms has
 * no numbers left (then the generator runs ahead of the clock). Any thread. */
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
/* `count` ids under one lock. */
void pawl__idgen_take(struct pawl__idgen *gen, struct pawl_job_id *out, size_t count);
/* The same where some have an id already: what is not all zeroes stays if the generator could have
 * made it now, and is replaced if not. So `ids` increase, and are above all before them. */
void pawl__idgen_follow(struct pawl__idgen *gen, struct pawl_job_id *ids, size_t count);

/* The lowest and the highest id that begins with `prefix`: 8 to 32 hexadecimal digits, dashes
 * between them do not count. False: it is no such text. */
bool pawl__id_range(const char *prefix, struct pawl_job_id *low, struct pawl_job_id *high);

#endif
