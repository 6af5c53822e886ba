/* What the owner of a run does with it: complete, fail, snooze, extend. Every write names the run.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

#include <stdlib.h>
#include <string.h>

/* The long way; most completions go with others, see gather.c. */
enum pawl_err pawl__pg_op_complete(struct pawl__backend *pg, struct pawl__op *op)
{
    static const enum pawl_event succeed[] = { PAWL_EVENT_SUCCEED };
    struct pawl__pg_place place;
    enum pawl_err err = pawl__pg_place_owned(pg, &op->complete.ref, &place, op->diag);
    if (err) return err;
    return pawl__pg_move(pg, &place, succeed, 1,
                         &(struct pawl__pg_target){ .result = op->complete.result });
}

static struct pawl__run_facts facts_of(const struct pawl__backend *pg,
                                       const struct pawl__pg_place *place)
{
    return (struct pawl__run_facts){ .now_ms = pg->now_ms,
                                     .run = place->run,
                                     .base_run = place->base_run,
                                     .free_runs = place->free_runs,
                                     .expires_at_ms = place->expires_at_ms,
                                     .timeout_ms = place->timeout_ms,
                                     .started_at_ms = place->started_at_ms,
                                     .lease_until_ms = place->lease_until_ms };
}

static void record_failure(struct pawl__backend *pg, const struct pawl__pg_place *place,
                           const struct pawl_report *report, const struct pawl__course *course)
{
    struct pawl__pg_conn *conn = &pg->writer;
    pawl__pg_call(conn, PG_FAILURE_INSERT);
    pawl__pg_bind_id(conn, PG_FAILURE_INSERT_id, &place->id);
    pawl__pg_bind(conn, PG_FAILURE_INSERT_run, place->run);
    pawl__pg_bind(conn, PG_FAILURE_INSERT_attempt, place->run - place->base_run);
    pawl__pg_bind_bool(conn, PG_FAILURE_INSERT_lapsed, course->lapsed);
    pawl__pg_bind(conn, PG_FAILURE_INSERT_started_at_ms, place->started_at_ms);
    pawl__pg_bind(conn, PG_FAILURE_INSERT_failed_at_ms, pg->now_ms);
    pawl__pg_bind(conn, PG_FAILURE_INSERT_retry_delay_ms, course->delay_ms);
    if (course->delay_ms < 0) pawl__pg_bind_null(conn, PG_FAILURE_INSERT_retry_delay_ms);
    pawl__pg_bind_string(conn, PG_FAILURE_INSERT_worker, place->worker);
    pawl__pg_bind_text(conn, PG_FAILURE_INSERT_type, pawl__report_type(report));
    pawl__pg_bind_text(conn, PG_FAILURE_INSERT_code, report->code);
    pawl__pg_bind_text(conn, PG_FAILURE_INSERT_message, report->message);
    pawl__pg_bind_span(conn, PG_FAILURE_INSERT_details, report->details);
    pawl__pg_send(conn);
    if (place->run <= PAWL__FAILURES_KEPT) return;
    pawl__pg_call(conn, PG_FAILURE_TRIM);
    pawl__pg_bind_id(conn, PG_FAILURE_TRIM_id, &place->id);
    pawl__pg_bind(conn, PG_FAILURE_TRIM_run, place->run - PAWL__FAILURES_KEPT);
    pawl__pg_send(conn);
}

static enum pawl_err follow(struct pawl__backend *pg, struct pawl__pg_place *place,
                            const struct pawl__course *course)
{
    place->free_runs += course->uncharged;
    return pawl__pg_move(pg, place, course->events, course->event_count,
                         &(struct pawl__pg_target){ .due_at_ms = course->due_at_ms,
                                                    .reason = course->reason,
                                                    .dead_letter = course->dead_letter });
}

static enum pawl_err record_and_follow(struct pawl__backend *pg, struct pawl__pg_place *place,
                                       const struct pawl_report *report,
                                       const struct pawl__course *course)
{
    if (course->fails) record_failure(pg, place, report, course);
    return follow(pg, place, course);
}

