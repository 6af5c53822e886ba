/* What the owner of a run does with it: complete, fail, snooze, extend. Every write names the run.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
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

static enum pawl_err read_policy(struct pawl__backend *pg, const struct pawl__pg_place *place,
                                 struct pawl__arena *arena, struct pawl_retry *out)
{
    enum pawl_err err = pawl__retry_parse(place->retry, arena, out, pg->diag);
    if (err == PAWL_ERR_ARG) {
        return pawl__fail(pg->diag, PAWL_ERR_CORRUPT,
                          "the store is damaged: a retry policy cannot be read");
    }
    out->attempts_max = place->attempts_max;
    return err;
}

struct failure {
    bool lapsed;
    int64_t delay_ms; /* -1: no retry follows */
    const char *type, *code, *message;
    struct pawl_span details;
};

static void record_failure(struct pawl__backend *pg, const struct pawl__pg_place *place,
                           const struct failure *failure)
{
    struct pawl__pg_conn *conn = &pg->writer;
    pawl__pg_call(conn, PG_FAILURE_INSERT);
    pawl__pg_bind_id(conn, PG_FAILURE_INSERT_id, &place->id);
    pawl__pg_bind(conn, PG_FAILURE_INSERT_run, place->run);
    pawl__pg_bind(conn, PG_FAILURE_INSERT_attempt, place->run - place->base_run);
    pawl__pg_bind_bool(conn, PG_FAILURE_INSERT_lapsed, failure->lapsed);
    pawl__pg_bind(conn, PG_FAILURE_INSERT_started_at_ms, place->started_at_ms);
    pawl__pg_bind(conn, PG_FAILURE_INSERT_failed_at_ms, pg->now_ms);
    pawl__pg_bind(conn, PG_FAILURE_INSERT_retry_delay_ms, failure->delay_ms);
    if (failure->delay_ms < 0) pawl__pg_bind_null(conn, PG_FAILURE_INSERT_retry_delay_ms);
    pawl__pg_bind_string(conn, PG_FAILURE_INSERT_worker, place->worker);
    pawl__pg_bind_text(conn, PG_FAILURE_INSERT_type, failure->type);
    pawl__pg_bind_text(conn, PG_FAILURE_INSERT_code, failure->code);
    pawl__pg_bind_text(conn, PG_FAILURE_INSERT_message, failure->message);
    pawl__pg_bind_span(conn, PG_FAILURE_INSERT_details, failure->details);
    pawl__pg_send(conn);
    if (place->run <= PAWL__FAILURES_KEPT) return;
    pawl__pg_call(conn, PG_FAILURE_TRIM);
    pawl__pg_bind_id(conn, PG_FAILURE_TRIM_id, &place->id);
    pawl__pg_bind(conn, PG_FAILURE_TRIM_run, place->run - PAWL__FAILURES_KEPT);
    pawl__pg_send(conn);
}

/* Gives the job back as if it had not been claimed, but for the number of the run. */
static enum pawl_err give_back(struct pawl__backend *pg, struct pawl__pg_place *place)
{
    static const enum pawl_event back[] = { PAWL_EVENT_SNOOZE, PAWL_EVENT_DUE };
    place->free_runs++;
    return pawl__pg_move(pg, place, back, 2, &(struct pawl__pg_target){ 0 });
}

static bool is_expired(const struct pawl__backend *pg, const struct pawl__pg_place *place)
{
    return place->expires_at_ms && place->expires_at_ms <= pg->now_ms;
}

/* A retry that comes after the job's time to live is no retry: it expires at once. */
static enum pawl_err retry_later(struct pawl__backend *pg, struct pawl__pg_place *place,
                                 int64_t delay_ms)
{
    static const enum pawl_event fail[] = { PAWL_EVENT_FAIL, PAWL_EVENT_EXPIRE };
    bool expired = is_expired(pg, place);
    struct pawl__pg_target target = { .due_at_ms = expired ? 0 : pg->now_ms + delay_ms,
                                      .reason = expired ? "expired after a failed attempt" : NULL };
    return pawl__pg_move(pg, place, fail, expired ? 2 : 1, &target);
}

static enum pawl_err give_up(struct pawl__backend *pg, struct pawl__pg_place *place,
                             const char *reason, bool dead_letter)
{
    static const enum pawl_event exhaust[] = { PAWL_EVENT_EXHAUST };
    struct pawl__pg_target target = { .reason = reason, .dead_letter = dead_letter };
    return pawl__pg_move(pg, place, exhaust, 1, &target);
}

/* The error's type as OJS tells it: what it calls itself, else its class, else its code. */
static const char *type_of(const struct pawl_report *report)
{
    if (report->type && *report->type) return report->type;
    return report->error_class && *report->error_class ? report->error_class : report->code;
}

static enum pawl_err follow_verdict(struct pawl__backend *pg, struct pawl__pg_place *place,
                                    const struct pawl_report *report,
                                    const struct pawl__verdict *verdict, int64_t *delay_ms)
{
    *delay_ms = 0;
    if (verdict->kind == PAWL__VERDICT_REQUEUE) return give_back(pg, place);
    bool again = verdict->kind == PAWL__VERDICT_RETRY && !is_expired(pg, place);
    struct failure failure = { .delay_ms = again ? verdict->delay_ms : -1,
                               .type = type_of(report),
                               .code = report->code,
                               .message = report->message,
                               .details = report->details };
    *delay_ms = failure.delay_ms;
    record_failure(pg, place, &failure);
    if (verdict->kind == PAWL__VERDICT_RETRY) return retry_later(pg, place, verdict->delay_ms);
    return give_up(pg, place, verdict->reason, verdict->kind == PAWL__VERDICT_DEAD_LETTER);
}

