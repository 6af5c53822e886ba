/* Submitting jobs: one, or a batch.
 *
 * This is the hot path: the envelope is read on the loop, posted, and the reply printed from what
 * was submitted; the store is asked again only where it alone knows how a job came out. A long body
 * would hold up everybody else on the loop: the pool reads it, and prints what comes of it. */
#include "fields/fields.h"
#include "http/local/local.h"
#include "http/ojs/rate_limit.h"
#include "http/ojs/ojs.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    SHORT_BYTES_MAX = 16384 /* of a body that is read on the loop */
};

/* Prefer: handling=strict (RFC 7240), alone or among others. */
static bool wants_strict(struct pawl__request *request)
{
    static const char strict[] = "handling=strict";
    const char *prefer = pawl__request_header(request, "prefer");
    for (const char *at = prefer ? prefer : ""; *at; at += strcspn(at, ",")) {
        at += strspn(at, ", \t");
        size_t len = strcspn(at, ",; \t");
        if (len == sizeof strict - 1 && strncasecmp(at, strict, len) == 0) return true;
    }
    return false;
}

struct pawl__envelope_rules pawl__job_rules(struct pawl__request *request,
                                            struct pawl__warnings *warnings)
{
    bool strict = wants_strict(request);
    if (strict) pawl__reply_header(request, "Preference-Applied", "handling=strict");
    return (struct pawl__envelope_rules){
        .now_ms = request->now_ms,
        .timeout_ms = PAWL__OJS_TIMEOUT_MS,
        .test_mode = request->server->config.test_mode,
        .tenant = pawl__request_header(request, "x-ojs-tenant"),
        .strict = strict,
        .warnings = warnings,
        .index = -1,
    };
}

/* A request to submit, on its way: one job, or a batch. */
struct submission {
    struct pawl__envelope *envelopes;
    struct pawl_job_spec *specs;
    size_t count;
    bool batch;
    struct pawl_submitted *submitted; /* copied out of the answer */
    int64_t now_ms;
    struct pawl__warnings warnings;
};

/* The job that a spec became, unless the store decided more than its id and state. */
static bool is_plain(const struct pawl_submitted *submitted)
{
    return !submitted->deduplicated && !submitted->replaced;
}

/* The tags that the store keeps, if it keeps them as they were given; otherwise the extra members
 * have them. Empty: none, or no memory, and then the reply fails. */
static struct pawl_span tags_of(struct pawl__request *request, const struct pawl_job_spec *spec)
{
    struct pawl__buf buf = { 0 };
    struct pawl_span out = { 0 };
    for (size_t i = 0; i < spec->tag_count; i++) {
        pawl__buf_add(&buf, i ? "," : "[", 1);
        pawl__buf_add_json(&buf, spec->tags[i], strlen(spec->tags[i]));
    }
    if (!buf.len) return out;
    pawl__buf_add(&buf, "]", 1);
    char *copy = buf.failed ? NULL : pawl__arena_dup(&request->arena, buf.at, buf.len);
    if (copy) out = (struct pawl_span){ copy, buf.len };
    if (!copy) request->reply.failed = true;
    pawl__buf_release(&buf);
    return out;
}

static struct pawl_job job_of(const struct pawl_job_spec *spec,
                              const struct pawl_submitted *submitted, int64_t now_ms)
{
    int64_t due_ms = spec->due_at_ms > now_ms ? spec->due_at_ms : now_ms + spec->delay_ms;
    struct pawl_job job = pawl__job_empty;
    job.id = submitted->id;
    job.type = spec->type;
    job.queue = spec->queue ? spec->queue : "default";
    job.state = submitted->state;
    if (job.state == PAWL_STATE_PENDING) job.hold = "submitter";
    job.priority = spec->priority;
    job.attempts_max = spec->retry.attempts_max ? spec->retry.attempts_max : 3;
    job.created_at_ms = now_ms;
    job.due_at_ms = due_ms;
    job.expires_at_ms = spec->expires_in_ms && !spec->expires_at_ms ? due_ms + spec->expires_in_ms
                                                                    : spec->expires_at_ms;
    job.timeout_ms = spec->timeout_ms;
    job.lease_ms = spec->lease_ms;
    job.keep_ms = spec->keep_ms;
    job.args = spec->args.len ? spec->args : (struct pawl_span){ "[]", 2 };
    job.meta = spec->meta;
    job.extra = spec->extra;
    return job;
}

