/* What operators do to flows, groups and nodes, on every store. */
#include "flow/flow_kit.h"

static void flow_is(struct graph *graph, enum pawl_flow_state state, bool over)
{
    struct pawl_flow flow = graph_flow(graph);
    assert_int_equal(state, flow.state);
    assert_int_equal(over, flow.finished_at_ms != 0);
}

static enum pawl_err cancel(struct graph *graph, bool drain)
{
    const struct pawl_flow_cancel how = { .drain = drain };
    return pawl_flow_cancel(graph->pawl, graph->id, &how, NULL, &graph->rig->diag);
}

static enum pawl_err cancel_node(struct graph *graph, const char *name, bool drain)
{
    struct pawl_job_id id = node_id(graph, name);
    const struct pawl_flow_cancel how = { .node = &id, .drain = drain };
    return pawl_flow_cancel(graph->pawl, graph->id, &how, NULL, &graph->rig->diag);
}

static int64_t retry(struct graph *graph)
{
    int64_t count = -1;
    assert_ok(graph->rig,
              pawl_flow_retry(graph->pawl, graph->id, NULL, NULL, &count, &graph->rig->diag));
    return count;
}

static enum pawl_err retry_node(struct graph *graph, const char *name, bool all_below)
{
    struct pawl_job_id id = node_id(graph, name);
    const struct pawl_flow_retry how = { .nodes = &id, .node_count = 1, .all_below = all_below };
    return pawl_flow_retry(graph->pawl, graph->id, &how, NULL, NULL, &graph->rig->diag);
}

static enum pawl_err resume(struct graph *graph)
{
    return pawl_flow_resume(graph->pawl, graph->id, NULL, &graph->rig->diag);
}

static enum pawl_err pause_flow(struct graph *graph)
{
    return pawl_flow_pause(graph->pawl, graph->id, NULL, &graph->rig->diag);
}

/* ---- cancel ---- */

static void cancelled_flow_releases_nothing(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "");
    node_after(&graph, "C", "A B");
    node_after(&graph, "cleanup", "*C");
    graph_submit(&graph);
    struct pawl_run run = node_claim(&graph, "A");
    assert_ok(rig, cancel(&graph, false));
    assert_graph("A:cancelled B:cancelled C:cancelled cleanup:cancelled", &graph);
    assert_text("flow_cancelled", node_reason(&graph, "C"));
    flow_is(&graph, PAWL_FLOW_CANCELLED, true);
    assert_text("cancelled on request", graph_flow(&graph).reason);
    assert_err(rig, PAWL_ERR_STALE, pawl_complete(graph.pawl, &run, span_of("1"), &rig->diag));
    assert_err(rig, PAWL_ERR_STATE, cancel(&graph, false));
    assert_within("cancelled before", rig->diag.text);
    graph_close(&graph);
}

static void drained_job_keeps_its_result(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A");
    graph_submit(&graph);
    struct pawl_run run = node_claim(&graph, "A");
    assert_ok(rig, cancel(&graph, true));
    assert_graph("A:active B:cancelled", &graph);
    flow_is(&graph, PAWL_FLOW_CANCELLED, false);
    assert_ok(rig, pawl_complete(graph.pawl, &run, span_of("1"), &rig->diag));
    assert_graph("A:completed B:cancelled", &graph);
    flow_is(&graph, PAWL_FLOW_CANCELLED, true);
    graph_close(&graph);
}

enum back { BY_FAILURE, BY_SNOOZE, BY_RETURN, BY_LAPSE, BACKS };

static void come_back(struct graph *graph, const struct pawl_run *run, enum back back)
{
    struct rig *rig = graph->rig;
    const struct pawl_report report = { .type = "e" };
    switch (back) {
    case BY_FAILURE:
        assert_ok(rig, pawl_fail(graph->pawl, run, &report, NULL, &rig->diag));
        break;
    case BY_SNOOZE:
        assert_ok(rig, pawl_give_back(graph->pawl, run, 5000, &rig->diag));
        break;
    case BY_RETURN:
        assert_ok(rig, pawl_give_back(graph->pawl, run, 0, &rig->diag));
        break;
    default:
        rig_advance(rig, 30000);
        graph_settle(graph);
        break;
    }
}

