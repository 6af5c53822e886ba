/* Schedules from JSON.
 *
 * 1. The members of the schedule are read first, over what is there already. All others are the
 *    job's, unless there is a "job_template".
 * 2. A job that changes is merged, member by member, with the template that is there, printed; the
 *    result is read as a job that is submitted. So a client may name one option alone. */
#include "http/ojs/cron.h"

#include "http/ojs/jobs.h"

#include <assert.h>
#include <string.h>

/* ---- the schedule's members ---- */

struct draft {
    struct pawl_schedule_spec spec;
    uint32_t enabled; /* 1: true, 2: false, 0: not given */
    struct pawl_span job_template;
};

static bool is_name(const char *text)
{
    for (const char *at = text; *at; at++) {
        bool plain = (*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9');
        if (!plain && (at == text || (*at != '.' && *at != '-'))) return false;
    }
    return *text;
}

static const struct pawl__pattern name_pattern = {
    "^[a-z0-9][a-z0-9.-]*$", is_name,
    "must be lower-case letters, digits, \".\" and \"-\", a letter or digit first"
};

#define S struct draft
#define AS(text, kind, member, ...) PAWL__MEMBER(text, kind, S, member, __VA_ARGS__)
#define OURS(text) PAWL__WHOLE(text, NOTHING)
static const struct pawl__member members[] = {
    AS("name", TEXT, spec.name, .pattern = &name_pattern, .max = PAWL_SCHEDULE_NAME_BYTES_MAX),
    AS("expression", TEXT, spec.recurrence.expression),
    AS("cron", TEXT, spec.recurrence.expression, .flags = PAWL__ALIAS),
    AS("schedule", TEXT, spec.recurrence.expression, .flags = PAWL__ALIAS),
    AS("timezone", TEXT, spec.recurrence.zone),
    AS("dialect", WORD, spec.recurrence.dialect, .words = &pawl__ojs_dialect_words),
    AS("gap", WORD, spec.recurrence.gap, .words = &pawl__ojs_gap_words),
    AS("start_at", INSTANT, spec.recurrence.start_at_ms),
    AS("end_at", INSTANT, spec.recurrence.end_at_ms),
    AS("job_template", OBJECT, job_template),
    AS("overlap_policy", WORD, spec.overlap, .words = &pawl__ojs_overlap_words),
    AS("misfire_policy", WORD, spec.misfire, .words = &pawl__ojs_misfire_words),
    AS("catch_up", INT32, spec.catch_up),
    AS("late_max_ms", INT64, spec.late_max_ms),
    AS("jitter_ms", INT64, spec.jitter_ms),
    AS("max_runs", INT64, spec.max_runs),
    AS("catch_up_paused", BOOL, spec.catch_up_paused),
    AS("enabled", SWITCH, enabled),
    AS("description", TEXT, spec.description),
    // Whole schedules are sent back as they came.
    OURS("id"),
    OURS("words"),
    OURS("status"),
    OURS("state"),
    OURS("state_reason"),
    OURS("next_run_at"),
    OURS("last_run_at"),
    OURS("last_job_id"),
    OURS("run_count"),
    OURS("skip_count"),
    OURS("queued_count"),
    OURS("version"),
    OURS("created_at"),
    OURS("updated_at"),
};
/* In a reply "type", "args" and their kin are beside "job_template", which wins. */
const struct pawl__shape pawl__ojs_cron_request_shape = PAWL__SHAPE(S, members);
#undef S

/* What is not the schedule's is kept in `job`. False: answered. */
static bool read_schedule(struct pawl__request *request, struct draft *draft, struct pawl_span *job)
{
    struct pawl_diag diag = { 0 };
    struct pawl__shape_reader reader = { .arena = &request->arena,
                                         .diag = &diag,
                                         .unknown = PAWL__UNKNOWN_KEEP,
                                         .ctx = request,
                                         .null_is_absent = true,
                                         .now_ms = request->now_ms,
                                         .paths = true };
    if (!pawl__request_json(request, false, &reader.json)) return false;
    enum pawl_err err = pawl__shape_read(&reader, &pawl__ojs_cron_request_shape, 0, draft);
    enum pawl_err kept = pawl__shape_kept(&reader, err ? NULL : job);
    if (!err) err = kept;
    if (!err) return true;
    if (err != PAWL_ERR_ARG) return pawl__reply_err(request, err, &diag);
    return pawl__reply_refuse(request, PAWL__FAULT_INVALID_REQUEST,
                              diag.field[0] ? diag.field : "body", "%s", diag.text);
}

/* ---- the job ---- */

static bool is_object(const struct pawl__json *json, uint32_t token)
{
    assert(json->tokens);
    return json->tokens[token].type == PAWL__JSON_OBJECT;
}

/* Object `b` over object `a`: its members win, null takes one away; "options" member by member. */
static void merge(struct pawl__buf *out, const struct pawl__json *a, uint32_t a_object,
                  const struct pawl__json *b, uint32_t b_object)
{
    bool any = false;
    assert(a->tokens && b->tokens); // both were parsed
    pawl__buf_add(out, "{", 1);
    for (int pass = 0; pass < 2; pass++) {
        const struct pawl__json *json = pass ? b : a, *other = pass ? a : b;
        uint32_t object = pass ? b_object : a_object, name = pawl__json_first(object);
        for (uint32_t i = 0; i < json->tokens[object].count;
             i++, name = json->tokens[name + 1].next) {
            struct pawl_span text = pawl__json_span(json, name);
            const struct pawl_span inner = { text.at + 1, text.len - 2 };
            uint32_t theirs = pawl__json_member_span(other, pass ? a_object : b_object, inner);
            if (pass && theirs) continue; // done in the first pass
            uint32_t old = pass ? 0 : name + 1, new = pass ? name + 1 : theirs;
            const struct pawl__json *from = new ? b : a;
            uint32_t value = new ? new : old;
            if (from->tokens[value].type == PAWL__JSON_NULL) continue;
            pawl__buf_add(out, any ? "," : "", any);
            pawl__buf_add(out, text.at, text.len);
            pawl__buf_add(out, ":", 1);
            any = true;
            if (old && new &&is_object(a, old) && is_object(b, new) && inner.len == 7 &&
                memcmp(inner.at, "options", 7) == 0) {
                merge(out, a, old, b, new);
                continue;
            }
            struct pawl_span span = pawl__json_span(from, value);
            pawl__buf_add(out, span.at, span.len);
        }
    }
    pawl__buf_add(out, "}", 1);
}

/* False: answered. */
static bool parse(struct pawl__request *request, struct pawl_span text, struct pawl__json *out)
{
    struct pawl_diag diag = { 0 };
    struct pawl__json_rules rules = PAWL__BODY_JSON_RULES;
    enum pawl_err err = pawl__json_parse_by(text, &rules, &request->arena, out, &diag);
    return !pawl__reply_if_err(request, err, &diag);
}

/* The template that is there, or an empty one, with `job` over it. False: answered. */
static bool merge_job(struct pawl__request *request, const struct pawl_schedule *old,
                      struct pawl_span job, struct pawl__json *out)
{
    struct pawl__json base = { 0 }, over = { 0 };
    struct pawl__buf text = { 0 };
    if (old) {
        pawl__cron_print_template(&text, &old->spec.job, &request->arena);
    } else {
        pawl__buf_add_text(&text, "{\"args\":[]}");
    }
    const char *kept = text.failed ? NULL : pawl__arena_dup(&request->arena, text.at, text.len);
    const struct pawl_span printed = { kept, text.len };
    pawl__buf_clear(&text);
    bool ok = kept ? parse(request, printed, &base) && parse(request, job, &over)
                   : pawl__reply_nomem(request);
    if (ok) {
        merge(&text, &base, 0, &over, 0);
        kept = text.failed ? NULL : pawl__arena_dup(&request->arena, text.at, text.len);
        ok = kept ? parse(request, (struct pawl_span){ kept, text.len }, out)
                  : pawl__reply_nomem(request);
    }
    pawl__buf_release(&text);
    return ok;
}

/* What OJS cannot say stays as it is. */
static void keep_rest(const struct pawl_job_spec *old, struct pawl_job_spec *out)
{
    out->business_key = old->business_key;
    out->principal = old->principal;
    out->trace_id = old->trace_id;
    if (!out->on_success) out->on_success = old->on_success;
    if (!out->on_failure) out->on_failure = old->on_failure;
    if (!out->keep_ms) out->keep_ms = old->keep_ms;
    if (!out->expires_in_ms) out->expires_in_ms = old->expires_in_ms;
}

static bool has_expiry(const struct pawl__json *json)
{
    uint32_t options = pawl__json_member(json, 0, "options");
    return pawl__json_member(json, 0, "expires_at") ||
           (options && is_object(json, options) && pawl__json_member(json, options, "expires_at"));
}

static bool read_job(struct pawl__request *request, const struct pawl_schedule *old,
                     struct pawl_span job, struct pawl__cron_body *body)
{
    struct pawl__json json = { 0 };
    struct pawl__fault fault;
    struct pawl__envelope *envelope = pawl__arena_calloc(&request->arena, 1, sizeof *envelope);
    if (!envelope) return pawl__reply_nomem(request);
    if (!merge_job(request, old, job, &json)) return false;
    if (has_expiry(&json)) {
        return pawl__reply_invalid(request, "expires_at",
                                   "\"expires_at\" belongs to a single job; use \"enqueue_ttl\"");
    }
    struct pawl__envelope_rules rules = pawl__job_rules(request, &body->warnings);
    if (!pawl__envelope_read(&json, 0, &rules, &request->arena, envelope, &fault)) {
        return pawl__reply_fault(request, &fault);
    }
    if (envelope->rate_limit.len) {
        return pawl__reply_refuse(request, PAWL__FAULT_UNSUPPORTED, "rate_limit",
                                  "\"rate_limit\" of a recurring job is not supported; set that of "
                                  "its queue");
    }
    body->spec.job = envelope->spec;
    struct pawl_job_spec *spec = &body->spec.job;
    if (spec->expires_at_ms) { // so long after each job is due
        spec->expires_in_ms = spec->expires_at_ms - request->now_ms;
        spec->expires_at_ms = 0;
    }
    if (old) keep_rest(&old->spec.job, spec);
    return true;
}

/* ---- all ---- */

static bool changes(const struct draft *draft, const struct pawl_schedule_spec *before)
{
    // both are copies of one struct, so the bytes between its members are alike
    // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
    return draft->job_template.len || memcmp(&draft->spec, before, sizeof *before) != 0;
}

bool pawl__cron_read(struct pawl__request *request, const char *name,
                     const struct pawl_schedule *old, struct pawl__cron_body *out)
{
    struct draft draft = { .enabled = 0 };
    struct pawl_span job = { 0 };
    if (old) draft.spec = old->spec;
    struct pawl_schedule_spec before;
    memcpy(&before, &draft.spec, sizeof before);
    memset(out, 0, sizeof *out);
    if (!read_schedule(request, &draft, &job)) return false;
    if (name && draft.spec.name && strcmp(draft.spec.name, name) != 0) {
        return pawl__reply_invalid(request, "name", "\"name\" must be that of the path, \"%s\"",
                                   name);
    }
    out->changes = job.len || changes(&draft, &before);
    out->spec = draft.spec;
    out->enabled_given = draft.enabled != 0;
    if (draft.enabled) out->spec.disabled = draft.enabled == 2;
    if (name) out->spec.name = name;
    if (!out->spec.name) return pawl__reply_invalid(request, "name", "\"name\" is missing");
    if (draft.spec.recurrence.expression != before.recurrence.expression) {
        out->spec.recurrence.instants = NULL; // it had a list of instants, or another anchor
        out->spec.recurrence.instant_count = 0;
        out->spec.recurrence.anchor_at_ms = 0;
    } else if (!old) {
        return pawl__reply_invalid(request, "expression", "\"expression\" is missing");
    }
    if (draft.job_template.len) job = draft.job_template;
    if (!job.len && old) return true;
    if (!job.len) job = (struct pawl_span){ "{}", 2 };
    return read_job(request, old, job, out);
}

/* "job.queue" is "queue" in a job. */
static const char *field_of(const char *field)
{
    if (strcmp(field, "zone") == 0) return "timezone";
    if (strcmp(field, "overlap") == 0) return "overlap_policy";
    if (strcmp(field, "misfire") == 0) return "misfire_policy";
    return strncmp(field, "job.", 4) == 0 ? field + 4 : field;
}

bool pawl__cron_refuse(struct pawl__request *request, enum pawl_err err,
                       enum pawl_cron_reason reason, const struct pawl_diag *diag)
{
    struct pawl__fault fault = { 0 };
    if (err != PAWL_ERR_ARG) return pawl__reply_err(request, err, diag);
    pawl__refuse(&fault, PAWL__FAULT_INVALID_REQUEST, field_of(diag->field), "%s", diag->text);
    if (!reason) return pawl__reply_fault(request, &fault);
    return pawl__reply_fault_with(request, &fault,
                                  (const struct pawl__member[]){
                                      PAWL__HERE_TEXT("reason", pawl_cron_reason_code(reason)),
                                      PAWL__HERE_TEXT("error_code", "OJS-1007"),
                                      PAWL__HERE_TEXT("error_name", "INVALID_CRON_EXPRESSION"),
                                  },
                                  3);
}
