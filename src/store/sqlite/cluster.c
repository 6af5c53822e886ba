/* Nodes, locks and tokens: how they are found. What is made of them is core/cluster.c's.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/sqlite/columns.h"

/* The rows that the statement, which is bound, has found. */
static enum pawl_err read_rows(struct pawl__backend *sq, sqlite3_stmt *stmt,
                               enum pawl__named_kind kind)
{
    const struct pawl__set_table *of = pawl__named_table(kind);
    bool found;
    enum pawl_err err;
    while (!(err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag)) && found) {
        union pawl__named_row row = { .name = NULL };
        if (pawl__sq_read(stmt, 0, of->fields, of->count, &sq->set.arena, &row)) {
            sq->set.failed = true;
        } else {
            (void)pawl__set_named_loaded(&sq->set, kind, &row);
        }
    }
    return err;
}

/* One by one: a batch names few. */
enum pawl_err pawl__sq_load_named(struct pawl__backend *sq, struct pawl__set *set)
{
    static const enum pawl__sql loads[PAWL__NAMED_KINDS] = {
        [PAWL__NAMED_NODE] = SQL_NODE_LOAD,
        [PAWL__NAMED_LOCK] = SQL_LOCK_LOAD,
        [PAWL__NAMED_TOKEN] = SQL_TOKEN_LOAD,
    };
    _Static_assert((int)SQL_NODE_LOAD_name == (int)SQL_LOCK_LOAD_name &&
                       (int)SQL_NODE_LOAD_name == (int)SQL_TOKEN_LOAD_name,
                   "bound alike");
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < set->names.count; i++) {
        const struct pawl__named *named = set->names.at[i];
        if (named->read) continue;
        sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, loads[named->kind]);
        pawl__sq_bind_text(stmt, SQL_NODE_LOAD_name, named->row.name);
        err = read_rows(sq, stmt, named->kind);
    }
    return err;
}

enum pawl_err pawl__sq_census(struct pawl__backend *sq, const char *name, struct pawl_census *out,
                              int64_t *silent)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_NODE_CENSUS);
    pawl__sq_bind(stmt, SQL_NODE_CENSUS_now_ms, sq->now_ms);
    pawl__sq_bind_text(stmt, SQL_NODE_CENSUS_name, name);
    bool found;
    enum pawl_err err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag);
    if (err || !found) return err;
    out->alive = sqlite3_column_int64(stmt, 0);
    *silent = sqlite3_column_int64(stmt, 1);
    out->ready = sqlite3_column_int64(stmt, 2);
    out->silent_at_ms = sqlite3_column_int64(stmt, 3); // 0 for NULL
    sqlite3_reset(stmt);
    return PAWL_OK;
}

enum pawl_err pawl__sq_scan_silent(struct pawl__backend *sq, int64_t limit)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_NODE_SILENT);
    pawl__sq_bind(stmt, SQL_NODE_SILENT_now_ms, sq->now_ms);
    pawl__sq_bind(stmt, SQL_NODE_SILENT_limit, limit);
    return read_rows(sq, stmt, PAWL__NAMED_NODE);
}
