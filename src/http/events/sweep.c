/* Jobs that somebody watches and another process moves: a look at the store from time to time.
 *
 * A look can be ahead of the news of this process's own moves. So what it finds is told only when
 * the next look, a moment later, finds it too and no news of it have come. */
#include "base/clock.h"
#include "http/events/inside.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct seen {
    struct pawl_job_id id;
    bool found, failed;
    enum pawl_state state;
    int64_t run;
    double progress;
    int64_t progress_at_ms;
    char *queue, *type; /* in the arena */
};

struct pawl__sweep {
    struct pawl__streams *streams;
    struct pawl__arena arena;
    struct seen *seen;
    size_t count;
};

/* ---- on the pool ---- */

static void look(struct pawl__sweep *sweep, struct seen *seen)
{
    struct pawl_story story = { 0 };
    enum pawl_err err = pawl_story_get(sweep->streams->server->pawl, seen->id, &story, NULL);
    seen->found = !err;
    seen->failed = err && err != PAWL_ERR_NOT_FOUND;
    if (!err) {
        const struct pawl_job *job = &story.job;
        seen->state = job->state;
        seen->run = job->run;
        seen->progress = story.progress;
        seen->progress_at_ms = story.progress_at_ms;
        seen->queue = pawl__arena_dup(&sweep->arena, job->queue, strlen(job->queue));
        seen->type = pawl__arena_dup(&sweep->arena, job->type, strlen(job->type));
        seen->failed = !seen->queue || !seen->type;
    }
    pawl_story_release(&story);
}

static void on_pool(void *ctx)
{
    struct pawl__sweep *sweep = ctx;
    for (size_t i = 0; i < sweep->count; i++) {
        look(sweep, &sweep->seen[i]);
    }
}

/* ---- back on the loop ---- */

/* True: to be looked at again, soon. */
static bool compare_state(struct pawl__streams *streams, struct pawl__channel *channel,
                          const struct seen *seen)
{
    if (seen->state == channel->state && seen->run == channel->run) {
        channel->suspect = PAWL_STATE_NONE;
        return false;
    }
    if (channel->suspect != seen->state || channel->suspect_run != seen->run) {
        channel->suspect = seen->state;
        channel->suspect_run = seen->run;
        return true;
    }
    channel->suspect = PAWL_STATE_NONE;
    pawl__events_foreign(streams->server->events,
                         &(struct pawl_moved){
                             .id = seen->id,
                             .from = channel->state,
                             .to = seen->state,
                             .at_ms = pawl__clock_wall_ms(&pawl__clock_system),
                             .run = seen->run,
                             .queue = seen->queue,
                             .type = seen->type,
                         });
    return false;
}

/* To this channel alone: whoever listens to all gets what this process knows. */
static void compare_progress(struct pawl__streams *streams, struct pawl__channel *channel,
                             const struct seen *seen)
{
    if (seen->progress_at_ms <= channel->progress_at_ms || seen->progress < 0) return;
    struct pawl__note note = { .kind = PAWL__EVENT_PROGRESS,
                               .job = &seen->id,
                               .queue = seen->queue,
                               .job_type = seen->type,
                               .progress = seen->progress };
    channel->progress_at_ms = seen->progress_at_ms;
    pawl__events_note(streams->server, &note);
}

static bool compare(struct pawl__streams *streams, const struct seen *seen)
{
    struct pawl__channel_key key = { .kind = PAWL__CHANNEL_JOB, .job = seen->id };
    struct pawl__channel *channel = pawl__channel_find(streams, &key);
    if (!channel || seen->failed) return false;
    if (!seen->found) { // deleted: nothing more will happen to it
        struct pawl__listener *next;
        for (struct pawl__listener *at = channel->listeners; at; at = next) {
            next = at->next;
            pawl__listener_end(at);
        }
        return false;
    }
    compare_progress(streams, channel, seen);
    return compare_state(streams, channel, seen);
}

static void sweep_free(struct pawl__sweep *sweep)
{
    pawl__arena_release(&sweep->arena);
    free(sweep);
}

static void start_timer(struct pawl__streams *streams)
{
    if (uv_is_active((uv_handle_t *)&streams->sweep_timer)) return;
    int64_t wait_ms = streams->swept_ms + PAWL__SWEEP_MS - pawl__server_now(streams->server);
    uv_timer_start(&streams->sweep_timer, pawl__sweep_on_timer, wait_ms > 0 ? (uint64_t)wait_ms : 0,
                   0);
}

static void on_loop(void *ctx)
{
    struct pawl__sweep *sweep = ctx;
    struct pawl__streams *streams = sweep->streams;
    bool again = streams->to_sweep > 0;
    streams->sweep = NULL;
    streams->swept_ms = pawl__server_now(streams->server);
    for (size_t i = 0; i < sweep->count; i++) {
        again = compare(streams, &sweep->seen[i]) || again;
    }
    sweep_free(sweep);
    pawl__streams_flush(streams);
    if (again) start_timer(streams);
}

/* ---- setting out ---- */

/* The jobs behind the last one that was looked after, round and round; after a whole round those
 * alone that are suspect. */
static void pick(struct pawl__streams *streams, struct pawl__sweep *sweep)
{
    bool all = streams->to_sweep > 0;
    struct pawl__channel_key key = { .kind = PAWL__CHANNEL_JOB, .job = streams->swept };
    struct pawl__channel *last = pawl__channel_find(streams, &key);
    struct pawl__channel *first = last && last->next_job ? last->next_job : streams->jobs;
    struct pawl__channel *at = first;
    do {
        if (at->count && !at->over && (all || at->suspect)) {
            sweep->seen[sweep->count++].id = at->key.job;
        }
        at = at->next_job ? at->next_job : streams->jobs;
    } while (at != first && sweep->count < PAWL__SWEEP_JOBS_MAX);
    if (sweep->count) streams->swept = sweep->seen[sweep->count - 1].id;
    bool whole = sweep->count < PAWL__SWEEP_JOBS_MAX || sweep->count >= streams->to_sweep;
    streams->to_sweep = whole ? 0 : streams->to_sweep - sweep->count;
}

void pawl__sweep_on_timer(uv_timer_t *timer)
{
    struct pawl__streams *streams = timer->data;
    struct pawl__server *server = streams->server;
    if (streams->sweep || !streams->jobs || server->stopping) return;
    struct pawl__sweep *sweep = calloc(1, sizeof *sweep);
    if (!sweep) return; // the next tick tries again
    sweep->streams = streams;
    sweep->seen = pawl__arena_calloc(&sweep->arena, PAWL__SWEEP_JOBS_MAX, sizeof *sweep->seen);
    if (sweep->seen) pick(streams, sweep);
    if (!sweep->count || !pawl__background_run(server, on_pool, on_loop, sweep)) {
        sweep_free(sweep);
        return;
    }
    streams->sweep = sweep;
}

void pawl__sweep_soon(struct pawl__streams *streams)
{
    streams->to_sweep = streams->job_count;
    if (!streams->sweep) start_timer(streams); // else it is when this one comes back
}
