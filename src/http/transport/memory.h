/* Memory that large requests leave behind goes back to the system. On the loop. */
#ifndef PAWL_HTTP_TRANSPORT_MEMORY_H
#define PAWL_HTTP_TRANSPORT_MEMORY_H

#include "http/transport/transport.h"

/* A request of that many bytes, body and reply, has ended. */
void pawl__memory_note(struct pawl__server *server, size_t bytes);

#endif
