/* Claims of a node: when, how many jobs, in what order; and that no job is left waiting. */
#include "engine/stand.h"

static struct stand peer; // another process, for the tests that need one

/* It hears itself alone: what others say is lost. */
static void hear_own(void *ctx, const struct pawl__notice *notice)
{
    if (!notice->foreign) pawl__coordinator_notice(ctx, notice);
}

static void deafen(struct stand *stand)
{
    struct pawl__store *store = stand->pawl->store;
    expect_ok(stand, pawl__store_watch(store, hear_own, stand->engine, false, &stand->diag));
}

/* What another process's notice is to this one. */
static void hear_another(struct stand *stand)
{
    struct pawl__notice notice = { .foreign = true, .ready = true, .control = true };
    pawl__coordinator_notice(stand->engine, &notice);
}

static void start_queues(struct stand *stand, int32_t workers, const struct pawl_node_queue *queues,
                         size_t count)
{
    start(stand,
          &(struct pawl_node_config){ .workers = workers, .queues = queues, .queue_count = count });
}

static void submit_many(struct stand *stand, const char *queue, int count)
{
    struct pawl_job_spec *specs = calloc((size_t)count, sizeof *specs);
    struct pawl_submitted *out = calloc((size_t)count, sizeof *out);
    assert_true(specs && out);
    for (int i = 0; i < count; i++) {
        specs[i] = (struct pawl_job_spec){ .type = "work", .queue = queue };
    }
    enum pawl_err err = pawl_submit_many(stand->pawl, specs, (size_t)count, out, &stand->diag);
    free(specs);
    free(out);
    expect_ok(stand, err);
}

/* ---- when ---- */

static void submit_is_claimed_without_a_turn(struct stand *stand)
{
    handle(stand, "work", note_args);
    start(stand, NULL);
    for (int i = 0; i < 5; i++) {
        submit_args(stand, NULL, "[1]");
        settle(stand);
        assert_true(work(stand));
    }
    assert_text("1 1 1 1 1 ", stand->trace);
}

/* Whatever makes a job available wakes the node: no clock moves here. */
static void all_that_frees_a_job_wakes_the_node(struct stand *stand)
{
    handle(stand, "work", count_run);
    start(stand, NULL);
    struct pawl_job_id held = submit(stand, &(struct pawl_job_spec){ .pending = true });
    struct pawl_job_id paused = submit(stand, &(struct pawl_job_spec){ .delay_ms = 60000 });
    struct pawl_job_id dropped = submit(stand, &(struct pawl_job_spec){ .delay_ms = 60000 });
    expect_ok(stand, control_job(stand, paused, PAWL_CONTROL_PAUSE));
    expect_ok(stand, control_job(stand, dropped, PAWL_CONTROL_CANCEL));
    work_all(stand);
    assert_i64(0, stand->runs);
    expect_ok(stand, control_job(stand, held, PAWL_CONTROL_ACTIVATE));
    settle(stand);
    assert_true(work(stand));
    expect_ok(stand, control_job(stand, dropped, PAWL_CONTROL_RETRY));
    settle(stand);
    assert_true(work(stand));
    expect_ok(stand, pawl_queue_pause(stand->pawl, "default", true, NULL, &stand->diag));
    submit(stand, NULL);
    settle(stand);
    assert_i64(0, work_all(stand));
    expect_ok(stand, pawl_queue_pause(stand->pawl, "default", false, NULL, &stand->diag));
    settle(stand);
    assert_true(work(stand));
    assert_i64(3, stand->runs);
}

static void jobs_from_before_the_start_are_found(struct stand *stand)
{
    handle(stand, "work", count_run);
    submit_many(stand, NULL, 7);
    start_workers(stand, 2);
    work_all(stand);
    assert_i64(7, stand->runs);
}

