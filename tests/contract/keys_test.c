/* Idempotency keys, business keys and unique policies. */
#include "support/ops.h"

static void assert_names_holder(struct rig *rig, struct pawl_job_id holder)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(holder, text);
    assert_within(text, rig->diag.text);
    assert_int_equal(PAWL_ERR_DUPLICATE, rig->diag.err);
}

static void assert_refused(struct rig *rig, const struct pawl_job_spec *spec,
                           struct pawl_job_id holder)
{
    int64_t before = count_jobs(rig, &(struct pawl_filter){ .archived = true });
    const char *text = job_text(rig, holder);
    struct pawl__new_job job = job_new(rig, spec);
    struct pawl_submitted out;
    struct pawl__op op = { .kind = PAWL__OP_SUBMIT,
                           .diag = &rig->diag,
                           .submit = { .jobs = &job, .count = 1, .out = &out } };
    assert_err(rig, PAWL_ERR_DUPLICATE, pawl__store_do(rig->store, &op));
    rig_keep(rig, &op.arena);
    assert_names_holder(rig, holder);
    assert_id(holder, op.submit.holder.id);
    assert_int_equal(state_of(rig, holder), op.submit.holder.state);
    assert_i64(before, count_jobs(rig, &(struct pawl_filter){ .archived = true }));
    assert_text(text, job_text(rig, holder));
}

static void assert_repeats(struct rig *rig, const struct pawl_job_spec *spec,
                           struct pawl_job_id original, enum pawl_state state)
{
    int64_t before = count_jobs(rig, &(struct pawl_filter){ .archived = true });
    struct pawl_submitted out = { 0 };
    assert_ok(rig, submit_spec(rig, spec, &out));
    assert_true(out.deduplicated);
    assert_false(out.replaced);
    assert_id(original, out.id);
    assert_int_equal(state, out.state);
    assert_i64(before, count_jobs(rig, &(struct pawl_filter){ .archived = true }));
}

/* ---- idempotency ---- */

static void repeat_finds_the_original_in_every_state(struct rig *rig)
{
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++) {
        struct pawl_job_spec spec = { .idempotency_key = rig_text(rig, "key-%d", (int)state) };
        struct pawl_job_id id = job_in(rig, state, &spec);
        const char *before = job_text(rig, id);
        struct pawl_job_spec again = { .type = "other",
                                       .queue = "other",
                                       .idempotency_key = spec.idempotency_key };
        assert_repeats(rig, &again, id, state);
        assert_text(before, job_text(rig, id));
    }
}

static void repeat_finds_the_original_after_delete(struct rig *rig)
{
    struct pawl_job_spec spec = { .idempotency_key = "k" };
    struct pawl_job_id id = job_in(rig, PAWL_STATE_COMPLETED, &spec);
    assert_ok(rig, delete_job(rig, id));
    assert_repeats(rig, &spec, id, PAWL_STATE_NONE);
}

static void repeat_finds_the_original_after_archive_and_purge(struct rig *rig)
{
    struct pawl_job_spec spec = { .idempotency_key = "k" };
    struct pawl_job_id id = job_in(rig, PAWL_STATE_COMPLETED, &spec);
    rig_advance(rig, 1000);
    assert_i64(1, archive_all(rig));
    assert_repeats(rig, &spec, id, PAWL_STATE_COMPLETED);
    assert_i64(1, purge_all(rig));
    assert_false(job_exists(rig, id));
    assert_repeats(rig, &spec, id, PAWL_STATE_NONE);
    expire(rig);
    assert_repeats(rig, &spec, id, PAWL_STATE_NONE);
}

static void idempotency_key_is_kept_for_the_time_asked_for(struct rig *rig)
{
    struct pawl_job_spec spec = { .idempotency_key = "k", .idempotency_ms = 1000 };
    struct pawl_job_id id = submit_one(rig, &spec);
    rig_advance(rig, 999);
    expire(rig);
    assert_repeats(rig, &spec, id, PAWL_STATE_AVAILABLE);
    rig_advance(rig, 1);
    struct pawl_job_id second = submit_one(rig, &spec); // whether or not anybody swept
    assert_false(same_id(id, second));
    assert_repeats(rig, &spec, second, PAWL_STATE_AVAILABLE);
    rig_advance(rig, 1000);
    expire(rig);
    submit_one(rig, &spec);
    assert_i64(3, count_state(rig, PAWL_STATE_AVAILABLE));
}

