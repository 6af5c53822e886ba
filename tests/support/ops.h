/* One-line operations and reads for tests. Those that return an error leave the diagnosis in
 * rig->diag; those that return something else expect success. */
#ifndef PAWL_TESTS_OPS_H
#define PAWL_TESTS_OPS_H

#include "support/rig.h"

/* ---- submit ---- */

/* What src/api would make of `spec`: fresh id, type "work", queue "default", args "[]", and unless
 * it is asked for no jitter. Keys come from the spec; the unique digest from the type and, as its
 * bits say, the queue's and arguments' bytes. Lives as long as the rig. */
struct pawl__new_job job_new(struct rig *rig, const struct pawl_job_spec *spec);
struct pawl__key key_new(enum pawl__key_kind kind, const char *text);

enum pawl_err submit_jobs(struct rig *rig, const struct pawl__new_job *jobs, size_t count,
                          struct pawl_submitted *out, size_t *failed_index);
enum pawl_err submit_spec(struct rig *rig, const struct pawl_job_spec *spec,
                          struct pawl_submitted *out);
/* Stored as a new job. */
struct pawl_job_id submit_one(struct rig *rig, const struct pawl_job_spec *spec);
/* `count` alike, in one operation; ids ascend. */
struct pawl_job_id *submit_n(struct rig *rig, size_t count, const struct pawl_job_spec *spec);

/* A job in queue "full" that is available at once, with a value for every other field that the list
 * of src/fields has and that needs no code of its own. */
struct pawl_job_spec spec_full(struct rig *rig);
/* Is it the job that was submitted at `at_ms`, with every field of that list? `wanted` is as
 * job_new makes it. */
void assert_submitted(const struct pawl__new_job *wanted, int64_t at_ms,
                      const struct pawl_job *job);

/* ---- workers ---- */

#define WORKER "worker-1"
#define LEASE_MS INT64_C(30000)

struct claimed {
    struct pawl_job *at;
    size_t count;
    bool more; /* of a claim */
};

/* By WORKER, for LEASE_MS. */
struct claimed claim_n(struct rig *rig, const char *queue, int64_t limit);
struct claimed route_n(struct rig *rig, const char *queue, int64_t limit);
/* `op` is a claim or a route, its kind set. */
struct claimed claim_op(struct rig *rig, struct pawl__op *op);
/* The only one that is there. */
struct pawl_job claim_one(struct rig *rig, const char *queue);
struct pawl_run ref_of(const struct pawl_job *job);
enum pawl_err assign(struct rig *rig, struct pawl_job_id id, const char *worker, int64_t token,
                     struct pawl_job *out);
enum pawl_err unroute(struct rig *rig, struct pawl_job_id id, const char *worker, int64_t token);

enum pawl_err complete(struct rig *rig, struct pawl_run ref, const char *result);
struct failed {
    enum pawl_state to;
    int64_t due_at_ms;
    int64_t attempt;
    int64_t delay_ms;
};
enum pawl_err fail_run(struct rig *rig, struct pawl_run ref, struct pawl_report report,
                       struct failed *out);
/* With an ordinary error. */
struct failed fail_plain(struct rig *rig, struct pawl_run ref);
enum pawl_err snooze(struct rig *rig, struct pawl_run ref, int64_t delay_ms);
enum pawl_err extend(struct rig *rig, struct pawl_run ref, int64_t lease_ms);
enum pawl_err progress(struct rig *rig, struct pawl_run ref, double value, const char *message,
                       const char *data);
enum pawl_err checkpoint(struct rig *rig, struct pawl_run ref, struct pawl_span state,
                         int64_t *sequence);
enum pawl_err log_line(struct rig *rig, struct pawl_run ref, int32_t level, struct pawl_span text);

/* ---- operators ---- */

struct controlled {
    enum pawl_state from;
    enum pawl_state to;
};
enum pawl_err control_by(struct rig *rig, struct pawl_job_id id, enum pawl_control control,
                         int64_t run, struct pawl_by by, struct controlled *out);
enum pawl_err control(struct rig *rig, struct pawl_job_id id, enum pawl_control control);
enum pawl_err bulk(struct rig *rig, const struct pawl_filter *filter, enum pawl_control control,
                   int64_t limit, int64_t *moved);
