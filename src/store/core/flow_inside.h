/* Shared by the files of flows in the core; others include flow.h.
 *
 *     flow.c         the rule FLOW, what operators may do to members, a new flow
 *     flow_books.c   the rows that a node stands in; entries of what is to be followed up next
 *     flow_end.c     a node has ended: it is counted, its edges are judged
 *     flow_look.c    is a node to be released, or to be given up?
 *     flow_repair.c  flows whose counters are not what they count
 *     flow_retire.c  flows that have ended leave with their members
 *     flow_signal.c  nodes that wait for a signal
 *     flow_time.c    timers, and what is due
 *     flow_control.c cancel, retry, resume and pause, as operators ask for them
 *     flow_reset.c   nodes that begin anew
 *     flow_grow.c    nodes that are added, and groups that are sealed
 *
 * Functions that ask for records want those that were not read. A caller that finds
 * pawl__set_lacks after that changes nothing, and is called again when they are read.
 *
 * Threads: the set's. All pointers are into the set. */
#ifndef PAWL_STORE_CORE_FLOW_INSIDE_H
#define PAWL_STORE_CORE_FLOW_INSIDE_H

#include "store/core/flow.h"
#include "store/core/settle.h"

enum { PAWL__FLOW_NEED = PAWL__NEED_RUN | PAWL__NEED_FACTS | PAWL__NEED_STAND };

/* ---- rows (flow_books.c) ---- */

/* NULL: it was not read yet, or there is none. */
struct pawl__record *pawl__flow_found(struct pawl__record *record);
struct pawl__record *pawl__flow_of(struct pawl__set *set, struct pawl_job_id flow);
struct pawl__record *pawl__flow_node_of(struct pawl__set *set, struct pawl_job_id flow, int32_t no);
struct pawl__record *pawl__flow_group_of(struct pawl__set *set, struct pawl_job_id flow,
                                         int32_t no);
/* Those that lead from a node, and the members of a group, in order of the child. */
struct pawl__records *pawl__flow_edges_of(struct pawl__set *set, struct pawl_job_id flow,
                                          int32_t no);

/* All that is known of the node of an entry; a member is NULL while it is not read, or not there.
 * One about the flow itself has `flow`, `all` and `work`. */
struct pawl__flow_books {
    struct pawl__record *flow, *node, *all, *work;
    struct pawl__record *group, *above; /* those of its group, and the group's node; ALL has none */
    struct pawl__record *members;       /* of a group: its own counters */
    struct pawl__records *edges;        /* of an end, or a group */
    struct pawl__record *signal;        /* of a node that waits for one */
    struct pawl__record *timer;         /* of such a node, or a group; it need not be `there` */
    struct pawl__record *clock;         /* of the flow, likewise; NULL: it has none */
    struct pawl_span result;            /* of an end */
};

void pawl__flow_find_books(struct pawl__set *set, const struct pawl__unsettled *about,
                           struct pawl__flow_books *out);
/* Is all there that each node has? */
bool pawl__flow_is_whole(const struct pawl__flow_books *books);

/* ---- entries: see flow.h (flow_books.c) ---- */

/* What an entry is about beside ends and looks, in its `run`; numbers are stored. Those that WALK
 * are about the flow, or the members of a group: they go from node to node, in order of number,
 * beginning with that in `delay_ms`, PAWL__FLOW_SLICE in a transaction. The others are about one
 * node. Each one that resets is counted in `resets` of the flow. */
#define PAWL__FLOW_ACTS(X)                                                                         \
    X(1, WALK_LOOK, "look at all")                                                                 \
    X(2, WALK_FAILED, "reset what failed of its own")                                              \
    X(3, WALK_FAILED_BELOW, "and all that is below it")                                            \
    X(4, WALK_CANCELLED, "reset what was cancelled with the flow")                                 \
    X(5, RESET, "it begins anew")                                                                  \
    X(6, RESET_CANCELLED, "the same, if it was cancelled with the flow")                           \
    X(7, RESET_GIVEN_UP, "the same, if it was given up without running")                           \
    X(8, RESET_BELOW, "the same, and all that is below it")                                        \
    X(9, REOPEN, "a group that has ended: a member begins anew")                                   \
    X(10, STOP, "an operator cancels it; `message` is the reason")

#define X(number, name, ...) PAWL__FLOW_ACT_##name = number,
enum pawl__flow_act { PAWL__FLOW_ACT_NONE = 0, PAWL__FLOW_ACTS(X) PAWL__FLOW_ACT_END };
#undef X

