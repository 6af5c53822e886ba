/* Bytes out: what a connection has yet to send, and sending it.
 *
 * 1. Small things are copied into `out`. What is large, or goes to many, is a block: it is queued
 * by reference and sent from where it was printed.
 * 2. `out` goes before the queue. What comes while something is queued is queued behind it.
 * 3. At most SLICE_BYTES are given to the socket at a time, or encrypted: others have their turn.
 * 4. Whatever stands first has its deadline, which a slice does not renew. */
#include "http/transport/conn.h"
#include "base/list.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINGER_MS = 2000,
    SLICE_BYTES = 512 * 1024,
    SLICE_BLOCKS = 16,
    QUEUE_MIN = 8,
    PUMPED_AT_ONCE = 32 /* connections, before others have their turn */
};

/* ---- blocks ---- */

struct pawl__block *pawl__block_new(struct pawl__buf *taken, int64_t *account)
{
    struct pawl__block *block = taken->failed ? NULL : malloc(sizeof *block);
    if (block) {
        *block = (struct pawl__block){ .refs = 1, .bytes = *taken, .account = account };
        if (account) *account += (int64_t)taken->len;
        *taken = (struct pawl__buf){ 0 };
    } else {
        pawl__buf_release(taken);
    }
    return block;
}

void pawl__block_unref(struct pawl__block *block)
{
    if (!block || --block->refs) return;
    if (block->account) *block->account -= (int64_t)block->bytes.len;
    pawl__buf_release(&block->bytes);
    free(block);
}

/* ---- the queue ---- */

static struct pawl__block *queued(const struct pawl__conn *conn, size_t nth)
{
    const struct pawl__send_queue *queue = &conn->queue;
    return queue->at[(queue->first + nth) & (queue->cap - 1)];
}

static bool make_room(struct pawl__send_queue *queue)
{
    if (queue->count < queue->cap) return true;
    size_t cap = queue->cap ? queue->cap * 2 : QUEUE_MIN;
    struct pawl__block **at = malloc(cap * sizeof(struct pawl__block *));
    if (!at) return false;
    for (size_t i = 0; i < queue->count; i++) {
        at[i] = queue->at[(queue->first + i) & (queue->cap - 1)];
    }
    free(queue->at);
    queue->at = at;
    queue->first = 0;
    queue->cap = cap;
    return true;
}

static void set_deadline(struct pawl__conn *conn)
{
    const struct pawl__http_limits *limits = &conn->server->config.limits;
    conn->write_deadline_ms = pawl__server_now(conn->server) + limits->write_timeout_ms;
}

static bool enqueue(struct pawl__conn *conn, struct pawl__block *block)
{
    struct pawl__send_queue *queue = &conn->queue;
    if (!make_room(queue)) return false;
    if (!queue->count) set_deadline(conn);
    queue->at[(queue->first + queue->count++) & (queue->cap - 1)] = block;
    queue->bytes += block->bytes.len;
    block->refs++;
    return true;
}

static void dequeue(struct pawl__conn *conn)
{
    struct pawl__send_queue *queue = &conn->queue;
    pawl__block_unref(queued(conn, 0));
    queue->first = (queue->first + 1) & (queue->cap - 1);
    queue->count--;
    queue->sent = 0;
    set_deadline(conn);
}

/* So many bytes from the front have gone. */
static void advance(struct pawl__conn *conn, size_t bytes)
{
    struct pawl__send_queue *queue = &conn->queue;
    queue->bytes -= bytes;
    while (queue->count && queue->sent + bytes >= queued(conn, 0)->bytes.len) {
        bytes -= queued(conn, 0)->bytes.len - queue->sent;
        dequeue(conn);
    }
    queue->sent += bytes;
}

/* The next slice, where it lies. Returns how many pieces it is in. */
static unsigned next_slice(const struct pawl__conn *conn, uv_buf_t out[SLICE_BLOCKS], size_t *bytes)
{
    size_t skip = conn->queue.sent;
    unsigned count = 0;
    *bytes = 0;
    while (count < SLICE_BLOCKS && count < conn->queue.count && *bytes < SLICE_BYTES) {
        const struct pawl__block *block = queued(conn, count);
        size_t len = block->bytes.len - skip;
        if (len > SLICE_BYTES - *bytes) len = SLICE_BYTES - *bytes;
        out[count++] = uv_buf_init(block->bytes.at + skip, (unsigned)len);
        *bytes += len;
        skip = 0;
    }
    return count;
}

