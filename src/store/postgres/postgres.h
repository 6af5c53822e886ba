/* What the PostgreSQL backend's files share. Only this folder includes libpq's header.
 *
 * The schema is described in migrations/0001_initial.sql. Unlike SQLite's there are several who
 * write at once, so:
 *
 * 1. Who moves a job holds the lock of its row, in pawl_job or in pawl_archive. Claims and sweeps
 *    do not wait for one that somebody holds. Rows of a roll are locked before the jobs
 *    on them.
 * 2. Who asks about a key, or writes one, holds the key's advisory lock (keys.c). Those of a whole
 *    batch are taken in order before anything else.
 * 3. Queues and lanes are made in a transaction of their own, before the batch's.
 * 4. Counters are appended, not updated (lane.c).
 *
 * What two batches can still make of it is a deadlock; the server ends one of them, and that one is
 * done again (apply.c).
 *
 * No state of a session is relied on, but for the connection that listens: there may be a pooler
 * that lends a server's connection out for a transaction.
 *
 * Threads: a session of the committer has a struct pawl__backend of its own, so the writer's
 * connection, the lanes and what is gathered belong to the one thread that has the session. What
 * there is once for all of them is the first one's, the `home`: readers take a connection from its
 * pool; the messenger of its channel and its janitor have a thread and a connection each. */
#ifndef PAWL_STORE_POSTGRES_H
#define PAWL_STORE_POSTGRES_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/rng.h"
#include "base/sync.h"
#include "store/backend.h"
#include "store/core/catalog.h"
#include "store/core/claim.h"
#include "store/core/fields.h"
#include "store/core/set.h"
#include "store/core/control.h"
#include "store/sql/scan.h"
#include "store/notices.h"

#include "postgres_sql.h"

#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#else
#include <postgresql/libpq-fe.h>
#endif

#define X(upper, lower) PG_##upper,
enum pawl__pg { PG_STATEMENTS(X) PG_END };
#undef X

enum {
    PAWL__PG_SESSIONS_MAX = 3,       /* more add little: the server's processors are busy by then */
    PAWL__PG_PARAMS_MAX = 512,       /* of one statement; query.c needs the most */
    PAWL__PG_PENDING_MAX = 1024,     /* statements sent before their answers are read */
    PAWL__PG_LISTS_MAX = 48,         /* of which so many may be lists; new.c needs the most */
    PAWL__PG_SLOTS = 8,              /* answers that are kept at a time; the last two: lane.c */
    PAWL__PG_KEY_LOCKS_MAX = 256,    /* of one batch; with more keys it locks them all at once */
    PAWL__PG_FOLD_COMMITS = 32,      /* commits between two folds of the counters */
    PAWL__PG_FOLD_ROWS_MAX = 10000,  /* that one of them takes */
    PAWL__PG_WORN_MAX = 50000,       /* moves after which the rolls are swept */
    PAWL__PG_CONNECT_TIMEOUT_S = 10, /* unless the URL says otherwise */
    PAWL__PG_IDLE_TIMEOUT_MS = 10000 /* a stopped process lets go of its locks after this long */
};

/* Numbers of advisory locks: "pawl" and one more. */
#define PAWL__PG_LOCK_MIGRATE INT64_C(0x7061776c00000001)
#define PAWL__PG_LOCK_FOLD INT64_C(0x7061776c00000002)
#define PAWL__PG_LOCK_KEYS INT64_C(0x7061776c00000003)

/* ---- connections, calls and answers (conn.c, call.c) ---- */

/* A list of values for one parameter. */
struct pawl__pg_list {
    struct pawl__buf bytes;
    Oid type;
    int at; /* the parameter; 0: it is bound */
    int32_t count;
    int32_t nulls; /* of those */
};

enum pawl__pg_kind {
    PAWL__PG_INTS,
    PAWL__PG_TEXTS,
    PAWL__PG_IDS,
    PAWL__PG_BYTES,
    PAWL__PG_TIDS,
    PAWL__PG_REALS
};

struct pawl__pg_pending {
    enum pawl__pg sql;
    int8_t slot;    /* where its answer is kept; -1: nowhere */
    bool prepares;  /* it only prepares `sql` */
    int32_t expect; /* rows it must touch; -1: any number */
    bool races;     /* else another session was faster, and the batch is done again */
};

