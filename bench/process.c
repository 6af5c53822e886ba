/* Nodes that are processes of their own: `pawl work` with commands as handlers against a bare loop
 * that starts the same command, and `pawl work` with nothing to do. */
#include "bench.h"

#include <stdatomic.h>
#include <sys/resource.h>

enum {
    WORKERS = 2,
    SETTLE_US = 3000000, /* until a node that has just started is idle */
    FILL_CALL_JOBS = 1000,
    DUE_MS = 24 * 3600 * 1000 /* far enough ahead */
};

/* ---- commands as handlers ---- */

struct exec {
    struct pawl__bench *bench;
    int64_t runs; /* in a slice */
    _Atomic int64_t left;
    int64_t floor_us, node_us; /* CPU of all slices, commands included */
    int64_t floor_runs, node_runs;
};

static int64_t time_us(const struct timeval *at)
{
    return (int64_t)at->tv_sec * 1000000 + at->tv_usec;
}

/* CPU time of this process and of its ended children, including theirs. */
static int64_t cpu_us(void)
{
    int64_t us = 0;
    static const int whose[] = { RUSAGE_SELF, RUSAGE_CHILDREN };
    for (size_t i = 0; i < sizeof whose / sizeof *whose; i++) {
        struct rusage usage;
        if (getrusage(whose[i], &usage)) pawl__bench_die("could not ask for CPU time: %m");
        us += time_us(&usage.ru_utime) + time_us(&usage.ru_stime);
    }
    return us;
}

static void *spawn_some(void *arg)
{
    static const char *const argv[] = { "/bin/sh", "-c", "true", NULL };
    struct exec *exec = arg;
    while (atomic_fetch_sub(&exec->left, 1) > 0) {
        pawl__child_wait(pawl__child_start((char *const *)argv, 1), "true");
    }
    return NULL;
}

static double spawn_slice(void *ctx)
{
    struct exec *exec = ctx;
    pthread_t threads[WORKERS];
    const int64_t start_us = pawl__bench_now_us(), before_us = cpu_us();
    atomic_store(&exec->left, exec->runs);
    for (int i = 0; i < WORKERS; i++) {
        if (pthread_create(&threads[i], NULL, spawn_some, exec)) {
            pawl__bench_die("could not start a thread");
        }
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
    }
    exec->floor_us += cpu_us() - before_us;
    exec->floor_runs += exec->runs;
    return (double)exec->runs * 1e6 / (double)(pawl__bench_now_us() - start_us);
}

/* From the start of the node's process to its end, when all jobs are done. */
static double exec_slice(void *ctx)
{
    struct exec *exec = ctx;
    struct pawl *pawl = pawl__bench_pawl_open(exec->bench, "node.db");
    pawl__hands_run(&(struct pawl__hands_options){
        .pawl = pawl, .threads = 1, .per_call = FILL_CALL_JOBS, .jobs_max = exec->runs });
    pawl_close(pawl);
    const struct pawl__url url = pawl__bench_url(exec->bench, "node.db");
    const char *const argv[] = { exec->bench->pawl, "work",    "--store", url.text,
                                 "--workers",       "2",       "--exec",  "mail.send=true",
                                 "--once",          "--quiet", NULL };
    const int64_t start_us = pawl__bench_now_us(), before_us = cpu_us();
    pawl__node_wait(pawl__node_start((char *const *)argv, -1), "pawl work");
    exec->node_us += cpu_us() - before_us;
    exec->node_runs += exec->runs;
    return (double)exec->runs * 1e6 / (double)(pawl__bench_now_us() - start_us);
}

/* Steadier than the rate: other programs hardly affect it. */
static void report_exec_cpu(const struct exec *exec)
{
    struct pawl__row row = { .unit = "us/run" };
    row.value = (double)exec->node_us / (double)exec->node_runs;
    row.floor = (double)exec->floor_us / (double)exec->floor_runs;
    row.ratio = row.value / row.floor;
    snprintf(row.name, sizeof row.name, "commands as handlers, CPU");
    snprintf(row.note, sizeof row.note, "of all processes");
    pawl__report_add(&row);
}

