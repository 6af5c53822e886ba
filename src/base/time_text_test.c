#include "base/time_text.h"

#include <time.h>

#include "base/test_kit.h"

#define S INT64_C(1000)
#define MINUTE (60 * S)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define FIRST_MS INT64_C(-62167219200000) /* 0000-01-01T00:00:00.000Z */
#define LAST_MS INT64_C(253402300799999)  /* 9999-12-31T23:59:59.999Z */

struct sample {
    const char *text;
    int64_t ms;
};

/* ---- durations ---- */

static void durations_read(void **state)
{
    static const struct sample samples[] = {
        { "0ms", 0 },
        { "500ms", 500 },
        { "5s", 5 * S },
        { "2m", 2 * MINUTE },
        { "1h", HOUR },
        { "3d", 3 * DAY },
        { "1h30m", 90 * MINUTE },
        { "2m 5s", 2 * MINUTE + 5 * S },
        { "1d 2h 3m 4s 5ms", DAY + 2 * HOUR + 3 * MINUTE + 4005 },
        { "1m1.5s", 61500 },
        { "1.5s", 1500 },
        { "0.5h", HOUR / 2 },
        { "0.0009s", 0 }, // cut to ms
        { "1.9999s", 1999 },
        { "007s", 7 * S },
        { "1.50000000000000000000000000000000000s", 1500 },
        { "PT0S", 0 },
        { "PT1.5S", 1500 },
        { "PT1,5S", 1500 },
        { "PT30S", 30 * S },
        { "PT2M", 2 * MINUTE },
        { "PT1H30M", 90 * MINUTE },
        { "P1D", DAY },
        { "P1DT2H", DAY + 2 * HOUR },
        { "P2W", 14 * DAY },
        { "P1W2DT3H4M5.678S", 9 * DAY + 3 * HOUR + 4 * MINUTE + 5678 },
        { "P0.5D", DAY / 2 },
        { "PT0.001S", 1 },
        { "PT36H", 36 * HOUR },
        { "P36525D", 36525 * DAY },
        { "36525d", 36525 * DAY },
        { "3155760000000ms", 36525 * DAY },
    };
    for (size_t i = 0; i < COUNT(samples); i++) {
        int64_t ms = -1;
        if (pawl__duration_parse(samples[i].text, &ms) || ms != samples[i].ms) {
            fail_msg("\"%s\" gave %lld", samples[i].text, (long long)ms);
        }
    }
}

static void what_is_no_duration_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "5",
        "s",
        "ms",
        "-5s",
        "+5s",
        " 5s",
        "5s ",
        "5 s",
        "5S",
        "5sec",
        "5ss",
        "30m1h",
        "1h1h",
        "1h30",
        "1.5h30m",
        "1h  30m",
        "1h 30m ",
        "1hm",
        "1e3s",
        "0x5s",
        ".5s",
        "5.s",
        "1.2.3s",
        "5y",
        "inf",
        "nan",
        "P",
        "PT",
        "P1",
        "P1DT",
        "PT1",
        "1D",
        "P1Y",
        "P1M",
        "P1Y2M",
        "P1H",
        "P1S",
        "PT1D",
        "PT1W",
        "P1T",
        "P1D1D",
        "P1D1W",
        "PT1S1M",
        "PT1M1H",
        "PTT1S",
        "PT1ST1M",
        "PT1.5M1S",
        "P0.5DT1H",
        "P-1D",
        "-P1D",
        "p1d",
        "PT1s",
        "PT.5S",
        "PT5.S",
        "P1D ",
        "PT1S\n",
        "P1DT1",
        "P36526D",
        "36526d",
        "P36525DT0.001S",
        "3155760000001ms",
        "99999999999999999999999999999999s",
        "9223372036854775807ms",
        "9223372036854775808ms",
        "P99999999999999999999W",
        "106751991168d",
        "PT9223372036854776S",
        "5\xc3\xa9",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        int64_t ms = 12345;
        if (pawl__duration_parse(texts[i], &ms) != PAWL_ERR_ARG || ms != 12345) {
            fail_msg("\"%s\" gave %lld", texts[i], (long long)ms);
        }
    }
}

