/* Operators cancel, retry, resume and pause flows, groups and nodes.
 *
 * The operation changes the row of the flow, and goes through its first PAWL__FLOW_SLICE nodes,
 * noting what is to be done with each. That is settled behind it in the same transaction, where no
 * job is waited for: whoever waits for the flow may hold jobs. What another transaction has, what
 * is more than PAWL__SETTLE_MAX, and the nodes of the next slice are left in pawl_unsettled. So a
 * flow of up to PAWL__SETTLE_MAX nodes is done with in one transaction, and a longer one takes one
 * more for each slice. What is to be done depends on the flow as it is by then: a look cancels the
 * nodes of a flow that is cancelled, and resumes those of one that is not paused any more. */
#include "store/core/flow_inside.h"

#include "base/diag.h"

#include <assert.h>
#include <string.h>

/* ---- from node to node ---- */

/* One slice of nodes. */
struct walk {
    struct pawl__record *flow;
    const struct pawl__flow_node *group; /* NULL: all nodes of the flow */
    enum pawl__flow_act act;
    int32_t first;
};

static int32_t last_of(const struct walk *walk)
{
    int32_t nodes = walk->flow->row.flow.nodes;
    return nodes - walk->first < PAWL__FLOW_SLICE ? nodes : walk->first + PAWL__FLOW_SLICE - 1;
}

static void want_slice(struct pawl__set *set, const struct walk *walk)
{
    for (int32_t no = walk->first; no <= last_of(walk); no++) {
        (void)pawl__flow_node_of(set, walk->flow->row.flow.id, no);
    }
}

/* A group fails because its members do. */
static bool failed_of_its_own(const struct pawl__flow_node *node)
{
    enum pawl_state state = (enum pawl_state)node->state;
    bool failed = pawl_state_is_terminal(state) && !pawl_state_is_successful(state);
    return failed && !node->given_up && node->kind != PAWL_FLOW_KIND_GROUP;
}

/* NONE: nothing is to be done with it. A look that is none is told by `looks`. */
static enum pawl__flow_act act_on(const struct walk *walk, const struct pawl__flow_node *node)
{
    switch (walk->act) {
    case PAWL__FLOW_ACT_WALK_FAILED:
        return failed_of_its_own(node) ? PAWL__FLOW_ACT_RESET : PAWL__FLOW_ACT_NONE;
    case PAWL__FLOW_ACT_WALK_FAILED_BELOW:
        return failed_of_its_own(node) ? PAWL__FLOW_ACT_RESET_BELOW : PAWL__FLOW_ACT_NONE;
    case PAWL__FLOW_ACT_WALK_CANCELLED:
        return node->state == PAWL_STATE_CANCELLED ? PAWL__FLOW_ACT_RESET_CANCELLED
                                                   : PAWL__FLOW_ACT_NONE;
    default:
        return PAWL__FLOW_ACT_NONE;
    }
}

static bool is_member(const struct walk *walk, const struct pawl__flow_node *node)
{
    return !walk->group || node->group == walk->group->no;
}

static void note_reset(struct pawl__set *set, struct pawl__record *flow,
                       const struct pawl__flow_node *node, enum pawl__flow_act act)
{
    pawl__flow_note_act(set, node, act);
    pawl__flow_count_reset(set, flow, 1);
}

/* Returns how many nodes there was something to do with. */
static int64_t go(struct pawl__set *set, const struct walk *walk)
{
    int64_t count = 0;
    for (int32_t no = walk->first; no <= last_of(walk); no++) {
        const struct pawl__record *record = pawl__flow_node_of(set, walk->flow->row.flow.id, no);
        if (!record || !is_member(walk, &record->row.flow_node)) continue;
        const struct pawl__flow_node *node = &record->row.flow_node;
        bool lives = !pawl_state_is_terminal((enum pawl_state)node->state);
        bool looks = walk->act == PAWL__FLOW_ACT_WALK_LOOK && lives;
        enum pawl__flow_act act = act_on(walk, node);
        if (looks) pawl__flow_note_look(set, node);
        if (act) note_reset(set, walk->flow, node, act);
        count += looks || act;
    }
    return count;
}

/* The next slice is for another transaction. */
static void go_on_later(struct pawl__set *set, const struct walk *walk)
{
    struct pawl_job_id flow = walk->flow->row.flow.id;
    pawl__set_put(set, PAWL__TABLE_UNSETTLED,
                  &(struct pawl__unsettled){ .at_ms = set->now_ms,
                                             .id = walk->group ? walk->group->id : flow,
                                             .ties = PAWL__TIE_FLOW,
                                             .run = walk->act,
                                             .delay_ms = last_of(walk) + 1 });
    pawl__notices_due(&set->notices, set->now_ms); // soon
}

