/* Names that occur again and again (queues, types), each kept once and compared by address.
 * Counted; not for several threads. */
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

/* Zeroes are an empty set. */
struct pawl__names {
    struct pawl__name *buckets[PAWL__NAME_BUCKETS];
    size_t count;
};

/* Frees them all, also those that are still held. */
void pawl__names_release(struct pawl__names *names);
/* One more holder of the name; NULL: no memory. */
struct pawl__name *pawl__names_hold(struct pawl__names *names, const char *text);
/* One holder less; with the last one the name goes. NULL is fine. */
void pawl__names_drop(struct pawl__names *names, struct pawl__name *name);
/* NULL: it is not held. */
struct pawl__name *pawl__names_find(const struct pawl__names *names, const char *text);
uint32_t pawl__hash(const void *at, size_t len);

#endif
