/* Stores on the PostgreSQL server that PAWL_TEST_POSTGRES names: a schema for each. */
#include "support/rig.h"

#include "base/rng.h"

#include <libpq-fe.h>

enum { NAME_BYTES = 32 };

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

static void make_url(char *url, size_t size, const char *name)
{
    const char *server = getenv("PAWL_TEST_POSTGRES");
    int len =
        pooled() ? snprintf(url, size, "postgres:///%s?%s", name, getenv("PAWL_TEST_POSTGRES_POOL"))
                 : snprintf(url, size, "%s%coptions=-csearch_path%%3D%s", server,
                            strchr(server, '?') != NULL ? '&' : '?', name);
    if (len < 0 || (size_t)len >= size) abort();
}

/* Test programs run side by side on one server, so names are drawn. */
static void create(char name[NAME_BYTES])
{
    char text[96];
    snprintf(name, NAME_BYTES, "t%016llx", (unsigned long long)pawl__rng_system_seed());
    snprintf(text, sizeof text, "CREATE %s %s", pooled() ? "DATABASE" : "SCHEMA", name);
    run_sql(text);
}

/* ---- stores that are used again ---- */

/* To make a store's tables and functions takes half a second of the server's time, and most tests
 * need less than that. So a schema that a test is done with is emptied for the next. */
static char spare[8][NAME_BYTES];
static size_t spare_count;

/* A store that was opened once and never used. */
static const char *untouched(void)
{
    static char name[NAME_BYTES];
    if (name[0]) return name;
    char url[RIG_URL_BYTES];
    struct hand_clock clock;
    struct pawl__store *store;
    struct pawl_diag diag = { 0 };
    hand_clock_init(&clock, HAND_CLOCK_START_MS);
    create(name);
    make_url(url, sizeof url, name);
    struct pawl_config config = { .store = url, .clock = &clock.clock, .seed = 1 };
    if (pawl__store_open(&config, &store, &diag)) {
        fprintf(stderr, "could not open %s: %s\n", url, diag.text);
        abort();
    }
    pawl__store_close(store);
    return name;
}

/* All its tables are as those of a store that was never used. */
static void empty(const char *name)
{
    static const char format[] =
        "SET session_replication_role = replica;" // no order among tables
        "DO $$DECLARE it name; BEGIN"
        " FOR it IN SELECT relname FROM pg_class"
        " WHERE relnamespace = '%1$s'::regnamespace AND relkind = 'r' LOOP"
        " EXECUTE format('DELETE FROM %1$s.%%I', it);"
        " EXECUTE format('INSERT INTO %1$s.%%1$I OVERRIDING SYSTEM VALUE"
        " SELECT * FROM %2$s.%%1$I', it); END LOOP;"
        " FOR it IN SELECT relname FROM pg_class"
        " WHERE relnamespace = '%1$s'::regnamespace AND relkind = 'S' LOOP"
        " PERFORM setval(format('%1$s.%%I', it)::regclass, 1, false); END LOOP;"
        " END$$";
    char text[1024];
    snprintf(text, sizeof text, format, name, untouched());
    run_sql(text);
}

void postgres_make(char *url, size_t size)
{
    char name[NAME_BYTES];
    if (spare_count > 0) {
        memcpy(name, spare[--spare_count], NAME_BYTES);
        empty(name);
    } else {
        create(name);
    }
    make_url(url, size, name);
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

static void drop_database(const char *url)
{
    char text[128];
    const char *name = strstr(url, "///") + 3;
    snprintf(text, sizeof text, "DROP DATABASE %.*s WITH (FORCE)", (int)strcspn(name, "?"), name);
    run_sql(text);
}

/* A schema that is not used again goes with the server, which is the test run's own. */
void postgres_dispose(const char *url)
{
    if (pooled()) {
        drop_database(url);
    } else if (spare_count < COUNT(spare)) {
        snprintf(spare[spare_count++], NAME_BYTES, "%s", strstr(url, "%3D") + 3);
    }
}
