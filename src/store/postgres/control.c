/* What operators do to jobs and queues: every deed is recorded.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

#include <assert.h>
#include <string.h>

/* A new series of attempts, due now, with the old errors kept and no time to live: it is over. */
static enum pawl_err prepare_revival(struct pawl__backend *pg, struct pawl__pg_place *place,
                                     struct pawl_diag *diag)
{
    enum pawl_err err = pawl__pg_keys_retake(pg, place, true, diag);
    if (err) return err;
    place->base_run = place->run;
    place->free_runs = 0;
    if (!place->expires_at_ms) return PAWL_OK;
    place->expires_at_ms = 0;
    pawl__pg_call(&pg->writer, PG_JOB_NEVER_EXPIRES);
    pawl__pg_bind_id(&pg->writer, PG_JOB_NEVER_EXPIRES_id, &place->id);
    pawl__pg_send_exact(&pg->writer, 1);
    return PAWL_OK;
}

static enum pawl_err carry_out(struct pawl__backend *pg, struct pawl__pg_place *place,
                               enum pawl_control control, const struct pawl_by *by,
                               struct pawl_diag *diag)
{
    enum pawl_event event = pawl__control_event(control);
    struct pawl__pg_target target = { .reason = pawl__control_reason(control, by) };
    enum pawl_err err = PAWL_OK;
    if (control == PAWL_CONTROL_RETRY) {
        err = prepare_revival(pg, place, diag);
        target.due_at_ms = pg->now_ms;
    }
    if (control == PAWL_CONTROL_PROMOTE && place->due_at_ms > pg->now_ms) {
        target.due_at_ms = pg->now_ms;
    }
    if (control == PAWL_CONTROL_PAUSE && place->finished_at_ms) {
        // it is live again, and so are its keys
        err = pawl__pg_keys_retake(pg, place, false, diag);
    }
    return err ? err : pawl__pg_move(pg, place, &event, 1, &target);
}

static bool allows(const struct pawl__pg_place *place, enum pawl_control control)
{
    return pawl__control_allowed(control, place->state, place->paused_from);
}

enum pawl_err pawl__pg_control_place(struct pawl__backend *pg, struct pawl__pg_place *place,
                                     enum pawl_control control, const struct pawl_by *by,
                                     struct pawl_diag *diag)
{
    enum pawl_state from = place->state;
    if (control == PAWL_CONTROL_PAUSE && from == PAWL_STATE_PAUSED) return PAWL_OK;
    const char *verb = pawl__control_verb(control);
    if (!allows(place, control)) return pawl__fail_state(diag, place->id, from, verb);
    enum pawl_err err = carry_out(pg, place, control, by, diag);
    if (err) return err;
    if (from == PAWL_STATE_ACTIVE) pawl__pg_tale_control(pg, place, from);
    pawl__pg_deed(pg, &place->id, NULL, verb, by, from, place->state);
    return PAWL_OK;
}

/* A job that is archived comes back if there is something to be done to it. */
static enum pawl_err find_for_control(struct pawl__backend *pg, struct pawl_job_id id,
                                      enum pawl_control control, struct pawl__pg_place *out,
                                      struct pawl_diag *diag)
{
    enum pawl_err err = pawl__pg_place_any(pg, id, out, diag);
    if (err || !out->archived || !allows(out, control)) return err;
    err = pawl__pg_unarchive(pg, out);
    return err ? err : pawl__pg_place_need(pg, id, out);
}

static enum pawl_err control_any(struct pawl__backend *pg, struct pawl__op *op)
{
    struct pawl__pg_place place;
    enum pawl_err err = find_for_control(pg, op->control.id, op->control.control, &place, op->diag);
    if (err) return err;
    op->control.from = op->control.to = place.state;
    err = pawl__pg_control_place(pg, &place, op->control.control, &op->control.by, op->diag);
    op->control.to = place.state;
    return err;
}

