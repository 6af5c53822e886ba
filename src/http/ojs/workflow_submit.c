/* Submitting workflows: POST /ojs/v1/workflows, and adding steps to one that runs. On the pool: the
 * graph is checked, and what was stored is read again to be shown.
 *
 * The layouts of OJS and pawl's own list of nodes are read by src/wire; each job is an envelope, as
 * if it were submitted alone. Errors name the member by its path, "steps[1].options.queue". */
#include "base/diag.h"
#include "http/events/events.h"
#include "http/ojs/workflows.h"
#include "http/ojs/ojs.h"
#include "wire/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A job of the flow that is being read. */
struct read_job {
    struct pawl__envelope envelope;
    const char *path;
    struct read_job *next;
};

struct flow_submission {
    struct pawl__request *request;
    struct pawl__envelope_rules rules;
    struct pawl__warnings warnings;
    struct pawl__fault fault; /* of the envelope that was refused; no kind: none was */
    struct read_job *first, **last;
    bool adds;               /* to a workflow that is there */
    bool has_effects;        /* a job sets what is in force on this server */
    struct pawl_job_id *ids; /* of the jobs, once they are stored */
};

/* ---- reading ---- */

static enum pawl_err to_diag(const struct pawl__fault *fault, struct pawl_diag *diag)
{
    return pawl__fail_field(diag, PAWL_ERR_ARG, fault->field, "%s", fault->message);
}

static enum pawl_err read_job(void *ctx, const char *path, struct pawl_span text,
                              struct pawl_job_spec *out, struct pawl_diag *diag)
{
    struct flow_submission *submission = ctx;
    struct pawl__arena *arena = &submission->request->arena;
    struct pawl__json json;
    struct read_job *job = pawl__arena_calloc(arena, 1, sizeof *job);
    if (job) job->path = pawl__arena_dup(arena, path, strlen(path));
    if (!job || !job->path) return pawl__fail_nomem(diag);
    enum pawl_err err = pawl__json_parse_by(text, &PAWL__BODY_JSON_RULES, arena, &json, diag);
    if (err) return err;
    submission->rules.place = job->path;
    if (!pawl__envelope_read(&json, 0, &submission->rules, arena, &job->envelope,
                             &submission->fault)) {
        return to_diag(&submission->fault, diag);
    }
    *out = job->envelope.spec;
    *submission->last = job;
    submission->last = &job->next;
    submission->has_effects |= job->envelope.rate_limit.len || job->envelope.test_directive;
    return PAWL_OK;
}

/* The path of a member is in front of the message; a kind that an envelope's refusal has of its own
 * stays. */
static void refuse_text(struct flow_submission *submission, enum pawl_err err,
                        const struct pawl_diag *diag)
{
    struct pawl__fault fault;
    pawl__refuse_err(&fault, err, diag);
    if (submission->fault.kind) fault.kind = submission->fault.kind;
    if (err == PAWL_ERR_LIMIT && diag->field[0]) fault.kind = PAWL__FAULT_WORKFLOW; // too deep
    pawl__reply_fault(submission->request, &fault);
}

static bool read_flow(struct flow_submission *submission, struct pawl_flow_spec *out)
{
    struct pawl__request *request = submission->request;
    struct pawl__json json;
    struct pawl_diag diag = { 0 };
    const struct pawl__flow_rules rules = { .job = read_job,
                                            .ctx = submission,
                                            .arena = &request->arena,
                                            .now_ms = request->now_ms,
                                            .lenient = !submission->rules.strict };
    if (!pawl__request_json(request, false, &json)) return false;
    enum pawl_err err = pawl__flow_read_json(&json, &rules, out, &diag);
    if (err) {
        refuse_text(submission, err, &diag);
        return false;
    }
    const char *key = pawl__request_header(request, "idempotency-key");
    if (key && !out->idempotency_key) out->idempotency_key = key;
    return true;
}

/* ---- refusing ---- */

/* The path of the job that the library blames: of the field "[3].type", where 3 counts nodes. NULL:
 * none. */
static const char *blamed_path(const struct flow_submission *submission,
                               const struct pawl_flow_spec *spec, const struct pawl_diag *diag)
{
    size_t index = pawl__blamed_index(diag);
    const struct read_job *job = submission->first;
    for (size_t i = 0; i < spec->node_count && i <= index && index < spec->node_count; i++) {
        bool is_job = spec->nodes[i].kind == PAWL_FLOW_KIND_DEFAULT ||
                      spec->nodes[i].kind == PAWL_FLOW_KIND_JOB;
        if (!is_job) continue;
        if (i == index) return job->path;
        job = job->next;
    }
    return NULL;
}

/* What follows the "[3]" of a text; the whole text when there is none. */
static const char *behind_index(const char *text)
{
    const char *end = text[0] == '[' ? strchr(text, ']') : NULL;
    return end ? end + 1 : text;
}

static void refuse_flow(struct flow_submission *submission, const struct pawl_flow_spec *spec,
                        enum pawl_err err, const struct pawl_diag *diag)
{
    struct pawl__request *request = submission->request;
    struct pawl__fault fault;
    const char *path = blamed_path(submission, spec, diag);
    pawl__refuse_err(&fault, err, diag);
    if (path) {
        const char *field = behind_index(diag->field), *text = behind_index(fault.message);
        char message[sizeof fault.message];
        snprintf(fault.field, sizeof fault.field, "%s%s", path, field);
        snprintf(message, sizeof message, "%.48s%s%.300s", path, text == fault.message ? ": " : "",
                 text);
        memcpy(fault.message, message, sizeof message);
    } else if (err == PAWL_ERR_ARG) {
        fault.kind = PAWL__FAULT_WORKFLOW; // the nodes make no graph
    }
    pawl__reply_fault(request, &fault);
}

