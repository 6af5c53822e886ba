/* Flows whose counters are not what they count: see core/doubts.h.
 *
 * Runs on: the committer's thread, inside a transaction, or a reader's. */
#include "store/core/settle.h"
#include "store/memory/memory.h"

#include "base/diag.h"

#include <stdlib.h>
#include <string.h>

/* ---- one flow ---- */

/* What a node or group should say; the node's number is the place, and 0 is the flow. */
struct stand {
    const struct pawl__flow_node *node;
    const struct pawl__mem_job *job;
    struct pawl__flow_tally tally; /* of a group's members */
    int64_t verdicts[PAWL__FLOW_BROKEN + 1];
    bool leads_here; /* an edge, or a group */
    bool misjudged;  /* one of its own edges is */
};

struct look {
    const struct pawl__backend *mem;
    const struct pawl__flow *flow;
    struct stand *stands;
    size_t count;
    struct pawl__flow_tally work;
    struct pawl__arena *arena;
    struct pawl__list found; /* of doubts */
    bool failed;
};

static const struct pawl__mem_row *first_of(const struct look *look, enum pawl__mem_table table,
                                            const void *key)
{
    const struct pawl__mem_row probe = { .shape = &pawl__mem_shapes[table], .data = key };
    return pawl__mem_from(pawl__mem_index_of(look->mem, table, PAWL__MEM_BY_KEY), &probe);
}

static const struct pawl__mem_row *after(const struct look *look, enum pawl__mem_table table,
                                         const struct pawl__mem_row *row)
{
    return pawl__mem_after(pawl__mem_index_of(look->mem, table, PAWL__MEM_BY_KEY), row);
}

/* The id of the flow begins the rows of nodes, groups and edges. */
#define EACH_OF(row, look, name, ...)                                                              \
    for (const struct pawl__mem_row *row = first_of(                                               \
             look, PAWL__MEM_RECORD(name), &(__VA_ARGS__){ .flow = (look)->flow->id, .no = -1 });  \
         row && memcmp(row->data, &(look)->flow->id, sizeof(struct pawl_job_id)) == 0;             \
         row = after(look, PAWL__MEM_RECORD(name), row))

static void find(struct look *look, enum pawl__flow_doubt_kind what, int32_t no,
                 enum pawl_state state, struct pawl_span result)
{
    const struct pawl__flow_doubt doubt = {
        .flow = look->flow->id, .what = what, .no = no, .state = (int32_t)state, .result = result
    };
    struct pawl__list *list = &look->found;
    if (list->count == list->cap) {
        size_t cap = list->cap ? list->cap * 2 : 16;
        struct pawl__flow_doubt *grown = realloc(list->rows, cap * sizeof *grown);
        look->failed |= !grown;
        if (!grown) return;
        list->rows = grown;
        list->cap = cap;
    }
    ((struct pawl__flow_doubt *)list->rows)[list->count++] = doubt;
}

static int64_t *numbers(struct look *look)
{
    return ((struct pawl__flow_doubt *)look->found.rows)[look->found.count - 1].n;
}

static struct stand *stand_of(struct look *look, int32_t no)
{
    return no >= 0 && (size_t)no < look->count ? &look->stands[no] : NULL;
}

static void tally(struct pawl__flow_tally *tally, const struct pawl__flow_node *node)
{
    enum pawl_state state = (enum pawl_state)node->state;
    tally->total++;
    if (!pawl_state_is_terminal(state)) return;
    ++*pawl__flow_place(tally, state);
    tally->grave += !pawl_state_is_successful(state) && !(node->traits & PAWL__FLOW_MAY_FAIL);
}

static void read_nodes(struct look *look)
{
    EACH_OF(row, look, FLOW_NODE, struct pawl__flow_node)
    {
        const struct pawl__flow_node *node = row->data;
        struct stand *stand = stand_of(look, node->no), *group = stand_of(look, node->group);
        if (!stand || !group) continue;
        const struct pawl__mem_row *job = pawl__mem_job_find(look->mem, node->id);
        stand->node = node;
        stand->job = job ? job->data : NULL;
        tally(&group->tally, node);
        bool is_job = node->kind == PAWL_FLOW_KIND_JOB;
        if (is_job && !(node->traits & PAWL__FLOW_CALLBACK)) tally(&look->work, node);
    }
}

