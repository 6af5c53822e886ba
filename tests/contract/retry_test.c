/* Failures: the outcome of a report, when the job runs again, and what is recorded. */
#include "support/ops.h"

/* Waits for the job to be due, takes it. */
static struct pawl_job next_run(struct rig *rig, const char *queue)
{
    struct swept waiting = promote(rig);
    if (waiting.moved == 0 && waiting.next_at_ms > rig_now(rig)) {
        hand_clock_set(rig->clock, waiting.next_at_ms);
        promote(rig);
    }
    return claim_one(rig, queue);
}

static void failure_waits_then_runs_again(struct rig *rig)
{
    struct pawl_job_spec spec = { .retry = { .initial_ms = 5000 } };
    submit_one(rig, &spec);
    struct pawl_job run = claim_one(rig, "default");
    rig_advance(rig, 10);
    struct failed out = fail_plain(rig, ref_of(&run));
    int64_t due = rig_now(rig) + 5000;
    assert_state(RETRYABLE, out.to);
    assert_i64(5000, out.delay_ms);
    assert_i64(due, out.due_at_ms);
    assert_i64(1, out.attempt);
    struct pawl_job job = job_get(rig, run.id);
    assert_state(RETRYABLE, job.state);
    assert_i64(due, job.due_at_ms);
    assert_i64(1, job.attempt);
    assert_i64(0, job.free_runs);
    assert_i64(0, job.lease_until_ms);
    assert_i64(0, job.finished_at_ms);
    assert_i64(run.started_at_ms, job.started_at_ms);
    rig_advance(rig, 4999);
    assert_i64(0, promote(rig).moved);
    assert_int_equal(0, claim_n(rig, "default", 1).count);
    rig_advance(rig, 1);
    assert_i64(1, promote(rig).moved);
    assert_state(AVAILABLE, state_of(rig, run.id));
    struct pawl_job again = claim_one(rig, "default");
    assert_i64(2, again.attempt);
    assert_i64(2, again.run);
}

/* Fail `count` times; the waits are `delays`, the last failure ends the job. */
static void assert_waits(struct rig *rig, struct pawl_retry retry, const int64_t *delays,
                         size_t count)
{
    const char *queue = rig_queue(rig);
    struct pawl_job_id id =
        submit_one(rig, &(struct pawl_job_spec){ .queue = queue, .retry = retry });
    for (size_t i = 0; i < count; i++) {
        struct pawl_job run = next_run(rig, queue);
        assert_id(id, run.id);
        assert_i64((int64_t)i + 1, run.attempt);
        struct failed out = fail_plain(rig, ref_of(&run));
        assert_state(RETRYABLE, out.to);
        assert_i64(delays[i], out.delay_ms);
        assert_i64(rig_now(rig) + delays[i], out.due_at_ms);
        assert_i64(out.due_at_ms, job_get(rig, id).due_at_ms);
    }
    struct pawl_job last = next_run(rig, queue);
    struct failed out = fail_plain(rig, ref_of(&last));
    assert_state(DISCARDED, out.to);
    assert_i64(-1, out.delay_ms);
    assert_i64(0, out.due_at_ms);
    assert_i64((int64_t)count + 1, out.attempt);
}

static void waits_follow_the_policy_to_the_ms(struct rig *rig)
{
    assert_waits(rig, (struct pawl_retry){ 0 }, (int64_t[]){ 1000, 2000 }, 2);
    assert_waits(rig, pawl__retry_marie(3, 5000, true, false), (int64_t[]){ 5000, 10000, 20000 },
                 3);
    assert_waits(rig, pawl__retry_marie(2, 5000, false, false), (int64_t[]){ 5000, 5000 }, 2);
    assert_waits(rig, pawl__retry_ratchet(PAWL__RATCHET_EXPONENTIAL, 3, 100),
                 (int64_t[]){ 100, 200, 400 }, 3);
    assert_waits(rig, pawl__retry_ratchet(PAWL__RATCHET_FIXED, 2, 70), (int64_t[]){ 70, 70 }, 2);
    assert_waits(rig, (struct pawl_retry){ .attempts_max = 4, .backoff = PAWL_BACKOFF_LINEAR },
                 (int64_t[]){ 1000, 2000, 3000 }, 3);
    assert_waits(rig, (struct pawl_retry){ .attempts_max = 4, .backoff = PAWL_BACKOFF_POLYNOMIAL },
                 (int64_t[]){ 1000, 4000, 9000 }, 3);
    assert_waits(rig, (struct pawl_retry){ .attempts_max = 5, .initial_ms = 1000, .cap_ms = 3000 },
                 (int64_t[]){ 1000, 2000, 3000, 3000 }, 4);
}

