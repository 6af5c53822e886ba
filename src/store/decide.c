/* See decide.h. */
#include "store/decide.h"

#include "base/diag.h"
#include "base/json.h"

#include <assert.h>
#include <string.h>
#include <inttypes.h>
#include <stdio.h>

/* ---- new jobs ---- */

/* Times that are given as durations count from the store's now. */
struct pawl__settled pawl__settle(const struct pawl_job_spec *spec,
                                  const struct pawl__settling *when)
{
    int64_t now_ms = when->now_ms, due_at_ms = when->due_at_ms;
    if (!due_at_ms) due_at_ms = spec->due_at_ms ? spec->due_at_ms : now_ms + spec->delay_ms;
    if (due_at_ms < now_ms) due_at_ms = now_ms;
    return (struct pawl__settled){
        .created_at_ms = now_ms,
        .due_at_ms = due_at_ms,
        .expires_at_ms = spec->expires_in_ms ? due_at_ms + spec->expires_in_ms
                                             : spec->expires_at_ms,
        .rank = pawl__rank(&(struct pawl__rank_of){ .due_at_ms = due_at_ms,
                                                    .priority = spec->priority,
                                                    .boost_ms = when->boost_ms,
                                                    .sla_soft_at_ms = spec->sla_soft_at_ms,
                                                    .sla_hard_at_ms = spec->sla_hard_at_ms }),
        .state = spec->pending        ? PAWL_STATE_PENDING
                 : due_at_ms > now_ms ? PAWL_STATE_SCHEDULED
                                      : PAWL_STATE_AVAILABLE,
    };
}

/* ---- runs ---- */

enum pawl_err pawl__policy_read(struct pawl_span json, int32_t attempts_max,
                                struct pawl__arena *arena, struct pawl_retry *out,
                                struct pawl_diag *diag)
{
    enum pawl_err err = pawl__retry_parse(json, arena, out, diag);
    if (err == PAWL_ERR_ARG) {
        return pawl__fail(diag, PAWL_ERR_CORRUPT,
                          "the store is damaged: a retry policy cannot be read");
    }
    out->attempts_max = attempts_max;
    return err;
}

/* Attempts that count, this one included. */
static int64_t charged(const struct pawl__run_facts *facts)
{
    return facts->run - facts->base_run - facts->free_runs;
}

static bool is_expired(const struct pawl__run_facts *facts)
{
    return facts->expires_at_ms && facts->expires_at_ms <= facts->now_ms;
}

static struct pawl__course give_back(void)
{
    return (struct pawl__course){ .events = { PAWL_EVENT_SNOOZE, PAWL_EVENT_DUE },
                                  .event_count = 2,
                                  .uncharged = true };
}

static struct pawl__course give_up(const char *reason, bool dead_letter)
{
    return (struct pawl__course){ .events = { PAWL_EVENT_EXHAUST },
                                  .event_count = 1,
                                  .reason = reason,
                                  .dead_letter = dead_letter,
                                  .fails = true,
                                  .delay_ms = -1 };
}

static struct pawl__course expire(enum pawl_event first, const char *reason)
{
    return (struct pawl__course){
        .events = { first, PAWL_EVENT_EXPIRE }, .event_count = 2, .reason = reason, .delay_ms = -1
    };
}

struct pawl__course pawl__course_failed(const struct pawl__run_facts *facts,
                                        const struct pawl_retry *retry,
                                        const struct pawl_report *report, struct pawl__rng *rng)
{
    struct pawl__verdict verdict = pawl__retry_decide(retry, report, charged(facts), rng);
    struct pawl__course course;
    switch (verdict.kind) {
    case PAWL__VERDICT_REQUEUE:
        return give_back();
    case PAWL__VERDICT_RETRY:
        if (is_expired(facts)) { // a retry after the job's time to live is no retry
            course = expire(PAWL_EVENT_FAIL, "expired after a failed attempt");
        } else {
            course = (struct pawl__course){ .events = { PAWL_EVENT_FAIL },
                                            .event_count = 1,
                                            .due_at_ms = facts->now_ms + verdict.delay_ms,
                                            .delay_ms = verdict.delay_ms };
        }
        course.fails = true;
        return course;
    default:
        return give_up(verdict.reason, verdict.kind == PAWL__VERDICT_DEAD_LETTER);
    }
}

