/* What follows from a move, by a rule that only these tests have (ties.c): no backend knows of it,
 * and every store carries it out. */
#include "settle/settle_kit.h"
#include "store/core/course.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

/* ---- one step ---- */

static void completion_activates_the_next(struct rig *rig)
{
    struct pawl_job_id *ids = chain(rig, 2, TIE_WATCH);
    struct pawl_job job = claim_one(rig, "default");
    assert_id(ids[0], job.id);
    assert_ok(rig, complete(rig, ref_of(&job), "{\"n\":1}"));
    assert_state(AVAILABLE, state_of(rig, ids[1]));
    assert_span(span_of("{\"n\":1}"), job_get(rig, ids[0]).result);
    struct pawl_job next = claim_one(rig, "default");
    assert_id(ids[1], next.id);
    assert_ok(rig, complete(rig, ref_of(&next), NULL));
    assert_i64(0, settle(rig).moved); // nothing was left
}

static void plain_jobs_are_not_followed(struct rig *rig)
{
    struct pawl_job_id *ids = chain(rig, 2, 0);
    struct pawl_job job = claim_one(rig, "default");
    assert_ok(rig, complete(rig, ref_of(&job), NULL));
    assert_state(PENDING, state_of(rig, ids[1]));
}

/* Many at once, tied and plain ones: each goes its own way, and all in one transaction. */
static void tied_and_plain_ones_share_a_batch(struct rig *rig)
{
    struct pawl_job_id *tied = chain(rig, 2, TIE_WATCH), *plain = chain(rig, 2, 0);
    struct claimed got = claim_n(rig, "default", 10);
    assert_int_equal(2, got.count);
    struct pawl__op ops[2];
    for (size_t i = 0; i < 2; i++) {
        ops[i] = (struct pawl__op){ .kind = PAWL__OP_COMPLETE, .complete.ref = ref_of(&got.at[i]) };
    }
    do_together(rig, ops, 2);
    assert_state(AVAILABLE, state_of(rig, tied[1]));
    assert_state(PENDING, state_of(rig, plain[1]));
}

static void lease_of_a_tied_job_is_extended(struct rig *rig)
{
    struct pawl_job_id *ids = chain(rig, 2, TIE_WATCH);
    struct pawl_job job = claim_one(rig, "default");
    rig_advance(rig, LEASE_MS - 1);
    assert_ok(rig, extend(rig, ref_of(&job), LEASE_MS));
    rig_advance(rig, LEASE_MS - 1);
    assert_i64(0, lapse(rig).moved);
    assert_ok(rig, complete(rig, ref_of(&job), NULL));
    assert_state(AVAILABLE, state_of(rig, ids[1]));
}

static void assigned_job_is_followed(struct rig *rig)
{
    struct pawl_job_id *ids = chain(rig, 2, TIE_WATCH);
    struct claimed routed = route_n(rig, "default", 1);
    struct pawl_job job;
    assert_ok(rig, assign(rig, ids[0], WORKER, routed.at[0].lease_until_ms, &job));
    assert_ok(rig, complete(rig, ref_of(&job), NULL));
    assert_state(AVAILABLE, state_of(rig, ids[1]));
}

/* ---- every move ---- */

/* The newest move of a job that was followed up. */
static void assert_moved(struct rig *rig, struct pawl_job_id id, enum pawl_state from,
                         enum pawl_state to)
{
    struct pawl_story story = story_of(rig, id);
    assert_true(story.audit_count);
    const struct pawl_audit_entry *last = &story.audit[story.audit_count - 1];
    assert_text("echo", last->action);
    assert_int_equal(from, last->from);
    assert_int_equal(to, last->to);
}

static struct pawl_job_id echo(struct rig *rig, int64_t delay_ms)
{
    return chain_of(rig, 1, TIE_ECHO, &(struct pawl_job_spec){ .delay_ms = delay_ms })[0];
}

/* Plain ones are promoted in the same sweep, and go their own way. */
static void promotion_is_followed(struct rig *rig)
{
    struct pawl_job_id plain = submit_one(rig, &(struct pawl_job_spec){ .delay_ms = 50 });
    struct pawl_job_id id = echo(rig, 100);
    struct pawl_job_id later = submit_one(rig, &(struct pawl_job_spec){ .delay_ms = 150 });
    rig_advance(rig, 200);
    struct swept swept = promote(rig);
    assert_i64(3, swept.moved);
    assert_i64(0, swept.next_at_ms);
    assert_moved(rig, id, PAWL_STATE_SCHEDULED, PAWL_STATE_AVAILABLE);
    assert_state(AVAILABLE, state_of(rig, plain));
    assert_state(AVAILABLE, state_of(rig, later));
    assert_int_equal(0, story_of(rig, plain).audit_count);
}

