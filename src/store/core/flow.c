/* See flow.h. */
#include "store/core/flow.h"
#include "store/core/settle.h"

#include "base/buf.h"
#include "base/diag.h"

#include <assert.h>
#include <string.h>

_Static_assert((int)PAWL__FLOW_TIE == (int)PAWL__TIE_FLOW, "the api gives jobs this tie");

enum { NEED = PAWL__NEED_RUN | PAWL__NEED_FACTS | PAWL__NEED_STAND };

/* An entry: see flow.h. */
typedef const struct pawl__unsettled entry;

static bool is_look(entry *about)
{
    return about->from == PAWL_STATE_NONE && about->to == PAWL_STATE_NONE;
}

static bool is_end(entry *about)
{
    return pawl_state_is_terminal(about->to);
}

/* ---- what is wanted ---- */

/* NULL: it was not read yet, or there is none. */
static struct pawl__record *found(struct pawl__record *record)
{
    return record && record->of->read && record->there ? record : NULL;
}

static struct pawl__record *node_of(struct pawl__set *set, struct pawl_job_id flow, int32_t no)
{
    return found(pawl__set_want_record(set, PAWL__RECORD_FLOW_NODE,
                                       &(struct pawl__flow_node){ .flow = flow, .no = no }));
}

static struct pawl__record *group_of(struct pawl__set *set, struct pawl_job_id flow, int32_t no)
{
    return found(pawl__set_want_record(set, PAWL__RECORD_FLOW_GROUP,
                                       &(struct pawl__flow_group){ .flow = flow, .no = no }));
}

static struct pawl__records *edges_of(struct pawl__set *set, struct pawl_job_id flow, int32_t no)
{
    return pawl__set_want_records(set, PAWL__RECORD_FLOW_EDGE,
                                  &(struct pawl__flow_edge){ .flow = flow, .parent = no });
}

/* All that is known of the node of an entry; a member is NULL while it is not read, or not there.
 */
struct books {
    struct pawl__record *flow, *node, *all, *work;
    struct pawl__record *group, *above; /* those of its group, and the group's node; ALL has none */
    struct pawl__record *members;       /* of a group: its own counters */
    struct pawl__records *edges;        /* where they are asked for */
    struct pawl_span result;            /* of an end */
};

static bool find_number(struct pawl__set *set, entry *about, struct pawl__flow_member *out)
{
    *out = (struct pawl__flow_member){ about->id, about->flow, about->node };
    if (about->node) return true;
    const struct pawl__record *member = found(pawl__set_want_record(
        set, PAWL__RECORD_FLOW_MEMBER, &(struct pawl__flow_member){ .id = about->id }));
    if (member) *out = member->row.flow_member;
    return member;
}

static void find_group(struct pawl__set *set, struct books *books)
{
    const struct pawl__flow_node *node = &books->node->row.flow_node;
    books->group = node->group ? group_of(set, node->flow, node->group) : books->all;
    books->above = node->group ? node_of(set, node->flow, node->group) : NULL;
}

/* The flow's row comes first: it is the lock of the others, which are read behind it. */
static void find_books(struct pawl__set *set, entry *about, struct books *out)
{
    struct pawl__flow_member at;
    *out = (struct books){ .result = about->details };
    if (!find_number(set, about, &at)) return;
    out->flow =
        found(pawl__set_want_record(set, PAWL__RECORD_FLOW, &(struct pawl__flow){ .id = at.flow }));
    out->node = node_of(set, at.flow, at.no);
    out->all = group_of(set, at.flow, PAWL__FLOW_ALL);
    out->work = group_of(set, at.flow, PAWL__FLOW_WORK);
    bool opens = out->node && out->node->row.flow_node.kind == PAWL_FLOW_KIND_GROUP;
    if (opens) out->members = group_of(set, at.flow, at.no);
    if (is_end(about) || opens) out->edges = edges_of(set, at.flow, at.no);
    if (out->node) find_group(set, out);
}

static bool concerns(enum pawl_state from, enum pawl_state to)
{
    return pawl_state_is_terminal(to) || pawl_state_is_terminal(from);
}

