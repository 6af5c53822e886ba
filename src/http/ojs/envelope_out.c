/* From a job to JSON.
 *
 * 1. What every job has comes first and is written straight from its columns.
 * 2. Then its extra members as they stand, but for names that are the server's own. Each known one
 *    that was written is remembered, and what is left is made from columns. So no name is written
 *    twice, whoever submitted the job.
 * 3. Nothing here asks for the time: the same job gives the same bytes. */
#include "http/ojs/envelope_out.h"

#include "base/time_text.h"
#include "http/ojs/envelope_fields.h"
#include "http/ojs/nack_details.h"

#include <string.h>

/* What replies with one job have beside its members: a client's own members of these names are told
 * only within "job". */
static const char *const reply_names[] = { "job", "deduplicated", "warnings" };
enum { REPLY_NAMES = sizeof reply_names / sizeof reply_names[0] };

/* Those that "metadata" repeats for operators; a job has some of them. */
#define TIMES                                                                                      \
    (PAWL__FIELD_BIT(PAWL__FIELD_CREATED_AT) | PAWL__FIELD_BIT(PAWL__FIELD_ENQUEUED_AT) |          \
     PAWL__FIELD_BIT(PAWL__FIELD_STARTED_AT) | PAWL__FIELD_BIT(PAWL__FIELD_SCHEDULED_AT) |         \
     PAWL__FIELD_BIT(PAWL__FIELD_COMPLETED_AT) | PAWL__FIELD_BIT(PAWL__FIELD_CANCELLED_AT) |       \
     PAWL__FIELD_BIT(PAWL__FIELD_DISCARDED_AT))
enum { TIMES_MAX = 7 };

struct printer {
    struct pawl__buf *out;
    const struct pawl_job *job;
    const struct pawl__envelope_more *more;
    uint64_t written; /* known members that came from the extra ones */
    struct {
        size_t from, to; /* in out: a member of a name that replies use themselves */
    } cuts[REPLY_NAMES];
    size_t cut_count;
    struct {
        size_t from, to; /* in out: a time, its name before it */
    } times[TIMES_MAX];
    size_t time_count;
};

/* ---- values ---- */

bool pawl__out_object(struct pawl__buf *out, struct pawl_span text, struct pawl__arena *arena,
                      struct pawl__json *json)
{
    enum pawl_err err = pawl__json_parse(text, PAWL_JSON_DEPTH_MAX, arena, json, NULL);
    if (err == PAWL_ERR_NOMEM) out->failed = true;
    return !err && json->tokens[0].type == PAWL__JSON_OBJECT;
}

const char *pawl__out_string(struct pawl__buf *out, const struct pawl__json *json, uint32_t token,
                             struct pawl__arena *arena)
{
    const char *text = pawl__json_string(json, token, arena, NULL);
    if (!text) out->failed = true;
    return text;
}

void pawl__out_instant(struct pawl__buf *out, int64_t at_ms)
{
    char text[PAWL__INSTANT_TEXT_BYTES + 2] = "\"";
    pawl__instant_text(at_ms, text + 1);
    size_t len = strlen(text);
    text[len++] = '"';
    pawl__buf_add(out, text, len);
}

static void add_name(struct printer *printer, enum pawl__field field)
{
    pawl__out(printer->out, ",\"");
    pawl__buf_add_text(printer->out, pawl__field_name(field));
    pawl__out(printer->out, "\":");
}

static void add_text(struct printer *printer, enum pawl__field field, const char *text)
{
    add_name(printer, field);
    pawl__buf_add_json(printer->out, text, strlen(text));
}

static void add_int(struct printer *printer, enum pawl__field field, int64_t value)
{
    add_name(printer, field);
    pawl__buf_add_int(printer->out, value);
}

/* A member has been written from `from` on. */
static void note_time(struct printer *printer, enum pawl__field field, size_t from)
{
    if (!(PAWL__FIELD_BIT(field) & TIMES) || printer->time_count == TIMES_MAX) return;
    printer->times[printer->time_count].from = from;
    printer->times[printer->time_count++].to = printer->out->len;
}

