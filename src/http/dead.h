/* Dead letters, for the data plane and the administration. On the pool. */
#ifndef PAWL_HTTP_DEAD_H
#define PAWL_HTTP_DEAD_H

#include "http/rooms.h"

/* The path's dead letter is gone. False: answered. */
bool pawl__dead_letter_delete(struct pawl__request *request);

#endif
