/* What a commit has to tell to this process, in the names of its lanes.
 *
 * Runs on: the session's thread. */
#include "store/postgres/postgres.h"

/* Lanes and their names stay for as long as the session. */
void pawl__pg_tale_move(struct pawl__backend *pg, const struct pawl__lane *lane,
                        struct pawl_job_id id, int64_t run, enum pawl_state from,
                        enum pawl_state to)
{
    bool came = from == PAWL__OUTSIDE;
    pawl__tale_move(&pg->tale, &(struct pawl__move){ .id = id,
                                                     .run = run,
                                                     .from = came ? PAWL_STATE_NONE : from,
                                                     .to = to,
                                                     .queue = pg->catalog.queues[lane->queue].name,
                                                     .type = lane->type });
}

void pawl__pg_note(struct pawl__backend *pg, bool all_moves)
{
    pg->tale.all_moves = all_moves;
}

bool pawl__pg_told(struct pawl__backend *pg, struct pawl__notice *out)
{
    return pawl__tale_tell(&pg->tale, pg->now_ms, out);
}
