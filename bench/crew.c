/* Threads that post operations and keep a window of them in progress, as a busy server would. The
 * crew must cost little compared with the store, so nothing is allocated per operation and a member
 * is woken once for many answers:
 *
 * 1. A slot belongs to its member, except between post and done, when it belongs to the store.
 * 2. done() pushes the slot on the owner's stack `returned`; the owner takes the whole stack at
 *    once.
 * 3. A member sleeps only after it has stored in `wake_at` how few operations must be outstanding;
 *    the done() that reaches that number resets wake_at (-1) and posts the semaphore, exactly once
 *    per sleep. A delayed done() from an earlier sleep can only wake a member too early, which is
 *    harmless.
 *
 * With `lifecycle` each member claims as many jobs as it has submitted, 32 at a time, and completes
 * those it got. Members may claim each other's jobs, but the sums agree, so that a claim always
 * finds as many as it requests; if one does not, a job was lost, and the program ends. */
#include "bench.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

enum { THREADS_MAX = 64, WINDOW = 64, CLAIM_JOBS = 32, CLAIMS_MAX = 2, LEASE_MS = 60000 };

static const char *const the_queue = "default";
static const char the_result[] = "{\"sent\":true}";

struct member;

struct slot {
    struct pawl__op op;
    struct slot *next; /* on one of the stacks */
    struct member *owner;
    struct pawl_submitted submitted;
    struct pawl__bench_job job;
};

struct member {
    struct pawl__crew *crew;
    pthread_t thread;
    struct slot *idle; /* for submits and completes */
    struct slot *idle_claims;
    struct pawl_run claimed[CLAIMS_MAX * CLAIM_JOBS]; /* still to be completed, in order */
    int claimed_count;
    int completed_count; /* of these */
    int64_t credit;      /* submitted, but not yet requested by a claim */
    int64_t quota;       /* jobs it may still submit */
    int64_t finished;
    uint64_t payload;
    char worker[8];
    struct slot slots[WINDOW];
    struct slot claims[CLAIMS_MAX];
    sem_t wake;
    /* shared with the committer, on a cache line of its own: */
    _Alignas(64) _Atomic(struct slot *) returned;
    _Atomic int outstanding;
    _Atomic int wake_at;
};

struct pawl__crew {
    struct pawl__bench *bench;
    struct pawl__crew_options options;
    int64_t until_us;
    struct member *members;
    clockid_t committer; /* its CPU clock, noted by the first done() */
    _Atomic bool committer_known;
};

static void note_committer(struct pawl__crew *crew)
{
    if (pthread_getcpuclockid(pthread_self(), &crew->committer)) {
        pawl__bench_die("could not find the committer's clock");
    }
    atomic_store(&crew->committer_known, true);
}

static int64_t committer_us(const struct pawl__crew *crew)
{
    return atomic_load(&crew->committer_known) ? pawl__bench_clock_us(crew->committer) : 0;
}

static void done(struct pawl__op *op)
{
    struct slot *slot = op->user;
    struct member *member = slot->owner;
    if (!atomic_load_explicit(&member->crew->committer_known, memory_order_relaxed)) {
        note_committer(member->crew);
    }
    slot->next = atomic_load_explicit(&member->returned, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(&member->returned, &slot->next, slot)) {
    }
    const int left = atomic_fetch_sub(&member->outstanding, 1) - 1;
    if (left == atomic_load(&member->wake_at) && atomic_exchange(&member->wake_at, -1) != -1) {
        sem_post(&member->wake);
    }
}

static void sleep_until(struct member *member, int target)
{
    atomic_store(&member->wake_at, target);
    if (atomic_load(&member->outstanding) <= target &&
        atomic_exchange(&member->wake_at, -1) != -1) {
        return; // done before the other thread could have seen the request
    }
    while (sem_wait(&member->wake) && errno == EINTR) {
    }
}

static void post(struct member *member, struct slot *slot)
{
    atomic_fetch_add(&member->outstanding, 1);
    pawl__store_post(member->crew->options.store, &slot->op);
}

static struct slot *pop(struct slot **stack)
{
    struct slot *slot = *stack;
    if (slot) *stack = slot->next;
    return slot;
}

