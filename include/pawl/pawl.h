/* pawl: an embeddable, durable job scheduler.
 *
 * Open a store, then submit, query and control jobs. A function that changes something returns
 * after the change is on disk. Every function may be called from any thread, and blocks unless it
 * says otherwise. The last argument may be NULL; it is written only on failure.
 *
 * Common errors: ARG (diag.field names the argument), NOMEM, BUSY (another process held the store
 * too long; nothing was changed, try again), FULL, IO, CORRUPT, UNSAFE (an earlier write failed;
 * the store is being reopened and checked), CLOSED. The functions name the other errors that they
 * return. */
#ifndef PAWL_H
#define PAWL_H

#include <pawl/clock.h>
#include <pawl/cron.h>
#include <pawl/error.h>
#include <pawl/flow.h>
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

struct pawl; /* an open store; there is no global state, so a process may open several */

enum pawl_durability {
    PAWL_DURABILITY_FULL = 0, /* every acknowledged change survives a power cut */
    PAWL_DURABILITY_RELAXED   /* survives a killed process; a power cut may lose the last changes */
};

struct pawl_config {
    const char *store; /* "sqlite:PATH", "sqlite::memory:", "postgres://USER@HOST/DATABASE", or a
                          server: "http://HOST:PORT" ["sqlite:pawl.db"] */
    enum pawl_durability durability;
    int64_t busy_timeout_ms;        /* how long to wait for other processes [30000] */
    bool must_exist;                /* do not create the store */
    bool read_only;                 /* open read-only, without write permission, while others may
                                       write. Implies must_exist and no_migrate; every change is
                                       refused: PAWL_ERR_READONLY */
    bool no_migrate;                /* do not upgrade an older schema: PAWL_ERR_SCHEMA */
    bool must_renew;                /* fail if the functions and views for SQL (docs/sql.md) are out
                                       of date and could not be replaced [the store opens, since
                                       nothing else needs them; pawl_schema_get reports them] */
    bool allow_network_fs;          /* allow SQLite on a network file system, which is unsafe */
    const struct pawl_clock *clock; /* [the system's]; borrowed until pawl_close */
    uint64_t seed;                  /* random seed of ids and jitter [from the system] */
    const char *token;              /* for a server that requires one [the one in the URL] */
    const char *ca_file;            /* CA certificates to trust [the system's] */
    /* How processes that share the store wake each other [the store's own channel]:
     * "redis://HOST:PORT" through that Redis server; "postgres://..." for a store on PostgreSQL,
     * through this URL, which may bypass a pooler that the store's URL uses; "none": not at all,
     * each process polls. */
    const char *wake;
};

/* Opens a store; creates or migrates it as needed. The caller owns `*out`: pawl_close it. ARG: a
 * setting, or a password that Redis refuses. SCHEMA: newer than this program, or changed. READONLY:
 * cannot be written. UNSUPPORTED: the scheme, or a network file system. NOT_FOUND: must_exist. */
PAWL_MUST_CHECK enum pawl_err pawl_open(const struct pawl_config *config, struct pawl **out,
                                        struct pawl_diag *diag);
/* Completes the operations in progress and closes the store. NULL is allowed. No other call may be
 * in progress. */
void pawl_close(struct pawl *pawl);

/* ---- text ---- */

/* Writes 36 characters and a NUL. */
void pawl_job_id_text(struct pawl_job_id id, char out[PAWL_JOB_ID_TEXT_BYTES]);
/* Accepts lower and upper case. ARG: not a UUID. */
PAWL_MUST_CHECK enum pawl_err pawl_job_id_parse(const char *text, struct pawl_job_id *out);

/* ---- submit ---- */

/* Submits a job. EXISTS: the given id is taken. DUPLICATE: a business key or unique policy refuses
 * it; the text names the holder. LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl_submit(struct pawl *pawl, const struct pawl_job_spec *spec,
                                          struct pawl_submitted *out, struct pawl_diag *diag);
/* Submits all jobs in one commit, or none. 1..PAWL_BATCH_MAX specs; `out` has room for `count`. If
 * a spec is invalid, the field is "[index].field". */
PAWL_MUST_CHECK enum pawl_err pawl_submit_many(struct pawl *pawl, const struct pawl_job_spec *specs,
                                               size_t count, struct pawl_submitted *out,
                                               struct pawl_diag *diag);
