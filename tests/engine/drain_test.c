/* Stopping: no more claims; waiting jobs are given back; running ones may finish, then are told to
 * stop, then are given back. First without threads, then with them. Time passes only when the test
 * moves the clock, so each phase lasts until the test has checked it. */
#include "engine/stand.h"

#include <sched.h>

/* ---- by hand ---- */

static void what_waits_goes_back_at_once_and_free_of_charge(struct stand *stand)
{
    handle(stand, "work", count_run);
    start_workers(stand, 5);
    struct pawl_job_id ids[5];
    for (int i = 0; i < 5; i++) {
        ids[i] = submit(stand, &(struct pawl_job_spec){ .retry = { .attempts_max = 1 } });
    }
    turn(stand);
    assert_i64(5, counters_of(stand).waiting);
    assert_i64(0, stop(stand)); // they had not begun
    for (int i = 0; i < 5; i++) {
        struct pawl_job job = job_of(stand, ids[i]);
        assert_state(AVAILABLE, job.state);
        assert_i64(1, job.free_runs);
        assert_text("", job.worker);
    }
    struct pawl_counters counters = counters_of(stand);
    assert_i64(5, counters.snoozed);
    assert_i64(0, counters.waiting + counters.running);
    assert_i64(0, stand->runs);
    start_workers(stand, 5);
    work_all(stand);
    assert_i64(5, stand->runs); // the only attempt was still there
    assert_i64(5, count_in(stand, PAWL_STATE_COMPLETED));
}

static enum pawl_outcome stop_inside(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    stand->runs++;
    assert_i64(1, stop(stand));
    assert_true(pawl_task_cancelled(task));
    assert_state(AVAILABLE, state_of_job(stand, pawl_task_job(task)->id));
    expect_err(stand, PAWL_ERR_STALE, pawl_task_progress(task, 0.5, NULL));
    return PAWL_OUTCOME_DONE;
}

static void what_runs_for_too_long_is_given_back_free_of_charge(struct stand *stand)
{
    handle(stand, "work", stop_inside);
    start_workers(stand, 2);
    struct pawl_job_id id = submit(stand, NULL);
    turn(stand);
    assert_true(work(stand));
    struct pawl_job job = job_of(stand, id);
    assert_state(AVAILABLE, job.state); // what it returned afterwards is not heard
    assert_i64(1, job.free_runs);
    assert_i64(0, (int64_t)story_of_job(stand, id)->failure_count);
    struct pawl_counters counters = counters_of(stand);
    assert_i64(1, counters.snoozed);
    assert_i64(0, counters.completed);
    assert_i64(0, counters.running);
}

static void nothing_is_claimed_after_a_stop(struct stand *stand)
{
    handle(stand, "work", count_run);
    start(stand, NULL);
    stop(stand);
    submit(stand, NULL);
    settle(stand);
    assert_false(work(stand));
    assert_i64(0, counters_of(stand).claimed);
    assert_i64(1, count_in(stand, PAWL_STATE_AVAILABLE));
}

static void cancelled_ones_that_wait_are_not_given_back(struct stand *stand)
{
    handle(stand, "work", count_run);
    start_workers(stand, 3);
    struct pawl_job_id a = submit(stand, NULL), b = submit(stand, NULL), c = submit(stand, NULL);
    turn(stand);
    expect_ok(stand, control_job(stand, b, PAWL_CONTROL_CANCEL));
    settle(stand);
    stop(stand);
    assert_state(AVAILABLE, state_of_job(stand, a));
    assert_state(CANCELLED, state_of_job(stand, b));
    assert_state(AVAILABLE, state_of_job(stand, c));
    assert_i64(0, counters_of(stand).waiting);
    assert_i64(2, counters_of(stand).snoozed);
}

static void stopping_what_does_not_run_is_fine(struct stand *stand)
{
    int64_t given_back = 7;
    pawl_stop(stand->pawl, NULL, &given_back);
    assert_i64(0, given_back);
    pawl_stop(stand->pawl, NULL, NULL);
    handle(stand, "work", count_run);
    start(stand, NULL);
    stop(stand);
    pawl_stop(stand->pawl, NULL, &given_back);
    assert_i64(0, given_back);
}

