/* Two nodes with threads on one file run thousands of jobs with every outcome, while another thread
 * cancels, pauses and revives some. Listeners on both nodes record all moves; there are no other
 * commits.
 *
 * Afterwards every job has ended, every run has one start and one end, and the counters agree with
 * the record. PAWL_TEST_SEED repeats a run, PAWL_TEST_SCALE is the percentage of the jobs. */
#include "base/clock.h"
#include "base/rng.h"
#include "base/sync.h"
#include "support/rig.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    JOBS_FULL = 8000,
    SUBMITTERS = 3,
    NODES = 2,
    RUNS_MAX = 64,
    MEDDLE_US = 1000,
    GIVE_UP_US = 120000000
};

/* What the listeners have seen of one job; each cell is the count of one kind of move. */
struct book {
    atomic_uchar begun[RUNS_MAX]; /* by run: available -> active */
    atomic_uchar ended[RUNS_MAX]; /* by run: active -> whatever */
    atomic_uint submitted;
    atomic_uint finals; /* moves into a state that ends */
};

static struct {
    struct pawl *node[NODES];
    struct book *books;
    int64_t jobs;
    uint64_t seed;
    atomic_llong moves[PAWL_STATE_END][PAWL_STATE_END];
    atomic_llong lost, strange, errors, handled;
    atomic_bool meddling;
} world;

/* ---- ids that tell which job it is ---- */

static struct pawl_job_id id_of(int64_t index)
{
    struct pawl_job_id id = { { 0x01, 0x97, 0x70, 0, 0, 0, 0x70, 0, 0x80 } };
    for (int i = 0; i < 4; i++) {
        id.b[12 + i] = (uint8_t)(index >> (24 - 8 * i));
    }
    return id;
}

static int64_t index_of(struct pawl_job_id id)
{
    int64_t index = 0;
    for (int i = 0; i < 4; i++) {
        index = index << 8 | id.b[12 + i];
    }
    return index;
}

/* ---- the books ---- */

static void keep_books(void *ctx, const struct pawl_moved *moved)
{
    (void)ctx;
    int64_t index = index_of(moved->id);
    world.lost += moved->lost;
    if (index >= world.jobs || moved->run >= RUNS_MAX) {
        world.strange++;
        return;
    }
    struct book *book = &world.books[index];
    world.moves[moved->from][moved->to]++;
    if (moved->from == PAWL_STATE_NONE) book->submitted++;
    if (moved->to == PAWL_STATE_ACTIVE) book->begun[moved->run]++;
    if (moved->from == PAWL_STATE_ACTIVE) book->ended[moved->run]++;
    if (pawl_state_is_terminal(moved->to)) book->finals++;
}

/* ---- handlers ---- */

/* The same for the same run of the same job, whoever runs it. */
static struct pawl__rng dice_of(const struct pawl_job *job)
{
    struct pawl__rng rng;
    pawl__rng_seed(&rng,
                   world.seed * 1000003 + (uint64_t)index_of(job->id) * 101 + (uint64_t)job->run);
    return rng;
}

static enum pawl_outcome do_something(struct pawl_task *task, void *ctx)
{
    (void)ctx;
    struct pawl__rng rng = dice_of(pawl_task_job(task));
    world.handled++;
    uint64_t dice = pawl__rng_below(&rng, 100);
    if (dice < 2) (void)pawl_task_wait(task, 60);               // longer than some may take
    if (dice < 4) (void)!pawl_task_progress(task, 0.5, "half"); // it may be ours no longer
    if (dice < 6) pawl_task_log(task, 1, "dice %d", (int)dice);
    if (dice < 60) return PAWL_OUTCOME_DONE;
    pawl_task_delay(task, (int64_t)pawl__rng_below(&rng, 20));
    if (dice < 80) {
        pawl_task_error(task, "bad.luck", (struct pawl_span){ 0 }, "threw %d", (int)dice);
        return dice < 75 ? PAWL_OUTCOME_RETRY : PAWL_OUTCOME_RETRY_AFTER;
    }
    static const enum pawl_outcome rest[] = { PAWL_OUTCOME_SNOOZE, PAWL_OUTCOME_SNOOZE,
                                              PAWL_OUTCOME_DISCARD, PAWL_OUTCOME_CANCEL,
                                              PAWL_OUTCOME_SKIP };
    return rest[dice % 5];
}

