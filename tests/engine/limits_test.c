/* Time limits: a log line at 80 %, the end at 100 %, counted from the start of the handler. */
#include "engine/stand.h"

enum { TIMEOUT_MS = 10000 };

static const struct pawl_job_spec limited = { .timeout_ms = TIMEOUT_MS,
                                              .retry = { .initial_ms = 1000 } };

/* The body of the one run that matters is the test itself: it moves the clock inside. */
typedef void body_fn(struct stand *stand, struct pawl_task *task);

static enum pawl_outcome run_body(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    body_fn *body = stand->user;
    if (stand->runs++ == 0) body(stand, task);
    return PAWL_OUTCOME_DONE;
}

static struct pawl_job_id run(struct stand *stand, body_fn *body, const struct pawl_job_spec *spec)
{
    stand->user = body;
    handle(stand, "work", run_body);
    start(stand, NULL);
    struct pawl_job_id id = submit(stand, spec);
    turn(stand);
    assert_true(work(stand));
    return id;
}

static int64_t mono_now_us(struct stand *stand)
{
    return pawl__engine_now_us(stand->engine);
}

static size_t log_lines(struct stand *stand, struct pawl_task *task)
{
    return story_of_job(stand, pawl_task_job(task)->id)->log_count;
}

/* ---- the soft limit ---- */

static void see_the_warning(struct stand *stand, struct pawl_task *task)
{
    int64_t began_us = mono_now_us(stand);
    int64_t next_us = turn(stand);
    assert_true(next_us <= began_us + 8000000); // the coordinator means to be awake then
    live_turning(stand, 7999);
    assert_i64(0, (int64_t)log_lines(stand, task));
    live_turning(stand, 1);
    const struct pawl_story *story = story_of_job(stand, pawl_task_job(task)->id);
    assert_i64(1, (int64_t)story->log_count);
    assert_i64(2, story->log[0].level);
    assert_i64(1, story->log[0].run);
    assert_i64(now_ms(stand), story->log[0].at_ms);
    assert_within("80 %", story->log[0].text);
    live_turning(stand, 1999);
    assert_i64(1, (int64_t)log_lines(stand, task)); // once
    assert_false(pawl_task_cancelled(task));        // it is a word, nothing more
}

static void soft_limit_is_a_warning_at_eighty_percent(struct stand *stand)
{
    struct pawl_job_id id = run(stand, see_the_warning, &limited);
    assert_state(COMPLETED, state_of_job(stand, id));
    assert_i64(0, counters_of(stand).timed_out);
}

static void end_quickly(struct stand *stand, struct pawl_task *task)
{
    (void)task;
    move_clock(stand, 10);
}

static void run_that_has_ended_is_not_warned(struct stand *stand)
{
    struct pawl_job_id id = run(stand, end_quickly, &limited);
    live(stand, 3 * TIMEOUT_MS);
    assert_i64(0, (int64_t)story_of_job(stand, id)->log_count);
    assert_i64(0, counters_of(stand).timed_out);
    assert_state(COMPLETED, state_of_job(stand, id));
}

/* ---- the hard limit ---- */

static void see_the_end(struct stand *stand, struct pawl_task *task)
{
    live_turning(stand, TIMEOUT_MS - 1);
    assert_false(pawl_task_cancelled(task));
    assert_state(ACTIVE, state_of_job(stand, pawl_task_job(task)->id));
    live_turning(stand, 1);
    assert_true(pawl_task_cancelled(task));
    assert_true(pawl_task_wait(task, 3600000)); // does not wait
    assert_state(RETRYABLE, state_of_job(stand, pawl_task_job(task)->id));
    struct pawl_counters counters = counters_of(stand);
    assert_i64(1, counters.timed_out);
    assert_i64(1, counters.failed);
    assert_i64(1, counters.running); // its thread is still at it
}

static void hard_limit_ends_the_run(struct stand *stand)
{
    struct pawl_job_id id = run(stand, see_the_end, &limited);
    const struct pawl_story *story = story_of_job(stand, id);
    assert_i64(1, (int64_t)story->failure_count);
    assert_text("timeout", story->failures[0].type);
    assert_i64(1000, story->failures[0].retry_delay_ms); // the job's own policy
    assert_false(story->failures[0].lapsed);
    struct pawl_counters counters = counters_of(stand);
    assert_i64(0, counters.completed); // that it returned DONE afterwards changes nothing
    assert_i64(1, counters.failed);
    assert_i64(0, counters.running);
    assert_i64(1, counters.run_us.count);
    assert_i64(0, (int64_t)story->job.result.len);
    live(stand, 1000);
    assert_i64(2, stand->runs);
    assert_state(COMPLETED, state_of_job(stand, id));
}

