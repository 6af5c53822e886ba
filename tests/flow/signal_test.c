/* Nodes of flows that wait for a signal, on every store. */
#include "flow/flow_kit.h"

#include "api/api.h"

/* A, then the signal S, then B. */
static struct pawl_flow_node *open_approval(struct graph *graph, struct rig *rig)
{
    graph_open(graph, rig);
    node_after(graph, "A", "");
    struct pawl_flow_node *signal = control_node(graph, "S", PAWL_FLOW_KIND_SIGNAL, "A");
    node_after(graph, "B", "S");
    return signal;
}

static enum pawl_err signal_node(struct graph *graph, const char *name,
                                 enum pawl_flow_signal_kind kind, const char *payload)
{
    const struct pawl_flow_signal signal = { .kind = kind, .payload = span_of(payload) };
    return pawl_flow_signal(graph->pawl, node_id(graph, name), &signal, &graph->rig->diag);
}
#define approve(graph, name) signal_node(graph, name, PAWL_FLOW_SIGNAL_APPROVE, "{\"by\":\"eve\"}")
#define reject(graph, name) signal_node(graph, name, PAWL_FLOW_SIGNAL_REJECT, "{\"by\":\"eve\"}")

static struct pawl_flow_view node_view(struct graph *graph, const char *name)
{
    struct pawl_flow_nodes nodes = { 0 };
    assert_ok(graph->rig, pawl_flow_nodes_get(graph->pawl, graph->id, &nodes, &graph->rig->diag));
    struct pawl_flow_view view = nodes.at[graph_find(graph, name)];
    view.name = view.type = view.queue = NULL;
    view.reason = rig_text(graph->rig, "%s", view.reason);
    view.signal_key = rig_text(graph->rig, "%s", view.signal_key);
    const char *result = rig_text(graph->rig, "%.*s", (int)view.result.len, view.result.at);
    view.result = span_of(result);
    pawl_flow_nodes_release(&nodes);
    return view;
}

static void approval_releases_what_is_behind(struct rig *rig)
{
    struct graph graph;
    open_approval(&graph, rig)->signal_key = "ship";
    graph_submit(&graph);
    assert_graph("A:available S:pending B:pending", &graph);
    node_completes(&graph, "A");
    assert_graph("A:completed S:active B:pending", &graph);
    assert_text("ship", node_view(&graph, "S").signal_key);
    assert_i64(0, node_view(&graph, "S").until_ms);
    assert_ok(rig, approve(&graph, "S"));
    assert_graph("A:completed S:completed B:available", &graph);
    struct pawl_flow_inputs inputs = { 0 };
    struct pawl_run run = node_claim(&graph, "B");
    assert_ok(rig, pawl_flow_inputs_get(graph.pawl, run.id, &inputs, &rig->diag));
    assert_span(span_of("{\"by\":\"eve\"}"), inputs.at[0].result);
    pawl_flow_inputs_release(&inputs);
    graph_close(&graph);
}

static void early_signal_is_kept_once(struct rig *rig)
{
    struct graph graph;
    open_approval(&graph, rig);
    graph_submit(&graph);
    assert_ok(rig, approve(&graph, "S"));
    assert_graph("A:available S:pending B:pending", &graph);
    assert_err(rig, PAWL_ERR_STATE, reject(&graph, "S"));
    assert_within("has a signal already: approve", rig->diag.text);
    node_completes(&graph, "A");
    assert_graph("A:completed S:completed B:available", &graph);
    assert_err(rig, PAWL_ERR_STATE, reject(&graph, "S"));
    assert_within("has ended: it is completed", rig->diag.text);
    graph_close(&graph);
}

static void signal_of_an_unreached_node_is_of_no_use(struct rig *rig)
{
    struct graph graph;
    open_approval(&graph, rig);
    graph_submit(&graph);
    assert_ok(rig, approve(&graph, "S"));
    node_fails(&graph, "A");
    assert_graph("A:discarded S:cancelled B:cancelled", &graph);
    assert_err(rig, PAWL_ERR_STATE, approve(&graph, "S"));
    graph_close(&graph);
}

