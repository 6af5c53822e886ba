/* The coordinator handles everything that is due at some time: leases, time limits, sweeps, the
 * safety poll. It sleeps until the earliest of them, or until it is called.
 *
 * Runs on: its own thread; answers and notices arrive on the committer's. */
#include "engine/inside.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    VERIFY_PAUSE_US = 100000, /* minimum pause between checks caused by other processes */
    FOREIGN_PAUSE_US = 20000,
    BEAT_PAUSE_US = 10000, /* minimum, however short a job's own lease is */
    SWEEP_MIN_MS = 250,
    SWEEP_MAX_MS = 5000,
    RETIRE_STEP = 256,
    SWEEP_STEP = 300, /* of the sweeps that rarely find much: all sweeps together fit one commit */
    RETIRE_REST = 9,  /* pauses nine times as long as a step took */
    RETIRE_IDLE_MS = 30000,
    FIRE_PAUSE_MS = 1000, /* instants are looked for at most once a second */
    HELD_MS = 50,         /* until others release locked rows that are due */
    TROUBLE_MS = 1000
};

void pawl__coordinator_call(struct pawl__engine *engine)
{
    engine->turn_wanted = true;
    pawl__cond_signal(&engine->turn);
}

void pawl__coordinator_call_at(struct pawl__engine *engine, int64_t at_us)
{
    if (at_us < engine->turn_at_us) pawl__coordinator_call(engine);
}

/* ---- notices of commits ---- */

static void wake_for(struct pawl__engine *engine, const struct pawl__notice *notice, int64_t now_us)
    PAWL__REQUIRES(engine->mutex)
{
    struct pawl__sweep *promote = &engine->sweeps[PAWL__SWEEP_PROMOTE];
    struct pawl__sweep *settle = &engine->sweeps[PAWL__SWEEP_SETTLE];
    struct pawl__sweep *fire = &engine->sweeps[PAWL__SWEEP_FIRE];
    if (notice->ready) { // start again with the leftmost group
        if (engine->claiming) {
            engine->again = true;
        } else {
            engine->claim_group = 0;
        }
    }
    if (notice->ready && !engine->ready) {
        engine->ready = true;
        engine->counters.wakes_foreign += notice->foreign;
        engine->counters.wakes_local += !notice->foreign;
        pawl__poll_wake(&engine->poll, pawl__clock_wall_ms(engine->clock));
    }
    int64_t due_us = INT64_MAX;
    if (notice->foreign) { // it may have scheduled jobs, or changed those that we run
        due_us = promote->began_us + FOREIGN_PAUSE_US;
        engine->verify = true;
        pawl__coordinator_call_at(engine, engine->verified_us + VERIFY_PAUSE_US);
    } else if (notice->due_at_ms) {
        due_us = now_us + (notice->due_at_ms - notice->at_ms) * 1000;
    }
    if (due_us < promote->next_us) {
        promote->next_us = due_us;
        pawl__coordinator_call_at(engine, due_us);
    }
    int64_t fire_us = INT64_MAX;
    if (notice->foreign) fire_us = fire->began_us + FIRE_PAUSE_MS * 1000;
    if (notice->fire_at_ms) fire_us = now_us + (notice->fire_at_ms - notice->at_ms) * 1000;
    if (fire_us < fire->next_us) {
        fire->next_us = fire_us;
        pawl__coordinator_call_at(engine, fire_us);
    }
    // unsettled entries are due at once
    if (due_us < settle->next_us && (notice->foreign || due_us <= now_us)) {
        settle->next_us = due_us;
        pawl__coordinator_call_at(engine, due_us);
    }
}

/* The run that `move` took from its owner, if it is one of ours. */
static struct pawl_task *find_task(struct pawl__engine *engine, const struct pawl__move *move)
{
    for (struct pawl_task *task = engine->held; task; task = task->held_next) {
        if (task->job->run == move->run &&
            memcmp(&task->job->id, &move->id, sizeof move->id) == 0) {
            return task;
        }
    }
    return NULL;
}

