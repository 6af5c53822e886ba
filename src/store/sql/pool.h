/* Connections to read with: a few, made when first needed, each lent to one caller at a time. The
 * pool knows which are out; the connections themselves are the backend's, in an array.
 *
 * Threads: any. */
#ifndef PAWL_STORE_SQL_POOL_H
#define PAWL_STORE_SQL_POOL_H

#include "base/sync.h"

#include <stdbool.h>
#include <stddef.h>

enum { PAWL__READERS_MAX = 4 };

struct pawl__pool {
    size_t size;
    struct pawl__mutex mutex;
    struct pawl__cond freed;
    /* guarded by mutex: */
    bool out[PAWL__READERS_MAX];
    bool connected[PAWL__READERS_MAX];
};

void pawl__pool_init(struct pawl__pool *pool, size_t size);
void pawl__pool_release(struct pawl__pool *pool);
/* The index of a connection that nobody else touches until it is given back. Waits for one when all
 * are out. */
size_t pawl__pool_take(struct pawl__pool *pool);
/* `connected`: it is taken again before one that is not. */
void pawl__pool_give(struct pawl__pool *pool, size_t at, bool connected);
/* Close, with `close`, all that are not out. */
void pawl__pool_drop(struct pawl__pool *pool, void (*close)(void *ctx, size_t at), void *ctx);

#endif