static void repeat_in_one_batch_finds_the_first(struct rig *rig)
{
    struct pawl_job_spec spec = { .idempotency_key = "k" };
    struct pawl__new_job jobs[] = { job_new(rig, NULL), job_new(rig, &spec), job_new(rig, NULL),
                                    job_new(rig, &spec) };
    struct pawl_submitted out[COUNT(jobs)] = { 0 };
    assert_ok(rig, submit_jobs(rig, jobs, COUNT(jobs), out, NULL));
    assert_false(out[1].deduplicated);
    assert_true(out[3].deduplicated);
    assert_id(jobs[1].id, out[3].id);
    assert_state(AVAILABLE, out[3].state);
    assert_i64(3, count_jobs(rig, &(struct pawl_filter){ 0 }));
}

static void repeat_beside_new_jobs_stores_the_new_ones(struct rig *rig)
{
    struct pawl_job_spec spec = { .idempotency_key = "k" };
    struct pawl_job_id id = submit_one(rig, &spec);
    struct pawl__new_job jobs[] = { job_new(rig, NULL), job_new(rig, &spec) };
    struct pawl_submitted out[2] = { 0 };
    assert_ok(rig, submit_jobs(rig, jobs, 2, out, NULL));
    assert_id(jobs[0].id, out[0].id);
    assert_id(id, out[1].id);
    assert_i64(2, count_jobs(rig, &(struct pawl_filter){ 0 }));
}

static void failed_submit_does_not_use_up_its_keys(struct rig *rig)
{
    struct pawl_job_id taken = submit_one(rig, NULL);
    struct pawl_job_spec keyed = { .idempotency_key = "k",
                                   .business_key = "b",
                                   .unique = { .keys = PAWL_UNIQUE_TYPE } };
    struct pawl_job_spec clash = { .id = &taken };
    struct pawl__new_job jobs[] = { job_new(rig, &keyed), job_new(rig, &clash) };
    struct pawl_submitted out[2];
    size_t failed = 0;
    assert_err(rig, PAWL_ERR_EXISTS, submit_jobs(rig, jobs, 2, out, &failed));
    assert_int_equal(1, failed);
    submit_one(rig, &keyed);
}

static void repeat_goes_before_every_other_key(struct rig *rig)
{
    struct pawl_job_spec spec = { .idempotency_key = "k",
                                  .business_key = "b",
                                  .unique = { .keys = PAWL_UNIQUE_TYPE } };
    struct pawl_job_id id = submit_one(rig, &spec);
    assert_repeats(rig, &spec, id, PAWL_STATE_AVAILABLE);
    spec.id = &id; // a client that chooses its ids repeats those too
    assert_repeats(rig, &spec, id, PAWL_STATE_AVAILABLE);
}

static void kinds_of_keys_do_not_clash(struct rig *rig)
{
    submit_one(rig, &(struct pawl_job_spec){ .idempotency_key = "same" });
    submit_one(rig, &(struct pawl_job_spec){ .business_key = "same" });
    submit_one(rig,
               &(struct pawl_job_spec){ .type = "same", .unique = { .keys = PAWL_UNIQUE_TYPE } });
    assert_i64(3, count_state(rig, PAWL_STATE_AVAILABLE));
}

/* ---- business keys ---- */

static void business_key_is_owned_by_a_live_job(struct rig *rig)
{
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++) {
        struct pawl_job_spec spec = { .business_key = rig_text(rig, "key-%d", (int)state) };
        struct pawl_job_id id = job_in(rig, state, &spec);
        struct pawl_job_spec next = { .business_key = spec.business_key, .type = "next" };
        if (LIVE_STATES & PAWL_STATE_BIT(state)) {
            assert_refused(rig, &next, id);
        } else {
            struct pawl_job_id owner = submit_one(rig, &next);
            assert_refused(rig, &next, owner);
        }
    }
}

