/* Conditions: evaluation. A loop over the program with a stack of values; every operation is a
 * function in a table. Values are borrowed from the parsed JSON; what is computed (the text of a
 * string, a length) is in the arena of the environment. */
#include "flow/expr.h"

#include "base/buf.h"
#include "base/utf8.h"
#include "flow/expr_inside.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

struct value {
    enum pawl__json_type type;     /* NULL, too, if a path leads nowhere */
    const struct pawl__json *json; /* of strings, arrays and objects */
    uint32_t token;
    struct pawl_span number;        /* its text */
    const struct pawl__expr_op *op; /* where it comes from, for reasons */
    bool missing;
};

/* An operand pushes one value, and each pushed value is used up by an operation; so there are never
 * more than terms. */
struct machine {
    const struct pawl__expr *expr;
    struct pawl__expr_env *env;
    struct pawl__expr_verdict *out;
    uint32_t steps;
    uint32_t next; /* operation */
    uint32_t depth;
    struct value stack[PAWL__EXPR_TERMS_MAX];
};

/* Each returns OK, NOMEM, or ARG: the condition has failed, and the verdict says why. */
typedef enum pawl_err run_fn(struct machine *m, const struct pawl__expr_op *op);

/* ---- reasons ---- */

enum { SHOWN_BYTES_MAX = 40 };

/* The source of an operation, cut at a character. */
struct shown {
    char text[SHOWN_BYTES_MAX + 4];
};

static struct shown show_source(const struct machine *m, const struct pawl__expr_op *op)
{
    struct shown shown;
    const char *at = m->expr->text.at + op->at;
    int len = op->len;
    if (len > SHOWN_BYTES_MAX) {
        len = SHOWN_BYTES_MAX;
        while (((unsigned char)at[len] & 0xc0) == 0x80) {
            len--;
        }
    }
    snprintf(shown.text, sizeof shown.text, "%.*s%s", len, at, len < op->len ? "..." : "");
    return shown;
}

static const char *type_of(const struct value *value)
{
    static const char *const names[] = {
        [PAWL__JSON_NULL] = "null",        [PAWL__JSON_TRUE] = "true",
        [PAWL__JSON_FALSE] = "false",      [PAWL__JSON_NUMBER] = "a number",
        [PAWL__JSON_STRING] = "a string",  [PAWL__JSON_ARRAY] = "an array",
        [PAWL__JSON_OBJECT] = "an object",
    };
    return value->missing ? "missing" : names[value->type];
}

static enum pawl_err PAWL_PRINTF(2, 3) fail(struct machine *m, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(m->out->reason, sizeof m->out->reason, format, args);
    va_end(args);
    m->out->failed = true;
    return PAWL_ERR_ARG;
}

/* `value` is of a wrong type for `what`. */
static enum pawl_err fail_type(struct machine *m, const struct value *value, const char *what)
{
    return fail(m, "%s is %s, %s", show_source(m, value->op).text, type_of(value), what);
}

/* ---- values ---- */

static enum pawl_err charge(struct machine *m, size_t steps)
{
    if (steps > PAWL__EXPR_STEPS_MAX - m->steps) {
        return fail(m, "it takes more than %d steps", PAWL__EXPR_STEPS_MAX);
    }
    m->steps += (uint32_t)steps;
    return PAWL_OK;
}

static void push(struct machine *m, struct value value)
{
    assert(m->depth < PAWL__EXPR_TERMS_MAX);
    m->stack[m->depth++] = value;
}

static struct value *pop(struct machine *m)
{
    assert(m->depth > 0);
    return &m->stack[--m->depth];
}

static void push_boolean(struct machine *m, const struct pawl__expr_op *op, bool value)
{
    push(m, (struct value){ .type = value ? PAWL__JSON_TRUE : PAWL__JSON_FALSE, .op = op });
}

static bool is_boolean(const struct value *value)
{
    return value->type == PAWL__JSON_TRUE || value->type == PAWL__JSON_FALSE;
}

static struct value value_at(const struct pawl__json *json, uint32_t token,
                             const struct pawl__expr_op *op)
{
    struct value value = {
        .type = json->tokens[token].type, .json = json, .token = token, .op = op
    };
    if (value.type == PAWL__JSON_NUMBER) value.number = pawl__json_span(json, token);
    return value;
}

