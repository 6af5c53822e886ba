/* Flows that grow: nodes are added to one that runs, under its lock, each in its place at once; and
 * groups that are not sealed end when they are, or when nobody adds to them any more. */
#include "store/core/flow_inside.h"

#include "base/diag.h"

#include <string.h>

/* ---- holds ---- */

/* What is not sealed waits for more, but not for ever. `timer` is that of the group's node, or of
 * the flow. */
static void renew(struct pawl__set *set, struct pawl__record *group, struct pawl__record *timer,
                  int64_t deadline_at_ms)
{
    struct pawl__flow_group *row = &group->row.flow_group;
    if (!row->open_ended) return;
    row->hold_until_ms = set->now_ms + PAWL_FLOW_HOLD_MS;
    group->changed = true;
    bool sooner = deadline_at_ms && deadline_at_ms < row->hold_until_ms;
    pawl__flow_set_timer(set, timer, sooner ? deadline_at_ms : row->hold_until_ms);
}

static void seal(struct pawl__record *group, int32_t spoilt)
{
    struct pawl__flow_group *row = &group->row.flow_group;
    row->open_ended = 0;
    row->hold_until_ms = 0;
    if (!row->spoilt) row->spoilt = spoilt;
    group->changed = true;
}

bool pawl__flow_is_abandoned(const struct pawl__set *set, const struct pawl__record *group)
{
    const struct pawl__flow_group *row = &group->row.flow_group;
    return row->open_ended && row->hold_until_ms && row->hold_until_ms <= set->now_ms;
}

const char *pawl__flow_spoilt_reason(const struct pawl__record *group)
{
    static const char *const reasons[] = {
        [PAWL__FLOW_ABORTED] = "batch_aborted", [PAWL__FLOW_ABANDONED] = "stream_abandoned"
    };
    int32_t spoilt = group->row.flow_group.spoilt;
    return spoilt ? reasons[spoilt] : NULL;
}

/* ---- the end of a group ---- */

void pawl__flow_note_group_end(struct pawl__set *set, struct pawl__record *node,
                               const struct pawl__record *group)
{
    struct pawl__flow_node *row = &node->row.flow_node;
    if (group->row.flow_group.spoilt) {
        row->reason = pawl__flow_spoilt_reason(group);
        node->changed = true;
    }
    pawl__flow_note(set, row, pawl__flow_end_of_group(group));
}

/* ---- limits of failures ---- */

enum { MILLION = 1000000, SHARE_OF_MIN = 100 };

/* A share is one of all members when their number is known, before that of those that have ended,
 * when these are not few. */
static bool are_too_many(const struct pawl__flow_group *group)
{
    int64_t failed = group->tally.grave, of = group->tally.total;
    if (group->abort_failures && failed >= group->abort_failures) return true;
    if (!group->abort_ppm) return false;
    if (group->open_ended) of -= pawl__flow_open(&group->tally);
    bool few = group->open_ended && of < SHARE_OF_MIN;
    return !few && failed * MILLION > of * group->abort_ppm;
}

void pawl__flow_check_limits(struct pawl__set *set, struct pawl__flow_books *books)
{
    struct pawl__flow_group *group = &books->group->row.flow_group;
    bool active = books->above->row.flow_node.state == PAWL_STATE_ACTIVE;
    if (!active || group->spoilt || group->halted || !are_too_many(group)) return;
    struct pawl__flow_books of_group = { .flow = books->flow,
                                         .node = books->above,
                                         .members = books->group };
    group->spoilt = PAWL__FLOW_ABORTED;
    pawl__flow_halt_group(set, &of_group, PAWL__FLOW_DRAINS,
                          pawl__flow_spoilt_reason(books->group));
}

/* `books` are those of the group's node. */
void pawl__flow_seal_group(struct pawl__set *set, struct pawl__flow_books *books, int32_t spoilt)
{
    bool active = books->node->row.flow_node.state == PAWL_STATE_ACTIVE;
    seal(books->members, spoilt);
    pawl__flow_set_timer(set, books->timer, 0);
    if (active && pawl__flow_is_over(books->members)) {
        pawl__flow_note_group_end(set, books->node, books->members);
    }
}

/* Of a flow its books have no node. */
void pawl__flow_seal_flow(struct pawl__set *set, struct pawl__flow_books *books, int32_t spoilt)
{
    struct pawl__flow *flow = &books->flow->row.flow;
    seal(books->all, spoilt);
    if (spoilt && !(flow->reason && *flow->reason)) {
        flow->reason = pawl__flow_spoilt_reason(books->all);
    }
    books->flow->changed = true;
    pawl__flow_set_timer(set, books->clock, flow->deadline_at_ms);
    pawl__flow_end_group(set, books);
}

