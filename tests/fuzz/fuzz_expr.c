/* Conditions, from any bytes: a condition, a NUL, and the result that it is about.
 *
 * 1. what compiles is within the limits, and evaluates without an error;
 * 2. the same condition says the same again, and "not (...)" the opposite unless it has failed;
 * 3. a failure is false, and has a reason; a refusal has a text. */
#include "flow/flow.h"
#include "fuzz.h"

#include <string.h>

static struct pawl__expr_verdict judge(const struct pawl__expr *expr, struct pawl__expr_env *env)
{
    struct pawl__expr_verdict verdict;
    must(pawl__expr_eval(expr, env, &verdict) == PAWL_OK);
    must(verdict.failed == (verdict.reason[0] != '\0'));
    must(!verdict.failed || !verdict.value);
    must(strlen(verdict.reason) < sizeof verdict.reason);
    return verdict;
}

static void check_negation(struct pawl_span text, struct pawl__expr_env *env,
                           const struct pawl__expr_verdict *verdict)
{
    char negated[PAWL__EXPR_BYTES_MAX + 16];
    struct pawl__expr expr;
    int len = snprintf(negated, sizeof negated, "not (%.*s)", (int)text.len, text.at);
    if (pawl__expr_compile((struct pawl_span){ negated, (size_t)len }, &expr, NULL)) return;
    struct pawl__expr_verdict opposite = judge(&expr, env);
    must(opposite.failed == verdict->failed);
    must(verdict->failed || opposite.value != verdict->value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pawl__arena arena = { 0 };
    struct pawl__expr_env env = { .arena = &arena };
    struct pawl__expr expr;
    struct pawl_diag diag = { 0 };
    char *bytes = malloc(size + 1);
    must(bytes);
    if (size > 0) memcpy(bytes, data, size);
    const char *nul = memchr(bytes, '\0', size);
    struct pawl_span text = { bytes, nul ? (size_t)(nul - bytes) : size };
    if (nul) env.values[PAWL__EXPR_RESULT] = (struct pawl_span){ nul + 1, size - text.len - 1 };
    if (pawl__expr_compile(text, &expr, &diag)) {
        must(diag.text[0]);
    } else {
        must(expr.count > 0 && expr.count <= PAWL__EXPR_OPS_MAX &&
             text.len <= PAWL__EXPR_BYTES_MAX);
        struct pawl__expr_verdict verdict = judge(&expr, &env), again = judge(&expr, &env);
        must(verdict.value == again.value && strcmp(verdict.reason, again.reason) == 0);
        check_negation(text, &env, &verdict);
    }
    pawl__arena_release(&arena);
    free(bytes);
    return 0;
}
