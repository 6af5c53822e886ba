/* The committer in front of a backend that does what a script says: nothing is stored, so what is
 * seen here is the committer's doing alone.
 *
 * The backend's functions and the answers run on the committer's thread, where nothing may be
 * asserted: they take notes, and the test's thread reads them. */
#ifndef PAWL_STORE_COMMITTER_TEST_KIT_H
#define PAWL_STORE_COMMITTER_TEST_KIT_H

#include "store/committer.h"

#include "base/clock.h"
#include "base/diag.h"

#include <sched.h>
#include <stdatomic.h>

#include "base/test_kit.h"

enum { CALLS_MAX = 64 };

/* The scripted backend. What call n of apply says, and how long it takes, is set beforehand. */
struct pawl__backend {
    struct pawl__wake wake; /* first: it is its own way to tell others */
    _Atomic int64_t *mono_us;
    enum pawl_err says[CALLS_MAX];
    int64_t takes_us[CALLS_MAX];
    bool busy_at_times;                     /* every seventh call says BUSY */
    struct pawl__notice notices[CALLS_MAX]; /* with at_ms set: what it has to tell */

    struct pawl__mutex mutex;
    struct pawl__cond moved;
    /* guarded by mutex: */
    bool held;   /* apply stays inside until it is let go */
    bool inside; /* apply is under way */
    int begun;
    size_t sizes[CALLS_MAX]; /* operations in each call of apply */
    size_t largest;
    enum pawl_err reopen_says;
    int reopens;
    int64_t applied;
    int64_t answered;
    bool all_moves_asked;
    int received; /* calls of the watcher */
    struct pawl__notice received_last;
    int64_t received_after; /* answers that were given before */
    bool received_held;     /* the watcher stays inside until it is let go */
    bool received_inside;
    struct pawl__notice others[CALLS_MAX]; /* what other processes were told */
    int other_count;
};

struct stage {
    struct pawl__backend backend;
    _Atomic int64_t mono_us;
    struct pawl_clock clock;
    struct pawl__committer committer;
};

/* An operation and what became of it. The notes are guarded by the backend's mutex. */
struct act {
    struct pawl__op op;
    struct stage *stage;
    enum pawl_err own_err; /* what apply finds for it */
    struct act *then;      /* posted by the answer */
    bool disposable;       /* freed by the answer */
    struct pawl_diag diag;
    int call; /* of apply, from 1; 0: never applied */
    int64_t applied_as, answered_as;
    int answers;
    bool early;   /* answered while apply was under way, or not applied at all */
    bool chained; /* as apply saw it */
};

static inline enum pawl_err script_apply(struct pawl__backend *backend, struct pawl__op **ops,
                                         size_t count, struct pawl_diag *diag)
{
    pawl__lock(&backend->mutex);
    int call = backend->begun++;
    if (call < CALLS_MAX) backend->sizes[call] = count;
    if (count > backend->largest) backend->largest = count;
    backend->inside = true;
    pawl__cond_broadcast(&backend->moved);
    while (backend->held) {
        pawl__cond_wait(&backend->moved, &backend->mutex);
    }
    for (size_t i = 0; i < count; i++) {
        struct act *act = ops[i]->user;
        ops[i]->err = act->own_err;
        act->call = call + 1;
        act->chained = ops[i]->chained;
        act->applied_as = backend->applied++;
    }
    enum pawl_err err = call < CALLS_MAX ? backend->says[call] : PAWL_OK;
    if (backend->busy_at_times && call % 7 == 3) err = PAWL_ERR_BUSY;
    if (call < CALLS_MAX) atomic_fetch_add(backend->mono_us, backend->takes_us[call]);
    backend->inside = false;
    pawl__unlock(&backend->mutex);
    return err ? pawl__fail(diag, err, "call %d of apply failed", call + 1) : PAWL_OK;
}

static inline enum pawl_err script_reopen(struct pawl__backend *backend, struct pawl_diag *diag)
{
    pawl__lock(&backend->mutex);
    int number = ++backend->reopens;
    enum pawl_err err = backend->reopen_says;
    pawl__unlock(&backend->mutex);
    return err ? pawl__fail(diag, err, "reopening %d failed", number) : PAWL_OK;
}

static inline void script_note(struct pawl__backend *backend, bool all_moves)
{
    pawl__lock(&backend->mutex);
    backend->all_moves_asked = all_moves;
    pawl__unlock(&backend->mutex);
}

static inline bool script_get_notice(struct pawl__backend *backend, struct pawl__notice *out)
{
    pawl__lock(&backend->mutex);
    int call = backend->begun - 1;
    pawl__unlock(&backend->mutex);
    if (call >= CALLS_MAX || !backend->notices[call].at_ms) return false;
    *out = backend->notices[call];
    return true;
}

