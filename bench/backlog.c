/* The cost of a claim by the number of waiting jobs. Two stores that differ only in their backlog
 * are claimed from alternately, the same number of jobs in the same number of commits. After each
 * round, outside the measured time, the claimed jobs are completed and the backlog is refilled. */
#include "bench.h"

#include <assert.h>

enum {
    CLAIM_JOBS = 100,
    GROUP_CLAIMS = 16, /* in one commit */
    SINGLES = 32,      /* claims of a round, each with a commit of its own; or ... */
    SINGLES_QUICK = 4,
    GROUPS = 3, /* commits of a round of groups; or one */
    CLAIMS_MAX = GROUP_CLAIMS * GROUPS,
    QUEUES = 32,
    PRIORITIES = 5,
    SMALL = 10000, /* jobs; or ... */
    SMALL_QUICK = 2000,
    DRAIN_JOBS = 1000,
    LEASE_MS = 600000
};

struct backlog {
    struct pawl__bench *bench;
    struct pawl__store *store;
    struct pawl__bulk shape; /* jobs: how many should wait */
    bool renewed;            /* rebuilt after each round instead of refilled */
    bool grouped;            /* this round */
    struct pawl__op claims[CLAIMS_MAX];
    const char *queue;
    struct pawl__op completes[SMALL];
    int64_t taken;           /* completes that are filled in */
    double cpu_us, cpu_jobs; /* of the measured parts of all rounds */
};

static void claim_init(struct backlog *backlog, struct pawl__op *op, const char *const *queue,
                       int64_t limit)
{
    *op = (struct pawl__op){ .kind = PAWL__OP_CLAIM, .arena = op->arena };
    pawl__arena_reset(&op->arena);
    op->claim.queues = queue;
    op->claim.queue_count = 1;
    op->claim.limit = limit;
    op->claim.worker = "w1";
    op->claim.lease_ms = LEASE_MS;
}

/* Records the jobs of a claim, to be completed. */
static void take(struct backlog *backlog, const struct pawl__op *op)
{
    static const char result[] = "{\"sent\":true}";
    pawl__bench_check(op);
    for (size_t i = 0; i < op->claim.job_count; i++) {
        assert(backlog->taken < SMALL);
        struct pawl__op *complete = &backlog->completes[backlog->taken++];
        *complete = (struct pawl__op){ .kind = PAWL__OP_COMPLETE, .arena = complete->arena };
        complete->complete.ref.id = op->claim.jobs[i].id;
        complete->complete.ref.run = op->claim.jobs[i].run;
        complete->complete.result = (struct pawl_span){ result, sizeof result - 1 };
    }
}

struct waiter {
    struct pawl__mutex mutex;
    struct pawl__cond cond;
    int64_t left; /* guarded by mutex */
};

static void count_down(struct pawl__op *op)
{
    struct waiter *waiter = op->user;
    pawl__lock(&waiter->mutex);
    if (--waiter->left == 0) pawl__cond_signal(&waiter->cond);
    pawl__unlock(&waiter->mutex);
}

/* Posts all at once and waits for the last answer. */
static void do_list(struct pawl__store *store, struct pawl__op *ops, int64_t count)
{
    struct waiter waiter = { .left = count };
    pawl__mutex_init(&waiter.mutex);
    pawl__cond_init(&waiter.cond);
    for (int64_t i = 0; i < count; i++) {
        ops[i].done = count_down;
        ops[i].user = &waiter;
        ops[i].next = i + 1 < count ? &ops[i + 1] : NULL;
    }
    if (count > 0) pawl__store_post_list(store, ops);
    pawl__lock(&waiter.mutex);
    while (waiter.left > 0) {
        pawl__cond_wait(&waiter.cond, &waiter.mutex);
    }
    pawl__unlock(&waiter.mutex);
    pawl__cond_release(&waiter.cond);
    pawl__mutex_release(&waiter.mutex);
}

