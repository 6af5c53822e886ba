/* Lanes by name and by number, the counters per lane and state, and taking both back. */
#include "store/sqlite/test_kit.h"

enum { QUEUES = 300, TYPES = 3 };

/* ---- transactions by hand ---- */

static void begin(struct kit *kit)
{
    struct pawl__backend *sq = kit->sq;
    sq->set.diag = &kit->diag;
    kit_ok(kit, pawl__sq_do(sq, SQL_BEGIN));
    sq->set.now_ms = kit->now_ms;
    kit_ok(kit, pawl__sq_catalog_refresh(sq));
}

static void commit(struct kit *kit)
{
    kit_ok(kit, pawl__sq_counts_flush(kit->sq));
    kit_ok(kit, pawl__sq_exec(&kit->sq->writer, SQL_COMMIT, &kit->diag));
    pawl__catalog_forget_counts(&kit->sq->set.catalog);
}

static struct pawl__lane *lane_of(struct kit *kit, const char *queue, const char *type)
{
    struct pawl__lane *lane;
    kit_ok(kit, pawl__sq_lane_of(kit->sq, queue, type, &lane));
    return lane;
}

static const char *numbered(char name[32], const char *prefix, int number)
{
    snprintf(name, 32, "%s %d", prefix, number);
    return name;
}

/* Lane number `n` of QUEUES * TYPES. */
static struct pawl__lane *nth_lane(struct kit *kit, int n)
{
    char queue[32], type[32];
    return lane_of(kit, numbered(queue, "queue", n / TYPES), numbered(type, "type", n % TYPES));
}

static int64_t count_rows(struct kit *kit, const char *table)
{
    char sql[64];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", table);
    return sql_int(kit->sq->writer.db, sql);
}

/* What is in memory is what is in the tables. */
static void expect_lanes_as_stored(struct kit *kit)
{
    struct pawl__catalog *catalog = &kit->sq->set.catalog;
    assert_int_equal(catalog->queue_count, count_rows(kit, "pawl_queue"));
    assert_int_equal(catalog->lane_count, count_rows(kit, "pawl_lane"));
    sqlite3_stmt *stmt = sql_prepare(kit->sq->writer.db,
                                     "SELECT l.id, q.name, l.type, q.id, q.paused FROM pawl_lane l"
                                     " JOIN pawl_queue q ON q.id = l.queue_id");
    uint32_t before = catalog->lane_count;
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        int64_t id = sqlite3_column_int64(stmt, 0);
        const char *queue = (const char *)sqlite3_column_text(stmt, 1);
        const char *type = (const char *)sqlite3_column_text(stmt, 2);
        struct pawl__lane *lane = lane_of(kit, queue, type);
        assert_int_equal(lane->id, id);
        struct pawl__lane *found;
        assert_int_equal(pawl__sql_lane_by_id(kit->sq, id, &found), PAWL_OK);
        assert_ptr_equal(found, lane);
        struct pawl__queue *owner = pawl__catalog_queue(&kit->sq->set.catalog, queue);
        assert_non_null(owner);
        assert_int_equal(owner->id, sqlite3_column_int64(stmt, 3));
        assert_int_equal(owner->paused, sqlite3_column_int(stmt, 4));
        assert_ptr_equal(owner, &catalog->queues[lane->queue]);
    }
    sqlite3_finalize(stmt);
    assert_int_equal(catalog->lane_count, before); // looking made none
}

/* Each lane hangs on its queue, once. */
static void expect_chains(struct kit *kit)
{
    const struct pawl__catalog *catalog = &kit->sq->set.catalog;
    uint32_t found = 0;
    for (uint32_t q = 0; q < catalog->queue_count; q++) {
        for (uint32_t at = catalog->queues[q].first_lane; at;
             at = catalog->lanes[at - 1]->next_lane) {
            assert_true(at <= catalog->lane_count);
            assert_int_equal(catalog->lanes[at - 1]->queue, q);
            assert_true(++found <= catalog->lane_count);
        }
    }
    assert_int_equal(found, catalog->lane_count);
}

/* ---- finding ---- */