/* The bytes of a string. */
static enum pawl_err text_of(struct machine *m, const struct value *value, struct pawl_span *out)
{
    enum pawl_err err = charge(m, value->json->tokens[value->token].len);
    if (err) return err;
    out->at = pawl__json_string(value->json, value->token, m->env->arena, &out->len);
    return out->at ? PAWL_OK : PAWL_ERR_NOMEM;
}

/* ---- paths ---- */

/* Parses the value of a root at its first use. */
static enum pawl_err load_root(struct machine *m, const struct pawl__expr_op *op,
                               const struct pawl__json **out)
{
    struct pawl_span text = m->env->values[op->root];
    struct pawl__json *json = &m->env->parsed[op->root];
    if (text.len == 0) text = (struct pawl_span){ "null", 4 };
    *out = json;
    if (json->tokens) return PAWL_OK;
    if (text.len > PAWL__EXPR_VALUE_BYTES_MAX) {
        return fail(m, "%s is in a value of more than %d bytes", show_source(m, op).text,
                    PAWL__EXPR_VALUE_BYTES_MAX);
    }
    struct pawl_diag why;
    enum pawl_err err = pawl__json_parse(text, PAWL_JSON_DEPTH_MAX, m->env->arena, json, &why);
    if (!err || err == PAWL_ERR_NOMEM) return err;
    return fail(m, "%s cannot be read: %.90s", show_source(m, op).text, why.text);
}

/* The name that a segment of a path means. */
static enum pawl_err read_segment(struct machine *m, const char *from, const char *to,
                                  struct pawl_span *out)
{
    size_t len = (size_t)(to - from);
    if (*from == '"') {
        struct pawl__json json;
        enum pawl_err err =
            pawl__json_parse((struct pawl_span){ from, len }, 1, m->env->arena, &json, NULL);
        assert(!err || err == PAWL_ERR_NOMEM);
        if (err) return PAWL_ERR_NOMEM;
        out->at = pawl__json_string(&json, 0, m->env->arena, &out->len);
        return out->at ? PAWL_OK : PAWL_ERR_NOMEM;
    }
    char *name = pawl__arena_alloc(m->env->arena, len + 1);
    if (!name) return PAWL_ERR_NOMEM;
    out->at = name;
    for (; from < to; from++) {
        *name++ = *from != '~' ? *from : *++from == '0' ? '~' : '/';
    }
    out->len = (size_t)(name - out->at);
    return PAWL_OK;
}

/* An index, without leading zeros; -1: it is none. */
static int64_t read_index(struct pawl_span name)
{
    int64_t index = 0;
    if (name.len == 0 || name.len > 10 || (name.len > 1 && name.at[0] == '0')) return -1;
    for (size_t i = 0; i < name.len; i++) {
        if (name.at[i] < '0' || name.at[i] > '9') return -1;
        index = index * 10 + (name.at[i] - '0');
    }
    return index;
}

static bool has_element(const struct pawl__json *json, uint32_t array, int64_t index)
{
    return index >= 0 && index < json->tokens[array].count;
}

/* Goes from `*token` to its part `name`; 0: there is none. */
static enum pawl_err step_into(struct machine *m, const struct pawl__json *json, uint32_t *token,
                               struct pawl_span name)
{
    const struct pawl__json_token *at = &json->tokens[*token];
    uint32_t part = 0;
    int64_t index = read_index(name);
    enum pawl_err err = PAWL_OK;
    if (at->type == PAWL__JSON_OBJECT) {
        err = charge(m, at->count);
        if (!err) part = pawl__json_member_span(json, *token, name);
    } else if (at->type == PAWL__JSON_ARRAY && has_element(json, *token, index)) {
        err = charge(m, (size_t)index);
        part = pawl__json_first(*token);
        for (; !err && index > 0; index--) {
            part = json->tokens[part].next;
        }
    }
    *token = part;
    return err;
}