/* Submits a new job like `id`, which has ended; archived ones too. It has the same type, arguments,
 * queue, priority, policies, limits, tags and metadata, is due now, and begins with no attempts;
 * its time to live and deadlines are as long as the original's. Business key and unique policy
 * apply as for any submission; an idempotency key is not copied. The job is read, then the new one
 * is submitted: two steps, not one commit. NOT_FOUND. STATE: it has not ended. Also the errors of
 * pawl_submit. */
PAWL_MUST_CHECK enum pawl_err pawl_rerun(struct pawl *pawl, struct pawl_job_id id,
                                         struct pawl_submitted *out, struct pawl_diag *diag);

/* ---- queries ---- */

/* Reads one job. NOT_FOUND. Release `out` in any case. */
PAWL_MUST_CHECK enum pawl_err pawl_get(struct pawl *pawl, struct pawl_job_id id,
                                       struct pawl_jobs *out, struct pawl_diag *diag);
/* Reads the matching jobs, ordered by time of creation. `page` may be NULL. Release `out` in any
 * case. */
PAWL_MUST_CHECK enum pawl_err pawl_query(struct pawl *pawl, const struct pawl_filter *filter,
                                         const struct pawl_page *page, struct pawl_jobs *out,
                                         struct pawl_diag *diag);
/* Counts the jobs that match. */
PAWL_MUST_CHECK enum pawl_err pawl_count(struct pawl *pawl, const struct pawl_filter *filter,
                                         int64_t *out, struct pawl_diag *diag);
/* Frees the jobs and zeroes the struct, so it may be called again. The other release functions do
 * the same. */
void pawl_jobs_release(struct pawl_jobs *jobs);

/* The first 50 and the last 950 lines of a job's log are kept. */
struct pawl_log_line {
    int64_t number; /* from 1; a gap means that lines were dropped */
    int64_t at_ms;
    int64_t run;
    int32_t level; /* 0 debug, 1 info, 2 warning, 3 error */
    const char *text;
};

/* An audit entry: what an operator did, or pawl itself on a job's behalf. */
struct pawl_audit_entry {
    int64_t at_ms;
    const char *action; /* "cancel", "pause", ... */
    const char *actor;
    const char *reason;
    enum pawl_state from;
    enum pawl_state to;
};

/* A job's full history. Zero-initialise before use. */
struct pawl_story {
    struct pawl_job job;
    const struct pawl_failure *failures; /* oldest first */
    size_t failure_count;
    const struct pawl_log_line *log; /* oldest first */
    size_t log_count;
    const struct pawl_audit_entry *audit; /* oldest first */
    size_t audit_count;
    double progress; /* 0..1; -1: none reported */
    const char *progress_message;
    struct pawl_span progress_data;
    int64_t progress_at_ms;
    int64_t checkpoint_sequence; /* 0: none */
    int64_t checkpoint_at_ms;
    struct pawl_span checkpoint;
    void *owned;
};

/* Reads the full history of a job. NOT_FOUND. Release `out` in any case. */
PAWL_MUST_CHECK enum pawl_err pawl_story_get(struct pawl *pawl, struct pawl_job_id id,
                                             struct pawl_story *out, struct pawl_diag *diag);
/* The history of a job that the caller has read already: out->job is a copy of it and points to the
 * same strings. Empty if the job has since been deleted. Release `out` in any case, before the job.
 */
PAWL_MUST_CHECK enum pawl_err pawl_story_of(struct pawl *pawl, const struct pawl_job *job,
                                            struct pawl_story *out, struct pawl_diag *diag);
void pawl_story_release(struct pawl_story *story);

/* The number of jobs in each state of a queue. Exact: maintained by the commits that move them. */
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
    int64_t next_due_at_ms; /* when the next waiting job is due; 0: none */
    int64_t store_bytes;
    int32_t schema_version;
    void *owned;
};

/* Reads the statistics of all queues. Release `out` in any case. */
PAWL_MUST_CHECK enum pawl_err pawl_stats_get(struct pawl *pawl, struct pawl_stats *out,
                                             struct pawl_diag *diag);
void pawl_stats_release(struct pawl_stats *stats);

/* ---- control ---- */

/* Actor and reason, for the audit entry. Both may be NULL. */
struct pawl_by {
    const char *actor;
    const char *reason;
};

