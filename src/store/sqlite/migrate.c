/* The schema's versions on SQLite; the walk is sql/migrate.c's. */
#include "store/sql/migrate.h"
#include "store/sqlite/sqlite.h"

/* number, NAME */
#define MIGRATIONS(X) X(1, migration_1)

#define X(number, name) { .text = SQL_TEXT_##name },
static const struct pawl__migration migrations[] = { MIGRATIONS(X) };
#undef X

/* A connection and the clock by which migrations are recorded. */
struct target {
    struct pawl__sq_conn *conn;
    const struct pawl_clock *clock;
};

static enum pawl_err table_exists(struct pawl__sq_conn *conn, bool *out, struct pawl_diag *diag)
{
    sqlite3_stmt *stmt = pawl__sq_use(conn, SQL_MIGRATION_TABLE_EXISTS);
    bool found;
    enum pawl_err err = pawl__sq_row(conn, stmt, &found, diag);
    if (err) return err;
    *out = found && sqlite3_column_int64(stmt, 0) > 0;
    sqlite3_reset(stmt);
    return PAWL_OK;
}

static enum pawl_err list(void *to, struct pawl__applied *applied, struct pawl_diag *diag)
{
    struct pawl__sq_conn *conn = ((struct target *)to)->conn;
    bool exists = false, found;
    enum pawl_err err = table_exists(conn, &exists, diag);
    if (err || !exists) return err;
    sqlite3_stmt *stmt = pawl__sq_use(conn, SQL_MIGRATION_ALL);
    while (!(err = pawl__sq_row(conn, stmt, &found, diag)) && found) {
        struct pawl__migration_row row = {
            .version = sqlite3_column_int64(stmt, 0),
            .checksum = (const char *)sqlite3_column_text(stmt, 1),
        };
        if (!row.checksum) { // the column is NOT NULL: there was no memory for a copy
            sqlite3_reset(stmt);
            return pawl__fail_nomem(diag);
        }
        pawl__applied_add(applied, &row);
    }
    return err;
}

static enum pawl_err begin(void *to, struct pawl_diag *diag)
{
    struct pawl__sq_conn *conn = ((struct target *)to)->conn;
    enum pawl_err err = pawl__sq_exec(conn, SQL_BEGIN, diag);
    return err ? err : pawl__sq_exec(conn, SQL_MIGRATION_TABLE, diag);
}

static enum pawl_err run(void *to, const char *text, struct pawl_diag *diag)
{
    struct pawl__sq_conn *conn = ((struct target *)to)->conn;
    if (sqlite3_exec(conn->db, text, NULL, NULL, NULL) == SQLITE_OK) return PAWL_OK;
    return pawl__sq_error(conn, diag, "migrate the store");
}

static enum pawl_err record(void *to, const struct pawl__migration_row *row, struct pawl_diag *diag)
{
    struct target *target = to;
    sqlite3_stmt *stmt = pawl__sq_use(target->conn, SQL_MIGRATION_INSERT);
    pawl__sq_bind(stmt, SQL_MIGRATION_INSERT_version, row->version);
    pawl__sq_bind_text(stmt, SQL_MIGRATION_INSERT_checksum, row->checksum);
    pawl__sq_bind(stmt, SQL_MIGRATION_INSERT_applied_at_ms, pawl__clock_wall_ms(target->clock));
    return pawl__sq_run(target->conn, stmt, diag);
}

static enum pawl_err commit(void *to, struct pawl_diag *diag)
{
    return pawl__sq_exec(((struct target *)to)->conn, SQL_COMMIT, diag);
}

static void rollback(void *to)
{
    struct pawl__sq_conn *conn = ((struct target *)to)->conn;
    if (!sqlite3_get_autocommit(conn->db)) (void)pawl__sq_exec(conn, SQL_ROLLBACK, NULL);
}

static const struct pawl__migrator migrator = {
    .migrations = migrations,
    .newest = sizeof migrations / sizeof *migrations,
    .list = list,
    .begin = begin,
    .run = run,
    .record = record,
    .commit = commit,
    .rollback = rollback,
};

enum pawl_err pawl__sq_migrate(struct pawl__sq_conn *conn, const struct pawl_clock *clock,
                               bool no_migrate, struct pawl_diag *diag)
{
    struct target target = { conn, clock };
    struct pawl_schema schema;
    enum pawl_err err = pawl__schema_read(&migrator, &target, &schema, diag);
    if (err || schema.version >= schema.newest) return err;
    return no_migrate ? pawl__schema_fail_old(&schema, diag)
                      : pawl__schema_upgrade(&migrator, &target, diag);
}

enum pawl_err pawl__sq_schema_read(struct pawl__sq_conn *conn, struct pawl_schema *out,
                                   struct pawl_diag *diag)
{
    return pawl__schema_read(&migrator, &(struct target){ .conn = conn }, out, diag);
}
