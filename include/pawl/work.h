/* Running jobs: handlers, the node that runs them, listeners, counters.
 *
 * Register handlers by job type, then start the node: it claims jobs of those types, and only
 * those, from its queues, and calls the handlers on its own threads. Functions may be called from
 * any thread unless said otherwise; but setup (handlers, hooks, a listener, the start) is for one
 * thread at a time. */
#ifndef PAWL_WORK_H
#define PAWL_WORK_H

#include <pawl/job.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

struct pawl;
struct pawl_flow_inputs;

/* ---- handlers ---- */

/* NUMBER, NAME, text, what happens to the job */
#define PAWL_OUTCOMES(X)                                                                           \
    X(0, DONE, "done", "completed, with the result if one was set")                                \
    X(1, RETRY, "retry", "failed: retried as its policy says")                                     \
    X(2, RETRY_AFTER, "retry_after", "failed: retried after the delay that was set")               \
    X(3, DISCARD, "discard", "failed for good")                                                    \
    X(4, SNOOZE, "snooze", "runs again after the delay that was set; costs no attempt")            \
    X(5, CANCEL, "cancel", "cancelled")                                                            \
    X(6, SKIP, "skip", "ended well without doing anything")

#define X(number, name, ...) PAWL_OUTCOME_##name = number,
enum pawl_outcome { PAWL_OUTCOMES(X) PAWL_OUTCOME_END };
#undef X

/* One run of one job, as passed to its handler. Only the thread that runs the handler may use it,
 * and only until the handler returns; pawl_task_cancelled may be called from any thread until then.
 */
struct pawl_task;

typedef enum pawl_outcome pawl_handler_fn(struct pawl_task *task, void *ctx);

const struct pawl_job *pawl_task_job(const struct pawl_task *task);
/* True if the job has been cancelled, has timed out or has lost its lease, or if the node is
 * stopping. Further work may be in vain; return soon. */
bool pawl_task_cancelled(const struct pawl_task *task);
/* Sleeps for up to `timeout_ms`, less if cancelled; true if cancelled. */
bool pawl_task_wait(struct pawl_task *task, int64_t timeout_ms);
/* When the run must have ended; 0: no limit. By the store's clock. */
int64_t pawl_task_deadline_ms(const struct pawl_task *task);
/* Sets the result for DONE: JSON, copied. ARG: not JSON. LIMIT: over 1 MiB. */
PAWL_MUST_CHECK enum pawl_err pawl_task_result(struct pawl_task *task, struct pawl_span json);
/* Sets the error for RETRY and DISCARD. `type` is matched with non-retryable lists; `details` is
 * JSON and may be empty. Copied; truncated rather than refused. */
void pawl_task_error(struct pawl_task *task, const char *type, struct pawl_span details,
                     const char *format, ...) PAWL_PRINTF(4, 5);
/* Sets the delay for RETRY_AFTER and SNOOZE. Without it RETRY_AFTER waits as RETRY does, and a
 * snoozed job may run again at once. */
void pawl_task_delay(struct pawl_task *task, int64_t delay_ms);
/* Sets the progress, 0..1, and a message, which may be NULL. A lower value is ignored. STALE: the
 * run is no longer current. */
PAWL_MUST_CHECK enum pawl_err pawl_task_progress(struct pawl_task *task, double value,
                                                 const char *message);
/* Saves JSON for a later run of the job; empty deletes it. Durable on return. STALE. */
PAWL_MUST_CHECK enum pawl_err pawl_task_checkpoint(struct pawl_task *task, struct pawl_span json,
                                                   struct pawl_diag *diag);
/* Reads what an earlier run saved; empty if nothing. Valid until the handler returns. */
PAWL_MUST_CHECK enum pawl_err pawl_task_resume(struct pawl_task *task, struct pawl_span *out,
                                               struct pawl_diag *diag);
