/* Answering: the head of a reply, faults, streams. */
#include "base/clock.h"
#include "http/transport/conn.h"
#include "http/transport/log.h"
#include "http/transport/transport.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define OJS_JSON "application/openjobspec+json"
#define PLAIN_JSON "application/json"

enum { OUT_KEPT_BYTES = 1024 * 1024, STREAM_SOCKET_BYTES = 65536 };

static const char full_text[] = "too many large replies are under way";

/* ---- the head ---- */

static const struct {
    int status;
    const char *text;
} reasons[] = {
    { 200, "OK" },
    { 201, "Created" },
    { 202, "Accepted" },
    { 204, "No Content" },
    { 207, "Multi-Status" },
    { 400, "Bad Request" },
    { 401, "Unauthorized" },
    { 403, "Forbidden" },
    { 404, "Not Found" },
    { 405, "Method Not Allowed" },
    { 408, "Request Timeout" },
    { 409, "Conflict" },
    { 410, "Gone" },
    { 413, "Content Too Large" },
    { 414, "URI Too Long" },
    { 415, "Unsupported Media Type" },
    { 417, "Expectation Failed" },
    { 422, "Unprocessable Content" },
    { 429, "Too Many Requests" },
    { 431, "Request Header Fields Too Large" },
    { 500, "Internal Server Error" },
    { 501, "Not Implemented" },
    { 503, "Service Unavailable" },
    { 504, "Gateway Timeout" },
    { 507, "Insufficient Storage" },
};

static const char *reason_of(int status)
{
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        if (reasons[i].status == status) return reasons[i].text;
    }
    return "Unknown";
}

/* Of the types that we speak the one that Accept lists first; NULL: none of them is listed. */
static const char *first_accepted(const char *accept)
{
    static const char *const spoken[] = { OJS_JSON, PLAIN_JSON };
    while (*accept) {
        accept += strspn(accept, ", \t");
        size_t len = strcspn(accept, ",; \t");
        for (size_t i = 0; i < sizeof spoken / sizeof spoken[0]; i++) {
            if (strlen(spoken[i]) == len && strncasecmp(accept, spoken[i], len) == 0) {
                return spoken[i];
            }
        }
        accept += strcspn(accept, ","); // parameters decide nothing
    }
    return NULL;
}

static const char *json_type(const struct pawl__request *request)
{
    const char *accept = pawl__request_header(request, "accept");
    const char *agent = pawl__request_header(request, "user-agent");
    // its SDK drops a body of any other type, although it says that it accepts ours
    if (agent && strncmp(agent, "python-httpx/", 13) == 0) return PLAIN_JSON;
    const char *type = accept ? first_accepted(accept) : NULL;
    return type ? type : OJS_JSON;
}

static void add_header(struct pawl__buf *head, const char *name, const char *value)
{
    pawl__buf_add_text(head, name);
    pawl__buf_add(head, ": ", 2);
    pawl__buf_add_text(head, value);
    pawl__buf_add(head, "\r\n", 2);
}

static void add_cors(struct pawl__buf *head, const char *origin)
{
    add_header(head, "Access-Control-Allow-Origin", origin);
    add_header(head, "Access-Control-Expose-Headers",
               "Location, OJS-Version, Retry-After, X-Request-Id");
    if (strcmp(origin, "*") != 0) add_header(head, "Vary", "Origin");
}

static void add_head(struct pawl__buf *head, const struct pawl__request *request)
{
    pawl__buf_add(head, "HTTP/1.1 ", 9);
    pawl__buf_add_int(head, request->status);
    pawl__buf_add(head, " ", 1);
    pawl__buf_add_text(head, reason_of(request->status));
    pawl__buf_add(head, "\r\n", 2);
    add_header(head, "Date", pawl__server_date(request->server));
    add_header(head, "OJS-Version", "1.0");
    add_header(head, "X-Request-Id", request->id);
    add_header(head, "X-Content-Type-Options", "nosniff"); // errors repeat what was asked
    if (request->status != 204) {
        add_header(head, "Content-Type",
                   request->content_type ? request->content_type : json_type(request));
    }
    if (request->server->config.cors_origin) add_cors(head, request->server->config.cors_origin);
    for (size_t i = 0; i < request->reply_header_count; i++) {
        add_header(head, request->reply_headers[i].name, request->reply_headers[i].value);
    }
    if (!request->keep_alive || request->server->stopping) {
        add_header(head, "Connection", "close");
    } else if (request->http_10) {
        add_header(head, "Connection", "keep-alive");
    }
}

