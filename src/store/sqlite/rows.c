/* Rows that live in C, as a table that statements can read: so a whole batch goes to SQLite in one
 * statement, at half the cost of a step for every row. (The idea is that of SQLite's carray.) */
#include "store/sqlite/sqlite.h"

#include <stddef.h>
#include <stdlib.h>

struct table {
    sqlite3_vtab base;
    const struct pawl__sq_source *source;
};

struct table_cursor {
    sqlite3_vtab_cursor base;
    const struct pawl__sq_source *source;
    size_t at;
};

static int connect_table(sqlite3 *db, void *aux, int argc, const char *const *argv,
                         sqlite3_vtab **out, char **error)
{
    (void)argc;
    (void)argv;
    (void)error;
    const struct pawl__sq_source *source = aux;
    int code = sqlite3_declare_vtab(db, source->schema);
    if (code != SQLITE_OK) return code;
    struct table *table = calloc(1, sizeof *table);
    if (!table) return SQLITE_NOMEM;
    table->source = source;
    *out = &table->base;
    return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *base)
{
    free(base);
    return SQLITE_OK;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    (void)base;
    info->estimatedCost = 1000; // there is one way only: from the first to the last
    info->estimatedRows = 1000;
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    struct table_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor) return SQLITE_NOMEM;
    cursor->source = ((struct table *)base)->source;
    *out = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    free(base);
    return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
                  sqlite3_value **argv)
{
    (void)number;
    (void)text;
    (void)argc;
    (void)argv;
    ((struct table_cursor *)base)->at = 0;
    return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
    ((struct table_cursor *)base)->at++;
    return SQLITE_OK;
}

static int eof(sqlite3_vtab_cursor *base)
{
    const struct table_cursor *cursor = (struct table_cursor *)base;
    return cursor->at >= cursor->source->count;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *to, int at)
{
    const struct table_cursor *cursor = (struct table_cursor *)base;
    cursor->source->column(cursor->source->rows, cursor->at, at, to);
    return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    *out = (sqlite3_int64)((struct table_cursor *)base)->at;
    return SQLITE_OK;
}

/* No xCreate: the table is there by its name alone. */
static const sqlite3_module module = {
    .xConnect = connect_table,
    .xBestIndex = best_index,
    .xDisconnect = disconnect_table,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter,
    .xNext = next,
    .xEof = eof,
    .xColumn = column,
    .xRowid = rowid,
};

int pawl__sq_source_attach(sqlite3 *db, const char *name, struct pawl__sq_source *source)
{
    return sqlite3_create_module_v2(db, name, source ? &module : NULL, source, NULL);
}