/* For a plain edge; of others it is only known that they must be judged. */
static bool is_misjudged(const struct pawl__flow_edge *edge, const struct pawl__flow_node *parent)
{
    struct pawl__flow_way way = { .on = (enum pawl_flow_on)edge->on, .when = true };
    bool plain = (!edge->when || !*edge->when) && !edge->arm && !edge->otherwise;
    if (edge->verdict == PAWL__FLOW_UNJUDGED || !plain) return !edge->verdict;
    pawl__flow_judge((enum pawl_state)parent->state, PAWL_FLOW_SELECT_EACH, &way, 1);
    return (int32_t)way.verdict != edge->verdict;
}

static void read_edges(struct look *look)
{
    const struct pawl__flow_edge key = { .flow = look->flow->id };
    const enum pawl__mem_table table = PAWL__MEM_RECORD(FLOW_EDGE);
    const struct pawl__mem_row *row = first_of(look, table, &key);
    for (; row; row = after(look, table, row)) {
        const struct pawl__flow_edge *edge = row->data;
        if (memcmp(&edge->flow, &look->flow->id, sizeof edge->flow) != 0) break;
        struct stand *parent = stand_of(look, edge->parent), *child = stand_of(look, edge->child);
        if (child) child->leads_here = true;
        if (!parent || !child || edge->on == PAWL__FLOW_ON_MEMBER) continue;
        child->verdicts[edge->verdict]++;
        bool ended = parent->node && pawl_state_is_terminal((enum pawl_state)parent->node->state);
        parent->misjudged |= ended && is_misjudged(edge, parent->node);
    }
}

/* ---- what differs ---- */

static bool is_noted(const struct look *look, struct pawl_job_id id)
{
    PAWL__MEM_EACH(row, look->mem, PAWL__MEM_UNSETTLED, PAWL__MEM_BY_KEY)
    {
        const struct pawl__unsettled *entry = row->data;
        bool same = memcmp(&entry->id, &id, sizeof id) == 0;
        if (same && (entry->ties & PAWL__TIE_FLOW)) return true;
    }
    return false;
}

static void doubt_group(struct look *look, const struct pawl__flow_group *group)
{
    const struct stand *stand = stand_of(look, group->no);
    const struct pawl__flow_tally *is = stand ? &stand->tally : &look->work;
    const struct pawl__flow_tally *said = &group->tally;
    bool same = is->total == said->total && is->completed == said->completed &&
                is->skipped == said->skipped && is->failed == said->failed &&
                is->cancelled == said->cancelled && is->grave == said->grave;
    if (!same) {
        find(look, PAWL__FLOW_DOUBT_GROUP, group->no, PAWL_STATE_NONE, (struct pawl_span){ 0 });
        if (look->failed) return;
        const int64_t n[] = { is->total,  is->completed, is->skipped,
                              is->failed, is->cancelled, is->grave };
        memcpy(numbers(look), n, sizeof n);
    }
    if (!stand || group->open_ended || pawl__flow_open(is)) return;
    const struct pawl__flow_node *node = stand->node;
    bool waits = !group->no || (node && node->state == PAWL_STATE_ACTIVE);
    if (!waits || look->flow->finished_at_ms || (node && is_noted(look, node->id))) return;
    find(look, group->no ? PAWL__FLOW_DOUBT_OVER : PAWL__FLOW_DOUBT_UNFINISHED, group->no,
         PAWL_STATE_NONE, (struct pawl_span){ 0 });
}

static enum pawl_state job_end(const struct pawl__mem_job *job)
{
    if (!job) return PAWL_STATE_NONE;
    enum pawl_state state = job->state == PAWL_STATE_PAUSED ? job->paused_from : job->state;
    return pawl_state_is_terminal(state) ? state : PAWL_STATE_NONE;
}

static void doubt_job(struct look *look, const struct stand *stand)
{
    const struct pawl__flow_node *node = stand->node;
    const struct pawl__mem_job *job = stand->job;
    const struct pawl_span none = { 0 };
    enum pawl_state ended = job_end(job);
    if (pawl_state_is_terminal((enum pawl_state)node->state)) {
        if (job && ended != (enum pawl_state)node->state) {
            find(look, PAWL__FLOW_DOUBT_LIVE, node->no, ended, job->result);
        }
        return;
    }
    if (is_noted(look, node->id)) return;
    enum pawl_state from = job && job->state == PAWL_STATE_PAUSED ? job->paused_from
                                                                  : PAWL_STATE_NONE;
    bool held = job && !job->lease_until_ms &&
                (job->state == PAWL_STATE_PENDING || from == PAWL_STATE_PENDING);
    if (!job) find(look, PAWL__FLOW_DOUBT_GONE, node->no, PAWL_STATE_CANCELLED, none);
    if (ended) find(look, PAWL__FLOW_DOUBT_ENDED, node->no, ended, job->result);
    if (held && stand->leads_here && node->state == PAWL_STATE_ACTIVE) {
        find(look, PAWL__FLOW_DOUBT_UNRELEASED, node->no, PAWL_STATE_NONE, none);
    }
}

