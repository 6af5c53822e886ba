/* A node in this process and clients that keep it busy, using only the public API. */
#include "bench.h"

#include <stdatomic.h>

enum {
    WORKERS = 2,
    AHEAD_JOBS = 4000, /* submitted but not yet handled */
    LOOK_US = 200
};

static enum pawl_outcome no_op(struct pawl_task *task, void *ctx)
{
    struct pawl__api *api = ctx;
    atomic_fetch_add_explicit(&api->handled, 1, memory_order_relaxed);
    return PAWL_OUTCOME_DONE;
}

void pawl__api_handle(struct pawl__api *api)
{
    struct pawl_diag diag = { 0 };
    pawl__bench_pawl_check(pawl_handle(api->pawl, "mail.send", no_op, api, &diag), &diag);
}

void pawl__api_start(struct pawl__api *api)
{
    const struct pawl_node_config config = { .name = "bench", .workers = WORKERS };
    struct pawl_diag diag = { 0 };
    pawl__bench_pawl_check(pawl_start(api->pawl, &config, &diag), &diag);
}

int64_t pawl__api_completed(struct pawl__api *api)
{
    struct pawl_counters counters;
    pawl_counters_get(api->pawl, &counters);
    return counters.completed;
}

void pawl__api_wait(struct pawl__api *api, int64_t completed)
{
    while (pawl__api_completed(api) < completed) {
        pawl__bench_sleep_us(LOOK_US);
    }
}

static double rate(int64_t jobs, int64_t start_us)
{
    return (double)jobs * 1e6 / (double)(pawl__bench_now_us() - start_us);
}

static struct pawl__hands_options hands(const struct pawl__api *api)
{
    return (struct pawl__hands_options){
        .pawl = api->pawl,
        .threads = api->bench->threads,
        .per_call = api->per_call,
        .post = api->post,
        .for_us = api->bench->slice_us,
    };
}

double pawl__api_submit(struct pawl__api *api)
{
    const struct pawl__hands_options options = hands(api);
    const int64_t start_us = pawl__bench_now_us();
    return rate(pawl__hands_run(&options), start_us);
}

double pawl__api_lifecycle(struct pawl__api *api)
{
    struct pawl__hands_options options = hands(api);
    const int64_t start_us = pawl__bench_now_us(), before = pawl__api_completed(api);
    atomic_store(&api->handled, 0);
    options.handled = &api->handled;
    options.ahead_max = api->ahead ? api->ahead : AHEAD_JOBS;
    const int64_t jobs = pawl__hands_run(&options);
    pawl__api_wait(api, before + jobs);
    return rate(jobs, start_us);
}

struct pawl__row pawl__api_pairs(struct pawl__api *api, const struct pawl__pairs *pairs,
                                 const char *note)
{
    struct pawl_counters before, after;
    pawl_counters_get(api->pawl, &before);
    struct pawl__row row = pawl__pairs_run(api->bench, pairs);
    pawl_counters_get(api->pawl, &after);
    const double commits = (double)(after.commits - before.commits);
    snprintf(row.note, sizeof row.note, "%s; %.1f operations a commit of %.2f ms", note,
             (double)(after.operations - before.operations) / commits,
             (double)(after.commit_us.sum_us - before.commit_us.sum_us) / commits / 1e3);
    return row;
}
