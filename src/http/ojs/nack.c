/* A run failed: POST /ojs/v1/workers/nack and /ojs/v1/jobs/{id}/nack.
 *
 * What follows from a failure the library decides; here the report is read and told. The job in the
 * reply is read on the pool, because the failure is part of it. */
#include "base/time_text.h"
#include "http/local/local.h"
#include "http/ojs/envelope_out.h"
#include "http/ojs/ojs.h"
#include "http/ojs/nack_details.h"
#include "http/ojs/owner.h"
#include "http/ojs/redact.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES_MAX = 255, MESSAGE_BYTES_MAX = 65536, TRIES_MAX = 3 };

struct nack {
    struct pawl__owner owner;
    struct pawl_report report;
    int64_t run;
    const char *queue;         /* NULL: not known here */
    int64_t limited_until_ms;  /* rate_limit_until; 0: none */
    struct pawl_failed failed; /* what became of it */
    int64_t now_ms;
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
    pawl__reply_refuse(request, PAWL__FAULT_INVALID_REQUEST, "error.rate_limit_until",
                       "rate_limit_until must be a timestamp");
    return false;
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
        !pawl__owner_read(request, &json, &nack->owner)) {
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
    pawl__reply_refuse(request, PAWL__FAULT_INVALID_REQUEST, "error",
                       "error must be an object that says what went wrong");
    return false;
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
    pawl_job_id_text(nack->owner.id, id);
    pawl__buf_printf(out, "{\"job_id\":\"%s\",\"id\":\"%s\",\"state\":\"%s\",\"attempt\":%lld", id,
                     id, pawl_state_name(failed->to, PAWL_VOCABULARY_OJS),
                     (long long)failed->attempt);
    if (failed->to == PAWL_STATE_RETRYABLE) {
        add_instant(out, "next_attempt_at", failed->due_at_ms);
        pawl__buf_printf(out, ",\"retry_delay_ms\":%lld", (long long)failed->delay_ms);
    }
    if (pawl_state_is_terminal(failed->to)) {
        add_instant(out, "discarded_at", nack->now_ms);
        add_instant(out, "completed_at", nack->now_ms);
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
    job->finished_at_ms = pawl_state_is_terminal(job->state) ? nack->now_ms : 0;
}

static void reply_failed(struct pawl__request *request)
{
    struct nack *nack = request->state;
    struct pawl_story story = { 0 };
    bool known = pawl_story_get(request->server->pawl, nack->owner.id, &story, NULL) == PAWL_OK;
    if (known && story.job.state == nack->failed.to && story.job.finished_at_ms) {
        nack->now_ms = story.job.finished_at_ms;
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

/* ---- on the pool: the store has the last word ---- */

/* True: answered. False: the job changed hands while we looked; look again. */
static bool settle_active(struct pawl__request *request, const struct pawl_job *job)
{
    struct nack *nack = request->state;
    struct pawl_run run = { job->id, job->run };
    struct pawl_diag diag;
    if (!pawl__owner_check(request, &nack->owner, job->worker, job->attempt)) return true;
    enum pawl_err err = pawl_fail(request->server->pawl, &run, &nack->report, &nack->failed, &diag);
    if (err == PAWL_ERR_STALE || err == PAWL_ERR_NOT_FOUND) return false;
    nack->now_ms = request->now_ms;
    if (err) {
        pawl__reply_err(request, err, &diag);
    } else {
        reply_failed(request);
    }
    return true;
}

static bool settle_once(struct pawl__request *request)
{
    const struct nack *nack = request->state;
    struct pawl_jobs jobs = { 0 };
    struct pawl_diag diag;
    bool settled = true;
    enum pawl_err err = pawl_get(request->server->pawl, nack->owner.id, &jobs, &diag);
    if (err == PAWL_ERR_NOT_FOUND) {
        pawl__owner_refuse_unknown(request, &nack->owner);
    } else if (err) {
        pawl__reply_err(request, err, &diag);
    } else if (jobs.at[0].state == PAWL_STATE_ACTIVE) {
        settled = settle_active(request, &jobs.at[0]);
    } else {
        pawl__owner_refuse_state(request, &nack->owner, jobs.at[0].state);
    }
    pawl_jobs_release(&jobs);
    return settled;
}

static void settle(struct pawl__request *request)
{
    for (int i = 0; i < TRIES_MAX; i++) {
        if (settle_once(request)) return;
    }
    pawl__reply_refuse(request, PAWL__FAULT_CONFLICT, "", "the job changed hands meanwhile");
}

/* ---- on the loop: the usual way ---- */

static void pause_queue(struct pawl__request *request, const struct nack *nack)
{
    if (!nack->limited_until_ms || !nack->queue) return;
    int64_t now_ms = pawl__server_now(request->server);
    int64_t wait_ms = nack->limited_until_ms - nack->now_ms;
    pawl__rates_pause(request->server->rates, nack->queue, now_ms + wait_ms, now_ms);
}

static void on_failed(struct pawl__request *request, struct pawl_answer *answer)
{
    struct nack *nack = request->state;
    enum pawl_err err = answer->err;
    bool lost = err == PAWL_ERR_STALE || err == PAWL_ERR_NOT_FOUND;
    nack->now_ms = answer->now_ms;
    nack->failed = answer->failed;
    if (!err || lost) {
        pawl__leases_drop(request->server->leases, nack->owner.id, nack->run);
    }
    if (!err) {
        pause_queue(request, nack);
        pawl__request_to_pool(request, reply_failed);
    } else if (lost) {
        pawl__request_to_pool(request, settle);
    } else {
        pawl__reply_err(request, err, &answer->diag);
    }
    pawl_answer_free(answer);
}

static void post_failure(struct pawl__request *request, const struct pawl__lease *lease)
{
    struct nack *nack = request->state;
    struct pawl_run run = { lease->id, lease->run };
    struct pawl_diag diag;
    nack->run = lease->run;
    nack->queue = pawl__arena_dup(&request->arena, lease->queue, strlen(lease->queue));
    pawl__request_posting(request, on_failed);
    enum pawl_err err = pawl_post_fail(request->server->pawl, &run, &nack->report,
                                       pawl__request_answered, request, &diag);
    if (!err) return;
    pawl__request_not_posted(request);
    pawl__reply_err(request, err, &diag);
}

void pawl__on_nack(struct pawl__request *request)
{
    struct nack *nack = pawl__arena_calloc(&request->arena, 1, sizeof *nack);
    if (!nack) {
        pawl__reply_err(request, PAWL_ERR_NOMEM, NULL);
        return;
    }
    request->state = nack;
    if (!read_nack(request, nack)) return;
    const struct pawl__lease *lease = pawl__leases_find(request->server->leases, nack->owner.id);
    if (lease && pawl__owner_matches(&nack->owner, lease->worker, lease->attempt)) {
        post_failure(request, lease);
    } else {
        pawl__request_to_pool(request, settle);
    }
}
