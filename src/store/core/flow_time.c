/* What time does to flows: see flow.h. A timer is an entry in the calendar, no more: whether
 * something is due is asked of the rows of the flow, once those are locked. */
#include "store/core/flow_inside.h"

struct pawl__record *pawl__flow_timer_of(struct pawl__set *set, struct pawl_job_id id)
{
    return pawl__set_want_record(set, PAWL__RECORD_FLOW_TIMER,
                                 &(struct pawl__flow_timer){ .id = id });
}

void pawl__flow_set_timer(struct pawl__set *set, struct pawl__record *timer, int64_t at_ms)
{
    bool same = timer->there ? timer->row.flow_timer.at_ms == at_ms : !at_ms;
    if (same) return;
    timer->there = at_ms != 0;
    timer->row.flow_timer.at_ms = at_ms;
    timer->changed = true;
    if (at_ms) pawl__notices_due(&set->notices, at_ms);
}

/* ---- what is due ---- */

enum pawl_err pawl__flow_scan_due(struct pawl__set *set, int64_t limit, bool *more)
{
    size_t before = set->records.count;
    enum pawl_err err = limit > 0 ? set->table->scan_timers(set->backend, limit) : PAWL_OK;
    for (size_t i = before; !err && i < set->records.count; i++) {
        const struct pawl__flow_timer *timer = &set->records.at[i]->first->row.flow_timer;
        pawl__set_unsettle(set, &(struct pawl__unsettled){ .at_ms = set->now_ms,
                                                           .id = timer->id,
                                                           .ties = PAWL__TIE_FLOW });
    }
    *more = !err && (int64_t)(set->records.count - before) >= limit;
    return err;
}

enum pawl_err pawl__flow_next_due(struct pawl__set *set, int64_t *at_ms)
{
    int64_t next_at_ms;
    enum pawl_err err = set->table->next_timer(set->backend, &next_at_ms);
    bool sooner = !err && next_at_ms && (!*at_ms || next_at_ms < *at_ms);
    if (sooner) *at_ms = next_at_ms;
    return err;
}

void pawl__flow_node_due(struct pawl__set *set, struct pawl__flow_books *books)
{
    const struct pawl__flow_node *node = &books->node->row.flow_node;
    bool active = node->state == PAWL_STATE_ACTIVE;
    bool abandoned = books->members && pawl__flow_is_abandoned(set, books->members);
    if (abandoned) pawl__flow_seal_group(set, books, PAWL__FLOW_ABANDONED);
    if (active && node->kind == PAWL_FLOW_KIND_SIGNAL) pawl__flow_signal_due(set, books);
    bool ended = pawl_state_is_terminal((enum pawl_state)node->state);
    if (ended && books->timer) pawl__flow_set_timer(set, books->timer, 0);
}

/* All that has not ended is cancelled, also what runs; nobody can add to it any more. */
static void check_deadline(struct pawl__set *set, struct pawl__flow_books *books)
{
    struct pawl__flow *flow = &books->flow->row.flow;
    bool over = flow->deadline_at_ms && flow->deadline_at_ms <= set->now_ms;
    if (!over || flow->finished_at_ms) return;
    pawl__flow_set_timer(set, books->clock, 0);
    if (flow->state != PAWL_FLOW_RUNNING) return;
    flow->state = PAWL_FLOW_FAILED;
    flow->reason = PAWL__FLOW_DEADLINE_REASON;
    books->flow->changed = true;
    books->all->row.flow_group.open_ended = 0;
    books->all->row.flow_group.hold_until_ms = 0;
    books->all->changed = true;
    pawl__flow_note_walk(set, flow->id, NULL, PAWL__FLOW_ACT_WALK_LOOK);
}

/* When the timer of a live flow is due next, which may have been set for something that is over. */
static int64_t next_clock(const struct pawl__set *set, const struct pawl__flow_books *books)
{
    const struct pawl__flow *flow = &books->flow->row.flow;
    const struct pawl__flow_group *all = &books->all->row.flow_group;
    int64_t deadline_ms = flow->state == PAWL_FLOW_RUNNING ? flow->deadline_at_ms : 0;
    int64_t hold_ms = all->open_ended ? all->hold_until_ms : 0;
    if (deadline_ms <= set->now_ms) deadline_ms = 0;
    if (hold_ms <= set->now_ms) hold_ms = 0;
    return !deadline_ms || (hold_ms && hold_ms < deadline_ms) ? hold_ms : deadline_ms;
}

/* It is that of no node, so of a flow; or of one that is gone. */
bool pawl__flow_follow_flow(struct pawl__set *set, const struct pawl__unsettled *about)
{
    const struct pawl__record *member = pawl__set_want_record(
        set, PAWL__RECORD_FLOW_MEMBER, &(struct pawl__flow_member){ .id = about->id });
    struct pawl__record *timer = pawl__flow_timer_of(set, about->id);
    if (!member || !timer || pawl__set_lacks(set)) return true;
    if (member->there) return false;
    struct pawl__flow_books books = { .flow = pawl__flow_of(set, about->id), .clock = timer };
    books.all = books.group = pawl__flow_group_of(set, about->id, PAWL__FLOW_ALL);
    if (pawl__set_lacks(set)) return true;
    bool live = books.flow && books.all && !books.flow->row.flow.finished_at_ms;
    bool abandoned = live && pawl__flow_is_abandoned(set, books.all);
    if (!live) pawl__flow_set_timer(set, timer, 0);
    if (abandoned) pawl__flow_seal_flow(set, &books, PAWL__FLOW_ABANDONED);
    if (live) check_deadline(set, &books);
    bool stays_due = live && timer->there && timer->row.flow_timer.at_ms <= set->now_ms;
    if (stays_due) pawl__flow_set_timer(set, timer, next_clock(set, &books));
    return true;
}