static const struct pawl_node_queue queues[NODES][3] = {
    { { "left", 2 }, { "middle", 0 }, { "right", 1 } },
    { { "right", 0 }, { "left", 1 }, { "middle", 3 } },
};
static const char *const types[] = { "both", "first", "second" };

static enum pawl_err start_node(const char *url, int which, struct pawl_diag *diag)
{
    struct pawl_config config = { .store = url,
                                  .durability = PAWL_DURABILITY_RELAXED,
                                  .seed = world.seed + (uint64_t)which };
    enum pawl_err err = pawl_open(&config, &world.node[which], diag);
    if (err) return err;
    struct pawl *node = world.node[which];
    struct pawl_node_config node_config = {
        .name = which ? "second" : "first", .workers = 4, .queues = queues[which], .queue_count = 3
    };
    err = pawl_handle(node, "both", do_something, NULL, diag);
    if (!err) err = pawl_handle(node, types[1 + which], do_something, NULL, diag);
    if (!err) err = pawl_listen(node, keep_books, NULL, diag);
    return err ? err : pawl_start(node, &node_config, diag);
}

/* ---- submitters ---- */

static void fill_spec(struct pawl_job_spec *spec, struct pawl_job_id *id, int64_t index,
                      struct pawl__rng *rng)
{
    static const char *const names[] = { "left", "middle", "right" };
    *id = id_of(index);
    *spec = (struct pawl_job_spec){ .id = id,
                                    .type = types[pawl__rng_below(rng, 3)],
                                    .queue = names[pawl__rng_below(rng, 3)],
                                    .priority = (int32_t)pawl__rng_below(rng, 5),
                                    .retry = { .attempts_max = 1 + (int32_t)pawl__rng_below(rng, 4),
                                               .initial_ms = 5 } };
    if (pawl__rng_below(rng, 4) == 0) spec->delay_ms = (int64_t)pawl__rng_below(rng, 100);
    if (pawl__rng_below(rng, 4) == 0) spec->timeout_ms = 10 + (int64_t)pawl__rng_below(rng, 50);
}

/* Every SUBMITTERS-th stretch of ten, singly or all ten at once. */
static void *submit_share(void *arg)
{
    enum { STRETCH = 10 };
    int64_t mine = (int64_t)(intptr_t)arg;
    struct pawl__rng rng;
    pawl__rng_seed(&rng, world.seed * 31 + (uint64_t)mine);
    struct pawl_job_spec specs[STRETCH];
    struct pawl_job_id ids[STRETCH];
    struct pawl_submitted out[STRETCH];
    for (int64_t from = mine * STRETCH; from < world.jobs; from += SUBMITTERS * STRETCH) {
        size_t count = 0;
        while (count < STRETCH && from + (int64_t)count < world.jobs) {
            fill_spec(&specs[count], &ids[count], from + (int64_t)count, &rng);
            count++;
        }
        struct pawl *node = world.node[pawl__rng_below(&rng, NODES)];
        if (pawl__rng_below(&rng, 2)) {
            if (pawl_submit_many(node, specs, count, out, NULL)) world.errors++;
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            if (pawl_submit(node, &specs[i], &out[i], NULL)) world.errors++;
        }
    }
    return NULL;
}

/* ---- the meddler ---- */

static bool is_ordinary(enum pawl_err err)
{
    return err == PAWL_OK || err == PAWL_ERR_NOT_FOUND || err == PAWL_ERR_STATE;
}

