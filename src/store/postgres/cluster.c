/* Nodes, locks and settings.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

#include <assert.h>

/* Sends the call under construction; did it touch a row? */
static enum pawl_err touch(struct pawl__backend *pg, bool *touched)
{
    PGresult *rows;
    enum pawl_err err = pawl__pg_ask(&pg->writer, &rows, pg->diag);
    *touched = !err && PQntuples(rows) > 0;
    return err;
}

enum pawl_err pawl__pg_op_node_put(struct pawl__backend *pg, struct pawl__op *op)
{
    pawl__pg_call(&pg->writer, PG_NODE_PUT);
    pawl__pg_bind_string(&pg->writer, PG_NODE_PUT_name, op->node.name);
    pawl__pg_bind_text(&pg->writer, PG_NODE_PUT_info, op->node.info);
    pawl__pg_bind(&pg->writer, PG_NODE_PUT_started_at_ms, op->node.started_at_ms);
    pawl__pg_bind(&pg->writer, PG_NODE_PUT_now_ms, pg->now_ms);
    bool touched;
    enum pawl_err err = touch(pg, &touched);
    if (err || touched) return err;
    return pawl__fail(op->diag, PAWL_ERR_STALE, "a node \"%s\" has been started since",
                      op->node.name);
}

enum pawl_err pawl__pg_op_node_drop(struct pawl__backend *pg, struct pawl__op *op)
{
    pawl__pg_call(&pg->writer, PG_NODE_DROP);
    pawl__pg_bind_string(&pg->writer, PG_NODE_DROP_name, op->node.name);
    bool touched;
    enum pawl_err err = touch(pg, &touched);
    if (err || touched) return err;
    return pawl__fail(op->diag, PAWL_ERR_NOT_FOUND, "there is no node \"%s\"", op->node.name);
}

static enum pawl_err say_who_holds(struct pawl__backend *pg, struct pawl__op *op)
{
    pawl__pg_call(&pg->writer, PG_LOCK_GET);
    pawl__pg_bind_string(&pg->writer, PG_LOCK_GET_name, op->lock.name);
    PGresult *row;
    enum pawl_err err = pawl__pg_ask(&pg->writer, &row, pg->diag);
    if (err) return err;
    bool known = PQntuples(row) > 0;
    op->lock.fence = known ? pawl__pg_int(row, 0, 1) : 0;
    return pawl__fail(op->diag, PAWL_ERR_HELD, "\"%s\" holds lock \"%s\" for another %lld ms",
                      known ? pawl__pg_raw(row, 0, 0).at : "", op->lock.name,
                      known ? (long long)(pawl__pg_int(row, 0, 2) - pg->now_ms) : 0);
}

enum pawl_err pawl__pg_op_lock_try(struct pawl__backend *pg, struct pawl__op *op)
{
    assert(op->lock.ttl_ms > 0);
    pawl__pg_call(&pg->writer, PG_LOCK_TRY);
    pawl__pg_bind_string(&pg->writer, PG_LOCK_TRY_name, op->lock.name);
    pawl__pg_bind_string(&pg->writer, PG_LOCK_TRY_owner, op->lock.owner);
    pawl__pg_bind(&pg->writer, PG_LOCK_TRY_now_ms, pg->now_ms);
    pawl__pg_bind(&pg->writer, PG_LOCK_TRY_expires_at_ms, pg->now_ms + op->lock.ttl_ms);
    PGresult *row;
    enum pawl_err err = pawl__pg_ask(&pg->writer, &row, pg->diag);
    if (err) return err;
    if (!PQntuples(row)) return say_who_holds(pg, op);
    op->lock.fence = pawl__pg_int(row, 0, 0);
    return PAWL_OK;
}

enum pawl_err pawl__pg_op_lock_renew(struct pawl__backend *pg, struct pawl__op *op)
{
    assert(op->lock.ttl_ms > 0);
    pawl__pg_call(&pg->writer, PG_LOCK_RENEW);
    pawl__pg_bind_string(&pg->writer, PG_LOCK_RENEW_name, op->lock.name);
    pawl__pg_bind_string(&pg->writer, PG_LOCK_RENEW_owner, op->lock.owner);
    pawl__pg_bind(&pg->writer, PG_LOCK_RENEW_now_ms, pg->now_ms);
    pawl__pg_bind(&pg->writer, PG_LOCK_RENEW_expires_at_ms, pg->now_ms + op->lock.ttl_ms);
    bool touched;
    enum pawl_err err = touch(pg, &touched);
    if (err || touched) return err;
    return pawl__fail(op->diag, PAWL_ERR_STALE, "\"%s\" does not hold lock \"%s\" any more",
                      op->lock.owner, op->lock.name);
}

enum pawl_err pawl__pg_op_lock_release(struct pawl__backend *pg, struct pawl__op *op)
{
    pawl__pg_call(&pg->writer, PG_LOCK_RELEASE);
    pawl__pg_bind_string(&pg->writer, PG_LOCK_RELEASE_name, op->lock.name);
    pawl__pg_bind_string(&pg->writer, PG_LOCK_RELEASE_owner, op->lock.owner);
    bool touched;
    enum pawl_err err = touch(pg, &touched);
    if (err || touched) return err;
    return pawl__fail(op->diag, PAWL_ERR_STALE, "\"%s\" does not hold lock \"%s\"", op->lock.owner,
                      op->lock.name);
}

enum pawl_err pawl__pg_op_setting_put(struct pawl__backend *pg, struct pawl__op *op)
{
    bool put = op->setting.value != NULL;
    pawl__pg_call(&pg->writer, put ? PG_SETTING_PUT : PG_SETTING_DELETE);
    pawl__pg_bind_string(&pg->writer, PG_SETTING_PUT_name, op->setting.name); // first in both
    if (put) pawl__pg_bind_string(&pg->writer, PG_SETTING_PUT_value, op->setting.value);
    pawl__pg_send(&pg->writer);
    return PAWL_OK;
}
