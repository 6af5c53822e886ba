/* The schema: what its CHECKs let in, and how its versions follow each other. */
#include "base/sha256.h"
#include "store/sqlite/test_kit.h"

#include <sys/wait.h>

/* ---- what may be written ---- */

/* Is the row let in? It does not stay. */
static bool accepts(sqlite3 *db, const char *sql)
{
    sql_run(db, "SAVEPOINT try");
    int code = sqlite3_exec(db, sql, NULL, NULL, NULL);
    int why = sqlite3_extended_errcode(db);
    if (code != SQLITE_OK && why != SQLITE_CONSTRAINT_CHECK) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db)); // refused for another reason
    }
    sql_run(db, "ROLLBACK TO try");
    sql_run(db, "RELEASE try");
    return code == SQLITE_OK;
}

enum place { NOWHERE, WAIT, READY, ACTIVE, DONE };

static enum place place_of(int state)
{
    if (state <= PAWL_STATE_NONE || state >= PAWL_STATE_END) return NOWHERE;
    if (state == PAWL_STATE_AVAILABLE) return READY;
    if (state == PAWL_STATE_ACTIVE) return ACTIVE;
    return pawl_state_is_terminal((enum pawl_state)state) ? DONE : WAIT;
}

/* pawl_ready and pawl_active hold one state each and do not name it. */
static void states_are_accepted_where_they_belong_alone(void **state)
{
    static const char *const inserts[] = {
        [WAIT] = "INSERT INTO pawl_wait (key, lane, state, paused_from, rank, run, base_run,"
                 " free_runs, due_at_ms) VALUES (1, 1, %d, %s, 0, 0, 0, 0, 0)",
        [DONE] = "INSERT INTO pawl_done (key, lane, state, run, base_run, free_runs,"
                 " finished_at_ms, dead_letter) VALUES (1, 1, %d, 0, 0, 0, 0, 0)",
    };
    struct kit kit;
    kit_open_memory(&kit);
    for (int s = -1; s <= PAWL_STATE_END + 1; s++) {
        char sql[512];
        snprintf(sql, sizeof sql, inserts[WAIT], s, s == PAWL_STATE_PAUSED ? "2" : "NULL");
        assert_int_equal(accepts(kit.sq->writer.db, sql), place_of(s) == WAIT);
        snprintf(sql, sizeof sql, inserts[DONE], s);
        assert_int_equal(accepts(kit.sq->writer.db, sql), place_of(s) == DONE);
        snprintf(sql, sizeof sql,
                 "INSERT INTO pawl_archive (key, tail, lane, priority, attempts_max,"
                 " created_at_ms, due_at_ms, rank, args, extras, state, run, base_run, free_runs,"
                 " finished_at_ms, dead_letter)"
                 " VALUES (1, 1, 1, 0, 1, 0, 0, 0, '[]', 0, %d, 0, 0, 0, 0, 0)",
                 s);
        assert_int_equal(accepts(kit.sq->writer.db, sql), place_of(s) == DONE);
    }
    kit_close(&kit);
}

#define WAIT_ROW(values)                                                                           \
    "INSERT INTO pawl_wait (key, lane, rank, run, base_run, free_runs, due_at_ms, state,"          \
    " paused_from, lease_until_ms) VALUES (1, 1, 0, 0, 0, 0, 0, " values ")"
#define JOB_ROW(attempts_max, extras)                                                              \
    "INSERT INTO pawl_job (key, tail, lane, priority, attempts_max, created_at_ms, due_at_ms,"     \
    " rank, args, extras) VALUES (1, 1, 1, 0, " attempts_max ", 0, 0, 0, '[]', " extras ")"
#define ACTIVE_ROW(run, base_run)                                                                  \
    "INSERT INTO pawl_active VALUES (1, 1, 1, " run ", " base_run ", 0, 0, 0, 'w')"
#define DONE_ROW(dead_letter)                                                                      \
    "INSERT INTO pawl_done (key, lane, state, run, base_run, free_runs, finished_at_ms,"           \
    " dead_letter) VALUES (1, 1, 10, 0, 0, 0, 0, " dead_letter ")"