static int queue_count(const struct backlog *backlog)
{
    return backlog->shape.queues > 1 ? backlog->shape.queues : 1;
}

static const char *queue_name(const struct backlog *backlog, int i)
{
    return backlog->shape.queues > 1 ? pawl__bulk_queue(i % backlog->shape.queues) : "default";
}

static void complete_taken(struct backlog *backlog)
{
    do_list(backlog->store, backlog->completes, backlog->taken);
    for (int64_t i = 0; i < backlog->taken; i++) {
        pawl__bench_check(&backlog->completes[i]);
        pawl__arena_reset(&backlog->completes[i].arena);
    }
    backlog->taken = 0;
}

/* A small backlog is emptied and rebuilt: if it were only refilled, the new jobs of best rank would
 * always be claimed, and its contents would soon differ from those of the large one. */
static void drain(struct backlog *backlog)
{
    struct pawl__op op = { 0 };
    for (int i = 0; i < queue_count(backlog);) {
        const char *queue = queue_name(backlog, i);
        claim_init(backlog, &op, &queue, DRAIN_JOBS);
        if (pawl__store_do(backlog->store, &op)) pawl__bench_check(&op);
        take(backlog, &op);
        if (op.claim.job_count == 0) i++;
        complete_taken(backlog);
    }
    pawl__arena_release(&op.arena);
}

/* Jobs of a backlog have waited for a while: makes the store no longer treat them as new. */
static void settle(struct backlog *backlog)
{
    struct pawl__op op = { .kind = PAWL__OP_QUEUE_PAUSE };
    op.queue.queue = queue_name(backlog, 0);
    if (pawl__store_do(backlog->store, &op)) pawl__bench_check(&op);
    pawl__arena_release(&op.arena);
}

static void refill(struct backlog *backlog)
{
    struct pawl__bulk bulk = backlog->shape;
    const int64_t taken = backlog->taken;
    complete_taken(backlog);
    if (backlog->renewed) {
        drain(backlog);
    } else {
        bulk.jobs = taken;
    }
    pawl__bulk_submit(backlog->bench, backlog->store, &bulk);
    settle(backlog);
}

/* Microseconds per claimed job. */
static double round_of(struct backlog *backlog)
{
    const bool quick = backlog->bench->quick;
    const int count = backlog->grouped ? (quick ? GROUP_CLAIMS : CLAIMS_MAX)
                                       : (quick ? SINGLES_QUICK : SINGLES);
    const char *queues[CLAIMS_MAX];
    for (int i = 0; i < count; i++) {
        queues[i] = queue_name(backlog, i);
        claim_init(backlog, &backlog->claims[i], &queues[i], CLAIM_JOBS);
    }
    const int64_t start_us = pawl__bench_now_us();
    const int64_t cpu_us = pawl__bench_clock_us(CLOCK_PROCESS_CPUTIME_ID);
    const int step = backlog->grouped ? GROUP_CLAIMS : 1;
    for (int i = 0; i < count; i += step) {
        do_list(backlog->store, &backlog->claims[i], step);
    }
    const int64_t us = pawl__bench_now_us() - start_us;
    backlog->cpu_us += (double)(pawl__bench_clock_us(CLOCK_PROCESS_CPUTIME_ID) - cpu_us);
    for (int i = 0; i < count; i++) {
        take(backlog, &backlog->claims[i]);
    }
    const int64_t taken = backlog->taken;
    backlog->cpu_jobs += (double)taken;
    if (taken < (int64_t)count * CLAIM_JOBS / 2) pawl__bench_die("the claims found too few jobs");
    refill(backlog);
    return (double)us / (double)taken;
}

static double slice(void *ctx)
{
    return round_of(ctx);
}

