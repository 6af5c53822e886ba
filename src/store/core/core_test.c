/* The working set and the order of its operations; ends, runs, priorities and deletion. */
#include "store/core/core_test_kit.h"

/* ---- the set ---- */

static void rows_are_found_by_id_and_stay_where_they_are(void **state)
{
    struct pawl__backend *b = open_store();
    struct pawl__row *first = pawl__set_want(&b->set, id_of(1), PAWL__NEED_RUN);
    for (uint32_t i = 2; i < 5000; i++) {
        assert_non_null(pawl__set_want(&b->set, id_of(i), PAWL__NEED_RUN));
    }
    assert_ptr_equal(pawl__set_find(&b->set, id_of(1)), first);
    assert_ptr_equal(pawl__set_want(&b->set, id_of(1), PAWL__NEED_FACTS), first);
    assert_int_equal(first->need, PAWL__NEED_RUN | PAWL__NEED_FACTS);
    assert_int_equal(b->set.unread_count, 4999);
    assert_null(pawl__set_find(&b->set, id_of(5000)));
    pawl__set_clear(&b->set);
    assert_null(pawl__set_find(&b->set, id_of(1)));
    for (uint32_t i = 0; i < 3; i++) { // few in a large index
        assert_non_null(pawl__set_want(&b->set, id_of(i), PAWL__NEED_RUN));
    }
    pawl__set_clear(&b->set);
    for (uint32_t i = 0; i < 1000; i++) {
        assert_null(pawl__set_find(&b->set, id_of(i)));
    }
    close_store(b);
}

static void many_operations_are_one_load_and_one_store(void **state)
{
    struct pawl__backend *b = open_store();
    struct pawl__op ops[64];
    for (uint32_t i = 0; i < COUNT(ops); i++) {
        put(b, 1000 - i, PAWL_STATE_ACTIVE); // load checks that they come in order of id
        ops[i] = snooze_op(1000 - i, 1, 5000);
    }
    run_ops(b, ops, COUNT(ops));
    assert_int_equal(b->loads, 1);
    assert_int_equal(b->stores, 1);
    assert_int_equal(counted(b, PAWL_STATE_SCHEDULED), COUNT(ops));
    assert_int_equal(b->rows[5].due_at_ms, NOW_MS + 5000);
    assert_int_equal(b->rows[5].free_runs, 1);
    close_store(b);
}

static void want_of_memory_is_told_although_nothing_is_left_to_read(void **state)
{
    struct pawl__backend *b = open_store();
    b->set.failed = true; // there was no room to note what is wanted
    assert_int_equal(pawl__set_load(&b->set, true), PAWL_ERR_NOMEM);
    assert_int_equal(b->loads, 0);
    b->set.failed = false;
    close_store(b);
}

static void assert_holders(const struct pawl__set_key *key, const uint32_t *numbers, size_t count)
{
    assert_int_equal(key->count, count);
    for (size_t i = 0; i < count; i++) {
        struct pawl_job_id id = id_of(numbers[i]);
        assert_memory_equal(&key->holders[i].id, &id, sizeof id);
        assert_false(key->holders[i].removed);
    }
}

static void holders_of_a_key_are_in_order_and_taken_back(void **state)
{
    struct pawl__backend *b = open_store();
    static const uint8_t digest[16] = { 7 };
    static const uint32_t before[] = { 3, 5, 9 }, after[] = { 1, 3, 4, 5, 9, 11 };
    struct pawl__set_key *key = pawl__set_want_key(&b->set, digest);
    pawl__key_hold(&b->set, key, &(struct pawl__key_holder){ .id = id_of(9) });
    pawl__key_hold(&b->set, key, &(struct pawl__key_holder){ .id = id_of(3) });
    pawl__key_hold(&b->set, key, &(struct pawl__key_holder){ .id = id_of(5) });
    assert_holders(key, before, COUNT(before));

    pawl__set_mark(&b->set);
    static const uint32_t added[] = { 4, 11, 1 };
    for (size_t i = 0; i < COUNT(added); i++) {
        pawl__holder_save(&b->set, key, id_of(added[i]));
        pawl__key_hold(&b->set, key, &(struct pawl__key_holder){ .id = id_of(added[i]) });
    }
    assert_holders(key, after, COUNT(after));
    pawl__holder_save(&b->set, key, id_of(5));
    key->holders[3].removed = true;
    pawl__set_undo(&b->set);
    assert_holders(key, before, COUNT(before));
    pawl__set_clear(&b->set);
    close_store(b);
}

