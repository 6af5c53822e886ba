/* Places in an array by the hash of what is there: open addressing. Several entries may have one
 * hash, so the caller compares. An index is emptied at once, however large it has become.
 *
 * Threads: that of the array. Zeroes are an empty index. */
#ifndef PAWL_STORE_CORE_INDEX_H
#define PAWL_STORE_CORE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pawl__index {
    struct pawl__slot {
        uint32_t turn; /* used, if it is that of the index */
        uint32_t hash, place;
    } * slots;
    size_t cap, count; /* at most half of the slots are used */
    uint32_t turn;     /* grows when the index is emptied */
};

/* The places of a hash, one by one: `at` begins with the hash. False: there is no other. */
static inline bool pawl__index_next(const struct pawl__index *index, uint32_t hash, size_t *at,
                                    size_t *place)
{
    if (!index->count) return false;
    for (size_t mask = index->cap - 1, i = *at & mask;; i = (i + 1) & mask) {
        const struct pawl__slot *slot = &index->slots[i];
        if (slot->turn != index->turn) return false;
        if (slot->hash != hash) continue;
        *place = slot->place;
        *at = i + 1;
        return true;
    }
}

/* False: no memory, and nothing was added. */
bool pawl__index_add(struct pawl__index *index, uint32_t hash, size_t place);
/* The memory is kept. */
void pawl__index_clear(struct pawl__index *index);
void pawl__index_release(struct pawl__index *index);

#endif
