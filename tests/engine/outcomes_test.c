/* The outcome of a job for each value that a handler may return, and what is recorded. */
#include "engine/stand.h"

/* What the handler of a test does: the same in every run unless the test changes it. */
struct script {
    enum pawl_outcome outcome;
    int64_t delay_ms;
    const char *result;
    const char *error_type;
    const char *error_text;
    const char *details;
};

static enum pawl_outcome act(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    const struct script *script = stand->user;
    stand->runs++;
    if (script->result) expect_ok(stand, pawl_task_result(task, span_of(script->result)));
    if (script->delay_ms) pawl_task_delay(task, script->delay_ms);
    if (script->error_text) {
        pawl_task_error(task, script->error_type, span_of(script->details), "%s",
                        script->error_text);
    }
    return script->outcome;
}

/* One job, run once. */
static struct pawl_job_id run_once(struct stand *stand, struct script *script,
                                   const struct pawl_job_spec *spec)
{
    stand->user = script;
    handle(stand, "work", act);
    start(stand, NULL);
    struct pawl_job_id id = submit(stand, spec);
    turn(stand);
    assert_true(work(stand));
    assert_i64(1, stand->runs);
    return id;
}

/* Each counter of how runs ended; those that are not named are zero. */
struct tally {
    int64_t completed, failed, discarded, snoozed, cancelled, timed_out, stale;
};

static void expect_tally(struct stand *stand, struct tally expected)
{
    struct pawl_counters counters = counters_of(stand);
    assert_i64(expected.completed, counters.completed);
    assert_i64(expected.failed, counters.failed);
    assert_i64(expected.discarded, counters.discarded);
    assert_i64(expected.snoozed, counters.snoozed);
    assert_i64(expected.cancelled, counters.cancelled);
    assert_i64(expected.timed_out, counters.timed_out);
    assert_i64(expected.stale, counters.stale);
    assert_i64(0, counters.running);
}

/* ---- well ---- */

static void done_completes_with_the_result(struct stand *stand)
{
    struct script script = { .result = "{\"sum\": [1, 2]}" };
    struct pawl_job_id id = run_once(stand, &script, NULL);
    struct pawl_job job = job_of(stand, id);
    assert_state(COMPLETED, job.state);
    assert_span(span_of("{\"sum\": [1, 2]}"), job.result); // byte for byte
    assert_i64(now_ms(stand), job.finished_at_ms);
    assert_i64(1, job.attempt);
    expect_tally(stand, (struct tally){ .completed = 1 });
}

static void done_needs_no_result(struct stand *stand)
{
    struct script script = { .outcome = PAWL_OUTCOME_DONE };
    struct pawl_job_id id = run_once(stand, &script, NULL);
    assert_state(COMPLETED, state_of_job(stand, id));
    assert_i64(0, (int64_t)job_of(stand, id).result.len);
}

static enum pawl_outcome try_results(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    static const char *const bad[] = { "{", "nope", "1 2", "\"\xff\"", "'x'" };
    static char huge[PAWL__RESULT_BYTES_MAX + 2];
    memset(huge, ' ', sizeof huge - 1);
    huge[0] = '1';
    expect_ok(stand, pawl_task_result(task, span_of("1")));
    expect_ok(stand, pawl_task_result(task, span_of("{\"a\":2}"))); // the last one counts
    for (size_t i = 0; i < COUNT(bad); i++) {
        expect_err(stand, PAWL_ERR_ARG, pawl_task_result(task, span_of(bad[i])));
    }
    expect_err(stand, PAWL_ERR_LIMIT, pawl_task_result(task, span_of(huge)));
    stand->runs++;
    return PAWL_OUTCOME_DONE;
}

static void result_that_cannot_be_kept_is_refused(struct stand *stand)
{
    handle(stand, "work", try_results);
    start(stand, NULL);
    struct pawl_job_id id = submit(stand, NULL);
    work_all(stand);
    assert_i64(1, stand->runs);
    assert_span(span_of("{\"a\":2}"), job_of(stand, id).result);
}