static enum pawl_err run_path(struct machine *m, const struct pawl__expr_op *op)
{
    const char *at = m->expr->text.at + op->at, *end = at + op->len;
    const struct pawl__json *json;
    enum pawl_err err = load_root(m, op, &json);
    if (err) return err;
    uint32_t token = 0;
    for (at = pawl__expr_segment_end(at + 1, end); at < end;) {
        struct pawl_span name;
        const char *from = at + 1;
        at = pawl__expr_segment_end(from, end);
        err = read_segment(m, from, at, &name);
        if (!err) err = step_into(m, json, &token, name);
        if (err) return err;
        if (token == 0) {
            push(m, (struct value){ .type = PAWL__JSON_NULL, .op = op, .missing = true });
            return PAWL_OK;
        }
    }
    struct value value = value_at(json, token, op);
    value.missing = m->env->values[op->root].len == 0;
    push(m, value);
    return PAWL_OK;
}

static enum pawl_err run_literal(struct machine *m, const struct pawl__expr_op *op)
{
    struct pawl_span text = { m->expr->text.at + op->at, op->len };
    struct pawl__json *json = pawl__arena_alloc(m->env->arena, sizeof *json);
    if (!json) return PAWL_ERR_NOMEM;
    enum pawl_err err = pawl__json_parse(text, PAWL__EXPR_DEPTH_MAX, m->env->arena, json, NULL);
    assert(!err || err == PAWL_ERR_NOMEM); // the compiler has parsed it
    if (!err) push(m, value_at(json, 0, op));
    return err;
}

/* ---- comparisons ---- */

static enum pawl_err compare_texts(struct machine *m, const struct value *a, const struct value *b,
                                   int *order)
{
    struct pawl_span left, right;
    enum pawl_err err = text_of(m, a, &left);
    if (!err) err = text_of(m, b, &right);
    if (err) return err;
    size_t common = left.len < right.len ? left.len : right.len;
    *order = common > 0 ? memcmp(left.at, right.at, common) : 0;
    if (*order == 0) *order = left.len < right.len ? -1 : left.len > right.len;
    return PAWL_OK;
}

static enum pawl_err compare_numbers(struct machine *m, const struct value *a,
                                     const struct value *b, int *order)
{
    enum pawl_err err = charge(m, a->number.len + b->number.len);
    if (err || pawl__json_compare_numbers(a->number, b->number, order)) return err;
    return fail(m, "a number is too large or too small to be compared");
}

/* Arrays and objects are equal if their canonical forms are. */
static enum pawl_err compare_containers(struct machine *m, const struct value *a,
                                        const struct value *b, int *order)
{
    size_t a_bytes = a->json->tokens[a->token].len, b_bytes = b->json->tokens[b->token].len;
    enum pawl_err err = charge(m, a_bytes + b_bytes);
    struct pawl__buf left = { 0 }, right = { 0 };
    if (err) return err;
    pawl__json_canonical(a->json, a->token, m->env->arena, &left);
    pawl__json_canonical(b->json, b->token, m->env->arena, &right);
    if (left.failed || right.failed) err = PAWL_ERR_NOMEM;
    *order = left.len != right.len || (!err && memcmp(left.at, right.at, left.len) != 0);
    pawl__buf_release(&left);
    pawl__buf_release(&right);
    return err;
}

static enum pawl_err are_equal(struct machine *m, const struct value *a, const struct value *b,
                               bool *out)
{
    int order = 0;
    enum pawl_err err = PAWL_OK;
    *out = false;
    if (a->type != b->type) return PAWL_OK;
    if (a->type == PAWL__JSON_NUMBER) {
        err = compare_numbers(m, a, b, &order);
    } else if (a->type == PAWL__JSON_STRING) {
        err = compare_texts(m, a, b, &order);
    } else if (a->type == PAWL__JSON_ARRAY || a->type == PAWL__JSON_OBJECT) {
        if (a->json->tokens[a->token].count != b->json->tokens[b->token].count) return PAWL_OK;
        err = compare_containers(m, a, b, &order);
    }
    *out = order == 0;
    return err;
}

static enum pawl_err run_equality(struct machine *m, const struct pawl__expr_op *op)
{
    const struct value *right = pop(m), *left = pop(m);
    bool equal = false;
    enum pawl_err err = are_equal(m, left, right, &equal);
    if (!err) push_boolean(m, op, equal == (op->code == PAWL__EXPR_OP_EQUAL));
    return err;
}

