/* A hash table of things that carry their own link. It owns nothing and compares nothing: whoever
 * looks something up walks the links of one hash. One thread. */
#ifndef PAWL_BASE_HASHTABLE_H
#define PAWL_BASE_HASHTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pawl__link {
    struct pawl__link *next; /* of the same slot */
    uint64_t hash;
};

struct pawl__table { /* zeroes: empty */
    struct pawl__link **slots;
    size_t cap, count;
};

/* False: no memory, and nothing was added. */
bool pawl__table_add(struct pawl__table *table, struct pawl__link *link, uint64_t hash);
void pawl__table_remove(struct pawl__table *table, struct pawl__link *link); /* it must be in it */
/* The first link with this hash, and the next one; NULL: no more. */
struct pawl__link *pawl__table_first(const struct pawl__table *table, uint64_t hash);
struct pawl__link *pawl__table_next(const struct pawl__link *link);
/* Forgets the links, not what they are part of. */
void pawl__table_release(struct pawl__table *table);

uint64_t pawl__hash_text(const char *text);

#endif
