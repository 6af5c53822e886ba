/* One run: its steps in order, and the functions for handlers.
 *
 * Runs on: a worker's thread. */
#include "base/json.h"
#include "base/utf8.h"
#include "engine/inside.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GATE_PAUSE_MS = 1000, LOAD_PAUSE_MS = 1000 };

static int compare_type(const void *type, const void *handler)
{
    return strcmp(type, ((const struct pawl__handler *)handler)->type);
}

/* The type's own handler, else that of the longest prefix. */
static const struct pawl__handler *find_handler(const struct pawl__engine *engine, const char *type)
{
    const struct pawl__handler *best = bsearch(type, engine->handlers, engine->handler_count,
                                               sizeof *engine->handlers, compare_type);
    if (best) return best;
    for (size_t i = 0; i < engine->handler_count; i++) {
        const struct pawl__handler *handler = &engine->handlers[i];
        bool longer = !best || strlen(handler->type) > strlen(best->type);
        if (longer && pawl__type_matches(handler->type, type)) best = handler;
    }
    return best;
}

static int64_t bounded(int64_t ms)
{
    return ms < 0 ? 0 : ms > PAWL__RETRY_MS_MAX ? PAWL__RETRY_MS_MAX : ms;
}

/* The next task that has not been decided. */
static struct pawl_task *take_next(struct pawl__engine *engine)
{
    while (engine->queue_head && !engine->draining) {
        struct pawl_task *task = engine->queue_head;
        engine->queue_head = task->next;
        if (!engine->queue_head) engine->queue_tail = &engine->queue_head;
        task->next = NULL;
        engine->waiting--;
        if (!task->decided) return task;
        pawl__task_unpin(task);
    }
    return NULL;
}

/* Starts the time limit. */
static void start_limit(struct pawl__engine *engine, struct pawl_task *task)
    PAWL__REQUIRES(engine->mutex)
{
    int64_t timeout_ms = task->job->timeout_ms, now_us = pawl__engine_now_us(engine);
    if (timeout_ms <= 0) return;
    task->hard_us = now_us + timeout_ms * 1000;
    task->soft_us = now_us + timeout_ms * 800;
    task->deadline_at_ms = pawl__clock_wall_ms(engine->clock) + timeout_ms;
    pawl__coordinator_call_at(engine, task->soft_us);
}

/* Takes the next task and records that it runs. */
static struct pawl_task *begin_next(struct pawl__engine *engine) PAWL__REQUIRES(engine->mutex)
{
    struct pawl_task *task = take_next(engine);
    if (!task) return NULL;
    engine->active++;
    int64_t now_us = pawl__engine_now_us(engine);
    int64_t now_ms = pawl__clock_wall_ms(engine->clock);
    task->started_us = now_us;
    // If a claim was answered late, or the node was suspended, the job is not started but given
    // back.
    if (now_us >= task->trust_until_us || !pawl__node_trusted(engine, now_us)) {
        atomic_store(&task->cancelled, true);
    }
    if (task->job->args.len) start_limit(engine, task); // else after they are loaded
    int64_t wait_ms = now_ms - task->job->due_at_ms;
    pawl__histogram_add(&engine->counters.wait_us, wait_ms > 0 ? wait_ms * 1000 : 0);
    return task;
}

/* The mean run time determines how many jobs are claimed ahead; a run refused by a gate does not
 * count. */
static void note_run(struct pawl__engine *engine, const struct pawl_task *task, bool ran)
{
    engine->active--;
    if (!ran) return;
    int64_t took_us = pawl__engine_now_us(engine) - task->started_us;
    pawl__histogram_add(&engine->counters.run_us, took_us);
    engine->run_us_mean = engine->run_us_mean < 0 ? took_us
                                                  : (engine->run_us_mean * 7 + took_us) / 8;
}

/* Loads the arguments, if they were too long for the claim. False: the store cannot return them
 * now, or the job is gone. */
static bool load_args(struct pawl_task *task)
{
    struct pawl__engine *engine = task->engine;
    struct pawl_job *whole = NULL;
    size_t count = 0;
    if (task->job->args.len) return true;
    enum pawl_err err =
        pawl__store_get(engine->store, &task->job->id, 1, &task->arena, &whole, &count, NULL);
    if (err || !count) return false;
    pawl__lock(&engine->mutex);
    task->job->args = whole->args;
    start_limit(engine, task);
    pawl__unlock(&engine->mutex);
    return true;
}

