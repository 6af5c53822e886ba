/* pawl token: tokens that clients of the server need. */
#include "cli/cli.h"
#include "http/http.h"

#include <assert.h>

/* ---- add ---- */

static uint32_t read_scopes(struct pawl__cli *cli)
{
    const struct pawl__cli_values *values = &cli->values[PAWL__CLI_OPT_SCOPE];
    uint32_t scopes = 0;
    for (size_t i = 0; i < values->count; i++) {
        union pawl__cli_value mask;
        bool ok = pawl__cli_kind_read(PAWL__CLI_KIND_SCOPES, values->at[i], 0, &mask);
        assert(ok); // the parser has checked it
        scopes |= (uint32_t)mask.number << (PAWL__SCOPE_NONE + 1);
    }
    return scopes;
}

static int read_options(struct pawl__cli *cli, struct pawl__token *out)
{
    const char *name = pawl__cli_text(cli, PAWL__CLI_OPT_T_NAME);
    *out = (struct pawl__token){
        .scopes = read_scopes(cli),
        .created_at_ms = cli->now_ms,
        .expires_at_ms = pawl__cli_int(cli, PAWL__CLI_OPT_T_EXPIRES),
    };
    if (!out->scopes) {
        pawl__cli_error("--scope is required");
        pawl__cli_hint("say what the token is for: --scope submit,read");
        return PAWL__CLI_EXIT_USAGE;
    }
    if (out->expires_at_ms && out->expires_at_ms <= cli->now_ms) {
        return pawl__cli_usage("\"--expires\" is in the past");
    }
    int len = name ? snprintf(out->name, sizeof out->name, "%s", name) : 0;
    if (len < (int)sizeof out->name) return PAWL__CLI_EXIT_OK;
    return pawl__cli_usage("\"--name\" may have %zu bytes", sizeof out->name - 1);
}

static const char *status_of(const struct pawl__token *token, int64_t now_ms)
{
    if (token->revoked_at_ms) return "revoked";
    return pawl__token_is_valid(token, now_ms) ? "valid" : "expired";
}

static void print_status(const struct pawl__shape_writer *writer, const struct pawl__member *member,
                         const void *base)
{
    const struct pawl__cli *cli = writer->ctx;
    const char *status = status_of(base, cli->now_ms);
    pawl__buf_add_json(writer->out, status, strlen(status));
}

#define X(name, text, ...) [PAWL__SCOPE_##name] = text,
static const char *const scope_texts[PAWL__SCOPE_END] = { PAWL__SCOPES(X) };
#undef X
static const struct pawl__words scopes = { .at = scope_texts, .count = PAWL__SCOPE_END };

#define S struct pawl__token
static const struct pawl__member fact_members[] = {
    PAWL__MEMBER("name", CHARS, S, name),
    PAWL__MEMBER("scopes", SET, S, scopes, .words = &scopes, .flags = PAWL__ALWAYS),
    PAWL__WHOLE("status", OWN, .print = print_status),
    PAWL__MEMBER("created_at", INSTANT, S, created_at_ms),
    PAWL__MEMBER("expires_at", INSTANT, S, expires_at_ms),
    PAWL__MEMBER("revoked_at", INSTANT, S, revoked_at_ms),
    PAWL__MEMBER("last_used_at", INSTANT, S, used_at_ms),
};
static const struct pawl__shape fact_shape = PAWL__SHAPE(S, fact_members);
static const struct pawl__member token_members[] = {
    PAWL__MEMBER("id", CHARS, S, id),
    PAWL__WHOLE("", PART, .shape = &fact_shape),
};
static const struct pawl__shape token_shape = PAWL__SHAPE(S, token_members);
#undef S

