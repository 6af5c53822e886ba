/* From a job to JSON.
 *
 * 1. The members that every job has come first, from its columns. Then follow its extra members as
 *    they are, except under names that the server sets. Known members that were not among them are
 *    made from columns. So no name is printed twice, whoever submitted the job.
 * 2. Nothing here reads the clock: the same job is always printed as the same bytes. */
#include "http/ojs/shapes.h"

#include "base/time_text.h"
#include "http/ojs/envelope_fields.h"
#include "http/ojs/nack_details.h"
#include "http/ojs/policies.h"

#include <string.h>

/* Replies with one job repeat its members beside these of their own: an extra member of such a name
 * is only in "job". */
static const char *const reply_names[] = { "job", "deduplicated", "warnings" };
enum { REPLY_NAMES = sizeof reply_names / sizeof reply_names[0] };

/* The values of the members; what is zero or empty is left out. */
struct view {
    const char *specversion, *type, *queue;
    struct pawl_job_id id;
    struct pawl_span args, meta, result;
    bool args_omitted;
    enum pawl_state state, previous_state;
    const char *hold;
    int64_t priority, attempt, max_attempts;
    struct {
        int64_t created, enqueued, started, completed, cancelled, discarded, scheduled;
        struct pawl_span scheduled_text; /* instead, as the client wrote it */
    } at_ms;
    int64_t next_retry_at_ms, retry_delay_ms, expires_at_ms, timeout_ms, lease_ms;
    const struct pawl_failure *error;
    const struct pawl_failure *errors; /* NULL: no list */
    size_t error_count;
    struct {
        struct pawl_span state;
        bool state_omitted;
        int64_t sequence;
    } checkpoint;
    struct pawl_job_id workflow;
    bool has_parents;
    const struct pawl_flow_inputs *parents;
    struct {
        int64_t count, bytes;
    } omitted; /* of their results */
    struct pawl_span tags, on_success, on_failure;
    bool has_retry, has_unique, has_times;
    struct pawl_retry retry;
    struct pawl_unique unique;
};

struct printer {
    struct pawl__shape_writer writer;
    struct pawl__buf *out;
    const struct pawl_job *job;
    const struct pawl__envelope_more *more;
    struct view view;
    struct pawl__arena arena;
    uint64_t printed; /* known members that came from the extra ones */
    struct {
        size_t from, to; /* in out: a member of a name that replies use themselves */
    } cuts[REPLY_NAMES];
    size_t cut_count;
};

/* ---- failures ---- */

struct failure {
    const char *code, *message, *type;
    int64_t attempt, occurred_at_ms;
    struct pawl_span backtrace, details;
    bool details_cut; /* the object's opening brace is missing */
    struct pawl_span timeout_kind, limit_seconds, elapsed_seconds;
};

static void print_details(const struct pawl__shape_writer *writer,
                          const struct pawl__member *member, const void *base)
{
    const struct failure *failure = base;
    if (failure->details_cut) pawl__buf_add(writer->out, "{", 1);
    if (failure->details.len) pawl__buf_add(writer->out, failure->details.at, failure->details.len);
}

