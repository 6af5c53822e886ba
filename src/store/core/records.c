/* See records.h. */
#include "store/core/set.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define X(name, member, type, its_keys, its_ids, its_added, its_changed, its_dropped)              \
    [PAWL__RECORD_##name] = { .keys = (its_keys),                                                  \
                              .ids = (its_ids),                                                    \
                              .added = PAWL__##its_added,                                          \
                              .changed = PAWL__##its_changed,                                      \
                              .dropped = PAWL__##its_dropped,                                      \
                              .of = &pawl__set_tables[PAWL__##its_changed] },
const struct pawl__record_shape pawl__record_shapes[PAWL__RECORD_KINDS] = { PAWL__RECORDS(X) };
#undef X

const struct pawl__record_shape *pawl__record_shape_of(enum pawl__table list)
{
    for (int kind = 0; kind < PAWL__RECORD_KINDS; kind++) {
        const struct pawl__record_shape *shape = &pawl__record_shapes[kind];
        if (list == shape->added || list == shape->changed || list == shape->dropped) return shape;
    }
    return NULL;
}

static bool is_single(enum pawl__record_kind kind)
{
    return pawl__record_shapes[kind].keys == pawl__record_shapes[kind].ids;
}

/* ---- records by key ---- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

/* Eight bytes at a time: settling looks records up many times for each job. */
static uint32_t hash_key(enum pawl__record_kind kind, const void *key)
{
    const struct pawl__record_shape *shape = &pawl__record_shapes[kind];
    uint64_t hash = mix(0, (uint64_t)kind + 1);
    for (size_t i = 0; i < shape->keys; i++) {
        struct pawl_span bytes = pawl__field_bytes(&shape->of->fields[i], key);
        for (size_t at = 0; at < bytes.len; at += sizeof(uint64_t)) {
            uint64_t word = 0;
            size_t left = bytes.len - at;
            memcpy(&word, bytes.at + at, left < sizeof word ? left : sizeof word);
            hash = mix(hash, word);
        }
    }
    return (uint32_t)(hash ^ (hash >> 32));
}

static struct pawl__records *find(const struct pawl__record_set *records,
                                  enum pawl__record_kind kind, const void *key)
{
    const struct pawl__record_shape *shape = &pawl__record_shapes[kind];
    uint32_t hash = hash_key(kind, key);
    size_t place;
    for (size_t at = hash; pawl__index_next(&records->by_key, hash, &at, &place);) {
        struct pawl__records *found = records->at[place];
        if (found->kind != kind) continue;
        if (!pawl__fields_compare(shape->of->fields, shape->keys, &found->key, key)) return found;
    }
    return NULL;
}

static struct pawl__record *append(struct pawl__set *set, struct pawl__records *records,
                                   const void *row)
{
    struct pawl__record *record = pawl__arena_calloc(&set->arena, 1, sizeof *record);
    if (!record) set->failed = true;
    if (!record) return NULL;
    record->of = records;
    memcpy(&record->row, row, pawl__record_shapes[records->kind].of->bytes);
    if (records->last) records->last->next = record;
    if (!records->first) records->first = record;
    records->last = record;
    return record;
}

static struct pawl__records *add(struct pawl__set *set, enum pawl__record_kind kind,
                                 const void *key)
{
    struct pawl__record_set *all = &set->records;
    struct pawl__records *records = pawl__arena_calloc(&set->arena, 1, sizeof *records);
    if (!records) set->failed = true;
    if (!records) return NULL;
    records->kind = kind;
    memcpy(&records->key, key, pawl__record_shapes[kind].of->bytes);
    if (is_single(kind) && !append(set, records, key)) return NULL;
    struct pawl__records **at = PAWL__SET_GROW(set, all->at, all->cap, all->count);
    if (at) all->at = at;
    if (!at || !pawl__index_add(&all->by_key, hash_key(kind, key), all->count)) {
        set->failed = true;
        return NULL;
    }
    at[all->count++] = records;
    return records;
}

struct pawl__records *pawl__set_want_records(struct pawl__set *set, enum pawl__record_kind kind,
                                             const void *key)
{
    struct pawl__records *records = find(&set->records, kind, key);
    if (records) return records;
    records = add(set, kind, key);
    if (!records) return NULL;
    pawl__list_add(set, &set->records.wanted[kind], pawl__record_shapes[kind].of->bytes, key);
    set->records.unread++;
    return records;
}

struct pawl__record *pawl__set_want_record(struct pawl__set *set, enum pawl__record_kind kind,
                                           const void *key)
{
    assert(is_single(kind));
    struct pawl__records *records = pawl__set_want_records(set, kind, key);
    return records ? records->first : NULL;
}

struct pawl__record *pawl__records_add(struct pawl__set *set, struct pawl__records *records,
                                       const void *row)
{
    assert(!is_single(records->kind) && records->read && !records->held);
    struct pawl__record *record = append(set, records, row);
    if (record) record->there = record->changed = true;
    return record;
}

struct pawl__record *pawl__set_record_loaded(struct pawl__set *set, enum pawl__record_kind kind,
                                             const void *row)
{
    struct pawl__records *records = find(&set->records, kind, row);
    assert(records || is_single(kind)); // a scan would not bring all of a key
    if (!records) records = add(set, kind, row);
    if (!records) return NULL;
    assert(!records->read);
    records->read = is_single(kind);
    struct pawl__record *record = is_single(kind) ? records->first : append(set, records, row);
    if (!record) return NULL;
    memcpy(&record->row, row, pawl__record_shapes[kind].of->bytes);
    record->stored = record->there = true;
    return record;
}

struct pawl__record *pawl__set_record_new(struct pawl__set *set, enum pawl__record_kind kind,
                                          const void *row)
{
    struct pawl__records *records = find(&set->records, kind, row);
    if (!records) {
        records = add(set, kind, row);
        if (!records) return NULL;
        records->read = true;
    }
    assert(records->read && !records->held);
    struct pawl__record *record = is_single(kind) ? records->first : append(set, records, row);
    if (!record) return NULL;
    assert(!record->there);
    memcpy(&record->row, row, pawl__record_shapes[kind].of->bytes);
    record->there = record->changed = true;
    set->changes++;
    return record;
}

void pawl__set_record_held(struct pawl__set *set, enum pawl__record_kind kind, const void *key)
{
    struct pawl__records *records = find(&set->records, kind, key);
    assert(records && !records->read);
    records->held = true;
}

void pawl__records_were_read(struct pawl__set *set)
{
    for (size_t i = 0; i < set->records.count; i++) {
        set->records.at[i]->read = true;
    }
    for (size_t i = 0; i < PAWL__RECORD_KINDS; i++) {
        set->records.wanted[i].count = 0;
    }
    set->records.unread = 0;
}

/* ---- the end ---- */

static void list_record(struct pawl__set *set, const struct pawl__record *record)
{
    const struct pawl__record_shape *shape = &pawl__record_shapes[record->of->kind];
    assert(!record->of->held);
    if (!record->there && !record->stored) return; // it came and went in this batch
    enum pawl__table table = !record->there   ? shape->dropped
                             : record->stored ? shape->changed
                                              : shape->added;
    assert(table != PAWL__TABLES);
    pawl__set_put(set, table, &record->row);
}

static int compare_keys(const void *a, const void *b)
{
    const struct pawl__records *const *left = a, *const *right = b;
    const struct pawl__record_shape *shape = &pawl__record_shapes[(*left)->kind];
    return pawl__fields_compare(shape->of->fields, shape->keys, &(*left)->key, &(*right)->key);
}

/* Most come in order. */
static void sort(const struct pawl__records **at, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (compare_keys(&at[i - 1], &at[i]) <= 0) continue;
        qsort(at, count, sizeof(const struct pawl__records *), compare_keys);
        return;
    }
}

static bool has_changed(const struct pawl__records *records)
{
    const struct pawl__record *record = records->first;
    while (record && !record->changed) {
        record = record->next;
    }
    return record;
}

/* Those of a kind that have changed, into `out`. How many. */
static size_t pick(const struct pawl__record_set *all, int kind, const struct pawl__records **out)
{
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct pawl__records *records = all->at[i];
        if ((int)records->kind == kind && has_changed(records)) out[count++] = records;
    }
    return count;
}

