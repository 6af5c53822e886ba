/* Reads: jobs by id and by filter, a job's story, statistics, nodes, locks, what programs keep.
 * Each is written once, over statements that every SQL backend has and a few functions that run
 * them.
 *
 * A read asks all its statements first, runs them, and then reads their rows: that is one round
 * trip on PostgreSQL, one transaction on both.
 *
 * Threads: any; a reader belongs to its caller. */
#ifndef PAWL_STORE_SQL_READ_H
#define PAWL_STORE_SQL_READ_H

#include "base/arena.h"
#include "fields/fields.h"
#include "store/core/doubts.h"
#include "store/core/fields.h"
#include "store/backend.h"
#include "store/sql/filter.h"
#include "store/sql/pool.h"

/* Statements, X(name, parameters), and the parameters of each, P(name, parameter), which every
 * backend has by these names. Which columns they give is said in read.c. */
#define PAWL__READS(X, P)                                                                          \
    X(STORY_FAILURES, P(STORY_FAILURES, job))                                                      \
    X(STORY_LOG, P(STORY_LOG, job))                                                                \
    X(STORY_AUDIT, P(STORY_AUDIT, job_id))                                                         \
    X(STORY_PROGRESS, P(STORY_PROGRESS, job))                                                      \
    X(STORY_CHECKPOINT, P(STORY_CHECKPOINT, job))                                                  \
    X(STATS_COUNTS, )                                                                              \
    X(STATS_BYTES, )                                                                               \
    X(JOB_NEXT_DUE, )                                                                              \
    X(MIGRATION_ALL, )                                                                             \
    X(NODES_ALL, )                                                                                 \
    X(LOCKS_ALL, )                                                                                 \
    X(SETTING_GET, P(SETTING_GET, name))                                                           \
    X(SETTING_LIST, P(SETTING_LIST, prefix))                                                       \
    X(TOKEN_ALL, )                                                                                 \
    X(SCHEMA_BY_URI, P(SCHEMA_BY_URI, name))                                                       \
    X(SCHEMA_BY_TYPE, P(SCHEMA_BY_TYPE, name))                                                     \
    X(CONFIG_LIST, P(CONFIG_LIST, name))                                                           \
    X(FLOW_ONE, P(FLOW_ONE, id))                                                                   \
    X(FLOW_ONE_COUNTS, P(FLOW_ONE_COUNTS, id))                                                     \
    X(FLOW_LIST, P(FLOW_LIST, id) P(FLOW_LIST, state) P(FLOW_LIST, name) P(FLOW_LIST, limit))      \
    X(FLOW_LIST_COUNTS, P(FLOW_LIST_COUNTS, id) P(FLOW_LIST_COUNTS, state)                         \
                            P(FLOW_LIST_COUNTS, name) P(FLOW_LIST_COUNTS, limit))                  \
    X(FLOW_NODES, P(FLOW_NODES, id))                                                               \
    X(FLOW_EDGES, P(FLOW_EDGES, id))                                                               \
    X(FLOW_GROUPS, P(FLOW_GROUPS, id))                                                             \
    X(FLOW_SIGNALS, P(FLOW_SIGNALS, id))                                                           \
    X(FLOW_OWN, P(FLOW_OWN, id))                                                                   \
    X(FLOW_PARENTS, P(FLOW_PARENTS, id))                                                           \
    X(FLOW_ENDED, P(FLOW_ENDED, after_ms) P(FLOW_ENDED, before_ms) P(FLOW_ENDED, limit))           \
    X(FLOW_OLD,                                                                                    \
      P(FLOW_OLD, after_ms) P(FLOW_OLD, before_ms) P(FLOW_OLD, kept_until_ms) P(FLOW_OLD, limit))  \
    X(FLOW_STALE, P(FLOW_STALE, now_ms) P(FLOW_STALE, limit))                                      \
    X(FLOW_STALE_NEXT, )                                                                           \
    X(FLOW_DOUBTS, P(FLOW_DOUBTS, until_ms) P(FLOW_DOUBTS, limit))                                 \
    X(SCHEDULE_ONE, P(SCHEDULE_ONE, name))                                                         \
    X(SCHEDULE_PLAN_ONE, P(SCHEDULE_PLAN_ONE, name))                                               \
    X(SCHEDULE_LIST, P(SCHEDULE_LIST, name) P(SCHEDULE_LIST, states) P(SCHEDULE_LIST, prefix)      \
                         P(SCHEDULE_LIST, owner) P(SCHEDULE_LIST, limit))                          \
    X(SCHEDULE_PLAN_LIST,                                                                          \
      P(SCHEDULE_PLAN_LIST, name) P(SCHEDULE_PLAN_LIST, states) P(SCHEDULE_PLAN_LIST, prefix)      \
          P(SCHEDULE_PLAN_LIST, owner) P(SCHEDULE_PLAN_LIST, limit))                               \
    X(FIRING_LIST, P(FIRING_LIST, name) P(FIRING_LIST, before) P(FIRING_LIST, limit))              \
    X(SCHEDULE_DUE, P(SCHEDULE_DUE, now_ms) P(SCHEDULE_DUE, limit))                                \
    X(SCHEDULE_NEXT, )                                                                             \
    X(QUEUE_ALL, )                                                                                 \
    X(LANE_SINCE, P(LANE_SINCE, id))                                                               \
    X(JOB_NEXT_EXPIRY, )                                                                           \
    X(KEY_FORGET, P(KEY_FORGET, now_ms) P(KEY_FORGET, limit))                                      \
    X(REQUEST_FORGET, P(REQUEST_FORGET, now_ms) P(REQUEST_FORGET, limit))                          \
    X(UNSETTLED_LIST, P(UNSETTLED_LIST, ties) P(UNSETTLED_LIST, after) P(UNSETTLED_LIST, limit))   \
    X(UNSETTLED_NEXT, P(UNSETTLED_NEXT, ties))                                                     \
    X(FLOW_WAITS, P(FLOW_WAITS, name) P(FLOW_WAITS, limit))                                        \
    X(FLOW_DUE, P(FLOW_DUE, now_ms) P(FLOW_DUE, limit))                                            \
    X(FLOW_NEXT_DUE, )                                                                             \
    X(NODE_CENSUS, P(NODE_CENSUS, now_ms) P(NODE_CENSUS, name))                                    \
    X(NODE_SILENT, P(NODE_SILENT, now_ms) P(NODE_SILENT, limit))                                   \
    X(NODE_OLD, P(NODE_OLD, before_ms) P(NODE_OLD, limit))                                         \
    X(LOCK_OWNED, P(LOCK_OWNED, owner) P(LOCK_OWNED, limit))                                       \
    X(DEADLINE_DUE, P(DEADLINE_DUE, before_ms) P(DEADLINE_DUE, limit))                             \
    X(DEADLINE_NEXT, )                                                                             \
    X(CHECK_PLACES, )                                                                              \
    X(CHECK_ORPHANS, )                                                                             \
    X(CHECK_FACTS, )                                                                               \
    X(CHECK_COUNTS, )                                                                              \
    X(CHECK_FLOWS, P(CHECK_FLOWS, limit))