static bool is_last(const struct walk *walk)
{
    return last_of(walk) >= walk->flow->row.flow.nodes;
}

static struct walk walk_of(const struct pawl__unsettled *about,
                           const struct pawl__flow_books *books)
{
    return (struct walk){ .flow = books->flow,
                          .group = books->node ? &books->node->row.flow_node : NULL,
                          .act = (enum pawl__flow_act)about->run,
                          .first = about->delay_ms ? (int32_t)about->delay_ms : 1 };
}

/* All its nodes were looked at: it may be that none of them is left to end. */
static void end_if_over(struct pawl__set *set, struct pawl__flow_books *books)
{
    struct pawl__flow_books whole = {
        .flow = books->flow, .all = books->all, .work = books->work, .group = books->all
    };
    if (!books->flow->row.flow.finished_at_ms) pawl__flow_end_group(set, &whole);
}

static void follow_walk(struct pawl__set *set, const struct pawl__unsettled *about,
                        struct pawl__flow_books *books)
{
    const struct walk walk = walk_of(about, books);
    (void)go(set, &walk);
    if (!is_last(&walk)) {
        go_on_later(set, &walk);
    } else if (walk.act != PAWL__FLOW_ACT_WALK_LOOK) {
        pawl__flow_count_reset(set, books->flow, -1);
    } else if (!walk.group) {
        end_if_over(set, books);
    }
}

/* ---- one node ---- */

static void stop_node(struct pawl__set *set, const struct pawl__unsettled *about,
                      struct pawl__flow_books *books)
{
    struct pawl__flow_node *node = &books->node->row.flow_node;
    enum pawl__flow_halt halt = about->not_retryable ? PAWL__FLOW_DRAINS
                                                     : PAWL__FLOW_STOPS; // of a group
    if (pawl_state_is_terminal((enum pawl_state)node->state)) return;
    if (node->kind == PAWL_FLOW_KIND_JOB) {
        pawl__flow_cancel_job(set, pawl__set_find(set, node->id), halt, about->message);
    } else if (node->kind == PAWL_FLOW_KIND_GROUP && node->state == PAWL_STATE_ACTIVE) {
        pawl__flow_halt_group(set, books, halt, about->message);
    } else {
        node->reason = about->message;
        books->node->changed = true;
        pawl__flow_note(set, node, PAWL_STATE_CANCELLED);
    }
}

void pawl__flow_want_act(struct pawl__set *set, const struct pawl__unsettled *about,
                         const struct pawl__flow_books *books)
{
    if (pawl__flow_is_walk(about)) {
        const struct walk walk = walk_of(about, books);
        if (books->flow) want_slice(set, &walk);
    } else if (books->node) {
        pawl__flow_want_reset(set, books);
    }
}

bool pawl__flow_follow_act(struct pawl__set *set, const struct pawl__unsettled *about,
                           struct pawl__flow_books *books)
{
    if (pawl__flow_is_walk(about)) {
        if (books->flow && books->all && books->work) follow_walk(set, about, books);
        return true;
    }
    if (!pawl__flow_is_whole(books)) return true;
    if (about->run != PAWL__FLOW_ACT_STOP) {
        return pawl__flow_reset(set, books, (enum pawl__flow_act)about->run);
    }
    stop_node(set, about, books);
    return true;
}

/* ---- the operation ---- */

static enum pawl_err refuse(const struct pawl__op *op, const char *what)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(op->flow_control.id, text);
    return pawl__fail(op->diag, PAWL_ERR_STATE, "flow \"%s\" %s", text, what);
}

static const char *reason_of(const struct pawl__op *op, const char *otherwise)
{
    const char *reason = op->flow_control.by.reason;
    return reason && *reason ? reason : otherwise;
}

static int64_t walk_all(struct pawl__set *set, struct pawl__record *flow, enum pawl__flow_act act)
{
    const struct walk walk = { .flow = flow, .act = act, .first = 1 };
    int64_t count = go(set, &walk);
    if (!is_last(&walk)) go_on_later(set, &walk);
    return count;
}

static void audit(struct pawl__set *set, const struct pawl__op *op)
{
#define X(number, name, text) [number] = text " flow",
    static const char *const actions[] = { PAWL_FLOW_CONTROLS(X) };
#undef X
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(op->flow_control.id, text);
    pawl__set_put(set, PAWL__TABLE_AUDIT,
                  &(struct pawl__audit){ .at_ms = set->now_ms,
                                         .subject = pawl__set_text(set, text, strlen(text)),
                                         .action = actions[op->flow_control.verb],
                                         .actor = op->flow_control.by.actor,
                                         .reason = op->flow_control.by.reason });
}

