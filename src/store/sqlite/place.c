/* Where a job stands, and how it begins to run when it is assigned, which the core has not taken
 * over: a move asks the lifecycle, leaves the old place, enters the new one and counts.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/sqlite/sqlite.h"

#include <assert.h>
#include <string.h>

static void read_place(sqlite3_stmt *stmt, struct pawl__sq_place *out)
{
    *out = (struct pawl__sq_place){
        .id = pawl__sq_row_id(stmt),
        .key = sqlite3_column_int64(stmt, COL_KEY),
        .tail = sqlite3_column_int64(stmt, COL_TAIL),
        .priority = sqlite3_column_int(stmt, COL_priority),
        .attempts_max = sqlite3_column_int(stmt, COL_attempts_max),
        .created_at_ms = sqlite3_column_int64(stmt, COL_created_at_ms),
        .due_at_ms = sqlite3_column_int64(stmt, COL_due_at_ms),
        .rank = sqlite3_column_int64(stmt, COL_RANK),
        .expires_at_ms = sqlite3_column_int64(stmt, COL_expires_at_ms),
        .sla_soft_at_ms = sqlite3_column_int64(stmt, COL_sla_soft_at_ms),
        .sla_hard_at_ms = sqlite3_column_int64(stmt, COL_sla_hard_at_ms),
        .state = (enum pawl_state)sqlite3_column_int(stmt, COL_state),
        .paused_from = (enum pawl_state)sqlite3_column_int(stmt, COL_paused_from),
        .run = sqlite3_column_int64(stmt, COL_run),
        .base_run = sqlite3_column_int64(stmt, COL_attempt),
        .free_runs = sqlite3_column_int64(stmt, COL_free_runs),
        .started_at_ms = sqlite3_column_int64(stmt, COL_started_at_ms),
        .lease_until_ms = sqlite3_column_int64(stmt, COL_lease_until_ms),
        .hidden = sqlite3_column_type(stmt, COL_HEAD) != SQLITE_NULL ||
                  sqlite3_column_int(stmt, COL_ties),
        .in_done = sqlite3_column_int(stmt, COL_IN_DONE) != 0,
    };
    const char *worker = (const char *)sqlite3_column_text(stmt, COL_worker);
    size_t len = worker ? (size_t)sqlite3_column_bytes(stmt, COL_worker) : 0;
    if (len > PAWL_WORKER_BYTES_MAX) len = PAWL_WORKER_BYTES_MAX;
    if (len) memcpy(out->worker, worker, len);
}

enum pawl_err pawl__sq_place_get(struct pawl__backend *sq, int64_t key, struct pawl__sq_place *out)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_PLACE_GET);
    pawl__sq_bind(stmt, SQL_PLACE_GET_key, key);
    bool found;
    enum pawl_err err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag);
    if (err) return err;
    if (!found) return PAWL_ERR_NOT_FOUND;
    read_place(stmt, out);
    err = pawl__sq_lane_by_id(sq, sqlite3_column_int64(stmt, COL_LANE), &out->lane);
    sqlite3_reset(stmt);
    return err;
}

enum pawl_err pawl__sq_place_find(struct pawl__backend *sq, struct pawl_job_id id,
                                  struct pawl__sq_place *out)
{
    int64_t key;
    enum pawl_err err = pawl__sq_find(&sq->writer, id, &key, sq->diag);
    return err ? err : pawl__sq_place_get(sq, key, out);
}

/* Only the id and the state mean anything. */
enum pawl_err pawl__sq_place_archived(struct pawl__backend *sq, struct pawl_job_id id,
                                      struct pawl__sq_place *out)
{
    int64_t key;
    enum pawl_err err = pawl__sq_find_archived(&sq->writer, id, &key, sq->diag);
    if (err) return err;
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_ARCHIVE_ENDED);
    pawl__sq_bind(stmt, SQL_ARCHIVE_ENDED_key, key);
    bool found;
    err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag);
    if (err) return err;
    if (!found) return PAWL_ERR_NOT_FOUND;
    *out = (struct pawl__sq_place){ .id = id,
                                    .key = key,
                                    .state = (enum pawl_state)sqlite3_column_int(stmt, 1),
                                    .created_at_ms = sqlite3_column_int64(stmt, 2) };
    sqlite3_reset(stmt);
    return PAWL_OK;
}

static enum pawl_err delete_by_key(struct pawl__backend *sq, enum pawl__sql sql, int64_t key)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, sql);
    pawl__sq_bind(stmt, 1, key);
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}

static enum pawl_err leave(struct pawl__backend *sq, const struct pawl__sq_place *place)
{
    switch (place->state) {
    case PAWL_STATE_AVAILABLE: {
        sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_READY_DELETE);
        pawl__sq_bind(stmt, SQL_READY_DELETE_lane, place->lane->id);
        pawl__sq_bind(stmt, SQL_READY_DELETE_rank, place->rank);
        pawl__sq_bind(stmt, SQL_READY_DELETE_key, place->key);
        return pawl__sq_run(&sq->writer, stmt, sq->diag);
    }
    case PAWL_STATE_ACTIVE:
        return delete_by_key(sq, SQL_ACTIVE_DELETE, place->key);
    default:
        assert(!pawl_state_is_terminal(place->state));
        return delete_by_key(sq, SQL_WAIT_DELETE, place->key);
    }
}

