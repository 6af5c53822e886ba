/* A session of the test's own on the store's server, beside the store's. */
#ifndef PAWL_TESTS_POSTGRES_SESSION_H
#define PAWL_TESTS_POSTGRES_SESSION_H

#include "support/rig.h"

#include <libpq-fe.h>

/* The kind of store to test; NULL: there is no server. */
const struct store_kind *session_kind(void);
/* The test fails unless the server does it. */
void session_say(PGconn *pg, const char *text);

#endif
