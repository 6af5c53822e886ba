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

/* ---- choices ---- */

/* B picks X; M comes after both ways and runs once. */
static void branch_takes_one_way_and_the_join_runs(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    control_node(&graph, "B", PAWL_FLOW_KIND_BRANCH, "A");
    node_after(&graph, "X", "B");
    node_after(&graph, "Y", "B");
    node_after(&graph, "Y2", "Y");
    node_after(&graph, "M", "X Y2");
    graph.edges[2][0].arm = 1;
    graph.edges[2][0].when = "/result/of == \"A\"";
    graph.edges[3][0].arm = 2;
    graph_submit(&graph);
    assert_graph("A:available B:pending X:pending Y:pending Y2:pending M:pending", &graph);
    node_completes(&graph, "A");
    assert_graph("A:completed B:completed X:available Y:skipped Y2:skipped M:pending", &graph);
    assert_text("branch_not_taken", node_reason(&graph, "Y"));
    node_completes(&graph, "X");
    assert_graph("A:completed B:completed X:completed Y:skipped Y2:skipped M:available", &graph);
    node_completes(&graph, "M");
    assert_int_equal(PAWL_FLOW_COMPLETED, graph_flow(&graph).state);
    graph_close(&graph);
}

static void default_arm_is_for_what_nobody_else_takes(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "")->select = PAWL_FLOW_SELECT_FIRST;
    node_after(&graph, "X", "A");
    node_after(&graph, "Y", "A");
    node_after(&graph, "Z", "A");
    graph.edges[1][0].arm = 1;
    graph.edges[1][0].when = "/result/of == \"B\"";
    graph.edges[2][0].otherwise = true;
    graph.edges[3][0].when = "/attempt == 1 and /state == \"completed\"";
    graph_submit(&graph);
    node_completes(&graph, "A");
    assert_graph("A:completed X:skipped Y:available Z:available", &graph);
    graph_close(&graph);
}

static void condition_that_cannot_be_evaluated_is_false(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A");
    graph.edges[1][0].when = "/result/of > 5";
    graph_submit(&graph);
    node_completes(&graph, "A");
    assert_graph("A:completed B:skipped", &graph);
    struct pawl_flow_nodes nodes = { 0 };
    assert_ok(rig, pawl_flow_nodes_get(graph.pawl, graph.id, &nodes, &rig->diag));
    assert_within("cannot compare", nodes.edges[0].reason);
    assert_text("/result/of > 5", nodes.edges[0].when);
    pawl_flow_nodes_release(&nodes);
    graph_close(&graph);
}

static void condition_that_is_none_is_refused(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A");
    graph.edges[1][0].when = "/result ==";
    assert_err(rig, PAWL_ERR_ARG, try_submit(&graph));
    assert_text("when", rig->diag.field);
    assert_within("node \"B\": ", rig->diag.text);
    graph_close(&graph);
}

/* ---- groups ---- */

static void batch_has_callbacks(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    control_node(&graph, "batch", PAWL_FLOW_KIND_GROUP, "")->may_fail = true;
    node_after(&graph, "one", "")->group = "batch";
    node_after(&graph, "two", "")->group = "batch";
    node_after(&graph, "done", "*batch");
    node_after(&graph, "good", "batch")->on_parent_failure = PAWL_FLOW_PARENT_SKIP;
    node_after(&graph, "bad", "!batch");
    graph_submit(&graph);
    assert_graph("batch:active one:available two:available done:pending good:pending bad:pending",
                 &graph);
    node_fails(&graph, "one");
    assert_graph("batch:active one:discarded two:available done:pending good:pending bad:pending",
                 &graph);
    node_completes(&graph, "two");
    assert_graph("batch:discarded one:discarded two:completed done:available good:skipped "
                 "bad:available",
                 &graph);
    node_completes(&graph, "done");
    node_completes(&graph, "bad");
    assert_int_equal(PAWL_FLOW_COMPLETED, graph_flow(&graph).state); // the batch may fail
    struct pawl_flow_nodes nodes = { 0 };
    assert_ok(rig, pawl_flow_nodes_get(graph.pawl, graph.id, &nodes, &rig->diag));
    assert_i64(2, nodes.at[0].members.total);
    assert_i64(1, nodes.at[0].members.failed);
    assert_int_equal(1, nodes.at[1].group);
    pawl_flow_nodes_release(&nodes);
    graph_close(&graph);
}

