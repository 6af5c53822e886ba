/* The protocol between programs of pawl: questions. The answers to operations are in
 * ops.c. */
#include "http/remote/calls.h"

#include "base/diag.h"
#include "http/remote/remote.h"

#include <string.h>

struct pawl__wire_refusal pawl__remote_refusal(struct pawl__request *request, enum pawl_err err,
                                               const struct pawl_diag *diag)
{
    struct pawl__fault fault = { 0 };
    pawl__refuse_err(&fault, err, diag);
    if (diag && diag->text[0] && strcmp(diag->text, fault.message) != 0) {
        pawl__log(request->server->log, PAWL__LOG_ERROR, request, "%s", diag->text);
    }
    return (struct pawl__wire_refusal){
        .err = err,
        .field = pawl__arena_dup(&request->arena, fault.field, strlen(fault.field)),
        .text = pawl__arena_dup(&request->arena, fault.message, strlen(fault.message)),
    };
}

void pawl__remote_refuse(struct pawl__request *request, enum pawl_err err,
                         const struct pawl_diag *diag)
{
    struct pawl__wire_refusal refusal = pawl__remote_refusal(request, err, diag);
    request->reply.len = 0;
    pawl__wire_print(&request->reply, &pawl__wire_refusal_shape, &refusal);
    pawl__reply(request, pawl_err_status(err));
}

/* The body as a question. False: answered. */
static bool read_ask(struct pawl__request *request, struct pawl__wire_ask *out)
{
    struct pawl_diag diag;
    struct pawl_span body = request->body.len ? request->body : (struct pawl_span){ "{}", 2 };
    enum pawl_err err =
        pawl__wire_read(body, &pawl__wire_ask_shape, true, &request->arena, out, &diag);
    if (err) pawl__remote_refuse(request, err, &diag);
    return !err;
}

static void answer(struct pawl__request *request, enum pawl_err err, const struct pawl_diag *diag,
                   const struct pawl__shape *shape, const void *at)
{
    if (err) {
        pawl__remote_refuse(request, err, diag);
        return;
    }
    pawl__wire_print(&request->reply, shape, at);
    pawl__reply(request, 200);
}

void pawl__on_remote_hello(struct pawl__request *request)
{
    struct pawl__wire_hello hello = { .pawl = PAWL_VERSION,
                                      .protocol = PAWL__WIRE_PROTOCOL,
                                      .body_max = request->server->config.limits.body_bytes_max,
                                      .now_ms = request->now_ms };
    answer(request, PAWL_OK, NULL, &pawl__wire_hello_shape, &hello);
}

/* Those that are there, in the order asked for; each owns what it points to. */
static enum pawl_err get_all(struct pawl__request *request, const struct pawl__wire_ask *ask,
                             struct pawl_jobs *each, struct pawl_jobs *out, struct pawl_diag *diag)
{
    int64_t left = request->server->config.limits.reply_bytes_max;
    for (size_t i = 0; i < ask->id_count; i++) {
        enum pawl_err err = pawl_get(pawl__request_pawl(request), ask->ids[i], &each[i], diag);
        if (err == PAWL_ERR_NOT_FOUND) continue;
        if (err) return err;
        const struct pawl_job *job = &each[i].at[0];
        left -= (int64_t)(job->args.len + job->meta.len + job->result.len);
        if (left < 0 && out->count) {
            return pawl__fail_field(diag, PAWL_ERR_LIMIT, "ids",
                                    "these jobs are too long for one reply: ask for fewer");
        }
        out->at[out->count++] = *job;
    }
    return PAWL_OK;
}

void pawl__on_remote_get(struct pawl__request *request)
{
    struct pawl__wire_ask ask;
    struct pawl_diag diag = { 0 };
    struct pawl_jobs found = { .total = -1 };
    if (!read_ask(request, &ask)) return;
    if (!ask.id_count || ask.id_count > PAWL__WIRE_GET_MAX) {
        enum pawl_err err = pawl__fail_field(&diag, PAWL_ERR_LIMIT, "ids", "ask for 1 to %d ids",
                                             PAWL__WIRE_GET_MAX);
        pawl__remote_refuse(request, err, &diag);
        return;
    }
    struct pawl_jobs *each = pawl__arena_calloc(&request->arena, ask.id_count, sizeof *each);
    found.at = pawl__arena_calloc(&request->arena, ask.id_count, sizeof *found.at);
    enum pawl_err err = each && found.at ? PAWL_OK : pawl__fail_nomem(&diag);
    if (!err) err = get_all(request, &ask, each, &found, &diag);
    answer(request, err, &diag, &pawl__wire_jobs_shape, &found);
    for (size_t i = 0; each && i < ask.id_count; i++) {
        pawl_jobs_release(&each[i]);
    }
}

/* Within what a reply may hold. */
static const struct pawl_page *bounded(const struct pawl__request *request, struct pawl_page *page)
{
    int64_t max = request->server->config.limits.reply_bytes_max;
    bool none = page->brief && !page->bytes_max;
    if (!none && (page->bytes_max <= 0 || page->bytes_max > max)) page->bytes_max = max;
    return page;
}

static enum pawl_err refuse_ids(struct pawl_diag *diag)
{
    return pawl__fail_field(diag, PAWL_ERR_ARG, "ids", "ask for one id");
}

static enum pawl_err get_story(struct pawl *pawl, const struct pawl__wire_ask *ask,
                               struct pawl_story *out, struct pawl_diag *diag)
{
    if (ask->id_count != 1) return refuse_ids(diag);
    return pawl_story_get(pawl, ask->ids[0], out, diag);
}

