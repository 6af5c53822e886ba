/* A node for external workers: it claims nothing, runs sweeps, and notifies its watcher when there
 * may be jobs. */
#include "engine/stand.h"

#include <pthread.h>
#include <sched.h>

static struct stand peer; // another process, for the tests that need one

static const struct pawl_node_config upkeep_alone = { .workers = -1 };

/* ---- a watcher ---- */

static struct {
    struct pawl__mutex mutex;
    struct pawl__cond change;
    /* guarded by mutex: */
    int64_t own, foreign;
    bool slow, ending, inside;
    void *ctx;
} eye;

static void look(void *ctx, bool foreign)
{
    pawl__lock(&eye.mutex);
    eye.inside = true;
    eye.ctx = ctx;
    pawl__cond_broadcast(&eye.change);
    bool slow = eye.slow;
    while (eye.slow && !eye.ending) {
        pawl__cond_wait(&eye.change, &eye.mutex);
    }
    pawl__unlock(&eye.mutex);
    for (int i = 0; slow && i < 1000; i++) {
        sched_yield(); // gives who does not wait for us every chance to be too early
    }
    pawl__lock(&eye.mutex);
    eye.own += !foreign;
    eye.foreign += foreign;
    eye.inside = false;
    pawl__cond_broadcast(&eye.change);
    pawl__unlock(&eye.mutex);
}

static void watch(struct stand *stand, pawl_ready_fn *fn, void *ctx)
{
    expect_ok(stand, pawl_watch(stand->pawl, fn, ctx, &stand->diag));
}

static void begin_watching(struct stand *stand)
{
    static bool ready;
    if (!ready) {
        pawl__mutex_init(&eye.mutex);
        pawl__cond_init(&eye.change);
        ready = true;
    }
    eye.own = eye.foreign = 0;
    eye.slow = eye.ending = eye.inside = false;
    eye.ctx = NULL;
    watch(stand, look, stand);
}

/* How often it was told of our own commits since it was last asked. */
static int64_t told(struct stand *stand)
{
    settle(stand);
    settle(stand); // notices come after the answers
    pawl__lock(&eye.mutex);
    int64_t own = eye.own;
    eye.own = 0;
    pawl__unlock(&eye.mutex);
    return own;
}

/* ---- a worker elsewhere ---- */

static const char *const default_queue[] = { "default" };

static struct pawl_claim usual_claim(int64_t lease_ms)
{
    return (struct pawl_claim){ .queues = default_queue,
                                .queue_count = 1,
                                .worker = "far-1",
                                .lease_ms = lease_ms,
                                .limit = 100 };
}

/* The only job there is. */
static struct pawl_run claim_run(struct stand *stand, struct pawl_claim claim)
{
    struct pawl_jobs jobs = { .at = NULL };
    expect_ok(stand, pawl_claim(stand->pawl, &claim, &jobs, &stand->diag));
    assert_int_equal(1, jobs.count);
    struct pawl_run run = { jobs.at[0].id, jobs.at[0].run };
    pawl_jobs_release(&jobs);
    return run;
}

/* ---- a node without workers ---- */

static void node_without_workers_claims_nothing(struct stand *stand)
{
    handle(stand, "work", count_run);
    start(stand, &upkeep_alone);
    struct pawl_job_id id = submit(stand, NULL);
    live(stand, 120000);
    assert_i64(0, stand->runs);
    assert_state(AVAILABLE, state_of_job(stand, id));
    struct pawl_counters counters = counters_of(stand);
    assert_i64(0, counters.claimed + counters.claims_empty + counters.claims_full);
    struct pawl_run run = claim_run(stand, usual_claim(0));
    assert_i64(1, run.run);
    expect_ok(stand, pawl_complete(stand->pawl, &run, (struct pawl_span){ 0 }, &stand->diag));
    assert_i64(0, stop(stand));
}

static void node_without_workers_does_the_upkeep(struct stand *stand)
{
    start(stand, &(struct pawl_node_config){
                     .workers = -1,
                     .name = "keeper",
                     .retention = { .archive_after_ms = 60000, .purge_after_ms = 120000 } });
    struct pawl_nodes nodes = { .at = NULL };
    expect_ok(stand, pawl_nodes_get(stand->pawl, &nodes, &stand->diag));
    assert_int_equal(1, nodes.count);
    assert_text("keeper", nodes.at[0].name);
    pawl_nodes_release(&nodes);
    struct pawl_job_id due = submit(stand, &(struct pawl_job_spec){ .delay_ms = 1234 });
    live(stand, 1233);
    assert_state(SCHEDULED, state_of_job(stand, due));
    live(stand, 1);
    assert_state(AVAILABLE, state_of_job(stand, due));
    struct pawl_run run = claim_run(stand, usual_claim(0));
    expect_ok(stand, pawl_complete(stand->pawl, &run, (struct pawl_span){ 0 }, &stand->diag));
    live(stand, 91000);
    assert_true(job_of(stand, due).archived);
    live(stand, 62000);
    assert_state(NONE, state_of_job(stand, due));
}

