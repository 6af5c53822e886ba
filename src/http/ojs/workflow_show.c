/* Workflows as they are shown: GET /ojs/v1/workflows and /ojs/v1/workflows/{id}. On the pool.
 *
 * A workflow runs from its creation on; `pending` is never shown. A step that was skipped is
 * cancelled in the words of OJS; `pawl_state` tells the two apart. Chains and graphs count steps,
 * groups and batches jobs: all jobs but callbacks, and control nodes are none.
 *
 * A reply has the results of the steps up to PAWL_FLOW_NODES_BYTES_MAX together, or none of them.
 */
#include "http/ojs/workflows.h"
#include "http/ojs/lists.h"
#include "http/ojs/ojs.h"
#include "wire/wire.h"

#include <string.h>

enum { FAILED_SHOWN_MAX = 100, ERRORS_SHOWN_MAX = 10 };

/* ---- reading ---- */

bool pawl__workflow_refuse_unknown(struct pawl__request *request, struct pawl_job_id id)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    return pawl__reply_not_found(request, "workflow", text);
}

bool pawl__workflow_read(struct pawl__request *request, struct pawl_job_id id, bool nodes,
                         struct pawl__workflow *out)
{
    struct pawl *pawl = pawl__request_pawl(request);
    struct pawl_diag diag;
    enum pawl_err err = pawl_flow_get(pawl, id, &out->flows, &diag);
    if (!err && nodes) err = pawl_flow_nodes_get(pawl, id, &out->nodes, &diag);
    if (!err) return true;
    pawl__workflow_release(out);
    if (err == PAWL_ERR_NOT_FOUND) return pawl__workflow_refuse_unknown(request, id);
    return pawl__reply_err(request, err, &diag);
}

void pawl__workflow_release(struct pawl__workflow *shown)
{
    pawl_flows_release(&shown->flows);
    pawl_flow_nodes_release(&shown->nodes);
}

/* ---- steps ---- */

static const char *const step_states[PAWL_STATE_END] = {
    [PAWL_STATE_PENDING] = "waiting",     [PAWL_STATE_SCHEDULED] = "pending",
    [PAWL_STATE_AVAILABLE] = "pending",   [PAWL_STATE_RETRYABLE] = "pending",
    [PAWL_STATE_PAUSED] = "pending",      [PAWL_STATE_ACTIVE] = "active",
    [PAWL_STATE_COMPLETED] = "completed", [PAWL_STATE_DISCARDED] = "failed",
    [PAWL_STATE_EXPIRED] = "failed",      [PAWL_STATE_CANCELLED] = "cancelled",
    [PAWL_STATE_SKIPPED] = "cancelled",
};
static const struct pawl__words step_state_words = { .at = step_states, .count = PAWL_STATE_END };

/* A node as a step. Edges are in order of their children, as the nodes are. */
struct step {
    const struct pawl_flow_nodes *nodes;
    const struct pawl_flow_arc *edges;
    size_t edge_count;
    const char *name, *type, *group, *queue, *pawl_state, *reason, *signal_key;
    struct pawl_job_id job; /* zeroes: it is a control node */
    int64_t index, started_at_ms, finished_at_ms, until_ms;
    enum pawl_state state;
    bool callback;
    struct pawl_span result;
};

static const char *name_at(const struct pawl_flow_nodes *nodes, int32_t number)
{
    bool there = number >= 1 && (size_t)number <= nodes->count;
    return there ? nodes->at[number - 1].name : "";
}

static void print_parents(const struct pawl__shape_writer *writer,
                          const struct pawl__member *member, const void *base)
{
    const struct step *step = base;
    pawl__buf_add(writer->out, "[", 1);
    for (size_t i = 0; i < step->edge_count; i++) {
        const char *name = name_at(step->nodes, step->edges[i].parent);
        if (i) pawl__buf_add(writer->out, ",", 1);
        pawl__buf_add_json(writer->out, name, strlen(name));
    }
    pawl__buf_add(writer->out, "]", 1);
}

