/* Masks secrets in URLs, so that they appear in no message, table or log. It also handles malformed
 * URLs, which are the ones that messages quote: therefore a password is assumed to end at the last
 * @ that can end it, not the first. Any thread. */
#ifndef PAWL_BASE_URL_H
#define PAWL_BASE_URL_H

#include "base/buf.h"

#include <stdbool.h>

/* Appends `url` without its secrets: "***" replaces the password before the host and the value of a
 * parameter "password" or "sslpassword". In the URL of a pawl server ("http://TOKEN@HOST") the part
 * before the host is a token and is left out. A path ("sqlite:...") is copied unchanged. */
void pawl__url_mask(struct pawl__buf *out, const char *url);

/* True if the password contains an unescaped @ or /. Unless written as %40 or %2F, they end the
 * password too early: the rest is read as a host, port or database, and shown. */
bool pawl__url_has_torn_password(const char *url);

#endif