static enum pawl_err run_order(struct machine *m, const struct pawl__expr_op *op)
{
    const struct value *right = pop(m), *left = pop(m);
    int order = 0;
    enum pawl_err err = PAWL_OK;
    if (left->type == PAWL__JSON_NUMBER && right->type == PAWL__JSON_NUMBER) {
        err = compare_numbers(m, left, right, &order);
    } else if (left->type == PAWL__JSON_STRING && right->type == PAWL__JSON_STRING) {
        err = compare_texts(m, left, right, &order);
    } else {
        return fail(m, "\"%s\" cannot compare %s (%s) with %s (%s)", show_source(m, op).text,
                    show_source(m, left->op).text, type_of(left), show_source(m, right->op).text,
                    type_of(right));
    }
    bool holds = op->code == PAWL__EXPR_OP_LESS      ? order < 0
                 : op->code == PAWL__EXPR_OP_AT_MOST ? order <= 0
                 : op->code == PAWL__EXPR_OP_MORE    ? order > 0
                                                     : order >= 0;
    if (!err) push_boolean(m, op, holds);
    return err;
}

static enum pawl_err is_element(struct machine *m, const struct value *what,
                                const struct value *array, bool *out)
{
    const struct pawl__json_token *tokens = array->json->tokens;
    uint32_t token = pawl__json_first(array->token);
    enum pawl_err err = charge(m, tokens[array->token].count);
    for (uint32_t left = tokens[array->token].count; !err && !*out && left > 0; left--) {
        struct value element = value_at(array->json, token, array->op);
        err = are_equal(m, what, &element, out);
        token = tokens[token].next;
    }
    return err;
}

static enum pawl_err is_part(struct machine *m, const struct value *what, const struct value *whole,
                             bool *out)
{
    struct pawl_span name, text;
    enum pawl_err err = text_of(m, what, &name);
    if (err) return err;
    if (whole->type == PAWL__JSON_OBJECT) {
        *out = pawl__json_member_span(whole->json, whole->token, name) != 0;
        return charge(m, whole->json->tokens[whole->token].count);
    }
    err = text_of(m, whole, &text);
    if (!err) *out = memmem(text.at, text.len, name.at, name.len) != NULL;
    return err;
}

static enum pawl_err run_in(struct machine *m, const struct pawl__expr_op *op)
{
    const struct value *whole = pop(m), *what = pop(m);
    bool found = false;
    enum pawl_err err = PAWL_OK;
    if (whole->type == PAWL__JSON_ARRAY) {
        err = is_element(m, what, whole, &found);
    } else if (whole->type != PAWL__JSON_STRING && whole->type != PAWL__JSON_OBJECT) {
        return fail_type(m, whole, "and \"in\" needs an array, an object or a string");
    } else if (what->type != PAWL__JSON_STRING) {
        return fail_type(m, what, "and \"in\" looks for strings in a string or an object");
    } else {
        err = is_part(m, what, whole, &found);
    }
    if (!err) push_boolean(m, op, found);
    return err;
}

/* ---- functions ---- */

static enum pawl_err run_exists(struct machine *m, const struct pawl__expr_op *op)
{
    push_boolean(m, op, pop(m)->type != PAWL__JSON_NULL);
    return PAWL_OK;
}

/* Characters of a string, elements of an array, members of an object. */
static enum pawl_err count_of(struct machine *m, const struct value *value, size_t *out)
{
    *out = value->json->tokens[value->token].count;
    if (value->type != PAWL__JSON_STRING) return PAWL_OK;
    struct pawl_span text;
    enum pawl_err err = text_of(m, value, &text);
    if (err) return err;
    *out = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (((unsigned char)text.at[i] & 0xc0) != 0x80) ++*out;
    }
    return PAWL_OK;
}

static bool has_count(const struct value *value)
{
    return (PAWL__EXPR_MANY & 1 << value->type) != 0;
}

static enum pawl_err run_empty(struct machine *m, const struct pawl__expr_op *op)
{
    const struct value *value = pop(m);
    bool empty = value->type == PAWL__JSON_NULL ||
                 (has_count(value) && value->json->tokens[value->token].count == 0);
    push_boolean(m, op, empty);
    return PAWL_OK;
}

