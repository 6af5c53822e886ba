/* Reading inside one read-only transaction, on a connection from the pool.
 *
 * Runs on: the callers' threads. */
#include "store/postgres/postgres.h"

#include <poll.h>

static void give(struct pawl__backend *pg, struct pawl__pg_conn *conn)
{
    if (conn->pg && conn->lost) pawl__pg_conn_release(conn);
    pawl__pool_give(&pg->sql.pool, (size_t)(conn - pg->readers), conn->pg != NULL);
}

/* Nobody speaks on a connection that rests, unless to say that it is over. */
static bool is_dead(const struct pawl__pg_conn *conn)
{
    struct pollfd fd = { .fd = PQsocket(conn->pg), .events = POLLIN };
    return poll(&fd, 1, 0) != 0;
}

enum pawl_err pawl__pg_read_begin(struct pawl__backend *pg, struct pawl__pg_conn **out,
                                  struct pawl_diag *diag)
{
    struct pawl__pg_open how = pawl__pg_how(pg, false);
    struct pawl__pg_conn *conn = &pg->readers[pawl__pool_take(&pg->sql.pool)];
    if (conn->pg && is_dead(conn)) pawl__pg_conn_release(conn);
    enum pawl_err err = conn->pg ? PAWL_OK : pawl__pg_connect(&how, conn, diag);
    if (err) {
        give(pg, conn);
        return err;
    }
    pawl__pg_say(conn, PG_BEGIN_READ);
    if (conn->pooled) pawl__pg_conduct(conn, &how);
    *out = conn;
    return PAWL_OK;
}

enum pawl_err pawl__pg_read_last(struct pawl__pg_conn *conn, struct pawl_diag *diag)
{
    pawl__pg_say(conn, PG_ROLLBACK);
    return pawl__pg_sync(conn, diag);
}

void pawl__pg_read_end(struct pawl__backend *pg, struct pawl__pg_conn *conn)
{
    for (int i = 0; i < PAWL__PG_SLOTS; i++) { // answers may be large
        pawl__pg_drop(conn, i);
    }
    if (conn->pending_count || PQtransactionStatus(conn->pg) != PQTRANS_IDLE) {
        (void)pawl__pg_read_last(conn, NULL);
    }
    // one that cannot end is not lent again
    if (PQtransactionStatus(conn->pg) != PQTRANS_IDLE) conn->lost = true;
    give(pg, conn);
}

static void close_reader(void *ctx, size_t at)
{
    struct pawl__backend *pg = ctx;
    if (pg->readers[at].pg) pawl__pg_conn_release(&pg->readers[at]);
}

void pawl__pg_readers_drop(struct pawl__backend *pg)
{
    pawl__pool_drop(&pg->sql.pool, close_reader, pg);
}
