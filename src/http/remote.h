/* What the files of the protocol between programs of pawl share (wire/wire.h). */
#ifndef PAWL_HTTP_REMOTE_H
#define PAWL_HTTP_REMOTE_H

#include "http/request.h"
#include "wire/wire.h"

/* What the library said, without what is only for the log. `field` and `text` live in the request's
 * arena, or are NULL for want of memory. Any thread. */
struct pawl__wire_refusal pawl__remote_refusal(struct pawl__request *request, enum pawl_err err,
                                               const struct pawl_diag *diag);
/* Answers with it. */
void pawl__remote_refuse(struct pawl__request *request, enum pawl_err err,
                         const struct pawl_diag *diag);
/* Tokens are kept among the settings, and are nobody's business here. */
bool pawl__remote_is_secret(const char *setting);

/* ---- remote_wait.c: programs that wait for more to do; on the loop ---- */

struct pawl__remote;

struct pawl__remote *pawl__remote_new(void); /* NULL: no memory */
void pawl__remote_free(struct pawl__remote *remote);
/* Answer those whose time is over. */
void pawl__remote_tick(struct pawl__server *server);
/* Answer all. */
void pawl__remote_drain(struct pawl__server *server);
void pawl__remote_moved(struct pawl__server *server, const struct pawl_moved *moved);
void pawl__remote_ready(struct pawl__server *server, bool foreign);

#endif