static enum pawl_err fail_run(struct pawl__backend *pg, struct pawl__pg_place *place,
                              const struct pawl_report *report, const struct pawl_retry *retry,
                              int64_t *delay_ms)
{
    struct pawl__run_facts facts = facts_of(pg, place);
    struct pawl__course course = pawl__course_failed(&facts, retry, report, &pg->rng);
    *delay_ms = course.delay_ms;
    return record_and_follow(pg, place, report, &course);
}

static enum pawl_err count_crashes(struct pawl__backend *pg, const struct pawl__pg_place *place,
                                   int64_t *out)
{
    pawl__pg_call(&pg->writer, PG_FAILURE_CRASHES);
    pawl__pg_bind_id(&pg->writer, PG_FAILURE_CRASHES_id, &place->id);
    pawl__pg_bind(&pg->writer, PG_FAILURE_CRASHES_base_run, place->base_run);
    PGresult *row;
    enum pawl_err err = pawl__pg_ask(&pg->writer, &row, pg->diag);
    if (!err) *out = pawl__pg_int(row, 0, 0);
    return err;
}

static enum pawl_err lose_run(struct pawl__backend *pg, struct pawl__pg_place *place,
                              const struct pawl_report *report, const struct pawl_retry *retry,
                              int64_t *delay_ms)
{
    int64_t crashes = 0;
    enum pawl_err err = count_crashes(pg, place, &crashes);
    if (err) return err;
    struct pawl__run_facts facts = facts_of(pg, place);
    struct pawl__course course = pawl__course_lapsed(&facts, retry, crashes);
    *delay_ms = course.delay_ms;
    return record_and_follow(pg, place, report, &course);
}

enum pawl_err pawl__pg_op_fail(struct pawl__backend *pg, struct pawl__op *op)
{
    struct pawl__pg_place place;
    enum pawl_err err = pawl__pg_place_owned(pg, &op->fail.ref, &place, op->diag);
    if (err) return err;
    struct pawl_retry retry;
    err = pawl__policy_read(place.retry, place.attempts_max, &op->arena, &retry, pg->diag);
    if (err) return err;
    err = (op->fail.report.lapse ? lose_run : fail_run)(pg, &place, &op->fail.report, &retry,
                                                        &op->fail.delay_ms);
    if (err) return err;
    op->fail.to = place.state;
    op->fail.attempt = place.run - place.base_run;
    op->fail.due_at_ms = pawl_state_is_terminal(place.state) ? 0 : place.due_at_ms;
    return PAWL_OK;
}

enum pawl_err pawl__pg_op_snooze(struct pawl__backend *pg, struct pawl__op *op)
{
    struct pawl__pg_place place;
    enum pawl_err err = pawl__pg_place_owned(pg, &op->snooze.ref, &place, op->diag);
    if (err) return err;
    struct pawl__run_facts facts = facts_of(pg, &place);
    struct pawl__course course = pawl__course_snoozed(&facts, op->snooze.delay_ms);
    return follow(pg, &place, &course);
}

static void list_refs(struct pawl__backend *pg, const struct pawl__op *op)
{
    struct pawl__pg_list *ids = &pg->gather.lists[0], *runs = &pg->gather.lists[1];
    pawl__pg_list_begin(ids, PAWL__PG_IDS);
    pawl__pg_list_begin(runs, PAWL__PG_INTS);
    for (size_t i = 0; i < op->extend.count; i++) {
        pawl__pg_list_add_id(ids, op->extend.refs[i].id);
        pawl__pg_list_add(runs, op->extend.refs[i].run);
    }
}

static int compare_refs(const void *a, const void *b)
{
    const struct pawl_run *left = a, *right = b;
    int way = memcmp(left->id.b, right->id.b, sizeof left->id.b);
    return way ? way : left->run < right->run ? -1 : left->run > right->run;
}

