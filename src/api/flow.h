/* Nodes on their way to rows: those of a new flow, or those that are added to one. Names become
 * numbers (src/flow/plan.h), jobs are checked as any others, and all of it is one operation.
 *
 * Runs on: the caller's thread. */
#ifndef PAWL_API_FLOW_H
#define PAWL_API_FLOW_H

#include "api/api.h"
#include "flow/flow.h"

struct pawl__flow_draft {
    const struct pawl_flow_spec *spec; /* its first nodes are there already: `known` */
    struct pawl__flow_known known;
    struct pawl__arena *arena;
    bool overtaken; /* out, on STALE: somebody else has added nodes to the flow since */
    /* made from these: */
    struct pawl__flow_plan plan;
    struct pawl__new_flow flow;
    struct pawl__flow_node *nodes; /* as the spec's */
    struct pawl__flow_group *groups;
    struct pawl__flow_signal *signals;
    struct pawl_job_spec *jobs;
    size_t job_count;
    size_t *job_nodes; /* which node each job is */
};

/* Check the new nodes and make their rows. Errors as pawl_flow_submit. */
PAWL_MUST_CHECK enum pawl_err pawl__flow_draft_make(struct pawl__flow_draft *draft,
                                                    struct pawl_job_id id, struct pawl_diag *diag);
/* Store it, and wait for that. */
PAWL_MUST_CHECK enum pawl_err
pawl__flow_draft_post(struct pawl *pawl, struct pawl__flow_draft *draft, struct pawl_diag *diag);

#endif