static void drained_job_does_not_run_again(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    for (enum back back = BY_FAILURE; back < BACKS; back++) {
        graph.count = 0;
        node_after(&graph, "A", "");
        node_after(&graph, "B", "!A");
        graph_submit(&graph);
        struct pawl_run run = node_claim(&graph, "A");
        assert_ok(rig, cancel(&graph, true));
        come_back(&graph, &run, back);
        assert_graph("A:cancelled B:cancelled", &graph);
        assert_text("flow_cancelled", node_reason(&graph, "A"));
        flow_is(&graph, PAWL_FLOW_CANCELLED, true);
    }
    graph_close(&graph);
}

/* A flow of four levels; it may be cancelled at any moment. */
static void nest(struct graph *graph)
{
    node_after(graph, "A", "");
    control_node(graph, "G", PAWL_FLOW_KIND_GROUP, "A");
    control_node(graph, "H", PAWL_FLOW_KIND_GROUP, "")->group = "G";
    control_node(graph, "I", PAWL_FLOW_KIND_GROUP, "")->group = "H";
    node_after(graph, "x", "")->group = "I";
    node_after(graph, "y", "x")->group = "I";
    node_after(graph, "z", "I")->group = "H";
    node_after(graph, "u", "H")->group = "G";
    node_after(graph, "B", "*G");
    node_after(graph, "C", "!B");
}

static void flow_can_be_cancelled_at_any_moment(struct rig *rig)
{
    static const char *const order[] = { "A", "x", "y", "z", "u", "B" };
    struct graph graph;
    graph_open(&graph, rig);
    for (size_t ended = 0; ended < COUNT(order); ended++) {
        for (int how = 0; how < 4; how++) {
            struct pawl_run run;
            bool runs = how & 1, drains = how & 2;
            graph.count = 0;
            nest(&graph);
            graph_submit(&graph);
            for (size_t i = 0; i < ended; i++) {
                node_completes(&graph, order[i]);
            }
            if (runs) run = node_claim(&graph, order[ended]);
            assert_ok(rig, cancel(&graph, drains));
            flow_is(&graph, PAWL_FLOW_CANCELLED, !(runs && drains));
            if (runs && drains) {
                assert_ok(rig, pawl_complete(graph.pawl, &run, span_of("1"), &rig->diag));
            }
            flow_is(&graph, PAWL_FLOW_CANCELLED, true);
            struct pawl_flow flow = graph_flow(&graph);
            assert_i64(0, flow.members.open);
            assert_i64(0, flow.jobs.open);
            assert_i64((int64_t)(ended + (runs && drains)), flow.jobs.completed);
            assert_i64((int64_t)(7 - ended - (runs && drains)), flow.jobs.cancelled);
            rig_tidy(rig);
        }
    }
    graph_close(&graph);
}

static void cancelled_group_has_failed(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    control_node(&graph, "G", PAWL_FLOW_KIND_GROUP, "")->may_fail = true;
    control_node(&graph, "H", PAWL_FLOW_KIND_GROUP, "")->group = "G";
    node_after(&graph, "x", "")->group = "H";
    node_after(&graph, "y", "x")->group = "H";
    node_after(&graph, "z", "")->group = "G";
    node_after(&graph, "good", "G")->on_parent_failure = PAWL_FLOW_PARENT_SKIP;
    node_after(&graph, "bad", "!G");
    graph_submit(&graph);
    struct pawl_run run = node_claim(&graph, "z");
    assert_ok(rig, cancel_node(&graph, "G", true));
    assert_graph("G:active H:discarded x:cancelled y:cancelled z:active good:pending bad:pending",
                 &graph);
    assert_text("group_cancelled", node_reason(&graph, "x"));
    assert_ok(rig, pawl_complete(graph.pawl, &run, span_of("1"), &rig->diag));
    assert_graph("G:discarded H:discarded x:cancelled y:cancelled z:completed good:skipped "
                 "bad:available",
                 &graph);
    assert_text("cancelled on request", node_reason(&graph, "G"));
    assert_err(rig, PAWL_ERR_STATE, cancel_node(&graph, "G", true));
    node_completes(&graph, "bad");
    flow_is(&graph, PAWL_FLOW_COMPLETED, true);
    graph_close(&graph);
}