/* Calls the gates, then the handler. False: a gate refused, and the job is given back for
 * `*delay_ms`. The gates that let it pass are told how it ended. */
static bool execute(struct pawl_task *task, enum pawl_outcome *outcome, int64_t *delay_ms)
{
    struct pawl__engine *engine = task->engine;
    size_t passed = 0;
    bool shut = false;
    while (passed < engine->hook_count && !shut) {
        const struct pawl_hooks *hooks = &engine->hooks[passed];
        *delay_ms = 0;
        shut = hooks->before_run && !hooks->before_run(hooks->ctx, task, delay_ms);
        passed += !shut;
    }
    // without a delay the job would be claimed and given back endlessly
    if (shut && *delay_ms <= 0) *delay_ms = GATE_PAUSE_MS;
    *outcome = shut ? PAWL_OUTCOME_SNOOZE : task->handler->fn(task, task->handler->ctx);
    while (passed-- > 0) {
        const struct pawl_hooks *hooks = &engine->hooks[passed];
        if (hooks->after_run) hooks->after_run(hooks->ctx, task, *outcome);
    }
    return !shut;
}

/* Waits if the store is slower than the handlers, to bound the number of pending outcomes. A claim
 * goes first: a stop waits for its answer. */
static void wait_for_finishers(struct pawl__engine *engine, struct pawl__op **more)
    PAWL__REQUIRES(engine->mutex)
{
    while (engine->finishing > PAWL__FINISHING_MAX && !engine->quitting && !engine->by_hand) {
        struct pawl__op *claim = *more;
        *more = NULL;
        if (claim) {
            pawl__unlock(&engine->mutex);
            pawl__store_post(engine->store, claim);
            pawl__lock(&engine->mutex);
        } else {
            pawl__cond_wait(&engine->change, &engine->mutex);
        }
    }
}

/* Frees the worker's slot, and decides the task unless that has happened. True: this thread posts
 * the outcome. `more` is a claim to post after it, so that one commit serves both; NULL: none. */
static bool end_run(struct pawl_task *task, bool ran, struct pawl__op **more)
{
    struct pawl__engine *engine = task->engine;
    pawl__lock(&engine->mutex);
    bool ours = pawl__task_decide(task);
    note_run(engine, task, ran);
    *more = pawl__poller_claim(engine);
    pawl__cond_broadcast(&engine->change);
    if (ours) wait_for_finishers(engine, more);
    engine->asked += ours;
    pawl__task_unpin(task); // the run's pin; the outcome, or the thread that decided it, holds
                            // another
    pawl__unlock(&engine->mutex);
    return ours;
}

/* The steps of a task: check for a cancellation, find the handler, load long arguments, call the
 * gates and the handler, post the outcome, release. */
static void run_task(struct pawl_task *task)
{
    struct pawl__engine *engine = task->engine;
    enum pawl_outcome outcome = PAWL_OUTCOME_RETRY;
    int64_t delay_ms = 0;
    task->handler = find_handler(engine, task->job->type);
    bool lost = atomic_load(&task->cancelled);
    bool loaded = !lost && task->handler && load_args(task);
    if (!loaded && !lost) delay_ms = LOAD_PAUSE_MS;
    lost = atomic_load(&task->cancelled); // loading may have taken longer than the lease
    bool ran = loaded && !lost && execute(task, &outcome, &delay_ms);
    struct pawl__op *more;
    bool ours = end_run(task, ran, &more);
    if (ours && ran) pawl__finish_outcome(task, outcome);
    if (ours && !ran) {
        pawl__finish_give_back(task, bounded(delay_ms)); // a gate refused, or the node is stopping
    }
    if (more) pawl__store_post(engine->store, more);
}

bool pawl__task_run_next(struct pawl__engine *engine)
{
    pawl__lock(&engine->mutex);
    struct pawl_task *task = begin_next(engine);
    pawl__unlock(&engine->mutex);
    if (!task) return false;
    run_task(task);
    return true;
}

void *pawl__worker_run(void *arg)
{
    struct pawl__engine *engine = arg;
    pawl__lock(&engine->mutex);
    while (!engine->quitting) {
        struct pawl_task *task = begin_next(engine);
        if (!task) {
            pawl__cond_wait(&engine->work, &engine->mutex);
            continue;
        }
        pawl__unlock(&engine->mutex);
        run_task(task);
        pawl__lock(&engine->mutex);
    }
    pawl__unlock(&engine->mutex);
    return NULL;
}