static void one_attempt_means_never_again(struct rig *rig)
{
    submit_one(rig, &(struct pawl_job_spec){ .retry = { .attempts_max = 1 } });
    struct pawl_job run = claim_one(rig, "default");
    assert_state(DISCARDED, fail_plain(rig, ref_of(&run)).to);
    struct pawl_job job = job_get(rig, run.id);
    assert_state(DISCARDED, job.state);
    assert_i64(rig_now(rig), job.finished_at_ms);
    assert_true(job.reason[0] != '\0');
    assert_false(job.dead_letter);
}

static void immediate_retry_is_due_at_once(struct rig *rig)
{
    struct pawl_retry retry = { .backoff = PAWL_BACKOFF_IMMEDIATE };
    submit_one(rig, &(struct pawl_job_spec){ .retry = retry });
    struct pawl_job run = claim_one(rig, "default");
    struct failed out = fail_plain(rig, ref_of(&run));
    assert_i64(0, out.delay_ms);
    assert_i64(rig_now(rig), out.due_at_ms);
    assert_int_equal(out.to, state_of(rig, run.id));
    promote(rig);
    assert_i64(2, claim_one(rig, "default").attempt);
}

static void jitter_stays_in_its_bounds(struct rig *rig)
{
    struct pawl_retry retry = { .attempts_max = 100, .jitter = PAWL_JITTER_ON, .cap_ms = 8000 };
    submit_one(rig, &(struct pawl_job_spec){ .retry = retry });
    bool varied = false;
    for (int n = 1; n <= 30; n++) {
        struct pawl_job run = next_run(rig, "default");
        int64_t base = n < 4 ? INT64_C(1000) << (n - 1) : 8000;
        int64_t delay = fail_plain(rig, ref_of(&run)).delay_ms;
        assert_true(delay >= base / 2);
        assert_true(delay <= base * 3 / 2 && delay <= 8000);
        varied = varied || (delay != base && delay != base / 2);
    }
    assert_true(varied);
}

static void huge_waits_are_capped(struct rig *rig)
{
    struct pawl_retry retry = pawl__retry_ratchet(PAWL__RATCHET_EXPONENTIAL, 60, 1000);
    submit_one(rig, &(struct pawl_job_spec){ .retry = retry });
    int64_t delay = 0;
    for (int n = 1; n <= 60; n++) {
        struct pawl_job run = next_run(rig, "default");
        delay = fail_plain(rig, ref_of(&run)).delay_ms;
    }
    assert_i64(INT64_C(86400000), delay);
}

