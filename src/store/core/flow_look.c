/* Is a node to be released, or to be given up? See flow.h. */
#include "store/core/flow_inside.h"

#include <assert.h>
#include <string.h>

static const char *reason_of(enum pawl__flow_step step, const struct pawl__flow_node *node)
{
    static const char *const upstream[PAWL_STATE_END] = {
        [PAWL_STATE_CANCELLED] = "upstream_cancelled",
        [PAWL_STATE_DISCARDED] = "upstream_discarded",
        [PAWL_STATE_EXPIRED] = "upstream_expired",
    };
    if (node->broken && node->blame) return upstream[node->blame];
    return step == PAWL__FLOW_SKIP ? "branch_not_taken" : "group";
}

struct decision {
    enum pawl__flow_step step;
    const char *reason;
};

/* A group's fate is that of all its members that have not been released. */
static struct decision share_fate(const struct pawl__flow_node *above)
{
    bool skipped = above->state == PAWL_STATE_SKIPPED;
    return (struct decision){ skipped ? PAWL__FLOW_SKIP : PAWL__FLOW_CANCEL, "group" };
}

enum pawl__flow_step pawl__flow_step_of(const struct pawl__flow_node *node)
{
    return pawl__flow_decide(
        &(struct pawl__flow_stand){ .join = (enum pawl_flow_join)node->join,
                                    .parent = (enum pawl_flow_parent)node->parent,
                                    .n = node->n,
                                    .pending = node->pending,
                                    .good = node->good,
                                    .dead = node->dead,
                                    .broken = node->broken });
}

static struct decision decide(const struct pawl__flow_books *books)
{
    const struct pawl__flow_node *node = &books->node->row.flow_node;
    const struct pawl__flow_node *above = books->above ? &books->above->row.flow_node : NULL;
    if (books->flow->row.flow.resets) return (struct decision){ PAWL__FLOW_WAIT };
    if (above && above->state == PAWL_STATE_PENDING) return (struct decision){ PAWL__FLOW_WAIT };
    if (above && above->state != PAWL_STATE_ACTIVE) return share_fate(above);
    enum pawl__flow_step step = pawl__flow_step_of(node);
    return (struct decision){ step, reason_of(step, node) };
}

bool pawl__flow_is_held_back(const struct pawl__row *row)
{
    bool waits = row->state == PAWL_STATE_PENDING && !row->lease_until_ms;
    bool paused = row->state == PAWL_STATE_PAUSED && row->paused_from == PAWL_STATE_PENDING;
    return row->found == PAWL__FOUND_LIVE && (waits || paused);
}

/* What counts from the release: its delay, and its time to live. Without a delay it keeps the rank
 * that it was submitted with, so that old flows are finished before new ones begin. */
static void set_due(struct pawl__set *set, struct pawl__row *row,
                    const struct pawl__flow_node *node)
{
    int64_t due_at_ms = row->due_at_ms > set->now_ms ? row->due_at_ms : set->now_ms;
    if (node->delay_ms) {
        due_at_ms = set->now_ms + node->delay_ms;
        row->due_at_ms = due_at_ms;
        row->rank = pawl__row_rank(set, row);
    }
    if (node->lives_ms) row->expires_at_ms = due_at_ms + node->lives_ms;
    if (node->delay_ms || node->lives_ms) row->wrote |= PAWL__WROTE_FACTS;
}

/* A paused one goes where it would be when it is resumed. */
static void release_job(struct pawl__set *set, struct pawl__row *row,
                        const struct pawl__flow_node *node)
{
    if (!row || !pawl__flow_is_held_back(row)) return;
    pawl__row_save(set, row);
    set_due(set, row, node);
    bool waits = row->due_at_ms > set->now_ms;
    const enum pawl_event event[] = { waits ? PAWL_EVENT_SNOOZE : PAWL_EVENT_ACTIVATE };
    if (row->state == PAWL_STATE_PAUSED) {
        row->paused_from = waits ? PAWL_STATE_SCHEDULED : PAWL_STATE_AVAILABLE;
        row->wrote |= PAWL__WROTE_STAND;
        return;
    }
    enum pawl_err err = pawl__row_move(set, row, event, 1, &(struct pawl__target){ 0 });
    assert(!err);
    (void)err;
}

