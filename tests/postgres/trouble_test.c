/* Operations when the connection breaks, the server terminates it, another session holds a needed
 * lock, or there is a deadlock; and the findings of the store's check. */
#include "postgres/proxy.h"
#include "postgres/session.h"
#include "support/ops.h"

#include <pthread.h>
#include <unistd.h>

static struct proxy door;

/* The rig's store behind the door. */
struct site {
    char url[RIG_URL_BYTES]; /* of the store, without the door */
    struct rig rig;
};

static void url_through(char *out, size_t size, const char *url, const char *dir)
{
    const char *host = strstr(url, "host=");
    assert_non_null(host);
    const char *rest = host + strcspn(host, "&");
    snprintf(out, size, "%.*shost=%s%s", (int)(host - url), url, dir, rest);
}

static int set_up(void **state)
{
    static struct site site;
    postgres_make(site.url, sizeof site.url);
    char url[RIG_URL_BYTES];
    url_through(url, sizeof url, site.url, door.dir);
    door.mode = door.then = PROXY_PASS;
    rig_open_url(&site.rig, url);
    hand_clock_set(site.rig.clock, HAND_CLOCK_START_MS);
    submit_one(&site.rig, NULL); // the lane is made, the statements are prepared
    *state = &site;
    return 0;
}

static int tear_down(void **state)
{
    struct site *site = *state;
    door.mode = door.then = PROXY_PASS;
    rig_close(&site->rig);
    postgres_dispose(site->url);
    return 0;
}

static struct pawl__store_counters counters_of(struct rig *rig)
{
    struct pawl__store_counters counters;
    pawl__store_counters_get(rig->store, &counters);
    return counters;
}

/* Of everything that was submitted nothing is lost and nothing is there twice. */
static void check_whole(struct rig *rig, int64_t jobs)
{
    assert_i64(jobs, count_jobs(rig, &(struct pawl_filter){ 0 }));
    rig_check(rig);
}

static void commit_is_looked_up(struct rig *rig, enum proxy_mode mode)
{
    int cuts = door.cuts;
    door.mode = mode;
    struct pawl_job_id id = submit_one(rig, NULL);
    assert_int_equal(cuts + 1, door.cuts);
    assert_state(AVAILABLE, state_of(rig, id));
    check_whole(rig, 2);
    assert_i64(0, counters_of(rig).failed_commits);
    assert_i64(0, counters_of(rig).reopened);
}

static void commit_that_happened_though_its_answer_was_lost_is_good(void **state)
{
    struct site *site = *state;
    commit_is_looked_up(&site->rig, PROXY_CUT_AFTER_COMMIT);
}

static void commit_that_never_arrived_is_made_again(void **state)
{
    struct site *site = *state;
    commit_is_looked_up(&site->rig, PROXY_CUT_BEFORE_COMMIT);
}

static void connection_that_breaks_early_is_replaced(void **state)
{
    struct site *site = *state;
    commit_is_looked_up(&site->rig, PROXY_CUT_AT_ONCE);
}

static void claimed_job_is_known_though_the_answer_was_lost(void **state)
{
    struct rig *rig = &((struct site *)*state)->rig;
    door.mode = PROXY_CUT_AFTER_COMMIT;
    struct pawl_job job = claim_one(rig, "default");
    assert_i64(1, job.run);
    door.mode = PROXY_CUT_AFTER_COMMIT;
    assert_ok(rig, complete(rig, ref_of(&job), "1"));
    assert_state(COMPLETED, state_of(rig, job.id));
    assert_i64(1, job_get(rig, job.id).run);
    rig_check(rig);
}

/* ---- the server cuts us off ---- */

static PGconn *side_door(struct site *site)
{
    PGconn *pg = PQconnectdb(site->url);
    assert_int_equal(CONNECTION_OK, PQstatus(pg));
    return pg;
}

static void terminated_connections_are_replaced(void **state)
{
    struct site *site = *state;
    struct rig *rig = &site->rig;
    PGconn *pg = side_door(site);
    for (int i = 0; i < 3; i++) {
        session_say(pg, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                        " WHERE application_name = 'pawl'");
        struct pawl_job_id id = submit_one(rig, NULL);
        session_say(pg, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                        " WHERE application_name = 'pawl'");
        assert_state(AVAILABLE, state_of(rig, id)); // the readers' too
    }
    PQfinish(pg);
    check_whole(rig, 4);
    assert_i64(0, counters_of(rig).failed_commits);
}

