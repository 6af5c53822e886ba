/* What SQL functions have left to be decided: ends of runs, retry policies and unique policies. */
#include "store/core/core_test_kit.h"
#include "store/core/settle.h"

/* ---- entries of pawl_unsettled ---- */

static struct pawl__unsettled entries[8];
static size_t entry_count;

static enum pawl_err unsettled(struct pawl__backend *b, int32_t ties, int64_t after, int64_t limit)
{
    assert_true((int64_t)entry_count <= limit);
    for (size_t i = 0; i < entry_count; i++) {
        bool wanted = (entries[i].ties & ties) && entries[i].seq > after;
        if (wanted) pawl__settle_again(&b->set, &entries[i]);
    }
    return PAWL_OK;
}

static enum pawl_err next_unsettled(struct pawl__backend *b, int32_t ties, int64_t *at_ms)
{
    (void)b, (void)ties;
    *at_ms = 0;
    return PAWL_OK;
}

/* Nothing else is due that the same sweep looks for. */
static enum pawl_err scan_none(struct pawl__backend *b, int64_t limit)
{
    (void)b, (void)limit;
    return PAWL_OK;
}

static enum pawl_err next_none(struct pawl__backend *b, int64_t *at_ms)
{
    (void)b;
    *at_ms = 0;
    return PAWL_OK;
}

static struct pawl__backend *open_with_entries(void)
{
    static struct pawl__core_table with_entries;
    struct pawl__backend *b = open_store();
    with_entries = table;
    with_entries.unsettled = unsettled;
    with_entries.next_unsettled = next_unsettled;
    with_entries.scan_timers = with_entries.scan_flows = scan_none;
    with_entries.next_timer = with_entries.next_flow = next_none;
    b->set.table = &with_entries;
    entry_count = 0;
    return b;
}

static void add_entry(struct pawl__unsettled entry)
{
    entry.seq = (int64_t)entry_count + 1;
    entry.at_ms = NOW_MS - 100;
    entries[entry_count++] = entry;
}

static struct pawl__op sweep_entries(struct pawl__backend *b)
{
    struct pawl__op settle = { .kind = PAWL__OP_SETTLE, .sweep = { .limit = 10 } };
    assert_int_equal(pawl__core_scan(&b->set, &settle), PAWL_OK);
    pawl__arena_release(&settle.arena);
    return settle;
}

static void settle_entries(struct pawl__backend *b)
{
    assert_int_equal(sweep_entries(b).sweep.moved, entry_count);
    assert_int_equal(b->put[PAWL__TABLE_FOLLOWED], entry_count);
    assert_int_equal(b->put[PAWL__TABLE_UNSETTLED], 0);
}

static void what_was_reported_is_decided_as_of_then(void **state)
{
    (void)state;
    struct pawl__backend *b = open_with_entries();
    put(b, 1, PAWL_STATE_ACTIVE)->ties = PAWL__TIE_FAILED;
    put(b, 2, PAWL_STATE_ACTIVE)->ties = PAWL__TIE_PUT_OFF;
    put(b, 3, PAWL_STATE_ACTIVE)->ties = PAWL__TIE_FAILED;
    put(b, 4, PAWL_STATE_ACTIVE)->run = 2;
    add_entry((struct pawl__unsettled){
        .id = id_of(1), .ties = PAWL__TIE_FAILED, .run = 1, .delay_ms = 70 });
    add_entry((struct pawl__unsettled){
        .id = id_of(2), .ties = PAWL__TIE_PUT_OFF, .run = 1, .delay_ms = 80 });
    add_entry((struct pawl__unsettled){
        .id = id_of(3), .ties = PAWL__TIE_FAILED, .run = 1, .not_retryable = 1 });
    add_entry((struct pawl__unsettled){ .id = id_of(4), .ties = PAWL__TIE_FAILED, .run = 1 });
    settle_entries(b);
    assert_int_equal(b->rows[0].state, PAWL_STATE_RETRYABLE);
    assert_int_equal(b->rows[0].due_at_ms, NOW_MS - 100 + 70);
    assert_int_equal(b->rows[1].state, PAWL_STATE_SCHEDULED);
    assert_int_equal(b->rows[1].due_at_ms, NOW_MS - 100 + 80);
    assert_int_equal(b->rows[1].free_runs, 1);
    assert_int_equal(b->rows[2].state, PAWL_STATE_DISCARDED);
    assert_int_equal(b->rows[3].state, PAWL_STATE_ACTIVE); // that run was over
    assert_int_equal(b->put[PAWL__TABLE_FAILURE], 2);
    for (size_t i = 0; i < b->count; i++) {
        assert_int_equal(b->rows[i].ties, 0);
    }
    close_store(b);
}