static void business_key_is_owned_while_paused(struct rig *rig)
{
    static const enum pawl_state from[] = { PAWL_STATE_SCHEDULED, PAWL_STATE_PENDING,
                                            PAWL_STATE_RETRYABLE };
    for (size_t i = 0; i < COUNT(from); i++) {
        struct pawl_job_spec spec = { .business_key = rig_text(rig, "key-%zu", i) };
        struct pawl_job_id id = job_in(rig, from[i], &spec);
        assert_ok(rig, control(rig, id, PAWL_CONTROL_PAUSE));
        assert_refused(rig, &(struct pawl_job_spec){ .business_key = spec.business_key }, id);
        assert_ok(rig, control(rig, id, PAWL_CONTROL_RESUME));
        assert_refused(rig, &(struct pawl_job_spec){ .business_key = spec.business_key }, id);
        assert_ok(rig, control(rig, id, PAWL_CONTROL_CANCEL));
        submit_one(rig, &(struct pawl_job_spec){ .business_key = spec.business_key });
    }
}

static void business_key_is_kept_through_failure_and_retry(struct rig *rig)
{
    struct pawl_job_spec spec = { .business_key = "b", .queue = "q" };
    struct pawl_job_id id = submit_one(rig, &spec);
    struct pawl_job job = claim_one(rig, "q");
    assert_refused(rig, &spec, id);
    fail_plain(rig, ref_of(&job));
    assert_refused(rig, &spec, id);
    rig_advance(rig, 100000);
    promote(rig);
    assert_refused(rig, &spec, id);
    job = claim_one(rig, "q");
    assert_refused(rig, &spec, id);
    assert_ok(rig, complete(rig, ref_of(&job), NULL));
    submit_one(rig, &spec);
}

static void business_key_twice_in_a_batch_is_refused(struct rig *rig)
{
    struct pawl_job_spec spec = { .business_key = "b" };
    struct pawl__new_job jobs[] = { job_new(rig, NULL), job_new(rig, &spec), job_new(rig, NULL),
                                    job_new(rig, &spec) };
    struct pawl_submitted out[COUNT(jobs)];
    size_t failed = 0;
    assert_err(rig, PAWL_ERR_DUPLICATE, submit_jobs(rig, jobs, COUNT(jobs), out, &failed));
    assert_int_equal(3, failed);
    assert_string_equal("job [1] of the same batch has the same business_key", rig->diag.text);
    assert_i64(0, count_jobs(rig, &(struct pawl_filter){ 0 }));
    submit_one(rig, &spec);
}

/* Neither the job in hand nor one behind it is what holds the key. */
static void repeat_of_id_and_business_key_is_refused_for_the_first(struct rig *rig)
{
    struct pawl_job_spec spec = { .business_key = "b" };
    struct pawl_job_id id = submit_one(rig, &spec);
    struct pawl__new_job jobs[] = { job_new(rig, &spec), job_new(rig, NULL) };
    for (size_t i = 0; i < COUNT(jobs); i++) {
        jobs[i].id = id;
        jobs[i].fresh_id = false;
        struct pawl_submitted out[COUNT(jobs)];
        struct pawl__op op = { .kind = PAWL__OP_SUBMIT,
                               .diag = &rig->diag,
                               .submit = { .jobs = jobs, .count = COUNT(jobs), .out = out } };
        assert_err(rig, PAWL_ERR_DUPLICATE, pawl__store_do(rig->store, &op));
        rig_keep(rig, &op.arena);
        assert_names_holder(rig, id);
        assert_id(id, op.submit.holder.id);
        jobs[i].id = rig_id(rig);
    }
}

static void deleted_job_frees_its_business_key(struct rig *rig)
{
    struct pawl_job_spec spec = { .business_key = "b" };
    struct pawl_job_id id = job_in(rig, PAWL_STATE_DISCARDED, &spec);
    assert_ok(rig, delete_job(rig, id));
    submit_one(rig, &spec);
}

static void retried_job_owns_its_business_key_again(struct rig *rig)
{
    static const enum pawl_state ended[] = { PAWL_STATE_CANCELLED, PAWL_STATE_DISCARDED,
                                             PAWL_STATE_EXPIRED };
    for (size_t i = 0; i < COUNT(ended); i++) {
        struct pawl_job_spec spec = { .business_key = rig_text(rig, "key-%zu", i) };
        struct pawl_job_id id = job_in(rig, ended[i], &spec);
        assert_ok(rig, control(rig, id, PAWL_CONTROL_RETRY));
        assert_refused(rig, &(struct pawl_job_spec){ .business_key = spec.business_key }, id);
    }
}