static void rejection_does_as_the_node_says(struct rig *rig)
{
    static const struct {
        enum pawl_flow_unsignalled how;
        const char *text, *result;
    } cases[] = {
        { PAWL_FLOW_UNSIGNALLED_DEFAULT, "A:completed S:discarded B:cancelled", "" },
        { PAWL_FLOW_UNSIGNALLED_FAIL, "A:completed S:discarded B:cancelled", "" },
        { PAWL_FLOW_UNSIGNALLED_SKIP, "A:completed S:skipped B:skipped", "" },
        { PAWL_FLOW_UNSIGNALLED_COMPLETE, "A:completed S:completed B:available",
          "{\"by\":\"eve\"}" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct graph graph;
        open_approval(&graph, rig)->on_reject = cases[i].how;
        graph_submit(&graph);
        node_completes(&graph, "A");
        assert_ok(rig, reject(&graph, "S"));
        assert_graph(cases[i].text, &graph);
        assert_text("rejected", node_reason(&graph, "S"));
        assert_span(span_of(cases[i].result), node_view(&graph, "S").result);
        graph_close(&graph);
        rig_advance(rig, 1); // ids that are drawn again are others
    }
}

/* ---- timeouts ---- */

static void timeout_does_as_the_node_says(struct rig *rig)
{
    static const struct {
        enum pawl_flow_unsignalled how;
        const char *text, *result;
    } cases[] = {
        { PAWL_FLOW_UNSIGNALLED_DEFAULT, "A:completed S:expired B:cancelled", "" },
        { PAWL_FLOW_UNSIGNALLED_SKIP, "A:completed S:skipped B:skipped", "" },
        { PAWL_FLOW_UNSIGNALLED_COMPLETE, "A:completed S:completed B:available", "{\"ok\":1}" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct graph graph;
        struct pawl_flow_node *signal = open_approval(&graph, rig);
        signal->timeout_ms = 60000;
        signal->on_timeout = cases[i].how;
        signal->payload = span_of("{\"ok\":1}");
        graph_submit(&graph);
        rig_advance(rig, 100000); // it counts from the release
        node_completes(&graph, "A");
        assert_i64(rig_now(rig) + 60000, node_view(&graph, "S").until_ms);
        rig_advance(rig, 59999);
        graph_settle(&graph);
        assert_graph("A:completed S:active B:pending", &graph);
        rig_advance(rig, 1);
        graph_settle(&graph);
        assert_graph(cases[i].text, &graph);
        assert_text("timeout", node_reason(&graph, "S"));
        assert_span(span_of(cases[i].result), node_view(&graph, "S").result);
        assert_i64(0, node_view(&graph, "S").until_ms);
        graph_close(&graph);
    }
}

static void signal_or_timeout_but_not_both(struct rig *rig)
{
    struct graph graph;
    open_approval(&graph, rig)->timeout_ms = 60000;
    graph_submit(&graph);
    node_completes(&graph, "A");
    rig_advance(rig, 59999);
    assert_ok(rig, approve(&graph, "S"));
    rig_advance(rig, 10);
    graph_settle(&graph);
    assert_graph("A:completed S:completed B:available", &graph);
    graph_close(&graph);
    open_approval(&graph, rig)->timeout_ms = 60000;
    graph_submit(&graph);
    node_completes(&graph, "A");
    rig_advance(rig, 60000); // just then, and nothing has looked yet
    assert_err(rig, PAWL_ERR_STATE, approve(&graph, "S"));
    assert_within("the timeout of node \"S\" is over", rig->diag.text);
    graph_settle(&graph);
    assert_graph("A:completed S:expired B:cancelled", &graph);
    assert_err(rig, PAWL_ERR_STATE, approve(&graph, "S"));
    assert_within("it is expired", rig->diag.text);
    graph_close(&graph);
}

/* By the handle's own store, which is another than the rig's if it is in memory. */
static int64_t next_sweep(struct graph *graph)
{
    struct pawl__op op = { .kind = PAWL__OP_SETTLE, .diag = &graph->rig->diag, .sweep.limit = 100 };
    assert_ok(graph->rig, pawl__store_do(graph->pawl->store, &op));
    return op.sweep.next_at_ms;
}

/* Before anything else is: the flow itself is compared with its jobs after a while. */
static void sweep_says_when_the_next_timeout_is(struct rig *rig)
{
    struct graph graph;
    open_approval(&graph, rig)->timeout_ms = 20000;
    graph_submit(&graph);
    int64_t until_ms = rig_now(rig) + 20000;
    assert_true(next_sweep(&graph) > until_ms);
    node_completes(&graph, "A");
    assert_i64(until_ms, next_sweep(&graph));
    assert_ok(rig, approve(&graph, "S"));
    assert_true(next_sweep(&graph) > until_ms);
    graph_close(&graph);
}

/* ---- keys ---- */

static int64_t signal_key(struct graph *graph, const char *key)
{
    const struct pawl_flow_signal signal = { .kind = PAWL_FLOW_SIGNAL_APPROVE };
    int64_t delivered = -1;
    assert_ok(graph->rig,
              pawl_flow_signal_key(graph->pawl, key, &signal, &delivered, &graph->rig->diag));
    return delivered;
}

static void key_reaches_all_that_wait(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    control_node(&graph, "S", PAWL_FLOW_KIND_SIGNAL, "")->signal_key = "go";
    control_node(&graph, "T", PAWL_FLOW_KIND_SIGNAL, "")->signal_key = "go";
    control_node(&graph, "U", PAWL_FLOW_KIND_SIGNAL, "A")->signal_key = "go";
    control_node(&graph, "V", PAWL_FLOW_KIND_SIGNAL, "")->signal_key = "no";
    graph_submit(&graph);
    struct pawl_job_id first = graph.id;
    graph_submit(&graph);
    assert_i64(4, signal_key(&graph, "go"));
    assert_graph("A:available S:completed T:completed U:pending V:active", &graph);
    graph.id = first;
    assert_graph("A:available S:completed T:completed U:pending V:active", &graph);
    assert_i64(0, signal_key(&graph, "go")); // not kept for U
    node_completes(&graph, "A");
    assert_graph("A:completed S:completed T:completed U:active V:active", &graph);
    assert_i64(1, signal_key(&graph, "go"));
    assert_i64(0, signal_key(&graph, "there is none"));
    graph_close(&graph);
}

static void what_is_no_signal_is_refused(struct rig *rig)
{
    struct graph graph;
    open_approval(&graph, rig);
    graph_submit(&graph);
    assert_err(rig, PAWL_ERR_STATE, approve(&graph, "B"));
    assert_within("node \"B\" does not wait for a signal", rig->diag.text);
    const struct pawl_flow_signal signal = { .kind = PAWL_FLOW_SIGNAL_APPROVE };
    struct pawl_job_id none = { { 1 } };
    assert_err(rig, PAWL_ERR_NOT_FOUND, pawl_flow_signal(graph.pawl, none, &signal, &rig->diag));
    assert_err(rig, PAWL_ERR_ARG, signal_node(&graph, "S", PAWL_FLOW_SIGNAL_APPROVE, "{"));
    assert_text("payload", rig->diag.field);
    assert_err(rig, PAWL_ERR_ARG, signal_node(&graph, "S", PAWL_FLOW_SIGNAL_NONE, ""));
    assert_text("kind", rig->diag.field);
    graph.nodes[2].timeout_ms = 5;
    assert_err(rig, PAWL_ERR_ARG, try_submit(&graph));
    assert_within("node \"B\": only signals have a key", rig->diag.text);
    graph.nodes[2].timeout_ms = 0;
    graph.nodes[1].on_timeout = PAWL_FLOW_UNSIGNALLED_SKIP;
    assert_err(rig, PAWL_ERR_ARG, try_submit(&graph));
    assert_text("on_timeout", rig->diag.field);
    graph.nodes[1].timeout_ms = -1;
    assert_err(rig, PAWL_ERR_ARG, try_submit(&graph));
    assert_text("timeout_ms", rig->diag.field);
    graph_close(&graph);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(approval_releases_what_is_behind),
        CONTRACT(early_signal_is_kept_once),
        CONTRACT(signal_of_an_unreached_node_is_of_no_use),
        CONTRACT(rejection_does_as_the_node_says),
        CONTRACT(timeout_does_as_the_node_says),
        CONTRACT(signal_or_timeout_but_not_both),
        CONTRACT(sweep_says_when_the_next_timeout_is),
        CONTRACT(key_reaches_all_that_wait),
        CONTRACT(what_is_no_signal_is_refused),
    };
    return contract_run("flow_signal", tests, COUNT(tests));
}
