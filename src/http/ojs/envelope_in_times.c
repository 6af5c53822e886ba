/* When a job is due, when it expires, and how long it may take. */
#include "http/ojs/envelope_in.h"

#include "base/time_text.h"

#include <string.h>

#define INSTANT_MAX_MS INT64_C(253402300799999) /* the end of the year 9999 */

/* RFC 3339, or a duration from now: "+PT5M" in the conformance cases, "PT5M" from the JavaScript
 * SDK. */
static bool read_instant(struct pawl__reader *reader, enum pawl__field field, int64_t *out_ms,
                         bool *relative)
{
    const char *text;
    int64_t after_ms;
    if (!pawl__reader_string(reader, field, &text)) return false;
    *relative = *text == '+' || *text == 'P';
    if (*relative && pawl__iso_duration_parse(text + (*text == '+'), &after_ms) == PAWL_OK) {
        *out_ms = reader->rules->now_ms + after_ms;
        return true;
    }
    if (!*relative && pawl__instant_parse(text, out_ms) == PAWL_OK) return true;
    return pawl__reader_refuse_field(
        reader, field,
        "must be an RFC 3339 timestamp with an offset (2026-01-31T12:00:00Z), or an ISO 8601 "
        "duration from now (PT5M)");
}

/* A relative time is kept as the instant that it means now. */
static void keep_instant(struct pawl__reader *reader, enum pawl__field field, int64_t at_ms,
                         bool relative)
{
    char text[PAWL__INSTANT_TEXT_BYTES + 2] = "\"";
    if (!relative) {
        pawl__reader_keep(reader, field);
        return;
    }
    pawl__instant_text(at_ms, text + 1);
    size_t len = strlen(text);
    text[len++] = '"';
    pawl__reader_keep_as(reader, field, (struct pawl_span){ text, len });
}

/* Kept whatever the form: the column moves on when the job is retried. */
static bool read_due(struct pawl__reader *reader)
{
    static const enum pawl__field fields[] = { PAWL__FIELD_SCHEDULED_AT, PAWL__FIELD_DELAY_UNTIL };
    enum pawl__field chosen = pawl__reader_choose(reader, fields[0], fields[1]);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        int64_t at_ms = 0;
        bool relative = false;
        if (!reader->at[fields[i]]) continue;
        if (!read_instant(reader, fields[i], &at_ms, &relative)) return false;
        keep_instant(reader, fields[i], at_ms, relative);
        if (fields[i] == chosen && at_ms > reader->rules->now_ms) {
            reader->out->spec.due_at_ms = at_ms;
        }
    }
    return true;
}

/* "PT5M", or as the command line has it: "5m". */
static bool read_delay_text(struct pawl__reader *reader, int64_t *out_ms)
{
    const char *text;
    if (!pawl__reader_string(reader, PAWL__FIELD_DELAY, &text)) return false;
    if (pawl__iso_duration_parse(text, out_ms) == PAWL_OK) return true;
    if (pawl__duration_parse(text, out_ms) == PAWL_OK) return true;
    return pawl__reader_refuse_field(reader, PAWL__FIELD_DELAY,
                                     "must be a duration of at most 100 years, such as \"PT5M\" or "
                                     "\"5m\"; \"delay_ms\" takes a number");
}

/* delay and delay_ms: from now. They are not kept: scheduled_at says it. */
static bool read_delay(struct pawl__reader *reader)
{
    int64_t delay_ms = 0;
    enum pawl__field given = reader->at[PAWL__FIELD_DELAY]      ? PAWL__FIELD_DELAY
                             : reader->at[PAWL__FIELD_DELAY_MS] ? PAWL__FIELD_DELAY_MS
                                                                : PAWL__FIELD_NONE;
    if (!given) return true;
    if (reader->at[PAWL__FIELD_SCHEDULED_AT] || reader->at[PAWL__FIELD_DELAY_UNTIL]) {
        return pawl__reader_refuse_field(reader, given,
                                         "cannot be given beside \"scheduled_at\" or "
                                         "\"delay_until\"");
    }
    if (reader->at[PAWL__FIELD_DELAY_MS] &&
        !pawl__reader_whole(reader, PAWL__FIELD_DELAY_MS, 0, PAWL__OJS_MS_MAX, &delay_ms)) {
        return false;
    }
    if (reader->at[PAWL__FIELD_DELAY] && !read_delay_text(reader, &delay_ms)) return false;
    if (delay_ms > 0) reader->out->spec.due_at_ms = reader->rules->now_ms + delay_ms;
    return true;
}

