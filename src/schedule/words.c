/* A timetable in words: times of day, rates, years, zone. Everything is derived from the sets, so
 * two expressions that fire alike read alike. */
#include "schedule/inside.h"

#include "base/time_text.h"

#include <stdio.h>
#include <string.h>

enum { TIMES_MAX = 12, ALL_HOURS = 0xFFFFFF };

#define ALL_OF_60 ((UINT64_C(1) << 60) - 1)

static int lowest(uint64_t set)
{
    return __builtin_ctzll(set);
}

static int highest(uint64_t set)
{
    return 63 - __builtin_clzll(set);
}

static int bits(uint64_t set)
{
    return __builtin_popcountll(set);
}

static bool is_run(uint64_t set)
{
    return highest(set) - lowest(set) + 1 == bits(set);
}

/* n if the set is every n-th of [0, size) from 0 on and n divides size; else 0. */
static int step_of(uint64_t set, int size)
{
    int count = bits(set);
    if (size % count != 0) return 0;
    int step = size / count;
    for (int i = 0; i < size; i++) {
        if ((set >> i & 1) != (uint64_t)(i % step == 0)) return 0;
    }
    return step;
}

/* "09:30", or "09:30:15" unless seconds are always 0. */
static void add_time(struct pawl__buf *out, const struct pawl__cron *cron, int hour, int minute,
                     int second)
{
    pawl__buf_printf(out, "%02d:%02d", hour, minute);
    if (cron->seconds != 1) pawl__buf_printf(out, ":%02d", second);
}

/* "at 00:30, 06:30 and 12:30" */
static void add_times(const struct pawl__cron *cron, struct pawl__buf *out)
{
    struct pawl__listing listing = {
        .out = out, .left = bits(cron->hours) * bits(cron->minutes) * bits(cron->seconds)
    };
    pawl__buf_add_text(out, "at ");
    for (int64_t at = pawl__cron_next_local(cron, 0); listing.left > 0;) {
        int time = (int)(at % S_PER_DAY);
        pawl__listing_next(&listing);
        add_time(out, cron, time / S_PER_HOUR, time / S_PER_MINUTE % 60, time % 60);
        at = pawl__cron_next_local(cron, at + 1);
    }
}

/* ---- rates ---- */

/* "every minute", "every 5 minutes"; false if the set is not every n-th. */
static bool add_every(struct pawl__buf *out, uint64_t set, const char *unit)
{
    int step = step_of(set, 60);
    if (step == 0) return false;
    if (step == 1) {
        pawl__buf_printf(out, "every %s", unit);
    } else if (step < 60) {
        pawl__buf_printf(out, "every %d %ss", step, unit);
    }
    return step < 60;
}

/* "minute 30", "minutes 0, 25 and 50" */
static void add_at(struct pawl__buf *out, uint64_t set, const char *unit)
{
    pawl__buf_printf(out, "%s%s ", unit, bits(set) == 1 ? "" : "s");
    pawl__words_numbers(out, set);
}

/* How often within an hour: "every 5 minutes", "at second 30 of every minute". */
static void add_rate(const struct pawl__cron *cron, struct pawl__buf *out)
{
    bool to_the_minute = cron->seconds == 1, every_minute = cron->minutes == ALL_OF_60;
    if (to_the_minute && cron->minutes == 1) {
        pawl__buf_add_text(out, "every hour");
        return;
    }
    if (to_the_minute && add_every(out, cron->minutes, "minute")) return;
    if (to_the_minute) {
        pawl__buf_add_text(out, "at ");
        add_at(out, cron->minutes, "minute");
        pawl__buf_add_text(out, " of every hour");
        return;
    }
    if (!add_every(out, cron->seconds, "second")) {
        pawl__buf_add_text(out, "at ");
        add_at(out, cron->seconds, "second");
        if (every_minute) pawl__buf_add_text(out, " of every minute");
    }
    if (every_minute) return;
    pawl__buf_add_text(out, " of ");
    add_at(out, cron->minutes, "minute");
    pawl__buf_add_text(out, " of every hour");
}

/* True if the rate says "every". */
static bool is_steady(const struct pawl__cron *cron)
{
    if (cron->seconds == 1) return bits(cron->minutes) == 1 || step_of(cron->minutes, 60) > 0;
    return cron->minutes == ALL_OF_60 && step_of(cron->seconds, 60) > 0;
}