/* ---- order ---- */

static void operations_see_those_before_them(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_ACTIVE);
    struct pawl__op ops[] = {
        fail_op(1, 1),                      // retryable
        complete_op(1, 1),                  // too late
        control_op(1, PAWL_CONTROL_CANCEL), // cancelled
        control_op(1, PAWL_CONTROL_CANCEL), // is so already
        control_op(1, PAWL_CONTROL_RETRY),  // available
        control_op(1, PAWL_CONTROL_PAUSE),
        control_op(1, PAWL_CONTROL_PAUSE), // nothing to do
        control_op(1, PAWL_CONTROL_RESUME),
        fail_op(2, 1), // there is none
    };
    const enum pawl_err expected[] = { PAWL_OK, PAWL_ERR_STALE, PAWL_OK, PAWL_ERR_STATE,    PAWL_OK,
                                       PAWL_OK, PAWL_OK,        PAWL_OK, PAWL_ERR_NOT_FOUND };
    run_ops(b, ops, COUNT(ops));
    for (size_t i = 0; i < COUNT(ops); i++) {
        assert_int_equal(ops[i].err, expected[i]);
    }
    const struct pawl__row *row = &b->rows[0];
    assert_int_equal(row->state, PAWL_STATE_AVAILABLE);
    assert_int_equal(row->base_run, 1);
    assert_int_equal(row->due_at_ms, NOW_MS);
    assert_false(row->has_end);
    assert_int_equal(b->put[PAWL__TABLE_FAILURE], 1);
    assert_int_equal(b->put[PAWL__TABLE_AUDIT], 4); // without those that did nothing
    assert_int_equal(counted(b, PAWL_STATE_ACTIVE), -1);
    assert_int_equal(counted(b, PAWL_STATE_AVAILABLE), 1);
    assert_int_equal(counted(b, PAWL_STATE_CANCELLED), 0);
    close_store(b);
}

static void an_operation_that_is_refused_changes_nothing(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_COMPLETED);
    put(b, 2, PAWL_STATE_ACTIVE);
    struct pawl__op ops[] = { control_op(1, PAWL_CONTROL_CANCEL), snooze_op(2, 7, 100),
                              fail_op(2, 0) };
    run_ops(b, ops, COUNT(ops));
    assert_int_equal(ops[0].err, PAWL_ERR_STATE);
    assert_int_equal(ops[0].control.from, PAWL_STATE_COMPLETED);
    assert_int_equal(ops[1].err, PAWL_ERR_STALE);
    assert_int_equal(ops[2].err, PAWL_ERR_STALE);
    assert_int_equal(b->rows[0].state, PAWL_STATE_COMPLETED);
    assert_int_equal(b->rows[1].state, PAWL_STATE_ACTIVE);
    for (int i = 0; i < PAWL_STATE_END; i++) {
        assert_int_equal(counted(b, i), 0);
    }
    close_store(b);
}

static struct pawl__names names_of(struct pawl__op op)
{
    struct pawl__names names;
    pawl__core_names(&op, &names);
    return names;
}

