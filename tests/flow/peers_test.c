/* What two other systems promise of graphs and of recurring jobs, restated, on every store: the
 * cases that the other tests of flows and schedules do not have. A number is that of the case in
 * its system's list. */
#include "cron/cron_kit.h"
#include "flow/flow_kit.h"

/* ---- kit ---- */

/* The last node's edge `at`, as an arm of its parent's choice. */
static void arm(struct graph *graph, size_t at, int32_t number, const char *when)
{
    graph->edges[graph->count - 1][at].arm = number;
    graph->edges[graph->count - 1][at].when = when;
}

static void otherwise(struct graph *graph)
{
    graph->edges[graph->count - 1][0].otherwise = true;
}

static void completes_with(struct graph *graph, const char *name, const char *result)
{
    struct pawl_run run = node_claim(graph, name);
    assert_ok(graph->rig, pawl_complete(graph->pawl, &run, span_of(result), &graph->rig->diag));
}

static void node_is_skipped(struct graph *graph, const char *name)
{
    assert_ok(graph->rig, node_control(graph, name, PAWL_CONTROL_SKIP));
}

/* Names of the nodes of this flow whose jobs a worker of all queues gets, in order. */
static const char *claim_all(struct graph *graph)
{
    struct rig *rig = graph->rig;
    const char *queues[NODES_MAX] = { "q0" };
    for (size_t i = 0; i < graph->count; i++) {
        queues[i] = graph->nodes[i].job.queue ? graph->nodes[i].job.queue : "none";
    }
    const struct pawl_claim claim = {
        .queues = queues, .queue_count = graph->count, .limit = 100, .worker = "w", .lease_ms = 1000
    };
    struct pawl_jobs jobs = { 0 };
    const char *text = "";
    assert_ok(rig, pawl_claim(graph->pawl, &claim, &jobs, &rig->diag));
    for (size_t i = 0; i < jobs.count; i++) {
        struct pawl_flow_inputs own = { 0 };
        assert_ok(rig, pawl_flow_of(graph->pawl, jobs.at[i].id, &own, &rig->diag));
        text = rig_text(rig, "%s%s%s", text, i ? " " : "", own.node);
        pawl_flow_inputs_release(&own);
    }
    pawl_jobs_release(&jobs);
    return text;
}

static int64_t runs_of(struct graph *graph, const char *name)
{
    struct pawl_jobs jobs = { 0 };
    assert_ok(graph->rig, pawl_get(graph->pawl, node_id(graph, name), &jobs, &graph->rig->diag));
    int64_t runs = jobs.at[0].run;
    pawl_jobs_release(&jobs);
    return runs;
}

static struct pawl_flow_counts members_of(struct graph *graph, const char *group)
{
    struct pawl_flow_nodes nodes = { 0 };
    assert_ok(graph->rig, pawl_flow_nodes_get(graph->pawl, graph->id, &nodes, &graph->rig->diag));
    struct pawl_flow_counts counts = nodes.at[graph_find(graph, group)].members;
    pawl_flow_nodes_release(&nodes);
    return counts;
}

/* ---- graphs ---- */

/* marie DA2 */
static void fan_in_is_ready_once_in_any_order(struct rig *rig)
{
    static const char *const names[] = { "A", "B", "C", "D" };
    struct graph graph;
    graph_open(&graph, rig);
    for (unsigned order = 0; order < 24; order++) {
        unsigned left = order;
        bool ended[4] = { false };
        graph.count = 0;
        for (int i = 0; i < 4; i++) {
            node_after(&graph, names[i], "");
        }
        node_after(&graph, "J", "A B C D");
        graph_submit(&graph);
        for (unsigned at = 4; at > 0; at--) {
            unsigned pick = left % at, which = 0;
            left /= at;
            while (ended[which] || pick-- > 0) {
                which++;
            }
            assert_state(PENDING, node_state(&graph, "J"));
            node_completes(&graph, names[which]);
            ended[which] = true;
        }
        assert_state(AVAILABLE, node_state(&graph, "J"));
        node_completes(&graph, "J");
        assert_i64(1, runs_of(&graph, "J"));
        assert_i64(5, graph_flow(&graph).jobs.completed);
        rig_tidy(rig);
    }
    graph_close(&graph);
}

static void is_refused(struct graph *graph, const char *field, const char *text)
{
    struct pawl_flows flows = { 0 };
    int64_t count = -1;
    struct rig *rig = graph->rig;
    assert_err(rig, PAWL_ERR_ARG, try_submit(graph));
    assert_text(field, rig->diag.field);
    assert_within(text, rig->diag.text);
    assert_ok(rig, pawl_flow_list(graph->pawl, NULL, NULL, &flows, &rig->diag));
    assert_int_equal(0, flows.count);
    pawl_flows_release(&flows);
    assert_ok(rig, pawl_count(graph->pawl, &(struct pawl_filter){ 0 }, &count, &rig->diag));
    assert_i64(0, count);
    graph->count = 0;
}

