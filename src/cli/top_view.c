/* Reads the store for pawl top, at a cost that hardly grows with the store.
 *
 * The counts are counters, and there are as many running jobs as workers. Failed jobs must be
 * searched for among all that wait or ended in failure, so they are read only if the counters say
 * that there are any, and for at most a fiftieth of the time. */
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

static struct pawl__cli_top_rates rates_of(const struct pawl__cli_top_view *view,
                                           const struct pawl_queue_stats *before,
                                           const struct pawl_queue_stats *after)
{
    return pawl__cli_top_rates(before, after, view->base_us ? view->taken_us - view->base_us : 0);
}

static void add_counts(struct pawl_queue_stats *to, const struct pawl_queue_stats *counts)
{
    for (enum pawl_state state = PAWL_STATE_NONE + 1; state < PAWL_STATE_END; state++) {
        to->count[state] += counts->count[state];
    }
    to->archived += counts->archived;
}

/* The queue's counts in the base, from index *at on; a queue that is not there had no jobs. Queues
 * are sorted by name. */
static struct pawl_queue_stats base_of(const struct pawl_stats *base, const char *queue, size_t *at)
{
    while (*at < base->queue_count && strcmp(base->queues[*at].queue, queue) < 0) {
        (*at)++;
    }
    if (*at < base->queue_count && strcmp(base->queues[*at].queue, queue) == 0) {
        return base->queues[*at];
    }
    return (struct pawl_queue_stats){ .queue = queue };
}

static void set_queues(struct pawl__cli_top_view *view, const struct pawl__cli_top_ask *ask)
{
    const struct pawl_stats *stats = &view->stats;
    struct pawl_queue_stats base_all = { .queue = "" };
    pawl__arena_reset(&view->arena);
    view->queues = pawl__cli_need(
        pawl__arena_calloc(&view->arena, stats->queue_count + 1, sizeof *view->queues));
    view->queue_count = 0;
    view->all = (struct pawl__cli_top_queue){ .stats.queue = "" };
    for (size_t i = 0, at = 0; i < stats->queue_count; i++) {
        if (!is_wanted(ask, stats->queues[i].queue)) continue;
        struct pawl__cli_top_queue *queue = &view->queues[view->queue_count++];
        struct pawl_queue_stats base = base_of(&view->base, stats->queues[i].queue, &at);
        queue->stats = stats->queues[i];
        queue->rates = rates_of(view, &base, &queue->stats);
        add_counts(&view->all.stats, &queue->stats);
        add_counts(&base_all, &base);
    }
    view->all.rates = rates_of(view, &base_all, &view->all.stats);
}

/* The last view becomes the base, unless it was taken too short ago to give rates. */
static enum pawl_err read_counts(struct pawl__cli *cli, const struct pawl__cli_top_ask *ask,
                                 struct pawl__cli_top_view *view, struct pawl_diag *diag)
{
    struct pawl_stats stats = { 0 };
    enum pawl_err err = pawl_stats_get(cli->pawl, &stats, diag);
    if (err) {
        pawl_stats_release(&stats);
        return err;
    }
    int64_t taken_us = now_us();
    bool apart = taken_us - view->taken_us >= PAWL__CLI_TOP_RATE_MIN_US;
    if (view->taken_us && (apart || !view->base_us)) {
        pawl_stats_release(&view->base);
        view->base = view->stats;
        view->base_us = view->taken_us;
    } else {
        pawl_stats_release(&view->stats);
    }
    view->stats = stats;
    view->taken_us = taken_us;
    set_queues(view, ask);
    return PAWL_OK;
}

