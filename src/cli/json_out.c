/* JSON for programs. Times are RFC 3339, durations end in _ms, what is not there is left out. */
#include "cli/cli.h"
#include "base/time_text.h"

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

void pawl__cli_json_brief(const struct pawl__cli *cli, struct pawl__cli_json *json,
                          const struct pawl_job *job)
{
    char id[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(job->id, id);
    pawl__cli_json_text(json, "id", id);
    pawl__cli_json_text(json, "type", job->type);
    pawl__cli_json_text(json, "queue", job->queue);
    pawl__cli_json_text(json, "state", pawl__cli_state_text(cli, job->state));
    pawl__cli_json_int(json, "attempt", job->attempt);
}

static struct pawl_span or_else(struct pawl_span span, const char *text)
{
    return span.len ? span : (struct pawl_span){ text, strlen(text) };
}

static void put_times(struct pawl__cli_json *json, const struct pawl_job *job)
{
    pawl__cli_json_instant(json, "created_at", job->created_at_ms);
    pawl__cli_json_instant(json, "due_at", job->due_at_ms);
    pawl__cli_json_instant(json, "expires_at", job->expires_at_ms);
    pawl__cli_json_instant(json, "started_at", job->started_at_ms);
    pawl__cli_json_instant(json, "lease_until", job->lease_until_ms);
    pawl__cli_json_instant(json, "finished_at", job->finished_at_ms);
    pawl__cli_json_instant(json, "sla_soft_at", job->sla_soft_at_ms);
    pawl__cli_json_instant(json, "sla_hard_at", job->sla_hard_at_ms);
    pawl__cli_json_some_int(json, "timeout_ms", job->timeout_ms);
    pawl__cli_json_some_int(json, "lease_ms", job->lease_ms);
    pawl__cli_json_some_int(json, "keep_ms", job->keep_ms);
}

void pawl__cli_json_job(const struct pawl__cli *cli, struct pawl__cli_json *json,
                        const struct pawl_job *job)
{
    pawl__cli_json_brief(cli, json, job);
    pawl__cli_json_int(json, "max_attempts", job->attempts_max);
    pawl__cli_json_int(json, "priority", job->priority);
    pawl__cli_json_raw(json, "args", or_else(job->args, "[]"));
    pawl__cli_json_raw(json, "meta", or_else(job->meta, "{}"));
    pawl__cli_json_raw(json, "tags", or_else(job->tags, "[]"));
    put_times(json, job);
    pawl__cli_json_state(cli, json, "paused_from", job->paused_from);
    pawl__cli_json_some_int(json, "run", job->run);
    pawl__cli_json_some_int(json, "free_runs", job->free_runs);
    pawl__cli_json_some_text(json, "worker", job->worker);
    pawl__cli_json_some_text(json, "reason", job->reason);
    pawl__cli_json_some_text(json, "idempotency_key", job->idempotency_key);
    pawl__cli_json_some_text(json, "business_key", job->business_key);
    pawl__cli_json_some_text(json, "principal", job->principal);
    pawl__cli_json_some_text(json, "trace_id", job->trace_id);
    pawl__cli_json_some_raw(json, "retry", job->retry);
    pawl__cli_json_some_raw(json, "unique", job->unique);
    pawl__cli_json_some_raw(json, "result", job->result);
    pawl__cli_json_some_raw(json, "extra", job->extra);
    if (job->dead_letter) pawl__cli_json_bool(json, "dead_letter", true);
    if (job->archived) pawl__cli_json_bool(json, "archived", true);
}