/* " from 09:00 to 16:50", " in the hours 0, 6 and 12" */
static void add_hours(const struct pawl__cron *cron, struct pawl__buf *out)
{
    if (cron->hours == ALL_HOURS) return;
    if (!is_run(cron->hours)) {
        pawl__buf_add_text(out, " in the hours ");
        pawl__words_numbers(out, cron->hours);
        return;
    }
    pawl__buf_add_text(out, " from ");
    add_time(out, cron, lowest(cron->hours), lowest(cron->minutes), lowest(cron->seconds));
    pawl__buf_add_text(out, " to ");
    add_time(out, cron, highest(cron->hours), highest(cron->minutes), highest(cron->seconds));
}

/* "every 6 hours", on the hour. */
static bool add_every_hours(const struct pawl__cron *cron, struct pawl__buf *out)
{
    int step = step_of(cron->hours, 24);
    if (cron->seconds != 1 || cron->minutes != 1 || step < 2 || step > 8) return false;
    pawl__buf_printf(out, "every %d hours", step);
    return true;
}

static bool is_list_of_times(const struct pawl__cron *cron)
{
    int64_t times = (int64_t)bits(cron->hours) * bits(cron->minutes) * bits(cron->seconds);
    if (times > TIMES_MAX) return false;
    bool hourly = bits(cron->minutes) == 1;
    bool long_run = is_run(cron->hours) && (!hourly || bits(cron->hours) > 2);
    return !(is_steady(cron) && long_run);
}

/* ---- the whole ---- */

static bool is_every_year(const struct pawl__cron *cron)
{
    int years = 0;
    for (int i = 0; i < 4; i++) {
        years += bits(cron->years[i]);
    }
    return years == YEARS;
}

/* ", 2028 to 2036" */
static void add_years(const struct pawl__cron *cron, struct pawl__buf *out)
{
    int runs = 0;
    for (int pass = 0; pass < 2; pass++) { // the first one counts
        struct pawl__listing listing = { .out = out, .left = runs };
        if (pass == 1) pawl__buf_add_text(out, ", ");
        for (int year = 0; year < YEARS; year++) {
            int end = year;
            if (!(cron->years[year / 64] >> year % 64 & 1)) continue;
            while (end + 1 < YEARS && (cron->years[(end + 1) / 64] >> (end + 1) % 64 & 1)) {
                end++;
            }
            if (pass == 0) {
                runs++;
            } else {
                pawl__listing_next(&listing);
                pawl__buf_add_int(out, PAWL__CRON_YEAR_MIN + year);
                if (end > year) pawl__buf_printf(out, " to %d", PAWL__CRON_YEAR_MIN + end);
            }
            year = end;
        }
    }
}

static void add_fields(const struct pawl__timetable *table, struct pawl__buf *out)
{
    const struct pawl__cron *cron = &table->cron;
    bool by_hours = cron->hours != ALL_HOURS && add_every_hours(cron, out);
    if (!by_hours && is_list_of_times(cron)) {
        pawl__words_days(cron, PAWL__DAYS_FIRST, out);
        pawl__buf_add_text(out, " ");
        add_times(cron, out);
    } else {
        if (!by_hours) {
            bool single = bits(cron->minutes) == 1 && cron->seconds == 1;
            if (single && cron->hours != ALL_HOURS && is_run(cron->hours)) {
                pawl__buf_add_text(out, "every hour");
            } else {
                add_rate(cron, out);
            }
            add_hours(cron, out);
        }
        size_t before = out->len;
        pawl__buf_add_text(out, " ");
        pawl__words_days(cron, PAWL__DAYS_LAST, out);
        if (out->len == before + 1 && !out->failed) out->at[out->len = before] = '\0';
    }
    if (!is_every_year(cron)) add_years(cron, out);
    if (table->zone == pawl__zone_utc()) return;
    pawl__buf_printf(out, "%s %s", is_every_year(cron) ? "" : ",", pawl__zone_name(table->zone));
}

/* "2026-01-01T00:00:00Z"; milliseconds only if there are some. */
static void add_instant(struct pawl__buf *out, int64_t at_ms)
{
    char text[PAWL__INSTANT_TEXT_BYTES];
    pawl__instant_text(at_ms, text);
    char *point = at_ms % 1000 == 0 ? strchr(text, '.') : NULL;
    if (point) memcpy(point, "Z", 2);
    pawl__buf_add_text(out, text);
}