/* marie DA3 */
static void what_is_no_graph_leaves_nothing(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "R", "");
    node_after(&graph, "A", "R C");
    node_after(&graph, "B", "A");
    node_after(&graph, "C", "B");
    is_refused(&graph, "parent", "its parents form a cycle");
    node_after(&graph, "A", "A");
    is_refused(&graph, "parent", "cannot come after itself");
    node_after(&graph, "A", "Z");
    is_refused(&graph, "parent", "there is no node \"Z\"");
    node_after(&graph, "A", "");
    node_after(&graph, "A", "");
    is_refused(&graph, "name", "two nodes are named \"A\"");
    graph_close(&graph);
}

/* marie DA3 */
static void edge_that_is_given_twice_counts_once(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A A");
    graph_submit(&graph);
    node_completes(&graph, "A");
    assert_graph("A:completed B:available", &graph);
    graph_close(&graph);
}

static void ends_and_is(struct graph *graph, enum pawl_flow_state state)
{
    assert_int_equal(state, graph_flow(graph).state);
    assert_true(graph_flow(graph).finished_at_ms != 0);
    graph->count = 0;
    rig_tidy(graph->rig);
}

/* marie DA5 */
static void flow_has_failed_once_nothing_is_left(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "");
    node_after(&graph, "C", "B");
    graph_submit(&graph);
    struct pawl_run run = node_claim(&graph, "B");
    node_fails(&graph, "A");
    assert_int_equal(PAWL_FLOW_RUNNING, graph_flow(&graph).state);
    assert_ok(rig, pawl_complete(graph.pawl, &run, span_of("1"), &rig->diag));
    assert_int_equal(PAWL_FLOW_RUNNING, graph_flow(&graph).state);
    node_completes(&graph, "C");
    ends_and_is(&graph, PAWL_FLOW_FAILED);

    node_after(&graph, "A", "");
    node_after(&graph, "B", "");
    graph_submit(&graph);
    node_is_skipped(&graph, "A");
    node_completes(&graph, "B");
    ends_and_is(&graph, PAWL_FLOW_COMPLETED);

    node_after(&graph, "A", "")->job.expires_in_ms = 1000;
    graph_submit(&graph);
    rig_advance(rig, 1000);
    graph_settle(&graph);
    ends_and_is(&graph, PAWL_FLOW_FAILED);

    node_after(&graph, "A", "");
    graph_submit(&graph);
    assert_ok(rig, node_control(&graph, "A", PAWL_CONTROL_CANCEL));
    ends_and_is(&graph, PAWL_FLOW_FAILED);
    graph_close(&graph);
}

/* marie DA6 */
static void failure_skips_descendants_if_asked_and_no_others(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A")->on_parent_failure = PAWL_FLOW_PARENT_SKIP;
    node_after(&graph, "C", "B")->on_parent_failure = PAWL_FLOW_PARENT_SKIP;
    node_after(&graph, "X", "");
    node_after(&graph, "Y", "X");
    graph_submit(&graph);
    node_fails(&graph, "A");
    assert_graph("A:discarded B:skipped C:skipped X:available Y:pending", &graph);
    assert_text("upstream_discarded", node_reason(&graph, "B"));
    node_completes(&graph, "X");
    node_completes(&graph, "Y");
    assert_int_equal(PAWL_FLOW_FAILED, graph_flow(&graph).state);
    graph_close(&graph);
}

/* marie DA7 */
static void progress_is_the_share_that_has_ended(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "");
    node_after(&graph, "C", "");
    node_after(&graph, "D", "");
    graph_submit(&graph);
    struct pawl_flow_counts jobs = graph_flow(&graph).jobs;
    assert_int_equal(0, pawl_flow_percent(&jobs));
    node_completes(&graph, "A");
    jobs = graph_flow(&graph).jobs;
    assert_int_equal(25, pawl_flow_percent(&jobs));
    node_fails(&graph, "B");
    jobs = graph_flow(&graph).jobs;
    assert_int_equal(50, pawl_flow_percent(&jobs));
    node_is_skipped(&graph, "C");
    assert_ok(rig, node_control(&graph, "D", PAWL_CONTROL_CANCEL));
    jobs = graph_flow(&graph).jobs;
    assert_int_equal(100, pawl_flow_percent(&jobs));
    graph_close(&graph);
}

