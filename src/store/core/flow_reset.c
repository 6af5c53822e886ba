/* Nodes that have ended begin anew: a retry, a resume, or the revival of one job.
 *
 * 1. What ran and ended well stays as it is, with its verdicts. A node that begins anew takes its
 *    own verdicts back, and with it begin those below that were given up without running.
 * 2. Counters stay sums: a node is counted out of its group, and its edges out of the nodes that
 *    they lead to.
 * 3. While there are nodes that are yet to begin anew, which `resets` of the flow counts, none is
 *    released and no group ends. The last of them has all nodes of the flow looked at. */
#include "store/core/flow_inside.h"
#include "store/core/keys.h"

#include <assert.h>
#include <string.h>

void pawl__flow_count_reset(struct pawl__set *set, struct pawl__record *flow, int32_t by)
{
    struct pawl__flow *row = &flow->row.flow;
    assert(row->resets + by >= 0);
    row->resets += by;
    flow->changed = true;
    if (by < 0 && !row->resets) {
        pawl__flow_note_walk(set, row->id, NULL, PAWL__FLOW_ACT_WALK_LOOK);
    }
}

static void note_reset(struct pawl__set *set, struct pawl__flow_books *books,
                       const struct pawl__flow_node *node, enum pawl__flow_act act)
{
    pawl__flow_note_act(set, node, act);
    pawl__flow_count_reset(set, books->flow, 1);
}

/* ---- the books ---- */

static void count_out(struct pawl__flow_node *child, int32_t verdict)
{
    child->pending++;
    child->good -= verdict == PAWL__FLOW_GOOD;
    child->dead -= verdict == PAWL__FLOW_DEAD;
    child->broken -= verdict == PAWL__FLOW_BROKEN;
    if (!child->broken) child->blame = 0;
}

/* Members of a group that is open again are reset by themselves. */
static void take_back(struct pawl__set *set, struct pawl__flow_books *books,
                      enum pawl__flow_act below)
{
    bool closed = books->node->row.flow_node.state == PAWL_STATE_PENDING;
    for (struct pawl__record *edge = books->edges->first; edge; edge = edge->next) {
        struct pawl__flow_edge *row = &edge->row.flow_edge;
        struct pawl__record *child = pawl__flow_node_of(set, row->flow, row->child);
        bool is_member = row->on == PAWL__FLOW_ON_MEMBER;
        if (!child || !(is_member ? closed : row->verdict)) continue;
        if (!is_member) {
            count_out(&child->row.flow_node, row->verdict);
            row->verdict = PAWL__FLOW_UNJUDGED;
            row->reason = NULL;
            child->changed = edge->changed = true;
        }
        bool again = below == PAWL__FLOW_ACT_RESET_BELOW || child->row.flow_node.given_up;
        bool ended = pawl_state_is_terminal((enum pawl_state)child->row.flow_node.state);
        if (again && ended) note_reset(set, books, &child->row.flow_node, below);
    }
}

static void begin(struct pawl__set *set, struct pawl__flow_books *books, enum pawl_state as,
                  enum pawl__flow_act below)
{
    struct pawl__flow_node *node = &books->node->row.flow_node;
    const struct pawl__flow_node *above = books->above ? &books->above->row.flow_node : NULL;
    pawl__flow_count(books->group, node, (enum pawl_state)node->state, -1);
    if (pawl__flow_is_work(node)) {
        pawl__flow_count(books->work, node, (enum pawl_state)node->state, -1);
    }
    node->state = (int32_t)as;
    node->given_up = 0;
    node->finished_at_ms = 0;
    node->reason = NULL;
    node->result = (struct pawl_span){ NULL, 0 };
    books->node->changed = true;
    if (books->signal) pawl__flow_signal_reset(books);
    if (books->members) {
        books->members->row.flow_group.halted = PAWL__FLOW_GOES_ON;
        books->members->row.flow_group.spoilt = 0;
        books->members->changed = true;
    }
    take_back(set, books, below);
    if (above && pawl_state_is_terminal((enum pawl_state)above->state)) {
        note_reset(set, books, above, PAWL__FLOW_ACT_REOPEN);
    }
}

/* ---- its job ---- */

/* NULL: it has none, or that has not ended. */
static struct pawl__row *ended_job(const struct pawl__set *set, const struct pawl__flow_node *node)
{
    struct pawl__row *row = pawl__set_find(set, node->id);
    return row && row->found == PAWL__FOUND_LIVE && row->has_end ? row : NULL;
}

