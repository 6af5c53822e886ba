/* Interned names: names that occur often (queues, types) are stored once and compared by address.
 * Reference-counted; one thread. */
#ifndef PAWL_BASE_NAMES_H
#define PAWL_BASE_NAMES_H

#include <stddef.h>
#include <stdint.h>

enum { PAWL__NAME_BUCKETS = 4096 };

struct pawl__name {
    struct pawl__name *next;
    uint32_t hash;
    uint32_t refs;
    size_t len;
    char text[];
};

/* All zeros is an empty set. */
struct pawl__names {
    struct pawl__name *buckets[PAWL__NAME_BUCKETS];
    size_t count;
};

/* Frees all names, including those still referenced. */
void pawl__names_release(struct pawl__names *names);
/* Adds a reference to the name; NULL: out of memory. */
struct pawl__name *pawl__names_hold(struct pawl__names *names, const char *text);
/* Drops a reference; with the last one the name is freed. NULL is allowed. */
void pawl__names_drop(struct pawl__names *names, struct pawl__name *name);
/* NULL: not referenced. */
struct pawl__name *pawl__names_find(const struct pawl__names *names, const char *text);
uint32_t pawl__hash(const void *at, size_t len);

#endif
