/* Who is in the way of a key: each answer, and which question comes first. */
#include "store/core/holders.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#define NOW INT64_C(1000000)

static void a_key_is_in_the_way_while_its_holder_counts(void **ctx)
{
    (void)ctx;
    struct pawl__key key = { .kind = PAWL__KEY_UNIQUE,
                             .states = PAWL_STATE_BIT(PAWL_STATE_ACTIVE) };
    struct pawl__holder holder = {
        .known = true, .state = PAWL_STATE_ACTIVE, .created_at_ms = NOW - 100, .until_ms = 1
    };
    assert_true(pawl__key_conflicts(&key, &holder, NOW)); // until_ms is nothing to it
    key.period_ms = 101;
    assert_true(pawl__key_conflicts(&key, &holder, NOW));
    key.period_ms = 100;
    assert_false(pawl__key_conflicts(&key, &holder, NOW));
    key.period_ms = 0;
    holder.state = PAWL_STATE_AVAILABLE;
    assert_false(pawl__key_conflicts(&key, &holder, NOW));
    holder.state = PAWL_STATE_ACTIVE;
    holder.known = false;
    assert_false(pawl__key_conflicts(&key, &holder, NOW));
}

static void an_idempotency_key_outlives_its_job(void **ctx)
{
    (void)ctx;
    struct pawl__key key = { .kind = PAWL__KEY_IDEMPOTENCY, .period_ms = 50 };
    struct pawl__holder holder = { .until_ms = NOW + 1 };
    assert_int_equal(NOW + 50, pawl__key_until(&key, NOW));
    assert_true(pawl__key_conflicts(&key, &holder, NOW));
    holder.until_ms = NOW;
    assert_false(pawl__key_conflicts(&key, &holder, NOW));
    holder.until_ms = 0;
    assert_true(pawl__key_conflicts(&key, &holder, NOW));
    key.period_ms = 0;
    assert_int_equal(0, pawl__key_until(&key, NOW));
    key = (struct pawl__key){ .kind = PAWL__KEY_UNIQUE, .period_ms = 50 };
    assert_int_equal(0, pawl__key_until(&key, NOW));
}

static void only_the_newest_that_ended_are_remembered(void **ctx)
{
    (void)ctx;
    struct pawl__key unique = { .kind = PAWL__KEY_UNIQUE };
    struct pawl__key idempotency = { .kind = PAWL__KEY_IDEMPOTENCY };
    struct pawl__holder live = { .known = true, .state = PAWL_STATE_PAUSED };
    struct pawl__holder over = { .known = true, .state = PAWL_STATE_COMPLETED };
    struct pawl__holder gone = { .known = false };
    size_t ended = 0;
    for (int i = 0; i < PAWL__KEY_HOLDERS_KEPT; i++) {
        assert_false(pawl__key_forgets(&unique, &over, &ended));
    }
    assert_true(pawl__key_forgets(&unique, &over, &ended));
    assert_false(pawl__key_forgets(&unique, &live, &ended));
    ended = 0;
    assert_true(pawl__key_forgets(&unique, &gone, &ended));
    assert_true(pawl__key_forgets(&idempotency, &over, &ended));
    assert_false(pawl__key_forgets(&idempotency, &live, &ended));
}

static void who_holds_the_key_is_told(void **ctx)
{
    (void)ctx;
    struct pawl_diag diag = { 0 };
    struct pawl__op op = { .kind = PAWL__OP_SUBMIT, .diag = &diag };
    struct pawl__holder holder = { .id = { { 1 } }, .state = PAWL_STATE_ACTIVE };
    struct pawl__key key = { .kind = PAWL__KEY_BUSINESS };
    assert_int_equal(PAWL_ERR_DUPLICATE, pawl__key_refuse(&op, &key, &holder));
    assert_string_equal("job \"01000000-0000-0000-0000-000000000000\", which is active, holds the "
                        "same business_key",
                        diag.text);
    assert_string_equal("business_key", diag.field);
    assert_memory_equal(&holder.id, &op.submit.holder.id, sizeof holder.id);
    assert_int_equal(PAWL_STATE_ACTIVE, op.submit.holder.state);
    key.kind = PAWL__KEY_UNIQUE;
    assert_int_equal(PAWL_ERR_DUPLICATE, pawl__key_refuse(&op, &key, &holder));
    assert_string_equal("unique", diag.field);
    assert_non_null(strstr(diag.text, "holds the same unique key"));
}

static void a_holder_of_the_same_batch_is_named_by_its_place(void **ctx)
{
    (void)ctx;
    struct pawl_diag diag = { 0 };
    struct pawl__new_job jobs[] = { { .id = { { 1 } } }, { .id = { { 2 } } }, { .id = { { 3 } } } };
    struct pawl__op op = {
        .kind = PAWL__OP_SUBMIT,
        .diag = &diag,
        .submit = { .jobs = jobs, .count = 3, .failed_index = 2, .holder.id = { { 9 } } }
    };
    struct pawl__holder holder = { .id = { { 2 } }, .state = PAWL_STATE_AVAILABLE };
    struct pawl__key key = { .kind = PAWL__KEY_UNIQUE };
    const struct pawl_submitted nobody = { 0 };
    assert_int_equal(PAWL_ERR_DUPLICATE, pawl__key_refuse(&op, &key, &holder));
    assert_string_equal("job [1] of the same batch has the same unique key", diag.text);
    assert_memory_equal(&nobody.id, &op.submit.holder.id, sizeof nobody.id);
    assert_int_equal(PAWL_STATE_NONE, op.submit.holder.state);
    op.submit.failed_index = 1; // the job in hand has the holder's id: that one was there before
    assert_int_equal(PAWL_ERR_DUPLICATE, pawl__key_refuse(&op, &key, &holder));
    assert_memory_equal(&holder.id, &op.submit.holder.id, sizeof holder.id);
    assert_int_equal(PAWL_STATE_AVAILABLE, op.submit.holder.state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_in_the_way_while_its_holder_counts),
        cmocka_unit_test(an_idempotency_key_outlives_its_job),
        cmocka_unit_test(only_the_newest_that_ended_are_remembered),
        cmocka_unit_test(who_holds_the_key_is_told),
        cmocka_unit_test(a_holder_of_the_same_batch_is_named_by_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
