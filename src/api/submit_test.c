/* Submitting, through a real store in memory. */
#include "api/test_kit.h"

#define JSON(text)                                                                                 \
    {                                                                                              \
        text, sizeof text - 1                                                                      \
    }

static struct pawl *desk(void **state)
{
    return ((struct kit *)*state)->pawl;
}

static struct pawl_submitted submit(struct pawl *pawl, const struct pawl_job_spec *spec)
{
    struct pawl_submitted out;
    KIT_OK(pawl_submit(pawl, spec, &out, &diag));
    return out;
}

static int64_t count_all(struct pawl *pawl)
{
    int64_t count = -1;
    KIT_OK(pawl_count(pawl, NULL, &count, &diag));
    return count;
}

static enum pawl_state state_of(struct pawl *pawl, struct pawl_job_id id)
{
    struct pawl_jobs jobs = { .at = NULL };
    KIT_OK(pawl_get(pawl, id, &jobs, &diag));
    enum pawl_state state = jobs.at[0].state;
    pawl_jobs_release(&jobs);
    return state;
}

static void assert_span(struct pawl_span span, const char *expected)
{
    assert_int_equal(span.len, strlen(expected));
    if (span.len) assert_memory_equal(span.at, expected, span.len);
}

static void only_the_type_is_required(void **state)
{
    struct pawl_submitted out = submit(desk(state), &(struct pawl_job_spec){ .type = "mail.send" });
    struct pawl_jobs jobs = { .at = NULL };
    assert_int_equal(out.state, PAWL_STATE_AVAILABLE);
    assert_false(out.deduplicated);
    assert_false(out.replaced);
    KIT_OK(pawl_get(desk(state), out.id, &jobs, &diag));
    assert_int_equal(jobs.count, 1);
    const struct pawl_job *job = &jobs.at[0];
    assert_memory_equal(&job->id, &out.id, sizeof out.id);
    assert_string_equal(job->type, "mail.send");
    assert_string_equal(job->queue, "default");
    assert_int_equal(job->state, PAWL_STATE_AVAILABLE);
    assert_int_equal(job->attempts_max, 3);
    assert_int_equal(job->attempt, 0);
    assert_int_equal(job->created_at_ms, KIT_NOW_MS);
    assert_span(job->args, "[]");
    assert_span(job->meta, "");
    assert_span(job->tags, "");
    assert_span(job->retry, "");
    assert_span(job->unique, "");
    assert_string_equal(job->business_key, "");
    pawl_jobs_release(&jobs);
}

