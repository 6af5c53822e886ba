/* Flows: jobs that depend on each other, as one graph: chains, groups, batches, DAGs.
 *
 * A flow has nodes and edges. A node is a job, or a control node that takes no worker. An edge is
 * judged once, when its parent ends; a node with edges is released, skipped or given up when its
 * join rule says so, in the transaction that ends its parent. docs/flows.md explains the rules.
 *
 * Common errors and the last argument are those of <pawl/pawl.h>. */
#ifndef PAWL_FLOWS_H
#define PAWL_FLOWS_H

#include <pawl/error.h>
#include <pawl/job.h>
#include <pawl/state.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

struct pawl;
struct pawl_by;
struct pawl_run;

/* Limits. Exceeding one is PAWL_ERR_LIMIT. */
enum {
    PAWL_FLOW_NODES_MAX = 10000, /* in one call */
    PAWL_FLOW_TOTAL_MAX = 100000,
    PAWL_FLOW_EDGES_MAX = 400000,
    PAWL_FLOW_NAME_BYTES_MAX = 128, /* of a flow, a node */
    PAWL_FLOW_WHEN_BYTES_MAX = 1024,
    PAWL_FLOW_KEY_BYTES_MAX = 255, /* of a signal */
    PAWL_FLOW_HOLD_MS = 3600000,   /* how long what is not sealed waits for more */
    PAWL_FLOW_DEPTH_MAX = 3,
    PAWL_FLOW_NAMED_MAX = 1000,                  /* nodes that one retry names */
    PAWL_FLOW_RESULTS_BYTES_MAX = 1024 * 1024,   /* of all parents, see pawl_flow_inputs_get */
    PAWL_FLOW_NODES_BYTES_MAX = 16 * 1024 * 1024 /* of all results, see pawl_flow_nodes_get */
};

/* What a node is.  number, NAME, text */
#define PAWL_FLOW_KINDS(X)                                                                         \
    X(1, JOB, "job")                                                                               \
    X(2, GROUP, "group")   /* ends when its members have; `group` of a node names it */            \
    X(3, BRANCH, "branch") /* ends as completed as soon as it is released: it has arms */          \
    X(4, JOIN, "join")     /* the same, without arms: it only gathers */                           \
    X(5, SIGNAL, "signal") /* ends by pawl_flow_signal, or when its timeout is over */

/* When an edge is good, as its parent ended.  number, NAME, text */
#define PAWL_FLOW_ONS(X)                                                                           \
    X(1, SUCCESS, "success")                                                                       \
    X(2, FAILURE, "failure") /* discarded, expired, cancelled */                                   \
    X(3, ALWAYS, "always")   /* either; not below what was skipped */

/* What a node waits for.  number, NAME, text */
#define PAWL_FLOW_JOINS(X)                                                                         \
    X(1, ALL, "all")     /* all edges that are taken, and at least one */                          \
    X(2, EVERY, "every") /* the same; it runs also if none was taken */                            \
    X(3, ANY, "any")     /* the first good edge */                                                 \
    X(4, N, "n")         /* `n` good edges */

/* What becomes of a node whose success edge has a parent that failed.  number, NAME, text */
#define PAWL_FLOW_PARENTS(X)                                                                       \
    X(1, CANCEL, "cancel") /* it is cancelled, and so fails what is below: the cascade */          \
    X(2, SKIP, "skip")     /* it is skipped */                                                     \
    X(3, RUN, "run")       /* it runs all the same; that parent's result is null */                \
    X(4, FAIL, "fail")     /* it is discarded, a dead letter */

/* Which of a node's edges with an arm are taken.  number, NAME, text */
#define PAWL_FLOW_SELECTS(X)                                                                       \
    X(1, EACH, "each")   /* no choice: each edge for itself */                                     \
    X(2, FIRST, "first") /* the first that is good, in order of arm */                             \
    X(3, ALL, "all")     /* all that are good; the default arm if none is */

