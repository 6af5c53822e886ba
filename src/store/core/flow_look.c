/* Is a node to be released, or to be given up? See flow.h. */
#include "store/core/flow_inside.h"

#include <assert.h>

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
    if (books->flow->row.flow.state == PAWL_FLOW_CANCELLED) {
        return (struct decision){ PAWL__FLOW_CANCEL, "flow_cancelled" };
    }
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
    const struct pawl__flow_node *node = &books->node->row.flow_node;
    assert(books->edges); // find_books asks for those of a group
    for (const struct pawl__record *edge = books->edges->first; edge; edge = edge->next) {
        const struct pawl__flow_edge *row = &edge->row.flow_edge;
        const struct pawl__record *child = pawl__flow_node_of(set, row->flow, row->child);
        if (row->on == PAWL__FLOW_ON_MEMBER && child)
            pawl__flow_note_look(set, &child->row.flow_node);
    }
    if (books->members && pawl__flow_is_over(books->members))
        pawl__flow_note(set, node, PAWL_STATE_COMPLETED);
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

void pawl__flow_look(struct pawl__set *set, struct pawl__flow_books *books)
{
    if (books->node->row.flow_node.state != PAWL_STATE_PENDING) { // it was decided before
        pawl__flow_node_due(set, books);
        return;
    }
    struct decision decision = decide(books);
    if (decision.step == PAWL__FLOW_WAIT) return;
    if (decision.step == PAWL__FLOW_RUN) release(set, books);
    if (decision.step != PAWL__FLOW_RUN) give_up(set, books, decision);
}