/* A claim of the first queue is on its way back, empty, when a job for that queue is committed. */
static void job_that_comes_during_a_round_is_not_forgotten(struct stand *stand)
{
    static const struct pawl_node_queue queues[] = { { "first", 1 }, { "second", 0 } };
    handle(stand, "work", note_args);
    start_queues(stand, 1, queues, COUNT(queues));
    struct plug plug;
    plug_post(stand, &plug);
    plug_wait(&plug);
    hear_another(stand); // posts a claim, behind the plug
    struct pawl_job_spec spec = { .type = "work", .queue = "first", .args = span_of("[1]") };
    struct pawl__new_job job = { .id = { { 1, 2, 3 } }, .spec = &spec };
    struct pawl_submitted out;
    spec.retry.attempts_max = 1;
    struct plug behind; // so that we know when the submit has been answered
    struct pawl__op op = { .kind = PAWL__OP_SUBMIT,
                           .done = plug.op.done,
                           .user = &behind,
                           .submit = { .jobs = &job, .count = 1, .out = &out } };
    behind = (struct plug){ .pulled = true };
    pawl__mutex_init(&behind.mutex);
    pawl__cond_init(&behind.change);
    pawl__store_post(stand->pawl->store, &op);
    plug_pull(&plug);
    plug_wait(&behind);
    settle(stand);
    assert_int_equal(op.err, PAWL_OK);
    turn(stand);
    assert_true(work(stand));
    assert_text("1 ", stand->trace);
    pawl__arena_release(&op.arena);
}

/* A claim has found nothing, but its answer is not here yet when another process says that it has
 * submitted something. */
static void notice_during_a_claim_is_not_forgotten(struct stand *stand)
{
    handle(stand, "work", note_args);
    start(stand, NULL);
    deafen(stand); // the notice below is the only one
    stand_open_peer(&peer, stand);
    struct plug before, between;
    plug_post(stand, &before);
    plug_wait(&before);
    plug_post(stand, &between); // in one transaction with the claim, and answered before it
    hear_another(stand);
    plug_pull(&before);
    plug_wait(&between);
    submit_args(&peer, NULL, "[1]");
    hear_another(stand);
    plug_pull(&between);
    settle(stand);
    turn(stand);
    assert_true(work(stand));
    assert_text("1 ", stand->trace);
    stand_close(&peer);
}

/* ---- in what order ---- */

static void queues_are_emptied_from_left_to_right(struct stand *stand)
{
    static const struct pawl_node_queue queues[] = { { "c", 0 }, { "a", 0 }, { "b", 0 } };
    static const char *const submitted[] = { "a", "b", "c", "a", "b", "c" };
    handle(stand, "work", note_args);
    for (size_t i = 0; i < COUNT(submitted); i++) {
        char args[16];
        snprintf(args, sizeof args, "[%zu]", i);
        submit_args(stand, submitted[i], args);
        move_clock(stand, 1);
    }
    start_queues(stand, 1, queues, COUNT(queues));
    work_all(stand);
    assert_text("2 5 0 3 1 4 ", stand->trace);
}

static enum pawl_outcome take_long(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    move_clock(stand, 20);
    return note_args(task, stand);
}

static void limits_do_not_change_the_order_of_queues(struct stand *stand)
{
    static const struct pawl_node_queue queues[] = { { "c", 1 }, { "a", 2 }, { "b", 0 } };
    static const char *const submitted[] = { "a", "b", "c", "a", "b", "c" };
    handle(stand, "work", take_long);
    for (size_t i = 0; i < COUNT(submitted); i++) {
        char args[16];
        snprintf(args, sizeof args, "[%zu]", i);
        submit_args(stand, submitted[i], args);
        move_clock(stand, 1);
    }
    start_queues(stand, 1, queues, COUNT(queues));
    work_all(stand);
    assert_text("2 5 0 3 1 4 ", stand->trace);
}

