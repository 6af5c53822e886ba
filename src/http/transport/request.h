/* One request and its reply, as handlers see them.
 *
 * A handler either answers before it returns, or has posted a call (<pawl/post.h>) and answers when
 * its `then` is called on the loop's thread, or parks the request (long polls, streams) and answers
 * later from the loop. What it needs meanwhile lives in the request's arena.
 *
 * Routes marked WORK run on a thread of the pool and may block; they answer before they return, and
 * must not post, park or touch what belongs to the loop. */
#ifndef PAWL_HTTP_TRANSPORT_REQUEST_H
#define PAWL_HTTP_TRANSPORT_REQUEST_H

#include "base/arena.h"
#include "base/shape.h"
#include "http/http.h"
#include "http/transport/fault.h"

#include <pawl/pawl.h>

enum { PAWL__PATH_PARTS_MAX = 12, PAWL__REPLY_HEADERS_MAX = 12, PAWL__REQUEST_ID_BYTES = 128 };
enum {
    PAWL__LARGE_BYTES = 65536
}; /* of a body or a reply: from here on it is bounded with others */

struct pawl__server;
struct pawl__conn;
struct pawl__block;
struct pawl__route;

struct pawl__header {
    const char *name; /* lower case */
    const char *value;
};

struct pawl__request {
    struct pawl__server *server;
    const struct pawl__route *route;
    struct pawl__arena arena; /* everything below, and whatever handlers need */

    /* what was asked */
    const char *method;
    const char *path;                        /* decoded, without the query */
    const char *parts[PAWL__PATH_PARTS_MAX]; /* what stood in the route's {} */
    size_t part_count;
    const char *query; /* as it came; "" when there is none */
    const char *host;  /* which the client asks: of the target, else of Host; NULL: HTTP/1.0 */
    const struct pawl__header *headers;
    size_t header_count;
    struct pawl_span body;
    char id[PAWL__REQUEST_ID_BYTES + 1];
    const char *token_name; /* who asks, for the audit; NULL: not known */
    int64_t now_ms;         /* when it was read */
    int64_t began_us;

    /* what is answered */
    int status; /* 0: not yet */
    struct pawl__buf reply;
    size_t reply_bytes;       /* for the log: how long it was */
    const char *content_type; /* NULL: JSON, as the request negotiated */
    struct pawl__header reply_headers[PAWL__REPLY_HEADERS_MAX];
    size_t reply_header_count;

    /* posted calls */
    void (*then)(struct pawl__request *request, struct pawl_answer *answer);
    void *state; /* the handler's own, in the arena */

    /* parked requests: called on the loop when the client goes away or the server stops. The
     * handler must forget the request; it is answered for it. */
    void (*abandon)(struct pawl__request *request);
    /* Called when the client sends no more: answer with what there is. NULL: waits on. */
    void (*finish)(struct pawl__request *request);
    void (*parked)(struct pawl__request *request); /* see pawl__request_park */

    /* the connection's */
    struct pawl__conn *conn; /* NULL: the client has gone away */
    struct pawl__request *next;
    struct pawl_answer *answer;
    struct pawl__buf head;             /* target, names and values, each NUL-terminated */
    struct pawl__buf taken;            /* what body points to */
    const struct pawl__fault *refusal; /* found out from the head, told after the body; or NULL */
    bool keep_alive;
    bool http_10; /* the client speaks HTTP/1.0 */
    bool hung_up; /* the client sends no more; it may still listen, or have gone away */
    bool on_pool; /* the handler runs on a thread of the pool */
    bool parking;
    bool returning; /* `parked` is called in any case */
    bool streaming;
};

typedef void pawl__handler_fn(struct pawl__request *request);

/* Where a handler runs: on the loop, never blocking, or on a thread of the pool. */
enum pawl__place { PAWL__PLACE_LOOP, PAWL__PLACE_WORK };

struct pawl__route {
    const char *method;
    const char *path;
    const char *name;
    pawl__handler_fn *handler;
    enum pawl__scope scope;
    enum pawl__place place;
    const char *summary;
};

/* For lists of routes, whose rows are X(method, path, handler, scope, place, summary). */
#define PAWL__DECLARE_HANDLER(method, path, name, ...)                                             \
    void pawl__on_##name(struct pawl__request *request);

