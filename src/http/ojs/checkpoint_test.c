/* Tests of how checkpoints are stored. */
#include "http/ojs/checkpoint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct pawl_span span(const char *text)
{
    return (struct pawl_span){ text, strlen(text) };
}

static void assert_span(struct pawl_span got, const char *wanted)
{
    assert_int_equal(got.len, strlen(wanted));
    assert_memory_equal(got.at, wanted, got.len);
}

static void stores_a_state_alone_as_it_is(void **state)
{
    (void)state;
    struct pawl__buf out = { 0 };
    struct pawl__arena arena = { 0 };
    pawl__checkpoint_wrap(&out, &(struct pawl__saved){ .state = span("{\"a\": 1.50}") });
    assert_string_equal(out.at, "{\"a\": 1.50}");
    struct pawl__saved saved = pawl__checkpoint_unwrap(span(out.at), &arena);
    assert_span(saved.state, "{\"a\": 1.50}");
    assert_int_equal(saved.metadata.len, 0);
    assert_int_equal(saved.step_index.len, 0);
    pawl__buf_release(&out);
    pawl__arena_release(&arena);
}

static void keeps_metadata_and_step_with_the_state(void **state)
{
    (void)state;
    struct pawl__buf out = { 0 };
    struct pawl__arena arena = { 0 };
    pawl__checkpoint_wrap(&out, &(struct pawl__saved){ .state = span("[1,null]"),
                                                       .metadata = span("{\"_replay_log\":[]}"),
                                                       .step_index = span("3") });
    struct pawl__saved saved = pawl__checkpoint_unwrap(span(out.at), &arena);
    assert_span(saved.state, "[1,null]");
    assert_span(saved.metadata, "{\"_replay_log\":[]}");
    assert_span(saved.step_index, "3");
    pawl__buf_release(&out);
    pawl__arena_release(&arena);
}

/* Else a client could make its state disappear. */
static void takes_no_state_for_a_wrapper(void **state)
{
    (void)state;
    struct pawl__buf first = { 0 }, second = { 0 };
    struct pawl__arena arena = { 0 };
    pawl__checkpoint_wrap(&first,
                          &(struct pawl__saved){ .state = span("1"), .step_index = span("2") });
    pawl__checkpoint_wrap(&second, &(struct pawl__saved){ .state = span(first.at) });
    assert_string_not_equal(first.at, second.at);
    struct pawl__saved saved = pawl__checkpoint_unwrap(span(second.at), &arena);
    assert_span(saved.state, first.at);
    assert_int_equal(saved.step_index.len, 0);
    pawl__buf_release(&first);
    pawl__buf_release(&second);
    pawl__arena_release(&arena);
}

static void shows_what_others_stored_as_it_is(void **state)
{
    (void)state;
    static const char *const cases[] = { "null",          "7",
                                         "\"x\"",         "{}",
                                         "{\"state\":1}", "{\"$pawl_checkpoint\":2,\"state\":1}" };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pawl__arena arena = { 0 };
        assert_span(pawl__checkpoint_unwrap(span(cases[i]), &arena).state, cases[i]);
        pawl__arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stores_a_state_alone_as_it_is),
        cmocka_unit_test(keeps_metadata_and_step_with_the_state),
        cmocka_unit_test(takes_no_state_for_a_wrapper),
        cmocka_unit_test(shows_what_others_stored_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
