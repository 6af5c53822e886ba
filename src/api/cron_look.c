/* Reading schedules: rows become what callers put. */
#include "api/check.h"
#include "api/cron.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/json.h"
#include "fields/fields.h"

#include <assert.h>
#include <string.h>

static const char *shown(const char *text)
{
    return text ? text : "";
}

static const char *some(const char *text)
{
    return text && *text ? text : NULL;
}

static struct pawl_span some_span(struct pawl_span span)
{
    return span.len ? span : (struct pawl_span){ "", 0 };
}

/* ---- the parts ---- */

static bool read_instants(struct pawl_span bytes, struct pawl__arena *arena,
                          struct pawl_recurrence *out)
{
    size_t count = bytes.len / 8;
    int64_t *instants = pawl__arena_alloc(arena, (count + 1) * sizeof *instants);
    if (!instants) return false;
    for (size_t i = 0; i < count; i++) {
        uint64_t value = 0;
        for (size_t k = 0; k < 8; k++) {
            value = value << 8 | (uint8_t)bytes.at[i * 8 + k];
        }
        instants[i] = (int64_t)value;
    }
    out->instants = instants;
    out->instant_count = count;
    return true;
}

static bool read_recurrence(const struct pawl__schedule_plan *plan, struct pawl__arena *arena,
                            struct pawl_recurrence *out)
{
    bool given = plan->traits & PAWL__PLAN_ANCHOR_GIVEN;
    *out = (struct pawl_recurrence){ .expression = some(plan->expression),
                                     .zone = plan->zone,
                                     .dialect = (enum pawl_dialect)plan->dialect,
                                     .gap = (enum pawl_gap)plan->gap,
                                     .anchor_at_ms = given ? plan->anchor_at_ms : 0,
                                     .start_at_ms = plan->start_at_ms,
                                     .end_at_ms = plan->end_at_ms };
    return out->expression || read_instants(plan->instants, arena, out);
}

static enum pawl_err read_tags(struct pawl_span text, struct pawl__arena *arena,
                               struct pawl_job_spec *out)
{
    struct pawl__json json;
    if (!text.len) return PAWL_OK;
    enum pawl_err err = pawl__json_parse(text, PAWL_JSON_DEPTH_MAX, arena, &json, NULL);
    if (err) return err;
    size_t count = json.tokens[0].count;
    const char **tags = pawl__arena_alloc(arena, (count + 1) * sizeof *tags);
    if (!tags) return PAWL_ERR_NOMEM;
    uint32_t token = pawl__json_first(0);
    for (size_t i = 0; i < count; i++, token = json.tokens[token].next) {
        tags[i] = pawl__json_string(&json, token, arena, NULL);
        if (!tags[i]) return PAWL_ERR_NOMEM;
    }
    out->tags = tags;
    out->tag_count = count;
    return PAWL_OK;
}

/* What a policy need not say, since it is the default, is zero. */
static void shorten(struct pawl_retry *retry)
{
    struct pawl_retry usual = { .attempts_max = 0 };
    pawl__retry_resolve(&usual);
#define UNSAID(member)                                                                             \
    if (retry->member == usual.member) retry->member = 0;
#define UNSAID_I32(member) UNSAID(member)
#define UNSAID_I64(member) UNSAID(member)
#define UNSAID_REAL(member) UNSAID(member)
#define UNSAID_BACKOFF(member) UNSAID(member)
#define UNSAID_JITTER(member) UNSAID(member)
#define UNSAID_EXHAUSTION(member) UNSAID(member)
#define UNSAID_TEXTS(member)
#define X(member, kind, ...) UNSAID_##kind(member)
    PAWL__RETRY_FIELDS(X)
#undef X
}

static enum pawl_err read_job(const struct pawl__schedule_plan *plan, struct pawl__arena *arena,
                              struct pawl_job_spec *out)
{
    *out = (struct pawl_job_spec){ .type = plan->type,
                                   .queue = plan->queue,
                                   .args = plan->args,
                                   .meta = some_span(plan->job_meta),
                                   .extra = some_span(plan->extra),
                                   .priority = plan->priority,
                                   .expires_in_ms = plan->expires_in_ms,
                                   .timeout_ms = plan->timeout_ms,
                                   .lease_ms = plan->lease_ms,
                                   .keep_ms = plan->keep_ms,
                                   .business_key = some(plan->business_key),
                                   .principal = some(plan->principal),
                                   .trace_id = some(plan->trace_id) };
    enum pawl_err err = read_tags(plan->tags, arena, out);
    if (!err) err = pawl__retry_parse(plan->retry, arena, &out->retry, NULL);
    if (!err) {
        out->retry.attempts_max = plan->attempts_max;
        shorten(&out->retry);
    }
    if (!err && plan->unique.len) {
        err = pawl__unique_parse(plan->unique, arena, &out->unique, NULL);
    }
    if (!err) err = pawl__follow_read(plan->on_success, arena, &out->on_success, NULL);
    if (!err) err = pawl__follow_read(plan->on_failure, arena, &out->on_failure, NULL);
    return err;
}

