/* The working set: the rows that one commit batch is about, in memory.
 *
 * Operations are added to the set. Then the backend reads all rows that they name, by a few
 * statements; the rules (submit.c, claim.c, finish.c, control.c, sweep.c, run_data.c, retire.c,
 * cluster.c) decide the operations in order, on the rows in memory; and the backend writes what
 * changed, again by a few statements. A rule has no effect outside of the set, and no SQL is in
 * this folder.
 *
 * 1. A row is read once in a batch. What a rule changes is seen by the rules behind it.
 * 2. A rule that returns an error has changed nothing: it checks first and changes afterwards, or
 *    takes back what it changed by the undo journal.
 * 3. pawl__row_move alone changes a state, and notes the move.
 * 4. Between two batches the set is empty. Its memory is kept.
 *
 * Threads: a set belongs to a backend's session, and to the thread that has that. */
#ifndef PAWL_STORE_CORE_SET_H
#define PAWL_STORE_CORE_SET_H

#include "base/id.h"
#include "base/rng.h"
#include "schedule/schedule.h"
#include "store/core/catalog.h"
#include "store/core/fields.h"
#include "store/core/index.h"
#include "store/core/records.h"
#include "store/core/table.h"
#include "store/notices.h"

struct pawl__backend;
struct pawl__set;
struct pawl__run_data;
struct pawl__claim;

/* ---- rows ---- */

enum pawl__found {
    PAWL__FOUND_UNREAD,
    PAWL__FOUND_LIVE,
    PAWL__FOUND_ARCHIVED,
    PAWL__FOUND_ABSENT,
    PAWL__FOUND_HELD /* by another transaction; nothing is known of it */
};

/* Groups of fields: what rules need of a row, so that loads are narrow. */
enum {
    PAWL__NEED_NONE = 0,      /* only whether there is such a job */
    PAWL__NEED_RUN = 1,       /* state, lane, runs, times of the run, worker */
    PAWL__NEED_FACTS = 2,     /* priority, times, retry policy */
    PAWL__NEED_STAND = 4,     /* all that is known of a job that does not run */
    PAWL__NEED_KEYS = 8,      /* keys */
    PAWL__NEED_CRASHES = 16,  /* how many leases lapsed in this series of attempts */
    PAWL__NEED_RUN_DATA = 32, /* `run_data` */
    PAWL__NEED_HOLDERS = 64,  /* the holders of its keys, which it may take back */
    PAWL__NEED_JOB = 128,     /* `job` */
    PAWL__NEED_ALL = 0xff
};

/* What rules wrote, so that stores are narrow. */
enum {
    PAWL__WROTE_STAND = 1,   /* the state, or anything that goes with it */
    PAWL__WROTE_FACTS = 2,   /* PAWL__ROW_PLAN */
    PAWL__WROTE_END = 4,     /* it is deleted; see `gone` */
    PAWL__WROTE_LEASE = 8,   /* lease_until_ms of a run */
    PAWL__WROTE_ARCHIVE = 16 /* it goes to the archive as it is */
};

/* A job that this batch submits, as it came: what is changed afterwards is in its row alone. */
struct pawl__birth {
    const struct pawl__new_job *job;
    struct pawl__settled settled;
};

/* A job; see PAWL__ROW_READ for what is stored. Which fields are set is told by `has`. Texts and
 * spans are in the set's arena, or borrowed from an operation; NULL and "" are the same. */
struct pawl__row {
    struct pawl_job_id id;
    uint8_t found; /* enum pawl__found */
    uint8_t need, has, wrote;
    bool shared; /* nobody changes it; see pawl__set_want_shared */

    struct { /* as it was read */
        enum pawl_state state;
        int64_t rank;
        bool has_end;
        int32_t entries; /* see pawl__settle_entries */
    } was;
    bool restored; /* it was in the archive and must come back from there */
    uint8_t gone;  /* deleted from there: LIVE or ARCHIVED; `found` is ABSENT then */
    bool may_go;   /* an operation of the batch may delete it */
    const struct pawl__birth *birth; /* it is new; NULL: it was there before */

