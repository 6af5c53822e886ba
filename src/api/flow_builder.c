/* See <pawl/flow_builder.h>. Nodes and edges are kept as they come; what is submitted is put
 * together from them when it is asked for. */
#include "base/arena.h"
#include "base/diag.h"

#include <pawl/flow_builder.h>
#include <pawl/pawl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct edge {
    int32_t parent, child;
    struct pawl_flow_edge what;
};

struct node {
    struct pawl_flow_node what;
    int32_t group;
    int32_t arms; /* of a branch: so far */
};

struct pawl_flow_builder {
    const char *name;
    struct node *nodes;
    struct edge *edges;
    size_t node_count, node_cap, edge_count, edge_cap;
    int32_t group; /* that new nodes are members of */
    enum pawl_err err;
    struct pawl_diag diag;     /* of err */
    struct pawl__arena names;  /* those that were made up */
    struct pawl__arena result; /* what pawl_flow_builder_spec gave */
};

/* ---- errors ---- */

static void fail_nomem(struct pawl_flow_builder *builder)
{
    builder->err = pawl__fail_nomem(&builder->diag);
}

/* Is it a node of this builder? If not, the builder has failed. */
static bool is_node(struct pawl_flow_builder *builder, int32_t number)
{
    if (number >= 1 && (size_t)number <= builder->node_count) return true;
    builder->err = pawl__fail(&builder->diag, PAWL_ERR_ARG, "there is no node %d: there are %zu",
                              (int)number, builder->node_count);
    return false;
}

static bool is_of_kind(struct pawl_flow_builder *builder, int32_t number, enum pawl_flow_kind kind,
                       const char *what)
{
    if (!is_node(builder, number)) return false;
    const struct pawl_flow_node *node = &builder->nodes[number - 1].what;
    if (node->kind == kind) return true;
    builder->err =
        pawl__fail(&builder->diag, PAWL_ERR_ARG, "node \"%s\" is not a %s", node->name, what);
    return false;
}

static bool has_failed(const struct pawl_flow_builder *builder)
{
    return !builder || builder->err;
}

/* Room for one more element. False: no memory. */
static bool grow(struct pawl_flow_builder *builder, void **at, size_t count, size_t *cap,
                 size_t bytes)
{
    if (count < *cap) return true;
    size_t more = *cap ? *cap * 2 : 16;
    void *grown = more <= SIZE_MAX / 2 / bytes ? realloc(*at, more * bytes) : NULL;
    if (!grown) {
        fail_nomem(builder);
        return false;
    }
    *at = grown;
    *cap = more;
    return true;
}

/* ---- life ---- */

struct pawl_flow_builder *pawl_flow_builder_new(const char *name)
{
    struct pawl_flow_builder *builder = calloc(1, sizeof *builder);
    if (builder) builder->name = name;
    return builder;
}

void pawl_flow_builder_free(struct pawl_flow_builder *builder)
{
    if (!builder) return;
    pawl__arena_release(&builder->names);
    pawl__arena_release(&builder->result);
    free(builder->nodes);
    free(builder->edges);
    free(builder);
}

/* ---- nodes ---- */

static const char *made_up_name(struct pawl_flow_builder *builder,
                                const struct pawl_flow_node *node)
{
    static const char *const kinds[] = {
        [PAWL_FLOW_KIND_DEFAULT] = "job",
#define X(number, name, text) [number] = text,
        PAWL_FLOW_KINDS(X)
#undef X
    };
    char name[PAWL_FLOW_NAME_BYTES_MAX + 1];
    const char *what = node->job.type                    ? node->job.type
                       : node->kind < PAWL_FLOW_KIND_END ? kinds[node->kind]
                                                         : "node";
    int len = snprintf(name, sizeof name, "%.100s-%zu", what, builder->node_count + 1);
    return pawl__arena_dup(&builder->names, name, (size_t)len);
}

