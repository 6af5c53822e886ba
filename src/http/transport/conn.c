/* One connection: bytes in, requests out; replies in, bytes out.
 *
 * 1. One request at a time is read or handled; bytes of further ones wait in `pending`, bounded.
 * 2. A request whose connection closes lives on, without it, until its handler lets go of it.
 * 3. Every phase but handling has a deadline, and so has every write.
 * 4. After a refusal that breaks the framing the rest of the input is read and thrown away for a
 *    moment, so that the client gets to see the reply.
 * 5. While a client does not take its replies, no further requests of its are read.
 * 6. A client that sends no more may still listen: what it asked is answered. But it may as well
 *    have gone, so nothing is claimed for it, and no stream is kept open. */
#include "http/transport/conn.h"
#include "base/list.h"
#include "base/clock.h"
#include "http/transport/transport.h"
#include "http/transport/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A sanitizer finds who uses a request after its end only if it is really freed then. */
#if defined(__SANITIZE_ADDRESS__)
#define SPARES 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SPARES 0
#endif
#endif
#if !defined(SPARES)
#define SPARES 256
#endif

enum {
    LINGER_BYTES_MAX = 16 * 1024 * 1024,
    CROWD_MAX = 256, /* connections beyond the limit that are told so */
    FRAMING_PER_BYTE_MAX = 8,
    SPARES_MAX = SPARES,
    SPARE_BYTES_MAX = 16384, /* of a spare request's buffers, each */
    STATUS_GONE = 499        /* for the log: the client did not wait for its answer */
};

/* ---- life and death ---- */

static void destroy(struct pawl__request *request)
{
    pawl__buf_release(&request->reply);
    pawl__buf_release(&request->head);
    pawl__buf_release(&request->taken);
    pawl__arena_release(&request->arena);
    free(request);
}

void pawl__requests_release(struct pawl__server *server)
{
    while (server->spare) {
        struct pawl__request *request = server->spare;
        server->spare = request->next;
        destroy(request);
    }
    server->spare_count = 0;
}

/* Only what usual requests need: a large one's memory is better given back. */
static bool is_small(const struct pawl__request *request)
{
    return request->reply.cap <= SPARE_BYTES_MAX && request->taken.cap <= SPARE_BYTES_MAX &&
           request->head.cap <= SPARE_BYTES_MAX;
}

/* Kept with its memory for one that comes later, on whatever connection. */
static void request_free(struct pawl__request *request)
{
    if (!request) return;
    struct pawl__server *server = request->server;
    server->body_bytes -= (int64_t)request->taken.len;
    pawl__memory_note(server, request->taken.len + request->reply_bytes);
    if (server->spare_count >= SPARES_MAX || !is_small(request)) {
        destroy(request);
        return;
    }
    pawl__arena_reset(&request->arena);
    pawl__buf_clear(&request->reply);
    pawl__buf_clear(&request->head);
    pawl__buf_clear(&request->taken);
    *request = (struct pawl__request){ .arena = request->arena,
                                       .reply = request->reply,
                                       .head = request->head,
                                       .taken = request->taken,
                                       .next = server->spare };
    server->spare = request;
    server->spare_count++;
}

static void on_closed(uv_handle_t *handle)
{
    struct pawl__conn *conn = handle->data;
    pawl__buf_release(&conn->pending);
    pawl__conn_write_release(conn);
    pawl__tls_free(conn->tls);
    free(conn);
}

static void unlink_conn(struct pawl__conn *conn)
{
    struct pawl__server *server = conn->server;
    PAWL__LIST_REMOVE(server->conns, conn, prev, next);
    server->conn_count--;
    pawl__peers_leave(&server->peers, conn->peer);
    conn->peer = NULL;
}

/* What a thread of the pool has is its own; it is not parked, at any rate. */
static bool is_parked(const struct pawl__conn *conn)
{
    const struct pawl__request *request = conn->request;
    return conn->phase == PAWL__PHASE_HANDLING && !request->on_pool && request->abandon;
}

/* What becomes of the request that the connection had: unread ones go, parked ones are taken from
 * their handler, the others are detached and go when they are answered. */
static void let_go(struct pawl__conn *conn)
{
    struct pawl__request *request = conn->request;
    if (!request) return;
    bool handled = conn->phase == PAWL__PHASE_HANDLING, parked = is_parked(conn);
    conn->request = NULL;
    request->conn = NULL;
    if (parked) {
        request->abandon(request);
        if (!request->status) request->status = STATUS_GONE;
        request->server->hooks->answered(request);
        request_free(request);
    } else if (!handled) {
        request_free(request);
    }
}

