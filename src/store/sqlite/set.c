/* The working set on SQLite: rows are read and written by statements over virtual tables, a few for
 * a whole batch, whatever their number. Here are those tables.
 *
 * Runs on: the committer's thread. */
#include "store/sqlite/columns.h"

#include <assert.h>
#include <stdio.h>

/* Columns of pawl_set_row that are no fields; those of PAWL__ROW_WRITTEN follow. */
enum {
    ROW_id,
    ROW_at,
    ROW_key,
    ROW_head,
    ROW_tail,
    ROW_lane,
    ROW_was_rank,
    ROW_hidden, /* displaced or with ties: its run has no tail */
    ROW_brief,  /* its arguments are not wanted */
    ROW_FIELDS
};
#define ROW_OWN "id, at, key, head, tail, lane, was_rank, hidden, brief"

static int64_t own_column(const struct pawl__sq_set *tables, size_t at, int column)
{
    const struct pawl__row *row = tables->list[at];
    switch (column) {
    case ROW_at:
        return (int64_t)at;
    case ROW_key:
        return row->own.key;
    case ROW_head:
        return pawl__sq_split(row->id).head;
    case ROW_tail:
        return pawl__sq_split(row->id).tail;
    case ROW_lane:
        return tables->catalog->lanes[row->lane]->id;
    case ROW_hidden:
        return row->ties || row->own.key != pawl__sq_split(row->id).head;
    case ROW_brief:
        return tables->args_max && row->args_bytes > tables->args_max;
    default:
        return row->was.rank;
    }
}

static void row_column(const void *rows, size_t at, int column, sqlite3_context *to)
{
    const struct pawl__sq_set *tables = rows;
    if (column == ROW_id) {
        pawl__sq_result(to, PAWL__KIND_ID, &tables->list[at]->id);
        return;
    }
    if (column < ROW_FIELDS) {
        sqlite3_result_int64(to, own_column(tables, at, column));
        return;
    }
    const struct pawl__field *field =
        &pawl__row_fields[PAWL__ROW_FIXED_COUNT + column - ROW_FIELDS];
    pawl__sq_result(to, field->kind, (const char *)tables->list[at] + field->offset);
}

/* Of other tables; the first column of what belongs to a job is the job's key. */
static void list_column(const void *rows, size_t at, int column, sqlite3_context *to)
{
    const struct pawl__sq_set_list *list = rows;
    const char *row = (const char *)list->list->rows + at * list->of->bytes;
    if (list->of->of_job && column == 0) {
        sqlite3_result_int64(to, (*(const struct pawl__row *const *)(const void *)row)->own.key);
        return;
    }
    const struct pawl__field *field = &list->of->fields[column - list->of->of_job];
    pawl__sq_result(to, field->kind, row + field->offset);
}

static void write_schema(char out[PAWL__SQ_SET_SCHEMA_BYTES], const char *own,
                         const struct pawl__field *fields, size_t count)
{
    int len = snprintf(out, PAWL__SQ_SET_SCHEMA_BYTES, "CREATE TABLE x (%s", own);
    for (size_t i = 0; i < count; i++) {
        len += snprintf(out + len, (size_t)(PAWL__SQ_SET_SCHEMA_BYTES - len), "%s%s",
                        i || *own ? ", " : "", fields[i].column);
    }
    len += snprintf(out + len, (size_t)(PAWL__SQ_SET_SCHEMA_BYTES - len), ")");
    assert(len < PAWL__SQ_SET_SCHEMA_BYTES);
}

/* ---- attaching ---- */

/* A virtual table has the name of the statement that reads it: pawl_set_failure. */
#define X(upper, lower) [SQL_##upper] = "pawl_" #lower,
static const char *const by_statement[SQL_END] = { SQL_STATEMENTS(X) };
#undef X

static const char *name_of(enum pawl__table table)
{
    return by_statement[pawl__sq_put[table]];
}

static int attach_list(sqlite3 *db, struct pawl__sq_set_list *list, enum pawl__table table)
{
    list->of = &pawl__set_tables[table];
    write_schema(list->schema, list->of->of_job ? "key" : "", list->of->fields, list->of->count);
    list->source = (struct pawl__sq_source){ .schema = list->schema, .column = list_column };
    return pawl__sq_source_attach(db, name_of(table), &list->source);
}