/* marie DA11 */
static void whole_flow_begins_anew(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A");
    graph_submit(&graph);
    node_completes(&graph, "A");
    node_completes(&graph, "B");
    struct pawl_job_id root = node_id(&graph, "A");
    const struct pawl_flow_retry how = { .nodes = &root, .node_count = 1, .all_below = true };
    assert_ok(rig, pawl_flow_retry(graph.pawl, graph.id, &how, NULL, NULL, &rig->diag));
    assert_graph("A:available B:pending", &graph);
    assert_i64(2, graph_flow(&graph).jobs.open);
    assert_i64(0, graph_flow(&graph).finished_at_ms);
    struct pawl_jobs jobs = { 0 };
    assert_ok(rig, pawl_get(graph.pawl, root, &jobs, &rig->diag));
    assert_i64(0, jobs.at[0].attempt);
    pawl_jobs_release(&jobs);
    node_completes(&graph, "A");
    node_completes(&graph, "B");
    assert_int_equal(PAWL_FLOW_COMPLETED, graph_flow(&graph).state);
    assert_i64(2, graph_flow(&graph).jobs.completed);
    graph_close(&graph);
}

/* marie DA13 */
static void graph_that_is_submitted_twice_is_two_flows(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    control_node(&graph, "G", PAWL_FLOW_KIND_JOIN, "A");
    node_after(&graph, "B", "G");
    graph_submit(&graph);
    struct pawl_job_id ids[4] = { graph.id };
    for (size_t i = 0; i < 3; i++) {
        ids[i + 1] = node_id(&graph, graph.names[i]);
    }
    graph_submit(&graph);
    assert_memory_not_equal(&ids[0], &graph.id, sizeof graph.id);
    for (size_t i = 0; i < 3; i++) {
        struct pawl_job_id id = node_id(&graph, graph.names[i]);
        for (size_t old = 0; old < 4; old++) {
            assert_memory_not_equal(&ids[old], &id, sizeof id);
        }
    }
    node_completes(&graph, "A"); // the first one's
    assert_graph("A:available G:pending B:pending", &graph);
    graph_close(&graph);
}

/* marie DA14 */
static void resumed_flow_has_its_order_again(struct rig *rig)
{
    static const int32_t priorities[] = { 1, 5, 3, 5 };
    static const char *const names[] = { "A", "B", "C", "D" };
    struct graph graph;
    graph_open(&graph, rig);
    for (size_t i = 0; i < 4; i++) {
        struct pawl_flow_node *node = node_after(&graph, names[i], "");
        node->job.priority = priorities[i];
        node->job.queue = "one";
    }
    graph_submit(&graph);
    assert_ok(rig, pawl_flow_pause(graph.pawl, graph.id, NULL, &rig->diag));
    assert_text("", claim_all(&graph));
    rig_advance(rig, 1000);
    assert_ok(rig, pawl_flow_resume(graph.pawl, graph.id, NULL, &rig->diag));
    assert_text("B D C A", claim_all(&graph));
    graph_close(&graph);
}

/* ---- branches ---- */

/* marie BR1, ratchet: exclusive workflow */
static void first_arm_that_is_good_is_taken(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "")->select = PAWL_FLOW_SELECT_FIRST;
    node_after(&graph, "W", "A");
    arm(&graph, 0, 3, NULL);
    node_after(&graph, "X", "A");
    arm(&graph, 0, 2, "/result/n > 0");
    node_after(&graph, "Y", "A"); // as good, and declared later
    arm(&graph, 0, 2, "/result/n > 0");
    node_after(&graph, "Z", "A");
    arm(&graph, 0, 1, "/result/n > 9");
    graph_submit(&graph);
    completes_with(&graph, "A", "{\"n\":1}");
    assert_graph("A:completed W:skipped X:available Y:skipped Z:skipped", &graph);
    assert_text("X", claim_all(&graph));
    graph_close(&graph);
}

/* marie BR2, BR4 */
static void all_arms_that_are_good_are_taken(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "")->select = PAWL_FLOW_SELECT_ALL;
    node_after(&graph, "X", "A");
    arm(&graph, 0, 1, "/result/n > 0");
    node_after(&graph, "Y", "A");
    arm(&graph, 0, 2, "/result/n > 9");
    node_after(&graph, "Z", "A"); // without a condition
    arm(&graph, 0, 3, NULL);
    node_after(&graph, "D", "A");
    otherwise(&graph);
    graph_submit(&graph);
    completes_with(&graph, "A", "{\"n\":1}");
    assert_graph("A:completed X:available Y:skipped Z:available D:skipped", &graph);
    graph_close(&graph);
}

