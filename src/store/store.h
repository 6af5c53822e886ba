/* The store: where jobs are kept, and the only way to change them.
 *
 * A change is an operation (struct pawl__op) posted to the inbox. The committer thread takes all
 * that waits there (bounded), has the backend apply it in ONE transaction, and answers each after
 * the commit. An operation that loses a race or breaks a rule fails alone, with its own `err`. If
 * the transaction itself fails, all of its operations get that error and none of them happened;
 * only after IO, when the commit itself could not be synced, may they turn out to have happened
 * when the store has been reopened.
 *
 * Reads run on the calling thread, on connections of their own, and see what is committed.
 *
 * Who waits for a lone operation may be let commit it himself.
 *
 * Everything here may be called from any thread. */
#ifndef PAWL_STORE_H
#define PAWL_STORE_H

#include "base/arena.h"
#include "lifecycle/lifecycle.h"
#include "store/flows.h"
#include "store/intake.h"
#include "store/schedules.h"

#include <pawl/pawl.h>

struct pawl__store;

enum {
    PAWL__COMMIT_WEIGHT_MAX = 4096, /* rows one transaction may touch, roughly */
    PAWL__CRASHES_MAX = 3,          /* lapsed leases before a job is taken for a poison pill */
    PAWL__FAILURES_KEPT = 100,      /* failed attempts remembered per job */
    PAWL__LOG_FIRST_KEPT = 50,      /* log lines remembered per job: from its beginning */
    PAWL__LOG_LAST_KEPT = 950,      /* and from its end */
    PAWL__LOG_LINE_BYTES_MAX = 4096,
    PAWL__RESULT_BYTES_MAX = 1024 * 1024,
    PAWL__CHECKPOINT_BYTES_MAX = 1024 * 1024,
    PAWL__ERROR_BYTES_MAX = 1024 * 1024,
    PAWL__MAINTENANCE_MAX = 1000 /* jobs that one sweep takes */
};

/* ---- operations ---- */

/* NAME, "text", weight: roughly how many rows `op` touches, and what a store that is a server
 * elsewhere does with it: SENT: the server does it, in its form in wire/ops.h; READIES: the same,
 * and afterwards there may be more to claim; SPLIT: likewise, in one of several forms; UPKEEP: the
 * server does such work by itself; LOCAL: it is refused. Add here, in the union below, and what
 * CONTRIBUTING.md says: "a new operation". */
/* clang-format off */
#define PAWL__OPS(X)                                                                               \
    X(SUBMIT,       "submit",        op->submit.count, READIES)                                    \
    X(CLAIM,        "claim",         op->claim.limit,  SENT)                                       \
    X(ROUTE,        "route",         op->claim.limit,  SENT)                                       \
    X(ASSIGN,       "assign",        1,                SENT)                                       \
    X(UNROUTE,      "unroute",       1,                READIES)                                    \
    X(COMPLETE,     "complete",      1,                SENT)                                       \
    X(FAIL,         "fail",          1,                READIES)                                    \
    X(SNOOZE,       "snooze",        1,                READIES)                                    \
    X(EXTEND,       "extend",        op->extend.count, SENT)                                       \
    X(CONTROL,      "control",       1,                READIES)                                    \
    X(BULK,         "bulk",          op->bulk.limit,   READIES)                                    \
    X(PRIORITY,     "priority",      1,                SENT)                                       \
    X(DELETE,       "delete",        1,                SENT)                                       \
    X(PROGRESS,     "progress",      1,                SENT)                                       \
    X(CHECKPOINT,   "checkpoint",    1,                SENT)                                       \
    X(LOG,          "log",           1,                SENT)                                       \
    X(PROMOTE,      "promote",       op->sweep.limit,  UPKEEP)                                     \
    X(LAPSE,        "lapse",         op->sweep.limit,  UPKEEP)                                     \
    X(EXPIRE,       "expire",        op->sweep.limit,  UPKEEP)                                     \
    X(ARCHIVE,      "archive",       op->retire.limit, UPKEEP)                                     \
    X(PURGE,        "purge",         op->retire.limit, UPKEEP)                                     \
    X(DEADLINE,     "deadline",      op->sweep.limit,  UPKEEP)                                     \
    X(SETTLE,       "settle",        op->sweep.limit,  UPKEEP)                                     \
    X(FLOW_SIGNAL,  "flow_signal",   1,                READIES)                                    \
    X(FLOW_CONTROL, "flow_control",  PAWL__MAINTENANCE_MAX, READIES)                               \
    X(FLOW_SEAL,    "flow_seal",     1,                READIES)                                    \
    X(NODE_JOIN,    "node_join",     1,                SENT)                                       \
    X(NODE_PUT,     "node_put",      1,                SENT)                                       \
    X(NODE_DROP,    "node_drop",     1,                SENT)                                       \
    X(LOCK_TRY,     "lock_try",      1,                SENT)                                       \
    X(LOCK_RENEW,   "lock_renew",    1,                SENT)                                       \
    X(LOCK_RELEASE, "lock_release",  1,                SENT)                                       \
    X(SETTING_PUT,  "setting_put",   1,                SENT)                                       \
    X(TOKEN_PUT,    "token_put",     1,                LOCAL)                                      \
    X(SCHEMA_ADD,   "schema_add",    1,                SENT)                                       \
    X(SCHEMA_DROP,  "schema_drop",   1,                SENT)                                       \
    X(CONFIG_PUT,   "config_put",    1,                SENT)                                       \
    X(CONFIG_DROP,  "config_drop",   1,                SENT)                                       \
    X(REQUEST_NOTE, "request_note",  1,                SENT)                                       \
    X(QUEUE_PAUSE,  "queue_pause",   1,                READIES)                                    \
    X(FIRE,         "fire",          op->sweep.limit,  UPKEEP)                                     \
    X(SCHEDULE_PUT, "schedule_put",  1,                SENT)                                      \
    X(SCHEDULE_CONTROL, "schedule_control", 1,         SPLIT)                                      \
    X(SCHEDULE_DROP, "schedule_drop", 1,               READIES)
