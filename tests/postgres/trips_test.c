/* The number of round trips of an operation, which must not depend on the state of the data: a
 * round trip costs more than most statements. Also which locks an operation holds between two of
 * them: no more than it needs. */
#include "base/rng.h"
#include "postgres/gate.h"
#include "postgres/session.h"
#include "support/ops.h"

#include <stdatomic.h>
#include <stdlib.h>

struct stage {
    char url[RIG_URL_BYTES];
    struct gate gate;
    struct rig rig; /* behind the gate */
};

static void open_stage(struct stage *stage)
{
    const char *host = strstr(getenv("PAWL_TEST_POSTGRES"), "host=");
    char dir[64], url[RIG_URL_BYTES];
    snprintf(dir, sizeof dir, "%.*s", (int)strcspn(host + 5, "&"), host + 5);
    postgres_make(stage->url, sizeof stage->url);
    gate_open(&stage->gate, dir);
    gate_url(&stage->gate, stage->url, "", url, sizeof url);
    rig_open_url(&stage->rig, url);
}

static void close_stage(struct stage *stage)
{
    rig_check(&stage->rig);
    rig_close(&stage->rig);
    gate_close(&stage->gate);
    postgres_dispose(stage->url);
}

enum { TYPES = 200 };

/* `count` jobs whose time is over soon: in one go, or each by itself, which are rows of the roll of
 * their own; of so many types, in no order. */
struct crowd {
    size_t count, types;
    bool one_by_one;
};

static void submit_crowd(struct rig *rig, const struct crowd *crowd)
{
    struct pawl_job_spec spec = { .expires_in_ms = 1000 };
    struct pawl__rng rng;
    pawl__rng_seed(&rng, 1);
    if (!crowd->one_by_one) submit_n(rig, crowd->count, &spec);
    for (size_t i = 0; crowd->one_by_one && i < crowd->count; i++) {
        spec.type = rig_text(rig, "type-%d", (int)pawl__rng_below(&rng, crowd->types));
        submit_one(rig, &spec);
    }
}

/* A job is claimed that stands behind them. */
static int trips_past_expired(struct stage *stage, const struct crowd *crowd)
{
    struct rig *rig = &stage->rig;
    int64_t expired = count_state(rig, PAWL_STATE_EXPIRED);
    submit_crowd(rig, crowd);
    rig_advance(rig, 2000);
    struct pawl_job_id id = submit_one(rig, NULL);
    int before = gate_trips(&stage->gate);
    struct claimed claimed = claim_n(rig, "default", 1);
    int trips = gate_trips(&stage->gate) - before;
    assert_int_equal(1, claimed.count);
    assert_id(id, claimed.at[0].id);
    assert_i64((int64_t)crowd->count, count_state(rig, PAWL_STATE_EXPIRED) - expired);
    return trips;
}

static void claim_past_expired_jobs(void **state)
{
    (void)state;
    struct stage stage;
    open_stage(&stage);
    int one = trips_past_expired(&stage, &(struct crowd){ .count = 1 });
    int many = trips_past_expired(&stage, &(struct crowd){ .count = 800 });
    print_message("# %d round trips past one job, %d past 800\n", one, many);
    assert_true(many <= 3 * one);
    close_stage(&stage);
}

/* Their rows of the roll have one id each. */
static void claim_past_expired_jobs_of_many_submits(void **state)
{
    (void)state;
    struct stage stage;
    open_stage(&stage);
    const struct crowd crowd = { .count = 800, .types = 1, .one_by_one = true };
    int trips = trips_past_expired(&stage, &crowd);
    print_message("# %d round trips\n", trips);
    assert_true(trips <= 30);
    close_stage(&stage);
}

