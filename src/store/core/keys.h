/* The rules about keys, for the rules that need them. Holders and their jobs are read before one of
 * these is called; what is changed goes into the undo journal. */
#ifndef PAWL_STORE_CORE_KEYS_H
#define PAWL_STORE_CORE_KEYS_H

#include "store/core/set.h"
#include "store/core/holders.h"

/* What asking a new job's keys came to. */
struct pawl__answer {
    bool stands_in; /* an earlier job stands in for this one: */
    struct pawl_job_id id;
    enum pawl_state state;
    bool replaced;     /* an earlier job was cancelled in its favour */
    int64_t due_at_ms; /* of that one, when its schedule is to be kept */
};

/* Meets all holders that are in the way, as each key says. DUPLICATE: `op` is told by which. */
PAWL_MUST_CHECK enum pawl_err pawl__keys_ask(struct pawl__set *set, struct pawl__op *op,
                                             const struct pawl__new_job *job,
                                             struct pawl__answer *answer);
/* Does another transaction have the key, which was read, or a job that holds it? */
bool pawl__key_is_held(const struct pawl__set *set, const struct pawl__set_key *key);
/* The job, which lives, is cancelled in favour of another with the same key. */
PAWL_MUST_CHECK enum pawl_err pawl__key_replace(struct pawl__set *set, struct pawl__row *row);
/* The job holds its keys from now on. */
void pawl__keys_take(struct pawl__set *set, const struct pawl__new_job *job);
/* Its keys as pawl__row.keys; in the set's arena. */
struct pawl_span pawl__keys_pack(struct pawl__set *set, const struct pawl__new_job *job);

/* A job that ended comes back to life: want the holders of its keys, but for an idempotency key,
 * which was never let go; ask whether its business key is free (DUPLICATE); take the keys. */
void pawl__keys_want(struct pawl__set *set, struct pawl_span keys);
PAWL_MUST_CHECK enum pawl_err
pawl__keys_ask_back(struct pawl__set *set, const struct pawl__row *row, struct pawl_diag *diag);
void pawl__keys_take_back(struct pawl__set *set, const struct pawl__row *row);

/* Submit one job: it is a row of the set from now on (submit.c). Its keys were read; `op`, of kind
 * SUBMIT, is told which job is in the way. EXISTS, DUPLICATE, ARG. */
PAWL_MUST_CHECK enum pawl_err pawl__submit_one(struct pawl__set *set, struct pawl__op *op,
                                               const struct pawl__new_job *job,
                                               struct pawl_submitted *out);

#endif
