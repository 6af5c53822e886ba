/* Opening and closing, and what every call uses: a store, a clock, a generator of ids. */
#include "api/api.h"
#include "api/check.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/rng.h"

#include <assert.h>
#include <stdlib.h>

#define BUSY_TIMEOUT_DEFAULT_MS 30000
#define BUSY_TIMEOUT_MAX_MS INT32_MAX /* SQLite counts in int */

static enum pawl_err check_config(const struct pawl_config *config, struct pawl_diag *diag)
{
    if (!config->store[0]) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "store", "store must not be empty");
    }
    if (config->durability != PAWL_DURABILITY_FULL &&
        config->durability != PAWL_DURABILITY_RELAXED) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "durability", "durability %d is not known",
                                (int)config->durability);
    }
    if (config->busy_timeout_ms < 0 || config->busy_timeout_ms > BUSY_TIMEOUT_MAX_MS) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "busy_timeout_ms",
                                "busy_timeout_ms must lie between 0 and %d", BUSY_TIMEOUT_MAX_MS);
    }
    if (!config->clock->wall_ms || !config->clock->mono_us) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "clock", "clock must have both functions");
    }
    return PAWL_OK;
}

enum pawl_err pawl__config_complete(const struct pawl_config *given, struct pawl_config *out,
                                    struct pawl_diag *diag)
{
    *out = given ? *given : (struct pawl_config){ .store = NULL };
    if (!out->store) out->store = "sqlite:pawl.db";
    if (!out->busy_timeout_ms) out->busy_timeout_ms = BUSY_TIMEOUT_DEFAULT_MS;
    if (!out->clock) out->clock = &pawl__clock_system;
    if (!out->seed) out->seed = pawl__rng_system_seed();
    if (out->read_only) out->must_exist = out->no_migrate = true;
    return check_config(out, diag);
}

enum pawl_err pawl_open(const struct pawl_config *config, struct pawl **out, struct pawl_diag *diag)
{
    assert(out);
    struct pawl_config complete;
    enum pawl_err err = pawl__config_complete(config, &complete, diag);
    if (err) return err;
    struct pawl *pawl = calloc(1, sizeof *pawl);
    if (!pawl) return pawl__fail_nomem(diag);
    err = pawl__store_open(&complete, &pawl->store, diag);
    if (!err) err = pawl__engine_new(pawl->store, complete.clock, &pawl->engine, diag);
    if (err) {
        pawl__store_close(pawl->store);
        free(pawl);
        return err;
    }
    pawl->clock = complete.clock;
    pawl->number = pawl__rng_system_seed(); // several may be opened with the same seed
    pawl__idgen_init(&pawl->ids, complete.clock, complete.seed);
    pawl__mutex_init(&pawl->mutex);
    pawl__cond_init(&pawl->answered);
    *out = pawl;
    return PAWL_OK;
}

void pawl_close(struct pawl *pawl)
{
    if (!pawl) return;
    pawl__posts_wait(pawl);
    pawl__engine_free(pawl->engine);
    pawl__store_close(pawl->store);
    pawl__idgen_release(&pawl->ids);
    pawl__cond_release(&pawl->answered);
    pawl__mutex_release(&pawl->mutex);
    free(pawl);
}

enum pawl_err pawl__desk_do(struct pawl *pawl, struct pawl__op *op, struct pawl_diag *diag)
{
    op->diag = diag;
    enum pawl_err err = pawl__store_do(pawl->store, op);
    pawl__arena_release(&op->arena);
    return err;
}

struct pawl__arena *pawl__owned_new(void)
{
    struct pawl__arena *owned = malloc(sizeof *owned);
    if (owned) pawl__arena_init(owned);
    return owned;
}

void pawl__owned_free(struct pawl__arena *owned)
{
    if (!owned) return;
    pawl__arena_release(owned);
    free(owned);
}
