/* Checks of a job's values; the manual is check.h. Letters are compared as ASCII, never through the
 * locale. */
#include "api/check.h"

#include "base/diag.h"

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

/* ---- names ---- */

static const char *skip_digits(const char *at)
{
    while (is_digit(*at)) {
        at++;
    }
    return at;
}

/* "@1.0" and nothing after it */
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
    return pawl__fail_field(
        diag, PAWL_ERR_ARG, field,
        "type \"%s\": \"*\" must stand alone or after the last dot, as in \"mail.*\"",
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
    if (!pawl__is_printable(tag, len)) {
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