/* Claimed ahead of time, it waited its turn: that is not its fault. */
static void limit_counts_from_the_start_of_execution(struct stand *stand)
{
    stand->user = see_the_end;
    handle(stand, "work", run_body);
    start(stand, NULL);
    submit(stand, &limited);
    turn(stand);
    assert_i64(1, counters_of(stand).waiting);
    live_turning(stand, 8500);
    assert_i64(0, counters_of(stand).timed_out);
    live_turning(stand, 20000);
    assert_i64(0, counters_of(stand).timed_out);
    assert_true(work(stand));
    assert_i64(1, stand->runs);
}

static void see_the_deadline(struct stand *stand, struct pawl_task *task)
{
    assert_i64(now_ms(stand) + TIMEOUT_MS, pawl_task_deadline_ms(task));
    move_clock(stand, 3000);
    assert_i64(now_ms(stand) + TIMEOUT_MS - 3000, pawl_task_deadline_ms(task));
}

static void deadline_counts_from_the_start_of_execution(struct stand *stand)
{
    stand->user = see_the_deadline;
    handle(stand, "work", run_body);
    start(stand, NULL);
    submit(stand, &limited);
    turn(stand);
    live_turning(stand, 4000);
    assert_true(work(stand));
}

/* Nobody looked between 0 and 200 %: one turn puts it right, and does not warn as well. */
static void miss_both_limits(struct stand *stand, struct pawl_task *task)
{
    move_clock(stand, 2 * TIMEOUT_MS);
    turn(stand);
    assert_true(pawl_task_cancelled(task));
    assert_i64(0, (int64_t)log_lines(stand, task));
    turn(stand);
    assert_i64(1, counters_of(stand).timed_out);
}

static void late_look_still_ends_the_run(struct stand *stand)
{
    run(stand, miss_both_limits, &limited);
    assert_i64(1, counters_of(stand).failed);
}

static void wait_for_hours(struct stand *stand, struct pawl_task *task)
{
    live_turning(stand, 10 * 3600000);
    assert_false(pawl_task_cancelled(task));
    assert_i64(0, pawl_task_deadline_ms(task));
}

static void without_a_limit_there_is_none(struct stand *stand)
{
    struct pawl_job_id id = run(stand, wait_for_hours, NULL);
    assert_state(COMPLETED, state_of_job(stand, id));
    assert_i64(0, counters_of(stand).timed_out);
}

static enum pawl_outcome overrun(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    (void)task;
    stand->runs++;
    live_turning(stand, TIMEOUT_MS);
    return PAWL_OUTCOME_DONE;
}

static void timeouts_spend_the_attempts(struct stand *stand)
{
    handle(stand, "work", overrun);
    start(stand, NULL);
    struct pawl_job_id id = submit(stand, &limited);
    live(stand, 60000);
    assert_i64(3, stand->runs);
    assert_state(DISCARDED, state_of_job(stand, id));
    struct pawl_counters counters = counters_of(stand);
    assert_i64(3, counters.timed_out);
    assert_i64(3, counters.failed);
    assert_i64(1, counters.discarded);
    assert_i64(0, counters.lapsed);
}

static void shortest_limit_works(struct stand *stand)
{
    handle(stand, "work", overrun);
    start(stand, NULL);
    struct pawl_job_id id =
        submit(stand, &(struct pawl_job_spec){ .timeout_ms = 1, .retry = { .attempts_max = 1 } });
    work_all(stand);
    assert_state(DISCARDED, state_of_job(stand, id));
    assert_text("timeout", story_of_job(stand, id)->failures[0].type);
}

/* ---- a handler that comes too late ---- */

static enum pawl_outcome overlap(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    if (stand->runs++ > 0) {
        assert_i64(2, pawl_task_job(task)->run);
        assert_false(pawl_task_cancelled(task));
        expect_ok(stand, pawl_task_result(task, span_of("\"second\"")));
        return PAWL_OUTCOME_DONE;
    }
    live_turning(stand, TIMEOUT_MS);
    assert_true(pawl_task_cancelled(task));
    live(stand, 1000); // its successor runs while it is still there
    assert_i64(2, stand->runs);
    expect_err(stand, PAWL_ERR_STALE, pawl_task_progress(task, 0.5, NULL));
    expect_err(stand, PAWL_ERR_STALE, pawl_task_checkpoint(task, span_of("1"), &stand->diag));
    expect_ok(stand, pawl_task_result(task, span_of("\"first\"")));
    return PAWL_OUTCOME_DONE;
}

