/* Fields and what SQLite has in their place: columns of a row, parameters of a statement, values of
 * a table in memory (rows.c). Each kind of field is known here and in columns.h, and nowhere else.
 */
#include "store/sqlite/columns.h"

#include <string.h>

/* ---- reading ---- */

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

const char *pawl__sq_column_text(sqlite3_stmt *stmt, int column, struct pawl__arena *arena)
{
    struct pawl_span span;
    return pawl__sq_column_span(stmt, column, arena, &span) ? span.at : NULL;
}

static bool read_field(sqlite3_stmt *stmt, int column, enum pawl__kind kind,
                       struct pawl__arena *arena, void *at)
{
    switch (kind) {
    case PAWL__KIND_TEXT:
        return (*(const char **)at = pawl__sq_column_text(stmt, column, arena)) != NULL;
    case PAWL__KIND_JSON:
    case PAWL__KIND_ARGS:
    case PAWL__KIND_BYTES:
        return pawl__sq_column_span(stmt, column, arena, at);
    case PAWL__KIND_I64:
    case PAWL__KIND_TIME:
    case PAWL__KIND_AT:
    case PAWL__KIND_MS:
        *(int64_t *)at = sqlite3_column_int64(stmt, column);
        return true;
    case PAWL__KIND_I32:
    case PAWL__KIND_BITS:
        *(int32_t *)at = sqlite3_column_int(stmt, column);
        return true;
    case PAWL__KIND_REAL:
        *(double *)at = sqlite3_column_double(stmt, column);
        if (sqlite3_column_type(stmt, column) == SQLITE_NULL) *(double *)at = -1;
        return true;
    case PAWL__KIND_BOOL:
        *(bool *)at = sqlite3_column_int(stmt, column) != 0;
        return true;
    case PAWL__KIND_STATE:
    case PAWL__KIND_SOME_STATE:
        *(enum pawl_state *)at = (enum pawl_state)sqlite3_column_int(stmt, column);
        return true;
    case PAWL__KIND_ID:
        if (sqlite3_column_bytes(stmt, column) == sizeof(struct pawl_job_id)) {
            memcpy(at, sqlite3_column_blob(stmt, column), sizeof(struct pawl_job_id));
        }
        return true;
    case PAWL__KIND_END:
        break;
    }
    return true;
}

enum pawl_err pawl__sq_read(sqlite3_stmt *stmt, int column, const struct pawl__field *fields,
                            size_t count, struct pawl__arena *arena, void *out)
{
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        ok = read_field(stmt, column + (int)i, fields[i].kind, arena,
                        (char *)out + fields[i].offset);
    }
    return ok ? PAWL_OK : PAWL_ERR_NOMEM;
}
