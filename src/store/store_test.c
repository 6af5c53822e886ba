/* The front of every store: URLs, waiting for answers, closing. On a store in memory. */
#include "base/clock.h"
#include "store/store.h"

#include <pthread.h>

#include "base/test_kit.h"

enum { THREADS = 6, EACH = 60 };

static struct pawl__store *open_memory(void)
{
    struct pawl_config config = {
        .store = "sqlite::memory:", .clock = &pawl__clock_system, .busy_timeout_ms = 1000
    };
    struct pawl__store *store = NULL;
    struct pawl_diag diag = { .text = "" };
    enum pawl_err err = pawl__store_open(&config, &store, &diag);
    if (err) print_error("%s\n", diag.text);
    assert_int_equal(err, PAWL_OK);
    return store;
}

/* A setting is the smallest thing that can be written. */
static struct pawl__op put(const char *name, const char *value)
{
    return (struct pawl__op){ .kind = PAWL__OP_SETTING_PUT,
                              .setting = { .name = name, .value = value } };
}

static void unknown_schemes_are_refused_by_name(void **state)
{
    static const char *const urls[] = { "mysql://x", "pawl.db", "", "SQLITE:x", "sqlite" };
    for (size_t i = 0; i < COUNT(urls); i++) {
        struct pawl_config config = { .store = urls[i], .clock = &pawl__clock_system };
        struct pawl__store *store = NULL;
        struct pawl_schema schema;
        struct pawl_diag diag = { .text = "" };
        assert_int_equal(pawl__store_open(&config, &store, &diag), PAWL_ERR_UNSUPPORTED);
        assert_string_equal(diag.field, "store");
        assert_non_null(strstr(diag.text, urls[i]));
        assert_non_null(strstr(diag.text, "sqlite:PATH"));
        assert_null(store);
        assert_int_equal(pawl__store_schema(&config, &schema, NULL), PAWL_ERR_UNSUPPORTED);
    }
}

static void failed_opening_gives_nothing(void **state)
{
    struct pawl_config config = { .store = "sqlite:/nonexistent/pawl.db",
                                  .clock = &pawl__clock_system };
    struct pawl__store *store = NULL;
    assert_int_not_equal(pawl__store_open(&config, &store, NULL), PAWL_OK);
    assert_null(store);
    pawl__store_close(NULL); // nothing to do
}

static void doing_waits_for_the_answer(void **state)
{
    struct pawl__store *store = open_memory();
    struct pawl__arena arena = { 0 };
    struct pawl__op op = put("colour", "blue");
    const char *value = NULL;
    assert_int_equal(pawl__store_do(store, &op), PAWL_OK);
    assert_int_equal(pawl__store_setting(store, "colour", &arena, &value, NULL), PAWL_OK);
    assert_string_equal(value, "blue");
    struct pawl_diag diag = { .text = "" };
    struct pawl__op stale = { .kind = PAWL__OP_COMPLETE,
                              .diag = &diag,
                              .complete = { .ref = { .run = 1 } } };
    assert_int_equal(pawl__store_do(store, &stale), PAWL_ERR_NOT_FOUND); // its own error
    assert_int_equal(diag.err, PAWL_ERR_NOT_FOUND);
    pawl__arena_release(&op.arena);
    pawl__arena_release(&stale.arena);
    pawl__arena_release(&arena);
    pawl__store_close(store);
}

static void *put_many(void *arg)
{
    intptr_t failures = 0;
    for (int i = 0; i < EACH; i++) {
        char name[32];
        snprintf(name, sizeof name, "%p %d", (void *)&name, i); // each thread has its own
        struct pawl__op op = put(name, "x");
        failures += pawl__store_do(arg, &op) != PAWL_OK;
        pawl__arena_release(&op.arena);
    }
    return (void *)failures;
}

static void threads_may_all_do_at_once(void **state)
{
    struct pawl__store *store = open_memory();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, put_many, store), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *failures;
        assert_int_equal(pthread_join(threads[i], &failures), 0);
        assert_null(failures);
    }
    struct pawl__store_counters counters;
    pawl__store_counters_get(store, &counters);
    assert_int_equal(counters.ops, THREADS * EACH);
    assert_int_equal(counters.rows, THREADS * EACH);
    assert_in_range(counters.commits, 1, THREADS * EACH);
    assert_in_range(counters.batch_max, 1, THREADS);
    assert_int_equal(counters.failed_commits, 0);
    pawl__store_close(store);
}

static void count_answer(struct pawl__op *op)
{
    ++*(int *)op->user; // closing joins the thread that does this
}

static void closing_answers_what_was_posted(void **state)
{
    struct pawl__store *store = open_memory();
    struct pawl__op ops[20];
    int answers = 0;
    for (size_t i = 0; i < COUNT(ops); i++) {
        ops[i] = put("n", "1");
        ops[i].done = count_answer;
        ops[i].user = &answers;
        ops[i].next = i >= 10 && i + 1 < COUNT(ops) ? &ops[i + 1] : NULL;
    }
    for (size_t i = 0; i < 10; i++) {
        pawl__store_post(store, &ops[i]);
    }
    pawl__store_post_list(store, &ops[10]);
    pawl__store_close(store);
    assert_int_equal(answers, COUNT(ops));
    for (size_t i = 0; i < COUNT(ops); i++) {
        assert_int_equal(ops[i].err, PAWL_OK);
        pawl__arena_release(&ops[i].arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_schemes_are_refused_by_name),
        cmocka_unit_test(failed_opening_gives_nothing),
        cmocka_unit_test(doing_waits_for_the_answer),
        cmocka_unit_test(threads_may_all_do_at_once),
        cmocka_unit_test(closing_answers_what_was_posted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