/* ---- schedules ---- */

/* The clock of the store was set back, so that it is silent for longer than it says. */
static const char *reason_of(const struct pawl__schedule *row, int64_t now_ms)
{
    bool ahead = row->state == PAWL_SCHEDULE_ACTIVE && row->settled_at_ms > now_ms;
    return ahead ? "clock_back" : shown(row->reason);
}

static enum pawl_err view(const struct pawl__schedule *row, const struct pawl__schedule_plan *plan,
                          int64_t now_ms, struct pawl__arena *arena, struct pawl_schedule *out)
{
    *out = (struct pawl_schedule){
        .spec = { .name = row->name,
                  .overlap = (enum pawl_overlap)plan->overlap,
                  .misfire = (enum pawl_misfire)plan->misfire,
                  .catch_up = plan->catch_up,
                  .late_max_ms = plan->late_max_ms,
                  .jitter_ms = plan->jitter_ms,
                  .max_runs = plan->max_runs,
                  .catch_up_paused = plan->traits & PAWL__PLAN_CATCH_UP_PAUSED,
                  .disabled = plan->traits & PAWL__PLAN_DISABLED,
                  .description = shown(plan->description),
                  .meta = some_span(plan->meta) },
        .group = shown(row->group),
        .declared_at_ms = row->declared_at_ms,
        .state = (enum pawl_schedule_state)row->state,
        .reason = reason_of(row, now_ms),
        .anchor_at_ms = plan->anchor_at_ms,
        .next_at_ms = row->next_at_ms,
        .settled_at_ms = row->settled_at_ms,
        .last_at_ms = row->last_at_ms,
        .last_job = row->last_job,
        .runs = row->runs,
        .skips = row->skips,
        .queued = (int64_t)(row->queued.len / sizeof(struct pawl_job_id)),
        .version = row->version,
        .created_at_ms = row->created_at_ms,
        .updated_at_ms = row->updated_at_ms,
    };
    if (!read_recurrence(plan, arena, &out->spec.recurrence)) return PAWL_ERR_NOMEM;
    return read_job(plan, arena, &out->spec.job);
}

/* A schedule that came or went between the two statements of a read is left out. `limit`: one more
 * than was asked for; if so many were found there are more, whatever is left out. */
static enum pawl_err view_all(const struct pawl__schedule_rows *rows, int64_t limit, int64_t now_ms,
                              struct pawl__arena *arena, struct pawl_schedules *out,
                              struct pawl_diag *diag)
{
    enum pawl_err err = PAWL_OK;
    out->at = pawl__arena_calloc(arena, rows->schedules_count + 1, sizeof *out->at);
    if (!out->at) return pawl__fail_nomem(diag);
    out->more = limit && (int64_t)rows->schedules_count >= limit;
    for (size_t i = 0, k = 0; !err && i < rows->schedules_count; i++) {
        while (k < rows->plans_count && strcmp(rows->plans[k].name, rows->schedules[i].name) < 0) {
            k++;
        }
        bool both = k < rows->plans_count &&
                    strcmp(rows->plans[k].name, rows->schedules[i].name) == 0;
        if (!both) continue;
        err = view(&rows->schedules[i], &rows->plans[k], now_ms, arena, &out->at[out->count++]);
    }
    if (err == PAWL_ERR_NOMEM) return pawl__fail_nomem(diag);
    return err ? pawl__fail(diag, PAWL_ERR_CORRUPT,
                            "the store is damaged: a schedule cannot be read")
               : PAWL_OK;
}

static enum pawl_err read_rows(struct pawl *pawl, const struct pawl__schedule_ask *ask,
                               struct pawl_schedules *out, struct pawl_diag *diag)
{
    struct pawl__schedule_rows rows;
    struct pawl_schedules found = { .at = NULL };
    struct pawl__arena *owned = pawl__owned_new();
    if (!owned) return pawl__fail_nomem(diag);
    enum pawl_err err = pawl__store_schedules(pawl->store, ask, owned, &rows, diag);
    if (!err && rows.seen) {
        found = rows.seen->schedules;
    } else if (!err) {
        err = view_all(&rows, ask->limit, pawl__clock_wall_ms(pawl->clock), owned, &found, diag);
    }
    if (err) {
        pawl__owned_free(owned);
        return err;
    }
    found.owned = owned;
    *out = found;
    return PAWL_OK;
}

static enum pawl_err refuse_unknown(const char *name, struct pawl_diag *diag)
{
    return pawl__fail_field(diag, PAWL_ERR_NOT_FOUND, "name", "schedule \"%s\" not found", name);
}

enum pawl_err pawl_schedule_get(struct pawl *pawl, const char *name, struct pawl_schedules *out,
                                struct pawl_diag *diag)
{
    assert(pawl && out);
    enum pawl_err err = pawl__check_schedule_name(name, diag);
    if (err) return err;
    const struct pawl__schedule_ask ask = { .what = PAWL__SCHEDULE_ASK_ONE, .name = name };
    err = read_rows(pawl, &ask, out, diag);
    if (err || out->count) return err;
    pawl_schedules_release(out);
    return refuse_unknown(name, diag);
}