/* A connection in pipeline mode. Calls are sent without waiting; their answers are read, in order,
 * by pawl__pg_sync. The first failure is remembered and told there; what is sent after it has no
 * effect. */
struct pawl__pg_conn {
    PGconn *pg;
    bool pooled;                /* a pooler is in between: nothing outlives a transaction */
    bool in_transaction;        /* BEGIN was sent */
    uint8_t prepared[PG_END];   /* 1: asked for, 2: it is */
    int64_t timeout_ms;         /* for an answer to come */
    struct pawl__arena scratch; /* what was bound and had to be mended; until the next sync */

    enum pawl__pg sql; /* the call under construction: */
    const char *text;  /* NULL: that of `sql` */
    int count;
    Oid types[PAWL__PG_PARAMS_MAX];
    const char *values[PAWL__PG_PARAMS_MAX];
    int lengths[PAWL__PG_PARAMS_MAX];
    uint8_t numbers[PAWL__PG_PARAMS_MAX][8];
    struct pawl__pg_list lists[PAWL__PG_LISTS_MAX]; /* their memory is kept */
    int list_count;

    struct pawl__pg_pending pending[PAWL__PG_PENDING_MAX];
    size_t pending_count;
    PGresult *kept[PAWL__PG_SLOTS];
    enum pawl_err err; /* the first failure since the last sync */
    bool again;        /* nothing happened, and another try may go well */
    bool clash;        /* the failure is a key that is there already */
    bool lost;         /* the connection is gone */
    struct pawl_diag diag;
};

struct pawl__pg_open {
    const char *url;
    int64_t timeout_ms;
    bool write;
    bool relaxed;
};

enum pawl_err pawl__pg_connect(const struct pawl__pg_open *how, struct pawl__pg_conn *out,
                               struct pawl_diag *diag);
/* Without pipeline mode and settings: for migrations and the channel. */
enum pawl_err pawl__pg_connect_plain(const struct pawl__pg_open *how, PGconn **out,
                                     struct pawl_diag *diag);
void pawl__pg_conn_release(struct pawl__pg_conn *conn);
/* At the begin of a transaction that may be on a server's connection that others have had. */
void pawl__pg_conduct(struct pawl__pg_conn *conn, const struct pawl__pg_open *how);
/* What an error of the server is called here. `again`: may it go well on another try? */
enum pawl_err pawl__pg_error_code(const char *state, bool *again);
/* "could not <what>: ..." for an answer that is a failure. */
enum pawl_err pawl__pg_fail_result(const PGresult *result, const PGconn *pg, const char *what,
                                   struct pawl_diag *diag);
const char *pawl__pg_text_of(enum pawl__pg sql);

/* Begin a call, bind, send. */
void pawl__pg_call(struct pawl__pg_conn *conn, enum pawl__pg sql);
/* A text that is written as needed; never prepared. Borrowed until it is sent. */
void pawl__pg_call_text(struct pawl__pg_conn *conn, const char *text);
void pawl__pg_bind(struct pawl__pg_conn *conn, int at, int64_t value);
void pawl__pg_bind_some(struct pawl__pg_conn *conn, int at, int64_t value); /* 0: NULL */
void pawl__pg_bind_bool(struct pawl__pg_conn *conn, int at, bool value);
void pawl__pg_bind_id(struct pawl__pg_conn *conn, int at, const struct pawl_job_id *id);
void pawl__pg_bind_string(struct pawl__pg_conn *conn, int at, const char *text);     /* "" is "" */
void pawl__pg_bind_whole(struct pawl__pg_conn *conn, int at, struct pawl_span span); /* the same */
/* Send; the answer is only looked at for errors. */
void pawl__pg_send(struct pawl__pg_conn *conn);
/* The same for one that must touch `rows` rows, no more, no less. */
void pawl__pg_send_exact(struct pawl__pg_conn *conn, int32_t rows);
/* The same, but if it touches another number another session was faster, and the batch is done
 * again. */
void pawl__pg_send_race(struct pawl__pg_conn *conn, int32_t rows);
/* Send; the answer is in kept[slot] after the next sync, until another takes its place. */
void pawl__pg_send_keep(struct pawl__pg_conn *conn, int slot);
/* The answer in a slot is needed no more. */
void pawl__pg_drop(struct pawl__pg_conn *conn, int slot);
/* Send a statement without parameters. */
void pawl__pg_say(struct pawl__pg_conn *conn, enum pawl__pg sql);
/* Read the answers of all that was sent. */
enum pawl_err pawl__pg_sync(struct pawl__pg_conn *conn, struct pawl_diag *diag);
/* Until PQgetResult does not block. False: nothing came in time, or nothing will. */
bool pawl__pg_await(PGconn *pg, int64_t timeout_ms);
/* Send with slot 0, sync, and the answer; NULL on failure. */
enum pawl_err pawl__pg_ask(struct pawl__pg_conn *conn, PGresult **out, struct pawl_diag *diag);

