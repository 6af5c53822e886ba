/* Shared by the compiler and the evaluator of conditions; other files include expr.h. */
#ifndef PAWL_FLOW_EXPR_INSIDE_H
#define PAWL_FLOW_EXPR_INSIDE_H

#include "flow/expr.h"

/* Sets of types of JSON values. */
enum {
    PAWL__EXPR_NULL = 1 << PAWL__JSON_NULL,
    PAWL__EXPR_BOOLEAN = 1 << PAWL__JSON_TRUE | 1 << PAWL__JSON_FALSE,
    PAWL__EXPR_NUMBER = 1 << PAWL__JSON_NUMBER,
    PAWL__EXPR_STRING = 1 << PAWL__JSON_STRING,
    PAWL__EXPR_ARRAY = 1 << PAWL__JSON_ARRAY,
    PAWL__EXPR_OBJECT = 1 << PAWL__JSON_OBJECT,
    PAWL__EXPR_MANY = PAWL__EXPR_STRING | PAWL__EXPR_ARRAY | PAWL__EXPR_OBJECT,
    PAWL__EXPR_ANY = PAWL__EXPR_NULL | PAWL__EXPR_BOOLEAN | PAWL__EXPR_NUMBER | PAWL__EXPR_MANY,
};

/* NAME, as written, the types that it takes: on both sides, or on the right side of "in". The
 * longer of two that begin alike comes first. */
#define PAWL__EXPR_COMPARISONS(X)                                                                  \
    X(EQUAL, "==", PAWL__EXPR_ANY)                                                                 \
    X(DIFFERENT, "!=", PAWL__EXPR_ANY)                                                             \
    X(AT_MOST, "<=", PAWL__EXPR_NUMBER | PAWL__EXPR_STRING)                                        \
    X(AT_LEAST, ">=", PAWL__EXPR_NUMBER | PAWL__EXPR_STRING)                                       \
    X(LESS, "<", PAWL__EXPR_NUMBER | PAWL__EXPR_STRING)                                            \
    X(MORE, ">", PAWL__EXPR_NUMBER | PAWL__EXPR_STRING)                                            \
    X(IN, "in", PAWL__EXPR_MANY)
/* NAME, as written, the types of its operand, those of its value. */
#define PAWL__EXPR_FUNCTIONS(X)                                                                    \
    X(EXISTS, "exists", PAWL__EXPR_ANY, PAWL__EXPR_BOOLEAN)                                        \
    X(EMPTY, "empty", PAWL__EXPR_NULL | PAWL__EXPR_MANY, PAWL__EXPR_BOOLEAN)                       \
    X(LENGTH, "length", PAWL__EXPR_MANY, PAWL__EXPR_NUMBER)                                        \
    X(NUMBER, "number", PAWL__EXPR_STRING | PAWL__EXPR_NUMBER, PAWL__EXPR_NUMBER)
/* The program is in postfix order: an operand pushes a value, an operator replaces its operands by
 * its result. */
#define PAWL__EXPR_CODES(X)                                                                        \
    X(PATH, "path")                                                                                \
    X(LITERAL, "value")                                                                            \
    X(AND, "and") /* jumps over the right side if the left one is false; else drops it */          \
    X(OR, "or")                                                                                    \
    X(NOT, "not")                                                                                  \
    X(BOOLEAN, "") /* what is left of "and", "or" and the whole must be true or false */           \
    PAWL__EXPR_COMPARISONS(X)                                                                      \
    PAWL__EXPR_FUNCTIONS(X)

#define X(name, ...) PAWL__EXPR_OP_##name,
enum pawl__expr_code { PAWL__EXPR_CODES(X) PAWL__EXPR_OP_END };
#undef X

/* The end of the path segment that begins at `at`, behind its "/". A segment is a JSON string, or
 * one or more other characters up to "/", white space or one of ()[]{},"=!<>. NULL: a string that
 * does not end. */
const char *pawl__expr_segment_end(const char *at, const char *end);
/* The end of the JSON string, array or object that begins at `at`, by its quotes and brackets
 * alone; NULL: it has none. */
const char *pawl__expr_json_end(const char *at, const char *end);

#endif