static void cancelled_node_is_judged(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    control_node(&graph, "G", PAWL_FLOW_KIND_GROUP, "A");
    node_after(&graph, "x", "")->group = "G";
    control_node(&graph, "J", PAWL_FLOW_KIND_JOIN, "A");
    node_after(&graph, "B", "!J");
    node_after(&graph, "C", "*G");
    node_after(&graph, "D", "A");
    graph_submit(&graph);
    assert_ok(rig, cancel_node(&graph, "G", false));
    assert_ok(rig, cancel_node(&graph, "J", false));
    (void)node_claim(&graph, "A");
    assert_graph("A:active G:cancelled x:cancelled J:cancelled B:available C:available D:pending",
                 &graph);
    assert_ok(rig, cancel_node(&graph, "A", true)); // it runs, and may
    assert_state(ACTIVE, node_state(&graph, "A"));
    assert_ok(rig, cancel_node(&graph, "A", false));
    assert_state(CANCELLED, node_state(&graph, "A"));
    assert_state(CANCELLED, node_state(&graph, "D"));
    struct pawl_job_id none = { { 9 } };
    const struct pawl_flow_cancel how = { .node = &none };
    assert_err(rig, PAWL_ERR_NOT_FOUND,
               pawl_flow_cancel(graph.pawl, graph.id, &how, NULL, &rig->diag));
    assert_text("nodes", rig->diag.field);
    assert_err(rig, PAWL_ERR_NOT_FOUND, pawl_flow_cancel(graph.pawl, none, NULL, NULL, &rig->diag));
    graph_close(&graph);
}

/* ---- retry ---- */

static void retry_begins_what_failed_and_what_waited_for_it(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A");
    node_after(&graph, "C", "B");
    node_after(&graph, "D", "C");
    node_after(&graph, "handler", "!B");
    graph_submit(&graph);
    assert_i64(0, retry(&graph));
    node_completes(&graph, "A");
    node_fails(&graph, "B");
    node_completes(&graph, "handler");
    assert_graph("A:completed B:discarded C:cancelled D:cancelled handler:completed", &graph);
    flow_is(&graph, PAWL_FLOW_FAILED, true);
    assert_i64(1, retry(&graph));
    assert_graph("A:completed B:available C:pending D:pending handler:completed", &graph);
    flow_is(&graph, PAWL_FLOW_RUNNING, false);
    assert_int_equal(1, graph_flow(&graph).reopened);
    assert_i64(3, graph_flow(&graph).members.open);
    assert_i64(0, retry(&graph)); // it found nothing
    assert_int_equal(1, graph_flow(&graph).reopened);
    node_completes(&graph, "B");
    node_completes(&graph, "C");
    node_completes(&graph, "D");
    flow_is(&graph, PAWL_FLOW_COMPLETED, true);
    assert_i64(5, graph_flow(&graph).members.completed);
    graph_close(&graph);
}