static void everything_given_comes_back(void **state)
{
    static const struct pawl_job_id id = { { 1, 2, 3, 4, 5, 6, 0x70, 8, 0x80, 10 } };
    const char *const tags[] = { " EU ", "billing", "eu" };
    struct pawl_job_spec spec = {
        .id = &id,
        .type = "invoice.make@1.0",
        .queue = "slow_lane",
        .args = JSON("[ {\"to\": \"\xc3\xa9\"}, 1.50 ]"),
        .meta = JSON("{ \"tenant\": \"t\" }"),
        .extra = JSON("{\"x_one\":1}"),
        .tags = tags,
        .tag_count = 3,
        .priority = -7,
        .delay_ms = 1000,
        .expires_in_ms = 5000,
        .timeout_ms = 11,
        .lease_ms = 120,
        .sla_soft_at_ms = KIT_NOW_MS + 1,
        .sla_hard_at_ms = KIT_NOW_MS + 2,
        .keep_ms = 13,
        .retry = { .attempts_max = 9, .backoff = PAWL_BACKOFF_LINEAR },
        .idempotency_key = "once",
        .business_key = "invoice 1",
        .unique = { .keys = PAWL_UNIQUE_QUEUE },
        .principal = "ann",
        .trace_id = "4bf92f",
    };
    struct pawl_jobs jobs = { .at = NULL };
    struct pawl_submitted out = submit(desk(state), &spec);
    assert_memory_equal(&out.id, &id, sizeof id);
    assert_int_equal(out.state, PAWL_STATE_SCHEDULED);
    KIT_OK(pawl_get(desk(state), id, &jobs, &diag));
    const struct pawl_job *job = &jobs.at[0];
    assert_string_equal(job->type, "invoice.make@1.0");
    assert_string_equal(job->queue, "slow_lane");
    assert_span(job->args, "[ {\"to\": \"\xc3\xa9\"}, 1.50 ]");
    assert_span(job->meta, "{ \"tenant\": \"t\" }");
    assert_span(job->extra, "{\"x_one\":1}");
    assert_span(job->tags, "[\"eu\",\"billing\"]");
    assert_span(job->unique, "{\"keys\":[\"type\",\"queue\"],\"on_conflict\":\"reject\"}");
    assert_true(job->retry.len > 0);
    assert_int_equal(job->attempts_max, 9);
    assert_int_equal(job->priority, -7);
    assert_int_equal(job->due_at_ms, KIT_NOW_MS + 1000);
    assert_int_equal(job->expires_at_ms, KIT_NOW_MS + 6000);
    assert_int_equal(job->timeout_ms, 11);
    assert_int_equal(job->lease_ms, 120);
    assert_int_equal(job->sla_soft_at_ms, KIT_NOW_MS + 1);
    assert_int_equal(job->sla_hard_at_ms, KIT_NOW_MS + 2);
    assert_int_equal(job->keep_ms, 13);
    assert_string_equal(job->idempotency_key, "once");
    assert_string_equal(job->business_key, "invoice 1");
    assert_string_equal(job->principal, "ann");
    assert_string_equal(job->trace_id, "4bf92f");
    pawl_jobs_release(&jobs);
}

static void first_state_follows_from_the_spec(void **state)
{
    static const struct {
        struct pawl_job_spec spec;
        enum pawl_state state;
    } rows[] = {
        { { .type = "t" }, PAWL_STATE_AVAILABLE },
        { { .type = "t", .delay_ms = 1 }, PAWL_STATE_SCHEDULED },
        { { .type = "t", .due_at_ms = KIT_NOW_MS + 1 }, PAWL_STATE_SCHEDULED },
        { { .type = "t", .due_at_ms = KIT_NOW_MS - 1 }, PAWL_STATE_AVAILABLE },
        { { .type = "t", .pending = true }, PAWL_STATE_PENDING },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct pawl_submitted out = submit(desk(state), &rows[i].spec);
        assert_int_equal(out.state, rows[i].state);
        assert_int_equal(state_of(desk(state), out.id), rows[i].state);
    }
}

static void fresh_ids_are_version_7_and_carry_the_time(void **state)
{
    struct pawl_submitted out = submit(desk(state), &(struct pawl_job_spec){ .type = "t" });
    int64_t ms = 0;
    for (int i = 0; i < 6; i++) {
        ms = ms << 8 | out.id.b[i];
    }
    assert_int_equal(ms, KIT_NOW_MS);
    assert_int_equal(out.id.b[6] >> 4, 7);
    assert_int_equal(out.id.b[8] >> 6, 2);
}

static void taken_id_is_refused(void **state)
{
    struct pawl_submitted first = submit(desk(state), &(struct pawl_job_spec){ .type = "t" });
    struct pawl_job_spec again = { .id = &first.id, .type = "t" };
    struct pawl_submitted out = { .state = PAWL_STATE_EXPIRED };
    assert_int_equal(pawl_submit(desk(state), &again, &out, NULL), PAWL_ERR_EXISTS);
    assert_int_equal(out.state, PAWL_STATE_EXPIRED); // untouched
    assert_int_equal(count_all(desk(state)), 1);
}

