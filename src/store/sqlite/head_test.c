/* Jobs that are kept out of pawl_ready for a while: nobody notices but the clock. */
#include "store/sqlite/test_kit.h"

enum { MANY = 40 };

#define READY_ROWS "SELECT count(*) FROM pawl_ready"
#define HEAD_ROWS "SELECT count(*) FROM pawl_head_job"

/* In one transaction, so that they are gathered; priorities[i] when given. */
static void submit_list(struct kit *kit, int count, const int32_t *priorities)
{
    struct pawl__op ops[MANY] = { 0 }, *list[MANY];
    struct pawl__new_job jobs[MANY];
    struct pawl_submitted out[MANY];
    assert_true(count <= MANY);
    for (int i = 0; i < count; i++) {
        jobs[i] = kit_job(kit, (struct pawl_job_spec){ .priority = priorities ? priorities[i] : 0,
                                                       .args = { "[17]", 4 } });
        ops[i] = (struct pawl__op){ .kind = PAWL__OP_SUBMIT,
                                    .submit = { .jobs = &jobs[i], .count = 1, .out = &out[i] } };
        list[i] = &ops[i];
    }
    kit_ok(kit, kit_apply(kit, list, (size_t)count));
    for (int i = 0; i < count; i++) {
        assert_int_equal(ops[i].err, PAWL_OK);
        pawl__arena_release(&ops[i].arena);
    }
}

static enum pawl_err control(struct kit *kit, struct pawl_job_id id, enum pawl_control what)
{
    struct pawl__op op = { .kind = PAWL__OP_CONTROL, .control = { .id = id, .control = what } };
    enum pawl_err err = kit_do(kit, &op);
    pawl__arena_release(&op.arena);
    return err;
}

static void head_jobs_are_claimed_without_ever_being_ready(void **state)
{
    const char *queue = "default";
    struct kit kit;
    kit_open_memory(&kit);
    submit_list(&kit, MANY, NULL);
    assert_int_equal(sql_int(kit.sq->writer.db, READY_ROWS), 0);
    assert_int_equal(sql_int(kit.sq->writer.db, HEAD_ROWS), MANY);
    kit_check(&kit);
    struct pawl__op op = { .kind = PAWL__OP_CLAIM,
                           .claim = { .queues = &queue,
                                      .queue_count = 1,
                                      .limit = MANY / 2,
                                      .worker = "worker",
                                      .lease_ms = KIT_LEASE_MS } };
    kit_ok(&kit, kit_do(&kit, &op));
    assert_int_equal(op.claim.job_count, MANY / 2);
    for (size_t i = 0; i < op.claim.job_count; i++) {
        const struct pawl_job *job = &op.claim.jobs[i];
        assert_int_equal(job->args.len, 4);
        assert_memory_equal(job->args.at, "[17]", 4);
        assert_int_equal(job->run, 1);
        assert_int_equal(job->attempts_max, 3);
        assert_int_equal(job->created_at_ms, KIT_NOW_MS);
        if (i) assert_true(memcmp(job[-1].id.b, job->id.b, 16) < 0); // first come, first served
    }
    pawl__arena_release(&op.arena);
    kit_check(&kit);
    assert_int_equal(kit_claim(&kit, "default", MANY), MANY / 2);
    assert_int_equal(sql_int(kit.sq->writer.db, "SELECT count(*) FROM pawl_head"), 0);
    kit_check(&kit);
    kit_close(&kit);
}

/* Best rank first, wherever a job is kept. */
static void memory_and_table_are_merged_by_rank(void **state)
{
    static const int32_t priorities[] = { 5, 3, 9, 0, 0, 7, -2, 0, 1 };
    enum { COUNT_OF = sizeof priorities / sizeof *priorities };
    const char *queue = "default";
    struct kit kit;
    kit_open_memory(&kit);
    kit_submit(&kit, (struct pawl_job_spec){ .priority = 4 }); // alone: into the table
    submit_list(&kit, COUNT_OF, priorities);
    assert_true(sql_int(kit.sq->writer.db, READY_ROWS) > 1);
    assert_true(sql_int(kit.sq->writer.db, HEAD_ROWS) > 1);
    int32_t last = INT32_MAX;
    for (int i = 0; i < COUNT_OF + 1; i++) {
        struct pawl__op op = { .kind = PAWL__OP_CLAIM,
                               .claim = { .queues = &queue,
                                          .queue_count = 1,
                                          .limit = 1,
                                          .worker = "worker",
                                          .lease_ms = KIT_LEASE_MS } };
        kit_ok(&kit, kit_do(&kit, &op));
        assert_int_equal(op.claim.job_count, 1);
        assert_true(op.claim.jobs[0].priority <= last);
        last = op.claim.jobs[0].priority;
        pawl__arena_release(&op.arena);
    }
    kit_check(&kit);
    kit_close(&kit);
}

