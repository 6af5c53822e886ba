/* Who listens to what, and sending it to them.
 *
 * 1. A channel exists as long as somebody listens to it, or something of it is to be sent.
 * 2. A listener lives in its request: it goes when the stream ends or the client does. */
#include "http/events/streams.h"
#include "base/list.h"
#include "base/diag.h"
#include "http/events/inside.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- channels ---- */

static uint32_t hash_of(const struct pawl__channel_key *key)
{
    switch (key->kind) {
    case PAWL__CHANNEL_JOB:
        return pawl__hash(key->job.b, sizeof key->job.b);
    case PAWL__CHANNEL_QUEUE:
        return pawl__hash(key->queue, strlen(key->queue));
    case PAWL__CHANNEL_ALL:
        break;
    }
    return 0;
}

static bool same_key(const struct pawl__channel_key *a, const struct pawl__channel_key *b)
{
    if (a->kind != b->kind) return false;
    if (a->kind == PAWL__CHANNEL_JOB) return memcmp(a->job.b, b->job.b, sizeof a->job.b) == 0;
    return a->kind == PAWL__CHANNEL_ALL || strcmp(a->queue, b->queue) == 0;
}

static struct pawl__channel *find(struct pawl__streams *streams,
                                  const struct pawl__channel_key *key, uint32_t hash)
{
    struct pawl__channel *channel = streams->buckets[hash % PAWL__CHANNEL_BUCKETS];
    while (channel && (channel->hash != hash || !same_key(&channel->key, key))) {
        channel = channel->next;
    }
    return channel;
}

struct pawl__channel *pawl__channel_find(struct pawl__streams *streams,
                                         const struct pawl__channel_key *key)
{
    return find(streams, key, hash_of(key));
}

bool pawl__channel_wants(const struct pawl__channel_key *key, const struct pawl__record *record)
{
    switch (key->kind) {
    case PAWL__CHANNEL_ALL:
        return true;
    case PAWL__CHANNEL_QUEUE:
        return record->queue && strcmp(record->queue->text, key->queue) == 0;
    case PAWL__CHANNEL_JOB:
        break;
    }
    return record->has_job && memcmp(record->job.b, key->job.b, sizeof key->job.b) == 0;
}

static struct pawl__channel *channel_new(struct pawl__streams *streams,
                                         const struct pawl__channel_key *key)
{
    struct pawl__channel *channel = calloc(1, sizeof *channel);
    if (!channel) return NULL;
    channel->key = *key;
    channel->key.queue = key->kind == PAWL__CHANNEL_QUEUE ? strdup(key->queue) : NULL;
    if (key->kind == PAWL__CHANNEL_QUEUE && !channel->key.queue) {
        free(channel);
        return NULL;
    }
    channel->hash = hash_of(key);
    struct pawl__channel **bucket = &streams->buckets[channel->hash % PAWL__CHANNEL_BUCKETS];
    channel->next = *bucket;
    *bucket = channel;
    if (key->kind == PAWL__CHANNEL_JOB) {
        PAWL__LIST_PUSH(streams->jobs, channel, prev_job, next_job);
        streams->job_count++;
    }
    return channel;
}

static void channel_free_unused(struct pawl__streams *streams, struct pawl__channel *channel)
{
    if (channel->count || channel->dirty || channel->flushing) return;
    struct pawl__channel **at = &streams->buckets[channel->hash % PAWL__CHANNEL_BUCKETS];
    while (*at != channel) {
        at = &(*at)->next;
    }
    *at = channel->next;
    if (channel->key.kind == PAWL__CHANNEL_JOB) {
        PAWL__LIST_REMOVE(streams->jobs, channel, prev_job, next_job);
        streams->job_count--;
    }
    pawl__buf_release(&channel->batch);
    free((char *)channel->key.queue);
    free(channel);
}

/* ---- listeners ---- */

static struct pawl__streams *streams_of(const struct pawl__listener *listener)
{
    return listener->request->server->streams;
}

bool pawl__listener_is_special(const struct pawl__listener *listener)
{
    return listener->progress || listener->kinds != PAWL__KINDS_USUAL;
}

static void flush_channel(struct pawl__streams *streams, struct pawl__channel *channel);

