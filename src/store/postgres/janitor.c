/* Sweeping up behind the claims. What is claimed leaves dead entries at the front of the index that
 * the next claim reads, and the server's own vacuum comes once a minute: in that time a busy store
 * leaves many thousands. So whoever has moved many jobs has the rolls vacuumed, which are small; if
 * somebody is at it already, that is enough.
 *
 * Runs on: a thread of its own, begun when first needed, with a connection for as long as it
 * sweeps. */
#include "store/postgres/postgres.h"

#define PAUSE_US INT64_C(5000000) /* between two sweeps */

static const char *const sweep[] = { "VACUUM (SKIP_LOCKED, TRUNCATE false) pawl_ready",
                                     "VACUUM (SKIP_LOCKED, TRUNCATE false) pawl_lease",
                                     "VACUUM (SKIP_LOCKED, TRUNCATE false) pawl_count_delta" };

/* What is swept can be stopped by whoever closes the store. False: it is being closed. */
static bool hold(struct pawl__pg_janitor *janitor, PGconn *conn)
{
    pawl__lock(&janitor->mutex);
    bool go = !janitor->closing;
    if (go && conn) janitor->cancel = PQgetCancel(conn);
    if (!conn) {
        PQfreeCancel(janitor->cancel);
        janitor->cancel = NULL;
    }
    pawl__unlock(&janitor->mutex);
    return go;
}

/* One that fails has cost nothing: the server's own will come. */
static void sweep_up(struct pawl__backend *pg)
{
    struct pawl__pg_open how = pawl__pg_how(pg, true);
    PGconn *conn;
    if (pawl__pg_connect_plain(&how, &conn, NULL)) return;
    for (size_t i = 0; i < sizeof sweep / sizeof *sweep; i++) {
        if (!hold(&pg->janitor, conn)) break;
        PQclear(PQexec(conn, sweep[i]));
        (void)hold(&pg->janitor, NULL);
    }
    PQfinish(conn);
}

static bool wait_until_due(struct pawl__pg_janitor *janitor)
{
    pawl__lock(&janitor->mutex);
    while (!janitor->due && !janitor->closing) {
        pawl__cond_wait(&janitor->wanted, &janitor->mutex);
    }
    bool go = !janitor->closing;
    janitor->due = false;
    pawl__unlock(&janitor->mutex);
    return go;
}

static void rest(struct pawl__pg_janitor *janitor)
{
    pawl__lock(&janitor->mutex);
    while (!janitor->closing) {
        if (!pawl__cond_wait_us(&janitor->wanted, &janitor->mutex, PAUSE_US)) break;
    }
    pawl__unlock(&janitor->mutex);
}

static void *run(void *arg)
{
    struct pawl__backend *pg = arg;
    while (wait_until_due(&pg->janitor)) {
        sweep_up(pg);
        rest(&pg->janitor);
    }
    return NULL;
}

void pawl__pg_janitor_init(struct pawl__backend *pg)
{
    pawl__mutex_init(&pg->janitor.mutex);
    pawl__cond_init(&pg->janitor.wanted);
}

void pawl__pg_janitor_consider(struct pawl__backend *pg)
{
    struct pawl__pg_janitor *janitor = &pg->home->janitor;
    if (pg->worn < PAWL__PG_WORN_MAX / PAWL__PG_SESSIONS_MAX) return; // not worth a word yet
    pawl__lock(&janitor->mutex);
    janitor->worn += pg->worn;
    pg->worn = 0;
    bool wake = janitor->worn >= PAWL__PG_WORN_MAX && !janitor->due;
    if (wake) {
        janitor->worn = 0;
        if (!janitor->runs) janitor->runs = pawl__thread_start(&janitor->thread, run, pg->home);
        janitor->due = janitor->runs; // without a thread it is tried again next time
    }
    pawl__unlock(&janitor->mutex);
    if (wake) pawl__cond_signal(&janitor->wanted);
}

void pawl__pg_janitor_close(struct pawl__backend *pg)
{
    struct pawl__pg_janitor *janitor = &pg->janitor;
    char text[256];
    pawl__lock(&janitor->mutex);
    janitor->closing = true;
    if (janitor->cancel) (void)PQcancel(janitor->cancel, text, sizeof text);
    pawl__unlock(&janitor->mutex);
    pawl__cond_broadcast(&janitor->wanted);
    if (janitor->runs) pthread_join(janitor->thread, NULL);
    pawl__cond_release(&janitor->wanted);
    pawl__mutex_release(&janitor->mutex);
}