/* One slice is at most what is settled in a transaction. */
enum { PAWL__FLOW_SLICE = PAWL__SETTLE_MAX };

static inline bool pawl__flow_is_act(const struct pawl__unsettled *about)
{
    bool bare = about->from == PAWL_STATE_NONE && about->to == PAWL_STATE_NONE;
    return bare && about->run > PAWL__FLOW_ACT_NONE;
}

static inline bool pawl__flow_is_walk(const struct pawl__unsettled *about)
{
    return pawl__flow_is_act(about) && about->run <= PAWL__FLOW_ACT_WALK_CANCELLED;
}

static inline bool pawl__flow_is_look(const struct pawl__unsettled *about)
{
    bool bare = about->from == PAWL_STATE_NONE && about->to == PAWL_STATE_NONE;
    return bare && about->run == PAWL__FLOW_ACT_NONE;
}

static inline bool pawl__flow_is_end(const struct pawl__unsettled *about)
{
    return pawl_state_is_terminal(about->to);
}

/* An operator brought a job back to life that had ended. */
static inline bool pawl__flow_is_revival(const struct pawl__unsettled *about)
{
    return pawl_state_is_terminal(about->from) && about->to == PAWL_STATE_AVAILABLE;
}

/* A control node ended as `to`, with its own result. */
void pawl__flow_note(struct pawl__set *set, const struct pawl__flow_node *node, enum pawl_state to);
void pawl__flow_note_look(struct pawl__set *set, const struct pawl__flow_node *node);

void pawl__flow_note_act(struct pawl__set *set, const struct pawl__flow_node *node,
                         enum pawl__flow_act act);
/* The whole flow, or the group `no`; from the first node. */
void pawl__flow_note_walk(struct pawl__set *set, struct pawl_job_id flow,
                          const struct pawl__flow_node *group, enum pawl__flow_act act);

/* ---- ends (flow_end.c) ---- */

/* As what the node has ended by now; NONE: it has not. A job that was paused out of its end has. */
enum pawl_state pawl__flow_end_of(const struct pawl__set *set, const struct pawl__unsettled *about,
                                  const struct pawl__flow_node *node);
/* Nodes that ended as `ended`, one more or (-1) one less. */
void pawl__flow_count(struct pawl__record *group, const struct pawl__flow_node *node,
                      enum pawl_state ended, int64_t by);
/* Is it counted by the group WORK? */
bool pawl__flow_is_work(const struct pawl__flow_node *node);
/* Have all members ended, and can none be added? */
bool pawl__flow_is_over(const struct pawl__record *group);
/* As what it ends when it is over. */
enum pawl_state pawl__flow_end_of_group(const struct pawl__record *group);
/* The node is counted once, whenever this is called; what follows is noted. */
void pawl__flow_end_node(struct pawl__set *set, struct pawl__flow_books *books,
                         enum pawl_state ended);
/* After a count in `books->group`: does it end by that, or the flow? */
void pawl__flow_end_group(struct pawl__set *set, struct pawl__flow_books *books);

/* Its edges are judged, again if they were, and the nodes that they lead to are told. */
void pawl__flow_judge_edges(struct pawl__set *set, struct pawl__flow_books *books,
                            enum pawl_state ended);

/* ---- looks (flow_look.c) ---- */

/* A node that has not been decided is released or given up, if its counters say so. One that has
 * not ended is cancelled, paused or resumed, if its flow or group is. */
void pawl__flow_look(struct pawl__set *set, struct pawl__flow_books *books);
/* Its join rule over its counters. */
enum pawl__flow_step pawl__flow_step_of(const struct pawl__flow_node *node);
/* Is the job still where its flow holds it? An operator may have paused it, or ended it. */
bool pawl__flow_is_held_back(const struct pawl__row *row);
/* The job is cancelled, unless it has ended, or runs and may. */
void pawl__flow_cancel_job(struct pawl__set *set, struct pawl__row *row, enum pawl__flow_halt halt,
                           const char *reason);
/* A group that is open is halted, and its members are looked at. */
void pawl__flow_halt_group(struct pawl__set *set, struct pawl__flow_books *books,
                           enum pawl__flow_halt halt, const char *reason);
/* Why a job was cancelled: with its flow. */
#define PAWL__FLOW_CANCELLED_REASON "flow_cancelled"