/* What a report leads to, with plenty of attempts left. */
static void reports_are_orders_or_pleas(struct rig *rig)
{
    static const char *const list[] = { "auth.*", "fatal" };
    const struct {
        struct pawl_report report;
        enum pawl_state to;
        bool dead_letter;
        int64_t delay_ms;
    } cases[] = {
        { { .type = "io" }, PAWL_STATE_RETRYABLE, false, 1000 },
        { { 0 }, PAWL_STATE_RETRYABLE, false, 1000 },
        { { .type = "io", .retry_after_ms = 77 }, PAWL_STATE_RETRYABLE, false, 77 },
        { { .code = "RETRY" }, PAWL_STATE_RETRYABLE, false, 1000 },
        { { .code = "DISCARD" }, PAWL_STATE_DISCARDED, false, -1 },
        { { .code = "FAIL" }, PAWL_STATE_DISCARDED, false, -1 },
        { { .code = "DEAD_LETTER" }, PAWL_STATE_DISCARDED, true, -1 },
        { { .type = "fatal" }, PAWL_STATE_DISCARDED, false, -1 },
        { { .type = "auth.denied" }, PAWL_STATE_DISCARDED, false, -1 },
        { { .type = "auth" }, PAWL_STATE_RETRYABLE, false, 1000 },
        { { .error_class = "fatal" }, PAWL_STATE_DISCARDED, false, -1 },
        { { .code = "fatal" }, PAWL_STATE_DISCARDED, false, -1 },
        { { .not_retryable = true }, PAWL_STATE_DISCARDED, false, -1 },
        { { .not_retryable = true, .retry_after_ms = 5 }, PAWL_STATE_DISCARDED, false, -1 },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *queue = rig_queue(rig);
        struct pawl_retry retry = { .non_retryable = list, .non_retryable_count = 2 };
        submit_one(rig, &(struct pawl_job_spec){ .queue = queue, .retry = retry });
        struct pawl_job run = claim_one(rig, queue);
        struct failed out = { 0 };
        assert_ok(rig, fail_run(rig, ref_of(&run), cases[i].report, &out));
        assert_int_equal(cases[i].to, out.to);
        assert_i64(cases[i].delay_ms, out.delay_ms);
        struct pawl_job job = job_get(rig, run.id);
        assert_int_equal(cases[i].to, job.state);
        assert_int_equal(cases[i].dead_letter, job.dead_letter);
        assert_int_equal(1, story_of(rig, run.id).failure_count);
    }
}

static void exhaustion_may_lead_to_the_dead_letters(struct rig *rig)
{
    struct pawl_retry retry = { .attempts_max = 1, .on_exhaustion = PAWL_EXHAUSTION_DEAD_LETTER };
    submit_one(rig, &(struct pawl_job_spec){ .retry = retry });
    struct pawl_job run = claim_one(rig, "default");
    assert_state(DISCARDED, fail_plain(rig, ref_of(&run)).to);
    assert_true(job_get(rig, run.id).dead_letter);
    assert_i64(1, count_jobs(rig, &(struct pawl_filter){ .dead_letter = true }));
    assert_ok(rig, control(rig, run.id, PAWL_CONTROL_RETRY));
    assert_false(job_get(rig, run.id).dead_letter);
    assert_i64(0, count_jobs(rig, &(struct pawl_filter){ .dead_letter = true }));
}

static void requeue_gives_back_and_charges_nothing(struct rig *rig)
{
    struct pawl_job_id id =
        submit_one(rig, &(struct pawl_job_spec){ .retry = { .attempts_max = 2 } });
    for (int i = 1; i <= 10; i++) {
        struct pawl_job run = claim_one(rig, "default");
        assert_i64(i, run.attempt);
        struct failed out = { 0 };
        struct pawl_report report = { .type = "busy", .requeue = true };
        assert_ok(rig, fail_run(rig, ref_of(&run), report, &out));
        assert_state(AVAILABLE, out.to);
        assert_i64(0, out.delay_ms);
        struct pawl_job job = job_get(rig, id);
        assert_state(AVAILABLE, job.state);
        assert_i64(i, job.free_runs);
        assert_i64(job.due_at_ms, out.due_at_ms);
    }
    assert_int_equal(0, story_of(rig, id).failure_count);
    struct pawl_job run = claim_one(rig, "default");
    struct failed out = fail_plain(rig, ref_of(&run));
    assert_state(RETRYABLE, out.to); // the first that counts
    assert_i64(1000, out.delay_ms);
    run = next_run(rig, "default");
    assert_state(DISCARDED, fail_plain(rig, ref_of(&run)).to);
}

static void snooze_charges_nothing(struct rig *rig)
{
    struct pawl_job_id id =
        submit_one(rig, &(struct pawl_job_spec){ .retry = { .attempts_max = 1 } });
    for (int i = 1; i <= 5; i++) {
        struct pawl_job run = claim_one(rig, "default");
        assert_ok(rig, snooze(rig, ref_of(&run), 1000));
        struct pawl_job job = job_get(rig, id);
        assert_state(SCHEDULED, job.state);
        assert_i64(rig_now(rig) + 1000, job.due_at_ms);
        assert_i64(i, job.attempt);
        assert_i64(i, job.free_runs);
        assert_i64(0, job.lease_until_ms);
        rig_advance(rig, 1000);
        assert_i64(1, promote(rig).moved);
    }
    assert_int_equal(0, story_of(rig, id).failure_count);
    struct pawl_job run = claim_one(rig, "default");
    assert_ok(rig, complete(rig, ref_of(&run), NULL));
}

