/* Runs on: the sessions' threads, except open, close and post. See committer.h for what must stay
 * true. */
#include "store/committer.h"

#include "base/clock.h"
#include "base/diag.h"
#include "base/histogram.h"

#include <assert.h>
#include <string.h>

#define REOPEN_PAUSE_US INT64_C(1000000)
#define NOTIFY_PAUSE_US INT64_C(2000)
#define PATIENCE_US INT64_C(5000) /* of a session that leaves what waits to the others */

/* One transaction stays bounded in time. */
static size_t weight_of(const struct pawl__op *op)
{
    switch (op->kind) {
#define X(name, text, weight, ...)                                                                 \
    case PAWL__OP_##name:                                                                          \
        return (size_t)(weight);
        PAWL__OPS(X)
#undef X
    case PAWL__OP_END:
        break;
    }
    return 1;
}

/* ---- the inbox ---- */

static bool is_first(const struct pawl__session *session)
{
    return session == session->committer->sessions;
}

static void inbox_add(struct pawl__inbox *inbox, struct pawl__op *first)
{
    *inbox->tail = first;
    for (struct pawl__op *op = first; op; op = op->next) {
        inbox->weight += weight_of(op);
        inbox->tail = &op->next;
    }
}

/* Add what fits to the batch; it is bounded, but one operation always fits. */
static size_t cut(struct pawl__inbox *inbox, struct pawl__op **batch, size_t count, size_t *weight)
{
    while (inbox->head && count < PAWL__COMMIT_WEIGHT_MAX) {
        size_t more = weight_of(inbox->head);
        if (count && *weight + more > PAWL__COMMIT_WEIGHT_MAX) break;
        *weight += more;
        inbox->weight -= more;
        batch[count] = inbox->head;
        inbox->head = inbox->head->next;
        batch[count++]->next = NULL;
    }
    if (!inbox->head) inbox->tail = &inbox->head;
    return count;
}

/* ---- the order of commits ---- */

/* Called by the backend before each COMMIT; again when it tries again. */
static void take_place(void *ctx)
{
    struct pawl__session *session = ctx;
    struct pawl__committer *committer = session->committer;
    pawl__lock(&committer->mutex);
    if (session->place) pawl__cond_broadcast(&committer->notified);
    session->place = ++committer->places;
    pawl__unlock(&committer->mutex);
}

static void give_up_place(struct pawl__session *session)
{
    struct pawl__committer *committer = session->committer;
    pawl__lock(&committer->mutex);
    if (session->place) pawl__cond_broadcast(&committer->notified);
    session->place = 0;
    pawl__unlock(&committer->mutex);
}

static bool is_next(const struct pawl__session *session)
{
    const struct pawl__committer *committer = session->committer;
    for (size_t i = 0; i < committer->session_max; i++) {
        int64_t place = committer->sessions[i].place;
        if (place && place < session->place) return false;
    }
    return true;
}

/* Until all who have a place before this one have told what they had to, or failed. */
static void await_turn(struct pawl__session *session)
{
    struct pawl__committer *committer = session->committer;
    pawl__lock(&committer->mutex);
    while (!is_next(session)) {
        pawl__cond_wait(&committer->notified, &committer->mutex);
    }
    pawl__unlock(&committer->mutex);
}

/* ---- who takes what waits ---- */

static void *run(void *arg);

/* A session that could not join the backend tries again after a while. */
static bool can_join(const struct pawl__session *session)
{
    if (session->backend) return true;
    if (session->committer->closing) return false;
    if (!session->join_tried_us) return true;
    int64_t now_us = pawl__clock_mono_us(session->committer->clock);
    return now_us - session->join_tried_us >= REOPEN_PAUSE_US;
}

/* In doubt, only the first may write: it reopens the backend. */
static bool may_take(const struct pawl__session *session)
{
    const struct pawl__committer *committer = session->committer;
    return committer->inbox.head && (!committer->rest_of || committer->rest_of == session) &&
           (is_first(session) || (!committer->doubt && can_join(session)));
}

static bool has_work(const struct pawl__session *session)
{
    const struct pawl__committer *committer = session->committer;
    if (session->state == PAWL__SESSION_LENT) return false;
    return (is_first(session) && committer->lines.head) || may_take(session);
}

