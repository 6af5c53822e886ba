/* How long one blocking submit takes while the other threads keep the store busy. */
#include "bench.h"

enum { SAMPLES_MAX = 200000 };

struct latency {
    struct pawl__bench *bench;
    struct pawl__store *store;
    struct pawl__clients *clients;
    bool lifecycle;
    pthread_t load;
};

static void *run_load(void *arg)
{
    struct latency *latency = arg;
    const struct pawl__clients_options options = {
        .store = latency->store,
        .lifecycle = latency->lifecycle,
        .threads = latency->bench->threads - 1,
        .for_us = 2 * latency->bench->slice_us,
    };
    pawl__clients_run(latency->clients, &options);
    return NULL;
}

/* Uses a queue of its own, since the clients expect to find exactly its own jobs. */
static double submit_one(struct latency *latency, struct pawl__bench_job *job)
{
    struct pawl_submitted out;
    struct pawl__op op = { .kind = PAWL__OP_SUBMIT };
    const int64_t start_us = pawl__bench_now_us();
    job->job.id = pawl__idgen_next(&latency->bench->ids);
    op.submit.jobs = &job->job;
    op.submit.count = 1;
    op.submit.out = &out;
    if (pawl__store_do(latency->store, &op)) pawl__bench_check(&op);
    pawl__arena_release(&op.arena);
    return (double)(pawl__bench_now_us() - start_us) / 1e3;
}

static int sample(struct latency *latency, double *samples)
{
    struct pawl__bench_job job;
    int count = 0;
    pawl__bench_job_init(&job);
    job.spec.queue = "probe";
    pawl__payload(1, job.args);
    const int64_t start_us = pawl__bench_now_us();
    while (count < SAMPLES_MAX && pawl__bench_now_us() - start_us < 2 * latency->bench->slice_us) {
        samples[count++] = submit_one(latency, &job);
    }
    return count;
}

static void report(const char *load, const char *what, double value, int count)
{
    struct pawl__row row = { .unit = "ms", .value = value };
    snprintf(row.name, sizeof row.name, "submit latency %s, %s", what, load);
    snprintf(row.note, sizeof row.note, "%d calls", count);
    pawl__report_add(&row);
}

static void run(struct pawl__bench *bench, const char *name, bool lifecycle)
{
    double *samples = pawl__bench_calloc(SAMPLES_MAX, sizeof *samples);
    struct latency latency = { .bench = bench,
                               .store = pawl__bench_open(bench, "store.db"),
                               .clients = pawl__clients_new(bench),
                               .lifecycle = lifecycle };
    if (pthread_create(&latency.load, NULL, run_load, &latency)) {
        pawl__bench_die("could not start a thread");
    }
    const int count = sample(&latency, samples);
    pthread_join(latency.load, NULL);
    if (count == 0) pawl__bench_die("no call returned in time");
    const double median = pawl__median(samples, count); // sorted from here on
    report(name, "p50", median, count);
    report(name, "p99", samples[count - 1 - count / 100], count);
    pawl__store_close(latency.store);
    pawl__clients_free(latency.clients);
    pawl__bench_forget(bench, "store.db");
    free(samples);
}

void pawl__bench_latency(struct pawl__bench *bench)
{
    run(bench, "submits", false);
    run(bench, "lifecycles", true);
}
