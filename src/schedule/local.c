/* Local times that match an expression: the calendar without zones. Sets are bits, so the next
 * match in a field is found by counting zeros. */
#include "schedule/inside.h"

/* The bits from `bit` on. */
static uint64_t from_bit(uint64_t set, int bit)
{
    return bit >= 64 ? 0 : set >> bit << bit;
}

static uint64_t below_bit(uint64_t set, int bit)
{
    return set & ((UINT64_C(1) << bit) - 1);
}

static int first_bit(uint64_t set)
{
    return __builtin_ctzll(set);
}

/* Takes the lowest bit off the set. */
static int take_bit(uint64_t *set)
{
    int bit = first_bit(*set);
    *set &= *set - 1;
    return bit;
}

/* ---- days ---- */

struct month {
    int length;
    int weekday; /* of the 1st */
};

static int weekday_of(const struct month *month, int day)
{
    return (month->weekday + day - 1) % 7;
}

/* The weekday nearest to a day, without leaving the month; 0 if the month has no such day. */
static int nearest_weekday(const struct month *month, int day)
{
    if (day < 1 || day > month->length) return 0;
    int weekday = weekday_of(month, day);
    if (weekday == 6) return day > 1 ? day - 1 : day + 2;
    if (weekday == 0) return day < month->length ? day + 1 : day - 2;
    return day;
}

static uint32_t match_days(const struct pawl__cron *cron, const struct month *month)
{
    uint32_t days = cron->days;
    for (uint64_t left = cron->days_from_last; left;) {
        int day = month->length - take_bit(&left);
        if (day > 0) days |= UINT32_C(1) << day;
    }
    for (uint64_t left = cron->nearest; left;) {
        days |= UINT32_C(1) << nearest_weekday(month, take_bit(&left));
    }
    for (uint64_t left = cron->nearest_from_last; left;) {
        days |= UINT32_C(1) << nearest_weekday(month, month->length - take_bit(&left));
    }
    return days;
}

static uint32_t match_weekdays(const struct pawl__cron *cron, const struct month *month)
{
    // Bit n of six weeks is the n-th day after a Sunday; the 1st is month->weekday days after one.
    uint64_t weeks = (uint64_t)cron->weekdays * UINT64_C(0x810204081); // bits 0, 7, 14, 21, 28, 35
    uint32_t days = (uint32_t)(weeks >> month->weekday << 1);
    for (uint64_t left = cron->weekdays_nth; left;) {
        int bit = take_bit(&left);
        int day = 1 + (bit % 7 - month->weekday + 7) % 7 + bit / 7 * 7;
        if (day <= month->length) days |= UINT32_C(1) << day;
    }
    for (uint64_t left = cron->weekdays_last; left;) {
        int back = (weekday_of(month, month->length) - take_bit(&left) + 7) % 7;
        days |= UINT32_C(1) << (month->length - back);
    }
    return days;
}

uint32_t pawl__cron_days(const struct pawl__cron *cron, int year, int month)
{
    int64_t first = pawl__days_from_date((struct pawl__date){ year, month, 1 });
    struct month shape = { .length = pawl__days_in_month(year, month),
                           .weekday = pawl__weekday_from_days(first) };
    uint32_t days;
    if (cron->days_free && cron->weekdays_free) {
        days = UINT32_MAX;
    } else {
        days = (cron->days_free ? 0 : match_days(cron, &shape)) |
               (cron->weekdays_free ? 0 : match_weekdays(cron, &shape));
    }
    return days & (uint32_t)((UINT64_C(2) << shape.length) - 2);
}

static bool has_year(const struct pawl__cron *cron, int year)
{
    int place = year - PAWL__CRON_YEAR_MIN;
    return cron->years[place / 64] >> place % 64 & 1;
}

static bool has_month(const struct pawl__cron *cron, int year, int month)
{
    return has_year(cron, year) && (cron->months >> month & 1);
}

/* The first day from a date on, as days since the epoch; -1: none. */
static int64_t next_day(const struct pawl__cron *cron, struct pawl__date date)
{
    int month = date.month, from = date.day;
    for (int year = (int)date.year; year <= PAWL__CRON_YEAR_MAX; year++, month = 1, from = 1) {
        if (!has_year(cron, year)) continue;
        for (; month <= 12; month++, from = 1) {
            if (!(cron->months >> month & 1)) continue;
            uint64_t days = from_bit(pawl__cron_days(cron, year, month), from);
            if (!days) continue;
            return pawl__days_from_date((struct pawl__date){ year, month, first_bit(days) });
        }
    }
    return -1;
}