/* 0: not shown. */
static void add_instant(struct printer *printer, enum pawl__field field, int64_t at_ms)
{
    size_t from = printer->out->len;
    if (at_ms == 0) return;
    add_name(printer, field);
    pawl__out_instant(printer->out, at_ms);
    note_time(printer, field, from);
}

static void add_span(struct printer *printer, enum pawl__field field, struct pawl_span span)
{
    size_t from = printer->out->len;
    add_name(printer, field);
    pawl__buf_add(printer->out, span.at, span.len);
    note_time(printer, field, from);
}

static bool is_written(const struct printer *printer, enum pawl__field field)
{
    return printer->written & PAWL__FIELD_BIT(field);
}

/* ---- failures ---- */

/* What a limit in time adds to an error. */
static void add_timeout_details(struct pawl__buf *out, struct pawl_span details)
{
    static const char *const names[] = { "timeout_kind", "limit_seconds", "elapsed_seconds" };
    struct pawl__arena arena = { 0 };
    struct pawl__json json;
    if (pawl__out_object(out, details, &arena, &json)) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            uint32_t token = pawl__json_member(&json, 0, names[i]);
            if (!token) continue;
            struct pawl_span value = pawl__json_span(&json, token);
            pawl__out(out, ",\"");
            pawl__buf_add_text(out, names[i]);
            pawl__out(out, "\":");
            pawl__buf_add(out, value.at, value.len);
        }
    }
    pawl__arena_release(&arena);
}

/* The first member of details that begin with a backtrace is the failure's own; the rest are its
 * details. */
static void add_details(struct pawl__buf *out, struct pawl_span details)
{
    size_t prefix = strlen(PAWL__BACKTRACE_MEMBER);
    struct pawl__arena arena = { 0 };
    struct pawl__json json;
    struct pawl_span value = { NULL, 0 };
    if (details.len > prefix && memcmp(details.at, PAWL__BACKTRACE_MEMBER, prefix) == 0 &&
        pawl__out_object(out, details, &arena, &json)) {
        value = pawl__json_span(&json, pawl__json_first(0) + 1);
    }
    if (value.len && strchr(",}", value.at[value.len])) { // as we write it
        pawl__out(out, ",\"backtrace\":");
        pawl__buf_add(out, value.at, value.len);
        const char *rest = value.at + value.len + 1; // behind the comma, or the object's end
        if (json.tokens[0].count > 1) {
            pawl__out(out, ",\"details\":{");
            pawl__buf_add(out, rest, (size_t)(details.at + details.len - rest));
        }
    } else {
        pawl__out(out, ",\"details\":");
        pawl__buf_add(out, details.at, details.len);
    }
    pawl__arena_release(&arena);
}

/* OJS calls a lease that ran out a visibility timeout. */
static const char *name_of(const char *type)
{
    return strcmp(type, "lease_lapsed") == 0 ? "visibility_timeout" : type;
}

void pawl__failure_print(struct pawl__buf *out, const struct pawl_failure *failure)
{
    const char *type = failure->type[0] ? failure->type : failure->code;
    const char *code = failure->code[0] ? failure->code : failure->type;
    type = name_of(type[0] ? type : "handler_error");
    code = name_of(code[0] ? code : "handler_error");
    pawl__out(out, "{\"code\":");
    pawl__buf_add_json(out, code, strlen(code));
    pawl__out(out, ",\"message\":");
    pawl__buf_add_json(out, failure->message, strlen(failure->message));
    pawl__out(out, ",\"type\":");
    pawl__buf_add_json(out, type, strlen(type));
    pawl__out(out, ",\"attempt\":");
    pawl__buf_add_int(out, failure->attempt);
    pawl__out(out, ",\"occurred_at\":");
    pawl__out_instant(out, failure->failed_at_ms);
    if (failure->details.len) {
        add_details(out, failure->details);
        if (strcmp(code, "timeout") == 0) add_timeout_details(out, failure->details);
    }
    pawl__out(out, "}");
}