enum pawl_err set_priority(struct rig *rig, struct pawl_job_id id, int32_t priority,
                           int32_t *before);
enum pawl_err delete_job(struct rig *rig, struct pawl_job_id id);
void queue_pause(struct rig *rig, const char *queue, bool paused);

/* ---- time ---- */

struct swept {
    int64_t moved;
    int64_t next_at_ms;
    bool more;
};
/* `kind` is PROMOTE, LAPSE, EXPIRE or SETTLE. */
struct swept sweep(struct rig *rig, enum pawl__op_kind kind, int64_t limit);
struct swept promote(struct rig *rig);
struct swept lapse(struct rig *rig);
struct swept expire(struct rig *rig);
struct swept deadlines(struct rig *rig);
/* `kind` is ARCHIVE or PURGE. */
int64_t retire(struct rig *rig, enum pawl__op_kind kind, uint32_t states, int64_t ended_before_ms,
               int64_t limit);
/* One step of it, and whether there is more to look at. */
int64_t retire_step(struct rig *rig, enum pawl__op_kind kind, uint32_t states,
                    int64_t ended_before_ms, int64_t limit, bool *more);
int64_t archive_all(struct rig *rig); /* that ended before now */
int64_t purge_all(struct rig *rig);

/* ---- cluster ---- */

enum pawl_err lock_try(struct rig *rig, const char *name, const char *owner, int64_t ttl_ms,
                       int64_t *fence);
enum pawl_err lock_renew(struct rig *rig, const char *name, const char *owner, int64_t ttl_ms);
enum pawl_err lock_release(struct rig *rig, const char *name, const char *owner);
enum pawl_err node_put(struct rig *rig, const char *name, const char *info, int64_t started_at_ms);
enum pawl_err node_beat(struct rig *rig, const char *name, const char *info, int64_t started_at_ms,
                        struct pawl_census *out);
enum pawl_err node_join(struct rig *rig, const char *name, const char *info,
                        int64_t *started_at_ms);
enum pawl_err node_drop(struct rig *rig, const char *name, int64_t started_at_ms); /* 0: any */
enum pawl_err setting_put(struct rig *rig, const char *name, const char *value);

/* ---- reads ---- */

struct pawl_job job_get(struct rig *rig, struct pawl_job_id id); /* it is there */
bool job_exists(struct rig *rig, struct pawl_job_id id);
enum pawl_state state_of(struct rig *rig, struct pawl_job_id id); /* NONE: not there */
int64_t count_jobs(struct rig *rig, const struct pawl_filter *filter);
int64_t count_state(struct rig *rig, enum pawl_state state);
struct pawl_story story_of(struct rig *rig, struct pawl_job_id id);
struct pawl_stats stats_of(struct rig *rig);
/* Every match, page by page. */
struct claimed query_all(struct rig *rig, const struct pawl_filter *filter, bool oldest_first);
/* All that is known of a job, as text: two of these are equal when nothing has changed. */
const char *job_text(struct rig *rig, struct pawl_job_id id);

/* ---- jobs in every state ---- */

#define ALL_STATES ((UINT32_C(1) << PAWL_STATE_END) - 2)
#define TERMINAL_STATES                                                                            \
    (PAWL_STATE_BIT(PAWL_STATE_COMPLETED) | PAWL_STATE_BIT(PAWL_STATE_SKIPPED) |                   \
     PAWL_STATE_BIT(PAWL_STATE_CANCELLED) | PAWL_STATE_BIT(PAWL_STATE_DISCARDED) |                 \
     PAWL_STATE_BIT(PAWL_STATE_EXPIRED))
#define LIVE_STATES (ALL_STATES & ~TERMINAL_STATES)

/* A job that has come to `state` in an ordinary way, from `spec` (may be NULL), in a queue of its
 * own if the spec names none. A discarded one has failed, an expired one has moved the clock by
 * 10 ms. Due times lie an hour ahead where a state has one. */
struct pawl_job_id job_in(struct rig *rig, enum pawl_state state, const struct pawl_job_spec *spec);
/* Paused, from the state `from`. */
struct pawl_job_id job_paused_from(struct rig *rig, enum pawl_state from);

#endif
