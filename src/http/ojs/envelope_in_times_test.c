/* Envelopes: when a job runs, and until when. */
#include "http/ojs/envelope_test_kit.h"

static void schedules_are_instants_or_relative_to_now(void **state)
{
    static const struct {
        const char *members;
        int64_t due_at_ms;
        const char *extra;
    } cases[] = {
        { "\"scheduled_at\":\"+PT2S\"", NOW_MS + 2000,
          "{\"scheduled_at\":\"2026-09-21T14:13:22.000Z\"}" },
        { "\"delay_until\":\"+PT0.5S\"", NOW_MS + 500,
          "{\"delay_until\":\"2026-09-21T14:13:20.500Z\"}" },
        { "\"delay_until\":\"PT10M\"", NOW_MS + 600000,
          "{\"delay_until\":\"2026-09-21T14:23:20.000Z\"}" },
        { "\"scheduled_at\":\"2026-09-21T14:13:21Z\"", NOW_MS + 1000,
          "{\"scheduled_at\":\"2026-09-21T14:13:21Z\"}" },
        { "\"scheduled_at\":\"2020-01-01T00:00:00Z\"", 0,
          "{\"scheduled_at\":\"2020-01-01T00:00:00Z\"}" },
        { "\"scheduled_at\":\"1950-01-01T00:00:00Z\"", 0,
          "{\"scheduled_at\":\"1950-01-01T00:00:00Z\"}" },
        { "\"scheduled_at\":\"+PT5S\",\"options\":{\"delay_until\":\"+PT7S\"}", NOW_MS + 7000,
          "{\"scheduled_at\":\"2026-09-21T14:13:25.000Z\","
          "\"delay_until\":\"2026-09-21T14:13:27.000Z\"}" },
        { "\"delay_until\":\"+PT5S\",\"scheduled_at\":\"+PT7S\"", NOW_MS + 7000,
          "{\"scheduled_at\":\"2026-09-21T14:13:27.000Z\","
          "\"delay_until\":\"2026-09-21T14:13:25.000Z\"}" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct intake intake;
        char text[256];
        snprintf(text, sizeof text, "{\"type\":\"a\",\"args\":[],%s}", cases[i].members);
        const struct pawl_job_spec *spec = intake_spec(&intake, text);
        assert_int_equal(spec->due_at_ms, cases[i].due_at_ms);
        assert_span(spec->extra, cases[i].extra);
        intake_release(&intake);
    }
}

static void a_job_expires_at_the_soonest_of_its_limits(void **state)
{
    static const struct {
        const char *members;
        int64_t expires_at_ms;
        const char *extra;
    } cases[] = {
        { "\"expires_at\":\"+PT9S\"", NOW_MS + 9000, "" },
        { "\"expires_at\":\"2026-09-21T16:13:29+02:00\"", NOW_MS + 9000,
          "{\"expires_at\":\"2026-09-21T16:13:29+02:00\"}" },
        { "\"expires_at\":\"1960-01-01T00:00:00Z\"", 1,
          "{\"expires_at\":\"1960-01-01T00:00:00Z\"}" },
        { "\"enqueue_ttl\":5", NOW_MS + 5000, "{\"enqueue_ttl\":5}" },
        { "\"enqueue_ttl\":5,\"expires_at\":\"+PT9S\"", NOW_MS + 5000, "{\"enqueue_ttl\":5}" },
        { "\"enqueue_ttl\":50,\"expires_at\":\"+PT9S\"", NOW_MS + 9000, "{\"enqueue_ttl\":50}" },
        { "\"total_timeout\":7", NOW_MS + 7000, "{\"total_timeout\":7}" },
        { "\"total_timeout\":7,\"enqueue_ttl\":5", NOW_MS + 5000,
          "{\"enqueue_ttl\":5,\"total_timeout\":7}" },
        { "\"enqueue_ttl\":5,\"scheduled_at\":\"+PT1M\"", NOW_MS + 65000,
          "{\"scheduled_at\":\"2026-09-21T14:14:20.000Z\",\"enqueue_ttl\":5}" },
        { "\"enqueue_ttl\":3155760000,\"scheduled_at\":\"9999-12-31T23:59:59Z\"",
          INT64_C(253402300799999),
          "{\"scheduled_at\":\"9999-12-31T23:59:59Z\",\"enqueue_ttl\":3155760000}" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct intake intake;
        char text[256];
        snprintf(text, sizeof text, "{\"type\":\"a\",\"args\":[],%s}", cases[i].members);
        const struct pawl_job_spec *spec = intake_spec(&intake, text);
        assert_int_equal(spec->expires_at_ms, cases[i].expires_at_ms);
        assert_span(spec->extra, cases[i].extra);
        intake_release(&intake);
    }
}

static void limits_are_converted_and_kept_only_where_printing_differs(void **state)
{
    static const struct {
        const char *members;
        int64_t timeout_ms, lease_ms, keep_ms;
        const char *extra;
    } cases[] = {
        { "\"x\":1", PAWL__OJS_TIMEOUT_MS, 0, 0, "{\"x\":1}" },
        { "\"timeout_ms\":60000", 60000, 0, 0, "" },
        { "\"timeout_ms\":6e4", 60000, 0, 0, "{\"timeout_ms\":6e4}" },
        { "\"timeout_ms\":0", 0, 0, 0, "{\"timeout_ms\":0}" },
        { "\"timeout_ms\":1800000", 1800000, 0, 0, "{\"timeout_ms\":1800000}" },
        { "\"timeout\":60", 60000, 0, 0, "{\"timeout\":60}" },
        { "\"timeout\":60,\"timeout_ms\":5", 5, 0, 0, "{\"timeout\":60}" },
        { "\"timeout_ms\":5,\"grace_period\":2", 2005, 0, 0,
          "{\"grace_period\":2,\"timeout_ms\":5}" },
        { "\"grace_period\":2", PAWL__OJS_TIMEOUT_MS + 2000, 0, 0, "{\"grace_period\":2}" },
        { "\"timeout\":0,\"grace_period\":2", 0, 0, 0, "{\"timeout\":0,\"grace_period\":2}" },
        { "\"total_timeout\":5", 5000, 0, 0, "{\"total_timeout\":5}" },
        { "\"total_timeout\":5,\"timeout\":5", 5000, 0, 0, "{\"timeout\":5,\"total_timeout\":5}" },
        { "\"heartbeat_timeout\":5", PAWL__OJS_TIMEOUT_MS, 0, 0, "{\"heartbeat_timeout\":5}" },
        { "\"visibility_timeout_ms\":500", PAWL__OJS_TIMEOUT_MS, 500, 0, "" },
        { "\"visibility_timeout_ms\":604800000", PAWL__OJS_TIMEOUT_MS, 604800000, 0, "" },
        { "\"visibility_timeout_ms\":500.0", PAWL__OJS_TIMEOUT_MS, 500, 0,
          "{\"visibility_timeout_ms\":500.0}" },
        { "\"visibility_timeout\":5", PAWL__OJS_TIMEOUT_MS, 5000, 0, "{\"visibility_timeout\":5}" },
        { "\"result_ttl\":5", PAWL__OJS_TIMEOUT_MS, 0, 5000, "{\"result_ttl\":5}" },
        { "\"result_ttl\":0", PAWL__OJS_TIMEOUT_MS, 0, 0, "{\"result_ttl\":0}" },
        { "\"result_ttl\":-1", PAWL__OJS_TIMEOUT_MS, 0, INT64_C(3155760000000),
          "{\"result_ttl\":-1}" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct intake intake;
        char text[256];
        snprintf(text, sizeof text, "{\"type\":\"a\",\"args\":[],%s}", cases[i].members);
        const struct pawl_job_spec *spec = intake_spec(&intake, text);
        assert_int_equal(spec->timeout_ms, cases[i].timeout_ms);
        assert_int_equal(spec->lease_ms, cases[i].lease_ms);
        assert_int_equal(spec->keep_ms, cases[i].keep_ms);
        assert_span(spec->extra, cases[i].extra);
        intake_release(&intake);
    }
}

static void a_delay_counts_from_now(void **state)
{
    static const struct {
        const char *member;
        int64_t due_ms; /* 0: at once */
    } cases[] = {
        { "\"delay\":\"5m\"", NOW_MS + 300000 },
        { "\"delay\":\"PT5M\"", NOW_MS + 300000 },
        { "\"delay\":\"P1M\"", NOW_MS + 2592000000 },
        { "\"delay_ms\":1500", NOW_MS + 1500 },
        { "\"delay\":\"0s\"", 0 },
        { "\"delay_ms\":0", 0 },
    };
    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        char text[160];
        snprintf(text, sizeof text,
                 i % 2 ? "{\"type\":\"a\",\"args\":[],%s}"
                       : "{\"type\":\"a\",\"args\":[],\"options\":{%s}}",
                 cases[i / 2].member);
        struct intake intake;
        const struct pawl_job_spec *spec = intake_spec(&intake, text);
        assert_int_equal(spec->due_at_ms, cases[i / 2].due_ms);
        assert_span(spec->extra, "");
        intake_release(&intake);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_are_instants_or_relative_to_now),
        cmocka_unit_test(a_job_expires_at_the_soonest_of_its_limits),
        cmocka_unit_test(limits_are_converted_and_kept_only_where_printing_differs),
        cmocka_unit_test(a_delay_counts_from_now),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
