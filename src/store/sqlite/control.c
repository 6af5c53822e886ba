/* What operators do to jobs and queues: every deed is recorded.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/sqlite/sqlite.h"

#include <assert.h>
#include <string.h>

/* A new series of attempts, due now, with the old errors kept and no time to live: it is over. */
static enum pawl_err prepare_revival(struct pawl__backend *sq, struct pawl__sq_place *place,
                                     struct pawl_diag *diag)
{
    enum pawl_err err = pawl__sq_keys_retake(sq, place, true, diag);
    if (err) return err;
    place->base_run = place->run;
    place->free_runs = 0;
    if (!place->expires_at_ms) return PAWL_OK;
    place->expires_at_ms = 0;
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_JOB_NEVER_EXPIRES);
    pawl__sq_bind(stmt, SQL_JOB_NEVER_EXPIRES_key, place->key);
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}

static enum pawl_err carry_out(struct pawl__backend *sq, struct pawl__sq_place *place,
                               enum pawl_control control, const struct pawl_by *by,
                               struct pawl_diag *diag)
{
    enum pawl_event event = pawl__control_event(control);
    struct pawl__sq_target target = { .reason = pawl__control_reason(control, by) };
    enum pawl_err err = PAWL_OK;
    if (control == PAWL_CONTROL_RETRY) {
        err = prepare_revival(sq, place, diag);
        target.due_at_ms = sq->now_ms;
    }
    if (control == PAWL_CONTROL_PROMOTE && place->due_at_ms > sq->now_ms) {
        target.due_at_ms = sq->now_ms;
    }
    if (control == PAWL_CONTROL_PAUSE && place->in_done) { // it is live again, and so are its keys
        err = pawl__sq_keys_retake(sq, place, false, diag);
    }
    return err ? err : pawl__sq_move(sq, place, &event, 1, &target);
}

static bool allows(const struct pawl__sq_place *place, enum pawl_control control)
{
    return pawl__control_allowed(control, place->state, place->paused_from);
}

enum pawl_err pawl__sq_control_place(struct pawl__backend *sq, struct pawl__sq_place *place,
                                     enum pawl_control control, const struct pawl_by *by,
                                     struct pawl_diag *diag)
{
    enum pawl_state from = place->state;
    if (control == PAWL_CONTROL_PAUSE && from == PAWL_STATE_PAUSED) return PAWL_OK;
    const char *verb = pawl__control_verb(control);
    if (!allows(place, control)) return pawl__fail_state(diag, place->id, from, verb);
    enum pawl_err err = carry_out(sq, place, control, by, diag);
    if (err) return err;
    if (from == PAWL_STATE_ACTIVE) pawl__sq_tale_control(sq, place, from);
    return pawl__sq_deed(sq, &place->id, NULL, verb, by, from, place->state);
}

/* A job that is archived comes back if there is something to be done to it. */
static enum pawl_err find_for_control(struct pawl__backend *sq, struct pawl_job_id id,
                                      enum pawl_control control, struct pawl__sq_place *out,
                                      struct pawl_diag *diag)
{
    enum pawl_err err = pawl__sq_place_find(sq, id, out);
    if (err != PAWL_ERR_NOT_FOUND) return err;
    err = pawl__sq_place_archived(sq, id, out);
    if (err == PAWL_ERR_NOT_FOUND) return pawl__fail_unknown(diag, id);
    if (err || !allows(out, control)) return err;
    err = pawl__sq_unarchive(sq, id);
    return err ? err : pawl__sq_place_find(sq, id, out);
}

static enum pawl_err control_any(struct pawl__backend *sq, struct pawl__op *op)
{
    struct pawl__sq_place place;
    enum pawl_err err = find_for_control(sq, op->control.id, op->control.control, &place, op->diag);
    if (err) return err;
    op->control.from = op->control.to = place.state;
    err = pawl__sq_control_place(sq, &place, op->control.control, &op->control.by, op->diag);
    op->control.to = place.state;
    return err;
}

static enum pawl_err control_own(struct pawl__backend *sq, struct pawl__op *op)
{
    struct pawl_run ref = { op->control.id, op->control.run };
    struct pawl__sq_place place;
    enum pawl_err err = pawl__sq_place_owned(sq, &ref, &place, op->diag);
    if (err) return err;
    op->control.from = op->control.to = place.state;
    err = pawl__sq_control_place(sq, &place, op->control.control, &op->control.by, op->diag);
    op->control.to = place.state;
    return err;
}

enum pawl_err pawl__sq_op_control(struct pawl__backend *sq, struct pawl__op *op)
{
    assert(op->control.control > PAWL_CONTROL_NONE && op->control.control < PAWL_CONTROL_END);
    op->control.from = op->control.to = PAWL_STATE_NONE;
    if (op->control.run > 0) return control_own(sq, op);
    enum pawl_err err = pawl__sq_savepoint(sq); // a job may come back from the archive in vain
    if (err) return err;
    err = control_any(sq, op);
    if (!err) return pawl__sq_savepoint_keep(sq);
    if (!pawl__err_is_own(err)) return err;
    enum pawl_err undone = pawl__sq_savepoint_undo(sq);
    return undone ? undone : err;
}

