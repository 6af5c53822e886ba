/* The last lines of a stream that is written faster than its lines can be stored. */
#ifndef PAWL_CLI_TAIL_H
#define PAWL_CLI_TAIL_H

#include <stddef.h>
#include <stdint.h>

enum { PAWL__CLI_TAIL_LINES = 500 };

struct pawl__cli_tail {
    char *lines[PAWL__CLI_TAIL_LINES]; /* a ring */
    size_t first, count;
    int64_t dropped; /* since the last flush */
};

/* Copies a line. Drops the oldest if the ring is full, or the line if out of memory. */
void pawl__cli_tail_add(struct pawl__cli_tail *tail, const char *text);
/* Passes the lines to `put`, oldest first, and removes them. Sets `dropped` to 0. */
void pawl__cli_tail_flush(struct pawl__cli_tail *tail, void (*put)(void *ctx, const char *text),
                          void *ctx);
/* Frees them. */
void pawl__cli_tail_release(struct pawl__cli_tail *tail);

#endif
