/* Checkpoints: saving, reading and deleting them under every path that clients use, and their form
 * in the store. */
#include "http/ojs/checkpoint.h"
#include "base/json.h"
#include "http/local/local.h"
#include "http/ojs/envelope_out.h"
#include "http/ojs/owner.h"
#include "http/ojs/ojs.h"

#include <string.h>

/* ---- their form in the store ---- */

#define WRAPPER "{\"$pawl_checkpoint\":1,\"state\":"

static bool is_wrapped(struct pawl_span stored)
{
    return stored.len > sizeof WRAPPER - 1 && memcmp(stored.at, WRAPPER, sizeof WRAPPER - 1) == 0;
}

static struct pawl_span member(const struct pawl__json *json, const char *name)
{
    uint32_t token = pawl__json_member(json, 0, name);
    return token ? pawl__json_span(json, token) : (struct pawl_span){ NULL, 0 };
}

struct pawl__saved pawl__checkpoint_unwrap(struct pawl_span stored, struct pawl__arena *arena)
{
    struct pawl__json json;
    if (!is_wrapped(stored) ||
        pawl__json_parse(stored, PAWL_JSON_DEPTH_MAX + 1, arena, &json, NULL) != PAWL_OK) {
        return (struct pawl__saved){ .state = stored };
    }
    return (struct pawl__saved){ .state = member(&json, "state"),
                                 .metadata = member(&json, "metadata"),
                                 .step_index = member(&json, "step_index") };
}

static void add_member(struct pawl__buf *out, const char *name, struct pawl_span value)
{
    if (!value.len) return;
    pawl__buf_printf(out, ",\"%s\":", name);
    pawl__buf_add(out, value.at, value.len);
}

void pawl__checkpoint_wrap(struct pawl__buf *out, const struct pawl__saved *saved)
{
    bool plain = !saved->metadata.len && !saved->step_index.len && !is_wrapped(saved->state);
    if (plain) {
        pawl__buf_add(out, saved->state.at, saved->state.len);
        return;
    }
    pawl__out(out, WRAPPER);
    pawl__buf_add(out, saved->state.at, saved->state.len);
    add_member(out, "metadata", saved->metadata);
    add_member(out, "step_index", saved->step_index);
    pawl__out(out, "}");
}

/* ---- answering ---- */

