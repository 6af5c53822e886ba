/* Adding nodes to a flow that runs. What is there is read first, so that names can be resolved and
 * the whole is checked like a new flow: then the rows of the new nodes are stored, if nobody else
 * has added to the flow in between; otherwise all of it is done again. */
#include "api/check.h"
#include "api/flow.h"
#include "base/diag.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES_MAX = 32, RESULTS_BYTES_MAX = 64 * 1024 * 1024 };

struct name {
    const char *text;
    size_t at;
};

/* One try. */
struct growth {
    struct pawl *pawl;
    const struct pawl_flow_addition *from;
    struct pawl__arena *arena;
    struct pawl_diag *diag;
    struct pawl__flow_rows rows;  /* of what is there */
    struct name *names;           /* in order */
    struct pawl_flow_node *nodes; /* those that are there, then the new ones */
    bool *begun;
    struct pawl__flow_left *left;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

/* The index of a node that is there; the count if there is none. */
static size_t find(const struct growth *growth, const char *text)
{
    const struct name key = { .text = text ? text : "" };
    const struct name *name = growth->rows.nodes_count
                                  ? bsearch(&key, growth->names, growth->rows.nodes_count,
                                            sizeof *growth->names, compare_names)
                                  : NULL;
    return name ? name->at : growth->rows.nodes_count;
}

/* ---- what is there ---- */

static enum pawl_err refuse_unknown(const struct growth *growth)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(growth->from->flow, text);
    return pawl__fail(growth->diag, PAWL_ERR_NOT_FOUND, "there is no flow \"%s\"", text);
}

/* A flow may have no nodes yet. */
static enum pawl_err read_rows(struct growth *growth)
{
    struct pawl__flow_rows flow;
    struct pawl__flow_ask ask = { PAWL__FLOW_ASK_NODES, .id = growth->from->flow };
    struct pawl__store *store = growth->pawl->store;
    enum pawl_err err = pawl__store_flows(store, &ask, growth->arena, &growth->rows, growth->diag);
    if (!err && growth->rows.seen) {
        err = pawl__fail(growth->diag, PAWL_ERR_UNSUPPORTED,
                         "a store on a server cannot add nodes to flows");
    }
    if (err || growth->rows.nodes_count) return err;
    ask.what = PAWL__FLOW_ASK_ONE;
    err = pawl__store_flows(store, &ask, growth->arena, &flow, growth->diag);
    return !err && !flow.flows_count ? refuse_unknown(growth) : err;
}

static bool make_room(struct growth *growth)
{
    size_t known = growth->rows.nodes_count, count = known + growth->from->node_count + 1;
    growth->names = pawl__arena_calloc(growth->arena, known + 1, sizeof *growth->names);
    growth->begun = pawl__arena_calloc(growth->arena, known + 1, sizeof *growth->begun);
    growth->nodes = pawl__arena_calloc(growth->arena, count, sizeof *growth->nodes);
    return growth->names && growth->begun && growth->nodes;
}

static void fill_known(struct growth *growth)
{
    const struct pawl__flow_rows *rows = &growth->rows;
    for (size_t i = 0; i < rows->nodes_count; i++) {
        const struct pawl__flow_node *row = &rows->nodes[i];
        growth->nodes[i] = (struct pawl_flow_node){
            .name = row->name,
            .kind = (enum pawl_flow_kind)row->kind,
            .group = row->group ? rows->nodes[row->group - 1].name : NULL,
            .select = (enum pawl_flow_select)row->select,
        };
        growth->begun[i] = row->state != PAWL_STATE_PENDING;
        growth->names[i] = (struct name){ row->name, i };
    }
    if (rows->nodes_count)
        qsort(growth->names, rows->nodes_count, sizeof *growth->names, compare_names);
}

/* Edges are in order of the child. */
static bool fill_edges(struct growth *growth)
{
    const struct pawl__flow_rows *rows = &growth->rows;
    struct pawl_flow_edge *edges =
        pawl__arena_calloc(growth->arena, rows->edges_count + 1, sizeof *edges);
    for (size_t i = 0; edges && i < rows->edges_count; i++) {
        const struct pawl__flow_edge *row = &rows->edges[i];
        struct pawl_flow_node *child = &growth->nodes[row->child - 1];
        if (row->on == PAWL__FLOW_ON_MEMBER) continue;
        if (!child->after_count) child->after = edges;
        child->after_count++;
        *edges++ = (struct pawl_flow_edge){ .parent = growth->nodes[row->parent - 1].name,
                                            .on = (enum pawl_flow_on)row->on,
                                            .arm = row->arm,
                                            .otherwise = row->otherwise };
    }
    return edges;
}

