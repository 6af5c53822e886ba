/* What happened: from the library's threads to the loop, into a ring, and on to who listens.
 *
 * 1. The inbox is all that threads share; it is bounded, and what it has no room for is counted.
 * 2. The ring belongs to the loop. Its records are in the order of their ids; the oldest go when
 *    there are too many, or too many bytes in them. */
#include "http/events/events.h"
#include "http/events/inside.h"
#include "base/clock.h"
#include "base/diag.h"
#include "http/events/latency.h"
#include "http/events/streams.h"
#include "http/events/workflows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    INBOX_MAX = 65536,
    INBOX_TEXT_MAX = 64 * 1024 * 1024,
    INBOX_KEPT_BYTES = 1024 * 1024,
    NOTE_DATA_MAX = 64 * 1024,
    LATENCY_JOBS_MAX = 262144,
    NO_TEXT = 0 /* offset of "" in every inbox's text */
};

/* A move or a note on its way; texts are offsets into the inbox's bytes. */
struct news {
    struct pawl_job_id job;
    enum pawl_state from, to;
    enum pawl__event_kind kind; /* STATE_CHANGED: a move. NONE: forget everything */
    bool has_job, in_flow;
    int64_t at_ms, run, lost;
    double progress;
    size_t queue, type, subject, data;
};

struct inbox {
    struct news *at;
    size_t count, cap;
    struct pawl__buf text;
};

struct pawl__events {
    struct pawl__server *server;
    uv_async_t news;
    atomic_bool ready, foreign; /* what the watcher was told */
    struct pawl__mutex mutex;
    /* guarded by mutex: */
    struct inbox inbox;
    int64_t inbox_lost;

    /* the loop's: */
    struct inbox reading;
    struct pawl__names names;
    struct pawl__latency *latency;
    struct pawl__workflows *workflows;
    struct pawl__record *ring;
    size_t max, head, count;
    size_t text_max, text_bytes; /* of the records' own texts */
    struct pawl_job_id floor;    /* everything after this event is in the ring */
    int64_t lost;
    int64_t unreported; /* lost, and the next move shall say so */
    bool listening, watching;
};

/* ---- into the inbox: any thread ---- */

static size_t put_text(struct inbox *inbox, const char *text, size_t len)
{
    if (!len) return NO_TEXT;
    size_t at = inbox->text.len;
    pawl__buf_add(&inbox->text, text, len);
    pawl__buf_add(&inbox->text, "", 1);
    return at;
}

/* Room for one more, with the empty text at offset 0. */
static struct news *next_news(struct inbox *inbox)
{
    if (inbox->count == INBOX_MAX || inbox->text.len > INBOX_TEXT_MAX) return NULL;
    if (inbox->count == inbox->cap) {
        size_t cap = inbox->cap ? 2 * inbox->cap : 64;
        struct news *at = realloc(inbox->at, cap * sizeof *at);
        if (!at) return NULL;
        inbox->at = at;
        inbox->cap = cap;
    }
    if (!inbox->text.len) pawl__buf_add(&inbox->text, "", 1);
    return &inbox->at[inbox->count];
}

/* `filled`: the news at the end of the inbox is whole, unless there was no memory for its texts. */
static void close_news(struct pawl__events *events, bool filled)
{
    struct inbox *inbox = &events->inbox;
    if (filled && !inbox->text.failed) {
        inbox->count++;
    } else {
        events->inbox_lost++;
        inbox->text.failed = false; // what is there is whole; the next one may fit
    }
}

/* Which deadline, and the state in which the job missed it. */
static size_t put_missed(struct inbox *inbox, const struct pawl_moved *moved)
{
    char text[96];
    int len = snprintf(text, sizeof text, "\"deadline\":\"%s\",\"state\":\"%s\"",
                       pawl_deadline_text(moved->missed),
                       pawl_state_name(moved->to, PAWL_VOCABULARY_OJS));
    assert(len > 0 && len < (int)sizeof text);
    return put_text(inbox, text, (size_t)len);
}