/* Those of the present series: reviving a job starts another. */
static size_t first_failure(const struct printer *printer)
{
    const struct pawl__envelope_more *more = printer->more;
    int64_t before = printer->job->run - printer->job->attempt;
    size_t first = 0;
    while (first < more->failure_count && more->failures[first].run <= before) {
        first++;
    }
    return first;
}

/* Nobody reports it: time ended the job. */
static void add_expiry(struct printer *printer)
{
    const struct pawl_job *job = printer->job;
    struct pawl_failure expiry = { .attempt = job->attempt,
                                   .code = "expired",
                                   .type = "expired",
                                   .message = "the job expired before it could complete",
                                   .failed_at_ms = job->finished_at_ms };
    add_name(printer, PAWL__FIELD_ERROR);
    pawl__failure_print(printer->out, &expiry);
}

static void add_failures(struct printer *printer)
{
    const struct pawl__envelope_more *more = printer->more;
    enum pawl_state state = printer->job->state;
    size_t first = first_failure(printer);
    if (first == more->failure_count) {
        if (more->admin) add_span(printer, PAWL__FIELD_ERRORS, (struct pawl_span){ "[]", 2 });
        return;
    }
    const struct pawl_failure *last = &more->failures[more->failure_count - 1];
    if (!pawl_state_is_successful(state) && state != PAWL_STATE_EXPIRED) {
        add_name(printer, PAWL__FIELD_ERROR);
        pawl__failure_print(printer->out, last);
    }
    add_name(printer, PAWL__FIELD_ERRORS);
    for (size_t i = first; i < more->failure_count; i++) {
        pawl__buf_add(printer->out, i > first ? "," : "[", 1);
        pawl__failure_print(printer->out, &more->failures[i]);
    }
    pawl__out(printer->out, "]");
    if (last->retry_delay_ms >= 0 && !pawl_state_is_terminal(state)) {
        add_int(printer, PAWL__FIELD_RETRY_DELAY_MS, last->retry_delay_ms);
    }
}

/* ---- when ---- */

/* Is due_at_ms still what the job was submitted with? A retry moves it into the future, and what
 * waits to run again has no started_at_ms. */
static bool due_is_first(const struct pawl_job *job)
{
    return job->run == 0 || (job->run == 1 && job->started_at_ms >= job->due_at_ms);
}

/* When the client wanted it first; 0: it did not say. */
static int64_t wanted_at(struct printer *printer)
{
    static const char *const names[] = { "scheduled_at", "delay_until" };
    struct pawl__arena arena = { 0 };
    struct pawl__json json;
    int64_t at_ms = 0;
    if (printer->job->extra.len &&
        pawl__out_object(printer->out, printer->job->extra, &arena, &json)) {
        for (size_t i = 0; i < sizeof names / sizeof *names && !at_ms; i++) {
            uint32_t token = pawl__json_member(&json, 0, names[i]);
            if (!token || json.tokens[token].type != PAWL__JSON_STRING) continue;
            const char *text = pawl__out_string(printer->out, &json, token, &arena);
            if (!text || pawl__instant_parse(text, &at_ms)) at_ms = 0;
        }
    }
    pawl__arena_release(&arena);
    return at_ms;
}

/* When it became available: the last time if the columns tell, else the first time; 0: it never
 * was. */
static int64_t enqueued_at(struct printer *printer)
{
    const struct pawl_job *job = printer->job;
    enum pawl_state state = job->state == PAWL_STATE_PAUSED ? job->paused_from : job->state;
    int64_t due_ms = job->due_at_ms > job->created_at_ms ? job->due_at_ms : job->created_at_ms;
    if (job->run == 0) {
        if (state == PAWL_STATE_SCHEDULED || state == PAWL_STATE_PENDING) return 0;
        return job->finished_at_ms && job->finished_at_ms < due_ms ? 0 : due_ms;
    }
    if (state == PAWL_STATE_AVAILABLE || job->started_at_ms >= due_ms) return due_ms;
    // It waits to run again, or ended while it did: due_at_ms lies ahead.
    int64_t wanted_ms = wanted_at(printer);
    return wanted_ms > job->created_at_ms ? wanted_ms : job->created_at_ms;
}

