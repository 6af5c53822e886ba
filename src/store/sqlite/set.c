/* The working set on SQLite: rows are read and written by statements over virtual tables, a few for
 * a whole batch, whatever their number.
 *
 * A job's row is found by the first half of its id, which is its key. One that is displaced, and
 * one that is archived, is looked for by itself.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/sqlite/columns.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows as a table ---- */

#define PAWL__KIND_MADE PAWL__KIND_END /* made of the row, not a member of it */

/* name, KIND, member; the first column is the row's number */
#define ROW_COLUMNS(X)                                                                             \
    X(head, MADE, id)                                                                              \
    X(tail, MADE, id)                                                                              \
    X(lane, MADE, lane)                                                                            \
    X(end_state, MADE, state)                                                                      \
    X(key, I64, own.key)                                                                           \
    X(state, SOME_STATE, state)                                                                    \
    X(paused_from, SOME_STATE, paused_from)                                                        \
    X(rank, I64, rank)                                                                             \
    X(was_rank, I64, was.rank)                                                                     \
    X(run, I64, run)                                                                               \
    X(base_run, I64, base_run)                                                                     \
    X(free_runs, I64, free_runs)                                                                   \
    X(due_at_ms, I64, due_at_ms)                                                                   \
    X(started_at_ms, AT, started_at_ms)                                                            \
    X(lease_until_ms, AT, lease_until_ms)                                                          \
    X(finished_at_ms, AT, finished_at_ms)                                                          \
    X(expires_at_ms, AT, expires_at_ms)                                                            \
    X(dead_letter, BOOL, dead_letter)                                                              \
    X(worker, TEXT, worker)                                                                        \
    X(reason, TEXT, reason)                                                                        \
    X(end_reason, TEXT, end_reason)                                                                \
    X(result, JSON, result)

#define X(name, kind, member) ROW_##name,
enum { ROW_at, ROW_COLUMNS(X) ROW_END };
#undef X

#define X(name, kind, member) PAWL__FIELD(struct pawl__row, member, name, kind),
static const struct pawl__field row_columns[ROW_END] = { { .column = "at" }, ROW_COLUMNS(X) };
#undef X

#define X(name, kind, member) ", " #name
static const char row_table[] = "CREATE TABLE x (at" ROW_COLUMNS(X) ")";
#undef X

/* A job that was paused after it had ended is in pawl_done as it ended. */
static enum pawl_state end_state(const struct pawl__row *row)
{
    return pawl_state_is_terminal(row->state) ? row->state : row->paused_from;
}

static int64_t make_column(const struct pawl__sq_set *tables, size_t at, int column)
{
    const struct pawl__row *row = tables->list[at];
    switch (column) {
    case ROW_head:
        return pawl__sq_split(row->id).head;
    case ROW_tail:
        return pawl__sq_split(row->id).tail;
    case ROW_lane:
        return tables->catalog->lanes[row->lane]->id;
    default:
        assert(column == ROW_end_state);
        return end_state(row);
    }
}

static void row_column(const void *rows, size_t at, int column, sqlite3_context *to)
{
    const struct pawl__sq_set *tables = rows;
    const struct pawl__field *field = &row_columns[column];
    if (column == ROW_at) {
        sqlite3_result_int64(to, (int64_t)at);
    } else if (field->kind == PAWL__KIND_MADE) {
        sqlite3_result_int64(to, make_column(tables, at, column));
    } else {
        pawl__sq_result(to, field->kind, (const char *)tables->list[at] + field->offset);
    }
}

/* ---- failures and audit entries as tables ---- */

#define FAILURE_TABLE                                                                              \
    "CREATE TABLE x (key, run, attempt, lapsed, started_at_ms, retry_delay_ms, worker, type, "     \
    "code, message, details)"

