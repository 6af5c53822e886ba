/* What follows when a node of a flow ends: verdicts of its edges, whether a node that hangs on them
 * may run, and how a group ends. docs/flows.md has the tables.
 *
 * An edge is judged once, when its parent ends. A node counts the verdicts of its edges, and its
 * join rule decides on these counts alone.
 *
 * Pure; any thread. */
#ifndef PAWL_FLOW_JUDGE_H
#define PAWL_FLOW_JUDGE_H

#include <pawl/flow.h>

#include <stdbool.h>
#include <stddef.h>

/* Numbers are stored. DEAD: this way was not taken. BROKEN: it was wanted, and failed; only that
 * asks what the child does when a parent fails. */
enum pawl__flow_verdict {
    PAWL__FLOW_UNJUDGED = 0,
    PAWL__FLOW_GOOD = 1,
    PAWL__FLOW_DEAD = 2,
    PAWL__FLOW_BROKEN = 3
};

/* One of the edges of a parent. */
struct pawl__flow_way {
    enum pawl_flow_on on;
    int32_t arm;                     /* 0: no part of the parent's choice */
    bool otherwise;                  /* the default arm */
    bool when;                       /* its condition is true, or it has none */
    enum pawl__flow_verdict verdict; /* out */
};

/* Whether the condition of such an edge is of any use: the parent ended as the edge wants. */
bool pawl__flow_asks(enum pawl_state ended, enum pawl_flow_on on);

/* Judges the edges of a node that ended as `ended`, which must be a terminal state. They are in the
 * order of their definition; of arms with the same number the earlier one comes first. */
void pawl__flow_judge(enum pawl_state ended, enum pawl_flow_select select,
                      struct pawl__flow_way *ways, size_t count);

/* The edges of a node, by verdict. */
struct pawl__flow_stand {
    enum pawl_flow_join join;
    enum pawl_flow_parent parent;
    int32_t n;
    int32_t pending, good, dead, broken;
};

enum pawl__flow_step {
    PAWL__FLOW_WAIT,
    PAWL__FLOW_RUN,
    PAWL__FLOW_SKIP,
    PAWL__FLOW_CANCEL,
    PAWL__FLOW_FAIL
};

/* What becomes of a node that has not been decided. One without edges runs. */
enum pawl__flow_step pawl__flow_decide(const struct pawl__flow_stand *stand);

/* The members of a group, or of a flow, by how they ended; `total` are all, `grave` those of the
 * failed and cancelled ones that may not fail. */
struct pawl__flow_tally {
    int64_t total, completed, skipped, failed, cancelled, grave;
};

/* Where a member that ended as `ended` is counted. */
int64_t *pawl__flow_place(struct pawl__flow_tally *tally, enum pawl_state ended);
/* Those that have not ended. */
int64_t pawl__flow_open(const struct pawl__flow_tally *tally);
/* What a group of which all members have ended ends as: COMPLETED, SKIPPED or DISCARDED. */
enum pawl_state pawl__flow_group_end(const struct pawl__flow_tally *tally);

#endif