static void route_and_assignment_are_followed(struct rig *rig)
{
    struct pawl_job_id id = echo(rig, 0);
    struct claimed routed = route_n(rig, "default", 1);
    assert_moved(rig, id, PAWL_STATE_AVAILABLE, PAWL_STATE_PENDING);
    struct pawl_job job;
    assert_ok(rig, assign(rig, id, WORKER, routed.at[0].lease_until_ms, &job));
    assert_moved(rig, id, PAWL_STATE_PENDING, PAWL_STATE_ACTIVE);
}

/* Of many that are due the oldest are promoted first, whether they have ties or not. */
static void promotion_passes_over_nobody(struct rig *rig)
{
    struct pawl_job_id ids[4];
    for (size_t i = 0; i < COUNT(ids); i++) {
        int64_t delay_ms = 100 * (int64_t)(i + 1);
        ids[i] = i % 2 ? submit_one(rig, &(struct pawl_job_spec){ .delay_ms = delay_ms })
                       : echo(rig, delay_ms);
    }
    rig_advance(rig, 1000);
    struct swept swept = sweep(rig, PAWL__OP_PROMOTE, 3);
    assert_i64(3, swept.moved);
    assert_true(swept.more);
    for (size_t i = 0; i < COUNT(ids); i++) {
        assert_int_equal(i < 3 ? PAWL_STATE_AVAILABLE : PAWL_STATE_SCHEDULED,
                         state_of(rig, ids[i]));
    }
    swept = sweep(rig, PAWL__OP_PROMOTE, 3);
    assert_i64(1, swept.moved);
    assert_false(swept.more);
}

/* ---- every way to end ---- */

static void every_end_is_followed(struct rig *rig)
{
    struct pawl_job_id *ids =
        chain_of(rig, 2, TIE_WATCH, &(struct pawl_job_spec){ .retry = { .attempts_max = 1 } });
    struct pawl_job job = claim_one(rig, "default");
    assert_state(DISCARDED, fail_plain(rig, ref_of(&job)).to);
    assert_state(CANCELLED, state_of(rig, ids[1]));
    assert_text("it watched in vain", job_get(rig, ids[1]).reason);

    ids = chain_of(rig, 2, TIE_WATCH, &(struct pawl_job_spec){ .retry = { .attempts_max = 1 } });
    claim_one(rig, "default");
    rig_advance(rig, LEASE_MS + 1);
    assert_i64(1, lapse(rig).moved);
    assert_state(CANCELLED, state_of(rig, ids[1]));

    ids = chain(rig, 2, TIE_WATCH);
    assert_ok(rig, control(rig, ids[0], PAWL_CONTROL_CANCEL));
    assert_state(CANCELLED, state_of(rig, ids[1]));

    ids = chain(rig, 2, TIE_WATCH);
    int64_t moved;
    assert_ok(rig,
              bulk(rig, &(struct pawl_filter){ .states = PAWL_STATE_BIT(PAWL_STATE_AVAILABLE) },
                   PAWL_CONTROL_CANCEL, 10, &moved));
    assert_i64(1, moved); // what follows is not the operator's
    assert_state(CANCELLED, state_of(rig, ids[1]));
}

/* A move that ends nothing has no consequence here, and the tie stays. */
static void retry_keeps_the_tie(struct rig *rig)
{
    struct pawl_job_id *ids = chain(rig, 2, TIE_WATCH);
    struct pawl_job job = claim_one(rig, "default");
    assert_ok(rig, snooze(rig, ref_of(&job), 0));
    job = claim_one(rig, "default");
    assert_state(RETRYABLE, fail_plain(rig, ref_of(&job)).to);
    assert_state(PENDING, state_of(rig, ids[1]));
    rig_advance(rig, 3600 * 1000);
    assert_i64(1, promote(rig).moved);
    job = claim_one(rig, "default");
    assert_ok(rig, complete(rig, ref_of(&job), NULL));
    assert_state(AVAILABLE, state_of(rig, ids[1]));
}

