/* What ends flows and groups before their members have, on every store: deadlines, and limits of
 * failures. */
#include "flow/flow_kit.h"

static void submit_until(struct graph *graph, int64_t deadline_at_ms)
{
    const struct pawl_flow_spec spec = { .nodes = graph->nodes,
                                         .node_count = graph->count,
                                         .deadline_at_ms = deadline_at_ms };
    assert_ok(graph->rig, pawl_flow_submit(graph->pawl, &spec, &graph->id, &graph->rig->diag));
}

static void deadline_ends_all_that_has_not(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "");
    control_node(&graph, "S", PAWL_FLOW_KIND_SIGNAL, "")->timeout_ms = 100000;
    control_node(&graph, "G", PAWL_FLOW_KIND_GROUP, "");
    node_after(&graph, "M", "")->group = "G";
    node_after(&graph, "C", "B S G");
    node_after(&graph, "D", "*C");
    node_after(&graph, "E", "");
    submit_until(&graph, rig_now(rig) + 20000);
    node_completes(&graph, "E");
    struct pawl_run run = node_claim(&graph, "A");
    rig_advance(rig, 19999);
    graph_settle(&graph);
    assert_graph("A:active B:available S:active G:active M:available C:pending D:pending "
                 "E:completed",
                 &graph);
    rig_advance(rig, 1);
    graph_settle(&graph);
    assert_graph("A:cancelled B:cancelled S:cancelled G:discarded M:cancelled C:cancelled "
                 "D:cancelled E:completed",
                 &graph);
    assert_text("flow_deadline", node_reason(&graph, "A"));
    assert_text("flow_deadline", node_reason(&graph, "S"));
    assert_int_equal(PAWL_FLOW_FAILED, graph_flow(&graph).state);
    assert_text("flow_deadline", graph_flow(&graph).reason);
    assert_i64(rig_now(rig), graph_flow(&graph).finished_at_ms);
    assert_err(rig, PAWL_ERR_STALE,
               pawl_complete(graph.pawl, &run, (struct pawl_span){ 0 }, &rig->diag));
    graph_close(&graph);
}

static void deadline_is_of_no_use_after_the_end(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    submit_until(&graph, rig_now(rig) + 20000);
    assert_i64(rig_now(rig) + 20000, graph_flow(&graph).deadline_at_ms);
    node_completes(&graph, "A");
    rig_advance(rig, 30000);
    graph_settle(&graph);
    assert_int_equal(PAWL_FLOW_COMPLETED, graph_flow(&graph).state);
    graph_close(&graph);
}

static void jobs_inherit_priority_and_sla(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A")->job.priority = 7;
    graph.nodes[1].job.sla_hard_at_ms = rig_now(rig) + 5000;
    const struct pawl_flow_spec spec = { .nodes = graph.nodes,
                                         .node_count = graph.count,
                                         .priority = 3,
                                         .sla_soft_at_ms = rig_now(rig) + 1000,
                                         .sla_hard_at_ms = rig_now(rig) + 2000 };
    assert_ok(rig, pawl_flow_submit(graph.pawl, &spec, &graph.id, &rig->diag));
    struct pawl_jobs jobs = { 0 };
    assert_ok(rig, pawl_get(graph.pawl, node_id(&graph, "A"), &jobs, &rig->diag));
    assert_int_equal(3, jobs.at->priority);
    assert_i64(rig_now(rig) + 1000, jobs.at->sla_soft_at_ms);
    assert_i64(rig_now(rig) + 2000, jobs.at->sla_hard_at_ms);
    pawl_jobs_release(&jobs);
    assert_ok(rig, pawl_get(graph.pawl, node_id(&graph, "B"), &jobs, &rig->diag));
    assert_int_equal(7, jobs.at->priority);
    assert_i64(0, jobs.at->sla_soft_at_ms);
    assert_i64(rig_now(rig) + 5000, jobs.at->sla_hard_at_ms);
    pawl_jobs_release(&jobs);
    graph_close(&graph);
}

/* ---- limits of failures ---- */

