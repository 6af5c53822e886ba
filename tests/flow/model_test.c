/* Random flows with random outcomes: how every node ends is compared with a slow evaluation of the
 * tables of docs/flows.md, which shares no code with src/flow. The order in which jobs end is drawn
 * as well, and must not matter; nor does it matter that the flow is paused, or cancelled, and
 * resumed on the way. When it has ended, what failed is retried, with outcomes drawn anew. */
#include "flow/flow_kit.h"

#include "base/rng.h"

enum outcome { COMPLETES, FAILS, IS_CANCELLED, IS_SKIPPED };

struct plan {
    enum outcome outcome;
    bool stopped; /* cancelled by hand before anything has run, if it is pending then */
    int group;    /* the index of its group; -1: none */
};

struct model {
    struct graph graph;
    struct plan plans[NODES_MAX];
    struct pawl__rng rng;
    enum pawl_state final[NODES_MAX]; /* NONE: not evaluated yet */
    bool kept[NODES_MAX];             /* it ended before a retry, which leaves it alone */
    bool reopened[NODES_MAX];         /* a group that had ended, and is open again */
};

static uint32_t draw(struct model *model, uint32_t below)
{
    return (uint32_t)pawl__rng_below(&model->rng, below);
}

/* ---- a random flow ---- */

static bool chooses(const struct pawl_flow_node *node)
{
    return node->select == PAWL_FLOW_SELECT_FIRST || node->select == PAWL_FLOW_SELECT_ALL;
}

static void draw_edges(struct model *model, size_t at)
{
    struct graph *graph = &model->graph;
    struct pawl_flow_node *node = &graph->nodes[at];
    for (size_t p = 0; p < at; p++) {
        if (model->plans[p].group != model->plans[at].group || draw(model, 3)) continue;
        struct pawl_flow_edge *edge = &graph->edges[at][node->after_count++];
        *edge = (struct pawl_flow_edge){ .parent = graph->names[p] };
        uint32_t on = draw(model, 6);
        edge->on = on == 0   ? PAWL_FLOW_ON_FAILURE
                   : on == 1 ? PAWL_FLOW_ON_ALWAYS
                             : PAWL_FLOW_ON_SUCCESS;
        if (chooses(&graph->nodes[p]) && draw(model, 4)) {
            edge->arm = (int32_t)draw(model, 3) + 1;
            edge->otherwise = !draw(model, 4);
        }
    }
}

static void draw_node(struct model *model, size_t at)
{
    static const enum pawl_flow_kind kinds[] = { PAWL_FLOW_KIND_GROUP, PAWL_FLOW_KIND_BRANCH,
                                                 PAWL_FLOW_KIND_JOIN };
    struct graph *graph = &model->graph;
    const char *name = rig_text(graph->rig, "n%zu", at);
    uint32_t kind = draw(model, 8);
    struct pawl_flow_node *node = kind < COUNT(kinds) ? control_node(graph, name, kinds[kind], "")
                                                      : node_after(graph, name, "");
    struct plan *plan = &model->plans[at];
    *plan = (struct plan){ .outcome = (enum outcome)(draw(model, 2) ? 0 : draw(model, 4)),
                           .stopped = !draw(model, 12),
                           .group = -1 };
    for (size_t g = 0; g < at; g++) { // a group's depth is bounded: groups in groups are rare
        if (graph->nodes[g].kind == PAWL_FLOW_KIND_GROUP && model->plans[g].group < 0 &&
            !draw(model, 2)) {
            plan->group = (int)g;
            node->group = graph->names[g];
        }
    }
    node->select = draw(model, 3) ? PAWL_FLOW_SELECT_DEFAULT
                                  : (enum pawl_flow_select)(2 + draw(model, 2));
    if (node->kind == PAWL_FLOW_KIND_BRANCH && !node->select) node->select = PAWL_FLOW_SELECT_FIRST;
    draw_edges(model, at);
    node->join = (enum pawl_flow_join)(1 + draw(model, 4));
    if (node->join == PAWL_FLOW_JOIN_N && !node->after_count) node->join = PAWL_FLOW_JOIN_ALL;
    if (node->join == PAWL_FLOW_JOIN_N) node->n = 1 + (int32_t)draw(model, node->after_count);
    node->on_parent_failure = (enum pawl_flow_parent)(1 + draw(model, 4));
    node->may_fail = !draw(model, 4);
}