/* number, NAME, verb, event of the lifecycle, what it does */
#define PAWL_CONTROLS(X)                                                                           \
    X(1, CANCEL, "cancel", CANCEL, "stop a job that has not ended")                                \
    X(2, PAUSE, "pause", PAUSE, "hold back a waiting or discarded job")                            \
    X(3, RESUME, "resume", RESUME, "return a paused job to its former state")                      \
    X(4, RETRY, "retry", REVIVE, "run a discarded, cancelled or expired job again")                \
    X(5, DISCARD, "discard", EXHAUST, "discard a running or retryable job")                        \
    X(6, ACTIVATE, "activate", ACTIVATE, "make a held job available")                              \
    X(7, SKIP, "skip", SKIP, "end a job as skipped, without running it")                           \
    X(8, PROMOTE, "promote", DUE, "run a scheduled or retryable job now")

#define X(number, name, ...) PAWL_CONTROL_##name = number,
enum pawl_control { PAWL_CONTROL_NONE = 0, PAWL_CONTROLS(X) PAWL_CONTROL_END };
#undef X

const char *pawl_control_name(enum pawl_control control);

/* Moves one job. `*to` (may be NULL) is its state afterwards. Pausing a paused job succeeds and
 * changes nothing. A promoted job is due now and keeps its attempts, while RETRY starts a new
 * series. NOT_FOUND. STATE: the job's state does not allow the move; the text names the state and
 * `*to` is set. DUPLICATE: another job has since taken the business key of a retried job. */
PAWL_MUST_CHECK enum pawl_err pawl_control(struct pawl *pawl, struct pawl_job_id id,
                                           enum pawl_control control, const struct pawl_by *by,
                                           enum pawl_state *to, struct pawl_diag *diag);

struct pawl_controlled {
    enum pawl_state from, to;
};

/* The same for one run: STALE if that is not the job's current run. For workers that end their own
 * jobs. run 0: in any run. `out` (may be NULL) is set on success, and on STATE: then both members
 * are the current state. */
PAWL_MUST_CHECK enum pawl_err pawl_control_run(struct pawl *pawl, const struct pawl_run *run,
                                               enum pawl_control control, const struct pawl_by *by,
                                               struct pawl_controlled *out, struct pawl_diag *diag);
/* Moves up to `limit` (1..PAWL_BULK_MAX) matching jobs whose state allows it, oldest first, in one
 * commit. `*moved` is their number. DUPLICATE: a key conflict; then none has moved. */
PAWL_MUST_CHECK enum pawl_err pawl_control_many(struct pawl *pawl, const struct pawl_filter *filter,
                                                enum pawl_control control, int64_t limit,
                                                const struct pawl_by *by, int64_t *moved,
                                                struct pawl_diag *diag);
/* Deletes a job that has ended. NOT_FOUND. STATE: it has not ended. */
PAWL_MUST_CHECK enum pawl_err pawl_delete(struct pawl *pawl, struct pawl_job_id id,
                                          const struct pawl_by *by, struct pawl_diag *diag);
/* Deletes up to `limit` (1..PAWL_BULK_MAX) matching jobs that have ended. */
PAWL_MUST_CHECK enum pawl_err pawl_delete_many(struct pawl *pawl, const struct pawl_filter *filter,
                                               int64_t limit, const struct pawl_by *by,
                                               int64_t *deleted, struct pawl_diag *diag);
/* Changes the priority of a waiting job. `*before` may be NULL. NOT_FOUND, STATE. */
PAWL_MUST_CHECK enum pawl_err pawl_priority(struct pawl *pawl, struct pawl_job_id id,
                                            int32_t priority, const struct pawl_by *by,
                                            int32_t *before, struct pawl_diag *diag);
/* Pauses or resumes a queue: no jobs of a paused queue are claimed. Jobs are still accepted, and
 * running ones continue. */
PAWL_MUST_CHECK enum pawl_err pawl_queue_pause(struct pawl *pawl, const char *queue, bool paused,
                                               const struct pawl_by *by, struct pawl_diag *diag);
/* Removes an empty queue from the list, and resumes it; archived jobs stay and can be read. A job
 * submitted to the queue, even concurrently, creates it again. NOT_FOUND. STATE: the queue has
 * jobs. */
PAWL_MUST_CHECK enum pawl_err pawl_queue_delete(struct pawl *pawl, const char *queue,
                                                const struct pawl_by *by, struct pawl_diag *diag);

/* ---- nodes and locks ---- */

