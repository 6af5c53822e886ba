/* Converts specs to new jobs; the manual is intake.h. */
#include "store/store.h"

#include "base/check.h"
#include "base/diag.h"
#include "fields/fields.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* ---- payloads ---- */

struct payload_rule {
    const char *field;
    enum pawl__json_type type;
    const char *type_text;
    size_t bytes_max;
};

static const struct payload_rule rule_args = { "args", PAWL__JSON_ARRAY, "a JSON array",
                                               PAWL_PAYLOAD_BYTES_MAX };
static const struct payload_rule rule_meta = { "meta", PAWL__JSON_OBJECT, "a JSON object",
                                               PAWL_META_BYTES_MAX };
static const struct payload_rule rule_extra = { "extra", PAWL__JSON_OBJECT, "a JSON object",
                                                PAWL_PAYLOAD_BYTES_MAX };

static enum pawl_err check_payload(const struct payload_rule *rule, struct pawl_span text,
                                   struct pawl__arena *scratch, struct pawl__json *out,
                                   struct pawl_diag *diag)
{
    const char *field = rule->field;
    if (!text.at) return pawl__fail_field(diag, PAWL_ERR_ARG, field, "%s is missing", field);
    if (text.len > rule->bytes_max) {
        return pawl__fail_field(diag, PAWL_ERR_LIMIT, field, "%s is longer than %zu bytes", field,
                                rule->bytes_max);
    }
    struct pawl_diag found;
    enum pawl_err err = pawl__json_parse(text, PAWL_JSON_DEPTH_MAX, scratch, out, &found);
    if (err == PAWL_ERR_NOMEM) return pawl__fail_nomem(diag);
    if (err) return pawl__fail_field(diag, err, field, "%s: %s", field, found.text);
    if (out->tokens[0].type != rule->type) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, field, "%s must be %s", field, rule->type_text);
    }
    return PAWL_OK;
}

static enum pawl_err check_payloads(const struct pawl_job_spec *spec, struct pawl__arena *scratch,
                                    struct pawl__payloads *out, struct pawl_diag *diag)
{
    struct pawl__json extra;
    *out = (struct pawl__payloads){ .meta.count = 0 };
    enum pawl_err err = check_payload(&rule_args, spec->args, scratch, &out->args, diag);
    if (!err && spec->meta.len) {
        err = check_payload(&rule_meta, spec->meta, scratch, &out->meta, diag);
    }
    if (!err && spec->extra.len) {
        err = check_payload(&rule_extra, spec->extra, scratch, &extra, diag);
    }
    return err;
}

/* ---- the rest of a spec ---- */

static enum pawl_err check_id(const struct pawl_job_id *id, struct pawl_diag *diag)
{
    static const struct pawl_job_id nil;
    if (!id || memcmp(id, &nil, sizeof nil) != 0) return PAWL_OK;
    return pawl__fail_field(diag, PAWL_ERR_ARG, "id", "id must not be all zeroes");
}

/* False: not a time. */
static bool time_kind(enum pawl__spec_kind kind, enum pawl__time_kind *out)
{
    bool lasts = kind == PAWL__SPEC_KIND_MS, lease = kind == PAWL__SPEC_KIND_LEASE;
    *out = lasts ? PAWL__TIME_DURATION : lease ? PAWL__TIME_LEASE : PAWL__TIME_INSTANT;
    return lasts || lease || kind == PAWL__SPEC_KIND_AT;
}

static enum pawl_err check_times(const struct pawl_job_spec *spec, struct pawl_diag *diag)
{
    for (size_t i = 0; i < PAWL__SPEC_END; i++) {
        const struct pawl__spec_field *field = &pawl__spec_fields[i];
        const void *at = (const char *)spec + field->offset;
        enum pawl__time_kind kind;
        if (!time_kind(field->kind, &kind)) continue;
        enum pawl_err err = pawl__check_time(field->name, kind, *(const int64_t *)at, diag);
        if (err) return err;
    }
    if (spec->delay_ms && spec->due_at_ms) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "due_at_ms",
                                "due_at_ms and delay_ms cannot both be given");
    }
    if (spec->expires_in_ms && spec->expires_at_ms) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "expires_at_ms",
                                "expires_at_ms and expires_in_ms cannot both be given");
    }
    if (spec->sla_hard_at_ms && spec->sla_soft_at_ms > spec->sla_hard_at_ms) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "sla_soft_at_ms",
                                "sla_soft_at_ms must not be after sla_hard_at_ms");
    }
    return PAWL_OK;
}

