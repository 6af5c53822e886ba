/* A node and its clients through the public API, against the floor: submits, whole lifecycles, a
 * backlog that is drained. */
#include "bench.h"

#include <stdatomic.h>

enum {
    WORKERS = 2,
    CALL_JOBS = 100,   /* in a call of pawl_submit_many */
    AHEAD_JOBS = 4000, /* submitted, but not handled yet */
    LOOK_US = 200,
    DRAIN_CALL_JOBS = 1000
};

struct node {
    struct pawl__bench *bench;
    struct pawl__floor *floor;
    struct pawl *pawl;
    int per_call;
    bool post;
    int64_t share; /* jobs that a slice of the drain takes, at least ... */
    int64_t left;  /* ... as long as so many are left */
    _Atomic int64_t handled;
};

static void begin(struct node *node, struct pawl__bench *bench)
{
    node->bench = bench;
    node->floor = pawl__floor_open(bench, "floor.db");
    node->pawl = pawl__bench_pawl_open(bench, "node.db");
}

static void end(struct node *node)
{
    pawl_close(node->pawl);
    pawl__floor_close(node->floor);
    pawl__bench_forget(node->bench, "node.db");
    pawl__bench_forget(node->bench, "floor.db");
}

static double floor_slice(void *ctx)
{
    struct node *node = ctx;
    return pawl__floor_run(node->floor, node->bench->slice_us);
}

/* Clients that wait for their answers cannot fill a larger transaction than there are clients. */
static double small_floor_slice(void *ctx)
{
    struct node *node = ctx;
    return pawl__floor_small(node->floor, node->bench->slice_us, node->bench->threads);
}

static enum pawl_outcome no_op(struct pawl_task *task, void *ctx)
{
    struct node *node = ctx;
    atomic_fetch_add_explicit(&node->handled, 1, memory_order_relaxed);
    return PAWL_OUTCOME_DONE;
}

static void handle(struct node *node)
{
    struct pawl_diag diag = { 0 };
    pawl__bench_pawl_check(pawl_handle(node->pawl, "mail.send", no_op, node, &diag), &diag);
}

static void start(struct node *node)
{
    const struct pawl_node_config config = { .name = "bench", .workers = WORKERS };
    struct pawl_diag diag = { 0 };
    pawl__bench_pawl_check(pawl_start(node->pawl, &config, &diag), &diag);
}

static int64_t completed(struct node *node)
{
    struct pawl_counters counters;
    pawl_counters_get(node->pawl, &counters);
    return counters.completed;
}

static void wait_completed(struct node *node, int64_t count)
{
    while (completed(node) < count) {
        pawl__bench_sleep_us(LOOK_US);
    }
}

static double rate(int64_t jobs, int64_t start_us)
{
    return (double)jobs * 1e6 / (double)(pawl__bench_now_us() - start_us);
}

static void run(struct node *node, const struct pawl__pairs *how, pawl__slice_fn *value,
                const char *note)
{
    struct pawl__pairs pairs = *how;
    pairs.unit = "jobs/s";
    if (!pairs.floor) pairs.floor = floor_slice;
    pairs.value = value;
    pairs.floor_ctx = pairs.value_ctx = node;
    struct pawl_counters before, after;
    pawl_counters_get(node->pawl, &before);
    struct pawl__row row = pawl__pairs_run(node->bench, &pairs);
    pawl_counters_get(node->pawl, &after);
    const double commits = (double)(after.commits - before.commits);
    snprintf(row.note, sizeof row.note, "%s; %.1f operations a commit of %.2f ms", note,
             (double)(after.operations - before.operations) / commits,
             (double)(after.commit_us.sum_us - before.commit_us.sum_us) / commits / 1e3);
    pawl__report_add(&row);
}

/* ---- submits ---- */

static double submit_slice(void *ctx)
{
    struct node *node = ctx;
    const int64_t start_us = pawl__bench_now_us();
    const int64_t jobs = pawl__hands_run(&(struct pawl__hands_options){
        .pawl = node->pawl,
        .threads = node->bench->threads,
        .per_call = node->per_call,
        .post = node->post,
        .for_us = node->bench->slice_us,
    });
    return rate(jobs, start_us);
}

