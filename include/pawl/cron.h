/* Schedules: jobs that recur. A schedule has a name, a recurrence (<pawl/calendar.h>) and a
 * template of a job; at each instant of the recurrence one job is made from the template.
 * docs/cron.md explains the rules.
 *
 * An instant is fired in one transaction, which locks the schedule and moves its `next_at_ms` and
 * the instant that made its last job forward: it makes one job, however many nodes share the store.
 * Nodes fire by themselves; without a node, pawl_upkeep_turn does.
 *
 * Common errors and the last argument are those of <pawl/pawl.h>. */
#ifndef PAWL_SCHEDULES_H
#define PAWL_SCHEDULES_H

#include <pawl/calendar.h>
#include <pawl/error.h>
#include <pawl/job.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

struct pawl;
struct pawl_by;

/* Limits. Exceeding one is PAWL_ERR_LIMIT, unless said otherwise. */
enum {
    PAWL_SCHEDULE_NAME_BYTES_MAX = 255,
    PAWL_SCHEDULE_GROUP_BYTES_MAX = 100,
    PAWL_SCHEDULE_DESCRIPTION_BYTES_MAX = 1024,
    PAWL_SCHEDULE_PAYLOAD_BYTES_MAX = 1024 * 1024, /* arguments of the job, and `extra` */
    PAWL_SCHEDULE_QUEUED_MAX = 100,                /* jobs held by PAWL_OVERLAP_QUEUE */
    PAWL_CATCH_UP_MAX = 1000,                      /* more is PAWL_ERR_ARG */
    PAWL_CATCH_UP_DEFAULT = 11,
    PAWL_JITTER_MAX_MS = 24 * 60 * 60 * 1000, /* more is PAWL_ERR_ARG */
    PAWL_FIRINGS_KEPT = 100                   /* entries of history, of each schedule */
};

/* What a firing does while a job of an earlier one has not ended (pending, paused and retryable
 * jobs have not).  number, NAME, text, what it does */
#define PAWL_OVERLAPS(X)                                                                           \
    X(1, SKIP, "skip", "no job; the history says overlap_skip")                                    \
    X(2, ALLOW, "allow", "a job")                                                                  \
    X(3, QUEUE, "queue", "a job, held until the earlier ones have ended")                          \
    X(4, CANCEL_PREVIOUS, "cancel_previous", "the earlier ones are cancelled; a job after that")

/* Which of two or more overdue instants fire. One that is alone always fires.
 * number, NAME, text, what it does */
#define PAWL_MISFIRES(X)                                                                           \
    X(1, SKIP, "skip", "none of them")                                                             \
    X(2, ONCE, "once", "the oldest")                                                               \
    X(3, CATCH_UP, "catch_up", "the oldest `catch_up`, in order")

/* number, NAME, text, meaning */
#define PAWL_SCHEDULE_STATES(X)                                                                    \
    X(1, ACTIVE, "active", "fires at `next_at_ms`")                                                \
    X(2, PAUSED, "paused", "until it is resumed")                                                  \
    X(3, HELD, "held", "cannot fire; `reason` says why, and nodes try again")                      \
    X(4, EXHAUSTED, "exhausted", "no instants or runs are left; an edit revives it")

/* An entry of the history.  number, NAME, text, meaning */
#define PAWL_FIRINGS(X)                                                                            \
    X(1, FIRED, "fired", "an instant made the job `job`")                                          \
    X(2, RAN, "ran", "the job `job` was made by pawl_schedule_run")                                \
    X(3, SKIPPED, "skipped", "`count` instants made no job; `reason` says why")                    \
    X(4, CHANGED, "changed", "created, edited, paused, resumed, held, ...; `reason` says which")

/* Why instants made no job.  number, NAME, text, meaning */
#define PAWL_SKIPS(X)                                                                              \
    X(1, OVERLAP, "overlap_skip", "an earlier job had not ended, or too many were held")           \
    X(2, MISFIRE, "misfire", "they were overdue; the misfire policy took others, or none")         \
    X(3, DISABLED, "disabled", "the schedule was paused")                                          \
    X(4, DST, "dst_skip", "clocks jumped over these local times")                                  \
    X(5, LATE, "late", "they were overdue by more than `late_max_ms`")                             \
    X(6, DUPLICATE, "duplicate", "a key of the job is held by another job; `detail` names it")     \
    X(7, REFUSED, "refused", "the job could not be submitted; `detail` says why")

