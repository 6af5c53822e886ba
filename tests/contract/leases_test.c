/* Leases: how they are extended, and what happens when they lapse. */
#include "support/ops.h"

static void lease_runs_out_and_the_job_is_free_again(struct rig *rig)
{
    struct pawl_job_id id = submit_one(rig, NULL);
    struct pawl_job run = claim_one(rig, "default");
    rig_advance(rig, LEASE_MS - 1);
    struct swept waiting = lapse(rig);
    assert_i64(0, waiting.moved);
    assert_i64(run.lease_until_ms, waiting.next_at_ms);
    rig_advance(rig, 2);
    struct swept lapsed = lapse(rig);
    assert_i64(1, lapsed.moved);
    assert_i64(0, lapsed.next_at_ms);
    struct pawl_job job = job_get(rig, id);
    assert_state(AVAILABLE, job.state);
    assert_i64(0, job.lease_until_ms);
    assert_i64(1, job.attempt);
    struct pawl_job next = claim_one(rig, "default");
    assert_i64(2, next.attempt);
    assert_i64(2, next.run);
}

/* Who sleeps until `next_at_ms` must find something to do then, or he would spin. */
static void sweeps_have_work_when_they_said_they_would(struct rig *rig)
{
    submit_one(rig, &(struct pawl_job_spec){ .queue = "lease" });
    claim_one(rig, "lease");
    struct swept at = lapse(rig);
    hand_clock_set(rig->clock, at.next_at_ms);
    assert_i64(1, lapse(rig).moved);

    submit_one(rig, &(struct pawl_job_spec){ .queue = "route" });
    assert_int_equal(1, route_n(rig, "route", 1).count);
    at = lapse(rig);
    hand_clock_set(rig->clock, at.next_at_ms);
    assert_i64(1, lapse(rig).moved);

    submit_one(rig, &(struct pawl_job_spec){ .queue = "due", .delay_ms = 100 });
    at = promote(rig);
    hand_clock_set(rig->clock, at.next_at_ms);
    assert_i64(1, promote(rig).moved);

    submit_one(rig, &(struct pawl_job_spec){ .queue = "expiry", .expires_in_ms = 100 });
    at = expire(rig);
    hand_clock_set(rig->clock, at.next_at_ms);
    assert_i64(1, expire(rig).moved);
}

static void lapse_is_recorded_as_a_failure_nobody_reported(struct rig *rig)
{
    struct pawl_job_id id = submit_one(rig, NULL);
    struct pawl_job run = claim_one(rig, "default");
    rig_advance(rig, LEASE_MS + 5);
    lapse(rig);
    struct pawl_story story = story_of(rig, id);
    assert_int_equal(1, story.failure_count);
    const struct pawl_failure *f = &story.failures[0];
    assert_true(f->lapsed);
    assert_i64(1, f->run);
    assert_i64(1, f->attempt);
    assert_i64(run.started_at_ms, f->started_at_ms);
    assert_i64(rig_now(rig), f->failed_at_ms);
    assert_i64(0, f->retry_delay_ms);
    assert_text(WORKER, f->worker);
}

static void lapsed_job_keeps_its_age(struct rig *rig)
{
    struct pawl_job_id old = submit_one(rig, NULL);
    claim_one(rig, "default");
    rig_advance(rig, LEASE_MS / 2);
    submit_one(rig, NULL);
    rig_advance(rig, LEASE_MS);
    lapse(rig);
    assert_id(old, claim_n(rig, "default", 1).at[0].id);
}

static void extension_counts_from_now(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job run = claim_one(rig, "default");
    rig_advance(rig, LEASE_MS - 1);
    assert_err(rig, PAWL_OK, extend(rig, ref_of(&run), 500));
    assert_i64(rig_now(rig) + 500, job_get(rig, run.id).lease_until_ms);
    rig_advance(rig, 499);
    assert_i64(0, lapse(rig).moved);
    assert_err(rig, PAWL_OK, extend(rig, ref_of(&run), LEASE_MS));
    assert_i64(rig_now(rig) + LEASE_MS, lapse(rig).next_at_ms);
    rig_advance(rig, LEASE_MS + 1);
    assert_i64(1, lapse(rig).moved);
}

/* A worker may give up part of its time too. */
static void extension_may_shorten(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job run = claim_one(rig, "default");
    assert_err(rig, PAWL_OK, extend(rig, ref_of(&run), 5));
    rig_advance(rig, 6);
    assert_i64(1, lapse(rig).moved);
}