static void open_group(struct pawl__set *set, const struct pawl__flow_books *books)
{
    assert(books->edges); // find_books asks for those of a group
    for (const struct pawl__record *edge = books->edges->first; edge; edge = edge->next) {
        const struct pawl__flow_edge *row = &edge->row.flow_edge;
        const struct pawl__record *child = pawl__flow_node_of(set, row->flow, row->child);
        if (row->on == PAWL__FLOW_ON_MEMBER && child)
            pawl__flow_note_look(set, &child->row.flow_node);
    }
    if (books->members && pawl__flow_is_over(books->members))
        pawl__flow_note_group_end(set, books->node, books->members);
}

static void release(struct pawl__set *set, struct pawl__flow_books *books)
{
    struct pawl__flow_node *node = &books->node->row.flow_node;
    node->state = PAWL_STATE_ACTIVE;
    books->node->changed = true;
    switch (node->kind) {
    case PAWL_FLOW_KIND_JOB:
        release_job(set, pawl__set_find(set, node->id), node);
        break;
    case PAWL_FLOW_KIND_GROUP:
        open_group(set, books);
        break;
    case PAWL_FLOW_KIND_SIGNAL:
        pawl__flow_signal_begin(set, books);
        break;
    default: // it takes no worker
        pawl__flow_note(set, node, PAWL_STATE_COMPLETED);
        break;
    }
}

static const struct {
    enum pawl_event event;
    enum pawl_state state;
} ends[] = {
    [PAWL__FLOW_SKIP] = { PAWL_EVENT_SKIP, PAWL_STATE_SKIPPED },
    [PAWL__FLOW_CANCEL] = { PAWL_EVENT_CANCEL, PAWL_STATE_CANCELLED },
    [PAWL__FLOW_FAIL] = { PAWL_EVENT_FAIL_PARENT, PAWL_STATE_DISCARDED },
};

/* The move is an end, which is followed up in the next round. */
static void give_up_job(struct pawl__set *set, struct pawl__row *row, struct decision decision)
{
    if (!row || !pawl__flow_is_held_back(row)) return;
    const enum pawl_event events[] = { PAWL_EVENT_RESUME, ends[decision.step].event };
    bool paused = row->state == PAWL_STATE_PAUSED;
    struct pawl__target target = { .reason = decision.reason,
                                   .dead_letter = decision.step == PAWL__FLOW_FAIL };
    enum pawl_err err =
        pawl__row_move(set, row, paused ? events : &events[1], paused ? 2 : 1, &target);
    assert(!err);
    (void)err;
}

static void give_up(struct pawl__set *set, struct pawl__flow_books *books, struct decision decision)
{
    struct pawl__flow_node *node = &books->node->row.flow_node;
    node->given_up = 1;
    books->node->changed = true;
    if (node->kind == PAWL_FLOW_KIND_JOB) {
        give_up_job(set, pawl__set_find(set, node->id), decision);
        return;
    }
    node->reason = decision.reason;
    pawl__flow_note(set, node, ends[decision.step].state);
}

static void move_on(struct pawl__set *set, struct pawl__flow_books *books)
{
    struct decision decision = decide(books);
    if (decision.step == PAWL__FLOW_WAIT) return;
    if (decision.step == PAWL__FLOW_RUN) release(set, books);
    if (decision.step != PAWL__FLOW_RUN) give_up(set, books, decision);
}

/* ---- what operators asked for ---- */

void pawl__flow_cancel_job(struct pawl__set *set, struct pawl__row *row, enum pawl__flow_halt halt,
                           const char *reason)
{
    static const enum pawl_event cancel[] = { PAWL_EVENT_CANCEL };
    if (!row || row->found != PAWL__FOUND_LIVE || row->has_end) return;
    bool runs = row->state == PAWL_STATE_ACTIVE;
    if (runs && halt == PAWL__FLOW_DRAINS) return;
    enum pawl_err err =
        pawl__row_move(set, row, cancel, 1, &(struct pawl__target){ .reason = reason });
    assert(!err); // all that has not ended can be cancelled
    (void)err;
    if (runs) pawl__set_control(set);
}

void pawl__flow_halt_group(struct pawl__set *set, struct pawl__flow_books *books,
                           enum pawl__flow_halt halt, const char *reason)
{
    struct pawl__flow_group *members = &books->members->row.flow_group;
    struct pawl__flow_node *node = &books->node->row.flow_node;
    bool goes_on = members->halted < (int32_t)halt;
    if (goes_on) {
        members->halted = (int32_t)halt;
        members->open_ended = 0;
        node->reason = reason;
        books->members->changed = books->node->changed = true;
    }
    if (pawl__flow_is_over(books->members)) {
        bool held = !goes_on && books->flow->row.flow.resets;
        if (!held) pawl__flow_note(set, node, pawl__flow_end_of_group(books->members));
    } else if (goes_on) {
        pawl__flow_note_walk(set, node->flow, node, PAWL__FLOW_ACT_WALK_LOOK);
    }
}