/* Is it for the session to take, and not to be left to those that are busy? */
static bool is_time(const struct pawl__session *session)
{
    const struct pawl__committer *committer = session->committer;
    return !committer->busy || committer->closing || committer->rest_of == session ||
           committer->inbox.weight >= PAWL__WORTH_A_SESSION ||
           (is_first(session) && committer->lines.head);
}

/* Signal it, best without the lock. */
static struct pawl__cond *call_session(struct pawl__session *session)
{
    session->state = PAWL__SESSION_CALLED; // one signal is enough
    return &session->work;
}

static void start_session(struct pawl__session *session)
{
    session->state = PAWL__SESSION_CALLED;
    if (pawl__thread_start(&session->thread, run, session)) return;
    session->state = PAWL__SESSION_NONE; // those that there are will do
}

/* Something waits: the first session that is free is to look at it. One that looks already will
 * call the next if it leaves something behind. NULL: nobody is to be signalled. */
static struct pawl__cond *call_somebody(struct pawl__committer *committer)
{
    for (size_t i = 0; i < committer->session_max; i++) {
        struct pawl__session *session = &committer->sessions[i];
        bool able = i == 0 || (!committer->doubt && can_join(session));
        switch (session->state) {
        case PAWL__SESSION_BUSY:
        case PAWL__SESSION_LENT:
            continue;
        case PAWL__SESSION_CALLED:
            return NULL;
        case PAWL__SESSION_WATCHES:
            return committer->inbox.weight >= PAWL__WORTH_A_SESSION ? call_session(session) : NULL;
        case PAWL__SESSION_SLEEPS:
            if (!able) continue;
            return call_session(session);
        case PAWL__SESSION_NONE:
            if (able) start_session(session);
            return NULL;
        }
    }
    return NULL;
}

static void call_all(struct pawl__committer *committer)
{
    for (size_t i = 0; i < committer->session_max; i++) {
        pawl__cond_signal(&committer->sessions[i].work);
    }
}

static void sleep_until_called(struct pawl__committer *committer, struct pawl__session *session)
    PAWL__REQUIRES(committer->mutex)
{
    if (session->state != PAWL__SESSION_LENT) session->state = PAWL__SESSION_SLEEPS;
    // what it was called for and cannot do is the first one's
    struct pawl__session *first = committer->sessions;
    if (committer->inbox.head && session != first && first->state == PAWL__SESSION_SLEEPS) {
        pawl__cond_signal(call_session(first));
    }
    pawl__cond_wait(&session->work, &committer->mutex);
}

/* True: nothing was taken for as long as it looked on. */
static bool watch_others(struct pawl__committer *committer, struct pawl__session *session)
    PAWL__REQUIRES(committer->mutex)
{
    int64_t takes = committer->takes;
    session->state = PAWL__SESSION_WATCHES;
    bool called = pawl__cond_wait_us(&session->work, &committer->mutex, PATIENCE_US);
    return !called && takes == committer->takes;
}

static void join(struct pawl__committer *committer, struct pawl__session *session)
    PAWL__REQUIRES(committer->mutex)
{
    session->join_tried_us = pawl__clock_mono_us(committer->clock);
    session->state = PAWL__SESSION_CALLED;
    pawl__unlock(&committer->mutex);
    struct pawl__backend *joined = NULL;
    bool ok = committer->table->join(committer->backend, &joined, NULL) == PAWL_OK;
    if (ok) committer->table->order(joined, take_place, session);
    pawl__lock(&committer->mutex);
    session->backend = joined;
}

/* False: it is to end. */
static bool await_work(struct pawl__committer *committer, struct pawl__session *session)
    PAWL__REQUIRES(committer->mutex)
{
    bool tired = false;
    for (;;) {
        bool work = has_work(session);
        bool lent = session->state == PAWL__SESSION_LENT;
        if (work && (tired || is_time(session))) {
            if (session->backend) return true;
            join(committer, session);
        } else if (work) {
            tired = watch_others(committer, session);
        } else {
            if (committer->closing && !lent && !committer->inbox.head) return false;
            sleep_until_called(committer, session);
            tired = false;
        }
    }
}