/* ---- the slow evaluation ---- */

static enum pawl_state evaluate(struct model *model, size_t at);

static bool is_good_end(enum pawl_state end)
{
    return end == PAWL_STATE_COMPLETED || end == PAWL_STATE_SKIPPED;
}

/* 'g' good, 'd' dead, 'b' broken: of an edge alone. */
static char alone(const struct pawl_flow_edge *edge, enum pawl_state end)
{
    if (end == PAWL_STATE_SKIPPED) return 'd';
    if (end == PAWL_STATE_COMPLETED) return edge->on == PAWL_FLOW_ON_FAILURE ? 'd' : 'g';
    return edge->on == PAWL_FLOW_ON_SUCCESS ? 'b' : 'g';
}

static const struct pawl_flow_edge *edge_between(const struct graph *graph, size_t from, size_t to)
{
    for (size_t i = 0; i < graph->nodes[to].after_count; i++) {
        const struct pawl_flow_edge *edge = &graph->edges[to][i];
        if (strcmp(edge->parent, graph->names[from]) == 0) return edge;
    }
    return NULL;
}

/* As chosen by the parent. */
static char verdict(const struct model *model, size_t parent, size_t child, enum pawl_state end)
{
    const struct graph *graph = &model->graph;
    const struct pawl_flow_edge *own = edge_between(graph, parent, child);
    bool one = graph->nodes[parent].select == PAWL_FLOW_SELECT_FIRST;
    if (!chooses(&graph->nodes[parent]) || !(own->arm || own->otherwise)) return alone(own, end);
    const struct pawl_flow_edge *best = NULL;
    for (size_t c = 0; c < graph->count; c++) { // the best of those that match
        const struct pawl_flow_edge *edge = edge_between(graph, parent, c);
        bool matches = edge && (edge->arm || edge->otherwise) && !edge->otherwise &&
                       alone(edge, end) == 'g';
        if (matches && (!best || edge->arm < best->arm)) best = edge;
    }
    char lone = alone(own, end);
    if (own->otherwise) {
        if (!best && end == PAWL_STATE_COMPLETED) return 'g';
        if (best && one) return 'd';
        return lone == 'b' ? 'b' : 'd';
    }
    if (!one || !best) return lone;
    return own == best ? 'g' : 'd';
}

static enum pawl_state end_of_group(struct model *model, size_t at)
{
    bool grave = false, any = false, all_skipped = true;
    for (size_t i = 0; i < model->graph.count; i++) {
        if (model->plans[i].group != (int)at) continue;
        enum pawl_state end = evaluate(model, i);
        any = true;
        all_skipped &= end == PAWL_STATE_SKIPPED;
        grave |= !is_good_end(end) && !model->graph.nodes[i].may_fail;
    }
    if (grave) return PAWL_STATE_DISCARDED;
    return any && all_skipped ? PAWL_STATE_SKIPPED : PAWL_STATE_COMPLETED;
}

static enum pawl_state run(struct model *model, size_t at)
{
    static const enum pawl_state ends[] = { PAWL_STATE_COMPLETED, PAWL_STATE_DISCARDED,
                                            PAWL_STATE_CANCELLED, PAWL_STATE_SKIPPED };
    if (model->graph.nodes[at].kind == PAWL_FLOW_KIND_GROUP) return end_of_group(model, at);
    if (model->graph.nodes[at].kind != PAWL_FLOW_KIND_DEFAULT) return PAWL_STATE_COMPLETED;
    return ends[model->plans[at].outcome];
}

