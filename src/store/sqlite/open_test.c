/* Opening and closing: the settings that are really in force, what is left behind, and a log that
 * does not grow for ever. */
#include "store/sqlite/test_kit.h"

#include <sched.h>

/* ---- settings ---- */

static void expect_pragma(sqlite3 *db, const char *name, const char *expected)
{
    char sql[64];
    snprintf(sql, sizeof sql, "PRAGMA %s", name);
    struct pawl__buf value = sql_lines(db, sql, 0);
    assert_true(value.len > 0);
    value.at[value.len - 1] = '\0';
    if (strcmp(value.at, expected) != 0) fail_msg("%s is %s, not %s", name, value.at, expected);
    pawl__buf_release(&value);
}

static void expect_settings(sqlite3 *db, const char *synchronous)
{
    expect_pragma(db, "journal_mode", "wal");
    expect_pragma(db, "synchronous", synchronous);
    expect_pragma(db, "secure_delete", "2"); // fast: where it costs no writes
    expect_pragma(db, "page_size", "8192");
    expect_pragma(db, "cache_size", "-65536");
    expect_pragma(db, "temp_store", "2");
    expect_pragma(db, "foreign_keys", "0");
    expect_pragma(db, "trusted_schema", "0");
}

static void settings_are_in_force(void **state)
{
    static const struct {
        enum pawl_durability durability;
        const char *synchronous;
    } rows[] = { { PAWL_DURABILITY_FULL, "2" }, { PAWL_DURABILITY_RELAXED, "1" } };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct kit kit;
        kit_init_folder(&kit);
        kit.config.durability = rows[i].durability;
        kit_open(&kit);
        expect_settings(kit.sq->writer.db, rows[i].synchronous);
        kit_ok(&kit, pawl__backend_sqlite.reopen(kit.sq, &kit.diag)); // and after trouble
        expect_settings(kit.sq->writer.db, rows[i].synchronous);
        kit_reopen(&kit); // and for a file that is there already
        expect_settings(kit.sq->writer.db, rows[i].synchronous);
        kit_close(&kit);
    }
}

static void readers_cannot_write(void **state)
{
    struct kit kit;
    struct pawl__sq_conn *conn;
    kit_open_file(&kit);
    kit_ok(&kit, pawl__sq_reader_take(kit.sq, &conn, &kit.diag));
    assert_ptr_not_equal(conn, &kit.sq->writer);
    assert_int_equal(sqlite3_db_readonly(conn->db, "main"), 1);
    assert_int_not_equal(sqlite3_exec(conn->db, "DELETE FROM pawl_job", NULL, NULL, NULL),
                         SQLITE_OK);
    pawl__sq_reader_give(kit.sq, conn);
    kit_close(&kit);
}

/* ---- several stores ---- */

static void stores_in_one_process_are_strangers(void **state)
{
    struct kit kits[4];
    for (size_t i = 0; i < COUNT(kits); i++) {
        kit_open_file(&kits[i]);
    }
    for (size_t i = 0; i < COUNT(kits); i++) {
        for (size_t n = 0; n <= i; n++) {
            kit_submit(&kits[i], (struct pawl_job_spec){ .queue = "same" });
        }
    }
    kit_close(&kits[0]);
    for (size_t i = 1; i < COUNT(kits); i++) {
        assert_int_equal(sql_int(kits[i].sq->writer.db, "SELECT count(*) FROM pawl_job"), i + 1);
        assert_int_equal(kit_claim(&kits[i], "same", 10), i + 1);
        kit_check(&kits[i]);
    }
    for (size_t i = COUNT(kits); i-- > 1;) {
        kit_close(&kits[i]);
    }
}

static void stores_in_memory_leave_no_file(void **state)
{
    struct kit kit, other;
    char folder[KIT_PATH_BYTES], was[4096];
    kit_make_folder(folder);
    assert_non_null(getcwd(was, sizeof was));
    assert_int_equal(chdir(folder), 0);
    kit_open_memory(&kit);
    kit_open_memory(&other);
    kit_submit(&kit, (struct pawl_job_spec){ .queue = "q" });
    assert_int_equal(kit_claim(&other, "q", 1), 0); // not even the same memory
    assert_int_equal(kit_claim(&kit, "q", 1), 1);
    kit_close(&kit);
    kit_close(&other);
    assert_int_equal(chdir(was), 0);
    assert_int_equal(rmdir(folder), 0); // which it can be only when it is empty
}

/* ---- what is left behind ---- */

static int count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) skip();
    int count = 0;
    while (readdir(folder)) {
        count++;
    }
    closedir(folder);
    return count;
}