/* Reads what the job's parents left (<pawl/flow.h>): of a node of a flow the nodes before it, of a
 * follow-up the job that it follows, named "parent". Of a job without parents `count` is 0. The
 * first call reads the store, if the job has parents; later ones return the same. Valid until the
 * handler returns, and not to be released. */
PAWL_MUST_CHECK enum pawl_err pawl_task_inputs(struct pawl_task *task,
                                               const struct pawl_flow_inputs **out,
                                               struct pawl_diag *diag);
/* Restarts the lease and the time limit. The lease is renewed automatically; this is for work that
 * needs longer than its timeout. STALE. */
PAWL_MUST_CHECK enum pawl_err pawl_task_extend(struct pawl_task *task, int64_t timeout_ms,
                                               struct pawl_diag *diag);
/* Adds a line to the job's own log. Does not wait for the store. Levels as in struct pawl_log_line.
 */
void pawl_task_log(struct pawl_task *task, int32_t level, const char *format, ...)
    PAWL_PRINTF(3, 4);

/* Registers a handler. Call before pawl_start. `type` may be "mail.*", for every type that begins
 * with "mail.", or "*": a type without a handler of its own is run by that of the longest prefix.
 * EXISTS: the type has a handler. ARG. `ctx` is borrowed until pawl_close. */
PAWL_MUST_CHECK enum pawl_err pawl_handle(struct pawl *pawl, const char *type, pawl_handler_fn *fn,
                                          void *ctx, struct pawl_diag *diag);

/* ---- the node ---- */

struct pawl_node_queue {
    const char *name;
    int32_t concurrency; /* limit on this queue's running jobs on this node [none] */
};

/* Called around submits and runs, in the order in which they were added. Each may be NULL. */
struct pawl_hooks {
    /* May change the spec, or refuse it by returning an error and filling in the diagnosis. */
    enum pawl_err (*before_submit)(void *ctx, struct pawl_job_spec *spec, struct pawl_diag *diag);
    void (*after_submit)(void *ctx, const struct pawl_submitted *submitted);
    /* Called on the worker's thread, before and after the handler. before_run is a gate: if it
     * returns false, the job is given back, at no cost in attempts, to run after `*delay_ms` (0: a
     * second). For circuit breakers and permits. after_run is called for every gate that let the
     * run pass, in reverse order; with SNOOZE if a later gate refused it. */
    bool (*before_run)(void *ctx, struct pawl_task *task, int64_t *delay_ms);
    void (*after_run)(void *ctx, struct pawl_task *task, enum pawl_outcome outcome);
    void *ctx;
};

/* Adds hooks, in the order of the calls; at most 16. Call before pawl_start. LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl_hook(struct pawl *pawl, const struct pawl_hooks *hooks,
                                        struct pawl_diag *diag);

/* NUMBER, NAME, text, meaning */
#define PAWL_NODE_STATES(X)                                                                        \
    X(1, LIVE, "live", "its last heartbeat is younger than its lease")                             \
    X(2, DRAINING, "draining", "live, but stopping: it claims no more jobs")                       \
    X(3, STALE, "stale", "no heartbeat within its lease: others may take its jobs and locks")

#define X(number, name, ...) PAWL_NODE_##name = number,
enum pawl_node_state { PAWL_NODE_NONE = 0, PAWL_NODE_STATES(X) PAWL_NODE_END };
#undef X

/* "live", "draining", "stale"; "" for any other value. Never NULL. */
const char *pawl_node_state_text(enum pawl_node_state state);

/* A zero field takes the default in brackets. */
struct pawl_node_config {
    const char *name; /* [HOSTNAME, else the host's name; the process id is appended while a live
                         node has that name] */
    const struct pawl_node_queue *queues; /* left to right ["default"] */
    size_t queue_count;
    int32_t workers;         /* threads [one per processor]; -1: none, maintenance only */
    int64_t lease_ms;        /* from PAWL_LEASE_MIN_MS to a day [30000] */
    int64_t poll_min_ms;     /* the safety poll, in case notices are lost [2000] */
    int64_t poll_max_ms;     /* [30000] */
    int64_t claim_bytes_max; /* limit on memory for the arguments of claimed jobs before they run;
                                arguments beyond it are read when their run starts [16 MiB] */
    struct pawl_retention retention;
    bool no_upkeep; /* leave promoting, expiring, archiving etc. to other nodes */
};

