/* Nodes that wait for a signal. A signal by the node's id is kept if the node does not wait yet,
 * one by a key reaches those that wait. A node takes one signal; its timeout is a move like any
 * other, so of a signal and a timeout one is too late, and is told so. */
#include "store/core/flow_inside.h"

#include "base/diag.h"

#include <assert.h>

/* ---- what becomes of the node ---- */

/* As on_timeout and on_reject say. */
static void end_without(struct pawl__set *set, struct pawl__flow_books *books, int32_t how,
                        enum pawl_state failed, const char *reason)
{
    struct pawl__flow_node *node = &books->node->row.flow_node;
    const struct pawl__flow_signal *signal = &books->signal->row.flow_signal;
    enum pawl_state to = how == PAWL_FLOW_UNSIGNALLED_SKIP       ? PAWL_STATE_SKIPPED
                         : how == PAWL_FLOW_UNSIGNALLED_COMPLETE ? PAWL_STATE_COMPLETED
                                                                 : failed;
    if (signal->payload.len) node->result = signal->payload;
    if (to != PAWL_STATE_COMPLETED) node->result = (struct pawl_span){ 0 };
    node->reason = reason;
    books->node->changed = true;
    pawl__flow_note(set, node, to);
}

/* A rejected node that completes all the same passes on what the signal brought, unless it has a
 * payload of its own. */
static void end_with(struct pawl__set *set, struct pawl__flow_books *books)
{
    struct pawl__flow_node *node = &books->node->row.flow_node;
    const struct pawl__flow_signal *signal = &books->signal->row.flow_signal;
    node->result = signal->answer;
    books->node->changed = true;
    if (signal->said == PAWL_FLOW_SIGNAL_APPROVE) {
        pawl__flow_note(set, node, PAWL_STATE_COMPLETED);
    } else {
        end_without(set, books, signal->on_reject, PAWL_STATE_DISCARDED, "rejected");
    }
}

void pawl__flow_signal_begin(struct pawl__set *set, struct pawl__flow_books *books)
{
    struct pawl__flow_signal *signal = &books->signal->row.flow_signal;
    books->signal->changed = true;
    signal->waits = 1;
    if (signal->said) {
        end_with(set, books);
        return;
    }
    if (!signal->timeout_ms) return;
    signal->until_ms = set->now_ms + signal->timeout_ms;
    pawl__flow_set_timer(set, books->timer, signal->until_ms);
}

static bool is_over(const struct pawl__set *set, const struct pawl__flow_signal *signal)
{
    return signal->until_ms && signal->until_ms <= set->now_ms;
}

void pawl__flow_signal_due(struct pawl__set *set, struct pawl__flow_books *books)
{
    const struct pawl__flow_signal *signal = &books->signal->row.flow_signal;
    if (!is_over(set, signal) || signal->said) return;
    end_without(set, books, signal->on_timeout, PAWL_STATE_EXPIRED, "timeout");
}

void pawl__flow_signal_end(struct pawl__set *set, struct pawl__flow_books *books)
{
    struct pawl__flow_signal *signal = &books->signal->row.flow_signal;
    signal->waits = 0;
    signal->until_ms = 0;
    books->signal->changed = true;
    pawl__flow_set_timer(set, books->timer, 0);
}

void pawl__flow_signal_reset(struct pawl__flow_books *books)
{
    struct pawl__flow_signal *signal = &books->signal->row.flow_signal;
    signal->said = 0;
    signal->answer = (struct pawl_span){ NULL, 0 };
    books->signal->changed = true;
}

/* ---- the operation ---- */

enum pawl_err pawl__scan_flow_signal(struct pawl__set *set, struct pawl__op *op)
{
    op->flow_signal.delivered = 0;
    op->flow_signal.more = false;
    if (!op->flow_signal.key) {
        (void)pawl__set_want_record(set, PAWL__RECORD_FLOW_MEMBER,
                                    &(struct pawl__flow_member){ .id = op->flow_signal.id });
        return PAWL_OK;
    }
    return set->table->scan_waits(set->backend, op->flow_signal.key, PAWL__MAINTENANCE_MAX);
}

/* The rows of a node; not whole: they are not read yet, or not there. */
static struct pawl__flow_books find_books(struct pawl__set *set,
                                          const struct pawl__flow_member *member)
{
    struct pawl__flow_books books;
    pawl__flow_find_books(
        set,
        &(struct pawl__unsettled){ .id = member->id, .flow = member->flow, .node = member->no },
        &books);
    return books;
}

