/* Moving and deleting many jobs by filter. */
#include "support/ops.h"

/* Which of the eleven states each control moves, as in DESIGN's table; a paused job was available.
 */
static bool moves(enum pawl_state state, enum pawl_control what)
{
#define X(number, name, verb, event, ...) [number] = PAWL_EVENT_##event,
    static const enum pawl_event events[PAWL_CONTROL_END] = { PAWL_CONTROLS(X) };
#undef X
    return pawl__lifecycle_next(state, events[what], PAWL_STATE_AVAILABLE) != PAWL_STATE_NONE;
}

static void bulk_moves_exactly_what_may_move(struct rig *rig)
{
    for (enum pawl_control what = 1; what < PAWL_CONTROL_END; what++) {
        struct pawl_job_id ids[PAWL_STATE_END];
        const char *text[PAWL_STATE_END];
        const char *type[] = { rig_text(rig, "type-%d", (int)what) };
        int64_t expected = 0, moved = -1;
        for (enum pawl_state state = 1; state < PAWL_STATE_END; state++)
            ids[state] = job_in(rig, state, &(struct pawl_job_spec){ .type = type[0] });
        for (enum pawl_state state = 1; state < PAWL_STATE_END; state++) {
            text[state] = job_text(rig, ids[state]);
            expected += moves(state, what);
        }
        struct pawl_filter filter = { .types = type, .type_count = 1 };
        assert_ok(rig, bulk(rig, &filter, what, PAWL_BULK_MAX, &moved));
        assert_i64(expected, moved);
        for (enum pawl_state state = 1; state < PAWL_STATE_END; state++) {
            if (moves(state, what)) {
                assert_int_not_equal(state, state_of(rig, ids[state]));
            } else {
                assert_text(text[state], job_text(rig, ids[state]));
            }
        }
    }
}

static void bulk_leaves_what_does_not_match(struct rig *rig)
{
    static const char *const red[] = { "red" };
    struct pawl_job_id tagged[3], plain[3];
    for (int i = 0; i < 3; i++) {
        tagged[i] = submit_one(rig, &(struct pawl_job_spec){ .tags = red, .tag_count = 1 });
        plain[i] = submit_one(rig, NULL);
    }
    struct pawl_filter filter = { .tags = red, .tag_count = 1 };
    int64_t moved = -1;
    assert_ok(rig, bulk(rig, &filter, PAWL_CONTROL_CANCEL, 100, &moved));
    assert_i64(3, moved);
    for (int i = 0; i < 3; i++) {
        assert_state(CANCELLED, state_of(rig, tagged[i]));
        assert_state(AVAILABLE, state_of(rig, plain[i]));
    }
    assert_ok(rig, bulk(rig, &filter, PAWL_CONTROL_CANCEL, 100, &moved));
    assert_i64(0, moved);
}

static void states_of_the_filter_narrow_it(struct rig *rig)
{
    struct pawl_job_id active = job_in(rig, PAWL_STATE_ACTIVE, NULL);
    job_in(rig, PAWL_STATE_AVAILABLE, NULL);
    job_in(rig, PAWL_STATE_PAUSED, NULL);
    struct pawl_filter waiting = { .states = LIVE_STATES & ~PAWL_STATE_BIT(PAWL_STATE_ACTIVE) };
    int64_t moved = -1;
    assert_ok(rig, bulk(rig, &waiting, PAWL_CONTROL_CANCEL, 100, &moved));
    assert_i64(2, moved);
    assert_state(ACTIVE, state_of(rig, active));
}

static void limit_takes_the_oldest(struct rig *rig)
{
    struct pawl_job_id ids[5];
    for (int i = 0; i < 5; i++) {
        ids[i] = submit_one(rig, &(struct pawl_job_spec){ .priority = i });
        rig_advance(rig, 1);
    }
    int64_t moved = -1;
    struct pawl_filter all = { 0 };
    assert_ok(rig, bulk(rig, &all, PAWL_CONTROL_PAUSE, 2, &moved));
    assert_i64(2, moved);
    for (int i = 0; i < 5; i++)
        assert_int_equal(i < 2 ? PAWL_STATE_PAUSED : PAWL_STATE_AVAILABLE, state_of(rig, ids[i]));
    // The limit counts what moves: those that are paused already do not use it up.
    assert_ok(rig, bulk(rig, &all, PAWL_CONTROL_PAUSE, 2, &moved));
    assert_i64(2, moved);
    assert_state(PAUSED, state_of(rig, ids[3]));
    assert_state(AVAILABLE, state_of(rig, ids[4]));
}

static void limits_cross_every_chunk(struct rig *rig)
{
    static const int64_t limits[] = { 1, 499, 500, 501, 999, 1000 };
    for (size_t i = 0; i < COUNT(limits); i++) {
        const char *queue = rig_queue(rig);
        submit_n(rig, (size_t)limits[i] + 1, &(struct pawl_job_spec){ .queue = queue });
        struct pawl_filter filter = { .queues = &queue, .queue_count = 1 };
        int64_t moved = -1;
        assert_ok(rig, bulk(rig, &filter, PAWL_CONTROL_CANCEL, limits[i], &moved));
        assert_i64(limits[i], moved);
        assert_ok(rig, bulk(rig, &filter, PAWL_CONTROL_CANCEL, limits[i], &moved));
        assert_i64(1, moved);
        assert_ok(rig, bulk(rig, &filter, PAWL_CONTROL_RETRY, limits[i], &moved));
        assert_i64(limits[i], moved);
    }
}