static void skip_ends_well_without_a_result(struct stand *stand)
{
    struct script script = { .outcome = PAWL_OUTCOME_SKIP, .result = "1" };
    struct pawl_job_id id = run_once(stand, &script, NULL);
    assert_state(SKIPPED, state_of_job(stand, id));
    assert_i64(0, (int64_t)job_of(stand, id).result.len);
    expect_tally(stand, (struct tally){ .completed = 1 });
}

/* ---- failures ---- */

static void retry_waits_as_its_policy_says(struct stand *stand)
{
    struct script script = { .outcome = PAWL_OUTCOME_RETRY,
                             .error_type = "net.refused",
                             .error_text = "no answer from \"mx1\"",
                             .details = "{\"port\":25}" };
    struct pawl_job_spec spec = {
        .retry = { .attempts_max = 3, .backoff = PAWL_BACKOFF_LINEAR, .initial_ms = 7000 }
    };
    struct pawl_job_id id = run_once(stand, &script, &spec);
    struct pawl_job job = job_of(stand, id);
    assert_state(RETRYABLE, job.state);
    assert_i64(now_ms(stand) + 7000, job.due_at_ms);
    const struct pawl_story *story = story_of_job(stand, id);
    assert_i64(1, (int64_t)story->failure_count);
    const struct pawl_failure *failure = &story->failures[0];
    assert_text("net.refused", failure->type);
    assert_text("no answer from \"mx1\"", failure->message);
    assert_span(span_of("{\"port\":25}"), failure->details);
    assert_text("node", failure->worker);
    assert_i64(1, failure->run);
    assert_i64(7000, failure->retry_delay_ms);
    assert_false(failure->lapsed);
    expect_tally(stand, (struct tally){ .failed = 1 });
    live(stand, 6999);
    assert_i64(1, stand->runs);
    live(stand, 1);
    assert_i64(2, stand->runs);
    assert_i64(now_ms(stand) + 14000, job_of(stand, id).due_at_ms);
}

static void failure_without_a_word_is_still_explained(struct stand *stand)
{
    struct script script = { .outcome = PAWL_OUTCOME_RETRY };
    struct pawl_job_id id = run_once(stand, &script, NULL);
    const struct pawl_failure *failure = &story_of_job(stand, id)->failures[0];
    assert_true(failure->type[0] != '\0');
    assert_true(failure->message[0] != '\0');
}

static void attempts_come_to_an_end(struct stand *stand)
{
    struct script script = { .outcome = PAWL_OUTCOME_RETRY, .error_text = "again" };
    struct pawl_job_spec spec = { .retry = { .attempts_max = 3, .initial_ms = 1000 } };
    struct pawl_job_id id = run_once(stand, &script, &spec);
    live(stand, 3600000);
    assert_i64(3, stand->runs);
    struct pawl_job job = job_of(stand, id);
    assert_state(DISCARDED, job.state);
    assert_true(job.reason[0] != '\0');
    const struct pawl_story *story = story_of_job(stand, id);
    assert_i64(3, (int64_t)story->failure_count);
    assert_i64(-1, story->failures[2].retry_delay_ms);
    expect_tally(stand, (struct tally){ .failed = 3, .discarded = 1 });
}

static void fails_twice_and_succeeds(struct stand *stand)
{
    struct script script = { .outcome = PAWL_OUTCOME_RETRY, .error_text = "again" };
    struct pawl_job_id id = run_once(stand, &script, NULL);
    live(stand, 1000);
    assert_i64(2, stand->runs);
    script = (struct script){ .outcome = PAWL_OUTCOME_DONE, .result = "3" };
    live(stand, 2000);
    assert_i64(3, stand->runs);
    struct pawl_job job = job_of(stand, id);
    assert_state(COMPLETED, job.state);
    assert_i64(3, job.attempt);
    assert_i64(2, (int64_t)story_of_job(stand, id)->failure_count);
    expect_tally(stand, (struct tally){ .completed = 1, .failed = 2 });
}

static void retry_after_waits_as_the_handler_says(struct stand *stand)
{
    struct script script = { .outcome = PAWL_OUTCOME_RETRY_AFTER,
                             .delay_ms = 1234,
                             .error_text = "rate limit" };
    struct pawl_job_id id = run_once(stand, &script, NULL);
    assert_state(RETRYABLE, state_of_job(stand, id));
    assert_i64(now_ms(stand) + 1234, job_of(stand, id).due_at_ms);
    expect_tally(stand, (struct tally){ .failed = 1 });
    live(stand, 1234); // it is charged: three attempts are three runs
    assert_i64(2, stand->runs);
    live(stand, 1234);
    assert_i64(3, stand->runs);
    assert_state(DISCARDED, state_of_job(stand, id));
}

