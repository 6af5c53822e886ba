/* Expiry: of jobs that have not started in time, and of no others. */
#include "support/ops.h"

static void job_expires_when_its_time_is_over(struct rig *rig)
{
    struct pawl_job_id id = submit_one(rig, &(struct pawl_job_spec){ .expires_in_ms = 10000 });
    int64_t at = rig_now(rig) + 10000;
    assert_i64(at, job_get(rig, id).expires_at_ms);
    rig_advance(rig, 9999);
    struct swept waiting = expire(rig);
    assert_i64(0, waiting.moved);
    assert_i64(at, waiting.next_at_ms);
    assert_state(AVAILABLE, state_of(rig, id));
    rig_advance(rig, 1);
    struct swept expired = expire(rig);
    assert_i64(1, expired.moved);
    assert_i64(0, expired.next_at_ms);
    struct pawl_job job = job_get(rig, id);
    assert_state(EXPIRED, job.state);
    assert_i64(rig_now(rig), job.finished_at_ms);
    assert_i64(0, job.attempt);
    assert_true(job.reason[0] != '\0');
    assert_int_equal(0, claim_n(rig, "default", 1).count);
}

static void every_waiting_state_expires(struct rig *rig)
{
    struct pawl_job_spec spec = { .expires_in_ms = 7200 * 1000 };
    static const enum pawl_state waiting[] = { PAWL_STATE_SCHEDULED, PAWL_STATE_AVAILABLE,
                                               PAWL_STATE_PENDING, PAWL_STATE_RETRYABLE };
    struct pawl_job_id ids[COUNT(waiting)];
    for (size_t i = 0; i < COUNT(waiting); i++) {
        struct pawl_job_spec one = spec;
        if (waiting[i] == PAWL_STATE_RETRYABLE) one.retry.initial_ms = 10000 * 1000;
        if (waiting[i] == PAWL_STATE_RETRYABLE) one.retry.cap_ms = 10000 * 1000;
        ids[i] = job_in(rig, waiting[i], &one);
    }
    rig_advance(rig, 2 * 7200 * 1000);
    assert_i64(4, expire(rig).moved);
    for (size_t i = 0; i < COUNT(waiting); i++)
        assert_state(EXPIRED, state_of(rig, ids[i]));
    assert_i64(1, job_get(rig, ids[3]).attempt); // it did run once
}

static void ended_running_and_paused_jobs_do_not_expire(struct rig *rig)
{
    static const enum pawl_state safe[] = { PAWL_STATE_ACTIVE,    PAWL_STATE_PAUSED,
                                            PAWL_STATE_COMPLETED, PAWL_STATE_SKIPPED,
                                            PAWL_STATE_CANCELLED, PAWL_STATE_DISCARDED };
    struct pawl_job_id ids[COUNT(safe)];
    for (size_t i = 0; i < COUNT(safe); i++)
        ids[i] = job_in(rig, safe[i], &(struct pawl_job_spec){ .expires_in_ms = 1000 });
    rig_advance(rig, 100000);
    assert_i64(0, expire(rig).moved);
    for (size_t i = 0; i < COUNT(safe); i++)
        assert_int_equal(safe[i], state_of(rig, ids[i]));
}

static void running_job_may_still_complete(struct rig *rig)
{
    submit_one(rig, &(struct pawl_job_spec){ .expires_in_ms = 1000 });
    struct pawl_job run = claim_one(rig, "default");
    rig_advance(rig, 2000);
    expire(rig);
    assert_err(rig, PAWL_OK, extend(rig, ref_of(&run), LEASE_MS));
    assert_ok(rig, complete(rig, ref_of(&run), NULL));
    assert_state(COMPLETED, state_of(rig, run.id));
}

static void job_that_fails_after_its_time_expires_instead_of_waiting(struct rig *rig)
{
    submit_one(rig, &(struct pawl_job_spec){ .expires_in_ms = 1000 });
    struct pawl_job run = claim_one(rig, "default");
    rig_advance(rig, 1000);
    struct failed out = fail_plain(rig, ref_of(&run));
    assert_state(EXPIRED, out.to);
    assert_i64(-1, out.delay_ms);
    assert_i64(0, out.due_at_ms);
    struct pawl_story story = story_of(rig, run.id);
    assert_state(EXPIRED, story.job.state);
    assert_i64(rig_now(rig), story.job.finished_at_ms);
    assert_int_equal(1, story.failure_count);
}

