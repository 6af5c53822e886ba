/* URLs as they may be shown: what opens a door stays out of messages, tables and logs.
 *
 * Made for URLs that are wrong, too: those are the ones that messages quote. So where a password
 * ends is judged by the last @ that can end it, not by the first. Any thread. */
#ifndef PAWL_BASE_URL_H
#define PAWL_BASE_URL_H

#include "base/buf.h"

#include <stdbool.h>

/* Append `url` without its secrets: "***" stands for the password before the host and for the value
 * of a parameter "password" or "sslpassword"; what a server of ours ("http://TOKEN@HOST") has
 * before its host is a token and left out. A path ("sqlite:...") is copied as it is. */
void pawl__url_mask(struct pawl__buf *out, const char *url);

/* Does the password have an @ or a / in it? Written plainly and not as %40 or %2F, they end it too
 * early: what follows is taken for a host, a port or a database, and shown as such. */
bool pawl__url_has_torn_password(const char *url);

#endif
