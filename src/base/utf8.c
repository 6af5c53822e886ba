/* UTF-8, one character at a time. The lead byte determines the range of the second byte (Unicode
 * table 3-7); further bytes are plain continuations. */
#include "base/utf8.h"

#include <assert.h>

struct lead {
    uint8_t first, last;               /* lead bytes of this row */
    uint8_t second_first, second_last; /* what may follow them */
    uint8_t len;
};

static const struct lead leads[] = {
    { 0xc2, 0xdf, 0x80, 0xbf, 2 }, /* c0 and c1 could only be overlong */
    { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, /* below: overlong */
    { 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 }, /* above: surrogates */
    { 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 }, /* below: overlong */
    { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 }, /* above: beyond U+10FFFF */
};

int pawl__utf8_step(const char *at, const char *end)
{
    assert(at < end);
    const uint8_t *b = (const uint8_t *)at;
    if (b[0] < 0x80) return 1;
    const struct lead *lead = NULL;
    for (size_t i = 0; i < sizeof leads / sizeof *leads && !lead; i++) {
        if (b[0] >= leads[i].first && b[0] <= leads[i].last) lead = &leads[i];
    }
    if (!lead || end - at < 2 || b[1] < lead->second_first || b[1] > lead->second_last) return -1;
    for (int i = 2; i < lead->len; i++) {
        if (end - at <= i || (b[i] & 0xc0) != 0x80) return -i;
    }
    return lead->len;
}

uint32_t pawl__utf8_decode(const char *at, int len)
{
    const uint8_t *b = (const uint8_t *)at;
    switch (len) {
    case 1:
        return b[0];
    case 2:
        return (b[0] & 0x1fU) << 6 | (b[1] & 0x3fU);
    case 3:
        return (b[0] & 0x0fU) << 12 | (b[1] & 0x3fU) << 6 | (b[2] & 0x3fU);
    default:
        assert(len == 4);
        return (b[0] & 0x07U) << 18 | (b[1] & 0x3fU) << 12 | (b[2] & 0x3fU) << 6 | (b[3] & 0x3fU);
    }
}

int pawl__utf8_encode(uint32_t code, char out[4])
{
    assert(code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff));
    int len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const uint8_t mark[5] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    for (int i = len - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    out[0] = (char)(mark[len] | code);
    return len;
}

size_t pawl__utf8_cut(const char *at, size_t len, size_t max)
{
    if (len <= max) return len;
    while (max && ((uint8_t)at[max] & 0xc0) == 0x80) {
        max--;
    }
    return max;
}
