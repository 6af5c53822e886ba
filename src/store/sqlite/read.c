/* Running the statements of sql/read.c and sql/query.c.
 *
 * Runs on: the caller's thread, with a connection from the pool; or the committer's, with its own.
 */
#include "store/sqlite/sqlite.h"

#define P(statement, param) SQL_##statement##_##param,
#define X(name, params) [PAWL__READ_##name] = { SQL_##name, { params 0 } },
static const struct pawl__read_statement statements[PAWL__READ_END] = { PAWL__READS(X, P) };
#undef X
#undef P

static enum pawl_err begin(struct pawl__reader *reader)
{
    struct pawl__sq_conn *conn = &reader->backend->writer;
    enum pawl_err err = reader->inside ? PAWL_OK
                        : reader->lone ? pawl__sq_reader_take(reader->backend, &conn, reader->diag)
                                       : pawl__sq_read_begin(reader->backend, &conn, reader->diag);
    if (!err) reader->conn = conn;
    return err;
}

/* A statement that was drafted is for one use. */
enum { DRAFTED = 1 };

static void leave(struct pawl__reader *reader, int slot)
{
    if (reader->at[slot] == DRAFTED) {
        sqlite3_finalize(reader->rows[slot]);
    } else {
        sqlite3_reset(reader->rows[slot]); // one that was read to its end is reset already
    }
    reader->rows[slot] = NULL;
    reader->at[slot] = 0;
}

static void end(struct pawl__reader *reader)
{
    for (int i = 0; i < PAWL__READ_SLOTS; i++) {
        leave(reader, i);
    }
    if (reader->inside) return;
    if (reader->lone) {
        pawl__sq_reader_give(reader->backend, reader->conn);
    } else {
        pawl__sq_read_end(reader->backend, reader->conn);
    }
}

/* What is kept with a job is found by its key. */
static enum pawl_err bind_job(struct pawl__reader *reader, sqlite3_stmt *stmt, int at,
                              struct pawl_job_id id)
{
    bool archived;
    int64_t key;
    enum pawl_err err = pawl__sq_find(reader->conn, id, &key, &archived, reader->diag);
    if (!err) pawl__sq_bind(stmt, at, key);
    if (err != PAWL_ERR_NOT_FOUND) return err;
    pawl__sq_bind_null(stmt, at);
    return PAWL_OK;
}

static enum pawl_err bind(struct pawl__reader *reader, sqlite3_stmt *stmt, int at,
                          const struct pawl__value *value)
{
    switch (value->kind) {
    case PAWL__VALUE_NUMBER:
        pawl__sq_bind(stmt, at, value->number);
        break;
    case PAWL__VALUE_TEXT:
        pawl__sq_bind_whole(stmt, at, value->text);
        break;
    case PAWL__VALUE_ID:
        pawl__sq_bind_bytes(stmt, at, value->id.b, sizeof value->id.b);
        break;
    case PAWL__VALUE_JOB:
        return bind_job(reader, stmt, at, value->id);
    }
    return PAWL_OK;
}

static enum pawl_err ask(struct pawl__reader *reader, int slot, enum pawl__read what,
                         const struct pawl__value *values)
{
    const int *params = statements[what].params;
    sqlite3_stmt *stmt = pawl__sq_use(reader->conn, (enum pawl__sql)statements[what].sql);
    enum pawl_err err = PAWL_OK;
    reader->rows[slot] = stmt;
    for (size_t i = 0; !err && params[i]; i++) {
        err = bind(reader, stmt, params[i], &values[i]);
    }
    return err;
}

static enum pawl_err ask_draft(struct pawl__reader *reader, int slot,
                               const struct pawl__draft *draft)
{
    struct pawl__sq_conn *conn = reader->conn;
    sqlite3_stmt *stmt = NULL;
    leave(reader, slot);
    if (sqlite3_prepare_v2(conn->db, draft->sql.at, (int)draft->sql.len, &stmt, NULL)) {
        return pawl__sq_error(conn, reader->diag, "prepare a query");
    }
    reader->rows[slot] = stmt;
    reader->at[slot] = DRAFTED;
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < draft->count; i++) {
        err = bind(reader, stmt, (int)i + 1, &draft->values[i]);
    }
    return err;
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

static enum pawl_err row(struct pawl__reader *reader, int slot, int first,
                         const struct pawl__field *fields, size_t count, void *out)
{
    return pawl__sq_read(reader->rows[slot], first, fields, count, reader->arena, out);
}

static enum pawl_err write_row(struct pawl__reader *reader, enum pawl__read what,
                               const struct pawl__value *values)
{
    enum pawl_err err = ask(reader, 0, what, values);
    return err ? err : pawl__sq_run(reader->conn, reader->rows[0], reader->diag);
}

/* NOT_FOUND, without a diagnosis. */
static enum pawl_err read_job(struct pawl__sq_conn *conn, struct pawl_job_id id,
                              struct pawl__arena *arena, struct pawl_job *job,
                              struct pawl_diag *diag)
{
    bool archived, found;
    int64_t key;
    enum pawl_err err = pawl__sq_find(conn, id, &key, &archived, diag);
    if (err) return err;
    sqlite3_stmt *stmt = pawl__sq_use(conn, archived ? SQL_GET_ARCHIVED : SQL_GET_LIVE);
    pawl__sq_bind(stmt, archived ? (int)SQL_GET_ARCHIVED_key : (int)SQL_GET_LIVE_key, key);
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

static enum pawl_err job(struct pawl__reader *reader, int slot, struct pawl_job *out)
{
    return pawl__sq_read_job(reader->rows[slot], reader->arena, out);
}

static struct pawl__position position(struct pawl__reader *reader, int slot, bool ids)
{
    (void)ids; // rows of jobs and of ids begin alike
    sqlite3_stmt *stmt = reader->rows[slot];
    return (struct pawl__position){ true, sqlite3_column_int64(stmt, COL_KEY),
                                    pawl__sq_row_id(stmt) };
}

const struct pawl__reads pawl__sq_reads = {
    .begin = begin,
    .end = end,
    .ask = ask,
    .ask_draft = ask_draft,
    .ask_jobs = ask_jobs,
    .run = run,
    .next = next,
    .row = row,
    .write = write_row,
    .next_job = next_job,
    .job = job,
    .position = position,
    .pages = &pawl__sq_pages,
    .check = pawl__sq_check_file,
};