#define S struct step
#define AS(text, kind, member, ...) PAWL__MEMBER(text, kind, S, member, __VA_ARGS__)
#define ALWAYS(text, kind, member) AS(text, kind, member, .flags = PAWL__ALWAYS)
static const struct pawl__member step_members[] = {
    ALWAYS("id", NAME, name),
    ALWAYS("index", INT64, index),
    ALWAYS("type", NAME, type),
    AS("state", WORD, state, .words = &step_state_words, .flags = PAWL__ALWAYS),
    ALWAYS("pawl_state", NAME, pawl_state),
    AS("job_id", ID, job, .flags = PAWL__NULLABLE),
    PAWL__WHOLE("depends_on", OWN, .print = print_parents),
    AS("group", NAME, group),
    AS("queue", NAME, queue),
    AS("callback", BOOL, callback),
    AS("signal_key", NAME, signal_key),
    AS("waits_until", INSTANT, until_ms),
    AS("started_at", INSTANT, started_at_ms),
    AS("completed_at", INSTANT, finished_at_ms),
    AS("reason", NAME, reason),
    AS("result", JSON, result),
};
static const struct pawl__shape step_shape = PAWL__SHAPE(S, step_members);
#undef ALWAYS
#undef AS
#undef S

static struct step step_of(const struct pawl_flow_nodes *nodes, const struct pawl_flow_view *node)
{
    bool is_job = node->kind == PAWL_FLOW_KIND_JOB;
    return (struct step){ .nodes = nodes,
                          .name = node->name,
                          .type = is_job ? node->type : pawl__flow_kind_words.at[node->kind],
                          .group = node->group ? name_at(nodes, node->group) : "",
                          .queue = node->queue,
                          .pawl_state = pawl_state_name(node->state, PAWL_VOCABULARY_PAWL),
                          .reason = node->reason,
                          .signal_key = node->signal_key,
                          .until_ms = node->until_ms,
                          .job = is_job ? node->id : (struct pawl_job_id){ { 0 } },
                          .index = node->number - 1,
                          .started_at_ms = node->started_at_ms,
                          .finished_at_ms = node->finished_at_ms,
                          .state = node->state,
                          .callback = node->callback,
                          .result = node->result };
}

static void print_steps(struct pawl__buf *out, const struct pawl_flow_nodes *nodes)
{
    const struct pawl__shape_writer writer = { .out = out };
    size_t edge = 0;
    pawl__buf_add(out, "[", 1);
    for (size_t i = 0; i < nodes->count; i++) {
        struct step step = step_of(nodes, &nodes->at[i]);
        step.edges = nodes->edges + edge;
        while (edge < nodes->edge_count && nodes->edges[edge].child == nodes->at[i].number) {
            step.edge_count++;
            edge++;
        }
        if (i) pawl__buf_add(out, ",", 1);
        pawl__shape_print(&writer, &step_shape, &step);
    }
    pawl__buf_add(out, "]", 1);
}

/* ---- failures ---- */

static bool has_failed(const struct pawl_flow_view *node)
{
    return node->kind == PAWL_FLOW_KIND_JOB &&
           (node->state == PAWL_STATE_DISCARDED || node->state == PAWL_STATE_EXPIRED);
}

static void print_failure(struct pawl__request *request, const struct pawl_flow_view *node)
{
    struct pawl_story story = { .job = { .reason = "" } };
    const struct pawl_failure *last = NULL;
    if (pawl_story_get(pawl__request_pawl(request), node->id, &story, NULL) == PAWL_OK &&
        story.failure_count) {
        last = &story.failures[story.failure_count - 1];
    }
    const char *code = last && *last->code                 ? last->code
                       : node->state == PAWL_STATE_EXPIRED ? "expired"
                                                           : "discarded";
    PAWL__PRINT(&(struct pawl__shape_writer){ .out = &request->reply },
                PAWL__HERE_ID("job_id", node->id), PAWL__HERE_TEXT("code", code),
                PAWL__HERE_TEXT("message", last ? last->message : node->reason),
                PAWL__HERE_INT("attempt", last ? last->attempt : 0));
    pawl_story_release(&story);
}

