/* Submitting flows. Names become numbers (src/flow/plan.h), jobs are checked as any others, and all
 * of it is one operation. */
#include "api/api.h"
#include "api/check.h"
#include "api/claim.h"
#include "api/flow.h"
#include "api/submit.h"
#include "base/diag.h"
#include "flow/flow.h"

#include <assert.h>
#include <string.h>

/* ---- what cannot be a flow ---- */

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
    if (!err && spec->deadline_at_ms) {
        err = pawl__check_time("deadline_at_ms", PAWL__TIME_INSTANT, spec->deadline_at_ms, diag);
    }
    if (!err && spec->idempotency_key) {
        err = pawl__fail_field(diag, PAWL_ERR_UNSUPPORTED, "idempotency_key",
                               "idempotency keys of flows are not supported yet");
    }
    return err;
}

static enum pawl_err check_new(const struct pawl__flow_draft *draft, struct pawl_diag *diag)
{
    enum pawl_err err = PAWL_OK;
    for (size_t i = draft->known.count; !err && i < draft->spec->node_count; i++) {
        err = check_built(&draft->spec->nodes[i], diag);
        if (!err) err = check_signal(&draft->spec->nodes[i], diag);
    }
    return err;
}

/* ---- rows ---- */

static bool is_job(const struct pawl_flow_node *node)
{
    return node->kind == PAWL_FLOW_KIND_JOB || node->kind == PAWL_FLOW_KIND_DEFAULT;
}

static bool waits(const struct pawl__flow_draft *draft, size_t at)
{
    assert(draft->plan.places);
    const struct pawl__flow_place_of *place = &draft->plan.places[at];
    return place->parents || !place->open;
}

static bool make_room(struct pawl__flow_draft *draft)
{
    size_t count = draft->spec->node_count + 1;
    draft->nodes = pawl__arena_calloc(draft->arena, count, sizeof *draft->nodes);
    draft->groups = pawl__arena_calloc(draft->arena, count + 2, sizeof *draft->groups);
    draft->signals = pawl__arena_calloc(draft->arena, count, sizeof *draft->signals);
    draft->jobs = pawl__arena_calloc(draft->arena, count, sizeof *draft->jobs);
    draft->job_nodes = pawl__arena_calloc(draft->arena, count, sizeof *draft->job_nodes);
    return draft->nodes && draft->groups && draft->signals && draft->jobs && draft->job_nodes;
}

static void inherit(struct pawl_job_spec *job, const struct pawl_flow_spec *from)
{
    bool timed = job->sla_soft_at_ms || job->sla_hard_at_ms;
    if (!job->priority) job->priority = from->priority;
    if (timed) return;
    job->sla_soft_at_ms = from->sla_soft_at_ms;
    job->sla_hard_at_ms = from->sla_hard_at_ms;
}

/* What a job that waits for others is told relative to its submission counts from its release. */
static void list_job(struct pawl__flow_draft *draft, size_t at, struct pawl__flow_node *node)
{
    struct pawl_job_spec *job = &draft->jobs[draft->job_count];
    draft->job_nodes[draft->job_count++] = at;
    *job = draft->spec->nodes[at].job;
    inherit(job, draft->spec);
    if (job->keep_ms > draft->flow.row.keep_ms) draft->flow.row.keep_ms = job->keep_ms;
    if (!waits(draft, at)) return;
    job->pending = true;
    node->delay_ms = job->delay_ms;
    node->lives_ms = job->expires_in_ms;
    job->delay_ms = job->expires_in_ms = 0;
}

#define OR(value, otherwise) ((int32_t)((value) ? (value) : (otherwise)))

