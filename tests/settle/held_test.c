/* What follows from a move, beside other sessions of the server: nothing waits for what they hold,
 * and nothing is lost when the transaction fails. */
#include "postgres/session.h"
#include "settle/settle_kit.h"

static PGconn *begin(const struct rig *rig, const char *text)
{
    PGconn *pg = PQconnectdb(rig->url);
    assert_int_equal(CONNECTION_OK, PQstatus(pg));
    session_say(pg, "BEGIN");
    session_say(pg, text);
    return pg;
}

static void end(PGconn *pg)
{
    session_say(pg, "COMMIT");
    PQfinish(pg);
}

static void held_job_is_settled_when_it_is_free(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, session_kind());
    struct pawl_job_id *ids = chain(&rig, 2, TIE_WATCH);
    struct pawl_job job = claim_one(&rig, "default");
    PGconn *other = begin(&rig, "SELECT 1 FROM pawl_job WHERE held FOR UPDATE");
    assert_ok(&rig, complete(&rig, ref_of(&job), NULL)); // at once
    assert_state(COMPLETED, state_of(&rig, ids[0]));
    struct swept swept = settle(&rig);
    assert_i64(0, swept.moved);
    assert_true(swept.next_at_ms); // it is to be asked for again
    assert_state(PENDING, state_of(&rig, ids[1]));
    end(other);
    assert_i64(1, settle(&rig).moved);
    assert_state(AVAILABLE, state_of(&rig, ids[1]));
    assert_i64(0, settle(&rig).next_at_ms);
    rig_check(&rig);
    rig_close(&rig);
}

/* Another node has the entry in its hands: this one passes over it. */
static void entry_is_settled_by_one_node(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, session_kind());
    struct pawl_job_id *ids = chain(&rig, 12, TIE_WATCH);
    assert_ok(&rig, control(&rig, ids[0], PAWL_CONTROL_CANCEL));
    PGconn *other = begin(&rig, "SELECT 1 FROM pawl_unsettled FOR UPDATE");
    assert_i64(0, settle(&rig).moved);
    end(other);
    assert_i64(1, settle(&rig).moved);
    assert_state(CANCELLED, state_of(&rig, ids[11]));
    rig_check(&rig);
    rig_close(&rig);
}

/* A sweep that is in doubt about a job waits for nobody either. */
static void doubt_does_not_wait(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, session_kind());
    struct pawl_job_id *ids = chain(&rig, 2, TIE_DOUBT);
    assert_ok(&rig, control(&rig, ids[0], PAWL_CONTROL_CANCEL));
    PGconn *other = begin(&rig, "SELECT 1 FROM pawl_job WHERE held FOR UPDATE");
    assert_i64(0, settle(&rig).moved);
    end(other);
    rig_check(&rig);
    rig_close(&rig);
}

/* A newer program's entry concerns nobody here: a look is enough to see that. */
static void unknown_ties_are_left_alone(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, session_kind());
    chain(&rig, 1, 0);
    assert_i64(0, settle(&rig).next_at_ms); // from now on it looks first
    end(begin(&rig, "INSERT INTO pawl_unsettled (at_ms, job_id, ties, run, from_state, to_state)"
                    " SELECT 1, id, 1 << 30, 0, 2, 7 FROM pawl_job"));
    PGconn *other = begin(&rig, "LOCK TABLE pawl_unsettled IN EXCLUSIVE MODE"); // but for readers
    assert_i64(0, settle(&rig).next_at_ms);
    end(other);
    end(begin(&rig, "UPDATE pawl_unsettled SET ties = ties | 2"));
    assert_i64(1, settle(&rig).moved);
    assert_i64(0, settle(&rig).next_at_ms); // what is left is the newer program's
    end(begin(&rig, "DELETE FROM pawl_unsettled"));
    rig_check(&rig);
    rig_close(&rig);
}

static void move_and_consequence_are_one(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, session_kind());
    struct pawl_job_id *ids = chain(&rig, 2, TIE_WATCH);
    struct pawl_job job = claim_one(&rig, "default");
    end(begin(&rig, "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
                    "$$ BEGIN RAISE 'no'; END $$;"
                    "CREATE CONSTRAINT TRIGGER refuse AFTER UPDATE ON pawl_job "
                    "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.state = 3) "
                    "EXECUTE FUNCTION refuse()"));
    assert_true(complete(&rig, ref_of(&job), NULL) != PAWL_OK);
    end(begin(&rig, "DROP TRIGGER refuse ON pawl_job"));
    rig_reopen(&rig);
    assert_state(ACTIVE, state_of(&rig, ids[0]));
    assert_state(PENDING, state_of(&rig, ids[1]));
    assert_ok(&rig, complete(&rig, ref_of(&job), NULL));
    assert_state(AVAILABLE, state_of(&rig, ids[1]));
    rig_check(&rig);
    rig_close(&rig);
}

/* A run that is finished by SQL, in the application's transaction, leaves an entry with it. */
static void completion_by_sql_is_followed(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, session_kind());
    struct pawl_job_id *ids = chain(&rig, 2, TIE_WATCH);
    claim_one(&rig, "default");
    static const char finish[] = "SELECT pawl_complete(id, run) FROM pawl_job WHERE state = 4";
    PGconn *other = begin(&rig, finish);
    assert_i64(0, settle(&rig).moved);
    session_say(other, "ROLLBACK");
    PQfinish(other);
    assert_i64(0, settle(&rig).moved);
    end(begin(&rig, finish));
    assert_state(COMPLETED, state_of(&rig, ids[0]));
    assert_state(PENDING, state_of(&rig, ids[1]));
    assert_i64(1, settle(&rig).moved);
    assert_state(AVAILABLE, state_of(&rig, ids[1]));
    rig_check(&rig);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(held_job_is_settled_when_it_is_free),
        cmocka_unit_test(entry_is_settled_by_one_node),
        cmocka_unit_test(doubt_does_not_wait),
        cmocka_unit_test(unknown_ties_are_left_alone),
        cmocka_unit_test(move_and_consequence_are_one),
        cmocka_unit_test(completion_by_sql_is_followed),
    };
    return session_kind() ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
