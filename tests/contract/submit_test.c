/* Submitting: what is stored, the initial state, and that a failed submission leaves nothing. */
#include "support/ops.h"

static void plain_job_is_available_at_once(struct rig *rig)
{
    struct pawl_submitted out = { 0 };
    assert_ok(rig, submit_spec(rig, NULL, &out));
    assert_state(AVAILABLE, out.state);
    assert_false(out.deduplicated);
    assert_false(out.replaced);
    struct pawl_job job = job_get(rig, out.id);
    assert_state(AVAILABLE, job.state);
    assert_i64(rig_now(rig), job.created_at_ms);
    assert_i64(rig_now(rig), job.due_at_ms);
}

static void what_was_not_given_is_empty(struct rig *rig)
{
    struct pawl_job job = job_get(rig, submit_one(rig, NULL));
    assert_text("work", job.type);
    assert_text("default", job.queue);
    assert_span(span_of("[]"), job.args);
    assert_int_equal(PAWL_STATE_NONE, job.paused_from);
    assert_int_equal(0, job.priority);
    assert_int_equal(3, job.attempts_max);
    assert_i64(0, job.attempt + job.run + job.free_runs);
    assert_i64(0, job.expires_at_ms + job.started_at_ms + job.lease_until_ms + job.finished_at_ms);
    assert_i64(0, job.timeout_ms + job.lease_ms + job.keep_ms);
    assert_i64(0, job.sla_soft_at_ms + job.sla_hard_at_ms);
    assert_false(job.dead_letter);
    assert_false(job.archived);
    assert_text("", job.worker);
    assert_text("", job.reason);
    assert_text("", job.idempotency_key);
    assert_text("", job.business_key);
    assert_text("", job.principal);
    assert_text("", job.trace_id);
    assert_i64(0, (int64_t)(job.meta.len + job.extra.len + job.tags.len + job.unique.len));
    assert_i64(0, (int64_t)job.result.len);
}

static void everything_given_comes_back(struct rig *rig)
{
    const char *const tags[] = { "a", "b c", "\"quoted\"", "é" };
    const char *const final[] = { "auth.*", "fatal" };
    int64_t now = rig_now(rig);
    struct pawl_job_spec spec = { .type = "mail.send",
                                  .queue = "mail",
                                  .args = span_of("[ 1.50, \"\\u0000\", null ]"),
                                  .meta = span_of("{\"tenant\":\"acme\", \"n\":1e3}"),
                                  .extra = span_of("{\"schema\":\"urn:x\"}"),
                                  .tags = tags,
                                  .tag_count = COUNT(tags),
                                  .priority = 42,
                                  .delay_ms = 5000,
                                  .expires_in_ms = 60000,
                                  .timeout_ms = 1500,
                                  .lease_ms = 2500,
                                  .sla_soft_at_ms = now + 1,
                                  .sla_hard_at_ms = now + 2,
                                  .keep_ms = 86400000,
                                  .retry = { .attempts_max = 7,
                                             .backoff = PAWL_BACKOFF_LINEAR,
                                             .initial_ms = 123,
                                             .non_retryable = final,
                                             .non_retryable_count = 2,
                                             .on_exhaustion = PAWL_EXHAUSTION_DEAD_LETTER },
                                  .idempotency_key = "idem",
                                  .business_key = "bus",
                                  .unique = { .keys = PAWL_UNIQUE_TYPE },
                                  .principal = "ada@example.com",
                                  .trace_id = "4bf92f3577b34da6a3ce929d0e0e4736" };
    struct pawl__new_job new_job = job_new(rig, &spec);
    struct pawl_submitted out = { 0 };
    assert_ok(rig, submit_jobs(rig, &new_job, 1, &out, NULL));
    assert_id(new_job.id, out.id);
    struct pawl_job job = job_get(rig, out.id);
    assert_state(SCHEDULED, job.state);
    assert_text("mail.send", job.type);
    assert_text("mail", job.queue);
    assert_span(spec.args, job.args);
    assert_span(spec.meta, job.meta);
    assert_span(spec.extra, job.extra);
    assert_span(new_job.tags, job.tags);
    assert_span(new_job.retry, job.retry);
    assert_span(new_job.unique, job.unique);
    assert_int_equal(42, job.priority);
    assert_int_equal(7, job.attempts_max);
    assert_i64(now + 5000, job.due_at_ms);
    assert_i64(now + 65000, job.expires_at_ms);
    assert_i64(1500, job.timeout_ms);
    assert_i64(2500, job.lease_ms);
    assert_i64(now + 1, job.sla_soft_at_ms);
    assert_i64(now + 2, job.sla_hard_at_ms);
    assert_i64(86400000, job.keep_ms);
    assert_text("idem", job.idempotency_key);
    assert_text("bus", job.business_key);
    assert_text("ada@example.com", job.principal);
    assert_text("4bf92f3577b34da6a3ce929d0e0e4736", job.trace_id);
}

