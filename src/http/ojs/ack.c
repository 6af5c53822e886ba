/* A run succeeded: POST /ojs/v1/workers/ack and /ojs/v1/jobs/{id}/ack.
 *
 * On the fast path (report.h) the job in the reply is the one that was claimed, with its new state.
 */
#include "http/local/local.h"
#include "http/ojs/ojs.h"
#include "http/ojs/report.h"

enum { RESULT_BYTES_MAX = 1024 * 1024 };

struct ack {
    struct pawl__report report; /* first */
    struct pawl_span result;
};

#define S struct ack
static const struct pawl__member request_members[] = {
    PAWL__OWNER(S, report.owner),
    PAWL__MEMBER("result", JSON, S, result),
};
const struct pawl__shape pawl__ojs_ack_request_shape = PAWL__SHAPE(S, request_members);
#undef S

/* ---- the reply ---- */

struct reply {
    bool acknowledged;
    struct pawl_job_id id;
    enum pawl_state state;
    int64_t completed_at_ms;
    struct pawl__shown job;
};

#define S struct reply
static const struct pawl__member reply_members[] = {
    PAWL__MEMBER("acknowledged", BOOL, S, acknowledged, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("job_id", ID, S, id, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("id", ID, S, id, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("state", WORD, S, state, .words = &pawl__ojs_state_words, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("completed_at", INSTANT, S, completed_at_ms, .flags = PAWL__ALWAYS),
    PAWL__SHOWN("job", S, job),
};
const struct pawl__shape pawl__ojs_ack_reply_shape = PAWL__SHAPE(S, reply_members);
#undef S

/* `job` may be NULL. */
static void reply_with(struct pawl__request *request, int64_t completed_at_ms,
                       const struct pawl_job *job, const struct pawl__envelope_more *more)
{
    const struct ack *ack = request->state;
    const struct reply reply = { .acknowledged = true,
                                 .id = ack->report.owner.id,
                                 .state = PAWL_STATE_COMPLETED,
                                 .completed_at_ms = completed_at_ms,
                                 .job = { job, more } };
    pawl__reply_shape(request, 200, &pawl__ojs_ack_reply_shape, &reply);
}

static void reply_claimed(struct pawl__request *request)
{
    const struct ack *ack = request->state;
    struct pawl_job *job = ack->report.job;
    job->state = PAWL_STATE_COMPLETED;
    job->finished_at_ms = ack->report.now_ms;
    job->lease_until_ms = 0;
    job->result = ack->result;
    reply_with(request, ack->report.now_ms, job, NULL);
}

/* The ack has succeeded, so a job that cannot be read is only left out. On the pool. */
static void reply_completed(struct pawl__request *request)
{
    const struct ack *ack = request->state;
    struct pawl_story story = { 0 };
    if (pawl_story_get(request->server->pawl, ack->report.owner.id, &story, NULL)) {
        reply_with(request, ack->report.now_ms, NULL, NULL);
    } else {
        struct pawl__envelope_more more = pawl__more_of(request, &story);
        reply_with(request, story.job.finished_at_ms, &story.job, &more);
    }
    pawl_story_release(&story);
}

/* ---- the steps of the walk ---- */

static enum pawl_err post(struct pawl__request *request, struct pawl__lease *lease,
                          struct pawl_diag *diag)
{
    struct ack *ack = request->state;
    struct pawl_run run = { lease->id, lease->run };
    // Taken, since the lease may be dropped before the answer comes.
    ack->report.job = pawl__lease_take_job(request->server->leases, lease);
    return pawl_post_complete(request->server->pawl, &run, ack->result, pawl__request_answered,
                              request, diag);
}

static void posted(struct pawl__request *request, const struct pawl_answer *answer)
{
    const struct pawl_job *job = ((const struct ack *)request->state)->report.job;
    if (job && job->run == 1) { // it has no failures to read
        reply_claimed(request);
    } else {
        pawl__request_to_pool(request, reply_completed);
    }
}

static enum pawl_err call(struct pawl__request *request, const struct pawl_run *run,
                          struct pawl_diag *diag)
{
    const struct ack *ack = request->state;
    return pawl_complete(request->server->pawl, run, ack->result, diag);
}

/* Only an ack that names its owner can be recognised as a repeat. */
static bool is_repeated(const struct pawl__request *request, const struct pawl_job *job)
{
    const struct pawl__owner *owner = &((const struct ack *)request->state)->report.owner;
    return job->state == PAWL_STATE_COMPLETED && pawl__owner_is_known(owner) &&
           pawl__owner_matches(owner, job->worker, job->attempt);
}

static const struct pawl__report_kind kind = { post, posted, call, reply_completed, is_repeated };

void pawl__on_ack(struct pawl__request *request)
{
    const struct pawl__body how = { .optional = request->part_count > 0 };
    struct ack *ack = pawl__request_state(request, sizeof *ack);
    if (!ack) return;
    ack->report.kind = &kind;
    if (!pawl__request_read(request, &pawl__ojs_ack_request_shape, &how, ack) ||
        !pawl__owner_find(request, &ack->report.owner)) {
        return;
    }
    if (ack->result.len > RESULT_BYTES_MAX) {
        pawl__reply_refuse(request, PAWL__FAULT_RESULT_TOO_LARGE, "result",
                           "the result is longer than %d bytes; the job stays active",
                           RESULT_BYTES_MAX);
        return;
    }
    pawl__report_begin(request);
}
