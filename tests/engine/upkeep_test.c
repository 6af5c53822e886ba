/* Maintenance by a node: jobs become due, expire, are archived and purged. */
#include "engine/stand.h"

static struct stand peer; // another process, for the tests that need one

/* ---- due ---- */

static void job_runs_at_the_instant_it_is_due(struct stand *stand)
{
    handle(stand, "work", count_run);
    start(stand, NULL);
    submit(stand, &(struct pawl_job_spec){ .delay_ms = 12345 });
    settle(stand);
    live(stand, 12344);
    assert_i64(0, stand->runs);
    live(stand, 1);
    assert_i64(1, stand->runs);
    assert_i64(0, counters_of(stand).wait_us.sum_us); // not a millisecond late
}

static int64_t due_in_us(struct stand *stand)
{
    return turn(stand) - pawl__engine_now_us(stand->engine);
}

/* The coordinator sleeps until then, and is called when something is to be sooner. */
static void sooner_newcomer_shortens_the_sleep(struct stand *stand)
{
    handle(stand, "work", note_args);
    start(stand, &(struct pawl_node_config){ .lease_ms = 600000 });
    submit(stand, &(struct pawl_job_spec){ .delay_ms = 1900, .args = span_of("[1]") });
    assert_i64(1900000, due_in_us(stand));
    submit(stand, &(struct pawl_job_spec){ .delay_ms = 300, .args = span_of("[2]") });
    settle(stand);
    assert_i64(300000, due_in_us(stand));
    submit(stand, &(struct pawl_job_spec){ .delay_ms = 1000, .args = span_of("[3]") });
    assert_i64(300000, due_in_us(stand));
    live(stand, 1900);
    assert_text("2 3 1 ", stand->trace);
    assert_i64(0, counters_of(stand).wait_us.sum_us);
}

static void job_of_another_process_runs_at_the_instant_it_is_due(struct stand *stand)
{
    struct pawl__notice notice = { .foreign = true, .ready = true, .control = true };
    handle(stand, "work", count_run);
    start(stand, NULL);
    live(stand, 1000);
    stand_open_peer(&peer, stand);
    submit(&peer, &(struct pawl_job_spec){ .delay_ms = 700 });
    pawl__coordinator_notice(stand->engine, &notice);
    live(stand, 699);
    assert_i64(0, stand->runs);
    live(stand, 1);
    assert_i64(1, stand->runs);
    stand_close(&peer);
}

static enum pawl_outcome fail_once(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    (void)task;
    return stand->runs++ == 0 ? PAWL_OUTCOME_RETRY : PAWL_OUTCOME_DONE;
}

static void retry_runs_at_the_instant_it_is_due(struct stand *stand)
{
    handle(stand, "work", fail_once);
    start(stand, NULL);
    submit(stand, &(struct pawl_job_spec){ .retry = { .initial_ms = 777 } });
    live(stand, 776);
    assert_i64(1, stand->runs);
    live(stand, 1);
    assert_i64(2, stand->runs);
}

/* Far more than one sweep takes. */
static void crowd_that_is_due_at_once_is_all_promoted(struct stand *stand)
{
    enum { CROWD = 2 * PAWL__MAINTENANCE_MAX + 7 };
    static struct pawl_job_spec specs[CROWD];
    static struct pawl_submitted out[CROWD];
    for (size_t i = 0; i < CROWD; i++) {
        specs[i] = (struct pawl_job_spec){ .type = "work", .delay_ms = 5000 };
    }
    handle(stand, "work", count_run);
    start_workers(stand, 4);
    expect_ok(stand, pawl_submit_many(stand->pawl, specs, CROWD, out, &stand->diag));
    live(stand, 4999);
    assert_i64(0, stand->runs);
    live(stand, 1);
    assert_i64(CROWD, stand->runs);
}

/* ---- expired ---- */

static void waiting_job_expires_at_its_instant(struct stand *stand)
{
    handle(stand, "work", count_run);
    start(stand, NULL);
    struct pawl_job_id id =
        submit(stand, &(struct pawl_job_spec){ .type = "nobody", .expires_in_ms = 20000 });
    live(stand, 19999);
    assert_state(AVAILABLE, state_of_job(stand, id));
    live(stand, 1);
    assert_state(EXPIRED, state_of_job(stand, id));
}

/* Nobody tells of expiries, so the node looks every few seconds. */
static void short_life_ends_within_seconds(struct stand *stand)
{
    handle(stand, "work", count_run);
    start(stand, NULL);
    live(stand, 1000);
    struct pawl_job_id id =
        submit(stand, &(struct pawl_job_spec){ .type = "nobody", .expires_in_ms = 100 });
    live(stand, 5100);
    assert_state(EXPIRED, state_of_job(stand, id));
}

static enum pawl_outcome outlive(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    live_turning(stand, 60000);
    assert_state(ACTIVE, state_of_job(stand, pawl_task_job(task)->id));
    stand->runs++;
    return PAWL_OUTCOME_DONE;
}