/* The archive keeps ties: a job that comes back from there is followed again. */
static void tie_survives_the_archive(struct rig *rig)
{
    struct pawl_job_id *ids =
        chain_of(rig, 2, TIE_WATCH, &(struct pawl_job_spec){ .retry = { .attempts_max = 1 } });
    struct pawl_job job = claim_one(rig, "default");
    fail_plain(rig, ref_of(&job));
    rig_advance(rig, 1);
    assert_i64(2, archive_all(rig));
    assert_i64(TIE_WATCH, job_get(rig, ids[0]).ties);
    assert_ok(rig, control(rig, ids[0], PAWL_CONTROL_RETRY));
    assert_ok(rig, control(rig, ids[1], PAWL_CONTROL_RETRY));
    assert_ok(rig, control(rig, ids[0], PAWL_CONTROL_CANCEL));
    assert_state(CANCELLED, state_of(rig, ids[1]));
}

/* What was told of a run goes with it; other ties stay. */
static void tie_of_a_run_goes_with_it(struct rig *rig)
{
    static const int32_t reported[] = { TIE_FAILED, TIE_PUT_OFF, TIE_FAILED | TIE_PUT_OFF };
    for (size_t i = 0; i < COUNT(reported); i++) {
        const struct pawl_job_spec spec = { .delay_ms = 100 };
        struct pawl_job_id plain = chain_of(rig, 1, reported[i], &spec)[0];
        struct pawl_job_id tied = chain_of(rig, 1, reported[i] | TIE_ECHO, &spec)[0];
        assert_i64(reported[i], job_get(rig, plain).ties);
        assert_ok(rig, control(rig, plain, PAWL_CONTROL_PROMOTE));
        assert_ok(rig, control(rig, tied, PAWL_CONTROL_CANCEL));
        assert_i64(0, job_get(rig, plain).ties);
        assert_i64(TIE_ECHO, job_get(rig, tied).ties);
        struct pawl_job job = claim_one(rig, "default");
        assert_ok(rig, complete(rig, ref_of(&job), NULL)); // as any other job
    }
}

/* ---- in a list ---- */

/* What follows from an operation happens before the next one of its list, as if they had come one
 * by one: the run is cancelled, and cannot be completed. */
static void consequence_comes_before_the_next_of_a_list(struct rig *rig)
{
    struct pawl_job_id *ids = chain(rig, 2, TIE_WATCH);
    assert_ok(rig, control(rig, ids[0], PAWL_CONTROL_CANCEL));
    assert_ok(rig, control(rig, ids[0], PAWL_CONTROL_RETRY));
    assert_ok(rig, control(rig, ids[1], PAWL_CONTROL_RETRY));
    struct claimed runs = claim_n(rig, "default", 2);
    assert_int_equal(2, runs.count);
    struct pawl_run second = { ids[1], 1 };
    struct pawl__op ops[] = {
        { .kind = PAWL__OP_CONTROL, .control = { .id = ids[0], .control = PAWL_CONTROL_CANCEL } },
        { .kind = PAWL__OP_COMPLETE, .complete.ref = second },
    };
    post_together(rig, ops, COUNT(ops));
    assert_int_equal(PAWL_OK, ops[0].err);
    assert_int_equal(PAWL_ERR_STALE, ops[1].err);
    assert_state(CANCELLED, state_of(rig, ids[1]));
}

/* The answer tells the job as the operations before it have left it. */
static void assignments_of_a_list_are_in_order(struct rig *rig)
{
    struct pawl_job_id id = submit_one(rig, NULL);
    int64_t token = route_n(rig, "default", 1).at[0].lease_until_ms;
    struct pawl__op assign = { .kind = PAWL__OP_ASSIGN,
                               .assign = { id, WORKER, token, .lease_ms = LEASE_MS } };
    struct pawl__op ops[] = { { .kind = PAWL__OP_PRIORITY,
                                .priority = { .id = id, .priority = 5 } },
                              assign,
                              assign,
                              assign,
                              { .kind = PAWL__OP_COMPLETE, .complete.ref = { id, 1 } } };
    ops[1].assign.worker = "another";
    post_together(rig, ops, COUNT(ops));
    assert_int_equal(PAWL_OK, ops[0].err);
    assert_int_equal(PAWL_ERR_STALE, ops[1].err);
    assert_int_equal(PAWL_OK, ops[2].err);
    assert_int_equal(PAWL_ERR_STALE, ops[3].err);
    assert_int_equal(PAWL_OK, ops[4].err);
    const struct pawl_job *job = ops[2].assign.job;
    assert_id(id, job->id);
    assert_i64(5, job->priority);
    assert_i64(1, job->run);
    assert_text("default", job->queue);
    assert_state(COMPLETED, state_of(rig, id));
}

