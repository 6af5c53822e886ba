/* Bounds, intervals, lists, what is late, what is lost, and jitter. When expressions fire is shown
 * by the vectors and by tests/schedule/oracle_test.py. */
#include "schedule/test_kit.h"

enum { FIRES_MAX = 16 };

static void instants_lie_from_start_to_before_end(void **state)
{
    struct pawl__timetable table = table_of("0 * * * *", "UTC");
    table.start_at_ms = Z("2026-01-01T10:00:00Z");
    table.end_at_ms = Z("2026-01-01T12:00:00Z");
    assert_at(pawl__timetable_next(&table, Z("2025-01-01T00:00:00Z")), "2026-01-01T10:00:00Z");
    assert_at(pawl__timetable_next(&table, Z("2026-01-01T10:00:00Z")), "2026-01-01T11:00:00Z");
    assert_at(pawl__timetable_next(&table, Z("2026-01-01T11:00:00Z")), "never");
    assert_at(pawl__timetable_next(&table, PAWL__NEVER), "never");
    assert_at(pawl__timetable_previous(&table, Z("2030-01-01T00:00:00Z")), "2026-01-01T11:00:00Z");
    assert_at(pawl__timetable_previous(&table, Z("2026-01-01T11:00:00Z")), "2026-01-01T10:00:00Z");
    assert_at(pawl__timetable_previous(&table, Z("2026-01-01T10:00:00Z")), "never");
    leave(&table);
}

static void intervals_do_not_drift(void **state)
{
    struct pawl__timetable table = { .anchor_at_ms = Z("2026-01-01T00:00:00.250Z") };
    assert_int_equal(pawl__cron_parse("@every 7h", 0, &table.cron, NULL, NULL), PAWL_OK);
    assert_at(pawl__timetable_next(&table, 0), "2026-01-01T00:00:00.250Z");
    assert_at(pawl__timetable_next(&table, Z("2026-01-01T00:00:00.249Z")),
              "2026-01-01T00:00:00.250Z");
    assert_at(pawl__timetable_next(&table, Z("2026-01-01T00:00:00.250Z")),
              "2026-01-01T07:00:00.250Z");
    assert_at(pawl__timetable_previous(&table, Z("2026-01-01T07:00:00.250Z")),
              "2026-01-01T00:00:00.250Z");
    assert_at(pawl__timetable_next(&table, Z("2199-12-31T23:00:00Z")), "never");
    assert_at(pawl__timetable_next(&table, Z("2300-01-01T00:00:00Z")), "never");
    assert_int_equal(pawl__timetable_local_s(&table, 5000), 0);
    assert_int_equal(pawl__timetable_note(&table, table.anchor_at_ms), PAWL_FIRE_PLAIN);
    assert_false(pawl__timetable_lost(&table, 0, Z("2030-01-01T00:00:00Z"), NULL));
}

static void lists_are_sorted_sets(void **state)
{
    int64_t at[] = { 300, 100, 200, 100, 300, 300 };
    size_t count = pawl__instants_sort(at, COUNT(at));
    assert_int_equal(count, 3);
    struct pawl__timetable table = { .instants = at, .instant_count = count, .end_at_ms = 300 };
    assert_int_equal(pawl__timetable_next(&table, 0), 100);
    assert_int_equal(pawl__timetable_next(&table, 100), 200);
    assert_int_equal(pawl__timetable_next(&table, 199), 200);
    assert_true(pawl__timetable_next(&table, 200) == PAWL__NEVER); // 300 is the end
    assert_int_equal(pawl__timetable_previous(&table, 1000), 200);
    struct pawl__passed passed = pawl__timetable_passed(&table, 100, 5000);
    assert_int_equal(passed.count, 2);
    assert_int_equal(passed.first_at_ms, 100);
    assert_int_equal(passed.last_at_ms, 200);
    assert_int_equal(pawl__instants_sort(at, 0), 0);
}

/* ---- late ---- */

struct late_case {
    const char *due, *now;
    int64_t late_max_ms;
    int32_t fires_max;
    int32_t fired, passed; /* expected */
    const char *first_fired, *first_passed, *last_passed;
};