/* number, NAME, text */
#define PAWL_FLOW_STATES(X)                                                                        \
    X(1, RUNNING, "running")                                                                       \
    X(2, COMPLETED, "completed")                                                                   \
    X(3, FAILED, "failed")                                                                         \
    X(4, CANCELLED, "cancelled")

/* What operators do to a flow.  number, NAME, text */
#define PAWL_FLOW_CONTROLS(X)                                                                      \
    X(1, CANCEL, "cancel")                                                                         \
    X(2, RETRY, "retry")                                                                           \
    X(3, RESUME, "resume")                                                                         \
    X(4, PAUSE, "pause")

/* What a signal says.  number, NAME, text */
#define PAWL_FLOW_SIGNALS(X)                                                                       \
    X(1, APPROVE, "approve")                                                                       \
    X(2, REJECT, "reject")

/* What becomes of a signal node when its timeout is over, or it is rejected.  number, NAME, text */
#define PAWL_FLOW_UNSIGNALLEDS(X)                                                                  \
    X(1, FAIL, "fail")         /* expired; rejected: discarded */                                  \
    X(2, SKIP, "skip")         /* skipped */                                                       \
    X(3, COMPLETE, "complete") /* completed, with `payload` of the node */

#define X(number, name, ...) PAWL_FLOW_KIND_##name = number,
enum pawl_flow_kind { PAWL_FLOW_KIND_DEFAULT = 0, PAWL_FLOW_KINDS(X) PAWL_FLOW_KIND_END };
#undef X
#define X(number, name, ...) PAWL_FLOW_ON_##name = number,
enum pawl_flow_on { PAWL_FLOW_ON_DEFAULT = 0, PAWL_FLOW_ONS(X) PAWL_FLOW_ON_END };
#undef X
#define X(number, name, ...) PAWL_FLOW_JOIN_##name = number,
enum pawl_flow_join { PAWL_FLOW_JOIN_DEFAULT = 0, PAWL_FLOW_JOINS(X) PAWL_FLOW_JOIN_END };
#undef X
#define X(number, name, ...) PAWL_FLOW_PARENT_##name = number,
enum pawl_flow_parent { PAWL_FLOW_PARENT_DEFAULT = 0, PAWL_FLOW_PARENTS(X) PAWL_FLOW_PARENT_END };
#undef X
#define X(number, name, ...) PAWL_FLOW_SELECT_##name = number,
enum pawl_flow_select { PAWL_FLOW_SELECT_DEFAULT = 0, PAWL_FLOW_SELECTS(X) PAWL_FLOW_SELECT_END };
#undef X
#define X(number, name, ...) PAWL_FLOW_##name = number,
enum pawl_flow_state { PAWL_FLOW_NONE = 0, PAWL_FLOW_STATES(X) PAWL_FLOW_STATE_END };
#undef X
#define X(number, name, ...) PAWL_FLOW_CONTROL_##name = number,
enum pawl_flow_control { PAWL_FLOW_CONTROL_NONE = 0, PAWL_FLOW_CONTROLS(X) PAWL_FLOW_CONTROL_END };
#undef X
#define X(number, name, ...) PAWL_FLOW_SIGNAL_##name = number,
enum pawl_flow_signal_kind { PAWL_FLOW_SIGNAL_NONE = 0, PAWL_FLOW_SIGNALS(X) PAWL_FLOW_SIGNAL_END };
#undef X
#define X(number, name, ...) PAWL_FLOW_UNSIGNALLED_##name = number,
enum pawl_flow_unsignalled {
    PAWL_FLOW_UNSIGNALLED_DEFAULT = 0,
    PAWL_FLOW_UNSIGNALLEDS(X) PAWL_FLOW_UNSIGNALLED_END
};
#undef X

/* ---- what is submitted. Everything is borrowed until the call returns ---- */

/* An edge to the node that has it in `after`. */
struct pawl_flow_edge {
    const char *parent;   /* its name */
    enum pawl_flow_on on; /* [success] */
    const char *when;     /* an expression over the parent's result; NULL: none */
    int32_t arm;          /* 1..: its place in the parent's choice [0: none] */
    bool otherwise;       /* the default arm: taken when no other one is, and the parent is ok */
    const char *label;    /* shown with it; NULL: none */
};

