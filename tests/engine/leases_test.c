/* Leases: extended while the node lives, given up before they end, and taken over by another node
 * afterwards. */
#include "engine/stand.h"

/* The body of the first run is the test's; later runs are done at once. */
typedef void body_fn(struct stand *stand, struct pawl_task *task);

static enum pawl_outcome run_body(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    body_fn *body = stand->user;
    if (stand->runs++ == 0 && body) body(stand, task);
    return PAWL_OUTCOME_DONE;
}

static struct stand peer; // another process, for the bodies below

static void prepare(struct stand *stand, body_fn *body, int32_t workers)
{
    stand->user = body;
    handle(stand, "work", run_body);
    start(stand, &(struct pawl_node_config){ .workers = workers,
                                             .name = stand == &peer ? "second" : "first" });
}

/* It hears nothing and does nothing more, as if it had been stopped or cut off. */
static void freeze(struct stand *stand)
{
    expect_ok(stand, pawl__store_watch(stand->pawl->store, NULL, NULL, false, &stand->diag));
}

/* What another process's notice is to this one. */
static void hear_another(struct stand *stand)
{
    struct pawl__notice notice = { .foreign = true, .ready = true, .control = true };
    pawl__coordinator_notice(stand->engine, &notice);
}

/* It hears itself alone: what others say is lost. */
static void hear_own(void *ctx, const struct pawl__notice *notice)
{
    if (!notice->foreign) pawl__coordinator_notice(ctx, notice);
}

static void deafen(struct stand *stand)
{
    expect_ok(stand,
              pawl__store_watch(stand->pawl->store, hear_own, stand->engine, false, &stand->diag));
}

static int64_t lease_left(struct stand *stand, struct pawl_job_id id)
{
    struct pawl_jobs jobs = { 0 };
    expect_ok(stand, pawl_get(stand->pawl, id, &jobs, &stand->diag));
    int64_t until_ms = jobs.at[0].lease_until_ms;
    pawl_jobs_release(&jobs);
    return until_ms - now_ms(stand);
}

/* ---- extending ---- */

static void watch_the_lease(struct stand *stand, struct pawl_task *task)
{
    struct pawl_job_id id = pawl_task_job(task)->id;
    int64_t third_ms = STAND_LEASE_MS / 3;
    for (int i = 0; i < 10; i++) {
        live_turning(stand, third_ms - 1);
        assert_i64(2 * third_ms + 1, lease_left(stand, id)); // nothing was written yet
        live_turning(stand, 1);
        assert_i64(STAND_LEASE_MS, lease_left(stand, id));
    }
}

static void lease_is_extended_when_a_third_is_over(struct stand *stand)
{
    prepare(stand, watch_the_lease, 1);
    submit(stand, NULL);
    work_all(stand);
    assert_i64(1, stand->runs);
}

static void live_for_an_hour(struct stand *stand, struct pawl_task *task)
{
    struct pawl_job_id id = pawl_task_job(task)->id;
    int64_t until_ms = now_ms(stand) + 3600000;
    while (now_ms(stand) < until_ms) {
        live_turning(stand, 5000);
        assert_true(lease_left(stand, id) >= STAND_LEASE_MS / 3);
    }
    assert_false(pawl_task_cancelled(task));
}

static void lease_never_ends_while_the_node_lives(struct stand *stand)
{
    prepare(stand, live_for_an_hour, 1);
    struct pawl_job_id id = submit(stand, NULL);
    work_all(stand);
    assert_state(COMPLETED, state_of_job(stand, id));
    assert_i64(1, job_of(stand, id).run);
    assert_i64(0, counters_of(stand).lapsed);
}

/* However long it waits for a worker. */
static void leases_of_waiting_jobs_are_extended_too(struct stand *stand)
{
    prepare(stand, NULL, 2);
    struct pawl_job_id id = submit(stand, NULL);
    turn(stand);
    live_turning(stand, 600000);
    assert_state(ACTIVE, state_of_job(stand, id));
    assert_true(lease_left(stand, id) >= STAND_LEASE_MS / 3);
    work_all(stand);
    assert_state(COMPLETED, state_of_job(stand, id));
    assert_i64(1, job_of(stand, id).run);
}