static void job_that_fails_in_time_waits_and_then_expires(struct rig *rig)
{
    submit_one(rig, &(struct pawl_job_spec){ .expires_in_ms = 1500 });
    struct pawl_job run = claim_one(rig, "default");
    rig_advance(rig, 1499);
    assert_state(RETRYABLE, fail_plain(rig, ref_of(&run)).to);
    rig_advance(rig, 1);
    assert_i64(1, expire(rig).moved);
    assert_state(EXPIRED, state_of(rig, run.id));
}

static void attempts_spent_go_before_expiry(struct rig *rig)
{
    submit_one(rig,
               &(struct pawl_job_spec){ .expires_in_ms = 1000, .retry = { .attempts_max = 1 } });
    struct pawl_job run = claim_one(rig, "default");
    rig_advance(rig, 1000);
    assert_state(DISCARDED, fail_plain(rig, ref_of(&run)).to);
}

/* Given back or lapsed after its time, a job must end as expired, at once or by the next sweep,
 * and never be handed out again. */
static void job_that_comes_back_after_its_time_is_not_handed_out(struct rig *rig)
{
    for (int way = 0; way < 4; way++) {
        const char *queue = rig_queue(rig);
        submit_one(rig, &(struct pawl_job_spec){ .queue = queue, .expires_in_ms = 1000 });
        struct pawl_job run = claim_one(rig, queue);
        rig_advance(rig, 1000);
        expire(rig);
        struct pawl_report requeue = { .requeue = true };
        if (way == 0) assert_ok(rig, snooze(rig, ref_of(&run), 0));
        if (way == 1) assert_ok(rig, snooze(rig, ref_of(&run), 50000));
        if (way == 2) assert_ok(rig, fail_run(rig, ref_of(&run), requeue, NULL));
        if (way == 3) rig_advance(rig, LEASE_MS);
        if (way == 3) assert_i64(1, lapse(rig).moved);
        assert_int_equal(0, claim_n(rig, queue, 1).count);
        expire(rig);
        assert_state(EXPIRED, state_of(rig, run.id));
    }
}

/* The same, but nobody claims: the sweep alone must see to it, though it looked once before. */
static void job_that_comes_back_after_its_time_is_swept(struct rig *rig)
{
    for (int way = 0; way < 4; way++) {
        const char *queue = rig_queue(rig);
        submit_one(rig, &(struct pawl_job_spec){ .queue = queue, .expires_in_ms = 1000 });
        struct pawl_job run = claim_one(rig, queue);
        queue_pause(rig, queue, true);
        rig_advance(rig, 1000);
        expire(rig);
        struct pawl_report requeue = { .requeue = true };
        if (way == 0) assert_ok(rig, snooze(rig, ref_of(&run), 0));
        if (way == 1) assert_ok(rig, snooze(rig, ref_of(&run), 50000));
        if (way == 2) assert_ok(rig, fail_run(rig, ref_of(&run), requeue, NULL));
        if (way == 3) rig_advance(rig, LEASE_MS);
        if (way == 3) assert_i64(1, lapse(rig).moved);
        expire(rig);
        assert_state(EXPIRED, state_of(rig, run.id));
    }
}

/* A sweep that saw the job run forgets nothing, not even when the clock is set back. */
static void expiry_survives_a_clock_that_steps_back(struct rig *rig)
{
    submit_one(rig, &(struct pawl_job_spec){ .queue = "q", .expires_in_ms = 10000 });
    struct pawl_job run = claim_one(rig, "q");
    rig_advance(rig, 10000);
    expire(rig);
    rig_advance(rig, -5000);
    fail_plain(rig, ref_of(&run));
    assert_state(RETRYABLE, state_of(rig, run.id));
    rig_advance(rig, 5000);
    assert_i64(1, expire(rig).moved);
    assert_state(EXPIRED, state_of(rig, run.id));
}

