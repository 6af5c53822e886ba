/* Submits that do not enter the working set although callers chose their ids. */
#include "store/sqlite/test_kit.h"

enum { TWO = 2 };

/* Posts two submits at once: a batch of one goes through the set. */
static void submit_two(struct kit *kit, const struct pawl_job_id ids[TWO], enum pawl_err err[TWO])
{
    struct pawl__new_job jobs[TWO];
    struct pawl_submitted out[TWO];
    struct pawl__op ops[TWO], *posted[TWO];
    for (size_t i = 0; i < TWO; i++) {
        jobs[i] = kit_job(kit, (struct pawl_job_spec){ .id = &ids[i] });
        ops[i] = (struct pawl__op){ .kind = PAWL__OP_SUBMIT,
                                    .submit = { .jobs = &jobs[i], .count = 1, .out = &out[i] } };
        posted[i] = &ops[i];
    }
    kit_ok(kit, pawl__backend_sqlite.apply(kit->sq, posted, TWO, &kit->diag));
    for (size_t i = 0; i < TWO; i++) {
        err[i] = ops[i].err;
        pawl__arena_release(&ops[i].arena);
    }
}

static struct pawl_job_id with_tail(struct pawl_job_id id, int64_t tail)
{
    return pawl__sq_join(pawl__sq_split(id).head, INT64_MIN | tail);
}

static int64_t count_jobs(struct kit *kit, const char *where)
{
    char sql[96];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM pawl_job WHERE %s", where);
    return sql_int(kit->sq->writer.db, sql);
}

static void submits_with_chosen_ids_are_plain(void **state)
{
    struct kit kit;
    kit_open_memory(&kit);
    const struct pawl_job_id ids[TWO] = { kit_id(&kit), kit_id(&kit) };
    enum pawl_err err[TWO];
    submit_two(&kit, ids, err);
    assert_int_equal(err[0], PAWL_OK);
    assert_int_equal(err[1], PAWL_OK);
    assert_non_null(kit.sq->writer.stmts[SQL_NEW_JOBS_PLAIN]); // prepared when first used
    assert_int_equal(kit.sq->head.count, TWO);
    assert_int_equal(kit_claim(&kit, "default", TWO), TWO);
    kit_check(&kit);
    kit_close(&kit);
}

static void taken_ids_are_refused_and_others_submitted(void **state)
{
    struct kit kit;
    kit_open_memory(&kit);
    const struct pawl_job_id taken = kit_submit(&kit, (struct pawl_job_spec){ .priority = 1 });
    const struct pawl_job_id ids[TWO] = { taken, kit_id(&kit) };
    enum pawl_err err[TWO];
    submit_two(&kit, ids, err);
    assert_int_equal(err[0], PAWL_ERR_EXISTS);
    assert_int_equal(err[1], PAWL_OK);
    const struct pawl_job_id next = kit_id(&kit), same[TWO] = { next, next };
    submit_two(&kit, same, err);
    assert_int_equal(err[0], PAWL_OK);
    assert_int_equal(err[1], PAWL_ERR_EXISTS);
    assert_int_equal(count_jobs(&kit, "true"), 3);
    kit_check(&kit);
    kit_close(&kit);
}

static void delete_job(struct kit *kit, struct pawl_job_id id)
{
    struct pawl__op cancel = { .kind = PAWL__OP_CONTROL,
                               .control = { .id = id, .control = PAWL_CONTROL_CANCEL } };
    struct pawl__op remove = { .kind = PAWL__OP_DELETE, .remove = { .id = id } };
    kit_ok(kit, kit_do(kit, &cancel));
    kit_ok(kit, kit_do(kit, &remove));
}

/* Two ids begin alike, so the second job is displaced; then the key that it would have had becomes
 * free. */
static void ids_of_displaced_jobs_are_refused(void **state)
{
    struct kit kit;
    kit_open_memory(&kit);
    const struct pawl_job_id id = kit_id(&kit);
    const struct pawl_job_id alike[TWO] = { with_tail(id, 1), with_tail(id, 2) };
    enum pawl_err err[TWO];
    submit_two(&kit, alike, err);
    assert_int_equal(err[0], PAWL_OK);
    assert_int_equal(err[1], PAWL_OK);
    assert_int_equal(count_jobs(&kit, "head IS NOT NULL"), 1);
    delete_job(&kit, alike[0]);
    const struct pawl_job_id again[TWO] = { alike[1], kit_id(&kit) };
    submit_two(&kit, again, err);
    assert_int_equal(err[0], PAWL_ERR_EXISTS);
    assert_int_equal(err[1], PAWL_OK);
    kit_check(&kit);
    kit_close(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(submits_with_chosen_ids_are_plain),
        cmocka_unit_test(taken_ids_are_refused_and_others_submitted),
        cmocka_unit_test(ids_of_displaced_jobs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