static void refused_spec_leaves_no_trace(void **state)
{
    struct pawl_submitted out = { .state = PAWL_STATE_EXPIRED };
    KIT_FAILS(pawl_submit(desk(state), &(struct pawl_job_spec){ .type = "T" }, &out, &diag),
              PAWL_ERR_ARG, "type");
    assert_int_equal(out.state, PAWL_STATE_EXPIRED);
    assert_int_equal(count_all(desk(state)), 0);
}

/* ---- keys ---- */

static void repeat_of_an_idempotency_key_gets_the_first_job(void **state)
{
    struct kit *kit = *state;
    struct pawl_job_spec spec = { .type = "t", .idempotency_key = "k", .idempotency_ms = 1000 };
    struct pawl_submitted first = submit(kit->pawl, &spec);
    struct pawl_submitted second = submit(kit->pawl, &spec);
    assert_true(second.deduplicated);
    assert_memory_equal(&first.id, &second.id, sizeof first.id);
    assert_int_equal(count_all(kit->pawl), 1);
    struct pawl_upkeep turn;
    kit->now_ms += 1001;
    KIT_OK(pawl_upkeep_turn(kit->pawl, NULL, &turn, &diag));
    struct pawl_submitted third = submit(kit->pawl, &spec);
    assert_false(third.deduplicated);
    assert_int_equal(count_all(kit->pawl), 2);
}

