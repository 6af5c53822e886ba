#include "http/transport/fault.h"

#include "base/json.h"
#include "base/test_kit.h"

static void every_kind_has_a_status_and_a_code(void **state)
{
    for (int kind = PAWL__FAULT_NONE + 1; kind < PAWL__FAULT_END; kind++) {
        int status = pawl__fault_status((enum pawl__fault_kind)kind);
        assert_true(status >= 400 && status < 600);
        assert_true(strlen(pawl__fault_code((enum pawl__fault_kind)kind)) > 0);
    }
}

static void a_refusal_is_printed_whole(void **state)
{
    struct pawl__fault fault;
    struct pawl__buf buf = { 0 };
    assert_false(pawl__refuse(&fault, PAWL__FAULT_INVALID_REQUEST, "args", "\"%s\" is %s", "args",
                              "missing"));
    fault.details = (struct pawl_span){ "\"index\":3", 9 };
    pawl__fault_print(&buf, &fault, "req_1");
    assert_string_equal(buf.at,
                        "{\"error\":{\"code\":\"invalid_request\","
                        "\"message\":\"\\\"args\\\" is missing\",\"retryable\":false,"
                        "\"request_id\":\"req_1\",\"hint\":\"correct the field the message names\","
                        "\"docs_url\":\"https://openjobspec.org/docs/errors#invalid_request\","
                        "\"details\":{\"field\":\"args\",\"index\":3}}}");
    pawl__buf_release(&buf);
}

/* Whatever is in it, and whether or not there are details. */
static void every_refusal_is_json(void **state)
{
    static const struct pawl_span details[] = { { 0 }, { "\"a\":1,\"b\":[2]", 13 } };
    for (int kind = PAWL__FAULT_NONE + 1; kind < PAWL__FAULT_END; kind++) {
        for (size_t i = 0; i < 2 * COUNT(details); i++) {
            struct pawl__fault fault;
            struct pawl__buf buf = { 0 };
            struct pawl__arena arena = { 0 };
            struct pawl__json json;
            pawl__refuse(&fault, (enum pawl__fault_kind)kind, i % 2 ? "x\"y" : "", "%s",
                         i % 2 ? "a\n\"\xff" : "");
            fault.details = details[i / 2];
            pawl__fault_print(&buf, &fault, "req\"\x01");
            struct pawl_span span = { buf.at, buf.len };
            assert_int_equal(pawl__json_parse(span, 32, &arena, &json, NULL), PAWL_OK);
            uint32_t error = pawl__json_member(&json, 0, "error");
            uint32_t message = pawl__json_member(&json, error, "message");
            assert_true(error && message && json.tokens[message].count > 0);
            assert_true(pawl__json_member(&json, error, "hint"));
            assert_true(pawl__json_member(&json, error, "docs_url"));
            assert_int_equal(pawl__json_member(&json, error, "details") != 0, i > 0);
            pawl__arena_release(&arena);
            pawl__buf_release(&buf);
        }
    }
}

static void bad_policies_have_a_type(void **state)
{
    struct pawl__fault fault;
    struct pawl__buf buf = { 0 };
    pawl__refuse(&fault, PAWL__FAULT_INVALID_POLICY, "retry.max_attempts", "x");
    pawl__fault_print(&buf, &fault, "r");
    assert_non_null(strstr(buf.at, "\"type\":\"validation_error\""));
    assert_non_null(strstr(buf.at, "\"code\":\"invalid_request\""));
    pawl__buf_release(&buf);
}

static void errors_of_the_library_keep_their_status(void **state)
{
    for (int err = PAWL_OK + 1; err < PAWL_ERR_END; err++) {
        struct pawl__fault fault;
        assert_false(pawl__refuse_err(&fault, (enum pawl_err)err, NULL));
        assert_int_equal(pawl__fault_status(fault.kind), pawl_err_status((enum pawl_err)err));
        assert_string_equal(fault.message, pawl_err_text((enum pawl_err)err));
    }
}

