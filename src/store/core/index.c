/* See index.h. */
#include "store/core/index.h"

#include <stdlib.h>
#include <string.h>

enum { CAP_MIN = 256 };

/* There is a free slot. */
static void put(struct pawl__index *index, uint32_t hash, uint32_t place)
{
    size_t mask = index->cap - 1, i = hash & mask;
    while (index->slots[i].turn == index->turn) {
        i = (i + 1) & mask;
    }
    index->slots[i] = (struct pawl__slot){ index->turn, hash, place };
}

static bool grow(struct pawl__index *index)
{
    struct pawl__index grown = { .cap = index->cap ? index->cap * 2 : CAP_MIN,
                                 .count = index->count,
                                 .turn = 1 }; // all slots are free
    grown.slots = calloc(grown.cap, sizeof *grown.slots);
    if (!grown.slots) return false;
    for (size_t i = 0; i < index->cap; i++) {
        const struct pawl__slot *slot = &index->slots[i];
        if (slot->turn == index->turn) put(&grown, slot->hash, slot->place);
    }
    free(index->slots);
    *index = grown;
    return true;
}

bool pawl__index_add(struct pawl__index *index, uint32_t hash, size_t place)
{
    if ((index->count + 1) * 2 > index->cap && !grow(index)) return false;
    put(index, hash, (uint32_t)place);
    index->count++;
    return true;
}

void pawl__index_clear(struct pawl__index *index)
{
    if (!index->count) return;
    index->count = 0;
    if (++index->turn) return;
    memset(index->slots, 0, index->cap * sizeof *index->slots);
    index->turn = 1;
}

void pawl__index_release(struct pawl__index *index)
{
    free(index->slots);
    *index = (struct pawl__index){ .slots = NULL };
}