/* ---- functions for handlers ---- */

const struct pawl_job *pawl_task_job(const struct pawl_task *task)
{
    return task->job;
}

bool pawl_task_cancelled(const struct pawl_task *task)
{
    return atomic_load(&task->cancelled);
}

bool pawl_task_wait(struct pawl_task *task, int64_t timeout_ms)
{
    struct pawl__engine *engine = task->engine;
    int64_t until_us = pawl__engine_in_us(engine, timeout_ms);
    pawl__lock(&engine->mutex);
    while (!atomic_load(&task->cancelled)) {
        int64_t left_us = until_us - pawl__engine_now_us(engine);
        if (left_us <= 0) break;
        (void)pawl__cond_wait_us(&engine->change, &engine->mutex, left_us);
    }
    pawl__unlock(&engine->mutex);
    return atomic_load(&task->cancelled);
}

int64_t pawl_task_deadline_ms(const struct pawl_task *task)
{
    struct pawl__engine *engine = task->engine;
    pawl__lock(&engine->mutex);
    int64_t at_ms = task->deadline_at_ms;
    pawl__unlock(&engine->mutex);
    return at_ms;
}

static enum pawl_err check_json(struct pawl_task *task, struct pawl_span json, size_t len_max,
                                struct pawl_diag *diag)
{
    struct pawl__json parsed;
    if (json.len > len_max) {
        return pawl__fail_field(diag, PAWL_ERR_LIMIT, "json", "%zu bytes exceed the limit of %zu",
                                json.len, len_max);
    }
    if (!json.len) return PAWL_OK;
    return pawl__json_parse(json, PAWL_JSON_DEPTH_MAX, &task->arena, &parsed, diag);
}

enum pawl_err pawl_task_result(struct pawl_task *task, struct pawl_span json)
{
    enum pawl_err err = check_json(task, json, PAWL__RESULT_BYTES_MAX, NULL);
    if (err) return err;
    const char *copy = pawl__arena_dup(&task->arena, json.len ? json.at : "", json.len);
    if (!copy) return PAWL_ERR_NOMEM;
    task->result = (struct pawl_span){ copy, json.len };
    return PAWL_OK;
}

/* Truncates a text without splitting a character. */
static void trim(char *text, int wanted_len, size_t size)
{
    if (wanted_len < 0) text[0] = '\0';
    if (wanted_len < 0 || (size_t)wanted_len < size) return;
    size_t len = size - 1, last = len - 1;
    while (last && len - last < 4 && ((unsigned char)text[last] & 0xC0) == 0x80) {
        last--;
    }
    if (pawl__utf8_step(text + last, text + len) <= 0) text[last] = '\0';
}

