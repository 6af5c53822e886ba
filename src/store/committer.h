/* The committer: an inbox of operations and the thread that turns whatever waits in it into one
 * transaction after the other.
 *
 * 1. An operation is answered exactly once, after the commit that holds it or with the error that
 *    kept it from happening.
 * 2. After a failure that leaves the storage in doubt nothing is written until the backend has been
 *    reopened and found sound; the next operation tries that, at most once a second.
 * 3. What a commit has to tell is told after its operations were answered (or, by 4, just before
 * the caller returns); other processes are told at once when nothing else waits, else every few
 *    milliseconds.
 * 4. Whoever waits for a lone operation while nothing else is to be done commits it himself, in the
 *    committer's place: that saves two changes of threads. One at a time has the place.
 * 5. The longer a commit takes the more operations share the next one; no timer forms batches. */
#ifndef PAWL_STORE_COMMITTER_H
#define PAWL_STORE_COMMITTER_H

#include "base/sync.h"
#include "store/backend.h"

#include <pthread.h>

struct pawl__committer {
    const struct pawl__backend_table *table;
    struct pawl__backend *backend;
    const struct pawl_clock *clock;
    pthread_t thread;

    struct pawl__mutex mutex;
    struct pawl__cond work;
    /* guarded by mutex: */
    struct pawl__op *head;
    struct pawl__op **tail;
    bool asleep;
    bool closing;
    bool lent; /* the committer's place is taken by somebody who waits */
    struct pawl__store_counters counters;
    pawl__notice_fn *watcher;
    void *watcher_ctx;
    bool all_moves;
    bool telling; /* a call of the watcher is under way */
    struct pawl__cond told;

    /* of whoever has the committer's place: */
    bool note_all;              /* the next transaction is to note all moves */
    struct pawl__notice untold; /* for other processes; ready, control and due_at_ms alone */
    bool has_untold;
    int64_t told_us;
    struct pawl__op *batch[PAWL__COMMIT_WEIGHT_MAX];
    enum pawl_err doubt; /* why nothing may be written; PAWL_OK: all is well */
    int64_t doubt_tried_us;
    struct pawl_diag doubt_diag;
};

/* Starts the thread. `backend` stays the caller's. NOMEM: no thread to be had. */
PAWL_MUST_CHECK enum pawl_err pawl__committer_open(struct pawl__committer *committer,
                                                   const struct pawl__backend_table *table,
                                                   struct pawl__backend *backend,
                                                   const struct pawl_clock *clock,
                                                   struct pawl_diag *diag);
/* Answers all that was posted, then joins the thread. */
void pawl__committer_close(struct pawl__committer *committer);
/* See pawl__store_watch. */
void pawl__committer_watch(struct pawl__committer *committer, pawl__notice_fn *fn, void *ctx,
                           bool all_moves);
/* Have one operation committed by the caller, if nothing else is to be done. False: post it. */
bool pawl__committer_do(struct pawl__committer *committer, struct pawl__op *op);
/* Takes a list linked by `next`. Any thread; never blocks on the backend. */
void pawl__committer_post(struct pawl__committer *committer, struct pawl__op *first);

#endif