static void own_leases_are_kept_too(struct stand *stand)
{
    prepare(stand, NULL, 8);
    static const int64_t leases_ms[] = { 1000, 5000, 120000, 1000, 30000 };
    struct pawl_job_id ids[COUNT(leases_ms)];
    for (size_t i = 0; i < COUNT(leases_ms); i++) {
        ids[i] = submit(stand, &(struct pawl_job_spec){ .lease_ms = leases_ms[i] });
    }
    turn(stand);
    for (int64_t ms = 0; ms < 60000; ms += 500) {
        live_turning(stand, 500);
    }
    for (size_t i = 0; i < COUNT(leases_ms); i++) {
        assert_state(ACTIVE, state_of_job(stand, ids[i]));
        int64_t left = lease_left(stand, ids[i]);
        assert_true(left <= leases_ms[i]);
        assert_true(left >= leases_ms[i] / 3);
    }
    assert_i64(5, work_all(stand));
    assert_i64(0, counters_of(stand).lapsed);
}

enum { MANY = 100 };

/* A hundred runs, one inside another, and one operation for their leases. */
static enum pawl_outcome nest(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    (void)task;
    if (++stand->runs < MANY) {
        assert_true(work(stand));
        return PAWL_OUTCOME_DONE;
    }
    assert_i64(MANY, counters_of(stand).running);
    struct pawl__store_counters before, after;
    move_clock(stand, STAND_LEASE_MS / 3);
    pawl__store_counters_get(stand->pawl->store, &before);
    (void)pawl__engine_turn(stand->engine);
    pawl__store_counters_get(stand->pawl->store, &after);
    assert_true(after.rows - before.rows >= MANY);
    assert_true(after.ops - before.ops <= 4); // with the node's heartbeat and the barrier's
    return PAWL_OUTCOME_DONE;
}

static void leases_are_extended_in_one_operation(struct stand *stand)
{
    handle(stand, "work", nest);
    start(stand, &(struct pawl_node_config){ .workers = MANY, .no_upkeep = true });
    struct pawl_job_spec specs[MANY];
    struct pawl_submitted out[MANY];
    for (int i = 0; i < MANY; i++) {
        specs[i] = (struct pawl_job_spec){ .type = "work" };
    }
    expect_ok(stand, pawl_submit_many(stand->pawl, specs, MANY, out, &stand->diag));
    turn(stand);
    assert_true(work(stand));
    assert_i64(MANY, count_in(stand, PAWL_STATE_COMPLETED));
}

/* ---- giving up ---- */

static void stall_until_trust_ends(struct stand *stand, struct pawl_task *task)
{
    move_clock(stand, STAND_LEASE_MS * 9 / 10 - 1);
    assert_false(pawl_task_cancelled(task));
    move_clock(stand, 1);
    turn(stand);
    assert_true(pawl_task_cancelled(task)); // a tenth before anybody else may take it
    assert_state(ACTIVE, state_of_job(stand, pawl_task_job(task)->id));
}

/* It cannot know that its lease was not taken meanwhile, so it stops in time. */
static void stalled_node_gives_its_runs_up_before_the_lease_ends(struct stand *stand)
{
    prepare(stand, stall_until_trust_ends, 1);
    struct pawl_job_id id = submit(stand, NULL);
    turn(stand);
    assert_true(work(stand));
    assert_i64(0, counters_of(stand).completed);
    live(stand, STAND_LEASE_MS);
    struct pawl_job job = job_of(stand, id);
    assert_state(COMPLETED, job.state);
    assert_i64(2, job.run);
    assert_i64(1, counters_of(stand).lapsed);
    assert_true(story_of_job(stand, id)->failures[0].lapsed);
}

static void stalled_node_gives_up_what_waits_too(struct stand *stand)
{
    prepare(stand, NULL, 2);
    struct pawl_job_id ids[2] = { submit(stand, NULL), submit(stand, NULL) };
    turn(stand);
    assert_i64(2, counters_of(stand).waiting);
    move_clock(stand, STAND_LEASE_MS + 1);
    live(stand, STAND_LEASE_MS);
    for (int i = 0; i < 2; i++) {
        assert_state(COMPLETED, state_of_job(stand, ids[i]));
        assert_i64(2, job_of(stand, ids[i]).run); // not the run whose lease was over
    }
    assert_i64(2, stand->runs);
    assert_i64(0, counters_of(stand).waiting);
}

/* It was claimed, but the node slept, or heard of it late: nobody has to wait for the lease's end,
 * and nothing is charged. */
static void goes_back_unharmed(struct stand *stand, struct pawl_job_id id)
{
    struct pawl_job job = job_of(stand, id);
    assert_i64(0, stand->runs);
    assert_i64(1, job.free_runs);
    assert_i64(0, story_of_job(stand, id)->failure_count);
    live(stand, 1000);
    assert_state(COMPLETED, state_of_job(stand, id));
    assert_i64(1, stand->runs);
}

