/* Who is in the way of a key, and for how long. Functions of facts, as in course.h; keys.h has the
 * rules that use them.
 *
 * Threads: any; nothing is shared. All pointers are borrowed until the call returns. */
#ifndef PAWL_STORE_CORE_HOLDERS_H
#define PAWL_STORE_CORE_HOLDERS_H

#include "store/store.h"

enum { PAWL__KEY_HOLDERS_KEPT = 16 }; /* ended jobs remembered under one key */

/* A job that holds or held a key. */
struct pawl__holder {
    struct pawl_job_id id;
    int64_t until_ms; /* when the key is forgotten; 0: never */
    bool known;       /* false: the job is gone, only the key is left */
    enum pawl_state state;
    int64_t created_at_ms;
};

/* Is the holder in the way of a newcomer with `key`? */
bool pawl__key_conflicts(const struct pawl__key *key, const struct pawl__holder *holder,
                         int64_t now_ms);
/* May one that is not be forgotten? To be asked of all holders, newest first: `ended` counts those
 * that are remembered, from 0. */
bool pawl__key_forgets(const struct pawl__key *key, const struct pawl__holder *holder,
                       size_t *ended);
/* When the key is forgotten that a job submitted now brings along; 0: never. */
int64_t pawl__key_until(const struct pawl__key *key, int64_t now_ms);
/* DUPLICATE; the submit in `op` is told by whom. */
enum pawl_err pawl__key_refuse(struct pawl__op *op, const struct pawl__key *key,
                               const struct pawl__holder *holder);

#endif
