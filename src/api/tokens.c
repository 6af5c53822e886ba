/* Tokens, which grant access to a server. */
#include "api/api.h"
#include "api/check.h"
#include "base/diag.h"

#include <assert.h>

enum { ID_BYTES_MAX = 64, NAME_BYTES_MAX = 255, SCOPES_BYTES_MAX = 1024, HASH_BYTES = 32 };

enum pawl_err pawl_tokens_get(struct pawl *pawl, struct pawl_tokens *out, struct pawl_diag *diag)
{
    assert(pawl && out);
    struct pawl_tokens found = { .at = NULL };
    struct pawl__arena *owned = pawl__owned_new();
    if (!owned) return pawl__fail_nomem(diag);
    enum pawl_err err = pawl__store_tokens(pawl->store, owned, &found, diag);
    if (err) {
        pawl__owned_free(owned);
        return err;
    }
    found.owned = owned;
    *out = found;
    return PAWL_OK;
}

void pawl_tokens_release(struct pawl_tokens *tokens)
{
    if (!tokens) return;
    pawl__owned_free(tokens->owned);
    *tokens = (struct pawl_tokens){ .at = NULL };
}

static enum pawl_err check(const struct pawl_token *token, struct pawl_diag *diag)
{
    static const struct pawl__text_rule rule_id = { "id", ID_BYTES_MAX };
    static const struct pawl__text_rule rule_name = { "name", NAME_BYTES_MAX };
    static const struct pawl__text_rule rule_scopes = { "scopes", SCOPES_BYTES_MAX };
    enum pawl_err err = pawl__check_text(&rule_id, token->id, diag);
    if (!err) err = pawl__check_utf8(&rule_name, token->name, diag);
    if (!err) err = pawl__check_utf8(&rule_scopes, token->scopes, diag);
    if (err || !token->hash.len || token->hash.len == HASH_BYTES) return err;
    return pawl__fail_field(diag, PAWL_ERR_ARG, "hash", "a token's hash must have %d bytes",
                            HASH_BYTES);
}

enum pawl_err pawl_token_put(struct pawl *pawl, const struct pawl_token *token,
                             struct pawl_diag *diag)
{
    assert(pawl && token);
    enum pawl_err err = check(token, diag);
    if (err) return err;
    struct pawl__op op = { .kind = PAWL__OP_TOKEN_PUT, .token = token };
    return pawl__desk_do(pawl, &op, diag);
}
