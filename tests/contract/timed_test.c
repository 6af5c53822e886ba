/* Timed leases: the store ends runs that exceed their time limit, for workers that pawl cannot
 * stop. Also reports that a worker is gone. */
#include "support/ops.h"

#define TIMEOUT_MS INT64_C(10500)

static struct pawl_job claim_timed(struct rig *rig, const char *queue, int64_t lease_ms)
{
    struct pawl__op op = { .kind = PAWL__OP_CLAIM,
                           .claim = { .queues = &queue,
                                      .queue_count = 1,
                                      .limit = 10,
                                      .worker = WORKER,
                                      .lease_ms = lease_ms,
                                      .timed = true } };
    struct claimed jobs = claim_op(rig, &op);
    assert_int_equal(1, jobs.count);
    return jobs.at[0];
}

static enum pawl_err extend_timed(struct rig *rig, struct pawl_run ref, int64_t lease_ms)
{
    enum pawl_err result = PAWL_ERR_END;
    struct pawl__op op = { .kind = PAWL__OP_EXTEND,
                           .diag = &rig->diag,
                           .extend = { .refs = &ref,
                                       .count = 1,
                                       .lease_ms = lease_ms,
                                       .timed = true,
                                       .results = &result } };
    assert_ok(rig, pawl__store_do(rig->store, &op));
    pawl__arena_release(&op.arena);
    return result;
}

static struct pawl_job_id submit_limited(struct rig *rig, const char *queue,
                                         struct pawl_retry retry)
{
    return submit_one(
        rig, &(struct pawl_job_spec){ .queue = queue, .timeout_ms = TIMEOUT_MS, .retry = retry });
}

/* ---- how long ---- */

static void timed_claim_ends_with_the_timeout_at_the_latest(struct rig *rig)
{
    static const struct {
        int64_t timeout_ms, own_lease_ms, lease_ms, expected_ms;
    } rows[] = {
        { TIMEOUT_MS, 0, LEASE_MS, TIMEOUT_MS },
        { TIMEOUT_MS, 0, TIMEOUT_MS, TIMEOUT_MS },
        { TIMEOUT_MS, 0, 5000, 5000 },
        { TIMEOUT_MS, 20000, 5000, TIMEOUT_MS },
        { TIMEOUT_MS, 2000, LEASE_MS, 2000 },
        { 0, 0, LEASE_MS, LEASE_MS },
        { 0, 2000, LEASE_MS, 2000 },
        { 1, 0, LEASE_MS, 1 },
        { DURATION_MAX_MS, 0, DURATION_MAX_MS, DURATION_MAX_MS },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *queue = rig_queue(rig);
        submit_one(rig, &(struct pawl_job_spec){ .queue = queue,
                                                 .timeout_ms = rows[i].timeout_ms,
                                                 .lease_ms = rows[i].own_lease_ms });
        struct pawl_job run = claim_timed(rig, queue, rows[i].lease_ms);
        assert_i64(rig_now(rig) + rows[i].expected_ms, run.lease_until_ms);
        assert_i64(run.lease_until_ms, job_get(rig, run.id).lease_until_ms);
    }
}

/* Some of a claim's jobs have a limit, some have none. */
static void each_job_of_a_claim_has_its_own_limit(struct rig *rig)
{
    static const int64_t timeouts[] = { 0, 3000, 0, 1000 };
    for (size_t i = 0; i < COUNT(timeouts); i++)
        submit_one(rig, &(struct pawl_job_spec){ .queue = "q", .timeout_ms = timeouts[i] });
    const char *queue = "q";
    struct pawl__op op = { .kind = PAWL__OP_CLAIM,
                           .claim = { .queues = &queue,
                                      .queue_count = 1,
                                      .limit = 10,
                                      .worker = WORKER,
                                      .lease_ms = 2000,
                                      .timed = true } };
    struct claimed jobs = claim_op(rig, &op);
    assert_int_equal(COUNT(timeouts), jobs.count);
    for (size_t i = 0; i < jobs.count; i++)
        assert_i64(rig_now(rig) + (i == 3 ? 1000 : 2000), jobs.at[i].lease_until_ms);
}