static int64_t started_at(const struct printer *printer)
{
    const struct pawl__envelope_more *more = printer->more;
    if (printer->job->started_at_ms || !more || more->failure_count == 0) {
        return printer->job->started_at_ms;
    }
    if (first_failure(printer) == more->failure_count) return 0;
    return more->failures[more->failure_count - 1].started_at_ms;
}

static void add_ends(struct printer *printer)
{
    const struct pawl_job *job = printer->job;
    switch (job->state) {
    case PAWL_STATE_COMPLETED:
    case PAWL_STATE_SKIPPED:
        add_instant(printer, PAWL__FIELD_COMPLETED_AT, job->finished_at_ms);
        break;
    case PAWL_STATE_CANCELLED:
        add_instant(printer, PAWL__FIELD_CANCELLED_AT, job->finished_at_ms);
        break;
    case PAWL_STATE_DISCARDED:
    case PAWL_STATE_EXPIRED:
        // What expires before it ran has completed nothing.
        if (job->attempt > 0) {
            add_instant(printer, PAWL__FIELD_COMPLETED_AT, job->finished_at_ms);
        }
        add_instant(printer, PAWL__FIELD_DISCARDED_AT, job->finished_at_ms);
        break;
    default:
        break;
    }
}

/* ---- extra members ---- */

/* A job that replaced another may have taken over its schedule: then the text it came with is not
 * true. */
static bool says_when(struct printer *printer, const struct pawl__json *json, uint32_t token,
                      struct pawl__arena *arena)
{
    const struct pawl_job *job = printer->job;
    int64_t at_ms;
    if (job->state != PAWL_STATE_SCHEDULED || job->run > 0) return true;
    if (json->tokens[token].type != PAWL__JSON_STRING) return false;
    const char *text = pawl__out_string(printer->out, json, token, arena);
    return text && pawl__instant_parse(text, &at_ms) == PAWL_OK && at_ms == job->due_at_ms;
}

static void add_unknown(struct printer *printer, const char *text, struct pawl_span name,
                        struct pawl_span value)
{
    size_t from = printer->out->len;
    pawl__out(printer->out, ",");
    pawl__buf_add(printer->out, name.at, name.len);
    pawl__out(printer->out, ":");
    pawl__buf_add(printer->out, value.at, value.len);
    for (size_t i = 0; i < REPLY_NAMES; i++) {
        if (strcmp(text, reply_names[i]) != 0 || printer->cut_count == REPLY_NAMES) continue;
        printer->cuts[printer->cut_count].from = from;
        printer->cuts[printer->cut_count++].to = printer->out->len;
    }
}

static void add_extra_member(struct printer *printer, const struct pawl__json *json, uint32_t name,
                             struct pawl__arena *arena)
{
    const char *text = pawl__out_string(printer->out, json, name, arena);
    if (!text) return;
    struct pawl_span value = pawl__json_span(json, name + 1);
    enum pawl__field field = pawl__field_find(text, json->tokens[name].count);
    if (!field) {
        add_unknown(printer, text, pawl__json_span(json, name), value);
        return;
    }
    if (!(pawl__field_flags(field) & PAWL__FIELD_KEPT)) return;
    if (field == PAWL__FIELD_METADATA && printer->more && printer->more->admin) return;
    if (field == PAWL__FIELD_SCHEDULED_AT && !says_when(printer, json, name + 1, arena)) {
        return;
    }
    printer->written |= PAWL__FIELD_BIT(field);
    add_span(printer, field, value);
}