static void healed_batch_has_succeeded(struct rig *rig)
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
    node_fails(&graph, "one");
    node_completes(&graph, "two");
    node_completes(&graph, "done");
    node_completes(&graph, "bad");
    flow_is(&graph, PAWL_FLOW_COMPLETED, true);
    assert_i64(1, retry(&graph));
    assert_graph("batch:active one:available two:completed done:completed good:pending "
                 "bad:completed",
                 &graph);
    flow_is(&graph, PAWL_FLOW_RUNNING, false);
    node_completes(&graph, "one");
    assert_graph("batch:completed one:completed two:completed done:completed good:available "
                 "bad:completed",
                 &graph);
    node_completes(&graph, "good");
    flow_is(&graph, PAWL_FLOW_COMPLETED, true);
    graph_close(&graph);
}

static void dead_letter_is_revived_with_what_waited_for_it(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A");
    node_after(&graph, "C", "!A");
    graph_submit(&graph);
    node_fails(&graph, "A");
    node_completes(&graph, "C");
    assert_err(rig, PAWL_ERR_STATE, node_control(&graph, "B", PAWL_CONTROL_RETRY));
    assert_within("retry these", rig->diag.text);
    assert_ok(rig, node_control(&graph, "A", PAWL_CONTROL_RETRY));
    assert_graph("A:available B:pending C:completed", &graph);
    flow_is(&graph, PAWL_FLOW_RUNNING, false);
    assert_int_equal(1, graph_flow(&graph).reopened);
    node_fails(&graph, "A");
    assert_graph("A:discarded B:cancelled C:completed", &graph);
    flow_is(&graph, PAWL_FLOW_FAILED, true);
    int64_t moved = 0;
    const struct pawl_filter dead = { .states = PAWL_STATE_BIT(PAWL_STATE_DISCARDED) |
                                                PAWL_STATE_BIT(PAWL_STATE_CANCELLED) };
    assert_ok(rig, pawl_control_many(graph.pawl, &dead, PAWL_CONTROL_RETRY, 10, NULL, &moved,
                                     &rig->diag));
    assert_i64(1, moved);
    node_completes(&graph, "A");
    node_completes(&graph, "B");
    flow_is(&graph, PAWL_FLOW_COMPLETED, true);
    assert_i64(3, graph_flow(&graph).jobs.completed);
    graph_close(&graph);
}

/* B picks X, which fails: Y stays skipped, and M waits for X again. */
static void retry_below_a_choice_keeps_it(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    control_node(&graph, "B", PAWL_FLOW_KIND_BRANCH, "A");
    node_after(&graph, "X", "B");
    node_after(&graph, "Y", "B");
    node_after(&graph, "M", "X Y");
    graph.edges[2][0].arm = 1;
    graph.edges[3][0].arm = 2;
    graph_submit(&graph);
    node_completes(&graph, "A");
    node_fails(&graph, "X");
    assert_graph("A:completed B:completed X:discarded Y:skipped M:cancelled", &graph);
    assert_i64(1, retry(&graph));
    assert_graph("A:completed B:completed X:available Y:skipped M:pending", &graph);
    node_completes(&graph, "X");
    assert_graph("A:completed B:completed X:completed Y:skipped M:available", &graph);
    graph_close(&graph);
}

static void retry_of_a_chooser_chooses_again(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "")->select = PAWL_FLOW_SELECT_FIRST;
    node_after(&graph, "X", "A");
    node_after(&graph, "Y", "!A");
    graph.edges[1][0].arm = 1;
    graph.edges[2][0].arm = 2;
    graph_submit(&graph);
    node_fails(&graph, "A");
    assert_graph("A:discarded X:skipped Y:available", &graph);
    assert_i64(1, retry(&graph));
    assert_graph("A:available X:pending Y:available", &graph);
    node_completes(&graph, "A");
    assert_graph("A:completed X:available Y:available", &graph);
    graph_close(&graph);
}

