/* When a job is due, when it expires, and how long its runs may take. */
#include "http/ojs/envelope_in.h"

#include "base/time_text.h"

#include <string.h>

#define FN(name)                                                                                   \
    enum pawl_err name(struct pawl__shape_reader *shape, const struct pawl__member *member,        \
                       uint32_t token, void *base)

/* ---- members ---- */

static FN(read_text)
{
    const struct pawl__member text = { .name = member->name, .kind = PAWL__AS_TEXT };
    return pawl__shape_value(shape, &text, token, base);
}

/* RFC 3339, or a duration from now: "+PT5M" in the conformance cases, "PT5M" from the JavaScript
 * SDK. It is kept as it is or, if it is relative, as the instant; only a relative expires_at is
 * not: the column has it. scheduled_at is kept since a retry moves the column. */
FN(pawl__read_instant)
{
    struct pawl__reader *reader = (struct pawl__reader *)shape;
    enum pawl__envelope_field field = pawl__field_find(member->name, member->len);
    int64_t *at_ms = (int64_t *)((char *)base + member->offset), after_ms;
    const char *text = "";
    char instant[PAWL__INSTANT_TEXT_BYTES + 2] = "\"";
    enum pawl_err err = read_text(shape, member, token, &text);
    if (err) return err;
    bool relative = *text == '+' || *text == 'P';
    if (relative && !pawl__iso_duration_parse(text + (*text == '+'), &after_ms)) {
        *at_ms = reader->rules->now_ms + after_ms;
        pawl__instant_text(*at_ms, instant + 1);
        size_t len = strlen(instant);
        instant[len++] = '"';
        if (field != PAWL__FIELD_EXPIRES_AT) {
            pawl__reader_keep_as(reader, field, (struct pawl_span){ instant, len });
        }
        return PAWL_OK;
    }
    if (relative || pawl__instant_parse(text, at_ms)) {
        return pawl__shape_refuse(shape, member,
                                  "must be an RFC 3339 timestamp with an offset "
                                  "(2026-01-31T12:00:00Z), or an ISO 8601 duration from now "
                                  "(PT5M)");
    }
    pawl__reader_keep(reader, field);
    return PAWL_OK;
}

/* "PT5M", or "5m" as on the command line. */
FN(pawl__read_delay)
{
    int64_t *delay_ms = (int64_t *)((char *)base + member->offset);
    const char *text = "";
    enum pawl_err err = read_text(shape, member, token, &text);
    if (err || !pawl__iso_duration_parse(text, delay_ms)) return err;
    if (!pawl__duration_parse(text, delay_ms)) return PAWL_OK;
    return pawl__shape_refuse(shape, member,
                              "must be a duration of at most 100 years, such as \"PT5M\" or "
                              "\"5m\"; \"delay_ms\" takes a number");
}

FN(pawl__read_seconds)
{
    struct pawl__member number = *member;
    number.kind = PAWL__AS_INT64;
    enum pawl_err err = pawl__shape_value(shape, &number, token, base);
    if (!err) *(int64_t *)((char *)base + member->offset) *= 1000;
    return err;
}

/* ---- when ---- */

static bool is_given(const struct pawl__reader *reader, enum pawl__envelope_field field)
{
    return reader->at[field] != 0;
}

/* An instant after `from_ms`, no later than the year 9999. */
static int64_t instant_after(int64_t from_ms, int64_t after_ms)
{
    int64_t at_ms = from_ms + after_ms;
    return at_ms < PAWL__INSTANT_MAX_MS ? at_ms : PAWL__INSTANT_MAX_MS;
}

/* delay and delay_ms are not kept: scheduled_at says the same. */
bool pawl__envelope_finish_due(struct pawl__reader *reader)
{
    const struct pawl__draft *draft = &reader->draft;
    int64_t now_ms = reader->rules->now_ms;
    enum pawl__envelope_field chosen =
        pawl__reader_choose(reader, PAWL__FIELD_SCHEDULED_AT, PAWL__FIELD_DELAY_UNTIL);
    enum pawl__envelope_field delay = is_given(reader, PAWL__FIELD_DELAY) ? PAWL__FIELD_DELAY
                                      : is_given(reader, PAWL__FIELD_DELAY_MS)
                                          ? PAWL__FIELD_DELAY_MS
                                          : PAWL__FIELD_NONE;
    if (chosen && delay) {
        return pawl__reader_refuse(reader, PAWL__FAULT_INVALID_REQUEST, delay, NULL,
                                   "cannot be given beside \"scheduled_at\" or \"delay_until\"");
    }
    int64_t due_ms = chosen == PAWL__FIELD_SCHEDULED_AT  ? draft->scheduled_ms
                     : chosen == PAWL__FIELD_DELAY_UNTIL ? draft->delay_until_ms
                                                         : now_ms + draft->delay_ms;
    if (due_ms > now_ms) reader->draft.job.spec.due_at_ms = due_ms;
    return true;
}

