/* Retention: ended jobs, and only these, are archived and purged. */
#include "support/ops.h"

static const enum pawl_state ended[] = { PAWL_STATE_COMPLETED, PAWL_STATE_SKIPPED,
                                         PAWL_STATE_CANCELLED, PAWL_STATE_DISCARDED,
                                         PAWL_STATE_EXPIRED };

static void archived_job_stays_readable(struct rig *rig)
{
    for (size_t i = 0; i < COUNT(ended); i++) {
        struct pawl_job_id id = job_in(rig, ended[i], NULL);
        struct pawl_story before = story_of(rig, id);
        rig_advance(rig, 1);
        assert_i64(1, archive_all(rig));
        struct pawl_story after = story_of(rig, id);
        assert_true(after.job.archived);
        assert_int_equal(ended[i], after.job.state);
        assert_i64(before.job.finished_at_ms, after.job.finished_at_ms);
        assert_i64(before.job.attempt, after.job.attempt);
        assert_i64(before.job.run, after.job.run);
        assert_text(before.job.queue, after.job.queue);
        assert_text(before.job.reason, after.job.reason);
        assert_span(before.job.args, after.job.args);
        assert_span(before.job.result, after.job.result);
        assert_int_equal(before.failure_count, after.failure_count);
        assert_int_equal(before.audit_count, after.audit_count);
    }
}

static void archived_job_has_left_the_hot_counts(struct rig *rig)
{
    job_in(rig, PAWL_STATE_COMPLETED, NULL);
    job_in(rig, PAWL_STATE_CANCELLED, NULL);
    rig_advance(rig, 1);
    assert_i64(2, archive_all(rig));
    assert_i64(0, count_jobs(rig, &(struct pawl_filter){ 0 }));
    assert_i64(2, count_jobs(rig, &(struct pawl_filter){ .archived = true }));
    struct pawl_stats stats = stats_of(rig);
    assert_i64(2, stats.archived);
    assert_i64(0, stats.count[PAWL_STATE_COMPLETED] + stats.count[PAWL_STATE_CANCELLED]);
    assert_i64(0, archive_all(rig));
}

static void only_what_ended_before_is_archived(struct rig *rig)
{
    struct pawl_job_id old = job_in(rig, PAWL_STATE_COMPLETED, NULL);
    rig_advance(rig, 100);
    struct pawl_job_id young = job_in(rig, PAWL_STATE_COMPLETED, NULL);
    int64_t boundary = rig_now(rig);
    assert_i64(0, retire(rig, PAWL__OP_ARCHIVE, TERMINAL_STATES, boundary - 100, 100));
    assert_i64(1, retire(rig, PAWL__OP_ARCHIVE, TERMINAL_STATES, boundary, 100));
    assert_true(job_get(rig, old).archived);
    assert_false(job_get(rig, young).archived);
    assert_i64(1, retire(rig, PAWL__OP_ARCHIVE, TERMINAL_STATES, boundary + 1, 100));
}

static void only_the_states_asked_for_are_archived(struct rig *rig)
{
    struct pawl_job_id ids[COUNT(ended)];
    for (size_t i = 0; i < COUNT(ended); i++)
        ids[i] = job_in(rig, ended[i], NULL);
    rig_advance(rig, 1);
    for (size_t i = 0; i < COUNT(ended); i++) {
        assert_i64(1, retire(rig, PAWL__OP_ARCHIVE, PAWL_STATE_BIT(ended[i]), rig_now(rig), 100));
        assert_true(job_get(rig, ids[i]).archived);
    }
    for (size_t i = 0; i < COUNT(ended); i++) {
        assert_i64(1, retire(rig, PAWL__OP_PURGE, PAWL_STATE_BIT(ended[i]), rig_now(rig), 100));
        assert_false(job_exists(rig, ids[i]));
    }
}

static void live_jobs_are_never_archived_or_purged(struct rig *rig)
{
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++)
        if (LIVE_STATES & PAWL_STATE_BIT(state)) job_in(rig, state, NULL);
    job_paused_from(rig, PAWL_STATE_DISCARDED);
    rig_advance(rig, INT64_C(100000000));
    assert_i64(0, retire(rig, PAWL__OP_ARCHIVE, ALL_STATES, rig_now(rig), 1000));
    assert_i64(0, retire(rig, PAWL__OP_PURGE, ALL_STATES, rig_now(rig), 1000));
    assert_i64(7, count_jobs(rig, &(struct pawl_filter){ .states = LIVE_STATES }));
}

