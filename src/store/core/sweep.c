/* What time does to jobs: those that are due become available, leases end (finish.c has the rule),
 * and jobs that were not started in time expire. Each sweep takes a bounded number, oldest first,
 * and says when the next one is due. */
#include "store/core/set.h"

/* Plain jobs that are due may be promoted by the backend, without being read. */
static enum pawl_err find(struct pawl__set *set, struct pawl__op *op, enum pawl__due what,
                          int64_t limit, struct pawl_job_id *ids, size_t *count)
{
    const struct pawl__quick *quick = pawl__core_quick(set->table);
    struct pawl__backend *backend = set->backend;
    if (what != PAWL__DUE_RUN || !quick->promote_plain) {
        return set->table->scan_due(backend, what, limit, ids, count, &op->sweep.more);
    }
    return quick->promote_plain(backend, limit, ids, count, &op->sweep.moved, &op->sweep.more);
}

static enum pawl_err scan(struct pawl__set *set, struct pawl__op *op, enum pawl__due what,
                          uint8_t need)
{
    int64_t limit = op->sweep.limit < PAWL__MAINTENANCE_MAX ? op->sweep.limit
                                                            : PAWL__MAINTENANCE_MAX;
    struct pawl_job_id *ids = pawl__arena_alloc(&op->arena, (size_t)(limit + 1) * sizeof *ids);
    size_t count = 0;
    op->sweep.moved = op->sweep.next_at_ms = 0;
    op->sweep.more = false;
    if (!ids) {
        set->failed = true;
        return PAWL_OK;
    }
    enum pawl_err err = find(set, op, what, limit, ids, &count);
    for (size_t i = 0; !err && i < count; i++) {
        pawl__set_scanned(set, ids[i], need);
    }
    return err;
}

/* What the lifecycle refuses was found and has moved on. */
static enum pawl_err move_due(struct pawl__set *set, struct pawl__op *op, struct pawl__row *row,
                              enum pawl_event event, const struct pawl__target *target)
{
    enum pawl_err err = pawl__row_move(set, row, &event, 1, target);
    op->sweep.moved += !err;
    return err == PAWL_ERR_STATE ? PAWL_OK : err;
}

/* ---- due jobs ---- */

enum pawl_err pawl__scan_promote(struct pawl__set *set, struct pawl__op *op)
{
    return scan(set, op, PAWL__DUE_RUN, PAWL__NEED_RUN | PAWL__NEED_FACTS | PAWL__NEED_STAND);
}

/* `moved` counts those already that became available without this. */
enum pawl_err pawl__rule_promote(struct pawl__set *set, struct pawl__op *op)
{
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < set->scanned_count; i++) {
        struct pawl__row *row = set->scanned[i];
        if (row->found != PAWL__FOUND_LIVE || row->due_at_ms > set->now_ms) continue;
        err = move_due(set, op, row, PAWL_EVENT_DUE, &(struct pawl__target){ 0 });
    }
    return err;
}

enum pawl_err pawl__after_promote(struct pawl__set *set, struct pawl__op *op)
{
    return set->table->next_due(set->backend, PAWL__DUE_RUN, &op->sweep.next_at_ms);
}

/* ---- leases ---- */

enum pawl_err pawl__scan_lapse(struct pawl__set *set, struct pawl__op *op)
{
    return scan(set, op, PAWL__DUE_LEASE, PAWL__NEED_RUN | PAWL__NEED_FACTS | PAWL__NEED_CRASHES);
}

enum pawl_err pawl__after_lapse(struct pawl__set *set, struct pawl__op *op)
{
    return set->table->next_due(set->backend, PAWL__DUE_LEASE, &op->sweep.next_at_ms);
}

/* ---- time to live ---- */

enum pawl_err pawl__scan_expire(struct pawl__set *set, struct pawl__op *op)
{
    return scan(set, op, PAWL__DUE_EXPIRY, PAWL__NEED_RUN | PAWL__NEED_FACTS);
}

const struct pawl__target pawl__expired = { .reason = "expired before it could run" };

/* A job that runs just now is asked again when it comes back, one that is paused when it is
 * resumed; one that has ended, or was revived, is not concerned. */
enum pawl_err pawl__rule_expire(struct pawl__set *set, struct pawl__op *op)
{
    enum pawl_err err = PAWL_OK;
    op->sweep.moved = 0;
    for (size_t i = 0; !err && i < set->scanned_count; i++) {
        struct pawl__row *row = set->scanned[i];
        bool over = row->expires_at_ms && row->expires_at_ms <= set->now_ms;
        if (row->found != PAWL__FOUND_LIVE || !over) continue;
        err = move_due(set, op, row, PAWL_EVENT_EXPIRE, &pawl__expired);
    }
    return err;
}

enum pawl_err pawl__after_expire(struct pawl__set *set, struct pawl__op *op)
{
    enum pawl_err err = set->table->forget_keys(set->backend, PAWL__MAINTENANCE_MAX);
    if (err) return err;
    return set->table->next_due(set->backend, PAWL__DUE_EXPIRY, &op->sweep.next_at_ms);
}