/* The backlog on the right must not hide what comes in on the left. */
static void newcomer_on_the_left_is_next(struct stand *stand)
{
    static const struct pawl_node_queue queues[] = { { "urgent", 1 }, { "bulk", 0 } };
    handle(stand, "work", take_long);
    start_queues(stand, 1, queues, COUNT(queues));
    for (int i = 0; i < 20; i++) {
        submit_args(stand, "bulk", "[0]");
    }
    turn(stand);
    for (int i = 0; i < 3; i++) {
        assert_true(work(stand));
    }
    submit_args(stand, "urgent", "[1]");
    settle(stand);
    assert_true(work(stand)); // this one may have been claimed already
    assert_true(work(stand));
    assert_within("1 ", stand->trace);
}

static void queue_that_is_not_named_is_left_alone(struct stand *stand)
{
    static const struct pawl_node_queue queues[] = { { "a", 0 } };
    handle(stand, "work", count_run);
    start_queues(stand, 2, queues, COUNT(queues));
    submit_many(stand, "b", 3);
    submit_many(stand, NULL, 3);
    submit_many(stand, "a", 2);
    live(stand, 600000);
    assert_i64(2, stand->runs);
    assert_i64(6, count_in(stand, PAWL_STATE_AVAILABLE));
}

/* ---- no more than may run at once ---- */

/* Runs as many inside itself as it can get; the most that were in at once is in the trace. */
static enum pawl_outcome nest(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    int64_t *depth = stand->user;
    const char *queue = pawl_task_job(task)->queue;
    int64_t *mine = &depth[queue[0] - 'a'];
    mine[0]++;
    assert_true(mine[0] <= mine[8]); // its limit
    if (mine[0] > mine[16]) mine[16] = mine[0];
    stand->runs++;
    while (depth[0] + depth[1] + depth[2] < 6 && work(stand)) {
    }
    mine[0]--;
    return PAWL_OUTCOME_DONE;
}

static void limits_of_queues_are_kept(struct stand *stand)
{
    static const struct pawl_node_queue queues[] = { { "a", 2 }, { "b", 1 }, { "c", 0 } };
    int64_t depth[24] = { [8] = 2, [9] = 1, [10] = 6 };
    stand->user = depth;
    handle(stand, "work", nest);
    start_queues(stand, 6, queues, COUNT(queues));
    submit_many(stand, "a", 30);
    submit_many(stand, "b", 30);
    submit_many(stand, "c", 30);
    work_all(stand);
    assert_i64(90, stand->runs);
    assert_i64(2, depth[16]); // and are used
    assert_i64(1, depth[17]);
    assert_true(depth[18] >= 3);
}

/* Nothing comes and no time passes: each place that is free is filled from the queue's backlog. */
static void place_that_is_free_is_filled_at_once(struct stand *stand)
{
    static const struct pawl_node_queue queues[] = { { "a", 1 }, { "b", 1 }, { "c", 0 } };
    handle(stand, "work", count_run);
    start_queues(stand, 4, queues, COUNT(queues));
    submit_many(stand, "a", 10);
    submit_many(stand, "b", 10);
    settle(stand);
    for (int i = 0; i < 20; i++) {
        struct pawl_counters counters = counters_of(stand);
        assert_true(counters.waiting <= 2);
        if (!work(stand)) fail_msg("only %d of 20 ran", i);
    }
    assert_i64(20, stand->runs);
}

static void place_of_a_cancelled_run_is_free(struct stand *stand)
{
    static const struct pawl_node_queue queues[] = { { "a", 1 }, { "b", 0 } };
    handle(stand, "work", note_args);
    start_queues(stand, 4, queues, COUNT(queues));
    struct pawl_job_id first = submit_args(stand, "a", "[1]");
    submit_args(stand, "a", "[2]");
    settle(stand);
    turn(stand);
    assert_i64(1, counters_of(stand).waiting);
    expect_ok(stand, control_job(stand, first, PAWL_CONTROL_CANCEL));
    settle(stand);
    while (work(stand)) {
    }
    assert_text("2 ", stand->trace);
}

