/* From changes of state to the events of the Open Job Spec, and the events' names and ids. Pure. */
#include "http/events/events.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char *const types[PAWL__EVENT_END] = {
#define X(name, text) [PAWL__EVENT_##name] = text,
    PAWL__EVENT_KINDS(X)
#undef X
};

_Static_assert(PAWL__EVENT_END <= 32, "kinds are kept as bits");

const char *pawl__event_type(enum pawl__event_kind kind)
{
    assert(kind > PAWL__EVENT_NONE && kind < PAWL__EVENT_END);
    return types[kind];
}

/* ---- what follows from a move ---- */

/* from, to, up to three kinds; ANY stands for every state, and the first row that fits counts. A
 * failed run that nobody reported (FAILED where a lease ran out) is told only if the store has a
 * failure of it: who asks will see. */
enum { ANY = PAWL_STATE_END };
#define S(name) PAWL_STATE_##name
#define E(name) PAWL__EVENT_##name
static const struct {
    int from, to;
    uint8_t kinds[PAWL__EVENTS_OF_RECORD_MAX];
} rows[] = {
    { S(NONE), S(SCHEDULED), { E(ENQUEUED), E(SCHEDULED) } },
    { S(NONE), ANY, { E(ENQUEUED) } },
    { ANY, S(ACTIVE), { E(STARTED) } },
    { ANY, S(COMPLETED), { E(COMPLETED) } },
    { ANY, S(SKIPPED), { E(COMPLETED) } },
    { ANY, S(CANCELLED), { E(CANCELLED) } },
    { S(ACTIVE), S(RETRYABLE), { E(FAILED), E(RETRYING) } },
    { S(ACTIVE), S(AVAILABLE), { E(FAILED), E(RETRYING) } },
    { S(ACTIVE), S(DISCARDED), { E(FAILED), E(DISCARDED) } },
    { S(ACTIVE), S(EXPIRED), { E(FAILED), E(EXPIRED), E(DISCARDED) } },
    { S(ACTIVE), S(SCHEDULED), { E(SCHEDULED) } },
    { ANY, S(DISCARDED), { E(DISCARDED) } },
    { ANY, S(EXPIRED), { E(EXPIRED), E(DISCARDED) } },
    { S(DISCARDED), S(AVAILABLE), { E(ENQUEUED) } },
    { S(CANCELLED), S(AVAILABLE), { E(ENQUEUED) } },
    { S(EXPIRED), S(AVAILABLE), { E(ENQUEUED) } },
};
#undef S
#undef E

size_t pawl__record_kinds(const struct pawl__record *record,
                          enum pawl__event_kind out[PAWL__EVENTS_OF_RECORD_MAX])
{
    if (record->kind != PAWL__EVENT_STATE_CHANGED) {
        out[0] = record->kind;
        return 1;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool fits = (rows[i].from == ANY || rows[i].from == (int)record->from) &&
                    (rows[i].to == ANY || rows[i].to == (int)record->to);
        if (!fits) continue;
        size_t count = 0;
        while (count < PAWL__EVENTS_OF_RECORD_MAX && rows[i].kinds[count]) {
            out[count] = (enum pawl__event_kind)rows[i].kinds[count];
            count++;
        }
        return count;
    }
    return 0;
}

/* ---- ids ---- */

void pawl__event_id_text(const struct pawl_job_id *id, size_t nth, char out[PAWL__EVENT_ID_BYTES])
{
    assert(nth <= 3);
    struct pawl_job_id full = *id;
    full.b[15] = (uint8_t)((full.b[15] & ~3) | nth);
    snprintf(out, PAWL__EVENT_ID_BYTES, "evt_");
    pawl_job_id_text(full, out + strlen(out));
}

bool pawl__event_id_parse(const char *text, struct pawl_job_id *out)
{
    return strncmp(text, "evt_", 4) == 0 && pawl_job_id_parse(text + 4, out) == PAWL_OK;
}

/* ---- lists of types ---- */

static bool is_meant(const char *type, const char *wanted, size_t len)
{
    if (len && wanted[len - 1] == '*') return strncmp(type, wanted, len - 1) == 0;
    return strlen(type) == len && memcmp(type, wanted, len) == 0;
}

pawl__kinds pawl__kinds_parse(const char *list)
{
    pawl__kinds kinds = 0;
    while (*list) {
        size_t len = strcspn(list, ",");
        for (int kind = 1; kind < PAWL__EVENT_END; kind++) {
            if (is_meant(types[kind], list, len)) kinds |= PAWL__KIND_BIT(kind);
        }
        list += len;
        list += *list == ',';
    }
    return kinds;
}