static void operations_name_what_is_locked_and_made_before_them(void **ctx)
{
    (void)ctx;
    struct pawl__new_job jobs[2] = { { .key_count = 1 } };
    struct pawl__names names = names_of(
        (struct pawl__op){ .kind = PAWL__OP_SUBMIT, .submit = { .jobs = jobs, .count = 2 } });
    assert_ptr_equal(names.jobs, jobs);
    assert_int_equal(names.job_count, 2);
    names =
        names_of((struct pawl__op){ .kind = PAWL__OP_QUEUE_PAUSE, .queue = { .queue = "mail" } });
    assert_string_equal(names.queue, "mail");
    for (int i = PAWL_CONTROL_NONE; i < PAWL_CONTROL_END; i++) {
        const enum pawl_control control = (enum pawl_control)i;
        bool revives = control == PAWL_CONTROL_RETRY || control == PAWL_CONTROL_PAUSE;
        names = names_of(
            (struct pawl__op){ .kind = PAWL__OP_CONTROL, .control = { .control = control } });
        assert_true((names.revived != NULL) == revives);
        names =
            names_of((struct pawl__op){ .kind = PAWL__OP_BULK, .bulk = { .control = control } });
        assert_true(names.revives_any == revives);
    }
    names = names_of((struct pawl__op){ .kind = PAWL__OP_SCHEDULE_CONTROL });
    assert_true(names.revives_any);
    const struct pawl__new_schedule schedule = { .job = &jobs[1] };
    names = names_of(
        (struct pawl__op){ .kind = PAWL__OP_SCHEDULE_PUT, .schedule_put = { .given = &schedule } });
    assert_ptr_equal(names.jobs, &jobs[1]);
    assert_true(names.revives_any);
    for (int kind = 0; kind < PAWL__OP_END; kind++) {
        bool may = kind == PAWL__OP_SUBMIT || kind == PAWL__OP_CONTROL || kind == PAWL__OP_BULK ||
                   kind == PAWL__OP_QUEUE_PAUSE || kind == PAWL__OP_SCHEDULE_PUT ||
                   kind == PAWL__OP_SCHEDULE_CONTROL;
        if (may) continue;
        names = names_of((struct pawl__op){ .kind = (enum pawl__op_kind)kind });
        assert_true(!names.job_count && !names.revived && !names.revives_any && !names.queue);
    }
}

static void a_completion_goes_its_own_way_unless_the_set_could_tell(void **state)
{
    struct pawl__backend *b = open_store();
    struct pawl__op complete = complete_op(1, 1), fail = fail_op(1, 1);
    struct pawl__op retry = control_op(2, PAWL_CONTROL_RETRY);
    assert_false(pawl__core_takes(&b->set, &complete));
    assert_true(pawl__core_takes(&b->set, &fail));
    assert_int_equal(pawl__core_add(&b->set, &fail), PAWL_OK);
    assert_true(pawl__core_takes(&b->set, &complete));
    complete = complete_op(3, 1);
    assert_false(pawl__core_takes(&b->set, &complete));
    assert_int_equal(pawl__core_add(&b->set, &retry), PAWL_OK); // asks about holders of its keys
    assert_false(pawl__core_takes(&b->set, &complete)); // posted singly: it may as well come first
    complete.chained = true;
    assert_true(pawl__core_takes(&b->set, &complete));
    assert_int_equal(pawl__core_run(&b->set), PAWL_OK);
    close_store(b);
}

static void what_did_not_go_its_own_way_comes_first(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_ACTIVE);
    struct pawl__op complete = complete_op(1, 1), cancel = control_op(1, PAWL_CONTROL_CANCEL);
    struct pawl__op late = complete_op(1, 1);
    assert_int_equal(pawl__core_add(&b->set, &cancel), PAWL_OK);
    assert_int_equal(pawl__core_add(&b->set, &complete), PAWL_OK);
    assert_int_equal(pawl__core_add(&b->set, &late), PAWL_OK);
    pawl__core_came_first(&b->set, 2);
    assert_int_equal(pawl__core_run(&b->set), PAWL_OK);
    assert_int_equal(complete.err, PAWL_OK);
    assert_int_equal(late.err, PAWL_ERR_STALE);
    assert_int_equal(cancel.err, PAWL_ERR_STATE);
    assert_int_equal(b->rows[0].state, PAWL_STATE_COMPLETED);
    close_store(b);
}

