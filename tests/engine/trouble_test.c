/* Lost races, and a store that refuses writes for a while because another connection has locked it.
 * The outcome of a run is kept as long as its lease lasts. */
#include "engine/stand.h"

struct locker {
    void *held;
};

static void lock_store(struct locker *locker, struct stand *stand)
{
    locker->held = stand->kind->hold(stand->url);
}

static void unlock_store(struct locker *locker, struct stand *stand)
{
    stand->kind->let_go(locker->held);
}

/* A store that does not wait for others. */
/* A server's answer may take a while on a busy machine. */
static void be_impatient(struct stand *stand)
{
    bool server = stand->kind->served;
    struct pawl_config config = { .store = stand->url,
                                  .clock = &stand->clock->clock,
                                  .durability = PAWL_DURABILITY_RELAXED,
                                  .busy_timeout_ms = server ? 500 : 20,
                                  .seed = 1 };
    pawl_close(stand->pawl);
    stand->pawl = NULL;
    expect_ok(stand, pawl_open(&config, &stand->pawl, &stand->diag));
    stand->engine = stand->pawl->engine;
}

static enum pawl_outcome leave_result(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    char json[32];
    snprintf(json, sizeof json, "%d", (int)++stand->runs);
    expect_ok(stand, pawl_task_result(task, span_of(json)));
    if (stand->user) lock_store(stand->user, stand); // just before the outcome
    return PAWL_OUTCOME_DONE;
}

/* A job has run, and its outcome finds the store locked. */
static struct pawl_job_id finish_into_trouble(struct stand *stand, struct locker *locker)
{
    be_impatient(stand);
    handle(stand, "work", leave_result);
    start(stand, NULL);
    struct pawl_job_id id = submit(stand, NULL);
    turn(stand);
    stand->user = locker;
    assert_true(work(stand));
    stand->user = NULL;
    return id;
}

static void outcome_that_could_not_be_taken_is_tried_again(struct stand *stand)
{
    struct locker locker;
    struct pawl_job_id id = finish_into_trouble(stand, &locker);
    assert_i64(0, counters_of(stand).completed);
    for (int i = 0; i < 3; i++) { // in vain, as long as it is locked
        move_clock(stand, 1000);
        (void)pawl__engine_turn(stand->engine);
    }
    unlock_store(&locker, stand);
    assert_state(ACTIVE, state_of_job(stand, id));
    live(stand, 1000);
    struct pawl_job job = job_of(stand, id);
    assert_state(COMPLETED, job.state);
    assert_span(span_of("1"), job.result);
    assert_i64(1, job.run);
    struct pawl_counters counters = counters_of(stand);
    assert_i64(1, counters.completed);
    assert_i64(0, counters.stale + counters.lapsed);
    assert_true(counters.commits_failed > 0);
    assert_i64(0, stand->engine->finishing);
}

/* It is not tried all the time either: the disk may be full for hours. */
static void trouble_is_not_answered_with_haste(struct stand *stand)
{
    struct locker locker;
    finish_into_trouble(stand, &locker);
    int64_t before = counters_of(stand).commits_failed;
    for (int i = 0; i < 20; i++) { // no time passes
        (void)pawl__engine_turn(stand->engine);
    }
    int64_t after = counters_of(stand).commits_failed;
    unlock_store(&locker, stand);
    assert_true(after - before <= 20 + 5); // the barriers' own, and hardly more
    live(stand, 1000);
    assert_i64(1, count_in(stand, PAWL_STATE_COMPLETED));
}

static enum pawl_outcome be_done(struct pawl_task *task, void *ctx)
{
    (void)task;
    (void)ctx;
    return PAWL_OUTCOME_DONE;
}

/* Later ones do not put off the first: there may be no end of them. */
static void trouble_of_others_does_not_put_it_off(struct stand *stand)
{
    struct locker locker;
    be_impatient(stand);
    handle(stand, "work", be_done);
    start_workers(stand, 2);
    submit(stand, NULL);
    submit(stand, NULL);
    turn(stand);
    lock_store(&locker, stand);
    assert_true(work(stand));
    move_clock_us(stand, PAWL__RETRY_PAUSE_US - 1000);
    assert_true(work(stand));
    unlock_store(&locker, stand);
    move_clock(stand, 1);
    turn(stand);
    assert_true(counters_of(stand).completed > 0);
}