/* ---- rounds ---- */

static void consequences_have_consequences(struct rig *rig)
{
    struct pawl_job_id *ids = chain(rig, 6, TIE_WATCH);
    assert_ok(rig, control(rig, ids[0], PAWL_CONTROL_CANCEL));
    for (size_t i = 0; i < 6; i++) {
        assert_state(CANCELLED, state_of(rig, ids[i]));
    }
    assert_i64(0, settle(rig).moved);
}

/* Eight moves are followed up in one transaction; the rest is left, durably, for a sweep. */
static void what_is_too_much_is_settled_later(struct rig *rig)
{
    enum { COUNT_OF_JOBS = 30 };
    struct pawl_job_id *ids = chain(rig, COUNT_OF_JOBS, TIE_WATCH);
    assert_ok(rig, control(rig, ids[0], PAWL_CONTROL_CANCEL));
    assert_state(CANCELLED, state_of(rig, ids[8]));
    assert_state(PENDING, state_of(rig, ids[9]));
    if (rig->kind->shared) rig_reopen(rig);
    int64_t sweeps = 0;
    for (struct swept swept = { .moved = 1 }; swept.moved; sweeps++) {
        swept = settle(rig);
        assert_true(swept.moved ? 1 : !swept.next_at_ms); // no entry is left behind
    }
    assert_i64(4, sweeps);
    for (size_t i = 0; i < COUNT_OF_JOBS; i++) {
        assert_state(CANCELLED, state_of(rig, ids[i]));
    }
}

/* What is not decided yet stays, and the sweep is told when to ask again. */
static void doubt_is_kept(struct rig *rig)
{
    struct pawl_job_id *ids = chain(rig, 2, TIE_DOUBT);
    assert_ok(rig, control(rig, ids[0], PAWL_CONTROL_CANCEL));
    struct swept swept = settle(rig);
    assert_i64(0, swept.moved);
    assert_false(swept.more);
    assert_true(swept.next_at_ms);
    assert_ok(rig, control(rig, ids[1], PAWL_CONTROL_CANCEL));
    assert_i64(1, settle(rig).moved); // of the second one nothing is known for ever
    assert_i64(0, settle(rig).moved);
}

/* Entries that cannot be followed up yet do not keep those behind them from it. */
static void nobody_waits_behind_doubt(struct rig *rig)
{
    enum { DOUBTS = 20 };
    for (size_t i = 0; i < DOUBTS; i++) {
        struct pawl_job_id *ids = chain(rig, 2, TIE_DOUBT);
        assert_ok(rig, control(rig, ids[0], PAWL_CONTROL_CANCEL));
    }
    struct pawl_job_id *ids = chain(rig, 12, TIE_WATCH);
    assert_ok(rig, control(rig, ids[0], PAWL_CONTROL_CANCEL));
    assert_state(PENDING, state_of(rig, ids[11]));
    struct swept swept = { .more = true };
    for (int sweeps = 0; swept.more; sweeps++) {
        assert_true(sweeps < 4); // 21 entries, eight at a time
        swept = settle(rig);
    }
    assert_state(CANCELLED, state_of(rig, ids[11]));
    assert_true(swept.next_at_ms);
}

/* Upkeep goes on until nothing is left that could be settled, whatever left it. */
static void upkeep_settles_all(struct rig *rig)
{
    enum { COUNT_OF_JOBS = 30 };
    if (!rig->kind->shared) return;
    struct pawl_job_id *ids = chain_of(rig, COUNT_OF_JOBS, TIE_WATCH,
                                       &(struct pawl_job_spec){ .retry = { .attempts_max = 1 } });
    claim_one(rig, "default");
    rig_advance(rig, LEASE_MS + 1);
    struct pawl *pawl;
    struct pawl_diag diag = { 0 };
    const struct pawl_config config = { .store = rig->url, .clock = &rig->clock->clock };
    assert_int_equal(PAWL_OK, pawl_open(&config, &pawl, &diag));
    struct pawl_upkeep turn = { .more = true };
    for (int turns = 0; turn.more; turns++) {
        assert_true(turns < COUNT_OF_JOBS);
        assert_int_equal(PAWL_OK, pawl_upkeep_turn(pawl, NULL, &turn, &diag));
    }
    pawl_close(pawl);
    for (size_t i = 1; i < COUNT_OF_JOBS; i++) {
        assert_state(CANCELLED, state_of(rig, ids[i]));
    }
}

