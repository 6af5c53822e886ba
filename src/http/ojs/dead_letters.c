/* Dead letters: jobs that were given up and asked to be kept in sight. */
#include "http/ojs/ojs.h"

#include <stdlib.h>
#include <string.h>

enum { LIMIT_MAX = 100, SAMPLE_MAX = 10000, TALLY_MAX = 256 };

const struct pawl_filter pawl__dead_letters = {
    .states = PAWL_STATE_BIT(PAWL_STATE_DISCARDED),
    .dead_letter = true,
};

/* The path's job, if it is a dead letter. False: answered. */
static bool find(struct pawl__request *request, struct pawl_job_id *id)
{
    struct pawl_jobs jobs = { 0 };
    struct pawl_diag diag;
    if (!pawl__request_job_id(request, 0, id)) return false;
    enum pawl_err err = pawl_get(pawl__request_pawl(request), *id, &jobs, &diag);
    bool dead = !err && jobs.at[0].dead_letter && jobs.at[0].state == PAWL_STATE_DISCARDED;
    pawl_jobs_release(&jobs);
    if (dead) return true;
    return err && err != PAWL_ERR_NOT_FOUND
               ? pawl__reply_err(request, err, &diag)
               : pawl__reply_not_found(request, "dead letter", request->parts[0]);
}

/* Those of the query's queue; `queue` keeps its name. */
static struct pawl_filter wanted(struct pawl__request *request, const char **queue)
{
    struct pawl_filter filter = pawl__dead_letters;
    *queue = pawl__request_query(request, "queue");
    filter.queues = queue;
    filter.queue_count = *queue != NULL;
    return filter;
}

void pawl__on_dead_letters(struct pawl__request *request)
{
    const char *queue;
    struct pawl_filter filter = wanted(request, &queue);
    pawl__jobs_reply(request, &filter, LIMIT_MAX);
}

void pawl__on_admin_dead_letters(struct pawl__request *request)
{
    const char *queue;
    struct pawl_filter filter = wanted(request, &queue);
    pawl__jobs_reply_items(request, &filter);
}

void pawl__on_dead_letter_retry(struct pawl__request *request)
{
    struct pawl_job_id id;
    struct pawl__json json;
    if (!pawl__request_json(request, true, &json)) return;
    uint32_t override = pawl__json_member(&json, 0, "override");
    if (override && json.tokens[override].count) {
        pawl__reply_refuse(request, PAWL__FAULT_UNSUPPORTED, "override",
                           "a dead letter runs again as it was submitted: override is not "
                           "supported");
        return;
    }
    if (find(request, &id)) pawl__job_move(request, PAWL_CONTROL_RETRY);
}

/* False: answered. */
static bool delete_letter(struct pawl__request *request)
{
    struct pawl_job_id id;
    struct pawl_diag diag;
    if (!find(request, &id)) return false;
    struct pawl_by by = pawl__request_by(request);
    enum pawl_err err = pawl_delete(pawl__request_pawl(request), id, &by, &diag);
    return !pawl__reply_if_err(request, err, &diag);
}

void pawl__on_dead_letter_delete(struct pawl__request *request)
{
    if (!delete_letter(request)) return;
    pawl__reply_deleted(request);
}

void pawl__on_admin_dead_letter_delete(struct pawl__request *request)
{
    if (delete_letter(request)) pawl__reply(request, 204);
}

/* ---- counting ---- */

/* How often each name occurs; few names, so a list will do. */
struct tally {
    struct {
        const char *name;
        int64_t count;
    } at[TALLY_MAX];
    size_t count;
    int64_t others;
};

static void tally_add(struct tally *tally, const char *name)
{
    for (size_t i = 0; i < tally->count; i++) {
        if (strcmp(tally->at[i].name, name) == 0) {
            tally->at[i].count++;
            return;
        }
    }
    if (tally->count == TALLY_MAX) { // whoever comes now is one of the others
        tally->others++;
        return;
    }
    tally->at[tally->count].name = name;
    tally->at[tally->count++].count = 1;
}

static void tally_print(struct pawl__buf *out, const struct tally *tally)
{
    pawl__buf_add_text(out, "{");
    for (size_t i = 0; i < tally->count; i++) {
        if (i) pawl__buf_add(out, ",", 1);
        pawl__buf_add_json(out, tally->at[i].name, strlen(tally->at[i].name));
        pawl__buf_printf(out, ":%lld", (long long)tally->at[i].count);
    }
    if (tally->others) pawl__buf_printf(out, ",\"_other\":%lld", (long long)tally->others);
    pawl__buf_add_text(out, "}");
}

struct census {
    struct tally queues, types;
    int64_t total, oldest_ms, newest_ms;
};

/* A job's last error, in the arena. */
static const char *error_type(struct pawl__request *request, const struct pawl_job *job)
{
    struct pawl_story story = { 0 };
    const char *type = NULL;
    if (pawl_story_of(pawl__request_pawl(request), job, &story, NULL) == PAWL_OK &&
        story.failure_count) {
        const char *last = story.failures[story.failure_count - 1].type;
        type = pawl__arena_dup(&request->arena, last, strlen(last));
    }
    pawl_story_release(&story);
    return type ? type : "unknown";
}

static void take_census(struct pawl__request *request, const struct pawl_jobs *jobs,
                        struct census *census)
{
    for (size_t i = 0; i < jobs->count; i++) {
        const struct pawl_job *job = &jobs->at[i];
        const char *queue = pawl__arena_dup(&request->arena, job->queue, strlen(job->queue));
        if (queue) tally_add(&census->queues, queue);
        tally_add(&census->types, error_type(request, job));
        if (!census->oldest_ms || job->finished_at_ms < census->oldest_ms) {
            census->oldest_ms = job->finished_at_ms;
        }
        if (job->finished_at_ms > census->newest_ms) census->newest_ms = job->finished_at_ms;
    }
}

void pawl__on_dead_letter_stats(struct pawl__request *request)
{
    struct pawl *pawl = pawl__request_pawl(request);
    struct census *census = pawl__arena_calloc(&request->arena, 1, sizeof *census);
    struct pawl_diag diag = { 0 };
    char cursor[PAWL_CURSOR_BYTES] = "";
    enum pawl_err err = census ? PAWL_OK : PAWL_ERR_NOMEM;
    for (int64_t seen = 0; !err && seen < SAMPLE_MAX;) {
        struct pawl_jobs jobs = { 0 };
        struct pawl_page page = {
            .limit = PAWL_PAGE_MAX, .cursor = cursor, .count = !seen, .brief = true
        };
        err = pawl_query(pawl, &pawl__dead_letters, &page, &jobs, &diag);
        if (!err && !seen) census->total = jobs.total;
        seen += (int64_t)jobs.count;
        if (!err) take_census(request, &jobs, census);
        memcpy(cursor, jobs.next, sizeof cursor);
        pawl_jobs_release(&jobs);
        if (!cursor[0]) break;
    }
    if (pawl__reply_if_err(request, err, &diag)) return;
    struct pawl__buf *out = &request->reply;
    pawl__buf_printf(out, "{\"total\":%lld,\"by_queue\":", (long long)census->total);
    tally_print(out, &census->queues);
    pawl__buf_add_text(out, ",\"by_error_type\":");
    tally_print(out, &census->types);
    pawl__buf_add_text(out, ",\"oldest_at\":");
    pawl__print_instant(out, census->oldest_ms);
    pawl__buf_add_text(out, ",\"newest_at\":");
    pawl__print_instant(out, census->newest_ms);
    pawl__buf_add_text(out, "}");
    pawl__reply(request, 200);
}
