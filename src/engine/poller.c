/* Claiming: requests as many jobs as there is room for, as soon as there may be some. Any thread
 * that makes room or learns of jobs may claim; one claim is in progress at a time.
 *
 * Room is the number of free workers and, if runs are short, what the workers run in a few
 * milliseconds: so a thousand no-ops share a commit, and a long job is left to the next free
 * worker. */
#include "engine/inside.h"

#include <assert.h>
#include <stdlib.h>

/* One claim is in progress at a time: the longer it takes, the more jobs it must return. */
static int64_t ahead_max(const struct pawl__engine *engine)
{
    int64_t max = PAWL__AHEAD_MAX * (1 + engine->claim_us_mean / PAWL__AHEAD_CLAIM_US);
    return max < PAWL__AHEAD_MAX_SLOW ? max : PAWL__AHEAD_MAX_SLOW;
}

static int64_t ahead_of(const struct pawl__engine *engine)
{
    int64_t mean = engine->run_us_mean;
    if (mean < 0 || mean >= PAWL__AHEAD_RUN_US) return 0; // unknown, or long
    int64_t cover_us = engine->claim_us_mean * 4;         // workers should not be idle during a
                                                          // claim
    if (cover_us < PAWL__AHEAD_US) cover_us = PAWL__AHEAD_US;
    if (cover_us > PAWL__AHEAD_US_MAX) cover_us = PAWL__AHEAD_US_MAX;
    int64_t ahead = engine->workers * cover_us / (mean + 1), max = ahead_max(engine);
    return ahead < max ? ahead : max;
}

/* How many more jobs to hold. With many ahead it waits until half of them are gone, so that claims
 * are large. */
static int64_t room(const struct pawl__engine *engine)
{
    int64_t ahead = ahead_of(engine);
    int64_t have = engine->waiting + engine->active;
    int64_t want = engine->workers + ahead - have;
    int64_t idle = engine->workers - engine->active;
    if (engine->waiting > ahead / 2 && engine->waiting >= idle) return 0;
    return want < PAWL__CLAIM_MAX ? want : PAWL__CLAIM_MAX;
}

static int64_t room_in(const struct pawl__group *group, int64_t want)
{
    if (!group->limit) return want;
    int64_t left = group->limit - group->held;
    return left < want ? left : want;
}

/* Each job's share of the remaining bytes. Longer arguments are read when the run starts: so
 * however large the jobs are, claims hold at most claim_bytes_max, plus small arguments. */
static int64_t args_max(const struct pawl__engine *engine, int64_t limit)
{
    int64_t share = (engine->claim_bytes_max - engine->claim_bytes) / limit;
    return share > PAWL__ARGS_SMALL ? share : PAWL__ARGS_SMALL;
}

static int32_t busy_percent(const struct pawl__engine *engine)
{
    return (int32_t)(engine->active * 100 / engine->workers);
}

/* Creates tasks for the jobs, in the claim's own memory. */
static bool make_tasks(struct pawl__claim *claim)
{
    struct pawl__engine *engine = claim->engine;
    struct pawl__op *op = &claim->op;
    claim->tasks = pawl__arena_calloc(&op->arena, op->claim.job_count, sizeof *claim->tasks);
    if (!claim->tasks) return false;
    for (size_t i = 0; i < op->claim.job_count; i++) {
        struct pawl_task *task = &claim->tasks[i];
        struct pawl_job *job = &op->claim.jobs[i];
        task->engine = engine;
        task->claim = claim;
        task->job = job;
        task->group = claim->group;
        task->lease_ms = job->lease_ms ? job->lease_ms : engine->lease_ms;
        task->trust_until_us = claim->posted_us + task->lease_ms * 900;
        task->pins = 1; // held by the run queue, later by the run
        claim->bytes += (int64_t)job->args.len;
        atomic_init(&task->cancelled, false);
    }
    return true;
}

static void queue_tasks(struct pawl__engine *engine, struct pawl__claim *claim)
    PAWL__REQUIRES(engine->mutex)
{
    size_t count = claim->op.claim.job_count;
    int64_t shortest_ms = engine->lease_ms;
    for (size_t i = 0; i < count; i++) {
        struct pawl_task *task = &claim->tasks[i];
        task->held_next = engine->held;
        if (engine->held) engine->held->held_prev = task;
        engine->held = task;
        *engine->queue_tail = task;
        engine->queue_tail = &task->next;
        if (task->lease_ms < shortest_ms) shortest_ms = task->lease_ms;
    }
    engine->groups[claim->group].held += (int32_t)count;
    engine->waiting += (int64_t)count;
    engine->claim_bytes += claim->bytes;
    engine->counters.claimed += (int64_t)count;
    int64_t beat_us = claim->posted_us + shortest_ms * 1000 / 3;
    if (beat_us < engine->beat_us) engine->beat_us = beat_us;
    pawl__coordinator_call_at(engine, engine->beat_us);
    for (size_t i = 0; i < count && i < (size_t)engine->workers; i++) {
        pawl__cond_signal(&engine->work);
    }
}