void pawl__conn_close(struct pawl__conn *conn)
{
    if (conn->phase == PAWL__PHASE_CLOSED) return;
    let_go(conn);
    conn->phase = PAWL__PHASE_CLOSED;
    unlink_conn(conn);
    uv_close((uv_handle_t *)&conn->tcp, on_closed);
}

static void set_phase(struct pawl__conn *conn, enum pawl__phase phase, int64_t timeout_ms)
{
    conn->phase = phase;
    conn->deadline_ms = timeout_ms ? pawl__server_now(conn->server) + timeout_ms : 0;
}

void pawl__conn_phase(struct pawl__conn *conn, enum pawl__phase phase)
{
    const struct pawl__http_limits *limits = &conn->server->config.limits;
    set_phase(conn, phase,
              phase == PAWL__PHASE_HEAD ? limits->header_timeout_ms : limits->body_timeout_ms);
}

/* ---- requests in ---- */

/* No more requests: close when all has been written. `linger`: there may be input that would make
 * the kernel throw away our reply. */
static void end(struct pawl__conn *conn, bool linger)
{
    set_phase(conn, linger ? PAWL__PHASE_LINGERING : PAWL__PHASE_ENDING, 0);
    pawl__buf_release(&conn->pending);
    if (conn->broken) {
        pawl__conn_close(conn);
    } else {
        pawl__conn_drained(conn);
    }
}

struct pawl__request *pawl__request_new(struct pawl__conn *conn)
{
    struct pawl__server *server = conn->server;
    struct pawl__request *request = server->spare;
    if (request) {
        server->spare = request->next;
        server->spare_count--;
        request->next = NULL;
    } else {
        request = calloc(1, sizeof *request);
        if (!request) return NULL;
    }
    request->server = server;
    request->conn = conn;
    request->method = "";
    request->path = request->query = "";
    request->began_us = pawl__clock_mono_us(&pawl__clock_system);
    request->now_ms = pawl__clock_wall_ms(&pawl__clock_system);
    return request;
}

/* The input cannot be understood, or is too much: answer and end. */
static void refuse(struct pawl__conn *conn, enum pawl__fault_kind kind, const char *text)
{
    if (!conn->request) conn->request = pawl__request_new(conn);
    struct pawl__request *request = conn->request;
    if (!request) {
        pawl__conn_close(conn);
        return;
    }
    set_phase(conn, PAWL__PHASE_HANDLING, 0);
    conn->unframed = true;
    request->keep_alive = false;
    pawl__request_give_id(request);
    if (request->refusal && request->refusal->kind == kind) {
        pawl__reply_fault(request, request->refusal);
        return;
    }
    request->reply_header_count = 0; // what another refusal left
    if (kind == PAWL__FAULT_METHOD) {
        pawl__reply_header(request, "Allow", PAWL__METHODS);
    }
    pawl__reply_refuse(request, kind, "", "%s", text);
}

static const struct {
    llhttp_errno_t err;
    const char *text;
} complaints[] = {
    { HPE_INVALID_URL, "the request's target is not one" },
    { HPE_INVALID_VERSION, "only HTTP/1.1 and HTTP/1.0 are spoken here" },
    { HPE_INVALID_HEADER_TOKEN, "a header holds a character that it may not" },
    { HPE_INVALID_CONTENT_LENGTH, "Content-Length is not a number" },
    { HPE_UNEXPECTED_CONTENT_LENGTH, "Content-Length is given twice, or with Transfer-Encoding" },
    { HPE_INVALID_TRANSFER_ENCODING, "Transfer-Encoding is not understood" },
    { HPE_INVALID_CHUNK_SIZE, "a chunk's size is not a number" },
};

static void refuse_malformed(struct pawl__conn *conn, llhttp_errno_t err)
{
    if (conn->fault) {
        refuse(conn, conn->fault, conn->fault_text);
        return;
    }
    if (err == HPE_INVALID_METHOD) {
        refuse(conn, PAWL__FAULT_METHOD, "the request's method is not known");
        return;
    }
    const char *text = "the request is not HTTP";
    for (size_t i = 0; i < sizeof complaints / sizeof complaints[0]; i++) {
        if (complaints[i].err == err) text = complaints[i].text;
    }
    refuse(conn, PAWL__FAULT_INVALID_REQUEST, text);
}

