/* Operations beside the plain lifecycle: failures, snoozes, cancels, submits with a key, and a mix
 * of them. Operations are posted one by one without waiting, so that commits are shared; each is on
 * a different job. There is no floor: rates and CPU are compared between versions of pawl. */
#include "bench.h"

#include <assert.h>
#include <stdatomic.h>

enum { JOBS_MAX = 20000, JOBS_QUICK = 500, CALL_JOBS = 1000, SESSIONS_MAX = 8, ROUNDS_MAX = 16 };

#define LEASE_MS INT64_C(3600000)

static const char *const queue_active = "default";
static const char *const queue_waiting = "still";

/* An operation with all that it points to. */
struct act {
    struct pawl__op op;
    struct pawl_run ref;
    struct pawl__bench_job job;
    struct pawl_submitted submitted;
};

/* A thread that commits. */
struct session {
    clockid_t clock; /* its CPU time */
    int64_t from_us; /* when it first answered here */
};

struct moves {
    struct pawl__bench *bench;
    struct pawl__store *store;
    pawl__server_us_fn *server_us;
    struct act *acts;
    int count;
    uint64_t payload;
    _Atomic int left;
    struct pawl__mutex mutex;
    struct pawl__cond cond;
    /* guarded by mutex: */
    bool over;
    struct session sessions[SESSIONS_MAX];
    int session_count;
};

/* ---- the store's answers ---- */

static void note_session(struct moves *moves)
{
    static _Thread_local const struct moves *known;
    if (known == moves) return;
    known = moves;
    struct session session;
    if (pthread_getcpuclockid(pthread_self(), &session.clock)) {
        pawl__bench_die("could not find the committer's clock");
    }
    session.from_us = pawl__bench_clock_us(session.clock);
    pawl__lock(&moves->mutex);
    assert(moves->session_count < SESSIONS_MAX);
    moves->sessions[moves->session_count++] = session;
    pawl__unlock(&moves->mutex);
}

static void done(struct pawl__op *op)
{
    struct moves *moves = op->user;
    note_session(moves);
    if (atomic_fetch_sub(&moves->left, 1) > 1) return;
    pawl__lock(&moves->mutex);
    moves->over = true;
    pawl__cond_signal(&moves->cond);
    pawl__unlock(&moves->mutex);
}

static double sessions_us(struct moves *moves)
{
    double us = 0;
    pawl__lock(&moves->mutex);
    for (int i = 0; i < moves->session_count; i++) {
        const struct session *session = &moves->sessions[i];
        us += (double)(pawl__bench_clock_us(session->clock) - session->from_us);
    }
    pawl__unlock(&moves->mutex);
    return us;
}

static void do_now(struct moves *moves, struct pawl__op *op)
{
    if (pawl__store_do(moves->store, op)) pawl__bench_check(op);
}

/* ---- the jobs that operations are about ---- */

static void fill(struct moves *moves, struct act *act, const char *queue)
{
    pawl__bench_job_init(&act->job);
    pawl__payload(++moves->payload, act->job.args);
    act->job.spec.queue = queue;
    act->job.job.id = pawl__idgen_next(&moves->bench->ids);
    act->job.job.fresh_id = true;
    act->ref = (struct pawl_run){ .id = act->job.job.id };
}

/* Those from `first` on, a few in a call. */
static void submit_filled(struct moves *moves, int first, int count)
{
    struct pawl__new_job *jobs = pawl__bench_calloc(CALL_JOBS, sizeof *jobs);
    struct pawl_submitted *out = pawl__bench_calloc(CALL_JOBS, sizeof *out);
    for (int at = 0; at < count; at += CALL_JOBS) {
        const int some = count - at < CALL_JOBS ? count - at : CALL_JOBS;
        for (int i = 0; i < some; i++) {
            jobs[i] = moves->acts[first + at + i].job.job;
        }
        struct pawl__op op = { .kind = PAWL__OP_SUBMIT };
        op.submit.jobs = jobs;
        op.submit.count = (size_t)some;
        op.submit.out = out;
        do_now(moves, &op);
        pawl__arena_release(&op.arena);
    }
    free(jobs);
    free(out);
}

static void submit(struct moves *moves, int first, int count, const char *queue)
{
    for (int i = first; i < first + count; i++) {
        fill(moves, &moves->acts[i], queue);
    }
    submit_filled(moves, first, count);
}

