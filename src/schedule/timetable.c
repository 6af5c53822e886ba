/* The next instant of a timetable, and what follows from it.
 *
 * Time in a zone is a list of pieces with constant offsets (see inside.h). In a piece the next
 * instant is the next matching local time; what the changes between pieces do to local times is
 * decided here, and nowhere else:
 *
 *   an expression that names an hour passes over pieces whose local times have been before;
 *   at a gap it may have an instant that makes up for the lost times (shift);
 *   one that names none simply goes on: in every piece it fires at every local time. */
#include "schedule/inside.h"

#include <assert.h>
#include <stdlib.h>

/* ---- gaps ---- */

int64_t pawl__gap_first(const struct pawl__timetable *table, size_t piece)
{
    const struct pawl__zone *zone = table->zone;
    if (pawl__zone_jump(zone, piece) <= 0) return LOCAL_NEVER;
    int64_t start = zone->starts[piece];
    int64_t local = pawl__cron_next_local(&table->cron, start + zone->offsets[piece - 1]);
    return local < start + zone->offsets[piece] ? local : LOCAL_NEVER;
}

bool pawl__gap_shifts(const struct pawl__timetable *table, size_t piece)
{
    return table->gap == PAWL_GAP_SHIFT && table->cron.names_hour &&
           pawl__zone_jump(table->zone, piece) <= SHIFT_S_MAX &&
           pawl__gap_first(table, piece) != LOCAL_NEVER;
}

/* ---- next ---- */

static bool is_passed_over(const struct pawl__timetable *table, size_t piece)
{
    return table->cron.names_hour && table->zone->again[piece];
}

/* The first instant of the expression in seconds, from `at_s` on. One turn per piece, and whole
 * years of pieces are skipped when the next match is far. */
static int64_t next_second(const struct pawl__timetable *table, int64_t at_s)
{
    const struct pawl__zone *zone = table->zone;
    for (size_t piece = pawl__zone_piece(zone, at_s);; piece = pawl__zone_piece(zone, at_s)) {
        int64_t end = pawl__zone_piece_end(zone, piece), offset = zone->offsets[piece];
        int64_t local = pawl__cron_next_local(&table->cron, at_s + offset);
        if (at_s == zone->starts[piece] && pawl__gap_shifts(table, piece)) return at_s;
        if (!is_passed_over(table, piece) && local != LOCAL_NEVER && local - offset < end) {
            return local - offset;
        }
        // Pieces that begin soon may have earlier local times than `local`.
        bool soon = end != INT64_MAX && end - at_s <= ALIKE_S;
        if (!soon && (local == LOCAL_NEVER || end == INT64_MAX)) return PAWL__NEVER;
        at_s = soon ? end : max_of(end, local - ALIKE_S);
    }
}

static int64_t next_of_fields(const struct pawl__timetable *table, int64_t after_ms)
{
    const int64_t first_s = -ALIKE_S, last_s = RANGE_END_S + ALIKE_S;
    int64_t at_s = pawl__floor_div(after_ms, MS_PER_S) + 1;
    if (at_s >= last_s) return PAWL__NEVER;
    int64_t next_s = next_second(table, max_of(at_s, first_s));
    return next_s == PAWL__NEVER ? PAWL__NEVER : next_s * MS_PER_S;
}

static int64_t next_of_interval(const struct pawl__timetable *table, int64_t after_ms)
{
    int64_t every = table->cron.every_ms, anchor = table->anchor_at_ms;
    if (after_ms >= RANGE_END_S * MS_PER_S) return PAWL__NEVER;
    int64_t next = anchor;
    if (after_ms >= anchor) next = anchor + ((after_ms - anchor) / every + 1) * every;
    return next < RANGE_END_S * MS_PER_S ? next : PAWL__NEVER;
}

/* How many instants of a list are at or before `at_ms`. */
static size_t count_until(const struct pawl__timetable *table, int64_t at_ms)
{
    size_t low = 0, high = table->instant_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->instants[middle] <= at_ms) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static int64_t next_of_list(const struct pawl__timetable *table, int64_t after_ms)
{
    size_t next = count_until(table, after_ms);
    return next < table->instant_count ? table->instants[next] : PAWL__NEVER;
}

