/* Jobs that have ended: to the archive, and out of it, a bounded number at a time. */
#include "store/core/flow.h"
#include "store/core/set.h"

/* The locks that keep nodes from retiring jobs all at once. */
#define LOCK_ARCHIVE "upkeep.archive"
#define LOCK_PURGE "upkeep.purge"

/* Is it this operation's turn? The next one need not look before the pause is over, and none waits
 * for one that is under way: its node may be suspended. */
static enum pawl_err take_turn(struct pawl__set *set, const struct pawl__op *op, bool *ours)
{
    *ours = true;
    if (!op->retire.owner) return PAWL_OK;
    const char *name = op->kind == PAWL__OP_PURGE ? LOCK_PURGE : LOCK_ARCHIVE;
    struct pawl__record *turn =
        pawl__set_want_record(set, PAWL__RECORD_TURN, &(struct pawl__lock){ .name = name });
    enum pawl_err err = pawl__set_load(set, true);
    if (err) return err;
    *ours = !turn->of->held && pawl__lock_take(set, turn, op->retire.owner, op->retire.pause_ms);
    return PAWL_OK;
}

static enum pawl_err scan_state(struct pawl__set *set, struct pawl__op *op, enum pawl_state state,
                                int64_t limit)
{
    struct pawl__ended what = { .archived = op->kind == PAWL__OP_PURGE,
                                .state = state,
                                .before_ms = set->now_ms - op->retire.age_ms,
                                .limit = limit,
                                .kept_until_ms = set->now_ms };
    size_t before = set->scanned_count;
    bool more = false;
    enum pawl_err err = set->table->scan_ended(set->backend, &what, &more);
    bool full = (int64_t)(set->scanned_count - before) >= limit;
    op->retire.more |= more || full;
    return err;
}

enum pawl_err pawl__scan_retire(struct pawl__set *set, struct pawl__op *op)
{
    int64_t limit = op->retire.limit < PAWL__MAINTENANCE_MAX ? op->retire.limit
                                                             : PAWL__MAINTENANCE_MAX;
    op->retire.moved = 0;
    op->retire.more = false;
    bool ours;
    enum pawl_err err = take_turn(set, op, &ours);
    if (err || !ours) return err;
    const uint32_t ended = PAWL_STATE_BIT(PAWL_STATE_END) - PAWL_STATE_BIT(PAWL_STATE_COMPLETED);
    op->retire.flows = (op->retire.states & ended) == ended;
    for (int state = PAWL_STATE_COMPLETED; !err && state < PAWL_STATE_END; state++) {
        int64_t left = limit - (int64_t)set->scanned_count;
        if (left <= 0) break;
        if (!(op->retire.states & PAWL_STATE_BIT(state))) continue;
        err = scan_state(set, op, (enum pawl_state)state, left);
    }
    return err;
}

/* Members of flows go with them, after the jobs of the scan. */
static enum pawl_err retire_flows(struct pawl__set *set, struct pawl__op *op)
{
    int64_t left = PAWL__MAINTENANCE_MAX - (int64_t)set->scanned_count;
    if (op->retire.limit - (int64_t)set->scanned_count < left) {
        left = op->retire.limit - (int64_t)set->scanned_count;
    }
    return op->retire.flows && left > 0 ? pawl__flow_retire(set, op, left) : PAWL_OK;
}

enum pawl_err pawl__rule_archive(struct pawl__set *set, struct pawl__op *op)
{
    for (size_t i = 0; i < set->scanned_count; i++) {
        pawl__row_archive(set, set->scanned[i]);
    }
    op->retire.moved = (int64_t)set->scanned_count;
    return retire_flows(set, op);
}

enum pawl_err pawl__rule_purge(struct pawl__set *set, struct pawl__op *op)
{
    op->retire.moved = 0;
    for (size_t i = 0; i < set->scanned_count; i++) {
        if (set->scanned[i]->found != PAWL__FOUND_ARCHIVED) continue;
        pawl__row_delete(set, set->scanned[i]);
        op->retire.moved++;
    }
    return retire_flows(set, op);
}
