/* Inside the connection: shared by conn.c (bytes in), parse.c (requests), reply.c and write.c
 * (bytes out). */
#ifndef PAWL_HTTP_TRANSPORT_CONN_H
#define PAWL_HTTP_TRANSPORT_CONN_H

#include "http/transport/chunks.h"
#include "http/transport/guard.h"
#include "http/transport/peers.h"
#include "http/transport/transport.h"
#include "http/transport/tls.h"

#include <llhttp.h>

/* In this order: the first three read. */
enum pawl__phase {
    PAWL__PHASE_IDLE, /* between requests */
    PAWL__PHASE_HEAD,
    PAWL__PHASE_BODY,
    PAWL__PHASE_HANDLING,
    PAWL__PHASE_LINGERING, /* answered; throwing away what still comes */
    PAWL__PHASE_ENDING,    /* answered; closing */
    PAWL__PHASE_CLOSED
};

/* Bytes that are sent from where they lie, by one connection or by many. Counted: the last one to
 * let go frees it. */
struct pawl__block {
    size_t refs;
    struct pawl__buf bytes;
    int64_t *account; /* to which its bytes are charged as long as it lives; may be NULL */
};

/* Blocks that are yet to be sent, in order: a ring. */
struct pawl__send_queue {
    struct pawl__block **at;
    size_t first, count, cap;
    size_t bytes; /* of all, but for what was sent of the first: */
    size_t sent;
    size_t flying, flying_count; /* bytes and blocks that the socket has been given */
};

struct pawl__conn {
    uv_tcp_t tcp;
    struct pawl__server *server;
    struct pawl__conn *prev, *next;
    enum pawl__phase phase;
    int64_t deadline_ms; /* loop time; 0: none */
    struct pawl__guard guard;
    struct pawl__chunks chunks; /* where a chunked body is */
    bool chunked;               /* the request's body is; known when its head has come */
    size_t raw_bytes;           /* of the request so far, framing included */
    llhttp_t parser;
    struct pawl__tls *tls;         /* NULL: plain */
    struct pawl__request *request; /* being read or handled */
    size_t head_parts;             /* in the request's head */
    enum pawl__fault_kind fault;   /* why the parser was stopped */
    const char *fault_text;
    struct pawl__buf pending;      /* came while a request was handled */
    struct pawl__buf out, sending; /* not yet given to the socket; given */
    struct pawl__send_queue queue; /* behind them */
    struct pawl__conn *prev_due, *next_due;
    bool due; /* has its turn to send soon */
    uv_write_t write;
    uv_shutdown_t shutdown;
    int64_t write_deadline_ms;
    size_t lingered;
    bool writing, broken, shut, deaf, advancing;
    bool tls_ended;
    bool unframed; /* where the next request begins is not known */
    bool hung_up;  /* the client sends no more */
    struct pawl__peer *peer;
    char address[46];
};

#define PAWL__HUNG_UP_TEXT "the client hung up before there was an answer"

struct pawl__request *pawl__request_new(struct pawl__conn *conn); /* NULL: no memory */
void pawl__conn_close(struct pawl__conn *conn);
/* The reply has been written; frees the request. */
void pawl__conn_answered(struct pawl__request *request);
/* Head and body have been put together; on the loop. */
void pawl__conn_send(struct pawl__request *request);

/* Between two requests: hear again, read on, or see that there is nothing more to come. */
void pawl__conn_go_on(struct pawl__conn *conn);

/* ---- write.c ---- */

/* The bytes change hands, also when there is no memory: NULL. One reference is the caller's. */
struct pawl__block *pawl__block_new(struct pawl__buf *taken, int64_t *account);

/* Copied, and sent at once as far as may be. */
void pawl__conn_write(struct pawl__conn *conn, const char *at, size_t len);
/* A large reply's body. */
void pawl__conn_give(struct pawl__conn *conn, struct pawl__buf *taken);
/* Takes a reference of its own. Nothing is sent before the next pump. False: it never will be. */
bool pawl__conn_queue(struct pawl__conn *conn, struct pawl__block *block);
/* Send what can be sent; now, or when others have had their turn. */
void pawl__conn_pump(struct pawl__conn *conn);
void pawl__conn_pump_soon(struct pawl__conn *conn);
/* Forget the queued blocks of which nothing has been sent. */
void pawl__conn_drop_queue(struct pawl__conn *conn);
size_t pawl__conn_unsent(const struct pawl__conn *conn);
/* If all has been sent: what the connection was to do then. */
void pawl__conn_drained(struct pawl__conn *conn);
void pawl__conn_write_release(struct pawl__conn *conn);

/* ---- parse.c ---- */

void pawl__parser_init(struct pawl__conn *conn);
/* Where the next phase's deadline is: for parse.c. */
void pawl__conn_phase(struct pawl__conn *conn, enum pawl__phase phase);
/* The client's id if it has a good one, else a fresh one. */
void pawl__request_give_id(struct pawl__request *request);

#endif