/* OJS replies call it scheduled_at, whatever the request did. */
static void add_delay_as_schedule(struct printer *printer, const struct pawl__json *json,
                                  struct pawl__arena *arena)
{
    if (!is_written(printer, PAWL__FIELD_DELAY_UNTIL)) return;
    if (is_written(printer, PAWL__FIELD_SCHEDULED_AT)) return;
    uint32_t token = pawl__json_member(json, 0, "delay_until");
    if (!token || !says_when(printer, json, token, arena)) return;
    printer->written |= PAWL__FIELD_BIT(PAWL__FIELD_SCHEDULED_AT);
    add_span(printer, PAWL__FIELD_SCHEDULED_AT, pawl__json_span(json, token));
}

static void add_extra(struct printer *printer)
{
    struct pawl__arena arena = { 0 };
    struct pawl__json json;
    if (pawl__out_object(printer->out, printer->job->extra, &arena, &json)) {
        uint32_t name = pawl__json_first(0);
        for (uint32_t left = json.tokens[0].count; left > 0; left--) {
            add_extra_member(printer, &json, name, &arena);
            name = json.tokens[name + 1].next;
        }
        add_delay_as_schedule(printer, &json, &arena);
    }
    pawl__arena_release(&arena);
}

/* ---- columns ---- */

static void add_limits(struct printer *printer)
{
    const struct pawl_job *job = printer->job;
    // With a grace period the column holds more than the timeout.
    if (job->timeout_ms > 0 && job->timeout_ms != PAWL__OJS_TIMEOUT_MS &&
        !is_written(printer, PAWL__FIELD_TIMEOUT_MS) &&
        !is_written(printer, PAWL__FIELD_GRACE_PERIOD)) {
        add_int(printer, PAWL__FIELD_TIMEOUT_MS, job->timeout_ms);
    }
    if (job->lease_ms > 0 && !is_written(printer, PAWL__FIELD_VISIBILITY_TIMEOUT_MS)) {
        add_int(printer, PAWL__FIELD_VISIBILITY_TIMEOUT_MS, job->lease_ms);
    }
}

static void add_columns(struct printer *printer)
{
    const struct pawl_job *job = printer->job;
    if (!is_written(printer, PAWL__FIELD_SCHEDULED_AT) && due_is_first(job) &&
        job->due_at_ms > job->created_at_ms) {
        add_instant(printer, PAWL__FIELD_SCHEDULED_AT, job->due_at_ms);
    }
    if (!is_written(printer, PAWL__FIELD_EXPIRES_AT)) {
        add_instant(printer, PAWL__FIELD_EXPIRES_AT, job->expires_at_ms);
    }
    if (job->tags.len && !is_written(printer, PAWL__FIELD_TAGS)) {
        add_span(printer, PAWL__FIELD_TAGS, job->tags);
    }
    if (job->retry.len && !is_written(printer, PAWL__FIELD_RETRY)) {
        add_name(printer, PAWL__FIELD_RETRY);
        pawl__out_retry(printer->out, job->retry);
    }
    if (job->unique.len && !is_written(printer, PAWL__FIELD_UNIQUE)) {
        add_name(printer, PAWL__FIELD_UNIQUE);
        pawl__out_unique(printer->out, job->unique);
    }
    add_limits(printer);
}

/* What happened when, once more. */
static void add_times(struct printer *printer)
{
    add_name(printer, PAWL__FIELD_METADATA);
    pawl__out(printer->out, "{");
    for (size_t i = 0; i < printer->time_count; i++) {
        size_t from = printer->times[i].from + (i == 0); // without the first comma
        pawl__buf_add_again(printer->out, from, printer->times[i].to);
    }
    pawl__out(printer->out, "}");
}

/* ---- the job ---- */

int64_t pawl__envelope_attempts_max(const struct pawl_job *job)
{
    return job->attempts_max + job->free_runs;
}

/* A list may have no room for them. */
static void add_args(struct printer *printer)
{
    struct pawl_span args = printer->job->args;
    if (printer->job->brief) {
        pawl__out(printer->out, ",\"args_omitted\":true");
    } else {
        add_span(printer, PAWL__FIELD_ARGS, args.len ? args : (struct pawl_span){ "[]", 2 });
    }
}