/* clang-format on */

#define X(name, ...) PAWL__OP_##name,
enum pawl__op_kind { PAWL__OPS(X) PAWL__OP_END };
#undef X

/* A key that jobs may hold; `digest` is over the kind and the key, so kinds never clash. One
 * mechanism for all kinds: a newcomer conflicts with a holder whose state is in the newcomer's
 * `states` and which is younger than `period_ms`. Of the holders that have ended the sixteen newest
 * are remembered. */
enum pawl__key_kind { PAWL__KEY_IDEMPOTENCY = 1, PAWL__KEY_BUSINESS = 2, PAWL__KEY_UNIQUE = 3 };

#define PAWL__KEYS_MAX 3

struct pawl__key {
    enum pawl__key_kind kind;
    uint8_t digest[16];
    uint32_t states;   /* IDEMPOTENCY: ignored, any state and even a purged job conflicts */
    int64_t period_ms; /* IDEMPOTENCY: how long the key is kept; 0: for ever, any age */
    enum pawl_conflict on_conflict;
};

/* A digest is the first 16 bytes of SHA-256 over a byte for the kind of key and then, for
 * idempotency and business keys, the key's text; for a unique policy, the job's fingerprint
 * (lifecycle.h).
 *
 * The key of a checked unique policy. `scratch` and `buf` are used on the way. ARG: args_keys names
 * a member that no object in args has. NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__key_unique(const struct pawl_job_spec *spec,
                                               const struct pawl__payloads *payloads,
                                               struct pawl__arena *scratch, struct pawl__buf *buf,
                                               struct pawl__key *out, struct pawl_diag *diag);

/* A checked spec, ready to be stored. Made by src/api; all borrowed until the op is done. */
struct pawl__new_job {
    struct pawl_job_id id;
    bool fresh_id;                    /* just made up: no other job has it, or ever had */
    struct pawl_job_id arrival;       /* jobs of one rank run in order of this: a UUIDv7 made when
                                         the job came. All zeroes: the id is one */
    const struct pawl_job_spec *spec; /* with type, queue and retry resolved; keys not consulted */
    struct pawl_span tags;            /* as a JSON array; empty: none */
    struct pawl_span retry;           /* as JSON; empty: default */
    struct pawl_span unique;          /* as JSON; empty: none */
    struct pawl_span on_success;      /* follow-ups, as pawl__follow_print prints them */
    struct pawl_span on_failure;
    struct pawl__key keys[PAWL__KEYS_MAX]; /* ascending kind */
    size_t key_count;
    int32_t ties; /* what else depends on its moves: core/settle.h; 0: nothing */
};

