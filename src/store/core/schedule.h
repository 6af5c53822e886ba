/* Schedules in the working set: their instants become jobs.
 *
 * The row of a schedule is the lock of its definition, its history and its members. A transaction
 * that has it moves `next_at_ms` forward in the same breath as it makes the jobs, so an instant is
 * decided once. If the clock is set back and the schedule is resumed or edited then, `next_at_ms`
 * goes back too; so an instant that is not behind `last_at_ms`, the last one that made a job, makes
 * none.
 *
 * What is done about one schedule is a turn. A turn is prepared first: which instants fire, the
 * jobs that they would make, the keys of those, and the jobs of earlier firings are wanted; when
 * all of that was read, the turn is carried out in memory.
 *
 * A schedule knows the jobs that had not ended when it looked at them last (`children`), and looks
 * again at each firing; so no job has to report its end. Only where a job is held until others have
 * ended (PAWL_OVERLAP_QUEUE) do all of them have PAWL__TIE_SCHEDULE and a row of
 * pawl_schedule_member, and their ends are followed up (schedule_tie.c).
 *
 * Threads: the set's. */
#ifndef PAWL_STORE_CORE_SCHEDULE_H
#define PAWL_STORE_CORE_SCHEDULE_H

#include "schedule/schedule.h"
#include "store/core/set.h"

enum {
    PAWL__CHILDREN_MAX = 100, /* that a schedule remembers: of more, the oldest is forgotten */
    PAWL__CHILDREN_ALLOWED_MAX = 16, /* the same, where overlaps are allowed */
    PAWL__FIRINGS_CUT = 16,          /* the history is cut after so many entries */
    PAWL__HELD_LOOK_MS = 60000,      /* how often a schedule that is held is looked at */
    PAWL__LOSSES_MAX = 8             /* gaps of a zone that one turn reports */
};

struct pawl__id_list {
    struct pawl_job_id *at; /* in the set's arena */
    size_t count, cap;
};

/* A job that may be made. */
struct pawl__child {
    int64_t at_ms;  /* the instant */
    int64_t due_ms; /* with jitter */
    struct pawl_job_spec spec;
    struct pawl__new_job job;
};

struct pawl__turn {
    struct pawl__set *set;
    struct pawl__record *schedule, *plan;
    struct pawl__timetable table;
    bool no_zone;  /* its zone is not there */
    bool released; /* it was held, and is so no longer */
    bool quick;    /* its jobs may be written without rows in the set */
    bool fires;    /* instants are to be decided: `late` and `jobs` */
    struct pawl__late late;
    struct pawl__child *jobs;
    size_t job_count;
    struct pawl__id_list children, queued;
    int64_t made;          /* jobs, by this turn */
    struct pawl_diag diag; /* why the newest job was not made */
};

/* ---- schedule.c ---- */

/* Begin a turn of records that were read; `plan` is that of the timetable. NULL: no memory, and the
 * set has failed. */
struct pawl__turn *pawl__turn_new(struct pawl__set *set, struct pawl__record *schedule,
                                  struct pawl__record *plan);
/* Timetable of a plan. False: its zone is not there. */
bool pawl__turn_read_table(struct pawl__turn *turn);
/* Which instants from `due_ms` on, up to now, fire; their jobs and what those need is wanted. */
void pawl__turn_want_due(struct pawl__turn *turn, int64_t due_ms);
/* Decide them. A failure of the transaction is returned. */
PAWL_MUST_CHECK enum pawl_err pawl__turn_fire(struct pawl__turn *turn);
/* The first instant after now is next, or there is none. */
void pawl__turn_renew(struct pawl__turn *turn);
/* The instants since it was paused are skipped. */
void pawl__turn_skip_paused(struct pawl__turn *turn);
/* The schedule cannot fire, since its zone is not there; or it can again. */
void pawl__turn_hold(struct pawl__turn *turn);
/* The row is written, with what is known of its jobs. */
void pawl__turn_end(struct pawl__turn *turn);
/* An entry of the history; `schedule`, `number` and `at_ms` are filled in. */
void pawl__turn_enter(struct pawl__turn *turn, struct pawl__firing entry);
void pawl__turn_enter_change(struct pawl__turn *turn, const char *reason, const char *detail,
                             const char *actor);

/* ---- schedule_job.c ---- */

/* A job for an instant, or for one that an operator wants. */
void pawl__child_make(struct pawl__turn *turn, struct pawl__child *child, int64_t at_ms,
                      int64_t due_ms);
/* Want its keys. */
void pawl__child_want(struct pawl__turn *turn, const struct pawl__child *child);
/* Want the jobs of earlier firings, as the overlap policy needs them. */
void pawl__children_want(struct pawl__turn *turn);

struct pawl__made {
    enum pawl_skip skip; /* NONE: the job was made */
    bool queued;
    int64_t cancelled;
    const char *detail; /* of a skip */
};

/* Makes the job, as the overlap policy says. `force`: in any case, and at once. A failure of the
 * transaction is returned. */
PAWL_MUST_CHECK enum pawl_err pawl__child_submit(struct pawl__turn *turn, struct pawl__child *child,
                                                 bool force, struct pawl__made *out);

struct pawl__id_list pawl__id_list_read(struct pawl__set *set, struct pawl_span bytes);
struct pawl_span pawl__id_list_span(const struct pawl__id_list *ids);
void pawl__id_list_add(struct pawl__set *set, struct pawl__id_list *ids, struct pawl_job_id id);
void pawl__id_list_drop(struct pawl__id_list *ids, size_t at);
/* Where it is; the count: nowhere. */
size_t pawl__id_list_find(const struct pawl__id_list *ids, struct pawl_job_id id);

/* The job is held no longer. */
void pawl__child_release(struct pawl__set *set, struct pawl__row *row);
/* False: the job has ended, or is gone. One that another transaction has is taken to live. */
bool pawl__child_lives(const struct pawl__set *set, struct pawl_job_id id);
/* STATE: an operator may not release a job that waits for others of its schedule. */
PAWL_MUST_CHECK enum pawl_err pawl__schedule_allows(const struct pawl__row *row,
                                                    enum pawl_control control,
                                                    struct pawl_diag *diag);

#endif
