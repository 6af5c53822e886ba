/* The node as a member of the cluster: its name, its heartbeats, what happens when the others give
 * it up, and whether the store can be reached.
 *
 * 1. A node claims and keeps jobs only while the others must consider it alive: until nine tenths
 *    of its lease after its last heartbeat was sent. So no node runs a job that was taken from it.
 * 2. If a heartbeat is refused, everything that the node held is lost. It joins again under its
 *    name. If the name is taken, it uses another, or, if the name was given explicitly, stops for
 *    good. The name may be held by an earlier attempt of the same node whose answer was lost; that
 *    attempt sends no heartbeats, so this becomes clear within a lease.
 *
 * Runs on: the caller's thread at the start and the end, else on the coordinator's. */
#include "engine/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- name ---- */

static void find_host(struct pawl__engine *engine)
{
    const char *given = getenv("HOSTNAME");
    if (given && *given) {
        snprintf(engine->host, sizeof engine->host, "%s", given);
        return;
    }
    snprintf(engine->host, sizeof engine->host, "node");
    (void)gethostname(engine->host, sizeof engine->host - 1);
}

enum pawl_err pawl__node_name(struct pawl__engine *engine, const char *name, struct pawl_diag *diag)
{
    char text[PAWL_WORKER_BYTES_MAX + 1];
    bool named = name && *name;
    engine->named = named;
    engine->name_attempt = 0;
    find_host(engine);
    if (named && strlen(name) >= sizeof text) {
        return pawl__fail_field(diag, PAWL_ERR_LIMIT, "name",
                                "a node's name may have at most %d bytes", PAWL_WORKER_BYTES_MAX);
    }
    if (named) {
        snprintf(text, sizeof text, "%s", name);
    } else {
        pawl__member_name(text, sizeof text, engine->host, (long)getpid(), 0, 0);
    }
    engine->name = pawl__arena_dup(&engine->kept, text, strlen(text));
    return engine->name ? PAWL_OK : pawl__fail_nomem(diag);
}

/* The name is taken: chooses the next. False: there is none left to try. Names that were used are
 * kept, since pending operations may refer to them. */
static bool next_name(struct pawl__engine *engine)
{
    char text[PAWL_WORKER_BYTES_MAX + 1];
    if (engine->named || ++engine->name_attempt == PAWL__MEMBER_NAMES_MAX) return false;
    unsigned dice = (unsigned)pawl__rng_system_seed(); // a process may have several nodes
    pawl__member_name(text, sizeof text, engine->host, (long)getpid(), engine->name_attempt, dice);
    const char *name = pawl__arena_dup(&engine->kept, text, strlen(text));
    if (name) engine->name = name;
    return name != NULL;
}

/* False: out of memory. */
static bool say_info(struct pawl__engine *engine)
{
    pawl__buf_clear(&engine->info);
    pawl__member_print(&engine->info, &(struct pawl__member){ .host = engine->host,
                                                              .version = PAWL_VERSION,
                                                              .pid = (int64_t)getpid(),
                                                              .workers = engine->workers,
                                                              .draining = engine->draining,
                                                              .lease_ms = engine->lease_ms });
    return !engine->info.failed;
}

/* ---- join and leave ---- */

static void believe(struct pawl__engine *engine, int64_t since_us)
{
    engine->member_until_us = since_us + engine->lease_ms * 900;
}

enum pawl_err pawl__node_join(struct pawl__engine *engine, struct pawl_diag *diag)
{
    for (;;) {
        int64_t began_us = pawl__engine_now_us(engine);
        if (!say_info(engine)) return pawl__fail_nomem(diag);
        struct pawl__op op = { .kind = PAWL__OP_NODE_JOIN,
                               .diag = diag,
                               .node = { .name = engine->name, .info = engine->info.at } };
        enum pawl_err err = pawl__store_do(engine->store, &op);
        pawl__arena_release(&op.arena);
        if (err == PAWL_ERR_HELD && next_name(engine)) continue;
        if (err) return err;
        engine->started_at_ms = op.node.started_at_ms;
        believe(engine, began_us);
        return PAWL_OK;
    }
}

void pawl__node_leave(struct pawl__engine *engine)
{
    if (engine->fenced || !engine->started_at_ms)
        return; // the row belongs to another, or there is
                // none
    struct pawl__op op = { .kind = PAWL__OP_NODE_DROP,
                           .node = { .name = engine->name,
                                     .started_at_ms = engine->started_at_ms } };
    if (pawl__store_do(engine->store, &op) != PAWL_OK) {
        // it was given up, or the store has an error: heartbeats stop in any case
    }
    pawl__arena_release(&op.arena);
}

/* ---- heartbeats ---- */

void pawl__node_ask(struct pawl__engine *engine, struct pawl__op *op)
{
    if (!say_info(engine)) pawl__buf_clear(&engine->info); // "": the heartbeat counts all the same
    op->kind = engine->rejoins ? PAWL__OP_NODE_JOIN : PAWL__OP_NODE_PUT;
    op->diag = &engine->node_diag;
    op->node.name = engine->name;
    op->node.info = engine->info.at ? engine->info.at : "";
    op->node.started_at_ms = engine->rejoins ? 0 : engine->started_at_ms;
}