static void hundreds_of_lanes_are_found_again(void **state)
{
    struct kit kit;
    static int64_t ids[QUEUES * TYPES];
    kit_open_file(&kit);
    begin(&kit);
    for (int i = 0; i < QUEUES * TYPES; i++) {
        ids[i] = nth_lane(&kit, i)->id;
    }
    for (int i = 0; i < QUEUES * TYPES; i++) {
        assert_int_equal(nth_lane(&kit, i)->id, ids[i]);
    }
    expect_lanes_as_stored(&kit);
    expect_chains(&kit);
    assert_int_equal(kit.sq->set.catalog.queue_count, QUEUES);
    struct pawl__lane *none;
    assert_int_equal(pawl__sql_lane_by_id(kit.sq, 0, &none), PAWL_ERR_CORRUPT);
    assert_int_equal(pawl__sql_lane_by_id(kit.sq, -1, &none), PAWL_ERR_CORRUPT);
    assert_int_equal(pawl__sql_lane_by_id(kit.sq, INT64_MAX, &none), PAWL_ERR_CORRUPT);
    assert_null(pawl__catalog_queue(&kit.sq->set.catalog, "queue"));
    commit(&kit);

    kit_reopen(&kit);
    begin(&kit);
    assert_int_equal(kit.sq->set.catalog.lane_count, QUEUES * TYPES);
    for (int i = QUEUES * TYPES; i-- > 0;) {
        assert_int_equal(nth_lane(&kit, i)->id, ids[i]);
    }
    expect_lanes_as_stored(&kit);
    expect_chains(&kit);
    commit(&kit);
    kit_close(&kit);
}

static void names_that_look_alike_are_told_apart(void **state)
{
    static const char *const names[][2] = {
        { "a", "bc" },
        { "ab", "c" },
        { "abc", "x" },
        { "a\x1f", "b" },
        { "a", "\x1f"
               "b" },
        { "a", "b" },
        { "b", "a" },
        { "A", "b" },
        { "caf\xc3\xa9", "b" },
        { "cafe", "b" },
        { "a b", "c d" },
        { "a", "b c d" },
    };
    struct kit kit;
    kit_open_memory(&kit);
    begin(&kit);
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_int_equal(kit.sq->set.catalog.lane_count, i);
        lane_of(&kit, names[i][0], names[i][1]);
    }
    assert_int_equal(kit.sq->set.catalog.lane_count, COUNT(names));
    expect_lanes_as_stored(&kit);
    commit(&kit);
    kit_close(&kit);
}

/* ---- counting ---- */

static int64_t counted(struct kit *kit, int64_t lane, enum pawl_state state)
{
    char sql[128];
    snprintf(sql, sizeof sql, "SELECT n FROM pawl_count WHERE lane = %lld AND state = %d",
             (long long)lane, (int)state);
    return sql_int(kit->sq->writer.db, sql);
}

static void counts_are_written_with_the_commit(void **state)
{
    struct kit kit;
    kit_open_memory(&kit);
    begin(&kit);
    int64_t id = nth_lane(&kit, 0)->id, other = nth_lane(&kit, 1)->id;
    for (int i = 0; i < 5; i++) {
        pawl__catalog_count(&kit.sq->set.catalog, nth_lane(&kit, 0), PAWL__OUTSIDE,
                            PAWL_STATE_AVAILABLE);
    }
    pawl__catalog_count(&kit.sq->set.catalog, nth_lane(&kit, 0), PAWL_STATE_AVAILABLE,
                        PAWL_STATE_ACTIVE);
    pawl__catalog_count(&kit.sq->set.catalog, nth_lane(&kit, 1), PAWL__OUTSIDE, PAWL_STATE_PENDING);
    pawl__catalog_count(&kit.sq->set.catalog, nth_lane(&kit, 1), PAWL_STATE_PENDING, PAWL__OUTSIDE);
    assert_int_equal(count_rows(&kit, "pawl_count"), 0);
    commit(&kit);
    assert_int_equal(counted(&kit, id, PAWL_STATE_AVAILABLE), 4);
    assert_int_equal(counted(&kit, id, PAWL_STATE_ACTIVE), 1);
    assert_int_equal(count_rows(&kit, "pawl_count"), 2); // what comes to nothing is not written

    begin(&kit);
    pawl__catalog_count(&kit.sq->set.catalog, nth_lane(&kit, 0), PAWL_STATE_ACTIVE,
                        PAWL_STATE_NONE); // the archive
    commit(&kit);
    assert_int_equal(counted(&kit, id, PAWL_STATE_AVAILABLE), 4);
    assert_int_equal(counted(&kit, id, PAWL_STATE_ACTIVE), 0);
    assert_int_equal(counted(&kit, id, PAWL_STATE_NONE), 1);
    assert_int_equal(counted(&kit, other, PAWL_STATE_PENDING), 0);
    kit_close(&kit);
}

static void no_count_goes_below_zero(void **state)
{
    struct kit kit;
    kit_open_memory(&kit);
    begin(&kit);
    pawl__catalog_count(&kit.sq->set.catalog, nth_lane(&kit, 0), PAWL_STATE_ACTIVE,
                        PAWL_STATE_COMPLETED);
    assert_int_equal(pawl__sq_counts_flush(kit.sq), PAWL_ERR_CORRUPT);
    kit_close(&kit);
}