/* `known` is what the store knows of each, or NULL. */
static void print_submitted(struct pawl__request *request, const struct submission *submission,
                            size_t i, const struct pawl_jobs *known)
{
    const struct pawl_job_spec *spec = &submission->specs[i];
    bool read = known && known[i].count;
    struct pawl_job job = read ? known[i].at[0]
                               : job_of(spec, &submission->submitted[i], submission->now_ms);
    if (!read) job.tags = tags_of(request, spec);
    if (submission->batch) {
        pawl__envelope_print(&request->reply, &job, NULL);
    } else {
        pawl__envelope_print_twice(&request->reply, &job, NULL);
    }
}

static void reply_submitted(struct pawl__request *request, const struct pawl_jobs *known)
{
    const struct submission *submission = request->state;
    bool again = !submission->batch && submission->submitted[0].deduplicated;
    if (submission->batch) pawl__buf_add_text(&request->reply, "{\"jobs\":[");
    for (size_t i = 0; i < submission->count; i++) {
        if (i) pawl__buf_add(&request->reply, ",", 1);
        print_submitted(request, submission, i, known);
    }
    if (submission->batch) {
        pawl__buf_printf(&request->reply, "],\"count\":%zu,\"enqueued\":%zu,\"failed\":0",
                         submission->count, submission->count);
    } else if (again) {
        pawl__buf_add_text(&request->reply, ",\"deduplicated\":true");
    }
    pawl__warnings_print(&request->reply, &submission->warnings);
    pawl__buf_add(&request->reply, "}", 1);
    if (!submission->batch && !again) {
        char id[PAWL_JOB_ID_TEXT_BYTES], location[64];
        pawl_job_id_text(submission->submitted[0].id, id);
        int len = snprintf(location, sizeof location, "/ojs/v1/jobs/%s", id);
        char *kept = pawl__arena_dup(&request->arena, location, (size_t)len);
        if (kept) pawl__reply_header(request, "Location", kept);
    }
    pawl__reply(request, again ? 200 : 201);
}

static bool is_long(const struct pawl__request *request)
{
    return request->body.len > SHORT_BYTES_MAX;
}

/* On the pool: there may be jobs of which the store knows more than we do. */
static void look_and_reply(struct pawl__request *request)
{
    const struct submission *submission = request->state;
    struct pawl_diag diag;
    struct pawl_jobs *known = pawl__arena_calloc(&request->arena, submission->count, sizeof *known);
    enum pawl_err err = known ? PAWL_OK : PAWL_ERR_NOMEM;
    for (size_t i = 0; !err && i < submission->count; i++) {
        if (is_plain(&submission->submitted[i])) continue;
        err = pawl_get(pawl__request_pawl(request), submission->submitted[i].id, &known[i], &diag);
        if (err == PAWL_ERR_NOT_FOUND) err = PAWL_OK; // gone already: what was asked for is shown
    }
    if (err) {
        pawl__reply_err(request, err, known ? &diag : NULL);
    } else {
        reply_submitted(request, known);
    }
    for (size_t i = 0; known && i < submission->count; i++) {
        pawl_jobs_release(&known[i]);
    }
}

void pawl__job_put_in_force(struct pawl__request *request, const struct pawl__envelope *envelope,
                            struct pawl_job_id id)
{
    const char *queue = envelope->spec.queue ? envelope->spec.queue : "default";
    if (envelope->rate_limit.len) pawl__rates_noted(request->server, queue, envelope->rate_limit);
    if (envelope->test_directive) {
        pawl__workers_directive(request->server, id, envelope->test_directive);
    }
}

static void put_in_force(struct pawl__request *request, const struct submission *submission)
{
    for (size_t i = 0; i < submission->count; i++) {
        pawl__job_put_in_force(request, &submission->envelopes[i], submission->submitted[i].id);
    }
    const struct pawl__envelope *first = &submission->envelopes[0];
    if (!submission->batch && first->rate_limit.len) {
        pawl__rates_headers(request, first->spec.queue ? first->spec.queue : "default");
    }
}

/* ---- refusing ---- */

