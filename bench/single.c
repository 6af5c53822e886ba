/* A single client: one job per call, the next call after the answer. The sync is most of it. */
#include "bench.h"

struct single {
    struct pawl__floor *floor;
    struct pawl__store *store;
    struct pawl__idgen *ids;
    int64_t count;
    uint64_t payload;
    struct pawl__bench_job job;
};

static double floor_slice(void *ctx)
{
    struct single *single = ctx;
    return pawl__floor_single(single->floor, single->count);
}

static void submit_one(struct single *single)
{
    struct pawl_submitted out;
    struct pawl__op op = { .kind = PAWL__OP_SUBMIT };
    single->job.job.id = pawl__idgen_next(single->ids);
    pawl__payload(++single->payload, single->job.args);
    op.submit.jobs = &single->job.job;
    op.submit.count = 1;
    op.submit.out = &out;
    if (pawl__store_do(single->store, &op)) pawl__bench_check(&op);
    pawl__arena_release(&op.arena);
}

static double store_slice(void *ctx)
{
    struct single *single = ctx;
    const int64_t start_us = pawl__bench_now_us();
    for (int64_t i = 0; i < single->count; i++) {
        submit_one(single);
    }
    return (double)(pawl__bench_now_us() - start_us) / (double)single->count;
}

void pawl__bench_single(struct pawl__bench *bench)
{
    struct single single = { .floor = pawl__floor_open(bench, "floor.db"),
                             .store = pawl__bench_open(bench, "store.db"),
                             .ids = &bench->ids,
                             .count = bench->quick ? 10 : 200 };
    pawl__bench_job_init(&single.job);
    const struct pawl__pairs pairs = {
        .name = "single client, one job a call",
        .unit = "us/job",
        .floor = floor_slice,
        .floor_ctx = &single,
        .value = store_slice,
        .value_ctx = &single,
        .kind = PAWL__GOAL_AT_MOST,
        .goal = 1.3,
        .count = 25, // many short slices, since the time of a sync varies
    };
    const struct pawl__row row = pawl__pairs_run(bench, &pairs);
    pawl__report_add(&row);
    pawl__store_close(single.store);
    pawl__floor_close(single.floor);
}
