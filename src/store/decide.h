/* What the stores decide alike: what follows when a run fails, lapses or snoozes, what a control
 * may do to a job, and who is in the way of a key. Pure functions of facts, without I/O and without
 * a clock: a backend reads the facts, asks here, and writes the answer.
 *
 * Threads: any; nothing is shared. All pointers are borrowed until the call returns. */
#ifndef PAWL_STORE_DECIDE_H
#define PAWL_STORE_DECIDE_H

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
void pawl__timeout_tell(const struct pawl__run_facts *facts, struct pawl__timeout *out);

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

/* ---- controls: none of them takes NONE, but for pawl__control_states and _revives ---- */

/* May it bring a job that ended back to life, and its keys with it? */
bool pawl__control_revives(enum pawl_control control);

enum pawl_event pawl__control_event(enum pawl_control control);
const char *pawl__control_verb(enum pawl_control control);
/* What the job is told to have ended for; NULL: nothing. */
const char *pawl__control_reason(enum pawl_control control, const struct pawl_by *by);
bool pawl__control_allowed(enum pawl_control control, enum pawl_state from,
                           enum pawl_state paused_from);
/* The states from which the deed is possible, as bits; NONE is to delete. */
uint32_t pawl__control_states(enum pawl_control control);

/* ---- keys ---- */

enum { PAWL__KEY_HOLDERS_KEPT = 16 }; /* ended jobs remembered under one key */

/* A job that holds or held a key. */
struct pawl__holder {
    struct pawl_job_id id;
    int64_t until_ms; /* when the key is forgotten; 0: never */
    bool known;       /* false: the job is gone, only the key is left */
    enum pawl_state state;
    int64_t created_at_ms;
};

/* Is the holder in the way of a newcomer with `key`? */
bool pawl__key_conflicts(const struct pawl__key *key, const struct pawl__holder *holder,
                         int64_t now_ms);
/* May one that is not be forgotten? To be asked of all holders, newest first: `ended` counts those
 * that are remembered, from 0. */
bool pawl__key_forgets(const struct pawl__key *key, const struct pawl__holder *holder,
                       size_t *ended);
/* When the key is forgotten that a job submitted now brings along; 0: never. */
int64_t pawl__key_until(const struct pawl__key *key, int64_t now_ms);
/* DUPLICATE; the submit in `op` is told by whom. */
enum pawl_err pawl__key_refuse(struct pawl__op *op, const struct pawl__key *key,
                               const struct pawl__holder *holder);

/* ---- reads ---- */

/* Is the progress that `run` reported last the job's? A run that is under way shows its own, not an
 * earlier one's. */
bool pawl__progress_shows(const struct pawl_job *job, int64_t run);
/* Is a queue listed? One that was deleted is so while it has a job that is not archived. */
bool pawl__queue_is_listed(const struct pawl_queue_stats *queue, bool forgotten);
/* Has an object, NULL or of no bytes if there is none, a member of that name and value? A string is
 * compared by what it says, anything else by how it is written. NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__meta_has(struct pawl_span meta, const char *name,
                                             struct pawl_span value, struct pawl__arena *scratch,
                                             bool *out);

/* ---- refusals: the same words in every store ---- */

/* NOT_FOUND. */
enum pawl_err pawl__fail_unknown(struct pawl_diag *diag, struct pawl_job_id id);
/* STATE: "cannot <verb> job ...: it is completed". */
enum pawl_err pawl__fail_state(struct pawl_diag *diag, struct pawl_job_id id, enum pawl_state state,
                               const char *verb);
/* STALE: the end of the run was reported before. */
enum pawl_err pawl__fail_told(struct pawl_diag *diag, const struct pawl_run *ref);
/* STALE: the job is in `state` and has had `runs` runs. */
enum pawl_err pawl__fail_stale(struct pawl_diag *diag, const struct pawl_run *ref,
                               enum pawl_state state, int64_t runs);

/* Does a claim take jobs of this type? */
bool pawl__claim_wants(const struct pawl__op *op, const char *type);

#endif
