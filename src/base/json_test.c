/* Tests which texts are documents, and their tokens. */
#include "base/json_test_kit.h"

enum { DEPTH = 32 };

struct sample {
    const char *text;
    size_t len; /* 0: strlen */
};

static size_t sample_len(const struct sample *sample)
{
    return sample->len ? sample->len : strlen(sample->text);
}

/* ---- the grammar ---- */

static void what_the_grammar_allows_is_accepted(void **state)
{
    static const struct sample samples[] = {
        { "null" },
        { "true" },
        { "false" },
        { " \t\r\n0 \t\r\n" },
        { "-0" },
        { "0.0" },
        { "-0.5e-10" },
        { "1E+2" },
        { "1e400" },
        { "123456789012345678901234567890.123456789012345678901234567890" },
        { "0e00000000000000000000000000000" },
        { "\"\"" },
        { "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"" },
        { "\"\\u0000\\u001f\\uFFFF\\ufffe\"" },
        { "\"\\ud83d\\ude00\\uD800\\uDC00\\udbff\\udfff\"" },
        { "\"\x7f\xc2\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"" },
        { "[]" },
        { "[ ]" },
        { "{}" },
        { "{ }" },
        { "[1,2 , 3]" },
        { "[[],{},[[]]]" },
        { "{\"a\":1 , \"b\" : {\"a\":[]}}" },
        { "{\"\":1}" },
        { "{\"a\":1,\"A\":2,\"aa\":3,\"\\u0061\\u0000\":4}" },
        { "[{\"a\":1},{\"a\":1}]" },
        { "{\"a\":{\"a\":{\"a\":1}}}" },
    };
    for (size_t i = 0; i < COUNT(samples); i++) {
        struct doc doc;
        doc_parse(&doc, samples[i].text, sample_len(&samples[i]), DEPTH);
        if (doc.err) fail_msg("%s: %s", samples[i].text, doc.diag.text);
        doc_release(&doc);
    }
}

static void what_it_does_not_is_refused_and_placed(void **state)
{
    static const struct {
        struct sample sample;
        const char *text; /* of the diagnosis, behind "not valid JSON: " */
    } cases[] = {
        { { "" }, "the text ends too early at byte 0" },
        { { "  " }, "the text ends too early at byte 2" },
        { { "\0", 1 }, "no value at byte 0" },
        { { "1\0", 2 }, "more text behind the value at byte 1" },
        { { "\xef\xbb\xbf[]" }, "no value at byte 0" }, // byte order mark
        { { "[1]x" }, "more text behind the value at byte 3" },
        { { "1 2" }, "more text behind the value at byte 2" },
        { { "nul" }, "an unknown word at byte 0" },
        { { "nulL" }, "an unknown word at byte 0" },
        { { "True" }, "no value at byte 0" },
        { { "NaN" }, "no value at byte 0" },
        { { "Infinity" }, "no value at byte 0" },
        { { "'a'" }, "no value at byte 0" },
        { { "// x\n1" }, "no value at byte 0" },
        { { "\f1" }, "no value at byte 0" },
        { { "\xc2\xa0"
            "1" },
          "no value at byte 0" },
        { { "01" }, "more text behind the value at byte 1" },
        { { "-01" }, "more text behind the value at byte 2" },
        { { "+1" }, "no value at byte 0" },
        { { ".5" }, "no value at byte 0" },
        { { "-" }, "the text ends too early at byte 1" },
        { { "-a" }, "a number without digits at byte 1" },
        { { "--1" }, "a number without digits at byte 1" },
        { { "1." }, "the text ends too early at byte 2" },
        { { "[1.]" }, "a fraction without digits at byte 3" },
        { { "[1.e5]" }, "a fraction without digits at byte 3" },
        { { "[1e]" }, "an exponent without digits at byte 3" },
        { { "[1e+]" }, "an exponent without digits at byte 4" },
        { { "1e" }, "the text ends too early at byte 2" },
        { { "0x10" }, "more text behind the value at byte 1" },
        { { "1_000" }, "more text behind the value at byte 1" },
        { { "\"" }, "the text ends too early at byte 1" },
        { { "\"abc" }, "the text ends too early at byte 4" },
        { { "\"a\nb\"" }, "a control character in a string at byte 2" },
        { { "\"a\0b\"", 5 }, "a control character in a string at byte 2" },
        { { "\"12345678\x1f\"" }, "a control character in a string at byte 9" },
        { { "\"\\" }, "an unknown escape at byte 1" },
        { { "\"\\\"" }, "the text ends too early at byte 3" },
        { { "\"\\x41\"" }, "an unknown escape at byte 1" },
        { { "\"\\0\"" }, "an unknown escape at byte 1" },
        { { "\"\\\0\"", 4 }, "an unknown escape at byte 1" },
        { { "\"\\u12\"" }, "an escape without four hexadecimal digits at byte 1" },
        { { "\"\\u123g\"" }, "an escape without four hexadecimal digits at byte 1" },
        { { "\"\\u+123\"" }, "an escape without four hexadecimal digits at byte 1" },
        { { "\"\\u12" }, "an escape without four hexadecimal digits at byte 1" },
        { { "\"\\U0041\"" }, "an unknown escape at byte 1" },
        { { "\"ab\\ud800\"" }, "a surrogate without its partner at byte 3" },
        { { "\"\\udc00\"" }, "a surrogate without its partner at byte 1" },
        { { "\"\\ud800\\ud800\"" }, "a surrogate without its partner at byte 1" },
        { { "\"\\ud800x\\udc00\"" }, "a surrogate without its partner at byte 1" },
        { { "\"\\ud800\\n\"" }, "a surrogate without its partner at byte 1" },
        { { "\"\\ud800\\u\"" }, "a surrogate without its partner at byte 1" },
        { { "\"\\ud800\\udc0\"" }, "a surrogate without its partner at byte 1" },
        { { "\"\\udc00\\udc00\"" }, "a surrogate without its partner at byte 1" },
        { { "\"\\udc00\\ud800\"" }, "a surrogate without its partner at byte 1" },
        { { "\"a\xff\"" }, "a string that is not UTF-8 at byte 2" },
        { { "\"\xc0\x80\"" }, "a string that is not UTF-8 at byte 1" },
        { { "\"\xc3\"" }, "a string that is not UTF-8 at byte 1" },
        { { "\"\xc3" }, "a string that is not UTF-8 at byte 1" },
        { { "\"\xed\xa0\x80\"" }, "a string that is not UTF-8 at byte 1" },
        { { "\"\xf4\x90\x80\x80\"" }, "a string that is not UTF-8 at byte 1" },
        { { "\"1234567\xf5\"" }, "a string that is not UTF-8 at byte 8" },
        { { "[" }, "the text ends too early at byte 1" },
        { { "[1" }, "the text ends too early at byte 2" },
        { { "[1," }, "the text ends too early at byte 3" },
        { { "[1,]" }, "no value at byte 3" },
        { { "[,1]" }, "no value at byte 1" },
        { { "[1,,2]" }, "no value at byte 3" },
        { { "[1 2]" }, "neither \",\" nor \"]\" at byte 3" },
        { { "[1}" }, "neither \",\" nor \"]\" at byte 2" },
        { { "[1:2]" }, "neither \",\" nor \"]\" at byte 2" },
        { { "]" }, "no value at byte 0" },
        { { "}" }, "no value at byte 0" },
        { { "[]]" }, "more text behind the value at byte 2" },
        { { "{" }, "the text ends too early at byte 1" },
        { { "{\"a\"" }, "the text ends too early at byte 4" },
        { { "{\"a\":" }, "the text ends too early at byte 5" },
        { { "{\"a\":1" }, "the text ends too early at byte 6" },
        { { "{\"a\":1," }, "the text ends too early at byte 7" },
        { { "{\"a\":1,}" }, "no member name in quotes at byte 7" },
        { { "{,}" }, "no member name in quotes at byte 1" },
        { { "{a:1}" }, "no member name in quotes at byte 1" },
        { { "{1:1}" }, "no member name in quotes at byte 1" },
        { { "{\"a\" 1}" }, "no \":\" after a member's name at byte 5" },
        { { "{\"a\",1}" }, "no \":\" after a member's name at byte 4" },
        { { "{\"a\":}" }, "no value at byte 5" },
        { { "{\"a\":1]" }, "neither \",\" nor \"}\" at byte 6" },
        { { "{\"a\":1 \"b\":2}" }, "neither \",\" nor \"}\" at byte 7" },
        { { "{\"a\"::1}" }, "no value at byte 5" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct doc doc;
        char expected[200];
        snprintf(expected, sizeof expected, "not valid JSON: %s", cases[i].text);
        doc_parse(&doc, cases[i].sample.text, sample_len(&cases[i].sample), DEPTH);
        if (doc.err != PAWL_ERR_ARG || doc.diag.err != PAWL_ERR_ARG ||
            strcmp(doc.diag.text, expected) != 0) {
            fail_msg("%s: %d, %s", cases[i].sample.text, doc.err, doc.diag.text);
        }
        assert_null(doc.json.tokens); // set only on success
        doc_release(&doc);
    }
}

/* Strings are scanned in words of several bytes: no byte may be missed. */
static void bytes_in_a_string_are_judged_wherever_they_stand(void **state)
{
    enum { LEN = 40 };
    for (int byte = 0; byte < 256; byte++) {
        bool plain = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
        for (int at = 0; at < LEN; at++) {
            char text[LEN + 2];
            struct doc doc;
            memset(text, at % 2 ? ' ' : 0x7f, sizeof text); // next to a refused byte
            text[0] = text[LEN + 1] = '"';
            text[1 + at] = (char)byte;
            doc_parse(&doc, text, sizeof text, DEPTH);
            if ((doc.err == PAWL_OK) != plain) fail_msg("byte %02x at %d: %d", byte, at, doc.err);
            if (plain) assert_int_equal(doc.json.tokens[0].count, LEN);
            doc_release(&doc);
        }
    }
}

static void nothing_at_all_is_no_document(void **state)
{
    struct pawl__arena arena = { 0 };
    struct pawl__json json;
    assert_int_equal(pawl__json_parse((struct pawl_span){ 0 }, DEPTH, &arena, &json, NULL),
                     PAWL_ERR_ARG);
    pawl__arena_release(&arena);
}

static void every_cut_of_a_document_is_refused(void **state)
{
    static const char text[] =
        "{\"a\":[1.5e-7,\"\\ud83d\\ude00\xe2\x82\xac\",true],\"b\":{\"c\":null}}";
    for (size_t len = 0; len < sizeof text; len++) {
        struct doc doc;
        doc_parse(&doc, text, len, DEPTH);
        assert_int_equal(doc.err, len == sizeof text - 1 ? PAWL_OK : PAWL_ERR_ARG);
        doc_release(&doc);
    }
}

/* ---- tokens ---- */

static void tokens_come_in_document_order_with_their_spans(void **state)
{
    static const char text[] = " {\"a\" : [1, \"x\\n\"] ,\"b\":{} }";
    static const struct {
        enum pawl__json_type type;
        const char *span;
        uint32_t next, count;
    } expected[] = {
        { PAWL__JSON_OBJECT, "{\"a\" : [1, \"x\\n\"] ,\"b\":{} }", 7, 2 },
        { PAWL__JSON_STRING, "\"a\"", 2, 1 },
        { PAWL__JSON_ARRAY, "[1, \"x\\n\"]", 5, 2 },
        { PAWL__JSON_NUMBER, "1", 4, 0 },
        { PAWL__JSON_STRING, "\"x\\n\"", 5, 2 },
        { PAWL__JSON_STRING, "\"b\"", 6, 1 },
        { PAWL__JSON_OBJECT, "{}", 7, 0 },
    };
    struct doc doc;
    doc_parse(&doc, text, strlen(text), DEPTH);
    assert_int_equal(doc.err, PAWL_OK);
    assert_int_equal(doc.json.count, COUNT(expected));
    for (uint32_t i = 0; i < COUNT(expected); i++) {
        struct pawl_span span = pawl__json_span(&doc.json, i);
        assert_int_equal(doc.json.tokens[i].type, expected[i].type);
        assert_int_equal(doc.json.tokens[i].next, expected[i].next);
        assert_int_equal(doc.json.tokens[i].count, expected[i].count);
        assert_int_equal(span.len, strlen(expected[i].span));
        assert_memory_equal(span.at, expected[i].span, span.len);
    }
    doc_release(&doc);
}

static void values_pass_through_byte_for_byte(void **state)
{
    static const char args[] = "[ 12345678901234567890.10, 1e400,\t-0.0, \"\\u0041\\/\", {\"z\":1,"
                               "\"a\":2} , 9007199254740993 ]";
    char text[300];
    int len = snprintf(text, sizeof text, "{\"args\":%s,\"x\":1}", args);
    struct doc doc;
    doc_parse(&doc, text, (size_t)len, DEPTH);
    assert_int_equal(doc.err, PAWL_OK);
    struct pawl_span span = pawl__json_span(&doc.json, pawl__json_member(&doc.json, 0, "args"));
    assert_int_equal(span.len, strlen(args));
    assert_memory_equal(span.at, args, span.len);
    doc_release(&doc);
}

static void many_tokens_outgrow_the_first_guess(void **state)
{
    enum { ELEMENTS = 300000 };
    struct pawl__buf buf = { 0 };
    for (int i = 0; i < ELEMENTS; i++) {
        pawl__buf_add_text(&buf, i == 0 ? "[1" : ",1");
    }
    pawl__buf_add_text(&buf, "]");
    struct doc doc;
    doc_parse(&doc, buf.at, buf.len, DEPTH);
    assert_int_equal(doc.err, PAWL_OK);
    assert_int_equal(doc.json.count, ELEMENTS + 1);
    assert_int_equal(doc.json.tokens[0].count, ELEMENTS);
    assert_int_equal(doc.json.tokens[0].next, ELEMENTS + 1);
    assert_int_equal(doc.json.tokens[ELEMENTS].at, buf.len - 2);
    doc_release(&doc);
    pawl__buf_release(&buf);
}

/* ---- depth ---- */

static void parse_nested(struct doc *doc, uint32_t levels, uint32_t depth_max, const char *open,
                         const char *close)
{
    struct pawl__buf buf = { 0 };
    for (uint32_t i = 0; i < levels; i++) {
        pawl__buf_add_text(&buf, open);
    }
    pawl__buf_add_text(&buf, "1");
    for (uint32_t i = 0; i < levels; i++) {
        pawl__buf_add_text(&buf, close);
    }
    doc_parse(doc, buf.at, buf.len, depth_max);
    pawl__buf_release(&buf);
}

static void depth_is_bounded_exactly(void **state)
{
    static const uint32_t depths[] = { 0, 1, 2, 32, 1000 };
    for (size_t i = 0; i < COUNT(depths); i++) {
        for (int kind = 0; kind < 2; kind++) {
            const char *open = kind ? "{\"k\":" : "[", *close = kind ? "}" : "]";
            struct doc doc;
            parse_nested(&doc, depths[i], depths[i], open, close);
            assert_int_equal(doc.err, PAWL_OK);
            doc_release(&doc);
            parse_nested(&doc, depths[i] + 1, depths[i], open, close);
            assert_int_equal(doc.err, PAWL_ERR_LIMIT);
            assert_non_null(strstr(doc.diag.text, "deeper than"));
            doc_release(&doc);
        }
    }
}

static void width_is_not_depth(void **state)
{
    static const char text[] = "[[],[],{},[{},{}],[]]";
    struct doc doc;
    doc_parse(&doc, text, strlen(text), 3);
    assert_int_equal(doc.err, PAWL_OK);
    doc_release(&doc);
}

static void a_million_levels_need_no_stack(void **state)
{
    struct doc doc;
    parse_nested(&doc, 1000000, UINT32_MAX, "[", "]");
    assert_int_equal(doc.err, PAWL_OK);
    assert_int_equal(doc.json.count, 1000001);
    assert_int_equal(doc.json.tokens[500000].next, 1000001);
    doc_release(&doc);
    parse_nested(&doc, 1000000, 32, "[", "]");
    assert_int_equal(doc.err, PAWL_ERR_LIMIT);
    doc_release(&doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_grammar_allows_is_accepted),
        cmocka_unit_test(what_it_does_not_is_refused_and_placed),
        cmocka_unit_test(bytes_in_a_string_are_judged_wherever_they_stand),
        cmocka_unit_test(nothing_at_all_is_no_document),
        cmocka_unit_test(every_cut_of_a_document_is_refused),
        cmocka_unit_test(tokens_come_in_document_order_with_their_spans),
        cmocka_unit_test(values_pass_through_byte_for_byte),
        cmocka_unit_test(many_tokens_outgrow_the_first_guess),
        cmocka_unit_test(depth_is_bounded_exactly),
        cmocka_unit_test(width_is_not_depth),
        cmocka_unit_test(a_million_levels_need_no_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
