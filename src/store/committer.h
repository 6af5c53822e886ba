/* The committer: an inbox of operations and the threads that turn whatever waits in it into one
 * transaction after the other. There is one thread for each session that the backend can apply in
 * at the same time (a file has one, a server several).
 *
 * 1. An operation is answered exactly once, after the commit that holds it or with the error that
 *    kept it from happening.
 * 2. After a failure that leaves the storage in doubt nothing is begun in any session until the
 *    backend has been reopened and found sound; the next operation tries that, at most once a
 *    second.
 * 3. What a commit has to tell is told after its operations were answered (or, by 4, just before
 * the caller returns); other processes are told at once when nothing else waits, else every few
 *    milliseconds.
 * 4. Whoever waits for a lone operation while nothing else is to be done commits it himself, in the
 *    first session's place: that saves two changes of threads. One at a time has the place.
 * 5. The longer a commit takes the more operations share the next one; no timer forms batches. A
 *    further session takes what waits when it is much, or when nothing has been taken for a while:
 *    few in each of many transactions would cost more than waiting for the one under way.
 * 6. Operations of a list are applied in its order; what does not fit into one transaction goes
 *    into the next of the same session. Lines for a job's log that are posted one after the other
 *    stay in that order too: they all go through the first session. Beyond that, what was posted
 *    has no order: two sessions may swap what one caller posted without waiting for the answer.
 * 7. Moves are told in the order in which they happened, for each job: whoever moves a job holds it
 *    until the commit, so the places that commits take just before, all that they move in hand, are
 *    in that order, and what has moves to tell waits for its turn. */
#ifndef PAWL_STORE_COMMITTER_H
#define PAWL_STORE_COMMITTER_H

#include "base/sync.h"
#include "store/backend.h"
#include "store/wake.h"

#include <pthread.h>

enum {
    PAWL__SESSIONS_MAX = 4,
    PAWL__WORTH_A_SESSION = 512 /* rows that are waited for by nobody else's commit */
};

struct pawl__inbox {
    struct pawl__op *head;
    struct pawl__op **tail;
    size_t weight; /* of all that is in it */
};

enum pawl__session_state {
    PAWL__SESSION_NONE = 0, /* its thread has not been started */
    PAWL__SESSION_SLEEPS,
    PAWL__SESSION_WATCHES, /* something waits, which is left to the others for a while */
    PAWL__SESSION_CALLED,  /* it was woken */
    PAWL__SESSION_LENT,    /* its place is taken by somebody who waits */
    PAWL__SESSION_BUSY
};

struct pawl__session {
    struct pawl__committer *committer;
    pthread_t thread;
    struct pawl__cond work;
    /* guarded by the committer's mutex: */
    enum pawl__session_state state;
    int64_t place; /* of the transaction under way among all; 0: it has none, or has told */

    /* of whoever has its place: */
    struct pawl__backend *backend; /* NULL: not joined yet */
    int64_t join_tried_us;
    bool note_all; /* the next transaction is to note all moves */
    struct pawl__op *batch[PAWL__COMMIT_WEIGHT_MAX];
};

struct pawl__committer {
    const struct pawl__backend_table *table;
    struct pawl__backend *backend;
    struct pawl__wake *wake; /* NULL: other processes are not told */
    const struct pawl_clock *clock;
    size_t session_max;
    struct pawl__session sessions[PAWL__SESSIONS_MAX]; /* the first has `backend` itself */

    struct pawl__mutex mutex;
    /* guarded by mutex: */
    struct pawl__inbox inbox;
    struct pawl__inbox lines; /* of logs; empty where there is but one session */
    struct pawl__session
        *rest_of;   /* it took the first part of the list that the inbox begins with */
    size_t busy;    /* sessions that are lent or busy */
    int64_t takes;  /* batches taken out of the inbox */
    int64_t places; /* of transactions, given out so far */
    bool closing;
    enum pawl_err doubt; /* why nothing may be written; PAWL_OK: all is well */
    int64_t doubt_tried_us;
    struct pawl_diag doubt_diag;
    struct pawl__store_counters counters;
    pawl__notice_fn *watcher;
    void *watcher_ctx;
    bool all_moves;
    int notifying;              /* calls of the watcher under way */
    struct pawl__cond notified; /* one has ended, or a place was given up */
    struct pawl__notice unsent; /* for other processes; ready, control and due_at_ms alone */
    bool has_unsent;
    int64_t sent_us;
};

/* Starts the first session's thread; the others are started, and join the backend, when there is
 * work for them. `backend` and `wake` stay the caller's. NOMEM: no thread to be had. */
PAWL_MUST_CHECK enum pawl_err
pawl__committer_open(struct pawl__committer *committer, const struct pawl__backend_table *table,
                     struct pawl__backend *backend, struct pawl__wake *wake,
                     const struct pawl_clock *clock, struct pawl_diag *diag);
/* Answers all that was posted, then joins the threads. */
void pawl__committer_close(struct pawl__committer *committer);
/* See pawl__store_watch. */
void pawl__committer_watch(struct pawl__committer *committer, pawl__notice_fn *fn, void *ctx,
                           bool all_moves);
/* Have one operation committed by the caller, if nothing else is to be done. False: post it. */
bool pawl__committer_do(struct pawl__committer *committer, struct pawl__op *op);
/* Takes a list linked by `next`. Any thread; never blocks on the backend. */
void pawl__committer_post(struct pawl__committer *committer, struct pawl__op *first);

#endif
