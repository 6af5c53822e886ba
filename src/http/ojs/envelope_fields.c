/* A member's name is looked up by its length first: a few bytes are compared, whatever it is. */
#include "http/ojs/envelope_fields.h"

#include <assert.h>
#include <string.h>

struct entry {
    const char *name;
    size_t len;
    unsigned flags;
};

#define X(name, text, flags) [PAWL__FIELD_##name] = { text, sizeof text - 1, PAWL__FIELD_##flags },
static const struct entry entries[PAWL__FIELD_END] = { PAWL__FIELDS(X) };
#undef X

/* The first of each length; a test asks for every name of the list. */
static const uint8_t first_of[] = {
    [2] = PAWL__FIELD_ID,
    [4] = PAWL__FIELD_ARGS,
    [5] = PAWL__FIELD_DELAY,
    [6] = PAWL__FIELD_ERRORS,
    [7] = PAWL__FIELD_ATTEMPT,
    [8] = PAWL__FIELD_DELAY_MS,
    [10] = PAWL__FIELD_CHECKPOINT,
    [11] = PAWL__FIELD_DELAY_UNTIL,
    [12] = PAWL__FIELD_CANCELLED_AT,
    [13] = PAWL__FIELD_NEXT_RETRY_AT,
    [14] = PAWL__FIELD_PARENT_RESULTS,
    [15] = PAWL__FIELD_IDEMPOTENCY_KEY,
    [17] = PAWL__FIELD_HEARTBEAT_TIMEOUT,
    [18] = PAWL__FIELD_VISIBILITY_TIMEOUT,
    [21] = PAWL__FIELD_VISIBILITY_TIMEOUT_MS,
};

enum pawl__field pawl__field_find(const char *name, size_t len)
{
    if (len >= sizeof first_of) return PAWL__FIELD_NONE;
    unsigned field = first_of[len];
    if (!field) return PAWL__FIELD_NONE;
    for (; field < PAWL__FIELD_END && entries[field].len == len; field++) {
        if (memcmp(entries[field].name, name, len) == 0) return (enum pawl__field)field;
    }
    return PAWL__FIELD_NONE;
}

const char *pawl__field_name(enum pawl__field field)
{
    assert(field > PAWL__FIELD_NONE && field < PAWL__FIELD_END);
    return entries[field].name;
}

unsigned pawl__field_flags(enum pawl__field field)
{
    assert(field > PAWL__FIELD_NONE && field < PAWL__FIELD_END);
    return entries[field].flags;
}
