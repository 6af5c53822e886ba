/* Connections: how one is made, what its errors are called here, how long an answer may take.
 *
 * Runs on: whichever thread has the connection. */
#include "store/postgres/postgres.h"
#include "base/buf.h"
#include "base/url.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

/* SQLSTATE or its beginning, what it is called here, whether another try may go well. The first
 * that fits. */
#define CODES(X)                                                                                   \
    X("40001", BUSY, true)      /* serialization failure */                                        \
    X("40P01", BUSY, true)      /* deadlock */                                                     \
    X("55P03", BUSY, false)     /* lock timeout */                                                 \
    X("57014", BUSY, false)     /* statement timeout */                                            \
    X("25006", READONLY, false) /* a standby, or a server that takes no writes */                  \
    X("25P03", IO, true)        /* we were stopped for so long that it gave up on us */            \
    X("57P0", IO, true)         /* shut down, restarted, starting */                               \
    X("08", IO, true)           /* the connection */                                               \
    X("26000", IO, true)        /* a pooler gave us another connection */                          \
    X("0A000", IO, true)        /* a plan that was made before the schema changed */               \
    X("53100", FULL, false)     /* disk full */                                                    \
    X("53300", BUSY, false)     /* too many connections */                                         \
    X("XX001", CORRUPT, false)  /* data corrupted */                                               \
    X("XX002", CORRUPT, false)  /* index corrupted */                                              \
    X("23505", BUSY, false)     /* others write the same row, again and again */                   \
    X("23", CORRUPT, false)     /* the rows contradict each other */                               \
    X("42501", READONLY, false) /* not allowed */                                                  \
    X("42", SCHEMA, false)      /* somebody took the schema away, or changed it */                 \
    X("3F", SCHEMA, false)

enum pawl_err pawl__pg_error_code(const char *state, bool *again)
{
    static const struct {
        const char *begin;
        enum pawl_err err;
        bool again;
    } codes[] = {
#define X(text, name, retry) { text, PAWL_ERR_##name, retry },
        CODES(X)
#undef X
    };
    *again = !state; // no answer at all: the connection
    if (!state) return PAWL_ERR_IO;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (strncmp(state, codes[i].begin, strlen(codes[i].begin)) != 0) continue;
        *again = codes[i].again;
        return codes[i].err;
    }
    return PAWL_ERR_IO;
}

/* libpq's messages end in a line break, and some have several lines. */
static int first_line(const char *text)
{
    return (int)strcspn(text, "\n");
}

enum pawl_err pawl__pg_fail_result(const PGresult *result, const PGconn *pg, const char *what,
                                   struct pawl_diag *diag)
{
    const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    const char *said = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    bool again;
    enum pawl_err err = pawl__pg_error_code(state, &again);
    if (!said) said = PQerrorMessage(pg);
    if (!*said) said = "the connection is lost";
    return pawl__fail(diag, err, "could not %s: %.*s%s%s%s", what, first_line(said), said,
                      state ? " (PostgreSQL " : "", state ? state : "", state ? ")" : "");
}

static void ignore_notice(void *arg, const char *message)
{
    (void)arg;
    (void)message;
}

/* Those before the URL are defaults that it may change, those behind it are not. Who reads goes to
 * the primary too: a standby may not know yet what was just written. */
static PGconn *dial(const struct pawl__pg_open *how)
{
    char timeout[24];
    snprintf(timeout, sizeof timeout, "%d", PAWL__PG_CONNECT_TIMEOUT_S);
    const char *const names[] = { "fallback_application_name", "connect_timeout",
                                  "target_session_attrs",      "keepalives_idle",
                                  "keepalives_interval",       "keepalives_count",
                                  "tcp_user_timeout",          "dbname",
                                  "client_encoding",           NULL };
    const char *const values[] = { "pawl", timeout, "read-write", "10",   "5",
                                   "3",    "30000", how->url,     "UTF8", NULL };
    return PQconnectdbParams(names, values, 1);
}

