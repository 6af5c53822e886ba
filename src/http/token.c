/* Tokens in the store: making, listing, revoking. */
#include "base/diag.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/time_text.h"
#include "http/http.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { SECRET_BYTES = 32, SETTING_BYTES = 64 };

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

static bool read_hex(const char *text, uint8_t *out, size_t count)
{
    if (strlen(text) != 2 * count) return false;
    for (size_t i = 0; i < count; i++) {
        unsigned byte;
        if (strspn(text + 2 * i, "0123456789abcdef") < 2) return false;
        if (sscanf(text + 2 * i, "%2x", &byte) != 1) return false;
        out[i] = (uint8_t)byte;
    }
    return true;
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

static void put_instant(struct pawl__buf *out, const char *name, int64_t at_ms)
{
    char text[PAWL__INSTANT_TEXT_BYTES];
    if (!at_ms) return;
    pawl__instant_text(at_ms, text);
    pawl__buf_printf(out, ",\"%s\":\"%s\"", name, text);
}

static void put_token(struct pawl__buf *out, const struct pawl__token *token)
{
    char hash[2 * sizeof token->hash + 1];
    put_hex(token->hash, sizeof token->hash, hash);
    pawl__buf_add_text(out, "{\"name\":");
    pawl__buf_add_json(out, token->name, strlen(token->name));
    pawl__buf_printf(out, ",\"hash\":\"%s\",\"scopes\":[", hash);
    const char *comma = "";
    for (enum pawl__scope i = PAWL__SCOPE_NONE + 1; i < PAWL__SCOPE_END; i++) {
        if (!(token->scopes & 1u << i)) continue;
        pawl__buf_printf(out, "%s\"%s\"", comma, scope_texts[i]);
        comma = ",";
    }
    pawl__buf_add_text(out, "]");
    put_instant(out, "created_at", token->created_at_ms);
    put_instant(out, "expires_at", token->expires_at_ms);
    put_instant(out, "revoked_at", token->revoked_at_ms);
    pawl__buf_add_text(out, "}");
}

/* ---- reading ---- */

/* A member that is text; NULL: it is not there, or is something else. */
static const char *text_of(const struct pawl__json *json, const char *name,
                           struct pawl__arena *arena)
{
    uint32_t at = pawl__json_member(json, 0, name);
    if (!at || json->tokens[at].type != PAWL__JSON_STRING) return NULL;
    return pawl__json_string(json, at, arena, NULL);
}

static bool read_instant(const struct pawl__json *json, const char *name, struct pawl__arena *arena,
                         int64_t *out)
{
    const char *text = text_of(json, name, arena);
    return text ? !pawl__instant_parse(text, out) : !pawl__json_member(json, 0, name);
}

static bool read_scopes(const struct pawl__json *json, struct pawl__arena *arena, uint32_t *out)
{
    uint32_t list = pawl__json_member(json, 0, "scopes");
    if (!list || json->tokens[list].type != PAWL__JSON_ARRAY) return false;
    uint32_t at = pawl__json_first(list);
    for (uint32_t i = 0; i < json->tokens[list].count; i++, at = json->tokens[at].next) {
        const char *text = json->tokens[at].type == PAWL__JSON_STRING
                               ? pawl__json_string(json, at, arena, NULL)
                               : NULL;
        if (!text) return false;
        *out |= 1u << pawl__scope_find(text, strlen(text)); // an unknown one allows nothing
    }
    return true;
}

static bool read_token(const char *value, struct pawl__arena *arena, struct pawl__token *out)
{
    struct pawl__json json;
    struct pawl_span text = { value, strlen(value) };
    if (pawl__json_parse(text, 4, arena, &json, NULL)) return false;
    if (json.tokens[0].type != PAWL__JSON_OBJECT) return false;
    const char *name = text_of(&json, "name", arena), *hash = text_of(&json, "hash", arena);
    snprintf(out->name, sizeof out->name, "%s", name ? name : "");
    return hash && read_hex(hash, out->hash, sizeof out->hash) &&
           read_scopes(&json, arena, &out->scopes) &&
           read_instant(&json, "created_at", arena, &out->created_at_ms) &&
           read_instant(&json, "expires_at", arena, &out->expires_at_ms) &&
           read_instant(&json, "revoked_at", arena, &out->revoked_at_ms);
}

static void take_setting(const struct pawl_setting *setting, struct pawl__token *out)
{
    struct pawl__arena arena = { 0 };
    *out = (struct pawl__token){ 0 };
    bool good = read_token(setting->value, &arena, out);
    snprintf(out->id, sizeof out->id, "%s", setting->name + strlen("token."));
    if (!good) { // whatever it was, nobody may use it
        out->scopes = 0;
        out->revoked_at_ms = 1;
    }
    pawl__arena_release(&arena);
}

static void take_uses(struct pawl__tokens *tokens, const struct pawl_settings *used)
{
    for (size_t i = 0; i < used->count; i++) {
        const char *id = used->at[i].name + strlen("token_used.");
        for (size_t j = 0; j < tokens->count; j++) {
            if (strcmp(tokens->at[j].id, id) != 0) continue;
            if (pawl__instant_parse(used->at[i].value, &tokens->at[j].used_at_ms)) continue;
        }
    }
}

enum pawl_err pawl__tokens_get(struct pawl *pawl, struct pawl__tokens *out, struct pawl_diag *diag)
{
    struct pawl_settings settings = { 0 }, used = { 0 };
    struct pawl__tokens found = { 0 };
    enum pawl_err err = pawl_settings_get(pawl, "token.", &settings, diag);
    if (!err && settings.count) err = pawl_settings_get(pawl, "token_used.", &used, diag);
    if (!err && settings.count) {
        found.at = calloc(settings.count, sizeof *found.at);
        if (!found.at) err = pawl__fail_nomem(diag);
    }
    if (!err) {
        for (; found.count < settings.count; found.count++) {
            take_setting(&settings.at[found.count], &found.at[found.count]);
        }
        take_uses(&found, &used);
        *out = found;
    }
    pawl_settings_release(&used);
    pawl_settings_release(&settings);
    return err;
}

void pawl__tokens_release(struct pawl__tokens *tokens)
{
    free(tokens->at);
    *tokens = (struct pawl__tokens){ 0 };
}

/* ---- writing ---- */

static enum pawl_err put(struct pawl *pawl, const struct pawl__token *token, struct pawl_diag *diag)
{
    char name[SETTING_BYTES];
    struct pawl__buf value = { 0 };
    snprintf(name, sizeof name, "token.%s", token->id);
    put_token(&value, token);
    enum pawl_err err = value.failed ? pawl__fail_nomem(diag)
                                     : pawl_setting_put(pawl, name, value.at, diag);
    pawl__buf_release(&value);
    return err;
}

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
    return put(pawl, token, diag);
}

