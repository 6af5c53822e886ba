#include "base/json_test_kit.h"

static char *canonical(const char *text, size_t len)
{
    struct doc doc;
    struct pawl__buf out = { 0 };
    doc_parse(&doc, text, len, UINT32_MAX);
    if (doc.err) fail_msg("%s: %s", text, doc.diag.text);
    pawl__json_canonical(&doc.json, 0, &doc.arena, &out);
    assert_false(out.failed);
    doc_release(&doc);
    return out.at;
}

static void assert_canonical(const char *text, const char *expected)
{
    char *first = canonical(text, strlen(text));
    assert_string_equal(first, expected);
    char *second = canonical(first, strlen(first));
    assert_string_equal(second, expected); // it is its own canonical form
    free(first);
    free(second);
}

static void structure_is_sorted_and_bare(void **state)
{
    assert_canonical(" null ", "null");
    assert_canonical("[ ]", "[]");
    assert_canonical("{ }", "{}");
    assert_canonical("[ true , false,null ]", "[true,false,null]");
    assert_canonical("{\"b\":1,\"a\":2}", "{\"a\":2,\"b\":1}");
    assert_canonical("{\"b\":{\"d\":[],\"c\":[{\"z\":1,\"y\":{}}]},\"a\":[3,1,2]}",
                     "{\"a\":[3,1,2],\"b\":{\"c\":[{\"y\":{},\"z\":1}],\"d\":[]}}");
}

static void names_are_sorted_by_their_unescaped_bytes(void **state)
{
    assert_canonical("{\"b\":1,\"\\u0061\":2,\"\":3,\"ab\":4,\"a\\u0000\":5,\"B\":6}",
                     "{\"\":3,\"B\":6,\"a\":2,\"a\\u0000\":5,\"ab\":4,\"b\":1}");
    assert_canonical("{\"abcdefgh2\":1,\"abcdefgh10\":2,\"abcdefgh\":3,\"abcdefg\":4}",
                     "{\"abcdefg\":4,\"abcdefgh\":3,\"abcdefgh10\":2,\"abcdefgh2\":1}");
    assert_canonical("{\"\\ud83d\\ude00\":1,\"\\uffff\":2,\"\\u00e9\":3,\"z\":4}",
                     "{\"z\":4,\"\xc3\xa9\":3,\"\xef\xbf\xbf\":2,\"\xf0\x9f\x98\x80\":1}");
}