/* marie BR3, SK2, SK5 */
static void join_decides_where_no_arm_is_taken(struct rig *rig)
{
    static const enum pawl_flow_select selects[] = { PAWL_FLOW_SELECT_FIRST, PAWL_FLOW_SELECT_ALL };
    struct graph graph;
    graph_open(&graph, rig);
    for (size_t i = 0; i < COUNT(selects); i++) {
        graph.count = 0;
        node_after(&graph, "A", "")->select = selects[i];
        node_after(&graph, "X", "A");
        arm(&graph, 0, 1, "/result/n > 5");
        node_after(&graph, "Y", "A");
        arm(&graph, 0, 2, "/result/n > 9");
        node_after(&graph, "all", "X Y");
        node_after(&graph, "every", "X Y")->join = PAWL_FLOW_JOIN_EVERY;
        node_after(&graph, "any", "X Y")->join = PAWL_FLOW_JOIN_ANY;
        graph_submit(&graph);
        completes_with(&graph, "A", "{\"n\":1}");
        assert_graph("A:completed X:skipped Y:skipped all:skipped every:available any:skipped",
                     &graph);
        node_completes(&graph, "every");
        assert_int_equal(PAWL_FLOW_COMPLETED, graph_flow(&graph).state);
    }
    graph_close(&graph);
}

/* marie BR6: what hangs on a way that is taken and on one that is not */
static void target_of_two_arms_runs_if_one_is_taken(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "")->select = PAWL_FLOW_SELECT_FIRST;
    control_node(&graph, "X", PAWL_FLOW_KIND_JOIN, "A");
    arm(&graph, 0, 1, NULL);
    control_node(&graph, "Y", PAWL_FLOW_KIND_JOIN, "A");
    arm(&graph, 0, 2, NULL);
    node_after(&graph, "T", "X Y");
    node_after(&graph, "U", "Y");
    graph_submit(&graph);
    node_completes(&graph, "A");
    assert_graph("A:completed X:completed Y:skipped T:available U:skipped", &graph);
    graph_close(&graph);
}

/* marie BR9, BR10 */
static void switch_compares_type_and_value(struct rig *rig)
{
    static const struct {
        const char *result, *text;
    } cases[] = {
        { "{\"k\":\"invoice\"}", "A:completed I:available N:skipped T:skipped D:skipped" },
        { "{\"k\":3}", "A:completed I:skipped N:available T:skipped D:skipped" },
        { "{\"k\":3.0}", "A:completed I:skipped N:available T:skipped D:skipped" },
        { "{\"k\":true}", "A:completed I:skipped N:skipped T:available D:skipped" },
        { "{\"k\":\"3\"}", "A:completed I:skipped N:skipped T:skipped D:available" },
        { "{\"k\":\"true\"}", "A:completed I:skipped N:skipped T:skipped D:available" },
        { "{\"k\":null}", "A:completed I:skipped N:skipped T:skipped D:available" },
        { "{}", "A:completed I:skipped N:skipped T:skipped D:available" },
    };
    struct graph graph;
    graph_open(&graph, rig);
    for (size_t i = 0; i < COUNT(cases); i++) {
        graph.count = 0;
        node_after(&graph, "A", "")->select = PAWL_FLOW_SELECT_FIRST;
        node_after(&graph, "I", "A");
        arm(&graph, 0, 1, "/result/k == \"invoice\"");
        node_after(&graph, "N", "A");
        arm(&graph, 0, 2, "/result/k == 3");
        node_after(&graph, "T", "A");
        arm(&graph, 0, 3, "/result/k == true");
        node_after(&graph, "D", "A");
        otherwise(&graph);
        graph_submit(&graph);
        completes_with(&graph, "A", cases[i].result);
        assert_graph(cases[i].text, &graph);
    }
    graph_close(&graph);
}

/* marie BR11, BR13 */
static void choice_on_a_way_not_taken_is_not_made(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "")->select = PAWL_FLOW_SELECT_FIRST;
    node_after(&graph, "X", "A");
    arm(&graph, 0, 1, "/result/of == \"A\"");
    graph.edges[1][0].label = "usual";
    control_node(&graph, "N", PAWL_FLOW_KIND_BRANCH, "A")->select = PAWL_FLOW_SELECT_FIRST;
    arm(&graph, 0, 2, "/result/of == \"B\"");
    node_after(&graph, "P", "N");
    arm(&graph, 0, 1, "/result > 5"); // which would be an error
    node_after(&graph, "Q", "N");
    otherwise(&graph);
    graph_submit(&graph);
    node_completes(&graph, "A");
    assert_graph("A:completed X:available N:skipped P:skipped Q:skipped", &graph);
    assert_text("branch_not_taken", node_reason(&graph, "N"));
    struct pawl_flow_nodes nodes = { 0 };
    assert_ok(rig, pawl_flow_nodes_get(graph.pawl, graph.id, &nodes, &rig->diag));
    static const int32_t verdicts[] = { 1, 2, 2, 2 };
    assert_int_equal(4, nodes.edge_count);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(verdicts[i], nodes.edges[i].verdict);
        assert_text("", nodes.edges[i].reason);
    }
    assert_text("usual", nodes.edges[0].label);
    assert_text("/result/of == \"B\"", nodes.edges[1].when);
    assert_i64(rig_now(rig), nodes.at[2].finished_at_ms);
    pawl_flow_nodes_release(&nodes);
    graph_close(&graph);
}

