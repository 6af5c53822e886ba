/* What operators do to jobs and queues: every deed is recorded.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/sqlite/sqlite.h"

#include <assert.h>
#include <string.h>

/* Deletes; controls are decided by the core. */
enum pawl_err pawl__sq_op_bulk(struct pawl__backend *sq, struct pawl__op *op)
{
    assert(op->bulk.limit >= 1 && op->bulk.limit <= PAWL_BULK_MAX);
    assert(op->bulk.control == PAWL_CONTROL_NONE);
    struct pawl_filter filter = *op->bulk.filter;
    // the limit counts only jobs that can be deleted
    filter.states = (filter.states ? filter.states : ~UINT32_C(0)) &
                    pawl__control_states(op->bulk.control);
    op->bulk.moved = 0;
    if (!filter.states) return PAWL_OK;
    struct pawl_job_id *ids;
    size_t count;
    enum pawl_err err =
        pawl__sq_match(&sq->writer, &filter, op->bulk.limit, &op->arena, &ids, &count, sq->diag);
    for (size_t i = 0; !err && i < count; i++) {
        err = pawl__sq_delete(sq, ids[i], &op->bulk.by, NULL);
        op->bulk.moved += !err;
        if (err == PAWL_ERR_STATE || err == PAWL_ERR_NOT_FOUND) err = PAWL_OK;
    }
    return err;
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
    struct pawl__queue *queue;
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
