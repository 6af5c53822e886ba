/* Allocations that fail on demand: ours (malloc and similar, by the linker's --wrap) and SQLite's.
 *
 * Allocations are counted from the moment a fault is armed; the n-th fails, and as many after it as
 * wanted. Any thread. */
#ifndef PAWL_TESTS_ALLOC_H
#define PAWL_TESTS_ALLOC_H

#include <stdbool.h>
#include <stdint.h>

/* NAME, text */
#define SCARCITIES(X)                                                                              \
    X(NONE, "nothing")                                                                             \
    X(OURS, "our memory")                                                                          \
    X(SQLITE, "SQLite's memory")                                                                   \
    X(THREADS, "threads")

#define X(name, text) SCARCE_##name,
enum scarcity { SCARCITIES(X) SCARCITY_END };
#undef X

struct alloc_plan {
    enum scarcity scarce;
    int64_t nth;   /* 1 is the next; 0: none fails, they are counted */
    int64_t count; /* so many fail from there on; 0: all of them */
};

const char *scarcity_name(enum scarcity scarce);

/* Once, before SQLite is used. */
void alloc_install(void);
void alloc_arm(struct alloc_plan plan);
/* How many there were since it was armed. */
int64_t alloc_seen(void);
/* How many failed. */
int64_t alloc_failed(void);
/* Blocks of ours that were not freed, ever. */
int64_t alloc_live(void);

#endif
