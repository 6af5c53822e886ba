/* What the owner of a run does with it: complete, fail, snooze; and what becomes of a run whose
 * lease ended. */
#include "store/core/settle.h"

#include "base/diag.h"
#include "store/core/course.h"

#include <assert.h>

/* ---- complete ---- */

void pawl__want_complete(struct pawl__set *set, const struct pawl__op *op)
{
    pawl__set_want(set, op->complete.ref.id, PAWL__NEED_RUN);
}

enum pawl_err pawl__rule_complete(struct pawl__set *set, struct pawl__op *op)
{
    static const enum pawl_event succeed[] = { PAWL_EVENT_SUCCEED };
    struct pawl__row *row;
    enum pawl_err err = pawl__row_owned(set, &op->complete.ref, &row, op->diag);
    if (err) return err;
    return pawl__row_move(set, row, succeed, 1,
                          &(struct pawl__target){ .result = op->complete.result });
}

/* ---- fail and snooze ---- */

static struct pawl__run_facts facts_of(const struct pawl__row *row, int64_t now_ms)
{
    return (struct pawl__run_facts){ .now_ms = now_ms,
                                     .run = row->run,
                                     .base_run = row->base_run,
                                     .free_runs = row->free_runs,
                                     .expires_at_ms = row->expires_at_ms,
                                     .timeout_ms = row->timeout_ms,
                                     .started_at_ms = row->started_at_ms,
                                     .lease_until_ms = row->lease_until_ms };
}

static enum pawl_err follow(struct pawl__set *set, struct pawl__row *row,
                            const struct pawl__course *course)
{
    row->free_runs += course->uncharged;
    return pawl__row_move(set, row, course->events, course->event_count,
                          &(struct pawl__target){ .due_at_ms = course->due_at_ms,
                                                  .reason = course->reason,
                                                  .dead_letter = course->dead_letter });
}

static void record(struct pawl__set *set, struct pawl__row *row, const struct pawl_report *report,
                   const struct pawl__course *course, int64_t now_ms)
{
    pawl__set_put(set, PAWL__TABLE_FAILURE,
                  &(struct pawl__failure){ .row = row,
                                           .run = row->run,
                                           .attempt = row->run - row->base_run,
                                           .started_at_ms = row->started_at_ms,
                                           .failed_at_ms = now_ms,
                                           .delay_ms = course->delay_ms,
                                           .lapsed = course->lapsed,
                                           .worker = row->worker,
                                           .type = pawl__report_type(report),
                                           .code = report->code,
                                           .message = report->message,
                                           .details = report->details });
    row->crashes += course->lapsed;
    if (row->run <= PAWL__FAILURES_KEPT) return;
    pawl__set_put(set, PAWL__TABLE_TRIM,
                  &(struct pawl__trim){ .row = row, .run = row->run - PAWL__FAILURES_KEPT });
}

/* What is said of the end of a run, and when. */
struct end {
    const struct pawl_report *report;
    bool lapsed; /* its owner is gone */
    int64_t at_ms;
};

static enum pawl_err end_run(struct pawl__set *set, struct pawl__row *row, const struct end *end,
                             struct pawl__arena *arena, int64_t *delay_ms)
{
    struct pawl_retry retry;
    enum pawl_err err = pawl__policy_read(row->retry, row->attempts_max, arena, &retry, set->diag);
    if (err && err != PAWL_ERR_CORRUPT) return err;
    struct pawl__run_facts facts = facts_of(row, end->at_ms);
    struct pawl__course course = err ? pawl__course_unknown(end->lapsed)
                                 : end->lapsed
                                     ? pawl__course_lapsed(&facts, &retry, row->crashes)
                                     : pawl__course_failed(&facts, &retry, end->report, &set->rng);
    *delay_ms = course.delay_ms;
    if (course.fails) record(set, row, end->report, &course, end->at_ms);
    return follow(set, row, &course);
}

void pawl__want_fail(struct pawl__set *set, const struct pawl__op *op)
{
    uint8_t lapse = op->fail.report.lapse ? PAWL__NEED_CRASHES : 0;
    pawl__set_want(set, op->fail.ref.id, PAWL__NEED_RUN | PAWL__NEED_FACTS | lapse);
}

enum pawl_err pawl__rule_fail(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl__row *row;
    enum pawl_err err = pawl__row_owned(set, &op->fail.ref, &row, op->diag);
    if (err) return err;
    struct end end = { &op->fail.report, op->fail.report.lapse, set->now_ms };
    err = end_run(set, row, &end, &op->arena, &op->fail.delay_ms);
    if (err) return err;
    op->fail.to = row->state;
    op->fail.attempt = row->run - row->base_run;
    op->fail.due_at_ms = pawl_state_is_terminal(row->state) ? 0 : row->due_at_ms;
    return PAWL_OK;
}

void pawl__want_snooze(struct pawl__set *set, const struct pawl__op *op)
{
    pawl__set_want(set, op->snooze.ref.id, PAWL__NEED_RUN | PAWL__NEED_FACTS);
}

