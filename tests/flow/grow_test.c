/* Flows that grow, on every store: nodes are added, groups are sealed. */
#include "flow/flow_kit.h"

#include "api/api.h"

/* The nodes of the graph from `first` on are added to the flow. */
static enum pawl_err try_add(struct graph *graph, size_t first, const struct pawl_run *by,
                             const struct pawl_flow_require *require)
{
    const struct pawl_flow_addition addition = { .flow = graph->id,
                                                 .nodes = &graph->nodes[first],
                                                 .node_count = graph->count - first,
                                                 .requires = require,
                                                 .require_count = require != NULL,
                                                 .by = by };
    return pawl_flow_add(graph->pawl, &addition, NULL, &graph->rig->diag);
}

static void add_from(struct graph *graph, size_t first)
{
    assert_ok(graph->rig, try_add(graph, first, NULL, NULL));
}

static void seal(struct graph *graph, const char *group)
{
    assert_ok(graph->rig, pawl_flow_seal(graph->pawl, graph->id, group, &graph->rig->diag));
}

/* A batch that grows, and what comes after it. */
static void open_stream(struct graph *graph, struct rig *rig)
{
    graph_open(graph, rig);
    control_node(graph, "batch", PAWL_FLOW_KIND_GROUP, "")->unsealed = true;
    node_after(graph, "done", "*batch");
}

static void stream_ends_when_it_is_sealed(struct rig *rig)
{
    struct graph graph;
    open_stream(&graph, rig);
    graph_submit(&graph);
    assert_graph("batch:active done:pending", &graph);
    node_after(&graph, "one", "")->group = "batch";
    node_after(&graph, "two", "one")->group = "batch";
    add_from(&graph, 2);
    assert_graph("batch:active done:pending one:available two:pending", &graph);
    node_completes(&graph, "one");
    node_completes(&graph, "two");
    assert_graph("batch:active done:pending one:completed two:completed", &graph);
    node_after(&graph, "three", "two")->group = "batch";
    add_from(&graph, 4);
    assert_graph("batch:active done:pending one:completed two:completed three:available", &graph);
    seal(&graph, "batch");
    assert_err(rig, PAWL_ERR_EXISTS, try_add(&graph, 4, NULL, NULL));
    node_after(&graph, "four", "")->group = "batch";
    assert_err(rig, PAWL_ERR_STATE, try_add(&graph, 5, NULL, NULL));
    assert_within("group \"batch\" is sealed", rig->diag.text);
    node_completes(&graph, "three");
    assert_int_equal(PAWL_STATE_COMPLETED, node_state(&graph, "batch"));
    assert_int_equal(PAWL_STATE_AVAILABLE, node_state(&graph, "done"));
    assert_err(rig, PAWL_ERR_STATE, try_add(&graph, 5, NULL, NULL));
    assert_within("group \"batch\" has ended", rig->diag.text);
    node_completes(&graph, "done");
    assert_i64(4, graph_flow(&graph).jobs.total);
    assert_int_equal(PAWL_FLOW_COMPLETED, graph_flow(&graph).state);
    graph_close(&graph);
}

static void sealing_an_empty_group_ends_it(struct rig *rig)
{
    struct graph graph;
    open_stream(&graph, rig);
    control_node(&graph, "inner", PAWL_FLOW_KIND_GROUP, "")->group = "batch";
    graph.nodes[2].unsealed = true;
    graph_submit(&graph);
    assert_graph("batch:active done:pending inner:active", &graph);
    seal(&graph, "batch");
    assert_graph("batch:active done:pending inner:active", &graph);
    seal(&graph, "inner");
    assert_graph("batch:completed done:available inner:completed", &graph);
    seal(&graph, "inner"); // which changes nothing
    assert_err(rig, PAWL_ERR_NOT_FOUND, pawl_flow_seal(graph.pawl, graph.id, "done", &rig->diag));
    graph_close(&graph);
}

