/* Which connections are lent out; that callers wait is shown in sqlite/conn_test.c. */
#include "store/sql/pool.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static void each_is_lent_once(void **ctx)
{
    (void)ctx;
    struct pawl__pool pool;
    bool out[PAWL__READERS_MAX] = { false };
    pawl__pool_init(&pool, PAWL__READERS_MAX);
    for (size_t i = 0; i < PAWL__READERS_MAX; i++) {
        size_t at = pawl__pool_take(&pool);
        assert_false(out[at]);
        out[at] = true;
    }
    pawl__pool_give(&pool, 2, false);
    assert_int_equal(2, pawl__pool_take(&pool));
    pawl__pool_release(&pool);
}

static void one_that_is_connected_goes_first(void **ctx)
{
    (void)ctx;
    struct pawl__pool pool;
    pawl__pool_init(&pool, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(i, pawl__pool_take(&pool));
    }
    for (size_t i = 0; i < 3; i++) {
        pawl__pool_give(&pool, i, i == 1);
    }
    assert_int_equal(1, pawl__pool_take(&pool));
    assert_int_equal(0, pawl__pool_take(&pool));
    pawl__pool_release(&pool);
}

static void note_closed(void *ctx, size_t at)
{
    bool *closed = ctx;
    closed[at] = true;
}

static void what_is_out_is_not_dropped(void **ctx)
{
    (void)ctx;
    struct pawl__pool pool;
    bool closed[2] = { false };
    pawl__pool_init(&pool, 2);
    assert_int_equal(0, pawl__pool_take(&pool));
    pawl__pool_drop(&pool, note_closed, closed);
    assert_false(closed[0]);
    assert_true(closed[1]);
    pawl__pool_release(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_lent_once),
        cmocka_unit_test(one_that_is_connected_goes_first),
        cmocka_unit_test(what_is_out_is_not_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
