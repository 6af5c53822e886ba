/* A run failed: POST /ojs/v1/workers/nack and /ojs/v1/jobs/{id}/nack.
 *
 * The library decides what follows from a failure; here the report is read, and the outcome
 * printed. The job in the reply is read on the pool, because the failure is part of it. */
#include "base/time_text.h"
#include "http/local/local.h"
#include "http/ojs/envelope_out.h"
#include "http/ojs/ojs.h"
#include "http/ojs/nack_details.h"
#include "http/ojs/redact.h"
#include "http/ojs/report.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES_MAX = 255, MESSAGE_BYTES_MAX = 65536 };

struct nack {
    struct pawl__report walk; /* first */
    struct pawl_report report;
    const char *queue;         /* NULL: not known here */
    int64_t limited_until_ms;  /* rate_limit_until; 0: none */
    struct pawl_failed failed; /* what became of it */
};

/* ---- the report ---- */

/* A report must not be refused because of how it is worded: the job would stay where it is. */
static char *trim(char *text, size_t bytes_max, bool one_line)
{
    text[pawl__nack_cut(text, strlen(text), bytes_max)] = '\0';
    for (char *at = text; one_line && *at; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f) *at = ' ';
    }
    return text;
}

/* Without secrets, in the arena; NULL: no memory. */
static char *redacted(struct pawl__request *request, struct pawl_span text, size_t *len)
{
    struct pawl__buf clean = { 0 };
    pawl__redact(&clean, text);
    char *copy = clean.failed ? NULL : pawl__arena_dup(&request->arena, clean.at, clean.len);
    *len = clean.len;
    pawl__buf_release(&clean);
    return copy;
}

/* NULL: not given, or not a string. */
static char *text_of(struct pawl__request *request, const struct pawl__json *json, uint32_t object,
                     const char *name)
{
    uint32_t token = pawl__json_member(json, object, name);
    if (!token || json->tokens[token].type != PAWL__JSON_STRING) return NULL;
    return pawl__json_string(json, token, &request->arena, NULL);
}

static const char *name_of(struct pawl__request *request, const struct pawl__json *json,
                           uint32_t object, const char *name)
{
    char *text = text_of(request, json, object, name);
    return text && *text ? trim(text, NAME_BYTES_MAX, true) : NULL;
}

static void read_details(struct pawl__request *request, const struct pawl__json *json,
                         uint32_t error, struct nack *nack)
{
    uint32_t details = pawl__json_member(json, error, "details");
    nack->report.details = pawl__nack_details(json, error, &request->arena);
    if (details && json->tokens[details].type == PAWL__JSON_OBJECT) {
        nack->report.error_class = name_of(request, json, details, "error_class");
    }
}

static bool read_limit(struct pawl__request *request, const struct pawl__json *json, uint32_t error,
                       struct nack *nack)
{
    const char *until = text_of(request, json, error, "rate_limit_until");
    if (!until || pawl__instant_parse(until, &nack->limited_until_ms) == PAWL_OK) return true;
    return pawl__reply_invalid(request, "error.rate_limit_until",
                               "rate_limit_until must be a timestamp");
}

static bool read_error(struct pawl__request *request, const struct pawl__json *json, uint32_t error,
                       struct nack *nack)
{
    struct pawl_report *report = &nack->report;
    uint32_t retryable = pawl__json_member(json, error, "retryable");
    char *message = text_of(request, json, error, "message");
    size_t len = message ? strlen(message) : 0;
    if (message) message = redacted(request, (struct pawl_span){ message, len }, &len);
    report->type = name_of(request, json, error, "type");
    report->code = name_of(request, json, error, "code");
    report->message = message ? trim(message, MESSAGE_BYTES_MAX, false) : NULL;
    report->not_retryable = retryable && json->tokens[retryable].type == PAWL__JSON_FALSE;
    read_details(request, json, error, nack);
    if (!report->code && !report->type && !report->error_class) report->code = "handler_error";
    return read_limit(request, json, error, nack);
}

static bool read_nack(struct pawl__request *request, struct nack *nack)
{
    struct pawl__json json;
    if (!pawl__request_json(request, false, &json) ||
        !pawl__owner_read(request, &json, &nack->walk.owner)) {
        return false;
    }
    uint32_t requeue = pawl__json_member(&json, 0, "requeue");
    uint32_t error = pawl__json_member(&json, 0, "error");
    nack->report.requeue = requeue && json.tokens[requeue].type == PAWL__JSON_TRUE;
    if (error && json.tokens[error].type == PAWL__JSON_OBJECT) {
        return read_error(request, &json, error, nack);
    }
    bool absent = !error || json.tokens[error].type == PAWL__JSON_NULL;
    if (absent && nack->report.requeue) return true;
    return pawl__reply_invalid(request, "error",
                               "error must be an object that says what went wrong");
}