/* ---- taking back ---- */

static int refuse_commit(void *ctx)
{
    (void)ctx;
    return 1;
}

static void rolled_back_lanes_are_gone(void **state)
{
    struct kit kit;
    kit_open_memory(&kit);
    kit_submit(&kit, (struct pawl_job_spec){ .queue = "kept" });
    struct pawl__new_job job = kit_job(&kit, (struct pawl_job_spec){ .queue = "lost" });
    struct pawl_submitted out;
    struct pawl__op op = { .kind = PAWL__OP_SUBMIT,
                           .submit = { .jobs = &job, .count = 1, .out = &out } };
    sqlite3_commit_hook(kit.sq->writer.db, refuse_commit, NULL);
    assert_int_not_equal(kit_do(&kit, &op), PAWL_OK);
    pawl__arena_release(&op.arena);
    sqlite3_commit_hook(kit.sq->writer.db, NULL, NULL);
    kit_submit(&kit, (struct pawl_job_spec){ .queue = "kept" });
    assert_int_equal(count_rows(&kit, "pawl_queue"), 1);
    assert_null(pawl__catalog_queue(&kit.sq->set.catalog, "lost"));
    kit_submit(&kit, (struct pawl_job_spec){ .queue = "found" }); // takes the number of the lost
    expect_lanes_as_stored(&kit);
    assert_int_equal(kit_claim(&kit, "found", 10), 1);
    assert_int_equal(kit_claim(&kit, "kept", 10), 2);
    kit_check(&kit);
    kit_close(&kit);
}

/* ---- two processes ---- */

static void pause_queue(struct kit *kit, const char *queue, bool paused)
{
    struct pawl__op op = { .kind = PAWL__OP_QUEUE_PAUSE,
                           .queue = { .queue = queue, .paused = paused } };
    kit_ok(kit, kit_do(kit, &op));
    pawl__arena_release(&op.arena);
}

static void peers_see_each_others_lanes(void **state)
{
    struct kit first, second;
    kit_open_file(&first);
    kit_open_peer(&second, &first);
    for (int i = 0; i < 60; i++) { // in turn: each finds what the other made in between
        char queue[32];
        struct kit *kit = i % 2 ? &first : &second;
        numbered(queue, "queue", i / 3);
        kit_submit(kit, (struct pawl_job_spec){ .queue = queue, .type = i % 2 ? "odd" : "even" });
    }
    begin(&first);
    expect_lanes_as_stored(&first);
    expect_chains(&first);
    assert_int_equal(first.sq->set.catalog.queue_count, 20);
    assert_int_equal(first.sq->set.catalog.lane_count, 40);
    commit(&first);
    begin(&second);
    expect_lanes_as_stored(&second);
    expect_chains(&second);
    commit(&second);
    for (int i = 0; i < 20; i++) {
        char queue[32];
        assert_int_equal(kit_claim(i % 2 ? &first : &second, numbered(queue, "queue", i), 10), 3);
    }
    kit_check(&first);
    kit_close(&second);
    kit_close(&first);
}

static void peers_see_each_others_pauses(void **state)
{
    struct kit first, second;
    kit_open_file(&first);
    kit_open_peer(&second, &first);
    for (int i = 0; i < 4; i++) {
        kit_submit(&first, (struct pawl_job_spec){ .queue = "mail" });
    }
    assert_int_equal(kit_claim(&second, "mail", 1), 1);
    pause_queue(&second, "mail", true);
    assert_int_equal(kit_claim(&second, "mail", 1), 0);
    assert_int_equal(kit_claim(&first, "mail", 1), 0);
    pause_queue(&first, "mail", false);
    assert_int_equal(kit_claim(&first, "mail", 1), 1);
    assert_int_equal(kit_claim(&second, "mail", 1), 1);
    pause_queue(&first, "new", true); // one that nobody has submitted to
    kit_submit(&second, (struct pawl_job_spec){ .queue = "new" });
    assert_int_equal(kit_claim(&second, "new", 1), 0);
    kit_reopen(&second);
    assert_int_equal(kit_claim(&second, "new", 1), 0);
    pause_queue(&second, "new", false);
    assert_int_equal(kit_claim(&first, "new", 1), 1);
    kit_check(&second);
    kit_close(&second);
    kit_close(&first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hundreds_of_lanes_are_found_again),
        cmocka_unit_test(names_that_look_alike_are_told_apart),
        cmocka_unit_test(counts_are_written_with_the_commit),
        cmocka_unit_test(no_count_goes_below_zero),
        cmocka_unit_test(rolled_back_lanes_are_gone),
        cmocka_unit_test(peers_see_each_others_lanes),
        cmocka_unit_test(peers_see_each_others_pauses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