/* The job is gone by the time: what was known of its move is enough. */
static void entry_outlives_its_job(struct rig *rig)
{
    struct pawl_job_id *ids = chain(rig, 12, TIE_WATCH);
    assert_ok(rig, control(rig, ids[0], PAWL_CONTROL_CANCEL));
    assert_state(PENDING, state_of(rig, ids[9]));
    assert_ok(rig, delete_job(rig, ids[8]));
    while (settle(rig).moved) {
    }
    assert_state(CANCELLED, state_of(rig, ids[11]));
}

/* ---- claims: jobs with ties go another way than plain ones ---- */

static struct pawl_job_id submit_tied(struct rig *rig, int32_t ties,
                                      const struct pawl_job_spec *spec)
{
    return chain_of(rig, 1, ties, spec)[0];
}

static void order_is_kept_between_tied_and_plain_ones(struct rig *rig)
{
    enum { MANY = 12 };
    struct pawl_job_id ids[MANY];
    for (size_t i = 0; i < MANY; i++) {
        const struct pawl_job_spec spec = { .priority = (int32_t)(MANY - i) };
        ids[i] = submit_tied(rig, i % 3 == 1 ? TIE_WATCH : 0, &spec);
    }
    struct claimed first = claim_n(rig, "default", 7), rest = claim_n(rig, "default", MANY);
    assert_int_equal(7, first.count);
    assert_int_equal(MANY - 7, rest.count);
    for (size_t i = 0; i < MANY; i++) {
        const struct pawl_job *job = i < 7 ? &first.at[i] : &rest.at[i - 7];
        assert_id(ids[i], job->id);
        assert_i64(1, job->run);
        assert_state(ACTIVE, state_of(rig, ids[i]));
        assert_ok(rig, complete(rig, ref_of(job), NULL));
    }
}

/* Ends that a claim brings about are followed too, in the transaction of the claim. */
static void claim_ends_tied_jobs_that_expired(struct rig *rig)
{
    struct pawl_job_id *ids =
        chain_of(rig, 2, TIE_WATCH, &(struct pawl_job_spec){ .expires_in_ms = 10 });
    struct pawl_job_id plain = submit_one(rig, NULL);
    rig_advance(rig, 11);
    struct claimed got = claim_n(rig, "default", 10);
    assert_int_equal(1, got.count);
    assert_id(plain, got.at[0].id);
    assert_state(EXPIRED, state_of(rig, ids[0]));
    assert_state(CANCELLED, state_of(rig, ids[1]));
}

/* What a quick claim may write in the database's language, the rule says in C. */
static void leases_are_the_same_either_way(struct rig *rig)
{
    static const int64_t timeouts[] = { 0, 20, PAWL_LEASE_MIN_MS, 3000, LEASE_MS, 2 * LEASE_MS };
    static const int64_t leases[] = {
        0, 5, PAWL_LEASE_MIN_MS - 1, PAWL_LEASE_MIN_MS, 3000, LEASE_MS
    };
    for (size_t i = 0; i < COUNT(timeouts) * COUNT(leases) * 4; i++) {
        struct pawl__lease_wish wish = { .timeout_ms = timeouts[i / 4 % COUNT(timeouts)],
                                         .own_ms = leases[i / 4 / COUNT(timeouts)],
                                         .lease_ms = LEASE_MS,
                                         .timed = i % 2 };
        struct pawl_job_spec spec = { .timeout_ms = wish.timeout_ms, .lease_ms = wish.own_ms };
        struct pawl_job_id id = submit_tied(rig, i % 4 / 2 ? TIE_WATCH : 0, &spec);
        struct pawl__op op = { .kind = PAWL__OP_CLAIM,
                               .claim = { .queues = (const char *const[]){ "default" },
                                          .queue_count = 1,
                                          .limit = 1,
                                          .worker = WORKER,
                                          .lease_ms = LEASE_MS,
                                          .timed = wish.timed } };
        struct claimed got = claim_op(rig, &op);
        assert_int_equal(1, got.count);
        assert_id(id, got.at[0].id);
        assert_i64(rig_now(rig) + pawl__lease_of(&wish), got.at[0].lease_until_ms);
        assert_i64(got.at[0].lease_until_ms, job_get(rig, id).lease_until_ms);
    }
}