static enum pawl_err read_nodes(struct pawl__cli *cli, struct pawl__cli_top_view *view,
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

/* Of the paused jobs, only those that failed before are listed. */
static bool has_failed(const struct pawl_job *job)
{
    return job->state != PAWL_STATE_PAUSED || job->paused_from == PAWL_STATE_RETRYABLE ||
           job->paused_from == PAWL_STATE_DISCARDED;
}

/* Adds the newest jobs of a state, for which there is room. A query for one state uses an index,
 * one for several states does not. */
static enum pawl_err add_page(struct pawl__cli *cli, const struct pawl__cli_top_ask *ask,
                              const struct pawl__cli_top_view *view, enum pawl_state state,
                              struct pawl__cli_top_jobs *jobs, struct pawl_diag *diag)
{
    if (!view->all.stats.count[state]) return PAWL_OK;
    struct pawl_jobs found = { 0 };
    struct pawl_filter filter = {
        .states = PAWL_STATE_BIT(state),
        .queues = ask->queues->at,
        .queue_count = ask->queues->count,
    };
    struct pawl_page page = { .limit = ask->limit, .brief = true };
    enum pawl_err err = pawl_query(cli->pawl, &filter, &page, &found, diag);
    for (size_t i = 0; !err && i < found.count; i++) {
        if (has_failed(&found.at[i])) add_job(jobs, &found.at[i]);
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

/* Sorts `found` and puts it in place of `jobs`. */
static void replace(struct pawl__cli_top_jobs *jobs, struct pawl__cli_top_jobs *found,
                    int64_t limit)
{
    if (found->count) qsort(found->at, found->count, sizeof *found->at, latest_first);
    if ((int64_t)found->count > limit) found->count = (size_t)limit;
    jobs_release(jobs);
    *jobs = *found;
}

static enum pawl_err read_running(struct pawl__cli *cli, const struct pawl__cli_top_ask *ask,
                                  struct pawl__cli_top_view *view, struct pawl_diag *diag)
{
    struct pawl__cli_top_jobs found;
    jobs_init(&found, ask->limit);
    enum pawl_err err = add_page(cli, ask, view, PAWL_STATE_ACTIVE, &found, diag);
    if (err) {
        jobs_release(&found);
        return err;
    }
    replace(&view->running, &found, ask->limit);
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

/* The error of the newest run is preferred to the reason of the job's end, unless an operator ended
 * the job after that run. */
static void set_error(struct pawl__cli_top_jobs *jobs, struct pawl__cli_top_job *row,
                      const struct pawl_story *story)
{
    if (!story->failure_count) return;
    const struct pawl_failure *last = &story->failures[story->failure_count - 1];
    if (!story->job.finished_at_ms) row->at_ms = last->failed_at_ms;
    if (last->run == row->job.run || !*row->error) row->error = error_of(&jobs->arena, last);
}

/* An error does not change until the job runs again, so it is copied from the last view. */
static bool copy_error(const struct pawl__cli_top_jobs *old, struct pawl__cli_top_jobs *jobs,
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
        if (copy_error(old, jobs, row)) continue;
        struct pawl_story story = { 0 };
        enum pawl_err err = pawl_story_get(cli->pawl, row->job.id, &story, diag);
        if (!err) set_error(jobs, row, &story);
        pawl_story_release(&story);
        if (err && err != PAWL_ERR_NOT_FOUND) return err; // deleted meanwhile
    }
    return PAWL_OK;
}

static enum pawl_err read_failed(struct pawl__cli *cli, const struct pawl__cli_top_ask *ask,
                                 struct pawl__cli_top_view *view, struct pawl_diag *diag)
{
    static const enum pawl_state states[] = { PAWL_STATE_DISCARDED, PAWL_STATE_RETRYABLE,
                                              PAWL_STATE_PAUSED };
    enum { STATES = sizeof states / sizeof states[0] };
    int64_t began_us = now_us();
    if (!ask->now && began_us < view->failed_next_us) return PAWL_OK;
    struct pawl__cli_top_jobs found;
    enum pawl_err err = PAWL_OK;
    jobs_init(&found, STATES * ask->limit);
    for (size_t i = 0; !err && i < STATES; i++) {
        err = add_page(cli, ask, view, states[i], &found, diag);
    }
    if (!err) err = set_errors(cli, &view->failed, &found, diag);
    if (err) {
        jobs_release(&found);
        return err;
    }
    replace(&view->failed, &found, ask->limit);
    int64_t ended_us = now_us();
    view->failed_next_us = ended_us + (ended_us - began_us) * (FAILED_SHARE - 1);
    return PAWL_OK;
}

/* ---- the view ---- */

enum pawl_err pawl__cli_top_read(struct pawl__cli *cli, const struct pawl__cli_top_ask *ask,
                                 struct pawl__cli_top_view *view, struct pawl_diag *diag)
{
    assert(ask->limit > 0 && ask->limit <= PAWL_PAGE_MAX);
    pawl__cli_now(cli);
    enum pawl_err err = read_counts(cli, ask, view, diag);
    if (!err) err = read_nodes(cli, view, diag);
    if (!err) err = read_running(cli, ask, view, diag);
    if (!err) err = read_failed(cli, ask, view, diag);
    return err;
}

void pawl__cli_top_view_release(struct pawl__cli_top_view *view)
{
    pawl_stats_release(&view->stats);
    pawl_stats_release(&view->base);
    pawl__arena_release(&view->arena);
    pawl_nodes_release(&view->nodes);
    jobs_release(&view->running);
    jobs_release(&view->failed);
    *view = (struct pawl__cli_top_view){ 0 };
}
