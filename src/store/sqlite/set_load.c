/* The working set on SQLite: how it is read.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/sqlite/sqlite.h"

/* Columns of the statements that read rows. */
enum { GOT_AT, GOT_KEY, GOT_LANE, GOT_FIELDS };

static enum pawl_err read_row(struct pawl__backend *sq, sqlite3_stmt *stmt, struct pawl__row *row,
                              enum pawl__found found)
{
    struct pawl__lane *lane;
    enum pawl_err err = pawl__sql_lane_by_id(sq, sqlite3_column_int64(stmt, GOT_LANE), &lane);
    if (err) return err;
    row->own.key = sqlite3_column_int64(stmt, GOT_KEY);
    if (row->own.key != pawl__sq_split(row->id).head) row->arrival = pawl__sq_join(row->own.key, 0);
    row->lane = lane->at;
    err = pawl__sq_read(stmt, GOT_FIELDS, pawl__row_fields, PAWL__ROW_READ_COUNT, &sq->set.arena,
                        row);
    if (err) return pawl__fail_nomem(sq->set.diag);
    pawl__row_loaded(&sq->set, row, found);
    return PAWL_OK;
}

static enum pawl_err read_rows(struct pawl__backend *sq, enum pawl__sql sql, enum pawl__found found)
{
    sqlite3_stmt *stmt = pawl__sq_stmt(sq, sql);
    bool there = false;
    enum pawl_err err;
    while (!(err = pawl__sq_step(sq, stmt, &there)) && there) {
        struct pawl__row *row = sq->set_tables.list[sqlite3_column_int64(stmt, GOT_AT)];
        err = read_row(sq, stmt, row, found);
        if (err) break;
    }
    if (err && there) sqlite3_reset(stmt);
    return err;
}

/* Where a job may be, in the order in which it is looked for. `runs`: only those of which no more
 * than a run is wanted. */
static const struct {
    enum pawl__sql sql;
    enum pawl__found found;
    bool runs;
} looks[] = {
    { SQL_SET_ACTIVE, PAWL__FOUND_LIVE, true },
    { SQL_SET_LIVE, PAWL__FOUND_LIVE, false },
    { SQL_SET_LIVE_DISPLACED, PAWL__FOUND_LIVE, false },
    { SQL_SET_ARCHIVED, PAWL__FOUND_ARCHIVED, false },
    { SQL_SET_ARCHIVED_DISPLACED, PAWL__FOUND_ARCHIVED, false },
};

/* Shows what was not found so far; how many. */
static size_t show_unread(struct pawl__backend *sq, bool runs)
{
    size_t count = 0;
    for (size_t i = 0; i < sq->set.unread_count; i++) {
        struct pawl__row *row = sq->set.unread[i];
        if (row->found != PAWL__FOUND_UNREAD) continue;
        if (runs && (row->need & (PAWL__NEED_STAND | PAWL__NEED_KEYS))) continue;
        sq->set_tables.list[count++] = row;
    }
    pawl__sq_set_show(sq, count);
    return count;
}

static enum pawl_err load_rows(struct pawl__backend *sq, struct pawl__set *set)
{
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; i < set->unread_count; i++) {
        set->unread[i]->own.key = pawl__sq_split(set->unread[i]->id).head;
    }
    for (size_t i = 0; !err && i < sizeof looks / sizeof *looks; i++) {
        if (show_unread(sq, looks[i].runs)) err = read_rows(sq, looks[i].sql, looks[i].found);
    }
    for (size_t i = 0; i < set->unread_count; i++) {
        if (set->unread[i]->found == PAWL__FOUND_UNREAD) set->unread[i]->found = PAWL__FOUND_ABSENT;
    }
    return err;
}

/* Shows rows that were found and need this; how many. */
static size_t show_needy(struct pawl__backend *sq, uint8_t need)
{
    size_t count = 0;
    for (size_t i = 0; i < sq->set.unread_count; i++) {
        struct pawl__row *row = sq->set.unread[i];
        bool found = row->found != PAWL__FOUND_ABSENT;
        if (found && (row->need & need & ~row->has)) sq->set_tables.list[count++] = row;
    }
    pawl__sq_set_show(sq, count);
    return count;
}

static void read_crashes(struct pawl__set *set, sqlite3_stmt *stmt, struct pawl__row *row)
{
    (void)set;
    row->crashes = sqlite3_column_int64(stmt, 1);
}

