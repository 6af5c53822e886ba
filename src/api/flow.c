/* Submitting flows. Names become numbers (src/flow/plan.h), jobs are checked as any others, and all
 * of it is one operation. */
#include "api/api.h"
#include "api/check.h"
#include "api/claim.h"
#include "api/submit.h"
#include "base/diag.h"
#include "flow/flow.h"

#include <assert.h>
#include <string.h>

/* ---- what cannot be done yet, and what cannot be a flow ---- */

static enum pawl_err refuse(const struct pawl_flow_node *node, const char *field, const char *what,
                            struct pawl_diag *diag)
{
    return pawl__fail_field(diag, PAWL_ERR_UNSUPPORTED, field, "node \"%s\": %s not supported yet",
                            node->name, what);
}

/* A flow cannot borrow the job of somebody else. */
static enum pawl_err refuse_borrowed(const struct pawl_flow_node *node, const char *field,
                                     struct pawl_diag *diag)
{
    return pawl__fail_field(diag, PAWL_ERR_ARG, field,
                            "node \"%s\": another job cannot take its place", node->name);
}

static enum pawl_err check_built(const struct pawl_flow_node *node, struct pawl_diag *diag)
{
    if (node->job.idempotency_key) {
        return refuse_borrowed(node, "idempotency_key", diag);
    }
    if (node->job.unique.on_conflict == PAWL_CONFLICT_IGNORE) {
        return refuse_borrowed(node, "unique", diag);
    }
    if (node->unsealed) return refuse(node, "unsealed", "groups that grow are", diag);
    if (node->abort_failures || node->abort_share != 0) {
        return refuse(node, "abort_failures", "limits of failures are", diag);
    }
    return PAWL_OK;
}

/* A member of a node that the text names. */
static enum pawl_err blame(const struct pawl_flow_node *node, enum pawl_err err,
                           const struct pawl_diag *why, struct pawl_diag *diag)
{
    return pawl__fail_field(diag, err, why->field, "node \"%s\": %s", node->name, why->text);
}

static enum pawl_err check_signal(const struct pawl_flow_node *node, struct pawl_diag *diag)
{
    static const struct pawl__text_rule rule_key = { "signal_key", PAWL_FLOW_KEY_BYTES_MAX };
    struct pawl_diag why = { 0 };
    enum pawl_err err = pawl__check_optional(&rule_key, node->signal_key, &why);
    if (!err && node->timeout_ms) {
        err = pawl__check_time("timeout_ms", PAWL__TIME_DURATION, node->timeout_ms, &why);
    }
    if (!err && node->payload.len) {
        err = pawl__check_json("payload", node->payload, PAWL__RESULT_BYTES_MAX, &why);
    }
    return err ? blame(node, err, &why, diag) : PAWL_OK;
}

static enum pawl_err check(const struct pawl_flow_spec *spec, struct pawl_diag *diag)
{
    static const struct pawl__text_rule rule_name = { "name", PAWL_FLOW_NAME_BYTES_MAX };
    static const struct pawl__text_rule rule_layout = { "layout", PAWL_FLOW_NAME_BYTES_MAX };
    enum pawl_err err = spec->name ? pawl__check_text(&rule_name, spec->name, diag) : PAWL_OK;
    if (!err && spec->layout) err = pawl__check_text(&rule_layout, spec->layout, diag);
    if (!err && spec->meta.len) {
        err = pawl__check_json("meta", spec->meta, PAWL_META_BYTES_MAX, diag);
    }
    if (!err && spec->unsealed) {
        err = pawl__fail_field(diag, PAWL_ERR_UNSUPPORTED, "unsealed",
                               "flows that grow are not supported yet");
    }
    if (!err && spec->deadline_at_ms) {
        err = pawl__fail_field(diag, PAWL_ERR_UNSUPPORTED, "deadline_at_ms",
                               "deadlines of flows are not supported yet");
    }
    if (!err && spec->idempotency_key) {
        err = pawl__fail_field(diag, PAWL_ERR_UNSUPPORTED, "idempotency_key",
                               "idempotency keys of flows are not supported yet");
    }
    for (size_t i = 0; !err && i < spec->node_count; i++) {
        err = check_built(&spec->nodes[i], diag);
        if (!err) err = check_signal(&spec->nodes[i], diag);
    }
    return err;
}

/* ---- rows ---- */

struct draft {
    const struct pawl_flow_spec *spec;
    struct pawl__flow_plan plan;
    struct pawl__arena *arena;
    struct pawl__new_flow flow;
    struct pawl__flow_node *nodes;
    struct pawl__flow_group *groups;
    struct pawl__flow_signal *signals;
    struct pawl_job_spec *jobs;
    size_t job_count;
    size_t *job_nodes; /* which node each job is */
};

static bool is_job(const struct pawl_flow_node *node)
{
    return node->kind == PAWL_FLOW_KIND_JOB || node->kind == PAWL_FLOW_KIND_DEFAULT;
}

