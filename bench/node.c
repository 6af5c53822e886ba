/* A node and its clients through the public API, against the floor: submits, whole lifecycles, a
 * backlog that is drained. */
#include "bench.h"

enum { CALL_JOBS = 100, /* in a call of pawl_submit_many */ DRAIN_CALL_JOBS = 1000 };

struct node {
    struct pawl__api api;
    struct pawl__floor *floor;
    int64_t share; /* jobs that a slice of the drain takes, at least ... */
    int64_t left;  /* ... as long as so many are left */
};

static void begin(struct node *node, struct pawl__bench *bench)
{
    node->api.bench = bench;
    node->floor = pawl__floor_open(bench, "floor.db");
    node->api.pawl = pawl__bench_pawl_open(bench, "node.db");
}

static void end(struct node *node)
{
    pawl_close(node->api.pawl);
    pawl__floor_close(node->floor);
    pawl__bench_forget(node->api.bench, "node.db");
    pawl__bench_forget(node->api.bench, "floor.db");
}

static double floor_slice(void *ctx)
{
    struct node *node = ctx;
    return pawl__floor_run(node->floor, node->api.bench->slice_us);
}

/* Clients that wait for their answers cannot fill a larger transaction than there are clients. */
static double small_floor_slice(void *ctx)
{
    struct node *node = ctx;
    const struct pawl__bench *bench = node->api.bench;
    return pawl__floor_small(node->floor, bench->slice_us, bench->threads);
}

static void run(struct node *node, const struct pawl__pairs *how, pawl__slice_fn *value,
                const char *note)
{
    struct pawl__pairs pairs = *how;
    pairs.unit = "jobs/s";
    if (!pairs.floor) pairs.floor = floor_slice;
    pairs.value = value;
    pairs.floor_ctx = pairs.value_ctx = node;
    const struct pawl__row row = pawl__api_pairs(&node->api, &pairs, note);
    pawl__report_add(&row);
}

/* ---- submits ---- */

static double submit_slice(void *ctx)
{
    struct node *node = ctx;
    return pawl__api_submit(&node->api);
}

void pawl__bench_api_submit(struct pawl__bench *bench)
{
    struct node node = { .api = { .per_call = 1, .post = true } };
    const struct pawl__pairs posted = { .name = "API submit, posted",
                                        .kind = PAWL__GOAL_AT_LEAST,
                                        .goal = 0.40 };
    const struct pawl__pairs many = { .name = "API submit, waiting, 100 jobs a call" };
    const struct pawl__pairs one = { .name = "API submit, waiting, 1 job a call",
                                     .floor = small_floor_slice };
    begin(&node, bench);
    run(&node, &posted, submit_slice, "32 threads, 1 job a call");
    node.api.post = false;
    node.api.per_call = CALL_JOBS;
    run(&node, &many, submit_slice, "32 threads");
    node.api.per_call = 1;
    run(&node, &one, submit_slice, "32 threads; floor: 32 rows a transaction");
    end(&node);
}

/* ---- lifecycles ---- */

static double lifecycle_slice(void *ctx)
{
    struct node *node = ctx;
    return pawl__api_lifecycle(&node->api);
}

void pawl__bench_api_lifecycle(struct pawl__bench *bench)
{
    struct node node = { .api = { .per_call = 1, .post = true } };
    const struct pawl__pairs posted = { .name = "API lifecycle, posted",
                                        .kind = PAWL__GOAL_AT_LEAST,
                                        .goal = 0.20 };
    const struct pawl__pairs many = { .name = "API lifecycle, waiting, 100 jobs a call" };
    const struct pawl__pairs one = { .name = "API lifecycle, waiting, 1 job a call",
                                     .floor = small_floor_slice };
    begin(&node, bench);
    pawl__api_handle(&node.api);
    pawl__api_start(&node.api);
    run(&node, &posted, lifecycle_slice, "2 workers, 32 threads submit");
    node.api.post = false;
    node.api.per_call = CALL_JOBS;
    run(&node, &many, lifecycle_slice, "2 workers, 32 threads");
    node.api.per_call = 1;
    run(&node, &one, lifecycle_slice, "2 workers, 32 threads; floor: 32 rows a transaction");
    pawl_stop(node.api.pawl, NULL, NULL);
    end(&node);
}

/* ---- a backlog ---- */

static double drain_slice(void *ctx)
{
    struct node *node = ctx;
    struct pawl__api *api = &node->api;
    const int64_t start_us = pawl__bench_now_us(), before = pawl__api_completed(api);
    pawl__api_start(api);
    pawl__api_wait(api, before + (node->share < node->left ? node->share : node->left));
    const int64_t us = pawl__bench_now_us() - start_us;
    const double per_s = (double)(pawl__api_completed(api) - before) * 1e6 / (double)us;
    pawl_stop(api->pawl, NULL, NULL);
    node->left -= pawl__api_completed(api) - before;
    return per_s;
}

/* Reopens the store, so that the node finds jobs that have waited for a while. */
static void reopen(struct node *node)
{
    pawl_close(node->api.pawl);
    node->api.pawl = pawl__bench_pawl_open(node->api.bench, "node.db");
    pawl__api_handle(&node->api);
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
        .pawl = node.api.pawl, .threads = 2, .per_call = DRAIN_CALL_JOBS, .jobs_max = jobs });
    reopen(&node);
    run(&node, &pairs, drain_slice, "2 workers; each slice a share of the backlog");
    end(&node);
}