static void retry_is_refused_while_another_owns_the_key(struct rig *rig)
{
    static const enum pawl_state ended[] = { PAWL_STATE_CANCELLED, PAWL_STATE_DISCARDED,
                                             PAWL_STATE_EXPIRED };
    for (size_t i = 0; i < COUNT(ended); i++) {
        struct pawl_job_spec spec = { .business_key = rig_text(rig, "key-%zu", i) };
        struct pawl_job_id id = job_in(rig, ended[i], &spec);
        struct pawl_job_id owner =
            submit_one(rig, &(struct pawl_job_spec){ .business_key = spec.business_key });
        const char *before = job_text(rig, id);
        assert_err(rig, PAWL_ERR_DUPLICATE, control(rig, id, PAWL_CONTROL_RETRY));
        assert_names_holder(rig, owner);
        assert_text(before, job_text(rig, id));
        assert_ok(rig, control(rig, owner, PAWL_CONTROL_CANCEL));
        assert_ok(rig, control(rig, id, PAWL_CONTROL_RETRY));
        assert_err(rig, PAWL_ERR_DUPLICATE, control(rig, owner, PAWL_CONTROL_RETRY));
    }
}

static void key_clash_stops_all_of_a_bulk_retry(struct rig *rig)
{
    struct pawl_job_id ids[5];
    for (size_t i = 0; i < COUNT(ids); i++) {
        struct pawl_job_spec spec = { .business_key = rig_text(rig, "key-%zu", i) };
        ids[i] = job_in(rig, PAWL_STATE_DISCARDED, &spec);
    }
    struct pawl_job_id owner = submit_one(rig, &(struct pawl_job_spec){ .business_key = "key-3" });
    int64_t moved = -1;
    struct pawl_filter filter = { .states = PAWL_STATE_BIT(PAWL_STATE_DISCARDED) };
    assert_err(rig, PAWL_ERR_DUPLICATE, bulk(rig, &filter, PAWL_CONTROL_RETRY, 100, &moved));
    assert_i64(5, count_state(rig, PAWL_STATE_DISCARDED));
    assert_ok(rig, control(rig, owner, PAWL_CONTROL_CANCEL));
    assert_ok(rig, bulk(rig, &filter, PAWL_CONTROL_RETRY, 100, &moved));
    assert_i64(5, moved);
    assert_i64(5, count_state(rig, PAWL_STATE_AVAILABLE));
}

/* Two ended jobs of one key: whichever is retried first owns it. */
static void bulk_retry_of_one_key_twice_moves_nothing(struct rig *rig)
{
    job_in(rig, PAWL_STATE_DISCARDED, &(struct pawl_job_spec){ .business_key = "b" });
    job_in(rig, PAWL_STATE_DISCARDED, &(struct pawl_job_spec){ .business_key = "b" });
    struct pawl_filter filter = { .states = PAWL_STATE_BIT(PAWL_STATE_DISCARDED) };
    assert_err(rig, PAWL_ERR_DUPLICATE, bulk(rig, &filter, PAWL_CONTROL_RETRY, 100, NULL));
    assert_i64(2, count_state(rig, PAWL_STATE_DISCARDED));
    assert_ok(rig, bulk(rig, &filter, PAWL_CONTROL_RETRY, 1, NULL));
    assert_i64(1, count_state(rig, PAWL_STATE_AVAILABLE));
}

/* ---- unique policies ---- */

static struct pawl_job_spec unique_spec(enum pawl_conflict on_conflict)
{
    return (struct pawl_job_spec){
        .type = "report", .unique = { .keys = PAWL_UNIQUE_TYPE, .on_conflict = on_conflict }
    };
}

static void unique_rejects_while_the_holder_is_live(struct rig *rig)
{
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++) {
        struct pawl_job_spec spec = unique_spec(PAWL_CONFLICT_REJECT);
        spec.type = rig_text(rig, "type-%d", (int)state);
        struct pawl_job_id id = job_in(rig, state, &spec);
        if (LIVE_STATES & PAWL_STATE_BIT(state)) {
            assert_refused(rig, &spec, id);
        } else {
            submit_one(rig, &spec);
        }
    }
}

