/* Claims: which jobs they return, in what order, and how they change them. */
#include "base/rng.h"
#include "support/ops.h"

#include <stdlib.h>
#include <string.h>

static struct claimed claim_from(struct rig *rig, const char *const *queues, size_t queue_count,
                                 const char *const *types, size_t type_count, int64_t limit)
{
    struct pawl__op op = { .kind = PAWL__OP_CLAIM,
                           .claim = { .queues = queues,
                                      .queue_count = queue_count,
                                      .types = types,
                                      .type_count = type_count,
                                      .limit = limit,
                                      .worker = WORKER,
                                      .lease_ms = LEASE_MS } };
    return claim_op(rig, &op);
}

static void assert_order(const struct claimed *jobs, const struct pawl_job_id *ids, size_t count)
{
    assert_int_equal(count, jobs->count);
    for (size_t i = 0; i < count; i++)
        assert_id(ids[i], jobs->at[i].id);
}

static void claim_stamps_worker_time_lease_and_counts(struct rig *rig)
{
    struct pawl_job_id id = submit_one(rig, NULL);
    rig_advance(rig, 1234);
    struct pawl_job job = claim_one(rig, "default");
    assert_id(id, job.id);
    assert_state(ACTIVE, job.state);
    assert_text(WORKER, job.worker);
    assert_i64(rig_now(rig), job.started_at_ms);
    assert_i64(rig_now(rig) + LEASE_MS, job.lease_until_ms);
    assert_i64(1, job.attempt);
    assert_i64(1, job.run);
    assert_i64(0, job.finished_at_ms);
    struct pawl_job stored = job_get(rig, id);
    assert_state(ACTIVE, stored.state);
    assert_text(WORKER, stored.worker);
    assert_i64(job.started_at_ms, stored.started_at_ms);
    assert_i64(job.lease_until_ms, stored.lease_until_ms);
    assert_i64(1, stored.attempt);
    assert_i64(1, stored.run);
}

static void claim_carries_all_that_a_worker_needs(struct rig *rig)
{
    const char *const tags[] = { "red", "blue" };
    struct pawl_job_spec spec = { .type = "mail.send",
                                  .args = span_of("[1, \"two\", {\"three\": 3.0}]"),
                                  .meta = span_of("{\"tenant\": \"acme\"}"),
                                  .extra = span_of("{\"x\": 1}"),
                                  .tags = tags,
                                  .tag_count = 2,
                                  .priority = -7,
                                  .timeout_ms = 5000,
                                  .principal = "ada",
                                  .trace_id = "00-abc-def-01",
                                  .idempotency_key = "once",
                                  .business_key = "order-1",
                                  .retry = { .attempts_max = 9 } };
    submit_one(rig, &spec);
    struct pawl_job job = claim_one(rig, "default");
    assert_text("mail.send", job.type);
    assert_text("default", job.queue);
    assert_span(spec.args, job.args);
    assert_span(spec.meta, job.meta);
    assert_span(spec.extra, job.extra);
    assert_span(span_of("[\"red\",\"blue\"]"), job.tags);
    assert_int_equal(-7, job.priority);
    assert_int_equal(9, job.attempts_max);
    assert_i64(5000, job.timeout_ms);
    assert_text("ada", job.principal);
    assert_text("00-abc-def-01", job.trace_id);
    assert_text("once", job.idempotency_key);
    assert_text("order-1", job.business_key);
}

static void respects_limit(struct rig *rig)
{
    struct pawl_job_id *ids = submit_n(rig, 5, NULL);
    struct claimed first = claim_n(rig, "default", 2);
    assert_order(&first, ids, 2);
    assert_i64(3, count_state(rig, PAWL_STATE_AVAILABLE));
    struct claimed rest = claim_n(rig, "default", 100);
    assert_order(&rest, ids + 2, 3);
}

static void limit_zero_claims_nothing(struct rig *rig)
{
    submit_one(rig, NULL);
    assert_int_equal(0, claim_n(rig, "default", 0).count);
    assert_i64(1, count_state(rig, PAWL_STATE_AVAILABLE));
}