static void zero_means_never(struct rig *rig)
{
    struct pawl_job_id id = submit_one(rig, NULL);
    rig_advance(rig, INT64_C(1) << 45);
    struct swept swept = expire(rig);
    assert_i64(0, swept.moved);
    assert_i64(0, swept.next_at_ms);
    assert_id(id, claim_one(rig, "default").id);
}

static void time_to_live_counts_from_when_a_job_is_due(struct rig *rig)
{
    struct pawl_job_spec spec = { .delay_ms = 60000, .expires_in_ms = 10 };
    struct pawl_job_id id = submit_one(rig, &spec);
    assert_i64(rig_now(rig) + 60010, job_get(rig, id).expires_at_ms);
    rig_advance(rig, 60009);
    expire(rig);
    promote(rig);
    assert_state(AVAILABLE, state_of(rig, id));
    rig_advance(rig, 1);
    assert_i64(1, expire(rig).moved);
    assert_state(EXPIRED, state_of(rig, id));
}

static void instant_of_expiry_may_be_given(struct rig *rig)
{
    int64_t at = rig_now(rig) + 500;
    struct pawl_job_spec spec = { .expires_at_ms = at, .delay_ms = 60000 };
    struct pawl_job_id id = submit_one(rig, &spec);
    assert_i64(at, job_get(rig, id).expires_at_ms);
    hand_clock_set(rig->clock, at);
    assert_i64(1, expire(rig).moved);
    assert_state(EXPIRED, state_of(rig, id));
}

/* The same instant for both, in either order: expiry wins. */
static void claim_and_expiry_at_one_instant_agree(struct rig *rig)
{
    for (int order = 0; order < 2; order++) {
        const char *queue = rig_queue(rig);
        struct pawl_job_id id =
            submit_one(rig, &(struct pawl_job_spec){ .queue = queue, .expires_in_ms = 100 });
        rig_advance(rig, 100);
        if (order == 1) expire(rig);
        assert_int_equal(0, claim_n(rig, queue, 1).count);
        expire(rig);
        assert_state(EXPIRED, state_of(rig, id));
    }
}

static void resumed_job_expires_if_its_time_is_over(struct rig *rig)
{
    struct pawl_job_id id = job_in(rig, PAWL_STATE_PAUSED,
                                   &(struct pawl_job_spec){ .queue = "q", .expires_in_ms = 100 });
    rig_advance(rig, 100);
    assert_i64(0, expire(rig).moved);
    assert_ok(rig, control(rig, id, PAWL_CONTROL_RESUME));
    assert_int_equal(0, claim_n(rig, "q", 1).count);
    expire(rig);
    assert_state(EXPIRED, state_of(rig, id));
}

static void activated_job_expires_if_its_time_is_over(struct rig *rig)
{
    struct pawl_job_id id =
        submit_one(rig, &(struct pawl_job_spec){ .pending = true, .expires_in_ms = 100 });
    rig_advance(rig, 100);
    assert_ok(rig, control(rig, id, PAWL_CONTROL_ACTIVATE));
    assert_int_equal(0, claim_n(rig, "default", 1).count);
    expire(rig);
    assert_state(EXPIRED, state_of(rig, id));
}

static void expiry_takes_the_oldest_first_within_the_limit(struct rig *rig)
{
    struct pawl_job_id ids[3];
    for (int i = 0; i < 3; i++)
        ids[i] = submit_one(rig, &(struct pawl_job_spec){ .expires_in_ms = 300 - i * 100 });
    rig_advance(rig, 1000);
    assert_i64(1, sweep(rig, PAWL__OP_EXPIRE, 1).moved);
    assert_state(EXPIRED, state_of(rig, ids[2]));
    assert_state(AVAILABLE, state_of(rig, ids[1]));
    assert_i64(2, sweep(rig, PAWL__OP_EXPIRE, 5).moved);
}