static void claim(struct moves *moves, int first, int count)
{
    for (int at = 0; at < count;) {
        struct pawl__op op = { .kind = PAWL__OP_CLAIM };
        op.claim.queues = &queue_active;
        op.claim.queue_count = 1;
        op.claim.limit = count - at < CALL_JOBS ? count - at : CALL_JOBS;
        op.claim.worker = "w";
        op.claim.lease_ms = LEASE_MS;
        do_now(moves, &op);
        if (!op.claim.job_count && !op.claim.more) pawl__bench_die("a claim found nothing");
        for (size_t i = 0; i < op.claim.job_count; i++) {
            const struct pawl_job *job = &op.claim.jobs[i];
            moves->acts[first + at++].ref = (struct pawl_run){ .id = job->id, .run = job->run };
        }
        pawl__arena_release(&op.arena);
    }
}

/* ---- the operations ---- */

static void set_complete(struct act *act)
{
    act->op.kind = PAWL__OP_COMPLETE;
    act->op.complete.ref = act->ref;
}

static void set_fail(struct act *act)
{
    act->op.kind = PAWL__OP_FAIL;
    act->op.fail.ref = act->ref;
    act->op.fail.report = (struct pawl_report){ .type = "timeout", .message = "no answer" };
}

static void set_snooze(struct act *act)
{
    act->op.kind = PAWL__OP_SNOOZE;
    act->op.snooze.ref = act->ref;
    act->op.snooze.delay_ms = LEASE_MS;
}

static void set_cancel(struct act *act)
{
    act->op.kind = PAWL__OP_CONTROL;
    act->op.control.id = act->ref.id;
    act->op.control.control = PAWL_CONTROL_CANCEL;
}

static void set_keyed(struct act *act)
{
    struct pawl__new_job *job = &act->job.job;
    job->keys[0] = (struct pawl__key){ .kind = PAWL__KEY_UNIQUE,
                                       .states = PAWL_STATE_BIT(PAWL_STATE_AVAILABLE) |
                                                 PAWL_STATE_BIT(PAWL_STATE_ACTIVE),
                                       .on_conflict = PAWL_CONFLICT_REJECT };
    for (size_t i = 0; i < sizeof job->id.b; i++) {
        job->keys[0].digest[i] = job->id.b[sizeof job->id.b - 1 - i]; // keys are not adjacent
    }
    job->key_count = 1;
    job->unique = (struct pawl_span){ "{\"keys\":[\"args\"]}", 17 };
    act->op.kind = PAWL__OP_SUBMIT;
    act->op.submit.jobs = job;
    act->op.submit.count = 1;
    act->op.submit.out = &act->submitted;
}

/* Of ten operations; each kind's jobs are prepared before. */
struct load {
    const char *name, *note;
    int complete, fail, snooze, cancel, keyed;
    bool held; /* another job has the key, and its id is returned */
};

static const struct load loads[] = {
    { .name = "complete", .complete = 10 },
    { .name = "fail", .fail = 10, .note = "to be tried again later" },
    { .name = "snooze", .snooze = 10 },
    { .name = "cancel", .cancel = 10, .note = "of jobs that wait" },
    { .name = "keyed submit", .keyed = 10, .note = "each with a unique key of its own" },
    { .name = "keyed repeat",
      .keyed = 10,
      .held = true,
      .note = "each with a key that a waiting job holds, which is given back" },
    { .name = "mixed moves",
      .complete = 6,
      .fail = 2,
      .snooze = 1,
      .cancel = 1,
      .note = "60 % complete, 20 fail, 10 snooze, 10 cancel" },
};

/* Selects the kind, mixing kinds in the order of posting. */
static void set_up(const struct load *load, struct act *act, int number)
{
    const int nth = number * 7 % 10; // 7 and 10 have no divisor in common
    const int fail = load->complete + load->fail, snooze = fail + load->snooze;
    if (nth < load->complete) {
        set_complete(act);
    } else if (nth < fail) {
        set_fail(act);
    } else if (nth < snooze) {
        set_snooze(act);
    } else if (nth < snooze + load->cancel) {
        set_cancel(act);
    } else {
        set_keyed(act);
    }
}

static bool is_about_active(const struct load *load, int number)
{
    return number * 7 % 10 < load->complete + load->fail + load->snooze;
}

/* Each key is held by a job that was submitted before. */
static void prepare_holders(struct moves *moves)
{
    for (int i = 0; i < moves->count; i++) {
        fill(moves, &moves->acts[i], queue_waiting);
        set_keyed(&moves->acts[i]);
    }
    submit_filled(moves, 0, moves->count);
}

static void repeat(struct moves *moves, struct act *act)
{
    act->job.job.keys[0].on_conflict = PAWL_CONFLICT_IGNORE;
    act->job.job.id = pawl__idgen_next(&moves->bench->ids);
}