static void strings_have_minimal_escapes(void **state)
{
    assert_canonical("\"\\u0041\\/\\u00e9\\u20ac\\ud83d\\ude00\"",
                     "\"A/\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
    assert_canonical("\"\\u0008\\u000c\\u000A\\u000d\\u0009\\u0022\\u005C\"",
                     "\"\\b\\f\\n\\r\\t\\\"\\\\\"");
    assert_canonical("\"\\u0000\\u001F\\u007f\"", "\"\\u0000\\u001f\x7f\"");
}

static void numbers_are_exact_decimals(void **state)
{
    static const struct {
        const char *text;
        const char *expected;
    } cases[] = {
        { "0", "0" },
        { "-0", "0" },
        { "0.000e99999999999999999999", "0" },
        { "1", "1" },
        { "1.0", "1" },
        { "10e-1", "1" },
        { "0.1e1", "1" },
        { "-1.50", "-1.5" },
        { "100", "100" },
        { "1e2", "100" },
        { "1e20", "100000000000000000000" },
        { "1e21", "1e+21" },
        { "123e20", "1.23e+22" },
        { "123456789012345678901", "123456789012345678901" },
        { "1234567890123456789012", "1.234567890123456789012e+21" },
        { "12345678901234567890.12", "12345678901234567890.12" },
        { "9007199254740993", "9007199254740993" },
        { "0.1", "0.1" },
        { "0.000001", "0.000001" },
        { "0.0000001", "1e-7" },
        { "0.00000123", "0.00000123" },
        { "0.000000123", "1.23e-7" },
        { "1e400", "1e+400" },
        { "-1e-400", "-1e-400" },
        { "10e399", "1e+400" },
        { "333333333.33333329", "333333333.33333329" },
        { "4.50", "4.5" },
        { "2e-3", "0.002" },
        { "1e999999999999999999", "1e+999999999999999999" },
        { "10e999999999999999999", "1e+1000000000000000000" },
        { "1e1000000000000000000", "1e+1000000000000000000" },
        { "0.1e1000000000000000001", "1e+1000000000000000000" },
        { "0.01e1000000000000000001", "1e+999999999999999999" },
        { "123e99999999999999999999998", "1.23e+100000000000000000000000" },
        { "0.00123e100000000000000000000003", "1.23e+100000000000000000000000" },
        { "1e-1000000000000000000", "1e-1000000000000000000" },
        { "10e-1000000000000000000", "1e-999999999999999999" },
        { "0.1e-999999999999999999", "1e-1000000000000000000" },
        { "123e-100000000000000000000", "1.23e-99999999999999999998" },
        { "0.1e-99999999999999999999", "1e-100000000000000000000" },
        { "1e0000000000000000000000000000000000000003", "1000" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_canonical(cases[i].text, cases[i].expected);
    }
}

static void unequal_numbers_stay_unequal(void **state)
{
    static const char *const texts[] = {
        "1e99999999999999999998",
        "1e99999999999999999999",
        "9007199254740992",
        "9007199254740993",
        "0.1",
        "0.10000000000000000000000000000000001",
        "1e-400",
        "0",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        for (size_t j = 0; j < i; j++) {
            char *a = canonical(texts[i], strlen(texts[i]));
            char *b = canonical(texts[j], strlen(texts[j]));
            assert_string_not_equal(a, b);
            free(a);
            free(b);
        }
    }
}

/* d.ddd times ten to the power of `exponent`, spelt with the point somewhere and zeros around it.
 */
static void spell_number(struct pawl__buf *buf, struct pawl__rng *rng, const char *digits,
                         int64_t exponent)
{
    int64_t len = (int64_t)strlen(digits);
    int64_t before = (int64_t)pawl__rng_below(rng, (uint64_t)len + 1); // digits before the point
    uint64_t zeros = pawl__rng_below(rng, 4);
    pawl__buf_printf(buf, "%.*s", (int)before, before ? digits : "");
    if (before == 0) pawl__buf_add_text(buf, "0");
    if (before < len || zeros) pawl__buf_printf(buf, ".%s", digits + before);
    for (; zeros > 0; zeros--) {
        pawl__buf_add_text(buf, "0");
    }
    int64_t shown = exponent - before + 1;
    if (shown || pawl__rng_below(rng, 2)) {
        pawl__buf_printf(buf, "%c%s%lld", pawl__rng_below(rng, 2) ? 'e' : 'E',
                         shown >= 0 && pawl__rng_below(rng, 2) ? "+" : "", (long long)shown);
    }
}

static void all_spellings_of_a_number_are_one(void **state)
{
    for_seeds(seed, 5000)
    {
        struct pawl__rng rng;
        pawl__rng_seed(&rng, seed);
        char digits[32] = { (char)('1' + pawl__rng_below(&rng, 9)) };
        for (uint64_t i = 1, len = 1 + pawl__rng_below(&rng, 30); i < len; i++) {
            digits[i] = (char)('0' + pawl__rng_below(&rng, 10));
        }
        int64_t exponent = (int64_t)pawl__rng_below(&rng, seed % 2 ? 50 : 2000) - 25;
        struct pawl__buf a = { 0 }, b = { 0 };
        spell_number(&a, &rng, digits, exponent);
        spell_number(&b, &rng, digits, exponent);
        char *canonical_a = canonical(a.at, a.len), *canonical_b = canonical(b.at, b.len);
        prove(strcmp(canonical_a, canonical_b) == 0);
        char *again = canonical(canonical_a, strlen(canonical_a));
        prove(strcmp(canonical_a, again) == 0);
        free(canonical_a);
        free(canonical_b);
        free(again);
        pawl__buf_release(&a);
        pawl__buf_release(&b);
    }
}

static void part_of_a_document_has_a_form_too(void **state)
{
    static const char text[] = "{\"x\":[ {\"b\": 1.0, \"a\": 2} ],\"y\":3}";
    struct doc doc;
    struct pawl__buf out = { 0 };
    doc_parse(&doc, text, strlen(text), 32);
    pawl__buf_add_text(&out, "k:");
    pawl__json_canonical(&doc.json, pawl__json_member(&doc.json, 0, "x"), &doc.arena, &out);
    assert_string_equal(out.at, "k:[{\"a\":2,\"b\":1}]"); // appended
    pawl__buf_release(&out);
    doc_release(&doc);
}

static void deep_documents_need_no_stack(void **state)
{
    enum { LEVELS = 200000 };
    struct pawl__buf text = { 0 };
    for (int i = 0; i < LEVELS; i++) {
        pawl__buf_add_text(&text, i % 2 ? "[" : "{\"\":");
    }
    pawl__buf_add_text(&text, "1");
    for (int i = LEVELS - 1; i >= 0; i--) {
        pawl__buf_add_text(&text, i % 2 ? "]" : "}");
    }
    char *out = canonical(text.at, text.len);
    assert_string_equal(out, text.at);
    free(out);
    pawl__buf_release(&text);
}

static void failed_buffer_stays_failed(void **state)
{
    struct doc doc;
    struct pawl__buf out = { .failed = true };
    doc_parse(&doc, "[1]", 3, 1);
    pawl__json_canonical(&doc.json, 0, &doc.arena, &out);
    assert_true(out.failed);
    doc_release(&doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structure_is_sorted_and_bare),
        cmocka_unit_test(names_are_sorted_by_their_unescaped_bytes),
        cmocka_unit_test(strings_have_minimal_escapes),
        cmocka_unit_test(numbers_are_exact_decimals),
        cmocka_unit_test(unequal_numbers_stay_unequal),
        cmocka_unit_test(all_spellings_of_a_number_are_one),
        cmocka_unit_test(part_of_a_document_has_a_form_too),
        cmocka_unit_test(deep_documents_need_no_stack),
        cmocka_unit_test(failed_buffer_stays_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