/* Does another transaction have one of its keys, or a job that holds one? */
static bool keys_are_held(const struct pawl__set *set, const struct pawl__row *row)
{
    for (size_t at = 0; at + PAWL__KEY_RECORD_BYTES <= row->keys.len;
         at += PAWL__KEY_RECORD_BYTES) {
        const struct pawl__set_key *key =
            pawl__set_find_key(set, (const uint8_t *)row->keys.at + at + 1);
        if (key && key->held) return true;
        for (size_t i = 0; key && i < key->count; i++) {
            const struct pawl__row *holder = pawl__set_find(set, key->holders[i].id);
            if (holder && holder->found == PAWL__FOUND_HELD) return true;
        }
    }
    return false;
}

/* False: another job has its key. */
static bool reset_job(struct pawl__set *set, struct pawl__row *row)
{
    static const enum pawl_event events[] = { PAWL_EVENT_RESUME, PAWL_EVENT_RESET };
    bool paused = row->state == PAWL_STATE_PAUSED;
    pawl__set_mark(set);
    if (pawl__keys_ask_back(set, row, NULL)) {
        pawl__set_undo(set);
        return false;
    }
    pawl__set_keep(set);
    pawl__keys_take_back(set, row);
    pawl__row_begin_anew(row);
    enum pawl_err err = pawl__row_move(set, row, paused ? events : &events[1], paused ? 2 : 1,
                                       &(struct pawl__target){ 0 });
    assert(!err);
    (void)err;
    return true;
}

static bool was_cancelled(const struct pawl__row *row, const struct pawl__flow_node *node)
{
    const char *reason = node->kind == PAWL_FLOW_KIND_JOB ? row->end_reason : node->reason;
    return reason && strcmp(reason, PAWL__FLOW_CANCELLED_REASON) == 0;
}

/* ---- one node ---- */

void pawl__flow_want_reset(struct pawl__set *set, const struct pawl__flow_books *books)
{
    const struct pawl__flow_node *node = &books->node->row.flow_node;
    if (node->kind != PAWL_FLOW_KIND_JOB) return;
    const struct pawl__row *row =
        pawl__set_want(set, node->id, PAWL__FLOW_NEED | PAWL__NEED_KEYS | PAWL__NEED_HOLDERS);
    bool ended = row && row->found == PAWL__FOUND_LIVE && row->has_end;
    if (ended) pawl__keys_want(set, row->keys);
}

/* Its group may not have been opened; then it is as the group. */
static enum pawl_state state_of(const struct pawl__flow_node *node, enum pawl__flow_act act)
{
    bool opened = act == PAWL__FLOW_ACT_REOPEN && !node->given_up;
    return opened ? PAWL_STATE_ACTIVE : PAWL_STATE_PENDING;
}

bool pawl__flow_reset(struct pawl__set *set, struct pawl__flow_books *books,
                      enum pawl__flow_act act)
{
    const struct pawl__flow_node *node = &books->node->row.flow_node;
    struct pawl__row *row = NULL;
    enum pawl__flow_act below = act == PAWL__FLOW_ACT_RESET_BELOW ? PAWL__FLOW_ACT_RESET_BELOW
                                                                  : PAWL__FLOW_ACT_RESET_GIVEN_UP;
    bool again = pawl_state_is_terminal((enum pawl_state)node->state) &&
                 books->flow->row.flow.state != PAWL_FLOW_CANCELLED;
    if (act == PAWL__FLOW_ACT_RESET_GIVEN_UP) again &= node->given_up;
    if (again && node->kind == PAWL_FLOW_KIND_JOB) {
        row = ended_job(set, node);
        again = row;
    }
    if (again && act == PAWL__FLOW_ACT_RESET_CANCELLED) again = was_cancelled(row, node);
    if (again && row && keys_are_held(set, row)) return false;
    if (again && row) again = reset_job(set, row);
    if (again) begin(set, books, state_of(node, act), below);
    pawl__flow_count_reset(set, books->flow, -1);
    return true;
}

/* It is available already, whatever its edges say. */
void pawl__flow_revived(struct pawl__set *set, struct pawl__flow_books *books)
{
    struct pawl__flow *flow = &books->flow->row.flow;
    const struct pawl__flow_node *node = &books->node->row.flow_node;
    if (!pawl_state_is_terminal((enum pawl_state)node->state)) return;
    if (flow->finished_at_ms) {
        flow->finished_at_ms = 0;
        flow->state = PAWL_FLOW_RUNNING;
        flow->reopened++;
        books->flow->changed = true;
        pawl__flow_touch(set, books->flow);
    }
    begin(set, books, PAWL_STATE_ACTIVE, PAWL__FLOW_ACT_RESET_GIVEN_UP);
    const struct pawl__row *row = pawl__set_find(set, node->id);
    bool ended = row && row->found == PAWL__FOUND_LIVE && pawl_state_is_terminal(row->state);
    if (ended) pawl__flow_note(set, node, row->state); // while this was put off
    pawl__flow_note_look(set, node);                   // its flow may be paused
}
