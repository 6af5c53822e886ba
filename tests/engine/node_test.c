/* A node in a cluster: its name, its heartbeats, what other nodes do when it is silent, and what it
 * does when it returns. All of it uses one clock, which the test moves. */
#include "stand.h"

#include <stdio.h>
#include <unistd.h>

static struct stand peer;

static void open_peer(struct stand *stand)
{
    stand_open_peer(&peer, stand);
    handle(&peer, "work", count_run);
}

static enum pawl_err start_as(struct stand *stand, const char *name)
{
    struct pawl_node_config config = { .name = name, .workers = 1 };
    enum pawl_err err = pawl__engine_start_by_hand(stand->engine, &config, &stand->diag);
    if (!err) turn(stand);
    return err;
}

static struct pawl_node_status status_of(struct stand *stand)
{
    struct pawl_node_status status;
    pawl_node_status_get(stand->pawl, &status);
    return status;
}

/* The state of a node's row; NONE: there is none. */
static enum pawl_node_state listed(struct stand *stand, const char *name)
{
    struct pawl_nodes nodes = { 0 };
    enum pawl_node_state state = PAWL_NODE_NONE;
    expect_ok(stand, pawl_nodes_get(stand->pawl, &nodes, &stand->diag));
    for (size_t i = 0; i < nodes.count; i++) {
        if (strcmp(nodes.at[i].name, name) == 0) state = nodes.at[i].state;
    }
    pawl_nodes_release(&nodes);
    return state;
}

/* ---- names ---- */

static void name_of_a_live_node_is_refused(struct stand *stand)
{
    handle(stand, "work", count_run);
    open_peer(stand);
    expect_ok(stand, start_as(stand, "n"));
    expect_err(&peer, PAWL_ERR_HELD, start_as(&peer, "n"));
    assert_text("name", peer.diag.field);
    assert_within("started at 2026-03-31T10:00:05.123Z", peer.diag.text);
    assert_within("\"pid\":", peer.diag.text);
    assert_text("", status_of(&peer).name);
    expect_ok(&peer, start_as(&peer, "m"));
    stop(&peer);
    stop(stand);
    expect_ok(&peer, start_as(&peer, "n")); // who has stopped leaves it free
    stand_close(&peer);
}

/* Two of one host start without settings, and each is called something. */
static void node_without_a_name_takes_the_hosts_or_adds_to_it(struct stand *stand)
{
    char second[64];
    snprintf(second, sizeof second, "pod-7-%ld", (long)getpid());
    setenv("HOSTNAME", "pod-7", 1);
    handle(stand, "work", count_run);
    open_peer(stand);
    expect_ok(stand, start_as(stand, NULL));
    expect_ok(&peer, start_as(&peer, NULL));
    unsetenv("HOSTNAME");
    assert_text("pod-7", status_of(stand).name);
    assert_text(second, status_of(&peer).name);
    assert_i64(PAWL_NODE_LIVE, listed(stand, "pod-7"));
    assert_i64(PAWL_NODE_LIVE, listed(stand, second));
    stand_close(&peer);
    assert_i64(PAWL_NODE_NONE, listed(stand, second));
}

static void name_of_a_dead_node_is_taken_over_with_its_work(struct stand *stand)
{
    handle(stand, "work", count_run);
    open_peer(stand);
    expect_ok(stand, start_as(stand, "n"));
    struct pawl_job_id id = submit(stand, &(struct pawl_job_spec){ .lease_ms = 3600000 });
    turn(stand); // claimed; then it stands still
    assert_state(ACTIVE, state_of_job(stand, id));
    move_clock(stand, STAND_LEASE_MS);
    expect_ok(&peer, start_as(&peer, "n"));
    work_all(&peer);
    assert_i64(1, peer.runs); // nothing had to lapse first
    assert_state(COMPLETED, state_of_job(stand, id));

    turn(stand); // the older one wakes
    struct pawl_node_status status = status_of(stand);
    assert_true(status.fenced);
    assert_i64(PAWL_NODE_STALE, status.state);
    assert_within("\"n\" is alive", status.reason);
    submit(stand, NULL);
    live(stand, 60000);
    assert_i64(0, stand->runs); // and takes nothing more
    stop(stand);
    turn(&peer);
    assert_i64(PAWL_NODE_LIVE, listed(&peer, "n")); // nor takes the name with it
    assert_i64(1, work_all(&peer));
    stand_close(&peer);
}

