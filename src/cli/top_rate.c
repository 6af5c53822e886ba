/* Rates from two readings of the exact counters. Pure. */
#include "cli/top.h"

static int64_t at_least_zero(int64_t value)
{
    return value > 0 ? value : 0;
}

static int64_t all_of(const struct pawl_queue_stats *counts)
{
    int64_t all = counts->archived;
    for (enum pawl_state state = PAWL_STATE_NONE + 1; state < PAWL_STATE_END; state++) {
        all += counts->count[state];
    }
    return all;
}

/* A completed job may have been archived, and the count of the archive does not say how its jobs
 * ended. So all newly archived jobs count as completed, minus the losses of the other end states.
 */
static int64_t completed_in(const int64_t *moved, int64_t archived)
{
    int64_t others = 0;
    for (enum pawl_state state = PAWL_STATE_NONE + 1; state < PAWL_STATE_END; state++) {
        if (!pawl_state_is_terminal(state) || state == PAWL_STATE_COMPLETED) continue;
        others += at_least_zero(-moved[state]);
    }
    archived = at_least_zero(archived);
    if (others > archived) others = archived; // the rest was revived or deleted
    return at_least_zero(moved[PAWL_STATE_COMPLETED] + archived - others);
}

struct pawl__cli_top_rates pawl__cli_top_rates(const struct pawl_queue_stats *before,
                                               const struct pawl_queue_stats *after, int64_t us)
{
    if (us < PAWL__CLI_TOP_RATE_MIN_US) return (struct pawl__cli_top_rates){ .known = false };
    int64_t moved[PAWL_STATE_END] = { 0 };
    for (enum pawl_state state = PAWL_STATE_NONE + 1; state < PAWL_STATE_END; state++) {
        moved[state] = after->count[state] - before->count[state];
    }
    int64_t failed = at_least_zero(moved[PAWL_STATE_RETRYABLE]) +
                     at_least_zero(moved[PAWL_STATE_DISCARDED]);
    double per_s = 1e6 / (double)us;
    return (struct pawl__cli_top_rates){
        .known = true,
        .submitted = (double)at_least_zero(all_of(after) - all_of(before)) * per_s,
        .completed = (double)completed_in(moved, after->archived - before->archived) * per_s,
        .failed = (double)failed * per_s,
    };
}
