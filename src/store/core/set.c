/* See set.h. */
#include "store/core/set.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_ROWS = 64 };

void *pawl__room_for(void *array, size_t *cap, size_t count, size_t bytes)
{
    if (count <= *cap) return array;
    size_t want = *cap ? *cap * 2 : 64;
    while (want < count) {
        want *= 2;
    }
    void *grown = realloc(array, want * bytes);
    if (grown) *cap = want;
    return grown;
}

void *pawl__set_grow(struct pawl__set *set, void *array, size_t *cap, size_t count, size_t bytes)
{
    void *grown = pawl__room_for(array, cap, count + 1, bytes);
    if (!grown) set->failed = true;
    return grown;
}

/* ---- rows by id ---- */

/* The second half of an id, which is random where the first is time. */
static uint32_t hash_id(struct pawl_job_id id)
{
    uint64_t half;
    memcpy(&half, id.b + 8, sizeof half);
    return (uint32_t)(half ^ (half >> 29));
}

struct pawl__row *pawl__set_at(const struct pawl__set *set, size_t at)
{
    assert(at < set->row_count);
    return &set->blocks[at / BLOCK_ROWS][at % BLOCK_ROWS];
}

struct pawl__row *pawl__set_find(const struct pawl__set *set, struct pawl_job_id id)
{
    uint32_t hash = hash_id(id);
    size_t place;
    for (size_t at = hash; pawl__index_next(&set->by_id, hash, &at, &place);) {
        struct pawl__row *row = pawl__set_at(set, place);
        if (memcmp(&row->id, &id, sizeof id) == 0) return row;
    }
    return NULL;
}

static bool room_for_row(struct pawl__set *set)
{
    if (set->row_count < set->block_count * BLOCK_ROWS) return true;
    struct pawl__row **blocks = realloc(set->blocks, (set->block_count + 1) * sizeof *set->blocks);
    if (!blocks) return false;
    set->blocks = blocks;
    blocks[set->block_count] = malloc(BLOCK_ROWS * sizeof **blocks);
    if (!blocks[set->block_count]) return false;
    set->block_count++;
    return true;
}

static struct pawl__row *add_row(struct pawl__set *set, struct pawl_job_id id)
{
    if (!room_for_row(set) || !pawl__index_add(&set->by_id, hash_id(id), set->row_count)) {
        set->failed = true;
        return NULL;
    }
    size_t at = set->row_count++;
    struct pawl__row *row = pawl__set_at(set, at);
    *row = (struct pawl__row){ .id = id };
    return row;
}

static bool add_unread(struct pawl__set *set, struct pawl__row *row)
{
    struct pawl__row **unread =
        PAWL__SET_GROW(set, set->unread, set->unread_cap, set->unread_count);
    if (!unread) return false;
    set->unread = unread;
    unread[set->unread_count++] = row;
    return true;
}

static struct pawl__row *want(struct pawl__set *set, struct pawl_job_id id, uint8_t need,
                              bool shared)
{
    struct pawl__row *row = pawl__set_find(set, id);
    set->asks_keys |= (need & PAWL__NEED_HOLDERS) != 0;
    if (!row) {
        row = add_row(set, id);
        if (row && !add_unread(set, row)) row = NULL;
        if (row) row->shared = shared;
    } else if ((row->found == PAWL__FOUND_LIVE || row->found == PAWL__FOUND_ARCHIVED) &&
               ((need & ~row->has) || (row->shared && !shared))) {
        assert(!row->wrote && !row->restored); // or what was decided would be lost
        if (!add_unread(set, row)) return NULL;
        row->found = PAWL__FOUND_UNREAD;
    }
    if (!row) return NULL;
    row->need |= need;
    row->shared &= shared;
    return row;
}

struct pawl__row *pawl__set_want(struct pawl__set *set, struct pawl_job_id id, uint8_t need)
{
    return want(set, id, need, false);
}

struct pawl__row *pawl__set_want_shared(struct pawl__set *set, struct pawl_job_id id, uint8_t need)
{
    return want(set, id, need, true);
}

struct pawl__row *pawl__set_new(struct pawl__set *set, struct pawl_job_id id)
{
    struct pawl__row *row = pawl__set_find(set, id);
    if (row) return row;
    row = add_row(set, id);
    if (row) row->found = PAWL__FOUND_ABSENT;
    return row;
}

static bool add_scanned(struct pawl__set *set, struct pawl__row *row)
{
    struct pawl__row **scanned =
        PAWL__SET_GROW(set, set->scanned, set->scanned_cap, set->scanned_count);
    if (scanned) set->scanned = scanned;
    if (row && scanned) scanned[set->scanned_count++] = row;
    return row && scanned;
}