/* ,"failed_step_index":...,"failed_job_ids":[...],"errors":[...]: of the first ones. */
static void print_failures(struct pawl__request *request, const struct pawl_flow_nodes *nodes)
{
    struct pawl__buf *out = &request->reply;
    const struct pawl_flow_view *failed[FAILED_SHOWN_MAX];
    size_t count = 0;
    for (size_t i = 0; i < nodes->count && count < FAILED_SHOWN_MAX; i++) {
        if (has_failed(&nodes->at[i])) failed[count++] = &nodes->at[i];
    }
    if (!count) return;
    pawl__buf_printf(out, ",\"failed_step_index\":%d,\"failed_job_ids\":[", failed[0]->number - 1);
    for (size_t i = 0; i < count; i++) {
        char id[PAWL_JOB_ID_TEXT_BYTES];
        pawl_job_id_text(failed[i]->id, id);
        pawl__buf_printf(out, "%s\"%s\"", i ? "," : "", id);
    }
    pawl__buf_add_text(out, "],\"errors\":[");
    for (size_t i = 0; i < count && i < ERRORS_SHOWN_MAX; i++) {
        if (i) pawl__buf_add(out, ",", 1);
        print_failure(request, failed[i]);
    }
    pawl__buf_add(out, "]", 1);
}

/* ---- the workflow ---- */

static bool counts_jobs(const struct pawl_flow *flow)
{
    return strcmp(flow->layout, "group") == 0 || strcmp(flow->layout, "batch") == 0;
}

/* When the first job began; 0: none has, or it is not known. */
static int64_t started_at(const struct pawl_flow_nodes *nodes)
{
    int64_t first = 0;
    for (size_t i = 0; i < nodes->count; i++) {
        int64_t at_ms = nodes->at[i].started_at_ms;
        if (at_ms && (!first || at_ms < first)) first = at_ms;
    }
    return first;
}

/* What a workflow is beside its steps, as it is printed. */
struct view {
    struct pawl_job_id id;
    const char *type, *name, *reason;
    enum pawl_flow_state state;
    struct pawl_span meta;
    int64_t total, completed, failed, percent, reopened;
    bool paused;
    int64_t created_at_ms, started_at_ms, completed_at_ms, cancelled_at_ms, deadline_at_ms;
};

static struct view view_of(const struct pawl_flow *flow, const struct pawl_flow_nodes *nodes)
{
    bool cancelled = flow->state == PAWL_FLOW_CANCELLED;
    return (struct view){ .id = flow->id,
                          .type = *flow->layout ? flow->layout : "dag",
                          .name = flow->name,
                          .reason = flow->reason,
                          .state = flow->state,
                          .meta = flow->meta,
                          .total = flow->jobs.total,
                          .completed = flow->jobs.completed,
                          .failed = flow->jobs.failed,
                          .percent = pawl_flow_percent(&flow->jobs),
                          .reopened = flow->reopened,
                          .paused = flow->paused,
                          .created_at_ms = flow->created_at_ms,
                          .started_at_ms = nodes ? started_at(nodes) : 0,
                          .completed_at_ms = cancelled ? 0 : flow->finished_at_ms,
                          .cancelled_at_ms = cancelled ? flow->finished_at_ms : 0,
                          .deadline_at_ms = flow->deadline_at_ms };
}