const char *pawl__server_date(struct pawl__server *server)
{
    int64_t now_ms = pawl__server_now(server);
    if (!server->date[0] || now_ms >= server->date_until_ms) {
        int64_t wall_ms = pawl__clock_wall_ms(&pawl__clock_system);
        time_t seconds = wall_ms / 1000;
        struct tm parts;
        gmtime_r(&seconds, &parts);
        strftime(server->date, sizeof server->date, "%a, %d %b %Y %H:%M:%S GMT", &parts);
        server->date_until_ms = now_ms + (1000 - wall_ms % 1000);
    }
    return server->date;
}

/* ---- sending ---- */

bool pawl__replies_have_room(const struct pawl__server *server, size_t len)
{
    if (!server->reply_bytes) return true; // alone it is sent, however long
    return server->reply_bytes + (int64_t)len <= server->config.limits.replies_bytes_max;
}

static bool is_large(const struct pawl__request *request)
{
    return request->reply.len > PAWL__LARGE_BYTES;
}

static bool has_body(const struct pawl__request *request)
{
    return request->status != 204 && strcmp(request->method, "HEAD") != 0;
}

static bool is_safe(const struct pawl__request *request)
{
    return strcmp(request->method, "GET") == 0;
}

/* Is there no room for it? Who only looked is told to come again. Who changed something gets to
 * know of it, also beyond the bound, though not without end. True: answered. */
static bool refused_for_size(struct pawl__request *request)
{
    if (!is_large(request) || !has_body(request)) return false;
    if (pawl__replies_have_room(request->server, request->reply.len)) return false;
    if (is_safe(request)) {
        pawl__buf_release(&request->reply);
        request->reply_header_count = 0;
        request->content_type = NULL;
        request->status = 0;
        pawl__reply_refuse(request, PAWL__FAULT_UNAVAILABLE, "", "%s", full_text);
        return true;
    }
    if (request->server->reply_bytes < 2 * request->server->config.limits.replies_bytes_max) {
        return false;
    }
    pawl__conn_close(request->conn); // what was done is done; this client does not listen anyway
    return false;
}

static void send_reply(struct pawl__request *request)
{
    struct pawl__buf *out = &request->server->out;
    pawl__buf_clear(out);
    add_head(out, request);
    if (request->status != 204) {
        pawl__buf_add(out, "Content-Length: ", 16);
        pawl__buf_add_int(out, (int64_t)request->reply.len);
        pawl__buf_add(out, "\r\n", 2);
    }
    pawl__buf_add(out, "\r\n", 2);
    bool large = is_large(request);
    if (has_body(request) && !large) pawl__buf_add(out, request->reply.at, request->reply.len);
    if (out->failed) {
        pawl__conn_close(request->conn); // the request is ours, it is no longer abandoned
    } else {
        pawl__conn_write(request->conn, out->at, out->len);
        if (large && request->conn && has_body(request)) {
            pawl__conn_give(request->conn, &request->reply);
        }
    }
    if (out->cap > OUT_KEPT_BYTES) pawl__buf_release(out);
}

void pawl__conn_send(struct pawl__request *request)
{
    assert(request->status);
    request->reply_bytes = request->reply.len;
    if (request->conn) {
        if (refused_for_size(request)) return;
        if (request->conn) send_reply(request);
    }
    request->server->hooks->answered(request);
    pawl__conn_answered(request);
}

void pawl__reply(struct pawl__request *request, int status)
{
    assert(!request->status && !request->streaming);
    if (!request->on_pool) request->abandon = NULL; // those on the pool are not parked
    request->status = status;
    if (request->reply.failed) {
        pawl__buf_release(&request->reply);
        request->status = 0;
        pawl__reply_nomem(request);
        return;
    }
    if (!request->on_pool) pawl__conn_send(request);
}