#define S struct failure
static const struct pawl__member failure_members[] = {
    PAWL__MEMBER("code", NAME, S, code, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("message", NAME, S, message, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("type", NAME, S, type, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("attempt", INT64, S, attempt, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("occurred_at", INSTANT, S, occurred_at_ms, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("backtrace", ARRAY, S, backtrace),
    PAWL__WHOLE("details", OWN, .print = print_details),
    PAWL__MEMBER("timeout_kind", JSON, S, timeout_kind),
    PAWL__MEMBER("limit_seconds", JSON, S, limit_seconds),
    PAWL__MEMBER("elapsed_seconds", JSON, S, elapsed_seconds),
};
const struct pawl__shape pawl__ojs_failure_shape = {
    .members = failure_members, .count = sizeof failure_members / sizeof *failure_members
};
#undef S

static struct pawl_span member_of(const struct pawl__json *json, const char *name)
{
    uint32_t token = pawl__json_member(json, 0, name);
    return token ? pawl__json_span(json, token) : (struct pawl_span){ "", 0 };
}

/* Sets `failed` if there is no memory. A backtrace is the first member of the stored details, in
 * exactly the form that nack_details.c gives it; the others are the failure's details. A timeout
 * repeats some of its details. */
static void split_details(struct pawl_span details, struct pawl__arena *arena, struct failure *out,
                          bool *failed)
{
    static const char begin[] = PAWL__BACKTRACE_MEMBER;
    struct pawl__json json;
    bool traced = details.len > sizeof begin && memcmp(details.at, begin, sizeof begin - 1) == 0;
    bool timeout = strcmp(out->code, "timeout") == 0;
    out->details = details;
    if (!traced && !timeout) return;
    enum pawl_err err = pawl__json_parse(details, PAWL_JSON_DEPTH_MAX, arena, &json, NULL);
    *failed |= err == PAWL_ERR_NOMEM;
    if (err || json.tokens[0].type != PAWL__JSON_OBJECT) return;
    if (timeout) {
        out->timeout_kind = member_of(&json, "timeout_kind");
        out->limit_seconds = member_of(&json, "limit_seconds");
        out->elapsed_seconds = member_of(&json, "elapsed_seconds");
    }
    struct pawl_span value = traced ? pawl__json_span(&json, pawl__json_first(0) + 1)
                                    : (struct pawl_span){ "", 0 };
    if (!value.len || !strchr(",}", value.at[value.len])) return; // not printed by us
    out->backtrace = value;
    size_t skip = (size_t)(value.at - details.at) + value.len + 1;
    out->details_cut = json.tokens[0].count > 1;
    out->details = out->details_cut ? (struct pawl_span){ details.at + skip, details.len - skip }
                                    : (struct pawl_span){ "", 0 };
}

/* OJS calls a lapsed lease a visibility timeout. */
static const char *name_of(const char *type)
{
    return strcmp(type, "lease_lapsed") == 0 ? "visibility_timeout" : type;
}

void pawl__failure_print(struct pawl__buf *out, const struct pawl_failure *failure)
{
    struct pawl__arena arena = { 0 };
    const char *type = failure->type[0] ? failure->type : failure->code;
    const char *code = failure->code[0] ? failure->code : failure->type;
    struct failure view = { .code = name_of(code[0] ? code : "handler_error"),
                            .message = failure->message,
                            .type = name_of(type[0] ? type : "handler_error"),
                            .attempt = failure->attempt,
                            .occurred_at_ms = failure->failed_at_ms };
    if (failure->details.len) split_details(failure->details, &arena, &view, &out->failed);
    pawl__shape_print(&(struct pawl__shape_writer){ .out = out }, &pawl__ojs_failure_shape, &view);
    pawl__arena_release(&arena);
}

/* ---- the members ---- */

#define FN(name)                                                                                   \
    static void name(const struct pawl__shape_writer *writer, const struct pawl__member *member,   \
                     const void *base)

FN(print_error)
{
    pawl__failure_print(writer->out, ((const struct view *)base)->error);
}

FN(print_errors)
{
    const struct view *view = base;
    pawl__buf_add(writer->out, "[", 1);
    for (size_t i = 0; i < view->error_count; i++) {
        if (i) pawl__buf_add(writer->out, ",", 1);
        pawl__failure_print(writer->out, &view->errors[i]);
    }
    pawl__buf_add(writer->out, "]", 1);
}

/* In the order of the steps; null when they are left out, or could not be read. */
FN(print_parents)
{
    const struct view *view = base;
    if (!view->parents || view->parents->omitted_bytes) {
        pawl__buf_add_text(writer->out, "null");
        return;
    }
    pawl__buf_add(writer->out, "[", 1);
    for (size_t i = 0; i < view->parents->count; i++) {
        const struct pawl_span *result = &view->parents->at[i].result;
        if (i) pawl__buf_add(writer->out, ",", 1);
        pawl__buf_add(writer->out, result->at, result->len);
    }
    pawl__buf_add(writer->out, "]", 1);
}

#define S struct view
#define AS(text, kind, member, ...) PAWL__MEMBER(text, kind, S, member, __VA_ARGS__)
#define ALWAYS(text, kind, member) AS(text, kind, member, .flags = PAWL__ALWAYS)
#define SHAPE(array, from, until)                                                                  \
    {                                                                                              \
        .members = (array) + (from), .count = (until) - (from), .bytes = sizeof(S)                 \
    }
#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct pawl__member checkpoint_members[] = {
    AS("state", JSON, checkpoint.state),
    AS("state_omitted", BOOL, checkpoint.state_omitted),
    AS("sequence", INT64, checkpoint.sequence),
};
static const struct pawl__shape checkpoint_shape =
    SHAPE(checkpoint_members, 0, COUNT(checkpoint_members));

#define TIMES                                                                                      \
    AS("created_at", INSTANT, at_ms.created), AS("enqueued_at", INSTANT, at_ms.enqueued),          \
        AS("started_at", INSTANT, at_ms.started), AS("completed_at", INSTANT, at_ms.completed),    \
        AS("cancelled_at", INSTANT, at_ms.cancelled), AS("discarded_at", INSTANT, at_ms.discarded)

static const struct pawl__member omitted_members[] = {
    ALWAYS("count", INT64, omitted.count),
    ALWAYS("bytes", INT64, omitted.bytes),
};
static const struct pawl__shape omitted_shape = SHAPE(omitted_members, 0, COUNT(omitted_members));

/* When what happened, once more. */
static const struct pawl__member times_members[] = {
    TIMES,
    AS("scheduled_at", JSON, at_ms.scheduled_text),
    AS("scheduled_at", INSTANT, at_ms.scheduled),
};
static const struct pawl__shape times_shape = SHAPE(times_members, 0, COUNT(times_members));

static const struct pawl__member members[] = {
    ALWAYS("specversion", NAME, specversion),
    ALWAYS("id", ID, id),
    ALWAYS("type", NAME, type),
    ALWAYS("queue", NAME, queue),
    AS("args", JSON, args, .wire = PAWL__AS_ARRAY),
    AS("args_omitted", BOOL, args_omitted),
    ALWAYS("meta", OBJECT, meta),
    ALWAYS("priority", INT64, priority),
    AS("state", WORD, state, .words = &pawl__ojs_state_words, .flags = PAWL__ALWAYS),
    ALWAYS("attempt", INT64, attempt),
    ALWAYS("max_attempts", INT64, max_attempts),
    TIMES,
    AS("next_retry_at", INSTANT, next_retry_at_ms),
    AS("result", JSON, result),
    AS("error", OWN, error, PAWL__IF(S, error), .print = print_error, .wire = PAWL__AS_ONE,
       .shape = &pawl__ojs_failure_shape),
    AS("errors", OWN, errors, PAWL__IF(S, errors), .print = print_errors, .wire = PAWL__AS_MANY,
       .shape = &pawl__ojs_failure_shape),
    AS("retry_delay_ms", INT64, retry_delay_ms, .flags = PAWL__NEGATIVE),
    PAWL__WHOLE("checkpoint", ONE, PAWL__IF(S, checkpoint.sequence), .shape = &checkpoint_shape),
    AS("workflow_id", ID, workflow),
    AS("parent_results", OWN, has_parents, PAWL__IF(S, has_parents), .print = print_parents,
       .wire = PAWL__AS_ARRAY),
    PAWL__WHOLE("parent_results_omitted", ONE, PAWL__IF(S, omitted.bytes), .shape = &omitted_shape),
    AS("previous_state", WORD, previous_state, .words = &pawl__ojs_state_words),
    AS("hold", NAME, hold),
    // Here the extra members are printed.
    AS("scheduled_at", INSTANT, at_ms.scheduled),
    AS("expires_at", INSTANT, expires_at_ms),
    AS("tags", ARRAY, tags),
    AS("retry", ONE, retry, PAWL__IF(S, has_retry), .flags = PAWL__ALWAYS,
       .shape = &pawl__ojs_retry_shape),
    AS("unique", ONE, unique, PAWL__IF(S, has_unique), .flags = PAWL__ALWAYS,
       .shape = &pawl__ojs_unique_shape),
    AS("on_success", JSON, on_success),
    AS("on_failure", JSON, on_failure),
    AS("timeout_ms", INT64, timeout_ms),
    AS("visibility_timeout_ms", INT64, lease_ms),
    PAWL__WHOLE("metadata", ONE, PAWL__IF(S, has_times), .flags = PAWL__ALWAYS,
                .shape = &times_shape),
};
enum { TAIL = 10, HEAD = COUNT(members) - TAIL };
static const struct pawl__shape head_shape = SHAPE(members, 0, HEAD);
static const struct pawl__shape tail_shape = SHAPE(members, HEAD, COUNT(members));
const struct pawl__shape pawl__ojs_job_shape = SHAPE(members, 0, COUNT(members));

/* ---- the times of a job ---- */

/* Is due_at_ms still that of the submission? A retry sets a later one, and a job that waits to run
 * again has no started_at_ms. */
static bool due_is_first(const struct pawl_job *job)
{
    return job->run == 0 || (job->run == 1 && job->started_at_ms >= job->due_at_ms);
}

/* False: the text is not an instant. */
static bool parse_instant(struct printer *printer, const struct pawl__json *json, uint32_t token,
                          int64_t *at_ms)
{
    if (!token || json->tokens[token].type != PAWL__JSON_STRING) return false;
    const char *text = pawl__json_string(json, token, &printer->arena, NULL);
    if (!text) printer->out->failed = true;
    return text && pawl__instant_parse(text, at_ms) == PAWL_OK;
}

/* Parses the extra members. False: they are not an object. */
static bool parse_extra(struct printer *printer, struct pawl__json *json)
{
    enum pawl_err err =
        pawl__json_parse(printer->job->extra, PAWL_JSON_DEPTH_MAX, &printer->arena, json, NULL);
    if (err == PAWL_ERR_NOMEM) printer->out->failed = true;
    return !err && json->tokens[0].type == PAWL__JSON_OBJECT;
}

/* The instant that the client asked for at first; 0: none. */
static int64_t wanted_at(struct printer *printer)
{
    struct pawl__json json;
    int64_t at_ms = 0;
    if (!printer->job->extra.len || !parse_extra(printer, &json) ||
        parse_instant(printer, &json, pawl__json_member(&json, 0, "scheduled_at"), &at_ms) ||
        parse_instant(printer, &json, pawl__json_member(&json, 0, "delay_until"), &at_ms)) {
        return at_ms;
    }
    return 0;
}

/* When it became available, for the last time if the columns tell that, else for the first time; 0:
 * it never did. */
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
    // It waits to run again, or ended while it did, so due_at_ms is in the future.
    int64_t wanted_ms = wanted_at(printer);
    return wanted_ms > job->created_at_ms ? wanted_ms : job->created_at_ms;
}

/* The first failure since the job was submitted or last revived. */
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

static int64_t started_at(const struct printer *printer)
{
    const struct pawl__envelope_more *more = printer->more;
    if (printer->job->started_at_ms || !more || more->failure_count == 0) {
        return printer->job->started_at_ms;
    }
    if (first_failure(printer) == more->failure_count) return 0;
    return more->failures[more->failure_count - 1].started_at_ms;
}

static void view_end(struct view *view, const struct pawl_job *job)
{
    switch (job->state) {
    case PAWL_STATE_COMPLETED:
        view->result = job->result;
        view->at_ms.completed = job->finished_at_ms;
        break;
    case PAWL_STATE_SKIPPED:
        view->at_ms.completed = job->finished_at_ms;
        break;
    case PAWL_STATE_CANCELLED:
        view->at_ms.cancelled = job->finished_at_ms;
        break;
    case PAWL_STATE_DISCARDED:
    case PAWL_STATE_EXPIRED:
        // A job that expires before it ran has not completed anything.
        if (job->attempt > 0) view->at_ms.completed = job->finished_at_ms;
        view->at_ms.discarded = job->finished_at_ms;
        break;
    case PAWL_STATE_RETRYABLE:
        view->next_retry_at_ms = job->due_at_ms;
        break;
    default:
        break;
    }
}

/* ---- the view ---- */

int64_t pawl__envelope_attempts_max(const struct pawl_job *job)
{
    return job->attempts_max + job->free_runs;
}

static void view_always(struct printer *printer)
{
    const struct pawl_job *job = printer->job;
    struct view *view = &printer->view;
    view->specversion = "1.0";
    view->id = job->id;
    view->type = job->type;
    view->queue = job->queue;
    view->args_omitted = job->brief;
    if (!job->brief) view->args = job->args.len ? job->args : (struct pawl_span){ "[]", 2 };
    view->meta = job->meta;
    view->priority = job->priority;
    view->state = job->state;
    view->hold = job->hold;
    view->attempt = job->attempt;
    view->max_attempts = pawl__envelope_attempts_max(job);
    view->at_ms.created = job->created_at_ms;
    view->at_ms.enqueued = enqueued_at(printer);
    view->at_ms.started = started_at(printer);
    view->retry_delay_ms = -1;
    view_end(view, job);
}

static void view_failures(struct printer *printer)
{
    static const struct pawl_failure none;
    const struct pawl__envelope_more *more = printer->more;
    struct view *view = &printer->view;
    size_t first = first_failure(printer), count = more->failure_count - first;
    if (count || more->admin) view->errors = count ? more->failures + first : &none;
    view->error_count = count;
    if (!count) return;
    const struct pawl_failure *last = &more->failures[more->failure_count - 1];
    if (!pawl_state_is_successful(view->state) && !view->error) view->error = last;
    if (!pawl_state_is_terminal(view->state)) view->retry_delay_ms = last->retry_delay_ms;
}

static void view_more(struct printer *printer)
{
    const struct pawl__envelope_more *more = printer->more;
    struct view *view = &printer->view;
    view_failures(printer);
    view->checkpoint.sequence = more->checkpoint_sequence > 0 ? more->checkpoint_sequence : 0;
    if (view->checkpoint.sequence) {
        view->checkpoint.state = more->checkpoint;
        view->checkpoint.state_omitted = !more->checkpoint.len;
    }
    view->previous_state = more->previous_state;
    view->workflow = more->workflow;
    view->has_parents = more->has_parents;
    view->parents = more->parents;
    if (more->parents && more->parents->omitted_bytes) {
        view->omitted.count = (int64_t)more->parents->count;
        view->omitted.bytes = more->parents->omitted_bytes;
    }
    view->has_times = more->admin;
}

static bool is_printed(const struct printer *printer, enum pawl__envelope_field field)
{
    return printer->printed & PAWL__FIELD_BIT(field);
}

/* Columns that the extra members did not give. */
static void view_columns(struct printer *printer)
{
    const struct pawl_job *job = printer->job;
    struct view *view = &printer->view;
    if (!is_printed(printer, PAWL__FIELD_SCHEDULED_AT) && due_is_first(job) &&
        job->due_at_ms > job->created_at_ms) {
        view->at_ms.scheduled = job->due_at_ms;
    }
    if (!is_printed(printer, PAWL__FIELD_EXPIRES_AT)) view->expires_at_ms = job->expires_at_ms;
    if (!is_printed(printer, PAWL__FIELD_TAGS)) view->tags = job->tags;
    if (!is_printed(printer, PAWL__FIELD_ON_SUCCESS)) view->on_success = job->on_success;
    if (!is_printed(printer, PAWL__FIELD_ON_FAILURE)) view->on_failure = job->on_failure;
    view->has_retry = job->retry.len && !is_printed(printer, PAWL__FIELD_RETRY);
    view->has_unique = job->unique.len && !is_printed(printer, PAWL__FIELD_UNIQUE);
    if ((view->has_retry && !pawl__stored_retry(job->retry, &printer->arena, &view->retry)) ||
        (view->has_unique && !pawl__stored_unique(job->unique, &printer->arena, &view->unique))) {
        printer->out->failed = true;
    }
    // With a grace period the column has more than the timeout.
    if (job->timeout_ms != PAWL__OJS_TIMEOUT_MS && !is_printed(printer, PAWL__FIELD_TIMEOUT_MS) &&
        !is_printed(printer, PAWL__FIELD_GRACE_PERIOD)) {
        view->timeout_ms = job->timeout_ms;
    }
    if (!is_printed(printer, PAWL__FIELD_VISIBILITY_TIMEOUT_MS)) view->lease_ms = job->lease_ms;
}

/* ---- extra members ---- */

/* A job that replaced another may have taken its schedule: then the text it came with is wrong. */
static bool says_when(struct printer *printer, const struct pawl__json *json, uint32_t token)
{
    const struct pawl_job *job = printer->job;
    int64_t at_ms;
    if (job->state != PAWL_STATE_SCHEDULED || job->run > 0) return true;
    return parse_instant(printer, json, token, &at_ms) && at_ms == job->due_at_ms;
}

static void add_span(struct printer *printer, struct pawl_span name, struct pawl_span value)
{
    pawl__buf_add(printer->out, ",", 1);
    pawl__buf_add(printer->out, name.at, name.len);
    pawl__buf_add(printer->out, ":", 1);
    pawl__buf_add(printer->out, value.at, value.len);
}

static void add_known(struct printer *printer, enum pawl__envelope_field field,
                      struct pawl_span value)
{
    char name[32];
    int len = snprintf(name, sizeof name, "\"%s\"", pawl__field_name(field));
    printer->printed |= PAWL__FIELD_BIT(field);
    if (field == PAWL__FIELD_SCHEDULED_AT) printer->view.at_ms.scheduled_text = value;
    add_span(printer, (struct pawl_span){ name, (size_t)len }, value);
}

static void add_unknown(struct printer *printer, const char *text, struct pawl_span name,
                        struct pawl_span value)
{
    size_t from = printer->out->len;
    add_span(printer, name, value);
    for (size_t i = 0; i < REPLY_NAMES; i++) {
        if (strcmp(text, reply_names[i]) != 0 || printer->cut_count == REPLY_NAMES) continue;
        printer->cuts[printer->cut_count].from = from;
        printer->cuts[printer->cut_count++].to = printer->out->len;
    }
}

static void add_extra_member(struct printer *printer, const struct pawl__json *json, uint32_t name)
{
    const char *text = pawl__json_string(json, name, &printer->arena, NULL);
    if (!text) {
        printer->out->failed = true;
        return;
    }
    struct pawl_span value = pawl__json_span(json, name + 1);
    enum pawl__envelope_field field = pawl__field_find(text, json->tokens[name].count);
    bool left_out = field == PAWL__FIELD_METADATA && printer->more && printer->more->admin;
    if (!field) {
        add_unknown(printer, text, pawl__json_span(json, name), value);
    } else if (pawl__field_flags(field) & PAWL__FIELD_EXTRA && !left_out &&
               (field != PAWL__FIELD_SCHEDULED_AT || says_when(printer, json, name + 1))) {
        add_known(printer, field, value);
    }
}

static void add_extra(struct printer *printer)
{
    struct pawl__json json;
    if (!parse_extra(printer, &json)) return;
    uint32_t name = pawl__json_first(0);
    for (uint32_t left = json.tokens[0].count; left > 0; left--) {
        add_extra_member(printer, &json, name);
        name = json.tokens[name + 1].next;
    }
    // Replies of OJS say scheduled_at, whatever the request said.
    if (!is_printed(printer, PAWL__FIELD_DELAY_UNTIL) ||
        is_printed(printer, PAWL__FIELD_SCHEDULED_AT)) {
        return;
    }
    uint32_t until = pawl__json_member(&json, 0, "delay_until");
    if (until && says_when(printer, &json, until)) {
        add_known(printer, PAWL__FIELD_SCHEDULED_AT, pawl__json_span(&json, until));
    }
}

/* ---- the job ---- */

static void print(struct printer *printer)
{
    const struct pawl_job *job = printer->job;
    // No worker reports an expired job: it ends by itself.
    const struct pawl_failure expiry = { .attempt = job->attempt,
                                         .code = "expired",
                                         .type = "expired",
                                         .message = "the job expired before it could complete",
                                         .failed_at_ms = job->finished_at_ms };
    bool any = false;
    printer->writer.out = printer->out;
    view_always(printer);
    if (job->state == PAWL_STATE_EXPIRED) printer->view.error = &expiry;
    if (printer->more) view_more(printer);
    pawl__buf_add(printer->out, "{", 1);
    pawl__shape_print_members(&printer->writer, &head_shape, &printer->view, &any);
    if (job->extra.len) add_extra(printer);
    view_columns(printer);
    pawl__shape_print_members(&printer->writer, &tail_shape, &printer->view, &any);
    pawl__buf_add(printer->out, "}", 1);
    pawl__arena_release(&printer->arena);
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
    pawl__buf_add_text(out, "{\"job\":");
    size_t from = out->len + 1, to; // within the braces
    print(&printer);
    to = out->len - 1;
    pawl__buf_add(out, ",", 1);
    for (size_t i = 0; i < printer.cut_count; i++) {
        pawl__buf_add_again(out, from, printer.cuts[i].from);
        from = printer.cuts[i].to;
    }
    pawl__buf_add_again(out, from, to);
}