/* After that it is not its own any more, so what it did must be done again. */
static void outcome_is_given_up_with_the_lease(struct stand *stand)
{
    struct locker locker;
    struct pawl_job_id id = finish_into_trouble(stand, &locker);
    move_clock(stand, STAND_LEASE_MS - 1000);
    (void)pawl__engine_turn(stand->engine);
    unlock_store(&locker, stand);
    assert_i64(0, stand->engine->finishing);
    live(stand, 10000);
    struct pawl_job job = job_of(stand, id);
    assert_state(COMPLETED, job.state);
    assert_i64(2, job.run);
    assert_span(span_of("2"), job.result);
    assert_i64(1, counters_of(stand).lapsed);
}

/* The last outcome meets a locked file, and then the node is stopped. */
static void stop_does_not_forget_an_outcome(struct stand *stand)
{
    struct locker locker;
    struct pawl_job_id id = finish_into_trouble(stand, &locker);
    unlock_store(&locker, stand);
    stop(stand);
    assert_state(COMPLETED, state_of_job(stand, id));
    assert_i64(0, stand->engine->finishing);
}

/* Nor does it wait for a store that stays locked: the lease will lapse. */
static void stop_does_not_wait_for_the_trouble_to_end(struct stand *stand)
{
    struct locker locker;
    struct pawl_job_id id = finish_into_trouble(stand, &locker);
    assert_i64(1, stand->engine->finishing);
    stop(stand);
    unlock_store(&locker, stand);
    assert_i64(0, stand->engine->finishing);
    assert_null(stand->engine->troubled);
    assert_state(ACTIVE, state_of_job(stand, id));
    assert_i64(0, counters_of(stand).completed);
}

static void claim_that_failed_is_tried_again(struct stand *stand)
{
    struct locker locker;
    be_impatient(stand);
    handle(stand, "work", leave_result);
    submit(stand, NULL);
    struct pawl_node_config config = { .name = "node", .workers = 1 };
    expect_ok(stand, pawl__engine_start_by_hand(stand->engine, &config, &stand->diag));
    lock_store(&locker, stand);
    (void)pawl__engine_turn(stand->engine);
    assert_false(work(stand));
    unlock_store(&locker, stand);
    live(stand, 1000);
    assert_i64(1, stand->runs);
}

static enum pawl_outcome outlast(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    struct locker locker;
    stand->runs++;
    lock_store(&locker, stand);
    for (int i = 0; i < 20; i++) {
        move_clock(stand, 1000);
        (void)pawl__engine_turn(stand->engine);
    }
    assert_false(pawl_task_cancelled(task));
    unlock_store(&locker, stand);
    live_turning(stand, 60000);
    assert_false(pawl_task_cancelled(task));
    return PAWL_OUTCOME_DONE;
}

static void lease_outlasts_trouble_that_is_shorter(struct stand *stand)
{
    be_impatient(stand);
    handle(stand, "work", outlast);
    start(stand, NULL);
    struct pawl_job_id id = submit(stand, NULL);
    turn(stand);
    assert_true(work(stand));
    assert_state(COMPLETED, state_of_job(stand, id));
    assert_i64(1, job_of(stand, id).run);
}

/* ---- races ---- */

/* A cancel by hand, which waits in the store's inbox with what is posted behind it. */
struct posted_cancel {
    struct pawl__op op;
    struct plug plug;
};

static void post_cancel(struct stand *stand, struct posted_cancel *cancel, struct pawl_job_id id)
{
    plug_post(stand, &cancel->plug);
    plug_wait(&cancel->plug);
    cancel->op = (struct pawl__op){ .kind = PAWL__OP_CONTROL,
                                    .control = { .id = id, .control = PAWL_CONTROL_CANCEL } };
}

static void nothing(struct pawl__op *op)
{
    (void)op;
}

static enum pawl_outcome return_behind_a_cancel(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    struct posted_cancel *cancel = stand->user;
    stand->runs++;
    post_cancel(stand, cancel, pawl_task_job(task)->id);
    cancel->op.done = nothing;
    pawl__store_post(stand->pawl->store, &cancel->op);
    return PAWL_OUTCOME_DONE;
}

/* A job runs, and nobody waits for what the store answers to its outcome. */
static struct pawl_job_id run_unanswered(struct stand *stand, pawl_handler_fn *handler)
{
    handle(stand, "work", handler);
    start(stand, NULL);
    struct pawl_job_id id = submit(stand, NULL);
    turn(stand);
    assert_true(pawl__task_run_next(stand->engine));
    return id;
}

static void *pull(void *arg)
{
    plug_pull(arg);
    return NULL;
}

/* Who was first? Where several transactions are under way at once, two posts have no order; but
 * what was said to either, and what became of the job, agree. */
static void check_first(struct stand *stand, struct pawl_job_id id, bool cancelled, bool expected)
{
    if (!stand->kind->served) assert_int_equal(expected, cancelled);
    assert_int_equal(cancelled ? PAWL_STATE_CANCELLED : PAWL_STATE_COMPLETED,
                     state_of_job(stand, id));
    struct pawl_counters counters = counters_of(stand);
    assert_i64(cancelled, counters.stale);
    assert_i64(!cancelled, counters.completed);
}