void pawl__reply_shape(struct pawl__request *request, int status, const struct pawl__shape *shape,
                       const void *at)
{
    pawl__shape_print(&(struct pawl__shape_writer){ .out = &request->reply }, shape, at);
    pawl__reply(request, status);
}

void pawl__reply_header(struct pawl__request *request, const char *name, const char *value)
{
    assert(request->reply_header_count < PAWL__REPLY_HEADERS_MAX);
    request->reply_headers[request->reply_header_count++] =
        (struct pawl__header){ .name = name, .value = value };
}

/* ---- faults ---- */

static bool has_header(const struct pawl__request *request, const char *name)
{
    for (size_t i = 0; i < request->reply_header_count; i++) {
        if (strcmp(request->reply_headers[i].name, name) == 0) return true;
    }
    return false;
}

bool pawl__reply_fault(struct pawl__request *request, const struct pawl__fault *fault)
{
    int status = pawl__fault_status(fault->kind);
    if (status == 401 && !has_header(request, "WWW-Authenticate")) {
        pawl__reply_header(request, "WWW-Authenticate", "Bearer realm=\"pawl\"");
    }
    if ((status == 503 || status == 429) && !has_header(request, "Retry-After")) {
        pawl__reply_header(request, "Retry-After", "1");
    }
    pawl__buf_clear(&request->reply);
    pawl__fault_print(&request->reply, fault, request->id);
    if (request->reply.failed) {
        // no memory to say so at length
        pawl__buf_release(&request->reply);
        status = 503;
    }
    pawl__reply(request, status);
    return false;
}

bool pawl__reply_fault_with(struct pawl__request *request, const struct pawl__fault *fault,
                            const struct pawl__member *members, size_t count)
{
    const struct pawl__shape shape = { .members = members, .count = count };
    struct pawl__fault told = *fault;
    struct pawl__buf details = { 0 };
    bool any = false;
    pawl__shape_print_members(&(struct pawl__shape_writer){ .out = &details }, &shape, "", &any);
    if (fault->details.len && any) pawl__buf_add(&details, ",", 1);
    pawl__buf_add(&details, fault->details.at, fault->details.len);
    told.details = (struct pawl_span){ details.at, details.failed ? 0 : details.len };
    pawl__reply_fault(request, &told);
    pawl__buf_release(&details);
    return false;
}

bool pawl__reply_err(struct pawl__request *request, enum pawl_err err, const struct pawl_diag *diag)
{
    struct pawl__fault fault = { 0 };
    pawl__refuse_err(&fault, err, diag);
    if (pawl__fault_status(fault.kind) >= 500) { // the client is told less
        pawl__log(request->server->log, PAWL__LOG_ERROR, request, "%s",
                  diag && diag->text[0] ? diag->text : pawl_err_text(err));
    }
    return pawl__reply_fault(request, &fault);
}

bool pawl__reply_nomem(struct pawl__request *request)
{
    return pawl__reply_err(request, PAWL_ERR_NOMEM, NULL);
}

static bool refuse(struct pawl__request *request, enum pawl__fault_kind kind, const char *field,
                   const char *format, va_list args)
{
    struct pawl__fault fault = { .kind = kind };
    snprintf(fault.field, sizeof fault.field, "%s", field);
    vsnprintf(fault.message, sizeof fault.message, format, args);
    return pawl__reply_fault(request, &fault);
}

bool pawl__reply_refuse(struct pawl__request *request, enum pawl__fault_kind kind,
                        const char *field, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    refuse(request, kind, field, format, args);
    va_end(args);
    return false;
}

bool pawl__reply_invalid(struct pawl__request *request, const char *field, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    refuse(request, PAWL__FAULT_INVALID_REQUEST, field, format, args);
    va_end(args);
    return false;
}

