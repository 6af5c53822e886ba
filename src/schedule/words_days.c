/* Days in words: the fields day of month, month and day of week. */
#include "schedule/inside.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char *const month_names[] = { "",        "January",  "February", "March",  "April",
                                           "May",     "June",     "July",     "August", "September",
                                           "October", "November", "December" };
static const char *const day_names[] = { "Sunday",   "Monday", "Tuesday", "Wednesday",
                                         "Thursday", "Friday", "Saturday" };
static const char *const nth_names[] = { "first", "second", "third", "fourth", "fifth" };

enum { ALL_MONTHS = 0x1FFE, MONDAY_TO_FRIDAY = 0x3E };

/* ---- lists ---- */

void pawl__listing_next(struct pawl__listing *listing)
{
    if (listing->done > 0) {
        pawl__buf_add_text(listing->out, listing->left == 1 ? " and " : ", ");
    }
    listing->done++;
    listing->left--;
}

static int next_bit(uint64_t set, int from)
{
    uint64_t rest = from < 64 ? set >> from : 0;
    return rest ? from + __builtin_ctzll(rest) : -1;
}

/* The last bit of the run that begins at `from`. */
static int run_end(uint64_t set, int from)
{
    while (from + 1 < 64 && set >> (from + 1) & 1) {
        from++;
    }
    return from;
}

/* Calls for each number, or run of three or more. */
static int count_runs(uint64_t set)
{
    int count = 0;
    for (int bit = next_bit(set, 0); bit >= 0;) {
        int end = run_end(set, bit);
        bool run = end - bit >= 2;
        count++;
        bit = next_bit(set, run ? end + 1 : bit + 1);
    }
    return count;
}

void pawl__words_numbers(struct pawl__buf *out, uint64_t set)
{
    struct pawl__listing listing = { .out = out, .left = count_runs(set) };
    for (int bit = next_bit(set, 0); bit >= 0;) {
        int end = run_end(set, bit);
        bool run = end - bit >= 2;
        pawl__listing_next(&listing);
        pawl__buf_add_int(out, bit);
        if (run) pawl__buf_printf(out, " to %d", end);
        bit = next_bit(set, run ? end + 1 : bit + 1);
    }
}

/* The names of a set's members, from bit `first` around to the one before it. */
static void add_names(struct pawl__buf *out, uint64_t set, const char *const *names, int size,
                      int first)
{
    struct pawl__listing listing = { .out = out, .left = __builtin_popcountll(set) };
    for (int i = 0; i < size; i++) {
        int bit = (first + i) % size;
        if (!(set >> bit & 1)) continue;
        pawl__listing_next(&listing);
        pawl__buf_add_text(out, names[bit]);
    }
}

/* ---- days of the month ---- */

/* "3 days before the last day", "the last day". */
static void add_from_last(struct pawl__buf *out, int days)
{
    if (days == 0) {
        pawl__buf_add_text(out, "the last day");
    } else {
        pawl__buf_printf(out, "%d day%s before the last day", days, days == 1 ? "" : "s");
    }
}

static int bits(uint64_t set)
{
    return __builtin_popcountll(set);
}

