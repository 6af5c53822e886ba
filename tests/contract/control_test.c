/* Controls of one job: each in every state, with its exact result. */
#include "support/ops.h"

#define X(number, name, verb, event, ...) [number] = PAWL_EVENT_##event,
static const enum pawl_event events[PAWL_CONTROL_END] = { PAWL_CONTROLS(X) };
#undef X
#define X(number, name, verb, ...) [number] = verb,
static const char *const verbs[PAWL_CONTROL_END] = { PAWL_CONTROLS(X) };
#undef X

/* The golden table, written out rather than derived: 0 is refused. Rows are states in their order,
 * columns cancel, pause, resume, retry, discard, activate, skip, promote. A paused job was
 * available. */
#define NO PAWL_STATE_NONE
static const enum pawl_state golden[PAWL_STATE_END][PAWL_CONTROL_END - 1] = {
    [PAWL_STATE_SCHEDULED] = { PAWL_STATE_CANCELLED, PAWL_STATE_PAUSED, NO, NO, NO, NO, NO,
                               PAWL_STATE_AVAILABLE },
    [PAWL_STATE_AVAILABLE] = { PAWL_STATE_CANCELLED, PAWL_STATE_PAUSED, NO, NO, NO, NO,
                               PAWL_STATE_SKIPPED, NO },
    [PAWL_STATE_PENDING] = { PAWL_STATE_CANCELLED, PAWL_STATE_PAUSED, NO, NO, NO,
                             PAWL_STATE_AVAILABLE, PAWL_STATE_SKIPPED, NO },
    [PAWL_STATE_ACTIVE] = { PAWL_STATE_CANCELLED, NO, NO, NO, PAWL_STATE_DISCARDED, NO,
                            PAWL_STATE_SKIPPED, NO },
    [PAWL_STATE_RETRYABLE] = { PAWL_STATE_CANCELLED, PAWL_STATE_PAUSED, NO, NO,
                               PAWL_STATE_DISCARDED, NO, NO, PAWL_STATE_AVAILABLE },
    [PAWL_STATE_PAUSED] = { PAWL_STATE_CANCELLED, PAWL_STATE_PAUSED, PAWL_STATE_AVAILABLE, NO, NO,
                            NO, NO, NO },
    [PAWL_STATE_COMPLETED] = { NO, NO, NO, NO, NO, NO, NO, NO },
    [PAWL_STATE_SKIPPED] = { NO, NO, NO, NO, NO, NO, NO, NO },
    [PAWL_STATE_CANCELLED] = { NO, NO, NO, PAWL_STATE_AVAILABLE, NO, NO, NO, NO },
    [PAWL_STATE_DISCARDED] = { NO, PAWL_STATE_PAUSED, NO, PAWL_STATE_AVAILABLE, NO, NO, NO, NO },
    [PAWL_STATE_EXPIRED] = { NO, NO, NO, PAWL_STATE_AVAILABLE, NO, NO, NO, NO },
};

static void assert_control(struct rig *rig, struct pawl_job_id id, enum pawl_control what,
                           enum pawl_state from, enum pawl_state to)
{
    const char *before = job_text(rig, id);
    struct controlled out = { 0 };
    enum pawl_err err = control_by(rig, id, what, 0, (struct pawl_by){ 0 }, &out);
    const char *pair = rig_text(rig, "%s of a job that is %s", verbs[what],
                                pawl_state_name(from, PAWL_VOCABULARY_PAWL));
    expect_err_at(rig, to == NO ? PAWL_ERR_STATE : PAWL_OK, err, pair, __FILE__, __LINE__);
    enum pawl_state after = to == NO ? from : to;
    expect_state_at(from, out.from, pair, __FILE__, __LINE__);
    expect_state_at(after, out.to, pair, __FILE__, __LINE__);
    expect_state_at(after, state_of(rig, id), pair, __FILE__, __LINE__);
    if (to == NO) {
        assert_within(pawl_state_name(from, PAWL_VOCABULARY_PAWL), rig->diag.text);
        assert_int_equal(PAWL_ERR_STATE, rig->diag.err);
    }
    if (after == from) assert_text(before, job_text(rig, id));
}

static void every_control_in_every_state(struct rig *rig)
{
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++)
        for (enum pawl_control what = 1; what < PAWL_CONTROL_END; what++)
            assert_control(rig, job_in(rig, state, NULL), what, state, golden[state][what - 1]);
}