static void any_duration_in_milliseconds_reads_back(void **state)
{
    for_seeds(seed, 5000)
    {
        struct pawl__rng rng;
        pawl__rng_seed(&rng, seed);
        int64_t ms = (int64_t)pawl__rng_below(&rng, 36525 * DAY + 1), back[3];
        char text[3][64];
        snprintf(text[0], sizeof text[0], "%lldms", (long long)ms);
        snprintf(text[1], sizeof text[1], "PT%lld.%03dS", (long long)(ms / S), (int)(ms % S));
        snprintf(text[2], sizeof text[2], "P%lldDT%lldH%lldM%lld.%03dS", (long long)(ms / DAY),
                 (long long)(ms % DAY / HOUR), (long long)(ms % HOUR / MINUTE),
                 (long long)(ms % MINUTE / S), (int)(ms % S));
        for (int i = 0; i < 3; i++) {
            prove(!pawl__duration_parse(text[i], &back[i]) && back[i] == ms);
        }
    }
}

static void durations_print_for_people(void **state)
{
    static const struct sample samples[] = {
        { "0s", 0 },
        { "1ms", 1 },
        { "850ms", 850 },
        { "999ms", 999 },
        { "1s", 1000 },
        { "1s", 1099 },
        { "1.5s", 1500 },
        { "59.9s", 59999 },
        { "1m", 60000 },
        { "2m 5s", 2 * MINUTE + 5 * S + 999 },
        { "59m 59s", HOUR - 1 },
        { "1h", HOUR },
        { "1h", HOUR + 59 * S },
        { "3h 20m", 3 * HOUR + 20 * MINUTE },
        { "23h 59m", DAY - 1 },
        { "4d 2h", 4 * DAY + 2 * HOUR },
        { "36525d", 36525 * DAY },
        { "-1.5s", -1500 },
        { "-2m 5s", -2 * MINUTE - 5 * S },
        { "106751991167d 7h", INT64_MAX },
        { "-106751991167d 7h", INT64_MIN },
    };
    for (size_t i = 0; i < COUNT(samples); i++) {
        char text[PAWL__DURATION_TEXT_BYTES];
        pawl__duration_text(samples[i].ms, text);
        assert_string_equal(text, samples[i].text);
    }
}

static void iso_durations_are_read(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        { "PT1S", 1000 },
        { "PT0.5S", 500 },
        { "PT0.0005S", 0 },
        { "PT1.25S", 1250 },
        { "PT0S", 0 },
        { "PT5M", 300000 },
        { "PT24H", 86400000 },
        { "P1D", 86400000 },
        { "P2W", 2 * 7 * DAY },
        { "P1M", 30 * DAY },
        { "P1Y", 365 * DAY },
        { "P1Y2M3W4DT5H6M7.8S", (365 + 60 + 21 + 4) * DAY + 5 * 3600000 + 6 * 60000 + 7800 },
        { "PT3155760000S", INT64_C(3155760000000) },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t ms = -1;
        if (pawl__iso_duration_parse(cases[i].text, &ms)) fail_msg("%s", cases[i].text);
        assert_int_equal(ms, cases[i].ms);
    }
}

static void what_is_no_iso_duration_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "P",
        "PT",
        "1S",
        "T1S",
        "PT1",
        "P1S",
        "PT1D",
        "P1DT",
        "PT1S ",
        " PT1S",
        "PT-1S",
        "-PT1S",
        "PT1.S",
        "PT.5S",
        "PT1.5M",
        "P1.5D",
        "PT1S1M",
        "PT1M1M",
        "P1D1W",
        "pt1s",
        "PT1s",
        "PT3155760000.001S",
        "PT9223372036854775808S",
        "P999999999999Y",
        "PT1H2H",
        "PTT1S",
        "PT1,5S",
        "5s",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        int64_t ms = -1;
        if (!pawl__iso_duration_parse(texts[i], &ms))
            fail_msg("\"%s\" is %lld", texts[i], (long long)ms);
        assert_int_equal(ms, -1);
    }
}

/* ---- instants ---- */

