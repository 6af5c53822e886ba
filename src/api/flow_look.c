/* Reading flows. Nodes are read as rows of the flow, their jobs as any others, and the two are put
 * together here. */
#include "api/api.h"
#include "api/filter.h"
#include "base/check.h"
#include "base/diag.h"
#include "flow/flow.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- counts ---- */

int pawl_flow_percent(const struct pawl_flow_counts *counts)
{
    if (!counts->total) return 100;
    return (int)((counts->total - counts->open) * 100 / counts->total);
}

double pawl_flow_success_rate(const struct pawl_flow_counts *counts)
{
    int64_t ran = counts->total - counts->open - counts->skipped;
    return ran ? (double)counts->completed / (double)ran : 1.0;
}

static struct pawl_flow_counts counts_of(const struct pawl__flow_tally *tally)
{
    return (struct pawl_flow_counts){ .total = tally->total,
                                      .open = pawl__flow_open(tally),
                                      .completed = tally->completed,
                                      .skipped = tally->skipped,
                                      .failed = tally->failed,
                                      .cancelled = tally->cancelled };
}

static bool same(struct pawl_job_id a, struct pawl_job_id b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static const struct pawl__flow_group *find_group(const struct pawl__flow_rows *rows,
                                                 struct pawl_job_id flow, int32_t no)
{
    for (size_t i = 0; i < rows->groups_count; i++) {
        if (rows->groups[i].no == no && same(rows->groups[i].flow, flow)) return &rows->groups[i];
    }
    return NULL;
}

/* ---- flows ---- */

static struct pawl_flow view_flow(const struct pawl__flow_rows *rows, const struct pawl__flow *row)
{
    const struct pawl__flow_group *all = find_group(rows, row->id, PAWL__FLOW_ALL);
    const struct pawl__flow_group *work = find_group(rows, row->id, PAWL__FLOW_WORK);
    struct pawl_flow flow = { .id = row->id,
                              .name = row->name,
                              .layout = row->layout,
                              .meta = row->meta,
                              .state = (enum pawl_flow_state)row->state,
                              .sealed = !all || !all->open_ended,
                              .created_at_ms = row->created_at_ms,
                              .finished_at_ms = row->finished_at_ms,
                              .deadline_at_ms = row->deadline_at_ms,
                              .paused = row->paused,
                              .reopened = row->reopened,
                              .reason = row->reason };
    if (all) flow.members = counts_of(&all->tally);
    if (work) flow.jobs = counts_of(&work->tally);
    return flow;
}

static enum pawl_err refuse_unknown(struct pawl_job_id id, const char *what, struct pawl_diag *diag)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    return pawl__fail(diag, PAWL_ERR_NOT_FOUND, "there is no %s \"%s\"", what, text);
}

static enum pawl_err read_flows(struct pawl *pawl, const struct pawl__flow_ask *ask,
                                struct pawl__arena *owned, struct pawl_flows *out,
                                struct pawl_diag *diag)
{
    struct pawl__flow_rows rows;
    enum pawl_err err = pawl__store_flows(pawl->store, ask, owned, &rows, diag);
    if (err) return err;
    if (rows.seen) {
        *out = rows.seen->flows;
        return PAWL_OK;
    }
    out->at = pawl__arena_calloc(owned, rows.flows_count + 1, sizeof *out->at);
    if (!out->at) return pawl__fail_nomem(diag);
    for (; out->count < rows.flows_count; out->count++) {
        out->at[out->count] = view_flow(&rows, &rows.flows[out->count]);
    }
    return PAWL_OK;
}

/* A page ends with its limit, or before it is too long; but it has one flow at least. */
static void end_page(struct pawl_flows *page, const struct pawl__flow_ask *ask)
{
    int64_t bytes = 0;
    size_t count = 0;
    for (; count < page->count; count++) {
        const struct pawl_flow *flow = &page->at[count];
        bytes += (int64_t)(sizeof *flow + flow->meta.len + strlen(flow->name));
        if (count && ask->bytes_max && bytes > ask->bytes_max) break;
    }
    bool cut = count < page->count || (int64_t)count == ask->limit;
    page->count = count;
    if (cut) pawl_job_id_text(page->at[count - 1].id, page->next);
}

/* `*out` is written on success alone. */
static enum pawl_err look_at_flows(struct pawl *pawl, const struct pawl__flow_ask *ask,
                                   struct pawl_flows *out, struct pawl_diag *diag)
{
    struct pawl_flows found = { .at = NULL };
    struct pawl__arena *owned = pawl__owned_new();
    if (!owned) return pawl__fail_nomem(diag);
    enum pawl_err err = read_flows(pawl, ask, owned, &found, diag);
    bool one = ask->what == PAWL__FLOW_ASK_ONE;
    if (!err && one && !found.count) err = refuse_unknown(ask->id, "flow", diag);
    if (err) {
        pawl__owned_free(owned);
        return err;
    }
    if (!one) end_page(&found, ask);
    found.owned = owned;
    *out = found;
    return PAWL_OK;
}