/* The earlier of expires_at and enqueue_ttl. */
bool pawl__envelope_finish_expiry(struct pawl__reader *reader)
{
    const struct pawl__draft *draft = &reader->draft;
    struct pawl_job_spec *spec = &reader->draft.job.spec;
    if (is_given(reader, PAWL__FIELD_EXPIRES_AT)) {
        spec->expires_at_ms = draft->expires_ms > 0 ? draft->expires_ms : 1; // 0 means never
    }
    if (is_given(reader, PAWL__FIELD_ENQUEUE_TTL)) {
        int64_t due_ms = spec->due_at_ms ? spec->due_at_ms : reader->rules->now_ms;
        int64_t at_ms = instant_after(due_ms, draft->ttl_ms);
        if (!spec->expires_at_ms || at_ms < spec->expires_at_ms) spec->expires_at_ms = at_ms;
    }
    return true;
}

/* ---- how long ---- */

/* total_timeout is for all attempts together: the job expires after it, and no run takes longer. */
static bool limit_total(struct pawl__reader *reader, bool given, int64_t *limit_ms)
{
    struct pawl_job_spec *spec = &reader->draft.job.spec;
    int64_t total_ms = reader->draft.total_ms;
    if (!is_given(reader, PAWL__FIELD_TOTAL_TIMEOUT)) return true;
    if (given && total_ms < *limit_ms) {
        return pawl__reader_refuse(reader, PAWL__FAULT_INVALID_REQUEST, PAWL__FIELD_TOTAL_TIMEOUT,
                                   NULL, "must not be less than the timeout");
    }
    int64_t at_ms = instant_after(reader->rules->now_ms, total_ms);
    if (!spec->expires_at_ms || at_ms < spec->expires_at_ms) spec->expires_at_ms = at_ms;
    if (!*limit_ms || total_ms < *limit_ms) *limit_ms = total_ms;
    return true;
}

bool pawl__envelope_finish_timeout(struct pawl__reader *reader)
{
    const struct pawl__draft *draft = &reader->draft;
    enum pawl__envelope_field chosen =
        pawl__reader_choose(reader, PAWL__FIELD_TIMEOUT_MS, PAWL__FIELD_TIMEOUT);
    int64_t limit_ms = chosen == PAWL__FIELD_TIMEOUT      ? draft->seconds_ms
                       : chosen == PAWL__FIELD_TIMEOUT_MS ? draft->timeout_ms
                                                          : reader->rules->timeout_ms;
    if (!limit_total(reader, chosen != PAWL__FIELD_NONE, &limit_ms)) return false;
    int64_t effective_ms = limit_ms > 0 ? limit_ms + draft->grace_ms : 0; // 0: no limit
    if (effective_ms > PAWL__OJS_MS_MAX) effective_ms = PAWL__OJS_MS_MAX;
    if (is_given(reader, PAWL__FIELD_TIMEOUT_MS)) {
        bool shown = effective_ms > 0 && effective_ms != PAWL__OJS_TIMEOUT_MS;
        pawl__reader_keep_unless_plain(reader, PAWL__FIELD_TIMEOUT_MS, shown ? effective_ms : -1);
    }
    reader->draft.job.spec.timeout_ms = effective_ms;
    return true;
}

bool pawl__envelope_finish_lease(struct pawl__reader *reader)
{
    const struct pawl__draft *draft = &reader->draft;
    enum pawl__envelope_field chosen = pawl__reader_choose(
        reader, PAWL__FIELD_VISIBILITY_TIMEOUT_MS, PAWL__FIELD_VISIBILITY_TIMEOUT);
    int64_t lease_ms = chosen == PAWL__FIELD_VISIBILITY_TIMEOUT ? draft->lease_seconds_ms
                                                                : draft->lease_ms;
    if (is_given(reader, PAWL__FIELD_VISIBILITY_TIMEOUT_MS)) {
        pawl__reader_keep_unless_plain(reader, PAWL__FIELD_VISIBILITY_TIMEOUT_MS, lease_ms);
    }
    reader->draft.job.spec.lease_ms = lease_ms;
    return true;
}
