/* Operations on the whole store: backup, check, schema, and one bounded round of maintenance. */
#include "api/api.h"
#include "api/check.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/sync.h"

#include <assert.h>
#include <string.h>

#define DAY_MS INT64_C(86400000)
#define ARCHIVE_AFTER_DEFAULT_MS (7 * DAY_MS)
#define PURGE_AFTER_DEFAULT_MS (90 * DAY_MS)

enum pawl_err pawl_backup(struct pawl *pawl, const char *path, pawl_progress_fn *progress,
                          void *ctx, struct pawl_diag *diag)
{
    assert(pawl);
    if (!path || !path[0]) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "path", "path must not be empty");
    }
    return pawl__store_backup(pawl->store, path, progress, ctx, diag);
}

static void report_nobody(void *ctx, const char *finding)
{
    (void)ctx;
    (void)finding;
}

enum pawl_err pawl_check(struct pawl *pawl, pawl_finding_fn *report, void *ctx,
                         struct pawl_diag *diag)
{
    assert(pawl);
    return pawl__store_check(pawl->store, report ? report : report_nobody, ctx, diag);
}

enum pawl_err pawl_schema_get(const struct pawl_config *config, struct pawl_schema *out,
                              struct pawl_diag *diag)
{
    assert(out);
    struct pawl_config complete;
    enum pawl_err err = pawl__config_complete(config, &complete, diag);
    return err ? err : pawl__store_schema(&complete, out, diag);
}

bool pawl_store_kind_of(const char *url, struct pawl_store_kind *out)
{
    const struct pawl__scheme *scheme = pawl__scheme_of(url);
    if (!scheme) return false;
    const char *rest = url + strlen(scheme->scheme);
    bool in_memory = *rest == ':';
    *out = (struct pawl_store_kind){ .name = scheme->name,
                                     .path = scheme->is_file && !in_memory ? rest : NULL,
                                     .served = scheme->served_by != NULL };
    return true;
}

/* ---- maintenance ---- */

enum { TURN_OPS = 9 };

/* Operations that are posted together and awaited together. */
struct turn {
    struct pawl__op ops[TURN_OPS];
    struct pawl_diag diags[TURN_OPS];
    int64_t *moved[TURN_OPS]; /* where the count of each operation is added */
    size_t count;
    struct pawl__mutex mutex;
    struct pawl__cond answered;
    /* guarded by mutex: */
    size_t waiting;
};

static void turn_done(struct pawl__op *op)
{
    struct turn *turn = op->user;
    pawl__lock(&turn->mutex);
    if (--turn->waiting == 0) {
        pawl__cond_signal(&turn->answered); // under the lock: the turn may be freed right after
    }
    pawl__unlock(&turn->mutex);
}

static struct pawl__op *turn_add(struct turn *turn, enum pawl__op_kind kind, int64_t *moved)
{
    assert(turn->count < TURN_OPS);
    struct pawl__op *op = &turn->ops[turn->count];
    op->kind = kind;
    op->diag = &turn->diags[turn->count];
    op->done = turn_done;
    op->user = turn;
    turn->moved[turn->count] = moved;
    if (turn->count) turn->ops[turn->count - 1].next = op;
    turn->count++;
    return op;
}

static void turn_sweep(struct turn *turn, enum pawl__op_kind kind, int64_t *moved)
{
    turn_add(turn, kind, moved)->sweep.limit = PAWL__MAINTENANCE_MAX;
}

static void turn_retire(struct turn *turn, enum pawl__op_kind kind, int64_t age_ms, int64_t *moved)
{
    struct pawl__op *op = turn_add(turn, kind, moved);
    op->retire.states = pawl__states_known & ~pawl__states_live;
    op->retire.age_ms = age_ms;
    op->retire.limit = PAWL__MAINTENANCE_MAX;
}

static void turn_run(struct turn *turn, struct pawl__store *store)
{
    pawl__mutex_init(&turn->mutex);
    pawl__cond_init(&turn->answered);
    turn->waiting = turn->count;
    pawl__store_post_list(store, &turn->ops[0]);
    pawl__lock(&turn->mutex);
    while (turn->waiting) {
        pawl__cond_wait(&turn->answered, &turn->mutex);
    }
    pawl__unlock(&turn->mutex);
    pawl__cond_release(&turn->answered);
    pawl__mutex_release(&turn->mutex);
}

/* Collects the counts; returns the first error. `*more`: some did not complete. */
static enum pawl_err turn_end(struct turn *turn, bool *more, struct pawl_diag *diag)
{
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; i < turn->count; i++) {
        struct pawl__op *op = &turn->ops[i];
        bool swept = op->kind != PAWL__OP_ARCHIVE && op->kind != PAWL__OP_PURGE;
        *turn->moved[i] = swept ? op->sweep.moved : op->retire.moved;
        *more |= swept ? op->sweep.more : op->retire.more;
        if (op->err && !err) {
            err = op->err;
            if (diag) *diag = turn->diags[i];
        }
        pawl__arena_release(&op->arena);
    }
    return err;
}

static enum pawl_err complete_retention(const struct pawl_retention *given,
                                        struct pawl_retention *out, struct pawl_diag *diag)
{
    *out = given ? *given : (struct pawl_retention){ .archive_after_ms = 0 };
    if (!out->archive_after_ms) out->archive_after_ms = ARCHIVE_AFTER_DEFAULT_MS;
    if (!out->purge_after_ms) out->purge_after_ms = PURGE_AFTER_DEFAULT_MS;
    if (out->archive_after_ms > PAWL__DURATION_MAX_MS) {
        return pawl__check_time("retention.archive_after_ms", PAWL__TIME_DURATION,
                                out->archive_after_ms, diag);
    }
    if (out->purge_after_ms > PAWL__DURATION_MAX_MS) {
        return pawl__check_time("retention.purge_after_ms", PAWL__TIME_DURATION,
                                out->purge_after_ms, diag);
    }
    return PAWL_OK;
}

enum pawl_err pawl_upkeep_turn(struct pawl *pawl, const struct pawl_retention *retention,
                               struct pawl_upkeep *out, struct pawl_diag *diag)
{
    assert(pawl);
    struct pawl_retention keep;
    struct pawl_upkeep moved = { .promoted = 0 };
    enum pawl_err err = complete_retention(retention, &keep, diag);
    if (err) return err;
    struct turn turn = { .count = 0 };
    int64_t settled;
    turn_sweep(&turn, PAWL__OP_SETTLE, &settled); // first: runs whose end was reported must not
                                                  // lapse
    turn_sweep(&turn, PAWL__OP_FIRE, &moved.fired);
    turn_sweep(&turn, PAWL__OP_PROMOTE, &moved.promoted);
    turn_sweep(&turn, PAWL__OP_LAPSE, &moved.lapsed);
    turn_sweep(&turn, PAWL__OP_EXPIRE, &moved.expired);
    turn_sweep(&turn, PAWL__OP_DEADLINE, &moved.missed);
    if (keep.archive_after_ms > 0) {
        turn_retire(&turn, PAWL__OP_ARCHIVE, keep.archive_after_ms, &moved.archived);
    }
    if (keep.purge_after_ms > 0) {
        turn_retire(&turn, PAWL__OP_PURGE, keep.purge_after_ms, &moved.purged);
    }
    turn_sweep(&turn, PAWL__OP_SETTLE, &settled); // and what the other sweeps deferred
    turn_run(&turn, pawl->store);
    err = turn_end(&turn, &moved.more, diag);
    if (!err && out) *out = moved;
    return err;
}