enum pawl_err pawl__sq_set_attach(struct pawl__backend *sq, struct pawl_diag *diag)
{
    struct pawl__sq_set *tables = &sq->set_tables;
    tables->catalog = &sq->set.catalog;
    write_schema(tables->schema, ROW_OWN, pawl__row_fields + PAWL__ROW_FIXED_COUNT,
                 PAWL__ROW_WRITTEN_COUNT);
    tables->rows = (struct pawl__sq_source){ .schema = tables->schema, .column = row_column };
    int code = pawl__sq_source_attach(sq->writer.db, "pawl_set_row", &tables->rows);
    for (int i = 0; code == SQLITE_OK && i < PAWL__TABLES; i++) {
        code = attach_list(sq->writer.db, &tables->lists[i], (enum pawl__table)i);
    }
    if (code == SQLITE_OK) code = pawl__sq_new_attach(sq);
    if (code == SQLITE_OK) code = pawl__sq_keys_attach(sq);
    return code == SQLITE_OK ? PAWL_OK : pawl__sq_error(&sq->writer, diag, "set up the store");
}

void pawl__sq_set_detach(sqlite3 *db)
{
    (void)pawl__sq_source_attach(db, "pawl_set_row", NULL);
    (void)pawl__sq_source_attach(db, "pawl_set_new", NULL);
    (void)pawl__sq_source_attach(db, "pawl_set_key", NULL);
    for (int i = 0; i < PAWL__TABLES; i++) {
        (void)pawl__sq_source_attach(db, name_of((enum pawl__table)i), NULL);
    }
}

/* ---- showing ---- */

enum pawl_err pawl__sq_set_reserve(struct pawl__backend *sq, size_t count)
{
    struct pawl__row **rows = pawl__arena_alloc(&sq->set.arena, 2 * count * sizeof *rows);
    if (!rows) return pawl__fail_nomem(sq->set.diag);
    sq->set_tables.list = rows;
    sq->set_tables.changed = rows + count;
    return PAWL_OK;
}

void pawl__sq_set_show(struct pawl__backend *sq, size_t count)
{
    sq->set_tables.rows.rows = &sq->set_tables;
    sq->set_tables.rows.count = count;
}

void pawl__sq_set_show_list(struct pawl__backend *sq, enum pawl__table table,
                            const struct pawl__list *rows)
{
    struct pawl__sq_set_list *list = &sq->set_tables.lists[table];
    list->list = rows;
    list->source.rows = list;
    list->source.count = rows->count;
}

/* ---- what the core asks for ---- */

const struct pawl__core_table pawl__sq_core = {
    .begin = pawl__sq_begin,
    .commit = pawl__sq_commit,
    .rollback = pawl__sq_rollback,
    .show = pawl__sq_show,
    .quick = { .any_id = true,
               .suits = pawl__sq_suits,
               .submit_plain = pawl__sq_submit_plain,
               .finish_plain = pawl__sq_finish_plain,
               .claim_plain = pawl__sq_claim_plain,
               .promote_plain = pawl__sq_promote_plain },
    .queue = pawl__sq_queue,
    .lane = pawl__sq_lane_at,
    .load_records = pawl__sq_load_records,
    .load_keys = pawl__sq_keys_load,
    .load = pawl__sq_set_load,
    .store = pawl__sq_set_store,
    .scan_due = pawl__sq_scan_due,
    .next_due = pawl__sq_next_due,
    .forget_keys = pawl__sql_forget_keys,
    .unsettled = pawl__sql_unsettled,
    .next_unsettled = pawl__sql_next_unsettled,
    .scan_flows = pawl__sql_scan_flows,
    .scan_ended_flows = pawl__sql_scan_ended_flows,
    .flow_doubts = pawl__sql_flow_doubts,
    .next_flow = pawl__sql_next_flow,
    .scan_schedules = pawl__sql_scan_schedules,
    .next_schedule = pawl__sql_next_schedule,
    .scan_ended = pawl__sq_scan_ended,
    .census = pawl__sql_census,
    .scan_nodes = pawl__sql_scan_nodes,
    .scan_locks = pawl__sql_scan_locks,
    .scan_timers = pawl__sql_scan_timers,
    .next_timer = pawl__sql_next_timer,
    .scan_waits = pawl__sql_scan_waits,
    .scan_deadlines = pawl__sql_scan_deadlines,
    .next_deadline = pawl__sql_next_deadline,
    .scan_ready = pawl__sq_scan_ready,
    .match = pawl__sql_match,
};
