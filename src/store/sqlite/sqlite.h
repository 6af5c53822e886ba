/* What the SQLite backend's files share. Only this folder includes sqlite3.h.
 *
 * Threads: the writer connection, the lane cache and the counters belong to the committer's thread.
 * Readers take a connection from the pool. A store in memory has one connection for all, passed
 * round under the pool's mutex. The checkpointer has a thread and a connection of its own. */
#ifndef PAWL_STORE_SQLITE_H
#define PAWL_STORE_SQLITE_H

#include "base/clock.h"
#include "base/diag.h"
#include "base/rng.h"
#include "base/sync.h"
#include "store/backend.h"
#include "store/core/catalog.h"
#include "store/core/fields.h"
#include "store/core/set.h"
#include "store/shown.h"
#include "store/sql/scan.h"
#include "store/notices.h"

#include "sqlite_sql.h"

/* Compiled into an extension, SQLite is the host's, and called through a table that it hands over.
 */
#ifdef PAWL_SQLITE_EXTENSION
#define sqlite3_api pawl__sqlite3_api
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3
#else
#include <sqlite3.h>
#endif

#define X(upper, lower) SQL_##upper,
enum pawl__sql { SQL_STATEMENTS(X) SQL_END };
#undef X

enum {
    PAWL__SQ_PATH_BYTES = 4096,
    PAWL__SQ_PAGE_BYTES = 8192,
    PAWL__SQ_ARGS_SHORT = 4096,       /* bytes of arguments that are read with the job */
    PAWL__SQ_CACHE_KIB = 65536,       /* the writer's */
    PAWL__SQ_READER_CACHE_KIB = 8192, /* each: the system caches the file as well */
    PAWL__SQ_CHECKPOINT_PAGES = 2000, /* a log this long wakes the checkpointer */
    PAWL__SQ_LOG_PAGES_MAX = 4096,    /* at this length the committer lends a hand */
    PAWL__SQ_HEAD_MAX = 8192,         /* jobs kept out of pawl_ready */
    PAWL__SQ_HEAD_ARGS_MAX = 256,     /* bytes of arguments that such a job may have */
    PAWL__SQ_HEAD_TURNS_MAX = 32      /* transactions that it may wait */
};

/* Bits of the column extras. */
enum {
    PAWL__SQ_EXTRAS_FIELDS = 1, /* any field behind args is set, or head or keys */
    PAWL__SQ_EXTRAS_ARGS = 2    /* args are longer than PAWL__SQ_ARGS_SHORT */
};

struct pawl__sq_conn {
    sqlite3 *db;
    sqlite3_stmt *stmts[SQL_END]; /* prepared when first used */
    int refused;                  /* SQLite's code for the newest that could not be */
};

/* A table whose rows are an array here; see rows.c. */
struct pawl__sq_source {
    const char *schema; /* CREATE TABLE x (...) */
    void (*column)(const void *rows, size_t at, int column, sqlite3_context *to);
    const void *rows;
    size_t count;
};

/* A job in memory; see head.c. */
struct pawl__sq_head_job {
    int64_t key, tail, rank, created_at_ms, due_at_ms;
    int32_t priority, attempts_max;
    uint32_t next; /* of the same lane, or free: index + 1 */
    uint32_t turn; /* when it came */
    uint32_t args_len;
    char args[PAWL__SQ_HEAD_ARGS_MAX];
};

struct pawl__sq_head {
    struct pawl__sq_head_job *jobs; /* PAWL__SQ_HEAD_MAX of them, once there was one */
    uint32_t free;                  /* index + 1 */
    uint32_t count;
    uint32_t first_lane; /* those with jobs: index + 1 */
    uint32_t turn;       /* transactions so far */
    bool valid;          /* memory and file agree */
    bool changed;        /* since pawl_head was written */
    bool kept;           /* pawl_head has its row */
};

