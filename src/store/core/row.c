/* One row of the working set: the one way to change a job's state, and whose job it is. */
#include "store/core/settle.h"

#include "store/core/refuse.h"

#include <assert.h>
#include <string.h>

int64_t pawl__row_rank(const struct pawl__set *set, const struct pawl__row *row)
{
    return pawl__rank(&(struct pawl__rank_of){ .due_at_ms = row->due_at_ms,
                                               .priority = row->priority,
                                               .boost_ms = set->boost_ms,
                                               .sla_soft_at_ms = row->sla_soft_at_ms,
                                               .sla_hard_at_ms = row->sla_hard_at_ms });
}

void pawl__row_loaded(const struct pawl__set *set, struct pawl__row *row, enum pawl__found found)
{
    row->has_end = row->finished_at_ms != 0;
    if (row->has_end) row->rank = pawl__row_rank(set, row); // what is stored may be of no use
    row->found = (uint8_t)found;
    row->has |= PAWL__NEED_RUN | PAWL__NEED_FACTS | PAWL__NEED_STAND | PAWL__NEED_KEYS |
                PAWL__NEED_HOLDERS;
    row->was.state = row->state;
    row->was.rank = row->rank;
    row->was.has_end = row->has_end;
    row->was.entries = pawl__settle_entries(row);
}

struct pawl_job *pawl__row_job(struct pawl__set *set, struct pawl__row *row)
{
    assert(row->job_arena);
    row->job = pawl__arena_alloc(row->job_arena, sizeof *row->job);
    if (!row->job) set->failed = true;
    row->has |= PAWL__NEED_JOB;
    return row->job;
}

const struct pawl_job_id *pawl__row_seat(const struct pawl__row *row)
{
    static const struct pawl_job_id none;
    return memcmp(&row->arrival, &none, sizeof none) == 0 ? &row->id : &row->arrival;
}

void pawl__row_tie(struct pawl__set *set, struct pawl__row *row, int32_t ties)
{
    assert(row->found == PAWL__FOUND_LIVE);
    pawl__row_save(set, row);
    row->ties = ties;
    row->wrote |= PAWL__WROTE_FACTS;
}

static void set_due(struct pawl__set *set, struct pawl__row *row, int64_t due_at_ms)
{
    if (!due_at_ms || due_at_ms == row->due_at_ms) return;
    row->due_at_ms = due_at_ms;
    row->rank = pawl__row_rank(set, row);
    row->wrote |= PAWL__WROTE_FACTS;
}

/* What was told of a run goes with it. */
static void forget_report(struct pawl__set *set, struct pawl__row *row)
{
    if (row->ties & PAWL__TIES_REPORTED) pawl__row_tie(set, row, row->ties & ~PAWL__TIES_REPORTED);
}

static void forget_end(struct pawl__row *row)
{
    row->has_end = row->end_new = row->dead_letter = false;
    row->finished_at_ms = 0;
    row->end_reason = NULL;
    row->result = (struct pawl_span){ "", 0 };
}

static void forget_run(struct pawl__row *row)
{
    row->started_at_ms = row->lease_until_ms = 0;
    row->worker = row->reason = NULL;
}

static void enter_active(const struct pawl__set *set, struct pawl__row *row,
                         const struct pawl__target *target)
{
    row->run++;
    row->started_at_ms = set->now_ms;
    row->lease_until_ms = target->lease_until_ms;
    row->worker = target->worker;
    row->reason = NULL;
}

/* A routed job comes back from a pause as available. A job paused out of an end keeps that. */
static void enter_wait(struct pawl__row *row, enum pawl_state to, const struct pawl__target *target)
{
    bool routed = to == PAWL_STATE_PENDING && target->lease_until_ms;
    bool was_routed = row->state == PAWL_STATE_PENDING && row->lease_until_ms;
    enum pawl_state from = was_routed ? PAWL_STATE_AVAILABLE : row->state;
    if (to == PAWL_STATE_PAUSED) row->paused_from = from;
    row->lease_until_ms = routed ? target->lease_until_ms : 0;
    if (routed || was_routed) row->worker = routed ? target->worker : NULL;
    row->reason = target->reason;
}

static void enter_end(const struct pawl__set *set, struct pawl__row *row,
                      const struct pawl__target *target)
{
    row->lease_until_ms = 0;
    row->reason = NULL;
    row->has_end = row->end_new = true;
    row->dead_letter = target->dead_letter;
    row->finished_at_ms = set->now_ms;
    row->end_reason = target->reason;
    row->result = target->result;
}

static void enter(const struct pawl__set *set, struct pawl__row *row, enum pawl_state to,
                  const struct pawl__target *target)
{
    bool again = row->has_end && row->state == PAWL_STATE_PAUSED && to == row->paused_from;
    row->paused_from = PAWL_STATE_NONE;
    if (again) { // as it had ended before it was paused
        row->reason = NULL;
        return;
    }
    if (pawl_state_is_terminal(to)) {
        enter_end(set, row, target);
        return;
    }
    if (to != PAWL_STATE_PAUSED) forget_end(row);
    switch (to) {
    case PAWL_STATE_AVAILABLE:
        forget_run(row);
        break;
    case PAWL_STATE_ACTIVE:
        enter_active(set, row, target);
        break;
    default:
        enter_wait(row, to, target);
        break;
    }
}

