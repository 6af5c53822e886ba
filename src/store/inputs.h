/* Shared by what reads the results that jobs of flows get (inputs.c, earlier.c). */
#ifndef PAWL_STORE_INPUTS_H
#define PAWL_STORE_INPUTS_H

#include "store/store.h"

/* NOT_FOUND. */
enum pawl_err pawl__inputs_refuse(struct pawl_job_id job, struct pawl_diag *diag);
/* What the job left that this one, a follow-up, follows. NOT_FOUND: it follows none. */
PAWL_MUST_CHECK enum pawl_err pawl__inputs_parent(struct pawl__store *store, struct pawl_job_id job,
                                                  struct pawl__arena *arena,
                                                  struct pawl_flow_inputs *out,
                                                  struct pawl_diag *diag);
/* Fills in the results of these nodes, in their order. */
PAWL_MUST_CHECK enum pawl_err
pawl__inputs_fill(struct pawl__store *store, const struct pawl__flow_node *nodes, size_t count,
                  struct pawl__arena *arena, struct pawl_flow_inputs *out, struct pawl_diag *diag);

#endif
