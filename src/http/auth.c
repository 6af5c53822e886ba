/* Tokens in memory, and what they allow. Tokens are read again every second on a thread of the
 * pool, so that one that is added or revoked by another process counts soon; the same errand notes
 * which were used, each at most once a minute. When the store cannot be read, what was known stays
 * in force. */
#include "http/auth.h"
#include "base/clock.h"
#include "base/diag.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { READ_EVERY_MS = 1000, NOTE_EVERY_MS = 60000, USES_MAX = 16, SHOWN_BYTES_MAX = 256 };

struct use {
    char id[PAWL__TOKEN_ID_BYTES];
    int64_t at_ms;
};

struct pawl__auth {
    struct pawl__server *server;
    struct pawl__tokens tokens; /* used_at_ms: when the store was told last */
    int64_t *used_at_ms;        /* of each token; 0: not since we know it */
    int64_t read_at_ms;         /* loop time: when to read again */
    /* The errand's, while it is under way: */
    bool busy;
    bool failed; /* the newest errand */
    struct use uses[USES_MAX];
    size_t use_count;
    struct pawl__tokens fresh;
    enum pawl_err err;
    struct pawl_diag diag;
};

/* ---- keeping up ---- */

static int64_t *find_use(const struct pawl__auth *auth, const char *id)
{
    for (size_t i = 0; i < auth->tokens.count; i++) {
        if (strcmp(auth->tokens.at[i].id, id) == 0) return &auth->used_at_ms[i];
    }
    return NULL;
}

/* Takes `fresh`, keeping what is known of uses. */
static bool adopt(struct pawl__auth *auth, struct pawl__tokens *fresh)
{
    int64_t *used = calloc(fresh->count + 1, sizeof *used);
    if (!used) return false;
    for (size_t i = 0; i < fresh->count; i++) {
        int64_t *before = find_use(auth, fresh->at[i].id);
        used[i] = before ? *before : 0;
    }
    free(auth->used_at_ms);
    pawl__tokens_release(&auth->tokens);
    auth->used_at_ms = used;
    auth->tokens = *fresh;
    *fresh = (struct pawl__tokens){ 0 };
    return true;
}

static void refresh(void *ctx)
{
    struct pawl__auth *auth = ctx;
    auth->err = PAWL_OK;
    for (size_t i = 0; !auth->err && i < auth->use_count; i++) {
        auth->err = pawl__token_used(auth->server->pawl, auth->uses[i].id, auth->uses[i].at_ms,
                                     &auth->diag);
    }
    enum pawl_err err = pawl__tokens_get(auth->server->pawl, &auth->fresh, &auth->diag);
    if (err) auth->err = err;
}

static void refreshed(void *ctx)
{
    struct pawl__auth *auth = ctx;
    auth->busy = false;
    auth->read_at_ms = pawl__server_now(auth->server) + READ_EVERY_MS;
    bool failed = auth->err;
    if (failed && !auth->failed) { // once, however long it lasts
        pawl__log(auth->server->log, PAWL__LOG_WARNING, NULL,
                  "could not read the tokens: %s; going on with those that were read before",
                  auth->diag.text);
    }
    if (!failed && auth->failed) {
        pawl__log(auth->server->log, PAWL__LOG_INFO, NULL, "the tokens can be read again");
    }
    auth->failed = failed;
    if (!failed) {
        (void)!adopt(auth, &auth->fresh); // no memory: another time
    }
    pawl__tokens_release(&auth->fresh);
}

static void gather_uses(struct pawl__auth *auth)
{
    auth->use_count = 0;
    for (size_t i = 0; i < auth->tokens.count && auth->use_count < USES_MAX; i++) {
        const struct pawl__token *token = &auth->tokens.at[i];
        int64_t used = auth->used_at_ms[i];
        if (!used || used - token->used_at_ms < NOTE_EVERY_MS) continue;
        struct use *use = &auth->uses[auth->use_count++];
        memcpy(use->id, token->id, sizeof use->id);
        use->at_ms = used;
    }
}

void pawl__auth_tick(struct pawl__auth *auth)
{
    struct pawl__server *server = auth->server;
    if (auth->busy || server->stopping || pawl__server_now(server) < auth->read_at_ms) return;
    gather_uses(auth);
    auth->busy = pawl__background_run(server, refresh, refreshed, auth);
}

/* ---- life ---- */

