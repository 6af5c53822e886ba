/* See course.h. */
#include "store/core/course.h"

#include "base/diag.h"

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

void pawl__timeout_describe(const struct pawl__run_facts *facts, struct pawl__timeout *out)
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
