/* The schema's versions on PostgreSQL; the walk is sql/migrate.c's. An advisory lock makes nodes
 * that start together migrate once.
 *
 * Runs on: the thread that opens the store, with a connection of its own. */
#include "store/postgres/postgres.h"
#include "store/sql/migrate.h"

#include <assert.h>
#include <stdio.h>

/* number, NAME, can a program that does not know it work with it? */
#define MIGRATIONS(X)                                                                              \
    X(1, migration_1, false)                                                                       \
    X(2, migration_2, true)

#define X(number, name, compatible) { PG_TEXT_##name, compatible },
static const struct pawl__migration migrations[] = { MIGRATIONS(X) };
#undef X

/* Tests of upgrades build the program of before: it knows all but the newest. */
#ifdef PAWL__PG_ONE_STEP_BEHIND
enum { NEWEST = sizeof migrations / sizeof *migrations - 1 };
#else
enum { NEWEST = sizeof migrations / sizeof *migrations };
#endif

/* A connection, and how long it waits for locks: other processes may hold what it reads. */
struct target {
    PGconn *pg;
    int64_t wait_ms;
};

/* Text in, text out; the caller clears `out`. NULL: nobody wants the answer. */
static enum pawl_err run(PGconn *pg, const char *text, const char *const *values, int count,
                         PGresult **out, struct pawl_diag *diag)
{
    PGresult *result = count ? PQexecParams(pg, text, count, NULL, values, NULL, NULL, 0)
                             : PQexec(pg, text);
    ExecStatusType status = PQresultStatus(result);
    enum pawl_err err = PAWL_OK;
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        const char *what = out ? "read the schema of the store" : "migrate the store";
        err = pawl__pg_fail_result(result, pg, what, diag);
    }
    if (!err && out) {
        *out = result;
    } else {
        PQclear(result);
    }
    return err;
}

static enum pawl_err run_plain(PGconn *pg, enum pawl__pg sql, struct pawl_diag *diag)
{
    return run(pg, pawl__pg_text_of(sql), NULL, 0, NULL, diag);
}

static enum pawl_err run_one(PGconn *pg, const char *text, int64_t value, struct pawl_diag *diag)
{
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)value);
    return run(pg, text, (const char *const[]){ number }, 1, NULL, diag);
}

static enum pawl_err list(void *to, struct pawl__applied *applied, struct pawl_diag *diag)
{
    PGconn *pg = ((struct target *)to)->pg;
    PGresult *rows;
    enum pawl_err err = run(pg, PG_TEXT_migration_table_exists, NULL, 0, &rows, diag);
    if (err) return err;
    bool exists = PQgetvalue(rows, 0, 0)[0] == 't';
    PQclear(rows);
    if (!exists) return PAWL_OK;
    err = run(pg, PG_TEXT_migration_all, NULL, 0, &rows, diag);
    if (err) return err;
    for (int i = 0; i < PQntuples(rows); i++) {
        struct pawl__migration_row row = {
            .version = strtoll(PQgetvalue(rows, i, 0), NULL, 10),
            .checksum = PQgetvalue(rows, i, 1),
            .compatible = PQgetvalue(rows, i, 2)[0] == 't',
        };
        pawl__applied_add(applied, &row);
    }
    PQclear(rows);
    return PAWL_OK;
}

static enum pawl_err begin(const struct target *target, struct pawl_diag *diag)
{
    enum pawl_err err = run_plain(target->pg, PG_BEGIN, diag);
    return err ? err : run_one(target->pg, PG_TEXT_conduct_migrate, target->wait_ms, diag);
}

static enum pawl_err begin_alone(void *to, struct pawl_diag *diag)
{
    PGconn *pg = ((struct target *)to)->pg;
    enum pawl_err err = begin(to, diag);
    if (!err) err = run_one(pg, PG_TEXT_migration_lock, PAWL__PG_LOCK_MIGRATE, diag);
    return err ? err : run_plain(pg, PG_MIGRATION_TABLE, diag);
}

static enum pawl_err run_text(void *to, const char *text, struct pawl_diag *diag)
{
    return run(((struct target *)to)->pg, text, NULL, 0, NULL, diag);
}

static enum pawl_err record(void *to, const struct pawl__migration_row *row, struct pawl_diag *diag)
{
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)row->version);
    const char *values[] = { number, row->checksum, row->compatible ? "true" : "false" };
    assert(PG_MIGRATION_INSERT_version == 1 && PG_MIGRATION_INSERT_checksum == 2 &&
           PG_MIGRATION_INSERT_compatible == 3);
    return run(((struct target *)to)->pg, PG_TEXT_migration_insert, values, 3, NULL, diag);
}

static enum pawl_err commit(void *to, struct pawl_diag *diag)
{
    return run_plain(((struct target *)to)->pg, PG_COMMIT, diag);
}

static void rollback(void *to)
{
    (void)run_plain(((struct target *)to)->pg, PG_ROLLBACK, NULL);
}

static const struct pawl__migrator migrator = {
    .migrations = migrations,
    .newest = NEWEST,
    .rolling = true,
    .list = list,
    .begin = begin_alone,
    .run = run_text,
    .record = record,
    .commit = commit,
    .rollback = rollback,
};

/* In a transaction of its own: a migration must not wait for locks while it has read what other
 * processes want to change. */
static enum pawl_err read_schema(struct target *target, struct pawl_schema *out,
                                 struct pawl_diag *diag)
{
    enum pawl_err err = begin(target, diag);
    if (!err) err = pawl__schema_read(&migrator, target, out, diag);
    rollback(target);
    return err;
}

static enum pawl_err fail_missing(PGconn *pg, struct pawl_diag *diag)
{
    return pawl__fail_field(diag, PAWL_ERR_NOT_FOUND, "store",
                            "there is no store in database \"%s\"", PQdb(pg));
}

enum pawl_err pawl__pg_migrate(PGconn *pg, const struct pawl__pg_migrate *how,
                               struct pawl_diag *diag)
{
    struct target target = { pg, how->wait_ms };
    struct pawl_schema schema;
    enum pawl_err err = read_schema(&target, &schema, diag);
    if (err || schema.version >= schema.newest) return err;
    if (!schema.version && how->must_exist) return fail_missing(pg, diag);
    return how->no_migrate ? pawl__schema_fail_old(&schema, diag)
                           : pawl__schema_upgrade(&migrator, &target, diag);
}

enum pawl_err pawl__pg_schema_read(PGconn *pg, int64_t wait_ms, struct pawl_schema *out,
                                   struct pawl_diag *diag)
{
    struct target target = { pg, wait_ms };
    enum pawl_err err = read_schema(&target, out, diag);
    return !err && !out->version ? fail_missing(pg, diag) : err;
}
