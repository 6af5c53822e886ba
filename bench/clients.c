/* Threads that post operations and keep a window of them in progress, as a busy server would. The
 * clients must cost little compared with the store, so nothing is allocated per operation and a
 * client is woken once for many answers:
 *
 * 1. A slot belongs to its client, except between post and done, when it belongs to the store.
 * 2. done() pushes the slot on the owner's stack `returned`; the owner takes the whole stack at
 *    once.
 * 3. A client sleeps only after it has stored in `wake_at` how few operations must be outstanding;
 *    the done() that reaches that number resets wake_at (-1) and posts the semaphore, exactly once
 *    per sleep. A delayed done() from an earlier sleep can only wake a client too early, which is
 *    harmless.
 *
 * With `lifecycle` each client claims as many jobs as it has submitted, 32 at a time, and completes
 * those it got. Clients may claim each other's jobs, but the sums agree, so that a claim always
 * finds as many as it requests; if one does not, a job was lost, and the program ends. */
#include "bench.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

enum { THREADS_MAX = 64, WINDOW = 64, CLAIM_JOBS = 32, CLAIMS_MAX = 2, LEASE_MS = 60000 };

static const char *const the_queue = "default";
static const char the_result[] = "{\"sent\":true}";

struct client;

struct slot {
    struct pawl__op op;
    struct slot *next; /* on one of the stacks */
    struct client *owner;
    struct pawl_submitted submitted;
    struct pawl__bench_job job;
};

