/* What the owner of a run does with it: complete, fail, snooze, extend. Every write names the run.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/sqlite/sqlite.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The long way; most completions go with others, see gather.c. */
enum pawl_err pawl__sq_op_complete(struct pawl__backend *sq, struct pawl__op *op)
{
    static const enum pawl_event succeed[] = { PAWL_EVENT_SUCCEED };
    struct pawl__sq_place place;
    enum pawl_err err = pawl__sq_place_owned(sq, &op->complete.ref, &place, op->diag);
    if (err) return err;
    return pawl__sq_move(sq, &place, succeed, 1,
                         &(struct pawl__sq_target){ .result = op->complete.result });
}

struct policy {
    struct pawl_retry retry;
    int64_t timeout_ms; /* 0: no limit */
};

static enum pawl_err read_policy(struct pawl__backend *sq, const struct pawl__sq_place *place,
                                 struct pawl__arena *arena, struct policy *out)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_JOB_FACTS);
    pawl__sq_bind(stmt, SQL_JOB_FACTS_key, place->key);
    bool found;
    enum pawl_err err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag);
    if (err) return err;
    struct pawl_span json = { "", 0 };
    bool ok = found && pawl__sq_column_span(stmt, COL_RETRY, arena, &json);
    out->timeout_ms = found ? sqlite3_column_int64(stmt, COL_TIMEOUT) : 0;
    if (found) sqlite3_reset(stmt);
    if (!ok) return pawl__fail_nomem(sq->diag);
    err = pawl__retry_parse(json, arena, &out->retry, sq->diag);
    if (err == PAWL_ERR_ARG) {
        return pawl__fail(sq->diag, PAWL_ERR_CORRUPT,
                          "the store is damaged: a retry policy cannot be read");
    }
    out->retry.attempts_max = place->attempts_max;
    return err;
}

struct failure {
    bool lapsed;
    int64_t delay_ms; /* -1: no retry follows */
    const char *type, *code, *message;
    struct pawl_span details;
};

static enum pawl_err record_failure(struct pawl__backend *sq, const struct pawl__sq_place *place,
                                    const struct failure *failure)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_FAILURE_INSERT);
    pawl__sq_bind(stmt, SQL_FAILURE_INSERT_key, place->key);
    pawl__sq_bind(stmt, SQL_FAILURE_INSERT_run, place->run);
    pawl__sq_bind(stmt, SQL_FAILURE_INSERT_attempt, place->run - place->base_run);
    pawl__sq_bind(stmt, SQL_FAILURE_INSERT_lapsed, failure->lapsed);
    pawl__sq_bind(stmt, SQL_FAILURE_INSERT_started_at_ms, place->started_at_ms);
    pawl__sq_bind(stmt, SQL_FAILURE_INSERT_failed_at_ms, sq->now_ms);
    if (failure->delay_ms < 0) {
        pawl__sq_bind_some(stmt, SQL_FAILURE_INSERT_retry_delay_ms, 0);
    } else {
        pawl__sq_bind(stmt, SQL_FAILURE_INSERT_retry_delay_ms, failure->delay_ms);
    }
    pawl__sq_bind_text(stmt, SQL_FAILURE_INSERT_worker, place->worker);
    pawl__sq_bind_text(stmt, SQL_FAILURE_INSERT_type, failure->type);
    pawl__sq_bind_text(stmt, SQL_FAILURE_INSERT_code, failure->code);
    pawl__sq_bind_text(stmt, SQL_FAILURE_INSERT_message, failure->message);
    pawl__sq_bind_span(stmt, SQL_FAILURE_INSERT_details, failure->details);
    enum pawl_err err = pawl__sq_run(&sq->writer, stmt, sq->diag);
    if (err || place->run <= PAWL__FAILURES_KEPT) return err;
    stmt = pawl__sq_use(&sq->writer, SQL_FAILURE_TRIM);
    pawl__sq_bind(stmt, SQL_FAILURE_TRIM_key, place->key);
    pawl__sq_bind(stmt, SQL_FAILURE_TRIM_run, place->run - PAWL__FAILURES_KEPT);
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}

