/* One step through bytes that ought to be UTF-8 (RFC 3629: no overlong forms, no surrogates,
 * nothing beyond U+10FFFF). */
#ifndef PAWL_BASE_UTF8_H
#define PAWL_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* For at < end. The length, 1 to 4, of the character at `at`; or, when there is none, minus the
 * number of bytes that one U+FFFD should stand for (Unicode's "maximal subpart"). */
int pawl__utf8_step(const char *at, const char *end);
/* The character at `at`, where pawl__utf8_step said `len`. */
uint32_t pawl__utf8_decode(const char *at, int len);
/* Writes `code`, which is no surrogate, and returns its length. */
int pawl__utf8_encode(uint32_t code, char out[4]);

#endif