static void failure_column(const void *rows, size_t at, int column, sqlite3_context *to)
{
    const struct pawl__failure *of = &((const struct pawl__failure *)rows)[at];
    const int64_t numbers[] = { of->row->own.key, of->run,           of->attempt,
                                of->lapsed,       of->started_at_ms, of->delay_ms };
    const char *const texts[] = { of->worker, pawl__report_type(of->report), of->report->code,
                                  of->report->message };
    enum { NUMBERS = sizeof numbers / sizeof *numbers, TEXTS = sizeof texts / sizeof *texts };
    if (column == NUMBERS - 1 && of->delay_ms < 0) {
        sqlite3_result_null(to);
    } else if (column < NUMBERS) {
        sqlite3_result_int64(to, numbers[column]);
    } else if (column < NUMBERS + TEXTS) {
        pawl__sq_result(to, PAWL__KIND_TEXT, &texts[column - NUMBERS]);
    } else {
        pawl__sq_result(to, PAWL__KIND_JSON, &of->report->details);
    }
}

#define AUDIT_TABLE "CREATE TABLE x (job_id, action, actor, reason, from_state, to_state)"

static void audit_column(const void *rows, size_t at, int column, sqlite3_context *to)
{
    const struct pawl__audit *of = &((const struct pawl__audit *)rows)[at];
    const char *const texts[] = { of->action, of->by->actor, of->by->reason };
    enum { TEXTS = sizeof texts / sizeof *texts };
    if (column == 0) {
        sqlite3_result_blob(to, of->id.b, sizeof of->id.b, SQLITE_STATIC);
    } else if (column <= TEXTS) {
        pawl__sq_result(to, PAWL__KIND_TEXT, &texts[column - 1]);
    } else {
        pawl__sq_result(to, PAWL__KIND_SOME_STATE, column == TEXTS + 1 ? &of->from : &of->to);
    }
}

enum pawl_err pawl__sq_set_attach(struct pawl__backend *sq, struct pawl_diag *diag)
{
    struct pawl__sq_set *tables = &sq->set_tables;
    tables->catalog = &sq->catalog;
    tables->rows = (struct pawl__sq_source){ .schema = row_table, .column = row_column };
    tables->failures =
        (struct pawl__sq_source){ .schema = FAILURE_TABLE, .column = failure_column };
    tables->audits = (struct pawl__sq_source){ .schema = AUDIT_TABLE, .column = audit_column };
    sqlite3 *db = sq->writer.db;
    if (pawl__sq_source_attach(db, "pawl_set_row", &tables->rows) == SQLITE_OK &&
        pawl__sq_source_attach(db, "pawl_set_failure", &tables->failures) == SQLITE_OK &&
        pawl__sq_source_attach(db, "pawl_set_audit", &tables->audits) == SQLITE_OK) {
        return PAWL_OK;
    }
    return pawl__sq_error(&sq->writer, diag, "set up the store");
}

void pawl__sq_set_detach(sqlite3 *db)
{
    static const char *const names[] = { "pawl_set_row", "pawl_set_failure", "pawl_set_audit" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)pawl__sq_source_attach(db, names[i], NULL);
    }
}

void pawl__sq_set_release(struct pawl__backend *sq)
{
    pawl__set_release(&sq->set);
    free(sq->set_tables.list);
    free(sq->set_tables.changed);
    sq->set_tables = (struct pawl__sq_set){ .list = NULL };
}

/* ---- lists of rows ---- */

static enum pawl_err reserve(struct pawl__backend *sq, size_t count)
{
    struct pawl__sq_set *tables = &sq->set_tables;
    if (count <= tables->cap) return PAWL_OK;
    size_t cap = tables->cap ? tables->cap : 64;
    while (cap < count) {
        cap *= 2;
    }
    struct pawl__row **list = realloc(tables->list, cap * sizeof(struct pawl__row *));
    if (list) tables->list = list;
    struct pawl__row **changed = realloc(tables->changed, cap * sizeof(struct pawl__row *));
    if (changed) tables->changed = changed;
    if (!list || !changed) return pawl__fail_nomem(sq->diag);
    tables->cap = cap;
    return PAWL_OK;
}

