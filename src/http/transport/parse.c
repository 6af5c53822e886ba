/* From bytes to a request: llhttp in strict mode finds the pieces, this puts them together and
 * keeps the bounds. Stopping the parser leaves the reason in conn->fault.
 *
 * Who may not ask this is known when the head has come, and may then send only a little more: there
 * is no memory for strangers' bodies. */
#include "base/clock.h"
#include "http/transport/conn.h"
#include "http/transport/host.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { HEADERS_MAX = 100, REFUSED_BODY_BYTES_MAX = 65536 };

static int stop(struct pawl__conn *conn, enum pawl__fault_kind kind, const char *text)
{
    conn->fault = kind;
    conn->fault_text = text;
    return -1;
}

/* ---- head ---- */

static int on_message_begin(llhttp_t *parser)
{
    struct pawl__conn *conn = parser->data;
    conn->request = pawl__request_new(conn);
    if (!conn->request) return stop(conn, PAWL__FAULT_UNAVAILABLE, "out of memory");
    conn->head_parts = 0;
    conn->fault = PAWL__FAULT_NONE;
    pawl__conn_phase(conn, PAWL__PHASE_HEAD);
    return 0;
}

static int add_to_head(struct pawl__conn *conn, const char *at, size_t len)
{
    struct pawl__buf *head = &conn->request->head;
    pawl__buf_add(head, at, len);
    if (head->failed) return stop(conn, PAWL__FAULT_UNAVAILABLE, "out of memory");
    if (head->len > (size_t)conn->server->config.limits.header_bytes_max) {
        return stop(conn, PAWL__FAULT_HEADERS, "the request's head is too long");
    }
    return 0;
}

static int on_piece(llhttp_t *parser, const char *at, size_t len)
{
    struct pawl__conn *conn = parser->data;
    if (conn->fault) return -1;
    if (conn->request->header_count) { // the head is over: these stand behind the body
        return stop(conn, PAWL__FAULT_INVALID_REQUEST, "headers behind the body are not read here");
    }
    return add_to_head(conn, at, len);
}

/* llhttp 6 ignores what this returns; the fault is seen at the next piece or the end of the head.
 */
static int on_piece_end(llhttp_t *parser)
{
    struct pawl__conn *conn = parser->data;
    if (++conn->head_parts > 1 + 2 * HEADERS_MAX) {
        return stop(conn, PAWL__FAULT_HEADERS, "the request has too many headers");
    }
    return add_to_head(conn, "", 1);
}

/* ---- what the head says ---- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* "http://host/path" is another way to write "/path", and names the host whatever Host says. False:
 * it is no target that we have. */
static bool take_target(struct pawl__request *request, char *target)
{
    static const char *const schemes[] = { "http://", "https://" };
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        size_t len = strlen(schemes[i]);
        if (strncasecmp(target, schemes[i], len) != 0) continue;
        char *host = target + len;
        target = host + strcspn(host, "/?#");
        if (*target != '/') return false;
        memmove(host - 1, host, (size_t)(target - host)); // room for its end
        target[-1] = '\0';
        request->host = host - 1;
    }
    bool asterisk = strcmp(target, "*") == 0 && strcmp(request->method, "OPTIONS") == 0;
    if ((target[0] != '/' && !asterisk) || strchr(target, '#')) return false;
    char *question = strchr(target, '?');
    if (question) *question = '\0';
    request->path = target;
    request->query = question ? question + 1 : "";
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* A value without the blanks around it; `end` is its NUL. */
static const char *trim(char *value, char *end)
{
    while (end > value && is_blank(end[-1])) {
        *--end = '\0';
    }
    while (is_blank(*value)) {
        value++;
    }
    return value;
}