static void meddle_once(struct pawl__rng *rng)
{
    static const enum pawl_control controls[] = { PAWL_CONTROL_CANCEL, PAWL_CONTROL_PAUSE,
                                                  PAWL_CONTROL_RESUME, PAWL_CONTROL_RESUME,
                                                  PAWL_CONTROL_RETRY };
    struct pawl *node = world.node[pawl__rng_below(rng, NODES)];
    struct pawl_job_id id = id_of((int64_t)pawl__rng_below(rng, (uint64_t)world.jobs));
    uint64_t dice = pawl__rng_below(rng, 100);
    enum pawl_err err;
    if (dice < 2) {
        err = pawl_queue_pause(node, "middle", dice == 0, NULL, NULL);
    } else if (dice < 12) { // whoever runs just now
        struct pawl_filter filter = { .states = PAWL_STATE_BIT(PAWL_STATE_ACTIVE) };
        int64_t moved;
        err = pawl_control_many(node, &filter, PAWL_CONTROL_CANCEL, 1, NULL, &moved, NULL);
    } else {
        err = pawl_control(node, id, controls[dice % 5], NULL, NULL, NULL);
    }
    if (!is_ordinary(err)) world.errors++;
}

static void *meddle(void *arg)
{
    struct pawl__mutex mutex;
    struct pawl__cond never;
    struct pawl__rng rng;
    (void)arg;
    pawl__mutex_init(&mutex);
    pawl__cond_init(&never);
    pawl__rng_seed(&rng, world.seed * 77);
    while (world.meddling) {
        meddle_once(&rng);
        pawl__lock(&mutex);
        (void)pawl__cond_wait_us(&never, &mutex, MEDDLE_US);
        pawl__unlock(&mutex);
    }
    pawl__cond_release(&never);
    pawl__mutex_release(&mutex);
    return NULL;
}

/* Put right what the meddler left; what was paused may be put aside in many steps. */
static void put_right(void)
{
    struct pawl_filter paused = { .states = PAWL_STATE_BIT(PAWL_STATE_PAUSED) };
    int64_t moved;
    if (pawl_queue_pause(world.node[0], "middle", false, NULL, NULL)) world.errors++;
    do {
        moved = 0;
        if (pawl_control_many(world.node[0], &paused, PAWL_CONTROL_RESUME, PAWL_BULK_MAX, NULL,
                              &moved, NULL)) {
            world.errors++;
        }
    } while (moved > 0);
}

/* ---- the reckoning ---- */

static int64_t live_jobs(void)
{
    struct pawl_stats stats = { 0 };
    int64_t count = 0;
    if (pawl_stats_get(world.node[0], &stats, NULL)) world.errors++;
    for (int state = 1; state < PAWL_STATE_END; state++) {
        if (!pawl_state_is_terminal((enum pawl_state)state)) count += stats.count[state];
    }
    pawl_stats_release(&stats);
    return count;
}

static void wait_for_the_end(void)
{
    int64_t until_us = pawl__clock_mono_us(&pawl__clock_system) + GIVE_UP_US;
    while (live_jobs() > 0 && pawl__clock_mono_us(&pawl__clock_system) < until_us) {
        (void)pawl_idle(world.node[0], 1000, 1000);
    }
}

#define prove(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fail_msg("%s (repeat with PAWL_TEST_SEED=%" PRIu64 ")", #condition, world.seed);       \
        }                                                                                          \
    } while (0)

static int64_t sum_of_runs(void)
{
    int64_t runs = 0;
    for (int64_t i = 0; i < world.jobs; i++) {
        struct book *book = &world.books[i];
        struct pawl_jobs jobs = { 0 };
        prove(pawl_get(world.node[i % NODES], id_of(i), &jobs, NULL) == PAWL_OK);
        const struct pawl_job *job = &jobs.at[0];
        prove(pawl_state_is_terminal(job->state));
        prove(book->submitted == 1);
        prove(book->finals >= 1);
        for (int64_t run = 1; run < RUNS_MAX; run++) {
            prove(book->begun[run] == (run <= job->run));
            prove(book->ended[run] == (run <= job->run));
        }
        runs += job->run;
        pawl_jobs_release(&jobs);
    }
    return runs;
}

static int64_t ended_in(enum pawl_state state)
{
    return world.moves[PAWL_STATE_ACTIVE][state];
}

