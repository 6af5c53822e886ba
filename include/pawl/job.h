/* Jobs as callers submit them (spec), select them (filter) and read them (job).
 *
 * Times: `_at_ms` and `_until_ms` are UTC milliseconds since the epoch, durations end in `_ms`.
 * Zero means "not given" in arguments and "not yet" in results. Strings are NUL-terminated; JSON is
 * passed as spans, which are not. */
#ifndef PAWL_JOB_H
#define PAWL_JOB_H

#include <pawl/error.h>
#include <pawl/state.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A UUID, as bytes. Ids that pawl generates are version 7: they sort by time. */
struct pawl_job_id {
    uint8_t b[16];
};

#define PAWL_JOB_ID_TEXT_BYTES 37 /* including the NUL */

/* Borrowed bytes, not NUL-terminated. `at` may be NULL if `len` is 0. */
struct pawl_span {
    const char *at;
    size_t len;
};

/* Limits. Exceeding one is PAWL_ERR_LIMIT, unless said otherwise. */
enum {
    PAWL_TYPE_BYTES_MAX = 255,
    PAWL_QUEUE_BYTES_MAX = 128,
    PAWL_KEY_BYTES_MAX = 255,
    PAWL_TAG_BYTES_MAX = 64,
    PAWL_TAGS_MAX = 32,
    PAWL_WORKER_BYTES_MAX = 255,
    PAWL_PRIORITY_MIN = -100,
    PAWL_PRIORITY_MAX = 100,
    PAWL_META_BYTES_MAX = 64 * 1024,
    PAWL_PAYLOAD_BYTES_MAX = 10 * 1024 * 1024,
    PAWL_BATCH_MAX = 10000,
    PAWL_BULK_MAX = 1000,
    PAWL_PAGE_MAX = 1000,
    PAWL_JSON_DEPTH_MAX = 32,
    PAWL_LEASE_MIN_MS = 100,           /* minimum lease; a shorter one is PAWL_ERR_ARG */
    PAWL_FOLLOW_BYTES_MAX = 64 * 1024, /* of a follow-up as JSON, with its own follow-ups */
    PAWL_FOLLOW_DEPTH_MAX = 3          /* follow-ups of follow-ups of follow-ups */
};

/* How the wait depends on n, the number of failed attempts; I is initial_ms, C the coefficient. */
/* number, NAME, text, formula */
#define PAWL_BACKOFFS(X)                                                                           \
    X(1, EXPONENTIAL, "exponential", "I * C^(n-1)")                                                \
    X(2, LINEAR, "linear", "I * n")                                                                \
    X(3, POLYNOMIAL, "polynomial", "I * n^C")                                                      \
    X(4, CONSTANT, "constant", "I")                                                                \
    X(5, IMMEDIATE, "immediate", "0")

#define X(number, name, ...) PAWL_BACKOFF_##name = number,
enum pawl_backoff { PAWL_BACKOFF_DEFAULT = 0, PAWL_BACKOFFS(X) PAWL_BACKOFF_END };
#undef X

enum pawl_exhaustion {
    PAWL_EXHAUSTION_DEFAULT = 0, /* discard */
    PAWL_EXHAUSTION_DISCARD,
    PAWL_EXHAUSTION_DEAD_LETTER /* discarded, and listed as a dead letter */
};

enum pawl_jitter { PAWL_JITTER_DEFAULT = 0, PAWL_JITTER_ON, PAWL_JITTER_OFF };

/* Whether and when a failed job runs again. A zero field takes the default in brackets. */
struct pawl_retry {
    int32_t attempts_max;      /* total runs, including the first [3]; 1: no retries */
    enum pawl_backoff backoff; /* [exponential] */
    int64_t initial_ms;        /* [1000] */
    double coefficient;        /* at least 1 [2] */
    int64_t cap_ms;            /* at least initial_ms [300000] */
    int32_t exponent_max;      /* the power of C stops growing there [no limit]; 20 in Ratchet */
    enum pawl_jitter jitter;   /* [on] */
    double jitter_low;         /* the wait is multiplied by a random number in */
    double jitter_high;        /* [jitter_low, jitter_high) [0.5, 1.5), then capped again */
    const char *const *non_retryable; /* error types that are not retried; "auth.*" is a prefix */
    size_t non_retryable_count;
    enum pawl_exhaustion on_exhaustion;
};

/* Which fields make two jobs equal, as bits of pawl_unique.keys. The type always counts. */
enum { PAWL_UNIQUE_TYPE = 1, PAWL_UNIQUE_QUEUE = 2, PAWL_UNIQUE_ARGS = 4, PAWL_UNIQUE_META = 8 };

