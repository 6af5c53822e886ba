/* What a commit has to tell to this process, in the names of its lanes.
 *
 * Runs on: the committer's thread. */
#include "store/sqlite/sqlite.h"

/* Names go with their lanes, when all are read again, after the tale was begun anew. */
void pawl__sq_tale_move(struct pawl__backend *sq, const struct pawl__lane *lane,
                        struct pawl_job_id id, int64_t run, enum pawl_state from,
                        enum pawl_state to)
{
    bool came = from == PAWL__OUTSIDE;
    pawl__tale_move(&sq->tale, &(struct pawl__move){ .id = id,
                                                     .run = run,
                                                     .from = came ? PAWL_STATE_NONE : from,
                                                     .to = to,
                                                     .queue = sq->catalog.queues[lane->queue].name,
                                                     .type = lane->type });
}

void pawl__sq_note(struct pawl__backend *sq, bool all_moves)
{
    sq->tale.all_moves = all_moves;
}

bool pawl__sq_told(struct pawl__backend *sq, struct pawl__notice *out)
{
    return pawl__tale_tell(&sq->tale, sq->now_ms, out);
}