void pawl_task_error(struct pawl_task *task, const char *type, struct pawl_span details,
                     const char *format, ...)
{
    char text[PAWL__ERROR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    trim(text, vsnprintf(text, sizeof text, format, args), sizeof text);
    va_end(args);
    task->error_text = pawl__arena_dup(&task->arena, text, strlen(text));
    task->error_type = type ? pawl__arena_dup(&task->arena, type, strlen(type)) : NULL;
    task->details = (struct pawl_span){ "", 0 };
    if (!details.len || check_json(task, details, PAWL__ERROR_BYTES_MAX, NULL)) return;
    const char *copy = pawl__arena_dup(&task->arena, details.at, details.len);
    if (copy) task->details = (struct pawl_span){ copy, details.len };
}

void pawl_task_delay(struct pawl_task *task, int64_t delay_ms)
{
    task->delay_ms = bounded(delay_ms);
}

static struct pawl_run ref_of(const struct pawl_task *task)
{
    return (struct pawl_run){ .id = task->job->id, .run = task->job->run };
}

enum pawl_err pawl_task_progress(struct pawl_task *task, double value, const char *message)
{
    struct pawl__op op = { .kind = PAWL__OP_PROGRESS,
                           .progress = { .ref = ref_of(task),
                                         .value = value,
                                         .message = { message, message ? strlen(message) : 0 } } };
    enum pawl_err err = pawl__store_do(task->engine->store, &op);
    pawl__arena_release(&op.arena);
    return err;
}

enum pawl_err pawl_task_checkpoint(struct pawl_task *task, struct pawl_span json,
                                   struct pawl_diag *diag)
{
    enum pawl_err err = check_json(task, json, PAWL__CHECKPOINT_BYTES_MAX, diag);
    if (err) return err;
    struct pawl__op op = { .kind = PAWL__OP_CHECKPOINT,
                           .diag = diag,
                           .checkpoint = { .ref = ref_of(task), .state = json } };
    err = pawl__store_do(task->engine->store, &op);
    pawl__arena_release(&op.arena);
    return err;
}

enum pawl_err pawl_task_resume(struct pawl_task *task, struct pawl_span *out,
                               struct pawl_diag *diag)
{
    struct pawl_story story = { 0 };
    enum pawl_err err = pawl__store_story(task->engine->store, task->job->id, task->job,
                                          &task->arena, &story, diag);
    if (!err) *out = story.checkpoint;
    return err;
}

enum pawl_err pawl_task_inputs(struct pawl_task *task, const struct pawl_flow_inputs **out,
                               struct pawl_diag *diag)
{
    const struct pawl_job *job = task->job;
    struct pawl_flow_inputs *inputs = task->inputs;
    if (!inputs) {
        inputs = pawl__arena_calloc(&task->arena, 1, sizeof *inputs);
        if (!inputs) return pawl__fail_nomem(diag);
        enum pawl_err err =
            pawl__store_inputs_of(task->engine->store, job, &task->arena, inputs, diag);
        if (err) return err;
    }
    *out = task->inputs = inputs;
    return PAWL_OK;
}

enum pawl_err pawl_task_extend(struct pawl_task *task, int64_t timeout_ms, struct pawl_diag *diag)
{
    struct pawl__engine *engine = task->engine;
    struct pawl_run ref = ref_of(task);
    timeout_ms = bounded(timeout_ms);
    enum pawl_err result = PAWL_OK;
    int64_t now_us = pawl__engine_now_us(engine);
    struct pawl__op op = {
        .kind = PAWL__OP_EXTEND,
        .diag = diag,
        .extend = { .refs = &ref, .count = 1, .lease_ms = task->lease_ms, .results = &result }
    };
    enum pawl_err err = pawl__store_do(engine->store, &op);
    pawl__arena_release(&op.arena);
    if (!err) err = result;
    if (err) return err;
    pawl__lock(&engine->mutex);
    task->trust_until_us = now_us + task->lease_ms * 900;
    task->hard_us = timeout_ms > 0 ? now_us + timeout_ms * 1000 : 0;
    task->soft_us = timeout_ms > 0 ? now_us + timeout_ms * 800 : 0;
    task->deadline_at_ms = timeout_ms > 0 ? op.now_ms + timeout_ms : 0;
    if (task->soft_us) pawl__coordinator_call_at(engine, task->soft_us);
    pawl__unlock(&engine->mutex);
    return PAWL_OK;
}

/* A posted log line. */
struct line {
    struct pawl__op op;
    struct pawl__engine *engine;
    char text[];
};

/* A line that could not be stored is lost; the outcome will meet the same error. */
static void line_answered(struct pawl__op *op)
{
    struct line *line = op->user;
    struct pawl__engine *engine = line->engine;
    pawl__arena_release(&op->arena);
    free(line);
    pawl__lock(&engine->mutex);
    engine->lines--;
    engine->asked--;
    pawl__cond_broadcast(&engine->change);
    pawl__unlock(&engine->mutex);
}

void pawl_task_log(struct pawl_task *task, int32_t level, const char *format, ...)
{
    char text[PAWL__LOG_LINE_BYTES_MAX];
    va_list args;
    va_start(args, format);
    trim(text, vsnprintf(text, sizeof text, format, args), sizeof text);
    va_end(args);
    struct pawl__engine *engine = task->engine;
    struct line *line = malloc(sizeof *line + strlen(text) + 1);
    if (!line) return;
    memcpy(line->text, text, strlen(text) + 1);
    line->engine = engine;
    line->op = (struct pawl__op){
        .kind = PAWL__OP_LOG,
        .done = line_answered,
        .user = line,
        .log = { .ref = ref_of(task), .level = level, .text = { line->text, strlen(text) } }
    };
    pawl__lock(&engine->mutex);
    while (engine->lines >= PAWL__LINES_MAX) {
        pawl__cond_wait(&engine->change, &engine->mutex);
    }
    engine->lines++;
    engine->asked++;
    pawl__unlock(&engine->mutex);
    pawl__store_post(engine->store, &line->op);
}