static void timed_extension_stops_at_the_timeout(struct rig *rig)
{
    submit_limited(rig, "q", (struct pawl_retry){ 0 });
    struct pawl_job run = claim_timed(rig, "q", 4000);
    rig_advance(rig, 3000);
    assert_err(rig, PAWL_OK, extend_timed(rig, ref_of(&run), 4000));
    assert_i64(run.started_at_ms + 7000, job_get(rig, run.id).lease_until_ms);
    rig_advance(rig, 3999);
    assert_err(rig, PAWL_OK, extend_timed(rig, ref_of(&run), 4000));
    assert_i64(run.started_at_ms + TIMEOUT_MS, job_get(rig, run.id).lease_until_ms);
    assert_err(rig, PAWL_OK, extend_timed(rig, ref_of(&run), DURATION_MAX_MS));
    assert_i64(run.started_at_ms + TIMEOUT_MS, job_get(rig, run.id).lease_until_ms);
    rig_advance(rig, TIMEOUT_MS - 7000);
    assert_i64(0, lapse(rig).moved);
    rig_advance(rig, 1);
    assert_err(rig, PAWL_ERR_STALE, extend_timed(rig, ref_of(&run), 4000));
    assert_i64(1, lapse(rig).moved);
    assert_state(RETRYABLE, state_of(rig, run.id));
}

static void timed_extension_without_a_timeout_is_any_other(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job run = claim_timed(rig, "default", 4000);
    rig_advance(rig, 3000);
    assert_err(rig, PAWL_OK, extend_timed(rig, ref_of(&run), 4000));
    assert_i64(run.started_at_ms + 7000, job_get(rig, run.id).lease_until_ms);
    struct pawl_run older = { .id = run.id, .run = run.run + 1 };
    assert_err(rig, PAWL_ERR_STALE, extend_timed(rig, older, 4000));
    struct pawl_run nobody = { .id = rig_id(rig), .run = 1 };
    assert_err(rig, PAWL_ERR_NOT_FOUND, extend_timed(rig, nobody, 4000));
}

/* The limit is that of a run: the next one has all of it. */
static void limit_counts_from_the_start_of_each_run(struct rig *rig)
{
    submit_limited(rig, "q", (struct pawl_retry){ 0 });
    struct pawl_job run = claim_timed(rig, "q", LEASE_MS);
    rig_advance(rig, TIMEOUT_MS - 1);
    assert_ok(rig, snooze(rig, ref_of(&run), 0));
    rig_advance(rig, 12345);
    run = claim_timed(rig, "q", LEASE_MS);
    assert_i64(rig_now(rig) + TIMEOUT_MS, run.lease_until_ms);
}

/* ---- what follows ---- */

static void run_over_its_limit_fails_with_a_timeout(struct rig *rig)
{
    struct pawl_job_id id = submit_limited(rig, "q", (struct pawl_retry){ .initial_ms = 700 });
    struct pawl_job run = claim_timed(rig, "q", LEASE_MS);
    assert_i64(run.lease_until_ms, lapse(rig).next_at_ms);
    rig_advance(rig, TIMEOUT_MS + 250);
    assert_i64(1, lapse(rig).moved);
    struct pawl_job job = job_get(rig, id);
    assert_state(RETRYABLE, job.state);
    assert_i64(rig_now(rig) + 700, job.due_at_ms);
    assert_i64(1, job.attempt);
    assert_i64(0, job.free_runs);
    assert_i64(0, job.lease_until_ms);
    struct pawl_story story = story_of(rig, id);
    assert_int_equal(1, story.failure_count);
    const struct pawl_failure *f = &story.failures[0];
    assert_false(f->lapsed);
    assert_text("timeout", f->type);
    assert_text("timeout", f->code);
    assert_within("10.5 s", f->message);
    assert_span(span_of("{\"timeout_kind\":\"execution\",\"limit_seconds\":10.5,"
                        "\"elapsed_seconds\":10.75}"),
                f->details);
    assert_i64(700, f->retry_delay_ms);
    assert_i64(1, f->run);
    assert_i64(1, f->attempt);
    assert_i64(run.started_at_ms, f->started_at_ms);
    assert_i64(rig_now(rig), f->failed_at_ms);
    assert_text(WORKER, f->worker);
}