/* ---- silence ---- */

/* Jobs that brought leases of hours, and locks: one lease after its last word, not later. */
static void work_of_a_silent_node_is_taken_within_one_lease(struct stand *stand)
{
    handle(stand, "work", count_run);
    open_peer(stand);
    expect_ok(stand, start_as(stand, "silent"));
    struct pawl_job_id id = submit(stand, &(struct pawl_job_spec){ .lease_ms = 3600000 });
    turn(stand);
    assert_state(ACTIVE, state_of_job(stand, id));
    expect_ok(&peer, start_as(&peer, "other")); // after the claim, or it would be the quicker one
    expect_ok(stand, pawl_lock_try(stand->pawl, "l", "silent", 3600000, NULL, &stand->diag));
    live(&peer, STAND_LEASE_MS - 1);
    assert_i64(0, peer.runs);
    assert_i64(PAWL_NODE_LIVE, listed(&peer, "silent"));
    live(&peer, 2);
    assert_i64(PAWL_NODE_STALE, listed(&peer, "silent"));
    assert_i64(1, peer.runs);
    assert_state(COMPLETED, state_of_job(&peer, id));
    assert_i64(2, job_of(&peer, id).attempt); // the crash was charged
    expect_ok(&peer, pawl_lock_try(peer.pawl, "l", "other", 1000, NULL, &peer.diag));
    stand_close(&peer);
}

static void node_that_was_given_up_begins_anew(struct stand *stand)
{
    handle(stand, "work", count_run);
    open_peer(stand);
    expect_ok(stand, start_as(stand, "sleeper"));
    struct pawl_job_id id = submit(stand, &(struct pawl_job_spec){ .lease_ms = 3600000 });
    turn(stand); // claimed, not run
    expect_ok(&peer, start_as(&peer, "other"));
    live(&peer, STAND_LEASE_MS + 1000);
    assert_i64(1, peer.runs);
    assert_i64(1, stand->engine->waiting);
    assert_i64(PAWL_NODE_STALE, status_of(stand).state); // it knows by its own clock
    turn(stand);
    assert_false(work(stand)); // what it had is lost
    assert_i64(0, stand->runs);
    assert_i64(1, counters_of(stand).rejoined);
    assert_i64(PAWL_NODE_LIVE, status_of(stand).state);
    assert_i64(PAWL_NODE_LIVE, listed(&peer, "sleeper"));
    assert_i64(1, job_of(stand, id).run - 1);
    stop(&peer);
    submit(stand, NULL);
    work_all(stand);
    assert_i64(1, stand->runs);
    stand_close(&peer);
}

/* What holds its name is a try of its own to begin anew, whose answer was lost. */
static void node_does_not_give_way_to_itself(struct stand *stand)
{
    int64_t started = 0;
    const struct pawl__op lost = { .kind = PAWL__OP_NODE_JOIN, .err = PAWL_ERR_IO };
    const struct pawl_node row = { .name = "n", .info = "{\"lease_ms\":30000}" };
    handle(stand, "work", count_run);
    open_peer(stand);
    expect_ok(stand, start_as(stand, "n"));
    expect_ok(&peer, start_as(&peer, "other"));
    live(&peer, STAND_LEASE_MS + 1000);
    expect_ok(&peer, pawl_node_join(peer.pawl, &row, &started, &peer.diag));
    int64_t now_us = pawl__engine_now_us(stand->engine);
    pawl__lock(&stand->engine->mutex);
    (void)pawl__node_answered(stand->engine, &lost, now_us, now_us);
    pawl__unlock(&stand->engine->mutex);
    turn(stand);
    assert_false(status_of(stand).fenced);
    assert_i64(PAWL_NODE_STALE, status_of(stand).state);
    assert_i64(0, counters_of(stand).rejoined);
    live(stand, STAND_LEASE_MS * 6 / 5);
    assert_i64(PAWL_NODE_LIVE, status_of(stand).state);
    assert_i64(1, counters_of(stand).rejoined);
    stand_close(&peer);
}