static void named_node_begins_with_all_below(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A");
    control_node(&graph, "G", PAWL_FLOW_KIND_GROUP, "B");
    node_after(&graph, "x", "")->group = "G";
    node_after(&graph, "C", "G");
    graph_submit(&graph);
    node_completes(&graph, "A");
    assert_err(rig, PAWL_ERR_STATE, retry_node(&graph, "B", true));
    assert_within("node \"B\" has not ended", rig->diag.text);
    for (const char *const *name = (const char *const[]){ "B", "x", "C", NULL }; *name; name++) {
        node_completes(&graph, *name);
    }
    assert_err(rig, PAWL_ERR_STATE, retry_node(&graph, "B", false));
    assert_within("node \"B\" has not failed", rig->diag.text);
    assert_err(rig, PAWL_ERR_STATE, retry_node(&graph, "G", true));
    assert_ok(rig, retry_node(&graph, "B", true));
    assert_graph("A:completed B:available G:pending x:pending C:pending", &graph);
    flow_is(&graph, PAWL_FLOW_RUNNING, false);
    for (const char *const *name = (const char *const[]){ "B", "x", "C", NULL }; *name; name++) {
        node_completes(&graph, *name);
    }
    assert_graph("A:completed B:completed G:completed x:completed C:completed", &graph);
    flow_is(&graph, PAWL_FLOW_COMPLETED, true);
    graph_close(&graph);
}

static void cancelled_group_is_retried(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    control_node(&graph, "G", PAWL_FLOW_KIND_GROUP, "");
    node_after(&graph, "x", "")->group = "G";
    node_after(&graph, "y", "x")->group = "G";
    node_after(&graph, "z", "y")->group = "G";
    node_after(&graph, "B", "G");
    graph_submit(&graph);
    node_completes(&graph, "x");
    assert_ok(rig, cancel_node(&graph, "G", false));
    assert_graph("G:discarded x:completed y:cancelled z:cancelled B:cancelled", &graph);
    assert_i64(2, retry(&graph));
    assert_graph("G:active x:completed y:available z:pending B:pending", &graph);
    node_completes(&graph, "y");
    node_completes(&graph, "z");
    assert_graph("G:completed x:completed y:completed z:completed B:available", &graph);
    graph_close(&graph);
}

static void node_whose_key_is_taken_stays_as_it_is(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "")->job.business_key = "k";
    node_after(&graph, "B", "A");
    graph_submit(&graph);
    node_fails(&graph, "A");
    struct pawl_submitted other;
    const struct pawl_job_spec spec = { .type = "work", .queue = "other", .business_key = "k" };
    assert_ok(rig, pawl_submit(graph.pawl, &spec, &other, &rig->diag));
    assert_i64(1, retry(&graph));
    assert_graph("A:discarded B:cancelled", &graph);
    flow_is(&graph, PAWL_FLOW_FAILED, true);
    assert_ok(rig, pawl_control(graph.pawl, other.id, PAWL_CONTROL_CANCEL, NULL, NULL, &rig->diag));
    assert_i64(1, retry(&graph));
    assert_graph("A:available B:pending", &graph);
    assert_err(rig, PAWL_ERR_DUPLICATE, pawl_submit(graph.pawl, &spec, &other, &rig->diag));
    graph_close(&graph);
}

static void archived_flow_is_not_retried(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A");
    graph_submit(&graph);
    node_fails(&graph, "A");
    const struct pawl_retention soon = { .archive_after_ms = 1 };
    for (int i = 0; i < 3; i++) {
        struct pawl_upkeep upkeep = { 0 };
        rig_advance(rig, 60000);
        assert_ok(rig, pawl_upkeep_turn(graph.pawl, &soon, &upkeep, &rig->diag));
    }
    assert_err(rig, PAWL_ERR_STATE,
               pawl_flow_retry(graph.pawl, graph.id, NULL, NULL, NULL, &rig->diag));
    assert_within("was archived", rig->diag.text);
    assert_err(rig, PAWL_ERR_STATE, node_control(&graph, "A", PAWL_CONTROL_RETRY));
    assert_within("was archived", rig->diag.text);
    assert_graph("A:discarded B:cancelled", &graph);
    graph_close(&graph);
}