/* The runs that were extended, in order. */
static enum pawl_err extend_all(struct pawl__backend *pg, struct pawl__op *op,
                                struct pawl_run **out, size_t *count)
{
    struct pawl__pg_conn *conn = &pg->writer;
    pawl__pg_call(conn, PG_JOB_EXTEND);
    pawl__pg_bind(conn, PG_JOB_EXTEND_lease_until_ms, pg->now_ms + op->extend.lease_ms);
    pawl__pg_bind_bool(conn, PG_JOB_EXTEND_timed, op->extend.timed);
    pawl__pg_bind_list(conn, PG_JOB_EXTEND_ids, &pg->gather.lists[0]);
    pawl__pg_bind_list(conn, PG_JOB_EXTEND_runs, &pg->gather.lists[1]);
    pawl__pg_bind(conn, PG_JOB_EXTEND_now_ms, pg->now_ms);
    PGresult *rows;
    enum pawl_err err = pawl__pg_ask(conn, &rows, pg->diag);
    if (err) return err;
    *count = (size_t)PQntuples(rows);
    *out = pawl__arena_alloc(&pg->arena, (*count + 1) * sizeof **out);
    if (!*out) return pawl__fail_nomem(pg->diag);
    for (size_t i = 0; i < *count; i++) {
        struct pawl_job_id id = pawl__pg_id(rows, (int)i, 0);
        const char *worker = pawl__pg_text(rows, (int)i, 3, &pg->arena);
        if (!worker) return pawl__fail_nomem(pg->diag);
        (*out)[i] = (struct pawl_run){ id, pawl__pg_int(rows, (int)i, 1) };
        pawl__pg_roll_lease(pg, pawl__pg_int(rows, (int)i, 2), worker, id);
    }
    qsort(*out, *count, sizeof **out, compare_refs);
    return PAWL_OK;
}

/* Not extended: lost, if there is such a job. */
static enum pawl_err find_lost(struct pawl__backend *pg, struct pawl__op *op)
{
    pawl__pg_call(&pg->writer, PG_JOB_KNOWN_MANY);
    pawl__pg_bind_list(&pg->writer, PG_JOB_KNOWN_MANY_ids, &pg->gather.lists[0]);
    PGresult *rows;
    enum pawl_err err = pawl__pg_ask(&pg->writer, &rows, pg->diag);
    for (int i = 0; !err && i < PQntuples(rows); i++) {
        enum pawl_err *result = &op->extend.results[pawl__pg_int(rows, i, 0) - 1];
        if (*result) *result = PAWL_ERR_STALE;
    }
    return err;
}

enum pawl_err pawl__pg_op_extend(struct pawl__backend *pg, struct pawl__op *op)
{
    if (!op->extend.count) return PAWL_OK;
    struct pawl_run *extended;
    size_t count;
    bool all = true;
    list_refs(pg, op);
    enum pawl_err err = extend_all(pg, op, &extended, &count);
    if (err) return err;
    for (size_t i = 0; i < op->extend.count; i++) {
        bool found =
            bsearch(&op->extend.refs[i], extended, count, sizeof *extended, compare_refs) != NULL;
        op->extend.results[i] = found ? PAWL_OK : PAWL_ERR_NOT_FOUND;
        all &= found;
    }
    return all ? PAWL_OK : find_lost(pg, op);
}

enum pawl_err pawl__pg_lapse_run(struct pawl__backend *pg, struct pawl__pg_place *place,
                                 struct pawl__arena *arena)
{
    struct pawl_retry retry;
    int64_t unused;
    enum pawl_err err =
        pawl__policy_read(place->retry, place->attempts_max, arena, &retry, pg->diag);
    if (err) return err;
    struct pawl__run_facts facts = facts_of(pg, place);
    if (!pawl__run_is_timed(&facts)) {
        return lose_run(pg, place, &pawl__report_lapsed, &retry, &unused);
    }
    struct pawl__timeout timeout = { .message = "" };
    pawl__timeout_tell(&facts, &timeout);
    return fail_run(pg, place, &timeout.report, &retry, &unused);
}