static void node_starts_again_with_other_settings(struct stand *stand)
{
    static const struct pawl_node_queue queues[] = { { "a", 0 }, { "b", 1 } };
    handle(stand, "work", note_args);
    for (int i = 0; i < 3; i++) {
        start(stand, &(struct pawl_node_config){ .queues = &queues[i % 2], .queue_count = 1 });
        submit_args(stand, "a", "[1]");
        submit_args(stand, "b", "[2]");
        work_all(stand);
        stop(stand);
    }
    assert_text("1 2 2 1 1 ", stand->trace);
    handle(stand, "more", note_args); // between runs handlers may be added
    start(stand, NULL);
    submit(stand, &(struct pawl_job_spec){ .type = "more", .args = span_of("[3]") });
    work_all(stand);
    assert_text("1 2 2 1 1 3 ", stand->trace);
    assert_i64(6, counters_of(stand).completed); // counters go on
}

/* ---- with threads ---- */

enum { LOOK_US = 2000000, LONG_LOOK_US = 20 * LOOK_US };

/* Handlers wait here. `obedient` ones leave when they are told to stop; `stubborn` ones note it and
 * stay. */
struct room {
    struct pawl__mutex mutex;
    struct pawl__cond change;
    /* guarded by mutex: */
    bool open, obedient, stubborn;
    int in, left, told; /* how many came in, have left, were told to stop */
};

static struct room room;

static void room_init(bool obedient)
{
    room = (struct room){ .obedient = obedient };
    pawl__mutex_init(&room.mutex);
    pawl__cond_init(&room.change);
}

static enum pawl_outcome stay(struct pawl_task *task, void *ctx)
{
    (void)ctx;
    pawl__lock(&room.mutex);
    room.in++;
    pawl__cond_broadcast(&room.change);
    bool listens = room.obedient || room.stubborn;
    pawl__unlock(&room.mutex);
    if (listens) (void)pawl_task_wait(task, 3600000);
    pawl__lock(&room.mutex);
    if (listens) room.told++;
    pawl__cond_broadcast(&room.change);
    while (!room.obedient && !room.open) {
        pawl__cond_wait(&room.change, &room.mutex);
    }
    room.left++;
    if (!listens) room.told += pawl_task_cancelled(task);
    pawl__unlock(&room.mutex);
    return PAWL_OUTCOME_DONE;
}

static void wait_for_room(int in)
{
    pawl__lock(&room.mutex);
    while (room.in < in) {
        pawl__cond_wait(&room.change, &room.mutex);
    }
    pawl__unlock(&room.mutex);
}

static void open_room(void)
{
    pawl__lock(&room.mutex);
    room.open = true;
    pawl__cond_broadcast(&room.change);
    pawl__unlock(&room.mutex);
}

struct stopper {
    struct stand *stand;
    struct pawl_drain drain;
    int64_t given_back;
    pthread_t thread;
};

static void *run_stopper(void *arg)
{
    struct stopper *stopper = arg;
    pawl_stop(stopper->stand->pawl, &stopper->drain, &stopper->given_back);
    return NULL;
}

static bool is_draining(struct stand *stand)
{
    pawl__lock(&stand->engine->mutex);
    bool draining = stand->engine->draining;
    pawl__unlock(&stand->engine->mutex);
    return draining;
}

static void begin_stop(struct stopper *stopper, struct stand *stand)
{
    *stopper = (struct stopper){ .stand = stand, .given_back = -1 };
    assert_int_equal(pthread_create(&stopper->thread, NULL, run_stopper, stopper), 0);
    while (!is_draining(stand)) {
        sched_yield();
    }
}

static int64_t end_stop(struct stopper *stopper)
{
    pthread_join(stopper->thread, NULL);
    return stopper->given_back;
}

/* `jobs` of them are with their handlers. */
static void start_with(struct stand *stand, int32_t workers, int jobs)
{
    handle(stand, "work", stay);
    struct pawl_node_config config = { .name = "node", .workers = workers, .lease_ms = 600000 };
    expect_ok(stand, pawl_start(stand->pawl, &config, &stand->diag));
    for (int i = 0; i < jobs; i++) {
        submit(stand, &(struct pawl_job_spec){ .retry = { .attempts_max = 1 } });
    }
    wait_for_room(jobs < workers ? jobs : workers);
}

static void running_handlers_may_finish(struct stand *stand)
{
    room_init(false);
    start_with(stand, 2, 2);
    struct stopper stopper;
    begin_stop(&stopper, stand);
    move_clock(stand, 9999);
    struct pawl_job_id late = submit(stand, NULL); // comes while it drains
    settle(stand);
    assert_int_equal(room.left, 0);
    open_room();
    assert_i64(0, end_stop(&stopper));
    assert_int_equal(room.left, 2);
    assert_int_equal(room.told, 0); // undisturbed
    assert_i64(2, count_in(stand, PAWL_STATE_COMPLETED));
    assert_state(AVAILABLE, state_of_job(stand, late));
    assert_i64(0, job_of(stand, late).run);
}

