/* Flows whose counters are not what they count.
 *
 * What a flow counts is kept twice: by the states of its jobs, nodes and edges, and by the counters
 * that are changed with them. They differ only if something that ended a job knew nothing of flows
 * (an older program), or if a row was damaged. A backend finds the differences (flow_doubts in
 * table.h), the check prints them, and a sweep mends them (flow_repair.c). */
#ifndef PAWL_STORE_CORE_DOUBTS_H
#define PAWL_STORE_CORE_DOUBTS_H

#include "store/flows.h"

#include <stddef.h>

/* number, NAME, text of a finding behind the name of the flow and, if there is one, of the node.
 * They are mended in this order, so that counters are right before anything is counted anew. */
#define PAWL__FLOW_DOUBTS(X)                                                                       \
    X(1, GROUP, "does not count its members right")                                                \
    X(2, EDGES, "does not count its edges right")                                                  \
    X(3, LIVE, "is not as ended as its job or its members are")                                    \
    X(4, VERDICT, "has ended, but an edge from it is not judged, or wrongly")                      \
    X(5, ENDED, "is not counted as ended, but its job has ended")                                  \
    X(6, GONE, "is not counted as ended, but its job is gone")                                     \
    X(7, UNRELEASED, "is released, but its job still waits")                                       \
    X(8, DECIDED, "still waits, but no edge that it waits for is left")                            \
    X(9, STUCK, "is released, but has not ended")                                                  \
    X(10, OVER, "has not ended, but its members have")                                             \
    X(11, UNFINISHED, "has not ended, but its nodes have")                                         \
    X(12, OPEN, "has ended, but not all of its nodes have")                                        \
    X(13, STRAY, "has no row in its flow")

#define X(number, name, ...) PAWL__FLOW_DOUBT_##name = number,
enum pawl__flow_doubt_kind { PAWL__FLOW_DOUBTS(X) PAWL__FLOW_DOUBT_END };
#undef X

struct pawl__flow_doubt {
    struct pawl_job_id flow;
    int32_t what;
    int32_t no;    /* of the node or group; 0: the flow */
    int32_t state; /* enum pawl_state; ENDED, GONE, VERDICT, STUCK: as what it ended;
                      LIVE: the same, or NONE if it has not */
    int64_t n[6];  /* what the counters should be. GROUP: those of struct pawl__flow_tally;
                      EDGES: pending, good, dead, broken */
    struct pawl_span result; /* LIVE, ENDED, VERDICT, STUCK */
};

typedef void pawl__flow_doubt_fn(void *ctx, const struct pawl__flow_doubt *doubt);

enum { PAWL__FLOW_DOUBT_BYTES = 160 };
/* As a finding. */
void pawl__flow_doubt_text(const struct pawl__flow_doubt *doubt, char out[PAWL__FLOW_DOUBT_BYTES]);

#endif