static enum pawl_err enter_ready(struct pawl__backend *sq, const struct pawl__sq_place *place)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_READY_INSERT);
    pawl__sq_bind(stmt, SQL_READY_INSERT_lane, place->lane->id);
    pawl__sq_bind(stmt, SQL_READY_INSERT_rank, place->rank);
    pawl__sq_bind(stmt, SQL_READY_INSERT_key, place->key);
    pawl__sq_bind(stmt, SQL_READY_INSERT_run, place->run);
    pawl__sq_bind(stmt, SQL_READY_INSERT_base_run, place->base_run);
    pawl__sq_bind(stmt, SQL_READY_INSERT_free_runs, place->free_runs);
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}

static enum pawl_err enter_active(struct pawl__backend *sq, const struct pawl__sq_place *place,
                                  const struct pawl__sq_target *target)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_ACTIVE_INSERT);
    pawl__sq_bind(stmt, SQL_ACTIVE_INSERT_key, place->key);
    if (!place->hidden) pawl__sq_bind(stmt, SQL_ACTIVE_INSERT_tail, place->tail);
    if (place->hidden) pawl__sq_bind_null(stmt, SQL_ACTIVE_INSERT_tail);
    pawl__sq_bind(stmt, SQL_ACTIVE_INSERT_lane, place->lane->id);
    pawl__sq_bind(stmt, SQL_ACTIVE_INSERT_run, place->run);
    pawl__sq_bind(stmt, SQL_ACTIVE_INSERT_base_run, place->base_run);
    pawl__sq_bind(stmt, SQL_ACTIVE_INSERT_free_runs, place->free_runs);
    pawl__sq_bind(stmt, SQL_ACTIVE_INSERT_started_at_ms, sq->now_ms);
    pawl__sq_bind(stmt, SQL_ACTIVE_INSERT_lease_until_ms, target->lease_until_ms);
    pawl__sq_bind_text(stmt, SQL_ACTIVE_INSERT_worker, target->worker);
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}

static enum pawl_err enter_done(struct pawl__backend *sq, const struct pawl__sq_place *place,
                                enum pawl_state to, const struct pawl__sq_target *target)
{
    if (place->in_done) { // it was paused after it had ended
        enum pawl_err err = delete_by_key(sq, SQL_DONE_DELETE, place->key);
        if (err) return err;
    }
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_DONE_INSERT);
    pawl__sq_bind(stmt, SQL_DONE_INSERT_key, place->key);
    pawl__sq_bind(stmt, SQL_DONE_INSERT_lane, place->lane->id);
    pawl__sq_bind(stmt, SQL_DONE_INSERT_state, to);
    pawl__sq_bind(stmt, SQL_DONE_INSERT_run, place->run);
    pawl__sq_bind(stmt, SQL_DONE_INSERT_base_run, place->base_run);
    pawl__sq_bind(stmt, SQL_DONE_INSERT_free_runs, place->free_runs);
    pawl__sq_bind_some(stmt, SQL_DONE_INSERT_started_at_ms, place->started_at_ms);
    pawl__sq_bind(stmt, SQL_DONE_INSERT_finished_at_ms, sq->now_ms);
    pawl__sq_bind(stmt, SQL_DONE_INSERT_dead_letter, 0);
    pawl__sq_bind_text(stmt, SQL_DONE_INSERT_worker, place->worker);
    pawl__sq_bind_text(stmt, SQL_DONE_INSERT_reason, target->reason);
    pawl__sq_bind_text(stmt, SQL_DONE_INSERT_result, NULL);
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}

static enum pawl_err enter(struct pawl__backend *sq, struct pawl__sq_place *place,
                           enum pawl_state to, const struct pawl__sq_target *target)
{
    switch (to) {
    case PAWL_STATE_AVAILABLE:
        return enter_ready(sq, place);
    case PAWL_STATE_ACTIVE:
        place->run++;
        return enter_active(sq, place, target);
    default:
        assert(pawl_state_is_terminal(to)); // the core does the rest
        return enter_done(sq, place, to, target);
    }
}

enum pawl_err pawl__sq_move(struct pawl__backend *sq, struct pawl__sq_place *place,
                            const enum pawl_event *events, size_t event_count,
                            const struct pawl__sq_target *target)
{
    enum pawl_state to = place->state;
    for (size_t i = 0; i < event_count; i++) {
        to = pawl__lifecycle_next(to, events[i], place->paused_from);
        assert(to != PAWL_STATE_NONE || i == 0); // whoever chains moves knows that they chain
        if (to == PAWL_STATE_NONE) return PAWL_ERR_STATE;
    }
    enum pawl_err err = leave(sq, place);
    if (!err) err = enter(sq, place, to, target);
    if (err) return err;
    pawl__sq_moved(sq, place->lane, place->id, place->run, place->state, to);
    place->state = to;
    return PAWL_OK;
}

enum pawl_err pawl__sq_deed(struct pawl__backend *sq, const struct pawl_job_id *id,
                            const char *subject, const char *action, const struct pawl_by *by,
                            enum pawl_state from, enum pawl_state to)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_DEED_INSERT);
    pawl__sq_bind(stmt, SQL_DEED_INSERT_at_ms, sq->now_ms);
    pawl__sq_bind_bytes(stmt, SQL_DEED_INSERT_job_id, id ? id->b : NULL, id ? sizeof id->b : 0);
    pawl__sq_bind_text(stmt, SQL_DEED_INSERT_subject, subject);
    pawl__sq_bind_text(stmt, SQL_DEED_INSERT_action, action);
    pawl__sq_bind_text(stmt, SQL_DEED_INSERT_actor, by->actor);
    pawl__sq_bind_text(stmt, SQL_DEED_INSERT_reason, by->reason);
    pawl__sq_bind_some(stmt, SQL_DEED_INSERT_from_state, from);
    pawl__sq_bind_some(stmt, SQL_DEED_INSERT_to_state, to);
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}