/* ---- what is new ---- */

static bool is_new(const struct growth *growth, const char *name)
{
    for (size_t i = 0; name && i < growth->from->node_count; i++) {
        const char *own = growth->from->nodes[i].name;
        if (own && strcmp(own, name) == 0) return true;
    }
    return false;
}

static enum pawl_err add_require(struct growth *growth, const struct pawl_flow_require *require)
{
    size_t at = find(growth, require->child);
    const char *name = require->child ? require->child : "";
    if (at == growth->rows.nodes_count) {
        return pawl__fail_field(growth->diag, PAWL_ERR_ARG, "requires",
                                "the flow has no node \"%s\"", name);
    }
    if (!is_new(growth, require->edge.parent)) {
        return pawl__fail_field(growth->diag, PAWL_ERR_ARG, "requires",
                                "node \"%s\" can only wait for one of the new nodes", name);
    }
    struct pawl_flow_node *child = &growth->nodes[at];
    struct pawl_flow_edge *edges =
        pawl__arena_alloc(growth->arena, (child->after_count + 1) * sizeof *edges);
    if (!edges) return pawl__fail_nomem(growth->diag);
    if (child->after_count) memcpy(edges, child->after, child->after_count * sizeof *edges);
    edges[child->after_count++] = require->edge;
    child->after = edges;
    return PAWL_OK;
}

/* How many of the new names are there already; one of them. */
static size_t count_there(const struct growth *growth, const char **name)
{
    size_t there = 0;
    for (size_t i = 0; i < growth->from->node_count; i++) {
        if (find(growth, growth->from->nodes[i].name) == growth->rows.nodes_count) continue;
        *name = growth->from->nodes[i].name;
        there++;
    }
    return there;
}

static enum pawl_err fill_new(struct growth *growth)
{
    const struct pawl_flow_addition *from = growth->from;
    enum pawl_err err = PAWL_OK;
    if (from->node_count)
        memcpy(&growth->nodes[growth->rows.nodes_count], from->nodes,
               from->node_count * sizeof *from->nodes);
    for (size_t i = 0; !err && i < from->require_count; i++) {
        err = add_require(growth, &from->requires[i]);
    }
    return err;
}

/* ---- what parents have left ---- */

