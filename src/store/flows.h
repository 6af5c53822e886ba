/* Flows as they are stored: rows of records (core/records.h), and what reads ask and find. Who
 * holds the row of a flow may change those of its groups, nodes and edges; nobody else does.
 *
 * The nodes of a flow are numbered from 1. Group 0 is the flow itself. */
#ifndef PAWL_STORE_FLOWS_H
#define PAWL_STORE_FLOWS_H

#include "flow/flow.h"

#include <pawl/flow.h>

struct pawl__flow {
    struct pawl_job_id id;
    const char *name, *layout;
    struct pawl_span meta;
    int64_t created_at_ms, deadline_at_ms;
    int64_t finished_at_ms; /* all members have ended; 0: not yet */
    int32_t state;          /* enum pawl_flow_state; CANCELLED as soon as that is asked for */
    int32_t reopened;
    int32_t stops; /* 0 or 1: it was cancelled with what runs */
    int32_t paused;
    int32_t resets; /* nodes that are yet to begin anew, at least; nothing is released before */
    int32_t nodes;  /* how many: the next one gets one more */
    const char *reason;
    int64_t recount_at_ms; /* until it ends: when its counters are compared with its jobs */
    int64_t keep_ms;       /* the longest of its jobs, from its end */
    int32_t shelved;       /* nodes that were archived; beyond `nodes`: those that were deleted */
};

/* WORK: not a group; counts the jobs but callbacks, at any depth. */
enum { PAWL__FLOW_WORK = -1, PAWL__FLOW_ALL = 0 };

/* Why a group has failed, whatever its members did. */
enum { PAWL__FLOW_ABORTED = 1, PAWL__FLOW_ABANDONED = 2 };

struct pawl__flow_group {
    struct pawl_job_id flow;
    int32_t no;             /* of its node */
    int32_t open_ended;     /* 0 or 1: more members may come */
    int64_t hold_until_ms;  /* if none comes until then, it is sealed, and was ABANDONED */
    int32_t abort_failures; /* ABORTED at so many; 0: never */
    int32_t abort_ppm;      /* or at more than such a share of them, of a million */
    int32_t spoilt;         /* see above; 0: it was not */
    int32_t halted;         /* enum pawl__flow_halt: an operator cancelled it */
    struct pawl__flow_tally tally;
};

/* Numbers are stored. What was released already is cancelled: all of it, or only what does not run.
 */
enum pawl__flow_halt { PAWL__FLOW_GOES_ON = 0, PAWL__FLOW_DRAINS = 1, PAWL__FLOW_STOPS = 2 };

/* Bits of `traits`. */
enum { PAWL__FLOW_MAY_FAIL = 1, PAWL__FLOW_CALLBACK = 2 };

struct pawl__flow_node {
    struct pawl_job_id flow;
    int32_t no;
    struct pawl_job_id id; /* of the job, or of the control node */
    const char *name;
    int32_t kind;  /* enum pawl_flow_kind */
    int32_t group; /* the number of its group */
    int32_t join, n, parent, select, traits;
    int64_t delay_ms; /* counted from its release */
    int64_t lives_ms; /* time to live, from when it is due */
    int32_t state;    /* enum pawl_state. PENDING: it waits; ACTIVE: it was released; or how it was
                         counted to have ended */
    int32_t pending, good, dead, broken; /* its edges, by verdict */
    int32_t blame;    /* enum pawl_state: as what the first parent ended whose edge is broken */
    int32_t given_up; /* 0 or 1: it ended without being released */
    int64_t finished_at_ms;
    const char *reason; /* of a control node: why it ended as it did */
    struct pawl_span result;
};

/* Which node an id belongs to. */
struct pawl__flow_member {
    struct pawl_job_id id, flow;
    int32_t no;
};

struct pawl__flow_edge {
    struct pawl_job_id flow;
    int32_t parent, child;
    int32_t on; /* enum pawl_flow_on; MEMBER: `child` is a member of the group `parent` */
    int32_t arm, otherwise;
    int32_t verdict; /* enum pawl__flow_verdict */
    const char *when, *label;
    const char *reason; /* why `when` could not be evaluated, which is false */
};

enum { PAWL__FLOW_ON_MEMBER = 100 };

