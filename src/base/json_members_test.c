/* Members of one name, refused or the last of them taken, and how many members and values a
 * document may have. */
#include "base/json_test_kit.h"

enum { DEPTH = 32 };

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
        "{\"a\":1,\"a\\u0000\":2,\"a\\u0000\\u0000\":3}", // zeros beyond the end are not content
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

/* Each value is its position in the text, so the last value of a name is its greatest. */
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

/* "[1,1,...]" of `count` numbers; the rules allow `most` tokens in total. */
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
        assert_non_null(strstr(diag.text, "JSON contains more than"));
    }
    assert_int_equal(parse_numbers(5000, 0, &diag), PAWL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(duplicate_members_are_refused),
        cmocka_unit_test(names_that_only_look_alike_are_not_duplicates),
        cmocka_unit_test(duplicates_are_found_in_objects_of_any_size),
        cmocka_unit_test(long_duplicate_names_are_shown_in_part),
        cmocka_unit_test(of_members_with_one_name_the_last_wins_when_asked),
        cmocka_unit_test(a_text_without_repeats_is_not_copied),
        cmocka_unit_test(the_last_wins_in_objects_of_any_size),
        cmocka_unit_test(an_object_has_no_more_members_than_the_rules_allow),
        cmocka_unit_test(there_are_no_more_tokens_than_the_rules_allow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
