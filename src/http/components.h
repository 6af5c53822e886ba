/* The components: what the rooms keep for the server, beside its sockets. Each is opened with the
 * server, ticks twice a second, is drained when the server stops, and is closed with it. On the
 * loop, but for opening and closing. */
#ifndef PAWL_HTTP_COMPONENTS_H
#define PAWL_HTTP_COMPONENTS_H

#include "http/transport/transport.h"

PAWL_MUST_CHECK enum pawl_err pawl__components_open(struct pawl__server *server,
                                                    struct pawl_diag *diag);
void pawl__components_tick(struct pawl__server *server);
/* The server stops: end streams, answer fetches that wait. */
void pawl__components_drain(struct pawl__server *server);
/* SIGHUP: read certificate and key again. */
void pawl__components_reload(struct pawl__server *server);
/* Also after a failed open. */
void pawl__components_close(struct pawl__server *server);

/* What the transport and the events call: routes, metrics, log, and every component that wants to
 * know of moves and of work to do. */
extern const struct pawl__server_hooks pawl__server_hooks;

#endif