/* Attempts that count, this one included. */
static int64_t charged(const struct pawl__pg_place *place)
{
    return place->run - place->base_run - place->free_runs;
}

static enum pawl_err fail_run(struct pawl__backend *pg, struct pawl__pg_place *place,
                              const struct pawl_report *report, const struct pawl_retry *retry,
                              int64_t *delay_ms)
{
    struct pawl__verdict verdict = pawl__retry_decide(retry, report, charged(place), &pg->rng);
    return follow_verdict(pg, place, report, &verdict, delay_ms);
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

/* A run whose owner is gone. It counts as an attempt and as a crash; a job that keeps killing its
 * workers is a poison pill and ends, whatever its retries say. */
static enum pawl_err lose_run(struct pawl__backend *pg, struct pawl__pg_place *place,
                              const struct pawl_report *report, const struct pawl_retry *retry,
                              int64_t *delay_ms)
{
    static const enum pawl_event lapse[] = { PAWL_EVENT_LAPSE, PAWL_EVENT_EXPIRE };
    int64_t crashes = 0;
    enum pawl_err err = count_crashes(pg, place, &crashes);
    if (err) return err;
    bool poison = ++crashes >= PAWL__CRASHES_MAX;
    bool spent = charged(place) >= place->attempts_max;
    bool expired = is_expired(pg, place);
    *delay_ms = poison || spent || expired ? -1 : 0;
    struct failure failure = { .lapsed = true,
                               .delay_ms = *delay_ms,
                               .type = type_of(report),
                               .code = report->code,
                               .message = report->message,
                               .details = report->details };
    record_failure(pg, place, &failure);
    bool dead_letter = retry->on_exhaustion == PAWL_EXHAUSTION_DEAD_LETTER;
    if (poison) {
        return give_up(pg, place, "poison pill: its leases lapsed too often", dead_letter);
    }
    if (spent) return give_up(pg, place, "attempts spent: its last lease lapsed", dead_letter);
    return pawl__pg_move(pg, place, lapse, expired ? 2 : 1,
                         &(struct pawl__pg_target){ .reason = expired ? "expired after its lease "
                                                                        "lapsed"
                                                                      : NULL });
}

enum pawl_err pawl__pg_op_fail(struct pawl__backend *pg, struct pawl__op *op)
{
    struct pawl__pg_place place;
    enum pawl_err err = pawl__pg_place_owned(pg, &op->fail.ref, &place, op->diag);
    if (err) return err;
    struct pawl_retry retry;
    err = read_policy(pg, &place, &op->arena, &retry);
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
    static const enum pawl_event snooze[] = { PAWL_EVENT_SNOOZE, PAWL_EVENT_EXPIRE };
    struct pawl__pg_place place;
    enum pawl_err err = pawl__pg_place_owned(pg, &op->snooze.ref, &place, op->diag);
    if (err) return err;
    if (op->snooze.delay_ms <= 0) return give_back(pg, &place);
    place.free_runs++;
    bool expired = is_expired(pg, &place);
    struct pawl__pg_target target = {
        .due_at_ms = expired ? 0 : pg->now_ms + op->snooze.delay_ms,
        .reason = expired ? "expired after it snoozed" : NULL,
    };
    return pawl__pg_move(pg, &place, snooze, expired ? 2 : 1, &target);
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
static enum pawl_err time_out(struct pawl__backend *pg, struct pawl__pg_place *place,
                              const struct pawl_retry *retry)
{
    char message[96], details[160];
    int64_t unused;
    struct seconds limit = seconds_of(place->timeout_ms);
    struct seconds elapsed = seconds_of(pg->now_ms - place->started_at_ms);
    snprintf(message, sizeof message, "the run took longer than %s s", limit.text);
    int len = snprintf(details, sizeof details,
                       "{\"timeout_kind\":\"execution\",\"limit_seconds\":%s,"
                       "\"elapsed_seconds\":%s}",
                       limit.text, elapsed.text);
    struct pawl_report report = { .type = "timeout",
                                  .code = "timeout",
                                  .message = message,
                                  .details = { details, (size_t)len } };
    return fail_run(pg, place, &report, retry, &unused);
}

enum pawl_err pawl__pg_lapse_run(struct pawl__backend *pg, struct pawl__pg_place *place,
                                 struct pawl__arena *arena)
{
    static const struct pawl_report lapsed = {
        .type = "lease_lapsed",
        .code = "lease_lapsed",
        .message = "the worker did not renew its lease in time",
    };
    struct pawl_retry retry;
    int64_t unused;
    enum pawl_err err = read_policy(pg, place, arena, &retry);
    if (err) return err;
    // claims and extensions that are not `timed` never let a lease end just then
    bool timed = place->timeout_ms &&
                 place->lease_until_ms == place->started_at_ms + place->timeout_ms;
    return timed ? time_out(pg, place, &retry) : lose_run(pg, place, &lapsed, &retry, &unused);
}
