/* Queries. A result is built separately and then moved to `out`, so `out` is written only on
 * success, and a page's cursor may be the `next` of the result that it replaces. */
#include "api/api.h"
#include "api/filter.h"
#include "base/diag.h"

#include <assert.h>

static enum pawl_err not_found(struct pawl_job_id id, struct pawl_diag *diag)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    return pawl__fail(diag, PAWL_ERR_NOT_FOUND, "there is no job \"%s\"", text);
}

enum pawl_err pawl_get(struct pawl *pawl, struct pawl_job_id id, struct pawl_jobs *out,
                       struct pawl_diag *diag)
{
    assert(pawl && out);
    struct pawl_jobs found = { .total = -1 };
    struct pawl__arena *owned = pawl__owned_new();
    if (!owned) return pawl__fail_nomem(diag);
    enum pawl_err err = pawl__store_get(pawl->store, &id, 1, owned, &found.at, &found.count, diag);
    if (!err && !found.count) err = not_found(id, diag);
    if (err) {
        pawl__owned_free(owned);
        return err;
    }
    found.owned = owned;
    *out = found;
    return PAWL_OK;
}

static enum pawl_err query(struct pawl *pawl, const struct pawl_filter *filter,
                           const struct pawl_page *page, struct pawl__arena *owned,
                           struct pawl_jobs *out, struct pawl_diag *diag)
{
    struct pawl_filter full_filter;
    struct pawl_page full_page;
    enum pawl_err err = pawl__filter_complete(filter, owned, &full_filter, diag);
    if (err) return err;
    err = pawl__page_complete(page, &full_page, diag);
    if (err) return err;
    return pawl__store_query(pawl->store, &full_filter, &full_page, owned, out, diag);
}

enum pawl_err pawl_query(struct pawl *pawl, const struct pawl_filter *filter,
                         const struct pawl_page *page, struct pawl_jobs *out,
                         struct pawl_diag *diag)
{
    assert(pawl && out);
    struct pawl_jobs found = { .total = -1 };
    struct pawl__arena *owned = pawl__owned_new();
    if (!owned) return pawl__fail_nomem(diag);
    enum pawl_err err = query(pawl, filter, page, owned, &found, diag);
    if (err) {
        pawl__owned_free(owned);
        return err;
    }
    found.owned = owned;
    *out = found;
    return PAWL_OK;
}

enum pawl_err pawl_count(struct pawl *pawl, const struct pawl_filter *filter, int64_t *out,
                         struct pawl_diag *diag)
{
    assert(pawl && out);
    struct pawl__arena arena;
    struct pawl_filter full;
    pawl__arena_init(&arena);
    enum pawl_err err = pawl__filter_complete(filter, &arena, &full, diag);
    if (!err) err = pawl__store_count(pawl->store, &full, out, diag);
    pawl__arena_release(&arena);
    return err;
}

void pawl_jobs_release(struct pawl_jobs *jobs)
{
    if (!jobs) return;
    pawl__owned_free(jobs->owned);
    *jobs = (struct pawl_jobs){ .at = NULL };
}

static enum pawl_err story(struct pawl *pawl, struct pawl_job_id id, const struct pawl_job *known,
                           struct pawl_story *out, struct pawl_diag *diag)
{
    assert(pawl && out);
    struct pawl_story found = { .progress = -1 };
    struct pawl__arena *owned = pawl__owned_new();
    if (!owned) return pawl__fail_nomem(diag);
    enum pawl_err err = pawl__store_story(pawl->store, id, known, owned, &found, diag);
    if (err) {
        pawl__owned_free(owned);
        return err;
    }
    found.owned = owned;
    *out = found;
    return PAWL_OK;
}

enum pawl_err pawl_story_get(struct pawl *pawl, struct pawl_job_id id, struct pawl_story *out,
                             struct pawl_diag *diag)
{
    return story(pawl, id, NULL, out, diag);
}

enum pawl_err pawl_story_of(struct pawl *pawl, const struct pawl_job *job, struct pawl_story *out,
                            struct pawl_diag *diag)
{
    return story(pawl, job->id, job, out, diag);
}

void pawl_story_release(struct pawl_story *story)
{
    if (!story) return;
    pawl__owned_free(story->owned);
    *story = (struct pawl_story){ .owned = NULL };
}

enum pawl_err pawl_stats_get(struct pawl *pawl, struct pawl_stats *out, struct pawl_diag *diag)
{
    assert(pawl && out);
    struct pawl_stats found = { .queues = NULL };
    struct pawl__arena *owned = pawl__owned_new();
    if (!owned) return pawl__fail_nomem(diag);
    enum pawl_err err = pawl__store_stats(pawl->store, owned, &found, diag);
    if (err) {
        pawl__owned_free(owned);
        return err;
    }
    found.owned = owned;
    *out = found;
    return PAWL_OK;
}

void pawl_stats_release(struct pawl_stats *stats)
{
    if (!stats) return;
    pawl__owned_free(stats->owned);
    *stats = (struct pawl_stats){ .queues = NULL };
}
