/* Stores on the PostgreSQL server that PAWL_TEST_POSTGRES names: a schema for each. */
#include "support/rig.h"

#include "base/rng.h"

#include <libpq-fe.h>

static void run_sql(const char *text)
{
    PGconn *pg = PQconnectdb(getenv("PAWL_TEST_POSTGRES"));
    PGresult *result = PQexec(pg, text);
    if (PQresultStatus(result) != PGRES_COMMAND_OK) {
        fprintf(stderr, "could not %s: %s", text, PQerrorMessage(pg));
        abort();
    }
    PQclear(result);
    PQfinish(pg);
}

/* A pooler passes no options on: then each store has a database. */
static bool pooled(void)
{
    return getenv("PAWL_TEST_POSTGRES_POOL") != NULL;
}

/* Test programs run side by side on one server, so names are drawn. */
void postgres_make(char *url, size_t size)
{
    const char *server = getenv("PAWL_TEST_POSTGRES");
    char name[32], text[96];
    snprintf(name, sizeof name, "t%016llx", (unsigned long long)pawl__rng_system_seed());
    snprintf(text, sizeof text, "CREATE %s %s", pooled() ? "DATABASE" : "SCHEMA", name);
    run_sql(text);
    int len =
        pooled() ? snprintf(url, size, "postgres:///%s?%s", name, getenv("PAWL_TEST_POSTGRES_POOL"))
                 : snprintf(url, size, "%s%coptions=-csearch_path%%3D%s", server,
                            strchr(server, '?') != NULL ? '&' : '?', name);
    if (len < 0 || (size_t)len >= size) abort();
}

/* Readers go on. */
void *postgres_hold(const char *url)
{
    PGconn *pg = PQconnectdb(url);
    PGresult *result = PQexec(pg, "BEGIN; LOCK TABLE pawl_job IN EXCLUSIVE MODE");
    if (PQresultStatus(result) != PGRES_COMMAND_OK) {
        fprintf(stderr, "could not hold the store: %s", PQerrorMessage(pg));
        abort();
    }
    PQclear(result);
    return pg;
}

/* Its lock is gone when this returns: a connection that is closed keeps it for a moment. */
void postgres_let_go(void *held)
{
    PQclear(PQexec(held, "ROLLBACK"));
    PQfinish(held);
}

/* A schema goes with the server, which is the test run's own. */
void postgres_dispose(const char *url)
{
    char text[128];
    if (!pooled()) return;
    const char *name = strstr(url, "///") + 3;
    snprintf(text, sizeof text, "DROP DATABASE %.*s WITH (FORCE)", (int)strcspn(name, "?"), name);
    run_sql(text);
}
