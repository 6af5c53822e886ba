/* Connections: prepared statements, binding, errors in our words, the pool of readers. */
#include "store/sqlite/sqlite.h"

#include <assert.h>
#include <string.h>

#define X(upper, lower) SQL_TEXT_##lower,
static const char *const texts[SQL_END] = { SQL_STATEMENTS(X) };
#undef X

enum pawl_err pawl__sq_error_code(int code)
{
    if (code == SQLITE_IOERR_NOMEM) return PAWL_ERR_NOMEM;
    if (code == SQLITE_IOERR_CORRUPTFS) return PAWL_ERR_CORRUPT;
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return PAWL_OK;
    case SQLITE_NOMEM:
        return PAWL_ERR_NOMEM;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL: // too many at once on the log's index: contention, too
        return PAWL_ERR_BUSY;
    case SQLITE_FULL:
        return PAWL_ERR_FULL;
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return PAWL_ERR_READONLY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return PAWL_ERR_CORRUPT;
    case SQLITE_CONSTRAINT: // the rows contradict each other; a taken id is asked about first
        return PAWL_ERR_CORRUPT;
    case SQLITE_SCHEMA:
    case SQLITE_ERROR: // "no such table": somebody took the schema away
        return PAWL_ERR_SCHEMA;
    default:
        return PAWL_ERR_IO;
    }
}

enum pawl_err pawl__sq_error(struct pawl__sq_conn *conn, struct pawl_diag *diag, const char *what)
{
    int code = conn->db ? sqlite3_extended_errcode(conn->db) : SQLITE_NOMEM;
    enum pawl_err err = pawl__sq_error_code(code);
    if (err == PAWL_OK) err = PAWL_ERR_IO;
    if (err == PAWL_ERR_NOMEM) return pawl__fail_nomem(diag);
    if (err == PAWL_ERR_BUSY) {
        return pawl__fail(diag, err,
                          "could not %s: another process holds the store's lock; try again, or "
                          "raise the busy timeout",
                          what);
    }
    return pawl__fail(diag, err, "could not %s: %s (%s, SQLite code %d)", what, pawl_err_text(err),
                      sqlite3_errmsg(conn->db), code);
}

sqlite3_stmt *pawl__sq_use(struct pawl__sq_conn *conn, enum pawl__sql sql)
{
    assert(sql < SQL_END);
    if (!conn->stmts[sql]) {
        int code = sqlite3_prepare_v3(conn->db, texts[sql], -1, SQLITE_PREPARE_PERSISTENT,
                                      &conn->stmts[sql], NULL);
        if (code != SQLITE_OK) {
            conn->refused = code; // what runs next on the connection would hide it
            return NULL;
        }
    }
    return conn->stmts[sql];
}

static enum pawl_err fail_prepare(struct pawl__sq_conn *conn, struct pawl_diag *diag)
{
    enum pawl_err err = pawl__sq_error_code(conn->refused);
    if (err == PAWL_ERR_NOMEM) return pawl__fail_nomem(diag);
    return pawl__fail(diag, err ? err : PAWL_ERR_IO, "could not prepare a statement: %s",
                      sqlite3_errstr(conn->refused));
}

enum pawl_err pawl__sq_run(struct pawl__sq_conn *conn, sqlite3_stmt *stmt, struct pawl_diag *diag)
{
    if (!stmt) return fail_prepare(conn, diag);
    int code;
    while ((code = sqlite3_step(stmt)) == SQLITE_ROW) {
    }
    enum pawl_err err = PAWL_OK;
    if (code != SQLITE_DONE) err = pawl__sq_error(conn, diag, "write to the store");
    sqlite3_reset(stmt); // repeats the code of the step
    return err;
}

enum pawl_err pawl__sq_insert(struct pawl__backend *sq, enum pawl__sql sql, bool *taken)
{
    sqlite3_stmt *stmt = pawl__sq_stmt(sq, sql);
    *taken = false;
    if (!stmt) return fail_prepare(&sq->writer, sq->set.diag);
    int code = sqlite3_step(stmt);
    enum pawl_err err = PAWL_OK;
    // a guest's says less
    if (code == SQLITE_CONSTRAINT) code = sqlite3_extended_errcode(sq->writer.db);
    if (code == SQLITE_CONSTRAINT_PRIMARYKEY || code == SQLITE_CONSTRAINT_ROWID) {
        *taken = true;
    } else if (code != SQLITE_DONE) {
        err = pawl__sq_error(&sq->writer, sq->set.diag, "write to the store");
    }
    sqlite3_reset(stmt);
    return err;
}

enum pawl_err pawl__sq_row(struct pawl__sq_conn *conn, sqlite3_stmt *stmt, bool *found,
                           struct pawl_diag *diag)
{
    *found = false;
    if (!stmt) return fail_prepare(conn, diag);
    int code = sqlite3_step(stmt);
    if (code == SQLITE_ROW) {
        *found = true;
        return PAWL_OK;
    }
    enum pawl_err err = PAWL_OK;
    if (code != SQLITE_DONE) err = pawl__sq_error(conn, diag, "read from the store");
    sqlite3_reset(stmt);
    return err;
}

