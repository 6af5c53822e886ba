/* How long flows are kept, on every store: a member stays until its flow has ended, and then all of
 * it goes together. */
#include "flow/flow_kit.h"

enum { ARCHIVE_MS = 1000, PURGE_MS = 100000 };

static struct pawl_upkeep turn(struct graph *graph)
{
    const struct pawl_retention retention = { .archive_after_ms = ARCHIVE_MS,
                                              .purge_after_ms = PURGE_MS };
    struct pawl_upkeep upkeep = { 0 }, all = { .more = true };
    for (int i = 0; i < 50 && all.more; i++) {
        assert_ok(graph->rig,
                  pawl_upkeep_turn(graph->pawl, &retention, &upkeep, &graph->rig->diag));
        all.archived += upkeep.archived;
        all.purged += upkeep.purged;
        all.more = upkeep.more;
    }
    return all;
}

static bool is_archived(struct graph *graph, const char *name)
{
    struct pawl_jobs jobs = { 0 };
    assert_ok(graph->rig, pawl_get(graph->pawl, node_id(graph, name), &jobs, &graph->rig->diag));
    bool archived = jobs.at[0].archived;
    pawl_jobs_release(&jobs);
    return archived;
}

static size_t count_flows(struct graph *graph)
{
    struct pawl_flows flows = { 0 };
    assert_ok(graph->rig, pawl_flow_list(graph->pawl, NULL, NULL, &flows, &graph->rig->diag));
    size_t count = flows.count;
    pawl_flows_release(&flows);
    return count;
}

static void make_chain(struct graph *graph, struct rig *rig)
{
    graph_open(graph, rig);
    node_after(graph, "A", "");
    node_after(graph, "B", "A");
    node_after(graph, "C", "!B");
    control_node(graph, "G", PAWL_FLOW_KIND_GROUP, "B");
    node_after(graph, "D", "")->group = "G";
}

static void member_stays_while_its_flow_lives(struct rig *rig)
{
    struct graph graph;
    make_chain(&graph, rig);
    graph_submit(&graph);
    node_completes(&graph, "A");
    rig_advance(rig, PURGE_MS * 2);
    assert_i64(0, turn(&graph).archived);
    assert_i64(0, turn(&graph).purged);
    assert_false(is_archived(&graph, "A"));
    node_completes(&graph, "B");
    rig_advance(rig, PURGE_MS * 2);
    assert_i64(0, turn(&graph).archived);
    assert_false(is_archived(&graph, "C"));
    graph_close(&graph);
}

static void flow_goes_with_its_members(struct rig *rig)
{
    struct graph graph;
    make_chain(&graph, rig);
    graph_submit(&graph);
    node_completes(&graph, "A");
    rig_advance(rig, PURGE_MS * 2);
    node_completes(&graph, "B");
    node_completes(&graph, "D");
    assert_int_equal(PAWL_FLOW_COMPLETED, graph_flow(&graph).state);
    assert_i64(0, turn(&graph).archived); // from its end
    rig_advance(rig, ARCHIVE_MS + 1);
    assert_i64(4, turn(&graph).archived);
    assert_true(is_archived(&graph, "A") && is_archived(&graph, "C") && is_archived(&graph, "D"));
    assert_graph("A:completed B:completed C:skipped G:completed D:completed", &graph);
    rig_advance(rig, PURGE_MS - ARCHIVE_MS - 100);
    assert_i64(0, turn(&graph).purged);
    rig_advance(rig, 100);
    assert_i64(4, turn(&graph).purged);
    assert_int_equal(0, count_flows(&graph));
    struct pawl_flow_nodes nodes = { 0 };
    assert_err(rig, PAWL_ERR_NOT_FOUND,
               pawl_flow_nodes_get(graph.pawl, graph.id, &nodes, &rig->diag));
    assert_ok(rig, pawl_check(graph.pawl, NULL, NULL, &rig->diag));
    graph_close(&graph);
}

