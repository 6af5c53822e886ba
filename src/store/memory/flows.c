/* Flows: how they are read.
 *
 * Runs on: the caller's thread. */
#include "store/memory/memory.h"

#include "base/diag.h"

#include <stdlib.h>
#include <string.h>

/* An array in an arena that grows. */
struct rows {
    struct pawl__arena *arena;
    void *at;
    size_t count;
};

static bool add(struct rows *rows, enum pawl__mem_table table, const void *data)
{
    size_t bytes = pawl__mem_shapes[table].of->bytes;
    if (!(rows->count & (rows->count - 1))) { // full only at powers of two
        void *grown = pawl__arena_calloc(rows->arena, rows->count ? rows->count * 2 : 1, bytes);
        if (!grown) return false;
        if (rows->count) memcpy(grown, rows->at, rows->count * bytes);
        rows->at = grown;
    }
    return pawl__mem_copy(table, data, rows->arena, (char *)rows->at + rows->count++ * bytes);
}

static bool same(struct pawl_job_id a, struct pawl_job_id b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* The row that begins with the flow and a number, or the first one behind that. */
static const struct pawl__mem_row *from(const struct pawl__backend *mem, enum pawl__mem_table table,
                                        const void *key)
{
    const struct pawl__mem_row probe = { .shape = &pawl__mem_shapes[table], .data = key };
    return pawl__mem_from(pawl__mem_index_of(mem, table, PAWL__MEM_BY_KEY), &probe);
}

static const struct pawl__mem_row *next(const struct pawl__backend *mem, enum pawl__mem_table table,
                                        const struct pawl__mem_row *row)
{
    return pawl__mem_after(pawl__mem_index_of(mem, table, PAWL__MEM_BY_KEY), row);
}

static bool list_groups(const struct pawl__backend *mem, struct pawl_job_id flow, bool all,
                        struct rows *out)
{
    const struct pawl__flow_group key = { .flow = flow, .no = PAWL__FLOW_WORK };
    const struct pawl__mem_row *row = from(mem, PAWL__MEM_RECORD(FLOW_GROUP), &key);
    for (; row; row = next(mem, PAWL__MEM_RECORD(FLOW_GROUP), row)) {
        const struct pawl__flow_group *group = row->data;
        if (!same(group->flow, flow)) break;
        if (!all && group->no > PAWL__FLOW_ALL) break;
        if (!add(out, PAWL__MEM_RECORD(FLOW_GROUP), group)) return false;
    }
    return true;
}

static bool list_nodes(const struct pawl__backend *mem, struct pawl_job_id flow, struct rows *out)
{
    const struct pawl__flow_node key = { .flow = flow };
    const struct pawl__mem_row *row = from(mem, PAWL__MEM_RECORD(FLOW_NODE), &key);
    for (; row; row = next(mem, PAWL__MEM_RECORD(FLOW_NODE), row)) {
        const struct pawl__flow_node *node = row->data;
        if (!same(node->flow, flow)) break;
        if (!add(out, PAWL__MEM_RECORD(FLOW_NODE), node)) return false;
    }
    return true;
}

static bool list_signals(const struct pawl__backend *mem, struct pawl_job_id flow, struct rows *out)
{
    const struct pawl__flow_signal key = { .flow = flow };
    const struct pawl__mem_row *row = from(mem, PAWL__MEM_RECORD(FLOW_SIGNAL), &key);
    for (; row; row = next(mem, PAWL__MEM_RECORD(FLOW_SIGNAL), row)) {
        const struct pawl__flow_signal *signal = row->data;
        if (!same(signal->flow, flow)) break;
        if (!add(out, PAWL__MEM_RECORD(FLOW_SIGNAL), signal)) return false;
    }
    return true;
}

static bool list_edges(const struct pawl__backend *mem, struct pawl_job_id flow, struct rows *out)
{
    const struct pawl__flow_edge key = { .flow = flow };
    const struct pawl__mem_row *row = from(mem, PAWL__MEM_RECORD(FLOW_EDGE), &key);
    for (; row; row = next(mem, PAWL__MEM_RECORD(FLOW_EDGE), row)) {
        const struct pawl__flow_edge *edge = row->data;
        if (!same(edge->flow, flow)) break;
        if (!add(out, PAWL__MEM_RECORD(FLOW_EDGE), edge)) return false;
    }
    return true;
}

static int by_child(const void *a, const void *b)
{
    const struct pawl__flow_edge *left = a, *right = b;
    if (left->child != right->child) return left->child < right->child ? -1 : 1;
    return left->parent < right->parent ? -1 : left->parent > right->parent;
}

static bool passes(const struct pawl__flow *flow, const struct pawl__flow_ask *ask)
{
    if (ask->what == PAWL__FLOW_ASK_ONE) return same(flow->id, ask->id);
    bool behind = memcmp(&flow->id, &ask->id, sizeof flow->id) < 0;
    bool named = !ask->name || !*ask->name || strcmp(flow->name, ask->name) == 0;
    return behind && named && (!ask->state || flow->state == (int32_t)ask->state);
}

/* Newest first. */
static bool list_flows(const struct pawl__backend *mem, const struct pawl__flow_ask *ask,
                       struct rows *flows, struct rows *groups)
{
    const struct pawl__mem_index *index =
        pawl__mem_index_of(mem, PAWL__MEM_RECORD(FLOW), PAWL__MEM_BY_KEY);
    size_t limit = ask->what == PAWL__FLOW_ASK_ONE ? 1 : (size_t)ask->limit;
    const struct pawl__mem_row *row = pawl__mem_before(index, NULL);
    for (; row && flows->count < limit; row = pawl__mem_before(index, row)) {
        const struct pawl__flow *flow = row->data;
        if (!passes(flow, ask)) continue;
        bool added = add(flows, PAWL__MEM_RECORD(FLOW), flow) &&
                     list_groups(mem, flow->id, false, groups);
        if (!added) return false;
    }
    return true;
}

static bool add_node(const struct pawl__backend *mem, struct pawl_job_id flow, int32_t no,
                     struct rows *out)
{
    const struct pawl__flow_node key = { .flow = flow, .no = no };
    const struct pawl__mem_row *row =
        pawl__mem_find(mem, PAWL__MEM_RECORD(FLOW_NODE), pawl__mem_no_job, &key);
    return !row || add(out, PAWL__MEM_RECORD(FLOW_NODE), row->data);
}

/* With its group, if that has an edge to it. `out`: NULL: the node alone. */
static bool list_parents(const struct pawl__backend *mem, struct pawl_job_id id, struct rows *own,
                         struct rows *out)
{
    const struct pawl__flow_member key = { .id = id };
    const struct pawl__mem_row *row =
        pawl__mem_find(mem, PAWL__MEM_RECORD(FLOW_MEMBER), pawl__mem_no_job, &key);
    if (!row) return true;
    const struct pawl__flow_member *member = row->data;
    struct rows edges = { .arena = own->arena };
    if (!add_node(mem, member->flow, member->no, own)) return false;
    if (!out) return true;
    if (!list_edges(mem, member->flow, &edges)) return false;
    const struct pawl__flow_edge *edge = edges.at;
    for (size_t i = 0; i < edges.count; i++) {
        if (edge[i].child != member->no) continue;
        if (!add_node(mem, member->flow, edge[i].parent, out)) return false;
    }
    return true;
}

static bool list(const struct pawl__backend *mem, const struct pawl__flow_ask *ask,
                 struct pawl__arena *arena, struct pawl__flow_rows *out)
{
    struct rows flows = { arena }, groups = { arena }, nodes = { arena };
    struct rows edges = { arena }, own = { arena }, signals = { arena };
    bool ok;
    switch (ask->what) {
    case PAWL__FLOW_ASK_NODES:
        ok = list_groups(mem, ask->id, true, &groups) && list_nodes(mem, ask->id, &nodes) &&
             list_edges(mem, ask->id, &edges) && list_signals(mem, ask->id, &signals);
        break;
    case PAWL__FLOW_ASK_PARENTS:
        ok = list_parents(mem, ask->id, &own, &nodes);
        break;
    case PAWL__FLOW_ASK_OWN:
    case PAWL__FLOW_ASK_EARLIER:
        ok = list_parents(mem, ask->id, &own, NULL);
        break;
    default:
        ok = list_flows(mem, ask, &flows, &groups);
        break;
    }
    if (edges.count) qsort(edges.at, edges.count, sizeof(struct pawl__flow_edge), by_child);
    *out = (struct pawl__flow_rows){ .flows = flows.at,
                                     .groups = groups.at,
                                     .nodes = nodes.at,
                                     .edges = edges.at,
                                     .own = own.at,
                                     .signals = signals.at,
                                     .flows_count = flows.count,
                                     .groups_count = groups.count,
                                     .nodes_count = nodes.count,
                                     .edges_count = edges.count,
                                     .own_count = own.count,
                                     .signals_count = signals.count };
    return ok;
}

enum pawl_err pawl__mem_flows(struct pawl__backend *mem, const struct pawl__flow_ask *ask,
                              struct pawl__arena *arena, struct pawl__flow_rows *out,
                              struct pawl_diag *diag)
{
    pawl__lock(&mem->mutex);
    bool ok = list(mem, ask, arena, out);
    pawl__unlock(&mem->mutex);
    return ok ? PAWL_OK : pawl__fail_nomem(diag);
}
