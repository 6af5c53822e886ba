/* The order in which a batch is gone through, and where it stops. */
#include "store/core/set.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { OPS_MAX = 8 };

struct seen {
    struct pawl__set set;
    const struct pawl__op *seen[OPS_MAX];
    size_t count;
    const struct pawl__op *refused; /* takes the transaction down */
};

static enum pawl_err see(struct pawl__set *set, struct pawl__op *op)
{
    struct seen *backend = (struct seen *)set;
    assert_in_range(backend->count, 0, OPS_MAX - 1);
    backend->seen[backend->count++] = op;
    return op == backend->refused ? PAWL_ERR_IO : PAWL_OK;
}

static const struct pawl__op submit = { .kind = PAWL__OP_SUBMIT };
static const struct pawl__op claim = { .kind = PAWL__OP_CLAIM };
static const struct pawl__op chained = { .kind = PAWL__OP_CLAIM, .chained = true };
static const struct pawl__op complete = { .kind = PAWL__OP_COMPLETE };
static const struct pawl__op fail = { .kind = PAWL__OP_FAIL };
static const struct pawl__op pause = { .kind = PAWL__OP_QUEUE_PAUSE };

static void assert_order(const struct pawl__op *kinds, size_t count, const size_t *order)
{
    struct pawl__op ops[OPS_MAX], *batch[OPS_MAX];
    struct seen backend = { .count = 0 };
    for (size_t i = 0; i < count; i++) {
        ops[i] = kinds[i];
        batch[i] = &ops[i];
    }
    assert_int_equal(PAWL_OK, pawl__core_each(&backend.set, batch, count, see));
    assert_int_equal(count, backend.count);
    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(batch[order[i]], backend.seen[i]);
    }
}

static void claims_wait_for_what_the_core_decides(void **ctx)
{
    (void)ctx;
    const struct pawl__op kinds[] = { claim, submit, claim, complete, fail, submit };
    assert_order(kinds, 6, (const size_t[]){ 1, 3, 4, 5, 0, 2 });
}

static void claims_do_not_wait_for_anything_else(void **ctx)
{
    (void)ctx;
    const struct pawl__op kinds[] = { claim, submit, claim, pause, claim, submit };
    assert_order(kinds, 6, (const size_t[]){ 1, 0, 2, 3, 5, 4 });
}

static void what_was_posted_in_a_list_keeps_its_order(void **ctx)
{
    (void)ctx;
    const struct pawl__op kinds[] = { claim, submit, chained, submit };
    assert_order(kinds, 4, (const size_t[]){ 1, 0, 2, 3 });
    assert_order(kinds, 1, (const size_t[]){ 0 });
    assert_order(kinds, 0, NULL);
}

static void the_first_error_ends_it(void **ctx)
{
    (void)ctx;
    struct pawl__op ops[] = { claim, submit, claim, submit };
    struct pawl__op *batch[] = { &ops[0], &ops[1], &ops[2], &ops[3] };
    struct seen backend = { .refused = &ops[1] };
    assert_int_equal(PAWL_ERR_IO, pawl__core_each(&backend.set, batch, 4, see));
    assert_int_equal(1, backend.count);
    backend = (struct seen){ .refused = &ops[0] };
    assert_int_equal(PAWL_ERR_IO, pawl__core_each(&backend.set, batch, 4, see));
    assert_int_equal(3, backend.count); // both submits, and one of the claims
}

static void lost_races_and_broken_rules_fail_alone(void **ctx)
{
    (void)ctx;
    assert_true(pawl__err_is_own(PAWL_ERR_STALE));
    assert_true(pawl__err_is_own(PAWL_ERR_DUPLICATE));
    assert_false(pawl__err_is_own(PAWL_OK));
    assert_false(pawl__err_is_own(PAWL_ERR_IO));
    assert_false(pawl__err_is_own(PAWL_ERR_NOMEM));
    assert_false(pawl__err_is_own(PAWL_ERR_CORRUPT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_wait_for_what_the_core_decides),
        cmocka_unit_test(claims_do_not_wait_for_anything_else),
        cmocka_unit_test(what_was_posted_in_a_list_keeps_its_order),
        cmocka_unit_test(the_first_error_ends_it),
        cmocka_unit_test(lost_races_and_broken_rules_fail_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
