/* What the vectors do not show of the parser: which mistake is reported first, the messages, and
 * forms that are accepted in spite of their looks. */
#include "schedule/test_kit.h"

struct refusal {
    const char *expression;
    enum pawl_cron_reason reason;
};

static enum pawl_cron_reason reason_of(const char *expression, enum pawl_dialect dialect)
{
    struct pawl__cron cron;
    enum pawl_cron_reason reason = PAWL_CRON_REASON_NONE;
    struct pawl_diag diag = { 0 };
    enum pawl_err err = pawl__cron_parse(expression, dialect, &cron, &reason, &diag);
    assert_int_equal(err, reason ? PAWL_ERR_ARG : PAWL_OK);
    if (err) assert_string_equal(diag.field, "expression");
    return reason;
}

static void the_first_mistake_is_reported(void **state)
{
    static const struct refusal refusals[] = {
        { "TZ=UTC @reboot", PAWL_CRON_REASON_ZONE_INSIDE },
        { "@nothing * * *", PAWL_CRON_REASON_BAD_ALIAS },
        { "@reboot now", PAWL_CRON_REASON_BAD_ALIAS },
        { "60 24 *", PAWL_CRON_REASON_FIELD_COUNT },
        { "60 */0 * * *", PAWL_CRON_REASON_OUT_OF_RANGE },
        { "*/0 60 * * *", PAWL_CRON_REASON_BAD_STEP },
        { "1,60,5/0 * * * *", PAWL_CRON_REASON_OUT_OF_RANGE },
        { "60,,1 * * * *", PAWL_CRON_REASON_BAD_LIST }, // the list before its elements
        { "1,5*,61 * * * *", PAWL_CRON_REASON_BAD_LIST },
        { "99/0 * * * *", PAWL_CRON_REASON_BAD_STEP }, // the step before the value
        { "* * 32 13 *", PAWL_CRON_REASON_OUT_OF_RANGE },
        { "* * ? X ?", PAWL_CRON_REASON_BAD_VALUE }, // the month before the "?"
        { "* * ? * ?", PAWL_CRON_REASON_TWO_QUESTIONS },
        { "0 0 0 1 1 1 3000", PAWL_CRON_REASON_OUT_OF_RANGE },    // and the year
        { "0 0 0 32 1 1 2030", PAWL_CRON_REASON_NEEDS_QUESTION }, // the "?" before the day
        { "* * 32 * 9/0", PAWL_CRON_REASON_OUT_OF_RANGE },        // the day before the weekday
        { "* * 30 2 9/0", PAWL_CRON_REASON_BAD_STEP },
    };
    for (size_t i = 0; i < COUNT(refusals); i++) {
        enum pawl_cron_reason reason = reason_of(refusals[i].expression, PAWL_DIALECT_AUTO);
        if (reason != refusals[i].reason) {
            fail_msg("\"%s\": %s", refusals[i].expression, pawl_cron_reason_code(reason));
        }
    }
}

static void special_forms_have_their_places(void **state)
{
    static const struct refusal refusals[] = {
        { "L * * * *", PAWL_CRON_REASON_MISPLACED },
        { "* 5W * * *", PAWL_CRON_REASON_MISPLACED },
        { "* * * JULL *", PAWL_CRON_REASON_MISPLACED },
        { "* * * * MON-FRIL", PAWL_CRON_REASON_MISPLACED },
        { "* * * * #2", PAWL_CRON_REASON_BAD_VALUE },
        { "* * * * MON#x", PAWL_CRON_REASON_BAD_VALUE },
        { "* * * * 8L", PAWL_CRON_REASON_OUT_OF_RANGE },
        { "* * * * JUL", PAWL_CRON_REASON_BAD_VALUE },
        { "* * LX * *", PAWL_CRON_REASON_BAD_VALUE },
        { "* * LWW * *", PAWL_CRON_REASON_BAD_VALUE },
        { "* * L- * *", PAWL_CRON_REASON_BAD_VALUE },
        { "* * W * *", PAWL_CRON_REASON_BAD_VALUE },
        { "* * L-1-2 * *", PAWL_CRON_REASON_BAD_VALUE },
        { "* * 0W * *", PAWL_CRON_REASON_OUT_OF_RANGE },
        { "* * 15W/2 * *", PAWL_CRON_REASON_MISPLACED },
        { "* * L,L-3,LW,L-2W,15W JUL *", PAWL_CRON_REASON_NONE },
        { "* * * jul,AUG WED#1,fri,5L", PAWL_CRON_REASON_NONE },
        { "* * * * WED", PAWL_CRON_REASON_NONE }, // ends in D, but begins with W
    };
    for (size_t i = 0; i < COUNT(refusals); i++) {
        enum pawl_cron_reason reason = reason_of(refusals[i].expression, PAWL_DIALECT_AUTO);
        if (reason != refusals[i].reason) {
            fail_msg("\"%s\": %s", refusals[i].expression, pawl_cron_reason_code(reason));
        }
    }
    assert_int_equal(reason_of("0 0 0 ? * L", PAWL_DIALECT_QUARTZ), PAWL_CRON_REASON_NONE);
    assert_int_equal(reason_of("0 0 0 ? * LW", PAWL_DIALECT_QUARTZ), PAWL_CRON_REASON_MISPLACED);
    assert_int_equal(reason_of("0 0 0 ? * 0L", PAWL_DIALECT_QUARTZ), PAWL_CRON_REASON_OUT_OF_RANGE);
}