struct pawl__sq_new_row {
    const struct pawl__new_job *job;
    int64_t key, tail, lane_id;
    struct pawl__settled settled;
    struct pawl_span keys; /* as pawl__row.keys */
    uint32_t lane;         /* index */
    bool extras;
    bool displaced; /* the key is not the first half of the id */
    bool in_head;   /* in memory instead of in pawl_ready */
};

/* New jobs as a table; see new.c. */
struct pawl__sq_news {
    struct pawl__sq_source source;
    struct pawl__sq_new_row *rows;
    size_t cap;
};

struct pawl__sq_run_row {
    int64_t n[8]; /* key, tail, lane, run, base_run, free_runs, started_at_ms, lease_until_ms */
    bool hidden;  /* has no tail: displaced, or with ties */
    const char *worker;
};

struct pawl__sq_end_row {
    struct pawl__op *op;
    int64_t n[5]; /* key, tail, run, owned, finished_at_ms */
    int64_t lane; /* of one that is owned */
};

struct pawl__sq_turn {
    int64_t key;
    size_t at; /* in `ended` */
};

/* See plain.c. */
struct pawl__sq_plain {
    struct pawl__sq_source runs, ends;
    struct pawl__sq_run_row *claimed;
    size_t claimed_count, claimed_cap;
    struct pawl__sq_end_row *ended;
    size_t ended_cap;
    struct pawl__sq_turn *turns; /* `ended` in order of key */
    size_t turn_cap;
};

/* What the working set is read and written through; see set.c. */
enum { PAWL__SQ_SET_SCHEMA_BYTES = 512 };

struct pawl__sq_set_list {
    struct pawl__sq_source source;
    const struct pawl__set_table *of;
    const struct pawl__list *list;
    char schema[PAWL__SQ_SET_SCHEMA_BYTES];
};

struct pawl__sq_set {
    struct pawl__sq_source rows;
    char schema[PAWL__SQ_SET_SCHEMA_BYTES];
    struct pawl__sq_set_list lists[PAWL__TABLES];
    const struct pawl__catalog *catalog;
    struct pawl__row **list;    /* what `rows` shows */
    struct pawl__row **changed; /* in order of key */
    int64_t args_max;           /* as the set's */
};

struct pawl__backend {
    struct pawl__sql_base sql; /* in memory the pool's one connection is the writer */
    char *path;                /* "" in memory */
    bool memory;
    bool read_only; /* readers alone are used */
    enum pawl_durability durability;
    int64_t busy_timeout_ms;
    const struct pawl_clock *clock;
    int turnstile; /* descriptor of the file whose lock makes processes take turns; -1: none */

    /* the committer's: */
    struct pawl__sq_conn writer;
    bool catalog_stale; /* read all of it again before the next transaction */
    struct pawl__sq_plain plain;
    struct pawl__sq_news news;
    struct pawl__sq_source keys; /* see keys.c */
    struct pawl__set set;
    struct pawl__sq_set set_tables;
    struct pawl__sq_head head;
    int64_t data_version;
    int64_t archived_through, purged_through; /* keys at which the walk of completed jobs stopped */
    int64_t archive_high;                     /* no key in the archive is above this */
    int64_t displaced_last;                   /* the last key that is not its id's first half */
    int log_pages; /* length of the write-ahead log after the newest commit */

    struct pawl__sq_conn readers[PAWL__READERS_MAX]; /* of the pool */

    pthread_t checkpointer;
    bool checkpointer_runs;
    struct pawl__mutex checkpoint_mutex;
    struct pawl__cond checkpoint_wanted;
    /* guarded by checkpoint_mutex: */
    bool checkpoint_due;
    bool checkpoint_closing;
};
_Static_assert(offsetof(struct pawl__backend, sql) == 0, "sql/read.c takes it from there");

/* ---- connections and statements (conn.c) ---- */

