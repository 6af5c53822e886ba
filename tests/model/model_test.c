/* Random operations, drawn from a seed, on a real store and on the model at once. After each the
 * answers are compared, every so often all that can be seen.
 *
 *     model_test                                   the seeds of CI, on each store in turn
 *     model_test --seed N [--steps M] [--store URL]    one seed by hand
 *
 * A difference prints seed, step, operation and both answers, and the command that repeats it. */
#include "model/world.h"

enum {
    STEPS = 2500,
    SEEDS = 40,
    LOOK_EVERY = 50 /* steps between comparisons of everything */
};

/* weight, step */
#define STEPS_LIST(X)                                                                              \
    X(22, step_submit(w))                                                                          \
    X(14, step_claim(w, PAWL__OP_CLAIM))                                                           \
    X(4, step_claim(w, PAWL__OP_ROUTE))                                                            \
    X(4, step_assign(w))                                                                           \
    X(8, step_complete(w))                                                                         \
    X(9, step_fail(w))                                                                             \
    X(4, step_snooze(w))                                                                           \
    X(4, step_extend(w))                                                                           \
    X(2, step_checkpoint(w))                                                                       \
    X(12, step_control(w))                                                                         \
    X(2, step_bulk(w))                                                                             \
    X(3, step_priority(w))                                                                         \
    X(2, step_delete(w))                                                                           \
    X(1, step_queue(w))                                                                            \
    X(5, step_promote(w))                                                                          \
    X(4, step_lapse(w))                                                                            \
    X(3, step_expire(w))                                                                           \
    X(1, step_retire(w, PAWL__OP_ARCHIVE))                                                         \
    X(1, step_retire(w, PAWL__OP_PURGE))                                                           \
    X(12, step_clock(w))                                                                           \
    X(1, step_reopen(w))

static void take_step(struct world *w)
{
    int64_t total = 0;
#define X(weight, call) total += weight;
    STEPS_LIST(X)
#undef X
    int64_t draw = (int64_t)below(w, (uint64_t)total);
#define X(weight, call)                                                                            \
    if (draw < weight) {                                                                           \
        call;                                                                                      \
        return;                                                                                    \
    }                                                                                              \
    draw -= weight;
    STEPS_LIST(X)
#undef X
}

static void walk(struct world *w, int64_t steps)
{
    pawl__rng_seed(&w->rng, w->seed);
    w->model.now_ms = rig_now(&w->rig);
    pthread_mutex_init(&w->mirror.mutex, NULL);
    listen_to(w);
    for (w->step = 0; w->step < steps; w->step++) {
        take_step(w);
        if (w->step % LOOK_EVERY != LOOK_EVERY - 1) continue;
        compare_all(w);
        rig_tidy(&w->rig);
    }
    name_op(w, "the end");
    compare_all(w);
    rig_check(&w->rig);
}

static int set_up(void **state)
{
    struct world *w = *state;
    const struct store_kind *kinds[8];
    size_t count = 0;
    for (size_t i = 0; i < store_kind_count && count < COUNT(kinds); i++)
        if (store_kind_wanted(&store_kinds[i])) kinds[count++] = &store_kinds[i];
    assert_true(count > 0);
    // Three in four on the quickest store, the first of the table; the rest take turns.
    size_t turn = w->seed % 4 == 0 && count > 1 ? 1 + w->seed / 4 % (count - 1) : 0;
    const struct store_kind *kind = kinds[turn];
    rig_open(&w->rig, kind);
    w->store = kind->served   ? "postgres://SERVER (a new schema)"
               : kind->shared ? "sqlite:FILE (a new one)"
                              : w->rig.url;
    return 0;
}

static void run_seed(void **state)
{
    walk(*state, STEPS);
}

static int tear_down(void **state)
{
    struct world *w = *state;
    rig_close(&w->rig);
    model_release(&w->model);
    free(w->mirror.at);
    return 0;
}

static int run_seeds(size_t count)
{
    struct CMUnitTest *tests = calloc(count, sizeof *tests);
    struct world *worlds = calloc(count, sizeof *worlds);
    char(*names)[32] = calloc(count, sizeof *names);
    if (tests == NULL || worlds == NULL || names == NULL) abort();
    for (size_t i = 0; i < count; i++) {
        worlds[i].seed = i + 1;
        snprintf(names[i], sizeof names[i], "seed %zu", i + 1);
        tests[i] = (struct CMUnitTest){ names[i], run_seed, set_up, tear_down, &worlds[i] };
    }
    int failed = _cmocka_run_group_tests("model", tests, count, NULL, NULL);
    free(names);
    free(worlds);
    free(tests);
    return failed;
}

static int run_one(uint64_t seed, int64_t steps, const char *url)
{
    static struct world w;
    w = (struct world){ .seed = seed, .store = url };
    rig_open_url(&w.rig, url);
    walk(&w, steps); // a difference ends the program
    printf("seed %llu: %lld steps, %zu jobs, no difference\n", (unsigned long long)seed,
           (long long)steps, w.model.count);
    rig_close(&w.rig);
    model_release(&w.model);
    free(w.mirror.at);
    return 0;
}

int main(int argc, char **argv)
{
    const char *seed = NULL, *steps = NULL, *url = "sqlite::memory:";
    for (int i = 1; i < argc; i += 2) {
        const char **option = strcmp(argv[i], "--seed") == 0    ? &seed
                              : strcmp(argv[i], "--steps") == 0 ? &steps
                              : strcmp(argv[i], "--store") == 0 ? &url
                                                                : NULL;
        if (option == NULL || i + 1 == argc) {
            fprintf(stderr, "usage: model_test [--seed N [--steps M] [--store URL]]\n");
            return 2;
        }
        *option = argv[i + 1];
    }
    if (seed == NULL) return run_seeds((size_t)scaled(SEEDS));
    return run_one(strtoull(seed, NULL, 10), steps != NULL ? strtoll(steps, NULL, 10) : STEPS, url);
}
