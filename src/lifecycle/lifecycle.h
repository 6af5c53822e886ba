/* The lifecycle as data: which event moves a job from which state to which, when a failed job runs
 * again, and the order of waiting jobs. Pure: no I/O, no clock, no random numbers of its own. The
 * states themselves are in <pawl/state.h>, because callers see them. */
#ifndef PAWL_LIFECYCLE_H
#define PAWL_LIFECYCLE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/rng.h"

#include <pawl/job.h>
#include <pawl/state.h>

/* Masks of states: those that have not ended, and all. */
#define X(number, name, canonical, ojs, ratchet, marie, ending, meaning)                           \
    | (PAWL_ENDING_##ending == PAWL_ENDING_LIVE ? PAWL_STATE_BIT(number) : 0)
static const uint32_t pawl__states_live = 0 PAWL_STATES(X);
#undef X
#define X(number, ...) | PAWL_STATE_BIT(number)
static const uint32_t pawl__states_known = 0 PAWL_STATES(X);
#undef X

/* NAME, text, caused by */
#define PAWL_EVENTS(X)                                                                             \
    X(DUE, "due", "time or operator")                                                              \
    X(ACTIVATE, "activate", "flow or operator")                                                    \
    X(CLAIM, "claim", "worker")                                                                    \
    X(ROUTE, "route", "router")                                                                    \
    X(ASSIGN, "assign", "router")                                                                  \
    X(SUCCEED, "succeed", "worker")                                                                \
    X(FAIL, "fail", "worker")                                                                      \
    X(EXHAUST, "exhaust", "worker, time or operator")                                              \
    X(LAPSE, "lapse", "time")                                                                      \
    X(SNOOZE, "snooze", "worker or store")                                                         \
    X(SKIP, "skip", "flow or operator")                                                            \
    X(CANCEL, "cancel", "operator")                                                                \
    X(PAUSE, "pause", "operator")                                                                  \
    X(RESUME, "resume", "operator")                                                                \
    X(EXPIRE, "expire", "time")                                                                    \
    X(FAIL_PARENT, "fail_parent", "flow")                                                          \
    X(REVIVE, "revive", "operator")                                                                \
    X(RESET, "reset", "retry of a flow")

#define X(name, ...) PAWL_EVENT_##name,
enum pawl_event { PAWL_EVENTS(X) PAWL_EVENT_END };
#undef X

/* from, event, to. A move that is not listed is refused. RESUME has no row: it restores the state
 * before PAUSE, which the job remembers. */
#define PAWL_MOVES(X)                                                                              \
    X(SCHEDULED, DUE, AVAILABLE)                                                                   \
    X(SCHEDULED, CANCEL, CANCELLED)                                                                \
    X(SCHEDULED, PAUSE, PAUSED)                                                                    \
    X(SCHEDULED, EXPIRE, EXPIRED)                                                                  \
    X(AVAILABLE, CLAIM, ACTIVE)                                                                    \
    X(AVAILABLE, ROUTE, PENDING)                                                                   \
    X(AVAILABLE, CANCEL, CANCELLED)                                                                \
    X(AVAILABLE, PAUSE, PAUSED)                                                                    \
    X(AVAILABLE, EXPIRE, EXPIRED)                                                                  \
    X(AVAILABLE, SKIP, SKIPPED)                                                                    \
    X(PENDING, ACTIVATE, AVAILABLE)                                                                \
    X(PENDING, SNOOZE, SCHEDULED)                                                                  \
    X(PENDING, ASSIGN, ACTIVE)                                                                     \
    X(PENDING, LAPSE, AVAILABLE)                                                                   \
    X(PENDING, CANCEL, CANCELLED)                                                                  \
    X(PENDING, PAUSE, PAUSED)                                                                      \
    X(PENDING, EXPIRE, EXPIRED)                                                                    \
    X(PENDING, SKIP, SKIPPED)                                                                      \
    X(PENDING, FAIL_PARENT, DISCARDED)                                                             \
    X(ACTIVE, SUCCEED, COMPLETED)                                                                  \
    X(ACTIVE, FAIL, RETRYABLE)                                                                     \
    X(ACTIVE, EXHAUST, DISCARDED)                                                                  \
    X(ACTIVE, LAPSE, AVAILABLE)                                                                    \
    X(ACTIVE, SNOOZE, SCHEDULED)                                                                   \
    X(ACTIVE, CANCEL, CANCELLED)                                                                   \
    X(ACTIVE, SKIP, SKIPPED)                                                                       \
    X(RETRYABLE, DUE, AVAILABLE)                                                                   \
    X(RETRYABLE, CANCEL, CANCELLED)                                                                \
    X(RETRYABLE, PAUSE, PAUSED)                                                                    \
    X(RETRYABLE, EXPIRE, EXPIRED)                                                                  \
    X(RETRYABLE, EXHAUST, DISCARDED)                                                               \
    X(PAUSED, CANCEL, CANCELLED)                                                                   \
    X(DISCARDED, REVIVE, AVAILABLE)                                                                \
    X(DISCARDED, PAUSE, PAUSED)                                                                    \
    X(CANCELLED, REVIVE, AVAILABLE)                                                                \
    X(EXPIRED, REVIVE, AVAILABLE)                                                                  \
    X(COMPLETED, RESET, PENDING)                                                                   \
    X(SKIPPED, RESET, PENDING)                                                                     \
    X(DISCARDED, RESET, PENDING)                                                                   \
    X(CANCELLED, RESET, PENDING)                                                                   \
    X(EXPIRED, RESET, PENDING)

const char *pawl__event_name(enum pawl_event event);

/* The state after `event`, or NONE: refused. `remembered` is used only for RESUME of a paused job,
 * and must be a state that can be paused; otherwise that is refused too. */
enum pawl_state pawl__lifecycle_next(enum pawl_state from, enum pawl_event event,
                                     enum pawl_state remembered);

/* ---- retry ---- */

#define PAWL__RETRY_MS_MAX INT64_C(3155760000000) /* a hundred years: the longest wait */

enum { PAWL__NON_RETRYABLE_MAX = 100, PAWL__NON_RETRYABLE_BYTES_MAX = 255 };

/* The default policies of the three systems, complete; they pass pawl__retry_check for all
 * arguments. */
struct pawl_retry pawl__retry_ojs(void); /* 3 runs, 1 s doubling to 5 min, jitter 0.5 to 1.5 */
enum pawl__ratchet_backoff { PAWL__RATCHET_NONE, PAWL__RATCHET_FIXED, PAWL__RATCHET_EXPONENTIAL };
/* `retries` after the first run; base*2^min(n-1,20), at most 24 h, no jitter; an exhausted job
 * becomes a dead letter. */
struct pawl_retry pawl__retry_ratchet(enum pawl__ratchet_backoff backoff, int32_t retries,
                                      int64_t base_ms);
/* `limit` retries after the first run; d, 2d, 4d ... 32768d with backoff, else d; jitter, if
 * enabled, multiplies by [1, 2). With backoff a delay of 0 counts as 1 s. */
struct pawl_retry pawl__retry_marie(int32_t limit, int64_t delay_ms, bool backoff, bool jitter);

/* Fills in defaults for fields that are zero. A cap that is not given is at least initial_ms.
 * Idempotent. */
void pawl__retry_resolve(struct pawl_retry *retry);
/* Checks a resolved policy. ARG, and LIMIT for a list or an entry that is too long; the field is
 * "retry." and the member's name. */
PAWL_MUST_CHECK enum pawl_err pawl__retry_check(const struct pawl_retry *retry,
                                                struct pawl_diag *diag);
/* The wait after the n-th charged failure under a resolved policy; never negative, never over
 * cap_ms, for any numbers. Without jitter it is exact if the coefficient is an integer, else
 * rounded to the nearest ms, and `rng` is not used. With jitter it is rounded down. */
int64_t pawl__retry_delay(const struct pawl_retry *retry, int64_t n, struct pawl__rng *rng);
/* True if `type` is on the list: exactly, or by an entry "a.*" if it begins with "a.". NULL is not.
 */
bool pawl__retry_is_final(const struct pawl_retry *retry, const char *type);
/* True if an entry matches several types: "a.*", those that begin with "a.", or "*". */
bool pawl__type_is_wild(const char *entry);
/* True if an entry matches a type, exactly or as a pattern. */
bool pawl__type_matches(const char *entry, const char *type);

/* Prints a policy as JSON, for the store: only what differs from the default, "" for the default.
 * Members are named as in struct pawl_retry; jitter is true or false. The policy must have passed
 * the check. */
void pawl__retry_print(const struct pawl_retry *retry, struct pawl__buf *out);
/* Parses such JSON; the result is resolved and checked, lists are allocated in `arena`. ARG (also
 * for an unknown member), LIMIT, NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__retry_parse(struct pawl_span json, struct pawl__arena *arena,
                                                struct pawl_retry *out, struct pawl_diag *diag);

enum pawl__verdict_kind {
    PAWL__VERDICT_REQUEUE,    /* available again at once */
    PAWL__VERDICT_RETRY,      /* retryable, after delay_ms */
    PAWL__VERDICT_DISCARD,    /* discarded */
    PAWL__VERDICT_DEAD_LETTER /* discarded, and a dead letter */
};

