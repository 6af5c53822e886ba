#include "flow/expr_test_kit.h"

#include <stdio.h>

struct sample {
    const char *condition;
    const char *said;
};

static const char order[] =
    "{\"total\":1200.50,\"kind\":\"invoice\",\"paid\":true,\"open\":false,\"note\":null,\"empty\":"
    "\"\","
    "\"tags\":[\"urgent\",\"eu\",7],\"lines\":[{\"sku\":\"a\"},{\"sku\":\"b\"}],\"none\":[],"
    "\"big\":9007199254740993,\"text\":\"12.5\",\"odd key\":1,\"a/b\":2,\"m~n\":3,\"7\":4,"
    "\"name\":\"Za\\u00ef\\u0000r\"}";

static void check(const char *result, const struct sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *said = judge(samples[i].condition, result);
        if (strcmp(said, samples[i].said) == 0) continue;
        fail_msg("%s: \"%s\", not \"%s\"", samples[i].condition, said, samples[i].said);
    }
}

#define CHECK(result, ...)                                                                         \
    do {                                                                                           \
        static const struct sample samples[] = { __VA_ARGS__ };                                    \
        check((result), samples, COUNT(samples));                                                  \
    } while (0)

static void paths_lead_into_json(void **state)
{
    CHECK(order, { "/result/total == 1200.5", "true" }, { "/result/lines/1/sku == \"b\"", "true" },
          { "/result/lines/2/sku == null", "true" }, { "/result/lines/01/sku == null", "true" },
          { "/result/lines/-1 == null", "true" }, { "/result/lines/99999999999 == null", "true" },
          { "/result/\"odd key\" == 1", "true" }, { "/result/a~1b == 2", "true" },
          { "/result/\"a/b\" == 2", "true" }, { "/result/m~0n == 3", "true" },
          { "/result/\"m~n\" == 3", "true" }, { "/result/7 == 4", "true" },
          { "/result/\"\\u0074otal\" > 1", "true" }, { "/result/total/x == null", "true" },
          { "/state == \"completed\"", "true" }, { "/attempt == 2", "true" },
          { "/group/failed == null", "true" });
    CHECK("[10,20]", { "/result/0 == 10", "true" }, { "/result/1 == 20", "true" },
          { "/result == [1e1, 20.0]", "true" });
    CHECK("", { "/result == null", "true" }, { "exists(/result)", "false" });
    CHECK("7", { "/result == 7", "true" });
}

static void equality_is_of_type_and_value(void **state)
{
    CHECK(
        order, { "/result/kind == \"invoice\"", "true" },
        { "/result/kind != \"invoice\"", "false" }, { "/result/kind == \"\\u0069nvoice\"", "true" },
        { "/result/paid == true", "true" }, { "/result/paid == false", "false" },
        { "/result/note == null", "true" }, { "/result/missing == null", "true" },
        { "/result/text == 12.5", "false" }, { "number(/result/text) == 12.50", "true" },
        { "/result/big == 9007199254740992", "false" },
        { "/result/big == 9007199254740993.0", "true" }, { "/result/none == []", "true" },
        { "/result/tags == [\"urgent\",\"eu\",7.0]", "true" },
        { "/result/tags == [\"urgent\",\"eu\",8]", "false" },
        { "/result/lines/0 == {\"sku\":\"a\"}", "true" }, { "1 == 1.0", "true" },
        { "/result/kind == /result/kind", "true" }, { "/result/name == \"Za\xc3\xaf\"", "false" });
}

