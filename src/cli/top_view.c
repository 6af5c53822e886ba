/* Looking at the store for pawl top, at a price that does not grow with it.
 *
 * The counts are counters. The running jobs are as many as run. The failed ones have to be looked
 * for among all that wait or ended badly; so that is done only when the counters say that there are
 * any, and never for more than a fiftieth of the time. */
#include "cli/top.h"
#include "base/clock.h"
#include "fields/fields.h"

#include <assert.h>

enum { FAILED_SHARE = 50 };

static int64_t now_us(void)
{
    return pawl__clock_mono_us(&pawl__clock_system);
}

static const char *keep(struct pawl__arena *arena, const char *text)
{
    return pawl__cli_need(pawl__arena_dup(arena, text, strlen(text)));
}

/* ---- counts ---- */

static bool is_wanted(const struct pawl__cli_top_ask *ask, const char *queue)
{
    for (size_t i = 0; i < ask->queues->count; i++) {
        if (strcmp(ask->queues->at[i], queue) == 0) return true;
    }
    return !ask->queues->count;
}

static int by_name(const void *a, const void *b)
{
    const struct pawl__cli_top_queue *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* What a look is compared with. */
struct stretch {
    bool first;   /* with nothing */
    bool advance; /* with the one before; else, as that was too short ago, with what it was */
    int64_t us;
};

/* A queue that was not there before had no jobs. */
static void set_rates(struct pawl__cli_top_queue *queue, const struct pawl__cli_top_queue *old,
                      struct stretch stretch)
{
    if (stretch.first) {
        queue->base = queue->now;
    } else if (old) {
        queue->base = stretch.advance ? old->now : old->base;
    }
    queue->rates = pawl__cli_top_rates(&queue->base, &queue->now, stretch.us);
}

static void add_counts(struct pawl__cli_top_counts *to, const struct pawl__cli_top_counts *counts)
{
    for (enum pawl_state state = PAWL_STATE_NONE + 1; state < PAWL_STATE_END; state++) {
        to->count[state] += counts->count[state];
    }
    to->archived += counts->archived;
}

static void set_queue(struct pawl__cli_top_queue *queue, struct pawl__arena *arena,
                      const struct pawl_queue_stats *from, const struct pawl__cli_top_view *view,
                      struct stretch stretch)
{
    const struct pawl__cli_top_queue *old = NULL;
    queue->name = keep(arena, from->queue);
    queue->paused = from->paused;
    memcpy(queue->now.count, from->count, sizeof queue->now.count);
    queue->now.archived = from->archived;
    if (view->queue_count) {
        old = bsearch(queue, view->queues, view->queue_count, sizeof *queue, by_name);
    }
    set_rates(queue, old, stretch);
}

/* The counts as they are now, with the rates since the view before. */
static void set_counts(struct pawl__cli_top_view *view, const struct pawl__cli_top_ask *ask,
                       const struct pawl_stats *stats, int64_t taken_us)
{
    struct stretch stretch = {
        .first = !view->taken_us,
        .advance = taken_us - view->taken_us >= PAWL__CLI_TOP_RATE_MIN_US,
    };
    int64_t base_us = stretch.advance ? view->taken_us : view->base_us;
    if (stretch.first) base_us = taken_us;
    stretch.us = taken_us - base_us;
    struct pawl__arena arena = { 0 };
    struct pawl__cli_top_queue all = { .name = "" };
    struct pawl__cli_top_queue *queues =
        pawl__cli_need(pawl__arena_calloc(&arena, stats->queue_count + 1, sizeof *queues));
    size_t count = 0;
    for (size_t i = 0; i < stats->queue_count; i++) {
        if (!is_wanted(ask, stats->queues[i].queue)) continue;
        set_queue(&queues[count], &arena, &stats->queues[i], view, stretch);
        add_counts(&all.now, &queues[count++].now);
    }
    set_rates(&all, &view->all, stretch);
    pawl__arena_release(&view->arena);
    view->arena = arena;
    view->queues = queues;
    view->queue_count = count;
    view->all = all;
    view->taken_us = taken_us;
    view->base_us = base_us;
}

static enum pawl_err look_at_counts(struct pawl__cli *cli, const struct pawl__cli_top_ask *ask,
                                    struct pawl__cli_top_view *view, struct pawl_diag *diag)
{
    struct pawl_stats stats = { 0 };
    enum pawl_err err = pawl_stats_get(cli->pawl, &stats, diag);
    if (!err) {
        set_counts(view, ask, &stats, now_us());
        view->next_due_at_ms = stats.next_due_at_ms;
        view->store_bytes = stats.store_bytes;
    }
    pawl_stats_release(&stats);
    return err;
}

static enum pawl_err look_at_nodes(struct pawl__cli *cli, struct pawl__cli_top_view *view,
                                   struct pawl_diag *diag)
{
    struct pawl_nodes nodes = { 0 };
    enum pawl_err err = pawl_nodes_get(cli->pawl, &nodes, diag);
    if (err) {
        pawl_nodes_release(&nodes);
        return err;
    }
    pawl_nodes_release(&view->nodes);
    view->nodes = nodes;
    return PAWL_OK;
}

/* ---- jobs ---- */

static void jobs_release(struct pawl__cli_top_jobs *jobs)
{
    pawl__arena_release(&jobs->arena);
    *jobs = (struct pawl__cli_top_jobs){ 0 };
}

static void jobs_init(struct pawl__cli_top_jobs *jobs, int64_t most)
{
    *jobs = (struct pawl__cli_top_jobs){ 0 };
    jobs->at = pawl__cli_need(pawl__arena_calloc(&jobs->arena, (size_t)most, sizeof *jobs->at));
}

static void add_job(struct pawl__cli_top_jobs *jobs, const struct pawl_job *job)
{
    char *room = pawl__cli_need(pawl__arena_alloc(&jobs->arena, pawl__job_text_bytes(job)));
    struct pawl__cli_top_job *row = &jobs->at[jobs->count++];
    row->job = pawl__job_copy(job, room);
    row->at_ms = job->finished_at_ms ? job->finished_at_ms : job->started_at_ms;
    row->error = row->job.reason;
}

/* Paused jobs are many things; those that failed before are ours to show. */
static bool is_ours(const struct pawl_job *job)
{
    return job->state != PAWL_STATE_PAUSED || job->paused_from == PAWL_STATE_RETRYABLE ||
           job->paused_from == PAWL_STATE_DISCARDED;
}

/* Adds the newest jobs of a state; there is room for them. One state at a time: each has its own
 * place in the store, several have none. */
static enum pawl_err add_page(struct pawl__cli *cli, const struct pawl__cli_top_ask *ask,
                              const struct pawl__cli_top_view *view, enum pawl_state state,
                              struct pawl__cli_top_jobs *jobs, struct pawl_diag *diag)
{
    if (!view->all.now.count[state]) return PAWL_OK;
    struct pawl_jobs found = { 0 };
    struct pawl_filter filter = {
        .states = PAWL_STATE_BIT(state),
        .queues = ask->queues->at,
        .queue_count = ask->queues->count,
    };
    struct pawl_page page = { .limit = ask->limit, .brief = true };
    enum pawl_err err = pawl_query(cli->pawl, &filter, &page, &found, diag);
    for (size_t i = 0; !err && i < found.count; i++) {
        if (is_ours(&found.at[i])) add_job(jobs, &found.at[i]);
    }
    pawl_jobs_release(&found);
    return err;
}

static int latest_first(const void *a, const void *b)
{
    const struct pawl__cli_top_job *x = a, *y = b;
    if (x->at_ms != y->at_ms) return x->at_ms > y->at_ms ? -1 : 1;
    return memcmp(y->job.id.b, x->job.id.b, sizeof x->job.id.b);
}

/* In place of what was there. */
static void settle(struct pawl__cli_top_jobs *jobs, struct pawl__cli_top_jobs *fresh, int64_t limit)
{
    if (fresh->count) qsort(fresh->at, fresh->count, sizeof *fresh->at, latest_first);
    if ((int64_t)fresh->count > limit) fresh->count = (size_t)limit;
    jobs_release(jobs);
    *jobs = *fresh;
}

static enum pawl_err look_at_running(struct pawl__cli *cli, const struct pawl__cli_top_ask *ask,
                                     struct pawl__cli_top_view *view, struct pawl_diag *diag)
{
    struct pawl__cli_top_jobs fresh;
    jobs_init(&fresh, ask->limit);
    enum pawl_err err = add_page(cli, ask, view, PAWL_STATE_ACTIVE, &fresh, diag);
    if (err) {
        jobs_release(&fresh);
        return err;
    }
    settle(&view->running, &fresh, ask->limit);
    return PAWL_OK;
}

/* ---- failures ---- */

static const char *error_of(struct pawl__arena *arena, const struct pawl_failure *failure)
{
    struct pawl__buf text = { 0 };
    if (failure->lapsed) pawl__buf_add_text(&text, "its lease ran out");
    if (!failure->lapsed) pawl__buf_add_text(&text, failure->type);
    if (*failure->message) pawl__buf_printf(&text, "%s%s", text.len ? ": " : "", failure->message);
    if (text.failed) pawl__cli_nomem();
    const char *error = keep(arena, text.at ? text.at : "");
    pawl__buf_release(&text);
    return error;
}

/* What the newest run reported says more than the verdict on it; but when somebody gave the job up
 * by hand, their words are the latest. */
static void set_error(struct pawl__cli_top_jobs *jobs, struct pawl__cli_top_job *row,
                      const struct pawl_story *story)
{
    if (!story->failure_count) return;
    const struct pawl_failure *last = &story->failures[story->failure_count - 1];
    if (!story->job.finished_at_ms) row->at_ms = last->failed_at_ms;
    if (last->run == row->job.run || !*row->error) row->error = error_of(&jobs->arena, last);
}

/* What is known of a failure does not change until the job runs again. */
static bool remember(const struct pawl__cli_top_jobs *old, struct pawl__cli_top_jobs *jobs,
                     struct pawl__cli_top_job *row)
{
    for (size_t i = 0; i < old->count; i++) {
        const struct pawl__cli_top_job *known = &old->at[i];
        if (memcmp(&known->job.id, &row->job.id, sizeof row->job.id) != 0) continue;
        if (known->job.run != row->job.run || known->job.state != row->job.state) return false;
        row->at_ms = known->at_ms;
        row->error = keep(&jobs->arena, known->error);
        return true;
    }
    return false;
}

static enum pawl_err set_errors(struct pawl__cli *cli, const struct pawl__cli_top_jobs *old,
                                struct pawl__cli_top_jobs *jobs, struct pawl_diag *diag)
{
    for (size_t i = 0; i < jobs->count; i++) {
        struct pawl__cli_top_job *row = &jobs->at[i];
        if (remember(old, jobs, row)) continue;
        struct pawl_story story = { 0 };
        enum pawl_err err = pawl_story_get(cli->pawl, row->job.id, &story, diag);
        if (!err) set_error(jobs, row, &story);
        pawl_story_release(&story);
        if (err && err != PAWL_ERR_NOT_FOUND) return err; // forgotten since: then this is all
    }
    return PAWL_OK;
}

static enum pawl_err look_at_failed(struct pawl__cli *cli, const struct pawl__cli_top_ask *ask,
                                    struct pawl__cli_top_view *view, struct pawl_diag *diag)
{
    static const enum pawl_state states[] = { PAWL_STATE_DISCARDED, PAWL_STATE_RETRYABLE,
                                              PAWL_STATE_PAUSED };
    enum { STATES = sizeof states / sizeof states[0] };
    int64_t began_us = now_us();
    if (!ask->now && began_us < view->failed_next_us) return PAWL_OK;
    struct pawl__cli_top_jobs fresh;
    enum pawl_err err = PAWL_OK;
    jobs_init(&fresh, STATES * ask->limit);
    for (size_t i = 0; !err && i < STATES; i++) {
        err = add_page(cli, ask, view, states[i], &fresh, diag);
    }
    if (!err) err = set_errors(cli, &view->failed, &fresh, diag);
    if (err) {
        jobs_release(&fresh);
        return err;
    }
    settle(&view->failed, &fresh, ask->limit);
    int64_t ended_us = now_us();
    view->failed_next_us = ended_us + (ended_us - began_us) * (FAILED_SHARE - 1);
    return PAWL_OK;
}

/* ---- all of it ---- */

enum pawl_err pawl__cli_top_look(struct pawl__cli *cli, const struct pawl__cli_top_ask *ask,
                                 struct pawl__cli_top_view *view, struct pawl_diag *diag)
{
    assert(ask->limit > 0 && ask->limit <= PAWL_PAGE_MAX);
    pawl__cli_now(cli);
    enum pawl_err err = look_at_counts(cli, ask, view, diag);
    if (!err) err = look_at_nodes(cli, view, diag);
    if (!err) err = look_at_running(cli, ask, view, diag);
    if (!err) err = look_at_failed(cli, ask, view, diag);
    return err;
}

void pawl__cli_top_view_release(struct pawl__cli_top_view *view)
{
    pawl__arena_release(&view->arena);
    pawl_nodes_release(&view->nodes);
    jobs_release(&view->running);
    jobs_release(&view->failed);
    *view = (struct pawl__cli_top_view){ 0 };
}