static void purge_takes_only_what_is_archived(struct rig *rig)
{
    struct pawl_job_id id = job_in(rig, PAWL_STATE_COMPLETED, NULL);
    rig_advance(rig, 1);
    assert_i64(0, purge_all(rig));
    assert_true(job_exists(rig, id));
    assert_i64(1, archive_all(rig));
    assert_i64(0, retire(rig, PAWL__OP_PURGE, TERMINAL_STATES, rig_now(rig) - 1, 100));
    assert_i64(1, purge_all(rig));
    assert_false(job_exists(rig, id));
    assert_i64(0, stats_of(rig).archived);
    assert_i64(0, purge_all(rig));
}

static void record_is_kept_as_long_as_its_job_asked(struct rig *rig)
{
    struct pawl_job_id kept =
        job_in(rig, PAWL_STATE_COMPLETED, &(struct pawl_job_spec){ .keep_ms = 10000 });
    struct pawl_job_id plain = job_in(rig, PAWL_STATE_COMPLETED, NULL);
    struct pawl_job_id for_ever =
        job_in(rig, PAWL_STATE_COMPLETED, &(struct pawl_job_spec){ .keep_ms = DURATION_MAX_MS });
    rig_advance(rig, 9999);
    archive_all(rig);
    purge_all(rig);
    assert_true(job_exists(rig, kept));
    assert_false(job_exists(rig, plain));
    rig_advance(rig, 2);
    archive_all(rig);
    purge_all(rig);
    assert_false(job_exists(rig, kept));
    assert_true(job_exists(rig, for_ever));
}

static void limits_bound_each_step_oldest_first(struct rig *rig)
{
    struct pawl_job_id ids[3];
    for (int i = 0; i < 3; i++) {
        ids[i] = job_in(rig, PAWL_STATE_CANCELLED, NULL);
        rig_advance(rig, 10);
    }
    assert_i64(2, retire(rig, PAWL__OP_ARCHIVE, TERMINAL_STATES, rig_now(rig), 2));
    assert_true(job_get(rig, ids[0]).archived);
    assert_true(job_get(rig, ids[1]).archived);
    assert_false(job_get(rig, ids[2]).archived);
    assert_i64(1, retire(rig, PAWL__OP_PURGE, TERMINAL_STATES, rig_now(rig), 1));
    assert_false(job_exists(rig, ids[0]));
    assert_true(job_exists(rig, ids[1]));
}

static void thousands_retire_in_turns(struct rig *rig)
{
    submit_n(rig, PAWL__MAINTENANCE_MAX + 1, NULL);
    struct pawl_filter all = { 0 };
    assert_ok(rig, bulk(rig, &all, PAWL_CONTROL_CANCEL, PAWL_BULK_MAX, NULL));
    assert_ok(rig, bulk(rig, &all, PAWL_CONTROL_CANCEL, PAWL_BULK_MAX, NULL));
    rig_advance(rig, 1);
    assert_i64(PAWL__MAINTENANCE_MAX, archive_all(rig));
    assert_i64(1, archive_all(rig));
    assert_i64(PAWL__MAINTENANCE_MAX, purge_all(rig));
    assert_i64(1, purge_all(rig));
    assert_i64(0, count_jobs(rig, &(struct pawl_filter){ .archived = true }));
}

