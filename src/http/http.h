/* The server: the Open Job Spec, Marie's routes, events, metrics and administration over HTTP/1.1.
 *
 * One thread runs the loop: sockets, requests, and all that is kept in memory (workers, waiting
 * fetches, streams). Changes are posted to the store and answered after their commit; reads that
 * may take long go to a pool of threads. No job rules live here. */
#ifndef PAWL_HTTP_H
#define PAWL_HTTP_H

#include "base/log_entry.h"

#include <pawl/pawl.h>

struct pawl__server;

/* name, type, default, unit or form, text */
#define PAWL__HTTP_LIMITS(X)                                                                       \
    X(header_bytes_max, 16384, "bytes", "request line and headers together")                       \
    X(body_bytes_max, 10485760, "bytes", "a request's body")                                       \
    X(bodies_bytes_max, 268435456, "bytes", "of all bodies under way together")                    \
    X(reply_bytes_max, 16777216, "bytes", "of arguments in one reply; a longer job comes alone")   \
    X(replies_bytes_max, 268435456, "bytes", "of all large replies under way together")            \
    X(connections_max, 10000, "connections", "in all")                                             \
    X(connections_per_address_max, 4000, "connections", "from one address")                        \
    X(header_timeout_ms, 10000, "ms", "for the head of a request to arrive")                       \
    X(body_timeout_ms, 30000, "ms", "for the body of a request to arrive")                         \
    X(idle_timeout_ms, 75000, "ms", "between two requests of a connection")                        \
    X(write_timeout_ms, 30000, "ms", "for a client to take its reply")                             \
    X(pipeline_bytes_max, 65536, "bytes", "of further requests while one is answered")             \
    X(stream_bytes_max, 262144, "bytes", "that a stream's reader may lag behind")                  \
    X(streams_bytes_max, 67108864, "bytes", "that all streams' readers together may lag behind")   \
    X(events_max, 100000, "events", "kept for later readers")                                      \
    X(events_bytes_max, 67108864, "bytes", "of what workers say in those events")                  \
    X(fetch_count_max, 1000, "jobs", "in one fetch")                                               \
    X(fetch_wait_ms_max, 60000, "ms", "that a fetch may wait")                                     \
    X(json_depth_max, 32, "levels", "of JSON within JSON")                                         \
    X(page_size_max, 200, "jobs", "on one page of a list")

struct pawl__http_limits {
#define X(name, ...) int64_t name;
    PAWL__HTTP_LIMITS(X)
#undef X
};

/* Strings are borrowed until close. Zero limits take their defaults. */
struct pawl__http_config {
    struct pawl *pawl;  /* borrowed; a node must run on it, for its sweeps */
    const char *listen; /* "ADDRESS:PORT", "[::1]:8080", port 0: any ["127.0.0.1:8080"] */
    struct pawl__http_limits limits;
    const char *tls_cert, *tls_key; /* files; NULL: plain */
    const char *cors_origin;        /* "*" or an origin; NULL: none */
    const char *const *hosts;       /* names that are served without tokens, beside localhost */
    size_t host_count;
    bool test_mode;    /* reset and test directives; never on a public address */
    bool metrics_only; /* of this process; besides /metrics and /healthz there is no route, and
                          signals are the caller's */
    bool access_log;
    int log_level; /* as in struct pawl_log_line [0] */
    enum pawl__log_format log_format;
    int64_t drain_ms;       /* how long requests may take after a stop [30000] */
    int64_t unready_ms;     /* how long a signal makes it say "not ready" before it stops [0] */
    const char *store_type; /* for the manifest: struct pawl_store_kind has it */
};

/* Binds and listens; nothing is answered yet. ARG: an address that is not one, a public one without
 * tokens, or in test mode. IO: cannot be bound. */
PAWL_MUST_CHECK enum pawl_err pawl__http_open(const struct pawl__http_config *config,
                                              struct pawl__server **out, struct pawl_diag *diag);
/* Where it listens: "http://127.0.0.1:8080". */
const char *pawl__http_url(const struct pawl__server *server);
/* Serves until pawl__http_stop, or SIGTERM or SIGINT, which it takes; a second one ends it at once.
 * Blocks. */
void pawl__http_run(struct pawl__server *server);
/* Any thread. */
void pawl__http_stop(struct pawl__server *server);
void pawl__http_close(struct pawl__server *server); /* NULL is fine */

/* ---- tokens: any thread; each call blocks on the store ----
 *
 * A token is 256 random bits with a prefix, shown once; the store keeps its SHA-256. A revoked
 * token stays, so that a server does not become open again with the last one. */

/* NAME, text, what it allows; admin allows everything */
#define PAWL__SCOPES(X)                                                                            \
    X(READ, "read", "look at jobs, queues, events and metrics")                                    \
    X(SUBMIT, "submit", "add and cancel jobs")                                                     \
    X(WORK, "work", "fetch jobs and report on them")                                               \
    X(ADMIN, "admin", "everything")

/* What a route asks for; NONE: nothing. */
#define X(name, ...) PAWL__SCOPE_##name,
enum pawl__scope { PAWL__SCOPE_NONE, PAWL__SCOPES(X) PAWL__SCOPE_END };
#undef X

enum {
    PAWL__TOKEN_BYTES = 49,    /* "pawl_", 43 letters, NUL */
    PAWL__TOKEN_ID_BYTES = 13, /* the first digits of its SHA-256, NUL */
    PAWL__TOKEN_NAME_BYTES = 65,
    PAWL__TOKENS_MAX = 1000
};

struct pawl__token {
    char id[PAWL__TOKEN_ID_BYTES];
    char name[PAWL__TOKEN_NAME_BYTES]; /* for the record and the audit; may be empty */
    uint32_t scopes;                   /* 1 << enum pawl__scope */
    uint8_t hash[32];
    int64_t created_at_ms;
    int64_t expires_at_ms; /* 0: never */
    int64_t revoked_at_ms; /* 0: it was not */
    int64_t used_at_ms;    /* 0: never; to the minute */
};

struct pawl__tokens {
    struct pawl__token *at; /* by id */
    size_t count;
};

const char *pawl__scope_text(enum pawl__scope scope);
/* NONE: there is no such. */
enum pawl__scope pawl__scope_find(const char *text, size_t len);
bool pawl__token_is_valid(const struct pawl__token *token, int64_t now_ms);
void pawl__token_hash(const char *secret, size_t len, uint8_t out[32]);

/* Name, scopes and times of `token` are given, the rest is filled in; `secret` is what its bearer
 * must show. ARG: no scope, a name that is too long. LIMIT: there are too many. */
PAWL_MUST_CHECK enum pawl_err pawl__token_add(struct pawl *pawl, struct pawl__token *token,
                                              char secret[PAWL__TOKEN_BYTES],
                                              struct pawl_diag *diag);
/* All, also those that are not valid. */
PAWL_MUST_CHECK enum pawl_err pawl__tokens_get(struct pawl *pawl, struct pawl__tokens *out,
                                               struct pawl_diag *diag);
void pawl__tokens_release(struct pawl__tokens *tokens);
/* NOT_FOUND. Revoking again is fine and changes nothing. */
PAWL_MUST_CHECK enum pawl_err pawl__token_revoke(struct pawl *pawl, const char *id, int64_t now_ms,
                                                 struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl__token_used(struct pawl *pawl, const char *id, int64_t at_ms,
                                               struct pawl_diag *diag);

#endif