/* The handler's outcome is decided and on its way when the cancel, before it in the same
 * transaction, takes effect. */
static void cancel_ahead_of_the_outcome_wins(struct stand *stand)
{
    struct posted_cancel cancel = { 0 };
    stand->user = &cancel;
    struct pawl_job_id id = run_unanswered(stand, return_behind_a_cancel);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, pull, &cancel.plug), 0);
    pthread_join(thread, NULL);
    settle(stand);
    check_first(stand, id, cancel.op.err == PAWL_OK, true);
    assert_i64(0, counters_of(stand).running);
    assert_i64(0, stand->engine->finishing);
    assert_null(stand->engine->held);
    pawl__arena_release(&cancel.op.arena);
}

static enum pawl_outcome just_return(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    struct plug *plug = stand->user;
    (void)task;
    stand->runs++;
    plug_post(stand, plug);
    plug_wait(plug);
    return PAWL_OUTCOME_DONE;
}

static void outcome_ahead_of_the_cancel_wins(struct stand *stand)
{
    struct plug plug;
    stand->user = &plug;
    struct pawl_job_id id = run_unanswered(stand, just_return);
    struct pawl__op op = { .kind = PAWL__OP_CONTROL,
                           .done = nothing,
                           .control = { .id = id, .control = PAWL_CONTROL_CANCEL } };
    pawl__store_post(stand->pawl->store, &op);
    plug_pull(&plug);
    settle(stand);
    check_first(stand, id, op.err == PAWL_OK, false);
    pawl__arena_release(&op.arena);
}

/* A lease is being extended when its run ends: the extension comes too late, and means nothing. */
static enum pawl_outcome end_during_a_beat(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    struct plug *plug = stand->user;
    (void)task;
    if (stand->runs++ > 0) return PAWL_OUTCOME_DONE;
    plug_post(stand, plug);
    plug_wait(plug);
    move_clock(stand, STAND_LEASE_MS / 2);
    (void)pawl__coordinator_turn(stand->engine);
    return PAWL_OUTCOME_SNOOZE; // and runs again at once
}

static void run_may_end_while_its_lease_is_extended(struct stand *stand)
{
    struct plug plug;
    stand->user = &plug;
    struct pawl_job_id id = run_unanswered(stand, end_during_a_beat);
    plug_pull(&plug);
    settle(stand);
    work_all(stand);
    assert_i64(2, stand->runs);
    assert_state(COMPLETED, state_of_job(stand, id));
    assert_i64(0, counters_of(stand).stale);
}

/* Two nodes see the same job; one gets it. */
static void job_goes_to_one_of_two_nodes(struct stand *stand)
{
    static struct stand peer;
    stand_open_peer(&peer, stand);
    handle(stand, "work", count_run);
    handle(&peer, "work", count_run);
    start(stand, NULL);
    start(&peer, &(struct pawl_node_config){ .name = "other" });
    for (int i = 0; i < 50; i++) {
        submit(i % 2 ? stand : &peer, NULL);
        turn(stand);
        turn(&peer);
        (void)work(stand);
        (void)work(&peer);
    }
    work_all(stand);
    work_all(&peer);
    assert_i64(50, stand->runs + peer.runs);
    assert_i64(50, count_in(stand, PAWL_STATE_COMPLETED));
    assert_i64(50, counters_of(stand).completed + counters_of(&peer).completed);
    assert_true(stand->runs > 0 && peer.runs > 0);
    stand_close(&peer);
}

int main(void)
{
    static const struct stand_test tests[] = {
        STAND_SHARED(outcome_that_could_not_be_taken_is_tried_again),
        STAND_SHARED(trouble_is_not_answered_with_haste),
        STAND_SHARED(trouble_of_others_does_not_put_it_off),
        STAND_SHARED(outcome_is_given_up_with_the_lease),
        STAND_SHARED(stop_does_not_forget_an_outcome),
        STAND_SHARED(stop_does_not_wait_for_the_trouble_to_end),
        STAND_SHARED(claim_that_failed_is_tried_again),
        STAND_SHARED(lease_outlasts_trouble_that_is_shorter),
        STAND(cancel_ahead_of_the_outcome_wins),
        STAND(outcome_ahead_of_the_cancel_wins),
        STAND(run_may_end_while_its_lease_is_extended),
        STAND_SHARED(job_goes_to_one_of_two_nodes),
    };
    return stand_run("engine_trouble", tests, COUNT(tests));
}