static void number_of_workers_keeps_its_rule(struct stand *stand)
{
    static const int32_t bad[] = { -2, INT32_MIN, PAWL__WORKERS_MAX + 1 };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct pawl_node_config config = { .workers = bad[i] };
        expect_err(stand, PAWL_ERR_ARG, pawl_start(stand->pawl, &config, &stand->diag));
        assert_text("workers", stand->diag.field);
    }
}

/* With threads of its own, of which it has but the coordinator's. */
static void node_without_workers_starts_and_stops(struct stand *stand)
{
    for (int i = 0; i < 3; i++) {
        expect_ok(stand, pawl_start(stand->pawl, &upkeep_alone, &stand->diag));
        assert_int_equal(0, stand->engine->thread_count);
        submit(stand, NULL);
        assert_i64(0, stop(stand));
    }
    assert_i64(3, count_in(stand, PAWL_STATE_AVAILABLE));
}

/* ---- who is told ---- */

static void watcher_is_told_when_there_may_be_more(struct stand *stand)
{
    begin_watching(stand); // before the node starts, or later: both will do
    start(stand, &upkeep_alone);
    told(stand);
    submit(stand, NULL);
    assert_true(told(stand) > 0);
    assert_ptr_equal(stand, eye.ctx);
    submit(stand, &(struct pawl_job_spec){ .delay_ms = 5000 });
    assert_i64(0, told(stand)); // not yet
    live(stand, 5000);
    assert_true(told(stand) > 0);

    struct pawl_claim claim = usual_claim(1000);
    claim.limit = 1;
    struct pawl_run run = claim_run(stand, claim);
    assert_i64(0, told(stand)); // there is less than before
    live(stand, 1000);
    assert_true(told(stand) > 0); // the lease ran out
    run = claim_run(stand, claim);
    told(stand);
    expect_ok(stand, pawl_give_back(stand->pawl, &run, 0, &stand->diag));
    assert_true(told(stand) > 0);
    run = claim_run(stand, claim);
    struct pawl_report gone = { .lapse = true };
    expect_ok(stand, pawl_fail(stand->pawl, &run, &gone, NULL, &stand->diag));
    assert_true(told(stand) > 0);
    assert_i64(0, eye.foreign);
    watch(stand, NULL, NULL);
}

static void watcher_that_was_ended_hears_nothing_more(struct stand *stand)
{
    start(stand, &upkeep_alone);
    begin_watching(stand);
    submit(stand, NULL);
    assert_true(told(stand) > 0);
    watch(stand, NULL, NULL);
    watch(stand, NULL, NULL); // again is fine
    submit(stand, NULL);
    assert_i64(0, told(stand));
    watch(stand, look, &peer); // and may come back, as another
    submit(stand, NULL);
    assert_true(told(stand) > 0);
    assert_ptr_equal(&peer, eye.ctx);
    stop(stand);
    told(stand);
    submit(stand, NULL);
    assert_i64(0, told(stand)); // no node runs
} // and it is closed with the watcher in place

static void *submit_elsewhere(void *arg)
{
    struct stand *stand = arg;
    struct pawl_submitted out;
    return pawl_submit(stand->pawl, &(struct pawl_job_spec){ .type = "work" }, &out, NULL) ? arg
                                                                                           : NULL;
}

static void ending_waits_for_a_call_under_way(struct stand *stand)
{
    start(stand, &upkeep_alone);
    begin_watching(stand);
    eye.slow = true;
    pthread_t thread;
    void *failed = NULL;
    assert_int_equal(0, pthread_create(&thread, NULL, submit_elsewhere, stand));
    pawl__lock(&eye.mutex);
    while (!eye.inside) {
        pawl__cond_wait(&eye.change, &eye.mutex);
    }
    eye.ending = true;
    pawl__cond_broadcast(&eye.change);
    pawl__unlock(&eye.mutex);
    watch(stand, NULL, NULL);
    pawl__lock(&eye.mutex);
    bool inside = eye.inside;
    pawl__unlock(&eye.mutex);
    pthread_join(thread, &failed);
    assert_null(failed);
    assert_false(inside);
}

