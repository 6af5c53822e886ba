/* Every n-th call of every kind fails once, a few times, or permanently, in some cases followed by
 * a power cut. For single cases: fault_test --seed N --first N --last N --only "a sync fails". */
#include "fault/fault_vfs.h"
#include "fault/scenario.h"

#include <dirent.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#define ERR(name) (UINT32_C(1) << PAWL_ERR_##name)

enum {
    QUIET_RUNS = 3, /* so many runs without the fault end a sweep */
    DENSE = 4       /* the first few calls are tried at any scale */
};

/* How the run ends, before it is judged. */
enum ending { ENDING_CLOSED, ENDING_CUT_BARE, ENDING_CUT_RANDOM, ENDING_END };

struct sweep {
    enum fault fault;
    uint32_t errors; /* that it may cause */
};

static const struct sweep sweeps[] = {
    { FAULT_WRITE, ERR(IO) | ERR(UNSAFE) },
    { FAULT_WRITE_TORN, ERR(IO) | ERR(UNSAFE) },
    { FAULT_WRITE_FULL, ERR(FULL) | ERR(UNSAFE) },
    { FAULT_WRITE_READONLY, ERR(READONLY) | ERR(UNSAFE) },
    { FAULT_SYNC, ERR(IO) | ERR(UNSAFE) },
    { FAULT_OPEN, ERR(IO) | ERR(UNSAFE) },
    { FAULT_TRUNCATE, ERR(IO) | ERR(UNSAFE) },
    { FAULT_READ, ERR(IO) | ERR(UNSAFE) },
    { FAULT_READ_SHORT, ERR(IO) | ERR(UNSAFE) },
    { FAULT_LOCK, ERR(IO) | ERR(UNSAFE) },
    { FAULT_SHM, ERR(IO) | ERR(UNSAFE) },
    { FAULT_REMOVE, ERR(IO) | ERR(UNSAFE) },
    { FAULT_SIZE, ERR(IO) | ERR(UNSAFE) },
    { FAULT_POWER, ERR(IO) | ERR(UNSAFE) },
};

static const int64_t bursts[] = { 1, 3, 0 }; /* 0: for good */

static uint64_t seed;
static int64_t first_n = 1, last_n = INT64_MAX, step_n = 1;
static const char *only;
static char dir[KIT_PATH_BYTES];

/* ---- leaks ---- */

static int open_files(void)
{
    int count = 0;
    DIR *files = opendir("/proc/self/fd");
    while (files && readdir(files)) {
        count++;
    }
    if (files) closedir(files);
    return count;
}

struct holdings {
    int files;
    int64_t sqlite_bytes;
};

static struct holdings holdings_now(void)
{
    return (struct holdings){ open_files(), sqlite3_memory_used() };
}

static void judge_holdings(struct kit_complaints *complaints, const char *name,
                           struct holdings before)
{
    struct holdings after = holdings_now();
    if (after.files != before.files) {
        kit_complain(complaints, "%s: %d files are still open", name, after.files - before.files);
    }
    if (after.sqlite_bytes > before.sqlite_bytes) {
        kit_complain(complaints, "%s: SQLite still holds %" PRId64 " bytes", name,
                     after.sqlite_bytes - before.sqlite_bytes);
    }
}

/* ---- one run ---- */

struct run {
    const struct sweep *sweep;
    struct fault_plan plan;
    enum ending ending;
};

static void run_name(char *out, size_t size, const struct run *run)
{
    static const char *const endings[] = { "closed", "power cut", "power cut, some arrived" };
    const char *often = run->plan.count == 1 ? "" : run->plan.count ? " three times" : " for good";
    snprintf(out, size, "%s%s at %" PRId64 ", %s", fault_name(run->plan.fault), often,
             run->plan.nth, endings[run->ending]);
}

