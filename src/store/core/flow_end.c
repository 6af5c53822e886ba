/* A node has ended: see flow.h. */
#include "store/core/flow_inside.h"

#include "base/buf.h"

#include <string.h>

enum pawl_state pawl__flow_end_of(const struct pawl__set *set, const struct pawl__unsettled *about,
                                  const struct pawl__flow_node *node)
{
    const struct pawl__row *row = pawl__set_find(set, about->id);
    bool is_job = node->kind == PAWL_FLOW_KIND_JOB && row && row->found != PAWL__FOUND_ABSENT;
    if (!is_job) return about->to;
    enum pawl_state state = row->state == PAWL_STATE_PAUSED ? row->paused_from : row->state;
    return pawl_state_is_terminal(state) ? state : PAWL_STATE_NONE;
}

void pawl__flow_count(struct pawl__record *group, const struct pawl__flow_node *node,
                      enum pawl_state ended, int64_t by)
{
    struct pawl__flow_tally *tally = &group->row.flow_group.tally;
    bool grave = !pawl_state_is_successful(ended) && !(node->traits & PAWL__FLOW_MAY_FAIL);
    *pawl__flow_place(tally, ended) += by;
    tally->grave += grave ? by : 0;
    group->changed = true;
}

bool pawl__flow_is_work(const struct pawl__flow_node *node)
{
    return node->kind == PAWL_FLOW_KIND_JOB && !(node->traits & PAWL__FLOW_CALLBACK);
}

bool pawl__flow_is_over(const struct pawl__record *group)
{
    const struct pawl__flow_group *row = &group->row.flow_group;
    return !row->open_ended && !pawl__flow_open(&row->tally);
}

enum pawl_state pawl__flow_end_of_group(const struct pawl__record *group)
{
    const struct pawl__flow_group *row = &group->row.flow_group;
    return row->halted || row->spoilt ? PAWL_STATE_DISCARDED : pawl__flow_group_end(&row->tally);
}

static void end_flow(struct pawl__set *set, struct pawl__flow_books *books)
{
    struct pawl__flow *flow = &books->flow->row.flow;
    const struct pawl__flow_group *all = &books->all->row.flow_group;
    bool failed = all->tally.grave > 0 || all->spoilt;
    flow->finished_at_ms = set->now_ms;
    flow->recount_at_ms = 0;
    if (flow->state == PAWL_FLOW_RUNNING) {
        flow->state = failed ? PAWL_FLOW_FAILED : PAWL_FLOW_COMPLETED;
    }
    books->flow->changed = true;
    if (books->clock) pawl__flow_set_timer(set, books->clock, 0);
}

void pawl__flow_end_group(struct pawl__set *set, struct pawl__flow_books *books)
{
    if (!pawl__flow_is_over(books->group) || books->flow->row.flow.resets) return;
    if (!books->above) {
        end_flow(set, books);
        return;
    }
    const struct pawl__flow_node *above = &books->above->row.flow_node;
    if (above->state != PAWL_STATE_ACTIVE) return; // it was given up before it was opened
    pawl__flow_note_group_end(set, books->above, books->group);
}

static void count_verdict(struct pawl__flow_node *node, int32_t verdict, int32_t by)
{
    node->pending += verdict == PAWL__FLOW_UNJUDGED ? by : 0;
    node->good += verdict == PAWL__FLOW_GOOD ? by : 0;
    node->dead += verdict == PAWL__FLOW_DEAD ? by : 0;
    node->broken += verdict == PAWL__FLOW_BROKEN ? by : 0;
}

/* An edge was judged, which had the verdict `was`: the node that it leads to counts it. */
static void tell_child(struct pawl__set *set, const struct pawl__flow_books *books,
                       struct pawl__record *edge, int32_t was, enum pawl_state ended)
{
    const struct pawl__flow_edge *row = &edge->row.flow_edge;
    struct pawl__record *child = pawl__flow_node_of(set, row->flow, row->child);
    if (!child) return; // the books are damaged: the check says so
    struct pawl__flow_node *node = &child->row.flow_node;
    count_verdict(node, was, -1);
    count_verdict(node, row->verdict, 1);
    if (!node->broken) node->blame = PAWL_STATE_NONE;
    if (row->verdict == PAWL__FLOW_BROKEN && !node->blame) node->blame = (int32_t)ended;
    child->changed = true;
    bool passes_on = node->kind == PAWL_FLOW_KIND_BRANCH || node->kind == PAWL_FLOW_KIND_JOIN;
    bool lone = node->good + node->dead + node->broken + node->pending == 1;
    if (passes_on && lone && row->verdict == PAWL__FLOW_GOOD) node->result = books->result;
    bool decided = pawl__flow_step_of(node) != PAWL__FLOW_WAIT;
    if (node->state == PAWL_STATE_PENDING && decided) pawl__flow_note_look(set, node);
}

