/* Schedules as they are stored: rows of records (core/records.h), and what reads ask and find. A
 * transaction that changes anything of a schedule has its row of pawl_schedule locked.
 *
 * The definition is apart from the state, which every firing writes. */
#ifndef PAWL_STORE_SCHEDULES_H
#define PAWL_STORE_SCHEDULES_H

#include <pawl/cron.h>

struct pawl__new_job;

/* What stopped a schedule that is paused. */
enum { PAWL__STOP_NONE, PAWL__STOP_OPERATOR, PAWL__STOP_DISABLED };

struct pawl__schedule {
    const char *name;
    int32_t state;   /* enum pawl_schedule_state */
    int32_t stopped; /* PAUSED: PAWL__STOP_... */
    const char *reason;
    int64_t look_at_ms; /* when a sweep is to look at it; 0: never */
    int64_t next_at_ms; /* the next instant; 0: none */
    int64_t settled_at_ms;
    int64_t last_at_ms;   /* the last instant that made a job; 0: none */
    int64_t last_local_s; /* its local time */
    struct pawl_job_id last_job;
    int64_t runs, skips;
    int64_t entries;           /* of its history, so far */
    struct pawl_span children; /* ids of jobs that had not ended when they were last looked at */
    struct pawl_span queued;   /* ids of jobs that are held until those have ended, in order */
    const char *group;
    int64_t declared_at_ms;
    int64_t version, created_at_ms, updated_at_ms;
};

/* Bits of `traits`. */
enum { PAWL__PLAN_CATCH_UP_PAUSED = 1, PAWL__PLAN_DISABLED = 2, PAWL__PLAN_ANCHOR_GIVEN = 4 };

struct pawl__schedule_plan {
    const char *name;
    const char *expression; /* NULL: instants */
    const char *zone;
    int32_t dialect, gap;      /* DEFAULT is never stored */
    struct pawl_span instants; /* sorted, each in 8 bytes, the highest first */
    int64_t anchor_at_ms;      /* of an interval; ANCHOR_GIVEN: not the time of registration */
    int64_t start_at_ms, end_at_ms;
    int32_t overlap, misfire, catch_up;
    int64_t late_max_ms, jitter_ms, max_runs;
    int32_t traits;
    const char *description;
    struct pawl_span meta;
    /* the job, as struct pawl_job_spec and struct pawl__new_job have it: */
    const char *type, *queue;
    struct pawl_span args, job_meta, extra, tags;
    int32_t priority, attempts_max;
    int64_t expires_in_ms, timeout_ms, lease_ms, keep_ms;
    struct pawl_span retry, unique;
    const char *business_key, *principal, *trace_id;
    struct pawl_span on_success, on_failure;
};

/* A job that is waited for, or that is held: its end is followed up (core/schedule_tie.c). */
struct pawl__schedule_member {
    struct pawl_job_id id;
    const char *schedule;
};

/* An entry of the history; see struct pawl_firing. */
struct pawl__firing {
    const char *schedule;
    int64_t number, at_ms;
    int32_t kind, skip;
    int64_t first_at_ms, last_at_ms, count, due_at_ms;
    struct pawl_job_id job;
    int32_t queued;
    int64_t cancelled;
    const char *reason, *detail, *actor;
};

/* The oldest entries are forgotten, up to `number`. */
struct pawl__firing_cut {
    const char *schedule;
    int64_t number;
};

enum pawl__schedule_control { PAWL__SCHEDULE_PAUSE, PAWL__SCHEDULE_RESUME, PAWL__SCHEDULE_RUN };

/* A checked schedule, ready to be stored. `job` is its job as a new one, without an id: its lane is
 * made in time by it. */
struct pawl__new_schedule {
    struct pawl__schedule_plan plan; /* anchor_at_ms 0: the time of registration */
    const struct pawl__new_job *job;
    struct pawl_schedule_put_options options; /* `group` and `actor` may be NULL */
    bool past; /* nothing is to come: only if it is there and has this recurrence already */
};

/* ---- reads ---- */

/* NAME, what is found: a schedule with its plan, in order of names; history newest first. */
#define PAWL__SCHEDULE_ASKS(X)                                                                     \
    X(ONE, "the schedule `name`")                                                                  \
    X(LIST, "schedules behind `name` that fit")                                                    \
    X(HISTORY, "entries of the schedule `name` with numbers below `before`")

#define X(name, ...) PAWL__SCHEDULE_ASK_##name,
enum pawl__schedule_what { PAWL__SCHEDULE_ASKS(X) PAWL__SCHEDULE_ASK_END };
#undef X

struct pawl__schedule_ask {
    enum pawl__schedule_what what;
    const char *name;
    /* LIST: */
    uint32_t states;            /* 0: any */
    const char *prefix, *group; /* "": any */
    int64_t before;             /* HISTORY */
    int64_t limit;
};

/* The answer of a server elsewhere: not rows, but what the question is for. */
struct pawl__schedule_seen {
    struct pawl_schedules schedules; /* ONE, LIST */
    struct pawl_firings firings;     /* HISTORY */
};

struct pawl__schedule_rows {
    struct pawl__schedule *schedules;
    struct pawl__schedule_plan *plans; /* in the same order */
    struct pawl__firing *firings;
    size_t schedules_count, plans_count, firings_count;
    const struct pawl__schedule_seen *seen; /* then there are no rows */
};

#endif
