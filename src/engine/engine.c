/* Setup, start and stop. engine.h describes the threads. */
#include "engine/inside.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HURRY_LOOK_US = 50000, IDLE_LOOK_US = 20000, CLAIM_BYTES_MAX = 16 * 1024 * 1024 };

#define DAY_MS INT64_C(86400000)

enum pawl_err pawl__engine_new(struct pawl__store *store, const struct pawl_clock *clock,
                               struct pawl__engine **out, struct pawl_diag *diag)
{
    struct pawl__engine *engine = calloc(1, sizeof *engine);
    if (!engine) return pawl__fail_nomem(diag);
    engine->store = store;
    engine->clock = clock;
    engine->queue_tail = &engine->queue_head;
    engine->run_us_mean = -1;
    pawl__mutex_init(&engine->mutex);
    pawl__cond_init(&engine->turn);
    pawl__cond_init(&engine->work);
    pawl__cond_init(&engine->change);
    *out = engine;
    return PAWL_OK;
}

void pawl__engine_free(struct pawl__engine *engine)
{
    if (!engine) return;
    pawl__engine_stop(engine, NULL, NULL);
    if (engine->notifier) (void)!pawl__engine_listen(engine, NULL, NULL, NULL);
    for (size_t i = 0; i < engine->handler_count; i++) {
        free(engine->handlers[i].type);
    }
    free(engine->handlers);
    free(engine->types);
    free(engine->threads);
    pawl__buf_release(&engine->info);
    pawl__arena_release(&engine->kept);
    pawl__cond_release(&engine->change);
    pawl__cond_release(&engine->work);
    pawl__cond_release(&engine->turn);
    pawl__mutex_release(&engine->mutex);
    free(engine);
}

static bool is_running(struct pawl__engine *engine)
{
    pawl__lock(&engine->mutex);
    bool running = engine->running || engine->stopping;
    pawl__unlock(&engine->mutex);
    return running;
}

enum pawl_err pawl__engine_handle(struct pawl__engine *engine, const char *type,
                                  pawl_handler_fn *fn, void *ctx, struct pawl_diag *diag)
{
    if (is_running(engine)) {
        return pawl__fail(diag, PAWL_ERR_STATE,
                          "handlers must be registered before the node starts");
    }
    size_t at = 0;
    while (at < engine->handler_count && strcmp(engine->handlers[at].type, type) < 0) {
        at++;
    }
    if (at < engine->handler_count && strcmp(engine->handlers[at].type, type) == 0) {
        return pawl__fail_field(diag, PAWL_ERR_EXISTS, "type", "type \"%s\" already has a handler",
                                type);
    }
    size_t count = engine->handler_count;
    struct pawl__handler *grown = realloc(engine->handlers, (count + 1) * sizeof *grown);
    if (grown) engine->handlers = grown;
    char *copy = strdup(type);
    if (!grown || !copy) {
        free(copy);
        return pawl__fail_nomem(diag);
    }
    memmove(grown + at + 1, grown + at, (count - at) * sizeof *grown);
    grown[at] = (struct pawl__handler){ .type = copy, .fn = fn, .ctx = ctx };
    engine->handler_count++;
    return PAWL_OK;
}

enum pawl_err pawl__engine_hook(struct pawl__engine *engine, const struct pawl_hooks *hooks,
                                struct pawl_diag *diag)
{
    if (is_running(engine)) {
        return pawl__fail(diag, PAWL_ERR_STATE, "hooks must be added before the node starts");
    }
    if (engine->hook_count == PAWL__HOOKS_MAX) {
        return pawl__fail(diag, PAWL_ERR_LIMIT, "at most %d hooks are allowed", PAWL__HOOKS_MAX);
    }
    engine->hooks[engine->hook_count++] = *hooks;
    return PAWL_OK;
}

enum pawl_err pawl__engine_before_submit(struct pawl__engine *engine, struct pawl_job_spec *spec,
                                         struct pawl_diag *diag)
{
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < engine->hook_count; i++) {
        const struct pawl_hooks *hooks = &engine->hooks[i];
        if (hooks->before_submit) err = hooks->before_submit(hooks->ctx, spec, diag);
    }
    return err;
}

void pawl__engine_after_submit(struct pawl__engine *engine, const struct pawl_submitted *list,
                               size_t count)
{
    int64_t fresh = 0;
    for (size_t at = 0; at < count; at++) {
        fresh += !list[at].deduplicated;
    }
    pawl__lock(&engine->mutex);
    engine->counters.submitted += fresh;
    pawl__unlock(&engine->mutex);
    for (size_t at = 0; at < count && engine->hook_count; at++) {
        for (size_t i = 0; i < engine->hook_count; i++) {
            const struct pawl_hooks *hooks = &engine->hooks[i];
            if (hooks->after_submit) hooks->after_submit(hooks->ctx, &list[at]);
        }
    }
}

