/* Checks of a job's values; the manual is intake.h. Letters are compared as ASCII, never through
 * the locale. */
#include "store/intake.h"

#include "base/check.h"
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
