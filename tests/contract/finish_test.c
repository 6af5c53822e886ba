/* Finishing: completion, and the fence against former owners. */
#include "support/ops.h"

static void success_stores_result_and_times(struct rig *rig)
{
    submit_one(rig, NULL);
    rig_advance(rig, 5);
    struct pawl_job run = claim_one(rig, "default");
    rig_advance(rig, 7);
    assert_ok(rig, complete(rig, ref_of(&run), "{\"sum\": 4.20}"));
    struct pawl_job job = job_get(rig, run.id);
    assert_state(COMPLETED, job.state);
    assert_span(span_of("{\"sum\": 4.20}"), job.result);
    assert_i64(rig_now(rig), job.finished_at_ms);
    assert_i64(rig_now(rig) - 7, job.started_at_ms);
    assert_i64(0, job.lease_until_ms);
    assert_i64(1, job.attempt);
    assert_i64(1, job.run);
    assert_text(WORKER, job.worker);
}

static void success_without_a_result_stores_none(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job run = claim_one(rig, "default");
    assert_ok(rig, complete(rig, ref_of(&run), NULL));
    assert_i64(0, (int64_t)job_get(rig, run.id).result.len);
}

static void large_multibyte_result_comes_back_whole(struct rig *rig)
{
    static const size_t sizes[] = { 256 * 1024, PAWL__RESULT_BYTES_MAX };
    for (size_t i = 0; i < COUNT(sizes); i++) {
        submit_one(rig, NULL);
        struct pawl_job run = claim_one(rig, "default");
        struct pawl_span big = rig_multibyte(rig, sizes[i], true);
        assert_ok(rig, complete(rig, ref_of(&run), big.at));
        assert_span(big, job_get(rig, run.id).result);
    }
}

static void completed_job_is_gone_from_the_queue(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job run = claim_one(rig, "default");
    assert_ok(rig, complete(rig, ref_of(&run), NULL));
    rig_advance(rig, 100 * LEASE_MS);
    assert_i64(0, lapse(rig).moved + promote(rig).moved + expire(rig).moved);
    assert_int_equal(0, claim_n(rig, "default", 10).count);
    assert_int_equal(0, route_n(rig, "default", 10).count);
    assert_state(COMPLETED, state_of(rig, run.id));
}

static void unknown_job_is_not_found(struct rig *rig)
{
    struct pawl_run ref = { .id = rig_id(rig), .run = 1 };
    assert_err(rig, PAWL_ERR_NOT_FOUND, complete(rig, ref, NULL));
    assert_err(rig, PAWL_ERR_NOT_FOUND, fail_run(rig, ref, (struct pawl_report){ 0 }, NULL));
    assert_err(rig, PAWL_ERR_NOT_FOUND, snooze(rig, ref, 10));
    assert_err(rig, PAWL_ERR_NOT_FOUND, extend(rig, ref, 10));
    assert_err(rig, PAWL_ERR_NOT_FOUND, progress(rig, ref, 0.5, NULL, NULL));
    assert_err(rig, PAWL_ERR_NOT_FOUND, checkpoint(rig, ref, span_of("{}"), NULL));
    assert_err(rig, PAWL_ERR_NOT_FOUND, log_line(rig, ref, 1, span_of("x")));
    assert_err(rig, PAWL_ERR_NOT_FOUND, assign(rig, ref.id, WORKER, 1, NULL));
}

