/* Steps through bytes that should be UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing
 * beyond U+10FFFF). */
#ifndef PAWL_BASE_UTF8_H
#define PAWL_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Requires at < end. The length, 1 to 4, of the character at `at`; if it is invalid, minus the
 * number of bytes that one U+FFFD should replace (Unicode's "maximal subpart"). */
int pawl__utf8_step(const char *at, const char *end);
/* The character at `at`, whose length pawl__utf8_step returned as `len`. */
uint32_t pawl__utf8_decode(const char *at, int len);
/* Writes `code`, which must not be a surrogate, and returns its length. */
int pawl__utf8_encode(uint32_t code, char out[4]);
/* The length of a text of `len` bytes, cut to at most `max` so that no character is split. */
size_t pawl__utf8_cut(const char *at, size_t len, size_t max);

#endif
