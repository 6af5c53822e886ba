/* Telling other processes, and hearing them: NOTIFY and LISTEN, on a connection and a thread of
 * their own, so that no commit waits for it. Both are begun when first needed.
 *
 * A notice names who sent it, and nobody listens to himself. One that is lost costs time, nothing
 * else; when the connection had to be made anew, somebody may have spoken meanwhile, and that is
 * passed on as a notice.
 * Behind a pooler that lends connections out for a transaction telling works, hearing does not.
 *
 * Runs on: the herald's thread, but for those that are called from outside. */
#include "store/postgres/postgres.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define PATIENCE_US INT64_C(2000000) /* what callers wait for the herald, at most */
#define RETRY_MS 1000

/* What the herald is to do next. */
struct errand {
    bool tell, ready, control, listen, closing;
};

static struct errand take_errand(struct pawl__pg_herald *herald)
{
    pawl__lock(&herald->mutex);
    struct errand errand = { .tell = herald->untold,
                             .ready = herald->ready,
                             .control = herald->control,
                             .listen = herald->heard != NULL,
                             .closing = herald->closing };
    herald->untold = herald->ready = herald->control = false;
    pawl__unlock(&herald->mutex);
    return errand;
}

static void report_done(struct pawl__pg_herald *herald, const struct errand *errand)
{
    pawl__lock(&herald->mutex);
    herald->busy = herald->untold;
    if (errand->listen) herald->awaited = false;
    pawl__cond_broadcast(&herald->said);
    pawl__unlock(&herald->mutex);
}

static void pass_on(struct pawl__pg_herald *herald, const struct pawl__notice *notice)
{
    pawl__lock(&herald->mutex);
    pawl__notice_fn *heard = herald->heard;
    void *ctx = herald->heard_ctx;
    herald->hearing = heard != NULL;
    pawl__unlock(&herald->mutex);
    if (!heard) return;
    heard(ctx, notice);
    pawl__lock(&herald->mutex);
    herald->hearing = false;
    pawl__cond_broadcast(&herald->said);
    pawl__unlock(&herald->mutex);
}

