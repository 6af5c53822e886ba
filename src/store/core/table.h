/* What a store must be able to do: struct pawl__core_table. Nothing in it is about SQL.
 *
 * The core (batch.c) begins a transaction, has rows read into the working set (set.h), decides all
 * operations of a batch in memory, has what changed written, and commits. A store reads, writes and
 * finds; it decides nothing.
 *
 * Functions are called on the session's thread. But for begin, rollback, retry and peek they are
 * called inside of its transaction, and must see what was written in it before. An error that they
 * return fails the batch.
 *
 * What scans find is handed to functions of the core while the scan runs: pawl__set_scanned,
 * pawl__claim_found and so on. Those only note it. */
#ifndef PAWL_STORE_CORE_TABLE_H
#define PAWL_STORE_CORE_TABLE_H

#include "store/core/doubts.h"
#include "store/core/fields.h"
#include "store/store.h"

struct pawl__backend;
struct pawl__claim;
struct pawl__set;

/* What jobs can be due for: being run, the end of their lease, or of their time to live. */
enum pawl__due { PAWL__DUE_RUN, PAWL__DUE_LEASE, PAWL__DUE_EXPIRY };

/* Jobs that ended before an instant, and what they ended as; but members of flows, which go with
 * them. Or flows, of any state. */
struct pawl__ended {
    bool archived; /* those in the archive, and not the live ones */
    enum pawl_state state;
    int64_t after_ms; /* of flows: they ended later */
    int64_t before_ms, limit;
    int64_t kept_until_ms; /* of those in the archive: a job with a keep_ms only if that was over by
                              then, finished_at_ms + keep_ms <= kept_until_ms */
};

/* Nodes that are found otherwise than by name. */
enum pawl__nodes {
    PAWL__NODES_SILENT, /* lease_ms is set, and alive_until_ms is not after the instant */
    PAWL__NODES_OLD     /* heartbeat_at_ms is before it */
};

/* May a batch that failed be done again? Nothing of it happened. */
enum pawl__retry {
    PAWL__RETRY_NO,
    PAWL__RETRY_YES,
    PAWL__RETRY_CAREFULLY /* an id that should be new was taken */
};

/* A plain new job: it has no keys, and its id was just made up, unless the store takes any id. */
struct pawl__new {
    const struct pawl__new_job *job;
    struct pawl__settled settled;
    uint32_t lane;
};

/* What claims and sweeps ask before they begin; see pawl__quick.peek. */
struct pawl__peek {
    const uint32_t *lanes; /* those that claims may take from: indexes in the catalogue */
    size_t lane_count;
    uint32_t ended_states, old_states; /* of live and of archived jobs; at least so old: */
    int64_t ended_age_ms, old_age_ms;
    int32_t ties; /* of unsettled entries */
    /* what was seen */
    int64_t now_ms;
    bool ready, ended, old; /* there is such a job */
    /* 0: none waits */
    int64_t run_at_ms, lease_at_ms, expiry_at_ms, key_at_ms, unsettled_at_ms, recount_at_ms,
        flow_at_ms, fire_at_ms, deadline_at_ms;
};

/* A completion of a run that nothing else in the batch is about. */
struct pawl__ending {
    struct pawl__op *op; /* complete.ref and complete.result */
    uint32_t lane;       /* said by finish_plain, */
    bool done;           /* if the job ended by it */
};

/* The functions of the tables below. */
typedef bool pawl__suits_fn(struct pawl__backend *backend, const struct pawl__new_job *job);
typedef enum pawl_err pawl__submit_plain_fn(struct pawl__backend *backend,
                                            const struct pawl__new *news, size_t count,
                                            bool *taken);
typedef enum pawl_err pawl__finish_plain_fn(struct pawl__backend *backend,
                                            struct pawl__ending *ends, size_t count);
typedef enum pawl_err pawl__promote_plain_fn(struct pawl__backend *backend, int64_t limit,
                                             struct pawl_job_id *ids, size_t *count, int64_t *moved,
                                             bool *more);
typedef enum pawl_err pawl__begin_fn(struct pawl__backend *backend, struct pawl__op **ops,
                                     size_t count);
