/* Flows in the working set: what is stored of a new one, and what follows when members move
 * (flow.c). The decisions are those of src/flow.
 *
 * A move of a job with PAWL__TIE_FLOW is followed up in its transaction: its edges are judged,
 * counted by the nodes that they lead to, and those that are decided by that are looked at in the
 * next round. There are entries of two kinds, for jobs and for control nodes alike
 * (and acts, which operators asked for: see flow_inside.h):
 *
 *     an end    `to` is a terminal state: the node ended as that
 *     a look    `from` and `to` are NONE: is the node to be released, or to be given up? May it
 *               go on, or was its flow cancelled or paused?
 *
 * A look may come twice or too late: it asks the counters. So may an end: a node is counted once,
 * as its row says. What is too much for one transaction, or held by another, is left to the sweep.
 *
 * The row of a flow is the lock of all its books. It is waited for, unlike other records that
 * settling reads: a batch reads all flows that it is about in one load, in order, behind the jobs.
 *
 * Threads: the set's. */
#ifndef PAWL_STORE_CORE_FLOW_H
#define PAWL_STORE_CORE_FLOW_H

#include "store/core/set.h"

/* The rows of a new flow, whose jobs are in the set. */
void pawl__flow_add(struct pawl__set *set, const struct pawl__new_flow *flow);
/* Those that are added to a flow: what is needed, whether that may be, and the rows. STATE, STALE;
 * the answer is of no use while something is wanted. */
void pawl__flow_want_more(struct pawl__set *set, const struct pawl__new_flow *more);
PAWL_MUST_CHECK enum pawl_err pawl__flow_may_grow(struct pawl__set *set, struct pawl__op *op);
void pawl__flow_grow(struct pawl__set *set, const struct pawl__new_flow *more);

/* Compares flows that were not touched for a while with their jobs, and mends what differs; what
 * follows is to be settled. `*more`: there may be others. For a sweep, into an empty set. */
PAWL_MUST_CHECK enum pawl_err pawl__flow_repair(struct pawl__set *set, bool *more);

/* For ARCHIVE and PURGE: members of flows that ended before, and flows, at most `limit` nodes. Adds
 * to what the operation says. */
PAWL_MUST_CHECK enum pawl_err pawl__flow_retire(struct pawl__set *set, struct pawl__op *op,
                                                int64_t limit);

/* Is the job a node of a flow that has not ended, and must stay? If that was not read yet it is
 * wanted, and the answer is no. */
bool pawl__flow_keeps(struct pawl__set *set, const struct pawl__row *row);
/* Look for timers that are due, at most `limit`, and note that their nodes and flows are to be
 * looked at. `more`: it looked at as many as it may. */
PAWL_MUST_CHECK enum pawl_err pawl__flow_scan_due(struct pawl__set *set, int64_t limit, bool *more);
/* When the next one is due, if that is before `*at_ms`, or that is 0. */
PAWL_MUST_CHECK enum pawl_err pawl__flow_next_due(struct pawl__set *set, int64_t *at_ms);
/* STATE, where an operator may not do this to a job because it is a node of a flow. What is not
 * read yet is wanted, and the answer is OK. */
PAWL_MUST_CHECK enum pawl_err pawl__flow_allows(struct pawl__set *set, const struct pawl__row *row,
                                                enum pawl_control control, struct pawl_diag *diag);

#endif