struct pawl__course pawl__course_lapsed(const struct pawl__run_facts *facts,
                                        const struct pawl_retry *retry, int64_t crashes)
{
    bool dead_letter = retry->on_exhaustion == PAWL_EXHAUSTION_DEAD_LETTER;
    struct pawl__course course;
    if (crashes + 1 >= PAWL__CRASHES_MAX) {
        course = give_up("poison pill: its leases lapsed too often", dead_letter);
    } else if (charged(facts) >= retry->attempts_max) {
        course = give_up("attempts spent: its last lease lapsed", dead_letter);
    } else if (is_expired(facts)) {
        course = expire(PAWL_EVENT_LAPSE, "expired after its lease lapsed");
    } else {
        course = (struct pawl__course){ .events = { PAWL_EVENT_LAPSE }, .event_count = 1 };
    }
    course.fails = course.lapsed = true;
    return course;
}

struct pawl__course pawl__course_unknown(bool lapsed)
{
    struct pawl__course course = give_up("its retry policy is damaged", true);
    course.fails = true;
    course.lapsed = lapsed;
    return course;
}

struct pawl__course pawl__course_snoozed(const struct pawl__run_facts *facts, int64_t delay_ms)
{
    if (delay_ms <= 0) return give_back();
    struct pawl__course course;
    if (is_expired(facts)) {
        course = expire(PAWL_EVENT_SNOOZE, "expired after it snoozed");
    } else {
        course = (struct pawl__course){ .events = { PAWL_EVENT_SNOOZE },
                                        .event_count = 1,
                                        .due_at_ms = facts->now_ms + delay_ms };
    }
    course.uncharged = true;
    return course;
}

const char *pawl__report_type(const struct pawl_report *report)
{
    if (report->type && *report->type) return report->type;
    return report->error_class && *report->error_class ? report->error_class : report->code;
}

const struct pawl_report pawl__report_lapsed = {
    .type = "lease_lapsed",
    .code = "lease_lapsed",
    .message = "the worker did not renew its lease in time",
};

/* Claims and extensions that are not `timed` never let a lease end just then. */
int64_t pawl__lease_of(const struct pawl__lease_wish *wish)
{
    int64_t own_ms = wish->own_ms < PAWL_LEASE_MIN_MS ? PAWL_LEASE_MIN_MS : wish->own_ms;
    int64_t lease_ms = wish->own_ms ? own_ms : wish->lease_ms, timeout_ms = wish->timeout_ms;
    if (!timeout_ms) return lease_ms;
    if (wish->timed) return timeout_ms < lease_ms ? timeout_ms : lease_ms;
    return lease_ms + (lease_ms == timeout_ms);
}

bool pawl__run_is_timed(const struct pawl__run_facts *facts)
{
    return facts->timeout_ms && facts->lease_until_ms == facts->started_at_ms + facts->timeout_ms;
}

struct seconds {
    char text[32];
};

/* "1.5"; not with printf's %g, which writes a comma where the host's locale does. */
static struct seconds seconds_of(int64_t ms)
{
    struct seconds out;
    int len = snprintf(out.text, sizeof out.text, "%" PRId64 ".%03d", ms / 1000, (int)(ms % 1000));
    while (out.text[len - 1] == '0') {
        len--;
    }
    out.text[out.text[len - 1] == '.' ? len - 1 : len] = '\0';
    return out;
}

void pawl__timeout_tell(const struct pawl__run_facts *facts, struct pawl__timeout *out)
{
    struct seconds limit = seconds_of(facts->timeout_ms);
    struct seconds elapsed = seconds_of(facts->now_ms - facts->started_at_ms);
    snprintf(out->message, sizeof out->message, "the run took longer than %s s", limit.text);
    int len = snprintf(out->details, sizeof out->details,
                       "{\"timeout_kind\":\"execution\",\"limit_seconds\":%s,"
                       "\"elapsed_seconds\":%s}",
                       limit.text, elapsed.text);
    out->report = (struct pawl_report){ .type = "timeout",
                                        .code = "timeout",
                                        .message = out->message,
                                        .details = { out->details, (size_t)len } };
}

