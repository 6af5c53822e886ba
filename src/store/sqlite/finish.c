/* What the owner of a run does with it: complete, fail, snooze, extend. Every write names the run.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/sqlite/sqlite.h"

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
    return pawl__policy_read(json, place->attempts_max, arena, &out->retry, sq->diag);
}

static struct pawl__run_facts facts_of(const struct pawl__backend *sq,
                                       const struct pawl__sq_place *place, int64_t timeout_ms)
{
    return (struct pawl__run_facts){ .now_ms = sq->now_ms,
                                     .run = place->run,
                                     .base_run = place->base_run,
                                     .free_runs = place->free_runs,
                                     .expires_at_ms = place->expires_at_ms,
                                     .timeout_ms = timeout_ms,
                                     .started_at_ms = place->started_at_ms,
                                     .lease_until_ms = place->lease_until_ms };
}

static enum pawl_err record_failure(struct pawl__backend *sq, const struct pawl__sq_place *place,
                                    const struct pawl_report *report,
                                    const struct pawl__course *course)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_FAILURE_INSERT);
    pawl__sq_bind(stmt, SQL_FAILURE_INSERT_key, place->key);
    pawl__sq_bind(stmt, SQL_FAILURE_INSERT_run, place->run);
    pawl__sq_bind(stmt, SQL_FAILURE_INSERT_attempt, place->run - place->base_run);
    pawl__sq_bind(stmt, SQL_FAILURE_INSERT_lapsed, course->lapsed);
    pawl__sq_bind(stmt, SQL_FAILURE_INSERT_started_at_ms, place->started_at_ms);
    pawl__sq_bind(stmt, SQL_FAILURE_INSERT_failed_at_ms, sq->now_ms);
    if (course->delay_ms < 0) {
        pawl__sq_bind_some(stmt, SQL_FAILURE_INSERT_retry_delay_ms, 0);
    } else {
        pawl__sq_bind(stmt, SQL_FAILURE_INSERT_retry_delay_ms, course->delay_ms);
    }
    pawl__sq_bind_text(stmt, SQL_FAILURE_INSERT_worker, place->worker);
    pawl__sq_bind_text(stmt, SQL_FAILURE_INSERT_type, pawl__report_type(report));
    pawl__sq_bind_text(stmt, SQL_FAILURE_INSERT_code, report->code);
    pawl__sq_bind_text(stmt, SQL_FAILURE_INSERT_message, report->message);
    pawl__sq_bind_span(stmt, SQL_FAILURE_INSERT_details, report->details);
    enum pawl_err err = pawl__sq_run(&sq->writer, stmt, sq->diag);
    if (err || place->run <= PAWL__FAILURES_KEPT) return err;
    stmt = pawl__sq_use(&sq->writer, SQL_FAILURE_TRIM);
    pawl__sq_bind(stmt, SQL_FAILURE_TRIM_key, place->key);
    pawl__sq_bind(stmt, SQL_FAILURE_TRIM_run, place->run - PAWL__FAILURES_KEPT);
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}

static enum pawl_err follow(struct pawl__backend *sq, struct pawl__sq_place *place,
                            const struct pawl__course *course)
{
    place->free_runs += course->uncharged;
    return pawl__sq_move(sq, place, course->events, course->event_count,
                         &(struct pawl__sq_target){ .due_at_ms = course->due_at_ms,
                                                    .reason = course->reason,
                                                    .dead_letter = course->dead_letter });
}

static enum pawl_err record_and_follow(struct pawl__backend *sq, struct pawl__sq_place *place,
                                       const struct pawl_report *report,
                                       const struct pawl__course *course)
{
    enum pawl_err err = course->fails ? record_failure(sq, place, report, course) : PAWL_OK;
    return err ? err : follow(sq, place, course);
}

static enum pawl_err fail_run(struct pawl__backend *sq, struct pawl__sq_place *place,
                              const struct pawl_report *report, const struct policy *policy,
                              int64_t *delay_ms)
{
    struct pawl__run_facts facts = facts_of(sq, place, policy->timeout_ms);
    struct pawl__course course = pawl__course_failed(&facts, &policy->retry, report, &sq->rng);
    *delay_ms = course.delay_ms;
    return record_and_follow(sq, place, report, &course);
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

static enum pawl_err lose_run(struct pawl__backend *sq, struct pawl__sq_place *place,
                              const struct pawl_report *report, const struct policy *policy,
                              int64_t *delay_ms)
{
    int64_t crashes = 0;
    enum pawl_err err = count_crashes(sq, place, &crashes);
    if (err) return err;
    struct pawl__run_facts facts = facts_of(sq, place, policy->timeout_ms);
    struct pawl__course course = pawl__course_lapsed(&facts, &policy->retry, crashes);
    *delay_ms = course.delay_ms;
    return record_and_follow(sq, place, report, &course);
}

enum pawl_err pawl__sq_op_fail(struct pawl__backend *sq, struct pawl__op *op)
{
    struct pawl__sq_place place;
    enum pawl_err err = pawl__sq_place_owned(sq, &op->fail.ref, &place, op->diag);
    if (err) return err;
    struct policy policy;
    err = read_policy(sq, &place, &op->arena, &policy);
    if (err) return err;
    err = (op->fail.report.lapse ? lose_run : fail_run)(sq, &place, &op->fail.report, &policy,
                                                        &op->fail.delay_ms);
    if (err) return err;
    op->fail.to = place.state;
    op->fail.attempt = place.run - place.base_run;
    op->fail.due_at_ms = pawl_state_is_terminal(place.state) ? 0 : place.due_at_ms;
    return PAWL_OK;
}

enum pawl_err pawl__sq_op_snooze(struct pawl__backend *sq, struct pawl__op *op)
{
    struct pawl__sq_place place;
    enum pawl_err err = pawl__sq_place_owned(sq, &op->snooze.ref, &place, op->diag);
    if (err) return err;
    struct pawl__run_facts facts = facts_of(sq, &place, 0);
    struct pawl__course course = pawl__course_snoozed(&facts, op->snooze.delay_ms);
    return follow(sq, &place, &course);
}

/* `tail` NULL: the run of a displaced job. */
static enum pawl_err extend_row(struct pawl__backend *sq, int64_t key, const int64_t *tail,
                                const struct pawl__op *op, int64_t run, bool *extended)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_ACTIVE_EXTEND);
    pawl__sq_bind(stmt, SQL_ACTIVE_EXTEND_key, key);
    if (tail) pawl__sq_bind(stmt, SQL_ACTIVE_EXTEND_tail, *tail);
    if (!tail) pawl__sq_bind_null(stmt, SQL_ACTIVE_EXTEND_tail);
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
    const int64_t *tail = err || place.displaced ? NULL : &place.tail;
    if (!err) err = extend_row(sq, place.key, tail, op, ref->run, &extended);
    if (err && !pawl__err_is_own(err)) return err;
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
    enum pawl_err err = extend_row(sq, halves.head, &halves.tail, op, ref->run, &extended);
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

enum pawl_err pawl__sq_lapse_run(struct pawl__backend *sq, struct pawl__sq_place *place,
                                 struct pawl__arena *arena)
{
    struct policy policy;
    int64_t unused;
    enum pawl_err err = read_policy(sq, place, arena, &policy);
    if (err) return err;
    struct pawl__run_facts facts = facts_of(sq, place, policy.timeout_ms);
    if (!pawl__run_is_timed(&facts)) {
        return lose_run(sq, place, &pawl__report_lapsed, &policy, &unused);
    }
    struct pawl__timeout timeout = { .message = "" };
    pawl__timeout_tell(&facts, &timeout);
    return fail_run(sq, place, &timeout.report, &policy, &unused);
}
