/* A store in maps and ordered indexes: no SQL, no file, gone when it is closed.
 *
 * It is for unit tests of rules, for a simulator, and below stores that are a log. It is not one
 * that jobs can be trusted to, so the library does not know its scheme: programs that want it name
 * it in their own list of backends (backends.c; tests/memory has one). It has no fast path: all
 * goes through the working set.
 *
 * 1. A row is never changed. Its successor takes its place in all indexes of its table, and the
 *    journal keeps it until the transaction ends; so what a working set has read stays where it is,
 *    and a rollback puts old rows back, without needing memory.
 * 2. A row holds its texts: it is one block of memory.
 * 3. Live and archived jobs are in one table.
 *
 * Threads: `mutex` is held for a whole transaction, and by each read. */
#ifndef PAWL_STORE_MEMORY_H
#define PAWL_STORE_MEMORY_H

#include "base/sync.h"
#include "store/backend.h"
#include "store/core/set.h"

/* ---- rows and their indexes ---- */

enum {
    PAWL__MEM_ORDERS_MAX = 7,
    PAWL__MEM_SCHEMA = 1 /* each store is made anew, so there is no other version */
};

struct pawl__mem_row {
    struct pawl_job_id of; /* the job that it is, or belongs to */
    int64_t seq;           /* when it came; its successors keep that */
    const struct pawl__mem_shape *shape;
    uint64_t weight;  /* by chance: keeps the indexes balanced */
    size_t bytes;     /* of the block */
    const void *data; /* a struct of its table */
    struct pawl__mem_node {
        struct pawl__mem_row *left, *right;
    } nodes[]; /* one for each index of its table */
};

typedef int pawl__mem_compare_fn(const struct pawl__mem_row *a, const struct pawl__mem_row *b);
typedef bool pawl__mem_holds_fn(const struct pawl__mem_row *row);

/* A treap: a binary tree in order of `compare`, in which a row's weight is at least that of its
 * children. */
struct pawl__mem_index {
    pawl__mem_compare_fn *compare;
    size_t at; /* in the rows' nodes */
    struct pawl__mem_row *root;
};

void pawl__mem_link(struct pawl__mem_index *index, struct pawl__mem_row *row);
void pawl__mem_unlink(struct pawl__mem_index *index, struct pawl__mem_row *row);
/* The first row from `row` on, behind it, and the last one before it. `row` need not be in the
 * index; NULL: the first of all, and the last. */
struct pawl__mem_row *pawl__mem_from(const struct pawl__mem_index *index,
                                     const struct pawl__mem_row *row);
struct pawl__mem_row *pawl__mem_after(const struct pawl__mem_index *index,
                                      const struct pawl__mem_row *row);
struct pawl__mem_row *pawl__mem_before(const struct pawl__mem_index *index,
                                       const struct pawl__mem_row *row);

/* ---- tables ---- */

enum pawl__mem_table {
    PAWL__MEM_JOB,
    PAWL__MEM_QUEUE,
    PAWL__MEM_KEY,
    PAWL__MEM_FAILURE,
    PAWL__MEM_PROGRESS,
    PAWL__MEM_CHECKPOINT,
    PAWL__MEM_LINE,
    PAWL__MEM_AUDIT,
    PAWL__MEM_UNSETTLED,
    PAWL__MEM_FIRING,
    PAWL__MEM_RECORDS, /* and behind it: one for each kind, see pawl__mem_table_of */
    PAWL__MEM_TABLES = PAWL__MEM_RECORDS + PAWL__RECORD_KINDS
};
#define PAWL__MEM_RECORD(name) (PAWL__MEM_RECORDS + PAWL__RECORD_##name)
#define PAWL__MEM_DEADLINE PAWL__MEM_RECORD(DEADLINE)

/* The first index of a table tells its rows apart. */
enum { PAWL__MEM_BY_KEY };
enum { PAWL__MEM_KEY_BY_DIGEST, PAWL__MEM_KEY_BY_END, PAWL__MEM_KEY_ORDERS };
enum {
    PAWL__MEM_JOB_BY_ID,
    PAWL__MEM_JOB_BY_AGE,
    PAWL__MEM_JOB_READY,  /* those that are available, by lane and rank */
    PAWL__MEM_JOB_DUE,    /* those that wait for a time */
    PAWL__MEM_JOB_LEASE,  /* those that have one */
    PAWL__MEM_JOB_EXPIRY, /* those that can expire now */
    PAWL__MEM_JOB_ENDED,  /* in the archive or not, by state and time */
    PAWL__MEM_JOB_ORDERS
};

/* The fields of a job as they are kept: facts, rank and keys, where it stands, its result. */
struct pawl__mem_job {
    struct pawl_job_id seat; /* of its rank, jobs run in this order */
    uint32_t lane;
    bool archived;
    int64_t rank;
    struct pawl_span keys, result;
#define X(member, column, kind, ...) typeof(((struct pawl__kinds *)0)->kind) member;
    PAWL__JOB_FACTS(X)
    PAWL__ROW_STAND(X)
#undef X
};

