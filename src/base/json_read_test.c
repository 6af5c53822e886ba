/* Tests access to the contents of a document: members, strings, numbers. */
#include <math.h>

#include "base/json_test_kit.h"

enum { DEPTH = 32 };

/* ---- reading ---- */

static void members_are_found_by_their_unescaped_names(void **state)
{
    static const char text[] = "{\"a\":1,\"b\\u0063\":[{\"x\":0}],\"\\ud83d\\ude00\":3,\"\":4,"
                               "\"n\\u0000\":5,\"e\\\"\":6}";
    static const struct {
        const char *name;
        const char *value;
    } cases[] = { { "a", "1" },         { "bc", "[{\"x\":0}]" }, { "\xf0\x9f\x98\x80", "3" },
                  { "", "4" },          { "e\"", "6" },          { "x", NULL },
                  { "b\\u0063", NULL }, { "n", NULL },           { "A", NULL },
                  { "bd", NULL },       { "aa", NULL } };
    struct doc doc;
    doc_parse(&doc, text, strlen(text), DEPTH);
    assert_int_equal(doc.err, PAWL_OK);
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint32_t token = pawl__json_member(&doc.json, 0, cases[i].name);
        if (!cases[i].value) {
            assert_int_equal(token, 0);
            continue;
        }
        assert_int_not_equal(token, 0);
        struct pawl_span span = pawl__json_span(&doc.json, token);
        assert_int_equal(span.len, strlen(cases[i].value));
        assert_memory_equal(span.at, cases[i].value, span.len);
    }
    uint32_t token = pawl__json_member_span(&doc.json, 0, (struct pawl_span){ "n", 2 });
    assert_int_equal(doc.json.text.at[doc.json.tokens[token].at], '5');
    doc_release(&doc);
}

static void empty_object_has_no_members(void **state)
{
    struct doc doc;
    doc_parse(&doc, "[{},\"a\"]", 8, DEPTH);
    assert_int_equal(pawl__json_member(&doc.json, 1, "a"), 0);
    doc_release(&doc);
}

static void strings_are_unescaped(void **state)
{
    static const struct {
        const char *text;
        const char *content;
        size_t len;
    } cases[] = {
        { "\"\"", "", 0 },
        { "\"plain\"", "plain", 5 },
        { "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8 },
        { "\"a\\u0000b\"", "a\0b", 3 },
        { "\"\\u0041\\u00e9\\u20AC\"", "A\xc3\xa9\xe2\x82\xac", 6 },
        { "\"x\\ud83d\\ude00y\"", "x\xf0\x9f\x98\x80y", 6 },
        { "\"\\ud800\\udc00\\udbff\\udfff\"", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 8 },
        { "\"\\\\u0041\"", "\\u0041", 6 },
        { "\"\xe2\x82\xac\\n\xe2\x82\xac\"", "\xe2\x82\xac\n\xe2\x82\xac", 7 },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct doc doc;
        size_t len = 99;
        doc_parse(&doc, cases[i].text, strlen(cases[i].text), DEPTH);
        assert_int_equal(doc.err, PAWL_OK);
        char *content = pawl__json_string(&doc.json, 0, &doc.arena, &len);
        assert_int_equal(len, cases[i].len);
        assert_memory_equal(content, cases[i].content, len + 1); // and a NUL after it
        assert_non_null(pawl__json_string(&doc.json, 0, &doc.arena, NULL));
        doc_release(&doc);
    }
}

/* ---- numbers ---- */

static void whole_numbers_are_integers_however_they_are_spelt(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        { "0", 0 },
        { "-0", 0 },
        { "0.000", 0 },
        { "0e99999999999999999999999", 0 },
        { "-0.0e-99999999999999999999999", 0 },
        { "1", 1 },
        { "-1", -1 },
        { "5.0", 5 },
        { "1e3", 1000 },
        { "1E+3", 1000 },
        { "1000e-3", 1 },
        { "10e-1", 1 },
        { "12.5e1", 125 },
        { "0.00012e5", 12 },
        { "100000000000000000000000000000e-29", 1 },
        { "0.000000000000000000000000000001e30", 1 },
        { "9223372036854775807", INT64_MAX },
        { "-9223372036854775808", INT64_MIN },
        { "9223372036854775807.000", INT64_MAX },
        { "9.223372036854775807e18", INT64_MAX },
        { "-922337203685477580800e-2", INT64_MIN },
        { "9007199254740993", INT64_C(9007199254740993) }, // which no double can represent
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct doc doc;
        int64_t value = 12345;
        doc_parse(&doc, cases[i].text, strlen(cases[i].text), 0);
        if (!pawl__json_int(&doc.json, 0, &value) || value != cases[i].value) {
            fail_msg("%s gave %lld", cases[i].text, (long long)value);
        }
        doc_release(&doc);
    }
}

