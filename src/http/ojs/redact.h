/* Secrets that found their way into an error: taken out before it is stored. Pure.
 *
 * What is looked for: credentials in URLs (postgres://user:password@host), values behind names of
 * secrets (password=..., "api_key": "..."), and what follows "Bearer" or "Basic". It cannot know
 * every secret; it should leave the rest of the text as it is. */
#ifndef PAWL_HTTP_OJS_REDACT_H
#define PAWL_HTTP_OJS_REDACT_H

#include "base/buf.h"

#include <pawl/job.h>

/* Appends `text` with *** in place of secrets. JSON stays JSON. */
void pawl__redact(struct pawl__buf *out, struct pawl_span text);

#endif
