/* Policies as the store has them. */
#ifndef PAWL_HTTP_OJS_POLICIES_H
#define PAWL_HTTP_OJS_POLICIES_H

#include "base/shape.h"

/* Of struct pawl_retry and struct pawl_unique, as OJS spells them. */
extern const struct pawl__shape pawl__ojs_retry_shape, pawl__ojs_unique_shape;

/* Parse what the store has; what is not a policy is an empty one. False: no memory. */
bool pawl__stored_retry(struct pawl_span text, struct pawl__arena *arena, struct pawl_retry *out);
bool pawl__stored_unique(struct pawl_span text, struct pawl__arena *arena, struct pawl_unique *out);

#endif
