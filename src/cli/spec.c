/* The options of submit as a spec. */
#include "cli/cli.h"
#include "base/diag.h"
#include "base/json.h"
#include "base/time_text.h"

/* ---- meta ---- */

/* A value of name=value: a JSON scalar stays one, anything else is a string. */
static void put_meta_value(struct pawl__cli *cli, struct pawl__buf *buf, const char *text)
{
    struct pawl__json json;
    struct pawl_span span = { text, strlen(text) };
    if (span.len && !pawl__json_parse(span, 1, &cli->arena, &json, NULL) &&
        json.tokens[0].type < PAWL__JSON_STRING) {
        struct pawl_span value = pawl__json_span(&json, 0);
        pawl__buf_add(buf, value.at, value.len);
    } else {
        pawl__buf_add_json(buf, text, span.len);
    }
}

static int put_meta_object(struct pawl__cli *cli, struct pawl__buf *buf, const char *text)
{
    struct pawl__json json;
    struct pawl_diag diag = { 0 };
    struct pawl_span span = { text, strlen(text) };
    enum pawl_err err = pawl__json_parse(span, PAWL_JSON_DEPTH_MAX, &cli->arena, &json, &diag);
    if (err) return pawl__cli_usage("\"--meta\": %s", diag.text);
    if (json.tokens[0].type != PAWL__JSON_OBJECT) {
        return pawl__cli_usage("\"--meta\" must be a JSON object or name=value");
    }
    struct pawl_span inside = pawl__json_span(&json, 0);
    if (json.tokens[0].count && buf->len > 1) pawl__buf_add_text(buf, ",");
    if (json.tokens[0].count) pawl__buf_add(buf, inside.at + 1, inside.len - 2);
    return PAWL__CLI_EXIT_OK;
}

static int read_meta(struct pawl__cli *cli, struct pawl_span *out)
{
    const struct pawl__cli_values *values = &cli->values[PAWL__CLI_OPT_META];
    struct pawl__buf buf = { 0 };
    int code = PAWL__CLI_EXIT_OK;
    if (!values->count) return code;
    pawl__buf_add_text(&buf, "{");
    for (size_t i = 0; i < values->count && !code; i++) {
        const char *text = values->at[i];
        if (text[strspn(text, " \t\r\n")] == '{') {
            code = put_meta_object(cli, &buf, text);
            continue;
        }
        const char *equals = strchr(text, '=');
        if (buf.len > 1) pawl__buf_add_text(&buf, ",");
        pawl__buf_add_json(&buf, text, (size_t)(equals - text));
        pawl__buf_add_text(&buf, ":");
        put_meta_value(cli, &buf, equals + 1);
    }
    pawl__buf_add_text(&buf, "}");
    if (buf.failed) pawl__cli_nomem();
    *out = (struct pawl_span){ pawl__cli_need(pawl__arena_dup(&cli->arena, buf.at, buf.len)),
                               buf.len };
    pawl__buf_release(&buf);
    return code;
}

/* ---- arguments ---- */

int pawl__cli_args(struct pawl__cli *cli, const char *text, struct pawl_span *out)
{
    struct pawl__json json;
    struct pawl_diag diag = { 0 };
    struct pawl_span span = { text, strlen(text) };
    enum pawl_err err = pawl__json_parse(span, PAWL_JSON_DEPTH_MAX, &cli->arena, &json, &diag);
    if (err == PAWL_ERR_NOMEM) pawl__cli_nomem();
    if (err) {
        pawl__cli_error("the arguments: %s", diag.text);
        pawl__cli_hint("a list of arguments is written '[\"text\", 1, true]'");
        return PAWL__CLI_EXIT_USAGE;
    }
    if (json.tokens[0].type != PAWL__JSON_ARRAY) {
        pawl__cli_error("the arguments must be a JSON array");
        pawl__cli_hint("put it in brackets: '[%.200s]'", text);
        return PAWL__CLI_EXIT_USAGE;
    }
    *out = span;
    return PAWL__CLI_EXIT_OK;
}

/* ---- the spec ---- */

#define S struct pawl_job_spec
#define SET(option, member, ...) PAWL__CLI_SET(option, S, member, __VA_ARGS__)
#define LIST(option, member, counter) SET(option, member, .count_offset = offsetof(S, counter))
#define BY_HAND(option, member) SET(option, member, .elsewhere = true)
static const struct pawl__cli_setter setters[] = {
    SET(QUEUE, queue),
    SET(PRIORITY, priority),
    SET(DELAY, delay_ms),
    SET(AT, due_at_ms),
    BY_HAND(EXPIRES, expires_in_ms),
    BY_HAND(EXPIRES, expires_at_ms),
    SET(TIMEOUT, timeout_ms),
    SET(LEASE, lease_ms),
    SET(MAX_ATTEMPTS, retry.attempts_max),
    SET(RETRY_INITIAL, retry.initial_ms),
    SET(RETRY_FACTOR, retry.coefficient),
    SET(RETRY_MAX, retry.cap_ms),
    SET(RETRY_BACKOFF, retry.backoff),
    LIST(NON_RETRYABLE, retry.non_retryable, retry.non_retryable_count),
    SET(KEY, idempotency_key),
    SET(KEY_TTL, idempotency_ms),
    SET(BUSINESS_KEY, business_key),
    SET(UNIQUE, unique.keys),
    LIST(UNIQUE_ARGS, unique.args_keys, unique.args_key_count),
    LIST(UNIQUE_META, unique.meta_keys, unique.meta_key_count),
    SET(UNIQUE_PERIOD, unique.period_ms),
    SET(UNIQUE_STATES, unique.states),
    SET(ON_CONFLICT, unique.on_conflict),
    BY_HAND(META, meta),
    LIST(TAG, tags, tag_count),
    SET(ID, id),
    SET(PENDING, pending),
    SET(KEEP, keep_ms),
    SET(PRINCIPAL, principal),
    SET(TRACE, trace_id),
    SET(SOFT_SLA, sla_soft_at_ms),
    SET(HARD_SLA, sla_hard_at_ms),
    BY_HAND(ON_SUCCESS, on_success),
    BY_HAND(ON_FAILURE, on_failure),
};
enum { SETTERS = sizeof setters / sizeof *setters };
#undef S

