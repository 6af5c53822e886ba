/* Which jobs a job of a flow waited for: see pawl_flow_earlier_get. Usually these are a few, which
 * are found by going up from node to node. What takes more steps, and groups, whose members are
 * listed nowhere, take a look at the whole flow instead. */
#include "store/inputs.h"

#include "base/diag.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { READS_MAX = 16 };

/* What is found so far. */
struct earlier {
    struct pawl__store *store;
    struct pawl__arena *arena;
    struct pawl_diag *diag;
    struct pawl__flow_node own;
    bool chain;    /* of the flow: what is above an earlier step is earlier too */
    bool too_much; /* look at the whole flow */
    struct pawl__flow_node *at;
    size_t count, cap;
    struct pawl__flow_node todo[READS_MAX]; /* to go up from */
    size_t done, todo_count;
};

/* It leaves a result. Others only gather, or choose: what they waited for counts. */
static bool leaves_result(const struct pawl__flow_node *node)
{
    return node->kind == PAWL_FLOW_KIND_JOB || node->kind == PAWL_FLOW_KIND_SIGNAL;
}

static void go_up_later(struct earlier *earlier, const struct pawl__flow_node *node)
{
    for (size_t i = 0; i < earlier->todo_count; i++) {
        if (earlier->todo[i].no == node->no) return;
    }
    if (earlier->todo_count == READS_MAX) {
        earlier->too_much = true;
    } else {
        earlier->todo[earlier->todo_count++] = *node;
    }
}

static enum pawl_err take(struct earlier *earlier, const struct pawl__flow_node *node)
{
    if (earlier->count == earlier->cap) {
        size_t cap = earlier->cap ? 2 * earlier->cap : 16;
        struct pawl__flow_node *at = pawl__arena_calloc(earlier->arena, cap, sizeof *at);
        if (!at) return pawl__fail_nomem(earlier->diag);
        if (earlier->count) memcpy(at, earlier->at, earlier->count * sizeof *at);
        earlier->at = at;
        earlier->cap = cap;
    }
    earlier->at[earlier->count++] = *node;
    return PAWL_OK;
}

/* ---- step by step ---- */

static enum pawl_err look_above(struct earlier *earlier, const struct pawl__flow_node *from)
{
    struct pawl__flow_rows rows;
    const struct pawl__flow_ask ask = { PAWL__FLOW_ASK_PARENTS, .id = from->id };
    enum pawl_err err =
        pawl__store_flows(earlier->store, &ask, earlier->arena, &rows, earlier->diag);
    for (size_t i = 0; !err && i < rows.nodes_count && !earlier->too_much; i++) {
        const struct pawl__flow_node *node = &rows.nodes[i];
        bool around = node->no == from->group;
        if (around || earlier->chain || !leaves_result(node)) go_up_later(earlier, node);
        if (!around && node->kind == PAWL_FLOW_KIND_GROUP) earlier->too_much = true;
        if (!around && leaves_result(node)) err = take(earlier, node);
    }
    return err;
}

static int by_number(const void *a, const void *b)
{
    const struct pawl__flow_node *left = a, *right = b;
    return (left->no > right->no) - (left->no < right->no);
}

/* A node that several ways lead to was taken by each. */
static void sort(struct earlier *earlier)
{
    size_t count = 0;
    if (!earlier->count) return;
    qsort(earlier->at, earlier->count, sizeof *earlier->at, by_number);
    for (size_t i = 0; i < earlier->count; i++) {
        if (count && earlier->at[i].no == earlier->at[count - 1].no) continue;
        earlier->at[count++] = earlier->at[i];
    }
    earlier->count = count;
}

static enum pawl_err climb(struct earlier *earlier)
{
    enum pawl_err err = PAWL_OK;
    go_up_later(earlier, &earlier->own);
    while (!err && !earlier->too_much && earlier->done < earlier->todo_count) {
        err = look_above(earlier, &earlier->todo[earlier->done++]);
    }
    sort(earlier);
    return err;
}

/* ---- the whole flow at once ---- */

/* Nodes by their numbers, counted from 1; edges in order of their children. */
struct whole {
    struct pawl__flow_rows rows;
    bool chain;
    size_t *edges;         /* of each node, and where the last one's end */
    int32_t *first, *next; /* members of a group, a list by number; 0: none */
    bool *seen, *above;    /* found; what is above it was */
    int32_t *stack;        /* to go up from */
    size_t height;
};

static bool make_room(struct whole *whole, struct pawl__arena *arena)
{
    size_t count = whole->rows.nodes_count + 2;
    whole->edges = pawl__arena_calloc(arena, count, sizeof *whole->edges);
    whole->first = pawl__arena_calloc(arena, count, sizeof *whole->first);
    whole->next = pawl__arena_calloc(arena, count, sizeof *whole->next);
    whole->seen = pawl__arena_calloc(arena, count, sizeof *whole->seen);
    whole->above = pawl__arena_calloc(arena, count, sizeof *whole->above);
    whole->stack = pawl__arena_calloc(arena, count, sizeof *whole->stack);
    return whole->edges && whole->first && whole->next && whole->seen && whole->above &&
           whole->stack;
}

static void index_whole(struct whole *whole)
{
    const struct pawl__flow_rows *rows = &whole->rows;
    size_t edge = 0;
    for (size_t i = 0; i < rows->nodes_count; i++) {
        int32_t no = rows->nodes[i].no, group = rows->nodes[i].group;
        assert(no == (int32_t)i + 1);
        whole->edges[no] = edge;
        while (edge < rows->edges_count && rows->edges[edge].child == no) {
            edge++;
        }
        whole->next[no] = whole->first[group];
        whole->first[group] = no;
    }
    whole->edges[rows->nodes_count + 1] = edge;
}