static void lease_that_ran_out_cannot_be_revived(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job run = claim_one(rig, "default");
    rig_advance(rig, LEASE_MS + 1);
    assert_err(rig, PAWL_ERR_STALE, extend(rig, ref_of(&run), LEASE_MS));
    assert_i64(run.lease_until_ms, job_get(rig, run.id).lease_until_ms);
    assert_i64(1, lapse(rig).moved);
}

/* At any instant a lease either can be extended or lapses, never both. */
static void extension_and_lapse_agree_on_the_instant(struct rig *rig)
{
    for (int64_t off = -1; off <= 1; off++) {
        const char *queue = rig_queue(rig);
        submit_one(rig, &(struct pawl_job_spec){ .queue = queue });
        struct pawl_job run = claim_one(rig, queue);
        rig_advance(rig, LEASE_MS + off);
        bool extended = extend(rig, ref_of(&run), LEASE_MS) == PAWL_OK;
        bool lapsed = lapse(rig).moved == 1;
        assert_true(extended != lapsed);
        assert_true(off < 0 ? extended : lapsed);
        assert_ok(rig, control(rig, run.id, PAWL_CONTROL_CANCEL));
    }
}

static void many_leases_are_extended_at_once(struct rig *rig)
{
    enum { COUNT_OF = 1001 };
    submit_n(rig, COUNT_OF, NULL);
    struct claimed jobs = claim_n(rig, "default", COUNT_OF);
    assert_int_equal(COUNT_OF, jobs.count);
    static struct pawl_run refs[COUNT_OF + 2];
    static enum pawl_err results[COUNT_OF + 2];
    for (size_t i = 0; i < COUNT_OF; i++)
        refs[i] = ref_of(&jobs.at[i]);
    assert_ok(rig, complete(rig, refs[500], NULL));
    assert_ok(rig, snooze(rig, refs[1000], 0));
    refs[COUNT_OF] = (struct pawl_run){ .id = rig_id(rig), .run = 1 };
    refs[COUNT_OF + 1] = (struct pawl_run){ .id = refs[0].id, .run = 2 };
    memset(results, 0x7f, sizeof results);
    rig_advance(rig, 1000);
    struct pawl__op op = {
        .kind = PAWL__OP_EXTEND,
        .diag = &rig->diag,
        .extend = { .refs = refs, .count = COUNT_OF + 2, .lease_ms = LEASE_MS, .results = results }
    };
    assert_ok(rig, pawl__store_do(rig->store, &op));
    pawl__arena_release(&op.arena);
    for (size_t i = 0; i < COUNT_OF; i++)
        assert_int_equal(i == 500 || i == 1000 ? PAWL_ERR_STALE : PAWL_OK, results[i]);
    assert_int_equal(PAWL_ERR_NOT_FOUND, results[COUNT_OF]);
    assert_int_equal(PAWL_ERR_STALE, results[COUNT_OF + 1]);
    assert_i64(rig_now(rig) + LEASE_MS, job_get(rig, refs[0].id).lease_until_ms);
    assert_i64(rig_now(rig) + LEASE_MS, lapse(rig).next_at_ms);
}

static void extending_nothing_is_fine(struct rig *rig)
{
    struct pawl__op op = { .kind = PAWL__OP_EXTEND, .extend = { .lease_ms = LEASE_MS } };
    assert_ok(rig, pawl__store_do(rig->store, &op));
    pawl__arena_release(&op.arena);
}

static struct pawl_job crash(struct rig *rig, const char *queue)
{
    struct pawl_job run = claim_one(rig, queue);
    rig_advance(rig, LEASE_MS + 1);
    assert_i64(1, lapse(rig).moved);
    return job_get(rig, run.id);
}

static void poison_pill_is_discarded_whatever_its_retries_say(struct rig *rig)
{
    struct pawl_job_spec spec = { .queue = "q", .retry = { .attempts_max = 100 } };
    submit_one(rig, &spec);
    for (int i = 1; i < PAWL__CRASHES_MAX; i++)
        assert_state(AVAILABLE, crash(rig, "q").state);
    struct pawl_job job = crash(rig, "q");
    assert_state(DISCARDED, job.state);
    assert_within("poison", job.reason);
    assert_i64(rig_now(rig), job.finished_at_ms);
    assert_i64(PAWL__CRASHES_MAX, job.attempt);
    struct pawl_story story = story_of(rig, job.id);
    assert_int_equal(PAWL__CRASHES_MAX, story.failure_count);
    assert_i64(-1, story.failures[PAWL__CRASHES_MAX - 1].retry_delay_ms);
}