#define QUEUE_ROW(paused)                                                                          \
    "INSERT INTO pawl_queue (name, paused, created_at_ms) VALUES ('q', " paused ", 0)"
#define KEY_ROW(digest, id) "INSERT INTO pawl_key VALUES (" digest ", " id ", NULL)"
#define FAILURE_ROW(lapsed)                                                                        \
    "INSERT INTO pawl_failure VALUES (1, 1, 1, " lapsed ", 0, 0, 0, 'w', '', '', '', '')"
#define PROGRESS_ROW(value) "INSERT INTO pawl_progress VALUES (1, 1, 0, " value ", NULL, NULL)"
#define AUDIT_ROW(id) "INSERT INTO pawl_audit (at_ms, job_id, action) VALUES (0, " id ", 'x')"

static void rows_that_make_no_sense_are_refused(void **state)
{
    static const struct {
        const char *sql;
        bool accepted;
    } rows[] = {
        { WAIT_ROW("6, 10, NULL"), true }, // only what is paused remembers from where
        { WAIT_ROW("6, NULL, NULL"), false },
        { WAIT_ROW("1, 2, NULL"), false },
        { WAIT_ROW("3, NULL, 99"), true }, // only what is routed has a lease
        { WAIT_ROW("1, NULL, 99"), false },
        { WAIT_ROW("6, 2, 99"), false },
        { JOB_ROW("1", "0"), true },
        { JOB_ROW("0", "0"), false },
        { JOB_ROW("1", "3"), true },
        { JOB_ROW("1", "4"), false },
        { ACTIVE_ROW("1", "0"), true }, // whoever runs has been claimed
        { ACTIVE_ROW("0", "-1"), false },
        { ACTIVE_ROW("3", "3"), false },
        { DONE_ROW("1"), true },
        { DONE_ROW("2"), false },
        { QUEUE_ROW("1"), true },
        { QUEUE_ROW("2"), false },
        { KEY_ROW("zeroblob(16)", "zeroblob(16)"), true },
        { KEY_ROW("zeroblob(15)", "zeroblob(16)"), false },
        { KEY_ROW("zeroblob(16)", "zeroblob(17)"), false },
        { FAILURE_ROW("1"), true },
        { FAILURE_ROW("2"), false },
        { PROGRESS_ROW("0.0"), true },
        { PROGRESS_ROW("1.0"), true },
        { PROGRESS_ROW("NULL"), true },
        { PROGRESS_ROW("1.001"), false },
        { PROGRESS_ROW("-0.001"), false },
        { AUDIT_ROW("zeroblob(16)"), true },
        { AUDIT_ROW("NULL"), true },
        { AUDIT_ROW("zeroblob(1)"), false },
        { "INSERT INTO pawl_count VALUES (1, 1, 0)", true },
        { "INSERT INTO pawl_count VALUES (1, 1, -1)", false },
    };
    struct kit kit;
    kit_open_memory(&kit);
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (accepts(kit.sq->writer.db, rows[i].sql) == rows[i].accepted) continue;
        fail_msg("%s by mistake: %s", rows[i].accepted ? "refused" : "accepted", rows[i].sql);
    }
    kit_close(&kit);
}

static void every_table_is_strict_and_ours_by_name(void **state)
{
    struct kit kit;
    kit_open_memory(&kit);
    sqlite3 *db = kit.sq->writer.db;
    const char *ours = "SELECT count(*) FROM sqlite_schema WHERE type = 'table'";
    assert_true(sql_int(db, ours) >= 15);
    assert_int_equal(sql_int(db, "SELECT count(*) FROM pragma_table_list"
                                 " WHERE schema = 'main' AND strict AND type = 'table'"
                                 " AND name LIKE 'pawl\\_%' ESCAPE '\\'"),
                     sql_int(db, ours));
    assert_int_equal(sql_int(db, "SELECT count(*) FROM sqlite_schema WHERE sql IS NOT NULL"
                                 " AND name NOT LIKE 'pawl\\_%' ESCAPE '\\'"),
                     0);
    int code = sqlite3_exec(db, "INSERT INTO pawl_count VALUES (1, 1, 'many')", NULL, NULL, NULL);
    assert_int_equal(code & 0xff, SQLITE_CONSTRAINT);
    kit_close(&kit);
}

