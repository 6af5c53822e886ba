/* Flows on every store: what a node does when those before it have ended. */
#include "flow/flow_kit.h"

/* ---- chains ---- */

static void chain_runs_one_after_another(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A");
    node_after(&graph, "C", "B");
    graph_submit(&graph);
    assert_graph("A:available B:pending C:pending", &graph);
    node_completes(&graph, "A");
    assert_graph("A:completed B:available C:pending", &graph);
    node_completes(&graph, "B");
    assert_int_equal(PAWL_FLOW_RUNNING, graph_flow(&graph).state);
    node_completes(&graph, "C");
    assert_graph("A:completed B:completed C:completed", &graph);
    struct pawl_flow flow = graph_flow(&graph);
    assert_int_equal(PAWL_FLOW_COMPLETED, flow.state);
    assert_i64(3, flow.members.total);
    assert_i64(3, flow.members.completed);
    assert_i64(0, flow.members.open);
    assert_i64(rig_now(rig), flow.finished_at_ms);
    assert_int_equal(100, pawl_flow_percent(&flow.jobs));
    graph_close(&graph);
}

static void failure_cancels_what_is_below(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A");
    node_after(&graph, "C", "B");
    graph_submit(&graph);
    node_fails(&graph, "A");
    assert_graph("A:discarded B:cancelled C:cancelled", &graph);
    assert_text("upstream_discarded", node_reason(&graph, "B"));
    assert_text("upstream_cancelled", node_reason(&graph, "C"));
    assert_int_equal(PAWL_FLOW_FAILED, graph_flow(&graph).state);
    assert_i64(1, graph_flow(&graph).members.failed);
    assert_i64(2, graph_flow(&graph).members.cancelled);
    graph_close(&graph);
}

static void retry_of_a_member_is_no_end(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A");
    graph_submit(&graph);
    struct pawl_run run = node_claim(&graph, "A");
    assert_ok(rig,
              pawl_fail(graph.pawl, &run, &(struct pawl_report){ .type = "e" }, NULL, &rig->diag));
    assert_graph("A:retryable B:pending", &graph);
    rig_advance(rig, 60000);
    graph_settle(&graph);
    node_completes(&graph, "A");
    assert_graph("A:completed B:available", &graph);
    graph_close(&graph);
}

/* ---- several parents ---- */

static void fan_in_waits_for_all(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "");
    node_after(&graph, "C", "A B");
    graph_submit(&graph);
    node_completes(&graph, "B");
    assert_graph("A:available B:completed C:pending", &graph);
    node_completes(&graph, "A");
    assert_graph("A:completed B:completed C:available", &graph);
    graph_close(&graph);
}

static void results_of_parents_are_at_hand(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "");
    node_after(&graph, "C", "B A");
    graph.nodes[2].on_parent_failure = PAWL_FLOW_PARENT_RUN;
    graph_submit(&graph);
    node_completes(&graph, "B");
    node_fails(&graph, "A");
    struct pawl_flow_inputs inputs = { 0 };
    struct pawl_run run = node_claim(&graph, "C");
    assert_ok(rig, pawl_flow_inputs_get(graph.pawl, run.id, &inputs, &rig->diag));
    assert_text("C", inputs.node);
    assert_id(graph.id, inputs.flow);
    assert_int_equal(2, inputs.count);
    assert_text("A", inputs.at[0].name);
    assert_span(span_of("null"), inputs.at[0].result);
    assert_state(DISCARDED, inputs.at[0].state);
    assert_text("B", inputs.at[1].name);
    assert_span(span_of("{\"of\":\"B\"}"), inputs.at[1].result);
    pawl_flow_inputs_release(&inputs);
    graph_close(&graph);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(chain_runs_one_after_another),   CONTRACT(failure_cancels_what_is_below),
        CONTRACT(retry_of_a_member_is_no_end),    CONTRACT(fan_in_waits_for_all),
        CONTRACT(results_of_parents_are_at_hand),
    };
    return contract_run("flow", tests, COUNT(tests));
}
