/* Tests of fetches whose client goes away at the worst moment: what was claimed for it comes back,
 * and costs no attempt. The requests have no connection; the server, its loop and its store are
 * real. */
#include "http/local/local.h"
#include "http/ojs/ojs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct world {
    struct pawl *pawl;
    struct pawl__server *server;
    struct pawl_job_id id; /* a job that is available */
};

/* Requests only ask whether there is one. */
static char somebody;

static int begin(void **state)
{
    static struct world world;
    struct pawl_submitted submitted;
    struct pawl_config store = { .store = "sqlite::memory:" };
    assert_int_equal(pawl_open(&store, &world.pawl, NULL), PAWL_OK);
    struct pawl__http_config config = { .pawl = world.pawl, .listen = "127.0.0.1:0" };
    assert_int_equal(pawl__http_open(&config, &world.server, NULL), PAWL_OK);
    assert_int_equal(
        pawl_submit(world.pawl, &(struct pawl_job_spec){ .type = "t" }, &submitted, NULL), PAWL_OK);
    world.id = submitted.id;
    *state = &world;
    return 0;
}

static int end(void **state)
{
    struct world *world = *state;
    pawl__http_close(world->server);
    pawl_close(world->pawl);
    return 0;
}

/* Has been answered when it is gone: that frees it. */
static struct pawl__request *new_fetch(struct world *world)
{
    static const char body[] = "{\"queues\":[\"default\"],\"worker_id\":\"w\"}";
    struct pawl__request *request = calloc(1, sizeof *request);
    assert_non_null(request);
    request->server = world->server;
    request->conn = (struct pawl__conn *)&somebody;
    request->method = "POST";
    request->path = "/ojs/v1/workers/fetch";
    request->query = "";
    request->body = (struct pawl_span){ body, sizeof body - 1 };
    return request;
}

static void run_until_idle(struct world *world)
{
    while (world->server->working) {
        uv_run(&world->server->loop, UV_RUN_ONCE);
    }
}

static struct pawl_jobs look(struct world *world)
{
    struct pawl_jobs jobs = { 0 };
    assert_int_equal(pawl_get(world->pawl, world->id, &jobs, NULL), PAWL_OK);
    return jobs;
}

static void assert_given_back(struct world *world, int64_t runs)
{
    struct pawl_jobs jobs = look(world);
    assert_int_equal(jobs.at[0].state, PAWL_STATE_AVAILABLE);
    assert_int_equal(jobs.at[0].run, runs);
    assert_int_equal(jobs.at[0].free_runs, runs); // none was charged
    pawl_jobs_release(&jobs);
    assert_null(pawl__leases_find(world->server->leases, world->id));
}

static void claims_nothing_for_a_client_that_is_gone(void **state)
{
    struct world *world = *state;
    struct pawl__request *request = new_fetch(world);
    request->conn = NULL;
    pawl__on_fetch(request);
    run_until_idle(world);
    assert_given_back(world, 0);
}

static void gives_back_when_the_client_goes_during_the_claim(void **state)
{
    struct world *world = *state;
    struct pawl__request *request = new_fetch(world);
    pawl__on_fetch(request);
    assert_int_equal(world->server->working, 1);
    request->conn = NULL;
    run_until_idle(world);
    assert_given_back(world, 1);
}

/* A job with a past is read on the pool: time enough to go away. */
static void gives_back_when_the_client_goes_during_the_reading(void **state)
{
    struct world *world = *state;
    pawl__leases_mark(world->server->leases, world->id);
    struct pawl__request *request = new_fetch(world);
    pawl__on_fetch(request);
    while (!pawl__leases_find(world->server->leases, world->id)) {
        uv_run(&world->server->loop, UV_RUN_ONCE);
    }
    assert_int_equal(world->server->working, 1); // the background task
    request->conn = NULL;
    run_until_idle(world);
    assert_given_back(world, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(claims_nothing_for_a_client_that_is_gone),
        TEST(gives_back_when_the_client_goes_during_the_claim),
        TEST(gives_back_when_the_client_goes_during_the_reading),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
