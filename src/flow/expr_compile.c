/* Conditions: from text to a program. One pass, by recursive descent; PAWL__EXPR_DEPTH_MAX bounds
 * the recursion. Each part is compiled with the set of JSON types that its value can have, so that
 * what can never be true or false, or never be compared, is refused here. */
#include "flow/expr.h"

#include "base/diag.h"
#include "base/utf8.h"
#include "flow/expr_inside.h"

#include <assert.h>
#include <string.h>

enum { FOUND_BYTES_MAX = 20 }; /* of the text shown in a message */

struct parser {
    const char *at; /* next byte to read */
    const char *end;
    struct pawl__expr *out;
    uint32_t terms;
    uint32_t depth;
    struct pawl_diag *diag;
};

/* A compiled part: the types that its value can have, and its source. */
struct part {
    unsigned types;
    const char *from;
    const char *to;
};

/* ---- errors ---- */

static size_t offset(const struct parser *p, const char *at)
{
    return (size_t)(at - p->out->text.at);
}

static enum pawl_err fail_at(struct parser *p, const char *at, const char *what)
{
    return pawl__fail(p->diag, PAWL_ERR_ARG, "not a condition: %s at byte %zu", what,
                      offset(p, at));
}

/* The length of what stands at `at`, for a message: a word, a character, or nothing at the end. */
static int found_len(const struct parser *p, const char *at)
{
    int len = 0;
    if (at == p->end) return 0;
    while (at + len < p->end && len < FOUND_BYTES_MAX && at[len] >= 'a' && at[len] <= 'z') {
        len++;
    }
    return len > 0 ? len : pawl__utf8_step(at, p->end);
}

static enum pawl_err fail_expected(struct parser *p, const char *what)
{
    if (p->at == p->end) {
        return pawl__fail(p->diag, PAWL_ERR_ARG,
                          "not a condition: it ends at byte %zu, where %s is expected",
                          offset(p, p->at), what);
    }
    return pawl__fail(p->diag, PAWL_ERR_ARG,
                      "not a condition: expected %s instead of '%.*s' at byte %zu", what,
                      found_len(p, p->at), p->at, offset(p, p->at));
}

static enum pawl_err enter(struct parser *p)
{
    if (p->depth == PAWL__EXPR_DEPTH_MAX) {
        return pawl__fail(p->diag, PAWL_ERR_LIMIT,
                          "the condition is nested deeper than %d levels at byte %zu",
                          PAWL__EXPR_DEPTH_MAX, offset(p, p->at));
    }
    p->depth++;
    return PAWL_OK;
}

static void leave(struct parser *p)
{
    p->depth--;
}

/* ---- the program ---- */

static enum pawl_err emit(struct parser *p, enum pawl__expr_code code, const char *from,
                          const char *to)
{
    if (p->out->count == PAWL__EXPR_OPS_MAX) {
        return pawl__fail(p->diag, PAWL_ERR_LIMIT,
                          "the condition has more than %d operations at byte %zu",
                          PAWL__EXPR_OPS_MAX, offset(p, from));
    }
    p->out->ops[p->out->count++] = (struct pawl__expr_op){
        .code = (uint8_t)code,
        .at = (uint16_t)offset(p, from),
        .len = (uint16_t)(to - from),
    };
    return PAWL_OK;
}

static enum pawl_err emit_term(struct parser *p, enum pawl__expr_code code, const char *from,
                               const char *to)
{
    if (p->terms++ == PAWL__EXPR_TERMS_MAX) {
        return pawl__fail(p->diag, PAWL_ERR_LIMIT,
                          "the condition has more than %d paths and values at byte %zu",
                          PAWL__EXPR_TERMS_MAX, offset(p, from));
    }
    return emit(p, code, from, to);
}

/* ---- reading ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_space(struct parser *p)
{
    while (p->at < p->end && is_space(*p->at)) {
        p->at++;
    }
}

/* Letters, digits and "_", so that "notable" is not "not" and a name. */
static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Takes `text` and the space behind it, if it stands here. */
static bool take(struct parser *p, const char *text)
{
    size_t len = strlen(text);
    if ((size_t)(p->end - p->at) < len || memcmp(p->at, text, len) != 0) return false;
    const char *behind = p->at + len;
    if (is_word(text[len - 1]) && behind < p->end && is_word(*behind)) return false;
    p->at = behind;
    skip_space(p);
    return true;
}

