/* Schedules on nodes: instants are fired in time, once, and as local clocks change. */
#include "engine/stand.h"

#include <string.h>

#define SECOND_MS INT64_C(1000)
#define HOUR_MS INT64_C(3600000)

static void go_to(struct stand *stand, int64_t at_ms)
{
    stand_step_wall(stand, at_ms - now_ms(stand));
    turn(stand);
}

static void put(struct stand *stand, const char *name, const char *expression, enum pawl_gap gap)
{
    const struct pawl_schedule_spec spec = {
        .name = name,
        .recurrence = { .expression = expression, .zone = "Europe/Berlin", .gap = gap },
        .job = { .type = "work" },
        .overlap = PAWL_OVERLAP_ALLOW,
    };
    expect_ok(stand, pawl_schedule_put(stand->pawl, &spec, NULL, NULL, &stand->diag));
}

static int64_t runs_of(struct stand *stand, const char *name)
{
    struct pawl_schedules found = { 0 };
    expect_ok(stand, pawl_schedule_get(stand->pawl, name, &found, &stand->diag));
    int64_t runs = found.at->runs;
    pawl_schedules_release(&found);
    return runs;
}

static void instants_are_fired_when_they_come(struct stand *stand)
{
    handle(stand, "work", count_run);
    start(stand, NULL);
    live(stand, 3 * SECOND_MS);
    put(stand, "s", "@every 10s", PAWL_GAP_SKIP);
    live(stand, 9 * SECOND_MS);
    assert_i64(0, stand->runs);
    live(stand, SECOND_MS + 1);
    assert_i64(1, stand->runs);
    live(stand, 50 * SECOND_MS);
    assert_i64(6, stand->runs);
    expect_ok(stand, pawl_schedule_pause(stand->pawl, "s", NULL, NULL, &stand->diag));
    live(stand, 30 * SECOND_MS);
    assert_i64(6, stand->runs);
    expect_ok(stand, pawl_schedule_resume(stand->pawl, "s", NULL, NULL, &stand->diag));
    live(stand, 10 * SECOND_MS + 1);
    assert_i64(7, stand->runs);
}

/* 2026-10-25 in Berlin: 02:00 to 03:00 comes twice. */
static void hour_that_comes_twice_fires_fixed_times_once(struct stand *stand)
{
    handle(stand, "work", count_run);
    start(stand, NULL);
    go_to(stand, INT64_C(1792882800000)); // 2026-10-24T23:00:00Z, 01:00 there
    put(stand, "daily", "30 2 * * *", PAWL_GAP_SKIP);
    put(stand, "always", "*/15 * * * *", PAWL_GAP_SKIP);
    live(stand, 3 * HOUR_MS + 1);
    assert_i64(1, runs_of(stand, "daily"));
    assert_i64(12, runs_of(stand, "always"));
    assert_i64(13, stand->runs);
}

/* 2027-03-28 in Berlin: 02:00 to 03:00 does not exist. */
static void hour_that_is_lost_is_skipped_or_shifted(struct stand *stand)
{
    handle(stand, "work", count_run);
    start(stand, NULL);
    go_to(stand, INT64_C(1806188400000)); // 2027-03-27T23:00:00Z, 00:00 there
    put(stand, "skipped", "30 2 * * *", PAWL_GAP_SKIP);
    put(stand, "shifted", "30 2 * * *", PAWL_GAP_SHIFT);
    put(stand, "always", "*/15 * * * *", PAWL_GAP_SKIP);
    live(stand, 3 * HOUR_MS + 1);
    assert_i64(0, runs_of(stand, "skipped"));
    assert_i64(1, runs_of(stand, "shifted"));
    assert_i64(12, runs_of(stand, "always"));
}

static void two_nodes_fire_each_instant_once(struct stand *stand)
{
    struct stand peer;
    stand_open_peer(&peer, stand);
    struct stand *both[] = { stand, &peer };
    for (int i = 0; i < 2; i++) {
        handle(both[i], "work", count_run);
        start(both[i], &(struct pawl_node_config){ .name = i ? "two" : "one", .workers = 1 });
    }
    put(stand, "s", "* * * * * *", PAWL_GAP_SKIP);
    for (int second = 0; second < 60; second++) {
        move_clock(stand, SECOND_MS);
        for (int i = 0; i < 2; i++) {
            (void)work_all(both[(second + i) % 2]);
        }
    }
    (void)work_all(stand);
    assert_i64(60, runs_of(stand, "s"));
    assert_i64(60, stand->runs + peer.runs);
    stop(&peer);
    stand_close(&peer);
}

int main(void)
{
    static const struct stand_test tests[] = {
        STAND(instants_are_fired_when_they_come),
        STAND(hour_that_comes_twice_fires_fixed_times_once),
        STAND(hour_that_is_lost_is_skipped_or_shifted),
        STAND_SHARED(two_nodes_fire_each_instant_once),
    };
    return stand_run("engine_cron", tests, sizeof tests / sizeof *tests);
}
