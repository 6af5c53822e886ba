/* Throughput through the public API against bare libpq: submits alone, and whole lifecycles. */
#include "bench/postgres/postgres.h"

enum { BATCH = 500, AHEAD_JOBS = 16000 };

/* The cost of the rows of all slices. */
struct total {
    struct pawl__pg_cost cost;
    double rows;
};

struct throughput {
    struct pawl__api api;
    struct pawl__pgfloor *floor;
    bool lifecycle;
    struct total floor_total, api_total;
};

static void add_cost(struct total *total, const struct pawl__pg_cost *before, int64_t rows)
{
    const struct pawl__pg_cost after = pawl__pg_cost();
    total->cost.wal_bytes += after.wal_bytes - before->wal_bytes;
    total->cost.cpu_us += after.cpu_us - before->cpu_us;
    total->rows += (double)rows;
}

static double floor_slice(void *ctx)
{
    struct throughput *of = ctx;
    const struct pawl__pgfloor_run run = { .lifecycle = of->lifecycle,
                                           .batch = BATCH,
                                           .for_us = of->api.bench->slice_us };
    const struct pawl__pg_cost before = pawl__pg_cost();
    const struct pawl__pgfloor_result result = pawl__pgfloor_run(of->floor, &run);
    add_cost(&of->floor_total, &before, result.rows);
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
    const struct pawl__pg_cost before = pawl__pg_cost();
    const double per_s = of->lifecycle ? pawl__api_lifecycle(&of->api) : pawl__api_submit(&of->api);
    add_cost(&of->api_total, &before, jobs_done(of) - jobs);
    return per_s;
}

/* Other programs on the machine do not change these much. */
static void report_costs(const struct throughput *of, const char *name)
{
    const struct total *api = &of->api_total, *floor = &of->floor_total;
    struct pawl__row row = { .unit = "us/job" };
    row.value = api->cost.cpu_us / api->rows;
    row.floor = floor->cost.cpu_us / floor->rows;
    row.ratio = row.value / row.floor;
    snprintf(row.name, sizeof row.name, "%s, CPU of the server", name);
    pawl__report_add(&row);
    row.unit = "bytes";
    row.value = api->cost.wal_bytes / api->rows;
    row.floor = floor->cost.wal_bytes / floor->rows;
    row.ratio = row.value / row.floor;
    snprintf(row.name, sizeof row.name, "%s, WAL per job", name);
    pawl__report_add(&row);
}

static void run(struct throughput *of, const char *name, const char *what, double goal)
{
    char title[24], note[64];
    snprintf(title, sizeof title, "%s, %s", name, what);
    snprintf(note, sizeof note, "floor: %d connections, %d rows", PAWL__PG_FLOOR_CONNECTIONS,
             BATCH);
    of->api_total = of->floor_total = (struct total){ 0 };
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
    report_costs(of, title);
}

static void measure(struct pawl__bench *bench, const char *name, bool lifecycle)
{
    struct throughput of = {
        .lifecycle = lifecycle,
        .api = { .bench = bench, .per_call = 1, .post = true, .ahead = AHEAD_JOBS }
    };
    of.floor = pawl__pgfloor_open(bench, "floor", PAWL__PG_FLOOR_CONNECTIONS);
    of.api.pawl = pawl__bench_pawl_open(bench, "node");
    if (lifecycle) {
        pawl__api_handle(&of.api);
        pawl__api_start(&of.api);
    }
    run(&of, name, "posted", 0.7);
    of.api.post = false;
    of.api.per_call = BATCH;
    run(&of, name, "500 a call", 0.7);
    if (lifecycle) pawl_stop(of.api.pawl, NULL, NULL);
    pawl_close(of.api.pawl);
    pawl__pgfloor_close(of.floor);
}

static double server_us(void)
{
    return pawl__pg_cost().cpu_us;
}

void pawl__bench_pg_flows(struct pawl__bench *bench)
{
    pawl__flows_run(bench, server_us);
}

void pawl__bench_pg_schedules(struct pawl__bench *bench)
{
    pawl__schedules_run(bench, server_us);
}

void pawl__bench_pg_moves(struct pawl__bench *bench)
{
    pawl__moves_run(bench, server_us);
}

void pawl__bench_pg_submit(struct pawl__bench *bench)
{
    measure(bench, "submit", false);
}

void pawl__bench_pg_lifecycle(struct pawl__bench *bench)
{
    measure(bench, "lifecycle", true);
}

static void floor_alone(struct pawl__bench *bench, bool lifecycle, int connections)
{
    struct throughput of = { .lifecycle = lifecycle, .api = { .bench = bench } };
    struct pawl__row row = { .unit = "jobs/s" };
    of.floor = pawl__pgfloor_open(bench, "floor", connections);
    row.value = floor_slice(&of);
    snprintf(row.name, sizeof row.name, "bare libpq, %s, %d connection%s",
             lifecycle ? "lifecycle" : "insert", connections, connections > 1 ? "s" : "");
    snprintf(row.note, sizeof row.note, "%d rows; the server's CPU %.2f us/job, WAL %.0f bytes",
             BATCH, of.floor_total.cost.cpu_us / of.floor_total.rows,
             of.floor_total.cost.wal_bytes / of.floor_total.rows);
    pawl__report_add(&row);
    pawl__pgfloor_close(of.floor);
    pawl__bench_forget(bench, "floor");
}

/* The floor alone, by number of connections: what the machine can do. */
void pawl__bench_pg_floor(struct pawl__bench *bench)
{
    for (int lifecycle = 0; lifecycle < 2; lifecycle++) {
        for (int connections = 1; connections <= PAWL__PG_FLOOR_CONNECTIONS; connections++) {
            floor_alone(bench, lifecycle, connections);
        }
    }
}
