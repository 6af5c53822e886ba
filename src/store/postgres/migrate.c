/* The schema's versions on PostgreSQL; the walk is sql/migrate.c's. An advisory lock makes nodes
 * that start together migrate once.
 *
 * Runs on: the thread that opens the store, with a connection of its own. */
#include "store/postgres/postgres.h"
#include "store/sql/migrate.h"

#include <assert.h>
#include <stdio.h>

/* Tests of upgrades build the program of tomorrow, which has more: tests/postgres/ahead.h. */
#ifndef MIGRATIONS_AHEAD
#define MIGRATIONS_AHEAD(X)
#define SCRIPT_AHEAD(X)
#define SCRIPT_VERSION PAWL_VERSION
#endif

/* number, NAME, can a program that does not know it work with it? */
#define MIGRATIONS(X)                                                                              \
    X(1, migration_1, false)                                                                       \
    MIGRATIONS_AHEAD(X)

#define X(number, name, compatible) { PG_TEXT_##name, compatible },
static const struct pawl__migration migrations[] = { MIGRATIONS(X) };
#undef X

#define SCRIPT(X)                                                                                  \
    X(script_begin)                                                                                \
    X(script_check)                                                                                \
    X(script_place)                                                                                \
    X(script_submit)                                                                               \
    X(script_finish)                                                                               \
    X(script_view)                                                                                 \
    SCRIPT_AHEAD(X)                                                                                \
    X(script_end)

#define X(name) PG_TEXT_##name,
static const char *const script_texts[] = { SCRIPT(X) };
#undef X
static const struct pawl__script script = { .texts = script_texts,
                                            .count = sizeof script_texts / sizeof *script_texts,
                                            .clear = PG_TEXT_script_clear,
                                            .version = SCRIPT_VERSION };

/* No node needs the script, so opening a store does not wait long for who holds a view. */
enum { SCRIPT_WAIT_MS = 2000 };

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

static enum pawl_err script_get(void *to, struct pawl__script_row *out, struct pawl_diag *diag)
{
    PGconn *pg = ((struct target *)to)->pg;
    PGresult *row;
    enum pawl_err err = run(pg, PG_TEXT_script_may, NULL, 0, &row, diag);
    if (err) return err;
    out->may = PQntuples(row) && PQgetvalue(row, 0, 0)[0] == 't';
    PQclear(row);
    if (!out->may) return PAWL_OK;
    err = run(pg, PG_TEXT_script_get, NULL, 0, &row, diag);
    if (err) return err;
    if (PQntuples(row)) {
        snprintf(out->version, sizeof out->version, "%s", PQgetvalue(row, 0, 0));
        snprintf(out->checksum, sizeof out->checksum, "%s", PQgetvalue(row, 0, 1));
    }
    PQclear(row);
    return PAWL_OK;
}

static enum pawl_err script_put(void *to, const struct pawl__script_row *row,
                                struct pawl_diag *diag)
{
    const char *values[] = { row->version, row->checksum };
    assert(PG_SCRIPT_PUT_version == 1 && PG_SCRIPT_PUT_checksum == 2);
    return run(((struct target *)to)->pg, PG_TEXT_script_put, values, 2, NULL, diag);
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
    .newest = sizeof migrations / sizeof *migrations,
    .rolling = true,
    .list = list,
    .begin = begin_alone,
    .run = run_text,
    .record = record,
    .commit = commit,
    .rollback = rollback,
    .script = &script,
    .script_get = script_get,
    .script_put = script_put,
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

static int64_t script_wait_ms(int64_t wait_ms)
{
    return wait_ms && wait_ms < SCRIPT_WAIT_MS ? wait_ms : SCRIPT_WAIT_MS;
}

enum pawl_err pawl__pg_migrate(PGconn *pg, const struct pawl__pg_migrate *how,
                               struct pawl_diag *diag)
{
    struct target target = { pg, how->wait_ms };
    struct pawl_schema schema;
    enum pawl_err err = read_schema(&target, &schema, diag);
    bool old = !err && schema.version < schema.newest;
    if (err || (!old && (!schema.script_old || how->no_migrate))) return err;
    if (!schema.version && how->must_exist) return fail_missing(pg, diag);
    if (how->no_migrate) return pawl__schema_fail_old(&schema, diag);
    bool may_fail = !old && !how->must_renew;
    if (may_fail) target.wait_ms = script_wait_ms(how->wait_ms);
    err = pawl__schema_upgrade(&migrator, &target, may_fail ? NULL : diag);
    return may_fail ? PAWL_OK : err;
}

enum pawl_err pawl__pg_schema_read(PGconn *pg, int64_t wait_ms, struct pawl_schema *out,
                                   struct pawl_diag *diag)
{
    struct target target = { pg, wait_ms };
    enum pawl_err err = read_schema(&target, out, diag);
    return !err && !out->version ? fail_missing(pg, diag) : err;
}