/* Until what is wanted is so, or the engine has had time enough to see that the clock was moved. */
static void look_for_a_while(struct stand *stand, int64_t us, bool (*so)(struct stand *stand))
{
    struct pawl__engine *engine = stand->engine;
    int64_t until_us = pawl__clock_mono_us(&pawl__clock_system) + us;
    while (!so(stand) && pawl__clock_mono_us(&pawl__clock_system) < until_us) {
        pawl__lock(&engine->mutex);
        (void)pawl__cond_wait_us(&engine->change, &engine->mutex, 10000);
        pawl__unlock(&engine->mutex);
    }
}

/* Twice if need be: that a phase has begun can be seen a little before its time counts. */
static void let_phase_pass(struct stand *stand, int64_t ms, bool (*so)(struct stand *stand))
{
    for (int i = 0; i < 2 && !so(stand); i++) {
        move_clock(stand, ms);
        look_for_a_while(stand, i ? LONG_LOOK_US : LOOK_US, so);
    }
}

static bool two_were_told(struct stand *stand)
{
    (void)stand;
    pawl__lock(&room.mutex);
    bool told = room.told == 2;
    pawl__unlock(&room.mutex);
    return told;
}

static bool two_are_available(struct stand *stand)
{
    return count_in(stand, PAWL_STATE_AVAILABLE) == 2;
}

static void after_that_they_are_told_to_stop(struct stand *stand)
{
    room_init(true);
    start_with(stand, 2, 2);
    struct stopper stopper;
    begin_stop(&stopper, stand);
    let_phase_pass(stand, 10000, two_were_told);
    assert_true(two_were_told(stand));
    assert_i64(0, end_stop(&stopper)); // what they return then still counts
    assert_i64(2, count_in(stand, PAWL_STATE_COMPLETED));
    assert_i64(2, counters_of(stand).completed);
}

static void wait_until_available(struct stand *stand, int64_t count)
{
    while (count_in(stand, PAWL_STATE_AVAILABLE) < count) {
        sched_yield();
    }
}

static void wait_until_claimed(struct stand *stand, int64_t count)
{
    while (counters_of(stand).claimed < count) {
        sched_yield();
    }
}

static void those_that_do_not_listen_are_given_back(struct stand *stand)
{
    room_init(false);
    room.stubborn = true;
    start_with(stand, 3, 2);
    struct stopper stopper;
    begin_stop(&stopper, stand);
    let_phase_pass(stand, 10000, two_were_told);
    assert_true(two_were_told(stand));
    assert_i64(0, count_in(stand, PAWL_STATE_AVAILABLE)); // they have their time
    let_phase_pass(stand, 5000, two_are_available);
    assert_true(two_are_available(stand));
    assert_int_equal(room.left, 0); // their threads are still waited for
    open_room();
    assert_i64(2, end_stop(&stopper));
    assert_i64(2, count_in(stand, PAWL_STATE_AVAILABLE));
    struct pawl_counters counters = counters_of(stand);
    assert_i64(2, counters.snoozed);
    assert_i64(0, counters.completed + counters.failed);
}

static void hurry_goes_on_to_the_next_phase(struct stand *stand)
{
    room_init(true);
    start_with(stand, 1, 1);
    struct stopper stopper;
    begin_stop(&stopper, stand);
    pawl_stop_hurry(stand->pawl); // no time has passed
    assert_i64(0, end_stop(&stopper));
    assert_int_equal(room.told, 1);
}

static void second_hurry_is_final(struct stand *stand)
{
    room_init(false);
    start_with(stand, 1, 1);
    struct stopper stopper;
    begin_stop(&stopper, stand);
    pawl_stop_hurry(stand->pawl);
    pawl_stop_hurry(stand->pawl);
    wait_until_available(stand, 1);
    open_room();
    assert_i64(1, end_stop(&stopper));
}

static void negative_times_mean_none(struct stand *stand)
{
    room_init(true);
    start_with(stand, 1, 1);
    pawl_stop(stand->pawl, &(struct pawl_drain){ .finish_ms = -1 }, NULL);
    assert_int_equal(room.told, 1);
    assert_i64(1, count_in(stand, PAWL_STATE_COMPLETED));
}