static void a_submit_goes_its_own_way_unless_it_asks_something(void **state)
{
    struct pawl__backend *b = open_store();
    static const struct pawl_job_spec spec = { .type = "send" };
    struct pawl__new_job job = { .id = id_of(1), .fresh_id = true, .spec = &spec };
    struct pawl__op submit = { .kind = PAWL__OP_SUBMIT, .submit = { .jobs = &job, .count = 1 } };
    struct pawl__op cancel = control_op(1, PAWL_CONTROL_CANCEL);
    struct pawl__op other = control_op(3, PAWL_CONTROL_CANCEL);
    assert_false(pawl__core_takes(&b->set, &submit));
    job.fresh_id = false;
    assert_true(pawl__core_takes(&b->set, &submit)); // somebody may have it
    struct pawl__core_table any_id = table;
    any_id.quick.any_id = true;
    b->set.table = &any_id;
    assert_false(pawl__core_takes(&b->set, &submit)); // the backend sees whether somebody has
    assert_int_equal(pawl__core_add(&b->set, &other), PAWL_OK);
    assert_false(pawl__core_takes(&b->set, &submit)); // posted singly
    submit.chained = true;
    assert_true(pawl__core_takes(&b->set, &submit));
    submit.chained = false;
    b->set.table = &table;
    job.fresh_id = true;
    job.key_count = 1;
    assert_true(pawl__core_takes(&b->set, &submit)); // somebody may hold its key
    job.key_count = 0;
    assert_int_equal(pawl__core_add(&b->set, &cancel), PAWL_OK);
    assert_true(pawl__core_takes(&b->set, &submit)); // the cancel must not find it
    b->set.careful = true;
    job.id = id_of(2);
    assert_true(pawl__core_takes(&b->set, &submit));
    b->set.careful = false;
    assert_false(pawl__core_takes(&b->set, &submit));
    assert_int_equal(pawl__core_run(&b->set), PAWL_OK);
    assert_int_equal(cancel.err, PAWL_ERR_NOT_FOUND);
    close_store(b);
}

/* ---- ends ---- */

static void a_job_paused_after_its_end_goes_back_to_it(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_DISCARDED);
    b->rows[0].rank = -1; // of no use any more
    struct pawl__op pause = control_op(1, PAWL_CONTROL_PAUSE);
    struct pawl__op resume = control_op(1, PAWL_CONTROL_RESUME);
    run_ops(b, &pause, 1);
    assert_int_equal(b->rows[0].state, PAWL_STATE_PAUSED);
    assert_int_equal(b->rows[0].paused_from, PAWL_STATE_DISCARDED);
    assert_true(b->rows[0].has_end);
    assert_int_not_equal(b->rows[0].rank, -1);
    run_ops(b, &resume, 1);
    assert_int_equal(b->rows[0].state, PAWL_STATE_DISCARDED);
    assert_int_equal(b->rows[0].finished_at_ms, 900);
    assert_string_equal(b->rows[0].end_reason, "ended");
    close_store(b);
}

static void a_job_paused_after_its_end_can_end_anew(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_DISCARDED);
    struct pawl__op ops[] = { control_op(1, PAWL_CONTROL_PAUSE),
                              control_op(1, PAWL_CONTROL_CANCEL) };
    run_ops(b, ops, COUNT(ops));
    assert_int_equal(ops[1].err, PAWL_OK);
    assert_int_equal(b->rows[0].state, PAWL_STATE_CANCELLED);
    assert_int_equal(b->rows[0].finished_at_ms, NOW_MS);
    assert_string_equal(b->rows[0].end_reason, "cancelled on request");
    close_store(b);
}

static void an_archived_job_comes_back_only_if_something_is_done_to_it(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_CANCELLED)->found = PAWL__FOUND_ARCHIVED;
    struct pawl__op refused = control_op(1, PAWL_CONTROL_CANCEL);
    struct pawl__op stale = fail_op(1, 1);
    struct pawl__op retry = control_op(1, PAWL_CONTROL_RETRY);
    run_ops(b, &refused, 1);
    assert_int_equal(refused.err, PAWL_ERR_STATE);
    run_ops(b, &stale, 1);
    assert_int_equal(stale.err, PAWL_ERR_STALE);
    assert_int_equal(b->rows[0].found, PAWL__FOUND_ARCHIVED);
    run_ops(b, &retry, 1);
    assert_int_equal(retry.err, PAWL_OK);
    assert_int_equal(b->rows[0].found, PAWL__FOUND_LIVE);
    assert_int_equal(b->rows[0].state, PAWL_STATE_AVAILABLE);
    assert_int_equal(counted(b, PAWL_STATE_NONE), -1); // the archive
    assert_int_equal(counted(b, PAWL_STATE_AVAILABLE), 1);
    close_store(b);
}

/* ---- while it runs ---- */

