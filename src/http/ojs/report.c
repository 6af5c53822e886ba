#include "http/ojs/report.h"
#include "http/ojs/jobs.h"

#include <stdlib.h>

enum { TRIES_MAX = 3 };

/* The run is over, or the job is gone. */
static bool is_lost(enum pawl_err err)
{
    return err == PAWL_ERR_STALE || err == PAWL_ERR_NOT_FOUND;
}

/* ---- on the pool: the store decides ---- */

/* True: answered. False: the job has got another owner meanwhile; the caller looks again. */
static bool settle_active(struct pawl__request *request, const struct pawl_job *job)
{
    struct pawl__report *report = request->state;
    struct pawl_run run = { job->id, job->run };
    struct pawl_diag diag;
    if (!pawl__owner_check(request, &report->owner, job->worker, job->attempt)) return true;
    enum pawl_err err = report->kind->call(request, &run, &diag);
    if (is_lost(err)) return false;
    report->now_ms = request->now_ms;
    if (!pawl__reply_if_err(request, err, &diag)) report->kind->reply(request);
    return true;
}

static bool settle_once(struct pawl__request *request)
{
    const struct pawl__report *report = request->state;
    const struct pawl__report_kind *kind = report->kind;
    struct pawl_jobs jobs = { 0 };
    bool settled = true;
    if (pawl__job_read(request, report->owner.id, &jobs)) {
        const struct pawl_job *job = &jobs.at[0];
        if (job->state == PAWL_STATE_ACTIVE) {
            settled = settle_active(request, job);
        } else if (kind->is_repeated && kind->is_repeated(request, job)) {
            kind->reply(request);
        } else {
            pawl__owner_refuse_state(request, &report->owner, job->state);
        }
    }
    pawl_jobs_release(&jobs);
    return settled;
}

static void settle(struct pawl__request *request)
{
    for (int i = 0; i < TRIES_MAX; i++) {
        if (settle_once(request)) return;
    }
    pawl__reply_refuse(request, PAWL__FAULT_CONFLICT, "",
                       "the job has got another owner meanwhile");
}

/* ---- on the loop: the fast path ---- */

static void on_answer(struct pawl__request *request, struct pawl_answer *answer)
{
    struct pawl__report *report = request->state;
    struct pawl_job *job = report->job; // replying may free the request
    report->now_ms = answer->now_ms;
    if (!answer->err || is_lost(answer->err)) {
        pawl__leases_drop(request->server->leases, report->owner.id, report->run);
    }
    if (!answer->err) {
        report->kind->posted(request, answer);
    } else if (is_lost(answer->err)) {
        pawl__request_to_pool(request, settle);
    } else {
        pawl__reply_err(request, answer->err, &answer->diag);
    }
    pawl_answer_free(answer);
    free(job);
}

void pawl__report_begin(struct pawl__request *request)
{
    struct pawl__report *report = request->state;
    struct pawl_diag diag;
    struct pawl__lease *lease = pawl__leases_find(request->server->leases, report->owner.id);
    // A lease that does not match may be out of date, so the store decides.
    if (!lease || !pawl__owner_matches(&report->owner, lease->worker, lease->attempt)) {
        pawl__request_to_pool(request, settle);
        return;
    }
    report->run = lease->run;
    pawl__request_posting(request, on_answer);
    enum pawl_err err = report->kind->post(request, lease, &diag);
    if (!err) return;
    pawl__request_not_posted(request);
    free(report->job);
    pawl__reply_err(request, err, &diag);
}