/* More were claimed than run; they never begin. */
static void what_waits_goes_back_while_others_finish(struct stand *stand)
{
    room_init(false);
    start_with(stand, 1, 1);
    pawl__lock(&stand->engine->mutex);
    stand->engine->run_us_mean = 0; // as if runs were short: it claims ahead
    pawl__unlock(&stand->engine->mutex);
    for (int i = 0; i < 5; i++) {
        submit(stand, NULL);
    }
    settle(stand);
    assert_true(counters_of(stand).waiting > 0);
    struct stopper stopper;
    begin_stop(&stopper, stand);
    wait_until_available(stand, 5);
    assert_int_equal(room.in, 1);
    open_room();
    assert_i64(0, end_stop(&stopper));
    assert_int_equal(room.in, 1);
    assert_i64(1, count_in(stand, PAWL_STATE_COMPLETED));
    assert_i64(5, count_in(stand, PAWL_STATE_AVAILABLE));
}

/* A claim is under way when the drain begins, and somebody runs for long: what it brings goes back
 * at once, for others to run. */
static void what_a_late_claim_brings_does_not_wait_either(struct stand *stand)
{
    struct pawl__engine *engine = stand->engine;
    room_init(false);
    start_with(stand, 2, 1);
    settle(stand);
    pawl__lock(&engine->mutex);
    engine->claiming = true; // as it were: so that the next job is left alone
    pawl__unlock(&engine->mutex);
    submit(stand, NULL);
    settle(stand);
    struct plug plug;
    plug_post(stand, &plug);
    plug_wait(&plug);
    pawl__lock(&engine->mutex);
    engine->claiming = false;
    engine->poll_us = 0;
    pawl__unlock(&engine->mutex);
    (void)pawl__coordinator_turn(engine); // the safety poll claims it
    struct stopper stopper;
    begin_stop(&stopper, stand);
    plug_pull(&plug);
    wait_until_claimed(stand, 2); // until then it is available because nobody took it
    wait_until_available(stand, 1);
    assert_int_equal(room.left, 0);
    open_room();
    assert_i64(0, end_stop(&stopper));
    assert_int_equal(room.in, 1);
}

static void all_who_stop_it_wait_until_it_has_stopped(struct stand *stand)
{
    room_init(false);
    start_with(stand, 1, 1);
    struct stopper stoppers[3];
    for (int i = 0; i < 3; i++) {
        begin_stop(&stoppers[i], stand);
    }
    open_room();
    for (int i = 0; i < 3; i++) {
        assert_i64(0, end_stop(&stoppers[i]));
        assert_int_equal(room.left, 1);
        assert_false(stand->engine->running);
    }
    assert_i64(1, count_in(stand, PAWL_STATE_COMPLETED));
    assert_i64(1, counters_of(stand).completed);
}

/* More outcomes wait for the store than may: a worker that has one more must not hold up the stop.
 */
static void stop_does_not_wait_for_a_worker_that_waits_for_the_store(struct stand *stand)
{
    struct pawl__engine *engine = stand->engine;
    room_init(false);
    start_with(stand, 1, 1);
    pawl__lock(&engine->mutex);
    engine->finishing += PAWL__FINISHING_MAX;
    pawl__unlock(&engine->mutex);
    open_room();
    pawl_stop(stand->pawl, NULL, NULL);
    assert_i64(1, count_in(stand, PAWL_STATE_COMPLETED));
    assert_i64(PAWL__FINISHING_MAX, engine->finishing);
    engine->finishing = 0;
}

static enum pawl_outcome wait_for_ever(struct pawl_task *task, void *ctx)
{
    (void)ctx;
    pawl__lock(&room.mutex);
    room.in++;
    pawl__cond_broadcast(&room.change);
    pawl__unlock(&room.mutex);
    bool told = pawl_task_wait(task, INT64_MAX);
    pawl__lock(&room.mutex);
    room.told += told;
    pawl__unlock(&room.mutex);
    return PAWL_OUTCOME_DONE;
}

static void the_longest_time_is_for_ever(struct stand *stand)
{
    room_init(false);
    handle(stand, "work", wait_for_ever);
    struct pawl_node_config config = { .name = "node", .workers = 1, .lease_ms = 600000 };
    expect_ok(stand, pawl_start(stand->pawl, &config, &stand->diag));
    submit(stand, NULL);
    wait_for_room(1);
    assert_false(pawl_idle(stand->pawl, INT64_MAX, INT64_MIN));
    struct stopper stopper = { .stand = stand, .drain = { .finish_ms = INT64_MAX } };
    assert_int_equal(pthread_create(&stopper.thread, NULL, run_stopper, &stopper), 0);
    while (!is_draining(stand)) {
        sched_yield();
    }
    move_clock(stand, 60000);
    pawl_stop_hurry(stand->pawl);
    assert_i64(0, end_stop(&stopper));
    assert_int_equal(room.told, 1);
    assert_true(pawl_idle(stand->pawl, INT64_MAX, INT64_MAX));
}