static void on_moved(void *ctx, const struct pawl_moved *moved)
{
    struct pawl__events *events = ctx;
    pawl__lock(&events->mutex);
    struct inbox *inbox = &events->inbox;
    bool first = !inbox->count;
    struct news *news = next_news(inbox);
    if (news) {
        *news = (struct news){ .job = moved->id,
                               .from = moved->from,
                               .to = moved->to,
                               .kind = PAWL__EVENT_STATE_CHANGED,
                               .has_job = true,
                               .in_flow = moved->in_flow,
                               .at_ms = moved->at_ms,
                               .run = moved->run,
                               .lost = moved->lost,
                               .progress = -1 };
        news->queue = put_text(inbox, moved->queue, strlen(moved->queue));
        news->type = put_text(inbox, moved->type, strlen(moved->type));
        if (moved->missed) {
            news->kind = PAWL__EVENT_DEADLINE_MISSED;
            news->from = news->to = PAWL_STATE_NONE;
            news->data = put_missed(inbox, moved);
        }
    }
    close_news(events, news);
    pawl__unlock(&events->mutex);
    if (first) uv_async_send(&events->news);
}

static size_t put_optional(struct inbox *inbox, const char *text)
{
    return text ? put_text(inbox, text, strlen(text)) : NO_TEXT;
}

void pawl__events_note(struct pawl__server *server, const struct pawl__note *note)
{
    struct pawl__events *events = server->events;
    if (!events) return;
    bool fits = note->data.len <= NOTE_DATA_MAX;
    int64_t now_ms = pawl__clock_wall_ms(&pawl__clock_system);
    pawl__lock(&events->mutex);
    struct inbox *inbox = &events->inbox;
    struct news *news = next_news(inbox);
    if (news) {
        *news =
            (struct news){ .kind = note->kind,
                           .has_job = note->job,
                           .at_ms = now_ms,
                           .progress = note->kind == PAWL__EVENT_PROGRESS ? note->progress : -1 };
        if (note->job) news->job = *note->job;
        news->queue = put_optional(inbox, note->queue);
        news->type = put_optional(inbox, note->job_type);
        news->subject = put_optional(inbox, note->subject);
        news->data = fits ? put_text(inbox, note->data.at, note->data.len) : NO_TEXT;
    }
    close_news(events, news);
    pawl__unlock(&events->mutex);
    uv_async_send(&events->news);
}

void pawl__events_forget(struct pawl__server *server)
{
    pawl__events_note(server, &(struct pawl__note){ .kind = PAWL__EVENT_NONE });
}

static void on_ready(void *ctx, bool foreign)
{
    struct pawl__events *events = ctx;
    if (foreign) atomic_store(&events->foreign, true);
    if (!atomic_exchange(&events->ready, true)) uv_async_send(&events->news);
}

/* ---- into the ring: the loop ---- */

static size_t bytes_of(const struct pawl__record *record)
{
    return (record->subject ? strlen(record->subject) + 1 : 0) +
           (record->data ? strlen(record->data) + 1 : 0);
}

static void empty_record(struct pawl__events *events, struct pawl__record *record)
{
    events->text_bytes -= bytes_of(record);
    pawl__names_drop(&events->names, record->queue);
    pawl__names_drop(&events->names, record->type);
    free(record->subject);
    free(record->data);
}

static void drop_oldest(struct pawl__events *events)
{
    struct pawl__record *oldest = &events->ring[events->head];
    events->floor = oldest->id;
    events->floor.b[15] |= 3; // all of the record's events are gone
    empty_record(events, oldest);
    events->head = (events->head + 1) % events->max;
    events->count--;
}

static struct pawl_job_id next_id(struct pawl__events *events)
{
    struct pawl_job_id id = pawl__idgen_next(&events->server->ids);
    id.b[15] &= (uint8_t)~3;
    return id;
}

