/* Schedules and their histories as JSON, and what tables and lines of text share with it. */
#include "cli/cron.h"

#include "base/time_text.h"
#include "fields/fields.h"
#include "wire/wire.h"

#include <string.h>

/* ---- texts ---- */

void pawl__cli_cron_put_expression(struct pawl__buf *out, const struct pawl_recurrence *recurrence)
{
    if (recurrence->expression) {
        pawl__cli_put_text(out, "", recurrence->expression);
        return;
    }
    for (size_t i = 0; i < recurrence->instant_count; i++) {
        if (i) pawl__buf_add(out, ",", 1);
        pawl__cli_put_instant(out, recurrence->instants[i]);
    }
}

const char *pawl__cli_cron_words(struct pawl__cli *cli, const struct pawl_recurrence *recurrence)
{
    char words[PAWL_RECURRENCE_WORDS_BYTES];
    if (pawl_recurrence_words(recurrence, cli->now_ms, words, NULL)) return "";
    return pawl__cli_need(pawl__arena_dup(&cli->arena, words, strlen(words)));
}

const char *pawl__cli_cron_brief(struct pawl__cli *cli, const struct pawl_recurrence *recurrence)
{
    const char *words = pawl__cli_cron_words(cli, recurrence);
    return pawl__cli_need(pawl__arena_dup(&cli->arena, words, strcspn(words, ";")));
}

/* ---- the template ---- */

#define S struct pawl_retry
#define AS(text, kind, member, ...) PAWL__MEMBER(text, kind, S, member, __VA_ARGS__)
#define RETRY_I32(text, member) AS(text, INT32, member)
#define RETRY_I64(text, member) AS(text, INT64, member)
#define RETRY_REAL(text, member) AS(text, REAL, member)
#define RETRY_BACKOFF(text, member) AS(text, WORD, member, .words = &pawl__backoff_words)
#define RETRY_JITTER(text, member) AS(text, SWITCH, member)
#define RETRY_TEXTS(text, member) AS(text, TEXTS, member, PAWL__COUNTED(S, member##_count))
#define RETRY_EXHAUSTION(text, member) AS(text, WORD, member, .words = &pawl__exhaustion_words)
#define X(member, kind, ...) RETRY_##kind(#member, member),
static const struct pawl__member retry_members[] = { PAWL__RETRY_FIELDS(X) };
#undef X
static const struct pawl__shape retry_shape = PAWL__SHAPE(S, retry_members);
#undef S

static void print_states(const struct pawl__shape_writer *writer, const struct pawl__member *member,
                         const void *base)
{
    const struct pawl__cli *cli = writer->ctx;
    const struct pawl_unique *unique = base;
    bool any = false;
    for (int state = 1; unique->states && state < PAWL_STATE_END; state++) {
        if (!(unique->states & PAWL_STATE_BIT(state))) continue;
        pawl__buf_printf(writer->out, "%s\"%s\"", any ? "," : "[",
                         pawl__cli_state_text(cli, (enum pawl_state)state));
        any = true;
    }
    if (any) pawl__buf_add(writer->out, "]", 1);
}

#define S struct pawl_unique
static const struct pawl__member unique_members[] = {
    AS("keys", SET, keys, .words = &pawl__unique_words),
    AS("args_keys", TEXTS, args_keys, PAWL__COUNTED(S, args_key_count)),
    AS("meta_keys", TEXTS, meta_keys, PAWL__COUNTED(S, meta_key_count)),
    AS("period_ms", INT64, period_ms),
    AS("states", OWN, states, .print = print_states),
    AS("on_conflict", WORD, on_conflict, .words = &pawl__conflict_words),
};
static const struct pawl__shape unique_shape = PAWL__SHAPE(S, unique_members);
#undef S

static pawl__member_print_fn print_follow;

#define S struct pawl_job_spec
#define SPEC_ID_AT(text, member) AS(text, ID_AT, member)
#define SPEC_TYPE(text, member) AS(text, TEXT, member)
#define SPEC_QUEUE(text, member) AS(text, TEXT, member)
#define SPEC_KEY(text, member) AS(text, TEXT, member)
#define SPEC_NOTE(text, member) AS(text, TEXT, member)
#define SPEC_ARGS(text, member) AS(text, ARRAY, member, .flags = PAWL__ALWAYS)
#define SPEC_META(text, member) AS(text, OBJECT, member)
#define SPEC_TAGS(text, member) AS(text, TEXTS, member, PAWL__COUNTED(S, tag_count))
#define SPEC_I32(text, member) AS(text, INT32, member)
#define SPEC_MS(text, member) AS(text, INT64, member)
#define SPEC_LEASE(text, member) AS(text, INT64, member)
#define SPEC_AT(text, member) AS(text, INSTANT, member)
#define SPEC_BOOL(text, member) AS(text, BOOL, member)
#define SPEC_RETRY(text, member) AS(text, ONE, member, .shape = &retry_shape)
#define SPEC_UNIQUE(text, member) AS(text, ONE, member, .shape = &unique_shape)
#define SPEC_FOLLOW(text, member) AS(text, OWN, member, PAWL__IF(S, member), .print = print_follow)
#define X(member, kind, name, ...) SPEC_##kind(name, member),
static const struct pawl__member template_members[] = { PAWL__SPEC_FIELDS(X) };
#undef X
static const struct pawl__shape template_shape = PAWL__SHAPE(S, template_members);
static void print_follow(const struct pawl__shape_writer *writer, const struct pawl__member *member,
                         const void *base)
{
    const char *at = (const char *)base + member->offset;
    pawl__shape_print(writer, &template_shape, *(const struct pawl_job_spec *const *)at);
}
#undef S

