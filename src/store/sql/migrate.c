/* Checking and applying migrations and the script. */
#include "store/sql/migrate.h"

#include "base/diag.h"
#include "base/sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pawl__applied {
    const struct pawl__migrator *migrator;
    int32_t count;
    int64_t last;         /* version of the newest row */
    bool last_compatible; /* and what it says of itself */
    bool newer;           /* a row is beyond what we know */
    bool changed;         /* one is not as we know it: */
    int64_t changed_version;
};

static void checksum(const char *const *texts, size_t count, char out[PAWL__CHECKSUM_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    struct pawl__sha256 sha;
    uint8_t hash[32];
    pawl__sha256_init(&sha);
    for (size_t i = 0; i < count; i++) {
        pawl__sha256_add(&sha, texts[i], strlen(texts[i]));
    }
    pawl__sha256_end(&sha, hash);
    for (int i = 0; i < 32; i++) {
        out[2 * i] = digits[hash[i] >> 4];
        out[2 * i + 1] = digits[hash[i] & 15];
    }
    out[64] = '\0';
}

static bool is_known(const struct pawl__applied *applied, const struct pawl__migration_row *row)
{
    char sum[PAWL__CHECKSUM_BYTES];
    checksum(&applied->migrator->migrations[applied->count - 1].text, 1, sum);
    return row->version == applied->count && row->checksum && strcmp(row->checksum, sum) == 0;
}

void pawl__applied_add(struct pawl__applied *applied, const struct pawl__migration_row *row)
{
    int32_t newest = applied->migrator->newest;
    applied->count++;
    applied->last = row->version;
    applied->last_compatible = row->compatible;
    if (applied->changed || applied->newer) return; // the first trouble is the one to report
    if (row->version > newest || applied->count > newest) {
        applied->newer = true;
    } else if (!is_known(applied, row)) {
        applied->changed = true;
        applied->changed_version = row->version;
    }
}

static enum pawl_err check_newer(const struct pawl__applied *applied, struct pawl_diag *diag)
{
    const struct pawl__migrator *migrator = applied->migrator;
    int32_t next = migrator->newest + 1;
    bool one_step = applied->count == next && applied->last == next;
    if (migrator->rolling && one_step && applied->last_compatible) return PAWL_OK;
    long long version = applied->last;
    int newest = migrator->newest;
    if (!migrator->rolling) {
        return pawl__fail(diag, PAWL_ERR_SCHEMA,
                          "the store has schema version %lld, this program knows up to %d; use a "
                          "newer pawl",
                          version, newest);
    }
    return pawl__fail(diag, PAWL_ERR_SCHEMA,
                      "the store has schema version %lld, this program knows up to %d, and %s; use "
                      "a newer pawl",
                      version, newest,
                      one_step ? "the step between them is not compatible"
                               : "that is more than one step");
}

/* ---- the script ---- */

/* "1.12.0" as a number that grows with it; 0: not a version. */
static int64_t number_of(const char *version)
{
    int64_t number = 0;
    for (int part = 0; part < 3; part++) {
        char *end;
        int64_t value = strtoll(version, &end, 10);
        if (end == version || value < 0 || value > 99999) return 0;
        number = number * 100000 + value;
        version = *end == '.' ? end + 1 : end;
    }
    return number;
}

/* Whether it is to run; then `mine` is what to record. */
static enum pawl_err script_is_old(const struct pawl__migrator *migrator, void *conn,
                                   struct pawl__script_row *mine, bool *old, struct pawl_diag *diag)
{
    struct pawl__script_row has = { .may = false };
    *old = false;
    if (!migrator->script) return PAWL_OK;
    enum pawl_err err = migrator->script_get(conn, &has, diag);
    if (err) return err;
    *mine = (struct pawl__script_row){ .may = true };
    snprintf(mine->version, sizeof mine->version, "%s", migrator->script->version);
    checksum(migrator->script->texts, migrator->script->count, mine->checksum);
    int64_t theirs = number_of(has.version), ours = number_of(mine->version);
    bool differs = strcmp(has.checksum, mine->checksum) != 0;
    *old = has.may && (theirs < ours || (theirs == ours && differs));
    return PAWL_OK;
}

static enum pawl_err apply_script(const struct pawl__migrator *migrator, void *conn, bool clear,
                                  struct pawl_diag *diag)
{
    const struct pawl__script *script = migrator->script;
    struct pawl__script_row mine;
    bool old;
    enum pawl_err err = script_is_old(migrator, conn, &mine, &old, diag);
    if (err || !old) return err;
    for (size_t i = 0; !err && i < script->count; i++) {
        err = migrator->run(conn, script->texts[i], diag);
        if (!err && i == 0 && clear) err = migrator->run(conn, script->clear, diag);
    }
    return err ? err : migrator->script_put(conn, &mine, diag);
}

/* ---- the schema ---- */

enum pawl_err pawl__schema_read(const struct pawl__migrator *migrator, void *conn,
                                struct pawl_schema *out, struct pawl_diag *diag)
{
    struct pawl__applied applied = { .migrator = migrator };
    enum pawl_err err = migrator->list(conn, &applied, diag);
    if (!err && applied.changed) {
        err = pawl__fail(diag, PAWL_ERR_SCHEMA,
                         "migration %lld of the store is not the one this program knows; use the "
                         "pawl that made the store, or a backup",
                         (long long)applied.changed_version);
    }
    if (!err && applied.newer) err = check_newer(&applied, diag);
    if (err) return err;
    struct pawl_schema schema = { .version = applied.count, .newest = migrator->newest };
    struct pawl__script_row mine;
    if (schema.version == schema.newest) {
        err = script_is_old(migrator, conn, &mine, &schema.script_old, diag);
    }
    if (!err) *out = schema;
    return err;
}

enum pawl_err pawl__schema_fail_old(const struct pawl_schema *schema, struct pawl_diag *diag)
{
    return pawl__fail(diag, PAWL_ERR_SCHEMA,
                      "the store has schema version %d, this program needs %d; run \"pawl "
                      "migrate\"",
                      (int)schema->version, (int)schema->newest);
}

static enum pawl_err apply_one(const struct pawl__migrator *migrator, void *conn, int32_t version,
                               struct pawl_diag *diag)
{
    const struct pawl__migration *migration = &migrator->migrations[version - 1];
    enum pawl_err err = migrator->run(conn, migration->text, diag);
    if (err) return err;
    char sum[PAWL__CHECKSUM_BYTES];
    checksum(&migration->text, 1, sum);
    return migrator->record(conn,
                            &(struct pawl__migration_row){ .version = version,
                                                           .checksum = sum,
                                                           .compatible = migration->compatible },
                            diag);
}

static enum pawl_err apply_missing(const struct pawl__migrator *migrator, void *conn, bool clear,
                                   struct pawl_diag *diag)
{
    struct pawl_schema schema; // read again: another process may have been faster
    enum pawl_err err = pawl__schema_read(migrator, conn, &schema, diag);
    if (err) return err;
    for (int32_t version = schema.version + 1; !err && version <= schema.newest; version++) {
        err = apply_one(migrator, conn, version, diag);
    }
    return err || schema.version > schema.newest ? err : apply_script(migrator, conn, clear, diag);
}

static enum pawl_err upgrade(const struct pawl__migrator *migrator, void *conn, bool clear,
                             struct pawl_diag *diag)
{
    enum pawl_err err = migrator->begin(conn, diag);
    if (!err) err = apply_missing(migrator, conn, clear, diag);
    if (!err) err = migrator->commit(conn, diag);
    if (err) migrator->rollback(conn);
    return err;
}

enum pawl_err pawl__schema_upgrade(const struct pawl__migrator *migrator, void *conn,
                                   struct pawl_diag *diag)
{
    bool may_clear = migrator->script && migrator->script->clear;
    enum pawl_err err = upgrade(migrator, conn, false, diag);
    return err == PAWL_ERR_SCHEMA && may_clear ? upgrade(migrator, conn, true, diag) : err;
}
