/* Reads other than queries: jobs by id, a job's story, statistics, nodes, locks, settings, tokens.
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
#include "store/backend.h"
#include "store/sql/pool.h"

/* Statements by name. What they take, and which columns they give, is said in read.c. */
#define PAWL__READS(X)                                                                             \
    X(STORY_FAILURES)                                                                              \
    X(STORY_LOG)                                                                                   \
    X(STORY_DEEDS)                                                                                 \
    X(STORY_PROGRESS)                                                                              \
    X(STORY_CHECKPOINT)                                                                            \
    X(STATS_COUNTS)                                                                                \
    X(STATS_BYTES)                                                                                 \
    X(NEXT_DUE)                                                                                    \
    X(MIGRATION_ALL)                                                                               \
    X(NODES_ALL)                                                                                   \
    X(LOCKS_ALL)                                                                                   \
    X(SETTING_GET)                                                                                 \
    X(SETTING_LIST)                                                                                \
    X(TOKEN_ALL)

#define X(name) PAWL__READ_##name,
enum pawl__read { PAWL__READS(X) PAWL__READ_END };
#undef X

enum { PAWL__READ_SLOTS = 6 };

struct pawl__reads;

/* A read under way. */
struct pawl__reader {
    struct pawl__backend *backend;
    const struct pawl__reads *reads;
    struct pawl__arena *arena; /* what is read is copied there */
    struct pawl_diag *diag;
    bool lone;                     /* one statement is all: it needs no transaction around it */
    bool timed;                    /* `run` is to set: */
    int64_t now_ms;                /* the store's time */
    const struct pawl_job_id *ids; /* of the jobs that are wanted */
    size_t id_count;
    void *conn; /* the backend's from here on */
    void *rows[PAWL__READ_SLOTS];
    int at[PAWL__READ_SLOTS];
};

/* The one parameter of a statement: a text, or a job by its id. */
struct pawl__read_arg {
    const char *text;
    const struct pawl_job_id *id;
};

enum { PAWL__READ_JOBS = PAWL__READ_SLOTS - 1 }; /* the slot of the jobs */

/* What a backend supplies. Errors are said in reader->diag. */
struct pawl__reads {
    bool again; /* an idle connection may have been cut: after IO, once more with another */
    enum pawl_err (*begin)(struct pawl__reader *reader);
    void (*end)(struct pawl__reader *reader);
    /* `slot` is where its rows will be. Of a job that is not there, there are none. */
    enum pawl_err (*ask)(struct pawl__reader *reader, int slot, enum pawl__read what,
                         struct pawl__read_arg arg);
    /* The jobs in reader->ids, in that order, live or archived; in slot PAWL__READ_JOBS. */
    void (*ask_jobs)(struct pawl__reader *reader);
    /* After all was asked. */
    enum pawl_err (*run)(struct pawl__reader *reader);
    enum pawl_err (*next)(struct pawl__reader *reader, int slot, bool *found);
    /* Columns of the row that `next` found. NOMEM, without a diagnosis. */
    enum pawl_err (*row)(struct pawl__reader *reader, int slot, const struct pawl__field *fields,
                         size_t count, void *out);
    /* The next job that there is. */
    enum pawl_err (*next_job)(struct pawl__reader *reader, struct pawl_job *job, bool *found);
};

/* What a backend that has its reads from here begins with: struct pawl__backend's first member. */
struct pawl__sql_base {
    const struct pawl__reads *reads;
    struct pawl__pool pool;
};

pawl__get_fn pawl__read_get;
pawl__story_fn pawl__read_story;
pawl__stats_fn pawl__read_stats;
pawl__nodes_fn pawl__read_nodes;
pawl__locks_fn pawl__read_locks;
pawl__setting_fn pawl__read_setting;
pawl__settings_fn pawl__read_settings;
pawl__tokens_fn pawl__read_tokens;

#endif
