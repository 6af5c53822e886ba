/* Jobs that have ended: to the archive, and out of it.
 *
 * Runs on: the committer's thread, inside a transaction, a bounded number at a time. */
#include "store/sqlite/sqlite.h"

#include <assert.h>
#include <string.h>

static enum pawl_err run_by_key(struct pawl__backend *sq, enum pawl__sql sql, int64_t key)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, sql);
    pawl__sq_bind(stmt, 1, key);
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}

static enum pawl_err count_in_lane(struct pawl__backend *sq, int64_t id, enum pawl_state from,
                                   enum pawl_state to)
{
    struct pawl__lane *lane;
    enum pawl_err err = pawl__sq_lane_by_id(sq, id, &lane);
    if (!err) pawl__sq_count(sq, lane, from, to);
    return err;
}

static enum pawl_err archive_one(struct pawl__backend *sq, int64_t key, enum pawl_state state,
                                 int64_t lane)
{
    enum pawl_err err = run_by_key(sq, SQL_ARCHIVE_INSERT, key);
    if (!err) err = run_by_key(sq, SQL_DONE_DELETE, key);
    if (!err) err = run_by_key(sq, SQL_JOB_DELETE, key);
    if (err) return err;
    if (key > sq->archive_high) sq->archive_high = key;
    return count_in_lane(sq, lane, state, PAWL_STATE_NONE);
}

struct ended {
    int64_t key, lane;
};

/* Jobs of one state that ended before, oldest first, copied out. */
static enum pawl_err list_ended(struct pawl__backend *sq, struct pawl__op *op,
                                enum pawl_state state, struct ended *out, int64_t limit,
                                size_t *count)
{
    bool purge = op->kind == PAWL__OP_PURGE;
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, purge ? SQL_ARCHIVE_OLD : SQL_DONE_ENDED);
    if (purge) {
        pawl__sq_bind(stmt, SQL_ARCHIVE_OLD_state, state);
        pawl__sq_bind(stmt, SQL_ARCHIVE_OLD_before_ms, pawl__retire_before_ms(op));
        pawl__sq_bind(stmt, SQL_ARCHIVE_OLD_now_ms, sq->now_ms);
        pawl__sq_bind(stmt, SQL_ARCHIVE_OLD_limit, limit);
    } else {
        pawl__sq_bind(stmt, SQL_DONE_ENDED_state, state);
        pawl__sq_bind(stmt, SQL_DONE_ENDED_before_ms, pawl__retire_before_ms(op));
        pawl__sq_bind(stmt, SQL_DONE_ENDED_limit, limit);
    }
    bool found;
    enum pawl_err err;
    *count = 0;
    while (!(err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag)) && found) {
        out[(*count)++] = (struct ended){ .key = sqlite3_column_int64(stmt, 0),
                                          .lane = sqlite3_column_int64(stmt, 1) };
    }
    return err;
}

static void bind_walk(struct pawl__backend *sq, struct pawl__op *op, sqlite3_stmt *stmt,
                      int64_t after)
{
    int64_t before_ms = pawl__retire_before_ms(op);
    int64_t until = pawl__sq_key_at(before_ms + PAWL__SQ_KEY_SLACK_MS);
    if (op->kind == PAWL__OP_PURGE) {
        pawl__sq_bind(stmt, SQL_ARCHIVE_COMPLETED_before_ms, before_ms);
        pawl__sq_bind(stmt, SQL_ARCHIVE_COMPLETED_now_ms, sq->now_ms);
        pawl__sq_bind(stmt, SQL_ARCHIVE_COMPLETED_after, after);
        pawl__sq_bind(stmt, SQL_ARCHIVE_COMPLETED_until, until);
        pawl__sq_bind(stmt, SQL_ARCHIVE_COMPLETED_limit, PAWL__MAINTENANCE_MAX);
    } else {
        pawl__sq_bind(stmt, SQL_DONE_COMPLETED_before_ms, before_ms);
        pawl__sq_bind(stmt, SQL_DONE_COMPLETED_after, after);
        pawl__sq_bind(stmt, SQL_DONE_COMPLETED_until, until);
        pawl__sq_bind(stmt, SQL_DONE_COMPLETED_limit, PAWL__MAINTENANCE_MAX);
    }
}

/* One stretch of the walk through completed jobs in order of key, which is that of creation: none
 * that was created after the cut can have ended before it. It goes on where the last one stopped;
 * at the end the next begins anew, for jobs that took long. */
