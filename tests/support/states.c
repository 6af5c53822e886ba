/* Jobs in each state, brought there by ordinary operations. */
#include "support/ops.h"

static const int64_t hour_ms = 3600 * 1000;

static struct pawl_job_id claimed_job(struct rig *rig, const struct pawl_job_spec *spec,
                                      struct pawl_run *ref)
{
    struct pawl_job_id id = submit_one(rig, spec);
    struct claimed jobs = claim_n(rig, spec->queue, PAWL__MAINTENANCE_MAX);
    for (size_t i = 0; i < jobs.count; i++)
        if (same_id(jobs.at[i].id, id)) *ref = ref_of(&jobs.at[i]);
    assert_i64(1, ref->run);
    return id;
}

static struct pawl_job_id controlled_job(struct rig *rig, const struct pawl_job_spec *spec,
                                         enum pawl_control what)
{
    struct pawl_job_id id = submit_one(rig, spec);
    assert_ok(rig, control(rig, id, what));
    return id;
}

static struct pawl_job_id make_retryable(struct rig *rig, struct pawl_job_spec *spec)
{
    if (spec->retry.initial_ms == 0) spec->retry.initial_ms = hour_ms;
    if (spec->retry.cap_ms == 0) spec->retry.cap_ms = 24 * hour_ms;
    struct pawl_run ref = { 0 };
    struct pawl_job_id id = claimed_job(rig, spec, &ref);
    fail_plain(rig, ref);
    return id;
}

static struct pawl_job_id make_discarded(struct rig *rig, const struct pawl_job_spec *spec)
{
    struct pawl_run ref = { 0 };
    struct pawl_job_id id = claimed_job(rig, spec, &ref);
    struct pawl_report report = { .type = "fatal", .message = "hopeless", .not_retryable = true };
    assert_ok(rig, fail_run(rig, ref, report, NULL));
    return id;
}

static struct pawl_job_id make_expired(struct rig *rig, struct pawl_job_spec *spec)
{
    spec->expires_in_ms = 10;
    struct pawl_job_id id = submit_one(rig, spec);
    rig_advance(rig, 10);
    expire(rig);
    return id;
}

static struct pawl_job_id make(struct rig *rig, enum pawl_state state, struct pawl_job_spec *spec)
{
    struct pawl_run ref = { 0 };
    struct pawl_job_id id;
    switch (state) {
    case PAWL_STATE_SCHEDULED:
        spec->delay_ms = hour_ms;
        return submit_one(rig, spec);
    case PAWL_STATE_PENDING:
        spec->pending = true;
        return submit_one(rig, spec);
    case PAWL_STATE_ACTIVE:
        return claimed_job(rig, spec, &ref);
    case PAWL_STATE_RETRYABLE:
        return make_retryable(rig, spec);
    case PAWL_STATE_PAUSED:
        return controlled_job(rig, spec, PAWL_CONTROL_PAUSE);
    case PAWL_STATE_COMPLETED:
        id = claimed_job(rig, spec, &ref);
        assert_ok(rig, complete(rig, ref, "{\"answer\":42}"));
        return id;
    case PAWL_STATE_SKIPPED:
        return controlled_job(rig, spec, PAWL_CONTROL_SKIP);
    case PAWL_STATE_CANCELLED:
        return controlled_job(rig, spec, PAWL_CONTROL_CANCEL);
    case PAWL_STATE_DISCARDED:
        return make_discarded(rig, spec);
    case PAWL_STATE_EXPIRED:
        return make_expired(rig, spec);
    default:
        return submit_one(rig, spec);
    }
}

struct pawl_job_id job_in(struct rig *rig, enum pawl_state state, const struct pawl_job_spec *given)
{
    struct pawl_job_spec spec = given != NULL ? *given : (struct pawl_job_spec){ 0 };
    if (spec.queue == NULL) spec.queue = rig_queue(rig);
    struct pawl_job_id id = make(rig, state, &spec);
    expect_state_at(state, state_of(rig, id), "job_in", __FILE__, __LINE__);
    return id;
}

struct pawl_job_id job_paused_from(struct rig *rig, enum pawl_state from)
{
    struct pawl_job_id id = job_in(rig, from, NULL);
    assert_ok(rig, control(rig, id, PAWL_CONTROL_PAUSE));
    struct pawl_job job = job_get(rig, id);
    assert_state(PAUSED, job.state);
    assert_int_equal(from, job.paused_from);
    return id;
}