static void unique_counts_the_states_asked_for(struct rig *rig)
{
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++) {
        struct pawl_job_spec spec = unique_spec(PAWL_CONFLICT_REJECT);
        spec.type = rig_text(rig, "type-%d", (int)state);
        struct pawl_job_id id = job_in(rig, state, &spec);
        spec.unique.states = PAWL_STATE_BIT(state);
        assert_refused(rig, &spec, id);
        spec.unique.states = ALL_STATES & ~PAWL_STATE_BIT(state);
        submit_one(rig, &spec);
    }
}

static void unique_counts_only_holders_younger_than_the_period(struct rig *rig)
{
    struct pawl_job_spec spec = unique_spec(PAWL_CONFLICT_REJECT);
    spec.unique.period_ms = 1000;
    struct pawl_job_id id = submit_one(rig, &spec);
    rig_advance(rig, 999);
    assert_refused(rig, &spec, id);
    rig_advance(rig, 1);
    struct pawl_job_id second = submit_one(rig, &spec);
    assert_refused(rig, &spec, second);
    spec.unique.period_ms = 0;
    assert_err(rig, PAWL_ERR_DUPLICATE, submit_spec(rig, &spec, NULL));
}

static void unique_ignore_answers_with_the_holder(struct rig *rig)
{
    struct pawl_job_spec spec = unique_spec(PAWL_CONFLICT_IGNORE);
    struct pawl_job_id id = submit_one(rig, &spec);
    assert_repeats(rig, &spec, id, PAWL_STATE_AVAILABLE);
    claim_one(rig, "default");
    assert_repeats(rig, &spec, id, PAWL_STATE_ACTIVE);
    assert_ok(rig, control(rig, id, PAWL_CONTROL_CANCEL));
    submit_one(rig, &spec);
}

static void unique_replace_cancels_the_holder(struct rig *rig)
{
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++) {
        if (!(LIVE_STATES & PAWL_STATE_BIT(state))) continue;
        struct pawl_job_spec spec = unique_spec(PAWL_CONFLICT_REPLACE);
        spec.type = rig_text(rig, "type-%d", (int)state);
        struct pawl_job_id id = job_in(rig, state, &spec);
        struct pawl_submitted out = { 0 };
        assert_ok(rig, submit_spec(rig, &spec, &out));
        assert_true(out.replaced);
        assert_false(out.deduplicated);
        assert_state(AVAILABLE, out.state);
        assert_state(AVAILABLE, state_of(rig, out.id));
        struct pawl_job old = job_get(rig, id);
        assert_state(CANCELLED, old.state);
        assert_i64(rig_now(rig), old.finished_at_ms);
        assert_true(old.reason[0] != '\0');
    }
}

static void replaced_run_is_fenced_off(struct rig *rig)
{
    struct pawl_job_spec spec = unique_spec(PAWL_CONFLICT_REPLACE);
    submit_one(rig, &spec);
    struct pawl_job job = claim_one(rig, "default");
    submit_one(rig, &spec);
    assert_err(rig, PAWL_ERR_STALE, complete(rig, ref_of(&job), NULL));
    assert_err(rig, PAWL_ERR_STALE, extend(rig, ref_of(&job), LEASE_MS));
}

static void replace_except_schedule_keeps_the_holders_time(struct rig *rig)
{
    struct pawl_job_spec spec = unique_spec(PAWL_CONFLICT_REPLACE_EXCEPT_SCHEDULE);
    spec.delay_ms = 60000;
    int64_t due = rig_now(rig) + 60000;
    struct pawl_job_id id = submit_one(rig, &spec);
    rig_advance(rig, 1000);
    spec.delay_ms = 5;
    spec.args = span_of("[\"new\"]");
    struct pawl_submitted out = { 0 };
    assert_ok(rig, submit_spec(rig, &spec, &out));
    assert_true(out.replaced);
    assert_state(SCHEDULED, out.state);
    assert_state(CANCELLED, state_of(rig, id));
    struct pawl_job job = job_get(rig, out.id);
    assert_i64(due, job.due_at_ms);
    assert_span(spec.args, job.args);
}

