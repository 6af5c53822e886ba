/* See tale.h. */
#include "store/tale.h"

#include <stdlib.h>
#include <string.h>

enum { MOVES_MAX = 65536 };

void pawl__tale_begin(struct pawl__tale *tale)
{
    tale->ready = tale->control = false;
    tale->due_at_ms = 0;
    tale->move_count = 0;
    tale->lost = 0;
}

void pawl__tale_release(struct pawl__tale *tale)
{
    free(tale->moves);
    memset(tale, 0, sizeof *tale);
}

void pawl__tale_due(struct pawl__tale *tale, int64_t due_at_ms)
{
    if (!tale->due_at_ms || due_at_ms < tale->due_at_ms) tale->due_at_ms = due_at_ms;
}

static bool room_for_move(struct pawl__tale *tale)
{
    if (tale->move_count < tale->move_cap) return true;
    size_t cap = tale->move_cap ? tale->move_cap * 2 : 256;
    if (cap > MOVES_MAX) return false;
    struct pawl__move *grown = realloc(tale->moves, cap * sizeof *grown);
    if (!grown) return false;
    tale->moves = grown;
    tale->move_cap = cap;
    return true;
}

void pawl__tale_move(struct pawl__tale *tale, const struct pawl__move *move)
{
    if (room_for_move(tale)) {
        tale->moves[tale->move_count++] = *move;
    } else {
        tale->lost++;
    }
}

bool pawl__tale_tell(const struct pawl__tale *tale, int64_t at_ms, struct pawl__notice *out)
{
    *out = (struct pawl__notice){ .ready = tale->ready,
                                  .control = tale->control,
                                  .due_at_ms = tale->due_at_ms,
                                  .at_ms = at_ms,
                                  .moves = tale->moves,
                                  .move_count = tale->move_count,
                                  .lost = tale->lost };
    return out->ready || out->control || out->due_at_ms || out->move_count || out->lost;
}