static void order_is_of_numbers_or_of_strings(void **state)
{
    CHECK(order, { "/result/total > 1200", "true" }, { "/result/total >= 1200.5", "true" },
          { "/result/total <= 1200.5", "true" }, { "/result/total < 1200.5", "false" },
          { "/result/big > 9007199254740992", "true" }, { "-1 < 0.0", "true" },
          { "-2e3 < -1.9e3", "true" }, { "1e400 > 1e399", "true" }, { "0 >= -0.0", "true" },
          { "/result/kind < \"j\"", "true" }, { "\"a\" < \"ab\"", "true" },
          { "\"b\" <= \"ab\"", "false" }, { "\"a\" <= \"a\"", "true" },
          { "1e9999999999999999999 > 1", "a number is too large or too small to be compared" },
          { "/result/kind > 5", "\">\" cannot compare /result/kind (a string) with 5 (a number)" },
          { "/result/missing < 5",
            "\"<\" cannot compare /result/missing (missing) with 5 (a number)" },
          { "/result/note < 5", "\"<\" cannot compare /result/note (null) with 5 (a number)" },
          { "/result/paid < /result/tags",
            "\"<\" cannot compare /result/paid (true) with /result/tags (an array)" });
}

static void in_looks_into_arrays_objects_and_strings(void **state)
{
    CHECK(
        order, { "\"eu\" in /result/tags", "true" }, { "7.0 in /result/tags", "true" },
        { "8 in /result/tags", "false" }, { "/result/kind in [\"receipt\", \"invoice\"]", "true" },
        { "/result/kind in []", "false" }, { "null in [null]", "true" },
        { "\"voi\" in /result/kind", "true" }, { "\"\" in /result/kind", "true" },
        { "\"x\" in /result/kind", "false" }, { "\"paid\" in /result", "true" },
        { "\"Paid\" in /result", "false" }, { "[1] in [[1.0], 2]", "true" },
        { "\"\\u0000\" in /result/name", "true" },
        { "5 in /result", "5 is a number, and \"in\" looks for strings in a string or an object" },
        { "\"a\" in /result/missing",
          "/result/missing is missing, and \"in\" needs an array, an object or a string" },
        { "\"a\" in /result/total",
          "/result/total is a number, and \"in\" needs an array, an object or a string" });
}

static void functions_look_at_one_value(void **state)
{
    CHECK(order, { "exists(/result/total)", "true" }, { "exists(/result/note)", "false" },
          { "exists(/result/missing)", "false" }, { "exists( /result/open )", "true" },
          { "empty(/result/none)", "true" }, { "empty(/result/empty)", "true" },
          { "empty(/result/note)", "true" }, { "empty(/result/missing)", "true" },
          { "empty(/result/tags)", "false" }, { "empty(/result/total)", "false" },
          { "length(/result/tags) == 3", "true" }, { "length(/result/lines/0) == 1", "true" },
          { "length(/result/name) == 5", "true" }, { "length(\"\") == 0", "true" },
          { "length(/result/note) == 0", "/result/note is null, and has no length" },
          { "length(/result/total) == 0", "/result/total is a number, and has no length" },
          { "number(/result/total) > 5", "true" }, { "number(\" 5 \") == 5", "true" },
          { "number(/result/kind) > 5", "the string /result/kind is not a number" },
          { "number(\"true\") > 5", "the string \"true\" is not a number" },
          { "number(\"\") > 5", "the string \"\" is not a number" },
          { "number(/result/paid) > 5", "/result/paid is true, not a number" });
}

static void logic_looks_no_further_than_it_must(void **state)
{
    CHECK(order, { "true and true", "true" }, { "true and false", "false" },
          { "false or true", "true" }, { "false or false", "false" }, { "not false", "true" },
          { "not not true", "true" }, { "not /result/paid", "false" }, { "/result/paid", "true" },
          { "true or /result/total", "true" }, { "false and /result/total", "false" },
          { "false or true and false", "false" }, { "(false or true) and not false", "true" },
          { "true or true and false", "true" }, { "not true or true", "true" },
          { "not 1 == 2", "true" }, { "not /result/open and /result/paid", "true" },
          { "false and false or true", "true" }, { "true and false and /result/total", "false" },
          { "(1 == 1) == (2 == 2)", "true" }, { "(1 == 2) == /result/open", "true" });
}

