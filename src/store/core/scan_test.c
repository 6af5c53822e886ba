/* Operations that look for their jobs: bulk operations and sweeps. */
#include "store/core/core_test_kit.h"

static void a_bulk_that_meets_a_taken_key_moves_nothing(void **state)
{
    struct pawl__backend *b = open_store();
    struct pawl_filter filter = { .states = 0 };
    put(b, 1, PAWL_STATE_CANCELLED);
    hold(b, put(b, 2, PAWL_STATE_CANCELLED), BUSINESS_KEY);
    hold(b, put(b, 3, PAWL_STATE_ACTIVE), BUSINESS_KEY);
    b->found[0] = id_of(1);
    b->found[1] = id_of(2);
    b->found_count = 2;
    struct pawl__op bulk = { .kind = PAWL__OP_BULK,
                             .bulk = {
                                 .filter = &filter, .control = PAWL_CONTROL_RETRY, .limit = 10 } };
    assert_false(pawl__core_decides(&bulk));
    assert_int_equal(pawl__core_scan(&b->set, &bulk), PAWL_OK);
    assert_int_equal(bulk.err, PAWL_ERR_DUPLICATE);
    assert_int_equal(bulk.bulk.moved, 0);
    assert_int_equal(b->stores, 0);
    b->rows[2].state = PAWL_STATE_COMPLETED;
    assert_int_equal(pawl__core_scan(&b->set, &bulk), PAWL_OK);
    assert_int_equal(bulk.err, PAWL_OK);
    assert_int_equal(bulk.bulk.moved, 2);
    close_store(b);
}

/* It was scheduled when the scan found it, and has been claimed since. */
static void a_bulk_leaves_alone_what_no_longer_matches(void **state)
{
    struct pawl__backend *b = open_store();
    struct pawl_filter filter = { .states = PAWL_STATE_BIT(PAWL_STATE_SCHEDULED) };
    put(b, 1, PAWL_STATE_ACTIVE);
    put(b, 2, PAWL_STATE_SCHEDULED);
    b->found[0] = id_of(1);
    b->found[1] = id_of(2);
    b->found_count = 2;
    struct pawl__op bulk = { .kind = PAWL__OP_BULK,
                             .bulk = {
                                 .filter = &filter, .control = PAWL_CONTROL_CANCEL, .limit = 10 } };
    assert_int_equal(pawl__core_scan(&b->set, &bulk), PAWL_OK);
    assert_int_equal(bulk.err, PAWL_OK);
    assert_int_equal(bulk.bulk.moved, 1);
    assert_int_equal(b->rows[0].state, PAWL_STATE_ACTIVE);
    close_store(b);
}

static void due_jobs_become_available(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_SCHEDULED);
    put(b, 2, PAWL_STATE_RETRYABLE)->worker = "w";
    put(b, 3, PAWL_STATE_SCHEDULED)->due_at_ms = NOW_MS + 1; // it was snoozed meanwhile
    put(b, 4, PAWL_STATE_CANCELLED);
    for (uint32_t i = 1; i <= 5; i++) { // the fifth is gone
        b->found[b->found_count++] = id_of(i);
    }
    struct pawl__op promote = { .kind = PAWL__OP_PROMOTE, .sweep = { .limit = 10 } };
    assert_int_equal(pawl__core_scan(&b->set, &promote), PAWL_OK);
    assert_int_equal(promote.sweep.moved, 2);
    assert_int_equal(promote.sweep.next_at_ms, 77);
    assert_int_equal(b->rows[0].state, PAWL_STATE_AVAILABLE);
    assert_int_equal(b->rows[1].state, PAWL_STATE_AVAILABLE);
    assert_null(b->rows[1].worker);
    assert_int_equal(b->rows[2].state, PAWL_STATE_SCHEDULED);
    assert_int_equal(b->rows[3].state, PAWL_STATE_CANCELLED);
    pawl__arena_release(&promote.arena);
    close_store(b);
}

/* The backend moves some by itself; the set is for the others. */
static enum pawl_err promote_plain(struct pawl__backend *b, int64_t limit, struct pawl_job_id *ids,
                                   size_t *found, int64_t *moved, bool *more)
{
    *moved = 40;
    return scan_due(b, PAWL__DUE_RUN, limit, ids, found, more);
}

static void what_the_backend_promoted_is_counted(void **state)
{
    struct pawl__backend *b = open_store();
    struct pawl__core_table quick = table;
    quick.quick.promote_plain = promote_plain;
    b->set.table = &quick;
    put(b, 1, PAWL_STATE_SCHEDULED);
    b->found[b->found_count++] = id_of(1);
    struct pawl__op promote = { .kind = PAWL__OP_PROMOTE, .sweep = { .limit = 100 } };
    assert_int_equal(pawl__core_scan(&b->set, &promote), PAWL_OK);
    assert_int_equal(promote.sweep.moved, 41);
    assert_int_equal(b->rows[0].state, PAWL_STATE_AVAILABLE);
    pawl__arena_release(&promote.arena);
    close_store(b);
}

