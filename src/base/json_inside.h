/* Shared by the files of the JSON reader; other files include json.h. */
#ifndef PAWL_BASE_JSON_INSIDE_H
#define PAWL_BASE_JSON_INSIDE_H

#include "base/json.h"

/* ---- strings ---- */

/* Decodes the escape at *at, which is a backslash, or a surrogate pair, and advances *at. Returns
 * NULL, or a description of the error (then *at is unchanged). */
const char *pawl__json_read_escape(const char **at, const char *end, uint32_t *code);
/* Unescapes the content of a string token of a parsed document; `out` has room for
 * tokens[token].count bytes. */
void pawl__json_unescape(const struct pawl__json *json, uint32_t token, char *out);

/* ---- members ---- */

/* A member's name, unescaped. */
struct pawl__json_name {
    uint64_t prefix; /* its first eight bytes as a number, which decides most comparisons */
    const char *at;  /* in the text, or in an arena if it had escapes */
    uint32_t len;
    uint32_t token;
};

/* Collects the names of `object` in document order; `out` has room for all. False: out of memory.
 */
bool pawl__json_names(const struct pawl__json *json, uint32_t object, struct pawl__arena *arena,
                      struct pawl__json_name *out);
/* Sorts by bytes, a prefix before longer names; `spare` is as long as `names`. */
void pawl__json_names_sort(struct pawl__json_name *names, struct pawl__json_name *spare,
                           size_t count);
bool pawl__json_names_equal(const struct pawl__json_name *a, const struct pawl__json_name *b);

/* ---- numbers ---- */

/* A number in exact decimal form: +-0.d1d2...dn * 10^exponent, d1 and dn not zero. An exponent of
 * nineteen digits or more is not computed: it is that of the text plus `shift`. */
struct pawl__json_decimal {
    bool negative;
    bool zero;         /* then the fields below are not set */
    const char *first; /* the text from d1 to dn, which may contain a point */
    const char *end;
    uint32_t digits; /* n */
    bool huge;
    bool huge_negative;
    struct pawl_span huge_digits; /* without leading zeros */
    int64_t shift;
    int64_t exponent; /* unless huge */
};

/* `number` is a number's token text. */
struct pawl__json_decimal pawl__json_decimal(struct pawl_span number);

#endif
