/* "did you mean": the known word that is nearest to an unknown one. */
#ifndef PAWL_BASE_NEAREST_H
#define PAWL_BASE_NEAREST_H

#include <stddef.h>

/* Set `word`, offer every known word, then read `best`. */
struct pawl__nearest {
    const char *word;
    const char *best; /* NULL: none is near */
    size_t distance;
};

/* Borrows `candidate` until `best` has been read. */
void pawl__nearest_offer(struct pawl__nearest *nearest, const char *candidate);

#endif