/* What SQLite's newest error on `conn` is called here, told as "could not <what>: ...". */
enum pawl_err pawl__sq_error(struct pawl__sq_conn *conn, struct pawl_diag *diag, const char *what);
/* For a bare result code. */
enum pawl_err pawl__sq_error_code(int code);
/* Ready to bind. NULL: it could not be prepared; see pawl__sq_error. */
sqlite3_stmt *pawl__sq_use(struct pawl__sq_conn *conn, enum pawl__sql sql);
/* Run to the end, reset. */
enum pawl_err pawl__sq_run(struct pawl__sq_conn *conn, sqlite3_stmt *stmt, struct pawl_diag *diag);
/* One step; `*found` says whether there is a row. The caller resets when there is one; without one
 * it is reset already. */
enum pawl_err pawl__sq_row(struct pawl__sq_conn *conn, sqlite3_stmt *stmt, bool *found,
                           struct pawl_diag *diag);
/* Run a statement that takes no parameters. */
enum pawl_err pawl__sq_exec(struct pawl__sq_conn *conn, enum pawl__sql sql, struct pawl_diag *diag);
void pawl__sq_conn_release(struct pawl__sq_conn *conn);

/* The same in the transaction under way, on the writer's connection. */
static inline sqlite3_stmt *pawl__sq_stmt(struct pawl__backend *sq, enum pawl__sql sql)
{
    return pawl__sq_use(&sq->writer, sql);
}
static inline enum pawl_err pawl__sq_step(struct pawl__backend *sq, sqlite3_stmt *stmt, bool *found)
{
    return pawl__sq_row(&sq->writer, stmt, found, sq->set.diag);
}
static inline enum pawl_err pawl__sq_end(struct pawl__backend *sq, sqlite3_stmt *stmt)
{
    return pawl__sq_run(&sq->writer, stmt, sq->set.diag);
}
static inline enum pawl_err pawl__sq_do(struct pawl__backend *sq, enum pawl__sql sql)
{
    return pawl__sq_exec(&sq->writer, sql, sq->set.diag);
}
/* An insert whose primary key may be taken; then nothing was written. */
enum pawl_err pawl__sq_insert(struct pawl__backend *sq, enum pawl__sql sql, bool *taken);

void pawl__sq_bind(sqlite3_stmt *stmt, int at, int64_t value);
void pawl__sq_bind_null(sqlite3_stmt *stmt, int at);
void pawl__sq_bind_span(sqlite3_stmt *stmt, int at, struct pawl_span span);  /* empty: NULL */
void pawl__sq_bind_text(sqlite3_stmt *stmt, int at, const char *text);       /* NULL or "": NULL */
void pawl__sq_bind_whole(sqlite3_stmt *stmt, int at, struct pawl_span span); /* "" is "" */
void pawl__sq_bind_bytes(sqlite3_stmt *stmt, int at, const void *bytes, size_t len);

/* A connection to read with; give it back. Waits for one when all are out. */
enum pawl_err pawl__sq_reader_take(struct pawl__backend *sq, struct pawl__sq_conn **out,
                                   struct pawl_diag *diag);
void pawl__sq_reader_give(struct pawl__backend *sq, struct pawl__sq_conn *conn);
/* The same inside one read transaction: what is read fits together. */
enum pawl_err pawl__sq_read_begin(struct pawl__backend *sq, struct pawl__sq_conn **out,
                                  struct pawl_diag *diag);
void pawl__sq_read_end(struct pawl__backend *sq, struct pawl__sq_conn *conn);

/* ---- opening (open.c), schema (migrate.c), turns (turnstile.c), log (checkpoint.c) ---- */

struct pawl__sq_open {
    const char *path;
    bool create;
    bool read_only;
    bool settled; /* and nothing beside the file counts: see pawl__sq_is_settled */
    bool memory;
    enum pawl_durability durability;
    int64_t busy_timeout_ms;
};

/* May this process make no files beside the store, and is there no log to be read? Then SQLite must
 * be told that the file is all there is. */
bool pawl__sq_is_settled(const char *path);