static void plain_replace_takes_the_newcomers_time(struct rig *rig)
{
    struct pawl_job_spec spec = unique_spec(PAWL_CONFLICT_REPLACE);
    spec.delay_ms = 60000;
    submit_one(rig, &spec);
    rig_advance(rig, 1000);
    spec.delay_ms = 5;
    struct pawl_submitted out = { 0 };
    assert_ok(rig, submit_spec(rig, &spec, &out));
    assert_i64(rig_now(rig) + 5, job_get(rig, out.id).due_at_ms);
}

static void failed_batch_replaces_nobody(struct rig *rig)
{
    struct pawl_job_spec spec = unique_spec(PAWL_CONFLICT_REPLACE);
    struct pawl_job_id holder = submit_one(rig, &spec);
    const char *before = job_text(rig, holder);
    struct pawl_job_spec clash = { .id = &holder };
    struct pawl__new_job jobs[] = { job_new(rig, &spec), job_new(rig, &clash) };
    struct pawl_submitted out[2];
    assert_err(rig, PAWL_ERR_EXISTS, submit_jobs(rig, jobs, 2, out, NULL));
    assert_text(before, job_text(rig, holder));
    spec.unique.on_conflict = PAWL_CONFLICT_REJECT;
    assert_refused(rig, &spec, holder);
}

static void unique_policies_hold_inside_a_batch(struct rig *rig)
{
    struct pawl_job_spec reject = unique_spec(PAWL_CONFLICT_REJECT);
    struct pawl__new_job two[] = { job_new(rig, &reject), job_new(rig, &reject) };
    struct pawl_submitted out[2];
    size_t failed = 0;
    assert_err(rig, PAWL_ERR_DUPLICATE, submit_jobs(rig, two, 2, out, &failed));
    assert_int_equal(1, failed);
    assert_i64(0, count_jobs(rig, &(struct pawl_filter){ 0 }));

    struct pawl_job_spec ignore = unique_spec(PAWL_CONFLICT_IGNORE);
    struct pawl__new_job same[] = { job_new(rig, &ignore), job_new(rig, &ignore) };
    assert_ok(rig, submit_jobs(rig, same, 2, out, NULL));
    assert_true(out[1].deduplicated);
    assert_id(out[0].id, out[1].id);
    assert_i64(1, count_jobs(rig, &(struct pawl_filter){ 0 }));
}

static void differing_dimensions_are_different_jobs(struct rig *rig)
{
    struct pawl_job_spec spec = unique_spec(PAWL_CONFLICT_REJECT);
    spec.unique.keys = PAWL_UNIQUE_TYPE | PAWL_UNIQUE_QUEUE | PAWL_UNIQUE_ARGS;
    spec.args = span_of("[1]");
    spec.queue = "a";
    struct pawl_job_id id = submit_one(rig, &spec);
    assert_refused(rig, &spec, id);
    spec.args = span_of("[2]");
    submit_one(rig, &spec);
    spec.queue = "b";
    submit_one(rig, &spec);
}

/* A key is held by many ended jobs, and the live one among them must be found. */
static void live_holder_is_found_among_many_ended_ones(struct rig *rig)
{
    struct pawl_job_spec spec = { .business_key = "b" };
    struct pawl_job_id first = submit_one(rig, &spec);
    assert_ok(rig, control(rig, first, PAWL_CONTROL_CANCEL));
    for (int i = 0; i < 40; i++) {
        struct pawl_job_id id = submit_one(rig, &spec);
        assert_ok(rig, control(rig, id, PAWL_CONTROL_CANCEL));
    }
    assert_ok(rig, control(rig, first, PAWL_CONTROL_RETRY));
    assert_refused(rig, &spec, first);
}

/* Set aside after it ended, it is live again, and so is its claim to the key. */
static void holder_paused_after_ending_owns_its_key(struct rig *rig)
{
    for (int later = 0; later <= 40; later += 40) {
        struct pawl_job_spec spec = { .business_key = rig_text(rig, "key-%d", later) };
        struct pawl_job_id id = job_in(rig, PAWL_STATE_DISCARDED, &spec);
        for (int i = 0; i < later; i++) {
            struct pawl_job_id other = submit_one(rig, &spec);
            assert_ok(rig, control(rig, other, PAWL_CONTROL_CANCEL));
        }
        assert_ok(rig, control(rig, id, PAWL_CONTROL_PAUSE));
        assert_refused(rig, &spec, id);
        assert_ok(rig, control(rig, id, PAWL_CONTROL_RESUME));
        submit_one(rig, &spec);
    }
}