/* NONE: it runs. */
static enum pawl_state instead(struct model *model, size_t at)
{
    const struct pawl_flow_node *node = &model->graph.nodes[at];
    int good = 0, broken = 0;
    for (size_t p = 0; p < at; p++) {
        if (!edge_between(&model->graph, p, at)) continue;
        char is = verdict(model, p, at, evaluate(model, p));
        good += is == 'g';
        broken += is == 'b';
    }
    int live = node->on_parent_failure == PAWL_FLOW_PARENT_RUN ? good + broken : good;
    bool quick = node->join == PAWL_FLOW_JOIN_ANY || node->join == PAWL_FLOW_JOIN_N;
    int wanted = node->join == PAWL_FLOW_JOIN_N ? node->n : 1;
    if (!node->after_count) return PAWL_STATE_NONE;
    if (quick && live >= wanted) return PAWL_STATE_NONE;
    if (broken && (quick || node->on_parent_failure != PAWL_FLOW_PARENT_RUN)) {
        switch (node->on_parent_failure) {
        case PAWL_FLOW_PARENT_CANCEL:
            return PAWL_STATE_CANCELLED;
        case PAWL_FLOW_PARENT_FAIL:
            return PAWL_STATE_DISCARDED;
        default:
            return PAWL_STATE_SKIPPED;
        }
    }
    if (quick) return PAWL_STATE_SKIPPED;
    return live || node->join == PAWL_FLOW_JOIN_EVERY ? PAWL_STATE_NONE : PAWL_STATE_SKIPPED;
}

static bool is_job(const struct model *model, size_t at)
{
    return model->graph.nodes[at].kind == PAWL_FLOW_KIND_DEFAULT;
}

static bool is_stopped(const struct model *model, size_t at)
{
    return is_job(model, at) && model->plans[at].stopped && model->plans[at].group < 0;
}

static enum pawl_state fate(struct model *model, size_t at)
{
    if (is_stopped(model, at)) return PAWL_STATE_CANCELLED;
    if (model->reopened[at]) return run(model, at);
    int group = model->plans[at].group;
    if (group >= 0 && !model->reopened[group]) {
        enum pawl_state own = instead(model, (size_t)group);
        if (own == PAWL_STATE_SKIPPED) return PAWL_STATE_SKIPPED;
        if (own != PAWL_STATE_NONE) return PAWL_STATE_CANCELLED;
    }
    enum pawl_state end = instead(model, at);
    return end == PAWL_STATE_NONE ? run(model, at) : end;
}

static enum pawl_state evaluate(struct model *model, size_t at)
{
    if (!model->final[at]) model->final[at] = fate(model, at);
    return model->final[at];
}

/* ---- what a retry begins anew ---- */

static bool was_given_up(struct model *model, size_t at)
{
    int group = model->plans[at].group;
    if (is_stopped(model, at) || model->reopened[at]) return false;
    bool open = group < 0 || model->reopened[group];
    return (!open && instead(model, (size_t)group)) || instead(model, at);
}

struct again {
    bool given_up[NODES_MAX], reset[NODES_MAX], reopened[NODES_MAX];
};

static bool follows(const struct model *model, const struct again *again, size_t at)
{
    int group = model->plans[at].group;
    for (size_t p = 0; p < at; p++) {
        bool is_parent = edge_between(&model->graph, p, at);
        if (is_parent && (again->reset[p] || again->reopened[p])) return true;
    }
    return group >= 0 && again->reset[group];
}

static bool has_member(const struct model *model, const struct again *again, size_t group)
{
    for (size_t i = 0; i < model->graph.count; i++) {
        bool begins = again->reset[i] || again->reopened[i];
        if (model->plans[i].group == (int)group && begins) return true;
    }
    return false;
}

static void spread(const struct model *model, struct again *again)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < model->graph.count; i++) {
            bool is_group = model->graph.nodes[i].kind == PAWL_FLOW_KIND_GROUP;
            bool anew = !again->reset[i] && again->given_up[i] && follows(model, again, i);
            bool opens = is_group && !again->given_up[i] && !again->reopened[i] &&
                         has_member(model, again, i);
            again->reset[i] |= anew;
            again->reopened[i] |= opens;
            more |= anew || opens;
        }
    }
}

