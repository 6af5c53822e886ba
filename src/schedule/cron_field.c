/* One field of an expression: lists, ranges, steps, names and the special forms of the day fields.
 *
 * What is wrong first is reported: "?", then the list, then each element from left to right; in an
 * element the step before the value. */
#include "schedule/inside.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { DIGITS_MAX = 4, NAME_LEN = 3 };

struct field {
    const char *name;
    int min, max; /* of values as they are written */
    int step_max;
    const char *const *names; /* the first stands for names_from; NULL: none */
    int name_count, names_from;
};

static const char *const months[] = { "JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                      "JUL", "AUG", "SEP", "OCT", "NOV", "DEC" };
static const char *const weekdays[] = { "SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT" };

static const struct field fields[PAWL__FIELDS] = {
    [PAWL__FIELD_SECOND] = { "second", 0, 59, 59, NULL, 0, 0 },
    [PAWL__FIELD_MINUTE] = { "minute", 0, 59, 59, NULL, 0, 0 },
    [PAWL__FIELD_HOUR] = { "hour", 0, 23, 23, NULL, 0, 0 },
    [PAWL__FIELD_DAY] = { "day of month", 1, 31, 31, NULL, 0, 0 },
    [PAWL__FIELD_MONTH] = { "month", 1, 12, 12, months, 12, 1 },
    [PAWL__FIELD_WEEKDAY] = { "day of week", 0, 7, 7, weekdays, 7, 0 }, // 0 and 7 are Sunday
    [PAWL__FIELD_YEAR] = { "year", PAWL__CRON_YEAR_MIN, PAWL__CRON_YEAR_MAX, 229, NULL, 0, 0 },
};
static const struct field quartz_weekday = { "day of week", 1, 7, 7, weekdays, 7, 1 };

/* The field that is being read. */
struct reader {
    enum pawl__cron_field which;
    const struct field *field;
    bool quartz;
    struct pawl__cron *cron;
    struct pawl__cron_fault *fault;
};

const char *pawl__cron_field_name(enum pawl__cron_field field)
{
    return fields[field].name;
}

/* ---- small things ---- */

static bool refuse(struct reader *reader, enum pawl_cron_reason reason, struct pawl__cron_text text)
{
    *reader->fault = (struct pawl__cron_fault){ .reason = reason,
                                                .field = reader->field->name,
                                                .text = text,
                                                .min = reader->field->min,
                                                .max = reader->field->max };
    return false;
}

static bool refuse_range(struct reader *reader, struct pawl__cron_text text, int min, int max)
{
    refuse(reader, PAWL_CRON_REASON_OUT_OF_RANGE, text);
    reader->fault->min = min;
    reader->fault->max = max;
    return false;
}

static struct pawl__cron_text part(struct pawl__cron_text text, size_t from, size_t to)
{
    return (struct pawl__cron_text){ text.at + from, to - from };
}

/* The offset of a character, or text.len. */
static size_t find(struct pawl__cron_text text, char c)
{
    const char *at = memchr(text.at, c, text.len);
    return at ? (size_t)(at - text.at) : text.len;
}

static bool ends_in(struct pawl__cron_text text, char upper)
{
    return text.len > 0 && toupper((unsigned char)text.at[text.len - 1]) == upper;
}

/* 1 to 4 digits. */
static bool read_number(struct pawl__cron_text text, int *out)
{
    if (text.len == 0 || text.len > DIGITS_MAX) return false;
    int value = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (!isdigit((unsigned char)text.at[i])) return false;
        value = value * 10 + (text.at[i] - '0');
    }
    *out = value;
    return true;
}

static bool read_name(const struct field *field, struct pawl__cron_text text, int *out)
{
    if (text.len != NAME_LEN) return false;
    for (int i = 0; i < field->name_count; i++) {
        if (strncasecmp(text.at, field->names[i], NAME_LEN) != 0) continue;
        *out = field->names_from + i;
        return true;
    }
    return false;
}

static bool is_value(const struct field *field, struct pawl__cron_text text)
{
    int value;
    return read_number(text, &value) || read_name(field, text, &value);
}

/* A number or name within the field's range. */
static bool read_value(struct reader *reader, struct pawl__cron_text text, int *out)
{
    if (read_name(reader->field, text, out)) return true;
    if (!read_number(text, out)) return refuse(reader, PAWL_CRON_REASON_BAD_VALUE, text);
    if (*out >= reader->field->min && *out <= reader->field->max) return true;
    return refuse(reader, PAWL_CRON_REASON_OUT_OF_RANGE, text);
}