enum pawl_err pawl__auth_new(struct pawl__server *server, struct pawl__auth **out,
                             struct pawl_diag *diag)
{
    struct pawl__tokens tokens = { 0 };
    struct pawl__auth *auth = calloc(1, sizeof *auth);
    if (!auth) return pawl__fail_nomem(diag);
    auth->server = server;
    enum pawl_err err = pawl__tokens_get(server->pawl, &tokens, diag);
    if (!err && !adopt(auth, &tokens)) err = pawl__fail_nomem(diag);
    pawl__tokens_release(&tokens);
    if (err) {
        pawl__auth_free(auth);
        return err;
    }
    *out = auth;
    return PAWL_OK;
}

void pawl__auth_free(struct pawl__auth *auth)
{
    if (!auth) return;
    assert(!auth->busy);
    pawl__tokens_release(&auth->tokens);
    free(auth->used_at_ms);
    free(auth);
}

bool pawl__auth_has_tokens(const struct pawl__auth *auth)
{
    int64_t now_ms = pawl__clock_wall_ms(&pawl__clock_system);
    for (size_t i = 0; i < auth->tokens.count; i++) {
        if (pawl__token_is_valid(&auth->tokens.at[i], now_ms)) return true;
    }
    return false;
}

bool pawl__auth_is_open(const struct pawl__auth *auth)
{
    return !auth->tokens.count && !auth->server->exposed;
}

/* ---- checking ---- */

/* How long it takes says nothing about where they differ. */
static bool same_hash(const uint8_t a[32], const uint8_t b[32])
{
    unsigned different = 0;
    for (size_t i = 0; i < 32; i++) {
        different |= a[i] ^ b[i];
    }
    return different == 0;
}

/* The place of the token that is shown; -1: none is, or it is not known. */
static int64_t find_shown(const struct pawl__auth *auth, const char *header)
{
    static const char scheme[] = "Bearer ";
    uint8_t hash[32];
    int64_t found = -1;
    if (!header || strncasecmp(header, scheme, sizeof scheme - 1) != 0) return -1;
    const char *shown = header + sizeof scheme - 1;
    shown += strspn(shown, " ");
    size_t len = strlen(shown);
    if (len > SHOWN_BYTES_MAX) return -1;
    pawl__token_hash(shown, len, hash);
    for (size_t i = 0; i < auth->tokens.count; i++) {
        if (same_hash(auth->tokens.at[i].hash, hash)) found = (int64_t)i;
    }
    return found;
}

static bool refuse_stranger(struct pawl__request *request, const char *text,
                            struct pawl__fault *fault)
{
    bool shown = pawl__request_header(request, "authorization");
    pawl__reply_header(request, "WWW-Authenticate",
                       shown ? "Bearer realm=\"pawl\", error=\"invalid_token\""
                             : "Bearer realm=\"pawl\"");
    return pawl__refuse(fault, PAWL__FAULT_UNAUTHENTICATED, "", "%s", text);
}

static bool refuse_scope(struct pawl__request *request, const struct pawl__token *token,
                         enum pawl__scope scope, struct pawl__fault *fault)
{
    char text[96];
    int len = snprintf(text, sizeof text,
                       "Bearer realm=\"pawl\", error=\"insufficient_scope\", scope=\"%s\"",
                       pawl__scope_text(scope));
    char *kept = pawl__arena_dup(&request->arena, text, (size_t)len);
    if (kept) pawl__reply_header(request, "WWW-Authenticate", kept);
    return pawl__refuse(fault, PAWL__FAULT_DENIED, "", "the token \"%s\" lacks the scope \"%s\"",
                        token->name[0] ? token->name : token->id, pawl__scope_text(scope));
}

bool pawl__auth_check(struct pawl__auth *auth, struct pawl__request *request,
                      enum pawl__scope scope, struct pawl__fault *fault)
{
    if (scope == PAWL__SCOPE_NONE || pawl__auth_is_open(auth)) return true;
    const char *header = pawl__request_header(request, "authorization");
    if (!header) return refuse_stranger(request, "this needs a token", fault);
    int64_t found = find_shown(auth, header);
    const struct pawl__token *token = found < 0 ? NULL : &auth->tokens.at[found];
    if (!token || token->revoked_at_ms) {
        return refuse_stranger(request,
                               token
                                   ? "the token was revoked"
                                   : "the token is not known; a new one is known within 2 seconds",
                               fault);
    }
    if (!pawl__token_is_valid(token, request->now_ms)) {
        return refuse_stranger(request, "the token has expired", fault);
    }
    if (!(token->scopes & (1u << scope | 1u << PAWL__SCOPE_ADMIN))) {
        return refuse_scope(request, token, scope, fault);
    }
    const char *name = token->name[0] ? token->name : token->id;
    request->token_name = pawl__arena_dup(&request->arena, name, strlen(name));
    auth->used_at_ms[found] = request->now_ms;
    return true;
}
