/* Connections: SQLite's errors in our words, and the pool that readers share. */
#include "store/sqlite/test_kit.h"

#include <stdatomic.h>

static void errors_have_our_names(void **state)
{
    static const struct {
        int code;
        enum pawl_err err;
    } rows[] = {
        { SQLITE_OK, PAWL_OK },
        { SQLITE_ROW, PAWL_OK },
        { SQLITE_DONE, PAWL_OK },
        { SQLITE_NOMEM, PAWL_ERR_NOMEM },
        { SQLITE_IOERR_NOMEM, PAWL_ERR_NOMEM },
        { SQLITE_BUSY, PAWL_ERR_BUSY },
        { SQLITE_BUSY_SNAPSHOT, PAWL_ERR_BUSY },
        { SQLITE_BUSY_RECOVERY, PAWL_ERR_BUSY },
        { SQLITE_LOCKED, PAWL_ERR_BUSY },
        { SQLITE_FULL, PAWL_ERR_FULL },
        { SQLITE_READONLY, PAWL_ERR_READONLY },
        { SQLITE_READONLY_DBMOVED, PAWL_ERR_READONLY },
        { SQLITE_PERM, PAWL_ERR_READONLY },
        { SQLITE_CORRUPT, PAWL_ERR_CORRUPT },
        { SQLITE_CORRUPT_INDEX, PAWL_ERR_CORRUPT },
        { SQLITE_NOTADB, PAWL_ERR_CORRUPT },
        { SQLITE_IOERR_CORRUPTFS, PAWL_ERR_CORRUPT },
        { SQLITE_CONSTRAINT_CHECK, PAWL_ERR_CORRUPT },
        { SQLITE_ERROR, PAWL_ERR_SCHEMA },
        { SQLITE_SCHEMA, PAWL_ERR_SCHEMA },
        { SQLITE_IOERR, PAWL_ERR_IO },
        { SQLITE_IOERR_FSYNC, PAWL_ERR_IO },
        { SQLITE_IOERR_WRITE, PAWL_ERR_IO },
        { SQLITE_CANTOPEN, PAWL_ERR_IO },
        { SQLITE_MISUSE, PAWL_ERR_IO },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (pawl__sq_error_code(rows[i].code) == rows[i].err) continue;
        fail_msg("SQLite's %d is %s, not %s", rows[i].code,
                 pawl_err_name(pawl__sq_error_code(rows[i].code)), pawl_err_name(rows[i].err));
    }
}

static void missing_table_is_told(void **state)
{
    struct kit kit;
    kit_open_memory(&kit);
    sql_run(kit.sq->writer.db, "DROP TABLE pawl_lock");
    struct pawl__op op = { .kind = PAWL__OP_LOCK_TRY,
                           .lock = { .name = "l", .owner = "o", .ttl_ms = 1 } };
    assert_int_equal(kit_do(&kit, &op), PAWL_ERR_SCHEMA);
    assert_non_null(strstr(kit.diag.text, "could not"));
    pawl__arena_release(&op.arena);
    kit_submit(&kit, (struct pawl_job_spec){ .queue = "q" }); // the rest works as before
    kit_close(&kit);
}

/* ---- the pool ---- */

struct pool {
    struct kit kit;
    atomic_int out;  /* connections that are taken just now */
    atomic_int most; /* at once, ever */
    atomic_int wrong;
};

static void *read_often(void *arg)
{
    struct pool *pool = arg;
    struct pawl__backend *sq = pool->kit.sq;
    for (int i = 0; i < 100; i++) {
        struct pawl__sq_conn *conn;
        if (pawl__sq_read_begin(sq, &conn, NULL)) {
            atomic_fetch_add(&pool->wrong, 1);
            continue;
        }
        int out = atomic_fetch_add(&pool->out, 1) + 1;
        if (out > atomic_load(&pool->most)) atomic_store(&pool->most, out);
        bool found = false;
        sqlite3_stmt *stmt = pawl__sq_use(conn, SQL_MIGRATION_ALL);
        if (pawl__sq_row(conn, stmt, &found, NULL) || !found) atomic_fetch_add(&pool->wrong, 1);
        sqlite3_reset(stmt);
        atomic_fetch_sub(&pool->out, 1);
        pawl__sq_read_end(sq, conn);
    }
    return NULL;
}