static void what_waited_too_long_goes_back_unharmed(struct stand *stand)
{
    prepare(stand, NULL, 1);
    struct pawl_job_id id = submit(stand, NULL);
    turn(stand);
    move_clock(stand, STAND_LEASE_MS * 9 / 10);
    turn(stand);
    goes_back_unharmed(stand, id);
}

static void what_waited_too_long_is_not_begun(struct stand *stand)
{
    prepare(stand, NULL, 1);
    struct pawl_job_id id = submit(stand, NULL);
    turn(stand);
    move_clock(stand, STAND_LEASE_MS * 9 / 10);
    assert_true(work(stand)); // before the coordinator looks
    settle(stand);
    goes_back_unharmed(stand, id);
}

/* ---- interference by others ---- */

static void be_cancelled_by_another(struct stand *stand, struct pawl_task *task)
{
    struct pawl_job_id id = pawl_task_job(task)->id;
    live_turning(stand, 500);
    expect_ok(&peer, control_job(&peer, id, PAWL_CONTROL_CANCEL));
    hear_another(stand);
    turn(stand);
    assert_true(pawl_task_cancelled(task)); // one turn is enough
}

static void cancel_by_another_process_is_heard_within_a_turn(struct stand *stand)
{
    prepare(stand, be_cancelled_by_another, 1);
    stand_open_peer(&peer, stand);
    struct pawl_job_id id = submit(stand, NULL);
    turn(stand);
    assert_true(work(stand));
    assert_state(CANCELLED, state_of_job(stand, id));
    assert_i64(0, counters_of(stand).completed);
    stand_close(&peer);
}

/* Notices come in swarms; looking for each would cost more than it is worth. */
static void be_looked_after_often(struct stand *stand, struct pawl_task *task)
{
    live_turning(stand, 500);
    struct pawl__store_counters before, after;
    pawl__store_counters_get(stand->pawl->store, &before);
    for (int i = 0; i < 100; i++) {
        hear_another(stand);
        move_clock(stand, 1);
        turn(stand);
    }
    pawl__store_counters_get(stand->pawl->store, &after);
    assert_true(after.rows - before.rows < 100 * 1001); // claims and promotions, bounded
    expect_ok(&peer, control_job(&peer, pawl_task_job(task)->id, PAWL_CONTROL_CANCEL));
    hear_another(stand);
    live_turning(stand, 100);
    assert_true(pawl_task_cancelled(task));
}

static void many_notices_delay_the_look_by_a_tenth_of_a_second(struct stand *stand)
{
    prepare(stand, be_looked_after_often, 1);
    stand_open_peer(&peer, stand);
    submit(stand, NULL);
    turn(stand);
    assert_true(work(stand));
    stand_close(&peer);
}

/* The store is held up for as long as a lease lasts, and others keep calling. */
static void be_called_in_vain(struct stand *stand, struct pawl_task *task)
{
    struct plug plug;
    int64_t asked_most = 0;
    plug_post(stand, &plug);
    plug_wait(&plug);
    for (int i = 0; i < 250; i++) {
        pawl__coordinator_notice(stand->engine, &(struct pawl__notice){ .foreign = true });
        move_clock(stand, 100);
        (void)pawl__coordinator_turn(stand->engine);
        if (stand->engine->asked > asked_most) asked_most = stand->engine->asked;
    }
    plug_pull(&plug);
    settle(stand);
    assert_true(asked_most < 12); // a beat, the sweeps, a claim
    assert_false(pawl_task_cancelled(task));
    turn(stand); // and the next beat is on time
    live_turning(stand, STAND_LEASE_MS);
    assert_false(pawl_task_cancelled(task));
}

static void beats_do_not_pile_up_before_a_slow_store(struct stand *stand)
{
    prepare(stand, be_called_in_vain, 1);
    struct pawl_job_id id = submit(stand, NULL);
    work_all(stand);
    assert_state(COMPLETED, state_of_job(stand, id));
    assert_i64(1, job_of(stand, id).run);
}

static void cancel_of_a_waiting_run_by_another_process_is_heard(struct stand *stand)
{
    prepare(stand, NULL, 2);
    stand_open_peer(&peer, stand);
    struct pawl_job_id a = submit(stand, NULL), b = submit(stand, NULL);
    turn(stand);
    live_turning(stand, 200);
    expect_ok(&peer, control_job(&peer, a, PAWL_CONTROL_CANCEL));
    hear_another(stand);
    turn(stand);
    work_all(stand);
    assert_i64(1, stand->runs);
    assert_state(CANCELLED, state_of_job(stand, a));
    assert_state(COMPLETED, state_of_job(stand, b));
    stand_close(&peer);
}

