/* Jobs that have ended: how they are found. What is made of them is core/retire.c's.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/sqlite/sqlite.h"

/* Columns of the four statements. */
enum { ENDED_KEY, ENDED_HEAD, ENDED_TAIL, ENDED_LANE, ENDED_FITS };

/* The job that the statement has found, into the set. */
static enum pawl_err take(struct pawl__backend *sq, sqlite3_stmt *stmt,
                          const struct pawl__ended *what)
{
    struct pawl_job_id id = pawl__sq_join(sqlite3_column_int64(stmt, ENDED_HEAD),
                                          sqlite3_column_int64(stmt, ENDED_TAIL));
    if (what->archived) {
        pawl__set_scanned(&sq->set, id, PAWL__NEED_KEYS);
        return PAWL_OK;
    }
    struct pawl__lane *lane;
    enum pawl_err err = pawl__sql_lane_by_id(sq, sqlite3_column_int64(stmt, ENDED_LANE), &lane);
    if (err) return err;
    struct pawl__row *row = pawl__set_ended(&sq->set, id, lane->at, what->state);
    if (row) row->own.key = sqlite3_column_int64(stmt, ENDED_KEY);
    return PAWL_OK;
}

static void bind_state(sqlite3_stmt *stmt, const struct pawl__ended *what)
{
    if (what->archived) {
        pawl__sq_bind(stmt, SQL_ARCHIVE_OLD_state, what->state);
        pawl__sq_bind(stmt, SQL_ARCHIVE_OLD_before_ms, what->before_ms);
        pawl__sq_bind(stmt, SQL_ARCHIVE_OLD_kept_until_ms, what->kept_until_ms);
        pawl__sq_bind(stmt, SQL_ARCHIVE_OLD_limit, what->limit);
    } else {
        pawl__sq_bind(stmt, SQL_DONE_ENDED_state, what->state);
        pawl__sq_bind(stmt, SQL_DONE_ENDED_before_ms, what->before_ms);
        pawl__sq_bind(stmt, SQL_DONE_ENDED_limit, what->limit);
    }
}

/* By the index of their ends. */
static enum pawl_err scan_state(struct pawl__backend *sq, const struct pawl__ended *what)
{
    sqlite3_stmt *stmt = pawl__sq_stmt(sq, what->archived ? SQL_ARCHIVE_OLD : SQL_DONE_ENDED);
    bind_state(stmt, what);
    bool found;
    enum pawl_err err;
    while (!(err = pawl__sq_step(sq, stmt, &found)) && found) {
        err = take(sq, stmt, what);
        if (err) break;
    }
    if (err) sqlite3_reset(stmt);
    return err;
}

static void bind_walk(sqlite3_stmt *stmt, const struct pawl__ended *what, int64_t after)
{
    int64_t until = pawl__sq_key_at(what->before_ms + PAWL__SQ_KEY_SLACK_MS);
    if (what->archived) {
        pawl__sq_bind(stmt, SQL_ARCHIVE_COMPLETED_before_ms, what->before_ms);
        pawl__sq_bind(stmt, SQL_ARCHIVE_COMPLETED_kept_until_ms, what->kept_until_ms);
        pawl__sq_bind(stmt, SQL_ARCHIVE_COMPLETED_after, after);
        pawl__sq_bind(stmt, SQL_ARCHIVE_COMPLETED_until, until);
        pawl__sq_bind(stmt, SQL_ARCHIVE_COMPLETED_limit, PAWL__MAINTENANCE_MAX);
    } else {
        pawl__sq_bind(stmt, SQL_DONE_COMPLETED_before_ms, what->before_ms);
        pawl__sq_bind(stmt, SQL_DONE_COMPLETED_after, after);
        pawl__sq_bind(stmt, SQL_DONE_COMPLETED_until, until);
        pawl__sq_bind(stmt, SQL_DONE_COMPLETED_limit, PAWL__MAINTENANCE_MAX);
    }
}

/* One stretch of the walk through completed jobs in order of key, which is that of creation: none
 * that was created after the cut can have ended before it. It goes on where the last one stopped;
 * at the end the next begins anew, for jobs that took long. */
static enum pawl_err walk_completed(struct pawl__backend *sq, const struct pawl__ended *what,
                                    bool *more)
{
    int64_t *through = what->archived ? &sq->purged_through : &sq->archived_through;
    sqlite3_stmt *stmt =
        pawl__sq_stmt(sq, what->archived ? SQL_ARCHIVE_COMPLETED : SQL_DONE_COMPLETED);
    bind_walk(stmt, what, *through);
    int64_t seen = 0, taken = 0;
    bool found;
    enum pawl_err err;
    while (!(err = pawl__sq_step(sq, stmt, &found)) && found) {
        seen++;
        *through = sqlite3_column_int64(stmt, ENDED_KEY);
        if (!sqlite3_column_int(stmt, ENDED_FITS)) continue;
        err = take(sq, stmt, what);
        if (err || ++taken == what->limit) break;
    }
    bool ended = !err && taken < what->limit && seen < PAWL__MAINTENANCE_MAX;
    if (ended) *through = 0;
    *more = !ended;
    if (found) sqlite3_reset(stmt);
    return err;
}

enum pawl_err pawl__sq_scan_ended(struct pawl__backend *sq, const struct pawl__ended *what,
                                  bool *more)
{
    *more = false;
    return what->state == PAWL_STATE_COMPLETED ? walk_completed(sq, what, more)
                                               : scan_state(sq, what);
}