static void want_flow(struct pawl__set *set, entry *about)
{
    struct books books;
    find_books(set, about, &books);
    if (!books.node) return;
    if (books.node->row.flow_node.kind == PAWL_FLOW_KIND_JOB) pawl__set_want(set, about->id, NEED);
    const struct pawl__record *edge = books.edges && books.edges->read ? books.edges->first : NULL;
    for (; edge; edge = edge->next) {
        const struct pawl__flow_edge *row = &edge->row.flow_edge;
        (void)node_of(set, row->flow, row->child);
    }
}

/* ---- what is to be looked at next ---- */

static void note(struct pawl__set *set, const struct pawl__flow_node *node, enum pawl_state to)
{
    pawl__set_unsettle(set, &(struct pawl__unsettled){ .at_ms = set->now_ms,
                                                       .id = node->id,
                                                       .ties = PAWL__TIE_FLOW,
                                                       .to = to,
                                                       .details = node->result,
                                                       .flow = node->flow,
                                                       .node = node->no });
}

static void note_look(struct pawl__set *set, const struct pawl__flow_node *node)
{
    note(set, node, PAWL_STATE_NONE);
}

/* ---- an end ---- */

/* As what the node has ended by now; NONE: it has not. A job that was paused out of its end has. */
static enum pawl_state end_of(const struct pawl__set *set, entry *about,
                              const struct pawl__flow_node *node)
{
    const struct pawl__row *row = pawl__set_find(set, about->id);
    bool is_job = node->kind == PAWL_FLOW_KIND_JOB && row && row->found != PAWL__FOUND_ABSENT;
    if (!is_job) return about->to;
    enum pawl_state state = row->state == PAWL_STATE_PAUSED ? row->paused_from : row->state;
    return pawl_state_is_terminal(state) ? state : PAWL_STATE_NONE;
}

static void count(struct pawl__record *group, const struct pawl__flow_node *node,
                  enum pawl_state ended, int64_t by)
{
    struct pawl__flow_tally *tally = &group->row.flow_group.tally;
    bool grave = !pawl_state_is_successful(ended) && !(node->traits & PAWL__FLOW_MAY_FAIL);
    *pawl__flow_place(tally, ended) += by;
    tally->grave += grave ? by : 0;
    group->changed = true;
}

static bool is_work(const struct pawl__flow_node *node)
{
    return node->kind == PAWL_FLOW_KIND_JOB && !(node->traits & PAWL__FLOW_CALLBACK);
}

static bool is_over(const struct pawl__record *group)
{
    const struct pawl__flow_group *row = &group->row.flow_group;
    return !row->open_ended && !pawl__flow_open(&row->tally);
}

static void end_flow(struct pawl__set *set, struct books *books)
{
    struct pawl__flow *flow = &books->flow->row.flow;
    bool failed = books->all->row.flow_group.tally.grave > 0;
    flow->finished_at_ms = set->now_ms;
    if (flow->state == PAWL_FLOW_RUNNING) {
        flow->state = failed ? PAWL_FLOW_FAILED : PAWL_FLOW_COMPLETED;
    }
    books->flow->changed = true;
}

static void end_group(struct pawl__set *set, struct books *books)
{
    if (!is_over(books->group)) return;
    if (!books->above) {
        end_flow(set, books);
        return;
    }
    const struct pawl__flow_node *above = &books->above->row.flow_node;
    if (above->state != PAWL_STATE_ACTIVE) return; // it was given up before it was opened
    note(set, above, pawl__flow_group_end(&books->group->row.flow_group.tally));
}