/* Other operations ended runs of ours: tells their handlers at once. */
static void lose_moved(struct pawl__engine *engine, const struct pawl__notice *notice)
{
    for (size_t i = 0; notice->control && i < notice->move_count; i++) {
        const struct pawl__move *move = &notice->moves[i];
        if (move->from != PAWL_STATE_ACTIVE || move->missed) continue;
        pawl__lock(&engine->mutex);
        struct pawl_task *task = find_task(engine, move);
        bool ours = task && pawl__task_decide(task);
        if (ours) {
            atomic_store(&task->cancelled, true);
            engine->counters.cancelled++;
            pawl__cond_broadcast(&engine->change);
        }
        pawl__unlock(&engine->mutex);
        if (ours) pawl__finish_nothing(task);
    }
}

void pawl__coordinator_notice(void *ctx, const struct pawl__notice *notice)
{
    struct pawl__engine *engine = ctx;
    int64_t now_us = pawl__engine_now_us(engine);
    struct pawl__op *claim = NULL;
    lose_moved(engine, notice);
    pawl__lock(&engine->mutex);
    if (engine->running) {
        wake_for(engine, notice, now_us);
        claim = pawl__poller_claim(engine);
    }
    struct pawl__notifier *notifier = notice->foreign ? NULL : engine->notifier;
    pawl_ready_fn *watcher = notice->ready || notice->foreign ? engine->watcher : NULL;
    void *watcher_ctx = engine->watcher_ctx;
    engine->notifying += notifier || watcher;
    pawl__unlock(&engine->mutex);
    if (claim) pawl__store_post(engine->store, claim);
    if (!notifier && !watcher) return;
    if (watcher) watcher(watcher_ctx, notice->foreign);
    if (notifier) pawl__notifier_post(notifier, notice);
    pawl__lock(&engine->mutex);
    engine->notifying--;
    pawl__cond_broadcast(&engine->change);
    pawl__unlock(&engine->mutex);
}

/* ---- leases ---- */

/* One operation that extends all leases of equal length. */
struct beat {
    struct pawl__op op;
    struct pawl__engine *engine;
    int64_t posted_us;
    struct pawl_task **tasks;
    struct pawl_run *refs;
    enum pawl_err *results;
    size_t count;
};

static void free_beat(struct beat *beat)
{
    pawl__arena_release(&beat->op.arena);
    free(beat->tasks);
    free(beat->refs);
    free(beat->results);
    free(beat);
}

static struct beat *new_beat(struct pawl__engine *engine, size_t cap)
{
    struct beat *beat = calloc(1, sizeof *beat);
    if (!beat) return NULL;
    beat->engine = engine;
    beat->tasks = calloc(cap, sizeof(*beat->tasks));
    beat->refs = calloc(cap, sizeof *beat->refs);
    beat->results = calloc(cap, sizeof *beat->results);
    if (beat->tasks && beat->refs && beat->results) return beat;
    free_beat(beat);
    return NULL;
}

static void lose(struct pawl_task *task)
{
    atomic_store(&task->cancelled, true);
    pawl__finish_nothing(task);
}

static void beat_answered(struct pawl__op *op)
{
    struct beat *beat = op->user;
    struct pawl__engine *engine = beat->engine;
    size_t lost = 0;
    pawl__lock(&engine->mutex);
    engine->asked--;
    pawl__node_store_result(engine, op->err);
    if (--engine->beats == 0) pawl__coordinator_call(engine);
    for (size_t i = 0; i < beat->count; i++) {
        struct pawl_task *task = beat->tasks[i];
        int64_t until_us = beat->posted_us + task->lease_ms * 900;
        if (!op->err && !beat->results[i]) {
            // the handler may have extended it in the meantime
            if (until_us > task->trust_until_us) task->trust_until_us = until_us;
        } else if (!op->err && pawl__task_decide(task)) {
            beat->tasks[lost++] = task; // keeps this beat's pin until it is notified
            continue;
        }
        pawl__task_unpin(task);
    }
    pawl__cond_broadcast(&engine->change);
    pawl__unlock(&engine->mutex);
    for (size_t i = 0; i < lost; i++) {
        struct pawl_task *task = beat->tasks[i];
        lose(task);
        pawl__lock(&engine->mutex);
        pawl__task_unpin(task);
        pawl__unlock(&engine->mutex);
    }
    free_beat(beat);
}