static void lose_to_another(struct stand *stand, struct pawl_task *task)
{
    struct pawl_upkeep done;
    freeze(stand);
    move_clock(stand, STAND_LEASE_MS + 1);
    expect_ok(&peer, pawl_upkeep_turn(peer.pawl, NULL, &done, &peer.diag));
    assert_i64(1, done.lapsed);
    work_all(&peer);
    assert_i64(1, peer.runs);
    struct pawl_job job = job_of(stand, pawl_task_job(task)->id);
    assert_state(COMPLETED, job.state);
    assert_i64(2, job.run);
    expect_ok(stand, pawl_task_result(task, span_of("\"too late\"")));
}

/* Not a turn was made: the outcome itself is what the store refuses. */
static void outcome_of_a_lost_run_is_refused(struct stand *stand)
{
    prepare(stand, lose_to_another, 1);
    stand_open_peer(&peer, stand);
    prepare(&peer, NULL, 1);
    freeze(&peer);
    struct pawl_job_id id = submit(stand, NULL);
    turn(stand);
    assert_true(work(stand));
    struct pawl_counters counters = counters_of(stand);
    assert_i64(1, counters.stale);
    assert_i64(0, counters.completed);
    assert_i64(1, counters_of(&peer).completed);
    struct pawl_job job = job_of(stand, id);
    assert_text("second", job.worker);
    assert_i64(0, (int64_t)job.result.len);
    stand_close(&peer);
}

static void be_deleted(struct stand *stand, struct pawl_task *task)
{
    struct pawl_job_id id = pawl_task_job(task)->id;
    freeze(stand);
    expect_ok(&peer, control_job(&peer, id, PAWL_CONTROL_CANCEL));
    expect_ok(&peer, pawl_delete(peer.pawl, id, NULL, &peer.diag));
}

static void outcome_of_a_job_that_is_gone_is_refused(struct stand *stand)
{
    prepare(stand, be_deleted, 1);
    stand_open_peer(&peer, stand);
    submit(stand, NULL);
    turn(stand);
    assert_true(work(stand));
    assert_i64(1, counters_of(stand).stale);
    assert_i64(0, counters_of(stand).completed);
    stand_close(&peer);
}

/* ---- taking over ---- */

static void dead_nodes_work_is_taken_up_after_one_lease(struct stand *stand)
{
    prepare(stand, NULL, 4);
    stand_open_peer(&peer, stand);
    peer.user = NULL;
    handle(&peer, "work", run_body);
    struct pawl_job_id ids[3];
    for (int i = 0; i < 3; i++) {
        ids[i] = submit(stand, NULL);
    }
    turn(stand);
    freeze(stand); // dead, with three jobs in its hands
    start(&peer, &(struct pawl_node_config){ .name = "second", .workers = 4 });
    live(&peer, STAND_LEASE_MS - 1);
    assert_i64(0, peer.runs);
    live(&peer, 2);
    assert_i64(3, peer.runs);
    assert_i64(3, counters_of(&peer).lapsed);
    for (int i = 0; i < 3; i++) {
        struct pawl_job job = job_of(&peer, ids[i]);
        assert_state(COMPLETED, job.state);
        assert_i64(2, job.attempt);
        const struct pawl_failure *failure = &story_of_job(&peer, ids[i])->failures[0];
        assert_true(failure->lapsed);
        assert_text("first", failure->worker);
    }
    stand_close(&peer);
}

/* The other one starts before it dies, so nothing tells it: its own look must do. */
static void death_of_a_neighbour_is_noticed_in_time(struct stand *stand)
{
    stand_open_peer(&peer, stand);
    peer.user = NULL;
    handle(&peer, "other", run_body);
    handle(&peer, "work", run_body);
    start(&peer, &(struct pawl_node_config){ .name = "second" });
    deafen(&peer);
    prepare(stand, NULL, 1);
    submit(stand, NULL);
    turn(stand);
    freeze(stand);
    live(&peer, STAND_LEASE_MS + 5000);
    assert_i64(1, peer.runs);
    stand_close(&peer);
}

/* The node is stopped in the middle of it, and comes back after its lease. */
static enum pawl_outcome crash(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    stand->runs++;
    move_clock(stand, STAND_LEASE_MS + 1);
    turn(stand);
    assert_true(pawl_task_cancelled(task));
    return PAWL_OUTCOME_DONE;
}

