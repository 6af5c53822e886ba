/* Schedules as JSON.
 *
 * Clients read different names for the same things: "expression", "cron" and "schedule"; the
 * template as "job_template" or beside the schedule's members. All of them are printed. */
#include "http/ojs/cron.h"

#include "http/ojs/envelope_fields.h"
#include "http/ojs/policies.h"

#include <string.h>

#define X(number, name, text, ...) [number] = text,
static const char *const misfire_texts[] = { PAWL_MISFIRES(X) };
static const char *const dialect_texts[] = { PAWL_DIALECTS(X) };
static const char *const gap_texts[] = { PAWL_GAPS(X) };
#undef X
static const char *const overlap_texts[PAWL_OVERLAP_END] = {
    [PAWL_OVERLAP_SKIP] = "skip",
    [PAWL_OVERLAP_ALLOW] = "allow",
    [PAWL_OVERLAP_QUEUE] = "enqueue",
    [PAWL_OVERLAP_CANCEL_PREVIOUS] = "cancel_previous",
};
#define WORDS(list)                                                                                \
    {                                                                                              \
        .at = list##_texts, .count = sizeof list##_texts / sizeof *list##_texts                    \
    }
const struct pawl__words pawl__ojs_overlap_words = { .at = overlap_texts,
                                                     .count = PAWL_OVERLAP_END,
                                                     .other = "queue", // the library's word
                                                     .other_is = PAWL_OVERLAP_QUEUE };
const struct pawl__words pawl__ojs_misfire_words = WORDS(misfire);
const struct pawl__words pawl__ojs_dialect_words = WORDS(dialect);
const struct pawl__words pawl__ojs_gap_words = WORDS(gap);

/* ---- the template ---- */

#define S struct pawl_job_spec
#define AS(text, kind, member, ...) PAWL__MEMBER(text, kind, S, member, __VA_ARGS__)
static const struct pawl__member option_members[] = {
    AS("queue", TEXT, queue),
    AS("priority", INT32, priority),
    AS("tags", TEXTS, tags, PAWL__COUNTED(S, tag_count)),
    AS("timeout_ms", INT64, timeout_ms),
    AS("visibility_timeout_ms", INT64, lease_ms),
    AS("retry", ONE, retry, .shape = &pawl__ojs_retry_shape),
    AS("unique", ONE, unique, .shape = &pawl__ojs_unique_shape),
};
static const struct pawl__shape option_shape = PAWL__SHAPE(S, option_members);
#undef S

/* The column that an extra member gives in the client's own spelling is not printed again. */
static void forget_column(struct pawl_job_spec *job, enum pawl__envelope_field field)
{
    switch (field) {
    case PAWL__FIELD_TAGS:
        job->tag_count = 0;
        break;
    case PAWL__FIELD_RETRY:
        job->retry = (struct pawl_retry){ 0 };
        break;
    case PAWL__FIELD_UNIQUE:
        job->unique = (struct pawl_unique){ 0 };
        break;
    case PAWL__FIELD_TIMEOUT:
    case PAWL__FIELD_TIMEOUT_MS:
    case PAWL__FIELD_TOTAL_TIMEOUT:
    case PAWL__FIELD_GRACE_PERIOD:
        job->timeout_ms = 0;
        break;
    case PAWL__FIELD_VISIBILITY_TIMEOUT:
    case PAWL__FIELD_VISIBILITY_TIMEOUT_MS:
        job->lease_ms = 0;
        break;
    default:
        break;
    }
}

