/* Grows by doubling; there is always one byte beyond `len` for the NUL. */
#include "base/buf.h"

#include "base/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CAP_MIN = 64 };

void pawl__buf_release(struct pawl__buf *buf)
{
    free(buf->at);
    *buf = (struct pawl__buf){ 0 };
}

void pawl__buf_clear(struct pawl__buf *buf)
{
    buf->len = 0;
    buf->failed = false;
    if (buf->at) buf->at[0] = '\0';
}

/* Reserves room for `more` bytes and the NUL. */
static bool reserve(struct pawl__buf *buf, size_t more)
{
    if (buf->failed) return false;
    if (more < buf->cap - buf->len) return true;
    size_t need, cap;
    if (__builtin_add_overflow(buf->len, more, &need) || need > SIZE_MAX / 2 - 1) {
        buf->failed = true;
        return false;
    }
    for (cap = buf->cap ? buf->cap : CAP_MIN; cap <= need; cap *= 2) {
    }
    char *at = realloc(buf->at, cap);
    if (!at) {
        buf->failed = true;
        return false;
    }
    buf->at = at;
    buf->cap = cap;
    buf->at[buf->len] = '\0';
    return true;
}

void pawl__buf_add(struct pawl__buf *buf, const void *at, size_t len)
{
    if (!reserve(buf, len)) return;
    if (len > 0) memcpy(buf->at + buf->len, at, len);
    buf->len += len;
    buf->at[buf->len] = '\0';
}

void pawl__buf_add_text(struct pawl__buf *buf, const char *text)
{
    pawl__buf_add(buf, text, strlen(text));
}

void pawl__buf_add_again(struct pawl__buf *buf, size_t from, size_t to)
{
    if (buf->failed) return; // it may be shorter than the caller expects
    assert(from <= to && to <= buf->len);
    if (reserve(buf, to - from)) pawl__buf_add(buf, buf->at + from, to - from);
}

void pawl__buf_add_int(struct pawl__buf *buf, int64_t value)
{
    char digits[20]; // "-9223372036854775808" has twenty
    char *end = digits + sizeof digits, *at = end;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (value < 0) *--at = '-';
    pawl__buf_add(buf, at, (size_t)(end - at));
}

void pawl__buf_printf(struct pawl__buf *buf, const char *format, ...)
{
    if (!reserve(buf, 0)) return;
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    size_t room = buf->cap - buf->len;
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): started above
    int len = vsnprintf(buf->at + buf->len, room, format, args);
    if (len >= 0 && (size_t)len >= room && reserve(buf, (size_t)len)) {
        len = vsnprintf(buf->at + buf->len, buf->cap - buf->len, format, again);
    }
    va_end(again);
    va_end(args);
    if (len < 0) buf->failed = true; // longer than INT_MAX, or out of memory within
    if (buf->failed) {
        buf->at[buf->len] = '\0'; // removes a part that did not fit
        return;
    }
    buf->len += (size_t)len;
}

static void add_escape(struct pawl__buf *buf, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    static const char letters[32] = {
        ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'
    };
    char letter = c < 0x20 ? letters[c] : (char)c;
    if (letter) {
        pawl__buf_add(buf, (char[]){ '\\', letter }, 2);
    } else {
        pawl__buf_add(buf, (char[]){ '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] }, 6);
    }
}

void pawl__buf_add_json(struct pawl__buf *buf, const char *at, size_t len)
{
    const char *end = len > 0 ? at + len : at; // an empty span may be NULL
    pawl__buf_add(buf, "\"", 1);
    while (at < end) {
        const char *plain = at; // the longest run that needs no change is added at once
        int step = 1;
        while (at < end && (unsigned char)*at >= 0x20 && *at != '"' && *at != '\\' &&
               (step = (unsigned char)*at < 0x80 ? 1 : pawl__utf8_step(at, end)) > 0) {
            at += step;
        }
        pawl__buf_add(buf, plain, (size_t)(at - plain));
        if (at == end) break;
        if (step < 0) {
            pawl__buf_add(buf, "\xef\xbf\xbd", 3);
            at += -step;
        } else {
            add_escape(buf, (unsigned char)*at++);
        }
    }
    pawl__buf_add(buf, "\"", 1);
}