static bool wants_beat(const struct pawl_task *task, int64_t now_us, bool verify)
{
    return verify || task->trust_until_us - now_us < task->lease_ms * 600;
}

/* A beat for the runs with this lease, linked before `first`. */
static struct pawl__op *make_beat(struct pawl__engine *engine, int64_t lease_ms, int64_t now_us,
                                  bool verify, struct pawl__op *first)
{
    size_t cap = 0;
    for (struct pawl_task *task = engine->held; task; task = task->held_next) {
        cap += task->lease_ms == lease_ms && wants_beat(task, now_us, verify);
    }
    if (cap > PAWL__EXTEND_MAX) cap = PAWL__EXTEND_MAX;
    struct beat *beat = cap ? new_beat(engine, cap) : NULL;
    if (!beat) return first;
    for (struct pawl_task *task = engine->held; task && beat->count < cap; task = task->held_next) {
        if (task->lease_ms != lease_ms || !wants_beat(task, now_us, verify)) continue;
        task->pins++;
        beat->tasks[beat->count] = task;
        beat->refs[beat->count++] = (struct pawl_run){ .id = task->job->id, .run = task->job->run };
    }
    beat->posted_us = now_us;
    beat->op = (struct pawl__op){ .kind = PAWL__OP_EXTEND,
                                  .done = beat_answered,
                                  .user = beat,
                                  .next = first,
                                  .extend = { .refs = beat->refs,
                                              .count = beat->count,
                                              .lease_ms = lease_ms,
                                              .results = beat->results } };
    engine->asked++;
    engine->beats++;
    return &beat->op;
}

/* Beats for every length of lease that is held; each length once, at its first task. None while
 * earlier beats are unanswered: a slow store must not be sent more and more of them. */
static struct pawl__op *make_beats(struct pawl__engine *engine, int64_t now_us,
                                   struct pawl__op *first)
{
    if (engine->beats) return first;
    bool verify = engine->verify && now_us - engine->verified_us >= VERIFY_PAUSE_US;
    if (!verify && now_us < engine->beat_us) return first;
    if (verify) {
        engine->verify = false;
        engine->verified_us = now_us;
    }
    int64_t shortest_ms = engine->lease_ms;
    for (struct pawl_task *task = engine->held; task; task = task->held_next) {
        if (task->lease_ms < shortest_ms) shortest_ms = task->lease_ms;
        bool seen = false;
        for (struct pawl_task *at = engine->held; at != task && !seen; at = at->held_next) {
            seen = at->lease_ms == task->lease_ms;
        }
        if (!seen) first = make_beat(engine, task->lease_ms, now_us, verify, first);
    }
    int64_t pause_us = shortest_ms * 1000 / 6;
    engine->beat_us = now_us + (pause_us > BEAT_PAUSE_US ? pause_us : BEAT_PAUSE_US);
    return first;
}

/* ---- time limits ---- */

static void warned(struct pawl__op *op)
{
    struct pawl__engine *engine = op->user;
    pawl__lock(&engine->mutex);
    engine->asked--;
    pawl__cond_broadcast(&engine->change);
    pawl__unlock(&engine->mutex);
    pawl__arena_release(&op->arena);
    free(op);
}

static struct pawl__op *make_warning(struct pawl__engine *engine, const struct pawl_task *task,
                                     struct pawl__op *first)
{
    static const char text[] = "80 % of the time limit is over";
    struct pawl__op *op = calloc(1, sizeof *op);
    if (!op) return first;
    *op = (struct pawl__op){ .kind = PAWL__OP_LOG,
                             .done = warned,
                             .user = engine,
                             .next = first,
                             .log = { .ref = { .id = task->job->id, .run = task->job->run },
                                      .level = 2,
                                      .text = { text, sizeof text - 1 } } };
    engine->asked++;
    return op;
}

