/* Timetables in words. */
#include "schedule/test_kit.h"

struct sample {
    const char *expression, *zone, *words;
};

static const struct sample samples[] = {
    { "0 9 * * 1-5", "Europe/Berlin", "every weekday at 09:00 Europe/Berlin" },
    { "*/5 * * * *", "UTC", "every 5 minutes" },
    { "*/25 * * * *", "UTC", "at minutes 0, 25 and 50 of every hour" },
    { "30 */6 * * *", "UTC", "every day at 00:30, 06:30, 12:30 and 18:30" },
    { "*/10 9-16 * * SAT,SUN", "UTC",
      "every 10 minutes from 09:00 to 16:50 on Saturday and Sunday" },
    { "0 0 13 * FRI", "UTC", "on day 13 of every month and every Friday at 00:00" },
    { "0 0 1,L * *", "UTC", "on day 1 and the last day of every month at 00:00" },
    { "0 0 LW 3 *", "UTC", "on the last weekday of March at 00:00" },
    { "0 9 * * MON#1", "UTC", "on the first Monday of every month at 09:00" },
    { "0 9 * * 5L", "UTC", "on the last Friday of every month at 09:00" },
    { "0 0 0 29 2 ? 2028-2036", "UTC", "on 29 February at 00:00, 2028 to 2036" },
    { "0 0 0 29 2 ? 2028,2032-2036", "Asia/Tokyo",
      "on 29 February at 00:00, 2028 and 2032 to 2036, Asia/Tokyo" },
    { "* * * * *", "UTC", "every minute" },
    { "* * * * * *", "UTC", "every second" },
    { "*/20 * * * * *", "UTC", "every 20 seconds" },
    { "5,10 * * * * *", "UTC", "at seconds 5 and 10 of every minute" },
    { "15 30 * * * *", "UTC", "at second 15 of minute 30 of every hour" },
    { "*/20 30 * * * *", "UTC", "every 20 seconds of minute 30 of every hour" },
    { "@hourly", "UTC", "every hour" },
    { "30 * * * *", "UTC", "at minute 30 of every hour" },
    { "0 */6 * * *", "UTC", "every 6 hours" },
    { "0 */6 * * 1-5", "UTC", "every 6 hours on weekdays" },
    { "0 0,12 * * *", "UTC", "every day at 00:00 and 12:00" },
    { "30 9-17 * * *", "UTC", "every hour from 09:30 to 17:30" },
    { "*/20 2 * * *", "UTC", "every 20 minutes from 02:00 to 02:40" },
    { "*/5 8,12 * * *", "UTC", "every 5 minutes in the hours 8 and 12" },
    { "0 0 10-15,20 * *", "UTC", "on days 10 to 15 and 20 of every month at 00:00" },
    { "0 0 L-3,15W * *", "UTC",
      "on 3 days before the last day and the weekday nearest to day 15 of every month at 00:00" },
    { "0 0 L-1W 1,7 *", "UTC",
      "on the weekday nearest to 1 day before the last day of January and July at 00:00" },
    { "0 0 1 * MON#2,FRI", "UTC",
      "on day 1 and the second Monday of every month and every Friday at 00:00" },
    { "0 12 * 6-8 *", "UTC", "every day in June, July and August at 12:00" },
    { "*/5 * * 3 *", "UTC", "every 5 minutes in March" },
    { "0 8 * JAN SUN", "UTC", "every Sunday in January at 08:00" },
    { "15 0 9 * * *", "UTC", "every day at 09:00:15" },
};

static void expressions_read_well(void **state)
{
    for (size_t i = 0; i < COUNT(samples); i++) {
        struct pawl__timetable table = table_of(samples[i].expression, samples[i].zone);
        struct pawl__buf out = { 0 };
        pawl__timetable_words(&table, &out);
        if (strcmp(out.at, samples[i].words) != 0) {
            fail_msg("%s: \"%s\"", samples[i].expression, out.at);
        }
        pawl__buf_release(&out);
        leave(&table);
    }
}

static void check(const struct pawl__timetable *table, const char *words)
{
    struct pawl__buf out = { 0 };
    pawl__timetable_words(table, &out);
    assert_string_equal(out.at, words);
    pawl__buf_release(&out);
}

static void intervals_and_lists_read_well(void **state)
{
    struct pawl__timetable table = { .anchor_at_ms = Z("2026-01-01T00:00:00Z") };
    assert_int_equal(pawl__cron_parse("@every 90m", 0, &table.cron, NULL, NULL), PAWL_OK);
    check(&table, "every 1 h 30 min from 2026-01-01T00:00:00Z");
    assert_int_equal(pawl__cron_parse("@every 1d1.5s", 0, &table.cron, NULL, NULL), PAWL_OK);
    table.anchor_at_ms += 250;
    check(&table, "every 1 d 1 s 500 ms from 2026-01-01T00:00:00.250Z");
    int64_t at[] = { Z("2026-01-01T00:00:00Z"), Z("2026-02-01T00:00:00Z") };
    struct pawl__timetable list = { .instants = at, .instant_count = 2 };
    check(&list, "at 2 instants from 2026-01-01T00:00:00Z to 2026-02-01T00:00:00Z");
    list.instant_count = 1;
    check(&list, "once at 2026-01-01T00:00:00Z");
    list.instant_count = 0;
    check(&list, "never");
}

static void check_clocks(struct pawl__timetable table, const char *words)
{
    struct pawl__buf out = { 0 };
    pawl__buf_add_text(&out, "");
    pawl__timetable_clock_words(&table, Z("2026-02-01T00:00:00Z"), Z("2027-02-01T00:00:00Z"), &out);
    assert_string_equal(out.at ? out.at : "", words);
    pawl__buf_release(&out);
    leave(&table);
}

static void changes_of_the_clocks_are_told(void **state)
{
    check_clocks(table_of("30 2 * * *", "Europe/Berlin"),
                 "; 2026-03-29: 02:30 does not exist, skipped"
                 "; 2026-10-25: 02:30 comes twice, fires once");
    check_clocks(table_of("*/20 2 * * *", "Europe/Berlin"),
                 "; 2026-03-29: 02:00 and 2 more do not exist, skipped"
                 "; 2026-10-25: 02:00 and 2 more come twice, fire once");
    struct pawl__timetable shifted = table_of("30 2 * * *", "Europe/Berlin");
    shifted.gap = PAWL_GAP_SHIFT;
    check_clocks(shifted, "; 2026-03-29: 02:30 does not exist, fires at 03:00 instead"
                          "; 2026-10-25: 02:30 comes twice, fires once");
    check_clocks(table_of("0 9 * * *", "Europe/Berlin"), "");
    check_clocks(table_of("*/5 * * * *", "Europe/Berlin"), "");
    check_clocks(table_of("@every 1h", "Europe/Berlin"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_read_well),
        cmocka_unit_test(intervals_and_lists_read_well),
        cmocka_unit_test(changes_of_the_clocks_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
