/* What is answered by a look at the store, without a transaction. */
#include "store/core/set.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

enum { NOW_MS = 1000 };

struct pawl__backend {
    struct pawl__set set;
    struct pawl__peek seen;  /* what the store says */
    struct pawl__peek asked; /* what it was asked */
    uint32_t lane;           /* the first of those */
    int looks;
    bool blind;
};

static bool peek(struct pawl__backend *b, struct pawl__peek *peek)
{
    b->asked = *peek;
    b->lane = peek->lane_count ? peek->lanes[0] : UINT32_MAX;
    b->looks++;
    *peek = b->seen;
    peek->now_ms = NOW_MS;
    return !b->blind;
}

static const struct pawl__core_table table = { .quick.peek = peek };

static struct pawl__backend *open_store(void)
{
    static struct pawl__backend b;
    b = (struct pawl__backend){ .set.claims_empty = true };
    b.set.table = &table;
    b.set.backend = &b;
    static const char *const queues[] = { "shut", "mail" };
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pawl__catalog_learn_queue(&b.set.catalog, i + 1, queues[i], i == 0, NULL),
                         0);
        assert_int_equal(pawl__catalog_learn_lane(&b.set.catalog, i + 1, i + 1, "send", NULL), 0);
    }
    return &b;
}

static void close_store(struct pawl__backend *b)
{
    pawl__set_release(&b->set);
}

static const char *const queues[] = { "shut", "mail", "unknown" };
#define CLAIM                                                                                      \
    {                                                                                              \
        .kind = PAWL__OP_CLAIM, .claim = {.queues = queues, .queue_count = 3 }                     \
    }

/* How many of a list are left for a transaction. */
static size_t left_of(struct pawl__backend *b, struct pawl__op *ops, size_t count)
{
    struct pawl__op *list[PAWL__PEEK_MAX + 1], *left[PAWL__PEEK_MAX];
    for (size_t i = 0; i < count; i++) {
        list[i] = &ops[i];
    }
    return pawl__core_peek(&b->set, list, count, left);
}

static size_t left_of_one(struct pawl__backend *b, struct pawl__op op)
{
    return left_of(b, &op, 1);
}

static void a_claim_of_empty_lanes_is_answered(void **state)
{
    (void)state;
    struct pawl__backend *b = open_store();
    struct pawl__op claim = CLAIM;
    claim.claim.more = true;
    assert_int_equal(left_of(b, &claim, 1), 0);
    assert_int_equal(b->asked.lane_count, 1); // a paused queue has none to give
    assert_int_equal(b->lane, 1);
    assert_int_equal(claim.now_ms, NOW_MS);
    assert_int_equal(claim.claim.job_count, 0);
    assert_false(claim.claim.more);
    b->seen.ready = true;
    assert_int_equal(left_of(b, &claim, 1), 1);
    close_store(b);
}

static void a_claim_after_one_that_found_jobs_does_not_look(void **state)
{
    (void)state;
    struct pawl__backend *b = open_store();
    b->set.claims_empty = false;
    assert_int_equal(left_of_one(b, (struct pawl__op)CLAIM), 1);
    assert_int_equal(b->looks, 0);
    b->set.catalog.queues[1].paused = true; // then it has no lanes
    assert_int_equal(left_of_one(b, (struct pawl__op)CLAIM), 0);
    close_store(b);
}

static void sweeps_say_when_the_next_is_due(void **state)
{
    (void)state;
    static const struct {
        enum pawl__op_kind kind;
        size_t at; /* what is due */
    } sweeps[] = { { PAWL__OP_PROMOTE, offsetof(struct pawl__peek, run_at_ms) },
                   { PAWL__OP_LAPSE, offsetof(struct pawl__peek, lease_at_ms) },
                   { PAWL__OP_EXPIRE, offsetof(struct pawl__peek, expiry_at_ms) } };
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++) {
        struct pawl__backend *b = open_store();
        int64_t *at_ms = (int64_t *)(void *)((char *)&b->seen + sweeps[i].at);
        struct pawl__op op = { .kind = sweeps[i].kind };
        assert_int_equal(left_of(b, &op, 1), 0);
        assert_int_equal(op.sweep.next_at_ms, 0);
        *at_ms = NOW_MS + 1;
        assert_int_equal(left_of(b, &op, 1), 0);
        assert_int_equal(op.sweep.next_at_ms, NOW_MS + 1);
        *at_ms = NOW_MS;
        assert_int_equal(left_of(b, &op, 1), 1);
        close_store(b);
    }
}