static void golden_table_agrees_with_the_lifecycle(struct rig *rig)
{
    (void)rig;
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++) {
        for (enum pawl_control what = 1; what < PAWL_CONTROL_END; what++) {
            if (state == PAWL_STATE_PAUSED && what == PAWL_CONTROL_PAUSE)
                continue; // a rule of its own
            enum pawl_state next = pawl__lifecycle_next(state, events[what], PAWL_STATE_AVAILABLE);
            assert_int_equal(golden[state][what - 1], next);
        }
    }
}

static void pending_by_routing_is_pending(struct rig *rig)
{
    for (enum pawl_control what = 1; what < PAWL_CONTROL_END; what++) {
        const char *queue = rig_queue(rig);
        struct pawl_job_id id = submit_one(rig, &(struct pawl_job_spec){ .queue = queue });
        assert_int_equal(1, route_n(rig, queue, 1).count);
        assert_control(rig, id, what, PAWL_STATE_PENDING, golden[PAWL_STATE_PENDING][what - 1]);
    }
}

static const enum pawl_state pausable[] = { PAWL_STATE_SCHEDULED, PAWL_STATE_AVAILABLE,
                                            PAWL_STATE_PENDING, PAWL_STATE_RETRYABLE,
                                            PAWL_STATE_DISCARDED };

static void every_control_of_a_paused_job_whatever_it_was(struct rig *rig)
{
    for (size_t i = 0; i < COUNT(pausable); i++) {
        for (enum pawl_control what = 1; what < PAWL_CONTROL_END; what++) {
            enum pawl_state to = golden[PAWL_STATE_PAUSED][what - 1];
            if (what == PAWL_CONTROL_RESUME) to = pausable[i];
            assert_control(rig, job_paused_from(rig, pausable[i]), what, PAWL_STATE_PAUSED, to);
        }
    }
}

static void unknown_job_is_not_found(struct rig *rig)
{
    struct pawl_job_id id = rig_id(rig);
    for (enum pawl_control what = 1; what < PAWL_CONTROL_END; what++)
        assert_err(rig, PAWL_ERR_NOT_FOUND, control(rig, id, what));
    assert_err(rig, PAWL_ERR_NOT_FOUND, set_priority(rig, id, 1, NULL));
    assert_err(rig, PAWL_ERR_NOT_FOUND, delete_job(rig, id));
    assert_false(job_exists(rig, id));
}

/* All fields but those that a pause and its end may change. */
static void resume_puts_everything_back(struct rig *rig)
{
    for (size_t i = 0; i < COUNT(pausable); i++) {
        struct pawl_job_id id = job_in(rig, pausable[i], NULL);
        struct pawl_job before = job_get(rig, id);
        assert_ok(rig, control(rig, id, PAWL_CONTROL_PAUSE));
        rig_advance(rig, 5);
        struct pawl_job paused = job_get(rig, id);
        assert_int_equal(pausable[i], paused.paused_from);
        assert_i64(0, paused.lease_until_ms);
        assert_ok(rig, control(rig, id, PAWL_CONTROL_RESUME));
        struct pawl_job after = job_get(rig, id);
        assert_int_equal(pausable[i], after.state);
        assert_int_equal(PAWL_STATE_NONE, after.paused_from);
        assert_i64(before.due_at_ms, after.due_at_ms);
        assert_i64(before.attempt, after.attempt);
        assert_i64(before.run, after.run);
        assert_i64(before.free_runs, after.free_runs);
        assert_i64(before.finished_at_ms, after.finished_at_ms);
        assert_i64(before.started_at_ms, after.started_at_ms);
        assert_int_equal(before.dead_letter, after.dead_letter);
        assert_text(before.reason, after.reason);
        assert_text(before.worker, after.worker);
    }
}

static void paused_job_sleeps_through_everything(struct rig *rig)
{
    struct pawl_job_id ids[COUNT(pausable)];
    for (size_t i = 0; i < COUNT(pausable); i++)
        ids[i] = job_paused_from(rig, pausable[i]);
    rig_advance(rig, INT64_C(10000000000));
    assert_i64(0, promote(rig).moved + lapse(rig).moved + expire(rig).moved);
    assert_i64(0, archive_all(rig));
    for (size_t i = 0; i < COUNT(pausable); i++) {
        struct pawl_job job = job_get(rig, ids[i]);
        assert_int_equal(0, claim_n(rig, job.queue, 10).count);
        assert_state(PAUSED, job.state);
    }
}