#define S struct view
#define ALWAYS(text, kind, member, ...)                                                            \
    PAWL__MEMBER(text, kind, S, member, .flags = PAWL__ALWAYS, ##__VA_ARGS__)
#define TIMES                                                                                      \
    PAWL__MEMBER("started_at", INSTANT, S, started_at_ms),                                         \
        PAWL__MEMBER("completed_at", INSTANT, S, completed_at_ms),                                 \
        PAWL__MEMBER("cancelled_at", INSTANT, S, cancelled_at_ms)
#define HEAD                                                                                       \
    ALWAYS("id", ID, id), ALWAYS("type", NAME, type), ALWAYS("name", NAME, name),                  \
        ALWAYS("state", WORD, state, .words = &pawl__flow_state_words),                            \
        ALWAYS("created_at", INSTANT, created_at_ms), TIMES,                                       \
        PAWL__MEMBER("deadline", INSTANT, S, deadline_at_ms)
#define TAIL                                                                                       \
    ALWAYS("progress", INT64, percent), PAWL__MEMBER("reason", NAME, S, reason),                   \
        PAWL__MEMBER("paused", BOOL, S, paused), PAWL__MEMBER("reopened", INT64, S, reopened),     \
        PAWL__MEMBER("meta", OBJECT, S, meta),                                                     \
        PAWL__WHOLE("metadata", ONE, .flags = PAWL__ALWAYS, .shape = &metadata_shape)

static const struct pawl__member metadata_members[] = {
    ALWAYS("created_at", INSTANT, created_at_ms),
    TIMES,
    ALWAYS("job_count", INT64, total),
    ALWAYS("completed_count", INT64, completed),
    ALWAYS("failed_count", INT64, failed),
};
static const struct pawl__shape metadata_shape = PAWL__SHAPE(S, metadata_members);
static const struct pawl__member in_steps_members[] = {
    HEAD,
    ALWAYS("steps_total", INT64, total),
    ALWAYS("steps_completed", INT64, completed),
    TAIL,
};
static const struct pawl__shape in_steps = PAWL__SHAPE(S, in_steps_members);
static const struct pawl__member in_jobs_members[] = {
    HEAD,
    ALWAYS("jobs_total", INT64, total),
    ALWAYS("jobs_completed", INT64, completed),
    TAIL,
};
static const struct pawl__shape in_jobs = PAWL__SHAPE(S, in_jobs_members);
#undef S

/* Its members, without braces. `nodes` may be NULL: not known. */
static void print_members(struct pawl__request *request, const struct pawl_flow *flow,
                          const struct pawl_flow_nodes *nodes)
{
    const struct view view = view_of(flow, nodes);
    bool any = false;
    pawl__shape_print_members(&(struct pawl__shape_writer){ .out = &request->reply },
                              counts_jobs(flow) ? &in_jobs : &in_steps, &view, &any);
    if (!nodes) return;
    if (flow->state == PAWL_FLOW_FAILED) print_failures(request, nodes);
    if (nodes->omitted_bytes) {
        pawl__buf_printf(&request->reply, ",\"results_omitted_bytes\":%lld",
                         (long long)nodes->omitted_bytes);
    }
}

void pawl__workflow_print_twice(struct pawl__request *request, const struct pawl__workflow *shown)
{
    struct pawl__buf *out = &request->reply;
    pawl__buf_add_text(out, "{\"workflow\":{");
    size_t from = out->len, to;
    print_members(request, &shown->flows.at[0], &shown->nodes);
    to = out->len;
    pawl__buf_add_text(out, ",\"steps\":");
    print_steps(out, &shown->nodes);
    pawl__buf_add_text(out, "},");
    pawl__buf_add_again(out, from, to);
}

bool pawl__workflow_id(struct pawl__request *request, struct pawl_job_id *out)
{
    return pawl__id_read(request->parts[0], out) ||
           pawl__reply_not_found(request, "workflow", request->parts[0]);
}

void pawl__on_workflow_get(struct pawl__request *request)
{
    struct pawl_job_id id;
    struct pawl__workflow shown = { .flows.at = NULL };
    if (!pawl__workflow_id(request, &id)) return;
    if (!pawl__workflow_read(request, id, true, &shown)) return;
    pawl__workflow_print_twice(request, &shown);
    pawl__buf_add(&request->reply, "}", 1);
    pawl__workflow_release(&shown);
    pawl__reply(request, 200);
}

/* ---- earlier steps ---- */

#define S struct pawl_flow_input
static const struct pawl__member parent_members[] = {
    PAWL__MEMBER("id", NAME, S, name, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("job_id", ID, S, id, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("state", WORD, S, state, .words = &step_state_words, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("reason", NAME, S, reason),
    PAWL__MEMBER("result", JSON, S, result),
};
static const struct pawl__shape parent_shape = PAWL__SHAPE(S, parent_members);
#undef S

/* What parent_results of a fetched job is made from. */
void pawl__on_job_parents(struct pawl__request *request)
{
    struct pawl_job_id id;
    struct pawl_flow_inputs parents = { .at = NULL };
    struct pawl_diag diag;
    if (!pawl__request_job_id(request, 0, &id)) return;
    enum pawl_err err = pawl_flow_earlier_get(pawl__request_pawl(request), id, &parents, &diag);
    if (err == PAWL_ERR_NOT_FOUND) {
        pawl__reply_refuse(request, PAWL__FAULT_NOT_FOUND, "", "%s", diag.text);
        return;
    }
    if (pawl__reply_if_err(request, err, &diag)) return;
    PAWL__PRINT(&(struct pawl__shape_writer){ .out = &request->reply },
                PAWL__HERE_ID("workflow_id", parents.flow), PAWL__HERE_TEXT("step", parents.node),
                PAWL__HERE_MANY("parents", &parent_shape, parents.at, parents.count),
                PAWL__SOME_INT("results_omitted_bytes", parents.omitted_bytes));
    pawl_flow_inputs_release(&parents);
    pawl__reply(request, 200);
}

/* ---- lists ---- */

static bool read_filter(struct pawl__request *request, struct pawl_flow_filter *out)
{
    const char *state = pawl__request_query(request, "state");
    *out = (struct pawl_flow_filter){ .name = pawl__request_query(request, "name") };
    if (!state) return true;
    for (uint32_t i = 1; i < pawl__flow_state_words.count; i++) {
        if (strcmp(pawl__flow_state_words.at[i], state) != 0) continue;
        out->state = (enum pawl_flow_state)i;
        return true;
    }
    return pawl__reply_invalid(request, "state",
                               "state must be running, completed, failed or cancelled, not "
                               "\"%.32s\"",
                               state);
}

void pawl__on_workflows(struct pawl__request *request)
{
    const struct pawl__http_limits *limits = &request->server->config.limits;
    struct pawl_flow_filter filter;
    struct pawl_flows flows = { 0 };
    struct pawl_diag diag;
    struct pawl_page page = { .limit = limits->page_size_max < 50 ? limits->page_size_max : 50,
                              .bytes_max = limits->reply_bytes_max };
    if (!read_filter(request, &filter) ||
        !pawl__request_int(request, "limit", 1, limits->page_size_max, &page.limit)) {
        return;
    }
    page.cursor = pawl__request_query(request, "cursor");
    enum pawl_err err = pawl_flow_list(pawl__request_pawl(request), &filter, &page, &flows, &diag);
    if (pawl__reply_if_err(request, err, &diag)) return;
    pawl__buf_add_text(&request->reply, "{\"workflows\":[");
    for (size_t i = 0; i < flows.count; i++) {
        pawl__buf_add_text(&request->reply, i ? ",{" : "{");
        print_members(request, &flows.at[i], NULL);
        pawl__buf_add(&request->reply, "}", 1);
    }
    pawl__buf_printf(&request->reply, "],\"pagination\":{\"limit\":%lld,\"has_more\":%s",
                     (long long)page.limit, flows.next[0] ? "true" : "false");
    if (flows.next[0]) pawl__buf_printf(&request->reply, ",\"next_cursor\":\"%s\"", flows.next);
    pawl__buf_add_text(&request->reply, "}}");
    pawl_flows_release(&flows);
    pawl__reply(request, 200);
}