static void second_claim_gets_nothing(struct rig *rig)
{
    submit_one(rig, NULL);
    claim_one(rig, "default");
    assert_int_equal(0, claim_n(rig, "default", 10).count);
}

static void empty_and_unknown_queues_give_nothing(struct rig *rig)
{
    assert_int_equal(0, claim_n(rig, "default", 10).count);
    submit_one(rig, NULL);
    assert_int_equal(0, claim_n(rig, "other", 10).count);
    assert_int_equal(0, claim_n(rig, "defaul", 10).count);
    assert_int_equal(0, claim_n(rig, "DEFAULT", 10).count);
    assert_int_equal(0, claim_from(rig, NULL, 0, NULL, 0, 10).count);
}

static void never_claims_a_job_that_is_not_due(struct rig *rig)
{
    submit_one(rig, &(struct pawl_job_spec){ .delay_ms = 1 });
    assert_int_equal(0, claim_n(rig, "default", 10).count);
    promote(rig);
    assert_int_equal(0, claim_n(rig, "default", 10).count);
    rig_advance(rig, 1);
    assert_i64(1, promote(rig).moved);
    assert_int_equal(1, claim_n(rig, "default", 10).count);
}

static void claims_only_what_is_available(struct rig *rig)
{
    const struct pawl_job_spec spec = { .queue = "mixed" };
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++)
        if (state != PAWL_STATE_AVAILABLE) job_in(rig, state, &spec);
    assert_int_equal(0, claim_n(rig, "mixed", 100).count);
    struct pawl_job_id id = submit_one(rig, &spec);
    assert_id(id, claim_one(rig, "mixed").id);
}

static void returns_best_rank_first_though_all_fit(struct rig *rig)
{
    static const int32_t priorities[] = { 0, 3, -2, 3, 100, -100, 1 };
    static const size_t order[] = { 4, 1, 3, 6, 0, 2, 5 };
    struct pawl_job_id ids[COUNT(priorities)], expected[COUNT(priorities)];
    for (size_t i = 0; i < COUNT(priorities); i++)
        ids[i] = submit_one(rig, &(struct pawl_job_spec){ .priority = priorities[i] });
    for (size_t i = 0; i < COUNT(order); i++)
        expected[i] = ids[order[i]];
    struct claimed jobs = claim_n(rig, "default", 100);
    assert_order(&jobs, expected, COUNT(expected));
}

static void identical_jobs_keep_submission_order(struct rig *rig)
{
    struct pawl_job_id *ids = submit_n(rig, 50, NULL);
    struct claimed jobs = claim_n(rig, "default", 50);
    assert_order(&jobs, ids, 50);
}

static void order_outlives_a_restart(struct rig *rig)
{
    struct pawl_job_id *ids = submit_n(rig, 20, NULL);
    struct pawl_job_id best = submit_one(rig, &(struct pawl_job_spec){ .priority = 1 });
    rig_reopen(rig);
    assert_id(best, claim_n(rig, "default", 1).at[0].id);
    struct claimed jobs = claim_n(rig, "default", 50);
    assert_order(&jobs, ids, 20);
}

/* One step of priority is worth PAWL__RANK_BOOST_MS of waiting: a low job that waited longer than
 * that goes first, one that waited less does not. */
static void waiting_makes_up_for_priority(struct rig *rig)
{
    struct pawl_job_id old = submit_one(rig, &(struct pawl_job_spec){ .queue = "aged" });
    struct pawl_job_id older = submit_one(rig, &(struct pawl_job_spec){ .queue = "young" });
    rig_advance(rig, PAWL__RANK_BOOST_MS - 1);
    struct pawl_job_id soon =
        submit_one(rig, &(struct pawl_job_spec){ .queue = "young", .priority = 1 });
    rig_advance(rig, 2);
    struct pawl_job_id late =
        submit_one(rig, &(struct pawl_job_spec){ .queue = "aged", .priority = 1 });
    struct claimed aged = claim_n(rig, "aged", 10);
    assert_order(&aged, (struct pawl_job_id[]){ old, late }, 2);
    struct claimed young = claim_n(rig, "young", 10);
    assert_order(&young, (struct pawl_job_id[]){ soon, older }, 2);
}