/* Returns how many nodes have failed of their own; their outcomes are drawn anew. */
static int64_t begin_anew(struct model *model)
{
    struct again again = { { false } };
    int64_t count = 0;
    for (size_t i = 0; i < model->graph.count; i++) {
        again.given_up[i] = model->kept[i] ? again.given_up[i] : was_given_up(model, i);
        bool failed = is_job(model, i) && !is_good_end(evaluate(model, i));
        again.reset[i] = failed && !again.given_up[i];
        count += again.reset[i];
    }
    for (size_t i = 0; i < model->graph.count; i++) {
        if (!again.reset[i]) continue;
        model->plans[i].stopped = false;
        model->plans[i].outcome = draw(model, 3) ? COMPLETES : FAILS;
    }
    spread(model, &again);
    for (size_t i = 0; i < model->graph.count; i++) {
        model->kept[i] = !again.reset[i] && !again.reopened[i];
        model->reopened[i] = again.reopened[i];
        if (!model->kept[i]) model->final[i] = PAWL_STATE_NONE;
    }
    return count;
}

/* ---- the store ---- */

static void stop_some(struct model *model)
{
    for (size_t i = model->graph.count; i-- > 0;) { // before what leads to them
        if (!is_stopped(model, i)) continue;
        enum pawl_state state = node_state(&model->graph, model->graph.names[i]);
        model->plans[i].stopped = !pawl_state_is_terminal(state); // or a branch was quicker
        if (!model->plans[i].stopped) continue;
        assert_ok(model->graph.rig,
                  node_control(&model->graph, model->graph.names[i], PAWL_CONTROL_CANCEL));
    }
}

static void end_one(struct model *model, size_t at)
{
    struct graph *graph = &model->graph;
    const char *name = graph->names[at];
    if (model->kept[at]) fail_msg("node \"%s\" runs again", name);
    switch (model->plans[at].outcome) {
    case COMPLETES:
        node_completes(graph, name);
        break;
    case FAILS:
        node_fails(graph, name);
        break;
    case IS_CANCELLED:
        assert_ok(graph->rig, node_control(graph, name, PAWL_CONTROL_CANCEL));
        break;
    default:
        assert_ok(graph->rig, node_control(graph, name, PAWL_CONTROL_SKIP));
        break;
    }
}

/* False: none is available. */
static bool end_any(struct model *model)
{
    struct graph *graph = &model->graph;
    struct pawl_flow_nodes nodes = { 0 };
    size_t ready[NODES_MAX], count = 0;
    assert_ok(graph->rig, pawl_flow_nodes_get(graph->pawl, graph->id, &nodes, &graph->rig->diag));
    for (size_t i = 0; i < nodes.count; i++) {
        if (nodes.at[i].state == PAWL_STATE_AVAILABLE) ready[count++] = i;
    }
    pawl_flow_nodes_release(&nodes);
    if (count) end_one(model, ready[draw(model, (uint32_t)count)]);
    return count;
}

/* The flow is held up, and goes on where it was. */
static void hold_up(struct model *model)
{
    struct graph *graph = &model->graph;
    struct pawl_diag *diag = &graph->rig->diag;
    bool cancels = draw(model, 2);
    const struct pawl_flow_cancel how = { .drain = draw(model, 2) };
    if (graph_flow(graph).finished_at_ms) return;
    const char *before = graph_text(graph);
    enum pawl_err err = cancels ? pawl_flow_cancel(graph->pawl, graph->id, &how, NULL, diag)
                                : pawl_flow_pause(graph->pawl, graph->id, NULL, diag);
    assert_ok(graph->rig, err);
    if (strstr(graph_text(graph), "available")) fail_msg("%s", graph_text(graph));
    assert_ok(graph->rig, pawl_flow_resume(graph->pawl, graph->id, NULL, diag));
    assert_text(before, graph_text(graph));
}

