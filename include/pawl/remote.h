/* Jobs for external workers: claims for workers that pawl does not run itself, and their reports.
 * The HTTP server is built on this header, and so can be a program that has an event loop of its
 * own. The most frequent calls also have an asynchronous form, see <pawl/post.h>.
 *
 * After a claim, a run can be extended, finished or given back only with its (id, run). A call with
 * an older run gets STALE: the job was taken from that worker, which must stop and write nothing
 * more for it.
 *
 * Some process must take back lapsed leases and make due jobs available: a node (pawl_start; with
 * `workers` -1 it does nothing else), or pawl_upkeep_turn. */
#ifndef PAWL_REMOTE_H
#define PAWL_REMOTE_H

#include <pawl/job.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

struct pawl;

#define PAWL_CLAIM_MAX 1000

/* Identifies one run of one job. */
struct pawl_run {
    struct pawl_job_id id;
    int64_t run;
};

struct pawl_claim {
    const char *const *queues; /* strictly left to right, lowest rank first within a queue */
    size_t queue_count;        /* at least 1 */
    const char *const *types;  /* [every type]; "mail.*" matches all that begin with "mail." */
    size_t type_count;
    int64_t limit;      /* 1..PAWL_CLAIM_MAX [1] */
    int64_t bytes_max;  /* limit on the total size of arguments: the claim ends before the job that
                           would exceed it, but returns at least one [no limit] */
    const char *worker; /* the worker that will own the jobs */
    int64_t lease_ms;   /* for jobs without a lease of their own, at least PAWL_LEASE_MIN_MS
                           [30000] */
    bool timed; /* no lease ends later than the job's timeout: a run that takes longer has failed.
                   For workers that nothing else stops */
};

/* available -> active. Finding no job is not an error. A claim never waits for another process: it
 * skips jobs that are locked by others, and its work is bounded. If it therefore returns fewer than
 * `limit` jobs although more may be available, out->more is set: claim again at once if it returned
 * some, else a few milliseconds later. If out->more is not set, no more jobs were available, or
 * `limit` was reached. Release `out` in any case. */
PAWL_MUST_CHECK enum pawl_err pawl_claim(struct pawl *pawl, const struct pawl_claim *claim,
                                         struct pawl_jobs *out, struct pawl_diag *diag);

/* ---- in two steps ----
 *
 * A program that decides where jobs run (a router) reserves jobs first, for a worker or under its
 * own name, and starts them once a worker has agreed. A reserved job is PENDING, holds its place,
 * and no other claim or router gets it. Nothing has run until it is assigned, so neither giving it
 * back nor a lapse of the reservation costs an attempt. */

/* available -> pending, reserved for `claim->worker` for claim->lease_ms [5000]. As pawl_claim
 * otherwise. out->at[i].lease_until_ms is the end of the reservation, and the token for
 * pawl_assign. `timed` is ARG: no run begins. */
PAWL_MUST_CHECK enum pawl_err pawl_route(struct pawl *pawl, const struct pawl_claim *claim,
                                         struct pawl_jobs *out, struct pawl_diag *diag);

/* Identifies one reservation of one job. */
struct pawl_routed {
    struct pawl_job_id id;
    const char *worker; /* the name that it is reserved for */
    int64_t token;      /* lease_until_ms of the job, as pawl_route returned it */
};

struct pawl_assignment {
    struct pawl_routed routed;
    const char *worker; /* the worker that will own the run [routed.worker] */
    int64_t lease_ms;   /* of the run, for a job without a lease of its own [30000] */
    bool timed;         /* as in struct pawl_claim */
};

/* pending -> active: out->at[0] is the job, and its `run` has begun. STALE: the reservation has
 * lapsed or was given back, the job was taken away (cancelled, paused, assigned), or the worker or
 * token is another one. NOT_FOUND. Release `out` in any case. */
PAWL_MUST_CHECK enum pawl_err pawl_assign(struct pawl *pawl,
                                          const struct pawl_assignment *assignment,
                                          struct pawl_jobs *out, struct pawl_diag *diag);
