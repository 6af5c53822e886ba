/* Which readers' connections are out. */
#include "store/sql/pool.h"

#include <assert.h>

void pawl__pool_init(struct pawl__pool *pool, size_t size)
{
    assert(size >= 1 && size <= PAWL__READERS_MAX);
    *pool = (struct pawl__pool){ .size = size };
    pawl__mutex_init(&pool->mutex);
    pawl__cond_init(&pool->freed);
}

void pawl__pool_release(struct pawl__pool *pool)
{
    pawl__cond_release(&pool->freed);
    pawl__mutex_release(&pool->mutex);
}

/* `size`: none is free. */
static size_t find_free(const struct pawl__pool *pool)
{
    size_t found = pool->size;
    for (size_t i = 0; i < pool->size; i++) {
        if (pool->out[i]) continue;
        if (pool->connected[i]) return i;
        if (found == pool->size) found = i;
    }
    return found;
}

size_t pawl__pool_take(struct pawl__pool *pool)
{
    size_t at;
    pawl__lock(&pool->mutex);
    while ((at = find_free(pool)) == pool->size) {
        pawl__cond_wait(&pool->freed, &pool->mutex);
    }
    pool->out[at] = true;
    pawl__unlock(&pool->mutex);
    return at;
}

void pawl__pool_give(struct pawl__pool *pool, size_t at, bool connected)
{
    pawl__lock(&pool->mutex);
    assert(at < pool->size && pool->out[at]);
    pool->out[at] = false;
    pool->connected[at] = connected;
    pawl__cond_signal(&pool->freed);
    pawl__unlock(&pool->mutex);
}

void pawl__pool_drop(struct pawl__pool *pool, void (*close)(void *ctx, size_t at), void *ctx)
{
    pawl__lock(&pool->mutex);
    for (size_t i = 0; i < pool->size; i++) {
        if (pool->out[i]) continue;
        close(ctx, i);
        pool->connected[i] = false;
    }
    pawl__unlock(&pool->mutex);
}
