/* The last lines of a stream that writes faster than its lines can be kept. */
#ifndef PAWL_CLI_TAIL_H
#define PAWL_CLI_TAIL_H

#include <stddef.h>
#include <stdint.h>

enum { PAWL__CLI_TAIL_LINES = 500 };

struct pawl__cli_tail {
    char *lines[PAWL__CLI_TAIL_LINES]; /* a ring */
    size_t first, count;
    int64_t dropped; /* lines since the last flush that the ring had no room for */
};

/* Copies a line; drops the oldest when there are too many, or the line for want of memory. */
void pawl__cli_tail_add(struct pawl__cli_tail *tail, const char *text);
/* Hands over the lines, oldest first, and forgets them. Before that, `dropped` is the caller's to
 * read; afterwards it is 0. */
void pawl__cli_tail_flush(struct pawl__cli_tail *tail, void (*put)(void *ctx, const char *text),
                          void *ctx);
/* Forgets them. */
void pawl__cli_tail_release(struct pawl__cli_tail *tail);

#endif