/* What is known of a node that waits for a signal beside its row of nodes. */
struct pawl__flow_signal {
    struct pawl_job_id flow;
    int32_t no;
    const char *key;
    int64_t timeout_ms;            /* from its release; 0: none */
    int32_t on_timeout, on_reject; /* enum pawl_flow_unsignalled */
    struct pawl_span payload;      /* its result where it is completed without that of a signal */
    int32_t waits;                 /* 0 or 1: it was released, and has not ended */
    int64_t until_ms;              /* when the timeout of one that waits is over; 0: never */
    int32_t said;                  /* enum pawl_flow_signal_kind: what came; at most one signal */
    struct pawl_span answer;       /* and its payload */
};

/* Something is due then: the timeout of a signal, the hold of a group that grows (`id` is that of
 * the node), the deadline or the hold of a flow. */
struct pawl__flow_timer {
    struct pawl_job_id id;
    int64_t at_ms;
};

/* What the parent of a new edge has left; it had ended when that was read. */
struct pawl__flow_left {
    bool ended;
    int64_t attempt; /* of a job; 0: of none */
    struct pawl_span result;
};

/* A checked flow, ready to be stored: its rows as they are to be, but for instants, which the store
 * sets. The nodes are in order of their numbers; its jobs have PAWL__TIE_FLOW. */
struct pawl__new_flow {
    int32_t known; /* so many nodes were there when these rows were made: they are added to the flow
                      row.id. Groups of known nodes, and those without one, say by how much they
                      grow. 0: the flow is new, unless `adds` */
    bool adds;
    bool reopens;                       /* also to a flow that has ended */
    const struct pawl_run *by;          /* the run that adds them; NULL: none */
    const struct pawl__flow_left *left; /* of known nodes, what they left; for each edge */
    const struct pawl_flow_spec *spec;  /* what the rows were made from */
    struct pawl__flow row;
    const struct pawl__flow_group *groups; /* ALL and WORK among them */
    size_t group_count;
    const struct pawl__flow_node *nodes;
    size_t node_count;
    const struct pawl__flow_edge *edges; /* in order of parent and child */
    size_t edge_count;
    const struct pawl__flow_signal *signals; /* of nodes that wait for one */
    size_t signal_count;
};

/* What all jobs of flows have among their ties: PAWL__TIE_FLOW of core/settle.h. */
enum { PAWL__FLOW_TIE = 8 };

/* ---- reads ---- */

/* NAME, what is found. A flow is found with its groups ALL and WORK, nodes and parents are in order
 * of their numbers, edges in order of child and parent. */
#define PAWL__FLOW_ASKS(X)                                                                         \
    X(ONE, "the flow `id`")                                                                        \
    X(LIST, "flows, newest first: those whose id is less than `id`")                               \
    X(NODES, "all nodes, edges, groups and signals of the flow `id`")                              \
    X(PARENTS, "the node of the job `id` as `own`, and those that its edges come from, with its "  \
               "group among them if that had to wait")                                             \
    X(OWN, "the node of the job `id` as `own`")                                                    \
    X(EARLIER, "the same; of a server elsewhere, what pawl_flow_earlier_get asks for")

#define X(name, ...) PAWL__FLOW_ASK_##name,
enum pawl__flow_what { PAWL__FLOW_ASKS(X) PAWL__FLOW_ASK_END };
#undef X

struct pawl__flow_ask {
    enum pawl__flow_what what;
    struct pawl_job_id id;
    /* LIST: */
    enum pawl_flow_state state; /* NONE: any */
    const char *name;           /* "": any */
    int64_t limit;
    int64_t bytes_max; /* for a server elsewhere, which answers with no more [0: its own limit] */
};

/* The answer of a server elsewhere: not rows, but what the question is for. */
struct pawl__flow_seen {
    struct pawl_flows flows;        /* ONE, LIST */
    struct pawl_flow_nodes nodes;   /* NODES */
    struct pawl_flow_inputs inputs; /* PARENTS, OWN, EARLIER */
};

struct pawl__flow_rows {
    struct pawl__flow *flows;
    struct pawl__flow_group *groups;
    struct pawl__flow_node *nodes;
    struct pawl__flow_edge *edges;
    struct pawl__flow_node *own; /* PARENTS */
    struct pawl__flow_signal *signals;
    size_t flows_count, groups_count, nodes_count, edges_count, own_count, signals_count;
    const struct pawl__flow_seen *seen; /* then there are no rows */
};

#endif