static void show(struct pawl__sq_set *tables, size_t count)
{
    tables->rows.rows = tables;
    tables->rows.count = count;
}

/* ---- loading ---- */

/* Columns of set_active, set_live, set_archived; the first has none behind the worker. */
enum {
    GOT_AT,
    GOT_KEY,
    GOT_LANE,
    GOT_PRIORITY,
    GOT_ATTEMPTS_MAX,
    GOT_CREATED,
    GOT_DUE,
    GOT_RANK,
    GOT_EXPIRES,
    GOT_TIMEOUT,
    GOT_SLA_SOFT,
    GOT_SLA_HARD,
    GOT_RETRY,
    GOT_KEYS,
    GOT_RUN,
    GOT_BASE_RUN,
    GOT_FREE_RUNS,
    GOT_STARTED,
    GOT_LEASE_UNTIL,
    GOT_WORKER,
    GOT_STATE,
    GOT_PAUSED_FROM,
    GOT_FINISHED,
    GOT_DEAD_LETTER,
    GOT_REASON,
    GOT_END_REASON
};

static const char *text_of(struct pawl__set *set, sqlite3_stmt *stmt, int column)
{
    const void *at = sqlite3_column_text(stmt, column);
    return at ? pawl__set_text(set, at, (size_t)sqlite3_column_bytes(stmt, column)) : NULL;
}

static struct pawl_span span_of(struct pawl__set *set, sqlite3_stmt *stmt, int column)
{
    const void *at = sqlite3_column_blob(stmt, column);
    size_t len = (size_t)sqlite3_column_bytes(stmt, column);
    return (struct pawl_span){ at ? pawl__set_text(set, at, len) : "", at ? len : 0 };
}

static void read_facts(struct pawl__set *set, sqlite3_stmt *stmt, struct pawl__row *row)
{
    row->own.key = sqlite3_column_int64(stmt, GOT_KEY);
    row->priority = sqlite3_column_int(stmt, GOT_PRIORITY);
    row->attempts_max = sqlite3_column_int(stmt, GOT_ATTEMPTS_MAX);
    row->created_at_ms = sqlite3_column_int64(stmt, GOT_CREATED);
    row->due_at_ms = sqlite3_column_int64(stmt, GOT_DUE);
    row->rank = sqlite3_column_int64(stmt, GOT_RANK);
    row->expires_at_ms = sqlite3_column_int64(stmt, GOT_EXPIRES);
    row->timeout_ms = sqlite3_column_int64(stmt, GOT_TIMEOUT);
    row->sla_soft_at_ms = sqlite3_column_int64(stmt, GOT_SLA_SOFT);
    row->sla_hard_at_ms = sqlite3_column_int64(stmt, GOT_SLA_HARD);
    row->retry = span_of(set, stmt, GOT_RETRY);
    row->keys = span_of(set, stmt, GOT_KEYS);
}

static void read_run(struct pawl__set *set, sqlite3_stmt *stmt, struct pawl__row *row)
{
    row->run = sqlite3_column_int64(stmt, GOT_RUN);
    row->base_run = sqlite3_column_int64(stmt, GOT_BASE_RUN);
    row->free_runs = sqlite3_column_int64(stmt, GOT_FREE_RUNS);
    row->started_at_ms = sqlite3_column_int64(stmt, GOT_STARTED);
    row->lease_until_ms = sqlite3_column_int64(stmt, GOT_LEASE_UNTIL);
    row->worker = text_of(set, stmt, GOT_WORKER);
}

static void read_stand(struct pawl__set *set, sqlite3_stmt *stmt, struct pawl__row *row)
{
    row->state = (enum pawl_state)sqlite3_column_int(stmt, GOT_STATE);
    row->paused_from = (enum pawl_state)sqlite3_column_int(stmt, GOT_PAUSED_FROM);
    row->finished_at_ms = sqlite3_column_int64(stmt, GOT_FINISHED);
    row->has_end = row->finished_at_ms != 0;
    row->dead_letter = sqlite3_column_int(stmt, GOT_DEAD_LETTER) != 0;
    row->reason = text_of(set, stmt, GOT_REASON);
    row->end_reason = text_of(set, stmt, GOT_END_REASON);
}