/* "day 1, the last day and the first Monday". */
static void add_month_days(const struct pawl__cron *cron, bool plain, bool weekdays,
                           struct pawl__buf *out)
{
    uint64_t nth = weekdays ? cron->weekdays_nth : 0, last = weekdays ? cron->weekdays_last : 0;
    struct pawl__listing listing = { .out = out, .left = bits(nth) + bits(last) };
    if (plain) {
        listing.left += (cron->days != 0) + bits(cron->days_from_last) + bits(cron->nearest) +
                        bits(cron->nearest_from_last);
    }
    if (plain && cron->days) {
        pawl__listing_next(&listing);
        pawl__buf_add_text(out, bits(cron->days) == 1 ? "day " : "days ");
        pawl__words_numbers(out, cron->days);
    }
    for (int n = 0; plain && (n = next_bit(cron->days_from_last, n)) >= 0; n++) {
        pawl__listing_next(&listing);
        add_from_last(out, n);
    }
    for (int n = 0; plain && (n = next_bit(cron->nearest, n)) >= 0; n++) {
        pawl__listing_next(&listing);
        pawl__buf_printf(out, "the weekday nearest to day %d", n);
    }
    for (int n = 0; plain && (n = next_bit(cron->nearest_from_last, n)) >= 0; n++) {
        pawl__listing_next(&listing);
        pawl__buf_add_text(out, n == 0 ? "the last weekday" : "the weekday nearest to ");
        if (n > 0) add_from_last(out, n);
    }
    for (int n = 0; (n = next_bit(nth, n)) >= 0; n++) {
        pawl__listing_next(&listing);
        pawl__buf_printf(out, "the %s %s", nth_names[n / 7], day_names[n % 7]);
    }
    for (int n = 0; (n = next_bit(last, n)) >= 0; n++) {
        pawl__listing_next(&listing);
        pawl__buf_printf(out, "the last %s", day_names[n]);
    }
}

static bool is_one_date(const struct pawl__cron *cron)
{
    return bits(cron->days) == 1 && bits(cron->months) == 1 && !cron->days_from_last &&
           !cron->nearest && !cron->nearest_from_last &&
           (cron->weekdays_free || (!cron->weekdays_nth && !cron->weekdays_last));
}

/* "on day 13 of every month", "on 29 February". */
static void add_dates(const struct pawl__cron *cron, bool plain, bool weekdays,
                      struct pawl__buf *out)
{
    if (plain && is_one_date(cron)) {
        const int month = next_bit(cron->months, 0);
        assert(month >= 0);
        pawl__buf_printf(out, "on %d %s", next_bit(cron->days, 0), month_names[month]);
        return;
    }
    pawl__buf_add_text(out, "on ");
    add_month_days(cron, plain, weekdays, out);
    pawl__buf_add_text(out, " of ");
    if (cron->months == ALL_MONTHS) {
        pawl__buf_add_text(out, "every month");
    } else {
        add_names(out, cron->months, month_names, 13, 0);
    }
}

/* ---- days of the week ---- */

static void add_in_months(const struct pawl__cron *cron, struct pawl__buf *out)
{
    if (cron->months == ALL_MONTHS) return;
    pawl__buf_add_text(out, " in ");
    add_names(out, cron->months, month_names, 13, 0);
}

/* "every weekday", "every Monday and Friday"; "on weekdays", "on Monday and Friday". */
static void add_weekdays(const struct pawl__cron *cron, enum pawl__days_style style,
                         struct pawl__buf *out)
{
    bool first = style == PAWL__DAYS_FIRST;
    pawl__buf_add_text(out, first ? "every " : "on ");
    if (cron->weekdays == MONDAY_TO_FRIDAY) {
        pawl__buf_add_text(out, first ? "weekday" : "weekdays");
    } else {
        add_names(out, cron->weekdays, day_names, 7, 1);
    }
    add_in_months(cron, out);
}

static void add_every_day(const struct pawl__cron *cron, enum pawl__days_style style,
                          struct pawl__buf *out)
{
    if (style == PAWL__DAYS_FIRST) {
        pawl__buf_add_text(out, "every day");
        add_in_months(cron, out);
    } else if (cron->months != ALL_MONTHS) {
        pawl__buf_add_text(out, "in ");
        add_names(out, cron->months, month_names, 13, 0);
    }
}

void pawl__words_days(const struct pawl__cron *cron, enum pawl__days_style style,
                      struct pawl__buf *out)
{
    if (cron->days_free && cron->weekdays_free) {
        add_every_day(cron, style, out);
        return;
    }
    bool of_month = !cron->days_free, of_week = !cron->weekdays_free;
    bool nth = of_week && (cron->weekdays_nth || cron->weekdays_last);
    if (of_month || nth) add_dates(cron, of_month, of_week, out);
    if (!of_week || !cron->weekdays) return;
    if (of_month || nth) pawl__buf_add_text(out, " and ");
    add_weekdays(cron, style, out);
}