    /* RUN */
    enum pawl_state state;
    uint32_t lane; /* index in the catalogue */
    int64_t run, base_run, free_runs, started_at_ms, lease_until_ms;
    const char *worker;
    int32_t ties; /* what else depends on its moves: settle.h */

    /* FACTS */
    int32_t priority, attempts_max;
    int64_t created_at_ms, due_at_ms, rank, expires_at_ms, timeout_ms, sla_soft_at_ms,
        sla_hard_at_ms;
    struct pawl_span retry, on_success, on_failure;

    /* STAND */
    enum pawl_state paused_from;
    bool has_end; /* it has ended; also when it was paused after that */
    bool end_new; /* in this batch: finished_at_ms, dead_letter, end_reason and result are set */
    bool dead_letter;
    int64_t finished_at_ms;
    const char *reason;      /* why it waits */
    const char *end_reason;  /* why it ended */
    struct pawl_span result; /* of a new end; never read */

    /* KEYS: records of PAWL__KEY_RECORD_BYTES */
    struct pawl_span keys;

    int64_t crashes; /* CRASHES */
    struct pawl__run_data
        *run_data; /* NOTES; in the set's arena, from the time when they are wanted */

    /* JOB, of a live job: all that a worker is told, but for where the job stands */
    struct pawl_job *job;
    struct pawl__arena *job_arena; /* where it is; set with the wish */
    int64_t args_bytes;            /* a scan for a claim says how long its arguments are */

    struct pawl_job_id arrival; /* as in struct pawl__new_job */
    union {                     /* the backend's own, from load to store */
        int64_t key;
        uint8_t b[8];
    } own;
};

enum { PAWL__KEY_RECORD_BYTES = 17 }; /* of `keys`: a byte of kind, sixteen of digest */

/* What a move leads to, beyond the state. Zero fields keep what the row has. */
struct pawl__target {
    int64_t due_at_ms;
    int64_t lease_until_ms;
    const char *worker;
    const char *reason;
    struct pawl_span result;
    bool dead_letter;
};

/* A change of a job's state, for counters and listeners. */
struct pawl__set_move {
    struct pawl__row *row;
    int64_t run;
    int64_t due_at_ms; /* 0: nothing becomes due */
    enum pawl_state from, to;
    bool silent;  /* into or out of the store; counted, and not a move that listeners hear of */
    bool control; /* an operator touched a job that ran */
};

/* ---- other tables ---- */

/* See PAWL__SET_TABLES. */

/* A failed run. */
struct pawl__failure {
    const struct pawl__row *row;
    int64_t run, attempt, started_at_ms, failed_at_ms;
    int64_t delay_ms; /* until the next run; -1: none follows */
    bool lapsed;
    const char *worker, *type, *code, *message;
    struct pawl_span details;
};

/* Of a job that fails again and again the oldest failures are forgotten, up to `run`; not lapses,
 * which are its crash credits. */
struct pawl__trim {
    const struct pawl__row *row;
    int64_t run;
};

/* What concerns a job that is no more has a subject in place of an id. */
struct pawl__audit {
    int64_t at_ms;
    struct pawl_job_id id;
    const char *subject, *action, *actor, *reason;
    enum pawl_state from, to;
};

struct pawl__key_row {
    struct pawl_span digest;
    struct pawl_job_id id;
    int64_t until_ms;
};

/* A job from SQL that got its unique key: all that it has. */
struct pawl__checked {
    const struct pawl__row *row;
    struct pawl_span keys;
};

/* What a run has reported of itself. */
struct pawl__progress {
    const struct pawl__row *row;
    int64_t run, at_ms;
    double value; /* negative: none */
    struct pawl_span message, data;
};

