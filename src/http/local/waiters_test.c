/* Tests of waiting fetches: who asks when, in which order, and how often. Requests are as bare as
 * the lines need them; asking and giving up are noted instead of done. */
#include "http/local/waiters.h"
#include "http/local/rates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { FETCHES = 1000 };

struct fetch {
    struct pawl__waiter waiter; /* first */
    struct pawl__request request;
    int asks, gave_up;
};

struct world {
    struct pawl__server server;
    struct fetch fetches[FETCHES];
    size_t asked[4 * FETCHES]; /* who, in order */
    size_t asked_count;
};

static struct world world;

static struct fetch *fetch_of(struct pawl__request *request)
{
    return request->state;
}

static void note_ask(struct pawl__request *request)
{
    struct fetch *fetch = fetch_of(request);
    fetch->asks++;
    world.asked[world.asked_count++] = (size_t)(fetch - world.fetches);
}

static void note_end(struct pawl__request *request)
{
    fetch_of(request)->gave_up++;
}

static int begin(void **state)
{
    (void)state;
    memset(&world, 0, sizeof world);
    assert_int_equal(uv_loop_init(&world.server.loop), 0);
    world.server.rates = pawl__rates_new();
    assert_int_equal(pawl__waiters_new(&world.server, NULL), PAWL_OK);
    for (size_t i = 0; i < FETCHES; i++) {
        struct fetch *fetch = &world.fetches[i];
        fetch->request.server = &world.server;
        fetch->request.conn = (struct pawl__conn *)fetch; // somebody is there
        fetch->request.state = fetch;
        fetch->waiter = (struct pawl__waiter){ .request = &fetch->request,
                                               .until_ms = INT64_MAX / 2,
                                               .ask = note_ask,
                                               .give_up = note_end };
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (size_t i = 0; i < FETCHES; i++) {
        pawl__waiters_leave(&world.server, &world.fetches[i].waiter);
    }
    pawl__waiters_free(&world.server);
    pawl__rates_free(world.server.rates);
    uv_run(&world.server.loop, UV_RUN_DEFAULT);
    return uv_loop_close(&world.server.loop);
}

/* It asked and got nothing, as all do before they wait. */
static void join(size_t i, const char *queues)
{
    uint64_t now = pawl__waiters_count(world.server.waiters);
    assert_true(pawl__waiters_join(&world.server, &world.fetches[i].waiter, queues, now));
}

static void answer(size_t i, bool found)
{
    pawl__waiters_answered(&world.server, &world.fetches[i].waiter, found);
}

static void asks_once_for_a_thousand_who_wait(void **state)
{
    (void)state;
    for (size_t i = 0; i < FETCHES; i++) {
        join(i, "mail ");
    }
    assert_int_equal(world.asked_count, 0);
    pawl__waiters_wake(&world.server);
    assert_int_equal(world.asked_count, 1);
    assert_int_equal(world.asked[0], 0);
    answer(0, false);
    assert_int_equal(world.asked_count, 1);
    assert_true(pawl__waiters_has_line(world.server.waiters, "mail "));
    assert_false(pawl__waiters_has_line(world.server.waiters, "other "));
    pawl__waiters_wake(&world.server);
    assert_int_equal(world.asked_count, 2);
    assert_int_equal(world.asked[1], 0); // still the first
    answer(0, false);
}

static void lets_more_ask_as_long_as_there_is_something(void **state)
{
    (void)state;
    for (size_t i = 0; i < FETCHES; i++) {
        join(i, "mail ");
    }
    pawl__waiters_wake(&world.server);
    size_t answered = 0;
    while (answered < FETCHES) {
        size_t asking = world.asked_count - answered;
        assert_in_range(asking, 1, 64);
        assert_int_equal(world.asked[answered], answered); // in order of arrival
        answer(answered++, true);
    }
    assert_int_equal(world.asked_count, FETCHES);
    for (size_t i = 0; i < FETCHES; i++) {
        assert_int_equal(world.fetches[i].asks, 1);
        assert_null(world.fetches[i].waiter.line);
    }
}

static void stops_at_the_first_who_gets_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < 10; i++) {
        join(i, "mail ");
    }
    pawl__waiters_wake(&world.server);
    answer(0, true);
    assert_int_equal(world.asked_count, 3);
    answer(1, false);
    answer(2, false);
    assert_int_equal(world.asked_count, 3);
    pawl__waiters_wake(&world.server);
    assert_int_equal(world.asked[3], 1); // who got nothing did not lose his place
    answer(1, false);
}

