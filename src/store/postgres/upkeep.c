/* Looking for damage; and what to do instead of copying the store to a file.
 *
 * Runs on: the caller's thread, with a connection from the pool. */
#include "store/postgres/postgres.h"

static enum pawl_err run_check(struct pawl__pg_conn *conn, enum pawl__pg sql,
                               pawl_finding_fn *report, void *ctx, int64_t *count,
                               struct pawl_diag *diag)
{
    PGresult *rows;
    pawl__pg_call(conn, sql);
    enum pawl_err err = pawl__pg_ask(conn, &rows, diag);
    for (int i = 0; !err && i < PQntuples(rows); i++) {
        ++*count;
        if (report) report(ctx, pawl__pg_raw(rows, i, 0).at);
    }
    return err;
}

/* The pages are the server's to check (pg_amcheck, data checksums); these are our own invariants.
 */
enum pawl_err pawl__pg_check(struct pawl__backend *pg, pawl_finding_fn *report, void *ctx,
                             struct pawl_diag *diag)
{
    static const enum pawl__pg checks[] = { PG_CHECK_ROLLS, PG_CHECK_ORPHANS, PG_CHECK_FACTS,
                                            PG_CHECK_COUNTS };
    int64_t count = 0;
    struct pawl__pg_conn *conn;
    enum pawl_err err = pawl__pg_read_begin(pg, &conn, diag);
    if (err) return err;
    pawl__pg_say(conn, PG_CONDUCT_CHECK);
    for (size_t i = 0; !err && i < sizeof checks / sizeof *checks && !count; i++) {
        err = run_check(conn, checks[i], report, ctx, &count, diag);
    }
    pawl__pg_read_end(pg, conn);
    if (err || !count) return err;
    return pawl__fail(diag, PAWL_ERR_CORRUPT, "the check found %lld fault%s", (long long)count,
                      count == 1 ? "" : "s");
}

enum pawl_err pawl__pg_backup(struct pawl__backend *pg, const char *path,
                              pawl_progress_fn *progress, void *ctx, struct pawl_diag *diag)
{
    (void)pg;
    (void)path;
    (void)progress;
    (void)ctx;
    return pawl__fail_field(diag, PAWL_ERR_UNSUPPORTED, "store",
                            "a store on PostgreSQL is backed up with PostgreSQL's own tools: use "
                            "pg_dump or pg_basebackup");
}
