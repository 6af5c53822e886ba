#include "base/log_entry.h"

#include "base/test_kit.h"

#include <stdio.h>

static const int64_t at_ms = 1763268550123; /* 2025-11-16T04:49:10.123Z */

/* One entry with a member of each sort. */
static struct pawl__buf entry(enum pawl__log_format format, const char *message, const char *text)
{
    struct pawl__buf line = { 0 };
    struct pawl__log_entry entry = { &line, format };
    pawl__log_entry_begin(&entry, PAWL__LOG_WARNING, at_ms, message, strlen(message));
    pawl__log_entry_text(&entry, "text", text);
    pawl__log_entry_int(&entry, "status", 404);
    pawl__log_entry_ms(&entry, "duration_ms", 1050);
    pawl__log_entry_end(&entry);
    assert_false(line.failed);
    return line;
}

static void expect(enum pawl__log_format format, const char *message, const char *text,
                   const char *wanted)
{
    struct pawl__buf line = entry(format, message, text);
    assert_string_equal(line.at, wanted);
    pawl__buf_release(&line);
}

static void both_formats_have_the_same_members(void **state)
{
    (void)state;
    expect(PAWL__LOG_FORMAT_JSON, "request", "GET",
           "{\"time\":\"2025-11-16T04:49:10.123Z\",\"level\":\"warning\",\"message\":\"request\","
           "\"text\":\"GET\",\"status\":404,\"duration_ms\":1.050}\n");
    expect(PAWL__LOG_FORMAT_TEXT, "request", "GET",
           "2025-11-16T04:49:10.123Z warning request text=GET status=404 duration_ms=1.050\n");
}

static void empty_members_are_left_out(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        expect(PAWL__LOG_FORMAT_TEXT, "m", i ? "" : NULL,
               "2025-11-16T04:49:10.123Z warning m status=404 duration_ms=1.050\n");
        expect(PAWL__LOG_FORMAT_JSON, "m", i ? "" : NULL,
               "{\"time\":\"2025-11-16T04:49:10.123Z\",\"level\":\"warning\",\"message\":\"m\","
               "\"status\":404,\"duration_ms\":1.050}\n");
    }
}

static void text_stays_on_its_line_and_off_the_terminal(void **state)
{
    (void)state;
    static const struct {
        const char *value, *shown;
    } cases[] = {
        { "/a/{id}", "/a/{id}" },
        { "two words", "\"two words\"" },
        { "a=b", "\"a=b\"" },
        { "say \"hi\" \\", "\"say \\\"hi\\\" \\\\\"" },
        { "a\nb\tc", "\"a\\nb\\tc\"" },
        { "\x1b[2J", "\"\\x1b[2J\"" },
        { "\xc3\xa4", "\"\xc3\xa4\"" },
        { "\xff", "\"\\xff\"" },
        { "\xe2\x80\xae", "\"\\u202e\"" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char wanted[128];
        snprintf(wanted, sizeof wanted,
                 "2025-11-16T04:49:10.123Z warning a \\x1b[2J\\nline text=%s status=404 "
                 "duration_ms=1.050\n",
                 cases[i].shown);
        expect(PAWL__LOG_FORMAT_TEXT, "a \x1b[2J\nline", cases[i].value, wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_formats_have_the_same_members),
        cmocka_unit_test(empty_members_are_left_out),
        cmocka_unit_test(text_stays_on_its_line_and_off_the_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