/* A number in [min, max] that is no value of the field, such as the 2 of "MON#2". */
static bool read_count(struct reader *reader, struct pawl__cron_text text, int min, int max,
                       int *out)
{
    if (!read_number(text, out)) return refuse(reader, PAWL_CRON_REASON_BAD_VALUE, text);
    if (*out >= min && *out <= max) return true;
    return refuse_range(reader, text, min, max);
}

/* ---- sets ---- */

/* How many values a field has; weekdays are 7, though cron writes Sunday in two ways. */
static int size_of(const struct reader *reader)
{
    if (reader->which == PAWL__FIELD_WEEKDAY) return 7;
    return reader->field->max - reader->field->min + 1;
}

/* The place of a value in its field, from 0. */
static int place_of(const struct reader *reader, int value)
{
    return (value - reader->field->min) % size_of(reader);
}

static void add(struct reader *reader, int place)
{
    struct pawl__cron *cron = reader->cron;
    int value = reader->field->min + place;
    switch (reader->which) {
    case PAWL__FIELD_SECOND:
        cron->seconds |= UINT64_C(1) << value;
        break;
    case PAWL__FIELD_MINUTE:
        cron->minutes |= UINT64_C(1) << value;
        break;
    case PAWL__FIELD_HOUR:
        cron->hours |= UINT32_C(1) << value;
        break;
    case PAWL__FIELD_DAY:
        cron->days |= UINT32_C(1) << value;
        break;
    case PAWL__FIELD_MONTH:
        cron->months |= UINT32_C(1) << value;
        break;
    case PAWL__FIELD_WEEKDAY:
        cron->weekdays |= UINT32_C(1) << place;
        break;
    case PAWL__FIELD_YEAR:
        cron->years[place / 64] |= UINT64_C(1) << place % 64;
        break;
    case PAWL__FIELDS:
        break;
    }
}

/* Every `step`-th of the `span` + 1 places from `first` on, around the end of the field. */
static void add_run(struct reader *reader, int first, int span, int step)
{
    for (int i = 0; i <= span; i += step) {
        add(reader, (first + i) % size_of(reader));
    }
}

/* ---- special forms ---- */

/* "L", "L-3", "LW", "15W", "MON#2", "5L"; also when it is in the wrong field or broken. */
static bool is_special(const struct field *field, struct pawl__cron_text text)
{
    if (find(text, '#') < text.len) return true;
    if (text.len > 0 && toupper((unsigned char)text.at[0]) == 'L') {
        if (text.len == 1 || text.at[1] == '-' || toupper((unsigned char)text.at[1]) == 'W') {
            return true;
        }
    }
    if (!ends_in(text, 'L') && !ends_in(text, 'W')) return false;
    if (is_value(field, text)) return false; // JUL
    struct pawl__cron_text stem = part(text, 0, text.len - 1);
    return is_value(field, stem) || find(stem, '-') < stem.len; // 5L, and the misplaced 1-5L
}

/* "L", "L-n", "LW", "L-nW" as day of the month. */
static bool read_from_last(struct reader *reader, struct pawl__cron_text text)
{
    bool nearest = ends_in(text, 'W');
    uint32_t *set = nearest ? &reader->cron->nearest_from_last : &reader->cron->days_from_last;
    struct pawl__cron_text rest = part(text, 1, text.len - nearest);
    int n = 0;
    if (rest.len > 0) {
        if (rest.at[0] != '-') return refuse(reader, PAWL_CRON_REASON_BAD_VALUE, text);
        if (!read_count(reader, part(rest, 1, rest.len), 1, 30, &n)) return false;
    }
    *set |= UINT32_C(1) << n;
    return true;
}

static bool read_special_day(struct reader *reader, struct pawl__cron_text text)
{
    if (toupper((unsigned char)text.at[0]) == 'L') return read_from_last(reader, text);
    if (!ends_in(text, 'W') || find(text, '-') < text.len || find(text, '#') < text.len) {
        return refuse(reader, PAWL_CRON_REASON_MISPLACED, text);
    }
    int day;
    if (!read_value(reader, part(text, 0, text.len - 1), &day)) return false;
    reader->cron->nearest |= UINT32_C(1) << day;
    return true;
}

