/* Makes foreign text safe to display. */
#ifndef PAWL_BASE_PLAIN_H
#define PAWL_BASE_PLAIN_H

#include "base/buf.h"

/* Appends the text on one line and without effect on a terminal: control characters, line breaks,
 * characters that reorder the text around them, and bytes that are not UTF-8 are shown as \n, \x1b,
 * \u202e. */
void pawl__plain_add(struct pawl__buf *out, const char *at, size_t len);

#endif