static void seconds_are_written_without_idle_zeros(struct rig *rig)
{
    static const struct {
        int64_t timeout_ms, late_ms;
        const char *details;
    } rows[] = {
        { 1, 0, "\"limit_seconds\":0.001,\"elapsed_seconds\":0.001}" },
        { 1000, 20, "\"limit_seconds\":1,\"elapsed_seconds\":1.02}" },
        { 100000, 300, "\"limit_seconds\":100,\"elapsed_seconds\":100.3}" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *queue = rig_queue(rig);
        struct pawl_job_id id = submit_one(
            rig, &(struct pawl_job_spec){ .queue = queue, .timeout_ms = rows[i].timeout_ms });
        claim_timed(rig, queue, 1000000);
        rig_advance(rig, rows[i].timeout_ms + rows[i].late_ms);
        assert_i64(1, lapse(rig).moved);
        struct pawl_story story = story_of(rig, id);
        assert_int_equal(1, story.failure_count);
        struct pawl_span details = story.failures[0].details;
        assert_within(rows[i].details, rig_text(rig, "%.*s", (int)details.len, details.at));
        assert_ok(rig, control(rig, id, PAWL_CONTROL_CANCEL));
    }
}

static void run_out(struct rig *rig, const char *queue)
{
    promote(rig);
    struct pawl_job run = claim_timed(rig, queue, LEASE_MS);
    hand_clock_set(rig->clock, run.lease_until_ms);
    assert_i64(1, lapse(rig).moved);
}

/* A run that is slow is no crash: as many attempts as the policy allows, not three. */
static void timeouts_spend_attempts_not_crash_credits(struct rig *rig)
{
    enum { ATTEMPTS = PAWL__CRASHES_MAX + 3 };
    struct pawl_retry retry = { .attempts_max = ATTEMPTS, .backoff = PAWL_BACKOFF_IMMEDIATE };
    struct pawl_job_id id = submit_limited(rig, "q", retry);
    for (int i = 1; i < ATTEMPTS; i++) {
        run_out(rig, "q");
        assert_state(RETRYABLE, state_of(rig, id));
    }
    run_out(rig, "q");
    struct pawl_job job = job_get(rig, id);
    assert_state(DISCARDED, job.state);
    assert_i64(ATTEMPTS, job.attempt);
    assert_i64(rig_now(rig), job.finished_at_ms);
    assert_true(job.reason[0] != '\0');
    assert_null(strstr(job.reason, "poison"));
    struct pawl_story story = story_of(rig, id);
    assert_int_equal(ATTEMPTS, story.failure_count);
    assert_i64(-1, story.failures[ATTEMPTS - 1].retry_delay_ms);
}

static void policy_may_call_timeouts_final(struct rig *rig)
{
    static const char *const final[] = { "timeout" };
    struct pawl_retry retry = { .attempts_max = 9,
                                .non_retryable = final,
                                .non_retryable_count = 1,
                                .on_exhaustion = PAWL_EXHAUSTION_DEAD_LETTER };
    struct pawl_job_id id = submit_limited(rig, "q", retry);
    run_out(rig, "q");
    assert_state(DISCARDED, state_of(rig, id));
    assert_true(job_get(rig, id).dead_letter);
}

static void timeout_after_the_time_to_live_expires(struct rig *rig)
{
    struct pawl_job_id id = submit_one(
        rig,
        &(struct pawl_job_spec){ .queue = "q", .timeout_ms = TIMEOUT_MS, .expires_in_ms = 5000 });
    run_out(rig, "q");
    assert_state(EXPIRED, state_of(rig, id));
    struct pawl_story story = story_of(rig, id);
    assert_int_equal(1, story.failure_count);
    assert_text("timeout", story.failures[0].type);
    assert_i64(-1, story.failures[0].retry_delay_ms);
}

static void late_outcome_of_a_timed_run_is_refused(struct rig *rig)
{
    submit_limited(rig, "q", (struct pawl_retry){ .backoff = PAWL_BACKOFF_IMMEDIATE });
    struct pawl_job run = claim_timed(rig, "q", LEASE_MS);
    rig_advance(rig, TIMEOUT_MS);
    assert_i64(1, lapse(rig).moved);
    assert_err(rig, PAWL_ERR_STALE, complete(rig, ref_of(&run), NULL));
    promote(rig);
    claim_timed(rig, "q", LEASE_MS);
    assert_err(rig, PAWL_ERR_STALE, complete(rig, ref_of(&run), NULL));
    assert_state(ACTIVE, state_of(rig, run.id));
}

static void limits_outlive_a_restart(struct rig *rig)
{
    struct pawl_job_id id = submit_limited(rig, "q", (struct pawl_retry){ 0 });
    claim_timed(rig, "q", LEASE_MS);
    rig_reopen(rig);
    rig_advance(rig, TIMEOUT_MS);
    assert_i64(1, lapse(rig).moved);
    assert_text("timeout", story_of(rig, id).failures[0].type);
}

/* ---- lapses stay lapses ---- */

static void assert_lapsed(struct rig *rig, struct pawl_job_id id)
{
    assert_state(AVAILABLE, state_of(rig, id));
    struct pawl_story story = story_of(rig, id);
    assert_int_equal(1, story.failure_count);
    assert_true(story.failures[0].lapsed);
    assert_text("lease_lapsed", story.failures[0].type);
}

static void timed_lease_that_ends_sooner_lapses(struct rig *rig)
{
    struct pawl_job_id id = submit_limited(rig, "q", (struct pawl_retry){ 0 });
    claim_timed(rig, "q", TIMEOUT_MS - 1);
    rig_advance(rig, TIMEOUT_MS + 1000); // nobody swept in time: still the worker that fell silent
    assert_i64(1, lapse(rig).moved);
    assert_lapsed(rig, id);
}

/* Also when it ends at the very instant of the timeout, or just around it. */
static void lease_that_is_not_timed_lapses(struct rig *rig)
{
    for (int64_t off = -1; off <= 1; off++) {
        const char *queue = rig_queue(rig);
        struct pawl_job_id id = submit_one(
            rig, &(struct pawl_job_spec){ .queue = queue, .timeout_ms = LEASE_MS + off });
        struct pawl_job run = claim_one(rig, queue);
        assert_true(run.lease_until_ms >= rig_now(rig) + LEASE_MS);
        assert_true(run.lease_until_ms <= rig_now(rig) + LEASE_MS + 1);
        assert_i64(run.lease_until_ms, job_get(rig, id).lease_until_ms);
        rig_advance(rig, LEASE_MS + 1);
        assert_i64(1, lapse(rig).moved);
        assert_lapsed(rig, id);
    }
}

static void extension_that_is_not_timed_passes_the_limit_and_lapses(struct rig *rig)
{
    for (int64_t off = -1; off <= 1; off++) {
        const char *queue = rig_queue(rig);
        struct pawl_job_id id = submit_limited(rig, queue, (struct pawl_retry){ 0 });
        struct pawl_job run = claim_timed(rig, queue, LEASE_MS);
        rig_advance(rig, 500);
        assert_err(rig, PAWL_OK, extend(rig, ref_of(&run), TIMEOUT_MS - 500 + off));
        assert_true(job_get(rig, id).lease_until_ms >= run.lease_until_ms + off);
        assert_true(job_get(rig, id).lease_until_ms <= run.lease_until_ms + off + 1);
        rig_advance(rig, TIMEOUT_MS + 1);
        assert_i64(1, lapse(rig).moved);
        assert_lapsed(rig, id);
    }
}

static void job_that_was_routed_lapses(struct rig *rig)
{
    struct pawl_job_id id =
        submit_one(rig, &(struct pawl_job_spec){ .queue = "q", .timeout_ms = LEASE_MS });
    struct claimed routed = route_n(rig, "q", 1);
    struct pawl_job run;
    assert_ok(rig, assign(rig, id, WORKER, routed.at[0].lease_until_ms, &run));
    rig_advance(rig, LEASE_MS + 1);
    assert_i64(1, lapse(rig).moved);
    assert_lapsed(rig, id);
}

/* The limit was passed while the lease was extended without a thought for it. */
static void timed_extension_ends_a_run_that_is_over_its_limit(struct rig *rig)
{
    struct pawl_job_id id = submit_limited(rig, "q", (struct pawl_retry){ 0 });
    struct pawl_job run = claim_one(rig, "q");
    rig_advance(rig, TIMEOUT_MS + 10);
    assert_err(rig, PAWL_OK, extend_timed(rig, ref_of(&run), LEASE_MS));
    assert_i64(1, lapse(rig).moved);
    assert_text("timeout", story_of(rig, id).failures[0].type);
}

/* ---- a worker that is known to be gone ---- */

static struct failed report_lapse(struct rig *rig, const char *queue)
{
    struct pawl_job run = claim_one(rig, queue);
    struct failed out = { 0 };
    assert_ok(rig, fail_run(rig, ref_of(&run),
                            (struct pawl_report){ .type = "worker_lost",
                                                  .code = "gone",
                                                  .message = "it hung up",
                                                  .details = span_of("{\"signal\":9}"),
                                                  .lapse = true },
                            &out));
    return out;
}

static void reported_lapse_frees_the_job_at_once(struct rig *rig)
{
    struct pawl_job_spec spec = { .queue = "q", .retry = { .initial_ms = 60000 } };
    struct pawl_job_id id = submit_one(rig, &spec);
    int64_t due_at_ms = job_get(rig, id).due_at_ms;
    rig_advance(rig, 10);
    struct failed out = report_lapse(rig, "q");
    assert_state(AVAILABLE, out.to);
    assert_i64(0, out.delay_ms);
    assert_i64(1, out.attempt);
    assert_i64(due_at_ms, out.due_at_ms); // it keeps its age
    struct pawl_job job = job_get(rig, id);
    assert_state(AVAILABLE, job.state);
    assert_i64(0, job.lease_until_ms);
    assert_i64(0, job.free_runs);
    struct pawl_story story = story_of(rig, id);
    assert_int_equal(1, story.failure_count);
    const struct pawl_failure *f = &story.failures[0];
    assert_true(f->lapsed);
    assert_text("worker_lost", f->type);
    assert_text("gone", f->code);
    assert_text("it hung up", f->message);
    assert_span(span_of("{\"signal\":9}"), f->details);
    assert_i64(0, f->retry_delay_ms);
    assert_i64(0, lapse(rig).moved);
    assert_i64(2, claim_one(rig, "q").attempt);
}

static void reported_lapses_make_a_poison_pill(struct rig *rig)
{
    struct pawl_job_spec spec = { .queue = "q", .retry = { .attempts_max = 100 } };
    struct pawl_job_id id = submit_one(rig, &spec);
    for (int i = 1; i < PAWL__CRASHES_MAX; i++)
        assert_state(AVAILABLE, report_lapse(rig, "q").to);
    struct failed out = report_lapse(rig, "q");
    assert_state(DISCARDED, out.to);
    assert_i64(-1, out.delay_ms);
    assert_i64(0, out.due_at_ms);
    assert_i64(PAWL__CRASHES_MAX, out.attempt);
    assert_within("poison", job_get(rig, id).reason);
    assert_i64(-1, story_of(rig, id).failures[PAWL__CRASHES_MAX - 1].retry_delay_ms);
}

/* Told of or not, a crash is a crash. */
static void lapses_found_and_reported_are_counted_together(struct rig *rig)
{
    submit_one(rig, &(struct pawl_job_spec){ .queue = "q", .retry = { .attempts_max = 100 } });
    for (int i = 1; i < PAWL__CRASHES_MAX; i++) {
        claim_one(rig, "q");
        rig_advance(rig, LEASE_MS + 1);
        assert_i64(1, lapse(rig).moved);
    }
    assert_state(DISCARDED, report_lapse(rig, "q").to);
}

static void reported_lapse_without_attempts_left_discards(struct rig *rig)
{
    struct pawl_retry retry = { .attempts_max = 2, .on_exhaustion = PAWL_EXHAUSTION_DEAD_LETTER };
    struct pawl_job_id id =
        submit_one(rig, &(struct pawl_job_spec){ .queue = "q", .retry = retry });
    assert_state(AVAILABLE, report_lapse(rig, "q").to);
    struct failed out = report_lapse(rig, "q");
    assert_state(DISCARDED, out.to);
    assert_i64(-1, out.delay_ms);
    assert_true(job_get(rig, id).dead_letter);
}

static void reported_lapse_after_the_time_to_live_expires(struct rig *rig)
{
    submit_one(rig, &(struct pawl_job_spec){ .queue = "q", .expires_in_ms = 5000 });
    struct pawl_job run = claim_one(rig, "q");
    rig_advance(rig, 5000);
    struct failed out;
    assert_ok(rig, fail_run(rig, ref_of(&run), (struct pawl_report){ .lapse = true }, &out));
    assert_state(EXPIRED, out.to);
    assert_i64(-1, out.delay_ms);
}

/* A lapse is no error that a policy could call final, and asks for no wait. */
static void reported_lapse_asks_no_policy(struct rig *rig)
{
    static const char *const final[] = { "worker_lost" };
    struct pawl_retry retry = { .attempts_max = 9,
                                .non_retryable = final,
                                .non_retryable_count = 1 };
    submit_one(rig, &(struct pawl_job_spec){ .queue = "q", .retry = retry });
    struct pawl_job run = claim_one(rig, "q");
    struct failed out;
    assert_ok(rig, fail_run(rig, ref_of(&run),
                            (struct pawl_report){ .type = "worker_lost",
                                                  .lapse = true,
                                                  .not_retryable = true,
                                                  .retry_after_ms = 5000 },
                            &out));
    assert_state(AVAILABLE, out.to);
    assert_i64(0, out.delay_ms);
}

static void reported_lapse_is_fenced(struct rig *rig)
{
    submit_one(rig, &(struct pawl_job_spec){ .queue = "q" });
    struct pawl_job old = claim_one(rig, "q");
    struct pawl_report gone = { .lapse = true };
    struct failed out;
    assert_ok(rig, fail_run(rig, ref_of(&old), gone, &out));
    assert_err(rig, PAWL_ERR_STALE, fail_run(rig, ref_of(&old), gone, &out));
    struct pawl_job run = claim_one(rig, "q");
    assert_err(rig, PAWL_ERR_STALE, fail_run(rig, ref_of(&old), gone, &out));
    assert_ok(rig, complete(rig, ref_of(&run), NULL));
    struct pawl_run nobody = { .id = rig_id(rig), .run = 1 };
    assert_err(rig, PAWL_ERR_NOT_FOUND, fail_run(rig, nobody, gone, &out));
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(timed_claim_ends_with_the_timeout_at_the_latest),
        CONTRACT(each_job_of_a_claim_has_its_own_limit),
        CONTRACT(timed_extension_stops_at_the_timeout),
        CONTRACT(timed_extension_without_a_timeout_is_any_other),
        CONTRACT(limit_counts_from_the_start_of_each_run),
        CONTRACT(run_over_its_limit_fails_with_a_timeout),
        CONTRACT(seconds_are_written_without_idle_zeros),
        CONTRACT(timeouts_spend_attempts_not_crash_credits),
        CONTRACT(policy_may_call_timeouts_final),
        CONTRACT(timeout_after_the_time_to_live_expires),
        CONTRACT(late_outcome_of_a_timed_run_is_refused),
        CONTRACT_SHARED(limits_outlive_a_restart),
        CONTRACT(timed_lease_that_ends_sooner_lapses),
        CONTRACT(lease_that_is_not_timed_lapses),
        CONTRACT(extension_that_is_not_timed_passes_the_limit_and_lapses),
        CONTRACT(job_that_was_routed_lapses),
        CONTRACT(timed_extension_ends_a_run_that_is_over_its_limit),
        CONTRACT(reported_lapse_frees_the_job_at_once),
        CONTRACT(reported_lapses_make_a_poison_pill),
        CONTRACT(lapses_found_and_reported_are_counted_together),
        CONTRACT(reported_lapse_without_attempts_left_discards),
        CONTRACT(reported_lapse_after_the_time_to_live_expires),
        CONTRACT(reported_lapse_asks_no_policy),
        CONTRACT(reported_lapse_is_fenced),
    };
    return contract_run("timed", tests, COUNT(tests));
}