static bool read_special_weekday(struct reader *reader, struct pawl__cron_text text)
{
    size_t hash = find(text, '#');
    int day, nth;
    if (text.len == 1 && reader->quartz) { // L alone: the last of the week
        add(reader, 6);
        return true;
    }
    if (find(text, '-') < text.len || ends_in(text, 'W') || text.len == 1 || hash + 1 == text.len) {
        return refuse(reader, PAWL_CRON_REASON_MISPLACED, text);
    }
    if (hash == text.len) {
        if (!read_value(reader, part(text, 0, text.len - 1), &day)) return false;
        reader->cron->weekdays_last |= UINT32_C(1) << place_of(reader, day);
        return true;
    }
    if (!read_value(reader, part(text, 0, hash), &day)) return false;
    if (!read_count(reader, part(text, hash + 1, text.len), 1, 5, &nth)) return false;
    reader->cron->weekdays_nth |= UINT64_C(1) << (7 * (nth - 1) + place_of(reader, day));
    return true;
}

static bool read_special(struct reader *reader, struct pawl__cron_text text, bool has_step)
{
    if (!has_step && reader->which == PAWL__FIELD_DAY) return read_special_day(reader, text);
    if (!has_step && reader->which == PAWL__FIELD_WEEKDAY) {
        return read_special_weekday(reader, text);
    }
    return refuse(reader, PAWL_CRON_REASON_MISPLACED, text);
}

/* ---- elements ---- */

/* "a-b": if b comes before a, the run goes on around the end. */
static bool read_range(struct reader *reader, struct pawl__cron_text text, int step)
{
    size_t dash = find(text, '-');
    struct pawl__cron_text left = part(text, 0, dash), right = part(text, dash + 1, text.len);
    int a, b;
    if (left.len == 0 || right.len == 0) return refuse(reader, PAWL_CRON_REASON_BAD_RANGE, text);
    if (!read_value(reader, left, &a) || !read_value(reader, right, &b)) return false;
    if (reader->which == PAWL__FIELD_YEAR && a > b) {
        return refuse(reader, PAWL_CRON_REASON_BAD_RANGE, text);
    }
    int first = place_of(reader, a), span = place_of(reader, b) - first;
    if (span < 0) span += size_of(reader);
    if (a == 0 && b == 7) span = 7; // from Sunday to Sunday, as far as this field has a 0 and a 7
    add_run(reader, first, span, step);
    return true;
}

static bool read_element(struct reader *reader, struct pawl__cron_text text)
{
    size_t slash = find(text, '/');
    bool has_step = slash < text.len;
    int step = 1, value;
    struct pawl__cron_text stem = part(text, 0, slash);
    if (has_step) {
        struct pawl__cron_text digits = part(text, slash + 1, text.len);
        if (!read_number(digits, &step) || step < 1 || step > reader->field->step_max) {
            return refuse(reader, PAWL_CRON_REASON_BAD_STEP, text);
        }
    }
    if (is_special(reader->field, stem)) return read_special(reader, stem, has_step);
    if (stem.len == 1 && *stem.at == '*') {
        add_run(reader, 0, size_of(reader) - 1, step);
        return true;
    }
    if (find(stem, '-') < stem.len) return read_range(reader, stem, step);
    if (!read_value(reader, stem, &value)) return false;
    int first = place_of(reader, value);
    add_run(reader, first, has_step ? size_of(reader) - 1 - first : 0, step);
    return true;
}

/* A list has no empty elements, and none that stands for all. */
static bool check_list(struct reader *reader, struct pawl__cron_text text)
{
    if (find(text, ',') == text.len) return true;
    for (size_t at = 0, len; at <= text.len; at += len + 1) {
        struct pawl__cron_text rest = part(text, at, text.len);
        len = find(rest, ',');
        struct pawl__cron_text element = part(rest, 0, len);
        if (len == 0 || find(element, '*') < len || find(element, '?') < len) {
            return refuse(reader, PAWL_CRON_REASON_BAD_LIST, text);
        }
    }
    return true;
}

bool pawl__cron_read_field(enum pawl__cron_field field, bool quartz, struct pawl__cron_text text,
                           struct pawl__cron *cron, struct pawl__cron_fault *fault)
{
    struct reader reader = {
        .which = field, .field = &fields[field], .quartz = quartz, .cron = cron, .fault = fault
    };
    bool of_days = field == PAWL__FIELD_DAY || field == PAWL__FIELD_WEEKDAY;
    if (quartz && field == PAWL__FIELD_WEEKDAY) reader.field = &quartz_weekday;
    if (text.len == 1 && *text.at == '?') {
        return of_days || refuse(&reader, PAWL_CRON_REASON_MISPLACED, text);
    }
    if (!check_list(&reader, text)) return false;
    for (size_t at = 0, len; at <= text.len; at += len + 1) {
        len = find(part(text, at, text.len), ',');
        if (!read_element(&reader, part(text, at, at + len))) return false;
    }
    return true;
}