static void resumed_job_goes_on_from_where_it_was(struct rig *rig)
{
    struct pawl_job_id scheduled = job_paused_from(rig, PAWL_STATE_SCHEDULED);
    struct pawl_job_id available = job_paused_from(rig, PAWL_STATE_AVAILABLE);
    struct pawl_job_id retryable = job_paused_from(rig, PAWL_STATE_RETRYABLE);
    rig_advance(rig, INT64_C(10000000000));
    assert_ok(rig, control(rig, scheduled, PAWL_CONTROL_RESUME));
    assert_ok(rig, control(rig, available, PAWL_CONTROL_RESUME));
    assert_ok(rig, control(rig, retryable, PAWL_CONTROL_RESUME));
    assert_i64(2, promote(rig).moved);
    const struct pawl_job_id ids[] = { scheduled, available, retryable };
    for (size_t i = 0; i < COUNT(ids); i++)
        assert_id(ids[i], claim_one(rig, job_get(rig, ids[i]).queue).id);
}

static void resumed_job_keeps_its_place(struct rig *rig)
{
    struct pawl_job_id *ids = submit_n(rig, 3, NULL);
    assert_ok(rig, control(rig, ids[0], PAWL_CONTROL_PAUSE));
    rig_advance(rig, 1000);
    assert_ok(rig, control(rig, ids[0], PAWL_CONTROL_RESUME));
    assert_id(ids[0], claim_n(rig, "default", 1).at[0].id);
}

static void cancel_of_a_running_job_takes_effect_at_once(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job run = claim_one(rig, "default");
    rig_advance(rig, 50);
    assert_ok(rig, control(rig, run.id, PAWL_CONTROL_CANCEL));
    struct pawl_job job = job_get(rig, run.id);
    assert_state(CANCELLED, job.state);
    assert_i64(run.started_at_ms, job.started_at_ms);
    assert_i64(rig_now(rig), job.finished_at_ms);
    assert_i64(0, job.lease_until_ms);
    assert_i64(1, job.attempt);                                           // it was executed
    assert_err(rig, PAWL_ERR_STALE, extend(rig, ref_of(&run), LEASE_MS)); // how its worker hears
    assert_err(rig, PAWL_ERR_STALE, complete(rig, ref_of(&run), "1"));
    rig_advance(rig, 10 * LEASE_MS);
    assert_i64(0, lapse(rig).moved);
    assert_state(CANCELLED, state_of(rig, run.id));
}

static void endings_are_stamped(struct rig *rig)
{
    static const struct {
        enum pawl_control control;
        enum pawl_state from;
    } cases[] = { { PAWL_CONTROL_CANCEL, PAWL_STATE_SCHEDULED },
                  { PAWL_CONTROL_CANCEL, PAWL_STATE_PAUSED },
                  { PAWL_CONTROL_DISCARD, PAWL_STATE_ACTIVE },
                  { PAWL_CONTROL_DISCARD, PAWL_STATE_RETRYABLE },
                  { PAWL_CONTROL_SKIP, PAWL_STATE_AVAILABLE },
                  { PAWL_CONTROL_SKIP, PAWL_STATE_PENDING } };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pawl_job_id id = job_in(rig, cases[i].from, NULL);
        rig_advance(rig, 3);
        struct pawl_by by = { .actor = "ada", .reason = "no longer wanted" };
        assert_ok(rig, control_by(rig, id, cases[i].control, 0, by, NULL));
        struct pawl_job job = job_get(rig, id);
        assert_i64(rig_now(rig), job.finished_at_ms);
        assert_within("no longer wanted", job.reason);
    }
}

static void skipped_job_never_ran(struct rig *rig)
{
    struct pawl_job_id id = job_in(rig, PAWL_STATE_SKIPPED, NULL);
    struct pawl_job job = job_get(rig, id);
    assert_i64(0, job.attempt);
    assert_false(pawl_was_executed(job.attempt));
    assert_true(pawl_state_is_successful(job.state));
}

