/* Progress: PUT and GET /ojs/v1/jobs/{id}/progress, POST /ojs/v1/workers/progress.
 *
 * Reports count as heartbeats: the run's lease is extended. Jobs that are not active keep what they
 * have, and the client is told so by the state in the reply. */
#include "http/ojs/checkpoint.h"
#include "http/local/local.h"
#include "http/ojs/envelope_out.h"
#include "http/events/events.h"
#include "http/ojs/owner.h"
#include "http/ojs/ojs.h"

#include <stdio.h>
#include <string.h>

#define LEASE_MS INT64_C(1800000) /* of runs that nobody remembers more of */

struct report {
    struct pawl__owner owner;
    double value; /* negative: not given */
    const char *message;
    struct pawl_span data;
    struct pawl_span checkpoint; /* the state to go on from; empty: none */
    int64_t lease_ms;            /* what the claim gave; 0: not known here */
};

/* ---- answering ---- */

/* No more digits than it takes. */
static void add_number(struct pawl__buf *out, double value)
{
    char text[32];
    for (int digits = 1; digits <= 17; digits++) {
        double back;
        struct pawl__arena arena = { 0 };
        struct pawl__json json;
        snprintf(text, sizeof text, "%.*g", digits, value);
        bool same = pawl__json_parse((struct pawl_span){ text, strlen(text) }, 1, &arena, &json,
                                     NULL) == PAWL_OK &&
                    pawl__json_double(&json, 0, &back) && back == value;
        pawl__arena_release(&arena);
        if (same) break;
    }
    pawl__buf_add_text(out, text);
}