static void retry_after_no_time_follows_the_policy(struct stand *stand)
{
    struct script script = { .outcome = PAWL_OUTCOME_RETRY_AFTER, .error_text = "soon" };
    struct pawl_job_spec spec = { .retry = { .initial_ms = 5000 } };
    struct pawl_job_id id = run_once(stand, &script, &spec);
    assert_i64(now_ms(stand) + 5000, job_of(stand, id).due_at_ms);
}

/* A delay that was set is for those two outcomes alone. */
static void plain_retry_does_not_take_the_delay(struct stand *stand)
{
    struct script script = { .outcome = PAWL_OUTCOME_RETRY, .delay_ms = 99, .error_text = "x" };
    struct pawl_job_spec spec = { .retry = { .initial_ms = 5000 } };
    struct pawl_job_id id = run_once(stand, &script, &spec);
    assert_i64(now_ms(stand) + 5000, job_of(stand, id).due_at_ms);
}

static void errors_on_the_list_end_the_job(struct stand *stand)
{
    static const char *const final[] = { "auth.*" };
    struct script script = { .outcome = PAWL_OUTCOME_RETRY,
                             .error_type = "auth.expired",
                             .error_text = "log in again" };
    struct pawl_job_spec spec = {
        .retry = { .attempts_max = 9, .non_retryable = final, .non_retryable_count = 1 }
    };
    struct pawl_job_id id = run_once(stand, &script, &spec);
    assert_state(DISCARDED, state_of_job(stand, id));
    expect_tally(stand, (struct tally){ .failed = 1, .discarded = 1 });
}

static void discard_ends_the_job_whatever_its_policy(struct stand *stand)
{
    struct script script = { .outcome = PAWL_OUTCOME_DISCARD,
                             .error_type = "bad",
                             .error_text = "cannot ever work" };
    struct pawl_job_spec spec = { .retry = { .attempts_max = 9 } };
    struct pawl_job_id id = run_once(stand, &script, &spec);
    struct pawl_job job = job_of(stand, id);
    assert_state(DISCARDED, job.state);
    const struct pawl_failure *failure = &story_of_job(stand, id)->failures[0];
    assert_text("bad", failure->type);
    assert_text("cannot ever work", failure->message);
    expect_tally(stand, (struct tally){ .failed = 1, .discarded = 1 });
}

/* A number that means nothing is a mistake of the handler's: it failed. */
static void number_that_is_no_outcome_counts_as_failure(struct stand *stand)
{
    static const int numbers[] = { PAWL_OUTCOME_END, 99, -1, INT32_MAX };
    struct script script = { .outcome = PAWL_OUTCOME_DONE };
    struct pawl_job_id id = run_once(stand, &script, NULL);
    for (size_t i = 0; i < COUNT(numbers); i++) {
        script.outcome = (enum pawl_outcome)numbers[i];
        id = submit(stand, NULL);
        turn(stand);
        assert_true(work(stand));
        assert_state(RETRYABLE, state_of_job(stand, id));
        assert_i64((int64_t)i + 1, counters_of(stand).failed);
    }
}

static enum pawl_outcome say_too_much(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    static char text[3 * PAWL__ERROR_TEXT_MAX];
    for (size_t i = 0; i + 3 < sizeof text; i += 3) {
        memcpy(text + i, "\xe2\x82\xac", 3); // the sign of the euro, so that cuts hurt
    }
    static char type[1000];
    memset(type, 't', sizeof type - 1);
    pawl_task_log(task, 1, "x%s", text);
    pawl_task_error(task, type, span_of("not json"), "x%s", text);
    stand->runs++;
    return PAWL_OUTCOME_RETRY;
}

/* Whole characters: what is shown later is UTF-8. */
static bool is_whole(const char *text)
{
    size_t len = strlen(text);
    return len > 3 && len % 3 == 1 && memcmp(text + len - 3, "\xe2\x82\xac", 3) == 0;
}

