/* What the files of the JSON reader share; others include json.h. */
#ifndef PAWL_BASE_JSON_INSIDE_H
#define PAWL_BASE_JSON_INSIDE_H

#include "base/json.h"

/* ---- strings ---- */

/* Decode the escape at *at, which is a backslash, a surrogate pair included, and step over it.
 * NULL, or what is wrong with it (then *at is unchanged). */
const char *pawl__json_read_escape(const char **at, const char *end, uint32_t *code);
/* The content of a string token of a parsed document; `out` has room for tokens[token].count. */
void pawl__json_unescape(const struct pawl__json *json, uint32_t token, char *out);

/* ---- members ---- */

/* A member's name as it reads once unescaped. */
struct pawl__json_name {
    uint64_t prefix; /* its first eight bytes as a number: decides most comparisons */
    const char *at;  /* in the text, or in an arena when it had escapes */
    uint32_t len;
    uint32_t token;
};

/* Collect the names of `object` in document order; `out` has room for all. False: no memory. */
bool pawl__json_names(const struct pawl__json *json, uint32_t object, struct pawl__arena *arena,
                      struct pawl__json_name *out);
/* By bytes, a shorter one before its continuations; `spare` is as long as `names`. */
void pawl__json_names_sort(struct pawl__json_name *names, struct pawl__json_name *spare,
                           size_t count);
bool pawl__json_names_equal(const struct pawl__json_name *a, const struct pawl__json_name *b);

/* ---- numbers ---- */

/* A number taken apart, exactly: +-0.d1d2...dn * 10^exponent, d1 and dn not zero. An exponent of
 * nineteen digits or more is not computed: it is that of the text plus `shift`. */
struct pawl__json_decimal {
    bool negative;
    bool zero;         /* then nothing below matters */
    const char *first; /* the text from d1 to dn, in which a point may stand */
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
