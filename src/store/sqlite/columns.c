/* Columns of a row: how SQLite gives them. */
#include "store/sqlite/columns.h"

bool pawl__sq_column_span(sqlite3_stmt *stmt, int column, struct pawl__arena *arena,
                          struct pawl_span *out)
{
    *out = (struct pawl_span){ "", 0 };
    if (sqlite3_column_type(stmt, column) == SQLITE_NULL) return true;
    const char *at = (const char *)sqlite3_column_text(stmt, column);
    if (!at) return false; // SQLite had no memory
    size_t len = (size_t)sqlite3_column_bytes(stmt, column);
    out->at = pawl__arena_dup(arena, at, len);
    out->len = len;
    return out->at != NULL;
}

static sqlite3_stmt *stmt_of(const void *row)
{
    return (sqlite3_stmt *)row;
}

static bool get_null(const void *row, int column)
{
    return sqlite3_column_type(stmt_of(row), column) == SQLITE_NULL;
}

static int64_t get_number(const void *row, int column)
{
    return sqlite3_column_int64(stmt_of(row), column);
}

static double get_real(const void *row, int column)
{
    return sqlite3_column_double(stmt_of(row), column);
}

static struct pawl_job_id get_id(const void *row, int column)
{
    struct pawl_job_id id = { { 0 } };
    if (sqlite3_column_bytes(stmt_of(row), column) == sizeof id) {
        memcpy(&id, sqlite3_column_blob(stmt_of(row), column), sizeof id);
    }
    return id;
}

static bool get_span(const void *row, int column, struct pawl__arena *arena, struct pawl_span *out)
{
    return pawl__sq_column_span(stmt_of(row), column, arena, out);
}

static const struct pawl__columns columns = { get_null, get_number, get_real, get_id, get_span };

enum pawl_err pawl__sq_read(sqlite3_stmt *stmt, int first, const struct pawl__field *fields,
                            size_t count, struct pawl__arena *arena, void *out)
{
    return pawl__columns_read(&columns, stmt, first, fields, count, arena, out);
}

enum pawl_err pawl__sq_read_facts(sqlite3_stmt *stmt, struct pawl__arena *arena,
                                  struct pawl_job *job)
{
    enum pawl_err err = pawl__columns_facts(&columns, stmt, COL_FACTS, arena, job);
    job->id = pawl__sq_row_id(stmt);
    return err;
}

enum pawl_err pawl__sq_read_job(sqlite3_stmt *stmt, struct pawl__arena *arena, struct pawl_job *job)
{
    enum pawl_err err = pawl__columns_job(&columns, stmt, COL_FACTS, arena, job);
    job->id = pawl__sq_row_id(stmt);
    return err;
}