int32_t pawl_flow_builder_node(struct pawl_flow_builder *builder, const struct pawl_flow_node *node)
{
    if (has_failed(builder)) return 0;
    if (builder->node_count >= PAWL_FLOW_NODES_MAX) {
        builder->err = pawl__fail(&builder->diag, PAWL_ERR_LIMIT,
                                  "a flow is submitted with at most %d nodes", PAWL_FLOW_NODES_MAX);
        return 0;
    }
    if (!grow(builder, (void **)&builder->nodes, builder->node_count, &builder->node_cap,
              sizeof *builder->nodes)) {
        return 0;
    }
    struct node *added = &builder->nodes[builder->node_count];
    *added = (struct node){ .what = *node, .group = builder->group };
    if (!node->name) added->what.name = made_up_name(builder, node);
    if (!added->what.name) {
        fail_nomem(builder);
        return 0;
    }
    return (int32_t)++builder->node_count;
}

int32_t pawl_flow_builder_job(struct pawl_flow_builder *builder, const struct pawl_job_spec *job)
{
    return pawl_flow_builder_node(builder, &(struct pawl_flow_node){ .job = *job });
}

int32_t pawl_flow_builder_then(struct pawl_flow_builder *builder, int32_t parent,
                               const struct pawl_job_spec *job)
{
    int32_t child = pawl_flow_builder_job(builder, job);
    pawl_flow_builder_after(builder, child, parent);
    return child;
}

int32_t pawl_flow_builder_group(struct pawl_flow_builder *builder)
{
    return pawl_flow_builder_node(builder,
                                  &(struct pawl_flow_node){ .kind = PAWL_FLOW_KIND_GROUP });
}

int32_t pawl_flow_builder_batch(struct pawl_flow_builder *builder, const struct pawl_job_spec *jobs,
                                size_t count)
{
    int32_t group = pawl_flow_builder_group(builder);
    if (has_failed(builder)) return 0;
    int32_t before = builder->group;
    builder->group = group;
    for (size_t i = 0; i < count; i++) {
        (void)pawl_flow_builder_job(builder, &jobs[i]);
    }
    builder->group = before;
    return group;
}

int32_t pawl_flow_builder_callback(struct pawl_flow_builder *builder, int32_t parent,
                                   enum pawl_flow_on on, const struct pawl_job_spec *job)
{
    int32_t child = pawl_flow_builder_node(
        builder, &(struct pawl_flow_node){
                     .job = *job, .callback = true, .on_parent_failure = PAWL_FLOW_PARENT_SKIP });
    pawl_flow_builder_edge(builder, child, parent, &(struct pawl_flow_edge){ .on = on });
    return child;
}

int32_t pawl_flow_builder_branch(struct pawl_flow_builder *builder, int32_t parent,
                                 enum pawl_flow_select select)
{
    int32_t branch = pawl_flow_builder_node(
        builder, &(struct pawl_flow_node){ .kind = PAWL_FLOW_KIND_BRANCH, .select = select });
    pawl_flow_builder_after(builder, branch, parent);
    return branch;
}

int32_t pawl_flow_builder_arm(struct pawl_flow_builder *builder, int32_t branch, const char *when,
                              const struct pawl_job_spec *job)
{
    if (has_failed(builder)) return 0;
    if (!is_of_kind(builder, branch, PAWL_FLOW_KIND_BRANCH, "branch")) return 0;
    int32_t child = pawl_flow_builder_job(builder, job);
    if (has_failed(builder)) return 0;
    int32_t arm = ++builder->nodes[branch - 1].arms;
    pawl_flow_builder_edge(
        builder, child, branch,
        &(struct pawl_flow_edge){ .when = when, .arm = arm, .otherwise = !when });
    return child;
}

void pawl_flow_builder_enter(struct pawl_flow_builder *builder, int32_t group)
{
    if (has_failed(builder)) return;
    if (group && !is_of_kind(builder, group, PAWL_FLOW_KIND_GROUP, "group")) return;
    builder->group = group;
}

/* ---- edges ---- */

void pawl_flow_builder_after(struct pawl_flow_builder *builder, int32_t child, int32_t parent)
{
    pawl_flow_builder_edge(builder, child, parent, &(struct pawl_flow_edge){ .when = NULL });
}