static void other_values_are_no_integers(void **state)
{
    static const char *const texts[] = {
        "0.5",
        "1.0000000000000000000000001",
        "1e-1",
        "15e-1",
        "9223372036854775808",
        "1e19",
        "-9223372036854775809",
        "1e20",
        "1e400",
        "18446744073709551616",
        "1e-400",
        "1e99999999999999999999999",
        "1e-99999999999999999999999",
        "\"1\"",
        "null",
        "true",
        "[]",
        "{}",
        "99999999999999999999",
        "9223372036854775807.5",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct doc doc;
        int64_t value = 12345;
        doc_parse(&doc, texts[i], strlen(texts[i]), 1);
        assert_int_equal(doc.err, PAWL_OK);
        if (pawl__json_int(&doc.json, 0, &value) || value != 12345) {
            fail_msg("%s gave %lld", texts[i], (long long)value);
        }
        doc_release(&doc);
    }
}

static void doubles_are_the_nearest(void **state)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        { "0", 0 },
        { "-0", -0.0 },
        { "0.1", 0.1 },
        { "-1.5e3", -1500 },
        { "123456789012345678", 123456789012345678.0 },
        { "9007199254740993", 9007199254740992.0 }, // a tie, to even
        { "9007199254740993.0000000000000000000000000001", 9007199254740994.0 },
        { "1.7976931348623157e308", 1.7976931348623157e308 },
        { "5e-324", 5e-324 },
        { "2.2250738585072011e-308", 2.2250738585072011e-308 },
        { "1e-400", 0 },
        { "1e-99999999999999999999999", 0 },
        { "0e99999999999999999999999", 0 },
        { "0.000000000000000000000000000001e30", 1 },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct doc doc;
        double value = 12345;
        doc_parse(&doc, cases[i].text, strlen(cases[i].text), 0);
        assert_true(pawl__json_double(&doc.json, 0, &value));
        if (value != cases[i].value || signbit(value) != signbit(cases[i].value)) {
            fail_msg("%s gave %.17g", cases[i].text, value);
        }
        doc_release(&doc);
    }
}

static void what_is_not_finite_is_no_double(void **state)
{
    static const char *const texts[] = { "1e309", "-1e400", "1e99999999999999999999999",
                                         "\"1\"", "null",   "[]",
                                         "{}",    "true" };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct doc doc;
        double value = 12345;
        doc_parse(&doc, texts[i], strlen(texts[i]), 1);
        assert_false(pawl__json_double(&doc.json, 0, &value));
        assert_true(value == 12345);
        doc_release(&doc);
    }
}

/* A tie that only the last of a thousand digits decides. */
static void far_digits_still_decide_a_tie(void **state)
{
    char text[2000] = "9007199254740993.";
    size_t len = strlen(text);
    memset(text + len, '0', 1500);
    for (int broken = 0; broken < 2; broken++) {
        if (broken) text[len + 1499] = '1';
        struct doc doc;
        double value;
        doc_parse(&doc, text, strlen(text), 0);
        assert_true(pawl__json_double(&doc.json, 0, &value));
        assert_true(value == (broken ? 9007199254740994.0 : 9007199254740992.0));
        doc_release(&doc);
    }
}