/* ---- resume ---- */

static void resumed_flow_begins_where_it_was_cancelled(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A");
    node_after(&graph, "C", "B");
    node_after(&graph, "F", "");
    node_after(&graph, "E", "F");
    graph_submit(&graph);
    node_completes(&graph, "A");
    node_fails(&graph, "F");
    assert_err(rig, PAWL_ERR_STATE, resume(&graph));
    assert_ok(rig, cancel(&graph, false));
    assert_graph("A:completed B:cancelled C:cancelled F:discarded E:cancelled", &graph);
    assert_err(rig, PAWL_ERR_STATE,
               pawl_flow_retry(graph.pawl, graph.id, NULL, NULL, NULL, &rig->diag));
    assert_within("resume it", rig->diag.text);
    assert_err(rig, PAWL_ERR_STATE, node_control(&graph, "B", PAWL_CONTROL_RETRY));
    assert_ok(rig, resume(&graph));
    assert_graph("A:completed B:available C:pending F:discarded E:cancelled", &graph);
    flow_is(&graph, PAWL_FLOW_RUNNING, false);
    node_completes(&graph, "B");
    node_completes(&graph, "C");
    flow_is(&graph, PAWL_FLOW_FAILED, true);
    assert_i64(1, retry(&graph));
    node_completes(&graph, "F");
    node_completes(&graph, "E");
    flow_is(&graph, PAWL_FLOW_COMPLETED, true);
    assert_int_equal(2, graph_flow(&graph).reopened);
    graph_close(&graph);
}

static void flow_goes_on_from_any_moment(struct rig *rig)
{
    static const char *const order[] = { "A", "x", "y", "z", "u", "B" };
    struct graph graph;
    graph_open(&graph, rig);
    for (size_t ended = 0; ended < COUNT(order); ended++) {
        graph.count = 0;
        nest(&graph);
        graph_submit(&graph);
        for (size_t i = 0; i < ended; i++) {
            node_completes(&graph, order[i]);
        }
        const char *before = graph_text(&graph);
        assert_ok(rig, cancel(&graph, false));
        assert_ok(rig, resume(&graph));
        assert_graph(before, &graph);
        for (size_t i = ended; i < COUNT(order); i++) {
            node_completes(&graph, order[i]);
        }
        flow_is(&graph, PAWL_FLOW_COMPLETED, true);
        assert_i64(6, graph_flow(&graph).jobs.completed);
        assert_i64(1, graph_flow(&graph).jobs.skipped);
        rig_tidy(rig);
    }
    graph_close(&graph);
}

/* ---- pause ---- */

static void paused_flow_gives_nothing_to_workers(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    node_after(&graph, "B", "A");
    node_after(&graph, "C", "");
    node_after(&graph, "D", "")->job.delay_ms = 1000;
    node_after(&graph, "P", "");
    graph_submit(&graph);
    assert_ok(rig, node_control(&graph, "P", PAWL_CONTROL_PAUSE));
    struct pawl_run run = node_claim(&graph, "A");
    assert_ok(rig, pause_flow(&graph));
    assert_true(graph_flow(&graph).paused);
    assert_graph("A:active B:paused C:paused D:paused P:paused", &graph);
    assert_ok(rig, pause_flow(&graph));
    assert_ok(rig, pawl_complete(graph.pawl, &run, span_of("1"), &rig->diag));
    assert_graph("A:completed B:paused C:paused D:paused P:paused", &graph);
    assert_ok(rig, resume(&graph));
    assert_graph("A:completed B:available C:available D:scheduled P:paused", &graph);
    assert_false(graph_flow(&graph).paused);
    graph_close(&graph);
}

