/* Nodes, locks and settings.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "base/time_text.h"
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

/* What nodes that are gone leave behind is anybody's; pg->gather.lists[0] names them. */
static enum pawl_err end_work(struct pawl__backend *pg)
{
    struct pawl__pg_list *names = &pg->gather.lists[0];
    pawl__pg_call(&pg->writer, PG_NODE_RUNS_END);
    pawl__pg_bind(&pg->writer, PG_NODE_RUNS_END_now_ms, pg->now_ms);
    pawl__pg_bind_list(&pg->writer, PG_NODE_RUNS_END_names, names);
    pawl__pg_send_keep(&pg->writer, 0);
    pawl__pg_call(&pg->writer, PG_NODE_LOCKS_END);
    pawl__pg_bind_list(&pg->writer, PG_NODE_LOCKS_END_names, names);
    pawl__pg_send(&pg->writer);
    enum pawl_err err = pawl__pg_sync(&pg->writer, pg->diag);
    const PGresult *rows = pg->writer.kept[0];
    for (int i = 0; !err && i < PQntuples(rows); i++) {
        const char *worker = pawl__pg_text(rows, i, 1, &pg->arena);
        if (!worker) return pawl__fail_nomem(pg->diag);
        pawl__pg_roll_lease(pg, pg->now_ms, worker, pawl__pg_id(rows, i, 0));
    }
    return err;
}

/* A list of one, where end_work looks. */
static void name_one(struct pawl__backend *pg, const char *name)
{
    struct pawl__pg_list *names = &pg->gather.lists[0];
    pawl__pg_list_begin(names, PAWL__PG_TEXTS);
    pawl__pg_list_add_text(names, name);
}

/* HELD: it is alive. `*before_ms`: when the one that is gone had started; 0: there is none. */
static enum pawl_err find_holder(struct pawl__backend *pg, struct pawl__op *op, int64_t *before_ms)
{
    pawl__pg_call(&pg->writer, PG_NODE_GET);
    pawl__pg_bind(&pg->writer, PG_NODE_GET_now_ms, pg->now_ms);
    pawl__pg_bind_string(&pg->writer, PG_NODE_GET_name, op->node.name);
    PGresult *row;
    enum pawl_err err = pawl__pg_ask(&pg->writer, &row, pg->diag);
    *before_ms = 0;
    if (err || !PQntuples(row)) return err;
    *before_ms = pawl__pg_int(row, 0, 0);
    if (!pawl__pg_bool(row, 0, 2)) return PAWL_OK;
    char since[PAWL__INSTANT_TEXT_BYTES];
    pawl__instant_text(*before_ms, since);
    return pawl__fail_field(op->diag, PAWL_ERR_HELD, "name", PAWL__NODE_HELD_TEXT, op->node.name,
                            since, (long long)(pg->now_ms - pawl__pg_int(row, 0, 1)),
                            pawl__pg_is_null(row, 0, 3) ? "nothing" : pawl__pg_raw(row, 0, 3).at);
}

enum pawl_err pawl__pg_op_node_join(struct pawl__backend *pg, struct pawl__op *op)
{
    int64_t before_ms;
    enum pawl_err err = find_holder(pg, op, &before_ms);
    if (err) return err;
    op->node.started_at_ms = before_ms < pg->now_ms ? pg->now_ms : before_ms + 1;
    pawl__pg_call(&pg->writer, PG_NODE_JOIN);
    pawl__pg_bind_string(&pg->writer, PG_NODE_JOIN_name, op->node.name);
    pawl__pg_bind_text(&pg->writer, PG_NODE_JOIN_info, op->node.info);
    pawl__pg_bind(&pg->writer, PG_NODE_JOIN_started_at_ms, op->node.started_at_ms);
    pawl__pg_bind(&pg->writer, PG_NODE_JOIN_now_ms, pg->now_ms);
    pawl__pg_bind(&pg->writer, PG_NODE_JOIN_before_ms, before_ms);
    bool touched;
    err = touch(pg, &touched);
    if (err) return err;
    if (!touched) {
        return pawl__fail_field(op->diag, PAWL_ERR_HELD, "name",
                                "a node \"%s\" has started at the same moment", op->node.name);
    }
    name_one(pg, op->node.name);
    if (before_ms) err = end_work(pg);
    if (err) return err;
    pawl__pg_call(&pg->writer, PG_NODE_FORGET);
    pawl__pg_bind(&pg->writer, PG_NODE_FORGET_before_ms, pg->now_ms - PAWL__NODE_KEPT_MS);
    pawl__pg_send(&pg->writer);
    return PAWL_OK;
}

