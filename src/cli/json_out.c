/* JSON for programs. Times are RFC 3339, durations end in _ms, what is not there is left out. */
#include "cli/cli.h"
#include "base/time_text.h"
#include "fields/fields.h"

#include <assert.h>
#include <math.h>

void pawl__cli_json_open(struct pawl__cli_json *json, struct pawl__buf *buf, char bracket)
{
    *json = (struct pawl__cli_json){ .buf = buf };
    pawl__buf_add(buf, &bracket, 1);
}

void pawl__cli_json_close(struct pawl__cli_json *json, char bracket)
{
    pawl__buf_add(json->buf, &bracket, 1);
}

void pawl__cli_json_name(struct pawl__cli_json *json, const char *name)
{
    if (json->some) pawl__buf_add(json->buf, ",", 1);
    json->some = true;
    if (!name) return;
    pawl__buf_add_json(json->buf, name, strlen(name));
    pawl__buf_add(json->buf, ":", 1);
}

void pawl__cli_json_text(struct pawl__cli_json *json, const char *name, const char *text)
{
    pawl__cli_json_name(json, name);
    pawl__buf_add_json(json->buf, text, strlen(text));
}

void pawl__cli_json_int(struct pawl__cli_json *json, const char *name, int64_t value)
{
    pawl__cli_json_name(json, name);
    pawl__buf_add_int(json->buf, value);
}

void pawl__cli_json_bool(struct pawl__cli_json *json, const char *name, bool value)
{
    pawl__cli_json_name(json, name);
    pawl__buf_add_text(json->buf, value ? "true" : "false");
}

void pawl__cli_json_number(struct pawl__cli_json *json, const char *name, double value)
{
    assert(isfinite(value));
    pawl__cli_json_name(json, name);
    pawl__buf_printf(json->buf, "%.6g", value); // only the character type of the locale is set
}

/* It was checked when it was stored, so quotes are all there is to look at. */
void pawl__cli_json_raw(struct pawl__cli_json *json, const char *name, struct pawl_span value)
{
    pawl__cli_json_name(json, name);
    bool quoted = false;
    size_t from = 0;
    for (size_t i = 0; i < value.len; i++) {
        char c = value.at[i];
        if (quoted && c == '\\') {
            i++;
        } else if (c == '"') {
            quoted = !quoted;
        } else if (!quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
            pawl__buf_add(json->buf, value.at + from, i - from);
            from = i + 1;
        }
    }
    if (value.len > from) pawl__buf_add(json->buf, value.at + from, value.len - from);
}

void pawl__cli_json_some_text(struct pawl__cli_json *json, const char *name, const char *text)
{
    if (text && *text) pawl__cli_json_text(json, name, text);
}

void pawl__cli_json_some_int(struct pawl__cli_json *json, const char *name, int64_t value)
{
    if (value) pawl__cli_json_int(json, name, value);
}

void pawl__cli_json_some_raw(struct pawl__cli_json *json, const char *name, struct pawl_span value)
{
    if (value.len) pawl__cli_json_raw(json, name, value);
}

void pawl__cli_json_instant(struct pawl__cli_json *json, const char *name, int64_t at_ms)
{
    char text[PAWL__INSTANT_TEXT_BYTES];
    if (!at_ms) return;
    pawl__instant_text(at_ms, text);
    pawl__cli_json_text(json, name, text);
}

void pawl__cli_json_state(const struct pawl__cli *cli, struct pawl__cli_json *json,
                          const char *name, enum pawl_state state)
{
    if (state != PAWL_STATE_NONE) {
        pawl__cli_json_text(json, name, pawl__cli_state_text(cli, state));
    }
}

static void put_id(struct pawl__cli_json *json, const char *name, struct pawl_job_id id)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    pawl__cli_json_text(json, name, text);
}

void pawl__cli_json_brief(const struct pawl__cli *cli, struct pawl__cli_json *json,
                          const struct pawl_job *job)
{
    put_id(json, "id", job->id);
    pawl__cli_json_text(json, "type", job->type);
    pawl__cli_json_text(json, "queue", job->queue);
    pawl__cli_json_text(json, "state", pawl__cli_state_text(cli, job->state));
    pawl__cli_json_int(json, "attempt", job->attempt);
}

static struct pawl_span or_else(struct pawl_span span, const char *text)
{
    return span.len ? span : (struct pawl_span){ text, strlen(text) };
}

/* What is empty or zero is left out. */
static void put_field(const struct pawl__cli *cli, struct pawl__cli_json *json,
                      const struct pawl_job *job, size_t i)
{
    const char *name = pawl__job_names[i];
    const void *at = (const char *)job + pawl__job_fields[i].offset;
    switch (pawl__job_fields[i].kind) {
    case PAWL__KIND_ID:
        put_id(json, name, *(const struct pawl_job_id *)at);
        break;
    case PAWL__KIND_TEXT:
        pawl__cli_json_some_text(json, name, *(const char *const *)at);
        break;
    case PAWL__KIND_JSON:
    case PAWL__KIND_ARGS:
    case PAWL__KIND_BYTES:
        pawl__cli_json_some_raw(json, name, *(const struct pawl_span *)at);
        break;
    case PAWL__KIND_I32:
    case PAWL__KIND_BITS:
        pawl__cli_json_some_int(json, name, *(const int32_t *)at);
        break;
    case PAWL__KIND_I64:
    case PAWL__KIND_MS:
        pawl__cli_json_some_int(json, name, *(const int64_t *)at);
        break;
    case PAWL__KIND_TIME:
    case PAWL__KIND_AT:
        pawl__cli_json_instant(json, name, *(const int64_t *)at);
        break;
    case PAWL__KIND_REAL:
        pawl__cli_json_number(json, name, *(const double *)at);
        break;
    case PAWL__KIND_BOOL:
        if (*(const bool *)at) pawl__cli_json_bool(json, name, true);
        break;
    case PAWL__KIND_STATE:
    case PAWL__KIND_SOME_STATE:
        pawl__cli_json_state(cli, json, name, *(const enum pawl_state *)at);
        break;
    case PAWL__KIND_END:
        break;
    }
}

void pawl__cli_json_job(const struct pawl__cli *cli, struct pawl__cli_json *json,
                        const struct pawl_job *job)
{
    // always there, and first
    static const bool done[PAWL__JOB_END] = {
        [PAWL__JOB_id] = true,       [PAWL__JOB_type] = true,    [PAWL__JOB_queue] = true,
        [PAWL__JOB_state] = true,    [PAWL__JOB_attempt] = true, [PAWL__JOB_attempts_max] = true,
        [PAWL__JOB_priority] = true, [PAWL__JOB_args] = true,    [PAWL__JOB_meta] = true,
        [PAWL__JOB_tags] = true,
    };
    pawl__cli_json_brief(cli, json, job);
    pawl__cli_json_int(json, "max_attempts", job->attempts_max);
    pawl__cli_json_int(json, "priority", job->priority);
    pawl__cli_json_raw(json, "args", or_else(job->args, "[]"));
    pawl__cli_json_raw(json, "meta", or_else(job->meta, "{}"));
    pawl__cli_json_raw(json, "tags", or_else(job->tags, "[]"));
    for (size_t i = 0; i < PAWL__JOB_END; i++) {
        if (!done[i] && *pawl__job_names[i]) put_field(cli, json, job, i);
    }
}