static bool wait_for_second(int64_t us)
{
    pawl__lock(&room.mutex);
    bool in_time = true;
    while (room.in < 2 && in_time) {
        in_time = pawl__cond_wait_us(&room.change, &room.mutex, us);
    }
    bool came = room.in == 2;
    pawl__unlock(&room.mutex);
    return came;
}

static void wait_until_claiming(struct stand *stand)
{
    for (bool so = false; !so;) {
        pawl__lock(&stand->engine->mutex);
        so = stand->engine->claiming && stand->engine->asked > 1; // and the outcome before it
        pawl__unlock(&stand->engine->mutex);
        sched_yield();
    }
}

/* A claim is under way when the drain begins; what it brings must not begin to run. Two plugs: the
 * first holds the claim back until the drain has begun, the second holds the drain back, so that a
 * worker has all the time to take what it should not. */
static void claim_under_way_brings_nothing_to_run(struct stand *stand)
{
    room_init(false);
    start_with(stand, 1, 2);
    struct plug first, second;
    plug_post(stand, &first);
    plug_wait(&first);
    open_room(); // the one in it ends: its outcome and the next claim wait behind the plug
    wait_until_claiming(stand);
    plug_post(stand, &second);
    move_clock(stand, 10000);
    (void)pawl__coordinator_turn(stand->engine); // sweeps, behind the second plug
    struct stopper stopper;
    begin_stop(&stopper, stand);
    plug_pull(&first);
    plug_wait(&second); // the claim has been answered
    bool ran = wait_for_second(300000);
    plug_pull(&second);
    assert_i64(0, end_stop(&stopper));
    assert_false(ran);
    assert_i64(1, counters_of(stand).snoozed);
    assert_i64(1, count_in(stand, PAWL_STATE_AVAILABLE));
    assert_i64(1, count_in(stand, PAWL_STATE_COMPLETED));
}

static enum pawl_outcome count_atomically(struct pawl_task *task, void *ctx)
{
    (void)task;
    (void)ctx;
    pawl__lock(&room.mutex);
    room.in++;
    pawl__cond_broadcast(&room.change);
    pawl__unlock(&room.mutex);
    return PAWL_OUTCOME_DONE;
}

static void starts_and_stops_as_often_as_one_likes(struct stand *stand)
{
    room_init(false);
    handle(stand, "work", count_atomically);
    struct pawl_node_config config = { .name = "node", .workers = 3 };
    for (int i = 1; i <= 20; i++) {
        expect_ok(stand, pawl_start(stand->pawl, &config, &stand->diag));
        submit(stand, NULL);
        wait_for_room(i);
        pawl_stop(stand->pawl, NULL, NULL);
        assert_i64(i, count_in(stand, PAWL_STATE_COMPLETED)); // it stopped after the last outcome
    }
    expect_ok(stand, pawl_start(stand->pawl, &config, &stand->diag));
    // and is closed while it runs
}

int main(void)
{
    static const struct stand_test tests[] = {
        STAND(what_waits_goes_back_at_once_and_free_of_charge),
        STAND(what_runs_for_too_long_is_given_back_free_of_charge),
        STAND(nothing_is_claimed_after_a_stop),
        STAND(cancelled_ones_that_wait_are_not_given_back),
        STAND(stopping_what_does_not_run_is_fine),
        STAND(node_starts_again_with_other_settings),
        STAND(running_handlers_may_finish),
        STAND(after_that_they_are_told_to_stop),
        STAND(those_that_do_not_listen_are_given_back),
        STAND(hurry_goes_on_to_the_next_phase),
        STAND(second_hurry_is_final),
        STAND(negative_times_mean_none),
        STAND(what_waits_goes_back_while_others_finish),
        STAND(what_a_late_claim_brings_does_not_wait_either),
        STAND(all_who_stop_it_wait_until_it_has_stopped),
        STAND(stop_does_not_wait_for_a_worker_that_waits_for_the_store),
        STAND(the_longest_time_is_for_ever),
        STAND(claim_under_way_brings_nothing_to_run),
        STAND(starts_and_stops_as_often_as_one_likes),
    };
    return stand_run("engine_drain", tests, COUNT(tests));
}