static void store_comes_back_when_the_server_does(void **state)
{
    struct rig *rig = &((struct site *)*state)->rig;
    struct pawl__new_job job = job_new(rig, NULL);
    struct pawl_submitted out;
    door.mode = PROXY_SHUT;
    assert_err(rig, PAWL_ERR_IO, submit_jobs(rig, &job, 1, &out, NULL));
    assert_err(rig, PAWL_ERR_UNSAFE, submit_jobs(rig, &job, 1, &out, NULL));
    door.mode = PROXY_PASS;
    enum pawl_err err = PAWL_ERR_UNSAFE;
    for (int i = 0; i < 100 && err; i++) { // it looks once a second
        usleep(50 * 1000);
        err = submit_jobs(rig, &job, 1, &out, NULL);
    }
    assert_ok(rig, err);
    assert_i64(1, counters_of(rig).reopened);
    check_whole(rig, 2);
}

/* A store that does not wait for long. */
static struct pawl__store *open_hasty(struct rig *rig, int64_t timeout_ms)
{
    struct pawl_config config = {
        .store = rig->url, .clock = &rig->clock->clock, .busy_timeout_ms = timeout_ms, .seed = 1
    };
    struct pawl__store *hasty = NULL;
    assert_ok(rig, pawl__store_open(&config, &hasty, &rig->diag));
    return hasty;
}

static enum pawl_err submit_to(struct pawl__store *store, struct rig *rig,
                               const struct pawl__new_job *job)
{
    struct pawl_submitted out;
    struct pawl__op op = { .kind = PAWL__OP_SUBMIT,
                           .diag = &rig->diag,
                           .submit = { .jobs = job, .count = 1, .out = &out } };
    enum pawl_err err = pawl__store_do(store, &op);
    pawl__arena_release(&op.arena);
    return err;
}

/* Whoever knows the job's id can ask again: it is there once, whatever had become of it. */
static void commit_that_cannot_be_looked_up_is_called_unknown(void **state)
{
    struct rig *rig = &((struct site *)*state)->rig;
    struct pawl__store *hasty = open_hasty(rig, 2000);
    static const enum proxy_mode cuts[] = { PROXY_CUT_AFTER_COMMIT, PROXY_CUT_BEFORE_COMMIT };
    static const enum pawl_err again[] = { PAWL_ERR_EXISTS, PAWL_OK };
    int64_t i = 0;
    for (; i < scaled(COUNT(cuts)) && i < (int64_t)COUNT(cuts); i++) { // it takes seconds
        struct pawl__new_job job = job_new(rig, NULL);
        struct pawl__new_job warm = job_new(rig, NULL);
        assert_ok(rig, submit_to(hasty, rig, &warm)); // COMMIT is prepared
        door.then = PROXY_SHUT;
        door.mode = cuts[i];
        assert_err(rig, PAWL_ERR_IO, submit_to(hasty, rig, &job));
        assert_within("could not learn whether the commit happened", rig->diag.text);
        door.mode = door.then = PROXY_PASS;
        enum pawl_err err = PAWL_ERR_UNSAFE;
        for (int j = 0; j < 2400 && err == PAWL_ERR_UNSAFE; j++) { // it looks once a second
            usleep(50 * 1000);
            err = submit_to(hasty, rig, &job);
        }
        assert_err(rig, again[i], err);
        assert_state(AVAILABLE, state_of(rig, job.id));
    }
    pawl__store_close(hasty);
    check_whole(rig, 1 + 2 * i);
}

/* ---- others hold what we need ---- */

static void lock_that_is_held_too_long_is_reported(void **state)
{
    struct site *site = *state;
    struct rig *rig = &site->rig;
    struct pawl_job_id id = submit_one(rig, NULL);
    struct pawl__store *hasty = open_hasty(rig, 200);
    PGconn *pg = side_door(site);
    session_say(pg, "BEGIN");
    session_say(pg, "SELECT 1 FROM pawl_job FOR UPDATE");
    struct pawl__op op = { .kind = PAWL__OP_CONTROL,
                           .diag = &rig->diag,
                           .control = { .id = id, .control = PAWL_CONTROL_CANCEL } };
    assert_err(rig, PAWL_ERR_BUSY, pawl__store_do(hasty, &op));
    pawl__arena_release(&op.arena);
    assert_int_equal(0, claim_n(rig, "default", 5).count); // claims pass over it
    session_say(pg, "ROLLBACK");
    op = (struct pawl__op){ .kind = PAWL__OP_CONTROL,
                            .diag = &rig->diag,
                            .control = { .id = id, .control = PAWL_CONTROL_CANCEL } };
    assert_ok(rig, pawl__store_do(hasty, &op));
    pawl__arena_release(&op.arena);
    pawl__store_close(hasty);
    PQfinish(pg);
    assert_state(CANCELLED, state_of(rig, id));
    check_whole(rig, 2);
}