bool pawl__reply_not_found(struct pawl__request *request, const char *type, const char *id)
{
    struct pawl__fault fault = { .kind = PAWL__FAULT_NOT_FOUND };
    char short_id[128];
    snprintf(short_id, sizeof short_id, "%s", id);
    snprintf(fault.message, sizeof fault.message, "there is no %s \"%s\"", type, short_id);
    return pawl__reply_fault_with(request, &fault,
                                  (const struct pawl__member[]){
                                      PAWL__HERE_TEXT("resource_type", type),
                                      PAWL__HERE_TEXT("resource_id", short_id),
                                  },
                                  2);
}

/* ---- streams ---- */

/* As a chunk of the reply: printed once, however many listen. */
struct pawl__block *pawl__stream_block(struct pawl__server *server, const char *at, size_t len)
{
    struct pawl__buf chunk = { 0 };
    pawl__buf_printf(&chunk, "%zx\r\n", len);
    pawl__buf_add(&chunk, at, len);
    pawl__buf_add(&chunk, "\r\n", 2);
    return pawl__block_new(&chunk, &server->stream_bytes);
}

/* HTTP/1.0 knows no chunks: the stream ends with the connection. */
static struct pawl__block *unchunked(struct pawl__server *server, const struct pawl__buf *chunk)
{
    struct pawl__buf copy = { 0 };
    const char *text = (const char *)memchr(chunk->at, '\n', chunk->len) + 1;
    pawl__buf_add(&copy, text, chunk->len - 2 - (size_t)(text - chunk->at));
    return pawl__block_new(&copy, &server->stream_bytes);
}

/* The kernel would take megabytes for a reader that does not read. It may fail: then it does. */
static void limit_socket(struct pawl__conn *conn)
{
    int bytes = STREAM_SOCKET_BYTES;
    (void)uv_send_buffer_size((uv_handle_t *)&conn->tcp, &bytes);
}

void pawl__stream_begin(struct pawl__request *request, const char *content_type)
{
    assert(request->abandon && !request->on_pool && request->conn);
    struct pawl__buf head = { 0 };
    request->status = 200;
    request->streaming = true;
    request->keep_alive = false;
    request->content_type = content_type;
    limit_socket(request->conn);
    add_head(&head, request);
    add_header(&head, "Cache-Control", "no-store");
    pawl__buf_add_text(&head, request->http_10 ? "\r\n" : "Transfer-Encoding: chunked\r\n\r\n");
    if (head.failed) {
        request->conn->broken = true; // chunks without a head are no reply; the tick ends it
    } else {
        pawl__conn_write(request->conn, head.at, head.len);
    }
    pawl__buf_release(&head);
}

bool pawl__stream_send(struct pawl__request *request, struct pawl__block *block)
{
    assert(request->streaming);
    struct pawl__conn *conn = request->conn;
    if (!block) {
        conn->broken = true; // a chunk is whole, or nothing more comes
        return true;
    }
    if (pawl__stream_lags(request, block->bytes.len)) return false;
    struct pawl__block *own = request->http_10 ? unchunked(request->server, &block->bytes) : NULL;
    if (request->http_10) block = own;
    if (block && pawl__conn_queue(conn, block)) {
        pawl__conn_pump_soon(conn);
    } else {
        conn->broken = true;
    }
    pawl__block_unref(own);
    return true;
}

void pawl__stream_end(struct pawl__request *request)
{
    assert(request->streaming);
    request->abandon = NULL;
    if (!request->http_10) pawl__conn_write(request->conn, "0\r\n\r\n", 5);
    request->server->hooks->answered(request);
    pawl__conn_answered(request);
}

size_t pawl__block_len(const struct pawl__block *block)
{
    return block ? block->bytes.len : 0;
}

size_t pawl__stream_unsent(const struct pawl__request *request)
{
    return pawl__conn_unsent(request->conn);
}

bool pawl__stream_lags(const struct pawl__request *request, size_t more)
{
    size_t most = (size_t)request->server->config.limits.stream_bytes_max;
    return pawl__conn_unsent(request->conn) + more > most;
}

void pawl__stream_pump(struct pawl__request *request)
{
    pawl__conn_pump(request->conn);
}

void pawl__stream_drop(struct pawl__request *request)
{
    pawl__conn_drop_queue(request->conn);
}

bool pawl__stream_is_broken(const struct pawl__request *request)
{
    return request->conn->broken;
}