/* ---- versions ---- */

static int64_t newest_version(void)
{
    struct kit kit;
    struct pawl_schema schema;
    kit_open_memory(&kit);
    kit_ok(&kit, pawl__sq_schema_read(&kit.sq->writer, &schema, &kit.diag));
    assert_int_equal(schema.version, schema.newest);
    kit_close(&kit);
    return schema.newest;
}

static void versions_are_recorded_with_their_checksums(void **state)
{
    struct pawl__sha256 sha;
    uint8_t hash[32];
    char expected[65];
    pawl__sha256_init(&sha);
    pawl__sha256_add(&sha, SQL_TEXT_migration_1, strlen(SQL_TEXT_migration_1));
    pawl__sha256_end(&sha, hash);
    for (int i = 0; i < 32; i++) {
        snprintf(expected + 2 * i, 3, "%02x", hash[i]);
    }
    struct kit kit;
    kit_open_memory(&kit);
    sqlite3 *db = kit.sq->writer.db;
    struct pawl__buf sum =
        sql_lines(db, "SELECT checksum FROM pawl_migration WHERE version = 1", 0);
    assert_memory_equal(sum.at, expected, 64);
    assert_string_equal(sum.at + 64, "\n");
    pawl__buf_release(&sum);
    assert_int_equal(sql_int(db, "SELECT min(applied_at_ms) FROM pawl_migration"), KIT_NOW_MS);
    assert_int_equal(sql_int(db, "SELECT count(*) FROM pawl_migration"), newest_version());
    kit_close(&kit);
}

/* A store that `spoil` was done to behind our back; opening it must fail with SCHEMA. */
static void expect_refusal(const char *spoil, const char *says, const char *says_too)
{
    struct kit kit;
    kit_open_file(&kit);
    kit_shut(&kit);
    sqlite3 *db = sql_open(kit.path);
    sql_run(db, spoil);
    sqlite3_close(db);
    for (int i = 0; i < 2; i++) { // and again: nothing was changed by the first attempt
        assert_int_equal(kit_try_open(&kit), PAWL_ERR_SCHEMA);
        if (!strstr(kit.diag.text, says) || !strstr(kit.diag.text, says_too)) {
            fail_msg("\"%s\" does not say \"%s\" and \"%s\"", kit.diag.text, says, says_too);
        }
        kit.sq = NULL;
        kit.config.no_migrate = true;
    }
    struct pawl_schema schema;
    assert_int_equal(pawl__backend_sqlite.schema(&kit.config, &schema, &kit.diag), PAWL_ERR_SCHEMA);
    kit_close(&kit);
}

static void changed_migration_is_refused(void **state)
{
    expect_refusal("UPDATE pawl_migration SET checksum ="
                   " CASE substr(checksum, 1, 1) WHEN '1' THEN '2' ELSE '1' END"
                   " || substr(checksum, 2)",
                   "migration 1", "not the one");
    expect_refusal("UPDATE pawl_migration SET checksum = ''", "migration 1", "not the one");
    expect_refusal("UPDATE pawl_migration SET version = 0 WHERE version = 1", "migration 0",
                   "not the one");
}

static void newer_store_is_refused_by_both_versions(void **state)
{
    char sql[128], theirs[32], ours[32];
    int64_t newest = newest_version();
    snprintf(sql, sizeof sql, "INSERT INTO pawl_migration VALUES (%lld, 'x', 0)",
             (long long)newest + 1);
    snprintf(theirs, sizeof theirs, "version %lld,", (long long)newest + 1);
    snprintf(ours, sizeof ours, "up to %lld;", (long long)newest);
    expect_refusal(sql, theirs, ours);
    snprintf(sql, sizeof sql, "INSERT INTO pawl_migration VALUES (%lld, 'x', 0)",
             (long long)newest + 41); // with a gap
    snprintf(theirs, sizeof theirs, "version %lld,", (long long)newest + 41);
    expect_refusal(sql, theirs, ours);
}

