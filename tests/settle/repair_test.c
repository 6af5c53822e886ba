/* Flows whose rows were damaged, on every store: the check says what is wrong, the sweep mends it,
 * and the flow ends as if nothing had happened. */
#include "api/api.h"
#include "flow/flow_kit.h"
#include "settle/settle_kit.h"

#include <stdlib.h>

enum { QUIET_MS = 60000, PAUSE_MS = 600000, TIE_FLOW = 8 };

/* ---- damage ---- */

/* On the store of the flow, which need not be that of the rig. */
static void damage(struct graph *graph, const char *order)
{
    struct rig *rig = graph->rig;
    struct pawl__store *own = rig->store;
    rig->store = graph->pawl->store;
    struct pawl__new_job job =
        job_new(rig, &(struct pawl_job_spec){ .type = "break", .queue = "break" });
    struct pawl_submitted out;
    job.ties = TIE_BREAK;
    assert_ok(rig, submit_jobs(rig, &job, 1, &out, NULL));
    struct pawl_job claimed = claim_one(rig, "break");
    assert_ok(rig, complete(rig, ref_of(&claimed), rig_text(rig, "\"%s\"", order)));
    rig->store = own;
}

/* "node A pending 2", "edge A B verdict 0", "group 0 total 3", "group G open_ended 1". */
static void damage_row(struct graph *graph, const char *what)
{
    char text[PAWL_JOB_ID_TEXT_BYTES], kind[16], first[16], rest[64];
    pawl_job_id_text(graph->id, text);
    assert_int_equal(3, sscanf(what, "%15s %15s %63[^\n]", kind, first, rest));
    int no = (int)graph_find(graph, first) + 1;
    bool named = (size_t)no <= graph->count;
    if (strcmp(kind, "flow") == 0) {
        damage(graph, rig_text(graph->rig, "%s %s", text, what));
        return;
    }
    if (!named) no = (int)strtol(first, NULL, 10);
    if (strcmp(kind, "edge") == 0) {
        char second[16], field[48];
        assert_int_equal(2, sscanf(rest, "%15s %47[^\n]", second, field));
        snprintf(rest, sizeof rest, "%d %s", (int)graph_find(graph, second) + 1, field);
    }
    damage(graph, rig_text(graph->rig, "%s %s %d %s", text, kind, no, rest));
}

/* Nothing is told that the node's job ends: as if an older program ended it. */
static void untie(struct graph *graph, const char *name)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(node_id(graph, name), text);
    damage(graph, rig_text(graph->rig, "%s tie 0", text));
}

/* ---- what is seen of it ---- */

struct findings {
    struct rig *rig;
    const char *text;
    int count;
};

static void add_finding(void *ctx, const char *finding)
{
    struct findings *findings = ctx;
    findings->text = rig_text(findings->rig, "%s%s\n", findings->text, finding);
    findings->count++;
}

static const char *check_of(struct graph *graph)
{
    struct rig *rig = graph->rig;
    struct findings findings = { .rig = rig, .text = "" };
    enum pawl_err err = pawl_check(graph->pawl, add_finding, &findings, &rig->diag);
    assert_int_equal(findings.count ? PAWL_ERR_CORRUPT : PAWL_OK, err);
    return findings.text;
}

static void assert_sound(struct graph *graph)
{
    assert_text("", check_of(graph));
}

static void repair(struct graph *graph)
{
    rig_advance(graph->rig, QUIET_MS + 1);
    graph_settle(graph);
    graph_settle(graph);
}

/* Every job that is available completes, until there is none. */
static void run_all(struct graph *graph)
{
    struct rig *rig = graph->rig;
    const char *queues[NODES_MAX];
    for (size_t i = 0; i < graph->count; i++) {
        queues[i] = graph->queues[i];
    }
    for (;;) {
        const struct pawl_claim claim = { .queues = queues,
                                          .queue_count = graph->count,
                                          .limit = 1,
                                          .worker = "w",
                                          .lease_ms = 30000 };
        struct pawl_jobs jobs = { 0 };
        assert_ok(rig, pawl_claim(graph->pawl, &claim, &jobs, &rig->diag));
        bool some = jobs.count > 0;
        struct pawl_run run = { 0 };
        if (some) run = (struct pawl_run){ jobs.at[0].id, jobs.at[0].run };
        pawl_jobs_release(&jobs);
        if (!some) break;
        assert_ok(rig, pawl_complete(graph->pawl, &run, span_of("1"), &rig->diag));
    }
}

/* ---- counters ---- */

