/* From what a caller describes to what the store keeps. */
#ifndef PAWL_API_SPEC_H
#define PAWL_API_SPEC_H

#include "base/arena.h"
#include "base/buf.h"
#include "store/store.h"

/* Where specs are turned into jobs. Zeroes are an empty one. */
struct pawl__intake {
    struct pawl__arena kept;    /* what the new jobs point to: until the operation is done */
    struct pawl__arena scratch; /* reset for every spec */
    struct pawl__buf buf;       /* cleared for every use */
};

void pawl__intake_release(struct pawl__intake *intake);

/* Check `given` and complete it: `spec` is a copy with the defaults filled in, `job` has all but
 * its id (which is left alone) and points to `spec`. Both borrow what `given` points to.
 * ARG, LIMIT: diag->field is the member. NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__intake_take(struct pawl__intake *intake,
                                                const struct pawl_job_spec *given,
                                                struct pawl_job_spec *spec,
                                                struct pawl__new_job *job, struct pawl_diag *diag);

#endif
