/* Power cuts while the log is long and being written back into the database: what was acknowledged
 * is there, and batches are whole. For a single seed: cut_test --seed N --rounds N. */
#include "fault/fault_vfs.h"

#include "crash/kit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum {
    ROUNDS = 24, /* at full scale */
    BATCH = 20,
    BATCHES_MAX = 70,
    ARGS_BYTES = 40000, /* a batch fills about a hundred pages of the log */
    CALLS_MAX = 16000   /* writes and syncs of a whole round, roughly */
};

static uint64_t seed;
static int64_t rounds_asked;
static char dir[KIT_PATH_BYTES];
static char args[ARGS_BYTES];
static struct kit_retry retry;

static struct pawl_job_id job_id(int64_t batch, size_t index)
{
    return kit_job_id((uint64_t)batch + 1, (uint32_t)index, false);
}

static enum pawl_err submit(struct pawl__store *store, int64_t batch)
{
    struct pawl_job_spec specs[BATCH];
    struct pawl__new_job jobs[BATCH];
    struct pawl_submitted out[BATCH];
    struct pawl_diag diag = { 0 };
    for (size_t i = 0; i < BATCH; i++) {
        specs[i] = (struct pawl_job_spec){ .type = "long", .args = { args, sizeof args } };
        kit_new_job(&jobs[i], &specs[i], job_id(batch, i), &retry);
    }
    struct pawl__op op = { .kind = PAWL__OP_SUBMIT,
                           .diag = &diag,
                           .submit = { .jobs = jobs, .count = BATCH, .out = out } };
    enum pawl_err err = pawl__store_do(store, &op);
    pawl__arena_release(&op.arena);
    return err;
}

/* How many jobs of a batch are there, their arguments complete? */
static size_t count_batch(struct kit_complaints *complaints, struct pawl__store *store,
                          int64_t batch)
{
    struct pawl_job_id ids[BATCH];
    for (size_t i = 0; i < BATCH; i++) {
        ids[i] = job_id(batch, i);
    }
    struct pawl__arena arena = { 0 };
    struct pawl_job *jobs = NULL;
    size_t found = 0;
    struct pawl_diag diag = { 0 };
    if (pawl__store_get(store, ids, BATCH, &arena, &jobs, &found, &diag)) {
        kit_complain(complaints, "get: %s", diag.text);
    }
    for (size_t i = 0; i < found; i++) {
        if (jobs[i].args.len != sizeof args || memcmp(jobs[i].args.at, args, sizeof args) != 0) {
            kit_complain(complaints, "a job's arguments changed");
        }
    }
    pawl__arena_release(&arena);
    return found;
}

/* Submit until the power fails. How many batches were acknowledged? */
static int64_t work_until_dark(struct kit_complaints *complaints, const char *url)
{
    struct kit_clock clock;
    kit_clock_init(&clock, KIT_START_MS, true);
    struct pawl_config config = kit_config(url, &clock.clock);
    struct pawl__store *store = NULL;
    struct pawl_diag diag = { 0 };
    enum pawl_err err = pawl__store_open(&config, &store, &diag);
    if (err && !fault_fired()) kit_complain(complaints, "open: %s", diag.text);
    if (err) return 0;
    int64_t acknowledged = 0;
    while (acknowledged < BATCHES_MAX && submit(store, acknowledged) == PAWL_OK) {
        acknowledged++;
    }
    if (acknowledged < BATCHES_MAX && !fault_fired()) {
        kit_complain(complaints, "a submit failed without a cause");
    }
    fault_cut_power();
    pawl__store_close(store);
    return acknowledged;
}

static void judge(struct kit_complaints *complaints, const char *url, int64_t acknowledged)
{
    struct kit_clock clock;
    kit_clock_init(&clock, KIT_START_MS, true);
    struct pawl_config config = kit_config(url, &clock.clock);
    struct pawl__store *store = NULL;
    struct pawl_diag diag = { 0 };
    if (pawl__store_open(&config, &store, &diag)) {
        kit_complain(complaints, "open after the cut: %s", diag.text);
        return;
    }
    kit_check(complaints, store, "after the cut");
    for (int64_t batch = 0; batch <= acknowledged; batch++) {
        size_t found = count_batch(complaints, store, batch);
        bool whole = found == BATCH || (batch == acknowledged && found == 0);
        if (!whole) {
            kit_complain(complaints, "batch %" PRId64 " of %" PRId64 " has %zu jobs", batch,
                         acknowledged, found);
        }
    }
    if (submit(store, BATCHES_MAX + 1)) kit_complain(complaints, "it does not go on");
    pawl__store_close(store);
}

static void loses_nothing_when_the_power_fails_in_a_long_log(void **state)
{
    struct kit_complaints complaints = { .suite = "cut" };
    struct pawl__rng rng;
    pawl__rng_seed(&rng, seed);
    char path[KIT_PATH_BYTES], url[KIT_PATH_BYTES];
    snprintf(path, sizeof path, "%.480s/cut.db", dir);
    kit_url(url, dir, "cut.db");
    int64_t rounds = rounds_asked ? rounds_asked : kit_scaled(ROUNDS, 3);
    int64_t total = 0;
    for (int64_t i = 0; i < rounds && !complaints.count; i++) {
        kit_store_remove(path);
        fault_settle();
        fault_set_careful(i % 2 == 0);
        int64_t nth = 1 + (int64_t)pawl__rng_below(&rng, CALLS_MAX);
        fault_arm((struct fault_plan){ FAULT_POWER, nth, 0 });
        int64_t acknowledged = work_until_dark(&complaints, url);
        fault_restore(i % 3 ? pawl__rng_next(&rng) : 0);
        judge(&complaints, url, acknowledged);
        total += acknowledged;
        if (complaints.count) fprintf(stderr, "cut: round %" PRId64 ", call %" PRId64 "\n", i, nth);
    }
    fprintf(stderr, "# cut: %" PRId64 " rounds, %" PRId64 " batches acknowledged\n", rounds, total);
    if (complaints.count) print_error("seed %" PRIu64 "\n", seed);
    assert_int_equal(complaints.count, 0);
    assert_true(total > 0);
}

int main(int argc, char **argv)
{
    seed = kit_seed();
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seed") == 0) seed = kit_number(argv[i + 1]);
        if (strcmp(argv[i], "--rounds") == 0) rounds_asked = (int64_t)kit_number(argv[i + 1]);
    }
    fprintf(stderr, "# cut: seed %" PRIu64 "\n", seed);
    memset(args, 'x', sizeof args);
    memcpy(args, "[\"", 2);
    memcpy(args + sizeof args - 2, "\"]", 2);
    fault_vfs_install();
    kit_dir_make_fast(dir);
    kit_retry_init(&retry, 3, 1000);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loses_nothing_when_the_power_fails_in_a_long_log),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    kit_retry_release(&retry);
    kit_dir_remove(dir);
    return failed;
}
