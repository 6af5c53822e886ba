#include "support/ops.h"

#include "base/buf.h"
#include "fields/fields.h"

struct pawl_job job_get(struct rig *rig, struct pawl_job_id id)
{
    struct pawl_job *jobs = NULL;
    size_t count = 0;
    assert_ok(rig, pawl__store_get(rig->store, &id, 1, &rig->arena, &jobs, &count, &rig->diag));
    assert_int_equal(count, 1);
    assert_id(id, jobs[0].id);
    return jobs[0];
}

enum pawl_state state_of(struct rig *rig, struct pawl_job_id id)
{
    struct pawl_job *jobs = NULL;
    size_t count = 0;
    assert_ok(rig, pawl__store_get(rig->store, &id, 1, &rig->arena, &jobs, &count, &rig->diag));
    return count == 0 ? PAWL_STATE_NONE : jobs[0].state;
}

bool job_exists(struct rig *rig, struct pawl_job_id id)
{
    return state_of(rig, id) != PAWL_STATE_NONE;
}

int64_t count_jobs(struct rig *rig, const struct pawl_filter *filter)
{
    int64_t count = -1;
    assert_ok(rig, pawl__store_count(rig->store, filter, &count, &rig->diag));
    return count;
}

int64_t count_state(struct rig *rig, enum pawl_state state)
{
    return count_jobs(rig, &(struct pawl_filter){ .states = PAWL_STATE_BIT(state) });
}

struct pawl_story story_of(struct rig *rig, struct pawl_job_id id)
{
    struct pawl_story story = { 0 };
    assert_ok(rig, pawl__store_story(rig->store, id, NULL, &rig->arena, &story, &rig->diag));
    return story;
}

struct pawl_stats stats_of(struct rig *rig)
{
    struct pawl_stats stats = { 0 };
    assert_ok(rig, pawl__store_stats(rig->store, &rig->arena, &stats, &rig->diag));
    return stats;
}

struct claimed query_all(struct rig *rig, const struct pawl_filter *filter, bool oldest_first)
{
    struct claimed all = { 0 };
    size_t room = 0;
    struct pawl_page page = { .limit = PAWL_PAGE_MAX, .oldest_first = oldest_first };
    char cursor[PAWL_CURSOR_BYTES];
    for (;;) {
        struct pawl_jobs jobs = { 0 };
        assert_ok(rig,
                  pawl__store_query(rig->store, filter, &page, &rig->arena, &jobs, &rig->diag));
        if (all.count + jobs.count > room) {
            room = (all.count + jobs.count) * 2;
            struct pawl_job *at = pawl__arena_calloc(&rig->arena, room, sizeof *at);
            assert_non_null(at);
            if (all.count > 0) memcpy(at, all.at, all.count * sizeof *at);
            all.at = at;
        }
        if (jobs.count > 0) memcpy(all.at + all.count, jobs.at, jobs.count * sizeof *jobs.at);
        all.count += jobs.count;
        if (jobs.next[0] == '\0') return all;
        assert_true(jobs.count > 0); // or it would never end
        memcpy(cursor, jobs.next, sizeof cursor);
        page.cursor = cursor;
    }
}

/* ---- all of a job, as text ---- */

static void add_span(struct pawl__buf *buf, const char *name, struct pawl_span span)
{
    pawl__buf_printf(buf, "%s=%zu:", name, span.len);
    pawl__buf_add(buf, span.at, span.len);
    pawl__buf_add_text(buf, "\n");
}

static void add_id(struct pawl__buf *buf, const char *name, struct pawl_job_id id)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    pawl__buf_printf(buf, "%s=%s\n", name, text);
}

static void add_text(struct pawl__buf *buf, const char *name, const char *text)
{
    pawl__buf_printf(buf, "%s=%s\n", name, text);
}

static void add_number(struct pawl__buf *buf, const char *name, int64_t number)
{
    pawl__buf_printf(buf, "%s=%lld\n", name, (long long)number);
}

static void add_state(struct pawl__buf *buf, const char *name, enum pawl_state state)
{
    pawl__buf_printf(buf, "%s=%d %s\n", name, (int)state,
                     state ? pawl_state_name(state, PAWL_VOCABULARY_PAWL) : "");
}

#define ADD_ID add_id
#define ADD_TEXT add_text
#define ADD_JSON add_span
#define ADD_ARGS add_span
#define ADD_I32 add_number
#define ADD_I64 add_number
#define ADD_BITS add_number
#define ADD_TIME add_number
#define ADD_AT add_number
#define ADD_MS add_number
#define ADD_BOOL add_number
#define ADD_STATE add_state
#define ADD_SOME_STATE add_state

static void add_job(struct pawl__buf *buf, const struct pawl_job *job)
{
#define X(member, column, kind, ...) ADD_##kind(buf, #member, job->member);
    PAWL__JOB_FIELDS(X)
#undef X
}

static void add_story(struct pawl__buf *buf, const struct pawl_story *story)
{
    for (size_t i = 0; i < story->failure_count; i++) {
        const struct pawl_failure *f = &story->failures[i];
        pawl__buf_printf(buf, "failure run=%lld attempt=%lld at=%lld delay=%lld lapsed=%d %s %s %s",
                         (long long)f->run, (long long)f->attempt, (long long)f->failed_at_ms,
                         (long long)f->retry_delay_ms, f->lapsed, f->type, f->code, f->message);
        add_span(buf, " details", f->details);
    }
    for (size_t i = 0; i < story->log_count; i++)
        pawl__buf_printf(buf, "log %lld %lld %d %s\n", (long long)story->log[i].at_ms,
                         (long long)story->log[i].run, (int)story->log[i].level,
                         story->log[i].text);
    for (size_t i = 0; i < story->audit_count; i++)
        pawl__buf_printf(buf, "audit %lld %s %s %s %d %d\n", (long long)story->audit[i].at_ms,
                         story->audit[i].action, story->audit[i].actor, story->audit[i].reason,
                         (int)story->audit[i].from, (int)story->audit[i].to);
    pawl__buf_printf(buf, "progress %g %lld %s\n", story->progress,
                     (long long)story->progress_at_ms, story->progress_message);
    add_span(buf, "progress_data", story->progress_data);
    pawl__buf_printf(buf, "checkpoint %lld %lld\n", (long long)story->checkpoint_sequence,
                     (long long)story->checkpoint_at_ms);
    add_span(buf, "checkpoint", story->checkpoint);
}

const char *job_text(struct rig *rig, struct pawl_job_id id)
{
    if (!job_exists(rig, id)) return "";
    struct pawl_story story = story_of(rig, id);
    struct pawl__buf buf = { 0 };
    add_job(&buf, &story.job);
    add_story(&buf, &story);
    assert_false(buf.failed);
    const char *text = pawl__arena_dup(&rig->arena, buf.at, buf.len);
    assert_non_null(text);
    pawl__buf_release(&buf);
    return text;
}