static void revived_job_is_due_now_and_clean(struct rig *rig)
{
    static const enum pawl_state ended[] = { PAWL_STATE_CANCELLED, PAWL_STATE_DISCARDED,
                                             PAWL_STATE_EXPIRED };
    for (size_t i = 0; i < COUNT(ended); i++) {
        struct pawl_job_id id = job_in(rig, ended[i], NULL);
        int64_t run = job_get(rig, id).run;
        rig_advance(rig, 3600 * 1000);
        assert_ok(rig, control(rig, id, PAWL_CONTROL_RETRY));
        struct pawl_job job = job_get(rig, id);
        assert_state(AVAILABLE, job.state);
        assert_i64(rig_now(rig), job.due_at_ms);
        assert_i64(0, job.attempt);
        assert_i64(run, job.run);
        assert_i64(0, job.finished_at_ms);
        assert_text("", job.reason);
        assert_i64(0, (int64_t)job.result.len);
        expire(rig); // it does not expire a second time at once
        struct pawl_job next = claim_one(rig, job.queue);
        assert_i64(1, next.attempt);
        assert_ok(rig, complete(rig, ref_of(&next), NULL));
    }
}

static void cancelled_while_scheduled_is_revived_to_run_now(struct rig *rig)
{
    struct pawl_job_id id = submit_one(rig, &(struct pawl_job_spec){ .delay_ms = 3600000 });
    assert_ok(rig, control(rig, id, PAWL_CONTROL_CANCEL));
    assert_ok(rig, control(rig, id, PAWL_CONTROL_RETRY));
    assert_id(id, claim_one(rig, "default").id);
}

static const struct pawl_audit_entry *entry_named(const struct pawl_story *story,
                                                  const char *action)
{
    for (size_t i = story->audit_count; i > 0; i--)
        if (strcmp(story->audit[i - 1].action, action) == 0) return &story->audit[i - 1];
    return NULL;
}

static void actions_are_audited(struct rig *rig)
{
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++) {
        for (enum pawl_control what = 1; what < PAWL_CONTROL_END; what++) {
            enum pawl_state to = golden[state][what - 1];
            if (to == NO || to == state) continue;
            struct pawl_job_id id = job_in(rig, state, NULL);
            struct pawl_by by = { .actor = "ada", .reason = "because" };
            assert_ok(rig, control_by(rig, id, what, 0, by, NULL));
            struct pawl_story story = story_of(rig, id);
            const struct pawl_audit_entry *entry = entry_named(&story, verbs[what]);
            assert_non_null(entry);
            assert_text("ada", entry->actor);
            assert_text("because", entry->reason);
            assert_i64(rig_now(rig), entry->at_ms);
            assert_int_equal(state, entry->from);
            assert_int_equal(to, entry->to);
        }
    }
}

static void audit_is_oldest_first(struct rig *rig)
{
    struct pawl_job_id id = submit_one(rig, NULL);
    static const enum pawl_control controls[] = { PAWL_CONTROL_PAUSE, PAWL_CONTROL_RESUME,
                                                  PAWL_CONTROL_CANCEL, PAWL_CONTROL_RETRY,
                                                  PAWL_CONTROL_SKIP };
    for (size_t i = 0; i < COUNT(controls); i++)
        assert_ok(rig, control(rig, id, controls[i]));
    struct pawl_story story = story_of(rig, id);
    assert_int_equal(COUNT(controls), story.audit_count);
    for (size_t i = 0; i < COUNT(controls); i++) {
        assert_text(verbs[controls[i]], story.audit[i].action);
        assert_text("", story.audit[i].actor);
        assert_text("", story.audit[i].reason);
    }
}

/* ---- priority ---- */

static void priority_moves_a_waiting_job(struct rig *rig)
{
    struct pawl_job_id *ids = submit_n(rig, 4, NULL);
    int32_t before = -1;
    assert_ok(rig, set_priority(rig, ids[2], 50, &before));
    assert_int_equal(0, before);
    assert_ok(rig, set_priority(rig, ids[0], PAWL_PRIORITY_MIN, NULL));
    assert_ok(rig, set_priority(rig, ids[2], PAWL_PRIORITY_MAX, &before));
    assert_int_equal(50, before);
    assert_int_equal(PAWL_PRIORITY_MAX, job_get(rig, ids[2]).priority);
    struct claimed jobs = claim_n(rig, "default", 10);
    static const size_t order[] = { 2, 1, 3, 0 };
    for (size_t i = 0; i < COUNT(order); i++)
        assert_id(ids[order[i]], jobs.at[i].id);
}