/* Drains in phases: no more claims; wait for running handlers; signal cancel; give back, at no cost
 * in attempts. */
struct pawl_drain {
    int64_t finish_ms; /* how long running handlers may continue [10000]; negative: no time */
    int64_t cancel_ms; /* how long they may take after being told to stop [5000]; negative: no
                          time */
};

/* Registers the node with the store and starts its threads. ARG, NOMEM. STATE: it is already
 * running. HELD: a live node has the given name; the diagnosis says since when and where. If a node
 * of that name is dead, its name and its jobs are taken over. Also any error of the store. */
PAWL_MUST_CHECK enum pawl_err pawl_start(struct pawl *pawl, const struct pawl_node_config *config,
                                         struct pawl_diag *diag);
/* Drains the node, then stops its threads; NULL: with defaults. `*given_back` (may be NULL) is the
 * number of runs that did not end in time: their jobs are available again; their handlers are still
 * waited for. Blocks, so it must not be called from a handler, hook or listener; several threads
 * may call it, and all wait. Does nothing if no node runs. */
void pawl_stop(struct pawl *pawl, const struct pawl_drain *drain, int64_t *given_back);
/* Makes a waiting pawl_stop continue with the next phase at once. Async-signal-safe. */
void pawl_stop_hurry(struct pawl *pawl);
/* Blocks until no job is available, active or due within `horizon_ms`, or `timeout_ms` has passed
 * (then false). For tests and demonstrations. */
bool pawl_idle(struct pawl *pawl, int64_t horizon_ms, int64_t timeout_ms);

/* The condition of this process's node, as the node itself knows it. */
struct pawl_node_status {
    char name[PAWL_WORKER_BYTES_MAX + 1]; /* "": no node runs */
    enum pawl_node_state state; /* NONE: no node runs. STALE: it could not send heartbeats for so
                                   long that others may have its jobs: it claims none */
    bool fenced;     /* another node has taken its name over: it claims no more jobs. Stop it */
    bool store_lost; /* the store was unreachable at the last attempt */
    int64_t store_changed_at_ms; /* when store_lost last changed; 0: never */
    char reason[336];            /* why it is fenced, or the store's error */
};

/* For monitoring: does not access the store, and does not block. */
void pawl_node_status_get(struct pawl *pawl, struct pawl_node_status *out);

/* ---- listening ---- */

/* number, NAME, text, member of struct pawl_job_spec */
#define PAWL_DEADLINES(X)                                                                          \
    X(1, SOFT, "soft", sla_soft_at_ms)                                                             \
    X(2, HARD, "hard", sla_hard_at_ms)

#define X(number, name, ...) PAWL_DEADLINE_##name = number,
enum pawl_deadline { PAWL_DEADLINE_NONE = 0, PAWL_DEADLINES(X) PAWL_DEADLINE_END };
#undef X

/* "soft", "hard"; "" for any other value. Never NULL. */
const char *pawl_deadline_text(enum pawl_deadline deadline);

/* A move committed by this process; archiving and deleting are not moves. Or a deadline that this
 * process found to be missed: the job had not ended by then. That is reported once for each
 * deadline of a job, by one of all processes that share the store, within seconds. Strings are
 * valid during the call. */
struct pawl_moved {
    struct pawl_job_id id;
    enum pawl_state from; /* NONE: newly submitted */
    enum pawl_state to;
    enum pawl_deadline missed; /* NONE: it is a move. Else `from` and `to` are the job's state, and
                                  nothing has moved */
    int64_t at_ms;
    int64_t run;
    const char *queue;
    const char *type;
    bool in_flow; /* the job is a node of a flow: pawl_flow_of tells of which */
    int64_t lost; /* moves dropped before this one, because the listener was slow */
};

