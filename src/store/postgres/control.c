/* What operators do to jobs and queues: every deed is recorded.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

#include <assert.h>
#include <string.h>

/* Deletes; controls are decided by the core. */
enum pawl_err pawl__pg_op_bulk(struct pawl__backend *pg, struct pawl__op *op)
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
    enum pawl_err err = pawl__pg_rolls_flush(pg); // jobs of some states are found by them
    if (err) return err;
    err = pawl__pg_match(&pg->writer, &filter, op->bulk.limit, &op->arena, &ids, &count, pg->diag);
    for (size_t i = 0; !err && i < count; i++) {
        err = pawl__pg_delete(pg, ids[i], &op->bulk.by, NULL);
        op->bulk.moved += !err;
        if (err == PAWL_ERR_STATE || err == PAWL_ERR_NOT_FOUND) err = PAWL_OK;
    }
    return err;
}

/* Where the roll had it before, its own rank says that it does not belong, or not yet. */
static void rerank(struct pawl__backend *pg, struct pawl__pg_place *place)
{
    place->rank = pawl__pg_rank_of(pg, place, place->due_at_ms);
    pawl__pg_call(&pg->writer, PG_JOB_REPRIORITISE);
    pawl__pg_bind(&pg->writer, PG_JOB_REPRIORITISE_priority, place->priority);
    pawl__pg_bind(&pg->writer, PG_JOB_REPRIORITISE_rank, place->rank);
    pawl__pg_bind_id(&pg->writer, PG_JOB_REPRIORITISE_id, &place->id);
    pawl__pg_send_exact(&pg->writer, 1);
    if (place->state == PAWL_STATE_AVAILABLE) {
        pawl__pg_roll_ready(pg, &(struct pawl__pg_waiting){ .lane = place->lane->id,
                                                            .rank = place->rank,
                                                            .id = place->id,
                                                            .arrival = place->arrival });
    }
}

enum pawl_err pawl__pg_op_priority(struct pawl__backend *pg, struct pawl__op *op)
{
    struct pawl__pg_place place;
    enum pawl_err err = pawl__pg_place_any(pg, op->priority.id, &place, op->diag);
    if (err) return err;
    if (pawl_state_is_terminal(place.state) || place.state == PAWL_STATE_ACTIVE) {
        return pawl__fail_state(op->diag, place.id, place.state, "change the priority of");
    }
    op->priority.before = place.priority;
    place.priority = op->priority.priority;
    rerank(pg, &place);
    pawl__pg_deed(pg, &place.id, NULL, "priority", &op->priority.by, place.state, place.state);
    return PAWL_OK;
}

/* The catalog grows first: like whoever makes a queue, in one order. */
enum pawl_err pawl__pg_op_queue_pause(struct pawl__backend *pg, struct pawl__op *op)
{
    struct pawl__queue *queue = pawl__catalog_queue(&pg->catalog, op->queue.queue);
    if (!queue) return pawl__fail(op->diag, PAWL_ERR_ARG, "the queue's name is not UTF-8");
    pawl__pg_say(&pg->writer, PG_CATALOG_GROW);
    pawl__pg_call(&pg->writer, PG_QUEUE_PAUSE);
    pawl__pg_bind_bool(&pg->writer, PG_QUEUE_PAUSE_paused, op->queue.paused);
    pawl__pg_bind_bool(&pg->writer, PG_QUEUE_PAUSE_forgotten, op->queue.forgotten);
    pawl__pg_bind(&pg->writer, PG_QUEUE_PAUSE_id, queue->id);
    pawl__pg_send_exact(&pg->writer, 1);
    queue->paused = op->queue.paused;
    pg->catalog_version = 0; // whatever becomes of it, read it again
    if (!op->queue.paused) pg->tale.ready = true;
    pawl__pg_deed(pg, NULL, op->queue.queue, pawl__queue_deed(op), &op->queue.by, PAWL_STATE_NONE,
                  PAWL_STATE_NONE);
    return PAWL_OK;
}
