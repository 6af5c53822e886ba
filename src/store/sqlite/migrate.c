/* The schema's versions. Migrations are numbered from 1, applied in order, each recorded with a
 * checksum of its text; a released one is never edited. All that are missing are applied in one
 * transaction, so a killed process leaves the old version or the new. */
#include "store/sqlite/sqlite.h"

#include "base/sha256.h"

#include <assert.h>
#include <string.h>

/* number, NAME */
#define MIGRATIONS(X) X(1, migration_1)

#define X(number, name) SQL_TEXT_##name,
static const char *const migrations[] = { MIGRATIONS(X) };
#undef X

enum { NEWEST = sizeof migrations / sizeof *migrations, CHECKSUM_BYTES = 65 };

static void checksum(const char *text, char out[CHECKSUM_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    struct pawl__sha256 sha;
    uint8_t hash[32];
    pawl__sha256_init(&sha);
    pawl__sha256_add(&sha, text, strlen(text));
    pawl__sha256_end(&sha, hash);
    for (int i = 0; i < 32; i++) {
        out[2 * i] = digits[hash[i] >> 4];
        out[2 * i + 1] = digits[hash[i] & 15];
    }
    out[64] = '\0';
}

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

static enum pawl_err check_one(sqlite3_stmt *stmt, int32_t expected, struct pawl_diag *diag)
{
    int64_t version = sqlite3_column_int64(stmt, 0);
    if (version > NEWEST || expected > NEWEST) {
        return pawl__fail(diag, PAWL_ERR_SCHEMA,
                          "the store has schema version %lld, this program knows up to %d; use a "
                          "newer pawl",
                          (long long)version, (int)NEWEST);
    }
    char sum[CHECKSUM_BYTES];
    checksum(migrations[expected - 1], sum);
    const char *recorded = (const char *)sqlite3_column_text(stmt, 1);
    if (version == expected && recorded && strcmp(recorded, sum) == 0) return PAWL_OK;
    return pawl__fail(diag, PAWL_ERR_SCHEMA,
                      "migration %lld of the store is not the one this program knows; use the pawl "
                      "that made the store, or a backup",
                      (long long)version);
}

/* The newest applied version, each checked against what we know. */
static enum pawl_err applied(struct pawl__sq_conn *conn, int32_t *version, struct pawl_diag *diag)
{
    *version = 0;
    bool exists = false;
    enum pawl_err err = table_exists(conn, &exists, diag);
    if (err || !exists) return err;
    sqlite3_stmt *stmt = pawl__sq_use(conn, SQL_MIGRATION_ALL);
    bool found;
    while (!(err = pawl__sq_row(conn, stmt, &found, diag)) && found) {
        err = check_one(stmt, *version + 1, diag);
        if (err) {
            sqlite3_reset(stmt);
            return err;
        }
        ++*version;
    }
    return err;
}

static enum pawl_err apply_one(struct pawl__sq_conn *conn, int32_t version, int64_t now_ms,
                               struct pawl_diag *diag)
{
    const char *text = migrations[version - 1];
    if (sqlite3_exec(conn->db, text, NULL, NULL, NULL) != SQLITE_OK) {
        return pawl__sq_error(conn, diag, "migrate the store");
    }
    char sum[CHECKSUM_BYTES];
    checksum(text, sum);
    sqlite3_stmt *stmt = pawl__sq_use(conn, SQL_MIGRATION_INSERT);
    pawl__sq_bind(stmt, SQL_MIGRATION_INSERT_version, version);
    pawl__sq_bind_text(stmt, SQL_MIGRATION_INSERT_checksum, sum);
    pawl__sq_bind(stmt, SQL_MIGRATION_INSERT_applied_at_ms, now_ms);
    return pawl__sq_run(conn, stmt, diag);
}

static enum pawl_err apply_missing(struct pawl__sq_conn *conn, int64_t now_ms,
                                   struct pawl_diag *diag)
{
    int32_t version; // looked up again: another process may have been faster
    enum pawl_err err = pawl__sq_exec(conn, SQL_MIGRATION_TABLE, diag);
    if (!err) err = applied(conn, &version, diag);
    while (!err && version < NEWEST) {
        err = apply_one(conn, ++version, now_ms, diag);
    }
    return err;
}

enum pawl_err pawl__sq_migrate(struct pawl__sq_conn *conn, const struct pawl_clock *clock,
                               bool no_migrate, struct pawl_diag *diag)
{
    int32_t version;
    enum pawl_err err = applied(conn, &version, diag);
    if (err || version == NEWEST) return err;
    if (no_migrate) {
        return pawl__fail(diag, PAWL_ERR_SCHEMA,
                          "the store has schema version %d, this program needs %d; run \"pawl "
                          "migrate\"",
                          (int)version, (int)NEWEST);
    }
    err = pawl__sq_exec(conn, SQL_BEGIN, diag);
    if (err) return err;
    err = apply_missing(conn, pawl__clock_wall_ms(clock), diag);
    if (!err) err = pawl__sq_exec(conn, SQL_COMMIT, diag);
    if (err && !sqlite3_get_autocommit(conn->db)) (void)pawl__sq_exec(conn, SQL_ROLLBACK, NULL);
    return err;
}

enum pawl_err pawl__sq_schema_read(struct pawl__sq_conn *conn, struct pawl_schema *out,
                                   struct pawl_diag *diag)
{
    int32_t version;
    enum pawl_err err = applied(conn, &version, diag);
    if (err) return err;
    *out = (struct pawl_schema){ .version = version, .newest = NEWEST };
    return PAWL_OK;
}