static void lowest_beats_highest_after_waiting_long_enough(struct rig *rig)
{
    struct pawl_job_id old = submit_one(rig, &(struct pawl_job_spec){ .priority = -100 });
    rig_advance(rig, 200 * PAWL__RANK_BOOST_MS + 1);
    struct pawl_job_id fresh = submit_one(rig, &(struct pawl_job_spec){ .priority = 100 });
    struct claimed jobs = claim_n(rig, "default", 10);
    assert_order(&jobs, (struct pawl_job_id[]){ old, fresh }, 2);
}

static void waiting_counts_from_when_a_job_was_due(struct rig *rig)
{
    struct pawl_job_id later = submit_one(rig, &(struct pawl_job_spec){ .delay_ms = 1000 });
    rig_advance(rig, 500);
    struct pawl_job_id now = submit_one(rig, NULL);
    rig_advance(rig, 5000);
    promote(rig);
    struct claimed jobs = claim_n(rig, "default", 10);
    assert_order(&jobs, (struct pawl_job_id[]){ now, later }, 2);
}

static void nearing_deadlines_bring_jobs_forward(struct rig *rig)
{
    int64_t now = rig_now(rig), day = PAWL__RANK_SLA_LEAD_MS;
    submit_one(rig, &(struct pawl_job_spec){ .type = "plain" });
    submit_one(rig, &(struct pawl_job_spec){ .type = "far", .sla_soft_at_ms = now + 3 * day });
    submit_one(rig, &(struct pawl_job_spec){ .type = "soft", .sla_soft_at_ms = now + day / 2 });
    submit_one(rig, &(struct pawl_job_spec){ .type = "hard", .sla_hard_at_ms = now + day / 2 });
    submit_one(rig, &(struct pawl_job_spec){ .type = "late", .sla_soft_at_ms = now - 2 * day });
    submit_one(rig, &(struct pawl_job_spec){ .type = "urgent", .priority = 100 });
    struct claimed jobs = claim_n(rig, "default", 10);
    static const char *const order[] = { "late", "hard", "urgent", "soft", "plain", "far" };
    assert_int_equal(COUNT(order), jobs.count);
    for (size_t i = 0; i < COUNT(order); i++)
        assert_text(order[i], jobs.at[i].type);
}

/* Without its deadline it would wait for 25 hours more. */
static void job_overtakes_by_its_deadline_without_being_touched(struct rig *rig)
{
    int64_t needed_by = rig_now(rig) + 2 * PAWL__RANK_SLA_LEAD_MS;
    struct pawl_job_id promised =
        submit_one(rig, &(struct pawl_job_spec){ .priority = -100, .sla_hard_at_ms = needed_by });
    rig_advance(rig, 3600 * 1000);
    struct pawl_job_id other = submit_one(rig, NULL);
    struct claimed jobs = claim_n(rig, "default", 10);
    assert_order(&jobs, (struct pawl_job_id[]){ promised, other }, 2);
}

struct ranked {
    int64_t rank;
    struct pawl_job_id id;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return memcmp(x->id.b, y->id.b, sizeof x->id.b);
}

static struct ranked submit_ranked(struct rig *rig, struct pawl__rng *rng)
{
    int64_t now = rig_now(rig), day = PAWL__RANK_SLA_LEAD_MS;
    struct pawl_job_spec spec = { .priority = (int32_t)pawl__rng_below(rng, 201) - 100 };
    if (pawl__rng_below(rng, 4) == 0)
        spec.sla_soft_at_ms = now - day + (int64_t)pawl__rng_below(rng, (uint64_t)(5 * day));
    if (pawl__rng_below(rng, 4) == 0)
        spec.sla_hard_at_ms = (spec.sla_soft_at_ms != 0 ? spec.sla_soft_at_ms : now) +
                              (int64_t)pawl__rng_below(rng, (uint64_t)(3 * day));
    struct pawl__rank_of of = { .due_at_ms = now,
                                .priority = spec.priority,
                                .boost_ms = PAWL__RANK_BOOST_MS,
                                .sla_soft_at_ms = spec.sla_soft_at_ms,
                                .sla_hard_at_ms = spec.sla_hard_at_ms };
    return (struct ranked){ .rank = pawl__rank(&of), .id = submit_one(rig, &spec) };
}