/* Before it has spoken again it does not claim: who was given up would be thought dead with it. */
static void node_that_stood_still_speaks_before_it_claims(struct stand *stand)
{
    handle(stand, "work", count_run);
    expect_ok(stand, start_as(stand, "n"));
    move_clock(stand, STAND_LEASE_MS);
    int64_t before = counters_of(stand).claimed;
    submit(stand, NULL);
    settle(stand); // the commit's notice came, and would have claimed
    assert_i64(before, counters_of(stand).claimed);
    turn(stand);
    assert_i64(before + 1, counters_of(stand).claimed);
    assert_i64(0, counters_of(stand).rejoined); // nobody had noticed
}

static enum pawl_outcome stand_still(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    move_clock(stand, STAND_LEASE_MS * 9 / 10 - 1);
    assert_false(pawl_task_cancelled(task));
    move_clock(stand, 1);
    turn(stand);
    assert_true(pawl_task_cancelled(task));
    stand->runs++;
    return PAWL_OUTCOME_DONE;
}

/* However long the job's own lease is: after the node's, others may run it. */
static void run_is_given_up_when_the_node_may_be_thought_dead(struct stand *stand)
{
    handle(stand, "work", stand_still);
    expect_ok(stand, start_as(stand, "n"));
    struct pawl_job_id id = submit(stand, &(struct pawl_job_spec){ .lease_ms = 3600000 });
    turn(stand);
    assert_true(work(stand));
    assert_i64(0, counters_of(stand).completed);
    assert_state(ACTIVE, state_of_job(stand, id)); // until somebody takes it
}

/* ---- heartbeats ---- */

static int64_t beats_in(struct stand *stand, const char *name, int64_t ms)
{
    struct pawl_nodes nodes = { 0 };
    int64_t count = 0, last_ms = 0;
    int64_t until_ms = now_ms(stand) + ms;
    while (now_ms(stand) < until_ms) {
        live(stand, 500);
        expect_ok(stand, pawl_nodes_get(stand->pawl, &nodes, &stand->diag));
        for (size_t i = 0; i < nodes.count; i++) {
            if (strcmp(nodes.at[i].name, name) != 0) continue;
            count += nodes.at[i].heartbeat_at_ms != last_ms;
            last_ms = nodes.at[i].heartbeat_at_ms;
        }
        pawl_nodes_release(&nodes);
    }
    return count;
}

static void heartbeats_come_as_often_as_the_cluster_needs(struct stand *stand)
{
    handle(stand, "work", count_run);
    expect_ok(stand, start_as(stand, "n"));
    int64_t alone = beats_in(stand, "n", 180000);
    assert_in_range(alone, 10, 11); // every 18 s
    for (int i = 0; i < 6; i++) {
        char name[16];
        snprintf(name, sizeof name, "other-%d", i);
        struct pawl_node node = { .name = name,
                                  .started_at_ms = 1,
                                  .info = "{\"lease_ms\":9999999}" };
        expect_ok(stand, pawl_node_put(stand->pawl, &node, NULL, &stand->diag));
    }
    (void)beats_in(stand, "n", 20000);
    int64_t many = beats_in(stand, "n", 180000);
    assert_in_range(many, 25, 26); // every 7.2 s
}

int main(void)
{
    static const struct stand_test tests[] = {
        STAND_SHARED(name_of_a_live_node_is_refused),
        STAND_SHARED(node_without_a_name_takes_the_hosts_or_adds_to_it),
        STAND_SHARED(name_of_a_dead_node_is_taken_over_with_its_work),
        STAND_SHARED(work_of_a_silent_node_is_taken_within_one_lease),
        STAND_SHARED(node_that_was_given_up_begins_anew),
        STAND_SHARED(node_does_not_give_way_to_itself),
        STAND(node_that_stood_still_speaks_before_it_claims),
        STAND(run_is_given_up_when_the_node_may_be_thought_dead),
        STAND(heartbeats_come_as_often_as_the_cluster_needs),
    };
    return stand_run("node", tests, COUNT(tests));
}
