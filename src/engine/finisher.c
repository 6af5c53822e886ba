/* The outcome of a run: decided once, posted to the store with the number of the run, answered on
 * the committer's thread. */
#include "engine/inside.h"

#include <assert.h>
#include <string.h>

bool pawl__task_decide(struct pawl_task *task)
{
    struct pawl__engine *engine = task->engine;
    if (task->decided) return false;
    task->decided = true;
    task->pins++;
    if (task->held_prev) {
        task->held_prev->held_next = task->held_next;
    } else {
        engine->held = task->held_next;
    }
    if (task->held_next) task->held_next->held_prev = task->held_prev;
    struct pawl__group *group = &engine->groups[task->group];
    group->held--;
    if (group->passed_over) {
        group->passed_over = false;
        engine->ready = engine->again = true;
    }
    engine->finishing++;
    return true;
}

static void count_outcome(struct pawl__engine *engine, const struct pawl__op *op)
{
    struct pawl_counters *counters = &engine->counters;
    if (op->err) {
        counters->stale += op->err == PAWL_ERR_STALE || op->err == PAWL_ERR_NOT_FOUND;
        return;
    }
    switch (op->kind) {
    case PAWL__OP_COMPLETE:
        counters->completed++;
        break;
    case PAWL__OP_FAIL:
        counters->failed++;
        counters->discarded += op->fail.to == PAWL_STATE_DISCARDED;
        break;
    case PAWL__OP_SNOOZE:
        counters->snoozed++;
        break;
    default: // CONTROL
        counters->cancelled += op->control.control == PAWL_CONTROL_CANCEL;
        counters->completed += op->control.control == PAWL_CONTROL_SKIP;
        counters->discarded += op->control.control == PAWL_CONTROL_DISCARD;
        break;
    }
}

static void end_outcome(struct pawl_task *task, const struct pawl__op *op)
{
    struct pawl__engine *engine = task->engine;
    pawl__lock(&engine->mutex);
    if (op) {
        count_outcome(engine, op);
        engine->asked--;
    }
    engine->finishing--;
    struct pawl__op *more = pawl__poller_claim(engine);
    pawl__cond_broadcast(&engine->change);
    pawl__task_unpin(task); // the task may be gone after this
    pawl__unlock(&engine->mutex);
    if (more) pawl__store_post(engine->store, more);
}

static bool is_trouble(enum pawl_err err)
{
    return err == PAWL_ERR_BUSY || err == PAWL_ERR_NOMEM || err == PAWL_ERR_UNSAFE ||
           err == PAWL_ERR_IO || err == PAWL_ERR_FULL || err == PAWL_ERR_READONLY ||
           err == PAWL_ERR_CORRUPT;
}

/* If the store has an error, it refuses writes for a while. The lease is still ours, so the same
 * outcome is retried until the lease ends; then it lapses, and the job runs again. */
static bool put_aside(struct pawl_task *task)
{
    struct pawl__engine *engine = task->engine;
    int64_t now_us = pawl__engine_now_us(engine);
    pawl__lock(&engine->mutex);
    bool aside = now_us < task->trust_until_us && !engine->quitting;
    if (aside) {
        engine->asked--;
        if (!engine->troubled) engine->retry_us = now_us + PAWL__RETRY_PAUSE_US;
        task->next = engine->troubled;
        engine->troubled = task;
        pawl__coordinator_call_at(engine, engine->retry_us);
        pawl__cond_broadcast(&engine->change);
    }
    pawl__unlock(&engine->mutex);
    return aside;
}

static void outcome_answered(struct pawl__op *op)
{
    struct pawl_task *task = op->user;
    if (is_trouble(op->err) && put_aside(task)) return;
    end_outcome(task, op);
}

static void post_outcome(struct pawl_task *task)
{
    task->outcome.done = outcome_answered;
    task->outcome.user = task;
    pawl__store_post(task->engine->store, &task->outcome); // the task may be gone after this
}

static struct pawl_run ref_of(const struct pawl_task *task)
{
    return (struct pawl_run){ .id = task->job->id, .run = task->job->run };
}

static void finish_failure(struct pawl_task *task, enum pawl_outcome outcome)
{
    bool discard = outcome == PAWL_OUTCOME_DISCARD;
    task->outcome = (struct pawl__op){
        .kind = PAWL__OP_FAIL,
        .fail = { .ref = ref_of(task),
                  .report = { .type = task->error_type ? task->error_type : "handler_error",
                              .code = "handler_error",
                              .message = task->error_text ? task->error_text
                                                          : "the handler gave no reason",
                              .details = task->details,
                              .not_retryable = discard,
                              .retry_after_ms = outcome == PAWL_OUTCOME_RETRY_AFTER ? task->delay_ms
                                                                                    : 0 } }
    };
}

static void finish_control(struct pawl_task *task, enum pawl_control control)
{
    task->outcome = (struct pawl__op){ .kind = PAWL__OP_CONTROL,
                                       .control = { .id = task->job->id,
                                                    .control = control,
                                                    .run = task->job->run,
                                                    .by = { .actor = task->claim->op.claim.worker,
                                                            .reason = task->error_text } } };
}

void pawl__finish_outcome(struct pawl_task *task, enum pawl_outcome outcome)
{
    switch (outcome) {
    case PAWL_OUTCOME_DONE:
        task->outcome =
            (struct pawl__op){ .kind = PAWL__OP_COMPLETE,
                               .complete = { .ref = ref_of(task), .result = task->result } };
        break;
    case PAWL_OUTCOME_SNOOZE:
        task->outcome =
            (struct pawl__op){ .kind = PAWL__OP_SNOOZE,
                               .snooze = { .ref = ref_of(task), .delay_ms = task->delay_ms } };
        break;
    case PAWL_OUTCOME_CANCEL:
        finish_control(task, PAWL_CONTROL_CANCEL);
        break;
    case PAWL_OUTCOME_SKIP:
        finish_control(task, PAWL_CONTROL_SKIP);
        break;
    default: // RETRY, RETRY_AFTER, DISCARD, and any other value that a handler may return
        finish_failure(task, outcome);
        break;
    }
    post_outcome(task);
}

void pawl__finish_give_back(struct pawl_task *task, int64_t delay_ms)
{
    task->outcome = (struct pawl__op){ .kind = PAWL__OP_SNOOZE,
                                       .snooze = { .ref = ref_of(task), .delay_ms = delay_ms } };
    post_outcome(task);
}

void pawl__finish_timeout(struct pawl_task *task)
{
    task->outcome = (struct pawl__op){
        .kind = PAWL__OP_FAIL,
        .fail = { .ref = ref_of(task),
                  .report = { .type = "timeout",
                              .code = "timeout",
                              .message = "the run took longer than its time limit" } }
    };
    post_outcome(task);
}

void pawl__finish_nothing(struct pawl_task *task)
{
    end_outcome(task, NULL);
}

/* While quitting nothing can be deferred: put_aside refuses, so this attempt is the last. */
void pawl__finish_retry(struct pawl__engine *engine, int64_t now_us)
{
    pawl__lock(&engine->mutex);
    bool due = engine->quitting || now_us >= engine->retry_us;
    struct pawl_task *task = due ? engine->troubled : NULL;
    if (due) engine->troubled = NULL;
    for (struct pawl_task *at = task; at; at = at->next) {
        engine->asked++;
    }
    pawl__unlock(&engine->mutex);
    while (task) {
        struct pawl_task *next = task->next;
        pawl__arena_reset(&task->outcome.arena);
        post_outcome(task);
        task = next;
    }
}