struct pawl__checkpoint {
    const struct pawl__row *row;
    int64_t sequence, at_ms; /* 0: there is none */
    struct pawl_span state;  /* never read */
};

struct pawl__log_line {
    const struct pawl__row *row;
    int64_t line, run, at_ms;
    int32_t level;
    struct pawl_span text;
};

/* Of a long log the lines in between are forgotten: those behind `after`, up to `line`. */
struct pawl__log_cut {
    const struct pawl__row *row;
    int64_t after, line;
};

/* What is kept with a job while it runs. */
struct pawl__run_data {
    struct pawl__progress progress;     /* run 0: none */
    struct pawl__checkpoint checkpoint; /* the sequence alone is read */
    int64_t lines;                      /* of its log, those that were forgotten too */
    bool reports;                       /* progress is wanted */
    bool progressed, saved, dropped;    /* to be written */
};

/* A move of a job with ties that is to be followed up: settle.h. */
struct pawl__unsettled {
    int64_t seq; /* of its entry in the store; 0: it has none */
    int64_t at_ms;
    struct pawl_job_id id;
    int32_t ties;  /* those that are left to do */
    int64_t bytes; /* UNCHECKED: of the job, which is read whole; 0: that is not needed; -1: it is
                      not known (table.h) */
    int64_t run;
    enum pawl_state from, to;
    /* What was reported of the run, where the entry is not about a move. */
    int64_t delay_ms;      /* until the next run; 0: as the policy says. UNCHECKED: from when the
                              job is due until it expires; 0: that does not depend on when it is */
    int32_t not_retryable; /* 0 or 1 */
    const char *type, *code, *error_class, *message;
    struct pawl_span details; /* of a completion: its result */
    /* FLOW: the node that it is about; zeros: that is to be looked up by `id`. Not stored. */
    struct pawl_job_id flow;
    int32_t node;
};

/* What operators say of a queue. */
struct pawl__queue_row {
    const char *name;
    bool paused;
    bool forgotten; /* it is listed only while it has a job */
};

/* An entry that is done. */
struct pawl__followed {
    int64_t seq;
};

/* The entry of a job for one of PAWL__TIES_OWN: there is no use for it any more. */
struct pawl__moot {
    struct pawl_job_id id;
    int32_t ties;
};

/* A job that holds or held a key. */
struct pawl__key_holder {
    struct pawl_job_id id;
    int64_t until_ms; /* 0: never forgotten */
    bool stored;      /* it was read */
    bool added;       /* to be written, unless it was removed afterwards */
    bool removed;
};

struct pawl__set_key {
    uint8_t digest[16];
    bool read;
    bool held;                        /* by another transaction, when it was read without waiting */
    struct pawl__key_holder *holders; /* by id, oldest first; in the set's arena */
    size_t count, cap;
};

/* ---- the undo journal (journal.c) ---- */

struct pawl__saved_row {
    struct pawl__row *row, was;
};

struct pawl__saved_holder {
    size_t key;
    struct pawl__key_holder was;
    bool there; /* false: it was not among the holders, and only its id counts */
};

struct pawl__journal {
    bool open;
    size_t move_count, unsettled_count, list_counts[PAWL__TABLES]; /* at the mark */
    uint64_t changes;
    struct pawl__saved_row *rows; /* since then */
    size_t row_count, row_cap;
    struct pawl__saved_holder *holders;
    size_t holder_count, holder_cap;
};

/* ---- the set ---- */

/* What goes its own way and was not handed to the backend yet; see batch.c. */
struct pawl__gathered {
    struct pawl__op **submits;
    size_t submit_count, submit_cap;
    struct pawl__new *news; /* their jobs */
    size_t new_count, new_cap;
    struct pawl__ending *ends;
    size_t end_count, end_cap;
};