static void compare_counters(int64_t runs)
{
    struct pawl_counters sum = { 0 }, one;
    for (int i = 0; i < NODES; i++) {
        pawl_counters_get(world.node[i], &one);
        sum.submitted += one.submitted;
        sum.claimed += one.claimed;
        sum.completed += one.completed;
        sum.failed += one.failed;
        sum.discarded += one.discarded;
        sum.snoozed += one.snoozed;
        sum.cancelled += one.cancelled;
        sum.lapsed += one.lapsed;
        sum.run_us.count += one.run_us.count;
        prove(one.running == 0 && one.waiting == 0);
        prove(one.commits_failed == 0);
        prove(one.claimed > 0); // both had their share
    }
    prove(sum.submitted == world.jobs);
    prove(sum.claimed == runs);
    prove(sum.completed == ended_in(PAWL_STATE_COMPLETED) + ended_in(PAWL_STATE_SKIPPED));
    prove(sum.failed == ended_in(PAWL_STATE_RETRYABLE) + ended_in(PAWL_STATE_DISCARDED));
    prove(sum.discarded == ended_in(PAWL_STATE_DISCARDED));
    prove(sum.snoozed == ended_in(PAWL_STATE_SCHEDULED) + ended_in(PAWL_STATE_AVAILABLE));
    prove(sum.cancelled <= ended_in(PAWL_STATE_CANCELLED));
    prove(sum.cancelled > 0);
    prove(sum.lapsed == 0);
    prove(world.handled == sum.run_us.count);
}

static void print_finding(void *ctx, const char *finding)
{
    (void)ctx;
    print_error("store check: %s\n", finding);
}

static void let_it_run(void)
{
    pthread_t submitters[SUBMITTERS], meddler;
    world.meddling = true;
    assert_int_equal(pthread_create(&meddler, NULL, meddle, NULL), 0);
    for (intptr_t i = 0; i < SUBMITTERS; i++) {
        assert_int_equal(pthread_create(&submitters[i], NULL, submit_share, (void *)i), 0);
    }
    for (int i = 0; i < SUBMITTERS; i++) {
        pthread_join(submitters[i], NULL);
    }
    (void)pawl_idle(world.node[1], 0, 1000); // it goes on meddling with the last ones
    world.meddling = false;
    pthread_join(meddler, NULL);
    put_right();
    wait_for_the_end();
}

static void everything_ends_and_is_counted_once(void **state)
{
    (void)state;
    const struct store_kind *kind = store_kind_shared();
    char url[RIG_URL_BYTES];
    struct pawl_diag diag = { 0 };
    kind->make(url, sizeof url);
    for (int i = 0; i < NODES; i++) {
        if (start_node(url, i, &diag)) fail_msg("node %d: %s", i, diag.text);
    }
    int64_t began_us = pawl__clock_mono_us(&pawl__clock_system);
    let_it_run();
    int64_t live = live_jobs();
    for (int i = 0; i < NODES; i++) { // all have ended: nothing is to be given back
        int64_t given_back = -1;
        pawl_stop(world.node[i], NULL, &given_back);
        prove(given_back == 0);
        prove(pawl_listen(world.node[i], NULL, NULL, &diag) == PAWL_OK);
    }
    prove(live == 0);
    prove(world.errors == 0);
    prove(world.lost == 0);
    prove(world.strange == 0);
    int64_t runs = sum_of_runs();
    compare_counters(runs);
    prove(pawl_check(world.node[0], print_finding, NULL, &diag) == PAWL_OK);
    print_message("# %" PRId64 " jobs, %" PRId64 " runs in %" PRId64 " ms\n", world.jobs, runs,
                  (pawl__clock_mono_us(&pawl__clock_system) - began_us) / 1000);
    for (int i = 0; i < NODES; i++) {
        pawl_close(world.node[i]);
    }
    kind->dispose(url);
}

int main(void)
{
    const char *text = getenv("PAWL_TEST_SEED");
    world.seed = text ? strtoull(text, NULL, 10) : pawl__rng_system_seed() % 1000000;
    world.jobs = scaled(JOBS_FULL);
    if (world.jobs < 200) world.jobs = 200;
    world.books = calloc((size_t)world.jobs, sizeof *world.books);
    if (!world.books) return 1;
    const struct CMUnitTest tests[] = { cmocka_unit_test(everything_ends_and_is_counted_once) };
    int failed = cmocka_run_group_tests_name("engine_load", tests, NULL, NULL);
    free(world.books);
    return failed;
}
