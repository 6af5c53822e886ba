/* See judge.h. */
#include "flow/judge.h"

#include <assert.h>

/* ---- edges ---- */

static bool failed(enum pawl_state ended)
{
    return !pawl_state_is_successful(ended);
}

/* What was skipped takes all ways with it, clean-ups as well: they must not tidy up after work that
 * never began. */
bool pawl__flow_asks(enum pawl_state ended, enum pawl_flow_on on)
{
    if (ended == PAWL_STATE_SKIPPED) return false;
    if (on == PAWL_FLOW_ON_SUCCESS) return !failed(ended);
    return on != PAWL_FLOW_ON_FAILURE || failed(ended);
}

/* An edge for itself. */
static enum pawl__flow_verdict judge_one(enum pawl_state ended, const struct pawl__flow_way *way)
{
    bool asks = pawl__flow_asks(ended, way->on);
    if (asks) return way->when ? PAWL__FLOW_GOOD : PAWL__FLOW_DEAD;
    return way->on == PAWL_FLOW_ON_SUCCESS && failed(ended) ? PAWL__FLOW_BROKEN : PAWL__FLOW_DEAD;
}

static bool is_arm(const struct pawl__flow_way *way)
{
    return way->arm || way->otherwise;
}

/* The good arm with the lowest number. NULL: there is none. */
static const struct pawl__flow_way *first_good(const struct pawl__flow_way *ways, size_t count)
{
    const struct pawl__flow_way *first = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!is_arm(&ways[i]) || ways[i].verdict != PAWL__FLOW_GOOD) continue;
        if (!first || ways[i].arm < first->arm) first = &ways[i];
    }
    return first;
}

/* The default arm is taken when no other one was and the parent is ok; nobody asks its condition.
 */
static void choose(enum pawl_state ended, enum pawl_flow_select select, struct pawl__flow_way *ways,
                   size_t count)
{
    const struct pawl__flow_way *first = first_good(ways, count);
    bool lone = select == PAWL_FLOW_SELECT_FIRST && first;
    for (size_t i = 0; i < count; i++) {
        struct pawl__flow_way *way = &ways[i];
        if (!is_arm(way) || way == first) continue;
        bool takes_over = way->otherwise && !first && ended == PAWL_STATE_COMPLETED;
        if (takes_over) way->verdict = PAWL__FLOW_GOOD;
        if (lone) way->verdict = PAWL__FLOW_DEAD;
    }
}

void pawl__flow_judge(enum pawl_state ended, enum pawl_flow_select select,
                      struct pawl__flow_way *ways, size_t count)
{
    assert(pawl_state_is_terminal(ended));
    bool chooses = select == PAWL_FLOW_SELECT_FIRST || select == PAWL_FLOW_SELECT_ALL;
    for (size_t i = 0; i < count; i++) {
        ways[i].verdict = judge_one(ended, &ways[i]);
        bool waits = chooses && ways[i].otherwise && ways[i].verdict == PAWL__FLOW_GOOD;
        if (waits) ways[i].verdict = PAWL__FLOW_DEAD; // for the others
    }
    if (chooses) choose(ended, select, ways, count);
}

/* ---- nodes ---- */

/* A parent failed, and the rule cannot be met any more. */
static enum pawl__flow_step give_up(const struct pawl__flow_stand *stand)
{
    switch (stand->parent) {
    case PAWL_FLOW_PARENT_FAIL:
        return PAWL__FLOW_FAIL;
    case PAWL_FLOW_PARENT_CANCEL:
        return PAWL__FLOW_CANCEL;
    default:
        return PAWL__FLOW_SKIP;
    }
}

/* Good ways, and those that count as good. */
static int32_t count_live(const struct pawl__flow_stand *stand)
{
    return stand->good + (stand->parent == PAWL_FLOW_PARENT_RUN ? stand->broken : 0);
}

/* How many live ways are enough, without waiting for the others; 0: they are waited for. */
static int32_t count_enough(const struct pawl__flow_stand *stand)
{
    if (stand->join == PAWL_FLOW_JOIN_N) return stand->n;
    return stand->join == PAWL_FLOW_JOIN_ANY ? 1 : 0;
}

enum pawl__flow_step pawl__flow_decide(const struct pawl__flow_stand *stand)
{
    int32_t enough = count_enough(stand), live = count_live(stand);
    bool has_edges = stand->pending || stand->good || stand->dead || stand->broken;
    bool runs_anyway = stand->parent == PAWL_FLOW_PARENT_RUN;
    if (!has_edges || (enough && live >= enough)) return PAWL__FLOW_RUN;
    if (stand->pending) return PAWL__FLOW_WAIT;
    if (stand->broken && (enough || !runs_anyway)) return give_up(stand);
    if (enough) return PAWL__FLOW_SKIP;
    return live || stand->join == PAWL_FLOW_JOIN_EVERY ? PAWL__FLOW_RUN : PAWL__FLOW_SKIP;
}

/* ---- groups ---- */

int64_t *pawl__flow_place(struct pawl__flow_tally *tally, enum pawl_state ended)
{
    switch (ended) {
    case PAWL_STATE_COMPLETED:
        return &tally->completed;
    case PAWL_STATE_SKIPPED:
        return &tally->skipped;
    case PAWL_STATE_CANCELLED:
        return &tally->cancelled;
    default:
        assert(ended == PAWL_STATE_DISCARDED || ended == PAWL_STATE_EXPIRED);
        return &tally->failed;
    }
}

int64_t pawl__flow_open(const struct pawl__flow_tally *tally)
{
    return tally->total - tally->completed - tally->skipped - tally->failed - tally->cancelled;
}

enum pawl_state pawl__flow_group_end(const struct pawl__flow_tally *tally)
{
    assert(!pawl__flow_open(tally));
    if (tally->grave) return PAWL_STATE_DISCARDED;
    bool skipped = tally->total && tally->skipped == tally->total;
    return skipped ? PAWL_STATE_SKIPPED : PAWL_STATE_COMPLETED;
}
