/* Recurring expressions ("0 9 * * 1-5" in "Europe/Berlin"): checking one, its coming fires, and the
 * same in words. No store is needed. docs/cron.md describes the expressions.
 *
 * Fields `_at_ms` are UTC milliseconds since the epoch. All functions may be called from any
 * thread; they read the zone's file each time, and allocate nothing that the caller must free. */
#ifndef PAWL_CALENDAR_H
#define PAWL_CALENDAR_H

#include <pawl/error.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

enum {
    PAWL_CRON_BYTES_MAX = 255, /* of an expression */
    PAWL_ZONE_BYTES_MAX = 63,  /* of a zone's name */
    PAWL_INSTANTS_MAX = 1000   /* of a list of instants */
};

/* How an expression is read. AUTO: with 7 fields, or with 6 of which exactly one day field is "?",
 * as Quartz; else as cron. In Quartz Sunday is 1, one day field must be "?", and a year may follow.
 */
/* number, NAME, text */
#define PAWL_DIALECTS(X)                                                                           \
    X(1, AUTO, "auto")                                                                             \
    X(2, CRON, "cron")                                                                             \
    X(3, QUARTZ, "quartz")

#define X(number, name, ...) PAWL_DIALECT_##name = number,
enum pawl_dialect { PAWL_DIALECT_DEFAULT = 0, PAWL_DIALECTS(X) PAWL_DIALECT_END };
#undef X

/* What an expression that names an hour does about local times that clocks jump over: they are
 * lost, or, if the gap is at most 3 hours, made up for by one firing at its end. */
/* number, NAME, text */
#define PAWL_GAPS(X)                                                                               \
    X(1, SKIP, "skip")                                                                             \
    X(2, SHIFT, "shift")

#define X(number, name, ...) PAWL_GAP_##name = number,
enum pawl_gap { PAWL_GAP_DEFAULT = 0, PAWL_GAPS(X) PAWL_GAP_END };
#undef X

/* Why an expression is refused; docs/cron.md has examples. */
/* number, NAME, code, text */
#define PAWL_CRON_REASONS(X)                                                                       \
    X(1, TOO_LONG, "too_long", "an expression has at most 255 characters")                         \
    X(2, BAD_CHARACTER, "bad_character", "an expression is printable ASCII, spaces and tabs")      \
    X(3, EMPTY, "empty", "an expression must not be empty")                                        \
    X(4, ZONE_INSIDE, "zone_inside", "the zone is not part of the expression")                     \
    X(5, REBOOT, "reboot", "there is no \"@reboot\"")                                              \
    X(6, BAD_ALIAS, "bad_alias",                                                                   \
      "known are @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly and @every")    \
    X(7, BAD_INTERVAL, "bad_interval",                                                             \
      "\"@every\" takes an interval such as 1h30m: d, h, m, s, ms in this order, 1s to 3660d")     \
    X(8, FIELD_COUNT, "field_count",                                                               \
      "an expression has 5 fields, or 6 with seconds, or 7 with seconds and years")                \
    X(9, BAD_LIST, "bad_list", "a list has no empty elements, no \"*\" and no \"?\"")              \
    X(10, BAD_STEP, "bad_step", "a step is a number from 1 to the size of the field")              \
    X(11, BAD_VALUE, "bad_value", "not a number of 1 to 4 digits or a name of 3 letters")          \
    X(12, OUT_OF_RANGE, "out_of_range", "out of range")                                            \
    X(13, BAD_RANGE, "bad_range", "a range has two ends, and years do not wrap")                   \
    X(14, MISPLACED, "misplaced", "not allowed here")                                              \
    X(15, TWO_QUESTIONS, "two_questions", "only one of the day fields may be \"?\"")               \
    X(16, NEEDS_QUESTION, "needs_question", "in Quartz one of the day fields must be \"?\"")       \
    X(17, NEVER, "never", "no year from 1970 to 2199 has such a day")                              \
    X(18, BAD_ZONE, "bad_zone", "not a known time zone")                                           \
    X(19, PAST, "past", "all its firings are in the past")

