/* Nodes, locks and settings.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/sqlite/sqlite.h"

#include <assert.h>
#include <string.h>

enum pawl_err pawl__sq_op_node_put(struct pawl__backend *sq, struct pawl__op *op)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_NODE_PUT);
    pawl__sq_bind_text(stmt, SQL_NODE_PUT_name, op->node.name);
    pawl__sq_bind_text(stmt, SQL_NODE_PUT_info, op->node.info);
    pawl__sq_bind(stmt, SQL_NODE_PUT_started_at_ms, op->node.started_at_ms);
    pawl__sq_bind(stmt, SQL_NODE_PUT_now_ms, sq->now_ms);
    enum pawl_err err = pawl__sq_run(&sq->writer, stmt, sq->diag);
    if (err || sqlite3_changes(sq->writer.db) > 0) return err;
    return pawl__fail(op->diag, PAWL_ERR_STALE, "a node \"%s\" has been started since",
                      op->node.name);
}

enum pawl_err pawl__sq_op_node_drop(struct pawl__backend *sq, struct pawl__op *op)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_NODE_DROP);
    pawl__sq_bind_text(stmt, SQL_NODE_DROP_name, op->node.name);
    enum pawl_err err = pawl__sq_run(&sq->writer, stmt, sq->diag);
    if (err || sqlite3_changes(sq->writer.db) > 0) return err;
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

enum pawl_err pawl__sq_op_lock_try(struct pawl__backend *sq, struct pawl__op *op)
{
    assert(op->lock.ttl_ms > 0);
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_LOCK_TRY);
    pawl__sq_bind_text(stmt, SQL_LOCK_TRY_name, op->lock.name);
    pawl__sq_bind_text(stmt, SQL_LOCK_TRY_owner, op->lock.owner);
    pawl__sq_bind(stmt, SQL_LOCK_TRY_now_ms, sq->now_ms);
    pawl__sq_bind(stmt, SQL_LOCK_TRY_expires_at_ms, sq->now_ms + op->lock.ttl_ms);
    enum pawl_err err = pawl__sq_run(&sq->writer, stmt, sq->diag);
    return err ? err : read_lock(sq, op, sqlite3_changes(sq->writer.db) > 0);
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
