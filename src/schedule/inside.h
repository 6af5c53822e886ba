/* What the files of this room share. */
#ifndef PAWL_SCHEDULE_INSIDE_H
#define PAWL_SCHEDULE_INSIDE_H

#include "schedule/schedule.h"

#include "base/date.h"

#include <stdatomic.h>

enum {
    S_PER_MINUTE = 60,
    S_PER_HOUR = 3600,
    S_PER_DAY = 86400,
    YEARS = PAWL__CRON_YEAR_MAX - PAWL__CRON_YEAR_MIN + 1,
    ALIKE_S = 3 * S_PER_DAY, /* instants this far apart have their local times in the same order */
    SHIFT_S_MAX = 3 * S_PER_HOUR /* longer gaps are not made up for */
};

#define MS_PER_S INT64_C(1000)
#define RANGE_END_S INT64_C(7258118400) /* local: 2200-01-01T00:00:00; the first is 0 */
#define LOCAL_NEVER INT64_MAX

static inline int64_t max_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t min_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- fields (cron_field.c) ---- */

enum pawl__cron_field {
    PAWL__FIELD_SECOND,
    PAWL__FIELD_MINUTE,
    PAWL__FIELD_HOUR,
    PAWL__FIELD_DAY,
    PAWL__FIELD_MONTH,
    PAWL__FIELD_WEEKDAY,
    PAWL__FIELD_YEAR,
    PAWL__FIELDS
};

struct pawl__cron_text {
    const char *at;
    size_t len;
};

/* Where and why an expression is refused. */
struct pawl__cron_fault {
    enum pawl_cron_reason reason;
    const char *field;           /* "minute"; NULL: the whole expression */
    struct pawl__cron_text text; /* the offending part */
    int min, max;                /* if reason is OUT_OF_RANGE */
};

/* Parses a field into its set of `cron`. False: refused. */
bool pawl__cron_read_field(enum pawl__cron_field field, bool quartz, struct pawl__cron_text text,
                           struct pawl__cron *cron, struct pawl__cron_fault *fault);
const char *pawl__cron_field_name(enum pawl__cron_field field);

/* ---- local times (local.c) ---- */

/* The days of a month on which an expression fires: bit n is day n. */
uint32_t pawl__cron_days(const struct pawl__cron *cron, int year, int month);
/* The first local time >= `from_s` that matches, or LOCAL_NEVER. */
int64_t pawl__cron_next_local(const struct pawl__cron *cron, int64_t from_s);
/* How many local times in [from_s, until_s) match. */
int64_t pawl__cron_count_local(const struct pawl__cron *cron, int64_t from_s, int64_t until_s);

/* ---- zones ---- */

/* Time in a zone consists of pieces. In each the offset is constant, and either all local times are
 * new, or all have been before, because clocks were set back over them (`again`). Piece i begins at
 * starts[i], the first in the infinite past. Neighbours differ in offset or in `again`. */
struct pawl__zone {
    atomic_int refs;
    uint64_t digest;
    size_t count;
    const int64_t *starts; /* in seconds; offsets and again follow in the same block */
    const int32_t *offsets;
    const bool *again;
    char name[PAWL_ZONE_BYTES_MAX + 1];
};

/* An offset that holds from an instant on. */
struct pawl__zone_change {
    int64_t at_s;
    int32_t offset_s;
};

enum { PAWL__ZONE_RULE_CHANGES_MAX = 2 * (YEARS + 4) };

/* The footer of a TZif file ("CET-1CEST,M3.5.0,M10.5.0/3") as the changes that it makes from 1968
 * to 2201, in order; none if its offset is constant. False: it is not valid. */
bool pawl__zone_rule(const char *text, size_t len,
                     struct pawl__zone_change out[PAWL__ZONE_RULE_CHANGES_MAX], size_t *count);

/* The index of the piece that holds an instant. */
size_t pawl__zone_piece(const struct pawl__zone *zone, int64_t at_s);
/* The end of a piece; INT64_MAX of the last one. */
static inline int64_t pawl__zone_piece_end(const struct pawl__zone *zone, size_t piece)
{
    return piece + 1 < zone->count ? zone->starts[piece + 1] : INT64_MAX;
}
/* By how many seconds clocks are set forward at the beginning of a piece; negative: back. */
static inline int64_t pawl__zone_jump(const struct pawl__zone *zone, size_t piece)
{
    return piece == 0 ? 0 : (int64_t)zone->offsets[piece] - zone->offsets[piece - 1];
}

/* True if the table's instants depend on local time. */
static inline bool pawl__timetable_is_local(const struct pawl__timetable *table)
{
    return !table->instants && table->cron.every_ms == 0;
}

/* The first local time, if any, that a gap at the beginning of `piece` swallows. */
int64_t pawl__gap_first(const struct pawl__timetable *table, size_t piece);
/* True if one instant at the beginning of `piece` makes up for what the gap swallows. */
bool pawl__gap_shifts(const struct pawl__timetable *table, size_t piece);

/* ---- words ---- */

/* Appends texts one by one as a list: "a", "a and b", "a, b and c". */
struct pawl__listing {
    struct pawl__buf *out;
    int left; /* elements to come */
    int done;
};

/* Appends what stands before the next element. */
void pawl__listing_next(struct pawl__listing *listing);
/* Appends the numbers of a set, runs of three or more as "5 to 9". */
void pawl__words_numbers(struct pawl__buf *out, uint64_t set);

/* The days in words. With times they come first ("every day at 09:00"), after a rate last ("every
 * 5 minutes on weekdays"); then all days are nothing. */
enum pawl__days_style { PAWL__DAYS_FIRST, PAWL__DAYS_LAST };
void pawl__words_days(const struct pawl__cron *cron, enum pawl__days_style style,
                      struct pawl__buf *out);

#endif