/* ratchet: a condition is about a parent that ended as its branch wants */
static void condition_that_decides_nothing_is_not_evaluated(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A")->on_parent_failure = PAWL_FLOW_PARENT_SKIP;
    graph.edges[1][0].when = "/result > 5";
    node_after(&graph, "C", "*A");
    graph.edges[2][0].when = "/result > 5";
    graph_submit(&graph);
    node_fails(&graph, "A");
    assert_graph("A:discarded B:skipped C:skipped", &graph);
    struct pawl_flow_nodes nodes = { 0 };
    assert_ok(rig, pawl_flow_nodes_get(graph.pawl, graph.id, &nodes, &rig->diag));
    assert_text("", nodes.edges[0].reason);
    assert_within("cannot compare", nodes.edges[1].reason);
    pawl_flow_nodes_release(&nodes);
    graph_close(&graph);
}

/* marie BR12, CA5 */
static void control_nodes_need_no_worker(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    control_node(&graph, "B", PAWL_FLOW_KIND_BRANCH, "")->select = PAWL_FLOW_SELECT_FIRST;
    control_node(&graph, "X", PAWL_FLOW_KIND_JOIN, "B");
    arm(&graph, 0, 1, "exists(/result)");
    control_node(&graph, "Y", PAWL_FLOW_KIND_JOIN, "B");
    otherwise(&graph);
    control_node(&graph, "M", PAWL_FLOW_KIND_JOIN, "X Y");
    graph_submit(&graph);
    assert_graph("B:completed X:skipped Y:completed M:completed", &graph);
    assert_int_equal(PAWL_FLOW_COMPLETED, graph_flow(&graph).state);
    graph_close(&graph);
}

/* ---- skips and joins ---- */

/* marie SK3 */
static void any_is_ready_at_the_first_and_once(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "");
    node_after(&graph, "C", "");
    node_after(&graph, "J", "A B C")->join = PAWL_FLOW_JOIN_ANY;
    graph_submit(&graph);
    node_is_skipped(&graph, "A"); // which is no completion
    assert_state(PENDING, node_state(&graph, "J"));
    node_completes(&graph, "B");
    assert_state(AVAILABLE, node_state(&graph, "J"));
    node_completes(&graph, "J");
    node_completes(&graph, "C");
    assert_graph("A:skipped B:completed C:completed J:completed", &graph);
    assert_i64(1, runs_of(&graph, "J"));
    assert_int_equal(PAWL_FLOW_COMPLETED, graph_flow(&graph).state);
    graph_close(&graph);
}

/* marie SK4 */
static void n_is_ready_at_the_nth_or_skipped(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    for (int enough = 0; enough < 2; enough++) {
        graph.count = 0;
        node_after(&graph, "A", "");
        node_after(&graph, "B", "");
        node_after(&graph, "C", "");
        struct pawl_flow_node *node = node_after(&graph, "J", "A B C");
        node->join = PAWL_FLOW_JOIN_N;
        node->n = 2;
        graph_submit(&graph);
        node_is_skipped(&graph, "A");
        node_completes(&graph, "B");
        assert_state(PENDING, node_state(&graph, "J"));
        if (enough) node_completes(&graph, "C");
        if (!enough) node_is_skipped(&graph, "C");
        assert_int_equal(enough ? PAWL_STATE_AVAILABLE : PAWL_STATE_SKIPPED,
                         node_state(&graph, "J"));
    }
    graph_close(&graph);
}

/* marie SK6 */
static void skipped_node_never_ran_and_is_no_failure(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "")->select = PAWL_FLOW_SELECT_FIRST;
    node_after(&graph, "X", "A");
    arm(&graph, 0, 1, "/state == \"completed\"");
    node_after(&graph, "Y", "A");
    arm(&graph, 0, 2, NULL);
    graph_submit(&graph);
    node_completes(&graph, "A");
    assert_text("X", claim_all(&graph));
    assert_i64(0, runs_of(&graph, "Y"));
    rig_advance(rig, 1000);
    graph_settle(&graph);
    rig_advance(rig, 60000);
    graph_settle(&graph);
    node_completes(&graph, "X");
    struct pawl_flow flow = graph_flow(&graph);
    assert_int_equal(PAWL_FLOW_COMPLETED, flow.state);
    assert_i64(1, flow.jobs.skipped);
    assert_true(pawl_flow_success_rate(&flow.jobs) == 1.0);
    graph_close(&graph);
}

