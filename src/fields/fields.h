/* The fields of a job, of a spec, of a retry policy and of a filter, each as a list.
 *
 * A field is named once, here. The following is generated from these lists: what the stores read
 * and write (column lists of the .sql files, readers, binders), the members of the remote protocol,
 * checks of specs and filters, copies of jobs, JSON, query terms, and tables in docs/.
 * CONTRIBUTING.md says how to add a field.
 *
 * Each list is in the order of its struct in <pawl/job.h>. fields.c does not compile if a member of
 * the struct is missing here, or its type does not match its kind. mk/embed_sql.py reads this file
 * too: a list is a #define that ends in (X), a field is an X( ... ) in it.
 *
 * Pure; any thread. */
#ifndef PAWL_FIELDS_H
#define PAWL_FIELDS_H

#include "base/shape.h"

#include <pawl/job.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* clang-format off */

/* NAME, C type, name in documents. "is NULL" refers to the column of a store. */
#define PAWL__KINDS(X)                                                                             \
    X(ID,         struct pawl_job_id, "UUID")                                                      \
    X(TEXT,       const char *,       "text")     /* "" is NULL */                                 \
    X(JSON,       struct pawl_span,   "JSON")     /* empty is NULL */                              \
    X(ARGS,       struct pawl_span,   "JSON")     /* empty is "[]" */                              \
    X(BYTES,      struct pawl_span,   "bytes")    /* empty is NULL */                              \
    X(I32,        int32_t,            "number")                                                    \
    X(I64,        int64_t,            "number")                                                    \
    X(BITS,       int32_t,            "bits")     /* 0 is NULL */                                  \
    X(TIME,       int64_t,            "instant")  /* always known */                               \
    X(AT,         int64_t,            "instant")  /* 0 is NULL */                                  \
    X(MS,         int64_t,            "duration") /* 0 is NULL */                                  \
    X(REAL,       double,             "number")   /* negative is NULL */                           \
    X(BOOL,       bool,               "boolean")                                                   \
    X(STATE,      enum pawl_state,    "state")                                                     \
    X(SOME_STATE, enum pawl_state,    "state")    /* 0 is NULL */

#define X(name, ...) PAWL__KIND_##name,
enum pawl__kind { PAWL__KINDS(X) PAWL__KIND_END };
#undef X

/* A member of each kind. PAWL__IS_KIND uses it to check that a member of a struct has the type of
 * its kind. */
#define X(name, c_type, ...) c_type name;
struct pawl__kinds { PAWL__KINDS(X) };
#undef X
#define PAWL__IS_KIND(type, member, kind)                                                          \
    __builtin_types_compatible_p(typeof(((type *)0)->member),                                      \
                                 typeof(((struct pawl__kinds *)0)->kind))

/* ---- struct pawl_job ----
 *
 * member, column, KIND, origin, "name in JSON", "documentation"
 *
 * The origin says where a new job's value comes from: SPEC(member) of its spec, TEXTS(member) of
 * struct pawl__new_job, which has parts of the spec as JSON, or SETTLED(member) of struct
 * pawl__settled, which has what the store decides. NONE(): a new job has no value. */

/* Known from the job's key and its lane. */
#define PAWL__JOB_NAMES(X)                                                                         \
    X(id, id, ID, TEXTS(id), "id", "unique id")                                                    \
    X(type, type, TEXT, SPEC(type), "type", "what kind of work")                                   \
    X(queue, queue, TEXT, SPEC(queue), "queue", "the queue it is in")

/* Set for every job. */
#define PAWL__JOB_HEAD(X)                                                                          \
    X(priority, priority, I32, SPEC(priority), "priority", "higher runs sooner")                   \
    X(attempts_max, attempts_max, I32, SPEC(retry.attempts_max), "max_attempts",                   \
      "total attempts, including the first")                                                       \
    X(created_at_ms, created_at_ms, TIME, SETTLED(created_at_ms), "created_at",                    \
      "when it was submitted")                                                                     \
    X(due_at_ms, due_at_ms, TIME, SETTLED(due_at_ms), "due_at", "not claimed before this time")    \
    X(args, args, ARGS, SPEC(args), "args", "arguments, an array")

/* Not set for most jobs. All of these are NULL in a plain job, whose row is then shorter and
 * quicker to read. */
