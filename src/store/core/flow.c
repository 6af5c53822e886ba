/* See flow.h. */
#include "store/core/flow_inside.h"

#include "base/diag.h"

_Static_assert((int)PAWL__FLOW_TIE == (int)PAWL__TIE_FLOW, "the api gives jobs this tie");

/* An end, or back from one; a run that comes back may be of a flow that was cancelled or paused. */
static bool concerns(enum pawl_state from, enum pawl_state to)
{
    bool back = from == PAWL_STATE_ACTIVE;
    return pawl_state_is_terminal(to) || pawl_state_is_terminal(from) || back;
}

/* With the job, and the nodes that edges lead to: if nothing is lacked after this, `out` has all.
 */
static void find_all(struct pawl__set *set, const struct pawl__unsettled *about,
                     struct pawl__flow_books *out)
{
    pawl__flow_find_books(set, about, out);
    if (pawl__flow_is_act(about)) pawl__flow_want_act(set, about, out);
    if (!out->node) return;
    bool is_job = out->node->row.flow_node.kind == PAWL_FLOW_KIND_JOB;
    if (is_job && !pawl__flow_is_walk(about)) pawl__set_want(set, about->id, PAWL__FLOW_NEED);
    const struct pawl__record *edge = out->edges && out->edges->read ? out->edges->first : NULL;
    for (; edge; edge = edge->next) {
        const struct pawl__flow_edge *row = &edge->row.flow_edge;
        (void)pawl__flow_node_of(set, row->flow, row->child);
    }
}

static void want_flow(struct pawl__set *set, const struct pawl__unsettled *about)
{
    struct pawl__flow_books books;
    find_all(set, about, &books);
}

/* ---- the rule ---- */

static void follow_move(struct pawl__set *set, const struct pawl__unsettled *about,
                        struct pawl__flow_books *books)
{
    if (pawl__flow_is_revival(about)) {
        pawl__flow_revived(set, books);
        return;
    }
    if (!pawl__flow_is_end(about)) {
        bool back = about->from == PAWL_STATE_ACTIVE; // its run is over, and it is not
        if (back) pawl__flow_look(set, books);
        return;
    }
    enum pawl_state ended = pawl__flow_end_of(set, about, &books->node->row.flow_node);
    if (ended != PAWL_STATE_NONE) pawl__flow_end_node(set, books, ended);
}

static bool follow_flow(struct pawl__set *set, const struct pawl__unsettled *about)
{
    struct pawl__flow_books books;
    bool unknown = pawl__flow_is_look(about) && !about->node;
    if (unknown && pawl__flow_follow_flow(set, about)) return true;
    find_all(set, about, &books);
    if (set->failed || pawl__set_lacks(set)) return true;
    if (pawl__flow_is_act(about)) return pawl__flow_follow_act(set, about, &books);
    if (!pawl__flow_is_whole(&books)) {
        if (unknown) pawl__flow_set_timer(set, pawl__flow_timer_of(set, about->id), 0);
        return true;
    }
    if (pawl__flow_is_look(about)) {
        pawl__flow_look(set, &books);
    } else {
        follow_move(set, about, &books);
    }
    return true;
}

const struct pawl__tie pawl__tie_FLOW = { .concerns = concerns,
                                          .want = want_flow,
                                          .follow = follow_flow };

/* ---- what operators may do to members ---- */

bool pawl__flow_keeps(struct pawl__set *set, const struct pawl__row *row)
{
    if (!(row->ties & PAWL__TIE_FLOW)) return false;
    const struct pawl__record *member = pawl__flow_found(pawl__set_want_record(
        set, PAWL__RECORD_FLOW_MEMBER, &(struct pawl__flow_member){ .id = row->id }));
    if (!member) return false;
    const struct pawl__record *flow = pawl__flow_of(set, member->row.flow_member.flow);
    return flow && !flow->row.flow.finished_at_ms;
}

