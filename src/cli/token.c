/* pawl token: who may use the server. */
#include "cli/cli.h"
#include "http/http.h"

#include <ctype.h>
#include <stdio.h>

/* ---- add ---- */

static uint32_t read_scopes(struct pawl__cli *cli)
{
    const struct pawl__cli_values *values = &cli->values[PAWL__CLI_OPT_SCOPE];
    uint32_t scopes = 0;
    for (size_t i = 0; i < values->count; i++) {
        size_t count;
        const char *const *names = pawl__cli_names(cli, values->at[i], &count);
        for (size_t j = 0; j < count; j++) {
            char lower[16] = "";
            for (size_t k = 0; names[j][k] && k + 1 < sizeof lower; k++) {
                lower[k] = (char)tolower((unsigned char)names[j][k]);
            }
            scopes |= 1u << pawl__scope_find(lower, strlen(lower));
        }
    }
    return scopes;
}

static int read_options(struct pawl__cli *cli, struct pawl__token *out)
{
    const char *name = pawl__cli_text(cli, PAWL__CLI_OPT_T_NAME);
    *out = (struct pawl__token){
        .scopes = read_scopes(cli),
        .created_at_ms = cli->now_ms,
        .expires_at_ms = pawl__cli_when(cli, PAWL__CLI_OPT_T_EXPIRES, +1),
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

static void put_scopes_json(struct pawl__cli_json *json, uint32_t scopes)
{
    struct pawl__cli_json array;
    pawl__cli_json_name(json, "scopes");
    pawl__cli_json_open(&array, json->buf, '[');
    for (enum pawl__scope i = PAWL__SCOPE_NONE + 1; i < PAWL__SCOPE_END; i++) {
        if (scopes & 1u << i) pawl__cli_json_text(&array, NULL, pawl__scope_text(i));
    }
    pawl__cli_json_close(&array, ']');
}

static const char *status_of(const struct pawl__token *token, int64_t now_ms)
{
    if (token->revoked_at_ms) return "revoked";
    return pawl__token_is_valid(token, now_ms) ? "valid" : "expired";
}

/* `secret` is NULL but for a new one. */
static void put_json(struct pawl__cli *cli, struct pawl__cli_json *json,
                     const struct pawl__token *token, const char *secret)
{
    pawl__cli_json_open(json, &cli->out, '{');
    pawl__cli_json_text(json, "id", token->id);
    if (secret) pawl__cli_json_text(json, "token", secret);
    pawl__cli_json_some_text(json, "name", token->name);
    put_scopes_json(json, token->scopes);
    pawl__cli_json_text(json, "status", status_of(token, cli->now_ms));
    pawl__cli_json_instant(json, "created_at", token->created_at_ms);
    pawl__cli_json_instant(json, "expires_at", token->expires_at_ms);
    pawl__cli_json_instant(json, "revoked_at", token->revoked_at_ms);
    pawl__cli_json_instant(json, "last_used_at", token->used_at_ms);
    pawl__cli_json_close(json, '}');
}

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
        struct pawl__cli_json json;
        put_json(cli, &json, &token, secret);
        pawl__buf_add_text(&cli->out, "\n");
    } else {
        pawl__buf_printf(&cli->out, "%s\n", secret);
        if (!cli->quiet) {
            fprintf(stderr, "token %s; this is the only time that it is shown\n", token.id);
        }
    }
    return PAWL__CLI_EXIT_OK;
}

/* ---- list ---- */

static void when_cell(struct pawl__cli_table *table, int64_t at_ms, int64_t now_ms,
                      const char *otherwise)
{
    struct pawl__buf buf = { 0 };
    if (at_ms) {
        pawl__cli_put_when(&buf, at_ms, now_ms);
    } else {
        pawl__buf_add_text(&buf, otherwise);
    }
    if (buf.failed) pawl__cli_nomem();
    pawl__cli_table_cell(table, buf.at, buf.len, NULL);
    pawl__buf_release(&buf);
}

static void scopes_cell(struct pawl__cli_table *table, uint32_t scopes)
{
    char text[64] = "";
    for (enum pawl__scope i = PAWL__SCOPE_NONE + 1; i < PAWL__SCOPE_END; i++) {
        size_t len = strlen(text);
        if (!(scopes & 1u << i)) continue;
        snprintf(text + len, sizeof text - len, "%s%s", len ? "," : "", pawl__scope_text(i));
    }
    pawl__cli_table_text(table, text);
}

static void put_table(struct pawl__cli *cli, const struct pawl__tokens *tokens)
{
    static const char *const titles[] = { "ID",      "NAME",    "SCOPES",   "STATUS",
                                          "CREATED", "EXPIRES", "LAST USED" };
    struct pawl__cli_table table;
    pawl__cli_table_init(&table, cli);
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++) {
        pawl__cli_table_column(&table, (struct pawl__cli_column){ .title = titles[i] });
    }
    for (size_t i = 0; i < tokens->count; i++) {
        const struct pawl__token *token = &tokens->at[i];
        pawl__cli_table_text(&table, token->id);
        pawl__cli_table_text(&table, token->name);
        scopes_cell(&table, token->scopes);
        pawl__cli_table_text(&table, status_of(token, cli->now_ms));
        when_cell(&table, token->created_at_ms, cli->now_ms, "");
        when_cell(&table, token->expires_at_ms, cli->now_ms, "never");
        when_cell(&table, token->used_at_ms, cli->now_ms, "never");
    }
    if (tokens->count) pawl__cli_table_print(&table);
    pawl__cli_table_release(&table);
    if (!tokens->count && !cli->quiet) fputs("no tokens\n", stderr);
}

int pawl__cli_token_list(struct pawl__cli *cli)
{
    struct pawl_diag diag = { 0 };
    struct pawl__tokens tokens = { 0 };
    struct pawl__cli_json array, json;
    int code = pawl__cli_open(cli);
    if (code) return code;
    enum pawl_err err = pawl__tokens_get(cli->pawl, &tokens, &diag);
    if (err) return pawl__cli_fail(err, &diag);
    if (cli->json) {
        pawl__cli_json_open(&array, &cli->out, '[');
        for (size_t i = 0; i < tokens.count; i++) {
            pawl__cli_json_name(&array, NULL);
            put_json(cli, &json, &tokens.at[i], NULL);
        }
        pawl__cli_json_close(&array, ']');
        pawl__buf_add_text(&cli->out, "\n");
    } else {
        put_table(cli, &tokens);
    }
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
            struct pawl__cli_json json;
            pawl__cli_json_open(&json, &cli->out, '{');
            pawl__cli_json_text(&json, "id", id);
            pawl__cli_json_text(&json, "status", "revoked");
            pawl__cli_json_close(&json, '}');
            pawl__buf_add_text(&cli->out, "\n");
        } else if (!cli->quiet) {
            pawl__buf_printf(&cli->out, "revoked %s\n", id);
        }
    }
    return code;
}
