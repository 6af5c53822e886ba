/* Jobs in the transactions of an application that keeps its own tables in the same PostgreSQL
 * database as the store: a job is submitted, or finished, together with what the application
 * writes, or not at all. These functions are in a separate library, libpawl-pq (pkg-config:
 * pawl-pq), so that libpawl does not need libpq.
 *
 * `pg` is the application's own connection (PGconn *), not in pipeline mode, with the store's
 * schema on its search path. The changes belong to the transaction that is open there. Without one,
 * each call commits by itself. The functions call the SQL functions described in docs/sql.md, for
 * which the application's role needs pawl_grant.
 *
 * Rules and errors are as in <pawl/pawl.h> unless said otherwise. Hooks are not called: there is no
 * struct pawl. The functions run on the caller's thread, which has exclusive use of `pg`, and take
 * one round trip each.
 *
 * Errors of all functions: NOT_FOUND with the field "store": no store on the search path has these
 * functions. BUSY: a lock, a deadlock, or a transaction that must be retried. IO: the connection.
 * After an error of the server the transaction is aborted, as always in PostgreSQL; set a savepoint
 * before the call to be able to continue. Invalid arguments (ARG, LIMIT) are found before anything
 * is sent. */
#ifndef PAWL_PQ_H
#define PAWL_PQ_H

#include <pawl/job.h>
#include <pawl/remote.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

struct pg_conn;

/* See pawl_submit. A job with a unique policy is pending when the transaction commits. A node
 * decides a moment later whether another job holds its unique key: either the job takes the key,
 * and gets the state that it would have had, or it is cancelled and the reason says why. Therefore
 * `replaced` is never set, and `deduplicated` only for an idempotency key. ARG, LIMIT, EXISTS,
 * DUPLICATE. UNSUPPORTED: a job with an idempotency or business key in a transaction that is
 * REPEATABLE READ or SERIALIZABLE, which would not see keys that were taken in the meantime; or
 * JSON that PostgreSQL cannot read. */
PAWL_MUST_CHECK enum pawl_err pawl_submit_pq(struct pg_conn *pg, const struct pawl_job_spec *spec,
                                             struct pawl_submitted *out, struct pawl_diag *diag);
/* See pawl_complete. The job's row is locked until the transaction ends, and heartbeats of its
 * owner wait for it: commit soon. STALE, NOT_FOUND, ARG, LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl_complete_pq(struct pg_conn *pg, const struct pawl_run *run,
                                               struct pawl_span result, struct pawl_diag *diag);
/* See pawl_fail; the row is locked as above. The run is over when the transaction commits. A node
 * decides the job's next state a moment later, so it is not returned here. STALE, NOT_FOUND, ARG,
 * LIMIT. UNSUPPORTED: `lapse`, which only a server sets; pawl_give_back_pq returns a job. */
PAWL_MUST_CHECK enum pawl_err pawl_fail_pq(struct pg_conn *pg, const struct pawl_run *run,
                                           const struct pawl_report *report,
                                           struct pawl_diag *diag);
/* See pawl_give_back; the row is locked as above. With a delay, a node decides the next state, as
 * for pawl_fail_pq. STALE, NOT_FOUND, ARG. */
PAWL_MUST_CHECK enum pawl_err pawl_give_back_pq(struct pg_conn *pg, const struct pawl_run *run,
                                                int64_t delay_ms, struct pawl_diag *diag);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