/* Decides which group is next, and whether more may be available. A claim that returned some jobs
 * and sets `more` is repeated at once; one that found only jobs locked by others is repeated a
 * moment later, after the other groups. */
static void note_answer(struct pawl__engine *engine, const struct pawl__claim *claim)
    PAWL__REQUIRES(engine->mutex)
{
    int64_t found = (int64_t)claim->op.claim.job_count;
    int64_t now_ms = pawl__clock_wall_ms(engine->clock);
    bool more = claim->op.claim.more;
    pawl__poll_note(&engine->poll, &engine->poll_rules, now_ms, claim->asked, found, more);
    if (found == 0) engine->counters.claims_empty++;
    if (found == claim->asked) engine->counters.claims_full++;
    if (found < claim->asked && !(found && more)) engine->claim_group++;
    if (engine->again) { // more have arrived: start with the leftmost group
        engine->again = false;
        engine->claim_group = 0;
        engine->ready = true;
    } else if (engine->claim_group >= engine->group_count) {
        engine->claim_group = 0;
        engine->ready = false;
        pawl__poll_round_end(&engine->poll);
        int64_t delay_ms =
            pawl__poll_delay(&engine->poll, &engine->poll_rules, busy_percent(engine));
        engine->poll_us = pawl__engine_now_us(engine) + delay_ms * 1000;
        pawl__coordinator_call_at(engine, engine->poll_us);
    }
}

static void free_claim(struct pawl__claim *claim)
{
    pawl__arena_release(&claim->op.arena);
    free(claim);
}

/* On the committer's thread. If there is no memory for tasks, the jobs' leases lapse. */
static void claim_answered(struct pawl__op *op)
{
    struct pawl__claim *claim = op->user;
    struct pawl__engine *engine = claim->engine;
    bool keep = !op->err && op->claim.job_count && make_tasks(claim);
    int64_t now_us = pawl__engine_now_us(engine);
    pawl__lock(&engine->mutex);
    engine->asked--;
    engine->claiming = false;
    pawl__node_store_result(engine, op->err);
    engine->claim_us_mean = (engine->claim_us_mean * 7 + now_us - claim->posted_us) / 8;
    if (op->err) {
        engine->poll_us = now_us + engine->poll_rules.burst_ms * 1000; // the store has an error
        engine->ready = false;
        pawl__coordinator_call_at(engine, engine->poll_us);
    } else {
        note_answer(engine, claim);
    }
    if (keep) {
        claim->left = op->claim.job_count;
        queue_tasks(engine, claim);
    }
    struct pawl__op *more = pawl__poller_claim(engine);
    pawl__cond_broadcast(&engine->change);
    pawl__unlock(&engine->mutex);
    if (!keep) free_claim(claim);
    if (more) pawl__store_post(engine->store, more);
}

struct pawl__op *pawl__poller_claim(struct pawl__engine *engine)
{
    if (!engine->running || engine->draining || engine->claiming || !engine->ready) return NULL;
    if (!pawl__node_trusted(engine, pawl__engine_now_us(engine))) return NULL;
    int64_t want = room(engine);
    if (want <= 0) return NULL;
    int64_t limit = 0;
    while (engine->claim_group < engine->group_count) {
        limit = room_in(&engine->groups[engine->claim_group], want);
        if (limit > 0) break;
        engine->groups[engine->claim_group++].passed_over = true; // its next free slot claims again
    }
    if (limit <= 0) {
        engine->claim_group = 0;
        engine->ready = false; // until a slot is free or more arrive
        return NULL;
    }
    struct pawl__claim *claim = calloc(1, sizeof *claim);
    if (!claim) return NULL; // the safety poll retries
    const struct pawl__group *group = &engine->groups[engine->claim_group];
    claim->engine = engine;
    claim->group = engine->claim_group;
    claim->asked = limit;
    claim->posted_us = pawl__engine_now_us(engine);
    claim->op = (struct pawl__op){ .kind = PAWL__OP_CLAIM,
                                   .done = claim_answered,
                                   .user = claim,
                                   .claim = { .queues = group->queues,
                                              .queue_count = group->queue_count,
                                              .types = engine->types,
                                              .type_count = engine->handler_count,
                                              .limit = limit,
                                              .args_max = args_max(engine, limit),
                                              .worker = engine->name,
                                              .lease_ms = engine->lease_ms } };
    engine->claiming = true;
    engine->asked++;
    return &claim->op;
}

void pawl__task_unpin(struct pawl_task *task)
{
    assert(task->pins > 0);
    if (--task->pins) return;
    pawl__arena_release(&task->arena);
    pawl__arena_release(&task->outcome.arena);
    struct pawl__claim *claim = task->claim;
    if (--claim->left) return;
    claim->engine->claim_bytes -= claim->bytes;
    free_claim(claim);
}
