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
    out->at = pawl__arena_calloc(owned, rows.flows_count + 1, sizeof *out->at);
    if (!out->at) return pawl__fail_nomem(diag);
    for (; out->count < rows.flows_count; out->count++) {
        out->at[out->count] = view_flow(&rows, &rows.flows[out->count]);
    }
    return PAWL_OK;
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
    bool full = !one && (int64_t)found.count == ask->limit;
    if (full) pawl_job_id_text(found.at[found.count - 1].id, found.next);
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
                                   .reason = row->reason,
                                   .result = row->result };
    if (group) view.members = counts_of(&group->tally);
    return view;
}

/* The job knows better. One that was deleted is shown as it was counted. */
static void add_job(struct pawl_flow_view *view, const struct pawl_job *job)
{
    view->state = job->state;
    view->started_at_ms = job->started_at_ms;
    view->finished_at_ms = job->finished_at_ms;
    view->type = job->type;
    view->queue = job->queue;
    view->reason = job->reason;
    view->result = job->result;
}

/* Jobs come in the order in which they are asked for, without those that are not there. */
static enum pawl_err add_jobs(struct pawl *pawl, struct pawl_flow_view *views, size_t count,
                              struct pawl__arena *owned, struct pawl_diag *diag)
{
    struct pawl_job_id *ids = pawl__arena_alloc(owned, (count + 1) * sizeof *ids);
    size_t wanted = 0, found = 0, at = 0;
    struct pawl_job *jobs;
    if (!ids) return pawl__fail_nomem(diag);
    for (size_t i = 0; i < count; i++) {
        if (views[i].kind == PAWL_FLOW_KIND_JOB) ids[wanted++] = views[i].id;
    }
    if (!wanted) return PAWL_OK;
    enum pawl_err err = pawl__store_get(pawl->store, ids, wanted, owned, &jobs, &found, diag);
    for (size_t i = 0; !err && i < count && at < found; i++) {
        if (views[i].kind == PAWL_FLOW_KIND_JOB && same(views[i].id, jobs[at].id)) {
            add_job(&views[i], &jobs[at++]);
        }
    }
    return err;
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

static enum pawl_err read_nodes(struct pawl *pawl, struct pawl_job_id flow,
                                struct pawl__arena *owned, struct pawl_flow_nodes *out,
                                struct pawl_diag *diag)
{
    struct pawl__flow_rows rows;
    const struct pawl__flow_ask ask = { PAWL__FLOW_ASK_NODES, .id = flow };
    enum pawl_err err = pawl__store_flows(pawl->store, &ask, owned, &rows, diag);
    if (err) return err;
    if (!rows.nodes_count) return refuse_unknown(flow, "flow", diag);
    out->at = pawl__arena_calloc(owned, rows.nodes_count, sizeof *out->at);
    out->edges = pawl__arena_calloc(owned, rows.edges_count + 1, sizeof *out->edges);
    if (!out->at || !out->edges) return pawl__fail_nomem(diag);
    for (; out->count < rows.nodes_count; out->count++) {
        out->at[out->count] = view_node(&rows, &rows.nodes[out->count]);
    }
    for (size_t i = 0; i < rows.edges_count; i++) {
        if (rows.edges[i].on == PAWL__FLOW_ON_MEMBER) continue;
        out->edges[out->edge_count++] = view_edge(&rows.edges[i]);
    }
    return add_jobs(pawl, out->at, out->count, owned, diag);
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

/* All or none: a list that was cut would look like a whole one. */
static void fill_inputs(struct pawl_flow_inputs *out, const struct pawl_flow_view *views)
{
    static const struct pawl_span none = { "null", 4 };
    int64_t bytes = 0;
    for (size_t i = 0; i < out->count; i++) {
        bool completed = views[i].state == PAWL_STATE_COMPLETED && views[i].result.len;
        bytes += completed ? (int64_t)views[i].result.len : 0;
        out->at[i] = (struct pawl_flow_input){ .name = views[i].name,
                                               .id = views[i].id,
                                               .state = views[i].state,
                                               .result = completed ? views[i].result : none };
    }
    if (bytes <= PAWL_FLOW_RESULTS_BYTES_MAX) return;
    out->omitted_bytes = bytes;
    for (size_t i = 0; i < out->count; i++) {
        out->at[i].result = none;
    }
}

static enum pawl_err read_inputs(struct pawl *pawl, struct pawl_job_id job,
                                 struct pawl__arena *owned, struct pawl_flow_inputs *out,
                                 struct pawl_diag *diag)
{
    struct pawl__flow_rows rows;
    const struct pawl__flow_ask ask = { PAWL__FLOW_ASK_PARENTS, .id = job };
    enum pawl_err err = pawl__store_flows(pawl->store, &ask, owned, &rows, diag);
    if (err) return err;
    if (!rows.own_count) return refuse_unknown(job, "member of a flow", diag);
    size_t count = rows.nodes_count;
    struct pawl_flow_view *views = pawl__arena_calloc(owned, count + 1, sizeof *views);
    *out = (struct pawl_flow_inputs){ .flow = rows.own->flow,
                                      .node = rows.own->name,
                                      .at = pawl__arena_calloc(owned, count + 1, sizeof *out->at),
                                      .count = count };
    if (!views || !out->at) return pawl__fail_nomem(diag);
    for (size_t i = 0; i < count; i++) {
        views[i] = view_node(&rows, &rows.nodes[i]);
    }
    err = add_jobs(pawl, views, count, owned, diag);
    if (!err) fill_inputs(out, views);
    return err;
}

enum pawl_err pawl_flow_inputs_get(struct pawl *pawl, struct pawl_job_id job,
                                   struct pawl_flow_inputs *out, struct pawl_diag *diag)
{
    assert(pawl && out);
    struct pawl_flow_inputs found = { .at = NULL };
    struct pawl__arena *owned = pawl__owned_new();
    if (!owned) return pawl__fail_nomem(diag);
    enum pawl_err err = read_inputs(pawl, job, owned, &found, diag);
    if (err) {
        pawl__owned_free(owned);
        return err;
    }
    found.owned = owned;
    *out = found;
    return PAWL_OK;
}

void pawl_flow_inputs_release(struct pawl_flow_inputs *inputs)
{
    if (!inputs) return;
    pawl__owned_free(inputs->owned);
    *inputs = (struct pawl_flow_inputs){ .at = NULL };
}
