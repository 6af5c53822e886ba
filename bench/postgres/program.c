/* pawl_bench_postgres: the measurements on PostgreSQL, and the place of its stores. Each is a
 * separate database, created when its URL is first requested. */
#include "bench/postgres/postgres.h"

#include <assert.h>
#include <unistd.h>

enum { STORES_MAX = 8, NAME_BYTES = 64, SQL_BYTES = 256 };

#define X(name, text) { #name, text, pawl__bench_pg_##name },
static const struct pawl__measurement list[] = { PAWL__PG_BENCHES(X) };
#undef X

const struct pawl__program pawl__program = {
    .about = "Measure store and node against bare libpq, on the server that PGHOST and PGUSER lead "
             "to;\nmakes and drops databases there whose names begin with \"pawl_bench_\".",
    .server = true,
    .json = "bench-postgres.json",
    .list = list,
    .count = sizeof list / sizeof *list,
};

static char stores[STORES_MAX][NAME_BYTES]; /* existing ones; "": none */

/* ---- the server ---- */

static void database_name(const char *name, char out[NAME_BYTES])
{
    const int len = snprintf(out, NAME_BYTES, "pawl_bench_%s", name);
    assert(len > 0 && len < NAME_BYTES);
    for (char *c = out; *c; c++) {
        if (*c == '.') *c = '_';
    }
}

PGconn *pawl__pg_dial(const char *name)
{
    char database[NAME_BYTES] = "postgres";
    if (name) database_name(name, database);
    const char *const names[] = { "dbname", "client_encoding", NULL };
    const char *const values[] = { database, "UTF8", NULL };
    PGconn *conn = PQconnectdbParams(names, values, 0);
    if (PQstatus(conn) != CONNECTION_OK) {
        pawl__bench_die("could not connect to \"%s\": %s", database, PQerrorMessage(conn));
    }
    return conn;
}

void pawl__pg_run(PGconn *conn, const char *sql)
{
    PGresult *result = PQexec(conn, sql);
    const ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        pawl__bench_die("\"%s\" failed: %s", sql, PQerrorMessage(conn));
    }
    PQclear(result);
}

double pawl__pg_number(PGconn *conn, const char *sql)
{
    PGresult *result = PQexec(conn, sql);
    if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != 1) {
        pawl__bench_die("\"%s\" failed: %s", sql, PQerrorMessage(conn));
    }
    const double number = strtod(PQgetvalue(result, 0, 0), NULL);
    PQclear(result);
    return number;
}

static void administer(const char *before, const char *database, const char *after)
{
    char sql[SQL_BYTES];
    PGconn *conn = pawl__pg_dial(NULL);
    snprintf(sql, sizeof sql, "%s %.*s%s", before, NAME_BYTES - 1, database, after);
    pawl__pg_run(conn, "SET client_min_messages = warning");
    pawl__pg_run(conn, sql);
    PQfinish(conn);
}

/* utime and stime of /proc/PID/stat, after the name, which may contain any character. */
static double process_cpu_us(const char *pid)
{
    char path[64], line[1024] = "";
    unsigned long long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    FILE *file = fopen(path, "r");
    const char *rest = file && fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    if (rest) {
        sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system);
    }
    if (file) fclose(file);
    return (double)(user + system) * 1e6 / (double)sysconf(_SC_CLK_TCK);
}

/* Vacuum workers come and go, and are left out. */
static double server_cpu_us(PGconn *conn)
{
    double us = 0;
    PGresult *result = PQexec(conn, "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
                                    " AND backend_type NOT LIKE 'autovacuum%'");
    if (PQresultStatus(result) != PGRES_TUPLES_OK) {
        pawl__bench_die("could not list the server's processes: %s", PQerrorMessage(conn));
    }
    for (int i = 0; i < PQntuples(result); i++) {
        us += process_cpu_us(PQgetvalue(result, i, 0));
    }
    PQclear(result);
    return us;
}

struct pawl__pg_cost pawl__pg_cost(void)
{
    PGconn *conn = pawl__pg_dial(NULL);
    const struct pawl__pg_cost cost = {
        .wal_bytes =
            pawl__pg_number(conn, "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"),
        .cpu_us = server_cpu_us(conn),
    };
    PQfinish(conn);
    return cost;
}

/* ---- the stores ---- */

static char *find(const char *database)
{
    for (int i = 0; i < STORES_MAX; i++) {
        if (!strcmp(stores[i], database)) return stores[i];
    }
    return NULL;
}

struct pawl__url pawl__bench_url(const struct pawl__bench *bench, const char *name)
{
    char database[NAME_BYTES];
    struct pawl__url url;
    database_name(name, database);
    if (!find(database)) {
        char *free_one = find("");
        assert(free_one);
        administer("DROP DATABASE IF EXISTS", database, ""); // of an interrupted run
        administer("CREATE DATABASE", database, "");
        memcpy(free_one, database, sizeof database);
    }
    snprintf(url.text, sizeof url.text, "postgres:///%s", database);
    return url;
}

static void drop(char *database)
{
    administer("DROP DATABASE", database, " WITH (FORCE)");
    *database = 0;
}

void pawl__bench_forget(const struct pawl__bench *bench, const char *name)
{
    char database[NAME_BYTES];
    database_name(name, database);
    char *known = find(database);
    if (known) drop(known);
}

void pawl__bench_forget_all(const struct pawl__bench *bench)
{
    for (int i = 0; i < STORES_MAX; i++) {
        if (*stores[i]) drop(stores[i]);
    }
}