/* ---- controls ---- */

#define X(number, name, verb, event, ...) [PAWL_CONTROL_##name] = { PAWL_EVENT_##event, verb },
static const struct {
    enum pawl_event event;
    const char *verb;
} controls[PAWL_CONTROL_END] = { PAWL_CONTROLS(X) };
#undef X

bool pawl__control_revives(enum pawl_control control)
{
    return control == PAWL_CONTROL_RETRY || control == PAWL_CONTROL_PAUSE;
}

enum pawl_event pawl__control_event(enum pawl_control control)
{
    assert(control > PAWL_CONTROL_NONE && control < PAWL_CONTROL_END);
    return controls[control].event;
}

const char *pawl__control_verb(enum pawl_control control)
{
    assert(control > PAWL_CONTROL_NONE && control < PAWL_CONTROL_END);
    return controls[control].verb;
}

const char *pawl__control_reason(enum pawl_control control, const struct pawl_by *by)
{
    if (by->reason && *by->reason) return by->reason;
    switch (control) {
    case PAWL_CONTROL_CANCEL:
        return "cancelled on request";
    case PAWL_CONTROL_DISCARD:
        return "discarded on request";
    case PAWL_CONTROL_SKIP:
        return "skipped on request";
    default:
        return NULL;
    }
}

bool pawl__control_allowed(enum pawl_control control, enum pawl_state from,
                           enum pawl_state paused_from)
{
    return pawl__lifecycle_next(from, pawl__control_event(control), paused_from) != PAWL_STATE_NONE;
}

uint32_t pawl__control_states(enum pawl_control control)
{
    uint32_t mask = 0;
    for (int i = PAWL_STATE_NONE + 1; i < PAWL_STATE_END; i++) {
        enum pawl_state state = (enum pawl_state)i;
        bool can = control == PAWL_CONTROL_NONE
                       ? pawl_state_is_terminal(state)
                       : pawl__control_allowed(control, state, PAWL_STATE_SCHEDULED);
        if (can) mask |= PAWL_STATE_BIT(state);
    }
    return mask;
}

/* ---- keys ---- */

bool pawl__key_conflicts(const struct pawl__key *key, const struct pawl__holder *holder,
                         int64_t now_ms)
{
    if (key->kind == PAWL__KEY_IDEMPOTENCY) return !holder->until_ms || holder->until_ms > now_ms;
    if (!holder->known || !(key->states & PAWL_STATE_BIT(holder->state))) return false;
    return !key->period_ms || holder->created_at_ms + key->period_ms > now_ms;
}

bool pawl__key_forgets(const struct pawl__key *key, const struct pawl__holder *holder,
                       size_t *ended)
{
    if (holder->known && !pawl_state_is_terminal(holder->state)) return false;
    if (key->kind == PAWL__KEY_IDEMPOTENCY) return true;
    return ++*ended > PAWL__KEY_HOLDERS_KEPT || !holder->known;
}

int64_t pawl__key_until(const struct pawl__key *key, int64_t now_ms)
{
    bool timed = key->kind == PAWL__KEY_IDEMPOTENCY && key->period_ms;
    return timed ? now_ms + key->period_ms : 0;
}

/* The index of a job that this batch has submitted; `failed_index`, that of the job in hand, when
 * it is none of them. Ids behind that say nothing: the store may have jobs with them. */
static size_t index_in_batch(const struct pawl__op *op, struct pawl_job_id id)
{
    size_t i = 0;
    while (i < op->submit.failed_index && memcmp(&op->submit.jobs[i].id, &id, sizeof id) != 0) {
        i++;
    }
    return i;
}