static void priority_in_every_state(struct rig *rig)
{
    const uint32_t waiting = PAWL_STATE_BIT(PAWL_STATE_SCHEDULED) |
                             PAWL_STATE_BIT(PAWL_STATE_AVAILABLE) |
                             PAWL_STATE_BIT(PAWL_STATE_PENDING) |
                             PAWL_STATE_BIT(PAWL_STATE_RETRYABLE) |
                             PAWL_STATE_BIT(PAWL_STATE_PAUSED);
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++) {
        struct pawl_job_id id = job_in(rig, state, NULL);
        const char *before = job_text(rig, id);
        bool allowed = waiting & PAWL_STATE_BIT(state);
        assert_err(rig, allowed ? PAWL_OK : PAWL_ERR_STATE, set_priority(rig, id, 7, NULL));
        assert_int_equal(allowed ? 7 : 0, job_get(rig, id).priority);
        assert_int_equal(state, state_of(rig, id));
        if (!allowed) assert_text(before, job_text(rig, id));
    }
}

static void priority_given_while_waiting_counts_later(struct rig *rig)
{
    struct pawl_job_spec spec = { .queue = "q", .delay_ms = 1000 };
    struct pawl_job_id first = submit_one(rig, &spec);
    struct pawl_job_id second = submit_one(rig, &spec);
    assert_ok(rig, set_priority(rig, second, 1, NULL));
    struct pawl_job_id third = submit_one(rig, &spec);
    assert_ok(rig, control(rig, third, PAWL_CONTROL_PAUSE));
    assert_ok(rig, set_priority(rig, third, 2, NULL));
    assert_ok(rig, control(rig, third, PAWL_CONTROL_RESUME));
    rig_advance(rig, 1000);
    promote(rig);
    struct claimed jobs = claim_n(rig, "q", 10);
    assert_int_equal(3, jobs.count);
    assert_id(third, jobs.at[0].id);
    assert_id(second, jobs.at[1].id);
    assert_id(first, jobs.at[2].id);
}

/* ---- delete ---- */

static void delete_in_every_state(struct rig *rig)
{
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++) {
        struct pawl_job_id id = job_in(rig, state, NULL);
        const char *before = job_text(rig, id);
        bool ended = TERMINAL_STATES & PAWL_STATE_BIT(state);
        assert_err(rig, ended ? PAWL_OK : PAWL_ERR_STATE, delete_job(rig, id));
        assert_int_equal(!ended, job_exists(rig, id));
        if (!ended) assert_text(before, job_text(rig, id));
        if (ended) assert_err(rig, PAWL_ERR_NOT_FOUND, delete_job(rig, id));
    }
}

static void job_paused_from_discarded_has_not_ended(struct rig *rig)
{
    struct pawl_job_id id = job_paused_from(rig, PAWL_STATE_DISCARDED);
    assert_err(rig, PAWL_ERR_STATE, delete_job(rig, id));
    assert_ok(rig, control(rig, id, PAWL_CONTROL_RESUME));
    assert_ok(rig, delete_job(rig, id));
}

/* It comes back from the archive for it, and keeps its end: as long as it is paused it is not among
 * those that have ended, and when it is resumed all is as before. */
static void pause_discarded(struct rig *rig, struct pawl_job_id id)
{
    struct pawl_job before = job_get(rig, id);
    struct pawl_by by = { .actor = "ada", .reason = "to be looked at" };
    assert_ok(rig, control_by(rig, id, PAWL_CONTROL_PAUSE, 0, by, NULL));
    struct pawl_job paused = job_get(rig, id);
    assert_state(PAUSED, paused.state);
    assert_state(DISCARDED, paused.paused_from);
    assert_false(paused.archived);
    assert_i64(before.finished_at_ms, paused.finished_at_ms);
    assert_int_equal(before.dead_letter, paused.dead_letter);
    assert_text("to be looked at", paused.reason);
    assert_span(before.result, paused.result);
    rig_advance(rig, 1000);
    assert_i64(0, archive_all(rig));
    assert_err(rig, PAWL_ERR_STATE, control(rig, id, PAWL_CONTROL_RETRY));
    assert_ok(rig, control(rig, id, PAWL_CONTROL_RESUME));
    struct pawl_job after = job_get(rig, id);
    assert_state(DISCARDED, after.state);
    assert_i64(before.finished_at_ms, after.finished_at_ms);
    assert_text(before.reason, after.reason);
    assert_i64(1, archive_all(rig));
}