static void unsealed_flow_may_be_empty(struct rig *rig)
{
    struct graph graph;
    const struct pawl_flow_spec spec = { .name = "stream", .unsealed = true };
    graph_open(&graph, rig);
    assert_ok(rig, pawl_flow_submit(graph.pawl, &spec, &graph.id, &rig->diag));
    assert_false(graph_flow(&graph).sealed);
    assert_graph("", &graph);
    node_after(&graph, "A", "");
    add_from(&graph, 0);
    node_completes(&graph, "A");
    assert_int_equal(PAWL_FLOW_RUNNING, graph_flow(&graph).state);
    seal(&graph, NULL);
    assert_int_equal(PAWL_FLOW_COMPLETED, graph_flow(&graph).state);
    assert_true(graph_flow(&graph).sealed);
    node_after(&graph, "B", "");
    assert_err(rig, PAWL_ERR_STATE, try_add(&graph, 1, NULL, NULL));
    graph_close(&graph);
}

static void abandoned_stream_fails(struct rig *rig)
{
    struct graph graph;
    open_stream(&graph, rig);
    graph_submit(&graph);
    node_after(&graph, "one", "")->group = "batch";
    rig_advance(rig, PAWL_FLOW_HOLD_MS - 1);
    add_from(&graph, 2); // renews the hold
    node_completes(&graph, "one");
    rig_advance(rig, PAWL_FLOW_HOLD_MS - 1);
    graph_settle(&graph);
    assert_graph("batch:active done:pending one:completed", &graph);
    rig_advance(rig, 1);
    graph_settle(&graph);
    assert_graph("batch:discarded done:available one:completed", &graph);
    assert_text("stream_abandoned", node_reason(&graph, "batch"));
    graph_close(&graph);
    const struct pawl_flow_spec spec = { .unsealed = true };
    graph_open(&graph, rig);
    assert_ok(rig, pawl_flow_submit(graph.pawl, &spec, &graph.id, &rig->diag));
    rig_advance(rig, PAWL_FLOW_HOLD_MS);
    graph_settle(&graph);
    assert_int_equal(PAWL_FLOW_FAILED, graph_flow(&graph).state);
    assert_text("stream_abandoned", graph_flow(&graph).reason);
    graph_close(&graph);
}

/* What was cancelled waits for nothing more, also when it begins anew: else each sweep would find
 * its hold due, and do nothing. */
static void hold_ends_with_a_cancel(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    const struct pawl_flow_spec spec = { .nodes = graph.nodes, .node_count = 1, .unsealed = true };
    const struct pawl_flow_cancel how = { .drain = true };
    assert_ok(rig, pawl_flow_submit(graph.pawl, &spec, &graph.id, &rig->diag));
    (void)node_claim(&graph, "A"); // it runs on, so the flow does not end
    assert_ok(rig, pawl_flow_cancel(graph.pawl, graph.id, &how, NULL, &rig->diag));
    assert_ok(rig, pawl_flow_resume(graph.pawl, graph.id, NULL, &rig->diag));
    rig_advance(rig, PAWL_FLOW_HOLD_MS);
    graph_settle(&graph);
    struct pawl__op op = { .kind = PAWL__OP_SETTLE, .diag = &rig->diag, .sweep.limit = 100 };
    assert_ok(rig, pawl__store_do(graph.pawl->store, &op));
    assert_true(!op.sweep.next_at_ms || op.sweep.next_at_ms > rig_now(rig));
    assert_int_equal(PAWL_FLOW_RUNNING, graph_flow(&graph).state);
    graph_close(&graph);
}

/* ---- what is added to a flow that runs ---- */

static void edges_from_ended_parents_are_judged_at_once(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "");
    node_after(&graph, "C", "");
    node_after(&graph, "S", "")->select = PAWL_FLOW_SELECT_FIRST;
    graph_submit(&graph);
    node_completes(&graph, "A");
    node_fails(&graph, "B");
    node_completes(&graph, "S");
    node_after(&graph, "D", "A");
    node_after(&graph, "E", "B");
    node_after(&graph, "F", "!B");
    node_after(&graph, "G", "A C");
    node_after(&graph, "H", "A");
    graph.edges[8][0].when = "/result/of == \"A\" and /attempt == 1";
    node_after(&graph, "I", "A");
    graph.edges[9][0].when = "/result/of == \"B\"";
    node_after(&graph, "J", "D I");
    node_after(&graph, "K", "S");
    graph.edges[11][0].arm = 1;
    add_from(&graph, 4);
    assert_graph("A:completed B:discarded C:available S:completed D:available E:cancelled "
                 "F:available G:pending H:available I:skipped J:pending K:skipped",
                 &graph);
    node_completes(&graph, "C");
    assert_int_equal(PAWL_STATE_AVAILABLE, node_state(&graph, "G"));
    node_completes(&graph, "D");
    assert_int_equal(PAWL_STATE_AVAILABLE, node_state(&graph, "J"));
    graph_close(&graph);
}

