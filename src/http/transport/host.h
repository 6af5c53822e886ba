/* Names of hosts, as Host and URLs have them: "name", "name:port", "[address]:port". Pure. */
#ifndef PAWL_HTTP_TRANSPORT_HOST_H
#define PAWL_HTTP_TRANSPORT_HOST_H

#include <stdbool.h>

/* Is it a name or an address, perhaps with a port? */
bool pawl__host_is_one(const char *text);
/* Does it name this machine whatever the DNS says: localhost, or an address of the loopback? `text`
 * is one. */
bool pawl__host_is_local(const char *text);
/* Is it `name`, on whatever port? Both are hosts; letters of both cases are the same. */
bool pawl__host_is(const char *text, const char *name);

#endif