/* Of the jobs that have ended, those that were discarded can be paused: they may be wanted again.
 */
static void pausing_an_ended_job(struct rig *rig)
{
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++) {
        if (!(TERMINAL_STATES & PAWL_STATE_BIT(state))) continue;
        for (int archived = 0; archived < 2; archived++) {
            struct pawl_job_id id = job_in(rig, state, NULL);
            rig_advance(rig, 5);
            if (archived) assert_i64(1, archive_all(rig));
            if (state == PAWL_STATE_DISCARDED) {
                pause_discarded(rig, id);
                continue;
            }
            assert_control(rig, id, PAWL_CONTROL_PAUSE, state, NO);
            assert_int_equal(archived, job_get(rig, id).archived);
            assert_i64(!archived, archive_all(rig));
        }
    }
}

static void deleted_job_leaves_nothing_behind(struct rig *rig)
{
    const char *const tags[] = { "red" };
    struct pawl_job_spec spec = { .queue = "q", .tags = tags, .tag_count = 1, .business_key = "b" };
    struct pawl_job_id id = submit_one(rig, &spec);
    struct pawl_job run = claim_one(rig, "q");
    struct pawl_run ref = ref_of(&run);
    assert_ok(rig, log_line(rig, ref, 1, span_of("line")));
    assert_ok(rig, checkpoint(rig, ref, span_of("{}"), NULL));
    assert_ok(rig, progress(rig, ref, 0.5, "half", NULL));
    fail_plain(rig, ref);
    assert_ok(rig, control(rig, id, PAWL_CONTROL_DISCARD));
    assert_ok(rig, delete_job(rig, id));
    assert_i64(0, count_jobs(rig, &(struct pawl_filter){ .tags = tags, .tag_count = 1 }));
    spec.id = &id; // the id is free again, and its story starts afresh
    submit_one(rig, &spec);
    struct pawl_story story = story_of(rig, id);
    assert_int_equal(0, story.failure_count + story.log_count);
    assert_null(entry_named(&story, "discard"));
    assert_i64(0, story.checkpoint_sequence);
    assert_true(story.progress < 0);
    assert_i64(0, story.job.run);
}

static const enum pawl_state promotable[] = { PAWL_STATE_SCHEDULED, PAWL_STATE_RETRYABLE };

static void promoted_job_is_due_now_and_runs_on(struct rig *rig)
{
    for (size_t i = 0; i < COUNT(promotable); i++) {
        const char *queue = rig_queue(rig);
        struct pawl_job_spec spec = { .queue = queue, .expires_in_ms = 90000000 };
        struct pawl_job_id id = job_in(rig, promotable[i], &spec);
        struct pawl_job before = job_get(rig, id);
        rig_advance(rig, 5);
        assert_true(before.due_at_ms > rig_now(rig));
        assert_int_equal(0, claim_n(rig, queue, 1).count);
        struct pawl_by by = { .actor = "ada", .reason = "it hurries" };
        assert_ok(rig, control_by(rig, id, PAWL_CONTROL_PROMOTE, 0, by, NULL));
        struct pawl_job after = job_get(rig, id);
        assert_state(AVAILABLE, after.state);
        assert_i64(rig_now(rig), after.due_at_ms);
        assert_i64(before.attempt, after.attempt); // the series of attempts goes on
        assert_i64(before.run, after.run);
        assert_i64(before.expires_at_ms, after.expires_at_ms);
        struct pawl_story story = story_of(rig, id);
        const struct pawl_audit_entry *entry = &story.audit[story.audit_count - 1];
        assert_text("promote", entry->action);
        assert_text("ada", entry->actor);
        assert_text("it hurries", entry->reason);
        assert_int_equal(promotable[i], entry->from);
        assert_state(AVAILABLE, entry->to);
        assert_i64(0, promote(rig).moved); // it waits for nothing any more
        struct pawl_job run = claim_one(rig, queue);
        assert_id(id, run.id);
        assert_i64(before.attempt + 1, run.attempt);
        assert_ok(rig, complete(rig, ref_of(&run), NULL));
    }
}