static void run_of_a_paused_flow_comes_back_paused(struct rig *rig)
{
    struct graph graph;
    graph_open(&graph, rig);
    node_after(&graph, "A", "");
    graph_submit(&graph);
    struct pawl_run run = node_claim(&graph, "A");
    assert_ok(rig, pause_flow(&graph));
    come_back(&graph, &run, BY_FAILURE);
    assert_graph("A:paused", &graph);
    assert_ok(rig, resume(&graph));
    assert_graph("A:retryable", &graph);
    assert_ok(rig, pause_flow(&graph));
    assert_ok(rig, cancel(&graph, false));
    assert_graph("A:cancelled", &graph);
    assert_err(rig, PAWL_ERR_STATE, pause_flow(&graph));
    graph_close(&graph);
}

/* ---- size ---- */

enum { WIDE = 9000 };

/* More than fits into one transaction: the sweep does the rest. */
static void flow_of_thousands_is_cancelled_and_resumed(struct rig *rig)
{
    static struct pawl_flow_node nodes[WIDE];
    static const struct pawl_flow_edge edge = { .parent = "0" };
    static char names[WIDE][12];
    struct graph graph;
    graph_open(&graph, rig);
    for (size_t i = 0; i < WIDE; i++) {
        snprintf(names[i], sizeof names[i], "%zu", i);
        nodes[i] = (struct pawl_flow_node){ .name = names[i],
                                            .job = { .type = "work", .queue = "wide" },
                                            .after = i % 2 ? NULL : &edge,
                                            .after_count = i && i % 2 == 0 };
    }
    const struct pawl_flow_spec spec = { .nodes = nodes, .node_count = WIDE };
    assert_ok(rig, pawl_flow_submit(graph.pawl, &spec, &graph.id, &rig->diag));
    for (int round = 0; round < 2; round++) {
        assert_ok(rig, cancel(&graph, false));
        for (int i = 0; i < 12; i++) {
            graph_settle(&graph);
        }
        flow_is(&graph, PAWL_FLOW_CANCELLED, true);
        assert_i64(WIDE, graph_flow(&graph).members.cancelled);
        assert_ok(rig, resume(&graph));
        for (int i = 0; i < 20; i++) {
            graph_settle(&graph);
        }
        flow_is(&graph, PAWL_FLOW_RUNNING, false);
        assert_i64(WIDE, graph_flow(&graph).members.open);
    }
    int64_t available = 0;
    const struct pawl_filter ready = { .states = PAWL_STATE_BIT(PAWL_STATE_AVAILABLE) };
    assert_ok(rig, pawl_count(graph.pawl, &ready, &available, &rig->diag));
    assert_i64(WIDE / 2 + 1, available);
    graph_close(&graph);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(cancelled_flow_releases_nothing),
        CONTRACT(drained_job_keeps_its_result),
        CONTRACT(drained_job_does_not_run_again),
        CONTRACT(flow_can_be_cancelled_at_any_moment),
        CONTRACT(cancelled_group_has_failed),
        CONTRACT(cancelled_node_is_judged),
        CONTRACT(retry_begins_what_failed_and_what_waited_for_it),
        CONTRACT(healed_batch_has_succeeded),
        CONTRACT(dead_letter_is_revived_with_what_waited_for_it),
        CONTRACT(retry_below_a_choice_keeps_it),
        CONTRACT(retry_of_a_chooser_chooses_again),
        CONTRACT(named_node_begins_with_all_below),
        CONTRACT(cancelled_group_is_retried),
        CONTRACT(node_whose_key_is_taken_stays_as_it_is),
        CONTRACT(archived_flow_is_not_retried),
        CONTRACT(resumed_flow_begins_where_it_was_cancelled),
        CONTRACT(flow_goes_on_from_any_moment),
        CONTRACT(paused_flow_gives_nothing_to_workers),
        CONTRACT(run_of_a_paused_flow_comes_back_paused),
        CONTRACT(flow_of_thousands_is_cancelled_and_resumed),
    };
    return contract_run("flow_control", tests, COUNT(tests));
}