/* Did the fault come to pass? */
static bool run_once(const struct run *run, struct kit_complaints *complaints)
{
    char path[KIT_PATH_BYTES];
    snprintf(path, sizeof path, "%.480s/fault.db", dir);
    struct scenario scenario;
    fault_settle();
    scenario_init(&scenario, complaints, path);
    run_name(scenario.name, sizeof scenario.name, run);
    scenario.errors_allowed = run->sweep->errors;
    struct holdings before = holdings_now();
    fault_set_careful((run->plan.nth / ENDING_END) % 2 == 0);
    fault_arm(run->plan);
    scenario_run(&scenario);
    if (run->ending != ENDING_CLOSED) fault_cut_power();
    scenario_close(&scenario);
    bool fired = fault_fired();
    fault_arm((struct fault_plan){ 0 });
    if (run->ending != ENDING_CLOSED || run->plan.fault == FAULT_POWER) {
        fault_restore(run->ending == ENDING_CUT_RANDOM ? seed + (uint64_t)run->plan.nth : 0);
    }
    judge_holdings(complaints, scenario.name, before);
    scenario_judge(&scenario);
    judge_holdings(complaints, scenario.name, before);
    if (!fired && scenario.failures) {
        kit_complain(complaints, "%s: failures without a fault", scenario.name);
    }
    scenario_release(&scenario);
    return fired;
}

/* ---- the tests ---- */

static void walks_without_a_fault(void **state)
{
    static const struct sweep none = { FAULT_NONE, 0 };
    struct kit_complaints complaints = { .suite = "fault" };
    for (int ending = 0; ending < ENDING_END; ending++) {
        struct run run = { .sweep = &none, .ending = (enum ending)ending };
        (void)run_once(&run, &complaints);
    }
    assert_int_equal(complaints.count, 0);
}

/* The calls to be hit: all at full scale, else the first few and then some. */
static int64_t next_n(int64_t n)
{
    if (n < DENSE) return n + 1;
    return n == DENSE ? n + 1 + (int64_t)(seed % (uint64_t)step_n) : n + step_n;
}

/* One kind of fault at one call after the other, in each length and with each ending in turn. */
static void keeps_its_word(void **state)
{
    const struct sweep *sweep = *state;
    struct kit_complaints complaints = { .suite = "fault" };
    int64_t runs = 0, hits = 0;
    for (size_t burst = 0; burst < KIT_COUNT(bursts); burst++) {
        int quiet = 0;
        for (int64_t n = first_n; n <= last_n && quiet < QUIET_RUNS; n = next_n(n)) {
            struct run run = { .sweep = sweep,
                               .plan = { sweep->fault, n, bursts[burst] },
                               .ending = (enum ending)(((uint64_t)n + seed) % ENDING_END) };
            bool fired = run_once(&run, &complaints);
            quiet = fired ? 0 : quiet + 1;
            hits += fired;
            runs++;
        }
    }
    fprintf(stderr, "# fault: %s: %" PRId64 " runs, %" PRId64 " hit\n", fault_name(sweep->fault),
            runs, hits);
    if (complaints.count) print_error("seed %" PRIu64 "\n", seed);
    assert_int_equal(complaints.count, 0);
    assert_true(hits > 0);
}

/* ---- the way back from doubt, step by step ---- */

static enum pawl_err put(struct pawl__store *store, const char *value, struct pawl_diag *diag)
{
    struct pawl__op op = { .kind = PAWL__OP_SETTING_PUT,
                           .diag = diag,
                           .setting = { .name = "doubt", .value = value } };
    enum pawl_err err = pawl__store_do(store, &op);
    pawl__arena_release(&op.arena);
    return err;
}

static int64_t times_reopened(struct pawl__store *store)
{
    struct pawl__store_counters counters;
    pawl__store_counters_get(store, &counters);
    return counters.reopened;
}

static struct pawl__store *open_doubtful(struct kit_clock *clock, const char *name)
{
    char url[KIT_PATH_BYTES];
    fault_arm((struct fault_plan){ 0 });
    fault_settle();
    kit_url(url, dir, name);
    kit_clock_init(clock, KIT_START_MS, false);
    struct pawl__store *store = NULL;
    struct pawl_diag diag = { 0 };
    struct pawl_config config = kit_config(url, &clock->clock);
    assert_int_equal(pawl__store_open(&config, &store, &diag), PAWL_OK);
    assert_int_equal(put(store, "before", &diag), PAWL_OK);
    return store;
}