/* ---- how much ---- */

static void first_claim_asks_for_as_many_as_there_are_workers(struct stand *stand)
{
    handle(stand, "work", count_run);
    submit_many(stand, NULL, 100);
    start_workers(stand, 4);
    assert_i64(4, counters_of(stand).waiting);
    assert_i64(4, counters_of(stand).claimed);
}

static enum pawl_outcome run_long(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    struct pawl_counters counters = counters_of(stand);
    assert_true(counters.waiting + counters.running <= 4);
    move_clock(stand, 10);
    return count_run(task, stand);
}

static void long_runs_are_not_claimed_ahead(struct stand *stand)
{
    handle(stand, "work", run_long);
    submit_many(stand, NULL, 100);
    start_workers(stand, 4);
    while (work(stand)) {
        assert_true(counters_of(stand).waiting <= 4);
    }
    assert_i64(100, stand->runs);
}

static enum pawl_outcome run_shortly(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    int64_t *most = stand->user;
    struct pawl_counters counters = counters_of(stand);
    if (counters.waiting > *most) *most = counters.waiting;
    (void)task;
    stand->runs++;
    return PAWL_OUTCOME_DONE;
}

static void short_runs_are_claimed_many_at_a_time(struct stand *stand)
{
    int64_t most = 0;
    stand->user = &most;
    handle(stand, "work", run_shortly);
    submit_many(stand, NULL, 6000);
    start_workers(stand, 1); // all of them busy while it runs
    while (work(stand)) {
    }
    assert_i64(6000, stand->runs);
    assert_true(most >= 500);
    assert_true(most <= PAWL__AHEAD_MAX + 1);
    struct pawl_counters counters = counters_of(stand);
    assert_i64(6000, counters.claimed);
    assert_true(counters.claims_full <= 20); // instead of thousands
}

static enum pawl_outcome run_for_400_us(struct pawl_task *task, void *ctx)
{
    move_clock_us(ctx, 400);
    return run_shortly(task, ctx);
}

/* Not more than the workers get through in four milliseconds: another node may be idle. */
static void claims_ahead_last_for_milliseconds(struct stand *stand)
{
    int64_t most = 0;
    stand->user = &most;
    handle(stand, "work", run_for_400_us);
    submit_many(stand, NULL, 300);
    start_workers(stand, 2);
    while (work(stand)) {
    }
    assert_i64(300, stand->runs);
    assert_true(most >= 10);
    assert_true(most <= 2 + 2 * 4000 / 400);
}

static void claims_are_counted(struct stand *stand)
{
    handle(stand, "work", count_run);
    start_workers(stand, 2);
    struct pawl_counters before = counters_of(stand);
    assert_i64(1, before.claims_empty);
    assert_i64(0, before.claims_full);
    submit(stand, NULL);
    settle(stand);
    struct pawl_counters after = counters_of(stand);
    assert_i64(1, after.claimed);
    assert_i64(1, after.claims_empty); // one of two: neither empty nor full
    assert_i64(0, after.claims_full);
    submit(stand, NULL);
    settle(stand);
    after = counters_of(stand);
    assert_i64(2, after.claimed);
    assert_i64(1, after.claims_full);
}

/* The claim ends a thousand expired jobs and stops there. The good job behind them does not wait
 * for the safety poll. */