/* What arrives from another process, as the store tells it. */
static void watcher_is_told_of_foreign_commits(struct stand *stand)
{
    struct pawl__notice notice = { .foreign = true };
    start(stand, &upkeep_alone);
    begin_watching(stand);
    pawl__coordinator_notice(stand->engine, &notice);
    assert_i64(1, eye.foreign);
    assert_i64(0, eye.own);
    notice = (struct pawl__notice){ .control = true };
    pawl__coordinator_notice(stand->engine, &notice); // nothing more to claim
    assert_i64(0, eye.own);
    watch(stand, NULL, NULL);
}

/* A notice may be lost, so the other one goes on until it was heard. */
static void commits_of_another_store_reach_the_watcher(struct stand *stand)
{
    start(stand, &upkeep_alone);
    begin_watching(stand);
    stand_open_peer(&peer, stand);
    int64_t foreign = 0;
    for (int i = 0; i < 50 && !foreign; i++) {
        submit(&peer, NULL);
        pawl__lock(&eye.mutex);
        while (!eye.foreign && pawl__cond_wait_us(&eye.change, &eye.mutex, 200000)) {
        }
        foreign = eye.foreign;
        pawl__unlock(&eye.mutex);
    }
    watch(stand, NULL, NULL);
    stand_close(&peer);
    assert_true(foreign > 0);
}

/* Beside a listener, each with its own. */
static void count_moves(void *ctx, const struct pawl_moved *moved)
{
    (void)moved;
    atomic_fetch_add((atomic_int *)ctx, 1);
}

static void listener_and_watcher_stand_side_by_side(struct stand *stand)
{
    atomic_int moves = 0;
    start(stand, &upkeep_alone);
    begin_watching(stand);
    expect_ok(stand, pawl_listen(stand->pawl, count_moves, &moves, &stand->diag));
    submit(stand, NULL);
    assert_true(told(stand) > 0);
    expect_ok(stand, pawl_listen(stand->pawl, NULL, NULL, &stand->diag));
    assert_int_equal(1, moves);
    submit(stand, NULL);
    assert_true(told(stand) > 0);
    watch(stand, NULL, NULL);
}

/* ---- a watcher that posts ---- */

static struct {
    struct pawl__mutex mutex;
    struct pawl__cond change;
    /* guarded by mutex: */
    int64_t under_way, claimed;
} desk;

static void take(struct pawl_answer *taken_answer)
{
    pawl__lock(&desk.mutex);
    desk.under_way--;
    desk.claimed += (int64_t)taken_answer->job_count;
    pawl__cond_broadcast(&desk.change);
    pawl__unlock(&desk.mutex);
    pawl_answer_free(taken_answer);
}

static void claim_at_once(void *ctx, bool foreign)
{
    static const struct pawl_claim claim = {
        .queues = default_queue, .queue_count = 1, .worker = "far-1", .limit = 100
    };
    struct stand *stand = ctx;
    (void)foreign;
    pawl__lock(&desk.mutex);
    desk.under_way++;
    pawl__unlock(&desk.mutex);
    if (pawl_post_claim(stand->pawl, &claim, take, NULL, NULL)) abort();
}

static void watcher_may_post_claims(struct stand *stand)
{
    enum { JOBS = 20 };
    pawl__mutex_init(&desk.mutex);
    pawl__cond_init(&desk.change);
    desk.under_way = desk.claimed = 0;
    start(stand, &upkeep_alone);
    watch(stand, claim_at_once, stand);
    for (int i = 0; i < JOBS; i++) {
        submit(stand, NULL);
    }
    pawl__lock(&desk.mutex);
    while (desk.claimed < JOBS) {
        pawl__cond_wait(&desk.change, &desk.mutex);
    }
    pawl__unlock(&desk.mutex);
    watch(stand, NULL, NULL);
    pawl__lock(&desk.mutex);
    while (desk.under_way) {
        pawl__cond_wait(&desk.change, &desk.mutex);
    }
    pawl__unlock(&desk.mutex);
    assert_i64(JOBS, count_in(stand, PAWL_STATE_ACTIVE));
    pawl__cond_release(&desk.change);
    pawl__mutex_release(&desk.mutex);
}