/* Everything an owner may write is refused with STALE, and the job is as it was. */
static void assert_fenced(struct rig *rig, struct pawl_run ref)
{
    const char *before = job_text(rig, ref.id);
    struct pawl_report report = { .type = "late", .message = "late" };
    assert_err(rig, PAWL_ERR_STALE, complete(rig, ref, "{\"late\":true}"));
    assert_err(rig, PAWL_ERR_STALE, fail_run(rig, ref, report, NULL));
    report.requeue = true;
    assert_err(rig, PAWL_ERR_STALE, fail_run(rig, ref, report, NULL));
    assert_err(rig, PAWL_ERR_STALE, snooze(rig, ref, 0));
    assert_err(rig, PAWL_ERR_STALE, snooze(rig, ref, 1000));
    assert_err(rig, PAWL_ERR_STALE, extend(rig, ref, LEASE_MS));
    assert_err(rig, PAWL_ERR_STALE, progress(rig, ref, 0.9, "late", "{}"));
    assert_err(rig, PAWL_ERR_STALE, checkpoint(rig, ref, span_of("{\"late\":1}"), NULL));
    assert_err(rig, PAWL_ERR_STALE, checkpoint(rig, ref, (struct pawl_span){ 0 }, NULL));
    static const enum pawl_control own[] = { PAWL_CONTROL_CANCEL, PAWL_CONTROL_DISCARD,
                                             PAWL_CONTROL_SKIP };
    for (size_t i = 0; i < COUNT(own); i++)
        assert_err(rig, PAWL_ERR_STALE,
                   control_by(rig, ref.id, own[i], ref.run, (struct pawl_by){ 0 }, NULL));
    assert_text(before, job_text(rig, ref.id));
}

static void second_completion_is_stale(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job run = claim_one(rig, "default");
    assert_ok(rig, complete(rig, ref_of(&run), "1"));
    assert_fenced(rig, ref_of(&run));
    assert_span(span_of("1"), job_get(rig, run.id).result);
}

static void runs_that_never_were_are_stale(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job run = claim_one(rig, "default");
    static const int64_t runs[] = { 2, 3, INT64_MAX };
    for (size_t i = 0; i < COUNT(runs); i++)
        assert_fenced(rig, (struct pawl_run){ .id = run.id, .run = runs[i] });
    assert_ok(rig, complete(rig, ref_of(&run), NULL));
}

static void unfenced_completion_is_stale(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job run = claim_one(rig, "default");
    struct pawl_run none = { .id = run.id };
    assert_err(rig, PAWL_ERR_STALE, complete(rig, none, NULL));
    assert_err(rig, PAWL_ERR_STALE, fail_run(rig, none, (struct pawl_report){ 0 }, NULL));
    assert_err(rig, PAWL_ERR_STALE, snooze(rig, none, 5));
    assert_err(rig, PAWL_ERR_STALE, extend(rig, none, 5));
    assert_state(ACTIVE, state_of(rig, run.id));
}

static void job_that_never_ran_fences_its_first_run(struct rig *rig)
{
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++) {
        if (state == PAWL_STATE_ACTIVE) continue;
        struct pawl_job_id id = job_in(rig, state, NULL);
        assert_fenced(rig, (struct pawl_run){ .id = id, .run = 1 });
        assert_fenced(rig, (struct pawl_run){ .id = id, .run = 2 });
    }
}

static void late_owner_is_fenced_after_a_lapse(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job old = claim_one(rig, "default");
    rig_advance(rig, LEASE_MS + 1);
    assert_i64(1, lapse(rig).moved);
    assert_fenced(rig, ref_of(&old)); // nobody has it
    struct pawl_job next = claim_one(rig, "default");
    assert_i64(2, next.run);
    assert_fenced(rig, ref_of(&old)); // another has it
    assert_ok(rig, complete(rig, ref_of(&next), "\"second\""));
    assert_fenced(rig, ref_of(&old)); // another is done with it
    assert_span(span_of("\"second\""), job_get(rig, old.id).result);
}

static void late_owner_is_fenced_after_revival(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job old = claim_one(rig, "default");
    assert_ok(rig, control(rig, old.id, PAWL_CONTROL_CANCEL));
    assert_fenced(rig, ref_of(&old));
    assert_ok(rig, control(rig, old.id, PAWL_CONTROL_RETRY));
    assert_fenced(rig, ref_of(&old));
    struct pawl_job next = claim_one(rig, "default");
    assert_i64(1, next.attempt); // a new series
    assert_i64(2, next.run);     // but never an old run
    assert_fenced(rig, ref_of(&old));
    assert_ok(rig, complete(rig, ref_of(&next), NULL));
}