/* More threads than connections. */
static void read_in_crowd(struct pool *pool, int most)
{
    pthread_t threads[PAWL__READERS_MAX * 2];
    for (size_t i = 0; i < COUNT(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, read_often, pool), 0);
    }
    for (size_t i = 0; i < COUNT(threads); i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(atomic_load(&pool->wrong), 0);
    assert_in_range(atomic_load(&pool->most), 1, most);
}

static void readers_share_the_pool(void **state)
{
    struct pool pool = { .out = 0 };
    kit_open_file(&pool.kit);
    read_in_crowd(&pool, PAWL__READERS_MAX);
    kit_close(&pool.kit);
}

static void readers_in_memory_take_turns(void **state)
{
    struct pool pool = { .out = 0 };
    kit_open_memory(&pool.kit);
    read_in_crowd(&pool, 1);
    kit_submit(&pool.kit, (struct pawl_job_spec){ .queue = "q" });
    kit_close(&pool.kit);
}

static void every_connection_of_the_pool_can_be_out(void **state)
{
    struct kit kit;
    struct pawl__sq_conn *conns[PAWL__READERS_MAX], *again;
    kit_open_file(&kit);
    for (size_t i = 0; i < COUNT(conns); i++) {
        kit_ok(&kit, pawl__sq_reader_take(kit.sq, &conns[i], &kit.diag));
        for (size_t j = 0; j < i; j++) {
            assert_ptr_not_equal(conns[i], conns[j]);
        }
    }
    pawl__sq_reader_give(kit.sq, conns[2]);
    kit_ok(&kit, pawl__sq_reader_take(kit.sq, &again, &kit.diag));
    assert_ptr_equal(again, conns[2]); // the one that is free, with its statements
    for (size_t i = 0; i < COUNT(conns); i++) {
        pawl__sq_reader_give(kit.sq, conns[i]);
    }
    kit_close(&kit);
}

static int64_t count_jobs(struct pawl__sq_conn *conn)
{
    return sql_int(conn->db, "SELECT count(*) FROM pawl_job");
}

static void what_is_read_together_fits_together(void **state)
{
    struct kit kit;
    struct pawl__sq_conn *conn;
    kit_open_file(&kit);
    kit_submit(&kit, (struct pawl_job_spec){ .queue = "q" });
    kit_ok(&kit, pawl__sq_read_begin(kit.sq, &conn, &kit.diag));
    assert_int_equal(count_jobs(conn), 1);
    kit_submit(&kit, (struct pawl_job_spec){ .queue = "q" });
    assert_int_equal(count_jobs(conn), 1);
    pawl__sq_read_end(kit.sq, conn);
    kit_ok(&kit, pawl__sq_read_begin(kit.sq, &conn, &kit.diag));
    assert_int_equal(count_jobs(conn), 2);
    pawl__sq_read_end(kit.sq, conn);
    kit_close(&kit);
}

static void reading_goes_on_while_a_store_is_reopened(void **state)
{
    struct kit kit;
    struct pawl__sq_conn *conn;
    kit_open_file(&kit);
    kit_submit(&kit, (struct pawl_job_spec){ .queue = "q" });
    kit_ok(&kit, pawl__sq_reader_take(kit.sq, &conn, &kit.diag));
    assert_int_equal(count_jobs(conn), 1);
    kit_ok(&kit, pawl__backend_sqlite.reopen(kit.sq, &kit.diag));
    kit_submit(&kit, (struct pawl_job_spec){ .queue = "q" });
    assert_int_equal(count_jobs(conn), 2); // it was not taken from under him
    pawl__sq_reader_give(kit.sq, conn);
    kit_check(&kit);
    kit_close(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_have_our_names),
        cmocka_unit_test(missing_table_is_told),
        cmocka_unit_test(readers_share_the_pool),
        cmocka_unit_test(readers_in_memory_take_turns),
        cmocka_unit_test(every_connection_of_the_pool_can_be_out),
        cmocka_unit_test(what_is_read_together_fits_together),
        cmocka_unit_test(reading_goes_on_while_a_store_is_reopened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
