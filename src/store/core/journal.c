/* The undo journal: what an operation that may fail late has changed is taken back in memory, so no
 * database needs a savepoint. */
#include "store/core/set.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void pawl__set_mark(struct pawl__set *set)
{
    struct pawl__journal *journal = &set->journal;
    assert(!journal->open);
    journal->open = true;
    journal->move_count = set->move_count;
    journal->unsettled_count = set->unsettled_count;
    for (int i = 0; i < PAWL__TABLES; i++) {
        journal->list_counts[i] = set->lists[i].count;
    }
    journal->row_count = journal->key_count = 0;
}

void pawl__set_keep(struct pawl__set *set)
{
    assert(set->journal.open);
    set->journal.open = false;
}

/* The last one saved goes back first, so that the oldest value stays. */
void pawl__set_undo(struct pawl__set *set)
{
    struct pawl__journal *journal = &set->journal;
    pawl__set_keep(set);
    while (journal->row_count > 0) {
        const struct pawl__saved_row *saved = &journal->rows[--journal->row_count];
        *saved->row = saved->was;
    }
    while (journal->key_count > 0) {
        const struct pawl__saved_key *saved = &journal->keys[--journal->key_count];
        set->keys[saved->at] = saved->was;
    }
    set->move_count = journal->move_count;
    set->unsettled_count = journal->unsettled_count;
    for (int i = 0; i < PAWL__TABLES; i++) {
        set->lists[i].count = journal->list_counts[i];
    }
}

void pawl__row_save(struct pawl__set *set, struct pawl__row *row)
{
    struct pawl__journal *journal = &set->journal;
    if (!journal->open) return;
    struct pawl__saved_row *rows =
        PAWL__SET_GROW(set, journal->rows, journal->row_cap, journal->row_count);
    if (!rows) return;
    journal->rows = rows;
    rows[journal->row_count++] = (struct pawl__saved_row){ .row = row, .was = *row };
}

void pawl__key_save(struct pawl__set *set, const struct pawl__set_key *key)
{
    struct pawl__journal *journal = &set->journal;
    if (!journal->open) return;
    struct pawl__saved_key *keys =
        PAWL__SET_GROW(set, journal->keys, journal->key_cap, journal->key_count);
    if (!keys) return;
    journal->keys = keys;
    struct pawl__saved_key saved = { .at = (size_t)(key - set->keys), .was = *key };
    if (key->cap) {
        saved.was.holders = pawl__arena_alloc(&set->arena, key->cap * sizeof *key->holders);
        if (!saved.was.holders) set->failed = true;
        if (!saved.was.holders) return;
        memcpy(saved.was.holders, key->holders, key->count * sizeof *key->holders);
    }
    keys[journal->key_count++] = saved;
}

void pawl__journal_release(struct pawl__journal *journal)
{
    free(journal->rows);
    free(journal->keys);
    memset(journal, 0, sizeof *journal);
}
