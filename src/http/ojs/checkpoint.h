/* Checkpoints as the store has them. A state alone is stored as it is, so that programs in C find
 * what they expect. With metadata or a step it is stored in a wrapper. Pure. */
#ifndef PAWL_HTTP_OJS_CHECKPOINT_H
#define PAWL_HTTP_OJS_CHECKPOINT_H

#include "base/arena.h"
#include "base/buf.h"

#include <pawl/pawl.h>

/* JSON each; empty: not given. */
struct pawl__saved {
    struct pawl_span state, metadata, step_index;
};

/* Points into `stored` or `arena`. */
struct pawl__saved pawl__checkpoint_unwrap(struct pawl_span stored, struct pawl__arena *arena);
/* Appends what to store. */
void pawl__checkpoint_wrap(struct pawl__buf *out, const struct pawl__saved *saved);

#endif
