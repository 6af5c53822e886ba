/* Transactions: how they begin and end. What is done in one is the core's.
 *
 * A batch that fell to a deadlock or a lost connection, and of which nothing was committed, is done
 * again. When the answer to COMMIT does not come, the mark that each transaction leaves is looked
 * for.
 *
 * Runs on: the session's thread. */
#include "store/postgres/postgres.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { NAP_MS = 50, PATIENCE_MS = 2000 };

/* ---- the begin of a transaction ---- */

static void nap(int ms)
{
    nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000L }, NULL);
}

/* Until the server can be reached again, or our patience ends. */
static enum pawl_err reconnect_patiently(struct pawl__backend *pg, int64_t patience_ms)
{
    enum pawl_err err;
    for (int64_t waited_ms = 0;; waited_ms += NAP_MS) {
        err = pawl__pg_reconnect(pg, pg->set.diag);
        if (err != PAWL_ERR_IO || waited_ms >= patience_ms) return err;
        nap(NAP_MS);
    }
}

/* The server's time, but for those who move time by hand. The keys' locks come before all others.
 */
static enum pawl_err begin(struct pawl__backend *pg, struct pawl__op **ops, size_t count)
{
    struct pawl__pg_conn *conn = &pg->writer;
    struct pawl__pg_open how = pawl__pg_how(pg, true);
    pawl__pg_say(conn, PG_BEGIN);
    conn->in_transaction = true;
    if (conn->pooled) pawl__pg_conduct(conn, &how);
    enum pawl_err err = pawl__pg_keys_lock(pg, ops, count);
    if (err) return err;
    pawl__pg_call(conn, PG_TURN_BEGIN); // behind the locks: the time when we have them
    pawl__pg_send_keep(conn, 0);
    err = pawl__pg_sync(conn, pg->set.diag);
    if (err) return err;
    const PGresult *turn = conn->kept[0];
    pg->set.now_ms = pg->clock ? pawl__clock_wall_ms(pg->clock) : pawl__pg_int(turn, 0, 0);
    return pawl__pg_catalog_refresh(pg, pawl__pg_int(turn, 0, 1));
}

enum pawl_err pawl__pg_begin(struct pawl__backend *pg, struct pawl__op **ops, size_t count)
{
    enum pawl_err err = PAWL_OK;
    if (!pg->writer.pg) err = reconnect_patiently(pg, PATIENCE_MS);
    pg->writer.again = pg->writer.clash = false;
    if (err) return err;
    pawl__arena_reset(&pg->arena);
    err = pawl__pg_catalog_prepare(pg, ops, count);
    return err ? err : begin(pg, ops, count);
}

/* ---- the end of a transaction ---- */

static void call_turn(struct pawl__backend *pg, enum pawl__pg sql)
{
    pawl__pg_call(&pg->writer, sql);
    pawl__pg_bind(&pg->writer, PG_TURN_MARK_tag, (int64_t)pg->tag); // the same in all of them
    if (sql != PG_TURN_FORGET) pawl__pg_bind(&pg->writer, PG_TURN_MARK_turn, pg->turn);
}
_Static_assert((int)PG_TURN_MARK_tag == (int)PG_TURN_SETTLE_tag &&
                   (int)PG_TURN_MARK_tag == (int)PG_TURN_FORGET_tag &&
                   (int)PG_TURN_MARK_turn == (int)PG_TURN_SETTLE_turn,
               "parameters are numbered alike");

enum pawl_err pawl__pg_turns_forget(struct pawl__backend *pg, struct pawl_diag *diag)
{
    if (!pg->writer.pg) return PAWL_OK;
    call_turn(pg, PG_TURN_FORGET);
    pawl__pg_send(&pg->writer);
    return pawl__pg_sync(&pg->writer, diag);
}

/* The answer to COMMIT did not come. OK: it was committed. BUSY: it was not, and never will be.
 * Else nobody can tell. */
