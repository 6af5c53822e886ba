/* Checkpoints: saving, reading and deleting them under every path that clients use, and their form
 * in the store. */
#include "http/ojs/checkpoint.h"
#include "http/local/local.h"
#include "http/ojs/ojs.h"
#include "http/ojs/owner.h"

#include <string.h>

#define SAVED(S, saved)                                                                            \
    PAWL__MEMBER("metadata", JSON, S, saved.metadata),                                             \
        PAWL__MEMBER("step_index", JSON, S, saved.step_index)

/* ---- their form in the store ---- */

struct wrapper {
    int64_t version;
    struct pawl__saved saved;
};

#define S struct wrapper
static const struct pawl__member wrapper_members[] = {
    PAWL__MEMBER("$pawl_checkpoint", INT64, S, version),
    PAWL__MEMBER("state", JSON, S, saved.state),
    SAVED(S, saved),
};
static const struct pawl__shape wrapper_shape = PAWL__SHAPE(S, wrapper_members);
#undef S

/* As it is printed, byte for byte: other objects that have such a member are states. */
static bool is_wrapped(struct pawl_span stored)
{
    static const char begin[] = "{\"$pawl_checkpoint\":1,\"state\":";
    return stored.len > sizeof begin - 1 && memcmp(stored.at, begin, sizeof begin - 1) == 0;
}

struct pawl__saved pawl__checkpoint_unwrap(struct pawl_span stored, struct pawl__arena *arena)
{
    struct pawl__shape_reader reader = { .arena = arena };
    struct wrapper wrapper = { .version = 0 };
    if (is_wrapped(stored) && !pawl__shape_read_text(&reader, stored, PAWL_JSON_DEPTH_MAX + 1,
                                                     &wrapper_shape, &wrapper)) {
        return wrapper.saved;
    }
    return (struct pawl__saved){ .state = stored };
}

void pawl__checkpoint_wrap(struct pawl__buf *out, const struct pawl__saved *saved)
{
    struct wrapper wrapper = { .version = 1, .saved = *saved };
    if (saved->metadata.len || saved->step_index.len || is_wrapped(saved->state)) {
        pawl__shape_print(&(struct pawl__shape_writer){ .out = out }, &wrapper_shape, &wrapper);
    } else {
        pawl__buf_add(out, saved->state.at, saved->state.len);
    }
}

/* ---- the reply ---- */

struct reply {
    bool has_checkpoint;
    struct pawl_job_id job;
    int64_t sequence, created_at_ms;
    struct pawl__saved saved;
};

#define S struct reply
static const struct pawl__member checkpoint_members[] = {
    PAWL__MEMBER("job_id", ID, S, job, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("sequence", INT64, S, sequence, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("created_at", INSTANT, S, created_at_ms, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("state", JSON, S, saved.state),
    SAVED(S, saved),
};
static const struct pawl__shape checkpoint_shape = PAWL__SHAPE(S, checkpoint_members);

/* Clients read either of the two places. */
static const struct pawl__member reply_members[] = {
    PAWL__WHOLE("", PART, .shape = &checkpoint_shape),
    PAWL__WHOLE("checkpoint", ONE, .shape = &checkpoint_shape, .flags = PAWL__ALWAYS),
};
const struct pawl__shape pawl__ojs_checkpoint_reply_shape = PAWL__SHAPE(S, reply_members);

/* Without a checkpoint the others are absent. */
static const struct pawl__member resume_members[] = {
    PAWL__MEMBER("has_checkpoint", BOOL, S, has_checkpoint, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("job_id", ID, S, job, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("sequence", INT64, S, sequence),
    PAWL__MEMBER("created_at", INSTANT, S, created_at_ms),
    PAWL__MEMBER("state", JSON, S, saved.state),
    SAVED(S, saved),
    PAWL__WHOLE("checkpoint", ONE, .shape = &checkpoint_shape),
};
const struct pawl__shape pawl__ojs_checkpoint_resume_reply_shape = PAWL__SHAPE(S, resume_members);
#undef S

/* ---- saving ---- */

struct save {
    struct pawl__owner owner;
    struct pawl__saved saved;
    int64_t run; /* 0: any */
    int64_t sequence;
    enum pawl_err err;
    struct pawl_diag diag;
};

#define S struct save
static const struct pawl__member request_members[] = {
    PAWL__OWNER(S, owner),
    PAWL__MEMBER("state", JSON, S, saved.state, .flags = PAWL__REQUIRED | PAWL__NULLABLE),
    SAVED(S, saved),
};
const struct pawl__shape pawl__ojs_checkpoint_request_shape = PAWL__SHAPE(S, request_members);
#undef S

/* Finds the client's run, if the client says who it is. A job that is not active has no owner: a
 * former owner must not overwrite what the next run starts from. False: answered. */
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
        theirs = pawl__owner_refuse_state(request, &save->owner, job->state);
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
    const struct reply reply = { .job = save->owner.id,
                                 .sequence = save->sequence,
                                 .created_at_ms = request->now_ms,
                                 .saved = save->saved };
    pawl__shape_print(&(struct pawl__shape_writer){ .out = &request->reply },
                      &pawl__ojs_checkpoint_reply_shape, &reply);
    pawl__request_to_loop(request, saved);
}

void pawl__on_checkpoint_save(struct pawl__request *request)
{
    struct save *save = pawl__request_state(request, sizeof *save);
    if (save && pawl__request_read(request, &pawl__ojs_checkpoint_request_shape, NULL, save) &&
        pawl__owner_find(request, &save->owner)) {
        pawl__request_to_pool(request, save_on_pool);
    }
}

/* ---- reading and deleting ---- */

/* `resume`: a job without a checkpoint is no error. */
static void reply_kept(struct pawl__request *request, const struct pawl__shape *shape, bool resume)
{
    struct pawl_job_id id;
    struct pawl_story story = { 0 };
    if (!pawl__request_job_id(request, 0, &id) || !pawl__story_read(request, id, &story)) return;
    struct reply reply = { .has_checkpoint = story.checkpoint_sequence > 0,
                           .job = id,
                           .sequence = story.checkpoint_sequence,
                           .created_at_ms = story.checkpoint_at_ms };
    if (reply.has_checkpoint) {
        reply.saved = pawl__checkpoint_unwrap(story.checkpoint, &request->arena);
        pawl__reply_shape(request, 200, shape, &reply);
    } else if (resume) {
        const struct pawl__shape_writer writer = { .out = &request->reply };
        PAWL__PRINT(&writer, PAWL__HERE_ID("job_id", id), PAWL__HERE_BOOL("has_checkpoint", false));
        pawl__reply(request, 200);
    } else {
        pawl__reply_not_found(request, "checkpoint", request->parts[0]);
    }
    pawl_story_release(&story);
}

void pawl__on_checkpoint_get(struct pawl__request *request)
{
    reply_kept(request, &pawl__ojs_checkpoint_reply_shape, false);
}

void pawl__on_checkpoint_resume(struct pawl__request *request)
{
    reply_kept(request, &pawl__ojs_checkpoint_resume_reply_shape, true);
}

/* Deleting a checkpoint that does not exist succeeds, also if the job has ended. */
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