enum pawl_err pawl__rule_snooze(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl__row *row;
    enum pawl_err err = pawl__row_owned(set, &op->snooze.ref, &row, op->diag);
    if (err) return err;
    struct pawl__run_facts facts = facts_of(row, set->now_ms);
    struct pawl__course course = pawl__course_snoozed(&facts, op->snooze.delay_ms);
    return follow(set, row, &course);
}

/* ---- what was reported from SQL ---- */

/* The job whose run it is about, and is over now. NULL: it was before, by an operator say. */
static struct pawl__row *reported_run(struct pawl__set *set, const struct pawl__unsettled *entry)
{
    struct pawl__row *row = pawl__set_find(set, entry->id);
    int32_t ties = entry->ties & PAWL__TIES_REPORTED;
    bool current = row && row->found == PAWL__FOUND_LIVE && row->state == PAWL_STATE_ACTIVE &&
                   row->run == entry->run && row->ties & ties;
    if (!current) return NULL;
    pawl__settle_own(set, row, ties);
    return row;
}

/* As of the time when it was reported, however late that is. */
static bool follow_failed(struct pawl__set *set, const struct pawl__unsettled *entry)
{
    struct pawl__row *row = reported_run(set, entry);
    struct pawl_report report = { .message = entry->message,
                                  .type = entry->type,
                                  .code = entry->code,
                                  .error_class = entry->error_class,
                                  .details = entry->details,
                                  .not_retryable = entry->not_retryable != 0,
                                  .retry_after_ms = entry->delay_ms };
    struct end end = { &report, false, entry->at_ms };
    int64_t unused;
    if (row && end_run(set, row, &end, &set->arena, &unused)) set->failed = true;
    return true;
}

static bool follow_put_off(struct pawl__set *set, const struct pawl__unsettled *entry)
{
    struct pawl__row *row = reported_run(set, entry);
    if (!row) return true;
    struct pawl__run_facts facts = facts_of(row, entry->at_ms);
    struct pawl__course course = pawl__course_snoozed(&facts, entry->delay_ms);
    if (follow(set, row, &course)) set->failed = true;
    return true;
}

const struct pawl__tie pawl__tie_FAILED = { .follow = follow_failed };
const struct pawl__tie pawl__tie_PUT_OFF = { .follow = follow_put_off };

/* ---- leases that ended ---- */

/* A run is charged, and the job ended if it was one too many. */
static enum pawl_err lapse_run(struct pawl__set *set, struct pawl__row *row,
                               struct pawl__arena *arena)
{
    int64_t unused;
    struct pawl__run_facts facts = facts_of(row, set->now_ms);
    if (!pawl__run_is_timed(&facts)) {
        struct end end = { &pawl__report_lapsed, true, set->now_ms };
        return end_run(set, row, &end, arena, &unused);
    }
    struct pawl__timeout *timeout = pawl__arena_calloc(arena, 1, sizeof *timeout);
    if (!timeout) {
        set->failed = true;
        return PAWL_OK;
    }
    pawl__timeout_describe(&facts, timeout);
    struct end end = { &timeout->report, false, set->now_ms };
    return end_run(set, row, &end, arena, &unused);
}

/* A job that was routed and not assigned in time goes back where it was, at no charge. */
static enum pawl_err lapse_route(struct pawl__set *set, struct pawl__row *row)
{
    static const enum pawl_event lapse[] = { PAWL_EVENT_LAPSE };
    return pawl__row_move(set, row, lapse, 1, &(struct pawl__target){ 0 });
}

static enum pawl_err refuse_damaged(struct pawl__set *set)
{
    return pawl__fail(set->diag, PAWL_ERR_CORRUPT, "the store is damaged: a job has no facts");
}

/* Its owner was heard of: the end of the run is reported, and will be followed up. */
static void lapse_later(struct pawl__set *set, struct pawl__row *row)
{
    enum { TOLD_LEASE_MS = 1000 };
    row->lease_until_ms = set->now_ms + TOLD_LEASE_MS;
    row->wrote |= PAWL__WROTE_LEASE;
}

static enum pawl_err lapse(struct pawl__set *set, struct pawl__row *row, struct pawl__op *op)
{
    if (row->found != PAWL__FOUND_LIVE) return refuse_damaged(set);
    assert(row->lease_until_ms <= set->now_ms);
    if (row->state == PAWL_STATE_ACTIVE && (row->ties & PAWL__TIES_REPORTED)) {
        lapse_later(set, row);
        return PAWL_OK;
    }
    op->sweep.moved++;
    return row->state == PAWL_STATE_ACTIVE ? lapse_run(set, row, &op->arena)
                                           : lapse_route(set, row);
}

enum pawl_err pawl__rule_lapse(struct pawl__set *set, struct pawl__op *op)
{
    enum pawl_err err = PAWL_OK;
    op->sweep.moved = 0;
    for (size_t i = 0; !err && i < set->scanned_count; i++) {
        err = lapse(set, set->scanned[i], op);
    }
    return err;
}