static struct pawl_flow_node *open_batch(struct graph *graph, struct rig *rig)
{
    graph_open(graph, rig);
    struct pawl_flow_node *batch = control_node(graph, "batch", PAWL_FLOW_KIND_GROUP, "");
    node_after(graph, "done", "*batch");
    node_after(graph, "A", "")->group = "batch";
    node_after(graph, "B", "")->group = "batch";
    node_after(graph, "C", "")->group = "batch";
    node_after(graph, "D", "A")->group = "batch";
    return batch;
}

static void batch_is_aborted_at_its_limit(struct rig *rig)
{
    struct graph graph;
    open_batch(&graph, rig)->abort_failures = 2;
    node_after(&graph, "E", "")->group = "batch";
    graph.nodes[6].may_fail = true;
    graph_submit(&graph);
    struct pawl_run run = node_claim(&graph, "C");
    node_fails(&graph, "B");
    assert_graph("batch:active done:pending A:available B:discarded C:active D:pending E:available",
                 &graph);
    node_fails(&graph, "E"); // which may
    assert_graph("batch:active done:pending A:available B:discarded C:active D:pending E:discarded",
                 &graph);
    node_fails(&graph, "A");
    assert_graph(
        "batch:active done:pending A:discarded B:discarded C:active D:cancelled E:discarded",
        &graph);
    assert_ok(rig, pawl_complete(graph.pawl, &run, (struct pawl_span){ 0 }, &rig->diag));
    assert_int_equal(PAWL_STATE_COMPLETED, node_state(&graph, "C")); // what ran may finish
    assert_int_equal(PAWL_STATE_DISCARDED, node_state(&graph, "batch"));
    assert_text("batch_aborted", node_reason(&graph, "batch"));
    assert_int_equal(PAWL_STATE_AVAILABLE, node_state(&graph, "done"));
    graph_close(&graph);
}

static void one_failure_is_enough_to_abort(struct rig *rig)
{
    struct graph graph;
    open_batch(&graph, rig)->abort_failures = 1;
    graph.nodes[5].after_count = 0; // D waits for nobody
    control_node(&graph, "inner", PAWL_FLOW_KIND_GROUP, "")->group = "batch";
    node_after(&graph, "I", "")->group = "inner";
    graph_submit(&graph);
    node_fails(&graph, "A");
    assert_graph("batch:discarded done:available A:discarded B:cancelled C:cancelled D:cancelled "
                 "inner:discarded I:cancelled",
                 &graph);
    assert_text("batch_aborted", node_reason(&graph, "B"));
    graph_close(&graph);
}

static void share_counts_of_all_once_it_is_sealed(struct rig *rig)
{
    struct graph graph;
    open_batch(&graph, rig)->abort_share = 0.25;
    graph.nodes[5].after_count = 0;
    graph_submit(&graph);
    node_fails(&graph, "A"); // a quarter, and not more
    assert_int_equal(PAWL_STATE_ACTIVE, node_state(&graph, "batch"));
    node_fails(&graph, "B");
    assert_graph("batch:discarded done:available A:discarded B:discarded C:cancelled D:cancelled",
                 &graph);
    graph_close(&graph);
}

static void aborted_stream_takes_no_more(struct rig *rig)
{
    struct graph graph;
    struct pawl_flow_node *batch = open_batch(&graph, rig);
    batch->unsealed = true;
    batch->abort_failures = 1;
    graph_submit(&graph);
    node_fails(&graph, "B");
    assert_int_equal(PAWL_STATE_DISCARDED, node_state(&graph, "batch"));
    node_after(&graph, "F", "")->group = "batch";
    const struct pawl_flow_addition addition = { .flow = graph.id,
                                                 .nodes = &graph.nodes[6],
                                                 .node_count = 1 };
    assert_err(rig, PAWL_ERR_STATE, pawl_flow_add(graph.pawl, &addition, NULL, &rig->diag));
    graph_close(&graph);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(deadline_ends_all_that_has_not), CONTRACT(deadline_is_of_no_use_after_the_end),
        CONTRACT(jobs_inherit_priority_and_sla),  CONTRACT(batch_is_aborted_at_its_limit),
        CONTRACT(one_failure_is_enough_to_abort), CONTRACT(share_counts_of_all_once_it_is_sealed),
        CONTRACT(aborted_stream_takes_no_more),
    };
    return contract_run("flow_stop", tests, COUNT(tests));
}
