/* Each way in which a job can end, on every store: what waits for it is released, or given up, by
 * the transaction that ends it. */
#include "api/api.h"
#include "flow/flow_kit.h"

enum { LEASE = 30000 }; /* of node_claim */

/* ---- the ways ---- */

static void by_completion(struct graph *graph)
{
    node_completes(graph, "A");
}

static void by_failure(struct graph *graph)
{
    node_fails(graph, "A");
}

static void by_attempts(struct graph *graph)
{
    for (int i = 0; i < 2; i++) {
        struct pawl_run run = node_claim(graph, "A");
        assert_ok(graph->rig, pawl_fail(graph->pawl, &run, &(struct pawl_report){ .type = "e" },
                                        NULL, &graph->rig->diag));
        rig_advance(graph->rig, 3600000);
        graph_settle(graph);
    }
}

static void by_lapse(struct graph *graph)
{
    for (int i = 0; i < 2; i++) {
        (void)node_claim(graph, "A");
        rig_advance(graph->rig, LEASE);
        graph_settle(graph);
    }
}

/* As many runs as it may, and each takes its worker with it. */
static void by_poison(struct graph *graph)
{
    for (int i = 0; i < PAWL__CRASHES_MAX; i++) {
        (void)node_claim(graph, "A");
        rig_advance(graph->rig, LEASE);
        graph_settle(graph);
    }
}

static void by_expiry(struct graph *graph)
{
    rig_advance(graph->rig, 5000);
    graph_settle(graph);
}

/* The claim finds that it came too late. */
static void by_late_claim(struct graph *graph)
{
    const char *queue = graph->queues[0];
    const struct pawl_claim claim = {
        .queues = &queue, .queue_count = 1, .limit = 1, .worker = "w", .lease_ms = LEASE
    };
    struct pawl_jobs jobs = { 0 };
    rig_advance(graph->rig, 5000);
    assert_ok(graph->rig, pawl_claim(graph->pawl, &claim, &jobs, &graph->rig->diag));
    assert_int_equal(0, jobs.count);
    pawl_jobs_release(&jobs);
}

static void by_cancel(struct graph *graph)
{
    assert_ok(graph->rig, node_control(graph, "A", PAWL_CONTROL_CANCEL));
}

static void by_skip(struct graph *graph)
{
    assert_ok(graph->rig, node_control(graph, "A", PAWL_CONTROL_SKIP));
}

static void by_bulk(struct graph *graph)
{
    const char *queue = graph->queues[0];
    const struct pawl_filter filter = { .queues = &queue, .queue_count = 1 };
    int64_t moved;
    assert_ok(graph->rig, pawl_control_many(graph->pawl, &filter, PAWL_CONTROL_CANCEL, 10, NULL,
                                            &moved, &graph->rig->diag));
    assert_i64(1, moved);
}

static void by_its_worker(struct graph *graph)
{
    struct pawl_run run = node_claim(graph, "A");
    assert_ok(graph->rig, pawl_control_run(graph->pawl, &run, PAWL_CONTROL_DISCARD, NULL, NULL,
                                           &graph->rig->diag));
}

static void by_replacement(struct graph *graph)
{
    const struct pawl_job_spec spec = { .type = "work",
                                        .queue = "elsewhere",
                                        .unique = { .keys = PAWL_UNIQUE_TYPE,
                                                    .on_conflict = PAWL_CONFLICT_REPLACE } };
    struct pawl_submitted out;
    assert_ok(graph->rig, pawl_submit(graph->pawl, &spec, &out, &graph->rig->diag));
}

/* Its node is dead, and another one takes over its name: the leases of its runs end. */
static void by_takeover(struct graph *graph)
{
    static const char member[] = "{\"host\":\"h\",\"pid\":7,\"lease_ms\":30000}";
    struct rig *rig = graph->rig;
    struct pawl__store *own = rig->store;
    int64_t started_at_ms;
    rig->store = graph->pawl->store;
    assert_ok(rig, node_join(rig, "w", member, &started_at_ms));
    for (int i = 0; i < 2; i++) {
        (void)node_claim(graph, "A");
        rig_advance(rig, LEASE);
        graph_settle(graph);
        assert_state(ACTIVE, node_state(graph, "A")); // its own lease is longer
        assert_ok(rig, node_join(rig, "w", member, &started_at_ms));
        graph_settle(graph);
    }
    rig->store = own;
}

