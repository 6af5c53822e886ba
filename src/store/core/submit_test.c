/* Submits, and the keys that jobs hold. */
#include "store/core/core_test_kit.h"
#include "store/core/holders.h"

/* ---- keys ---- */

static void a_revived_job_needs_its_business_key(void **state)
{
    struct pawl__backend *b = open_store();
    hold(b, put(b, 1, PAWL_STATE_CANCELLED), BUSINESS_KEY);
    hold(b, put(b, 2, PAWL_STATE_ACTIVE), BUSINESS_KEY);
    struct pawl__op retry = control_op(1, PAWL_CONTROL_RETRY);
    struct pawl_diag diag = { 0 };
    retry.diag = &diag;
    run_ops(b, &retry, 1);
    assert_int_equal(retry.err, PAWL_ERR_DUPLICATE);
    assert_string_equal(diag.field, "business_key");
    assert_int_equal(b->rows[0].state, PAWL_STATE_CANCELLED);
    struct pawl__op ops[] = { complete_op(2, 1), control_op(1, PAWL_CONTROL_RETRY) };
    run_ops(b, ops, COUNT(ops)); // the completion is seen
    assert_int_equal(ops[1].err, PAWL_OK);
    assert_int_equal(b->rows[0].state, PAWL_STATE_AVAILABLE);
    close_store(b);
}

static void of_two_that_are_revived_the_first_has_the_key(void **state)
{
    struct pawl__backend *b = open_store();
    hold(b, put(b, 1, PAWL_STATE_CANCELLED), BUSINESS_KEY);
    hold(b, put(b, 2, PAWL_STATE_CANCELLED), BUSINESS_KEY);
    struct pawl__op ops[] = { control_op(2, PAWL_CONTROL_RETRY),
                              control_op(1, PAWL_CONTROL_RETRY) };
    run_ops(b, ops, COUNT(ops));
    assert_int_equal(ops[0].err, PAWL_OK);
    assert_int_equal(ops[1].err, PAWL_ERR_DUPLICATE);
    close_store(b);
}

/* ---- submits ---- */

static const struct pawl_job_spec work = { .type = "work", .queue = "default" };
static const struct pawl_job_spec lost = { .type = "work" }; // has no lane

/* A new job with a unique key for each of `keys`; a capital replaces, any other rejects. */
static struct pawl__new_job job_of(uint32_t n, const char *keys)
{
    struct pawl__new_job job = { .id = id_of(n), .fresh_id = true, .spec = &work };
    for (; *keys; keys++) {
        struct pawl__key *key = &job.keys[job.key_count++];
        bool replaces = *keys >= 'A' && *keys <= 'Z';
        *key = (struct pawl__key){
            .kind = PAWL__KEY_UNIQUE,
            .states = PAWL_STATE_BIT(PAWL_STATE_AVAILABLE) | PAWL_STATE_BIT(PAWL_STATE_ACTIVE),
            .on_conflict = replaces ? PAWL_CONFLICT_REPLACE : PAWL_CONFLICT_REJECT
        };
        memset(key->digest, replaces ? *keys - 'A' + 'a' : *keys, sizeof key->digest);
    }
    return job;
}

static struct pawl__op submit_op(const struct pawl__new_job *jobs, size_t count,
                                 struct pawl_submitted *out)
{
    return (struct pawl__op){ .kind = PAWL__OP_SUBMIT,
                              .submit = { .jobs = jobs, .count = count, .out = out } };
}

static void jobs_of_a_batch_meet_in_memory(void **state)
{
    struct pawl__backend *b = open_store();
    const struct pawl__new_job jobs[] = { job_of(1, "a"), job_of(2, "a"), job_of(3, "A"),
                                          job_of(4, "b") };
    struct pawl_submitted out[4] = { { .state = PAWL_STATE_NONE } };
    struct pawl__op ops[] = { submit_op(&jobs[0], 1, &out[0]), submit_op(&jobs[1], 1, &out[1]),
                              submit_op(&jobs[2], 1, &out[2]), submit_op(&jobs[3], 1, &out[3]) };
    run_ops(b, ops, COUNT(ops));
    assert_int_equal(ops[0].err, PAWL_OK);
    assert_int_equal(ops[1].err, PAWL_ERR_DUPLICATE);
    assert_memory_equal(&ops[1].submit.holder.id, &jobs[0].id, sizeof jobs[0].id);
    assert_int_equal(ops[2].err, PAWL_OK);
    assert_true(out[2].replaced);
    assert_int_equal(ops[3].err, PAWL_OK);
    assert_int_equal(b->loads, 0); // no holder was there, and no id need be looked for
    assert_int_equal(b->stores, 1);
    assert_int_equal(b->count, 3);
    assert_int_equal(stored(b, id_of(1))->state, PAWL_STATE_CANCELLED);
    assert_int_equal(stored(b, id_of(3))->state, PAWL_STATE_AVAILABLE);
    assert_int_equal(counted(b, PAWL_STATE_AVAILABLE), 2);
    assert_int_equal(counted(b, PAWL_STATE_CANCELLED), 1);
    assert_int_equal(b->put[PAWL__TABLE_AUDIT], 1);
    assert_int_equal(b->held_count, 3);
    close_store(b);
}