static void group_as_a_step_opens_when_it_is_its_turn(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    control_node(&graph, "G", PAWL_FLOW_KIND_GROUP, "A");
    node_after(&graph, "x", "")->group = "G";
    node_after(&graph, "y", "x")->group = "G";
    node_after(&graph, "B", "G");
    graph_submit(&graph);
    assert_graph("A:available G:pending x:pending y:pending B:pending", &graph);
    node_completes(&graph, "A");
    assert_graph("A:completed G:active x:available y:pending B:pending", &graph);
    node_completes(&graph, "x");
    node_completes(&graph, "y");
    assert_graph("A:completed G:completed x:completed y:completed B:available", &graph);
    graph_close(&graph);
}

static void members_share_the_fate_of_a_group_that_is_not_reached(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    control_node(&graph, "G", PAWL_FLOW_KIND_GROUP, "A");
    node_after(&graph, "x", "")->group = "G";
    node_after(&graph, "y", "*x")->group = "G"; // no clean-up of what never began
    node_after(&graph, "B", "*G");
    graph_submit(&graph);
    node_fails(&graph, "A");
    assert_graph("A:discarded G:cancelled x:cancelled y:cancelled B:available", &graph);
    assert_text("group", node_reason(&graph, "y"));
    graph_close(&graph);
}

/* ---- operators ---- */

static void node_that_waits_cannot_be_activated(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A");
    graph_submit(&graph);
    assert_err(rig, PAWL_ERR_STATE, node_control(&graph, "B", PAWL_CONTROL_ACTIVATE));
    assert_within("waits for other nodes of its flow", rig->diag.text);
    int64_t moved = 0;
    const struct pawl_filter all = { .states = PAWL_STATE_BIT(PAWL_STATE_PENDING) };
    assert_ok(rig, pawl_control_many(graph.pawl, &all, PAWL_CONTROL_ACTIVATE, 10, NULL, &moved,
                                     &rig->diag));
    assert_i64(0, moved);
    assert_graph("A:available B:pending", &graph);
    graph_close(&graph);
}

static void node_that_was_paused_is_released_on_resume(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A");
    node_after(&graph, "C", "A");
    graph_submit(&graph);
    assert_ok(rig, node_control(&graph, "B", PAWL_CONTROL_PAUSE));
    assert_ok(rig, node_control(&graph, "C", PAWL_CONTROL_PAUSE));
    assert_ok(rig, node_control(&graph, "C", PAWL_CONTROL_RESUME));
    node_completes(&graph, "A");
    assert_graph("A:completed B:paused C:available", &graph);
    assert_ok(rig, node_control(&graph, "B", PAWL_CONTROL_RESUME));
    assert_graph("A:completed B:available C:available", &graph);
    graph_close(&graph);
}

static void paused_node_is_given_up_at_once(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A");
    node_after(&graph, "C", "A")->on_parent_failure = PAWL_FLOW_PARENT_SKIP;
    node_after(&graph, "D", "A")->on_parent_failure = PAWL_FLOW_PARENT_FAIL;
    graph_submit(&graph);
    for (const char *const *name = (const char *const[]){ "B", "C", "D", NULL }; *name; name++) {
        assert_ok(rig, node_control(&graph, *name, PAWL_CONTROL_PAUSE));
    }
    node_fails(&graph, "A");
    assert_graph("A:discarded B:cancelled C:skipped D:discarded", &graph);
    graph_close(&graph);
}

static void node_of_a_live_flow_cannot_be_deleted(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A");
    graph_submit(&graph);
    node_completes(&graph, "A");
    int64_t deleted = -1;
    const struct pawl_filter all = { .states = PAWL_STATE_BIT(PAWL_STATE_COMPLETED) };
    assert_err(rig, PAWL_ERR_STATE,
               pawl_delete(graph.pawl, node_id(&graph, "A"), NULL, &rig->diag));
    assert_within("a flow that has not ended", rig->diag.text);
    assert_ok(rig, pawl_delete_many(graph.pawl, &all, 10, NULL, &deleted, &rig->diag));
    assert_i64(0, deleted);
    const struct pawl_retention none = { .archive_after_ms = 1, .purge_after_ms = 1 };
    for (int i = 0; i < 3; i++) {
        struct pawl_upkeep upkeep = { 0 };
        rig_advance(rig, 1000);
        assert_ok(rig, pawl_upkeep_turn(graph.pawl, &none, &upkeep, &rig->diag));
        assert_i64(0, upkeep.purged);
    }
    node_completes(&graph, "B");
    assert_ok(rig, pawl_delete(graph.pawl, node_id(&graph, "A"), NULL, &rig->diag));
    assert_state(COMPLETED, node_state(&graph, "A")); // as it was counted
    graph_close(&graph);
}