struct pawl__set {
    const struct pawl__core_table *table;
    struct pawl__backend *backend;
    /* kept between batches: */
    struct pawl__rng rng;
    struct pawl__notices notices; /* what listeners are told of the newest batch */
    struct pawl__idgen ids;       /* of jobs that rules make; its clock is `now_ms` */
    struct pawl_clock id_clock;
    struct pawl__zones *zones;   /* NULL: not yet used */
    struct pawl__parsed *parsed; /* expressions of schedules; NULL: not yet used */
    struct pawl__catalog catalog;
    int64_t now_ms;            /* of the transaction */
    int64_t boost_ms;          /* as the store was made with: set when it is opened */
    struct pawl_diag *diag;    /* where a failure of the transaction is told */
    bool failed;               /* there was no memory */
    bool careful;              /* an id that should be new was taken: look for all of them */
    struct pawl__claim *claim; /* the one under way */
    struct pawl__turn *turn;   /* the same, of a schedule that an operation names */
    int64_t args_max;          /* of JOB, arguments with more bytes are not read. 0: no bound */

    bool lone;         /* the batch is one operation about one job */
    bool claims_empty; /* the newest scan for ready jobs found none; stays between batches */
    struct pawl__gathered gathered;
    struct pawl__op **ops; /* added, not yet decided */
    size_t op_count, op_cap;
    bool open_ended; /* one of them may look at jobs that it does not name */
    bool asks_keys;  /* so does the newest: pawl__core_names has to tell of it */

    struct pawl__row **blocks; /* the pool: rows stay where they are */
    size_t row_count, block_count;
    struct pawl__index by_id;
    struct pawl__row **unread;
    size_t unread_count, unread_cap;
    struct pawl__row **scanned;
    size_t scanned_count, scanned_cap;

    struct pawl__set_key *keys;
    size_t key_count, key_cap;
    size_t unread_keys; /* the last so many */
    struct pawl__index by_digest;
    struct pawl__record_set records;
    struct pawl__journal journal;

    struct pawl__set_move *moves;
    size_t move_count, move_cap;
    struct pawl__unsettled *unsettled; /* moves of jobs with ties */
    size_t unsettled_count, unsettled_cap;
    size_t unsettled_done;       /* the first so many were followed up, or left in the store */
    int64_t unsettled_bytes;     /* see PAWL__SETTLE_BYTES_MAX */
    bool unsettled_more;         /* there are entries that were not taken up because of that */
    int sweeps_full;             /* so many have found entries, in a row; stays between batches */
    int64_t retired_after_ms[2]; /* flows that end later are looked at: to archive, to purge */
    int64_t swept_seq; /* where the next sweep over entries goes on; stays between batches */
    struct pawl__list lists[PAWL__TABLES];
    uint64_t changes;         /* of rows, holders of keys and lists, without those undone */
    struct pawl__arena arena; /* texts of the rows */
};

/* An empty set of a backend's session. Both pointers are borrowed until the release. */
void pawl__set_init(struct pawl__set *set, const struct pawl__core_table *table,
                    struct pawl__backend *backend, uint64_t seed);
void pawl__set_release(struct pawl__set *set);
/* Forget everything; the memory is kept. */
void pawl__set_clear(struct pawl__set *set);
static inline bool pawl__set_is_empty(const struct pawl__set *set)
{
    return set->row_count == 0 && set->op_count == 0 && set->key_count == 0 &&
           set->records.count == 0;
}

/* The row of a job, if it is in the set. */
struct pawl__row *pawl__set_find(const struct pawl__set *set, struct pawl_job_id id);
struct pawl__row *pawl__set_at(const struct pawl__set *set, size_t at);
/* The row of a job, made if need be, with at least these groups once it is read. What a row that
 * was changed needs must have been said before. NULL: no memory, and `failed` is set. */
struct pawl__row *pawl__set_want(struct pawl__set *set, struct pawl_job_id id, uint8_t need);
/* The same for who does not change the row, but what is kept with the job: it is only kept from
 * being deleted, so that nobody waits for a transaction that moves the job and is still open. */
