/* Whole lifecycles with concurrent archive and purge, compared with those without. The tidier works
 * like a node: a small step, then a pause nine times as long. */
#include "bench.h"

#include <stdatomic.h>

enum { STEP_JOBS = 256, REST = 9, REST_US_MAX = 50000 };

struct retention {
    struct pawl__bench *bench;
    struct pawl__store *store;
    struct pawl__clients *clients;
    pthread_t tidier;
    _Atomic bool stop;
    int64_t archived, purged; /* the tidier's, until it is joined */
};

static double clients_slice(void *ctx)
{
    struct retention *retention = ctx;
    const struct pawl__clients_options options = {
        .store = retention->store,
        .lifecycle = true,
        .for_us = retention->bench->slice_us,
    };
    return pawl__clients_run(retention->clients, &options).per_s;
}

static int64_t tidy_step(struct retention *retention, enum pawl__op_kind kind)
{
    struct pawl__op op = { .kind = kind };
    op.retire.states = PAWL_STATE_BIT(PAWL_STATE_COMPLETED);
    op.retire.age_ms = 0;
    op.retire.limit = STEP_JOBS;
    if (pawl__store_do(retention->store, &op)) pawl__bench_check(&op);
    pawl__arena_release(&op.arena);
    return op.retire.moved;
}

static void rest(int64_t us)
{
    const struct timespec wait = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };
    nanosleep(&wait, NULL);
}

static void *tidy(void *arg)
{
    struct retention *retention = arg;
    for (int turn = 0; !atomic_load(&retention->stop); turn++) {
        const int64_t start_us = pawl__bench_now_us();
        if (turn % 2) {
            retention->purged += tidy_step(retention, PAWL__OP_PURGE);
        } else {
            retention->archived += tidy_step(retention, PAWL__OP_ARCHIVE);
        }
        const int64_t us = (pawl__bench_now_us() - start_us) * REST;
        rest(us < REST_US_MAX ? us : REST_US_MAX);
    }
    return NULL;
}

static double tidied_slice(void *ctx)
{
    struct retention *retention = ctx;
    atomic_store(&retention->stop, false);
    if (pthread_create(&retention->tidier, NULL, tidy, retention)) {
        pawl__bench_die("could not start a thread");
    }
    const double per_s = clients_slice(retention);
    atomic_store(&retention->stop, true);
    pthread_join(retention->tidier, NULL);
    return per_s;
}

void pawl__bench_retention(struct pawl__bench *bench)
{
    struct retention retention = { .bench = bench,
                                   .store = pawl__bench_open(bench, "store.db"),
                                   .clients = pawl__clients_new(bench) };
    const struct pawl__pairs pairs = {
        .name = "lifecycle beside archive+purge",
        .unit = "jobs/s",
        .floor = clients_slice,
        .floor_ctx = &retention,
        .value = tidied_slice,
        .value_ctx = &retention,
        .kind = PAWL__GOAL_AT_LEAST,
        .goal = 0.85,
        .count = 8,
    };
    clients_slice(&retention); // something to archive
    struct pawl__row row = pawl__pairs_run(bench, &pairs);
    snprintf(row.note, sizeof row.note, "floor: without; archived %lld, purged %lld",
             (long long)retention.archived, (long long)retention.purged);
    pawl__report_add(&row);
    pawl__store_close(retention.store);
    pawl__clients_free(retention.clients);
}
