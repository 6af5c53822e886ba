/* A rule that has tables of its own (joins.c), on every store: none of them has a line of code for
 * it. */
#include "settle/settle_kit.h"
#ifdef PAWL_TEST_LIBPQ
#include "postgres/session.h"
#endif

#include <sqlite3.h>
#include <string.h>

#define TABLES(id)                                                                                 \
    "CREATE TABLE test_edge (parent " id " NOT NULL, child " id " NOT NULL, verdict bigint,"       \
    " PRIMARY KEY (parent, child));"                                                               \
    "CREATE TABLE test_join (child " id " PRIMARY KEY, pending bigint CHECK (pending > 0))"

#define NO_TABLES "DROP TABLE test_edge; DROP TABLE test_join"

static void tell_server(const struct rig *rig, const char *text)
{
#ifdef PAWL_TEST_LIBPQ
    PGconn *pg = PQconnectdb(rig->url);
    assert_int_equal(CONNECTION_OK, PQstatus(pg));
    session_say(pg, text);
    PQfinish(pg);
#endif
}

static void tell_file(const struct rig *rig, const char *text)
{
    sqlite3 *db = NULL;
    assert_int_equal(SQLITE_OK, sqlite3_open(strchr(rig->url, ':') + 1, &db));
    assert_int_equal(SQLITE_OK, sqlite3_exec(db, text, NULL, NULL, NULL));
    sqlite3_close(db);
}

/* False: nobody else can add a table to SQLite's store in memory. The store in maps has one for
 * each kind of record. */
static bool add_tables(const struct rig *rig)
{
    const char *name = rig->kind->name;
    bool is_file = strcmp(name, "file") == 0, is_maps = strcmp(name, "maps") == 0;
    if (rig->kind->served) tell_server(rig, TABLES("uuid"));
    if (is_file) tell_file(rig, TABLES("blob"));
    if (rig->kind->served || is_file || is_maps) return true;
    assert_text("memory", name);
    return false;
}

/* A server's store is used again by the next test. */
static void drop_tables(struct rig *rig)
{
    rig_check(rig);
    if (rig->kind->served) tell_server(rig, NO_TABLES);
}

/* Jobs with ids that follow each other: available ones, of these priorities, then pending ones. */
static struct pawl_job_id *graph(struct rig *rig, const int32_t *priorities, size_t parents,
                                 size_t children)
{
    size_t count = parents + children;
    struct pawl_job_id *ids = pawl__arena_calloc(&rig->arena, count, sizeof *ids);
    struct pawl__new_job *jobs = pawl__arena_calloc(&rig->arena, count, sizeof *jobs);
    struct pawl_submitted *out = pawl__arena_calloc(&rig->arena, count, sizeof *out);
    assert_true(ids && jobs && out);
    for (size_t i = 0; i < count; i++) {
        struct pawl_job_spec spec = { .priority = i < parents ? priorities[i] : 0,
                                      .retry.attempts_max = 1,
                                      .pending = i >= parents };
        jobs[i] = job_new(rig, &spec);
        ids[i] = jobs[i].id = i ? watch_next(ids[i - 1]) : jobs[i].id;
        jobs[i].ties = TIE_JOIN;
    }
    assert_ok(rig, submit_jobs(rig, jobs, count, out, NULL));
    return ids;
}

static struct pawl_run run_of(const struct claimed *claimed, struct pawl_job_id id)
{
    for (size_t i = 0; i < claimed->count; i++) {
        if (memcmp(&claimed->at[i].id, &id, sizeof id) == 0) return ref_of(&claimed->at[i]);
    }
    fail_msg("it was not claimed");
    return (struct pawl_run){ .run = 0 };
}

static void child_waits_for_all_parents(struct rig *rig)
{
    static const int32_t priorities[] = { 31, 21, 11 };
    if (!add_tables(rig)) return;
    struct pawl_job_id *ids = graph(rig, priorities, 3, 1);
    struct claimed claimed = claim_n(rig, "default", 10);
    assert_int_equal(3, claimed.count);
    assert_ok(rig, complete(rig, run_of(&claimed, ids[1]), NULL));
    assert_state(PENDING, state_of(rig, ids[3]));
    assert_state(DISCARDED, fail_plain(rig, run_of(&claimed, ids[0])).to);
    assert_state(PENDING, state_of(rig, ids[3]));
    assert_ok(rig, complete(rig, run_of(&claimed, ids[2]), NULL));
    assert_state(AVAILABLE, state_of(rig, ids[3]));
    drop_tables(rig);
}

static void all_children_are_found(struct rig *rig)
{
    static const int32_t priorities[] = { 25, 12 };
    if (!add_tables(rig)) return;
    struct pawl_job_id *ids = graph(rig, priorities, 2, 6);
    struct claimed claimed = claim_n(rig, "default", 10);
    assert_ok(rig, complete(rig, run_of(&claimed, ids[0]), NULL));
    for (size_t i = 2; i < 8; i++) { // of the first five two wait for another one
        int expected = i >= 4 && i < 7 ? PAWL_STATE_AVAILABLE : PAWL_STATE_PENDING;
        assert_int_equal(expected, state_of(rig, ids[i]));
    }
    assert_ok(rig, complete(rig, run_of(&claimed, ids[1]), NULL));
    for (size_t i = 2; i < 8; i++) {
        assert_int_equal(i < 7 ? PAWL_STATE_AVAILABLE : PAWL_STATE_PENDING, state_of(rig, ids[i]));
    }
    drop_tables(rig);
}