struct pawl__row *pawl__set_want_shared(struct pawl__set *set, struct pawl_job_id id, uint8_t need);
/* The row of a job that is to be new: it is not looked for, unless it was wanted. */
struct pawl__row *pawl__set_new(struct pawl__set *set, struct pawl_job_id id);
/* Want a job that a scan found, into an empty set; one that it finds again counts once. */
void pawl__set_scanned(struct pawl__set *set, struct pawl_job_id id, uint8_t need);
/* A job that has ended and was found so; of no other use than to be archived. NULL: it is in the
 * set, or there is no memory. */
struct pawl__row *pawl__set_ended(struct pawl__set *set, struct pawl_job_id id, uint32_t lane,
                                  enum pawl_state state);
/* A job lets a key go, whether its holders were read or not. */
void pawl__set_drop_key(struct pawl__set *set, const uint8_t digest[16], struct pawl_job_id id);
/* Is anything wanted that was not read? */
static inline bool pawl__set_lacks(const struct pawl__set *set)
{
    return set->unread_count || set->unread_keys || set->records.unread;
}
/* A copy in the set's arena; "" without memory, and `failed` is set. */
const char *pawl__set_text(struct pawl__set *set, const void *at, size_t len);
void pawl__set_note_move(struct pawl__set *set, const struct pawl__set_move *move);
/* Is this the move by which a new job came? They are in the order in which the jobs were submitted,
 * which that of the rows need not be. */
static inline bool pawl__move_is_birth(const struct pawl__set_move *move)
{
    return move->from == PAWL__OUTSIDE && move->row->birth;
}
/* A job that has no row here moved: it is counted and told. */
struct pawl__plain_move {
    struct pawl_job_id id;
    int64_t run;
    uint32_t lane;
    enum pawl_state from, to;
    bool in_flow;
};
void pawl__set_moved(struct pawl__set *set, const struct pawl__plain_move *move);
void pawl__set_unsettle(struct pawl__set *set, const struct pawl__unsettled *move);
/* One more struct of so many bytes in a list. */
void pawl__list_add(struct pawl__set *set, struct pawl__list *list, size_t bytes, const void *row);
/* One more row of a table: a struct that PAWL__SET_TABLES names. */
void pawl__set_put(struct pawl__set *set, enum pawl__table table, const void *row);

/* The newest move is an operator's, of a job that ran. */
void pawl__set_control(struct pawl__set *set);
/* Room for `count`, which are some, in a growing array that is kept between batches. NULL: no
 * memory, and the array is as it was. */
void *pawl__room_for(void *array, size_t *cap, size_t count, size_t bytes);
/* Room for one more in such an array. NULL: no memory, and
 * `failed` is set. */
void *pawl__set_grow(struct pawl__set *set, void *array, size_t *cap, size_t count, size_t bytes);
#define PAWL__SET_GROW(set, array, cap, count)                                                     \
    (pawl__set_grow(set, (array), &(cap), (count), sizeof *(array)))

/* ---- keys (keys.c) ---- */

/* The holders of a key; `read` false: not yet. NULL: no memory, or for _find that it is not in the
 * set. */
struct pawl__set_key *pawl__set_want_key(struct pawl__set *set, const uint8_t digest[16]);
struct pawl__set_key *pawl__set_find_key(const struct pawl__set *set, const uint8_t digest[16]);
/* Where in a key's holders a job is, or where it belongs. */
size_t pawl__key_place(const struct pawl__set_key *key, struct pawl_job_id id, bool *there);
/* One more holder, put where it belongs. */
void pawl__key_hold(struct pawl__set *set, struct pawl__set_key *key,
                    const struct pawl__key_holder *holder);
/* Want the jobs that hold the keys of `unread_keys`. */
void pawl__set_want_holders(struct pawl__set *set);
void pawl__keys_clear(struct pawl__set *set);
void pawl__keys_release(struct pawl__set *set);

/* ---- the undo journal (journal.c) ---- */