static void compare_counts(struct model *model, const struct pawl_flow *flow)
{
    struct pawl_flow_counts counts = { 0 };
    bool grave = false;
    for (size_t i = 0; i < model->graph.count; i++) {
        if (model->plans[i].group >= 0) continue;
        enum pawl_state end = evaluate(model, i);
        counts.total++;
        counts.completed += end == PAWL_STATE_COMPLETED;
        counts.skipped += end == PAWL_STATE_SKIPPED;
        counts.cancelled += end == PAWL_STATE_CANCELLED;
        counts.failed += end == PAWL_STATE_DISCARDED;
        grave |= !is_good_end(end) && !model->graph.nodes[i].may_fail;
    }
    assert_memory_equal(&counts, &flow->members, sizeof counts);
    assert_int_equal(grave ? PAWL_FLOW_FAILED : PAWL_FLOW_COMPLETED, flow->state);
}

static const char *model_text(struct model *model)
{
    const char *text = "";
    for (size_t i = 0; i < model->graph.count; i++) {
        text = rig_text(model->graph.rig, "%s%sn%zu:%s", text, i ? " " : "", i,
                        pawl_state_name(evaluate(model, i), PAWL_VOCABULARY_PAWL));
    }
    return text;
}

/* As it was drawn. */
static void print_graph(const struct model *model)
{
    for (size_t i = 0; i < model->graph.count; i++) {
        const struct pawl_flow_node *node = &model->graph.nodes[i];
        print_message("n%zu kind %d group %d select %d join %d n %d parent %d outcome %d%s\n", i,
                      (int)node->kind, model->plans[i].group, (int)node->select, (int)node->join,
                      (int)node->n, (int)node->on_parent_failure, (int)model->plans[i].outcome,
                      model->plans[i].stopped ? " stopped" : "");
        for (size_t k = 0; k < node->after_count; k++) {
            print_message("    after %s on %d arm %d%s\n", node->after[k].parent,
                          (int)node->after[k].on, (int)node->after[k].arm,
                          node->after[k].otherwise ? " otherwise" : "");
        }
    }
}

/* Until it has ended. */
static void run_flow(struct model *model, uint64_t seed)
{
    do {
        if (!draw(model, 8)) hold_up(model);
    } while (end_any(model));
    const char *wanted = model_text(model), *is = graph_text(&model->graph);
    if (strcmp(wanted, is) != 0) print_graph(model);
    if (strcmp(wanted, is) != 0) fail_msg("seed %d\n want %s\n have %s", (int)seed, wanted, is);
    struct pawl_flow flow = graph_flow(&model->graph);
    compare_counts(model, &flow);
}

static void retry_flow(struct model *model, uint64_t seed)
{
    struct graph *graph = &model->graph;
    int64_t wanted = begin_anew(model), count = -1;
    assert_ok(graph->rig,
              pawl_flow_retry(graph->pawl, graph->id, NULL, NULL, &count, &graph->rig->diag));
    if (wanted != count) print_graph(model);
    if (wanted != count) fail_msg("seed %d: %s", (int)seed, graph_text(graph));
    run_flow(model, seed);
}

static void play(struct model *model, uint64_t seed)
{
    pawl__rng_seed(&model->rng, seed);
    model->graph.count = 0;
    memset(model->final, 0, sizeof model->final);
    memset(model->kept, 0, sizeof model->kept);
    memset(model->reopened, 0, sizeof model->reopened);
    size_t count = 2 + draw(model, 11);
    for (size_t i = 0; i < count; i++) {
        draw_node(model, i);
    }
    graph_submit(&model->graph);
    stop_some(model);
    run_flow(model, seed);
    retry_flow(model, seed);
    rig_tidy(model->graph.rig);
}

static void random_flows_end_as_the_tables_say(struct rig *rig)
{
    static struct model model;
    int64_t rounds = scaled(rig->kind->shared ? 150 : 3000);
    graph_open(&model.graph, rig);
    for (int64_t i = 1; i <= rounds; i++) {
        play(&model, (uint64_t)i);
    }
    graph_close(&model.graph);
}

int main(void)
{
    static const struct contract_test tests[] = { CONTRACT(random_flows_end_as_the_tables_say) };
    return contract_run("flow_model", tests, COUNT(tests));
}
