/* Checks of what callers ask for; the manual is check.h. */
#include "api/check.h"

#include "base/diag.h"

#include <string.h>

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

enum pawl_err pawl__check_by(const struct pawl_by *by, struct pawl_diag *diag)
{
    static const struct pawl__text_rule actor = { "by.actor", PAWL_KEY_BYTES_MAX };
    static const struct pawl__text_rule reason = { "by.reason", PAWL__REASON_BYTES_MAX };
    if (!by) return PAWL_OK;
    enum pawl_err err = pawl__check_optional(&actor, by->actor, diag);
    if (err) return err;
    return pawl__check_optional(&reason, by->reason, diag);
}