static void only_its_owner_extends_a_lease_that_has_not_ended(void **state)
{
    struct pawl__backend *b = open_store();
    for (uint32_t i = 1; i <= 3; i++) {
        put(b, i, PAWL_STATE_ACTIVE)->lease_until_ms = NOW_MS + (i != 3);
    }
    b->rows[1].timeout_ms = NOW_MS + 40 - b->rows[1].started_at_ms;
    const struct pawl_run refs[] = {
        { id_of(1), 1 }, { id_of(1), 2 }, { id_of(2), 1 }, { id_of(3), 1 }, { id_of(4), 1 }
    };
    const enum pawl_err expected[] = { PAWL_OK, PAWL_ERR_STALE, PAWL_OK, PAWL_ERR_STALE,
                                       PAWL_ERR_NOT_FOUND };
    enum pawl_err results[COUNT(refs)];
    struct pawl__op extend = { .kind = PAWL__OP_EXTEND,
                               .extend = { .refs = refs,
                                           .count = COUNT(refs),
                                           .lease_ms = 50,
                                           .timed = true,
                                           .results = results } };
    run_ops(b, &extend, 1);
    for (size_t i = 0; i < COUNT(refs); i++) {
        assert_int_equal(results[i], expected[i]);
    }
    assert_int_equal(b->rows[0].lease_until_ms, NOW_MS + 50);
    assert_int_equal(b->rows[1].lease_until_ms, NOW_MS + 40); // until its timeout
    assert_int_equal(b->rows[2].lease_until_ms, NOW_MS);
    extend.extend.lease_ms = 40;
    extend.extend.timed = false;
    run_ops(b, &extend, 1);
    assert_int_equal(b->rows[0].lease_until_ms, NOW_MS + 40);
    assert_int_equal(b->rows[1].lease_until_ms, NOW_MS + 41); // not just with its timeout
    close_store(b);
}

static struct pawl__op progress_op(uint32_t n, int64_t run, double value, const char *message)
{
    return (struct pawl__op){ .kind = PAWL__OP_PROGRESS,
                              .progress = { .ref = { id_of(n), run },
                                            .value = value,
                                            .message = { message, strlen(message) } } };
}

static void progress_never_goes_back(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_ACTIVE);
    put(b, 2, PAWL_STATE_AVAILABLE);
    struct pawl__op ops[] = { progress_op(1, 1, 0.5, "half"), progress_op(1, 1, 0.25, ""),
                              progress_op(1, 0, -1, "still"), progress_op(1, 2, 1, "late"),
                              progress_op(2, 0, 1, "early") };
    const enum pawl_err expected[] = { PAWL_OK, PAWL_OK, PAWL_OK, PAWL_ERR_STALE, PAWL_ERR_STATE };
    run_ops(b, ops, COUNT(ops));
    for (size_t i = 0; i < COUNT(ops); i++) {
        assert_int_equal(ops[i].err, expected[i]);
    }
    assert_int_equal(b->put[PAWL__TABLE_PROGRESS], 1);
    assert_true(b->progress.value == 0.5);
    assert_string_equal(b->progress.message.at, "still");
    assert_int_equal(b->progress.run, 1);
    close_store(b);
}

static void checkpoints_are_numbered_until_they_are_deleted(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_ACTIVE);
    struct pawl__op ops[4];
    for (size_t i = 0; i < COUNT(ops); i++) {
        ops[i] = (struct pawl__op){ .kind = PAWL__OP_CHECKPOINT,
                                    .checkpoint = { .ref = { id_of(1), 1 },
                                                    .state = { "{}", i == 2 ? 0 : 2 } } };
    }
    run_ops(b, ops, COUNT(ops));
    assert_int_equal(ops[1].checkpoint.sequence, 2);
    assert_int_equal(ops[2].checkpoint.sequence, 0);
    assert_int_equal(ops[3].checkpoint.sequence, 1);
    assert_int_equal(b->put[PAWL__TABLE_CHECKPOINT_PUT], 1);
    assert_int_equal(b->put[PAWL__TABLE_CHECKPOINT_DROP], 0);
    close_store(b);
}

/* ---- priority and deletion ---- */

static void a_new_priority_is_a_new_rank(void **state)
{
    struct pawl__backend *b = open_store();
    b->set.boost_ms = 10;
    put(b, 1, PAWL_STATE_AVAILABLE);
    put(b, 2, PAWL_STATE_ACTIVE);
    struct pawl__op ops[2];
    for (uint32_t i = 0; i < COUNT(ops); i++) {
        ops[i] = (struct pawl__op){ .kind = PAWL__OP_PRIORITY,
                                    .priority = { .id = id_of(i + 1), .priority = 7 } };
    }
    run_ops(b, ops, COUNT(ops));
    assert_int_equal(ops[0].err, PAWL_OK);
    assert_int_equal(ops[1].err, PAWL_ERR_STATE);
    assert_int_equal(b->rows[0].priority, 7);
    assert_int_equal(b->rows[0].rank, 500 - 7 * 10);
    assert_int_equal(b->rows[1].priority, 0);
    assert_int_equal(b->put[PAWL__TABLE_AUDIT], 1);
    close_store(b);
}

