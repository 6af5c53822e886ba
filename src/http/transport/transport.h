/* Connections, TLS, limits, parsing, replies and streams of bytes; and the server that all rooms of
 * the server share. Its door: what handlers see of a request (request.h), refusals (fault.h), the
 * log (log.h), names of hosts (host.h), work on the pool (pool.h), and below the server itself.
 *
 * Everything here belongs to the loop's thread, except what says otherwise. This room knows no
 * routes and no jobs: what it asks of the rooms above it is in struct pawl__server_hooks. */
#ifndef PAWL_HTTP_TRANSPORT_TRANSPORT_H
#define PAWL_HTTP_TRANSPORT_TRANSPORT_H

#include "base/id.h"
#include "base/sync.h"
#include "http/http.h"
#include "http/transport/fault.h"
#include "http/transport/host.h"
#include "http/transport/log.h"
#include "http/transport/peers.h"
#include "http/transport/request.h"
#include "http/transport/tls.h"

#include <uv.h>

#include <stdatomic.h>

enum { PAWL__READ_BYTES = 65536 };

#define PAWL__METHODS "GET, HEAD, POST, PUT, PATCH, DELETE"

/* What this room and that of events call of the rooms above them; see components.h. On the loop. */
struct pawl__server_hooks {
    /* From the head alone: find the route, check who asks. Sets request->route, or ->refusal. */
    void (*admit)(struct pawl__request *request);
    /* The body is here: call the handler, or tell the refusal. */
    void (*dispatch)(struct pawl__request *request);
    /* A request has been answered: count it, log it. */
    void (*answered)(struct pawl__request *request);
    /* This process committed a move; in order for each job. `lost` moves before it were not
     * reported. The job was in `from` since `since_ms`, 0: not known. */
    void (*moved)(struct pawl__server *server, const struct pawl_moved *moved, int64_t since_ms);
    /* There may be more to claim; `foreign`: another process changed something. Many notices become
     * one call. */
    void (*ready)(struct pawl__server *server, bool foreign);
};

struct pawl__server {
    struct pawl__http_config config; /* complete */
    const struct pawl__server_hooks *hooks;
    struct pawl *pawl;
    char url[80];
    uv_loop_t loop;
    uv_tcp_t listener;
    uv_async_t answered, asked_to_stop;
    uv_timer_t tick;   /* deadlines */
    uv_check_t ending; /* while stopping: is nothing left? */
    uv_signal_t terminate, interrupt, hangup;
    struct pawl__idgen ids; /* of requests and events; has its own lock */
    char read_buffer[PAWL__READ_BYTES];
    struct pawl__conn *conns; /* newest first */
    int64_t conn_count;
    struct pawl__peers peers;
    struct pawl__request *spare; /* requests that were answered, to be used again */
    int64_t spare_count;
    struct pawl__buf out; /* where a reply is put together */
    int64_t body_bytes;   /* of bodies of requests that live */
    int64_t reply_bytes;  /* of large replies that clients have not taken yet */
    int64_t stream_bytes; /* of events that readers have not taken yet, each counted once */
    struct pawl__conn *due, *last_due; /* connections whose turn to send comes: see write.c */
    uv_idle_t turns;
    bool trim_due, trimming; /* memory: see memory.h */
    int64_t trimmed_ms;      /* loop time */
    bool accept_due;         /* a connection could not be taken for want of memory */
    bool exposed;            /* can be reached from other machines */
    int64_t working;         /* requests on the pool or posted, their connection alive or not */
    bool stopping;
    int64_t leave_at_ms; /* loop time: not ready until then, then stopping; 0: not set */
    int64_t stop_at_ms;  /* loop time: when what is left is cut off */
    int64_t started_at_ms;
    char date[32]; /* for the head of replies */
    int64_t date_until_ms;
    atomic_bool ready;

    struct pawl__mutex mutex;
    /* guarded by mutex: */
    struct pawl__request *answers; /* newest first */

    /* components: each is made and freed by its room, in the order of components.c */
    struct pawl__auth *auth;
    struct pawl__leases *leases;
    struct pawl__workers *workers;
    struct pawl__waiters *waiters;
    struct pawl__rates *rates;
    struct pawl__remote *remote;
    struct pawl__results *results;
    struct pawl__throughput *throughput;
    struct pawl__events *events;
    struct pawl__streams *streams;
    struct pawl__metrics *metrics;
    struct pawl__log *log;
    struct pawl__tls_context *tls;
};

/* Milliseconds of the loop's own clock, for deadlines. */
static inline int64_t pawl__server_now(struct pawl__server *server)
{
    return (int64_t)uv_now(&server->loop);
}

/* ---- conn.c ---- */

/* A connection waits at the listener. */
void pawl__conn_accept(uv_stream_t *listener, int status);
void pawl__conn_accept_again(struct pawl__server *server);
/* Close those whose time is over. */
void pawl__conns_tick(struct pawl__server *server);
/* Close the idle; abandon the parked; with `all`, close every one. */
void pawl__conns_drain(struct pawl__server *server, bool all);
/* Those that are spare. */
void pawl__requests_release(struct pawl__server *server);
/* May another `len` bytes of large replies be under way? */
bool pawl__replies_have_room(const struct pawl__server *server, size_t len);

/* "Mon, 16 Nov 2026 04:49:10 GMT" */
const char *pawl__server_date(struct pawl__server *server);

/* ---- pool.c ---- */

/* The store has answered posted calls: the handle's callback. */
void pawl__answers_read(uv_async_t *async);

/* A background task: something that blocks and that no request waits for. `work` runs on the pool,
 * then `done` on the loop; the server does not stop before. `ctx` is
 * theirs. False: neither will be called. */
PAWL_MUST_CHECK bool pawl__background_run(struct pawl__server *server, void (*work)(void *ctx),
                                          void (*done)(void *ctx), void *ctx);

/* Posted calls that a thread of the pool waits for. Each is begun, then posted with
 * pawl__call_answered and itself as `ctx`; if that fails it is withdrawn. */
struct pawl__calls {
    struct pawl__mutex mutex;
    struct pawl__cond answered;
    /* guarded by mutex: */
    size_t waiting;
};
struct pawl__call {
    struct pawl__calls *calls;
    struct pawl_answer *answer; /* to be freed; NULL: it was not posted, or there is none yet */
};
void pawl__calls_init(struct pawl__calls *calls);
void pawl__calls_release(struct pawl__calls *calls);
void pawl__call_begin(struct pawl__calls *calls, struct pawl__call *call);
void pawl__call_withdraw(struct pawl__call *call);
void pawl__call_answered(struct pawl_answer *taken_answer);
/* Until all have been answered. */
void pawl__calls_wait(struct pawl__calls *calls);

/* ---- memory.c ---- */

/* When large requests have ended and it is some time ago that it was done: give their memory back
 * to the system. */
void pawl__memory_tick(struct pawl__server *server);

#endif