static bool waits(const struct draft *draft, size_t at)
{
    const struct pawl__flow_place_of *place = &draft->plan.places[at];
    return place->parents || !place->open;
}

static bool make_room(struct draft *draft)
{
    size_t count = draft->spec->node_count;
    draft->nodes = pawl__arena_calloc(draft->arena, count, sizeof *draft->nodes);
    draft->groups = pawl__arena_calloc(draft->arena, count + 2, sizeof *draft->groups);
    draft->signals = pawl__arena_calloc(draft->arena, count, sizeof *draft->signals);
    draft->jobs = pawl__arena_calloc(draft->arena, count, sizeof *draft->jobs);
    draft->job_nodes = pawl__arena_calloc(draft->arena, count, sizeof *draft->job_nodes);
    return draft->nodes && draft->groups && draft->signals && draft->jobs && draft->job_nodes;
}

/* What a job that waits for others is told relative to its submission counts from its release. */
static void list_job(struct draft *draft, size_t at, struct pawl__flow_node *node)
{
    struct pawl_job_spec *job = &draft->jobs[draft->job_count];
    draft->job_nodes[draft->job_count++] = at;
    *job = draft->spec->nodes[at].job;
    if (job->keep_ms > draft->flow.row.keep_ms) draft->flow.row.keep_ms = job->keep_ms;
    if (!waits(draft, at)) return;
    job->pending = true;
    node->delay_ms = job->delay_ms;
    node->lives_ms = job->expires_in_ms;
    job->delay_ms = job->expires_in_ms = 0;
}

#define OR(value, otherwise) ((int32_t)((value) ? (value) : (otherwise)))

static void fill_signal(struct draft *draft, size_t at)
{
    const struct pawl_flow_node *from = &draft->spec->nodes[at];
    draft->signals[draft->flow.signal_count++] = (struct pawl__flow_signal){
        .flow = draft->flow.row.id,
        .no = (int32_t)at + 1,
        .key = from->signal_key,
        .timeout_ms = from->timeout_ms,
        .on_timeout = OR(from->on_timeout, PAWL_FLOW_UNSIGNALLED_FAIL),
        .on_reject = OR(from->on_reject, PAWL_FLOW_UNSIGNALLED_FAIL),
        .payload = from->payload,
    };
}

/* A group that waits for nobody is open at once, and its members with it. */
static void fill_node(struct draft *draft, size_t at)
{
    const struct pawl_flow_node *from = &draft->spec->nodes[at];
    const struct pawl__flow_place_of *place = &draft->plan.places[at];
    struct pawl__flow_node *node = &draft->nodes[at];
    bool branch = from->kind == PAWL_FLOW_KIND_BRANCH;
    bool begins = (is_job(from) || from->kind == PAWL_FLOW_KIND_GROUP) && !waits(draft, at);
    *node = (struct pawl__flow_node){
        .flow = draft->flow.row.id,
        .no = (int32_t)at + 1,
        .name = from->name,
        .kind = OR(from->kind, PAWL_FLOW_KIND_JOB),
        .group = place->group,
        .join = OR(from->join, PAWL_FLOW_JOIN_ALL),
        .n = from->n,
        .parent = OR(from->on_parent_failure, PAWL_FLOW_PARENT_CANCEL),
        .select = OR(from->select, branch ? PAWL_FLOW_SELECT_FIRST : PAWL_FLOW_SELECT_EACH),
        .traits = (from->may_fail ? PAWL__FLOW_MAY_FAIL : 0) |
                  (from->callback ? PAWL__FLOW_CALLBACK : 0),
        .state = begins ? PAWL_STATE_ACTIVE : PAWL_STATE_PENDING,
        .pending = place->parents,
    };
    if (is_job(from)) list_job(draft, at, node);
    if (from->kind == PAWL_FLOW_KIND_SIGNAL) fill_signal(draft, at);
}

static struct pawl__flow_group *add_group(struct draft *draft, int32_t no, int64_t total)
{
    struct pawl__flow_group *group = &draft->groups[draft->flow.group_count++];
    *group = (struct pawl__flow_group){ .flow = draft->flow.row.id, .no = no };
    group->tally.total = total;
    return group;
}

static void fill_groups(struct draft *draft)
{
    int64_t work = 0, direct = 0;
    for (size_t i = 0; i < draft->spec->node_count; i++) {
        const struct pawl_flow_node *node = &draft->spec->nodes[i];
        work += is_job(node) && !node->callback;
        direct += !draft->plan.places[i].group;
        if (node->kind != PAWL_FLOW_KIND_GROUP) continue;
        (void)add_group(draft, (int32_t)i + 1, draft->plan.places[i].members);
    }
    (void)add_group(draft, PAWL__FLOW_WORK, work);
    (void)add_group(draft, PAWL__FLOW_ALL, direct);
}

