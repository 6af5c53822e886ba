#include "base/plain.h"
#include "base/utf8.h"

#include <inttypes.h>

/* Control characters, line separators, and characters that reorder the text around them. */
static bool is_unsafe(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x200e || point == 0x200f ||
           (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069) ||
           point == 0xfeff;
}

static void add_escape(struct pawl__buf *out, uint32_t point)
{
    if (point == '\n') {
        pawl__buf_add_text(out, "\\n");
    } else if (point == '\t') {
        pawl__buf_add_text(out, "\\t");
    } else if (point > 0xff) {
        pawl__buf_printf(out, "\\u%04" PRIx32, point);
    } else {
        pawl__buf_printf(out, "\\x%02" PRIx32, point);
    }
}

void pawl__plain_add(struct pawl__buf *out, const char *at, size_t len)
{
    for (const char *end = at + len; at < end;) {
        int step = pawl__utf8_step(at, end);
        uint32_t point = step > 0 ? pawl__utf8_decode(at, step) : (unsigned char)*at;
        if (step > 0 && !is_unsafe(point)) {
            pawl__buf_add(out, at, (size_t)step);
        } else {
            add_escape(out, point);
        }
        at += step > 0 ? step : 1;
    }
}