/* How request bodies are to be parsed: the last of repeated members wins, as OJS has it. A token
 * takes ten times the memory of "1,", so that bounds on bytes alone would not be any. */
#define PAWL__BODY_JSON_RULES                                                                      \
    ((struct pawl__json_rules){ .depth_max = PAWL_JSON_DEPTH_MAX,                                  \
                                .members_max = 10000,                                              \
                                .tokens_max = 1000000,                                             \
                                .last_wins = true })

/* ---- reading ---- */

/* NULL: there is none. `name` in lower case. */
const char *pawl__request_header(const struct pawl__request *request, const char *name);
/* A member of the query, decoded, in the arena; NULL: not there, or empty: clients send "queue="
 * and mean any. */
const char *pawl__request_query(struct pawl__request *request, const char *name);
/* The same for routes that delete, where a restriction that is not understood would widen them:
 * an empty value and any other parameter are refused. False: answered. */
bool pawl__request_only(struct pawl__request *request, const char *name, const char **out);
/* The body as a JSON object. An empty body is an empty object when `optional`. False: answered. */
bool pawl__request_json(struct pawl__request *request, bool optional, struct pawl__json *out);
/* How a body is read by its shape. */
struct pawl__body {
    bool optional;                 /* an empty one is an empty object [it is refused] */
    enum pawl__fault_kind unknown; /* how unknown members are refused [they are ignored] */
};
/* Reads the body into the struct at `out`. Null counts as absent; fields of absent members are left
 * as they are. Functions of members get the request as reader->ctx. `how` may be NULL. False:
 * answered. */
bool pawl__request_read(struct pawl__request *request, const struct pawl__shape *shape,
                        const struct pawl__body *how, void *out);
/* The same for an object within the body. */
bool pawl__object_read(struct pawl__request *request, const struct pawl__json *json,
                       uint32_t object, const struct pawl__shape *shape,
                       const struct pawl__body *how, void *out);
/* A member of an object of the body, as text in the arena; NULL: absent or null. False: it is no
 * string, and that was answered. */
bool pawl__body_text(struct pawl__request *request, const struct pawl__json *json, uint32_t object,
                     const char *name, const char **out);
/* The same for whole numbers between `min` and `max`; `*out` untouched when absent. */
bool pawl__body_int(struct pawl__request *request, const struct pawl__json *json, uint32_t object,
                    const char *name, int64_t min, int64_t max, int64_t *out);

/* Zeroed, in the arena, and as request->state: what a handler keeps of a request on its way. NULL:
 * no memory, answered. */
void *pawl__request_state(struct pawl__request *request, size_t bytes);
/* A job's id as it is printed: one in capital letters names nothing. */
bool pawl__id_read(const char *text, struct pawl_job_id *out);
/* Part `index` of the path as a job's id. False: answered with 404. */
bool pawl__request_job_id(struct pawl__request *request, size_t index, struct pawl_job_id *out);
/* A whole number of the query between `min` and `max`, `*out` untouched when absent. False:
 * answered. */
bool pawl__request_int(struct pawl__request *request, const char *name, int64_t min, int64_t max,
                       int64_t *out);
/* true, false, 1 or 0 in the query; `*out` untouched when absent. False: answered. */
bool pawl__request_bool(struct pawl__request *request, const char *name, bool *out);
/* page and per_page of the query, as administration and dashboards have them. False: answered. */
struct pawl__numbered_page {
    int64_t page, per_page;
    bool oldest_first;
};
bool pawl__numbered_page_read(struct pawl__request *request, struct pawl__numbered_page *out);
/* "pagination":{...} */
void pawl__numbered_page_print(struct pawl__buf *out, const struct pawl__numbered_page *pages,
                               int64_t total);
/* Beyond it a list must be narrowed down, or read by cursor: what is skipped is read, too. */
enum { PAWL__OFFSET_MAX = 100000 };
/* In place. `plus`: a plus is a blank. False: an escape that is not one, or NUL. */
bool pawl__percent_decode(char *text, bool plus);
struct pawl *pawl__request_pawl(const struct pawl__request *request);
/* Who does it, for the audit. */
struct pawl_by pawl__request_by(const struct pawl__request *request);

/* ---- answering: once. Then the request is no longer the handler's ---- */