static void order_is_that_of_the_rank_function(struct rig *rig)
{
    struct pawl__rng rng;
    pawl__rng_seed(&rng, 7);
    struct ranked jobs[120];
    for (size_t i = 0; i < COUNT(jobs); i++) {
        jobs[i] = submit_ranked(rig, &rng);
        rig_advance(rig, (int64_t)pawl__rng_below(&rng, 3000000));
    }
    qsort(jobs, COUNT(jobs), sizeof jobs[0], compare_ranked);
    for (size_t done = 0; done < COUNT(jobs);) {
        struct claimed some = claim_n(rig, "default", 7);
        assert_true(some.count > 0);
        for (size_t i = 0; i < some.count; i++)
            assert_id(jobs[done++].id, some.at[i].id);
    }
}

static void queues_are_emptied_left_to_right(struct rig *rig)
{
    struct pawl_job_id a[2], b[2];
    a[0] = submit_one(rig, &(struct pawl_job_spec){ .queue = "a", .priority = 50 });
    b[0] = submit_one(rig, &(struct pawl_job_spec){ .queue = "b" });
    b[1] = submit_one(rig, &(struct pawl_job_spec){ .queue = "b", .priority = -50 });
    a[1] = submit_one(rig, &(struct pawl_job_spec){ .queue = "a", .priority = 40 });
    static const char *const queues[] = { "b", "empty", "a" };
    struct claimed some = claim_from(rig, queues, 3, NULL, 0, 3);
    assert_order(&some, (struct pawl_job_id[]){ b[0], b[1], a[0] }, 3);
    struct claimed rest = claim_from(rig, queues, 3, NULL, 0, 3);
    assert_order(&rest, (struct pawl_job_id[]){ a[1] }, 1);
}

static void queue_named_twice_gives_no_job_twice(struct rig *rig)
{
    struct pawl_job_id *ids = submit_n(rig, 3, NULL);
    static const char *const queues[] = { "default", "default" };
    struct claimed jobs = claim_from(rig, queues, 2, NULL, 0, 10);
    assert_order(&jobs, ids, 3);
}

static void filters_by_type(struct rig *rig)
{
    submit_one(rig, &(struct pawl_job_spec){ .type = "a", .priority = 9 });
    struct pawl_job_id b = submit_one(rig, &(struct pawl_job_spec){ .type = "b" });
    submit_one(rig, &(struct pawl_job_spec){ .type = "b.c", .priority = 8 });
    struct pawl_job_id d = submit_one(rig, &(struct pawl_job_spec){ .type = "d", .priority = 1 });
    static const char *const queues[] = { "default" }, *const types[] = { "b", "d", "unknown" };
    struct claimed jobs = claim_from(rig, queues, 1, types, 3, 10);
    assert_order(&jobs, (struct pawl_job_id[]){ d, b }, 2);
    assert_i64(2, count_state(rig, PAWL_STATE_AVAILABLE));
}

static void filters_by_the_beginning_of_a_type(struct rig *rig)
{
    static const char *const names[] = { "mail", "mail.send", "mailer.run", "mail.in.read", "sms" };
    static const char *const queues[] = { "default" };
    static const char *const mail[] = { "mail.*", "sms" }, *const every[] = { "none", "*" };
    struct pawl_job_id id[COUNT(names)];
    for (size_t i = 0; i < COUNT(names); i++) {
        id[i] = submit_one(rig, &(struct pawl_job_spec){ .type = names[i] });
        rig_advance(rig, 1);
    }
    struct claimed jobs = claim_from(rig, queues, 1, mail, 2, 10);
    assert_order(&jobs, (struct pawl_job_id[]){ id[1], id[3], id[4] }, 3);
    // a type that nobody had heard of when the first claim was made
    struct pawl_job_id later = submit_one(rig, &(struct pawl_job_spec){ .type = "mail.new" });
    jobs = claim_from(rig, queues, 1, mail, 2, 10);
    assert_order(&jobs, &later, 1);
    jobs = claim_from(rig, queues, 1, every, 2, 10);
    assert_order(&jobs, (struct pawl_job_id[]){ id[0], id[2] }, 2);
}