static void mark_done(struct pawl__op *op)
{
    _Atomic int *left = op->user;
    --*left;
}

/* Whoever holds the roll may have been suspended: a claim does not wait for him, nor does what is
 * in its transaction, and comes back for what he leaves. */
static void claim_waits_for_nobody(void **state)
{
    struct site *site = *state;
    struct rig *rig = &site->rig;
    struct pawl_job_id id = submit_one(rig, NULL);
    struct pawl__store *hasty = open_hasty(rig, 2000);
    PGconn *pg = side_door(site);
    session_say(pg, "BEGIN");
    session_say(pg, "SELECT 1 FROM pawl_ready FOR UPDATE");
    static const char *const queues[] = { "default" };
    struct pawl__new_job job = job_new(rig, &(struct pawl_job_spec){ .queue = "elsewhere" });
    struct pawl_submitted out;
    _Atomic int left = 2;
    struct pawl__op ops[2] = {
        { .kind = PAWL__OP_CLAIM,
          .diag = &rig->diag,
          .done = mark_done,
          .user = &left,
          .next = &ops[1],
          .claim = { .queues = queues,
                     .queue_count = 1,
                     .limit = 5,
                     .worker = "w",
                     .lease_ms = 1000 } },
        { .kind = PAWL__OP_SUBMIT,
          .diag = &rig->diag,
          .done = mark_done,
          .user = &left,
          .submit = { .jobs = &job, .count = 1, .out = &out } },
    };
    pawl__store_post_list(hasty, ops);
    while (left > 0) {
        usleep(1000);
    }
    for (int i = 0; i < 2; i++) {
        assert_err(rig, PAWL_OK, ops[i].err);
    }
    assert_int_equal(0, ops[0].claim.job_count);
    session_say(pg, "ROLLBACK");
    PQfinish(pg);
    for (int i = 0; i < 2; i++) {
        pawl__arena_release(&ops[i].arena);
    }
    pawl__store_close(hasty);
    claim_n(rig, "default", 5);
    assert_state(ACTIVE, state_of(rig, id));
    check_whole(rig, 3);
}

/* The store locks b and waits for a; the other side has a and asks for b. The other side does not
 * look for deadlocks, so the store is the one that is sent back, and it tries again. */
static void deadlock_is_resolved_by_doing_it_again(void **state)
{
    struct site *site = *state;
    struct rig *rig = &site->rig;
    struct pawl_job_id a = submit_one(rig, NULL), b = submit_one(rig, NULL);
    char lock_a[160], lock_b[160], text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(a, text);
    snprintf(lock_a, sizeof lock_a, "SELECT 1 FROM pawl_job WHERE id = '%s' FOR UPDATE", text);
    pawl_job_id_text(b, text);
    snprintf(lock_b, sizeof lock_b, "SELECT 1 FROM pawl_job WHERE id = '%s' FOR UPDATE", text);
    PGconn *pg = side_door(site), *watch = side_door(site);
    session_say(pg, "SET deadlock_timeout = '1h'");
    session_say(pg, "BEGIN");
    session_say(pg, lock_a);
    _Atomic int left = 2;
    struct pawl_diag diags[2] = { 0 };
    struct pawl__op ops[2];
    for (int i = 0; i < 2; i++) {
        ops[i] = (struct pawl__op){ .kind = PAWL__OP_CONTROL,
                                    .diag = &diags[i],
                                    .done = mark_done,
                                    .user = &left,
                                    .next = i == 0 ? &ops[1] : NULL,
                                    .control = { .id = i == 0 ? b : a,
                                                 .control = PAWL_CONTROL_CANCEL } };
    }
    pawl__store_post_list(rig->store, ops);
    for (bool waits = false; !waits; usleep(1000)) {
        PGresult *found = PQexec(watch, "SELECT 1 FROM pg_locks WHERE NOT granted");
        waits = PQntuples(found) > 0;
        PQclear(found);
    }
    session_say(pg, lock_b); // until the store has been sent back
    session_say(pg, "COMMIT");
    while (left > 0)
        usleep(1000);
    for (int i = 0; i < 2; i++) {
        rig->diag = diags[i];
        assert_ok(rig, ops[i].err);
        pawl__arena_release(&ops[i].arena);
    }
    PQfinish(pg);
    PQfinish(watch);
    assert_state(CANCELLED, state_of(rig, a));
    assert_state(CANCELLED, state_of(rig, b));
    assert_i64(0, counters_of(rig).failed_commits);
    check_whole(rig, 3);
}