/* Chunks may be framed with whatever a client likes, but not endlessly. */
static bool is_padded(const struct pawl__conn *conn)
{
    size_t body = conn->request ? conn->request->taken.len : 0;
    size_t most = 2 * (size_t)conn->server->config.limits.header_bytes_max;
    return conn->raw_bytes > most + PAWL__READ_BYTES + body * FRAMING_PER_BYTE_MAX;
}

/* A request is complete; what is left over stays in `pending`. */
static void take_request(struct pawl__conn *conn, const char *left, size_t len)
{
    llhttp_resume(&conn->parser);
    conn->guard = (struct pawl__guard){ 0 };
    conn->chunks = (struct pawl__chunks){ 0 };
    conn->chunked = false;
    conn->raw_bytes = 0;
    if (len) pawl__buf_add(&conn->pending, left, len);
    set_phase(conn, PAWL__PHASE_HANDLING, 0);
    conn->request->hung_up = conn->hung_up && !len;
    if (conn->pending.failed) conn->unframed = true;
    if (conn->unframed) conn->request->keep_alive = false;
    conn->server->hooks->dispatch(conn->request);
}

/* Does the body's framing differ from the one form of chunks.h? `at`: what the parser has taken of
 * it, up to `end`. NULL: no. */
static const char *misframing(struct pawl__conn *conn, const char *at, const char *end, bool whole)
{
    if (!conn->chunked) return NULL;
    const char *wrong = pawl__chunks_take(&conn->chunks, at, (size_t)(end - at));
    bool ended = conn->chunks.at == PAWL__CHUNKS_END;
    return wrong || ended == whole ? wrong : "where the body ends is not clear";
}

/* Parse what there is, up to the end of one request. */
static void parse(struct pawl__conn *conn, const char *at, size_t len)
{
    const char *text, *body = at, *end = at + len;
    if (!conn->guard.ended) {
        size_t most = (size_t)conn->server->config.limits.header_bytes_max;
        size_t before = conn->guard.bytes;
        enum pawl__fault_kind kind = pawl__guard_take(&conn->guard, at, len, most, &text);
        body += conn->guard.bytes - before;
        if (kind) {
            refuse(conn, kind, text);
            return;
        }
    }
    conn->raw_bytes += len;
    llhttp_errno_t err = llhttp_execute(&conn->parser, at, len);
    bool whole = err == HPE_PAUSED;
    const char *stop = whole ? llhttp_get_error_pos(&conn->parser) : end;
    if (err != HPE_OK && !whole) {
        refuse_malformed(conn, err);
    } else if ((text = misframing(conn, body, stop, whole))) {
        refuse(conn, PAWL__FAULT_INVALID_REQUEST, text);
    } else if (whole) {
        take_request(conn, stop, (size_t)(end - stop));
    } else if (is_padded(conn)) {
        refuse(conn, PAWL__FAULT_INVALID_REQUEST, "the body has more framing than content");
    }
}

static bool is_reading(const struct pawl__conn *conn)
{
    return conn->phase <= PAWL__PHASE_BODY;
}

/* Does the client leave its replies lying? */
static bool is_clogged(const struct pawl__conn *conn)
{
    return pawl__conn_unsent(conn) > (size_t)conn->server->config.limits.pipeline_bytes_max;
}

/* Go on with what came while a request was handled. Replies call this again: no recursion. */
static void advance(struct pawl__conn *conn)
{
    if (conn->advancing) return;
    conn->advancing = true;
    while (is_reading(conn) && conn->pending.len && !is_clogged(conn)) {
        struct pawl__buf input = conn->pending;
        conn->pending = (struct pawl__buf){ 0 };
        parse(conn, input.at, input.len);
        pawl__buf_release(&input);
    }
    conn->advancing = false;
}

static void listen_less(struct pawl__conn *conn)
{
    uv_read_stop((uv_stream_t *)&conn->tcp); // taken up again when it has been worked off
    conn->deaf = true;
}

static void stash(struct pawl__conn *conn, const char *at, size_t len)
{
    if (conn->phase == PAWL__PHASE_LINGERING) {
        conn->lingered += len;
        if (conn->lingered > LINGER_BYTES_MAX) pawl__conn_close(conn);
        return;
    }
    if (conn->phase > PAWL__PHASE_HANDLING) return;
    pawl__buf_add(&conn->pending, at, len);
    size_t most = (size_t)conn->server->config.limits.pipeline_bytes_max;
    if (conn->pending.failed) {
        pawl__conn_close(conn);
    } else if (conn->pending.len > most || is_clogged(conn)) {
        listen_less(conn);
    }
}

