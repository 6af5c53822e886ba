/* Deadlines: jobs near theirs run first, and each that a job misses is reported once. */
#include "support/ops.h"

#define SECOND INT64_C(1000)
#define HOUR INT64_C(3600000)
#define DAY (24 * HOUR)

/* How the job missed deadlines: "s" for its soft one, "h" for its hard one. */
static void assert_misses(struct rig *rig, struct pawl_job_id id, const char *kinds)
{
    struct pawl_story story = story_of(rig, id);
    size_t found = 0;
    for (size_t i = 0; i < story.audit_count; i++) {
        if (strcmp(story.audit[i].action, "miss") != 0) continue;
        const char *reason = story.audit[i].reason;
        assert_true(kinds[found] != '\0');
        assert_true(strstr(reason, kinds[found] == 's' ? "the soft deadline was 2"
                                                       : "the hard deadline was 2") == reason);
        assert_int_equal(story.audit[i].from, story.audit[i].to);
        found++;
    }
    assert_int_equal(strlen(kinds), found);
}

/* ---- order ---- */

/* `soft_ms`, `hard_ms`: from now; NONE: no such deadline. */
#define NONE INT64_MIN

static struct pawl_job_id submit_by(struct rig *rig, int64_t soft_ms, int64_t hard_ms,
                                    int32_t priority)
{
    struct pawl_job_spec spec = { .priority = priority };
    if (soft_ms != NONE) spec.sla_soft_at_ms = rig_now(rig) + soft_ms;
    if (hard_ms != NONE) spec.sla_hard_at_ms = rig_now(rig) + hard_ms;
    return submit_one(rig, &spec);
}

/* The best first, submitted in reverse. */
struct wish {
    int64_t soft_ms, hard_ms;
    int32_t priority;
};

static void assert_order(struct rig *rig, const struct wish *wishes, size_t count)
{
    struct pawl_job_id ids[32];
    assert_true(count <= COUNT(ids));
    for (size_t i = count; i-- > 0;)
        ids[i] = submit_by(rig, wishes[i].soft_ms, wishes[i].hard_ms, wishes[i].priority);
    struct claimed jobs = claim_n(rig, "default", (int64_t)count + 1);
    assert_int_equal(count, jobs.count);
    for (size_t i = 0; i < count; i++) {
        assert_id(ids[i], jobs.at[i].id);
        assert_ok(rig, complete(rig, ref_of(&jobs.at[i]), NULL));
    }
}

/* Around both deadlines, and at every step: the nearer or the longer past, the sooner. */
static void urgency_grows_with_time_around_each_deadline(struct rig *rig)
{
    static const struct wish wishes[] = {
        { NONE, -10 * DAY, 0 },
        { NONE, -SECOND, 0 },
        { NONE, 0, 0 },
        { NONE, SECOND, 0 },
        { NONE, 15 * 60 * SECOND, 0 },
        { -SECOND, NONE, 0 },
        { 0, NONE, 0 },
        { SECOND, NONE, 0 },
        { 15 * 60 * SECOND, NONE, 0 },
        { 15 * 60 * SECOND + SECOND, NONE, 0 },
        { 23 * HOUR, NONE, 0 },
    };
    assert_order(rig, wishes, COUNT(wishes));
}

static void later_hard_soft_upcoming_none(struct rig *rig)
{
    static const struct wish wishes[] = {
        { NONE, -HOUR, 0 },     // past its hard deadline
        { -23 * HOUR, DAY, 0 }, // past its soft one
        { HOUR, NONE, 0 },      // it is near
        { NONE, NONE, 0 },      // there is none
    };
    assert_order(rig, wishes, COUNT(wishes));
}

/* A soft deadline that was missed by a day counts as much as a hard one that is now: so nothing is
 * put off for ever. */
static void a_soft_deadline_long_past_is_like_a_hard_one(struct rig *rig)
{
    static const struct wish wishes[] = {
        { -25 * HOUR, NONE, 0 },
        { NONE, 0, 0 },
        { -23 * HOUR, NONE, 0 },
    };
    assert_order(rig, wishes, COUNT(wishes));
}

static void the_more_overdue_comes_first(struct rig *rig)
{
    static const struct wish wishes[] = {
        { NONE, -3 * HOUR, 0 },
        { NONE, -2 * HOUR, 0 },
        { NONE, -2 * HOUR + 1, 0 },
    };
    assert_order(rig, wishes, COUNT(wishes));
    struct pawl_job_id first = submit_by(rig, NONE, -HOUR, 0),
                       second = submit_by(rig, NONE, -HOUR, 0);
    struct claimed jobs = claim_n(rig, "default", 2);
    assert_id(first, jobs.at[0].id); // else in the order in which they came
    assert_id(second, jobs.at[1].id);
}