/* Claimed jobs first, then those that wait; acts are put in order by set_up's rule. */
static void prepare(struct moves *moves, const struct load *load)
{
    const int active = moves->count * (load->complete + load->fail + load->snooze) / 10;
    const int waiting = moves->count - active;
    submit(moves, 0, active, queue_active);
    claim(moves, 0, active);
    if (load->held) {
        prepare_holders(moves);
    } else if (load->keyed) {
        for (int i = active; i < moves->count; i++) {
            fill(moves, &moves->acts[i], queue_waiting);
        }
    } else {
        submit(moves, active, waiting, queue_waiting);
    }
    struct pawl_run *refs = pawl__bench_calloc((size_t)moves->count, sizeof *refs);
    int next_active = 0, next_waiting = active;
    for (int i = 0; i < moves->count; i++) {
        refs[i] = moves->acts[is_about_active(load, i) ? next_active++ : next_waiting++].ref;
    }
    assert(next_active == active && next_waiting == moves->count);
    for (int i = 0; i < moves->count; i++) {
        struct act *act = &moves->acts[i];
        act->op = (struct pawl__op){ .done = done, .user = moves };
        act->ref = refs[i];
        set_up(load, act, i);
        if (load->held) repeat(moves, act);
    }
    free(refs);
}

/* ---- measuring ---- */

struct figures {
    double per_s, committer_us, server_us; /* the CPU of each operation */
};

static struct figures run(struct moves *moves)
{
    struct figures figures = { .committer_us = -sessions_us(moves),
                               .server_us = moves->server_us ? -moves->server_us() : 0 };
    const int64_t start_us = pawl__bench_now_us();
    atomic_store(&moves->left, moves->count);
    moves->over = false;
    for (int i = 0; i < moves->count; i++) {
        pawl__store_post(moves->store, &moves->acts[i].op);
    }
    pawl__lock(&moves->mutex);
    while (!moves->over) {
        pawl__cond_wait(&moves->cond, &moves->mutex);
    }
    pawl__unlock(&moves->mutex);
    figures.per_s = moves->count * 1e6 / (double)(pawl__bench_now_us() - start_us);
    figures.committer_us = (figures.committer_us + sessions_us(moves)) / moves->count;
    if (moves->server_us) {
        figures.server_us = (figures.server_us + moves->server_us()) / moves->count;
    }
    for (int i = 0; i < moves->count; i++) {
        pawl__bench_check(&moves->acts[i].op);
        pawl__arena_release(&moves->acts[i].op.arena);
    }
    return figures;
}

static void report(const struct load *load, const char *what, const char *unit, double value)
{
    struct pawl__row row = { .unit = unit, .value = value };
    if (value <= 0) return; // too little to be reported
    snprintf(row.name, sizeof row.name, "%s, %s", load->name, what);
    if (load->note) snprintf(row.note, sizeof row.note, "%s", load->note);
    pawl__report_add(&row);
}

static void measure(struct moves *moves, const struct load *load)
{
    const int rounds = moves->bench->pairs < ROUNDS_MAX ? moves->bench->pairs : ROUNDS_MAX;
    double per_s[ROUNDS_MAX], committer_us[ROUNDS_MAX], server_us[ROUNDS_MAX];
    for (int i = -1; i < rounds; i++) { // the first one includes one-time work
        prepare(moves, load);
        const struct figures figures = run(moves);
        if (i < 0) continue;
        per_s[i] = figures.per_s;
        committer_us[i] = figures.committer_us;
        server_us[i] = figures.server_us;
    }
    report(load, "posted", "ops/s", pawl__median(per_s, rounds));
    report(load, "CPU of the committer", "us/op", pawl__median(committer_us, rounds));
    report(load, "CPU of the server", "us/op", pawl__median(server_us, rounds));
}

void pawl__moves_run(struct pawl__bench *bench, pawl__server_us_fn *server_us)
{
    struct moves moves = { .bench = bench,
                           .server_us = server_us,
                           .store = pawl__bench_open(bench, "moves.db"),
                           .count = bench->quick ? JOBS_QUICK : JOBS_MAX };
    moves.acts = pawl__bench_calloc((size_t)moves.count, sizeof *moves.acts);
    pawl__mutex_init(&moves.mutex);
    pawl__cond_init(&moves.cond);
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        measure(&moves, &loads[i]);
    }
    pawl__store_close(moves.store);
    pawl__cond_release(&moves.cond);
    pawl__mutex_release(&moves.mutex);
    free(moves.acts);
}
