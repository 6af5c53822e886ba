/* What a commit has to tell to this process: that there is more to claim, that somebody interfered
 * with a job that runs, when the next one is due, and which jobs moved.
 *
 * Threads: it belongs to a backend, and to whoever has that. Zeroes are a tale that was not begun.
 */
#ifndef PAWL_STORE_TALE_H
#define PAWL_STORE_TALE_H

#include "store/store.h"

struct pawl__tale {
    bool ready, control;
    bool all_moves; /* somebody wants to hear of every move */
    int64_t due_at_ms;
    struct pawl__move *moves;
    size_t move_count, move_cap;
    int64_t lost;
};

/* A transaction begins: what the one before had to tell is forgotten, but not who wants to hear. */
void pawl__tale_begin(struct pawl__tale *tale);
void pawl__tale_release(struct pawl__tale *tale);
/* Something will be due then. */
void pawl__tale_due(struct pawl__tale *tale, int64_t due_at_ms);
/* The names must stay where they are until the tale is begun anew, or the move taken back by
 * lowering `move_count`. Without memory, and past a bound, it is counted as lost. */
void pawl__tale_move(struct pawl__tale *tale, const struct pawl__move *move);
/* What there is to tell; good until the tale is begun anew. False: nothing. */
bool pawl__tale_tell(const struct pawl__tale *tale, int64_t at_ms, struct pawl__notice *out);

#endif