/* "job_id":...,"sequence":...,"created_at":...,"state":...: what replies hold twice. */
static void add_checkpoint(struct pawl__buf *out, struct pawl_job_id job, int64_t sequence,
                           int64_t at_ms, const struct pawl__saved *saved)
{
    char id[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(job, id);
    pawl__buf_printf(out, "\"job_id\":\"%s\",\"sequence\":%lld,\"created_at\":", id,
                     (long long)sequence);
    pawl__out_instant(out, at_ms);
    add_member(out, "state", saved->state);
    add_member(out, "metadata", saved->metadata);
    add_member(out, "step_index", saved->step_index);
}

static void print_both(struct pawl__buf *out, struct pawl_job_id job, int64_t sequence,
                       int64_t at_ms, const struct pawl__saved *saved)
{
    add_checkpoint(out, job, sequence, at_ms, saved);
    pawl__out(out, ",\"checkpoint\":{");
    add_checkpoint(out, job, sequence, at_ms, saved);
    pawl__out(out, "}");
}

/* ---- saving ---- */

struct save {
    struct pawl__owner owner;
    struct pawl__saved saved;
    int64_t run; /* 0: whichever it is */
    int64_t sequence;
    enum pawl_err err;
    struct pawl_diag diag;
    enum pawl_state state; /* when it has ended */
};

static struct pawl_span given(const struct pawl__json *json, const char *name)
{
    uint32_t token = pawl__json_member(json, 0, name);
    bool absent = !token || json->tokens[token].type == PAWL__JSON_NULL;
    return absent ? (struct pawl_span){ NULL, 0 } : pawl__json_span(json, token);
}

static bool read_save(struct pawl__request *request, struct save *save)
{
    struct pawl__json json;
    if (!pawl__request_json(request, false, &json) ||
        !pawl__owner_read(request, &json, &save->owner)) {
        return false;
    }
    uint32_t state = pawl__json_member(&json, 0, "state");
    if (!state) {
        return pawl__reply_invalid(request, "state", "state is missing");
    }
    save->saved = (struct pawl__saved){ .state = pawl__json_span(&json, state),
                                        .metadata = given(&json, "metadata"),
                                        .step_index = given(&json, "step_index") };
    return true;
}

/* Which run is theirs, if they say who they are. A job that runs no more is nobody's: who once had
 * it must not overwrite what its successor will go on from. False: not theirs, answered. */
static bool find_run(struct pawl__request *request, struct save *save)
{
    if (!pawl__owner_is_known(&save->owner)) return true;
    struct pawl_jobs jobs = { 0 };
    save->err = pawl_get(request->server->pawl, save->owner.id, &jobs, &save->diag);
    const struct pawl_job *job = !save->err && jobs.count ? &jobs.at[0] : NULL;
    bool theirs = true;
    if (job && job->state == PAWL_STATE_ACTIVE) {
        theirs = pawl__owner_check(request, &save->owner, job->worker, job->attempt);
        save->run = job->run;
    } else if (job) {
        pawl__owner_refuse_state(request, &save->owner, job->state);
        theirs = false;
    }
    pawl_jobs_release(&jobs);
    return theirs;
}

/* Back on the loop; the reply is ready. */
static void saved(struct pawl__request *request)
{
    const struct save *save = request->state;
    pawl__leases_mark(request->server->leases, save->owner.id);
    pawl__reply(request, 200);
}

static void refuse_save(struct pawl__request *request, const struct save *save)
{
    enum pawl_state state = PAWL_STATE_NONE;
    if (save->err == PAWL_ERR_STATE) state = pawl__job_state(request, save->owner.id);
    if (state) {
        pawl__owner_refuse_state(request, &save->owner, state);
    } else if (save->err == PAWL_ERR_STATE) {
        pawl__reply_err(request, save->err, &save->diag);
    } else {
        pawl__job_reply_err(request, save->owner.id, save->err, &save->diag);
    }
}

static void save_on_pool(struct pawl__request *request)
{
    struct save *save = request->state;
    struct pawl__buf stored = { 0 };
    if (!find_run(request, save)) return;
    struct pawl_run run = { save->owner.id, save->run };
    pawl__checkpoint_wrap(&stored, &save->saved);
    if (!save->err && stored.failed) save->err = PAWL_ERR_NOMEM;
    if (!save->err) {
        struct pawl_span state = { stored.at, stored.len };
        save->err =
            pawl_checkpoint(request->server->pawl, &run, state, &save->sequence, &save->diag);
    }
    pawl__buf_release(&stored);
    if (save->err) {
        refuse_save(request, save);
        return;
    }
    pawl__out(&request->reply, "{");
    print_both(&request->reply, save->owner.id, save->sequence, request->now_ms, &save->saved);
    pawl__out(&request->reply, "}");
    pawl__request_to_loop(request, saved);
}

void pawl__on_checkpoint_save(struct pawl__request *request)
{
    struct save *save = pawl__request_state(request, sizeof *save);
    if (!save) return;
    if (read_save(request, save)) pawl__request_to_pool(request, save_on_pool);
}

/* ---- reading and deleting ---- */

/* What the path's job left; without, `reply_none` answers. */
static void reply_kept(struct pawl__request *request, const char *begin,
                       pawl__handler_fn *reply_none)
{
    struct pawl_job_id id;
    struct pawl_story story = { 0 };
    if (!pawl__request_job_id(request, 0, &id)) return;
    if (!pawl__story_read(request, id, &story)) return;
    if (!story.checkpoint_sequence) {
        reply_none(request);
    } else {
        struct pawl__saved kept = pawl__checkpoint_unwrap(story.checkpoint, &request->arena);
        pawl__buf_add_text(&request->reply, begin);
        print_both(&request->reply, id, story.checkpoint_sequence, story.checkpoint_at_ms, &kept);
        pawl__out(&request->reply, "}");
        pawl__reply(request, 200);
    }
    pawl_story_release(&story);
}

static void refuse_none(struct pawl__request *request)
{
    pawl__reply_not_found(request, "checkpoint", request->parts[0]);
}

static void reply_none(struct pawl__request *request)
{
    pawl__buf_printf(&request->reply, "{\"job_id\":\"%s\",\"has_checkpoint\":false}",
                     request->parts[0]);
    pawl__reply(request, 200);
}

void pawl__on_checkpoint_get(struct pawl__request *request)
{
    reply_kept(request, "{", refuse_none);
}

void pawl__on_checkpoint_resume(struct pawl__request *request)
{
    reply_kept(request, "{\"has_checkpoint\":true,", reply_none);
}

/* Deleting what is not there is fine, also when its job has ended and keeps it. */
void pawl__on_checkpoint_delete(struct pawl__request *request)
{
    struct pawl_run run = { 0 };
    struct pawl_diag diag;
    if (!pawl__request_job_id(request, 0, &run.id)) return;
    enum pawl_err err =
        pawl_checkpoint(request->server->pawl, &run, (struct pawl_span){ 0 }, NULL, &diag);
    if (err && err != PAWL_ERR_STATE) {
        pawl__job_reply_err(request, run.id, err, &diag);
    } else {
        pawl__reply_deleted(request);
    }
}