/* Old ones lie scattered among many that are too young: step by step all of the old ones go. */
static void steps_reach_everything_that_is_old(struct rig *rig)
{
    enum { MANY = 2600 };
    submit_n(rig, MANY, NULL);
    struct claimed jobs = claim_n(rig, "default", MANY);
    assert_int_equal(MANY, jobs.count);
    int64_t old = 0, boundary = rig_now(rig) + 10;
    for (size_t i = 0; i < MANY; i += 100, old++)
        assert_ok(rig, complete(rig, ref_of(&jobs.at[i]), NULL));
    rig_advance(rig, 10);
    for (size_t i = 1; i < MANY; i += 2)
        if (i % 100 != 0) assert_ok(rig, complete(rig, ref_of(&jobs.at[i]), NULL));
    static const enum pawl__op_kind kinds[] = { PAWL__OP_ARCHIVE, PAWL__OP_PURGE };
    for (size_t k = 0; k < COUNT(kinds); k++) {
        int64_t moved = 0;
        bool more = true;
        for (int step = 0; more && step < 1000; step++)
            moved += retire_step(rig, kinds[k], TERMINAL_STATES, boundary, 7, &more);
        assert_i64(old, moved);
    }
    assert_i64(MANY / 2, count_state(rig, PAWL_STATE_COMPLETED));
    assert_i64(0, stats_of(rig).archived);
}

static void archived_job_may_be_deleted(struct rig *rig)
{
    struct pawl_job_id id = job_in(rig, PAWL_STATE_DISCARDED, NULL);
    rig_advance(rig, 1);
    archive_all(rig);
    assert_ok(rig, delete_job(rig, id));
    assert_false(job_exists(rig, id));
    assert_err(rig, PAWL_ERR_NOT_FOUND, delete_job(rig, id));
    assert_i64(0, stats_of(rig).archived);
}

/* A job in the archive answers like any other ended job: what it may do there is done, and what
 * its state does not allow is refused. */
static void archived_job_obeys_the_lifecycle(struct rig *rig)
{
    for (size_t i = 0; i < COUNT(ended); i++) {
        struct pawl_job_id id = job_in(rig, ended[i], NULL);
        rig_advance(rig, 1);
        assert_i64(1, archive_all(rig));
        assert_err(rig, PAWL_ERR_STATE, control(rig, id, PAWL_CONTROL_CANCEL));
        assert_err(rig, PAWL_ERR_STATE, control(rig, id, PAWL_CONTROL_RESUME));
        bool revivable = pawl__lifecycle_next(ended[i], PAWL_EVENT_REVIVE, PAWL_STATE_NONE);
        assert_err(rig, revivable ? PAWL_OK : PAWL_ERR_STATE, control(rig, id, PAWL_CONTROL_RETRY));
        struct pawl_job job = job_get(rig, id);
        assert_int_equal(!revivable, job.archived);
        assert_int_equal(revivable ? PAWL_STATE_AVAILABLE : ended[i], job.state);
        if (!revivable) continue;
        struct pawl_job run = claim_one(rig, job.queue);
        assert_ok(rig, complete(rig, ref_of(&run), NULL));
        rig_advance(rig, 1);
        assert_i64(1, archive_all(rig));
    }
}

static void archived_dead_letter_may_be_paused(struct rig *rig)
{
    struct pawl_job_id id = job_in(rig, PAWL_STATE_DISCARDED, NULL);
    struct pawl_job before = job_get(rig, id);
    rig_advance(rig, 1);
    assert_i64(1, archive_all(rig));
    assert_ok(rig, control(rig, id, PAWL_CONTROL_PAUSE));
    struct pawl_job job = job_get(rig, id);
    assert_state(PAUSED, job.state);
    assert_false(job.archived);
    assert_ok(rig, control(rig, id, PAWL_CONTROL_RESUME));
    job = job_get(rig, id);
    assert_state(DISCARDED, job.state);
    assert_i64(before.finished_at_ms, job.finished_at_ms);
    assert_i64(1, archive_all(rig));
}