/* ---- the reply ---- */

/* The i-th job's id, for what is kept by it in this process. */
static bool keep_ids(struct flow_submission *submission, const struct pawl_flow_nodes *nodes)
{
    size_t count = 0;
    if (!submission->has_effects) return true;
    submission->ids =
        pawl__arena_calloc(&submission->request->arena, nodes->count + 1, sizeof *submission->ids);
    if (!submission->ids) return false;
    for (size_t i = 0; i < nodes->count; i++) {
        if (nodes->at[i].kind == PAWL_FLOW_KIND_JOB) submission->ids[count++] = nodes->at[i].id;
    }
    return true;
}

/* On the loop. */
static void put_in_force(struct pawl__request *request)
{
    const struct flow_submission *submission = request->state;
    size_t i = 0;
    for (const struct read_job *job = submission->first; job; job = job->next) {
        pawl__job_put_in_force(request, &job->envelope, submission->ids[i++]);
    }
    pawl__reply(request, submission->adds ? 200 : 201);
}

static void reply(struct flow_submission *submission, struct pawl_job_id id)
{
    struct pawl__request *request = submission->request;
    struct pawl__workflow shown = { .flows.at = NULL };
    if (!pawl__workflow_read(request, id, true, &shown)) return;
    if (!submission->adds) pawl__workflow_created(request->server, &shown.flows.at[0]);
    char text[PAWL_JOB_ID_TEXT_BYTES], location[64];
    pawl_job_id_text(id, text);
    int len = snprintf(location, sizeof location, "/ojs/v1/workflows/%s", text);
    char *kept = pawl__arena_dup(&request->arena, location, (size_t)len);
    if (kept && !submission->adds) pawl__reply_header(request, "Location", kept);
    pawl__workflow_print_twice(request, &shown);
    pawl__warnings_print(&request->reply, &submission->warnings);
    pawl__buf_add(&request->reply, "}", 1);
    if (!kept || (!submission->ids && !keep_ids(submission, &shown.nodes))) {
        request->reply.failed = true;
    }
    pawl__workflow_release(&shown);
    if (submission->has_effects && !request->reply.failed) {
        pawl__request_to_loop(request, put_in_force);
    } else {
        pawl__reply(request, submission->adds ? 200 : 201);
    }
}

/* NULL: answered. */
static struct flow_submission *begin(struct pawl__request *request, bool adds)
{
    struct flow_submission *submission = pawl__request_state(request, sizeof *submission);
    if (!submission) return NULL;
    submission->request = request;
    submission->rules = pawl__job_rules(request, &submission->warnings);
    submission->last = &submission->first;
    submission->adds = adds;
    return submission;
}

void pawl__on_workflow_submit(struct pawl__request *request)
{
    struct flow_submission *submission = begin(request, false);
    struct pawl_flow_spec spec;
    struct pawl_job_id id;
    struct pawl_diag diag = { 0 };
    if (!submission || !read_flow(submission, &spec)) return;
    enum pawl_err err = pawl_flow_submit(pawl__request_pawl(request), &spec, &id, &diag);
    if (err) {
        refuse_flow(submission, &spec, err, &diag);
    } else {
        reply(submission, id);
    }
}

/* ---- adding ---- */

/* What is said of a whole workflow cannot be said again. False: answered. */
static bool check_addition(struct pawl__request *request, const struct pawl_flow_spec *spec)
{
    const char *field = spec->id                ? "id"
                        : spec->name            ? "name"
                        : spec->layout          ? "type"
                        : spec->meta.len        ? "meta"
                        : spec->deadline_at_ms  ? "deadline"
                        : spec->unsealed        ? "unsealed"
                        : spec->idempotency_key ? "idempotency_key"
                                                : NULL;
    return !field || pawl__reply_invalid(request, field,
                                         "%s is for a new workflow: nodes are added as a list "
                                         "\"nodes\"",
                                         field);
}

/* The ids of the jobs among the nodes. */
static void choose_jobs(struct flow_submission *submission, const struct pawl_flow_spec *spec,
                        struct pawl_job_id *ids)
{
    size_t count = 0;
    for (size_t i = 0; i < spec->node_count; i++) {
        bool is_job = spec->nodes[i].kind == PAWL_FLOW_KIND_DEFAULT ||
                      spec->nodes[i].kind == PAWL_FLOW_KIND_JOB;
        if (is_job) ids[count++] = ids[i];
    }
    submission->ids = ids;
}

void pawl__on_workflow_add(struct pawl__request *request)
{
    struct pawl_job_id id;
    struct pawl_flow_spec spec;
    struct pawl_diag diag = { 0 };
    if (!pawl__workflow_id(request, &id)) return;
    struct flow_submission *submission = begin(request, true);
    if (!submission || !read_flow(submission, &spec) || !check_addition(request, &spec)) return;
    struct pawl_job_id *ids = pawl__arena_calloc(&request->arena, spec.node_count + 1, sizeof *ids);
    if (!ids) {
        pawl__reply_nomem(request);
        return;
    }
    const struct pawl_flow_addition addition = { .flow = id,
                                                 .nodes = spec.nodes,
                                                 .node_count = spec.node_count };
    enum pawl_err err = pawl_flow_add(pawl__request_pawl(request), &addition, ids, &diag);
    if (err == PAWL_ERR_NOT_FOUND) {
        pawl__workflow_refuse_unknown(request, id);
    } else if (err) {
        refuse_flow(submission, &spec, err, &diag);
    } else {
        choose_jobs(submission, &spec, ids);
        reply(submission, id);
    }
}
