/* What operators do to queues; what they do to jobs is decided by the core.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

static void audit(struct pawl__backend *pg, const struct pawl__op *op)
{
    struct pawl__pg_conn *conn = &pg->writer;
    pawl__pg_call(conn, PG_QUEUE_DEED);
    pawl__pg_bind(conn, PG_QUEUE_DEED_at_ms, pg->now_ms);
    pawl__pg_bind_text(conn, PG_QUEUE_DEED_queue, op->queue.queue);
    pawl__pg_bind_text(conn, PG_QUEUE_DEED_action, pawl__queue_deed(op));
    pawl__pg_bind_text(conn, PG_QUEUE_DEED_actor, op->queue.by.actor);
    pawl__pg_bind_text(conn, PG_QUEUE_DEED_reason, op->queue.by.reason);
    pawl__pg_send_exact(conn, 1);
}

/* The catalog grows first: like whoever makes a queue, in one order. */
enum pawl_err pawl__pg_handle(struct pawl__backend *pg, struct pawl__op *op)
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
    audit(pg, op);
    return PAWL_OK;
}