static void a_lease_that_ended_is_charged_until_it_is_a_poison_pill(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_ACTIVE);
    put(b, 2, PAWL_STATE_ACTIVE)->crashes = PAWL__CRASHES_MAX - 1;
    put(b, 3, PAWL_STATE_PENDING)->lease_until_ms = 5; // routed
    for (uint32_t i = 0; i < 3; i++) {
        b->found[b->found_count++] = id_of(i + 1);
    }
    struct pawl__op lapse = { .kind = PAWL__OP_LAPSE, .sweep = { .limit = 10 } };
    assert_int_equal(pawl__core_scan(&b->set, &lapse), PAWL_OK);
    assert_int_equal(lapse.sweep.moved, 3);
    assert_int_equal(lapse.sweep.next_at_ms, 77);
    assert_int_equal(b->rows[0].state, PAWL_STATE_AVAILABLE);
    assert_int_equal(b->rows[1].state, PAWL_STATE_DISCARDED);
    assert_int_equal(b->rows[2].state, PAWL_STATE_AVAILABLE);
    assert_int_equal(b->put[PAWL__TABLE_FAILURE], 2);
    pawl__arena_release(&lapse.arena);
    close_store(b);
}

static void a_damaged_retry_policy_does_not_hold_up_others(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_ACTIVE)->retry = (struct pawl_span){ "not JSON", 8 };
    put(b, 2, PAWL_STATE_ACTIVE);
    b->found[b->found_count++] = id_of(1);
    b->found[b->found_count++] = id_of(2);
    struct pawl__op lapse = { .kind = PAWL__OP_LAPSE, .sweep = { .limit = 10 } };
    assert_int_equal(pawl__core_scan(&b->set, &lapse), PAWL_OK);
    assert_int_equal(lapse.err, PAWL_OK);
    assert_int_equal(lapse.sweep.moved, 2);
    assert_int_equal(b->rows[0].state, PAWL_STATE_DISCARDED);
    assert_string_equal(b->rows[0].end_reason, "its retry policy is damaged");
    assert_true(b->rows[0].dead_letter);
    assert_int_equal(b->rows[1].state, PAWL_STATE_AVAILABLE);
    pawl__arena_release(&lapse.arena);
    close_store(b);
}

static void jobs_expire_unless_they_run_or_were_revived(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_AVAILABLE)->expires_at_ms = NOW_MS;
    put(b, 2, PAWL_STATE_ACTIVE)->expires_at_ms = NOW_MS;
    put(b, 3, PAWL_STATE_PAUSED)->expires_at_ms = NOW_MS - 1;
    put(b, 4, PAWL_STATE_AVAILABLE); // its time to live was over when it was retried
    put(b, 5, PAWL_STATE_SCHEDULED)->expires_at_ms = NOW_MS + 1;
    for (uint32_t i = 1; i <= 6; i++) { // the sixth is gone
        b->found[b->found_count++] = id_of(i);
    }
    struct pawl__op expire = { .kind = PAWL__OP_EXPIRE, .sweep = { .limit = 10 } };
    assert_int_equal(pawl__core_scan(&b->set, &expire), PAWL_OK);
    assert_int_equal(expire.sweep.moved, 1);
    assert_int_equal(expire.sweep.next_at_ms, 77);
    assert_int_equal(b->rows[0].state, PAWL_STATE_EXPIRED);
    assert_string_equal(b->rows[0].end_reason, "expired before it could run");
    assert_int_equal(b->rows[1].state, PAWL_STATE_ACTIVE);
    assert_int_equal(b->rows[2].state, PAWL_STATE_PAUSED);
    assert_int_equal(b->rows[3].state, PAWL_STATE_AVAILABLE);
    assert_int_equal(b->rows[4].state, PAWL_STATE_SCHEDULED);
    pawl__arena_release(&expire.arena);
    close_store(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bulk_that_meets_a_taken_key_moves_nothing),
        cmocka_unit_test(a_bulk_leaves_alone_what_no_longer_matches),
        cmocka_unit_test(due_jobs_become_available),
        cmocka_unit_test(what_the_backend_promoted_is_counted),
        cmocka_unit_test(a_lease_that_ended_is_charged_until_it_is_a_poison_pill),
        cmocka_unit_test(a_damaged_retry_policy_does_not_hold_up_others),
        cmocka_unit_test(jobs_expire_unless_they_run_or_were_revived),
    };
    return cmocka_run_group_tests_name("core_scan", tests, NULL, NULL);
}