/* ---- starting ---- */

/* Adjacent queues without a limit of their own are claimed together, the others individually. */
static enum pawl_err group_queues(struct pawl__engine *engine,
                                  const struct pawl_node_config *config, struct pawl_diag *diag)
{
    static const struct pawl_node_queue usual = { .name = "default" };
    const struct pawl_node_queue *queues = config->queue_count ? config->queues : &usual;
    size_t count = config->queue_count ? config->queue_count : 1;
    struct pawl__group *groups = pawl__arena_calloc(&engine->kept, count, sizeof *groups);
    const char **names = pawl__arena_calloc(&engine->kept, count, sizeof *names);
    if (!groups || !names) return pawl__fail_nomem(diag);
    struct pawl__group *last = NULL;
    for (size_t i = 0; i < count; i++) {
        names[i] = pawl__arena_dup(&engine->kept, queues[i].name, strlen(queues[i].name));
        if (!names[i]) return pawl__fail_nomem(diag);
        if (!last || last->limit || queues[i].concurrency) {
            last = last ? last + 1 : groups;
            *last = (struct pawl__group){ .queues = names + i, .limit = queues[i].concurrency };
        }
        last->queue_count++;
    }
    engine->groups = groups;
    engine->group_count = (size_t)(last - groups) + 1;
    return PAWL_OK;
}

static enum pawl_err list_types(struct pawl__engine *engine, struct pawl_diag *diag)
{
    if (!engine->handler_count && engine->workers) {
        return pawl__fail(diag, PAWL_ERR_ARG, "no handler is registered");
    }
    free(engine->types);
    engine->types = calloc(engine->handler_count + 1, sizeof *engine->types);
    if (!engine->types) return pawl__fail_nomem(diag);
    for (size_t i = 0; i < engine->handler_count; i++) {
        engine->types[i] = engine->handlers[i].type;
    }
    return PAWL_OK;
}

static int32_t usual_workers(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > PAWL__WORKERS_MAX ? PAWL__WORKERS_MAX : (int32_t)count;
}

static enum pawl_err set_up(struct pawl__engine *engine, const struct pawl_node_config *config,
                            struct pawl_diag *diag)
{
    if (config->workers < -1 || config->workers > PAWL__WORKERS_MAX) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "workers",
                                "workers must be 1 to %d, or -1 for none", PAWL__WORKERS_MAX);
    }
    if (config->lease_ms && (config->lease_ms < PAWL_LEASE_MIN_MS || config->lease_ms > DAY_MS)) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "lease_ms",
                                "lease_ms must lie between %d ms and a day", PAWL_LEASE_MIN_MS);
    }
    if (config->poll_min_ms < 0 || config->poll_min_ms > DAY_MS) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "poll_min_ms",
                                "poll_min_ms must lie between 0 and a day");
    }
    if (config->poll_max_ms < 0 || config->poll_max_ms > DAY_MS) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "poll_max_ms",
                                "poll_max_ms must lie between 0 and a day");
    }
    if (config->claim_bytes_max < 0) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "claim_bytes_max",
                                "claim_bytes_max must not be negative");
    }
    engine->workers = config->workers > 0 ? config->workers : config->workers ? 0 : usual_workers();
    enum pawl_err err = list_types(engine, diag);
    if (!err) err = pawl__node_name(engine, config->name, diag);
    if (!err) err = group_queues(engine, config, diag);
    if (err) return err;
    engine->lease_ms = config->lease_ms ? config->lease_ms : 30000;
    engine->claim_bytes_max = config->claim_bytes_max ? config->claim_bytes_max : CLAIM_BYTES_MAX;
    engine->retention = config->retention;
    if (!engine->retention.archive_after_ms) engine->retention.archive_after_ms = 7 * DAY_MS;
    if (!engine->retention.purge_after_ms) engine->retention.purge_after_ms = 90 * DAY_MS;
    engine->no_upkeep = config->no_upkeep;
    engine->poll_rules =
        (struct pawl__poll_rules){ .min_ms = config->poll_min_ms, .max_ms = config->poll_max_ms };
    pawl__poll_defaults(&engine->poll_rules);
    atomic_store(&engine->hurry, 0);
    return PAWL_OK;
}