static void thousands_expire_in_turns(struct rig *rig)
{
    submit_n(rig, PAWL__MAINTENANCE_MAX + 1, &(struct pawl_job_spec){ .expires_in_ms = 1 });
    rig_advance(rig, 1);
    int64_t moved = expire(rig).moved;
    assert_true(moved > 0 && moved <= PAWL__MAINTENANCE_MAX);
    for (int turn = 0; turn < 100 && moved < PAWL__MAINTENANCE_MAX + 1; turn++)
        moved += expire(rig).moved;
    assert_i64(PAWL__MAINTENANCE_MAX + 1, count_state(rig, PAWL_STATE_EXPIRED));
}

/* ---- promotion ---- */

static void due_jobs_become_available_in_order(struct rig *rig)
{
    struct pawl_job_id ids[4];
    for (int i = 0; i < 4; i++)
        ids[i] = submit_one(rig, &(struct pawl_job_spec){ .delay_ms = 400 - i * 100 });
    assert_i64(rig_now(rig) + 100, promote(rig).next_at_ms);
    rig_advance(rig, 300);
    struct swept two = sweep(rig, PAWL__OP_PROMOTE, 2);
    assert_i64(2, two.moved);
    assert_i64(rig_now(rig), two.next_at_ms); // one that is due already
    assert_state(AVAILABLE, state_of(rig, ids[3]));
    assert_state(AVAILABLE, state_of(rig, ids[2]));
    assert_state(SCHEDULED, state_of(rig, ids[1]));
    struct swept one = promote(rig);
    assert_i64(1, one.moved);
    assert_i64(rig_now(rig) + 100, one.next_at_ms);
    rig_advance(rig, 100);
    assert_i64(0, promote(rig).next_at_ms);
}

static void thousands_become_available_in_turns(struct rig *rig)
{
    submit_n(rig, PAWL__MAINTENANCE_MAX + 1, &(struct pawl_job_spec){ .delay_ms = 1 });
    rig_advance(rig, 1);
    assert_i64(PAWL__MAINTENANCE_MAX, promote(rig).moved);
    assert_i64(1, promote(rig).moved);
    assert_i64(0, promote(rig).moved);
    assert_i64(PAWL__MAINTENANCE_MAX + 1, count_state(rig, PAWL_STATE_AVAILABLE));
}

static void promotion_keeps_the_first_due_time(struct rig *rig)
{
    struct pawl_job_id id = submit_one(rig, &(struct pawl_job_spec){ .delay_ms = 10 });
    int64_t due = rig_now(rig) + 10;
    rig_advance(rig, 5000);
    promote(rig);
    assert_i64(due, job_get(rig, id).due_at_ms);
    assert_i64(due, claim_one(rig, "default").due_at_ms);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(job_expires_when_its_time_is_over),
        CONTRACT(every_waiting_state_expires),
        CONTRACT(ended_running_and_paused_jobs_do_not_expire),
        CONTRACT(running_job_may_still_complete),
        CONTRACT(job_that_fails_after_its_time_expires_instead_of_waiting),
        CONTRACT(job_that_fails_in_time_waits_and_then_expires),
        CONTRACT(attempts_spent_go_before_expiry),
        CONTRACT(job_that_comes_back_after_its_time_is_not_handed_out),
        CONTRACT(job_that_comes_back_after_its_time_is_swept),
        CONTRACT(expiry_survives_a_clock_that_steps_back),
        CONTRACT(zero_means_never),
        CONTRACT(time_to_live_counts_from_when_a_job_is_due),
        CONTRACT(instant_of_expiry_may_be_given),
        CONTRACT(claim_and_expiry_at_one_instant_agree),
        CONTRACT(resumed_job_expires_if_its_time_is_over),
        CONTRACT(activated_job_expires_if_its_time_is_over),
        CONTRACT(expiry_takes_the_oldest_first_within_the_limit),
        CONTRACT(thousands_expire_in_turns),
        CONTRACT(due_jobs_become_available_in_order),
        CONTRACT(thousands_become_available_in_turns),
        CONTRACT(promotion_keeps_the_first_due_time),
    };
    return contract_run("expiry", tests, COUNT(tests));
}