/* All kinds of nodes, in a state in which some have ended. */
static void make_half(struct graph *graph, struct rig *rig)
{
    graph_open(graph, rig);
    node_after(graph, "A", "");
    node_after(graph, "B", "A");
    node_after(graph, "C", "A B");
    node_after(graph, "D", "A C")->join = PAWL_FLOW_JOIN_ANY;
    control_node(graph, "G", PAWL_FLOW_KIND_GROUP, "A");
    node_after(graph, "X", "")->group = "G";
    node_after(graph, "Y", "X")->group = "G";
    control_node(graph, "J", PAWL_FLOW_KIND_JOIN, "B G");
    node_after(graph, "E", "J");
    node_after(graph, "F", "!A");
    graph_submit(graph);
    node_completes(graph, "A");
    assert_graph("A:completed B:available C:pending D:available G:active X:available Y:pending "
                 "J:pending E:pending F:skipped",
                 graph);
}

static const struct {
    const char *damage;
    const char *finding;
} damages[] = {
    { "node C pending 2", "does not count its edges right" },
    { "node C pending 0", "does not count its edges right" },
    { "node C good 2", "does not count its edges right" },
    { "node C dead 1", "does not count its edges right" },
    { "node J broken 1", "does not count its edges right" },
    { "group 0 total 9", "does not count its members right" },
    { "group 0 completed 0", "does not count its members right" },
    { "group 0 skipped 0", "does not count its members right" },
    { "group 0 failed 1", "does not count its members right" },
    { "group 0 cancelled 1", "does not count its members right" },
    { "group 0 grave 1", "does not count its members right" },
    { "group -1 total 7", "does not count its members right" },
    { "group -1 completed 0", "does not count its members right" },
    { "group G total 1", "does not count its members right" },
    { "group G completed 1", "does not count its members right" },
    { "edge A B verdict 0", "an edge from it is not judged, or wrongly" },
    { "edge A C verdict 3", "an edge from it is not judged, or wrongly" },
    { "edge A F verdict 1", "an edge from it is not judged, or wrongly" },
    { "node A state 4", "is not counted as ended, but its job has ended" },
    { "node A state 10", "is not as ended as its job or its members are" },
    { "node B state 7", "is not as ended as its job or its members are" },
    { "node B state 3", "still waits, but no edge that it waits for is left" },
    { "node C state 4", "is released, but its job still waits" },
    { "node C state 9", "is not as ended as its job or its members are" },
    { "node D state 3", "still waits, but no edge that it waits for is left" },
    { "node G state 3", "still waits, but no edge that it waits for is left" },
    { "node G state 7", "is not as ended as its job or its members are" },
    { "node J state 4", "is released, but has not ended" },
};

static void each_counter_is_recounted(struct rig *rig)
{
    for (size_t i = 0; i < COUNT(damages); i++) {
        struct graph graph;
        make_half(&graph, rig);
        assert_sound(&graph);
        damage_row(&graph, damages[i].damage);
        const char *found = check_of(&graph);
        if (!strstr(found, damages[i].finding)) {
            fail_msg("%s: the check finds:\n%s", damages[i].damage, found);
        }
        repair(&graph);
        found = check_of(&graph);
        if (*found) fail_msg("%s: mended, the check finds:\n%s", damages[i].damage, found);
        run_all(&graph);
        struct pawl_flow flow = graph_flow(&graph);
        if (flow.state != PAWL_FLOW_COMPLETED) {
            fail_msg("%s: %s", damages[i].damage, graph_text(&graph));
        }
        assert_graph("A:completed B:completed C:completed D:completed G:completed X:completed "
                     "Y:completed J:completed E:completed F:skipped",
                     &graph);
        assert_i64(8, flow.members.total);
        assert_i64(7, flow.members.completed);
        assert_i64(1, flow.members.skipped);
        assert_i64(8, flow.jobs.total);
        assert_i64(7, flow.jobs.completed);
        assert_sound(&graph);
        graph_close(&graph);
    }
}

/* ---- ends that were not followed ---- */

static void end_that_was_not_followed_is(struct rig *rig)
{
    struct graph graph;
    make_half(&graph, rig);
    untie(&graph, "B");
    node_completes(&graph, "B");
    assert_state(PENDING, node_state(&graph, "C"));
    assert_within("is not counted as ended, but its job has ended", check_of(&graph));
    repair(&graph);
    assert_state(AVAILABLE, node_state(&graph, "C"));
    assert_sound(&graph);
    graph_close(&graph);
}

static void failure_that_was_not_followed_is(struct rig *rig)
{
    struct graph graph;
    make_half(&graph, rig);
    untie(&graph, "B");
    node_fails(&graph, "B");
    repair(&graph);
    assert_state(CANCELLED, node_state(&graph, "C"));
    assert_sound(&graph);
    graph_close(&graph);
}