/* As a short command does: open, write, read, close. */
static void use_briefly(struct kit *kit)
{
    struct pawl__arena arena = { 0 };
    struct pawl_stats stats = { 0 };
    kit_open(kit);
    kit_submit(kit, (struct pawl_job_spec){ .queue = "q" });
    kit_ok(kit, pawl__read_stats(kit->sq, &arena, &stats, &kit->diag));
    pawl__arena_release(&arena);
    kit_shut(kit);
}

static void opening_often_leaks_no_descriptor(void **state)
{
    struct kit kit;
    kit_init_folder(&kit);
    kit.config.durability = PAWL_DURABILITY_RELAXED; // quicker
    use_briefly(&kit);                               // SQLite may keep something for itself
    int before = count_descriptors();
    for (int i = 0; i < 200; i++) {
        use_briefly(&kit);
    }
    assert_int_equal(count_descriptors(), before);
    kit_open(&kit);
    assert_int_equal(sql_int(kit.sq->writer.db, "SELECT count(*) FROM pawl_job"), 201);
    kit_check(&kit);
    kit_close(&kit);
}

static void opening_in_vain_leaks_no_descriptor(void **state)
{
    struct kit kit;
    kit_open_file(&kit);
    sql_run(kit.sq->writer.db, "UPDATE pawl_migration SET checksum = 'x'");
    kit_shut(&kit);
    char damaged[KIT_PATH_BYTES], damaged_url[KIT_URL_BYTES + 16], folder_url[KIT_URL_BYTES];
    assert_true(snprintf(damaged, sizeof damaged, "%s/damaged.db", kit.folder) < KIT_PATH_BYTES);
    snprintf(damaged_url, sizeof damaged_url, "sqlite:%s", damaged);
    snprintf(folder_url, sizeof folder_url, "sqlite:%s", kit.folder);
    FILE *file = fopen(damaged, "w");
    assert_non_null(file);
    for (int i = 0; i < 2000; i++) {
        fputs("no database\n", file);
    }
    assert_int_equal(fclose(file), 0);
    const struct {
        const char *url;
        enum pawl_err err;
    } rows[] = { { kit.url, PAWL_ERR_SCHEMA },
                 { damaged_url, PAWL_ERR_CORRUPT },
                 { folder_url, PAWL_ERR_ARG },
                 { "sqlite:", PAWL_ERR_ARG } };
    int before = 0;
    for (int turn = 0; turn < 20; turn++) {
        for (size_t i = 0; i < COUNT(rows); i++) {
            kit.config.store = rows[i].url;
            assert_int_equal(kit_try_open(&kit), rows[i].err);
        }
        if (turn == 0) before = count_descriptors();
    }
    assert_int_equal(count_descriptors(), before);
    kit.sq = NULL;
    kit_close(&kit);
}

static void last_one_out_writes_the_log_back(void **state)
{
    struct kit first, second;
    kit_open_file(&first);
    kit_open_peer(&second, &first);
    kit_submit(&first, (struct pawl_job_spec){ .queue = "q" });
    kit_submit(&second, (struct pawl_job_spec){ .queue = "q" });
    kit_shut(&first);
    assert_true(kit_file_bytes(first.path, "-wal") > 0); // the other goes on with it
    kit_submit(&second, (struct pawl_job_spec){ .queue = "q" });
    kit_close(&second);
    assert_true(kit_file_bytes(first.path, "-wal") <= 0);
    assert_true(kit_file_bytes(first.path, "-shm") <= 0);
    kit_open(&first);
    assert_int_equal(kit_claim(&first, "q", 10), 3);
    kit_close(&first);
}

/* ---- the log ---- */

enum { FILLER_PAGES = 1000, TURN_PAGES = FILLER_PAGES + 100 }; /* no turn below writes more */

/* A table of a thousand pages that are all written again and again: the log grows, the database
 * does not. */
static void open_with_filler(struct kit *kit)
{
    kit_init_folder(kit);
    kit->config.durability = PAWL_DURABILITY_RELAXED; // quicker
    kit_open(kit);
    char sql[256];
    snprintf(sql, sizeof sql,
             "CREATE TABLE filler (n INTEGER, bytes BLOB); WITH RECURSIVE i (n) AS (SELECT 1"
             " UNION ALL SELECT n + 1 FROM i WHERE n < %d)"
             " INSERT INTO filler SELECT 0, zeroblob(5000) FROM i",
             FILLER_PAGES);
    sql_run(kit->sq->writer.db, sql);
}

static void write_turn(struct kit *kit)
{
    sql_run(kit->sq->writer.db, "UPDATE filler SET n = n + 1");
    kit_submit(kit, (struct pawl_job_spec){ .queue = "q" }); // after a commit the log is looked at
}

