/* Another session has locked rows that a claim needs. The claim does not wait: it takes the others
 * and sets `more`, and the next claim after the rows are unlocked gets them. Writing data of a run
 * does not wait for a transaction that ends the run, and sweeps do not wait for each other. */
#include "engine/stand.h"
#include "postgres/session.h"
#include "support/ops.h"

/* A session that holds what `text` selects until it says ROLLBACK. */
static PGconn *hold(const char *url, const char *text)
{
    PGconn *pg = PQconnectdb(url);
    assert_int_equal(CONNECTION_OK, PQstatus(pg));
    session_say(pg, "BEGIN");
    session_say(pg, text);
    return pg;
}

static void let_go(PGconn *pg)
{
    session_say(pg, "ROLLBACK");
    PQfinish(pg);
}

/* Two commits make two rows of the roll; `held` of the two jobs are held. */
static void claim_beside(const char *what, size_t held)
{
    struct rig rig;
    rig_open(&rig, session_kind());
    submit_one(&rig, NULL);
    rig_advance(&rig, 1);
    submit_one(&rig, NULL);
    PGconn *pg = hold(rig.url, what);
    struct claimed some = claim_n(&rig, "default", 10);
    assert_int_equal(2 - held, some.count);
    assert_true(some.more);
    struct claimed none = claim_n(&rig, "default", 10);
    assert_int_equal(0, none.count);
    assert_true(none.more);
    let_go(pg);
    struct claimed rest = claim_n(&rig, "default", 10);
    assert_int_equal(held, rest.count);
    assert_false(rest.more);
    rig_check(&rig);
    rig_close(&rig);
}

static void claim_passes_over_rows_of_the_roll(void **state)
{
    (void)state;
    claim_beside("SELECT 1 FROM pawl_ready ORDER BY rank, seat LIMIT 1 FOR UPDATE", 1);
    claim_beside("SELECT 1 FROM pawl_ready FOR UPDATE", 2);
}

static void claim_passes_over_jobs(void **state)
{
    (void)state;
    claim_beside("SELECT 1 FROM pawl_job ORDER BY id LIMIT 1 FOR UPDATE", 1);
    claim_beside("SELECT 1 FROM pawl_job FOR UPDATE", 2);
}

/* A full claim has nothing to say of what it did not want. */
static void full_claim_says_nothing_of_what_others_hold(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, session_kind());
    submit_one(&rig, NULL);
    rig_advance(&rig, 1);
    submit_one(&rig, NULL);
    PGconn *pg = hold(rig.url, "SELECT 1 FROM pawl_ready ORDER BY rank, seat LIMIT 1 FOR UPDATE");
    struct claimed full = claim_n(&rig, "default", 1);
    assert_int_equal(1, full.count);
    assert_false(full.more);
    let_go(pg);
    rig_close(&rig);
}

/* The node asks again after 2 ms, 4 ms, ... 500 ms, and not for as long as the safety poll waits.
 */
static void node_asks_again_at_once(void **state)
{
    (void)state;
    struct stand stand;
    stand_open(&stand, session_kind());
    handle(&stand, "work", count_run);
    submit(&stand, NULL);
    PGconn *pg = hold(stand.url, "SELECT 1 FROM pawl_ready FOR UPDATE");
    start(&stand, &(struct pawl_node_config){ .no_upkeep = true });
    int64_t before = counters_of(&stand).claims_empty, polls = counters_of(&stand).wakes_poll;
    live(&stand, 2 + 4 + 8 + 16);
    assert_i64(4, counters_of(&stand).claims_empty - before);
    live(&stand, 60000); // the session was suspended: that costs two claims a second
    before = counters_of(&stand).claims_empty;
    live(&stand, 10000);
    assert_i64(20, counters_of(&stand).claims_empty - before);
    assert_i64(0, stand.runs);
    let_go(pg);
    live(&stand, 500);
    assert_i64(1, stand.runs);
    assert_i64(polls, counters_of(&stand).wakes_poll);
    stand_close(&stand);
}

