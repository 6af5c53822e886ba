/* Checks requests of owners of runs and makes operations of them, for the blocking and the posting
 * form of each call. Those that end a run are in api.h. */
#ifndef PAWL_API_CLAIM_H
#define PAWL_API_CLAIM_H

#include "api/api.h"

PAWL_MUST_CHECK enum pawl_err pawl__claim_op(const struct pawl_claim *claim, struct pawl__op *op,
                                             struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl__route_op(const struct pawl_claim *claim, struct pawl__op *op,
                                             struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl__assign_op(const struct pawl_assignment *assignment,
                                              struct pawl__op *op, struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl__unroute_op(const struct pawl_routed *routed,
                                               struct pawl__op *op, struct pawl_diag *diag);
/* `results` has room for extension->count, or is set in the operation later. */
PAWL_MUST_CHECK enum pawl_err pawl__extend_op(const struct pawl_extension *extension,
                                              enum pawl_err *results, struct pawl__op *op,
                                              struct pawl_diag *diag);
/* ARG: the run is less than `least`, which is 1 if a run must be named. */
PAWL_MUST_CHECK enum pawl_err pawl__check_run(const struct pawl_run *run, int64_t least,
                                              struct pawl_diag *diag);
/* JSON of at most `bytes_max` bytes; may be empty. ARG, LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl__check_json(const char *field, struct pawl_span json,
                                               size_t bytes_max, struct pawl_diag *diag);

/* The jobs that an operation has claimed, routed or assigned. */
struct pawl__taken {
    struct pawl_job *jobs;
    size_t count;
};
struct pawl__taken pawl__taken_of(const struct pawl__op *op);
/* Called after such an operation was answered: schedules sweeps for its leases. */
void pawl__claimed(struct pawl *pawl, const struct pawl__op *op);
struct pawl_failed pawl__failed_of(const struct pawl__op *op);

#endif