static void go(struct pawl__engine *engine)
{
    int64_t now_us = pawl__engine_now_us(engine);
    pawl__lock(&engine->mutex);
    engine->running = true;
    engine->draining = engine->quitting = false;
    engine->rejoins = engine->fenced = false;
    engine->beats_failed = 0;
    engine->unsure_until_us = 0;
    engine->ready = true; // there may already be jobs
    engine->claim_group = 0;
    engine->beat_us = INT64_MAX;
    engine->poll_us = now_us;
    engine->turn_at_us = now_us;
    engine->verified_us = now_us;
    engine->given_back = 0;
    engine->poll = (struct pawl__poll){ .mode = PAWL__POLL_NORMAL };
    for (int i = 0; i < PAWL__SWEEP_END; i++) {
        engine->sweeps[i].next_us = now_us;
    }
    pawl__unlock(&engine->mutex);
}

static enum pawl_err start_threads(struct pawl__engine *engine, struct pawl_diag *diag)
{
    free(engine->threads);
    engine->thread_count = 0;
    engine->threads = calloc((size_t)engine->workers + 1, sizeof *engine->threads);
    if (!engine->threads) return pawl__fail_nomem(diag);
    if (!pawl__thread_start(&engine->coordinator, pawl__coordinator_run, engine)) {
        return pawl__fail(diag, PAWL_ERR_NOMEM, "could not start the coordinator's thread");
    }
    engine->coordinator_runs = true;
    while (engine->thread_count < engine->workers) {
        pthread_t *thread = &engine->threads[engine->thread_count];
        if (!pawl__thread_start(thread, pawl__worker_run, engine)) break;
        engine->thread_count++;
    }
    if (engine->thread_count == engine->workers) return PAWL_OK;
    return pawl__fail(diag, PAWL_ERR_NOMEM, "could not start %d worker threads", engine->workers);
}

static enum pawl_err start(struct pawl__engine *engine, const struct pawl_node_config *config,
                           bool by_hand, struct pawl_diag *diag)
{
    static const struct pawl_node_config usual = { 0 };
    if (is_running(engine)) return pawl__fail(diag, PAWL_ERR_STATE, "the node is already running");
    enum pawl_err err = set_up(engine, config ? config : &usual, diag);
    if (err) return err;
    engine->by_hand = by_hand;
    err = pawl__node_join(engine, diag);
    if (err) {
        pawl__arena_release(&engine->kept);
        return err;
    }
    go(engine);
    err = pawl__store_watch(engine->store, pawl__coordinator_notice, engine,
                            engine->notifier != NULL, diag);
    if (!err && !by_hand) err = start_threads(engine, diag);
    if (err) pawl__engine_stop(engine, NULL, NULL);
    return err;
}

enum pawl_err pawl__engine_start(struct pawl__engine *engine, const struct pawl_node_config *config,
                                 struct pawl_diag *diag)
{
    return start(engine, config, false, diag);
}

enum pawl_err pawl__engine_start_by_hand(struct pawl__engine *engine,
                                         const struct pawl_node_config *config,
                                         struct pawl_diag *diag)
{
    return start(engine, config, true, diag);
}

/* ---- stopping ---- */

/* Decides an undecided task and returns it; NULL: none is left. */
static struct pawl_task *take_held(struct pawl__engine *engine)
{
    pawl__lock(&engine->mutex);
    struct pawl_task *task = engine->held;
    if (task) {
        (void)pawl__task_decide(task);
        atomic_store(&task->cancelled, true);
        engine->given_back += task->started_us != 0;
        engine->asked++;
    }
    pawl__unlock(&engine->mutex);
    return task;
}

/* Waiting tasks have not started: gives them back at once. */
static void give_back_waiting(struct pawl__engine *engine)
{
    pawl__lock(&engine->mutex);
    if (!engine->draining)
        engine->sweeps[PAWL__SWEEP_NODE].next_us = 0; // report that it is
                                                      // draining
    engine->draining = true;
    struct pawl_task *task = engine->queue_head;
    engine->queue_head = NULL;
    engine->queue_tail = &engine->queue_head;
    engine->waiting = 0;
    pawl__coordinator_call(engine);
    pawl__unlock(&engine->mutex);
    while (task) {
        struct pawl_task *next = task->next;
        pawl__lock(&engine->mutex);
        bool ours = pawl__task_decide(task);
        engine->asked += ours;
        pawl__unlock(&engine->mutex);
        if (ours) pawl__finish_give_back(task, 0);
        pawl__lock(&engine->mutex);
        pawl__task_unpin(task); // the run queue's
        pawl__unlock(&engine->mutex);
        task = next;
    }
}