/* Gives the job back as if it had not been claimed, but for the number of the run. */
static enum pawl_err give_back(struct pawl__backend *sq, struct pawl__sq_place *place)
{
    static const enum pawl_event back[] = { PAWL_EVENT_SNOOZE, PAWL_EVENT_DUE };
    place->free_runs++;
    return pawl__sq_move(sq, place, back, 2, &(struct pawl__sq_target){ 0 });
}

static bool is_expired(const struct pawl__backend *sq, const struct pawl__sq_place *place)
{
    return place->expires_at_ms && place->expires_at_ms <= sq->now_ms;
}

/* A retry that comes after the job's time to live is no retry: it expires at once. */
static enum pawl_err retry_later(struct pawl__backend *sq, struct pawl__sq_place *place,
                                 int64_t delay_ms)
{
    static const enum pawl_event fail[] = { PAWL_EVENT_FAIL, PAWL_EVENT_EXPIRE };
    bool expired = is_expired(sq, place);
    struct pawl__sq_target target = { .due_at_ms = expired ? 0 : sq->now_ms + delay_ms,
                                      .reason = expired ? "expired after a failed attempt" : NULL };
    return pawl__sq_move(sq, place, fail, expired ? 2 : 1, &target);
}

static enum pawl_err give_up(struct pawl__backend *sq, struct pawl__sq_place *place,
                             const char *reason, bool dead_letter)
{
    static const enum pawl_event exhaust[] = { PAWL_EVENT_EXHAUST };
    struct pawl__sq_target target = { .reason = reason, .dead_letter = dead_letter };
    return pawl__sq_move(sq, place, exhaust, 1, &target);
}

/* The error's type as OJS tells it: what it calls itself, else its class, else its code. */
static const char *type_of(const struct pawl_report *report)
{
    if (report->type && *report->type) return report->type;
    return report->error_class && *report->error_class ? report->error_class : report->code;
}

static enum pawl_err follow_verdict(struct pawl__backend *sq, struct pawl__sq_place *place,
                                    const struct pawl_report *report,
                                    const struct pawl__verdict *verdict, int64_t *delay_ms)
{
    *delay_ms = 0;
    if (verdict->kind == PAWL__VERDICT_REQUEUE) return give_back(sq, place);
    bool again = verdict->kind == PAWL__VERDICT_RETRY && !is_expired(sq, place);
    struct failure failure = { .delay_ms = again ? verdict->delay_ms : -1,
                               .type = type_of(report),
                               .code = report->code,
                               .message = report->message,
                               .details = report->details };
    *delay_ms = failure.delay_ms;
    enum pawl_err err = record_failure(sq, place, &failure);
    if (err) return err;
    if (verdict->kind == PAWL__VERDICT_RETRY) return retry_later(sq, place, verdict->delay_ms);
    return give_up(sq, place, verdict->reason, verdict->kind == PAWL__VERDICT_DEAD_LETTER);
}

/* Attempts that count, this one included. */
static int64_t charged(const struct pawl__sq_place *place)
{
    return place->run - place->base_run - place->free_runs;
}

static enum pawl_err fail_run(struct pawl__backend *sq, struct pawl__sq_place *place,
                              const struct pawl_report *report, const struct pawl_retry *retry,
                              int64_t *delay_ms)
{
    struct pawl__verdict verdict = pawl__retry_decide(retry, report, charged(place), &sq->rng);
    return follow_verdict(sq, place, report, &verdict, delay_ms);
}