static void take(struct pawl__conn *conn, const char *at, size_t len)
{
    if (!len) return;
    if (is_reading(conn) && !conn->pending.len && !conn->advancing && !is_clogged(conn)) {
        conn->advancing = true;
        parse(conn, at, len);
        conn->advancing = false;
        pawl__conn_go_on(conn);
    } else {
        stash(conn, at, len);
    }
}

/* The client of a parked request sends no more. */
static void unpark(struct pawl__conn *conn)
{
    struct pawl__request *request = conn->request;
    request->hung_up = true;
    if (request->streaming) {
        pawl__conn_close(conn);
    } else if (request->finish) {
        request->finish(request);
    }
}

/* The client sends no more. */
static void hang_up(struct pawl__conn *conn)
{
    bool unsent = pawl__conn_unsent(conn) > 0;
    conn->hung_up = true;
    uv_read_stop((uv_stream_t *)&conn->tcp);
    if (conn->phase == PAWL__PHASE_HEAD || conn->phase == PAWL__PHASE_BODY) {
        refuse(conn, PAWL__FAULT_INVALID_REQUEST, "the request ends before it is complete");
    } else if (is_parked(conn)) {
        unpark(conn);
    } else if (conn->phase == PAWL__PHASE_HANDLING) {
        conn->request->hung_up = !conn->pending.len;
    } else if (conn->phase == PAWL__PHASE_IDLE && (unsent || conn->pending.len)) {
        pawl__conn_go_on(conn);
    } else if (!unsent) {
        pawl__conn_close(conn);
    }
}

static void take_secret(struct pawl__conn *conn, const char *at, size_t len)
{
    struct pawl__buf plain = { 0 };
    bool ok = pawl__tls_take(conn->tls, at, len, &plain, &conn->out);
    if (conn->out.len) pawl__conn_pump(conn);
    if (conn->phase == PAWL__PHASE_CLOSED) {
        pawl__buf_release(&plain);
        return;
    }
    take(conn, plain.at, plain.len);
    if (!ok && conn->phase != PAWL__PHASE_CLOSED) hang_up(conn);
    pawl__buf_release(&plain);
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    (void)suggested;
    struct pawl__conn *conn = handle->data;
    *out = uv_buf_init(conn->server->read_buffer, PAWL__READ_BYTES);
}

static void on_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf)
{
    struct pawl__conn *conn = stream->data;
    if (len == UV_EOF) {
        hang_up(conn);
    } else if (len < 0) {
        pawl__conn_close(conn);
    } else if (conn->tls) {
        take_secret(conn, buf->base, (size_t)len);
    } else {
        take(conn, buf->base, (size_t)len);
    }
}

/* ---- replies out ---- */

void pawl__conn_go_on(struct pawl__conn *conn)
{
    if (!is_reading(conn) || conn->advancing) return;
    advance(conn);
    if (!is_reading(conn) || is_clogged(conn)) return;
    if (conn->hung_up && conn->phase != PAWL__PHASE_IDLE) {
        refuse(conn, PAWL__FAULT_INVALID_REQUEST, "the request ends before it is complete");
    } else if (conn->hung_up) {
        end(conn, false);
    } else if (conn->deaf) {
        conn->deaf = false;
        uv_read_start((uv_stream_t *)&conn->tcp, on_room, on_read);
    }
}

/* The request has been answered: on to the next. */
static void next_request(struct pawl__conn *conn, bool keep_alive)
{
    if (conn->broken) {
        pawl__conn_close(conn);
    } else if (!keep_alive) {
        end(conn, conn->unframed || conn->pending.len);
        if (conn->phase == PAWL__PHASE_LINGERING && conn->deaf) {
            conn->deaf = false;
            uv_read_start((uv_stream_t *)&conn->tcp, on_room, on_read);
        }
    } else {
        set_phase(conn, PAWL__PHASE_IDLE, conn->server->config.limits.idle_timeout_ms);
        pawl__conn_go_on(conn);
    }
}

void pawl__conn_answered(struct pawl__request *request)
{
    struct pawl__conn *conn = request->conn;
    bool keep_alive = request->keep_alive && (!conn || !conn->server->stopping);
    if (conn) conn->request = NULL;
    request_free(request);
    if (conn) next_request(conn, keep_alive);
}

