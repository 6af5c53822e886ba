/* pawl: a durable job scheduler that you can embed.
 *
 * Open a store, submit jobs, look at them, control them. A call that changes something returns
 * after the change is on disk. Every call may be made from any thread; unless it says otherwise it
 * blocks. The last argument may be NULL; it is written only on failure.
 *
 * Common errors: ARG (diag.field names the argument), NOMEM, BUSY (another process held the store
 * too long; nothing was changed, try again), FULL, IO, CORRUPT, UNSAFE (an earlier write failed;
 * the store is being reopened and checked), CLOSED. Others are named where they can happen. */
#ifndef PAWL_H
#define PAWL_H

#include <pawl/clock.h>
#include <pawl/error.h>
#include <pawl/job.h>
#include <pawl/post.h>
#include <pawl/remote.h>
#include <pawl/state.h>
#include <pawl/work.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

#define PAWL_VERSION "0.1.0"

struct pawl; /* an open store; no global state, so a process may hold several */

enum pawl_durability {
    PAWL_DURABILITY_FULL = 0, /* every answered change survives a power cut */
    PAWL_DURABILITY_RELAXED   /* survives a killed process; a power cut may take the last changes */
};

struct pawl_config {
    const char *store; /* "sqlite:PATH", "sqlite::memory:", "postgres://USER@HOST/DATABASE", or a
                          server: "http://HOST:PORT" ["sqlite:pawl.db"] */
    enum pawl_durability durability;
    int64_t busy_timeout_ms;        /* how long to wait for other processes [30000] */
    bool must_exist;                /* do not create the store */
    bool read_only;                 /* change nothing, need no permission to: for looking at a store
                                       while others write it. Implies must_exist and no_migrate;
                                       every change is refused: PAWL_ERR_READONLY */
    bool no_migrate;                /* do not bring an older schema up to date: PAWL_ERR_SCHEMA */
    bool must_renew;                /* fail if functions and views for SQL (docs/sql.md) are old and
                                       could not be made anew [the store opens: nothing else needs
                                       them, and pawl_schema_get says that they are old] */
    bool allow_network_fs;          /* SQLite on a network file system is unsafe; insist */
    const struct pawl_clock *clock; /* [the system's]; borrowed until pawl_close */
    uint64_t seed;                  /* random seed of ids and jitter [from the system] */
    const char *token;              /* for a server that asks for one [what the URL says] */
    const char *ca_file;            /* CA certificates to trust [the system's] */
    /* How processes that share the store wake each other [the store's own way]: "redis://HOST:PORT"
     * through that Redis; "postgres://..." for a store on PostgreSQL, through this URL instead of
     * its own, which may lead through a pooler; "none": not at all, each polls. */
    const char *wake;
};

/* Open, and create or migrate as needed. `*out` is given to the caller: pawl_close it.
 * ARG: a setting, or a password that Redis refuses. SCHEMA: newer than this program, or changed.
 * READONLY: cannot be written. UNSUPPORTED: the scheme, or a network file system. NOT_FOUND:
 * must_exist. */
PAWL_MUST_CHECK enum pawl_err pawl_open(const struct pawl_config *config, struct pawl **out,
                                        struct pawl_diag *diag);
/* Finishes what was begun, closes. NULL is fine. No other call may be under way. */
void pawl_close(struct pawl *pawl);

/* ---- text ---- */

/* Writes 36 characters and a NUL. */
void pawl_job_id_text(struct pawl_job_id id, char out[PAWL_JOB_ID_TEXT_BYTES]);
/* Lower or upper case. ARG: not a UUID. */
PAWL_MUST_CHECK enum pawl_err pawl_job_id_parse(const char *text, struct pawl_job_id *out);

/* ---- submit ---- */

/* EXISTS: the chosen id is taken. DUPLICATE: a business key or unique policy refuses it; the text
 * names the holder. LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl_submit(struct pawl *pawl, const struct pawl_job_spec *spec,
                                          struct pawl_submitted *out, struct pawl_diag *diag);
/* All or nothing, one commit. 1..PAWL_BATCH_MAX specs; `out` has room for `count`. The field of a
 * failing one is "[index].field". */
PAWL_MUST_CHECK enum pawl_err pawl_submit_many(struct pawl *pawl, const struct pawl_job_spec *specs,
                                               size_t count, struct pawl_submitted *out,
                                               struct pawl_diag *diag);