/* ---- times of day ---- */

/* The first time of day >= `from`, in seconds; -1: none. */
static int next_time(const struct pawl__cron *cron, int from)
{
    int hour = from / S_PER_HOUR, minute = from / S_PER_MINUTE % 60, second = from % 60;
    if (cron->hours >> hour & 1) {
        uint64_t seconds = cron->minutes >> minute & 1 ? from_bit(cron->seconds, second) : 0;
        if (seconds) return hour * S_PER_HOUR + minute * S_PER_MINUTE + first_bit(seconds);
        uint64_t minutes = from_bit(cron->minutes, minute + 1);
        if (minutes) {
            return hour * S_PER_HOUR + first_bit(minutes) * S_PER_MINUTE + first_bit(cron->seconds);
        }
    }
    uint64_t hours = from_bit(cron->hours, hour + 1);
    if (!hours) return -1;
    return first_bit(hours) * S_PER_HOUR + first_bit(cron->minutes) * S_PER_MINUTE +
           first_bit(cron->seconds);
}

int64_t pawl__cron_next_local(const struct pawl__cron *cron, int64_t from_s)
{
    if (from_s < 0) from_s = 0;
    if (from_s >= RANGE_END_S) return LOCAL_NEVER;
    int64_t today = from_s / S_PER_DAY;
    int time = next_time(cron, (int)(from_s % S_PER_DAY));
    int64_t from_day = today + (time < 0);
    int64_t day = next_day(cron, pawl__date_from_days(from_day));
    if (day < 0) return LOCAL_NEVER;
    if (day != today) time = next_time(cron, 0);
    return day * S_PER_DAY + time;
}

/* ---- counting ---- */

static int64_t times_per_day(const struct pawl__cron *cron)
{
    return (int64_t)__builtin_popcount(cron->hours) * __builtin_popcountll(cron->minutes) *
           __builtin_popcountll(cron->seconds);
}

/* How many times of day are before `time`, which may be the end of the day. */
static int64_t times_before(const struct pawl__cron *cron, int64_t time)
{
    int hour = (int)(time / S_PER_HOUR), minute = (int)(time / S_PER_MINUTE % 60);
    int64_t seconds = __builtin_popcountll(cron->seconds);
    int64_t minutes = __builtin_popcountll(cron->minutes);
    int64_t count = __builtin_popcountll(below_bit(cron->hours, hour)) * minutes * seconds;
    if (!(cron->hours >> hour & 1)) return count;
    count += __builtin_popcountll(below_bit(cron->minutes, minute)) * seconds;
    if (!(cron->minutes >> minute & 1)) return count;
    return count + __builtin_popcountll(below_bit(cron->seconds, (int)(time % 60)));
}

/* How many days of [from, until) match; both since the epoch. */
static int64_t count_days(const struct pawl__cron *cron, int64_t from, int64_t until)
{
    int64_t count = 0;
    while (from < until) {
        struct pawl__date date = pawl__date_from_days(from);
        int year = (int)date.year;
        int64_t left = pawl__days_in_month(year, date.month) - date.day + 1;
        int64_t some = until - from < left ? until - from : left;
        if (has_month(cron, year, date.month)) {
            uint64_t days = from_bit(pawl__cron_days(cron, year, date.month), date.day);
            count += __builtin_popcountll(below_bit(days, date.day + (int)some));
        }
        from += some;
    }
    return count;
}

int64_t pawl__cron_count_local(const struct pawl__cron *cron, int64_t from_s, int64_t until_s)
{
    if (from_s < 0) from_s = 0;
    if (until_s > RANGE_END_S) until_s = RANGE_END_S;
    if (from_s >= until_s) return 0;
    int64_t first = from_s / S_PER_DAY, last = until_s / S_PER_DAY;
    int64_t count = count_days(cron, first, last) * times_per_day(cron);
    if (count_days(cron, first, first + 1)) count -= times_before(cron, from_s % S_PER_DAY);
    if (last * S_PER_DAY < until_s && count_days(cron, last, last + 1)) {
        count += times_before(cron, until_s % S_PER_DAY);
    }
    return count;
}
