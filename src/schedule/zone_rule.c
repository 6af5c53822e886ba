/* The footer of a TZif file: a POSIX TZ string with the extensions of RFC 8536 (hours to +-167),
 * expanded into the changes that it makes. */
#include "schedule/inside.h"

#include <ctype.h>

enum { NAME_LEN_MIN = 3, HOURS_MAX = 24, RULE_HOURS_MAX = 167, ALONE_HOUR = 2 };

enum day_form { DAY_JULIAN, DAY_ZERO_BASED, DAY_OF_WEEK };

/* "J60", "59" or "M3.5.0", and a time of day. */
struct day_rule {
    enum day_form form;
    int day; /* of the year, or of the week */
    int month, week;
    int64_t time_s;
};

struct rule {
    int32_t standard_s, daylight_s; /* east of UTC */
    struct day_rule start, end;     /* of daylight saving time */
};

struct scan {
    const char *at, *end;
};

static bool take(struct scan *scan, char c)
{
    if (scan->at == scan->end || *scan->at != c) return false;
    scan->at++;
    return true;
}

static bool read_int(struct scan *scan, int min, int max, int *out)
{
    int value = 0, digits = 0;
    for (; scan->at < scan->end && isdigit((unsigned char)*scan->at); scan->at++) {
        if (++digits > 3) return false;
        value = value * 10 + (*scan->at - '0');
    }
    *out = value;
    return digits > 0 && value >= min && value <= max;
}

/* "EST", or "<+0330>". */
static bool skip_name(struct scan *scan)
{
    const char *from = scan->at;
    if (take(scan, '<')) {
        from = scan->at;
        while (scan->at < scan->end && *scan->at != '>') {
            scan->at++;
        }
        return scan->at - from >= NAME_LEN_MIN && take(scan, '>');
    }
    while (scan->at < scan->end && isalpha((unsigned char)*scan->at)) {
        scan->at++;
    }
    return scan->at - from >= NAME_LEN_MIN;
}

/* "[+-]hh[:mm[:ss]]" in seconds. */
static bool read_hms(struct scan *scan, int hours_max, int64_t *out)
{
    int hours, minutes = 0, seconds = 0;
    bool negative = take(scan, '-');
    if (!negative) (void)take(scan, '+');
    if (!read_int(scan, 0, hours_max, &hours)) return false;
    if (take(scan, ':')) {
        if (!read_int(scan, 0, 59, &minutes)) return false;
        if (take(scan, ':') && !read_int(scan, 0, 59, &seconds)) return false;
    }
    int64_t sum = (int64_t)hours * S_PER_HOUR + minutes * S_PER_MINUTE + seconds;
    *out = negative ? -sum : sum;
    return true;
}

static bool read_day(struct scan *scan, struct day_rule *out)
{
    bool fits;
    if (take(scan, 'M')) {
        out->form = DAY_OF_WEEK;
        fits = read_int(scan, 1, 12, &out->month) && take(scan, '.') &&
               read_int(scan, 1, 5, &out->week) && take(scan, '.') &&
               read_int(scan, 0, 6, &out->day);
    } else if (take(scan, 'J')) {
        out->form = DAY_JULIAN;
        fits = read_int(scan, 1, 365, &out->day);
    } else {
        out->form = DAY_ZERO_BASED;
        fits = read_int(scan, 0, 365, &out->day);
    }
    out->time_s = ALONE_HOUR * S_PER_HOUR;
    return fits && (!take(scan, '/') || read_hms(scan, RULE_HOURS_MAX, &out->time_s));
}

/* Sets `changes` if there is daylight saving time. */
static bool read_rule(struct scan *scan, struct rule *out, bool *changes)
{
    int64_t west;
    *changes = false;
    if (!skip_name(scan) || !read_hms(scan, HOURS_MAX, &west)) return false;
    out->standard_s = (int32_t)-west;
    if (scan->at == scan->end) return true;
    *changes = true;
    if (!skip_name(scan)) return false;
    out->daylight_s = out->standard_s + S_PER_HOUR;
    if (scan->at < scan->end && *scan->at != ',') {
        if (!read_hms(scan, HOURS_MAX, &west)) return false;
        out->daylight_s = (int32_t)-west;
    }
    return take(scan, ',') && read_day(scan, &out->start) && take(scan, ',') &&
           read_day(scan, &out->end) && scan->at == scan->end;
}

/* Days since the epoch of a rule's day in a year. */
static int64_t day_in_year(const struct day_rule *rule, int year)
{
    int64_t new_year = pawl__days_from_date((struct pawl__date){ year, 1, 1 });
    bool leap = pawl__days_in_month(year, 2) == 29;
    if (rule->form == DAY_ZERO_BASED) return new_year + rule->day;
    if (rule->form == DAY_JULIAN) {
        return new_year + rule->day - 1 + (leap && rule->day >= 60); // 29 February has no number
    }
    int64_t first = pawl__days_from_date((struct pawl__date){ year, rule->month, 1 });
    int offset = (rule->day - pawl__weekday_from_days(first) + 7) % 7 + 7 * (rule->week - 1);
    if (offset >= pawl__days_in_month(year, rule->month)) offset -= 7; // week 5: the last one
    return first + offset;
}

/* Puts a change in its place by time; they come nearly in order. Of two at one instant the one that
 * was added first stays first: in zones that have daylight saving time all year, it ends at the
 * instant at which that of the next year starts. */
static void add_in_order(struct pawl__zone_change *changes, size_t *count,
                         struct pawl__zone_change change)
{
    size_t at = (*count)++;
    for (; at > 0 && changes[at - 1].at_s > change.at_s; at--) {
        changes[at] = changes[at - 1];
    }
    changes[at] = change;
}

bool pawl__zone_rule(const char *text, size_t len,
                     struct pawl__zone_change out[PAWL__ZONE_RULE_CHANGES_MAX], size_t *count)
{
    struct scan scan = { text, text + len };
    struct rule rule;
    bool changes;
    *count = 0;
    if (!read_rule(&scan, &rule, &changes)) return false;
    if (!changes) return true;
    for (int year = PAWL__CRON_YEAR_MIN - 2; year < PAWL__CRON_YEAR_MAX + 3; year++) {
        int64_t start = day_in_year(&rule.start, year) * S_PER_DAY + rule.start.time_s;
        int64_t end = day_in_year(&rule.end, year) * S_PER_DAY + rule.end.time_s;
        add_in_order(out, count,
                     (struct pawl__zone_change){ end - rule.daylight_s, rule.standard_s });
        add_in_order(out, count,
                     (struct pawl__zone_change){ start - rule.standard_s, rule.daylight_s });
    }
    return true;
}