#define PAWL__JOB_EXTRAS(X)                                                                        \
    X(expires_at_ms, expires_at_ms, AT, SETTLED(expires_at_ms), "expires_at",                      \
      "expires if not started by then")                                                            \
    X(timeout_ms, timeout_ms, MS, SPEC(timeout_ms), "timeout_ms", "time limit of one run")         \
    X(lease_ms, lease_ms, MS, SPEC(lease_ms), "lease_ms",                                          \
      "how long a claim lasts without a heartbeat")                                                \
    X(sla_soft_at_ms, sla_soft_at_ms, AT, SPEC(sla_soft_at_ms), "sla_soft_at", "soft deadline")    \
    X(sla_hard_at_ms, sla_hard_at_ms, AT, SPEC(sla_hard_at_ms), "sla_hard_at", "hard deadline")    \
    X(keep_ms, keep_ms, MS, SPEC(keep_ms), "keep_ms",                                              \
      "minimum time that its record is kept")                                                      \
    X(meta, meta, JSON, SPEC(meta), "meta", "an object for the submitter's use")                   \
    X(extra, extra, JSON, SPEC(extra), "extra", "further members of the submitted object")         \
    X(tags, tags, JSON, TEXTS(tags), "tags", "labels, an array")                                   \
    X(retry, retry, JSON, TEXTS(retry), "retry", "retry policy, unless it is the default")         \
    X(unique, uniqueness, JSON, TEXTS(unique), "unique", "unique policy")                          \
    X(idempotency_key, idempotency_key, TEXT, SPEC(idempotency_key), "idempotency_key",            \
      "a repeat with it returns the first job")                                                    \
    X(business_key, business_key, TEXT, SPEC(business_key), "business_key",                        \
      "unique among live jobs")                                                                    \
    X(principal, principal, TEXT, SPEC(principal), "principal", "on whose behalf it runs")         \
    X(trace_id, trace_id, TEXT, SPEC(trace_id), "trace_id", "id of the trace it belongs to")       \
    X(on_success, on_success, JSON, TEXTS(on_success), "on_success",                               \
      "the job that follows when it is completed")                                                 \
    X(on_failure, on_failure, JSON, TEXTS(on_failure), "on_failure",                               \
      "the job that follows when it is discarded, cancelled or expired")                           \
    X(ties, ties, BITS, TEXTS(ties), "", "what else depends on its moves; internal")

/* The job's state: what moves change. `attempt` counts from base_run, which is what is stored. */
#define PAWL__JOB_STAND(X)                                                                         \
    X(state, state, STATE, SETTLED(state), "state", "current state")                               \
    X(paused_from, paused_from, SOME_STATE, NONE(), "paused_from", "the state it was paused in")   \
    X(run, run, I64, NONE(), "run", "number of claims; fences the owner's writes")                 \
    X(attempt, base_run, I64, NONE(), "attempt", "claims since submitted or revived")              \
    X(free_runs, free_runs, I64, NONE(), "free_runs", "claims that cost no attempt")               \
    X(started_at_ms, started_at_ms, AT, NONE(), "started_at", "when its latest run started")       \
    X(lease_until_ms, lease_until_ms, AT, NONE(), "lease_until", "when its lease ends")            \
    X(finished_at_ms, finished_at_ms, AT, NONE(), "finished_at", "when it ended")                  \
    X(dead_letter, dead_letter, BOOL, NONE(), "dead_letter", "listed among the dead letters")      \
    X(worker, worker, TEXT, NONE(), "worker", "worker of its latest run")                          \
    X(reason, reason, TEXT, NONE(), "reason", "why it ended, or is held")                          \
    X(result, result, JSON, NONE(), "result", "result of the run that completed it")

/* How the job was read. */
#define PAWL__JOB_VIEW(X)                                                                          \
    X(archived, archived, BOOL, NONE(), "archived", "in the archive")                              \
    X(brief, brief, BOOL, NONE(), "", "args and result were left out")                             \
    X(hold, hold, TEXT, NONE(), "hold", "why it is pending: submitter, route, unchecked, parents")

#define PAWL__JOB_FACTS(X) PAWL__JOB_HEAD(X) PAWL__JOB_EXTRAS(X)
#define PAWL__JOB_FIELDS(X)                                                                        \
    PAWL__JOB_NAMES(X) PAWL__JOB_FACTS(X) PAWL__JOB_STAND(X) PAWL__JOB_VIEW(X)

/* ---- struct pawl_job_spec ----
 *
 * member, KIND, "name in JSON", "documentation"
 *
 * TYPE, ARGS, META, TAGS, RETRY, UNIQUE and FOLLOW (another spec) have parsers and checks of their
 * own. A KEY has 1 to
 * PAWL_KEY_BYTES_MAX bytes, a NOTE 0 to PAWL_KEY_BYTES_MAX. MS is a duration, LEASE a duration with
 * a minimum, AT an instant. */