/* Edges to the members of a group tell them when it opens; those of one that is open are of no use.
 */
static bool fill_edges(struct draft *draft)
{
    const struct pawl__flow_plan *plan = &draft->plan;
    struct pawl__flow_edge *edges =
        pawl__arena_calloc(draft->arena, plan->link_count + 1, sizeof *edges);
    for (size_t i = 0; edges && i < plan->link_count; i++) {
        const struct pawl__flow_link *link = &plan->links[i];
        const struct pawl_flow_edge *from = link->from;
        if (!from && !waits(draft, (size_t)link->parent - 1)) continue;
        edges[draft->flow.edge_count++] = (struct pawl__flow_edge){
            .flow = draft->flow.row.id,
            .parent = link->parent,
            .child = link->child,
            .on = from ? OR(from->on, PAWL_FLOW_ON_SUCCESS) : PAWL__FLOW_ON_MEMBER,
            .arm = from ? from->arm : 0,
            .otherwise = from && from->otherwise,
            .when = from ? from->when : NULL,
            .label = from ? from->label : NULL,
        };
    }
    draft->flow.edges = edges;
    return edges;
}

/* Jobs have their ids from their batch. */
static bool give_ids(struct pawl *pawl, struct draft *draft, const struct pawl__batch *batch)
{
    size_t count = draft->spec->node_count, others = count - draft->job_count;
    struct pawl_job_id *ids = pawl__arena_alloc(draft->arena, (others + 1) * sizeof *ids);
    if (!ids) return false;
    if (others) pawl__idgen_take(&pawl->ids, ids, others);
    for (size_t i = 0; i < count; i++) {
        if (!is_job(&draft->spec->nodes[i])) draft->nodes[i].id = *ids++;
    }
    for (size_t i = 0; i < draft->job_count; i++) {
        draft->nodes[draft->job_nodes[i]].id = batch->jobs[i].id;
    }
    return true;
}

static enum pawl_err make(struct pawl *pawl, struct draft *draft, struct pawl_diag *diag)
{
    const struct pawl_flow_spec *spec = draft->spec;
    enum pawl_err err = check(spec, diag);
    if (!err) err = pawl__flow_plan_make(spec, draft->arena, &draft->plan, diag);
    if (err) return err;
    if (!make_room(draft)) return pawl__fail_nomem(diag);
    draft->flow = (struct pawl__new_flow){
        .spec = spec,
        .row = { .id = spec->id ? *spec->id : pawl__idgen_next(&pawl->ids),
                 .name = spec->name,
                 .layout = spec->layout,
                 .meta = spec->meta,
                 .state = PAWL_FLOW_RUNNING,
                 .nodes = (int32_t)spec->node_count },
        .groups = draft->groups,
        .signals = draft->signals,
        .nodes = draft->nodes,
        .node_count = spec->node_count,
    };
    for (size_t i = 0; i < spec->node_count; i++) {
        fill_node(draft, i);
    }
    fill_groups(draft);
    return fill_edges(draft) ? PAWL_OK : pawl__fail_nomem(diag);
}

/* ---- the call ---- */

static enum pawl_err post(struct pawl *pawl, struct draft *draft, struct pawl__batch *batch,
                          struct pawl_diag *diag)
{
    struct pawl_submitted *out =
        pawl__arena_calloc(draft->arena, draft->job_count + 1, sizeof *out);
    if (!out || !give_ids(pawl, draft, batch)) return pawl__fail_nomem(diag);
    struct pawl__op op = { .kind = PAWL__OP_SUBMIT,
                           .submit = { .jobs = batch->jobs,
                                       .count = draft->job_count,
                                       .flow = &draft->flow,
                                       .out = out,
                                       .failed_index = draft->job_count } };
    enum pawl_err err = pawl__desk_do(pawl, &op, diag);
    pawl__batch_answered(pawl, &op, batch);
    return err;
}

enum pawl_err pawl_flow_submit(struct pawl *pawl, const struct pawl_flow_spec *spec,
                               struct pawl_job_id *out, struct pawl_diag *diag)
{
    assert(pawl && spec && out);
    struct pawl__intake intake = { .kept.chunks = NULL };
    struct pawl__arena arena = { .chunks = NULL };
    struct draft draft = { .spec = spec, .arena = &arena };
    struct pawl__batch batch = { .ties = PAWL__FLOW_TIE };
    enum pawl_err err = make(pawl, &draft, diag);
    if (!err) {
        err = pawl__batch_take(pawl, draft.jobs, draft.job_count, &intake, &batch, diag);
        if (!err) err = post(pawl, &draft, &batch, diag);
        bool blamed = err && batch.bad < draft.job_count;
        if (blamed) pawl__diag_within(diag, draft.job_nodes[batch.bad]);
    }
    if (!err) *out = draft.flow.row.id;
    pawl__intake_release(&intake);
    pawl__arena_release(&arena);
    return err;
}