static enum pawl_err read_row(struct pawl__backend *sq, sqlite3_stmt *stmt, struct pawl__row *row,
                              enum pawl__found found)
{
    struct pawl__lane *lane;
    enum pawl_err err = pawl__sq_lane_by_id(sq, sqlite3_column_int64(stmt, GOT_LANE), &lane);
    if (err) return err;
    bool active = sqlite3_column_count(stmt) <= GOT_STATE;
    read_facts(&sq->set, stmt, row);
    read_run(&sq->set, stmt, row);
    if (active) row->state = PAWL_STATE_ACTIVE;
    if (!active) read_stand(&sq->set, stmt, row);
    row->lane = lane->at;
    row->found = (uint8_t)found;
    row->has = PAWL__NEED_RUN | PAWL__NEED_FACTS | PAWL__NEED_STAND | PAWL__NEED_KEYS;
    row->was.state = row->state;
    row->was.rank = row->rank;
    row->was.has_end = row->has_end;
    return PAWL_OK;
}

/* Reads what a statement gives for the rows that are shown. */
static enum pawl_err read_rows(struct pawl__backend *sq, sqlite3_stmt *stmt, enum pawl__found found)
{
    bool there = false;
    enum pawl_err err;
    while (!(err = pawl__sq_row(&sq->writer, stmt, &there, sq->diag)) && there) {
        struct pawl__row *row = sq->set_tables.list[sqlite3_column_int64(stmt, GOT_AT)];
        err = read_row(sq, stmt, row, found);
        if (err) break;
    }
    if (err && there) sqlite3_reset(stmt);
    return err;
}

/* Only what was not found so far. `by_run`: only those of which no more than a run is wanted. */
static size_t list_unread(struct pawl__backend *sq, bool by_run)
{
    size_t count = 0;
    for (size_t i = 0; i < sq->set.unread_count; i++) {
        struct pawl__row *row = sq->set.unread[i];
        if (row->found != PAWL__FOUND_UNREAD) continue;
        if (by_run && (row->need & (PAWL__NEED_STAND | PAWL__NEED_KEYS))) continue;
        sq->set_tables.list[count++] = row;
    }
    show(&sq->set_tables, count);
    return count;
}

static enum pawl_err load_by_key(struct pawl__backend *sq, enum pawl__sql sql, bool by_run)
{
    if (!list_unread(sq, by_run)) return PAWL_OK;
    return read_rows(sq, pawl__sq_use(&sq->writer, sql), PAWL__FOUND_LIVE);
}

/* Keys of displaced jobs; false: there are none. */
static enum pawl_err find_displaced(struct pawl__backend *sq, bool *any)
{
    size_t count = list_unread(sq, false);
    *any = false;
    for (size_t i = 0; i < count; i++) {
        struct pawl__row *row = sq->set_tables.list[i];
        enum pawl_err err = pawl__sq_find(&sq->writer, row->id, &row->own.key, sq->diag);
        if (err && err != PAWL_ERR_NOT_FOUND) return err;
        *any |= !err;
    }
    return PAWL_OK;
}

static enum pawl_err load_archived(struct pawl__backend *sq, struct pawl__row *row)
{
    int64_t key;
    row->found = PAWL__FOUND_ABSENT;
    enum pawl_err err = pawl__sq_find_archived(&sq->writer, row->id, &key, sq->diag);
    if (err) return err == PAWL_ERR_NOT_FOUND ? PAWL_OK : err;
    sq->set_tables.list[0] = row;
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_SET_ARCHIVED);
    pawl__sq_bind(stmt, SQL_SET_ARCHIVED_key, key);
    return read_rows(sq, stmt, PAWL__FOUND_ARCHIVED);
}