static void refuses_writes_until_reopened(void **state)
{
    struct kit_clock clock;
    struct pawl_diag diag = { 0 };
    struct pawl__store *store = open_doubtful(&clock, "doubt.db");
    fault_arm((struct fault_plan){ FAULT_SYNC, 1, 0 });
    assert_int_equal(put(store, "lost", &diag), PAWL_ERR_IO);
    assert_int_equal(put(store, "refused", &diag), PAWL_ERR_UNSAFE);
    assert_non_null(strstr(diag.text, "reopened"));
    kit_clock_advance(&clock, 1001); // it tries, and fails: reopening includes a sync
    assert_int_equal(put(store, "refused", &diag), PAWL_ERR_UNSAFE);
    assert_int_equal(times_reopened(store), 0);
    fault_arm((struct fault_plan){ 0 });
    kit_clock_advance(&clock, 900); // once a second at most
    assert_int_equal(put(store, "refused", &diag), PAWL_ERR_UNSAFE);
    assert_int_equal(times_reopened(store), 0);
    struct pawl__arena arena = { 0 };
    const char *value = "";
    assert_int_equal(pawl__store_setting(store, "doubt", &arena, &value, &diag), PAWL_OK);
    assert_string_not_equal(value, "refused");
    kit_clock_advance(&clock, 101);
    assert_int_equal(put(store, "after", &diag), PAWL_OK);
    assert_int_equal(times_reopened(store), 1);
    assert_int_equal(pawl__store_setting(store, "doubt", &arena, &value, &diag), PAWL_OK);
    assert_string_equal(value, "after");
    pawl__arena_release(&arena);
    pawl__store_close(store);
}

/* A disk that forgets what it could not sync, as Linux does, and a log whose later part is
 * acknowledged: the part in the middle must not be missing. */
static void builds_on_nothing_that_was_not_synced(void **state)
{
    for (int64_t failing = 1; failing <= 16; failing++) {
        struct kit_clock clock;
        struct pawl_diag diag = { 0 };
        struct pawl__arena arena = { 0 };
        const char *value = "";
        fault_set_careful(failing % 4 < 2);
        struct pawl__store *store = open_doubtful(&clock, "chain.db");
        if (failing % 2) { // a reader that stays keeps the log from being begun anew
            assert_int_equal(pawl__store_setting(store, "doubt", &arena, &value, &diag), PAWL_OK);
        }
        fault_arm((struct fault_plan){ FAULT_SYNC, 1, (failing + 3) / 4 });
        assert_int_equal(put(store, "lost", &diag), PAWL_ERR_IO);
        char last[32] = "before";
        for (int i = 0; i < 6; i++) {
            char text[32];
            kit_clock_advance(&clock, 1001);
            snprintf(text, sizeof text, "after %d", i);
            if (put(store, text, &diag) == PAWL_OK) memcpy(last, text, sizeof last);
        }
        assert_string_equal(last, "after 5");
        fault_cut_power();
        pawl__store_close(store);
        fault_restore(0);
        char url[KIT_PATH_BYTES];
        kit_url(url, dir, "chain.db");
        struct pawl_config config = kit_config(url, &clock.clock);
        assert_int_equal(pawl__store_open(&config, &store, &diag), PAWL_OK);
        assert_int_equal(pawl__store_setting(store, "doubt", &arena, &value, &diag), PAWL_OK);
        assert_string_equal(value, last);
        pawl__arena_release(&arena);
        pawl__store_close(store);
    }
}

int main(int argc, char **argv)
{
    seed = kit_seed();
    int64_t percent = kit_scaled(100, 1);
    if (percent < 100) step_n = 100 / percent;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seed") == 0) seed = kit_number(argv[i + 1]);
        if (strcmp(argv[i], "--first") == 0) first_n = (int64_t)kit_number(argv[i + 1]);
        if (strcmp(argv[i], "--last") == 0) last_n = (int64_t)kit_number(argv[i + 1]);
        if (strcmp(argv[i], "--only") == 0) only = argv[i + 1];
    }
    fprintf(stderr, "# fault: seed %" PRIu64 "\n", seed);
    fault_vfs_install();
    kit_dir_make_fast(dir);
    struct CMUnitTest tests[3 + KIT_COUNT(sweeps)] = {
        cmocka_unit_test(walks_without_a_fault),
        cmocka_unit_test(refuses_writes_until_reopened),
        cmocka_unit_test(builds_on_nothing_that_was_not_synced),
    };
    size_t count = 3;
    for (size_t i = 0; i < KIT_COUNT(sweeps); i++) {
        const char *name = fault_name(sweeps[i].fault);
        if (only && strcmp(only, name) != 0) continue;
        tests[count++] = (struct CMUnitTest){ .name = name,
                                              .test_func = keeps_its_word,
                                              .initial_state = (void *)&sweeps[i] };
    }
    int failed = _cmocka_run_group_tests("fault", tests, count, NULL, NULL);
    kit_dir_remove(dir);
    return failed;
}
