/* A run failed: POST /ojs/v1/workers/nack and /ojs/v1/jobs/{id}/nack.
 *
 * The library decides what follows from a failure. The failure is part of the job in the reply, so
 * the job is read again, on the pool.
 *
 * A report must not be refused for its wording, or the job would stay active. So members of "error"
 * that are of a wrong type are ignored, and long texts are cut. */
#include "http/local/local.h"
#include "http/ojs/nack_details.h"
#include "http/ojs/ojs.h"
#include "http/ojs/redact.h"
#include "http/ojs/report.h"

#include <string.h>

enum { NAME_BYTES_MAX = 255, MESSAGE_BYTES_MAX = 65536 };

/* A flag that may have any value. */
enum flag { FLAG_NONE, FLAG_TRUE, FLAG_FALSE };

struct nack {
    struct pawl__report walk; /* first */
    struct pawl_report report;
    char *type, *code, *class, *message; /* of the error; NULL: not given */
    uint32_t retryable, requeue;         /* enum flag */
    bool has_error;
    const char *queue;         /* NULL: not known here */
    int64_t limited_until_ms;  /* rate_limit_until; 0: none */
    struct pawl_failed failed; /* what became of the run */
};

/* ---- the request ---- */

#define FN(name)                                                                                   \
    static enum pawl_err name(struct pawl__shape_reader *reader,                                   \
                              const struct pawl__member *member, uint32_t token, void *base)

FN(read_text)
{
    char **at = (char **)((char *)base + member->offset);
    if (reader->json.tokens[token].type != PAWL__JSON_STRING) return PAWL_OK;
    *at = pawl__json_string(&reader->json, token, reader->arena, NULL);
    return *at ? PAWL_OK : PAWL_ERR_NOMEM;
}

FN(read_flag)
{
    enum pawl__json_type type = reader->json.tokens[token].type;
    *(uint32_t *)((char *)base + member->offset) = type == PAWL__JSON_TRUE    ? FLAG_TRUE
                                                   : type == PAWL__JSON_FALSE ? FLAG_FALSE
                                                                              : FLAG_NONE;
    return PAWL_OK;
}

FN(read_class)
{
    if (reader->json.tokens[token].type != PAWL__JSON_OBJECT) return PAWL_OK;
    uint32_t class = pawl__json_member(&reader->json, token, "error_class");
    return class ? read_text(reader, member, class, base) : PAWL_OK;
}

FN(read_until)
{
    if (reader->json.tokens[token].type != PAWL__JSON_STRING) return PAWL_OK;
    const struct pawl__member instant = { .name = member->name,
                                          .kind = PAWL__AS_INSTANT,
                                          .offset = member->offset };
    return pawl__shape_value(reader, &instant, token, base);
}

/* Before the members of the error are read. */
FN(read_details)
{
    struct nack *nack = base;
    if (reader->json.tokens[token].type != PAWL__JSON_OBJECT) return PAWL_OK; // refused next
    nack->has_error = true;
    nack->report.details = pawl__nack_details(&reader->json, token, reader->arena);
    return PAWL_OK;
}

#define S struct nack
#define TEXT(text, member)                                                                         \
    PAWL__MEMBER(text, OWN, S, member, .read = read_text, .wire = PAWL__AS_TEXT)
#define FLAG(text, member)                                                                         \
    PAWL__MEMBER(text, OWN, S, member, .read = read_flag, .wire = PAWL__AS_BOOL)
static const struct pawl__member error_members[] = {
    TEXT("code", code),
    TEXT("message", message),
    TEXT("type", type),
    FLAG("retryable", retryable),
    PAWL__MEMBER("details", OWN, S, class, .read = read_class),
    PAWL__WHOLE("backtrace", NOTHING), // see pawl__nack_details
    PAWL__MEMBER("rate_limit_until", OWN, S, limited_until_ms, .read = read_until,
                 .wire = PAWL__AS_INSTANT),
};
static const struct pawl__shape error_shape = PAWL__SHAPE(S, error_members);

static const struct pawl__member request_members[] = {
    PAWL__OWNER(S, walk.owner),
    FLAG("requeue", requeue),
    PAWL__WHOLE("error", ONE, .shape = &error_shape, .read = read_details),
};
const struct pawl__shape pawl__ojs_nack_request_shape = PAWL__SHAPE(S, request_members);
#undef S
#undef TEXT
#undef FLAG

/* NULL: there is none. */
static const char *name_of(char *text)
{
    if (!text || !*text) return NULL;
    text[pawl__nack_cut(text, strlen(text), NAME_BYTES_MAX)] = '\0';
    for (char *at = text; *at; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f) *at = ' ';
    }
    return text;
}

/* Without secrets, cut, in the arena; NULL: no memory. */
static const char *message_of(struct pawl__request *request, const char *text)
{
    struct pawl__buf clean = { 0 };
    pawl__redact(&clean, (struct pawl_span){ text, strlen(text) });
    size_t len = clean.failed ? 0 : pawl__nack_cut(clean.at, clean.len, MESSAGE_BYTES_MAX);
    const char *copy = clean.failed ? NULL : pawl__arena_dup(&request->arena, clean.at, len);
    pawl__buf_release(&clean);
    return copy;
}

