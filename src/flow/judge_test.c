/* Tests what follows from an end: the tables of docs/flows.md, row by row. */
#include "flow/flow.h"

#include "base/test_kit.h"

#define GOOD PAWL__FLOW_GOOD
#define DEAD PAWL__FLOW_DEAD
#define BROKEN PAWL__FLOW_BROKEN

static void edge_is_judged_by_how_its_parent_ended(void **state)
{
    static const enum pawl_state ends[] = { PAWL_STATE_COMPLETED, PAWL_STATE_SKIPPED,
                                            PAWL_STATE_CANCELLED, PAWL_STATE_DISCARDED,
                                            PAWL_STATE_EXPIRED };
    static const struct {
        enum pawl_flow_on on;
        bool when;
        enum pawl__flow_verdict verdicts[COUNT(ends)];
    } rows[] = {
        { PAWL_FLOW_ON_SUCCESS, true, { GOOD, DEAD, BROKEN, BROKEN, BROKEN } },
        { PAWL_FLOW_ON_SUCCESS, false, { DEAD, DEAD, BROKEN, BROKEN, BROKEN } },
        { PAWL_FLOW_ON_FAILURE, true, { DEAD, DEAD, GOOD, GOOD, GOOD } },
        { PAWL_FLOW_ON_FAILURE, false, { DEAD, DEAD, DEAD, DEAD, DEAD } },
        { PAWL_FLOW_ON_ALWAYS, true, { GOOD, DEAD, GOOD, GOOD, GOOD } },
        { PAWL_FLOW_ON_ALWAYS, false, { DEAD, DEAD, DEAD, DEAD, DEAD } },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        for (size_t k = 0; k < COUNT(ends); k++) {
            struct pawl__flow_way way = { .on = rows[i].on, .when = rows[i].when };
            pawl__flow_judge(ends[k], PAWL_FLOW_SELECT_EACH, &way, 1);
            if (way.verdict != rows[i].verdicts[k]) fail_msg("row %zu, end %zu", i, k);
        }
    }
}

#define ARM(number, is_true)                                                                       \
    {                                                                                              \
        .on = PAWL_FLOW_ON_SUCCESS, .arm = (number), .when = (is_true)                             \
    }
#define DEFAULT                                                                                    \
    {                                                                                              \
        .on = PAWL_FLOW_ON_SUCCESS, .arm = 9, .otherwise = true, .when = true                      \
    }
#define PLAIN                                                                                      \
    {                                                                                              \
        .on = PAWL_FLOW_ON_SUCCESS, .when = true                                                   \
    }
#define CLEANUP(number)                                                                            \
    {                                                                                              \
        .on = PAWL_FLOW_ON_FAILURE, .arm = (number), .when = true                                  \
    }

static void choice_takes_arms_by_number(void **state)
{
#define FIRST PAWL_FLOW_SELECT_FIRST
#define ALL PAWL_FLOW_SELECT_ALL
    static const struct {
        enum pawl_flow_select select;
        enum pawl_state ended;
        struct pawl__flow_way ways[4];
        enum pawl__flow_verdict verdicts[4];
    } rows[] = {
        { FIRST,
          PAWL_STATE_COMPLETED,
          { ARM(2, true), ARM(1, true), DEFAULT, PLAIN },
          { DEAD, GOOD, DEAD, GOOD } },
        { FIRST,
          PAWL_STATE_COMPLETED,
          { ARM(1, true), ARM(1, true), DEFAULT, PLAIN },
          { GOOD, DEAD, DEAD, GOOD } },
        { FIRST,
          PAWL_STATE_COMPLETED,
          { ARM(2, false), ARM(1, false), DEFAULT, PLAIN },
          { DEAD, DEAD, GOOD, GOOD } },
        { FIRST,
          PAWL_STATE_DISCARDED,
          { ARM(2, true), CLEANUP(1), DEFAULT, PLAIN },
          { DEAD, GOOD, DEAD, BROKEN } },
        { FIRST,
          PAWL_STATE_DISCARDED,
          { ARM(2, true), ARM(1, true), DEFAULT, PLAIN },
          { BROKEN, BROKEN, BROKEN, BROKEN } },
        { FIRST,
          PAWL_STATE_SKIPPED,
          { ARM(2, true), ARM(1, true), DEFAULT, PLAIN },
          { DEAD, DEAD, DEAD, DEAD } },
        { ALL,
          PAWL_STATE_COMPLETED,
          { ARM(2, true), ARM(1, true), DEFAULT, PLAIN },
          { GOOD, GOOD, DEAD, GOOD } },
        { ALL,
          PAWL_STATE_COMPLETED,
          { ARM(2, false), ARM(1, false), DEFAULT, PLAIN },
          { DEAD, DEAD, GOOD, GOOD } },
        { ALL,
          PAWL_STATE_CANCELLED,
          { ARM(2, true), CLEANUP(1), DEFAULT, PLAIN },
          { BROKEN, GOOD, BROKEN, BROKEN } },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct pawl__flow_way ways[4];
        memcpy(ways, rows[i].ways, sizeof ways);
        pawl__flow_judge(rows[i].ended, rows[i].select, ways, 4);
        for (size_t k = 0; k < 4; k++) {
            if (ways[k].verdict != rows[i].verdicts[k]) {
                fail_msg("row %zu: way %zu is %d", i, k, (int)ways[k].verdict);
            }
        }
    }
}

