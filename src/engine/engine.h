/* The engine: turns rows into running work. One per open store; src/api owns it.
 *
 * Threads: the coordinator keeps time (leases, time limits, sweeps, the safety poll); workers run
 * handlers and post what came of them; the committer's thread brings claimed jobs and notices of
 * new ones and, when there is room, asks for more at once; the herald tells the listener.
 *
 * Locks: the engine's mutex, alone. It is never held across a handler, a hook, a listener or a call
 * of the store, save pawl__store_post, which takes the committer's and lets go of it. */
#ifndef PAWL_ENGINE_H
#define PAWL_ENGINE_H

#include "store/store.h"

#include <pawl/work.h>

struct pawl__engine;

/* `store` and `clock` are borrowed until free. */
PAWL_MUST_CHECK enum pawl_err pawl__engine_new(struct pawl__store *store,
                                               const struct pawl_clock *clock,
                                               struct pawl__engine **out, struct pawl_diag *diag);
/* Stops first. NULL is fine. */
void pawl__engine_free(struct pawl__engine *engine);

/* See pawl_handle, pawl_hook, pawl_start, pawl_stop and so on. */
PAWL_MUST_CHECK enum pawl_err pawl__engine_handle(struct pawl__engine *engine, const char *type,
                                                  pawl_handler_fn *fn, void *ctx,
                                                  struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl__engine_hook(struct pawl__engine *engine,
                                                const struct pawl_hooks *hooks,
                                                struct pawl_diag *diag);
PAWL_MUST_CHECK enum pawl_err pawl__engine_start(struct pawl__engine *engine,
                                                 const struct pawl_node_config *config,
                                                 struct pawl_diag *diag);
void pawl__engine_stop(struct pawl__engine *engine, const struct pawl_drain *drain,
                       int64_t *given_back);
void pawl__engine_hurry(struct pawl__engine *engine); /* async-signal-safe */
bool pawl__engine_idle(struct pawl__engine *engine, int64_t horizon_ms, int64_t timeout_ms);
PAWL_MUST_CHECK enum pawl_err pawl__engine_listen(struct pawl__engine *engine, pawl_listener_fn *fn,
                                                  void *ctx, struct pawl_diag *diag);
/* See pawl_watch. */
PAWL_MUST_CHECK enum pawl_err pawl__engine_watch(struct pawl__engine *engine, pawl_ready_fn *fn,
                                                 void *ctx, struct pawl_diag *diag);
/* Somebody else than this node has a lease, or submitted a job with a time to live, that ends then:
 * look after it in time. The store's time. */
void pawl__engine_expect_lapse(struct pawl__engine *engine, int64_t at_ms, int64_t now_ms);
void pawl__engine_expect_expiry(struct pawl__engine *engine, int64_t at_ms, int64_t now_ms);
void pawl__engine_status(struct pawl__engine *engine, struct pawl_node_status *out);
void pawl__engine_counters(struct pawl__engine *engine, struct pawl_counters *out);

/* Around submits: the hooks in order, each may change the spec or refuse it. */
PAWL_MUST_CHECK enum pawl_err pawl__engine_before_submit(struct pawl__engine *engine,
                                                         struct pawl_job_spec *spec,
                                                         struct pawl_diag *diag);
void pawl__engine_after_submit(struct pawl__engine *engine, const struct pawl_submitted *list,
                               size_t count);

/* ---- for tests: the same engine without its threads ---- */

/* As pawl__engine_start, but nothing runs by itself. */
PAWL_MUST_CHECK enum pawl_err pawl__engine_start_by_hand(struct pawl__engine *engine,
                                                         const struct pawl_node_config *config,
                                                         struct pawl_diag *diag);
/* One turn of the coordinator at the clock's time; then waits until the store has answered all that
 * was asked. The time (monotonic, us) at which the next turn has something to do. */
int64_t pawl__engine_turn(struct pawl__engine *engine);
/* Run one claimed job on the calling thread, if there is one, and wait for the answer to what came
 * of it. False: there is none. */
bool pawl__engine_work(struct pawl__engine *engine);
/* Wait until the store has answered all that was asked. */
void pawl__engine_settle(struct pawl__engine *engine);

#endif
