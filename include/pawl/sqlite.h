/* Jobs in the transactions of an application that keeps its own tables in the store's file: a job
 * is submitted, or finished, together with what the application writes, or not at all.
 *
 * `db` is the application's own connection, open on the store's file; its tables are in "main". The
 * changes belong to the transaction that is open there. Without one, each call commits by itself. A
 * job that is rolled back is never visible; a commit wakes nodes. Begin with BEGIN IMMEDIATE: a
 * transaction that has read before it writes may be refused (BUSY), as always in SQLite.
 *
 * Rules and errors are as in <pawl/pawl.h> unless said otherwise. Hooks are not called: there is no
 * struct pawl. The functions run on the caller's thread, which has exclusive use of `db`, and must
 * not be called inside a callback of SQLite. While the transaction is open, do not wait for a
 * change made through another connection to the store: it waits for the transaction.
 *
 * Errors of all functions: NOT_FOUND: the database has no store. SCHEMA, BUSY, IO, NOMEM. After an
 * error no change of the call remains; the transaction continues, unless SQLite has ended it
 * (sqlite3_get_autocommit). */
#ifndef PAWL_SQLITE_H
#define PAWL_SQLITE_H

#include <pawl/job.h>
#include <pawl/remote.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

struct sqlite3;

/* See pawl_submit. ARG, LIMIT, EXISTS, DUPLICATE. */
PAWL_MUST_CHECK enum pawl_err pawl_submit_sqlite(struct sqlite3 *db,
                                                 const struct pawl_job_spec *spec,
                                                 struct pawl_submitted *out,
                                                 struct pawl_diag *diag);
/* See pawl_complete. STALE, NOT_FOUND, ARG, LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl_complete_sqlite(struct sqlite3 *db, const struct pawl_run *run,
                                                   struct pawl_span result, struct pawl_diag *diag);
/* See pawl_fail. STALE, NOT_FOUND, ARG, LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl_fail_sqlite(struct sqlite3 *db, const struct pawl_run *run,
                                               const struct pawl_report *report,
                                               struct pawl_failed *out, struct pawl_diag *diag);
/* See pawl_give_back. STALE, NOT_FOUND, ARG. */
PAWL_MUST_CHECK enum pawl_err pawl_give_back_sqlite(struct sqlite3 *db, const struct pawl_run *run,
                                                    int64_t delay_ms, struct pawl_diag *diag);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