static void crashes_count_between_other_failures(struct rig *rig)
{
    struct pawl_retry retry = { .attempts_max = 100, .backoff = PAWL_BACKOFF_IMMEDIATE };
    submit_one(rig, &(struct pawl_job_spec){ .queue = "q", .retry = retry });
    for (int i = 1; i < PAWL__CRASHES_MAX; i++) {
        assert_state(AVAILABLE, crash(rig, "q").state);
        struct pawl_job run = claim_one(rig, "q");
        fail_plain(rig, ref_of(&run));
        promote(rig);
        run = claim_one(rig, "q");
        assert_ok(rig, snooze(rig, ref_of(&run), 0)); // forgives nothing
    }
    assert_state(DISCARDED, crash(rig, "q").state);
}

static void crash_credits_are_remembered_behind_many_failures(struct rig *rig)
{
    struct pawl_retry retry = { .attempts_max = 1000, .backoff = PAWL_BACKOFF_IMMEDIATE };
    submit_one(rig, &(struct pawl_job_spec){ .queue = "q", .retry = retry });
    for (int i = 1; i < PAWL__CRASHES_MAX; i++)
        crash(rig, "q");
    for (int i = 0; i < PAWL__FAILURES_KEPT + 5; i++) {
        promote(rig);
        struct pawl_job run = claim_one(rig, "q");
        fail_plain(rig, ref_of(&run));
    }
    promote(rig);
    assert_state(DISCARDED, crash(rig, "q").state);
}

static void lapse_without_attempts_left_discards(struct rig *rig)
{
    submit_one(rig, &(struct pawl_job_spec){ .queue = "q", .retry = { .attempts_max = 1 } });
    struct pawl_job job = crash(rig, "q");
    assert_state(DISCARDED, job.state);
    assert_true(job.reason[0] != '\0');
    submit_one(rig,
               &(struct pawl_job_spec){
                   .queue = "d",
                   .retry = { .attempts_max = 1, .on_exhaustion = PAWL_EXHAUSTION_DEAD_LETTER } });
    assert_true(crash(rig, "d").dead_letter);
}

static void lapse_charges_an_attempt(struct rig *rig)
{
    submit_one(rig, &(struct pawl_job_spec){ .queue = "q", .retry = { .attempts_max = 2 } });
    assert_state(AVAILABLE, crash(rig, "q").state);
    struct pawl_job run = claim_one(rig, "q");
    assert_i64(2, run.attempt);
    assert_state(DISCARDED, fail_plain(rig, ref_of(&run)).to);
}

static void revival_forgives_crashes(struct rig *rig)
{
    struct pawl_job_id id =
        submit_one(rig, &(struct pawl_job_spec){ .queue = "q", .retry = { .attempts_max = 50 } });
    for (int i = 0; i < PAWL__CRASHES_MAX; i++)
        crash(rig, "q");
    assert_ok(rig, control(rig, id, PAWL_CONTROL_RETRY));
    for (int i = 1; i < PAWL__CRASHES_MAX; i++)
        assert_state(AVAILABLE, crash(rig, "q").state);
    assert_state(DISCARDED, crash(rig, "q").state);
    assert_int_equal(2 * PAWL__CRASHES_MAX, story_of(rig, id).failure_count);
}

static void lapses_are_taken_oldest_first_within_the_limit(struct rig *rig)
{
    struct pawl_job runs[3];
    for (int i = 0; i < 3; i++) {
        const char *queue = rig_queue(rig);
        submit_one(rig, &(struct pawl_job_spec){ .queue = queue, .lease_ms = 3000 - i * 1000 });
        runs[i] = claim_one(rig, queue);
    }
    rig_advance(rig, 5000);
    struct swept first = sweep(rig, PAWL__OP_LAPSE, 1);
    assert_i64(1, first.moved);
    assert_i64(runs[1].lease_until_ms, first.next_at_ms);
    assert_state(AVAILABLE, state_of(rig, runs[2].id));
    assert_state(ACTIVE, state_of(rig, runs[1].id));
    assert_i64(2, sweep(rig, PAWL__OP_LAPSE, 2).moved);
    assert_i64(0, lapse(rig).moved);
}

