/* Rules for values that come from outside; the manual is check.h. Letters are compared as ASCII,
 * never through the locale. */
#include "api/check.h"

#include "base/diag.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* ---- text ---- */

static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

static bool is_printable(const char *text, size_t len)
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
    const char *end = text + strnlen(text, sizeof out.text + 4); // enough to see it does not fit
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
    if (!is_printable(text, len)) {
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

/* ---- names ---- */

static const char *skip_digits(const char *at)
{
    while (is_digit(*at)) {
        at++;
    }
    return at;
}

/* "@1.0" and nothing behind it */
static bool is_version(const char *at)
{
    const char *major = at + 1;
    const char *dot = skip_digits(major);
    if (dot == major || *dot != '.') return false;
    const char *end = skip_digits(dot + 1);
    return end > dot + 1 && *end == '\0';
}

static bool is_type(const char *at)
{
    for (;; at++) {
        if (!is_lower(*at)) return false;
        while (is_lower(*at) || is_digit(*at) || *at == '_' || *at == '-') {
            at++;
        }
        if (*at != '.') break;
    }
    return *at == '\0' || (*at == '@' && is_version(at));
}

static bool is_queue(const char *at)
{
    if (!is_lower(*at) && !is_digit(*at)) return false;
    while (is_lower(*at) || is_digit(*at) || *at == '.' || *at == '_' || *at == '-') {
        at++;
    }
    return *at == '\0';
}

enum pawl_err pawl__check_type(const char *type, struct pawl_diag *diag)
{
    if (!type) return pawl__fail_field(diag, PAWL_ERR_ARG, "type", "type is missing");
    if (strnlen(type, PAWL_TYPE_BYTES_MAX + 1) > PAWL_TYPE_BYTES_MAX) {
        return pawl__fail_field(diag, PAWL_ERR_LIMIT, "type", "type is longer than %d bytes",
                                PAWL_TYPE_BYTES_MAX);
    }
    if (!is_type(type)) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "type",
                                "type \"%s\" must be lower-case words joined by dots, as in "
                                "\"mail.send\" or \"mail.send@1.0\"%s",
                                pawl__quote(type).text,
                                strpbrk(type, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
                                    ? ": the Open Job Spec allows no capital letters"
                                    : "");
    }
    return PAWL_OK;
}

enum pawl_err pawl__check_star(const char *field, const char *types, struct pawl_diag *diag)
{
    const char *star = strchr(types, '*');
    if (!star || strcmp(types, "*") == 0) return PAWL_OK;
    if (star[1] == '\0' && star - types > 1 && star[-1] == '.') return PAWL_OK;
    return pawl__fail_field(diag, PAWL_ERR_ARG, field,
                            "type \"%s\": \"*\" stands alone or after a last dot, as in \"mail.*\"",
                            pawl__quote(types).text);
}

enum pawl_err pawl__check_types(const char *types, struct pawl_diag *diag)
{
    char words[PAWL_TYPE_BYTES_MAX + 1];
    size_t len = types ? strnlen(types, sizeof words) : 0;
    if (len == 1 && types[0] == '*') return PAWL_OK;
    bool starred = len > 2 && len < sizeof words && strcmp(types + len - 2, ".*") == 0;
    if (!starred) {
        enum pawl_err err = types ? pawl__check_star("type", types, diag) : PAWL_OK;
        return err ? err : pawl__check_type(types, diag);
    }
    memcpy(words, types, len - 2);
    words[len - 2] = '\0';
    return pawl__check_type(words, diag);
}

enum pawl_err pawl__check_queue(const char *queue, struct pawl_diag *diag)
{
    if (!queue) return pawl__fail_field(diag, PAWL_ERR_ARG, "queue", "queue is missing");
    if (strnlen(queue, PAWL_QUEUE_BYTES_MAX + 1) > PAWL_QUEUE_BYTES_MAX) {
        return pawl__fail_field(diag, PAWL_ERR_LIMIT, "queue", "queue is longer than %d bytes",
                                PAWL_QUEUE_BYTES_MAX);
    }
    if (!is_queue(queue)) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "queue",
                                "queue \"%s\" must be a-z, 0-9, \".\", \"_\" and \"-\", and begin "
                                "with a letter or digit",
                                pawl__quote(queue).text);
    }
    return PAWL_OK;
}

enum pawl_err pawl__check_priority(int32_t priority, struct pawl_diag *diag)
{
    if (priority >= PAWL_PRIORITY_MIN && priority <= PAWL_PRIORITY_MAX) return PAWL_OK;
    return pawl__fail_field(diag, PAWL_ERR_ARG, "priority",
                            "priority %d must lie between %d and %d", priority, PAWL_PRIORITY_MIN,
                            PAWL_PRIORITY_MAX);
}

enum pawl_err pawl__check_by(const struct pawl_by *by, struct pawl_diag *diag)
{
    static const struct pawl__text_rule actor = { "by.actor", PAWL_KEY_BYTES_MAX };
    static const struct pawl__text_rule reason = { "by.reason", PAWL__REASON_BYTES_MAX };
    if (!by) return PAWL_OK;
    enum pawl_err err = pawl__check_optional(&actor, by->actor, diag);
    if (err) return err;
    return pawl__check_optional(&reason, by->reason, diag);
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

/* ---- tags ---- */

enum pawl_err pawl__tag_clean(const char *tag, const char *field, struct pawl__tag *out,
                              struct pawl_diag *diag)
{
    if (!tag) return pawl__fail_field(diag, PAWL_ERR_ARG, field, "%s is missing", field);
    while (is_space(*tag)) {
        tag++;
    }
    size_t len = strlen(tag);
    while (len && is_space(tag[len - 1])) {
        len--;
    }
    if (len > PAWL_TAG_BYTES_MAX) {
        return pawl__fail_field(diag, PAWL_ERR_LIMIT, field, "tag \"%s\" is longer than %d bytes",
                                pawl__quote(tag).text, PAWL_TAG_BYTES_MAX);
    }
    if (!is_printable(tag, len)) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, field,
                                "tag \"%s\" must be UTF-8 without control characters",
                                pawl__quote(tag).text);
    }
    for (size_t i = 0; i < len; i++) {
        bool upper = tag[i] >= 'A' && tag[i] <= 'Z';
        out->text[i] = (char)(upper ? tag[i] - 'A' + 'a' : tag[i]);
    }
    out->text[len] = '\0';
    out->len = len;
    return PAWL_OK;
}

/* ---- where it went wrong ---- */

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
