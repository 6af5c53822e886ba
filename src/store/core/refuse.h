/* Refusals that concern a job, in the same words wherever they come from. `diag` may be NULL. */
#ifndef PAWL_STORE_CORE_REFUSE_H
#define PAWL_STORE_CORE_REFUSE_H

#include <pawl/pawl.h>

/* NOT_FOUND. */
enum pawl_err pawl__fail_unknown(struct pawl_diag *diag, struct pawl_job_id id);
/* STATE: "cannot <verb> job ...: it is completed". */
enum pawl_err pawl__fail_state(struct pawl_diag *diag, struct pawl_job_id id, enum pawl_state state,
                               const char *verb);
/* STALE: the job is in `state` and has had `runs` runs. */
enum pawl_err pawl__fail_stale(struct pawl_diag *diag, const struct pawl_run *ref,
                               enum pawl_state state, int64_t runs);

#endif
