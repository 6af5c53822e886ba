/* See named.h. */
#include "store/core/set.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NONE PAWL__TABLES

/* Where the rows of a kind are written: new ones, changed ones, deleted ones. */
static const struct {
    enum pawl__table added, put, dropped;
} tables[PAWL__NAMED_KINDS] = {
    [PAWL__NAMED_NODE] = { PAWL__TABLE_NODE_NEW, PAWL__TABLE_NODE_PUT, PAWL__TABLE_NODE_DROP },
    [PAWL__NAMED_LOCK] = { PAWL__TABLE_LOCK_NEW, PAWL__TABLE_LOCK_PUT, NONE },
    [PAWL__NAMED_SETTING] = { PAWL__TABLE_SETTING_PUT, PAWL__TABLE_SETTING_PUT,
                              PAWL__TABLE_SETTING_DROP },
    [PAWL__NAMED_TOKEN] = { PAWL__TABLE_TOKEN_NEW, PAWL__TABLE_TOKEN_PUT, NONE },
};

const struct pawl__set_table *pawl__named_table(enum pawl__named_kind kind)
{
    return &pawl__set_tables[tables[kind].put];
}

/* ---- rows by name ---- */

/* FNV-1a. */
static uint32_t hash_name(enum pawl__named_kind kind, const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ (uint64_t)kind;
    for (; *name; name++) {
        hash = (hash ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
    }
    return (uint32_t)(hash ^ (hash >> 32));
}

static struct pawl__named *find(const struct pawl__named_rows *names, enum pawl__named_kind kind,
                                const char *name)
{
    uint32_t hash = hash_name(kind, name);
    size_t place;
    for (size_t at = hash; pawl__index_next(&names->by_name, hash, &at, &place);) {
        struct pawl__named *named = names->at[place];
        if (named->kind == kind && strcmp(named->row.name, name) == 0) return named;
    }
    return NULL;
}

static struct pawl__named *add(struct pawl__set *set, enum pawl__named_kind kind, const char *name)
{
    struct pawl__named_rows *names = &set->names;
    struct pawl__named **at = PAWL__SET_GROW(set, names->at, names->cap, names->count);
    if (at) names->at = at;
    struct pawl__named *named = pawl__arena_calloc(&set->arena, 1, sizeof *named);
    if (!at || !named || !pawl__index_add(&names->by_name, hash_name(kind, name), names->count)) {
        set->failed = true;
        return NULL;
    }
    *named = (struct pawl__named){ .kind = kind, .row = { .name = name } };
    at[names->count++] = named;
    return named;
}

struct pawl__named *pawl__set_want_named(struct pawl__set *set, enum pawl__named_kind kind,
                                         const char *name)
{
    struct pawl__named *named = find(&set->names, kind, name);
    if (named) return named;
    named = add(set, kind, name);
    if (named) set->names.unread++;
    return named;
}

struct pawl__named *pawl__set_want_turn(struct pawl__set *set, const char *name)
{
    struct pawl__named *named = pawl__set_want_named(set, PAWL__NAMED_LOCK, name);
    if (named) named->turn = true;
    return named;
}

struct pawl__named *pawl__set_name(struct pawl__set *set, enum pawl__named_kind kind,
                                   const char *name)
{
    struct pawl__named *named = find(&set->names, kind, name);
    if (named) return named;
    named = add(set, kind, name);
    if (named) named->read = true;
    return named;
}

struct pawl__named *pawl__set_named_loaded(struct pawl__set *set, enum pawl__named_kind kind,
                                           const union pawl__named_row *row)
{
    struct pawl__named *named = find(&set->names, kind, row->name);
    if (!named) named = add(set, kind, row->name);
    if (!named) return NULL;
    assert(!named->read);
    named->row = *row;
    named->read = named->stored = named->there = true;
    return named;
}

void pawl__set_named_held(struct pawl__set *set, const char *name)
{
    struct pawl__named *named = find(&set->names, PAWL__NAMED_LOCK, name);
    assert(named && named->turn && !named->read);
    named->held = true;
}

void pawl__named_were_read(struct pawl__set *set)
{
    for (size_t i = 0; i < set->names.count; i++) {
        set->names.at[i]->read = true;
    }
    set->names.unread = 0;
}

/* ---- the end ---- */

void pawl__named_list(struct pawl__set *set)
{
    for (size_t i = 0; i < set->names.count; i++) {
        const struct pawl__named *named = set->names.at[i];
        if (!named->changed) continue;
        assert(!named->held);
        enum pawl__table table = !named->there   ? tables[named->kind].dropped
                                 : named->stored ? tables[named->kind].put
                                                 : tables[named->kind].added;
        assert(table != NONE);
        pawl__set_put(set, table, &named->row);
    }
}

void pawl__named_clear(struct pawl__named_rows *names)
{
    pawl__index_clear(&names->by_name);
    names->count = names->unread = 0;
}

void pawl__named_release(struct pawl__named_rows *names)
{
    free(names->at);
    pawl__index_release(&names->by_name);
    *names = (struct pawl__named_rows){ .at = NULL };
}