static void instants_read(void **state)
{
    static const struct sample samples[] = {
        { "1970-01-01T00:00:00Z", 0 },
        { "1970-01-01T00:00:00.001Z", 1 },
        { "1969-12-31T23:59:59.999Z", -1 },
        { "2026-03-31T10:00:05.123Z", INT64_C(1774951205123) },
        { "2026-03-31t10:00:05.123z", INT64_C(1774951205123) },
        { "2026-03-31 10:00:05.123Z", INT64_C(1774951205123) },
        { "2026-03-31T10:00:05.1239999999999999999999Z", INT64_C(1774951205123) },
        { "2026-03-31T10:00:05.1Z", INT64_C(1774951205100) },
        { "2026-03-31T12:00:05.123+02:00", INT64_C(1774951205123) },
        { "2026-03-31T04:30:05.123-05:30", INT64_C(1774951205123) },
        { "2026-04-01T09:59:05.123+23:59", INT64_C(1774951205123) },
        { "1970-01-01T00:00:00-00:00", 0 },
        { "2000-02-29T00:00:00Z", INT64_C(951782400000) },
        { "2024-02-29T23:59:59Z", INT64_C(1709251199000) },
        { "1900-03-01T00:00:00Z", INT64_C(-2203891200000) },
        { "2016-12-31T23:59:60Z", INT64_C(1483228800000) }, // a leap second is the next one
        { "2016-12-31T23:59:60.5Z", INT64_C(1483228800500) },
        { "2017-01-01T01:59:60+02:00", INT64_C(1483228800000) },
        { "2015-06-30T18:59:60-05:00", INT64_C(1435708800000) },
        { "0000-01-01T00:00:00Z", FIRST_MS },
        { "0000-02-29T00:00:00Z", FIRST_MS + 59 * DAY },
        { "9999-12-31T23:59:59.999Z", LAST_MS },
        { "9999-12-31T23:59:59.9999999Z", LAST_MS },
        { "9999-12-31T00:00:00-23:59", LAST_MS - 59999 },
        { "0000-01-01T23:59:00+23:59", FIRST_MS },
    };
    for (size_t i = 0; i < COUNT(samples); i++) {
        int64_t ms = 12345;
        if (pawl__instant_parse(samples[i].text, &ms) || ms != samples[i].ms) {
            fail_msg("\"%s\" gave %lld", samples[i].text, (long long)ms);
        }
    }
}

static void what_is_no_instant_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "now",
        "2026",
        "2026-03-31",
        "2026-03-31T10:00:05", // no offset
        "2026-03-31T10:00Z",
        "2026-03-31T10:00:05.Z",
        "2026-03-31T10:00:05,1Z",
        "2026-03-31T10:00:05 Z",
        "2026-03-31T10:00:05Z ",
        " 2026-03-31T10:00:05Z",
        "2026-03-31T10:00:05ZZ",
        "2026-03-31_10:00:05Z",
        "2026/03/31T10:00:05Z",
        "2026-3-31T10:00:05Z",
        "26-03-31T10:00:05Z",
        "12026-03-31T10:00:05Z",
        "+2026-03-31T10:00:05Z",
        "-001-03-31T10:00:05Z",
        "20260331T100005Z",
        "2026-00-10T10:00:05Z",
        "2026-13-10T10:00:05Z",
        "2026-01-00T10:00:05Z",
        "2026-01-32T10:00:05Z",
        "2026-04-31T10:00:05Z",
        "2025-02-29T10:00:05Z",
        "1900-02-29T00:00:00Z", // no leap year
        "2100-02-29T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z",
        "2026-01-01T00:00:61Z",
        "2026-01-01T12:30:60Z", // no leap second can be there
        "2016-12-30T23:59:60Z",
        "2016-12-31T23:59:60+01:00",
        "2026-01-01T00:00:00+24:00",
        "2026-01-01T00:00:00+01:60",
        "2026-01-01T00:00:00+0100",
        "2026-01-01T00:00:00+01",
        "2026-01-01T00:00:00+1:00",
        "0000-01-01T00:00:00+00:01", // the year before
        "9999-12-31T23:59:59-00:01",
        "9999-12-31T23:59:60Z",
        "2026-01-01T0:00:000Z",
        "2026-01-01T00:00:0\xc3\xa9Z",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        int64_t ms = 12345;
        if (pawl__instant_parse(texts[i], &ms) != PAWL_ERR_ARG || ms != 12345) {
            fail_msg("\"%s\" gave %lld", texts[i], (long long)ms);
        }
    }
}

static void instants_print(void **state)
{
    static const struct sample samples[] = {
        { "1970-01-01T00:00:00.000Z", 0 },
        { "1969-12-31T23:59:59.999Z", -1 },
        { "2026-03-31T10:00:05.123Z", INT64_C(1774951205123) },
        { "0000-01-01T00:00:00.000Z", FIRST_MS },
        { "9999-12-31T23:59:59.999Z", LAST_MS },
        { "-0001-12-31T23:59:59.999Z", FIRST_MS - 1 },
        { "+10000-01-01T00:00:00.000Z", LAST_MS + 1 },
        { "+292278994-08-17T07:12:55.807Z", INT64_MAX },
        { "-292275055-05-16T16:47:04.192Z", INT64_MIN },
    };
    for (size_t i = 0; i < COUNT(samples); i++) {
        char text[PAWL__INSTANT_TEXT_BYTES];
        pawl__instant_text(samples[i].ms, text);
        assert_string_equal(text, samples[i].text);
    }
}