/* The extra members, as the client wrote them. */
static void print_extra(struct pawl__buf *out, struct pawl_job_spec *job, struct pawl__arena *arena,
                        bool *any)
{
    struct pawl__json json;
    if (!job->extra.len ||
        pawl__json_parse(job->extra, PAWL_JSON_DEPTH_MAX + 1, arena, &json, NULL) ||
        json.tokens[0].type != PAWL__JSON_OBJECT) {
        return;
    }
    uint32_t name = pawl__json_first(0);
    for (uint32_t i = 0; i < json.tokens[0].count; i++, name = json.tokens[name + 1].next) {
        struct pawl_span text = pawl__json_span(&json, name);
        struct pawl_span value = pawl__json_span(&json, name + 1);
        forget_column(job, pawl__field_find(text.at + 1, text.len - 2));
        if (*any) pawl__buf_add(out, ",", 1);
        pawl__buf_add(out, text.at, text.len);
        pawl__buf_add(out, ":", 1);
        pawl__buf_add(out, value.at, value.len);
        *any = true;
    }
}

static void print_options(struct pawl__buf *out, const struct pawl_job_spec *job,
                          struct pawl__arena *arena)
{
    struct pawl_job_spec rest = *job;
    bool any = false;
    if (rest.timeout_ms == PAWL__OJS_TIMEOUT_MS) rest.timeout_ms = 0;
    pawl__buf_add_text(out, "{");
    print_extra(out, &rest, arena, &any);
    pawl__shape_print_members(&(struct pawl__shape_writer){ .out = out }, &option_shape, &rest,
                              &any);
    pawl__buf_add_text(out, "}");
}

void pawl__cron_print_template(struct pawl__buf *out, const struct pawl_job_spec *job,
                               struct pawl__arena *arena)
{
    pawl__buf_add_text(out, "{\"type\":");
    pawl__buf_add_json(out, job->type, strlen(job->type));
    pawl__buf_add_text(out, ",\"args\":");
    pawl__buf_add_text(out, job->args.len ? "" : "[]");
    pawl__buf_add(out, job->args.at, job->args.len);
    if (job->meta.len) {
        pawl__buf_add_text(out, ",\"meta\":");
        pawl__buf_add(out, job->meta.at, job->meta.len);
    }
    pawl__buf_add_text(out, ",\"options\":");
    print_options(out, job, arena);
    pawl__buf_add_text(out, "}");
}

/* ---- the schedule ---- */

#define PRINT(name)                                                                                \
    static void name(const struct pawl__shape_writer *writer, const struct pawl__member *member,   \
                     const void *base)

static void add_text(const struct pawl__shape_writer *writer, const char *text)
{
    pawl__buf_add_json(writer->out, text, strlen(text));
}

/* Of a list of instants there is no expression. */
PRINT(print_expression)
{
    const struct pawl_schedule *schedule = base;
    const char *expression = schedule->spec.recurrence.expression;
    if (expression) add_text(writer, expression);
}

PRINT(print_words)
{
    const struct pawl_schedule *schedule = base;
    char words[PAWL_RECURRENCE_WORDS_BYTES];
    int64_t now_ms = schedule->settled_at_ms ? schedule->settled_at_ms : schedule->updated_at_ms;
    const struct pawl_recurrence recurrence = pawl_schedule_recurrence(schedule);
    if (pawl_recurrence_words(&recurrence, now_ms, words, NULL)) return;
    add_text(writer, words);
}

static bool is_enabled(const struct pawl_schedule *schedule)
{
    return schedule->state == PAWL_SCHEDULE_ACTIVE || schedule->state == PAWL_SCHEDULE_HELD;
}

PRINT(print_enabled)
{
    pawl__buf_add_text(writer->out, is_enabled(base) ? "true" : "false");
}

PRINT(print_status)
{
    const struct pawl_schedule *schedule = base;
    bool paused = schedule->state == PAWL_SCHEDULE_PAUSED && !schedule->spec.disabled;
    add_text(writer, is_enabled(schedule) ? "active" : paused ? "paused" : "disabled");
}

PRINT(print_state)
{
    const struct pawl_schedule *schedule = base;
    add_text(writer, pawl_schedule_state_text(schedule->state));
}

PRINT(print_template)
{
    const struct pawl_schedule *schedule = base;
    struct pawl__arena arena = { 0 };
    pawl__cron_print_template(writer->out, &schedule->spec.job, &arena);
    pawl__arena_release(&arena);
}