typedef enum pawl_err pawl__commit_fn(struct pawl__backend *backend);
typedef void pawl__rollback_fn(struct pawl__backend *backend);
typedef enum pawl__retry pawl__retry_fn(struct pawl__backend *backend);
typedef enum pawl_err pawl__show_fn(struct pawl__backend *backend, bool ready);
typedef enum pawl_err pawl__queue_fn(struct pawl__backend *backend, const char *name,
                                     struct pawl_diag *diag);
typedef enum pawl_err pawl__lane_fn(struct pawl__backend *backend, const char *queue,
                                    const char *type, uint32_t *out, struct pawl_diag *diag);
typedef enum pawl_err pawl__load_records_fn(struct pawl__backend *backend, struct pawl__set *set);
typedef enum pawl_err pawl__load_keys_fn(struct pawl__backend *backend, struct pawl__set *set,
                                         bool wait);
typedef enum pawl_err pawl__load_fn(struct pawl__backend *backend, struct pawl__set *set,
                                    bool wait);
typedef enum pawl_err pawl__store_fn(struct pawl__backend *backend, struct pawl__set *set);
typedef enum pawl_err pawl__scan_due_fn(struct pawl__backend *backend, enum pawl__due what,
                                        int64_t limit, struct pawl_job_id *ids, size_t *count,
                                        bool *more);
typedef enum pawl_err pawl__next_due_fn(struct pawl__backend *backend, enum pawl__due what,
                                        int64_t *at_ms);
typedef enum pawl_err pawl__forget_keys_fn(struct pawl__backend *backend, int64_t limit);
typedef enum pawl_err pawl__unsettled_fn(struct pawl__backend *backend, int32_t ties, int64_t after,
                                         int64_t limit);
typedef enum pawl_err pawl__next_unsettled_fn(struct pawl__backend *backend, int32_t ties,
                                              int64_t *at_ms);
typedef enum pawl_err pawl__scan_flows_fn(struct pawl__backend *backend, int64_t limit);
typedef enum pawl_err pawl__flow_doubts_fn(struct pawl__backend *backend, int64_t until_ms,
                                           int64_t limit, pawl__flow_doubt_fn *found, void *ctx);
typedef enum pawl_err pawl__next_flow_fn(struct pawl__backend *backend, int64_t *at_ms);
typedef enum pawl_err pawl__scan_timers_fn(struct pawl__backend *backend, int64_t limit);
typedef enum pawl_err pawl__next_timer_fn(struct pawl__backend *backend, int64_t *at_ms);
typedef enum pawl_err pawl__scan_waits_fn(struct pawl__backend *backend, const char *key,
                                          int64_t limit);
typedef enum pawl_err pawl__scan_schedules_fn(struct pawl__backend *backend, int64_t limit);
typedef enum pawl_err pawl__next_schedule_fn(struct pawl__backend *backend, int64_t *at_ms);
typedef enum pawl_err pawl__scan_ended_fn(struct pawl__backend *backend,
                                          const struct pawl__ended *what, bool *more);
typedef enum pawl_err pawl__scan_ended_flows_fn(struct pawl__backend *backend,
                                                const struct pawl__ended *what);
typedef enum pawl_err pawl__census_fn(struct pawl__backend *backend, const char *name,
                                      struct pawl_census *out, int64_t *silent);
typedef enum pawl_err pawl__scan_nodes_fn(struct pawl__backend *backend, enum pawl__nodes which,
                                          int64_t at_ms, int64_t limit);
typedef enum pawl_err pawl__scan_locks_fn(struct pawl__backend *backend, const char *owner,
                                          int64_t limit);
typedef enum pawl_err pawl__scan_deadlines_fn(struct pawl__backend *backend, int64_t before_ms,
                                              int64_t limit);
typedef enum pawl_err pawl__next_deadline_fn(struct pawl__backend *backend, int64_t *at_ms);
typedef enum pawl_err pawl__match_fn(struct pawl__backend *backend,
                                     const struct pawl_filter *filter, int64_t limit,
                                     struct pawl__arena *arena, struct pawl_job_id **ids,
                                     size_t *count);
typedef enum pawl_err pawl__scan_ready_fn(struct pawl__backend *backend, struct pawl__claim *claim);
typedef bool pawl__peek_fn(struct pawl__backend *backend, struct pawl__peek *peek);

/* Fast paths, each of which may be NULL: the set does the same with more work. None of them moves a
 * job with ties. submit_plain writes new ones as well: no rule is told that a job came. */