/* The keys of a checked spec, into job->keys and job->key_count; otherwise as pawl__key_unique. */
PAWL_MUST_CHECK enum pawl_err pawl__keys_make(const struct pawl_job_spec *spec,
                                              const struct pawl__payloads *payloads,
                                              struct pawl__arena *scratch, struct pawl__buf *buf,
                                              struct pawl__new_job *job, struct pawl_diag *diag);

struct pawl__op {
    enum pawl__op_kind kind;
    enum pawl_err err;                 /* out: this operation's own result */
    struct pawl_diag *diag;            /* in: borrowed, may be NULL; written when err is */
    void (*done)(struct pawl__op *op); /* called once, on the committer's thread; must be short.
                                          The op is the caller's again from then on */
    void *user;
    struct pawl__op *next;    /* the inbox's, until done */
    bool chained;             /* the inbox's: it was posted in a list */
    int64_t now_ms;           /* out: the store's time at which it was applied */
    struct pawl__arena arena; /* results live here; the caller releases it after use */
    union {
        struct { /* all or nothing. DUPLICATE, EXISTS: `failed_index` tells which */
            const struct pawl__new_job *jobs;
            size_t count;                      /* may be 0 with a flow */
            const struct pawl__new_flow *flow; /* of which they are nodes; NULL: of none */
            struct pawl_submitted *out;        /* room for count; set on success */
            size_t failed_index;
            bool overtaken; /* out, on STALE: the flow has grown since its nodes were read */
            struct pawl_submitted holder; /* out, on DUPLICATE: who has the key; zeros: a job
                                             of the same batch, which did not happen */
        } submit;
        struct { /* available -> active. Queues strictly left to right, best rank
                    first within one. Never fails for want of jobs */
            const char *const *queues;
            size_t queue_count;
            const char *const *types; /* none: every type; "a.*" and "*" as well */
            size_t type_count;
            int64_t limit;
            int64_t bytes_max; /* of their arguments together; at least one job is given,
                                  whatever its size. 0: no bound */
            int64_t args_max;  /* of one job's arguments: longer ones are left out, and args.len is
                                  0 (a job that is stored has some). 0: no bound. Not both */
            const char *worker;
            int64_t lease_ms;      /* for jobs that do not bring their own */
            bool timed;            /* no longer than the job's timeout; one that is not timed
                                      and would end just with it lasts a ms longer */
            struct pawl_job *jobs; /* out, in the order they should start; in `arena` */
            size_t job_count;
            bool more; /* out: fewer than `limit`, but more may be there: others hold some for a
                          moment, or a bound of the claim was reached. Ask again soon. False: at one
                          moment of the claim nothing was left, or `limit` was reached */
        } claim;       /* ROUTE too: available -> pending, lease_until_ms is the token */
        struct {       /* pending -> active for the worker it was routed to. STALE: lapsed, or
                          another token or worker. UNROUTE: pending -> available, as if it had
                          lapsed; `id`, `worker` and `token` alone */
            struct pawl_job_id id;
            const char *worker;
            int64_t token;  /* lease_until_ms of the routed job */
            const char *to; /* the worker of the run; NULL: the same */
            int64_t lease_ms;
            bool timed;           /* as for a claim */
            struct pawl_job *job; /* out; in `arena` */
        } assign;
        struct { /* active -> completed. STALE: not this run; NOT_FOUND */
            struct pawl_run ref;
            struct pawl_span result; /* JSON; empty: none */
        } complete;
        struct { /* active -> retryable, discarded, expired or available, as the
                    job's policy decides. STALE, NOT_FOUND */
            struct pawl_run ref;
            struct pawl_report report;
            enum pawl_state to; /* out */
            int64_t due_at_ms;  /* out: when it is due again; 0: never */
            int64_t attempt;    /* out */
            int64_t delay_ms;   /* out: -1 when it does not run again */
        } fail;
        struct { /* active -> scheduled, charging nothing; delay 0 gives it back:
                    available. STALE, NOT_FOUND */
            struct pawl_run ref;
            int64_t delay_ms;
        } snooze;
        struct { /* leases of many runs, until now + lease_ms each. Per run: OK,
                    STALE (stop it), NOT_FOUND */
            const struct pawl_run *refs;
            size_t count;
            int64_t lease_ms;
            bool timed;             /* no longer than until the job's timeout is over; else as
                                       for a claim */
            enum pawl_err *results; /* room for count */
        } extend;
        struct { /* see pawl_control; a `run` above 0 fences an owner's own move
                    (skip, discard, cancel by its worker): STALE */
            struct pawl_job_id id;
            enum pawl_control control;
            int64_t run;
            struct pawl_by by;
            enum pawl_state from; /* out, also on STATE */
            enum pawl_state to;   /* out */
        } control;
        struct { /* see pawl_control_many, pawl_delete_many (control NONE) */
            const struct pawl_filter *filter;
            enum pawl_control control;
            int64_t limit;
            struct pawl_by by;
            int64_t moved;
        } bulk;
        struct { /* waiting states alone. STATE, NOT_FOUND */
            struct pawl_job_id id;
            int32_t priority;
            struct pawl_by by;
            int32_t before;
        } priority;
        struct { /* ended jobs, archived ones too. STATE, NOT_FOUND */
            struct pawl_job_id id;
            struct pawl_by by;
        } remove; /* DELETE */
        struct {  /* run > 0: fenced. A smaller value than before is ignored.
                     STALE, NOT_FOUND, STATE: not active */
            struct pawl_run ref;
            double value; /* 0..1; negative: keep what is there */
            struct pawl_span message;
            struct pawl_span data; /* JSON; empty: keep */
        } progress;
        struct { /* save (state.len > 0) or delete. run > 0: fenced.
                    STALE, NOT_FOUND, STATE: ended */
            struct pawl_run ref;
            struct pawl_span state;
            int64_t sequence; /* out: 1, 2, ...; starts again after a delete */
        } checkpoint;
        struct {                 /* append; oldest lines fall off. NOT_FOUND */
            struct pawl_run ref; /* run is noted, not checked */
            int32_t level;
            struct pawl_span text;
        } log;
        struct { /* see pawl_flow_cancel and its kin. NOT_FOUND, STATE */
            struct pawl_job_id id;
            enum pawl_flow_control verb;
            const struct pawl_job_id *nodes; /* CANCEL, RETRY: none: the whole flow */
            size_t node_count;
            bool drain;     /* CANCEL: what runs may finish */
            bool all_below; /* RETRY: with all that comes after them */
            struct pawl_by by;
            int64_t moved; /* out: nodes, of the first PAWL__FLOW_SLICE */
        } flow_control;
        struct { /* PROMOTE: due scheduled and retryable -> available. LAPSE: leases
                    that ran out -> available, or discarded without attempts or as a
                    poison pill; a lease that ended with the job's timeout is a failed
                    run of type "timeout". EXPIRE: -> expired, and forgets idempotency keys
                    of jobs and requests whose time is over. DEADLINE: reports deadlines that
                    jobs have missed; `moved` is their number. SETTLE: what follows from moves of
                    jobs with ties and was left for later, and what is due of flows. FIRE: schedules
                    whose next instant is over make jobs; `moved` counts those. Oldest first, at
                    most limit */
            int64_t limit;
            int64_t moved; /* out */
            bool more;     /* out: it looked at as many as it may; go on, also when none moved */
            int64_t next_at_ms; /* out: when the next one is due; 0: nothing waits */
        } sweep;                /* PROMOTE, LAPSE, EXPIRE, DEADLINE, SETTLE, FIRE */
        struct {                /* ARCHIVE: jobs in `states` that ended more than `age_ms` ago, by
                                   the store's clock, to the archive. PURGE: out of the archive,
                                   for ever. Keeps what keep_ms asks. It looks at a bounded number
                                   of jobs */
            uint32_t states;
            int64_t age_ms;
            int64_t limit;
            const char *owner; /* NULL: do it in any case. Else only with the lock of that work,
                                  "upkeep.archive" or "upkeep.purge", which it takes for as long as
                                  the next need not look: whoever comes meanwhile moves nothing */
            int64_t pause_ms;  /* with an owner: so long */
            int64_t moved;     /* out */
            bool more;         /* out: it did not come to the end; go on, also when none moved */
            bool flows;        /* inside: its turn came, and flows are asked for */
        } retire;              /* ARCHIVE, PURGE */
        struct {               /* see pawl_flow_signal and pawl_flow_signal_key */
            struct pawl_job_id id; /* of a node, where `key` is NULL. STATE, NOT_FOUND */
            const char *key;
            enum pawl_flow_signal_kind kind;
            struct pawl_span payload;
            int64_t delivered; /* out */
            bool more;         /* out: there may be more that wait for the key */
        } flow_signal;
        struct {                   /* see pawl_flow_seal. NOT_FOUND */
            struct pawl_job_id id; /* of the flow */
            int32_t no;            /* of the group; 0: the flow itself */
            const char *group;     /* its name; NULL: the flow */
        } flow_seal;
        struct { /* NODE_JOIN: a node begins. HELD: one of that name is alive; else its runs'
                    leases end, its locks are free, and its heartbeats are STALE from now on.
                    NODE_PUT: the heartbeat. STALE: the name has been taken over, or the node was
                    given up. Nodes that have been silent for longer than the lease in their `info`
                    are given up in the same breath: as if somebody had taken their name.
                    NODE_DROP: it has ended, and its locks are free. NOT_FOUND */
            const char *name;
            const char *info;          /* NODE_JOIN, NODE_PUT; see cluster/member.h */
            int64_t started_at_ms;     /* NODE_JOIN: out. NODE_PUT: a later one takes the name over.
                                          NODE_DROP: 0: whichever there is */
            struct pawl_census census; /* out: NODE_PUT */
        } node;                        /* NODE_JOIN, NODE_PUT, NODE_DROP */
        struct {                       /* see pawl_lock_try and its kin */
            const char *name;
            const char *owner;
            int64_t ttl_ms;
            int64_t fence; /* out: LOCK_TRY */
        } lock;
        struct { /* value NULL: delete */
            const char *name;
            const char *value;
        } setting;
        const struct pawl_token *token;         /* TOKEN_PUT: see pawl_token_put */
        const struct pawl_args_schema *schema;  /* SCHEMA_ADD, SCHEMA_DROP: see pawl_args_schema_add
                                                   and pawl_args_schema_drop */
        const struct pawl_queue_config *config; /* CONFIG_PUT, CONFIG_DROP: of a queue, see
                                                   pawl_queue_config_put and its kin */
        struct {                                /* see pawl_request_note */
            const char *key;
            const char *fingerprint;
            int64_t kept_ms;
        } request;
        struct { /* see pawl_schedule_put. EXISTS, NOT_FOUND, STALE */
            const struct pawl__new_schedule *given;
            struct pawl_schedule_put out;
        } schedule_put;
        struct { /* see pawl_schedule_pause and its kin. NOT_FOUND, STATE, DUPLICATE */
            const char *name;
            enum pawl__schedule_control control;
            bool force; /* RUN */
            struct pawl_by by;
            bool changed;                 /* out: PAUSE, RESUME */
            struct pawl_schedule_ran ran; /* out: RUN */
        } schedule_control;
        struct { /* see pawl_schedule_remove. STALE: not this version; or it is not of this group,
                    or was declared since. NOT_FOUND */
            const char *name;
            int64_t version;   /* 0: any */
            const char *group; /* NULL: any; else only if it was declared before: */
            int64_t declared_before_ms;
        } schedule_drop;
        struct {
            const char *queue;
            bool paused;
            bool forgotten; /* pawl_queue_delete: list it only while it has a job */
            struct pawl_by by;
        } queue;
    };
};

