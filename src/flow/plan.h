/* From the flow that is submitted to one that can be stored: names become numbers, and what cannot
 * be a flow is refused, with the node and the rule.
 *
 * Pure; any thread. */
#ifndef PAWL_FLOW_PLAN_H
#define PAWL_FLOW_PLAN_H

#include "base/arena.h"

#include <pawl/flow.h>

/* An edge; `child` is a member of the group `parent` where `from` is NULL. */
struct pawl__flow_link {
    int32_t parent, child; /* numbers of nodes, from 1 */
    const struct pawl_flow_edge *from;
};

struct pawl__flow_place_of {
    int32_t group;   /* 0: the flow */
    int32_t parents; /* how many edges lead to it */
    int32_t members; /* of a group: direct ones */
    bool open;       /* nobody waits for a node of its group to open: it begins at once */
};

/* Places are in the order of the nodes, links in order of parent and child. Both in the arena. */
struct pawl__flow_plan {
    struct pawl__flow_place_of *places;
    size_t place_count;
    struct pawl__flow_link *links;
    size_t link_count;
};

/* Of a flow that grows: the first `count` nodes of the spec are there already, with their edges
 * among each other, which are not checked again. */
struct pawl__flow_known {
    size_t count;
    const bool *begun; /* for each: it was released */
};

/* `known` NULL: all nodes are new. ARG, LIMIT: diag->field is a member of the node that the text
 * names. UNSUPPORTED: what flows cannot do yet. NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__flow_plan_make(const struct pawl_flow_spec *spec,
                                                   const struct pawl__flow_known *known,
                                                   struct pawl__arena *arena,
                                                   struct pawl__flow_plan *out,
                                                   struct pawl_diag *diag);

#endif