static void poison_pill_ends_after_three_lapses(struct stand *stand)
{
    handle(stand, "work", crash);
    start(stand, NULL);
    struct pawl_job_id id =
        submit(stand, &(struct pawl_job_spec){ .retry = { .attempts_max = 99 } });
    live(stand, 3600000);
    assert_i64(3, stand->runs);
    struct pawl_job job = job_of(stand, id);
    assert_state(DISCARDED, job.state);
    assert_within("poison", job.reason);
    struct pawl_counters counters = counters_of(stand);
    assert_i64(3, counters.lapsed);
    assert_i64(0, counters.completed);
    assert_i64(0, counters.waiting + counters.running);
    expect_ok(stand, control_job(stand, id, PAWL_CONTROL_RETRY)); // an operator's word starts anew
    live(stand, 3600000);
    assert_i64(6, stand->runs);
    assert_state(DISCARDED, state_of_job(stand, id));
}

static void lapse_charges_an_attempt(struct stand *stand)
{
    handle(stand, "work", crash);
    start(stand, NULL);
    struct pawl_job_id id =
        submit(stand, &(struct pawl_job_spec){ .retry = { .attempts_max = 2 } });
    live(stand, 3600000);
    assert_i64(2, stand->runs);
    struct pawl_job job = job_of(stand, id);
    assert_state(DISCARDED, job.state);
    assert_i64(2, job.attempt);
}

/* ---- the node's own row ---- */

static void node_is_listed_while_it_lives(struct stand *stand)
{
    prepare(stand, NULL, 1);
    submit(stand, NULL);
    live_turning(stand, 65000);
    struct pawl_nodes nodes = { 0 };
    expect_ok(stand, pawl_nodes_get(stand->pawl, &nodes, &stand->diag));
    assert_i64(1, (int64_t)nodes.count);
    assert_text("first", nodes.at[0].name);
    assert_i64(STAND_START_MS, nodes.at[0].started_at_ms);
    assert_true(now_ms(stand) - nodes.at[0].heartbeat_at_ms <= STAND_LEASE_MS * 2 / 3);
    assert_i64(PAWL_NODE_LIVE, nodes.at[0].state);
    assert_i64(1, nodes.at[0].active);
    pawl_nodes_release(&nodes);
    stop(stand);
    expect_ok(stand, pawl_nodes_get(stand->pawl, &nodes, &stand->diag));
    assert_i64(0, (int64_t)nodes.count);
    pawl_nodes_release(&nodes);
}

/* Of one process too. */
static void nodes_without_a_name_are_told_apart(struct stand *stand)
{
    struct pawl_node_config config = { .workers = 1 };
    struct stand *both[] = { stand, &peer };
    stand_open_peer(&peer, stand);
    for (int i = 0; i < 2; i++) {
        handle(both[i], "work", count_run);
        expect_ok(both[i], pawl__engine_start_by_hand(both[i]->engine, &config, &both[i]->diag));
        turn(both[i]);
    }
    struct pawl_nodes nodes = { 0 };
    expect_ok(stand, pawl_nodes_get(stand->pawl, &nodes, &stand->diag));
    assert_i64(2, (int64_t)nodes.count);
    pawl_nodes_release(&nodes);
    stand_close(&peer);
    expect_ok(stand, pawl_nodes_get(stand->pawl, &nodes, &stand->diag));
    assert_i64(1, (int64_t)nodes.count);
    pawl_nodes_release(&nodes);
}

int main(void)
{
    static const struct stand_test tests[] = {
        STAND(lease_is_extended_when_a_third_is_over),
        STAND(lease_never_ends_while_the_node_lives),
        STAND(leases_of_waiting_jobs_are_extended_too),
        STAND(own_leases_are_kept_too),
        STAND(leases_are_extended_in_one_operation),
        STAND(stalled_node_gives_its_runs_up_before_the_lease_ends),
        STAND(stalled_node_gives_up_what_waits_too),
        STAND(what_waited_too_long_goes_back_unharmed),
        STAND(what_waited_too_long_is_not_begun),
        STAND_SHARED(cancel_by_another_process_is_heard_within_a_turn),
        STAND_SHARED(many_notices_delay_the_look_by_a_tenth_of_a_second),
        STAND(beats_do_not_pile_up_before_a_slow_store),
        STAND_SHARED(cancel_of_a_waiting_run_by_another_process_is_heard),
        STAND_SHARED(outcome_of_a_lost_run_is_refused),
        STAND_SHARED(outcome_of_a_job_that_is_gone_is_refused),
        STAND_SHARED(dead_nodes_work_is_taken_up_after_one_lease),
        STAND_SHARED(death_of_a_neighbour_is_noticed_in_time),
        STAND(poison_pill_ends_after_three_lapses),
        STAND(lapse_charges_an_attempt),
        STAND(node_is_listed_while_it_lives),
        STAND_SHARED(nodes_without_a_name_are_told_apart),
    };
    return stand_run("engine_leases", tests, COUNT(tests));
}