static enum pawl_err list_completed(struct pawl__backend *sq, struct pawl__op *op,
                                    struct ended *out, int64_t limit, size_t *count)
{
    bool purge = op->kind == PAWL__OP_PURGE;
    int64_t *through = purge ? &sq->purged_through : &sq->archived_through;
    sqlite3_stmt *stmt =
        pawl__sq_use(&sq->writer, purge ? SQL_ARCHIVE_COMPLETED : SQL_DONE_COMPLETED);
    bind_walk(sq, op, stmt, *through);
    int64_t seen = 0;
    bool found;
    enum pawl_err err;
    *count = 0;
    while (!(err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag)) && found) {
        seen++;
        *through = sqlite3_column_int64(stmt, 0);
        if (!sqlite3_column_int(stmt, 2)) continue;
        out[(*count)++] = (struct ended){ .key = *through, .lane = sqlite3_column_int64(stmt, 1) };
        if ((int64_t)*count < limit) continue;
        op->retire.more = true;
        sqlite3_reset(stmt);
        return PAWL_OK;
    }
    if (!err && seen < PAWL__MAINTENANCE_MAX) {
        *through = 0;
    } else {
        op->retire.more = true;
    }
    return err;
}

/* What is kept with a job besides its row, read before the row goes. */
struct belongings {
    struct pawl_job_id id;
    struct pawl_span tags, keys;
};

static enum pawl_err read_belongings(struct pawl__backend *sq, enum pawl__sql sql, int64_t key,
                                     struct pawl__arena *arena, struct belongings *out)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, sql);
    pawl__sq_bind(stmt, 1, key);
    bool found;
    enum pawl_err err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag);
    if (err) return err;
    if (!found) return PAWL_ERR_NOT_FOUND;
    out->id = pawl__sq_row_id(stmt);
    bool ok = pawl__sq_column_span(stmt, COL_tags, arena, &out->tags);
    out->keys.len = (size_t)sqlite3_column_bytes(stmt, COL_KEYS);
    const void *keys = sqlite3_column_blob(stmt, COL_KEYS);
    out->keys.at = pawl__arena_dup(arena, keys ? keys : "", out->keys.len);
    sqlite3_reset(stmt);
    return ok && out->keys.at ? PAWL_OK : pawl__fail_nomem(sq->diag);
}

static enum pawl_err purge_one(struct pawl__backend *sq, int64_t key, int64_t lane)
{
    struct pawl__arena arena = { 0 };
    struct belongings belongings;
    enum pawl_err err = read_belongings(sq, SQL_ARCHIVE_FACTS, key, &arena, &belongings);
    if (!err) err = pawl__sq_forget(sq, key, belongings.id, belongings.tags, belongings.keys);
    if (!err) err = run_by_key(sq, SQL_ARCHIVE_DELETE, key);
    pawl__arena_release(&arena);
    return err ? err : count_in_lane(sq, lane, PAWL_STATE_NONE, PAWL__OUTSIDE);
}

static enum pawl_err retire_state(struct pawl__backend *sq, struct pawl__op *op,
                                  enum pawl_state state, struct ended *list, int64_t limit)
{
    size_t count;
    enum pawl_err err = state == PAWL_STATE_COMPLETED
                            ? list_completed(sq, op, list, limit, &count)
                            : list_ended(sq, op, state, list, limit, &count);
    for (size_t i = 0; !err && i < count; i++) {
        err = op->kind == PAWL__OP_PURGE ? purge_one(sq, list[i].key, list[i].lane)
                                         : archive_one(sq, list[i].key, state, list[i].lane);
    }
    op->retire.moved += (int64_t)count;
    op->retire.more |= (int64_t)count == limit;
    return err;
}

enum pawl_err pawl__sq_op_archive(struct pawl__backend *sq, struct pawl__op *op)
{
    int64_t limit = op->retire.limit < PAWL__MAINTENANCE_MAX ? op->retire.limit
                                                             : PAWL__MAINTENANCE_MAX;
    op->retire.moved = 0;
    op->retire.more = false;
    bool ours;
    enum pawl_err err = pawl__sq_retire_begin(sq, op, &ours);
    if (err || !ours) return err;
    struct ended *list = pawl__arena_alloc(&op->arena, (size_t)(limit ? limit : 1) * sizeof *list);
    if (!list) return pawl__fail_nomem(sq->diag);
    for (int state = PAWL_STATE_COMPLETED; !err && state < PAWL_STATE_END; state++) {
        int64_t left = limit - op->retire.moved;
        if (left <= 0) break;
        if (!(op->retire.states & PAWL_STATE_BIT(state))) continue;
        err = retire_state(sq, op, (enum pawl_state)state, list, left);
    }
    return err;
}

enum pawl_err pawl__sq_op_purge(struct pawl__backend *sq, struct pawl__op *op)
{
    return pawl__sq_op_archive(sq, op); // the same walk; op->kind tells which
}
