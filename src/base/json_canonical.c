/* The canonical form. It follows RFC 8785 wherever that is possible without conversion to double: a
 * number has ECMAScript's layout, but keeps all its digits. Members are ordered by the bytes of
 * their names (RFC 8785 orders by UTF-16 units, which differs only beyond U+FFFF). */
#include "base/json.h"

#include "base/json_inside.h"

#include <assert.h>
#include <string.h>

/* An open container; they form a list, innermost first. */
struct frame {
    struct frame *outer;
    struct pawl__json_name *names; /* of an object, sorted */
    uint32_t container;
    uint32_t done;
    uint32_t next; /* element of an array */
};

/* ---- numbers ---- */

static void add_char(struct pawl__buf *out, char c)
{
    pawl__buf_add(out, &c, 1);
}

static void add_zeros(struct pawl__buf *out, int64_t count)
{
    for (; count > 0; count--) {
        add_char(out, '0');
    }
}

/* Digits [from, to) of the decimal. */
static void add_digits(struct pawl__buf *out, const struct pawl__json_decimal *decimal,
                       int64_t from, int64_t to)
{
    int64_t i = 0;
    for (const char *at = decimal->first; at < decimal->end && i < to; at++) {
        if (*at == '.') continue;
        if (i++ >= from) add_char(out, *at);
    }
}

/* Adds the exponent `decimal->huge_digits` changed by `by`, which is far smaller; computed on the
 * digits, starting with the last. */
static void add_huge_exponent(struct pawl__buf *out, const struct pawl__json_decimal *decimal,
                              int64_t by, struct pawl__arena *arena)
{
    size_t len = decimal->huge_digits.len + 1; // a carry may add one
    char *digits = pawl__arena_alloc(arena, len);
    if (!digits) {
        out->failed = true;
        return;
    }
    digits[0] = '0';
    memcpy(digits + 1, decimal->huge_digits.at, decimal->huge_digits.len);
    int64_t carry = decimal->huge_negative ? -by : by; // applied to the magnitude
    for (size_t i = len; i-- > 0 && carry != 0;) {
        int64_t sum = digits[i] - '0' + carry % 10;
        carry /= 10;
        if (sum < 0) {
            sum += 10;
            carry--;
        } else if (sum > 9) {
            sum -= 10;
            carry++;
        }
        digits[i] = (char)('0' + sum);
    }
    size_t zeros = 0;
    while (digits[zeros] == '0') { // terminates: the sum is far from zero
        zeros++;
    }
    add_char(out, decimal->huge_negative ? '-' : '+');
    pawl__buf_add(out, digits + zeros, len - zeros);
}

static void add_scientific(struct pawl__buf *out, const struct pawl__json_decimal *decimal,
                           struct pawl__arena *arena)
{
    add_digits(out, decimal, 0, 1);
    if (decimal->digits > 1) {
        add_char(out, '.');
        add_digits(out, decimal, 1, decimal->digits);
    }
    add_char(out, 'e');
    if (decimal->huge) {
        add_huge_exponent(out, decimal, decimal->shift - 1, arena);
        return;
    }
    if (decimal->exponent > 0) add_char(out, '+');
    pawl__buf_add_int(out, decimal->exponent - 1);
}

/* The layout of ECMAScript's Number::toString, whose n is our exponent and k our digits. */
static void add_number(struct pawl__buf *out, struct pawl_span text, struct pawl__arena *arena)
{
    struct pawl__json_decimal decimal = pawl__json_decimal(text);
    int64_t n = decimal.exponent, k = decimal.digits;
    if (decimal.zero) { // also minus zero
        add_char(out, '0');
        return;
    }
    if (decimal.negative) add_char(out, '-');
    if (decimal.huge || n > 21 || n <= -6) {
        add_scientific(out, &decimal, arena);
    } else if (n <= 0) {
        pawl__buf_add(out, "0.", 2);
        add_zeros(out, -n);
        add_digits(out, &decimal, 0, k);
    } else if (k <= n) {
        add_digits(out, &decimal, 0, k);
        add_zeros(out, n - k);
    } else {
        add_digits(out, &decimal, 0, n);
        add_char(out, '.');
        add_digits(out, &decimal, n, k);
    }
}

/* ---- values ---- */

static void add_scalar(const struct pawl__json *json, uint32_t token, struct pawl__arena *arena,
                       struct pawl__buf *out)
{
    struct pawl_span span = pawl__json_span(json, token);
    switch (json->tokens[token].type) {
    case PAWL__JSON_NUMBER:
        add_number(out, span, arena);
        return;
    case PAWL__JSON_STRING: {
        size_t len;
        char *text = pawl__json_string(json, token, arena, &len);
        if (text) {
            pawl__buf_add_json(out, text, len);
        } else {
            out->failed = true;
        }
        return;
    }
    default:
        pawl__buf_add(out, span.at, span.len); // null, true, false
    }
}

static struct frame *enter(const struct pawl__json *json, uint32_t container, struct frame *outer,
                           struct pawl__arena *arena)
{
    struct frame *frame = pawl__arena_calloc(arena, 1, sizeof *frame);
    if (!frame) return NULL;
    *frame = (struct frame){ .outer = outer,
                             .container = container,
                             .next = pawl__json_first(container) };
    if (json->tokens[container].type == PAWL__JSON_ARRAY) return frame;
    size_t count = json->tokens[container].count;
    frame->names = pawl__arena_calloc(arena, count, 2 * sizeof *frame->names);
    if (!frame->names || !pawl__json_names(json, container, arena, frame->names)) return NULL;
    pawl__json_names_sort(frame->names, frame->names + count, count);
    return frame;
}

/* Writes the separator or name before the next value of the container, and returns the index of
 * that value. */
static uint32_t next_value(const struct pawl__json *json, struct frame *frame,
                           struct pawl__buf *out)
{
    uint32_t done = frame->done++;
    if (done > 0) add_char(out, ',');
    if (frame->names) {
        pawl__buf_add_json(out, frame->names[done].at, frame->names[done].len);
        add_char(out, ':');
        return frame->names[done].token + 1;
    }
    uint32_t value = frame->next;
    frame->next = json->tokens[value].next;
    return value;
}

void pawl__json_canonical(const struct pawl__json *json, uint32_t token, struct pawl__arena *arena,
                          struct pawl__buf *out)
{
    struct frame *frame = NULL;
    for (;;) {
        enum pawl__json_type type = json->tokens[token].type;
        if (type == PAWL__JSON_ARRAY || type == PAWL__JSON_OBJECT) {
            frame = enter(json, token, frame, arena);
            if (!frame) {
                out->failed = true;
                return;
            }
            add_char(out, type == PAWL__JSON_ARRAY ? '[' : '{');
        } else {
            add_scalar(json, token, arena, out);
        }
        while (frame && frame->done == json->tokens[frame->container].count) {
            add_char(out, frame->names ? '}' : ']');
            frame = frame->outer;
        }
        if (!frame) return;
        token = next_value(json, frame, out);
    }
}