static void a_waiting_job_overtakes_as_its_deadline_nears(struct rig *rig)
{
    struct pawl_job_id late = submit_by(rig, 30 * HOUR, NONE, -100);
    rig_advance(rig, 5 * HOUR);
    struct pawl_job_id before = submit_by(rig, NONE, NONE, 0);
    rig_advance(rig, 2 * HOUR);
    struct pawl_job_id after = submit_by(rig, NONE, NONE, 0);
    struct claimed jobs = claim_n(rig, "default", 3);
    assert_id(before, jobs.at[0].id);
    assert_id(late, jobs.at[1].id);
    assert_id(after, jobs.at[2].id);
}

static void order_survives_a_restart(struct rig *rig)
{
    struct pawl_job_id none = submit_by(rig, NONE, NONE, 0);
    struct pawl_job_id soft = submit_by(rig, HOUR, NONE, 0);
    struct pawl_job_id hard = submit_by(rig, NONE, HOUR, 0);
    rig_reopen(rig);
    struct claimed jobs = claim_n(rig, "default", 3);
    assert_id(hard, jobs.at[0].id);
    assert_id(soft, jobs.at[1].id);
    assert_id(none, jobs.at[2].id);
}

static void priority_survives_and_breaks_ties(struct rig *rig)
{
    static const struct wish wishes[] = {
        { NONE, HOUR, 7 },  { NONE, HOUR, 0 },   { NONE, HOUR, -7 }, { -HOUR, NONE, 9 },
        { -HOUR, NONE, 1 }, { HOUR, NONE, 100 }, { HOUR, NONE, 99 },
    };
    assert_order(rig, wishes, COUNT(wishes));
    struct pawl_job_id id = submit_by(rig, -HOUR, NONE, 42);
    rig_advance(rig, 1);
    deadlines(rig);
    assert_misses(rig, id, "s");
    assert_int_equal(42, job_get(rig, id).priority);
}

static void a_hard_deadline_alone_is_urgent_as_it_nears(struct rig *rig)
{
    static const struct wish wishes[] = {
        { NONE, HOUR, 0 },
        { NONE, 2 * HOUR, 0 },
        { NONE, 47 * HOUR, 0 },
        { NONE, NONE, 0 },
    };
    assert_order(rig, wishes, COUNT(wishes));
    static const struct wish far[] = { { NONE, NONE, 1 }, { NONE, 50 * HOUR, 0 } };
    assert_order(rig, far, COUNT(far));
}

/* ---- misses ---- */

static void each_deadline_is_missed_once(struct rig *rig)
{
    struct pawl_job_id id = submit_by(rig, 10, 20, 0);
    struct swept swept = deadlines(rig);
    assert_i64(0, swept.moved);
    assert_i64(rig_now(rig) + 11, swept.next_at_ms);
    rig_advance(rig, 10); // what ends now is in time
    assert_i64(0, deadlines(rig).moved);
    rig_advance(rig, 1);
    swept = deadlines(rig);
    assert_i64(1, swept.moved);
    assert_i64(rig_now(rig) + 10, swept.next_at_ms);
    assert_misses(rig, id, "s");
    assert_i64(0, deadlines(rig).moved);
    rig_advance(rig, 10);
    swept = deadlines(rig);
    assert_i64(1, swept.moved);
    assert_i64(0, swept.next_at_ms);
    rig_advance(rig, DAY);
    assert_i64(0, deadlines(rig).moved);
    assert_misses(rig, id, "sh");
    assert_state(AVAILABLE, state_of(rig, id)); // nothing else follows from it
}

static void deadlines_that_passed_together_are_both_missed(struct rig *rig)
{
    struct pawl_job_id two = submit_by(rig, 10, 20, 0), same = submit_by(rig, 15, 15, 0),
                       soft = submit_by(rig, 12, NONE, 0), hard = submit_by(rig, NONE, 12, 0),
                       past = submit_by(rig, -DAY, -HOUR, 0);
    rig_advance(rig, HOUR);
    assert_i64(8, deadlines(rig).moved);
    assert_misses(rig, two, "sh");
    assert_misses(rig, same, "sh");
    assert_misses(rig, soft, "s");
    assert_misses(rig, hard, "h");
    assert_misses(rig, past, "sh");
}

static void a_job_that_ends_in_time_misses_nothing(struct rig *rig)
{
    struct pawl_job_id done = submit_by(rig, 10, 20, 0);
    struct pawl_job run = claim_one(rig, "default");
    assert_ok(rig, complete(rig, ref_of(&run), NULL));
    struct pawl_job_id cancelled = submit_by(rig, 10, 20, 0);
    assert_ok(rig, control(rig, cancelled, PAWL_CONTROL_CANCEL));
    rig_advance(rig, 15);
    struct pawl_job_id late = submit_by(rig, -5, 5, 0);
    run = claim_one(rig, "default");
    assert_ok(rig, complete(rig, ref_of(&run), NULL)); // between the two
    rig_advance(rig, HOUR);
    struct swept swept = deadlines(rig);
    assert_i64(1, swept.moved);
    assert_i64(0, swept.next_at_ms);
    assert_misses(rig, done, "");
    assert_misses(rig, cancelled, "");
    assert_misses(rig, late, "s");
}