#define X(number, name, ...) PAWL_OVERLAP_##name = number,
enum pawl_overlap { PAWL_OVERLAP_DEFAULT = 0, PAWL_OVERLAPS(X) PAWL_OVERLAP_END };
#undef X
#define X(number, name, ...) PAWL_MISFIRE_##name = number,
enum pawl_misfire { PAWL_MISFIRE_DEFAULT = 0, PAWL_MISFIRES(X) PAWL_MISFIRE_END };
#undef X
#define X(number, name, ...) PAWL_SCHEDULE_##name = number,
enum pawl_schedule_state { PAWL_SCHEDULE_NONE = 0, PAWL_SCHEDULE_STATES(X) PAWL_SCHEDULE_END };
#undef X
#define X(number, name, ...) PAWL_FIRING_##name = number,
enum pawl_firing_kind { PAWL_FIRING_NONE = 0, PAWL_FIRINGS(X) PAWL_FIRING_END };
#undef X
#define X(number, name, ...) PAWL_SKIP_##name = number,
enum pawl_skip { PAWL_SKIP_NONE = 0, PAWL_SKIPS(X) PAWL_SKIP_END };
#undef X

/* ---- what is put. Everything is borrowed until the call returns ---- */

/* Only `name`, `recurrence` and `job.type` are required. A zero field takes the default in
 * brackets.
 *
 * Of `job` these must not be set, since they belong to a single job: id, delay_ms, due_at_ms,
 * expires_at_ms, sla_soft_at_ms, sla_hard_at_ms, idempotency_key, idempotency_ms, pending. Each job
 * has in its meta "cron_name" and "cron_triggered_at" (RFC 3339, the instant without jitter), in
 * addition to the template's, which must not have them; a unique policy may name them. Hooks for
 * submits are not called for these jobs. */
struct pawl_schedule_spec {
    const char *name;                  /* unique; UTF-8 without control characters */
    struct pawl_recurrence recurrence; /* anchor [start, else the time of registration] */
    struct pawl_job_spec job;
    enum pawl_overlap overlap; /* [skip] */
    enum pawl_misfire misfire; /* [once] */
    int32_t catch_up;          /* of CATCH_UP: 1..PAWL_CATCH_UP_MAX [11] */
    int64_t late_max_ms;       /* instants overdue by more do not fire [no limit] */
    int64_t jitter_ms;         /* jobs are due up to this much later [0] */
    int64_t max_runs;          /* jobs made by instants [no limit] */
    bool catch_up_paused;      /* on resume the misfire policy decides about the instants that
                                  passed [they are skipped] */
    bool disabled;             /* pause it. False resumes only what was disabled like this, not what
                                  was paused by pawl_schedule_pause */
    const char *description;   /* may be NULL */
    struct pawl_span meta;     /* of the schedule: a JSON object [none] */
};

/* What a put or a declaration may do. Zero: create or change. */
struct pawl_schedule_put_options {
    bool create_only;  /* EXISTS: there is one of that name */
    bool change_only;  /* NOT_FOUND: there is none */
    int64_t version;   /* > 0: STALE unless the schedule has this version */
    bool dry_run;      /* check, and say what it would do, but change nothing */
    const char *group; /* the program that declares it in code: see pawl_schedules_declare. NULL:
                          as it is; a new one is kept until it is removed */
    const char *actor; /* for the history; may be NULL */
};

/* number, NAME, text */
#define PAWL_PUTS(X)                                                                               \
    X(1, CREATED, "created")                                                                       \
    X(2, CHANGED, "changed")                                                                       \
    X(3, UNCHANGED, "unchanged") /* it was as the spec says already */

#define X(number, name, ...) PAWL_PUT_##name = number,
enum pawl_put { PAWL_PUT_NONE = 0, PAWL_PUTS(X) PAWL_PUT_END };
#undef X

struct pawl_schedule_put {
    enum pawl_put put;
    int64_t version; /* afterwards */
    int64_t next_at_ms;
    enum pawl_schedule_state state;
};

/* ---- what is read. Optional strings are "" and optional spans empty, never NULL ---- */

struct pawl_schedule {
    /* As it was put, with defaults resolved. Strings are never NULL, except that of a recurrence by
     * instants: `expression` is NULL. `job` is valid for another put or a submit; in it what is not
     * given is NULL, and what of its retry policy is the default is zero. */
    struct pawl_schedule_spec spec;
    const char *group;      /* the program that declared it; "": none */
    int64_t declared_at_ms; /* by that program, most recently */
    enum pawl_schedule_state state;
    const char *reason;    /* of PAUSED: what was given; of HELD: "zone_missing"; of EXHAUSTED:
                              "max_runs" or "past" */
    int64_t anchor_at_ms;  /* "@every" counts from here */
    int64_t next_at_ms;    /* the next instant; 0 unless ACTIVE or HELD */
    int64_t settled_at_ms; /* all instants up to this one have been decided */
    int64_t last_at_ms;    /* the last instant that made a job; 0: none */
    struct pawl_job_id last_job; /* zeros: none */
    int64_t runs;                /* jobs made by instants */
    int64_t skips;               /* instants that made none */
    int64_t queued;              /* jobs that are held until earlier ones have ended */
    int64_t version;             /* grows with every edit, pause and resume; from 1 */
    int64_t created_at_ms;
    int64_t updated_at_ms; /* of the version */
};