void pawl__bench_api_submit(struct pawl__bench *bench)
{
    struct node node = { .per_call = 1, .post = true };
    const struct pawl__pairs posted = { .name = "API submit, posted",
                                        .kind = PAWL__GOAL_AT_LEAST,
                                        .goal = 0.40 };
    const struct pawl__pairs many = { .name = "API submit, waiting, 100 jobs a call" };
    const struct pawl__pairs one = { .name = "API submit, waiting, 1 job a call",
                                     .floor = small_floor_slice };
    begin(&node, bench);
    run(&node, &posted, submit_slice, "32 threads, 1 job a call");
    node.post = false;
    node.per_call = CALL_JOBS;
    run(&node, &many, submit_slice, "32 threads");
    node.per_call = 1;
    run(&node, &one, submit_slice, "32 threads; floor: 32 rows a transaction");
    end(&node);
}

/* ---- lifecycles ---- */

static double lifecycle_slice(void *ctx)
{
    struct node *node = ctx;
    const int64_t start_us = pawl__bench_now_us(), before = completed(node);
    atomic_store(&node->handled, 0);
    const int64_t jobs = pawl__hands_run(&(struct pawl__hands_options){
        .pawl = node->pawl,
        .threads = node->bench->threads,
        .per_call = node->per_call,
        .post = node->post,
        .for_us = node->bench->slice_us,
        .handled = &node->handled,
        .ahead_max = AHEAD_JOBS,
    });
    wait_completed(node, before + jobs);
    return rate(jobs, start_us);
}

void pawl__bench_api_lifecycle(struct pawl__bench *bench)
{
    struct node node = { .per_call = 1, .post = true };
    const struct pawl__pairs posted = { .name = "API lifecycle, posted",
                                        .kind = PAWL__GOAL_AT_LEAST,
                                        .goal = 0.20 };
    const struct pawl__pairs many = { .name = "API lifecycle, waiting, 100 jobs a call" };
    const struct pawl__pairs one = { .name = "API lifecycle, waiting, 1 job a call",
                                     .floor = small_floor_slice };
    begin(&node, bench);
    handle(&node);
    start(&node);
    run(&node, &posted, lifecycle_slice, "2 workers, 32 threads submit");
    node.post = false;
    node.per_call = CALL_JOBS;
    run(&node, &many, lifecycle_slice, "2 workers, 32 threads");
    node.per_call = 1;
    run(&node, &one, lifecycle_slice, "2 workers, 32 threads; floor: 32 rows a transaction");
    pawl_stop(node.pawl, NULL, NULL);
    end(&node);
}

/* ---- a backlog ---- */

static double drain_slice(void *ctx)
{
    struct node *node = ctx;
    const int64_t start_us = pawl__bench_now_us(), before = completed(node);
    start(node);
    wait_completed(node, before + (node->share < node->left ? node->share : node->left));
    const double per_s = rate(completed(node) - before, start_us);
    pawl_stop(node->pawl, NULL, NULL);
    node->left -= completed(node) - before;
    return per_s;
}

/* What waits has waited for a while: a node that was started later finds it. */
static void reopen(struct node *node)
{
    pawl_close(node->pawl);
    node->pawl = pawl__bench_pawl_open(node->bench, "node.db");
    handle(node);
}

void pawl__bench_drain(struct pawl__bench *bench)
{
    const int64_t jobs = bench->quick ? 20000 : 1000000;
    struct node node = { .left = jobs, .share = jobs * 9 / 10 / bench->pairs };
    const struct pawl__pairs pairs = { .name = "drain 1M waiting jobs",
                                       .kind = PAWL__GOAL_AT_LEAST,
                                       .goal = 0.25 };
    begin(&node, bench);
    pawl__hands_run(&(struct pawl__hands_options){
        .pawl = node.pawl, .threads = 2, .per_call = DRAIN_CALL_JOBS, .jobs_max = jobs });
    reopen(&node);
    run(&node, &pairs, drain_slice, "2 workers; each slice a share of the backlog");
    end(&node);
}