static size_t count_edges(const struct pawl__records *edges)
{
    size_t count = 0;
    for (const struct pawl__record *edge = edges->first; edge; edge = edge->next) {
        count += edge->row.flow_edge.on != PAWL__FLOW_ON_MEMBER;
    }
    return count;
}

static struct pawl_span keep_text(struct pawl__set *set, struct pawl__buf *text)
{
    struct pawl_span kept = { pawl__set_text(set, text->at, text->len), text->len };
    set->failed |= text->failed;
    pawl__buf_clear(text);
    return kept;
}

static void print_tally(struct pawl__buf *out, const struct pawl__flow_tally *tally)
{
    int64_t ran = tally->total - pawl__flow_open(tally) - tally->skipped;
    int64_t per_mille = ran ? tally->completed * 1000 / ran : 1000;
    pawl__buf_printf(out, "{\"total\":%lld,\"completed\":%lld,\"skipped\":%lld,",
                     (long long)tally->total, (long long)tally->completed,
                     (long long)tally->skipped);
    pawl__buf_printf(out, "\"failed\":%lld,\"cancelled\":%lld,\"success_rate\":%lld.%03d}",
                     (long long)tally->failed, (long long)tally->cancelled,
                     (long long)(per_mille / 1000), (int)(per_mille % 1000));
}

/* Negative: it is no job. */
static int64_t attempt_of(const struct pawl__set *set, const struct pawl__flow_node *node)
{
    const struct pawl__row *row = pawl__set_find(set, node->id);
    return node->kind == PAWL_FLOW_KIND_JOB && row ? row->run - row->base_run : -1;
}

/* What conditions see of the node that ended. */
static void see(struct pawl__set *set, const struct pawl__flow_books *books, enum pawl_state ended,
                int64_t attempt, struct pawl__expr_env *env)
{
    struct pawl__buf text = { .at = NULL };
    *env = (struct pawl__expr_env){ .arena = &set->arena };
    pawl__buf_printf(&text, "\"%s\"", pawl_state_name(ended, PAWL_VOCABULARY_PAWL));
    env->values[PAWL__EXPR_STATE] = keep_text(set, &text);
    if (attempt >= 0) {
        pawl__buf_printf(&text, "%lld", (long long)attempt);
        env->values[PAWL__EXPR_ATTEMPT] = keep_text(set, &text);
    }
    env->values[PAWL__EXPR_RESULT] = books->result;
    if (books->members) {
        print_tally(&text, &books->members->row.flow_group.tally);
        env->values[PAWL__EXPR_GROUP] = keep_text(set, &text);
    }
    pawl__buf_release(&text);
}

/* A condition that decides nothing is not evaluated: its error would be nobody's. */
static bool holds(struct pawl__set *set, struct pawl__record *edge, enum pawl_state ended,
                  struct pawl__expr_env *env)
{
    struct pawl__flow_edge *row = &edge->row.flow_edge;
    struct pawl__expr expr;
    struct pawl__expr_verdict verdict = { .value = false };
    struct pawl_diag diag;
    if (!row->when || !*row->when) return true;
    if (!pawl__flow_asks(ended, (enum pawl_flow_on)row->on)) return false;
    enum pawl_err err =
        pawl__expr_compile((struct pawl_span){ row->when, strlen(row->when) }, &expr, &diag);
    if (!err) err = pawl__expr_eval(&expr, env, &verdict);
    if (err == PAWL_ERR_NOMEM) set->failed = true;
    const char *why = err ? diag.text : verdict.reason;
    if (err || verdict.failed) row->reason = pawl__set_text(set, why, strlen(why) + 1);
    return !err && verdict.value;
}