static void running_job_does_not_expire(struct stand *stand)
{
    handle(stand, "work", outlive);
    start(stand, NULL);
    struct pawl_job_id id = submit(stand, &(struct pawl_job_spec){ .expires_in_ms = 1000 });
    work_all(stand);
    assert_i64(1, stand->runs);
    assert_state(COMPLETED, state_of_job(stand, id));
}

/* ---- archived and purged ---- */

static const struct pawl_node_config keeps_a_minute = { .retention = { .archive_after_ms = 60000,
                                                                       .purge_after_ms = 120000 } };

static void ended_jobs_are_archived_then_purged(struct stand *stand)
{
    handle(stand, "work", count_run);
    start(stand, &keeps_a_minute);
    struct pawl_job_id id = submit(stand, NULL);
    work_all(stand);
    live(stand, 59000);
    assert_false(job_of(stand, id).archived);
    live(stand, 32000); // it looks every half minute
    assert_true(job_of(stand, id).archived);
    live(stand, 62000);
    assert_state(NONE, state_of_job(stand, id));
}

static void records_are_kept_for_a_week_by_default(struct stand *stand)
{
    handle(stand, "work", count_run);
    start(stand, NULL);
    struct pawl_job_id id = submit(stand, NULL);
    work_all(stand);
    int64_t week_ms = INT64_C(7) * 86400000;
    move_clock(stand, week_ms - 60000);
    live(stand, 59000);
    assert_false(job_of(stand, id).archived);
    live(stand, 32000);
    assert_true(job_of(stand, id).archived);
    move_clock(stand, INT64_C(83) * 86400000 - 120000);
    live(stand, 60000);
    assert_state(COMPLETED, state_of_job(stand, id));
    live(stand, 120000);
    assert_state(NONE, state_of_job(stand, id));
}

static void negative_retention_keeps_for_ever(struct stand *stand)
{
    handle(stand, "work", count_run);
    start(stand, &(struct pawl_node_config){
                     .retention = { .archive_after_ms = -1, .purge_after_ms = -1 } });
    struct pawl_job_id id = submit(stand, NULL);
    work_all(stand);
    move_clock(stand, INT64_C(3650) * 86400000);
    live(stand, 120000);
    assert_false(job_of(stand, id).archived);
}

/* So that it takes a tenth of the store's time at most. */
static void archiving_rests_nine_times_as_long_as_it_works(struct stand *stand)
{
    enum { ENDED = 1000, STEP_MS = 50 };
    static struct pawl_job_spec specs[ENDED];
    static struct pawl_submitted out[ENDED];
    for (size_t i = 0; i < ENDED; i++) {
        specs[i] = (struct pawl_job_spec){ .type = "work" };
    }
    handle(stand, "work", count_run);
    expect_ok(stand, pawl_submit_many(stand->pawl, specs, ENDED, out, &stand->diag));
    start_workers(stand, 4);
    work_all(stand);
    stop(stand);
    move_clock(stand, 600000);
    struct pawl_node_config config = keeps_a_minute;
    config.name = "node";
    config.retention.purge_after_ms = -1;
    expect_ok(stand, pawl__engine_start_by_hand(stand->engine, &config, &stand->diag));
    struct plug plug;
    plug_post(stand, &plug);
    plug_wait(&plug);
    (void)pawl__coordinator_turn(stand->engine); // posts the first step, which then takes a while
    move_clock(stand, STEP_MS);
    plug_pull(&plug);
    settle(stand);
    struct pawl_stats stats = { 0 };
    expect_ok(stand, pawl_stats_get(stand->pawl, &stats, &stand->diag));
    int64_t first = stats.archived;
    pawl_stats_release(&stats);
    assert_true(first > 0 && first < ENDED);
    live_turning(stand, 9 * STEP_MS - 1);
    expect_ok(stand, pawl_stats_get(stand->pawl, &stats, &stand->diag));
    assert_i64(first, stats.archived);
    pawl_stats_release(&stats);
    live_turning(stand, 1000);
    expect_ok(stand, pawl_stats_get(stand->pawl, &stats, &stand->diag));
    assert_i64(ENDED, stats.archived);
    pawl_stats_release(&stats);
}

static int64_t wall_ahead_ms(void *ctx)
{
    struct stand *stand = ctx;
    return now_ms(stand) + INT64_C(366) * 86400000;
}

static int64_t mono_of_stand_us(void *ctx)
{
    struct stand *stand = ctx;
    return pawl__clock_mono_us(&stand->clock->clock);
}

/* The store's time decides what is old, not that of the node or the caller that asks. */
static void clock_a_year_ahead_archives_nothing_early(struct stand *stand)
{
    const struct pawl_clock ahead = { wall_ahead_ms, mono_of_stand_us, stand };
    struct pawl_upkeep done;
    stand->engine->clock = stand->pawl->clock = &ahead;
    handle(stand, "work", count_run);
    start(stand, NULL);
    struct pawl_job_id id = submit(stand, NULL);
    live(stand, 120000); // it looks every half minute
    expect_ok(stand, pawl_upkeep_turn(stand->pawl, NULL, &done, &stand->diag));
    assert_i64(1, stand->runs);
    assert_i64(0, done.archived);
    assert_false(job_of(stand, id).archived);
    stop(stand);
    stand->engine->clock = stand->pawl->clock = &stand->clock->clock;
}

