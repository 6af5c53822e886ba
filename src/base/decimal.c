/* Free-format printing by Steele and White, on integers wide enough for any double: slow, exact and
 * short. Few numbers are printed, and most of them are whole and need none of this.
 * Pure; any thread. */
#include "base/decimal.h"

#include <assert.h>
#include <math.h>

/* The least double is 2^-1074 and has 53 bits once normal, so scaled by 4 and by 10 the widest
 * number here is below 2^1136. */
enum { WORDS = 36, DIGITS_MAX = 17, MANTISSA_BITS = 53 };

struct big {
    uint32_t w[WORDS]; /* least first */
};

/* value * 2^shift */
static struct big big_make(uint64_t value, int shift)
{
    struct big big = { 0 };
    unsigned __int128 wide = (unsigned __int128)value << (shift % 32);
    int first = shift / 32;
    for (int i = first; wide; i++, wide >>= 32) {
        assert(i < WORDS);
        big.w[i] = (uint32_t)wide;
    }
    return big;
}

static void big_times_ten(struct big *big)
{
    uint64_t carry = 0;
    for (int i = 0; i < WORDS; i++) {
        carry += (uint64_t)big->w[i] * 10;
        big->w[i] = (uint32_t)carry;
        carry >>= 32;
    }
    assert(carry == 0);
}

static struct big big_sum(const struct big *a, const struct big *b)
{
    struct big sum;
    uint64_t carry = 0;
    for (int i = 0; i < WORDS; i++) {
        carry += (uint64_t)a->w[i] + b->w[i];
        sum.w[i] = (uint32_t)carry;
        carry >>= 32;
    }
    assert(carry == 0);
    return sum;
}

/* For a >= b. */
static void big_subtract(struct big *a, const struct big *b)
{
    uint64_t borrow = 0;
    for (int i = 0; i < WORDS; i++) {
        uint64_t difference = (uint64_t)a->w[i] - b->w[i] - borrow;
        a->w[i] = (uint32_t)difference;
        borrow = difference >> 63;
    }
    assert(borrow == 0);
}

static int big_compare(const struct big *a, const struct big *b)
{
    for (int i = WORDS - 1; i >= 0; i--) {
        if (a->w[i] != b->w[i]) return a->w[i] < b->w[i] ? -1 : 1;
    }
    return 0;
}

/* Is a + b beyond c (1), equal to it (0), or short of it (-1)? */
static int big_compare_sum(const struct big *a, const struct big *b, const struct big *c)
{
    struct big sum = big_sum(a, b);
    return big_compare(&sum, c);
}

/* The number is rest/unit, and whatever lies nearer to it than gap/unit reads back as it. */
struct fraction {
    struct big rest, unit, gap;
};

/* Both sides get the narrower of the two gaps, which differ below a power of two. */
static struct fraction fraction_of(double value)
{
    int exponent;
    uint64_t mantissa = (uint64_t)ldexp(frexp(value, &exponent), MANTISSA_BITS);
    exponent -= MANTISSA_BITS;
    int up = exponent > 0 ? exponent : 0, down = exponent < 0 ? -exponent : 0;
    bool power_of_two = mantissa == UINT64_C(1) << (MANTISSA_BITS - 1);
    return (struct fraction){ .rest = big_make(mantissa, up + 2),
                              .unit = big_make(1, down + 2),
                              .gap = big_make(power_of_two ? 1 : 2, up) };
}

/* Scales until 0.1 <= number < 1, as far as the gap lets one tell; returns the power of ten that
 * undoes it. */
static int fraction_scale(struct fraction *f)
{
    int power = 0;
    for (; big_compare_sum(&f->rest, &f->gap, &f->unit) > 0; power++) {
        big_times_ten(&f->unit);
    }
    for (;; power--) {
        struct fraction tenfold = *f;
        big_times_ten(&tenfold.rest);
        big_times_ten(&tenfold.gap);
        if (big_compare_sum(&tenfold.rest, &tenfold.gap, &f->unit) > 0) return power;
        *f = tenfold;
    }
}

/* Takes the next digit off; true when it is the last that is needed. */
static bool fraction_digit(struct fraction *f, char *out)
{
    char digit = '0';
    big_times_ten(&f->rest);
    big_times_ten(&f->gap);
    for (; big_compare(&f->rest, &f->unit) >= 0; digit++) {
        big_subtract(&f->rest, &f->unit);
    }
    bool down = big_compare(&f->rest, &f->gap) < 0;
    bool up = big_compare_sum(&f->rest, &f->gap, &f->unit) > 0;
    if (up && (!down || big_compare_sum(&f->rest, &f->rest, &f->unit) >= 0)) digit++;
    *out = digit;
    return down || up;
}

/* 0.DIGITS * 10^power, as people write it when that is short. */
static void add_digits(struct pawl__buf *out, const char *digits, int count, int power)
{
    static const char zeros[] = "0000";
    if (power <= 0 && power > -4) {
        pawl__buf_add_text(out, "0.");
        pawl__buf_add(out, zeros, (size_t)-power);
        pawl__buf_add(out, digits, (size_t)count);
    } else if (power > 0 && power < count) {
        pawl__buf_add(out, digits, (size_t)power);
        pawl__buf_add_text(out, ".");
        pawl__buf_add(out, digits + power, (size_t)(count - power));
    } else {
        pawl__buf_add(out, digits, 1);
        if (count > 1) pawl__buf_add_text(out, ".");
        pawl__buf_add(out, digits + 1, (size_t)(count - 1));
        pawl__buf_add_text(out, power > 0 ? "e+" : "e");
        pawl__buf_add_int(out, power - 1);
    }
}

void pawl__decimal_print(double value, struct pawl__buf *out)
{
    assert(isfinite(value));
    if (fabs(value) < 0x1p53 && value == floor(value)) {
        pawl__buf_add_int(out, (int64_t)value);
        return;
    }
    if (value < 0) pawl__buf_add_text(out, "-");
    struct fraction f = fraction_of(fabs(value));
    int power = fraction_scale(&f), count = 0;
    char digits[DIGITS_MAX];
    bool last;
    do {
        assert(count < DIGITS_MAX);
        last = fraction_digit(&f, &digits[count++]);
    } while (!last);
    add_digits(out, digits, count, power);
}
