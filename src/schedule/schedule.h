/* When something recurs: cron expressions, intervals ("@every"), lists of instants; time zones;
 * expressions in words. Pure, the time is an argument; only struct pawl__zones reads files.
 *
 * Instants are ms since the epoch, UTC; PAWL__NEVER is none. Local times are seconds since
 * 1970-01-01T00:00:00 in the zone's own time. Only zones are allocated.
 *
 *     struct pawl__timetable table = { .zone = zone, .gap = gap, .start_at_ms = start };
 *     err = pawl__cron_parse(expression, dialect, &table.cron, &reason, diag);
 *     next = pawl__timetable_next(&table, now_ms);
 *     ... once next <= now_ms:
 *     pawl__timetable_late(&table, &rule, fires, &late); // what fires, what not, and the new next
 */
#ifndef PAWL_SCHEDULE_H
#define PAWL_SCHEDULE_H

#include "base/buf.h"

#include <pawl/calendar.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAWL__NEVER INT64_MAX

enum { PAWL__PASSED_MAX = 10000 }; /* instants that did not fire are counted up to here */

/* ---- expressions ---- */

enum { PAWL__CRON_YEAR_MIN = 1970, PAWL__CRON_YEAR_MAX = 2199 };

/* A parsed expression: plain data, without pointers. Bit n of a set stands for the number n; of
 * weekdays, 0 is Sunday; of years, 0 is 1970. */
struct pawl__cron {
    int64_t every_ms; /* "@every"; then nothing else is set */
    uint64_t seconds, minutes;
    uint32_t hours, days, months, weekdays;
    uint64_t years[4];
    uint32_t days_from_last;    /* bit n: n days before the last of the month */
    uint32_t nearest;           /* bit n: the weekday nearest to day n */
    uint32_t nearest_from_last; /* bit n: nearest to n days before the last */
    uint64_t weekdays_nth;      /* bit 7 * (k - 1) + d: the k-th weekday d */
    uint32_t weekdays_last;     /* bit d: the last weekday d */
    bool days_free, weekdays_free;
    bool names_hour; /* the set of hours is not all 24 */
};

/* Parses an expression, and checks all that depends on neither zone nor time. ARG: `reason` (may be
 * NULL) is set; the diagnosis has the field "expression". */
PAWL_MUST_CHECK enum pawl_err pawl__cron_parse(const char *text, enum pawl_dialect dialect,
                                               struct pawl__cron *out,
                                               enum pawl_cron_reason *reason,
                                               struct pawl_diag *diag);

/* ---- zones ---- */

/* A time zone as its file was when it was read: immutable, counted. */
struct pawl__zone;

const struct pawl__zone *pawl__zone_utc(void); /* static: needs no unref */
const struct pawl__zone *pawl__zone_ref(const struct pawl__zone *zone);
void pawl__zone_unref(const struct pawl__zone *zone); /* NULL is allowed */
const char *pawl__zone_name(const struct pawl__zone *zone);
/* Equal if the offsets are, from 1970 to 2199: to see whether a file has brought changes. */
uint64_t pawl__zone_digest(const struct pawl__zone *zone);
/* Seconds east of UTC. */
int32_t pawl__zone_offset(const struct pawl__zone *zone, int64_t at_ms);
/* Two or three parts of letters, digits, "_", "+" and "-", or "UTC"? */
bool pawl__zone_is_name(const char *name);
/* Parses a TZif file (RFC 8536, version 2 or later). ARG: damaged, without a 64-bit block, or with
 * leap seconds; the field is "zone". NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__zone_parse(const char *name, const void *bytes, size_t len,
                                               const struct pawl__zone **out,
                                               struct pawl_diag *diag);

/* Zones by name, from the system's files. A file is read once; a second call does not touch the
 * disk. Any thread. */
struct pawl__zones;

/* `folder` NULL: the system's. It is borrowed for as long as the zones. NULL: out of memory. */
struct pawl__zones *pawl__zones_new(const char *folder);
/* Zones to which there are references stay valid. */
void pawl__zones_free(struct pawl__zones *zones);
/* Gives a reference. ARG: the name is not one, there is no such file, or it cannot be used; the
 * field is "zone". A zone whose file has vanished is ARG too: schedules in it must wait, since
 * another zone would be wrong. NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__zones_get(struct pawl__zones *zones, const char *name,
                                              const struct pawl__zone **out,
                                              struct pawl_diag *diag);
/* At most once a minute of `mono_us` looks whether files have changed, and reads those that have;
 * references that are given out keep the old zone. Returns a number that grows when a zone has
 * changed, vanished or come back: `next` must then be computed anew (pawl__timetable_renew). */
uint64_t pawl__zones_refresh(struct pawl__zones *zones, int64_t mono_us);

