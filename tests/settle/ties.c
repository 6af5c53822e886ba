/* The rules of the ties. WATCH: the end of a job decides about the job whose id comes next. After a
 * success that one is activated, after anything else it is cancelled. ECHO: each move of the job is
 * an entry of its audit trail. DOUBT: nothing follows as long as the next job has not ended, which
 * is looked at last. GRAFT: the job whose id comes next has ECHO from then on. */
#include "settle/watch.h"

#include "store/core/settle.h"

static void want_next(struct pawl__set *set, const struct pawl__unsettled *move)
{
    pawl__set_want(set, watch_next(move->id), PAWL__NEED_RUN | PAWL__NEED_FACTS | PAWL__NEED_STAND);
}

static bool follow_end(struct pawl__set *set, const struct pawl__unsettled *move)
{
    struct pawl__row *next = pawl__set_find(set, watch_next(move->id));
    bool good = move->to == PAWL_STATE_COMPLETED || move->to == PAWL_STATE_SKIPPED;
    if (!pawl_state_is_terminal(move->to) || !next) return true;
    if (next->found == PAWL__FOUND_HELD) return false;
    if (next->found != PAWL__FOUND_LIVE || pawl_state_is_terminal(next->state)) return true;
    if (good && next->state != PAWL_STATE_PENDING) return true;
    enum pawl_event event = good ? PAWL_EVENT_ACTIVATE : PAWL_EVENT_CANCEL;
    return !pawl__row_move(set, next, &event, 1,
                           &(struct pawl__target){ .reason = good ? NULL : "it watched in vain" });
}

static void want_nothing(struct pawl__set *set, const struct pawl__unsettled *move)
{
    (void)set, (void)move;
}

static bool say_move(struct pawl__set *set, const struct pawl__unsettled *move)
{
    pawl__set_put(set, PAWL__TABLE_AUDIT,
                  &(struct pawl__audit){ .at_ms = set->now_ms,
                                         .id = move->id,
                                         .action = "echo",
                                         .actor = "",
                                         .reason = "",
                                         .from = move->from,
                                         .to = move->to });
    return true;
}

static bool doubt(struct pawl__set *set, const struct pawl__unsettled *move)
{
    const struct pawl__row *next =
        pawl__set_want(set, watch_next(move->id), PAWL__NEED_RUN | PAWL__NEED_STAND);
    return next && next->found == PAWL__FOUND_LIVE && pawl_state_is_terminal(next->state);
}

static bool graft(struct pawl__set *set, const struct pawl__unsettled *move)
{
    struct pawl__row *next = pawl__set_find(set, watch_next(move->id));
    if (next->found == PAWL__FOUND_HELD) return false;
    if (next->found == PAWL__FOUND_LIVE) pawl__row_tie(set, next, next->ties | PAWL__TIE_ECHO);
    return true;
}

const struct pawl__tie pawl__tie_GRAFT = { .want = want_next, .follow = graft };
const struct pawl__tie pawl__tie_DOUBT = { .want = want_nothing, .follow = doubt };
const struct pawl__tie pawl__tie_ECHO = { .want = want_nothing, .follow = say_move };
const struct pawl__tie pawl__tie_WATCH = { .want = want_next, .follow = follow_end };