/* ---- every way to end ---- */

static void each_end_is_followed(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "*A");
    node_after(&graph, "C", "*B")->job.expires_in_ms = 1000; // from its release
    node_after(&graph, "D", "*C")->job.retry.attempts_max = 1;
    node_after(&graph, "E", "*D");
    node_after(&graph, "F", "*E");
    graph_submit(&graph);
    int64_t moved;
    rig_advance(rig, 5000);
    const struct pawl_filter ready = { .states = PAWL_STATE_BIT(PAWL_STATE_AVAILABLE) };
    assert_ok(rig, pawl_control_many(graph.pawl, &ready, PAWL_CONTROL_CANCEL, 10, NULL, &moved,
                                     &rig->diag));
    assert_ok(rig, node_control(&graph, "B", PAWL_CONTROL_SKIP));
    assert_graph("A:cancelled B:skipped C:skipped D:skipped E:skipped F:skipped", &graph);
    graph.count = 0;
    node_after(&graph, "C", "")->job.expires_in_ms = 1000;
    node_after(&graph, "D", "*C")->job.retry.attempts_max = 1;
    node_after(&graph, "E", "*D")->job.delay_ms = 500;
    node_after(&graph, "F", "*E")->job.expires_in_ms = 2000;
    graph_submit(&graph);
    rig_advance(rig, 1000);
    graph_settle(&graph);
    assert_graph("C:expired D:available E:pending F:pending", &graph);
    (void)node_claim(&graph, "D");
    rig_advance(rig, 30000);
    graph_settle(&graph);
    assert_graph("C:expired D:discarded E:scheduled F:pending", &graph);
    rig_advance(rig, 500);
    graph_settle(&graph);
    struct pawl_run run = node_claim(&graph, "E");
    assert_ok(rig, pawl_control_run(graph.pawl, &run, PAWL_CONTROL_SKIP, NULL, NULL, &rig->diag));
    assert_graph("C:expired D:discarded E:skipped F:skipped", &graph);
    graph_close(&graph);
}

/* ---- size ---- */

enum { WIDE = 5000, LONG = 1000 };

static struct pawl_job_id submit_many(struct rig *rig, struct pawl *pawl,
                                      const struct pawl_flow_node *nodes, size_t count)
{
    struct pawl_job_id id;
    const struct pawl_flow_spec spec = { .nodes = nodes, .node_count = count };
    assert_ok(rig, pawl_flow_submit(pawl, &spec, &id, &rig->diag));
    return id;
}

static struct pawl_flow_counts counts_of(struct rig *rig, struct pawl *pawl, struct pawl_job_id id)
{
    struct pawl_flows flows = { 0 };
    assert_ok(rig, pawl_flow_get(pawl, id, &flows, &rig->diag));
    struct pawl_flow_counts counts = flows.at[0].members;
    pawl_flows_release(&flows);
    return counts;
}

static void complete_all(struct rig *rig, struct pawl *pawl, const char *queue, int64_t count)
{
    const struct pawl_claim claim = {
        .queues = &queue, .queue_count = 1, .limit = 1000, .worker = "w"
    };
    while (count > 0) {
        struct pawl_jobs jobs = { 0 };
        struct pawl_upkeep upkeep = { 0 };
        assert_ok(rig, pawl_upkeep_turn(pawl, NULL, &upkeep, &rig->diag));
        assert_ok(rig, pawl_claim(pawl, &claim, &jobs, &rig->diag));
        if (!jobs.count) fail_msg("%d jobs are missing", (int)count);
        for (size_t i = 0; i < jobs.count; i++) {
            struct pawl_run run = { jobs.at[i].id, jobs.at[i].run };
            assert_ok(rig, pawl_complete(pawl, &run, span_of("1"), &rig->diag));
        }
        count -= (int64_t)jobs.count;
        pawl_jobs_release(&jobs);
    }
}