/* The nodes that the operation names. What is not read yet is wanted, and that is OK. */
static enum pawl_err find_named(struct pawl__set *set, const struct pawl__op *op,
                                struct pawl__record **out)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    for (size_t i = 0; i < op->flow_control.node_count; i++) {
        struct pawl_job_id id = op->flow_control.nodes[i];
        const struct pawl__record *member = pawl__set_want_record(
            set, PAWL__RECORD_FLOW_MEMBER, &(struct pawl__flow_member){ .id = id });
        out[i] = NULL;
        if (!member || !member->of->read) continue;
        const struct pawl__flow_member *row = &member->row.flow_member;
        bool ours = member->there &&
                    memcmp(&row->flow, &op->flow_control.id, sizeof row->flow) == 0;
        if (ours) out[i] = pawl__flow_node_of(set, row->flow, row->no);
        if (out[i] || (ours && pawl__set_lacks(set))) continue;
        pawl_job_id_text(id, text);
        return pawl__fail_field(op->diag, PAWL_ERR_NOT_FOUND, "nodes",
                                "the flow has no node \"%s\"", text);
    }
    return PAWL_OK;
}

static enum pawl_err cancel_node(struct pawl__set *set, const struct pawl__op *op,
                                 const struct pawl__flow_node *node)
{
    if (pawl_state_is_terminal((enum pawl_state)node->state)) {
        return pawl__fail_field(op->diag, PAWL_ERR_STATE, "nodes", "node \"%s\" has ended",
                                node->name);
    }
    pawl__set_unsettle(set,
                       &(struct pawl__unsettled){ .at_ms = set->now_ms,
                                                  .id = node->id,
                                                  .ties = PAWL__TIE_FLOW,
                                                  .run = PAWL__FLOW_ACT_STOP,
                                                  .not_retryable = op->flow_control.drain,
                                                  .message = reason_of(op, "cancelled on request"),
                                                  .flow = node->flow,
                                                  .node = node->no });
    return PAWL_OK;
}

static enum pawl_err cancel(struct pawl__set *set, struct pawl__op *op, struct pawl__record *flow,
                            struct pawl__record *const *named)
{
    struct pawl__flow *row = &flow->row.flow;
    enum pawl_err err = PAWL_OK;
    if (row->state == PAWL_FLOW_CANCELLED) return refuse(op, "was cancelled before");
    if (row->finished_at_ms) return refuse(op, "has ended: it cannot be cancelled");
    for (size_t i = 0; !err && i < op->flow_control.node_count; i++) {
        assert(named[i]); // or find_named has refused it
        err = cancel_node(set, op, &named[i]->row.flow_node);
        op->flow_control.moved += !err;
    }
    if (op->flow_control.node_count) return err;
    struct pawl__record *all = pawl__flow_group_of(set, row->id, PAWL__FLOW_ALL);
    row->state = PAWL_FLOW_CANCELLED;
    row->stops = !op->flow_control.drain;
    row->paused = 0;
    row->reason = reason_of(op, "cancelled on request");
    flow->changed = true;
    if (all && all->row.flow_group.open_ended) {
        all->row.flow_group.open_ended = 0;
        all->changed = true;
    }
    op->flow_control.moved = walk_all(set, flow, PAWL__FLOW_ACT_WALK_LOOK);
    return PAWL_OK;
}

static void reopen(struct pawl__set *set, struct pawl__record *flow)
{
    struct pawl__flow *row = &flow->row.flow;
    row->reopened += row->finished_at_ms || row->state != PAWL_FLOW_RUNNING;
    row->finished_at_ms = 0;
    row->state = PAWL_FLOW_RUNNING;
    row->stops = 0;
    row->reason = NULL;
    flow->changed = true;
    pawl__flow_touch(set, flow);
}

/* A node that is named may have ended well only with what is below it. */
static enum pawl_err check_named(const struct pawl__op *op, const struct pawl__flow_node *node)
{
    const char *why = NULL;
    enum pawl_state state = (enum pawl_state)node->state;
    if (node->kind == PAWL_FLOW_KIND_GROUP) why = "is a group: name its members";
    if (!why && !pawl_state_is_terminal(state)) why = "has not ended";
    if (!why && node->given_up) why = "was given up because of other nodes: name these";
    if (!why && pawl_state_is_successful(state) && !op->flow_control.all_below) {
        why = "has not failed";
    }
    if (!why) return PAWL_OK;
    return pawl__fail_field(op->diag, PAWL_ERR_STATE, "nodes", "node \"%s\" %s", node->name, why);
}

static enum pawl_err retry_named(struct pawl__set *set, struct pawl__op *op,
                                 struct pawl__record *flow, struct pawl__record *const *named)
{
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < op->flow_control.node_count; i++) {
        assert(named[i]);
        err = check_named(op, &named[i]->row.flow_node);
    }
    for (size_t i = 0; !err && i < op->flow_control.node_count; i++) {
        note_reset(set, flow, &named[i]->row.flow_node,
                   op->flow_control.all_below ? PAWL__FLOW_ACT_RESET_BELOW : PAWL__FLOW_ACT_RESET);
        op->flow_control.moved++;
    }
    if (!err) reopen(set, flow);
    return err;
}

