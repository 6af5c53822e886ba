/* What a request's head must keep to before the parser gets to see it. The parser is strict about
 * most; this is about the rest, where servers and proxies have read one request as two: lone line
 * breaks, folded headers, NULs, request lines that are not three words; and about length, blanks
 * that the parser skips included. Pure: no socket, no memory. */
#ifndef PAWL_HTTP_TRANSPORT_GUARD_H
#define PAWL_HTTP_TRANSPORT_GUARD_H

#include "http/transport/fault.h"

enum { PAWL__TARGET_BYTES_MAX = 8192 };

/* One head; zeroes begin the next. */
struct pawl__guard {
    size_t bytes;
    size_t line_bytes; /* of the line so far, without its end */
    size_t word_bytes; /* of the request line's last word so far */
    int lines;         /* complete, the request line being the first */
    int blank_lines;   /* before it */
    int spaces;        /* in it */
    char last;         /* the byte before */
    bool ended;        /* the empty line has come */
};

/* Looks at bytes as they come, up to the head's end. NONE: go on, and they may be parsed. Otherwise
 * `*text` says what is wrong. */
enum pawl__fault_kind pawl__guard_take(struct pawl__guard *guard, const char *at, size_t len,
                                       size_t bytes_max, const char **text);

#endif