/* ---- the store ---- */

/* See pawl_open. `config` is borrowed for the call, its clock for the store's life. */
PAWL_MUST_CHECK enum pawl_err pawl__store_open(const struct pawl_config *config,
                                               struct pawl__store **out, struct pawl_diag *diag);
/* Applies what is in the inbox, answers it, then closes. */
void pawl__store_close(struct pawl__store *store);

/* Post; `op->done` is called later, also when the store is closed or broken. Never blocks on the
 * disk; never fails. The op and all it points to must live until then. */
void pawl__store_post(struct pawl__store *store, struct pawl__op *op);
/* Post a list linked by `next`: they are applied in that order, in one transaction if they fit.
 * Operations that were posted each by itself have no order among them. */
void pawl__store_post_list(struct pawl__store *store, struct pawl__op *first);
/* Post and wait. Uses op->done and op->user. Returns op->err. */
PAWL_MUST_CHECK enum pawl_err pawl__store_do(struct pawl__store *store, struct pawl__op *op);

/* One operation without a store: on a connection to a SQLite store that is the caller's, inside his
 * transaction if there is one. On his thread. NOT_FOUND: there is no store in that database.
 * SCHEMA, BUSY, and whatever the operation may fail with; then nothing of it is left behind. */
struct sqlite3;
PAWL_MUST_CHECK enum pawl_err pawl__store_guest(struct sqlite3 *db, struct pawl__op *op,
                                                struct pawl_diag *diag);

