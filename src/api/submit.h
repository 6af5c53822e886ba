/* Prepares a batch of specs for the store, for the blocking and the posting form. */
#ifndef PAWL_API_SUBMIT_H
#define PAWL_API_SUBMIT_H

#include "api/api.h"

struct pawl__batch {
    int32_t ties;                     /* in: of the jobs, beside their own; 0: none */
    const struct pawl__new_job *jobs; /* in the intake's arena */
    size_t bad;                       /* the spec that failed; the count if none in particular */
};

/* ARG: none. LIMIT: too many. */
PAWL_MUST_CHECK enum pawl_err pawl__check_batch(size_t count, struct pawl_diag *diag);
/* Checks all specs and assigns ids. Borrows `given` until the intake is released. */
PAWL_MUST_CHECK enum pawl_err pawl__batch_take(struct pawl *pawl, const struct pawl_job_spec *given,
                                               size_t count, struct pawl__intake *intake,
                                               struct pawl__batch *out, struct pawl_diag *diag);
/* Called after the store has answered. */
void pawl__batch_answered(struct pawl *pawl, const struct pawl__op *op, struct pawl__batch *batch);

#endif