static const struct {
    const char *name;
    void (*end)(struct graph *graph);
    enum pawl_state state;
} ways[] = {
    { "completion", by_completion, PAWL_STATE_COMPLETED },
    { "failure", by_failure, PAWL_STATE_DISCARDED },
    { "last attempt", by_attempts, PAWL_STATE_DISCARDED },
    { "lapse", by_lapse, PAWL_STATE_DISCARDED },
    { "poison pill", by_poison, PAWL_STATE_DISCARDED },
    { "expiry", by_expiry, PAWL_STATE_EXPIRED },
    { "late claim", by_late_claim, PAWL_STATE_EXPIRED },
    { "cancel", by_cancel, PAWL_STATE_CANCELLED },
    { "skip", by_skip, PAWL_STATE_SKIPPED },
    { "bulk", by_bulk, PAWL_STATE_CANCELLED },
    { "its worker", by_its_worker, PAWL_STATE_DISCARDED },
    { "replacement", by_replacement, PAWL_STATE_CANCELLED },
    { "takeover", by_takeover, PAWL_STATE_DISCARDED },
};

static void each_way_to_end_is_followed(struct rig *rig)
{
    for (size_t i = 0; i < COUNT(ways); i++) {
        struct graph graph;
        rig_advance(rig, 1000); // other ids
        graph_open(&graph, rig);
        struct pawl_flow_node *first = node_after(&graph, "A", "");
        bool expires = ways[i].state == PAWL_STATE_EXPIRED;
        first->job.retry.attempts_max = ways[i].end == by_poison ? 10 : 2;
        if (expires) first->job.expires_in_ms = 4000;
        if (ways[i].end == by_takeover) first->job.lease_ms = 3600000;
        if (ways[i].end == by_replacement) {
            first->job.unique = (struct pawl_unique){ .keys = PAWL_UNIQUE_TYPE,
                                                      .on_conflict = PAWL_CONFLICT_REPLACE };
        }
        node_after(&graph, "B", "*A");
        node_after(&graph, "C", "A")->on_parent_failure = PAWL_FLOW_PARENT_SKIP;
        graph_submit(&graph);
        ways[i].end(&graph);
        bool good = ways[i].state == PAWL_STATE_COMPLETED, skipped = ways[i].end == by_skip;
        const char *expected =
            rig_text(rig, "A:%s B:%s C:%s", pawl_state_name(ways[i].state, PAWL_VOCABULARY_PAWL),
                     skipped ? "skipped" : "available", good ? "available" : "skipped");
        if (strcmp(expected, graph_text(&graph)) != 0) {
            fail_msg("%s: %s instead of %s", ways[i].name, graph_text(&graph), expected);
        }
        assert_ok(rig, pawl_check(graph.pawl, NULL, NULL, &rig->diag));
        graph_close(&graph);
    }
}

/* ---- what is counted from the release ---- */

static void time_to_live_counts_from_the_release(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A")->job.expires_in_ms = 2000;
    graph_submit(&graph);
    rig_advance(rig, 10000);
    graph_settle(&graph);
    node_completes(&graph, "A");
    rig_advance(rig, 1999);
    graph_settle(&graph);
    assert_graph("A:completed B:available", &graph);
    rig_advance(rig, 1);
    graph_settle(&graph);
    assert_graph("A:completed B:expired", &graph);
    assert_int_equal(PAWL_FLOW_FAILED, graph_flow(&graph).state);
    graph_close(&graph);
}

/* An instant holds while it waits, too. */
static void expiry_at_an_instant_ends_a_node_that_waits(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A")->job.expires_at_ms = rig_now(rig) + 2000;
    node_after(&graph, "C", "*B");
    graph_submit(&graph);
    rig_advance(rig, 2000);
    graph_settle(&graph);
    assert_graph("A:available B:expired C:available", &graph);
    node_completes(&graph, "A");
    assert_graph("A:completed B:expired C:available", &graph);
    graph_close(&graph);
}

