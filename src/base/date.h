/* The proleptic Gregorian calendar: dates and days since 1970-01-01. */
#ifndef PAWL_BASE_DATE_H
#define PAWL_BASE_DATE_H

#include <stdint.h>

struct pawl__date {
    int64_t year;
    int month; /* 1..12 */
    int day;   /* 1..31 */
};

int64_t pawl__days_from_date(struct pawl__date date);
struct pawl__date pawl__date_from_days(int64_t days);
int pawl__days_in_month(int64_t year, int month);
/* 0 is Sunday. */
int pawl__weekday_from_days(int64_t days);
/* a / b, rounded down; b is positive. */
int64_t pawl__floor_div(int64_t a, int64_t b);

#endif