static void fill_report(struct pawl__request *request, struct nack *nack)
{
    struct pawl_report *report = &nack->report;
    report->requeue = nack->requeue == FLAG_TRUE;
    if (!nack->has_error) return;
    report->not_retryable = nack->retryable == FLAG_FALSE;
    report->type = name_of(nack->type);
    report->code = name_of(nack->code);
    report->error_class = name_of(nack->class);
    if (nack->message) report->message = message_of(request, nack->message);
    if (!report->code && !report->type && !report->error_class) report->code = "handler_error";
}

/* ---- the reply ---- */

struct reply {
    struct pawl_job_id id;
    enum pawl_state state;
    int64_t attempt, max_attempts; /* max 0: not known */
    int64_t next_attempt_at_ms, retry_delay_ms, ended_at_ms;
    struct pawl__shown job;
};

#define S struct reply
static const struct pawl__member reply_members[] = {
    PAWL__MEMBER("job_id", ID, S, id, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("id", ID, S, id, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("state", WORD, S, state, .words = &pawl__ojs_state_words, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("attempt", INT64, S, attempt, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("next_attempt_at", INSTANT, S, next_attempt_at_ms),
    PAWL__MEMBER("retry_delay_ms", INT64, S, retry_delay_ms, .flags = PAWL__NEGATIVE),
    PAWL__MEMBER("discarded_at", INSTANT, S, ended_at_ms),
    PAWL__MEMBER("completed_at", INSTANT, S, ended_at_ms),
    PAWL__MEMBER("max_attempts", INT64, S, max_attempts),
    PAWL__SHOWN("job", S, job),
};
const struct pawl__shape pawl__ojs_nack_reply_shape = PAWL__SHAPE(S, reply_members);
#undef S

/* The job may have been fetched again already: the reply shows how this run left it. */
static void show_as_left(struct pawl_job *job, const struct nack *nack)
{
    if (job->state == nack->failed.to) return;
    job->state = nack->failed.to;
    job->attempt = nack->failed.attempt;
    job->due_at_ms = nack->failed.due_at_ms;
    job->started_at_ms = 0;
    job->finished_at_ms = pawl_state_is_terminal(job->state) ? nack->walk.now_ms : 0;
}

static void reply_failed(struct pawl__request *request)
{
    const struct nack *nack = request->state;
    const struct pawl_failed *failed = &nack->failed;
    bool retries = failed->to == PAWL_STATE_RETRYABLE;
    struct pawl_story story = { 0 };
    struct pawl__envelope_more more;
    struct reply reply = { .id = nack->walk.owner.id,
                           .state = failed->to,
                           .attempt = failed->attempt,
                           .next_attempt_at_ms = retries ? failed->due_at_ms : 0,
                           .retry_delay_ms = retries ? failed->delay_ms : -1 };
    if (pawl_state_is_terminal(failed->to)) reply.ended_at_ms = nack->walk.now_ms;
    if (!pawl_story_get(request->server->pawl, nack->walk.owner.id, &story, NULL)) {
        if (story.job.state == failed->to && story.job.finished_at_ms) {
            reply.ended_at_ms = story.job.finished_at_ms;
        }
        show_as_left(&story.job, nack);
        more = pawl__more_of(request, &story);
        reply.max_attempts = pawl__envelope_attempts_max(&story.job);
        reply.job = (struct pawl__shown){ &story.job, &more };
    }
    pawl__reply_shape(request, 200, &pawl__ojs_nack_reply_shape, &reply);
    pawl_story_release(&story);
}

/* ---- the steps of the walk ---- */

static enum pawl_err post(struct pawl__request *request, struct pawl__lease *lease,
                          struct pawl_diag *diag)
{
    struct nack *nack = request->state;
    struct pawl_run run = { lease->id, lease->run };
    nack->queue = pawl__arena_dup(&request->arena, lease->queue, strlen(lease->queue));
    return pawl_post_fail(request->server->pawl, &run, &nack->report, pawl__request_answered,
                          request, diag);
}

static void pause_queue(struct pawl__request *request, const struct nack *nack)
{
    if (!nack->limited_until_ms || !nack->queue) return;
    int64_t now_ms = pawl__server_now(request->server);
    int64_t wait_ms = nack->limited_until_ms - nack->walk.now_ms;
    pawl__rates_pause(request->server->rates, nack->queue, now_ms + wait_ms, now_ms);
}

static void posted(struct pawl__request *request, const struct pawl_answer *answer)
{
    struct nack *nack = request->state;
    nack->failed = answer->failed;
    pause_queue(request, nack);
    pawl__request_to_pool(request, reply_failed);
}

static enum pawl_err call(struct pawl__request *request, const struct pawl_run *run,
                          struct pawl_diag *diag)
{
    struct nack *nack = request->state;
    return pawl_fail(request->server->pawl, run, &nack->report, &nack->failed, diag);
}

static const struct pawl__report_kind kind = { post, posted, call, reply_failed, NULL };

void pawl__on_nack(struct pawl__request *request)
{
    struct nack *nack = pawl__request_state(request, sizeof *nack);
    if (!nack) return;
    nack->walk.kind = &kind;
    if (!pawl__request_read(request, &pawl__ojs_nack_request_shape, NULL, nack) ||
        !pawl__owner_find(request, &nack->walk.owner)) {
        return;
    }
    if (!nack->has_error && nack->requeue != FLAG_TRUE) {
        pawl__reply_invalid(request, "error", "\"error\" must be an object: what went wrong");
        return;
    }
    fill_report(request, nack);
    pawl__report_begin(request);
}