struct pawl__mem_queue {
    const char *name;
    int64_t created_at_ms;
    bool paused, forgotten;
};

struct pawl__mem_order {
    pawl__mem_compare_fn *compare;
    pawl__mem_holds_fn *holds; /* NULL: it has all rows */
};

/* `of`: the struct of its rows, and the fields whose texts are copied. */
struct pawl__mem_shape {
    const struct pawl__set_table *of;
    size_t ids; /* BY_KEY: by how many of its fields a record is told apart */
    size_t order_count;
    struct pawl__mem_order orders[PAWL__MEM_ORDERS_MAX];
};

extern const struct pawl__mem_shape pawl__mem_shapes[PAWL__MEM_TABLES];

/* Where records of a kind are kept; kinds that are written alike share a table. */
enum pawl__mem_table pawl__mem_table_of(enum pawl__record_kind kind);

/* ---- the store ---- */

struct pawl__mem_change {
    enum pawl__mem_table table;
    struct pawl__mem_row *was, *is; /* NULL: there was none, there is none */
};

struct pawl__mem_counts {
    int64_t n[PAWL_STATE_END]; /* NONE: archived */
};

struct pawl__backend {
    const struct pawl_clock *clock;
    struct pawl__mutex mutex;
    /* guarded by mutex: */
    struct pawl__mem_index tables[PAWL__MEM_TABLES][PAWL__MEM_ORDERS_MAX];
    struct pawl__mem_change *journal; /* of the transaction */
    size_t change_count, change_cap;
    int64_t seq;
    int64_t bytes;                   /* of all rows */
    struct pawl__mem_counts *counts; /* by lane */
    size_t count_cap;
    uint32_t lane_count, queue_count; /* of the catalogue, when the transaction began */
    /* the committer's: */
    struct pawl__set set; /* the mutex guards its catalogue, too: reads name queues by it */
    bool taken;           /* an id that should be new was taken: the transaction is done again */
    bool again;           /* another row that should be new was there: the same */
};

extern const struct pawl__backend_table pawl__backend_memory;
extern const struct pawl__core_table pawl__mem_core;

/* ---- changing rows, within a transaction (rows.c) ---- */

/* Of rows that belong to no job. */
extern const struct pawl_job_id pawl__mem_no_job;

/* The row with the key of a struct; NULL: none. */
struct pawl__mem_row *pawl__mem_find(const struct pawl__backend *mem, enum pawl__mem_table table,
                                     struct pawl_job_id of, const void *data);
/* One more row, or one in the place of that with the same key: a copy of `data`. NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__mem_put(struct pawl__backend *mem, enum pawl__mem_table table,
                                            struct pawl_job_id of, const void *data);
PAWL_MUST_CHECK enum pawl_err pawl__mem_drop(struct pawl__backend *mem, enum pawl__mem_table table,
                                             struct pawl__mem_row *row);
void pawl__mem_keep(struct pawl__backend *mem);
void pawl__mem_undo(struct pawl__backend *mem);
void pawl__mem_rows_release(struct pawl__backend *mem);

/* The struct of a row with its texts in `arena`. False: no memory. */
bool pawl__mem_copy(enum pawl__mem_table table, const void *data, struct pawl__arena *arena,
                    void *out);

/* ---- finding rows ---- */

static inline const struct pawl__mem_job *pawl__mem_job_of(const struct pawl__mem_row *row)
{
    return row->data;
}

static inline const struct pawl__mem_index *
pawl__mem_index_of(const struct pawl__backend *mem, enum pawl__mem_table table, size_t at)
{
    return &mem->tables[table][at];
}

/* All rows of an index, in order; the row at hand may be replaced or dropped. */
#define PAWL__MEM_EACH(row, mem, table, at)                                                        \
    for (struct pawl__mem_row *row = pawl__mem_from(pawl__mem_index_of(mem, table, at), NULL);     \
         row; row = pawl__mem_after(pawl__mem_index_of(mem, table, at), row))

/* A job by its id; NULL: none. */
struct pawl__mem_row *pawl__mem_job_find(const struct pawl__backend *mem, struct pawl_job_id id);
/* The first row of a table that belongs to a job, and the next; NULL: there is none. */
struct pawl__mem_row *pawl__mem_first_of(const struct pawl__backend *mem,
                                         enum pawl__mem_table table, struct pawl_job_id of);
struct pawl__mem_row *pawl__mem_next_of(const struct pawl__backend *mem, enum pawl__mem_table table,
                                        const struct pawl__mem_row *row);

/* A queue by its name; NULL: none. */
const struct pawl__mem_queue *pawl__mem_queue_find(const struct pawl__backend *mem,
                                                   const char *name);

/* ---- the working set (load.c, store.c, scan.c) ---- */

enum pawl_err pawl__mem_lane(struct pawl__backend *mem, const char *queue, const char *type,
                             uint32_t *out, struct pawl_diag *diag);
