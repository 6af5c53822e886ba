/* The rolls: rows that hold many ids each and say where to look for jobs; see 0001_initial.sql.
 *
 * What a transaction brings onto them is gathered and written together, so that jobs which go the
 * same way share a row: a roll costs next to nothing for each of them, where an index entry would
 * be a quarter of the cost of the job.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROW_MAX = 64,   /* ids of a row: it stays on its page */
    READY_PARTS = 8 /* rows that jobs of one rank make, unless these grow too long: a claim takes
                       hold of whole rows, and others shall find something too */
};

static void add(struct pawl__backend *pg, enum pawl__pg_roll_kind kind,
                const struct pawl__pg_roll_entry *entry)
{
    struct pawl__pg_roll *roll = &pg->rolls[kind];
    struct pawl__pg_roll_entry *entries =
        pawl__room_for(roll->entries, &roll->cap, roll->count + 1, sizeof *entry);
    if (!entries) roll->failed = true;
    if (!entries) return;
    roll->entries = entries;
    entries[roll->count++] = *entry;
}

void pawl__pg_roll_ready(struct pawl__backend *pg, const struct pawl__pg_waiting *job)
{
    static const struct pawl_job_id none;
    bool own = memcmp(&job->arrival, &none, sizeof none) == 0;
    add(pg, PAWL__PG_ROLL_READY,
        &(struct pawl__pg_roll_entry){ .first = job->lane,
                                       .second = job->rank,
                                       .worker = "",
                                       .id = job->id,
                                       .seat = own ? job->id : job->arrival });
}

void pawl__pg_roll_lease(struct pawl__backend *pg, int64_t until_ms, const char *worker,
                         struct pawl_job_id id)
{
    add(pg, PAWL__PG_ROLL_LEASE,
        &(struct pawl__pg_roll_entry){ .first = until_ms, .worker = worker, .id = id, .seat = id });
}

void pawl__pg_roll_ended(struct pawl__backend *pg, enum pawl_state state, int64_t finished_at_ms,
                         struct pawl_job_id id)
{
    add(pg, PAWL__PG_ROLL_ENDED,
        &(struct pawl__pg_roll_entry){
            .first = state, .second = finished_at_ms, .worker = "", .id = id, .seat = id });
}