/* Waits until no handler runs, the time is over, or the stop is hurried. True: none runs. */
static bool wait_for_handlers(struct pawl__engine *engine, int64_t timeout_ms, int hurry)
{
    int64_t until_us = pawl__engine_in_us(engine, timeout_ms);
    pawl__lock(&engine->mutex);
    while (engine->active > 0 && !engine->by_hand && atomic_load(&engine->hurry) < hurry) {
        if (engine->queue_head) { // a claim was in progress when the drain began
            pawl__unlock(&engine->mutex);
            give_back_waiting(engine);
            pawl__lock(&engine->mutex);
        }
        int64_t left_us = until_us - pawl__engine_now_us(engine);
        if (left_us <= 0) break;
        (void)pawl__cond_wait_us(&engine->change, &engine->mutex,
                                 left_us < HURRY_LOOK_US ? left_us : HURRY_LOOK_US);
    }
    bool none = engine->active == 0;
    pawl__unlock(&engine->mutex);
    return none;
}

static void cancel_handlers(struct pawl__engine *engine)
{
    pawl__lock(&engine->mutex);
    for (struct pawl_task *task = engine->held; task; task = task->held_next) {
        atomic_store(&task->cancelled, true);
    }
    pawl__cond_broadcast(&engine->change);
    pawl__unlock(&engine->mutex);
}

static void wait_for_answers(struct pawl__engine *engine)
{
    pawl__lock(&engine->mutex);
    while (engine->asked > 0) {
        pawl__cond_wait(&engine->change, &engine->mutex);
    }
    pawl__unlock(&engine->mutex);
}

static void join_threads(struct pawl__engine *engine)
{
    pawl__lock(&engine->mutex);
    engine->quitting = true;
    pawl__cond_broadcast(&engine->work);
    pawl__cond_broadcast(&engine->turn);
    pawl__cond_broadcast(&engine->change);
    pawl__unlock(&engine->mutex);
    for (int32_t i = 0; i < engine->thread_count; i++) {
        pthread_join(engine->threads[i], NULL);
    }
    if (engine->coordinator_runs) pthread_join(engine->coordinator, NULL);
    engine->coordinator_runs = false;
    free(engine->threads);
    engine->threads = NULL;
    engine->thread_count = 0;
}

/* One of the callers stops the node, the others wait until it is done. True: this is the one. */
static bool begin_stop(struct pawl__engine *engine)
{
    pawl__lock(&engine->mutex);
    while (engine->stopping) {
        pawl__cond_wait(&engine->change, &engine->mutex);
    }
    engine->stopping = engine->running;
    bool ours = engine->stopping;
    pawl__unlock(&engine->mutex);
    return ours;
}

static void end_stop(struct pawl__engine *engine)
{
    pawl__lock(&engine->mutex);
    engine->stopping = false;
    pawl__cond_broadcast(&engine->change);
    pawl__unlock(&engine->mutex);
}

void pawl__engine_stop(struct pawl__engine *engine, const struct pawl_drain *drain,
                       int64_t *given_back)
{
    int64_t finish_ms = drain && drain->finish_ms ? drain->finish_ms : 10000;
    int64_t cancel_ms = drain && drain->cancel_ms ? drain->cancel_ms : 5000;
    if (given_back) *given_back = 0;
    if (!begin_stop(engine)) return;
    give_back_waiting(engine);
    if (!wait_for_handlers(engine, finish_ms, 1)) {
        cancel_handlers(engine);
        (void)wait_for_handlers(engine, cancel_ms, 2);
    }
    struct pawl_task *task;
    while ((task = take_held(engine))) {
        pawl__finish_give_back(task, 0);
    }
    wait_for_answers(engine); // before the threads: a claim in progress may still bring jobs
    give_back_waiting(engine);
    join_threads(engine);
    pawl__finish_retry(engine, INT64_MAX);
    wait_for_answers(engine);
    pawl__lock(&engine->mutex);
    engine->running = false;
    if (given_back) *given_back = engine->given_back;
    pawl__unlock(&engine->mutex);
    pawl__node_leave(engine);
    pawl__notice_fn *fn = engine->notifier ? pawl__coordinator_notice : NULL;
    (void)!pawl__store_watch(engine->store, fn, engine, fn != NULL, NULL);
    pawl__arena_release(&engine->kept);
    end_stop(engine);
}

void pawl__engine_hurry(struct pawl__engine *engine)
{
    atomic_fetch_add(&engine->hurry, 1);
}