void pawl__bench_exec(struct pawl__bench *bench)
{
    struct exec exec = { .bench = bench, .runs = bench->quick ? 50 : 3000 };
    const struct pawl__pairs pairs = {
        .name = "commands as handlers",
        .unit = "runs/s",
        .floor = spawn_slice,
        .floor_ctx = &exec,
        .value = exec_slice,
        .value_ctx = &exec,
        .kind = PAWL__GOAL_AT_LEAST,
        .goal = 0.70,
    };
    struct pawl__row row = pawl__pairs_run(bench, &pairs);
    snprintf(row.note, sizeof row.note, "2 workers run \"true\"; floor: 2 threads, posix_spawn");
    pawl__report_add(&row);
    report_exec_cpu(&exec);
}

/* ---- nothing to do ---- */

struct idle {
    pid_t pid;
    clockid_t clock; /* CPU time of the whole process */
    int64_t cpu_us;
    int64_t kib; /* resident */
};

static void idle_start(struct pawl__bench *bench, struct idle *idle, const char *name)
{
    const struct pawl__url url = pawl__bench_url(bench, name);
    const char *const argv[] = { bench->pawl, "work",   "--store",        url.text,  "--workers",
                                 "2",         "--exec", "mail.send=true", "--quiet", NULL };
    idle->pid = pawl__node_start((char *const *)argv, -1);
    idle->clock = pawl__child_clock(idle->pid);
}

static void fill_scheduled(struct pawl__bench *bench, const char *name, int64_t jobs)
{
    struct pawl *pawl = pawl__bench_pawl_open(bench, name);
    if (jobs > 0) {
        pawl__hands_run(&(struct pawl__hands_options){ .pawl = pawl,
                                                       .threads = 2,
                                                       .per_call = FILL_CALL_JOBS,
                                                       .jobs_max = jobs,
                                                       .delay_ms = DUE_MS });
    }
    pawl_close(pawl);
}

static void report_cpu(const struct idle *empty, const struct idle *full, int64_t window_us)
{
    struct pawl__row row = { .unit = "%", .kind = PAWL__GOAL_VALUE_BELOW, .goal = 0.1 };
    row.value = (double)full->cpu_us * 100 / (double)window_us;
    row.floor = (double)empty->cpu_us * 100 / (double)window_us;
    row.ratio = row.value / row.floor;
    snprintf(row.name, sizeof row.name, "idle node, 1M scheduled, CPU");
    snprintf(row.note, sizeof row.note, "over %lld s; floor: an empty store",
             (long long)(window_us / 1000000));
    pawl__report_add(&row);
}

static void report_memory(const struct idle *empty, const struct idle *full)
{
    struct pawl__row row = { .unit = "MiB", .kind = PAWL__GOAL_AT_MOST, .goal = 1.1 };
    row.value = (double)full->kib / 1024;
    row.floor = (double)empty->kib / 1024;
    row.ratio = row.value / row.floor;
    snprintf(row.name, sizeof row.name, "idle node, 1M scheduled, resident memory");
    snprintf(row.note, sizeof row.note, "floor: an empty store");
    pawl__report_add(&row);
}

/* Both nodes at the same time, so that other programs affect both alike. */
void pawl__bench_idle(struct pawl__bench *bench)
{
    const int64_t window_us = bench->quick ? 100000 : 10 * bench->slice_us;
    struct idle empty = { 0 }, full = { 0 };
    fill_scheduled(bench, "empty.db", 0);
    fill_scheduled(bench, "node.db", bench->quick ? 1000 : 1000000);
    idle_start(bench, &empty, "empty.db");
    idle_start(bench, &full, "node.db");
    pawl__bench_sleep_us(bench->quick ? 500000 : SETTLE_US);
    empty.cpu_us = -pawl__bench_clock_us(empty.clock);
    full.cpu_us = -pawl__bench_clock_us(full.clock);
    pawl__bench_sleep_us(window_us);
    empty.cpu_us += pawl__bench_clock_us(empty.clock);
    full.cpu_us += pawl__bench_clock_us(full.clock);
    empty.kib = pawl__child_kib(empty.pid);
    full.kib = pawl__child_kib(full.pid);
    pawl__node_stop(empty.pid, "pawl work");
    pawl__node_stop(full.pid, "pawl work");
    report_cpu(&empty, &full, window_us);
    report_memory(&empty, &full);
}