static void bulk_retry_revives_the_discarded(struct rig *rig)
{
    for (int i = 0; i < 3; i++)
        job_in(rig, PAWL_STATE_DISCARDED, &(struct pawl_job_spec){ .type = "mail" });
    struct pawl_job_id other = job_in(rig, PAWL_STATE_DISCARDED, NULL);
    static const char *const mail[] = { "mail" };
    struct pawl_filter filter = { .types = mail, .type_count = 1 };
    rig_advance(rig, 3600 * 1000);
    int64_t moved = -1;
    assert_ok(rig, bulk(rig, &filter, PAWL_CONTROL_RETRY, 100, &moved));
    assert_i64(3, moved);
    struct claimed jobs = query_all(rig, &filter, true);
    for (size_t i = 0; i < jobs.count; i++) {
        assert_state(AVAILABLE, jobs.at[i].state);
        assert_i64(rig_now(rig), jobs.at[i].due_at_ms);
        assert_i64(0, jobs.at[i].attempt);
    }
    assert_state(DISCARDED, state_of(rig, other));
}

static void bulk_cancel_fences_the_runs(struct rig *rig)
{
    submit_n(rig, 5, NULL);
    struct claimed jobs = claim_n(rig, "default", 5);
    struct pawl_filter all = { 0 };
    assert_ok(rig, bulk(rig, &all, PAWL_CONTROL_CANCEL, 100, NULL));
    for (size_t i = 0; i < jobs.count; i++)
        assert_err(rig, PAWL_ERR_STALE, complete(rig, ref_of(&jobs.at[i]), NULL));
}

static void each_moved_job_is_audited(struct rig *rig)
{
    struct pawl_job_id *ids = submit_n(rig, 3, NULL);
    struct pawl_filter all = { 0 };
    assert_ok(rig, bulk(rig, &all, PAWL_CONTROL_PAUSE, 100, NULL));
    for (int i = 0; i < 3; i++) {
        struct pawl_story story = story_of(rig, ids[i]);
        assert_int_equal(1, story.audit_count);
        assert_text("pause", story.audit[0].action);
        assert_text("operator", story.audit[0].actor);
        assert_text("many", story.audit[0].reason);
        assert_state(AVAILABLE, story.audit[0].from);
        assert_state(PAUSED, story.audit[0].to);
    }
}

static void bulk_delete_forgets_only_what_ended(struct rig *rig)
{
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++)
        job_in(rig, state, NULL);
    job_paused_from(rig, PAWL_STATE_DISCARDED);
    struct pawl_filter all = { 0 };
    int64_t moved = -1;
    assert_ok(rig, bulk(rig, &all, PAWL_CONTROL_NONE, 2, &moved));
    assert_i64(2, moved);
    assert_ok(rig, bulk(rig, &all, PAWL_CONTROL_NONE, 100, &moved));
    assert_i64(3, moved);
    assert_i64(7, count_jobs(rig, &all));
    assert_i64(7, count_jobs(rig, &(struct pawl_filter){ .states = LIVE_STATES }));
}

static void bulk_delete_reaches_the_archive_when_asked(struct rig *rig)
{
    job_in(rig, PAWL_STATE_COMPLETED, NULL);
    job_in(rig, PAWL_STATE_CANCELLED, NULL);
    rig_advance(rig, 1);
    archive_all(rig);
    struct pawl_job_id fresh = job_in(rig, PAWL_STATE_COMPLETED, NULL);
    struct pawl_filter done = { .states = PAWL_STATE_BIT(PAWL_STATE_COMPLETED) };
    int64_t moved = -1;
    assert_ok(rig, bulk(rig, &done, PAWL_CONTROL_NONE, 100, &moved));
    assert_i64(1, moved);
    assert_false(job_exists(rig, fresh));
    done.archived = true;
    assert_ok(rig, bulk(rig, &done, PAWL_CONTROL_NONE, 100, &moved));
    assert_i64(1, moved);
    assert_i64(1, stats_of(rig).archived);
}

static void bulk_on_nothing_moves_nothing(struct rig *rig)
{
    int64_t moved = -1;
    struct pawl_filter filter = { .business_key = "nobody's" };
    for (enum pawl_control what = 0; what < PAWL_CONTROL_END; what++) {
        assert_ok(rig, bulk(rig, &filter, what, 100, &moved));
        assert_i64(0, moved);
    }
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(bulk_moves_exactly_what_may_move),
        CONTRACT(bulk_leaves_what_does_not_match),
        CONTRACT(states_of_the_filter_narrow_it),
        CONTRACT(limit_takes_the_oldest),
        CONTRACT(limits_cross_every_chunk),
        CONTRACT(bulk_retry_revives_the_discarded),
        CONTRACT(bulk_cancel_fences_the_runs),
        CONTRACT(each_moved_job_is_audited),
        CONTRACT(bulk_delete_forgets_only_what_ended),
        CONTRACT(bulk_delete_reaches_the_archive_when_asked),
        CONTRACT(bulk_on_nothing_moves_nothing),
    };
    return contract_run("bulk", tests, COUNT(tests));
}
