/* Two kinds of threads: some call and wait, one operation at a time; the others post several at
 * once and write the answers down on the committer's thread. Every record is one write, so those
 * of different threads do not mix. */
#include "crash/child.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 6, POSTING = 3, TASKS = 12, RECENT = 32, HELD = 64, CLAIM_MAX = 12 };

static const char *const queues[] = { "alpha", "beta", "gamma" };
static const char *const types[] = { "mail.send", "image.scale" };

struct held {
    struct pawl_job_id id;
    int64_t run;
};

/* One operation under way, with everything it borrows. */
struct task {
    struct pawl__op op;
    struct worker *worker;
    struct record record;
    struct pawl_diag diag;
    struct pawl__new_job jobs[BATCH_MAX];
    struct pawl_job_spec specs[BATCH_MAX];
    struct pawl_submitted submitted[BATCH_MAX];
    char args[BATCH_MAX][BATCH_ARGS_BYTES];
    char result[32];
    struct pawl_run refs[HELD];
    enum pawl_err results[HELD];
};

struct worker {
    const struct child_config *config;
    struct pawl__store *store;
    const struct kit_retry *retry;
    struct pawl_clock *clock;
    struct pawl__rng rng;
    uint32_t thread;
    uint32_t batches;
    uint32_t jobs;
    sem_t answered;
    struct pawl_job_id recent[RECENT]; /* jobs of its own, to be cancelled */
    size_t recent_count;
    struct held held[HELD];
    size_t held_count;
    struct held gained[TASKS * CLAIM_MAX]; /* by the tasks under way */
    size_t gained_count;
    struct task tasks[TASKS];
};

static void write_record(const struct worker *worker, const struct record *record)
{
    // the reader is gone: there is nobody left to be tested
    if (write(worker->config->fd, record, sizeof *record) != (ssize_t)sizeof *record) _exit(3);
}

static uint64_t dice(struct worker *worker, uint64_t bound)
{
    return pawl__rng_below(&worker->rng, bound);
}

/* ---- what to do ---- */

static void prepare_spec(struct worker *worker, struct task *task, uint32_t index, uint32_t count)
{
    uint64_t batch = task->record.batch;
    struct pawl_job_spec *spec = &task->specs[index];
    size_t len = batch_args(batch, index, count, task->args[index]);
    *spec = (struct pawl_job_spec){ .type = types[dice(worker, KIT_COUNT(types))],
                                    .queue = queues[dice(worker, KIT_COUNT(queues))],
                                    .args = { task->args[index], len },
                                    .priority = (int32_t)dice(worker, 5),
                                    .delay_ms = dice(worker, 5) ? 0 : (int64_t)dice(worker, 8) };
    struct pawl__new_job *job = &task->jobs[index];
    kit_new_job(job, spec, batch_job(batch, index), worker->retry);
    if (index || !batch_has_key(batch)) return;
    spec->idempotency_key = "kept as a digest";
    job->keys[job->key_count++] = kit_key(PAWL__KEY_IDEMPOTENCY, batch);
}

static void prepare_submit(struct worker *worker, struct task *task)
{
    uint32_t count = dice(worker, 4) ? 1 : 2 + (uint32_t)dice(worker, BATCH_MAX - 1);
    task->record.deed = DEED_SUBMIT;
    task->record.count = count;
    task->record.batch = batch_number((struct batch_of){ .round = worker->config->round,
                                                         .child = worker->config->child,
                                                         .thread = worker->thread,
                                                         .number = worker->batches++ });
    for (uint32_t i = 0; i < count; i++) {
        prepare_spec(worker, task, i, count);
    }
    task->op.kind = PAWL__OP_SUBMIT;
    task->op.submit.jobs = task->jobs;
    task->op.submit.count = count;
    task->op.submit.out = task->submitted;
    worker->jobs += count;
}

static void prepare_claim(struct worker *worker, struct task *task)
{
    size_t first = dice(worker, KIT_COUNT(queues));
    task->record.deed = DEED_CLAIM;
    task->op.kind = PAWL__OP_CLAIM;
    task->op.claim.queues = &queues[first];
    task->op.claim.queue_count = KIT_COUNT(queues) - first;
    task->op.claim.types = types;
    task->op.claim.type_count = dice(worker, 3); // none means every type
    task->op.claim.limit = 1 + (int64_t)dice(worker, CLAIM_MAX);
    task->op.claim.worker = "child";
    task->op.claim.lease_ms = CHILD_LEASE_MS;
}