static void a_reported_run_is_over_and_no_lost_lease(void **state)
{
    (void)state;
    struct pawl__backend *b = open_with_entries();
    put(b, 1, PAWL_STATE_ACTIVE)->ties = PAWL__TIE_FAILED;
    struct pawl__op complete = { .kind = PAWL__OP_COMPLETE,
                                 .complete = { .ref = { id_of(1), 1 } } };
    run_ops(b, &complete, 1);
    assert_int_equal(complete.err, PAWL_ERR_STALE);
    b->found[b->found_count++] = id_of(1);
    struct pawl__op lapse = { .kind = PAWL__OP_LAPSE, .sweep = { .limit = 10 } };
    assert_int_equal(pawl__core_scan(&b->set, &lapse), PAWL_OK);
    assert_int_equal(lapse.sweep.moved, 0);
    assert_int_equal(b->rows[0].state, PAWL_STATE_ACTIVE);
    assert_true(b->rows[0].lease_until_ms > NOW_MS);
    assert_int_equal(b->put[PAWL__TABLE_FAILURE], 0);
    pawl__arena_release(&lapse.arena);
    close_store(b);
}

static struct pawl__row *put_unchecked(struct pawl__backend *b, uint32_t n)
{
    struct pawl__row *row = put(b, n, PAWL_STATE_PENDING);
    row->ties = PAWL__TIE_UNCHECKED;
    return row;
}

static void a_job_is_held_until_its_policy_is_checked(void **state)
{
    (void)state;
    static const struct pawl_span good = { "{\"initial_ms\":7}", 16 },
                                  bad = { "{\"tries\":1}", 11 };
    struct pawl__backend *b = open_with_entries();
    for (uint32_t i = 1; i <= 4; i++) {
        struct pawl__row *row = put_unchecked(b, i);
        row->retry = i == 2 ? bad : good;
        if (i == 4) row->due_at_ms = NOW_MS + 1;
        add_entry((struct pawl__unsettled){ .id = id_of(i),
                                            .ties = PAWL__TIE_UNCHECKED,
                                            .to = i == 3 ? PAWL_STATE_PENDING : PAWL_STATE_NONE });
    }
    settle_entries(b);
    assert_int_equal(b->rows[0].state, PAWL_STATE_AVAILABLE);
    assert_int_equal(b->rows[1].state, PAWL_STATE_CANCELLED);
    assert_int_equal(b->rows[2].state, PAWL_STATE_PENDING); // as it was asked for
    assert_int_equal(b->rows[3].state, PAWL_STATE_SCHEDULED);
    close_store(b);
}

/* ---- entries and their jobs ---- */