/* In one transaction, in which the first one's records are seen by the second. */
static void parents_that_end_together_count_together(struct rig *rig)
{
    static const int32_t priorities[] = { 21, 11 };
    if (!add_tables(rig)) return;
    struct pawl_job_id *ids = graph(rig, priorities, 2, 1);
    struct claimed claimed = claim_n(rig, "default", 10);
    struct pawl__op ops[2];
    for (size_t i = 0; i < 2; i++) {
        ops[i] = (struct pawl__op){ .kind = PAWL__OP_COMPLETE,
                                    .complete.ref = run_of(&claimed, ids[i]) };
    }
    do_together(rig, ops, 2);
    assert_state(AVAILABLE, state_of(rig, ids[2]));
    drop_tables(rig);
}

/* Its edges and what is left of the join are read again by the sweep. */
static void what_is_too_much_is_joined_later(struct rig *rig)
{
    enum { PARENTS = 12 }; // more than one transaction follows up
    int32_t priorities[PARENTS];
    if (!add_tables(rig)) return;
    for (int32_t i = 0; i < PARENTS; i++) {
        priorities[i] = 10 * (PARENTS - i) + 1;
    }
    struct pawl_job_id *ids = graph(rig, priorities, PARENTS, 1);
    struct claimed claimed = claim_n(rig, "default", PARENTS);
    while (settle(rig).more) { // claims are followed up too
    }
    struct pawl__op ops[PARENTS];
    for (size_t i = 0; i < PARENTS; i++) {
        ops[i] = (struct pawl__op){ .kind = PAWL__OP_COMPLETE,
                                    .complete.ref = run_of(&claimed, ids[i]) };
    }
    do_together(rig, ops, PARENTS);
    while (settle(rig).more) {
    }
    assert_state(AVAILABLE, state_of(rig, ids[PARENTS]));
    assert_i64(0, settle(rig).moved);
    drop_tables(rig);
}

/* When it is settled the parents have long gone to the archive. */
static void archived_parents_count(struct rig *rig)
{
    enum { PARENTS = 12 };
    int32_t priorities[PARENTS];
    if (!add_tables(rig)) return;
    for (int32_t i = 0; i < PARENTS; i++) {
        priorities[i] = 10 * (PARENTS - i) + 1;
    }
    struct pawl_job_id *ids = graph(rig, priorities, PARENTS, 1);
    struct claimed claimed = claim_n(rig, "default", PARENTS);
    struct pawl__op ops[PARENTS];
    for (size_t i = 0; i < PARENTS; i++) {
        ops[i] = (struct pawl__op){ .kind = PAWL__OP_COMPLETE,
                                    .complete.ref = run_of(&claimed, ids[i]) };
    }
    do_together(rig, ops, PARENTS);
    rig_advance(rig, 1);
    assert_i64(PARENTS, archive_all(rig));
    while (settle(rig).more) {
    }
    assert_state(AVAILABLE, state_of(rig, ids[PARENTS]));
    drop_tables(rig);
}

#ifdef PAWL_TEST_LIBPQ
/* Another transaction is about to change the same join: nobody waits for it. */
static void join_of_another_session_is_left_for_later(struct rig *rig)
{
    static const int32_t priorities[] = { 21, 11 };
    if (!rig->kind->served || !add_tables(rig)) return;
    struct pawl_job_id *ids = graph(rig, priorities, 2, 1);
    struct claimed claimed = claim_n(rig, "default", 10);
    PGconn *other = PQconnectdb(rig->url);
    session_say(other, "BEGIN; SELECT 1 FROM test_join FOR UPDATE");
    for (size_t i = 0; i < 2; i++) {
        assert_ok(rig, complete(rig, run_of(&claimed, ids[i]), NULL)); // at once
    }
    assert_i64(0, settle(rig).moved);
    assert_state(PENDING, state_of(rig, ids[2]));
    session_say(other, "COMMIT");
    PQfinish(other);
    assert_i64(2, settle(rig).moved);
    assert_state(AVAILABLE, state_of(rig, ids[2]));
    drop_tables(rig);
}
#endif

static void restarted_parent_does_not_count_twice(struct rig *rig)
{
    static const int32_t priorities[] = { 21, 11 };
    if (!add_tables(rig)) return;
    struct pawl_job_id *ids = graph(rig, priorities, 2, 1);
    struct claimed claimed = claim_n(rig, "default", 10);
    assert_state(DISCARDED, fail_plain(rig, run_of(&claimed, ids[0])).to);
    assert_ok(rig, control(rig, ids[0], PAWL_CONTROL_RETRY));
    struct claimed again = claim_n(rig, "default", 10);
    assert_ok(rig, complete(rig, run_of(&again, ids[0]), NULL));
    assert_state(PENDING, state_of(rig, ids[2]));
    assert_ok(rig, complete(rig, run_of(&claimed, ids[1]), NULL));
    assert_state(AVAILABLE, state_of(rig, ids[2]));
    drop_tables(rig);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(child_waits_for_all_parents),
        CONTRACT(all_children_are_found),
        CONTRACT(parents_that_end_together_count_together),
        CONTRACT(what_is_too_much_is_joined_later),
        CONTRACT(archived_parents_count),
#ifdef PAWL_TEST_LIBPQ
        CONTRACT(join_of_another_session_is_left_for_later),
#endif
        CONTRACT(restarted_parent_does_not_count_twice),
    };
    return contract_run("joins", tests, COUNT(tests));
}