struct pawl_flow_node {
    const char *name;         /* unique in the flow */
    enum pawl_flow_kind kind; /* [job] */
    struct pawl_job_spec job; /* of a JOB. `pending` must not be set */
    const char *group;        /* the group that it is a member of; NULL: the flow itself */
    const struct pawl_flow_edge *after; /* none: it is released with its group */
    size_t after_count;
    enum pawl_flow_join join;                /* [all] */
    int32_t n;                               /* of N: 1..after_count */
    enum pawl_flow_parent on_parent_failure; /* [cancel] */
    enum pawl_flow_select select;            /* [each] */
    bool may_fail;                           /* its failure does not fail its group, nor the flow */
    bool callback; /* it is not counted as work: progress and totals of OJS leave it out */
    /* of a GROUP: */
    bool unsealed;          /* it grows until pawl_flow_seal */
    int64_t abort_failures; /* its members are cancelled at so many failures [never] */
    double abort_share;     /* or at such a share of them, 0..1 [never] */
    /* of a SIGNAL: */
    const char *signal_key;                /* delivered to by this key as well; NULL: none */
    int64_t timeout_ms;                    /* from its release [none] */
    enum pawl_flow_unsignalled on_timeout; /* [fail] */
    enum pawl_flow_unsignalled on_reject;  /* [fail] */
    struct pawl_span payload; /* JSON: its result where it is completed without a signal */
};

struct pawl_flow_spec {
    const struct pawl_job_id *id; /* NULL: a generated one */
    const char *name;             /* what kind of flow; need not be unique; may be NULL */
    const char *layout;           /* "chain", "group", "batch", "dag": how it was written, for those
                                     who show it; may be NULL */
    struct pawl_span meta;        /* a JSON object [none] */
    const struct pawl_flow_node *nodes; /* in any order: names may be used before they come */
    size_t node_count;
    bool unsealed;          /* it grows until pawl_flow_seal */
    int64_t deadline_at_ms; /* what has not ended then is cancelled, and the flow has failed, with
                               the reason "flow_deadline" [none] */
    /* of its jobs that have none of their own; not of those that are added later: */
    int32_t priority;
    int64_t sla_soft_at_ms, sla_hard_at_ms;
    const char *idempotency_key; /* a repeat returns the first flow */
};

/* ---- what is read. Optional strings are "" and optional spans empty, never NULL ---- */

/* Counted over members; each counts once, as it ended. `total` is all of them. */
struct pawl_flow_counts {
    int64_t total, open, completed, skipped, failed, cancelled; /* failed: discarded, expired */
};

struct pawl_flow {
    struct pawl_job_id id;
    const char *name, *layout;
    struct pawl_span meta;
    enum pawl_flow_state state;
    bool sealed;
    int64_t created_at_ms;
    int64_t finished_at_ms; /* 0: it has not ended */
    int64_t deadline_at_ms;
    bool paused;                     /* see pawl_flow_pause */
    int32_t reopened;                /* how often it was retried or resumed after its end */
    const char *reason;              /* why it was cancelled, or failed without a failed job */
    struct pawl_flow_counts members; /* direct ones: nodes in no group, and groups */
    struct pawl_flow_counts jobs;    /* all jobs but callbacks, at any depth */
};

/* The share that has ended, 0..100; 100 when there are none. */
int pawl_flow_percent(const struct pawl_flow_counts *counts);
/* completed / (ended - skipped); 1.0 when there are none. */
double pawl_flow_success_rate(const struct pawl_flow_counts *counts);

struct pawl_flow_arc {     /* an edge, as stored */
    int32_t parent, child; /* numbers of nodes */
    enum pawl_flow_on on;
    int32_t arm;
    bool otherwise;
    const char *when, *label;
    const char *reason; /* why `when` could not be evaluated, which counts as false */
    int32_t verdict;    /* 0: not judged; 1 good, 2 dead: not taken, 3 broken: the parent failed */
};