static enum pawl_err check_texts(const struct pawl_job_spec *spec, struct pawl_diag *diag)
{
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < PAWL__SPEC_END; i++) {
        const struct pawl__spec_field *field = &pawl__spec_fields[i];
        const struct pawl__text_rule rule = { field->name, PAWL_KEY_BYTES_MAX };
        const char *const *text = (const void *)((const char *)spec + field->offset);
        if (field->kind == PAWL__SPEC_KIND_KEY && *text) {
            err = pawl__check_text(&rule, *text, diag);
        } else if (field->kind == PAWL__SPEC_KIND_NOTE) {
            err = pawl__check_optional(&rule, *text, diag);
        }
    }
    return err;
}

static enum pawl_err check_keys(const struct pawl_job_spec *spec, struct pawl_diag *diag)
{
    if (spec->idempotency_ms && !spec->idempotency_key) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "idempotency_ms",
                                "idempotency_ms needs an idempotency_key");
    }
    return pawl__unique_check(&spec->unique, diag);
}

/* Checks everything except payloads and tags, which are checked where they are parsed. */
static enum pawl_err check_members(const struct pawl_job_spec *spec, struct pawl_diag *diag)
{
    enum pawl_err err = check_id(spec->id, diag);
    if (!err) err = pawl__check_type(spec->type, diag);
    if (!err) err = pawl__check_queue(spec->queue, diag);
    if (!err) err = pawl__check_priority(spec->priority, diag);
    if (!err) err = check_times(spec, diag);
    if (!err) err = check_texts(spec, diag);
    if (!err) err = check_keys(spec, diag);
    return err;
}

/* ---- parts stored as JSON ---- */

/* Copies the buffer's content to a span that lives as long as the jobs. */
static enum pawl_err keep(struct pawl__intake *intake, struct pawl_span *out,
                          struct pawl_diag *diag)
{
    struct pawl__buf *buf = &intake->buf;
    *out = (struct pawl_span){ .len = buf->len };
    if (buf->len) out->at = pawl__arena_dup(&intake->kept, buf->at, buf->len);
    if (buf->failed || (buf->len && !out->at)) return pawl__fail_nomem(diag);
    return PAWL_OK;
}

static bool is_among(const struct pawl__tag *tags, size_t count, const struct pawl__tag *tag)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(tags[i].text, tag->text) == 0) return true;
    }
    return false;
}

static enum pawl_err keep_tags(struct pawl__intake *intake, const struct pawl_job_spec *spec,
                               struct pawl_span *out, struct pawl_diag *diag)
{
    struct pawl__tag tags[PAWL_TAGS_MAX + 1]; // room for one too many
    size_t count = 0;
    if (spec->tag_count && !spec->tags) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "tags", "tags is missing");
    }
    pawl__buf_clear(&intake->buf);
    for (size_t i = 0; i < spec->tag_count; i++) {
        struct pawl__tag *tag = &tags[count];
        enum pawl_err err = pawl__tag_clean(spec->tags[i], "tags", tag, diag);
        if (err) {
            pawl__diag_index(diag, i);
            return err;
        }
        if (!tag->len || is_among(tags, count, tag)) continue;
        if (++count > PAWL_TAGS_MAX) {
            return pawl__fail_field(diag, PAWL_ERR_LIMIT, "tags", "tags has more than %d members",
                                    PAWL_TAGS_MAX);
        }
        pawl__buf_add_text(&intake->buf, count == 1 ? "[" : ",");
        pawl__buf_add_json(&intake->buf, tag->text, tag->len);
    }
    if (count) pawl__buf_add_text(&intake->buf, "]");
    return keep(intake, out, diag);
}

