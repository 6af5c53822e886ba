/* Flows that have ended: their members go to the archive together, and later out of it, with all
 * rows of the flow. Both count from the end of the flow, and take a bounded number of nodes at a
 * time, in order of their numbers: `shelved` says how many are done.
 *
 * A member that cannot go (an operator has paused it, or another transaction holds it) stops its
 * flow; the others are not kept from going by that. */
#include "store/core/flow_inside.h"

#include "base/diag.h"

enum { FLOWS_MAX = 64 /* in one sweep */ };

struct retire {
    struct pawl__set *set;
    bool purges;
    int64_t left, moved; /* nodes that may still be taken, jobs that went */
    bool more, stuck;
};

static int32_t done_of(const struct retire *retire, const struct pawl__flow *flow)
{
    return retire->purges ? flow->shelved - flow->nodes : flow->shelved;
}

/* How many nodes it is about. */
static int32_t part_of(struct retire *retire, const struct pawl__flow *flow)
{
    int64_t count = flow->nodes - done_of(retire, flow);
    if (count > retire->left) count = retire->left;
    retire->left -= count;
    return (int32_t)count;
}

typedef void part_fn(struct retire *retire, struct pawl__record *flow, int32_t count);

static void each_flow(struct retire *retire, part_fn *each)
{
    const int64_t left = retire->left;
    for (size_t i = 0; i < retire->set->records.count; i++) {
        struct pawl__records *records = retire->set->records.at[i];
        if (records->kind != PAWL__RECORD_FLOW || !records->first || !records->first->there) {
            continue;
        }
        each(retire, records->first, part_of(retire, &records->first->row.flow));
    }
    retire->left = left;
}

/* ---- what is read ---- */

static struct pawl__record *signal_of(struct pawl__set *set, const struct pawl__flow_node *node)
{
    return pawl__set_want_record(set, PAWL__RECORD_FLOW_SIGNAL,
                                 &(struct pawl__flow_signal){ .flow = node->flow, .no = node->no });
}

static void want_node(const struct retire *retire, const struct pawl__flow *flow, int32_t no)
{
    struct pawl__set *set = retire->set;
    const struct pawl__record *record = pawl__flow_node_of(set, flow->id, no);
    if (retire->purges) (void)pawl__flow_edges_of(set, flow->id, no);
    if (!record) return;
    const struct pawl__flow_node *node = &record->row.flow_node;
    uint8_t need = PAWL__NEED_RUN | PAWL__NEED_STAND | PAWL__NEED_KEYS;
    if (node->kind == PAWL_FLOW_KIND_JOB) pawl__set_want(set, node->id, need);
    if (node->kind == PAWL_FLOW_KIND_GROUP) (void)pawl__flow_group_of(set, flow->id, no);
    if (node->kind == PAWL_FLOW_KIND_SIGNAL) (void)signal_of(set, node);
    if (!retire->purges) return;
    (void)pawl__set_want_record(set, PAWL__RECORD_FLOW_MEMBER,
                                &(struct pawl__flow_member){ .id = node->id });
}

static void want_part(struct retire *retire, struct pawl__record *flow, int32_t count)
{
    const struct pawl__flow *row = &flow->row.flow;
    int32_t done = done_of(retire, row);
    for (int32_t i = 1; i <= count; i++) {
        want_node(retire, row, done + i);
    }
    if (!retire->purges) return;
    (void)pawl__flow_group_of(retire->set, row->id, PAWL__FLOW_ALL);
    (void)pawl__flow_group_of(retire->set, row->id, PAWL__FLOW_WORK);
}

static enum pawl_err read_all(struct retire *retire)
{
    enum pawl_err err = PAWL_OK;
    bool lacks = true;
    while (!err && lacks) {
        each_flow(retire, want_part);
        lacks = pawl__set_lacks(retire->set);
        err = pawl__set_load(retire->set, false);
    }
    return err;
}

/* ---- what goes ---- */

static void drop(struct pawl__record *record)
{
    if (!record || !record->there) return;
    record->there = false;
    record->changed = true;
}

