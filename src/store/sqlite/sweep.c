/* What time does to jobs: due ones become available, leases lapse, jobs and keys expire.
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

/* Ids that a statement of two halves, a limit and now lists. */
static enum pawl_err list_ids(struct pawl__backend *sq, enum pawl__sql sql, int64_t limit,
                              struct pawl_job_id *out, size_t *count)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, sql);
    pawl__sq_bind(stmt, 1, sq->now_ms);
    pawl__sq_bind(stmt, 2, limit);
    bool found, whole = true;
    enum pawl_err err;
    while (!(err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag)) && found) {
        whole &= sqlite3_column_type(stmt, 1) != SQLITE_NULL;
        out[(*count)++] =
            pawl__sq_join(sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1));
    }
    if (err || whole) return err;
    return pawl__fail(sq->diag, PAWL_ERR_CORRUPT, "the store is damaged: a job has no facts");
}

/* Runs first, then jobs that were routed and not assigned in time. */
enum pawl_err pawl__sq_lapsed(struct pawl__backend *sq, int64_t limit, struct pawl_job_id *ids,
                              size_t *count, bool *more)
{
    *count = 0;
    enum pawl_err err = list_ids(sq, SQL_ACTIVE_LAPSED, limit, ids, count);
    int64_t left = limit - (int64_t)*count;
    if (!err && left > 0) err = list_ids(sq, SQL_WAIT_LAPSED, left, ids, count);
    *more = (int64_t)*count == limit;
    return err;
}

enum pawl_err pawl__sq_next_lapse(struct pawl__backend *sq, int64_t *at_ms)
{
    enum pawl_err err = read_next(sq, SQL_ACTIVE_NEXT_LEASE, at_ms);
    return err ? err : read_next(sq, SQL_WAIT_NEXT_LEASE, at_ms);
}

struct expiry {
    int64_t at_ms, key;
};

static enum pawl_err list_expiries(struct pawl__backend *sq, int64_t limit, struct expiry *out,
                                   size_t *count)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_EXPIRY_DUE);
    pawl__sq_bind(stmt, SQL_EXPIRY_DUE_now_ms, sq->now_ms);
    pawl__sq_bind(stmt, SQL_EXPIRY_DUE_limit, limit);
    bool found;
    enum pawl_err err;
    *count = 0;
    while (!(err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag)) && found) {
        out[(*count)++] = (struct expiry){ .at_ms = sqlite3_column_int64(stmt, 0),
                                           .key = sqlite3_column_int64(stmt, 1) };
    }
    return err;
}

/* The row goes in any case. A job that runs just now is asked again when it comes back, one that is
 * paused when it is resumed; one that ended, or was revived, has no use for it. */
static enum pawl_err expire_one(struct pawl__backend *sq, const struct expiry *expiry, bool *moved)
{
    static const enum pawl_event expire[] = { PAWL_EVENT_EXPIRE };
    *moved = false;
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_EXPIRY_DELETE);
    pawl__sq_bind(stmt, SQL_EXPIRY_DELETE_at_ms, expiry->at_ms);
    pawl__sq_bind(stmt, SQL_EXPIRY_DELETE_key, expiry->key);
    enum pawl_err err = pawl__sq_run(&sq->writer, stmt, sq->diag);
    if (err) return err;
    struct pawl__sq_place place;
    err = pawl__sq_place_get(sq, expiry->key, &place);
    if (err == PAWL_ERR_NOT_FOUND) return PAWL_OK;
    if (err || place.expires_at_ms != expiry->at_ms) return err;
    err = pawl__sq_move(sq, &place, expire, 1,
                        &(struct pawl__sq_target){ .reason = "expired before it could run" });
    *moved = !err;
    return err == PAWL_ERR_STATE ? PAWL_OK : err;
}

static enum pawl_err forget_keys(struct pawl__backend *sq, int64_t limit)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_KEY_FORGET);
    pawl__sq_bind(stmt, SQL_KEY_FORGET_now_ms, sq->now_ms);
    pawl__sq_bind(stmt, SQL_KEY_FORGET_limit, limit);
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}

enum pawl_err pawl__sq_op_expire(struct pawl__backend *sq, struct pawl__op *op)
{
    op->sweep.moved = op->sweep.next_at_ms = 0;
    int64_t limit = bounded(op->sweep.limit);
    struct expiry *list = pawl__arena_alloc(&op->arena, (size_t)(limit ? limit : 1) * sizeof *list);
    if (!list) return pawl__fail_nomem(sq->diag);
    size_t count;
    enum pawl_err err = list_expiries(sq, limit, list, &count);
    for (size_t i = 0; !err && i < count; i++) {
        bool moved;
        err = expire_one(sq, &list[i], &moved);
        op->sweep.moved += moved;
    }
    op->sweep.more = (int64_t)count == limit;
    if (!err) err = forget_keys(sq, limit);
    return err ? err : read_next(sq, SQL_EXPIRY_NEXT, &op->sweep.next_at_ms);
}
