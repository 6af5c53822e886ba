/* Archiving and purging in steps: who goes on while there is more has in the end moved all. */
#include "store/sqlite/test_kit.h"

enum { STEP = PAWL__MAINTENANCE_MAX, WANTED = 5, TURNS_MAX = 50 };

/* Jobs that came first and will not be moved: cancelled ones. */
static void put_in_the_way(struct kit *kit, size_t count)
{
    struct pawl__new_job *jobs = pawl__arena_calloc(&kit->arena, count, sizeof *jobs);
    struct pawl_submitted *out = pawl__arena_calloc(&kit->arena, count, sizeof *out);
    assert_true(jobs && out);
    for (size_t i = 0; i < count; i++) {
        jobs[i] = kit_job(kit, (struct pawl_job_spec){ .queue = "other" });
    }
    struct pawl__op submit = { .kind = PAWL__OP_SUBMIT,
                               .submit = { .jobs = jobs, .count = count, .out = out } };
    kit_ok(kit, kit_do(kit, &submit));
    pawl__arena_release(&submit.arena);
    int64_t left = (int64_t)count;
    while (left > 0) {
        struct pawl_filter filter = { .states = PAWL_STATE_BIT(PAWL_STATE_AVAILABLE) };
        struct pawl__op cancel = {
            .kind = PAWL__OP_BULK,
            .bulk = { .filter = &filter, .control = PAWL_CONTROL_CANCEL, .limit = PAWL_BULK_MAX }
        };
        kit_ok(kit, kit_do(kit, &cancel));
        assert_true(cancel.bulk.moved > 0);
        left -= cancel.bulk.moved;
        pawl__arena_release(&cancel.arena);
    }
}

static void complete_some(struct kit *kit, int count)
{
    for (int i = 0; i < count; i++) {
        struct pawl_job_id id = kit_submit(kit, (struct pawl_job_spec){ .queue = "default" });
        assert_int_equal(kit_claim(kit, "default", 1), 1);
        struct pawl__op op = { .kind = PAWL__OP_COMPLETE, .complete = { .ref = { id, 1 } } };
        kit_ok(kit, kit_do(kit, &op));
        pawl__arena_release(&op.arena);
    }
}

/* As the command line does it. The number of all that moved. */
static int64_t retire_while_it_moves(struct kit *kit, enum pawl__op_kind kind, uint32_t states)
{
    int64_t all = 0;
    bool again = true;
    for (int turn = 0; again; turn++) {
        if (turn == TURNS_MAX) fail_msg("it goes on for ever");
        struct pawl__op op = {
            .kind = kind,
            .retire = { .states = states, .age_ms = 0, .limit = PAWL__MAINTENANCE_MAX }
        };
        kit_ok(kit, kit_do(kit, &op));
        pawl__arena_release(&op.arena);
        again = op.retire.moved || op.retire.more;
        all += op.retire.moved;
    }
    return all;
}

static void what_is_in_the_way_does_not_stop_it(void **state)
{
    static const size_t in_the_way[] = { 0, 1, STEP - WANTED, STEP - 1, STEP, STEP + 1, 3 * STEP };
    uint32_t completed = PAWL_STATE_BIT(PAWL_STATE_COMPLETED);
    uint32_t cancelled = PAWL_STATE_BIT(PAWL_STATE_CANCELLED);
    for (size_t i = 0; i < COUNT(in_the_way); i++) {
        struct kit kit;
        kit_open_memory(&kit);
        if (in_the_way[i]) put_in_the_way(&kit, in_the_way[i]);
        complete_some(&kit, WANTED);
        kit.now_ms += 60000;
        assert_int_equal(retire_while_it_moves(&kit, PAWL__OP_ARCHIVE, completed), WANTED);
        assert_int_equal(retire_while_it_moves(&kit, PAWL__OP_ARCHIVE, cancelled), in_the_way[i]);
        assert_int_equal(retire_while_it_moves(&kit, PAWL__OP_PURGE, completed), WANTED);
        assert_int_equal(retire_while_it_moves(&kit, PAWL__OP_PURGE, cancelled), in_the_way[i]);
        assert_int_equal(sql_int(kit.sq->writer.db, "SELECT count(*) FROM pawl_archive"), 0);
        kit_check(&kit);
        kit_close(&kit);
    }
}

/* A job that ran for long is older than others that ended before it. */
static void late_ones_are_met_the_next_time(void **state)
{
    uint32_t completed = PAWL_STATE_BIT(PAWL_STATE_COMPLETED);
    struct kit kit;
    kit_open_memory(&kit);
    struct pawl_job_id id = kit_submit(&kit, (struct pawl_job_spec){ .queue = "slow" });
    assert_int_equal(kit_claim(&kit, "slow", 1), 1);
    complete_some(&kit, WANTED);
    kit.now_ms += 10000;
    assert_int_equal(retire_while_it_moves(&kit, PAWL__OP_ARCHIVE, completed), WANTED);
    struct pawl__op op = { .kind = PAWL__OP_COMPLETE, .complete = { .ref = { id, 1 } } };
    kit_ok(&kit, kit_do(&kit, &op));
    assert_int_equal(retire_while_it_moves(&kit, PAWL__OP_ARCHIVE, completed), 0); // too fresh
    kit.now_ms += 1;
    assert_int_equal(retire_while_it_moves(&kit, PAWL__OP_ARCHIVE, completed), 1);
    kit_check(&kit);
    kit_close(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_in_the_way_does_not_stop_it),
        cmocka_unit_test(late_ones_are_met_the_next_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