static void push(struct whole *whole, int32_t no)
{
    if (whole->above[no]) return;
    whole->above[no] = true;
    whole->stack[whole->height++] = no; // each is on it once at most
}

/* The work within a group, at any depth, whatever order it has there. */
static void see_members(struct whole *whole, int32_t group)
{
    for (int32_t no = whole->first[group]; no; no = whole->next[no]) {
        const struct pawl__flow_node *node = &whole->rows.nodes[no - 1];
        if (whole->seen[no] || node->traits & PAWL__FLOW_CALLBACK) continue;
        whole->seen[no] = true;
        if (node->kind == PAWL_FLOW_KIND_GROUP) see_members(whole, no); // a few levels
    }
}

static void look_above_in(struct whole *whole, int32_t from)
{
    for (size_t i = whole->edges[from]; i < whole->edges[from + 1]; i++) {
        const struct pawl__flow_edge *edge = &whole->rows.edges[i];
        if (edge->on == PAWL__FLOW_ON_MEMBER) continue;
        const struct pawl__flow_node *node = &whole->rows.nodes[edge->parent - 1];
        whole->seen[node->no] = true;
        if (node->kind == PAWL_FLOW_KIND_GROUP) see_members(whole, node->no);
        bool passes = !leaves_result(node) && node->kind != PAWL_FLOW_KIND_GROUP;
        if (whole->chain || passes) push(whole, node->no);
    }
}

static enum pawl_err survey(struct earlier *earlier)
{
    struct whole whole = { .chain = earlier->chain };
    const struct pawl__flow_ask ask = { PAWL__FLOW_ASK_NODES, .id = earlier->own.flow };
    enum pawl_err err =
        pawl__store_flows(earlier->store, &ask, earlier->arena, &whole.rows, earlier->diag);
    if (err) return err;
    if (!make_room(&whole, earlier->arena)) return pawl__fail_nomem(earlier->diag);
    index_whole(&whole);
    size_t count = whole.rows.nodes_count;
    int32_t around = earlier->own.no;
    while (around > 0 && (size_t)around <= count) { // itself, and the groups that it is in
        push(&whole, around);
        around = whole.rows.nodes[around - 1].group;
    }
    while (whole.height) {
        look_above_in(&whole, whole.stack[--whole.height]);
    }
    earlier->count = 0;
    for (size_t i = 0; !err && i < count; i++) {
        const struct pawl__flow_node *node = &whole.rows.nodes[i];
        if (whole.seen[node->no] && leaves_result(node)) whole.rows.nodes[earlier->count++] = *node;
    }
    earlier->at = whole.rows.nodes;
    return err;
}

/* ---- all ---- */

static enum pawl_err is_chain(struct earlier *earlier)
{
    struct pawl__flow_rows rows;
    const struct pawl__flow_ask ask = { PAWL__FLOW_ASK_ONE, .id = earlier->own.flow };
    enum pawl_err err =
        pawl__store_flows(earlier->store, &ask, earlier->arena, &rows, earlier->diag);
    if (err) return err;
    earlier->chain = rows.flows_count && strcmp(rows.flows[0].layout, "chain") == 0;
    return PAWL_OK;
}

static bool waited(const struct pawl__flow_node *node)
{
    return node->group || node->pending || node->good || node->dead || node->broken;
}

enum pawl_err pawl__store_earlier(struct pawl__store *store, struct pawl_job_id job,
                                  struct pawl__arena *arena, struct pawl_flow_inputs *out,
                                  struct pawl_diag *diag)
{
    struct pawl__flow_rows rows;
    const struct pawl__flow_ask ask = { PAWL__FLOW_ASK_EARLIER, .id = job };
    *out = (struct pawl_flow_inputs){ .node = "" };
    enum pawl_err err = pawl__store_flows(store, &ask, arena, &rows, diag);
    if (err) return err;
    if (rows.seen) {
        *out = rows.seen->inputs;
        return PAWL_OK;
    }
    if (!rows.own_count) return pawl__inputs_parent(store, job, arena, out, diag);
    struct earlier earlier = { store, arena, diag, .own = *rows.own };
    out->flow = rows.own->flow;
    out->node = rows.own->name;
    out->callback = rows.own->traits & PAWL__FLOW_CALLBACK;
    if (!waited(rows.own)) return PAWL_OK;
    err = is_chain(&earlier);
    if (!err) err = climb(&earlier);
    if (!err && earlier.too_much) err = survey(&earlier);
    if (!err) err = pawl__inputs_fill(store, earlier.at, earlier.count, arena, out, diag);
    return err;
}

enum pawl_err pawl__store_flow_of(struct pawl__store *store, struct pawl_job_id job,
                                  struct pawl__arena *arena, struct pawl_flow_inputs *out,
                                  struct pawl_diag *diag)
{
    struct pawl__flow_rows rows;
    const struct pawl__flow_ask ask = { PAWL__FLOW_ASK_OWN, .id = job };
    *out = (struct pawl_flow_inputs){ .node = "" };
    enum pawl_err err = pawl__store_flows(store, &ask, arena, &rows, diag);
    if (err) return err;
    if (rows.seen) {
        *out = rows.seen->inputs;
        return PAWL_OK;
    }
    if (!rows.own_count) return pawl__inputs_refuse(job, diag);
    out->flow = rows.own->flow;
    out->node = rows.own->name;
    out->callback = rows.own->traits & PAWL__FLOW_CALLBACK;
    return PAWL_OK;
}