/* From here on changes of rows and keys, moves and rows of other tables can be taken back, until
 * they are kept or undone; one mark at a time. */
void pawl__set_mark(struct pawl__set *set);
void pawl__set_keep(struct pawl__set *set);
void pawl__set_undo(struct pawl__set *set);
/* Before a row, or what a key says of a job, is changed. */
void pawl__row_save(struct pawl__set *set, struct pawl__row *row);
void pawl__holder_save(struct pawl__set *set, const struct pawl__set_key *key,
                       struct pawl_job_id id);
void pawl__journal_release(struct pawl__journal *journal);

/* ---- one row (row.c) ---- */

/* Take a job through `events`; only the state after the last counts. STATE, without a diagnosis:
 * the lifecycle refuses the first one; nothing was changed. */
PAWL_MUST_CHECK enum pawl_err pawl__row_move(struct pawl__set *set, struct pawl__row *row,
                                             const enum pawl_event *events, size_t event_count,
                                             const struct pawl__target *target);
/* For load: all fields of PAWL__ROW_READ were read, and the lane. */
void pawl__row_loaded(const struct pawl__set *set, struct pawl__row *row, enum pawl__found found);
/* For load: room for JOB. NULL: no memory, and `failed` is set. */
struct pawl_job *pawl__row_job(struct pawl__set *set, struct pawl__row *row);
/* The id by which jobs of one rank are in order. */
const struct pawl_job_id *pawl__row_seat(const struct pawl__row *row);
/* It ended in an earlier batch, and that is still so; also when it is paused. */
static inline bool pawl__row_keeps_end(const struct pawl__row *row)
{
    return row->has_end && !row->end_new;
}
/* In what order it is to be claimed, when it is due. */
int64_t pawl__row_rank(const struct pawl__set *set, const struct pawl__row *row);
/* What else depends on the job's moves from now on: bits of PAWL__TIES. FACTS were read. */
void pawl__row_tie(struct pawl__set *set, struct pawl__row *row, int32_t ties);
/* A new series of attempts, with the old errors kept and no time to live: it is over. To be moved
 * afterwards. */
void pawl__row_begin_anew(struct pawl__row *row);
/* The job comes back from the archive, as it had ended. */
void pawl__row_restore(struct pawl__set *set, struct pawl__row *row);
/* The job, which has ended, is no more, and neither is anything that is kept with it but its
 * idempotency key. */
void pawl__row_delete(struct pawl__set *set, struct pawl__row *row);
/* The job, which has ended, goes to the archive. */
void pawl__row_archive(struct pawl__set *set, struct pawl__row *row);
/* The row of a job that is live or archived. NOT_FOUND. */
PAWL_MUST_CHECK enum pawl_err pawl__row_known(struct pawl__set *set, struct pawl_job_id id,
                                              struct pawl__row **out, struct pawl_diag *diag);
/* The rows of changed notes go onto their lists. */
void pawl__run_data_list(struct pawl__set *set);
/* The row of the active job that `ref` owns. STALE, NOT_FOUND. */
PAWL_MUST_CHECK enum pawl_err pawl__row_owned(struct pawl__set *set, const struct pawl_run *ref,
                                              struct pawl__row **out, struct pawl_diag *diag);

/* ---- rules: what an operation wants, and what it does. OK, or the operation's own error. One that
 *      leaves something wanted behind has changed nothing, and is called again when it is read ----
 */

typedef void pawl__wants_fn(struct pawl__set *set, const struct pawl__op *op);
/* What an operation names beside existing jobs. Only from the operation itself: it is asked before
 * the transaction begins. */
struct pawl__names {
    const struct pawl__new_job *jobs; /* new ones: of these keys, in these lanes, and in those of
                                         the follow-ups that their specs have */
    size_t job_count;
    const struct pawl_job_id *revived; /* a job that may take its keys back; NULL: none */
    bool revives_any;                  /* the same, for jobs that it finds */
    const char *queue;                 /* that it needs; NULL: none */
};
typedef void pawl__names_fn(const struct pawl__op *op, struct pawl__names *out);
typedef enum pawl_err pawl__rule_fn(struct pawl__set *set, struct pawl__op *op);

