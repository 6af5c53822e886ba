/* Interned names: a fixed table of chains, since there are few names. */
#include "base/names.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

uint32_t pawl__hash(const void *at, size_t len)
{
    const unsigned char *byte = at;
    uint32_t hash = 2166136261u; // FNV-1a
    for (size_t i = 0; i < len; i++) {
        hash = (hash ^ byte[i]) * 16777619u;
    }
    return hash ^ hash >> 15;
}

static struct pawl__name *find(const struct pawl__names *names, const char *text, size_t len,
                               uint32_t hash)
{
    struct pawl__name *name = names->buckets[hash % PAWL__NAME_BUCKETS];
    while (name && (name->hash != hash || name->len != len || memcmp(name->text, text, len) != 0)) {
        name = name->next;
    }
    return name;
}

struct pawl__name *pawl__names_find(const struct pawl__names *names, const char *text)
{
    size_t len = strlen(text);
    return find(names, text, len, pawl__hash(text, len));
}

struct pawl__name *pawl__names_hold(struct pawl__names *names, const char *text)
{
    size_t len = strlen(text);
    uint32_t hash = pawl__hash(text, len);
    struct pawl__name *name = find(names, text, len, hash);
    if (!name) {
        name = malloc(sizeof *name + len + 1);
        if (!name) return NULL;
        struct pawl__name **bucket = &names->buckets[hash % PAWL__NAME_BUCKETS];
        *name = (struct pawl__name){ .next = *bucket, .hash = hash, .len = len };
        memcpy(name->text, text, len + 1);
        *bucket = name;
        names->count++;
    }
    name->refs++;
    return name;
}

void pawl__names_drop(struct pawl__names *names, struct pawl__name *name)
{
    if (!name) return;
    assert(name->refs);
    if (--name->refs) return;
    struct pawl__name **at = &names->buckets[name->hash % PAWL__NAME_BUCKETS];
    while (*at != name) {
        at = &(*at)->next;
    }
    *at = name->next;
    names->count--;
    free(name);
}

void pawl__names_release(struct pawl__names *names)
{
    for (size_t i = 0; i < PAWL__NAME_BUCKETS; i++) {
        while (names->buckets[i]) {
            struct pawl__name *name = names->buckets[i];
            names->buckets[i] = name->next;
            free(name);
        }
    }
    names->count = 0;
}
