/* Settings: small strings kept with the store. */
#include "api/api.h"
#include "api/check.h"
#include "base/diag.h"

#include <assert.h>

enum { SETTING_NAME_BYTES_MAX = 255, SETTING_BYTES_MAX = 1024 * 1024 };

enum pawl_err pawl_settings_get(struct pawl *pawl, const char *prefix, struct pawl_settings *out,
                                struct pawl_diag *diag)
{
    assert(pawl && prefix && out);
    struct pawl_settings found = { .at = NULL };
    struct pawl__arena *owned = pawl__owned_new();
    if (!owned) return pawl__fail_nomem(diag);
    enum pawl_err err = pawl__store_settings(pawl->store, prefix, owned, &found, diag);
    if (err) {
        pawl__owned_free(owned);
        return err;
    }
    found.owned = owned;
    *out = found;
    return PAWL_OK;
}

void pawl_settings_release(struct pawl_settings *settings)
{
    if (!settings) return;
    pawl__owned_free(settings->owned);
    *settings = (struct pawl_settings){ .at = NULL };
}

enum pawl_err pawl_setting_put(struct pawl *pawl, const char *name, const char *value,
                               struct pawl_diag *diag)
{
    static const struct pawl__text_rule rule_name = { "name", SETTING_NAME_BYTES_MAX };
    static const struct pawl__text_rule rule_value = { "value", SETTING_BYTES_MAX };
    assert(pawl);
    enum pawl_err err = pawl__check_text(&rule_name, name, diag);
    if (!err) err = pawl__check_utf8(&rule_value, value, diag);
    if (err) return err;
    struct pawl__op op = { .kind = PAWL__OP_SETTING_PUT,
                           .setting = { .name = name, .value = value } };
    return pawl__desk_do(pawl, &op, diag);
}