bool pawl__listener_join(struct pawl__streams *streams, struct pawl__listener *listener,
                         const struct pawl__channel_key *key)
{
    struct pawl__channel *channel = pawl__channel_find(streams, key);
    if (channel && channel->batch.len) {
        flush_channel(streams, channel); // who comes now has seen what is in it
        channel = pawl__channel_find(streams, key);
    }
    if (!channel) channel = channel_new(streams, key);
    if (!channel) return false;
    listener->channel = channel;
    PAWL__LIST_PUSH(channel->listeners, listener, prev, next);
    channel->count++;
    channel->special += pawl__listener_is_special(listener);
    PAWL__LIST_PUSH(streams->listeners, listener, prev_all, next_all);
    streams->count++;
    return true;
}

void pawl__listener_leave(struct pawl__listener *listener)
{
    struct pawl__streams *streams = streams_of(listener);
    struct pawl__channel *channel = listener->channel;
    if (!channel) return;
    PAWL__LIST_REMOVE(channel->listeners, listener, prev, next);
    PAWL__LIST_REMOVE(streams->listeners, listener, prev_all, next_all);
    streams->count--;
    channel->count--;
    channel->special -= pawl__listener_is_special(listener);
    listener->channel = NULL;
    pawl__buf_release(&listener->own);
    channel_free_unused(streams, channel);
}

void pawl__listener_end(struct pawl__listener *listener)
{
    struct pawl__request *request = listener->request;
    pawl__listener_leave(listener);
    pawl__stream_end(request);
}

/* It lags too far behind: last words, for which room was kept; then it is waited for. */
static void cut_off(struct pawl__listener *listener)
{
    struct pawl__streams *streams = streams_of(listener);
    struct pawl__buf gap = { 0 };
    if (!listener->cut) streams->cut++;
    listener->cut = true;
    pawl__stream_print_gap(&gap, pawl__events_newest(streams->server->events),
                           "the reader was too slow");
    if (!gap.failed) {
        struct pawl__block *block = pawl__stream_block(streams->server, gap.at, gap.len);
        (void)pawl__stream_send(listener->request, block);
        pawl__block_unref(block);
    }
    pawl__buf_release(&gap);
}

static void share(struct pawl__listener *listener, struct pawl__block *block)
{
    if (listener->cut) return;
    size_t more = pawl__block_len(block) + PAWL__STREAM_RESERVE_BYTES;
    struct pawl__request *request = listener->request;
    listener->sent_ms = pawl__server_now(request->server);
    if (pawl__stream_lags(request, more)) pawl__stream_pump(request); // it may wait for its turn
    if (pawl__stream_lags(request, more)) {
        cut_off(listener);
    } else {
        (void)pawl__stream_send(listener->request, block);
    }
}

void pawl__listener_send(struct pawl__listener *listener, const char *at, size_t len)
{
    if (listener->cut || !len) return;
    struct pawl__block *block = pawl__stream_block(listener->request->server, at, len);
    share(listener, block);
    pawl__block_unref(block);
}

static bool hold_too_much(const struct pawl__streams *streams)
{
    const struct pawl__server *server = streams->server;
    return server->stream_bytes > server->config.limits.streams_bytes_max;
}

/* All together hold too much: those who lag furthest are let go, and what they have not taken is
 * forgotten. */
static void shed(struct pawl__streams *streams)
{
    size_t lag = (size_t)streams->server->config.limits.stream_bytes_max / 2;
    for (; lag && hold_too_much(streams); lag /= 2) {
        struct pawl__listener *at = streams->listeners;
        for (; at && hold_too_much(streams); at = at->next_all) {
            pawl__stream_pump(at->request); // it may wait for its turn
            if (pawl__stream_unsent(at->request) < lag) continue;
            pawl__stream_drop(at->request);
            cut_off(at);
        }
    }
}

/* ---- telling ---- */

static void make_dirty(struct pawl__streams *streams, struct pawl__channel *channel)
{
    if (channel->dirty) return;
    channel->dirty = true;
    channel->next_dirty = streams->dirty;
    streams->dirty = channel;
    streams->audience += channel->count;
}

static void note_state(struct pawl__channel *channel, const struct pawl__record *record)
{
    if (channel->key.kind != PAWL__CHANNEL_JOB) return;
    if (record->kind == PAWL__EVENT_STATE_CHANGED) {
        channel->state = record->to;
        channel->run = record->run;
        channel->over = pawl_state_is_terminal(record->to);
    } else if (record->kind == PAWL__EVENT_PROGRESS) {
        channel->progress_at_ms = record->at_ms;
    }
}