/* `path` as SQLite must be told to take it for a file. False: too long. */
bool pawl__sq_file_name(const char *path, char out[PAWL__SQ_PATH_BYTES]);
enum pawl_err pawl__sq_conn_open(const struct pawl__sq_open *how, struct pawl__sq_conn *out,
                                 struct pawl_diag *diag);
/* What a session begins with, and its memory. */
void pawl__sq_init(struct pawl__backend *sq, uint64_t seed);
void pawl__sq_release(struct pawl__backend *sq);
/* Bring the schema up to date. SCHEMA: newer, changed, or older with `no_migrate`. */
enum pawl_err pawl__sq_migrate(struct pawl__sq_conn *conn, const struct pawl_clock *clock,
                               bool no_migrate, struct pawl_diag *diag);
enum pawl_err pawl__sq_schema_read(struct pawl__sq_conn *conn, struct pawl_schema *out,
                                   struct pawl_diag *diag);
/* Does statfs's f_type name a file system that lives on another machine? */
bool pawl__sq_is_network_fs(int64_t type);

int pawl__sq_turnstile_open(const char *path); /* -1: there is none, which only costs fairness */
/* Inside the turnstile: has nobody else this store open? Then keep others out until _share. */
bool pawl__sq_turnstile_alone(int turnstile);
/* From now on others see that somebody has it open. */
void pawl__sq_turnstile_share(int turnstile);
void pawl__sq_turnstile_close(int turnstile);
void pawl__sq_turnstile_enter(int turnstile);
void pawl__sq_turnstile_leave(int turnstile);

enum pawl_err pawl__sq_checkpointer_open(struct pawl__backend *sq, struct pawl_diag *diag);
void pawl__sq_checkpointer_close(struct pawl__backend *sq);
/* After a commit: have the log written back when it is long. */
void pawl__sq_checkpoint_consider(struct pawl__backend *sq);

/* ---- lanes and counters (lane.c) ---- */

/* At the begin of a transaction: learn of what other processes made. */
enum pawl_err pawl__sq_catalog_refresh(struct pawl__backend *sq);
/* Find or make. */
enum pawl_err pawl__sq_lane_of(struct pawl__backend *sq, const char *queue, const char *type,
                               struct pawl__lane **out);
/* Before the commit: write the counters. */
enum pawl_err pawl__sq_counts_flush(struct pawl__backend *sq);

/* ---- arrays as tables (rows.c) ---- */

/* NULL: there is no such table any more. */
int pawl__sq_source_attach(sqlite3 *db, const char *name, struct pawl__sq_source *source);

/* ---- what goes without the working set (plain.c): see struct pawl__quick ---- */

enum pawl_err pawl__sq_plain_attach(struct pawl__backend *sq, struct pawl_diag *diag);
pawl__suits_fn pawl__sq_suits;
pawl__submit_plain_fn pawl__sq_submit_plain;
pawl__finish_plain_fn pawl__sq_finish_plain;
/* A run that was claimed; and write all of them: before places are read, or jobs looked for that
 * stand nowhere. */
enum pawl_err pawl__sq_runs_add(struct pawl__backend *sq, const struct pawl__sq_run_row *row);
enum pawl_err pawl__sq_runs_flush(struct pawl__backend *sq);

/* ---- new jobs (new.c) ---- */

/* SQLite's code. */
int pawl__sq_new_attach(struct pawl__backend *sq);
/* Room for so many. NULL: no memory. */
static inline struct pawl__sq_new_row *pawl__sq_new_room(struct pawl__backend *sq, size_t count)
{
    void *rows = pawl__room_for(sq->news.rows, &sq->news.cap, count, sizeof *sq->news.rows);
    return rows ? sq->news.rows = rows : NULL;
}
void pawl__sq_new_fill(const struct pawl__backend *sq, const struct pawl__new_job *job,
                       const struct pawl__settled *settled, uint32_t lane,
                       struct pawl__sq_new_row *out);
