/* A growable byte buffer. Appending does not return errors: the first failed allocation is recorded
 * in `failed`, later appends do nothing, and the caller checks once at the end. The content is kept
 * NUL-terminated. */
#ifndef PAWL_BASE_BUF_H
#define PAWL_BASE_BUF_H

#include <pawl/error.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pawl__buf {
    char *at;
    size_t len;
    size_t cap;
    bool failed;
};

void pawl__buf_release(struct pawl__buf *buf); /* all zeros is an empty buffer */
void pawl__buf_clear(struct pawl__buf *buf);   /* keeps the memory, resets `failed` */
void pawl__buf_add(struct pawl__buf *buf, const void *at, size_t len);
void pawl__buf_add_text(struct pawl__buf *buf, const char *text);
/* Appends bytes `from` to `to` of its own content. */
void pawl__buf_add_again(struct pawl__buf *buf, size_t from, size_t to);
void pawl__buf_add_int(struct pawl__buf *buf, int64_t value);
void pawl__buf_printf(struct pawl__buf *buf, const char *format, ...) PAWL_PRINTF(2, 3);
/* Appends a JSON string, quoted and escaped. Bytes that are not UTF-8 become U+FFFD. */
void pawl__buf_add_json(struct pawl__buf *buf, const char *at, size_t len);

#endif