static inline void script_send(struct pawl__wake *wake, const struct pawl__notice *notice)
{
    struct pawl__backend *backend = (struct pawl__backend *)wake;
    pawl__lock(&backend->mutex);
    if (backend->other_count < CALLS_MAX) backend->others[backend->other_count++] = *notice;
    pawl__unlock(&backend->mutex);
}

static const struct pawl__backend_table script_table = {
    .scheme = "script:",
    .apply = script_apply,
    .reopen = script_reopen,
    .note = script_note,
    .get_notice = script_get_notice,
};

static const struct pawl__wake_table script_wake = { .send = script_send };

static inline void note_answer(struct pawl__op *op)
{
    struct act *act = op->user;
    struct stage *stage = act->stage;
    struct pawl__backend *backend = &stage->backend;
    pawl__lock(&backend->mutex);
    act->answers++;
    act->early = backend->inside || !act->call;
    act->answered_as = backend->answered++;
    struct act *then = act->then;
    bool disposable = act->disposable;
    pawl__cond_broadcast(&backend->moved);
    pawl__unlock(&backend->mutex);
    if (disposable) free(act);
    if (then) pawl__committer_post(&stage->committer, &then->op);
}

static inline int64_t read_mono(void *ctx)
{
    return atomic_load(&((struct stage *)ctx)->mono_us);
}

static inline struct stage *stage_new(void)
{
    struct stage *stage = calloc(1, sizeof *stage);
    assert_non_null(stage);
    stage->mono_us = 5000000;
    stage->clock = (struct pawl_clock){ .wall_ms = read_mono, .mono_us = read_mono, .ctx = stage };
    stage->backend.mono_us = &stage->mono_us;
    pawl__mutex_init(&stage->backend.mutex);
    pawl__cond_init(&stage->backend.moved);
    stage->backend.wake.table = &script_wake;
    assert_int_equal(pawl__committer_open(&stage->committer, &script_table, &stage->backend,
                                          &stage->backend.wake, &stage->clock, NULL),
                     PAWL_OK);
    return stage;
}

static inline void stage_free(struct stage *stage)
{
    pawl__cond_release(&stage->backend.moved);
    pawl__mutex_release(&stage->backend.mutex);
    free(stage);
}

static inline void stage_close(struct stage *stage)
{
    pawl__committer_close(&stage->committer);
    stage_free(stage);
}

static inline void hold(struct stage *stage, bool held)
{
    pawl__lock(&stage->backend.mutex);
    stage->backend.held = held;
    pawl__cond_broadcast(&stage->backend.moved);
    pawl__unlock(&stage->backend.mutex);
}

static inline void wait_until_begun(struct stage *stage, int calls)
{
    pawl__lock(&stage->backend.mutex);
    while (stage->backend.begun < calls) {
        pawl__cond_wait(&stage->backend.moved, &stage->backend.mutex);
    }
    pawl__unlock(&stage->backend.mutex);
}

static inline void wait_until_answered(struct stage *stage, int64_t count)
{
    pawl__lock(&stage->backend.mutex);
    while (stage->backend.answered < count) {
        pawl__cond_wait(&stage->backend.moved, &stage->backend.mutex);
    }
    pawl__unlock(&stage->backend.mutex);
}

static inline int64_t answered(struct stage *stage)
{
    pawl__lock(&stage->backend.mutex);
    int64_t count = stage->backend.answered;
    pawl__unlock(&stage->backend.mutex);
    return count;
}

static inline struct pawl__store_counters counters_of(struct stage *stage)
{
    pawl__lock(&stage->committer.mutex);
    struct pawl__store_counters counters = stage->committer.counters;
    pawl__unlock(&stage->committer.mutex);
    return counters;
}

/* Ready to be posted: an operation that weighs 1. */
static inline void act_init(struct act *act, struct stage *stage)
{
    *act = (struct act){ .stage = stage };
    act->op = (struct pawl__op){
        .kind = PAWL__OP_COMPLETE, .diag = &act->diag, .done = note_answer, .user = act
    };
}

static inline struct act *acts_new(struct stage *stage, size_t count)
{
    struct act *acts = calloc(count, sizeof *acts);
    assert_non_null(acts);
    for (size_t i = 0; i < count; i++) {
        act_init(&acts[i], stage);
    }
    return acts;
}

static inline void post(struct act *act)
{
    pawl__committer_post(&act->stage->committer, &act->op);
}

static inline void post_list(struct act *acts, size_t count)
{
    for (size_t i = 0; i + 1 < count; i++) {
        acts[i].op.next = &acts[i + 1].op;
    }
    post(&acts[0]);
}

/* Post, wait, and say what came of it. */
static inline enum pawl_err perform(struct stage *stage, struct act *act)
{
    act_init(act, stage);
    int64_t before = answered(stage);
    post(act);
    wait_until_answered(stage, before + 1);
    return act->op.err;
}

#endif