/* ---- who does it ---- */

static void node_without_upkeep_leaves_it_to_others(struct stand *stand)
{
    handle(stand, "work", count_run);
    struct pawl_node_config config = keeps_a_minute;
    config.no_upkeep = true;
    start(stand, &config);
    struct pawl_job_id ended = submit(stand, NULL);
    work_all(stand);
    struct pawl_job_id due = submit(stand, &(struct pawl_job_spec){ .delay_ms = 1000 });
    struct pawl_job_id old =
        submit(stand, &(struct pawl_job_spec){ .type = "nobody", .expires_in_ms = 1000 });
    live(stand, 600000);
    assert_state(SCHEDULED, state_of_job(stand, due));
    assert_state(AVAILABLE, state_of_job(stand, old));
    assert_false(job_of(stand, ended).archived);
    struct pawl_upkeep done;
    expect_ok(stand, pawl_upkeep_turn(stand->pawl, NULL, &done, &stand->diag));
    assert_i64(1, done.promoted);
    assert_i64(1, done.expired);
    work_all(stand);
    assert_state(COMPLETED, state_of_job(stand, due));
}

/* Wall time is stepped ahead, monotonic time is not: the machine slept, or its clock was set. */
static void step_of_the_clock_is_noticed_within_a_minute(struct stand *stand)
{
    handle(stand, "work", count_run);
    start(stand, NULL);
    submit(stand, &(struct pawl_job_spec){ .delay_ms = 3600000 });
    live(stand, 1000);
    assert_i64(0, stand->runs);
    stand_step_wall(stand, 7200000);
    live(stand, 60000);
    assert_i64(1, stand->runs);
}

static enum pawl_outcome look_whether_idle(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    (void)task;
    stand->runs++;
    assert_false(pawl_idle(stand->pawl, 0, 0));
    return PAWL_OUTCOME_DONE;
}

static void idle_means_that_nothing_waits_runs_or_is_due_soon(struct stand *stand)
{
    assert_true(pawl_idle(stand->pawl, 3600000, 0)); // without a node too
    handle(stand, "work", look_whether_idle);
    start(stand, NULL);
    submit(stand, NULL);
    assert_false(pawl_idle(stand->pawl, 0, 0));
    work_all(stand);
    assert_i64(1, stand->runs);
    assert_true(pawl_idle(stand->pawl, 3600000, 0));
    submit(stand, &(struct pawl_job_spec){ .delay_ms = 1000 });
    assert_true(pawl_idle(stand->pawl, 999, 0));
    assert_false(pawl_idle(stand->pawl, 1000, 0));
    submit(stand, &(struct pawl_job_spec){ .pending = true }); // somebody must act first
    assert_true(pawl_idle(stand->pawl, 999, 0));
}

/* A node that only looks after the store needs no handlers, and takes nothing. */
static void node_without_workers_does_upkeep_alone(struct stand *stand)
{
    expect_err(stand, PAWL_ERR_ARG, pawl_start(stand->pawl, NULL, &stand->diag));
    struct pawl_job_id due = submit(stand, &(struct pawl_job_spec){ .delay_ms = 1000 });
    struct pawl_job_id old = submit(stand, &(struct pawl_job_spec){ .expires_in_ms = 2000 });
    start(stand, &(struct pawl_node_config){ .name = "keeper", .workers = -1 });
    live(stand, 10000);
    assert_state(AVAILABLE, state_of_job(stand, due));
    assert_state(EXPIRED, state_of_job(stand, old));
    assert_i64(0, counters_of(stand).claimed);
    stop(stand);
    expect_err(stand, PAWL_ERR_ARG, pawl_start(stand->pawl, NULL, &stand->diag));
}

int main(void)
{
    static const struct stand_test tests[] = {
        STAND(job_runs_at_the_instant_it_is_due),
        STAND(sooner_newcomer_shortens_the_sleep),
        STAND_SHARED(job_of_another_process_runs_at_the_instant_it_is_due),
        STAND(retry_runs_at_the_instant_it_is_due),
        STAND(crowd_that_is_due_at_once_is_all_promoted),
        STAND(waiting_job_expires_at_its_instant),
        STAND(short_life_ends_within_seconds),
        STAND(running_job_does_not_expire),
        STAND(ended_jobs_are_archived_then_purged),
        STAND(records_are_kept_for_a_week_by_default),
        STAND(negative_retention_keeps_for_ever),
        STAND(archiving_rests_nine_times_as_long_as_it_works),
        STAND(clock_a_year_ahead_archives_nothing_early),
        STAND(node_without_upkeep_leaves_it_to_others),
        STAND(step_of_the_clock_is_noticed_within_a_minute),
        STAND(idle_means_that_nothing_waits_runs_or_is_due_soon),
        STAND(node_without_workers_does_upkeep_alone),
    };
    return stand_run("engine_upkeep", tests, COUNT(tests));
}
