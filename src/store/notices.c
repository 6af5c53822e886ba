/* See notices.h. */
#include "store/notices.h"

#include <stdlib.h>
#include <string.h>

enum { MOVES_MAX = 65536 };

void pawl__notices_begin(struct pawl__notices *notices)
{
    notices->ready = notices->control = false;
    notices->due_at_ms = notices->fire_at_ms = 0;
    notices->move_count = 0;
    notices->lost = 0;
}

void pawl__notices_release(struct pawl__notices *notices)
{
    free(notices->moves);
    memset(notices, 0, sizeof *notices);
}

void pawl__notices_due(struct pawl__notices *notices, int64_t due_at_ms)
{
    if (!notices->due_at_ms || due_at_ms < notices->due_at_ms) notices->due_at_ms = due_at_ms;
}

void pawl__notices_fire(struct pawl__notices *notices, int64_t fire_at_ms)
{
    if (!notices->fire_at_ms || fire_at_ms < notices->fire_at_ms) notices->fire_at_ms = fire_at_ms;
}

static bool room_for_move(struct pawl__notices *notices)
{
    if (notices->move_count < notices->move_cap) return true;
    size_t cap = notices->move_cap ? notices->move_cap * 2 : 256;
    if (cap > MOVES_MAX) return false;
    struct pawl__move *grown = realloc(notices->moves, cap * sizeof *grown);
    if (!grown) return false;
    notices->moves = grown;
    notices->move_cap = cap;
    return true;
}

void pawl__notices_move(struct pawl__notices *notices, const struct pawl__move *move)
{
    if (room_for_move(notices)) {
        notices->moves[notices->move_count++] = *move;
    } else {
        notices->lost++;
    }
}

bool pawl__notices_get(const struct pawl__notices *notices, int64_t at_ms, struct pawl__notice *out)
{
    *out = (struct pawl__notice){ .ready = notices->ready,
                                  .control = notices->control,
                                  .due_at_ms = notices->due_at_ms,
                                  .fire_at_ms = notices->fire_at_ms,
                                  .at_ms = at_ms,
                                  .moves = notices->moves,
                                  .move_count = notices->move_count,
                                  .lost = notices->lost };
    return out->ready || out->control || out->due_at_ms || out->fire_at_ms || out->move_count ||
           out->lost;
}