static void a_key_that_is_over_is_worth_a_sweep(void **state)
{
    (void)state;
    struct pawl__backend *b = open_store();
    b->seen.key_at_ms = NOW_MS;
    assert_int_equal(left_of_one(b, (struct pawl__op){ .kind = PAWL__OP_EXPIRE }), 1);
    b->seen.key_at_ms = NOW_MS + 1;
    assert_int_equal(left_of_one(b, (struct pawl__op){ .kind = PAWL__OP_EXPIRE }), 0);
    close_store(b);
}

static void an_unsettled_entry_is_never_early(void **state)
{
    (void)state;
    struct pawl__backend *b = open_store();
    assert_int_equal(left_of_one(b, (struct pawl__op){ .kind = PAWL__OP_SETTLE }), 0);
    b->seen.unsettled_at_ms = NOW_MS + 1;
    assert_int_equal(left_of_one(b, (struct pawl__op){ .kind = PAWL__OP_SETTLE }), 1);
    close_store(b);
}

static void the_youngest_that_would_be_retired_is_asked_for(void **state)
{
    (void)state;
    struct pawl__backend *b = open_store();
    struct pawl__op ops[] = {
        { .kind = PAWL__OP_ARCHIVE, .retire = { .states = 2, .age_ms = 90 } },
        { .kind = PAWL__OP_ARCHIVE, .retire = { .states = 4, .age_ms = 50 } },
        { .kind = PAWL__OP_PURGE, .retire = { .states = 8, .age_ms = 70, .more = true } },
    };
    assert_int_equal(left_of(b, ops, 3), 0);
    assert_int_equal(b->asked.ended_states, 6);
    assert_int_equal(b->asked.ended_age_ms, 50);
    assert_int_equal(b->asked.old_states, 8);
    assert_int_equal(b->asked.old_age_ms, 70);
    assert_false(ops[2].retire.more);
    b->seen.old = true;
    assert_int_equal(left_of(b, ops, 3), 3); // they go together
    close_store(b);
}

static void a_heartbeat_alone_is_left(void **state)
{
    (void)state;
    struct pawl__backend *b = open_store();
    struct pawl__op ops[] = { CLAIM, { .kind = PAWL__OP_NODE_PUT } };
    struct pawl__op *list[] = { &ops[0], &ops[1] }, *left[PAWL__PEEK_MAX];
    assert_int_equal(pawl__core_peek(&b->set, list, 2, left), 1);
    assert_ptr_equal(left[0], &ops[1]);
    assert_int_equal(left_of(b, &ops[1], 1), 1); // nothing to be looked for
    assert_int_equal(b->looks, 1);
    close_store(b);
}

static void what_changes_the_store_needs_no_look(void **state)
{
    (void)state;
    struct pawl__backend *b = open_store();
    struct pawl__op ops[] = { CLAIM, { .kind = PAWL__OP_SUBMIT } };
    assert_int_equal(left_of(b, ops, 2), 2);
    struct pawl__op many[PAWL__PEEK_MAX + 1] = { 0 };
    for (int i = 0; i <= PAWL__PEEK_MAX; i++) {
        many[i] = (struct pawl__op){ .kind = PAWL__OP_LAPSE };
    }
    assert_int_equal(left_of(b, many, PAWL__PEEK_MAX + 1), PAWL__PEEK_MAX + 1);
    assert_int_equal(b->looks, 0);
    close_store(b);
}

static void a_store_that_cannot_tell_is_asked_the_long_way(void **state)
{
    (void)state;
    struct pawl__backend *b = open_store();
    b->blind = true;
    assert_int_equal(left_of_one(b, (struct pawl__op)CLAIM), 1);
    close_store(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_claim_of_empty_lanes_is_answered),
        cmocka_unit_test(a_claim_after_one_that_found_jobs_does_not_look),
        cmocka_unit_test(sweeps_say_when_the_next_is_due),
        cmocka_unit_test(a_key_that_is_over_is_worth_a_sweep),
        cmocka_unit_test(an_unsettled_entry_is_never_early),
        cmocka_unit_test(the_youngest_that_would_be_retired_is_asked_for),
        cmocka_unit_test(a_heartbeat_alone_is_left),
        cmocka_unit_test(what_changes_the_store_needs_no_look),
        cmocka_unit_test(a_store_that_cannot_tell_is_asked_the_long_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