pawl__wants_fn pawl__want_submit;
pawl__rule_fn pawl__rule_submit;
/* Can the backend write the submit without asking anything? `any_id`: also if callers chose ids. */
bool pawl__submit_is_plain(const struct pawl__set *set, const struct pawl__op *op, bool any_id);
pawl__wants_fn pawl__want_assign, pawl__want_unroute, pawl__want_complete, pawl__want_fail,
    pawl__want_snooze, pawl__want_control, pawl__want_priority, pawl__want_delete,
    pawl__want_extend, pawl__want_progress, pawl__want_checkpoint, pawl__want_log, pawl__want_lock,
    pawl__want_setting, pawl__want_token, pawl__want_schema, pawl__want_config, pawl__want_request;
pawl__rule_fn pawl__rule_assign, pawl__rule_unroute, pawl__rule_complete, pawl__rule_fail,
    pawl__rule_snooze, pawl__rule_control, pawl__rule_priority, pawl__rule_delete,
    pawl__rule_extend, pawl__rule_progress, pawl__rule_checkpoint, pawl__rule_log, pawl__rule_bulk,
    pawl__rule_promote, pawl__rule_lapse, pawl__rule_deadline, pawl__rule_expire, pawl__rule_settle,
    pawl__rule_archive, pawl__rule_purge, pawl__rule_node_join, pawl__rule_node_put,
    pawl__rule_node_drop, pawl__rule_lock_try, pawl__rule_lock_renew, pawl__rule_lock_release,
    pawl__rule_setting, pawl__rule_token, pawl__rule_schema_add, pawl__rule_schema_drop,
    pawl__rule_config_put, pawl__rule_config_drop, pawl__rule_request, pawl__rule_queue_pause,
    pawl__rule_flow_signal, pawl__rule_flow_control, pawl__rule_fire, pawl__rule_schedule_put,
    pawl__rule_schedule_control, pawl__rule_schedule_drop;
pawl__names_fn pawl__names_submit, pawl__names_control, pawl__names_bulk, pawl__names_queue_pause,
    pawl__names_schedule_put, pawl__names_schedule_control;
/* Operations that are run alone: what finds their jobs, and what comes after the store. */
pawl__rule_fn pawl__scan_bulk, pawl__scan_promote, pawl__after_promote, pawl__scan_lapse,
    pawl__after_lapse, pawl__scan_deadline, pawl__scan_expire, pawl__after_deadline,
    pawl__after_expire, pawl__scan_settle, pawl__after_settle, pawl__scan_retire,
    pawl__scan_flow_signal, pawl__scan_node, pawl__after_node_join, pawl__after_node_put,
    pawl__after_queue_pause, pawl__scan_fire, pawl__after_fire, pawl__scan_schedule;
pawl__rule_fn pawl__scan_flow_seal, pawl__rule_flow_seal;
/* Take a lock, or a turn, that was read. False: another owner has it. */
bool pawl__lock_take(const struct pawl__set *set, struct pawl__record *record, const char *owner,
                     int64_t ttl_ms);
/* A claim or a route, which may scan several times (claim.c). */
pawl__rule_fn pawl__core_claim, pawl__scan_claim, pawl__rule_claim;
/* Where a job goes whose time to live is over. */
extern const struct pawl__target pawl__expired;

/* ---- one batch (apply.c) ---- */

/* Read what is wanted. */
PAWL_MUST_CHECK enum pawl_err pawl__set_load(struct pawl__set *set, bool wait);

/* Write what was changed, and count moves. */
PAWL_MUST_CHECK enum pawl_err pawl__set_store(struct pawl__set *set);