/* Finds a run that is over its limit or whose lease can no longer be trusted; one at a time,
 * because handlers must not be notified under the lock. `*late` says which of the two applies. */
static struct pawl_task *next_overdue(struct pawl__engine *engine, int64_t now_us, bool *late)
{
    for (struct pawl_task *task = engine->held; task; task = task->held_next) {
        *late = task->started_us && task->hard_us && now_us >= task->hard_us;
        bool lost = now_us >= task->trust_until_us || !pawl__node_trusted(engine, now_us);
        if (!*late && !lost) continue;
        if (task->started_us || lost) {
            (void)pawl__task_decide(task);
            atomic_store(&task->cancelled, true);
            task->timed_out = *late;
            engine->counters.timed_out += *late;
            engine->asked += *late || !task->started_us; // nothing is posted for a lost run
            pawl__cond_broadcast(&engine->change);
            return task;
        }
    }
    return NULL;
}

static void end_overdue(struct pawl__engine *engine, int64_t now_us)
{
    for (;;) {
        bool late;
        pawl__lock(&engine->mutex);
        struct pawl_task *task = next_overdue(engine, now_us, &late);
        pawl__unlock(&engine->mutex);
        if (!task) return;
        if (late) {
            pawl__finish_timeout(task);
        } else if (!task->started_us) {
            pawl__finish_give_back(task, 0); // if it is still ours, this spares it the wait and an
                                             // attempt
        } else {
            pawl__finish_nothing(task);
        }
    }
}

static struct pawl__op *make_warnings(struct pawl__engine *engine, int64_t now_us,
                                      struct pawl__op *first)
{
    for (struct pawl_task *task = engine->held; task; task = task->held_next) {
        if (!task->soft_us || now_us < task->soft_us) continue;
        task->soft_us = 0;
        first = make_warning(engine, task, first);
    }
    return first;
}

/* ---- sweeps ---- */

static int64_t interval_ms(const struct pawl__engine *engine)
{
    int64_t ms = engine->lease_ms / 6;
    return ms < SWEEP_MIN_MS ? SWEEP_MIN_MS : ms > SWEEP_MAX_MS ? SWEEP_MAX_MS : ms;
}

static int64_t sweep_wait_ms(const struct pawl__engine *engine, int kind, const struct pawl__op *op,
                             int64_t took_us)
{
    if (op->err) return TROUBLE_MS;
    if (kind == PAWL__SWEEP_ARCHIVE || kind == PAWL__SWEEP_PURGE) {
        return op->retire.more || op->retire.moved ? took_us * RETIRE_REST / 1000 + 1
                                                   : RETIRE_IDLE_MS;
    }
    if (op->sweep.more) return 0;
    int64_t until_ms = op->sweep.next_at_ms ? op->sweep.next_at_ms - op->now_ms : INT64_MAX / 2000;
    if (until_ms < 0) until_ms = 0;
    if (!until_ms && !op->sweep.moved) until_ms = HELD_MS;
    int64_t pause_ms = FIRE_PAUSE_MS - took_us / 1000;
    if (kind == PAWL__SWEEP_FIRE && until_ms < pause_ms) until_ms = pause_ms;
    // earlier due times are notified, so waiting for the next one would do; but notices can be lost
    int64_t most_ms = kind == PAWL__SWEEP_PROMOTE ? engine->poll_rules.max_ms : interval_ms(engine);
    return until_ms < most_ms ? until_ms : most_ms;
}