enum pawl_err pawl_flow_get(struct pawl *pawl, struct pawl_job_id flow, struct pawl_flows *out,
                            struct pawl_diag *diag)
{
    assert(pawl && out);
    return look_at_flows(pawl, &(struct pawl__flow_ask){ PAWL__FLOW_ASK_ONE, .id = flow }, out,
                         diag);
}

enum pawl_err pawl_flow_list(struct pawl *pawl, const struct pawl_flow_filter *filter,
                             const struct pawl_page *page, struct pawl_flows *out,
                             struct pawl_diag *diag)
{
    assert(pawl && out);
    struct pawl_page full;
    struct pawl__flow_ask ask = { PAWL__FLOW_ASK_LIST };
    memset(&ask.id, 0xff, sizeof ask.id); // all are less
    enum pawl_err err = pawl__page_complete(page, &full, diag);
    if (err) return err;
    if (full.cursor && *full.cursor && pawl_job_id_parse(full.cursor, &ask.id)) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "cursor", "the cursor is not one of ours");
    }
    if (filter && filter->state >= PAWL_FLOW_STATE_END) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "state", "there is no such state of flows");
    }
    ask.limit = full.limit;
    ask.bytes_max = full.bytes_max;
    ask.state = filter ? filter->state : PAWL_FLOW_NONE;
    ask.name = filter ? filter->name : NULL;
    return look_at_flows(pawl, &ask, out, diag);
}

void pawl_flows_release(struct pawl_flows *flows)
{
    if (!flows) return;
    pawl__owned_free(flows->owned);
    *flows = (struct pawl_flows){ .at = NULL };
}

/* ---- nodes ---- */

static struct pawl_flow_view view_node(const struct pawl__flow_rows *rows,
                                       const struct pawl__flow_node *row)
{
    const struct pawl__flow_group *group = find_group(rows, row->flow, row->no);
    struct pawl_flow_view view = { .number = row->no,
                                   .id = row->id,
                                   .name = row->name,
                                   .kind = (enum pawl_flow_kind)row->kind,
                                   .group = row->group,
                                   .join = (enum pawl_flow_join)row->join,
                                   .n = row->n,
                                   .on_parent_failure = (enum pawl_flow_parent)row->parent,
                                   .select = (enum pawl_flow_select)row->select,
                                   .may_fail = row->traits & PAWL__FLOW_MAY_FAIL,
                                   .callback = row->traits & PAWL__FLOW_CALLBACK,
                                   .state = (enum pawl_state)row->state,
                                   .pending = row->pending,
                                   .good = row->good,
                                   .dead = row->dead,
                                   .broken = row->broken,
                                   .finished_at_ms = row->finished_at_ms,
                                   .type = "",
                                   .queue = "",
                                   .signal_key = "",
                                   .reason = row->reason,
                                   .result = row->result };
    if (group) view.members = counts_of(&group->tally);
    return view;
}

/* Results that are copied, up to a limit: then there are none, since a list of some would look like
 * that of all. */
struct results {
    struct pawl__arena *owned;
    int64_t bytes, bytes_max;
    bool failed; /* no memory */
};

static const char *keep_text(struct results *results, const char *text)
{
    const char *copy = pawl__arena_dup(results->owned, text, strlen(text));
    if (!copy) results->failed = true;
    return copy ? copy : "";
}

static struct pawl_span keep_result(struct results *results, struct pawl_span result)
{
    results->bytes += (int64_t)result.len;
    if (!result.len || results->bytes > results->bytes_max) return (struct pawl_span){ "", 0 };
    const char *copy = pawl__arena_dup(results->owned, result.at, result.len);
    if (!copy) results->failed = true;
    return (struct pawl_span){ copy ? copy : "", copy ? result.len : 0 };
}

/* The job knows better. One that was deleted is shown as it was counted. */
static void add_job(struct pawl_flow_view *view, const struct pawl_job *job,
                    struct results *results)
{
    view->state = job->state;
    view->started_at_ms = job->started_at_ms;
    view->finished_at_ms = job->finished_at_ms;
    view->type = keep_text(results, job->type);
    view->queue = keep_text(results, job->queue);
    view->reason = keep_text(results, job->reason);
    view->result = keep_result(results, job->result);
}