/* Cut a bounded batch off the inbox; 0 when closing and empty. */
static size_t take_batch(struct pawl__session *session, size_t *weight)
{
    struct pawl__committer *committer = session->committer;
    struct pawl__cond *called = NULL;
    size_t count = 0;
    *weight = 0;
    pawl__lock(&committer->mutex);
    if (session->state == PAWL__SESSION_BUSY) {
        session->state = PAWL__SESSION_CALLED;
        committer->busy--;
    }
    if (committer->doubt && committer->rest_of == session) {
        committer->rest_of = NULL; // it may not go on, and who may must not wait for it
    }
    if (await_work(committer, session)) {
        session->state = PAWL__SESSION_BUSY;
        committer->busy++;
        committer->takes++;
        if (is_first(session)) count = cut(&committer->lines, session->batch, 0, weight);
        size_t lines = count;
        if (may_take(session)) count = cut(&committer->inbox, session->batch, count, weight);
        bool rest = committer->inbox.head && committer->inbox.head->chained && count > lines &&
                    session->batch[count - 1]->chained;
        if (rest || committer->rest_of == session) committer->rest_of = rest ? session : NULL;
        session->note_all = committer->all_moves;
        if (committer->inbox.head) called = call_somebody(committer);
    }
    if (committer->closing) call_all(committer);
    pawl__unlock(&committer->mutex);
    if (called) pawl__cond_signal(called);
    return count;
}

/* ---- committing ---- */

/* Does this failure of a transaction leave us unsure of what the storage holds? */
static bool leaves_doubt(enum pawl_err err)
{
    return err == PAWL_ERR_FULL || err == PAWL_ERR_IO || err == PAWL_ERR_CORRUPT ||
           err == PAWL_ERR_READONLY;
}

static void fail_ops(struct pawl__op **ops, size_t count, enum pawl_err err,
                     const struct pawl_diag *diag)
{
    for (size_t i = 0; i < count; i++) {
        struct pawl__op *op = ops[i];
        op->err = err;
        if (op->diag) *op->diag = *diag;
    }
}

/* Only in the first session's place. Why nothing may be written, unless reopening helps. */
static enum pawl_err settle_doubt(struct pawl__committer *committer, int64_t now_us,
                                  struct pawl_diag *why)
{
    pawl__lock(&committer->mutex);
    enum pawl_err doubt = committer->doubt;
    bool reopen = doubt && now_us - committer->doubt_tried_us >= REOPEN_PAUSE_US;
    if (reopen) committer->doubt_tried_us = now_us;
    *why = committer->doubt_diag;
    pawl__unlock(&committer->mutex);
    if (!reopen) return doubt;
    struct pawl_diag diag = { 0 };
    enum pawl_err err = committer->table->reopen(committer->backend, &diag);
    if (err) *why = diag;
    pawl__lock(&committer->mutex);
    committer->doubt_diag = *why;
    if (!err) committer->doubt = PAWL_OK;
    committer->counters.reopened += !err;
    pawl__unlock(&committer->mutex);
    return err;
}

static void refuse_ops(struct pawl__op **ops, size_t count, const struct pawl_diag *why)
{
    struct pawl_diag diag;
    pawl__fail(&diag, PAWL_ERR_UNSAFE,
               "an earlier write failed (%s); nothing is written until the store has been reopened "
               "and checked",
               why->text);
    fail_ops(ops, count, PAWL_ERR_UNSAFE, &diag);
}

static void begin_doubt(struct pawl__committer *committer, enum pawl_err err, int64_t now_us,
                        const struct pawl_diag *diag)
{
    pawl__lock(&committer->mutex);
    committer->doubt = err;
    committer->doubt_tried_us = now_us;
    committer->doubt_diag = *diag;
    pawl__unlock(&committer->mutex);
}

static void count_batch(struct pawl__committer *committer, size_t count, size_t weight,
                        int64_t took_us, enum pawl_err err)
{
    pawl__lock(&committer->mutex);
    struct pawl__store_counters *counters = &committer->counters;
    if (err) {
        counters->failed_commits++;
    } else {
        counters->commits++;
        counters->ops += (int64_t)count;
        counters->rows += (int64_t)weight;
        if ((int64_t)count > counters->batch_max) counters->batch_max = (int64_t)count;
        counters->commit_us += took_us;
        pawl__histogram_add(&counters->commit_times, took_us);
        pawl__histogram_add(&counters->batch_sizes, (int64_t)count);
        if (took_us > counters->commit_us_max) counters->commit_us_max = took_us;
    }
    pawl__unlock(&committer->mutex);
}

