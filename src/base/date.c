/* Days are counted with the year beginning in March, so that the leap day comes last (Howard
 * Hinnant's "chrono-compatible low-level date algorithms"). */
#include "base/date.h"

#include <stdbool.h>

enum { DAYS_PER_ERA = 146097, DAYS_TO_EPOCH = 719468 }; /* 400 years; from 0000-03-01 to 1970 */

int64_t pawl__floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

int64_t pawl__days_from_date(struct pawl__date date)
{
    int64_t year = date.year - (date.month <= 2); // of the March in which it began
    int64_t era = pawl__floor_div(year, 400);
    int64_t year_of_era = year - era * 400;
    int64_t month = date.month > 2 ? date.month - 3 : date.month + 9; // March is 0
    int64_t day_of_year = (153 * month + 2) / 5 + date.day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * DAYS_PER_ERA + day_of_era - DAYS_TO_EPOCH;
}

struct pawl__date pawl__date_from_days(int64_t days)
{
    days += DAYS_TO_EPOCH;
    int64_t era = pawl__floor_div(days, DAYS_PER_ERA);
    int64_t day_of_era = days - era * DAYS_PER_ERA;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day_of_year + 2) / 153; // March is 0
    int day = (int)(day_of_year - (153 * month + 2) / 5 + 1);
    int month_of_year = (int)(month < 10 ? month + 3 : month - 9);
    return (struct pawl__date){ .year = era * 400 + year_of_era + (month_of_year <= 2),
                                .month = month_of_year,
                                .day = day };
}

int pawl__days_in_month(int64_t year, int month)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

int pawl__weekday_from_days(int64_t days)
{
    int64_t since_sunday = days + 4; // 1970-01-01 was a Thursday
    return (int)(since_sunday - pawl__floor_div(since_sunday, 7) * 7);
}
