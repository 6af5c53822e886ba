/* What time does to jobs: leases end (finish.c has the rule), and jobs that were not started in
 * time expire. Each sweep takes a bounded number, oldest first, and says when the next one is due.
 */
#include "store/core/set.h"

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
    enum pawl_err err =
        set->table->scan_due(set->backend, what, limit, ids, &count, &op->sweep.more);
    for (size_t i = 0; !err && i < count; i++) {
        pawl__set_scanned(set, ids[i], need);
    }
    return err;
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

/* A job that runs just now is asked again when it comes back, one that is paused when it is
 * resumed; one that has ended, or was revived, is not concerned. */
enum pawl_err pawl__rule_expire(struct pawl__set *set, struct pawl__op *op)
{
    static const enum pawl_event expire[] = { PAWL_EVENT_EXPIRE };
    static const struct pawl__target target = { .reason = "expired before it could run" };
    op->sweep.moved = 0;
    for (size_t i = 0; i < set->scanned_count; i++) {
        struct pawl__row *row = set->scanned[i];
        bool over = row->expires_at_ms && row->expires_at_ms <= set->now_ms;
        if (row->found != PAWL__FOUND_LIVE || !over) continue;
        enum pawl_err err = pawl__row_move(set, row, expire, 1, &target);
        if (err && err != PAWL_ERR_STATE) return err;
        op->sweep.moved += !err;
    }
    return PAWL_OK;
}

enum pawl_err pawl__after_expire(struct pawl__set *set, struct pawl__op *op)
{
    enum pawl_err err = set->table->forget_keys(set->backend, PAWL__MAINTENANCE_MAX);
    if (err) return err;
    return set->table->next_due(set->backend, PAWL__DUE_EXPIRY, &op->sweep.next_at_ms);
}