/* Its rank is that of a job submitted now: it overtakes nobody that came before. */
static void promoted_job_ranks_as_if_submitted_now(struct rig *rig)
{
    struct pawl_job_id later = submit_one(rig, &(struct pawl_job_spec){ .delay_ms = 3600000 });
    struct pawl_job_id first = submit_one(rig, NULL);
    rig_advance(rig, 10);
    assert_ok(rig, control(rig, later, PAWL_CONTROL_PROMOTE));
    rig_advance(rig, 10);
    struct pawl_job_id last = submit_one(rig, NULL);
    struct claimed jobs = claim_n(rig, "default", 3);
    assert_int_equal(3, jobs.count);
    assert_id(first, jobs.at[0].id);
    assert_id(later, jobs.at[1].id);
    assert_id(last, jobs.at[2].id);
}

/* One whose time has come, and which no sweep has met yet, keeps the place that it waited for. */
static void promoting_what_is_due_takes_nothing_away(struct rig *rig)
{
    struct pawl_job_id id = submit_one(rig, &(struct pawl_job_spec){ .delay_ms = 100 });
    int64_t due_at_ms = rig_now(rig) + 100;
    rig_advance(rig, 5000);
    assert_ok(rig, control(rig, id, PAWL_CONTROL_PROMOTE));
    assert_i64(due_at_ms, job_get(rig, id).due_at_ms);
}

static void many_are_promoted_at_once(struct rig *rig)
{
    const char *queue = rig_queue(rig), *other = rig_queue(rig);
    struct pawl_job_spec here = { .queue = queue }, there = { .queue = other };
    job_in(rig, PAWL_STATE_SCHEDULED, &there);
    for (size_t i = 0; i < 6; i++)
        job_in(rig, promotable[i % 2], &here);
    job_in(rig, PAWL_STATE_AVAILABLE, &here);
    struct pawl_filter filter = { .queues = &queue, .queue_count = 1 };
    int64_t moved = -1;
    assert_ok(rig, bulk(rig, &filter, PAWL_CONTROL_PROMOTE, 4, &moved));
    assert_i64(4, moved);
    assert_ok(rig, bulk(rig, &filter, PAWL_CONTROL_PROMOTE, 100, &moved));
    assert_i64(2, moved);
    assert_int_equal(7, claim_n(rig, queue, 100).count);
    assert_i64(1, count_state(rig, PAWL_STATE_SCHEDULED));
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(every_control_in_every_state),
        CONTRACT(golden_table_agrees_with_the_lifecycle),
        CONTRACT(pending_by_routing_is_pending),
        CONTRACT(every_control_of_a_paused_job_whatever_it_was),
        CONTRACT(unknown_job_is_not_found),
        CONTRACT(promoted_job_is_due_now_and_runs_on),
        CONTRACT(promoted_job_ranks_as_if_submitted_now),
        CONTRACT(promoting_what_is_due_takes_nothing_away),
        CONTRACT(many_are_promoted_at_once),
        CONTRACT(resume_puts_everything_back),
        CONTRACT(paused_job_sleeps_through_everything),
        CONTRACT(resumed_job_goes_on_from_where_it_was),
        CONTRACT(resumed_job_keeps_its_place),
        CONTRACT(cancel_of_a_running_job_takes_effect_at_once),
        CONTRACT(endings_are_stamped),
        CONTRACT(skipped_job_never_ran),
        CONTRACT(revived_job_is_due_now_and_clean),
        CONTRACT(cancelled_while_scheduled_is_revived_to_run_now),
        CONTRACT(actions_are_audited),
        CONTRACT(audit_is_oldest_first),
        CONTRACT(priority_moves_a_waiting_job),
        CONTRACT(priority_in_every_state),
        CONTRACT(priority_given_while_waiting_counts_later),
        CONTRACT(delete_in_every_state),
        CONTRACT(job_paused_from_discarded_has_not_ended),
        CONTRACT(pausing_an_ended_job),
        CONTRACT(deleted_job_leaves_nothing_behind),
    };
    return contract_run("control", tests, COUNT(tests));
}