/* marie SK8 */
static void reason_says_what_became_of_the_parent(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "")->job.expires_in_ms = 1000;
    node_after(&graph, "C", "");
    node_after(&graph, "afterA", "A")->on_parent_failure = PAWL_FLOW_PARENT_SKIP;
    node_after(&graph, "afterB", "B")->on_parent_failure = PAWL_FLOW_PARENT_SKIP;
    node_after(&graph, "afterC", "C");
    graph.edges[5][0].when = "/result/of == \"A\"";
    graph_submit(&graph);
    assert_ok(rig, node_control(&graph, "A", PAWL_CONTROL_CANCEL));
    rig_advance(rig, 1000);
    graph_settle(&graph);
    node_completes(&graph, "C");
    assert_graph("A:cancelled B:expired C:completed afterA:skipped afterB:skipped afterC:skipped",
                 &graph);
    assert_text("upstream_cancelled", node_reason(&graph, "afterA"));
    assert_text("upstream_expired", node_reason(&graph, "afterB"));
    assert_text("branch_not_taken", node_reason(&graph, "afterC"));
    graph_close(&graph);
}

/* ---- what people decide ---- */

static void open_review(struct graph *graph)
{
    graph->count = 0;
    node_after(graph, "A", "")->select = PAWL_FLOW_SELECT_FIRST;
    control_node(graph, "ask", PAWL_FLOW_KIND_SIGNAL, "A");
    arm(graph, 0, 1, "exists(/result/flag) or (/result/sure >= 0.7 and /result/sure < 0.95)");
    control_node(graph, "auto", PAWL_FLOW_KIND_JOIN, "A");
    arm(graph, 0, 2, "/result/sure >= 0.95");
    node_after(graph, "no", "A");
    otherwise(graph);
    node_after(graph, "go", "ask auto");
    graph_submit(graph);
}

/* marie HI1, HI2, HI5 */
static void sure_results_need_no_approval(struct rig *rig)
{
    static const struct {
        const char *result, *text;
    } cases[] = {
        { "{\"sure\":0.95}", "A:completed ask:skipped auto:completed no:skipped go:available" },
        { "{\"sure\":0.94}", "A:completed ask:active auto:skipped no:skipped go:pending" },
        { "{\"sure\":0.7}", "A:completed ask:active auto:skipped no:skipped go:pending" },
        { "{\"sure\":0.69}", "A:completed ask:skipped auto:skipped no:available go:skipped" },
        { "{\"sure\":0.99,\"flag\":1}",
          "A:completed ask:active auto:skipped no:skipped go:pending" },
    };
    struct graph graph;
    graph_open(&graph, rig);
    for (size_t i = 0; i < COUNT(cases); i++) {
        open_review(&graph);
        completes_with(&graph, "A", cases[i].result);
        assert_graph(cases[i].text, &graph);
        (void)claim_all(&graph);
    }
    assert_text("", claim_all(&graph)); // what waits for approval takes no worker
    const struct pawl_flow_signal yes = { .kind = PAWL_FLOW_SIGNAL_APPROVE };
    assert_ok(rig, pawl_flow_signal(graph.pawl, node_id(&graph, "ask"), &yes, &rig->diag));
    assert_text("go", claim_all(&graph));
    graph_close(&graph);
}

/* ---- workflows ---- */

/* ratchet 55: branches and a step that simply comes next do not disturb each other */
static void step_beside_branches_is_for_itself(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    for (int fails = 0; fails < 2; fails++) {
        graph.count = 0;
        node_after(&graph, "A", "")->select = PAWL_FLOW_SELECT_FIRST;
        node_after(&graph, "good", "A");
        arm(&graph, 0, 1, NULL);
        node_after(&graph, "bad", "!A");
        arm(&graph, 0, 2, NULL);
        node_after(&graph, "next", "A");
        graph_submit(&graph);
        if (fails) node_fails(&graph, "A");
        if (!fails) node_completes(&graph, "A");
        assert_graph(fails ? "A:discarded good:skipped bad:available next:cancelled"
                           : "A:completed good:available bad:skipped next:available",
                     &graph);
        node_completes(&graph, fails ? "bad" : "good");
    }
    graph_close(&graph);
}

/* ratchet: cancelling a step of a chain */
static void cancelled_step_takes_those_behind_it_along(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A");
    node_after(&graph, "C", "B");
    node_after(&graph, "D", "C");
    graph_submit(&graph);
    struct pawl_run run = node_claim(&graph, "A");
    assert_ok(rig, node_control(&graph, "B", PAWL_CONTROL_CANCEL));
    assert_graph("A:active B:cancelled C:cancelled D:cancelled", &graph);
    assert_ok(rig, pawl_complete(graph.pawl, &run, span_of("1"), &rig->diag));
    assert_graph("A:completed B:cancelled C:cancelled D:cancelled", &graph);
    assert_int_equal(PAWL_FLOW_FAILED, graph_flow(&graph).state);
    graph_close(&graph);
}