#define X(name, params) PAWL__READ_##name,
enum pawl__read { PAWL__READS(X, P) PAWL__READ_END };
#undef X

enum { PAWL__READ_PARAMS_MAX = 5 };

/* A backend's table of them is made by these, with `P` as the name of a parameter's number and a
 * comma behind it: zero ends the list. */
struct pawl__read_statement {
    int sql; /* the backend's number of it */
    int params[PAWL__READ_PARAMS_MAX + 1];
};

enum { PAWL__READ_SLOTS = 8 };

struct pawl__catalog;
struct pawl__pages;
struct pawl__reads;
struct pawl__set;

/* A read under way. */
struct pawl__reader {
    struct pawl__backend *backend;
    const struct pawl__reads *reads;
    struct pawl__arena *arena; /* what is read is copied there */
    struct pawl_diag *diag;
    bool inside;                   /* the session's transaction, on its connection */
    bool lone;                     /* one statement is all: it needs no transaction around it */
    bool timed;                    /* `run` is to set: */
    int64_t now_ms;                /* the store's time */
    const struct pawl_job_id *ids; /* of the jobs that are wanted */
    size_t id_count;
    void *conn; /* the backend's from here on */
    void *rows[PAWL__READ_SLOTS];
    int at[PAWL__READ_SLOTS];
};

enum { PAWL__READ_JOBS = PAWL__READ_SLOTS - 1 }; /* the slot of the jobs */

/* The doubts that a statement in this slot has found. */
PAWL_MUST_CHECK enum pawl_err pawl__read_doubts(struct pawl__reader *reader, int slot,
                                                pawl__flow_doubt_fn *found, void *ctx);

