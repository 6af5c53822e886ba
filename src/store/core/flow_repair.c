/* The repair pass over flows: what doubts.h lists is mended, and the rest follows by the same code
 * as when a job ends. Flows that nothing has changed for a while are compared with their jobs, each
 * at most every ten minutes.
 *
 * The rows of the flows are locked by the scan, which waits for none, and no other flow is looked
 * at: so sweeps on several nodes neither meet nor block each other. */
#include "store/core/doubts.h"
#include "store/core/flow_inside.h"

#include "base/diag.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    FLOWS_MAX = 100,   /* in one sweep */
    NODES_MAX = 20000, /* of all of them together; but at least one flow */
    DOUBTS_MAX = 1000, /* in one sweep */
    QUIET_MS = 60000,  /* a flow is compared when nothing has changed it for so long */
    QUIET_STEP_MS = QUIET_MS / 2,
    PAUSE_MS = 600000, /* until it is compared again */
    SOON_MS = 1000     /* the same, if there was no room for all that is to be mended */
};

/* ---- findings ---- */

static const char *const texts[] = {
#define X(number, name, text) [number] = (text),
    PAWL__FLOW_DOUBTS(X)
#undef X
};

void pawl__flow_doubt_text(const struct pawl__flow_doubt *doubt, char out[PAWL__FLOW_DOUBT_BYTES])
{
    char id[PAWL_JOB_ID_TEXT_BYTES], node[32] = "";
    bool known = doubt->what > 0 && doubt->what < PAWL__FLOW_DOUBT_END;
    pawl_job_id_text(doubt->flow, id);
    if (doubt->no > 0) snprintf(node, sizeof node, "node %d ", (int)doubt->no);
    snprintf(out, PAWL__FLOW_DOUBT_BYTES, "flow \"%s\": %s%s", id, node,
             known ? texts[doubt->what] : "is damaged");
}

/* ---- when a flow is compared ---- */

/* Not at each change: that would be one more row for each commit. */
void pawl__flow_touch(struct pawl__set *set, struct pawl__record *flow)
{
    if (!flow) return; // no memory: the set has failed
    struct pawl__flow *row = &flow->row.flow;
    if (row->finished_at_ms || row->recount_at_ms >= set->now_ms + QUIET_STEP_MS) return;
    row->recount_at_ms = set->now_ms + QUIET_MS;
    flow->changed = true;
}

/* ---- mending ---- */

struct pass {
    struct pawl__set *set;
    struct pawl__flow_doubt *doubts;
    size_t count;
};

static void take(void *ctx, const struct pawl__flow_doubt *doubt)
{
    struct pass *pass = ctx;
    if (pass->count < DOUBTS_MAX) pass->doubts[pass->count++] = *doubt;
}

/* The row of a flow that the scan has locked; NULL: it is not one of them. */
static struct pawl__record *stale_flow(const struct pawl__set *set, struct pawl_job_id id)
{
    for (size_t i = 0; i < set->records.count; i++) {
        const struct pawl__records *records = set->records.at[i];
        if (records->kind != PAWL__RECORD_FLOW || !records->first) continue;
        if (memcmp(&records->first->row.flow.id, &id, sizeof id) == 0) return records->first;
    }
    return NULL;
}

static struct pawl__unsettled about(const struct pawl__flow_doubt *doubt)
{
    bool is_end = doubt->what == PAWL__FLOW_DOUBT_VERDICT;
    return (struct pawl__unsettled){ .to = is_end ? (enum pawl_state)doubt->state : PAWL_STATE_NONE,
                                     .details = doubt->result,
                                     .flow = doubt->flow,
                                     .node = doubt->no };
}

/* A group has the number of its node; ALL and WORK have none. */
static void find(struct pawl__set *set, const struct pawl__flow_doubt *doubt,
                 struct pawl__flow_books *out)
{
    const struct pawl__unsettled entry = about(doubt);
    if (doubt->no > 0) {
        pawl__flow_find_books(set, &entry, out);
        return;
    }
    *out = (struct pawl__flow_books){ .flow = pawl__flow_of(set, doubt->flow) };
    out->group = pawl__flow_group_of(set, doubt->flow, doubt->no);
    out->all = out->members = out->group;
}