/* That of an earlier job of the same id, say. */
static void an_entry_needs_the_tie_of_its_job(void **state)
{
    (void)state;
    struct pawl__backend *b = open_with_entries();
    put(b, 1, PAWL_STATE_ACTIVE);
    put(b, 2, PAWL_STATE_ACTIVE)->ties = PAWL__TIE_PUT_OFF;
    put(b, 3, PAWL_STATE_PENDING);
    put(b, 4, PAWL_STATE_ACTIVE);
    add_entry((struct pawl__unsettled){ .id = id_of(1), .ties = PAWL__TIE_FAILED, .run = 1 });
    add_entry((struct pawl__unsettled){ .id = id_of(2), .ties = PAWL__TIE_FAILED, .run = 1 });
    add_entry((struct pawl__unsettled){ .id = id_of(3), .ties = PAWL__TIE_UNCHECKED });
    add_entry((struct pawl__unsettled){ .id = id_of(4), .ties = PAWL__TIE_PUT_OFF, .run = 1 });
    settle_entries(b);
    assert_int_equal(b->rows[0].state, PAWL_STATE_ACTIVE);
    assert_int_equal(b->rows[1].state, PAWL_STATE_ACTIVE);
    assert_int_equal(b->rows[2].state, PAWL_STATE_PENDING);
    assert_int_equal(b->rows[3].state, PAWL_STATE_ACTIVE);
    close_store(b);
}

static struct pawl__op delete_op(uint32_t n)
{
    return (struct pawl__op){ .kind = PAWL__OP_DELETE, .remove = { .id = id_of(n) } };
}

/* So none is left when the job is deleted, and that costs other deletions nothing. */
static void entries_go_when_their_job_ends(void **state)
{
    (void)state;
    struct pawl__backend *b = open_with_entries();
    put(b, 1, PAWL_STATE_ACTIVE)->ties = PAWL__TIE_FAILED;
    put_unchecked(b, 2);
    put(b, 3, PAWL_STATE_PENDING);
    put_unchecked(b, 4);
    for (uint32_t i = 1; i <= 4; i++) {
        struct pawl__op ops[] = { control_op(i, PAWL_CONTROL_CANCEL), delete_op(i) };
        run_ops(b, ops, i == 4 ? 2 : 1); // in one batch, or in two
        assert_int_equal(b->put[PAWL__TABLE_MOOT], i < 3 ? i : i - 1);
        if (i < 4) run_ops(b, &ops[1], 1);
        assert_int_equal(ops[1].err, PAWL_OK);
        assert_int_equal(b->put[PAWL__TABLE_MOOT], i < 3 ? i : i - 1);
    }
    assert_int_equal(b->put[PAWL__TABLE_UNSETTLED], 0);
    close_store(b);
}

/* ---- unique policies ---- */

/* A job with a unique policy over its type, of which nothing has been checked. */
static struct pawl__row *put_unique(struct pawl__backend *b, uint32_t n, const char *on_conflict)
{
    static struct pawl_job jobs[8];
    static char policies[8][80];
    struct pawl__row *row = put_unchecked(b, n);
    int len = snprintf(policies[n], sizeof policies[n],
                       "{\"keys\":[\"type\"],\"on_conflict\":\"%s\"}", on_conflict);
    jobs[n] = (struct pawl_job){ .args = { "[1]", 3 }, .unique = { policies[n], (size_t)len } };
    row->job = &jobs[n];
    add_entry((struct pawl__unsettled){
        .id = id_of(n), .ties = PAWL__TIE_UNCHECKED, .bytes = 3, .delay_ms = 40 });
    return row;
}

static void a_unique_key_is_taken_once(void **state)
{
    (void)state;
    static const char *const conflicts[] = { "reject", "ignore", "fight" };
    for (size_t i = 0; i < 3; i++) {
        struct pawl__backend *b = open_with_entries();
        put_unique(b, 1, "reject");
        put_unique(b, 2, conflicts[i]);
        settle_entries(b);
        assert_int_equal(b->rows[0].state, PAWL_STATE_AVAILABLE);
        assert_int_equal(b->rows[1].state, PAWL_STATE_CANCELLED);
        assert_int_equal(b->put[PAWL__TABLE_CHECKED], 1);
        assert_int_equal(b->held_count, 1);
        assert_memory_equal(&b->held[0].id, &b->rows[0].id, sizeof b->held[0].id);
        close_store(b);
    }
}