static void an_error_makes_the_whole_false(void **state)
{
    CHECK(order, { "/result/kind", "/result/kind is a string, not true or false" },
          { "/result/missing", "/result/missing is missing, not true or false" },
          { "not /result/total", "/result/total is a number, not true or false" },
          { "not (/result/missing > 1)",
            "\">\" cannot compare /result/missing (missing) with 1 (a number)" },
          { "/result/missing > 1 or true",
            "\">\" cannot compare /result/missing (missing) with 1 (a number)" },
          { "true and /result/total", "/result/total is a number, not true or false" },
          { "/result/tags or true", "/result/tags is an array, not true or false" },
          { "exists(/result/missing) and /result/missing > 1", "false" });
    CHECK("{\"a\":", { "/result/a == 1", "/result/a cannot be read: not valid JSON: the text ends "
                                         "too early at byte 5" });
    CHECK("{\"a\":1,\"a\":2}", { "/state == \"completed\"", "true" });
}

static void spelling_is_free(void **state)
{
    CHECK(
        order, { " \n\t/result/total>1\r\n", "true" },
        { "/result/total>1and true",
          "not a condition: the value at byte 14 is not valid JSON: more text behind the value at "
          "byte 1" },
        { "(((/result/paid)))", "true" }, { "not(/result/open)", "true" },
        { "/result/total!=1", "true" }, { "\"a\"==\"a\"", "true" },
        { "/result/kind in[\"invoice\"]", "true" });
}

static void what_is_no_condition_is_refused_with_its_place(void **state)
{
    CHECK("1",
          { "", "not a condition: it ends at byte 0, where a path, a value, a function or \"(\" is "
                "expected" },
          { "/result ==", "not a condition: it ends at byte 10, where a path, a value, a function "
                          "or \"(\" is expected" },
          { "/result = 1",
            "not a condition: expected an operator or the end instead of '=' at byte 8" },
          { "/result == 1 &&", "not a condition: expected an operator or the end instead of '&' at "
                               "byte 13" },
          { "1 < 2 < 3",
            "not a condition: expected an operator or the end instead of '<' at byte 6" },
          { "true true",
            "not a condition: expected an operator or the end instead of 'true' at byte 5" },
          { "result == 1", "not a condition: expected a path, a value, a function or \"(\" instead "
                           "of 'result' at byte 0" },
          { "notable", "not a condition: expected a path, a value, a function or \"(\" instead of "
                       "'notable' at byte 0" },
          { "\xc3\xa9", "not a condition: expected a path, a value, a function or \"(\" instead of "
                        "'\xc3\xa9' at byte 0" },
          { "(true", "not a condition: it ends at byte 5, where \")\" is expected" },
          { "(true]", "not a condition: expected \")\" instead of ']' at byte 5" },
          { "exists /result",
            "not a condition: expected \"(\" behind the name of a function instead "
            "of '/' at byte 7" },
          { "/results/a == 1", "not a condition: a path begins with /result, /state, "
                               "/attempt, /group, not with '/results' at byte 0" },
          { "/ == 1", "not a condition: a path begins with /result, /state, /attempt, "
                      "/group, not with '/' at byte 0" },
          { "true and /", "not a condition: a path begins with /result, /state, /attempt, "
                          "/group, not with '/' at byte 9" },
          { "/result/ == 1", "not a condition: expected a name, a number or a string behind \"/\" "
                             "instead of ' ' at byte 8" },
          { "/result/a~2", "not a condition: \"~\" without 0 or 1 behind it at byte 9" },
          { "/result/\"a == 1", "not a condition: a string without end at byte 8" },
          { "/result/\"\\x\" == 1", "not a condition: the value at byte 8 is not valid JSON: an "
                                    "unknown escape at byte 1" },
          { "/\"result == 1", "not a condition: a string without end at byte 1" },
          { "/result == \"a", "not a condition: a value without end at byte 11" },
          { "/result == [1,", "not a condition: a value without end at byte 11" },
          { "/result == [1}",
            "not a condition: the value at byte 11 is not valid JSON: neither \",\" "
            "nor \"]\" at byte 2" },
          { "/result == 01", "not a condition: the value at byte 11 is not valid JSON: more text "
                             "behind the value at byte 1" },
          { "tr\x01ue", "not a condition: a control character at byte 2" },
          { "\"\xff\" == /result", "not a condition: it is not UTF-8 at byte 1" });
}