static void watcher_is_told_of_posted_calls_too(struct stand *stand)
{
    static const struct pawl_job_spec spec = { .type = "work" };
    start(stand, &upkeep_alone);
    begin_watching(stand);
    pawl__mutex_init(&desk.mutex);
    pawl__cond_init(&desk.change);
    desk.under_way = 1;
    desk.claimed = 0;
    expect_ok(stand, pawl_post_submit(stand->pawl, &spec, 1, take, NULL, &stand->diag));
    pawl__lock(&desk.mutex);
    while (desk.under_way) {
        pawl__cond_wait(&desk.change, &desk.mutex);
    }
    pawl__unlock(&desk.mutex);
    assert_true(told(stand) > 0);
    watch(stand, NULL, NULL);
    pawl__cond_release(&desk.change);
    pawl__mutex_release(&desk.mutex);
}

/* ---- in time ---- */

/* The node itself would look every five seconds. */
static void lease_of_a_worker_elsewhere_lapses_at_its_instant(struct stand *stand)
{
    start(stand, &upkeep_alone);
    live(stand, 100);
    struct pawl_job_id id = submit(stand, NULL);
    claim_run(stand, usual_claim(321));
    live(stand, 320);
    assert_state(ACTIVE, state_of_job(stand, id));
    live(stand, 1);
    assert_state(AVAILABLE, state_of_job(stand, id));
    assert_i64(1, counters_of(stand).lapsed);
}

static void timed_run_fails_at_its_instant(struct stand *stand)
{
    start(stand, &upkeep_alone);
    live(stand, 100);
    struct pawl_job_id id = submit(stand, &(struct pawl_job_spec){ .timeout_ms = 1750 });
    struct pawl_claim claim = usual_claim(0);
    claim.timed = true;
    claim_run(stand, claim);
    live(stand, 1749);
    assert_state(ACTIVE, state_of_job(stand, id));
    live(stand, 1);
    assert_state(RETRYABLE, state_of_job(stand, id));
    const struct pawl_story *story = story_of_job(stand, id);
    assert_text("timeout", story->failures[0].type);
    assert_i64(now_ms(stand), story->failures[0].failed_at_ms);
    live(stand, 1000);
    assert_state(AVAILABLE, state_of_job(stand, id)); // its retry was not late either
}

/* The first to end counts, wherever in the claim it stands. */
static void shortest_lease_of_a_posted_claim_counts(struct stand *stand)
{
    static const int64_t leases[] = { 2000, 300, 4000 };
    struct pawl_job_id ids[COUNT(leases)];
    begin_watching(stand);
    start(stand, &upkeep_alone);
    live(stand, 100);
    for (size_t i = 0; i < COUNT(leases); i++) {
        ids[i] = submit(stand, &(struct pawl_job_spec){ .lease_ms = leases[i] });
    }
    pawl__mutex_init(&desk.mutex);
    pawl__cond_init(&desk.change);
    desk.under_way = desk.claimed = 0;
    claim_at_once(stand, false);
    pawl__lock(&desk.mutex);
    while (desk.under_way) {
        pawl__cond_wait(&desk.change, &desk.mutex);
    }
    pawl__unlock(&desk.mutex);
    assert_i64(3, desk.claimed);
    watch(stand, NULL, NULL);
    int64_t lived = 0;
    static const size_t order[] = { 1, 0, 2 };
    for (size_t i = 0; i < COUNT(order); i++) {
        int64_t at = leases[order[i]];
        live(stand, at - lived - 1);
        assert_state(ACTIVE, state_of_job(stand, ids[order[i]]));
        live(stand, 1);
        assert_state(AVAILABLE, state_of_job(stand, ids[order[i]]));
        lived = at;
    }
    pawl__cond_release(&desk.change);
    pawl__mutex_release(&desk.mutex);
}

static void time_to_live_ends_at_its_instant(struct stand *stand)
{
    start(stand, &upkeep_alone);
    live(stand, 100);
    struct pawl_job_id in = submit(stand, &(struct pawl_job_spec){ .expires_in_ms = 333 });
    struct pawl_job_id at =
        submit(stand, &(struct pawl_job_spec){ .expires_at_ms = now_ms(stand) + 777 });
    struct pawl_job_id later =
        submit(stand, &(struct pawl_job_spec){ .delay_ms = 1000, .expires_in_ms = 234 });
    struct pawl_job_id due = submit(
        stand, &(struct pawl_job_spec){ .due_at_ms = now_ms(stand) + 2000, .expires_in_ms = 34 });
    const struct {
        struct pawl_job_id id;
        int64_t at_ms;
    } rows[] = { { in, 333 }, { at, 777 }, { later, 1234 }, { due, 2034 } };
    int64_t lived = 0;
    for (size_t i = 0; i < COUNT(rows); i++) {
        live(stand, rows[i].at_ms - lived - 1);
        assert_state(AVAILABLE, state_of_job(stand, rows[i].id));
        live(stand, 1);
        assert_state(EXPIRED, state_of_job(stand, rows[i].id));
        lived = rows[i].at_ms;
    }
}

