/* Wake-ups through Redis: what the module's files share. Only line.c includes hiredis' header. */
#ifndef PAWL_STORE_REDIS_H
#define PAWL_STORE_REDIS_H

#include <pawl/error.h>

#include <stddef.h>

enum { PAWL__REDIS_PORT = 6379 };

/* Where a Redis is, how to log in, and on which channel those who share a store talk. */
struct pawl__redis_place {
    char *host; /* NULL: `socket` */
    int port;
    char *socket;          /* path of a Unix socket; NULL: `host` */
    char *user, *password; /* NULL: none */
    char *channel;
    char *shown; /* where it is, for people; without the password */
};

/* redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE][?channel=NAME], or
 * redis+unix://[[USER]:PASSWORD@]/PATH[?channel=NAME]. What stands for itself nowhere else is
 * written as %XX. `store` names the channel where the URL does not; notices belong to no database,
 * so its number is part of that name. Release `out` in any case.
 * ARG: not such a URL. UNSUPPORTED: rediss://, which needs a hiredis that has TLS. */
PAWL_MUST_CHECK enum pawl_err pawl__redis_place_read(const char *url, const char *store,
                                                     struct pawl__redis_place *out,
                                                     struct pawl_diag *diag);
void pawl__redis_place_release(struct pawl__redis_place *place);

#endif