static void sundays_are_one_day(void **state)
{
    static const struct {
        const char *weekdays;
        uint32_t set; /* bit 0: Sunday */
    } samples[] = { { "0-7", 0x7F },   { "7-7", 0x01 }, { "7", 0x01 },       { "0-7/3", 0x49 },
                    { "5-7/2", 0x21 }, { "7-2", 0x07 }, { "1-7", 0x7F },     { "7/2", 0x55 },
                    { "6-1", 0x43 },   { "5/2", 0x20 }, { "SUN-SAT", 0x7F }, { "FRI-7", 0x61 } };
    for (size_t i = 0; i < COUNT(samples); i++) {
        char expression[32];
        struct pawl__cron cron;
        snprintf(expression, sizeof expression, "0 0 * * %s", samples[i].weekdays);
        assert_int_equal(pawl__cron_parse(expression, PAWL_DIALECT_AUTO, &cron, NULL, NULL), 0);
        if (cron.weekdays != samples[i].set) fail_msg("%s: %x", expression, cron.weekdays);
    }
}

static void intervals_read(void **state)
{
    static const struct {
        const char *text;
        int64_t ms; /* 0: refused */
    } samples[] = {
        { "1s", 1000 },
        { "1000ms", 1000 },
        { "1.001s", 1001 },
        { "0.5m", 30000 },
        { "1d1ms", 86400001 },
        { "3660d", INT64_C(316224000000) },
        { "87840h", INT64_C(316224000000) },
        { "1.5H30.25m", 7215000 },
        { "3660d1ms", 0 },
        { "999ms", 0 },
        { "0.9999s", 0 },
        { "1.s", 0 },
        { ".5s", 0 },
        { "1000.5ms", 0 },
        { "1m1m", 0 },
        { "1s1h", 0 },
        { "-5s", 0 },
        { "99999999999999s", 0 },
        { "5 s", 0 },
        { "5sec", 0 },
    };
    for (size_t i = 0; i < COUNT(samples); i++) {
        char expression[64];
        struct pawl__cron cron = { 0 };
        enum pawl_cron_reason reason = PAWL_CRON_REASON_NONE;
        snprintf(expression, sizeof expression, "@every %s", samples[i].text);
        enum pawl_err err = pawl__cron_parse(expression, PAWL_DIALECT_AUTO, &cron, &reason, NULL);
        if (cron.every_ms != samples[i].ms) {
            fail_msg("%s: %lld", expression, (long long)cron.every_ms);
        }
        assert_int_equal(err, samples[i].ms ? PAWL_OK : PAWL_ERR_ARG);
        assert_int_equal(reason, samples[i].ms ? 0 : PAWL_CRON_REASON_BAD_INTERVAL);
    }
}

static void aliases_ignore_the_dialect(void **state)
{
    assert_int_equal(reason_of("@weekly", PAWL_DIALECT_QUARTZ), PAWL_CRON_REASON_NONE);
    assert_int_equal(reason_of(" \t@MIDNIGHT\t", PAWL_DIALECT_CRON), PAWL_CRON_REASON_NONE);
}

static void length_counts_characters(void **state)
{
    char text[2 * 256 + 1];
    memset(text, ' ', sizeof text);
    memcpy(text, "* * * * *", 9);
    text[255] = '\0';
    assert_int_equal(reason_of(text, PAWL_DIALECT_AUTO), PAWL_CRON_REASON_NONE);
    text[255] = ' ';
    text[256] = '\0';
    assert_int_equal(reason_of(text, PAWL_DIALECT_AUTO), PAWL_CRON_REASON_TOO_LONG);
    for (size_t i = 0; i < sizeof text - 3; i += 2) { // 255 characters of two bytes each
        memcpy(text + i, "\xc3\xa9", 2);
    }
    text[sizeof text - 3] = '\0';
    assert_int_equal(reason_of(text, PAWL_DIALECT_AUTO), PAWL_CRON_REASON_BAD_CHARACTER);
}

static void messages_name_field_and_part(void **state)
{
    static const struct {
        const char *expression, *text;
    } samples[] = {
        { "0 50-70 * * *", "expression \"0 50-70 * * *\": hour \"50\": out of range, 0 to 23" },
        { "0 0 L-31 * *",
          "expression \"0 0 L-31 * *\": day of month \"31\": out of range, 1 to 30" },
        { "* * * * MONDAY",
          "expression \"* * * * MONDAY\": day of week \"MONDAY\": not a number of "
          "1 to 4 digits or a name of 3 letters" },
        { "0 0 30 2 *", "expression \"0 0 30 2 *\": no year from 1970 to 2199 has such a day" },
    };
    for (size_t i = 0; i < COUNT(samples); i++) {
        struct pawl__cron cron;
        struct pawl_diag diag;
        assert_int_equal(
            pawl__cron_parse(samples[i].expression, PAWL_DIALECT_AUTO, &cron, NULL, &diag),
            PAWL_ERR_ARG);
        assert_string_equal(diag.text, samples[i].text);
    }
}

static void codes_are_those_of_the_list(void **state)
{
    assert_string_equal(pawl_cron_reason_code(PAWL_CRON_REASON_BAD_STEP), "bad_step");
    assert_string_equal(pawl_cron_reason_code(PAWL_CRON_REASON_NONE), "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_mistake_is_reported),
        cmocka_unit_test(special_forms_have_their_places),
        cmocka_unit_test(sundays_are_one_day),
        cmocka_unit_test(intervals_read),
        cmocka_unit_test(aliases_ignore_the_dialect),
        cmocka_unit_test(length_counts_characters),
        cmocka_unit_test(messages_name_field_and_part),
        cmocka_unit_test(codes_are_those_of_the_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