/* An edge was judged: the node that it leads to counts it. */
static void tell_child(struct pawl__set *set, const struct books *books, struct pawl__record *edge,
                       enum pawl_state ended)
{
    const struct pawl__flow_edge *row = &edge->row.flow_edge;
    struct pawl__record *child = node_of(set, row->flow, row->child);
    if (!child) return; // the books are damaged: the check says so
    struct pawl__flow_node *node = &child->row.flow_node;
    node->pending--;
    node->good += row->verdict == PAWL__FLOW_GOOD;
    node->dead += row->verdict == PAWL__FLOW_DEAD;
    node->broken += row->verdict == PAWL__FLOW_BROKEN;
    if (row->verdict == PAWL__FLOW_BROKEN && !node->blame) node->blame = (int32_t)ended;
    child->changed = true;
    bool passes_on = node->kind == PAWL_FLOW_KIND_BRANCH || node->kind == PAWL_FLOW_KIND_JOIN;
    bool lone = node->good + node->dead + node->broken + node->pending == 1;
    if (passes_on && lone && row->verdict == PAWL__FLOW_GOOD) node->result = books->result;
    bool decided =
        pawl__flow_decide(&(struct pawl__flow_stand){ .join = (enum pawl_flow_join)node->join,
                                                      .parent = (enum pawl_flow_parent)node->parent,
                                                      .n = node->n,
                                                      .pending = node->pending,
                                                      .good = node->good,
                                                      .dead = node->dead,
                                                      .broken = node->broken }) != PAWL__FLOW_WAIT;
    if (node->state == PAWL_STATE_PENDING && decided) note_look(set, node);
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

/* What conditions see of the node that ended. */
static void see(struct pawl__set *set, const struct books *books, enum pawl_state ended,
                struct pawl__expr_env *env)
{
    const struct pawl__flow_node *node = &books->node->row.flow_node;
    const struct pawl__row *row = pawl__set_find(set, node->id);
    struct pawl__buf text = { .at = NULL };
    *env = (struct pawl__expr_env){ .arena = &set->arena };
    pawl__buf_printf(&text, "\"%s\"", pawl_state_name(ended, PAWL_VOCABULARY_PAWL));
    env->values[PAWL__EXPR_STATE] = keep_text(set, &text);
    if (node->kind == PAWL_FLOW_KIND_JOB && row) {
        pawl__buf_printf(&text, "%lld", (long long)(row->run - row->base_run));
        env->values[PAWL__EXPR_ATTEMPT] = keep_text(set, &text);
    }
    env->values[PAWL__EXPR_RESULT] = books->result;
    if (books->members) {
        print_tally(&text, &books->members->row.flow_group.tally);
        env->values[PAWL__EXPR_GROUP] = keep_text(set, &text);
    }
    pawl__buf_release(&text);
}

static bool holds(struct pawl__set *set, struct pawl__record *edge, struct pawl__expr_env *env)
{
    struct pawl__flow_edge *row = &edge->row.flow_edge;
    struct pawl__expr expr;
    struct pawl__expr_verdict verdict = { .value = false };
    struct pawl_diag diag;
    if (!row->when || !*row->when) return true;
    enum pawl_err err =
        pawl__expr_compile((struct pawl_span){ row->when, strlen(row->when) }, &expr, &diag);
    if (!err) err = pawl__expr_eval(&expr, env, &verdict);
    if (err == PAWL_ERR_NOMEM) set->failed = true;
    const char *why = err ? diag.text : verdict.reason;
    if (err || verdict.failed) row->reason = pawl__set_text(set, why, strlen(why) + 1);
    return !err && verdict.value;
}

/* Edges are in order of the child, which is that of their definition. */
static void judge(struct pawl__set *set, struct books *books, enum pawl_state ended)
{
    size_t ways_count = count_edges(books->edges), at = 0;
    if (!ways_count) return;
    struct pawl__flow_way *ways = pawl__arena_alloc(&set->arena, ways_count * sizeof *ways);
    if (!ways) {
        set->failed = true;
        return;
    }
    struct pawl__expr_env env;
    see(set, books, ended, &env);
    struct pawl__record *edge = books->edges->first;
    for (; edge; edge = edge->next) {
        const struct pawl__flow_edge *row = &edge->row.flow_edge;
        if (row->on == PAWL__FLOW_ON_MEMBER) continue;
        ways[at++] = (struct pawl__flow_way){ .on = (enum pawl_flow_on)row->on,
                                              .arm = row->arm,
                                              .otherwise = row->otherwise,
                                              .when = holds(set, edge, &env) };
    }
    pawl__flow_judge(ended, (enum pawl_flow_select)books->node->row.flow_node.select, ways,
                     ways_count);
    at = 0;
    for (edge = books->edges->first; edge; edge = edge->next) {
        if (edge->row.flow_edge.on == PAWL__FLOW_ON_MEMBER) continue;
        edge->row.flow_edge.verdict = (int32_t)ways[at++].verdict;
        edge->changed = true;
        tell_child(set, books, edge, ended);
    }
}

/* Members of a group that was never opened share its fate. */
static void drop_members(struct pawl__set *set, const struct books *books)
{
    for (const struct pawl__record *edge = books->edges->first; edge; edge = edge->next) {
        const struct pawl__flow_edge *row = &edge->row.flow_edge;
        const struct pawl__record *child = node_of(set, row->flow, row->child);
        if (row->on == PAWL__FLOW_ON_MEMBER && child) note_look(set, &child->row.flow_node);
    }
}

static void end_node(struct pawl__set *set, struct books *books, enum pawl_state ended)
{
    struct pawl__flow_node *node = &books->node->row.flow_node;
    bool unopened = node->kind == PAWL_FLOW_KIND_GROUP && node->state == PAWL_STATE_PENDING;
    if (pawl_state_is_terminal((enum pawl_state)node->state)) return; // it was counted
    node->state = (int32_t)ended;
    node->finished_at_ms = set->now_ms;
    books->node->changed = true;
    count(books->group, node, ended, 1);
    if (is_work(node)) count(books->work, node, ended, 1);
    judge(set, books, ended);
    if (unopened) drop_members(set, books);
    end_group(set, books);
}

/* ---- a look ---- */

static const char *reason_of(enum pawl__flow_step step, const struct pawl__flow_node *node)
{
    static const char *const upstream[PAWL_STATE_END] = {
        [PAWL_STATE_CANCELLED] = "upstream_cancelled",
        [PAWL_STATE_DISCARDED] = "upstream_discarded",
        [PAWL_STATE_EXPIRED] = "upstream_expired",
    };
    if (node->broken && node->blame) return upstream[node->blame];
    return step == PAWL__FLOW_SKIP ? "branch_not_taken" : "group";
}

struct decision {
    enum pawl__flow_step step;
    const char *reason;
};

/* A group's fate is that of all its members that have not been released. */
static struct decision share_fate(const struct pawl__flow_node *above)
{
    bool skipped = above->state == PAWL_STATE_SKIPPED;
    return (struct decision){ skipped ? PAWL__FLOW_SKIP : PAWL__FLOW_CANCEL, "group" };
}

static struct decision decide(const struct books *books)
{
    const struct pawl__flow_node *node = &books->node->row.flow_node;
    const struct pawl__flow_node *above = books->above ? &books->above->row.flow_node : NULL;
    if (books->flow->row.flow.state == PAWL_FLOW_CANCELLED) {
        return (struct decision){ PAWL__FLOW_CANCEL, "flow_cancelled" };
    }
    if (above && above->state == PAWL_STATE_PENDING) return (struct decision){ PAWL__FLOW_WAIT };
    if (above && above->state != PAWL_STATE_ACTIVE) return share_fate(above);
    enum pawl__flow_step step =
        pawl__flow_decide(&(struct pawl__flow_stand){ .join = (enum pawl_flow_join)node->join,
                                                      .parent = (enum pawl_flow_parent)node->parent,
                                                      .n = node->n,
                                                      .pending = node->pending,
                                                      .good = node->good,
                                                      .dead = node->dead,
                                                      .broken = node->broken });
    return (struct decision){ step, reason_of(step, node) };
}

/* Is the job still where its flow holds it? An operator may have paused it, or ended it. */
static bool is_held_back(const struct pawl__row *row)
{
    bool waits = row->state == PAWL_STATE_PENDING && !row->lease_until_ms;
    bool paused = row->state == PAWL_STATE_PAUSED && row->paused_from == PAWL_STATE_PENDING;
    return row->found == PAWL__FOUND_LIVE && (waits || paused);
}

/* What counts from the release: its delay, and its time to live. Without a delay it keeps the rank
 * that it was submitted with, so that old flows are finished before new ones begin. */
static void set_due(struct pawl__set *set, struct pawl__row *row,
                    const struct pawl__flow_node *node)
{
    int64_t due_at_ms = row->due_at_ms > set->now_ms ? row->due_at_ms : set->now_ms;
    if (node->delay_ms) {
        due_at_ms = set->now_ms + node->delay_ms;
        row->due_at_ms = due_at_ms;
        row->rank = pawl__row_rank(set, row);
    }
    if (node->lives_ms) row->expires_at_ms = due_at_ms + node->lives_ms;
    if (node->delay_ms || node->lives_ms) row->wrote |= PAWL__WROTE_FACTS;
}

/* A paused one goes where it would be when it is resumed. */
static void release_job(struct pawl__set *set, struct pawl__row *row,
                        const struct pawl__flow_node *node)
{
    if (!row || !is_held_back(row)) return;
    pawl__row_save(set, row);
    set_due(set, row, node);
    bool waits = row->due_at_ms > set->now_ms;
    const enum pawl_event event[] = { waits ? PAWL_EVENT_SNOOZE : PAWL_EVENT_ACTIVATE };
    if (row->state == PAWL_STATE_PAUSED) {
        row->paused_from = waits ? PAWL_STATE_SCHEDULED : PAWL_STATE_AVAILABLE;
        row->wrote |= PAWL__WROTE_STAND;
        return;
    }
    enum pawl_err err = pawl__row_move(set, row, event, 1, &(struct pawl__target){ 0 });
    assert(!err);
    (void)err;
}

static void open_group(struct pawl__set *set, const struct books *books)
{
    const struct pawl__flow_node *node = &books->node->row.flow_node;
    for (const struct pawl__record *edge = books->edges->first; edge; edge = edge->next) {
        const struct pawl__flow_edge *row = &edge->row.flow_edge;
        const struct pawl__record *child = node_of(set, row->flow, row->child);
        if (row->on == PAWL__FLOW_ON_MEMBER && child) note_look(set, &child->row.flow_node);
    }
    if (books->members && is_over(books->members)) note(set, node, PAWL_STATE_COMPLETED);
}

static void release(struct pawl__set *set, struct books *books)
{
    struct pawl__flow_node *node = &books->node->row.flow_node;
    node->state = PAWL_STATE_ACTIVE;
    books->node->changed = true;
    switch (node->kind) {
    case PAWL_FLOW_KIND_JOB:
        release_job(set, pawl__set_find(set, node->id), node);
        break;
    case PAWL_FLOW_KIND_GROUP:
        open_group(set, books);
        break;
    default: // it takes no worker
        note(set, node, PAWL_STATE_COMPLETED);
        break;
    }
}

static const struct {
    enum pawl_event event;
    enum pawl_state state;
} ends[] = {
    [PAWL__FLOW_SKIP] = { PAWL_EVENT_SKIP, PAWL_STATE_SKIPPED },
    [PAWL__FLOW_CANCEL] = { PAWL_EVENT_CANCEL, PAWL_STATE_CANCELLED },
    [PAWL__FLOW_FAIL] = { PAWL_EVENT_FAIL_PARENT, PAWL_STATE_DISCARDED },
};

/* The move is an end, which is followed up in the next round. */
static void give_up_job(struct pawl__set *set, struct pawl__row *row, struct decision decision)
{
    if (!row || !is_held_back(row)) return;
    const enum pawl_event events[] = { PAWL_EVENT_RESUME, ends[decision.step].event };
    bool paused = row->state == PAWL_STATE_PAUSED;
    struct pawl__target target = { .reason = decision.reason,
                                   .dead_letter = decision.step == PAWL__FLOW_FAIL };
    enum pawl_err err =
        pawl__row_move(set, row, paused ? events : &events[1], paused ? 2 : 1, &target);
    assert(!err);
    (void)err;
}

static void give_up(struct pawl__set *set, struct books *books, struct decision decision)
{
    struct pawl__flow_node *node = &books->node->row.flow_node;
    node->given_up = 1;
    books->node->changed = true;
    if (node->kind == PAWL_FLOW_KIND_JOB) {
        give_up_job(set, pawl__set_find(set, node->id), decision);
        return;
    }
    node->reason = decision.reason;
    note(set, node, ends[decision.step].state);
}

static void look(struct pawl__set *set, struct books *books)
{
    if (books->node->row.flow_node.state != PAWL_STATE_PENDING) return; // it was decided before
    struct decision decision = decide(books);
    if (decision.step == PAWL__FLOW_WAIT) return;
    if (decision.step == PAWL__FLOW_RUN) release(set, books);
    if (decision.step != PAWL__FLOW_RUN) give_up(set, books, decision);
}

/* ---- the rule ---- */

static bool is_whole(const struct books *books)
{
    if (!books->flow || !books->node || !books->all || !books->work || !books->group) return false;
    return books->above || !books->node->row.flow_node.group;
}

static bool follow_flow(struct pawl__set *set, entry *about)
{
    struct books books;
    want_flow(set, about);
    if (set->failed || pawl__set_lacks(set)) return true;
    find_books(set, about, &books);
    if (pawl__set_lacks(set) || !is_whole(&books)) return true;
    if (is_look(about)) {
        look(set, &books);
        return true;
    }
    enum pawl_state ended = end_of(set, about, &books.node->row.flow_node);
    if (ended != PAWL_STATE_NONE && books.edges) end_node(set, &books, ended);
    return true;
}

const struct pawl__tie pawl__tie_FLOW = { .concerns = concerns,
                                          .want = want_flow,
                                          .follow = follow_flow };

/* ---- what operators may do to members ---- */

bool pawl__flow_keeps(struct pawl__set *set, const struct pawl__row *row)
{
    if (!(row->ties & PAWL__TIE_FLOW)) return false;
    const struct pawl__record *member = found(pawl__set_want_record(
        set, PAWL__RECORD_FLOW_MEMBER, &(struct pawl__flow_member){ .id = row->id }));
    if (!member) return false;
    const struct pawl__record *flow = found(pawl__set_want_record(
        set, PAWL__RECORD_FLOW, &(struct pawl__flow){ .id = member->row.flow_member.flow }));
    return flow && !flow->row.flow.finished_at_ms;
}

enum pawl_err pawl__flow_allows(const struct pawl__row *row, enum pawl_control control,
                                struct pawl_diag *diag)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    bool is_node = row->ties & PAWL__TIE_FLOW;
    bool waits = row->state == PAWL_STATE_PENDING && !row->lease_until_ms;
    pawl_job_id_text(row->id, text);
    if (is_node && waits && control == PAWL_CONTROL_ACTIVATE) {
        return pawl__fail(diag, PAWL_ERR_STATE,
                          "job \"%s\" waits for other nodes of its flow: it cannot be activated",
                          text);
    }
    if (is_node && row->has_end && control == PAWL_CONTROL_RETRY) {
        return pawl__fail(diag, PAWL_ERR_STATE,
                          "job \"%s\" is a node of a flow: nodes cannot be retried yet", text);
    }
    return PAWL_OK;
}

