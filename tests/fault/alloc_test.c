/* The n-th allocation fails, alone or with some that follow: the result is an error or success,
 * never a crash or a leak, nothing acknowledged is lost, and when memory is available again
 * everything works. For single cases: alloc_test --seed N --first N --last N --only NAME. */
#include "fault/alloc.h"
#include "fault/api_walk.h"
#include "fault/node_walk.h"
#include "fault/scenario.h"

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

/* Of one sweep at full scale; where there are more, even steps from a random start. */
enum { POINTS = 200, POINTS_LEAST = 20 };

struct outcome {
    int64_t seen, failed; /* allocations */
    int64_t failures;     /* operations */
};

typedef struct outcome walk_fn(struct kit_complaints *complaints, struct alloc_plan plan,
                               const char *name);
static walk_fn walk_store, walk_api, walk_node;

struct sweep {
    const char *name;
    walk_fn *walk;
    enum scarcity scarce;
};

static const struct sweep sweeps[] = {
    { "store_survives_want_of_our_memory", walk_store, SCARCE_OURS },
    { "store_survives_want_of_sqlite_memory", walk_store, SCARCE_SQLITE },
    { "store_survives_want_of_threads", walk_store, SCARCE_THREADS },
    { "api_survives_want_of_our_memory", walk_api, SCARCE_OURS },
    { "api_survives_want_of_sqlite_memory", walk_api, SCARCE_SQLITE },
    { "api_survives_want_of_threads", walk_api, SCARCE_THREADS },
    { "node_survives_want_of_our_memory", walk_node, SCARCE_OURS },
    { "node_survives_want_of_sqlite_memory", walk_node, SCARCE_SQLITE },
    { "node_survives_want_of_threads", walk_node, SCARCE_THREADS },
};

static const int64_t bursts[] = { 1, 4, 0 }; /* 0: for good */

static uint64_t seed;
static int64_t first_n, last_n = INT64_MAX;
static const char *only;
static char dir[KIT_PATH_BYTES];
static char path[KIT_PATH_BYTES];

static struct outcome walk_store(struct kit_complaints *complaints, struct alloc_plan plan,
                                 const char *name)
{
    struct scenario scenario;
    scenario_init(&scenario, complaints, path);
    snprintf(scenario.name, sizeof scenario.name, "%s", name);
    scenario.errors_allowed = ERR(NOMEM);
    alloc_arm(plan);
    scenario_run(&scenario);
    scenario_close(&scenario);
    struct outcome outcome = { alloc_seen(), alloc_failed(), scenario.failures };
    alloc_arm((struct alloc_plan){ 0 });
    scenario_judge(&scenario);
    scenario_release(&scenario);
    return outcome;
}

static struct outcome walk_api(struct kit_complaints *complaints, struct alloc_plan plan,
                               const char *name)
{
    struct api_walk walk;
    api_walk_init(&walk, complaints, path);
    snprintf(walk.name, sizeof walk.name, "%s", name);
    alloc_arm(plan);
    api_walk_run(&walk);
    struct outcome outcome = { alloc_seen(), alloc_failed(), walk.failures };
    alloc_arm((struct alloc_plan){ 0 });
    api_walk_judge(&walk);
    return outcome;
}

static struct outcome walk_node(struct kit_complaints *complaints, struct alloc_plan plan,
                                const char *name)
{
    static struct node_walk walk;
    node_walk_init(&walk, complaints, path);
    snprintf(walk.name, sizeof walk.name, "%s", name);
    alloc_arm(plan);
    node_walk_run(&walk);
    struct outcome outcome = { alloc_seen(), alloc_failed(), walk.failures };
    alloc_arm((struct alloc_plan){ 0 });
    if (!outcome.failed && walk.heard < 3 * NODE_WALK_JOBS) { // submitted, claimed, completed
        kit_complain(complaints, "%s: only %" PRId64 " moves in peace", name, walk.heard);
    }
    node_walk_judge(&walk);
    return outcome;
}

static struct outcome run_once(const struct sweep *sweep, struct kit_complaints *complaints,
                               struct alloc_plan plan)
{
    char name[96];
    snprintf(name, sizeof name, "%s fails at %" PRId64 "%s", scarcity_name(plan.scarce), plan.nth,
             plan.count == 1 ? ""
             : plan.count    ? " and a few times more"
                             : " and for good");
    int64_t live = alloc_live(), sqlite_bytes = sqlite3_memory_used();
    struct outcome outcome = sweep->walk(complaints, plan, name);
    if (alloc_live() != live) {
        kit_complain(complaints, "%s: %" PRId64 " blocks leaked", name, alloc_live() - live);
    }
    if (sqlite3_memory_used() > sqlite_bytes) {
        kit_complain(complaints, "%s: SQLite still holds %" PRId64 " bytes", name,
                     (int64_t)sqlite3_memory_used() - sqlite_bytes);
    }
    if (!outcome.failed && outcome.failures) {
        kit_complain(complaints, "%s: failures without a cause", name);
    }
    return outcome;
}

static void survives(void **state)
{
    const struct sweep *sweep = *state;
    struct kit_complaints complaints = { .suite = "alloc" };
    struct alloc_plan plan = { .scarce = sweep->scarce };
    (void)run_once(sweep, &complaints, plan); // warms SQLite's own globals
    struct outcome calm = run_once(sweep, &complaints, plan);
    assert_true(calm.seen > 0);
    int64_t points = kit_scaled(POINTS, POINTS_LEAST);
    int64_t step = calm.seen / points + 1, hits = 0;
    int64_t start = first_n ? first_n : 1 + (int64_t)(seed % (uint64_t)step);
    if (first_n) step = 1;
    for (plan.nth = start; plan.nth <= calm.seen && plan.nth <= last_n; plan.nth += step) {
        for (size_t i = 0; i < KIT_COUNT(bursts); i++) {
            plan.count = bursts[i];
            hits += run_once(sweep, &complaints, plan).failed > 0;
        }
    }
    fprintf(stderr, "# alloc: %s: %" PRId64 " allocations, step %" PRId64 ", %" PRId64 " hit\n",
            sweep->name, calm.seen, step, hits);
    if (complaints.count) print_error("seed %" PRIu64 "\n", seed);
    assert_int_equal(complaints.count, 0);
    assert_true(hits > 0);
}

int main(int argc, char **argv)
{
    seed = kit_seed();
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seed") == 0) seed = kit_number(argv[i + 1]);
        if (strcmp(argv[i], "--first") == 0) first_n = (int64_t)kit_number(argv[i + 1]);
        if (strcmp(argv[i], "--last") == 0) last_n = (int64_t)kit_number(argv[i + 1]);
        if (strcmp(argv[i], "--only") == 0) only = argv[i + 1];
    }
    fprintf(stderr, "# alloc: seed %" PRIu64 "\n", seed);
    alloc_install();
    kit_dir_make_fast(dir);
    snprintf(path, sizeof path, "%.480s/alloc.db", dir);
    struct CMUnitTest tests[KIT_COUNT(sweeps)];
    size_t count = 0;
    for (size_t i = 0; i < KIT_COUNT(sweeps); i++) {
        if (only && strcmp(only, sweeps[i].name) != 0) continue;
        tests[count++] = (struct CMUnitTest){ .name = sweeps[i].name,
                                              .test_func = survives,
                                              .initial_state = (void *)&sweeps[i] };
    }
    int failed = _cmocka_run_group_tests("alloc", tests, count, NULL, NULL);
    kit_dir_remove(dir);
    return failed;
}