static void claim_that_says_more_is_made_again_at_once(struct stand *stand)
{
    handle(stand, "work", note_args);
    struct pawl_job_spec *specs = calloc(PAWL__MAINTENANCE_MAX + 1, sizeof *specs);
    struct pawl_submitted *out = calloc(PAWL__MAINTENANCE_MAX + 1, sizeof *out);
    assert_true(specs && out);
    for (int i = 0; i <= PAWL__MAINTENANCE_MAX; i++) {
        specs[i] = (struct pawl_job_spec){ .type = "work", .expires_in_ms = 10 };
    }
    expect_ok(stand,
              pawl_submit_many(stand->pawl, specs, PAWL__MAINTENANCE_MAX + 1, out, &stand->diag));
    free(specs);
    free(out);
    move_clock(stand, 10);
    submit_args(stand, NULL, "[1]");
    start(stand, &(struct pawl_node_config){ .no_upkeep = true });
    assert_i64(PAWL__MAINTENANCE_MAX, count_in(stand, PAWL_STATE_EXPIRED));
    assert_false(work(stand));
    int64_t polls = counters_of(stand).wakes_poll;
    live(stand, 2);
    assert_text("1 ", stand->trace);
    assert_i64(polls, counters_of(stand).wakes_poll);
}

/* ---- what wakes it ---- */

/* ---- how many bytes ---- */

enum { LONG_ARGS = 9000, LONG_JOBS = 60, BYTES_MAX = 100000 };

/* An array of one text of LONG_ARGS bytes that begins with the number. */
static struct pawl_job_id submit_long(struct stand *stand, int number)
{
    static char args[LONG_ARGS];
    memset(args, 'x', sizeof args);
    memcpy(args, "[\"", 2);
    memcpy(args + sizeof args - 2, "\"]", 2);
    args[2] = (char)('0' + number / 10);
    args[3] = (char)('0' + number % 10);
    return submit(stand, &(struct pawl_job_spec){ .args = { args, sizeof args } });
}

static int64_t without_args(struct stand *stand)
{
    int64_t count = 0;
    for (struct pawl_task *task = stand->engine->held; task; task = task->held_next) {
        count += task->job->args.len == 0;
    }
    return count;
}

static enum pawl_outcome check_long(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    const struct pawl_job *job = pawl_task_job(task);
    if (job->args.len == LONG_ARGS) {
        assert_int_equal(stand->runs % LONG_JOBS,
                         (job->args.at[2] - '0') * 10 + job->args.at[3] - '0');
    }
    assert_true(stand->engine->claim_bytes <= BYTES_MAX + 2 * LONG_JOBS * PAWL__ARGS_SMALL);
    stand->runs++;
    return PAWL_OUTCOME_DONE;
}

/* Short runs are claimed many at a time: with all that they bring, it would be 540,000 bytes. */
static void long_arguments_are_read_when_their_run_starts(struct stand *stand)
{
    handle(stand, "work", check_long);
    start(stand, &(struct pawl_node_config){ .workers = 2, .claim_bytes_max = BYTES_MAX });
    for (int i = 0; i < LONG_JOBS; i++) {
        submit(stand, NULL); // so that it knows how short they are
    }
    work_all(stand);
    assert_i64(LONG_JOBS, stand->runs);
    stop(stand);
    for (int i = 0; i < LONG_JOBS; i++) {
        submit_long(stand, i);
    }
    start(stand, &(struct pawl_node_config){ .workers = 2, .claim_bytes_max = BYTES_MAX });
    assert_true(without_args(stand) > LONG_JOBS / 2);
    assert_true(stand->engine->claim_bytes <= BYTES_MAX);
    work_all(stand);
    assert_i64(2 * LONG_JOBS, stand->runs);
    assert_i64(2 * LONG_JOBS, count_in(stand, PAWL_STATE_COMPLETED));
    assert_i64(0, stand->engine->claim_bytes);
}

/* Time that is later as soon as the job has its arguments: so long they took to load. */
static struct {
    struct pawl_clock before;
    const struct pawl_job *job;
} load;

enum { LOAD_MS = 5000 };

static int64_t wall_ms_loading(void *ctx)
{
    return load.before.wall_ms(ctx) + (load.job->args.len ? LOAD_MS : 0);
}

static int64_t mono_us_loading(void *ctx)
{
    return load.before.mono_us(ctx) + (load.job->args.len ? LOAD_MS * INT64_C(1000) : 0);
}

