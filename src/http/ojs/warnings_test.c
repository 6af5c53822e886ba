/* What is said about members of an envelope that are missing or have no effect. */
#include "http/ojs/envelope_test_kit.h"

/* Reads `text`, collects what it warns of. */
static void read_warned(struct intake *intake, const char *text, struct pawl__warnings *warnings)
{
    *warnings = (struct pawl__warnings){ 0 };
    struct pawl__envelope_rules rules = { .now_ms = NOW_MS, .warnings = warnings, .index = -1 };
    intake_read_by(intake, text, &rules);
    assert_true(intake->ok);
}

static void a_missing_member_is_guessed(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "{\"typ\":\"a\",\"args\":[]}",
          "\"type\" is missing; \"typ\" is not a known member: did you mean \"type\"?" },
        { "{\"type\":\"a\",\"arg\":[]}",
          "\"args\" is missing; \"arg\" is not a known member: did you mean \"args\"?" },
        { "{\"xyzzy\":1,\"args\":[]}", "\"type\" is missing" },
        { "{\"type\":\"a\",\"typ\":\"b\"}", "\"args\" is missing; an empty array will do" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct intake intake;
        struct pawl__envelope_rules rules = { .now_ms = NOW_MS, .index = -1 };
        intake_read_by(&intake, cases[i].text, &rules);
        assert_false(intake.ok);
        assert_string_equal(intake.fault.message, cases[i].message);
        intake_release(&intake);
    }
}

static void members_without_effect_are_reported(void **state)
{
    static const struct {
        const char *members, *field, *meant;
        bool misplaced;
    } cases[] = {
        { "\"options\":{\"dealy\":\"5m\"}", "options.dealy", "delay", false },
        { "\"dealy_until\":\"+PT5M\"", "dealy_until", "delay_until", false },
        { "\"xyzzy\":1", "xyzzy", NULL, false },
        { "\"retry\":{\"max_atempts\":3}", "retry.max_atempts", "max_attempts", false },
        { "\"options\":{\"unique\":{\"perod\":\"PT1H\"}}", "options.unique.perod", "period",
          false },
        { "\"options\":{\"meta\":{}}", "options.meta", NULL, true },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[160];
        struct intake intake;
        struct pawl__warnings warnings;
        snprintf(text, sizeof text, "{\"type\":\"a\",\"args\":[],%s}", cases[i].members);
        read_warned(&intake, text, &warnings);
        assert_int_equal(warnings.count, 1);
        assert_string_equal(warnings.at[0].field, cases[i].field);
        assert_int_equal(warnings.at[0].misplaced, cases[i].misplaced);
        if (cases[i].meant)
            assert_string_equal(warnings.at[0].meant, cases[i].meant);
        else
            assert_null(warnings.at[0].meant);
        intake_release(&intake);

        struct pawl__envelope_rules strict = { .now_ms = NOW_MS, .strict = true, .index = -1 };
        intake_read_by(&intake, text, &strict);
        assert_false(intake.ok);
        assert_string_equal(intake.fault.field, cases[i].field);
        intake_release(&intake);
    }
}

static void extensions_and_members_of_the_server_are_expected(void **state)
{
    static const char text[] =
        "{\"type\":\"a\",\"args\":[],\"x_a\":1,\"x-b\":1,\"ext_c\":1,\"ext-d\":1,"
        "\"state\":\"active\",\"attempt\":3,\"options\":{\"x_e\":1,\"state\":\"x\"}}";
    struct pawl__envelope_rules strict = { .now_ms = NOW_MS, .strict = true, .index = -1 };
    struct intake intake;
    struct pawl__warnings warnings;
    read_warned(&intake, text, &warnings);
    assert_int_equal(warnings.count, 0);
    intake_release(&intake);
    intake_read_by(&intake, text, &strict);
    assert_true(intake.ok);
    intake_release(&intake);
}

static void warnings_are_bounded(void **state)
{
    struct pawl__buf text = { 0 }, out = { 0 };
    struct pawl__warnings warnings;
    struct intake intake;
    pawl__buf_add_text(&text, "{\"type\":\"a\",\"args\":[]");
    for (int i = 0; i < 100; i++) {
        pawl__buf_printf(&text, ",\"y%d\":1", i);
    }
    pawl__buf_add(&text, "}", 2);
    read_warned(&intake, text.at, &warnings);
    assert_int_equal(warnings.count, PAWL__WARNINGS_MAX);
    assert_int_equal(warnings.more, 100 - PAWL__WARNINGS_MAX);
    pawl__warnings_print(&out, &warnings);
    pawl__buf_add(&out, "", 1);
    assert_non_null(
        strstr(out.at, "{\"field\":\"y0\",\"message\":\"\\\"y0\\\" is not a known member"));
    assert_non_null(strstr(out.at, "84 more"));
    intake_release(&intake);
    pawl__buf_release(&text);
    pawl__buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_member_is_guessed),
        cmocka_unit_test(members_without_effect_are_reported),
        cmocka_unit_test(extensions_and_members_of_the_server_are_expected),
        cmocka_unit_test(warnings_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