/* ---- sealing ---- */

static struct pawl__flow_books find_flow(struct pawl__set *set, struct pawl_job_id id)
{
    struct pawl__flow_books books = { .flow = pawl__flow_of(set, id) };
    books.all = books.group = pawl__flow_group_of(set, id, PAWL__FLOW_ALL);
    books.clock = pawl__flow_timer_of(set, id);
    return books;
}

enum pawl_err pawl__scan_flow_seal(struct pawl__set *set, struct pawl__op *op)
{
    (void)find_flow(set, op->flow_seal.id);
    return PAWL_OK;
}

static enum pawl_err refuse_unknown(struct pawl__op *op, struct pawl_job_id id)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    return pawl__fail(op->diag, PAWL_ERR_NOT_FOUND, "there is no flow \"%s\"", text);
}

static void seal_group(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl__flow_books books;
    pawl__flow_find_books(
        set, &(struct pawl__unsettled){ .flow = op->flow_seal.id, .node = op->flow_seal.no },
        &books);
    if (pawl__set_lacks(set) || !pawl__flow_is_whole(&books) || !books.members) return;
    if (books.members->row.flow_group.open_ended) pawl__flow_seal_group(set, &books, 0);
}

enum pawl_err pawl__rule_flow_seal(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl__flow_books books = find_flow(set, op->flow_seal.id);
    if (pawl__set_lacks(set)) return PAWL_OK;
    if (!books.flow || !books.all) return refuse_unknown(op, op->flow_seal.id);
    if (op->flow_seal.no) {
        seal_group(set, op);
    } else if (books.all->row.flow_group.open_ended) {
        pawl__flow_seal_flow(set, &books, 0);
    }
    return PAWL_OK;
}

/* ---- adding: what is needed ---- */

static bool is_known(const struct pawl__new_flow *more, int32_t no)
{
    return no > 0 && no <= more->known;
}

/* All that the rule looks at: its second call finds it read, or wants nothing more. */
void pawl__flow_want_more(struct pawl__set *set, const struct pawl__new_flow *more)
{
    struct pawl_job_id flow = more->row.id;
    (void)find_flow(set, flow);
    (void)pawl__flow_group_of(set, flow, PAWL__FLOW_WORK);
    for (size_t i = 0; i < more->group_count; i++) {
        int32_t no = more->groups[i].no;
        if (!is_known(more, no)) continue;
        (void)pawl__flow_group_of(set, flow, no);
        const struct pawl__record *node = pawl__flow_node_of(set, flow, no);
        if (node) (void)pawl__flow_timer_of(set, node->row.flow_node.id);
    }
    for (size_t i = 0; i < more->edge_count; i++) {
        const struct pawl__flow_edge *edge = &more->edges[i];
        if (is_known(more, edge->child)) (void)pawl__flow_node_of(set, flow, edge->child);
        if (!is_known(more, edge->parent)) continue;
        (void)pawl__flow_node_of(set, flow, edge->parent);
        (void)pawl__flow_group_of(set, flow, edge->parent);
        (void)pawl__flow_edges_of(set, flow, edge->parent);
    }
    if (!more->by) return;
    (void)pawl__set_want(set, more->by->id, PAWL__NEED_RUN);
    (void)pawl__set_want_record(set, PAWL__RECORD_FLOW_MEMBER,
                                &(struct pawl__flow_member){ .id = more->by->id });
}

/* ---- adding: may it? ---- */

static enum pawl_err check_flow(struct pawl__op *op, const struct pawl__flow_books *books)
{
    const struct pawl__new_flow *more = op->submit.flow;
    if (!books->flow || !books->all) return refuse_unknown(op, more->row.id);
    const struct pawl__flow *flow = &books->flow->row.flow;
    bool ended = flow->state == PAWL_FLOW_COMPLETED || flow->state == PAWL_FLOW_FAILED;
    bool opens = ended && flow->finished_at_ms && more->reopens;
    if (flow->shelved) {
        return pawl__fail(op->diag, PAWL_ERR_STATE, "the flow was archived, or some of it was");
    }
    if (flow->resets || (flow->state != PAWL_FLOW_RUNNING && !opens)) {
        return pawl__fail(op->diag, PAWL_ERR_STATE, "the flow has ended, or is about to");
    }
    if (flow->nodes == more->known) return PAWL_OK;
    op->submit.overtaken = true;
    return pawl__fail(op->diag, PAWL_ERR_STALE, "the flow has grown meanwhile");
}

