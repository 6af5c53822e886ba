/* Routing, a lease in two steps: a router reserves jobs for a worker, which then takes them. */
#include "support/ops.h"

static struct pawl_job route_one(struct rig *rig, const char *queue)
{
    struct claimed jobs = route_n(rig, queue, 2);
    assert_int_equal(1, jobs.count);
    return jobs.at[0];
}

static void routed_job_is_held_for_its_worker(struct rig *rig)
{
    struct pawl_job_id id = submit_one(rig, NULL);
    struct pawl_job routed = route_one(rig, "default");
    assert_id(id, routed.id);
    assert_state(PENDING, routed.state);
    assert_text(WORKER, routed.worker);
    assert_i64(rig_now(rig) + LEASE_MS, routed.lease_until_ms);
    assert_i64(0, routed.attempt);
    assert_i64(0, routed.run);
    struct pawl_job job = job_get(rig, id);
    assert_state(PENDING, job.state);
    assert_text(WORKER, job.worker);
    assert_i64(routed.lease_until_ms, job.lease_until_ms);
    assert_int_equal(0, claim_n(rig, "default", 10).count);
    assert_int_equal(0, route_n(rig, "default", 10).count);
}

static void assigned_job_runs_under_a_new_lease(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job routed = route_one(rig, "default");
    rig_advance(rig, 100);
    struct pawl_job job = { 0 };
    assert_ok(rig, assign(rig, routed.id, WORKER, routed.lease_until_ms, &job));
    assert_id(routed.id, job.id);
    assert_state(ACTIVE, job.state);
    assert_text(WORKER, job.worker);
    assert_i64(1, job.attempt);
    assert_i64(1, job.run);
    assert_i64(rig_now(rig), job.started_at_ms);
    assert_i64(rig_now(rig) + LEASE_MS, job.lease_until_ms);
    assert_span(span_of("[]"), job.args);
    assert_ok(rig, complete(rig, ref_of(&job), NULL));
}

static void lease_of_the_job_holds_for_its_run(struct rig *rig)
{
    submit_one(rig, &(struct pawl_job_spec){ .lease_ms = 7000 });
    struct pawl_job routed = route_one(rig, "default");
    struct pawl_job job = { 0 };
    assert_ok(rig, assign(rig, routed.id, WORKER, routed.lease_until_ms, &job));
    assert_i64(rig_now(rig) + 7000, job.lease_until_ms);
}

/* Neither assigned nor given back. */
static void assert_stale(struct rig *rig, struct pawl_job_id id, const char *worker, int64_t token)
{
    const char *before = job_text(rig, id);
    assert_err(rig, PAWL_ERR_STALE, assign(rig, id, worker, token, NULL));
    assert_err(rig, PAWL_ERR_STALE, unroute(rig, id, worker, token));
    assert_text(before, job_text(rig, id));
}

static void strangers_and_wrong_tokens_are_refused(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job routed = route_one(rig, "default");
    assert_stale(rig, routed.id, "worker-2", routed.lease_until_ms);
    assert_stale(rig, routed.id, WORKER, routed.lease_until_ms + 1);
    assert_stale(rig, routed.id, WORKER, routed.lease_until_ms - 1);
    assert_stale(rig, routed.id, WORKER, 1);
    assert_stale(rig, routed.id, "worker", routed.lease_until_ms);
    assert_ok(rig, assign(rig, routed.id, WORKER, routed.lease_until_ms, NULL));
    assert_stale(rig, routed.id, WORKER, routed.lease_until_ms); // once only
}

static void only_routed_jobs_are_assigned(struct rig *rig)
{
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++) {
        struct pawl_job_id id = job_in(rig, state, NULL);
        assert_stale(rig, id, WORKER, 1);
        assert_stale(rig, id, WORKER, rig_now(rig) + LEASE_MS);
        assert_stale(rig, id, "worker", 1);
    }
}

static void unknown_jobs_are_not_found(struct rig *rig)
{
    struct pawl_job_id id = rig_id(rig);
    assert_err(rig, PAWL_ERR_NOT_FOUND, assign(rig, id, WORKER, 1, NULL));
    assert_err(rig, PAWL_ERR_NOT_FOUND, unroute(rig, id, WORKER, 1));
}