#define X(number, name, ...) PAWL_CRON_REASON_##name = number,
enum pawl_cron_reason { PAWL_CRON_REASON_NONE = 0, PAWL_CRON_REASONS(X) PAWL_CRON_REASON_END };
#undef X

/* "bad_step" for PAWL_CRON_REASON_BAD_STEP; "none" for other numbers. Never NULL. */
const char *pawl_cron_reason_code(enum pawl_cron_reason reason);

/* When something recurs. A zero field takes the default in brackets. */
struct pawl_recurrence {
    const char *expression;    /* required, unless instants are given */
    const int64_t *instants;   /* fires then, instead of by an expression; any order */
    size_t instant_count;      /* at most PAWL_INSTANTS_MAX */
    const char *zone;          /* IANA name, case matters [UTC] */
    enum pawl_dialect dialect; /* [auto] */
    enum pawl_gap gap;         /* [skip] */
    int64_t anchor_at_ms;      /* "@every" counts from here [start_at_ms, else the given now] */
    int64_t start_at_ms;       /* fires lie in [start, end) [no bounds] */
    int64_t end_at_ms;
};

/* ARG: the expression is refused, the zone is unknown, or nothing fires after `now_ms`. The
 * diagnosis has the field "expression" or "zone"; `reason` (may be NULL) is set on ARG only. NOMEM,
 * IO. */
PAWL_MUST_CHECK enum pawl_err pawl_recurrence_check(const struct pawl_recurrence *recurrence,
                                                    int64_t now_ms, enum pawl_cron_reason *reason,
                                                    struct pawl_diag *diag);

/* What is special about a fire, because of the zone's clocks. */
/* number, NAME, code */
#define PAWL_FIRE_NOTES(X)                                                                         \
    X(1, PLAIN, "plain")                                                                           \
    X(2, SHIFTED, "shifted")                                                                       \
    X(3, FIRST, "first")                                                                           \
    X(4, TWICE_FIRST, "twice_first")                                                               \
    X(5, TWICE_SECOND, "twice_second")                                                             \
    X(6, LOST, "lost")

#define X(number, name, ...) PAWL_FIRE_##name = number,
enum pawl_fire_note { PAWL_FIRE_NONE = 0, PAWL_FIRE_NOTES(X) PAWL_FIRE_END };
#undef X

const char *pawl_fire_note_code(enum pawl_fire_note note);

/*  PLAIN         an ordinary fire
 *  SHIFTED       at the end of a gap, for times that the gap swallowed
 *  FIRST         the local time comes twice; the second does not fire
 *  TWICE_FIRST   the local time comes twice and fires twice; this is the first
 *  TWICE_SECOND  this is the second
 *  LOST          no fire: at this instant clocks jump over `lost_count` times of the expression */
struct pawl_coming {
    int64_t at_ms;
    int32_t offset_s; /* east of UTC, from this instant on */
    enum pawl_fire_note note;
    int32_t lost_count;    /* at most 10000, which stands for more */
    int32_t lost_offset_s; /* the offset before the jump */
};

/* The coming fires strictly after `from_ms`, and what is lost between them, in order: at most
 * `max`. Fewer only if nothing comes after them. Errors as pawl_recurrence_check, except that an
 * end in the past is no error. */
PAWL_MUST_CHECK enum pawl_err pawl_coming(const struct pawl_recurrence *recurrence, int64_t from_ms,
                                          struct pawl_coming *out, size_t max, size_t *count,
                                          struct pawl_diag *diag);

enum { PAWL_RECURRENCE_WORDS_BYTES = 1024 }; /* including the NUL */

/* The recurrence in words ("every weekday at 09:00 Europe/Berlin"), in English, on one line. If a
 * change of the clocks within a year of `now_ms` affects times that it names, the line says so.
 * Text that does not fit is cut and ends in "...". Errors as pawl_coming. */
PAWL_MUST_CHECK enum pawl_err pawl_recurrence_words(const struct pawl_recurrence *recurrence,
                                                    int64_t now_ms,
                                                    char out[PAWL_RECURRENCE_WORDS_BYTES],
                                                    struct pawl_diag *diag);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