static void want(struct pawl__set *set, const struct pawl__flow_doubt *doubt)
{
    struct pawl__flow_books books;
    find(set, doubt, &books);
    bool judges = doubt->what == PAWL__FLOW_DOUBT_VERDICT;
    if (!books.node || (!judges && doubt->what != PAWL__FLOW_DOUBT_LIVE)) return;
    const struct pawl__flow_node *node = &books.node->row.flow_node;
    if (node->kind == PAWL_FLOW_KIND_JOB) pawl__set_want(set, node->id, PAWL__FLOW_NEED);
    if (!judges || !books.edges || !books.edges->read) return;
    for (const struct pawl__record *edge = books.edges->first; edge; edge = edge->next) {
        (void)pawl__flow_node_of(set, edge->row.flow_edge.flow, edge->row.flow_edge.child);
    }
}

static void set_tally(struct pawl__record *group, const struct pawl__flow_doubt *doubt)
{
    const int64_t *n = doubt->n;
    if (!group) return;
    group->row.flow_group.tally = (struct pawl__flow_tally){ n[0], n[1], n[2], n[3], n[4], n[5] };
    group->changed = true;
}

static void set_edges(struct pawl__record *record, const struct pawl__flow_doubt *doubt)
{
    struct pawl__flow_node *node = &record->row.flow_node;
    node->pending = (int32_t)doubt->n[0];
    node->good = (int32_t)doubt->n[1];
    node->dead = (int32_t)doubt->n[2];
    node->broken = (int32_t)doubt->n[3];
    record->changed = true;
}

/* Verdicts of its edges stand, until it ends again. */
static void set_live(struct pawl__set *set, struct pawl__flow_books *books)
{
    struct pawl__flow_node *node = &books->node->row.flow_node;
    const struct pawl__row *row = pawl__set_find(set, node->id);
    bool waits = node->kind == PAWL_FLOW_KIND_JOB && row && pawl__flow_is_held_back(row);
    pawl__flow_count(books->group, node, (enum pawl_state)node->state, -1);
    if (pawl__flow_is_work(node)) {
        pawl__flow_count(books->work, node, (enum pawl_state)node->state, -1);
    }
    node->state = waits ? PAWL_STATE_PENDING : PAWL_STATE_ACTIVE;
    node->finished_at_ms = 0;
    books->node->changed = true;
    if (waits) pawl__flow_note_look(set, node);
}

/* Released once more, by a look. */
static void set_pending(struct pawl__set *set, struct pawl__record *record)
{
    record->row.flow_node.state = PAWL_STATE_PENDING;
    record->changed = true;
    pawl__flow_note_look(set, &record->row.flow_node);
}

static void set_ended(struct pawl__set *set, const struct pawl__flow_node *node,
                      const struct pawl__flow_doubt *doubt)
{
    struct pawl__flow_node ended = *node;
    if (doubt->result.len) ended.result = doubt->result;
    pawl__flow_note(set, &ended, (enum pawl_state)doubt->state);
}

/* A job that another transaction holds is asked again in a while. */
static void judge_again(struct pawl__set *set, struct pawl__flow_books *books,
                        const struct pawl__flow_doubt *doubt)
{
    const struct pawl__row *row = pawl__set_find(set, books->node->row.flow_node.id);
    bool held = row && row->found == PAWL__FOUND_HELD;
    bool ended = pawl_state_is_terminal((enum pawl_state)books->node->row.flow_node.state);
    if (!held && ended) pawl__flow_judge_edges(set, books, (enum pawl_state)doubt->state);
}

static void end_over(struct pawl__set *set, const struct pawl__flow_books *books)
{
    if (!books->members || !pawl__flow_is_over(books->members)) return;
    pawl__flow_note_group_end(set, books->node, books->members);
}

static void mend_node(struct pawl__set *set, struct pawl__flow_books *books,
                      const struct pawl__flow_doubt *doubt)
{
    switch (doubt->what) {
    case PAWL__FLOW_DOUBT_GROUP:
        set_tally(books->members, doubt);
        break;
    case PAWL__FLOW_DOUBT_EDGES:
        set_edges(books->node, doubt);
        break;
    case PAWL__FLOW_DOUBT_LIVE:
        set_live(set, books);
        if (doubt->state) set_ended(set, &books->node->row.flow_node, doubt);
        break;
    case PAWL__FLOW_DOUBT_VERDICT:
        judge_again(set, books, doubt);
        break;
    case PAWL__FLOW_DOUBT_ENDED:
    case PAWL__FLOW_DOUBT_GONE:
    case PAWL__FLOW_DOUBT_STUCK:
        set_ended(set, &books->node->row.flow_node, doubt);
        break;
    case PAWL__FLOW_DOUBT_UNRELEASED:
        set_pending(set, books->node);
        break;
    case PAWL__FLOW_DOUBT_OVER:
        end_over(set, books);
        break;
    default:
        assert(doubt->what == PAWL__FLOW_DOUBT_DECIDED);
        pawl__flow_note_look(set, &books->node->row.flow_node);
        break;
    }
}