struct client {
    struct pawl__clients *clients;
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

struct pawl__clients {
    struct pawl__bench *bench;
    struct pawl__clients_options options;
    int64_t until_us;
    struct client *list;
    clockid_t committer; /* its CPU clock, noted by the first done() */
    _Atomic bool committer_known;
};

static void note_committer(struct pawl__clients *clients)
{
    if (pthread_getcpuclockid(pthread_self(), &clients->committer)) {
        pawl__bench_die("could not find the committer's clock");
    }
    atomic_store(&clients->committer_known, true);
}

static int64_t committer_us(const struct pawl__clients *clients)
{
    return atomic_load(&clients->committer_known) ? pawl__bench_clock_us(clients->committer) : 0;
}

static void done(struct pawl__op *op)
{
    struct slot *slot = op->user;
    struct client *client = slot->owner;
    if (!atomic_load_explicit(&client->clients->committer_known, memory_order_relaxed)) {
        note_committer(client->clients);
    }
    slot->next = atomic_load_explicit(&client->returned, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(&client->returned, &slot->next, slot)) {
    }
    const int left = atomic_fetch_sub(&client->outstanding, 1) - 1;
    if (left == atomic_load(&client->wake_at) && atomic_exchange(&client->wake_at, -1) != -1) {
        sem_post(&client->wake);
    }
}

static void sleep_until(struct client *client, int target)
{
    atomic_store(&client->wake_at, target);
    if (atomic_load(&client->outstanding) <= target &&
        atomic_exchange(&client->wake_at, -1) != -1) {
        return; // done before the other thread could have seen the request
    }
    while (sem_wait(&client->wake) && errno == EINTR) {
    }
}

static void post(struct client *client, struct slot *slot)
{
    atomic_fetch_add(&client->outstanding, 1);
    pawl__store_post(client->clients->options.store, &slot->op);
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

static void post_submit(struct client *client)
{
    struct slot *slot = pop(&client->idle);
    slot->job.job.id = pawl__idgen_next(&client->clients->bench->ids);
    slot->job.job.fresh_id = true; // as the API says of an id that it makes up
    pawl__payload(++client->payload, slot->job.args);
    slot->op.kind = PAWL__OP_SUBMIT;
    memset(&slot->op.submit, 0, sizeof slot->op.submit); // a completion was there before
    slot->op.submit.jobs = &slot->job.job;
    slot->op.submit.count = 1;
    slot->op.submit.out = &slot->submitted;
    client->quota--;
    post(client, slot);
}

static void post_complete(struct client *client)
{
    struct slot *slot = pop(&client->idle);
    slot->op.kind = PAWL__OP_COMPLETE;
    slot->op.complete.ref = client->claimed[client->completed_count++];
    slot->op.complete.result = (struct pawl_span){ the_result, sizeof the_result - 1 };
    if (client->completed_count == client->claimed_count) {
        client->completed_count = client->claimed_count = 0;
    }
    post(client, slot);
}

static void post_claim(struct client *client)
{
    struct slot *slot = pop(&client->idle_claims);
    const int64_t limit = client->credit < CLAIM_JOBS ? client->credit : CLAIM_JOBS;
    slot->op.kind = PAWL__OP_CLAIM;
    slot->op.claim.queues = &the_queue;
    slot->op.claim.queue_count = 1;
    slot->op.claim.types = NULL;
    slot->op.claim.type_count = 0;
    slot->op.claim.limit = limit;
    slot->op.claim.worker = client->worker;
    slot->op.claim.lease_ms = LEASE_MS;
    slot->op.claim.jobs = NULL;
    slot->op.claim.job_count = 0;
    client->credit -= limit;
    post(client, slot);
}

static void take_claimed(struct client *client, struct slot *slot)
{
    const struct pawl__op *op = &slot->op;
    if ((int64_t)op->claim.job_count != op->claim.limit) {
        pawl__bench_die("a claim of %lld jobs got %zu", (long long)op->claim.limit,
                        op->claim.job_count);
    }
    assert(client->claimed_count + (int)op->claim.job_count <= CLAIMS_MAX * CLAIM_JOBS);
    for (size_t i = 0; i < op->claim.job_count; i++) {
        const struct pawl_job *job = &op->claim.jobs[i];
        client->claimed[client->claimed_count++] =
            (struct pawl_run){ .id = job->id, .run = job->run };
    }
    push(&client->idle_claims, slot);
}

static void take_returned(struct client *client)
{
    struct slot *slot = atomic_exchange(&client->returned, NULL);
    while (slot) {
        struct slot *next = slot->next;
        pawl__bench_check(&slot->op);
        if (slot->op.kind == PAWL__OP_CLAIM) {
            take_claimed(client, slot);
        } else {
            if (slot->op.kind == PAWL__OP_SUBMIT && client->clients->options.lifecycle) {
                client->credit++;
            } else {
                client->finished++;
            }
            push(&client->idle, slot);
        }
        pawl__arena_reset(&slot->op.arena);
        slot = next;
    }
}

/* Only full claims are worth a statement; the last ones may be smaller. */
static bool may_claim(const struct client *client)
{
    return client->idle_claims && client->claimed_count == 0 &&
           client->credit >= (client->quota > 0 ? CLAIM_JOBS : 1);
}

static void post_some(struct client *client)
{
    while (client->claimed_count > 0 && client->idle) {
        post_complete(client);
    }
    if (may_claim(client)) post_claim(client);
    while (client->idle && client->quota > 0 && client->credit < 2 * CLAIM_JOBS) {
        post_submit(client);
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
    struct client *client = arg;
    if (client->clients->options.confined) keep_off_one_cpu();
    for (;;) {
        if (pawl__bench_now_us() >= client->clients->until_us) client->quota = 0;
        take_returned(client);
        post_some(client);
        const int outstanding = atomic_load(&client->outstanding);
        if (outstanding > 0) {
            sleep_until(client, outstanding > WINDOW / 2 ? WINDOW / 2 : outstanding / 2);
        } else if (!atomic_load(&client->returned)) {
            break;
        }
    }
    assert(client->quota <= 0 && client->credit == 0 && client->claimed_count == 0);
    return NULL;
}

static void slot_init(struct client *client, struct slot *slot, struct slot **stack)
{
    slot->owner = client;
    slot->op.done = done;
    slot->op.user = slot;
    pawl__arena_init(&slot->op.arena);
    pawl__bench_job_init(&slot->job);
    push(stack, slot);
}

static void client_init(struct pawl__clients *clients, int i)
{
    struct client *client = &clients->list[i];
    client->clients = clients;
    client->payload = (uint64_t)i << 40;
    snprintf(client->worker, sizeof client->worker, "w%d", i);
    for (int k = 0; k < WINDOW; k++) {
        slot_init(client, &client->slots[k], &client->idle);
    }
    for (int k = 0; k < CLAIMS_MAX; k++) {
        slot_init(client, &client->claims[k], &client->idle_claims);
    }
    atomic_init(&client->wake_at, -1);
    if (sem_init(&client->wake, 0, 0)) pawl__bench_die("could not make a semaphore: %m");
}

struct pawl__clients *pawl__clients_new(struct pawl__bench *bench)
{
    struct pawl__clients *clients = pawl__bench_calloc(1, sizeof *clients);
    clients->bench = bench;
    clients->list = aligned_alloc(64, sizeof *clients->list * THREADS_MAX);
    if (!clients->list) pawl__bench_die("out of memory");
    memset(clients->list, 0, sizeof *clients->list * THREADS_MAX);
    for (int i = 0; i < THREADS_MAX; i++) {
        client_init(clients, i);
    }
    return clients;
}

void pawl__clients_free(struct pawl__clients *clients)
{
    for (int i = 0; i < THREADS_MAX; i++) {
        struct client *client = &clients->list[i];
        for (int k = 0; k < CLAIMS_MAX; k++) {
            pawl__arena_release(&client->claims[k].op.arena);
        }
        for (int k = 0; k < WINDOW; k++) {
            pawl__arena_release(&client->slots[k].op.arena);
        }
        sem_destroy(&client->wake);
    }
    free(clients->list);
    free(clients);
}

static void start(struct pawl__clients *clients, int threads)
{
    const int64_t jobs = clients->options.jobs_max;
    for (int i = 0; i < threads; i++) {
        struct client *client = &clients->list[i];
        client->finished = 0;
        client->quota = jobs > 0 ? jobs / threads + (i < jobs % threads) : INT64_MAX;
        if (pthread_create(&client->thread, NULL, work, client)) {
            pawl__bench_die("could not start a thread");
        }
    }
}

struct pawl__clients_result pawl__clients_run(struct pawl__clients *clients,
                                              const struct pawl__clients_options *options)
{
    const int threads = options->threads > 0 ? options->threads : clients->bench->threads;
    assert(threads <= THREADS_MAX && (options->for_us > 0) != (options->jobs_max > 0));
    const int64_t start_us = pawl__bench_now_us();
    struct pawl__clients_result result = { .committer_us = -committer_us(clients) };
    clients->options = *options;
    clients->until_us = options->for_us > 0 ? start_us + options->for_us : INT64_MAX;
    start(clients, threads);
    for (int i = 0; i < threads; i++) {
        pthread_join(clients->list[i].thread, NULL);
        result.jobs += clients->list[i].finished;
    }
    result.us = pawl__bench_now_us() - start_us;
    result.committer_us += committer_us(clients);
    result.per_s = (double)result.jobs * 1e6 / (double)(result.us > 0 ? result.us : 1);
    return result;
}
