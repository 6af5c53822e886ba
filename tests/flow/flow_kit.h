/* A flow whose nodes are named by letters, on a store of its rig, through the public functions: who
 * plays the worker finds a node's job in a queue of its own. */
#ifndef TESTS_FLOW_KIT_H
#define TESTS_FLOW_KIT_H

#include "support/ops.h"

#include <stdio.h>
#include <string.h>

enum { NODES_MAX = 64 };

struct graph {
    struct rig *rig;
    struct pawl *pawl;
    struct pawl_job_id id;
    struct pawl_flow_node nodes[NODES_MAX];
    struct pawl_flow_edge edges[NODES_MAX][NODES_MAX];
    size_t count;
    char names[NODES_MAX][16], queues[NODES_MAX][16];
};

static inline void graph_open(struct graph *graph, struct rig *rig)
{
    struct pawl_config config = { .store = rig->url, .clock = &rig->clock->clock, .seed = 7 };
    memset(graph, 0, sizeof *graph);
    graph->rig = rig;
    assert_ok(rig, pawl_open(&config, &graph->pawl, &rig->diag));
}

static inline void graph_close(struct graph *graph)
{
    pawl_close(graph->pawl);
    graph->pawl = NULL;
}

static inline size_t graph_find(const struct graph *graph, const char *name)
{
    size_t at = 0;
    while (at < graph->count && strcmp(graph->names[at], name) != 0) {
        at++;
    }
    return at;
}

/* One more node, after the nodes that are named, with blanks between them; an edge is "A"
 * (success),
 * "!A" (failure), "*A" (always). The node may be changed until the flow is submitted. */
static inline struct pawl_flow_node *node_after(struct graph *graph, const char *name,
                                                const char *after)
{
    size_t at = graph->count++;
    struct pawl_flow_node *node = &graph->nodes[at];
    assert_true(at < NODES_MAX);
    snprintf(graph->names[at], sizeof graph->names[at], "%s", name);
    snprintf(graph->queues[at], sizeof graph->queues[at], "q%zu", at);
    *node = (struct pawl_flow_node){ .name = graph->names[at], .after = graph->edges[at] };
    node->job = (struct pawl_job_spec){ .type = "work", .queue = graph->queues[at] };
    while (*after) {
        struct pawl_flow_edge *edge = &graph->edges[at][node->after_count++];
        edge->on = *after == '!'   ? PAWL_FLOW_ON_FAILURE
                   : *after == '*' ? PAWL_FLOW_ON_ALWAYS
                                   : PAWL_FLOW_ON_SUCCESS;
        after += *after == '!' || *after == '*';
        size_t len = strcspn(after, " ");
        const char *parent = rig_text(graph->rig, "%.*s", (int)len, after);
        edge->parent = parent;
        after += len + (after[len] == ' ');
    }
    return node;
}

static inline struct pawl_flow_node *control_node(struct graph *graph, const char *name,
                                                  enum pawl_flow_kind kind, const char *after)
{
    struct pawl_flow_node *node = node_after(graph, name, after);
    node->kind = kind;
    node->job = (struct pawl_job_spec){ .type = NULL };
    return node;
}

static inline enum pawl_err try_submit(struct graph *graph)
{
    const struct pawl_flow_spec spec = { .nodes = graph->nodes, .node_count = graph->count };
    return pawl_flow_submit(graph->pawl, &spec, &graph->id, &graph->rig->diag);
}

static inline void graph_submit(struct graph *graph)
{
    assert_ok(graph->rig, try_submit(graph));
}

/* What follows later, if anything does. */
static inline void graph_settle(struct graph *graph)
{
    struct pawl_upkeep upkeep = { 0 };
    assert_ok(graph->rig, pawl_upkeep_turn(graph->pawl, NULL, &upkeep, &graph->rig->diag));
}