static void what_tells_of_the_machine_is_not_told(void **state)
{
    static const struct {
        enum pawl_err err;
        bool told;
    } cases[] = {
        { PAWL_ERR_ARG, true },       { PAWL_ERR_NOT_FOUND, true }, { PAWL_ERR_DUPLICATE, true },
        { PAWL_ERR_STATE, true },     { PAWL_ERR_STALE, true },     { PAWL_ERR_LIMIT, true },
        { PAWL_ERR_NOMEM, false },    { PAWL_ERR_IO, false },       { PAWL_ERR_CORRUPT, false },
        { PAWL_ERR_READONLY, false }, { PAWL_ERR_FULL, false },     { PAWL_ERR_BUSY, false },
        { PAWL_ERR_UNSAFE, false },   { PAWL_ERR_SCHEMA, false },   { PAWL_ERR_CLOSED, false },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pawl_diag diag = { .err = cases[i].err,
                                  .field = "secret",
                                  .text = "could not read \"/srv/secret.db\"" };
        struct pawl__fault fault;
        pawl__refuse_err(&fault, cases[i].err, &diag);
        assert_int_equal(strstr(fault.message, "secret") != NULL, cases[i].told);
        assert_string_equal(fault.field, cases[i].told ? "secret" : "");
    }
}

static void what_the_library_refuses_has_the_status_that_ojs_wants(void **state)
{
    static const struct {
        enum pawl_err err;
        const char *field;
        int status;
    } cases[] = {
        { PAWL_ERR_ARG, "retry.cap_ms", 422 },
        { PAWL_ERR_ARG, "[12].retry.cap_ms", 422 },
        { PAWL_ERR_LIMIT, "retry.non_retryable", 422 },
        { PAWL_ERR_ARG, "retry", 400 },
        { PAWL_ERR_ARG, "unique.period", 400 },
        { PAWL_ERR_LIMIT, "unique.args_keys", 400 },
        { PAWL_ERR_LIMIT, "tags[3]", 400 },
        { PAWL_ERR_LIMIT, "[12].tags[3]", 400 },
        { PAWL_ERR_LIMIT, "args", 413 },
        { PAWL_ERR_LIMIT, "[12].meta", 413 },
        { PAWL_ERR_ARG, "[12].queue", 400 },
        { PAWL_ERR_ARG, "", 400 },
        { PAWL_ERR_ARG, "[12", 400 },
        { PAWL_ERR_ARG, "[12]", 400 },
        { PAWL_ERR_STATE, "retry.x", 409 },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pawl_diag diag = { .err = cases[i].err, .text = "x" };
        struct pawl__fault fault;
        snprintf(diag.field, sizeof diag.field, "%s", cases[i].field);
        pawl__refuse_err(&fault, cases[i].err, &diag);
        assert_int_equal(pawl__fault_status(fault.kind), cases[i].status);
    }
}

static void long_messages_are_cut(void **state)
{
    struct pawl__fault fault;
    char text[1000], field[200];
    memset(text, 'x', sizeof text);
    memset(field, 'y', sizeof field);
    text[sizeof text - 1] = field[sizeof field - 1] = '\0';
    pawl__refuse(&fault, PAWL__FAULT_CONFLICT, field, "%s", text);
    assert_int_equal(strlen(fault.message), sizeof fault.message - 1);
    assert_int_equal(strlen(fault.field), sizeof fault.field - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_has_a_status_and_a_code),
        cmocka_unit_test(a_refusal_is_printed_whole),
        cmocka_unit_test(every_refusal_is_json),
        cmocka_unit_test(bad_policies_have_a_type),
        cmocka_unit_test(errors_of_the_library_keep_their_status),
        cmocka_unit_test(what_tells_of_the_machine_is_not_told),
        cmocka_unit_test(what_the_library_refuses_has_the_status_that_ojs_wants),
        cmocka_unit_test(long_messages_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