/* For an expression that fires at every full hour. */
static const struct late_case late_cases[] = {
    // One alone fires whatever the policy says.
    { "2026-01-01T10:00:00Z", "2026-01-01T10:59:59.999Z", 0, 0, 1, 0, "2026-01-01T10:00:00Z", "",
      "" },
    // Of two, skip fires none, once the oldest, catch_up as many as it may.
    { "2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z", 0, 0, 0, 2, "", "2026-01-01T10:00:00Z",
      "2026-01-01T11:00:00Z" },
    { "2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z", 0, 1, 1, 1, "2026-01-01T10:00:00Z",
      "2026-01-01T11:00:00Z", "2026-01-01T11:00:00Z" },
    { "2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z", 0, 11, 2, 0, "2026-01-01T10:00:00Z", "", "" },
    { "2026-01-01T10:00:00Z", "2026-01-02T10:30:00Z", 0, 11, 11, 14, "2026-01-01T10:00:00Z",
      "2026-01-01T21:00:00Z", "2026-01-02T10:00:00Z" },
    // A year of hours, counted to a limit of ten thousand only when there are more.
    { "2026-01-01T00:00:00Z", "2026-12-31T23:00:00Z", 0, 0, 0, 8760, "", "2026-01-01T00:00:00Z",
      "2026-12-31T23:00:00Z" },
    { "2026-01-01T00:00:00Z", "2126-12-31T23:00:00Z", 0, 1, 1, PAWL__PASSED_MAX,
      "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z", "2126-12-31T23:00:00Z" },
    // Too late to fire: the alone one, and the first of several.
    { "2026-01-01T10:00:00Z", "2026-01-01T10:30:00Z", 60000, 11, 0, 1, "", "2026-01-01T10:00:00Z",
      "2026-01-01T10:00:00Z" },
    { "2026-01-01T10:00:00Z", "2026-01-01T13:00:00Z", 3600000, 1, 1, 3, "2026-01-01T12:00:00Z",
      "2026-01-01T10:00:00Z", "2026-01-01T13:00:00Z" },
    { "2026-01-01T10:00:00Z", "2026-01-01T13:00:00Z", 3600000, 11, 2, 2, "2026-01-01T12:00:00Z",
      "2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z" },
    // A stored instant that is none any more counts all the same.
    { "2026-01-01T10:17:00Z", "2026-01-01T10:30:00Z", 0, 0, 1, 0, "2026-01-01T10:17:00Z", "", "" },
    { "2026-01-01T10:17:00Z", "2026-01-01T12:30:00Z", 0, 0, 0, 3, "", "2026-01-01T10:17:00Z",
      "2026-01-01T12:00:00Z" },
};

static void late_instants_fire_by_the_policy(void **state)
{
    struct pawl__timetable table = table_of("0 * * * *", "UTC");
    for (size_t i = 0; i < COUNT(late_cases); i++) {
        const struct late_case *c = &late_cases[i];
        int64_t fires[FIRES_MAX] = { 0 };
        struct pawl__late late;
        print_message("case %zu\n", i);
        pawl__timetable_late(&table,
                             &(struct pawl__late_rule){ .due_at_ms = Z(c->due),
                                                        .now_ms = Z(c->now),
                                                        .late_max_ms = c->late_max_ms,
                                                        .fires_max = c->fires_max },
                             fires, &late);
        assert_int_equal(late.fire_count, c->fired);
        assert_int_equal(late.passed.count, c->passed);
        assert_true(late.next_at_ms == pawl__timetable_next(&table, Z(c->now)));
        if (c->fired) assert_at(fires[0], c->first_fired);
        for (int32_t n = 1; n < late.fire_count; n++) {
            assert_true(fires[n] == pawl__timetable_next(&table, fires[n - 1]));
        }
        if (c->passed) {
            assert_at(late.passed.first_at_ms, c->first_passed);
            assert_at(late.passed.last_at_ms, c->last_passed);
        }
    }
    leave(&table);
}

