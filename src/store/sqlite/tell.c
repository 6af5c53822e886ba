/* What a commit has to tell to this process.
 *
 * Runs on: the committer's thread. */
#include "store/sqlite/sqlite.h"

#include <stdlib.h>
#include <string.h>

enum { MOVES_MAX = 65536 };

void pawl__sq_tale_begin(struct pawl__backend *sq)
{
    struct pawl__sq_tale *tale = &sq->tale;
    tale->ready = tale->control = false;
    tale->due_at_ms = 0;
    tale->move_count = 0;
    tale->lost = 0;
}

void pawl__sq_tale_release(struct pawl__sq_tale *tale)
{
    free(tale->moves);
    free(tale->named);
    memset(tale, 0, sizeof *tale);
}

void pawl__sq_tale_due(struct pawl__backend *sq, int64_t due_at_ms)
{
    struct pawl__sq_tale *tale = &sq->tale;
    if (!tale->due_at_ms || due_at_ms < tale->due_at_ms) tale->due_at_ms = due_at_ms;
}

static bool room_for_move(struct pawl__sq_tale *tale)
{
    if (tale->move_count < tale->move_cap) return true;
    size_t cap = tale->move_cap ? tale->move_cap * 2 : 256;
    if (cap > MOVES_MAX) return false;
    struct pawl__sq_move *grown = realloc(tale->moves, cap * sizeof *grown);
    if (!grown) return false;
    tale->moves = grown;
    tale->move_cap = cap;
    return true;
}

void pawl__sq_tale_move(struct pawl__backend *sq, struct pawl__sq_lane *lane, struct pawl_job_id id,
                        int64_t run, enum pawl_state from, enum pawl_state to)
{
    struct pawl__sq_tale *tale = &sq->tale;
    if (!room_for_move(tale)) {
        tale->lost++;
        return;
    }
    tale->moves[tale->move_count++] =
        (struct pawl__sq_move){ .id = id,
                                .run = run,
                                .lane = (uint32_t)(lane - sq->lanes.lanes),
                                .from = (uint8_t)(from == PAWL__SQ_OUTSIDE ? 0 : from),
                                .to = (uint8_t)to };
}

void pawl__sq_tale_control(struct pawl__backend *sq, const struct pawl__sq_place *place,
                           enum pawl_state from)
{
    sq->tale.control = true;
    if (sq->tale.all_moves) return; // noted already
    pawl__sq_tale_move(sq, place->lane, place->id, place->run, from, place->state);
}

static bool name_moves(struct pawl__backend *sq)
{
    struct pawl__sq_tale *tale = &sq->tale;
    if (tale->move_count > tale->named_cap) {
        struct pawl__move *grown = realloc(tale->named, tale->move_cap * sizeof *grown);
        if (!grown) return false;
        tale->named = grown;
        tale->named_cap = tale->move_cap;
    }
    for (size_t i = 0; i < tale->move_count; i++) {
        const struct pawl__sq_move *move = &tale->moves[i];
        const struct pawl__sq_lane *lane = &sq->lanes.lanes[move->lane];
        tale->named[i] = (struct pawl__move){ .id = move->id,
                                              .run = move->run,
                                              .from = (enum pawl_state)move->from,
                                              .to = (enum pawl_state)move->to,
                                              .queue = sq->lanes.queues[lane->queue].name,
                                              .type = lane->type };
    }
    return true;
}

void pawl__sq_note(struct pawl__backend *sq, bool all_moves)
{
    sq->tale.all_moves = all_moves;
}

bool pawl__sq_told(struct pawl__backend *sq, struct pawl__notice *out)
{
    struct pawl__sq_tale *tale = &sq->tale;
    if (!name_moves(sq)) {
        tale->lost += (int64_t)tale->move_count;
        tale->move_count = 0;
    }
    *out = (struct pawl__notice){ .ready = tale->ready,
                                  .control = tale->control,
                                  .due_at_ms = tale->due_at_ms,
                                  .at_ms = sq->now_ms,
                                  .moves = tale->named,
                                  .move_count = tale->move_count,
                                  .lost = tale->lost };
    return out->ready || out->control || out->due_at_ms || out->move_count || out->lost;
}