/* An empty list as a parameter of the call under construction. What is added to it until the call
 * is sent counts. */
struct pawl__pg_list *pawl__pg_list(struct pawl__pg_conn *conn, int at, enum pawl__pg_kind kind);
/* A list of the call before this one, once more, and ahead of new ones. */
void pawl__pg_list_again(struct pawl__pg_conn *conn, int at, struct pawl__pg_list *list);
void pawl__pg_list_add(struct pawl__pg_list *list, int64_t value);
void pawl__pg_list_add_null(struct pawl__pg_list *list);
void pawl__pg_list_add_id(struct pawl__pg_list *list, struct pawl_job_id id);
void pawl__pg_list_add_span(struct pawl__pg_list *list, struct pawl_span span); /* empty: NULL */
void pawl__pg_list_add_text(struct pawl__pg_list *list, const char *text);      /* "" too: NULL */
void pawl__pg_list_add_bytes(struct pawl__pg_list *list, const void *bytes, size_t len);
void pawl__pg_list_add_real(struct pawl__pg_list *list, double value);

/* Values of an answer; NULL is 0, false, "". */
int64_t pawl__pg_int(const PGresult *result, int row, int column);
bool pawl__pg_bool(const PGresult *result, int row, int column);
double pawl__pg_double(const PGresult *result, int row, int column);
struct pawl_job_id pawl__pg_id(const PGresult *result, int row, int column);
struct pawl__pg_tid pawl__pg_tid(const PGresult *result, int row, int column);
/* A list of ids: how many, and those, for which `out` has room. */
size_t pawl__pg_ids_count(const PGresult *result, int row, int column);
size_t pawl__pg_ids(const PGresult *result, int row, int column, struct pawl_job_id *out);
/* As it is in the answer, NUL-terminated. */
struct pawl_span pawl__pg_raw(const PGresult *result, int row, int column);
/* Copied into `arena`. False, NULL: no memory. */
bool pawl__pg_span(const PGresult *result, int row, int column, struct pawl__arena *arena,
                   struct pawl_span *out);
const char *pawl__pg_text(const PGresult *result, int row, int column, struct pawl__arena *arena);

/* ---- new jobs (new.c) ---- */

struct pawl__pg_new_row {
    const struct pawl__new_job *job;
    int64_t lane_id;
    struct pawl__settled settled;
    struct pawl_span keys; /* as pawl__row.keys */
    uint32_t lane;         /* index */
    uint8_t alike;         /* number of those that differ in id and arguments alone */
};

struct pawl__pg_tid {
    uint8_t b[6]; /* as the server sends it */
};

/* ---- rolls (roll.c) ---- */

enum pawl__pg_roll_kind {
    PAWL__PG_ROLL_READY,
    PAWL__PG_ROLL_LEASE,
    PAWL__PG_ROLL_ENDED,
    PAWL__PG_ROLLS
};

struct pawl__pg_roll_entry {
    int64_t first, second; /* lane and rank; end of the lease; state and end */
    const char *worker;    /* of a lease; good until the transaction ends */
    struct pawl_job_id id;
    struct pawl_job_id seat; /* the id, or the arrival of a job that is ready */
};

/* A job that is ready. `arrival` as in struct pawl__new_job. */
struct pawl__pg_waiting {
    int64_t lane, rank;
    struct pawl_job_id id, arrival;
};

/* What the transaction under way brings onto one. */
struct pawl__pg_roll {
    struct pawl__pg_roll_entry *entries;
    size_t count, cap;
    bool failed; /* there was no memory */
};

/* ---- the janitor (janitor.c) ---- */

struct pawl__pg_janitor {
    pthread_t thread;
    bool runs;
    struct pawl__mutex mutex;
    struct pawl__cond wanted;
    /* guarded by mutex: */
    int64_t worn; /* moves since the tables were swept */
    bool due, closing;
    PGcancel *cancel; /* of the sweep under way */
};

