/* Runs on: its own thread, except open, close and post. See committer.h for what must stay true. */
#include "store/committer.h"

#include "base/clock.h"
#include "base/diag.h"
#include "base/histogram.h"

#include <assert.h>
#include <string.h>

#define REOPEN_PAUSE_US INT64_C(1000000)
#define TELL_PAUSE_US INT64_C(2000)

/* Roughly how many rows an operation touches, so that one transaction stays bounded in time. */
static size_t weight_of(const struct pawl__op *op)
{
    switch (op->kind) {
    case PAWL__OP_SUBMIT:
        return op->submit.count;
    case PAWL__OP_CLAIM:
    case PAWL__OP_ROUTE:
        return (size_t)op->claim.limit;
    case PAWL__OP_EXTEND:
        return op->extend.count;
    case PAWL__OP_BULK:
        return (size_t)op->bulk.limit;
    case PAWL__OP_PROMOTE:
    case PAWL__OP_LAPSE:
    case PAWL__OP_EXPIRE:
        return (size_t)op->sweep.limit;
    case PAWL__OP_ARCHIVE:
    case PAWL__OP_PURGE:
        return (size_t)op->retire.limit;
    default:
        return 1;
    }
}

/* Cut a bounded batch off the inbox; 0 when closing and empty. One operation always fits. */
static size_t take_batch(struct pawl__committer *committer, size_t *weight)
{
    size_t count = 0;
    *weight = 0;
    pawl__lock(&committer->mutex);
    while (committer->lent || (!committer->head && !committer->closing)) {
        committer->asleep = true;
        pawl__cond_wait(&committer->work, &committer->mutex);
    }
    committer->asleep = false;
    while (committer->head && count < PAWL__COMMIT_WEIGHT_MAX) {
        size_t more = weight_of(committer->head);
        if (count && *weight + more > PAWL__COMMIT_WEIGHT_MAX) break;
        *weight += more;
        committer->batch[count] = committer->head;
        committer->head = committer->head->next;
        committer->batch[count++]->next = NULL;
    }
    if (!committer->head) committer->tail = &committer->head;
    committer->note_all = committer->all_moves;
    pawl__unlock(&committer->mutex);
    return count;
}

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

/* True when writing is safe, after reopening if need be. */
static bool settle_doubt(struct pawl__committer *committer, int64_t now_us)
{
    if (committer->doubt == PAWL_OK) return true;
    if (now_us - committer->doubt_tried_us < REOPEN_PAUSE_US) return false;
    committer->doubt_tried_us = now_us;
    struct pawl_diag diag = { 0 };
    enum pawl_err err = committer->table->reopen(committer->backend, &diag);
    if (err) {
        committer->doubt_diag = diag;
        return false;
    }
    committer->doubt = PAWL_OK;
    pawl__lock(&committer->mutex);
    committer->counters.reopened++;
    pawl__unlock(&committer->mutex);
    return true;
}

