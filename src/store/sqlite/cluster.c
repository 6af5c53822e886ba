/* Nodes, locks and settings.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "base/time_text.h"
#include "store/sqlite/sqlite.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static enum pawl_err run_for(struct pawl__backend *sq, enum pawl__sql sql, const char *name)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, sql);
    pawl__sq_bind_text(stmt, 1, name); // the first in all of them
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}

/* What a node that is gone leaves behind is anybody's. */
static enum pawl_err end_work(struct pawl__backend *sq, const char *name)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_NODE_RUNS_END);
    pawl__sq_bind(stmt, SQL_NODE_RUNS_END_now_ms, sq->now_ms);
    pawl__sq_bind_text(stmt, SQL_NODE_RUNS_END_name, name);
    enum pawl_err err = pawl__sq_run(&sq->writer, stmt, sq->diag);
    return err ? err : run_for(sq, SQL_NODE_LOCKS_END, name);
}

static enum pawl_err put_node(struct pawl__backend *sq, const struct pawl__op *op, bool *put)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_NODE_PUT);
    pawl__sq_bind_text(stmt, SQL_NODE_PUT_name, op->node.name);
    pawl__sq_bind_text(stmt, SQL_NODE_PUT_info, op->node.info);
    pawl__sq_bind(stmt, SQL_NODE_PUT_started_at_ms, op->node.started_at_ms);
    pawl__sq_bind(stmt, SQL_NODE_PUT_now_ms, sq->now_ms);
    enum pawl_err err = pawl__sq_run(&sq->writer, stmt, sq->diag);
    *put = !err && sqlite3_changes(sq->writer.db) > 0;
    return err;
}

/* HELD: it is alive. `*before_ms`: when the one that is gone had started; 0: there is none. */
static enum pawl_err find_holder(struct pawl__backend *sq, struct pawl__op *op, int64_t *before_ms)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_NODE_GET);
    pawl__sq_bind(stmt, SQL_NODE_GET_now_ms, sq->now_ms);
    pawl__sq_bind_text(stmt, SQL_NODE_GET_name, op->node.name);
    bool found;
    enum pawl_err err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag);
    *before_ms = 0;
    if (err || !found) return err;
    *before_ms = sqlite3_column_int64(stmt, 0);
    if (sqlite3_column_int(stmt, 2)) {
        char since[PAWL__INSTANT_TEXT_BYTES];
        const char *info = (const char *)sqlite3_column_text(stmt, 3);
        pawl__instant_text(*before_ms, since);
        err = pawl__fail_field(op->diag, PAWL_ERR_HELD, "name", PAWL__NODE_HELD_TEXT, op->node.name,
                               since, (long long)(sq->now_ms - sqlite3_column_int64(stmt, 1)),
                               info ? info : "nothing");
    }
    sqlite3_reset(stmt);
    return err;
}

static enum pawl_err forget_old(struct pawl__backend *sq)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_NODE_FORGET);
    pawl__sq_bind(stmt, SQL_NODE_FORGET_before_ms, sq->now_ms - PAWL__NODE_KEPT_MS);
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}

enum pawl_err pawl__sq_op_node_join(struct pawl__backend *sq, struct pawl__op *op)
{
    int64_t before_ms;
    bool put;
    enum pawl_err err = find_holder(sq, op, &before_ms);
    if (err) return err;
    op->node.started_at_ms = before_ms < sq->now_ms ? sq->now_ms : before_ms + 1;
    err = put_node(sq, op, &put);
    if (!err && before_ms) err = end_work(sq, op->node.name);
    return err ? err : forget_old(sq);
}

/* One after the other: giving up is rare. */
static enum pawl_err give_up_silent(struct pawl__backend *sq, struct pawl__op *op)
{
    for (;;) {
        char name[PAWL_WORKER_BYTES_MAX + 1];
        bool found;
        sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_NODE_SILENT);
        pawl__sq_bind(stmt, SQL_NODE_SILENT_now_ms, sq->now_ms);
        enum pawl_err err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag);
        if (err || !found) return err;
        snprintf(name, sizeof name, "%s", (const char *)sqlite3_column_text(stmt, 0));
        sqlite3_reset(stmt);
        err = run_for(sq, SQL_NODE_LAPSE, name);
        if (!err) err = end_work(sq, name);
        if (err) return err;
        op->node.census.given_up++;
    }
}

enum pawl_err pawl__sq_op_node_put(struct pawl__backend *sq, struct pawl__op *op)
{
    bool put, found;
    op->node.census = (struct pawl_census){ 0 };
    enum pawl_err err = put_node(sq, op, &put);
    if (err) return err;
    if (!put) {
        return pawl__fail(op->diag, PAWL_ERR_STALE, "a node \"%s\" has been started since",
                          op->node.name);
    }
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_NODE_CENSUS);
    pawl__sq_bind(stmt, SQL_NODE_CENSUS_now_ms, sq->now_ms);
    pawl__sq_bind_text(stmt, SQL_NODE_CENSUS_name, op->node.name);
    err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag);
    if (err || !found) return err;
    op->node.census.alive = sqlite3_column_int64(stmt, 0);
    bool silent = sqlite3_column_int64(stmt, 1) > 0;
    op->node.census.ready = sqlite3_column_int64(stmt, 2);
    op->node.census.silent_at_ms = sqlite3_column_int64(stmt, 3); // 0 for NULL
    sqlite3_reset(stmt);
    return silent ? give_up_silent(sq, op) : PAWL_OK;
}

