/* The schema's versions. Migrations are numbered from 1, applied in order, each recorded with a
 * checksum of its text; a released one is never edited. All that are missing are applied in one
 * transaction under an advisory lock, so a killed process leaves the old version or the new, and
 * nodes that start together do it once.
 *
 * A migration that only adds is compatible, and recorded as such: a program that is one step behind
 * works on. So the nodes of a cluster can be upgraded one after another. What is two steps ahead,
 * or not compatible, is refused.
 *
 * Runs on: the thread that opens the store, with a connection of its own. */
#include "store/postgres/postgres.h"

#include "base/sha256.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* number, NAME, can a program that does not know it work with it? */
#define MIGRATIONS(X)                                                                              \
    X(1, migration_1, false)                                                                       \
    X(2, migration_2, true)

#define X(number, name, compatible) { PG_TEXT_##name, compatible },
static const struct {
    const char *text;
    bool compatible;
} migrations[] = { MIGRATIONS(X) };
#undef X

/* Tests of upgrades build the program of before: it knows all but the newest. */
#ifdef PAWL__PG_ONE_STEP_BEHIND
enum { NEWEST = sizeof migrations / sizeof *migrations - 1 };
#else
enum { NEWEST = sizeof migrations / sizeof *migrations };
#endif
enum { CHECKSUM_BYTES = 65 };

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

/* The last row is one that we do not know. */
static enum pawl_err check_newer(const PGresult *rows, struct pawl_diag *diag)
{
    int last = PQntuples(rows) - 1;
    long long version = strtoll(PQgetvalue(rows, last, 0), NULL, 10);
    bool one_step = last == NEWEST && version == NEWEST + 1;
    if (one_step && PQgetvalue(rows, last, 2)[0] == 't') return PAWL_OK;
    return pawl__fail(diag, PAWL_ERR_SCHEMA,
                      "the store has schema version %lld, this program knows up to %d, and %s; use "
                      "a newer pawl",
                      version, (int)NEWEST,
                      one_step ? "the step between them is not compatible"
                               : "that is more than one step");
}

static enum pawl_err check_one(const PGresult *rows, int row, struct pawl_diag *diag)
{
    int32_t expected = row + 1;
    long long version = strtoll(PQgetvalue(rows, row, 0), NULL, 10);
    if (version > NEWEST || expected > NEWEST) return check_newer(rows, diag);
    char sum[CHECKSUM_BYTES];
    checksum(migrations[expected - 1].text, sum);
    if (version == expected && strcmp(PQgetvalue(rows, row, 1), sum) == 0) return PAWL_OK;
    return pawl__fail(diag, PAWL_ERR_SCHEMA,
                      "migration %lld of the store is not the one this program knows; use the pawl "
                      "that made the store, or a backup",
                      version);
}

/* The newest applied version, each checked against what we know. */
static enum pawl_err applied(PGconn *pg, int32_t *version, struct pawl_diag *diag)
{
    PGresult *rows;
    *version = 0;
    enum pawl_err err = run(pg, PG_TEXT_migration_table_exists, NULL, 0, &rows, diag);
    if (err) return err;
    bool exists = PQgetvalue(rows, 0, 0)[0] == 't';
    PQclear(rows);
    if (!exists) return PAWL_OK;
    err = run(pg, PG_TEXT_migration_all, NULL, 0, &rows, diag);
    if (err) return err;
    for (int i = 0; !err && i < PQntuples(rows); i++) {
        err = check_one(rows, i, diag);
    }
    if (!err) *version = PQntuples(rows);
    PQclear(rows);
    return err;
}

static enum pawl_err apply_one(PGconn *pg, int32_t version, struct pawl_diag *diag)
{
    const char *text = migrations[version - 1].text;
    enum pawl_err err = run(pg, text, NULL, 0, NULL, diag);
    if (err) return err;
    char sum[CHECKSUM_BYTES], number[16];
    checksum(text, sum);
    snprintf(number, sizeof number, "%d", (int)version);
    const char *values[] = { number, sum, migrations[version - 1].compatible ? "true" : "false" };
    assert(PG_MIGRATION_INSERT_version == 1 && PG_MIGRATION_INSERT_checksum == 2 &&
           PG_MIGRATION_INSERT_compatible == 3);
    return run(pg, PG_TEXT_migration_insert, values, 3, NULL, diag);
}

static enum pawl_err apply_missing(PGconn *pg, struct pawl_diag *diag)
{
    char number[32];
    snprintf(number, sizeof number, "%lld", (long long)PAWL__PG_LOCK_MIGRATE);
    const char *values[] = { number };
    int32_t version = 0; // looked up again under the lock: another process may have been faster
    enum pawl_err err = run(pg, PG_TEXT_migration_lock, values, 1, NULL, diag);
    if (!err) err = run_plain(pg, PG_MIGRATION_TABLE, diag);
    if (!err) err = applied(pg, &version, diag);
    while (!err && version < NEWEST) {
        err = apply_one(pg, ++version, diag);
    }
    return err;
}

/* Nobody is waited for longer than that: others may hold what we read. */
static enum pawl_err begin(PGconn *pg, int64_t wait_ms, struct pawl_diag *diag)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)wait_ms);
    const char *values[] = { text };
    enum pawl_err err = run_plain(pg, PG_BEGIN, diag);
    if (!err) err = run(pg, PG_TEXT_conduct_migrate, values, 1, NULL, diag);
    return err;
}

/* Is anything missing, and may it be made? */
static enum pawl_err look(PGconn *pg, const struct pawl__pg_migrate *how, bool *missing,
                          struct pawl_diag *diag)
{
    int32_t version;
    enum pawl_err err = applied(pg, &version, diag);
    *missing = !err && version < NEWEST;
    if (!*missing) return err;
    if (!version && how->must_exist) {
        return pawl__fail_field(diag, PAWL_ERR_NOT_FOUND, "store",
                                "there is no store in database \"%s\"", PQdb(pg));
    }
    if (how->no_migrate) {
        return pawl__fail(diag, PAWL_ERR_SCHEMA,
                          "the store has schema version %d, this program needs %d; run \"pawl "
                          "migrate\"",
                          (int)version, (int)NEWEST);
    }
    return PAWL_OK;
}

/* Two transactions: who has read what others want to change must not wait for them. */
enum pawl_err pawl__pg_migrate(PGconn *pg, const struct pawl__pg_migrate *how,
                               struct pawl_diag *diag)
{
    bool missing = false;
    enum pawl_err err = begin(pg, how->wait_ms, diag);
    if (!err) err = look(pg, how, &missing, diag);
    (void)run_plain(pg, PG_ROLLBACK, NULL);
    if (err || !missing) return err;
    err = begin(pg, how->wait_ms, diag);
    if (!err) err = apply_missing(pg, diag);
    if (!err) return run_plain(pg, PG_COMMIT, diag);
    (void)run_plain(pg, PG_ROLLBACK, NULL);
    return err;
}

enum pawl_err pawl__pg_schema_read(PGconn *pg, int64_t wait_ms, struct pawl_schema *out,
                                   struct pawl_diag *diag)
{
    int32_t version = 0;
    enum pawl_err err = begin(pg, wait_ms, diag);
    if (!err) err = applied(pg, &version, diag);
    (void)run_plain(pg, PG_ROLLBACK, NULL);
    if (err) return err;
    if (!version) {
        return pawl__fail_field(diag, PAWL_ERR_NOT_FOUND, "store",
                                "there is no store in database \"%s\"", PQdb(pg));
    }
    *out = (struct pawl_schema){ .version = version, .newest = NEWEST };
    return PAWL_OK;
}
