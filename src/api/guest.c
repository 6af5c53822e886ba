/* Jobs in an application's own transactions on a SQLite store; the manual is <pawl/sqlite.h>. */
#include <pawl/sqlite.h>

#include "api/check.h"
#include "api/claim.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/rng.h"

#include <assert.h>
#include <pthread.h>
#include <unistd.h>

/* Ids of one process increase, so that jobs of one transaction sort in order of submission. A
 * forked child starts anew, or it would generate its parent's ids again. */
static struct pawl__idgen ids;
static pid_t ids_of;
static pthread_mutex_t ids_mutex = PTHREAD_MUTEX_INITIALIZER;

/* See pawl__idgen_follow. */
static void follow(struct pawl_job_id *id)
{
    pthread_mutex_lock(&ids_mutex);
    if (ids_of != getpid()) {
        pawl__idgen_init(&ids, &pawl__clock_system, pawl__rng_system_seed());
        ids_of = getpid();
    }
    pawl__idgen_follow(&ids, id, 1);
    pthread_mutex_unlock(&ids_mutex);
}

enum pawl_err pawl_submit_sqlite(struct sqlite3 *db, const struct pawl_job_spec *spec,
                                 struct pawl_submitted *out, struct pawl_diag *diag)
{
    assert(db && spec && out);
    struct pawl__intake intake = { .kept.chunks = NULL };
    struct pawl_job_spec checked;
    struct pawl__new_job job = { .spec = NULL };
    enum pawl_err err = pawl__intake_take(&intake, spec, &checked, &job, diag);
    if (!err) {
        if (checked.id) job.arrival = *checked.id;
        follow(&job.arrival);
        job.id = checked.id ? *checked.id : job.arrival;
        struct pawl__op op = { .kind = PAWL__OP_SUBMIT,
                               .submit = { .jobs = &job, .count = 1, .out = out } };
        err = pawl__store_guest(db, &op, diag);
        pawl__arena_release(&op.arena);
    }
    pawl__intake_release(&intake);
    return err;
}

static enum pawl_err visit(struct sqlite3 *db, struct pawl__op *op, struct pawl_diag *diag)
{
    enum pawl_err err = pawl__store_guest(db, op, diag);
    pawl__arena_release(&op->arena);
    return err;
}

enum pawl_err pawl_complete_sqlite(struct sqlite3 *db, const struct pawl_run *run,
                                   struct pawl_span result, struct pawl_diag *diag)
{
    assert(db && run);
    struct pawl__op op = { .diag = diag };
    enum pawl_err err = pawl__complete_op(run, result, &op, diag);
    return err ? err : visit(db, &op, diag);
}

enum pawl_err pawl_fail_sqlite(struct sqlite3 *db, const struct pawl_run *run,
                               const struct pawl_report *report, struct pawl_failed *out,
                               struct pawl_diag *diag)
{
    assert(db && run && report && out);
    struct pawl__op op = { .diag = diag };
    enum pawl_err err = pawl__fail_op(run, report, &op, diag);
    if (!err) err = visit(db, &op, diag);
    if (!err) *out = pawl__failed_of(&op);
    return err;
}

enum pawl_err pawl_give_back_sqlite(struct sqlite3 *db, const struct pawl_run *run,
                                    int64_t delay_ms, struct pawl_diag *diag)
{
    assert(db && run);
    struct pawl__op op = { .diag = diag };
    enum pawl_err err = pawl__give_back_op(run, delay_ms, &op, diag);
    return err ? err : visit(db, &op, diag);
}