struct pawl__backend {
    struct pawl__sql_base sql;
    struct pawl__backend *home; /* the one that was opened; itself, unless it joined another */
    char *url;
    enum pawl_durability durability;
    int64_t busy_timeout_ms;
    bool read_only;                 /* nothing is written, so that SELECT is enough */
    const struct pawl_clock *clock; /* NULL: the server's */
    char channel[96];               /* of notices */

    /* the session's: */
    pawl__order_fn *order; /* to be called before each COMMIT */
    void *order_ctx;
    struct pawl__pg_conn writer;
    int64_t catalog_version; /* of the store's that all this was read from; 0: none */
    struct pawl__set set;
    struct pawl__pg_roll rolls[PAWL__PG_ROLLS];
    struct pawl__arena arena; /* of the transaction under way */
    struct {                  /* keys that it locked when it began */
        bool all;
        int64_t *numbers; /* ascending; in the arena */
        size_t count;
    } locked;
    uint64_t tag;                           /* of this process, in the turns that it marks */
    int64_t turn;                           /* number of the transaction under way */
    int unfolded;                           /* commits since the counters were folded */
    int64_t ended_after_ms[PAWL_STATE_END]; /* where the next sweep over ended jobs begins */
    int64_t worn;                           /* moves that the janitor has not heard of */

    /* the home's, for all: */
    struct pawl__pg_conn readers[PAWL__READERS_MAX]; /* of the pool */

    struct pawl__pg_janitor janitor;
};
_Static_assert(offsetof(struct pawl__backend, sql) == 0, "sql/read.c takes it from there");

/* ---- opening (open.c), the pool (pool.c), the schema (migrate.c) ---- */

struct pawl__pg_open pawl__pg_how(const struct pawl__backend *pg, bool write);

/* A connection inside one read-only transaction: what is read fits together. Waits for one when all
 * are out. BEGIN goes with what is sent next, and _last and _ask, which are for the last sync, send
 * the end along: so most reads are one round trip. */
enum pawl_err pawl__pg_read_begin(struct pawl__backend *pg, struct pawl__pg_conn **out,
                                  struct pawl_diag *diag);
enum pawl_err pawl__pg_read_last(struct pawl__pg_conn *conn, struct pawl_diag *diag);
void pawl__pg_read_end(struct pawl__backend *pg, struct pawl__pg_conn *conn);
/* Let go of connections that nobody uses just now. */
void pawl__pg_readers_drop(struct pawl__backend *pg);

/* Bring the schema up to date. SCHEMA: newer, changed, or older with `no_migrate`. NOT_FOUND: there
 * is none, and it `must_exist`. BUSY: somebody else held it for longer than `wait_ms` (0: for
 * ever). Where only the script is old, an error is one if it `must_renew`. */
struct pawl__pg_migrate {
    int64_t wait_ms;
    bool no_migrate, must_exist, must_renew;
};
enum pawl_err pawl__pg_migrate(PGconn *pg, const struct pawl__pg_migrate *how,
                               struct pawl_diag *diag);
enum pawl_err pawl__pg_schema_read(PGconn *pg, int64_t wait_ms, struct pawl_schema *out,
                                   struct pawl_diag *diag);

/* ---- lanes and counters (lane.c) ---- */

/* Before the batch's transaction: make what its operations name and nobody has. */
enum pawl_err pawl__pg_catalog_prepare(struct pawl__backend *pg, struct pawl__op **ops,
                                       size_t count);
/* Inside it: learn of what others made, if the catalog's version is not the one we know. */
enum pawl_err pawl__pg_catalog_refresh(struct pawl__backend *pg, int64_t version);
/* Before the commit: write the counters. */
enum pawl_err pawl__pg_counts_flush(struct pawl__backend *pg);

/* ---- what goes without the working set (plain.c): see struct pawl__quick ---- */

pawl__submit_plain_fn pawl__pg_submit_plain;
pawl__finish_plain_fn pawl__pg_finish_plain;

/* ---- the working set (set_load.c, set_store.c, sweep.c) ---- */

/* Of the own bytes of a row: those of its place, then whether it was taken off the roll of what is
 * ready. */
enum { PAWL__PG_OFF_ROLL = sizeof(struct pawl__pg_tid) };