/* The pieces of the head, told apart where they lie. NULL: no memory; otherwise the target. */
static char *list_headers(struct pawl__conn *conn)
{
    struct pawl__request *request = conn->request;
    char *at = request->head.at;
    size_t count = (conn->head_parts - 1) / 2;
    struct pawl__header *headers = pawl__arena_calloc(&request->arena, count + 1, sizeof *headers);
    if (!headers) return NULL;
    char *target = at;
    at += strlen(at) + 1;
    for (size_t i = 0; i < count; i++) {
        headers[i].name = at;
        for (; *at; at++) {
            *at = lower(*at);
        }
        char *value = ++at;
        at += strlen(at) + 1;
        headers[i].value = trim(value, at - 1);
    }
    request->headers = headers;
    request->header_count = count;
    return target;
}

static size_t count_headers(const struct pawl__request *request, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < request->header_count; i++) {
        count += strcmp(request->headers[i].name, name) == 0;
    }
    return count;
}

/* Where two readers could see two different requests; NULL: nothing is wrong. */
static const char *ambiguity(const struct pawl__request *request)
{
    static const char *const once[] = { "authorization", "content-type", "expect", "origin" };
    size_t hosts = count_headers(request, "host");
    if (hosts > 1) return "Host is given twice";
    if (!hosts && !request->http_10) return "Host is missing";
    if (hosts && !pawl__host_is_one(pawl__request_header(request, "host"))) {
        return "Host must be a name or an address, with or without a port";
    }
    if (request->host && !pawl__host_is_one(request->host)) {
        return "the host in the request's target is not one";
    }
    for (size_t i = 0; i < sizeof once / sizeof once[0]; i++) {
        if (count_headers(request, once[i]) > 1) return "a header is given twice that may be once";
    }
    return NULL;
}

/* Where the body ends must be as clear to us as to any proxy before us: one Content-Length, or one
 * Transfer-Encoding that says "chunked" and nothing else. */
static int check_framing(struct pawl__conn *conn)
{
    const struct pawl__request *request = conn->request;
    const char *value = pawl__request_header(request, "transfer-encoding");
    if (!value) return 0;
    enum pawl__coding coding = pawl__coding_of(value);
    const char *wrong = NULL;
    if (request->http_10) {
        wrong = "Transfer-Encoding is not part of HTTP/1.0";
    } else if (count_headers(request, "transfer-encoding") > 1) {
        wrong = "Transfer-Encoding is given twice";
    } else if (count_headers(request, "content-length")) {
        wrong = "Content-Length and Transfer-Encoding exclude each other";
    } else if (coding == PAWL__CODING_MALFORMED) {
        wrong = "Transfer-Encoding must be \"chunked\"";
    }
    if (wrong) return stop(conn, PAWL__FAULT_INVALID_REQUEST, wrong);
    if (coding == PAWL__CODING_OTHER) {
        return stop(conn, PAWL__FAULT_CODING, "only the transfer coding \"chunked\" is understood");
    }
    conn->chunked = true;
    return 0;
}

static bool is_id(const char *text)
{
    size_t len = strlen(text);
    if (!len || len > PAWL__REQUEST_ID_BYTES) return false;
    for (; *text; text++) {
        if (*text <= ' ' || *text > '~' || *text == '"' || *text == '\\') return false;
    }
    return true;
}

void pawl__request_give_id(struct pawl__request *request)
{
    if (request->id[0]) return;
    const char *given = pawl__request_header(request, "x-request-id");
    if (given && is_id(given)) {
        memcpy(request->id, given, strlen(given) + 1);
        return;
    }
    memcpy(request->id, "req_", 4);
    pawl_job_id_text(pawl__idgen_next(&request->server->ids), request->id + 4);
}

/* The client waits to be told whether its body is wanted. */
static int answer_expectation(struct pawl__conn *conn, const char *expect)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    if (strcasecmp(expect, "100-continue") != 0) {
        return stop(conn, PAWL__FAULT_EXPECTATION, "only Expect: 100-continue is understood");
    }
    if (conn->request->refusal) return stop(conn, conn->request->refusal->kind, "");
    if (!conn->request->http_10) pawl__conn_write(conn, go_on, sizeof go_on - 1);
    return 0;
}