/* The checkpointer has a thread of its own and may be slow; without it the committer must do. */
static void committer_bounds_the_log(void **state)
{
    struct kit kit;
    open_with_filler(&kit);
    pawl__sq_checkpointer_close(kit.sq);
    int longest = 0;
    while (kit.sq->log_pages >= longest) {
        longest = kit.sq->log_pages;
        write_turn(&kit);
        assert_true(kit.sq->log_pages <= PAWL__SQ_LOG_PAGES_MAX + TURN_PAGES);
    }
    assert_true(longest >= PAWL__SQ_LOG_PAGES_MAX);
    assert_in_range(kit.sq->log_pages, 1, TURN_PAGES); // it has begun anew
    int64_t frame_bytes = PAWL__SQ_PAGE_BYTES + 24;
    assert_in_range(kit_file_bytes(kit.path, "-wal"), 1,
                    (PAWL__SQ_LOG_PAGES_MAX + TURN_PAGES) * frame_bytes);
    kit_close(&kit);
}

static void reader_only_delays_that(void **state)
{
    struct kit kit;
    struct pawl__sq_conn *conn;
    open_with_filler(&kit);
    pawl__sq_checkpointer_close(kit.sq);
    kit_ok(&kit, pawl__sq_read_begin(kit.sq, &conn, &kit.diag));
    assert_int_equal(sql_int(conn->db, "SELECT max(n) FROM filler"), 0);
    while (kit.sq->log_pages < PAWL__SQ_LOG_PAGES_MAX + 2 * TURN_PAGES) {
        write_turn(&kit); // goes on, and is not kept waiting
    }
    assert_int_equal(sql_int(conn->db, "SELECT max(n) FROM filler"), 0); // nothing moved for him
    pawl__sq_read_end(kit.sq, conn);
    write_turn(&kit); // the log is written back after this
    write_turn(&kit); // and begun anew by this
    assert_in_range(kit.sq->log_pages, 1, TURN_PAGES);
    kit_close(&kit);
}

static void checkpointer_works_beside_the_committer(void **state)
{
    struct kit kit;
    open_with_filler(&kit);
    struct pawl__backend *sq = kit.sq;
    assert_in_range(kit_file_bytes(kit.path, ""), 1, FILLER_PAGES * 1000); // all is in the log
    while (sq->log_pages < PAWL__SQ_CHECKPOINT_PAGES) {
        write_turn(&kit);
    }
    for (bool due = true; due;) { // until it has taken up the task
        sched_yield();
        pawl__lock(&sq->checkpoint_mutex);
        due = sq->checkpoint_due;
        pawl__unlock(&sq->checkpoint_mutex);
    }
    pawl__sq_checkpointer_close(sq); // waits until it is done
    assert_true(kit_file_bytes(kit.path, "") > FILLER_PAGES * PAWL__SQ_PAGE_BYTES);
    kit_close(&kit);
}

static bool take_due(struct pawl__backend *sq)
{
    pawl__lock(&sq->checkpoint_mutex);
    bool due = sq->checkpoint_due;
    sq->checkpoint_due = false;
    pawl__unlock(&sq->checkpoint_mutex);
    return due;
}

/* It syncs: woken by each commit, it would keep the disk from the next one. */
static void checkpointer_is_woken_once_for_many_pages(void **state)
{
    struct kit kit;
    open_with_filler(&kit);
    struct pawl__backend *sq = kit.sq;
    pawl__sq_checkpointer_close(sq);
    while (sq->log_pages < PAWL__SQ_CHECKPOINT_PAGES) {
        write_turn(&kit);
    }
    assert_true(take_due(sq));
    kit_submit(&kit, (struct pawl_job_spec){ .queue = "q" });
    assert_in_range(sq->log_pages, PAWL__SQ_CHECKPOINT_PAGES, 2 * PAWL__SQ_CHECKPOINT_PAGES - 1);
    assert_false(take_due(sq));
    while (sq->log_pages < 2 * PAWL__SQ_CHECKPOINT_PAGES) {
        write_turn(&kit);
    }
    assert_true(take_due(sq));
    kit_close(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_in_force),
        cmocka_unit_test(readers_cannot_write),
        cmocka_unit_test(stores_in_one_process_are_strangers),
        cmocka_unit_test(stores_in_memory_leave_no_file),
        cmocka_unit_test(opening_often_leaks_no_descriptor),
        cmocka_unit_test(opening_in_vain_leaks_no_descriptor),
        cmocka_unit_test(last_one_out_writes_the_log_back),
        cmocka_unit_test(committer_bounds_the_log),
        cmocka_unit_test(reader_only_delays_that),
        cmocka_unit_test(checkpointer_works_beside_the_committer),
        cmocka_unit_test(checkpointer_is_woken_once_for_many_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