/* ---- the schedule ---- */

static void print_words(const struct pawl__shape_writer *writer, const struct pawl__member *member,
                        const void *base)
{
    const struct pawl__cli *cli = writer->ctx;
    const struct pawl_schedule *schedule = base;
    char words[PAWL_RECURRENCE_WORDS_BYTES];
    const struct pawl_recurrence recurrence = pawl_schedule_recurrence(schedule);
    if (pawl_recurrence_words(&recurrence, cli->now_ms, words, NULL)) return;
    pawl__buf_add_json(writer->out, words, strlen(words));
}

static void print_instants(const struct pawl__shape_writer *writer,
                           const struct pawl__member *member, const void *base)
{
    const struct pawl_schedule_spec *spec = base;
    const struct pawl_recurrence *recurrence = &spec->recurrence;
    for (size_t i = 0; i < recurrence->instant_count; i++) {
        char text[PAWL__INSTANT_TEXT_BYTES];
        pawl__instant_text(recurrence->instants[i], text);
        pawl__buf_printf(writer->out, "%s\"%s\"", i ? "," : "[", text);
    }
    if (recurrence->instant_count) pawl__buf_add(writer->out, "]", 1);
}

#define S struct pawl_schedule_spec
#define ALWAYS .flags = PAWL__ALWAYS
static const struct pawl__member spec_members[] = {
    AS("name", NAME, name, ALWAYS),
    AS("expression", TEXT, recurrence.expression),
    PAWL__WHOLE("instants", OWN, .print = print_instants),
    AS("zone", TEXT, recurrence.zone),
    AS("dialect", WORD, recurrence.dialect, .words = &pawl__dialect_words),
    AS("gap", WORD, recurrence.gap, .words = &pawl__gap_words),
    AS("start_at", INSTANT, recurrence.start_at_ms),
    AS("end_at", INSTANT, recurrence.end_at_ms),
    AS("job", ONE, job, .shape = &template_shape),
    AS("overlap", WORD, overlap, .words = &pawl__overlap_words),
    AS("misfire", WORD, misfire, .words = &pawl__misfire_words),
    AS("catch_up", INT32, catch_up),
    AS("late_max_ms", INT64, late_max_ms),
    AS("jitter_ms", INT64, jitter_ms),
    AS("max_runs", INT64, max_runs),
    AS("catch_up_paused", BOOL, catch_up_paused),
    AS("disabled", BOOL, disabled),
    AS("description", NAME, description),
    AS("meta", OBJECT, meta),
};
const struct pawl__shape pawl__cli_schedule_spec_shape = PAWL__SHAPE(S, spec_members);
#undef S

#define S struct pawl_schedule
static const struct pawl__member schedule_members[] = {
    AS("", PART, spec, .shape = &pawl__cli_schedule_spec_shape),
    AS("anchor_at", INSTANT, anchor_at_ms),
    PAWL__WHOLE("words", OWN, .print = print_words),
    AS("state", WORD, state, .words = &pawl__schedule_state_words),
    AS("reason", NAME, reason),
    AS("next_at", INSTANT, next_at_ms),
    AS("last_at", INSTANT, last_at_ms),
    AS("last_job", ID, last_job),
    AS("runs", INT64, runs, ALWAYS),
    AS("skips", INT64, skips, ALWAYS),
    AS("queued", INT64, queued),
    AS("group", NAME, group),
    AS("declared_at", INSTANT, declared_at_ms),
    AS("version", INT64, version),
    AS("created_at", INSTANT, created_at_ms),
    AS("updated_at", INSTANT, updated_at_ms),
};
const struct pawl__shape pawl__cli_schedule_shape = PAWL__SHAPE(S, schedule_members);
#undef S

/* ---- the history ---- */

#define S struct pawl_firing
static const struct pawl__member firing_members[] = {
    AS("number", INT64, number),
    AS("at", INSTANT, at_ms),
    AS("kind", WORD, kind, .words = &pawl__firing_kind_words),
    AS("reason", NAME, reason),
    AS("first_at", INSTANT, first_at_ms),
    AS("last_at", INSTANT, last_at_ms),
    AS("count", INT64, count),
    AS("due_at", INSTANT, due_at_ms),
    AS("job", ID, job),
    AS("queued", BOOL, queued),
    AS("cancelled", INT64, cancelled),
    AS("detail", NAME, detail),
    AS("actor", NAME, actor),
};
const struct pawl__shape pawl__cli_firing_shape = PAWL__SHAPE(S, firing_members);
#undef S