/* What libpq says about a URL that it does not understand quotes it, or the part of the password
 * that it stumbled over: always at the end, behind a colon. */
static int without_quote(const char *said)
{
    const char *quote = strstr(said, ": \"");
    return quote ? (int)(quote - said) : first_line(said);
}

/* Before anybody is asked: the pieces of a torn password would be looked for as hosts. */
static enum pawl_err check_url(const char *url, struct pawl_diag *diag)
{
    char *said = NULL;
    bool torn = pawl__url_has_torn_password(url);
    PQconninfoOption *read = torn ? NULL : PQconninfoParse(url, &said);
    if (read) {
        PQconninfoFree(read);
        return PAWL_OK;
    }
    if (!torn && !said) return pawl__fail_nomem(diag);
    const char *why = torn ? "write %40 for an @ in the password, %2F for a /" : said;
    struct pawl__buf shown = { 0 };
    pawl__url_mask(&shown, url);
    enum pawl_err err = pawl__fail_field(diag, PAWL_ERR_ARG, "store",
                                         "cannot connect to \"%s\": %.*s",
                                         shown.failed ? "" : shown.at, without_quote(why), why);
    pawl__buf_release(&shown);
    PQfreemem(said);
    return err;
}

/* What to do about a connection that is refused, by what the server said. In another language than
 * this its own words must do. */
static const char *advice_for(const PGconn *pg, const char *said)
{
    static const struct {
        const char *said, *advice, *also; /* `also` NULL: `said` is enough */
    } advices[] = {
        { "does not exist", "; make it with createdb, or name another in the URL", "database \"" },
        { "does not exist", "; make it with createuser, or name another in the URL", "role \"" },
        { "password authentication failed", "; put the right one in PGPASSWORD or ~/.pgpass" },
        { "no pg_hba.conf entry", "; the server's pg_hba.conf must let this user in" },
        { "too many", "; raise the limit, or put PgBouncer in between" },
        { "remaining connection slots", "; raise max_connections, or put PgBouncer in between" },
        { "is read-only", "; the store needs the primary: name it too in the URL" },
        { "is in recovery", "; the store needs the primary: name it too in the URL" },
        { "No such file or directory", "; is the server running there?" },
        { "Connection refused", "; is the server running there?" },
    };
    if (PQconnectionNeedsPassword(pg)) return "; put it in PGPASSWORD or ~/.pgpass";
    for (size_t i = 0; i < sizeof advices / sizeof *advices; i++) {
        if (!strstr(said, advices[i].said)) continue;
        if (!advices[i].also || strstr(said, advices[i].also)) return advices[i].advice;
    }
    return "";
}

enum pawl_err pawl__pg_connect_plain(const struct pawl__pg_open *how, PGconn **out,
                                     struct pawl_diag *diag)
{
    enum pawl_err err = check_url(how->url, diag);
    if (err) return err;
    PGconn *pg = dial(how);
    if (!pg) return pawl__fail_nomem(diag);
    if (PQstatus(pg) != CONNECTION_OK) {
        const char *said = PQerrorMessage(pg);
        err = pawl__fail_field(diag, PAWL_ERR_IO, "store",
                               "could not connect to PostgreSQL: %.*s%s", first_line(said), said,
                               advice_for(pg, said));
        PQfinish(pg);
        return err;
    }
    PQsetNoticeProcessor(pg, ignore_notice, NULL);
    *out = pg;
    return PAWL_OK;
}