#define S struct pawl_submitted
static const struct pawl__member holder_members[] = {
    PAWL__MEMBER("existing_job_id", ID, S, id),
    PAWL__MEMBER("existing_job_state", WORD, S, state, .words = &pawl__ojs_state_words),
};
const struct pawl__shape pawl__holder_shape = PAWL__SHAPE(S, holder_members);
#undef S

/* The field gets the path of the job, the details its index. */
bool pawl__job_refuse_in_batch(struct pawl__request *request, struct pawl__fault *fault,
                               size_t index, const struct pawl_submitted *holder)
{
    char field[sizeof fault->field + 32];
    snprintf(field, sizeof field, "jobs[%zu]%s%s", index, fault->field[0] ? "." : "", fault->field);
    snprintf(fault->field, sizeof fault->field, "%.*s", (int)sizeof fault->field - 1, field);
    const struct pawl__member members[] = { PAWL__HERE_INT("index", (int64_t)index),
                                            PAWL__PART(&pawl__holder_shape, holder) };
    return pawl__reply_fault_with(request, fault, members, holder ? 2 : 1);
}

/* The library names the field of a batch "[3].tags". The index is printed by us. */
static void cut_index(struct pawl__fault *fault)
{
    const char *end = fault->field[0] == '[' ? strchr(fault->field, ']') : NULL;
    if (!end) return;
    end += end[1] == '.' ? 2 : 1;
    memmove(fault->field, end, strlen(end) + 1);
}

void pawl__job_reply_refused(struct pawl__request *request, const struct pawl__refused *refused)
{
    struct pawl__fault fault = { 0 };
    bool clash = refused->err == PAWL_ERR_DUPLICATE || refused->err == PAWL_ERR_EXISTS;
    if (pawl_err_status(refused->err) >= 500) { // no job is to blame
        pawl__reply_err(request, refused->err, refused->diag);
        return;
    }
    pawl__refuse_err(&fault, refused->err, refused->diag);
    cut_index(&fault);
    if (clash) fault.kind = PAWL__FAULT_DUPLICATE;
    if (refused->batch && refused->index < refused->count) {
        pawl__job_refuse_in_batch(request, &fault, refused->index, clash ? &refused->holder : NULL);
    } else if (clash) {
        const struct pawl__member holder = PAWL__PART(&pawl__holder_shape, &refused->holder);
        pawl__reply_fault_with(request, &fault, &holder, 1);
    } else {
        pawl__reply_fault(request, &fault);
    }
}

/* ---- the answer ---- */

static void submitted(struct pawl__request *request, struct pawl_answer *answer)
{
    struct submission *submission = request->state;
    if (answer->err) {
        struct pawl__refused refused = { .err = answer->err,
                                         .diag = &answer->diag,
                                         .index = answer->failed_index,
                                         .count = submission->count,
                                         .holder = answer->holder,
                                         .batch = submission->batch };
        if (answer->err == PAWL_ERR_EXISTS && refused.index < submission->count) {
            refused.holder =
                (struct pawl_submitted){ .id = submission->envelopes[refused.index].id };
        }
        pawl__job_reply_refused(request, &refused);
        pawl_answer_free(answer);
        return;
    }
    bool plain = true;
    submission->now_ms = answer->now_ms;
    submission->submitted =
        pawl__arena_calloc(&request->arena, submission->count, sizeof *submission->submitted);
    if (!submission->submitted) {
        pawl_answer_free(answer);
        pawl__reply_nomem(request);
        return;
    }
    memcpy(submission->submitted, answer->submitted,
           submission->count * sizeof *submission->submitted);
    pawl_answer_free(answer);
    for (size_t i = 0; i < submission->count; i++) {
        plain = plain && is_plain(&submission->submitted[i]);
    }
    put_in_force(request, submission);
    if (plain && !is_long(request)) {
        reply_submitted(request, NULL);
    } else {
        pawl__request_to_pool(request, look_and_reply);
    }
}

