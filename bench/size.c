/* Bytes of database per finished job, compared with those of a row in the plain table. */
#include "bench.h"

static void report(const char *name, int64_t bytes, int64_t jobs, double floor)
{
    struct pawl__row row = { .unit = "bytes", .value = (double)bytes / (double)jobs };
    snprintf(row.name, sizeof row.name, "%s", name);
    snprintf(row.note, sizeof row.note, "%lld jobs", (long long)jobs);
    row.floor = floor;
    row.ratio = row.value / floor;
    pawl__report_add(&row);
}

static void archive_all(struct pawl__store *store)
{
    struct pawl__op op = { .kind = PAWL__OP_ARCHIVE };
    do {
        op.retire.states = PAWL_STATE_BIT(PAWL_STATE_COMPLETED);
        op.retire.age_ms = -1000;
        op.retire.limit = PAWL__MAINTENANCE_MAX;
        if (pawl__store_do(store, &op)) pawl__bench_check(&op);
    } while (op.retire.moved > 0);
    pawl__arena_release(&op.arena);
}

static double floor_bytes(struct pawl__bench *bench, int64_t rows)
{
    struct pawl__floor *floor = pawl__floor_open(bench, "floor.db");
    pawl__floor_rows(floor, rows);
    pawl__floor_close(floor);
    return (double)pawl__bench_bytes(bench, "floor.db") / (double)rows;
}

void pawl__bench_size(struct pawl__bench *bench)
{
    const int64_t jobs = bench->quick ? 1000 : 200000;
    const double floor = floor_bytes(bench, jobs);
    struct pawl__clients *clients = pawl__clients_new(bench);
    struct pawl__store *store = pawl__bench_open(bench, "store.db");
    pawl__clients_run(clients, &(struct pawl__clients_options){
                                   .store = store, .lifecycle = true, .jobs_max = jobs });
    pawl__store_close(store); // closing the last connection checkpoints
    pawl__clients_free(clients);
    report("database, finished job", pawl__bench_bytes(bench, "store.db"), jobs, floor);
    store = pawl__bench_open(bench, "store.db");
    archive_all(store);
    pawl__store_close(store);
    report("database, archived job", pawl__bench_bytes(bench, "store.db"), jobs, floor);
}