/* Of a group only when it is known whether it begins anew: all nodes are looked at then. */
static enum pawl__flow_halt halt_of(const struct pawl__flow_books *books)
{
    const struct pawl__flow *flow = &books->flow->row.flow;
    if (flow->state == PAWL_FLOW_CANCELLED) {
        return flow->stops ? PAWL__FLOW_STOPS : PAWL__FLOW_DRAINS;
    }
    if (pawl__flow_is_overdue(flow)) return PAWL__FLOW_STOPS;
    if (flow->resets) return PAWL__FLOW_GOES_ON;
    return (enum pawl__flow_halt)books->group->row.flow_group.halted;
}

static const char *stop_reason(const struct pawl__flow_books *books)
{
    const struct pawl__flow *flow = &books->flow->row.flow;
    if (flow->state == PAWL_FLOW_CANCELLED) return PAWL__FLOW_CANCELLED_REASON;
    if (pawl__flow_is_overdue(flow)) return PAWL__FLOW_DEADLINE_REASON;
    const char *spoilt = pawl__flow_spoilt_reason(books->group);
    return spoilt ? spoilt : "group_cancelled";
}

/* Nothing was given up because of other nodes, so all of it begins anew with a retry. A branch or a
 * join that was released ends by itself. */
static void stop(struct pawl__set *set, struct pawl__flow_books *books, enum pawl__flow_halt halt)
{
    struct pawl__flow_node *node = &books->node->row.flow_node;
    const char *reason = stop_reason(books);
    bool waits = node->state == PAWL_STATE_PENDING;
    if (node->kind == PAWL_FLOW_KIND_JOB) {
        pawl__flow_cancel_job(set, pawl__set_find(set, node->id), halt, reason);
    } else if (waits || node->kind == PAWL_FLOW_KIND_SIGNAL) {
        node->reason = reason;
        books->node->changed = true;
        pawl__flow_note(set, node, PAWL_STATE_CANCELLED);
    } else if (node->kind == PAWL_FLOW_KIND_GROUP && books->members) {
        struct pawl__flow_group *members = &books->members->row.flow_group;
        if (!members->spoilt) members->spoilt = books->group->row.flow_group.spoilt;
        pawl__flow_halt_group(set, books, halt, reason);
    }
}

/* One that an operator paused by itself stays so. */
static void follow_pause(struct pawl__set *set, struct pawl__row *row, bool paused)
{
    static const char reason[] = "flow_paused";
    if (!row || row->found != PAWL__FOUND_LIVE || row->has_end) return;
    bool by_flow = row->state == PAWL_STATE_PAUSED && row->reason && !strcmp(row->reason, reason);
    enum pawl_event event = paused ? PAWL_EVENT_PAUSE : PAWL_EVENT_RESUME;
    bool moves = paused ? pawl__lifecycle_next(row->state, event, PAWL_STATE_NONE) : by_flow;
    if (!moves) return;
    const struct pawl__target target = { .reason = paused ? reason : NULL };
    if (pawl__row_move(set, row, &event, 1, &target)) set->failed = true;
}

static void end_if_over(struct pawl__set *set, struct pawl__flow_books *books)
{
    bool held = books->flow->row.flow.resets;
    if (held || !books->members || !pawl__flow_is_over(books->members)) return;
    pawl__flow_note_group_end(set, books->node, books->members);
}

void pawl__flow_look(struct pawl__set *set, struct pawl__flow_books *books)
{
    const struct pawl__flow_node *node = &books->node->row.flow_node;
    enum pawl__flow_halt halt = halt_of(books);
    bool sealed = books->members && !books->members->row.flow_group.open_ended;
    if (sealed && books->timer) pawl__flow_set_timer(set, books->timer, 0);
    if (pawl_state_is_terminal((enum pawl_state)node->state)) {
        pawl__flow_node_due(set, books);
        return;
    }
    if (halt) {
        stop(set, books, halt);
        return;
    }
    bool open = node->state == PAWL_STATE_ACTIVE && node->kind == PAWL_FLOW_KIND_GROUP;
    pawl__flow_node_due(set, books);
    if (node->state == PAWL_STATE_PENDING) move_on(set, books);
    if (open) end_if_over(set, books);
    if (node->kind != PAWL_FLOW_KIND_JOB) return;
    follow_pause(set, pawl__set_find(set, node->id), books->flow->row.flow.paused);
}