static enum pawl_err check_limit(int64_t limit, struct pawl_diag *diag)
{
    if (limit >= 0 && limit <= PAWL_PAGE_MAX) return PAWL_OK;
    return pawl__fail_field(diag, PAWL_ERR_ARG, "limit", "limit must be 1 to %d", PAWL_PAGE_MAX);
}

enum { LIMIT_DEFAULT = 50 };

enum pawl_err pawl_schedules_get(struct pawl *pawl, const struct pawl_schedule_filter *filter,
                                 struct pawl_schedules *out, struct pawl_diag *diag)
{
    static const struct pawl_schedule_filter all;
    assert(pawl && out);
    if (!filter) filter = &all;
    enum pawl_err err = check_limit(filter->limit, diag);
    if (err) return err;
    int64_t limit = filter->limit ? filter->limit : LIMIT_DEFAULT;
    const struct pawl__schedule_ask ask = { .what = PAWL__SCHEDULE_ASK_LIST,
                                            .name = shown(filter->after),
                                            .states = filter->states,
                                            .prefix = shown(filter->name_prefix),
                                            .group = shown(filter->group),
                                            .limit = limit + 1 };
    err = read_rows(pawl, &ask, out, diag);
    if (!err && (int64_t)out->count > limit) out->count = (size_t)limit;
    return err;
}

struct pawl_recurrence pawl_schedule_recurrence(const struct pawl_schedule *schedule)
{
    struct pawl_recurrence recurrence = schedule->spec.recurrence;
    recurrence.anchor_at_ms = schedule->anchor_at_ms;
    return recurrence;
}

void pawl_schedules_release(struct pawl_schedules *schedules)
{
    if (!schedules) return;
    pawl__owned_free(schedules->owned);
    *schedules = (struct pawl_schedules){ .at = NULL };
}

/* ---- history ---- */

static struct pawl_firing view_firing(const struct pawl__firing *row)
{
    enum pawl_skip skip = (enum pawl_skip)row->skip;
    bool skipped = row->kind == PAWL_FIRING_SKIPPED;
    return (struct pawl_firing){ .number = row->number,
                                 .at_ms = row->at_ms,
                                 .kind = (enum pawl_firing_kind)row->kind,
                                 .skip = skip,
                                 .first_at_ms = row->first_at_ms,
                                 .last_at_ms = row->last_at_ms,
                                 .count = row->count,
                                 .due_at_ms = row->due_at_ms,
                                 .job = row->job,
                                 .queued = row->queued,
                                 .cancelled = row->cancelled,
                                 .reason = skipped ? pawl_skip_text(skip) : shown(row->reason),
                                 .detail = shown(row->detail),
                                 .actor = shown(row->actor) };
}

static enum pawl_err view_history(const struct pawl__schedule_rows *rows, const char *name,
                                  struct pawl__arena *arena, struct pawl_firings *out,
                                  struct pawl_diag *diag)
{
    if (!rows->schedules_count) return refuse_unknown(name, diag);
    out->at = pawl__arena_alloc(arena, (rows->firings_count + 1) * sizeof *out->at);
    if (!out->at) return pawl__fail_nomem(diag);
    for (size_t i = 0; i < rows->firings_count; i++) {
        out->at[out->count++] = view_firing(&rows->firings[i]);
    }
    return PAWL_OK;
}

enum pawl_err pawl_schedule_history(struct pawl *pawl, const char *name, int64_t before,
                                    int64_t limit, struct pawl_firings *out, struct pawl_diag *diag)
{
    assert(pawl && out);
    struct pawl_firings found = { .at = NULL };
    struct pawl__schedule_rows rows;
    enum pawl_err err = pawl__check_schedule_name(name, diag);
    if (!err) err = check_limit(limit, diag);
    if (err) return err;
    if (!limit) limit = LIMIT_DEFAULT;
    const struct pawl__schedule_ask ask = { .what = PAWL__SCHEDULE_ASK_HISTORY,
                                            .name = name,
                                            .before = before > 0 ? before : INT64_MAX,
                                            .limit = limit + 1 };
    struct pawl__arena *owned = pawl__owned_new();
    if (!owned) return pawl__fail_nomem(diag);
    err = pawl__store_schedules(pawl->store, &ask, owned, &rows, diag);
    if (!err && rows.seen) {
        found = rows.seen->firings;
    } else if (!err) {
        err = view_history(&rows, name, owned, &found, diag);
    }
    if (err) {
        pawl__owned_free(owned);
        return err;
    }
    if ((int64_t)found.count > limit) {
        found.count = (size_t)limit;
        found.more = true;
    }
    found.owned = owned;
    *out = found;
    return PAWL_OK;
}

void pawl_firings_release(struct pawl_firings *firings)
{
    if (!firings) return;
    pawl__owned_free(firings->owned);
    *firings = (struct pawl_firings){ .at = NULL };
}
