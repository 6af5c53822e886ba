/* See check.h. */
#include "base/check.h"

#include "base/diag.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ---- */

static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

bool pawl__is_printable(const char *text, size_t len)
{
    const char *end = text + len;
    while (text < end) {
        int size = pawl__utf8_step(text, end);
        if (size < 0 || is_control(pawl__utf8_decode(text, size))) return false;
        text += size;
    }
    return true;
}

struct pawl__quoted pawl__quote(const char *text)
{
    struct pawl__quoted out;
    size_t room = sizeof out.text - sizeof "...";
    const char *end = text + strnlen(text, sizeof out.text + 4); // enough to detect that it does
                                                                 // not fit
    size_t used = 0;
    while (text < end) {
        int step = pawl__utf8_step(text, end);
        bool bad = step < 0 || is_control(pawl__utf8_decode(text, step));
        size_t size = bad ? 1 : (size_t)step;
        if (used + size > room) {
            memcpy(out.text + used, "...", 3);
            used += 3;
            break;
        }
        memcpy(out.text + used, bad ? "?" : text, size);
        used += size;
        text += abs(step);
    }
    out.text[used] = '\0';
    return out;
}

enum pawl_err pawl__check_text(const struct pawl__text_rule *rule, const char *text,
                               struct pawl_diag *diag)
{
    if (!text || !text[0]) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, rule->field, "%s must not be empty",
                                rule->field);
    }
    size_t len = strnlen(text, rule->bytes_max + 1);
    if (len > rule->bytes_max) {
        return pawl__fail_field(diag, PAWL_ERR_LIMIT, rule->field, "%s is longer than %zu bytes",
                                rule->field, rule->bytes_max);
    }
    if (!pawl__is_printable(text, len)) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, rule->field,
                                "%s \"%s\" must be UTF-8 without control characters", rule->field,
                                pawl__quote(text).text);
    }
    return PAWL_OK;
}

enum pawl_err pawl__check_optional(const struct pawl__text_rule *rule, const char *text,
                                   struct pawl_diag *diag)
{
    return text && text[0] ? pawl__check_text(rule, text, diag) : PAWL_OK;
}

enum pawl_err pawl__check_utf8(const struct pawl__text_rule *rule, const char *text,
                               struct pawl_diag *diag)
{
    size_t len = text ? strlen(text) : 0;
    if (len > rule->bytes_max) {
        return pawl__fail_field(diag, PAWL_ERR_LIMIT, rule->field, "%s is longer than %zu bytes",
                                rule->field, rule->bytes_max);
    }
    for (size_t at = 0; at < len;) {
        int size = pawl__utf8_step(text + at, text + len);
        if (size < 0) {
            return pawl__fail_field(diag, PAWL_ERR_ARG, rule->field, "%s must be UTF-8",
                                    rule->field);
        }
        at += (size_t)size;
    }
    return PAWL_OK;
}

enum pawl_err pawl__check_list(const struct pawl__list_rule *rule, const char *const *list,
                               size_t count, struct pawl_diag *diag)
{
    const char *field = rule->each.field;
    if (count > rule->count_max) {
        return pawl__fail_field(diag, PAWL_ERR_LIMIT, field, "%s has %zu members, more than %zu",
                                field, count, rule->count_max);
    }
    if (count && !list) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, field, "%s is missing", field);
    }
    for (size_t i = 0; i < count; i++) {
        enum pawl_err err = pawl__check_text(&rule->each, list[i], diag);
        if (err) {
            pawl__diag_index(diag, i);
            return err;
        }
    }
    return PAWL_OK;
}

/* ---- times ---- */

enum pawl_err pawl__check_time(const char *field, enum pawl__time_kind kind, int64_t value_ms,
                               struct pawl_diag *diag)
{
    if (value_ms < 0) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, field, "%s must not be negative", field);
    }
    if (kind == PAWL__TIME_INSTANT && value_ms > PAWL__INSTANT_MAX_MS) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, field, "%s is beyond the year 9999", field);
    }
    if (kind == PAWL__TIME_LEASE && value_ms && value_ms < PAWL_LEASE_MIN_MS) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, field, "%s is less than %d ms", field,
                                PAWL_LEASE_MIN_MS);
    }
    if (kind != PAWL__TIME_INSTANT && value_ms > PAWL__DURATION_MAX_MS) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, field, "%s is more than 100 years", field);
    }
    return PAWL_OK;
}

/* ---- fields of errors ---- */

void pawl__diag_index(struct pawl_diag *diag, size_t index)
{
    if (!diag) return;
    size_t len = strnlen(diag->field, sizeof diag->field - 1);
    snprintf(diag->field + len, sizeof diag->field - len, "[%zu]", index);
}

void pawl__diag_within(struct pawl_diag *diag, size_t index)
{
    if (!diag) return;
    struct pawl_diag inner = *diag;
    const char *dot = inner.field[0] ? "." : "";
    pawl__fail(diag, inner.err, "[%zu]: %s", index, inner.text);
    int len = snprintf(diag->field, sizeof diag->field, "[%zu]%s", index, dot);
    assert(len > 0 && (size_t)len < sizeof diag->field);
    size_t room = sizeof diag->field - (size_t)len;
    memcpy(diag->field + len, inner.field, strnlen(inner.field, room - 1) + 1);
    diag->field[sizeof diag->field - 1] = '\0';
}