/* Edges are in order of the child, which is that of their definition. */
void pawl__flow_judge_edges(struct pawl__set *set, struct pawl__flow_books *books,
                            enum pawl_state ended)
{
    size_t ways_count = count_edges(books->edges), at = 0;
    if (!ways_count) return;
    struct pawl__flow_way *ways = pawl__arena_alloc(&set->arena, ways_count * sizeof *ways);
    if (!ways) {
        set->failed = true;
        return;
    }
    struct pawl__expr_env env;
    see(set, books, ended, attempt_of(set, &books->node->row.flow_node), &env);
    struct pawl__record *edge = books->edges->first;
    for (; edge; edge = edge->next) {
        const struct pawl__flow_edge *row = &edge->row.flow_edge;
        if (row->on == PAWL__FLOW_ON_MEMBER) continue;
        ways[at++] = (struct pawl__flow_way){ .on = (enum pawl_flow_on)row->on,
                                              .arm = row->arm,
                                              .otherwise = row->otherwise,
                                              .when = holds(set, edge, ended, &env) };
    }
    pawl__flow_judge(ended, (enum pawl_flow_select)books->node->row.flow_node.select, ways,
                     ways_count);
    at = 0;
    for (edge = books->edges->first; edge; edge = edge->next) {
        if (edge->row.flow_edge.on == PAWL__FLOW_ON_MEMBER) continue;
        int32_t was = edge->row.flow_edge.verdict;
        edge->row.flow_edge.verdict = (int32_t)ways[at++].verdict;
        edge->changed = true;
        tell_child(set, books, edge, was, ended);
    }
}

/* The choice among arms was made without this one. */
void pawl__flow_judge_late(struct pawl__set *set, struct pawl__flow_books *books,
                           struct pawl__record *edge, int64_t attempt)
{
    const struct pawl__flow_node *node = &books->node->row.flow_node;
    struct pawl__flow_edge *row = &edge->row.flow_edge;
    enum pawl_state ended = (enum pawl_state)node->state;
    struct pawl__expr_env env;
    see(set, books, ended, node->kind == PAWL_FLOW_KIND_JOB ? attempt : -1, &env);
    struct pawl__flow_way way = { .on = (enum pawl_flow_on)row->on,
                                  .when = holds(set, edge, ended, &env) };
    pawl__flow_judge(ended, PAWL_FLOW_SELECT_EACH, &way, 1);
    bool arm = (row->arm || row->otherwise) && node->select != PAWL_FLOW_SELECT_EACH;
    bool good = way.verdict == PAWL__FLOW_GOOD;
    row->verdict = (int32_t)(arm && good ? PAWL__FLOW_DEAD : way.verdict);
    edge->changed = true;
    tell_child(set, books, edge, PAWL__FLOW_UNJUDGED, ended);
}

/* Members of a group that was never opened share its fate. */
static void drop_members(struct pawl__set *set, const struct pawl__flow_books *books)
{
    for (const struct pawl__record *edge = books->edges->first; edge; edge = edge->next) {
        const struct pawl__flow_edge *row = &edge->row.flow_edge;
        const struct pawl__record *child = pawl__flow_node_of(set, row->flow, row->child);
        if (row->on == PAWL__FLOW_ON_MEMBER && child)
            pawl__flow_note_look(set, &child->row.flow_node);
    }
}

void pawl__flow_end_node(struct pawl__set *set, struct pawl__flow_books *books,
                         enum pawl_state ended)
{
    struct pawl__flow_node *node = &books->node->row.flow_node;
    bool unopened = node->kind == PAWL_FLOW_KIND_GROUP && node->state == PAWL_STATE_PENDING;
    if (pawl_state_is_terminal((enum pawl_state)node->state)) return; // it was counted
    node->state = (int32_t)ended;
    node->finished_at_ms = set->now_ms;
    books->node->changed = true;
    pawl__flow_count(books->group, node, ended, 1);
    if (pawl__flow_is_work(node)) pawl__flow_count(books->work, node, ended, 1);
    pawl__flow_touch(set, books->flow);
    pawl__flow_judge_edges(set, books, ended);
    if (unopened) drop_members(set, books);
    if (books->signal) pawl__flow_signal_end(set, books);
    if (books->timer) pawl__flow_set_timer(set, books->timer, 0);
    if (books->above) pawl__flow_check_limits(set, books);
    pawl__flow_end_group(set, books);
}