/* Owned by the library until pawl_schedules_release. Zero-initialise before use. */
struct pawl_schedules {
    struct pawl_schedule *at; /* by name, as bytes */
    size_t count;
    bool more; /* there are more after the last: read on from its name */
    void *owned;
};

/* A zero field does not restrict. */
struct pawl_schedule_filter {
    uint32_t states;         /* bits 1 << state */
    const char *name_prefix; /* names that begin with it */
    const char *group;       /* declared by this program */
    const char *after;       /* names after this one: where to read on */
    int64_t limit;           /* 1..PAWL_PAGE_MAX [50] */
};

struct pawl_firing {
    int64_t number; /* 1, 2, ... for each schedule; without holes while entries are kept */
    int64_t at_ms;  /* when it was decided */
    enum pawl_firing_kind kind;
    enum pawl_skip skip;    /* of SKIPPED */
    int64_t first_at_ms;    /* the instant; of SKIPPED: the first of them */
    int64_t last_at_ms;     /* of SKIPPED: the last */
    int64_t count;          /* of SKIPPED: how many; 10000 stands for more */
    int64_t due_at_ms;      /* of FIRED and RAN: when the job is due, with jitter */
    struct pawl_job_id job; /* of FIRED and RAN */
    bool queued;            /* of FIRED and RAN: the job is held until earlier ones have ended */
    int64_t cancelled;      /* of FIRED and RAN: earlier jobs that were cancelled for it */
    const char *reason;     /* of SKIPPED: the text of `skip`; of CHANGED: "created", "edited",
                               "paused", "resumed", "held", "released", "exhausted", "clock_back" */
    const char *detail;     /* "": none */
    const char *actor;      /* of RAN and CHANGED; "": pawl itself */
};

struct pawl_firings {
    struct pawl_firing *at; /* newest first */
    size_t count;
    bool more; /* older entries follow: read on with the last one's number as `before` */
    void *owned;
};

/* ---- calls ---- */

/* Checks a spec without a store, as pawl_schedule_put does; `now_ms` decides whether anything is
 * still to come. ARG, LIMIT: the field is "name", "expression", "job.type", ...; `reason` (may be
 * NULL) is set if the recurrence is refused. On success `*warning` (may be NULL) is a text about
 * settings that do not fit together, or NULL. */
PAWL_MUST_CHECK enum pawl_err pawl_schedule_check(const struct pawl_schedule_spec *spec,
                                                  int64_t now_ms, enum pawl_cron_reason *reason,
                                                  const char **warning, struct pawl_diag *diag);
/* Creates the schedule, or makes an existing one as the spec says. A recurrence that is over is
 * refused, unless the schedule has it already. Before an edit takes effect,
 * overdue instants are settled as the old definition says. `next_at_ms` moves only if the
 * recurrence changed, or the schedule was exhausted; then it is the first instant after now.
 * Counters and jobs stay. The same spec again changes nothing. `options` and `out` may be NULL. ARG
 * (see pawl_schedule_check), LIMIT, EXISTS, NOT_FOUND, STALE. */
PAWL_MUST_CHECK enum pawl_err pawl_schedule_put(struct pawl *pawl,
                                                const struct pawl_schedule_spec *spec,
                                                const struct pawl_schedule_put_options *options,
                                                struct pawl_schedule_put *out,
                                                struct pawl_diag *diag);
/* Reads one: `out` has one entry. NOT_FOUND. Release `out` in any case. */
PAWL_MUST_CHECK enum pawl_err pawl_schedule_get(struct pawl *pawl, const char *name,
                                                struct pawl_schedules *out, struct pawl_diag *diag);
/* Reads schedules by name. `filter` may be NULL. Release `out` in any case. */
PAWL_MUST_CHECK enum pawl_err pawl_schedules_get(struct pawl *pawl,
                                                 const struct pawl_schedule_filter *filter,
                                                 struct pawl_schedules *out,
                                                 struct pawl_diag *diag);
void pawl_schedules_release(struct pawl_schedules *schedules);
/* The recurrence of a schedule that was read, with its anchor, so that pawl_coming and
 * pawl_recurrence_words count "@every" as the schedule does. Valid as long as the schedule. */
struct pawl_recurrence pawl_schedule_recurrence(const struct pawl_schedule *schedule);

/* Removes a schedule and its history. Its jobs stay, and those that were held are released.
 * `version` > 0: STALE unless it has this version. NOT_FOUND. */