static void long_words_are_cut_not_refused(struct stand *stand)
{
    handle(stand, "work", say_too_much);
    start(stand, NULL);
    struct pawl_job_id id = submit(stand, NULL);
    work_all(stand);
    assert_i64(1, stand->runs);
    assert_state(RETRYABLE, state_of_job(stand, id));
    const struct pawl_story *story = story_of_job(stand, id);
    assert_true(is_whole(story->failures[0].message));
    assert_true(strlen(story->failures[0].message) > PAWL__ERROR_TEXT_MAX / 2);
    assert_i64(1, (int64_t)story->log_count);
    assert_true(is_whole(story->log[0].text));
    // what is not JSON is not passed off as JSON
    assert_true(story->failures[0].details.len == 0 || story->failures[0].details.at[0] != 'n');
}

/* ---- neither ---- */

static void snooze_waits_and_charges_nothing(struct stand *stand)
{
    struct script script = { .outcome = PAWL_OUTCOME_SNOOZE, .delay_ms = 60000 };
    struct pawl_job_spec spec = { .retry = { .attempts_max = 1 } };
    struct pawl_job_id id = run_once(stand, &script, &spec);
    struct pawl_job job = job_of(stand, id);
    assert_state(SCHEDULED, job.state);
    assert_i64(now_ms(stand) + 60000, job.due_at_ms);
    live(stand, 10 * 60000);
    assert_i64(11, stand->runs);
    job = job_of(stand, id);
    assert_state(SCHEDULED, job.state);
    assert_i64(11, job.free_runs);
    assert_i64(0, (int64_t)story_of_job(stand, id)->failure_count);
    expect_tally(stand, (struct tally){ .snoozed = 11 });
    script.outcome = PAWL_OUTCOME_RETRY; // the only attempt is still there, and is spent now
    live(stand, 60000);
    assert_state(DISCARDED, state_of_job(stand, id));
}

static void snooze_without_delay_runs_again_at_once(struct stand *stand)
{
    struct script script = { .outcome = PAWL_OUTCOME_SNOOZE };
    struct pawl_job_id id = run_once(stand, &script, NULL);
    script.outcome = PAWL_OUTCOME_DONE;
    assert_i64(1, work_all(stand));
    assert_state(COMPLETED, state_of_job(stand, id));
}

static void negative_delay_counts_as_none(struct stand *stand)
{
    struct script script = { .outcome = PAWL_OUTCOME_SNOOZE, .delay_ms = -5000 };
    struct pawl_job_id id = run_once(stand, &script, NULL);
    assert_i64(0, count_in(stand, PAWL_STATE_SCHEDULED));
    script.outcome = PAWL_OUTCOME_DONE;
    work_all(stand);
    assert_state(COMPLETED, state_of_job(stand, id));
}

static void delay_without_end_does_not_overflow(struct stand *stand)
{
    struct script script = { .outcome = PAWL_OUTCOME_SNOOZE, .delay_ms = INT64_MAX };
    struct pawl_job_id id = run_once(stand, &script, NULL);
    struct pawl_job job = job_of(stand, id);
    assert_state(SCHEDULED, job.state);
    assert_true(job.due_at_ms > now_ms(stand) + INT64_C(1000000000));
    script.outcome = PAWL_OUTCOME_RETRY_AFTER;
    id = submit(stand, NULL);
    turn(stand);
    assert_true(work(stand));
    job = job_of(stand, id);
    assert_state(RETRYABLE, job.state);
    assert_true(job.due_at_ms > now_ms(stand) + INT64_C(1000000000));
    turn(stand);
}

static void cancel_cancels_and_says_who(struct stand *stand)
{
    struct script script = { .outcome = PAWL_OUTCOME_CANCEL, .error_text = "no longer needed" };
    struct pawl_job_id id = run_once(stand, &script, NULL);
    assert_state(CANCELLED, state_of_job(stand, id));
    const struct pawl_story *story = story_of_job(stand, id);
    assert_i64(1, (int64_t)story->audit_count);
    assert_text("cancel", story->audit[0].action);
    assert_text("node", story->audit[0].actor);
    assert_text("no longer needed", story->audit[0].reason);
    expect_tally(stand, (struct tally){ .cancelled = 1 });
}