static void fill_signal(struct pawl__flow_draft *draft, size_t at)
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
static void fill_node(struct pawl__flow_draft *draft, size_t at)
{
    assert(draft->plan.places);
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

enum { MILLION = 1000000 };

static struct pawl__flow_group *add_group(struct pawl__flow_draft *draft, int32_t no, int64_t total)
{
    struct pawl__flow_group *group = &draft->groups[draft->flow.group_count++];
    *group = (struct pawl__flow_group){ .flow = draft->flow.row.id, .no = no };
    group->tally.total = total;
    return group;
}

/* Of groups that are there it is said by how many members they grow, if they do. */
static void fill_groups(struct pawl__flow_draft *draft)
{
    int64_t work = 0, direct = 0;
    struct pawl__flow_place_of *places = draft->plan.places;
    for (size_t i = 0; i < draft->known.count; i++) {
        places[i].members = 0;
    }
    for (size_t i = draft->known.count; i < draft->spec->node_count; i++) {
        const struct pawl_flow_node *node = &draft->spec->nodes[i];
        work += is_job(node) && !node->callback;
        direct += !places[i].group;
        bool joins = places[i].group && (size_t)places[i].group <= draft->known.count;
        if (joins) places[places[i].group - 1].members++;
        if (node->kind != PAWL_FLOW_KIND_GROUP) continue;
        struct pawl__flow_group *group = add_group(draft, (int32_t)i + 1, places[i].members);
        group->open_ended = node->unsealed;
        group->abort_failures = (int32_t)node->abort_failures;
        group->abort_ppm = (int32_t)(node->abort_share * MILLION + 0.5);
    }
    for (size_t i = 0; i < draft->known.count; i++) {
        if (places[i].members) (void)add_group(draft, (int32_t)i + 1, places[i].members);
    }
    (void)add_group(draft, PAWL__FLOW_WORK, work);
    add_group(draft, PAWL__FLOW_ALL, direct)->open_ended = draft->spec->unsealed;
}

/* Is the group's turn yet to come? */
static bool is_closed(const struct pawl__flow_draft *draft, size_t group)
{
    return group < draft->known.count ? !draft->known.begun[group] : waits(draft, group);
}

/* Edges to the members of a group tell them when it opens; those of one that is open are of no use.
 */
static bool fill_edges(struct pawl__flow_draft *draft)
{
    const struct pawl__flow_plan *plan = &draft->plan;
    struct pawl__flow_edge *edges =
        pawl__arena_calloc(draft->arena, plan->link_count + 1, sizeof *edges);
    for (size_t i = 0; edges && i < plan->link_count; i++) {
        const struct pawl__flow_link *link = &plan->links[i];
        const struct pawl_flow_edge *from = link->from;
        size_t known = draft->known.count;
        if ((size_t)link->parent <= known && (size_t)link->child <= known) continue;
        if (!from && !is_closed(draft, (size_t)link->parent - 1)) continue;
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
static bool give_ids(struct pawl *pawl, struct pawl__flow_draft *draft,
                     const struct pawl__batch *batch)
{
    size_t count = draft->spec->node_count, others = draft->flow.node_count - draft->job_count;
    struct pawl_job_id *ids = pawl__arena_alloc(draft->arena, (others + 1) * sizeof *ids);
    if (!ids) return false;
    if (others) pawl__idgen_take(&pawl->ids, ids, others);
    for (size_t i = draft->known.count; i < count; i++) {
        if (!is_job(&draft->spec->nodes[i])) draft->nodes[i].id = *ids++;
    }
    for (size_t i = 0; i < draft->job_count; i++) {
        draft->nodes[draft->job_nodes[i]].id = batch->jobs[i].id;
    }
    return true;
}

enum pawl_err pawl__flow_draft_make(struct pawl__flow_draft *draft, struct pawl_job_id id,
                                    struct pawl_diag *diag)
{
    const struct pawl_flow_spec *spec = draft->spec;
    size_t known = draft->known.count;
    enum pawl_err err = check_new(draft, diag);
    if (!err) err = pawl__flow_plan_make(spec, &draft->known, draft->arena, &draft->plan, diag);
    if (err) return err;
    if (!make_room(draft)) return pawl__fail_nomem(diag);
    draft->flow = (struct pawl__new_flow){
        .spec = spec,
        .row = { .id = id,
                 .name = spec->name,
                 .layout = spec->layout,
                 .meta = spec->meta,
                 .deadline_at_ms = spec->deadline_at_ms,
                 .state = PAWL_FLOW_RUNNING,
                 .nodes = (int32_t)spec->node_count },
        .known = (int32_t)known,
        .groups = draft->groups,
        .signals = draft->signals,
        .nodes = draft->nodes + known,
        .node_count = spec->node_count - known,
    };
    for (size_t i = known; i < spec->node_count; i++) {
        fill_node(draft, i);
    }
    fill_groups(draft);
    return fill_edges(draft) ? PAWL_OK : pawl__fail_nomem(diag);
}

/* ---- the call ---- */

static enum pawl_err post(struct pawl *pawl, struct pawl__flow_draft *draft,
                          struct pawl__batch *batch, struct pawl_diag *diag)
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
    draft->overtaken = op.submit.overtaken;
    pawl__batch_answered(pawl, &op, batch);
    return err;
}

enum pawl_err pawl__flow_draft_post(struct pawl *pawl, struct pawl__flow_draft *draft,
                                    struct pawl_diag *diag)
{
    struct pawl__intake intake = { .kept.chunks = NULL };
    struct pawl__batch batch = { .ties = PAWL__FLOW_TIE };
    enum pawl_err err =
        pawl__batch_take(pawl, draft->jobs, draft->job_count, &intake, &batch, diag);
    if (!err) err = post(pawl, draft, &batch, diag);
    bool blamed = err && batch.bad < draft->job_count;
    if (blamed) pawl__diag_within(diag, draft->job_nodes[batch.bad] - draft->known.count);
    pawl__intake_release(&intake);
    return err;
}

enum pawl_err pawl_flow_submit(struct pawl *pawl, const struct pawl_flow_spec *spec,
                               struct pawl_job_id *out, struct pawl_diag *diag)
{
    assert(pawl && spec && out);
    struct pawl__arena arena = { .chunks = NULL };
    struct pawl__flow_draft draft = { .spec = spec, .arena = &arena };
    enum pawl_err err = check(spec, diag);
    struct pawl_job_id id = spec->id ? *spec->id : pawl__idgen_next(&pawl->ids);
    if (!err) err = pawl__flow_draft_make(&draft, id, diag);
    if (!err) err = pawl__flow_draft_post(pawl, &draft, diag);
    if (!err) *out = id;
    pawl__arena_release(&arena);
    return err;
}
