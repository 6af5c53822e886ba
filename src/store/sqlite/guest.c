/* Operations on a connection that is somebody else's, as part of his transaction.
 *
 * It is the store's own code that runs, on a backend that is made for one operation and knows
 * nothing by heart: what it has to know it reads under the lock. To every store that is open it is
 * another process, whatever process it is in: they read again what they knew when they find that
 * somebody has written, and take what is in the range of the queue head for granted (head.c).
 *
 * They are told at once, before the transaction has ended, for nobody tells us when it does. Who
 * hears it asks for SQLite's lock to claim something, and has it when the transaction is over. If
 * it was rolled back he has looked in vain.
 *
 * Runs on: the caller's thread. */
#include "store/sqlite/sqlite.h"

#include "store/wake.h"

#include <stdlib.h>

static enum pawl_err take_lock(struct pawl__backend *sq, struct pawl_diag *diag)
{
    if (pawl__sq_stmt(sq, SQL_GUEST_LOCK)) {
        return pawl__sq_exec(&sq->writer, SQL_GUEST_LOCK, diag);
    }
    enum pawl_err err = pawl__sq_error_code(sq->writer.refused);
    if (err != PAWL_ERR_SCHEMA) return pawl__sq_exec(&sq->writer, SQL_GUEST_LOCK, diag);
    return pawl__fail_field(diag, PAWL_ERR_NOT_FOUND, "store",
                            "there is no store in this database; \"pawl migrate\" makes one");
}

static enum pawl_err apply(struct pawl__backend *sq, struct pawl__op *op, struct pawl_diag *diag)
{
    enum pawl_err err = take_lock(sq, diag);
    if (!err) err = pawl__sq_migrate(&sq->writer, sq->clock, true, diag);
    if (!err) err = pawl__sql_boost_read(sq, diag);
    if (!err) err = pawl__sq_set_attach(sq, diag);
    return err ? err : pawl__sq_apply_guest(sq, op, diag);
}

/* A failure may have taken the whole transaction down; then there is nothing left to undo. */
static enum pawl_err in_savepoint(struct pawl__backend *sq, struct pawl__op *op,
                                  struct pawl_diag *diag)
{
    struct pawl__sq_conn *conn = &sq->writer;
    enum pawl_err err = pawl__sq_exec(conn, SQL_GUEST_BEGIN, diag);
    if (err) return err;
    err = apply(sq, op, diag);
    if (!err) return pawl__sq_exec(conn, SQL_GUEST_END, diag);
    if (sqlite3_get_autocommit(conn->db)) return err;
    (void)pawl__sq_exec(conn, SQL_GUEST_UNDO, NULL);
    (void)pawl__sq_exec(conn, SQL_GUEST_END, NULL);
    return err;
}

static void tell_others(struct pawl__backend *sq)
{
    const char *path = sqlite3_db_filename(sq->writer.db, "main");
    struct pawl__notice notice;
    struct pawl__wake *wake = NULL;
    if (!path || !*path || !pawl__sql_get_notice(sq, &notice)) return;
    sq->turnstile = pawl__sq_turnstile_open(path);
    if (!pawl__sq_wake(sq, NULL, &wake, NULL) && wake) {
        wake->table->send(wake, &notice);
        wake->table->close(wake);
    }
    pawl__sq_turnstile_close(sq->turnstile);
}

enum pawl_err pawl__store_guest(struct sqlite3 *db, struct pawl__op *op, struct pawl_diag *diag)
{
    struct pawl__backend *sq = calloc(1, sizeof *sq);
    if (!sq) return pawl__fail_nomem(diag);
    sqlite3_int64 last = sqlite3_last_insert_rowid(db);
    sq->writer.db = db;
    sq->clock = &pawl__clock_system;
    sq->catalog_stale = true;
    pawl__sq_init(sq, pawl__rng_system_seed());
    op->diag = diag;
    enum pawl_err err = in_savepoint(sq, op, diag);
    if (!err) tell_others(sq);
    sqlite3_set_last_insert_rowid(db, last); // his, not ours
    sq->writer.db = NULL;                    // not ours to close
    pawl__sq_conn_release(&sq->writer);
    pawl__sq_set_detach(db);
    pawl__sq_release(sq);
    free(sq);
    return err;
}