/* Compares with the C library's independent calendar. */
static void agrees_with_the_c_library(int64_t ms, uint64_t seed)
{
    char text[PAWL__INSTANT_TEXT_BYTES], expected[64];
    int64_t fraction = (ms % S + S) % S, back;
    time_t seconds = (time_t)((ms - fraction) / S);
    struct tm tm;
    prove(gmtime_r(&seconds, &tm));
    snprintf(expected, sizeof expected, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900,
             tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)fraction);
    pawl__instant_text(ms, text);
    prove(strcmp(text, expected) == 0);
    prove(!pawl__instant_parse(text, &back) && back == ms);
}

static void every_day_of_two_thousand_years_is_right(void **state)
{
    uint64_t seed = 0;
    for (int64_t day = -25567; day < 2 * 366 * 1000; day++) {
        agrees_with_the_c_library(day * DAY, seed);
    }
}

static void any_instant_reads_back(void **state)
{
    for_seeds(seed, 50000)
    {
        struct pawl__rng rng;
        pawl__rng_seed(&rng, seed);
        agrees_with_the_c_library(
            FIRST_MS + (int64_t)pawl__rng_below(&rng, (uint64_t)(LAST_MS - FIRST_MS + 1)), seed);
    }
}

static void any_offset_is_taken_off(void **state)
{
    for_seeds(seed, 5000)
    {
        struct pawl__rng rng;
        pawl__rng_seed(&rng, seed);
        int64_t at = (int64_t)pawl__rng_below(&rng, INT64_C(4102444800000)), back;
        int offset = (int)pawl__rng_below(&rng, 2 * 1440 - 1) - 1439; // minutes
        char text[PAWL__INSTANT_TEXT_BYTES + 8];
        pawl__instant_text(at + offset * MINUTE, text);
        int minutes = offset < 0 ? -offset : offset;
        snprintf(strchr(text, 'Z'), 8, "%c%02d:%02d", offset < 0 ? '-' : '+', minutes / 60 % 24,
                 minutes % 60);
        prove(!pawl__instant_parse(text, &back) && back == at);
    }
}

static void random_text_never_confuses(void **state)
{
    static const char alphabet[] = "0123456789-:.+TZtzPWDHMSmshd ,";
    for_seeds(seed, 50000)
    {
        struct pawl__rng rng;
        pawl__rng_seed(&rng, seed);
        char text[48] = "2026-03-31T10:00:05.123+02:00", again[PAWL__INSTANT_TEXT_BYTES];
        if (seed % 2) snprintf(text, sizeof text, "P1W2DT3H4M5.678S");
        for (int edits = 1 + (int)pawl__rng_below(&rng, 4); edits > 0; edits--) {
            text[pawl__rng_below(&rng, strlen(text) + 1)] =
                alphabet[pawl__rng_below(&rng, sizeof alphabet)]; // its NUL too
        }
        int64_t ms, back;
        if (!pawl__instant_parse(text, &ms)) {
            prove(ms >= FIRST_MS && ms <= LAST_MS);
            pawl__instant_text(ms, again);
            prove(!pawl__instant_parse(again, &back) && back == ms);
        }
        if (!pawl__duration_parse(text, &ms)) prove(ms >= 0 && ms <= 36525 * DAY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_read),
        cmocka_unit_test(what_is_no_duration_is_refused),
        cmocka_unit_test(iso_durations_are_read),
        cmocka_unit_test(what_is_no_iso_duration_is_refused),
        cmocka_unit_test(any_duration_in_milliseconds_reads_back),
        cmocka_unit_test(durations_print_for_people),
        cmocka_unit_test(instants_read),
        cmocka_unit_test(what_is_no_instant_is_refused),
        cmocka_unit_test(instants_print),
        cmocka_unit_test(every_day_of_two_thousand_years_is_right),
        cmocka_unit_test(any_instant_reads_back),
        cmocka_unit_test(any_offset_is_taken_off),
        cmocka_unit_test(random_text_never_confuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