/* ---- status ---- */

static bool nothing_to_do(struct pawl__engine *engine, int64_t horizon_ms)
{
    struct pawl__arena arena = { 0 };
    struct pawl_stats stats = { 0 };
    enum pawl_err err = pawl__store_stats(engine->store, &arena, &stats, NULL);
    pawl__arena_release(&arena);
    if (err) return false;
    int64_t now_ms = pawl__clock_wall_ms(engine->clock);
    int64_t until_ms = horizon_ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + horizon_ms;
    return !stats.count[PAWL_STATE_AVAILABLE] && !stats.count[PAWL_STATE_ACTIVE] &&
           (!stats.next_due_at_ms || stats.next_due_at_ms > until_ms);
}

bool pawl__engine_idle(struct pawl__engine *engine, int64_t horizon_ms, int64_t timeout_ms)
{
    int64_t until_us = pawl__engine_in_us(engine, timeout_ms);
    for (;;) {
        if (nothing_to_do(engine, horizon_ms)) return true;
        int64_t left_us = until_us - pawl__engine_now_us(engine);
        if (left_us <= 0) return false;
        pawl__lock(&engine->mutex);
        (void)pawl__cond_wait_us(&engine->change, &engine->mutex,
                                 left_us < IDLE_LOOK_US ? left_us : IDLE_LOOK_US);
        pawl__unlock(&engine->mutex);
    }
}

enum pawl_err pawl__engine_listen(struct pawl__engine *engine, pawl_listener_fn *fn, void *ctx,
                                  struct pawl_diag *diag)
{
    struct pawl__notifier *notifier = NULL;
    enum pawl_err err = fn ? pawl__notifier_new(fn, ctx, &notifier, diag) : PAWL_OK;
    if (err) return err;
    bool watch = fn || is_running(engine);
    err = pawl__store_watch(engine->store, watch ? pawl__coordinator_notice : NULL, engine,
                            fn != NULL, diag);
    if (err) {
        pawl__notifier_free(notifier);
        return err;
    }
    pawl__lock(&engine->mutex);
    struct pawl__notifier *before = engine->notifier;
    engine->notifier = notifier;
    while (engine->notifying > 0) {
        pawl__cond_wait(&engine->change, &engine->mutex);
    }
    pawl__unlock(&engine->mutex);
    pawl__notifier_free(before);
    return PAWL_OK;
}

void pawl__engine_counters(struct pawl__engine *engine, struct pawl_counters *out)
{
    struct pawl__store_counters store;
    struct pawl__wake_state wake;
    pawl__store_counters_get(engine->store, &store);
    pawl__store_wake_state(engine->store, &wake);
    pawl__lock(&engine->mutex);
    *out = engine->counters;
    out->running = engine->active;
    out->waiting = engine->waiting;
    out->store_reachable = !engine->store_lost;
    pawl__unlock(&engine->mutex);
    out->commits = store.commits;
    out->commits_failed = store.failed_commits;
    out->reopened = store.reopened;
    out->operations = store.ops;
    out->commit_us = store.commit_times;
    out->batch = store.batch_sizes;
    out->wake_sent = wake.sent;
    out->wake_received = wake.received;
    out->wake_reconnects = wake.reconnects;
    out->wake_trouble = wake.trouble.err != PAWL_OK;
}

/* ---- by hand ---- */

/* Notices of a commit arrive after its answers and before the next commit. So once an operation
 * that does nothing has been answered, all notices have been delivered. */
static void barrier(struct pawl__engine *engine)
{
    struct pawl__op op = { .kind = PAWL__OP_EXTEND };
    if (pawl__store_do(engine->store, &op) != PAWL_OK) {
        // the error of the store does not matter: its notices have been delivered too
    }
    pawl__arena_release(&op.arena);
}

void pawl__engine_settle(struct pawl__engine *engine)
{
    int64_t asked;
    do {
        wait_for_answers(engine);
        barrier(engine);
        pawl__lock(&engine->mutex);
        asked = engine->asked;
        pawl__unlock(&engine->mutex);
    } while (asked > 0);
}

int64_t pawl__engine_turn(struct pawl__engine *engine)
{
    assert(engine->by_hand);
    (void)pawl__coordinator_turn(engine);
    pawl__engine_settle(engine);
    return pawl__coordinator_next(engine);
}

bool pawl__engine_work(struct pawl__engine *engine)
{
    assert(engine->by_hand);
    bool ran = pawl__task_run_next(engine);
    pawl__engine_settle(engine);
    return ran;
}