static void undecided_node_can_wait_for_more(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A");
    graph_submit(&graph);
    node_after(&graph, "C", "");
    struct pawl_flow_require require = { .child = "B", .edge = { .parent = "C" } };
    assert_ok(rig, try_add(&graph, 2, NULL, &require));
    node_completes(&graph, "A");
    assert_graph("A:completed B:pending C:available", &graph);
    node_completes(&graph, "C");
    assert_graph("A:completed B:available C:completed", &graph);
    node_after(&graph, "D", "");
    require.edge.parent = "D";
    assert_err(rig, PAWL_ERR_STATE, try_add(&graph, 3, NULL, &require));
    assert_within("node \"B\" was released", rig->diag.text);
    require.edge.parent = "A";
    assert_err(rig, PAWL_ERR_ARG, try_add(&graph, 3, NULL, &require));
    assert_text("requires", rig->diag.field);
    graph_close(&graph);
}

static void what_makes_no_graph_is_refused_whole(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A");
    graph_submit(&graph);
    node_after(&graph, "C", "B");
    struct pawl_flow_require require = { .child = "B", .edge = { .parent = "C" } };
    assert_err(rig, PAWL_ERR_ARG, try_add(&graph, 2, NULL, &require));
    assert_within("cycle", rig->diag.text);
    graph.edges[2][0].parent = "Z";
    assert_err(rig, PAWL_ERR_ARG, try_add(&graph, 2, NULL, NULL));
    assert_within("there is no node \"Z\"", rig->diag.text);
    graph.edges[2][0].parent = "B";
    graph.nodes[2].job.type = NULL;
    assert_err(rig, PAWL_ERR_ARG, try_add(&graph, 2, NULL, NULL));
    assert_text("[0].type", rig->diag.field);
    graph.nodes[2].job.type = "work";
    graph.nodes[2].group = "A";
    assert_err(rig, PAWL_ERR_ARG, try_add(&graph, 2, NULL, NULL));
    graph.nodes[2].group = NULL;
    graph.id.b[3] ^= 1;
    assert_err(rig, PAWL_ERR_NOT_FOUND, try_add(&graph, 2, NULL, NULL));
    assert_err(rig, PAWL_ERR_NOT_FOUND, pawl_flow_seal(graph.pawl, graph.id, NULL, &rig->diag));
    graph.id.b[3] ^= 1;
    assert_graph("A:available B:pending", &graph);
    graph_close(&graph);
}

static void group_whose_turn_is_to_come_grows(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    control_node(&graph, "G", PAWL_FLOW_KIND_GROUP, "A")->unsealed = true;
    node_after(&graph, "M", "")->group = "G";
    graph_submit(&graph);
    node_after(&graph, "N", "")->group = "G";
    add_from(&graph, 3);
    seal(&graph, "G");
    assert_graph("A:available G:pending M:pending N:pending", &graph);
    node_completes(&graph, "A");
    assert_graph("A:completed G:active M:available N:available", &graph);
    node_completes(&graph, "M");
    node_completes(&graph, "N");
    assert_int_equal(PAWL_FLOW_COMPLETED, graph_flow(&graph).state);
    graph_close(&graph);
}

/* ---- handlers ---- */