enum pawl_err pawl__sq_op_node_drop(struct pawl__backend *sq, struct pawl__op *op)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_NODE_DROP);
    pawl__sq_bind_text(stmt, SQL_NODE_DROP_name, op->node.name);
    pawl__sq_bind(stmt, SQL_NODE_DROP_started_at_ms, op->node.started_at_ms);
    enum pawl_err err = pawl__sq_run(&sq->writer, stmt, sq->diag);
    if (err) return err;
    if (sqlite3_changes(sq->writer.db) > 0) return run_for(sq, SQL_NODE_LOCKS_END, op->node.name);
    return pawl__fail(op->diag, PAWL_ERR_NOT_FOUND, "there is no node \"%s\"", op->node.name);
}

static enum pawl_err read_lock(struct pawl__backend *sq, struct pawl__op *op, bool granted)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_LOCK_GET);
    pawl__sq_bind_text(stmt, SQL_LOCK_GET_name, op->lock.name);
    bool found;
    enum pawl_err err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag);
    if (err || !found) return err;
    op->lock.fence = sqlite3_column_int64(stmt, 1);
    if (!granted) {
        err = pawl__fail(op->diag, PAWL_ERR_HELD, "\"%s\" holds lock \"%s\" for another %lld ms",
                         (const char *)sqlite3_column_text(stmt, 0), op->lock.name,
                         (long long)(sqlite3_column_int64(stmt, 2) - sq->now_ms));
    }
    sqlite3_reset(stmt);
    return err;
}

static enum pawl_err take_lock(struct pawl__backend *sq, const char *name, const char *owner,
                               int64_t ttl_ms, bool *taken)
{
    assert(ttl_ms > 0);
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_LOCK_TRY);
    pawl__sq_bind_text(stmt, SQL_LOCK_TRY_name, name);
    pawl__sq_bind_text(stmt, SQL_LOCK_TRY_owner, owner);
    pawl__sq_bind(stmt, SQL_LOCK_TRY_now_ms, sq->now_ms);
    pawl__sq_bind(stmt, SQL_LOCK_TRY_expires_at_ms, sq->now_ms + ttl_ms);
    enum pawl_err err = pawl__sq_run(&sq->writer, stmt, sq->diag);
    *taken = !err && sqlite3_changes(sq->writer.db) > 0;
    return err;
}

enum pawl_err pawl__sq_op_lock_try(struct pawl__backend *sq, struct pawl__op *op)
{
    bool taken;
    enum pawl_err err = take_lock(sq, op->lock.name, op->lock.owner, op->lock.ttl_ms, &taken);
    return err ? err : read_lock(sq, op, taken);
}

enum pawl_err pawl__sq_retire_begin(struct pawl__backend *sq, const struct pawl__op *op, bool *ours)
{
    *ours = true;
    if (!op->retire.owner) return PAWL_OK;
    const char *name = op->kind == PAWL__OP_PURGE ? PAWL__LOCK_PURGE : PAWL__LOCK_ARCHIVE;
    return take_lock(sq, name, op->retire.owner, op->retire.pause_ms, ours);
}

enum pawl_err pawl__sq_op_lock_renew(struct pawl__backend *sq, struct pawl__op *op)
{
    assert(op->lock.ttl_ms > 0);
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_LOCK_RENEW);
    pawl__sq_bind_text(stmt, SQL_LOCK_RENEW_name, op->lock.name);
    pawl__sq_bind_text(stmt, SQL_LOCK_RENEW_owner, op->lock.owner);
    pawl__sq_bind(stmt, SQL_LOCK_RENEW_now_ms, sq->now_ms);
    pawl__sq_bind(stmt, SQL_LOCK_RENEW_expires_at_ms, sq->now_ms + op->lock.ttl_ms);
    enum pawl_err err = pawl__sq_run(&sq->writer, stmt, sq->diag);
    if (err || sqlite3_changes(sq->writer.db) > 0) return err;
    return pawl__fail(op->diag, PAWL_ERR_STALE, "\"%s\" does not hold lock \"%s\" any more",
                      op->lock.owner, op->lock.name);
}

enum pawl_err pawl__sq_op_lock_release(struct pawl__backend *sq, struct pawl__op *op)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_LOCK_RELEASE);
    pawl__sq_bind_text(stmt, SQL_LOCK_RELEASE_name, op->lock.name);
    pawl__sq_bind_text(stmt, SQL_LOCK_RELEASE_owner, op->lock.owner);
    enum pawl_err err = pawl__sq_run(&sq->writer, stmt, sq->diag);
    if (err || sqlite3_changes(sq->writer.db) > 0) return err;
    return pawl__fail(op->diag, PAWL_ERR_STALE, "\"%s\" does not hold lock \"%s\"", op->lock.owner,
                      op->lock.name);
}

enum pawl_err pawl__sq_op_setting_put(struct pawl__backend *sq, struct pawl__op *op)
{
    bool put = op->setting.value != NULL;
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, put ? SQL_SETTING_PUT : SQL_SETTING_DELETE);
    pawl__sq_bind_text(stmt, SQL_SETTING_PUT_name, op->setting.name); // the first in both
    if (put && stmt) {
        sqlite3_bind_text(stmt, SQL_SETTING_PUT_value, op->setting.value, -1, SQLITE_STATIC);
    }
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}