static void what_can_never_hold_is_refused(void **state)
{
    CHECK("1",
          { "1", "not a condition: true or false is needed, and cannot be the value at byte 0" },
          { "length(/result)",
            "not a condition: true or false is needed, and cannot be the value at byte 0" },
          { "true and \"a\"",
            "not a condition: true or false is needed, and cannot be the value at byte 9" },
          { "not null",
            "not a condition: true or false is needed, and cannot be the value at byte 4" },
          { "1 == \"1\"", "not a condition: \"==\" at byte 2 can never hold between its sides" },
          { "1 != true", "not a condition: \"!=\" at byte 2 can never hold between its sides" },
          { "1 < \"2\"", "not a condition: \"<\" at byte 2 can never hold between its sides" },
          { "true < true", "not a condition: \"<\" at byte 5 can never hold between its sides" },
          { "/result in 5", "not a condition: \"in\" at byte 8 can never hold between its sides" },
          { "5 in \"text\"", "not a condition: \"in\" at byte 2 can never hold between its sides" },
          { "length(5) == 1", "not a condition: length() cannot take '5' at byte 7" },
          { "number(true) == 1", "not a condition: number() cannot take 'true' at byte 7" },
          { "empty(1)", "not a condition: empty() cannot take '1' at byte 6" });
}

/* `count` times `each`, then `last`. */
static const char *repeat(const char *each, int count, const char *last)
{
    static char text[4096];
    size_t len = 0;
    for (int i = 0; i < count; i++) {
        len += (size_t)snprintf(text + len, sizeof text - len, "%s", each);
    }
    snprintf(text + len, sizeof text - len, "%s", last);
    return text;
}

static void limits_hold(void **state)
{
    assert_string_equal(judge(repeat("not ", 16, "true"), "1"), "true");
    assert_string_equal(judge(repeat("not ", 17, "true"), "1"),
                        "the condition is nested deeper than 16 levels at byte 68");
    assert_string_equal(judge(repeat("(", 17, "true"), "1"),
                        "the condition is nested deeper than 16 levels at byte 17");
    assert_string_equal(judge(repeat("true and ", 63, "true"), "1"), "true");
    assert_string_equal(judge(repeat("true and ", 64, "true"), "1"),
                        "the condition has more than 64 paths and values at byte 576");
    assert_string_equal(judge(repeat(" ", 1020, "true"), "1"), "true");
    assert_string_equal(judge(repeat(" ", 1021, "true"), "1"),
                        "the condition is longer than 1024 bytes");
    assert_string_equal(judge(repeat("[", 17, "[]] == /result"), "1"),
                        "not a condition: a value without end at byte 0");
    assert_string_equal(judge("/result == [[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]", "1"),
                        "the value at byte 11 of the condition is nested deeper than 16 levels");
}

static void operations_are_bounded(void **state)
{
    const char *each = "not not not not not not not not not not not not not not not not true or ";
    assert_string_equal(judge(repeat(each, 13, "true"), "1"), "true");
    assert_string_equal(judge(repeat(each, 14, "true"), "1"),
                        "the condition has more than 256 operations at byte 960");
}

