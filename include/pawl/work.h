/* Running jobs: handlers, the node that runs them, listeners, counters.
 *
 * Register handlers by job type, then start: a node claims jobs of those types, and only those,
 * from the queues it is told of, and calls the handlers on its own threads. What is not registered
 * is never run. Everything here may be called from any thread unless it says otherwise; but setting
 * up (handlers, hooks, a listener, the start) is for one thread at a time. */
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

/* ---- handlers ---- */

/* NUMBER, NAME, text, what becomes of the job */
#define PAWL_OUTCOMES(X)                                                                           \
    X(0, DONE, "done", "completed, with the result if one was set")                                \
    X(1, RETRY, "retry", "failed: runs again as its policy says")                                  \
    X(2, RETRY_AFTER, "retry_after", "failed: runs again after the delay that was set")            \
    X(3, DISCARD, "discard", "failed for good")                                                    \
    X(4, SNOOZE, "snooze", "runs again after the delay that was set; charges no attempt")          \
    X(5, CANCEL, "cancel", "cancelled")                                                            \
    X(6, SKIP, "skip", "ended well without having done anything")

#define X(number, name, ...) PAWL_OUTCOME_##name = number,
enum pawl_outcome { PAWL_OUTCOMES(X) PAWL_OUTCOME_END };
#undef X

/* One run of one job, as its handler sees it. Only the thread that runs the handler may use it, and
 * only until the handler returns; pawl_task_cancelled may be asked from any thread until then. */
struct pawl_task;

typedef enum pawl_outcome pawl_handler_fn(struct pawl_task *task, void *ctx);

const struct pawl_job *pawl_task_job(const struct pawl_task *task);
/* Has the job been cancelled, has its time run out, is its lease lost or the node stopping? Then
 * what the handler still does may be for nothing; return soon. */
bool pawl_task_cancelled(const struct pawl_task *task);
/* Sleep up to `timeout_ms`, less if cancelled; true if cancelled. */
bool pawl_task_wait(struct pawl_task *task, int64_t timeout_ms);
/* When the run must have ended; 0: never. The store's time. */
int64_t pawl_task_deadline_ms(const struct pawl_task *task);
/* What DONE leaves behind: JSON, copied. ARG: not JSON. LIMIT: over a MiB. */
PAWL_MUST_CHECK enum pawl_err pawl_task_result(struct pawl_task *task, struct pawl_span json);
/* What RETRY and DISCARD report. `type` is what non-retryable lists are matched with; `details` is
 * JSON, may be empty. Copied; cut to size rather than refused. */
void pawl_task_error(struct pawl_task *task, const char *type, struct pawl_span details,
                     const char *format, ...) PAWL_PRINTF(4, 5);
/* For RETRY_AFTER and SNOOZE. Without one RETRY_AFTER waits as RETRY does, and a job that snoozes
 * may run again at once. */
void pawl_task_delay(struct pawl_task *task, int64_t delay_ms);
/* 0..1, and a message that may be NULL. It never goes back. STALE: no longer ours. */
PAWL_MUST_CHECK enum pawl_err pawl_task_progress(struct pawl_task *task, double value,
                                                 const char *message);
/* JSON that a later run of the job finds again; empty deletes it. Durable when it returns. STALE.
 */
PAWL_MUST_CHECK enum pawl_err pawl_task_checkpoint(struct pawl_task *task, struct pawl_span json,
                                                   struct pawl_diag *diag);
/* What an earlier run left; empty when there is none. Valid until the handler returns. */
PAWL_MUST_CHECK enum pawl_err pawl_task_resume(struct pawl_task *task, struct pawl_span *out,
                                               struct pawl_diag *diag);
/* The lease and the time limit count anew from now. The lease is renewed by itself; this is for
 * work that needs longer than its timeout. STALE. */
PAWL_MUST_CHECK enum pawl_err pawl_task_extend(struct pawl_task *task, int64_t timeout_ms,
                                               struct pawl_diag *diag);
/* A line of the job's own log, kept with it. Does not wait for the store. Levels as in struct
 * pawl_log_line. */
void pawl_task_log(struct pawl_task *task, int32_t level, const char *format, ...)
    PAWL_PRINTF(3, 4);

