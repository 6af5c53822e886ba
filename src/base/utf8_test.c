#include "base/utf8.h"

#include "base/test_kit.h"

static void every_character_survives(void **state)
{
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        if (code >= 0xd800 && code <= 0xdfff) continue;
        char text[4];
        int len = pawl__utf8_encode(code, text);
        assert_int_equal(pawl__utf8_step(text, text + len), len);
        assert_int_equal(pawl__utf8_decode(text, len), code);
        if (len > 1) assert_true(pawl__utf8_step(text, text + len - 1) < 0); // cut short
    }
}

/* The definition, implemented the slow way: decode without checks, then test whether the result may
 * be encoded so. */
static bool is_character(const unsigned char *b, int len)
{
    static const uint32_t min[5] = { 0, 0, 0x80, 0x800, 0x10000 };
    static const unsigned char mask[5] = { 0, 0x80, 0xe0, 0xf0, 0xf8 };
    static const unsigned char lead[5] = { 0, 0x00, 0xc0, 0xe0, 0xf0 };
    if ((b[0] & mask[len]) != lead[len]) return false;
    uint32_t code = b[0] & (unsigned char)~mask[len];
    for (int i = 1; i < len; i++) {
        if ((b[i] & 0xc0) != 0x80) return false;
        code = code << 6 | (b[i] & 0x3f);
    }
    return code >= min[len] && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
}

static void agrees_with_the_definition_on_all_short_sequences(void **state)
{
    for (uint32_t x = 0; x < 1U << 24; x += x < 0x800000 ? 251 : 1) { // all that begin above 0x7f
        unsigned char b[3] = { (unsigned char)(x >> 16), (unsigned char)(x >> 8),
                               (unsigned char)x };
        int step = pawl__utf8_step((char *)b, (char *)b + 3);
        int expected = is_character(b, 1)   ? 1
                       : is_character(b, 2) ? 2
                       : is_character(b, 3) ? 3
                                            : -1;
        if (step > 0 ? step != expected : expected > 0) fail_msg("%06x: %d", x, step);
    }
}

static void agrees_with_the_definition_on_long_sequences(void **state)
{
    for_seeds(seed, 4)
    {
        struct pawl__rng rng;
        pawl__rng_seed(&rng, seed);
        for (int i = 0; i < 1000000; i++) {
            unsigned char b[4];
            b[0] = (unsigned char)(0xf0 + pawl__rng_below(&rng, 16));
            for (int j = 1; j < 4; j++) {
                b[j] = (unsigned char)(0x70 + pawl__rng_below(&rng, 0x60));
            }
            prove((pawl__utf8_step((char *)b, (char *)b + 4) == 4) == is_character(b, 4));
        }
    }
}

static void bad_bytes_are_grouped_as_unicode_advises(void **state)
{
    static const struct {
        const char *in;
        int step;
    } cases[] = {
        { "\x80", -1 },
        { "\xc1\x80", -1 },
        { "\xc3", -1 },
        { "\xe2\x82", -2 },
        { "\xe2\x82z", -2 },
        { "\xe0\x80\x80", -1 },
        { "\xed\xa0\x80", -1 },
        { "\xf0\x9f\x98", -3 },
        { "\xf0\x9f\x98z", -3 },
        { "\xf0\x80\x80\x80", -1 },
        { "\xf4\x90\x80\x80", -1 },
        { "\xf5\x80\x80\x80", -1 },
        { "\xff", -1 },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *in = cases[i].in;
        assert_int_equal(pawl__utf8_step(in, in + strlen(in)), cases[i].step);
    }
}

static void cut_splits_no_character(void **state)
{
    static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
    static const size_t lengths[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10 };
    for (size_t max = 0; max < COUNT(lengths); max++) {
        assert_int_equal(pawl__utf8_cut(text, sizeof text - 1, max), lengths[max]);
    }
    assert_int_equal(pawl__utf8_cut("\x80\x80", 2, 1), 0); // only continuation bytes
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_character_survives),
        cmocka_unit_test(agrees_with_the_definition_on_all_short_sequences),
        cmocka_unit_test(agrees_with_the_definition_on_long_sequences),
        cmocka_unit_test(bad_bytes_are_grouped_as_unicode_advises),
        cmocka_unit_test(cut_splits_no_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