static void sweep_answered(struct pawl__op *op)
{
    struct pawl__engine *engine = op->user;
    int64_t now_us = pawl__engine_now_us(engine);
    pawl__lock(&engine->mutex);
    int kind = 0;
    while (&engine->sweeps[kind].op != op) {
        kind++;
    }
    struct pawl__sweep *sweep = &engine->sweeps[kind];
    engine->asked--;
    sweep->under_way = false;
    if (kind == PAWL__SWEEP_LAPSE && !op->err) engine->counters.lapsed += op->sweep.moved;
    if (kind == PAWL__SWEEP_DEADLINE && !op->err)
        engine->counters.deadlines_missed += op->sweep.moved;
    if (kind == PAWL__SWEEP_PROMOTE && !op->err) engine->counters.wakes_due += op->sweep.moved > 0;
    pawl__node_store_result(engine, op->err);
    int64_t wait_ms = kind == PAWL__SWEEP_NODE
                          ? pawl__node_answered(engine, op, sweep->began_us, now_us)
                          : sweep_wait_ms(engine, kind, op, now_us - sweep->began_us);
    int64_t next_us = now_us + wait_ms * 1000;
    if (next_us < sweep->next_us)
        sweep->next_us = next_us; // a notice may have requested an
                                  // earlier time
    pawl__arena_release(&op->arena);
    pawl__coordinator_call_at(engine, sweep->next_us);
    pawl__cond_broadcast(&engine->change);
    pawl__unlock(&engine->mutex);
}

_Static_assert(2 * PAWL__MAINTENANCE_MAX + 4 * SWEEP_STEP + 2 * RETIRE_STEP <
                   PAWL__COMMIT_WEIGHT_MAX,
               "all sweeps of a turn fit one commit, and one peek answers them");

static void set_up_sweep(struct pawl__engine *engine, int kind, struct pawl__op *op)
{
    static const enum pawl__op_kind kinds[] = {
        [PAWL__SWEEP_FIRE] = PAWL__OP_FIRE,         [PAWL__SWEEP_PROMOTE] = PAWL__OP_PROMOTE,
        [PAWL__SWEEP_LAPSE] = PAWL__OP_LAPSE,       [PAWL__SWEEP_EXPIRE] = PAWL__OP_EXPIRE,
        [PAWL__SWEEP_ARCHIVE] = PAWL__OP_ARCHIVE,   [PAWL__SWEEP_PURGE] = PAWL__OP_PURGE,
        [PAWL__SWEEP_SETTLE] = PAWL__OP_SETTLE,     [PAWL__SWEEP_NODE] = PAWL__OP_NODE_PUT,
        [PAWL__SWEEP_DEADLINE] = PAWL__OP_DEADLINE,
    };
    *op = (struct pawl__op){ .kind = kinds[kind], .done = sweep_answered, .user = engine };
    switch (kind) {
    case PAWL__SWEEP_ARCHIVE:
    case PAWL__SWEEP_PURGE:
        op->retire.states = ~UINT32_C(0);
        op->retire.limit = RETIRE_STEP;
        op->retire.owner = engine->name;
        op->retire.pause_ms = RETIRE_IDLE_MS - 1; // less than the holder's own interval
        op->retire.age_ms = kind == PAWL__SWEEP_PURGE ? engine->retention.purge_after_ms
                                                      : engine->retention.archive_after_ms;
        break;
    case PAWL__SWEEP_NODE:
        pawl__node_ask(engine, op);
        break;
    case PAWL__SWEEP_FIRE:
    case PAWL__SWEEP_PROMOTE:
        op->sweep.limit = PAWL__MAINTENANCE_MAX;
        break;
    default:
        op->sweep.limit = SWEEP_STEP;
        break;
    }
}

static bool wants_sweep(const struct pawl__engine *engine, int kind)
{
    if (engine->fenced || (engine->draining && kind != PAWL__SWEEP_NODE)) return false;
    if (kind == PAWL__SWEEP_NODE) return true;
    if (kind == PAWL__SWEEP_ARCHIVE && engine->retention.archive_after_ms < 0) return false;
    if (kind == PAWL__SWEEP_PURGE && engine->retention.purge_after_ms < 0) return false;
    return !engine->no_upkeep;
}

static bool is_due(const struct pawl__engine *engine, int kind, int64_t now_us)
{
    const struct pawl__sweep *sweep = &engine->sweeps[kind];
    return !sweep->under_way && now_us >= sweep->next_us && wants_sweep(engine, kind);
}

