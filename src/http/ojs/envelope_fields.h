/* The members of a job envelope that pawl knows, for its reader, its printer and the OpenAPI
 * document. Every name that the printer writes is here, so that no member of a client can repeat
 * it. */
#ifndef PAWL_HTTP_OJS_ENVELOPE_FIELDS_H
#define PAWL_HTTP_OJS_ENVELOPE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where clients may put it, and whether its spelling is returned. */
enum {
    PAWL__FIELD_OURS = 0,   /* set by the server: ignored when a client sends it */
    PAWL__FIELD_TOP = 1,    /* at the top level */
    PAWL__FIELD_BOTH = 2,   /* there or in "options", which wins */
    PAWL__FIELD_OPTION = 4, /* in "options" only; at the top it is set by the server */
    PAWL__FIELD_EXTRA = 8,  /* may be among the job's extra members, and is printed from there */
    PAWL__FIELD_SENT = PAWL__FIELD_BOTH | PAWL__FIELD_EXTRA,
    PAWL__FIELD_KEPT = PAWL__FIELD_SENT | 16 /* always put there, as it was written */
};

/* NAME, text, flags, KIND and field of struct pawl__draft, more initialisers of its member. They
 * are read in this order. The reading stops behind some of them, see envelope_in.c. */
#define PAWL__FIELDS(X)                                                                            \
    X(TYPE, "type", TOP, TEXT, job.spec.type, .min = 1, .max = PAWL_TYPE_BYTES_MAX,                \
      .pattern = &type_pattern, .flags = PAWL__REQUIRED)                                           \
    X(QUEUE, "queue", BOTH, TEXT, job.spec.queue, .pattern = &pawl__ojs_queue_pattern)             \
    X(SPECVERSION, "specversion", TOP, TEXT, specversion, .pattern = &version_pattern)             \
    X(ID, "id", TOP, TEXT, id, .pattern = &id_pattern)                                             \
    X(ARGS, "args", TOP, ARRAY, job.spec.args, .flags = PAWL__REQUIRED)                            \
    X(META, "meta", TOP, OBJECT, job.spec.meta)                                                    \
    X(SCHEDULED_AT, "scheduled_at", SENT, OWN, scheduled_ms, DATE)                                 \
    X(DELAY_UNTIL, "delay_until", SENT, OWN, delay_until_ms, DATE)                                 \
    X(DELAY_MS, "delay_ms", BOTH, INT64, delay_ms, .max = PAWL__OJS_MS_MAX)                        \
    X(DELAY, "delay", BOTH, OWN, delay_ms, .read = pawl__read_delay, .wire = PAWL__AS_DURATION)    \
    X(EXPIRES_AT, "expires_at", SENT, OWN, expires_ms, DATE)                                       \
    X(ENQUEUE_TTL, "enqueue_ttl", KEPT, OWN, ttl_ms, SECONDS(1))                                   \
    X(TIMEOUT, "timeout", KEPT, OWN, seconds_ms, SECONDS(0))                                       \
    X(TOTAL_TIMEOUT, "total_timeout", KEPT, OWN, total_ms, SECONDS(1))                             \
    X(GRACE_PERIOD, "grace_period", KEPT, OWN, grace_ms, SECONDS(0))                               \
    X(TIMEOUT_MS, "timeout_ms", SENT, INT64, timeout_ms, .max = PAWL__OJS_MS_MAX)                  \
    X(VISIBILITY_TIMEOUT, "visibility_timeout", KEPT, OWN, lease_seconds_ms,                       \
      .read = pawl__read_seconds, .min = 1, .max = PAWL__VISIBILITY_MS_MAX / 1000,                 \
      .wire = PAWL__AS_INT64)                                                                      \
    X(VISIBILITY_TIMEOUT_MS, "visibility_timeout_ms", SENT, INT64, lease_ms,                       \
      .min = PAWL__VISIBILITY_MS_MIN, .max = PAWL__VISIBILITY_MS_MAX)                              \
    X(HEARTBEAT_TIMEOUT, "heartbeat_timeout", KEPT, OWN, heartbeat_ms, SECONDS(1))                 \
    X(RESULT_TTL, "result_ttl", KEPT, OWN, keep_ms, SECONDS(-1))                                   \
    X(PENDING, "pending", BOTH, BOOL, job.spec.pending)                                            \
    X(RATE_LIMIT, "rate_limit", KEPT, OBJECT, job.rate_limit)                                      \
    X(SCHEMA, "schema", KEPT, TEXT, schema)                                                        \
    X(PRIORITY, "priority", BOTH, OWN, job.spec.priority, .read = read_priority,                   \
      .min = PAWL_PRIORITY_MIN, .max = PAWL_PRIORITY_MAX, .wire = PAWL__AS_INT32)                  \
    X(TAGS, "tags", SENT, OWN, job.spec.tags,                                                      \
      PAWL__COUNTED(struct pawl__draft, job.spec.tag_count), .flags = PAWL__NOT_ZERO,              \
      .read = read_tags, .wire = PAWL__AS_TEXTS)                                                   \
    X(METADATA, "metadata", KEPT, OBJECT, metadata, .read = read_directive)                        \
    X(VERSION, "version", KEPT, JSON, version, .read = check_version)                              \
    X(IDEMPOTENCY_KEY, "idempotency_key", KEPT, TEXT, job.spec.idempotency_key)                    \
    X(MAX_ATTEMPTS, "max_attempts", OPTION, INT32, job.spec.retry.attempts_max, ATTEMPTS)          \
    X(RETRY, "retry", KEPT, ONE, job.spec.retry, .shape = &pawl__ojs_retry_shape,                  \
      .read = pawl__note_policy)                                                                   \
    X(UNIQUE, "unique", KEPT, ONE, job.spec.unique, .shape = &pawl__ojs_unique_shape)              \
    X(ON_SUCCESS, "on_success", KEPT, OWN, job.spec.on_success, .read = read_follow,               \
      .wire = PAWL__AS_OBJECT)                                                                     \
    X(ON_FAILURE, "on_failure", KEPT, OWN, job.spec.on_failure, .read = read_follow,               \
      .wire = PAWL__AS_OBJECT)                                                                     \
    X(OPTIONS, "options", TOP, NOTHING, job, .wire = PAWL__AS_OBJECT)                              \
    X(STATE, "state", OURS, NOTHING, job)                                                          \
    X(ATTEMPT, "attempt", OURS, NOTHING, job)                                                      \
    X(CREATED_AT, "created_at", OURS, NOTHING, job)                                                \
    X(ENQUEUED_AT, "enqueued_at", OURS, NOTHING, job)                                              \
    X(STARTED_AT, "started_at", OURS, NOTHING, job)                                                \
    X(COMPLETED_AT, "completed_at", OURS, NOTHING, job)                                            \
    X(CANCELLED_AT, "cancelled_at", OURS, NOTHING, job)                                            \
    X(DISCARDED_AT, "discarded_at", OURS, NOTHING, job)                                            \
    X(NEXT_RETRY_AT, "next_retry_at", OURS, NOTHING, job)                                          \
    X(RETRY_DELAY_MS, "retry_delay_ms", OURS, NOTHING, job)                                        \
    X(ERROR, "error", OURS, NOTHING, job)                                                          \
    X(ERRORS, "errors", OURS, NOTHING, job)                                                        \
    X(RESULT, "result", OURS, NOTHING, job)                                                        \
    X(CHECKPOINT, "checkpoint", OURS, NOTHING, job)                                                \
    X(PREVIOUS_STATE, "previous_state", OURS, NOTHING, job)                                        \
    X(WORKFLOW_ID, "workflow_id", OURS, NOTHING, job)                                              \
    X(PARENT_RESULTS, "parent_results", OURS, NOTHING, job)

#define X(name, ...) PAWL__FIELD_##name,
enum pawl__envelope_field { PAWL__FIELD_NONE = 0, PAWL__FIELDS(X) PAWL__FIELD_END };
#undef X
_Static_assert(PAWL__FIELD_END <= 64, "a set of fields is a mask of 64 bits");

#define PAWL__FIELD_BIT(field) (UINT64_C(1) << (field))

/* NONE: an unknown member. */
enum pawl__envelope_field pawl__field_find(const char *name, size_t len);
const char *pawl__field_name(enum pawl__envelope_field field);
unsigned pawl__field_flags(enum pawl__envelope_field field);

#endif
