/* The n-th allocation fails, for every n: the envelope is refused or the buffer says so, and what
 * is printed without complaint is what would have been printed anyway. The linker sends malloc and
 * realloc of this program here. */
#include "http/ojs/envelope_test_kit.h"

void *__real_malloc(size_t bytes);
void *__real_realloc(void *at, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_realloc(void *at, size_t bytes);

#define SPAN(text) ((struct pawl_span){ text, sizeof text - 1 })

static int64_t left = -1; /* allocations until one fails; negative: none does */

static bool fails_now(void)
{
    return left >= 0 && left-- == 0;
}

void *__wrap_malloc(size_t bytes)
{
    return fails_now() ? NULL : __real_malloc(bytes);
}

void *__wrap_realloc(void *at, size_t bytes)
{
    return fails_now() ? NULL : __real_realloc(at, bytes);
}

/* ---- reading ---- */

/* False: memory ran out. */
static bool read_with(struct pawl_span text, const struct pawl__envelope_rules *rules)
{
    struct pawl__arena arena = { 0 };
    struct pawl__json json;
    struct pawl__envelope envelope;
    struct pawl__fault fault = { 0 };
    enum pawl_err err = pawl__json_parse_by(text, &PAWL__BODY_JSON_RULES, &arena, &json, NULL);
    bool ok = !err && pawl__envelope_read(&json, 0, rules, &arena, &envelope, &fault);
    bool ran_out = left < 0;
    left = -1;
    assert_int_equal(ok, !ran_out);
    if (err) assert_int_equal(err, PAWL_ERR_NOMEM);
    if (!err && !ok) assert_int_equal(fault.kind, PAWL__FAULT_UNAVAILABLE);
    pawl__arena_release(&arena);
    return ok;
}

static void want_of_memory_is_told_when_reading(void **state)
{
    struct pawl__buf buf = { 0 };
    struct pawl__envelope_rules rules = { .tenant = "acme" };
    pawl__buf_add_text(&buf, "{\"t\\u0079pe\":\"a\",\"x\":\"");
    for (int i = 0; i < 20000; i++) { // so that the arena needs more than its first chunk
        pawl__buf_add(&buf, "y", 1);
    }
    pawl__buf_add_text(&buf, "\",\"args\":[1,1],\"args\":[],\"meta\":{\"m\":1,\"traceparent\":"
                             "\"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\"},"
                             "\"options\":{\"\\u0078\":2,\"tags\":[\"a\"],\"retry\":{"
                             "\"m\\u0061x_attempts\":2,\"non_retryable_errors\":[\"e\"]},"
                             "\"unique\":{\"\\u006beys\":[\"type\"]}}}");
    struct pawl_span text = { buf.at, buf.len };
    int64_t n = 0;
    do {
        assert_true(n < 1000);
        left = n++;
    } while (!read_with(text, &rules));
    assert_true(n > 5); // there was something to fail
    pawl__buf_release(&buf);
}

/* ---- printing ---- */

static void want_of_memory_is_told_when_printing(void **state)
{
    struct pawl__buf whole = { 0 };
    struct pawl_failure failure = { .run = 1,
                                    .type = "timeout",
                                    .code = "timeout",
                                    .message = "m",
                                    .details = SPAN("{\"timeout_kind\":\"total\"}") };
    struct pawl__envelope_more more = { .failures = &failure, .failure_count = 1 };
    struct pawl_job job = {
        .type = "a",
        .queue = "q",
        .state = PAWL_STATE_SCHEDULED,
        .run = 1,
        .attempt = 1,
        .due_at_ms = NOW_MS,
        .extra = SPAN("{\"st\\u0061te\":1,\"delay_until\":\"2026-01-01T00:00:00Z\"}"),
        .retry = SPAN("{\"initial_ms\":5}"),
        .unique = SPAN("{\"states\":[\"paused\"]}"),
    };
    pawl__envelope_print(&whole, &job, &more);
    assert_false(whole.failed);
    for (int64_t n = 0;; n++) {
        struct pawl__buf buf = { 0 };
        assert_true(n < 1000);
        left = n;
        pawl__envelope_print(&buf, &job, &more);
        bool ran_out = left < 0;
        left = -1;
        assert_int_equal(buf.failed, ran_out);
        if (!buf.failed) assert_string_equal(buf.at, whole.at);
        pawl__buf_release(&buf);
        if (!ran_out) break;
    }
    pawl__buf_release(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(want_of_memory_is_told_when_reading),
        cmocka_unit_test(want_of_memory_is_told_when_printing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