static void add_always(struct printer *printer)
{
    const struct pawl_job *job = printer->job;
    struct pawl__buf *out = printer->out;
    char id[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(job->id, id);
    pawl__out(out, "{\"specversion\":\"1.0\",\"id\":\"");
    pawl__buf_add(out, id, sizeof id - 1);
    pawl__out(out, "\"");
    add_text(printer, PAWL__FIELD_TYPE, job->type);
    add_text(printer, PAWL__FIELD_QUEUE, job->queue);
    add_args(printer);
    add_span(printer, PAWL__FIELD_META, job->meta.len ? job->meta : (struct pawl_span){ "{}", 2 });
    add_int(printer, PAWL__FIELD_PRIORITY, job->priority);
    add_text(printer, PAWL__FIELD_STATE, pawl_state_name(job->state, PAWL_VOCABULARY_OJS));
    add_int(printer, PAWL__FIELD_ATTEMPT, job->attempt);
    add_int(printer, PAWL__FIELD_MAX_ATTEMPTS, pawl__envelope_attempts_max(job));
    add_instant(printer, PAWL__FIELD_CREATED_AT, job->created_at_ms);
    add_instant(printer, PAWL__FIELD_ENQUEUED_AT, enqueued_at(printer));
    add_instant(printer, PAWL__FIELD_STARTED_AT, started_at(printer));
}

static void add_more(struct printer *printer)
{
    const struct pawl__envelope_more *more = printer->more;
    add_failures(printer);
    if (more->checkpoint_sequence > 0) {
        add_name(printer, PAWL__FIELD_CHECKPOINT);
        pawl__buf_add_text(printer->out,
                           more->checkpoint.len ? "{\"state\":" : "{\"state_omitted\":true");
        pawl__buf_add(printer->out, more->checkpoint.at, more->checkpoint.len);
        pawl__out(printer->out, ",\"sequence\":");
        pawl__buf_add_int(printer->out, more->checkpoint_sequence);
        pawl__out(printer->out, "}");
    }
    if (more->previous_state) {
        add_text(printer, PAWL__FIELD_PREVIOUS_STATE,
                 pawl_state_name(more->previous_state, PAWL_VOCABULARY_OJS));
    }
}

static void print(struct printer *printer)
{
    const struct pawl_job *job = printer->job;
    add_always(printer);
    add_ends(printer);
    if (job->state == PAWL_STATE_RETRYABLE) {
        add_instant(printer, PAWL__FIELD_NEXT_RETRY_AT, job->due_at_ms);
    }
    if (job->state == PAWL_STATE_COMPLETED && job->result.len) {
        add_span(printer, PAWL__FIELD_RESULT, job->result);
    }
    if (job->state == PAWL_STATE_EXPIRED) add_expiry(printer);
    if (printer->more) add_more(printer);
    if (job->extra.len) add_extra(printer);
    add_columns(printer);
    if (printer->more && printer->more->admin) add_times(printer);
    pawl__out(printer->out, "}");
}

void pawl__envelope_print(struct pawl__buf *out, const struct pawl_job *job,
                          const struct pawl__envelope_more *more)
{
    struct printer printer = { .out = out, .job = job, .more = more };
    print(&printer);
}

void pawl__envelope_print_twice(struct pawl__buf *out, const struct pawl_job *job,
                                const struct pawl__envelope_more *more)
{
    struct printer printer = { .out = out, .job = job, .more = more };
    pawl__out(out, "{\"job\":");
    size_t from = out->len + 1, to; // within the braces
    print(&printer);
    to = out->len - 1;
    pawl__out(out, ",");
    for (size_t i = 0; i < printer.cut_count; i++) {
        pawl__buf_add_again(out, from, printer.cuts[i].from);
        from = printer.cuts[i].to;
    }
    pawl__buf_add_again(out, from, to);
}