PRINT(print_options_alone)
{
    const struct pawl_schedule *schedule = base;
    struct pawl__arena arena = { 0 };
    print_options(writer->out, &schedule->spec.job, &arena);
    pawl__arena_release(&arena);
}

#define S struct pawl_schedule
#define ALWAYS .flags = PAWL__ALWAYS
#define NULLABLE .flags = PAWL__NULLABLE
static const struct pawl__member cron_members[] = {
    AS("id", NAME, spec.name, ALWAYS),
    AS("name", NAME, spec.name, ALWAYS),
    PAWL__WHOLE("expression", OWN, .print = print_expression, .wire = PAWL__AS_TEXT),
    PAWL__WHOLE("schedule", OWN, .print = print_expression, .wire = PAWL__AS_TEXT),
    AS("timezone", TEXT, spec.recurrence.zone),
    PAWL__WHOLE("words", OWN, .print = print_words, .wire = PAWL__AS_TEXT),
    AS("type", TEXT, spec.job.type),
    AS("queue", TEXT, spec.job.queue),
    AS("args", ARRAY, spec.job.args, ALWAYS),
    AS("meta", OBJECT, spec.job.meta),
    PAWL__WHOLE("options", OWN, .print = print_options_alone, .wire = PAWL__AS_OBJECT),
    PAWL__WHOLE("job_template", OWN, .print = print_template, .wire = PAWL__AS_ONE,
                .shape = &pawl__ojs_job_request_shape),
    AS("overlap_policy", WORD, spec.overlap, .words = &pawl__ojs_overlap_words),
    PAWL__WHOLE("enabled", OWN, .print = print_enabled, .wire = PAWL__AS_BOOL),
    PAWL__WHOLE("status", OWN, .print = print_status, .wire = PAWL__AS_TEXT),
    PAWL__WHOLE("state", OWN, .print = print_state, .wire = PAWL__AS_TEXT),
    AS("state_reason", NAME, reason),
    AS("next_run_at", INSTANT, next_at_ms, NULLABLE),
    AS("last_run_at", INSTANT, last_at_ms, NULLABLE),
    AS("last_job_id", ID, last_job),
    AS("run_count", INT64, runs, ALWAYS),
    AS("skip_count", INT64, skips, ALWAYS),
    AS("queued_count", INT64, queued, ALWAYS),
    AS("misfire_policy", WORD, spec.misfire, .words = &pawl__ojs_misfire_words),
    AS("catch_up", INT32, spec.catch_up),
    AS("late_max_ms", INT64, spec.late_max_ms),
    AS("jitter_ms", INT64, spec.jitter_ms),
    AS("max_runs", INT64, spec.max_runs),
    AS("start_at", INSTANT, spec.recurrence.start_at_ms),
    AS("end_at", INSTANT, spec.recurrence.end_at_ms),
    AS("dialect", WORD, spec.recurrence.dialect, .words = &pawl__ojs_dialect_words),
    AS("gap", WORD, spec.recurrence.gap, .words = &pawl__ojs_gap_words),
    AS("catch_up_paused", BOOL, spec.catch_up_paused),
    AS("description", NAME, spec.description),
    AS("version", INT64, version),
    AS("created_at", INSTANT, created_at_ms),
    AS("updated_at", INSTANT, updated_at_ms),
    // Last: beside the wrapped schedule this name is taken.
    PAWL__WHOLE("cron", OWN, .print = print_expression, .wire = PAWL__AS_TEXT),
};
enum { MEMBERS = sizeof cron_members / sizeof *cron_members };
const struct pawl__shape pawl__ojs_cron_shape = PAWL__SHAPE(S, cron_members);
const struct pawl__shape pawl__ojs_cron_flat_shape = { .members = cron_members,
                                                       .count = MEMBERS - 1,
                                                       .bytes = sizeof(S) };
#undef S
