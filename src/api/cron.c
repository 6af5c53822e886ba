/* Schedules: what is put is checked here and becomes rows; what is asked of one by name. */
#include "api/cron.h"

#include "api/check.h"
#include "api/claim.h"
#include "base/clock.h"
#include "base/diag.h"
#include "schedule/schedule.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- texts ---- */

#define TEXT(name, type, LIST)                                                                     \
    const char *name(enum type value)                                                              \
    {                                                                                              \
        switch (value) {                                                                           \
            LIST default : return "";                                                              \
        }                                                                                          \
    }
#define CASE(prefix, name, text)                                                                   \
    case prefix##name:                                                                             \
        return text;

#define X(number, name, text, ...) CASE(PAWL_OVERLAP_, name, text)
TEXT(pawl_overlap_text, pawl_overlap, PAWL_OVERLAPS(X))
#undef X
#define X(number, name, text, ...) CASE(PAWL_MISFIRE_, name, text)
TEXT(pawl_misfire_text, pawl_misfire, PAWL_MISFIRES(X))
#undef X
#define X(number, name, text, ...) CASE(PAWL_SCHEDULE_, name, text)
TEXT(pawl_schedule_state_text, pawl_schedule_state, PAWL_SCHEDULE_STATES(X))
#undef X
#define X(number, name, text, ...) CASE(PAWL_FIRING_, name, text)
TEXT(pawl_firing_kind_text, pawl_firing_kind, PAWL_FIRINGS(X))
#undef X
#define X(number, name, text, ...) CASE(PAWL_SKIP_, name, text)
TEXT(pawl_skip_text, pawl_skip, PAWL_SKIPS(X))
#undef X
#define X(number, name, text, ...) CASE(PAWL_PUT_, name, text)
TEXT(pawl_put_text, pawl_put, PAWL_PUTS(X))
#undef X

/* ---- checks ---- */

enum pawl_err pawl__check_schedule_name(const char *name, struct pawl_diag *diag)
{
    static const struct pawl__text_rule rule = { "name", PAWL_SCHEDULE_NAME_BYTES_MAX };
    return pawl__check_text(&rule, name, diag);
}

static enum pawl_err check_group(const char *group, struct pawl_diag *diag)
{
    static const struct pawl__text_rule rule = { "group", PAWL_SCHEDULE_GROUP_BYTES_MAX };
    return pawl__check_text(&rule, group, diag);
}

static enum pawl_err check_enum(const char *field, int value, int end, struct pawl_diag *diag)
{
    if (value >= 0 && value < end) return PAWL_OK;
    return pawl__fail_field(diag, PAWL_ERR_ARG, field, "%d is no value of %s", value, field);
}

static enum pawl_err check_policies(const struct pawl_schedule_spec *spec, struct pawl_diag *diag)
{
    enum pawl_err err = check_enum("overlap", (int)spec->overlap, PAWL_OVERLAP_END, diag);
    if (!err) err = check_enum("misfire", (int)spec->misfire, PAWL_MISFIRE_END, diag);
    if (!err) err = check_enum("dialect", (int)spec->recurrence.dialect, PAWL_DIALECT_END, diag);
    if (!err) err = check_enum("gap", (int)spec->recurrence.gap, PAWL_GAP_END, diag);
    if (err) return err;
    if (spec->catch_up && spec->misfire != PAWL_MISFIRE_CATCH_UP) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "catch_up",
                                "catch_up is for the misfire policy \"catch_up\"");
    }
    if (spec->catch_up < 0 || spec->catch_up > PAWL_CATCH_UP_MAX) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "catch_up", "catch_up must be 1 to %d",
                                PAWL_CATCH_UP_MAX);
    }
    if (spec->jitter_ms < 0 || spec->jitter_ms > PAWL_JITTER_MAX_MS) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "jitter_ms",
                                "jitter_ms must be 0 to 86400000, which is a day");
    }
    if (spec->max_runs < 0) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "max_runs", "max_runs must not be negative");
    }
    return pawl__check_time("late_max_ms", PAWL__TIME_DURATION, spec->late_max_ms, diag);
}