const char *pawl__expr_json_end(const char *at, const char *end)
{
    unsigned open = 0;
    bool quoted = false;
    for (; at < end; at++) {
        if (quoted && *at == '\\') {
            if (++at == end) return NULL;
        } else if (*at == '"') {
            quoted = !quoted;
        } else if (!quoted && (*at == '[' || *at == '{')) {
            open++;
        } else if (!quoted && (*at == ']' || *at == '}')) {
            open--;
        }
        if (!quoted && open == 0) return at + 1;
    }
    return NULL;
}

const char *pawl__expr_segment_end(const char *at, const char *end)
{
    if (at < end && *at == '"') return pawl__expr_json_end(at, end);
    while (at < end && !is_space(*at) && !strchr("/()[]{},\"=!<>", *at)) {
        at++;
    }
    return at;
}

/* ---- terms ---- */

static enum pawl_err check_json(struct parser *p, const char *from, const char *to)
{
    struct pawl__arena scratch = { 0 };
    struct pawl__json json;
    struct pawl_diag why = { 0 };
    enum pawl_err err = pawl__json_parse((struct pawl_span){ from, (size_t)(to - from) },
                                         PAWL__EXPR_DEPTH_MAX, &scratch, &json, &why);
    pawl__arena_release(&scratch);
    if (!err) return PAWL_OK;
    if (err == PAWL_ERR_NOMEM) return pawl__fail_nomem(p->diag);
    if (err == PAWL_ERR_LIMIT) {
        return pawl__fail(p->diag, err,
                          "the value at byte %zu of the condition is nested deeper than %d levels",
                          offset(p, from), PAWL__EXPR_DEPTH_MAX);
    }
    return pawl__fail(p->diag, err, "not a condition: the value at byte %zu is %s", offset(p, from),
                      why.text);
}

static enum pawl_err parse_root(struct parser *p, const char *from, const char *to, uint8_t *root)
{
    static const char *const names[] = {
#define X(name, text, ...) text,
        PAWL__EXPR_ROOTS(X)
#undef X
    };
    size_t len = (size_t)(to - from);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) == len && memcmp(names[i], from, len) == 0) {
            *root = (uint8_t)i;
            p->out->roots |= UINT32_C(1) << i;
            return PAWL_OK;
        }
    }
#define X(name, text, ...) "/" text ", "
    static const char known[] = PAWL__EXPR_ROOTS(X);
#undef X
    return pawl__fail(p->diag, PAWL_ERR_ARG,
                      "not a condition: a path begins with %snot with '/%.*s' at byte %zu", known,
                      from < to ? found_len(p, from) : 0, from, offset(p, from) - 1);
}

/* A segment without quotes: "~" stands before 0 or 1, as in RFC 6901. */
static const char *stray_tilde(const char *from, const char *to)
{
    for (; from < to; from++) {
        if (*from == '~' && (from + 1 == to || (from[1] != '0' && from[1] != '1'))) return from;
    }
    return NULL;
}

static enum pawl_err parse_segment(struct parser *p)
{
    const char *from = p->at, *to = pawl__expr_segment_end(from, p->end);
    if (!to) return fail_at(p, from, "a string without end");
    if (to == from) {
        return fail_expected(p, "a name, a number or a string behind \"/\"");
    }
    p->at = to;
    if (*from == '"') return check_json(p, from, to);
    const char *tilde = stray_tilde(from, to);
    return tilde ? fail_at(p, tilde, "\"~\" without 0 or 1 behind it") : PAWL_OK;
}

static enum pawl_err parse_path(struct parser *p, struct part *out)
{
    const char *from = p->at, *root_end = pawl__expr_segment_end(from + 1, p->end);
    uint8_t root = 0;
    enum pawl_err err = root_end ? parse_root(p, from + 1, root_end, &root)
                                 : fail_at(p, from + 1, "a string without end");
    if (err) return err;
    p->at = root_end;
    while (p->at < p->end && *p->at == '/') {
        p->at++;
        err = parse_segment(p);
        if (err) return err;
    }
    *out = (struct part){ .types = PAWL__EXPR_ANY, .from = from, .to = p->at };
    err = emit_term(p, PAWL__EXPR_OP_PATH, from, p->at);
    if (!err) p->out->ops[p->out->count - 1].root = root;
    return err;
}

/* The types of the JSON value that begins with `c`; 0: none does. */
static unsigned types_of(char c)
{
    switch (c) {
    case '"':
        return PAWL__EXPR_STRING;
    case '[':
        return PAWL__EXPR_ARRAY;
    case '{':
        return PAWL__EXPR_OBJECT;
    case '-':
    case '0' ... '9':
        return PAWL__EXPR_NUMBER;
    default:
        return 0;
    }
}