/* Two success edges, of which the first is good; each column is what the other one is. */
static void join_rule_decides(void **state)
{
    enum { W = PAWL__FLOW_WAIT, R = PAWL__FLOW_RUN, S = PAWL__FLOW_SKIP, C = PAWL__FLOW_CANCEL };
    enum { F = PAWL__FLOW_FAIL };
    static const struct {
        enum pawl_flow_join join;
        int32_t n;
        int good, dead, pending, broken[PAWL_FLOW_PARENT_END];
    } rows[] = {
        // good, dead, pending; broken under cancel, skip, run, fail
        { PAWL_FLOW_JOIN_ALL, 0, R, R, W, { 0, C, S, R, F } },
        { PAWL_FLOW_JOIN_EVERY, 0, R, R, W, { 0, C, S, R, F } },
        { PAWL_FLOW_JOIN_ANY, 0, R, R, R, { 0, R, R, R, R } },
        { PAWL_FLOW_JOIN_N, 2, R, S, W, { 0, C, S, R, F } },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        for (int policy = 1; policy < PAWL_FLOW_PARENT_END; policy++) {
            struct pawl__flow_stand stand = { .join = rows[i].join,
                                              .parent = (enum pawl_flow_parent)policy,
                                              .n = rows[i].n };
            stand.good = 2;
            assert_int_equal(rows[i].good, pawl__flow_decide(&stand));
            stand.good = stand.dead = 1;
            assert_int_equal(rows[i].dead, pawl__flow_decide(&stand));
            stand.dead = 0, stand.pending = 1;
            assert_int_equal(rows[i].pending, pawl__flow_decide(&stand));
            stand.pending = 0, stand.broken = 1;
            assert_int_equal(rows[i].broken[policy], pawl__flow_decide(&stand));
        }
    }
}

static void node_below_skipped_ones_alone_is_skipped(void **state)
{
    static const struct {
        enum pawl_flow_join join;
        int32_t n;
        enum pawl__flow_step step;
    } rows[] = {
        { PAWL_FLOW_JOIN_ALL, 0, PAWL__FLOW_SKIP },
        { PAWL_FLOW_JOIN_EVERY, 0, PAWL__FLOW_RUN },
        { PAWL_FLOW_JOIN_ANY, 0, PAWL__FLOW_SKIP },
        { PAWL_FLOW_JOIN_N, 2, PAWL__FLOW_SKIP },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct pawl__flow_stand stand = { .join = rows[i].join, .n = rows[i].n, .dead = 2 };
        assert_int_equal(rows[i].step, pawl__flow_decide(&stand));
    }
}

/* One parent was skipped, the other failed. */
static void broken_edge_beside_a_dead_one_asks_the_policy(void **state)
{
    struct pawl__flow_stand stand = { .join = PAWL_FLOW_JOIN_ALL, .dead = 1, .broken = 1 };
    stand.parent = PAWL_FLOW_PARENT_CANCEL;
    assert_int_equal(PAWL__FLOW_CANCEL, pawl__flow_decide(&stand));
    stand.parent = PAWL_FLOW_PARENT_SKIP;
    assert_int_equal(PAWL__FLOW_SKIP, pawl__flow_decide(&stand));
    stand.parent = PAWL_FLOW_PARENT_RUN;
    assert_int_equal(PAWL__FLOW_RUN, pawl__flow_decide(&stand));
    stand.join = PAWL_FLOW_JOIN_N, stand.n = 2;
    assert_int_equal(PAWL__FLOW_SKIP, pawl__flow_decide(&stand));
}

/* Nothing is given up while an edge is pending. */
static void broken_edge_waits_for_the_others(void **state)
{
    struct pawl__flow_stand stand = {
        .join = PAWL_FLOW_JOIN_ALL, .parent = PAWL_FLOW_PARENT_CANCEL, .pending = 1, .broken = 1
    };
    assert_int_equal(PAWL__FLOW_WAIT, pawl__flow_decide(&stand));
}

static void node_without_edges_runs(void **state)
{
    assert_int_equal(PAWL__FLOW_RUN,
                     pawl__flow_decide(&(struct pawl__flow_stand){ .join = PAWL_FLOW_JOIN_ALL }));
}

static void group_ends_as_its_members_did(void **state)
{
    static const struct {
        struct pawl__flow_tally tally;
        enum pawl_state end;
    } rows[] = {
        { { .total = 0 }, PAWL_STATE_COMPLETED },
        { { .total = 2, .completed = 1, .skipped = 1 }, PAWL_STATE_COMPLETED },
        { { .total = 2, .skipped = 2 }, PAWL_STATE_SKIPPED },
        { { .total = 2, .completed = 1, .failed = 1, .grave = 1 }, PAWL_STATE_DISCARDED },
        { { .total = 2, .completed = 1, .failed = 1 }, PAWL_STATE_COMPLETED },
        { { .total = 1, .cancelled = 1, .grave = 1 }, PAWL_STATE_DISCARDED },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(rows[i].end, pawl__flow_group_end(&rows[i].tally));
    }
    struct pawl__flow_tally tally = { .total = 5 };
    for (int i = PAWL_STATE_COMPLETED; i < PAWL_STATE_END; i++) {
        ++*pawl__flow_place(&tally, (enum pawl_state)i);
    }
    assert_int_equal(0, pawl__flow_open(&tally));
    assert_int_equal(2, tally.failed); // discarded and expired
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edge_is_judged_by_how_its_parent_ended),
        cmocka_unit_test(choice_takes_arms_by_number),
        cmocka_unit_test(join_rule_decides),
        cmocka_unit_test(node_below_skipped_ones_alone_is_skipped),
        cmocka_unit_test(broken_edge_beside_a_dead_one_asks_the_policy),
        cmocka_unit_test(broken_edge_waits_for_the_others),
        cmocka_unit_test(node_without_edges_runs),
        cmocka_unit_test(group_ends_as_its_members_did),
    };
    return cmocka_run_group_tests_name("judge", tests, NULL, NULL);
}
