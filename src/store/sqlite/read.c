/* Running the statements of sql/read.c.
 *
 * Runs on: the caller's thread, with a connection from the pool. */
#include "store/sqlite/sqlite.h"

#include <assert.h>

static const enum pawl__sql statements[PAWL__READ_END] = {
    [PAWL__READ_STORY_FAILURES] = SQL_STORY_FAILURES,
    [PAWL__READ_STORY_LOG] = SQL_STORY_LOG,
    [PAWL__READ_STORY_DEEDS] = SQL_STORY_DEEDS,
    [PAWL__READ_STORY_PROGRESS] = SQL_STORY_PROGRESS,
    [PAWL__READ_STORY_CHECKPOINT] = SQL_STORY_CHECKPOINT,
    [PAWL__READ_STATS_COUNTS] = SQL_STATS_COUNTS,
    [PAWL__READ_STATS_BYTES] = SQL_STATS_BYTES,
    [PAWL__READ_NEXT_DUE] = SQL_WAIT_NEXT_DUE,
    [PAWL__READ_MIGRATION_ALL] = SQL_MIGRATION_ALL,
    [PAWL__READ_NODES_ALL] = SQL_NODES_ALL,
    [PAWL__READ_LOCKS_ALL] = SQL_LOCKS_ALL,
    [PAWL__READ_SETTING_GET] = SQL_SETTING_GET,
    [PAWL__READ_SETTING_LIST] = SQL_SETTING_LIST,
    [PAWL__READ_TOKEN_ALL] = SQL_TOKEN_ALL,
};

static enum pawl_err begin(struct pawl__reader *reader)
{
    struct pawl__sq_conn *conn;
    enum pawl_err err = reader->lone ? pawl__sq_reader_take(reader->backend, &conn, reader->diag)
                                     : pawl__sq_read_begin(reader->backend, &conn, reader->diag);
    if (!err) reader->conn = conn;
    return err;
}

static void end(struct pawl__reader *reader)
{
    for (int i = 0; i < PAWL__READ_SLOTS; i++) {
        sqlite3_reset(reader->rows[i]); // one that was read to its end is reset already
    }
    if (reader->lone) {
        pawl__sq_reader_give(reader->backend, reader->conn);
    } else {
        pawl__sq_read_end(reader->backend, reader->conn);
    }
}

static enum pawl_err find(struct pawl__sq_conn *conn, struct pawl_job_id id, bool *archived,
                          int64_t *key, struct pawl_diag *diag)
{
    enum pawl_err err = pawl__sq_find(conn, id, key, diag);
    *archived = err == PAWL_ERR_NOT_FOUND;
    return *archived ? pawl__sq_find_archived(conn, id, key, diag) : err;
}

/* What is kept with a job is found by its key, but for the audit. */
static enum pawl_err bind_job(struct pawl__sq_conn *conn, sqlite3_stmt *stmt, enum pawl__read what,
                              const struct pawl_job_id *id, struct pawl_diag *diag)
{
    bool archived;
    int64_t key;
    if (what == PAWL__READ_STORY_DEEDS) {
        pawl__sq_bind_bytes(stmt, 1, id->b, sizeof id->b);
        return PAWL_OK;
    }
    enum pawl_err err = find(conn, *id, &archived, &key, diag);
    if (!err) pawl__sq_bind(stmt, 1, key);
    if (err != PAWL_ERR_NOT_FOUND) return err;
    pawl__sq_bind_null(stmt, 1);
    return PAWL_OK;
}

static enum pawl_err ask(struct pawl__reader *reader, int slot, enum pawl__read what,
                         struct pawl__read_arg arg)
{
    sqlite3_stmt *stmt = pawl__sq_use(reader->conn, statements[what]);
    reader->rows[slot] = stmt;
    if (arg.text) pawl__sq_bind_text(stmt, 1, arg.text);
    return arg.id ? bind_job(reader->conn, stmt, what, arg.id, reader->diag) : PAWL_OK;
}

static void ask_jobs(struct pawl__reader *reader)
{
    reader->at[PAWL__READ_JOBS] = 0; // of reader->ids: they are looked for one by one
}

static enum pawl_err run(struct pawl__reader *reader)
{
    if (reader->timed) reader->now_ms = pawl__clock_wall_ms(reader->backend->clock);
    return PAWL_OK;
}

static enum pawl_err next(struct pawl__reader *reader, int slot, bool *found)
{
    return pawl__sq_row(reader->conn, reader->rows[slot], found, reader->diag);
}

static enum pawl_err row(struct pawl__reader *reader, int slot, const struct pawl__field *fields,
                         size_t count, void *out)
{
    return pawl__sq_read(reader->rows[slot], 0, fields, count, reader->arena, out);
}

/* NOT_FOUND, without a diagnosis. */
static enum pawl_err read_job(struct pawl__sq_conn *conn, struct pawl_job_id id,
                              struct pawl__arena *arena, struct pawl_job *job,
                              struct pawl_diag *diag)
{
    bool archived, found;
    int64_t key;
    enum pawl_err err = find(conn, id, &archived, &key, diag);
    if (err) return err;
    sqlite3_stmt *stmt = pawl__sq_use(conn, archived ? SQL_GET_ARCHIVED : SQL_GET_LIVE);
    pawl__sq_bind(stmt, 1, key);
    err = pawl__sq_row(conn, stmt, &found, diag);
    if (err || !found) return err ? err : PAWL_ERR_NOT_FOUND;
    err = pawl__sq_read_job(stmt, arena, job);
    sqlite3_reset(stmt);
    return err ? pawl__fail_nomem(diag) : PAWL_OK;
}

static enum pawl_err next_job(struct pawl__reader *reader, struct pawl_job *job, bool *found)
{
    *found = false;
    while ((size_t)reader->at[PAWL__READ_JOBS] < reader->id_count) {
        struct pawl_job_id id = reader->ids[reader->at[PAWL__READ_JOBS]++];
        enum pawl_err err = read_job(reader->conn, id, reader->arena, job, reader->diag);
        *found = !err;
        if (err != PAWL_ERR_NOT_FOUND) return err;
    }
    return PAWL_OK;
}

const struct pawl__reads pawl__sq_reads = {
    .begin = begin,
    .end = end,
    .ask = ask,
    .ask_jobs = ask_jobs,
    .run = run,
    .next = next,
    .row = row,
    .next_job = next_job,
};