static void passed_instants_are_counted(void **state)
{
    struct pawl__timetable table = table_of("*/7 * * * * *", "Europe/Berlin");
    struct pawl__passed none =
        pawl__timetable_passed(&table, Z("2026-01-01T00:00:01Z"), Z("2026-01-01T00:00:06.999Z"));
    assert_int_equal(none.count, 0);
    assert_int_equal(none.first_at_ms, 0);
    struct pawl__passed one =
        pawl__timetable_passed(&table, Z("2026-01-01T00:00:07Z"), Z("2026-01-01T00:00:07Z"));
    assert_int_equal(one.count, 1);
    assert_true(one.first_at_ms == one.last_at_ms);
    // 0, 7 ... 56: nine a minute; the doubled hour counts twice.
    struct pawl__passed day =
        pawl__timetable_passed(&table, Z("2026-10-24T22:00:00Z"), Z("2026-10-25T15:00:00Z") - 1);
    assert_int_equal(day.count, 17 * 60 * 9);
    leave(&table);
}

/* ---- changes of the clocks ---- */

static void lost_times_are_one_report_for_each_gap(void **state)
{
    struct pawl__timetable table = table_of("*/20 2 * * *", "Europe/Berlin");
    int64_t from = Z("2026-01-01T00:00:00Z"), until = Z("2028-01-01T00:00:00Z");
    struct pawl__lost lost;
    assert_true(pawl__timetable_lost(&table, from, until, &lost));
    assert_at(lost.gap_at_ms, "2026-03-29T01:00:00Z");
    assert_int_equal(lost.count, 3);
    assert_int_equal(lost.first_local_s, Z("2026-03-29T02:00:00Z") / 1000);
    assert_int_equal(lost.last_local_s, Z("2026-03-29T02:40:00Z") / 1000);
    assert_true(pawl__timetable_lost(&table, lost.gap_at_ms, until, &lost));
    assert_at(lost.gap_at_ms, "2027-03-28T01:00:00Z");
    assert_false(pawl__timetable_lost(&table, lost.gap_at_ms, until, &lost));
    // The gap itself is the last instant of the range.
    assert_true(pawl__timetable_lost(&table, from, Z("2026-03-29T01:00:00Z"), &lost));
    assert_false(pawl__timetable_lost(&table, from, Z("2026-03-29T00:59:59.999Z"), &lost));
    // What is made up for is not lost, and a schedule that has ended loses nothing.
    table.gap = PAWL_GAP_SHIFT;
    assert_false(pawl__timetable_lost(&table, from, until, &lost));
    table.gap = PAWL_GAP_SKIP;
    table.end_at_ms = Z("2026-03-01T00:00:00Z");
    assert_false(pawl__timetable_lost(&table, from, until, &lost));
    leave(&table);
}

static void gaps_over_three_hours_are_never_made_up_for(void **state)
{
    struct pawl__timetable table = table_of("0 12 * * *", "Pacific/Apia");
    struct pawl__lost lost;
    table.gap = PAWL_GAP_SHIFT;
    assert_true(
        pawl__timetable_lost(&table, Z("2011-12-01T00:00:00Z"), Z("2012-01-15T00:00:00Z"), &lost));
    assert_at(lost.gap_at_ms, "2011-12-30T10:00:00Z");
    assert_int_equal(lost.count, 1);
    leave(&table);
}

static void notes_tell_what_the_clocks_do(void **state)
{
    struct pawl__timetable daily = table_of("30 2 * * *", "Europe/Berlin");
    struct pawl__timetable hourly = table_of("30 * * * *", "Europe/Berlin");
    daily.gap = PAWL_GAP_SHIFT;
    assert_int_equal(pawl__timetable_note(&daily, Z("2026-03-29T01:00:00Z")), PAWL_FIRE_SHIFTED);
    assert_int_equal(pawl__timetable_note(&daily, Z("2026-03-30T00:30:00Z")), PAWL_FIRE_PLAIN);
    assert_int_equal(pawl__timetable_note(&daily, Z("2026-10-25T00:30:00Z")), PAWL_FIRE_FIRST);
    int64_t first = Z("2026-10-25T00:30:00Z"), second = Z("2026-10-25T01:30:00Z");
    assert_int_equal(pawl__timetable_note(&hourly, first), PAWL_FIRE_TWICE_FIRST);
    assert_int_equal(pawl__timetable_note(&hourly, second), PAWL_FIRE_TWICE_SECOND);
    assert_int_equal(pawl__timetable_note(&hourly, first - 3600000), PAWL_FIRE_PLAIN);
    assert_int_equal(pawl__timetable_note(&hourly, second + 3600000), PAWL_FIRE_PLAIN);
    assert_string_equal(pawl_fire_note_code(PAWL_FIRE_TWICE_SECOND), "twice_second");
    assert_string_equal(pawl_fire_note_code(PAWL_FIRE_NONE), "none");
    leave(&daily);
    leave(&hourly);
}

