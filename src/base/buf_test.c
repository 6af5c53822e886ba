#include "base/buf.h"

#include "base/json.h"
#include "base/utf8.h"

#include "base/test_kit.h"

static void content_is_always_terminated(void **state)
{
    struct pawl__buf buf = { 0 };
    for (size_t i = 0; i < 3000; i++) {
        pawl__buf_add(&buf, "x", 1);
        assert_int_equal(buf.len, i + 1);
        assert_int_equal(strlen(buf.at), i + 1);
    }
    assert_false(buf.failed);
    pawl__buf_release(&buf);
}

static void adding_nothing_makes_an_empty_text(void **state)
{
    struct pawl__buf buf = { 0 };
    pawl__buf_add_text(&buf, "");
    assert_string_equal(buf.at, "");
    pawl__buf_release(&buf);
    pawl__buf_add(&buf, NULL, 0);
    assert_string_equal(buf.at, "");
    pawl__buf_release(&buf);
    pawl__buf_release(&buf);
    assert_null(buf.at);
}

static void own_bytes_are_added_again(void **state)
{
    struct pawl__buf buf = { 0 };
    pawl__buf_add_text(&buf, "abc");
    for (int i = 0; i < 12; i++) { // grows, and so moves, again and again
        pawl__buf_add_again(&buf, 0, buf.len);
    }
    assert_int_equal(buf.len, 3 << 12);
    for (size_t i = 0; i < buf.len; i++) {
        assert_int_equal(buf.at[i], "abc"[i % 3]);
    }
    pawl__buf_clear(&buf);
    pawl__buf_add_text(&buf, "0123");
    pawl__buf_add_again(&buf, 1, 3);
    pawl__buf_add_again(&buf, 2, 2);
    assert_string_equal(buf.at, "012312");
    buf.failed = true;
    pawl__buf_add_again(&buf, 0, 100);
    assert_int_equal(buf.len, 6);
    pawl__buf_release(&buf);
}

static void bytes_may_be_nul(void **state)
{
    struct pawl__buf buf = { 0 };
    pawl__buf_add(&buf, "a\0b", 3);
    pawl__buf_add(&buf, "\0", 1);
    assert_int_equal(buf.len, 4);
    assert_memory_equal(buf.at, "a\0b\0", 5);
    pawl__buf_release(&buf);
}

static void integers_print_to_their_ends(void **state)
{
    static const int64_t values[] = { 0, 1, -1, 9, 10, -10, 1234567890123, INT64_MAX, INT64_MIN };
    for (size_t i = 0; i < COUNT(values); i++) {
        struct pawl__buf buf = { 0 };
        char expected[32];
        snprintf(expected, sizeof expected, "%lld", (long long)values[i]);
        pawl__buf_add_int(&buf, values[i]);
        assert_string_equal(buf.at, expected);
        pawl__buf_release(&buf);
    }
}

static void printf_grows_as_needed(void **state)
{
    struct pawl__buf buf = { 0 };
    char *expected = calloc(1, 10001);
    memset(expected, 'y', 10000);
    for (int len = 0; len <= 10000; len = len * 3 + 1) {
        pawl__buf_clear(&buf);
        pawl__buf_printf(&buf, "<%.*s>", len, expected);
        assert_int_equal(buf.len, len + 2);
        assert_int_equal(strlen(buf.at), len + 2);
        assert_memory_equal(buf.at + 1, expected, len);
    }
    free(expected);
    pawl__buf_release(&buf);
}

static void failure_is_remembered_until_cleared(void **state)
{
    struct pawl__buf buf = { 0 };
    pawl__buf_add_text(&buf, "kept");
    pawl__buf_add(&buf, "", SIZE_MAX - 2); // cannot be allocated; none of it is read
    assert_true(buf.failed);
    pawl__buf_add_text(&buf, "lost");
    pawl__buf_add_int(&buf, 5);
    pawl__buf_printf(&buf, "%d", 5);
    pawl__buf_add_json(&buf, "x", 1);
    assert_string_equal(buf.at, "kept");
    assert_int_equal(buf.len, 4);
    pawl__buf_clear(&buf);
    pawl__buf_add_text(&buf, "again");
    assert_false(buf.failed);
    assert_string_equal(buf.at, "again");
    pawl__buf_release(&buf);
}