/* ---- ties that a job gets later: no fast path may take it from then on ---- */

/* A job, plain so far, and the one before it; the end of that ties it. `together`: submitted with
 * another one, as stores write many at once. */
struct grafted {
    struct pawl_job_id stock, id;
};

static struct grafted submit_plain_behind(struct rig *rig, const struct pawl_job_spec *spec,
                                          bool together)
{
    const struct pawl_job_spec later = { .delay_ms = INT64_C(100) * 86400 * 1000 };
    struct grafted it = { .stock = submit_tied(rig, TIE_GRAFT, &later) };
    struct pawl__new_job jobs[] = { job_new(rig, spec),
                                    job_new(rig, &(struct pawl_job_spec){ .queue = "elsewhere" }) };
    struct pawl_submitted out[COUNT(jobs)];
    jobs[0].id = it.id = watch_next(it.stock);
    jobs[0].retry = jobs[1].retry =
        (struct pawl_span){ "", 0 }; // nothing that most jobs do not have
    assert_ok(rig, submit_jobs(rig, jobs, together ? 2 : 1, out, NULL));
    return it;
}

static void tie_it(struct rig *rig, const struct grafted *it)
{
    assert_ok(rig, control(rig, it->stock, PAWL_CONTROL_CANCEL));
    assert_i64(TIE_ECHO, job_get(rig, it->id).ties);
    assert_int_equal(0, story_of(rig, it->id).audit_count);
}

static void waiting_job_is_tied_before_its_claim(struct rig *rig)
{
    for (int i = 0; i < 4; i++) {
        struct grafted it = submit_plain_behind(rig, NULL, i % 2);
        bool alone = i / 2; // or in the transaction in which it was tied
        if (alone) tie_it(rig, &it);
        struct pawl__op ops[] = {
            { .kind = PAWL__OP_CONTROL,
              .control = { .id = it.stock, .control = PAWL_CONTROL_CANCEL } },
            { .kind = PAWL__OP_CLAIM,
              .claim = { .queues = (const char *const[]){ "default" },
                         .queue_count = 1,
                         .limit = 1,
                         .worker = WORKER,
                         .lease_ms = LEASE_MS } },
        };
        do_together(rig, ops + alone, COUNT(ops) - alone);
        assert_int_equal(1, ops[1].claim.job_count);
        assert_id(it.id, ops[1].claim.jobs[0].id);
        assert_moved(rig, it.id, PAWL_STATE_AVAILABLE, PAWL_STATE_ACTIVE);
        assert_ok(rig, complete(rig, ref_of(&ops[1].claim.jobs[0]), NULL));
        assert_moved(rig, it.id, PAWL_STATE_ACTIVE, PAWL_STATE_COMPLETED);
    }
}

static void running_job_is_tied_before_its_end(struct rig *rig)
{
    for (int together = 0; together < 2; together++) {
        struct grafted it = submit_plain_behind(rig, NULL, together);
        struct pawl_job job = claim_one(rig, "default");
        assert_id(it.id, job.id);
        tie_it(rig, &it);
        rig_advance(rig, LEASE_MS - 1);
        assert_ok(rig, extend(rig, ref_of(&job), LEASE_MS));
        rig_advance(rig, LEASE_MS - 1);
        assert_i64(0, lapse(rig).moved);
        assert_ok(rig, complete(rig, ref_of(&job), "{\"n\":1}"));
        assert_moved(rig, it.id, PAWL_STATE_ACTIVE, PAWL_STATE_COMPLETED);
        assert_i64(1, job_get(rig, it.id).run);
    }
}