/* A node that was given up would be given up again. */
static enum pawl_err allow_retry(struct pawl__set *set, const struct pawl__row *row,
                                 const char *text, struct pawl_diag *diag)
{
    const struct pawl__record *member = pawl__flow_found(pawl__set_want_record(
        set, PAWL__RECORD_FLOW_MEMBER, &(struct pawl__flow_member){ .id = row->id }));
    if (!member) return PAWL_OK;
    const struct pawl__flow_member *at = &member->row.flow_member;
    const struct pawl__record *flow = pawl__flow_of(set, at->flow);
    const struct pawl__record *node = pawl__flow_node_of(set, at->flow, at->no);
    if (!flow || !node) return PAWL_OK;
    if (flow->row.flow.state == PAWL_FLOW_CANCELLED) {
        return pawl__fail(diag, PAWL_ERR_STATE,
                          "job \"%s\" is a node of a flow that was cancelled: resume the flow",
                          text);
    }
    if (flow->row.flow.shelved) {
        return pawl__fail(diag, PAWL_ERR_STATE,
                          "job \"%s\" is a node of a flow that was archived: submit it anew", text);
    }
    if (node->row.flow_node.given_up) {
        return pawl__fail(diag, PAWL_ERR_STATE,
                          "job \"%s\" was given up because of other nodes of its flow: retry these",
                          text);
    }
    return PAWL_OK;
}

enum pawl_err pawl__flow_allows(struct pawl__set *set, const struct pawl__row *row,
                                enum pawl_control control, struct pawl_diag *diag)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    bool is_node = row->ties & PAWL__TIE_FLOW;
    bool waits = row->state == PAWL_STATE_PENDING && !row->lease_until_ms;
    pawl_job_id_text(row->id, text);
    if (is_node && waits && control == PAWL_CONTROL_ACTIVATE) {
        return pawl__fail(diag, PAWL_ERR_STATE,
                          "job \"%s\" waits for other nodes of its flow: it cannot be activated",
                          text);
    }
    bool revives = is_node && row->has_end && control == PAWL_CONTROL_RETRY;
    return revives ? allow_retry(set, row, text, diag) : PAWL_OK;
}

/* ---- a new flow ---- */

/* Nothing ends that would tell these: control nodes that wait for nobody, and groups without
 * members. */
void pawl__flow_look_at_empty(struct pawl__set *set, const struct pawl__new_flow *flow)
{
    for (size_t i = 0; i < flow->node_count; i++) {
        const struct pawl__flow_node *node = &flow->nodes[i];
        bool waits = node->state == PAWL_STATE_PENDING && !node->pending;
        if (node->kind != PAWL_FLOW_KIND_JOB && waits) pawl__flow_note_look(set, node);
    }
    for (size_t i = 0; i < flow->group_count; i++) {
        const struct pawl__flow_group *group = &flow->groups[i];
        bool empty = group->no > flow->known && !group->open_ended && !group->tally.total;
        if (!empty) continue;
        const struct pawl__flow_node *node = &flow->nodes[group->no - flow->known - 1];
        if (node->state == PAWL_STATE_ACTIVE) pawl__flow_note(set, node, PAWL_STATE_COMPLETED);
    }
}

void pawl__flow_put_nodes(struct pawl__set *set, const struct pawl__new_flow *flow)
{
    for (size_t i = 0; i < flow->group_count; i++) {
        bool is_new = !flow->adds || flow->groups[i].no > flow->known;
        if (is_new) pawl__set_record_new(set, PAWL__RECORD_FLOW_GROUP, &flow->groups[i]);
    }
    for (size_t i = 0; i < flow->node_count; i++) {
        const struct pawl__flow_node *node = &flow->nodes[i];
        pawl__set_record_new(set, PAWL__RECORD_FLOW_NODE, node);
        pawl__set_record_new(set, PAWL__RECORD_FLOW_MEMBER,
                             &(struct pawl__flow_member){ node->id, node->flow, node->no });
    }
    for (size_t i = 0; i < flow->signal_count; i++) {
        pawl__set_record_new(set, PAWL__RECORD_FLOW_SIGNAL, &flow->signals[i]);
    }
    pawl__flow_begin_holds(set, flow);
}

void pawl__flow_add(struct pawl__set *set, const struct pawl__new_flow *flow)
{
    struct pawl__flow row = flow->row;
    row.created_at_ms = set->now_ms;
    pawl__flow_touch(set, pawl__set_record_new(set, PAWL__RECORD_FLOW, &row));
    pawl__flow_put_nodes(set, flow);
    for (size_t i = 0; i < flow->edge_count; i++) {
        pawl__set_record_new(set, PAWL__RECORD_FLOW_EDGE, &flow->edges[i]);
    }
    pawl__flow_look_at_empty(set, flow);
}