/* expires_at and enqueue_ttl; whichever is sooner. */
static bool read_expiry(struct pawl__reader *reader)
{
    struct pawl_job_spec *spec = &reader->out->spec;
    int64_t expires_ms = INT64_MAX, ttl_ms;
    if (reader->at[PAWL__FIELD_EXPIRES_AT]) {
        bool relative;
        if (!read_instant(reader, PAWL__FIELD_EXPIRES_AT, &expires_ms, &relative)) return false;
        if (expires_ms < 1) expires_ms = 1; // 0 would mean never
        if (!relative) pawl__reader_keep(reader, PAWL__FIELD_EXPIRES_AT);
    }
    if (reader->at[PAWL__FIELD_ENQUEUE_TTL]) {
        if (!pawl__reader_seconds(reader, PAWL__FIELD_ENQUEUE_TTL, 1, &ttl_ms)) return false;
        int64_t at_ms = (spec->due_at_ms ? spec->due_at_ms : reader->rules->now_ms) + ttl_ms;
        if (at_ms > INSTANT_MAX_MS) at_ms = INSTANT_MAX_MS;
        if (at_ms < expires_ms) expires_ms = at_ms;
        pawl__reader_keep(reader, PAWL__FIELD_ENQUEUE_TTL);
    }
    if (expires_ms != INT64_MAX) spec->expires_at_ms = expires_ms;
    return true;
}

/* The limit of one run, in ms; false in `*given` when it is the server's. */
static bool read_limit(struct pawl__reader *reader, int64_t *limit_ms, bool *given)
{
    int64_t ms = reader->rules->timeout_ms, seconds_ms = ms;
    enum pawl__field chosen =
        pawl__reader_choose(reader, PAWL__FIELD_TIMEOUT_MS, PAWL__FIELD_TIMEOUT);
    if (reader->at[PAWL__FIELD_TIMEOUT_MS] &&
        !pawl__reader_whole(reader, PAWL__FIELD_TIMEOUT_MS, 0, PAWL__OJS_MS_MAX, &ms)) {
        return false;
    }
    if (reader->at[PAWL__FIELD_TIMEOUT]) {
        if (!pawl__reader_seconds(reader, PAWL__FIELD_TIMEOUT, 0, &seconds_ms)) return false;
        pawl__reader_keep(reader, PAWL__FIELD_TIMEOUT);
    }
    *given = chosen != PAWL__FIELD_NONE;
    *limit_ms = chosen == PAWL__FIELD_TIMEOUT ? seconds_ms : ms;
    return true;
}

/* All attempts together: what has not ended by then expires, and no run lasts longer. */
static bool read_total(struct pawl__reader *reader, bool given, int64_t *limit_ms)
{
    struct pawl_job_spec *spec = &reader->out->spec;
    int64_t total_ms;
    if (!reader->at[PAWL__FIELD_TOTAL_TIMEOUT]) return true;
    if (!pawl__reader_seconds(reader, PAWL__FIELD_TOTAL_TIMEOUT, 1, &total_ms)) return false;
    if (given && total_ms < *limit_ms) {
        return pawl__reader_refuse_field(reader, PAWL__FIELD_TOTAL_TIMEOUT,
                                         "must not be less than the timeout");
    }
    int64_t at_ms = reader->rules->now_ms + total_ms;
    if (at_ms > INSTANT_MAX_MS) at_ms = INSTANT_MAX_MS;
    if (!spec->expires_at_ms || at_ms < spec->expires_at_ms) spec->expires_at_ms = at_ms;
    if (!*limit_ms || total_ms < *limit_ms) *limit_ms = total_ms;
    pawl__reader_keep(reader, PAWL__FIELD_TOTAL_TIMEOUT);
    return true;
}

