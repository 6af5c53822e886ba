/* Files of schedules: which words a line has, and what is refused. */
#include "cli/cron_file.h"

#include "base/buf.h"
#include "base/test_kit.h"

#include <string.h>

static struct pawl__arena arena;

static enum pawl_err read_text(const char *text, struct pawl__cron_entries *out, size_t *line,
                               struct pawl_diag *diag)
{
    return pawl__cron_file_read((struct pawl_span){ text, strlen(text) }, &arena, out, line, diag);
}

/* Each entry as "LINE|word|word", one on each line. */
static void expect(const char *text, const char *wanted)
{
    struct pawl__cron_entries entries;
    struct pawl_diag diag = { 0 };
    struct pawl__buf got = { 0 };
    size_t line;
    enum pawl_err err = read_text(text, &entries, &line, &diag);
    if (err) print_error("line %zu: %s\n", line, diag.text);
    assert_int_equal(err, PAWL_OK);
    for (size_t i = 0; i < entries.count; i++) {
        pawl__buf_printf(&got, "%zu", entries.at[i].line);
        for (size_t w = 0; w < entries.at[i].count; w++) {
            pawl__buf_printf(&got, "|%s", entries.at[i].words[w]);
        }
        pawl__buf_add_text(&got, "\n");
    }
    assert_string_equal(got.at ? got.at : "", wanted);
    pawl__buf_release(&got);
    pawl__arena_release(&arena);
}

static void refuse(const char *text, size_t wanted_line, const char *wanted)
{
    struct pawl__cron_entries entries;
    struct pawl_diag diag = { 0 };
    size_t line;
    assert_int_equal(read_text(text, &entries, &line, &diag), PAWL_ERR_ARG);
    assert_string_equal(diag.text, wanted);
    assert_int_equal(line, wanted_line);
    pawl__arena_release(&arena);
}

static void expressions_need_no_quotes(void **state)
{
    expect("nightly 0 9 * * 1-5 report.send", "1|nightly|0 9 * * 1-5|report.send\n");
    expect("a  */5 *\t* * *   t", "1|a|*/5 * * * *|t\n");
    expect("a 0 0 9 * * MON#1 t", "1|a|0 0 9 * * MON#1|t\n");
    expect("a 0 0 9 ? * FRIL 2030-2032 t", "1|a|0 0 9 ? * FRIL 2030-2032|t\n");
    expect("a 0 0 0 L * ? t", "1|a|0 0 0 L * ?|t\n");
    expect("a @daily t", "1|a|@daily|t\n");
    expect("a @every 1h30m t", "1|a|@every 1h30m|t\n");
    expect("a '0 9 * * *' mon", "1|a|0 9 * * *|mon\n");
    expect("a \"@every 5s\" t", "1|a|@every 5s|t\n");
}

static void types_are_no_fields(void **state)
{
    expect("a 0 9 * * * mail.send", "1|a|0 9 * * *|mail.send\n");
    expect("a 0 9 * * * monday.report", "1|a|0 9 * * *|monday.report\n");
    expect("a 0 9 * * * last", "1|a|0 9 * * *|last\n");
}

static void a_zone_may_follow(void **state)
{
    expect("a 0 9 * * * Europe/Berlin t", "1|--zone|Europe/Berlin|a|0 9 * * *|t\n");
    expect("a @daily UTC t", "1|--zone|UTC|a|@daily|t\n");
}

static void arguments_and_options_are_as_on_the_command_line(void **state)
{
    expect("a @daily t [\"x y\", {\"b\": \"]\\\"\"}] --queue q --meta {\"a\": [1]} --tag='x y'",
           "1|a|@daily|t|[\"x y\", {\"b\": \"]\\\"\"}]|--queue|q|--meta|{\"a\": [1]}|--tag=x y\n");
    expect("a @daily t --meta={\"a\": 1} --note \"say \\\"hi\\\"\"",
           "1|a|@daily|t|--meta={\"a\": 1}|--note|say \"hi\"\n");
}

static void json_may_go_over_lines(void **state)
{
    expect("a @daily t [1,\n  2]\nb @daily t\n", "1|a|@daily|t|[1,\n  2]\n3|b|@daily|t\n");
}

static void comments_and_empty_lines_are_nothing(void **state)
{
    expect("", "");
    expect("# all\n\n \t\r\n a @daily t # jobs\r\n#end", "4|a|@daily|t\n");
    expect("a 0 0 * * MON#1 t#1", "1|a|0 0 * * MON#1|t#1\n");
}

static void lines_of_options_are_defaults_for_those_below(void **state)
{
    expect(
        "a @daily t\n--zone Europe/Berlin --queue q\nb @daily t --queue r\n--queue s\nc @daily t",
        "1|a|@daily|t\n"
        "3|--zone|Europe/Berlin|--queue|q|b|@daily|t|--queue|r\n"
        "5|--zone|Europe/Berlin|--queue|q|--queue|s|c|@daily|t\n");
}

static void refusals_say_where(void **state)
{
    refuse("a @daily t\n\nb 0 9 * *", 3, "a name, an expression and a type are needed");
    refuse("a", 1, "a name, an expression and a type are needed");
    refuse("a 0 9 * * mail.send", 1,
           "\"mail.send\" is no field of an expression, which has 5, 6 or 7");
    refuse("a @daily", 1, "the type of its jobs is missing");
    refuse("a 0 9 * * * Europe/Berlin", 1, "the type of its jobs is missing");
    refuse("a @daily t\na @hourly t", 2, "\"a\" is on line 1 already");
    refuse("a @daily t [1, 2", 1, "JSON that does not end");
    refuse("a '@daily t\nb @daily t", 1, "a quote that does not end");
    refuse("a @daily t\n--nonsense 3\n# the end", 2, "no schedule follows these options");
}

static void nul_bytes_are_refused(void **state)
{
    struct pawl__cron_entries entries;
    struct pawl_diag diag = { 0 };
    size_t line;
    const struct pawl_span text = { "a @daily t\0t", 12 };
    assert_int_equal(pawl__cron_file_read(text, &arena, &entries, &line, &diag), PAWL_ERR_ARG);
    assert_string_equal(diag.text, "a NUL byte");
    pawl__arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_need_no_quotes),
        cmocka_unit_test(types_are_no_fields),
        cmocka_unit_test(a_zone_may_follow),
        cmocka_unit_test(arguments_and_options_are_as_on_the_command_line),
        cmocka_unit_test(json_may_go_over_lines),
        cmocka_unit_test(comments_and_empty_lines_are_nothing),
        cmocka_unit_test(lines_of_options_are_defaults_for_those_below),
        cmocka_unit_test(refusals_say_where),
        cmocka_unit_test(nul_bytes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