/* ---- coming and going ---- */

static bool is_crowded(const struct pawl__server *server, const struct pawl__conn *conn)
{
    const struct pawl__http_limits *limits = &server->config.limits;
    return server->conn_count > limits->connections_max ||
           conn->peer->count > limits->connections_per_address_max;
}

/* Even to say so takes a descriptor. */
static bool is_overrun(const struct pawl__server *server, const struct pawl__conn *conn)
{
    const struct pawl__http_limits *limits = &server->config.limits;
    return server->conn_count > limits->connections_max + CROWD_MAX ||
           conn->peer->count > limits->connections_per_address_max + CROWD_MAX;
}

static bool note_address(struct pawl__conn *conn)
{
    struct sockaddr_storage address;
    int len = sizeof address;
    if (uv_tcp_getpeername(&conn->tcp, (struct sockaddr *)&address, &len) != 0) return false;
    uv_ip_name((struct sockaddr *)&address, conn->address, sizeof conn->address);
    conn->peer = pawl__peers_enter(&conn->server->peers, (struct sockaddr *)&address);
    return conn->peer;
}

/* Bytes may come. */
static void welcome(struct pawl__conn *conn)
{
    struct pawl__server *server = conn->server;
    set_phase(conn, PAWL__PHASE_IDLE, server->config.limits.header_timeout_ms);
    if (server->tls) conn->tls = pawl__tls_new(server->tls);
    uv_tcp_nodelay(&conn->tcp, 1);
    if (!server->tls != !conn->tls || is_overrun(server, conn) ||
        uv_read_start((uv_stream_t *)&conn->tcp, on_room, on_read)) {
        pawl__conn_close(conn);
    } else if (is_crowded(server, conn)) {
        refuse(conn, PAWL__FAULT_UNAVAILABLE, "there are too many connections");
    }
}

void pawl__conn_accept(uv_stream_t *listener, int status)
{
    struct pawl__server *server = listener->data;
    if (status < 0) return;
    struct pawl__conn *conn = calloc(1, sizeof *conn);
    server->accept_due = !conn || uv_tcp_init(&server->loop, &conn->tcp);
    if (server->accept_due) { // the loop says no more of it until it has been accepted
        free(conn);
        return;
    }
    conn->server = server;
    conn->tcp.data = conn;
    pawl__parser_init(conn);
    PAWL__LIST_PUSH(server->conns, conn, prev, next);
    server->conn_count++;
    if (uv_accept(listener, (uv_stream_t *)&conn->tcp) == 0 && note_address(conn)) {
        welcome(conn);
    } else {
        pawl__conn_close(conn);
    }
}

void pawl__conn_accept_again(struct pawl__server *server)
{
    if (server->accept_due && !server->stopping) {
        pawl__conn_accept((uv_stream_t *)&server->listener, 0);
    }
}

static void time_out(struct pawl__conn *conn)
{
    if (conn->phase == PAWL__PHASE_HEAD || conn->phase == PAWL__PHASE_BODY) {
        refuse(conn, PAWL__FAULT_REQUEST_TIMEOUT, "the request did not arrive in time");
    } else {
        pawl__conn_close(conn);
    }
}

void pawl__conns_tick(struct pawl__server *server)
{
    int64_t now_ms = pawl__server_now(server);
    struct pawl__conn *next;
    for (struct pawl__conn *conn = server->conns; conn; conn = next) {
        next = conn->next;
        if (conn->writing && now_ms >= conn->write_deadline_ms) {
            pawl__conn_close(conn);
        } else if (conn->broken && !conn->request) {
            pawl__conn_close(conn);
        } else if (conn->hung_up && is_parked(conn)) { // after the client had hung up
            unpark(conn);
        } else if (conn->deadline_ms && now_ms >= conn->deadline_ms) {
            time_out(conn);
        }
    }
}

void pawl__conns_drain(struct pawl__server *server, bool all)
{
    struct pawl__conn *next;
    for (struct pawl__conn *conn = server->conns; conn; conn = next) {
        next = conn->next;
        bool idle = conn->phase == PAWL__PHASE_IDLE;
        if (all || (idle && !pawl__conn_unsent(conn))) {
            pawl__conn_close(conn);
        } else if (idle) {
            end(conn, false);
        }
    }
}
