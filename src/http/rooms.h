/* What the server's files keep beside the sockets, and the calls that all of them get: open, tick
 * (twice a second), drain, reload (SIGHUP), close. */
#ifndef PAWL_HTTP_ROOMS_H
#define PAWL_HTTP_ROOMS_H

#include "http/routes.h"
#include "http/server.h"

PAWL_MUST_CHECK enum pawl_err pawl__rooms_open(struct pawl__server *server, struct pawl_diag *diag);
void pawl__rooms_tick(struct pawl__server *server);
/* The server stops: tell streams, answer fetches that wait. */
void pawl__rooms_drain(struct pawl__server *server);
/* A request has been answered: count it, log it. */
void pawl__rooms_answered(struct pawl__request *request);
void pawl__rooms_reload(struct pawl__server *server);

/* ---- what the events room tells the others, on the loop ---- */

/* This process committed a move; in order for each job. `lost` moves before it were not told. The
 * job was in `from` since `since_ms`, 0: nobody knows. */
void pawl__rooms_moved(struct pawl__server *server, const struct pawl_moved *moved,
                       int64_t since_ms);
/* There may be more to claim; `foreign`: another process changed something. Many notices become one
 * call. */
void pawl__rooms_ready(struct pawl__server *server, bool foreign);

/* Also after a failed open. */
void pawl__rooms_close(struct pawl__server *server);

#endif