/* As long as the job that asks for most. */
static void longest_keep_counts_from_the_end(struct rig *rig)
{
    struct graph graph;
    make_chain(&graph, rig);
    graph.nodes[0].job.keep_ms = PURGE_MS * 10;
    graph_submit(&graph);
    node_completes(&graph, "A");
    rig_advance(rig, PURGE_MS * 5);
    node_completes(&graph, "B");
    node_completes(&graph, "D");
    rig_advance(rig, PURGE_MS * 9);
    assert_i64(4, turn(&graph).archived);
    assert_i64(0, turn(&graph).purged);
    rig_advance(rig, PURGE_MS);
    assert_i64(4, turn(&graph).purged);
    assert_int_equal(0, count_flows(&graph));
    graph_close(&graph);
}

/* A discarded job that an operator has paused is not done with. */
static void paused_member_keeps_its_flow(struct rig *rig)
{
    struct graph graph, other;
    make_chain(&graph, rig);
    graph_submit(&graph);
    node_fails(&graph, "A");
    node_completes(&graph, "C");
    assert_ok(rig, node_control(&graph, "A", PAWL_CONTROL_PAUSE));
    make_chain(&other, rig);
    other.pawl = (pawl_close(other.pawl), graph.pawl);
    graph_submit(&other);
    node_fails(&other, "A");
    node_completes(&other, "C");
    rig_advance(rig, ARCHIVE_MS + 1);
    (void)turn(&graph);
    assert_false(is_archived(&graph, "A"));
    assert_true(is_archived(&other, "A"));
    assert_ok(rig, node_control(&graph, "A", PAWL_CONTROL_RESUME));
    (void)turn(&graph);
    assert_true(is_archived(&graph, "A"));
    graph_close(&graph);
}

/* More nodes than one sweep takes. */
static void large_flow_goes_in_parts(struct rig *rig)
{
    enum { MANY = 2500 };
    struct graph graph;
    graph_open(&graph, rig);
    struct pawl_flow_node *nodes = calloc(MANY, sizeof *nodes);
    struct pawl_flow_edge first = { .parent = "n0", .on = PAWL_FLOW_ON_SUCCESS };
    assert_non_null(nodes);
    for (int i = 0; i < MANY; i++) {
        nodes[i].name = rig_text(rig, "n%d", i);
        nodes[i].job = (struct pawl_job_spec){ .type = "work", .queue = "q0" };
        nodes[i].after = i ? &first : NULL;
        nodes[i].after_count = i > 0;
    }
    const struct pawl_flow_spec spec = { .nodes = nodes, .node_count = MANY };
    assert_ok(rig, pawl_flow_submit(graph.pawl, &spec, &graph.id, &rig->diag));
    graph.count = 1;
    snprintf(graph.names[0], sizeof graph.names[0], "n0");
    snprintf(graph.queues[0], sizeof graph.queues[0], "q0");
    node_fails(&graph, "n0");
    (void)turn(&graph);
    assert_int_equal(PAWL_FLOW_FAILED, graph_flow(&graph).state);
    rig_advance(rig, ARCHIVE_MS + 1);
    assert_i64(MANY, turn(&graph).archived);
    assert_ok(rig, pawl_check(graph.pawl, NULL, NULL, &rig->diag));
    rig_advance(rig, PURGE_MS + 1);
    assert_i64(MANY, turn(&graph).purged);
    assert_int_equal(0, count_flows(&graph));
    assert_ok(rig, pawl_check(graph.pawl, NULL, NULL, &rig->diag));
    free(nodes);
    graph_close(&graph);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(member_stays_while_its_flow_lives), CONTRACT(flow_goes_with_its_members),
        CONTRACT(longest_keep_counts_from_the_end),  CONTRACT(paused_member_keeps_its_flow),
        CONTRACT(large_flow_goes_in_parts),
    };
    return contract_run("flow_keep", tests, COUNT(tests));
}