void pawl__pg_conduct(struct pawl__pg_conn *conn, const struct pawl__pg_open *how)
{
    char timeout[24], idle[24], longer[24];
    snprintf(timeout, sizeof timeout, "%lld", (long long)how->timeout_ms);
    snprintf(longer, sizeof longer, "%lld", // and then we give up
             (long long)how->timeout_ms + PAWL__PG_IDLE_TIMEOUT_MS / 2);
    snprintf(idle, sizeof idle, "%d", PAWL__PG_IDLE_TIMEOUT_MS);
    if (how->write) {
        pawl__pg_call(conn, PG_CONDUCT_WRITE);
        pawl__pg_bind_bool(conn, PG_CONDUCT_WRITE_local, conn->pooled);
        pawl__pg_bind_string(conn, PG_CONDUCT_WRITE_timeout_ms, timeout);
        pawl__pg_bind_string(conn, PG_CONDUCT_WRITE_idle_ms, idle);
        pawl__pg_bind_bool(conn, PG_CONDUCT_WRITE_relaxed, how->relaxed);
    } else {
        pawl__pg_call(conn, PG_CONDUCT_READ);
        pawl__pg_bind_bool(conn, PG_CONDUCT_READ_local, conn->pooled);
        pawl__pg_bind_string(conn, PG_CONDUCT_READ_timeout_ms, longer);
        pawl__pg_bind_string(conn, PG_CONDUCT_READ_wait_ms, timeout);
        pawl__pg_bind_string(conn, PG_CONDUCT_READ_idle_ms, idle);
    }
    pawl__pg_send(conn);
}

/* Who is at the other end? */
static enum pawl_err meet(struct pawl__pg_conn *conn, const struct pawl__pg_open *how,
                          struct pawl_diag *diag)
{
    conn->pooled = true; // until we know: prepares nothing
    pawl__pg_call(conn, PG_WHO_SERVES);
    PGresult *who;
    enum pawl_err err = pawl__pg_ask(conn, &who, diag);
    if (err) return err;
    conn->pooled = pawl__pg_int(who, 0, 0) != PQbackendPID(conn->pg);
    int version = (int)pawl__pg_int(who, 0, 3);
    struct pawl_span encoding = pawl__pg_raw(who, 0, 1);
    if (version < 130000) {
        return pawl__fail_field(diag, PAWL_ERR_UNSUPPORTED, "store",
                                "the server is PostgreSQL %d; pawl needs 13 or later",
                                version / 10000);
    }
    if (strcmp(encoding.at, "UTF8") != 0) {
        return pawl__fail_field(diag, PAWL_ERR_UNSUPPORTED, "store",
                                "the database is encoded in %s; pawl needs UTF8", encoding.at);
    }
    if (how->write && pawl__pg_bool(who, 0, 4)) {
        return pawl__fail_field(diag, PAWL_ERR_READONLY, "store",
                                "cannot write to a standby: connect to the primary");
    }
    if (conn->pooled) return PAWL_OK;
    pawl__pg_conduct(conn, how);
    return pawl__pg_sync(conn, diag);
}

enum pawl_err pawl__pg_connect(const struct pawl__pg_open *how, struct pawl__pg_conn *out,
                               struct pawl_diag *diag)
{
    memset(out, 0, sizeof *out);
    out->timeout_ms = how->timeout_ms + PAWL__PG_IDLE_TIMEOUT_MS; // the server's comes first
    enum pawl_err err = pawl__pg_connect_plain(how, &out->pg, diag);
    if (err) return err;
    if (!PQenterPipelineMode(out->pg)) {
        err = pawl__fail(diag, PAWL_ERR_IO, "could not enter pipeline mode");
    } else {
        err = meet(out, how, diag);
    }
    if (err) pawl__pg_conn_release(out);
    return err;
}

void pawl__pg_conn_release(struct pawl__pg_conn *conn)
{
    for (int i = 0; i < PAWL__PG_SLOTS; i++) {
        PQclear(conn->kept[i]);
    }
    for (int i = 0; i < PAWL__PG_LISTS_MAX; i++) {
        pawl__buf_release(&conn->lists[i].bytes);
    }
    PQfinish(conn->pg);
    pawl__arena_release(&conn->scratch);
    memset(conn, 0, sizeof *conn);
}
