/* A model of a store: the state of jobs, keys, ranks, leases and counts after each operation, in
 * plain arrays and loops. It has no storage and is too slow for anything but tests. Its time is
 * `now_ms`, which the driver moves.
 *
 * Where the contract allows a store several results, the driver reads what the store did, asks the
 * model whether that is allowed (functions named `may`), and lets the model follow. */
#ifndef PAWL_TESTS_MODEL_H
#define PAWL_TESTS_MODEL_H

#include "store/store.h"

enum { MODEL_KEYS_MAX = 3, MODEL_QUEUES = 3, MODEL_TYPES = 3, MODEL_WORKERS = 3 };

struct model_key {
    enum pawl__key_kind kind;
    int32_t name; /* keys of one kind are the same when their names are */
    uint32_t states;
    int64_t period_ms;
    int64_t until_ms; /* IDEMPOTENCY, once held: when it is forgotten; 0: never */
    enum pawl_conflict on_conflict;
};

struct model_job {
    struct pawl_job_id id;
    bool gone; /* deleted or purged; its idempotency key stays */
    int32_t queue, type, worker;
    enum pawl_state state, paused_from;
    bool routed, archived, dead_letter;
    int32_t priority;
    struct pawl_retry retry;
    int64_t run, base_run, free_runs, crashes, failures;
    int64_t created_at_ms, due_at_ms, expires_at_ms, started_at_ms, lease_until_ms, finished_at_ms;
    int64_t lease_ms, sla_soft_at_ms, sla_hard_at_ms, keep_ms;
    int64_t checkpoint;
    struct model_key keys[MODEL_KEYS_MAX];
    size_t key_count;
};

struct model {
    int64_t now_ms;
    struct model_job *jobs;
    size_t count, cap;
    bool paused[MODEL_QUEUES];
};

void model_release(struct model *model);
/* Deep copy, for operations that may be undone. */
struct model model_copy(const struct model *model);

/* The job of this id that is there, or NULL. */
struct model_job *model_find(struct model *model, struct pawl_job_id id);
int64_t model_rank(const struct model_job *job);
int64_t model_attempt(const struct model_job *job);
bool model_expired(const struct model *model, const struct model_job *job);
/* Does the run own the job? */
bool model_owns(const struct model_job *job, int64_t run);

/* ---- submit ---- */

/* What must become of one new job. */
struct model_submitted {
    enum pawl_err err;
    enum pawl_err other_err; /* may be told instead: two reasons to refuse */
    bool deduplicated, replaced;
    size_t job; /* index of the new one */
};

/* Jobs that the key would meet: indices into model->jobs, room for all of them. */
size_t model_conflicts(const struct model *model, const struct model_key *key, size_t *out);
/* Store `job`, whose times are durations already turned into instants. `due_at_ms` of the job is
 * overruled by a replaced job's where its key says so. */
struct model_submitted model_submit(struct model *model, const struct model_job *job,
                                    int64_t expires_in_ms, bool pending);

/* ---- moves ---- */

/* Indices of what a claim takes, in order; room for `limit`. */
size_t model_claimable(const struct model *model, const int32_t *queues, size_t queue_count,
                       uint32_t types, size_t limit, size_t *out);
void model_start(struct model *model, struct model_job *job, int32_t worker, int64_t lease_ms);
void model_route(struct model *model, struct model_job *job, int32_t worker, int64_t lease_ms);
void model_complete(struct model *model, struct model_job *job);
struct pawl__verdict model_fail(struct model *model, struct model_job *job,
                                const struct pawl_report *report);
void model_snooze(struct model *model, struct model_job *job, int64_t delay_ms);
/* A lease that ran out, of a run or a route. */
void model_lapse(struct model *model, struct model_job *job);
bool model_lapsed(const struct model *model, const struct model_job *job);
void model_expire(struct model *model, struct model_job *job);
bool model_due(const struct model *model, const struct model_job *job);
void model_promote(struct model_job *job);

/* What the control must answer; the job moves when it is OK. */
enum pawl_err model_control(struct model *model, struct model_job *job, enum pawl_control control);
/* Would it move, keys aside? */
bool model_control_moves(const struct model_job *job, enum pawl_control control);
bool model_ended(const struct model_job *job);

#endif