/* True when it was committed. */
static bool commit_ops(struct pawl__session *session, struct pawl__op **ops, size_t count,
                       size_t weight)
{
    struct pawl__committer *committer = session->committer;
    int64_t began_us = pawl__clock_mono_us(committer->clock);
    struct pawl_diag diag = { 0 };
    if (is_first(session) && settle_doubt(committer, began_us, &diag)) {
        refuse_ops(ops, count, &diag);
        return false;
    }
    diag = (struct pawl_diag){ 0 };
    committer->table->note(session->backend, session->note_all);
    enum pawl_err err = committer->table->apply(session->backend, ops, count, &diag);
    int64_t ended_us = pawl__clock_mono_us(committer->clock);
    count_batch(committer, count, weight, ended_us - began_us, err);
    if (!err) return true;
    fail_ops(ops, count, err, &diag);
    if (leaves_doubt(err)) begin_doubt(committer, err, ended_us, &diag);
    return false;
}

/* ---- notices ---- */

static void notify_watcher(struct pawl__committer *committer, const struct pawl__notice *notice)
{
    pawl__lock(&committer->mutex);
    pawl__notice_fn *watcher = committer->watcher;
    void *ctx = committer->watcher_ctx;
    committer->notifying += watcher != NULL;
    pawl__unlock(&committer->mutex);
    if (!watcher) return;
    watcher(ctx, notice);
    pawl__lock(&committer->mutex);
    committer->notifying--;
    pawl__cond_broadcast(&committer->notified);
    pawl__unlock(&committer->mutex);
}

static void gather_unsent(struct pawl__committer *committer, const struct pawl__notice *notice)
{
    struct pawl__notice *unsent = &committer->unsent;
    pawl__lock(&committer->mutex);
    unsent->ready |= notice->ready;
    unsent->control |= notice->control;
    if (notice->due_at_ms && (!unsent->due_at_ms || notice->due_at_ms < unsent->due_at_ms)) {
        unsent->due_at_ms = notice->due_at_ms;
    }
    if (notice->fire_at_ms && (!unsent->fire_at_ms || notice->fire_at_ms < unsent->fire_at_ms)) {
        unsent->fire_at_ms = notice->fire_at_ms;
    }
    committer->has_unsent |= notice->ready || notice->control || notice->due_at_ms ||
                             notice->fire_at_ms;
    pawl__unlock(&committer->mutex);
}

/* Other processes hear of a busy one every few milliseconds, and always of its last commit. */
static void notify_others(struct pawl__committer *committer)
{
    pawl__lock(&committer->mutex);
    bool due = committer->has_unsent;
    bool idle = !committer->inbox.head && !committer->lines.head;
    pawl__unlock(&committer->mutex);
    if (!due) return;
    int64_t now_us = pawl__clock_mono_us(committer->clock);
    pawl__lock(&committer->mutex);
    due = committer->has_unsent && (idle || now_us - committer->sent_us >= NOTIFY_PAUSE_US);
    struct pawl__notice unsent = committer->unsent;
    if (due) {
        committer->sent_us = now_us;
        committer->has_unsent = false;
        committer->unsent = (struct pawl__notice){ .ready = false };
    }
    pawl__unlock(&committer->mutex);
    if (due && committer->wake) committer->wake->table->send(committer->wake, &unsent);
}

static void notify(struct pawl__session *session, bool committed)
{
    struct pawl__committer *committer = session->committer;
    struct pawl__notice notice = { .ready = false };
    if (committed && committer->table->get_notice(session->backend, &notice)) {
        if (notice.move_count && committer->session_max > 1) await_turn(session);
        gather_unsent(committer, &notice);
        notify_watcher(committer, &notice);
    }
    if (committer->session_max > 1) give_up_place(session);
    notify_others(committer);
}

static void *run(void *arg)
{
    struct pawl__session *session = arg;
    size_t count, weight;
    while ((count = take_batch(session, &weight)) > 0) {
        bool committed = commit_ops(session, session->batch, count, weight);
        for (size_t i = 0; i < count; i++) {
            session->batch[i]->done(session->batch[i]); // the op may be gone after this
        }
        notify(session, committed);
    }
    if (!is_first(session) && session->backend) {
        session->committer->table->close(session->backend);
    }
    return NULL;
}

/* ---- from outside ---- */

static void release(struct pawl__committer *committer)
{
    for (size_t i = 0; i < PAWL__SESSIONS_MAX; i++) {
        pawl__cond_release(&committer->sessions[i].work);
    }
    pawl__cond_release(&committer->notified);
    pawl__mutex_release(&committer->mutex);
}

