/* Throughput through the public API against bare libpq: submits alone, and whole lifecycles. */
#include "bench/postgres/postgres.h"

enum { BATCH = 500, CALL_JOBS = 100 };

/* What the rows of all slices cost. */
struct cost {
    double wal_bytes;
    double rows;
};

struct throughput {
    struct pawl__api api;
    struct pawl__pgfloor *floor;
    bool lifecycle;
    struct cost floor_cost, api_cost;
};

static double floor_slice(void *ctx)
{
    struct throughput *of = ctx;
    const struct pawl__pgfloor_run run = { .lifecycle = of->lifecycle,
                                           .batch = BATCH,
                                           .for_us = of->api.bench->slice_us };
    const double before = pawl__pg_wal_bytes();
    const struct pawl__pgfloor_result result = pawl__pgfloor_run(of->floor, &run);
    of->floor_cost.wal_bytes += pawl__pg_wal_bytes() - before;
    of->floor_cost.rows += (double)result.rows;
    return result.per_s;
}

static int64_t jobs_done(struct throughput *of)
{
    struct pawl_counters counters;
    pawl_counters_get(of->api.pawl, &counters);
    return of->lifecycle ? counters.completed : counters.submitted;
}

static double api_slice(void *ctx)
{
    struct throughput *of = ctx;
    const int64_t jobs = jobs_done(of);
    const double before = pawl__pg_wal_bytes();
    const double per_s = of->lifecycle ? pawl__api_lifecycle(&of->api) : pawl__api_submit(&of->api);
    of->api_cost.wal_bytes += pawl__pg_wal_bytes() - before;
    of->api_cost.rows += (double)(jobs_done(of) - jobs);
    return per_s;
}

/* Other programs on the machine do not change it much. */
static void report_wal(const struct throughput *of, const char *name)
{
    struct pawl__row row = { .unit = "bytes" };
    row.value = of->api_cost.wal_bytes / of->api_cost.rows;
    row.floor = of->floor_cost.wal_bytes / of->floor_cost.rows;
    row.ratio = row.value / row.floor;
    snprintf(row.name, sizeof row.name, "%s, WAL per job", name);
    pawl__report_add(&row);
}

static void run(struct throughput *of, const char *name, const char *what, double goal)
{
    char title[32], note[64];
    snprintf(title, sizeof title, "%s, %s", name, what);
    snprintf(note, sizeof note, "floor: %d connections, %d rows", PAWL__PG_FLOOR_CONNECTIONS,
             BATCH);
    of->api_cost = of->floor_cost = (struct cost){ 0 };
    const struct pawl__pairs pairs = {
        .name = title,
        .unit = "jobs/s",
        .floor = floor_slice,
        .floor_ctx = of,
        .value = api_slice,
        .value_ctx = of,
        .kind = goal > 0 ? PAWL__GOAL_AT_LEAST : PAWL__GOAL_NONE,
        .goal = goal,
    };
    const struct pawl__row row = pawl__api_pairs(&of->api, &pairs, note);
    pawl__report_add(&row);
    report_wal(of, title);
}

static void measure(struct pawl__bench *bench, const char *name, bool lifecycle)
{
    struct throughput of = { .lifecycle = lifecycle,
                             .api = { .bench = bench, .per_call = 1, .post = true } };
    of.floor = pawl__pgfloor_open(bench, "floor", PAWL__PG_FLOOR_CONNECTIONS);
    of.api.pawl = pawl__bench_pawl_open(bench, "node");
    if (lifecycle) {
        pawl__api_handle(&of.api);
        pawl__api_start(&of.api);
    }
    run(&of, name, "posted", 0.7);
    of.api.post = false;
    of.api.per_call = CALL_JOBS;
    run(&of, name, "100 a call", 0);
    if (lifecycle) pawl_stop(of.api.pawl, NULL, NULL);
    pawl_close(of.api.pawl);
    pawl__pgfloor_close(of.floor);
}

void pawl__bench_pg_submit(struct pawl__bench *bench)
{
    measure(bench, "submit", false);
}

void pawl__bench_pg_lifecycle(struct pawl__bench *bench)
{
    measure(bench, "lifecycle", true);
}

/* The floor alone, by how many connections it has: what the machine can do. */
void pawl__bench_pg_floor(struct pawl__bench *bench)
{
    for (int lifecycle = 0; lifecycle < 2; lifecycle++) {
        for (int connections = 1; connections <= PAWL__PG_FLOOR_CONNECTIONS; connections++) {
            struct pawl__pgfloor *floor = pawl__pgfloor_open(bench, "floor", connections);
            const struct pawl__pgfloor_run run = { .lifecycle = lifecycle,
                                                   .batch = BATCH,
                                                   .for_us = bench->slice_us };
            struct pawl__row row = { .unit = "jobs/s" };
            row.value = pawl__pgfloor_run(floor, &run).per_s;
            snprintf(row.name, sizeof row.name, "bare libpq, %s, %d connection%s",
                     lifecycle ? "lifecycle" : "insert", connections, connections > 1 ? "s" : "");
            pawl__report_add(&row);
            pawl__pgfloor_close(floor);
            pawl__bench_forget(bench, "floor");
        }
    }
}