/* Many at once, which is where stores take another way than for one. */
static void running_jobs_are_tied_before_their_ends(struct rig *rig)
{
    enum { MANY = 5 };
    struct grafted its[MANY];
    struct pawl__op ops[MANY];
    for (size_t i = 0; i < MANY; i++) {
        its[i] = submit_plain_behind(rig, NULL, true);
    }
    struct claimed got = claim_n(rig, "default", MANY);
    assert_int_equal(MANY, got.count);
    tie_it(rig, &its[1]);
    tie_it(rig, &its[3]);
    for (size_t i = 0; i < MANY; i++) {
        ops[i] = (struct pawl__op){ .kind = PAWL__OP_COMPLETE, .complete.ref = ref_of(&got.at[i]) };
    }
    do_together(rig, ops, MANY);
    for (size_t i = 0; i < MANY; i++) {
        assert_state(COMPLETED, state_of(rig, its[i].id));
        assert_int_equal(i % 2, story_of(rig, its[i].id).audit_count);
    }
}

static void job_that_waits_for_a_time_is_tied_before_it(struct rig *rig)
{
    struct grafted it = submit_plain_behind(rig, &(struct pawl_job_spec){ .delay_ms = 100 }, true);
    struct pawl_job_id plain = submit_one(rig, &(struct pawl_job_spec){ .delay_ms = 100 });
    tie_it(rig, &it);
    rig_advance(rig, 200);
    assert_i64(2, promote(rig).moved);
    assert_moved(rig, it.id, PAWL_STATE_SCHEDULED, PAWL_STATE_AVAILABLE);
    assert_state(AVAILABLE, state_of(rig, plain));
    assert_int_equal(0, story_of(rig, plain).audit_count);
}

/* ---- together or not at all ---- */

static void say(const struct rig *rig, const char *text)
{
    sqlite3 *db = NULL;
    assert_int_equal(SQLITE_OK, sqlite3_open(strchr(rig->url, ':') + 1, &db));
    assert_int_equal(SQLITE_OK, sqlite3_exec(db, text, NULL, NULL, NULL));
    sqlite3_close(db);
}

static void move_and_consequence_are_one(struct rig *rig)
{
    if (strcmp(rig->kind->name, "file") != 0) return; // held_test.c does it on a server
    struct pawl_job_id *ids = chain(rig, 2, TIE_WATCH);
    struct pawl_job job = claim_one(rig, "default");
    say(rig,
        "CREATE TRIGGER refuse BEFORE INSERT ON pawl_ready BEGIN SELECT RAISE(ABORT, 'no'); END");
    assert_true(complete(rig, ref_of(&job), NULL) != PAWL_OK);
    say(rig, "DROP TRIGGER refuse");
    rig_reopen(rig);
    assert_state(ACTIVE, state_of(rig, ids[0]));
    assert_state(PENDING, state_of(rig, ids[1]));
    assert_ok(rig, complete(rig, ref_of(&job), NULL));
    assert_state(AVAILABLE, state_of(rig, ids[1]));
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(completion_activates_the_next),
        CONTRACT(plain_jobs_are_not_followed),
        CONTRACT(tied_and_plain_ones_share_a_batch),
        CONTRACT(lease_of_a_tied_job_is_extended),
        CONTRACT(assigned_job_is_followed),
        CONTRACT(promotion_is_followed),
        CONTRACT(promotion_passes_over_nobody),
        CONTRACT(route_and_assignment_are_followed),
        CONTRACT(every_end_is_followed),
        CONTRACT(retry_keeps_the_tie),
        CONTRACT(tie_survives_the_archive),
        CONTRACT(tie_of_a_run_goes_with_it),
        CONTRACT(consequence_comes_before_the_next_of_a_list),
        CONTRACT(assignments_of_a_list_are_in_order),
        CONTRACT(consequences_have_consequences),
        CONTRACT(what_is_too_much_is_settled_later),
        CONTRACT(doubt_is_kept),
        CONTRACT(nobody_waits_behind_doubt),
        CONTRACT(upkeep_settles_all),
        CONTRACT(entry_outlives_its_job),
        CONTRACT(order_is_kept_between_tied_and_plain_ones),
        CONTRACT(claim_ends_tied_jobs_that_expired),
        CONTRACT(leases_are_the_same_either_way),
        CONTRACT(waiting_job_is_tied_before_its_claim),
        CONTRACT(running_job_is_tied_before_its_end),
        CONTRACT(running_jobs_are_tied_before_their_ends),
        CONTRACT(job_that_waits_for_a_time_is_tied_before_it),
        CONTRACT(move_and_consequence_are_one),
    };
    return contract_run("settle", tests, COUNT(tests));
}