#define PAWL__SPEC_KINDS(X)                                                                        \
    X(ID_AT) X(TYPE) X(QUEUE) X(ARGS) X(META) X(TAGS) X(I32) X(MS) X(LEASE) X(AT) X(RETRY) X(KEY)  \
    X(UNIQUE) X(NOTE) X(BOOL) X(FOLLOW)

#define PAWL__SPEC_FIELDS(X)                                                                       \
    X(id,              ID_AT,  "id",              "its id; if absent, one is generated")           \
    X(type,            TYPE,   "type",            "what kind of work")                             \
    X(queue,           QUEUE,  "queue",           "the queue it is in")                            \
    X(args,            ARGS,   "args",            "arguments, an array")                           \
    X(meta,            META,   "meta",            "an object for the submitter's use")             \
    X(extra,           META,   "extra",           "an object of further members")                  \
    X(tags,            TAGS,   "tags",            "labels to find it by")                          \
    X(priority,        I32,    "priority",        "higher runs sooner")                            \
    X(delay_ms,        MS,     "delay_ms",        "due this long after submission")                \
    X(due_at_ms,       AT,     "due_at",          "or at this instant")                            \
    X(expires_in_ms,   MS,     "expires_in_ms",   "expires if not started this soon after due")    \
    X(expires_at_ms,   AT,     "expires_at",      "or at this instant")                            \
    X(timeout_ms,      MS,     "timeout_ms",      "time limit of one run")                         \
    X(lease_ms,        LEASE,  "lease_ms",        "how long a claim lasts without a heartbeat")    \
    X(sla_soft_at_ms,  AT,     "sla_soft_at",     "soft deadline")                                 \
    X(sla_hard_at_ms,  AT,     "sla_hard_at",     "hard deadline")                                 \
    X(keep_ms,         MS,     "keep_ms",         "minimum time that its record is kept")          \
    X(retry,           RETRY,  "retry",           "when and whether it runs again")                \
    X(idempotency_key, KEY,    "idempotency_key", "a repeat with it returns the first job")        \
    X(idempotency_ms,  MS,     "idempotency_ms",  "how long that key is kept")                     \
    X(business_key,    KEY,    "business_key",    "unique among live jobs")                        \
    X(unique,          UNIQUE, "unique",          "when another job counts as the same")           \
    X(principal,       NOTE,   "principal",       "on whose behalf it runs")                       \
    X(trace_id,        NOTE,   "trace_id",        "id of the trace it belongs to")                 \
    X(pending,         BOOL,   "pending",         "held until it is activated")                    \
    X(on_success,      FOLLOW, "on_success",      "the job to submit when it is completed")        \
    X(on_failure,      FOLLOW, "on_failure",      "the job to submit when it has failed")

/* ---- struct pawl_retry ----
 *
 * member, KIND, "documentation". A member's name in JSON is its own. */
#define PAWL__RETRY_FIELDS(X)                                                                      \
    X(attempts_max,  I32,        "total runs, including the first")                                \
    X(backoff,       BACKOFF,    "how the wait grows")                                             \
    X(initial_ms,    I64,        "the first wait")                                                 \
    X(coefficient,   REAL,       "how fast it grows")                                              \
    X(cap_ms,        I64,        "the longest wait")                                               \
    X(exponent_max,  I32,        "where the power stops growing")                                  \
    X(jitter,        JITTER,     "whether waits are randomized")                                   \
    X(jitter_low,    REAL,       "by a factor of at least this")                                   \
    X(jitter_high,   REAL,       "and less than this")                                             \
    X(non_retryable, TEXTS,      "error types that end the job")                                   \
    X(on_exhaustion, EXHAUSTION, "what happens when no attempts are left")

/* ---- struct pawl_filter ----
 *
 * member, KIND, column
 *
 * KEY and WORKER: the column equals the value. FLAG: the column is true. RANGE: the column lies
 * between two members, from_ms and until_ms. FACT(column) is written once for each job;
 * STAND(column) is part of the job's state, and where it is stored depends on the store. The other
 * kinds have checks and terms of their own: NAMES and TAGS are a list and its count, PAIR is a key
 * and a value, NUMBERS a flag and two bounds; ARCHIVE says which tables are searched. */