/* number, NAME, text */
#define PAWL_CONFLICTS(X)                                                                          \
    X(1, REJECT, "reject")                                                                         \
    X(2, REPLACE, "replace")                                                                       \
    X(3, REPLACE_EXCEPT_SCHEDULE, "replace_except_schedule")                                       \
    X(4, IGNORE, "ignore")

#define X(number, name, text) PAWL_CONFLICT_##name = number,
enum pawl_conflict { PAWL_CONFLICT_DEFAULT = 0, PAWL_CONFLICTS(X) PAWL_CONFLICT_END };
#undef X

/* The unique policy of OJS. keys == 0: none. */
struct pawl_unique {
    uint32_t keys;
    const char *const *args_keys; /* members of args; none: all of args */
    size_t args_key_count;
    const char *const *meta_keys; /* required with PAWL_UNIQUE_META */
    size_t meta_key_count;
    int64_t period_ms;              /* only existing jobs younger than this count [any age] */
    uint32_t states;                /* only existing jobs in these states count [all live states] */
    enum pawl_conflict on_conflict; /* [reject] */
};

/* A job to submit. Only `type` is required. Everything is borrowed until the call returns. */
struct pawl_job_spec {
    const struct pawl_job_id *id; /* NULL: a generated one. Does not affect the order of jobs */
    const char *type;
    const char *queue;      /* NULL: "default" */
    struct pawl_span args;  /* a JSON array [empty]; stored byte for byte */
    struct pawl_span meta;  /* a JSON object [none]; stored byte for byte */
    struct pawl_span extra; /* a JSON object of further members [none]; stored */
    const char *const *tags;
    size_t tag_count;
    int32_t priority;       /* higher runs sooner [0] */
    int64_t delay_ms;       /* due this long after submission */
    int64_t due_at_ms;      /* or due at this instant; past: now. Not both */
    int64_t expires_in_ms;  /* expires if not started this long after it is due */
    int64_t expires_at_ms;  /* or at this instant. Not both */
    int64_t timeout_ms;     /* time limit of one run [no limit] */
    int64_t lease_ms;       /* how long a claim lasts without a heartbeat, at least
                               PAWL_LEASE_MIN_MS [the claimer's] */
    int64_t sla_soft_at_ms; /* soft deadline; moves the job forward as it approaches */
    int64_t sla_hard_at_ms; /* hard deadline; not before sla_soft_at_ms */
    int64_t keep_ms;        /* keep the record at least this long after the job ends */
    struct pawl_retry retry;
    const char *idempotency_key; /* a repeat returns the first job */
    int64_t idempotency_ms;      /* how long the key is kept [for ever] */
    const char *business_key;    /* unique among live jobs, except for paused dead letters */
    struct pawl_unique unique;
    const char *principal; /* on whose behalf the job runs */
    const char *trace_id;
    bool pending; /* held until PAWL_CONTROL_ACTIVATE */
    /* Follow-ups: jobs that are submitted in the transaction in which this one ends, once for each
     * time that it ends: when it is completed, or when it is discarded, cancelled or expired.
     * Times are relative to that. `id` must not be given. Its meta gets "parent_id", the id of the
     * job that ended, and "parent_state"; pawl_task_inputs returns its result. A follow-up whose
     * key is taken is not made: the audit trail of this job says so. */
    const struct pawl_job_spec *on_success;
    const struct pawl_job_spec *on_failure;
};

/* The result of a submission. */
struct pawl_submitted {
    struct pawl_job_id id;
    enum pawl_state state; /* NONE: the earlier job has been deleted, only its key is left */
    bool deduplicated;     /* an earlier job takes the place of this spec: `id` is its id */
    bool replaced;         /* an earlier job was cancelled in favour of this one */
};

/* A failed attempt. */
struct pawl_failure {
    int64_t run;
    int64_t attempt;
    int64_t started_at_ms;
    int64_t failed_at_ms;
    int64_t retry_delay_ms; /* -1: no retry followed */
    bool lapsed;            /* the lease ran out: no worker reported this failure */
    const char *worker;
    const char *type;
    const char *code;
    const char *message;
    struct pawl_span details; /* JSON, may be empty */
};

/* A worker's report of a failed run. Strings may be NULL. */
struct pawl_report {
    const char *type;        /* matched with non-retryable lists */
    const char *code;        /* DISCARD, FAIL, DEAD_LETTER and RETRY are commands (OJS) */
    const char *error_class; /* used if no type is given */
    const char *message;
    struct pawl_span details; /* JSON; may be empty */
    bool not_retryable;
    bool requeue;           /* give the job back, record no failure */
    bool lapse;             /* the worker is gone: as if its lease had lapsed */
    int64_t retry_after_ms; /* > 0: overrides the delay of the policy */
};

/* A job as stored. Optional strings are "" and optional spans empty, never NULL. `run` counts all
 * claims and fences the owner's writes; `attempt` counts claims since the job was submitted or last
 * revived, and is what users see. */