static void mend(struct pawl__set *set, const struct pawl__flow_doubt *doubt)
{
    struct pawl__flow_books books;
    find(set, doubt, &books);
    if (doubt->no > 0) {
        if (pawl__flow_is_whole(&books)) mend_node(set, &books, doubt);
        return;
    }
    if (doubt->what == PAWL__FLOW_DOUBT_GROUP) set_tally(books.group, doubt);
    bool over = doubt->what == PAWL__FLOW_DOUBT_UNFINISHED && books.group;
    if (over) pawl__flow_end_group(set, &books);
}

static enum pawl_err mend_all(struct pass *pass)
{
    struct pawl__set *set = pass->set;
    enum pawl_err err = PAWL_OK;
    bool lacks = true;
    while (!err && lacks) {
        for (size_t i = 0; i < pass->count; i++) {
            want(set, &pass->doubts[i]);
        }
        lacks = pawl__set_lacks(set);
        err = pawl__set_load(set, false);
    }
    for (size_t i = 0; !err && i < pass->count; i++) {
        mend(set, &pass->doubts[i]);
    }
    return err;
}

/* ---- the pass ---- */

/* The last instant at which one of them was due, of as many as are looked at now: they come in this
 * order. How many were found is put into `*count`. */
static int64_t last_due(const struct pawl__set *set, int64_t *count)
{
    int64_t last_ms = 0, nodes = 0;
    *count = 0;
    for (size_t i = 0; i < set->records.count; i++) {
        const struct pawl__records *records = set->records.at[i];
        if (records->kind != PAWL__RECORD_FLOW || !records->first) continue;
        const struct pawl__flow *flow = &records->first->row.flow;
        nodes += flow->nodes;
        if (!*count || nodes <= NODES_MAX) last_ms = flow->recount_at_ms;
        ++*count;
    }
    return last_ms;
}

static void keep_own(struct pass *pass)
{
    size_t kept = 0;
    for (size_t i = 0; i < pass->count; i++) {
        if (!stale_flow(pass->set, pass->doubts[i].flow)) continue;
        pass->doubts[kept++] = pass->doubts[i];
    }
    pass->count = kept;
}

static void put_off(struct pawl__set *set, int64_t until_ms, int64_t for_ms)
{
    for (size_t i = 0; i < set->records.count; i++) {
        struct pawl__records *records = set->records.at[i];
        if (records->kind != PAWL__RECORD_FLOW || !records->first) continue;
        struct pawl__flow *flow = &records->first->row.flow;
        if (flow->finished_at_ms || flow->recount_at_ms > until_ms) continue; // it ended by this
        flow->recount_at_ms = set->now_ms + for_ms;
        records->first->changed = true;
    }
}

enum pawl_err pawl__flow_repair(struct pawl__set *set, bool *more)
{
    struct pass pass = { .set = set };
    int64_t flows;
    enum pawl_err err = set->table->scan_flows(set->backend, FLOWS_MAX);
    int64_t until_ms = last_due(set, &flows);
    if (err || !flows) return err;
    pass.doubts = pawl__arena_alloc(&set->arena, DOUBTS_MAX * sizeof *pass.doubts);
    if (!pass.doubts) return pawl__fail_nomem(set->diag);
    err = set->table->flow_doubts(set->backend, until_ms, DOUBTS_MAX, take, &pass);
    bool full = pass.count == DOUBTS_MAX;
    keep_own(&pass);
    if (!err) err = mend_all(&pass);
    if (!err) put_off(set, until_ms, full ? SOON_MS : PAUSE_MS);
    *more = full || flows == FLOWS_MAX;
    return !err && set->failed ? pawl__fail_nomem(set->diag) : err;
}
