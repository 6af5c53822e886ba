/* See tail.h. */
#include "cli/tail.h"

#include <stdlib.h>
#include <string.h>

static char *take_first(struct pawl__cli_tail *tail)
{
    char *line = tail->lines[tail->first];
    tail->first = (tail->first + 1) % PAWL__CLI_TAIL_LINES;
    tail->count--;
    return line;
}

void pawl__cli_tail_add(struct pawl__cli_tail *tail, const char *text)
{
    if (tail->count == PAWL__CLI_TAIL_LINES) {
        free(take_first(tail));
        tail->dropped++;
    }
    char *line = strdup(text);
    if (!line) {
        tail->dropped++;
        return;
    }
    tail->lines[(tail->first + tail->count++) % PAWL__CLI_TAIL_LINES] = line;
}

void pawl__cli_tail_flush(struct pawl__cli_tail *tail, void (*put)(void *ctx, const char *text),
                          void *ctx)
{
    while (tail->count) {
        char *line = take_first(tail);
        put(ctx, line);
        free(line);
    }
    tail->dropped = 0;
}

void pawl__cli_tail_release(struct pawl__cli_tail *tail)
{
    while (tail->count) {
        free(take_first(tail));
    }
}