/* Called after the commit, in order per job, one at a time, on a thread of its own: may block. */
typedef void pawl_listener_fn(void *ctx, const struct pawl_moved *moved);

/* Sets the listener for moves committed through this `pawl`; those of other handles and processes
 * are not reported. NULL removes it, after it has been called for all pending moves. Not from a
 * listener. NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl_listen(struct pawl *pawl, pawl_listener_fn *fn, void *ctx,
                                          struct pawl_diag *diag);

/* ---- counters ---- */

/* A histogram of durations: bucket i counts those below 2^i microseconds. */
#define PAWL_HISTOGRAM_BUCKETS 40
struct pawl_histogram {
    int64_t count, sum_us, max_us;
    int64_t below[PAWL_HISTOGRAM_BUCKETS];
};

/* name, text */
#define PAWL_COUNTERS(X)                                                                           \
    X(submitted, "jobs submitted by this process")                                                 \
    X(claimed, "jobs claimed")                                                                     \
    X(completed, "runs that ended well")                                                           \
    X(failed, "runs that failed")                                                                  \
    X(discarded, "jobs discarded")                                                                 \
    X(snoozed, "runs that snoozed or were given back")                                             \
    X(cancelled, "runs that were cancelled")                                                       \
    X(timed_out, "runs that timed out")                                                            \
    X(stale, "outcomes refused as stale")                                                          \
    X(lapsed, "leases that lapsed")                                                                \
    X(deadlines_missed, "deadlines of jobs that this process found to be missed")                  \
    X(claims_empty, "claims that found nothing")                                                   \
    X(claims_full, "claims that returned as many jobs as requested")                               \
    X(wakes_local, "wake-ups by a commit of this process")                                         \
    X(wakes_foreign, "wake-ups by other processes")                                                \
    X(wakes_due, "wake-ups by a due time")                                                         \
    X(wakes_poll, "wake-ups by the safety poll")                                                   \
    X(wake_sent, "notices sent to other processes")                                                \
    X(wake_received, "notices received from other processes")                                      \
    X(wake_reconnects, "reconnections of the wake-up channel")                                     \
    X(store_losses, "times that the store became unreachable")                                     \
    X(store_returns, "times that the store became reachable again")                                \
    X(rejoined, "times that this node rejoined after others gave it up")                           \
    X(commits, "transactions")                                                                     \
    X(commits_failed, "transactions that failed")                                                  \
    X(reopened, "times that the store was reopened after an error")                                \
    X(operations, "operations in them")

struct pawl_counters {
#define X(name, text) int64_t name;
    PAWL_COUNTERS(X)
#undef X
    int64_t running;               /* handlers in progress */
    int64_t waiting;               /* claimed, not yet running */
    int64_t wake_trouble;          /* 1: pawl_wake_check does not return OK */
    int64_t store_reachable;       /* 1: the store was reachable at the last attempt; 0: it was
                                      not */
    struct pawl_histogram wait_us; /* from due to started */
    struct pawl_histogram run_us;  /* from started to ended */
    struct pawl_histogram commit_us;
    struct pawl_histogram batch; /* operations per transaction; not a time */
};

void pawl_counters_get(struct pawl *pawl, struct pawl_counters *out);
/* Checks whether this process and others that share the store wake each other as pawl_config.wake
 * says. If they do not, they find work by polling, which is slower and loses nothing. OK, also if
 * there is nothing to wake. IO: not at the moment; it is retried. ARG: the login was refused.
 * UNSUPPORTED: a pooler prevents it. Any thread; does not block. */
PAWL_MUST_CHECK enum pawl_err pawl_wake_check(struct pawl *pawl, struct pawl_diag *diag);
/* The q-quantile (0..1) of a histogram, to within its buckets; 0 when it is empty. */
int64_t pawl_histogram_quantile(const struct pawl_histogram *histogram, double q);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