struct pawl__quick {
    bool for_one; /* submit_plain and finish_plain are worth it for a batch of one job as well */
    bool any_id;  /* submit_plain also takes ids that callers chose */
    /* Is submit_plain for this job? NULL: for all of them. */
    pawl__suits_fn *suits;
    /* Write new jobs. `taken`: nothing was written, for an id is there already; a store that learns
     * so only at the end fails the batch, to be done again PAWL__RETRY_CAREFULLY. */
    pawl__submit_plain_fn *submit_plain;
    /* Complete runs without reading their jobs, guarded by state, run and the absence of ties. Of
     * two that name one job, at most the first is done. */
    pawl__finish_plain_fn *finish_plain;
    /* As scan_ready, but jobs without ties may be given at once, by pawl__claim_give, and are
     * written by the backend. Must not give a job that is behind one which it cannot give, if that
     * would keep the better one from being taken. */
    pawl__scan_ready_fn *claim_plain;
    /* As scan_due for RUN, but of the jobs that it finds some become available at once: `moved`.
     * `ids` are the others. */
    pawl__promote_plain_fn *promote_plain;
    /* Before a transaction is begun, by one statement: would they find anything? It may say that
     * they would when they would not. False: it cannot tell. */
    pawl__peek_fn *peek;
};

struct pawl__core_table {
    /* Begin a transaction for these operations. Sets the set's `now_ms`, brings its
     * catalogue up to date. Where several transactions write at once, the operations are asked what
     * they name (pawl__core_names): their keys are locked first, in one order for all, and the time
     * is read after that; queues and lanes are made before, in a transaction of their own. */
    pawl__begin_fn *begin;
    /* Write all that was put off, add what the catalogue has counted to the counters, and commit.
     * IO: it may have happened, and nobody can tell. */
    pawl__commit_fn *commit;
    /* After any failure, also of begin and commit: nothing of the transaction is left. Whatever is
     * cached of it is forgotten. */
    pawl__rollback_fn *rollback;
    /* Optional: asked after that. */
    pawl__retry_fn *retry;
    /* Optional: an operation is about to look for jobs otherwise than by scan_ready. Write what was
     * put off; with `ready`, put available jobs where they are found. */
    pawl__show_fn *show;
    struct pawl__quick quick;

