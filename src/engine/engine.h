/* The engine: runs the jobs of a store. One per open store; src/api owns it.
 *
 * Threads: the coordinator handles leases, time limits, sweeps and the safety poll; workers run
 * handlers and post their outcomes; the committer's thread brings claimed jobs and notices of new
 * ones and, if there is room, requests more at once; the notifier calls the listener.
 *
 * Locks: only the engine's mutex. It is never held across a handler, a hook, a listener or a call
 * of the store, except pawl__store_post, which takes the committer's mutex and releases it. */
#ifndef PAWL_ENGINE_H
#define PAWL_ENGINE_H

#include "store/store.h"

#include <pawl/work.h>

struct pawl__engine;

/* `store` and `clock` are borrowed until free. */
PAWL_MUST_CHECK enum pawl_err pawl__engine_new(struct pawl__store *store,
                                               const struct pawl_clock *clock,
                                               struct pawl__engine **out, struct pawl_diag *diag);
/* Stops the engine first. NULL is allowed. */
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
/* Tells the engine that a lease not held by this node, or the time to live of a submitted job, ends
 * at this time, or that a deadline is at this time (the store's), so that it sweeps in time. */
void pawl__engine_expect_lapse(struct pawl__engine *engine, int64_t at_ms, int64_t now_ms);
void pawl__engine_expect_deadline(struct pawl__engine *engine, int64_t at_ms, int64_t now_ms);
void pawl__engine_expect_expiry(struct pawl__engine *engine, int64_t at_ms, int64_t now_ms);
void pawl__engine_status(struct pawl__engine *engine, struct pawl_node_status *out);
void pawl__engine_counters(struct pawl__engine *engine, struct pawl_counters *out);

/* Calls the hooks before a submit, in order; each may change the spec or refuse it. */
PAWL_MUST_CHECK enum pawl_err pawl__engine_before_submit(struct pawl__engine *engine,
                                                         struct pawl_job_spec *spec,
                                                         struct pawl_diag *diag);
void pawl__engine_after_submit(struct pawl__engine *engine, const struct pawl_submitted *list,
                               size_t count);

/* ---- for tests: the same engine without its threads ---- */

/* As pawl__engine_start, but without threads. */
PAWL_MUST_CHECK enum pawl_err pawl__engine_start_by_hand(struct pawl__engine *engine,
                                                         const struct pawl_node_config *config,
                                                         struct pawl_diag *diag);
/* Runs one turn of the coordinator at the clock's time, then waits until the store has answered all
 * requests. Returns the time (monotonic, us) at which the next turn is due. */
int64_t pawl__engine_turn(struct pawl__engine *engine);
/* Runs one claimed job on the calling thread, if there is one, and waits for the answer to its
 * outcome. False: there is none. */
bool pawl__engine_work(struct pawl__engine *engine);
/* Waits until the store has answered all requests. */
void pawl__engine_settle(struct pawl__engine *engine);

#endif