/* Takes the record's texts. */
static const struct pawl__record *keep(struct pawl__events *events, struct pawl__record *record)
{
    size_t bytes = bytes_of(record);
    while (events->count == events->max ||
           (events->count && events->text_bytes + bytes > events->text_max)) {
        drop_oldest(events);
    }
    events->text_bytes += bytes;
    size_t at = (events->head + events->count++) % events->max;
    record->id = next_id(events);
    events->ring[at] = *record;
    return &events->ring[at];
}

static void forget_all(struct pawl__events *events)
{
    while (events->count) {
        drop_oldest(events);
    }
}

static struct pawl__name *hold(struct pawl__events *events, const char *text)
{
    return *text ? pawl__names_hold(&events->names, text) : NULL;
}

char *pawl__on_one_line(char *json)
{
    for (char *at = json; at && *at; at++) {
        if (*at == '\n' || *at == '\r') *at = ' ';
    }
    return json;
}

static void take_in(struct pawl__events *events, const struct inbox *inbox, const struct news *news)
{
    const char *text = inbox->text.at;
    struct pawl__record record = { .job = news->job,
                                   .at_ms = news->at_ms,
                                   .run = news->run,
                                   .from = news->from,
                                   .to = news->to,
                                   .kind = news->kind,
                                   .has_job = news->has_job,
                                   .progress = news->progress,
                                   .queue = hold(events, text + news->queue),
                                   .type = hold(events, text + news->type) };
    if (news->subject) record.subject = strdup(text + news->subject);
    if (news->data) record.data = pawl__on_one_line(strdup(text + news->data));
    if (news->kind == PAWL__EVENT_STATE_CHANGED) {
        struct pawl_moved moved = { .id = news->job,
                                    .from = news->from,
                                    .to = news->to,
                                    .at_ms = news->at_ms,
                                    .run = news->run,
                                    .queue = text + news->queue,
                                    .type = text + news->type,
                                    .in_flow = news->in_flow,
                                    .lost = events->unreported };
        events->unreported = 0;
        record.since_ms = pawl__latency_move(events->latency, &moved);
        events->server->hooks->moved(events->server, &moved, record.since_ms);
    }
    pawl__streams_notify(events->server->streams, keep(events, &record));
    if (!news->in_flow) return;
    const struct pawl_moved step = {
        .id = news->job, .from = news->from, .to = news->to, .in_flow = true
    };
    if (!pawl__workflow_moved(events->workflows, &step)) events->lost++;
}

static void note_lost(struct pawl__events *events, int64_t lost)
{
    if (!lost) return;
    events->lost += lost;
    events->unreported += lost;
    pawl__streams_gap(events->server->streams);
}

static void read_inbox(struct pawl__events *events)
{
    struct inbox *reading = &events->reading;
    pawl__lock(&events->mutex);
    struct inbox full = events->inbox;
    int64_t lost = events->inbox_lost;
    events->inbox = *reading;
    events->inbox_lost = 0;
    pawl__unlock(&events->mutex);
    *reading = full;
    note_lost(events, lost);
    for (size_t i = 0; i < reading->count; i++) {
        const struct news *news = &reading->at[i];
        note_lost(events, news->lost);
        if (news->kind == PAWL__EVENT_NONE) {
            forget_all(events);
        } else {
            take_in(events, reading, news);
        }
    }
    reading->count = 0;
    pawl__buf_clear(&reading->text);
    if (reading->text.cap > INBOX_KEPT_BYTES) pawl__buf_release(&reading->text); // a rush is over
}

static void on_news(uv_async_t *async)
{
    struct pawl__events *events = async->data;
    bool ready = atomic_exchange(&events->ready, false);
    bool foreign = atomic_exchange(&events->foreign, false);
    read_inbox(events);
    pawl__streams_flush(events->server->streams);
    if (foreign) pawl__streams_foreign(events->server->streams);
    if (ready) events->server->hooks->ready(events->server, foreign);
}