#define PAWL__FILTER_FIELDS(X)                                                                     \
    X(states,          STATES,  NONE())                                                            \
    X(id_prefix,       PREFIX,  NONE())                                                            \
    X(queue,           NAMES,   NONE())                                                            \
    X(type,            NAMES,   NONE())                                                            \
    X(tag,             TAGS,    NONE())                                                            \
    X(business_key,    KEY,     FACT(business_key))                                                \
    X(idempotency_key, KEY,     FACT(idempotency_key))                                             \
    X(principal,       KEY,     FACT(principal))                                                   \
    X(worker,          WORKER,  STAND(worker))                                                     \
    X(trace_id,        KEY,     FACT(trace_id))                                                    \
    X(meta,            PAIR,    NONE())                                                            \
    X(priority,        NUMBERS, NONE())                                                            \
    X(created,         RANGE,   FACT(created_at_ms))                                               \
    X(due,             RANGE,   FACT(due_at_ms))                                                   \
    X(finished,        RANGE,   STAND(finished_at_ms))                                             \
    X(dead_letter,     FLAG,    STAND(dead_letter))                                                \
    X(archived,        ARCHIVE, NONE())

/* clang-format on */

/* How a member of a struct is stored. */
struct pawl__field {
    const char *column;
    enum pawl__kind kind;
    size_t offset;
};

/* An entry of a table of fields, for any struct that has the member. The arguments are the first
 * ones of an X above. */
#define PAWL__FIELD(type, member, column_name, kind_name)                                          \
    {                                                                                              \
        .column = #column_name, .kind = PAWL__KIND_##kind_name, .offset = offsetof(type, member)   \
    }

/* Indexes into pawl__job_fields. */
#define X(member, ...) PAWL__JOB_##member,
enum { PAWL__JOB_FIELDS(X) PAWL__JOB_END };
#undef X
/* The number of fields in each group, and the index of its first field. */
#define X(...) +1
enum {
    PAWL__JOB_HEAD_COUNT = 0 PAWL__JOB_HEAD(X),
    PAWL__JOB_FACTS_COUNT = 0 PAWL__JOB_FACTS(X),
    PAWL__JOB_STAND_COUNT = 0 PAWL__JOB_STAND(X),
    PAWL__JOB_FACTS_FIRST = 0 PAWL__JOB_NAMES(X),
    PAWL__JOB_STAND_FIRST = PAWL__JOB_FACTS_FIRST + PAWL__JOB_FACTS_COUNT
};
#undef X

/* All fields of struct pawl_job, and their names in JSON ("" if a field has none). */
extern const struct pawl__field pawl__job_fields[PAWL__JOB_END];
extern const char *const pawl__job_names[PAWL__JOB_END];

#define X(name) PAWL__SPEC_KIND_##name,
enum pawl__spec_kind { PAWL__SPEC_KINDS(X) PAWL__SPEC_KIND_END };
#undef X
#define X(member, ...) PAWL__SPEC_##member,
enum { PAWL__SPEC_FIELDS(X) PAWL__SPEC_END };
#undef X

struct pawl__spec_field {
    const char *name;
    enum pawl__spec_kind kind;
    size_t offset;
};

/* All fields of struct pawl_job_spec. */
extern const struct pawl__spec_field pawl__spec_fields[PAWL__SPEC_END];

/* The words of the public enums, for tables of members; those of a few as lists, for words that are
 * read with other rules. */
enum { PAWL__UNIQUE_TEXTS = 4 };
extern const char *const pawl__backoff_texts[PAWL_BACKOFF_END];
extern const char *const pawl__conflict_texts[PAWL_CONFLICT_END];
extern const char *const pawl__unique_texts[PAWL__UNIQUE_TEXTS];
extern const struct pawl__words pawl__err_words;
extern const struct pawl__words pawl__state_words;
extern const struct pawl__words pawl__node_state_words;
extern const struct pawl__words pawl__control_words;
extern const struct pawl__words pawl__backoff_words;
extern const struct pawl__words pawl__conflict_words;
extern const struct pawl__words pawl__exhaustion_words;
extern const struct pawl__words pawl__unique_words; /* for the bits of `keys` */

/* An empty job: numbers are 0, strings "", spans empty and not NULL. */
extern const struct pawl_job pawl__job_empty;

/* The number of bytes that the strings of `job` take, as pawl__job_copy lays them out. */
size_t pawl__job_text_bytes(const struct pawl_job *job);
/* A copy of `job` with its strings in `room`, which has pawl__job_text_bytes(job) bytes; each
 * string ends in a NUL. */
struct pawl_job pawl__job_copy(const struct pawl_job *job, char *room);

#endif