static void finds_a_type_behind_a_long_backlog_of_others(struct rig *rig)
{
    submit_n(rig, 1200, &(struct pawl_job_spec){ .type = "common" });
    struct pawl_job_id rare = submit_one(rig, &(struct pawl_job_spec){ .type = "rare" });
    submit_n(rig, 10, &(struct pawl_job_spec){ .type = "common" });
    static const char *const queues[] = { "default" }, *const types[] = { "rare" };
    struct claimed jobs = claim_from(rig, queues, 1, types, 1, 10);
    assert_order(&jobs, &rare, 1);
    assert_i64(1210, count_state(rig, PAWL_STATE_AVAILABLE));
}

static void type_filter_reaches_over_all_queues(struct rig *rig)
{
    submit_one(rig, &(struct pawl_job_spec){ .queue = "a", .type = "x" });
    struct pawl_job_id a = submit_one(rig, &(struct pawl_job_spec){ .queue = "a", .type = "y" });
    struct pawl_job_id b =
        submit_one(rig, &(struct pawl_job_spec){ .queue = "b", .type = "y", .priority = 100 });
    static const char *const queues[] = { "a", "b" }, *const types[] = { "y" };
    struct claimed jobs = claim_from(rig, queues, 2, types, 1, 10);
    assert_order(&jobs, (struct pawl_job_id[]){ a, b }, 2);
}

static void lease_of_the_job_goes_before_the_claimers(struct rig *rig)
{
    submit_one(rig, &(struct pawl_job_spec){ .lease_ms = 700 });
    struct pawl_job job = claim_one(rig, "default");
    assert_i64(700, job.lease_ms);
    assert_i64(rig_now(rig) + 700, job.lease_until_ms);
}

/* Enough of them that a table of names has to grow, a few times. */
static void each_of_many_queues_is_found_by_its_name(struct rig *rig)
{
    enum { QUEUES = 150 };
    struct pawl_job_id ids[QUEUES];
    for (int i = 0; i < QUEUES; i++) {
        ids[i] = submit_one(rig, &(struct pawl_job_spec){ .queue = rig_text(rig, "many-%d", i) });
        if (i % 3 == 0) queue_pause(rig, rig_text(rig, "many-%d", i), true);
    }
    for (int i = QUEUES; i-- > 0;) {
        struct claimed jobs = claim_n(rig, rig_text(rig, "many-%d", i), 2);
        assert_order(&jobs, &ids[i], i % 3 == 0 ? 0 : 1);
    }
    assert_int_equal(0, claim_n(rig, "many", 1).count);
    assert_int_equal(0, claim_n(rig, "many-", 1).count);
}

static void limits_cross_every_chunk(struct rig *rig)
{
    static const int64_t limits[] = { 1, 499, 500, 501, 999, 1000, 1001 };
    for (size_t i = 0; i < COUNT(limits); i++) {
        const char *queue = rig_queue(rig);
        struct pawl_job_id *ids =
            submit_n(rig, (size_t)limits[i] + 1, &(struct pawl_job_spec){ .queue = queue });
        struct claimed jobs = claim_n(rig, queue, limits[i]);
        assert_order(&jobs, ids, (size_t)limits[i]);
        struct claimed last = claim_n(rig, queue, limits[i]);
        assert_order(&last, ids + limits[i], 1);
    }
}

static void paused_queue_gives_nothing_until_resumed(struct rig *rig)
{
    struct pawl_job_id a = submit_one(rig, &(struct pawl_job_spec){ .queue = "a" });
    struct pawl_job_id b = submit_one(rig, &(struct pawl_job_spec){ .queue = "b" });
    queue_pause(rig, "a", true);
    queue_pause(rig, "a", true);
    static const char *const queues[] = { "a", "b" };
    struct claimed jobs = claim_from(rig, queues, 2, NULL, 0, 10);
    assert_order(&jobs, &b, 1);
    struct pawl_job_id accepted = submit_one(rig, &(struct pawl_job_spec){ .queue = "a" });
    assert_int_equal(0, claim_n(rig, "a", 10).count);
    queue_pause(rig, "a", false);
    struct claimed released = claim_n(rig, "a", 10);
    assert_order(&released, (struct pawl_job_id[]){ a, accepted }, 2);
}

