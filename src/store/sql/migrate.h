/* The schema's versions. Migrations are numbered from 1 and applied in order, each recorded with a
 * checksum of its text; a released one is never edited. All that are missing are applied in one
 * transaction, so a killed process leaves the old version or the new.
 *
 * Where `rolling` is set, a migration that only adds is recorded as compatible, and a program that
 * is one step behind works on: the nodes of a cluster can be upgraded one after another. What is
 * two steps ahead, or not compatible, is refused.
 *
 * Beside the migrations a store may have a script, which makes what can be made anew at any time,
 * such as functions. It is edited in place, and runs again when the text on record is not this
 * program's. It is recorded with the version of the program. While a cluster is upgraded node by
 * node both programs open the store, and the newer script must stay: a program replaces the script
 * of its own version or of an older one, and leaves that of a newer one, as well as any where the
 * schema is ahead of it. No program depends on the script, so a store also opens where it is old
 * and may not be changed, or could not be.
 *
 * Threads: the one that has the connection. */
#ifndef PAWL_STORE_SQL_MIGRATE_H
#define PAWL_STORE_SQL_MIGRATE_H

#include "store/store.h"

struct pawl__migration {
    const char *text;
    bool compatible; /* a program that does not know it works with it */
};

enum { PAWL__CHECKSUM_BYTES = 65 };

/* What a store has on record about one. */
struct pawl__migration_row {
    int64_t version;
    const char *checksum;
    bool compatible;
};

struct pawl__script {
    const char *const *texts; /* run in this order, in one transaction */
    size_t count;
    const char *version; /* of this program: "1.12.0" */
    const char *clear;   /* drops what can be dropped of the script before; run behind the first
                            text when something could not be replaced (SCHEMA). NULL: never */
};

/* What a store has on record about its script. */
struct pawl__script_row {
    bool may; /* whoever asks may replace it */
    char version[24];
    char checksum[PAWL__CHECKSUM_BYTES];
};

/* The rows seen so far; see pawl__applied_add. */
struct pawl__applied;

/* What a backend supplies; `conn` is its own. */
struct pawl__migrator {
    const struct pawl__migration *migrations;
    int32_t newest;
    bool rolling;
    /* Hand each row, in order of version, to pawl__applied_add; none if there is no table yet. */
    enum pawl_err (*list)(void *conn, struct pawl__applied *applied, struct pawl_diag *diag);
    /* Begin a transaction that other processes' migrations wait for, and make the table. */
    enum pawl_err (*begin)(void *conn, struct pawl_diag *diag);
    enum pawl_err (*run)(void *conn, const char *text, struct pawl_diag *diag);
    enum pawl_err (*record)(void *conn, const struct pawl__migration_row *row,
                            struct pawl_diag *diag);
    enum pawl_err (*commit)(void *conn, struct pawl_diag *diag);
    void (*rollback)(void *conn); /* also when nothing has begun */

    const struct pawl__script *script; /* NULL: there is none; else: */
    /* `out` is all zeros; it stays so where nothing is on record. */
    enum pawl_err (*script_get)(void *conn, struct pawl__script_row *out, struct pawl_diag *diag);
    enum pawl_err (*script_put)(void *conn, const struct pawl__script_row *row,
                                struct pawl_diag *diag);
};

void pawl__applied_add(struct pawl__applied *applied, const struct pawl__migration_row *row);

/* What the store has; version 0: there is none, and `script_old` is not known. SCHEMA: it is newer
 * than this program, or not what this program would have made. */
PAWL_MUST_CHECK enum pawl_err pawl__schema_read(const struct pawl__migrator *migrator, void *conn,
                                                struct pawl_schema *out, struct pawl_diag *diag);
/* SCHEMA: "run pawl migrate". */
PAWL_MUST_CHECK enum pawl_err pawl__schema_fail_old(const struct pawl_schema *schema,
                                                    struct pawl_diag *diag);
/* Apply what is missing, and the script if it is old. SCHEMA, as above. */
PAWL_MUST_CHECK enum pawl_err pawl__schema_upgrade(const struct pawl__migrator *migrator,
                                                   void *conn, struct pawl_diag *diag);

#endif