static enum pawl_err give_up_silent(struct pawl__backend *pg, struct pawl__op *op)
{
    struct pawl__pg_list *names = &pg->gather.lists[0];
    pawl__pg_call(&pg->writer, PG_NODE_SILENT);
    pawl__pg_bind(&pg->writer, PG_NODE_SILENT_now_ms, pg->now_ms);
    pawl__pg_bind(&pg->writer, PG_NODE_SILENT_limit, PAWL__MAINTENANCE_MAX);
    PGresult *rows;
    enum pawl_err err = pawl__pg_ask(&pg->writer, &rows, pg->diag);
    op->node.census.given_up = err ? 0 : PQntuples(rows);
    if (!op->node.census.given_up) return err; // another has just done it
    pawl__pg_list_begin(names, PAWL__PG_TEXTS);
    for (int i = 0; i < PQntuples(rows); i++) {
        pawl__pg_list_add_text(names, pawl__pg_raw(rows, i, 0).at);
    }
    pawl__pg_call(&pg->writer, PG_NODE_LAPSE);
    pawl__pg_bind_list(&pg->writer, PG_NODE_LAPSE_names, names);
    pawl__pg_send_exact(&pg->writer, names->count);
    return end_work(pg);
}

enum pawl_err pawl__pg_op_node_put(struct pawl__backend *pg, struct pawl__op *op)
{
    pawl__pg_call(&pg->writer, PG_NODE_PUT);
    pawl__pg_bind_string(&pg->writer, PG_NODE_PUT_name, op->node.name);
    pawl__pg_bind_text(&pg->writer, PG_NODE_PUT_info, op->node.info);
    pawl__pg_bind(&pg->writer, PG_NODE_PUT_started_at_ms, op->node.started_at_ms);
    pawl__pg_bind(&pg->writer, PG_NODE_PUT_now_ms, pg->now_ms);
    PGresult *row;
    enum pawl_err err = pawl__pg_ask(&pg->writer, &row, pg->diag);
    op->node.census = (struct pawl_census){ 0 };
    if (err) return err;
    if (!pawl__pg_int(row, 0, 0)) {
        return pawl__fail(op->diag, PAWL_ERR_STALE, "a node \"%s\" has been started since",
                          op->node.name);
    }
    op->node.census.alive = pawl__pg_int(row, 0, 1) + 1;
    op->node.census.ready = pawl__pg_int(row, 0, 3);
    op->node.census.silent_at_ms = pawl__pg_int(row, 0, 4);
    return pawl__pg_int(row, 0, 2) ? give_up_silent(pg, op) : PAWL_OK;
}

enum pawl_err pawl__pg_op_node_drop(struct pawl__backend *pg, struct pawl__op *op)
{
    pawl__pg_call(&pg->writer, PG_NODE_DROP);
    pawl__pg_bind_string(&pg->writer, PG_NODE_DROP_name, op->node.name);
    pawl__pg_bind(&pg->writer, PG_NODE_DROP_started_at_ms, op->node.started_at_ms);
    bool touched;
    enum pawl_err err = touch(pg, &touched);
    if (err) return err;
    if (!touched) {
        return pawl__fail(op->diag, PAWL_ERR_NOT_FOUND, "there is no node \"%s\"", op->node.name);
    }
    name_one(pg, op->node.name);
    pawl__pg_call(&pg->writer, PG_NODE_LOCKS_END);
    pawl__pg_bind_list(&pg->writer, PG_NODE_LOCKS_END_names, &pg->gather.lists[0]);
    pawl__pg_send(&pg->writer);
    return PAWL_OK;
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

/* `*fence` 0: somebody else has it. */
static enum pawl_err take_lock(struct pawl__backend *pg, const char *name, const char *owner,
                               int64_t ttl_ms, int64_t *fence)
{
    assert(ttl_ms > 0);
    pawl__pg_call(&pg->writer, PG_LOCK_TRY);
    pawl__pg_bind_string(&pg->writer, PG_LOCK_TRY_name, name);
    pawl__pg_bind_string(&pg->writer, PG_LOCK_TRY_owner, owner);
    pawl__pg_bind(&pg->writer, PG_LOCK_TRY_now_ms, pg->now_ms);
    pawl__pg_bind(&pg->writer, PG_LOCK_TRY_expires_at_ms, pg->now_ms + ttl_ms);
    PGresult *row;
    enum pawl_err err = pawl__pg_ask(&pg->writer, &row, pg->diag);
    *fence = !err && PQntuples(row) ? pawl__pg_int(row, 0, 0) : 0;
    return err;
}

enum pawl_err pawl__pg_op_lock_try(struct pawl__backend *pg, struct pawl__op *op)
{
    enum pawl_err err =
        take_lock(pg, op->lock.name, op->lock.owner, op->lock.ttl_ms, &op->lock.fence);
    return err || op->lock.fence ? err : say_who_holds(pg, op);
}

enum pawl_err pawl__pg_retire_begin(struct pawl__backend *pg, const struct pawl__op *op, bool *ours)
{
    int64_t fence;
    *ours = true;
    if (!op->retire.owner) return PAWL_OK;
    const char *name = op->kind == PAWL__OP_PURGE ? PAWL__LOCK_PURGE : PAWL__LOCK_ARCHIVE;
    enum pawl_err err = take_lock(pg, name, op->retire.owner, op->retire.pause_ms, &fence);
    *ours = fence != 0;
    return err;
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