struct pawl__verdict {
    enum pawl__verdict_kind kind;
    int64_t delay_ms;   /* RETRY: at most PAWL__RETRY_MS_MAX; REQUEUE: 0; else -1 */
    const char *reason; /* static text: "requeued", "attempts spent", "not retryable", ... */
};

/* What follows a reported failure: the decision order of OJS. `charged` is how many attempts of
 * this series count, this one included. `retry` is resolved. The first that applies:
 *   1 requeue asked for          REQUEUE
 *   2 code DISCARD or FAIL       DISCARD
 *     code DEAD_LETTER           DEAD_LETTER
 *   3 type, error_class or code
 *     is on the list             exhausted: on_exhaustion chooses DISCARD or DEAD_LETTER
 *   4 not_retryable              exhausted
 *   5 attempts spent             exhausted
 *   6 else                       RETRY, after retry_after_ms if given, else the policy's delay */
struct pawl__verdict pawl__retry_decide(const struct pawl_retry *retry,
                                        const struct pawl_report *report, int64_t charged,
                                        struct pawl__rng *rng);

/* ---- unique policy ---- */

/* A spec's payloads as tokens. meta.count is 0 if there is no meta. */
struct pawl__payloads {
    struct pawl__json args; /* an array */
    struct pawl__json meta; /* an object */
};

