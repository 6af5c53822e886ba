/* What the files of the printer share; others include envelope.h. */
#ifndef PAWL_HTTP_OJS_ENVELOPE_OUT_H
#define PAWL_HTTP_OJS_ENVELOPE_OUT_H

#include "http/ojs/envelope.h"

/* A text that is known when we compile. */
#define pawl__out(buf, literal) pawl__buf_add(buf, literal, sizeof literal - 1)

/* Parse an object that the store keeps. False: it is none, and nothing of it can be shown; for want
 * of memory, out->failed too. */
bool pawl__out_object(struct pawl__buf *out, struct pawl_span text, struct pawl__arena *arena,
                      struct pawl__json *json);
/* A string of it, in the arena; NULL: out->failed. */
const char *pawl__out_string(struct pawl__buf *out, const struct pawl__json *json, uint32_t token,
                             struct pawl__arena *arena);
/* "2026-03-31T10:00:05.123Z", in quotes. */
void pawl__out_instant(struct pawl__buf *out, int64_t at_ms);
/* "PT1.5S", in quotes. */
void pawl__out_duration(struct pawl__buf *out, int64_t ms);

/* A policy as the library keeps it, in OJS spelling: an object. */
void pawl__out_retry(struct pawl__buf *out, struct pawl_span retry);
void pawl__out_unique(struct pawl__buf *out, struct pawl_span unique);

#endif
