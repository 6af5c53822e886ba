/* The tables made from the lists, and compile-time checks that the lists are complete.
 *
 * Pure; any thread. */
#include "fields/fields.h"

#include <string.h>

/* ---- kinds ---- */

#define EMPTY_ID                                                                                   \
    {                                                                                              \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }
#define EMPTY_SPAN                                                                                 \
    {                                                                                              \
        "", 0                                                                                      \
    }
#define EMPTY_TEXT ""
#define EMPTY_JSON EMPTY_SPAN
#define EMPTY_ARGS EMPTY_SPAN
#define EMPTY_BYTES EMPTY_SPAN
#define EMPTY_I32 0
#define EMPTY_I64 0
#define EMPTY_BITS 0
#define EMPTY_TIME 0
#define EMPTY_AT 0
#define EMPTY_MS 0
#define EMPTY_REAL 0
#define EMPTY_BOOL false
#define EMPTY_STATE PAWL_STATE_NONE
#define EMPTY_SOME_STATE PAWL_STATE_NONE

/* ---- jobs ---- */

#define X(member, column, kind, ...)                                                               \
    _Static_assert(PAWL__IS_KIND(struct pawl_job, member, kind),                                   \
                   "struct pawl_job: " #member " is not of its kind");
PAWL__JOB_FIELDS(X)
#undef X

/* Without member names, so that a member missing from the list has no initializer, which is an
 * error here. */
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wmissing-field-initializers"
#define X(member, column, kind, ...) EMPTY_##kind,
const struct pawl_job pawl__job_empty = { PAWL__JOB_FIELDS(X) };
#undef X
#pragma GCC diagnostic pop

#define X(member, column, kind, ...) PAWL__FIELD(struct pawl_job, member, column, kind),
const struct pawl__field pawl__job_fields[PAWL__JOB_END] = { PAWL__JOB_FIELDS(X) };
#undef X

#define X(member, column, kind, origin, name, ...) name,
const char *const pawl__job_names[PAWL__JOB_END] = { PAWL__JOB_FIELDS(X) };
#undef X

/* ---- specs, retry policies and filters ---- */

#define NONE_ID_AT NULL
#define NONE_TYPE NULL
#define NONE_QUEUE NULL
#define NONE_KEY NULL
#define NONE_NOTE NULL
#define NONE_ARGS EMPTY_SPAN
#define NONE_META EMPTY_SPAN
#define NONE_TAGS NULL, 0
#define NONE_TEXTS NULL, 0
#define NONE_I32 0
#define NONE_I64 0
#define NONE_MS 0
#define NONE_LEASE 0
#define NONE_AT 0
#define NONE_REAL 0.0
#define NONE_BOOL false
#define NONE_FOLLOW NULL
#define NONE_BACKOFF PAWL_BACKOFF_DEFAULT
#define NONE_JITTER PAWL_JITTER_DEFAULT
#define NONE_EXHAUSTION PAWL_EXHAUSTION_DEFAULT
#define NONE_RETRY                                                                                 \
    {                                                                                              \
        0                                                                                          \
    }
#define NONE_UNIQUE NONE_RETRY
#define NONE_STATES 0
#define NONE_PREFIX NULL
#define NONE_NAMES NULL, 0
#define NONE_WORKER NULL
#define NONE_PAIR NULL, NULL
#define NONE_NUMBERS false, 0, 0
#define NONE_RANGE 0, 0
#define NONE_FLAG false
#define NONE_ARCHIVE false

/* As above: these do not compile if a member is missing from the list. */
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wmissing-field-initializers"
#define X(member, kind, ...) NONE_##kind,
__attribute__((unused)) static const struct pawl_job_spec spec_whole = { PAWL__SPEC_FIELDS(X) };
__attribute__((unused)) static const struct pawl_retry retry_whole = { PAWL__RETRY_FIELDS(X) };
__attribute__((unused)) static const struct pawl_filter filter_whole = { PAWL__FILTER_FIELDS(X) };
#undef X
#pragma GCC diagnostic pop

#define X(member, kind_name, ...)                                                                  \
    { .name = #member,                                                                             \
      .kind = PAWL__SPEC_KIND_##kind_name,                                                         \
      .offset = offsetof(struct pawl_job_spec, member) },
const struct pawl__spec_field pawl__spec_fields[PAWL__SPEC_END] = { PAWL__SPEC_FIELDS(X) };
#undef X

/* ---- copies ---- */

size_t pawl__job_text_bytes(const struct pawl_job *job)
{
    size_t bytes = 0;
    for (size_t i = 0; i < PAWL__JOB_END; i++) {
        const void *at = (const char *)job + pawl__job_fields[i].offset;
        switch (pawl__job_fields[i].kind) {
        case PAWL__KIND_TEXT:
            bytes += strlen(*(const char *const *)at) + 1;
            break;
        case PAWL__KIND_JSON:
        case PAWL__KIND_ARGS:
        case PAWL__KIND_BYTES:
            bytes += ((const struct pawl_span *)at)->len + 1;
            break;
        default:
            break;
        }
    }
    return bytes;
}

/* Returns the address of the copy. */
static const char *put(char **room, const char *at, size_t len)
{
    char *start = *room;
    if (len) memcpy(start, at, len);
    start[len] = '\0';
    *room += len + 1;
    return start;
}

struct pawl_job pawl__job_copy(const struct pawl_job *job, char *room)
{
    struct pawl_job copy = *job;
    for (size_t i = 0; i < PAWL__JOB_END; i++) {
        void *at = (char *)&copy + pawl__job_fields[i].offset;
        if (pawl__job_fields[i].kind == PAWL__KIND_TEXT) {
            const char **text = at;
            *text = put(&room, *text, strlen(*text));
        } else if (pawl__job_fields[i].kind == PAWL__KIND_JSON ||
                   pawl__job_fields[i].kind == PAWL__KIND_ARGS ||
                   pawl__job_fields[i].kind == PAWL__KIND_BYTES) {
            struct pawl_span *span = at;
            span->at = put(&room, span->at, span->len);
        }
    }
    return copy;
}
