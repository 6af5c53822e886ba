#include <math.h>

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

/* Strings are scanned in words of several bytes: no byte may hide in one. */
static void bytes_in_a_string_are_judged_wherever_they_stand(void **state)
{
    enum { LEN = 40 };
    for (int byte = 0; byte < 256; byte++) {
        bool plain = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
        for (int at = 0; at < LEN; at++) {
            char text[LEN + 2];
            struct doc doc;
            memset(text, at % 2 ? ' ' : 0x7f, sizeof text); // the neighbours of what is refused
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

/* ---- duplicates ---- */

static void duplicate_members_are_refused(void **state)
{
    static const struct {
        const char *text;
        const char *diag;
    } cases[] = {
        { "{\"a\":1,\"a\":1}", "member \"a\" occurs twice, at byte 7" },
        { "{\"a\":1,\"\\u0061\":1}", "member \"\\u0061\" occurs twice, at byte 7" },
        { "{\"\\u0061\":1,\"b\":2,\"a\":1}", "member \"a\" occurs twice, at byte 18" },
        { "{\"\":1,\"\":1}", "member \"\" occurs twice, at byte 6" },
        { "{\"/\":1,\"\\/\":1}", "member \"\\/\" occurs twice, at byte 7" },
        { "{\"\\n\":1,\"\\u000A\":1}", "member \"\\u000A\" occurs twice, at byte 8" },
        { "{\"\xf0\x9f\x98\x80\":1,\"\\ud83d\\uDE00\":1}",
          "member \"\\ud83d\\uDE00\" occurs twice, at byte 10" },
        { "{\"\\u0000\":1,\"\\u0000\":1}", "member \"\\u0000\" occurs twice, at byte 12" },
        { "{\"a_long_name_1\":1,\"a_long_name_2\":1,\"a_long_name_1\":1}",
          "member \"a_long_name_1\" occurs twice, at byte 37" },
        { "[{\"x\":{\"a\":[],\"a\":{}}}]", "member \"a\" occurs twice, at byte 14" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct doc doc;
        char expected[200];
        snprintf(expected, sizeof expected, "not valid JSON: %s", cases[i].diag);
        doc_parse(&doc, cases[i].text, strlen(cases[i].text), DEPTH);
        assert_int_equal(doc.err, PAWL_ERR_ARG);
        assert_string_equal(doc.diag.text, expected);
        doc_release(&doc);
    }
}

static void names_that_only_look_alike_are_not_duplicates(void **state)
{
    static const char *const texts[] = {
        "{\"a\":1,\"a\\u0000\":2,\"a\\u0000\\u0000\":3}", // zeros beyond the end are no content
        "{\"\":1,\"\\u0000\":2}",
        "{\"abcdefgh\":1,\"abcdefghi\":2,\"abcdefgx\":3}",
        "{\"\\\\u0061\":1,\"a\":2}",
        "{\"\xc3\xa9\":1,\"e\xcc\x81\":2}", // composed or not: other bytes, other names
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct doc doc;
        doc_parse(&doc, texts[i], strlen(texts[i]), DEPTH);
        if (doc.err) fail_msg("%s: %s", texts[i], doc.diag.text);
        doc_release(&doc);
    }
}

/* One name in three is spelt with an escape. */
static void add_name(struct pawl__buf *buf, uint64_t number)
{
    pawl__buf_printf(buf, number % 3 ? "\"member_%llu\":1" : "\"\\u006dember_%llu\":1",
                     (unsigned long long)number);
}

static void duplicates_are_found_in_objects_of_any_size(void **state)
{
    for_seeds(seed, 150)
    {
        struct pawl__rng rng;
        pawl__rng_seed(&rng, seed);
        uint64_t members = 2 + pawl__rng_below(&rng, seed % 10 ? 80 : 5000);
        uint64_t later = 1 + pawl__rng_below(&rng, members - 1);
        uint64_t earlier = pawl__rng_below(&rng, later);
        for (int duplicate = 0; duplicate < 2; duplicate++) {
            struct pawl__buf buf = { 0 };
            size_t at = 0;
            for (uint64_t i = 0; i < members; i++) {
                pawl__buf_add_text(&buf, i ? "," : "{");
                if (i == later) at = buf.len;
                add_name(&buf, (duplicate && i == later ? earlier : i) * 7919 % 1000003);
            }
            pawl__buf_add_text(&buf, "}");
            struct doc doc;
            doc_parse(&doc, buf.at, buf.len, DEPTH);
            prove(doc.err == (duplicate ? PAWL_ERR_ARG : PAWL_OK));
            if (duplicate) {
                char where[40];
                snprintf(where, sizeof where, "occurs twice, at byte %zu", at);
                prove(strstr(doc.diag.text, where));
            }
            doc_release(&doc);
            pawl__buf_release(&buf);
        }
    }
}

static void long_duplicate_names_are_shown_in_part(void **state)
{
    struct pawl__buf buf = { 0 };
    pawl__buf_add_text(&buf, "{\"");
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 100; i++) {
            pawl__buf_add_text(&buf, "\xe2\x82\xac");
        }
        pawl__buf_add_text(&buf, round ? "\":1}" : "\":1,\"");
    }
    struct doc doc;
    doc_parse(&doc, buf.at, buf.len, DEPTH);
    assert_int_equal(doc.err, PAWL_ERR_ARG);
    const char *name = strchr(doc.diag.text, '"'), *end = strstr(doc.diag.text, " occurs");
    assert_true(name && end && end - name <= 64);
    assert_int_equal((end - name - 1) % 3, 0); // whole characters
    doc_release(&doc);
    pawl__buf_release(&buf);
}

/* ---- the last one wins ---- */

static enum pawl_err parse_last(const char *text, size_t len, struct pawl__arena *arena,
                                struct pawl__json *json)
{
    struct pawl__json_rules rules = { .depth_max = DEPTH, .last_wins = true };
    return pawl__json_parse_by((struct pawl_span){ text, len }, &rules, arena, json, NULL);
}

static void of_members_with_one_name_the_last_wins_when_asked(void **state)
{
    static const struct {
        const char *text, *left;
    } cases[] = {
        { "{\"a\":1,\"a\":2}", "{\"a\":2}" },
        { "{\"a\":1,\"a\":2,\"a\":3}", "{\"a\":3}" },
        { " { \"a\" : 1 , \"b\":0,\"a\":2 } ", " { \"b\":0,\"a\":2 } " },
        { "{\"a\":1,\"b\":2,\"\\u0061\":3}", "{\"b\":2,\"\\u0061\":3}" },
        { "{\"a\":{\"x\":1,\"x\":2},\"a\":{\"y\":1,\"y\":2}}", "{\"a\":{\"y\":2}}" },
        { "{\"a\":{\"x\":1,\"x\":2},\"b\":1}", "{\"a\":{\"x\":2},\"b\":1}" },
        { "[{\"a\":1,\"a\":2},{\"a\":3,\"b\":4}]", "[{\"a\":2},{\"a\":3,\"b\":4}]" },
        { "{\"a\":[],\"b\":1,\"a\":[],\"b\":2}", "{\"a\":[],\"b\":2}" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pawl__arena arena = { 0 };
        struct pawl__json json;
        assert_int_equal(parse_last(cases[i].text, strlen(cases[i].text), &arena, &json), PAWL_OK);
        assert_int_equal(json.text.len, strlen(cases[i].left));
        assert_memory_equal(json.text.at, cases[i].left, json.text.len);
        pawl__arena_release(&arena);
    }
}

static void a_text_without_repeats_is_not_copied(void **state)
{
    static const char text[] = "{\"a\":[{\"a\":1},{\"a\":1}],\"b\":{\"a\":2}}";
    struct pawl__arena arena = { 0 };
    struct pawl__json json;
    assert_int_equal(parse_last(text, strlen(text), &arena, &json), PAWL_OK);
    assert_ptr_equal(json.text.at, text);
    pawl__arena_release(&arena);
}

/* Each value is its place in the text, so that the survivor of a name must be its greatest. */
static void the_last_wins_in_objects_of_any_size(void **state)
{
    for_seeds(seed, 100)
    {
        struct pawl__rng rng;
        struct pawl__buf buf = { 0 };
        struct pawl__arena arena = { 0 };
        struct pawl__json json;
        int64_t last[64];
        pawl__rng_seed(&rng, seed);
        uint64_t names = 1 + pawl__rng_below(&rng, COUNT(last));
        int64_t members = 1 + (int64_t)pawl__rng_below(&rng, seed % 10 ? 60 : 3000);
        memset(last, -1, sizeof last);
        for (int64_t i = 0; i < members; i++) {
            uint64_t name = pawl__rng_below(&rng, names);
            last[name] = i;
            pawl__buf_printf(&buf, "%s\"%s%d\":%lld", i ? "," : "{", i % 2 ? "n" : "\\u006e",
                             (int)name, (long long)i);
        }
        pawl__buf_add_text(&buf, "}");
        prove(parse_last(buf.at, buf.len, &arena, &json) == PAWL_OK);
        uint32_t left = 0;
        for (uint64_t name = 0; name < names; name++) {
            char text[16];
            int64_t value = -1;
            snprintf(text, sizeof text, "n%d", (int)name);
            uint32_t token = pawl__json_member(&json, 0, text);
            if (token) prove(pawl__json_int(&json, token, &value));
            prove(value == last[name]);
            left += token != 0;
        }
        prove(json.tokens[0].count == left);
        pawl__arena_release(&arena);
        pawl__buf_release(&buf);
    }
}

static void an_object_has_no_more_members_than_the_rules_allow(void **state)
{
    static const struct {
        const char *text;
        enum pawl_err err;
    } cases[] = {
        { "{\"a\":1,\"b\":2}", PAWL_OK },
        { "[1,2,3,{\"a\":1,\"b\":2},{\"c\":1}]", PAWL_OK },
        { "{\"a\":1,\"b\":2,\"c\":3}", PAWL_ERR_LIMIT },
        { "{\"a\":1,\"a\":2,\"a\":3}", PAWL_ERR_LIMIT },
        { "[{\"a\":{\"a\":1,\"b\":2,\"c\":3}}]", PAWL_ERR_LIMIT },
    };
    struct pawl__json_rules rules = { .depth_max = DEPTH, .members_max = 2, .last_wins = true };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pawl__arena arena = { 0 };
        struct pawl__json json;
        struct pawl_diag diag = { 0 };
        struct pawl_span text = { cases[i].text, strlen(cases[i].text) };
        assert_int_equal(pawl__json_parse_by(text, &rules, &arena, &json, &diag), cases[i].err);
        if (cases[i].err) assert_non_null(strstr(diag.text, "more than 2 members"));
        pawl__arena_release(&arena);
    }
}

/* "[1,1,...]" of `count` numbers, of which the rules allow `most` tokens in all. */
static enum pawl_err parse_numbers(size_t count, uint32_t most, struct pawl_diag *diag)
{
    struct pawl__json_rules rules = { .depth_max = DEPTH, .tokens_max = most };
    struct pawl__arena arena = { 0 };
    struct pawl__buf text = { 0 };
    struct pawl__json json;
    for (size_t i = 0; i < count; i++) {
        pawl__buf_add_text(&text, i ? ",1" : "[1");
    }
    pawl__buf_add_text(&text, "]");
    assert_false(text.failed);
    enum pawl_err err =
        pawl__json_parse_by((struct pawl_span){ text.at, text.len }, &rules, &arena, &json, diag);
    if (!err) assert_int_equal(json.count, count + 1);
    pawl__buf_release(&text);
    pawl__arena_release(&arena);
    return err;
}

static void there_are_no_more_tokens_than_the_rules_allow(void **state)
{
    (void)state;
    struct pawl_diag diag = { 0 };
    static const uint32_t mosts[] = { 2, 3, 5, 1023, 1024, 1025, 3000 }; // around the first guess
    for (size_t i = 0; i < COUNT(mosts); i++) {
        assert_int_equal(parse_numbers(mosts[i] - 1, mosts[i], &diag), PAWL_OK);
        assert_int_equal(parse_numbers(mosts[i], mosts[i], &diag), PAWL_ERR_LIMIT);
        assert_non_null(strstr(diag.text, "JSON holds more than"));
    }
    assert_int_equal(parse_numbers(5000, 0, &diag), PAWL_OK);
}

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
        assert_memory_equal(content, cases[i].content, len + 1); // and a NUL behind it
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
        { "9007199254740993", INT64_C(9007199254740993) }, // which no double holds
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

/* A tie that only the last of a thousand digits breaks. */
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
        cmocka_unit_test(duplicate_members_are_refused),
        cmocka_unit_test(names_that_only_look_alike_are_not_duplicates),
        cmocka_unit_test(duplicates_are_found_in_objects_of_any_size),
        cmocka_unit_test(long_duplicate_names_are_shown_in_part),
        cmocka_unit_test(of_members_with_one_name_the_last_wins_when_asked),
        cmocka_unit_test(a_text_without_repeats_is_not_copied),
        cmocka_unit_test(the_last_wins_in_objects_of_any_size),
        cmocka_unit_test(an_object_has_no_more_members_than_the_rules_allow),
        cmocka_unit_test(there_are_no_more_tokens_than_the_rules_allow),
        cmocka_unit_test(members_are_found_by_their_unescaped_names),
        cmocka_unit_test(empty_object_has_no_members),
        cmocka_unit_test(strings_are_unescaped),
        cmocka_unit_test(whole_numbers_are_integers_however_they_are_spelt),
        cmocka_unit_test(other_values_are_no_integers),
        cmocka_unit_test(doubles_are_the_nearest),
        cmocka_unit_test(what_is_not_finite_is_no_double),
        cmocka_unit_test(far_digits_still_decide_a_tie),
        cmocka_unit_test(random_numbers_read_as_the_c_library_reads_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
