/* A run ended well: POST /ojs/v1/workers/ack and /ojs/v1/jobs/{id}/ack.
 *
 * The usual way asks the store nothing: the claim is known here, the completion is posted, and the
 * job in the reply is the one that was claimed, with its new state. When the claim is not known, or
 * the store says that it is over, the pool looks at the job and decides. */
#include "http/local/local.h"
#include "http/ojs/envelope_out.h"
#include "http/ojs/ojs.h"
#include "http/ojs/owner.h"

#include <stdlib.h>

enum { RESULT_BYTES_MAX = 1024 * 1024, TRIES_MAX = 3 };

struct ack {
    struct pawl__owner owner;
    int64_t run;
    struct pawl_span result;
    struct pawl_job *job; /* as it was claimed; ours to free; NULL: not kept */
    int64_t now_ms;       /* when it was completed */
};

/* ---- answering ---- */

/* Up to the job, which the caller prints. */
static void begin_reply(struct pawl__request *request, int64_t completed_at_ms)
{
    const struct ack *ack = request->state;
    struct pawl__buf *out = &request->reply;
    char id[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(ack->owner.id, id);
    pawl__out(out, "{\"acknowledged\":true,\"job_id\":\"");
    pawl__buf_add(out, id, sizeof id - 1);
    pawl__out(out, "\",\"id\":\"");
    pawl__buf_add(out, id, sizeof id - 1);
    pawl__out(out, "\",\"state\":\"completed\",\"completed_at\":");
    pawl__out_instant(out, completed_at_ms);
}

static void reply_story(struct pawl__request *request, const struct pawl_story *story)
{
    begin_reply(request, story->job.finished_at_ms);
    pawl__out(&request->reply, ",\"job\":");
    pawl__job_print_story(&request->reply, story, PAWL_STATE_NONE);
    pawl__out(&request->reply, "}");
    pawl__reply(request, 200);
}

static void reply_claimed(struct pawl__request *request)
{
    struct ack *ack = request->state;
    ack->job->state = PAWL_STATE_COMPLETED;
    ack->job->finished_at_ms = ack->now_ms;
    ack->job->lease_until_ms = 0;
    ack->job->result = ack->result;
    begin_reply(request, ack->now_ms);
    pawl__out(&request->reply, ",\"job\":");
    pawl__envelope_print(&request->reply, ack->job, NULL);
    pawl__out(&request->reply, "}");
    free(ack->job);
    ack->job = NULL;
    pawl__reply(request, 200);
}

/* It is done; only the job is missing. Should it be gone already, that is no fault. */
static void reply_completed(struct pawl__request *request)
{
    const struct ack *ack = request->state;
    struct pawl_story story = { 0 };
    if (pawl_story_get(request->server->pawl, ack->owner.id, &story, NULL) == PAWL_OK) {
        reply_story(request, &story);
    } else {
        begin_reply(request, ack->now_ms);
        pawl__out(&request->reply, "}");
        pawl__reply(request, 200);
    }
    pawl_story_release(&story);
}

static void refuse_result(struct pawl__request *request)
{
    pawl__reply_refuse(request, PAWL__FAULT_RESULT_TOO_LARGE, "result",
                       "the result is longer than %d bytes; the job stays active",
                       RESULT_BYTES_MAX);
}

/* ---- on the pool: the store has the last word ---- */

/* True: answered. False: the job changed hands while we looked; look again. */
static bool settle_active(struct pawl__request *request, const struct pawl_job *job)
{
    const struct ack *ack = request->state;
    struct pawl_run run = { job->id, job->run };
    struct pawl_diag diag;
    if (!pawl__owner_check(request, &ack->owner, job->worker, job->attempt)) return true;
    enum pawl_err err = pawl_complete(request->server->pawl, &run, ack->result, &diag);
    if (err == PAWL_ERR_STALE || err == PAWL_ERR_NOT_FOUND) return false;
    if (err) {
        pawl__reply_err(request, err, &diag);
    } else {
        reply_completed(request);
    }
    return true;
}

/* An ack that is repeated by its owner is answered as the first was; without a word of who he is,
 * it might be anybody's. */
static bool is_repeated(const struct ack *ack, const struct pawl_job *job)
{
    return job->state == PAWL_STATE_COMPLETED && pawl__owner_is_known(&ack->owner) &&
           pawl__owner_matches(&ack->owner, job->worker, job->attempt);
}

static bool settle_once(struct pawl__request *request)
{
    const struct ack *ack = request->state;
    struct pawl_story story = { 0 };
    struct pawl_diag diag;
    bool settled = true;
    enum pawl_err err = pawl_story_get(request->server->pawl, ack->owner.id, &story, &diag);
    if (err == PAWL_ERR_NOT_FOUND) {
        pawl__owner_refuse_unknown(request, &ack->owner);
    } else if (err) {
        pawl__reply_err(request, err, &diag);
    } else if (story.job.state == PAWL_STATE_ACTIVE) {
        settled = settle_active(request, &story.job);
    } else if (is_repeated(ack, &story.job)) {
        reply_story(request, &story);
    } else {
        pawl__owner_refuse_state(request, &ack->owner, story.job.state);
    }
    pawl_story_release(&story);
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

static void on_completed(struct pawl__request *request, struct pawl_answer *answer)
{
    struct ack *ack = request->state;
    enum pawl_err err = answer->err;
    struct pawl_diag diag = answer->diag;
    ack->now_ms = answer->now_ms;
    pawl_answer_free(answer);
    if (!err || err == PAWL_ERR_STALE || err == PAWL_ERR_NOT_FOUND) {
        pawl__leases_drop(request->server->leases, ack->owner.id, ack->run);
    }
    if (!err && ack->job && ack->job->run == 1) { // it never failed: there is nothing to read
        reply_claimed(request);
        return;
    }
    free(ack->job);
    ack->job = NULL;
    if (!err) {
        pawl__request_to_pool(request, reply_completed);
    } else if (err == PAWL_ERR_STALE || err == PAWL_ERR_NOT_FOUND) {
        pawl__request_to_pool(request, settle);
    } else {
        pawl__reply_err(request, err, &diag);
    }
}

static void post_completion(struct pawl__request *request, struct pawl__lease *lease)
{
    struct ack *ack = request->state;
    struct pawl_run run = { lease->id, lease->run };
    struct pawl_diag diag;
    ack->run = lease->run;
    // ours from now on: the claim may be dropped before the answer comes
    ack->job = pawl__lease_take_job(request->server->leases, lease);
    pawl__request_posting(request, on_completed);
    enum pawl_err err = pawl_post_complete(request->server->pawl, &run, ack->result,
                                           pawl__request_answered, request, &diag);
    if (!err) return;
    pawl__request_not_posted(request);
    free(ack->job);
    pawl__reply_err(request, err, &diag);
}

static bool read_ack(struct pawl__request *request, struct ack *ack)
{
    struct pawl__json json;
    if (!pawl__request_json(request, request->part_count > 0, &json) ||
        !pawl__owner_read(request, &json, &ack->owner)) {
        return false;
    }
    uint32_t result = pawl__json_member(&json, 0, "result");
    if (result && json.tokens[result].type != PAWL__JSON_NULL) {
        ack->result = pawl__json_span(&json, result);
    }
    if (ack->result.len <= RESULT_BYTES_MAX) return true;
    refuse_result(request);
    return false;
}

void pawl__on_ack(struct pawl__request *request)
{
    struct ack *ack = pawl__arena_calloc(&request->arena, 1, sizeof *ack);
    if (!ack) {
        pawl__reply_err(request, PAWL_ERR_NOMEM, NULL);
        return;
    }
    request->state = ack;
    if (!read_ack(request, ack)) return;
    struct pawl__lease *lease = pawl__leases_find(request->server->leases, ack->owner.id);
    // a claim that does not fit may be an old one: then the store knows better
    if (lease && pawl__owner_matches(&ack->owner, lease->worker, lease->attempt)) {
        post_completion(request, lease);
    } else {
        pawl__request_to_pool(request, settle);
    }
}