/* ---- every one, in numbers ---- */

static void wait_and_run_are_measured(struct stand *stand)
{
    struct script script = { .outcome = PAWL_OUTCOME_DONE };
    stand->user = &script;
    handle(stand, "work", act);
    submit(stand, &(struct pawl_job_spec){ .delay_ms = 1000 });
    move_clock(stand, 1300);
    start(stand, NULL);
    work_all(stand);
    struct pawl_counters counters = counters_of(stand);
    assert_i64(1, counters.wait_us.count);
    assert_i64(300000, counters.wait_us.sum_us); // counted from when it was due
    assert_i64(1, counters.run_us.count);
    assert_i64(0, counters.run_us.sum_us);
}

static enum pawl_outcome random_outcome(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    int64_t *tally = stand->user;
    enum pawl_outcome outcome = (enum pawl_outcome)(pawl_task_job(task)->args.at[1] - '0');
    tally[outcome]++;
    pawl_task_delay(task, 3600000);
    move_clock_us(stand, 250);
    return outcome;
}

static void counters_are_exact(struct stand *stand)
{
    int64_t tally[PAWL_OUTCOME_END] = { 0 };
    stand->user = tally;
    handle(stand, "work", random_outcome);
    start_workers(stand, 3);
    for (int i = 0; i < 70; i++) {
        char args[16];
        snprintf(args, sizeof args, "[%d]", i * 3 % PAWL_OUTCOME_END);
        submit(stand,
               &(struct pawl_job_spec){ .args = span_of(args), .retry = { .attempts_max = 1 } });
    }
    work_all(stand);
    struct pawl_counters counters = counters_of(stand);
    assert_i64(70, counters.submitted);
    assert_i64(70, counters.claimed);
    assert_i64(tally[PAWL_OUTCOME_DONE] + tally[PAWL_OUTCOME_SKIP], counters.completed);
    int64_t failed = tally[PAWL_OUTCOME_RETRY] + tally[PAWL_OUTCOME_RETRY_AFTER] +
                     tally[PAWL_OUTCOME_DISCARD];
    assert_i64(failed, counters.failed);
    assert_i64(failed, counters.discarded);
    assert_i64(tally[PAWL_OUTCOME_SNOOZE], counters.snoozed);
    assert_i64(tally[PAWL_OUTCOME_CANCEL], counters.cancelled);
    assert_i64(0, counters.stale + counters.lapsed + counters.timed_out);
    assert_i64(70, counters.run_us.count);
    assert_i64(70 * 250, counters.run_us.sum_us);
    assert_i64(250, counters.run_us.max_us);
    assert_i64(counters.commits, counters.commit_us.count);
    assert_i64(counters.commits, counters.batch.count);
    assert_i64(counters.operations, counters.batch.sum_us);
    assert_i64(0, counters.commits_failed);
}

int main(void)
{
    static const struct stand_test tests[] = {
        STAND(done_completes_with_the_result),
        STAND(done_needs_no_result),
        STAND(result_that_cannot_be_kept_is_refused),
        STAND(skip_ends_well_without_a_result),
        STAND(retry_waits_as_its_policy_says),
        STAND(failure_without_a_word_is_still_explained),
        STAND(attempts_come_to_an_end),
        STAND(fails_twice_and_succeeds),
        STAND(retry_after_waits_as_the_handler_says),
        STAND(retry_after_no_time_follows_the_policy),
        STAND(plain_retry_does_not_take_the_delay),
        STAND(errors_on_the_list_end_the_job),
        STAND(discard_ends_the_job_whatever_its_policy),
        STAND(number_that_is_no_outcome_counts_as_failure),
        STAND(long_words_are_cut_not_refused),
        STAND(snooze_waits_and_charges_nothing),
        STAND(snooze_without_delay_runs_again_at_once),
        STAND(negative_delay_counts_as_none),
        STAND(delay_without_end_does_not_overflow),
        STAND(cancel_cancels_and_says_who),
        STAND(wait_and_run_are_measured),
        STAND(counters_are_exact),
    };
    return stand_run("engine_outcomes", tests, COUNT(tests));
}