static enum pawl_err check_bounds(const struct pawl_recurrence *recurrence, struct pawl_diag *diag)
{
    enum pawl_err err =
        pawl__check_time("start_at_ms", PAWL__TIME_INSTANT, recurrence->start_at_ms, diag);
    if (!err) err = pawl__check_time("end_at_ms", PAWL__TIME_INSTANT, recurrence->end_at_ms, diag);
    if (!err) {
        err = pawl__check_time("anchor_at_ms", PAWL__TIME_INSTANT, recurrence->anchor_at_ms, diag);
    }
    if (err) return err;
    if (recurrence->end_at_ms && recurrence->end_at_ms <= recurrence->start_at_ms) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "end_at_ms",
                                "end_at_ms must be after start_at_ms");
    }
    for (size_t i = 0; recurrence->instants && i < recurrence->instant_count; i++) {
        err = pawl__check_time("instants", PAWL__TIME_INSTANT, recurrence->instants[i], diag);
        if (err) return err;
    }
    return PAWL_OK;
}

/* What belongs to a single job. */
static enum pawl_err check_single(const struct pawl_job_spec *job, struct pawl_diag *diag)
{
    const struct {
        const char *field;
        bool given;
    } single[] = { { "job.id", job->id != NULL },
                   { "job.delay_ms", job->delay_ms != 0 },
                   { "job.due_at_ms", job->due_at_ms != 0 },
                   { "job.expires_at_ms", job->expires_at_ms != 0 },
                   { "job.sla_soft_at_ms", job->sla_soft_at_ms != 0 },
                   { "job.sla_hard_at_ms", job->sla_hard_at_ms != 0 },
                   { "job.idempotency_key", job->idempotency_key != NULL },
                   { "job.idempotency_ms", job->idempotency_ms != 0 },
                   { "job.pending", job->pending } };
    for (size_t i = 0; i < sizeof single / sizeof *single; i++) {
        if (!single[i].given) continue;
        return pawl__fail_field(diag, PAWL_ERR_ARG, single[i].field,
                                "%s is about a single job, and must not be set for all jobs of a "
                                "schedule",
                                single[i].field);
    }
    return PAWL_OK;
}

/* Members that each job gets must not be there already, and there must be room for them. */
static enum pawl_err check_meta(struct pawl_span meta, struct pawl__arena *arena,
                                struct pawl_diag *diag)
{
    enum { ROOM = 2048 };
    struct pawl__json json;
    if (!meta.len) return PAWL_OK;
    if (meta.len > PAWL_META_BYTES_MAX - ROOM) {
        return pawl__fail_field(diag, PAWL_ERR_LIMIT, "job.meta", "meta is longer than %d bytes",
                                PAWL_META_BYTES_MAX - ROOM);
    }
    enum pawl_err err = pawl__json_parse(meta, PAWL_JSON_DEPTH_MAX, arena, &json, diag);
    if (err) return err;
    static const char *const names[] = { "cron_name", "cron_triggered_at" };
    for (size_t i = 0; i < 2; i++) {
        if (!pawl__json_member(&json, 0, names[i])) continue;
        return pawl__fail_field(diag, PAWL_ERR_ARG, "job.meta",
                                "meta must not have \"%s\", which each job gets", names[i]);
    }
    return PAWL_OK;
}

/* The field of a job is one of `job` here. */
static void name_in_job(struct pawl_diag *diag)
{
    char field[sizeof diag->field];
    if (!diag || !diag->field[0]) return;
    int len = snprintf(field, sizeof field, "job.%.40s", diag->field);
    assert(len > 0);
    memcpy(diag->field, field, sizeof field);
}

static enum pawl_err check_job(const struct pawl_job_spec *job, struct pawl__arena *arena,
                               struct pawl__spec_texts *out, struct pawl_diag *diag)
{
    struct pawl_diag why = { 0 };
    enum pawl_err err = check_single(job, diag);
    if (err) return err;
    err = pawl__spec_check(job, arena, out, &why);
    if (err) {
        name_in_job(&why);
        if (diag) *diag = why;
        return err;
    }
    const struct {
        const char *field;
        size_t len;
    } parts[] = { { "job.args", out->spec.args.len }, { "job.extra", out->spec.extra.len } };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].len <= PAWL_SCHEDULE_PAYLOAD_BYTES_MAX) continue;
        return pawl__fail_field(diag, PAWL_ERR_LIMIT, parts[i].field, "%s is longer than %d bytes",
                                parts[i].field + sizeof "job." - 1,
                                PAWL_SCHEDULE_PAYLOAD_BYTES_MAX);
    }
    return check_meta(out->spec.meta, arena, diag);
}

