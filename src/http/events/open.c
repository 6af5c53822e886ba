/* Coming to listen: which channel, whether what it is about exists, and what was missed.
 *
 * What happens while the store is asked is not lost: the ring has it, and all of the ring that is
 * newer than the request is told first. */
#include "http/events/events.h"
#include "http/events/inside.h"

#include <string.h>

/* A request on its way to become a listener; lives in its arena. */
struct opening {
    struct pawl__channel_key key;
    pawl__kinds kinds;
    bool progress;
    bool resumes;              /* the client says what it saw last: `after` */
    struct pawl_job_id after;  /* what happened after this event is told first */
    struct pawl__record state; /* of a job: how it is, as the record of its last move */
    struct pawl__record progress_now;
    bool has_progress;
};

/* ---- how things are: on the pool ---- */

static enum pawl_state came_from(const struct pawl_story *story)
{
    const struct pawl_job *job = &story->job;
    for (size_t i = story->audit_count; i-- > 0;) {
        if (story->audit[i].to == job->state) return story->audit[i].from;
    }
    bool ran = job->attempt > 0 && job->state != PAWL_STATE_EXPIRED;
    return ran ? PAWL_STATE_ACTIVE : PAWL_STATE_AVAILABLE;
}

static struct pawl__name *name_of(struct pawl__request *request, const char *text)
{
    size_t len = strlen(text);
    struct pawl__name *name = pawl__arena_calloc(&request->arena, 1, sizeof *name + len + 1);
    if (!name) return NULL;
    name->len = len;
    memcpy(name->text, text, len);
    return name;
}

static char *progress_data(struct pawl__request *request, const struct pawl_story *story)
{
    struct pawl__buf text = { 0 };
    const char *message = story->progress_message;
    if (message && *message) {
        pawl__buf_add_text(&text, "\"message\":");
        pawl__buf_add_json(&text, message, strlen(message));
    }
    if (story->progress_data.len) {
        pawl__buf_add_text(&text, text.len ? ",\"data\":" : "\"data\":");
        pawl__buf_add(&text, story->progress_data.at, story->progress_data.len);
    }
    char *copy = NULL;
    if (text.len && !text.failed) copy = pawl__arena_dup(&request->arena, text.at, text.len);
    pawl__buf_release(&text);
    return pawl__on_one_line(copy);
}

static void remember(struct pawl__request *request, const struct pawl_story *story)
{
    struct opening *opening = request->state;
    const struct pawl_job *job = &story->job;
    opening->state = (struct pawl__record){ .job = job->id,
                                            .at_ms = job->finished_at_ms,
                                            .run = job->run,
                                            .from = came_from(story),
                                            .to = job->state,
                                            .kind = PAWL__EVENT_STATE_CHANGED,
                                            .has_job = true,
                                            .progress = story->progress,
                                            .queue = name_of(request, job->queue),
                                            .type = name_of(request, job->type) };
    opening->has_progress = story->progress_at_ms > 0;
    opening->progress_now = (struct pawl__record){ .job = job->id,
                                                   .at_ms = story->progress_at_ms,
                                                   .kind = PAWL__EVENT_PROGRESS,
                                                   .has_job = true,
                                                   .progress = story->progress,
                                                   .data = progress_data(request, story) };
}

static void look_at_job(struct pawl__request *request)
{
    struct opening *opening = request->state;
    struct pawl_story story = { 0 };
    struct pawl_diag diag;
    char id[PAWL_JOB_ID_TEXT_BYTES];
    enum pawl_err err = pawl_story_get(request->server->pawl, opening->key.job, &story, &diag);
    if (err == PAWL_ERR_NOT_FOUND) {
        pawl_job_id_text(opening->key.job, id);
        pawl__reply_not_found(request, "job", id);
    } else if (err) {
        pawl__reply_err(request, err, &diag);
    } else {
        remember(request, &story);
        pawl__request_park(request);
    }
    pawl_story_release(&story);
}

static bool has_queue(const struct pawl_stats *stats, const char *queue)
{
    for (size_t i = 0; i < stats->queue_count; i++) {
        if (strcmp(stats->queues[i].queue, queue) == 0) return true;
    }
    return false;
}

/* A queue that was configured and not yet used. */
static bool is_made(struct pawl__request *request, const char *queue)
{
    struct pawl_queue_configs configs = { 0 };
    enum pawl_err err = pawl_queue_configs_get(request->server->pawl, queue, &configs, NULL);
    bool made = !err && configs.count;
    pawl_queue_configs_release(&configs);
    return made;
}

