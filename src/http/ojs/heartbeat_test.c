/* What replies say of a worker. */
#include "http/ojs/ojs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct pawl__server server;

static int begin(void **state)
{
    (void)state;
    assert_int_equal(uv_loop_init(&server.loop), 0);
    server.workers = pawl__workers_new();
    assert_non_null(server.workers);
    return 0;
}

static int end(void **state)
{
    (void)state;
    pawl__workers_free(server.workers);
    return uv_loop_close(&server.loop);
}

static void prints_what_is_known_of_a_worker(void **state)
{
    (void)state;
    struct pawl__buf out = { 0 };
    struct pawl__worker *worker = pawl__workers_heard(&server, "w\"1", 0);
    worker->active = 3;
    pawl__worker_set_info(worker, strdup(",\"pid\":7"));
    pawl__worker_set_info(worker, strdup(",\"pid\":8"));
    pawl__worker_print(&out, worker);
    assert_string_equal(out.at, "{\"id\":\"w\\\"1\",\"worker_id\":\"w\\\"1\",\"state\":\"running\","
                                "\"directive\":\"running\",\"active_jobs\":3,\"pid\":8}");
    pawl__buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_what_is_known_of_a_worker),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