/* What pawl_set_new shows. */
void pawl__sq_new_show(struct pawl__backend *sq, const struct pawl__sq_new_row *rows, size_t count);
/* Write the new rows of the working set, but for their places; each is told its key. */
enum pawl_err pawl__sq_births_store(struct pawl__backend *sq, struct pawl__row **born,
                                    size_t count);

/* ---- keys (keys.c) ---- */

int pawl__sq_keys_attach(struct pawl__backend *sq);
pawl__load_keys_fn pawl__sq_keys_load;

/* ---- the working set (set.c, set_load.c, set_store.c, sweep.c, retire.c) ---- */

extern const struct pawl__core_table pawl__sq_core;
/* The virtual tables of the writer's connection. */
enum pawl_err pawl__sq_set_attach(struct pawl__backend *sq, struct pawl_diag *diag);
void pawl__sq_set_detach(sqlite3 *db);
/* What writes the rows of each table of PAWL__SET_TABLES. */
extern const enum pawl__sql pawl__sq_put[PAWL__TABLES];
/* Room for so many rows in set_tables.list and changed, until the set is cleared. */
PAWL_MUST_CHECK enum pawl_err pawl__sq_set_reserve(struct pawl__backend *sq, size_t count);
/* The first `count` rows of set_tables.list are pawl_set_row from now on. */
void pawl__sq_set_show(struct pawl__backend *sq, size_t count);
/* The same for rows of another table. */
void pawl__sq_set_show_list(struct pawl__backend *sq, enum pawl__table table,
                            const struct pawl__list *rows);
/* See struct pawl__core_table. */
pawl__load_fn pawl__sq_set_load;
pawl__load_records_fn pawl__sq_load_records;
pawl__store_fn pawl__sq_set_store;
pawl__queue_fn pawl__sq_queue;
pawl__lane_fn pawl__sq_lane_at;
pawl__scan_due_fn pawl__sq_scan_due;
pawl__promote_plain_fn pawl__sq_promote_plain;
pawl__next_due_fn pawl__sq_next_due;
pawl__scan_ended_fn pawl__sq_scan_ended;
pawl__scan_ready_fn pawl__sq_scan_ready, pawl__sq_claim_plain;
pawl__begin_fn pawl__sq_begin;
pawl__commit_fn pawl__sq_commit;
pawl__rollback_fn pawl__sq_rollback;
pawl__show_fn pawl__sq_show;

/* ---- jobs that have just come (head.c) ---- */

/* At the begin of a transaction, after the lanes. */
enum pawl_err pawl__sq_head_begin(struct pawl__backend *sq);
/* Keep a job that is in pawl_job by now in memory; false: it must go to pawl_ready. */
bool pawl__sq_head_take(struct pawl__backend *sq, const struct pawl__sq_new_row *row);
/* The job at `at` (index + 1). */
const struct pawl__sq_head_job *pawl__sq_head_at(const struct pawl__backend *sq, uint32_t at);
/* The first `count` of a lane were claimed. */
void pawl__sq_head_drop(struct pawl__backend *sq, struct pawl__lane *lane, size_t count);
/* Put all into pawl_ready, for operations that look there. */
enum pawl_err pawl__sq_head_absorb(struct pawl__backend *sq);
/* Before the commit: write down what is in memory. */
enum pawl_err pawl__sq_head_flush(struct pawl__backend *sq);

/* ---- other processes (wake.c) ---- */

pawl__wake_fn pawl__sq_wake;
pawl__identify_fn pawl__sq_identify;

/* ---- jobs (job.c) ---- */

/* Columns of {{facts}}, {{stand}}, archived, {{names}}, in that order. */
enum {
    COL_KEY,
    COL_TAIL,
    COL_HEAD,
    COL_LANE,
    COL_RANK,
    COL_EXTRAS,
    COL_KEYS,
    COL_FACTS,
    COL_STAND = COL_FACTS + PAWL__JOB_FACTS_COUNT,
    COL_ARCHIVED = COL_STAND + PAWL__JOB_STAND_COUNT,
    COL_QUEUE,
    COL_TYPE /* query_live, query_archive */
};
/* COL_priority and so on, for each field of those two groups. */
#define X(member, ...) COL_##member = COL_FACTS + PAWL__JOB_##member - PAWL__JOB_FACTS_FIRST,
enum { PAWL__JOB_FACTS(X) PAWL__JOB_STAND(X) };
#undef X

