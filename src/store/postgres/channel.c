/* Telling other processes, and hearing them: NOTIFY and LISTEN, as a line of the messenger's.
 *
 * The line goes where the store is, or where another URL leads: behind a pooler that lends
 * connections out for a transaction telling works, hearing does not.
 *
 * Runs on: the messenger's thread, but for those that are called from outside. */
#include "store/postgres/postgres.h"

#include "store/messenger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWER_MS = 12000 }; /* the server's own limit comes first, if it is well */

struct channel {
    struct pawl__line line;
    struct pawl__pg_open how;
    char *url;              /* what `how` leads to */
    struct pawl__buf store; /* what the store is, where the URL is not the store's own */
    char name[sizeof(((struct pawl__backend *)NULL)->channel)];
    PGconn *conn;
    bool listens;
};

static struct channel *of(struct pawl__line *line)
{
    return (struct channel *)line; // it begins with it
}

/* ---- connecting ---- */

/* The last answer to what was `sent`. NULL: none came in time, and none will be waited for: who
 * closes the store waits for us. */
static PGresult *answer(PGconn *conn, int sent)
{
    PGresult *last = NULL;
    while (sent && pawl__pg_await(conn, ANSWER_MS)) {
        PGresult *next = PQgetResult(conn);
        if (!next) return last;
        PQclear(last);
        last = next;
    }
    PQclear(last);
    return NULL;
}

static PGresult *ask(PGconn *conn, const char *text)
{
    return answer(conn, PQsendQuery(conn, text));
}

static enum pawl_err exec(PGconn *conn, const char *text, const char *what, struct pawl_diag *diag)
{
    PGresult *result = ask(conn, text);
    ExecStatusType status = PQresultStatus(result);
    bool ok = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
    enum pawl_err err = ok ? PAWL_OK : pawl__pg_fail_result(result, conn, what, diag);
    PQclear(result);
    return err;
}

/* Whoever LISTENs there leaves it to the next who is lent the connection. */
static enum pawl_err refuse_pooler(PGconn *conn, struct pawl_diag *diag)
{
    PGresult *who = ask(conn, pawl__pg_text_of(PG_WHO_SERVES));
    bool answered = PQresultStatus(who) == PGRES_TUPLES_OK;
    bool pooled = answered && strtol(PQgetvalue(who, 0, 0), NULL, 10) != PQbackendPID(conn);
    enum pawl_err err = answered ? PAWL_OK
                                 : pawl__pg_fail_result(who, conn, "ask who serves", diag);
    PQclear(who);
    if (!pooled) return err;
    return pawl__fail_field(
        diag, PAWL_ERR_UNSUPPORTED, "wake",
        "a pooler is between us and PostgreSQL, and notices do not pass it; let "
        "\"wake\" be a URL of the server itself, or of Redis");
}

static enum pawl_err listen_to(struct channel *channel, struct pawl_diag *diag)
{
    enum pawl_err err = refuse_pooler(channel->conn, diag);
    if (err) return err;
    char *name = PQescapeIdentifier(channel->conn, channel->name, strlen(channel->name));
    char text[256];
    if (!name) return pawl__fail_nomem(diag);
    snprintf(text, sizeof text, "LISTEN %s", name);
    PQfreemem(name);
    return exec(channel->conn, text, "listen to other processes", diag);
}

/* Notices stay within a database: in another one nobody would hear us, nor we them. */
static enum pawl_err refuse_other_store(struct channel *channel, struct pawl_diag *diag)
{
    if (!channel->store.len) return PAWL_OK;
    PGresult *store = ask(channel->conn, pawl__pg_text_of(PG_IDENTIFY));
    bool answered = PQresultStatus(store) == PGRES_TUPLES_OK;
    bool same = answered && strcmp(PQgetvalue(store, 0, 0), channel->store.at) == 0;
    enum pawl_err err = PAWL_OK;
    if (!store || PQstatus(channel->conn) != CONNECTION_OK) {
        err = pawl__pg_fail_result(store, channel->conn, "ask for the store", diag);
    }
    PQclear(store);
    if (same || err) return err;
    return pawl__fail_field(diag, PAWL_ERR_ARG, "wake",
                            "wake leads to a PostgreSQL that does not have this store; it must be "
                            "another way to the same database and schema");
}

static enum pawl_err connect_line(struct channel *channel, struct pawl_diag *diag)
{
    if (channel->conn) return PAWL_OK;
    enum pawl_err err = pawl__pg_connect_plain(&channel->how, &channel->conn, diag);
    return err ? err : refuse_other_store(channel, diag);
}