/* `usual`: the record as most get it; empty when they do not. */
static void notify_channel(struct pawl__streams *streams, struct pawl__channel *channel,
                           const struct pawl__record *record, const struct pawl__buf *usual)
{
    if (!channel) return;
    note_state(channel, record);
    if (channel->count > channel->special) {
        pawl__buf_add(&channel->batch, usual->at, usual->len);
    }
    size_t most = channel->batch.len; // that anybody is to get
    if (channel->special) {
        for (struct pawl__listener *at = channel->listeners; at; at = at->next) {
            if (pawl__listener_is_special(at)) pawl__stream_print_for(&at->own, record, at);
            if (at->own.len > most) most = at->own.len;
        }
    }
    if (most || channel->over) make_dirty(streams, channel);
    if (most > PAWL__STREAM_BATCH_BYTES) flush_channel(streams, channel);
}

void pawl__streams_notify(struct pawl__streams *streams, const struct pawl__record *record)
{
    if (!streams->count) return;
    struct pawl__listener usual = { .kinds = PAWL__KINDS_USUAL };
    struct pawl__buf text = { 0 };
    struct pawl__channel *channels[3] = { NULL };
    channels[0] =
        pawl__channel_find(streams, &(struct pawl__channel_key){ .kind = PAWL__CHANNEL_ALL });
    if (record->queue) {
        struct pawl__channel_key key = { .kind = PAWL__CHANNEL_QUEUE,
                                         .queue = record->queue->text };
        channels[1] = find(streams, &key, record->queue->hash);
    }
    if (record->has_job) {
        struct pawl__channel_key key = { .kind = PAWL__CHANNEL_JOB, .job = record->job };
        channels[2] = pawl__channel_find(streams, &key);
    }
    if (!channels[0] && !channels[1] && !channels[2]) return;
    pawl__stream_print_for(&text, record, &usual);
    if (text.failed) pawl__buf_clear(&text);
    for (int i = 0; i < 3; i++) {
        notify_channel(streams, channels[i], record, &text);
    }
    pawl__buf_release(&text);
}

static void share_with_all(struct pawl__streams *streams, const struct pawl__buf *words)
{
    if (words->failed) return;
    struct pawl__block *block = pawl__stream_block(streams->server, words->at, words->len);
    for (struct pawl__listener *at = streams->listeners; at; at = at->next_all) {
        share(at, block);
    }
    pawl__block_unref(block);
}

void pawl__streams_gap(struct pawl__streams *streams)
{
    if (!streams->count) return;
    struct pawl__buf gap = { 0 };
    pawl__streams_flush(streams);
    pawl__stream_print_gap(&gap, pawl__events_newest(streams->server->events),
                           "the server was too slow");
    share_with_all(streams, &gap);
    pawl__buf_release(&gap);
    pawl__sweep_soon(streams);
}

/* ---- sending ---- */

static void flush_own(struct pawl__listener *listener)
{
    struct pawl__buf own = listener->own;
    listener->own = (struct pawl__buf){ 0 };
    if (own.failed) {
        cut_off(listener); // no memory for what it should have got
    } else {
        pawl__listener_send(listener, own.at, own.len);
    }
    pawl__buf_release(&own);
}

static void flush_batch(struct pawl__streams *streams, struct pawl__channel *channel)
{
    struct pawl__buf *batch = &channel->batch;
    struct pawl__block *block = batch->len && !batch->failed
                                    ? pawl__stream_block(streams->server, batch->at, batch->len)
                                    : NULL;
    for (struct pawl__listener *at = channel->listeners; at; at = at->next) {
        if (pawl__listener_is_special(at)) {
            flush_own(at);
        } else if (block) {
            share(at, block);
        } else if (batch->len || batch->failed) {
            cut_off(at); // likewise
        }
    }
    pawl__block_unref(block);
}

static void flush_channel(struct pawl__streams *streams, struct pawl__channel *channel)
{
    channel->flushing = true;
    struct pawl__listener *next;
    flush_batch(streams, channel);
    for (struct pawl__listener *at = channel->listeners; at && channel->over; at = next) {
        next = at->next;
        if (!at->cut) pawl__listener_end(at);
    }
    pawl__buf_release(&channel->batch);
    channel->flushing = false;
    channel_free_unused(streams, channel);
    shed(streams);
}