static void push(struct slot **stack, struct slot *slot)
{
    slot->next = *stack;
    *stack = slot;
}

static void post_submit(struct member *member)
{
    struct slot *slot = pop(&member->idle);
    slot->job.job.id = pawl__idgen_next(&member->crew->bench->ids);
    slot->job.job.fresh_id = true; // as the API says of an id that it makes up
    pawl__payload(++member->payload, slot->job.args);
    slot->op.kind = PAWL__OP_SUBMIT;
    slot->op.submit.jobs = &slot->job.job;
    slot->op.submit.count = 1;
    slot->op.submit.out = &slot->submitted;
    member->quota--;
    post(member, slot);
}

static void post_complete(struct member *member)
{
    struct slot *slot = pop(&member->idle);
    slot->op.kind = PAWL__OP_COMPLETE;
    slot->op.complete.ref = member->claimed[member->completed_count++];
    slot->op.complete.result = (struct pawl_span){ the_result, sizeof the_result - 1 };
    if (member->completed_count == member->claimed_count) {
        member->completed_count = member->claimed_count = 0;
    }
    post(member, slot);
}

static void post_claim(struct member *member)
{
    struct slot *slot = pop(&member->idle_claims);
    const int64_t limit = member->credit < CLAIM_JOBS ? member->credit : CLAIM_JOBS;
    slot->op.kind = PAWL__OP_CLAIM;
    slot->op.claim.queues = &the_queue;
    slot->op.claim.queue_count = 1;
    slot->op.claim.types = NULL;
    slot->op.claim.type_count = 0;
    slot->op.claim.limit = limit;
    slot->op.claim.worker = member->worker;
    slot->op.claim.lease_ms = LEASE_MS;
    slot->op.claim.jobs = NULL;
    slot->op.claim.job_count = 0;
    member->credit -= limit;
    post(member, slot);
}

static void take_claimed(struct member *member, struct slot *slot)
{
    const struct pawl__op *op = &slot->op;
    if ((int64_t)op->claim.job_count != op->claim.limit) {
        pawl__bench_die("a claim of %lld jobs got %zu", (long long)op->claim.limit,
                        op->claim.job_count);
    }
    assert(member->claimed_count + (int)op->claim.job_count <= CLAIMS_MAX * CLAIM_JOBS);
    for (size_t i = 0; i < op->claim.job_count; i++) {
        const struct pawl_job *job = &op->claim.jobs[i];
        member->claimed[member->claimed_count++] =
            (struct pawl_run){ .id = job->id, .run = job->run };
    }
    push(&member->idle_claims, slot);
}

static void take_returned(struct member *member)
{
    struct slot *slot = atomic_exchange(&member->returned, NULL);
    while (slot) {
        struct slot *next = slot->next;
        pawl__bench_check(&slot->op);
        if (slot->op.kind == PAWL__OP_CLAIM) {
            take_claimed(member, slot);
        } else {
            if (slot->op.kind == PAWL__OP_SUBMIT && member->crew->options.lifecycle) {
                member->credit++;
            } else {
                member->finished++;
            }
            push(&member->idle, slot);
        }
        pawl__arena_reset(&slot->op.arena);
        slot = next;
    }
}

/* Only full claims are worth a statement; the last ones may be smaller. */
static bool may_claim(const struct member *member)
{
    return member->idle_claims && member->claimed_count == 0 &&
           member->credit >= (member->quota > 0 ? CLAIM_JOBS : 1);
}

static void post_some(struct member *member)
{
    while (member->claimed_count > 0 && member->idle) {
        post_complete(member);
    }
    if (may_claim(member)) post_claim(member);
    while (member->idle && member->quota > 0 && member->credit < 2 * CLAIM_JOBS) {
        post_submit(member);
    }
}

/* Leaves one CPU to the store, as if the clients were on another machine. */
static void keep_off_one_cpu(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) || CPU_COUNT(&set) < 2) return;
    int first = 0;
    while (!CPU_ISSET(first, &set)) {
        first++;
    }
    CPU_CLR(first, &set);
    if (sched_setaffinity(0, sizeof set, &set)) pawl__bench_die("could not choose CPUs: %m");
}