static void prepare_end(struct worker *worker, struct task *task)
{
    static const enum deed ends[] = { DEED_COMPLETE,  DEED_COMPLETE, DEED_COMPLETE,
                                      DEED_COMPLETE,  DEED_FAIL,     DEED_SNOOZE,
                                      DEED_GIVE_BACK, DEED_GIVE_UP,  DEED_DISCARD };
    size_t at = dice(worker, worker->held_count);
    struct pawl_run ref = { worker->held[at].id, worker->held[at].run };
    worker->held[at] = worker->held[--worker->held_count];
    enum deed deed = ends[dice(worker, KIT_COUNT(ends))];
    task->record.deed = (uint8_t)deed;
    task->record.id = ref.id;
    task->record.run = ref.run;
    if (deed == DEED_COMPLETE) {
        int len = snprintf(task->result, sizeof task->result, "{\"run\":%" PRId64 "}", ref.run);
        task->op.kind = PAWL__OP_COMPLETE;
        task->op.complete.ref = ref;
        task->op.complete.result = (struct pawl_span){ task->result, (size_t)len };
    } else if (deed == DEED_FAIL || deed == DEED_GIVE_UP) {
        task->op.kind = PAWL__OP_FAIL;
        task->op.fail.ref = ref;
        task->op.fail.report = (struct pawl_report){ .type = "trial.error",
                                                     .message = "did not work",
                                                     .not_retryable = deed == DEED_GIVE_UP };
    } else if (deed == DEED_DISCARD) {
        task->op.kind = PAWL__OP_CONTROL;
        task->op.control.id = ref.id;
        task->op.control.run = ref.run;
        task->op.control.control = PAWL_CONTROL_DISCARD;
    } else {
        task->op.kind = PAWL__OP_SNOOZE;
        task->op.snooze.ref = ref;
        task->op.snooze.delay_ms = deed == DEED_SNOOZE ? 1 + (int64_t)dice(worker, 10) : 0;
    }
}

static void prepare_cancel(struct worker *worker, struct task *task)
{
    task->record.deed = DEED_CANCEL;
    task->record.id = worker->recent[dice(worker, worker->recent_count)];
    task->op.kind = PAWL__OP_CONTROL;
    task->op.control.id = task->record.id;
    task->op.control.control = PAWL_CONTROL_CANCEL;
    task->op.control.by = (struct pawl_by){ "child", "on a whim" };
}

static void prepare_checkpoint(struct worker *worker, struct task *task)
{
    const struct held *held = &worker->held[dice(worker, worker->held_count)];
    task->record.deed = DEED_CHECKPOINT;
    task->record.id = held->id;
    task->record.run = held->run;
    task->op.kind = PAWL__OP_CHECKPOINT;
    task->op.checkpoint.ref = (struct pawl_run){ held->id, held->run };
    task->op.checkpoint.state = (struct pawl_span){ "so far", 6 };
}

static void prepare_extend(struct worker *worker, struct task *task)
{
    task->record.deed = DEED_SWEEP;
    for (size_t i = 0; i < worker->held_count; i++) {
        task->refs[i] = (struct pawl_run){ worker->held[i].id, worker->held[i].run };
    }
    task->op.kind = PAWL__OP_EXTEND;
    task->op.extend.refs = task->refs;
    task->op.extend.count = worker->held_count;
    task->op.extend.lease_ms = CHILD_LEASE_MS;
    task->op.extend.results = task->results;
}

static void prepare_sweep(struct worker *worker, struct task *task)
{
    static const enum pawl__op_kind kinds[] = { PAWL__OP_PROMOTE, PAWL__OP_PROMOTE, PAWL__OP_LAPSE,
                                                PAWL__OP_EXPIRE, PAWL__OP_ARCHIVE };
    task->record.deed = DEED_SWEEP;
    task->op.kind = kinds[dice(worker, KIT_COUNT(kinds))];
    if (task->op.kind != PAWL__OP_ARCHIVE) {
        task->op.sweep.limit = 100;
        return;
    }
    task->op.retire.states = PAWL_STATE_BIT(PAWL_STATE_COMPLETED) |
                             PAWL_STATE_BIT(PAWL_STATE_CANCELLED);
    task->op.retire.age_ms = 0;
    task->op.retire.limit = 10;
}

static void prepare(struct worker *worker, struct task *task)
{
    memset(&task->op, 0, sizeof task->op);
    memset(&task->record, 0, sizeof task->record);
    task->worker = worker;
    task->op.diag = &task->diag;
    uint64_t choice = dice(worker, 100);
    bool holds = worker->held_count > 0;
    if (choice < 25 && worker->jobs < worker->config->jobs_max / THREADS) {
        prepare_submit(worker, task);
    } else if (choice < 65 && holds) {
        prepare_end(worker, task);
    } else if (choice < 70 && worker->recent_count) {
        prepare_cancel(worker, task);
    } else if (choice < 74 && holds) {
        prepare_checkpoint(worker, task);
    } else if (choice < 76 && holds) {
        prepare_extend(worker, task);
    } else if (choice < 82) {
        prepare_sweep(worker, task);
    } else {
        prepare_claim(worker, task);
    }
    // a claim's jobs are known with its answer; a sweep is judged by what it leaves behind
    if (task->record.deed == DEED_CLAIM || task->record.deed == DEED_SWEEP) return;
    struct record intent = task->record;
    intent.phase = PHASE_INTENT;
    write_record(worker, &intent);
}

/* ---- what came of it ---- */

