/* Connections to read with: a few, made when first needed, each lent to one caller at a time.
 *
 * Runs on: the callers' threads. */
#include "store/postgres/postgres.h"

#include <poll.h>

static int free_reader(struct pawl__backend *pg)
{
    int found = -1;
    for (int i = 0; i < PAWL__PG_READERS_MAX; i++) {
        if (pg->reader_used[i]) continue;
        if (pg->readers[i].pg) return i; // rather one that is connected already
        if (found < 0) found = i;
    }
    return found;
}

static struct pawl__pg_conn *take(struct pawl__backend *pg)
{
    int at;
    pawl__lock(&pg->mutex);
    while ((at = free_reader(pg)) < 0) {
        pawl__cond_wait(&pg->freed, &pg->mutex);
    }
    pg->reader_used[at] = true; // from here on nobody else touches readers[at]
    pawl__unlock(&pg->mutex);
    return &pg->readers[at];
}

static void give(struct pawl__backend *pg, struct pawl__pg_conn *conn)
{
    if (conn->pg && conn->lost) pawl__pg_conn_release(conn);
    pawl__lock(&pg->mutex);
    pg->reader_used[conn - pg->readers] = false;
    pawl__cond_signal(&pg->freed);
    pawl__unlock(&pg->mutex);
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
    struct pawl__pg_conn *conn = take(pg);
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

enum pawl_err pawl__pg_read_ask(struct pawl__pg_conn *conn, PGresult **out, struct pawl_diag *diag)
{
    pawl__pg_send_keep(conn, 0);
    enum pawl_err err = pawl__pg_read_last(conn, diag);
    *out = conn->kept[0];
    return err;
}

void pawl__pg_read_end(struct pawl__backend *pg, struct pawl__pg_conn *conn)
{
    for (int i = 0; i < PAWL__PG_SLOTS; i++) { // answers may be large
        PQclear(conn->kept[i]);
        conn->kept[i] = NULL;
    }
    if (conn->pending_count || PQtransactionStatus(conn->pg) != PQTRANS_IDLE) {
        (void)pawl__pg_read_last(conn, NULL);
    }
    // one that cannot end is not lent again
    if (PQtransactionStatus(conn->pg) != PQTRANS_IDLE) conn->lost = true;
    give(pg, conn);
}

void pawl__pg_readers_drop(struct pawl__backend *pg)
{
    pawl__lock(&pg->mutex);
    for (int i = 0; i < PAWL__PG_READERS_MAX; i++) {
        if (!pg->reader_used[i] && pg->readers[i].pg) pawl__pg_conn_release(&pg->readers[i]);
    }
    pawl__unlock(&pg->mutex);
}