enum pawl_err pawl__sq_exec(struct pawl__sq_conn *conn, enum pawl__sql sql, struct pawl_diag *diag)
{
    return pawl__sq_run(conn, pawl__sq_use(conn, sql), diag);
}

void pawl__sq_conn_release(struct pawl__sq_conn *conn)
{
    for (int i = 0; i < SQL_END; i++) {
        sqlite3_finalize(conn->stmts[i]);
        conn->stmts[i] = NULL;
    }
    sqlite3_close(conn->db);
    conn->db = NULL;
}

/* Binding to a prepared statement can fail only by a wrong number or a value beyond SQLite's
 * limits, which are far beyond ours: asserted, not returned. Everything bound outlives the step. */

void pawl__sq_bind(sqlite3_stmt *stmt, int at, int64_t value)
{
    if (!stmt) return; // the step that follows reports it
    int code = sqlite3_bind_int64(stmt, at, value);
    assert(code == SQLITE_OK);
    (void)code;
}

void pawl__sq_bind_null(sqlite3_stmt *stmt, int at)
{
    if (!stmt) return;
    int code = sqlite3_bind_null(stmt, at);
    assert(code == SQLITE_OK);
    (void)code;
}

void pawl__sq_bind_span(sqlite3_stmt *stmt, int at, struct pawl_span span)
{
    if (span.len) {
        pawl__sq_bind_whole(stmt, at, span);
    } else {
        pawl__sq_bind_null(stmt, at);
    }
}

void pawl__sq_bind_whole(sqlite3_stmt *stmt, int at, struct pawl_span span)
{
    if (!stmt) return;
    int code = sqlite3_bind_text(stmt, at, span.at, (int)span.len, SQLITE_STATIC);
    assert(code == SQLITE_OK);
    (void)code;
}

void pawl__sq_bind_text(sqlite3_stmt *stmt, int at, const char *text)
{
    pawl__sq_bind_span(stmt, at, (struct pawl_span){ text, text ? strlen(text) : 0 });
}

void pawl__sq_bind_bytes(sqlite3_stmt *stmt, int at, const void *bytes, size_t len)
{
    if (!stmt) return;
    if (len == 0) {
        pawl__sq_bind_null(stmt, at);
        return;
    }
    int code = sqlite3_bind_blob(stmt, at, bytes, (int)len, SQLITE_STATIC);
    assert(code == SQLITE_OK);
    (void)code;
}

static enum pawl_err connect_reader(struct pawl__backend *sq, struct pawl__sq_conn *conn,
                                    struct pawl_diag *diag)
{
    return pawl__sq_conn_open(
        &(struct pawl__sq_open){ .path = sq->path,
                                 .read_only = true,
                                 .settled = sq->read_only && pawl__sq_is_settled(sq->path),
                                 .busy_timeout_ms = sq->busy_timeout_ms },
        conn, diag);
}

/* In memory there is nothing that a second connection could see, so readers borrow the writer's
 * between transactions. */
enum pawl_err pawl__sq_reader_take(struct pawl__backend *sq, struct pawl__sq_conn **out,
                                   struct pawl_diag *diag)
{
    size_t at = pawl__pool_take(&sq->sql.pool);
    struct pawl__sq_conn *conn = sq->memory ? &sq->writer : &sq->readers[at];
    enum pawl_err err = conn->db ? PAWL_OK : connect_reader(sq, conn, diag);
    if (err) {
        pawl__pool_give(&sq->sql.pool, at, false);
        return err;
    }
    *out = conn;
    return PAWL_OK;
}

/* One that could not leave its transaction is not lent again, nor is one of a store that is opened
 * to read only: whether the file is all there is may be different next time. */
void pawl__sq_reader_give(struct pawl__backend *sq, struct pawl__sq_conn *conn)
{
    size_t at = sq->memory ? 0 : (size_t)(conn - sq->readers);
    bool stuck = conn->db && !sqlite3_get_autocommit(conn->db);
    if (!sq->memory && (stuck || sq->read_only)) pawl__sq_conn_release(conn);
    pawl__pool_give(&sq->sql.pool, at, conn->db != NULL);
}

enum pawl_err pawl__sq_read_begin(struct pawl__backend *sq, struct pawl__sq_conn **out,
                                  struct pawl_diag *diag)
{
    enum pawl_err err = pawl__sq_reader_take(sq, out, diag);
    if (err) return err;
    err = pawl__sq_exec(*out, SQL_BEGIN_READ, diag);
    if (err) pawl__sq_reader_give(sq, *out);
    return err;
}

void pawl__sq_read_end(struct pawl__backend *sq, struct pawl__sq_conn *conn)
{
    (void)pawl__sq_exec(conn, SQL_ROLLBACK, NULL);
    pawl__sq_reader_give(sq, conn);
}
