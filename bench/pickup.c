/* How long a job waits on an idle node: from the return of its submit to the start of its handler.
 * For comparison, the time to wake a thread through a pipe on this machine, and, because a claim is
 * on disk before its handler starts, that of one raw transaction. Between two samples all threads
 * sleep for random times. */
#include "bench.h"

#include <stdatomic.h>
#include <unistd.h>

enum { SAMPLES_MAX = 1000, REST_US = 2000, REST_MORE_US = 4000, LOOK_US = 100 };

struct pickup {
    struct pawl *pawl;
    struct pawl__floor *floor;
    int pipe[2];
    struct pawl__rng rng;
    _Atomic int64_t woken_us; /* 0: not yet */
};

static void rest(struct pickup *pickup)
{
    pawl__bench_sleep_us(REST_US + (int64_t)pawl__rng_below(&pickup->rng, REST_MORE_US));
}

static double wait_woken(struct pickup *pickup, int64_t from_us)
{
    int64_t at_us;
    while (!(at_us = atomic_load(&pickup->woken_us))) {
        pawl__bench_sleep_us(LOOK_US);
    }
    atomic_store(&pickup->woken_us, 0);
    return (double)(at_us - from_us) / 1e3;
}

/* ---- the pipe ---- */

static void *read_pipe(void *arg)
{
    struct pickup *pickup = arg;
    char byte;
    while (read(pickup->pipe[0], &byte, 1) == 1) {
        atomic_store(&pickup->woken_us, pawl__bench_now_us());
    }
    return NULL;
}

static void sample_pipe(struct pickup *pickup, double *samples, int count)
{
    pthread_t reader;
    if (pipe(pickup->pipe)) pawl__bench_die("could not make a pipe: %m");
    if (pthread_create(&reader, NULL, read_pipe, pickup)) {
        pawl__bench_die("could not start a thread");
    }
    for (int i = 0; i < count; i++) {
        rest(pickup);
        const int64_t from_us = pawl__bench_now_us();
        if (write(pickup->pipe[1], "", 1) != 1) pawl__bench_die("could not write to a pipe: %m");
        samples[i] = wait_woken(pickup, from_us);
    }
    close(pickup->pipe[1]); // ends the reader
    pthread_join(reader, NULL);
    close(pickup->pipe[0]);
}

/* ---- the node ---- */

static enum pawl_outcome note_start(struct pawl_task *task, void *ctx)
{
    struct pickup *pickup = ctx;
    atomic_store(&pickup->woken_us, pawl__bench_now_us());
    return PAWL_OUTCOME_DONE;
}

static void sample_node(struct pickup *pickup, double *samples, double *syncs, int count)
{
    const struct pawl_job_spec spec = { .type = "mail.send" };
    for (int i = 0; i < count; i++) {
        struct pawl_submitted out;
        struct pawl_diag diag = { 0 };
        rest(pickup);
        pawl__bench_pawl_check(pawl_submit(pickup->pawl, &spec, &out, &diag), &diag);
        samples[i] = wait_woken(pickup, pawl__bench_now_us());
        rest(pickup); // its outcome is written by then
        syncs[i] = pawl__floor_single(pickup->floor, 1) / 1e3;
    }
}

static void node_start(struct pickup *pickup)
{
    const struct pawl_node_config config = { .name = "bench", .workers = 2 };
    struct pawl_diag diag = { 0 };
    pawl__bench_pawl_check(pawl_handle(pickup->pawl, "mail.send", note_start, pickup, &diag),
                           &diag);
    pawl__bench_pawl_check(pawl_start(pickup->pawl, &config, &diag), &diag);
}

/* ---- the report ---- */

static void report(const char *what, double value, double floor, double sync, double goal)
{
    struct pawl__row row = { .unit = "ms",
                             .value = value,
                             .floor = floor,
                             .ratio = value / floor,
                             .kind = PAWL__GOAL_VALUE_BELOW,
                             .goal = goal };
    snprintf(row.name, sizeof row.name, "pick-up by an idle node, %s", what);
    snprintf(row.note, sizeof row.note, "floor: a pipe; a raw transaction meanwhile: %.2f ms",
             sync);
    pawl__report_add(&row);
}

void pawl__bench_pickup(struct pawl__bench *bench)
{
    const int count = bench->quick ? 20 : SAMPLES_MAX, late = count - 1 - count / 100;
    double *waits = pawl__bench_calloc(SAMPLES_MAX, sizeof *waits);
    double *wakes = pawl__bench_calloc(SAMPLES_MAX, sizeof *wakes);
    double *syncs = pawl__bench_calloc(SAMPLES_MAX, sizeof *syncs);
    struct pickup pickup = { .pawl = pawl__bench_pawl_open(bench, "node.db"),
                             .floor = pawl__floor_open(bench, "floor.db") };
    pawl__rng_seed(&pickup.rng, 1);
    sample_pipe(&pickup, wakes, count);
    node_start(&pickup);
    sample_node(&pickup, waits, syncs, count);
    pawl_stop(pickup.pawl, NULL, NULL);
    pawl_close(pickup.pawl);
    pawl__floor_close(pickup.floor);
    const double wait = pawl__median(waits, count), wake = pawl__median(wakes, count);
    report("p50", wait, wake, pawl__median(syncs, count), 1); // sorted from here on
    report("p99", waits[late], wakes[late], syncs[late], 5);
    free(waits);
    free(wakes);
    free(syncs);
}