static enum pawl_err get_schemas(struct pawl *pawl, const struct pawl__wire_ask *ask,
                                 struct pawl_args_schemas *out, struct pawl_diag *diag)
{
    const struct pawl_args_schema_filter filter = { .by_type = ask->by_type, .name = ask->name };
    return pawl_args_schemas_get(pawl, &filter, out, diag);
}

static enum pawl_err get_flows(struct pawl *pawl, const struct pawl__wire_ask *ask,
                               const struct pawl_page *page, struct pawl_flows *out,
                               struct pawl_diag *diag)
{
    if (ask->id_count > 1) return refuse_ids(diag);
    if (ask->id_count) return pawl_flow_get(pawl, ask->ids[0], out, diag);
    return pawl_flow_list(pawl, &ask->flows, page, out, diag);
}

static enum pawl_err get_flow_nodes(struct pawl *pawl, const struct pawl__wire_ask *ask,
                                    struct pawl_flow_nodes *out, struct pawl_diag *diag)
{
    if (ask->id_count != 1) return refuse_ids(diag);
    return pawl_flow_nodes_get(pawl, ask->ids[0], out, diag);
}

static enum pawl_err get_flow_inputs(struct pawl *pawl, const struct pawl__wire_ask *ask,
                                     struct pawl_flow_inputs *out, struct pawl_diag *diag)
{
    if (ask->id_count != 1) return refuse_ids(diag);
    if (!ask->name) return pawl_flow_inputs_get(pawl, ask->ids[0], out, diag);
    if (strcmp(ask->name, "earlier") == 0) {
        return pawl_flow_earlier_get(pawl, ask->ids[0], out, diag);
    }
    if (strcmp(ask->name, "own") == 0) return pawl_flow_of(pawl, ask->ids[0], out, diag);
    return pawl__fail_field(diag, PAWL_ERR_ARG, "name", "name must be \"earlier\" or \"own\"");
}

static enum pawl_err get_schedules(struct pawl *pawl, const struct pawl__wire_ask *ask,
                                   struct pawl_schedules *out, struct pawl_diag *diag)
{
    if (ask->name) return pawl_schedule_get(pawl, ask->name, out, diag);
    return pawl_schedules_get(pawl, &ask->schedules, out, diag);
}

static enum pawl_err get_firings(struct pawl *pawl, const struct pawl__wire_ask *ask,
                                 struct pawl_firings *out, struct pawl_diag *diag)
{
    if (!ask->name) return pawl__fail_field(diag, PAWL_ERR_ARG, "name", "name is missing");
    return pawl_schedule_history(pawl, ask->name, ask->before, ask->limit, out, diag);
}

static void release_nothing(const void *found)
{
    (void)found;
}

/* The other questions are rows: route, whether its body is read, what is found, its shape on the
 * wire and how it is released, the call. */
#define READ(name, has_body, type, shape, release, call)                                           \
    void pawl__on_remote_##name(struct pawl__request *request)                                     \
    {                                                                                              \
        struct pawl *pawl = pawl__request_pawl(request);                                           \
        struct pawl__wire_ask ask;                                                                 \
        struct pawl_diag diag;                                                                     \
        type found = { 0 };                                                                        \
        if (has_body && !read_ask(request, &ask)) return;                                          \
        enum pawl_err err = call;                                                                  \
        answer(request, err, &diag, &pawl__wire_##shape##_shape, &found);                          \
        release(&found);                                                                           \
    }

READ(query, true, struct pawl_jobs, jobs, pawl_jobs_release,
     pawl_query(pawl, &ask.filter, bounded(request, &ask.page), &found, &diag))
READ(count, true, struct pawl__wire_count, count, release_nothing,
     pawl_count(pawl, &ask.filter, &found.count, &diag))
READ(story, true, struct pawl_story, story, pawl_story_release,
     get_story(pawl, &ask, &found, &diag))
READ(settings, true, struct pawl_settings, settings, pawl_settings_release,
     pawl_settings_get(pawl, ask.prefix ? ask.prefix : "", &found, &diag))
READ(stats, false, struct pawl_stats, stats, pawl_stats_release,
     pawl_stats_get(pawl, &found, &diag))
READ(nodes, false, struct pawl_nodes, nodes, pawl_nodes_release,
     pawl_nodes_get(pawl, &found, &diag))
READ(locks, false, struct pawl_locks, locks, pawl_locks_release,
     pawl_locks_get(pawl, &found, &diag))
READ(schemas, true, struct pawl_args_schemas, schemas, pawl_args_schemas_release,
     get_schemas(pawl, &ask, &found, &diag))
READ(configs, true, struct pawl_queue_configs, configs, pawl_queue_configs_release,
     pawl_queue_configs_get(pawl, ask.name, &found, &diag))
READ(flows, true, struct pawl_flows, flows, pawl_flows_release,
     get_flows(pawl, &ask, bounded(request, &ask.page), &found, &diag))
READ(flow_nodes, true, struct pawl_flow_nodes, flow_nodes, pawl_flow_nodes_release,
     get_flow_nodes(pawl, &ask, &found, &diag))
READ(flow_inputs, true, struct pawl_flow_inputs, flow_inputs, pawl_flow_inputs_release,
     get_flow_inputs(pawl, &ask, &found, &diag))
READ(schedules, true, struct pawl_schedules, schedules, pawl_schedules_release,
     get_schedules(pawl, &ask, &found, &diag))
READ(firings, true, struct pawl_firings, firings, pawl_firings_release,
     get_firings(pawl, &ask, &found, &diag))
#undef READ