/* Completes the policy in place. */
static enum pawl_err keep_retry(struct pawl__intake *intake, struct pawl_retry *retry,
                                struct pawl_span *out, struct pawl_diag *diag)
{
    pawl__retry_resolve(retry);
    enum pawl_err err = pawl__retry_check(retry, diag);
    if (err) return err;
    pawl__buf_clear(&intake->buf);
    pawl__retry_print(retry, &intake->buf);
    return keep(intake, out, diag);
}

static enum pawl_err keep_unique(struct pawl__intake *intake, const struct pawl_unique *unique,
                                 struct pawl_span *out, struct pawl_diag *diag)
{
    pawl__buf_clear(&intake->buf);
    pawl__unique_print(unique, &intake->buf);
    return keep(intake, out, diag);
}

/* ---- follow-ups ---- */

/* Places the blame on a member of the follow-up. */
static enum pawl_err blame(const char *field, const struct pawl_diag *found, enum pawl_err err,
                           struct pawl_diag *diag)
{
    char path[sizeof found->field];
    if (err == PAWL_ERR_NOMEM) return pawl__fail_nomem(diag);
    snprintf(path, sizeof path, "%s%s%.40s", field, *found->field ? "." : "", found->field);
    return pawl__fail_field(diag, err, path, "%s: %s", field, found->text);
}

/* Its meta must leave room for what is added when it is made. */
static enum pawl_err check_follow_meta(const struct pawl_job_spec *spec,
                                       struct pawl__arena *scratch, struct pawl_diag *diag)
{
    static const char *const ours[] = { PAWL__PARENT_ID, PAWL__PARENT_STATE };
    struct pawl__json json;
    if (!spec->meta.len) return PAWL_OK;
    enum pawl_err err = pawl__json_parse(spec->meta, PAWL_JSON_DEPTH_MAX, scratch, &json, diag);
    for (size_t i = 0; !err && i < sizeof ours / sizeof *ours; i++) {
        if (!pawl__json_member(&json, 0, ours[i])) continue;
        err = pawl__fail_field(diag, PAWL_ERR_ARG, "meta",
                               "\"%s\" is set when the job is made, and cannot be given", ours[i]);
    }
    return err;
}

static enum pawl_err take(struct pawl__intake *intake, const struct pawl_job_spec *given, int depth,
                          struct pawl_job_spec *spec, struct pawl__new_job *job,
                          struct pawl_diag *diag);

static enum pawl_err take_follow(struct pawl__intake *intake, const struct pawl_job_spec *given,
                                 int depth, struct pawl_diag *diag)
{
    struct pawl_job_spec spec;
    struct pawl__new_job job = { .spec = NULL };
    if (depth > PAWL_FOLLOW_DEPTH_MAX) {
        return pawl__fail_field(diag, PAWL_ERR_LIMIT, "", "follow-ups are nested more than %d deep",
                                PAWL_FOLLOW_DEPTH_MAX);
    }
    if (given->id) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "id",
                                "id cannot be given: it is made with the job");
    }
    enum pawl_err err = take(intake, given, depth, &spec, &job, diag);
    if (!err) err = check_follow_meta(&spec, &intake->scratch, diag);
    if (err) return err;
    pawl__buf_clear(&intake->buf);
    pawl__follow_print(&spec, &job, &intake->buf);
    if (intake->buf.len > PAWL_FOLLOW_BYTES_MAX) {
        return pawl__fail_field(diag, PAWL_ERR_LIMIT, "", "%zu bytes of JSON, more than %d",
                                intake->buf.len, PAWL_FOLLOW_BYTES_MAX);
    }
    return PAWL_OK;
}

static enum pawl_err keep_follow(struct pawl__intake *intake, const char *field,
                                 const struct pawl_job_spec *given, int depth,
                                 struct pawl_span *out, struct pawl_diag *diag)
{
    struct pawl_diag found = { .err = PAWL_OK };
    *out = (struct pawl_span){ .len = 0 };
    if (!given) return PAWL_OK;
    enum pawl_err err = take_follow(intake, given, depth + 1, &found);
    return err ? blame(field, &found, err, diag) : keep(intake, out, diag);
}