/* The first of them has replaced a job that ran, the second is refused. */
static void a_submit_that_fails_late_is_taken_back(void **state)
{
    struct pawl__backend *b = open_store();
    hold(b, put(b, 1, PAWL_STATE_ACTIVE),
         "\x03"
         "aaaaaaaaaaaaaaaa");
    hold(b, put(b, 2, PAWL_STATE_ACTIVE),
         "\x03"
         "bbbbbbbbbbbbbbbb");
    struct pawl__new_job jobs[] = { job_of(3, "A"), job_of(4, "b") };
    struct pawl_submitted out[2] = { { .state = PAWL_STATE_NONE } };
    struct pawl__op ops[] = { submit_op(jobs, 2, out), complete_op(1, 1),
                              control_op(3, PAWL_CONTROL_CANCEL) };
    run_ops(b, ops, COUNT(ops));
    assert_int_equal(ops[0].err, PAWL_ERR_DUPLICATE);
    assert_int_equal(ops[0].submit.failed_index, 1);
    assert_int_equal(out[0].state, PAWL_STATE_NONE);
    assert_int_equal(ops[1].err, PAWL_OK); // it still runs
    assert_int_equal(ops[2].err, PAWL_ERR_NOT_FOUND);
    assert_int_equal(b->count, 2);
    assert_int_equal(b->held_count, 2);
    assert_int_equal(b->put[PAWL__TABLE_KEY_DROP], 0);
    assert_int_equal(b->put[PAWL__TABLE_AUDIT], 0);
    assert_false(b->set.notices.control);
    assert_int_equal(counted(b, PAWL_STATE_ACTIVE), -1);
    assert_int_equal(counted(b, PAWL_STATE_COMPLETED), 1);
    assert_int_equal(counted(b, PAWL_STATE_AVAILABLE), 0);
    close_store(b);
}

/* Whatever it is that refuses it, of one job or of several. */
/* Another session wrote them meanwhile. */
static void what_is_to_be_new_and_is_there_fails_the_batch(void **state)
{
    struct pawl__backend *b = open_store();
    struct pawl__new_job jobs[] = { job_of(1, ""), job_of(2, "x") };
    for (uint32_t i = 0; i < COUNT(jobs); i++) {
        struct pawl_submitted out;
        struct pawl__op op = submit_op(&jobs[i], 1, &out);
        if (i == 0) put(b, 1, PAWL_STATE_AVAILABLE);
        b->held_count = 0;
        assert_int_equal(pawl__core_add(&b->set, &op), PAWL_OK);
        assert_int_equal(pawl__set_load(&b->set, true), PAWL_OK);
        assert_int_equal(pawl__rule_submit(&b->set, &op), PAWL_OK);
        memset(b->held[0].digest, 'x', sizeof b->held[0].digest);
        b->held[0].id = id_of(2);
        b->held_count = 1;
        assert_int_equal(pawl__set_store(&b->set), PAWL_ERR_BUSY);
        pawl__set_clear(&b->set);
    }
    assert_int_equal(b->count, 1);
    close_store(b);
}

static void a_refused_submit_leaves_its_keys_and_its_id_free(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_AVAILABLE);
    struct pawl__new_job jobs[] = { job_of(2, "a"), job_of(1, "b") };
    struct pawl__new_job nowhere[] = { job_of(2, "a"), job_of(3, "b") };
    struct pawl__new_job after[] = { job_of(2, "ab") };
    jobs[1].fresh_id = false;
    nowhere[1].spec = &lost;
    struct pawl_submitted out[2];
    struct pawl__op ops[] = { submit_op(jobs, 2, out), submit_op(nowhere, 2, out),
                              submit_op(after, 1, out) };
    run_ops(b, ops, COUNT(ops));
    assert_int_equal(ops[0].err, PAWL_ERR_EXISTS);
    assert_int_equal(ops[1].err, PAWL_ERR_ARG);
    assert_int_equal(ops[2].err, PAWL_OK);
    assert_int_equal(b->count, 2);
    assert_int_equal(b->held_count, 2);
    assert_int_equal(counted(b, PAWL_STATE_AVAILABLE), 1);
    close_store(b);
}

static void of_the_holders_that_ended_the_newest_are_remembered(void **state)
{
    enum { OLD = PAWL__KEY_HOLDERS_KEPT + 4 };
    struct pawl__backend *b = open_store();
    for (uint32_t i = 1; i <= OLD; i++) {
        hold(b, put(b, i, PAWL_STATE_COMPLETED),
             "\x03"
             "aaaaaaaaaaaaaaaa");
    }
    const struct pawl__new_job jobs[] = { job_of(100, "a"), job_of(101, "a") };
    struct pawl_submitted out[2];
    struct pawl__op together = submit_op(jobs, 2, out), alone = submit_op(jobs, 1, out);
    run_ops(b, &together, 1);
    assert_int_equal(together.err, PAWL_ERR_DUPLICATE); // of the first, which did not happen
    assert_int_equal(b->put[PAWL__TABLE_KEY_DROP], 0);
    run_ops(b, &alone, 1);
    assert_int_equal(alone.err, PAWL_OK);
    assert_int_equal(b->put[PAWL__TABLE_KEY_DROP], OLD - PAWL__KEY_HOLDERS_KEPT);
    close_store(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_revived_job_needs_its_business_key),
        cmocka_unit_test(of_two_that_are_revived_the_first_has_the_key),
        cmocka_unit_test(jobs_of_a_batch_meet_in_memory),
        cmocka_unit_test(a_submit_that_fails_late_is_taken_back),
        cmocka_unit_test(what_is_to_be_new_and_is_there_fails_the_batch),
        cmocka_unit_test(a_refused_submit_leaves_its_keys_and_its_id_free),
        cmocka_unit_test(of_the_holders_that_ended_the_newest_are_remembered),
    };
    return cmocka_run_group_tests_name("core_submit", tests, NULL, NULL);
}
