/* What a field is to SQLite, as a column of a table in memory (rows.c). Inline: where the kind is
 * known when it is compiled, as in new.c, which shows a table of new jobs column by column, no
 * switch is left. */
#ifndef PAWL_STORE_SQLITE_COLUMNS_H
#define PAWL_STORE_SQLITE_COLUMNS_H

#include "store/sql/columns.h"
#include "store/sqlite/sqlite.h"

/* The value at `at`. */
static inline void pawl__sq_result(sqlite3_context *to, enum pawl__kind kind, const void *at)
{
    const struct pawl__stored value = pawl__stored_of(kind, at);
    switch (value.is) {
    case PAWL__STORED_NULL:
        sqlite3_result_null(to);
        break;
    case PAWL__STORED_NUMBER:
        sqlite3_result_int64(to, value.number);
        break;
    case PAWL__STORED_REAL:
        sqlite3_result_double(to, value.real);
        break;
    case PAWL__STORED_TEXT:
        sqlite3_result_text(to, value.span.at, (int)value.span.len, SQLITE_STATIC);
        break;
    case PAWL__STORED_BYTES:
        sqlite3_result_blob(to, value.span.at, (int)value.span.len, SQLITE_STATIC);
        break;
    }
}

#endif