static void no_migrate_leaves_the_file_alone(void **state)
{
    struct kit kit;
    kit_init_folder(&kit);
    kit.config.no_migrate = true;
    assert_int_equal(kit_try_open(&kit), PAWL_ERR_SCHEMA);
    assert_non_null(strstr(kit.diag.text, "version 0"));
    assert_non_null(strstr(kit.diag.text, "pawl migrate"));
    sqlite3 *db = sql_open(kit.path);
    assert_int_equal(sql_int(db, "SELECT count(*) FROM sqlite_schema"), 0);
    sqlite3_close(db);
    kit.config.no_migrate = false;
    kit_open(&kit);
    kit.config.no_migrate = true;
    kit_reopen(&kit); // nothing is missing
    kit_close(&kit);
}

static void tells_the_version_of_a_file(void **state)
{
    struct kit kit;
    struct pawl_schema schema = { 0 };
    kit_init_folder(&kit);
    assert_int_equal(pawl__backend_sqlite.schema(&kit.config, &schema, &kit.diag),
                     PAWL_ERR_NOT_FOUND);
    sqlite3 *db = sql_open(kit.path);
    sql_run(db, "CREATE TABLE mine (x)");
    sqlite3_close(db);
    kit_ok(&kit, pawl__backend_sqlite.schema(&kit.config, &schema, &kit.diag));
    assert_int_equal(schema.version, 0);
    kit_open(&kit);
    kit_ok(&kit, pawl__backend_sqlite.schema(&kit.config, &schema, &kit.diag));
    assert_int_equal(schema.version, schema.newest);
    assert_int_equal(sql_int(kit.sq->writer.db, "SELECT count(*) FROM mine"), 0); // still there
    kit_close(&kit);
}

/* ---- all or nothing ---- */

/* Counts what SQLite asks leave for, and at one of them says no, or dies. */
struct warden {
    int asked;
    int no_at;
    bool dies;
};

static int ask_warden(void *ctx, int action, const char *a, const char *b, const char *c,
                      const char *d)
{
    (void)action, (void)a, (void)b, (void)c, (void)d;
    struct warden *warden = ctx;
    if (++warden->asked != warden->no_at) return SQLITE_OK;
    if (warden->dies) _exit(0);
    return SQLITE_DENY;
}

static void open_conn(struct kit *kit, struct pawl__sq_conn *conn)
{
    struct pawl__sq_open how = {
        .path = kit->path, .create = true, .memory = !kit->folder[0], .busy_timeout_ms = 1000
    };
    kit_ok(kit, pawl__sq_conn_open(&how, conn, &kit->diag));
}

static void failed_migration_leaves_nothing(void **state)
{
    struct kit kit;
    struct pawl__sq_conn conn;
    kit_init(&kit, NULL);
    open_conn(&kit, &conn);
    struct warden warden = { .no_at = 1 };
    sqlite3_set_authorizer(conn.db, ask_warden, &warden);
    int refusals = 0;
    while (pawl__sq_migrate(&conn, &kit.clock, false, &kit.diag)) {
        assert_true(warden.asked >= warden.no_at);
        assert_true(sqlite3_get_autocommit(conn.db));
        sqlite3_set_authorizer(conn.db, NULL, NULL);
        assert_int_equal(sql_int(conn.db, "SELECT count(*) FROM sqlite_schema"), 0);
        sqlite3_set_authorizer(conn.db, ask_warden, &warden);
        refusals++;
        warden.no_at += 1 + warden.no_at / 20;
        warden.asked = 0;
    }
    assert_true(refusals > 20);
    sqlite3_set_authorizer(conn.db, NULL, NULL);
    struct pawl_schema schema;
    kit_ok(&kit, pawl__sq_schema_read(&conn, &schema, &kit.diag));
    assert_int_equal(schema.version, schema.newest);
    pawl__sq_conn_release(&conn);
}

