/* Transactions: how they begin and end. What is done in one is the core's.
 *
 * Runs on: the committer's thread. */
#include "store/sqlite/sqlite.h"

/* ---- the begin ---- */

/* Inside a transaction that has the lock. */
static enum pawl_err settle_in(struct pawl__backend *sq)
{
    sq->set.now_ms = pawl__clock_wall_ms(sq->clock); // when we have the lock, not when we asked
    enum pawl_err err = pawl__sq_catalog_refresh(sq);
    return err ? err : pawl__sq_head_begin(sq);
}

/* A rollback that had no memory has left its transaction open. */
static enum pawl_err leave_last(struct pawl__backend *sq)
{
    if (sqlite3_get_autocommit(sq->writer.db)) return PAWL_OK;
    return pawl__sq_do(sq, SQL_ROLLBACK);
}

enum pawl_err pawl__sq_begin(struct pawl__backend *sq, struct pawl__op **ops, size_t count)
{
    (void)ops, (void)count;
    enum pawl_err err = leave_last(sq);
    if (err) return err;
    pawl__sq_turnstile_enter(sq->turnstile);
    err = pawl__sq_do(sq, SQL_BEGIN);
    pawl__sq_turnstile_leave(sq->turnstile);
    return err ? err : settle_in(sq);
}

/* ---- the end ---- */

/* What was put off. */
static enum pawl_err write_rest(struct pawl__backend *sq)
{
    enum pawl_err err = pawl__sq_runs_flush(sq);
    if (!err) err = pawl__sq_head_flush(sq);
    return err ? err : pawl__sq_counts_flush(sq);
}

enum pawl_err pawl__sq_show(struct pawl__backend *sq, bool ready)
{
    enum pawl_err err = pawl__sq_runs_flush(sq);
    return err || !ready ? err : pawl__sq_head_absorb(sq);
}

void pawl__sq_rollback(struct pawl__backend *sq)
{
    sq->plain.claimed_count = 0;
    sq->catalog_stale = true;                          // it may hold lanes that are gone now
    if (sqlite3_get_autocommit(sq->writer.db)) return; // SQLite has done so already
    (void)pawl__sq_exec(&sq->writer, SQL_ROLLBACK, NULL);
}

/* Whatever fails a commit leaves us unsure whether it happened: that is IO, and looked into. */
enum pawl_err pawl__sq_commit(struct pawl__backend *sq)
{
    struct pawl_diag diag = { 0 };
    enum pawl_err err = write_rest(sq);
    if (err) return err;
    err = pawl__sq_exec(&sq->writer, SQL_COMMIT, &diag);
    if (!err) return PAWL_OK;
    bool known = err == PAWL_ERR_FULL || err == PAWL_ERR_CORRUPT || err == PAWL_ERR_READONLY;
    return pawl__fail(sq->set.diag, known ? err : PAWL_ERR_IO, "could not commit: %s", diag.text);
}

/* ---- together ---- */

enum pawl_err pawl__sq_apply_guest(struct pawl__backend *sq, struct pawl__op *op,
                                   struct pawl_diag *diag)
{
    sq->set.diag = diag;
    pawl__notices_begin(&sq->set.notices);
    enum pawl_err err = settle_in(sq);
    if (!err) err = pawl__core_do(&sq->set, &op, 1);
    if (!err) err = write_rest(sq);
    sq->set.diag = NULL;
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
    enum pawl_err err = pawl__core_apply(&sq->set, ops, count, diag);
    if (own) pawl__sq_reader_give(sq, own);
    if (!err) pawl__sq_checkpoint_consider(sq);
    return err;
}