/* The zone moves from UTC+2 to UTC+1 by an update of its file, between two firings. */
static void a_local_time_fires_once_under_changed_rules(void **state)
{
    struct pawl__timetable before = table_of("0 9 * * *", "Etc/GMT-2");
    struct pawl__timetable after = table_of("0 9 * * *", "Etc/GMT-1");
    int64_t fired = pawl__timetable_next(&before, Z("2026-06-01T00:00:00Z"));
    assert_at(fired, "2026-06-01T07:00:00Z");
    int64_t local = pawl__timetable_local_s(&before, fired);
    assert_int_equal(local, Z("2026-06-01T09:00:00Z") / 1000);
    assert_at(pawl__timetable_renew(&after, fired, local), "2026-06-02T08:00:00Z");
    // Had it not fired, today's would still come; and it may be late.
    int64_t settled = Z("2026-05-31T20:00:00Z");
    assert_at(pawl__timetable_renew(&after, settled, local - 86400), "2026-06-01T08:00:00Z");
    // An expression that names no hour takes no notice.
    struct pawl__timetable hourly = table_of("0 * * * *", "Etc/GMT-1");
    assert_at(pawl__timetable_renew(&hourly, fired, local), "2026-06-01T08:00:00Z");
    leave(&before);
    leave(&after);
    leave(&hourly);
}

/* Within one piece of a zone all local times may have been before, after a change over midnight. */
static void repeats_beyond_a_year_are_not_missed(void **state)
{
    struct pawl__timetable table = table_of("30 * 30 10 *", "Asia/Beirut");
    // On 2027-10-30 clocks go from 24:00 back to 23:00.
    assert_at(pawl__timetable_next(&table, Z("2027-10-30T20:29:59Z")), "2027-10-30T20:30:00Z");
    assert_at(pawl__timetable_next(&table, Z("2027-10-30T20:30:00Z")), "2027-10-30T21:30:00Z");
    assert_at(pawl__timetable_next(&table, Z("2027-10-30T21:30:00Z")), "2028-10-29T22:30:00Z");
    leave(&table);
}

/* ---- jitter ---- */

static void jitter_is_pinned(void **state)
{
    const int64_t at = INT64_C(1767225600000);
    assert_int_equal(pawl__jitter_ms("nightly-report", at, 60000, PAWL__NEVER), 19074);
    assert_int_equal(pawl__jitter_ms("cleanup", at, 60000, PAWL__NEVER), 8518);
    assert_int_equal(pawl__jitter_ms("cleanup", at, 60000, at + 5000), 4999);
    assert_int_equal(pawl__jitter_ms("cleanup", at, 0, PAWL__NEVER), 0);
}

static void jitter_spreads_and_stays_below_its_limit(void **state)
{
    int buckets[10] = { 0 };
    for (int i = 0; i < 10000; i++) {
        int64_t delay = pawl__jitter_ms("x", i * INT64_C(60000), 9999, PAWL__NEVER);
        assert_in_range(delay, 0, 9999);
        buckets[delay / 1000]++;
    }
    for (int i = 0; i < 10; i++) {
        assert_in_range(buckets[i], 850, 1150);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instants_lie_from_start_to_before_end),
        cmocka_unit_test(intervals_do_not_drift),
        cmocka_unit_test(lists_are_sorted_sets),
        cmocka_unit_test(late_instants_fire_by_the_policy),
        cmocka_unit_test(passed_instants_are_counted),
        cmocka_unit_test(lost_times_are_one_report_for_each_gap),
        cmocka_unit_test(gaps_over_three_hours_are_never_made_up_for),
        cmocka_unit_test(notes_tell_what_the_clocks_do),
        cmocka_unit_test(a_local_time_fires_once_under_changed_rules),
        cmocka_unit_test(repeats_beyond_a_year_are_not_missed),
        cmocka_unit_test(jitter_is_pinned),
        cmocka_unit_test(jitter_spreads_and_stays_below_its_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