/* How the committer fares; exact, since opening. */
struct pawl__store_counters {
    int64_t commits, failed_commits, ops, rows, batch_max, commit_us, commit_us_max, reopened;
    struct pawl_histogram commit_times, batch_sizes;
};
void pawl__store_counters_get(struct pawl__store *store, struct pawl__store_counters *out);

/* ---- what commits tell ---- */

/* A move of a job, committed; or a deadline that it has missed: see struct pawl_moved. */
struct pawl__move {
    struct pawl_job_id id;
    int64_t run;
    enum pawl_state from, to;
    enum pawl_deadline missed;
    const char *queue, *type; /* valid during the call */
    bool in_flow;
};

struct pawl__notice {
    bool foreign;       /* another process committed something; nothing more is known but this: */
    bool ready;         /* there may be more to claim */
    bool control;       /* somebody interfered with a job that runs */
    int64_t due_at_ms;  /* something will be due then that was not before; 0: nothing */
    int64_t fire_at_ms; /* the same for a schedule */
    int64_t at_ms;      /* the commit's time */
    const struct pawl__move *moves; /* all of them for listeners, else only those that operators
                                       made with jobs that run; in the order they happened */
    size_t move_count;
    int64_t lost; /* moves that there was no memory for */
};

/* After each commit that has something to tell: on the committer's thread after its operations were
 * answered, or on the thread of a caller who committed for himself; notices from other processes on
 * a thread of their own. Must be short. */
