/* What operators do to queues; what they do to jobs is decided by the core.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/sqlite/sqlite.h"

static enum pawl_err audit(struct pawl__backend *sq, const struct pawl__op *op)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_QUEUE_DEED);
    pawl__sq_bind(stmt, SQL_QUEUE_DEED_at_ms, sq->now_ms);
    pawl__sq_bind_text(stmt, SQL_QUEUE_DEED_queue, op->queue.queue);
    pawl__sq_bind_text(stmt, SQL_QUEUE_DEED_action, pawl__queue_deed(op));
    pawl__sq_bind_text(stmt, SQL_QUEUE_DEED_actor, op->queue.by.actor);
    pawl__sq_bind_text(stmt, SQL_QUEUE_DEED_reason, op->queue.by.reason);
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}

enum pawl_err pawl__sq_handle(struct pawl__backend *sq, struct pawl__op *op)
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
    return audit(sq, op);
}