static enum pawl_outcome check_deadline(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    stand->clock->clock = load.before;
    move_clock(stand, LOAD_MS);
    assert_i64(now_ms(stand) + 8000, pawl_task_deadline_ms(task));
    stand->runs++;
    return PAWL_OUTCOME_DONE;
}

static void time_limit_begins_when_long_arguments_are_there(struct stand *stand)
{
    static char args[LONG_ARGS];
    memset(args, '1', sizeof args);
    args[0] = '[';
    args[sizeof args - 1] = ']';
    handle(stand, "work", check_deadline);
    submit(stand, &(struct pawl_job_spec){ .args = { args, sizeof args }, .timeout_ms = 8000 });
    start(stand, &(struct pawl_node_config){ .claim_bytes_max = 1 });
    assert_i64(1, without_args(stand));
    load.before = stand->clock->clock;
    load.job = stand->engine->held->job;
    stand->clock->clock.wall_ms = wall_ms_loading;
    stand->clock->clock.mono_us = mono_us_loading;
    assert_true(work(stand));
    assert_i64(1, stand->runs);
}

/* What is there for each free worker comes with the claim. */
static void arguments_within_the_bound_come_with_the_claim(struct stand *stand)
{
    handle(stand, "work", count_run);
    for (int i = 0; i < LONG_JOBS; i++) {
        submit_long(stand, i);
    }
    start_workers(stand, 4);
    assert_i64(4, counters_of(stand).waiting);
    assert_i64(0, without_args(stand));
    assert_i64(4 * LONG_ARGS, stand->engine->claim_bytes);
    work_all(stand);
    assert_i64(0, without_args(stand));
    assert_i64(LONG_JOBS, stand->runs);
}

/* Deleted by another process, whose word is lost. */
static void job_whose_arguments_are_gone_does_not_run(struct stand *stand)
{
    handle(stand, "work", count_run);
    struct pawl_job_id id = submit_long(stand, 0);
    start(stand, &(struct pawl_node_config){ .claim_bytes_max = 1 });
    assert_i64(1, without_args(stand));
    deafen(stand);
    stand_open_peer(&peer, stand);
    expect_ok(&peer, control_job(&peer, id, PAWL_CONTROL_CANCEL));
    expect_ok(&peer, pawl_delete(peer.pawl, id, NULL, &peer.diag));
    assert_true(work(stand));
    assert_i64(0, stand->runs);
    assert_i64(0, stand->engine->claim_bytes);
    stand_close(&peer);
}

static void causes_of_waking_are_counted(struct stand *stand)
{
    handle(stand, "work", count_run);
    start(stand, NULL);
    struct pawl_counters before = counters_of(stand);
    submit(stand, NULL);
    work_all(stand);
    struct pawl_counters after = counters_of(stand);
    assert_i64(before.wakes_local + 1, after.wakes_local);
    assert_i64(before.wakes_foreign, after.wakes_foreign);
    hear_another(stand);
    settle(stand);
    assert_i64(before.wakes_foreign + 1, counters_of(stand).wakes_foreign);
    assert_i64(after.wakes_poll, counters_of(stand).wakes_poll);
    live(stand, 1000); // until what the notice set off is over
    submit(stand, &(struct pawl_job_spec){ .delay_ms = 100 });
    settle(stand);
    before = counters_of(stand);
    live(stand, 100);
    assert_i64(before.wakes_due + 1, counters_of(stand).wakes_due);
    before = counters_of(stand);
    live(stand, 3600000);
    after = counters_of(stand);
    assert_i64(before.wakes_due, after.wakes_due); // nothing was due
    assert_true(after.wakes_poll > before.wakes_poll);
}

static int64_t polls_in(struct stand *stand, int64_t ms)
{
    int64_t before = counters_of(stand).wakes_poll;
    live(stand, ms);
    return counters_of(stand).wakes_poll - before;
}