/* ---- timetables ---- */

/* When a schedule fires. Filled in by the caller, whose pointers it borrows. */
struct pawl__timetable {
    struct pawl__cron cron;  /* unless there are instants */
    const int64_t *instants; /* sorted, without doubles: pawl__instants_sort */
    size_t instant_count;
    const struct pawl__zone *zone; /* required by expressions other than "@every" */
    enum pawl_gap gap;             /* DEFAULT: skip */
    int64_t anchor_at_ms;          /* "@every" fires at anchor + k * interval, k >= 0 */
    int64_t start_at_ms;           /* instants lie in [start, end); 0: no bound */
    int64_t end_at_ms;
};

/* Sorts, drops doubles, and returns the new count. */
size_t pawl__instants_sort(int64_t *instants, size_t count);

/* The first instant strictly after `after_ms`. About a microsecond, however rare it is; a hundred
 * if clocks swallow it year after year. */
int64_t pawl__timetable_next(const struct pawl__timetable *table, int64_t after_ms);
/* The last instant strictly before `before_ms`. Some tens of microseconds. */
int64_t pawl__timetable_previous(const struct pawl__timetable *table, int64_t before_ms);

/* The local time of an instant, to be stored with the last firing for pawl__timetable_renew; 0 if
 * the table has no zone. */
int64_t pawl__timetable_local_s(const struct pawl__timetable *table, int64_t at_ms);
/* After a change of the zone's rules: the first instant after the last settled one. An instant with
 * the local time of the last firing is passed over if the expression names an hour, because it has
 * fired under the old rules. The result may be in the past: then it is late. */
int64_t pawl__timetable_renew(const struct pawl__timetable *table, int64_t settled_at_ms,
                              int64_t last_local_s);

/* Instants that did not fire. */
struct pawl__passed {
    int64_t first_at_ms; /* 0 if there are none */
    int64_t last_at_ms;
    int32_t count; /* PAWL__PASSED_MAX: that many or more */
};

/* Those in [from_ms, until_ms]. A year of seconds takes no longer than one of days: whole months
 * are counted at once. */
struct pawl__passed pawl__timetable_passed(const struct pawl__timetable *table, int64_t from_ms,
                                           int64_t until_ms);

struct pawl__late_rule {
    int64_t due_at_ms; /* the stored next, not after now; it counts even if the rules of the zone
                          have changed and it is no instant any more */
    int64_t now_ms;
    int64_t late_max_ms; /* instants later than this do not fire [no limit] */
    int32_t fires_max;   /* of several: 0 for skip, 1 for once, n for catch_up */
};

struct pawl__late {
    int32_t fire_count;         /* that many fire, in order */
    struct pawl__passed passed; /* the others */
    int64_t next_at_ms;         /* the first after now */
};

/* What happens to the instants up to now. One that is alone fires; of several, the oldest
 * fires_max. `fires` has room for fires_max, and at least one. */
void pawl__timetable_late(const struct pawl__timetable *table, const struct pawl__late_rule *rule,
                          int64_t *fires, struct pawl__late *out);

/* Local times of a table that a gap swallows. */
struct pawl__lost {
    int64_t gap_at_ms;     /* the instant at which clocks jump */
    int64_t first_local_s; /* of the lost times */
    int64_t last_local_s;
    int32_t count; /* PAWL__PASSED_MAX: that many or more */
};

/* The first gap in (after_ms, until_ms] that swallows times; false: there is none. A gap for which
 * a shifted instant makes up is not reported. */
bool pawl__timetable_lost(const struct pawl__timetable *table, int64_t after_ms, int64_t until_ms,
                          struct pawl__lost *out);

/* What is special about an instant of the table: never LOST. */
enum pawl_fire_note pawl__timetable_note(const struct pawl__timetable *table, int64_t at_ms);

/* Appends the timetable in English: "every weekday at 09:00 Europe/Berlin". */
void pawl__timetable_words(const struct pawl__timetable *table, struct pawl__buf *out);
/* Appends what changes of the clocks do to a table that names an hour, in [from_ms, until_ms):
 * "; 2027-03-28: 02:30 does not exist, skipped". Often nothing. */
void pawl__timetable_clock_words(const struct pawl__timetable *table, int64_t from_ms,
                                 int64_t until_ms, struct pawl__buf *out);

/* ---- jitter ---- */

/* How long after `at_ms` the job of schedule `name` is due: 0 to `jitter_ms`, the same on every
 * node, and less than the distance to `next_at_ms` (which may be PAWL__NEVER). */
int64_t pawl__jitter_ms(const char *name, int64_t at_ms, int64_t jitter_ms, int64_t next_at_ms);

#endif