enum pawl__cli_option_id pawl__cli_spec_option(const char *field)
{
    for (size_t i = 0; i < SETTERS; i++) {
        if (strcmp(setters[i].field, field) == 0) return setters[i].option;
    }
    return PAWL__CLI_OPT_END;
}

static enum pawl_err refuse_unknown(void *ctx, const char *name, const char *meant,
                                    struct pawl_diag *diag)
{
    (void)ctx;
    return pawl__fail_field(diag, PAWL_ERR_ARG, name, "\"%.64s\" is not a known member%s%s%s", name,
                            meant ? "; did you mean \"" : "", meant ? meant : "",
                            meant ? "\"?" : "");
}

/* A job as JSON, or only its type. */
static int read_follow(struct pawl__cli *cli, enum pawl__cli_option_id option,
                       const struct pawl_job_spec **out)
{
    const char *text = pawl__cli_text(cli, option);
    struct pawl_diag diag = { 0 };
    if (!text) return PAWL__CLI_EXIT_OK;
    struct pawl_job_spec *spec = pawl__cli_need(pawl__arena_calloc(&cli->arena, 1, sizeof *spec));
    *out = spec;
    if (text[strspn(text, " \t\r\n")] != '{') {
        spec->type = text;
        return PAWL__CLI_EXIT_OK;
    }
    const struct pawl__cli_line line = { .text = { text, strlen(text) },
                                         .arena = &cli->arena,
                                         .unknown = refuse_unknown };
    enum pawl_err err = pawl__cli_spec_json(cli, &line, spec, &diag);
    if (err == PAWL_ERR_NOMEM) pawl__cli_nomem();
    if (err) return pawl__cli_usage("\"--%s\": %s", pawl__cli_options[option].name, diag.text);
    return PAWL__CLI_EXIT_OK;
}

static int finish_unique(struct pawl_unique *unique)
{
    if (unique->args_key_count) unique->keys |= PAWL_UNIQUE_TYPE | PAWL_UNIQUE_ARGS;
    if (unique->meta_key_count) unique->keys |= PAWL_UNIQUE_TYPE | PAWL_UNIQUE_META;
    if (!unique->keys && (unique->on_conflict || unique->period_ms || unique->states)) {
        pawl__cli_error("--on-conflict, --unique-period and --unique-states need --unique");
        pawl__cli_hint("add --unique, such as \"--unique type,args\"");
        return PAWL__CLI_EXIT_USAGE;
    }
    return PAWL__CLI_EXIT_OK;
}

bool pawl__cli_spec_unset(enum pawl__cli_option_id option, struct pawl_job_spec *out)
{
    if (option == PAWL__CLI_OPT_NO_JITTER) out->retry.jitter = PAWL_JITTER_DEFAULT;
    if (option == PAWL__CLI_OPT_DEAD_LETTER) out->retry.on_exhaustion = PAWL_EXHAUSTION_DEFAULT;
    return pawl__cli_unset(setters, SETTERS, option, out) || option == PAWL__CLI_OPT_NO_JITTER ||
           option == PAWL__CLI_OPT_DEAD_LETTER;
}

int pawl__cli_spec(struct pawl__cli *cli, struct pawl_job_spec *out)
{
    *out = (struct pawl_job_spec){ .queue = pawl__cli_text(cli, PAWL__CLI_OPT_QUEUE) };
    return pawl__cli_spec_over(cli, out);
}

int pawl__cli_spec_over(struct pawl__cli *cli, struct pawl_job_spec *out)
{
    int code = read_meta(cli, &out->meta);
    if (code) return code;
    if (pawl__cli_has(cli, PAWL__CLI_OPT_DELAY) && pawl__cli_has(cli, PAWL__CLI_OPT_AT)) {
        return pawl__cli_usage("\"--delay\" and \"--at\" cannot both be given");
    }
    code = pawl__cli_set(cli, setters, SETTERS, out);
    if (code) return code;
    const char *expires = pawl__cli_text(cli, PAWL__CLI_OPT_EXPIRES);
    if (expires && pawl__duration_parse(expires, &out->expires_in_ms)) {
        out->expires_at_ms = pawl__cli_int(cli, PAWL__CLI_OPT_EXPIRES);
    }
    if (pawl__cli_flag(cli, PAWL__CLI_OPT_NO_JITTER)) out->retry.jitter = PAWL_JITTER_OFF;
    if (pawl__cli_flag(cli, PAWL__CLI_OPT_DEAD_LETTER)) {
        out->retry.on_exhaustion = PAWL_EXHAUSTION_DEAD_LETTER;
    }
    code = read_follow(cli, PAWL__CLI_OPT_ON_SUCCESS, &out->on_success);
    if (!code) code = read_follow(cli, PAWL__CLI_OPT_ON_FAILURE, &out->on_failure);
    return code ? code : finish_unique(&out->unique);
}
