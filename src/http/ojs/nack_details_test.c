#include "http/ojs/nack_details.h"

#include "base/test_kit.h"
#include "http/ojs/envelope.h"

/* What is kept of the object `error`, and how it is printed again. */
static void assert_kept(const char *error, const char *kept, const char *printed)
{
    struct pawl__arena arena = { 0 };
    struct pawl__json json;
    struct pawl__buf out = { 0 };
    struct pawl_span text = { error, strlen(error) };
    assert_int_equal(pawl__json_parse(text, 32, &arena, &json, NULL), PAWL_OK);
    struct pawl_span details = pawl__nack_details(&json, 0, &arena);
    if (details.len != strlen(kept) || memcmp(details.at ? details.at : "", kept, details.len)) {
        fail_msg("%s: kept %.*s, not %s", error, (int)details.len, details.at, kept);
    }
    struct pawl_failure failure = { .type = "E", .code = "c", .message = "m", .details = details };
    pawl__failure_print(&out, &failure);
    const char *tail = strstr(out.at, "\"occurred_at\":\"1970-01-01T00:00:00.000Z\"");
    assert_non_null(tail);
    assert_string_equal(tail + strlen("\"occurred_at\":\"1970-01-01T00:00:00.000Z\""), printed);
    pawl__buf_release(&out);
    pawl__arena_release(&arena);
}

static void details_are_kept_as_they_stand(void **state)
{
    assert_kept("{}", "", "}");
    assert_kept("{\"details\":null,\"backtrace\":null}", "", "}");
    assert_kept("{\"details\":{ \"a\": 1.50 }}", "{ \"a\": 1.50 }",
                ",\"details\":{ \"a\": 1.50 }}");
    assert_kept("{\"details\":\"text\"}", "\"text\"", ",\"details\":\"text\"}");
    assert_kept("{\"details\":{\"password\":\"x\"}}", "{\"password\":\"***\"}",
                ",\"details\":{\"password\":\"***\"}}");
}

static void a_backtrace_comes_back_beside_the_details(void **state)
{
    assert_kept("{\"backtrace\":[\"a:1\",\"b\\n:2\"]}", "{\"backtrace\":[\"a:1\",\"b\\n:2\"]}",
                ",\"backtrace\":[\"a:1\",\"b\\n:2\"]}");
    assert_kept("{\"backtrace\":[\"a\"],\"details\":{ \"x\":1}}",
                "{\"backtrace\":[\"a\"], \"x\":1}",
                ",\"backtrace\":[\"a\"],\"details\":{ \"x\":1}}");
    assert_kept("{\"details\":{},\"backtrace\":[\"a\"]}", "{\"backtrace\":[\"a\"]}",
                ",\"backtrace\":[\"a\"]}");
    assert_kept("{\"details\":[1],\"backtrace\":[\"a\"]}", "{\"backtrace\":[\"a\"],\"value\":[1]}",
                ",\"backtrace\":[\"a\"],\"details\":{\"value\":[1]}}");
    assert_kept("{\"backtrace\":\"a:1\\n\\nb:2\\n\"}", "{\"backtrace\":[\"a:1\",\"\",\"b:2\"]}",
                ",\"backtrace\":[\"a:1\",\"\",\"b:2\"]}");
    assert_kept("{\"backtrace\":[1,\"a\",null,[\"b\"]]}", "{\"backtrace\":[\"a\"]}",
                ",\"backtrace\":[\"a\"]}");
}

static void what_is_no_backtrace_is_not_kept(void **state)
{
    assert_kept("{\"backtrace\":[]}", "", "}");
    assert_kept("{\"backtrace\":\"\"}", "", "}");
    assert_kept("{\"backtrace\":{\"a\":1},\"details\":{\"b\":2}}", "{\"b\":2}",
                ",\"details\":{\"b\":2}}");
}