static void *work(void *arg)
{
    struct member *member = arg;
    if (member->crew->options.confined) keep_off_one_cpu();
    for (;;) {
        if (pawl__bench_now_us() >= member->crew->until_us) member->quota = 0;
        take_returned(member);
        post_some(member);
        const int outstanding = atomic_load(&member->outstanding);
        if (outstanding > 0) {
            sleep_until(member, outstanding > WINDOW / 2 ? WINDOW / 2 : outstanding / 2);
        } else if (!atomic_load(&member->returned)) {
            break;
        }
    }
    assert(member->quota <= 0 && member->credit == 0 && member->claimed_count == 0);
    return NULL;
}

static void slot_init(struct member *member, struct slot *slot, struct slot **stack)
{
    slot->owner = member;
    slot->op.done = done;
    slot->op.user = slot;
    pawl__arena_init(&slot->op.arena);
    pawl__bench_job_init(&slot->job);
    push(stack, slot);
}

static void member_init(struct pawl__crew *crew, int i)
{
    struct member *member = &crew->members[i];
    member->crew = crew;
    member->payload = (uint64_t)i << 40;
    snprintf(member->worker, sizeof member->worker, "w%d", i);
    for (int k = 0; k < WINDOW; k++) {
        slot_init(member, &member->slots[k], &member->idle);
    }
    for (int k = 0; k < CLAIMS_MAX; k++) {
        slot_init(member, &member->claims[k], &member->idle_claims);
    }
    atomic_init(&member->wake_at, -1);
    if (sem_init(&member->wake, 0, 0)) pawl__bench_die("could not make a semaphore: %m");
}

struct pawl__crew *pawl__crew_new(struct pawl__bench *bench)
{
    struct pawl__crew *crew = pawl__bench_calloc(1, sizeof *crew);
    crew->bench = bench;
    crew->members = aligned_alloc(64, sizeof *crew->members * THREADS_MAX);
    if (!crew->members) pawl__bench_die("out of memory");
    memset(crew->members, 0, sizeof *crew->members * THREADS_MAX);
    for (int i = 0; i < THREADS_MAX; i++) {
        member_init(crew, i);
    }
    return crew;
}

void pawl__crew_free(struct pawl__crew *crew)
{
    for (int i = 0; i < THREADS_MAX; i++) {
        struct member *member = &crew->members[i];
        for (int k = 0; k < CLAIMS_MAX; k++) {
            pawl__arena_release(&member->claims[k].op.arena);
        }
        for (int k = 0; k < WINDOW; k++) {
            pawl__arena_release(&member->slots[k].op.arena);
        }
        sem_destroy(&member->wake);
    }
    free(crew->members);
    free(crew);
}

static void start(struct pawl__crew *crew, int threads)
{
    const int64_t jobs = crew->options.jobs_max;
    for (int i = 0; i < threads; i++) {
        struct member *member = &crew->members[i];
        member->finished = 0;
        member->quota = jobs > 0 ? jobs / threads + (i < jobs % threads) : INT64_MAX;
        if (pthread_create(&member->thread, NULL, work, member)) {
            pawl__bench_die("could not start a thread");
        }
    }
}

struct pawl__crew_result pawl__crew_run(struct pawl__crew *crew,
                                        const struct pawl__crew_options *options)
{
    const int threads = options->threads > 0 ? options->threads : crew->bench->threads;
    assert(threads <= THREADS_MAX && (options->for_us > 0) != (options->jobs_max > 0));
    const int64_t start_us = pawl__bench_now_us();
    struct pawl__crew_result result = { .committer_us = -committer_us(crew) };
    crew->options = *options;
    crew->until_us = options->for_us > 0 ? start_us + options->for_us : INT64_MAX;
    start(crew, threads);
    for (int i = 0; i < threads; i++) {
        pthread_join(crew->members[i].thread, NULL);
        result.jobs += crew->members[i].finished;
    }
    result.us = pawl__bench_now_us() - start_us;
    result.committer_us += committer_us(crew);
    result.per_s = (double)result.jobs * 1e6 / (double)(result.us > 0 ? result.us : 1);
    return result;
}