/* The slice that is left counts as one that is to be reset. */
static enum pawl_err retry(struct pawl__set *set, struct pawl__op *op, struct pawl__record *flow,
                           struct pawl__record *const *named)
{
    if (flow->row.flow.state == PAWL_FLOW_CANCELLED) {
        return refuse(op, "was cancelled: resume it");
    }
    if (flow->row.flow.shelved) return refuse(op, "was archived: it cannot be retried");
    if (op->flow_control.node_count) return retry_named(set, op, flow, named);
    enum pawl__flow_act act = op->flow_control.all_below ? PAWL__FLOW_ACT_WALK_FAILED_BELOW
                                                         : PAWL__FLOW_ACT_WALK_FAILED;
    op->flow_control.moved = walk_all(set, flow, act);
    bool more = flow->row.flow.nodes > PAWL__FLOW_SLICE;
    if (more) pawl__flow_count_reset(set, flow, 1);
    if (more || op->flow_control.moved) reopen(set, flow);
    return PAWL_OK;
}

static enum pawl_err resume(struct pawl__set *set, struct pawl__op *op, struct pawl__record *flow)
{
    struct pawl__flow *row = &flow->row.flow;
    if (row->shelved) return refuse(op, "was archived: it cannot be resumed");
    if (row->state == PAWL_FLOW_CANCELLED) {
        reopen(set, flow);
        op->flow_control.moved = walk_all(set, flow, PAWL__FLOW_ACT_WALK_CANCELLED);
        if (row->nodes > PAWL__FLOW_SLICE) pawl__flow_count_reset(set, flow, 1);
        if (!row->resets) pawl__flow_note_walk(set, row->id, NULL, PAWL__FLOW_ACT_WALK_LOOK);
        return PAWL_OK;
    }
    if (!row->paused) return refuse(op, "is neither paused nor cancelled");
    row->paused = 0;
    flow->changed = true;
    op->flow_control.moved = walk_all(set, flow, PAWL__FLOW_ACT_WALK_LOOK);
    return PAWL_OK;
}

static enum pawl_err pause(struct pawl__set *set, struct pawl__op *op, struct pawl__record *flow)
{
    struct pawl__flow *row = &flow->row.flow;
    if (row->state == PAWL_FLOW_CANCELLED) return refuse(op, "was cancelled: it cannot be paused");
    if (row->finished_at_ms) return refuse(op, "has ended: it cannot be paused");
    if (row->paused) return PAWL_OK;
    row->paused = 1;
    flow->changed = true;
    op->flow_control.moved = walk_all(set, flow, PAWL__FLOW_ACT_WALK_LOOK);
    return PAWL_OK;
}

static enum pawl_err carry_out(struct pawl__set *set, struct pawl__op *op,
                               struct pawl__record *flow, struct pawl__record *const *named)
{
    switch (op->flow_control.verb) {
    case PAWL_FLOW_CONTROL_CANCEL:
        return cancel(set, op, flow, named);
    case PAWL_FLOW_CONTROL_RETRY:
        return retry(set, op, flow, named);
    case PAWL_FLOW_CONTROL_RESUME:
        return resume(set, op, flow);
    default:
        assert(op->flow_control.verb == PAWL_FLOW_CONTROL_PAUSE);
        return pause(set, op, flow);
    }
}

/* All that it needs is read under the lock of the flow, before it changes anything. */
enum pawl_err pawl__rule_flow_control(struct pawl__set *set, struct pawl__op *op)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    struct pawl__record **named =
        pawl__arena_calloc(&set->arena, op->flow_control.node_count + 1, sizeof(void *));
    struct pawl__record *flow = pawl__flow_of(set, op->flow_control.id);
    op->flow_control.moved = 0;
    if (!named) set->failed = true;
    if (set->failed || pawl__set_lacks(set)) return PAWL_OK;
    pawl_job_id_text(op->flow_control.id, text);
    if (!flow) {
        return pawl__fail_field(op->diag, PAWL_ERR_NOT_FOUND, "flow", "there is no flow \"%s\"",
                                text);
    }
    const struct walk all = { .flow = flow, .first = 1 };
    (void)pawl__flow_group_of(set, flow->row.flow.id, PAWL__FLOW_ALL);
    if (!op->flow_control.node_count) want_slice(set, &all);
    enum pawl_err err = find_named(set, op, named);
    if (err || set->failed || pawl__set_lacks(set)) return err;
    err = carry_out(set, op, flow, named);
    if (!err) audit(set, op);
    return err;
}
