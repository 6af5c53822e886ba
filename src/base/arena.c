/* A list of chunks, newest first; allocations come from the newest. Chunks double in size, so that
 * a large unit of work needs few of them. Under AddressSanitizer memory that has not been allocated
 * is poisoned, so that an access past the end of an allocation is reported. */
#include "base/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASAN 1
#endif
#endif
#if defined(ASAN)
#include <sanitizer/asan_interface.h>
#define poison(at, len) ASAN_POISON_MEMORY_REGION(at, len)
#define unpoison(at, len) ASAN_UNPOISON_MEMORY_REGION(at, len)
#else
#define poison(at, len) ((void)(at), (void)(len))
#define unpoison(at, len) ((void)(at), (void)(len))
#endif

enum {
    ALIGN = alignof(max_align_t),
    CHUNK_MIN = 4096,       /* including the header */
    CHUNK_MAX = 256 * 1024, /* doubling ends here; a larger request gets a chunk of its own */
    KEPT_MAX = 1024 * 1024  /* a reset keeps at most this */
};

struct pawl__arena_chunk {
    struct pawl__arena_chunk *older;
    size_t cap;
    size_t used;
    alignas(max_align_t) char bytes[];
};

void pawl__arena_init(struct pawl__arena *arena)
{
    *arena = (struct pawl__arena){ 0 };
}

static struct pawl__arena_chunk *chunk_new(size_t cap)
{
    struct pawl__arena_chunk *chunk = malloc(sizeof *chunk + cap);
    if (!chunk) return NULL;
    chunk->older = NULL;
    chunk->cap = cap;
    chunk->used = 0;
    poison(chunk->bytes, cap);
    return chunk;
}

static void *carve(struct pawl__arena_chunk *chunk, size_t rounded, size_t bytes)
{
    void *at = chunk->bytes + chunk->used;
    chunk->used += rounded;
    unpoison(at, bytes);
    return at;
}

/* The newest chunk has no room for `rounded` bytes: allocates one that has. */
static void *alloc_slow(struct pawl__arena *arena, size_t rounded, size_t bytes)
{
    struct pawl__arena_chunk *newest = arena->chunks;
    size_t cap = newest ? newest->cap * 2 : CHUNK_MIN - sizeof *newest;
    if (cap > CHUNK_MAX) cap = CHUNK_MAX;
    bool alone = rounded > cap / 2;
    struct pawl__arena_chunk *chunk = chunk_new(alone ? rounded : cap);
    if (!chunk) return NULL;
    if (alone && newest) { // inserted after the newest, whose free space stays in use
        chunk->older = newest->older;
        newest->older = chunk;
    } else {
        chunk->older = newest;
        arena->chunks = chunk;
    }
    return carve(chunk, rounded, bytes);
}

void *pawl__arena_alloc(struct pawl__arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        return NULL; // cannot be satisfied; also keeps the sums below from
                     // wrapping
    size_t rounded = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    struct pawl__arena_chunk *newest = arena->chunks;
    if (!newest || newest->cap - newest->used < rounded) return alloc_slow(arena, rounded, bytes);
    return carve(newest, rounded, bytes);
}

void *pawl__arena_calloc(struct pawl__arena *arena, size_t count, size_t bytes)
{
    size_t all;
    if (__builtin_mul_overflow(count, bytes, &all)) return NULL;
    void *at = pawl__arena_alloc(arena, all);
    if (at) memset(at, 0, all);
    return at;
}

char *pawl__arena_dup(struct pawl__arena *arena, const void *at, size_t len)
{
    assert(at || len == 0);
    if (len == SIZE_MAX) return NULL;
    char *copy = pawl__arena_alloc(arena, len + 1);
    if (!copy) return NULL;
    if (len > 0) memcpy(copy, at, len);
    copy[len] = '\0';
    return copy;
}

static void chunks_free(struct pawl__arena_chunk *chunk)
{
    while (chunk) {
        struct pawl__arena_chunk *older = chunk->older;
        free(chunk);
        chunk = older;
    }
}

void pawl__arena_reset(struct pawl__arena *arena)
{
    struct pawl__arena_chunk *newest = arena->chunks;
    if (!newest) return;
    if (newest->cap > KEPT_MAX) {
        pawl__arena_release(arena);
        return;
    }
    chunks_free(newest->older);
    newest->older = NULL;
    newest->used = 0;
    poison(newest->bytes, newest->cap);
}

void pawl__arena_release(struct pawl__arena *arena)
{
    chunks_free(arena->chunks);
    arena->chunks = NULL;
}
