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
    journal->changes = set->changes;
    for (int i = 0; i < PAWL__TABLES; i++) {
        journal->list_counts[i] = set->lists[i].count;
    }
    journal->row_count = journal->holder_count = 0;
}

void pawl__set_keep(struct pawl__set *set)
{
    assert(set->journal.open);
    set->journal.open = false;
}

static void put_back(struct pawl__set *set, const struct pawl__saved_holder *saved)
{
    struct pawl__set_key *key = &set->keys[saved->key];
    bool there;
    size_t at = pawl__key_place(key, saved->was.id, &there);
    if (!there) return; // there was no memory to add it
    if (saved->there) {
        key->holders[at] = saved->was;
    } else {
        key->count--;
        memmove(&key->holders[at], &key->holders[at + 1], (key->count - at) * sizeof *key->holders);
    }
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
    while (journal->holder_count > 0) {
        put_back(set, &journal->holders[--journal->holder_count]);
    }
    set->move_count = journal->move_count;
    set->unsettled_count = journal->unsettled_count;
    set->changes = journal->changes;
    for (int i = 0; i < PAWL__TABLES; i++) {
        set->lists[i].count = journal->list_counts[i];
    }
}

void pawl__row_save(struct pawl__set *set, struct pawl__row *row)
{
    struct pawl__journal *journal = &set->journal;
    set->changes++;
    if (!journal->open) return;
    struct pawl__saved_row *rows =
        PAWL__SET_GROW(set, journal->rows, journal->row_cap, journal->row_count);
    if (!rows) return;
    journal->rows = rows;
    rows[journal->row_count++] = (struct pawl__saved_row){ .row = row, .was = *row };
}

void pawl__holder_save(struct pawl__set *set, const struct pawl__set_key *key,
                       struct pawl_job_id id)
{
    struct pawl__journal *journal = &set->journal;
    set->changes++;
    if (!journal->open) return;
    struct pawl__saved_holder *holders =
        PAWL__SET_GROW(set, journal->holders, journal->holder_cap, journal->holder_count);
    if (!holders) return;
    journal->holders = holders;
    struct pawl__saved_holder saved = { .key = (size_t)(key - set->keys), .was.id = id };
    size_t at = pawl__key_place(key, id, &saved.there);
    if (saved.there) saved.was = key->holders[at];
    holders[journal->holder_count++] = saved;
}

void pawl__journal_release(struct pawl__journal *journal)
{
    free(journal->rows);
    free(journal->holders);
    memset(journal, 0, sizeof *journal);
}
