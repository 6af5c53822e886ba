/* Progress: PUT and GET /ojs/v1/jobs/{id}/progress, POST /ojs/v1/workers/progress.
 *
 * A report counts as a heartbeat: it extends the run's lease. If the job is not active, the report
 * is ignored, and the reply shows the job's state. */
#include "http/events/events.h"
#include "http/local/local.h"
#include "http/ojs/checkpoint.h"
#include "http/ojs/ojs.h"
#include "http/ojs/owner.h"

#include <float.h>
#include <string.h>

#define LEASE_MS INT64_C(1800000) /* of runs whose claim is not known here */
#define NOT_GIVEN (-DBL_MAX)

struct report {
    struct pawl__owner owner;
    double value, percentage; /* NOT_GIVEN: not given; later from 0 to 1, negative: none */
    const char *message;
    struct pawl_span data;
    struct pawl_span checkpoint; /* a state to resume from; empty: none */
    int64_t lease_ms;            /* of the claim; 0: not known here */
};

#define S struct report
static const struct pawl__member request_members[] = {
    PAWL__OWNER(S, owner),
    PAWL__MEMBER("percentage", REAL, S, percentage),
    PAWL__MEMBER("progress", REAL, S, value),
    PAWL__MEMBER("message", TEXT, S, message),
    PAWL__MEMBER("data", JSON, S, data),
    PAWL__MEMBER("checkpoint", JSON, S, checkpoint),
};
const struct pawl__shape pawl__ojs_progress_request_shape = PAWL__SHAPE(S, request_members);
#undef S

/* ---- the reply ---- */

struct reply {
    struct pawl_job_id id;
    enum pawl_state state;
    double value; /* negative: none */
    const char *message;
    struct pawl_span data;
    int64_t updated_at_ms;
};

#define S struct reply
static const struct pawl__member reply_members[] = {
    PAWL__MEMBER("job_id", ID, S, id, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("state", WORD, S, state, .words = &pawl__ojs_state_words, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("progress", REAL, S, value, .flags = PAWL__NEGATIVE | PAWL__NULLABLE),
    PAWL__MEMBER("message", NAME, S, message),
    PAWL__MEMBER("data", JSON, S, data),
    PAWL__MEMBER("updated_at", INSTANT, S, updated_at_ms),
};
const struct pawl__shape pawl__ojs_progress_reply_shape = PAWL__SHAPE(S, reply_members);
#undef S

/* A completed job is at the end, if it ever reported progress. */
static void reply_story(struct pawl__request *request, struct pawl_job_id id)
{
    struct pawl_story story = { 0 };
    if (pawl__story_read(request, id, &story)) {
        bool done = story.progress >= 0 && story.job.state == PAWL_STATE_COMPLETED;
        const struct reply reply = { .id = story.job.id,
                                     .state = story.job.state,
                                     .value = done ? 1 : story.progress,
                                     .message = story.progress_message,
                                     .data = story.progress_data,
                                     .updated_at_ms = story.progress_at_ms };
        pawl__reply_shape(request, 200, &pawl__ojs_progress_reply_shape, &reply);
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
    // Never shortened: the claim may have asked for a longer lease than is known here.
    if (job->lease_until_ms >= request->now_ms + extension.lease_ms) return;
    (void)!pawl_extend(request->server->pawl, &extension, &result, NULL);
}

static void note(struct pawl__request *request, const struct report *report,
                 const struct pawl_job *job)
{
    static const struct pawl__shape event_shape = { .members = reply_members + 3, .count = 2 };
    const struct reply told = { .message = report->message, .data = report->data };
    struct pawl__buf data = { 0 };
    bool any = false;
    pawl__shape_print_members(&(struct pawl__shape_writer){ .out = &data }, &event_shape, &told,
                              &any);
    struct pawl__note news = { .kind = PAWL__EVENT_PROGRESS,
                               .job = &job->id,
                               .queue = job->queue,
                               .job_type = job->type,
                               .progress = report->value,
                               .data = { data.at, data.len } };
    if (!data.failed) pawl__events_note(request->server, &news);
    pawl__buf_release(&data);
}

/* True: the job is active and the client owns its run. */
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

/* If the checkpoint fails after the progress, the client gets the error and repeats both. */
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
        if (!err || over) { // a run that is over by now is treated like a job that is not active
            reply_story(request, job->id);
        } else {
            pawl__reply_err(request, err, &diag);
        }
    }
    pawl_jobs_release(&jobs);
}

/* ---- the request: on the loop ---- */

/* Limited to 0..1, as OJS requires. "progress" takes precedence over "percentage". */
static void limit_value(struct report *report)
{
    if (report->value == NOT_GIVEN && report->percentage != NOT_GIVEN)
        report->value = report->percentage / 100;
    if (report->value == NOT_GIVEN) {
        report->value = -1;
    } else {
        report->value = report->value < 0 ? 0 : report->value > 1 ? 1 : report->value;
    }
}

void pawl__on_progress_put(struct pawl__request *request)
{
    struct report *report = pawl__request_state(request, sizeof *report);
    if (!report) return;
    report->value = report->percentage = NOT_GIVEN;
    if (!pawl__request_read(request, &pawl__ojs_progress_request_shape, NULL, report) ||
        !pawl__owner_find(request, &report->owner)) {
        return;
    }
    limit_value(report);
    if (report->value < 0 && !report->data.len) {
        pawl__reply_invalid(request, "progress", "\"progress\" or \"data\" must be given");
        return;
    }
    const struct pawl__lease *lease = pawl__leases_find(request->server->leases, report->owner.id);
    if (lease) report->lease_ms = lease->lease_ms;
    pawl__request_to_pool(request, report_on_pool);
}