/* Of one type among many, whose jobs come behind these; and of all of them. */
static void claim_past_expired_jobs_in_many_lanes(void **state)
{
    (void)state;
    struct stage stage;
    open_stage(&stage);
    for (int i = 0; i < TYPES; i++) {
        const char *type = rig_text(&stage.rig, "type-%d", i);
        submit_one(&stage.rig,
                   &(struct pawl_job_spec){ .type = type, .due_at_ms = INSTANT_MAX_MS });
    }
    static const size_t types[] = { 1, TYPES };
    for (size_t i = 0; i < COUNT(types); i++) {
        const struct crowd crowd = { .count = 800, .types = types[i], .one_by_one = true };
        int trips = trips_past_expired(&stage, &crowd);
        print_message("# %d round trips past %zu of %d types\n", trips, types[i], TYPES);
        assert_true(trips <= 40);
    }
    close_stage(&stage);
}

/* ---- what others can have meanwhile ---- */

struct claimer {
    pthread_t thread;
    struct stage *stage;
    struct claimed claimed;
    atomic_bool done;
};

static void *claim_job(void *arg)
{
    struct claimer *claimer = arg;
    claimer->claimed = claim_n(&claimer->stage->rig, "default", 1);
    atomic_store(&claimer->done, true);
    gate_rouse(&claimer->stage->gate);
    return NULL;
}

static int64_t ask(PGconn *pg, const char *text)
{
    PGresult *rows = PQexec(pg, text);
    assert_int_equal(PGRES_TUPLES_OK, PQresultStatus(rows));
    int64_t number = strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
    PQclear(rows);
    return number;
}

/* A claim of one stands behind many whose time is over: at no moment does it keep others from jobs
 * that it cannot give, nor from more of the roll than the rows that it takes from. */
static void claim_holds_only_what_it_gives(void **state)
{
    (void)state;
    enum { EXPIRED = 30, GOOD = 1000, ROW = 64 };
    struct stage stage;
    open_stage(&stage);
    submit_n(&stage.rig, EXPIRED, &(struct pawl_job_spec){ .expires_in_ms = 1000 });
    rig_advance(&stage.rig, 2000);
    submit_n(&stage.rig, GOOD, NULL);
    PGconn *pg = PQconnectdb(stage.url);
    assert_int_equal(CONNECTION_OK, PQstatus(pg));
    struct claimer claimer = { .stage = &stage };
    gate_set(&stage.gate, true);
    assert_int_equal(0, pthread_create(&claimer.thread, NULL, claim_job, &claimer));
    while (!atomic_load(&claimer.done)) {
        if (!gate_await(&stage.gate, 100000)) continue;
        int64_t jobs = ask(pg, "SELECT count(*) FROM (SELECT 1 FROM pawl_job WHERE state = 2"
                               " AND expires_at_ms IS NULL FOR UPDATE SKIP LOCKED) AS j");
        int64_t ids = ask(pg, "SELECT sum(cardinality(r.ids)) FROM (SELECT ids FROM pawl_ready"
                              " FOR UPDATE SKIP LOCKED) AS r");
        if (jobs < GOOD - 1 || ids < GOOD - 2 * ROW) {
            fail_msg("of %d jobs others can have %lld, and %lld by the roll", GOOD, (long long)jobs,
                     (long long)ids);
        }
        gate_pass(&stage.gate);
    }
    gate_set(&stage.gate, false);
    pthread_join(claimer.thread, NULL);
    PQfinish(pg);
    assert_int_equal(1, claimer.claimed.count);
    assert_i64(EXPIRED, count_state(&stage.rig, PAWL_STATE_EXPIRED));
    assert_int_equal(GOOD - 1, claim_n(&stage.rig, "default", GOOD).count);
    close_stage(&stage);
}

/* ---- keys that become known late ---- */

struct reviver {
    pthread_t thread;
    struct stage *stage;
    struct pawl_job_id id;
    enum pawl_err err;
    atomic_bool done;
};

static void *revive_job(void *arg)
{
    struct reviver *reviver = arg;
    reviver->err = control(&reviver->stage->rig, reviver->id, PAWL_CONTROL_RETRY);
    atomic_store(&reviver->done, true);
    gate_rouse(&reviver->stage->gate);
    return NULL;
}

/* Ends a job that has the key "k" while the retry of that job, which was not there when the retry
 * began, stands before the gate; and leaves a transaction open in which another job takes the key.
 */