/* Before pawl_start. `type` may be "mail.*", for every type that begins with "mail.", or "*": types
 * without a handler of their own are run by that of the longest prefix. EXISTS: the type has a
 * handler. ARG. `ctx` is borrowed until pawl_close. */
PAWL_MUST_CHECK enum pawl_err pawl_handle(struct pawl *pawl, const char *type, pawl_handler_fn *fn,
                                          void *ctx, struct pawl_diag *diag);

/* ---- the node ---- */

struct pawl_node_queue {
    const char *name;
    int32_t concurrency; /* of this queue's jobs on this node [no limit of its own] */
};

/* Called around submits and runs, in the order they are listed. May be NULL each. */
struct pawl_hooks {
    /* May change the spec, or refuse it by returning an error and filling in the diagnosis. */
    enum pawl_err (*before_submit)(void *ctx, struct pawl_job_spec *spec, struct pawl_diag *diag);
    void (*after_submit)(void *ctx, const struct pawl_submitted *submitted);
    /* On the worker's thread, before and after the handler. A gate: false gives the job back, free
     * of charge, to run after `*delay_ms` (0: a second). For circuit breakers and permits. A gate
     * that let a run pass hears how it ended, the last first; SNOOZE when a later gate was shut. */
    bool (*before_run)(void *ctx, struct pawl_task *task, int64_t *delay_ms);
    void (*after_run)(void *ctx, struct pawl_task *task, enum pawl_outcome outcome);
    void *ctx;
};

/* In the order given; at most 16. Before pawl_start. LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl_hook(struct pawl *pawl, const struct pawl_hooks *hooks,
                                        struct pawl_diag *diag);

/* NUMBER, NAME, text, what it means */
#define PAWL_NODE_STATES(X)                                                                        \
    X(1, LIVE, "live", "its last heartbeat is younger than its lease")                             \
    X(2, DRAINING, "draining", "live, but it stops: it takes no more jobs")                        \
    X(3, STALE, "stale", "silent for longer than its lease: its jobs and locks are others'")

#define X(number, name, ...) PAWL_NODE_##name = number,
enum pawl_node_state { PAWL_NODE_NONE = 0, PAWL_NODE_STATES(X) PAWL_NODE_END };
#undef X

/* "live", "draining", "stale"; "" for what is none of them. Never NULL. */
const char *pawl_node_state_text(enum pawl_node_state state);

/* A zero field takes the default in brackets. */
struct pawl_node_config {
    const char *name; /* [HOSTNAME, else the host's name; while a live node has that, the process id
                         is added] */
    const struct pawl_node_queue *queues; /* left to right ["default"] */
    size_t queue_count;
    int32_t workers;         /* threads [as many as processors]; -1: none, upkeep alone */
    int64_t lease_ms;        /* from PAWL_LEASE_MIN_MS to a day [30000] */
    int64_t poll_min_ms;     /* the safety poll, beneath the wake-ups [2000] */
    int64_t poll_max_ms;     /* [30000] */
    int64_t claim_bytes_max; /* of arguments of claimed jobs, held in memory before they run: those
                                that would exceed it are read when their run starts [16 MiB] */
    struct pawl_retention retention;
    bool no_upkeep; /* leave promoting, reaping, archiving to other nodes */
};

/* Drain in phases: no more claims; wait for what runs; signal cancel; give back, free of charge. */
struct pawl_drain {
    int64_t finish_ms; /* how long running handlers may go on undisturbed [10000]; negative: none */
    int64_t cancel_ms; /* how long after they were told to stop [5000]; negative: none */
};

/* Registers the node with the store and starts threads. ARG, NOMEM; STATE: it runs already. HELD:
 * a live node has the name that was given; the diagnosis says since when and where. The name of one
 * that fell silent for longer than its lease is taken over, and its jobs with it. What the store
 * says when it is in trouble. */
PAWL_MUST_CHECK enum pawl_err pawl_start(struct pawl *pawl, const struct pawl_node_config *config,
                                         struct pawl_diag *diag);
/* Drains, then stops the threads; NULL: with defaults. `*given_back` (may be NULL) is how many runs
 * did not end in time: their jobs are available again, their handlers' threads are waited for.
 * Blocks, so not from a handler, hook or listener; several threads may, and all wait. Nothing to do
 * when it does not run. */