void pawl_flow_builder_edge(struct pawl_flow_builder *builder, int32_t child, int32_t parent,
                            const struct pawl_flow_edge *edge)
{
    if (has_failed(builder)) return;
    if (!is_node(builder, child) || !is_node(builder, parent)) return;
    if (builder->edge_count >= PAWL_FLOW_EDGES_MAX) {
        builder->err = pawl__fail(&builder->diag, PAWL_ERR_LIMIT,
                                  "a flow is submitted with at most %d edges", PAWL_FLOW_EDGES_MAX);
        return;
    }
    if (!grow(builder, (void **)&builder->edges, builder->edge_count, &builder->edge_cap,
              sizeof *builder->edges)) {
        return;
    }
    builder->edges[builder->edge_count++] = (struct edge){ parent, child, *edge };
}

/* ---- the flow ---- */

const char *pawl_flow_builder_name(const struct pawl_flow_builder *builder, int32_t node)
{
    bool is_there = builder && node >= 1 && (size_t)node <= builder->node_count;
    return is_there ? builder->nodes[node - 1].what.name : NULL;
}

/* Each node gets its own edges, then the builder's in the order in which they were added. */
static bool put_edges(struct pawl_flow_builder *builder, struct pawl_flow_node *nodes)
{
    struct pawl_flow_edge **lists =
        pawl__arena_calloc(&builder->result, builder->node_count, sizeof *lists);
    size_t *counts = pawl__arena_calloc(&builder->result, builder->node_count, sizeof *counts);
    if (!lists || !counts) return false;
    for (size_t i = 0; i < builder->edge_count; i++) {
        counts[builder->edges[i].child - 1]++;
    }
    for (size_t i = 0; i < builder->node_count; i++) {
        if (!counts[i]) continue;
        size_t own = nodes[i].after_count;
        lists[i] = pawl__arena_calloc(&builder->result, own + counts[i], sizeof **lists);
        if (!lists[i]) return false;
        if (own) memcpy(lists[i], nodes[i].after, own * sizeof **lists);
        nodes[i].after = lists[i];
    }
    for (size_t i = 0; i < builder->edge_count; i++) {
        const struct edge *edge = &builder->edges[i];
        struct pawl_flow_node *child = &nodes[edge->child - 1];
        struct pawl_flow_edge *put = &lists[edge->child - 1][child->after_count++];
        *put = edge->what;
        put->parent = builder->nodes[edge->parent - 1].what.name;
    }
    return true;
}

static bool put_nodes(struct pawl_flow_builder *builder, struct pawl_flow_node *nodes)
{
    for (size_t i = 0; i < builder->node_count; i++) {
        const struct node *node = &builder->nodes[i];
        nodes[i] = node->what;
        nodes[i].group = node->group ? builder->nodes[node->group - 1].what.name : NULL;
    }
    return put_edges(builder, nodes);
}

enum pawl_err pawl_flow_builder_spec(struct pawl_flow_builder *builder, struct pawl_flow_spec *out,
                                     struct pawl_diag *diag)
{
    if (!builder) return pawl__fail_nomem(diag);
    if (builder->err) {
        if (diag) *diag = builder->diag;
        return builder->err;
    }
    pawl__arena_reset(&builder->result);
    struct pawl_flow_node *nodes =
        pawl__arena_calloc(&builder->result, builder->node_count, sizeof *nodes);
    if (builder->node_count && (!nodes || !put_nodes(builder, nodes))) {
        return pawl__fail_nomem(diag);
    }
    *out = (struct pawl_flow_spec){ .name = builder->name,
                                    .nodes = nodes,
                                    .node_count = builder->node_count };
    return PAWL_OK;
}

enum pawl_err pawl_flow_builder_submit(struct pawl *pawl, struct pawl_flow_builder *builder,
                                       struct pawl_job_id *out, struct pawl_diag *diag)
{
    struct pawl_flow_spec spec;
    enum pawl_err err = pawl_flow_builder_spec(builder, &spec, diag);
    return err ? err : pawl_flow_submit(pawl, &spec, out, diag);
}
