/* JSON (RFC 8259) as tokens over the caller's bytes: nothing is copied, numbers keep their
 * spelling, a value is passed on by copying its span. Strict: UTF-8 checked, no lone surrogates, no
 * duplicate members (compared after unescaping) unless asked for, depth bounded, no recursion. */
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
    uint32_t len;   /* bytes, quotes and brackets included */
    uint32_t next;  /* index of the token behind this value, its children included */
    uint32_t count; /* elements of an array, members of an object, bytes of a string unescaped */
};

struct pawl__json {
    struct pawl_span text;
    struct pawl__json_token *tokens;
    uint32_t count;
};

/* Parse all of `text`, one value with white space around it. Tokens live in `arena`. ARG: not JSON;
 * the diagnosis says what and at which byte, counted from 0. LIMIT: deeper than `depth_max` or 4
 * GiB. */
PAWL_MUST_CHECK enum pawl_err pawl__json_parse(struct pawl_span text, uint32_t depth_max,
                                               struct pawl__arena *arena, struct pawl__json *out,
                                               struct pawl_diag *diag);

struct pawl__json_rules {
    uint32_t depth_max;
    uint32_t members_max; /* of one object; 0: as many as there are */
    uint32_t tokens_max;  /* values and names in all; 0: likewise */
    bool last_wins;       /* of members with one name the last one counts [they are refused] */
};

/* The same by other rules. Where a name occurs twice and the last one wins, out->text is a copy in
 * `arena` that lacks the earlier ones, so that every span taken from it is strict JSON. LIMIT: too
 * many members or tokens, too. Time n log n whatever the names, memory in proportion to the text.
 */
PAWL_MUST_CHECK enum pawl_err pawl__json_parse_by(struct pawl_span text,
                                                  const struct pawl__json_rules *rules,
                                                  struct pawl__arena *arena, struct pawl__json *out,
                                                  struct pawl_diag *diag);

/* The root is token 0. The value of member `name` of object `object`; 0: there is none. */
uint32_t pawl__json_member(const struct pawl__json *json, uint32_t object, const char *name);
/* First child of an array or object, `count` times: in an array go on at tokens[i].next; in an
 * object i is a name and i + 1 its value, go on at tokens[i + 1].next. */
static inline uint32_t pawl__json_first(uint32_t container)
{
    return container + 1;
}
/* The bytes of a value as they stand. */
struct pawl_span pawl__json_span(const struct pawl__json *json, uint32_t token);
/* A string's content, unescaped, NUL-terminated in `arena`; NULL: no memory. It may hold NULs.
 * `len` may be NULL. */
char *pawl__json_string(const struct pawl__json *json, uint32_t token, struct pawl__arena *arena,
                        size_t *len);
/* False when it is not a whole number or does not fit. "1e3" and "5.0" are whole numbers. */
bool pawl__json_int(const struct pawl__json *json, uint32_t token, int64_t *out);
/* Locale-independent. False when it is not a finite number. */
bool pawl__json_double(const struct pawl__json *json, uint32_t token, double *out);
/* A form in which equal values are equal bytes: members sorted by their names' bytes, no white
 * space, minimal escapes, numbers as exact decimals (1, 1.0 and 10e-1 are one). For fingerprints,
 * in the spirit of RFC 8785 but without the loss of passing through a double. Appends to `out`;
 * out->failed when there is no memory. `arena` is for scratch. */
void pawl__json_canonical(const struct pawl__json *json, uint32_t token, struct pawl__arena *arena,
                          struct pawl__buf *out);

#endif
