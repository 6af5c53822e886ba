/* Every wait for the server has a limit: a lock that is held for too long is reported as an error,
 * when writing, reading and opening the store; also through a pooler that shares connections, where
 * settings of one transaction must not affect the next. */
#include "postgres/session.h"
#include "support/ops.h"

enum { HASTE_MS = 1500 }; // longer than a busy machine needs for what nobody holds up

static struct pawl_config hasty_config(struct rig *rig)
{
    return (struct pawl_config){
        .store = rig->url, .clock = &rig->clock->clock, .busy_timeout_ms = HASTE_MS, .seed = 1
    };
}

static void expect_timeout(struct rig *rig, enum pawl_err err)
{
    assert_err(rig, PAWL_ERR_BUSY, err);
    assert_non_null(strstr(rig->diag.text, "timeout"));
}

static enum pawl_err submit_to(struct rig *rig, struct pawl__store *store)
{
    struct pawl_job_spec spec = { .type = "t", .queue = "default", .args = span_of("[]") };
    pawl__retry_resolve(&spec.retry);
    struct pawl__new_job job = { .id = rig_id(rig), .spec = &spec };
    struct pawl_submitted out;
    struct pawl__op op = { .kind = PAWL__OP_SUBMIT,
                           .diag = &rig->diag,
                           .submit = { .jobs = &job, .count = 1, .out = &out } };
    enum pawl_err err = pawl__store_do(store, &op);
    pawl__arena_release(&op.arena);
    return err;
}

static enum pawl_err read_from(struct rig *rig, struct pawl__store *store)
{
    int64_t count;
    return pawl__store_count(store, &(struct pawl_filter){ 0 }, &count, &rig->diag);
}

static enum pawl_err sweep_in(struct rig *rig, struct pawl__store *store)
{
    struct pawl__op op = { .kind = PAWL__OP_PROMOTE, .diag = &rig->diag, .sweep.limit = 10 };
    enum pawl_err err = pawl__store_do(store, &op);
    pawl__arena_release(&op.arena);
    return err;
}

static int64_t count_rows(PGconn *pg, const char *table)
{
    char text[100];
    snprintf(text, sizeof text, "SELECT count(*) FROM %s", table);
    PGresult *rows = PQexec(pg, text);
    assert_int_equal(PGRES_TUPLES_OK, PQresultStatus(rows));
    int64_t count = strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
    PQclear(rows);
    return count;
}

/* Also when nothing else is to be done: the look before a sweep asks for their ends. */
static void keys_of_requests_have_an_end(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, session_kind());
    PGconn *pg = PQconnectdb(rig.url);
    assert_int_equal(CONNECTION_OK, PQstatus(pg));
    static const int64_t kept_ms[] = { 10, 20 };
    for (size_t i = 0; i < 2; i++) {
        struct pawl__op op = { .kind = PAWL__OP_REQUEST_NOTE,
                               .diag = &rig.diag,
                               .request = { i ? "long" : "short", "f", kept_ms[i] } };
        assert_ok(&rig, pawl__store_do(rig.store, &op));
    }
    for (int64_t left = 2; left >= 0; left--) {
        expire(&rig);
        assert_i64(left, count_rows(pg, "pawl_request_key"));
        rig_advance(&rig, 10);
    }
    PQfinish(pg);
    rig_close(&rig);
}

static void waiting_for_others_has_an_end(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, session_kind());
    struct pawl_config config = hasty_config(&rig);
    struct pawl__store *hasty, *late;
    assert_ok(&rig, pawl__store_open(&config, &hasty, &rig.diag));
    assert_ok(&rig, submit_to(&rig, hasty));
    assert_ok(&rig, read_from(&rig, hasty));
    PGconn *pg = PQconnectdb(rig.url);
    assert_int_equal(CONNECTION_OK, PQstatus(pg));
    session_say(pg, "BEGIN");
    session_say(pg, "LOCK TABLE pawl_job, pawl_ready, pawl_migration IN ACCESS EXCLUSIVE MODE");
    for (int i = 0; i < 2; i++) { // the first leaves everything as it was
        expect_timeout(&rig, submit_to(&rig, hasty));
        expect_timeout(&rig, read_from(&rig, hasty));
        expect_timeout(&rig, sweep_in(&rig, hasty));
        expect_timeout(&rig, pawl__store_open(&config, &late, &rig.diag));
    }
    session_say(pg, "ROLLBACK");
    PQfinish(pg);
    assert_ok(&rig, submit_to(&rig, hasty));
    assert_ok(&rig, read_from(&rig, hasty));
    assert_ok(&rig, sweep_in(&rig, hasty));
    assert_i64(2, count_jobs(&rig, &(struct pawl_filter){ 0 }));
    pawl__store_close(hasty);
    rig_check(&rig);
    rig_close(&rig);
}

int main(void)
{
    if (session_kind() == NULL) {
        printf("1..0 # SKIP PAWL_TEST_POSTGRES names no server\n");
        return 0;
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(keys_of_requests_have_an_end),
                                        cmocka_unit_test(waiting_for_others_has_an_end) };
    return cmocka_run_group_tests_name("bounds", tests, NULL, NULL);
}
