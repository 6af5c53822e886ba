/* Tests of the workers: who is heard of, told, forgotten, and what becomes of the jobs of the dead.
 */
#include "http/local/workers.h"
#include "http/local/leases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct pawl__server server;

static int begin(void **state)
{
    (void)state;
    memset(&server, 0, sizeof server);
    assert_int_equal(uv_loop_init(&server.loop), 0);
    server.workers = pawl__workers_new();
    server.leases = pawl__leases_new();
    assert_non_null(server.workers);
    assert_int_equal(
        pawl_open(&(struct pawl_config){ .store = "sqlite::memory:" }, &server.pawl, NULL),
        PAWL_OK);
    return 0;
}

static int end(void **state)
{
    (void)state;
    uv_run(&server.loop, UV_RUN_DEFAULT);
    assert_int_equal(server.working, 0);
    pawl__leases_free(server.leases);
    pawl__workers_free(server.workers);
    pawl_close(server.pawl);
    return uv_loop_close(&server.loop);
}

static void knows_states_by_name(void **state)
{
    (void)state;
    for (enum pawl__worker_state i = 0; i < PAWL__WORKER_STATE_END; i++) {
        assert_int_equal(pawl__worker_state_of(pawl__worker_state_name(i)), i);
    }
    assert_int_equal(pawl__worker_state_of("idle"), PAWL__WORKER_STATE_END);
}

static void gives_jobs_to_running_workers_alone(void **state)
{
    (void)state;
    struct pawl__worker *worker = pawl__workers_heard(&server, "w", 5);
    assert_true(pawl__worker_takes(worker));
    worker->state = PAWL__WORKER_DRAIN;
    assert_false(pawl__worker_takes(worker));
    worker->state = PAWL__WORKER_RUNNING;
    assert_true(pawl__workers_direct(&server, "w", PAWL__WORKER_QUIET));
    assert_false(pawl__worker_takes(worker));
    assert_true(pawl__workers_direct(&server, "w", PAWL__WORKER_RUNNING));
    assert_true(pawl__worker_takes(worker));
}

static void remembers_a_directive_for_one_who_is_to_come(void **state)
{
    (void)state;
    assert_null(pawl__workers_find(server.workers, "w"));
    assert_true(pawl__workers_direct(&server, "w", PAWL__WORKER_TERMINATE));
    assert_int_equal(pawl__workers_heard(&server, "w", 5)->directive, PAWL__WORKER_TERMINATE);
    assert_int_equal(pawl__workers_count(server.workers), 1);
    assert_true(pawl__workers_forget(server.workers, "w"));
    assert_false(pawl__workers_forget(server.workers, "w"));
    assert_int_equal(pawl__workers_count(server.workers), 0);
}

static void lists_the_one_heard_of_last_first(void **state)
{
    (void)state;
    pawl__workers_heard(&server, "a", 1);
    pawl__workers_heard(&server, "b", 2);
    pawl__workers_heard(&server, "a", 3);
    const struct pawl__worker *worker = pawl__workers_next(server.workers, NULL);
    assert_string_equal(worker->id, "a");
    assert_int_equal(worker->first_at_ms, 1);
    assert_int_equal(worker->heard_at_ms, 3);
    worker = pawl__workers_next(server.workers, worker);
    assert_string_equal(worker->id, "b");
    assert_null(pawl__workers_next(server.workers, worker));
}

static void forgets_the_most_silent_beyond_its_bound(void **state)
{
    (void)state;
    char name[16];
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof name, "w%d", i);
        assert_non_null(pawl__workers_heard(&server, name, i + 1));
    }
    pawl__workers_heard(&server, "w0", 20000);
    pawl__workers_heard(&server, "new", 20001);
    assert_int_equal(pawl__workers_count(server.workers), 10000);
    assert_non_null(pawl__workers_find(server.workers, "w0"));
    assert_null(pawl__workers_find(server.workers, "w1"));
    pawl__workers_find(server.workers, "w2")->heard_ms -= 3600000;
    pawl__workers_tick(&server);
    assert_null(pawl__workers_find(server.workers, "w2"));
}

static void directs_by_job_in_test_mode_alone(void **state)
{
    (void)state;
    struct pawl_job_id one = { { 1 } }, two = { { 2 } };
    pawl__workers_directive(&server, one, "quiet");
    assert_int_equal(pawl__workers_directive_of(server.workers, one), PAWL__WORKER_STATE_END);
    server.config.test_mode = true;
    pawl__workers_directive(&server, one, "quiet");
    pawl__workers_directive(&server, two, "dance");
    assert_int_equal(pawl__workers_directive_of(server.workers, one), PAWL__WORKER_QUIET);
    assert_int_equal(pawl__workers_directive_of(server.workers, two), PAWL__WORKER_STATE_END);
    for (int i = 0; i < 5000; i++) { // a ring: the oldest go
        pawl__workers_directive(&server, two, "terminate");
    }
    assert_int_equal(pawl__workers_directive_of(server.workers, one), PAWL__WORKER_STATE_END);
    assert_int_equal(pawl__workers_directive_of(server.workers, two), PAWL__WORKER_TERMINATE);
    pawl__workers_clear(server.workers);
    assert_int_equal(pawl__workers_directive_of(server.workers, two), PAWL__WORKER_STATE_END);
}