struct pawl_node {
    const char *name;
    const char *info;      /* the node's own description, as stored */
    int64_t started_at_ms; /* grows with every node of that name, and fences its heartbeats */
    int64_t heartbeat_at_ms;
    int64_t active; /* jobs that it holds now */
    enum pawl_node_state state;
    /* parsed from `info`; 0 and "" if it has none: */
    int64_t lease_ms; /* how long it may send no heartbeat; if not given, 30000 is assumed */
    int32_t workers;
    int64_t pid;
    const char *host;
    const char *version;
};

struct pawl_nodes {
    struct pawl_node *at;
    size_t count;
    int64_t now_ms; /* the store's clock, to compare heartbeats with */
    void *owned;
};

/* Reads all nodes, newest heartbeat first. Release `out` in any case. */
PAWL_MUST_CHECK enum pawl_err pawl_nodes_get(struct pawl *pawl, struct pawl_nodes *out,
                                             struct pawl_diag *diag);
void pawl_nodes_release(struct pawl_nodes *nodes);
/* Registers a node that this library does not run (pawl_start does all of this itself) under
 * `node->name`, with `node->info` (may be NULL). Its heartbeats must carry `*started_at_ms`. HELD:
 * a node of that name is alive; the diagnosis says since when. If the previous node of that name is
 * dead, the name is taken over: its jobs become available, its locks are free, and its heartbeats
 * are refused. An `info` that is a JSON object with a number "lease_ms" declares after how long
 * without heartbeats the new node counts as dead. ARG, LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl_node_join(struct pawl *pawl, const struct pawl_node *node,
                                             int64_t *started_at_ms, struct pawl_diag *diag);
/* The result of a heartbeat. */
struct pawl_census {
    int64_t alive;    /* number of live nodes, including this one */
    int64_t given_up; /* nodes that it found dead: pawl_upkeep_turn makes their jobs available */
    int64_t ready;    /* approximate number of available jobs */
    int64_t silent_at_ms; /* when the next of the others would count as dead; 0: there is none */
};

/* Sends a heartbeat: uses `name`, `info` (may be NULL) and `started_at_ms`; a node that started
 * later takes the name over. STALE: one has, or the node counts as dead: stop, or join again. ARG,
 * LIMIT. `out` may be NULL. */
PAWL_MUST_CHECK enum pawl_err pawl_node_put(struct pawl *pawl, const struct pawl_node *node,
                                            struct pawl_census *out, struct pawl_diag *diag);
/* Removes a node that has stopped, and releases its locks. `started_at_ms` 0: any. NOT_FOUND. */
PAWL_MUST_CHECK enum pawl_err pawl_node_drop(struct pawl *pawl, const char *name,
                                             int64_t started_at_ms, struct pawl_diag *diag);

struct pawl_lock {
    const char *name;
    const char *owner;
    int64_t fence; /* grows with every grant: pass it to what the lock protects */
    int64_t locked_at_ms;
    int64_t expires_at_ms;
};

struct pawl_locks {
    struct pawl_lock *at;
    size_t count;
    int64_t now_ms;
    void *owned;
};

/* Reads all locks, by name; also expired ones that have not been taken again. Release `out` in any
 * case. */
PAWL_MUST_CHECK enum pawl_err pawl_locks_get(struct pawl *pawl, struct pawl_locks *out,
                                             struct pawl_diag *diag);
void pawl_locks_release(struct pawl_locks *locks);
/* Takes a lock that is free, expired or already held by `owner`, for `ttl_ms` > 0. HELD: another
 * owner has it. */
PAWL_MUST_CHECK enum pawl_err pawl_lock_try(struct pawl *pawl, const char *name, const char *owner,
                                            int64_t ttl_ms, int64_t *fence, struct pawl_diag *diag);
/* Extends a lock. STALE: not held by `owner`, or expired. */
PAWL_MUST_CHECK enum pawl_err pawl_lock_renew(struct pawl *pawl, const char *name,
                                              const char *owner, int64_t ttl_ms,
                                              struct pawl_diag *diag);
/* Releases a lock. STALE: not held by `owner`; the lock is unchanged. */
PAWL_MUST_CHECK enum pawl_err pawl_lock_release(struct pawl *pawl, const char *name,
                                                const char *owner, struct pawl_diag *diag);

/* ---- start-up leases ---- */