static bool is_decided(struct look *look, const struct stand *stand)
{
    const struct pawl__flow_node *node = stand->node;
    const struct stand *above = node->group ? stand_of(look, node->group) : NULL;
    if (above && above->node && above->node->state == PAWL_STATE_PENDING) return false;
    if (above && above->node && above->node->state != PAWL_STATE_ACTIVE) return true;
    if (look->flow->state == PAWL_FLOW_CANCELLED) return true;
    const struct pawl__flow_stand edges = {
        .join = (enum pawl_flow_join)node->join,
        .parent = (enum pawl_flow_parent)node->parent,
        .n = node->n,
        .pending = (int32_t)stand->verdicts[PAWL__FLOW_UNJUDGED],
        .good = (int32_t)stand->verdicts[PAWL__FLOW_GOOD],
        .dead = (int32_t)stand->verdicts[PAWL__FLOW_DEAD],
        .broken = (int32_t)stand->verdicts[PAWL__FLOW_BROKEN],
    };
    return pawl__flow_decide(&edges) != PAWL__FLOW_WAIT;
}

static void doubt_node(struct look *look, const struct stand *stand)
{
    const struct pawl__flow_node *node = stand->node;
    const struct pawl_span none = { 0 };
    const int64_t n[] = { node->pending, node->good, node->dead, node->broken };
    if (memcmp(n, stand->verdicts, sizeof n) != 0) {
        find(look, PAWL__FLOW_DOUBT_EDGES, node->no, PAWL_STATE_NONE, none);
        if (look->failed) return;
        memcpy(numbers(look), stand->verdicts, sizeof n);
    }
    if (stand->misjudged) {
        struct pawl_span result = stand->job ? stand->job->result : node->result;
        find(look, PAWL__FLOW_DOUBT_VERDICT, node->no, (enum pawl_state)node->state, result);
    }
    bool ended = pawl_state_is_terminal((enum pawl_state)node->state);
    if (ended && !node->given_up && pawl__flow_open(&stand->tally)) {
        find(look, PAWL__FLOW_DOUBT_LIVE, node->no, PAWL_STATE_NONE, none);
    }
    if (node->kind == PAWL_FLOW_KIND_JOB) doubt_job(look, stand);
    bool waits = node->state == PAWL_STATE_PENDING && is_decided(look, stand);
    bool passes = node->kind == PAWL_FLOW_KIND_BRANCH || node->kind == PAWL_FLOW_KIND_JOIN;
    bool stuck = passes && node->state == PAWL_STATE_ACTIVE;
    if ((!waits && !stuck) || is_noted(look, node->id)) return;
    if (waits) find(look, PAWL__FLOW_DOUBT_DECIDED, node->no, PAWL_STATE_NONE, none);
    if (stuck) find(look, PAWL__FLOW_DOUBT_STUCK, node->no, PAWL_STATE_COMPLETED, node->result);
}

static void doubt_flow(struct look *look, const struct pawl__flow *flow)
{
    look->flow = flow;
    look->count = (size_t)flow->nodes + 1;
    look->work = (struct pawl__flow_tally){ 0 };
    look->stands = pawl__arena_calloc(look->arena, look->count, sizeof *look->stands);
    look->failed |= !look->stands;
    if (look->failed) return;
    read_nodes(look);
    read_edges(look);
    EACH_OF(row, look, FLOW_GROUP, struct pawl__flow_group) doubt_group(look, row->data);
    for (size_t i = 1; i < look->count; i++) {
        if (look->stands[i].node) doubt_node(look, &look->stands[i]);
    }
    bool open = pawl__flow_open(&look->stands->tally) != 0;
    if (flow->finished_at_ms && open) {
        find(look, PAWL__FLOW_DOUBT_OPEN, 0, PAWL_STATE_NONE, (struct pawl_span){ 0 });
    }
}

static int by_kind(const void *a, const void *b)
{
    const struct pawl__flow_doubt *left = a, *right = b;
    return left->what < right->what ? -1 : left->what > right->what;
}