static void idle_node_polls_once_a_minute(struct stand *stand)
{
    handle(stand, "work", count_run);
    start(stand, &(struct pawl_node_config){ .no_upkeep = true });
    live(stand, 600000);
    assert_i64(60, polls_in(stand, 3600000));
}

static void wake_up_is_followed_by_a_burst(struct stand *stand)
{
    handle(stand, "work", count_run);
    start(stand, &(struct pawl_node_config){ .no_upkeep = true });
    live(stand, 600000);
    submit(stand, NULL);
    work_all(stand);
    int64_t polls = polls_in(stand, 2500);
    assert_true(polls >= 4 && polls <= 6);
    assert_true(polls_in(stand, 10000) <= 5); // and it passes
}

static void lost_notices_cost_time_nothing_else(struct stand *stand)
{
    handle(stand, "work", note_args);
    start(stand, NULL);
    deafen(stand);
    stand_open_peer(&peer, stand);
    live(stand, 600000); // deep idle: the worst there is
    submit_args(&peer, NULL, "[1]");
    settle(stand);
    assert_false(work(stand));
    live(stand, 60000);
    assert_text("1 ", stand->trace);
    stand_close(&peer);
}

static void lost_notices_of_what_is_to_come_cost_time_nothing_else(struct stand *stand)
{
    handle(stand, "work", note_args);
    start(stand, NULL);
    deafen(stand);
    stand_open_peer(&peer, stand);
    live(stand, 600000);
    submit(&peer, &(struct pawl_job_spec){ .delay_ms = 5000, .args = span_of("[1]") });
    live(stand, 65000);
    assert_text("1 ", stand->trace);
    stand_close(&peer);
}

static void settings_of_the_poll_are_followed(struct stand *stand)
{
    handle(stand, "work", count_run);
    start(stand,
          &(struct pawl_node_config){ .poll_min_ms = 100, .poll_max_ms = 200, .no_upkeep = true });
    live(stand, 1000);
    int64_t polls = polls_in(stand, 100000);
    assert_true(polls >= 500); // of 200 ms at most
    assert_true(polls <= 2000);
}

int main(void)
{
    static const struct stand_test tests[] = {
        STAND(submit_is_claimed_without_a_turn),
        STAND(all_that_frees_a_job_wakes_the_node),
        STAND(jobs_from_before_the_start_are_found),
        STAND(job_that_comes_during_a_round_is_not_forgotten),
        STAND_SHARED(notice_during_a_claim_is_not_forgotten),
        STAND(queues_are_emptied_from_left_to_right),
        STAND(limits_do_not_change_the_order_of_queues),
        STAND(newcomer_on_the_left_is_next),
        STAND(queue_that_is_not_named_is_left_alone),
        STAND(limits_of_queues_are_kept),
        STAND(place_that_is_free_is_filled_at_once),
        STAND(place_of_a_cancelled_run_is_free),
        STAND(first_claim_asks_for_as_many_as_there_are_workers),
        STAND(long_runs_are_not_claimed_ahead),
        STAND(short_runs_are_claimed_many_at_a_time),
        STAND(claims_ahead_last_for_milliseconds),
        STAND(claims_are_counted),
        STAND(claim_that_says_more_is_made_again_at_once),
        STAND(long_arguments_are_read_when_their_run_starts),
        STAND(arguments_within_the_bound_come_with_the_claim),
        STAND(time_limit_begins_when_long_arguments_are_there),
        STAND_SHARED(job_whose_arguments_are_gone_does_not_run),
        STAND(causes_of_waking_are_counted),
        STAND(idle_node_polls_once_a_minute),
        STAND(wake_up_is_followed_by_a_burst),
        STAND_SHARED(lost_notices_cost_time_nothing_else),
        STAND_SHARED(lost_notices_of_what_is_to_come_cost_time_nothing_else),
        STAND(settings_of_the_poll_are_followed),
    };
    return stand_run("engine_claims", tests, COUNT(tests));
}