static void routes_and_runs_lapse_within_one_limit(struct rig *rig)
{
    submit_n(rig, 20, NULL);
    claim_n(rig, "default", 10);
    route_n(rig, "default", 10);
    rig_advance(rig, LEASE_MS + 1);
    assert_i64(15, sweep(rig, PAWL__OP_LAPSE, 15).moved);
    assert_i64(15, count_state(rig, PAWL_STATE_AVAILABLE));
    assert_i64(5, sweep(rig, PAWL__OP_LAPSE, 15).moved);
}

static void more_than_a_thousand_leases_lapse_in_turns(struct rig *rig)
{
    submit_n(rig, PAWL__MAINTENANCE_MAX + 1, NULL);
    assert_int_equal(PAWL__MAINTENANCE_MAX + 1,
                     claim_n(rig, "default", PAWL__MAINTENANCE_MAX + 1).count);
    rig_advance(rig, LEASE_MS + 1);
    assert_i64(PAWL__MAINTENANCE_MAX, lapse(rig).moved);
    assert_i64(1, lapse(rig).moved);
    assert_i64(0, lapse(rig).moved);
}

/* Nobody swept, but the owner comes back in time: its run is still its own. */
static void late_owner_may_finish_while_nobody_took_the_job(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job run = claim_one(rig, "default");
    rig_advance(rig, LEASE_MS + 1);
    assert_ok(rig, complete(rig, ref_of(&run), NULL));
    assert_state(COMPLETED, state_of(rig, run.id));
    assert_i64(0, lapse(rig).moved);
}

static void deadlines_outlive_a_restart(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job run = claim_one(rig, "default");
    rig_reopen(rig);
    assert_i64(run.lease_until_ms, lapse(rig).next_at_ms);
    assert_err(rig, PAWL_OK, extend(rig, ref_of(&run), LEASE_MS));
    rig_advance(rig, LEASE_MS + 1);
    assert_i64(1, lapse(rig).moved);
    rig_reopen(rig);
    for (int i = 2; i < PAWL__CRASHES_MAX; i++)
        assert_state(AVAILABLE, crash(rig, "default").state);
}

static void clock_that_steps_back_lapses_nothing(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job run = claim_one(rig, "default");
    rig_advance(rig, -3600 * 1000);
    assert_i64(0, lapse(rig).moved);
    assert_err(rig, PAWL_OK, extend(rig, ref_of(&run), LEASE_MS));
    assert_ok(rig, complete(rig, ref_of(&run), NULL));
}

static void longest_lease_lasts_a_century(struct rig *rig)
{
    submit_one(rig, &(struct pawl_job_spec){ .lease_ms = DURATION_MAX_MS });
    struct pawl_job run = claim_one(rig, "default");
    assert_i64(rig_now(rig) + DURATION_MAX_MS, run.lease_until_ms);
    rig_advance(rig, DURATION_MAX_MS - 1);
    assert_i64(0, lapse(rig).moved);
    assert_ok(rig, complete(rig, ref_of(&run), NULL));
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(lease_runs_out_and_the_job_is_free_again),
        CONTRACT(sweeps_have_work_when_they_said_they_would),
        CONTRACT(lapse_is_recorded_as_a_failure_nobody_reported),
        CONTRACT(lapsed_job_keeps_its_age),
        CONTRACT(extension_counts_from_now),
        CONTRACT(extension_may_shorten),
        CONTRACT(lease_that_ran_out_cannot_be_revived),
        CONTRACT(extension_and_lapse_agree_on_the_instant),
        CONTRACT(many_leases_are_extended_at_once),
        CONTRACT(extending_nothing_is_fine),
        CONTRACT(poison_pill_is_discarded_whatever_its_retries_say),
        CONTRACT(crashes_count_between_other_failures),
        CONTRACT(crash_credits_are_remembered_behind_many_failures),
        CONTRACT(lapse_without_attempts_left_discards),
        CONTRACT(lapse_charges_an_attempt),
        CONTRACT(revival_forgives_crashes),
        CONTRACT(lapses_are_taken_oldest_first_within_the_limit),
        CONTRACT(routes_and_runs_lapse_within_one_limit),
        CONTRACT(more_than_a_thousand_leases_lapse_in_turns),
        CONTRACT(late_owner_may_finish_while_nobody_took_the_job),
        CONTRACT_SHARED(deadlines_outlive_a_restart),
        CONTRACT(clock_that_steps_back_lapses_nothing),
        CONTRACT(longest_lease_lasts_a_century),
    };
    return contract_run("leases", tests, COUNT(tests));
}