/* A job that came between the claim and its answer must not be slept over. */
static void asks_again_when_woken_while_asking(void **state)
{
    (void)state;
    join(0, "mail ");
    pawl__waiters_wake(&world.server);
    assert_int_equal(world.asked_count, 1);
    pawl__waiters_wake(&world.server);
    assert_int_equal(world.asked_count, 1); // one claim at a time
    answer(0, false);
    assert_int_equal(world.asked_count, 2);
    answer(0, false);
    assert_int_equal(world.asked_count, 2);
}

static void asks_at_once_when_woken_before_he_joined(void **state)
{
    (void)state;
    uint64_t before = pawl__waiters_count(world.server.waiters);
    pawl__waiters_wake(&world.server);
    assert_true(pawl__waiters_join(&world.server, &world.fetches[0].waiter, "mail ", before));
    assert_int_equal(world.asked_count, 1);
    answer(0, false);
    assert_int_equal(world.asked_count, 1);
}

/* Also while those in front of him are asking: what there is, is theirs. */
static void who_comes_later_waits_for_his_turn(void **state)
{
    (void)state;
    join(0, "mail ");
    join(1, "mail ");
    pawl__waiters_wake(&world.server);
    assert_int_equal(world.asked_count, 1);
    assert_true(pawl__waiters_has_line(world.server.waiters, "mail "));
    assert_true(
        pawl__waiters_join(&world.server, &world.fetches[2].waiter, "mail ", PAWL__WAITERS_NEVER));
    assert_int_equal(world.asked_count, 1);
    answer(0, true);
    assert_int_equal(world.asked_count, 3);
    assert_int_equal(world.asked[1], 1);
    assert_int_equal(world.asked[2], 2);
    assert_true(pawl__waiters_join(&world.server, &world.fetches[3].waiter, "mail ",
                                   PAWL__WAITERS_NEVER)); // does not mean that there is nothing
    answer(1, true);
    assert_int_equal(world.asked_count, 4);
    answer(2, false);
    answer(3, false);
}

/* Others hold what there is, for a moment. Only that line asks again, and less and less often. */
static void asks_again_in_a_moment_when_more_may_be_there(void **state)
{
    (void)state;
    world.fetches[0].waiter.more = true; // it had asked before it joined
    join(0, "mail ");
    join(1, "sms ");
    int64_t began_ms = pawl__server_now(&world.server);
    for (size_t asked = 1; asked <= 3; asked++) {
        while (world.asked_count < asked) {
            uv_run(&world.server.loop, UV_RUN_ONCE);
        }
        assert_int_equal(world.asked[asked - 1], 0);
        answer(0, false);
        assert_int_equal(world.asked_count, asked); // not at once
    }
    assert_true(pawl__server_now(&world.server) - began_ms >= 10 + 20 + 40);
    pawl__waiters_wake(&world.server); // a wake-up is not put off
    assert_int_equal(world.asked_count, 5);
    world.fetches[0].waiter.more = false;
    answer(0, false);
    answer(1, false);
    uv_run(&world.server.loop, UV_RUN_NOWAIT);
    assert_int_equal(world.asked_count, 5);
}

