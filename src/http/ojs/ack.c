/* A run ended well: POST /ojs/v1/workers/ack and /ojs/v1/jobs/{id}/ack.
 *
 * On the fast path (report.h) the job in the reply is the one that was claimed, with its new state.
 */
#include "http/local/local.h"
#include "http/ojs/envelope_out.h"
#include "http/ojs/ojs.h"
#include "http/ojs/report.h"

#include <stdlib.h>

enum { RESULT_BYTES_MAX = 1024 * 1024 };

struct ack {
    struct pawl__report report; /* first */
    struct pawl_span result;
};

/* ---- answering ---- */

/* Up to the job, which the caller prints. */
static void begin_reply(struct pawl__request *request, int64_t completed_at_ms)
{
    const struct ack *ack = request->state;
    struct pawl__buf *out = &request->reply;
    char id[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(ack->report.owner.id, id);
    pawl__out(out, "{\"acknowledged\":true,\"job_id\":\"");
    pawl__buf_add(out, id, sizeof id - 1);
    pawl__out(out, "\",\"id\":\"");
    pawl__buf_add(out, id, sizeof id - 1);
    pawl__out(out, "\",\"state\":\"completed\",\"completed_at\":");
    pawl__out_instant(out, completed_at_ms);
}

static void reply_claimed(struct pawl__request *request)
{
    const struct ack *ack = request->state;
    struct pawl_job *job = ack->report.job;
    job->state = PAWL_STATE_COMPLETED;
    job->finished_at_ms = ack->report.now_ms;
    job->lease_until_ms = 0;
    job->result = ack->result;
    begin_reply(request, ack->report.now_ms);
    pawl__out(&request->reply, ",\"job\":");
    pawl__envelope_print(&request->reply, job, NULL);
    pawl__out(&request->reply, "}");
    pawl__reply(request, 200);
}

/* It is done; only the job is missing. Should it be gone already, that is no fault. On the pool. */
static void reply_completed(struct pawl__request *request)
{
    const struct ack *ack = request->state;
    struct pawl_story story = { 0 };
    bool known = pawl_story_get(request->server->pawl, ack->report.owner.id, &story, NULL) ==
                 PAWL_OK;
    begin_reply(request, known ? story.job.finished_at_ms : ack->report.now_ms);
    if (known) {
        pawl__out(&request->reply, ",\"job\":");
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
    struct ack *ack = request->state;
    struct pawl_run run = { lease->id, lease->run };
    // ours from now on: the lease may be dropped before the answer comes
    ack->report.job = pawl__lease_take_job(request->server->leases, lease);
    return pawl_post_complete(request->server->pawl, &run, ack->result, pawl__request_answered,
                              request, diag);
}

static void posted(struct pawl__request *request, const struct pawl_answer *answer)
{
    const struct pawl_job *job = ((const struct ack *)request->state)->report.job;
    if (job && job->run == 1) { // it never failed: there is nothing to read
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

/* An ack that does not say whose it is might be from anybody. */
static bool is_repeated(const struct pawl__request *request, const struct pawl_job *job)
{
    const struct pawl__owner *owner = &((const struct ack *)request->state)->report.owner;
    return job->state == PAWL_STATE_COMPLETED && pawl__owner_is_known(owner) &&
           pawl__owner_matches(owner, job->worker, job->attempt);
}

static const struct pawl__report_kind kind = { post, posted, call, reply_completed, is_repeated };

/* ---- the request ---- */

static bool read_ack(struct pawl__request *request, struct ack *ack)
{
    struct pawl__json json;
    if (!pawl__request_json(request, request->part_count > 0, &json) ||
        !pawl__owner_read(request, &json, &ack->report.owner)) {
        return false;
    }
    uint32_t result = pawl__json_member(&json, 0, "result");
    if (result && json.tokens[result].type != PAWL__JSON_NULL) {
        ack->result = pawl__json_span(&json, result);
    }
    if (ack->result.len <= RESULT_BYTES_MAX) return true;
    return pawl__reply_refuse(request, PAWL__FAULT_RESULT_TOO_LARGE, "result",
                              "the result is longer than %d bytes; the job stays active",
                              RESULT_BYTES_MAX);
}

void pawl__on_ack(struct pawl__request *request)
{
    struct ack *ack = pawl__request_state(request, sizeof *ack);
    if (!ack) return;
    ack->report.kind = &kind;
    if (read_ack(request, ack)) pawl__report_begin(request);
}
