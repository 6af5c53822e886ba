/* Numbers parsed as exact decimals, so that nothing is rounded too early. */
#include "base/json.h"

#include "base/json_inside.h"

#include <assert.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    EXPONENT_DIGITS_MAX = 18, /* fit an int64_t, and so does the sum with any `shift` */
    DOUBLE_DIGITS_MAX = 768   /* more digits cannot change the nearest double, only break ties */
};

static void read_exponent(struct pawl__json_decimal *decimal, const char *at, const char *end)
{
    bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) at++;
    while (at < end && *at == '0') {
        at++;
    }
    if (end - at > EXPONENT_DIGITS_MAX) {
        decimal->huge = true;
        decimal->huge_negative = negative;
        decimal->huge_digits = (struct pawl_span){ .at = at, .len = (size_t)(end - at) };
        return;
    }
    int64_t exponent = 0;
    for (; at < end; at++) {
        exponent = exponent * 10 + (*at - '0');
    }
    decimal->exponent = decimal->shift + (negative ? -exponent : exponent);
}

struct pawl__json_decimal pawl__json_decimal(struct pawl_span number)
{
    const char *at = number.at, *end = at + number.len, *point = NULL, *last = NULL;
    struct pawl__json_decimal decimal = { .negative = *at == '-' };
    for (at += decimal.negative; at < end && *at != 'e' && *at != 'E'; at++) {
        if (*at == '.') {
            point = at;
        } else if (*at != '0') {
            last = at;
            if (!decimal.first) decimal.first = at;
        }
    }
    decimal.zero = !last;
    if (decimal.zero) return decimal;
    if (!point) point = at;
    decimal.end = last + 1;
    decimal.digits = (uint32_t)(decimal.end - decimal.first);
    if (decimal.first < point && point < last) decimal.digits--;
    decimal.shift = point - decimal.first; // digits before the point, or minus the zeros after it
    if (decimal.shift < 0) decimal.shift++;
    read_exponent(&decimal, at < end ? at + 1 : end, end);
    return decimal;
}

bool pawl__json_int(const struct pawl__json *json, uint32_t token, int64_t *out)
{
    if (json->tokens[token].type != PAWL__JSON_NUMBER) return false;
    struct pawl__json_decimal decimal = pawl__json_decimal(pawl__json_span(json, token));
    if (decimal.zero) {
        *out = 0;
        return true;
    }
    // An integer has no digit after the point; nineteen digits fit an uint64_t.
    if (decimal.huge || decimal.exponent < decimal.digits || decimal.exponent > 19) return false;
    uint64_t value = 0;
    for (const char *at = decimal.first; at < decimal.end; at++) {
        if (*at != '.') value = value * 10 + (uint64_t)(*at - '0');
    }
    for (int64_t i = decimal.digits; i < decimal.exponent; i++) {
        value *= 10;
    }
    if (value > (uint64_t)INT64_MAX + decimal.negative) return false;
    *out = decimal.negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

/* Correctly rounded, and independent of the host's locale, in which the point may be a comma. */
static double read_double(const char *text)
{
    locale_t locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    assert(locale); // the C locale is built in: nothing is loaded or allocated
    double value = strtod_l(text, NULL, locale);
    freelocale(locale);
    return value;
}

/* The number is rewritten as "0.ddd...e±x" first: the text is not NUL-terminated, and may have any
 * length. */
bool pawl__json_double(const struct pawl__json *json, uint32_t token, double *out)
{
    if (json->tokens[token].type != PAWL__JSON_NUMBER) return false;
    struct pawl__json_decimal decimal = pawl__json_decimal(pawl__json_span(json, token));
    double value = 0;
    if (decimal.huge && !decimal.huge_negative && !decimal.zero) return false;
    if (!decimal.huge && !decimal.zero) {
        char text[DOUBLE_DIGITS_MAX + 40] = ".";
        size_t len = 1;
        const char *at = decimal.first;
        for (; at < decimal.end && len <= DOUBLE_DIGITS_MAX; at++) {
            if (*at != '.') text[len++] = *at;
        }
        if (at < decimal.end)
            text[len++] = '1'; // the last digit is not 0: the number is just
                               // above a tie
        snprintf(text + len, sizeof text - len, "e%lld", (long long)decimal.exponent);
        value = read_double(text);
    }
    if (!isfinite(value)) return false;
    *out = decimal.negative ? -value : value;
    return true;
}

/* The next digit of 0.d1d2...dn, or 0 behind the last. */
static char next_digit(const struct pawl__json_decimal *decimal, const char **at)
{
    if (*at < decimal->end && **at == '.') (*at)++;
    return *at < decimal->end ? *(*at)++ : '0';
}

/* Compares what is before and behind the sign; neither is zero or huge. */
static int compare_magnitudes(const struct pawl__json_decimal *a,
                              const struct pawl__json_decimal *b)
{
    if (a->exponent != b->exponent) return a->exponent < b->exponent ? -1 : 1;
    const char *in_a = a->first, *in_b = b->first;
    while (in_a < a->end || in_b < b->end) {
        int order = next_digit(a, &in_a) - next_digit(b, &in_b);
        if (order != 0) return order;
    }
    return 0;
}

static int sign(const struct pawl__json_decimal *decimal)
{
    return decimal->zero ? 0 : decimal->negative ? -1 : 1;
}

bool pawl__json_compare_numbers(struct pawl_span a, struct pawl_span b, int *order)
{
    struct pawl__json_decimal left = pawl__json_decimal(a), right = pawl__json_decimal(b);
    if ((!left.zero && left.huge) || (!right.zero && right.huge)) return false;
    *order = sign(&left) - sign(&right);
    if (*order == 0 && !left.zero) *order = sign(&left) * compare_magnitudes(&left, &right);
    return true;
}