static enum pawl_err count_crashes(struct pawl__backend *sq, const struct pawl__sq_place *place,
                                   int64_t *out)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_FAILURE_CRASHES);
    pawl__sq_bind(stmt, SQL_FAILURE_CRASHES_key, place->key);
    pawl__sq_bind(stmt, SQL_FAILURE_CRASHES_base_run, place->base_run);
    bool found;
    enum pawl_err err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag);
    if (err || !found) return err;
    *out = sqlite3_column_int64(stmt, 0);
    sqlite3_reset(stmt);
    return PAWL_OK;
}

/* A run whose owner is gone. It counts as an attempt and as a crash; a job that keeps killing its
 * workers is a poison pill and ends, whatever its retries say. */
static enum pawl_err lose_run(struct pawl__backend *sq, struct pawl__sq_place *place,
                              const struct pawl_report *report, const struct pawl_retry *retry,
                              int64_t *delay_ms)
{
    static const enum pawl_event lapse[] = { PAWL_EVENT_LAPSE, PAWL_EVENT_EXPIRE };
    int64_t crashes = 0;
    enum pawl_err err = count_crashes(sq, place, &crashes);
    if (err) return err;
    bool poison = ++crashes >= PAWL__CRASHES_MAX;
    bool spent = charged(place) >= place->attempts_max;
    bool expired = is_expired(sq, place);
    *delay_ms = poison || spent || expired ? -1 : 0;
    struct failure failure = { .lapsed = true,
                               .delay_ms = *delay_ms,
                               .type = type_of(report),
                               .code = report->code,
                               .message = report->message,
                               .details = report->details };
    err = record_failure(sq, place, &failure);
    if (err) return err;
    bool dead_letter = retry->on_exhaustion == PAWL_EXHAUSTION_DEAD_LETTER;
    if (poison) {
        return give_up(sq, place, "poison pill: its leases lapsed too often", dead_letter);
    }
    if (spent) return give_up(sq, place, "attempts spent: its last lease lapsed", dead_letter);
    return pawl__sq_move(sq, place, lapse, expired ? 2 : 1,
                         &(struct pawl__sq_target){ .reason = expired ? "expired after its lease "
                                                                        "lapsed"
                                                                      : NULL });
}

enum pawl_err pawl__sq_op_fail(struct pawl__backend *sq, struct pawl__op *op)
{
    struct pawl__sq_place place;
    enum pawl_err err = pawl__sq_place_owned(sq, &op->fail.ref, &place, op->diag);
    if (err) return err;
    struct policy policy;
    err = read_policy(sq, &place, &op->arena, &policy);
    if (err) return err;
    err = (op->fail.report.lapse ? lose_run : fail_run)(sq, &place, &op->fail.report, &policy.retry,
                                                        &op->fail.delay_ms);
    if (err) return err;
    op->fail.to = place.state;
    op->fail.attempt = place.run - place.base_run;
    op->fail.due_at_ms = pawl_state_is_terminal(place.state) ? 0 : place.due_at_ms;
    return PAWL_OK;
}

enum pawl_err pawl__sq_op_snooze(struct pawl__backend *sq, struct pawl__op *op)
{
    static const enum pawl_event snooze[] = { PAWL_EVENT_SNOOZE, PAWL_EVENT_EXPIRE };
    struct pawl__sq_place place;
    enum pawl_err err = pawl__sq_place_owned(sq, &op->snooze.ref, &place, op->diag);
    if (err) return err;
    if (op->snooze.delay_ms <= 0) return give_back(sq, &place);
    place.free_runs++;
    bool expired = is_expired(sq, &place);
    struct pawl__sq_target target = {
        .due_at_ms = expired ? 0 : sq->now_ms + op->snooze.delay_ms,
        .reason = expired ? "expired after it snoozed" : NULL,
    };
    return pawl__sq_move(sq, &place, snooze, expired ? 2 : 1, &target);
}