static int64_t job_bytes(const struct pawl_job *job)
{
    return (int64_t)(sizeof *job + job->args.len + job->meta.len + job->result.len);
}

/* So many jobs are read at once, with all that they have; fewer when they are long. */
enum { SLICE_FIRST = 64, SLICE_MAX = 1024, SLICE_BYTES = 4 << 20 };

/* The jobs of `views`, each of which is one. Jobs come in the order in which they are asked for,
 * without those that are not there. `*bytes` is how long they are. */
static enum pawl_err add_slice(struct pawl *pawl, struct pawl_flow_view *const *views, size_t count,
                               struct results *results, int64_t *bytes, struct pawl_diag *diag)
{
    struct pawl_job_id ids[SLICE_MAX];
    struct pawl__arena scratch = { .chunks = NULL };
    size_t found = 0, at = 0;
    struct pawl_job *jobs;
    assert(count >= 1 && count <= SLICE_MAX);
    for (size_t i = 0; i < count; i++) {
        ids[i] = views[i]->id;
    }
    enum pawl_err err = pawl__store_get(pawl->store, ids, count, &scratch, &jobs, &found, diag);
    for (size_t i = 0; !err && i < count && at < found; i++) {
        if (!same(views[i]->id, jobs[at].id)) continue;
        *bytes += job_bytes(&jobs[at]);
        add_job(views[i], &jobs[at++], results);
    }
    pawl__arena_release(&scratch);
    return err;
}

static enum pawl_err add_slices(struct pawl *pawl, struct pawl_flow_view *const *views,
                                size_t count, struct results *results, struct pawl_diag *diag)
{
    size_t slice = SLICE_FIRST, next;
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < count; i = next) {
        int64_t bytes = 0;
        next = count - i > slice ? i + slice : count;
        err = add_slice(pawl, &views[i], next - i, results, &bytes, diag);
        if (bytes > SLICE_BYTES && slice > 1) slice /= 2;
        if (bytes < SLICE_BYTES / 4 && slice < SLICE_MAX) slice *= 2;
    }
    if (!err && results->failed) err = pawl__fail_nomem(diag);
    return err;
}

static enum pawl_err add_jobs(struct pawl *pawl, struct pawl_flow_view *views, size_t count,
                              struct results *results, struct pawl_diag *diag)
{
    struct pawl_flow_view **jobs =
        pawl__arena_alloc(results->owned, (count + 1) * sizeof(struct pawl_flow_view *));
    size_t job_count = 0;
    if (!jobs) return pawl__fail_nomem(diag);
    for (size_t i = 0; i < count; i++) {
        if (views[i].kind == PAWL_FLOW_KIND_JOB)
            jobs[job_count++] = &views[i];
        else
            results->bytes += (int64_t)views[i].result.len;
    }
    enum pawl_err err = add_slices(pawl, jobs, job_count, results, diag);
    for (size_t i = 0; results->bytes > results->bytes_max && i < count; i++) {
        views[i].result = (struct pawl_span){ "", 0 };
    }
    return err;
}

/* Nodes are numbered from 1 on, without gaps. */
static void add_signals(struct pawl_flow_view *views, size_t count,
                        const struct pawl__flow_rows *rows)
{
    for (size_t i = 0; i < rows->signals_count; i++) {
        const struct pawl__flow_signal *signal = &rows->signals[i];
        if (signal->no < 1 || (size_t)signal->no > count) continue;
        views[signal->no - 1].signal_key = signal->key;
        views[signal->no - 1].until_ms = signal->until_ms;
    }
}

static struct pawl_flow_arc view_edge(const struct pawl__flow_edge *row)
{
    return (struct pawl_flow_arc){ .parent = row->parent,
                                   .child = row->child,
                                   .on = (enum pawl_flow_on)row->on,
                                   .arm = row->arm,
                                   .otherwise = row->otherwise,
                                   .when = row->when,
                                   .label = row->label,
                                   .reason = row->reason,
                                   .verdict = row->verdict };
}

/* One that grows may have no nodes yet. */
static bool is_flow(struct pawl *pawl, struct pawl_job_id id, struct pawl__arena *owned)
{
    struct pawl__flow_rows rows;
    const struct pawl__flow_ask ask = { PAWL__FLOW_ASK_ONE, .id = id };
    return !pawl__store_flows(pawl->store, &ask, owned, &rows, NULL) && rows.flows_count;
}