static void shortest_life_of_a_batch_counts(struct stand *stand)
{
    start(stand, &upkeep_alone);
    live(stand, 100);
    struct pawl_job_spec specs[] = { { .type = "work" },
                                     { .type = "work", .expires_in_ms = 4000 },
                                     { .type = "work", .expires_in_ms = 250 },
                                     { .type = "work", .expires_in_ms = 2000 } };
    struct pawl_submitted out[COUNT(specs)];
    expect_ok(stand, pawl_submit_many(stand->pawl, specs, COUNT(specs), out, &stand->diag));
    live(stand, 249);
    assert_state(AVAILABLE, state_of_job(stand, out[2].id));
    live(stand, 1);
    assert_state(EXPIRED, state_of_job(stand, out[2].id));
    assert_state(AVAILABLE, state_of_job(stand, out[3].id));
    live(stand, 1750);
    assert_state(EXPIRED, state_of_job(stand, out[3].id));
    live(stand, 2000);
    assert_state(EXPIRED, state_of_job(stand, out[1].id));
    assert_state(AVAILABLE, state_of_job(stand, out[0].id));
}

/* Claimed before there was a node; the lease ends before it starts, or after. */
static void node_looks_after_what_was_claimed_before_it_came(struct stand *stand)
{
    submit(stand, &(struct pawl_job_spec){ .expires_in_ms = 100000 });
    struct pawl_run run = claim_run(stand, usual_claim(500));
    move_clock(stand, 499);
    start(stand, &upkeep_alone);
    assert_state(ACTIVE, state_of_job(stand, run.id));
    live(stand, 1);
    assert_state(AVAILABLE, state_of_job(stand, run.id));
}

/* What is expected while a sweep is under way is done after it: the coordinator sleeps meanwhile.
 */
static void expectation_during_a_sweep_waits_for_it(struct stand *stand)
{
    start(stand, &upkeep_alone);
    live(stand, 100);
    struct plug plug;
    plug_post(stand, &plug);
    plug_wait(&plug);
    move_clock(stand, 10000); // all sweeps are due
    (void)pawl__coordinator_turn(stand->engine);
    pawl__engine_expect_lapse(stand->engine, now_ms(stand), now_ms(stand));
    pawl__engine_expect_expiry(stand->engine, now_ms(stand) - 5, now_ms(stand));
    int64_t next_us = pawl__coordinator_turn(stand->engine);
    int64_t now_us = pawl__engine_now_us(stand->engine);
    plug_pull(&plug);
    settle(stand);
    assert_true(next_us > now_us);
    assert_true(pawl__coordinator_next(stand->engine) <= now_us); // now it is their turn
    turn(stand);
}

int main(void)
{
    static const struct stand_test tests[] = {
        STAND(node_without_workers_claims_nothing),
        STAND(node_without_workers_does_the_upkeep),
        STAND(number_of_workers_keeps_its_rule),
        STAND(node_without_workers_starts_and_stops),
        STAND(watcher_is_told_when_there_may_be_more),
        STAND(watcher_is_told_of_posted_calls_too),
        STAND(watcher_that_was_ended_hears_nothing_more),
        STAND(ending_waits_for_a_call_under_way),
        STAND(watcher_is_told_of_foreign_commits),
        STAND_SHARED(commits_of_another_store_reach_the_watcher),
        STAND(listener_and_watcher_stand_side_by_side),
        STAND(watcher_may_post_claims),
        STAND(lease_of_a_worker_elsewhere_lapses_at_its_instant),
        STAND(timed_run_fails_at_its_instant),
        STAND(shortest_lease_of_a_posted_claim_counts),
        STAND(time_to_live_ends_at_its_instant),
        STAND(shortest_life_of_a_batch_counts),
        STAND(node_looks_after_what_was_claimed_before_it_came),
        STAND(expectation_during_a_sweep_waits_for_it),
    };
    return stand_run("engine_remote", tests, COUNT(tests));
}