static enum pawl_err bulk_one(struct pawl__backend *sq, struct pawl__op *op, struct pawl_job_id id,
                              bool *moved)
{
    *moved = false;
    enum pawl_err err;
    if (op->bulk.control == PAWL_CONTROL_NONE) {
        err = pawl__sq_delete(sq, id, &op->bulk.by, NULL);
    } else {
        struct pawl__sq_place place;
        err = find_for_control(sq, id, op->bulk.control, &place, NULL);
        if (!err && place.state == PAWL_STATE_PAUSED && op->bulk.control == PAWL_CONTROL_PAUSE) {
            return PAWL_OK; // fine, but nothing moves
        }
        if (!err) {
            err = pawl__sq_control_place(sq, &place, op->bulk.control, &op->bulk.by, op->diag);
        }
    }
    *moved = !err;
    return err == PAWL_ERR_STATE || err == PAWL_ERR_NOT_FOUND ? PAWL_OK : err;
}

enum pawl_err pawl__sq_op_bulk(struct pawl__backend *sq, struct pawl__op *op)
{
    assert(op->bulk.limit >= 1 && op->bulk.limit <= PAWL_BULK_MAX);
    struct pawl_filter filter = *op->bulk.filter;
    // the limit counts only jobs that can move
    filter.states = (filter.states ? filter.states : ~UINT32_C(0)) &
                    pawl__control_states(op->bulk.control);
    op->bulk.moved = 0;
    if (!filter.states) return PAWL_OK;
    struct pawl_job_id *ids;
    size_t count;
    enum pawl_err err =
        pawl__sq_match(&sq->writer, &filter, op->bulk.limit, &op->arena, &ids, &count, sq->diag);
    if (err) return err;
    err = pawl__sq_savepoint(sq);
    for (size_t i = 0; !err && i < count; i++) {
        bool moved;
        err = bulk_one(sq, op, ids[i], &moved);
        op->bulk.moved += moved;
    }
    if (!err) return pawl__sq_savepoint_keep(sq);
    if (err != PAWL_ERR_DUPLICATE) return err;
    op->bulk.moved = 0;
    enum pawl_err undone = pawl__sq_savepoint_undo(sq);
    return undone ? undone : err;
}

static enum pawl_err rerank(struct pawl__backend *sq, struct pawl__sq_place *place)
{
    int64_t rank = pawl__sq_rank_of(sq, place, place->due_at_ms);
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_JOB_REPRIORITISE);
    pawl__sq_bind(stmt, SQL_JOB_REPRIORITISE_priority, place->priority);
    pawl__sq_bind(stmt, SQL_JOB_REPRIORITISE_rank, rank);
    pawl__sq_bind(stmt, SQL_JOB_REPRIORITISE_key, place->key);
    enum pawl_err err = pawl__sq_run(&sq->writer, stmt, sq->diag);
    if (err) return err;
    if (place->state != PAWL_STATE_AVAILABLE) {
        stmt = pawl__sq_use(&sq->writer, SQL_WAIT_RERANK);
        pawl__sq_bind(stmt, SQL_WAIT_RERANK_rank, rank);
        pawl__sq_bind(stmt, SQL_WAIT_RERANK_key, place->key);
        return pawl__sq_run(&sq->writer, stmt, sq->diag);
    }
    stmt = pawl__sq_use(&sq->writer, SQL_READY_RERANK);
    pawl__sq_bind(stmt, SQL_READY_RERANK_new_rank, rank);
    pawl__sq_bind(stmt, SQL_READY_RERANK_lane, place->lane->id);
    pawl__sq_bind(stmt, SQL_READY_RERANK_rank, place->rank);
    pawl__sq_bind(stmt, SQL_READY_RERANK_key, place->key);
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}

enum pawl_err pawl__sq_op_priority(struct pawl__backend *sq, struct pawl__op *op)
{
    struct pawl__sq_place place;
    enum pawl_err err = pawl__sq_place_find(sq, op->priority.id, &place);
    if (err == PAWL_ERR_NOT_FOUND) err = pawl__sq_place_archived(sq, op->priority.id, &place);
    if (err == PAWL_ERR_NOT_FOUND) return pawl__fail_unknown(op->diag, op->priority.id);
    if (err) return err;
    if (pawl_state_is_terminal(place.state) || place.state == PAWL_STATE_ACTIVE) {
        return pawl__fail_state(op->diag, place.id, place.state, "change the priority of");
    }
    op->priority.before = place.priority;
    place.priority = op->priority.priority;
    err = rerank(sq, &place);
    if (err) return err;
    return pawl__sq_deed(sq, &place.id, NULL, "priority", &op->priority.by, place.state,
                         place.state);
}

enum pawl_err pawl__sq_op_queue_pause(struct pawl__backend *sq, struct pawl__op *op)
{
    struct pawl__sq_queue *queue;
    enum pawl_err err = pawl__sq_queue_of(sq, op->queue.queue, &queue);
    if (err) return err;
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_QUEUE_PAUSE);
    pawl__sq_bind(stmt, SQL_QUEUE_PAUSE_paused, op->queue.paused);
    pawl__sq_bind(stmt, SQL_QUEUE_PAUSE_forgotten, op->queue.forgotten);
    pawl__sq_bind(stmt, SQL_QUEUE_PAUSE_id, queue->id);
    err = pawl__sq_run(&sq->writer, stmt, sq->diag);
    if (err) return err;
    queue->paused = op->queue.paused; // a rollback reads the queues again
    if (!op->queue.paused) sq->tale.ready = true;
    return pawl__sq_deed(sq, NULL, op->queue.queue, pawl__queue_deed(op), &op->queue.by,
                         PAWL_STATE_NONE, PAWL_STATE_NONE);
}