static void another_process_finds_them(void **state)
{
    struct kit kit, peer;
    kit_open_file(&kit);
    submit_list(&kit, MANY, NULL);
    kit_open_peer(&peer, &kit);
    assert_int_equal(kit_claim(&peer, "default", 10), 10);
    kit_check(&peer);
    assert_int_equal(sql_int(peer.sq->writer.db, READY_ROWS), MANY - 10);
    assert_int_equal(kit_claim(&kit, "default", MANY), MANY - 10); // and none twice
    submit_list(&kit, MANY, NULL);
    submit_list(&peer, MANY, NULL);
    assert_int_equal(kit_claim(&kit, "default", 3 * MANY), 2 * MANY);
    kit_check(&kit);
    kit_close(&peer);
    kit_close(&kit);
}

static void who_opens_the_store_again_finds_them(void **state)
{
    struct kit kit;
    kit_open_file(&kit);
    submit_list(&kit, MANY, NULL);
    assert_int_equal(kit_claim(&kit, "default", 5), 5);
    kit_reopen(&kit); // nothing is written on the way out
    kit_check(&kit);
    assert_int_equal(kit_claim(&kit, "default", MANY), MANY - 5);
    kit_check(&kit);
    kit_close(&kit);
}

static void operators_find_them(void **state)
{
    struct kit kit;
    kit_open_memory(&kit);
    submit_list(&kit, MANY, NULL);
    struct pawl_job_id first =
        pawl__sq_join(sql_int(kit.sq->writer.db, "SELECT min(key) FROM pawl_job"),
                      sql_int(kit.sq->writer.db, "SELECT tail FROM pawl_job ORDER BY key LIMIT 1"));
    kit_ok(&kit, control(&kit, first, PAWL_CONTROL_CANCEL));
    kit_check(&kit);
    assert_int_equal(kit_claim(&kit, "default", MANY), MANY - 1);
    kit_check(&kit);
    kit_close(&kit);
}

static int refuse_commit(void *ctx)
{
    (void)ctx;
    return 1;
}

static void a_failed_claim_gives_them_back(void **state)
{
    const char *queue = "default";
    struct kit kit;
    kit_open_memory(&kit);
    submit_list(&kit, MANY, NULL);
    sqlite3_commit_hook(kit.sq->writer.db, refuse_commit, NULL);
    struct pawl__op op = { .kind = PAWL__OP_CLAIM,
                           .claim = { .queues = &queue,
                                      .queue_count = 1,
                                      .limit = 10,
                                      .worker = "worker",
                                      .lease_ms = KIT_LEASE_MS } };
    assert_int_not_equal(kit_do(&kit, &op), PAWL_OK);
    pawl__arena_release(&op.arena);
    sqlite3_commit_hook(kit.sq->writer.db, NULL, NULL);
    assert_int_equal(kit_claim(&kit, "default", 2 * MANY), MANY);
    kit_check(&kit);
    kit_close(&kit);
}

static void those_that_wait_long_become_ready(void **state)
{
    struct kit kit;
    kit_open_memory(&kit);
    submit_list(&kit, 2, NULL);
    for (int i = 0; i <= PAWL__SQ_HEAD_TURNS_MAX; i++) {
        assert_int_equal(sql_int(kit.sq->writer.db, READY_ROWS), 0);
        kit.now_ms++;
        submit_list(&kit, 2, NULL);
    }
    assert_true(sql_int(kit.sq->writer.db, READY_ROWS) > 0);
    kit_check(&kit);
    kit_close(&kit);
}

static void there_is_a_limit_to_them(void **state)
{
    struct kit kit;
    kit_open_memory(&kit);
    for (int i = 0; i <= PAWL__SQ_HEAD_MAX / MANY; i++) {
        kit.sq->head.turn = 0; // time stands still
        submit_list(&kit, MANY, NULL);
    }
    assert_int_equal(sql_int(kit.sq->writer.db, HEAD_ROWS), PAWL__SQ_HEAD_MAX);
    assert_true(sql_int(kit.sq->writer.db, READY_ROWS) > 0);
    kit_check(&kit);
    kit_close(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(head_jobs_are_claimed_without_ever_being_ready),
        cmocka_unit_test(memory_and_table_are_merged_by_rank),
        cmocka_unit_test(another_process_finds_them),
        cmocka_unit_test(who_opens_the_store_again_finds_them),
        cmocka_unit_test(operators_find_them),
        cmocka_unit_test(a_failed_claim_gives_them_back),
        cmocka_unit_test(those_that_wait_long_become_ready),
        cmocka_unit_test(there_is_a_limit_to_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