enum pawl_err pawl__key_refuse(struct pawl__op *op, const struct pawl__key *key,
                               const struct pawl__holder *holder)
{
    static const char *const fields[] = { [PAWL__KEY_IDEMPOTENCY] = "idempotency_key",
                                          [PAWL__KEY_BUSINESS] = "business_key",
                                          [PAWL__KEY_UNIQUE] = "unique" };
    const char *field = fields[key->kind];
    const char *what = key->kind == PAWL__KEY_UNIQUE ? "unique key" : field;
    char text[PAWL_JOB_ID_TEXT_BYTES];
    size_t index = index_in_batch(op, holder->id);
    if (index <
        op->submit.failed_index) { // it is rolled back with this one: its id would mean nothing
        op->submit.holder = (struct pawl_submitted){ .state = PAWL_STATE_NONE };
        return pawl__fail_field(op->diag, PAWL_ERR_DUPLICATE, field,
                                "job [%zu] of the same batch has the same %s", index, what);
    }
    pawl_job_id_text(holder->id, text);
    op->submit.holder = (struct pawl_submitted){ .id = holder->id, .state = holder->state };
    return pawl__fail_field(op->diag, PAWL_ERR_DUPLICATE, field,
                            "job \"%s\", which is %s, holds the same %s", text,
                            pawl_state_name(holder->state, PAWL_VOCABULARY_PAWL), what);
}

/* ---- reads ---- */

bool pawl__progress_shows(const struct pawl_job *job, int64_t run)
{
    return job->state != PAWL_STATE_ACTIVE || job->run == run;
}

bool pawl__queue_is_listed(const struct pawl_queue_stats *queue, bool forgotten)
{
    for (int state = 1; forgotten && state < PAWL_STATE_END; state++) {
        if (queue->count[state]) return true;
    }
    return !forgotten;
}

enum pawl_err pawl__meta_has(struct pawl_span meta, const char *name, struct pawl_span value,
                             struct pawl__arena *scratch, bool *out)
{
    struct pawl__json json;
    *out = false;
    if (!meta.len) return PAWL_OK;
    enum pawl_err err = pawl__json_parse(meta, PAWL_JSON_DEPTH_MAX, scratch, &json, NULL);
    if (err) return err == PAWL_ERR_NOMEM ? err : PAWL_OK;
    if (json.tokens[0].type != PAWL__JSON_OBJECT) return PAWL_OK;
    uint32_t token = pawl__json_member(&json, 0, name);
    if (!token || json.tokens[token].type == PAWL__JSON_NULL) return PAWL_OK;
    struct pawl_span span = pawl__json_span(&json, token);
    if (json.tokens[token].type == PAWL__JSON_STRING) {
        span.at = pawl__json_string(&json, token, scratch, &span.len);
        if (!span.at) return PAWL_ERR_NOMEM;
    }
    *out = span.len == value.len && memcmp(span.at, value.at, value.len) == 0;
    return PAWL_OK;
}

/* ---- refusals ---- */

enum pawl_err pawl__fail_unknown(struct pawl_diag *diag, struct pawl_job_id id)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    return pawl__fail(diag, PAWL_ERR_NOT_FOUND, "there is no job \"%s\"", text);
}

enum pawl_err pawl__fail_state(struct pawl_diag *diag, struct pawl_job_id id, enum pawl_state state,
                               const char *verb)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    return pawl__fail(diag, PAWL_ERR_STATE, "cannot %s job \"%s\": it is %s", verb, text,
                      pawl_state_name(state, PAWL_VOCABULARY_PAWL));
}

enum pawl_err pawl__fail_stale(struct pawl_diag *diag, const struct pawl_run *ref,
                               enum pawl_state state, int64_t runs)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(ref->id, text);
    return pawl__fail(
        diag, PAWL_ERR_STALE, "run %lld of job \"%s\" is over: the job is %s and has had %lld runs",
        (long long)ref->run, text, pawl_state_name(state, PAWL_VOCABULARY_PAWL), (long long)runs);
}

enum pawl_err pawl__fail_told(struct pawl_diag *diag, const struct pawl_run *ref)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(ref->id, text);
    return pawl__fail(diag, PAWL_ERR_STALE,
                      "run %lld of job \"%s\" is over: its end has been reported",
                      (long long)ref->run, text);
}

/* ---- which jobs ---- */

bool pawl__claim_wants(const struct pawl__op *op, const char *type)
{
    if (op->claim.type_count == 0) return true;
    for (size_t i = 0; i < op->claim.type_count; i++) {
        if (pawl__type_matches(op->claim.types[i], type)) return true;
    }
    return false;
}