static struct backlog *open_backlog(struct pawl__bench *bench, const char *name,
                                    const struct pawl__bulk *shape)
{
    struct backlog *backlog = pawl__bench_calloc(1, sizeof *backlog);
    const int64_t start_us = pawl__bench_now_us();
    backlog->bench = bench;
    backlog->store = pawl__bench_open(bench, name);
    backlog->shape = *shape;
    pawl__bulk_submit(bench, backlog->store, shape);
    settle(backlog);
    pawl__bench_say("%s: %lld jobs submitted in %.1f s", name, (long long)shape->jobs,
                    (double)(pawl__bench_now_us() - start_us) / 1e6);
    return backlog;
}

static void close_backlog(struct backlog *backlog)
{
    pawl__store_close(backlog->store);
    for (int i = 0; i < CLAIMS_MAX; i++) {
        pawl__arena_release(&backlog->claims[i].arena);
    }
    for (int i = 0; i < SMALL; i++) {
        pawl__arena_release(&backlog->completes[i].arena);
    }
    free(backlog);
}

static struct pawl__row compare(struct backlog *small, struct backlog *large,
                                const struct pawl__backlog_options *options, bool grouped)
{
    char name[48];
    snprintf(name, sizeof name, "claim, %s%s waiting%s",
             large->shape.jobs >= 10000000  ? "10M"
             : large->shape.jobs >= 1000000 ? "1M"
                                            : "few",
             options->text, grouped ? ", grouped" : "");
    const struct pawl__pairs pairs = {
        .name = name,
        .unit = "us/job",
        .floor = slice,
        .floor_ctx = small,
        .value = slice,
        .value_ctx = large,
        .kind = PAWL__GOAL_AT_MOST,
        .goal = options->goal,
        .count = options->pairs,
    };
    small->grouped = large->grouped = grouped;
    slice(small);
    slice(large); // the first round warms the caches
    small->cpu_us = small->cpu_jobs = large->cpu_us = large->cpu_jobs = 0;
    struct pawl__row row = pawl__pairs_run(small->bench, &pairs);
    snprintf(row.note, sizeof row.note,
             "floor: 10k waiting; %d claims of %d a commit; CPU %.2f us/job, floor %.2f",
             grouped ? GROUP_CLAIMS : 1, CLAIM_JOBS, large->cpu_us / large->cpu_jobs,
             small->cpu_us / small->cpu_jobs);
    pawl__report_add(&row);
    return row;
}

void pawl__backlog_run(struct pawl__bench *bench, const struct pawl__backlog_options *options)
{
    struct pawl__bulk shape = options->shape;
    if (bench->quick) shape.jobs = SMALL_QUICK + 1000;
    struct backlog *large = open_backlog(bench, "large.db", &shape);
    shape.jobs = bench->quick ? SMALL_QUICK : SMALL;
    struct backlog *small = open_backlog(bench, "small.db", &shape);
    small->renewed = true;
    large->renewed = bench->quick && shape.queues > 1; // so few that some queues would become empty
    const struct pawl__row row = compare(small, large, options, false);
    if (options->grouped) compare(small, large, options, true);
    if (options->beside) options->beside(bench, &row);
    close_backlog(small);
    close_backlog(large);
    pawl__bench_forget(bench, "small.db");
    pawl__bench_forget(bench, "large.db");
}

void pawl__bench_backlog(struct pawl__bench *bench)
{
    const int64_t million = 1000000;
    const struct pawl__bulk mixed = { .queues = QUEUES, .priorities = PRIORITIES };
    struct pawl__backlog_options options = { .pairs = 15, .grouped = true };
    for (int many = 1; many <= (bench->full ? 10 : 1); many *= 10) {
        options.goal = many > 1 ? 1.6 : 1.3;
        options.text = "";
        options.shape = (struct pawl__bulk){ .jobs = many * million };
        pawl__backlog_run(bench, &options);
        options.text = " mixed";
        options.shape = mixed;
        options.shape.jobs = many * million;
        pawl__backlog_run(bench, &options);
    }
}
