/* Instants that are in the past, and local times that never were: counted without walking along
 * them, and what a store makes of them. */
#include "schedule/inside.h"

#include <assert.h>

/* How many instants are in [from_s, until_s). */
static int64_t count_fields(const struct pawl__timetable *table, int64_t from_s, int64_t until_s)
{
    const struct pawl__zone *zone = table->zone;
    int64_t count = 0;
    from_s = max_of(from_s, -ALIKE_S);
    until_s = min_of(until_s, RANGE_END_S + ALIKE_S);
    for (size_t piece = pawl__zone_piece(zone, from_s); from_s < until_s; piece++) {
        int64_t end = min_of(pawl__zone_piece_end(zone, piece), until_s);
        int64_t offset = zone->offsets[piece];
        if (from_s == zone->starts[piece] && pawl__gap_shifts(table, piece)) {
            count++;
            from_s++; // that instant is counted, whether or not it is one by itself too
        }
        if (!table->cron.names_hour || !zone->again[piece]) {
            count += pawl__cron_count_local(&table->cron, from_s + offset, end + offset);
        }
        from_s = end;
    }
    return count;
}

/* How many instants are in [from_ms, until_ms], which lie within the table's bounds. */
static int64_t count_instants(const struct pawl__timetable *table, int64_t from_ms,
                              int64_t until_ms)
{
    if (pawl__timetable_is_local(table)) {
        return count_fields(table, -pawl__floor_div(-from_ms, MS_PER_S),
                            pawl__floor_div(until_ms, MS_PER_S) + 1);
    }
    int64_t count = 0;
    if (table->instants) {
        for (size_t i = 0; i < table->instant_count; i++) {
            count += table->instants[i] >= from_ms && table->instants[i] <= until_ms;
        }
        return count;
    }
    int64_t first = pawl__timetable_next(table, from_ms - 1);
    return first > until_ms ? 0 : (until_ms - first) / table->cron.every_ms + 1;
}

struct pawl__passed pawl__timetable_passed(const struct pawl__timetable *table, int64_t from_ms,
                                           int64_t until_ms)
{
    struct pawl__passed passed = { 0 };
    int64_t first = pawl__timetable_next(table, from_ms - 1);
    if (first > until_ms) return passed;
    passed.first_at_ms = first;
    passed.last_at_ms = pawl__timetable_previous(table, until_ms + 1);
    int64_t count = count_instants(table, first, passed.last_at_ms);
    passed.count = (int32_t)min_of(count, PAWL__PASSED_MAX);
    return passed;
}

/* Puts `later` behind `passed`. */
static void append(struct pawl__passed *passed, const struct pawl__passed *later)
{
    if (later->count == 0) return;
    if (passed->count == 0) passed->first_at_ms = later->first_at_ms;
    passed->last_at_ms = later->last_at_ms;
    passed->count = (int32_t)min_of((int64_t)passed->count + later->count, PAWL__PASSED_MAX);
}

void pawl__timetable_late(const struct pawl__timetable *table, const struct pawl__late_rule *rule,
                          int64_t *fires, struct pawl__late *out)
{
    assert(rule->due_at_ms <= rule->now_ms && rule->fires_max >= 0);
    int64_t at = rule->due_at_ms, now = rule->now_ms;
    bool alone = pawl__timetable_next(table, at) > now;
    int32_t fires_max = alone ? 1 : rule->fires_max;
    *out = (struct pawl__late){ .next_at_ms = pawl__timetable_next(table, now) };
    if (rule->late_max_ms && at < now - rule->late_max_ms) {
        int64_t limit = now - rule->late_max_ms; // those before it are too late
        out->passed = (struct pawl__passed){ at, at, 1 };
        struct pawl__passed more = pawl__timetable_passed(table, at + 1, limit - 1);
        append(&out->passed, &more);
        at = pawl__timetable_next(table, limit - 1);
    }
    for (; at <= now && out->fire_count < fires_max; at = pawl__timetable_next(table, at)) {
        fires[out->fire_count++] = at;
    }
    if (at > now) return;
    // `at` may be a stored instant that the table does not have any more: it counts by itself.
    struct pawl__passed rest = { at, at, 1 };
    struct pawl__passed more = pawl__timetable_passed(table, at + 1, now);
    append(&rest, &more);
    append(&out->passed, &rest);
}

/* ---- gaps ---- */

static bool is_within(const struct pawl__timetable *table, int64_t at_ms)
{
    return (!table->start_at_ms || at_ms >= table->start_at_ms) &&
           (!table->end_at_ms || at_ms < table->end_at_ms);
}

/* The last matching local time before `until`; there is one at or after `first`. */
static int64_t last_local(const struct pawl__cron *cron, int64_t first, int64_t until)
{
    int64_t low = first, high = until; // next(low) < until, next(high) >= until
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (pawl__cron_next_local(cron, middle) < until) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return pawl__cron_next_local(cron, low);
}

bool pawl__timetable_lost(const struct pawl__timetable *table, int64_t after_ms, int64_t until_ms,
                          struct pawl__lost *out)
{
    if (!pawl__timetable_is_local(table)) return false;
    const struct pawl__zone *zone = table->zone;
    int64_t after_s = pawl__floor_div(after_ms, MS_PER_S);
    int64_t until_s = pawl__floor_div(until_ms, MS_PER_S);
    size_t piece = pawl__zone_piece(zone, after_s) + 1;
    for (; piece < zone->count && zone->starts[piece] <= until_s; piece++) {
        int64_t first = pawl__gap_first(table, piece), start = zone->starts[piece];
        if (first == LOCAL_NEVER || pawl__gap_shifts(table, piece)) continue;
        if (!is_within(table, start * MS_PER_S)) continue;
        int64_t end = start + zone->offsets[piece];
        int64_t count = pawl__cron_count_local(&table->cron, first, end);
        *out = (struct pawl__lost){ .gap_at_ms = start * MS_PER_S,
                                    .first_local_s = first,
                                    .last_local_s = last_local(&table->cron, first, end),
                                    .count = (int32_t)min_of(count, PAWL__PASSED_MAX) };
        return true;
    }
    return false;
}