/* What it did get it asks for again without any wait. */
static void node_that_got_a_part_asks_for_the_rest(void **state)
{
    (void)state;
    struct stand stand;
    stand_open(&stand, session_kind());
    handle(&stand, "work", count_run);
    submit(&stand, NULL);
    move_clock(&stand, 1);
    submit(&stand, NULL);
    PGconn *pg = hold(stand.url, "SELECT 1 FROM pawl_ready ORDER BY rank, seat LIMIT 1 FOR UPDATE");
    start(&stand, &(struct pawl_node_config){ .workers = 4, .no_upkeep = true });
    assert_i64(1, counters_of(&stand).claimed);
    assert_i64(1, counters_of(&stand).claims_empty); // it has asked again, in vain
    let_go(pg);
    live(&stand, 2);
    assert_i64(2, stand.runs);
    stand_close(&stand);
}

/* The handler of a job has ended its run in a transaction of its own, and goes on before it
 * commits: who waits for that would wait for itself. */
static void notes_do_not_wait_for_who_ends_the_run(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, session_kind());
    submit_one(&rig, NULL);
    struct pawl_job job = claim_one(&rig, "default");
    struct pawl_run ref = { job.id, job.run };
    char id[PAWL_JOB_ID_TEXT_BYTES], text[128];
    pawl_job_id_text(job.id, id);
    snprintf(text, sizeof text, "SELECT pawl_complete('%s', 1)", id);
    PGconn *pg = hold(rig.url, text);
    int64_t sequence;
    assert_ok(&rig, log_line(&rig, ref, 1, span_of("nearly done")));
    assert_ok(&rig, progress(&rig, ref, 0.5, "half", ""));
    assert_ok(&rig, progress(&rig, ref, 0.9, "", "{}"));
    assert_ok(&rig, checkpoint(&rig, ref, span_of("7"), &sequence));
    assert_i64(1, sequence);
    session_say(pg, "COMMIT");
    PQfinish(pg);
    struct pawl_story story = story_of(&rig, job.id);
    assert_int_equal(PAWL_STATE_COMPLETED, story.job.state);
    assert_string_equal("nearly done", story.log[0].text);
    assert_string_equal("half", story.progress_message);
    assert_i64(1, story.checkpoint_sequence);
    assert_int_equal(PAWL_ERR_STALE, progress(&rig, ref, 1, "", ""));
    rig_close(&rig);
}

static int64_t archive_in_turn(struct rig *rig, const char *owner)
{
    struct pawl__op op = {
        .kind = PAWL__OP_ARCHIVE,
        .diag = &rig->diag,
        .retire = { .states = TERMINAL_STATES, .limit = 10, .owner = owner, .pause_ms = 1000 }
    };
    assert_ok(rig, pawl__store_do(rig->store, &op));
    pawl__arena_release(&op.arena);
    return op.retire.moved;
}

static void end_one(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job job = claim_one(rig, "default");
    assert_ok(rig, complete(rig, ref_of(&job), "[]"));
    rig_advance(rig, 2000);
}

/* A node is suspended in the middle of its turn, or of the first one of a new store. The others
 * leave it its turn, and go on with all else. */
static void sweeps_do_not_wait_for_a_turn(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, session_kind());
    end_one(&rig);
    for (int i = 1; i <= 2; i++) {
        PGconn *pg = hold(rig.url, "UPDATE pawl_lock SET owner = 'suspended', fence = fence + 1"
                                   " WHERE name = 'upkeep.archive'");
        assert_i64(0, archive_in_turn(&rig, "a"));
        submit_one(&rig, &(struct pawl_job_spec){ .delay_ms = 1 });
        rig_advance(&rig, 1);
        assert_i64(1, promote(&rig).moved);
        let_go(pg);
        assert_i64(i, archive_in_turn(&rig, "a"));
        struct pawl_job job = claim_one(&rig, "default");
        assert_ok(&rig, complete(&rig, ref_of(&job), "[]"));
        end_one(&rig);
    }
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
        cmocka_unit_test(claim_passes_over_rows_of_the_roll),
        cmocka_unit_test(claim_passes_over_jobs),
        cmocka_unit_test(full_claim_says_nothing_of_what_others_hold),
        cmocka_unit_test(node_asks_again_at_once),
        cmocka_unit_test(node_that_got_a_part_asks_for_the_rest),
        cmocka_unit_test(notes_do_not_wait_for_who_ends_the_run),
        cmocka_unit_test(sweeps_do_not_wait_for_a_turn),
    };
    return cmocka_run_group_tests_name("held", tests, NULL, NULL);
}
