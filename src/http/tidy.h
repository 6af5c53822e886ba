/* Memory that large requests leave behind goes back to the system. On the loop. */
#ifndef PAWL_HTTP_TIDY_H
#define PAWL_HTTP_TIDY_H

#include "http/server.h"

/* A request of that many bytes, body and reply, has ended. */
void pawl__tidy_note(struct pawl__server *server, size_t bytes);
/* When large ones have ended and it is some time ago that it was done. */
void pawl__tidy_tick(struct pawl__server *server);

#endif