static void runs_never_repeat_however_a_job_comes_round(struct rig *rig)
{
    struct pawl_job_id id = submit_one(
        rig, &(struct pawl_job_spec){ .retry = { .attempts_max = 100, .initial_ms = 1 } });
    int64_t run = 0;
    for (int turn = 0; turn < 12; turn++) {
        struct pawl_job job = claim_one(rig, "default");
        assert_i64(++run, job.run);
        struct pawl_run ref = ref_of(&job);
        switch (turn % 4) {
        case 0:
            assert_ok(rig, snooze(rig, ref, 0));
            break;
        case 1:
            fail_plain(rig, ref);
            break;
        case 2:
            assert_ok(rig, control(rig, id, PAWL_CONTROL_DISCARD));
            assert_ok(rig, control(rig, id, PAWL_CONTROL_RETRY));
            break;
        default:
            assert_ok(rig, snooze(rig, ref, 1));
        }
        assert_fenced(rig, ref);
        rig_advance(rig, 300000);
        promote(rig);
    }
}

static void owner_is_fenced_after_every_ending(struct rig *rig)
{
    static const enum pawl_control ends[] = { PAWL_CONTROL_CANCEL, PAWL_CONTROL_DISCARD,
                                              PAWL_CONTROL_SKIP };
    for (size_t i = 0; i < COUNT(ends); i++) {
        const char *queue = rig_queue(rig);
        submit_one(rig, &(struct pawl_job_spec){ .queue = queue });
        struct pawl_job run = claim_one(rig, queue);
        assert_ok(rig, control(rig, run.id, ends[i]));
        assert_fenced(rig, ref_of(&run));
    }
}

static void owner_may_end_its_own_run(struct rig *rig)
{
    static const struct {
        enum pawl_control control;
        enum pawl_state to;
    } cases[] = { { PAWL_CONTROL_CANCEL, PAWL_STATE_CANCELLED },
                  { PAWL_CONTROL_DISCARD, PAWL_STATE_DISCARDED },
                  { PAWL_CONTROL_SKIP, PAWL_STATE_SKIPPED } };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *queue = rig_queue(rig);
        submit_one(rig, &(struct pawl_job_spec){ .queue = queue });
        struct pawl_job run = claim_one(rig, queue);
        struct controlled out = { 0 };
        assert_ok(rig, control_by(rig, run.id, cases[i].control, run.run,
                                  (struct pawl_by){ .reason = "by its worker" }, &out));
        assert_state(ACTIVE, out.from);
        assert_int_equal(cases[i].to, out.to);
        struct pawl_job job = job_get(rig, run.id);
        assert_int_equal(cases[i].to, job.state);
        assert_i64(rig_now(rig), job.finished_at_ms);
    }
}

static void stale_write_is_refused_then_the_valid_one_works(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job run = claim_one(rig, "default");
    assert_ok(rig, snooze(rig, ref_of(&run), 0));
    struct pawl_job next = claim_one(rig, "default");
    assert_fenced(rig, ref_of(&run));
    assert_ok(rig, complete(rig, ref_of(&next), "true"));
}

static void finished_job_outlives_a_restart(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job run = claim_one(rig, "default");
    assert_ok(rig, complete(rig, ref_of(&run), "[1]"));
    const char *before = job_text(rig, run.id);
    rig_reopen(rig);
    assert_text(before, job_text(rig, run.id));
    assert_fenced(rig, ref_of(&run));
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(success_stores_result_and_times),
        CONTRACT(success_without_a_result_stores_none),
        CONTRACT(large_multibyte_result_comes_back_whole),
        CONTRACT(completed_job_is_gone_from_the_queue),
        CONTRACT(unknown_job_is_not_found),
        CONTRACT(second_completion_is_stale),
        CONTRACT(runs_that_never_were_are_stale),
        CONTRACT(unfenced_completion_is_stale),
        CONTRACT(job_that_never_ran_fences_its_first_run),
        CONTRACT(late_owner_is_fenced_after_a_lapse),
        CONTRACT(late_owner_is_fenced_after_revival),
        CONTRACT(runs_never_repeat_however_a_job_comes_round),
        CONTRACT(owner_is_fenced_after_every_ending),
        CONTRACT(owner_may_end_its_own_run),
        CONTRACT(stale_write_is_refused_then_the_valid_one_works),
        CONTRACT_SHARED(finished_job_outlives_a_restart),
    };
    return contract_run("finish", tests, COUNT(tests));
}