    /* Find or make a queue, which is in the catalogue then. One that was made stays. ARG: there can
     * be none, told to `diag`. */
    pawl__queue_fn *queue;
    /* Find or make the lane of a queue and a type: its index in the catalogue. A lane that was made
     * stays. ARG: there can be none, told to `diag`. */
    pawl__lane_fn *lane;
    /* Read the records of all keys of `records.wanted`, kind by kind in the order of PAWL__RECORDS:
     * pawl__set_record_loaded is called for each that there is, those of one key in order of the
     * fields that tell them apart. Where several transactions write at once records are locked
     * until the end, as the kind needs it; of a TURN that another transaction has locked
     * pawl__set_record_held is called, without waiting for it. */
    pawl__load_records_fn *load_records;
    /* Read the holders of all keys of `unread_keys`. Where several transactions write at once, the
     * keys that the operations name (pawl__core_names) were locked when the transaction began, and
     * the others are locked here; so the keys of the rows of `unread` that need HOLDERS may be
     * wanted here as well, to lock all jobs in one go. Without `wait` a key that another
     * transaction has locked is `held`. */
    pawl__load_keys_fn *load_keys;
    /* Read all rows of `unread`, which are in ascending order of id. For each row that there is
     * pawl__row_loaded is called, with at least what it needs; where that is nothing, it is enough
     * to set `found`. What a row that is read again has already, beside its own fields, stays:
     * rules may have changed it. Jobs that are not live are looked for in the archive, and then
     * everything but crashes is read. The `found` of others is ABSENT. Where several transactions
     * write at once the rows are locked until the end, in that order, waiting for those that others
     * hold; without `wait` such rows are HELD. Those that are `shared` need not be locked, and must
     * not wait for those who move the job; they must stay until the end. */
    pawl__load_fn *load;
    /* Write all that was changed: new rows, rows with `wrote`, and `lists`. Need not wait for the
     * answers. A row of a table whose name ends in _NEW that is there all the same fails the
     * batch, which is then done again. */
    pawl__store_fn *store;
    /* Jobs that are due, oldest first, at most `limit`, which `ids` has room for; locked until the
     * end, and without those that others hold. A job may be among them that is not due any more.
     * `more`: it looked at as many as it may. */
    pawl__scan_due_fn *scan_due;
    /* When the next one is due; 0: there is none. */
    pawl__next_due_fn *next_due;
    /* Forget keys whose time is over, at most `limit`. */
    pawl__forget_keys_fn *forget_keys;
    /* Hand entries of pawl_unsettled that have any of these ties to pawl__settle_again: those
     * behind the entry `after`, oldest first, at most `limit`; locked until the end, and without
     * those that others hold. Where SQL functions submit jobs, `bytes` of -1 is replaced: by the
     * length of the job's texts, or by 0 if it has no unique policy. */
    pawl__unsettled_fn *unsettled;
    /* When the oldest of them was written; 0: there is none. */
    pawl__next_unsettled_fn *next_unsettled;
    /* Hand flows whose recount_at_ms is over to pawl__set_record_loaded, the earliest first, at
     * most `limit`; locked until the end, and without those that others hold. */
    pawl__scan_flows_fn *scan_flows;
    /* What differs in flows whose recount_at_ms is at most `until_ms`, in order of its kind, at
     * most `limit`: see doubts.h. Results in the set's arena. */
    pawl__flow_doubts_fn *flow_doubts;
    /* When the next flow is to be compared; 0: there is none. */
    pawl__next_flow_fn *next_flow;
    /* Hand the timers of flows whose time has come (FLOW_TIMER) to pawl__set_record_loaded, at
     * most `limit`, in any order; not locked. */
    pawl__scan_timers_fn *scan_timers;
    /* When the next one is due; 0: there is none. */
    pawl__next_timer_fn *next_timer;
    /* The same for the nodes that wait for the signal `key` (FLOW_SIGNAL), by flow and number. */
    pawl__scan_waits_fn *scan_waits;
    /* Hand schedules whose look_at_ms is over to pawl__set_record_loaded, the oldest first, at most
     * `limit`; locked until the end, and without those that others hold. */
    pawl__scan_schedules_fn *scan_schedules;
    /* The first look_at_ms of all; 0: there is none. */
    pawl__next_schedule_fn *next_schedule;
    /* Find jobs that ended, oldest first, at most `limit`; locked until the end, and without those
     * that others hold. Live ones are handed to pawl__set_ended, archived ones to
     * pawl__set_scanned. `more`: it looked at as many as it may. */
    pawl__scan_ended_fn *scan_ended;
    /* Hand flows that ended to pawl__set_record_loaded, oldest first, at most `limit`; locked until
     * the end, and without those that others hold. Archived are those whose members all are
     * (`shelved` is as large as `nodes`); a flow's keep_ms is that of the jobs of `ended`. */
    pawl__scan_ended_flows_fn *scan_ended_flows;
    /* Count the nodes but `name`: those that are alive, and, as `*silent`, those that said a lease
     * and are not; the jobs that are available; and when the next of the nodes falls silent. */
    pawl__census_fn *census;
    /* Hand such nodes to pawl__set_record_loaded, by name, at most `limit`; locked until the end,
     * and without those that others hold. */
    pawl__scan_nodes_fn *scan_nodes;
    /* The same for the locks of an owner. */
    pawl__scan_locks_fn *scan_locks;
    /* Hand the deadlines before an instant to pawl__set_record_loaded, oldest first, at most
     * `limit`; locked until the end, and without those that others hold. */
    pawl__scan_deadlines_fn *scan_deadlines;
    /* The first of all; 0: there is none. */
    pawl__next_deadline_fn *next_deadline;
    /* The best ranked jobs that are available in the claim's lanes, queue by queue, at most
     * `wanted`: pawl__claim_found is called for each, best first. Where several transactions write
     * at once they are locked until the end, so there are at most `givable` that have not expired,
     * and those that others hold are left out; then `passed_over` is set. A job that was found and
     * stays available is found by the next scan. See claim.h. */
    pawl__scan_ready_fn *scan_ready;
    /* Jobs that match a filter, oldest first; not locked; `ids` in `arena`. */
    pawl__match_fn *match;
};

#endif