static enum pawl_err load_others(struct pawl__backend *sq)
{
    bool any;
    enum pawl_err err = find_displaced(sq, &any);
    if (!err && any) err = load_by_key(sq, SQL_SET_LIVE, false);
    for (size_t i = 0; !err && i < sq->set.unread_count; i++) {
        struct pawl__row *row = sq->set.unread[i];
        if (row->found == PAWL__FOUND_UNREAD) err = load_archived(sq, row);
    }
    return err;
}

static enum pawl_err count_crashes(struct pawl__backend *sq, struct pawl__row *row)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_FAILURE_CRASHES);
    pawl__sq_bind(stmt, SQL_FAILURE_CRASHES_key, row->own.key);
    pawl__sq_bind(stmt, SQL_FAILURE_CRASHES_base_run, row->base_run);
    bool found;
    enum pawl_err err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag);
    if (err || !found) return err;
    row->crashes = sqlite3_column_int64(stmt, 0);
    row->has |= PAWL__NEED_CRASHES;
    sqlite3_reset(stmt);
    return PAWL_OK;
}

static enum pawl_err load_key(struct pawl__backend *sq, struct pawl__set_key *key)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_KEY_HOLDERS);
    pawl__sq_bind_bytes(stmt, SQL_KEY_HOLDERS_digest, key->digest, sizeof key->digest);
    bool found;
    enum pawl_err err;
    while (!(err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag)) && found) {
        struct pawl__key_holder holder = { .until_ms = sqlite3_column_int64(stmt, 1) };
        memcpy(holder.id.b, sqlite3_column_blob(stmt, 0), sizeof holder.id.b);
        pawl__key_hold(&sq->set, key, &holder);
    }
    return err;
}

static enum pawl_err load(struct pawl__backend *sq, struct pawl__set *set)
{
    enum pawl_err err = reserve(sq, set->unread_count + 1);
    for (size_t i = 0; i < set->unread_count; i++) {
        set->unread[i]->own.key = pawl__sq_split(set->unread[i]->id).head;
    }
    if (!err) err = load_by_key(sq, SQL_SET_ACTIVE, true);
    if (!err) err = load_by_key(sq, SQL_SET_LIVE, false);
    if (!err) err = load_others(sq);
    for (size_t i = 0; !err && i < set->unread_count; i++) {
        struct pawl__row *row = set->unread[i];
        bool live = row->found == PAWL__FOUND_LIVE;
        if (live && (row->need & PAWL__NEED_CRASHES)) err = count_crashes(sq, row);
    }
    for (size_t i = set->key_count - set->unread_keys; !err && i < set->key_count; i++) {
        err = load_key(sq, &set->keys[i]);
    }
    return err;
}

/* ---- storing ---- */

enum place { READY, ACTIVE, WAIT, DONE };

static enum place place_of(enum pawl_state state)
{
    switch (state) {
    case PAWL_STATE_AVAILABLE:
        return READY;
    case PAWL_STATE_ACTIVE:
        return ACTIVE;
    case PAWL_STATE_SCHEDULED:
    case PAWL_STATE_PENDING:
    case PAWL_STATE_RETRYABLE:
    case PAWL_STATE_PAUSED:
        return WAIT;
    default:
        return DONE;
    }
}

static bool moved(const struct pawl__row *row)
{
    return row->wrote & PAWL__WROTE_STAND;
}

static bool left(const struct pawl__row *row, enum place place)
{
    return moved(row) && !row->restored && place_of(row->was.state) == place;
}

static bool left_ready(const struct pawl__row *row)
{
    return left(row, READY);
}

static bool left_active(const struct pawl__row *row)
{
    return left(row, ACTIVE);
}

static bool left_wait(const struct pawl__row *row)
{
    return left(row, WAIT);
}

/* A job that is paused after its end keeps the row there. */
static bool left_done(const struct pawl__row *row)
{
    bool kept = row->has_end && !row->end_new;
    return moved(row) && !row->restored && row->was.has_end && !kept;
}

static bool entered_ready(const struct pawl__row *row)
{
    return moved(row) && place_of(row->state) == READY;
}