static enum pawl_err settle_commit(struct pawl__backend *pg)
{
    PGresult *row;
    enum pawl_err err = PAWL_ERR_IO;
    for (int64_t waited_ms = 0; err && waited_ms < pg->busy_timeout_ms; waited_ms += PATIENCE_MS) {
        err = reconnect_patiently(pg, PATIENCE_MS);
        if (err) continue;
        call_turn(pg, PG_TURN_SETTLE);
        err = pawl__pg_ask(&pg->writer, &row, pg->set.diag);
    }
    if (err) {
        return pawl__fail(pg->set.diag, PAWL_ERR_IO,
                          "could not learn whether the commit happened: the connection was lost");
    }
    if (!pawl__pg_bool(row, 0, 0)) return PAWL_OK;
    pg->writer.again = true;
    return pawl__fail(pg->set.diag, PAWL_ERR_BUSY, "could not commit: the connection was lost");
}

/* What must touch so many rows is looked at before it is too late. */
static bool has_expectations(const struct pawl__pg_conn *conn)
{
    for (size_t i = 0; i < conn->pending_count; i++) {
        if (conn->pending[i].expect >= 0) return true;
    }
    return false;
}

static enum pawl_err commit(struct pawl__backend *pg)
{
    struct pawl__pg_conn *conn = &pg->writer;
    if (has_expectations(conn)) {
        enum pawl_err err = pawl__pg_sync(conn, pg->set.diag);
        if (err) return err;
    }
    if (pg->order) pg->order(pg->order_ctx);
    pg->turn++;
    call_turn(pg, PG_TURN_MARK);
    pawl__pg_send(conn);
    pawl__pg_call(conn, PG_COMMIT);
    pawl__pg_send_keep(conn, 0);
    enum pawl_err err = pawl__pg_sync(conn, pg->set.diag);
    if (err) return conn->lost ? settle_commit(pg) : err;
    conn->in_transaction = false;
    if (strcmp(PQcmdStatus(conn->kept[0]), "COMMIT") == 0) return PAWL_OK;
    return pawl__fail(pg->set.diag, PAWL_ERR_IO, "could not commit: the server rolled back");
}

/* Jobs of some states are found by rolls. */
enum pawl_err pawl__pg_show(struct pawl__backend *pg, bool ready)
{
    (void)ready;
    return pawl__pg_rolls_flush(pg);
}

enum pawl_err pawl__pg_commit(struct pawl__backend *pg)
{
    enum pawl_err err = pawl__pg_rolls_flush(pg);
    if (!err) err = pawl__pg_counts_flush(pg);
    if (!err) err = commit(pg);
    pg->worn += pg->set.catalog.moves;
    pawl__pg_rolls_reset(pg);
    return err;
}

void pawl__pg_rollback(struct pawl__backend *pg)
{
    struct pawl__pg_conn *conn = &pg->writer;
    pawl__pg_rolls_reset(pg);
    pg->catalog_version = 0; // a pause may not have happened
    if (!conn->pg) return;
    if (!conn->lost && conn->in_transaction) {
        bool again = conn->again, clash = conn->clash;
        (void)pawl__pg_sync(conn, NULL);
        pawl__pg_say(conn, PG_ROLLBACK);
        (void)pawl__pg_sync(conn, NULL);
        conn->again = again;
        conn->clash = clash;
        conn->in_transaction = false;
    }
    if (conn->lost) {
        pawl__pg_conn_release(conn);
        conn->again = true; // asked by who decides whether to try again
    }
}

enum pawl__retry pawl__pg_retry(struct pawl__backend *pg)
{
    if (pg->writer.clash) return PAWL__RETRY_CAREFULLY;
    return pg->writer.again ? PAWL__RETRY_YES : PAWL__RETRY_NO;
}

enum pawl_err pawl__pg_apply(struct pawl__backend *pg, struct pawl__op **ops, size_t count,
                             struct pawl_diag *diag)
{
    enum pawl_err err = pawl__core_apply(&pg->set, ops, count, diag);
    if (!err) pawl__pg_janitor_consider(pg);
    return err;
}
