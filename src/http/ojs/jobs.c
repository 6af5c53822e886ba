/* Reading single jobs, and moves of single jobs by clients and operators. */
#include "http/ojs/ojs.h"

#include <string.h>

static struct pawl_job_id workflow_of(struct pawl__request *request, const struct pawl_job *job)
{
    struct pawl_flow_inputs own = { .at = NULL };
    if (!pawl_flow_has_inputs(job)) return own.flow;
    (void)!pawl_flow_of(pawl__request_pawl(request), job->id, &own, NULL);
    struct pawl_job_id id = own.flow;
    pawl_flow_inputs_release(&own);
    return id;
}

struct pawl__envelope_more pawl__more_of(struct pawl__request *request,
                                         const struct pawl_story *story)
{
    return (struct pawl__envelope_more){ .failures = story->failures,
                                         .failure_count = story->failure_count,
                                         .workflow = workflow_of(request, &story->job) };
}

static void reply_story(struct pawl__request *request, const struct pawl_story *story,
                        enum pawl_state previous, int status)
{
    struct pawl__envelope_more more = pawl__more_of(request, story);
    more.previous_state = previous;
    pawl__envelope_print_twice(&request->reply, &story->job, &more);
    pawl__buf_add(&request->reply, "}", 1);
    pawl__reply(request, status);
}

void pawl__job_reply(struct pawl__request *request, struct pawl_job_id id, int status)
{
    struct pawl_story story = { 0 };
    if (pawl__story_read(request, id, &story)) {
        reply_story(request, &story, PAWL_STATE_NONE, status);
    }
    pawl_story_release(&story);
}

/* ---- reading and moving ---- */

void pawl__on_job_get(struct pawl__request *request)
{
    struct pawl_job_id id;
    if (pawl__request_job_id(request, 0, &id)) pawl__job_reply(request, id, 200);
}

bool pawl__job_refuse_unknown(struct pawl__request *request, struct pawl_job_id id)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    return pawl__reply_not_found(request, "job", text);
}

bool pawl__job_refuse_state(struct pawl__request *request, const struct pawl_diag *diag,
                            enum pawl_state state, enum pawl_vocabulary words)
{
    struct pawl__fault fault;
    pawl__refuse(&fault, PAWL__FAULT_CONFLICT, "", "%s", diag->text);
    return pawl__reply_fault_with(request, &fault,
                                  (const struct pawl__member[]){ PAWL__HERE_TEXT(
                                      "current_state", pawl_state_name(state, words)) },
                                  1);
}

enum pawl_state pawl__job_state(struct pawl__request *request, struct pawl_job_id id)
{
    struct pawl_jobs jobs = { 0 };
    enum pawl_err err = pawl_get(pawl__request_pawl(request), id, &jobs, NULL);
    enum pawl_state state = err ? PAWL_STATE_NONE : jobs.at[0].state;
    pawl_jobs_release(&jobs);
    return state;
}

bool pawl__job_reply_err(struct pawl__request *request, struct pawl_job_id id, enum pawl_err err,
                         const struct pawl_diag *diag)
{
    if (err == PAWL_ERR_NOT_FOUND) return pawl__job_refuse_unknown(request, id);
    if (err != PAWL_ERR_STATE) return pawl__reply_err(request, err, diag);
    return pawl__job_refuse_state(request, diag, pawl__job_state(request, id), PAWL_VOCABULARY_OJS);
}

bool pawl__job_read(struct pawl__request *request, struct pawl_job_id id, struct pawl_jobs *out)
{
    struct pawl_diag diag;
    enum pawl_err err = pawl_get(pawl__request_pawl(request), id, out, &diag);
    return !err || pawl__job_reply_err(request, id, err, &diag);
}

bool pawl__story_read(struct pawl__request *request, struct pawl_job_id id, struct pawl_story *out)
{
    struct pawl_diag diag;
    enum pawl_err err = pawl_story_get(pawl__request_pawl(request), id, out, &diag);
    return !err || pawl__job_reply_err(request, id, err, &diag);
}

static const struct pawl__member deleted_members[] = {
    PAWL__HERE_BOOL("deleted", true),
    PAWL__WHOLE("job_id", CHARS, .flags = PAWL__ALWAYS),
};
const struct pawl__shape pawl__ojs_deleted_reply_shape = {
    .members = deleted_members,
    .count = sizeof deleted_members / sizeof *deleted_members,
};

