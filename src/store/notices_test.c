/* What a commit tells, and what it forgets. */
#include "store/notices.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static const struct pawl__move move = {
    .run = 7, .from = PAWL_STATE_ACTIVE, .to = PAWL_STATE_COMPLETED, .queue = "mail", .type = "send"
};

static void nothing_is_not_told(void **ctx)
{
    (void)ctx;
    struct pawl__notices notices = { .all_moves = true };
    struct pawl__notice notice;
    pawl__notices_begin(&notices);
    assert_false(pawl__notices_get(&notices, 5, &notice));
    pawl__notices_release(&notices);
}

static void the_earliest_instant_is_told(void **ctx)
{
    (void)ctx;
    struct pawl__notices notices = { 0 };
    struct pawl__notice notice;
    pawl__notices_due(&notices, 30);
    pawl__notices_due(&notices, 10);
    pawl__notices_due(&notices, 20);
    assert_true(pawl__notices_get(&notices, 5, &notice));
    assert_int_equal(10, notice.due_at_ms);
    assert_int_equal(5, notice.at_ms);
    assert_false(notice.ready || notice.control);
    pawl__notices_release(&notices);
}

static void a_new_transaction_forgets_all_but_who_listens(void **ctx)
{
    (void)ctx;
    struct pawl__notices notices = { .all_moves = true, .ready = true, .control = true, .lost = 1 };
    struct pawl__notice notice;
    pawl__notices_due(&notices, 10);
    pawl__notices_move(&notices, &move);
    assert_true(pawl__notices_get(&notices, 5, &notice));
    assert_true(notice.ready && notice.control);
    assert_int_equal(1, notice.lost);
    assert_int_equal(1, notice.move_count);
    assert_memory_equal(&move, notice.moves, sizeof move);
    pawl__notices_begin(&notices);
    assert_false(pawl__notices_get(&notices, 6, &notice));
    assert_true(notices.all_moves);
    pawl__notices_release(&notices);
}

static void moves_are_told_in_order_and_counted_past_the_bound(void **ctx)
{
    (void)ctx;
    enum { BOUND = 65536, MORE = 3 };
    struct pawl__notices notices = { 0 };
    struct pawl__notice notice;
    for (int64_t i = 0; i < BOUND + MORE; i++) {
        struct pawl__move next = move;
        next.run = i;
        pawl__notices_move(&notices, &next);
    }
    assert_true(pawl__notices_get(&notices, 5, &notice));
    assert_int_equal(BOUND, notice.move_count);
    assert_int_equal(MORE, notice.lost);
    for (int64_t i = 0; i < BOUND; i++) {
        assert_int_equal(i, notice.moves[i].run);
    }
    pawl__notices_release(&notices);
    pawl__notices_release(&notices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_not_told),
        cmocka_unit_test(the_earliest_instant_is_told),
        cmocka_unit_test(a_new_transaction_forgets_all_but_who_listens),
        cmocka_unit_test(moves_are_told_in_order_and_counted_past_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