enum pawl_err pawl__token_revoke(struct pawl *pawl, const char *id, int64_t now_ms,
                                 struct pawl_diag *diag)
{
    struct pawl__tokens tokens = { 0 };
    enum pawl_err err = pawl__tokens_get(pawl, &tokens, diag);
    if (err) return err;
    err = PAWL_ERR_NOT_FOUND;
    for (size_t i = 0; i < tokens.count; i++) {
        struct pawl__token *token = &tokens.at[i];
        if (strcmp(token->id, id) != 0) continue;
        bool already = token->revoked_at_ms != 0;
        token->revoked_at_ms = now_ms;
        err = already ? PAWL_OK : put(pawl, token, diag);
    }
    pawl__tokens_release(&tokens);
    return err == PAWL_ERR_NOT_FOUND
               ? pawl__fail_field(diag, err, "id", "there is no token \"%s\"", id)
               : err;
}

enum pawl_err pawl__token_used(struct pawl *pawl, const char *id, int64_t at_ms,
                               struct pawl_diag *diag)
{
    char name[SETTING_BYTES], at[PAWL__INSTANT_TEXT_BYTES];
    snprintf(name, sizeof name, "token_used.%s", id);
    pawl__instant_text(at_ms, at);
    return pawl_setting_put(pawl, name, at, diag);
}
