/* Statistics: counted in the commits that move jobs, and equal to a full scan at any time. The scan
 * itself follows every test of every suite; here are the shapes it would not see. */
#include "support/ops.h"

static const struct pawl_queue_stats *queue_named(const struct pawl_stats *stats, const char *name)
{
    for (size_t i = 0; i < stats->queue_count; i++)
        if (strcmp(stats->queues[i].queue, name) == 0) return &stats->queues[i];
    return NULL;
}

static void counts_follow_every_state(struct rig *rig)
{
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++) {
        for (int n = 0; n < (int)state; n++)
            job_in(rig, state, &(struct pawl_job_spec){ .type = rig_text(rig, "type-%d", n % 3) });
        rig_check(rig);
    }
    struct pawl_stats stats = stats_of(rig);
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++)
        assert_i64((int64_t)state, stats.count[state]);
}

static void queues_are_counted_apart(struct rig *rig)
{
    submit_n(rig, 3, &(struct pawl_job_spec){ .queue = "a" });
    submit_n(rig, 2, &(struct pawl_job_spec){ .queue = "b", .type = "x" });
    submit_n(rig, 2, &(struct pawl_job_spec){ .queue = "b", .type = "y" });
    claim_n(rig, "b", 1);
    struct pawl_stats stats = stats_of(rig);
    assert_i64(3, queue_named(&stats, "a")->count[PAWL_STATE_AVAILABLE]);
    assert_i64(3, queue_named(&stats, "b")->count[PAWL_STATE_AVAILABLE]);
    assert_i64(1, queue_named(&stats, "b")->count[PAWL_STATE_ACTIVE]);
    assert_i64(6, stats.count[PAWL_STATE_AVAILABLE]);
}

static void paused_queues_are_told(struct rig *rig)
{
    submit_one(rig, &(struct pawl_job_spec){ .queue = "a" });
    submit_one(rig, &(struct pawl_job_spec){ .queue = "b" });
    queue_pause(rig, "b", true);
    queue_pause(rig, "empty", true);
    struct pawl_stats stats = stats_of(rig);
    assert_false(queue_named(&stats, "a")->paused);
    assert_true(queue_named(&stats, "b")->paused);
    assert_non_null(queue_named(&stats, "empty"));
    assert_true(queue_named(&stats, "empty")->paused);
    queue_pause(rig, "b", false);
    stats = stats_of(rig);
    assert_false(queue_named(&stats, "b")->paused);
}

static void queues_tell_when_they_were_first_used(struct rig *rig)
{
    int64_t began = rig_now(rig);
    submit_one(rig, &(struct pawl_job_spec){ .queue = "a" });
    rig_advance(rig, 5000);
    queue_pause(rig, "empty", true);
    submit_one(rig, &(struct pawl_job_spec){ .queue = "a", .type = "another" });
    struct pawl_stats stats = stats_of(rig);
    assert_i64(began, queue_named(&stats, "a")->created_at_ms);
    assert_i64(began + 5000, queue_named(&stats, "empty")->created_at_ms);
}

static void next_due_is_the_earliest_that_waits(struct rig *rig)
{
    int64_t now = rig_now(rig);
    submit_one(rig, NULL);
    assert_i64(0, stats_of(rig).next_due_at_ms);
    struct pawl_job_id soon = submit_one(rig, &(struct pawl_job_spec){ .delay_ms = 500 });
    submit_one(rig, &(struct pawl_job_spec){ .delay_ms = 900 });
    assert_i64(now + 500, stats_of(rig).next_due_at_ms);
    assert_ok(rig, control(rig, soon, PAWL_CONTROL_PAUSE));
    assert_i64(now + 900, stats_of(rig).next_due_at_ms);
    struct pawl_job run = claim_one(rig, "default");
    fail_plain(rig, ref_of(&run));
    assert_i64(now + 900, stats_of(rig).next_due_at_ms);
    assert_ok(rig, control(rig, soon, PAWL_CONTROL_RESUME));
    rig_advance(rig, 950);
    promote(rig);
    assert_i64(now + 1000, stats_of(rig).next_due_at_ms);
}

static void counts_survive_refused_operations(struct rig *rig)
{
    struct pawl_job_id taken = submit_one(rig, NULL);
    for (int i = 0; i < 5; i++) {
        struct pawl_job_spec clash = { .id = &taken, .queue = "elsewhere", .type = "elsewhere" };
        struct pawl_job_spec good = { .queue = rig_queue(rig) };
        struct pawl__new_job jobs[] = { job_new(rig, &good), job_new(rig, &clash) };
        struct pawl_submitted out[2];
        assert_err(rig, PAWL_ERR_EXISTS, submit_jobs(rig, jobs, 2, out, NULL));
        rig_check(rig);
    }
    assert_i64(1, stats_of(rig).count[PAWL_STATE_AVAILABLE]);
}

static void counts_outlive_a_restart(struct rig *rig)
{
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++)
        job_in(rig, state, NULL);
    rig_reopen(rig);
    rig_check(rig);
    struct pawl_stats stats = stats_of(rig);
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++)
        assert_i64(1, stats.count[state]);
    assert_true(stats.store_bytes > 0);
}

static void many_queues_and_types_are_counted(struct rig *rig)
{
    for (int i = 0; i < 300; i++)
        submit_one(rig, &(struct pawl_job_spec){ .queue = rig_text(rig, "q%03d", i / 3),
                                                 .type = rig_text(rig, "t%d", i % 3) });
    struct pawl_stats stats = stats_of(rig);
    assert_i64(300, stats.count[PAWL_STATE_AVAILABLE]);
    assert_true(stats.queue_count >= 100);
    assert_i64(3, queue_named(&stats, "q042")->count[PAWL_STATE_AVAILABLE]);
    assert_int_equal(3, claim_n(rig, "q042", 10).count);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(counts_follow_every_state),
        CONTRACT(queues_are_counted_apart),
        CONTRACT(paused_queues_are_told),
        CONTRACT(queues_tell_when_they_were_first_used),
        CONTRACT(next_due_is_the_earliest_that_waits),
        CONTRACT(counts_survive_refused_operations),
        CONTRACT_SHARED(counts_outlive_a_restart),
        CONTRACT(many_queues_and_types_are_counted),
    };
    return contract_run("stats", tests, COUNT(tests));
}