static int compare_numbers(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_keys(const struct pawl__pg_roll_entry *a, const struct pawl__pg_roll_entry *b)
{
    int way = compare_numbers(a->first, b->first);
    if (!way) way = compare_numbers(a->second, b->second);
    return way ? way : strcmp(a->worker, b->worker);
}

static int compare_entries(const void *a, const void *b)
{
    const struct pawl__pg_roll_entry *left = a, *right = b;
    int way = compare_keys(left, right);
    return way ? way : memcmp(left->seat.b, right->seat.b, sizeof left->seat.b);
}

/* What was added in order needs no sorting: completions are, for one. */
static void sort_entries(struct pawl__pg_roll *roll)
{
    size_t sorted = 1;
    while (sorted < roll->count &&
           compare_entries(&roll->entries[sorted - 1], &roll->entries[sorted]) <= 0) {
        sorted++;
    }
    if (sorted >= roll->count) return;
    qsort(roll->entries, roll->count, sizeof *roll->entries, compare_entries);
}

/* A list for each parameter of the statements. */
enum { L_FIRSTS, L_SECONDS, L_FROM, L_TO, L_IDS, L_SEATS, LISTS };

static const struct {
    enum pawl__pg sql;
    enum pawl__pg_kind second;
    int params[LISTS]; /* 0: it has none */
} statements[] = {
    [PAWL__PG_ROLL_READY] = { PG_READY_PUT,
                              PAWL__PG_INTS,
                              { PG_READY_PUT_lanes, PG_READY_PUT_ranks, PG_READY_PUT_firsts,
                                PG_READY_PUT_lasts, PG_READY_PUT_ids, PG_READY_PUT_seats } },
    [PAWL__PG_ROLL_LEASE] = { PG_LEASE_PUT,
                              PAWL__PG_TEXTS,
                              { PG_LEASE_PUT_untils, PG_LEASE_PUT_workers, PG_LEASE_PUT_firsts,
                                PG_LEASE_PUT_lasts, PG_LEASE_PUT_ids } },
    [PAWL__PG_ROLL_ENDED] = { PG_ENDED_PUT,
                              PAWL__PG_INTS,
                              { PG_ENDED_PUT_states, PG_ENDED_PUT_finished, PG_ENDED_PUT_firsts,
                                PG_ENDED_PUT_lasts, PG_ENDED_PUT_ids } },
};

static void begin_put(struct pawl__backend *pg, enum pawl__pg_roll_kind kind,
                      struct pawl__pg_list *lists[LISTS])
{
    const enum pawl__pg_kind kinds[LISTS] = {
        [L_SECONDS] = statements[kind].second, [L_IDS] = PAWL__PG_IDS, [L_SEATS] = PAWL__PG_IDS
    };
    pawl__pg_call(&pg->writer, statements[kind].sql);
    for (int i = 0; i < LISTS; i++) {
        int at = statements[kind].params[i];
        lists[i] = at ? pawl__pg_list(&pg->writer, at, kinds[i]) : NULL;
    }
}

/* Entries from `at` on that have the same key. */
static size_t count_alike(const struct pawl__pg_roll *roll, size_t at)
{
    size_t end = at + 1;
    while (end < roll->count && compare_keys(&roll->entries[at], &roll->entries[end]) == 0) {
        end++;
    }
    return end - at;
}

static size_t row_size(enum pawl__pg_roll_kind kind, size_t alike)
{
    size_t size = kind == PAWL__PG_ROLL_READY ? (alike + READY_PARTS - 1) / READY_PARTS : ROW_MAX;
    return size < ROW_MAX ? size : ROW_MAX;
}

static bool has_own_seat(const struct pawl__pg_roll_entry *entry)
{
    return memcmp(&entry->seat, &entry->id, sizeof entry->id) != 0;
}

/* Entries from `at` on that share a row, `most` of them at most: one whose seat is not its id is
 * alone, for what is left of a row takes the seat of its first id. */
static size_t row_length(const struct pawl__pg_roll *roll, size_t at, size_t most)
{
    if (has_own_seat(&roll->entries[at])) return 1;
    size_t length = 1;
    while (length < most && !has_own_seat(&roll->entries[at + length])) {
        length++;
    }
    return length;
}

static void list_row(struct pawl__pg_list *lists[LISTS], const struct pawl__pg_roll *roll,
                     enum pawl__pg_roll_kind kind, size_t from, size_t count)
{
    const struct pawl__pg_roll_entry *entry = &roll->entries[from];
    pawl__pg_list_add(lists[L_FIRSTS], entry->first);
    if (kind == PAWL__PG_ROLL_LEASE) {
        pawl__pg_list_add_text(lists[L_SECONDS], entry->worker);
    } else {
        pawl__pg_list_add(lists[L_SECONDS], entry->second);
    }
    pawl__pg_list_add(lists[L_FROM], (int64_t)from + 1);
    pawl__pg_list_add(lists[L_TO], (int64_t)(from + count));
    if (lists[L_SEATS]) pawl__pg_list_add_id(lists[L_SEATS], entry->seat);
    for (size_t i = from; i < from + count; i++) {
        pawl__pg_list_add_id(lists[L_IDS], roll->entries[i].id);
    }
}

static void write_roll(struct pawl__backend *pg, enum pawl__pg_roll_kind kind)
{
    struct pawl__pg_roll *roll = &pg->rolls[kind];
    struct pawl__pg_list *lists[LISTS];
    sort_entries(roll);
    begin_put(pg, kind, lists);
    for (size_t at = 0; at < roll->count;) {
        size_t alike = count_alike(roll, at), size = row_size(kind, alike);
        for (size_t end = at + alike; at < end;) {
            size_t row = row_length(roll, at, end - at < size ? end - at : size);
            list_row(lists, roll, kind, at, row);
            at += row;
        }
    }
    roll->count = 0;
    pawl__pg_send_exact(&pg->writer, lists[L_FIRSTS]->count);
}

enum pawl_err pawl__pg_rolls_flush(struct pawl__backend *pg)
{
    for (int kind = 0; kind < PAWL__PG_ROLLS; kind++) {
        if (pg->rolls[kind].failed) return pawl__fail_nomem(pg->set.diag);
        if (pg->rolls[kind].count) write_roll(pg, (enum pawl__pg_roll_kind)kind);
    }
    return PAWL_OK;
}

void pawl__pg_rolls_reset(struct pawl__backend *pg)
{
    for (int kind = 0; kind < PAWL__PG_ROLLS; kind++) {
        pg->rolls[kind].count = 0;
        pg->rolls[kind].failed = false;
    }
}

void pawl__pg_rolls_release(struct pawl__backend *pg)
{
    for (int kind = 0; kind < PAWL__PG_ROLLS; kind++) {
        free(pg->rolls[kind].entries);
    }
    memset(pg->rolls, 0, sizeof pg->rolls);
}

/* ---- taking ids off a roll ---- */

static bool add_ids(const PGresult *rows, struct pawl__arena *arena, struct pawl__pg_taken *out)
{
    size_t total = 0;
    for (int i = 0; i < PQntuples(rows); i++) {
        total += pawl__pg_ids_count(rows, i, 1);
    }
    out->ids = pawl__arena_alloc(arena, (total + 1) * sizeof *out->ids);
    out->places = pawl__arena_alloc(arena, ((size_t)PQntuples(rows) + 1) * sizeof *out->places);
    if (!out->ids || !out->places) return false;
    for (int i = 0; i < PQntuples(rows); i++) {
        out->places[out->row_count++] = pawl__pg_tid(rows, i, 0);
        out->count += pawl__pg_ids(rows, i, 1, out->ids + out->count);
    }
    return true;
}

enum pawl_err pawl__pg_roll_take(struct pawl__backend *pg, struct pawl__pg_taken *out)
{
    PGresult *rows;
    *out = (struct pawl__pg_taken){ .count = 0 };
    enum pawl_err err = pawl__pg_ask(&pg->writer, &rows, pg->set.diag);
    if (err) return err;
    return add_ids(rows, &pg->arena, out) ? PAWL_OK : pawl__fail_nomem(pg->set.diag);
}

struct pawl__pg_list *pawl__pg_list_taken(struct pawl__backend *pg, int at,
                                          const struct pawl__pg_taken *taken)
{
    struct pawl__pg_list *list = pawl__pg_list(&pg->writer, at, PAWL__PG_IDS);
    for (size_t i = 0; i < taken->count; i++) {
        pawl__pg_list_add_id(list, taken->ids[i]);
    }
    return list;
}

void pawl__pg_roll_delete(struct pawl__backend *pg, enum pawl__pg sql, int at,
                          const struct pawl__pg_tid *places, size_t count)
{
    if (!count) return;
    pawl__pg_call(&pg->writer, sql);
    struct pawl__pg_list *list = pawl__pg_list(&pg->writer, at, PAWL__PG_TIDS);
    for (size_t i = 0; i < count; i++) {
        pawl__pg_list_add_bytes(list, places[i].b, sizeof places[i].b);
    }
    pawl__pg_send_exact(&pg->writer, (int32_t)count);
}

static int compare_ids(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct pawl_job_id));
}

/* Sorted: bsearch finds an id in it. */
enum pawl_err pawl__pg_ids_sorted(struct pawl__backend *pg, const PGresult *rows,
                                  struct pawl_job_id **out)
{
    size_t count = (size_t)PQntuples(rows);
    *out = pawl__arena_alloc(&pg->arena, (count + 1) * sizeof **out);
    if (!*out) return pawl__fail_nomem(pg->set.diag);
    for (size_t i = 0; i < count; i++) {
        (*out)[i] = pawl__pg_id(rows, (int)i, 0);
    }
    qsort(*out, count, sizeof **out, compare_ids);
    return PAWL_OK;
}

bool pawl__pg_ids_have(const struct pawl_job_id *ids, size_t count, struct pawl_job_id id)
{
    return count && bsearch(&id, ids, count, sizeof id, compare_ids);
}