static void late_handler_cannot_disturb_its_successor(struct stand *stand)
{
    handle(stand, "work", overlap);
    start_workers(stand, 2);
    struct pawl_job_id id = submit(stand, &limited);
    work_all(stand);
    struct pawl_job job = job_of(stand, id);
    assert_state(COMPLETED, job.state);
    assert_span(span_of("\"second\""), job.result);
    assert_i64(2, job.run);
    struct pawl_counters counters = counters_of(stand);
    assert_i64(1, counters.completed);
    assert_i64(1, counters.failed);
    assert_i64(1, counters.timed_out);
    assert_i64(0, counters.running);
    assert_i64(2, counters.run_us.count);
}

/* ---- more time ---- */

static void ask_for_more(struct stand *stand, struct pawl_task *task)
{
    live_turning(stand, 9000);
    assert_i64(1, (int64_t)log_lines(stand, task));
    expect_ok(stand, pawl_task_extend(task, 20000, &stand->diag));
    assert_i64(now_ms(stand) + 20000, pawl_task_deadline_ms(task));
    assert_i64(now_ms(stand) + STAND_LEASE_MS,
               job_of(stand, pawl_task_job(task)->id).lease_until_ms);
    live_turning(stand, 15999);
    assert_i64(1, (int64_t)log_lines(stand, task));
    live_turning(stand, 1);
    assert_i64(2, (int64_t)log_lines(stand, task)); // 80 % of the new time
    live_turning(stand, 3999);
    assert_false(pawl_task_cancelled(task));
    live_turning(stand, 1);
    assert_true(pawl_task_cancelled(task));
}

static void extending_counts_the_limit_anew(struct stand *stand)
{
    run(stand, ask_for_more, &limited);
    assert_i64(1, counters_of(stand).timed_out);
}

static void ask_for_no_limit(struct stand *stand, struct pawl_task *task)
{
    expect_ok(stand, pawl_task_extend(task, 0, &stand->diag));
    assert_i64(0, pawl_task_deadline_ms(task));
    live_turning(stand, 3600000);
    assert_false(pawl_task_cancelled(task));
}

static void extending_to_nothing_takes_the_limit_away(struct stand *stand)
{
    struct pawl_job_id id = run(stand, ask_for_no_limit, &limited);
    assert_state(COMPLETED, state_of_job(stand, id));
}

static void ask_for_a_limit(struct stand *stand, struct pawl_task *task)
{
    move_clock(stand, 500);
    expect_ok(stand, pawl_task_extend(task, 1000, &stand->diag));
    assert_i64(now_ms(stand) + 1000, pawl_task_deadline_ms(task));
    live_turning(stand, 1000);
    assert_true(pawl_task_cancelled(task));
}

static void run_without_a_limit_can_be_given_one(struct stand *stand)
{
    run(stand, ask_for_a_limit, NULL);
    assert_i64(1, counters_of(stand).timed_out);
}

static void ask_too_late(struct stand *stand, struct pawl_task *task)
{
    live_turning(stand, TIMEOUT_MS);
    expect_err(stand, PAWL_ERR_STALE, pawl_task_extend(task, 60000, &stand->diag));
    assert_true(pawl_task_cancelled(task));
}

static void time_cannot_be_had_after_it_is_over(struct stand *stand)
{
    struct pawl_job_id id = run(stand, ask_too_late, &limited);
    assert_state(RETRYABLE, state_of_job(stand, id));
}

int main(void)
{
    static const struct stand_test tests[] = {
        STAND(soft_limit_is_a_warning_at_eighty_percent),
        STAND(run_that_has_ended_is_not_warned),
        STAND(hard_limit_ends_the_run),
        STAND(limit_counts_from_the_start_of_execution),
        STAND(deadline_counts_from_the_start_of_execution),
        STAND(late_look_still_ends_the_run),
        STAND(without_a_limit_there_is_none),
        STAND(timeouts_spend_the_attempts),
        STAND(shortest_limit_works),
        STAND(late_handler_cannot_disturb_its_successor),
        STAND(extending_counts_the_limit_anew),
        STAND(extending_to_nothing_takes_the_limit_away),
        STAND(run_without_a_limit_can_be_given_one),
        STAND(time_cannot_be_had_after_it_is_over),
    };
    return stand_run("engine_limits", tests, COUNT(tests));
}