int64_t pawl__timetable_next(const struct pawl__timetable *table, int64_t after_ms)
{
    if (after_ms == PAWL__NEVER) return PAWL__NEVER;
    if (table->start_at_ms && after_ms < table->start_at_ms) after_ms = table->start_at_ms - 1;
    int64_t next = table->instants        ? next_of_list(table, after_ms)
                   : table->cron.every_ms ? next_of_interval(table, after_ms)
                                          : next_of_fields(table, after_ms);
    return table->end_at_ms && next >= table->end_at_ms ? PAWL__NEVER : next;
}

/* Bisects on `next`, which grows with its argument: so there is one algorithm, and the two cannot
 * differ. */
int64_t pawl__timetable_previous(const struct pawl__timetable *table, int64_t before_ms)
{
    const int64_t first_ms = -ALIKE_S * MS_PER_S;
    int64_t high = before_ms - 1, low = high; // next(high) >= before_ms
    for (int64_t step = MS_PER_S; pawl__timetable_next(table, low) >= before_ms; step *= 2) {
        if (low <= first_ms) return PAWL__NEVER;
        high = low;
        low = max_of(before_ms - 1 - step, first_ms - 1);
    }
    while (high - low > 1) { // next(low) < before_ms
        int64_t middle = low + (high - low) / 2;
        if (pawl__timetable_next(table, middle) < before_ms) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return pawl__timetable_next(table, low);
}

/* ---- lists, local times, changed rules ---- */

static int by_value(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

size_t pawl__instants_sort(int64_t *instants, size_t count)
{
    size_t kept = 0;
    if (count > 1) qsort(instants, count, sizeof *instants, by_value);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || instants[kept - 1] != instants[i]) instants[kept++] = instants[i];
    }
    return kept;
}

int64_t pawl__timetable_local_s(const struct pawl__timetable *table, int64_t at_ms)
{
    if (!pawl__timetable_is_local(table)) return 0;
    return pawl__floor_div(at_ms, MS_PER_S) + pawl__zone_offset(table->zone, at_ms);
}

int64_t pawl__timetable_renew(const struct pawl__timetable *table, int64_t settled_at_ms,
                              int64_t last_local_s)
{
    int64_t next = pawl__timetable_next(table, settled_at_ms);
    if (next == PAWL__NEVER || !pawl__timetable_is_local(table) || !table->cron.names_hour) {
        return next;
    }
    bool fired = pawl__timetable_local_s(table, next) == last_local_s;
    return fired ? pawl__timetable_next(table, next) : next;
}

/* ---- notes ---- */

/* True if the local time of an instant comes again later. */
static bool comes_again(const struct pawl__zone *zone, int64_t at_s)
{
    size_t piece = pawl__zone_piece(zone, at_s);
    int64_t local = at_s + zone->offsets[piece];
    for (size_t i = piece + 1; i < zone->count && zone->starts[i] <= at_s + ALIKE_S; i++) {
        int64_t from = zone->starts[i] + zone->offsets[i], end = pawl__zone_piece_end(zone, i);
        if (zone->again[i] && from <= local && local - zone->offsets[i] < end) return true;
    }
    return false;
}

enum pawl_fire_note pawl__timetable_note(const struct pawl__timetable *table, int64_t at_ms)
{
    if (!pawl__timetable_is_local(table)) return PAWL_FIRE_PLAIN;
    int64_t at_s = pawl__floor_div(at_ms, MS_PER_S);
    size_t piece = pawl__zone_piece(table->zone, at_s);
    if (at_s == table->zone->starts[piece] && pawl__gap_shifts(table, piece)) {
        return PAWL_FIRE_SHIFTED;
    }
    if (table->zone->again[piece]) return PAWL_FIRE_TWICE_SECOND;
    if (!comes_again(table->zone, at_s)) return PAWL_FIRE_PLAIN;
    return table->cron.names_hour ? PAWL_FIRE_FIRST : PAWL_FIRE_TWICE_FIRST;
}

const char *pawl_fire_note_code(enum pawl_fire_note note)
{
    switch (note) {
#define X(number, name, code)                                                                      \
    case PAWL_FIRE_##name:                                                                         \
        return code;
        PAWL_FIRE_NOTES(X)
#undef X
    default:
        return "none";
    }
}