/* `*past`: it would be fine if anything were to come. */
static enum pawl_err check_spec(const struct pawl_schedule_spec *spec, int64_t now_ms,
                                struct pawl__arena *arena, struct pawl__spec_texts *job, bool *past,
                                enum pawl_cron_reason *reason, struct pawl_diag *diag)
{
    static const struct pawl__text_rule rule = { "description",
                                                 PAWL_SCHEDULE_DESCRIPTION_BYTES_MAX };
    enum pawl_cron_reason why = PAWL_CRON_REASON_NONE;
    enum pawl_err err = pawl__check_schedule_name(spec->name, diag);
    if (!err) err = check_policies(spec, diag);
    if (!err) err = check_bounds(&spec->recurrence, diag);
    if (!err) err = pawl__check_utf8(&rule, spec->description, diag);
    if (!err && spec->meta.len) {
        err = pawl__check_json("meta", spec->meta, PAWL_META_BYTES_MAX, diag);
    }
    if (!err) err = check_job(&spec->job, arena, job, diag);
    if (err) return err;
    err = pawl_recurrence_check(&spec->recurrence, now_ms, &why, diag);
    if (reason && err) *reason = why;
    *past = err && why == PAWL_CRON_REASON_PAST;
    return err;
}

static const char *warning_of(const struct pawl_schedule_spec *spec)
{
    bool skips = !spec->overlap || spec->overlap == PAWL_OVERLAP_SKIP;
    if (spec->misfire == PAWL_MISFIRE_CATCH_UP && skips) {
        return "with overlap \"skip\" only the first job that is caught up is made: the others "
               "find that it has not ended";
    }
    return NULL;
}

enum pawl_err pawl_schedule_check(const struct pawl_schedule_spec *spec, int64_t now_ms,
                                  enum pawl_cron_reason *reason, const char **warning,
                                  struct pawl_diag *diag)
{
    assert(spec);
    struct pawl__arena arena = { 0 };
    struct pawl__spec_texts job;
    bool past;
    enum pawl_err err = check_spec(spec, now_ms, &arena, &job, &past, reason, diag);
    pawl__arena_release(&arena);
    if (!err && warning) *warning = warning_of(spec);
    return err;
}

/* ---- rows ---- */

static bool pack_instants(const struct pawl_recurrence *recurrence, struct pawl__arena *arena,
                          struct pawl_span *out)
{
    size_t count = recurrence->instant_count;
    int64_t *sorted = pawl__arena_alloc(arena, (count + 1) * sizeof *sorted);
    char *bytes = pawl__arena_alloc(arena, (count + 1) * 8);
    if (!sorted || !bytes) return false;
    if (count) memcpy(sorted, recurrence->instants, count * sizeof *sorted);
    count = pawl__instants_sort(sorted, count);
    for (size_t i = 0; i < count * 8; i++) {
        bytes[i] = (char)((uint64_t)sorted[i / 8] >> (56 - i % 8 * 8));
    }
    *out = (struct pawl_span){ bytes, count * 8 };
    return true;
}

static int32_t traits_of(const struct pawl_schedule_spec *spec)
{
    return (spec->catch_up_paused ? PAWL__PLAN_CATCH_UP_PAUSED : 0) |
           (spec->disabled ? PAWL__PLAN_DISABLED : 0) |
           (spec->recurrence.anchor_at_ms ? PAWL__PLAN_ANCHOR_GIVEN : 0);
}

#define OR(value, other) ((value) ? (int32_t)(value) : (int32_t)(other))

