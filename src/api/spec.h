/* Converts the specs of callers to the jobs that the store inserts. */
#ifndef PAWL_API_SPEC_H
#define PAWL_API_SPEC_H

#include "base/arena.h"
#include "base/buf.h"
#include "store/store.h"

/* The state of a conversion. All zeros is an empty one. */
struct pawl__intake {
    struct pawl__arena kept;    /* memory of the new jobs, until the operation is done */
    struct pawl__arena scratch; /* reset for every spec */
    struct pawl__buf buf;       /* cleared for every use */
};

void pawl__intake_release(struct pawl__intake *intake);

/* Checks `given` and completes it: `spec` is a copy with defaults filled in, `job` has everything
 * except its id (which is left alone) and refers to `spec`. Both borrow the pointers of `given`.
 * ARG, LIMIT: diag->field is the member. NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__intake_take(struct pawl__intake *intake,
                                                const struct pawl_job_spec *given,
                                                struct pawl_job_spec *spec,
                                                struct pawl__new_job *job, struct pawl_diag *diag);

#endif