static const char *number_end(const char *at, const char *end)
{
    while (at < end && (is_word(*at) || *at == '.' || *at == '-' || *at == '+')) {
        at++;
    }
    return at;
}

static enum pawl_err parse_json(struct parser *p, unsigned types, struct part *out)
{
    const char *from = p->at;
    const char *to = types == PAWL__EXPR_NUMBER ? number_end(from, p->end)
                                                : pawl__expr_json_end(from, p->end);
    if (!to) return fail_at(p, from, "a value without end");
    enum pawl_err err = check_json(p, from, to);
    if (err) return err;
    p->at = to;
    *out = (struct part){ .types = types, .from = from, .to = to };
    return emit_term(p, PAWL__EXPR_OP_LITERAL, from, to);
}

/* ---- operands ---- */

static enum pawl_err parse_or(struct parser *p, struct part *out);

/* A condition in parentheses, the first of which has been taken. */
static enum pawl_err parse_within(struct parser *p, struct part *out)
{
    enum pawl_err err = enter(p);
    if (!err) err = parse_or(p, out);
    if (err) return err;
    leave(p);
    if (p->at == p->end || *p->at != ')') return fail_expected(p, "\")\"");
    p->at++;
    return PAWL_OK;
}

static const struct function {
    const char *name;
    enum pawl__expr_code code;
    unsigned takes, gives;
} functions[] = {
#define X(name, text, takes, gives) { text, PAWL__EXPR_OP_##name, takes, gives },
    PAWL__EXPR_FUNCTIONS(X)
#undef X
};

static enum pawl_err parse_call(struct parser *p, const char *from, const struct function *function,
                                struct part *out)
{
    if (p->at == p->end || *p->at != '(') {
        return fail_expected(p, "\"(\" behind the name of a function");
    }
    p->at++;
    skip_space(p);
    struct part operand;
    enum pawl_err err = parse_within(p, &operand);
    if (err) return err;
    if (!(operand.types & function->takes)) {
        return pawl__fail(p->diag, PAWL_ERR_ARG,
                          "not a condition: %s() cannot take '%.*s' at byte %zu", function->name,
                          (int)(operand.to - operand.from), operand.from, offset(p, operand.from));
    }
    *out = (struct part){ .types = function->gives, .from = from, .to = p->at };
    return emit(p, function->code, from, p->at);
}

static enum pawl_err parse_name(struct parser *p, struct part *out)
{
    static const struct {
        const char *text;
        unsigned types;
    } words[] = { { "true", PAWL__EXPR_BOOLEAN },
                  { "false", PAWL__EXPR_BOOLEAN },
                  { "null", PAWL__EXPR_NULL } };
    const char *from = p->at;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (take(p, functions[i].name)) return parse_call(p, from, &functions[i], out);
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!take(p, words[i].text)) continue;
        *out = (struct part){ words[i].types, from, from + strlen(words[i].text) };
        return emit_term(p, PAWL__EXPR_OP_LITERAL, out->from, out->to);
    }
    return fail_expected(p, "a path, a value, a function or \"(\"");
}

static enum pawl_err parse_operand(struct parser *p, struct part *out)
{
    char first = p->at < p->end ? *p->at : '\0';
    const char *from = p->at;
    enum pawl_err err = PAWL_OK;
    if (first == '/') {
        err = parse_path(p, out);
    } else if (first == '(') {
        p->at++;
        skip_space(p);
        err = parse_within(p, out);
        *out = (struct part){ err ? 0 : out->types, from, p->at };
    } else if (types_of(first)) {
        err = parse_json(p, types_of(first), out);
    } else {
        err = parse_name(p, out);
    }
    if (!err) skip_space(p);
    return err;
}

/* ---- operators ---- */

static const struct comparison {
    const char *text;
    enum pawl__expr_code code;
    unsigned takes;
} comparisons[] = {
#define X(name, text, takes) { text, PAWL__EXPR_OP_##name, takes },
    PAWL__EXPR_COMPARISONS(X)
#undef X
};

static bool can_compare(const struct comparison *comparison, unsigned left, unsigned right)
{
    if (comparison->code != PAWL__EXPR_OP_IN) return left & right & comparison->takes;
    // an array may hold anything; of a string or an object only a string can be a part
    return right & PAWL__EXPR_ARRAY || (right & comparison->takes && left & PAWL__EXPR_STRING);
}