/* Read, claimed and archived. */
static void fields_come_back(struct rig *rig, const struct pawl_job_spec *spec, size_t count)
{
    int64_t at_ms = rig_now(rig);
    struct pawl__new_job wanted = job_new(rig, spec);
    struct pawl_job_id *ids = submit_n(rig, count, spec);
    for (size_t i = 0; i < count; i++) {
        struct pawl_job job = job_get(rig, ids[i]);
        wanted.id = ids[i];
        assert_submitted(&wanted, at_ms, &job);
    }
    struct claimed claimed = claim_n(rig, "full", 100);
    assert_int_equal(count, claimed.count);
    for (size_t i = 0; i < count; i++) {
        wanted.id = ids[i];
        assert_submitted(&wanted, at_ms, &claimed.at[i]);
        assert_ok(rig, complete(rig, ref_of(&claimed.at[i]), NULL));
    }
    rig_advance(rig, 10 * spec->keep_ms);
    assert_i64((int64_t)count, archive_all(rig));
    for (size_t i = 0; i < count; i++) {
        struct pawl_job job = job_get(rig, ids[i]);
        assert_true(job.archived);
        wanted.id = ids[i];
        assert_submitted(&wanted, at_ms, &job);
    }
}

static void every_field_of_the_list_comes_back(struct rig *rig)
{
    struct pawl_job_spec spec = spec_full(rig);
    fields_come_back(rig, &spec, 1);
    spec.idempotency_key = spec.business_key = NULL; // and on the fast path
    spec.idempotency_ms = 0;
    fields_come_back(rig, &spec, 8);
}

static void first_state_follows_from_the_spec(struct rig *rig)
{
    int64_t now = rig_now(rig);
    const struct {
        struct pawl_job_spec spec;
        enum pawl_state state;
        int64_t due_at_ms;
    } cases[] = {
        { { .delay_ms = 1 }, PAWL_STATE_SCHEDULED, now + 1 },
        { { .due_at_ms = now + 1 }, PAWL_STATE_SCHEDULED, now + 1 },
        { { .due_at_ms = now }, PAWL_STATE_AVAILABLE, now },
        { { .due_at_ms = now - 1000 }, PAWL_STATE_AVAILABLE, now },
        { { .due_at_ms = 1 }, PAWL_STATE_AVAILABLE, now },
        { { .pending = true }, PAWL_STATE_PENDING, now },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pawl_submitted out = { 0 };
        assert_ok(rig, submit_spec(rig, &cases[i].spec, &out));
        struct pawl_job job = job_get(rig, out.id);
        assert_int_equal(cases[i].state, out.state);
        assert_int_equal(cases[i].state, job.state);
        assert_i64(cases[i].due_at_ms, job.due_at_ms);
    }
}

static void held_job_is_not_handed_out_until_activated(struct rig *rig)
{
    struct pawl_job_id id = submit_one(rig, &(struct pawl_job_spec){ .pending = true });
    rig_advance(rig, 100 * LEASE_MS);
    assert_i64(0, promote(rig).moved);
    assert_i64(0, lapse(rig).moved);
    assert_int_equal(0, claim_n(rig, "default", 1).count);
    assert_ok(rig, control(rig, id, PAWL_CONTROL_ACTIVATE));
    assert_id(id, claim_one(rig, "default").id);
}

static void taken_id_is_refused_by_name(struct rig *rig)
{
    struct pawl_job_id id = submit_one(rig, &(struct pawl_job_spec){ .type = "first" });
    const char *before = job_text(rig, id);
    struct pawl_job_spec again = { .id = &id, .type = "second" };
    assert_err(rig, PAWL_ERR_EXISTS, submit_spec(rig, &again, NULL));
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    assert_within(text, rig->diag.text);
    assert_int_equal(PAWL_ERR_EXISTS, rig->diag.err);
    assert_text(before, job_text(rig, id));
    assert_i64(1, count_jobs(rig, &(struct pawl_filter){ 0 }));
}