/* A sweep includes those that are due soon: they share a commit. */
static struct pawl__op *make_sweeps(struct pawl__engine *engine, int64_t now_us,
                                    struct pawl__op *first)
{
    int64_t until_us = now_us;
    for (int kind = 0; kind < PAWL__SWEEP_END; kind++) {
        if (is_due(engine, kind, now_us)) until_us = now_us + interval_ms(engine) * 1000 / 4;
    }
    for (int kind = 0; kind < PAWL__SWEEP_END; kind++) {
        struct pawl__sweep *sweep = &engine->sweeps[kind];
        if (!is_due(engine, kind, until_us)) continue;
        set_up_sweep(engine, kind, &sweep->op);
        sweep->under_way = true;
        sweep->began_us = now_us;
        sweep->next_us = INT64_MAX;
        sweep->op.next = first;
        first = &sweep->op;
        engine->asked++;
    }
    return first;
}

/* ---- the turn ---- */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t next_turn(const struct pawl__engine *engine)
{
    int64_t at_us = engine->draining ? INT64_MAX : engine->poll_us;
    if (engine->troubled) at_us = earlier(at_us, engine->retry_us);
    bool beat = engine->held && !engine->beats; // else their answer calls us
    if (beat) at_us = earlier(at_us, engine->beat_us);
    if (beat && engine->verify) {
        at_us = earlier(at_us, engine->verified_us + VERIFY_PAUSE_US);
    }
    for (int kind = 0; kind < PAWL__SWEEP_END; kind++) {
        const struct pawl__sweep *sweep = &engine->sweeps[kind];
        if (sweep->under_way) continue; // its answer calls us
        if (wants_sweep(engine, kind)) at_us = earlier(at_us, sweep->next_us);
    }
    for (struct pawl_task *task = engine->held; task; task = task->held_next) {
        at_us = earlier(at_us, earlier(task->trust_until_us, engine->member_until_us));
        if (task->soft_us) at_us = earlier(at_us, task->soft_us);
        if (task->started_us && task->hard_us) at_us = earlier(at_us, task->hard_us);
    }
    return at_us;
}

int64_t pawl__coordinator_next(struct pawl__engine *engine)
{
    pawl__lock(&engine->mutex);
    int64_t at_us = next_turn(engine);
    pawl__unlock(&engine->mutex);
    return at_us;
}

int64_t pawl__coordinator_turn(struct pawl__engine *engine)
{
    int64_t now_us = pawl__engine_now_us(engine);
    end_overdue(engine, now_us);
    pawl__finish_retry(engine, now_us);
    pawl__lock(&engine->mutex);
    engine->turn_wanted = false;
    if (!engine->draining && now_us >= engine->poll_us) {
        engine->counters.wakes_poll += !engine->poll.passed_streak; // else it was a repetition
        engine->ready = true;
        if (engine->claiming) engine->again = true;
        engine->poll_us = now_us + engine->poll_rules.max_ms * 1000; // until the answer sets a
                                                                     // better time
    }
    struct pawl__op *first = make_warnings(engine, now_us, NULL);
    first = make_beats(engine, now_us, first);
    first = make_sweeps(engine, now_us, first);
    struct pawl__op *claim = pawl__poller_claim(engine);
    engine->turn_at_us = next_turn(engine);
    int64_t next_us = engine->turn_at_us;
    pawl__unlock(&engine->mutex);
    if (first) pawl__store_post_list(engine->store, first);
    if (claim) pawl__store_post(engine->store, claim);
    return next_us;
}

void *pawl__coordinator_run(void *arg)
{
    struct pawl__engine *engine = arg;
    for (;;) {
        int64_t next_us = pawl__coordinator_turn(engine);
        pawl__lock(&engine->mutex);
        while (!engine->turn_wanted && !engine->quitting) {
            int64_t left_us = next_us - pawl__engine_now_us(engine);
            if (left_us <= 0) break;
            if (next_us == INT64_MAX) {
                pawl__cond_wait(&engine->turn, &engine->mutex);
            } else {
                (void)pawl__cond_wait_us(&engine->turn, &engine->mutex, left_us);
            }
        }
        bool quit = engine->quitting;
        pawl__unlock(&engine->mutex);
        if (quit) return NULL;
    }
}