/* Selects one of several nodes that start, or wake, at once, for destructive or expensive work that
 * must be done once. OK: this node does it, and no other node gets OK for `ttl_ms`, even if this
 * one dies first. HELD: another node does it, or has done it within that time; the diagnosis names
 * its host and process. The lock is called "startup.ACTION" and held for this `pawl`. ARG, LIMIT.
 */
PAWL_MUST_CHECK enum pawl_err pawl_startup_try(struct pawl *pawl, const char *action,
                                               int64_t ttl_ms, struct pawl_diag *diag);
/* The work was not done: let the next node try at once. STALE: the lock was not held. */
PAWL_MUST_CHECK enum pawl_err pawl_startup_release(struct pawl *pawl, const char *action,
                                                   struct pawl_diag *diag);

/* ---- settings ---- */

/* Small strings that programs built on pawl keep with the store, by name. The part of a name before
 * the first dot says which program owns it. */
struct pawl_setting {
    const char *name;
    const char *value;
};

struct pawl_settings {
    struct pawl_setting *at;
    size_t count;
    void *owned;
};

/* Reads the settings whose names begin with `prefix`, in order. Release `out` in any case. */
PAWL_MUST_CHECK enum pawl_err pawl_settings_get(struct pawl *pawl, const char *prefix,
                                                struct pawl_settings *out, struct pawl_diag *diag);
void pawl_settings_release(struct pawl_settings *settings);
/* Sets a value; NULL deletes it. LIMIT: a value over 1 MiB. */
PAWL_MUST_CHECK enum pawl_err pawl_setting_put(struct pawl *pawl, const char *name,
                                               const char *value, struct pawl_diag *diag);

/* ---- tokens ---- */

/* A token for a server, as stored. The server defines what the scopes mean. */
struct pawl_token {
    const char *id;
    const char *name;      /* may be "" */
    const char *scopes;    /* names, separated by spaces */
    struct pawl_span hash; /* SHA-256 of the secret, which is not stored */
    int64_t created_at_ms;
    int64_t expires_at_ms; /* 0: never */
    int64_t revoked_at_ms; /* 0: not revoked */
    int64_t used_at_ms;    /* 0: never */
};

struct pawl_tokens {
    struct pawl_token *at;
    size_t count;
    void *owned;
};

/* Reads all tokens, by id. A remote server returns none. Release `out` in any case. */
PAWL_MUST_CHECK enum pawl_err pawl_tokens_get(struct pawl *pawl, struct pawl_tokens *out,
                                              struct pawl_diag *diag);
void pawl_tokens_release(struct pawl_tokens *tokens);
/* Adds a token, or records that one was revoked or used: only those two instants of an existing
 * token can change, and the first revocation and the last use are kept. ARG, LIMIT. NOT_FOUND: the
 * token does not exist, and no hash was given to add it. UNSUPPORTED: the store is a remote server.
 */
PAWL_MUST_CHECK enum pawl_err pawl_token_put(struct pawl *pawl, const struct pawl_token *token,
                                             struct pawl_diag *diag);

/* ---- schemas of arguments ---- */

/* A schema of jobs' arguments, stored for readers: the store does not apply it. A schema has a URI,
 * or a job type and a version. In arguments NULL means ""; results have no NULL. */
struct pawl_args_schema {
    const char *uri;                  /* "": found by type and version */
    const char *type, *version;       /* "" if it has a URI */
    const char *of_type, *of_version; /* type and version that a schema with a URI describes; may be
                                         "" */
    int64_t created_at_ms;
    struct pawl_span schema; /* JSON */
};

struct pawl_args_schemas {
    struct pawl_args_schema *at;
    size_t count;
    void *owned;
};

/* Selects schemas that have a URI, or those that have a type. */
struct pawl_args_schema_filter {
    bool by_type;
    const char *name; /* URI, or type; NULL: all */
};

/* Reads schemas, ordered by URI, or by type and version as text. Release `out` in any case. */
PAWL_MUST_CHECK enum pawl_err pawl_args_schemas_get(struct pawl *pawl,
                                                    const struct pawl_args_schema_filter *filter,
                                                    struct pawl_args_schemas *out,
                                                    struct pawl_diag *diag);
void pawl_args_schemas_release(struct pawl_args_schemas *schemas);
/* Adds a schema. EXISTS: one with this URI, or with this type and version, exists. ARG. LIMIT: a
 * schema over 1 MiB, a name over 255 bytes. */