static bool read_timeout(struct pawl__reader *reader)
{
    int64_t limit_ms, grace_ms = 0;
    bool given;
    if (!read_limit(reader, &limit_ms, &given)) return false;
    if (!read_total(reader, given, &limit_ms)) return false;
    if (reader->at[PAWL__FIELD_GRACE_PERIOD]) {
        if (!pawl__reader_seconds(reader, PAWL__FIELD_GRACE_PERIOD, 0, &grace_ms)) return false;
        pawl__reader_keep(reader, PAWL__FIELD_GRACE_PERIOD);
    }
    int64_t effective_ms = limit_ms > 0 ? limit_ms + grace_ms : 0; // 0: no limit
    if (effective_ms > PAWL__OJS_MS_MAX) effective_ms = PAWL__OJS_MS_MAX;
    if (reader->at[PAWL__FIELD_TIMEOUT_MS]) {
        bool shown = effective_ms > 0 && effective_ms != PAWL__OJS_TIMEOUT_MS;
        pawl__reader_keep_unless_plain(reader, PAWL__FIELD_TIMEOUT_MS, shown ? effective_ms : -1);
    }
    reader->out->spec.timeout_ms = effective_ms;
    return true;
}

static bool read_lease(struct pawl__reader *reader)
{
    int64_t ms = 0, seconds_ms = 0;
    enum pawl__field chosen = pawl__reader_choose(reader, PAWL__FIELD_VISIBILITY_TIMEOUT_MS,
                                                  PAWL__FIELD_VISIBILITY_TIMEOUT);
    if (reader->at[PAWL__FIELD_VISIBILITY_TIMEOUT_MS] &&
        !pawl__reader_whole(reader, PAWL__FIELD_VISIBILITY_TIMEOUT_MS, PAWL__VISIBILITY_MS_MIN,
                            PAWL__VISIBILITY_MS_MAX, &ms)) {
        return false;
    }
    if (reader->at[PAWL__FIELD_VISIBILITY_TIMEOUT]) {
        if (!pawl__reader_whole(reader, PAWL__FIELD_VISIBILITY_TIMEOUT, 1,
                                PAWL__VISIBILITY_MS_MAX / 1000, &seconds_ms)) {
            return false;
        }
        seconds_ms *= 1000;
        pawl__reader_keep(reader, PAWL__FIELD_VISIBILITY_TIMEOUT);
    }
    int64_t lease_ms = chosen == PAWL__FIELD_VISIBILITY_TIMEOUT ? seconds_ms : ms;
    if (reader->at[PAWL__FIELD_VISIBILITY_TIMEOUT_MS]) {
        pawl__reader_keep_unless_plain(reader, PAWL__FIELD_VISIBILITY_TIMEOUT_MS, lease_ms);
    }
    reader->out->spec.lease_ms = lease_ms;
    return true;
}

bool pawl__envelope_read_times(struct pawl__reader *reader)
{
    int64_t ms;
    if (!read_due(reader) || !read_delay(reader) || !read_expiry(reader) || !read_timeout(reader))
        return false;
    if (!read_lease(reader)) return false;
    if (reader->at[PAWL__FIELD_HEARTBEAT_TIMEOUT]) {
        if (!pawl__reader_seconds(reader, PAWL__FIELD_HEARTBEAT_TIMEOUT, 1, &ms)) return false;
        pawl__reader_keep(reader, PAWL__FIELD_HEARTBEAT_TIMEOUT);
    }
    if (reader->at[PAWL__FIELD_RESULT_TTL]) {
        if (!pawl__reader_seconds(reader, PAWL__FIELD_RESULT_TTL, -1, &ms)) return false;
        reader->out->spec.keep_ms = ms < 0 ? PAWL__OJS_MS_MAX : ms; // -1: for ever
        pawl__reader_keep(reader, PAWL__FIELD_RESULT_TTL);
    }
    return true;
}
