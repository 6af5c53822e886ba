/* A walk through the operations of a store: the store, the model beside it, the dice, and what the
 * steps share. A difference between store and model ends the test. */
#ifndef PAWL_TESTS_MODEL_WORLD_H
#define PAWL_TESTS_MODEL_WORLD_H

#include "base/rng.h"
#include "model/model.h"
#include "support/ops.h"

#include <pthread.h>

/* Where each job is by what the commits told, and nothing else. */
struct mirror {
    pthread_mutex_t mutex;
    struct mirrored {
        struct pawl_job_id id;
        enum pawl_state state;
    } * at;
    size_t count, cap;
    char wrong[256]; /* the first move that did not begin where the one before had ended */
};

struct world {
    struct rig rig;
    struct mirror mirror;
    struct model model;
    struct pawl__rng rng;
    uint64_t seed;
    int64_t step;
    const char *store;
    char op[512];
};

extern const char *const queue_names[MODEL_QUEUES];
extern const char *const type_names[MODEL_TYPES];
extern const char *const worker_names[MODEL_WORKERS];

/* ---- dice ---- */

uint64_t below(struct world *w, uint64_t bound);
bool chance(struct world *w, uint64_t percent);
/* NULL: there are none at all. One in twenty is a job that is gone. */
struct model_job *pick(struct world *w);
struct model_job *pick_in(struct world *w, enum pawl_state state);
/* Mostly a run that is under way, sometimes one that is over or never was. */
struct model_job *pick_run(struct world *w, struct pawl_run *ref);

/* ---- differences ---- */

/* What the next differences are about. */
void name_op(struct world *w, const char *format, ...) PAWL_PRINTF(2, 3);
void differ(struct world *w, const char *format, ...) PAWL_PRINTF(2, 3);
void same(struct world *w, const char *what, int64_t expected, int64_t actual);
void same_err(struct world *w, enum pawl_err expected, enum pawl_err actual);
void compare_job(struct world *w, const struct model_job *m, const struct pawl_job *job);
/* Read the job and compare. */
void look_at(struct world *w, const struct model_job *m);
/* Everything that can be seen. */
void compare_all(struct world *w);
/* The mirror, after the notices of all earlier commits have come. */
void compare_told(struct world *w);
void listen_to(struct world *w);
const char *id_text(struct world *w, struct pawl_job_id id);
const char *state_name(enum pawl_state state);

/* ---- what the contract leaves open ---- */

/* Does another job share the first half of this id? A store may put such jobs in any order among
 * their equals. */
bool is_odd(const struct world *w, const struct model_job *m);
/* A job whose time is over may be expired by whoever meets it first. */
void adopt_expiry(struct world *w, struct model_job *m);
/* What an owner's write must be answered with, before its own rules. */
enum pawl_err fence(const struct model_job *m, int64_t run);

/* ---- steps: one operation each, on both, compared ---- */

void step_submit(struct world *w);
void step_claim(struct world *w, enum pawl__op_kind kind); /* CLAIM, ROUTE */
void step_assign(struct world *w);
void step_complete(struct world *w);
void step_fail(struct world *w);
void step_snooze(struct world *w);
void step_extend(struct world *w);
void step_checkpoint(struct world *w);
void step_control(struct world *w);
void step_priority(struct world *w);
void step_delete(struct world *w);
void step_bulk(struct world *w);
void step_queue(struct world *w);
void step_promote(struct world *w);
void step_lapse(struct world *w);
void step_expire(struct world *w);
void step_retire(struct world *w, enum pawl__op_kind kind); /* ARCHIVE, PURGE */
void step_clock(struct world *w);
void step_reopen(struct world *w);

#endif