static void id_stays_taken_in_every_state(struct rig *rig)
{
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++) {
        struct pawl_job_id id = job_in(rig, state, NULL);
        assert_err(rig, PAWL_ERR_EXISTS,
                   submit_spec(rig, &(struct pawl_job_spec){ .id = &id }, NULL));
        assert_int_equal(state, state_of(rig, id));
    }
}

static void id_of_an_archived_job_is_taken(struct rig *rig)
{
    struct pawl_job_id id = job_in(rig, PAWL_STATE_COMPLETED, NULL);
    rig_advance(rig, 1);
    assert_i64(1, archive_all(rig));
    assert_err(rig, PAWL_ERR_EXISTS, submit_spec(rig, &(struct pawl_job_spec){ .id = &id }, NULL));
    assert_true(job_get(rig, id).archived);
}

static void many_are_stored_in_one_step(struct rig *rig)
{
    static const size_t counts[] = { 1, 2, 499, 500, 501, 999, 1000, 1001, 2048, 2049 };
    int64_t total = 0;
    for (size_t i = 0; i < COUNT(counts); i++) {
        struct pawl_job_id *ids = submit_n(rig, counts[i], NULL);
        total += (int64_t)counts[i];
        assert_i64(total, count_state(rig, PAWL_STATE_AVAILABLE));
        assert_state(AVAILABLE, state_of(rig, ids[0]));
        assert_state(AVAILABLE, state_of(rig, ids[counts[i] - 1]));
    }
}

static void largest_batch_is_one_step(struct rig *rig)
{
    submit_n(rig, PAWL_BATCH_MAX, NULL);
    assert_i64(PAWL_BATCH_MAX, count_state(rig, PAWL_STATE_AVAILABLE));
}

/* Fill `jobs` with fresh ones, but number `bad` takes the id of `of`. */
static void fill(struct rig *rig, struct pawl__new_job *jobs, size_t count, size_t bad,
                 struct pawl_job_id of)
{
    for (size_t i = 0; i < count; i++)
        jobs[i] = job_new(rig, i == bad ? &(struct pawl_job_spec){ .id = &of } : NULL);
}

static void failure_anywhere_stores_nothing(struct rig *rig)
{
    struct pawl_job_id taken = submit_one(rig, NULL);
    static const size_t places[] = { 0, 1, 499, 500, 501, 1000, 1199 };
    static struct pawl__new_job jobs[1200];
    static struct pawl_submitted out[1200];
    for (size_t i = 0; i < COUNT(places); i++) {
        fill(rig, jobs, COUNT(jobs), places[i], taken);
        size_t failed = SIZE_MAX;
        assert_err(rig, PAWL_ERR_EXISTS, submit_jobs(rig, jobs, COUNT(jobs), out, &failed));
        assert_int_equal(places[i], failed);
        assert_i64(1, count_jobs(rig, &(struct pawl_filter){ 0 }));
        assert_false(job_exists(rig, jobs[places[i] == 0 ? 1 : 0].id));
    }
    struct pawl__new_job *good = &jobs[0];
    assert_ok(rig, submit_jobs(rig, good, 1, out, NULL)); // its id was left free
}

static void refused_submit_sets_no_results(struct rig *rig)
{
    struct pawl_job_id taken = submit_one(rig, NULL);
    struct pawl__new_job jobs[3];
    fill(rig, jobs, 3, 2, taken);
    struct pawl_submitted out[3], untouched[3];
    memset(out, 0x5a, sizeof out);
    memset(untouched, 0x5a, sizeof untouched);
    assert_err(rig, PAWL_ERR_EXISTS, submit_jobs(rig, jobs, 3, out, NULL));
    assert_memory_equal(untouched, out, sizeof out);
}

static void same_id_twice_in_a_batch_is_refused(struct rig *rig)
{
    struct pawl__new_job jobs[3];
    fill(rig, jobs, 3, 3, (struct pawl_job_id){ { 0 } });
    jobs[2].id = jobs[0].id;
    struct pawl_submitted out[3];
    size_t failed = SIZE_MAX;
    assert_err(rig, PAWL_ERR_EXISTS, submit_jobs(rig, jobs, 3, out, &failed));
    assert_int_equal(2, failed);
    assert_i64(0, count_jobs(rig, &(struct pawl_filter){ .archived = true }));
}