/* ARG, LIMIT. */
PAWL_MUST_CHECK enum pawl_err pawl__unique_check(const struct pawl_unique *unique,
                                                 struct pawl_diag *diag);
/* Parses a policy in the form of pawl__unique_print. Its pointers refer to `arena`. ARG, LIMIT: not
 * such an object; the contents are not checked. NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__unique_parse(struct pawl_span json, struct pawl__arena *arena,
                                                 struct pawl_unique *out, struct pawl_diag *diag);
/* Prints a policy as JSON into an empty buffer: its dimensions and conflict rule, other members
 * only if given. Prints nothing for no policy. */
void pawl__unique_print(const struct pawl_unique *unique, struct pawl__buf *out);
/* The conflict rule of a policy, or the default if it has none. */
enum pawl_conflict pawl__unique_conflict(const struct pawl_unique *unique);
uint32_t pawl__unique_states(const struct pawl_unique *unique);

/* One canonical JSON object of the dimensions that count for a checked policy:
 *
 *     {"args":[1,{"to":"a"}],"meta":{"tenant":"t"},"queue":"default","type":"mail.send"}
 *
 * With args_keys, "args" is an object instead: each name with the list of values it has in the
 * object elements of args. Digests of it are stored, so this form must not change. `scratch` is
 * used on the way. ARG: args_keys names a member that no object in args has. NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__fingerprint(const struct pawl_job_spec *spec,
                                                const struct pawl__payloads *payloads,
                                                struct pawl__arena *scratch, struct pawl__buf *out,
                                                struct pawl_diag *diag);

/* ---- order ---- */

#define PAWL__RANK_BOOST_MS                                                                        \
    INT64_C(900000) /* one step of priority is worth 15 minutes of waiting */
#define PAWL__RANK_SLA_LEAD_MS                                                                     \
    INT64_C(86400000) /* soft deadlines count a day ahead, hard ones two */

struct pawl__rank_of {
    int64_t due_at_ms;
    int32_t priority;
    int64_t boost_ms;       /* [PAWL__RANK_BOOST_MS]; a century: by priority alone, without
                               ageing */
    int64_t sla_soft_at_ms; /* 0: none */
    int64_t sla_hard_at_ms; /* 0: none */
};

/* Lower ranks run sooner. The rank does not depend on the current time, so an index can hold it:
 * descending priority + wait/boost is the same order as ascending due - priority*boost. A deadline
 * can only move a job forward. Clamped to the range of int64_t. */
int64_t pawl__rank(const struct pawl__rank_of *of);

#endif