static void business_key_is_unique_among_live_jobs(void **state)
{
    struct pawl_job_spec spec = { .type = "t", .business_key = "order 7" };
    struct pawl_submitted first = submit(desk(state), &spec);
    struct pawl_submitted out;
    struct pawl_diag found;
    char holder[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(first.id, holder);
    assert_int_equal(pawl_submit(desk(state), &spec, &out, &found), PAWL_ERR_DUPLICATE);
    assert_non_null(strstr(found.text, holder));
    KIT_OK(pawl_control(desk(state), first.id, PAWL_CONTROL_CANCEL, NULL, NULL, &diag));
    assert_int_equal(submit(desk(state), &spec).state, PAWL_STATE_AVAILABLE);
}

static void unique_policy_rejects_ignores_or_replaces(void **state)
{
    struct pawl_job_spec spec = { .type = "t",
                                  .args = JSON("[{\"to\":1,\"n\":1}]"),
                                  .unique = { .keys = PAWL_UNIQUE_ARGS,
                                              .args_keys = (const char *const[]){ "to" },
                                              .args_key_count = 1 } };
    struct pawl_submitted first = submit(desk(state), &spec);
    struct pawl_submitted out;
    spec.args = (struct pawl_span)JSON("[{\"n\":2,\"to\":1.0}]");
    assert_int_equal(pawl_submit(desk(state), &spec, &out, NULL), PAWL_ERR_DUPLICATE);
    spec.unique.on_conflict = PAWL_CONFLICT_IGNORE;
    out = submit(desk(state), &spec);
    assert_true(out.deduplicated);
    assert_memory_equal(&out.id, &first.id, sizeof out.id);
    spec.unique.on_conflict = PAWL_CONFLICT_REPLACE;
    out = submit(desk(state), &spec);
    assert_true(out.replaced);
    assert_memory_not_equal(&out.id, &first.id, sizeof out.id);
    assert_int_equal(state_of(desk(state), first.id), PAWL_STATE_CANCELLED);
    spec.args = (struct pawl_span)JSON("[{\"to\":2}]");
    assert_false(submit(desk(state), &spec).replaced);
}

/* ---- many ---- */

static void batch_is_refused_whole_and_names_the_spec(void **state)
{
    struct pawl_job_spec specs[5] = {
        { .type = "t" }, { .type = "t" }, { .type = "t" }, { .type = "t", .queue = "No" },
        { .type = "t" },
    };
    struct pawl_submitted out[5] = { { .state = PAWL_STATE_EXPIRED } };
    KIT_FAILS(pawl_submit_many(desk(state), specs, 5, out, &diag), PAWL_ERR_ARG, "[3].queue");
    assert_int_equal(out[0].state, PAWL_STATE_EXPIRED);
    assert_int_equal(count_all(desk(state)), 0);
    specs[3].queue = NULL;
    specs[4].retry.initial_ms = -1;
    KIT_FAILS(pawl_submit_many(desk(state), specs, 5, out, &diag), PAWL_ERR_ARG,
              "[4].retry.initial_ms");
    specs[4].retry.initial_ms = 0;
    KIT_OK(pawl_submit_many(desk(state), specs, 5, out, &diag));
    assert_int_equal(count_all(desk(state)), 5);
}

static void batch_that_clashes_names_the_spec(void **state)
{
    struct pawl_job_spec specs[4] = {
        { .type = "t" },
        { .type = "t", .business_key = "b" },
        { .type = "t" },
        { .type = "t", .business_key = "b" },
    };
    struct pawl_submitted out[4];
    struct pawl_diag found;
    assert_int_equal(pawl_submit_many(desk(state), specs, 4, out, &found), PAWL_ERR_DUPLICATE);
    assert_memory_equal(found.field, "[3]", 3);
    assert_memory_equal(found.text, "[3]: ", 5);
    assert_int_equal(count_all(desk(state)), 0);
    static const struct pawl_job_id id = { { 9 } };
    specs[3] = (struct pawl_job_spec){ .type = "t", .id = &id };
    specs[0].id = &id;
    assert_int_equal(pawl_submit_many(desk(state), specs, 4, out, &found), PAWL_ERR_EXISTS);
    assert_memory_equal(found.field, "[3]", 3);
    assert_int_equal(count_all(desk(state)), 0);
}

static void batch_has_1_to_10000_specs(void **state)
{
    enum { MOST = 10000 };
    struct pawl_job_spec *specs = calloc(MOST + 1, sizeof *specs);
    struct pawl_submitted *out = calloc(MOST + 1, sizeof *out);
    assert_true(specs && out);
    const char *const tags[] = { "bulk" };
    for (size_t i = 0; i <= MOST; i++) {
        specs[i] = (struct pawl_job_spec){
            .type = "t", .args = JSON("[\"payload\"]"), .tags = tags, .tag_count = 1
        };
    }
    KIT_FAILS(pawl_submit_many(desk(state), specs, 0, out, &diag), PAWL_ERR_ARG, "count");
    KIT_FAILS(pawl_submit_many(desk(state), specs, MOST + 1, out, &diag), PAWL_ERR_LIMIT, "count");
    specs[MOST - 1].priority = 101;
    KIT_FAILS(pawl_submit_many(desk(state), specs, MOST, out, &diag), PAWL_ERR_ARG,
              "[9999].priority");
    assert_int_equal(count_all(desk(state)), 0);
    specs[MOST - 1].priority = 100;
    KIT_OK(pawl_submit_many(desk(state), specs, MOST, out, &diag));
    assert_int_equal(count_all(desk(state)), MOST);
    for (size_t i = 1; i < MOST; i++) {
        assert_true(memcmp(&out[i - 1].id, &out[i].id, sizeof out[i].id) < 0);
    }
    free(specs);
    free(out);
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, kit_open, kit_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(only_the_type_is_required),
        WITH_STORE(everything_given_comes_back),
        WITH_STORE(first_state_follows_from_the_spec),
        WITH_STORE(fresh_ids_are_version_7_and_carry_the_time),
        WITH_STORE(taken_id_is_refused),
        WITH_STORE(refused_spec_leaves_no_trace),
        WITH_STORE(repeat_of_an_idempotency_key_gets_the_first_job),
        WITH_STORE(business_key_is_unique_among_live_jobs),
        WITH_STORE(unique_policy_rejects_ignores_or_replaces),
        WITH_STORE(batch_is_refused_whole_and_names_the_spec),
        WITH_STORE(batch_that_clashes_names_the_spec),
        WITH_STORE(batch_has_1_to_10000_specs),
    };
    return cmocka_run_group_tests_name("api/submit", tests, NULL, NULL);
}