static void running_jobs_of_a_paused_queue_go_on(struct rig *rig)
{
    submit_one(rig, NULL);
    struct pawl_job job = claim_one(rig, "default");
    queue_pause(rig, "default", true);
    assert_err(rig, PAWL_OK, extend(rig, ref_of(&job), LEASE_MS));
    assert_ok(rig, complete(rig, ref_of(&job), NULL));
}

static void expired_jobs_are_never_handed_out(struct rig *rig)
{
    submit_one(rig, &(struct pawl_job_spec){ .expires_in_ms = 10, .priority = 9 });
    struct pawl_job_id good = submit_one(rig, NULL);
    rig_advance(rig, 10);
    struct claimed jobs = claim_n(rig, "default", 1);
    assert_order(&jobs, &good, 1);
    assert_int_equal(0, claim_n(rig, "default", 10).count);
}

/* A claim ends a bounded number of expired jobs. It says that it stopped there. */
static void claim_that_reached_its_bound_says_that_more_may_be_there(struct rig *rig)
{
    submit_n(rig, PAWL__MAINTENANCE_MAX + 1, &(struct pawl_job_spec){ .expires_in_ms = 10 });
    rig_advance(rig, 10);
    struct pawl_job_id good = submit_one(rig, NULL);
    struct claimed none = claim_n(rig, "default", 100);
    assert_int_equal(0, none.count);
    assert_true(none.more);
    struct claimed jobs = claim_n(rig, "default", 100);
    assert_order(&jobs, &good, 1);
    assert_false(jobs.more);
}

static void claim_that_left_nothing_or_is_full_says_no_more(struct rig *rig)
{
    assert_false(claim_n(rig, "default", 1).more);
    submit_n(rig, 5, NULL);
    struct claimed full = claim_n(rig, "default", 2);
    assert_int_equal(2, full.count);
    assert_false(full.more);
    struct claimed rest = claim_n(rig, "default", 4);
    assert_int_equal(3, rest.count);
    assert_false(rest.more);
    submit_n(rig, 2, &(struct pawl_job_spec){ .queue = "other" });
    assert_false(claim_n(rig, "default", 4).more);
    queue_pause(rig, "other", true);
    assert_false(claim_n(rig, "other", 4).more);
}

static void job_is_claimed_up_to_the_last_ms_before_it_expires(struct rig *rig)
{
    submit_one(rig, &(struct pawl_job_spec){ .expires_in_ms = 10 });
    rig_advance(rig, 9);
    expire(rig);
    claim_one(rig, "default");
}

static void ids_that_share_eight_bytes_are_both_claimed(struct rig *rig)
{
    struct pawl_job_id a = rig_id(rig), b = a, c = a;
    b.b[15] ^= 1;
    c.b[8] ^= 0x20;
    submit_one(rig, &(struct pawl_job_spec){ .id = &a });
    submit_one(rig, &(struct pawl_job_spec){ .id = &b });
    submit_one(rig, &(struct pawl_job_spec){ .id = &c });
    struct claimed jobs = claim_n(rig, "default", 10);
    assert_int_equal(3, jobs.count);
    for (size_t i = 0; i < 3; i++)
        assert_ok(rig, complete(rig, ref_of(&jobs.at[i]), NULL));
    assert_state(COMPLETED, state_of(rig, a));
    assert_state(COMPLETED, state_of(rig, b));
    assert_state(COMPLETED, state_of(rig, c));
}

static void far_instants_do_not_overflow_the_rank(struct rig *rig)
{
    int64_t far = INSTANT_MAX_MS;
    submit_one(rig, &(struct pawl_job_spec){ .sla_hard_at_ms = far, .priority = -100 });
    submit_one(rig, &(struct pawl_job_spec){ .due_at_ms = far, .priority = -100 });
    submit_one(rig, &(struct pawl_job_spec){ .due_at_ms = 1, .priority = 100 });
    assert_int_equal(2, claim_n(rig, "default", 10).count);
    assert_i64(far, promote(rig).next_at_ms);
    hand_clock_set(rig->clock, far);
    assert_i64(1, promote(rig).moved);
    assert_int_equal(1, claim_n(rig, "default", 10).count);
}

