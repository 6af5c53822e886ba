/* Conditions of edges: a small expression language over JSON. docs/flows.md is its reference.
 *
 *     /result/total >= 1000 and not (/result/kind in ["draft", "test"])
 *
 * A condition is checked and compiled when a flow is submitted; its text is what is stored, and it
 * is compiled again (a microsecond or two) where it is evaluated.
 *
 * Invariants:
 * 1. everything is bounded: the text, the terms, the nesting, the values on the stack, and the
 *    steps of an evaluation, whatever the JSON;
 * 2. an evaluation ends with true, with false, or with false and the reason why it could not tell;
 *    never with a guess: an error in any part that was evaluated makes the whole condition false;
 * 3. there are no side effects, no clock and no random numbers: the same JSON gives the same
 * answer.
 *
 * Pure; any thread. */
#ifndef PAWL_FLOW_EXPR_H
#define PAWL_FLOW_EXPR_H

#include "base/arena.h"
#include "base/json.h"

#include <pawl/error.h>
#include <pawl/job.h>

enum {
    PAWL__EXPR_BYTES_MAX = 1024,
    PAWL__EXPR_TERMS_MAX = 64, /* paths and literals */
    PAWL__EXPR_DEPTH_MAX = 16, /* parentheses, functions and "not" around each other */
    PAWL__EXPR_OPS_MAX = 256,
    PAWL__EXPR_VALUE_BYTES_MAX = 1024 * 1024, /* of a value that is read */
    PAWL__EXPR_STEPS_MAX = 4 * 1024 * 1024,   /* bytes compared and members passed */
};

/* NAME, the first part of a path, meaning. The values concern the job (or control node, or group)
 * that the edge leads from. */
#define PAWL__EXPR_ROOTS(X)                                                                        \
    X(RESULT, "result", "the result; `null` if it has none")                                       \
    X(STATE, "state", "the state in which it ended, such as `\"completed\"`")                      \
    X(ATTEMPT, "attempt", "how many runs it took")                                                 \
    X(GROUP, "group",                                                                              \
      "of a group: `{\"total\", \"completed\", \"skipped\", \"failed\", \"cancelled\", "           \
      "\"success_rate\"}`; else `null`")

#define X(name, ...) PAWL__EXPR_##name,
enum pawl__expr_root { PAWL__EXPR_ROOTS(X) PAWL__EXPR_ROOT_END };
#undef X

/* An instruction of the compiled form; expr_inside.h has the list. */
struct pawl__expr_op {
    uint8_t code;
    uint8_t root; /* of a path */
    uint16_t at;  /* its source: a path, a literal, a function with its operand, an operator */
    uint16_t len;
    uint16_t jump; /* of "and" and "or": where to continue if the left side decides */
};

/* Owns nothing and borrows the text. */
struct pawl__expr {
    struct pawl_span text;
    uint32_t roots; /* bit r: it has a path that begins with root r; other values are not read */
    uint32_t count;
    struct pawl__expr_op ops[PAWL__EXPR_OPS_MAX];
};

/* Checks `text` and compiles it. ARG: it is not a condition; the diagnosis says what is wrong and
 * at which byte, counted from 0. LIMIT: it is too long, too large or nested too deep. NOMEM. The
 * caller adds the field. */
PAWL_MUST_CHECK enum pawl_err pawl__expr_compile(struct pawl_span text, struct pawl__expr *out,
                                                 struct pawl_diag *diag);

/* What a condition sees. One environment serves all conditions on the edges of one parent: each
 * value is parsed at most once, into the arena. All zeros, with an arena, is an environment in
 * which all is null. */
struct pawl__expr_env {
    struct pawl__arena *arena;                     /* for values and scratch */
    struct pawl_span values[PAWL__EXPR_ROOT_END];  /* JSON; empty: null */
    struct pawl__json parsed[PAWL__EXPR_ROOT_END]; /* set by pawl__expr_eval */
};

struct pawl__expr_verdict {
    bool value;
    bool failed;      /* then `value` is false, and `reason` says why it could not be evaluated */
    char reason[160]; /* UTF-8; "" unless it failed */
};

/* Evaluates a compiled condition. The only error is NOMEM: it says nothing about the condition, so
 * the caller must not take it for false. */
PAWL_MUST_CHECK enum pawl_err pawl__expr_eval(const struct pawl__expr *expr,
                                              struct pawl__expr_env *env,
                                              struct pawl__expr_verdict *out);

#endif
