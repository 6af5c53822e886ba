/* Tokens in the store: making, listing, revoking. */
#include "base/diag.h"
#include "base/sha256.h"
#include "http/http.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { SECRET_BYTES = 32, SCOPES_BYTES = 64 };

#define X(name, text, ...) [PAWL__SCOPE_##name] = text,
static const char *const scope_texts[PAWL__SCOPE_END] = { PAWL__SCOPES(X) };
#undef X

const char *pawl__scope_text(enum pawl__scope scope)
{
    assert(scope > PAWL__SCOPE_NONE && scope < PAWL__SCOPE_END);
    return scope_texts[scope];
}

enum pawl__scope pawl__scope_find(const char *text, size_t len)
{
    for (enum pawl__scope i = PAWL__SCOPE_NONE + 1; i < PAWL__SCOPE_END; i++) {
        if (strlen(scope_texts[i]) == len && memcmp(scope_texts[i], text, len) == 0) return i;
    }
    return PAWL__SCOPE_NONE;
}

bool pawl__token_is_valid(const struct pawl__token *token, int64_t now_ms)
{
    return !token->revoked_at_ms && (!token->expires_at_ms || now_ms < token->expires_at_ms);
}

void pawl__token_hash(const char *secret, size_t len, uint8_t out[32])
{
    struct pawl__sha256 sha;
    pawl__sha256_init(&sha);
    pawl__sha256_add(&sha, secret, len);
    pawl__sha256_end(&sha, out);
}

/* ---- as text ---- */

static void put_hex(const uint8_t *bytes, size_t count, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = '\0';
}

/* "pawl_" and base64 as URLs have it, without padding. */
static void put_secret(const uint8_t bytes[SECRET_BYTES], char out[PAWL__TOKEN_BYTES])
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    char *to = stpncpy(out, "pawl_", PAWL__TOKEN_BYTES);
    uint32_t bits = 0;
    int have = 0;
    for (size_t i = 0; i < SECRET_BYTES; i++) {
        bits = bits << 8 | bytes[i];
        for (have += 8; have >= 6; have -= 6) {
            *to++ = letters[bits >> (have - 6) & 63];
        }
    }
    *to++ = letters[bits << (6 - have) & 63];
    *to = '\0';
    assert(to == out + PAWL__TOKEN_BYTES - 1);
}

/* Names with a blank between two of them. */
static void put_scopes(uint32_t scopes, char out[SCOPES_BYTES])
{
    size_t len = 0;
    out[0] = '\0';
    for (enum pawl__scope i = PAWL__SCOPE_NONE + 1; i < PAWL__SCOPE_END; i++) {
        if (!(scopes & 1u << i)) continue;
        len +=
            (size_t)snprintf(out + len, SCOPES_BYTES - len, "%s%s", len ? " " : "", scope_texts[i]);
        assert(len < SCOPES_BYTES);
    }
}

/* ---- reading ---- */

static uint32_t read_scopes(const char *text)
{
    uint32_t scopes = 0;
    while (*text) {
        size_t len = strcspn(text, " ");
        scopes |= 1u << pawl__scope_find(text, len); // an unknown one allows nothing
        text += len + (text[len] == ' ');
    }
    return scopes;
}

static struct pawl__token read_token(const struct pawl_token *kept)
{
    struct pawl__token token = { .scopes = read_scopes(kept->scopes),
                                 .created_at_ms = kept->created_at_ms,
                                 .expires_at_ms = kept->expires_at_ms,
                                 .revoked_at_ms = kept->revoked_at_ms,
                                 .used_at_ms = kept->used_at_ms };
    snprintf(token.id, sizeof token.id, "%s", kept->id);
    snprintf(token.name, sizeof token.name, "%s", kept->name);
    assert(kept->hash.len == sizeof token.hash); // the table keeps no other
    memcpy(token.hash, kept->hash.at, sizeof token.hash);
    return token;
}

enum pawl_err pawl__tokens_get(struct pawl *pawl, struct pawl__tokens *out, struct pawl_diag *diag)
{
    struct pawl_tokens kept = { 0 };
    struct pawl__tokens found = { 0 };
    enum pawl_err err = pawl_tokens_get(pawl, &kept, diag);
    if (!err && kept.count) {
        found.at = calloc(kept.count, sizeof *found.at);
        if (!found.at) err = pawl__fail_nomem(diag);
    }
    if (!err) {
        for (; found.count < kept.count; found.count++) {
            found.at[found.count] = read_token(&kept.at[found.count]);
        }
        *out = found;
    }
    pawl_tokens_release(&kept);
    return err;
}

void pawl__tokens_release(struct pawl__tokens *tokens)
{
    free(tokens->at);
    *tokens = (struct pawl__tokens){ 0 };
}

/* ---- writing ---- */

static enum pawl_err check(struct pawl *pawl, const struct pawl__token *token,
                           struct pawl_diag *diag)
{
    if (!(token->scopes >> 1)) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "scope", "a token needs a scope");
    }
    struct pawl__tokens tokens = { 0 };
    enum pawl_err err = pawl__tokens_get(pawl, &tokens, diag);
    if (!err && tokens.count >= PAWL__TOKENS_MAX) {
        err = pawl__fail(diag, PAWL_ERR_LIMIT, "there may be %d tokens, the revoked ones included",
                         PAWL__TOKENS_MAX);
    }
    pawl__tokens_release(&tokens);
    return err;
}

enum pawl_err pawl__token_add(struct pawl *pawl, struct pawl__token *token,
                              char secret[PAWL__TOKEN_BYTES], struct pawl_diag *diag)
{
    uint8_t bytes[SECRET_BYTES];
    enum pawl_err err = check(pawl, token, diag);
    if (err) return err;
    if (getentropy(bytes, sizeof bytes)) {
        return pawl__fail(diag, PAWL_ERR_IO, "could not get random bytes from the system");
    }
    put_secret(bytes, secret);
    explicit_bzero(bytes, sizeof bytes);
    pawl__token_hash(secret, PAWL__TOKEN_BYTES - 1, token->hash);
    put_hex(token->hash, (PAWL__TOKEN_ID_BYTES - 1) / 2, token->id);
    char scopes[SCOPES_BYTES];
    put_scopes(token->scopes, scopes);
    return pawl_token_put(
        pawl,
        &(struct pawl_token){ .id = token->id,
                              .name = token->name,
                              .scopes = scopes,
                              .hash = { (const char *)token->hash, sizeof token->hash },
                              .created_at_ms = token->created_at_ms,
                              .expires_at_ms = token->expires_at_ms },
        diag);
}

enum pawl_err pawl__token_revoke(struct pawl *pawl, const char *id, int64_t now_ms,
                                 struct pawl_diag *diag)
{
    return pawl_token_put(pawl, &(struct pawl_token){ .id = id, .revoked_at_ms = now_ms }, diag);
}

enum pawl_err pawl__token_used(struct pawl *pawl, const char *id, int64_t at_ms,
                               struct pawl_diag *diag)
{
    return pawl_token_put(pawl, &(struct pawl_token){ .id = id, .used_at_ms = at_ms }, diag);
}
