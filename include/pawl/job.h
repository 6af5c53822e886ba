/* Jobs as callers describe them (spec), find them (filter) and see them (job).
 *
 * Times: `_at_ms` and `_until_ms` are UTC milliseconds since the epoch, durations end in `_ms`;
 * zero means "not given" in what callers pass and "not yet" in what they get. Strings are
 * NUL-terminated; payloads are spans and may hold anything their JSON allows. */
#ifndef PAWL_JOB_H
#define PAWL_JOB_H

#include <pawl/error.h>
#include <pawl/state.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A UUID, as bytes. Ids that pawl makes are version 7: they sort by time. */
struct pawl_job_id {
    uint8_t b[16];
};

#define PAWL_JOB_ID_TEXT_BYTES 37 /* with the NUL */

/* Borrowed bytes, not ended by a NUL: `len` says how many. `at` may be NULL when `len` is 0. */
struct pawl_span {
    const char *at;
    size_t len;
};

/* Limits of what a spec may carry; beyond them PAWL_ERR_LIMIT. */
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
    PAWL_LEASE_MIN_MS = 100 /* a claim holds at least this long; less is PAWL_ERR_ARG */
};

/* How the wait grows with n, the number of failed attempts; I is initial_ms, C the coefficient. */
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
    PAWL_EXHAUSTION_DEAD_LETTER /* discarded, and listed among the dead letters */
};

enum pawl_jitter { PAWL_JITTER_DEFAULT = 0, PAWL_JITTER_ON, PAWL_JITTER_OFF };

/* When and whether a failed job runs again. A zero field takes the default in brackets. */
struct pawl_retry {
    int32_t attempts_max;      /* runs in all, the first included [3]; 1 means never again */
    enum pawl_backoff backoff; /* [exponential] */
    int64_t initial_ms;        /* [1000] */
    double coefficient;        /* at least 1 [2] */
    int64_t cap_ms;            /* at least initial_ms [300000] */
    int32_t exponent_max;      /* the power stops growing there [no limit]; Ratchet's is 20 */
    enum pawl_jitter jitter;   /* [on] */
    double jitter_low;         /* the wait is multiplied by a number drawn from */
    double jitter_high;        /* [jitter_low, jitter_high) [0.5, 1.5), then capped again */
    const char *const *non_retryable; /* error types that end the job; "auth.*" is a prefix */
    size_t non_retryable_count;
    enum pawl_exhaustion on_exhaustion;
};

/* What makes two jobs the same, as bits of pawl_unique.keys. The type always counts. */
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

/* OJS unique policy. keys == 0: none. */
struct pawl_unique {
    uint32_t keys;
    const char *const *args_keys; /* members of the object arguments; none: all of args */
    size_t args_key_count;
    const char *const *meta_keys; /* required with PAWL_UNIQUE_META */
    size_t meta_key_count;
    int64_t period_ms;              /* counts existing jobs younger than this [any age] */
    uint32_t states;                /* counts existing jobs in these [all live states] */
    enum pawl_conflict on_conflict; /* [reject] */
};

/* A job to be. Only `type` is required. Everything is borrowed until the call returns. */
struct pawl_job_spec {
    const struct pawl_job_id *id; /* NULL: a fresh one; the order of jobs does not depend on it */
    const char *type;
    const char *queue;      /* NULL: "default" */
    struct pawl_span args;  /* a JSON array [the empty one]; kept byte for byte */
    struct pawl_span meta;  /* a JSON object [none]; kept byte for byte */
    struct pawl_span extra; /* a JSON object of further members [none]; kept */
    const char *const *tags;
    size_t tag_count;
    int32_t priority;       /* higher runs sooner [0] */
    int64_t delay_ms;       /* due this long after submission */
    int64_t due_at_ms;      /* or at this instant; past means now. Not both */
    int64_t expires_in_ms;  /* not started this long after it is due: expired */
    int64_t expires_at_ms;  /* or at this instant. Not both */
    int64_t timeout_ms;     /* one run may take this long [no limit] */
    int64_t lease_ms;       /* how long a claim holds without a heartbeat, from PAWL_LEASE_MIN_MS
                               [the claimer's] */
    int64_t sla_soft_at_ms; /* wanted by; brings the job forward as it nears */
    int64_t sla_hard_at_ms; /* needed by; not before sla_soft_at_ms */
    int64_t keep_ms;        /* keep the record at least this long after it ended */
    struct pawl_retry retry;
    const char *idempotency_key; /* a repeat gets the first job back */
    int64_t idempotency_ms;      /* for this long [for ever] */
    const char *business_key;    /* unique among live jobs, but for dead letters that are paused */
    struct pawl_unique unique;
    const char *principal; /* on whose behalf */
    const char *trace_id;
    bool pending; /* held until PAWL_CONTROL_ACTIVATE */
};