static enum pawl_err be_ready(struct pawl__line *line, bool listen, struct pawl_diag *diag)
{
    struct channel *channel = of(line);
    enum pawl_err err = connect_line(channel, diag);
    if (err || !listen || channel->listens) return err;
    err = listen_to(channel, diag);
    channel->listens = !err;
    return err;
}

/* ---- saying and hearing ---- */

/* Not worth a sync: who reads it looks at what is committed, and that is synced. */
static enum pawl_err say(struct pawl__line *line, const char *text, struct pawl_diag *diag)
{
    struct channel *channel = of(line);
    const char *values[] = { channel->name, text };
    static const char what[] = "tell other processes";
    static const char begin[] = "BEGIN; SET LOCAL synchronous_commit = off;"
                                " SET LOCAL statement_timeout = '10s'";
    enum pawl_err err = exec(channel->conn, begin, what, diag);
    if (err) return err;
    PGresult *said =
        answer(channel->conn, PQsendQueryParams(channel->conn, pawl__pg_text_of(PG_NOTIFY), 2, NULL,
                                                values, NULL, NULL, 0));
    if (PQresultStatus(said) != PGRES_TUPLES_OK) { // COMMIT would roll back, and call it well done
        err = pawl__pg_fail_result(said, channel->conn, what, diag);
    }
    PQclear(said);
    return err ? err : exec(channel->conn, "COMMIT", what, diag);
}

static enum pawl_err read_all(struct pawl__line *line, pawl__received_fn *fn, void *ctx,
                              struct pawl_diag *diag)
{
    struct channel *channel = of(line);
    PGnotify *said;
    int ok = PQconsumeInput(channel->conn);
    while ((said = PQnotifies(channel->conn)) != NULL) {
        fn(ctx, said->extra);
        PQfreemem(said);
    }
    if (ok && PQstatus(channel->conn) == CONNECTION_OK) return PAWL_OK;
    return pawl__fail(diag, PAWL_ERR_IO, "could not hear other processes: connection lost");
}

static int socket_of(const struct pawl__line *line)
{
    const struct channel *channel = (const struct channel *)line;
    return channel->listens ? PQsocket(channel->conn) : -1;
}

static void hang_up(struct pawl__line *line)
{
    struct channel *channel = of(line);
    PQfinish(channel->conn);
    channel->conn = NULL;
    channel->listens = false;
}

static void free_channel(struct pawl__line *line)
{
    pawl__buf_release(&of(line)->store);
    free(of(line)->url);
    free(line);
}

static const struct pawl__line_table table = { .ready = be_ready,
                                               .say = say,
                                               .read = read_all,
                                               .fd = socket_of,
                                               .hang_up = hang_up,
                                               .free = free_channel };

/* ---- from outside ---- */

enum pawl_err pawl__pg_identify(struct pawl__backend *pg, struct pawl__buf *out,
                                struct pawl_diag *diag)
{
    struct pawl__pg_conn *conn;
    enum pawl_err err = pawl__pg_read_begin(pg, &conn, diag);
    if (err) return err;
    pawl__pg_call(conn, PG_IDENTIFY);
    pawl__pg_send_keep(conn, 0);
    err = pawl__pg_read_last(conn, diag);
    if (!err) pawl__buf_add_text(out, pawl__pg_raw(conn->kept[0], 0, 0).at);
    pawl__pg_read_end(pg, conn);
    if (err) return err;
    return out->failed ? pawl__fail_nomem(diag) : PAWL_OK;
}

static enum pawl_err open_line(struct pawl__backend *pg, const char *url, struct channel *channel,
                               struct pawl_diag *diag)
{
    channel->line.table = &table;
    channel->url = strdup(url ? url : pg->url);
    if (!channel->url) return pawl__fail_nomem(diag);
    channel->how = pawl__pg_how(pg, false);
    channel->how.url = channel->url;
    memcpy(channel->name, pg->channel, sizeof channel->name);
    return url ? pawl__pg_identify(pg, &channel->store, diag) : PAWL_OK;
}

enum pawl_err pawl__pg_wake(struct pawl__backend *pg, const char *url, struct pawl__wake **out,
                            struct pawl_diag *diag)
{
    struct channel *channel = calloc(1, sizeof *channel);
    if (!channel) return pawl__fail_nomem(diag);
    enum pawl_err err = open_line(pg, url, channel, diag);
    if (err) {
        free_channel(&channel->line);
        return err;
    }
    struct pawl__wake *wake;
    err = pawl__messenger_open(&channel->line, &wake, diag);
    if (err) return err;
    if (url) err = pawl__messenger_reach(wake, diag); // our own is good: we came that way
    if (err) {
        wake->table->close(wake);
        return err;
    }
    *out = wake;
    return PAWL_OK;
}