static void end_job_and_take_its_key(struct stage *stage, struct pawl_job_id id, PGconn *pg)
{
    struct rig other;
    rig_open_url(&other, stage->url);
    submit_one(&other, &(struct pawl_job_spec){ .id = &id, .business_key = "k" });
    assert_ok(&other, control(&other, id, PAWL_CONTROL_CANCEL));
    rig_close(&other);
    session_say(pg, "BEGIN");
    session_say(pg, "SELECT pawl_submit('work', business_key => 'k')");
}

/* The retry asks about a key that nobody could lock when it began. */
static void key_that_becomes_known_late_is_locked(void **state)
{
    (void)state;
    struct stage stage;
    open_stage(&stage);
    submit_one(&stage.rig, NULL); // so that its catalogue is up to date
    PGconn *pg = PQconnectdb(stage.url);
    struct reviver reviver = { .stage = &stage, .id = { { 1, [6] = 0x70, [8] = 0x80 } } };
    assert_int_equal(CONNECTION_OK, PQstatus(pg));
    gate_set(&stage.gate, true);
    assert_int_equal(0, pthread_create(&reviver.thread, NULL, revive_job, &reviver));
    for (int trips = 0; trips < 2; trips++) { // keys of the job, and the turn
        while (!gate_await(&stage.gate, 100000))
            continue;
        gate_pass(&stage.gate);
    }
    while (!gate_await(&stage.gate, 100000))
        continue;
    end_job_and_take_its_key(&stage, reviver.id, pg);
    gate_end(&stage.gate, GATE_PASS);
    PGconn *watch = PQconnectdb(stage.url);
    while (!atomic_load(&reviver.done) &&
           !ask(watch, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"))
        (void)gate_await(&stage.gate, 1000);
    session_say(pg, "COMMIT");
    pthread_join(reviver.thread, NULL);
    assert_int_equal(PAWL_ERR_DUPLICATE, reviver.err);
    PQfinish(watch);
    PQfinish(pg);
    close_stage(&stage);
}

/* ---- how much a sweep does at once ---- */

/* Jobs from SQL that ended unchecked and come back: one sweep checks them, as if they were new. */
static void jobs_that_come_back_unchecked_are_settled_together(void **state)
{
    (void)state;
    enum { JOBS = 100 };
    struct rig rig;
    rig_open(&rig, session_kind());
    PGconn *pg = PQconnectdb(rig.url);
    assert_int_equal(CONNECTION_OK, PQstatus(pg));
    session_say(pg, "SELECT pawl_submit('work', json_build_array(n)::text,"
                    " uniqueness => '{\"keys\": [\"args\"]}')"
                    " FROM generate_series(1, 100) AS n");
    int64_t moved;
    assert_ok(&rig, bulk(&rig, &(struct pawl_filter){ 0 }, PAWL_CONTROL_CANCEL, JOBS, &moved));
    assert_i64(JOBS, moved);
    assert_ok(&rig, bulk(&rig, &(struct pawl_filter){ 0 }, PAWL_CONTROL_RETRY, JOBS, &moved));
    assert_i64(JOBS, moved);
    assert_i64(JOBS, ask(pg, "SELECT count(*) FROM pawl_unsettled"));
    assert_i64(JOBS, sweep(&rig, PAWL__OP_SETTLE, 1000).moved);
    assert_i64(0, ask(pg, "SELECT count(*) FROM pawl_unsettled"));
    assert_i64(JOBS, count_state(&rig, PAWL_STATE_AVAILABLE));
    PQfinish(pg);
    rig_check(&rig);
    rig_close(&rig);
}

int main(void)
{
    if (session_kind() == NULL) {
        printf("1..0 # SKIP PAWL_TEST_POSTGRES names no server\n");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_past_expired_jobs),
        cmocka_unit_test(claim_past_expired_jobs_of_many_submits),
        cmocka_unit_test(claim_past_expired_jobs_in_many_lanes),
        cmocka_unit_test(claim_holds_only_what_it_gives),
        cmocka_unit_test(key_that_becomes_known_late_is_locked),
        cmocka_unit_test(jobs_that_come_back_unchecked_are_settled_together),
    };
    return cmocka_run_group_tests_name("trips", tests, NULL, NULL);
}