void pawl_stop(struct pawl *pawl, const struct pawl_drain *drain, int64_t *given_back);
/* Make a pawl_stop that waits go on to the next phase at once. Async-signal-safe. */
void pawl_stop_hurry(struct pawl *pawl);
/* Blocks until nothing is available, active or due within `horizon_ms`, or `timeout_ms` is over
 * (then false). For tests and demonstrations. */
bool pawl_idle(struct pawl *pawl, int64_t horizon_ms, int64_t timeout_ms);

/* How this process's node fares, as it knows itself. */
struct pawl_node_status {
    char name[PAWL_WORKER_BYTES_MAX + 1]; /* "": none runs */
    enum pawl_node_state state; /* NONE: none runs. STALE: it could not say that it is there for so
                                   long that others may have its jobs: it takes none */
    bool fenced;     /* another node has taken its name over: it takes no more jobs. Stop it */
    bool store_lost; /* the store could not be reached the last time it was asked */
    int64_t store_changed_at_ms; /* since when; 0: it never was otherwise */
    char reason[336];            /* of being fenced, or of the store's trouble */
};

/* For monitoring: does not ask the store, and does not block. */
void pawl_node_status_get(struct pawl *pawl, struct pawl_node_status *out);

/* ---- listening ---- */

/* A move that has been committed by this process; to be archived or deleted is none. Strings are
 * valid during the call. */
struct pawl_moved {
    struct pawl_job_id id;
    enum pawl_state from; /* NONE: it was just submitted */
    enum pawl_state to;
    int64_t at_ms;
    int64_t run;
    const char *queue;
    const char *type;
    int64_t lost; /* moves dropped before this one, because the listener was slow */
};

/* After the commit, in order per job, one at a time, on a thread of its own: may block. */
typedef void pawl_listener_fn(void *ctx, const struct pawl_moved *moved);

/* One listener for what is committed through this `pawl`; other handles and processes are not
 * heard. NULL ends it, after it has been called for all that waits. Not from a listener. NOMEM. */
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
    X(discarded, "jobs given up")                                                                  \
    X(snoozed, "runs that snoozed or were given back")                                             \
    X(cancelled, "runs that were cancelled")                                                       \
    X(timed_out, "runs that took too long")                                                        \
    X(stale, "outcomes that came too late")                                                        \
    X(lapsed, "leases that ran out")                                                               \
    X(claims_empty, "claims that found nothing")                                                   \
    X(claims_full, "claims that found as much as was asked for")                                   \
    X(wakes_local, "wake-ups by a commit of this process")                                         \
    X(wakes_foreign, "wake-ups by another process")                                                \
    X(wakes_due, "wake-ups because something was due")                                             \
    X(wakes_poll, "wake-ups by the safety poll")                                                   \
    X(wake_told, "notices sent to other processes")                                                \
    X(wake_heard, "notices of other processes")                                                    \
    X(wake_reconnects, "times that the way to other processes was found again")                    \
    X(store_losses, "times that the store could not be reached any more")                          \
    X(store_returns, "times that it could be reached again")                                       \
    X(rejoined, "times that others had given this node up and it rejoined")                        \
    X(commits, "transactions")                                                                     \
    X(commits_failed, "transactions that failed")                                                  \
    X(reopened, "times that the store was reopened after trouble")                                 \
    X(operations, "operations in them")

struct pawl_counters {
#define X(name, text) int64_t name;
    PAWL_COUNTERS(X)
#undef X
    int64_t running;               /* handlers under way */
    int64_t waiting;               /* claimed, not yet running */
    int64_t wake_trouble;          /* 1: what pawl_wake_check says is not OK */
    int64_t store_reachable;       /* 1: the store answered when it was last asked; 0: it did not */
    struct pawl_histogram wait_us; /* due until started */
    struct pawl_histogram run_us;  /* started until ended */
    struct pawl_histogram commit_us;
    struct pawl_histogram batch; /* operations per transaction; not a time */
};

void pawl_counters_get(struct pawl *pawl, struct pawl_counters *out);
/* Do this process and others that share the store wake each other as pawl_config.wake says? Where
 * they do not, they find work by polling, which is slower and loses nothing. OK, also where
 * there is nothing to wake. IO: not at the moment; it is retried. ARG: refused where it has to log
 * in. UNSUPPORTED: a pooler is in the way. Any thread; does not block. */
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