static enum pawl_err extend_row(struct pawl__backend *sq, int64_t key, int64_t tail,
                                const struct pawl__op *op, int64_t run, bool *extended)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_ACTIVE_EXTEND);
    pawl__sq_bind(stmt, SQL_ACTIVE_EXTEND_key, key);
    pawl__sq_bind(stmt, SQL_ACTIVE_EXTEND_tail, tail);
    pawl__sq_bind(stmt, SQL_ACTIVE_EXTEND_run, run);
    pawl__sq_bind(stmt, SQL_ACTIVE_EXTEND_now_ms, sq->now_ms);
    pawl__sq_bind(stmt, SQL_ACTIVE_EXTEND_timed, op->extend.timed);
    pawl__sq_bind(stmt, SQL_ACTIVE_EXTEND_lease_until_ms, sq->now_ms + op->extend.lease_ms);
    enum pawl_err err = pawl__sq_run(&sq->writer, stmt, sq->diag);
    *extended = !err && sqlite3_changes(sq->writer.db) > 0;
    return err;
}

/* Not under its id's first half: gone, or stored under another key. */
static enum pawl_err extend_elsewhere(struct pawl__backend *sq, struct pawl__op *op, size_t i)
{
    const struct pawl_run *ref = &op->extend.refs[i];
    struct pawl__sq_place place;
    enum pawl_err err = pawl__sq_place_owned(sq, ref, &place, NULL);
    bool extended = false;
    if (!err) err = extend_row(sq, place.key, place.tail, op, ref->run, &extended);
    if (err && !pawl__sq_is_own(err)) return err;
    op->extend.results[i] = err ? err : extended ? PAWL_OK : PAWL_ERR_STALE;
    return PAWL_OK;
}

static enum pawl_err extend_one(struct pawl__backend *sq, struct pawl__op *op, size_t i)
{
    const struct pawl_run *ref = &op->extend.refs[i];
    struct pawl__sq_halves halves = pawl__sq_split(ref->id);
    op->extend.results[i] = PAWL_OK;
    if (!pawl__sq_is_key(ref->id)) return extend_elsewhere(sq, op, i);
    bool extended;
    enum pawl_err err = extend_row(sq, halves.head, halves.tail, op, ref->run, &extended);
    return err || extended ? err : extend_elsewhere(sq, op, i);
}

enum pawl_err pawl__sq_op_extend(struct pawl__backend *sq, struct pawl__op *op)
{
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < op->extend.count; i++) {
        err = extend_one(sq, op, i);
    }
    return err;
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

/* The run took longer than it may, and nobody but the store watched it. */
static enum pawl_err time_out(struct pawl__backend *sq, struct pawl__sq_place *place,
                              const struct policy *policy)
{
    char message[96], details[160];
    int64_t unused;
    struct seconds limit = seconds_of(policy->timeout_ms);
    struct seconds elapsed = seconds_of(sq->now_ms - place->started_at_ms);
    snprintf(message, sizeof message, "the run took longer than %s s", limit.text);
    int len = snprintf(details, sizeof details,
                       "{\"timeout_kind\":\"execution\",\"limit_seconds\":%s,"
                       "\"elapsed_seconds\":%s}",
                       limit.text, elapsed.text);
    struct pawl_report report = { .type = "timeout",
                                  .code = "timeout",
                                  .message = message,
                                  .details = { details, (size_t)len } };
    return fail_run(sq, place, &report, &policy->retry, &unused);
}

enum pawl_err pawl__sq_lapse_run(struct pawl__backend *sq, struct pawl__sq_place *place,
                                 struct pawl__arena *arena)
{
    static const struct pawl_report lapsed = {
        .type = "lease_lapsed",
        .code = "lease_lapsed",
        .message = "the worker did not renew its lease in time",
    };
    struct policy policy;
    int64_t unused;
    enum pawl_err err = read_policy(sq, place, arena, &policy);
    if (err) return err;
    // claims and extensions that are not `timed` never let a lease end just then
    bool timed = policy.timeout_ms &&
                 place->lease_until_ms == place->started_at_ms + policy.timeout_ms;
    return timed ? time_out(sq, place, &policy)
                 : lose_run(sq, place, &lapsed, &policy.retry, &unused);
}