static void jobs_miss_deadlines_in_every_live_state(struct rig *rig)
{
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++) {
        struct pawl_job_spec spec = { .queue = "q", .sla_soft_at_ms = rig_now(rig) + DAY };
        struct pawl_job_id id = job_in(rig, state, &spec);
        rig_advance(rig, 2 * DAY);
        int64_t missed = pawl_state_is_terminal(state) ? 0 : 1;
        assert_i64(missed, deadlines(rig).moved);
        assert_misses(rig, id, missed ? "s" : "");
    }
}

static void a_job_that_is_archived_or_gone_still_counts_or_not(struct rig *rig)
{
    struct pawl_job_id kept = submit_by(rig, 10, 40, 0);
    rig_advance(rig, 20);
    assert_ok(rig, control(rig, kept, PAWL_CONTROL_CANCEL));
    rig_advance(rig, 20);
    assert_i64(1, archive_all(rig));
    assert_i64(1, deadlines(rig).moved);
    assert_misses(rig, kept, "s");
    struct pawl_job_id gone = submit_by(rig, 10, 20, 0);
    assert_ok(rig, control(rig, gone, PAWL_CONTROL_CANCEL));
    assert_ok(rig, delete_job(rig, gone));
    struct swept swept = deadlines(rig);
    assert_i64(rig_now(rig) + 1, swept.next_at_ms); // of the archived one alone
    struct pawl_job_spec again = { .id = &gone, .sla_hard_at_ms = rig_now(rig) + 5 };
    assert_id(gone, submit_one(rig, &again));
    rig_advance(rig, 100);
    assert_i64(1, deadlines(rig).moved);
    assert_misses(rig, gone, "h");
}

static void a_revived_job_misses_what_lies_ahead(struct rig *rig)
{
    struct pawl_job_id id = submit_by(rig, 10, 1000, 0);
    assert_ok(rig, control(rig, id, PAWL_CONTROL_CANCEL));
    rig_advance(rig, 100);
    assert_i64(0, deadlines(rig).moved);
    assert_ok(rig, control(rig, id, PAWL_CONTROL_RETRY));
    assert_i64(0, deadlines(rig).moved);
    rig_advance(rig, 1000);
    assert_i64(1, deadlines(rig).moved);
    assert_misses(rig, id, "h");
}

static void misses_are_reported_once_across_restarts(struct rig *rig)
{
    struct pawl_job_id id = submit_by(rig, 10, 20, 0);
    rig_reopen(rig);
    rig_advance(rig, 15);
    assert_i64(1, deadlines(rig).moved);
    rig_reopen(rig);
    assert_i64(0, deadlines(rig).moved);
    rig_advance(rig, 15);
    assert_i64(1, deadlines(rig).moved);
    rig_reopen(rig);
    assert_i64(0, deadlines(rig).moved);
    assert_misses(rig, id, "sh");
}

static void sweeps_are_bounded(struct rig *rig)
{
    for (int i = 0; i < 5; i++)
        submit_by(rig, i, NONE, 0);
    rig_advance(rig, 10);
    struct swept swept = sweep(rig, PAWL__OP_DEADLINE, 3);
    assert_i64(3, swept.moved);
    assert_true(swept.more);
    swept = sweep(rig, PAWL__OP_DEADLINE, 3);
    assert_i64(2, swept.moved);
    assert_false(swept.more);
}

static void plain_jobs_have_no_deadline(struct rig *rig)
{
    submit_n(rig, 10, NULL);
    rig_advance(rig, 100 * DAY);
    struct swept swept = deadlines(rig);
    assert_i64(0, swept.moved);
    assert_i64(0, swept.next_at_ms);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(urgency_grows_with_time_around_each_deadline),
        CONTRACT(later_hard_soft_upcoming_none),
        CONTRACT(a_soft_deadline_long_past_is_like_a_hard_one),
        CONTRACT(the_more_overdue_comes_first),
        CONTRACT(a_waiting_job_overtakes_as_its_deadline_nears),
        CONTRACT_SHARED(order_survives_a_restart),
        CONTRACT(priority_survives_and_breaks_ties),
        CONTRACT(a_hard_deadline_alone_is_urgent_as_it_nears),
        CONTRACT(each_deadline_is_missed_once),
        CONTRACT(deadlines_that_passed_together_are_both_missed),
        CONTRACT(a_job_that_ends_in_time_misses_nothing),
        CONTRACT(jobs_miss_deadlines_in_every_live_state),
        CONTRACT(a_job_that_is_archived_or_gone_still_counts_or_not),
        CONTRACT(a_revived_job_misses_what_lies_ahead),
        CONTRACT_SHARED(misses_are_reported_once_across_restarts),
        CONTRACT(sweeps_are_bounded),
        CONTRACT(plain_jobs_have_no_deadline),
    };
    return contract_run("deadline", tests, COUNT(tests));
}