struct pawl_flow_view {    /* a node, as stored */
    int32_t number;        /* from 1, in the order of submission; `group` likewise, 0: the flow */
    struct pawl_job_id id; /* of the job, or of the control node */
    const char *name;
    enum pawl_flow_kind kind;
    int32_t group;
    enum pawl_flow_join join;
    int32_t n;
    enum pawl_flow_parent on_parent_failure;
    enum pawl_flow_select select;
    bool may_fail, callback;
    enum pawl_state state; /* pending: it waits; a control node that is released is active */
    int32_t pending, good, dead, broken; /* its edges, by verdict */
    int64_t started_at_ms, finished_at_ms;
    const char *type, *queue, *reason; /* of the job; of a control node: why it ended as it did */
    struct pawl_span result;
    struct pawl_flow_counts members; /* of a GROUP */
    const char *signal_key;
    int64_t until_ms; /* a SIGNAL that waits: when its timeout is over; 0: never */
};

/* Owned by the library until pawl_flow_nodes_release. Zero-initialise before use. */
struct pawl_flow_nodes {
    struct pawl_flow_view *at;
    size_t count;
    struct pawl_flow_arc *edges; /* by child, then by parent */
    size_t edge_count;
    int64_t omitted_bytes; /* > 0: the results are longer than PAWL_FLOW_NODES_BYTES_MAX together,
                              and were left out */
    void *owned;
};

struct pawl_flows {
    struct pawl_flow *at; /* newest first */
    size_t count;
    char next[PAWL_CURSOR_BYTES]; /* cursor of the next page; "" after the last */
    void *owned;
};

struct pawl_flow_filter {
    enum pawl_flow_state state; /* NONE: any */
    const char *name;           /* NULL: any */
};

/* The results of a job's parents. */
struct pawl_flow_input {
    const char *name;
    struct pawl_job_id id;
    enum pawl_state state;
    struct pawl_span result; /* "null" unless it is completed and left one */
    const char *reason;      /* why it ended as it did; mostly "" */
};
struct pawl_flow_inputs {
    struct pawl_job_id flow;
    const char *node;           /* the job's own name */
    bool callback;              /* it is not counted as work */
    struct pawl_flow_input *at; /* by number of the node */
    size_t count;
    int64_t omitted_bytes; /* > 0: the results are longer than
                              PAWL_FLOW_RESULTS_BYTES_MAX together, and were left out */
    void *owned;
};

/* ---- calls ---- */

/* Stores the flow and all of its nodes, or nothing. `out` is the flow's id; jobs get ids of their
 * own. ARG names the node and the rule: a cycle, an unknown or a duplicate name, n out of range, an
 * edge between groups. DUPLICATE: a job's key is taken. EXISTS: there is a flow of this id. LIMIT.
 */
PAWL_MUST_CHECK enum pawl_err pawl_flow_submit(struct pawl *pawl, const struct pawl_flow_spec *spec,
                                               struct pawl_job_id *out, struct pawl_diag *diag);