static void take(struct pawl__set *set, struct pawl__op *op, struct pawl__flow_books *books)
{
    struct pawl__flow_signal *signal = &books->signal->row.flow_signal;
    signal->said = (int32_t)op->flow_signal.kind;
    signal->answer = op->flow_signal.payload;
    books->signal->changed = true;
    op->flow_signal.delivered++;
    if (books->node->row.flow_node.state == PAWL_STATE_ACTIVE) end_with(set, books);
}

static enum pawl_err refuse_unknown(struct pawl__op *op)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(op->flow_signal.id, text);
    return pawl__fail_field(op->diag, PAWL_ERR_NOT_FOUND, "id", "there is no node \"%s\"", text);
}

static const char *text_of_signal(int32_t kind)
{
#define X(number, name, text) [number] = text,
    static const char *const texts[PAWL_FLOW_SIGNAL_END] = { PAWL_FLOW_SIGNALS(X) };
#undef X
    return texts[kind];
}

/* STATE. */
static enum pawl_err check(struct pawl__set *set, struct pawl__op *op,
                           const struct pawl__flow_books *books)
{
    const struct pawl__flow_node *node = &books->node->row.flow_node;
    enum pawl_state state = (enum pawl_state)node->state;
    if (node->kind != PAWL_FLOW_KIND_SIGNAL) {
        return pawl__fail(op->diag, PAWL_ERR_STATE, "node \"%s\" does not wait for a signal",
                          node->name);
    }
    if (pawl_state_is_terminal(state)) {
        return pawl__fail(op->diag, PAWL_ERR_STATE, "node \"%s\" has ended: it is %s", node->name,
                          pawl_state_name(state, PAWL_VOCABULARY_PAWL));
    }
    const struct pawl__flow_signal *signal = &books->signal->row.flow_signal;
    if (signal->said) {
        return pawl__fail(op->diag, PAWL_ERR_STATE, "node \"%s\" has a signal already: %s",
                          node->name, text_of_signal(signal->said));
    }
    if (books->flow->row.flow.state != PAWL_FLOW_RUNNING) {
        return pawl__fail(op->diag, PAWL_ERR_STATE, "the flow of node \"%s\" ends", node->name);
    }
    if (!is_over(set, signal)) return PAWL_OK;
    return pawl__fail(op->diag, PAWL_ERR_STATE, "the timeout of node \"%s\" is over", node->name);
}

static enum pawl_err signal_one(struct pawl__set *set, struct pawl__op *op)
{
    const struct pawl__record *member = pawl__flow_found(pawl__set_want_record(
        set, PAWL__RECORD_FLOW_MEMBER, &(struct pawl__flow_member){ .id = op->flow_signal.id }));
    if (!member) return refuse_unknown(op);
    struct pawl__flow_books books = find_books(set, &member->row.flow_member);
    if (pawl__set_lacks(set)) return PAWL_OK;
    if (!pawl__flow_is_whole(&books)) return refuse_unknown(op);
    enum pawl_err err = check(set, op, &books);
    if (!err) take(set, op, &books);
    return err;
}

/* The key's nodes were found before their flows were locked: what has ended since, or is to end, is
 * passed over. */
static void signal_found(struct pawl__set *set, struct pawl__op *op,
                         const struct pawl__flow_signal *found, bool reads)
{
    struct pawl__flow_books books =
        find_books(set, &(struct pawl__flow_member){ .flow = found->flow, .no = found->no });
    if (reads || !pawl__flow_is_whole(&books)) return;
    bool waits = books.node->row.flow_node.state == PAWL_STATE_ACTIVE;
    if (waits && !check(set, &(struct pawl__op){ .diag = NULL }, &books)) take(set, op, &books);
}

static void signal_all(struct pawl__set *set, struct pawl__op *op)
{
    size_t found = 0;
    for (int reads = 1; reads >= 0; reads--) {
        for (size_t i = 0; i < set->records.count; i++) { // which grow while they are asked for
            const struct pawl__records *of = set->records.at[i];
            if (of->kind != PAWL__RECORD_FLOW_SIGNAL || !of->first->there) continue;
            signal_found(set, op, &of->first->row.flow_signal, reads);
            found += !reads;
        }
        if (pawl__set_lacks(set)) return;
    }
    op->flow_signal.more = found == PAWL__MAINTENANCE_MAX;
}

enum pawl_err pawl__rule_flow_signal(struct pawl__set *set, struct pawl__op *op)
{
    if (!op->flow_signal.key) return signal_one(set, op);
    signal_all(set, op);
    return PAWL_OK;
}