static void what_is_deleted_is_unknown_and_its_key_free(void **state)
{
    struct pawl__backend *b = open_store();
    hold(b, put(b, 1, PAWL_STATE_CANCELLED), BUSINESS_KEY);
    hold(b, put(b, 2, PAWL_STATE_ACTIVE), BUSINESS_KEY);
    put(b, 3, PAWL_STATE_COMPLETED)->found = PAWL__FOUND_ARCHIVED;
    struct pawl__op ops[5] = { control_op(2, PAWL_CONTROL_CANCEL) };
    const uint32_t ids[] = { 1, 2, 3, 2 };
    for (size_t i = 0; i < COUNT(ids); i++) {
        ops[i + 1] =
            (struct pawl__op){ .kind = PAWL__OP_DELETE, .remove = { .id = id_of(ids[i]) } };
    }
    run_ops(b, ops, COUNT(ops));
    const enum pawl_err expected[] = { PAWL_OK, PAWL_OK, PAWL_OK, PAWL_OK, PAWL_ERR_NOT_FOUND };
    for (size_t i = 0; i < COUNT(ops); i++) {
        assert_int_equal(ops[i].err, expected[i]);
    }
    assert_int_equal(b->held_count, 0);
    assert_int_equal(counted(b, PAWL_STATE_CANCELLED), -1); // one came and both went
    assert_int_equal(counted(b, PAWL_STATE_NONE), -1);
    assert_int_equal(b->put[PAWL__TABLE_AUDIT], 4);
    close_store(b);
}

static void listeners_hear_of_interference_with_runs_alone(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_ACTIVE);
    put(b, 2, PAWL_STATE_AVAILABLE);
    struct pawl__op ops[] = { control_op(1, PAWL_CONTROL_CANCEL),
                              control_op(2, PAWL_CONTROL_CANCEL) };
    run_ops(b, ops, COUNT(ops));
    assert_true(b->set.notices.control);
    assert_int_equal(b->set.notices.move_count, 1);
    assert_memory_equal(&b->set.notices.moves[0].id, &ops[0].control.id,
                        sizeof(struct pawl_job_id));
    assert_string_equal(b->set.notices.moves[0].queue, "mail");
    close_store(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_found_by_id_and_stay_where_they_are),
        cmocka_unit_test(many_operations_are_one_load_and_one_store),
        cmocka_unit_test(want_of_memory_is_told_although_nothing_is_left_to_read),
        cmocka_unit_test(holders_of_a_key_are_in_order_and_taken_back),
        cmocka_unit_test(operations_see_those_before_them),
        cmocka_unit_test(an_operation_that_is_refused_changes_nothing),
        cmocka_unit_test(operations_name_what_is_locked_and_made_before_them),
        cmocka_unit_test(a_completion_goes_its_own_way_unless_the_set_could_tell),
        cmocka_unit_test(what_did_not_go_its_own_way_comes_first),
        cmocka_unit_test(a_submit_goes_its_own_way_unless_it_asks_something),
        cmocka_unit_test(a_job_paused_after_its_end_goes_back_to_it),
        cmocka_unit_test(a_job_paused_after_its_end_can_end_anew),
        cmocka_unit_test(an_archived_job_comes_back_only_if_something_is_done_to_it),
        cmocka_unit_test(only_its_owner_extends_a_lease_that_has_not_ended),
        cmocka_unit_test(progress_never_goes_back),
        cmocka_unit_test(checkpoints_are_numbered_until_they_are_deleted),
        cmocka_unit_test(a_new_priority_is_a_new_rank),
        cmocka_unit_test(what_is_deleted_is_unknown_and_its_key_free),
        cmocka_unit_test(listeners_hear_of_interference_with_runs_alone),
    };
    return cmocka_run_group_tests_name("core", tests, NULL, NULL);
}
