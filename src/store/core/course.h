/* Where a job goes: in which state a new one begins, and what follows when a run fails, lapses or
 * is snoozed. Functions of facts, without I/O and without a clock: a rule reads the facts from
 * rows, asks here, and changes the rows.
 *
 * Threads: any; nothing is shared. All pointers are borrowed until the call returns. */
#ifndef PAWL_STORE_CORE_COURSE_H
#define PAWL_STORE_CORE_COURSE_H

#include "store/core/fields.h"
#include "store/store.h"

/* ---- new jobs ---- */

/* When it comes. */
struct pawl__settling {
    int64_t now_ms;
    int64_t boost_ms;
    int64_t due_at_ms; /* > 0: overrides the spec's */
};

/* When a new job is due, what rank it has and which state it begins in. */
struct pawl__settled pawl__settle(const struct pawl_job_spec *spec,
                                  const struct pawl__settling *when);

/* ---- runs ---- */

/* What judging a run takes. */
struct pawl__run_facts {
    int64_t now_ms;
    int64_t run, base_run, free_runs;
    int64_t expires_at_ms; /* 0: never */
    int64_t timeout_ms;    /* 0: no limit */
    int64_t started_at_ms, lease_until_ms;
};

/* Where a job goes from a run. */
struct pawl__course {
    enum pawl_event events[2];
    size_t event_count;
    int64_t due_at_ms;  /* 0: as it was */
    const char *reason; /* static text, or NULL */
    bool dead_letter;
    bool uncharged; /* one more run of the job does not count */
    bool fails;     /* to be recorded as a failure: */
    bool lapsed;
    int64_t delay_ms; /* until the next run; -1: none follows */
};

/* The policy as it is stored. CORRUPT: it cannot be read. NOMEM. Lists live in `arena`. */
PAWL_MUST_CHECK enum pawl_err pawl__policy_read(struct pawl_span json, int32_t attempts_max,
                                                struct pawl__arena *arena, struct pawl_retry *out,
                                                struct pawl_diag *diag);

/* The run was reported as failed. `retry` is resolved and has the job's own attempts_max. */
struct pawl__course pawl__course_failed(const struct pawl__run_facts *facts,
                                        const struct pawl_retry *retry,
                                        const struct pawl_report *report, struct pawl__rng *rng);
/* The run's owner is gone. It counts as an attempt and as a crash; a job that keeps killing its
 * workers is a poison pill and ends, whatever its retries say. `crashes` were there before this one
 * in the same series of attempts. */
struct pawl__course pawl__course_lapsed(const struct pawl__run_facts *facts,
                                        const struct pawl_retry *retry, int64_t crashes);
/* The run failed, or its owner is gone, and the policy cannot be read: the job ends, so that others
 * are not held up by it. */
struct pawl__course pawl__course_unknown(bool lapsed);
/* The run's owner puts it off; with no delay it gives the job back as if it had not been claimed,
 * but for the number of the run. */
struct pawl__course pawl__course_snoozed(const struct pawl__run_facts *facts, int64_t delay_ms);

/* The error's type as OJS tells it: what it calls itself, else its class, else its code. */
const char *pawl__report_type(const struct pawl_report *report);
/* What is reported of a run whose lease ended. */
extern const struct pawl_report pawl__report_lapsed;
/* Did the lease end just when the run's time did? Then it was the time limit. */
bool pawl__run_is_timed(const struct pawl__run_facts *facts);

/* A report with what it points to. */
struct pawl__timeout {
    struct pawl_report report;
    char message[96], details[160];
};
/* The run took longer than it may, and nobody but the store watched it. */
void pawl__timeout_describe(const struct pawl__run_facts *facts, struct pawl__timeout *out);

struct pawl__lease_wish {
    int64_t timeout_ms; /* of the job; 0: none */
    int64_t own_ms;     /* what the job asks for; 0: nothing */
    int64_t lease_ms;   /* else this */
    bool timed;
};
/* How long a run's lease is, counted from its start. What the job asks for is at least
 * PAWL_LEASE_MIN_MS: an older program may have stored less. A timed lease ends with the job's
 * timeout at the latest. One that is not lasts a ms longer than asked for where it would end just
 * then: so the sweep can tell a run that took too long from one whose worker is gone. */
int64_t pawl__lease_of(const struct pawl__lease_wish *wish);

#endif