static enum pawl_err parse_comparison(struct parser *p, struct part *out)
{
    enum pawl_err err = parse_operand(p, out);
    if (err) return err;
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++) {
        const char *at = p->at;
        if (!take(p, comparisons[i].text)) continue;
        struct part right = { 0 };
        err = parse_operand(p, &right);
        if (err) return err;
        if (!can_compare(&comparisons[i], out->types, right.types)) {
            return pawl__fail(
                p->diag, PAWL_ERR_ARG,
                "not a condition: \"%s\" at byte %zu can never hold between its sides",
                comparisons[i].text, offset(p, at));
        }
        out->types = PAWL__EXPR_BOOLEAN;
        out->to = right.to;
        return emit(p, comparisons[i].code, at, at + strlen(comparisons[i].text));
    }
    return PAWL_OK;
}

static enum pawl_err check_boolean(struct parser *p, const struct part *part)
{
    if (part->types & PAWL__EXPR_BOOLEAN) return PAWL_OK;
    return fail_at(p, part->from, "true or false is needed, and cannot be the value");
}

/* "not" binds closer than "and", and not as close as a comparison. */
static enum pawl_err parse_not(struct parser *p, struct part *out)
{
    const char *from = p->at;
    if (!take(p, "not")) return parse_comparison(p, out);
    enum pawl_err err = enter(p);
    if (!err) err = parse_not(p, out);
    if (!err) err = check_boolean(p, out);
    if (err) return err;
    leave(p);
    *out = (struct part){ PAWL__EXPR_BOOLEAN, from, out->to };
    return emit(p, PAWL__EXPR_OP_NOT, from, from + strlen("not"));
}

/* One level of operators: each is left-associative, and does not look at its right side if the left
 * one decides. */
struct level {
    const char *text;
    enum pawl__expr_code code;
    enum pawl_err (*side)(struct parser *p, struct part *out);
};

static enum pawl_err parse_level(struct parser *p, const struct level *level, struct part *out)
{
    enum pawl_err err = level->side(p, out);
    for (const char *at = p->at; !err && take(p, level->text); at = p->at) {
        uint32_t jump = p->out->count;
        struct part right = { 0 };
        err = check_boolean(p, out);
        if (!err) err = emit(p, level->code, at, at + strlen(level->text));
        if (!err) err = level->side(p, &right);
        if (!err) err = check_boolean(p, &right);
        if (!err) err = emit(p, PAWL__EXPR_OP_BOOLEAN, right.from, right.to);
        if (err) return err;
        p->out->ops[jump].jump = (uint16_t)p->out->count;
        *out = (struct part){ PAWL__EXPR_BOOLEAN, out->from, right.to };
    }
    return err;
}

static enum pawl_err parse_and(struct parser *p, struct part *out)
{
    static const struct level level = { "and", PAWL__EXPR_OP_AND, parse_not };
    return parse_level(p, &level, out);
}

static enum pawl_err parse_or(struct parser *p, struct part *out)
{
    static const struct level level = { "or", PAWL__EXPR_OP_OR, parse_and };
    return parse_level(p, &level, out);
}

/* ---- the whole ---- */

static enum pawl_err check_text(struct parser *p)
{
    if (p->out->text.len > PAWL__EXPR_BYTES_MAX) {
        return pawl__fail(p->diag, PAWL_ERR_LIMIT, "the condition is longer than %d bytes",
                          PAWL__EXPR_BYTES_MAX);
    }
    for (const char *at = p->at; at < p->end;) {
        int step = pawl__utf8_step(at, p->end);
        if (step < 0) return fail_at(p, at, "it is not UTF-8");
        if ((unsigned char)*at < ' ' && !is_space(*at))
            return fail_at(p, at, "a control character");
        at += step;
    }
    return PAWL_OK;
}

static enum pawl_err parse_whole(struct parser *p)
{
    struct part whole;
    skip_space(p);
    enum pawl_err err = parse_or(p, &whole);
    if (err) return err;
    if (p->at < p->end) return fail_expected(p, "an operator or the end");
    err = check_boolean(p, &whole);
    return err ? err : emit(p, PAWL__EXPR_OP_BOOLEAN, whole.from, whole.to);
}

enum pawl_err pawl__expr_compile(struct pawl_span text, struct pawl__expr *out,
                                 struct pawl_diag *diag)
{
    if (!text.at) text.at = "";
    out->text = text;
    out->roots = out->count = 0;
    struct parser p = { .at = text.at, .end = text.at + text.len, .out = out, .diag = diag };
    enum pawl_err err = check_text(&p);
    return err ? err : parse_whole(&p);
}