static struct pawl__schedule_plan plan_of(const struct pawl_schedule_spec *given,
                                          const struct pawl__spec_texts *job)
{
    const struct pawl_recurrence *when = &given->recurrence;
    const struct pawl_job_spec *spec = &job->spec;
    bool catches = given->misfire == PAWL_MISFIRE_CATCH_UP;
    return (struct pawl__schedule_plan){
        .name = given->name,
        .expression = when->expression,
        .zone = when->zone && *when->zone ? when->zone : "UTC",
        .dialect = OR(when->dialect, PAWL_DIALECT_AUTO),
        .gap = OR(when->gap, PAWL_GAP_SKIP),
        .anchor_at_ms = when->anchor_at_ms,
        .start_at_ms = when->start_at_ms,
        .end_at_ms = when->end_at_ms,
        .overlap = OR(given->overlap, PAWL_OVERLAP_SKIP),
        .misfire = OR(given->misfire, PAWL_MISFIRE_ONCE),
        .catch_up = catches ? OR(given->catch_up, PAWL_CATCH_UP_DEFAULT) : 0,
        .late_max_ms = given->late_max_ms,
        .jitter_ms = given->jitter_ms,
        .max_runs = given->max_runs,
        .traits = traits_of(given),
        .description = given->description,
        .meta = given->meta,
        .type = spec->type,
        .queue = spec->queue,
        .args = spec->args,
        .job_meta = spec->meta,
        .extra = spec->extra,
        .tags = job->tags,
        .priority = spec->priority,
        .attempts_max = spec->retry.attempts_max,
        .expires_in_ms = spec->expires_in_ms,
        .timeout_ms = spec->timeout_ms,
        .lease_ms = spec->lease_ms,
        .keep_ms = spec->keep_ms,
        .retry = job->retry,
        .unique = job->unique,
        .business_key = spec->business_key,
        .principal = spec->principal,
        .trace_id = spec->trace_id,
        .on_success = job->on_success,
        .on_failure = job->on_failure,
    };
}

/* ---- put ---- */

/* Checked, and to be posted: `arena` has what it refers to. */
struct ready {
    struct pawl__arena arena;
    struct pawl__spec_texts texts;
    struct pawl__new_job job;
    struct pawl__new_schedule put;
};

static enum pawl_err prepare(struct pawl *pawl, const struct pawl_schedule_spec *spec,
                             const struct pawl_schedule_put_options *options, struct ready *out,
                             struct pawl_diag *diag)
{
    int64_t now_ms = pawl__clock_wall_ms(pawl->clock);
    bool past = false;
    *out = (struct ready){ .arena.chunks = NULL };
    enum pawl_err err = PAWL_OK;
    if (options && options->group) err = check_group(options->group, diag);
    if (!err && options) err = pawl__check_by(&(struct pawl_by){ .actor = options->actor }, diag);
    if (!err) err = check_spec(spec, now_ms, &out->arena, &out->texts, &past, NULL, diag);
    if (err && !past) return err;
    out->job = (struct pawl__new_job){ .spec = &out->texts.spec };
    out->put = (struct pawl__new_schedule){ .plan = plan_of(spec, &out->texts),
                                            .job = &out->job,
                                            .past = past };
    if (options) out->put.options = *options;
    bool packed = !spec->recurrence.instants ||
                  pack_instants(&spec->recurrence, &out->arena, &out->put.plan.instants);
    return packed ? PAWL_OK : pawl__fail_nomem(diag);
}

enum pawl_err pawl_schedule_put(struct pawl *pawl, const struct pawl_schedule_spec *spec,
                                const struct pawl_schedule_put_options *options,
                                struct pawl_schedule_put *out, struct pawl_diag *diag)
{
    assert(pawl && spec);
    struct ready ready;
    enum pawl_err err = prepare(pawl, spec, options, &ready, diag);
    if (!err) {
        struct pawl__op op = { .kind = PAWL__OP_SCHEDULE_PUT, .schedule_put.given = &ready.put };
        err = pawl__desk_do(pawl, &op, diag);
        if (!err && out) *out = op.schedule_put.out;
    }
    pawl__arena_release(&ready.arena);
    return err;
}

/* ---- by name ---- */

