/* JSON (RFC 8259) as tokens over the caller's bytes: nothing is copied, numbers keep their
 * spelling, and a value is passed on by copying its span. Strict: UTF-8 is checked, lone surrogates
 * and (unless allowed) duplicate members, compared after unescaping, are refused, depth is bounded,
 * no recursion. */
#ifndef PAWL_BASE_JSON_H
#define PAWL_BASE_JSON_H

#include "base/arena.h"
#include "base/buf.h"

#include <pawl/error.h>
#include <pawl/job.h>

#include <stdbool.h>
#include <stdint.h>

enum pawl__json_type {
    PAWL__JSON_NONE = 0,
    PAWL__JSON_NULL,
    PAWL__JSON_TRUE,
    PAWL__JSON_FALSE,
    PAWL__JSON_NUMBER,
    PAWL__JSON_STRING,
    PAWL__JSON_ARRAY,
    PAWL__JSON_OBJECT
};

/* Tokens come in document order. Children follow their parent; in an object each member is its name
 * (a string token) and then its value. */
struct pawl__json_token {
    enum pawl__json_type type;
    uint32_t at;    /* offset of the first byte; a string's quote */
    uint32_t len;   /* bytes, including quotes and brackets */
    uint32_t next;  /* index of the token after this value and its children */
    uint32_t count; /* elements of an array, members of an object, or unescaped bytes of a string */
};

struct pawl__json {
    struct pawl_span text;
    struct pawl__json_token *tokens;
    uint32_t count;
};

/* Parses `text`: one value, with optional white space around it. Tokens are allocated in `arena`.
 * ARG: not JSON; the diagnosis says what and at which byte, counted from 0. LIMIT: deeper than
 * `depth_max` or over 4 GiB. */
PAWL_MUST_CHECK enum pawl_err pawl__json_parse(struct pawl_span text, uint32_t depth_max,
                                               struct pawl__arena *arena, struct pawl__json *out,
                                               struct pawl_diag *diag);

struct pawl__json_rules {
    uint32_t depth_max;
    uint32_t members_max; /* per object; 0: no limit */
    uint32_t tokens_max;  /* values and names in total; 0: no limit */
    bool last_wins;       /* of duplicate members the last one counts [they are refused] */
};

/* The same with other rules. If a name occurs twice and the last one wins, out->text is a copy in
 * `arena` without the earlier ones, so that every span taken from it is strict JSON. LIMIT: also
 * too many members or tokens. Takes O(n log n) time whatever the names, and memory in proportion to
 * the text. */
PAWL_MUST_CHECK enum pawl_err pawl__json_parse_by(struct pawl_span text,
                                                  const struct pawl__json_rules *rules,
                                                  struct pawl__arena *arena, struct pawl__json *out,
                                                  struct pawl_diag *diag);

/* The value of member `name` of object `object`; 0: there is none. The root is token 0. */
uint32_t pawl__json_member(const struct pawl__json *json, uint32_t object, const char *name);
/* The same for a name that may contain NULs. */
uint32_t pawl__json_member_span(const struct pawl__json *json, uint32_t object,
                                struct pawl_span name);
/* The first child of an array or object; it has `count` children. In an array continue with
 * tokens[i].next; in an object i is a name and i + 1 its value, continue with tokens[i + 1].next.
 */
static inline uint32_t pawl__json_first(uint32_t container)
{
    return container + 1;
}
/* The bytes of a value as written. */
struct pawl_span pawl__json_span(const struct pawl__json *json, uint32_t token);
/* A string's content, unescaped, NUL-terminated in `arena`; NULL: out of memory. It may contain
 * NULs. `len` may be NULL. */
char *pawl__json_string(const struct pawl__json *json, uint32_t token, struct pawl__arena *arena,
                        size_t *len);
/* False if it is not an integer or does not fit. "1e3" and "5.0" are integers. */
bool pawl__json_int(const struct pawl__json *json, uint32_t token, int64_t *out);
/* Locale-independent. False if it is not a finite number. */
bool pawl__json_double(const struct pawl__json *json, uint32_t token, double *out);
/* Compares two numbers exactly, whatever their size and spelling: *order is negative, 0 or
 * positive. `a` and `b` are texts of number tokens. False: an exponent has nineteen digits or more.
 */
bool pawl__json_compare_numbers(struct pawl_span a, struct pawl_span b, int *order);
/* Appends a canonical form, in which equal values are equal bytes: members sorted by the bytes of
 * their names, no white space, minimal escapes, numbers as exact decimals (1, 1.0 and 10e-1 are
 * equal). For fingerprints; similar to RFC 8785, but without conversion to double. out->failed: out
 * of memory. `arena` is scratch memory. */
void pawl__json_canonical(const struct pawl__json *json, uint32_t token, struct pawl__arena *arena,
                          struct pawl__buf *out);

#endif
