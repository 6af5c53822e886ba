/* Handlers, the node, listeners, counters: arguments are checked here, the engine does the rest. */
#include "api/api.h"
#include "api/check.h"
#include "base/diag.h"

#include <assert.h>
#include <string.h>

enum pawl_err pawl_handle(struct pawl *pawl, const char *type, pawl_handler_fn *fn, void *ctx,
                          struct pawl_diag *diag)
{
    assert(pawl && fn);
    enum pawl_err err = pawl__check_types(type, diag);
    return err ? err : pawl__engine_handle(pawl->engine, type, fn, ctx, diag);
}

enum pawl_err pawl_hook(struct pawl *pawl, const struct pawl_hooks *hooks, struct pawl_diag *diag)
{
    assert(pawl && hooks);
    return pawl__engine_hook(pawl->engine, hooks, diag);
}

static enum pawl_err check_queues(const struct pawl_node_config *config, struct pawl_diag *diag)
{
    for (size_t i = 0; i < config->queue_count; i++) {
        enum pawl_err err = pawl__check_queue(config->queues[i].name, diag);
        if (err) return err;
        if (config->queues[i].concurrency < 0) {
            return pawl__fail_field(diag, PAWL_ERR_ARG, "queues",
                                    "the concurrency of queue \"%s\" must not be negative",
                                    config->queues[i].name);
        }
    }
    return PAWL_OK;
}

enum pawl_err pawl_start(struct pawl *pawl, const struct pawl_node_config *config,
                         struct pawl_diag *diag)
{
    assert(pawl);
    enum pawl_err err = config ? check_queues(config, diag) : PAWL_OK;
    return err ? err : pawl__engine_start(pawl->engine, config, diag);
}

void pawl_stop(struct pawl *pawl, const struct pawl_drain *drain, int64_t *given_back)
{
    pawl__engine_stop(pawl->engine, drain, given_back);
}

void pawl_stop_hurry(struct pawl *pawl)
{
    pawl__engine_hurry(pawl->engine);
}

bool pawl_idle(struct pawl *pawl, int64_t horizon_ms, int64_t timeout_ms)
{
    return pawl__engine_idle(pawl->engine, horizon_ms, timeout_ms);
}

enum pawl_err pawl_listen(struct pawl *pawl, pawl_listener_fn *fn, void *ctx,
                          struct pawl_diag *diag)
{
    return pawl__engine_listen(pawl->engine, fn, ctx, diag);
}

void pawl_node_status_get(struct pawl *pawl, struct pawl_node_status *out)
{
    assert(pawl && out);
    pawl__engine_status(pawl->engine, out);
}

void pawl_counters_get(struct pawl *pawl, struct pawl_counters *out)
{
    pawl__engine_counters(pawl->engine, out);
}

enum pawl_err pawl_wake_check(struct pawl *pawl, struct pawl_diag *diag)
{
    struct pawl__wake_state state;
    pawl__store_wake_state(pawl->store, &state);
    if (state.trouble.err && diag) *diag = state.trouble;
    return state.trouble.err;
}