/* `request->reply` holds the body. */
void pawl__reply(struct pawl__request *request, int status);
/* Prints the struct at `at` as the body, and replies. */
void pawl__reply_shape(struct pawl__request *request, int status, const struct pawl__shape *shape,
                       const void *at);

/* Refusals. They return false, so that a reader that refuses is one line. */

bool pawl__reply_fault(struct pawl__request *request, const struct pawl__fault *fault);
/* With these members (PAWL__HERE...) before its details. */
bool pawl__reply_fault_with(struct pawl__request *request, const struct pawl__fault *fault,
                            const struct pawl__member *members, size_t count);
bool pawl__reply_refuse(struct pawl__request *request, enum pawl__fault_kind kind,
                        const char *field, const char *format, ...) PAWL_PRINTF(4, 5);
/* INVALID_REQUEST: `field` is the member, parameter or header that broke a rule. */
bool pawl__reply_invalid(struct pawl__request *request, const char *field, const char *format, ...)
    PAWL_PRINTF(3, 4);
/* 404 with resource_type and resource_id. */
bool pawl__reply_not_found(struct pawl__request *request, const char *type, const char *id);
bool pawl__reply_nomem(struct pawl__request *request);
/* What the library said. */
bool pawl__reply_err(struct pawl__request *request, enum pawl_err err,
                     const struct pawl_diag *diag);
/* The same where there may be no error. True: there was one, and it was answered. */
static inline bool pawl__reply_if_err(struct pawl__request *request, enum pawl_err err,
                                      const struct pawl_diag *diag)
{
    if (err) pawl__reply_err(request, err, diag);
    return err;
}

/* Before the answer; both strings must live as long as the request. */
void pawl__reply_header(struct pawl__request *request, const char *name, const char *value);

/* ---- streaming: a reply without end, from the loop's thread. `abandon` must be set ---- */

void pawl__stream_begin(struct pawl__request *request, const char *content_type);
/* A piece of the stream for one reader or many; one reference is the caller's. NULL: no memory. */
struct pawl__block *pawl__stream_block(struct pawl__server *server, const char *at, size_t len);
/* False: the reader lags further behind than it may; nothing was sent. Without a block the stream
 * breaks off. */
bool pawl__stream_send(struct pawl__request *request, struct pawl__block *block);
size_t pawl__block_len(const struct pawl__block *block); /* NULL: 0 */
void pawl__block_unref(struct pawl__block *block);       /* NULL is fine */
/* The request is no longer the handler's. */
void pawl__stream_end(struct pawl__request *request);
/* Bytes that the reader has not taken yet. */
size_t pawl__stream_unsent(const struct pawl__request *request);
/* Would `more` bytes be more than the reader may lag behind? */
bool pawl__stream_lags(const struct pawl__request *request, size_t more);
/* Send what can be sent now, before others have had their turn. */
void pawl__stream_pump(struct pawl__request *request);
/* Forget the pieces of which nothing has been sent. */
void pawl__stream_drop(struct pawl__request *request);
/* Nothing more can be sent: end it. */
bool pawl__stream_is_broken(const struct pawl__request *request);

/* ---- posting ---- */

/* Has the client gone away, or may it have? What was claimed for it should be given back, and it
 * must not be parked; it is answered all the same. */
static inline bool pawl__request_gone(const struct pawl__request *request)
{
    return !request->conn || request->hung_up;
}
/* Before each pawl_post_*: `then` is called with the answer. When posting fails, call
 * pawl__request_not_posted and answer. */
void pawl__request_posting(struct pawl__request *request,
                           void (*then)(struct pawl__request *request, struct pawl_answer *answer));
void pawl__request_not_posted(struct pawl__request *request);
/* Go on with `fn` on a thread of the pool, where it may block and must answer before it returns, or
 * call pawl__request_park: then `parked` is called on the loop, unless the client has gone away. */
void pawl__request_to_pool(struct pawl__request *request, pawl__handler_fn *fn);
void pawl__request_park(struct pawl__request *request);
/* From the pool: go on with `fn` on the loop, which answers. Also when the client has gone away. */
void pawl__request_to_loop(struct pawl__request *request, pawl__handler_fn *fn);

/* What to give pawl_post_*: the answer comes to request->then on the loop, which must free it. */
void pawl__request_answered(struct pawl_answer *taken_answer);

#endif