int32_t pawl__follow_ties(const struct pawl__new_job *job)
{
    return (job->on_success.len ? PAWL__SUCCESS_TIE : 0) |
           (job->on_failure.len ? PAWL__FAILURE_TIE : 0);
}

/* ---- intake ---- */

void pawl__intake_release(struct pawl__intake *intake)
{
    pawl__arena_release(&intake->kept);
    pawl__arena_release(&intake->scratch);
    pawl__buf_release(&intake->buf);
}

/* Fills in the defaults that the checks need. */
static void complete(struct pawl_job_spec *spec)
{
    if (!spec->queue) spec->queue = "default";
    if (!spec->args.len) spec->args = (struct pawl_span){ "[]", 2 };
}

static enum pawl_err take(struct pawl__intake *intake, const struct pawl_job_spec *given, int depth,
                          struct pawl_job_spec *spec, struct pawl__new_job *job,
                          struct pawl_diag *diag)
{
    struct pawl__payloads payloads;
    *spec = *given;
    complete(spec);
    pawl__arena_reset(&intake->scratch);
    job->spec = spec;
    enum pawl_err err = check_members(spec, diag);
    if (!err) err = check_payloads(spec, &intake->scratch, &payloads, diag);
    if (!err) err = keep_tags(intake, spec, &job->tags, diag);
    if (!err) err = keep_retry(intake, &spec->retry, &job->retry, diag);
    if (!err) err = keep_unique(intake, &spec->unique, &job->unique, diag);
    if (!err) {
        err = pawl__keys_make(spec, &payloads, &intake->scratch, &intake->buf, job, diag);
    }
    if (!err) { // after the payloads, which are in `scratch`
        err = keep_follow(intake, "on_success", spec->on_success, depth, &job->on_success, diag);
    }
    if (!err) {
        err = keep_follow(intake, "on_failure", spec->on_failure, depth, &job->on_failure, diag);
    }
    if (err) return err;
    job->ties = pawl__follow_ties(job);
    return PAWL_OK;
}

enum pawl_err pawl__intake_take(struct pawl__intake *intake, const struct pawl_job_spec *given,
                                struct pawl_job_spec *spec, struct pawl__new_job *job,
                                struct pawl_diag *diag)
{
    return take(intake, given, 0, spec, job, diag);
}

enum pawl_err pawl__follow_check(const char *field, struct pawl_span text,
                                 struct pawl__arena *scratch, struct pawl_diag *diag)
{
    struct pawl__intake intake = { .kept.chunks = NULL };
    struct pawl_diag found = { .err = PAWL_OK };
    struct pawl_job_spec spec;
    struct pawl_span kept;
    if (!text.len) return PAWL_OK;
    enum pawl_err err = pawl__follow_parse(text, scratch, &spec, &found);
    if (err) return blame(field, &found, err, diag);
    err = keep_follow(&intake, field, &spec, 0, &kept, diag);
    pawl__intake_release(&intake);
    return err;
}

/* ---- checks without a store ---- */

static bool hand_over(struct pawl__arena *arena, struct pawl_span from, struct pawl_span *out)
{
    *out = (struct pawl_span){ .len = from.len };
    if (from.len) out->at = pawl__arena_dup(arena, from.at, from.len);
    return !from.len || out->at;
}

enum pawl_err pawl__spec_check(const struct pawl_job_spec *given, struct pawl__arena *arena,
                               struct pawl__spec_texts *out, struct pawl_diag *diag)
{
    struct pawl__intake intake = { .kept.chunks = NULL };
    struct pawl__new_job job = { .spec = NULL };
    enum pawl_err err = pawl__intake_take(&intake, given, &out->spec, &job, diag);
    bool kept = err || (hand_over(arena, job.tags, &out->tags) &&
                        hand_over(arena, job.retry, &out->retry) &&
                        hand_over(arena, job.unique, &out->unique) &&
                        hand_over(arena, job.on_success, &out->on_success) &&
                        hand_over(arena, job.on_failure, &out->on_failure));
    pawl__intake_release(&intake);
    return kept ? err : pawl__fail_nomem(diag);
}