/* It can only go back or be cancelled, so its claim to the key stands in nobody's way. */
static void dead_letter_may_be_paused_whoever_owns_its_key(struct rig *rig)
{
    struct pawl_job_spec spec = { .business_key = "b" };
    struct pawl_job_id id = job_in(rig, PAWL_STATE_DISCARDED, &spec);
    struct pawl_job_id owner = submit_one(rig, &(struct pawl_job_spec){ .business_key = "b" });
    assert_ok(rig, control(rig, id, PAWL_CONTROL_PAUSE));
    assert_ok(rig, control(rig, id, PAWL_CONTROL_RESUME));
    struct pawl_filter dead = { .states = PAWL_STATE_BIT(PAWL_STATE_DISCARDED) };
    int64_t moved = 0;
    assert_ok(rig, bulk(rig, &dead, PAWL_CONTROL_PAUSE, 10, &moved));
    assert_i64(1, moved);
    assert_ok(rig, control(rig, owner, PAWL_CONTROL_CANCEL));
    assert_refused(rig, &(struct pawl_job_spec){ .business_key = "b" }, id);
}

static void unique_replace_of_an_ended_holder_cancels_nobody(struct rig *rig)
{
    struct pawl_job_spec spec = unique_spec(PAWL_CONFLICT_REPLACE);
    spec.unique.states = ALL_STATES;
    struct pawl_job_id id = job_in(rig, PAWL_STATE_COMPLETED, &spec);
    const char *before = job_text(rig, id);
    struct pawl_submitted out = { 0 };
    assert_ok(rig, submit_spec(rig, &spec, &out));
    assert_false(out.replaced);
    assert_false(out.deduplicated);
    assert_text(before, job_text(rig, id));
    assert_ok(rig, submit_spec(rig, &spec, &out));
    assert_true(out.replaced);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(repeat_finds_the_original_in_every_state),
        CONTRACT(repeat_finds_the_original_after_delete),
        CONTRACT(repeat_finds_the_original_after_archive_and_purge),
        CONTRACT(idempotency_key_is_kept_for_the_time_asked_for),
        CONTRACT(repeat_in_one_batch_finds_the_first),
        CONTRACT(repeat_beside_new_jobs_stores_the_new_ones),
        CONTRACT(failed_submit_does_not_use_up_its_keys),
        CONTRACT(repeat_goes_before_every_other_key),
        CONTRACT(kinds_of_keys_do_not_clash),
        CONTRACT(business_key_is_owned_by_a_live_job),
        CONTRACT(business_key_is_owned_while_paused),
        CONTRACT(business_key_is_kept_through_failure_and_retry),
        CONTRACT(business_key_twice_in_a_batch_is_refused),
        CONTRACT(repeat_of_id_and_business_key_is_refused_for_the_first),
        CONTRACT(deleted_job_frees_its_business_key),
        CONTRACT(retried_job_owns_its_business_key_again),
        CONTRACT(retry_is_refused_while_another_owns_the_key),
        CONTRACT(key_clash_stops_all_of_a_bulk_retry),
        CONTRACT(bulk_retry_of_one_key_twice_moves_nothing),
        CONTRACT(unique_rejects_while_the_holder_is_live),
        CONTRACT(unique_counts_the_states_asked_for),
        CONTRACT(unique_counts_only_holders_younger_than_the_period),
        CONTRACT(unique_ignore_answers_with_the_holder),
        CONTRACT(unique_replace_cancels_the_holder),
        CONTRACT(replaced_run_is_fenced_off),
        CONTRACT(replace_except_schedule_keeps_the_holders_time),
        CONTRACT(plain_replace_takes_the_newcomers_time),
        CONTRACT(failed_batch_replaces_nobody),
        CONTRACT(unique_policies_hold_inside_a_batch),
        CONTRACT(differing_dimensions_are_different_jobs),
        CONTRACT(live_holder_is_found_among_many_ended_ones),
        CONTRACT(holder_paused_after_ending_owns_its_key),
        CONTRACT(dead_letter_may_be_paused_whoever_owns_its_key),
        CONTRACT(unique_replace_of_an_ended_holder_cancels_nobody),
    };
    return contract_run("keys", tests, COUNT(tests));
}