/* By whose run? */
static enum pawl_err check_by(struct pawl__set *set, struct pawl__op *op)
{
    const struct pawl__new_flow *more = op->submit.flow;
    struct pawl__row *row;
    if (!more->by) return PAWL_OK;
    const struct pawl__record *member = pawl__flow_found(pawl__set_want_record(
        set, PAWL__RECORD_FLOW_MEMBER, &(struct pawl__flow_member){ .id = more->by->id }));
    bool its = member && !memcmp(&member->row.flow_member.flow, &more->row.id, sizeof more->row.id);
    if (!its) {
        return pawl__fail_field(op->diag, PAWL_ERR_STALE, "by",
                                "the run is of no node of the flow");
    }
    enum pawl_err err = pawl__row_owned(set, more->by, &row, op->diag);
    return err == PAWL_ERR_NOT_FOUND ? PAWL_ERR_STALE : err;
}

static enum pawl_err check_group(struct pawl__set *set, struct pawl__op *op, int32_t no)
{
    const struct pawl__new_flow *more = op->submit.flow;
    const struct pawl__record *group = pawl__flow_group_of(set, more->row.id, no);
    const struct pawl__record *node = pawl__flow_node_of(set, more->row.id, no);
    if (!group || !node) return refuse_unknown(op, more->row.id);
    const char *name = node->row.flow_node.name;
    bool ended = pawl_state_is_terminal((enum pawl_state)node->row.flow_node.state);
    if (ended || node->row.flow_node.given_up || group->row.flow_group.spoilt ||
        group->row.flow_group.halted) {
        return pawl__fail_field(op->diag, PAWL_ERR_STATE, "group",
                                "group \"%s\" has ended, or is about to", name);
    }
    if (group->row.flow_group.open_ended || more->by) return PAWL_OK;
    return pawl__fail_field(op->diag, PAWL_ERR_STATE, "group", "group \"%s\" is sealed", name);
}

static enum pawl_err check_edge(struct pawl__set *set, struct pawl__op *op, size_t at)
{
    const struct pawl__new_flow *more = op->submit.flow;
    const struct pawl__flow_edge *edge = &more->edges[at];
    const struct pawl__record *child = pawl__flow_node_of(set, more->row.id, edge->child);
    const struct pawl__record *parent = pawl__flow_node_of(set, more->row.id, edge->parent);
    const struct pawl__flow_node *node = child ? &child->row.flow_node : NULL;
    bool decided = node && (node->state != PAWL_STATE_PENDING || node->given_up);
    if (is_known(more, edge->child) && (!node || decided)) {
        return pawl__fail_field(op->diag, PAWL_ERR_STATE, "requires",
                                "node \"%s\" was released, or given up", node ? node->name : "");
    }
    if (edge->on == PAWL__FLOW_ON_MEMBER || !is_known(more, edge->parent)) return PAWL_OK;
    bool ended = parent && pawl_state_is_terminal((enum pawl_state)parent->row.flow_node.state);
    if (ended == more->left[at].ended) return PAWL_OK;
    op->submit.overtaken = true; // it has left something that was not read
    return pawl__fail(op->diag, PAWL_ERR_STALE, "a node has ended meanwhile");
}

enum pawl_err pawl__flow_may_grow(struct pawl__set *set, struct pawl__op *op)
{
    const struct pawl__new_flow *more = op->submit.flow;
    struct pawl__flow_books books = find_flow(set, more->row.id);
    pawl__flow_want_more(set, more);
    if (pawl__set_lacks(set)) return PAWL_OK;
    enum pawl_err err = check_flow(op, &books);
    if (!err) err = check_by(set, op);
    for (size_t i = 0; !err && i < more->group_count; i++) {
        if (is_known(more, more->groups[i].no)) err = check_group(set, op, more->groups[i].no);
    }
    for (size_t i = 0; !err && i < more->edge_count; i++) {
        err = check_edge(set, op, i);
    }
    return err;
}

/* ---- adding ---- */

/* By so many members. */
static void grow(struct pawl__set *set, const struct pawl__new_flow *more,
                 const struct pawl__flow_group *by)
{
    struct pawl__record *group = pawl__flow_group_of(set, more->row.id, by->no);
    group->row.flow_group.tally.total += by->tally.total;
    group->changed = true;
    if (by->no <= 0) return;
    const struct pawl__record *node = pawl__flow_node_of(set, more->row.id, by->no);
    renew(set, group, pawl__flow_timer_of(set, node->row.flow_node.id), 0);
}