enum pawl_err pawl__committer_open(struct pawl__committer *committer,
                                   const struct pawl__backend_table *table,
                                   struct pawl__backend *backend, struct pawl__wake *wake,
                                   const struct pawl_clock *clock, struct pawl_diag *diag)
{
    memset(committer, 0, sizeof *committer);
    committer->table = table;
    committer->backend = backend;
    committer->wake = wake;
    committer->clock = clock;
    committer->session_max = table->session_max > 1 ? table->session_max : 1;
    assert(committer->session_max <= PAWL__SESSIONS_MAX);
    committer->inbox.tail = &committer->inbox.head;
    committer->lines.tail = &committer->lines.head;
    pawl__mutex_init(&committer->mutex);
    pawl__cond_init(&committer->notified);
    for (size_t i = 0; i < PAWL__SESSIONS_MAX; i++) {
        committer->sessions[i].committer = committer;
        pawl__cond_init(&committer->sessions[i].work);
    }
    struct pawl__session *first = committer->sessions;
    first->backend = backend;
    if (committer->session_max > 1) table->order(backend, take_place, first);
    first->state = PAWL__SESSION_CALLED;
    if (pawl__thread_start(&first->thread, run, first)) return PAWL_OK;
    release(committer);
    return pawl__fail(diag, PAWL_ERR_NOMEM, "could not start the committer's thread");
}

void pawl__committer_close(struct pawl__committer *committer)
{
    pawl__lock(&committer->mutex);
    committer->closing = true;
    call_all(committer);
    size_t started = 1;
    while (started < committer->session_max && committer->sessions[started].state) {
        started++; // from now on no more are
    }
    pawl__unlock(&committer->mutex);
    for (size_t i = 0; i < started; i++) {
        pthread_join(committer->sessions[i].thread, NULL);
    }
    assert(!committer->inbox.head && !committer->lines.head);
    release(committer);
}

void pawl__committer_post(struct pawl__committer *committer, struct pawl__op *first)
{
    first->chained = first->next != NULL;
    for (struct pawl__op *op = first->next; op; op = op->next) {
        op->chained = true;
    }
    bool line = first->kind == PAWL__OP_LOG && !first->chained && committer->session_max > 1;
    pawl__lock(&committer->mutex);
    assert(!committer->closing); // posting to a store that is being closed is the caller's bug
    inbox_add(line ? &committer->lines : &committer->inbox, first);
    struct pawl__session *its = committer->sessions;
    struct pawl__cond *called = NULL;
    if (!line) {
        called = call_somebody(committer);
    } else if (its->state == PAWL__SESSION_SLEEPS || its->state == PAWL__SESSION_WATCHES) {
        called = call_session(its);
    }
    pawl__unlock(&committer->mutex);
    if (called) pawl__cond_signal(called);
}

void pawl__committer_watch(struct pawl__committer *committer, pawl__notice_fn *fn, void *ctx,
                           bool all_moves)
{
    pawl__lock(&committer->mutex);
    committer->watcher = fn;
    committer->watcher_ctx = ctx;
    committer->all_moves = fn && all_moves;
    while (!fn && committer->notifying) {
        pawl__cond_wait(&committer->notified, &committer->mutex);
    }
    pawl__unlock(&committer->mutex);
}

bool pawl__committer_do(struct pawl__committer *committer, struct pawl__op *op)
{
    struct pawl__session *session = committer->sessions;
    pawl__lock(&committer->mutex);
    bool lent = session->state == PAWL__SESSION_SLEEPS && !committer->busy &&
                !committer->inbox.head && !committer->closing;
    if (lent) {
        session->state = PAWL__SESSION_LENT;
        committer->busy++;
        session->note_all = committer->all_moves;
    }
    pawl__unlock(&committer->mutex);
    if (!lent) return false;
    notify(session, commit_ops(session, &op, 1, weight_of(op)));
    pawl__lock(&committer->mutex);
    session->state = PAWL__SESSION_SLEEPS;
    committer->busy--;
    bool wake = committer->inbox.head || committer->lines.head || committer->closing;
    struct pawl__cond *called = wake ? call_session(session) : NULL;
    pawl__unlock(&committer->mutex);
    if (called) pawl__cond_signal(called);
    return true;
}