/* The head has been read and listed: what does it ask for? */
static int check_head(struct pawl__conn *conn)
{
    struct pawl__request *request = conn->request;
    const char *wrong = ambiguity(request);
    if (wrong) return stop(conn, PAWL__FAULT_INVALID_REQUEST, wrong);
    if (check_framing(conn)) return -1;
    if (!request->host) request->host = pawl__request_header(request, "host");
    if (conn->parser.content_length > (uint64_t)conn->server->config.limits.body_bytes_max) {
        return stop(conn, PAWL__FAULT_TOO_LARGE, "the request's body is too large");
    }
    conn->server->hooks->admit(request);
    const char *expect = pawl__request_header(request, "expect");
    if (expect && answer_expectation(conn, expect)) return -1;
    if (request->refusal && conn->parser.content_length > REFUSED_BODY_BYTES_MAX) {
        return stop(conn, request->refusal->kind, "");
    }
    pawl__conn_phase(conn, PAWL__PHASE_BODY);
    return 0;
}

static int on_headers_complete(llhttp_t *parser)
{
    struct pawl__conn *conn = parser->data;
    struct pawl__request *request = conn->request;
    if (conn->fault) return -1;
    request->method = llhttp_method_name((llhttp_method_t)parser->method);
    request->keep_alive = llhttp_should_keep_alive(parser);
    request->http_10 = parser->http_minor == 0;
    parser->upgrade = 0; // nothing is upgraded to: a client that offers is served as it is
    char *target = list_headers(conn);
    if (!target) return stop(conn, PAWL__FAULT_UNAVAILABLE, "out of memory");
    pawl__request_give_id(request);
    if (parser->http_major != 1) {
        return stop(conn, PAWL__FAULT_INVALID_REQUEST,
                    "only HTTP/1.1 and HTTP/1.0 are spoken here");
    }
    if (parser->method == HTTP_CONNECT) {
        return stop(conn, PAWL__FAULT_METHOD, "this is no proxy");
    }
    if (!take_target(request, target)) {
        return stop(conn, PAWL__FAULT_INVALID_REQUEST, "the request's target is not one");
    }
    return check_head(conn);
}

/* ---- body ---- */

static int on_body(llhttp_t *parser, const char *at, size_t len)
{
    struct pawl__conn *conn = parser->data;
    struct pawl__request *request = conn->request;
    struct pawl__server *server = conn->server;
    const struct pawl__http_limits *limits = &server->config.limits;
    struct pawl__buf *taken = &request->taken;
    if (request->refusal && taken->len + len > REFUSED_BODY_BYTES_MAX) {
        return stop(conn, request->refusal->kind, "");
    }
    if (taken->len + len > (size_t)limits->body_bytes_max) {
        return stop(conn, PAWL__FAULT_TOO_LARGE, "the request's body is too large");
    }
    if (server->body_bytes + (int64_t)len > limits->bodies_bytes_max) {
        return stop(conn, PAWL__FAULT_UNAVAILABLE, "too many large requests are under way");
    }
    pawl__buf_add(taken, at, len);
    if (taken->failed) return stop(conn, PAWL__FAULT_UNAVAILABLE, "out of memory");
    server->body_bytes += (int64_t)len;
    return 0;
}

static int on_message_complete(llhttp_t *parser)
{
    struct pawl__conn *conn = parser->data;
    struct pawl__request *request = conn->request;
    request->body = (struct pawl_span){ request->taken.at, request->taken.len };
    request->now_ms = pawl__clock_wall_ms(&pawl__clock_system); // a body may take its time
    return HPE_PAUSED;                                          // one at a time
}

static const llhttp_settings_t settings = {
    .on_message_begin = on_message_begin,
    .on_url = on_piece,
    .on_url_complete = on_piece_end,
    .on_header_field = on_piece,
    .on_header_field_complete = on_piece_end,
    .on_header_value = on_piece,
    .on_header_value_complete = on_piece_end,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

void pawl__parser_init(struct pawl__conn *conn)
{
    llhttp_init(&conn->parser, HTTP_REQUEST, &settings);
    conn->parser.data = conn;
}