/* NOT_FOUND. Release `out` in any case. */
PAWL_MUST_CHECK enum pawl_err pawl_flow_get(struct pawl *pawl, struct pawl_job_id flow,
                                            struct pawl_flows *out, struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl_flow_list(struct pawl *pawl,
                                             const struct pawl_flow_filter *filter,
                                             const struct pawl_page *page, struct pawl_flows *out,
                                             struct pawl_diag *diag);
void pawl_flows_release(struct pawl_flows *flows);
/* All nodes, by number, and all edges. NOT_FOUND. */
PAWL_MUST_CHECK enum pawl_err pawl_flow_nodes_get(struct pawl *pawl, struct pawl_job_id flow,
                                                  struct pawl_flow_nodes *out,
                                                  struct pawl_diag *diag);
void pawl_flow_nodes_release(struct pawl_flow_nodes *nodes);
/* Whether a job, as it was claimed or read, may have parents: if not, pawl_flow_inputs_get finds
 * nothing. Does not access the store. */
bool pawl_flow_has_inputs(const struct pawl_job *job);
/* What a job's parents left: of a node of a flow, the nodes before it; of a follow-up (on_success,
 * on_failure of struct pawl_job_spec), the job that it follows, named "parent". A handler calls
 * pawl_task_inputs. NOT_FOUND: there is no such job, or it is neither. */
PAWL_MUST_CHECK enum pawl_err pawl_flow_inputs_get(struct pawl *pawl, struct pawl_job_id job,
                                                   struct pawl_flow_inputs *out,
                                                   struct pawl_diag *diag);
/* The same of all jobs that a job waited for, as the Open Job Spec has them in parent_results: a
 * parent that is a group stands for the jobs in it, but callbacks, a member of a group waits for
 * what its group waits for, a branch or join leads to what is above it, and in a flow whose layout
 * is "chain" all earlier steps count. */
PAWL_MUST_CHECK enum pawl_err pawl_flow_earlier_get(struct pawl *pawl, struct pawl_job_id job,
                                                    struct pawl_flow_inputs *out,
                                                    struct pawl_diag *diag);
/* Which flow a job is in, and its name there: the list is empty. NOT_FOUND. */
PAWL_MUST_CHECK enum pawl_err pawl_flow_of(struct pawl *pawl, struct pawl_job_id job,
                                           struct pawl_flow_inputs *out, struct pawl_diag *diag);
void pawl_flow_inputs_release(struct pawl_flow_inputs *inputs);
/* By the node's name; NULL: it is no parent. */
const struct pawl_flow_input *pawl_flow_input_find(const struct pawl_flow_inputs *inputs,
                                                   const char *name);

/* A signal to nodes that wait for one, and the payload, JSON, that becomes their result. */
struct pawl_flow_signal {
    enum pawl_flow_signal_kind kind;
    struct pawl_span payload; /* [none] */
};

/* To the SIGNAL node `node`, whose id pawl_flow_nodes_get tells. One that does not wait yet keeps
 * it until it does. APPROVE completes the node, with the payload; REJECT does what its `on_reject`
 * says. Each node takes one signal: STATE if it has one, if it has ended, or its timeout is over,
 * or if it is of another kind. NOT_FOUND. ARG: the payload. */
PAWL_MUST_CHECK enum pawl_err pawl_flow_signal(struct pawl *pawl, struct pawl_job_id node,
                                               const struct pawl_flow_signal *signal,
                                               struct pawl_diag *diag);
/* To all nodes with this `signal_key` that wait at the moment: how many, which may be none. If many
 * wait it takes several transactions, and is not undone if a later one fails; `delivered` counts
 * those that happened, and may be NULL. */
PAWL_MUST_CHECK enum pawl_err pawl_flow_signal_key(struct pawl *pawl, const char *key,
                                                   const struct pawl_flow_signal *signal,
                                                   int64_t *delivered, struct pawl_diag *diag);

/* ---- what operators do to flows ----
 *
 * `by` may be NULL. What is done with more than 4096 nodes, or with jobs that another transaction
 * has, happens soon after the call. NOT_FOUND: there is no such flow, or no such node in it. */

struct pawl_flow_cancel {
    const struct pawl_job_id *node; /* this node alone, or group, by the id that
                                       pawl_flow_nodes_get has; NULL: the flow */
    bool drain;                     /* jobs that run may finish, but are not retried; of a node that
                                       is a job: it is left alone if it runs */
};

/* Cancels all that has not ended: what runs at once, unless it drains; late reports are STALE.
 * A flow is cancelled as soon as this returns. Nothing of it is released any more, its callbacks
 * are cancelled too. A group that is cancelled ends as failed, and nodes behind it are judged by
 * that. `how` may be NULL. STATE: it was cancelled before, or has ended. */
PAWL_MUST_CHECK enum pawl_err pawl_flow_cancel(struct pawl *pawl, struct pawl_job_id flow,
                                               const struct pawl_flow_cancel *how,
                                               const struct pawl_by *by, struct pawl_diag *diag);

struct pawl_flow_retry {
    const struct pawl_job_id *nodes; /* these; none: all that failed, but for nodes that were
                                        given up because of others */
    size_t node_count;               /* at most PAWL_FLOW_NAMED_MAX */
    bool all_below; /* with all that comes after them, also if it ended well; those that are
                       named may have ended well too */
};

/* Nodes that failed begin anew, with a new series of attempts, and with them those below that were
 * given up without running. Whatever ran and ended stays as it is. A flow that had ended runs
 * again. `how` may be NULL. `count` is how many nodes failed and begin anew, of the first 4096; 0:
 * there are none, and nothing was changed; it may be NULL. A job whose business key another job has
 * meanwhile stays as it is. STATE: the flow was cancelled, or archived; a node that is named has
 * not ended, has not failed, is a group, or was given up. LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl_flow_retry(struct pawl *pawl, struct pawl_job_id flow,
                                              const struct pawl_flow_retry *how,
                                              const struct pawl_by *by, int64_t *count,
                                              struct pawl_diag *diag);

/* The flow's jobs that do not run are paused, as are those that it releases later. One that runs
 * goes on, and is paused if it is to run again. STATE: it was cancelled, or has ended. */
PAWL_MUST_CHECK enum pawl_err pawl_flow_pause(struct pawl *pawl, struct pawl_job_id flow,
                                              const struct pawl_by *by, struct pawl_diag *diag);

/* Undoes pawl_flow_pause; jobs that were paused by themselves stay so. Or undoes the cancel of a
 * flow: what that cancelled begins anew. STATE: the flow is neither paused nor cancelled. */
PAWL_MUST_CHECK enum pawl_err pawl_flow_resume(struct pawl *pawl, struct pawl_job_id flow,
                                               const struct pawl_by *by, struct pawl_diag *diag);

/* One more edge to a node that is there. */
struct pawl_flow_require {
    const char *child;
    struct pawl_flow_edge edge; /* from one of the new nodes */
};

/* Nodes for a flow that runs. All is borrowed until the call returns. */
struct pawl_flow_addition {
    struct pawl_job_id flow;
    const struct pawl_flow_node *nodes; /* `after` and `group` may name nodes of the flow, too */
    size_t node_count;
    const struct pawl_flow_require *requires; /* its nodes that are to wait for new ones */
    size_t require_count;
    const struct pawl_run *by; /* the run of a node of the flow which adds them; NULL: none */
    bool reopen;               /* also if the flow has completed or failed: it runs again */
};

/* Adds all nodes or none, each in its place at once: an edge from a node that has ended is judged
 * by what that left; an arm of a choice that was made is not taken. `ids` has room for
 * node_count, and may be NULL.
 *
 * Groups grow as long as they are not sealed, and have not ended; while a node runs it may also add
 * to those that are sealed, if it says so by `by`. The flow itself grows as long as it runs. A call
 * with `by`, all nodes of which are there already, is a repeat: it is answered with their ids, and
 * changes nothing.
 *
 * STATE: the flow or a group has ended, a group is sealed, a node in `requires` was released or
 * given up. STALE: `by` runs no more. EXISTS: there is a node of that name. ARG as for
 * pawl_flow_submit. NOT_FOUND. BUSY: others add to the flow all the time. LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl_flow_add(struct pawl *pawl,
                                            const struct pawl_flow_addition *addition,
                                            struct pawl_job_id *ids, struct pawl_diag *diag);
/* No more nodes come to the group, or, if `group` is NULL, to an unsealed flow: it ends when all of
 * them have ended, and at once if they have, or if there are none. A group or flow that is not
 * sealed, and to which nothing is added for PAWL_FLOW_HOLD_MS, is sealed, and has failed with the
 * reason "stream_abandoned". Sealing what is sealed changes nothing. NOT_FOUND. */
PAWL_MUST_CHECK enum pawl_err pawl_flow_seal(struct pawl *pawl, struct pawl_job_id flow,
                                             const char *group, struct pawl_diag *diag);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