static void a_unique_job_takes_the_place_of_another(void **state)
{
    (void)state;
    struct pawl__backend *b = open_with_entries();
    put_unique(b, 1, "reject")->due_at_ms = NOW_MS + 500;
    put_unique(b, 2, "replace_except_schedule");
    settle_entries(b);
    assert_int_equal(b->rows[0].state, PAWL_STATE_CANCELLED);
    assert_int_equal(b->rows[1].state, PAWL_STATE_SCHEDULED);
    assert_int_equal(b->rows[1].due_at_ms, NOW_MS + 500);
    assert_int_equal(b->rows[1].expires_at_ms, NOW_MS + 540);
    assert_int_equal(b->put[PAWL__TABLE_AUDIT], 1);
    entry_count = 0;
    put_unique(b, 3, "replace")->created_at_ms = 1;
    assert_int_equal(sweep_entries(b).sweep.moved, 1);
    assert_int_equal(b->rows[1].state, PAWL_STATE_CANCELLED);
    assert_int_equal(b->rows[2].state, PAWL_STATE_AVAILABLE);
    close_store(b);
}

static void a_key_that_is_held_is_asked_later(void **state)
{
    (void)state;
    struct pawl__backend *b = open_with_entries();
    put_unique(b, 1, "reject");
    b->keys_held = true;
    assert_int_equal(sweep_entries(b).sweep.moved, 0);
    assert_int_equal(b->rows[0].state, PAWL_STATE_PENDING);
    assert_int_equal(b->put[PAWL__TABLE_FOLLOWED] + b->put[PAWL__TABLE_KEY_NEW], 0);
    b->keys_held = false;
    settle_entries(b);
    assert_int_equal(b->rows[0].state, PAWL_STATE_AVAILABLE);
    close_store(b);
}

/* It was never checked, and is before long. */
static void a_job_that_comes_back_is_checked_then(void **state)
{
    (void)state;
    struct pawl__backend *b = open_with_entries();
    struct pawl__op back = control_op(1, PAWL_CONTROL_RETRY);
    put_unique(b, 1, "reject");
    run_ops(b, (struct pawl__op[]){ control_op(1, PAWL_CONTROL_CANCEL) }, 1);
    assert_int_equal(sweep_entries(b).sweep.moved,
                     1); // had another node had the entry in its hands
    assert_int_equal(b->put[PAWL__TABLE_CHECKED], 0);
    run_ops(b, &back, 1);
    assert_int_equal(b->rows[0].state, PAWL_STATE_AVAILABLE);
    assert_int_equal(b->put[PAWL__TABLE_UNSETTLED], 1);
    entry_count = 0;
    add_entry((struct pawl__unsettled){ .id = id_of(1),
                                        .ties = PAWL__TIE_UNCHECKED,
                                        .bytes = -1,
                                        .from = PAWL_STATE_CANCELLED,
                                        .to = PAWL_STATE_AVAILABLE });
    assert_int_equal(sweep_entries(b).sweep.moved, 1);
    assert_int_equal(b->put[PAWL__TABLE_CHECKED], 1);
    assert_int_equal(b->rows[0].state, PAWL_STATE_AVAILABLE);
    assert_int_equal(b->rows[0].ties, 0);
    close_store(b);
}

/* What was refused is so again, unless its key is free by then. */
static void a_refused_job_that_comes_back_is_checked_again(void **state)
{
    (void)state;
    struct pawl__backend *b = open_with_entries();
    struct pawl__op back = control_op(2, PAWL_CONTROL_RETRY);
    put_unique(b, 1, "reject");
    put_unique(b, 2, "reject");
    settle_entries(b);
    assert_int_equal(b->rows[1].state, PAWL_STATE_CANCELLED);
    run_ops(b, (struct pawl__op[]){ control_op(1, PAWL_CONTROL_CANCEL) }, 1);
    assert_int_equal(b->put[PAWL__TABLE_UNSETTLED], 0);
    run_ops(b, &back, 1);
    assert_int_equal(b->put[PAWL__TABLE_UNSETTLED], 1);
    assert_int_equal(b->put[PAWL__TABLE_MOOT], 0);
    close_store(b);
}