typedef void pawl__notice_fn(void *ctx, const struct pawl__notice *notice);

/* At most one watcher. `all_moves` asks for every move. NULL ends it, and waits for a call under
 * way. Notices from other processes can be lost: they only save time. */
PAWL_MUST_CHECK enum pawl_err pawl__store_watch(struct pawl__store *store, pawl__notice_fn *fn,
                                                void *ctx, bool all_moves, struct pawl_diag *diag);

/* How this process and others wake each other, since opening. */
struct pawl__wake_state {
    int64_t sent, received;   /* notices that went out, and those of others that came in */
    int64_t reconnects;       /* lines found again after a failure */
    struct pawl_diag trouble; /* why others cannot be told or heard just now; err 0: they can */
};
void pawl__store_wake_state(struct pawl__store *store, struct pawl__wake_state *out);

/* ---- reads: results live in `arena` ---- */

/* Jobs by id in the order asked for, unknown ids left out; archived ones too. */
PAWL_MUST_CHECK enum pawl_err pawl__store_get(struct pawl__store *store,
                                              const struct pawl_job_id *ids, size_t count,
                                              struct pawl__arena *arena, struct pawl_job **out,
                                              size_t *out_count, struct pawl_diag *diag);
/* `page` is checked and complete. out->owned is untouched. ARG: the cursor is not one of ours. */
PAWL_MUST_CHECK enum pawl_err pawl__store_query(struct pawl__store *store,
                                                const struct pawl_filter *filter,
                                                const struct pawl_page *page,
                                                struct pawl__arena *arena, struct pawl_jobs *out,
                                                struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl__store_count(struct pawl__store *store,
                                                const struct pawl_filter *filter, int64_t *out,
                                                struct pawl_diag *diag);
/* `known`: the job, when it is at hand and need not be read; then there is no NOT_FOUND, but an
 * empty story. out->owned is untouched. */
PAWL_MUST_CHECK enum pawl_err pawl__store_story(struct pawl__store *store, struct pawl_job_id id,
                                                const struct pawl_job *known,
                                                struct pawl__arena *arena, struct pawl_story *out,
                                                struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl__store_stats(struct pawl__store *store,
                                                struct pawl__arena *arena, struct pawl_stats *out,
                                                struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl__store_nodes(struct pawl__store *store,
                                                struct pawl__arena *arena, struct pawl_nodes *out,
                                                struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl__store_locks(struct pawl__store *store,
                                                struct pawl__arena *arena, struct pawl_locks *out,
                                                struct pawl_diag *diag);
/* NOT_FOUND when it was never put. */
PAWL_MUST_CHECK enum pawl_err pawl__store_setting(struct pawl__store *store, const char *name,
                                                  struct pawl__arena *arena, const char **out,
                                                  struct pawl_diag *diag);
/* Those whose names begin with `prefix`, by name. out->owned is untouched. */
PAWL_MUST_CHECK enum pawl_err pawl__store_settings(struct pawl__store *store, const char *prefix,
                                                   struct pawl__arena *arena,
                                                   struct pawl_settings *out,
                                                   struct pawl_diag *diag);
/* By id. out->owned is untouched. */
PAWL_MUST_CHECK enum pawl_err pawl__store_tokens(struct pawl__store *store,
                                                 struct pawl__arena *arena, struct pawl_tokens *out,
                                                 struct pawl_diag *diag);
/* See pawl_args_schemas_get. out->owned is untouched. */
PAWL_MUST_CHECK enum pawl_err pawl__store_schemas(struct pawl__store *store,
                                                  const struct pawl_args_schema_filter *filter,
                                                  struct pawl__arena *arena,
                                                  struct pawl_args_schemas *out,
                                                  struct pawl_diag *diag);
/* By name; `queue` NULL: all. out->owned is untouched. */
PAWL_MUST_CHECK enum pawl_err pawl__store_configs(struct pawl__store *store, const char *queue,
                                                  struct pawl__arena *arena,
                                                  struct pawl_queue_configs *out,
                                                  struct pawl_diag *diag);
/* See PAWL__FLOW_ASKS. */
PAWL_MUST_CHECK enum pawl_err
pawl__store_flows(struct pawl__store *store, const struct pawl__flow_ask *ask,
                  struct pawl__arena *arena, struct pawl__flow_rows *out, struct pawl_diag *diag);
/* May it be a node of a flow that has parents, or a follow-up? */
static inline bool pawl__may_have_inputs(const struct pawl_job *job)
{
    return job->ties & (PAWL__FLOW_TIE | PAWL__CHILD_TIE);
}
/* See pawl_flow_inputs_get, pawl_flow_earlier_get and pawl_flow_of. `*out` holds nothing on
 * failure. */
PAWL_MUST_CHECK enum pawl_err pawl__store_earlier(struct pawl__store *store, struct pawl_job_id job,
                                                  struct pawl__arena *arena,
                                                  struct pawl_flow_inputs *out,
                                                  struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl__store_flow_of(struct pawl__store *store, struct pawl_job_id job,
                                                  struct pawl__arena *arena,
                                                  struct pawl_flow_inputs *out,
                                                  struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl__store_inputs(struct pawl__store *store, struct pawl_job_id job,
                                                 struct pawl__arena *arena,
                                                 struct pawl_flow_inputs *out,
                                                 struct pawl_diag *diag);
/* The first of these, of a job that is at hand: without parents nothing is found, and there is no
 * NOT_FOUND. */
PAWL_MUST_CHECK enum pawl_err pawl__store_inputs_of(struct pawl__store *store,
                                                    const struct pawl_job *job,
                                                    struct pawl__arena *arena,
                                                    struct pawl_flow_inputs *out,
                                                    struct pawl_diag *diag);
/* See PAWL__SCHEDULE_ASKS. */
PAWL_MUST_CHECK enum pawl_err pawl__store_schedules(struct pawl__store *store,
                                                    const struct pawl__schedule_ask *ask,
                                                    struct pawl__arena *arena,
                                                    struct pawl__schedule_rows *out,
                                                    struct pawl_diag *diag);
/* See pawl_backup, pawl_check, pawl_schema_get. */
PAWL_MUST_CHECK enum pawl_err pawl__store_backup(struct pawl__store *store, const char *path,
                                                 pawl_progress_fn *progress, void *ctx,
                                                 struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl__store_check(struct pawl__store *store, pawl_finding_fn *report,
                                                void *ctx, struct pawl_diag *diag);
/* What a URL says about its store. */
struct pawl__scheme {
    const char *scheme;    /* what the URL begins with */
    const char *name;      /* of the backend */
    bool is_file;          /* the rest of the URL is a path */
    const char *served_by; /* the database server's name; NULL: none has it */
};

/* NULL: no store has such a URL. */
const struct pawl__scheme *pawl__scheme_of(const char *url);

PAWL_MUST_CHECK enum pawl_err pawl__store_schema(const struct pawl_config *config,
                                                 struct pawl_schema *out, struct pawl_diag *diag);

#endif