int pawl__cli_token_add(struct pawl__cli *cli)
{
    struct pawl_diag diag = { 0 };
    struct pawl__token token;
    char secret[PAWL__TOKEN_BYTES];
    int code = read_options(cli, &token);
    if (!code) code = pawl__cli_open(cli);
    if (code) return code;
    enum pawl_err err = pawl__token_add(cli->pawl, &token, secret, &diag);
    if (err) return pawl__cli_fail(err, &diag);
    if (cli->json) {
        PAWL__CLI_PUT(cli, PAWL__HERE_TEXT("id", token.id), PAWL__HERE_TEXT("token", secret),
                      PAWL__PART(&fact_shape, &token));
    } else {
        pawl__buf_printf(&cli->out, "%s\n", secret);
        if (!cli->quiet) {
            fprintf(stderr, "token %s created; it will not be shown again\n", token.id);
        }
    }
    return PAWL__CLI_EXIT_OK;
}

/* ---- list ---- */

static void when_or_never(struct pawl__cli_table *table, int64_t at_ms)
{
    if (at_ms) pawl__cli_table_when(table, at_ms);
    if (!at_ms) pawl__cli_table_text(table, "never");
}

static void expires_cell(struct pawl__cli_table *table, const void *row)
{
    const struct pawl__token *token = row;
    when_or_never(table, token->expires_at_ms);
}

static void used_cell(struct pawl__cli_table *table, const void *row)
{
    const struct pawl__token *token = row;
    when_or_never(table, token->used_at_ms);
}

static void status_cell(struct pawl__cli_table *table, const void *row)
{
    pawl__cli_table_text(table, status_of(row, table->cli->now_ms));
}

static void scopes_cell(struct pawl__cli_table *table, const void *row)
{
    const struct pawl__token *token = row;
    char text[64] = "";
    for (enum pawl__scope i = PAWL__SCOPE_NONE + 1; i < PAWL__SCOPE_END; i++) {
        size_t len = strlen(text);
        if (!(token->scopes & 1u << i)) continue;
        snprintf(text + len, sizeof text - len, "%s%s", len ? "," : "", scope_texts[i]);
    }
    pawl__cli_table_text(table, text);
}

#define S struct pawl__token
static const struct pawl__cli_column columns[] = {
    PAWL__CLI_FIELD("ID", CHARS, S, id),
    PAWL__CLI_FIELD("NAME", CHARS, S, name),
    PAWL__CLI_CELL("SCOPES", scopes_cell),
    PAWL__CLI_CELL("STATUS", status_cell),
    PAWL__CLI_FIELD("CREATED", INSTANT, S, created_at_ms),
    PAWL__CLI_CELL("EXPIRES", expires_cell),
    PAWL__CLI_CELL("LAST USED", used_cell),
};
#undef S

int pawl__cli_token_list(struct pawl__cli *cli)
{
    static const struct pawl__cli_view view = PAWL__CLI_VIEW(token_shape, columns, "no tokens");
    struct pawl_diag diag = { 0 };
    struct pawl__tokens tokens = { 0 };
    int code = pawl__cli_open(cli);
    if (code) return code;
    enum pawl_err err = pawl__tokens_get(cli->pawl, &tokens, &diag);
    if (err) return pawl__cli_fail(err, &diag);
    pawl__cli_put_list(cli, &view, tokens.at, tokens.count);
    pawl__tokens_release(&tokens);
    return PAWL__CLI_EXIT_OK;
}

/* ---- revoke ---- */

int pawl__cli_token_revoke(struct pawl__cli *cli)
{
    struct pawl_diag diag = { 0 };
    int code = pawl__cli_open(cli);
    for (size_t i = 0; !code && i < cli->operands.count; i++) {
        const char *id = cli->operands.at[i];
        enum pawl_err err = pawl__token_revoke(cli->pawl, id, cli->now_ms, &diag);
        if (err) {
            code = pawl__cli_fail(err, &diag);
            if (err == PAWL_ERR_NOT_FOUND) pawl__cli_hint("\"pawl token list\" shows the ids");
        } else if (cli->json) {
            PAWL__CLI_PUT(cli, PAWL__HERE_TEXT("id", id), PAWL__HERE_TEXT("status", "revoked"));
        } else if (!cli->quiet) {
            pawl__buf_printf(&cli->out, "revoked %s\n", id);
        }
    }
    return code;
}