static void given_back_job_keeps_its_age(struct rig *rig)
{
    struct pawl_job_id old = submit_one(rig, NULL);
    rig_advance(rig, 1000);
    struct pawl_job_id young = submit_one(rig, NULL);
    struct pawl_job run = claim_n(rig, "default", 1).at[0];
    rig_advance(rig, 1000);
    assert_ok(rig, snooze(rig, ref_of(&run), 0));
    assert_state(AVAILABLE, state_of(rig, old));
    run = claim_n(rig, "default", 1).at[0];
    assert_id(old, run.id);
    assert_ok(rig, fail_run(rig, ref_of(&run), (struct pawl_report){ .requeue = true }, NULL));
    struct claimed jobs = claim_n(rig, "default", 10);
    assert_int_equal(2, jobs.count);
    assert_id(old, jobs.at[0].id);
    assert_id(young, jobs.at[1].id);
}

static void failures_are_remembered_oldest_first(struct rig *rig)
{
    struct pawl_job_id id = submit_one(rig, NULL);
    struct pawl_job run = claim_one(rig, "default");
    rig_advance(rig, 11);
    struct pawl_report first = { .type = "io.error",
                                 .code = "EIO",
                                 .message = "disk \"a\" gone",
                                 .details = span_of("{\"disk\": 1}") };
    assert_ok(rig, fail_run(rig, ref_of(&run), first, NULL));
    run = next_run(rig, "default");
    rig_advance(rig, LEASE_MS + 1);
    lapse(rig);
    run = claim_one(rig, "default");
    struct pawl_report last = { .type = "other" };
    assert_ok(rig, fail_run(rig, ref_of(&run), last, NULL));
    struct pawl_story story = story_of(rig, id);
    assert_int_equal(3, story.failure_count);
    const struct pawl_failure *f = story.failures;
    assert_i64(1, f[0].run);
    assert_i64(1, f[0].attempt);
    assert_i64(HAND_CLOCK_START_MS, f[0].started_at_ms);
    assert_i64(HAND_CLOCK_START_MS + 11, f[0].failed_at_ms);
    assert_i64(1000, f[0].retry_delay_ms);
    assert_false(f[0].lapsed);
    assert_text(WORKER, f[0].worker);
    assert_text("io.error", f[0].type);
    assert_text("EIO", f[0].code);
    assert_text("disk \"a\" gone", f[0].message);
    assert_span(span_of("{\"disk\": 1}"), f[0].details);
    assert_i64(2, f[1].run);
    assert_true(f[1].lapsed);
    assert_text(WORKER, f[1].worker);
    assert_i64(3, f[2].run);
    assert_i64(3, f[2].attempt);
    assert_i64(-1, f[2].retry_delay_ms);
    assert_text("other", f[2].type);
    assert_text("", f[2].message);
    assert_state(DISCARDED, story.job.state);
}

static void failures_are_kept_through_revival(struct rig *rig)
{
    struct pawl_job_id id =
        submit_one(rig, &(struct pawl_job_spec){ .retry = { .attempts_max = 1 } });
    for (int i = 1; i <= 3; i++) {
        struct pawl_job run = claim_one(rig, "default");
        assert_i64(1, run.attempt);
        assert_i64(i, run.run);
        assert_state(DISCARDED, fail_plain(rig, ref_of(&run)).to);
        assert_int_equal(i, story_of(rig, id).failure_count);
        assert_ok(rig, control(rig, id, PAWL_CONTROL_RETRY));
    }
}

static void only_the_newest_failures_are_kept(struct rig *rig)
{
    enum { EXTRA = 7 };
    struct pawl_retry retry = { .attempts_max = 1000, .backoff = PAWL_BACKOFF_IMMEDIATE };
    struct pawl_job_id id = submit_one(rig, &(struct pawl_job_spec){ .retry = retry });
    for (int i = 0; i < PAWL__FAILURES_KEPT + EXTRA; i++) {
        struct pawl_job run = next_run(rig, "default");
        fail_plain(rig, ref_of(&run));
    }
    struct pawl_story story = story_of(rig, id);
    assert_int_equal(PAWL__FAILURES_KEPT, story.failure_count);
    assert_i64(EXTRA + 1, story.failures[0].run);
    assert_i64(PAWL__FAILURES_KEPT + EXTRA, story.failures[PAWL__FAILURES_KEPT - 1].run);
}