static void router_may_assign_to_another_worker(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job routed = route_one(rig, "default");
    struct pawl__op op = { .kind = PAWL__OP_ASSIGN,
                           .diag = &rig->diag,
                           .assign = { .id = routed.id,
                                       .worker = WORKER,
                                       .to = "worker-9",
                                       .token = routed.lease_until_ms,
                                       .lease_ms = LEASE_MS } };
    assert_ok(rig, pawl__store_do(rig->store, &op));
    assert_text("worker-9", op.assign.job->worker);
    assert_text("worker-9", job_get(rig, routed.id).worker);
    pawl__arena_release(&op.arena);
}

static void timed_assignment_ends_with_the_timeout(struct rig *rig)
{
    submit_one(rig, &(struct pawl_job_spec){ .timeout_ms = 700 });
    struct pawl_job routed = route_one(rig, "default");
    struct pawl__op op = { .kind = PAWL__OP_ASSIGN,
                           .diag = &rig->diag,
                           .assign = { .id = routed.id,
                                       .worker = WORKER,
                                       .token = routed.lease_until_ms,
                                       .lease_ms = LEASE_MS,
                                       .timed = true } };
    assert_ok(rig, pawl__store_do(rig->store, &op));
    assert_i64(rig_now(rig) + 700, op.assign.job->lease_until_ms);
    pawl__arena_release(&op.arena);
}

static void route_given_back_charges_nothing_and_keeps_its_age(struct rig *rig)
{
    struct pawl_job_id old = submit_one(rig, NULL);
    rig_advance(rig, 10);
    for (int i = 0; i < PAWL__CRASHES_MAX + 2; i++) {
        struct pawl_job routed = route_one(rig, "default");
        assert_ok(rig, unroute(rig, old, WORKER, routed.lease_until_ms));
        struct pawl_job job = job_get(rig, old);
        assert_state(AVAILABLE, job.state);
        assert_text("", job.worker);
        assert_text("", job.reason);
        assert_i64(0, job.lease_until_ms);
        assert_stale(rig, old, WORKER, routed.lease_until_ms);
        rig_advance(rig, 1);
    }
    submit_one(rig, NULL);
    struct pawl_job job = claim_n(rig, "default", 1).at[0];
    assert_id(old, job.id);
    assert_i64(1, job.attempt);
    assert_i64(1, job.run);
    assert_int_equal(0, story_of(rig, old).failure_count);
    rig_advance(rig, LEASE_MS - 1);
    assert_i64(0, lapse(rig).moved); // the reservation has left nothing behind
}

static void token_ends_with_its_time(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job routed = route_one(rig, "default");
    rig_advance(rig, LEASE_MS + 1);
    assert_stale(rig, routed.id, WORKER, routed.lease_until_ms); // though nobody swept yet
    assert_state(PENDING, state_of(rig, routed.id));
    assert_i64(1, lapse(rig).moved);
    assert_state(AVAILABLE, state_of(rig, routed.id));
    assert_stale(rig, routed.id, WORKER, routed.lease_until_ms);
}

static void lapsed_route_charges_nothing_and_keeps_its_age(struct rig *rig)
{
    struct pawl_job_id old = submit_one(rig, NULL);
    rig_advance(rig, 10);
    for (int i = 0; i < PAWL__CRASHES_MAX + 2; i++) {
        route_one(rig, "default");
        rig_advance(rig, LEASE_MS + 1);
        assert_i64(1, lapse(rig).moved);
    }
    submit_one(rig, NULL);
    struct pawl_job job = claim_n(rig, "default", 1).at[0];
    assert_id(old, job.id);
    assert_i64(1, job.attempt);
    assert_i64(1, job.run);
    assert_int_equal(0, story_of(rig, old).failure_count);
}

static void old_token_does_not_open_a_new_route(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job first = route_one(rig, "default");
    rig_advance(rig, LEASE_MS + 1);
    lapse(rig);
    struct pawl_job second = route_one(rig, "default");
    assert_true(second.lease_until_ms > first.lease_until_ms);
    assert_stale(rig, first.id, WORKER, first.lease_until_ms);
    assert_ok(rig, assign(rig, second.id, WORKER, second.lease_until_ms, NULL));
}

static void activated_route_is_open_to_all(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job routed = route_one(rig, "default");
    assert_ok(rig, control(rig, routed.id, PAWL_CONTROL_ACTIVATE));
    assert_stale(rig, routed.id, WORKER, routed.lease_until_ms);
    assert_i64(1, claim_one(rig, "default").run);
    rig_advance(rig, LEASE_MS - 1);
    assert_i64(0, lapse(rig).moved);
}

static void cancelled_route_is_not_assigned(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job routed = route_one(rig, "default");
    assert_ok(rig, control(rig, routed.id, PAWL_CONTROL_CANCEL));
    assert_stale(rig, routed.id, WORKER, routed.lease_until_ms);
    rig_advance(rig, LEASE_MS + 1);
    assert_i64(0, lapse(rig).moved);
}