static void random_numbers_read_as_the_c_library_reads_them(void **state)
{
    struct pawl__buf text = { 0 };
    for_seeds(seed, 20000)
    {
        struct pawl__rng rng;
        pawl__rng_seed(&rng, seed);
        int64_t whole = (int64_t)pawl__rng_next(&rng) >> pawl__rng_below(&rng, 64);
        struct doc doc;
        pawl__buf_clear(&text);
        pawl__buf_add_int(&text, whole);
        doc_parse(&doc, text.at, text.len, 0);
        int64_t back;
        prove(pawl__json_int(&doc.json, 0, &back) && back == whole);
        doc_release(&doc);
        pawl__buf_add_text(&text, ".");
        for (uint64_t places = 1 + pawl__rng_below(&rng, 30); places > 0; places--) {
            pawl__buf_add_int(&text, (int64_t)pawl__rng_below(&rng, 10));
        }
        pawl__buf_printf(&text, "E%d", (int)pawl__rng_below(&rng, 660) - 340);
        double value = 0, expected = strtod(text.at, NULL); // the test's locale is C
        doc_parse(&doc, text.at, text.len, 0);
        prove(!doc.err);
        bool finite = pawl__json_double(&doc.json, 0, &value);
        prove(finite == (expected - expected == 0));
        if (finite) prove(value == expected);
        doc_release(&doc);
    }
    pawl__buf_release(&text);
}

static int order_of(const char *a, const char *b)
{
    int order = 0;
    if (!pawl__json_compare_numbers((struct pawl_span){ a, strlen(a) },
                                    (struct pawl_span){ b, strlen(b) }, &order)) {
        return 2;
    }
    return order < 0 ? -1 : order > 0;
}

static void numbers_are_compared_exactly(void **state)
{
    static const char *const ascending[][2] = {
        { "-1e400", "-1e399" },  { "-10", "-9.99" },
        { "-1.5", "-1.4" },      { "-0.001", "0" },
        { "-0.0", "1e-400" },    { "0.1", "0.10000000000000000000000000000001" },
        { "0.0999", "0.1" },     { "9.9", "10" },
        { "1", "1.5" },          { "9007199254740992", "9007199254740993" },
        { "123e-2", "1231e-3" }, { "1e399", "1e400" },
    };
    for (size_t i = 0; i < COUNT(ascending); i++) {
        assert_int_equal(order_of(ascending[i][0], ascending[i][1]), -1);
        assert_int_equal(order_of(ascending[i][1], ascending[i][0]), 1);
    }
    static const char *const equal[][2] = {
        { "0", "-0.0e5" },  { "1", "1.000" }, { "10", "1e1" },
        { "0.5", "50e-2" }, { "-1.0", "-1" }, { "0", "0e99999999999999999999" },
    };
    for (size_t i = 0; i < COUNT(equal); i++) {
        assert_int_equal(order_of(equal[i][0], equal[i][1]), 0);
    }
    assert_int_equal(order_of("1e9999999999999999999", "1"), 2);
    assert_int_equal(order_of("1", "1e-9999999999999999999"), 2);
}

static void random_numbers_compare_as_doubles_do(void **state)
{
    for_seeds(seed, 20000)
    {
        struct pawl__rng rng;
        char a[64], b[64];
        pawl__rng_seed(&rng, seed);
        int64_t left = (int64_t)pawl__rng_below(&rng, 2000) - 1000;
        int64_t right = (int64_t)pawl__rng_below(&rng, 2000) - 1000;
        int shift = (int)pawl__rng_below(&rng, 4);
        // both times ten to the power of minus shift, differently spelt
        snprintf(a, sizeof a, "%llde-%d", (long long)left, shift);
        snprintf(b, sizeof b, "%lld.00e-%d", (long long)right, shift);
        prove(order_of(a, b) == (left < right ? -1 : left > right));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_found_by_their_unescaped_names),
        cmocka_unit_test(empty_object_has_no_members),
        cmocka_unit_test(strings_are_unescaped),
        cmocka_unit_test(whole_numbers_are_integers_however_they_are_spelt),
        cmocka_unit_test(other_values_are_no_integers),
        cmocka_unit_test(doubles_are_the_nearest),
        cmocka_unit_test(what_is_not_finite_is_no_double),
        cmocka_unit_test(far_digits_still_decide_a_tie),
        cmocka_unit_test(random_numbers_read_as_the_c_library_reads_them),
        cmocka_unit_test(numbers_are_compared_exactly),
        cmocka_unit_test(random_numbers_compare_as_doubles_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