enum pawl_err pawl_schedule_remove(struct pawl *pawl, const char *name, int64_t version,
                                   struct pawl_diag *diag)
{
    assert(pawl);
    enum pawl_err err = pawl__check_schedule_name(name, diag);
    if (err) return err;
    struct pawl__op op = { .kind = PAWL__OP_SCHEDULE_DROP,
                           .schedule_drop = { .name = name, .version = version } };
    return pawl__desk_do(pawl, &op, diag);
}

static enum pawl_err control(struct pawl *pawl, const char *name, const struct pawl_by *by,
                             struct pawl__op *op, struct pawl_diag *diag)
{
    enum pawl_err err = pawl__check_schedule_name(name, diag);
    if (!err) err = pawl__check_by(by, diag);
    if (err) return err;
    op->kind = PAWL__OP_SCHEDULE_CONTROL;
    op->schedule_control.name = name;
    if (by) op->schedule_control.by = *by;
    return pawl__desk_do(pawl, op, diag);
}

enum pawl_err pawl_schedule_pause(struct pawl *pawl, const char *name, const struct pawl_by *by,
                                  bool *changed, struct pawl_diag *diag)
{
    assert(pawl);
    struct pawl__op op = { .schedule_control.control = PAWL__SCHEDULE_PAUSE };
    enum pawl_err err = control(pawl, name, by, &op, diag);
    if (!err && changed) *changed = op.schedule_control.changed;
    return err;
}

enum pawl_err pawl_schedule_resume(struct pawl *pawl, const char *name, const struct pawl_by *by,
                                   bool *changed, struct pawl_diag *diag)
{
    assert(pawl);
    struct pawl__op op = { .schedule_control.control = PAWL__SCHEDULE_RESUME };
    enum pawl_err err = control(pawl, name, by, &op, diag);
    if (!err && changed) *changed = op.schedule_control.changed;
    return err;
}

enum pawl_err pawl_schedule_run(struct pawl *pawl, const char *name, bool force,
                                const struct pawl_by *by, struct pawl_schedule_ran *out,
                                struct pawl_diag *diag)
{
    assert(pawl);
    struct pawl__op op = { .schedule_control = { .control = PAWL__SCHEDULE_RUN, .force = force } };
    enum pawl_err err = control(pawl, name, by, &op, diag);
    if (!err && out) *out = op.schedule_control.ran;
    return err;
}

/* ---- declared in code ---- */

static enum pawl_err check_declaration(struct pawl *pawl,
                                       const struct pawl_declaration *declaration,
                                       struct pawl_diag *diag)
{
    const struct pawl_schedule_put_options options = { .group = declaration->group };
    enum pawl_err err = check_group(declaration->group, diag);
    if (!err && declaration->count > PAWL_BATCH_MAX) {
        return pawl__fail_field(diag, PAWL_ERR_LIMIT, "count", "more than %d schedules",
                                PAWL_BATCH_MAX);
    }
    for (size_t i = 0; !err && i < declaration->count; i++) {
        struct ready ready;
        err = prepare(pawl, &declaration->specs[i], &options, &ready, diag);
        pawl__arena_release(&ready.arena);
        if (err && err != PAWL_ERR_NOMEM) pawl__diag_within(diag, i);
    }
    return err;
}

static enum pawl_err declare_one(struct pawl *pawl, const struct pawl_declaration *declaration,
                                 size_t at, struct pawl_declared *out, struct pawl_diag *diag)
{
    const struct pawl_schedule_put_options options = { .group = declaration->group };
    struct ready ready;
    enum pawl_err err = prepare(pawl, &declaration->specs[at], &options, &ready, diag);
    if (!err) {
        struct pawl__op op = { .kind = PAWL__OP_SCHEDULE_PUT, .schedule_put.given = &ready.put };
        err = pawl__desk_do(pawl, &op, diag);
        enum pawl_put put = err ? PAWL_PUT_NONE : op.schedule_put.out.put;
        out->created += put == PAWL_PUT_CREATED;
        out->changed += put == PAWL_PUT_CHANGED;
        out->unchanged += put == PAWL_PUT_UNCHANGED;
    }
    pawl__arena_release(&ready.arena);
    if (err && err != PAWL_ERR_NOMEM) pawl__diag_within(diag, at);
    return err;
}