void pawl__set_scanned(struct pawl__set *set, struct pawl_job_id id, uint8_t need)
{
    if (!pawl__set_find(set, id)) (void)add_scanned(set, pawl__set_want(set, id, need));
}

struct pawl__row *pawl__set_ended(struct pawl__set *set, struct pawl_job_id id, uint32_t lane,
                                  enum pawl_state state)
{
    if (pawl__set_find(set, id)) return NULL;
    struct pawl__row *row = add_row(set, id);
    if (!add_scanned(set, row)) return NULL;
    row->found = PAWL__FOUND_LIVE;
    row->lane = lane;
    row->state = row->was.state = state;
    row->has_end = row->was.has_end = true;
    return row;
}

/* ---- what rules note ---- */

const char *pawl__set_text(struct pawl__set *set, const void *at, size_t len)
{
    if (!len) return "";
    const char *copy = pawl__arena_dup(&set->arena, at, len);
    if (!copy) set->failed = true;
    return copy ? copy : "";
}

void pawl__set_note_move(struct pawl__set *set, const struct pawl__set_move *move)
{
    struct pawl__set_move *moves = PAWL__SET_GROW(set, set->moves, set->move_cap, set->move_count);
    if (!moves) return;
    set->moves = moves;
    moves[set->move_count++] = *move;
}

void pawl__set_unsettle(struct pawl__set *set, const struct pawl__unsettled *move)
{
    struct pawl__unsettled *moves =
        PAWL__SET_GROW(set, set->unsettled, set->unsettled_cap, set->unsettled_count);
    if (!moves) return;
    set->unsettled = moves;
    moves[set->unsettled_count++] = *move;
}

void pawl__list_add(struct pawl__set *set, struct pawl__list *list, size_t bytes, const void *row)
{
    char *rows = pawl__set_grow(set, list->rows, &list->cap, list->count, bytes);
    if (!rows) return;
    list->rows = rows;
    memcpy(rows + list->count++ * bytes, row, bytes);
}

void pawl__set_put(struct pawl__set *set, enum pawl__table table, const void *row)
{
    set->changes++;
    pawl__list_add(set, &set->lists[table], pawl__set_tables[table].bytes, row);
}

void pawl__set_control(struct pawl__set *set)
{
    if (set->move_count) set->moves[set->move_count - 1].control = true; // else there was no memory
}

/* ---- the end ---- */

void pawl__set_clear(struct pawl__set *set)
{
    assert(!set->journal.open);
    pawl__index_clear(&set->by_id);
    pawl__keys_clear(set);
    pawl__records_clear(&set->records);
    for (size_t i = 0; i < PAWL__TABLES; i++) {
        set->lists[i].count = 0;
    }
    set->row_count = set->op_count = set->unread_count = set->scanned_count = 0;
    set->move_count = set->unsettled_count = set->unsettled_done = 0;
    set->failed = set->open_ended = set->unsettled_more = false;
    set->unsettled_bytes = 0;
    set->args_max = 0;
    set->turn = NULL;
    pawl__arena_reset(&set->arena);
}

/* The clock of new ids: that of the transaction. */
static int64_t read_now(void *ctx)
{
    const struct pawl__set *set = ctx;
    return set->now_ms;
}

void pawl__set_init(struct pawl__set *set, const struct pawl__core_table *table,
                    struct pawl__backend *backend, uint64_t seed)
{
    *set = (struct pawl__set){ .table = table, .backend = backend };
    pawl__rng_seed(&set->rng, seed);
    set->catalog.seed = pawl__rng_next(&set->rng);
    set->id_clock = (struct pawl_clock){ .wall_ms = read_now, .mono_us = read_now, .ctx = set };
    pawl__idgen_init(&set->ids, &set->id_clock, ~seed);
}

void pawl__set_release(struct pawl__set *set)
{
    for (size_t i = 0; i < set->block_count; i++) {
        free(set->blocks[i]);
    }
    free(set->blocks);
    pawl__index_release(&set->by_id);
    free(set->gathered.submits);
    free(set->gathered.news);
    free(set->gathered.ends);
    free(set->ops);
    free(set->unread);
    free(set->scanned);
    free(set->moves);
    free(set->unsettled);
    for (size_t i = 0; i < PAWL__TABLES; i++) {
        free(set->lists[i].rows);
    }
    pawl__keys_release(set);
    pawl__records_release(&set->records);
    pawl__journal_release(&set->journal);
    pawl__arena_release(&set->arena);
    pawl__notices_release(&set->notices);
    pawl__catalog_release(&set->catalog);
    pawl__zones_free(set->zones);
    free(set->parsed);
    pawl__idgen_release(&set->ids);
    memset(set, 0, sizeof *set);
}