void pawl__reply_deleted(struct pawl__request *request)
{
    pawl__reply_shape(request, 200, &pawl__ojs_deleted_reply_shape, request->parts[0]);
}

/* The state before the newest action of that kind. */
static enum pawl_state state_before(const struct pawl_story *story, enum pawl_control control)
{
    for (size_t i = story->audit_count; i-- > 0;) {
        if (strcmp(story->audit[i].action, pawl_control_name(control)) == 0) {
            return story->audit[i].from;
        }
    }
    return PAWL_STATE_NONE;
}

void pawl__job_move(struct pawl__request *request, enum pawl_control control)
{
    struct pawl_job_id id;
    struct pawl_diag diag;
    struct pawl_story story = { 0 };
    enum pawl_state to = PAWL_STATE_NONE;
    if (!pawl__request_job_id(request, 0, &id)) return;
    struct pawl_by by = pawl__request_by(request);
    struct pawl *pawl = pawl__request_pawl(request);
    enum pawl_err err = pawl_control(pawl, id, control, &by, &to, &diag);
    if (err == PAWL_ERR_STATE) {
        pawl__job_refuse_state(request, &diag, to, PAWL_VOCABULARY_OJS);
        return;
    }
    if (!err) err = pawl_story_get(pawl, id, &story, &diag);
    if (err) {
        pawl__job_reply_err(request, id, err, &diag);
    } else {
        reply_story(request, &story, state_before(&story, control), 200);
    }
    pawl_story_release(&story);
}

/* ---- handlers that only forward a move: rows of a table ---- */

#define X(name, control)                                                                           \
    void pawl__on_##name(struct pawl__request *request)                                            \
    {                                                                                              \
        pawl__job_move(request, PAWL_CONTROL_##control);                                           \
    }
X(job_cancel, CANCEL)
X(job_activate, ACTIVATE)
X(job_promote, PROMOTE)
X(admin_job_retry, RETRY)
X(admin_job_pause, PAUSE)
X(admin_job_resume, RESUME)
#undef X

/* 201 with the new job, or 200 with an existing one that counts as the same. */
void pawl__on_job_rerun(struct pawl__request *request)
{
    struct pawl_job_id id;
    struct pawl_diag diag;
    struct pawl_submitted submitted;
    if (!pawl__request_job_id(request, 0, &id)) return;
    enum pawl_err err = pawl_rerun(pawl__request_pawl(request), id, &submitted, &diag);
    if (err) {
        pawl__job_reply_err(request, id, err, &diag);
    } else {
        pawl__job_reply(request, submitted.id, submitted.deduplicated ? 200 : 201);
    }
}

struct patch {
    struct pawl_job_id id;
    int32_t priority, before;
};

#define S struct patch
static const struct pawl__member patch_members[] = {
    PAWL__MEMBER("priority", INT32, S, priority, .flags = PAWL__REQUIRED, .min = PAWL_PRIORITY_MIN,
                 .max = PAWL_PRIORITY_MAX),
};
const struct pawl__shape pawl__ojs_job_patch_request_shape = PAWL__SHAPE(S, patch_members);

static const struct pawl__member patched_members[] = {
    PAWL__MEMBER("id", ID, S, id, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("priority", INT32, S, priority, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("previous_priority", INT32, S, before, .flags = PAWL__ALWAYS),
};
const struct pawl__shape pawl__ojs_job_patch_reply_shape = PAWL__SHAPE(S, patched_members);
#undef S

void pawl__on_job_patch(struct pawl__request *request)
{
    struct patch patch = { .priority = 0 };
    struct pawl_diag diag;
    if (!pawl__request_job_id(request, 0, &patch.id) ||
        !pawl__request_read(request, &pawl__ojs_job_patch_request_shape, NULL, &patch)) {
        return;
    }
    struct pawl_by by = pawl__request_by(request);
    enum pawl_err err = pawl_priority(pawl__request_pawl(request), patch.id, patch.priority, &by,
                                      &patch.before, &diag);
    if (err) {
        pawl__job_reply_err(request, patch.id, err, &diag);
    } else {
        pawl__reply_shape(request, 200, &pawl__ojs_job_patch_reply_shape, &patch);
    }
}