/* Submit a new job like `id`, which has ended; archived ones too. It has the same type, arguments,
 * queue, priority, policies, limits, tags and metadata, is due now, and begins with no attempts; a
 * time to live and deadlines are as long as they were. Business key and unique policy hold as for
 * any submit, an idempotency key is not taken along. The job is read, then the new one submitted:
 * two steps, not one commit. NOT_FOUND. STATE: it has not ended. And what pawl_submit may answer.
 */
PAWL_MUST_CHECK enum pawl_err pawl_rerun(struct pawl *pawl, struct pawl_job_id id,
                                         struct pawl_submitted *out, struct pawl_diag *diag);

/* ---- look ---- */

/* NOT_FOUND. Release `out` in any case. */
PAWL_MUST_CHECK enum pawl_err pawl_get(struct pawl *pawl, struct pawl_job_id id,
                                       struct pawl_jobs *out, struct pawl_diag *diag);
/* Jobs that match, by time of creation. `page` may be NULL. Release `out` in any case. */
PAWL_MUST_CHECK enum pawl_err pawl_query(struct pawl *pawl, const struct pawl_filter *filter,
                                         const struct pawl_page *page, struct pawl_jobs *out,
                                         struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl_count(struct pawl *pawl, const struct pawl_filter *filter,
                                         int64_t *out, struct pawl_diag *diag);
/* Safe to call again; leaves zeros. */
void pawl_jobs_release(struct pawl_jobs *jobs);

/* Of a job's log the first 50 and the last 950 lines are kept. */
struct pawl_log_line {
    int64_t number; /* from 1; where numbers are missing, lines were left out */
    int64_t at_ms;
    int64_t run;
    int32_t level; /* 0 debug, 1 info, 2 warning, 3 error */
    const char *text;
};

/* One deed of an operator, or of pawl itself on a job's behalf. */
struct pawl_deed {
    int64_t at_ms;
    const char *action; /* "cancel", "pause", ... */
    const char *actor;
    const char *reason;
    enum pawl_state from;
    enum pawl_state to;
};

/* Everything that is known of one job. Zero-initialise before use. */
struct pawl_story {
    struct pawl_job job;
    const struct pawl_failure *failures; /* oldest first */
    size_t failure_count;
    const struct pawl_log_line *log; /* oldest first */
    size_t log_count;
    const struct pawl_deed *deeds; /* oldest first */
    size_t deed_count;
    double progress; /* 0..1; -1: none reported */
    const char *progress_message;
    struct pawl_span progress_data;
    int64_t progress_at_ms;
    int64_t checkpoint_sequence; /* 0: none */
    int64_t checkpoint_at_ms;
    struct pawl_span checkpoint;
    void *owned;
};

/* NOT_FOUND. Release `out` in any case. */
PAWL_MUST_CHECK enum pawl_err pawl_story_get(struct pawl *pawl, struct pawl_job_id id,
                                             struct pawl_story *out, struct pawl_diag *diag);
/* The story of a job that is at hand, which is not read again: out->job is a copy of it and points
 * where it points. Empty when it is gone meanwhile. Release `out` in any case, before the job. */
PAWL_MUST_CHECK enum pawl_err pawl_story_of(struct pawl *pawl, const struct pawl_job *job,
                                            struct pawl_story *out, struct pawl_diag *diag);
void pawl_story_release(struct pawl_story *story);

/* How many jobs of each state a queue holds. Exact: counted in the commits that move them. */
struct pawl_queue_stats {
    const char *queue;
    bool paused;
    int64_t created_at_ms; /* when it was first used */
    int64_t count[PAWL_STATE_END];
    int64_t archived;
};

struct pawl_stats {
    struct pawl_queue_stats *queues; /* by name */
    size_t queue_count;
    int64_t count[PAWL_STATE_END]; /* over all queues */
    int64_t archived;
    int64_t next_due_at_ms; /* when the next waiting job is due; 0: none waits */
    int64_t store_bytes;
    int32_t schema_version;
    void *owned;
};

/* Release `out` in any case. */
PAWL_MUST_CHECK enum pawl_err pawl_stats_get(struct pawl *pawl, struct pawl_stats *out,
                                             struct pawl_diag *diag);
void pawl_stats_release(struct pawl_stats *stats);

/* ---- control ---- */

/* Who does it and why, for the audit. Both may be NULL. */
struct pawl_by {
    const char *actor;
    const char *reason;
};

/* number, NAME, verb, event of the lifecycle, what it does */
#define PAWL_CONTROLS(X)                                                                           \
    X(1, CANCEL, "cancel", CANCEL, "stop a job that has not ended")                                \
    X(2, PAUSE, "pause", PAUSE, "hold back a waiting or discarded job")                            \
    X(3, RESUME, "resume", RESUME, "put a paused job back where it was")                           \
    X(4, RETRY, "retry", REVIVE, "run a discarded, cancelled or expired job again")                \
    X(5, DISCARD, "discard", EXHAUST, "give up a running or retrying job")                         \
    X(6, ACTIVATE, "activate", ACTIVATE, "make a held job available")                              \
    X(7, SKIP, "skip", SKIP, "end a job as skipped, without running it")                           \
    X(8, PROMOTE, "promote", DUE, "run a scheduled or retryable job now")

#define X(number, name, ...) PAWL_CONTROL_##name = number,
enum pawl_control { PAWL_CONTROL_NONE = 0, PAWL_CONTROLS(X) PAWL_CONTROL_END };
#undef X

const char *pawl_control_name(enum pawl_control control);

/* Move one job. `*to` (may be NULL) is the state it is in afterwards. Pausing a paused job is fine
 * and changes nothing. A promoted job is due now; its attempts go on counting, where RETRY begins a
 * new series.
 * NOT_FOUND. STATE: the job's state does not allow it; the text names the state and `*to` is set.
 * DUPLICATE: a retried job's business key has been taken meanwhile. */
PAWL_MUST_CHECK enum pawl_err pawl_control(struct pawl *pawl, struct pawl_job_id id,
                                           enum pawl_control control, const struct pawl_by *by,
                                           enum pawl_state *to, struct pawl_diag *diag);

struct pawl_controlled {
    enum pawl_state from, to;
};

/* The same for one run: STALE when the job is not in that run any more. For workers that end their
 * own jobs. run 0: whichever state it is in. `out` (may be NULL) is set on success, and on STATE:
 * then both are the state it is in. */
PAWL_MUST_CHECK enum pawl_err pawl_control_run(struct pawl *pawl, const struct pawl_run *run,
                                               enum pawl_control control, const struct pawl_by *by,
                                               struct pawl_controlled *out, struct pawl_diag *diag);
/* Move up to `limit` (1..PAWL_BULK_MAX) matching jobs whose state allows it, oldest first, in one
 * commit. `*moved` is how many. DUPLICATE: a key clash; then nothing moved. */
PAWL_MUST_CHECK enum pawl_err pawl_control_many(struct pawl *pawl, const struct pawl_filter *filter,
                                                enum pawl_control control, int64_t limit,
                                                const struct pawl_by *by, int64_t *moved,
                                                struct pawl_diag *diag);
/* Forget a job that has ended. NOT_FOUND, STATE: it has not ended. */
PAWL_MUST_CHECK enum pawl_err pawl_delete(struct pawl *pawl, struct pawl_job_id id,
                                          const struct pawl_by *by, struct pawl_diag *diag);
/* Forget up to `limit` (1..PAWL_BULK_MAX) matching jobs that have ended. */
PAWL_MUST_CHECK enum pawl_err pawl_delete_many(struct pawl *pawl, const struct pawl_filter *filter,
                                               int64_t limit, const struct pawl_by *by,
                                               int64_t *deleted, struct pawl_diag *diag);
/* Change the priority of a job that waits. `*before` may be NULL. NOT_FOUND, STATE. */
PAWL_MUST_CHECK enum pawl_err pawl_priority(struct pawl *pawl, struct pawl_job_id id,
                                            int32_t priority, const struct pawl_by *by,
                                            int32_t *before, struct pawl_diag *diag);
/* Stop or let workers take jobs from a queue. Jobs are still accepted and running ones go on. */
PAWL_MUST_CHECK enum pawl_err pawl_queue_pause(struct pawl *pawl, const char *queue, bool paused,
                                               const struct pawl_by *by, struct pawl_diag *diag);
/* Take a queue without jobs off the list, and resume it; archived jobs stay and may be looked at. A
 * job that is submitted to it, also meanwhile, brings it back. NOT_FOUND; STATE: jobs are left. */
PAWL_MUST_CHECK enum pawl_err pawl_queue_delete(struct pawl *pawl, const char *queue,
                                                const struct pawl_by *by, struct pawl_diag *diag);

/* ---- nodes and locks ---- */

struct pawl_node {
    const char *name;
    const char *info;      /* what it says of itself, as it is kept */
    int64_t started_at_ms; /* grows with every node of that name, and fences its heartbeats */
    int64_t heartbeat_at_ms;
    int64_t active; /* jobs it holds now */
    enum pawl_node_state state;
    /* read from `info`; 0 and "" where it does not say: */
    int64_t lease_ms; /* how long it may be silent; without its word 30000 is assumed */
    int32_t workers;
    int64_t pid;
    const char *host;
    const char *version;
};

struct pawl_nodes {
    struct pawl_node *at;
    size_t count;
    int64_t now_ms; /* the store's clock: what a heartbeat is to be compared with */
    void *owned;
};

/* Newest heartbeat first. Release `out` in any case. */
PAWL_MUST_CHECK enum pawl_err pawl_nodes_get(struct pawl *pawl, struct pawl_nodes *out,
                                             struct pawl_diag *diag);
void pawl_nodes_release(struct pawl_nodes *nodes);
/* For nodes that this library does not run (pawl_start does all of this by itself). A node begins
 * under `node->name`, with `node->info` (may be NULL). `*started_at_ms` is the number that its
 * heartbeats must carry. HELD: a node of that name is alive; the diagnosis says since when. If one
 * fell silent, its name is taken over: its jobs become available, its locks are free, and its
 * heartbeats are refused. An `info` that is a JSON object with a number "lease_ms" asks to be given
 * up in the same way after that much silence. ARG, LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl_node_join(struct pawl *pawl, const struct pawl_node *node,
                                             int64_t *started_at_ms, struct pawl_diag *diag);
/* What a heartbeat learns. */
struct pawl_census {
    int64_t alive;    /* nodes, itself included */
    int64_t given_up; /* nodes that it found silent: pawl_upkeep_turn makes their jobs available */
    int64_t ready;    /* about how many jobs are available */
    int64_t silent_at_ms; /* when the next of the others would fall silent; 0: there is none */
};

/* A heartbeat: `name`, `info` (may be NULL) and `started_at_ms` count; one that started later takes
 * the name over. STALE: one has, or the node was given up: stop, or join again. ARG, LIMIT. `out`
 * may be NULL. */
PAWL_MUST_CHECK enum pawl_err pawl_node_put(struct pawl *pawl, const struct pawl_node *node,
                                            struct pawl_census *out, struct pawl_diag *diag);
/* It has stopped: its locks are free. `started_at_ms` 0: whichever started. NOT_FOUND. */
PAWL_MUST_CHECK enum pawl_err pawl_node_drop(struct pawl *pawl, const char *name,
                                             int64_t started_at_ms, struct pawl_diag *diag);

struct pawl_lock {
    const char *name;
    const char *owner;
    int64_t fence; /* grows with every grant: hand it to what the lock protects */
    int64_t locked_at_ms;
    int64_t expires_at_ms;
};

struct pawl_locks {
    struct pawl_lock *at;
    size_t count;
    int64_t now_ms;
    void *owned;
};

/* By name; expired ones too, until they are taken again. Release `out` in any case. */
PAWL_MUST_CHECK enum pawl_err pawl_locks_get(struct pawl *pawl, struct pawl_locks *out,
                                             struct pawl_diag *diag);
void pawl_locks_release(struct pawl_locks *locks);
/* Take a lock that is free, expired or already ours, for `ttl_ms` > 0. HELD: another has it. */
PAWL_MUST_CHECK enum pawl_err pawl_lock_try(struct pawl *pawl, const char *name, const char *owner,
                                            int64_t ttl_ms, int64_t *fence, struct pawl_diag *diag);
/* STALE: not ours, or expired. */
PAWL_MUST_CHECK enum pawl_err pawl_lock_renew(struct pawl *pawl, const char *name,
                                              const char *owner, int64_t ttl_ms,
                                              struct pawl_diag *diag);
/* STALE: not ours; it stays as it is. */
PAWL_MUST_CHECK enum pawl_err pawl_lock_release(struct pawl *pawl, const char *name,
                                                const char *owner, struct pawl_diag *diag);

/* ---- start-up leases ---- */

/* What only one of the nodes that start, or wake, at once should do: destructive or expensive work
 * that is harmless once and wasted twice. OK: it is ours to do, and no other node gets OK for
 * `ttl_ms`, even if we die first. HELD: another does it, or has done it within its time; the
 * diagnosis names its host and process. A lock "startup.ACTION", held for this `pawl`; ARG,
 * LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl_startup_try(struct pawl *pawl, const char *action,
                                               int64_t ttl_ms, struct pawl_diag *diag);
/* It was not done after all: let the next one try at once. STALE: it was not ours. */
PAWL_MUST_CHECK enum pawl_err pawl_startup_release(struct pawl *pawl, const char *action,
                                                   struct pawl_diag *diag);

/* ---- settings ---- */

/* Small texts that programs built on pawl keep with the store, by name: a name's first part, up to
 * a dot, tells whose it is. */
struct pawl_setting {
    const char *name;
    const char *value;
};

struct pawl_settings {
    struct pawl_setting *at;
    size_t count;
    void *owned;
};

/* Names that begin with `prefix`, in order. Release `out` in any case. */
PAWL_MUST_CHECK enum pawl_err pawl_settings_get(struct pawl *pawl, const char *prefix,
                                                struct pawl_settings *out, struct pawl_diag *diag);
void pawl_settings_release(struct pawl_settings *settings);
/* NULL forgets it. LIMIT: a value over a MiB. */
PAWL_MUST_CHECK enum pawl_err pawl_setting_put(struct pawl *pawl, const char *name,
                                               const char *value, struct pawl_diag *diag);

/* ---- tokens ---- */

/* Who may use a server, as the store keeps it. What the scopes mean is the server's. */
struct pawl_token {
    const char *id;
    const char *name;      /* may be "" */
    const char *scopes;    /* names, with a blank between two of them */
    struct pawl_span hash; /* SHA-256 of the secret, which is kept nowhere */
    int64_t created_at_ms;
    int64_t expires_at_ms; /* 0: never */
    int64_t revoked_at_ms; /* 0: it was not */
    int64_t used_at_ms;    /* 0: never */
};

struct pawl_tokens {
    struct pawl_token *at;
    size_t count;
    void *owned;
};

/* By id. A store that is a server elsewhere shows none. Release `out` in any case. */
PAWL_MUST_CHECK enum pawl_err pawl_tokens_get(struct pawl *pawl, struct pawl_tokens *out,
                                              struct pawl_diag *diag);
void pawl_tokens_release(struct pawl_tokens *tokens);
/* Add a token, or note that one was revoked or used: of a token that is there only those two
 * instants can change, and the first revocation and the last use stay. ARG, LIMIT. NOT_FOUND: there
 * is none, and no hash to add one with. UNSUPPORTED: the store is a server elsewhere. */
PAWL_MUST_CHECK enum pawl_err pawl_token_put(struct pawl *pawl, const struct pawl_token *token,
                                             struct pawl_diag *diag);

/* ---- upkeep ---- */

/* How far a long piece of work has come. Return nonzero to stop it. */
typedef int pawl_progress_fn(void *ctx, int64_t done, int64_t total);

/* Copy the store to a new file while it is in use. EXISTS: the file is there already. CLOSED:
 * `progress` stopped it. */
PAWL_MUST_CHECK enum pawl_err pawl_backup(struct pawl *pawl, const char *path,
                                          pawl_progress_fn *progress, void *ctx,
                                          struct pawl_diag *diag);
/* Look for damage: the file's structure, and pawl's own invariants. `report` gets each finding.
 * CORRUPT: there were findings. */
typedef void pawl_finding_fn(void *ctx, const char *finding);
PAWL_MUST_CHECK enum pawl_err pawl_check(struct pawl *pawl, pawl_finding_fn *report, void *ctx,
                                         struct pawl_diag *diag);

struct pawl_schema {
    int32_t version; /* of the store; 0: it has none yet */
    int32_t newest;  /* that this program knows */
    bool script_old; /* its functions and views for SQL are not this program's; see docs/store.md */
};

/* What the URL of a store says about it. */
struct pawl_store_kind {
    const char *name; /* "sqlite", "postgres", "http" */
    const char *path; /* of its file, as the URL has it; NULL: it is no file */
    bool served;      /* a database server has it */
};

/* False: no store has such a URL. `path` points into it. */
bool pawl_store_kind_of(const char *url, struct pawl_store_kind *out);

/* What pawl_open would find, without changing it. NOT_FOUND: there is no such store. */
PAWL_MUST_CHECK enum pawl_err pawl_schema_get(const struct pawl_config *config,
                                              struct pawl_schema *out, struct pawl_diag *diag);

/* One turn of the work that needs no worker: make due jobs available, take back lapsed leases,
 * expire, archive and purge; each bounded. What a node does by itself, for programs without one. */
struct pawl_upkeep {
    int64_t promoted, lapsed, expired, archived, purged;
    bool more; /* there is more to do: go on */
};

PAWL_MUST_CHECK enum pawl_err pawl_upkeep_turn(struct pawl *pawl,
                                               const struct pawl_retention *retention,
                                               struct pawl_upkeep *out, struct pawl_diag *diag);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