/* For backends on which several transactions write at once: what to lock, and what to make, before
 * an operation is decided. */
void pawl__core_names(const struct pawl__op *op, struct pawl__names *out);
/* Is the operation, which names its jobs, decided by a rule here? */
bool pawl__core_decides(const struct pawl__op *op);
/* The same, but a completion or a plain submit only where others of the set might see it, or be
 * seen by it: the backend has a quicker way. */
bool pawl__core_takes(const struct pawl__set *set, const struct pawl__op *op);
/* Must the set be run before a submit, which names a job that the set may delete? */
bool pawl__core_precedes(const struct pawl__set *set, const struct pawl__op *op);
/* An operation of those that are decided together. */
PAWL_MUST_CHECK enum pawl_err pawl__core_add(struct pawl__set *set, struct pawl__op *op);
/* The last `count` that were added came before all others: they did not go the quicker way. */
void pawl__core_came_first(struct pawl__set *set, size_t count);
/* Read, decide all that was added, write; the set is empty afterwards. */
PAWL_MUST_CHECK enum pawl_err pawl__core_run(struct pawl__set *set);
/* An operation that does not name its jobs is run alone, with an empty set. */
PAWL_MUST_CHECK enum pawl_err pawl__core_scan(struct pawl__set *set, struct pawl__op *op);
/* Scan, load, decide, write: the set is empty before and afterwards. */
PAWL_MUST_CHECK enum pawl_err pawl__core_scan_once(struct pawl__set *set, struct pawl__op *op);

/* ---- batches (batch.c) ---- */

/* Is this an operation's own failure (a lost race, a broken rule)? Anything else fails the batch.
 * Such a failure does not roll back: the operations around it are committed. So the rule that
 * returns it must have changed nothing, or have undone it; apply.c asserts that by set->changes. An
 * operation that is run alone may have: its set is dropped. */
bool pawl__err_is_own(enum pawl_err err);
/* All of them in one transaction, in order; see pawl__apply_fn in backend.h. */
PAWL_MUST_CHECK enum pawl_err pawl__core_apply(struct pawl__set *set, struct pawl__op **ops,
                                               size_t count, struct pawl_diag *diag);
/* The same inside of a transaction that is under way; a failure is told to the set's `diag`. */
PAWL_MUST_CHECK enum pawl_err pawl__core_do(struct pawl__set *set, struct pawl__op **ops,
                                            size_t count);
/* Sets op->err. An error that is returned fails the transaction. */
typedef enum pawl_err pawl__apply_one_fn(struct pawl__set *set, struct pawl__op *op);
/* Hand all operations to `one`, until it returns an error, which is returned. In order, but for
 * claims that were posted singly: operations posted singly have no order among them. */
PAWL_MUST_CHECK enum pawl_err pawl__core_each(struct pawl__set *set, struct pawl__op **ops,
                                              size_t count, pawl__apply_one_fn *one);
enum { PAWL__PEEK_MAX = 16 }; /* operations of a batch that may all be in vain */
/* Answer operations that would find nothing (peek.c). How many are left: all of them, or those that
 * `left` was filled with. */
size_t pawl__core_peek(struct pawl__set *set, struct pawl__op **ops, size_t count,
                       struct pawl__op *left[PAWL__PEEK_MAX]);
/* A new job that a rule makes, of an operation that is run alone. `taken`: it is plain, no rule
 * will ask for its row, and it is written with others by the next pawl__core_plain_write, before
 * the set is stored; borrowed until then. Otherwise it is to be submitted as any other. */
PAWL_MUST_CHECK enum pawl_err pawl__core_plain(struct pawl__set *set,
                                               const struct pawl__new_job *job, bool *taken);
PAWL_MUST_CHECK enum pawl_err pawl__core_plain_write(struct pawl__set *set);
/* The table's fast paths (quick.c). */
const struct pawl__quick *pawl__core_quick(const struct pawl__core_table *table);

#endif
