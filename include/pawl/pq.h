/* Jobs in the transactions of an application that keeps its own tables beside the store in
 * PostgreSQL: a job is submitted, or finished, together with what the application writes, or not at
 * all. In a library of its own, libpawl-pq (pkg-config: pawl-pq), for libpawl does not need libpq.
 *
 * `pg` is the application's own connection (PGconn *), not in pipeline mode, with the store's
 * schema on its search path. What these functions do belongs to the transaction that is open there.
 * Without one each commits by itself. They call the functions that docs/sql.md describes, for which
 * the application's role needs pawl_grant.
 *
 * Everything is as in <pawl/pawl.h> but where it says otherwise: the same rules, the same errors.
 * Hooks are not called: there is no struct pawl. On the caller's thread, which has `pg` for itself;
 * one round trip each.
 * Errors of all: NOT_FOUND with the field "store": there is no store on the search path that has
 * these functions. BUSY: a lock, a deadlock, or a transaction that has to be tried again. IO: the
 * connection. After an error of the server the transaction is aborted, as always in PostgreSQL; put
 * a savepoint before the call to go on. What breaks a rule of the library (ARG, LIMIT) is found
 * before anything is sent. */
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

/* See pawl_submit. A job with a unique policy is pending when the transaction commits. Whether
 * another job holds its unique key is decided by a node a moment later: then it takes the key, and
 * becomes what it would have been, or it is cancelled and the reason says why. So `replaced` is
 * never told, and `deduplicated` only of an idempotency key. ARG, LIMIT, EXISTS, DUPLICATE.
 * UNSUPPORTED: a job with an idempotency or business key in a transaction that is REPEATABLE READ
 * or SERIALIZABLE, which would not see who took them meanwhile; or JSON that PostgreSQL cannot
 * read. */
PAWL_MUST_CHECK enum pawl_err pawl_submit_pq(struct pg_conn *pg, const struct pawl_job_spec *spec,
                                             struct pawl_submitted *out, struct pawl_diag *diag);
/* See pawl_complete. The job's row is locked until the transaction ends, and heartbeats of its
 * owner wait for it: commit soon. STALE, NOT_FOUND, ARG, LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl_complete_pq(struct pg_conn *pg, const struct pawl_run *run,
                                               struct pawl_span result, struct pawl_diag *diag);
/* See pawl_fail; the row as above. The run is over for everybody when the transaction commits; what
 * follows is decided by a node a moment later, so there is nothing to tell about that here. STALE,
 * NOT_FOUND, ARG, LIMIT. UNSUPPORTED: `lapse`, which only a server sets; pawl_give_back_pq returns
 * a job. */
PAWL_MUST_CHECK enum pawl_err pawl_fail_pq(struct pg_conn *pg, const struct pawl_run *run,
                                           const struct pawl_report *report,
                                           struct pawl_diag *diag);
/* See pawl_give_back; the row as above. With a delay, what follows is decided as for pawl_fail_pq.
 * STALE, NOT_FOUND, ARG. */
PAWL_MUST_CHECK enum pawl_err pawl_give_back_pq(struct pg_conn *pg, const struct pawl_run *run,
                                                int64_t delay_ms, struct pawl_diag *diag);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
