/* One batch of operations, one transaction.
 *
 * Runs on: the committer's thread. Whatever fails for reasons of its own (a lost race, a broken
 * rule) has written nothing and leaves the transaction whole; anything else takes the batch down.
 */
#include "store/sqlite/sqlite.h"

#include <assert.h>

static pawl__sq_op_fn *const handlers[PAWL__OP_END] = {
    [PAWL__OP_QUEUE_PAUSE] = pawl__sq_op_queue_pause,
};

/* Inside a transaction that has the lock. */
static enum pawl_err settle_in(struct pawl__backend *sq)
{
    sq->now_ms = pawl__clock_wall_ms(sq->clock); // when we have the lock, not when we asked
    sq->set.table = &pawl__sq_core;
    sq->set.backend = sq;
    sq->set.rng = &sq->rng;
    sq->set.tale = &sq->tale;
    sq->set.catalog = &sq->catalog;
    sq->set.now_ms = sq->now_ms;
    sq->set.boost_ms = sq->boost_ms;
    sq->set.diag = sq->diag;
    enum pawl_err err = pawl__sq_catalog_refresh(sq);
    return err ? err : pawl__sq_fresh_begin(sq);
}

/* A rollback that had no memory has left its transaction open. */
static enum pawl_err leave_last(struct pawl__backend *sq)
{
    if (sqlite3_get_autocommit(sq->writer.db)) return PAWL_OK;
    return pawl__sq_exec(&sq->writer, SQL_ROLLBACK, sq->diag);
}

static enum pawl_err begin(struct pawl__backend *sq)
{
    enum pawl_err err = leave_last(sq);
    if (err) return err;
    pawl__sq_turnstile_enter(sq->turnstile);
    err = pawl__sq_exec(&sq->writer, SQL_BEGIN, sq->diag);
    pawl__sq_turnstile_leave(sq->turnstile);
    return err ? err : settle_in(sq);
}

/* Does it leave available jobs alone, or know how to take them out of memory? The others, and those
 * that are not thought of yet, shall find them in pawl_ready. */
static bool leaves_fresh(const struct pawl__op *op)
{
    switch (op->kind) {
    case PAWL__OP_CLAIM:
    case PAWL__OP_ROUTE:
    case PAWL__OP_PROMOTE:
    case PAWL__OP_LAPSE:
    case PAWL__OP_EXPIRE: // what can expire has extras
    case PAWL__OP_SETTLE: // storing sees to what is there
    case PAWL__OP_ARCHIVE:
    case PAWL__OP_PURGE:
    case PAWL__OP_NODE_JOIN:
    case PAWL__OP_NODE_PUT:
    case PAWL__OP_NODE_DROP:
        return true;
    default:
        return false;
    }
}

/* What was gathered first: nothing in the set is about it, or could be seen by it. */
static enum pawl_err flush(struct pawl__backend *sq)
{
    enum pawl_err err = pawl__sq_gather_flush(sq);
    return err ? err : pawl__core_run(&sq->set);
}

/* What a claim must see: completions can wait, unless it was posted in a list behind them, for they
 * must not find the claim's run. */
static enum pawl_err flush_before(struct pawl__backend *sq, const struct pawl__op *op)
{
    bool ends = op->chained && sq->gather.ended_count;
    enum pawl_err err = PAWL_OK;
    if (op->kind != PAWL__OP_CLAIM || ends) return flush(sq);
    err = pawl__sq_gather_flush_jobs(sq);
    return err || pawl__set_is_empty(&sq->set) ? err : flush(sq);
}

static enum pawl_err apply_alone(struct pawl__backend *sq, struct pawl__op *op)
{
    assert(op->kind < PAWL__OP_END);
    op->now_ms = sq->now_ms;
    op->err = PAWL_OK;
    if (pawl__core_decides(op)) return pawl__core_add(&sq->set, op);
    enum pawl_err err = flush_before(sq, op);
    if (!err && !leaves_fresh(op)) err = pawl__sq_fresh_absorb(sq);
    if (err) return err;
    if (pawl__core_scans(op)) return pawl__core_scan(&sq->set, op);
    op->err = handlers[op->kind](sq, op);
    return pawl__err_is_own(op->err) ? PAWL_OK : op->err;
}