static bool entered_wait(const struct pawl__row *row)
{
    return moved(row) && place_of(row->state) == WAIT;
}

static bool entered_done(const struct pawl__row *row)
{
    return moved(row) && row->end_new;
}

static bool wrote_facts(const struct pawl__row *row)
{
    return row->wrote & PAWL__WROTE_FACTS;
}

static bool may_expire_again(const struct pawl__row *row)
{
    bool back = row->was.state == PAWL_STATE_ACTIVE || row->was.state == PAWL_STATE_PAUSED;
    return moved(row) && back && row->expires_at_ms && !pawl_state_is_terminal(row->state);
}

/* In this order. */
static const struct {
    enum pawl__sql sql;
    bool (*concerns)(const struct pawl__row *row);
} writes[] = {
    { SQL_SET_FACTS_WRITE, wrote_facts },  { SQL_SET_LEAVE_READY, left_ready },
    { SQL_SET_LEAVE_ACTIVE, left_active }, { SQL_SET_LEAVE_WAIT, left_wait },
    { SQL_SET_LEAVE_DONE, left_done },     { SQL_SET_ENTER_READY, entered_ready },
    { SQL_SET_ENTER_WAIT, entered_wait },  { SQL_SET_ENTER_DONE, entered_done },
    { SQL_SET_EXPIRY, may_expire_again },
};

static int compare_keys(const void *a, const void *b)
{
    const struct pawl__row *const *left_row = a, *const *right_row = b;
    int64_t left_key = (*left_row)->own.key, right_key = (*right_row)->own.key;
    return left_key < right_key ? -1 : left_key > right_key;
}

/* In order of key: the same pages are met again and again. */
static size_t list_changed(struct pawl__backend *sq)
{
    size_t count = 0;
    for (size_t i = 0; i < sq->set.row_count; i++) {
        struct pawl__row *row = pawl__set_at(&sq->set, i);
        if (row->wrote) sq->set_tables.changed[count++] = row;
    }
    qsort(sq->set_tables.changed, count, sizeof(struct pawl__row *), compare_keys);
    return count;
}

static enum pawl_err run_by_key(struct pawl__backend *sq, enum pawl__sql sql, int64_t key)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, sql);
    pawl__sq_bind(stmt, 1, key);
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}

static enum pawl_err restore(struct pawl__backend *sq, const struct pawl__row *row)
{
    enum pawl_err err = run_by_key(sq, SQL_ARCHIVE_RESTORE_JOB, row->own.key);
    bool kept = row->has_end && !row->end_new;
    if (!err && kept) err = run_by_key(sq, SQL_ARCHIVE_RESTORE_DONE, row->own.key);
    return err ? err : run_by_key(sq, SQL_ARCHIVE_DELETE, row->own.key);
}

/* What is written expects its jobs in the file, not in memory. */
static enum pawl_err prepare(struct pawl__backend *sq, size_t count)
{
    bool ready = false;
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < count; i++) {
        const struct pawl__row *row = sq->set_tables.changed[i];
        ready |= left_ready(row);
        if (row->restored) err = restore(sq, row);
    }
    return err || !ready ? err : pawl__sq_fresh_absorb(sq);
}

static enum pawl_err store_rows(struct pawl__backend *sq)
{
    struct pawl__sq_set *tables = &sq->set_tables;
    size_t count = list_changed(sq);
    enum pawl_err err = prepare(sq, count);
    for (size_t i = 0; !err && i < sizeof writes / sizeof *writes; i++) {
        size_t shown = 0;
        for (size_t k = 0; k < count; k++) {
            if (writes[i].concerns(tables->changed[k])) tables->list[shown++] = tables->changed[k];
        }
        show(tables, shown);
        if (shown) err = pawl__sq_exec(&sq->writer, writes[i].sql, sq->diag);
    }
    return err;
}