void pawl__events_foreign(struct pawl__events *events, const struct pawl_moved *moved)
{
    struct pawl__record record = { .job = moved->id,
                                   .at_ms = moved->at_ms,
                                   .run = moved->run,
                                   .from = moved->from,
                                   .to = moved->to,
                                   .kind = PAWL__EVENT_STATE_CHANGED,
                                   .has_job = true,
                                   .progress = -1,
                                   .queue = hold(events, moved->queue),
                                   .type = hold(events, moved->type) };
    pawl__streams_notify(events->server->streams, keep(events, &record));
}

/* ---- looking ---- */

size_t pawl__events_count(const struct pawl__events *events)
{
    return events->count;
}

const struct pawl__record *pawl__events_at(const struct pawl__events *events, size_t index)
{
    assert(index < events->count);
    return &events->ring[(events->head + index) % events->max];
}

size_t pawl__events_find(const struct pawl__events *events, const struct pawl_job_id *id)
{
    struct pawl_job_id first = *id;
    first.b[15] &= (uint8_t)~3;
    size_t low = 0, high = events->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memcmp(pawl__events_at(events, middle)->id.b, first.b, sizeof first.b) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

struct pawl_job_id pawl__events_newest(const struct pawl__events *events)
{
    struct pawl_job_id id = events->floor;
    if (events->count) id = pawl__events_at(events, events->count - 1)->id;
    id.b[15] |= 3;
    return id;
}

bool pawl__events_reach(const struct pawl__events *events, const struct pawl_job_id *id)
{
    struct pawl_job_id last = *id;
    last.b[15] |= 3;
    return memcmp(last.b, events->floor.b, sizeof last.b) >= 0;
}

const struct pawl__names *pawl__events_names(const struct pawl__events *events)
{
    return &events->names;
}

int64_t pawl__events_lost(const struct pawl__events *events)
{
    return events->lost;
}

/* ---- coming and going ---- */

enum pawl_err pawl__events_new(struct pawl__server *server, struct pawl_diag *diag)
{
    struct pawl__events *events = calloc(1, sizeof *events);
    if (!events) return pawl__fail_nomem(diag);
    events->server = server;
    events->max = (size_t)server->config.limits.events_max;
    events->text_max = (size_t)server->config.limits.events_bytes_max;
    events->ring = calloc(events->max, sizeof *events->ring);
    events->latency = pawl__latency_new(LATENCY_JOBS_MAX);
    events->workflows = pawl__workflows_new(server);
    if (!events->ring || !events->latency || !events->workflows ||
        uv_async_init(&server->loop, &events->news, on_news) != 0) {
        pawl__workflows_free(events->workflows);
        pawl__latency_free(events->latency);
        free(events->ring);
        free(events);
        return pawl__fail_nomem(diag);
    }
    events->news.data = events;
    events->floor = next_id(events);
    pawl__mutex_init(&events->mutex);
    server->events = events;
    enum pawl_err err = pawl_listen(server->pawl, on_moved, events, diag);
    events->listening = !err;
    if (!err) err = pawl_watch(server->pawl, on_ready, events, diag);
    events->watching = !err;
    return err; // on failure the components are closed, and this one with them
}

static void on_closed(uv_handle_t *handle)
{
    struct pawl__events *events = handle->data;
    pawl__mutex_release(&events->mutex);
    free(events);
}

static void release_inbox(struct inbox *inbox)
{
    free(inbox->at);
    pawl__buf_release(&inbox->text);
}

void pawl__events_free(struct pawl__events *events)
{
    if (!events) return;
    struct pawl__server *server = events->server;
    if (events->watching) (void)!pawl_watch(server->pawl, NULL, NULL, NULL);
    if (events->listening) (void)!pawl_listen(server->pawl, NULL, NULL, NULL);
    forget_all(events);
    pawl__names_release(&events->names);
    pawl__workflows_free(events->workflows);
    pawl__latency_free(events->latency);
    free(events->ring);
    release_inbox(&events->inbox);
    release_inbox(&events->reading);
    server->events = NULL;
    uv_close((uv_handle_t *)&events->news, on_closed); // the loop lets go of it later
}