/* More is released at once than fits into one transaction: the sweep does the rest. */
static void fan_out_and_in_of_thousands(struct rig *rig)
{
    static struct pawl_flow_node nodes[WIDE + 2];
    static struct pawl_flow_edge edges[WIDE];
    static char names[WIDE + 2][12];
    static const struct pawl_flow_edge out = { .parent = "0" };
    struct graph graph;
    graph_open(&graph, rig);
    for (size_t i = 0; i < WIDE + 2; i++) {
        snprintf(names[i], sizeof names[i], "%zu", i);
        nodes[i] = (struct pawl_flow_node){ .name = names[i],
                                            .job = { .type = "work", .queue = "wide" },
                                            .after = i > WIDE ? edges : &out,
                                            .after_count = i > WIDE ? WIDE : i > 0 };
        if (i && i <= WIDE) edges[i - 1].parent = names[i];
    }
    struct pawl_job_id id = submit_many(rig, graph.pawl, nodes, WIDE + 2);
    complete_all(rig, graph.pawl, "wide", WIDE + 1);
    assert_i64(1, counts_of(rig, graph.pawl, id).open);
    complete_all(rig, graph.pawl, "wide", 1);
    assert_i64(0, counts_of(rig, graph.pawl, id).open);
    assert_i64(WIDE + 2, counts_of(rig, graph.pawl, id).completed);
    graph_close(&graph);
}

/* Without recursion: in the commit that skips the first. */
static void long_chain_is_skipped_at_once(struct rig *rig)
{
    static struct pawl_flow_node nodes[LONG];
    static struct pawl_flow_edge edges[LONG];
    static char names[LONG][12];
    struct graph graph;
    graph_open(&graph, rig);
    for (size_t i = 0; i < LONG; i++) {
        snprintf(names[i], sizeof names[i], "%zu", i);
        if (i) edges[i].parent = names[i - 1];
        nodes[i] = (struct pawl_flow_node){ .name = names[i],
                                            .job = { .type = "work", .queue = "long" },
                                            .after = &edges[i],
                                            .after_count = i > 0 };
    }
    struct pawl_job_id id = submit_many(rig, graph.pawl, nodes, LONG);
    int64_t moved = 0;
    const struct pawl_filter first = { .states = PAWL_STATE_BIT(PAWL_STATE_AVAILABLE) };
    assert_ok(
        rig, pawl_control_many(graph.pawl, &first, PAWL_CONTROL_SKIP, 1, NULL, &moved, &rig->diag));
    assert_i64(1, moved);
    for (int i = 0; i < 3; i++) {
        graph_settle(&graph); // where one transaction is not enough
    }
    assert_i64(LONG, counts_of(rig, graph.pawl, id).skipped);
    graph_close(&graph);
}

/* ---- reading ---- */

static void flows_are_listed_newest_first(struct rig *rig)
{
    struct graph graph;
    struct pawl_job_id ids[3];
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    for (size_t i = 0; i < 3; i++) {
        graph_submit(&graph);
        ids[i] = graph.id;
    }
    node_completes(&graph, "A"); // of the first
    struct pawl_flows flows = { 0 };
    struct pawl_page page = { .limit = 2 };
    assert_ok(rig, pawl_flow_list(graph.pawl, NULL, &page, &flows, &rig->diag));
    assert_int_equal(2, flows.count);
    assert_id(ids[2], flows.at[0].id);
    assert_id(ids[1], flows.at[1].id);
    char next[PAWL_CURSOR_BYTES];
    memcpy(next, flows.next, sizeof next);
    page.cursor = next;
    pawl_flows_release(&flows);
    assert_ok(rig, pawl_flow_list(graph.pawl, NULL, &page, &flows, &rig->diag));
    assert_int_equal(1, flows.count);
    assert_int_equal(PAWL_FLOW_COMPLETED, flows.at[0].state);
    assert_text("", flows.next);
    pawl_flows_release(&flows);
    const struct pawl_flow_filter running = { .state = PAWL_FLOW_RUNNING };
    assert_ok(rig, pawl_flow_list(graph.pawl, &running, NULL, &flows, &rig->diag));
    assert_int_equal(2, flows.count);
    assert_i64(1, flows.at[0].jobs.open);
    pawl_flows_release(&flows);
    struct pawl_job_id none = { { 1 } };
    assert_err(rig, PAWL_ERR_NOT_FOUND, pawl_flow_get(graph.pawl, none, &flows, &rig->diag));
    struct pawl_flow_nodes nodes = { 0 };
    assert_err(rig, PAWL_ERR_NOT_FOUND, pawl_flow_nodes_get(graph.pawl, none, &nodes, &rig->diag));
    graph_close(&graph);
}