static void refuse_ops(struct pawl__committer *committer, struct pawl__op **ops, size_t count)
{
    struct pawl_diag diag;
    pawl__fail(&diag, PAWL_ERR_UNSAFE,
               "an earlier write failed (%s); nothing is written until the store has been reopened "
               "and checked",
               committer->doubt_diag.text);
    fail_ops(ops, count, PAWL_ERR_UNSAFE, &diag);
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
static bool commit_ops(struct pawl__committer *committer, struct pawl__op **ops, size_t count,
                       size_t weight)
{
    int64_t began_us = pawl__clock_mono_us(committer->clock);
    if (!settle_doubt(committer, began_us)) {
        refuse_ops(committer, ops, count);
        return false;
    }
    committer->table->note(committer->backend, committer->note_all);
    struct pawl_diag diag = { 0 };
    enum pawl_err err = committer->table->apply(committer->backend, ops, count, &diag);
    int64_t ended_us = pawl__clock_mono_us(committer->clock);
    count_batch(committer, count, weight, ended_us - began_us, err);
    if (!err) return true;
    fail_ops(ops, count, err, &diag);
    if (leaves_doubt(err)) {
        committer->doubt = err;
        committer->doubt_tried_us = ended_us;
        committer->doubt_diag = diag;
    }
    return false;
}

static void tell_watcher(struct pawl__committer *committer, const struct pawl__notice *notice)
{
    pawl__lock(&committer->mutex);
    pawl__notice_fn *watcher = committer->watcher;
    void *ctx = committer->watcher_ctx;
    committer->telling = watcher != NULL;
    pawl__unlock(&committer->mutex);
    if (!watcher) return;
    watcher(ctx, notice);
    pawl__lock(&committer->mutex);
    committer->telling = false;
    pawl__cond_broadcast(&committer->told);
    pawl__unlock(&committer->mutex);
}

static void gather_untold(struct pawl__committer *committer, const struct pawl__notice *notice)
{
    struct pawl__notice *untold = &committer->untold;
    untold->ready |= notice->ready;
    untold->control |= notice->control;
    if (notice->due_at_ms && (!untold->due_at_ms || notice->due_at_ms < untold->due_at_ms)) {
        untold->due_at_ms = notice->due_at_ms;
    }
    committer->has_untold |= notice->ready || notice->control || notice->due_at_ms;
}

/* Other processes hear of a busy one every few milliseconds, and always of its last commit. */
static void tell_others(struct pawl__committer *committer)
{
    if (!committer->has_untold) return;
    pawl__lock(&committer->mutex);
    bool idle = !committer->head;
    pawl__unlock(&committer->mutex);
    int64_t now_us = pawl__clock_mono_us(committer->clock);
    if (!idle && now_us - committer->told_us < TELL_PAUSE_US) return;
    committer->told_us = now_us;
    committer->has_untold = false;
    committer->table->tell(committer->backend, &committer->untold);
    committer->untold = (struct pawl__notice){ .ready = false };
}

static void tell(struct pawl__committer *committer, bool committed)
{
    struct pawl__notice notice = { .ready = false };
    if (committed && committer->table->told(committer->backend, &notice)) {
        gather_untold(committer, &notice);
        tell_watcher(committer, &notice);
    }
    tell_others(committer);
}

static void *run(void *arg)
{
    struct pawl__committer *committer = arg;
    size_t count, weight;
    while ((count = take_batch(committer, &weight)) > 0) {
        bool committed = commit_ops(committer, committer->batch, count, weight);
        for (size_t i = 0; i < count; i++) {
            committer->batch[i]->done(committer->batch[i]); // the op may be gone after this
        }
        tell(committer, committed);
    }
    return NULL;
}

enum pawl_err pawl__committer_open(struct pawl__committer *committer,
                                   const struct pawl__backend_table *table,
                                   struct pawl__backend *backend, const struct pawl_clock *clock,
                                   struct pawl_diag *diag)
{
    memset(committer, 0, sizeof *committer);
    committer->table = table;
    committer->backend = backend;
    committer->clock = clock;
    committer->tail = &committer->head;
    pawl__mutex_init(&committer->mutex);
    pawl__cond_init(&committer->work);
    pawl__cond_init(&committer->told);
    if (pawl__thread_start(&committer->thread, run, committer)) return PAWL_OK;
    pawl__cond_release(&committer->told);
    pawl__cond_release(&committer->work);
    pawl__mutex_release(&committer->mutex);
    return pawl__fail(diag, PAWL_ERR_NOMEM, "could not start the committer's thread");
}

void pawl__committer_close(struct pawl__committer *committer)
{
    pawl__lock(&committer->mutex);
    committer->closing = true;
    pawl__cond_signal(&committer->work);
    pawl__unlock(&committer->mutex);
    pthread_join(committer->thread, NULL);
    assert(!committer->head);
    pawl__cond_release(&committer->told);
    pawl__cond_release(&committer->work);
    pawl__mutex_release(&committer->mutex);
}

void pawl__committer_post(struct pawl__committer *committer, struct pawl__op *first)
{
    struct pawl__op *last = first;
    first->chained = first->next != NULL;
    while (last->next) {
        last = last->next;
        last->chained = true;
    }
    pawl__lock(&committer->mutex);
    assert(!committer->closing); // posting to a store that is being closed is the caller's bug
    *committer->tail = first;
    committer->tail = &last->next;
    bool wake = committer->asleep;
    committer->asleep = false; // one signal is enough
    pawl__unlock(&committer->mutex);
    if (wake) pawl__cond_signal(&committer->work);
}

void pawl__committer_watch(struct pawl__committer *committer, pawl__notice_fn *fn, void *ctx,
                           bool all_moves)
{
    pawl__lock(&committer->mutex);
    committer->watcher = fn;
    committer->watcher_ctx = ctx;
    committer->all_moves = fn && all_moves;
    while (!fn && committer->telling) {
        pawl__cond_wait(&committer->told, &committer->mutex);
    }
    pawl__unlock(&committer->mutex);
}

bool pawl__committer_do(struct pawl__committer *committer, struct pawl__op *op)
{
    pawl__lock(&committer->mutex);
    bool lent = committer->asleep && !committer->head && !committer->lent && !committer->closing;
    if (lent) {
        committer->lent = true;
        committer->note_all = committer->all_moves;
    }
    pawl__unlock(&committer->mutex);
    if (!lent) return false;
    tell(committer, commit_ops(committer, &op, 1, weight_of(op)));
    pawl__lock(&committer->mutex);
    committer->lent = false;
    bool wake = committer->head || committer->closing;
    pawl__unlock(&committer->mutex);
    if (wake) pawl__cond_signal(&committer->work);
    return true;
}