static bool exec(PGconn *pg, const char *text)
{
    PGresult *result = PQexec(pg, text);
    ExecStatusType status = PQresultStatus(result);
    PQclear(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

static bool listen_to(struct pawl__backend *pg, PGconn *conn)
{
    char *channel = PQescapeIdentifier(conn, pg->channel, strlen(pg->channel));
    char text[256];
    if (!channel) return false;
    snprintf(text, sizeof text, "LISTEN %s", channel);
    PQfreemem(channel);
    return exec(conn, text);
}

/* Not worth a sync: who reads it looks at what is committed, and that is synced. */
static bool notify(struct pawl__backend *pg, PGconn *conn, const struct errand *errand)
{
    char payload[40];
    snprintf(payload, sizeof payload, "%016" PRIx64 "%s%s", pg->tag, errand->ready ? "r" : "",
             errand->control ? "c" : "");
    const char *values[] = { pg->channel, payload };
    if (!exec(conn, "BEGIN; SET LOCAL synchronous_commit = off")) return false;
    PGresult *result =
        PQexecParams(conn, pawl__pg_text_of(PG_NOTIFY), 2, NULL, values, NULL, NULL, 0);
    PQclear(result);
    return exec(conn, "COMMIT");
}

/* However many have come, they mean one thing. */
static void hear(struct pawl__backend *pg, PGconn *conn)
{
    struct pawl__notice notice = { .foreign = true };
    char own[24];
    bool any = false;
    snprintf(own, sizeof own, "%016" PRIx64, pg->tag);
    PGnotify *heard;
    (void)PQconsumeInput(conn);
    while ((heard = PQnotifies(conn)) != NULL) {
        const char *said = heard->extra;
        if (strncmp(said, own, 16) != 0) {
            any = true;
            notice.ready |= strlen(said) < 16 || strchr(said + 16, 'r') != NULL;
            notice.control |= strlen(said) < 16 || strchr(said + 16, 'c') != NULL;
        }
        PQfreemem(heard);
    }
    if (any) pass_on(&pg->herald, &notice);
}

struct line {
    PGconn *pg;
    bool listens;
    bool broke; /* while it listened, and nobody has listened since */
};

static void hang_up(struct line *line)
{
    PQfinish(line->pg);
    *line = (struct line){ .pg = NULL, .broke = line->listens || line->broke };
}

/* Connected, and listening if that is wanted. */
static bool be_ready(struct pawl__backend *pg, struct line *line, bool listen)
{
    struct pawl__pg_open how = pawl__pg_how(pg, false);
    if (!line->pg && pawl__pg_connect_plain(&how, &line->pg, NULL)) return false;
    if (!listen || line->listens) return true;
    if (!listen_to(pg, line->pg)) return false;
    struct pawl__notice missed = { .foreign = true, .ready = true, .control = true };
    if (line->broke) pass_on(&pg->herald, &missed);
    line->listens = true;
    line->broke = false;
    return true;
}

/* False: the line is dead. */
static bool run_errand(struct pawl__backend *pg, struct line *line, const struct errand *errand)
{
    if (!errand->tell && !errand->listen) return true;
    if (!be_ready(pg, line, errand->listen)) return false;
    if (errand->tell && !notify(pg, line->pg, errand)) return false;
    if (line->listens) hear(pg, line->pg);
    return PQstatus(line->pg) == CONNECTION_OK;
}

static void *run(void *arg)
{
    struct pawl__backend *pg = arg;
    struct pawl__pg_herald *herald = &pg->herald;
    struct line line = { .pg = NULL };
    for (;;) {
        struct errand errand = take_errand(herald);
        bool alive = run_errand(pg, &line, &errand);
        if (!alive) hang_up(&line);
        report_done(herald, &errand);
        if (errand.closing) break;
        struct pollfd fds[] = { { .fd = herald->wake, .events = POLLIN },
                                { .fd = line.listens ? PQsocket(line.pg) : -1, .events = POLLIN } };
        (void)poll(fds, 2, alive ? -1 : RETRY_MS);
        uint64_t calls;
        if (fds[0].revents & POLLIN) (void)!read(herald->wake, &calls, sizeof calls);
    }
    hang_up(&line);
    return NULL;
}

/* ---- from outside ---- */

static void wake(struct pawl__pg_herald *herald)
{
    uint64_t one = 1;
    (void)!write(herald->wake, &one, sizeof one);
}

static bool start(struct pawl__backend *pg)
{
    struct pawl__pg_herald *herald = &pg->herald;
    if (herald->runs) return true;
    if (herald->wake < 0) herald->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (herald->wake < 0) return false;
    herald->runs = pawl__thread_start(&herald->thread, run, pg);
    return herald->runs;
}

void pawl__pg_tell(struct pawl__backend *pg, const struct pawl__notice *notice)
{
    struct pawl__pg_herald *herald = &pg->herald;
    pawl__lock(&herald->mutex);
    bool runs = start(pg);
    herald->untold = herald->busy = runs;
    herald->ready |= notice->ready;
    herald->control |= notice->control;
    pawl__unlock(&herald->mutex);
    if (runs) wake(herald);
}

enum pawl_err pawl__pg_hear(struct pawl__backend *pg, pawl__notice_fn *fn, void *ctx,
                            struct pawl_diag *diag)
{
    struct pawl__pg_herald *herald = &pg->herald;
    pawl__lock(&herald->mutex);
    bool runs = fn ? start(pg) : herald->runs;
    herald->heard = runs ? fn : NULL;
    herald->heard_ctx = ctx;
    herald->awaited = fn && runs;
    if (runs) wake(herald);
    while (herald->hearing) {
        pawl__cond_wait(&herald->said, &herald->mutex);
    }
    while (herald->awaited) { // what others say from now on is heard
        if (!pawl__cond_wait_us(&herald->said, &herald->mutex, PATIENCE_US)) break;
    }
    pawl__unlock(&herald->mutex);
    if (fn && !runs) return pawl__fail(diag, PAWL_ERR_NOMEM, "could not start a thread");
    return PAWL_OK;
}

void pawl__pg_herald_init(struct pawl__backend *pg)
{
    pg->herald.wake = -1;
    pawl__mutex_init(&pg->herald.mutex);
    pawl__cond_init(&pg->herald.said);
}

void pawl__pg_herald_close(struct pawl__backend *pg)
{
    struct pawl__pg_herald *herald = &pg->herald;
    pawl__lock(&herald->mutex);
    bool runs = herald->runs;
    while (runs && herald->busy) {
        if (!pawl__cond_wait_us(&herald->said, &herald->mutex, PATIENCE_US)) break;
    }
    herald->closing = true;
    herald->heard = NULL;
    pawl__unlock(&herald->mutex);
    if (runs) {
        wake(herald);
        pthread_join(herald->thread, NULL);
    }
    if (herald->wake >= 0) close(herald->wake);
    pawl__cond_release(&herald->said);
    pawl__mutex_release(&herald->mutex);
}
