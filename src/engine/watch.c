/* External workers: notifies a watcher when there may be jobs to claim, and schedules sweeps for
 * the leases that it holds. */
#include "engine/inside.h"

#include <assert.h>

enum pawl_err pawl__engine_watch(struct pawl__engine *engine, pawl_ready_fn *fn, void *ctx,
                                 struct pawl_diag *diag)
{
    assert(engine);
    (void)diag;
    pawl__lock(&engine->mutex);
    engine->watcher = NULL;
    while (engine->notifying) {
        pawl__cond_wait(&engine->change, &engine->mutex);
    }
    engine->watcher = fn;
    engine->watcher_ctx = ctx;
    pawl__unlock(&engine->mutex);
    return PAWL_OK;
}

static void expect(struct pawl__engine *engine, enum pawl__sweep_kind kind, int64_t wait_ms)
{
    int64_t at_us = pawl__engine_now_us(engine) + (wait_ms > 0 ? wait_ms * 1000 : 0);
    pawl__lock(&engine->mutex);
    struct pawl__sweep *sweep = &engine->sweeps[kind];
    if (engine->running && at_us < sweep->next_us) {
        sweep->next_us = at_us;
        pawl__coordinator_call_at(engine, at_us);
    }
    pawl__unlock(&engine->mutex);
}

void pawl__engine_expect_lapse(struct pawl__engine *engine, int64_t at_ms, int64_t now_ms)
{
    expect(engine, PAWL__SWEEP_LAPSE, at_ms - now_ms);
}

void pawl__engine_expect_deadline(struct pawl__engine *engine, int64_t at_ms, int64_t now_ms)
{
    expect(engine, PAWL__SWEEP_DEADLINE, at_ms - now_ms + 1);
}

void pawl__engine_expect_expiry(struct pawl__engine *engine, int64_t at_ms, int64_t now_ms)
{
    expect(engine, PAWL__SWEEP_EXPIRE, at_ms - now_ms);
}
