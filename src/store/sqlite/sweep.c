/* Jobs that are due: found for the core, which decides what becomes of them; plain ones that are to
 * run become available right here.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/sqlite/sqlite.h"

#include <assert.h>

/* Statements that take now and a limit. */
struct sweep {
    enum pawl__sql sql;
    int now_ms, limit;
};
#define SWEEP(name) ((struct sweep){ SQL_##name, SQL_##name##_now_ms, SQL_##name##_limit })

static sqlite3_stmt *use(struct pawl__backend *sq, struct sweep sweep, int64_t limit)
{
    sqlite3_stmt *stmt = pawl__sq_stmt(sq, sweep.sql);
    pawl__sq_bind(stmt, sweep.now_ms, sq->set.now_ms);
    pawl__sq_bind(stmt, sweep.limit, limit);
    return stmt;
}

/* How many rows one finds, and the ids of those that are jobs: two halves. */
static enum pawl_err list_ids(struct pawl__backend *sq, struct sweep sweep, int64_t limit,
                              struct pawl_job_id *ids, size_t *count, int64_t *rows)
{
    sqlite3_stmt *stmt = use(sq, sweep, limit);
    bool found;
    enum pawl_err err;
    while (!(err = pawl__sq_step(sq, stmt, &found)) && found) {
        ++*rows;
        if (sqlite3_column_type(stmt, 1) == SQLITE_NULL) continue;
        ids[(*count)++] =
            pawl__sq_join(sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1));
    }
    return err;
}

static enum pawl_err refuse_damaged(struct pawl__backend *sq)
{
    return pawl__fail(sq->set.diag, PAWL_ERR_CORRUPT, "the store is damaged: a job has no facts");
}

static enum pawl_err scan_waiting(struct pawl__backend *sq, int64_t limit, struct pawl_job_id *ids,
                                  size_t *count, int64_t *rows)
{
    enum pawl_err err = list_ids(sq, SWEEP(WAIT_DUE), limit, ids, count, rows);
    return err || (int64_t)*count == *rows ? err : refuse_damaged(sq);
}

/* Runs first, then jobs that were routed and not assigned in time. */
static enum pawl_err scan_leases(struct pawl__backend *sq, int64_t limit, struct pawl_job_id *ids,
                                 size_t *count, int64_t *rows)
{
    enum pawl_err err = list_ids(sq, SWEEP(ACTIVE_LAPSED), limit, ids, count, rows);
    if (!err && *rows < limit) {
        err = list_ids(sq, SWEEP(WAIT_LAPSED), limit - *rows, ids, count, rows);
    }
    return err || (int64_t)*count == *rows ? err : refuse_damaged(sq);
}

/* Their rows of pawl_expiry go in any case; a job may be gone already. */
static enum pawl_err scan_expiries(struct pawl__backend *sq, int64_t limit, struct pawl_job_id *ids,
                                   size_t *count, int64_t *rows)
{
    enum pawl_err err = list_ids(sq, SWEEP(EXPIRY_DUE), limit, ids, count, rows);
    if (err || !*rows) return err;
    return pawl__sq_end(sq, use(sq, SWEEP(EXPIRY_FORGET), limit));
}

enum pawl_err pawl__sq_scan_due(struct pawl__backend *sq, enum pawl__due what, int64_t limit,
                                struct pawl_job_id *ids, size_t *count, bool *more)
{
    int64_t rows = 0;
    *count = 0;
    enum pawl_err err = what == PAWL__DUE_RUN     ? scan_waiting(sq, limit, ids, count, &rows)
                        : what == PAWL__DUE_LEASE ? scan_leases(sq, limit, ids, count, &rows)
                                                  : scan_expiries(sq, limit, ids, count, &rows);
    *more = rows == limit;
    return err;
}

/* ---- promotion of jobs without ties ---- */

/* Columns of wait_due. */
enum { DUE_HEAD, DUE_TAIL, DUE_TIES, DUE_LANE, DUE_STATE, DUE_RUN };

static enum pawl_err note_promoted(struct pawl__backend *sq, sqlite3_stmt *stmt,
                                   struct pawl_job_id id)
{
    enum pawl_state from = (enum pawl_state)sqlite3_column_int(stmt, DUE_STATE);
    assert(pawl__lifecycle_next(from, PAWL_EVENT_DUE, PAWL_STATE_NONE) == PAWL_STATE_AVAILABLE);
    struct pawl__lane *lane;
    enum pawl_err err = pawl__sql_lane_by_id(sq, sqlite3_column_int64(stmt, DUE_LANE), &lane);
    if (err) return err;
    pawl__set_moved(&sq->set,
                    &(struct pawl__plain_move){ .id = id,
                                                .run = sqlite3_column_int64(stmt, DUE_RUN),
                                                .lane = lane->at,
                                                .from = from,
                                                .to = PAWL_STATE_AVAILABLE });
    return PAWL_OK;
}

enum pawl_err pawl__sq_promote_plain(struct pawl__backend *sq, int64_t limit,
                                     struct pawl_job_id *ids, size_t *count, int64_t *moved,
                                     bool *more)
{
    sqlite3_stmt *stmt = use(sq, SWEEP(WAIT_DUE), limit);
    bool found = false;
    enum pawl_err err;
    while (!(err = pawl__sq_step(sq, stmt, &found)) && found) {
        struct pawl_job_id id = pawl__sq_join(sqlite3_column_int64(stmt, DUE_HEAD),
                                              sqlite3_column_int64(stmt, DUE_TAIL));
        if (sqlite3_column_type(stmt, DUE_TAIL) == SQLITE_NULL) err = refuse_damaged(sq);
        bool tied = sqlite3_column_int(stmt, DUE_TIES);
        if (!err && !tied) err = note_promoted(sq, stmt, id);
        if (err) break;
        if (tied) ids[(*count)++] = id;
        *moved += !tied;
    }
    if (found) sqlite3_reset(stmt);
    *more = *moved + (int64_t)*count == limit;
    if (err || !*moved) return err;
    err = pawl__sq_end(sq, use(sq, SWEEP(PROMOTE_ENTER), *moved));
    if (err) return err;
    return pawl__sq_end(sq, use(sq, SWEEP(PROMOTE_LEAVE), *moved));
}

/* ---- what is due next ---- */

static enum pawl_err read_next(struct pawl__backend *sq, enum pawl__sql sql, int64_t *next_at_ms)
{
    sqlite3_stmt *stmt = pawl__sq_stmt(sq, sql);
    bool found;
    enum pawl_err err = pawl__sq_step(sq, stmt, &found);
    if (err || !found) return err;
    int64_t at_ms = sqlite3_column_int64(stmt, 0); // 0 for NULL: nothing waits
    sqlite3_reset(stmt);
    if (at_ms && (!*next_at_ms || at_ms < *next_at_ms)) *next_at_ms = at_ms;
    return PAWL_OK;
}

enum pawl_err pawl__sq_next_due(struct pawl__backend *sq, enum pawl__due what, int64_t *at_ms)
{
    if (what == PAWL__DUE_RUN) return pawl__sql_number(sq, PAWL__READ_JOB_NEXT_DUE, at_ms);
    if (what == PAWL__DUE_EXPIRY) return pawl__sql_number(sq, PAWL__READ_JOB_NEXT_EXPIRY, at_ms);
    enum pawl_err err = read_next(sq, SQL_ACTIVE_NEXT_LEASE, at_ms);
    return err ? err : read_next(sq, SQL_WAIT_NEXT_LEASE, at_ms);
}