static enum pawl_state state_reached(const struct task *task)
{
    switch (task->op.kind) {
    case PAWL__OP_COMPLETE:
        return PAWL_STATE_COMPLETED;
    case PAWL__OP_FAIL:
        return task->op.fail.to;
    case PAWL__OP_SNOOZE:
        return task->op.snooze.delay_ms ? PAWL_STATE_SCHEDULED : PAWL_STATE_AVAILABLE;
    case PAWL__OP_CONTROL:
        return task->op.control.to;
    default:
        return PAWL_STATE_NONE;
    }
}

static void note_claimed(struct worker *worker, struct task *task)
{
    for (size_t i = 0; i < task->op.claim.job_count; i++) {
        const struct pawl_job *job = &task->op.claim.jobs[i];
        task->record.id = job->id;
        task->record.run = job->run;
        write_record(worker, &task->record);
        worker->gained[worker->gained_count++] = (struct held){ job->id, job->run };
    }
}

/* On the committer's thread for posted tasks, else on the worker's own. */
static void note_answer(struct task *task)
{
    struct worker *worker = task->worker;
    struct record *record = &task->record;
    record->phase = PHASE_ANSWER;
    record->err = (uint8_t)task->op.err;
    record->to = (uint8_t)state_reached(task);
    if (task->op.kind == PAWL__OP_CHECKPOINT) record->sequence = task->op.checkpoint.sequence;
    if (task->op.err) snprintf(record->text, sizeof record->text, "%.79s", task->diag.text);
    if (task->op.kind == PAWL__OP_CLAIM && !task->op.err)
        note_claimed(worker, task);
    else
        write_record(worker, record);
    pawl__arena_release(&task->op.arena);
}

static void on_done(struct pawl__op *op)
{
    struct task *task = op->user;
    struct worker *worker = task->worker;
    note_answer(task);
    sem_post(&worker->answered);
}

/* ---- threads ---- */

static void remember(struct worker *worker, const struct task *task)
{
    if (task->record.deed != DEED_SUBMIT || task->op.err) return;
    size_t at = worker->recent_count < RECENT ? worker->recent_count++ : dice(worker, RECENT);
    worker->recent[at] = batch_job(task->record.batch, task->record.count - 1);
}

/* What was claimed beyond what one can hold stays active until its lease lapses. */
static void take_gains(struct worker *worker)
{
    for (size_t i = 0; i < worker->gained_count && worker->held_count < HELD; i++) {
        worker->held[worker->held_count++] = worker->gained[i];
    }
    worker->gained_count = 0;
}

static void turn_waiting(struct worker *worker)
{
    struct task *task = &worker->tasks[0];
    prepare(worker, task);
    enum pawl_err err = pawl__store_do(worker->store, &task->op);
    assert(err == task->op.err);
    note_answer(task);
    remember(worker, task);
}

static void turn_posting(struct worker *worker)
{
    size_t count = 1 + dice(worker, TASKS);
    for (size_t i = 0; i < count; i++) {
        prepare(worker, &worker->tasks[i]);
        worker->tasks[i].op.done = on_done;
        worker->tasks[i].op.user = &worker->tasks[i];
    }
    if (dice(worker, 2)) {
        for (size_t i = 0; i + 1 < count; i++) {
            worker->tasks[i].op.next = &worker->tasks[i + 1].op;
        }
        pawl__store_post_list(worker->store, &worker->tasks[0].op);
    } else {
        for (size_t i = 0; i < count; i++) {
            pawl__store_post(worker->store, &worker->tasks[i].op);
        }
    }
    for (size_t i = 0; i < count; i++) {
        sem_wait(&worker->answered);
    }
    for (size_t i = 0; i < count; i++) {
        remember(worker, &worker->tasks[i]);
    }
}

static void *work(void *arg)
{
    struct worker *worker = arg;
    for (;;) {
        if (worker->thread < POSTING)
            turn_posting(worker);
        else
            turn_waiting(worker);
        take_gains(worker);
    }
    return NULL;
}

static void start(struct worker *worker)
{
    pthread_t thread;
    sem_init(&worker->answered, 0, 0);
    if (pthread_create(&thread, NULL, work, worker)) abort();
    if (worker->thread == THREADS - 1) pthread_join(thread, NULL); // never ends
}

int child_run(const struct child_config *config)
{
    struct kit_clock clock;
    kit_clock_init(&clock, config->wall_ms, true);
    struct kit_retry retry;
    kit_retry_init(&retry, 50, 1);
    struct pawl__store *store = NULL;
    struct pawl_diag diag = { 0 };
    struct pawl_config opening = kit_config(config->url, &clock.clock);
    opening.seed = config->seed;
    enum pawl_err err = pawl__store_open(&opening, &store, &diag);
    if (err) {
        fprintf(stderr, "crash: child could not open: %s: %s\n", pawl_err_name(err), diag.text);
        return 4;
    }
    struct worker *workers = calloc(THREADS, sizeof *workers);
    if (!workers) return 4;
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i].config = config;
        workers[i].store = store;
        workers[i].retry = &retry;
        workers[i].clock = &clock.clock;
        workers[i].thread = i;
        pawl__rng_seed(&workers[i].rng, config->seed * THREADS + i);
        start(&workers[i]);
    }
    return 0;
}