/* Of a job that fails again and again the oldest failures are forgotten. */
static enum pawl_err trim_failures(struct pawl__backend *sq, const struct pawl__failure *failure)
{
    if (failure->run <= PAWL__FAILURES_KEPT) return PAWL_OK;
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_FAILURE_TRIM);
    pawl__sq_bind(stmt, SQL_FAILURE_TRIM_key, failure->row->own.key);
    pawl__sq_bind(stmt, SQL_FAILURE_TRIM_run, failure->run - PAWL__FAILURES_KEPT);
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}

static enum pawl_err store_failures(struct pawl__backend *sq)
{
    const struct pawl__set *set = &sq->set;
    if (!set->failure_count) return PAWL_OK;
    sq->set_tables.failures.rows = set->failures;
    sq->set_tables.failures.count = set->failure_count;
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_SET_FAILURES);
    pawl__sq_bind(stmt, SQL_SET_FAILURES_now_ms, sq->now_ms);
    enum pawl_err err = pawl__sq_run(&sq->writer, stmt, sq->diag);
    for (size_t i = 0; !err && i < set->failure_count; i++) {
        err = trim_failures(sq, &set->failures[i]);
    }
    return err;
}

static enum pawl_err store_audits(struct pawl__backend *sq)
{
    if (!sq->set.audit_count) return PAWL_OK;
    sq->set_tables.audits.rows = sq->set.audits;
    sq->set_tables.audits.count = sq->set.audit_count;
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_SET_AUDITS);
    pawl__sq_bind(stmt, SQL_SET_AUDITS_now_ms, sq->now_ms);
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}

static enum pawl_err store_holder(struct pawl__backend *sq, const struct pawl__set_key *key,
                                  const struct pawl__key_holder *holder)
{
    if (!holder->added && !holder->removed) return PAWL_OK;
    if (holder->removed) return pawl__sq_key_delete(sq, key->digest, holder->id);
    return pawl__sq_key_insert(sq, key->digest, holder->id, holder->until_ms);
}

static enum pawl_err store_keys(struct pawl__backend *sq)
{
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; i < sq->set.key_count; i++) {
        const struct pawl__set_key *key = &sq->set.keys[i];
        for (size_t k = 0; !err && k < key->count; k++) {
            err = store_holder(sq, key, &key->holders[k]);
        }
    }
    return err;
}

/* Counters, and what listeners are told. */
static void note_moves(struct pawl__backend *sq)
{
    for (size_t i = 0; i < sq->set.move_count; i++) {
        const struct pawl__set_move *move = &sq->set.moves[i];
        struct pawl__lane *lane = sq->catalog.lanes[move->row->lane];
        if (move->archived) {
            pawl__sq_count(sq, lane, PAWL_STATE_NONE, move->to);
            continue;
        }
        pawl__sq_moved(sq, lane, move->row->id, move->run, move->from, move->to);
        if (move->due_at_ms) pawl__tale_due(&sq->tale, move->due_at_ms);
        if (!move->control) continue;
        sq->tale.control = true;
        if (!sq->tale.all_moves) {
            pawl__sq_tale_move(sq, lane, move->row->id, move->run, move->from, move->to);
        }
    }
}

static enum pawl_err store(struct pawl__backend *sq, struct pawl__set *set)
{
    enum pawl_err err = reserve(sq, set->row_count + 1);
    if (!err) err = store_rows(sq);
    if (!err) err = store_failures(sq);
    if (!err) err = store_audits(sq);
    if (!err) err = store_keys(sq);
    if (!err) note_moves(sq);
    return err;
}

/* ---- what the core asks for ---- */

static enum pawl_err match(struct pawl__backend *sq, const struct pawl_filter *filter,
                           int64_t limit, struct pawl__arena *arena, struct pawl_job_id **ids,
                           size_t *count)
{
    return pawl__sq_match(&sq->writer, filter, limit, arena, ids, count, sq->diag);
}

const struct pawl__core_table pawl__sq_core = {
    .load = load,
    .store = store,
    .lapsed = pawl__sq_lapsed,
    .next_lapse = pawl__sq_next_lapse,
    .match = match,
};