/* ratchet: terminal contracts, as far as dependants and counters are concerned */
static void stale_report_changes_nothing_below(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A");
    graph_submit(&graph);
    struct pawl_run old = node_claim(&graph, "A");
    rig_advance(rig, 30000);
    graph_settle(&graph);
    rig_advance(rig, 60000);
    graph_settle(&graph);
    struct pawl_run valid = node_claim(&graph, "A");
    assert_err(rig, PAWL_ERR_STALE, pawl_complete(graph.pawl, &old, span_of("1"), &rig->diag));
    assert_graph("A:active B:pending", &graph);
    assert_i64(0, graph_flow(&graph).jobs.completed);
    assert_ok(rig, pawl_complete(graph.pawl, &valid, span_of("2"), &rig->diag));
    assert_graph("A:completed B:available", &graph);
    const struct pawl_report report = { .type = "e", .not_retryable = true };
    assert_err(rig, PAWL_ERR_STALE, pawl_fail(graph.pawl, &old, &report, NULL, &rig->diag));
    assert_err(rig, PAWL_ERR_STALE, pawl_fail(graph.pawl, &valid, &report, NULL, &rig->diag));
    assert_graph("A:completed B:available", &graph);
    assert_i64(1, graph_flow(&graph).jobs.completed);
    assert_i64(1, graph_flow(&graph).jobs.open);
    graph_close(&graph);
}

/* ---- batches ---- */

/* ratchet: batch counters, success rate and progress */
static void members_are_counted_once_as_they_ended(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    control_node(&graph, "batch", PAWL_FLOW_KIND_GROUP, "");
    for (int i = 0; i < 4; i++) {
        node_after(&graph, rig_text(rig, "m%d", i), "")->group = "batch";
    }
    graph_submit(&graph);
    struct pawl_flow_counts counts = members_of(&graph, "batch");
    assert_int_equal(0, pawl_flow_percent(&counts));
    assert_true(pawl_flow_success_rate(&counts) == 1.0);
    node_completes(&graph, "m0");
    struct pawl_run run = node_claim(&graph, "m1");
    assert_ok(rig, node_control(&graph, "m1", PAWL_CONTROL_CANCEL));
    assert_err(rig, PAWL_ERR_STALE, pawl_complete(graph.pawl, &run, span_of("1"), &rig->diag));
    assert_err(rig, PAWL_ERR_STATE, node_control(&graph, "m1", PAWL_CONTROL_CANCEL));
    node_completes(&graph, "m2");
    counts = members_of(&graph, "batch");
    assert_i64(2, counts.completed);
    assert_i64(1, counts.cancelled);
    assert_i64(1, counts.open);
    assert_int_equal(75, pawl_flow_percent(&counts));
    node_fails(&graph, "m3");
    counts = members_of(&graph, "batch");
    assert_i64(4, counts.total);
    assert_i64(1, counts.failed);
    assert_i64(0, counts.open);
    assert_int_equal(100, pawl_flow_percent(&counts)); // failures have ended too
    assert_true(pawl_flow_success_rate(&counts) == 0.5);
    assert_state(DISCARDED, node_state(&graph, "batch"));
    graph_close(&graph);
}

/* ratchet: an empty batch is complete */
static void empty_batch_is_complete(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    control_node(&graph, "batch", PAWL_FLOW_KIND_GROUP, "")->unsealed = true;
    node_after(&graph, "next", "batch");
    graph_submit(&graph);
    assert_ok(rig, pawl_flow_seal(graph.pawl, graph.id, "batch", &rig->diag));
    struct pawl_flow_counts counts = members_of(&graph, "batch");
    assert_int_equal(100, pawl_flow_percent(&counts));
    assert_true(pawl_flow_success_rate(&counts) == 1.0);
    assert_graph("batch:completed next:available", &graph);
    graph_close(&graph);
}