static void ids_that_share_eight_bytes_are_different_jobs(struct rig *rig)
{
    struct pawl_job_id ids[20];
    for (size_t i = 0; i < COUNT(ids); i++) {
        ids[i] = i == 0 ? rig_id(rig) : ids[0];
        ids[i].b[9] = (uint8_t)(i * 13);
        submit_one(rig, &(struct pawl_job_spec){ .id = &ids[i], .priority = (int32_t)i });
    }
    for (size_t i = 0; i < COUNT(ids); i++)
        assert_int_equal(i, job_get(rig, ids[i]).priority);
    struct pawl_job_spec again = { .id = &ids[3] };
    assert_err(rig, PAWL_ERR_EXISTS, submit_spec(rig, &again, NULL));
    struct pawl_job_id unknown = ids[0];
    unknown.b[15] ^= 0x55;
    assert_false(job_exists(rig, unknown));
    assert_ok(rig, control(rig, ids[7], PAWL_CONTROL_CANCEL));
    assert_ok(rig, delete_job(rig, ids[7]));
    assert_false(job_exists(rig, ids[7]));
    assert_i64(19, count_state(rig, PAWL_STATE_AVAILABLE));
    submit_one(rig, &(struct pawl_job_spec){ .id = &ids[7] });
}

static void any_bytes_are_an_id(struct rig *rig)
{
    static const struct pawl_job_id ids[] = {
        { { 0 } },
        { { 0, 0, 0, 0, 0, 0, 0, 1 } },
        { { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
            0xff, 0xff } },
        { { 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
            0xff, 0xff } },
        { { 0x80 } },
        { { 0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x41, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4,
            0x30, 0xc8 } }, // version 4
    };
    for (size_t i = 0; i < COUNT(ids); i++)
        submit_one(rig, &(struct pawl_job_spec){ .id = &ids[i] });
    struct claimed jobs = claim_n(rig, "default", 100);
    assert_int_equal(COUNT(ids), jobs.count);
    for (size_t i = 0; i < jobs.count; i++)
        assert_ok(rig, complete(rig, ref_of(&jobs.at[i]), NULL));
    for (size_t i = 0; i < COUNT(ids); i++) {
        assert_state(COMPLETED, state_of(rig, ids[i]));
        assert_ok(rig, delete_job(rig, ids[i]));
    }
}

static void large_multibyte_values_come_back_whole(struct rig *rig)
{
    struct pawl_span big = rig_multibyte(rig, 256 * 1024, true);
    struct pawl_job_spec spec = { .args = big };
    struct pawl_job job = job_get(rig, submit_one(rig, &spec));
    assert_span(big, job.args);
    assert_span(big, claim_one(rig, "default").args);
}

static void largest_payload_comes_back_whole(struct rig *rig)
{
    struct pawl_span big = rig_multibyte(rig, PAWL_PAYLOAD_BYTES_MAX, true);
    struct pawl_job job = job_get(rig, submit_one(rig, &(struct pawl_job_spec){ .args = big }));
    assert_span(big, job.args);
}

static void names_may_be_of_any_letters_and_full_length(struct rig *rig)
{
    struct pawl_span type = rig_multibyte(rig, PAWL_TYPE_BYTES_MAX, false);
    struct pawl_span queue = rig_multibyte(rig, PAWL_QUEUE_BYTES_MAX, false);
    struct pawl_span key = rig_multibyte(rig, PAWL_KEY_BYTES_MAX, false);
    struct pawl_job_id id = submit_one(rig, &(struct pawl_job_spec){ .type = type.at,
                                                                     .queue = queue.at,
                                                                     .business_key = key.at,
                                                                     .idempotency_key = key.at,
                                                                     .principal = key.at });
    struct pawl_job job = claim_one(rig, queue.at);
    assert_id(id, job.id);
    assert_text(type.at, job.type);
    assert_text(queue.at, job.queue);
    assert_text(key.at, job.business_key);
    assert_text(key.at, job.idempotency_key);
    assert_text(key.at, job.principal);
    struct pawl_filter filter = { .business_key = key.at };
    assert_i64(1, count_jobs(rig, &filter));
}