static void a_clients_own_spelling_stays_among_the_details(void **state)
{
    static const char *const own[] = { "{\"backtrace\":[\"a\"] ,\"x\":1}",
                                       "{\"x\":1,\"backtrace\":[]}", "{ \"backtrace\":[1]}",
                                       "{\"backtrace\":[" };
    for (size_t i = 0; i < COUNT(own); i++) {
        struct pawl__buf out = { 0 };
        struct pawl_failure failure = {
            .type = "E", .code = "c", .message = "m", .details = { own[i], strlen(own[i]) }
        };
        pawl__failure_print(&out, &failure);
        assert_non_null(strstr(out.at, ",\"details\":"));
        assert_string_equal(strstr(out.at, ",\"details\":") + 11 + strlen(own[i]), "}");
        pawl__buf_release(&out);
    }
}

static struct pawl_span keep(struct pawl__arena *arena, struct pawl__json *json,
                             const struct pawl__buf *error)
{
    struct pawl_span text = { error->at, error->len };
    assert_int_equal(pawl__json_parse(text, 32, arena, json, NULL), PAWL_OK);
    return pawl__nack_details(json, 0, arena);
}

/* Frames of `bytes` bytes each, two of them to a character; how many came back, and their bytes. */
static void assert_bounded(int given, int bytes, uint32_t kept, size_t bytes_kept)
{
    struct pawl__arena arena = { 0 };
    struct pawl__json json;
    struct pawl__buf error = { 0 };
    pawl__buf_add_text(&error, "{\"backtrace\":[");
    for (int i = 0; i < given; i++) {
        pawl__buf_add_text(&error, i ? ",\"" : "\"");
        for (int k = 0; k < bytes; k += 2) {
            pawl__buf_add_text(&error, "é");
        }
        pawl__buf_add_text(&error, "\"");
    }
    pawl__buf_add_text(&error, "]}");
    struct pawl_span details = keep(&arena, &json, &error);
    assert_int_equal(pawl__json_parse(details, 32, &arena, &json, NULL), PAWL_OK);
    uint32_t array = pawl__json_member(&json, 0, "backtrace");
    assert_int_equal(json.tokens[array].count, kept);
    assert_int_equal(pawl__json_span(&json, array).len, 1 + 3 * kept + bytes_kept);
    pawl__buf_release(&error);
    pawl__arena_release(&arena);
}

static void a_backtrace_is_bounded(void **state)
{
    assert_bounded(50, 10, 50, 500);
    assert_bounded(51, 10, 50, 500);
    assert_bounded(1, 10000, 1, 10000);
    assert_bounded(1, 20000, 1, 10000);
    assert_bounded(4, 3000, 4, 10000);
    assert_bounded(7, 2500, 4, 10000);
}

static void long_details_are_cut(void **state)
{
    struct pawl__arena arena = { 0 };
    struct pawl__json json;
    struct pawl__buf error = { 0 };
    pawl__buf_add_text(&error, "{\"backtrace\":[\"a\"],\"details\":\"");
    for (int i = 0; i < PAWL__DETAILS_BYTES_MAX; i++) {
        pawl__buf_add(&error, "y", 1);
    }
    pawl__buf_add_text(&error, "\"}");
    struct pawl_span details = keep(&arena, &json, &error);
    static const char expected[] = "{\"backtrace\":[\"a\"],\"truncated\":true}";
    assert_int_equal(details.len, sizeof expected - 1);
    assert_memory_equal(details.at, expected, details.len);
    pawl__buf_release(&error);
    pawl__arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(details_are_kept_as_they_stand),
        cmocka_unit_test(a_backtrace_comes_back_beside_the_details),
        cmocka_unit_test(what_is_no_backtrace_is_not_kept),
        cmocka_unit_test(a_clients_own_spelling_stays_among_the_details),
        cmocka_unit_test(a_backtrace_is_bounded),
        cmocka_unit_test(long_details_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