/* Set aside twice: by a router, then by an operator. When the operator lets go it must find its
 * way back to a worker by itself. */
static void paused_route_is_not_stranded(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job routed = route_one(rig, "default");
    assert_ok(rig, control(rig, routed.id, PAWL_CONTROL_PAUSE));
    assert_stale(rig, routed.id, WORKER, routed.lease_until_ms);
    rig_advance(rig, LEASE_MS + 1);
    lapse(rig);
    assert_state(PAUSED, state_of(rig, routed.id));
    assert_ok(rig, control(rig, routed.id, PAWL_CONTROL_RESUME));
    rig_advance(rig, LEASE_MS + 1);
    lapse(rig);
    assert_id(routed.id, claim_one(rig, "default").id);
}

static void routing_keeps_order_limit_types_and_pauses(struct rig *rig)
{
    struct pawl_job_id low = submit_one(rig, &(struct pawl_job_spec){ .type = "a" });
    struct pawl_job_id high =
        submit_one(rig, &(struct pawl_job_spec){ .type = "a", .priority = 3 });
    submit_one(rig, &(struct pawl_job_spec){ .type = "b", .priority = 9 });
    submit_one(rig, &(struct pawl_job_spec){ .type = "a", .delay_ms = 1 });
    static const char *const queues[] = { "shut", "default" }, *const types[] = { "a" };
    submit_one(rig, &(struct pawl_job_spec){ .type = "a", .queue = "shut" });
    queue_pause(rig, "shut", true);
    struct pawl__op op = { .kind = PAWL__OP_ROUTE,
                           .claim = { .queues = queues,
                                      .queue_count = 2,
                                      .types = types,
                                      .type_count = 1,
                                      .limit = 10,
                                      .worker = "worker-7",
                                      .lease_ms = LEASE_MS } };
    struct claimed jobs = claim_op(rig, &op);
    assert_int_equal(2, jobs.count);
    assert_id(high, jobs.at[0].id);
    assert_id(low, jobs.at[1].id);
    assert_text("worker-7", job_get(rig, low).worker);
    assert_int_equal(1, route_n(rig, "default", 10).count);
}

static void expired_jobs_are_never_routed(struct rig *rig)
{
    submit_one(rig, &(struct pawl_job_spec){ .expires_in_ms = 10 });
    rig_advance(rig, 10);
    assert_int_equal(0, route_n(rig, "default", 10).count);
}

static void routed_job_that_expires_is_not_assigned(struct rig *rig)
{
    submit_one(rig, &(struct pawl_job_spec){ .expires_in_ms = 10 });
    struct pawl_job routed = route_one(rig, "default");
    rig_advance(rig, 10);
    assert_i64(1, expire(rig).moved);
    assert_state(EXPIRED, state_of(rig, routed.id));
    assert_stale(rig, routed.id, WORKER, routed.lease_until_ms);
}

static void route_outlives_a_restart(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job routed = route_one(rig, "default");
    rig_reopen(rig);
    assert_ok(rig, assign(rig, routed.id, WORKER, routed.lease_until_ms, NULL));
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(routed_job_is_held_for_its_worker),
        CONTRACT(assigned_job_runs_under_a_new_lease),
        CONTRACT(lease_of_the_job_holds_for_its_run),
        CONTRACT(strangers_and_wrong_tokens_are_refused),
        CONTRACT(only_routed_jobs_are_assigned),
        CONTRACT(unknown_jobs_are_not_found),
        CONTRACT(router_may_assign_to_another_worker),
        CONTRACT(timed_assignment_ends_with_the_timeout),
        CONTRACT(route_given_back_charges_nothing_and_keeps_its_age),
        CONTRACT(token_ends_with_its_time),
        CONTRACT(lapsed_route_charges_nothing_and_keeps_its_age),
        CONTRACT(old_token_does_not_open_a_new_route),
        CONTRACT(activated_route_is_open_to_all),
        CONTRACT(cancelled_route_is_not_assigned),
        CONTRACT(paused_route_is_not_stranded),
        CONTRACT(routing_keeps_order_limit_types_and_pauses),
        CONTRACT(expired_jobs_are_never_routed),
        CONTRACT(routed_job_that_expires_is_not_assigned),
        CONTRACT_SHARED(route_outlives_a_restart),
    };
    return contract_run("route", tests, COUNT(tests));
}
