/* Dead letters, for the data plane and the administration. On the pool. */
#ifndef PAWL_HTTP_OJS_DEAD_LETTERS_H
#define PAWL_HTTP_OJS_DEAD_LETTERS_H

#include "http/transport/transport.h"

/* The path's dead letter is gone. False: answered. */
bool pawl__dead_letter_delete(struct pawl__request *request);

#endif
