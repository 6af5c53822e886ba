/* The options of submit as a job to be. */
#include "cli/cli.h"
#include "base/json.h"
#include "base/time_text.h"

#include <assert.h>
#include <strings.h>

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

/* ---- retry, unique ---- */

enum pawl_backoff pawl__cli_backoff_of(const char *text)
{
#define X(number, name, word, ...)                                                                 \
    if (strcasecmp(text, word) == 0) return PAWL_BACKOFF_##name;
    PAWL_BACKOFFS(X)
#undef X
    return PAWL_BACKOFF_DEFAULT;
}

enum pawl_conflict pawl__cli_conflict_of(const char *text)
{
#define X(number, name, word)                                                                      \
    if (strcasecmp(text, word) == 0) return PAWL_CONFLICT_##name;
    PAWL_CONFLICTS(X)
#undef X
    return PAWL_CONFLICT_DEFAULT;
}

static void read_retry(const struct pawl__cli *cli, struct pawl_retry *out)
{
    if (pawl__cli_has(cli, PAWL__CLI_OPT_MAX_ATTEMPTS)) {
        out->attempts_max = (int32_t)pawl__cli_int(cli, PAWL__CLI_OPT_MAX_ATTEMPTS);
    }
    if (pawl__cli_has(cli, PAWL__CLI_OPT_RETRY_INITIAL)) {
        out->initial_ms = pawl__cli_duration(cli, PAWL__CLI_OPT_RETRY_INITIAL);
    }
    if (pawl__cli_has(cli, PAWL__CLI_OPT_RETRY_FACTOR)) {
        bool ok = pawl__cli_read_factor(pawl__cli_text(cli, PAWL__CLI_OPT_RETRY_FACTOR),
                                        &out->coefficient);
        assert(ok);
    }
    if (pawl__cli_has(cli, PAWL__CLI_OPT_RETRY_MAX)) {
        out->cap_ms = pawl__cli_duration(cli, PAWL__CLI_OPT_RETRY_MAX);
    }
    if (pawl__cli_has(cli, PAWL__CLI_OPT_RETRY_BACKOFF)) {
        out->backoff = pawl__cli_backoff_of(pawl__cli_text(cli, PAWL__CLI_OPT_RETRY_BACKOFF));
    }
    if (pawl__cli_flag(cli, PAWL__CLI_OPT_NO_JITTER)) out->jitter = PAWL_JITTER_OFF;
    if (pawl__cli_flag(cli, PAWL__CLI_OPT_DEAD_LETTER)) {
        out->on_exhaustion = PAWL_EXHAUSTION_DEAD_LETTER;
    }
    out->non_retryable = cli->values[PAWL__CLI_OPT_NON_RETRYABLE].at;
    out->non_retryable_count = cli->values[PAWL__CLI_OPT_NON_RETRYABLE].count;
}

static uint32_t unique_keys(struct pawl__cli *cli)
{
    static const uint32_t bits[] = { PAWL_UNIQUE_TYPE, PAWL_UNIQUE_QUEUE, PAWL_UNIQUE_ARGS,
                                     PAWL_UNIQUE_META };
    const char *const *choices = pawl__cli_kind_choices(PAWL__CLI_KIND_UNIQUE);
    uint32_t keys = 0;
    size_t count;
    const char *const *names =
        pawl__cli_names(cli, pawl__cli_text(cli, PAWL__CLI_OPT_UNIQUE), &count);
    for (size_t i = 0; i < count; i++) {
        keys |= bits[pawl__cli_read_choice(choices, names[i], strlen(names[i]))];
    }
    return keys;
}