static void running_node_adds_to_a_sealed_group(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    control_node(&graph, "G", PAWL_FLOW_KIND_GROUP, "");
    node_after(&graph, "A", "")->group = "G";
    graph_submit(&graph);
    struct pawl_run run = node_claim(&graph, "A");
    node_after(&graph, "B", "A")->group = "G";
    assert_ok(rig, try_add(&graph, 2, &run, NULL));
    assert_ok(rig, try_add(&graph, 2, &run, NULL)); // a repeat
    assert_graph("G:active A:active B:pending", &graph);
    assert_ok(rig, pawl_complete(graph.pawl, &run, (struct pawl_span){ 0 }, &rig->diag));
    assert_graph("G:active A:completed B:available", &graph);
    node_after(&graph, "C", "")->group = "G";
    assert_err(rig, PAWL_ERR_STALE, try_add(&graph, 3, &run, NULL));
    node_completes(&graph, "B");
    assert_int_equal(PAWL_FLOW_COMPLETED, graph_flow(&graph).state);
    graph_close(&graph);
}

static void run_of_another_flow_may_not(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    graph_submit(&graph);
    struct pawl_run run = node_claim(&graph, "A");
    rig_advance(rig, 1);
    graph_submit(&graph);
    node_after(&graph, "B", "");
    assert_err(rig, PAWL_ERR_STALE, try_add(&graph, 1, &run, NULL));
    assert_text("by", rig->diag.field);
    graph_close(&graph);
}

static void ended_flow_is_opened_if_that_is_asked_for(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    graph_submit(&graph);
    node_completes(&graph, "A");
    node_after(&graph, "B", "A");
    assert_err(rig, PAWL_ERR_STATE, try_add(&graph, 1, NULL, NULL));
    const struct pawl_flow_addition addition = {
        .flow = graph.id, .nodes = &graph.nodes[1], .node_count = 1, .reopen = true
    };
    struct pawl_job_id id;
    assert_ok(rig, pawl_flow_add(graph.pawl, &addition, &id, &rig->diag));
    assert_id(node_id(&graph, "B"), id);
    assert_graph("A:completed B:available", &graph);
    assert_int_equal(PAWL_FLOW_RUNNING, graph_flow(&graph).state);
    assert_int_equal(1, graph_flow(&graph).reopened);
    node_completes(&graph, "B");
    assert_int_equal(PAWL_FLOW_COMPLETED, graph_flow(&graph).state);
    graph_close(&graph);
}

static void thousands_are_added_at_once(struct rig *rig)
{
    enum { MANY = 3000 };
    static struct pawl_flow_node nodes[MANY];
    static char names[MANY][16];
    struct graph graph;
    open_stream(&graph, rig);
    graph_submit(&graph);
    for (size_t i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "m%zu", i);
        nodes[i] = (struct pawl_flow_node){ .name = names[i],
                                            .group = "batch",
                                            .job = { .type = "work", .queue = "many" } };
    }
    const struct pawl_flow_addition addition = { .flow = graph.id,
                                                 .nodes = nodes,
                                                 .node_count = MANY };
    assert_ok(rig, pawl_flow_add(graph.pawl, &addition, NULL, &rig->diag));
    assert_i64(MANY + 1, graph_flow(&graph).jobs.total);
    const struct pawl_filter filter = { .queues = &(const char *){ "many" },
                                        .queue_count = 1,
                                        .states = PAWL_STATE_BIT(PAWL_STATE_AVAILABLE) };
    int64_t count = 0;
    assert_ok(rig, pawl_count(graph.pawl, &filter, &count, &rig->diag));
    assert_i64(MANY, count);
    graph_close(&graph);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(stream_ends_when_it_is_sealed),
        CONTRACT(sealing_an_empty_group_ends_it),
        CONTRACT(unsealed_flow_may_be_empty),
        CONTRACT(abandoned_stream_fails),
        CONTRACT(hold_ends_with_a_cancel),
        CONTRACT(edges_from_ended_parents_are_judged_at_once),
        CONTRACT(undecided_node_can_wait_for_more),
        CONTRACT(what_makes_no_graph_is_refused_whole),
        CONTRACT(group_whose_turn_is_to_come_grows),
        CONTRACT(running_node_adds_to_a_sealed_group),
        CONTRACT(run_of_another_flow_may_not),
        CONTRACT(ended_flow_is_opened_if_that_is_asked_for),
        CONTRACT(thousands_are_added_at_once),
    };
    return contract_run("flow_grow", tests, COUNT(tests));
}
