/* Memory that is freed all at once: one arena per unit of work. Any thread, one at a time. Nothing
 * here aborts: NULL means out of memory. */
#ifndef PAWL_BASE_ARENA_H
#define PAWL_BASE_ARENA_H

#include <pawl/job.h>

#include <stddef.h>

struct pawl__arena_chunk;

struct pawl__arena {
    struct pawl__arena_chunk *chunks; /* newest first */
};

/* All zeros is an empty arena. */
void pawl__arena_init(struct pawl__arena *arena);
/* `bytes` of memory, aligned for any type, not cleared. */
void *pawl__arena_alloc(struct pawl__arena *arena, size_t bytes);
/* Cleared memory for `count` elements of `bytes` each; NULL on overflow too. */
void *pawl__arena_calloc(struct pawl__arena *arena, size_t count, size_t bytes);
/* A NUL-terminated copy. */
char *pawl__arena_dup(struct pawl__arena *arena, const void *at, size_t len);
/* Frees everything, but keeps the newest chunk (unless it is over 1 MiB) for reuse. */
void pawl__arena_reset(struct pawl__arena *arena);
/* May be called again. */
void pawl__arena_release(struct pawl__arena *arena);

#endif