/* As text: "A:completed B:pending". */
static inline const char *graph_text(struct graph *graph)
{
    struct pawl_flow_nodes nodes = { 0 };
    assert_ok(graph->rig, pawl_flow_nodes_get(graph->pawl, graph->id, &nodes, &graph->rig->diag));
    const char *text = "";
    for (size_t i = 0; i < nodes.count; i++) {
        text = rig_text(graph->rig, "%s%s%s:%s", text, i ? " " : "", nodes.at[i].name,
                        pawl_state_name(nodes.at[i].state, PAWL_VOCABULARY_PAWL));
    }
    pawl_flow_nodes_release(&nodes);
    return text;
}
#define assert_graph(expected, graph) assert_text(expected, graph_text(graph))

static inline enum pawl_state node_state(struct graph *graph, const char *name)
{
    struct pawl_flow_nodes nodes = { 0 };
    assert_ok(graph->rig, pawl_flow_nodes_get(graph->pawl, graph->id, &nodes, &graph->rig->diag));
    enum pawl_state state = nodes.at[graph_find(graph, name)].state;
    pawl_flow_nodes_release(&nodes);
    return state;
}

static inline struct pawl_job_id node_id(struct graph *graph, const char *name)
{
    struct pawl_flow_nodes nodes = { 0 };
    assert_ok(graph->rig, pawl_flow_nodes_get(graph->pawl, graph->id, &nodes, &graph->rig->diag));
    struct pawl_job_id id = nodes.at[graph_find(graph, name)].id;
    pawl_flow_nodes_release(&nodes);
    return id;
}

static inline const char *node_reason(struct graph *graph, const char *name)
{
    struct pawl_flow_nodes nodes = { 0 };
    assert_ok(graph->rig, pawl_flow_nodes_get(graph->pawl, graph->id, &nodes, &graph->rig->diag));
    const char *reason = rig_text(graph->rig, "%s", nodes.at[graph_find(graph, name)].reason);
    pawl_flow_nodes_release(&nodes);
    return reason;
}

static inline struct pawl_flow graph_flow(struct graph *graph)
{
    struct pawl_flows flows = { 0 };
    assert_ok(graph->rig, pawl_flow_get(graph->pawl, graph->id, &flows, &graph->rig->diag));
    struct pawl_flow flow = *flows.at;
    flow.reason = rig_text(graph->rig, "%s", flow.reason);
    flow.name = flow.layout = NULL;
    pawl_flows_release(&flows);
    return flow;
}

/* The node's job, which is available. */
static inline struct pawl_run node_claim(struct graph *graph, const char *name)
{
    const char *queue = graph->queues[graph_find(graph, name)];
    const struct pawl_claim claim = {
        .queues = &queue, .queue_count = 1, .limit = 1, .worker = "w", .lease_ms = 30000
    };
    struct pawl_jobs jobs = { 0 };
    assert_ok(graph->rig, pawl_claim(graph->pawl, &claim, &jobs, &graph->rig->diag));
    if (jobs.count != 1) fail_msg("node \"%s\" is not available: %s", name, graph_text(graph));
    struct pawl_run run = { jobs.at[0].id, jobs.at[0].run };
    pawl_jobs_release(&jobs);
    return run;
}

static inline void node_completes(struct graph *graph, const char *name)
{
    struct pawl_run run = node_claim(graph, name);
    const char *result = rig_text(graph->rig, "{\"of\":\"%s\"}", name);
    assert_ok(graph->rig, pawl_complete(graph->pawl, &run, span_of(result), &graph->rig->diag));
}

static inline void node_fails(struct graph *graph, const char *name)
{
    struct pawl_run run = node_claim(graph, name);
    const struct pawl_report report = { .type = "e", .message = "no", .not_retryable = true };
    assert_ok(graph->rig, pawl_fail(graph->pawl, &run, &report, NULL, &graph->rig->diag));
}

static inline enum pawl_err node_control(struct graph *graph, const char *name,
                                         enum pawl_control control)
{
    return pawl_control(graph->pawl, node_id(graph, name), control, NULL, NULL, &graph->rig->diag);
}

#endif