/* A job that ended well has got to the end, if it told of its progress at all. */
static void print_progress(struct pawl__buf *out, const struct pawl_story *story)
{
    char id[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(story->job.id, id);
    pawl__buf_printf(out, "{\"job_id\":\"%s\",\"state\":\"%s\",\"progress\":", id,
                     pawl_state_name(story->job.state, PAWL_VOCABULARY_OJS));
    if (story->progress < 0) {
        pawl__out(out, "null");
    } else {
        add_number(out, story->job.state == PAWL_STATE_COMPLETED ? 1 : story->progress);
    }
    if (story->progress_message && story->progress_message[0]) {
        pawl__out(out, ",\"message\":");
        pawl__buf_add_json(out, story->progress_message, strlen(story->progress_message));
    }
    if (story->progress_data.len) {
        pawl__out(out, ",\"data\":");
        pawl__buf_add(out, story->progress_data.at, story->progress_data.len);
    }
    if (story->progress_at_ms) {
        pawl__out(out, ",\"updated_at\":");
        pawl__out_instant(out, story->progress_at_ms);
    }
    pawl__out(out, "}");
}

static void reply_story(struct pawl__request *request, struct pawl_job_id id)
{
    struct pawl_story story = { 0 };
    if (pawl__story_read(request, id, &story)) {
        print_progress(&request->reply, &story);
        pawl__reply(request, 200);
    }
    pawl_story_release(&story);
}

void pawl__on_progress_get(struct pawl__request *request)
{
    struct pawl_job_id id;
    if (pawl__request_job_id(request, 0, &id)) reply_story(request, id);
}

/* ---- reporting: on the pool ---- */

static void extend(struct pawl__request *request, const struct report *report,
                   const struct pawl_job *job)
{
    struct pawl_run run = { job->id, job->run };
    enum pawl_err result;
    struct pawl_extension extension = { .runs = &run, .count = 1, .timed = true };
    extension.lease_ms = report->lease_ms ? report->lease_ms
                         : job->lease_ms  ? job->lease_ms
                                          : LEASE_MS;
    // only ever longer: the claim may have been given more than is known here
    if (job->lease_until_ms >= request->now_ms + extension.lease_ms) return;
    (void)!pawl_extend(request->server->pawl, &extension, &result, NULL);
}

static void note(struct pawl__request *request, const struct report *report,
                 const struct pawl_job *job)
{
    struct pawl__buf data = { 0 };
    if (report->message) {
        pawl__out(&data, "\"message\":");
        pawl__buf_add_json(&data, report->message, strlen(report->message));
    }
    if (report->data.len) {
        pawl__buf_printf(&data, "%s\"data\":", data.len ? "," : "");
        pawl__buf_add(&data, report->data.at, report->data.len);
    }
    struct pawl__note news = { .kind = PAWL__EVENT_PROGRESS,
                               .job = &job->id,
                               .queue = job->queue,
                               .job_type = job->type,
                               .progress = report->value,
                               .data = { data.at, data.len } };
    if (!data.failed) pawl__events_note(request->server, &news);
    pawl__buf_release(&data);
}

/* True: the job is active and theirs, so write. */
static bool find_job(struct pawl__request *request, const struct report *report,
                     struct pawl_jobs *jobs)
{
    if (!pawl__job_read(request, report->owner.id, jobs)) return false;
    const struct pawl_job *job = &jobs->at[0];
    if (job->state == PAWL_STATE_ACTIVE) {
        return pawl__owner_check(request, &report->owner, job->worker, job->attempt);
    }
    reply_story(request, report->owner.id);
    return false;
}

/* Progress first: should the checkpoint fail, the client hears of it and repeats both. */
static enum pawl_err write_report(struct pawl__request *request, const struct report *report,
                                  const struct pawl_run *run, struct pawl_diag *diag)
{
    struct pawl *pawl = request->server->pawl;
    struct pawl_progress progress = { .value = report->value,
                                      .message = report->message,
                                      .data = report->data };
    enum pawl_err err = pawl_progress(pawl, run, &progress, diag);
    if (err || !report->checkpoint.len) return err;
    struct pawl__buf stored = { 0 };
    pawl__checkpoint_wrap(&stored, &(struct pawl__saved){ .state = report->checkpoint });
    struct pawl_span state = { stored.at, stored.len };
    err = stored.failed ? PAWL_ERR_NOMEM : pawl_checkpoint(pawl, run, state, NULL, diag);
    pawl__buf_release(&stored);
    return err;
}

static void report_on_pool(struct pawl__request *request)
{
    const struct report *report = request->state;
    struct pawl_jobs jobs = { 0 };
    struct pawl_diag diag = { 0 };
    if (find_job(request, report, &jobs)) {
        const struct pawl_job *job = &jobs.at[0];
        struct pawl_run run = { job->id, job->run };
        enum pawl_err err = write_report(request, report, &run, &diag);
        bool over = err == PAWL_ERR_STALE || err == PAWL_ERR_STATE || err == PAWL_ERR_NOT_FOUND;
        if (!err) {
            extend(request, report, job);
            note(request, report, job);
        }
        if (!err || over) {
            reply_story(request, job->id); // over meanwhile: ignored, as if it had not been active
        } else {
            pawl__reply_err(request, err, &diag);
        }
    }
    pawl_jobs_release(&jobs);
}

/* ---- reading a report: on the loop ---- */

/* `name` counts up to `whole`. Clamped, as OJS has it. */
static bool read_value(struct pawl__request *request, const struct pawl__json *json,
                       const char *name, double whole, double *out)
{
    double value;
    uint32_t token = pawl__json_member(json, 0, name);
    if (!token || json->tokens[token].type == PAWL__JSON_NULL) return true;
    if (!pawl__json_double(json, token, &value)) {
        return pawl__reply_invalid(request, name, "%s must be a number", name);
    }
    value /= whole;
    *out = value < 0 ? 0 : value > 1 ? 1 : value;
    return true;
}

static struct pawl_span given(const struct pawl__json *json, const char *name)
{
    uint32_t token = pawl__json_member(json, 0, name);
    bool absent = !token || json->tokens[token].type == PAWL__JSON_NULL;
    return absent ? (struct pawl_span){ NULL, 0 } : pawl__json_span(json, token);
}

static bool read_report(struct pawl__request *request, struct report *report)
{
    struct pawl__json json;
    report->value = -1;
    if (!pawl__request_json(request, false, &json) ||
        !pawl__owner_read(request, &json, &report->owner) ||
        !read_value(request, &json, "percentage", 100, &report->value) ||
        !read_value(request, &json, "progress", 1, &report->value) ||
        !pawl__body_text(request, &json, 0, "message", &report->message)) {
        return false;
    }
    report->data = given(&json, "data");
    report->checkpoint = given(&json, "checkpoint");
    if (report->value >= 0 || report->data.len) return true;
    return pawl__reply_invalid(request, "progress", "progress or data must be given");
}

void pawl__on_progress_put(struct pawl__request *request)
{
    struct report *report = pawl__request_state(request, sizeof *report);
    if (!report) return;
    if (!read_report(request, report)) return;
    const struct pawl__lease *lease = pawl__leases_find(request->server->leases, report->owner.id);
    if (lease) report->lease_ms = lease->lease_ms;
    pawl__request_to_pool(request, report_on_pool);
}