/* The last one of all. */
static void flow_ends_after_its_last_end_was_lost(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    graph_submit(&graph);
    untie(&graph, "A");
    node_completes(&graph, "A");
    assert_int_equal(PAWL_FLOW_RUNNING, graph_flow(&graph).state);
    repair(&graph);
    assert_int_equal(PAWL_FLOW_COMPLETED, graph_flow(&graph).state);
    assert_i64(rig_now(rig), graph_flow(&graph).finished_at_ms);
    assert_sound(&graph);
    graph_close(&graph);
}

/* The condition sees the result that is stored. */
static void lost_end_is_judged_by_its_stored_result(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "")->select = PAWL_FLOW_SELECT_FIRST;
    node_after(&graph, "X", "A");
    node_after(&graph, "Y", "A");
    graph.edges[1][0].arm = 1;
    graph.edges[1][0].when = "/result/of == \"B\"";
    graph.edges[2][0].arm = 2;
    graph.edges[2][0].when = "/result/of == \"A\"";
    graph_submit(&graph);
    untie(&graph, "A");
    node_completes(&graph, "A");
    repair(&graph);
    assert_graph("A:completed X:skipped Y:available", &graph);
    damage_row(&graph, "edge A Y verdict 0");
    rig_advance(rig, PAUSE_MS);
    repair(&graph);
    assert_graph("A:completed X:skipped Y:available", &graph);
    assert_sound(&graph);
    graph_close(&graph);
}

/* What was too much for one transaction is left in pawl_unsettled; those entries get lost. */
static void lost_entries_are_found_again(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    for (int i = 1; i < 40; i++) {
        node_after(&graph, rig_text(rig, "N%d", i), i > 1 ? rig_text(rig, "N%d", i - 1) : "A");
    }
    graph_submit(&graph);
    node_fails(&graph, "A");
    assert_int_equal(PAWL_FLOW_RUNNING, graph_flow(&graph).state);
    bool counts_all = strcmp(rig->kind->name, "maps") == 0; // what else has come there
    damage(&graph, counts_all ? "1000 forget" : "1 forget");
    graph_settle(&graph);
    assert_int_equal(PAWL_FLOW_RUNNING, graph_flow(&graph).state);
    assert_true(*check_of(&graph));
    rig_advance(rig, QUIET_MS + 1);
    for (int i = 0; i < 20; i++) {
        graph_settle(&graph);
    }
    assert_int_equal(PAWL_FLOW_FAILED, graph_flow(&graph).state);
    assert_i64(39, graph_flow(&graph).members.cancelled);
    assert_sound(&graph);
    graph_close(&graph);
}

/* ---- when it looks ---- */

static void touched_flows_are_left_alone(struct rig *rig)
{
    struct graph graph;
    make_half(&graph, rig);
    rig_advance(rig, QUIET_MS - 1000);
    node_completes(&graph, "B");
    damage_row(&graph, "group 0 completed 0");
    rig_advance(rig, QUIET_MS - 1000);
    graph_settle(&graph);
    assert_within("does not count its members", check_of(&graph));
    rig_advance(rig, 2000);
    graph_settle(&graph);
    assert_sound(&graph);
    graph_close(&graph);
}

static void flow_is_compared_every_ten_minutes(struct rig *rig)
{
    struct graph graph;
    make_half(&graph, rig);
    repair(&graph);
    damage_row(&graph, "group 0 completed 0");
    rig_advance(rig, PAUSE_MS - 1000);
    graph_settle(&graph);
    assert_within("does not count its members", check_of(&graph));
    rig_advance(rig, 2000);
    graph_settle(&graph);
    assert_sound(&graph);
    graph_close(&graph);
}

/* A flow that has ended is not reopened by the sweep: that is for an operator to decide. */
static void ended_flow_with_open_nodes_is_reported(struct rig *rig)
{
    struct graph graph;
    make_half(&graph, rig);
    damage_row(&graph, rig_text(rig, "flow finished_at_ms %lld", (long long)rig_now(rig)));
    assert_within("has ended, but not all of its nodes have", check_of(&graph));
    damage_row(&graph, "flow finished_at_ms 0");
    assert_sound(&graph);
    graph_close(&graph);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(each_counter_is_recounted),
        CONTRACT(end_that_was_not_followed_is),
        CONTRACT(failure_that_was_not_followed_is),
        CONTRACT(flow_ends_after_its_last_end_was_lost),
        CONTRACT(lost_end_is_judged_by_its_stored_result),
        CONTRACT(lost_entries_are_found_again),
        CONTRACT(touched_flows_are_left_alone),
        CONTRACT(flow_is_compared_every_ten_minutes),
        CONTRACT(ended_flow_with_open_nodes_is_reported),
    };
    return contract_run("repair", tests, COUNT(tests));
}