/* What a check has found. */
struct pawl__findings {
    pawl_finding_fn *report;
    void *ctx;
    int64_t count;
};
void pawl__findings_add(struct pawl__findings *findings, const char *text);

/* What a backend supplies. Errors are said in reader->diag. */
struct pawl__reads {
    bool again; /* an idle connection may have been cut: after IO, once more with another */
    enum pawl_err (*begin)(struct pawl__reader *reader);
    void (*end)(struct pawl__reader *reader);
    /* `slot` is where its rows will be; there is a value for each parameter, which must live until
     * the rows are read. Of a job that is not there, there are no rows. */
    enum pawl_err (*ask)(struct pawl__reader *reader, int slot, enum pawl__read what,
                         const struct pawl__value *values);
    /* The same for a statement that was drafted. */
    enum pawl_err (*ask_draft)(struct pawl__reader *reader, int slot,
                               const struct pawl__draft *draft);
    /* The jobs in reader->ids, in that order, live or archived; in slot PAWL__READ_JOBS. */
    void (*ask_jobs)(struct pawl__reader *reader);
    /* After all was asked. */
    enum pawl_err (*run)(struct pawl__reader *reader);
    enum pawl_err (*next)(struct pawl__reader *reader, int slot, bool *found);
    /* Columns of the row that `next` found, from `first` on. NOMEM, without a diagnosis. */
    enum pawl_err (*row)(struct pawl__reader *reader, int slot, int first,
                         const struct pawl__field *fields, size_t count, void *out);
    /* A statement that gives no rows; need not wait for the answer. */
    enum pawl_err (*write)(struct pawl__reader *reader, enum pawl__read what,
                           const struct pawl__value *values);
    /* The next job that there is. */
    enum pawl_err (*next_job)(struct pawl__reader *reader, struct pawl_job *job, bool *found);
    /* The job of a page's row, and the position of that. NOMEM, without a diagnosis. */
    enum pawl_err (*job)(struct pawl__reader *reader, int slot, struct pawl_job *job);
    struct pawl__position (*position)(struct pawl__reader *reader, int slot, bool ids);
    const struct pawl__pages *pages; /* query.h */
    /* Before a check's statements are asked: what else is to be done or looked at. */
    enum pawl_err (*check)(struct pawl__reader *reader, struct pawl__findings *findings);
};

/* What a backend that has its reads from here begins with: struct pawl__backend's first member. */
struct pawl__sql_base {
    const struct pawl__reads *reads;
    struct pawl__pool pool;
    struct pawl__set *set; /* the session's; scan.h */
};

/* What is to be done with a reader between begin and end. May be called twice: it starts anew. */
typedef enum pawl_err pawl__read_fn(struct pawl__reader *reader, void *out);
enum pawl_err pawl__read_with(struct pawl__reader reader, pawl__read_fn *fn, void *out);
/* The one number of the one row; NULL is 0. */
enum pawl_err pawl__read_number(struct pawl__reader *reader, int slot, int64_t *out);

/* All rows of a slot, as records of a table; an array in the reader's arena. */
enum pawl_err pawl__read_records(struct pawl__reader *reader, int slot, enum pawl__table table,
                                 void **at, size_t *count);

pawl__get_fn pawl__read_get;
pawl__query_fn pawl__read_query;
pawl__count_fn pawl__read_count;
pawl__story_fn pawl__read_story;
pawl__stats_fn pawl__read_stats;
pawl__nodes_fn pawl__read_nodes;
pawl__locks_fn pawl__read_locks;
pawl__setting_fn pawl__read_setting;
pawl__settings_fn pawl__read_settings;
pawl__tokens_fn pawl__read_tokens;
pawl__schemas_fn pawl__read_schemas;
pawl__configs_fn pawl__read_configs;
pawl__flows_fn pawl__read_flows;         /* flows.c */
pawl__schedules_fn pawl__read_schedules; /* schedules.c */
pawl__check_fn pawl__read_check;

/* Ids that match, oldest first, inside the session's transaction; in `arena`. */
enum pawl_err pawl__read_match(struct pawl__backend *backend, const struct pawl_filter *filter,
                               int64_t limit, struct pawl__arena *arena, struct pawl_job_id **out,
                               size_t *count, struct pawl_diag *diag);

#endif