static void drop_node(struct pawl__set *set, const struct pawl__flow *flow,
                      struct pawl__record *record)
{
    const struct pawl__flow_node *node = &record->row.flow_node;
    const struct pawl__records *edges = pawl__flow_edges_of(set, flow->id, node->no);
    for (struct pawl__record *edge = edges->first; edge; edge = edge->next) {
        drop(edge);
    }
    if (node->kind == PAWL_FLOW_KIND_GROUP) drop(pawl__flow_group_of(set, flow->id, node->no));
    if (node->kind == PAWL_FLOW_KIND_SIGNAL) drop(signal_of(set, node));
    drop(pawl__set_want_record(set, PAWL__RECORD_FLOW_MEMBER,
                               &(struct pawl__flow_member){ .id = node->id }));
    drop(record);
}

/* False: it must stay. */
static bool retire_job(struct retire *retire, struct pawl__row *row)
{
    bool live = row->found == PAWL__FOUND_LIVE;
    if (row->found == PAWL__FOUND_HELD) return false;
    if (live && !pawl_state_is_terminal(row->state)) return false;
    bool goes = retire->purges ? row->found != PAWL__FOUND_ABSENT : live;
    if (goes && retire->purges) pawl__row_delete(retire->set, row);
    if (goes && !retire->purges) pawl__row_archive(retire->set, row);
    retire->moved += goes;
    return true;
}

static bool retire_node(struct retire *retire, const struct pawl__flow *flow, int32_t no)
{
    struct pawl__set *set = retire->set;
    struct pawl__record *record = pawl__flow_node_of(set, flow->id, no);
    if (!record) return true;
    struct pawl__row *row = pawl__set_find(set, record->row.flow_node.id);
    if (row && !retire_job(retire, row)) return false;
    if (retire->purges) drop_node(set, flow, record);
    return true;
}

static void retire_part(struct retire *retire, struct pawl__record *flow, int32_t count)
{
    struct pawl__flow *row = &flow->row.flow;
    int32_t done = done_of(retire, row), went = 0;
    while (went < count && retire_node(retire, row, done + went + 1)) {
        went++;
    }
    retire->stuck &= !went;
    row->shelved += went;
    flow->changed |= went > 0;
    bool whole = done + went == row->nodes;
    retire->more |= !whole && went;
    if (!whole || !retire->purges) return;
    drop(pawl__flow_group_of(retire->set, row->id, PAWL__FLOW_ALL));
    drop(pawl__flow_group_of(retire->set, row->id, PAWL__FLOW_WORK));
    drop(flow);
}

/* ---- the sweep ---- */

/* The next sweep looks behind flows that all are stuck, and then begins anew. */
static int64_t next_after(const struct pawl__set *set, int64_t found, bool stuck)
{
    int64_t last_ms = 0;
    for (size_t i = 0; i < set->records.count; i++) {
        const struct pawl__records *records = set->records.at[i];
        if (records->kind != PAWL__RECORD_FLOW || !records->first) continue;
        int64_t at_ms = records->first->row.flow.finished_at_ms;
        if (at_ms > last_ms) last_ms = at_ms;
    }
    return stuck && found == FLOWS_MAX ? last_ms : 0;
}

static int64_t count_flows(const struct pawl__set *set)
{
    int64_t count = 0;
    for (size_t i = 0; i < set->records.count; i++) {
        count += set->records.at[i]->kind == PAWL__RECORD_FLOW;
    }
    return count;
}

enum pawl_err pawl__flow_retire(struct pawl__set *set, struct pawl__op *op, int64_t limit)
{
    bool purges = op->kind == PAWL__OP_PURGE;
    int64_t *after_ms = &set->retired_after_ms[purges];
    struct retire retire = { .set = set, .purges = purges, .left = limit, .stuck = true };
    struct pawl__ended what = { .archived = purges,
                                .after_ms = *after_ms,
                                .before_ms = set->now_ms - op->retire.age_ms,
                                .limit = FLOWS_MAX,
                                .kept_until_ms = set->now_ms };
    enum pawl_err err = set->table->scan_ended_flows(set->backend, &what);
    int64_t found = count_flows(set);
    if (!err) err = read_all(&retire);
    if (err) return err;
    if (found) each_flow(&retire, retire_part);
    *after_ms = next_after(set, found, retire.stuck);
    op->retire.moved += retire.moved;
    op->retire.more |= retire.more || found == FLOWS_MAX;
    return set->failed ? pawl__fail_nomem(set->diag) : PAWL_OK;
}