PAWL_MUST_CHECK enum pawl_err pawl_args_schema_add(struct pawl *pawl,
                                                   const struct pawl_args_schema *schema,
                                                   struct pawl_diag *diag);
/* Deletes a schema; only its URI, or its type and version, are used. NOT_FOUND. */
PAWL_MUST_CHECK enum pawl_err pawl_args_schema_drop(struct pawl *pawl,
                                                    const struct pawl_args_schema *schema,
                                                    struct pawl_diag *diag);

/* ---- queue configuration ---- */

/* Settings of a queue for servers; the queue need not have been used. The store keeps them and does
 * not apply them. */
struct pawl_queue_config {
    const char *queue;
    struct pawl_span rate_limit; /* JSON, as the server reads it; empty: no limit */
};

struct pawl_queue_configs {
    struct pawl_queue_config *at;
    size_t count;
    void *owned;
};

/* Reads the configuration of a queue, or, if `queue` is NULL, of all queues that have one, by name.
 * Release `out` in any case. */
PAWL_MUST_CHECK enum pawl_err pawl_queue_configs_get(struct pawl *pawl, const char *queue,
                                                     struct pawl_queue_configs *out,
                                                     struct pawl_diag *diag);
void pawl_queue_configs_release(struct pawl_queue_configs *configs);
/* Sets the configuration of a queue. ARG, LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl_queue_config_put(struct pawl *pawl,
                                                    const struct pawl_queue_config *config,
                                                    struct pawl_diag *diag);
/* Deletes the configuration of a queue. NOT_FOUND: it has none. */
PAWL_MUST_CHECK enum pawl_err pawl_queue_config_drop(struct pawl *pawl, const char *queue,
                                                     struct pawl_diag *diag);

/* ---- requests ---- */

/* Records a request with this idempotency key, for `kept_ms`. `fingerprint`, such as a digest,
 * identifies the request: a repeat has the same. OK: the key is new, or the request is a repeat,
 * which does not extend the time. DUPLICATE: another request has used the key. These keys are
 * separate from those of jobs; like those, they are kept after the jobs have been deleted. ARG,
 * LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl_request_note(struct pawl *pawl, const char *key,
                                                const char *fingerprint, int64_t kept_ms,
                                                struct pawl_diag *diag);

/* ---- upkeep ---- */

/* Reports the progress of a long operation. Return nonzero to stop it. */
typedef int pawl_progress_fn(void *ctx, int64_t done, int64_t total);

/* Copies the store to a new file while it is in use. EXISTS: the file exists. CLOSED: `progress`
 * stopped it. */
PAWL_MUST_CHECK enum pawl_err pawl_backup(struct pawl *pawl, const char *path,
                                          pawl_progress_fn *progress, void *ctx,
                                          struct pawl_diag *diag);
/* Checks the file's structure and pawl's own invariants. `report` is called with each finding.
 * CORRUPT: there were findings. */
typedef void pawl_finding_fn(void *ctx, const char *finding);
PAWL_MUST_CHECK enum pawl_err pawl_check(struct pawl *pawl, pawl_finding_fn *report, void *ctx,
                                         struct pawl_diag *diag);

struct pawl_schema {
    int32_t version; /* of the store; 0: it has none yet */
    int32_t newest;  /* the newest that this program knows */
    bool script_old; /* its functions and views for SQL are not this program's; see docs/store.md */
};

/* The kind of store that a URL names. */
struct pawl_store_kind {
    const char *name; /* "sqlite", "postgres", "http" */
    const char *path; /* of its file, as in the URL; NULL: not a file */
    bool served;      /* provided by a database server */
};

/* False: not the URL of a store. `path` points into it. */
bool pawl_store_kind_of(const char *url, struct pawl_store_kind *out);

/* Reads the schema that pawl_open would find, without changing it. NOT_FOUND: the store does not
 * exist. */
PAWL_MUST_CHECK enum pawl_err pawl_schema_get(const struct pawl_config *config,
                                              struct pawl_schema *out, struct pawl_diag *diag);

/* One round of maintenance: fire schedules, make due jobs available, take back lapsed leases,
 * expire, report missed deadlines, archive and purge; each bounded. A node does this itself; this
 * is for programs without a node. */
struct pawl_upkeep {
    int64_t fired; /* jobs made by schedules */
    int64_t promoted, lapsed, expired, missed, archived, purged;
    bool more; /* there is more to do: call again */
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