static void add_edge(struct pawl__set *set, const struct pawl__new_flow *more, size_t at)
{
    const struct pawl__flow_edge *edge = &more->edges[at];
    struct pawl__record *child = pawl__flow_node_of(set, more->row.id, edge->child);
    struct pawl__record *record =
        is_known(more, edge->parent)
            ? pawl__records_add(set, pawl__flow_edges_of(set, more->row.id, edge->parent), edge)
            : pawl__set_record_new(set, PAWL__RECORD_FLOW_EDGE, edge);
    if (!record || !child) return;
    if (is_known(more, edge->child)) {
        child->row.flow_node.pending++;
        child->changed = true;
    }
    bool ended = is_known(more, edge->parent) && more->left[at].ended;
    if (ended && edge->on != PAWL__FLOW_ON_MEMBER) {
        struct pawl__flow_books books = {
            .node = pawl__flow_node_of(set, more->row.id, edge->parent),
            .members = pawl__flow_group_of(set, more->row.id, edge->parent),
            .result = more->left[at].result
        };
        pawl__flow_judge_late(set, &books, record, more->left[at].attempt);
    }
}

/* A flow that has ended runs again. */
static void reopen(struct pawl__flow *flow)
{
    if (flow->state == PAWL_FLOW_RUNNING) return;
    flow->state = PAWL_FLOW_RUNNING;
    flow->finished_at_ms = 0;
    flow->reason = NULL;
    flow->reopened++;
}

/* The group of one that waits for nothing else may have opened since it was read. */
static void look_at_nodes(struct pawl__set *set, const struct pawl__new_flow *more)
{
    for (size_t i = 0; i < more->node_count; i++) {
        const struct pawl__record *record =
            pawl__flow_node_of(set, more->row.id, more->nodes[i].no);
        const struct pawl__flow_node *node = record ? &record->row.flow_node : NULL;
        bool waits = node && node->state == PAWL_STATE_PENDING;
        if (waits && !node->pending) pawl__flow_note_look(set, node);
    }
}

void pawl__flow_grow(struct pawl__set *set, const struct pawl__new_flow *more)
{
    struct pawl__flow_books books = find_flow(set, more->row.id);
    struct pawl__flow *flow = &books.flow->row.flow;
    flow->nodes += (int32_t)more->node_count;
    reopen(flow);
    books.flow->changed = true;
    pawl__flow_touch(set, books.flow);
    renew(set, books.all, books.clock, flow->deadline_at_ms);
    pawl__flow_put_nodes(set, more);
    for (size_t i = 0; i < more->group_count; i++) {
        if (more->groups[i].no <= more->known) grow(set, more, &more->groups[i]);
    }
    for (size_t i = 0; i < more->edge_count; i++) {
        add_edge(set, more, i);
    }
    look_at_nodes(set, more);
    pawl__flow_look_at_empty(set, more);
}

void pawl__flow_begin_holds(struct pawl__set *set, const struct pawl__new_flow *flow)
{
    for (size_t i = 0; i < flow->group_count; i++) {
        int32_t no = flow->groups[i].no;
        bool grows = flow->groups[i].open_ended && no > flow->known;
        if (!grows) continue;
        const struct pawl__flow_node *node = &flow->nodes[no - flow->known - 1];
        struct pawl__record *group = pawl__flow_group_of(set, flow->row.id, no);
        struct pawl__record *timer = pawl__set_record_new(
            set, PAWL__RECORD_FLOW_TIMER, &(struct pawl__flow_timer){ .id = node->id });
        if (group && timer) renew(set, group, timer, 0);
    }
    struct pawl__record *all = flow->adds ? NULL : pawl__flow_group_of(set, flow->row.id, 0);
    int64_t deadline_at_ms = flow->row.deadline_at_ms;
    if (!all || !(all->row.flow_group.open_ended || deadline_at_ms)) return;
    struct pawl__record *timer = pawl__set_record_new(
        set, PAWL__RECORD_FLOW_TIMER, &(struct pawl__flow_timer){ flow->row.id, deadline_at_ms });
    if (timer) pawl__notices_due(&set->notices, timer->row.flow_timer.at_ms);
    if (timer) renew(set, all, timer, deadline_at_ms);
}