static void extreme_numbers_come_back(struct rig *rig)
{
    struct pawl_job_spec spec = { .priority = PAWL_PRIORITY_MIN,
                                  .due_at_ms = INSTANT_MAX_MS,
                                  .expires_at_ms = INSTANT_MAX_MS,
                                  .timeout_ms = DURATION_MAX_MS,
                                  .lease_ms = DURATION_MAX_MS,
                                  .sla_soft_at_ms = INSTANT_MAX_MS,
                                  .sla_hard_at_ms = INSTANT_MAX_MS,
                                  .keep_ms = DURATION_MAX_MS,
                                  .retry = { .attempts_max = INT32_MAX } };
    struct pawl_job job = job_get(rig, submit_one(rig, &spec));
    assert_state(SCHEDULED, job.state);
    assert_int_equal(PAWL_PRIORITY_MIN, job.priority);
    assert_i64(INSTANT_MAX_MS, job.due_at_ms);
    assert_i64(INSTANT_MAX_MS, job.expires_at_ms);
    assert_i64(DURATION_MAX_MS, job.timeout_ms);
    assert_i64(DURATION_MAX_MS, job.lease_ms);
    assert_i64(INSTANT_MAX_MS, job.sla_soft_at_ms);
    assert_i64(INSTANT_MAX_MS, job.sla_hard_at_ms);
    assert_i64(DURATION_MAX_MS, job.keep_ms);
    assert_int_equal(INT32_MAX, job.attempts_max);
    spec = (struct pawl_job_spec){ .due_at_ms = INSTANT_MAX_MS, .expires_in_ms = DURATION_MAX_MS };
    job = job_get(rig, submit_one(rig, &spec));
    assert_i64(INSTANT_MAX_MS + DURATION_MAX_MS, job.expires_at_ms);
}

static void job_is_there_after_a_restart(struct rig *rig)
{
    struct pawl_job_id id = submit_one(rig, &(struct pawl_job_spec){ .business_key = "k" });
    const char *before = job_text(rig, id);
    rig_reopen(rig);
    assert_text(before, job_text(rig, id));
    assert_err(rig, PAWL_ERR_DUPLICATE,
               submit_spec(rig, &(struct pawl_job_spec){ .business_key = "k" }, NULL));
}

/* An id of just now that came out of order the first time, and in order when the client, which got
 * no answer, submits it again: to another process, or to this one after a restart. */
static void id_is_taken_whatever_the_order_of_its_arrival(struct rig *rig)
{
    for (int plain = 0; plain < 2; plain++) {
        struct pawl_job_id id = rig_id(rig);
        struct pawl_job_spec spec = { .id = &id };
        struct pawl__new_job late = job_new(rig, &spec), again = job_new(rig, &spec);
        struct pawl_submitted out;
        late.arrival = rig_id(rig);
        again.arrival = plain ? id : (struct pawl_job_id){ { 0 } };
        assert_ok(rig, submit_jobs(rig, &late, 1, &out, NULL));
        assert_err(rig, PAWL_ERR_EXISTS, submit_jobs(rig, &again, 1, &out, NULL));
    }
    assert_int_equal(2, claim_n(rig, "default", 10).count);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(plain_job_is_available_at_once),
        CONTRACT(what_was_not_given_is_empty),
        CONTRACT(everything_given_comes_back),
        CONTRACT(every_field_of_the_list_comes_back),
        CONTRACT(first_state_follows_from_the_spec),
        CONTRACT(held_job_is_not_handed_out_until_activated),
        CONTRACT(taken_id_is_refused_by_name),
        CONTRACT(id_stays_taken_in_every_state),
        CONTRACT(id_of_an_archived_job_is_taken),
        CONTRACT(many_are_stored_in_one_step),
        CONTRACT(largest_batch_is_one_step),
        CONTRACT(failure_anywhere_stores_nothing),
        CONTRACT(refused_submit_sets_no_results),
        CONTRACT(same_id_twice_in_a_batch_is_refused),
        CONTRACT(ids_that_share_eight_bytes_are_different_jobs),
        CONTRACT(any_bytes_are_an_id),
        CONTRACT(large_multibyte_values_come_back_whole),
        CONTRACT(largest_payload_comes_back_whole),
        CONTRACT(names_may_be_of_any_letters_and_full_length),
        CONTRACT(extreme_numbers_come_back),
        CONTRACT(id_is_taken_whatever_the_order_of_its_arrival),
        CONTRACT_SHARED(job_is_there_after_a_restart),
    };
    return contract_run("submit", tests, COUNT(tests));
}