/* Its parents end while it is paused: it is available as soon as it is resumed. */
static void paused_node_is_available_on_resume(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "");
    node_after(&graph, "C", "A B");
    graph_submit(&graph);
    assert_ok(rig, node_control(&graph, "C", PAWL_CONTROL_PAUSE));
    node_completes(&graph, "A");
    assert_ok(rig, node_control(&graph, "C", PAWL_CONTROL_RESUME));
    assert_graph("A:completed B:available C:pending", &graph);
    assert_ok(rig, node_control(&graph, "C", PAWL_CONTROL_PAUSE));
    node_completes(&graph, "B");
    assert_graph("A:completed B:completed C:paused", &graph);
    assert_ok(rig, node_control(&graph, "C", PAWL_CONTROL_RESUME));
    assert_graph("A:completed B:completed C:available", &graph);
    graph_close(&graph);
}

/* Not by one, and not with others. */
static void held_node_is_not_activated(struct rig *rig)
{
    struct graph graph;
    int64_t moved;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A");
    graph_submit(&graph);
    assert_err(rig, PAWL_ERR_STATE, node_control(&graph, "B", PAWL_CONTROL_ACTIVATE));
    assert_within("waits for other nodes of its flow", rig->diag.text);
    const struct pawl_filter all = { .states = PAWL_STATE_BIT(PAWL_STATE_PENDING) };
    assert_ok(rig, pawl_control_many(graph.pawl, &all, PAWL_CONTROL_ACTIVATE, 10, NULL, &moved,
                                     &rig->diag));
    assert_i64(0, moved);
    assert_graph("A:available B:pending", &graph);
    graph_close(&graph);
}

/* ---- holds ---- */

static const char *hold_of(struct graph *graph, struct pawl_job_id id)
{
    struct pawl_jobs jobs = { 0 };
    assert_ok(graph->rig, pawl_get(graph->pawl, id, &jobs, &graph->rig->diag));
    const char *hold = rig_text(graph->rig, "%s", jobs.at[0].hold);
    pawl_jobs_release(&jobs);
    return hold;
}

static void hold_says_why_a_job_is_pending(struct rig *rig)
{
    struct graph graph;
    struct pawl_submitted held, routed;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A");
    graph_submit(&graph);
    const struct pawl_job_spec pending = { .type = "work", .queue = "p", .pending = true };
    const struct pawl_job_spec plain = { .type = "work", .queue = "r" };
    assert_ok(rig, pawl_submit(graph.pawl, &pending, &held, &rig->diag));
    assert_ok(rig, pawl_submit(graph.pawl, &plain, &routed, &rig->diag));
    assert_text("parents", hold_of(&graph, node_id(&graph, "B")));
    assert_text("", hold_of(&graph, node_id(&graph, "A")));
    assert_text("submitter", hold_of(&graph, held.id));
    assert_text("", hold_of(&graph, routed.id));
    struct pawl__store *own = rig->store;
    rig->store = graph.pawl->store;
    assert_int_equal(1, route_n(rig, "r", 1).count);
    rig->store = own;
    assert_text("route", hold_of(&graph, routed.id));
    assert_ok(rig, node_control(&graph, "B", PAWL_CONTROL_PAUSE));
    assert_text("parents", hold_of(&graph, node_id(&graph, "B")));
    node_completes(&graph, "A");
    assert_text("", hold_of(&graph, node_id(&graph, "B"))); // it only is paused
    assert_ok(rig,
              pawl_control(graph.pawl, held.id, PAWL_CONTROL_ACTIVATE, NULL, NULL, &rig->diag));
    assert_text("", hold_of(&graph, held.id));
    graph_close(&graph);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(each_way_to_end_is_followed),
        CONTRACT(time_to_live_counts_from_the_release),
        CONTRACT(expiry_at_an_instant_ends_a_node_that_waits),
        CONTRACT(paused_node_is_available_on_resume),
        CONTRACT(held_node_is_not_activated),
        CONTRACT(hold_says_why_a_job_is_pending),
    };
    return contract_run("flow_end", tests, COUNT(tests));
}
