/* An intrusive hash table: elements contain their own link. It owns nothing and compares nothing: a
 * lookup walks the links with one hash. One thread. */
#ifndef PAWL_BASE_HASHTABLE_H
#define PAWL_BASE_HASHTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pawl__hash_link {
    struct pawl__hash_link *next; /* next in the same slot */
    uint64_t hash;
};

struct pawl__hashtable { /* zeroes: empty */
    struct pawl__hash_link **slots;
    size_t cap, count;
};

/* False: out of memory, and nothing was added. */
bool pawl__hashtable_add(struct pawl__hashtable *table, struct pawl__hash_link *link,
                         uint64_t hash);
void pawl__hashtable_remove(struct pawl__hashtable *table,
                            struct pawl__hash_link *link); /* must be in the table */
/* The first link with this hash, and the next one; NULL: no more. */
struct pawl__hash_link *pawl__hashtable_first(const struct pawl__hashtable *table, uint64_t hash);
struct pawl__hash_link *pawl__hashtable_next(const struct pawl__hash_link *link);
/* Frees the table, not its elements. */
void pawl__hashtable_release(struct pawl__hashtable *table);

uint64_t pawl__hash_text(const char *text);

#endif