static void look_at_queue(struct pawl__request *request)
{
    struct opening *opening = request->state;
    struct pawl_stats stats = { 0 };
    struct pawl_diag diag;
    enum pawl_err err = pawl_stats_get(request->server->pawl, &stats, &diag);
    if (err) {
        pawl__reply_err(request, err, &diag);
    } else if (!has_queue(&stats, opening->key.queue) && !is_made(request, opening->key.queue)) {
        pawl__reply_not_found(request, "queue", opening->key.queue);
    } else {
        pawl__request_park(request);
    }
    pawl_stats_release(&stats);
}

/* ---- what was missed: on the loop ---- */

/* True: the job's end is in it. */
static bool replay(struct pawl__buf *out, const struct opening *opening,
                   const struct pawl__listener *listener, const struct pawl__events *events)
{
    bool over = false;
    size_t count = pawl__events_count(events);
    for (size_t i = pawl__events_find(events, &opening->after); i < count; i++) {
        const struct pawl__record *record = pawl__events_at(events, i);
        struct pawl_job_id seen = opening->after;
        seen.b[15] &= (uint8_t)~3;
        // an id is of its whole record: who saw one event of it is told the others again
        if (memcmp(record->id.b, seen.b, sizeof seen.b) == 0) continue;
        if (!pawl__channel_wants(&opening->key, record)) continue;
        pawl__stream_print_for(out, record, listener);
        over = opening->key.kind == PAWL__CHANNEL_JOB &&
               record->kind == PAWL__EVENT_STATE_CHANGED && pawl_state_is_terminal(record->to);
    }
    return over;
}

static void print_missed(struct pawl__buf *out, const struct opening *opening,
                         const struct pawl__listener *listener, bool *over)
{
    struct pawl__server *server = listener->request->server;
    const struct pawl__events *events = server->events;
    size_t most = (size_t)server->config.limits.stream_bytes_max / 2;
    size_t before = out->len;
    if (opening->resumes && !pawl__events_reach(events, &opening->after)) {
        pawl__stream_print_gap(out, pawl__events_newest(events),
                               "events that old are no longer available");
    }
    *over = replay(out, opening, listener, events);
    if (out->len > most) {
        out->len = before;
        pawl__stream_print_gap(out, pawl__events_newest(events), "too much has happened since");
    }
}

/* A job that has ended says so once; a stream of its progress says how far it has come. */
static void print_state(struct pawl__buf *out, struct opening *opening,
                        const struct pawl__listener *listener, bool told)
{
    struct pawl_job_id newest = pawl__events_newest(listener->request->server->events);
    newest.b[15] &= (uint8_t)~3;
    opening->state.id = opening->progress_now.id = newest;
    bool ended = pawl_state_is_terminal(opening->state.to);
    if (listener->progress && opening->has_progress && !ended) {
        pawl__stream_print_progress(out, &opening->progress_now);
    }
    if (!ended || told) return;
    if (listener->progress) {
        pawl__stream_print_progress(out, &opening->state);
    } else {
        pawl__stream_print(out, &opening->state, PAWL__EVENT_STATE_CHANGED, 0);
    }
}

static void on_abandoned(struct pawl__request *request)
{
    pawl__listener_leave(request->state);
}

static void note_known(struct pawl__listener *listener, const struct opening *opening)
{
    struct pawl__channel *channel = listener->channel;
    if (channel->state) return; // it knows better
    channel->state = opening->state.to;
    channel->run = opening->state.run;
    channel->progress_at_ms = opening->progress_now.at_ms;
}

static void begin(struct pawl__request *request, struct pawl__listener *listener,
                  struct opening *opening)
{
    struct pawl__buf first = { 0 };
    bool over = false;
    bool of_job = opening->key.kind == PAWL__CHANNEL_JOB;
    pawl__buf_add_text(&first, "retry: 3000\n\n");
    if (of_job && !opening->resumes && pawl_state_is_terminal(opening->state.to)) {
        print_state(&first, opening, listener, false);
        over = true;
    } else {
        if (of_job && !opening->resumes) print_state(&first, opening, listener, false);
        print_missed(&first, opening, listener, &over);
        if (of_job && opening->resumes) print_state(&first, opening, listener, over);
        over = over || (of_job && pawl_state_is_terminal(opening->state.to));
    }
    request->state = listener;
    request->abandon = on_abandoned;
    pawl__stream_begin(request, "text/event-stream");
    if (!first.failed) pawl__listener_send(listener, first.at, first.len);
    pawl__buf_release(&first);
    if (over) pawl__listener_end(listener);
}

