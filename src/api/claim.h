/* What owners of runs ask for, checked and made into operations. Both forms of each call, blocking
 * and posting, begin here. Those that end a run are in api.h. */
#ifndef PAWL_API_CLAIM_H
#define PAWL_API_CLAIM_H

#include "api/api.h"

PAWL_MUST_CHECK enum pawl_err pawl__claim_op(const struct pawl_claim *claim, struct pawl__op *op,
                                             struct pawl_diag *diag);
/* `results` has room for extension->count, or is put into the operation later. */
PAWL_MUST_CHECK enum pawl_err pawl__extend_op(const struct pawl_extension *extension,
                                              enum pawl_err *results, struct pawl__op *op,
                                              struct pawl_diag *diag);
/* ARG: less than `least`, which is 1 where a run must be named. */
PAWL_MUST_CHECK enum pawl_err pawl__check_run(const struct pawl_run *run, int64_t least,
                                              struct pawl_diag *diag);
/* JSON of at most `bytes_max`; empty is fine. ARG, LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl__check_json(const char *field, struct pawl_span json,
                                               size_t bytes_max, struct pawl_diag *diag);

/* The claim was answered: have the leases that it gave looked after. */
void pawl__claimed(struct pawl *pawl, const struct pawl__op *op);
struct pawl_failed pawl__failed_of(const struct pawl__op *op);

#endif
