/* The notices of a transaction to this process, collected until it commits: that there is more to
 * claim, that an operator changed a running job, when the next job is due, and which jobs moved.
 *
 * Threads: part of a backend, and used on the backend's thread. Zeroes are a valid initial value.
 */
#ifndef PAWL_STORE_NOTICES_H
#define PAWL_STORE_NOTICES_H

#include "store/store.h"

struct pawl__notices {
    bool ready, control;
    bool all_moves; /* there is a listener that wants every move */
    int64_t due_at_ms, fire_at_ms;
    struct pawl__move *moves;
    size_t move_count, move_cap;
    int64_t lost;
};

/* A transaction begins: drops the notices of the one before. `all_moves` stays. */
void pawl__notices_begin(struct pawl__notices *notices);
void pawl__notices_release(struct pawl__notices *notices);
/* Something becomes due at that time. */
void pawl__notices_due(struct pawl__notices *notices, int64_t due_at_ms);
/* The same for a schedule. */
void pawl__notices_fire(struct pawl__notices *notices, int64_t fire_at_ms);
/* The names must stay valid until the next pawl__notices_begin, or until the caller takes the move
 * back by lowering `move_count`. A move is counted as lost if memory runs out, and beyond a limit.
 */
void pawl__notices_move(struct pawl__notices *notices, const struct pawl__move *move);
/* All that was collected, as one notice, valid until the next pawl__notices_begin. False: nothing.
 */
bool pawl__notices_get(const struct pawl__notices *notices, int64_t at_ms,
                       struct pawl__notice *out);

#endif