static int read_unique(struct pawl__cli *cli, struct pawl_unique *out)
{
    out->keys = unique_keys(cli);
    out->args_keys =
        pawl__cli_names(cli, pawl__cli_text(cli, PAWL__CLI_OPT_UNIQUE_ARGS), &out->args_key_count);
    out->meta_keys =
        pawl__cli_names(cli, pawl__cli_text(cli, PAWL__CLI_OPT_UNIQUE_META), &out->meta_key_count);
    if (out->args_key_count) out->keys |= PAWL_UNIQUE_TYPE | PAWL_UNIQUE_ARGS;
    if (out->meta_key_count) out->keys |= PAWL_UNIQUE_TYPE | PAWL_UNIQUE_META;
    out->period_ms = pawl__cli_duration(cli, PAWL__CLI_OPT_UNIQUE_PERIOD);
    int code = pawl__cli_states(cli, PAWL__CLI_OPT_UNIQUE_STATES, &out->states);
    if (code) return code;
    bool conflict = pawl__cli_has(cli, PAWL__CLI_OPT_ON_CONFLICT);
    if (conflict)
        out->on_conflict = pawl__cli_conflict_of(pawl__cli_text(cli, PAWL__CLI_OPT_ON_CONFLICT));
    if (!out->keys && (conflict || out->period_ms || out->states)) {
        pawl__cli_error("--on-conflict, --unique-period and --unique-states need --unique");
        pawl__cli_hint("add \"--unique type,args\" or the like");
        return PAWL__CLI_EXIT_USAGE;
    }
    return PAWL__CLI_EXIT_OK;
}

/* ---- times ---- */

static int read_times(struct pawl__cli *cli, struct pawl_job_spec *out)
{
    if (pawl__cli_has(cli, PAWL__CLI_OPT_DELAY) && pawl__cli_has(cli, PAWL__CLI_OPT_AT)) {
        return pawl__cli_usage("\"--delay\" and \"--at\" cannot both be given");
    }
    out->delay_ms = pawl__cli_duration(cli, PAWL__CLI_OPT_DELAY);
    out->due_at_ms = pawl__cli_when(cli, PAWL__CLI_OPT_AT, 1);
    const char *expires = pawl__cli_text(cli, PAWL__CLI_OPT_EXPIRES);
    if (expires && pawl__duration_parse(expires, &out->expires_in_ms)) {
        out->expires_at_ms = pawl__cli_when(cli, PAWL__CLI_OPT_EXPIRES, 1);
    }
    out->timeout_ms = pawl__cli_duration(cli, PAWL__CLI_OPT_TIMEOUT);
    out->lease_ms = pawl__cli_duration(cli, PAWL__CLI_OPT_LEASE);
    out->keep_ms = pawl__cli_duration(cli, PAWL__CLI_OPT_KEEP);
    out->sla_soft_at_ms = pawl__cli_when(cli, PAWL__CLI_OPT_SOFT_SLA, 1);
    out->sla_hard_at_ms = pawl__cli_when(cli, PAWL__CLI_OPT_HARD_SLA, 1);
    return PAWL__CLI_EXIT_OK;
}

static int read_keys(struct pawl__cli *cli, struct pawl_job_spec *out)
{
    out->idempotency_key = pawl__cli_text(cli, PAWL__CLI_OPT_KEY);
    out->idempotency_ms = pawl__cli_duration(cli, PAWL__CLI_OPT_KEY_TTL);
    out->business_key = pawl__cli_text(cli, PAWL__CLI_OPT_BUSINESS_KEY);
    return read_unique(cli, &out->unique);
}

int pawl__cli_spec(struct pawl__cli *cli, struct pawl_job_spec *out)
{
    *out = (struct pawl_job_spec){
        .queue = pawl__cli_text(cli, PAWL__CLI_OPT_QUEUE),
        .tags = cli->values[PAWL__CLI_OPT_TAG].at,
        .tag_count = cli->values[PAWL__CLI_OPT_TAG].count,
        .priority = (int32_t)pawl__cli_int(cli, PAWL__CLI_OPT_PRIORITY),
        .principal = pawl__cli_text(cli, PAWL__CLI_OPT_PRINCIPAL),
        .trace_id = pawl__cli_text(cli, PAWL__CLI_OPT_TRACE),
        .pending = pawl__cli_flag(cli, PAWL__CLI_OPT_PENDING),
    };
    const char *id = pawl__cli_text(cli, PAWL__CLI_OPT_ID);
    if (id) {
        struct pawl_job_id *parsed =
            pawl__cli_need(pawl__arena_alloc(&cli->arena, sizeof(*parsed)));
        enum pawl_err err = pawl_job_id_parse(id, parsed);
        assert(!err);
        out->id = parsed;
    }
    read_retry(cli, &out->retry);
    int code = read_meta(cli, &out->meta);
    if (!code) code = read_times(cli, out);
    if (!code) code = read_keys(cli, out);
    return code;
}