PAWL_MUST_CHECK enum pawl_err pawl_schedule_remove(struct pawl *pawl, const char *name,
                                                   int64_t version, struct pawl_diag *diag);
/* Pauses a schedule: it does not fire, and its jobs go on. `*changed` (may be NULL) is false if it
 * was paused already. `by` may be NULL. NOT_FOUND. STATE: it is exhausted. */
PAWL_MUST_CHECK enum pawl_err pawl_schedule_pause(struct pawl *pawl, const char *name,
                                                  const struct pawl_by *by, bool *changed,
                                                  struct pawl_diag *diag);
/* Resumes it: the instants that passed are skipped (one entry of history, with their count), unless
 * `catch_up_paused`, and the next is the first after now. `*changed` (may be NULL) is false if it
 * was not paused. NOT_FOUND. */
PAWL_MUST_CHECK enum pawl_err pawl_schedule_resume(struct pawl *pawl, const char *name,
                                                   const struct pawl_by *by, bool *changed,
                                                   struct pawl_diag *diag);

struct pawl_schedule_ran {
    struct pawl_job_id job; /* zeros: none was made */
    enum pawl_skip skip;    /* why; NONE: one was */
    bool queued;            /* it is held until earlier ones have ended */
    int64_t at_ms;          /* its cron_triggered_at */
};

/* Makes a job now, in any state of the schedule; its instants, `next_at_ms` and `runs` are not
 * affected. The overlap policy applies, unless `force`. `by` and `out` may be NULL. NOT_FOUND.
 * DUPLICATE: a key of the job is held by another one. */
PAWL_MUST_CHECK enum pawl_err pawl_schedule_run(struct pawl *pawl, const char *name, bool force,
                                                const struct pawl_by *by,
                                                struct pawl_schedule_ran *out,
                                                struct pawl_diag *diag);
/* Reads the history of a schedule, newest first: entries with a number below `before` (0: from the
 * newest on), at most `limit` (1..PAWL_PAGE_MAX [50]). NOT_FOUND. Release `out` in any case. */
PAWL_MUST_CHECK enum pawl_err pawl_schedule_history(struct pawl *pawl, const char *name,
                                                    int64_t before, int64_t limit,
                                                    struct pawl_firings *out,
                                                    struct pawl_diag *diag);
void pawl_firings_release(struct pawl_firings *firings);

/* ---- schedules declared in code ---- */

/* The schedules that a program brings along, declared when it starts. Those that no node of the
 * program declares any more are removed after a grace, which lets old and new versions of the
 * program run side by side while it is deployed. */
struct pawl_declaration {
    const char *group; /* the program's name: 1..PAWL_SCHEDULE_GROUP_BYTES_MAX bytes. Only schedules
                          of this group are ever removed */
    const struct pawl_schedule_spec *specs;
    size_t count; /* 0..PAWL_BATCH_MAX */
};

struct pawl_declared {
    int64_t created, changed, unchanged;
    int64_t at_ms; /* the store's time: for pawl_schedules_clean */
};

/* Puts all of them, as pawl_schedule_put does, each with the group; one that exists without a
 * group, or in another one, moves to this group. What was paused by pawl_schedule_pause stays
 * paused. A spec that is refused: nothing is put, and the field is "[index].field". `out` may be
 * NULL. */
PAWL_MUST_CHECK enum pawl_err pawl_schedules_declare(struct pawl *pawl,
                                                     const struct pawl_declaration *declaration,
                                                     struct pawl_declared *out,
                                                     struct pawl_diag *diag);
/* Removes the schedules of `group` that were last declared before `declared_before_ms`: call it a
 * grace (60 s are usual) after pawl_schedules_declare, with the `at_ms` of that. It takes the
 * start-up lease "cron.GROUP" for `lease_ms` [60000], so that one of many nodes that start does it.
 * `*removed` may be NULL. HELD: another node does it, or has done it within that time. */
PAWL_MUST_CHECK enum pawl_err pawl_schedules_clean(struct pawl *pawl, const char *group,
                                                   int64_t declared_before_ms, int64_t lease_ms,
                                                   int64_t *removed, struct pawl_diag *diag);

/* ---- text ---- */

/* "skip" for PAWL_OVERLAP_SKIP and so on; "" for other values. Never NULL. */
const char *pawl_overlap_text(enum pawl_overlap overlap);
const char *pawl_misfire_text(enum pawl_misfire misfire);
const char *pawl_schedule_state_text(enum pawl_schedule_state state);
const char *pawl_firing_kind_text(enum pawl_firing_kind kind);
const char *pawl_skip_text(enum pawl_skip skip);
const char *pawl_put_text(enum pawl_put put);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