/* "every 1 h 30 min" */
static void add_interval(struct pawl__buf *out, int64_t ms)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {
        { "d", 86400000 }, { "h", 3600000 }, { "min", 60000 }, { "s", 1000 }, { "ms", 1 }
    };
    pawl__buf_add_text(out, "every");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        int64_t count = ms / units[i].ms;
        ms %= units[i].ms;
        if (count > 0) pawl__buf_printf(out, " %lld %s", (long long)count, units[i].name);
    }
}

static void add_list(const struct pawl__timetable *table, struct pawl__buf *out)
{
    size_t count = table->instant_count;
    if (count == 0) {
        pawl__buf_add_text(out, "never");
        return;
    }
    if (count == 1) {
        pawl__buf_add_text(out, "once at ");
    } else {
        pawl__buf_printf(out, "at %zu instants from ", count);
    }
    add_instant(out, table->instants[0]);
    if (count == 1) return;
    pawl__buf_add_text(out, " to ");
    add_instant(out, table->instants[count - 1]);
}

void pawl__timetable_words(const struct pawl__timetable *table, struct pawl__buf *out)
{
    if (table->instants) {
        add_list(table, out);
    } else if (table->cron.every_ms) {
        add_interval(out, table->cron.every_ms);
        pawl__buf_add_text(out, " from ");
        add_instant(out, table->anchor_at_ms);
    } else {
        add_fields(table, out);
    }
}

/* ---- changes of the clocks ---- */

/* "; 2027-03-28: 02:30", and " and 3 more". */
static void add_local(struct pawl__buf *out, const struct pawl__cron *cron, int64_t local,
                      int64_t count)
{
    struct pawl__date date = pawl__date_from_days(local / S_PER_DAY);
    int time = (int)(local % S_PER_DAY);
    pawl__buf_printf(out, "; %04d-%02d-%02d: ", (int)date.year, date.month, date.day);
    add_time(out, cron, time / S_PER_HOUR, time / S_PER_MINUTE % 60, time % 60);
    if (count > 1) pawl__buf_printf(out, " and %lld more", (long long)count - 1);
}

static void add_gap(const struct pawl__timetable *table, size_t piece, struct pawl__buf *out)
{
    const struct pawl__zone *zone = table->zone;
    int64_t first = pawl__gap_first(table, piece);
    if (first == LOCAL_NEVER) return;
    int64_t end = zone->starts[piece] + zone->offsets[piece];
    int64_t count = pawl__cron_count_local(&table->cron, first, end);
    add_local(out, &table->cron, first, count);
    pawl__buf_add_text(out, count > 1 ? " do not exist, " : " does not exist, ");
    if (!pawl__gap_shifts(table, piece)) {
        pawl__buf_add_text(out, "skipped");
        return;
    }
    int time = (int)(end % S_PER_DAY);
    pawl__buf_printf(out, "fires at %02d:%02d instead", time / S_PER_HOUR,
                     time / S_PER_MINUTE % 60);
}

static void add_doubled(const struct pawl__timetable *table, size_t piece, struct pawl__buf *out)
{
    const struct pawl__zone *zone = table->zone;
    int64_t from = zone->starts[piece] + zone->offsets[piece];
    int64_t end = pawl__zone_piece_end(zone, piece);
    if (!zone->again[piece] || end == INT64_MAX) return;
    int64_t first = pawl__cron_next_local(&table->cron, from);
    if (first >= end + zone->offsets[piece]) return;
    int64_t count = pawl__cron_count_local(&table->cron, first, end + zone->offsets[piece]);
    add_local(out, &table->cron, first, count);
    pawl__buf_add_text(out, count > 1 ? " come twice, fire once" : " comes twice, fires once");
}

void pawl__timetable_clock_words(const struct pawl__timetable *table, int64_t from_ms,
                                 int64_t until_ms, struct pawl__buf *out)
{
    if (!pawl__timetable_is_local(table) || !table->cron.names_hour) return;
    const struct pawl__zone *zone = table->zone;
    int64_t until_s = pawl__floor_div(until_ms, MS_PER_S);
    size_t piece = pawl__zone_piece(zone, pawl__floor_div(from_ms, MS_PER_S)) + 1;
    for (; piece < zone->count && zone->starts[piece] < until_s; piece++) {
        add_gap(table, piece, out);
        add_doubled(table, piece, out);
    }
}