enum pawl_err pawl__mem_load(struct pawl__backend *mem, struct pawl__set *set, bool wait);
enum pawl_err pawl__mem_load_keys(struct pawl__backend *mem, struct pawl__set *set, bool wait);
enum pawl_err pawl__mem_load_records(struct pawl__backend *mem, struct pawl__set *set);
enum pawl_err pawl__mem_store(struct pawl__backend *mem, struct pawl__set *set);
enum pawl_err pawl__mem_scan_due(struct pawl__backend *mem, enum pawl__due what, int64_t limit,
                                 struct pawl_job_id *ids, size_t *count, bool *more);
enum pawl_err pawl__mem_next_due(struct pawl__backend *mem, enum pawl__due what, int64_t *at_ms);
enum pawl_err pawl__mem_forget_keys(struct pawl__backend *mem, int64_t limit);
enum pawl_err pawl__mem_unsettled(struct pawl__backend *mem, int32_t ties, int64_t after,
                                  int64_t limit);
enum pawl_err pawl__mem_next_unsettled(struct pawl__backend *mem, int32_t ties, int64_t *at_ms);
enum pawl_err pawl__mem_scan_flows(struct pawl__backend *mem, int64_t limit);
enum pawl_err pawl__mem_scan_ended_flows(struct pawl__backend *mem, const struct pawl__ended *what);
enum pawl_err pawl__mem_flow_doubts(struct pawl__backend *mem, int64_t until_ms, int64_t limit,
                                    pawl__flow_doubt_fn *found, void *ctx);
enum pawl_err pawl__mem_next_flow(struct pawl__backend *mem, int64_t *at_ms);
/* The same of all flows. False: no memory. */
bool pawl__mem_check_flows(const struct pawl__backend *mem, pawl__flow_doubt_fn *found, void *ctx);
pawl__scan_schedules_fn pawl__mem_scan_schedules;
pawl__next_schedule_fn pawl__mem_next_schedule;
enum pawl_err pawl__mem_scan_ended(struct pawl__backend *mem, const struct pawl__ended *what,
                                   bool *more);
enum pawl_err pawl__mem_census(struct pawl__backend *mem, const char *name, struct pawl_census *out,
                               int64_t *silent);
enum pawl_err pawl__mem_scan_nodes(struct pawl__backend *mem, enum pawl__nodes which, int64_t at_ms,
                                   int64_t limit);
enum pawl_err pawl__mem_scan_deadlines(struct pawl__backend *mem, int64_t before_ms, int64_t limit);
enum pawl_err pawl__mem_next_deadline(struct pawl__backend *mem, int64_t *at_ms);
enum pawl_err pawl__mem_scan_locks(struct pawl__backend *mem, const char *owner, int64_t limit);
pawl__scan_timers_fn pawl__mem_scan_timers;
pawl__next_timer_fn pawl__mem_next_timer;
pawl__scan_waits_fn pawl__mem_scan_waits;
pawl__scan_ready_fn pawl__mem_scan_ready;
enum pawl_err pawl__mem_match(struct pawl__backend *mem, const struct pawl_filter *filter,
                              int64_t limit, struct pawl__arena *arena, struct pawl_job_id **ids,
                              size_t *count);

/* ---- reads ---- */

/* Rows as an array of what callers see. */
struct pawl__mem_listing {
    enum pawl__mem_table table;
    size_t bytes;
    bool (*wants)(const void *data, const char *text); /* NULL: all rows */
    void (*convert)(const struct pawl__backend *mem, const void *data, void *out);
};
struct pawl__mem_list {
    void *at;
    size_t count;
};
/* Those of a job, or all of the table: `of` NULL; `text` is for `wants`. False: no memory. */
bool pawl__mem_list(const struct pawl__backend *mem, const struct pawl__mem_listing *listing,
                    const struct pawl_job_id *of, const char *text, struct pawl__arena *arena,
                    struct pawl__mem_list *out);

/* The job as callers see it; its texts are the row's. */
struct pawl_job pawl__mem_view(const struct pawl__backend *mem, const struct pawl__mem_row *row);
/* Has a filter this job? `scratch` is for what is parsed, and reset. */
bool pawl__mem_passes(const struct pawl_filter *filter, const struct pawl_job *job,
                      struct pawl__arena *scratch);
pawl__get_fn pawl__mem_get;
pawl__query_fn pawl__mem_query;
pawl__count_fn pawl__mem_count;
pawl__story_fn pawl__mem_story;
pawl__stats_fn pawl__mem_stats;
pawl__nodes_fn pawl__mem_nodes;
pawl__locks_fn pawl__mem_locks;
pawl__setting_fn pawl__mem_setting;
pawl__settings_fn pawl__mem_settings;
pawl__tokens_fn pawl__mem_tokens;
pawl__schemas_fn pawl__mem_schemas;
pawl__configs_fn pawl__mem_configs;
pawl__flows_fn pawl__mem_flows;
pawl__schedules_fn pawl__mem_schedules;
pawl__check_fn pawl__mem_check;

#endif