/* A result as a heap text: `head`, `count` times `each`, `tail`. */
static char *large(const char *head, const char *each, size_t count, const char *tail)
{
    size_t len = strlen(each);
    char *text = malloc(strlen(head) + len * count + strlen(tail) + 1), *at = text;
    assert_non_null(text);
    at = stpcpy(at, head);
    for (size_t i = 0; i < count; i++) {
        at = stpcpy(at, each);
    }
    stpcpy(at, tail);
    return text;
}

static void evaluation_is_bounded(void **state)
{
    char *text = large("\"", "x", 1024 * 1024 - 2, "\"");
    assert_string_equal(judge("length(/result) == 1048574", text), "true");
    assert_string_equal(judge("length(/result) == 1048574 and /result != \"a\" and "
                              "/result == /result and \"y\" in /result",
                              text),
                        "it takes more than 4194304 steps");
    free(text);
    text = large("\"", "x", 1024 * 1024 - 1, "\"");
    assert_string_equal(judge("exists(/result)", text),
                        "/result is in a value of more than 1048576 bytes");
    free(text);
    text = large("[0", ",[0,0,0,0,0,0]", 60000, "]");
    assert_string_equal(judge("[0,0,0,0,0,1] in /result", text), "false");
    free(text);
    text = large("", "[", 40, "1]");
    assert_string_equal(judge("exists(/result)", text),
                        "/result cannot be read: JSON is nested deeper than 32 levels at byte 32");
    free(text);
}

static void a_value_is_parsed_once_for_all_conditions(void **state)
{
    struct pawl__arena arena = { 0 };
    struct pawl__expr_env env = { .arena = &arena };
    struct pawl__expr expr;
    struct pawl__expr_verdict verdict;
    char json[] = "{\"a\":1}";
    const char *text = "/result/a == 1";
    env.values[PAWL__EXPR_RESULT] = (struct pawl_span){ json, strlen(json) };
    assert_int_equal(pawl__expr_compile((struct pawl_span){ text, strlen(text) }, &expr, NULL), 0);
    assert_int_equal(expr.roots, 1 << PAWL__EXPR_RESULT);
    assert_int_equal(pawl__expr_eval(&expr, &env, &verdict), PAWL_OK);
    assert_true(verdict.value);
    const struct pawl__json_token *tokens = env.parsed[PAWL__EXPR_RESULT].tokens;
    assert_int_equal(pawl__expr_eval(&expr, &env, &verdict), PAWL_OK);
    assert_ptr_equal(env.parsed[PAWL__EXPR_RESULT].tokens, tokens);
    pawl__arena_release(&arena);
}

static void roots_are_those_that_are_used(void **state)
{
    struct pawl__expr expr;
    const char *text = "/state == \"completed\" or length(/group) > 1";
    assert_int_equal(pawl__expr_compile((struct pawl_span){ text, strlen(text) }, &expr, NULL), 0);
    assert_int_equal(expr.roots, 1 << PAWL__EXPR_STATE | 1 << PAWL__EXPR_GROUP);
    assert_int_equal(pawl__expr_compile((struct pawl_span){ NULL, 0 }, &expr, NULL), PAWL_ERR_ARG);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_lead_into_json),
        cmocka_unit_test(equality_is_of_type_and_value),
        cmocka_unit_test(order_is_of_numbers_or_of_strings),
        cmocka_unit_test(in_looks_into_arrays_objects_and_strings),
        cmocka_unit_test(functions_look_at_one_value),
        cmocka_unit_test(logic_looks_no_further_than_it_must),
        cmocka_unit_test(an_error_makes_the_whole_false),
        cmocka_unit_test(spelling_is_free),
        cmocka_unit_test(what_is_no_condition_is_refused_with_its_place),
        cmocka_unit_test(what_can_never_hold_is_refused),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(operations_are_bounded),
        cmocka_unit_test(evaluation_is_bounded),
        cmocka_unit_test(a_value_is_parsed_once_for_all_conditions),
        cmocka_unit_test(roots_are_those_that_are_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