/* By kind, in order of key, as all transactions write them. */
void pawl__records_list(struct pawl__set *set)
{
    const struct pawl__record_set *all = &set->records;
    bool some[PAWL__RECORD_KINDS] = { false };
    for (size_t i = 0; i < all->count; i++) {
        some[all->at[i]->kind] = true;
    }
    const struct pawl__records **sorted =
        all->count ? pawl__arena_alloc(&set->arena, all->count * sizeof *sorted) : NULL;
    set->failed |= all->count && !sorted;
    for (int kind = 0; sorted && kind < PAWL__RECORD_KINDS; kind++) {
        size_t count = some[kind] ? pick(all, kind, sorted) : 0;
        sort(sorted, count);
        for (size_t i = 0; i < count; i++) {
            const struct pawl__record *record = sorted[i]->first;
            for (; record; record = record->next) {
                if (record->changed) list_record(set, record);
            }
        }
    }
}

void pawl__records_clear(struct pawl__record_set *records)
{
    pawl__index_clear(&records->by_key);
    for (size_t i = 0; i < PAWL__RECORD_KINDS; i++) {
        records->wanted[i].count = 0;
    }
    records->count = records->unread = 0;
}

void pawl__records_release(struct pawl__record_set *records)
{
    free(records->at);
    for (size_t i = 0; i < PAWL__RECORD_KINDS; i++) {
        free(records->wanted[i].rows);
    }
    pawl__index_release(&records->by_key);
    *records = (struct pawl__record_set){ .at = NULL };
}