static enum pawl_err read_nodes(struct pawl *pawl, struct pawl_job_id flow,
                                struct pawl__arena *owned, struct pawl_flow_nodes *out,
                                struct pawl_diag *diag)
{
    struct pawl__flow_rows rows;
    const struct pawl__flow_ask ask = { PAWL__FLOW_ASK_NODES, .id = flow };
    enum pawl_err err = pawl__store_flows(pawl->store, &ask, owned, &rows, diag);
    if (err) return err;
    if (rows.seen) {
        *out = rows.seen->nodes;
        return PAWL_OK;
    }
    if (!rows.nodes_count && !is_flow(pawl, flow, owned)) return refuse_unknown(flow, "flow", diag);
    out->at = pawl__arena_calloc(owned, rows.nodes_count + 1, sizeof *out->at);
    out->edges = pawl__arena_calloc(owned, rows.edges_count + 1, sizeof *out->edges);
    if (!out->at || !out->edges) return pawl__fail_nomem(diag);
    for (; out->count < rows.nodes_count; out->count++) {
        out->at[out->count] = view_node(&rows, &rows.nodes[out->count]);
    }
    add_signals(out->at, out->count, &rows);
    for (size_t i = 0; i < rows.edges_count; i++) {
        if (rows.edges[i].on == PAWL__FLOW_ON_MEMBER) continue;
        out->edges[out->edge_count++] = view_edge(&rows.edges[i]);
    }
    struct results results = { owned, .bytes_max = PAWL_FLOW_NODES_BYTES_MAX };
    err = add_jobs(pawl, out->at, out->count, &results, diag);
    if (results.bytes > results.bytes_max) out->omitted_bytes = results.bytes;
    return err;
}

enum pawl_err pawl_flow_nodes_get(struct pawl *pawl, struct pawl_job_id flow,
                                  struct pawl_flow_nodes *out, struct pawl_diag *diag)
{
    assert(pawl && out);
    struct pawl_flow_nodes found = { .at = NULL };
    struct pawl__arena *owned = pawl__owned_new();
    if (!owned) return pawl__fail_nomem(diag);
    enum pawl_err err = read_nodes(pawl, flow, owned, &found, diag);
    if (err) {
        pawl__owned_free(owned);
        return err;
    }
    found.owned = owned;
    *out = found;
    return PAWL_OK;
}

void pawl_flow_nodes_release(struct pawl_flow_nodes *nodes)
{
    if (!nodes) return;
    pawl__owned_free(nodes->owned);
    *nodes = (struct pawl_flow_nodes){ .at = NULL };
}

/* ---- what parents left ---- */

typedef enum pawl_err inputs_fn(struct pawl__store *store, struct pawl_job_id job,
                                struct pawl__arena *arena, struct pawl_flow_inputs *out,
                                struct pawl_diag *diag);

static enum pawl_err get_inputs(struct pawl *pawl, inputs_fn *read, struct pawl_job_id job,
                                struct pawl_flow_inputs *out, struct pawl_diag *diag)
{
    assert(pawl && out);
    struct pawl_flow_inputs found = { .at = NULL };
    struct pawl__arena *owned = pawl__owned_new();
    if (!owned) return pawl__fail_nomem(diag);
    enum pawl_err err = read(pawl->store, job, owned, &found, diag);
    if (err) {
        pawl__owned_free(owned);
        return err;
    }
    found.owned = owned;
    *out = found;
    return PAWL_OK;
}

enum pawl_err pawl_flow_inputs_get(struct pawl *pawl, struct pawl_job_id job,
                                   struct pawl_flow_inputs *out, struct pawl_diag *diag)
{
    return get_inputs(pawl, pawl__store_inputs, job, out, diag);
}

enum pawl_err pawl_flow_earlier_get(struct pawl *pawl, struct pawl_job_id job,
                                    struct pawl_flow_inputs *out, struct pawl_diag *diag)
{
    return get_inputs(pawl, pawl__store_earlier, job, out, diag);
}

enum pawl_err pawl_flow_of(struct pawl *pawl, struct pawl_job_id job, struct pawl_flow_inputs *out,
                           struct pawl_diag *diag)
{
    return get_inputs(pawl, pawl__store_flow_of, job, out, diag);
}

void pawl_flow_inputs_release(struct pawl_flow_inputs *inputs)
{
    if (!inputs) return;
    pawl__owned_free(inputs->owned);
    *inputs = (struct pawl_flow_inputs){ .at = NULL };
}

bool pawl_flow_has_inputs(const struct pawl_job *job)
{
    return pawl__may_have_inputs(job);
}

const struct pawl_flow_input *pawl_flow_input_find(const struct pawl_flow_inputs *inputs,
                                                   const char *name)
{
    for (size_t i = 0; i < inputs->count; i++) {
        if (strcmp(inputs->at[i].name, name) == 0) return &inputs->at[i];
    }
    return NULL;
}