static enum pawl_err control_own(struct pawl__backend *pg, struct pawl__op *op)
{
    struct pawl_run ref = { op->control.id, op->control.run };
    struct pawl__pg_place place;
    enum pawl_err err = pawl__pg_place_owned(pg, &ref, &place, op->diag);
    if (err) return err;
    op->control.from = op->control.to = place.state;
    err = pawl__pg_control_place(pg, &place, op->control.control, &op->control.by, op->diag);
    op->control.to = place.state;
    return err;
}

enum pawl_err pawl__pg_op_control(struct pawl__backend *pg, struct pawl__op *op)
{
    assert(op->control.control > PAWL_CONTROL_NONE && op->control.control < PAWL_CONTROL_END);
    op->control.from = op->control.to = PAWL_STATE_NONE;
    if (op->control.run > 0) return control_own(pg, op);
    pawl__pg_savepoint(pg); // a job may come back from the archive in vain
    enum pawl_err err = control_any(pg, op);
    if (!err) {
        pawl__pg_savepoint_keep(pg);
        return PAWL_OK;
    }
    if (!pawl__err_is_own(err)) return err;
    enum pawl_err undone = pawl__pg_savepoint_undo(pg);
    return undone ? undone : err;
}

static enum pawl_err bulk_one(struct pawl__backend *pg, struct pawl__op *op, struct pawl_job_id id,
                              bool *moved)
{
    *moved = false;
    enum pawl_err err;
    if (op->bulk.control == PAWL_CONTROL_NONE) {
        err = pawl__pg_delete(pg, id, &op->bulk.by, NULL);
    } else {
        struct pawl__pg_place place;
        err = find_for_control(pg, id, op->bulk.control, &place, NULL);
        if (!err && place.state == PAWL_STATE_PAUSED && op->bulk.control == PAWL_CONTROL_PAUSE) {
            return PAWL_OK; // fine, but nothing moves
        }
        if (!err) {
            err = pawl__pg_control_place(pg, &place, op->bulk.control, &op->bulk.by, op->diag);
        }
    }
    *moved = !err;
    return err == PAWL_ERR_STATE || err == PAWL_ERR_NOT_FOUND ? PAWL_OK : err;
}

enum pawl_err pawl__pg_op_bulk(struct pawl__backend *pg, struct pawl__op *op)
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
    enum pawl_err err = pawl__pg_rolls_flush(pg); // jobs of some states are found by them
    if (err) return err;
    err = pawl__pg_match(&pg->writer, &filter, op->bulk.limit, &op->arena, &ids, &count, pg->diag);
    if (err) return err;
    pawl__pg_savepoint(pg);
    for (size_t i = 0; !err && i < count; i++) {
        bool moved;
        err = bulk_one(pg, op, ids[i], &moved);
        op->bulk.moved += moved;
    }
    if (!err) {
        pawl__pg_savepoint_keep(pg);
        return PAWL_OK;
    }
    if (err != PAWL_ERR_DUPLICATE) return err;
    op->bulk.moved = 0;
    enum pawl_err undone = pawl__pg_savepoint_undo(pg);
    return undone ? undone : err;
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
    struct pawl__pg_queue *queue = pawl__pg_queue_find(pg, op->queue.queue);
    if (!queue) return pawl__fail(op->diag, PAWL_ERR_ARG, "the queue's name is not UTF-8");
    pawl__pg_say(&pg->writer, PG_CATALOG_GROW);
    pawl__pg_call(&pg->writer, PG_QUEUE_PAUSE);
    pawl__pg_bind_bool(&pg->writer, PG_QUEUE_PAUSE_paused, op->queue.paused);
    pawl__pg_bind_bool(&pg->writer, PG_QUEUE_PAUSE_forgotten, op->queue.forgotten);
    pawl__pg_bind(&pg->writer, PG_QUEUE_PAUSE_id, queue->id);
    pawl__pg_send_exact(&pg->writer, 1);
    queue->paused = op->queue.paused;
    pg->lanes.version = 0; // whatever becomes of it, read it again
    if (!op->queue.paused) pg->tale.ready = true;
    pawl__pg_deed(pg, NULL, op->queue.queue, pawl__queue_deed(op), &op->queue.by, PAWL_STATE_NONE,
                  PAWL_STATE_NONE);
    return PAWL_OK;
}
