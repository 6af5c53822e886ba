/* Jobs that are due: scheduled ones become available; those whose lease or time to live has ended
 * are found for the core.
 *
 * Runs on: the committer's thread, inside a transaction. Each sweep takes a bounded number, oldest
 * first, and says when the next one is due. */
#include "store/sqlite/sqlite.h"

#include <assert.h>

static int64_t bounded(int64_t limit)
{
    return limit < PAWL__MAINTENANCE_MAX ? limit : PAWL__MAINTENANCE_MAX;
}

static enum pawl_err read_next(struct pawl__backend *sq, enum pawl__sql sql, int64_t *next_at_ms)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, sql);
    bool found;
    enum pawl_err err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag);
    if (err || !found) return err;
    int64_t at_ms = sqlite3_column_int64(stmt, 0); // 0 for NULL: nothing waits
    sqlite3_reset(stmt);
    if (at_ms && (!*next_at_ms || at_ms < *next_at_ms)) *next_at_ms = at_ms;
    return PAWL_OK;
}

static enum pawl_err list_due(struct pawl__backend *sq, int64_t limit, struct pawl__sq_place *out,
                              size_t *count)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_WAIT_DUE);
    pawl__sq_bind(stmt, SQL_WAIT_DUE_now_ms, sq->now_ms);
    pawl__sq_bind(stmt, SQL_WAIT_DUE_limit, limit);
    bool found;
    enum pawl_err err;
    *count = 0;
    while (!(err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag)) && found) {
        struct pawl__sq_place *place = &out[(*count)++];
        *place = (struct pawl__sq_place){ .key = sqlite3_column_int64(stmt, 0),
                                          .state = (enum pawl_state)sqlite3_column_int(stmt, 2),
                                          .rank = sqlite3_column_int64(stmt, 3),
                                          .run = sqlite3_column_int64(stmt, 4),
                                          .base_run = sqlite3_column_int64(stmt, 5),
                                          .free_runs = sqlite3_column_int64(stmt, 6) };
        err = pawl__sq_lane_by_id(sq, sqlite3_column_int64(stmt, 1), &place->lane);
        if (err) {
            sqlite3_reset(stmt);
            return err;
        }
    }
    return err;
}

/* pawl_wait knows all that pawl_ready needs, so a due job's facts are not even read. */
enum pawl_err pawl__sq_op_promote(struct pawl__backend *sq, struct pawl__op *op)
{
    static const enum pawl_event due[] = { PAWL_EVENT_DUE };
    op->sweep.moved = op->sweep.next_at_ms = 0;
    int64_t limit = bounded(op->sweep.limit);
    struct pawl__sq_place *list =
        pawl__arena_alloc(&op->arena, (size_t)(limit ? limit : 1) * sizeof *list);
    if (!list) return pawl__fail_nomem(sq->diag);
    size_t count;
    enum pawl_err err = list_due(sq, limit, list, &count);
    for (size_t i = 0; !err && i < count; i++) {
        if (sq->tale.all_moves) err = pawl__sq_place_need(sq, list[i].key, &list[i]); // for its id
        if (err) break;
        err = pawl__sq_move(sq, &list[i], due, 1, &(struct pawl__sq_target){ 0 });
    }
    op->sweep.moved = (int64_t)count;
    op->sweep.more = (int64_t)count == limit;
    return err ? err : read_next(sq, SQL_WAIT_NEXT_DUE, &op->sweep.next_at_ms);
}

/* How many rows a statement that takes now and a limit finds, and the ids of those that are jobs:
 * two halves. */
static enum pawl_err list_ids(struct pawl__backend *sq, enum pawl__sql sql, int64_t limit,
                              struct pawl_job_id *ids, size_t *count, int64_t *rows)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, sql);
    pawl__sq_bind(stmt, 1, sq->now_ms);
    pawl__sq_bind(stmt, 2, limit);
    bool found;
    enum pawl_err err;
    while (!(err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag)) && found) {
        ++*rows;
        if (sqlite3_column_type(stmt, 1) == SQLITE_NULL) continue;
        ids[(*count)++] =
            pawl__sq_join(sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1));
    }
    return err;
}

/* Runs first, then jobs that were routed and not assigned in time. */
static enum pawl_err scan_leases(struct pawl__backend *sq, int64_t limit, struct pawl_job_id *ids,
                                 size_t *count, int64_t *rows)
{
    enum pawl_err err = list_ids(sq, SQL_ACTIVE_LAPSED, limit, ids, count, rows);
    if (!err && *rows < limit) {
        err = list_ids(sq, SQL_WAIT_LAPSED, limit - *rows, ids, count, rows);
    }
    if (err || (int64_t)*count == *rows) return err;
    return pawl__fail(sq->diag, PAWL_ERR_CORRUPT, "the store is damaged: a job has no facts");
}

/* Their rows of pawl_expiry go in any case; a job may be gone already. */
static enum pawl_err scan_expiries(struct pawl__backend *sq, int64_t limit, struct pawl_job_id *ids,
                                   size_t *count, int64_t *rows)
{
    enum pawl_err err = list_ids(sq, SQL_EXPIRY_DUE, limit, ids, count, rows);
    if (err || !*rows) return err;
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_EXPIRY_FORGET);
    pawl__sq_bind(stmt, SQL_EXPIRY_FORGET_now_ms, sq->now_ms);
    pawl__sq_bind(stmt, SQL_EXPIRY_FORGET_limit, limit);
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}

enum pawl_err pawl__sq_scan_due(struct pawl__backend *sq, enum pawl__due what, int64_t limit,
                                struct pawl_job_id *ids, size_t *count, bool *more)
{
    int64_t rows = 0;
    *count = 0;
    enum pawl_err err = what == PAWL__DUE_LEASE ? scan_leases(sq, limit, ids, count, &rows)
                                                : scan_expiries(sq, limit, ids, count, &rows);
    *more = rows == limit;
    return err;
}

enum pawl_err pawl__sq_next_due(struct pawl__backend *sq, enum pawl__due what, int64_t *at_ms)
{
    if (what == PAWL__DUE_EXPIRY) return read_next(sq, SQL_EXPIRY_NEXT, at_ms);
    enum pawl_err err = read_next(sq, SQL_ACTIVE_NEXT_LEASE, at_ms);
    return err ? err : read_next(sq, SQL_WAIT_NEXT_LEASE, at_ms);
}

enum pawl_err pawl__sq_forget_keys(struct pawl__backend *sq, int64_t limit)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_KEY_FORGET);
    pawl__sq_bind(stmt, SQL_KEY_FORGET_now_ms, sq->now_ms);
    pawl__sq_bind(stmt, SQL_KEY_FORGET_limit, limit);
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}