/* What became of a spec. */
struct pawl_submitted {
    struct pawl_job_id id;
    enum pawl_state state; /* NONE: the job that stands in is gone, only its key is left */
    bool deduplicated;     /* an earlier job stands in for this spec: `id` is that one's */
    bool replaced;         /* an earlier job was cancelled in favour of this one */
};

/* A failed attempt. */
struct pawl_failure {
    int64_t run;
    int64_t attempt;
    int64_t started_at_ms;
    int64_t failed_at_ms;
    int64_t retry_delay_ms; /* -1: no retry followed */
    bool lapsed;            /* the lease ran out: nobody reported this */
    const char *worker;
    const char *type;
    const char *code;
    const char *message;
    struct pawl_span details; /* JSON, may be empty */
};

/* What a worker tells of a run that failed. Strings may be NULL. */
struct pawl_report {
    const char *type;        /* what non-retryable lists are matched with */
    const char *code;        /* DISCARD, FAIL, DEAD_LETTER and RETRY are orders (OJS) */
    const char *error_class; /* stands in for a type that is not given */
    const char *message;
    struct pawl_span details; /* JSON; may be empty */
    bool not_retryable;
    bool requeue;           /* give it back, record nothing */
    bool lapse;             /* the worker is gone: as if its lease had run out */
    int64_t retry_after_ms; /* > 0: the worker knows better than the policy */
};

/* A job as it is. Optional strings are "" and optional spans empty, never NULL.
 * `run` counts claims for ever and fences the owner's writes; `attempt` counts claims since the
 * job was submitted or last revived, and is what people see. */
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
    int32_t ties; /* the store's own: what else depends on the job's moves; 0: nothing */
    /* where it stands: */
    enum pawl_state state;
    enum pawl_state paused_from; /* NONE unless paused */
    int64_t run;
    int64_t attempt;
    int64_t free_runs;      /* runs of this series that charged no attempt */
    int64_t started_at_ms;  /* of the newest run; 0 when the job waits to run again */
    int64_t lease_until_ms; /* active, or routed */
    int64_t finished_at_ms;
    bool dead_letter;
    const char *worker; /* of the newest run, or the one it is routed to; "" likewise */
    const char *reason; /* why it ended, or is held */
    struct pawl_span result;
    /* how it was read: */
    bool archived;
    bool brief; /* args and result were left out: see struct pawl_page */
};

/* Which jobs. A zero field does not restrict; lists mean any of their members. */
struct pawl_filter {
    uint32_t states;
    const char *id_prefix; /* the first 8..32 hexadecimal digits of the id; dashes do not count */
    const char *const *queues;
    size_t queue_count;
    const char *const *types; /* "mail.*" means all that begin with "mail.", "*" means all */
    size_t type_count;
    const char *const *tags;
    size_t tag_count;
    const char *business_key;
    const char *idempotency_key;
    const char *principal;
    const char *worker;
    const char *trace_id;
    const char *meta_key;   /* member of meta ... */
    const char *meta_value; /* ... that equals this string, number as it was written, or boolean */
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
    const char *cursor; /* from the page before; NULL: the first page */
    bool count;         /* also count all that match */
    /* Of args, meta and result. The page ends before the job that would exceed it, and `next` goes
     * on there; it holds one job at least. 0: no bound. A server has a bound of its own. */
    int64_t bytes_max;
    /* The page does not end there: jobs beyond bytes_max come without args and result, which are
     * not read. With bytes_max 0 all do. */
    bool brief;
};

#define PAWL_CURSOR_BYTES 48

/* How long records of jobs that ended are kept. */
struct pawl_retention {
    int64_t archive_after_ms; /* after a job ended [7 days]; negative: never */
    int64_t purge_after_ms;   /* after a job ended [90 days]; negative: never */
};

/* Jobs that the library owns until pawl_jobs_release. Zero-initialise before use. */
struct pawl_jobs {
    struct pawl_job *at;
    size_t count;
    bool more;                    /* of a claim: see pawl_claim */
    int64_t total;                /* all that match; -1 when not asked for */
    char next[PAWL_CURSOR_BYTES]; /* cursor of the next page; "" after the last */
    void *owned;
};

#ifdef __cplusplus
}
#endif
#endif