static void flow_is_stored_whole_or_not_at_all(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "")->job.business_key = "k";
    node_after(&graph, "B", "A")->job.business_key = "k";
    assert_err(rig, PAWL_ERR_DUPLICATE, try_submit(&graph));
    assert_within("[1]", rig->diag.field);
    struct pawl_flows flows = { 0 };
    assert_ok(rig, pawl_flow_list(graph.pawl, NULL, NULL, &flows, &rig->diag));
    assert_int_equal(0, flows.count);
    pawl_flows_release(&flows);
    graph.nodes[1].job.business_key = NULL;
    graph.nodes[1].job.type = NULL;
    assert_err(rig, PAWL_ERR_ARG, try_submit(&graph));
    assert_text("[1].type", rig->diag.field);
    graph_close(&graph);
}

/* Of those that `name` waited for: "A=1 B=null". */
static const char *earlier_text(struct graph *graph, const char *name)
{
    struct rig *rig = graph->rig;
    struct pawl_flow_inputs inputs = { 0 };
    const char *text = "";
    assert_ok(rig, pawl_flow_earlier_get(graph->pawl, node_id(graph, name), &inputs, &rig->diag));
    assert_memory_equal(&graph->id, &inputs.flow, sizeof graph->id);
    assert_text(name, inputs.node);
    for (size_t i = 0; i < inputs.count; i++) {
        const struct pawl_flow_input *input = &inputs.at[i];
        bool null = input->result.len == 4 && memcmp(input->result.at, "null", 4) == 0;
        text = rig_text(rig, "%s%s%s%s", text, i ? " " : "", input->name, null ? "!" : "");
    }
    pawl_flow_inputs_release(&inputs);
    return text;
}

static void member_of(struct graph *graph, const char *name, const char *after, const char *group)
{
    node_after(graph, name, after)->group = group;
}

/* A chain: A, a group of B and a chain C, D, then a join J of that, then E. */
static void draw_nested(struct graph *graph)
{
    node_after(graph, "A", "");
    control_node(graph, "G", PAWL_FLOW_KIND_GROUP, "A");
    member_of(graph, "B", "", "G");
    control_node(graph, "H", PAWL_FLOW_KIND_GROUP, "")->group = "G";
    member_of(graph, "C", "", "H");
    member_of(graph, "D", "C", "H");
    control_node(graph, "J", PAWL_FLOW_KIND_JOIN, "G");
    node_after(graph, "E", "J");
}

static void submit_as(struct graph *graph, const char *layout)
{
    const struct pawl_flow_spec spec = { .nodes = graph->nodes,
                                         .node_count = graph->count,
                                         .layout = layout };
    assert_ok(graph->rig, pawl_flow_submit(graph->pawl, &spec, &graph->id, &graph->rig->diag));
}

static void earlier_results_are_at_hand(struct rig *rig)
{
    struct graph graph;
    static const struct {
        const char *layout, *b, *d, *e;
    } cases[] = { { NULL, "A", "A C", "B C D" }, { "chain", "A", "A C", "A B C D" } };
    graph_open(&graph, rig);
    for (size_t i = 0; i < COUNT(cases); i++) {
        graph.count = 0;
        draw_nested(&graph);
        submit_as(&graph, cases[i].layout);
        assert_text("", earlier_text(&graph, "A"));
        node_completes(&graph, "A");
        assert_text(cases[i].b, earlier_text(&graph, "B"));
        node_completes(&graph, "B");
        node_completes(&graph, "C");
        assert_text(cases[i].d, earlier_text(&graph, "D"));
        node_completes(&graph, "D");
        assert_text(cases[i].e, earlier_text(&graph, "E"));
        struct pawl_flow_inputs own = { 0 };
        assert_ok(rig, pawl_flow_of(graph.pawl, node_id(&graph, "D"), &own, &rig->diag));
        assert_text("D", own.node);
        assert_int_equal(0, own.count);
        pawl_flow_inputs_release(&own);
        struct pawl_flow_inputs parents = { 0 };
        assert_ok(rig,
                  pawl_flow_inputs_get(graph.pawl, node_id(&graph, "B"), &parents, &rig->diag));
        assert_int_equal(0, parents.count);
        pawl_flow_inputs_release(&parents);
    }
    graph_close(&graph);
}