/* ---- the dead ---- */

/* A job that `worker` holds, known here. */
static struct pawl_job_id claim(const char *worker)
{
    struct pawl_submitted submitted;
    struct pawl_jobs jobs = { 0 };
    const char *queues[] = { "default" };
    assert_int_equal(
        pawl_submit(server.pawl, &(struct pawl_job_spec){ .type = "t" }, &submitted, NULL),
        PAWL_OK);
    struct pawl_claim wanted = {
        .queues = queues, .queue_count = 1, .worker = worker, .lease_ms = 1800000
    };
    assert_int_equal(pawl_claim(server.pawl, &wanted, &jobs, NULL), PAWL_OK);
    assert_int_equal(jobs.count, 1);
    pawl__leases_put(server.leases, &jobs.at[0], 1800000);
    pawl_jobs_release(&jobs);
    return submitted.id;
}

static enum pawl_state state_of(struct pawl_job_id id)
{
    struct pawl_jobs jobs = { 0 };
    assert_int_equal(pawl_get(server.pawl, id, &jobs, NULL), PAWL_OK);
    enum pawl_state state = jobs.at[0].state;
    pawl_jobs_release(&jobs);
    return state;
}

static void let_time_pass(const char *worker, int64_t ms)
{
    pawl__workers_find(server.workers, worker)->heard_ms -= ms;
    pawl__workers_tick(&server);
    uv_run(&server.loop, UV_RUN_DEFAULT);
}

static void takes_back_the_jobs_of_the_dead(void **state)
{
    (void)state;
    struct pawl_job_id dead = claim("dead"), alive = claim("alive");
    pawl__workers_heard(&server, "dead", 1)->beats = true;
    pawl__workers_heard(&server, "alive", 1)->beats = true;
    let_time_pass("dead", 29000);
    assert_int_equal(state_of(dead), PAWL_STATE_ACTIVE);
    let_time_pass("dead", 1000);
    assert_int_equal(state_of(dead), PAWL_STATE_AVAILABLE);
    assert_int_equal(state_of(alive), PAWL_STATE_ACTIVE);
    struct pawl_story story = { 0 };
    assert_int_equal(pawl_story_get(server.pawl, dead, &story, NULL), PAWL_OK);
    assert_int_equal(story.failure_count, 1);
    assert_string_equal(story.failures[0].type, "worker_death");
    pawl_story_release(&story);
    assert_true(pawl__workers_find(server.workers, "dead")->dead);
    pawl__workers_heard(&server, "dead", 2);
    assert_false(pawl__workers_find(server.workers, "dead")->dead);
}

static void leaves_those_alone_who_never_sent_a_heartbeat(void **state)
{
    (void)state;
    struct pawl_job_id id = claim("w");
    pawl__workers_heard(&server, "w", 1);
    let_time_pass("w", 100000);
    assert_int_equal(state_of(id), PAWL_STATE_ACTIVE);
}

/* It may have gone over to another server of the same store. */
static void leaves_jobs_alone_whose_lease_somebody_else_extended(void **state)
{
    (void)state;
    struct pawl_job_id id = claim("w");
    struct pawl_run run = { id, 1 };
    enum pawl_err result;
    struct pawl_extension extension = { .runs = &run, .count = 1, .lease_ms = 3600000 };
    assert_int_equal(pawl_extend(server.pawl, &extension, &result, NULL), PAWL_OK);
    assert_int_equal(result, PAWL_OK);
    pawl__workers_heard(&server, "w", 1)->beats = true;
    let_time_pass("w", 30000);
    assert_int_equal(state_of(id), PAWL_STATE_ACTIVE);
}

static void pass(int64_t ms)
{
    server.loop.time += (uint64_t)ms;
    pawl__workers_tick(&server);
}

/* It was not the workers that were silent: nobody read what they sent. */
static void counts_no_silence_while_the_server_itself_stood_still(void **state)
{
    (void)state;
    claim("w");
    const struct pawl__worker *worker = pawl__workers_heard(&server, "w", 1);
    pawl__workers_heard(&server, "w", 1)->beats = true;
    pass(500);
    pass(60000);
    assert_false(worker->dead);
    for (int i = 0; i < 59; i++) {
        pass(500);
        assert_false(worker->dead);
    }
    pass(500);
    assert_true(worker->dead);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(knows_states_by_name),
        TEST(gives_jobs_to_running_workers_alone),
        TEST(remembers_a_directive_for_one_who_is_to_come),
        TEST(lists_the_one_heard_of_last_first),
        TEST(forgets_the_most_silent_beyond_its_bound),
        TEST(directs_by_job_in_test_mode_alone),
        TEST(takes_back_the_jobs_of_the_dead),
        TEST(leaves_those_alone_who_never_sent_a_heartbeat),
        TEST(leaves_jobs_alone_whose_lease_somebody_else_extended),
        TEST(counts_no_silence_while_the_server_itself_stood_still),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