/* ---- acts (flow_control.c, flow_reset.c) ---- */

/* Note what an act needs beyond the books. */
void pawl__flow_want_act(struct pawl__set *set, const struct pawl__unsettled *about,
                         const struct pawl__flow_books *books);
/* False: not yet. */
bool pawl__flow_follow_act(struct pawl__set *set, const struct pawl__unsettled *about,
                           struct pawl__flow_books *books);
void pawl__flow_want_reset(struct pawl__set *set, const struct pawl__flow_books *books);
bool pawl__flow_reset(struct pawl__set *set, struct pawl__flow_books *books,
                      enum pawl__flow_act act);
/* The job was revived: its node begins anew. */
void pawl__flow_revived(struct pawl__set *set, struct pawl__flow_books *books);
/* One that resets was done, or noted. */
void pawl__flow_count_reset(struct pawl__set *set, struct pawl__record *flow, int32_t by);

/* ---- repair (flow_repair.c) ---- */

/* Something has changed in a flow, which will be written: its counters are left alone for a while.
 */
void pawl__flow_touch(struct pawl__set *set, struct pawl__record *flow);
/* ---- signals (flow_signal.c) ---- */

/* The node was released: it waits, or takes the signal that came early. */
void pawl__flow_signal_begin(struct pawl__set *set, struct pawl__flow_books *books);
/* A node that waits: is its timeout over? */
void pawl__flow_signal_due(struct pawl__set *set, struct pawl__flow_books *books);
/* It begins anew, and forgets what it was told. */
void pawl__flow_signal_reset(struct pawl__flow_books *books);
/* It has ended, whatever ended it. */
void pawl__flow_signal_end(struct pawl__set *set, struct pawl__flow_books *books);

/* ---- growth (flow_grow.c) ---- */

/* A group that is open has ended: its node ends as its members say, or because of what spoilt it.
 */
void pawl__flow_note_group_end(struct pawl__set *set, struct pawl__record *node,
                               const struct pawl__record *group);
/* Has nobody added to it for too long? */
bool pawl__flow_is_abandoned(const struct pawl__set *set, const struct pawl__record *group);
/* NULL: nothing did. */
const char *pawl__flow_spoilt_reason(const struct pawl__record *group);
/* A member has ended: is the group to be aborted by that? */
void pawl__flow_check_limits(struct pawl__set *set, struct pawl__flow_books *books);
/* No more members come to the group of the books' node, to the flow. `spoilt`: why it fails
 * thereby; 0: it does not. */
void pawl__flow_seal_group(struct pawl__set *set, struct pawl__flow_books *books, int32_t spoilt);
void pawl__flow_seal_flow(struct pawl__set *set, struct pawl__flow_books *books, int32_t spoilt);
/* Timers of a new flow, and of new groups. */
void pawl__flow_begin_holds(struct pawl__set *set, const struct pawl__new_flow *flow);
/* flow.c: the rows of new nodes, but for edges; what of them is to be looked at, as nothing tells
 * them. */
void pawl__flow_put_nodes(struct pawl__set *set, const struct pawl__new_flow *flow);
void pawl__flow_look_at_empty(struct pawl__set *set, const struct pawl__new_flow *flow);
/* flow_end.c: an edge that was added to a node that had ended. */
void pawl__flow_judge_late(struct pawl__set *set, struct pawl__flow_books *books,
                           struct pawl__record *edge, int64_t attempt);

/* ---- time (flow_time.c) ---- */

/* That of a node or a flow; it need not be `there`. */
struct pawl__record *pawl__flow_timer_of(struct pawl__set *set, struct pawl_job_id id);
/* It was read. 0: it is not needed any more. */
void pawl__flow_set_timer(struct pawl__set *set, struct pawl__record *timer, int64_t at_ms);
/* A node that was released is looked at: is something due? */
void pawl__flow_node_due(struct pawl__set *set, struct pawl__flow_books *books);
#define PAWL__FLOW_DEADLINE_REASON "flow_deadline"
/* Its deadline is over, and ends it. */
static inline bool pawl__flow_is_overdue(const struct pawl__flow *flow)
{
    return flow->state == PAWL_FLOW_FAILED && !flow->finished_at_ms;
}
/* A look at what may be a flow. False: it is a node. */
bool pawl__flow_follow_flow(struct pawl__set *set, const struct pawl__unsettled *about);

#endif