/* When the first of them was declared, by the clock of the store: that of a server between may be
 * another. */
static enum pawl_err declared_at(struct pawl *pawl, const struct pawl_declaration *declaration,
                                 int64_t *at_ms, struct pawl_diag *diag)
{
    struct pawl_schedules first = { .at = NULL };
    enum pawl_err err = pawl_schedule_get(pawl, declaration->specs[0].name, &first, diag);
    if (!err) *at_ms = first.at[0].declared_at_ms;
    pawl_schedules_release(&first);
    return err;
}

enum pawl_err pawl_schedules_declare(struct pawl *pawl, const struct pawl_declaration *declaration,
                                     struct pawl_declared *out, struct pawl_diag *diag)
{
    assert(pawl && declaration && (declaration->specs || !declaration->count));
    struct pawl_declared done = { .created = 0 };
    enum pawl_err err = check_declaration(pawl, declaration, diag);
    for (size_t i = 0; !err && i < declaration->count; i++) {
        err = declare_one(pawl, declaration, i, &done, diag);
    }
    if (!err && declaration->count) err = declared_at(pawl, declaration, &done.at_ms, diag);
    if (err) return err;
    if (!done.at_ms) {
        done.at_ms = pawl__clock_wall_ms(pawl->clock); // nothing was asked of the store
    }
    if (out) *out = done;
    return PAWL_OK;
}

/* One that was declared in between stays. */
static enum pawl_err remove_old(struct pawl *pawl, const struct pawl_schedule *schedule,
                                int64_t before_ms, int64_t *removed, struct pawl_diag *diag)
{
    if (schedule->declared_at_ms >= before_ms) return PAWL_OK;
    struct pawl__op op = { .kind = PAWL__OP_SCHEDULE_DROP,
                           .schedule_drop = { .name = schedule->spec.name,
                                              .group = schedule->group,
                                              .declared_before_ms = before_ms } };
    enum pawl_err err = pawl__desk_do(pawl, &op, diag);
    *removed += !err;
    return err == PAWL_ERR_STALE || err == PAWL_ERR_NOT_FOUND ? PAWL_OK : err;
}

static enum pawl_err clean(struct pawl *pawl, const char *group, int64_t before_ms,
                           int64_t *removed, struct pawl_diag *diag)
{
    char after[PAWL_SCHEDULE_NAME_BYTES_MAX + 1] = "";
    enum pawl_err err = PAWL_OK;
    for (bool more = true; !err && more;) {
        const struct pawl_schedule_filter filter = { .group = group,
                                                     .after = after,
                                                     .limit = PAWL_PAGE_MAX };
        struct pawl_schedules page = { .at = NULL };
        err = pawl_schedules_get(pawl, &filter, &page, diag);
        for (size_t i = 0; !err && i < page.count; i++) {
            err = remove_old(pawl, &page.at[i], before_ms, removed, diag);
        }
        more = !err && page.more && page.count;
        if (more) snprintf(after, sizeof after, "%s", page.at[page.count - 1].spec.name);
        pawl_schedules_release(&page);
    }
    return err;
}

enum pawl_err pawl_schedules_clean(struct pawl *pawl, const char *group, int64_t declared_before_ms,
                                   int64_t lease_ms, int64_t *removed, struct pawl_diag *diag)
{
    enum { LEASE_MS = 60000 };
    char action[PAWL_SCHEDULE_GROUP_BYTES_MAX + 8];
    int64_t count = 0;
    assert(pawl);
    enum pawl_err err = check_group(group, diag);
    if (!err) err = pawl__check_time("lease_ms", PAWL__TIME_DURATION, lease_ms, diag);
    if (err) return err;
    snprintf(action, sizeof action, "cron.%s", group);
    err = pawl_startup_try(pawl, action, lease_ms ? lease_ms : LEASE_MS, diag);
    if (err) return err;
    err = clean(pawl, group, declared_before_ms, &count, diag);
    if (err) (void)!pawl_startup_release(pawl, action, NULL); // the next one may try
    if (removed) *removed = count;
    return err;
}