void pawl__conn_drop_queue(struct pawl__conn *conn)
{
    struct pawl__send_queue *queue = &conn->queue;
    size_t begun = queue->flying ? queue->flying_count : queue->sent > 0;
    while (queue->count > begun) {
        struct pawl__block *last = queued(conn, --queue->count);
        queue->bytes -= last->bytes.len;
        pawl__block_unref(last);
    }
}

static void queue_release(struct pawl__conn *conn)
{
    while (conn->queue.count) {
        dequeue(conn);
    }
    free(conn->queue.at);
    conn->queue = (struct pawl__send_queue){ 0 };
}

/* ---- sending ---- */

size_t pawl__conn_unsent(const struct pawl__conn *conn)
{
    return conn->out.len + (conn->writing ? conn->sending.len : 0) + conn->queue.bytes;
}

static void on_shut_down(uv_shutdown_t *shutdown, int status)
{
    (void)status;
    struct pawl__conn *conn = shutdown->data;
    if (conn->phase == PAWL__PHASE_ENDING || conn->hung_up) pawl__conn_close(conn);
}

void pawl__conn_drained(struct pawl__conn *conn)
{
    if (conn->phase != PAWL__PHASE_ENDING && conn->phase != PAWL__PHASE_LINGERING) return;
    if (conn->writing || conn->out.len || conn->queue.count || conn->shut) return;
    if (conn->tls && !conn->tls_ended) {
        conn->tls_ended = true;
        pawl__tls_end(conn->tls, &conn->out);
        if (conn->out.len) {
            pawl__conn_pump(conn);
            return; // it comes here again
        }
    }
    conn->shut = true;
    conn->deadline_ms = pawl__server_now(conn->server) + LINGER_MS;
    conn->shutdown.data = conn;
    if (uv_shutdown(&conn->shutdown, (uv_stream_t *)&conn->tcp, on_shut_down)) {
        pawl__conn_close(conn);
    }
}

static void on_written(uv_write_t *write, int status)
{
    struct pawl__conn *conn = write->data;
    conn->writing = false;
    pawl__buf_clear(&conn->sending);
    if (conn->phase == PAWL__PHASE_CLOSED) return;
    if (status < 0) {
        pawl__conn_close(conn);
        return;
    }
    advance(conn, conn->queue.flying);
    conn->queue.flying = conn->queue.flying_count = 0;
    pawl__conn_pump(conn);
    pawl__conn_go_on(conn);
}

static void write_out(struct pawl__conn *conn, const uv_buf_t *bytes, unsigned count)
{
    conn->write.data = conn;
    conn->writing = true;
    if (uv_write(&conn->write, (uv_stream_t *)&conn->tcp, bytes, count, on_written)) {
        conn->writing = false;
        conn->broken = true; // it is closed by who asked for this, or by the tick
    }
}

static void flush_out(struct pawl__conn *conn)
{
    struct pawl__buf full = conn->out;
    conn->out = conn->sending;
    conn->sending = full;
    if (!conn->queue.count) set_deadline(conn);
    uv_buf_t bytes = uv_buf_init(conn->sending.at, (unsigned)conn->sending.len);
    write_out(conn, &bytes, 1);
}

/* As much as the socket takes; -1: it is of no use any more. */
static ssize_t try_write(struct pawl__conn *conn, const uv_buf_t *bytes, unsigned count)
{
    int sent = uv_try_write((uv_stream_t *)&conn->tcp, bytes, count);
    if (sent >= 0) return sent;
    if (sent == UV_EAGAIN) return 0;
    conn->broken = true; // the reader will hear of it
    return -1;
}

static void send_slice(struct pawl__conn *conn)
{
    uv_buf_t bytes[SLICE_BLOCKS];
    size_t len;
    unsigned count = next_slice(conn, bytes, &len);
    ssize_t sent = try_write(conn, bytes, count);
    if (sent < 0) return;
    advance(conn, (size_t)sent);
    if (!conn->queue.count) return;
    count = next_slice(conn, bytes, &len);
    conn->queue.flying = len;
    conn->queue.flying_count = count;
    write_out(conn, bytes, count);
}