static enum pawl_err run_length(struct machine *m, const struct pawl__expr_op *op)
{
    const struct value *value = pop(m);
    size_t count = 0;
    if (!has_count(value)) return fail_type(m, value, "and has no length");
    enum pawl_err err = count_of(m, value, &count);
    if (err) return err;
    char text[24];
    int len = snprintf(text, sizeof text, "%zu", count);
    char *copy = pawl__arena_dup(m->env->arena, text, (size_t)len);
    if (!copy) return PAWL_ERR_NOMEM;
    push(m, (struct value){ .type = PAWL__JSON_NUMBER, .number = { copy, (size_t)len }, .op = op });
    return PAWL_OK;
}

/* A number, or a string that is one as JSON writes it. */
static enum pawl_err run_number(struct machine *m, const struct pawl__expr_op *op)
{
    struct value value = *pop(m);
    if (value.type == PAWL__JSON_STRING) {
        struct pawl__json json;
        enum pawl_err err = text_of(m, &value, &value.number);
        if (!err) err = pawl__json_parse(value.number, 1, m->env->arena, &json, NULL);
        if (err && err != PAWL_ERR_ARG) return err;
        if (err || json.tokens[0].type != PAWL__JSON_NUMBER) {
            return fail(m, "the string %s is not a number", show_source(m, value.op).text);
        }
        value.number = pawl__json_span(&json, 0);
    } else if (value.type != PAWL__JSON_NUMBER) {
        return fail_type(m, &value, "not a number");
    }
    push(m, (struct value){ .type = PAWL__JSON_NUMBER, .number = value.number, .op = op });
    return PAWL_OK;
}

/* ---- logic ---- */

static enum pawl_err run_boolean(struct machine *m, const struct pawl__expr_op *op)
{
    const struct value *value = &m->stack[m->depth - 1];
    return is_boolean(value) ? PAWL_OK : fail_type(m, value, "not true or false");
}

static enum pawl_err run_not(struct machine *m, const struct pawl__expr_op *op)
{
    enum pawl_err err = run_boolean(m, op);
    if (!err) push_boolean(m, op, pop(m)->type == PAWL__JSON_FALSE);
    return err;
}

static enum pawl_err run_and_or(struct machine *m, const struct pawl__expr_op *op)
{
    enum pawl_err err = run_boolean(m, op);
    if (err) return err;
    bool is_true = m->stack[m->depth - 1].type == PAWL__JSON_TRUE;
    if (is_true == (op->code == PAWL__EXPR_OP_OR)) {
        m->next = op->jump;
    } else {
        pop(m);
    }
    return PAWL_OK;
}

/* ---- the whole ---- */

static run_fn *const runs[PAWL__EXPR_OP_END] = {
    [PAWL__EXPR_OP_PATH] = run_path,      [PAWL__EXPR_OP_LITERAL] = run_literal,
    [PAWL__EXPR_OP_AND] = run_and_or,     [PAWL__EXPR_OP_OR] = run_and_or,
    [PAWL__EXPR_OP_NOT] = run_not,        [PAWL__EXPR_OP_BOOLEAN] = run_boolean,
    [PAWL__EXPR_OP_EQUAL] = run_equality, [PAWL__EXPR_OP_DIFFERENT] = run_equality,
    [PAWL__EXPR_OP_AT_MOST] = run_order,  [PAWL__EXPR_OP_AT_LEAST] = run_order,
    [PAWL__EXPR_OP_LESS] = run_order,     [PAWL__EXPR_OP_MORE] = run_order,
    [PAWL__EXPR_OP_IN] = run_in,          [PAWL__EXPR_OP_EXISTS] = run_exists,
    [PAWL__EXPR_OP_EMPTY] = run_empty,    [PAWL__EXPR_OP_LENGTH] = run_length,
    [PAWL__EXPR_OP_NUMBER] = run_number,
};

enum pawl_err pawl__expr_eval(const struct pawl__expr *expr, struct pawl__expr_env *env,
                              struct pawl__expr_verdict *out)
{
    struct machine m = { .expr = expr, .env = env, .out = out };
    enum pawl_err err = PAWL_OK;
    *out = (struct pawl__expr_verdict){ 0 };
    while (!err && m.next < expr->count) {
        const struct pawl__expr_op *op = &expr->ops[m.next++];
        err = runs[op->code](&m, op);
    }
    if (!err) out->value = pop(&m)->type == PAWL__JSON_TRUE;
    return err == PAWL_ERR_ARG ? PAWL_OK : err;
}