static void open_stream(struct pawl__request *request)
{
    struct opening *opening = request->state;
    struct pawl__streams *streams = request->server->streams;
    struct pawl__listener *listener = pawl__arena_calloc(&request->arena, 1, sizeof *listener);
    if (request->server->stopping) {
        pawl__reply_refuse(request, PAWL__FAULT_UNAVAILABLE, "", "the server is stopping");
        return;
    }
    if (listener) {
        listener->request = request;
        listener->kinds = opening->kinds;
        listener->progress = opening->progress;
    }
    if (!listener || !pawl__listener_join(streams, listener, &opening->key)) {
        pawl__reply_nomem(request);
        return;
    }
    if (opening->key.kind == PAWL__CHANNEL_JOB) note_known(listener, opening);
    begin(request, listener, opening);
}

/* ---- handlers ---- */

static bool read_filter(struct pawl__request *request, struct opening *opening)
{
    const char *types = pawl__request_query(request, "event_types");
    const char *last = pawl__request_header(request, "last-event-id");
    if (!last) last = pawl__request_query(request, "last_event_id");
    opening->kinds = types ? pawl__kinds_parse(types) : PAWL__KINDS_USUAL;
    opening->after = pawl__events_newest(request->server->events);
    if (types && !opening->kinds) {
        return pawl__reply_invalid(request, "event_types",
                                   "event_types names no event that there is");
    }
    if (last && *last) {
        opening->resumes = true;
        // an id that is not ours: from a server that is gone
        if (!pawl__event_id_parse(last, &opening->after)) {
            memset(&opening->after, 0, sizeof opening->after);
        }
    }
    return true;
}

static void start(struct pawl__request *request, struct opening *opening)
{
    if (strcmp(request->method, "HEAD") == 0) {
        request->content_type = "text/event-stream";
        pawl__reply(request, 200);
        return;
    }
    if (!read_filter(request, opening)) return;
    request->state = opening;
    request->parked = open_stream;
    switch (opening->key.kind) {
    case PAWL__CHANNEL_JOB:
        pawl__request_to_pool(request, look_at_job);
        break;
    case PAWL__CHANNEL_QUEUE:
        pawl__request_to_pool(request, look_at_queue);
        break;
    case PAWL__CHANNEL_ALL:
        open_stream(request);
        break;
    }
}

static struct opening *opening_new(struct pawl__request *request, enum pawl__channel_kind kind)
{
    struct opening *opening = pawl__arena_calloc(&request->arena, 1, sizeof *opening);
    if (opening) {
        opening->key.kind = kind;
    } else {
        pawl__reply_nomem(request);
    }
    return opening;
}

static void listen_to_job(struct pawl__request *request, bool progress)
{
    struct pawl_job_id id;
    if (!pawl__request_job_id(request, 0, &id)) return;
    struct opening *opening = opening_new(request, PAWL__CHANNEL_JOB);
    if (!opening) return;
    opening->key.job = id;
    opening->progress = progress;
    start(request, opening);
}

void pawl__on_job_events(struct pawl__request *request)
{
    listen_to_job(request, false);
}

void pawl__on_progress_stream(struct pawl__request *request)
{
    listen_to_job(request, true);
}

void pawl__on_queue_events(struct pawl__request *request)
{
    struct opening *opening = opening_new(request, PAWL__CHANNEL_QUEUE);
    if (!opening) return;
    opening->key.queue = request->parts[0];
    start(request, opening);
}

/* channel=job:ID, queue:NAME or all, which it is when it is not given. */
void pawl__on_event_stream(struct pawl__request *request)
{
    const char *channel = pawl__request_query(request, "channel");
    if (channel && strncmp(channel, "job:", 4) == 0) {
        request->parts[0] = channel + 4;
        pawl__on_job_events(request);
    } else if (channel && strncmp(channel, "queue:", 6) == 0 && channel[6]) {
        request->parts[0] = channel + 6;
        pawl__on_queue_events(request);
    } else if (!channel || strcmp(channel, "all") == 0) {
        struct opening *opening = opening_new(request, PAWL__CHANNEL_ALL);
        if (opening) start(request, opening);
    } else {
        pawl__reply_invalid(request, "channel", "channel must be job:ID, queue:NAME or all");
    }
}