static struct claimed claim_bytes(struct rig *rig, int64_t limit, int64_t bytes_max)
{
    static const char *const queues[] = { "a", "b" };
    struct pawl__op op = { .kind = PAWL__OP_CLAIM,
                           .claim = { .queues = queues,
                                      .queue_count = 2,
                                      .limit = limit,
                                      .bytes_max = bytes_max,
                                      .worker = WORKER,
                                      .lease_ms = LEASE_MS } };
    return claim_op(rig, &op);
}

static struct pawl_job_id submit_bytes(struct rig *rig, const char *queue, const char *type,
                                       size_t bytes)
{
    char *args = malloc(bytes);
    assert_non_null(args);
    memset(args, 'x', bytes);
    memcpy(args, "[\"", 2);
    memcpy(args + bytes - 2, "\"]", 2);
    struct pawl_job_spec spec = { .queue = queue, .type = type, .args = { args, bytes } };
    struct pawl_job_id id = submit_one(rig, &spec);
    free(args);
    return id;
}

/* Ten of 1000 bytes by two types in two queues; one claim after the other takes three. */
static void claim_ends_before_its_arguments_exceed_the_bound(struct rig *rig)
{
    struct pawl_job_id ids[10];
    for (size_t i = 0; i < 10; i++) {
        ids[i] = submit_bytes(rig, i < 5 ? "a" : "b", i % 2 ? "t.odd" : "t.even", 1000);
    }
    for (size_t at = 0; at < 10; at += 3) {
        struct claimed jobs = claim_bytes(rig, 100, 3500);
        size_t left = 10 - at;
        assert_order(&jobs, ids + at, left < 3 ? left : 3);
        assert_int_equal(left > 3, jobs.more);
        for (size_t i = 0; i < jobs.count; i++) {
            assert_int_equal(1000, jobs.at[i].args.len);
            assert_i64(1, jobs.at[i].attempt);
        }
    }
    assert_int_equal(0, claim_bytes(rig, 100, 3500).count);
}

static void claim_brings_one_job_whatever_its_size(struct rig *rig)
{
    struct pawl_job_id ids[3];
    ids[0] = submit_bytes(rig, "a", "t.a", 400000);
    ids[1] = submit_bytes(rig, "a", "t.a", 100);
    ids[2] = submit_bytes(rig, "a", "t.b", 300000);
    for (size_t i = 0; i < 3; i++) {
        struct claimed jobs = claim_bytes(rig, 10, 1000);
        assert_order(&jobs, ids + i, 1);
        assert_int_equal(i < 2, jobs.more);
    }
}

/* A heavy one is not overtaken by lighter ones behind it. */
static void claim_keeps_the_order_within_its_bound(struct rig *rig)
{
    struct pawl_job_id ids[4];
    ids[0] = submit_bytes(rig, "a", "t.a", 600);
    ids[1] = submit_bytes(rig, "a", "t.b", 50000);
    ids[2] = submit_bytes(rig, "a", "t.a", 600);
    ids[3] = submit_bytes(rig, "b", "t.a", 600);
    struct claimed first = claim_bytes(rig, 10, 2000);
    assert_order(&first, ids, 1);
    assert_true(first.more);
    struct claimed second = claim_bytes(rig, 10, 2000);
    assert_order(&second, ids + 1, 1);
    assert_true(second.more);
    struct claimed third = claim_bytes(rig, 10, 2000);
    assert_order(&third, ids + 2, 2);
    assert_false(third.more);
}