static bool same(struct pawl_job_id a, struct pawl_job_id b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static const struct pawl__flow_node *ended_parent(const struct growth *growth,
                                                  const struct pawl__flow_edge *edge)
{
    bool known = (size_t)edge->parent <= growth->rows.nodes_count;
    const struct pawl__flow_node *node = known ? &growth->rows.nodes[edge->parent - 1] : NULL;
    bool ended = node && pawl_state_is_terminal((enum pawl_state)node->state);
    return ended && edge->on != PAWL__FLOW_ON_MEMBER ? node : NULL;
}

/* What a job left that has ended. Of all that is read only the result is kept, and those of all
 * parents have a limit. */
static enum pawl_err read_result(struct growth *growth, const struct pawl__flow_node *node,
                                 struct pawl__flow_left *left, size_t *bytes)
{
    struct pawl__arena scratch = { .chunks = NULL };
    struct pawl_job *job = NULL;
    size_t found = 0;
    enum pawl_err err =
        pawl__store_get(growth->pawl->store, &node->id, 1, &scratch, &job, &found, growth->diag);
    if (!err && found && same(job->id, node->id)) {
        *bytes += job->result.len;
        left->attempt = job->attempt;
        left->result =
            (struct pawl_span){ pawl__arena_dup(growth->arena, job->result.at, job->result.len),
                                job->result.len };
        if (!left->result.at) err = pawl__fail_nomem(growth->diag);
    }
    pawl__arena_release(&scratch);
    if (err || *bytes <= RESULTS_BYTES_MAX) return err;
    return pawl__fail_field(growth->diag, PAWL_ERR_LIMIT, "after",
                            "the results of parents that have ended are over %d MiB together",
                            RESULTS_BYTES_MAX / 1024 / 1024);
}

/* Edges are in order of the parent, so those of one parent share its job. */
static enum pawl_err read_left(struct growth *growth, const struct pawl__new_flow *flow)
{
    enum pawl_err err = PAWL_OK;
    size_t bytes = 0;
    growth->left = pawl__arena_calloc(growth->arena, flow->edge_count + 1, sizeof *growth->left);
    if (!growth->left) return pawl__fail_nomem(growth->diag);
    for (size_t i = 0; !err && i < flow->edge_count; i++) {
        const struct pawl__flow_node *node = ended_parent(growth, &flow->edges[i]);
        struct pawl__flow_left *left = &growth->left[i];
        if (!node) continue;
        if (i && flow->edges[i - 1].parent == node->no && left[-1].ended) {
            *left = left[-1];
            continue;
        }
        *left = (struct pawl__flow_left){ .ended = true, .result = node->result };
        if (node->kind == PAWL_FLOW_KIND_JOB) err = read_result(growth, node, left, &bytes);
    }
    return err;
}

/* ---- the call ---- */

static void give_ids(const struct growth *growth, const struct pawl__flow_draft *draft,
                     struct pawl_job_id *ids)
{
    for (size_t i = 0; ids && i < growth->from->node_count; i++) {
        ids[i] = draft ? draft->flow.nodes[i].id
                       : growth->rows.nodes[find(growth, growth->from->nodes[i].name)].id;
    }
}

static enum pawl_err store(struct growth *growth, struct pawl_job_id *ids, bool *overtaken)
{
    const struct pawl_flow_spec spec = {
        .nodes = growth->nodes, .node_count = growth->rows.nodes_count + growth->from->node_count
    };
    struct pawl__flow_draft draft = { .spec = &spec,
                                      .arena = growth->arena,
                                      .known = { growth->rows.nodes_count, growth->begun } };
    enum pawl_err err = pawl__flow_draft_make(&draft, growth->from->flow, growth->diag);
    if (!err) err = read_left(growth, &draft.flow);
    if (err) return err;
    draft.flow.adds = true;
    draft.flow.reopens = growth->from->reopen;
    draft.flow.by = growth->from->by;
    draft.flow.left = growth->left;
    err = pawl__flow_draft_post(growth->pawl, &draft, growth->diag);
    *overtaken = err == PAWL_ERR_STALE && draft.overtaken;
    if (!err) give_ids(growth, &draft, ids);
    return err;
}

static enum pawl_err add_once(struct growth *growth, struct pawl_job_id *ids, bool *overtaken)
{
    const char *name = "";
    *overtaken = false;
    enum pawl_err err = read_rows(growth);
    if (!err && !make_room(growth)) err = pawl__fail_nomem(growth->diag);
    if (err) return err;
    fill_known(growth);
    size_t there = count_there(growth, &name);
    if (there && there == growth->from->node_count && growth->from->by) {
        give_ids(growth, NULL, ids);
        return PAWL_OK;
    }
    if (there) {
        return pawl__fail_field(growth->diag, PAWL_ERR_EXISTS, "name",
                                "the flow has a node \"%s\" already", name);
    }
    if (!fill_edges(growth)) return pawl__fail_nomem(growth->diag);
    err = fill_new(growth);
    return err ? err : store(growth, ids, overtaken);
}

enum pawl_err pawl_flow_add(struct pawl *pawl, const struct pawl_flow_addition *addition,
                            struct pawl_job_id *ids, struct pawl_diag *diag)
{
    assert(pawl && addition);
    enum pawl_err err = PAWL_OK;
    bool overtaken = true;
    for (int i = 0; overtaken && i < TRIES_MAX; i++) {
        struct pawl__arena arena = { .chunks = NULL };
        struct growth growth = { .pawl = pawl, .from = addition, .arena = &arena, .diag = diag };
        err = add_once(&growth, ids, &overtaken);
        pawl__arena_release(&arena);
    }
    if (!overtaken) return err;
    return pawl__fail(diag, PAWL_ERR_BUSY, "others add to the flow all the time");
}