static void what_an_archived_job_is_told(struct rig *rig)
{
    for (size_t i = 0; i < COUNT(ended); i++) {
        struct pawl_job_id id = job_in(rig, ended[i], NULL);
        rig_advance(rig, 1);
        assert_i64(1, archive_all(rig));
        struct pawl_run run = { .id = id, .run = 1 }, anyone = { .id = id };
        const char *before = job_text(rig, id);
        assert_err(rig, PAWL_ERR_STATE, set_priority(rig, id, 5, NULL));
        assert_err(rig, PAWL_ERR_STATE, progress(rig, anyone, 0.5, NULL, NULL));
        assert_err(rig, PAWL_ERR_STATE, checkpoint(rig, anyone, span_of("1"), NULL));
        assert_err(rig, PAWL_ERR_STALE, assign(rig, id, WORKER, 1, NULL));
        assert_err(rig, PAWL_ERR_STALE, complete(rig, run, NULL));
        assert_err(rig, PAWL_ERR_STALE, snooze(rig, run, 0));
        assert_err(rig, PAWL_ERR_STALE, extend(rig, run, 5));
        assert_err(rig, PAWL_ERR_STALE, progress(rig, run, 0.5, NULL, NULL));
        assert_err(rig, PAWL_ERR_STALE, checkpoint(rig, run, span_of("1"), NULL));
        struct pawl_by nobody = { 0 };
        assert_err(rig, PAWL_ERR_STALE, control_by(rig, id, PAWL_CONTROL_CANCEL, 1, nobody, NULL));
        assert_text(before, job_text(rig, id));
        assert_ok(rig, log_line(rig, run, 1, span_of("late")));
        assert_int_equal(1, story_of(rig, id).log_count);
        assert_ok(rig, delete_job(rig, id));
    }
}

static void late_owner_of_an_archived_job_is_fenced(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job run = claim_one(rig, "default");
    assert_ok(rig, control(rig, run.id, PAWL_CONTROL_CANCEL));
    rig_advance(rig, 1);
    archive_all(rig);
    const char *before = job_text(rig, run.id);
    assert_err(rig, PAWL_ERR_STALE, complete(rig, ref_of(&run), NULL));
    assert_err(rig, PAWL_ERR_STALE, extend(rig, ref_of(&run), 5));
    assert_text(before, job_text(rig, run.id));
}

static void archived_ids_that_share_eight_bytes(struct rig *rig)
{
    struct pawl_job_id a = rig_id(rig), b = a;
    b.b[15] ^= 1;
    submit_one(rig, &(struct pawl_job_spec){ .id = &a, .type = "a" });
    submit_one(rig, &(struct pawl_job_spec){ .id = &b, .type = "b" });
    assert_ok(rig, control(rig, a, PAWL_CONTROL_CANCEL));
    assert_ok(rig, control(rig, b, PAWL_CONTROL_CANCEL));
    rig_advance(rig, 1);
    assert_i64(1, retire(rig, PAWL__OP_ARCHIVE, TERMINAL_STATES, rig_now(rig), 1));
    assert_text("a", job_get(rig, a).type);
    assert_text("b", job_get(rig, b).type);
    assert_int_equal(1, job_get(rig, a).archived + job_get(rig, b).archived);
    struct pawl_job_id c = a;
    c.b[15] ^= 2;
    submit_one(rig, &(struct pawl_job_spec){ .id = &c, .type = "c" });
    assert_i64(1, archive_all(rig));
    assert_err(rig, PAWL_ERR_EXISTS, submit_spec(rig, &(struct pawl_job_spec){ .id = &a }, NULL));
    assert_err(rig, PAWL_ERR_EXISTS, submit_spec(rig, &(struct pawl_job_spec){ .id = &b }, NULL));
    assert_ok(rig, delete_job(rig, b));
    assert_true(job_exists(rig, a));
    assert_false(job_exists(rig, b));
    assert_i64(1, purge_all(rig));
    assert_false(job_exists(rig, a));
    assert_text("c", job_get(rig, c).type);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(archived_job_stays_readable),
        CONTRACT(archived_job_has_left_the_hot_counts),
        CONTRACT(only_what_ended_before_is_archived),
        CONTRACT(only_the_states_asked_for_are_archived),
        CONTRACT(live_jobs_are_never_archived_or_purged),
        CONTRACT(purge_takes_only_what_is_archived),
        CONTRACT(record_is_kept_as_long_as_its_job_asked),
        CONTRACT(limits_bound_each_step_oldest_first),
        CONTRACT(thousands_retire_in_turns),
        CONTRACT(steps_reach_everything_that_is_old),
        CONTRACT(archived_job_may_be_deleted),
        CONTRACT(archived_job_obeys_the_lifecycle),
        CONTRACT(archived_dead_letter_may_be_paused),
        CONTRACT(what_an_archived_job_is_told),
        CONTRACT(late_owner_of_an_archived_job_is_fenced),
        CONTRACT(archived_ids_that_share_eight_bytes),
    };
    return contract_run("retention", tests, COUNT(tests));
}