static bool give(struct look *look, int64_t limit, pawl__flow_doubt_fn *found, void *ctx)
{
    struct pawl__flow_doubt *doubts = look->found.rows;
    size_t count = look->found.count;
    if (count) qsort(doubts, count, sizeof *doubts, by_kind);
    for (size_t i = 0; i < count && (int64_t)i < limit; i++) {
        found(ctx, &doubts[i]);
    }
    free(doubts);
    return !look->failed;
}

/* ---- what the core and the check ask ---- */

enum pawl_err pawl__mem_scan_flows(struct pawl__backend *mem, int64_t limit)
{
    PAWL__MEM_EACH(row, mem, PAWL__MEM_RECORD(FLOW), PAWL__MEM_BY_KEY)
    {
        const struct pawl__flow *flow = row->data;
        bool due = flow->recount_at_ms && flow->recount_at_ms <= mem->set.now_ms;
        if (limit == 0) break;
        if (!due) continue;
        (void)pawl__set_record_loaded(&mem->set, PAWL__RECORD_FLOW, flow);
        limit--;
    }
    return PAWL_OK;
}

enum pawl_err pawl__mem_next_flow(struct pawl__backend *mem, int64_t *at_ms)
{
    *at_ms = 0;
    PAWL__MEM_EACH(row, mem, PAWL__MEM_RECORD(FLOW), PAWL__MEM_BY_KEY)
    {
        int64_t due_ms = ((const struct pawl__flow *)row->data)->recount_at_ms;
        if (due_ms && (!*at_ms || due_ms < *at_ms)) *at_ms = due_ms;
    }
    return PAWL_OK;
}

enum pawl_err pawl__mem_flow_doubts(struct pawl__backend *mem, int64_t until_ms, int64_t limit,
                                    pawl__flow_doubt_fn *found, void *ctx)
{
    struct look look = { .mem = mem, .arena = &mem->set.arena };
    PAWL__MEM_EACH(row, mem, PAWL__MEM_RECORD(FLOW), PAWL__MEM_BY_KEY)
    {
        const struct pawl__flow *flow = row->data;
        if (flow->recount_at_ms && flow->recount_at_ms <= until_ms) doubt_flow(&look, flow);
    }
    return give(&look, limit, found, ctx) ? PAWL_OK : pawl__fail_nomem(mem->set.diag);
}

static int by_end(const void *a, const void *b)
{
    const struct pawl__flow *const *left = a, *const *right = b;
    int64_t first = (*left)->finished_at_ms, second = (*right)->finished_at_ms;
    return first < second ? -1 : first > second;
}

static bool is_wanted(const struct pawl__flow *flow, const struct pawl__ended *what)
{
    int64_t end_ms = flow->finished_at_ms;
    bool archived = flow->shelved >= flow->nodes;
    bool kept = what->archived && flow->keep_ms && end_ms + flow->keep_ms > what->kept_until_ms;
    bool then = end_ms && end_ms > what->after_ms && end_ms < what->before_ms;
    return then && archived == what->archived && !kept;
}

enum pawl_err pawl__mem_scan_ended_flows(struct pawl__backend *mem, const struct pawl__ended *what)
{
    const struct pawl__flow **found;
    size_t count = 0;
    PAWL__MEM_EACH(row, mem, PAWL__MEM_RECORD(FLOW), PAWL__MEM_BY_KEY) count++;
    found = pawl__arena_alloc(&mem->set.arena, (count + 1) * sizeof(const struct pawl__flow *));
    if (!found) return pawl__fail_nomem(mem->set.diag);
    count = 0;
    PAWL__MEM_EACH(row, mem, PAWL__MEM_RECORD(FLOW), PAWL__MEM_BY_KEY)
    {
        if (is_wanted(row->data, what)) found[count++] = row->data;
    }
    if (count) qsort(found, count, sizeof(const struct pawl__flow *), by_end);
    for (size_t i = 0; i < count && (int64_t)i < what->limit; i++) {
        (void)pawl__set_record_loaded(&mem->set, PAWL__RECORD_FLOW, found[i]);
    }
    return PAWL_OK;
}

bool pawl__mem_check_flows(const struct pawl__backend *mem, pawl__flow_doubt_fn *found, void *ctx)
{
    struct pawl__arena scratch = { 0 };
    struct look look = { .mem = mem, .arena = &scratch };
    PAWL__MEM_EACH(row, mem, PAWL__MEM_RECORD(FLOW), PAWL__MEM_BY_KEY)
    {
        const struct pawl__flow *flow = row->data;
        if (flow->shelved <= flow->nodes) doubt_flow(&look, flow);
    }
    bool ok = give(&look, INT64_MAX, found, ctx);
    pawl__arena_release(&scratch);
    return ok;
}
