/* Throughput against the floor: submits alone, whole lifecycles, and bulk submits. Each job of each
 * step is durable before it is answered. */
#include "bench.h"

/* The cost of the rows of all slices. */
struct cost {
    int64_t bytes; /* written to files */
    int64_t us;    /* CPU of the one thread that writes */
    double rows;
};

struct throughput {
    struct pawl__bench *bench;
    struct pawl__floor *floor;
    struct pawl__store *store;
    struct pawl__clients *clients;
    bool lifecycle;
    bool confined;
    int64_t bulk_jobs; /* in one slice */
    struct cost floor_cost, store_cost;
};

static void begin(struct throughput *of, struct pawl__bench *bench)
{
    of->bench = bench;
    of->floor = pawl__floor_open(bench, "floor.db");
    of->store = pawl__bench_open(bench, "store.db");
    of->clients = pawl__clients_new(bench);
}

static void end(struct throughput *of)
{
    pawl__store_close(of->store);
    pawl__clients_free(of->clients);
    pawl__floor_close(of->floor);
}

static double floor_slice(void *ctx)
{
    struct throughput *of = ctx;
    const int64_t bytes = pawl__bench_written(), start_us = pawl__bench_now_us();
    const int64_t cpu_us = pawl__bench_clock_us(CLOCK_THREAD_CPUTIME_ID);
    const double per_s = pawl__floor_run(of->floor, of->bench->slice_us);
    of->floor_cost.rows += per_s * (double)(pawl__bench_now_us() - start_us) / 1e6;
    of->floor_cost.us += pawl__bench_clock_us(CLOCK_THREAD_CPUTIME_ID) - cpu_us;
    of->floor_cost.bytes += pawl__bench_written() - bytes;
    return per_s;
}

static double clients_slice(void *ctx)
{
    struct throughput *of = ctx;
    const struct pawl__clients_options options = {
        .store = of->store,
        .lifecycle = of->lifecycle,
        .confined = of->confined,
        .for_us = of->bench->slice_us,
    };
    const int64_t bytes = pawl__bench_written();
    const struct pawl__clients_result result = pawl__clients_run(of->clients, &options);
    of->store_cost.rows += (double)result.jobs;
    of->store_cost.us += result.committer_us;
    of->store_cost.bytes += pawl__bench_written() - bytes;
    return result.per_s;
}

static void report_cost(const char *load, const char *what, const char *unit, double value,
                        double floor)
{
    if (floor <= 0) return; // the system does not report it
    struct pawl__row row = { .unit = unit, .value = value, .floor = floor, .ratio = value / floor };
    snprintf(row.name, sizeof row.name, "%s, %s", load, what);
    pawl__report_add(&row);
}

/* These are steadier than the rates: other programs on the machine do not change them much. */
static void report_costs(const struct throughput *of, const char *load)
{
    const struct cost *value = &of->store_cost, *floor = &of->floor_cost;
    report_cost(load, "CPU of the committer", "us/job", (double)value->us / value->rows,
                (double)floor->us / floor->rows);
    report_cost(load, "written to files", "bytes", (double)value->bytes / value->rows,
                (double)floor->bytes / floor->rows);
}

static void run_pairs(struct throughput *of, const struct pawl__pairs *how, const char *note)
{
    struct pawl__pairs pairs = *how;
    pairs.unit = "jobs/s";
    pairs.floor = floor_slice;
    pairs.value = clients_slice;
    pairs.floor_ctx = pairs.value_ctx = of;
    struct pawl__row row = pawl__pairs_run(of->bench, &pairs);
    snprintf(row.note, sizeof row.note, "%s", note);
    pawl__report_add(&row);
}

/* On a small machine the 32 threads often run on the committer's CPU; a second run in which they
 * may not shows how much that costs. */
static void run_clients(struct pawl__bench *bench, const struct pawl__pairs *pairs,
                        const char *load)
{
    struct throughput of = { .lifecycle = strcmp(load, "lifecycle") == 0 };
    char name[48];
    begin(&of, bench);
    run_pairs(&of, pairs, "32 threads");
    pawl__report_commits(of.store, load);
    report_costs(&of, load);
    of.confined = true;
    snprintf(name, sizeof name, "%s, one CPU left alone", pairs->name);
    run_pairs(&of, &(struct pawl__pairs){ .name = name, .count = 3 }, "the threads keep off it");
    end(&of);
}

void pawl__bench_moves(struct pawl__bench *bench)
{
    pawl__moves_run(bench, NULL);
}

void pawl__bench_flows(struct pawl__bench *bench)
{
    pawl__flows_run(bench, NULL);
}

void pawl__bench_schedules(struct pawl__bench *bench)
{
    pawl__schedules_run(bench, NULL);
}

void pawl__bench_submit(struct pawl__bench *bench)
{
    const struct pawl__pairs pairs = { .name = "submit",
                                       .kind = PAWL__GOAL_AT_LEAST,
                                       .goal = 0.45 };
    run_clients(bench, &pairs, "submit");
}

void pawl__bench_lifecycle(struct pawl__bench *bench)
{
    const struct pawl__pairs pairs = { .name = "submit+claim+complete",
                                       .kind = PAWL__GOAL_AT_LEAST,
                                       .goal = 0.25 };
    run_clients(bench, &pairs, "lifecycle");
}

static double bulk_floor_slice(void *ctx)
{
    struct throughput *of = ctx;
    return pawl__floor_rows(of->floor, of->bulk_jobs);
}

static double bulk_slice(void *ctx)
{
    struct throughput *of = ctx;
    const int64_t start_us = pawl__bench_now_us();
    pawl__bulk_submit(of->bench, of->store, &(struct pawl__bulk){ .jobs = of->bulk_jobs });
    return (double)of->bulk_jobs * 1e6 / (double)(pawl__bench_now_us() - start_us);
}

void pawl__bench_bulk(struct pawl__bench *bench)
{
    struct throughput of = { .bulk_jobs = bench->quick ? 3000 : 1000000 / bench->pairs };
    begin(&of, bench);
    const struct pawl__pairs pairs = {
        .name = "bulk submit by 1000",
        .unit = "jobs/s",
        .floor = bulk_floor_slice,
        .floor_ctx = &of,
        .value = bulk_slice,
        .value_ctx = &of,
        .kind = PAWL__GOAL_AT_LEAST,
        .goal = 0.45,
    };
    const struct pawl__row row = pawl__pairs_run(bench, &pairs);
    pawl__report_add(&row);
    end(&of);
}