static void read_progress(struct pawl__set *set, sqlite3_stmt *stmt, struct pawl__row *row)
{
    const struct pawl__set_table *of = &pawl__set_tables[PAWL__TABLE_PROGRESS];
    row->run_data->progress.row = row;
    if (pawl__sq_read(stmt, 1, of->fields, of->count, &set->arena, &row->run_data->progress)) {
        set->failed = true;
    }
}

static void read_counts(struct pawl__set *set, sqlite3_stmt *stmt, struct pawl__row *row)
{
    (void)set;
    row->run_data->checkpoint.sequence = sqlite3_column_int64(stmt, 1);
    row->run_data->lines = sqlite3_column_int64(stmt, 2);
}

static void read_job(struct pawl__set *set, sqlite3_stmt *stmt, struct pawl__row *row)
{
    struct pawl_job *job = pawl__row_job(set, row);
    if (job && pawl__sq_read_facts(stmt, row->job_arena, job)) set->failed = true;
}

/* What only some rows need; the column `at` says which one the row is of. */
static const struct {
    uint8_t need;
    enum pawl__sql sql;
    int at;
    void (*read)(struct pawl__set *set, sqlite3_stmt *stmt, struct pawl__row *row);
} extras[] = {
    { PAWL__NEED_CRASHES, SQL_SET_CRASHES, 0, read_crashes },
    { PAWL__NEED_RUN_DATA, SQL_SET_PROGRESS_READ, 0, read_progress },
    { PAWL__NEED_RUN_DATA, SQL_SET_RUN_DATA_READ, 0, read_counts },
    { PAWL__NEED_JOB, SQL_SET_JOB, COL_STAND, read_job }, // behind {{facts}}
};

static enum pawl_err load_extra(struct pawl__backend *sq, size_t at)
{
    size_t count = show_needy(sq, extras[at].need);
    if (!count) return PAWL_OK;
    sq->set_tables.args_max = sq->set.args_max;
    sqlite3_stmt *stmt = pawl__sq_stmt(sq, extras[at].sql);
    bool found;
    enum pawl_err err;
    while (!(err = pawl__sq_step(sq, stmt, &found)) && found) {
        int64_t row = sqlite3_column_int64(stmt, extras[at].at);
        extras[at].read(&sq->set, stmt, sq->set_tables.list[row]);
    }
    return err;
}

/* One transaction writes at a time, so nothing is held. */
enum pawl_err pawl__sq_set_load(struct pawl__backend *sq, struct pawl__set *set, bool wait)
{
    (void)wait;
    enum pawl_err err = pawl__sq_set_reserve(sq, set->unread_count);
    if (!err) err = pawl__sq_runs_flush(sq);
    if (!err) err = load_rows(sq, set);
    for (size_t i = 0; !err && i < sizeof extras / sizeof *extras; i++) {
        err = load_extra(sq, i);
    }
    return err;
}

/* ---- nodes, locks and other records ---- */

static enum pawl_err read_records(struct pawl__backend *sq, enum pawl__record_kind kind,
                                  enum pawl__sql sql)
{
    const struct pawl__set_table *of = pawl__record_shapes[kind].of;
    sqlite3_stmt *stmt = pawl__sq_stmt(sq, sql);
    bool found;
    enum pawl_err err;
    while (!(err = pawl__sq_step(sq, stmt, &found)) && found) {
        union pawl__record_row row;
        if (pawl__sq_read(stmt, 0, of->fields, of->count, &sq->set.arena, &row)) {
            sqlite3_reset(stmt);
            return pawl__fail_nomem(sq->set.diag);
        }
        (void)pawl__set_record_loaded(&sq->set, kind, &row);
    }
    return err;
}

#define X(name, ...) SQL_##name##_LOAD,
static const enum pawl__sql loads[PAWL__RECORD_KINDS] = { PAWL__RECORDS(X) };
#undef X

/* The virtual table of a list that is to be written shows what is wanted of its table. */
enum pawl_err pawl__sq_load_records(struct pawl__backend *sq, struct pawl__set *set)
{
    enum pawl_err err = PAWL_OK;
    for (int i = 0; !err && i < PAWL__RECORD_KINDS; i++) {
        if (!set->records.wanted[i].count) continue;
        pawl__sq_set_show_list(sq, pawl__record_shapes[i].changed, &set->records.wanted[i]);
        err = read_records(sq, (enum pawl__record_kind)i, loads[i]);
    }
    return err;
}