enum pawl_err pawl__row_move(struct pawl__set *set, struct pawl__row *row,
                             const enum pawl_event *events, size_t event_count,
                             const struct pawl__target *target)
{
    assert(row->found == PAWL__FOUND_LIVE);
    enum pawl_state from = row->state, to = from;
    for (size_t i = 0; i < event_count; i++) {
        to = pawl__lifecycle_next(to, events[i], row->paused_from);
        assert(to != PAWL_STATE_NONE || i == 0); // a rule that chains moves knows that they chain
        if (to == PAWL_STATE_NONE) return PAWL_ERR_STATE;
    }
    pawl__row_save(set, row);
    set_due(set, row, target->due_at_ms);
    enter(set, row, to, target);
    row->state = to;
    row->wrote |= PAWL__WROTE_STAND;
    if (to != PAWL_STATE_ACTIVE) forget_report(set, row);
    if (row->was.has_end) row->wrote |= PAWL__WROTE_FACTS; // it got a new rank when it was read
    bool waits = to == PAWL_STATE_SCHEDULED || to == PAWL_STATE_RETRYABLE;
    pawl__set_note_move(set, &(struct pawl__set_move){ .row = row,
                                                       .run = row->run,
                                                       .due_at_ms = waits ? row->due_at_ms : 0,
                                                       .from = from,
                                                       .to = to });
    if (row->ties) pawl__settle_note(set, row, from);
    return PAWL_OK;
}

void pawl__row_begin_anew(struct pawl__row *row)
{
    row->base_run = row->run;
    row->free_runs = 0;
    if (!row->expires_at_ms) return;
    row->expires_at_ms = 0;
    row->wrote |= PAWL__WROTE_FACTS;
}

void pawl__row_restore(struct pawl__set *set, struct pawl__row *row)
{
    assert(row->found == PAWL__FOUND_ARCHIVED && row->has_end);
    pawl__row_save(set, row);
    row->found = PAWL__FOUND_LIVE;
    row->restored = true;
    pawl__set_note_move(set,
                        &(struct pawl__set_move){ .row = row, .to = row->state, .silent = true });
}

/* Business and unique keys; an idempotency key outlives its job. */
static void drop_keys(struct pawl__set *set, const struct pawl__row *row)
{
    for (size_t at = 0; at + PAWL__KEY_RECORD_BYTES <= row->keys.len;
         at += PAWL__KEY_RECORD_BYTES) {
        const char *record = row->keys.at + at;
        if (*record == PAWL__KEY_IDEMPOTENCY) continue;
        pawl__set_drop_key(set, (const uint8_t *)record + 1, row->id);
    }
}

void pawl__row_delete(struct pawl__set *set, struct pawl__row *row)
{
    bool archived = row->found == PAWL__FOUND_ARCHIVED;
    assert(archived || pawl_state_is_terminal(row->state));
    drop_keys(set, row);
    row->gone = row->found;
    row->found = PAWL__FOUND_ABSENT;
    row->wrote |= PAWL__WROTE_END;
    pawl__set_note_move(set,
                        &(struct pawl__set_move){ .row = row,
                                                  .from = archived ? PAWL_STATE_NONE : row->state,
                                                  .to = PAWL__OUTSIDE,
                                                  .silent = true });
}

void pawl__row_archive(struct pawl__set *set, struct pawl__row *row)
{
    assert(row->found == PAWL__FOUND_LIVE && pawl_state_is_terminal(row->state));
    row->found = PAWL__FOUND_ARCHIVED;
    row->wrote |= PAWL__WROTE_ARCHIVE;
    pawl__set_note_move(set,
                        &(struct pawl__set_move){ .row = row, .from = row->state, .silent = true });
}

enum pawl_err pawl__row_known(struct pawl__set *set, struct pawl_job_id id, struct pawl__row **out,
                              struct pawl_diag *diag)
{
    *out = pawl__set_find(set, id);
    assert(*out && (*out)->found != PAWL__FOUND_UNREAD); // the operation had said so
    return (*out)->found == PAWL__FOUND_ABSENT ? pawl__fail_unknown(diag, id) : PAWL_OK;
}

/* STALE: the end of the run was reported before. */
static enum pawl_err fail_reported(struct pawl_diag *diag, const struct pawl_run *ref)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(ref->id, text);
    return pawl__fail(diag, PAWL_ERR_STALE,
                      "run %lld of job \"%s\" is over: its end has been reported",
                      (long long)ref->run, text);
}

enum pawl_err pawl__row_owned(struct pawl__set *set, const struct pawl_run *ref,
                              struct pawl__row **out, struct pawl_diag *diag)
{
    enum pawl_err err = pawl__row_known(set, ref->id, out, diag);
    if (err) return err;
    const struct pawl__row *row = *out;
    bool current = row->state == PAWL_STATE_ACTIVE && row->run == ref->run;
    if (current && !(row->ties & PAWL__TIES_REPORTED)) return PAWL_OK;
    if (current) return fail_reported(diag, ref);
    return pawl__fail_stale(diag, ref, row->state, row->run);
}