/* Also one that was about to be given up: it is asked before. */
static void asks_again_before_it_gives_up(void **state)
{
    (void)state;
    world.fetches[0].waiter.more = true;
    world.fetches[0].waiter.until_ms = pawl__server_now(&world.server) + 10;
    join(0, "mail ");
    while (!world.asked_count) {
        uv_run(&world.server.loop, UV_RUN_ONCE);
    }
    assert_int_equal(world.fetches[0].gave_up, 0);
    answer(0, true);
    assert_int_equal(world.fetches[0].gave_up, 0);
}

static void keeps_lines_of_different_queues_apart(void **state)
{
    (void)state;
    join(0, "mail ");
    join(1, "sms ");
    join(2, "mail sms ");
    pawl__waiters_wake(&world.server);
    assert_int_equal(world.asked_count, 3);
    answer(1, true);
    assert_int_equal(world.asked_count, 3);
    answer(0, false);
    answer(2, false);
}

static void forgets_who_goes_away(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        join(i, "mail ");
    }
    world.fetches[0].request.abandon(&world.fetches[0].request);
    world.fetches[2].request.abandon(&world.fetches[2].request);
    pawl__waiters_wake(&world.server);
    assert_int_equal(world.asked_count, 1);
    assert_int_equal(world.asked[0], 1);
    assert_null(world.fetches[1].request.abandon); // its claim is under way
    world.fetches[1].request.conn = NULL;
    answer(1, false);
    assert_int_equal(world.fetches[1].gave_up, 1);
    pawl__waiters_wake(&world.server);
    assert_int_equal(world.asked_count, 1);
}

static void gives_up_those_whose_time_is_over(void **state)
{
    (void)state;
    int64_t now_ms = pawl__server_now(&world.server);
    for (size_t i = 0; i < 4; i++) {
        world.fetches[i].waiter.until_ms = now_ms + (i < 2 ? 1 : 100000);
        join(i, i % 2 ? "mail " : "sms ");
    }
    while (!world.fetches[0].gave_up || !world.fetches[1].gave_up) {
        uv_run(&world.server.loop, UV_RUN_ONCE);
    }
    assert_int_equal(world.fetches[2].gave_up, 0);
    assert_non_null(world.fetches[2].waiter.line);
    assert_null(world.fetches[0].waiter.line);
    assert_int_equal(world.asked_count, 0);
}

static void answers_everybody_when_the_server_stops(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        join(i, "mail ");
    }
    pawl__waiters_wake(&world.server);
    pawl__waiters_drain(&world.server);
    assert_int_equal(world.fetches[0].gave_up, 0); // it hears when its claim is answered
    assert_int_equal(world.fetches[1].gave_up, 1);
    assert_int_equal(world.fetches[2].gave_up, 1);
    answer(0, false);
    assert_int_equal(world.fetches[0].gave_up, 1);
    assert_int_equal(world.asked_count, 1);
}

static void wakes_by_itself_when_rates_are_limited(void **state)
{
    (void)state;
    join(0, "mail ");
    pawl__waiters_wake(&world.server);
    answer(0, false);
    pawl__waiters_tick(&world.server);
    assert_int_equal(world.asked_count, 1); // not yet time for that
    pawl__rates_set(world.server.rates, "mail", &(struct pawl__rate){ 1, 1000 }, 1);
    pawl__waiters_tick(&world.server);
    assert_int_equal(world.asked_count, 2);
    answer(0, false);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(asks_once_for_a_thousand_who_wait),
        TEST(lets_more_ask_as_long_as_there_is_something),
        TEST(stops_at_the_first_who_gets_nothing),
        TEST(asks_again_when_woken_while_asking),
        TEST(asks_at_once_when_woken_before_he_joined),
        TEST(who_comes_later_waits_for_his_turn),
        TEST(asks_again_in_a_moment_when_more_may_be_there),
        TEST(asks_again_before_it_gives_up),
        TEST(keeps_lines_of_different_queues_apart),
        TEST(forgets_who_goes_away),
        TEST(gives_up_those_whose_time_is_over),
        TEST(answers_everybody_when_the_server_stops),
        TEST(wakes_by_itself_when_rates_are_limited),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
