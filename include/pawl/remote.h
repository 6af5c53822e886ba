/* Work that is done elsewhere: jobs claimed for workers that pawl does not run itself, and what
 * those workers report. A server for other languages stands on this, and so can a program that has
 * a loop of its own. Each call also has a posting form, see <pawl/post.h>.
 *
 * A claim makes (id, run) the only key with which that run can be extended, finished or given back.
 * A call with an older one gets STALE: the job was taken from that worker, which must stop and
 * write nothing more for it.
 *
 * Some process must take back leases that ran out and make due jobs available: a node (pawl_start;
 * with `workers` -1 it does nothing else), or pawl_upkeep_turn. */
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

/* One run of one job, for its owner. */
struct pawl_run {
    struct pawl_job_id id;
    int64_t run;
};

struct pawl_claim {
    const char *const *queues; /* strictly left to right, best rank first within one */
    size_t queue_count;        /* at least 1 */
    const char *const *types;  /* [every type]; "mail.*" means all that begin with "mail." */
    size_t type_count;
    int64_t limit;      /* 1..PAWL_CLAIM_MAX [1] */
    int64_t bytes_max;  /* of the jobs' arguments together: the claim ends before the job that
                           would exceed it, but brings at least one [no bound] */
    const char *worker; /* whose they will be */
    int64_t lease_ms;   /* for jobs that do not bring their own, from PAWL_LEASE_MIN_MS [30000] */
    bool timed; /* leases end with the job's timeout at the latest: a run that takes longer has
                   failed. For workers that nothing else stops */
};

/* available -> active. Finding nothing is no error. A claim never waits for another: it passes over
 * jobs that others hold for a moment, and its work is bounded. If it then brings fewer than `limit`
 * although more may be there, out->more is set: claim again at once if it brought some, else a few
 * milliseconds later. If it is not set, nothing was left, or `limit` was reached. Release `out` in
 * any case. */
PAWL_MUST_CHECK enum pawl_err pawl_claim(struct pawl *pawl, const struct pawl_claim *claim,
                                         struct pawl_jobs *out, struct pawl_diag *diag);
/* active -> completed. `result` is JSON; empty: none. STALE, NOT_FOUND, LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl_complete(struct pawl *pawl, const struct pawl_run *run,
                                            struct pawl_span result, struct pawl_diag *diag);

/* What became of a failed run's job. */
struct pawl_failed {
    enum pawl_state to;
    int64_t attempt;
    int64_t due_at_ms; /* when it is due again; 0: never */
    int64_t delay_ms;  /* -1 when it does not run again */
};

/* active -> retryable, discarded, expired or available, as the job's policy and the report say.
 * `out` may be NULL. STALE, NOT_FOUND, LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl_fail(struct pawl *pawl, const struct pawl_run *run,
                                        const struct pawl_report *report, struct pawl_failed *out,
                                        struct pawl_diag *diag);
/* active -> scheduled, or available without a delay; charges nothing. STALE, NOT_FOUND. */
PAWL_MUST_CHECK enum pawl_err pawl_give_back(struct pawl *pawl, const struct pawl_run *run,
                                             int64_t delay_ms, struct pawl_diag *diag);

struct pawl_extension {
    const struct pawl_run *runs;
    size_t count;     /* 1..PAWL_CLAIM_MAX */
    int64_t lease_ms; /* more than 0; a short one ends the lease soon */
    bool timed;       /* as in struct pawl_claim */
};

/* Leases until now + lease_ms, in one commit. `results` has room for `count`; each is OK, STALE
 * (stop it) or NOT_FOUND. */
PAWL_MUST_CHECK enum pawl_err pawl_extend(struct pawl *pawl, const struct pawl_extension *extension,
                                          enum pawl_err *results, struct pawl_diag *diag);

/* `value` 0..1, negative: keep what is there; a smaller one than before is ignored. `message` may
 * be NULL, `data` is JSON, empty: keep. run 0: whichever is active. STALE, NOT_FOUND, STATE: not
 * active, LIMIT. */
struct pawl_progress {
    double value;
    const char *message;
    struct pawl_span data;
};
PAWL_MUST_CHECK enum pawl_err pawl_progress(struct pawl *pawl, const struct pawl_run *run,
                                            const struct pawl_progress *progress,
                                            struct pawl_diag *diag);
/* Keep `state`, which is JSON, for later runs; empty: forget it. `*sequence` (may be NULL) counts
 * what was kept since it was last forgotten. run 0: in any run. STALE, NOT_FOUND, STATE: ended,
 * LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl_checkpoint(struct pawl *pawl, const struct pawl_run *run,
                                              struct pawl_span state, int64_t *sequence,
                                              struct pawl_diag *diag);

/* A line of the job's own log, cut to 4096 bytes; levels as in struct pawl_log_line. The run is
 * noted, not checked. NOT_FOUND, ARG. */
PAWL_MUST_CHECK enum pawl_err pawl_log(struct pawl *pawl, const struct pawl_run *run, int32_t level,
                                       const char *text, struct pawl_diag *diag);

/* ---- when to look again ---- */

/* There may be more to claim than before. `foreign`: another process changed something, and nothing
 * more is known. On a thread of the library's, or on yours inside the call that made the change:
 * must be short and take no lock that is held around calls of pawl; may post. */
typedef void pawl_ready_fn(void *ctx, bool foreign);

/* One watcher; NULL ends it and waits for a call under way. Works while a node runs. */
PAWL_MUST_CHECK enum pawl_err pawl_watch(struct pawl *pawl, pawl_ready_fn *fn, void *ctx,
                                         struct pawl_diag *diag);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