/* pending -> available, at once instead of when the reservation lapses. STALE, NOT_FOUND. */
PAWL_MUST_CHECK enum pawl_err pawl_unroute(struct pawl *pawl, const struct pawl_routed *routed,
                                           struct pawl_diag *diag);

/* ---- reports ---- */

/* active -> completed. `result` is JSON; empty: none. STALE, NOT_FOUND, LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl_complete(struct pawl *pawl, const struct pawl_run *run,
                                            struct pawl_span result, struct pawl_diag *diag);

/* The state of a job after a failed run. */
struct pawl_failed {
    enum pawl_state to;
    int64_t attempt;
    int64_t due_at_ms; /* when it is due again; 0: never */
    int64_t delay_ms;  /* -1 if it does not run again */
};

/* active -> retryable, discarded, expired or available, depending on the job's policy and the
 * report. `out` may be NULL. STALE, NOT_FOUND, LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl_fail(struct pawl *pawl, const struct pawl_run *run,
                                        const struct pawl_report *report, struct pawl_failed *out,
                                        struct pawl_diag *diag);
/* active -> scheduled, or available without a delay; costs no attempt. STALE, NOT_FOUND. */
PAWL_MUST_CHECK enum pawl_err pawl_give_back(struct pawl *pawl, const struct pawl_run *run,
                                             int64_t delay_ms, struct pawl_diag *diag);

struct pawl_extension {
    const struct pawl_run *runs;
    size_t count;     /* 1..PAWL_CLAIM_MAX */
    int64_t lease_ms; /* more than 0; a short one ends the lease soon */
    bool timed;       /* as in struct pawl_claim */
};

/* Extends leases until now + lease_ms, in one commit. `results` has room for `count`; each is OK,
 * STALE (stop that run) or NOT_FOUND. */
PAWL_MUST_CHECK enum pawl_err pawl_extend(struct pawl *pawl, const struct pawl_extension *extension,
                                          enum pawl_err *results, struct pawl_diag *diag);

/* Sets the progress of a job. `value` is 0..1; negative: unchanged; a value below the current one
 * is ignored. `message` may be NULL, `data` is JSON; empty: unchanged. run 0: the active one.
 * STALE, NOT_FOUND, LIMIT. STATE: not active. */
struct pawl_progress {
    double value;
    const char *message;
    struct pawl_span data;
};
PAWL_MUST_CHECK enum pawl_err pawl_progress(struct pawl *pawl, const struct pawl_run *run,
                                            const struct pawl_progress *progress,
                                            struct pawl_diag *diag);
/* Saves `state`, which is JSON, for later runs; empty deletes it. `*sequence` (may be NULL) counts
 * the checkpoints since the last deletion. run 0: any run. STALE, NOT_FOUND, LIMIT. STATE: ended.
 */
PAWL_MUST_CHECK enum pawl_err pawl_checkpoint(struct pawl *pawl, const struct pawl_run *run,
                                              struct pawl_span state, int64_t *sequence,
                                              struct pawl_diag *diag);

/* Adds a line to the job's own log, truncated to 4096 bytes; levels as in struct pawl_log_line. The
 * run is recorded, not checked. NOT_FOUND, ARG. */
PAWL_MUST_CHECK enum pawl_err pawl_log(struct pawl *pawl, const struct pawl_run *run, int32_t level,
                                       const char *text, struct pawl_diag *diag);

/* ---- notices ---- */

/* Called when there may be more jobs to claim. `foreign`: another process changed something, and
 * nothing more is known. Runs on a thread of the library, or on the caller's inside the call that
 * made the change: must return quickly and must not take a lock that is held around calls of pawl;
 * may post. */
typedef void pawl_ready_fn(void *ctx, bool foreign);

/* Sets the watcher; NULL removes it and waits for a call in progress. Works while a node runs. */
PAWL_MUST_CHECK enum pawl_err pawl_watch(struct pawl *pawl, pawl_ready_fn *fn, void *ctx,
                                         struct pawl_diag *diag);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