extern const struct pawl__core_table pawl__pg_core;
/* See struct pawl__core_table. */
pawl__load_fn pawl__pg_set_load;
pawl__load_records_fn pawl__pg_load_records;
pawl__queue_fn pawl__pg_queue;
pawl__lane_fn pawl__pg_lane_at;
pawl__scan_due_fn pawl__pg_scan_due;
pawl__promote_plain_fn pawl__pg_promote_plain;
pawl__next_due_fn pawl__pg_next_due;
pawl__scan_ended_fn pawl__pg_scan_ended;
pawl__scan_ready_fn pawl__pg_scan_ready, pawl__pg_claim_plain;
pawl__peek_fn pawl__pg_peek;
pawl__begin_fn pawl__pg_begin;
pawl__commit_fn pawl__pg_commit;
pawl__rollback_fn pawl__pg_rollback;
pawl__retry_fn pawl__pg_retry;
pawl__show_fn pawl__pg_show;

/* ---- rolls (roll.c) ---- */

/* A job has become available, was leased, has ended. */
void pawl__pg_roll_ready(struct pawl__backend *pg, const struct pawl__pg_waiting *job);
void pawl__pg_roll_lease(struct pawl__backend *pg, int64_t until_ms, const char *worker,
                         struct pawl_job_id id);
void pawl__pg_roll_ended(struct pawl__backend *pg, enum pawl_state state, int64_t finished_at_ms,
                         struct pawl_job_id id);
/* Write all that: at the end, and before a roll is read. */
enum pawl_err pawl__pg_rolls_flush(struct pawl__backend *pg);
void pawl__pg_rolls_reset(struct pawl__backend *pg);
void pawl__pg_rolls_release(struct pawl__backend *pg);

/* Ids that were on some rows of a roll, and where those rows are, which are locked. */
struct pawl__pg_taken {
    struct pawl_job_id *ids;
    size_t count;
    struct pawl__pg_tid *places;
    size_t row_count;
};
/* What the call under construction finds: a place and a list of ids in each row. In the
 * transaction's arena. */
enum pawl_err pawl__pg_roll_take(struct pawl__backend *pg, struct pawl__pg_taken *out);
/* The ids, as a parameter of the call under construction. */
struct pawl__pg_list *pawl__pg_list_taken(struct pawl__backend *pg, int at,
                                          const struct pawl__pg_taken *taken);
/* Delete rows of a roll that are locked; `sql` takes their places as its parameter `at`. */
void pawl__pg_roll_delete(struct pawl__backend *pg, enum pawl__pg sql, int at,
                          const struct pawl__pg_tid *places, size_t count);
/* The ids in the first column, sorted, for pawl__pg_ids_have; in the transaction's arena. */
enum pawl_err pawl__pg_ids_sorted(struct pawl__backend *pg, const PGresult *rows,
                                  struct pawl_job_id **out);
bool pawl__pg_ids_have(const struct pawl_job_id *ids, size_t count, struct pawl_job_id id);

/* ---- other processes (channel.c) ---- */

pawl__wake_fn pawl__pg_wake;
pawl__identify_fn pawl__pg_identify;

/* ---- the janitor (janitor.c) ---- */

void pawl__pg_janitor_init(struct pawl__backend *pg);
/* After a commit: have the tables swept when many rows are worn out. */
void pawl__pg_janitor_consider(struct pawl__backend *pg);
void pawl__pg_janitor_close(struct pawl__backend *pg);

/* ---- fields and jobs (columns.c) ---- */

/* Columns of {{facts}}, {{stand}}, archived, {{names}}, in that order. */
enum {
    COL_ID,
    COL_LANE,
    COL_KEYS,
    COL_FACTS,
    COL_STAND = COL_FACTS + PAWL__JOB_FACTS_COUNT,
    COL_ARCHIVED = COL_STAND + PAWL__JOB_STAND_COUNT,
    COL_QUEUE,
    COL_TYPE,
    COL_WHOLE /* query_within */
};

/* The columns {{facts}}, from `first` on, into `job`, whose other fields become empty. Strings are
 * copied into `arena`. NOMEM. */
enum pawl_err pawl__pg_read_facts(const PGresult *result, int row, int first,
                                  struct pawl__arena *arena, struct pawl_job *job);
/* All columns up to COL_TYPE. */
enum pawl_err pawl__pg_read_job(const PGresult *result, int row, struct pawl__arena *arena,
                                struct pawl_job *job);

/* `count` columns from `first` on into the members of the struct at `out`. NULL is 0, false or "".
 * Strings are copied into `arena`. NOMEM. */