struct pawl__sq_halves {
    int64_t head, tail;
};

/* Keys are in order of arrival, and begin with about now: the first half of an id that was made
 * then, or for other ids that of one made in passing. Such jobs are displaced. */
#define PAWL__SQ_KEY_SLACK_MS INT64_C(3600000) /* what "about" means */
static inline int64_t pawl__sq_key_time(int64_t key)
{
    return key >> 16;
}
static inline int64_t pawl__sq_key_at(int64_t at_ms)
{
    return (int64_t)((uint64_t)at_ms << 16);
}
/* Can the first half of `id` be its key, now? */
bool pawl__sq_key_is_natural(const struct pawl__backend *sq, struct pawl_job_id id);
/* The id that says when the job came: its own unless another was given. */
struct pawl_job_id pawl__sq_arrival(const struct pawl__new_job *job);
/* Is the first half of the job's id to be its key, if it is free? */
bool pawl__sq_key_fits(const struct pawl__backend *sq, const struct pawl__new_job *job);

struct pawl__sq_halves pawl__sq_split(struct pawl_job_id id);
struct pawl_job_id pawl__sq_join(int64_t head, int64_t tail);
/* The id in a row that begins with {{facts}}. */
struct pawl_job_id pawl__sq_row_id(sqlite3_stmt *stmt);
/* ---- fields (columns.c) ---- */

/* `count` columns from `first` on into the members of the struct at `out`. NULL is 0, false or "".
 * Strings are copied into `arena`. NOMEM. */
enum pawl_err pawl__sq_read(sqlite3_stmt *stmt, int first, const struct pawl__field *fields,
                            size_t count, struct pawl__arena *arena, void *out);
/* The columns {{facts}} of a row into `job`, whose other fields become empty. Strings are copied
 * into `arena`. NOMEM. */
enum pawl_err pawl__sq_read_facts(sqlite3_stmt *stmt, struct pawl__arena *arena,
                                  struct pawl_job *job);
/* All columns up to COL_TYPE. */
enum pawl_err pawl__sq_read_job(sqlite3_stmt *stmt, struct pawl__arena *arena,
                                struct pawl_job *job);
/* A column's text in `arena`; "" for NULL. False: no memory. */
bool pawl__sq_column_span(sqlite3_stmt *stmt, int column, struct pawl__arena *arena,
                          struct pawl_span *out);

/* The key of a live or archived job. NOT_FOUND, without a diagnosis. */
enum pawl_err pawl__sq_find(struct pawl__sq_conn *conn, struct pawl_job_id id, int64_t *key,
                            bool *archived, struct pawl_diag *diag);

/* ---- batches (apply.c) ---- */

/* One operation, alone, in a transaction that is under way and has the lock; the rest as in
 * struct pawl__backend_table. An operation that failed for reasons of its own has written nothing
 * that others can see. */
enum pawl_err pawl__sq_apply_guest(struct pawl__backend *sq, struct pawl__op *op,
                                   struct pawl_diag *diag);
pawl__apply_fn pawl__sq_apply;

/* ---- reads (read.c, query.c, upkeep.c): see struct pawl__backend_table ---- */

extern const struct pawl__reads pawl__sq_reads;
extern const struct pawl__pages pawl__sq_pages;
/* For each connection: what filters call. SQLite's code. */
int pawl__sq_query_attach(sqlite3 *db);
pawl__backup_fn pawl__sq_backup;
/* The file itself, before a check of what is in it. */
enum pawl_err pawl__sq_check_file(struct pawl__reader *reader, struct pawl__findings *findings);

#endif
