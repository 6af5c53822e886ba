/* An intrusive hash table: chains; the table doubles when they grow long. */
#include "base/hashtable.h"

#include <assert.h>
#include <stdlib.h>

enum { SLOTS_MIN = 64 };

static struct pawl__hash_link **slot_of(const struct pawl__hashtable *table, uint64_t hash)
{
    return &table->slots[hash & (table->cap - 1)];
}

static bool grow(struct pawl__hashtable *table)
{
    struct pawl__hashtable more = { .cap = table->cap ? 2 * table->cap : SLOTS_MIN };
    more.slots = calloc(more.cap, sizeof *more.slots);
    if (!more.slots) return false;
    for (size_t i = 0; i < table->cap; i++) {
        struct pawl__hash_link *next;
        for (struct pawl__hash_link *link = table->slots[i]; link; link = next) {
            next = link->next;
            struct pawl__hash_link **slot = slot_of(&more, link->hash);
            link->next = *slot;
            *slot = link;
        }
    }
    more.count = table->count;
    free(table->slots);
    *table = more;
    return true;
}

bool pawl__hashtable_add(struct pawl__hashtable *table, struct pawl__hash_link *link, uint64_t hash)
{
    // if growing fails, long chains are only slow
    if (table->count == table->cap && !grow(table) && !table->cap) return false;
    struct pawl__hash_link **slot = slot_of(table, hash);
    link->hash = hash;
    link->next = *slot;
    *slot = link;
    table->count++;
    return true;
}

void pawl__hashtable_remove(struct pawl__hashtable *table, struct pawl__hash_link *link)
{
    assert(table->count);
    struct pawl__hash_link **at = slot_of(table, link->hash);
    while (*at != link) {
        assert(*at);
        at = &(*at)->next;
    }
    *at = link->next;
    link->next = NULL;
    table->count--;
}

static struct pawl__hash_link *seek(struct pawl__hash_link *link, uint64_t hash)
{
    while (link && link->hash != hash) {
        link = link->next;
    }
    return link;
}

struct pawl__hash_link *pawl__hashtable_first(const struct pawl__hashtable *table, uint64_t hash)
{
    return table->cap ? seek(*slot_of(table, hash), hash) : NULL;
}

struct pawl__hash_link *pawl__hashtable_next(const struct pawl__hash_link *link)
{
    return seek(link->next, link->hash);
}

void pawl__hashtable_release(struct pawl__hashtable *table)
{
    free(table->slots);
    *table = (struct pawl__hashtable){ 0 };
}

/* FNV-1a with extra mixing, since the low bits choose the slot. */
uint64_t pawl__hash_text(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++) {
        hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    }
    return hash ^ hash >> 29;
}
