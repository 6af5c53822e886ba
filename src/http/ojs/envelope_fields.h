/* The members of a job envelope that pawl knows, for its reader and its printer. Every name that
 * the printer can write is here, so that nothing a client sends can make two members of one name.
 */
#ifndef PAWL_HTTP_OJS_ENVELOPE_FIELDS_H
#define PAWL_HTTP_OJS_ENVELOPE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where clients may say it, and whether its spelling comes back. */
enum {
    PAWL__FIELD_OURS = 0, /* the server's own: ignored when a client sends it */
    PAWL__FIELD_TOP = 1,
    PAWL__FIELD_BOTH = 2,  /* at the top or in "options", which wins */
    PAWL__FIELD_KEPT = 4,  /* may stand in the job's extra members, and is printed from there */
    PAWL__FIELD_OPTION = 8 /* in "options" alone: at the top it is the server's own */
};

/* NAME, text, flags; by length */
#define PAWL__FIELDS(X)                                                                            \
    X(ID, "id", TOP)                                                                               \
    X(ARGS, "args", TOP)                                                                           \
    X(META, "meta", TOP)                                                                           \
    X(TAGS, "tags", BOTH | PAWL__FIELD_KEPT)                                                       \
    X(TYPE, "type", TOP)                                                                           \
    X(DELAY, "delay", BOTH)                                                                        \
    X(ERROR, "error", OURS)                                                                        \
    X(QUEUE, "queue", BOTH)                                                                        \
    X(RETRY, "retry", BOTH | PAWL__FIELD_KEPT)                                                     \
    X(STATE, "state", OURS)                                                                        \
    X(ERRORS, "errors", OURS)                                                                      \
    X(RESULT, "result", OURS)                                                                      \
    X(SCHEMA, "schema", BOTH | PAWL__FIELD_KEPT)                                                   \
    X(UNIQUE, "unique", BOTH | PAWL__FIELD_KEPT)                                                   \
    X(ATTEMPT, "attempt", OURS)                                                                    \
    X(OPTIONS, "options", TOP)                                                                     \
    X(PENDING, "pending", BOTH)                                                                    \
    X(TIMEOUT, "timeout", BOTH | PAWL__FIELD_KEPT)                                                 \
    X(VERSION, "version", BOTH | PAWL__FIELD_KEPT)                                                 \
    X(DELAY_MS, "delay_ms", BOTH)                                                                  \
    X(METADATA, "metadata", BOTH | PAWL__FIELD_KEPT)                                               \
    X(PRIORITY, "priority", BOTH)                                                                  \
    X(CHECKPOINT, "checkpoint", OURS)                                                              \
    X(CREATED_AT, "created_at", OURS)                                                              \
    X(EXPIRES_AT, "expires_at", BOTH | PAWL__FIELD_KEPT)                                           \
    X(RATE_LIMIT, "rate_limit", BOTH | PAWL__FIELD_KEPT)                                           \
    X(RESULT_TTL, "result_ttl", BOTH | PAWL__FIELD_KEPT)                                           \
    X(STARTED_AT, "started_at", OURS)                                                              \
    X(TIMEOUT_MS, "timeout_ms", BOTH | PAWL__FIELD_KEPT)                                           \
    X(DELAY_UNTIL, "delay_until", BOTH | PAWL__FIELD_KEPT)                                         \
    X(ENQUEUE_TTL, "enqueue_ttl", BOTH | PAWL__FIELD_KEPT)                                         \
    X(ENQUEUED_AT, "enqueued_at", OURS)                                                            \
    X(SPECVERSION, "specversion", TOP)                                                             \
    X(WORKFLOW_ID, "workflow_id", OURS)                                                            \
    X(CANCELLED_AT, "cancelled_at", OURS)                                                          \
    X(COMPLETED_AT, "completed_at", OURS)                                                          \
    X(DISCARDED_AT, "discarded_at", OURS)                                                          \
    X(GRACE_PERIOD, "grace_period", BOTH | PAWL__FIELD_KEPT)                                       \
    X(MAX_ATTEMPTS, "max_attempts", OPTION)                                                        \
    X(SCHEDULED_AT, "scheduled_at", BOTH | PAWL__FIELD_KEPT)                                       \
    X(NEXT_RETRY_AT, "next_retry_at", OURS)                                                        \
    X(TOTAL_TIMEOUT, "total_timeout", BOTH | PAWL__FIELD_KEPT)                                     \
    X(PARENT_RESULTS, "parent_results", OURS)                                                      \
    X(PREVIOUS_STATE, "previous_state", OURS)                                                      \
    X(RETRY_DELAY_MS, "retry_delay_ms", OURS)                                                      \
    X(IDEMPOTENCY_KEY, "idempotency_key", BOTH | PAWL__FIELD_KEPT)                                 \
    X(HEARTBEAT_TIMEOUT, "heartbeat_timeout", BOTH | PAWL__FIELD_KEPT)                             \
    X(VISIBILITY_TIMEOUT, "visibility_timeout", BOTH | PAWL__FIELD_KEPT)                           \
    X(VISIBILITY_TIMEOUT_MS, "visibility_timeout_ms", BOTH | PAWL__FIELD_KEPT)

#define X(name, ...) PAWL__FIELD_##name,
enum pawl__field { PAWL__FIELD_NONE = 0, PAWL__FIELDS(X) PAWL__FIELD_END };
#undef X
_Static_assert(PAWL__FIELD_END <= 64, "a set of fields is a mask of 64 bits");

#define PAWL__FIELD_BIT(field) (UINT64_C(1) << (field))

/* NONE: not one of ours, to be kept and returned as it stands. */
enum pawl__field pawl__field_find(const char *name, size_t len);
const char *pawl__field_name(enum pawl__field field);
unsigned pawl__field_flags(enum pawl__field field);

#endif