bool pawl__node_trusted(const struct pawl__engine *engine, int64_t now_us)
{
    return !engine->fenced && now_us < engine->member_until_us;
}

/* The heartbeat was accepted: claims resume if they had stopped. */
static void take_heart(struct pawl__engine *engine, int64_t began_us, int64_t now_us)
    PAWL__REQUIRES(engine->mutex)
{
    bool stood_still = !pawl__node_trusted(engine, now_us);
    engine->beats_failed = 0;
    believe(engine, began_us);
    if (!stood_still) return;
    engine->ready = true;
    pawl__coordinator_call(engine);
}

static int64_t pause_ms(const struct pawl__engine *engine, const struct pawl__op *op)
{
    const struct pawl_census *census = &op->node.census;
    int64_t ms = pawl__heartbeat_ms(engine->lease_ms, census);
    int64_t silent_ms = census->silent_at_ms - op->now_ms; // when the next silent node is given up
    return census->silent_at_ms && silent_ms < ms ? (silent_ms > 0 ? silent_ms : 1) : ms;
}

static int64_t joined(struct pawl__engine *engine, const struct pawl__op *op, int64_t began_us,
                      int64_t now_us) PAWL__REQUIRES(engine->mutex)
{
    bool unsure = op->err == PAWL_ERR_HELD && engine->named && now_us < engine->unsure_until_us;
    if (op->err == PAWL_ERR_HELD && !unsure) {
        if (next_name(engine)) return 0;
        engine->fenced = true; // rule 2
        return INT64_MAX / 2000;
    }
    if (op->err && !unsure) { // twice: it may still be in transit
        engine->unsure_until_us = now_us + 2 * engine->lease_ms * 1000;
    }
    if (op->err) return pawl__heartbeat_retry_ms(engine->lease_ms, ++engine->beats_failed);
    engine->rejoins = false;
    engine->started_at_ms = op->node.started_at_ms;
    engine->counters.rejoined++;
    take_heart(engine, began_us, now_us);
    return 0; // and look for work
}

int64_t pawl__node_answered(struct pawl__engine *engine, const struct pawl__op *op,
                            int64_t began_us, int64_t now_us)
{
    if (op->kind == PAWL__OP_NODE_JOIN) return joined(engine, op, began_us, now_us);
    if (op->err == PAWL_ERR_STALE) { // what we hold is lost: the next turn drops it, then joins
        engine->rejoins = true;
        engine->member_until_us = now_us;
        pawl__coordinator_call(engine);
        return 0;
    }
    if (op->err) return pawl__heartbeat_retry_ms(engine->lease_ms, ++engine->beats_failed);
    take_heart(engine, began_us, now_us);
    if (op->node.census.given_up) {
        engine->sweeps[PAWL__SWEEP_LAPSE].next_us = now_us; // their jobs can be taken over
        pawl__coordinator_call(engine);
    }
    return pause_ms(engine, op);
}

/* ---- the store ---- */

void pawl__node_store_result(struct pawl__engine *engine, enum pawl_err err)
{
    bool lost = err == PAWL_ERR_BUSY || err == PAWL_ERR_FULL || err == PAWL_ERR_IO ||
                err == PAWL_ERR_CORRUPT || err == PAWL_ERR_READONLY || err == PAWL_ERR_UNSAFE;
    if (err == PAWL_ERR_NOMEM || lost == engine->store_lost) return;
    engine->store_lost = lost;
    engine->store_changed_at_ms = pawl__clock_wall_ms(engine->clock);
    engine->counters.store_losses += lost;
    engine->counters.store_returns += !lost;
    if (lost) engine->store_err = err;
}

void pawl__engine_status(struct pawl__engine *engine, struct pawl_node_status *out)
{
    int64_t now_us = pawl__engine_now_us(engine);
    *out = (struct pawl_node_status){ .state = PAWL_NODE_NONE };
    pawl__lock(&engine->mutex);
    if (engine->running) {
        snprintf(out->name, sizeof out->name, "%s", engine->name);
        out->state = !pawl__node_trusted(engine, now_us) ? PAWL_NODE_STALE
                     : engine->draining                  ? PAWL_NODE_DRAINING
                                                         : PAWL_NODE_LIVE;
    }
    out->fenced = engine->running && engine->fenced;
    out->store_lost = engine->store_lost;
    out->store_changed_at_ms = engine->store_changed_at_ms;
    if (out->fenced) {
        snprintf(out->reason, sizeof out->reason, "%s", engine->node_diag.text);
    } else if (out->store_lost) {
        snprintf(out->reason, sizeof out->reason, "%s", pawl_err_text(engine->store_err));
    }
    pawl__unlock(&engine->mutex);
}