enum pawl_err pawl__pg_read(const PGresult *result, int row, int first,
                            const struct pawl__field *fields, size_t count,
                            struct pawl__arena *arena, void *out);
/* The value at `at` as the next of a list. */
void pawl__pg_list_offer(struct pawl__pg_list *list, enum pawl__kind kind, const void *at);
/* What a list of such values is. */
enum pawl__pg_kind pawl__pg_list_kind(enum pawl__kind kind);
/* A list for each field, as parameters from `first` on; and a struct as the next of each. */
void pawl__pg_lists(struct pawl__pg_conn *conn, int first, const struct pawl__field *fields,
                    size_t count, struct pawl__pg_list **out);
void pawl__pg_lists_offer(struct pawl__pg_list **lists, const struct pawl__field *fields,
                          size_t count, const void *row);

/* ---- reading the roll of what is ready (ready.c) ---- */

/* Where a lane's reading has come to. */
struct pawl__pg_cursor {
    struct pawl__claim_lane *lane;
    bool drained;                   /* nothing behind it */
    struct pawl__claim_order order; /* of the last row read */
    size_t dealt;                   /* how many of the newest picks are of this lane */
    size_t rows;                    /* to be read next; 0: nobody knows how many */
};

/* An id that was dealt out, to be claimed if the job says so. */
struct pawl__pg_pick {
    struct pawl_job_id id;
    struct pawl_job_id seat; /* the id, or the job's arrival */
    struct pawl__pg_cursor *cursor;
    bool settled; /* the claimer's */
};

struct pawl__pg_ready {
    struct pawl__backend *pg;
    struct pawl__pg_cursor *cursors;
    size_t cursor_count;
    struct pawl__pg_ready_row *rows; /* dealt out up to `first`; in order from there on */
    size_t first, count, cap;
    struct pawl__claim_order dealt; /* the last row of which something was dealt out */
    struct pawl__pg_pick *picks;    /* the newest */
    size_t pick_count, pick_max;
    int64_t rank_max; /* of those */
};

enum pawl_err pawl__pg_ready_open(struct pawl__pg_ready *ready, struct pawl__claim_lane *lanes,
                                  size_t count);
/* How many to pick next, at most `wanted`, to find `givable` jobs that have not expired; about so
 * many, since nothing is locked. The next pick reads the rows that have them at once. */
enum pawl_err pawl__pg_ready_ahead(struct pawl__pg_ready *ready, size_t wanted, size_t givable,
                                   size_t *out);
/* Is there anything on the roll that the claim wants, whoever holds it? */
enum pawl_err pawl__pg_ready_any(struct pawl__backend *pg, const struct pawl__claim *claim,
                                 bool *any);
/* Up to `limit` ids, the best first. */
enum pawl_err pawl__pg_ready_pick(struct pawl__pg_ready *ready, size_t limit, bool *more);
/* Take what was dealt out off the roll. */
void pawl__pg_ready_strike(struct pawl__pg_ready *ready);
void pawl__pg_ready_release(struct pawl__pg_ready *ready);

/* ---- new jobs (new.c) ---- */

/* Write new jobs, with their tags. Needs no answer: all are written, or the transaction fails. */
void pawl__pg_new_write(struct pawl__backend *pg, struct pawl__pg_new_row *rows, size_t count);
/* Write the new rows of the working set as they came. */
enum pawl_err pawl__pg_births_store(struct pawl__backend *pg);

/* ---- keys (keys.c) ---- */

/* The locks of all keys that the operations' jobs bring, or may take back; before any other lock is
 * taken. */
enum pawl_err pawl__pg_keys_lock(struct pawl__backend *pg, struct pawl__op **ops, size_t count);
pawl__load_keys_fn pawl__pg_keys_load;

/* ---- batches (apply.c) ---- */

pawl__apply_fn pawl__pg_apply;
/* Forget the numbers of this process's transactions, and of those that are long gone. */
enum pawl_err pawl__pg_turns_forget(struct pawl__backend *pg, struct pawl_diag *diag);
/* Connect the writer anew, whatever became of it before. */
enum pawl_err pawl__pg_reconnect(struct pawl__backend *pg, struct pawl_diag *diag);

/* ---- reads (read.c, query.c): see struct pawl__backend_table ---- */

extern const struct pawl__reads pawl__pg_reads;
extern const struct pawl__pages pawl__pg_pages;

#endif
