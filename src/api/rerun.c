/* Reruns a job that has ended: a new job with the same specification. */
#include "api/api.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/json.h"
#include "fields/fields.h"

#include <assert.h>
#include <string.h>

static const char *text_or_none(const char *text)
{
    return text && *text ? text : NULL;
}

/* An instant as far from now as the original was from the first submission. */
static int64_t shifted(const struct pawl_job *job, int64_t at_ms, int64_t now_ms)
{
    return at_ms ? now_ms + (at_ms - job->created_at_ms) : 0;
}

static enum pawl_err read_tags(struct pawl_span text, struct pawl__arena *arena,
                               struct pawl_job_spec *out, struct pawl_diag *diag)
{
    struct pawl__json json;
    if (!text.len) return PAWL_OK;
    enum pawl_err err = pawl__json_parse(text, PAWL_JSON_DEPTH_MAX, arena, &json, diag);
    if (err) return err;
    size_t count = json.tokens[0].count;
    const char **tags = pawl__arena_calloc(arena, count + 1, sizeof *tags);
    if (!tags) return pawl__fail_nomem(diag);
    uint32_t at = pawl__json_first(0);
    for (size_t i = 0; i < count; i++, at = json.tokens[at].next) {
        size_t len;
        tags[i] = pawl__json_string(&json, at, arena, &len);
        if (!tags[i]) return pawl__fail_nomem(diag);
    }
    out->tags = tags;
    out->tag_count = count;
    return PAWL_OK;
}

/* Restores the fields that the store keeps as JSON, as submitted. */
static enum pawl_err read_kept(const struct pawl_job *job, struct pawl__arena *arena,
                               struct pawl_job_spec *out, struct pawl_diag *diag)
{
    enum pawl_err err = read_tags(job->tags, arena, out, diag);
    if (!err) err = pawl__retry_parse(job->retry, arena, &out->retry, diag);
    if (!err && job->unique.len) err = pawl__unique_parse(job->unique, arena, &out->unique, diag);
    if (!err) err = pawl__follow_read(job->on_success, arena, &out->on_success, diag);
    if (!err) err = pawl__follow_read(job->on_failure, arena, &out->on_failure, diag);
    out->retry.attempts_max = job->attempts_max;
    return err;
}

/* The time to live after the due time. A job that ran more than once was due anew for each run, and
 * its first due time is unknown: then its delay counts as time to live. */
static int64_t time_to_live(const struct pawl_job *job)
{
    if (!job->expires_at_ms) return 0;
    int64_t due_at_ms = job->run > 1 ? job->created_at_ms : job->due_at_ms;
    return job->expires_at_ms > due_at_ms ? job->expires_at_ms - due_at_ms : 1;
}

/* The value for a field of each kind in the new spec. */
#define AGAIN_TEXT(value) text_or_none(value)
#define AGAIN_AT(value) shifted(job, value, now_ms)
#define AGAIN_ID(value) (value)
#define AGAIN_JSON(value) (value)
#define AGAIN_ARGS(value) (value)
#define AGAIN_I32(value) (value)
#define AGAIN_BITS(value) (value)
#define AGAIN_TIME(value) (value)
#define AGAIN_MS(value) (value)

/* Copies the fields of a job that came from its spec: see PAWL__JOB_FIELDS. */
static void copy_submitted(const struct pawl_job *job, int64_t now_ms, struct pawl_job_spec *out)
{
#define SPEC(origin) out->origin =
#define TEXTS(origin) (void)
#define SETTLED(origin) (void)
#define X(member, column, kind, origin, ...) origin AGAIN_##kind(job->member);
    PAWL__JOB_NAMES(X)
    PAWL__JOB_FACTS(X)
#undef X
    out->idempotency_key = NULL; // it would return the first job
}

static enum pawl_err spec_of(const struct pawl_job *job, int64_t now_ms, struct pawl__arena *arena,
                             struct pawl_job_spec *out, struct pawl_diag *diag)
{
    *out = (struct pawl_job_spec){ .expires_in_ms = time_to_live(job) };
    copy_submitted(job, now_ms, out);
    return read_kept(job, arena, out, diag);
}

static enum pawl_err refuse_live(const struct pawl_job *job, struct pawl_diag *diag)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(job->id, text);
    return pawl__fail(diag, PAWL_ERR_STATE, "cannot rerun job \"%s\": it is %s", text,
                      pawl_state_name(job->state, PAWL_VOCABULARY_PAWL));
}

enum pawl_err pawl_rerun(struct pawl *pawl, struct pawl_job_id id, struct pawl_submitted *out,
                         struct pawl_diag *diag)
{
    assert(pawl && out);
    struct pawl_jobs jobs = { 0 };
    struct pawl_job_spec spec;
    struct pawl__arena arena;
    pawl__arena_init(&arena);
    enum pawl_err err = pawl_get(pawl, id, &jobs, diag);
    if (!err && !pawl_state_is_terminal(jobs.at[0].state)) err = refuse_live(&jobs.at[0], diag);
    if (!err) err = spec_of(&jobs.at[0], pawl__clock_wall_ms(pawl->clock), &arena, &spec, diag);
    if (!err) err = pawl_submit(pawl, &spec, out, diag);
    pawl__arena_release(&arena);
    pawl_jobs_release(&jobs);
    return err;
}
