/* The job envelope of the Open Job Spec: from JSON to a spec, and from a job to JSON. Pure: no I/O,
 * the time is an argument. */
#ifndef PAWL_HTTP_OJS_ENVELOPE_H
#define PAWL_HTTP_OJS_ENVELOPE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "http/transport/transport.h"
#include "http/ojs/warnings.h"

/* Of jobs that bring no timeout. It is a job's own column then, but no member of its envelope: the
 * printer leaves out a timeout of exactly this length that no client asked for. */
#define PAWL__OJS_TIMEOUT_MS INT64_C(1800000)

/* How long a lease may last, whether a job, a fetch or a heartbeat asks for it: a week. The job of
 * a worker that has died stays with it for so long. */
#define PAWL__VISIBILITY_MS_MIN PAWL_LEASE_MIN_MS
#define PAWL__VISIBILITY_MS_MAX INT64_C(604800000)

/* How long an idempotency key is kept: a repeat within a day gets the first job back. */
#define PAWL__OJS_KEY_MS INT64_C(86400000)

struct pawl__envelope_rules {
    int64_t now_ms;
    int64_t timeout_ms; /* of jobs that bring none; 0: no limit */
    bool test_mode;     /* honours ojs_validate and test_directive */
    const char *tenant; /* X-OJS-Tenant; NULL: none */
    bool strict;        /* a member that nobody knows is refused */
    /* Gets a line for each such member otherwise; NULL: none is wanted. `index` is the job's in
     * a batch, for its path; negative: there is no batch. */
    struct pawl__warnings *warnings;
    int64_t index;
    const char *place; /* of a job that is part of something else: "steps[1]"; NULL: by index */
};

/* What a client asked for. Points into the arena and the JSON's text; not to be copied, since
 * spec.id points into it. */
struct pawl__envelope {
    struct pawl_job_spec spec;
    struct pawl_job_id id;       /* spec.id points here when one was given */
    const char *test_directive;  /* options.metadata.test_directive; NULL: none, or no test mode */
    struct pawl_span rate_limit; /* as it stands; empty: none */
};

/* Object `token` of `json`, both layouts. False: `fault` says why; its field is the path of the
 * member that broke a rule ("args", "options.retry.max_attempts"). What the library checks anyway
 * and OJS sees no differently is left to it: how many tags and how long, the names in args_keys.
 *
 * spec.extra gets what must come back as it was written: members that nobody knows (of which
 * rules->warnings hears), policies, timestamps, limits. Its own names in it are only those the
 * printer looks for. heartbeat_timeout is checked and kept there, and means nothing to the library.
 * total_timeout becomes the job's expiry and bounds its runs. */
bool pawl__envelope_read(const struct pawl__json *json, uint32_t token,
                         const struct pawl__envelope_rules *rules, struct pawl__arena *arena,
                         struct pawl__envelope *out, struct pawl__fault *fault);

/* What is known of a job beside its row; zeros: nothing. */
struct pawl__envelope_more {
    const struct pawl_failure *failures; /* oldest first */
    size_t failure_count;
    int64_t checkpoint_sequence; /* > 0: show it */
    struct pawl_span checkpoint;
    enum pawl_state previous_state; /* NONE: not shown */
    struct pawl_job_id workflow;    /* that it is a step of; zeroes: not shown */
    /* Results of the steps that it waited for, where `has_parents`; NULL: they are left out. */
    const struct pawl_flow_inputs *parents;
    bool has_parents;
    bool admin; /* as operators see it: "errors" also when there are none, and "metadata" is when
                   what happened, in place of a member that the client called so */
};

/* The job as one JSON object. Byte-stable: the same job gives the same bytes. `more` may be NULL:
 * then members that need it are left out. What the job's extra members say is printed as it stands;
 * what they lack is made from the job's columns. Failures of an earlier series, before the job was
 * revived, are not shown. out->failed when there is no memory. */
void pawl__envelope_print(struct pawl__buf *out, const struct pawl_job *job,
                          const struct pawl__envelope_more *more);
/* "max_attempts": how many executions the job may have in all. Those that charged nothing, because
 * the job was given back, come on top of its own limit, so that "attempt" never exceeds it. */
int64_t pawl__envelope_attempts_max(const struct pawl_job *job);
/* The reply that is about one job, up to its closing brace: {"job":{...}, and the job's members
 * again. The spec wraps the job; some published clients read it flat. */
void pawl__envelope_print_twice(struct pawl__buf *out, const struct pawl_job *job,
                                const struct pawl__envelope_more *more);
/* One failed attempt, as it stands in "error" and "errors". */
void pawl__failure_print(struct pawl__buf *out, const struct pawl_failure *failure);

/* ^[a-z0-9][a-z0-9.-]*$, of PAWL_QUEUE_BYTES_MAX bytes at most: stricter than the library, which
 * lets "_" pass. */
bool pawl__ojs_queue_ok(const char *queue);

#endif