static void flush_now(struct pawl__streams *streams)
{
    streams->flushed_ms = pawl__server_now(streams->server);
    streams->audience = 0;
    while (streams->dirty) {
        struct pawl__channel *channel = streams->dirty;
        streams->dirty = channel->next_dirty;
        channel->dirty = false;
        flush_channel(streams, channel);
    }
}

static void on_flush_timer(uv_timer_t *timer)
{
    flush_now(timer->data);
}

/* A send costs the same for one event as for ten: the more listen, the more are gathered first. */
void pawl__streams_flush(struct pawl__streams *streams)
{
    if (!streams->dirty) return;
    int64_t gather_ms = streams->audience > 2000 ? 100 : (int64_t)streams->audience / 20;
    int64_t due_ms = streams->flushed_ms + gather_ms;
    int64_t now_ms = pawl__server_now(streams->server);
    if (now_ms >= due_ms) {
        flush_now(streams);
    } else if (!uv_is_active((uv_handle_t *)&streams->flush_timer)) {
        uv_timer_start(&streams->flush_timer, on_flush_timer, (uint64_t)(due_ms - now_ms), 0);
    }
}

/* ---- time goes by ---- */

static bool has_taken_all(const struct pawl__listener *listener)
{
    return !pawl__stream_unsent(listener->request);
}

void pawl__streams_tick(struct pawl__streams *streams)
{
    static const char heartbeat[] = ":heartbeat\n\n";
    int64_t now_ms = pawl__server_now(streams->server);
    struct pawl__listener *next;
    struct pawl__block *block = NULL;
    for (struct pawl__listener *at = streams->listeners; at; at = next) {
        next = at->next_all;
        if (pawl__stream_is_broken(at->request) || (at->cut && has_taken_all(at))) {
            pawl__listener_end(at);
        } else if (!at->cut && now_ms - at->sent_ms >= PAWL__STREAM_HEARTBEAT_MS) {
            if (!block) {
                block = pawl__stream_block(streams->server, heartbeat, sizeof heartbeat - 1);
            }
            share(at, block);
        }
    }
    pawl__block_unref(block);
    if (streams->jobs && now_ms - streams->swept_ms >= PAWL__SWEEP_CALM_MS) {
        pawl__sweep_soon(streams);
    }
}

void pawl__streams_drain(struct pawl__streams *streams)
{
    struct pawl__buf words = { 0 };
    flush_now(streams);
    pawl__stream_print_shutdown(&words, pawl__events_newest(streams->server->events));
    share_with_all(streams, &words);
    while (streams->listeners) {
        pawl__listener_end(streams->listeners);
    }
    pawl__buf_release(&words);
}

void pawl__streams_foreign(struct pawl__streams *streams)
{
    if (streams->jobs) pawl__sweep_soon(streams);
}

size_t pawl__streams_count(const struct pawl__streams *streams)
{
    return streams->count;
}

int64_t pawl__streams_cut(const struct pawl__streams *streams)
{
    return streams->cut;
}

/* ---- coming and going ---- */

enum pawl_err pawl__streams_new(struct pawl__server *server, struct pawl_diag *diag)
{
    struct pawl__streams *streams = calloc(1, sizeof *streams);
    if (!streams) return pawl__fail_nomem(diag);
    streams->server = server;
    uv_timer_init(&server->loop, &streams->flush_timer);
    uv_timer_init(&server->loop, &streams->sweep_timer);
    streams->flush_timer.data = streams->sweep_timer.data = streams;
    server->streams = streams;
    return PAWL_OK;
}

static void on_closed(uv_handle_t *handle)
{
    struct pawl__streams *streams = handle->data;
    if (--streams->closing == 0) free(streams);
}

void pawl__streams_free(struct pawl__streams *streams)
{
    if (!streams) return;
    assert(!streams->listeners && !streams->sweep);
    flush_now(streams); // nobody listens: the channels go
    streams->server->streams = NULL;
    streams->closing = 2;
    uv_close((uv_handle_t *)&streams->flush_timer, on_closed);
    uv_close((uv_handle_t *)&streams->sweep_timer, on_closed);
}