/* A process that dies in the middle of it. */
static void die_migrating(struct kit *kit, int at)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct warden warden = { .no_at = at, .dies = true };
        struct pawl__sq_conn conn;
        struct pawl__sq_open how = { .path = kit->path, .create = true, .busy_timeout_ms = 1000 };
        if (pawl__sq_conn_open(&how, &conn, NULL)) _exit(1);
        sqlite3_set_authorizer(conn.db, ask_warden, &warden);
        _exit(pawl__sq_migrate(&conn, &kit->clock, false, NULL) ? 2 : 3);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void killed_migration_leaves_nothing(void **state)
{
    static const int points[] = { 3, 30, 100, 300 };
    struct kit kit;
    kit_init_folder(&kit);
    for (size_t i = 0; i < COUNT(points); i++) {
        die_migrating(&kit, points[i]);
        sqlite3 *db = sql_open(kit.path);
        assert_int_equal(sql_int(db, "SELECT count(*) FROM sqlite_schema"), 0);
        sqlite3_close(db);
    }
    kit_open(&kit);
    kit_check(&kit);
    kit_close(&kit);
}

/* Migrates through a connection of his own just before the other begins. */
struct rival {
    struct kit *kit;
    struct pawl__sq_conn conn;
    bool went;
    enum pawl_err err;
};

static int let_rival_go(void *ctx, int action, const char *a, const char *b, const char *c,
                        const char *d)
{
    (void)b, (void)c, (void)d;
    struct rival *rival = ctx;
    if (action != SQLITE_TRANSACTION || strcmp(a, "BEGIN") != 0 || rival->went) return SQLITE_OK;
    rival->went = true;
    rival->err = pawl__sq_migrate(&rival->conn, &rival->kit->clock, false, NULL);
    return SQLITE_OK;
}

static void another_may_be_faster(void **state)
{
    struct kit kit;
    struct pawl__sq_conn conn;
    struct rival rival = { .kit = &kit };
    kit_init_folder(&kit);
    open_conn(&kit, &conn);
    open_conn(&kit, &rival.conn);
    sqlite3_set_authorizer(conn.db, let_rival_go, &rival);
    kit_ok(&kit, pawl__sq_migrate(&conn, &kit.clock, false, &kit.diag));
    sqlite3_set_authorizer(conn.db, NULL, NULL);
    assert_true(rival.went);
    assert_int_equal(rival.err, PAWL_OK);
    assert_int_equal(sql_int(conn.db, "SELECT count(*) FROM pawl_migration"), newest_version());
    pawl__sq_conn_release(&rival.conn);
    pawl__sq_conn_release(&conn);
    kit_close(&kit);
}

static void *open_kit(void *arg)
{
    struct kit *kit = arg;
    enum pawl_err err = kit_try_open(kit);
    return (void *)(intptr_t)err;
}

static void many_may_be_the_first(void **state)
{
    struct kit first, others[4];
    pthread_t threads[COUNT(others)];
    kit_init_folder(&first);
    for (size_t i = 0; i < COUNT(others); i++) {
        kit_init(&others[i], first.path);
    }
    for (size_t i = 0; i < COUNT(others); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, open_kit, &others[i]), 0);
    }
    for (size_t i = 0; i < COUNT(others); i++) {
        void *err;
        assert_int_equal(pthread_join(threads[i], &err), 0);
        kit_ok(&others[i], (enum pawl_err)(intptr_t)err);
    }
    assert_int_equal(sql_int(others[0].sq->writer.db, "SELECT count(*) FROM pawl_migration"),
                     newest_version());
    for (size_t i = 0; i < COUNT(others); i++) {
        kit_close(&others[i]);
    }
    kit_close(&first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_are_accepted_where_they_belong_alone),
        cmocka_unit_test(rows_that_make_no_sense_are_refused),
        cmocka_unit_test(every_table_is_strict_and_ours_by_name),
        cmocka_unit_test(versions_are_recorded_with_their_checksums),
        cmocka_unit_test(changed_migration_is_refused),
        cmocka_unit_test(newer_store_is_refused_by_both_versions),
        cmocka_unit_test(no_migrate_leaves_the_file_alone),
        cmocka_unit_test(tells_the_version_of_a_file),
        cmocka_unit_test(failed_migration_leaves_nothing),
        cmocka_unit_test(killed_migration_leaves_nothing),
        cmocka_unit_test(another_may_be_faster),
        cmocka_unit_test(many_may_be_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
