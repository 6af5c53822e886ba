/* Looking at jobs, cancelling, releasing and reordering them. */
#include "http/ojs/ojs.h"

#include <string.h>

static struct pawl__envelope_more more_of(const struct pawl_story *story, enum pawl_state previous)
{
    return (struct pawl__envelope_more){ .failures = story->failures,
                                         .failure_count = story->failure_count,
                                         .previous_state = previous };
}

void pawl__job_print_story(struct pawl__buf *out, const struct pawl_story *story,
                           enum pawl_state previous)
{
    struct pawl__envelope_more more = more_of(story, previous);
    pawl__envelope_print(out, &story->job, &more);
}

static void reply_story(struct pawl__request *request, const struct pawl_story *story,
                        enum pawl_state previous, int status)
{
    struct pawl__envelope_more more = more_of(story, previous);
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

void pawl__job_print_holder(struct pawl__buf *out, const struct pawl_submitted *holder)
{
    static const struct pawl_job_id none;
    char id[PAWL_JOB_ID_TEXT_BYTES];
    if (memcmp(&holder->id, &none, sizeof none) == 0) return;
    pawl_job_id_text(holder->id, id);
    pawl__buf_printf(out, "\"existing_job_id\":\"%s\"", id);
    if (holder->state) {
        pawl__buf_printf(out, ",\"existing_job_state\":\"%s\"",
                         pawl_state_name(holder->state, PAWL_VOCABULARY_OJS));
    }
}

/* ---- looking and moving ---- */

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
    struct pawl__fault fault = { .kind = PAWL__FAULT_CONFLICT };
    char details[64];
    int len = snprintf(details, sizeof details, "\"current_state\":\"%s\"",
                       pawl_state_name(state, words));
    snprintf(fault.message, sizeof fault.message, "%s", diag->text);
    fault.details = (struct pawl_span){ details, (size_t)len };
    return pawl__reply_fault(request, &fault);
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

void pawl__reply_deleted(struct pawl__request *request)
{
    pawl__buf_printf(&request->reply, "{\"deleted\":true,\"job_id\":\"%s\"}", request->parts[0]);
    pawl__reply(request, 200);
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

/* 201 with the new job; 200 with the one that stands in for it. */
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

void pawl__on_job_patch(struct pawl__request *request)
{
    struct pawl_job_id id;
    struct pawl__json json;
    struct pawl_diag diag;
    int64_t priority = INT64_MAX;
    int32_t before;
    if (!pawl__request_job_id(request, 0, &id) || !pawl__request_json(request, false, &json))
        return;
    if (!pawl__body_int(request, &json, 0, "priority", PAWL_PRIORITY_MIN, PAWL_PRIORITY_MAX,
                        &priority)) {
        return;
    }
    if (priority == INT64_MAX) {
        pawl__reply_invalid(request, "priority",
                            "priority is missing: nothing else of a job can be changed");
        return;
    }
    struct pawl_by by = pawl__request_by(request);
    enum pawl_err err =
        pawl_priority(pawl__request_pawl(request), id, (int32_t)priority, &by, &before, &diag);
    if (err) {
        pawl__job_reply_err(request, id, err, &diag);
    } else {
        pawl__buf_printf(&request->reply,
                         "{\"id\":\"%s\",\"priority\":%lld,\"previous_priority\":%d}",
                         request->parts[0], (long long)priority, before);
        pawl__reply(request, 200);
    }
}
