/* Inside the connection: shared by conn.c (bytes), parse.c (requests in) and reply.c (out). */
#ifndef PAWL_HTTP_CONN_H
#define PAWL_HTTP_CONN_H

#include "http/chunks.h"
#include "http/guard.h"
#include "http/peers.h"
#include "http/server.h"
#include "http/tls.h"

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
    uv_write_t write;
    uv_shutdown_t shutdown;
    int64_t write_deadline_ms;
    size_t lingered;
    bool writing, broken, shut, deaf, advancing;
    bool unframed; /* where the next request begins is not known */
    bool hung_up;  /* the client sends no more */
    struct pawl__peer *peer;
    char address[46];
};

#define PAWL__HUNG_UP_TEXT "the client hung up before there was an answer"

struct pawl__request *pawl__request_new(struct pawl__conn *conn); /* NULL: no memory */
void pawl__conn_close(struct pawl__conn *conn);
void pawl__conn_write(struct pawl__conn *conn, const char *at, size_t len);
/* The reply has been written; frees the request. */
void pawl__conn_answered(struct pawl__request *request);
/* Would `more` bytes be more than a stream's reader may lag behind? */
bool pawl__conn_lags(const struct pawl__conn *conn, size_t more);

/* ---- parse.c ---- */

void pawl__parser_init(struct pawl__conn *conn);
/* Where the next phase's deadline is: for parse.c. */
void pawl__conn_phase(struct pawl__conn *conn, enum pawl__phase phase);
/* The client's id if it has a good one, else a fresh one. */
void pawl__request_give_id(struct pawl__request *request);

#endif