static void encrypt_slice(struct pawl__conn *conn)
{
    uv_buf_t bytes[SLICE_BLOCKS];
    size_t len;
    unsigned count = next_slice(conn, bytes, &len);
    for (unsigned i = 0; i < count && !conn->broken; i++) {
        conn->broken = !pawl__tls_put(conn->tls, bytes[i].base, bytes[i].len, &conn->out);
    }
    if (conn->broken) return;
    advance(conn, len);
    flush_out(conn);
}

void pawl__conn_pump(struct pawl__conn *conn)
{
    if (conn->out.failed) conn->broken = true;
    if (conn->phase == PAWL__PHASE_CLOSED || conn->broken || conn->writing) return;
    if (conn->out.len) {
        flush_out(conn);
    } else if (conn->queue.count) {
        (conn->tls ? encrypt_slice : send_slice)(conn);
    }
    if (conn->phase == PAWL__PHASE_CLOSED || conn->writing) return;
    if (!conn->out.len && !conn->queue.count) {
        pawl__buf_release(&conn->sending); // an idle connection should be small
        queue_release(conn);
        pawl__conn_drained(conn);
    }
}

/* ---- what is to be sent ---- */

static bool is_silent(const struct pawl__conn *conn)
{
    return conn->phase == PAWL__PHASE_CLOSED || conn->broken;
}

bool pawl__conn_queue(struct pawl__conn *conn, struct pawl__block *block)
{
    if (is_silent(conn)) return false;
    if (!enqueue(conn, block)) conn->broken = true;
    return !conn->broken;
}

/* Without a copy, if nothing waits before it. */
static void send_plain(struct pawl__conn *conn, const char *at, size_t len)
{
    if (!conn->writing && !conn->out.len) {
        uv_buf_t bytes = uv_buf_init((char *)at, (unsigned)len);
        ssize_t sent = try_write(conn, &bytes, 1);
        if (sent < 0) return;
        at += sent;
        len -= (size_t)sent;
    }
    if (len) pawl__buf_add(&conn->out, at, len);
}

void pawl__conn_write(struct pawl__conn *conn, const char *at, size_t len)
{
    if (is_silent(conn)) return;
    if (conn->queue.count) {
        struct pawl__buf copy = { 0 };
        pawl__buf_add(&copy, at, len);
        struct pawl__block *block = pawl__block_new(&copy, NULL);
        if (!block || !pawl__conn_queue(conn, block)) conn->broken = true;
        pawl__block_unref(block);
    } else if (!conn->tls) {
        send_plain(conn, at, len);
    } else if (!pawl__tls_put(conn->tls, at, len, &conn->out)) {
        conn->broken = true;
    }
    if (pawl__conn_unsent(conn)) pawl__conn_pump(conn);
}

void pawl__conn_give(struct pawl__conn *conn, struct pawl__buf *taken)
{
    struct pawl__block *block = pawl__block_new(taken, &conn->server->reply_bytes);
    if (block && pawl__conn_queue(conn, block)) {
        pawl__conn_pump(conn);
    } else {
        conn->broken = true;
    }
    pawl__block_unref(block);
}

/* ---- taking turns ---- */

static void unlist(struct pawl__conn *conn)
{
    struct pawl__server *server = conn->server;
    if (!conn->due) return;
    PAWL__QUEUE_REMOVE(server->due, server->last_due, conn, prev_due, next_due);
    conn->due = false;
}

static void on_turn(uv_idle_t *idle)
{
    struct pawl__server *server = idle->data;
    for (int i = 0; server->due && i < PUMPED_AT_ONCE; i++) {
        struct pawl__conn *conn = server->due;
        unlist(conn);
        pawl__conn_pump(conn);
        pawl__conn_go_on(conn);
    }
    if (!server->due) uv_idle_stop(idle);
}

void pawl__conn_pump_soon(struct pawl__conn *conn)
{
    struct pawl__server *server = conn->server;
    if (conn->due || conn->writing || is_silent(conn)) return;
    conn->due = true;
    PAWL__QUEUE_ADD(server->due, server->last_due, conn, prev_due, next_due);
    uv_idle_start(&server->turns, on_turn);
}

void pawl__conn_write_release(struct pawl__conn *conn)
{
    unlist(conn);
    queue_release(conn);
    pawl__buf_release(&conn->out);
    pawl__buf_release(&conn->sending);
}