static void large_multibyte_error_survives(struct rig *rig)
{
    struct pawl_span text = rig_multibyte(rig, 256 * 1024, false);
    struct pawl_span json = rig_multibyte(rig, 256 * 1024, true);
    submit_one(rig, NULL);
    struct pawl_job run = claim_one(rig, "default");
    struct pawl_report report = { .type = "big", .message = text.at, .details = json };
    assert_ok(rig, fail_run(rig, ref_of(&run), report, NULL));
    struct pawl_story story = story_of(rig, run.id);
    assert_text(text.at, story.failures[0].message);
    assert_span(json, story.failures[0].details);
}

static void wait_outlives_a_restart(struct rig *rig)
{
    submit_one(rig, &(struct pawl_job_spec){ .retry = { .initial_ms = 5000 } });
    struct pawl_job run = claim_one(rig, "default");
    int64_t due = fail_plain(rig, ref_of(&run)).due_at_ms;
    rig_reopen(rig);
    assert_i64(due, job_get(rig, run.id).due_at_ms);
    assert_i64(due, promote(rig).next_at_ms);
    hand_clock_set(rig->clock, due);
    assert_i64(1, promote(rig).moved);
}

static void discarding_by_an_operator_ends_a_wait(struct rig *rig)
{
    struct pawl_job_id id = job_in(rig, PAWL_STATE_RETRYABLE, NULL);
    assert_ok(rig, control(rig, id, PAWL_CONTROL_DISCARD));
    rig_advance(rig, INT64_C(1000000000));
    assert_i64(0, promote(rig).moved);
    assert_state(DISCARDED, state_of(rig, id));
}

/* Old runs that charged nothing must not count against the new series. */
static void revival_starts_a_new_series(struct rig *rig)
{
    struct pawl_job_id id =
        submit_one(rig, &(struct pawl_job_spec){ .retry = { .attempts_max = 2 } });
    struct pawl_job run = claim_one(rig, "default");
    assert_ok(rig, snooze(rig, ref_of(&run), 0));
    run = claim_one(rig, "default");
    fail_plain(rig, ref_of(&run));
    run = next_run(rig, "default");
    assert_state(DISCARDED, fail_plain(rig, ref_of(&run)).to);
    assert_ok(rig, control(rig, id, PAWL_CONTROL_RETRY));
    struct pawl_job job = job_get(rig, id);
    assert_i64(0, job.attempt);
    assert_i64(0, job.free_runs);
    assert_i64(3, job.run);
    run = claim_one(rig, "default");
    assert_i64(1, run.attempt);
    struct failed out = fail_plain(rig, ref_of(&run));
    assert_state(RETRYABLE, out.to);
    assert_i64(1000, out.delay_ms);
    run = next_run(rig, "default");
    assert_state(DISCARDED, fail_plain(rig, ref_of(&run)).to);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(failure_waits_then_runs_again),
        CONTRACT(waits_follow_the_policy_to_the_ms),
        CONTRACT(one_attempt_means_never_again),
        CONTRACT(immediate_retry_is_due_at_once),
        CONTRACT(jitter_stays_in_its_bounds),
        CONTRACT(huge_waits_are_capped),
        CONTRACT(reports_are_orders_or_pleas),
        CONTRACT(exhaustion_may_lead_to_the_dead_letters),
        CONTRACT(requeue_gives_back_and_charges_nothing),
        CONTRACT(snooze_charges_nothing),
        CONTRACT(given_back_job_keeps_its_age),
        CONTRACT(failures_are_remembered_oldest_first),
        CONTRACT(failures_are_kept_through_revival),
        CONTRACT(only_the_newest_failures_are_kept),
        CONTRACT(large_multibyte_error_survives),
        CONTRACT_SHARED(wait_outlives_a_restart),
        CONTRACT(discarding_by_an_operator_ends_a_wait),
        CONTRACT(revival_starts_a_new_series),
    };
    return contract_run("retry", tests, COUNT(tests));
}
