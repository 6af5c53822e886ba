/* Text to time and back, without locale, time zone files or the C library's calendar. */
#include "base/time_text.h"

#include "base/date.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define MS_PER_S INT64_C(1000)
#define MS_PER_MINUTE (60 * MS_PER_S)
#define MS_PER_HOUR (60 * MS_PER_MINUTE)
#define MS_PER_DAY (24 * MS_PER_HOUR)
#define DURATION_MS_MAX (36525 * MS_PER_DAY) /* a hundred years */

/* ---- durations ---- */

/* A decimal number: `fraction` is in units of 1/scale. */
struct decimal {
    int64_t whole;
    int64_t fraction;
    int64_t scale;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads digits and an optional fraction; false if there is no number or it is far too large. */
static bool read_decimal(const char **at, struct decimal *out)
{
    const int64_t scale_max = INT64_C(10000000000); // still fits when multiplied by a week in ms
    *out = (struct decimal){ .scale = 1 };
    const char *c = *at;
    if (!is_digit(*c)) return false;
    for (; is_digit(*c); c++) {
        out->whole = out->whole * 10 + (*c - '0');
        if (out->whole > DURATION_MS_MAX) return false;
    }
    if (*c == '.' || *c == ',') {
        if (!is_digit(*++c)) return false;
        for (; is_digit(*c); c++) {
            if (out->scale == scale_max) continue; // far less than a ms
            out->fraction = out->fraction * 10 + (*c - '0');
            out->scale *= 10;
        }
    }
    *at = c;
    return true;
}

/* sum += number * unit_ms; false if it exceeds the maximum. */
static bool add_units(int64_t *sum, const struct decimal *number, int64_t unit_ms)
{
    if (number->whole > DURATION_MS_MAX / unit_ms) return false;
    *sum += number->whole * unit_ms + number->fraction * unit_ms / number->scale;
    return *sum <= DURATION_MS_MAX;
}

struct unit {
    const char *name;
    int64_t ms;
};

/* "90s", "1h30m", "2m 5s": large units first, each at most once. */
static enum pawl_err parse_plain(const char *text, int64_t *out_ms)
{
    static const struct unit units[] = { { "d", MS_PER_DAY },
                                         { "h", MS_PER_HOUR },
                                         { "m", MS_PER_MINUTE },
                                         { "s", MS_PER_S },
                                         { "ms", 1 } };
    const struct unit *unit = units, *units_end = units + sizeof units / sizeof *units;
    int64_t sum = 0;
    for (bool more = true; more;) {
        struct decimal number;
        if (!read_decimal(&text, &number)) return PAWL_ERR_ARG;
        size_t len = strspn(text, "dhms");
        while (unit < units_end &&
               (strlen(unit->name) != len || memcmp(unit->name, text, len) != 0)) {
            unit++;
        }
        if (unit == units_end || !add_units(&sum, &number, unit->ms)) return PAWL_ERR_ARG;
        unit++;
        text += len;
        more = *text != '\0';
        if (more && number.scale > 1) return PAWL_ERR_ARG; // only the last has a fraction
        text += *text == ' ';
    }
    *out_ms = sum;
    return PAWL_OK;
}

struct iso_unit {
    char letter;
    bool of_time; /* comes after the T */
    int64_t ms;
};

/* The part after the "P". Units come in this order, each at most once, with a T before the first
 * unit of time. `calendar`: years and months are allowed, and only seconds have a fraction. */
static enum pawl_err parse_iso(const char *text, bool calendar, int64_t *out_ms)
{
    static const struct iso_unit units[] = {
        { 'Y', false, 365 * MS_PER_DAY }, { 'M', false, 30 * MS_PER_DAY },
        { 'W', false, 7 * MS_PER_DAY },   { 'D', false, MS_PER_DAY },
        { 'H', true, MS_PER_HOUR },       { 'M', true, MS_PER_MINUTE },
        { 'S', true, MS_PER_S }
    };
    const struct iso_unit *unit = calendar ? units : units + 2;
    const struct iso_unit *units_end = units + sizeof units / sizeof *units;
    int64_t sum = 0;
    bool in_time = false;
    if (calendar && strchr(text, ',')) return PAWL_ERR_ARG;
    do {
        if (*text == 'T' && !in_time) {
            in_time = true;
            text++;
        }
        struct decimal number;
        if (!read_decimal(&text, &number)) return PAWL_ERR_ARG;
        while (unit < units_end && (unit->letter != *text || unit->of_time != in_time)) {
            unit++;
        }
        if (unit == units_end || !add_units(&sum, &number, unit->ms)) return PAWL_ERR_ARG;
        if (calendar && number.scale > 1 && *text != 'S') return PAWL_ERR_ARG;
        unit++;
        text++;
        if (number.scale > 1 && *text != '\0') return PAWL_ERR_ARG; // only the last has a fraction
    } while (*text != '\0');
    *out_ms = sum;
    return PAWL_OK;
}

enum pawl_err pawl__duration_parse(const char *text, int64_t *out_ms)
{
    assert(text);
    return *text == 'P' ? parse_iso(text + 1, false, out_ms) : parse_plain(text, out_ms);
}

enum pawl_err pawl__iso_duration_parse(const char *text, int64_t *out_ms)
{
    return *text == 'P' ? parse_iso(text + 1, true, out_ms) : PAWL_ERR_ARG;
}

void pawl__duration_text(int64_t ms, char out[PAWL__DURATION_TEXT_BYTES])
{
    static const struct unit units[] = {
        { "d", MS_PER_DAY }, { "h", MS_PER_HOUR }, { "m", MS_PER_MINUTE }, { "s", MS_PER_S }
    };
    const char *sign = ms < 0 ? "-" : "";
    uint64_t left = ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms;
    for (size_t i = 0; i < 3; i++) { // the two largest units; smaller ones are dropped
        uint64_t big = left / (uint64_t)units[i].ms;
        uint64_t small = left % (uint64_t)units[i].ms / (uint64_t)units[i + 1].ms;
        if (big == 0) continue;
        int len = snprintf(out, PAWL__DURATION_TEXT_BYTES, "%s%llu%s", sign,
                           (unsigned long long)big, units[i].name);
        if (small == 0) return;
        snprintf(out + len, PAWL__DURATION_TEXT_BYTES - (size_t)len, " %d%s", (int)small,
                 units[i + 1].name);
        return;
    }
    int rest = (int)left, tenth = rest % 1000 / 100;
    if (rest > 0 && rest < 1000) {
        snprintf(out, PAWL__DURATION_TEXT_BYTES, "%s%dms", sign, rest);
    } else if (tenth) {
        snprintf(out, PAWL__DURATION_TEXT_BYTES, "%s%d.%ds", sign, rest / 1000, tenth);
    } else {
        snprintf(out, PAWL__DURATION_TEXT_BYTES, "%s%ds", sign, rest / 1000);
    }
}

/* ---- instants ---- */

/* Exactly `digits` digits, and a value in [min, max]. */
static bool read_field(const char **at, int digits, int min, int max, int *out)
{
    int value = 0;
    for (int i = 0; i < digits; i++, (*at)++) {
        if (!is_digit(**at)) return false; // also for the NUL, so nothing after it is read
        value = value * 10 + (**at - '0');
    }
    *out = value;
    return value >= min && value <= max;
}

static bool read_char(const char **at, const char *any_of)
{
    if (**at == '\0' || !strchr(any_of, **at)) return false;
    (*at)++;
    return true;
}

static bool read_date(const char **at, int64_t *days)
{
    int year, month, day;
    if (!read_field(at, 4, 0, 9999, &year) || !read_char(at, "-")) return false;
    if (!read_field(at, 2, 1, 12, &month) || !read_char(at, "-")) return false;
    if (!read_field(at, 2, 1, pawl__days_in_month(year, month), &day)) return false;
    *days = pawl__days_from_date((struct pawl__date){ .year = year, .month = month, .day = day });
    return true;
}

static bool read_fraction_ms(const char **at, int *out_ms)
{
    *out_ms = 0;
    if (!read_char(at, ".")) return true;
    if (!is_digit(**at)) return false;
    for (int worth = 100; is_digit(**at); worth /= 10, (*at)++) {
        *out_ms += (**at - '0') * worth;
    }
    return true;
}

static bool read_offset_minutes(const char **at, int *out)
{
    int hours, minutes;
    *out = 0;
    if (read_char(at, "Zz")) return true;
    int sign = **at == '-' ? -1 : 1;
    if (!read_char(at, "+-")) return false;
    if (!read_field(at, 2, 0, 23, &hours) || !read_char(at, ":")) return false;
    if (!read_field(at, 2, 0, 59, &minutes)) return false;
    *out = sign * (hours * 60 + minutes);
    return true;
}

/* Leap seconds are only ever inserted before midnight UTC at the end of a month, so that the second
 * after one begins a month. */
static bool begins_month(int64_t at_ms)
{
    int64_t days = pawl__floor_div(at_ms, MS_PER_DAY);
    return at_ms - days * MS_PER_DAY < MS_PER_S && pawl__date_from_days(days).day == 1;
}

enum pawl_err pawl__instant_parse(const char *text, int64_t *out_ms)
{
    assert(text);
    int64_t days;
    int hour, minute, second, fraction_ms, offset;
    if (!read_date(&text, &days) || !read_char(&text, "Tt ")) return PAWL_ERR_ARG;
    if (!read_field(&text, 2, 0, 23, &hour) || !read_char(&text, ":")) return PAWL_ERR_ARG;
    if (!read_field(&text, 2, 0, 59, &minute) || !read_char(&text, ":")) return PAWL_ERR_ARG;
    if (!read_field(&text, 2, 0, 60, &second)) return PAWL_ERR_ARG;
    if (!read_fraction_ms(&text, &fraction_ms)) return PAWL_ERR_ARG;
    if (!read_offset_minutes(&text, &offset) || *text != '\0') return PAWL_ERR_ARG;
    int64_t at_ms = days * MS_PER_DAY + hour * MS_PER_HOUR + (minute - offset) * MS_PER_MINUTE +
                    second * MS_PER_S + fraction_ms;
    if (second == 60 && !begins_month(at_ms)) return PAWL_ERR_ARG;
    int64_t year = pawl__date_from_days(pawl__floor_div(at_ms, MS_PER_DAY)).year;
    if (year < 0 || year > 9999) return PAWL_ERR_ARG; // the offset leads out of the valid range
    *out_ms = at_ms;
    return PAWL_OK;
}

static char *put_digits(char *at, int64_t value, int digits)
{
    for (int i = digits - 1; i >= 0; i--) {
        at[i] = (char)('0' + value % 10);
        value /= 10;
    }
    return at + digits;
}

/* Four digits; years that do not fit get a sign and as many digits as they need. */
static char *put_year(char *at, int64_t year)
{
    if (year >= 0 && year <= 9999) return put_digits(at, year, 4);
    *at++ = year < 0 ? '-' : '+';
    if (year < 0) year = -year;
    int digits = 4;
    for (int64_t rest = year / 10000; rest > 0; rest /= 10) {
        digits++;
    }
    return put_digits(at, year, digits);
}

void pawl__instant_text(int64_t at_ms, char out[PAWL__INSTANT_TEXT_BYTES])
{
    int64_t days = pawl__floor_div(at_ms, MS_PER_DAY);
    int64_t rest = at_ms % MS_PER_DAY;
    if (rest < 0) rest += MS_PER_DAY; // not at_ms - days * MS_PER_DAY, whose product may overflow
    struct pawl__date date = pawl__date_from_days(days);
    char *at = put_year(out, date.year);
    *at++ = '-';
    at = put_digits(at, date.month, 2);
    *at++ = '-';
    at = put_digits(at, date.day, 2);
    *at++ = 'T';
    at = put_digits(at, rest / MS_PER_HOUR, 2);
    *at++ = ':';
    at = put_digits(at, rest / MS_PER_MINUTE % 60, 2);
    *at++ = ':';
    at = put_digits(at, rest / MS_PER_S % 60, 2);
    *at++ = '.';
    at = put_digits(at, rest % MS_PER_S, 3);
    *at++ = 'Z';
    *at = '\0';
}