/* Longer than what is found step by step. */
static void earlier_steps_of_a_long_chain(struct rig *rig)
{
    struct graph graph;
    enum { STEPS = 40 };
    graph_open(&graph, rig);
    for (int i = 0; i < STEPS; i++) {
        node_after(&graph, rig_text(rig, "n%d", i), i ? rig_text(rig, "n%d", i - 1) : "");
    }
    submit_as(&graph, "chain");
    node_completes(&graph, "n0");
    assert_text("n0", earlier_text(&graph, "n1"));
    struct pawl_flow_inputs inputs = { 0 };
    struct pawl_job_id last = node_id(&graph, rig_text(rig, "n%d", STEPS - 1));
    assert_ok(rig, pawl_flow_earlier_get(graph.pawl, last, &inputs, &rig->diag));
    assert_int_equal(STEPS - 1, inputs.count);
    for (int i = 0; i < STEPS - 1; i++) {
        assert_text(rig_text(rig, "n%d", i), inputs.at[i].name);
    }
    pawl_flow_inputs_release(&inputs);
    graph_close(&graph);
}

static void id_of_a_flow_is_chosen_once(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    const struct pawl_job_id mine = { { 1, 2, 3, 4, 5, 6, 0x70, 8, 0x80, 10, 11, 12, 13, 14, 15,
                                        16 } };
    const struct pawl_flow_spec spec = { .id = &mine, .nodes = graph.nodes, .node_count = 1 };
    assert_ok(rig, pawl_flow_submit(graph.pawl, &spec, &graph.id, &rig->diag));
    assert_memory_equal(&mine, &graph.id, sizeof mine);
    assert_err(rig, PAWL_ERR_EXISTS, pawl_flow_submit(graph.pawl, &spec, &graph.id, &rig->diag));
    assert_text("id", rig->diag.field);
    assert_int_equal(1, graph_flow(&graph).jobs.total);
    node_completes(&graph, "A");
    assert_int_equal(PAWL_FLOW_COMPLETED, graph_flow(&graph).state);
    graph_close(&graph);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(chain_runs_one_after_another),
        CONTRACT(failure_cancels_what_is_below),
        CONTRACT(retry_of_a_member_is_no_end),
        CONTRACT(fan_in_waits_for_all),
        CONTRACT(results_of_parents_are_at_hand),
        CONTRACT(branch_takes_one_way_and_the_join_runs),
        CONTRACT(default_arm_is_for_what_nobody_else_takes),
        CONTRACT(condition_that_cannot_be_evaluated_is_false),
        CONTRACT(condition_that_is_none_is_refused),
        CONTRACT(batch_has_callbacks),
        CONTRACT(group_as_a_step_opens_when_it_is_its_turn),
        CONTRACT(members_share_the_fate_of_a_group_that_is_not_reached),
        CONTRACT(node_that_waits_cannot_be_activated),
        CONTRACT(node_that_was_paused_is_released_on_resume),
        CONTRACT(paused_node_is_given_up_at_once),
        CONTRACT(node_of_a_live_flow_cannot_be_deleted),
        CONTRACT(each_end_is_followed),
        CONTRACT(fan_out_and_in_of_thousands),
        CONTRACT(long_chain_is_skipped_at_once),
        CONTRACT(flows_are_listed_newest_first),
        CONTRACT(flow_is_stored_whole_or_not_at_all),
        CONTRACT(earlier_results_are_at_hand),
        CONTRACT(earlier_steps_of_a_long_chain),
        CONTRACT(id_of_a_flow_is_chosen_once),
    };
    return contract_run("flow", tests, COUNT(tests));
}