static void a_paused_job_asks_for_no_key(void **state)
{
    (void)state;
    struct pawl__backend *b = open_with_entries();
    struct pawl__row *paused = put_unique(b, 1, "reject");
    paused->state = PAWL_STATE_PAUSED;
    paused->paused_from = PAWL_STATE_PENDING;
    assert_int_equal(sweep_entries(b).sweep.moved, 0);
    assert_int_equal(b->keys_read, 0);
    paused->state = PAWL_STATE_PENDING;
    paused->paused_from = PAWL_STATE_NONE;
    settle_entries(b);
    assert_int_equal(b->keys_read, 1);
    assert_int_equal(b->rows[0].state, PAWL_STATE_AVAILABLE);
    close_store(b);
}

/* The older one was held when the newer one was checked, which may be over by now. */
static void a_job_does_not_replace_a_newer_one(void **state)
{
    (void)state;
    static const enum pawl_state newer[] = { PAWL_STATE_AVAILABLE, PAWL_STATE_COMPLETED };
    for (size_t i = 0; i < 4; i++) {
        struct pawl__backend *b = open_with_entries();
        int64_t apart_ms = i / 2; // or in one millisecond
        put_unique(b, 2, "replace")->created_at_ms = 1 + apart_ms;
        settle_entries(b);
        b->rows[0].state = newer[i % 2];
        b->rows[0].has_end = i % 2;
        entry_count = 0;
        put_unique(b, 1, "replace")->created_at_ms = 1;
        assert_int_equal(sweep_entries(b).sweep.moved, 1);
        assert_int_equal(b->rows[0].state, newer[i % 2]);
        assert_int_equal(b->rows[1].state, PAWL_STATE_CANCELLED);
        assert_string_equal(b->rows[1].end_reason, "replaced");
        assert_int_equal(b->held_count, 1);
        assert_int_equal(b->put[PAWL__TABLE_AUDIT], 1);
        close_store(b);
    }
}

/* The first of them is read alone: it is too long, or nobody knows how long it is. */
static void only_so_much_is_read_at_once(void **state)
{
    (void)state;
    static const int64_t first_bytes[] = { PAWL__SETTLE_BYTES_MAX * 2, -1 };
    for (size_t n = 0; n < 2; n++) {
        struct pawl__backend *b = open_with_entries();
        for (uint32_t i = 1; i <= 3; i++) {
            put_unique(b, i, "ignore");
            entries[i - 1].bytes = i == 1 ? first_bytes[n] : PAWL__SETTLE_BYTES_MAX / 2;
        }
        struct pawl__op first = sweep_entries(b);
        assert_int_equal(first.sweep.moved, 1);
        assert_true(first.sweep.more);
        struct pawl__op second = sweep_entries(b); // goes on behind that
        assert_int_equal(second.sweep.moved, 2);
        assert_false(second.sweep.more);
        close_store(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_reported_is_decided_as_of_then),
        cmocka_unit_test(a_reported_run_is_over_and_no_lost_lease),
        cmocka_unit_test(a_job_is_held_until_its_policy_is_checked),
        cmocka_unit_test(a_unique_key_is_taken_once),
        cmocka_unit_test(a_unique_job_takes_the_place_of_another),
        cmocka_unit_test(a_key_that_is_held_is_asked_later),
        cmocka_unit_test(an_entry_needs_the_tie_of_its_job),
        cmocka_unit_test(entries_go_when_their_job_ends),
        cmocka_unit_test(a_job_that_comes_back_is_checked_then),
        cmocka_unit_test(a_refused_job_that_comes_back_is_checked_again),
        cmocka_unit_test(a_paused_job_asks_for_no_key),
        cmocka_unit_test(a_job_does_not_replace_a_newer_one),
        cmocka_unit_test(only_so_much_is_read_at_once),
    };
    return cmocka_run_group_tests_name("reported", tests, NULL, NULL);
}
