/* Shared by the tests of conditions: compile and evaluate in one call. */
#ifndef PAWL_FLOW_EXPR_TEST_KIT_H
#define PAWL_FLOW_EXPR_TEST_KIT_H

#include "flow/flow.h"

#include "base/test_kit.h"

#include <stdio.h>

/* What a condition says of `result`, both copied to their exact lengths, so that a sanitizer
 * reports an access beyond the end: "true", "false", the reason of a failure, or what the compiler
 * said. The text is valid until the next call. */
static inline const char *judge(const char *condition, const char *result)
{
    static char said[400];
    struct pawl__arena arena = { 0 };
    struct pawl_diag diag = { 0 };
    struct pawl__expr expr;
    struct pawl__expr_verdict verdict = { 0 };
    size_t len = strlen(condition), result_len = strlen(result);
    char *text = malloc(len ? len : 1), *json = malloc(result_len ? result_len : 1);
    assert_non_null(text);
    assert_non_null(json);
    memcpy(text, condition, len);
    memcpy(json, result, result_len);
    struct pawl__expr_env env = { .arena = &arena };
    env.values[PAWL__EXPR_RESULT] = (struct pawl_span){ json, result_len };
    env.values[PAWL__EXPR_STATE] = (struct pawl_span){ "\"completed\"", 11 };
    env.values[PAWL__EXPR_ATTEMPT] = (struct pawl_span){ "2", 1 };
    if (pawl__expr_compile((struct pawl_span){ text, len }, &expr, &diag)) {
        snprintf(said, sizeof said, "%s", diag.text);
    } else {
        assert_int_equal(pawl__expr_eval(&expr, &env, &verdict), PAWL_OK);
        assert_true(verdict.failed == (verdict.reason[0] != '\0'));
        assert_false(verdict.failed && verdict.value);
        snprintf(said, sizeof said, "%s",
                 verdict.failed  ? verdict.reason
                 : verdict.value ? "true"
                                 : "false");
    }
    pawl__arena_release(&arena);
    free(text);
    free(json);
    return said;
}

#endif