static enum pawl_err apply_one(struct pawl__backend *sq, struct pawl__op *op)
{
    bool taken = false;
    op->now_ms = sq->now_ms;
    op->err = PAWL_OK;
    enum pawl_err err = pawl__core_precedes(&sq->set, op) ? flush(sq) : PAWL_OK;
    if (!err && !pawl__core_takes(&sq->set, op)) err = pawl__sq_gather(sq, op, &taken);
    return err || taken ? err : apply_alone(sq, op);
}

/* A lone operation has nobody to be gathered with, unless it is many by itself. */
static enum pawl_err apply_all(struct pawl__backend *sq, struct pawl__op **ops, size_t count)
{
    bool alone = count == 1 && (ops[0]->kind != PAWL__OP_SUBMIT || ops[0]->submit.count == 1);
    enum pawl_err err = alone ? apply_alone(sq, ops[0])
                              : pawl__batch_apply(sq, ops, count, apply_one);
    if (!err) err = flush(sq);
    if (!err) err = pawl__sq_fresh_flush(sq);
    return err ? err : pawl__sq_counts_flush(sq);
}

static void roll_back(struct pawl__backend *sq)
{
    sq->catalog_stale = true;                          // it may hold lanes that are gone now
    if (sqlite3_get_autocommit(sq->writer.db)) return; // SQLite has done so already
    (void)pawl__sq_exec(&sq->writer, SQL_ROLLBACK, NULL);
}

/* Whatever fails a commit leaves us unsure whether it happened: that is IO, and looked into. */
static enum pawl_err commit(struct pawl__backend *sq)
{
    struct pawl_diag diag = { 0 };
    enum pawl_err err = pawl__sq_exec(&sq->writer, SQL_COMMIT, &diag);
    if (!err) return PAWL_OK;
    bool known = err == PAWL_ERR_FULL || err == PAWL_ERR_CORRUPT || err == PAWL_ERR_READONLY;
    return pawl__fail(sq->diag, known ? err : PAWL_ERR_IO, "could not commit: %s", diag.text);
}

static enum pawl_err transact(struct pawl__backend *sq, struct pawl__op **ops, size_t count)
{
    enum pawl_err err = begin(sq);
    if (!err) err = apply_all(sq, ops, count);
    if (!err) err = commit(sq);
    pawl__catalog_forget_counts(&sq->catalog);
    pawl__sq_gather_reset(sq);
    pawl__set_clear(&sq->set);
    if (err) roll_back(sq);
    return err;
}

enum pawl_err pawl__sq_apply_guest(struct pawl__backend *sq, struct pawl__op *op,
                                   struct pawl_diag *diag)
{
    sq->diag = diag;
    pawl__tale_begin(&sq->tale);
    enum pawl_err err = settle_in(sq);
    if (!err) err = apply_all(sq, &op, 1);
    pawl__catalog_forget_counts(&sq->catalog);
    sq->diag = NULL;
    return err ? err : op->err;
}

/* In memory readers share the writer's connection: keep them out for the transaction's time. */
enum pawl_err pawl__sq_apply(struct pawl__backend *sq, struct pawl__op **ops, size_t count,
                             struct pawl_diag *diag)
{
    struct pawl__sq_conn *own = NULL;
    if (sq->memory) {
        enum pawl_err err = pawl__sq_reader_take(sq, &own, diag);
        if (err) return err;
    }
    sq->diag = diag;
    pawl__tale_begin(&sq->tale);
    enum pawl_err err = transact(sq, ops, count);
    sq->diag = NULL;
    if (own) pawl__sq_reader_give(sq, own);
    if (!err) pawl__sq_checkpoint_consider(sq);
    return err;
}