/* ---- answering ---- */

static void add_instant(struct pawl__buf *out, const char *name, int64_t at_ms)
{
    pawl__buf_printf(out, ",\"%s\":", name);
    pawl__out_instant(out, at_ms);
}

static void begin_reply(struct pawl__request *request)
{
    const struct nack *nack = request->state;
    const struct pawl_failed *failed = &nack->failed;
    struct pawl__buf *out = &request->reply;
    char id[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(nack->walk.owner.id, id);
    pawl__buf_printf(out, "{\"job_id\":\"%s\",\"id\":\"%s\",\"state\":\"%s\",\"attempt\":%lld", id,
                     id, pawl_state_name(failed->to, PAWL_VOCABULARY_OJS),
                     (long long)failed->attempt);
    if (failed->to == PAWL_STATE_RETRYABLE) {
        add_instant(out, "next_attempt_at", failed->due_at_ms);
        pawl__buf_printf(out, ",\"retry_delay_ms\":%lld", (long long)failed->delay_ms);
    }
    if (pawl_state_is_terminal(failed->to)) {
        add_instant(out, "discarded_at", nack->walk.now_ms);
        add_instant(out, "completed_at", nack->walk.now_ms);
    }
}

/* Somebody may have fetched it again already: the reply tells how this run left it. */
static void show_as_left(struct pawl_job *job, const struct nack *nack)
{
    if (job->state == nack->failed.to) return;
    job->state = nack->failed.to;
    job->attempt = nack->failed.attempt;
    job->due_at_ms = nack->failed.due_at_ms;
    job->started_at_ms = 0;
    job->finished_at_ms = pawl_state_is_terminal(job->state) ? nack->walk.now_ms : 0;
}

static void reply_failed(struct pawl__request *request)
{
    struct nack *nack = request->state;
    struct pawl_story story = { 0 };
    bool known = pawl_story_get(request->server->pawl, nack->walk.owner.id, &story, NULL) ==
                 PAWL_OK;
    if (known && story.job.state == nack->failed.to && story.job.finished_at_ms) {
        nack->walk.now_ms = story.job.finished_at_ms;
    }
    begin_reply(request);
    if (known) {
        show_as_left(&story.job, nack);
        pawl__buf_printf(&request->reply, ",\"max_attempts\":%lld,\"job\":",
                         (long long)pawl__envelope_attempts_max(&story.job));
        pawl__job_print_story(&request->reply, &story, PAWL_STATE_NONE);
    }
    pawl__out(&request->reply, "}");
    pawl_story_release(&story);
    pawl__reply(request, 200);
}

/* ---- the steps of the walk ---- */

static enum pawl_err post(struct pawl__request *request, struct pawl__lease *lease,
                          struct pawl_diag *diag)
{
    struct nack *nack = request->state;
    struct pawl_run run = { lease->id, lease->run };
    nack->queue = pawl__arena_dup(&request->arena, lease->queue, strlen(lease->queue));
    return pawl_post_fail(request->server->pawl, &run, &nack->report, pawl__request_answered,
                          request, diag);
}

static void pause_queue(struct pawl__request *request, const struct nack *nack)
{
    if (!nack->limited_until_ms || !nack->queue) return;
    int64_t now_ms = pawl__server_now(request->server);
    int64_t wait_ms = nack->limited_until_ms - nack->walk.now_ms;
    pawl__rates_pause(request->server->rates, nack->queue, now_ms + wait_ms, now_ms);
}

static void posted(struct pawl__request *request, const struct pawl_answer *answer)
{
    struct nack *nack = request->state;
    nack->failed = answer->failed;
    pause_queue(request, nack);
    pawl__request_to_pool(request, reply_failed);
}

static enum pawl_err call(struct pawl__request *request, const struct pawl_run *run,
                          struct pawl_diag *diag)
{
    struct nack *nack = request->state;
    return pawl_fail(request->server->pawl, run, &nack->report, &nack->failed, diag);
}

static const struct pawl__report_kind kind = { post, posted, call, reply_failed, NULL };

void pawl__on_nack(struct pawl__request *request)
{
    struct nack *nack = pawl__request_state(request, sizeof *nack);
    if (!nack) return;
    nack->walk.kind = &kind;
    if (read_nack(request, nack)) pawl__report_begin(request);
}