struct pawl_job {
    struct pawl_job_id id;
    const char *type;
    const char *queue;
    /* what was submitted: */
    int32_t priority;
    int32_t attempts_max;
    int64_t created_at_ms;
    int64_t due_at_ms;
    struct pawl_span args;
    int64_t expires_at_ms;
    int64_t timeout_ms;
    int64_t lease_ms;
    int64_t sla_soft_at_ms;
    int64_t sla_hard_at_ms;
    int64_t keep_ms;
    struct pawl_span meta;
    struct pawl_span extra;
    struct pawl_span tags;   /* a JSON array */
    struct pawl_span retry;  /* the retry policy as JSON; empty: the default */
    struct pawl_span unique; /* the unique policy as JSON; empty: none */
    const char *idempotency_key;
    const char *business_key;
    const char *principal;
    const char *trace_id;
    struct pawl_span on_success; /* follow-ups, as JSON objects; empty: none */
    struct pawl_span on_failure;
    int32_t ties; /* internal: what else depends on the job's moves; 0: nothing */
    /* its current state: */
    enum pawl_state state;
    enum pawl_state paused_from; /* NONE unless paused */
    int64_t run;
    int64_t attempt;
    int64_t free_runs;      /* runs since then that cost no attempt */
    int64_t started_at_ms;  /* of the latest run; 0 while the job waits to run again */
    int64_t lease_until_ms; /* active, or routed */
    int64_t finished_at_ms;
    bool dead_letter;
    const char *worker; /* of the latest run, or the one it is routed to; "" while it waits to run
                           again */
    const char *reason; /* why it ended, or is held */
    struct pawl_span result;
    /* how it was read: */
    bool archived;
    bool brief;       /* args and result were omitted: see struct pawl_page */
    const char *hold; /* why it is pending, or was before it was paused: a name of PAWL_HOLDS; "" */
};

/* "name", why a pending job is not available. */
#define PAWL_HOLDS(X)                                                                              \
    X("submitter", "it was submitted so; PAWL_CONTROL_ACTIVATE ends that")                         \
    X("route", "it was routed to a worker that has not taken it yet")                              \
    X("unchecked", "a node will check the policies that SQL submitted it with")                    \
    X("parents", "other nodes of its flow have not ended")

/* Selects jobs. A zero field does not restrict; a list matches any of its members. */
struct pawl_filter {
    uint32_t states;
    const char *id_prefix; /* the first 8..32 hexadecimal digits of the id; dashes are ignored */
    const char *const *queues;
    size_t queue_count;
    const char *const *types; /* "mail.*" matches all that begin with "mail.", "*" matches all */
    size_t type_count;
    const char *const *tags;
    size_t tag_count;
    const char *business_key;
    const char *idempotency_key;
    const char *principal;
    const char *worker;
    const char *trace_id;
    const char *meta_key;   /* member of meta ... */
    const char *meta_value; /* ... that equals this string, boolean, or number as written */
    bool priority_given;
    int32_t priority_min;
    int32_t priority_max;
    int64_t created_from_ms, created_until_ms; /* from <= t < until */
    int64_t due_from_ms, due_until_ms;
    int64_t finished_from_ms, finished_until_ms;
    bool dead_letter; /* only dead letters */
    bool archived;    /* the archive too */
};

/* One page of a query. */
struct pawl_page {
    int64_t limit;      /* 1..PAWL_PAGE_MAX [50] */
    bool oldest_first;  /* [newest first] */
    const char *cursor; /* `next` of the previous page; NULL: the first page */
    bool count;         /* also count all matching jobs */
    /* Limit on args, meta and result together. The page ends before the job that would exceed it,
     * and `next` continues there; a page holds at least one job. 0: no limit. A server has a limit
     * of its own. */
    int64_t bytes_max;
    /* The page does not end at bytes_max: jobs beyond it have no args and result, which are not
     * read. With bytes_max 0 this applies to all jobs. */
    bool brief;
};

#define PAWL_CURSOR_BYTES 48

/* How long records of jobs that have ended are kept. */
struct pawl_retention {
    int64_t archive_after_ms; /* after a job ended [7 days]; negative: never */
    int64_t purge_after_ms;   /* after a job ended [90 days]; negative: never */
};

/* Jobs owned by the library until pawl_jobs_release. Zero-initialise before use. */
struct pawl_jobs {
    struct pawl_job *at;
    size_t count;
    bool more;                    /* of a claim: see pawl_claim */
    int64_t total;                /* number of matching jobs; -1 if not requested */
    char next[PAWL_CURSOR_BYTES]; /* cursor of the next page; "" after the last */
    void *owned;
};

#ifdef __cplusplus
}
#endif
#endif