/* Plain, and with facts that are kept apart; what was left out is still there. */
static void long_arguments_are_left_out_where_asked(struct rig *rig)
{
    static const char *const queues[] = { "a", "b" }, *const tags[] = { "tagged" };
    static const size_t sizes[] = { 300, 301, 100000, 20, 300, 50000 };
    enum { JOBS = COUNT(sizes) };
    struct pawl_job_id ids[JOBS];
    for (size_t i = 0; i < JOBS; i++) {
        struct pawl_span args = rig_multibyte(rig, sizes[i], true);
        struct pawl_job_spec spec = { .queue = i < 4 ? "a" : "b", .args = args };
        if (i % 2)
            spec = (struct pawl_job_spec){
                .queue = spec.queue, .args = args, .tags = tags, .tag_count = 1, .timeout_ms = 5000
            };
        ids[i] = submit_one(rig, &spec);
    }
    struct pawl__op op = { .kind = PAWL__OP_CLAIM,
                           .claim = { .queues = queues,
                                      .queue_count = 2,
                                      .limit = 100,
                                      .args_max = 300,
                                      .worker = WORKER,
                                      .lease_ms = LEASE_MS } };
    struct claimed jobs = claim_op(rig, &op);
    assert_order(&jobs, ids, JOBS);
    for (size_t i = 0; i < JOBS; i++) {
        struct pawl_job whole = job_get(rig, ids[i]);
        assert_int_equal(sizes[i], whole.args.len);
        assert_i64(whole.timeout_ms, jobs.at[i].timeout_ms);
        assert_span(whole.tags, jobs.at[i].tags);
        assert_span(sizes[i] > 300 ? span_of("") : whole.args, jobs.at[i].args);
    }
}

static void bound_that_is_never_reached_changes_nothing(struct rig *rig)
{
    struct pawl_job_id ids[70];
    for (size_t i = 0; i < 70; i++) {
        ids[i] = submit_bytes(rig, "a", "t.a", 100);
    }
    struct claimed jobs = claim_bytes(rig, 100, 7000);
    assert_order(&jobs, ids, 70);
    assert_false(jobs.more);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(claim_stamps_worker_time_lease_and_counts),
        CONTRACT(claim_carries_all_that_a_worker_needs),
        CONTRACT(respects_limit),
        CONTRACT(limit_zero_claims_nothing),
        CONTRACT(second_claim_gets_nothing),
        CONTRACT(empty_and_unknown_queues_give_nothing),
        CONTRACT(never_claims_a_job_that_is_not_due),
        CONTRACT(claims_only_what_is_available),
        CONTRACT(returns_best_rank_first_though_all_fit),
        CONTRACT(identical_jobs_keep_submission_order),
        CONTRACT_SHARED(order_outlives_a_restart),
        CONTRACT(waiting_makes_up_for_priority),
        CONTRACT(lowest_beats_highest_after_waiting_long_enough),
        CONTRACT(waiting_counts_from_when_a_job_was_due),
        CONTRACT(nearing_deadlines_bring_jobs_forward),
        CONTRACT(job_overtakes_by_its_deadline_without_being_touched),
        CONTRACT(order_is_that_of_the_rank_function),
        CONTRACT(queues_are_emptied_left_to_right),
        CONTRACT(queue_named_twice_gives_no_job_twice),
        CONTRACT(filters_by_type),
        CONTRACT(filters_by_the_beginning_of_a_type),
        CONTRACT(finds_a_type_behind_a_long_backlog_of_others),
        CONTRACT(type_filter_reaches_over_all_queues),
        CONTRACT(lease_of_the_job_goes_before_the_claimers),
        CONTRACT(each_of_many_queues_is_found_by_its_name),
        CONTRACT(limits_cross_every_chunk),
        CONTRACT(paused_queue_gives_nothing_until_resumed),
        CONTRACT(running_jobs_of_a_paused_queue_go_on),
        CONTRACT(expired_jobs_are_never_handed_out),
        CONTRACT(claim_that_reached_its_bound_says_that_more_may_be_there),
        CONTRACT(claim_that_left_nothing_or_is_full_says_no_more),
        CONTRACT(job_is_claimed_up_to_the_last_ms_before_it_expires),
        CONTRACT(ids_that_share_eight_bytes_are_both_claimed),
        CONTRACT(far_instants_do_not_overflow_the_rank),
        CONTRACT(claim_ends_before_its_arguments_exceed_the_bound),
        CONTRACT(claim_brings_one_job_whatever_its_size),
        CONTRACT(claim_keeps_the_order_within_its_bound),
        CONTRACT(long_arguments_are_left_out_where_asked),
        CONTRACT(bound_that_is_never_reached_changes_nothing),
    };
    return contract_run("claim", tests, COUNT(tests));
}