/* ---- a new flow ---- */

/* Nothing ends that would tell these: control nodes that wait for nobody, and groups without
 * members. */
static void look_at_new(struct pawl__set *set, const struct pawl__new_flow *flow)
{
    for (size_t i = 0; i < flow->node_count; i++) {
        const struct pawl__flow_node *node = &flow->nodes[i];
        bool waits = node->state == PAWL_STATE_PENDING && !node->pending;
        if (node->kind != PAWL_FLOW_KIND_JOB && waits) note_look(set, node);
    }
    for (size_t i = 0; i < flow->group_count; i++) {
        const struct pawl__flow_group *group = &flow->groups[i];
        bool empty = group->no > 0 && !group->open_ended && !group->tally.total;
        if (!empty) continue;
        const struct pawl__flow_node *node = &flow->nodes[group->no - 1];
        if (node->state == PAWL_STATE_ACTIVE) note(set, node, PAWL_STATE_COMPLETED);
    }
}

void pawl__flow_add(struct pawl__set *set, const struct pawl__new_flow *flow)
{
    struct pawl__flow row = flow->row;
    row.created_at_ms = set->now_ms;
    pawl__set_record_new(set, PAWL__RECORD_FLOW, &row);
    for (size_t i = 0; i < flow->group_count; i++) {
        pawl__set_record_new(set, PAWL__RECORD_FLOW_GROUP, &flow->groups[i]);
    }
    for (size_t i = 0; i < flow->node_count; i++) {
        const struct pawl__flow_node *node = &flow->nodes[i];
        pawl__set_record_new(set, PAWL__RECORD_FLOW_NODE, node);
        pawl__set_record_new(set, PAWL__RECORD_FLOW_MEMBER,
                             &(struct pawl__flow_member){ node->id, node->flow, node->no });
    }
    for (size_t i = 0; i < flow->edge_count; i++) {
        pawl__set_record_new(set, PAWL__RECORD_FLOW_EDGE, &flow->edges[i]);
    }
    look_at_new(set, flow);
}