/* ratchet: conditions on a batch. Of four members `failed` fail. */
static void batch_decides_by_its_counts(struct rig *rig)
{
    static const char *const expected[] = { "TsTTs", "sTTTs", "sTTsT", "sTssT", "sTssT" };
    struct graph graph;
    graph_open(&graph, rig);
    for (int failed = 0; failed <= 4; failed++) {
        graph.count = 0;
        control_node(&graph, "batch", PAWL_FLOW_KIND_GROUP, "")->may_fail = true;
        for (int i = 0; i < 4; i++) {
            node_after(&graph, rig_text(rig, "m%d", i), "")->group = "batch";
        }
        node_after(&graph, "all", "batch")->on_parent_failure = PAWL_FLOW_PARENT_SKIP;
        node_after(&graph, "some", "!batch");
        node_after(&graph, "rate", "*batch");
        graph.edges[7][0].when = "/group/success_rate >= 0.5";
        node_after(&graph, "atmost", "*batch");
        graph.edges[8][0].when = "/group/failed <= 1";
        node_after(&graph, "custom", "*batch");
        graph.edges[9][0].when = "/group/failed > 1 and /group/total == 4";
        graph_submit(&graph);
        for (int i = 0; i < 4; i++) {
            const char *name = rig_text(rig, "m%d", i);
            if (i < failed) node_fails(&graph, name);
            if (i >= failed) node_completes(&graph, name);
        }
        for (size_t i = 0; i < 5; i++) {
            enum pawl_state state = node_state(&graph, graph.names[5 + i]);
            assert_int_equal(expected[failed][i] == 'T' ? PAWL_STATE_AVAILABLE : PAWL_STATE_SKIPPED,
                             state);
        }
    }
    graph_close(&graph);
}

/* ---- recurring jobs ---- */

/* ratchet: a child keeps its master's name when that is gone */
static void job_outlives_its_schedule(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("s");
    put(&desk, &spec);
    assert_i64(1, fire_at(&desk, MONDAY_MS + HOUR_MS));
    assert_ok(rig, pawl_schedule_remove(desk.pawl, "s", 0, &rig->diag));
    assert_i64(0, fire_at(&desk, MONDAY_MS + 2 * HOUR_MS));
    const struct pawl_filter made = { .meta_key = "cron_name", .meta_value = "s" };
    int64_t count = -1;
    assert_ok(rig, pawl_count(desk.pawl, &made, &count, &rig->diag));
    assert_i64(1, count);
    complete_next(&desk);
    put(&desk, &spec); // the name is free again
    assert_i64(1, fire_at(&desk, MONDAY_MS + 3 * HOUR_MS));
    desk_close(&desk);
}

/* ratchet: cancel by tag leaves recurring jobs alone */
static void cancel_by_tag_leaves_the_schedule(struct rig *rig)
{
    static const char *const tags[] = { "t" };
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("s");
    spec.job.tags = tags;
    spec.job.tag_count = 1;
    put(&desk, &spec);
    assert_i64(1, fire_at(&desk, MONDAY_MS + HOUR_MS));
    const struct pawl_filter tagged = { .tags = tags, .tag_count = 1 };
    int64_t moved = -1;
    assert_ok(rig, pawl_control_many(desk.pawl, &tagged, PAWL_CONTROL_CANCEL, 10, NULL, &moved,
                                     &rig->diag));
    assert_i64(1, moved);
    assert_i64(1, fire_at(&desk, MONDAY_MS + 2 * HOUR_MS));
    assert_jobs("3600:cancelled 7200:available", &desk);
    desk_close(&desk);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(fan_in_is_ready_once_in_any_order),
        CONTRACT(what_is_no_graph_leaves_nothing),
        CONTRACT(edge_that_is_given_twice_counts_once),
        CONTRACT(flow_has_failed_once_nothing_is_left),
        CONTRACT(failure_skips_descendants_if_asked_and_no_others),
        CONTRACT(progress_is_the_share_that_has_ended),
        CONTRACT(whole_flow_begins_anew),
        CONTRACT(graph_that_is_submitted_twice_is_two_flows),
        CONTRACT(resumed_flow_has_its_order_again),
        CONTRACT(first_arm_that_is_good_is_taken),
        CONTRACT(all_arms_that_are_good_are_taken),
        CONTRACT(join_decides_where_no_arm_is_taken),
        CONTRACT(target_of_two_arms_runs_if_one_is_taken),
        CONTRACT(switch_compares_type_and_value),
        CONTRACT(choice_on_a_way_not_taken_is_not_made),
        CONTRACT(condition_that_decides_nothing_is_not_evaluated),
        CONTRACT(control_nodes_need_no_worker),
        CONTRACT(any_is_ready_at_the_first_and_once),
        CONTRACT(n_is_ready_at_the_nth_or_skipped),
        CONTRACT(skipped_node_never_ran_and_is_no_failure),
        CONTRACT(reason_says_what_became_of_the_parent),
        CONTRACT(sure_results_need_no_approval),
        CONTRACT(step_beside_branches_is_for_itself),
        CONTRACT(cancelled_step_takes_those_behind_it_along),
        CONTRACT(stale_report_changes_nothing_below),
        CONTRACT(members_are_counted_once_as_they_ended),
        CONTRACT(empty_batch_is_complete),
        CONTRACT(batch_decides_by_its_counts),
        CONTRACT(job_outlives_its_schedule),
        CONTRACT(cancel_by_tag_leaves_the_schedule),
    };
    return contract_run("flow_peers", tests, COUNT(tests));
}