static void post(struct pawl__request *request)
{
    struct submission *submission = request->state;
    struct pawl_diag diag;
    for (size_t i = 0; i < submission->count; i++) {
        submission->specs[i] = submission->envelopes[i].spec;
    }
    pawl__request_posting(request, submitted);
    enum pawl_err err = pawl_post_submit(pawl__request_pawl(request), submission->specs,
                                         submission->count, pawl__request_answered, request, &diag);
    if (!err) return;
    pawl__request_not_posted(request);
    pawl__job_reply_refused(request, &(struct pawl__refused){ .err = err,
                                                              .diag = &diag,
                                                              .index = pawl__blamed_index(&diag),
                                                              .count = submission->count,
                                                              .batch = submission->batch });
}

/* ---- reading ---- */

/* Into request->state. False: answered. */
static bool submission_new(struct pawl__request *request, size_t count, bool batch)
{
    struct pawl__arena *arena = &request->arena;
    struct submission *submission = pawl__arena_calloc(arena, 1, sizeof *submission);
    request->state = submission;
    if (submission) {
        submission->envelopes = pawl__arena_calloc(arena, count, sizeof *submission->envelopes);
        submission->specs = pawl__arena_calloc(arena, count, sizeof *submission->specs);
        submission->count = count;
        submission->batch = batch;
        if (submission->envelopes && submission->specs) return true;
    }
    return pawl__reply_nomem(request);
}

static bool read_one(struct pawl__request *request)
{
    struct pawl__json json;
    struct pawl__fault fault = { 0 };
    if (!pawl__request_json(request, false, &json) || !submission_new(request, 1, false)) {
        return false;
    }
    struct submission *submission = request->state;
    struct pawl__envelope_rules rules = pawl__job_rules(request, &submission->warnings);
    struct pawl__envelope *envelope = &submission->envelopes[0];
    if (!pawl__envelope_read(&json, 0, &rules, &request->arena, envelope, &fault)) {
        return pawl__reply_fault(request, &fault);
    }
    const char *key = pawl__request_header(request, "idempotency-key");
    if (key && !envelope->spec.idempotency_key) {
        envelope->spec.idempotency_key = key;
        envelope->spec.idempotency_ms = PAWL__OJS_KEY_MS;
    }
    return true;
}

/* The array `jobs` of the body; 0: answered. */
uint32_t pawl__jobs_array(struct pawl__request *request, const struct pawl__json *json)
{
    uint32_t jobs = pawl__json_member(json, 0, "jobs");
    if (!jobs || json->tokens[jobs].type != PAWL__JSON_ARRAY || !json->tokens[jobs].count) {
        pawl__reply_invalid(request, "jobs", "jobs must be an array of at least one job");
        return 0;
    }
    if (json->tokens[jobs].count > PAWL_BATCH_MAX) {
        pawl__reply_refuse(request, PAWL__FAULT_BATCH_SIZE, "jobs",
                           "%u jobs are more than the %d that one request may hold",
                           json->tokens[jobs].count, PAWL_BATCH_MAX);
        return 0;
    }
    return jobs;
}

static bool read_batch(struct pawl__request *request)
{
    struct pawl__json json;
    struct pawl__fault fault = { 0 };
    if (!pawl__request_json(request, false, &json)) return false;
    uint32_t jobs = pawl__jobs_array(request, &json);
    if (!jobs || !submission_new(request, json.tokens[jobs].count, true)) return false;
    struct submission *submission = request->state;
    struct pawl__envelope_rules rules = pawl__job_rules(request, &submission->warnings);
    uint32_t token = pawl__json_first(jobs);
    for (size_t i = 0; i < submission->count; i++) {
        rules.index = (int64_t)i;
        if (!pawl__envelope_read(&json, token, &rules, &request->arena, &submission->envelopes[i],
                                 &fault)) {
            return pawl__job_refuse_in_batch(request, &fault, i, NULL);
        }
        token = json.tokens[token].next;
    }
    return true;
}

/* Where a long body is read: see the top. */
#define X(name, read)                                                                              \
    static void name##_on_pool(struct pawl__request *request)                                      \
    {                                                                                              \
        if (read(request)) pawl__request_to_loop(request, post);                                   \
    }                                                                                              \
    void pawl__on_##name(struct pawl__request *request)                                            \
    {                                                                                              \
        if (is_long(request)) {                                                                    \
            pawl__request_to_pool(request, name##_on_pool);                                        \
        } else if (read(request)) {                                                                \
            post(request);                                                                         \
        }                                                                                          \
    }
X(submit, read_one)
X(submit_batch, read_batch)
#undef X