/* ---- what must never be ---- */

static void count_finding(void *ctx, const char *text)
{
    assert_non_null(strstr(text, "is missing from the roll"));
    ++*(int *)ctx;
}

/* Each is a job that nobody would ever come upon again, or not when its time has come. */
static void check_finds_jobs_that_no_roll_leads_to(void **state)
{
    static const char *const faults[] = {
        "DELETE FROM pawl_ready",
        "UPDATE pawl_ready SET lane = lane + 1",
        "UPDATE pawl_ready SET rank = rank - 1",
        "UPDATE pawl_ready SET rank = rank + 1",
        "DELETE FROM pawl_lease",
        "UPDATE pawl_lease SET until_ms = until_ms - 1",
        "UPDATE pawl_lease SET until_ms = until_ms + 1",
        "DELETE FROM pawl_ended",
        "UPDATE pawl_ended SET state = state + 1",
        "UPDATE pawl_ended SET finished_at_ms = finished_at_ms - 1",
        "UPDATE pawl_ended SET finished_at_ms = finished_at_ms + 1",
    };
    struct site *site = *state;
    struct rig *rig = &site->rig;
    job_in(rig, PAWL_STATE_ACTIVE, NULL);
    job_in(rig, PAWL_STATE_COMPLETED, NULL);
    job_in(rig, PAWL_STATE_AVAILABLE, NULL);
    PGconn *pg = side_door(site);
    session_say(pg, "CREATE TEMP TABLE ready AS TABLE pawl_ready; CREATE TEMP TABLE lease AS TABLE"
                    " pawl_lease; CREATE TEMP TABLE ended AS TABLE pawl_ended");
    for (size_t i = 0; i < COUNT(faults); i++) {
        int findings = 0;
        rig_check(rig);
        session_say(pg, faults[i]);
        assert_err(rig, PAWL_ERR_CORRUPT,
                   pawl__store_check(rig->store, count_finding, &findings, &rig->diag));
        assert_true(findings > 0);
        session_say(pg, "DELETE FROM pawl_ready; INSERT INTO pawl_ready TABLE ready;"
                        "DELETE FROM pawl_lease; INSERT INTO pawl_lease TABLE lease;"
                        "DELETE FROM pawl_ended; INSERT INTO pawl_ended TABLE ended");
    }
    PQfinish(pg);
}

int main(void)
{
    const char *server = getenv("PAWL_TEST_POSTGRES");
    const char *host = server != NULL ? strstr(server, "host=") : NULL;
    if (host == NULL) {
        printf("1..0 # SKIP PAWL_TEST_POSTGRES names no server\n");
        return 0;
    }
    char dir[64];
    snprintf(dir, sizeof dir, "%.*s", (int)strcspn(host + 5, "&"), host + 5);
    proxy_open(&door, dir);
#define TROUBLE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TROUBLE(commit_that_happened_though_its_answer_was_lost_is_good),
        TROUBLE(commit_that_never_arrived_is_made_again),
        TROUBLE(connection_that_breaks_early_is_replaced),
        TROUBLE(claimed_job_is_known_though_the_answer_was_lost),
        TROUBLE(terminated_connections_are_replaced),
        TROUBLE(store_comes_back_when_the_server_does),
        TROUBLE(commit_that_cannot_be_looked_up_is_called_unknown),
        TROUBLE(lock_that_is_held_too_long_is_reported),
        TROUBLE(claim_waits_for_nobody),
        TROUBLE(deadlock_is_resolved_by_doing_it_again),
        TROUBLE(check_finds_jobs_that_no_roll_leads_to),
    };
    int failed = cmocka_run_group_tests_name("trouble", tests, NULL, NULL);
    proxy_close(&door);
    return failed;
}