static void json_escapes_what_it_must_and_no_more(void **state)
{
    static const struct {
        const char *in;
        size_t len;
        const char *out;
    } cases[] = {
        { "", 0, "\"\"" },
        { NULL, 0, "\"\"" },
        { "plain", 5, "\"plain\"" },
        { "\"\\/", 3, "\"\\\"\\\\/\"" },
        { "\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\"" },
        { "\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\x7f\"" },
        { "a\0b", 3, "\"a\\u0000b\"" },
        { "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pawl__buf buf = { 0 };
        pawl__buf_add_json(&buf, cases[i].in, cases[i].len);
        assert_string_equal(buf.at, cases[i].out);
        pawl__buf_release(&buf);
    }
}

#define FFFD "\xef\xbf\xbd"

static void json_replaces_what_is_not_utf8(void **state)
{
    static const struct {
        const char *in;
        const char *out;
    } cases[] = {
        { "\xff", "\"" FFFD "\"" },
        { "a\x80z", "\"a" FFFD "z\"" },
        { "\xc0\xaf", "\"" FFFD FFFD "\"" },          // overlong
        { "\xe0\x9f\xbf", "\"" FFFD FFFD FFFD "\"" }, // overlong
        { "\xed\xa0\x80", "\"" FFFD FFFD FFFD "\"" }, // a surrogate
        { "\xf4\x91\x92\x93", "\"" FFFD FFFD FFFD FFFD "\"" },
        { "\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", // Unicode's own example of maximal subparts
          "\"" FFFD FFFD FFFD FFFD "A\"" },
        { "\xe2\x82", "\"" FFFD "\"" }, // cut short
        { "\xe2\x82\"", "\"" FFFD "\\\"\"" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pawl__buf buf = { 0 };
        pawl__buf_add_json(&buf, cases[i].in, strlen(cases[i].in));
        assert_string_equal(buf.at, cases[i].out);
        pawl__buf_release(&buf);
    }
}

static bool is_utf8(const char *at, size_t len)
{
    for (const char *end = at + len; at < end;) {
        int step = pawl__utf8_step(at, end);
        if (step < 0) return false;
        at += step;
    }
    return true;
}

static void any_bytes_become_json_that_reads_back(void **state)
{
    for_seeds(seed, 2000)
    {
        struct pawl__rng rng;
        pawl__rng_seed(&rng, seed);
        char bytes[64];
        size_t len = pawl__rng_below(&rng, sizeof bytes);
        uint64_t range = seed % 2 ? 256 : 128; // half of them are plain ASCII
        for (size_t i = 0; i < len; i++) {
            bytes[i] = (char)pawl__rng_below(&rng, range);
        }
        struct pawl__buf buf = { 0 };
        struct pawl__arena arena = { 0 };
        struct pawl__json json;
        pawl__buf_add_json(&buf, bytes, len);
        prove(!pawl__json_parse((struct pawl_span){ buf.at, buf.len }, 0, &arena, &json, NULL));
        size_t back_len;
        char *back = pawl__json_string(&json, 0, &arena, &back_len);
        if (is_utf8(bytes, len)) prove(back_len == len && memcmp(back, bytes, len) == 0);
        prove(is_utf8(back, back_len));
        pawl__arena_release(&arena);
        pawl__buf_release(&buf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_is_always_terminated),
        cmocka_unit_test(adding_nothing_makes_an_empty_text),
        cmocka_unit_test(own_bytes_are_added_again),
        cmocka_unit_test(bytes_may_be_nul),
        cmocka_unit_test(integers_print_to_their_ends),
        cmocka_unit_test(printf_grows_as_needed),
        cmocka_unit_test(failure_is_remembered_until_cleared),
        cmocka_unit_test(json_escapes_what_it_must_and_no_more),
        cmocka_unit_test(json_replaces_what_is_not_utf8),
        cmocka_unit_test(any_bytes_become_json_that_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
