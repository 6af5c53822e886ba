/* Tests the blocking calls for external workers. */
#include "api/check.h"
#include "api/test_kit.h"

#include <math.h>

#define LEASE_MS 30000

static struct pawl *desk(void **state)
{
    return ((struct kit *)*state)->pawl;
}

static struct pawl_job_id submit(struct pawl *pawl, const struct pawl_job_spec *spec)
{
    struct pawl_job_spec full = spec ? *spec : (struct pawl_job_spec){ 0 };
    if (!full.type) full.type = "work";
    struct pawl_submitted out;
    KIT_OK(pawl_submit(pawl, &full, &out, &diag));
    return out.id;
}

static const char *const default_queue[] = { "default" };

static struct pawl_claim usual_claim(void)
{
    return (struct pawl_claim){ .queues = default_queue, .queue_count = 1, .worker = "far-1" };
}

/* The only job that is there. */
static struct pawl_run claim_run(struct pawl *pawl)
{
    struct pawl_claim claim = usual_claim();
    claim.limit = 2;
    struct pawl_jobs jobs = { .at = NULL };
    KIT_OK(pawl_claim(pawl, &claim, &jobs, &diag));
    assert_int_equal(jobs.count, 1);
    struct pawl_run run = { jobs.at[0].id, jobs.at[0].run };
    pawl_jobs_release(&jobs);
    return run;
}

static struct pawl_run fresh_run(struct pawl *pawl)
{
    submit(pawl, NULL);
    return claim_run(pawl);
}

static enum pawl_state state_of(struct pawl *pawl, struct pawl_job_id id)
{
    struct pawl_jobs jobs = { .at = NULL };
    KIT_OK(pawl_get(pawl, id, &jobs, &diag));
    enum pawl_state state = jobs.at[0].state;
    pawl_jobs_release(&jobs);
    return state;
}

static const struct pawl_run nobody = { .id = { { 1, 2, 3 } }, .run = 1 };

/* ---- claim ---- */

static void claim_gives_jobs_with_a_lease(void **state)
{
    struct kit *kit = *state;
    struct pawl_job_id id =
        submit(kit->pawl, &(struct pawl_job_spec){ .args = { "[\"x\"]", 5 }, .timeout_ms = 700 });
    kit->now_ms += 5;
    struct pawl_claim claim = usual_claim();
    struct pawl_jobs jobs = { .at = NULL };
    KIT_OK(pawl_claim(kit->pawl, &claim, &jobs, &diag));
    assert_int_equal(jobs.count, 1);
    assert_int_equal(jobs.total, -1);
    assert_string_equal(jobs.next, "");
    const struct pawl_job *job = &jobs.at[0];
    assert_memory_equal(&job->id, &id, sizeof id);
    assert_string_equal(job->type, "work");
    assert_string_equal(job->queue, "default");
    assert_string_equal(job->worker, "far-1");
    assert_int_equal(job->state, PAWL_STATE_ACTIVE);
    assert_int_equal(job->run, 1);
    assert_int_equal(job->attempt, 1);
    assert_int_equal(job->started_at_ms, kit->now_ms);
    assert_int_equal(job->lease_until_ms, kit->now_ms + LEASE_MS);
    assert_memory_equal(job->args.at, "[\"x\"]", 5);
    pawl_jobs_release(&jobs);
    pawl_jobs_release(&jobs);
}

static void timed_claim_is_bound_to_the_timeout(void **state)
{
    struct kit *kit = *state;
    submit(kit->pawl, &(struct pawl_job_spec){ .timeout_ms = 700 });
    struct pawl_claim claim = usual_claim();
    claim.timed = true;
    struct pawl_jobs jobs = { .at = NULL };
    KIT_OK(pawl_claim(kit->pawl, &claim, &jobs, &diag));
    assert_int_equal(jobs.at[0].lease_until_ms, kit->now_ms + 700);
    pawl_jobs_release(&jobs);
}

static void claim_of_nothing_is_no_error(void **state)
{
    struct pawl_claim claim = usual_claim();
    struct pawl_jobs jobs = { .at = NULL };
    KIT_OK(pawl_claim(desk(state), &claim, &jobs, &diag));
    assert_int_equal(jobs.count, 0);
    pawl_jobs_release(&jobs);
}

static void claim_takes_one_unless_more_is_asked_for(void **state)
{
    for (int i = 0; i < 5; i++) {
        submit(desk(state), NULL);
    }
    struct pawl_claim claim = usual_claim();
    static const size_t expected[] = { 1, 3, 1 };
    static const int64_t limits[] = { 0, 3, PAWL_CLAIM_MAX };
    for (size_t i = 0; i < COUNT(limits); i++) {
        struct pawl_jobs jobs = { .at = NULL };
        claim.limit = limits[i];
        KIT_OK(pawl_claim(desk(state), &claim, &jobs, &diag));
        assert_int_equal(jobs.count, expected[i]);
        pawl_jobs_release(&jobs);
    }
}

static void claim_goes_left_to_right_and_by_type(void **state)
{
    static const char *const queues[] = { "b", "a" };
    static const char *const types[] = { "work", "play" };
    submit(desk(state), &(struct pawl_job_spec){ .queue = "a" });
    submit(desk(state), &(struct pawl_job_spec){ .queue = "b", .type = "sleep" });
    submit(desk(state), &(struct pawl_job_spec){ .queue = "b", .type = "play" });
    struct pawl_claim claim = { .queues = queues,
                                .queue_count = 2,
                                .types = types,
                                .type_count = 2,
                                .worker = "far-1",
                                .lease_ms = PAWL_LEASE_MIN_MS,
                                .limit = 9 };
    struct pawl_jobs jobs = { .at = NULL };
    KIT_OK(pawl_claim(desk(state), &claim, &jobs, &diag));
    assert_int_equal(jobs.count, 2);
    assert_string_equal(jobs.at[0].queue, "b");
    assert_string_equal(jobs.at[0].type, "play");
    assert_string_equal(jobs.at[1].queue, "a");
    assert_int_equal(jobs.at[0].lease_until_ms, KIT_NOW_MS + PAWL_LEASE_MIN_MS);
    pawl_jobs_release(&jobs);
}

static void claim_arguments_keep_their_rules(void **state)
{
    static const char *const good[] = { "default" };
    static const char *const bad[] = { "default", "No Queue" };
    static const char *const bad_type[] = { "work", "Not A Type" };
    static const char *const hole[] = { NULL };
    static const char *many[PAWL__LIST_MAX + 1];
    for (size_t i = 0; i < COUNT(many); i++) {
        many[i] = "same";
    }
    char *long_name = kit_repeat("w", PAWL_WORKER_BYTES_MAX + 1);
    const struct {
        struct pawl_claim claim;
        enum pawl_err err;
        const char *field;
    } rows[] = {
        { { .worker = "w" }, PAWL_ERR_ARG, "queues" },
        { { .worker = "w", .queue_count = 1 }, PAWL_ERR_ARG, "queues" },
        { { bad, 2, .worker = "w" }, PAWL_ERR_ARG, "queue" },
        { { hole, 1, .worker = "w" }, PAWL_ERR_ARG, "queue" },
        { { many, COUNT(many), .worker = "w" }, PAWL_ERR_LIMIT, "queues" },
        { { good, 1, bad_type, 2, .worker = "w" }, PAWL_ERR_ARG, "type" },
        { { good, 1, hole, 1, .worker = "w" }, PAWL_ERR_ARG, "type" },
        { { good, 1, NULL, 1, .worker = "w" }, PAWL_ERR_ARG, "types" },
        { { good, 1, many, COUNT(many), .worker = "w" }, PAWL_ERR_LIMIT, "types" },
        { { good, 1 }, PAWL_ERR_ARG, "worker" },
        { { good, 1, .worker = "" }, PAWL_ERR_ARG, "worker" },
        { { good, 1, .worker = "a\nb" }, PAWL_ERR_ARG, "worker" },
        { { good, 1, .worker = "\xff" }, PAWL_ERR_ARG, "worker" },
        { { good, 1, .worker = long_name }, PAWL_ERR_LIMIT, "worker" },
        { { good, 1, .worker = "w", .limit = -1 }, PAWL_ERR_ARG, "limit" },
        { { good, 1, .worker = "w", .limit = PAWL_CLAIM_MAX + 1 }, PAWL_ERR_ARG, "limit" },
        { { good, 1, .worker = "w", .lease_ms = -1 }, PAWL_ERR_ARG, "lease_ms" },
        { { good, 1, .worker = "w", .lease_ms = PAWL_LEASE_MIN_MS - 1 }, PAWL_ERR_ARG, "lease_ms" },
        { { good, 1, .worker = "w", .lease_ms = PAWL__DURATION_MAX_MS + 1 },
          PAWL_ERR_ARG,
          "lease_ms" },
    };
    struct pawl_jobs jobs = { .at = NULL };
    submit(desk(state), NULL);
    for (size_t i = 0; i < COUNT(rows); i++) {
        print_message("# row %zu\n", i);
        KIT_FAILS(pawl_claim(desk(state), &rows[i].claim, &jobs, &diag), rows[i].err,
                  rows[i].field);
    }
    assert_int_not_equal(pawl_claim(desk(state), &rows[0].claim, &jobs, NULL), PAWL_OK);
    assert_null(jobs.at);
    pawl_jobs_release(&jobs);
    long_name[PAWL_WORKER_BYTES_MAX] = '\0';
    struct pawl_claim claim = { .queues = many, .queue_count = PAWL__LIST_MAX };
    claim.worker = long_name;
    KIT_OK(pawl_claim(desk(state), &claim, &jobs, &diag));
    pawl_jobs_release(&jobs);
    free(long_name);
}

/* ---- route and assign ---- */

/* The only job that is there. */
static struct pawl_routed route_job(struct pawl *pawl)
{
    struct pawl_claim claim = usual_claim();
    struct pawl_jobs jobs = { .at = NULL };
    claim.limit = 2;
    KIT_OK(pawl_route(pawl, &claim, &jobs, &diag));
    assert_int_equal(jobs.count, 1);
    struct pawl_routed routed = { jobs.at[0].id, "far-1", jobs.at[0].lease_until_ms };
    pawl_jobs_release(&jobs);
    return routed;
}

static struct pawl_jobs assign_job(struct pawl *pawl, struct pawl_assignment assignment)
{
    struct pawl_jobs jobs = { .at = NULL };
    KIT_OK(pawl_assign(pawl, &assignment, &jobs, &diag));
    assert_int_equal(jobs.count, 1);
    assert_false(jobs.more);
    return jobs;
}

static void routed_job_is_assigned(void **state)
{
    struct kit *kit = *state;
    struct pawl_job_id id = submit(kit->pawl, &(struct pawl_job_spec){ .timeout_ms = 700 });
    struct pawl_routed routed = route_job(kit->pawl);
    assert_int_equal(routed.token, kit->now_ms + 5000);
    assert_int_equal(state_of(kit->pawl, id), PAWL_STATE_PENDING);
    kit->now_ms += 4999;
    struct pawl_jobs jobs = assign_job(kit->pawl, (struct pawl_assignment){ .routed = routed });
    assert_memory_equal(&jobs.at[0].id, &id, sizeof id);
    assert_int_equal(jobs.at[0].state, PAWL_STATE_ACTIVE);
    assert_int_equal(jobs.at[0].run, 1);
    assert_int_equal(jobs.at[0].lease_until_ms, kit->now_ms + LEASE_MS);
    struct pawl_run run = { id, jobs.at[0].run };
    pawl_jobs_release(&jobs);
    KIT_OK(pawl_complete(kit->pawl, &run, (struct pawl_span){ 0 }, &diag));
}

static void timed_assignment_is_bound_to_the_timeout(void **state)
{
    struct kit *kit = *state;
    submit(kit->pawl, &(struct pawl_job_spec){ .timeout_ms = 700 });
    struct pawl_jobs jobs = assign_job(
        kit->pawl, (struct pawl_assignment){
                       .routed = route_job(kit->pawl), .lease_ms = 9000, .timed = true });
    assert_int_equal(jobs.at[0].lease_until_ms, kit->now_ms + 700);
    pawl_jobs_release(&jobs);
}

static void route_that_is_given_back_or_lapses_is_free(void **state)
{
    struct kit *kit = *state;
    submit(kit->pawl, NULL);
    struct pawl_routed routed = route_job(kit->pawl);
    KIT_OK(pawl_unroute(kit->pawl, &routed, &diag));
    assert_int_equal(pawl_unroute(kit->pawl, &routed, NULL), PAWL_ERR_STALE);
    kit->now_ms += 1;
    routed = route_job(kit->pawl);
    kit->now_ms += 5000;
    struct pawl_upkeep done = { 0 };
    KIT_OK(pawl_upkeep_turn(kit->pawl, NULL, &done, &diag));
    assert_int_equal(done.lapsed, 1);
    struct pawl_jobs jobs = { .at = NULL };
    const struct pawl_assignment late = { .routed = routed };
    assert_int_equal(pawl_assign(kit->pawl, &late, &jobs, NULL), PAWL_ERR_STALE);
    assert_int_equal(claim_run(kit->pawl).run, 1);
}

static void routes_are_checked(void **state)
{
    static const char *const good[] = { "default" };
    const struct {
        struct pawl_claim claim;
        const char *field;
    } claims[] = {
        { { .worker = "w" }, "queues" },
        { { good, 1 }, "worker" },
        { { good, 1, .worker = "w", .lease_ms = PAWL_LEASE_MIN_MS - 1 }, "lease_ms" },
        { { good, 1, .worker = "w", .timed = true }, "timed" },
    };
    const struct {
        struct pawl_assignment assignment;
        const char *field;
    } rows[] = {
        { { .routed = { .token = 1 } }, "worker" },
        { { .routed = { .worker = "", .token = 1 } }, "worker" },
        { { .routed = { .worker = "w" } }, "token" },
        { { .routed = { .worker = "w", .token = -1 } }, "token" },
        { { .routed = { .worker = "w", .token = 1 }, .lease_ms = 99 }, "lease_ms" },
    };
    struct pawl_jobs jobs = { .at = NULL };
    for (size_t i = 0; i < COUNT(claims); i++) {
        KIT_FAILS(pawl_route(desk(state), &claims[i].claim, &jobs, &diag), PAWL_ERR_ARG,
                  claims[i].field);
    }
    for (size_t i = 0; i < COUNT(rows); i++) {
        KIT_FAILS(pawl_assign(desk(state), &rows[i].assignment, &jobs, &diag), PAWL_ERR_ARG,
                  rows[i].field);
        if (rows[i].assignment.lease_ms) continue;
        KIT_FAILS(pawl_unroute(desk(state), &rows[i].assignment.routed, &diag), PAWL_ERR_ARG,
                  rows[i].field);
    }
    const struct pawl_routed unknown = { .id = { { 1, 2, 3 } }, .worker = "w", .token = 1 };
    assert_int_equal(pawl_unroute(desk(state), &unknown, NULL), PAWL_ERR_NOT_FOUND);
    pawl_jobs_release(&jobs);
}

/* ---- complete ---- */

static void completion_keeps_its_result(void **state)
{
    struct pawl_run run = fresh_run(desk(state));
    KIT_OK(pawl_complete(desk(state), &run, kit_span("{\"sum\": 3}"), &diag));
    struct pawl_jobs jobs = { .at = NULL };
    KIT_OK(pawl_get(desk(state), run.id, &jobs, &diag));
    assert_int_equal(jobs.at[0].state, PAWL_STATE_COMPLETED);
    assert_int_equal(jobs.at[0].result.len, 10);
    assert_memory_equal(jobs.at[0].result.at, "{\"sum\": 3}", 10);
    pawl_jobs_release(&jobs);
    KIT_FAILS(pawl_complete(desk(state), &run, (struct pawl_span){ 0 }, &diag), PAWL_ERR_STALE, "");
}

static void results_are_bounded_json(void **state)
{
    struct pawl_run run = fresh_run(desk(state));
    char *big = kit_repeat("1", PAWL__RESULT_BYTES_MAX + 1);
    struct pawl_span result = { big, PAWL__RESULT_BYTES_MAX + 1 };
    KIT_FAILS(pawl_complete(desk(state), &run, result, &diag), PAWL_ERR_LIMIT, "result");
    KIT_FAILS(pawl_complete(desk(state), &run, kit_span("{"), &diag), PAWL_ERR_ARG, "result");
    KIT_FAILS(pawl_complete(desk(state), &run, kit_span(" "), &diag), PAWL_ERR_ARG, "result");
    assert_int_equal(state_of(desk(state), run.id), PAWL_STATE_ACTIVE);
    big[0] = big[PAWL__RESULT_BYTES_MAX - 1] = '"';
    result.len--;
    KIT_OK(pawl_complete(desk(state), &run, result, &diag));
    free(big);
}

/* ---- whose run it is ---- */

/* Every call of an owner, with a run that it does not own. */
static void assert_refused(struct pawl *pawl, struct pawl_run run, enum pawl_err expected,
                           const char *field)
{
    struct pawl_report report = { .type = "oops" };
    struct pawl_progress progress = { .value = 0.5 };
    struct pawl_failed failed = { .delay_ms = 77 };
    int64_t sequence = 77;
    KIT_FAILS(pawl_complete(pawl, &run, (struct pawl_span){ 0 }, &diag), expected, field);
    KIT_FAILS(pawl_fail(pawl, &run, &report, &failed, &diag), expected, field);
    KIT_FAILS(pawl_give_back(pawl, &run, 0, &diag), expected, field);
    KIT_FAILS(pawl_give_back(pawl, &run, 10, &diag), expected, field);
    if (run.run) { // for these two, 0 means any run
        KIT_FAILS(pawl_progress(pawl, &run, &progress, &diag), expected, field);
        KIT_FAILS(pawl_checkpoint(pawl, &run, kit_span("1"), &sequence, &diag), expected, field);
    }
    assert_int_equal(failed.delay_ms, 77);
    assert_int_equal(sequence, 77);
}

static void who_has_lost_his_run_writes_nothing(void **state)
{
    struct pawl_run run = fresh_run(desk(state));
    KIT_OK(pawl_give_back(desk(state), &run, 0, &diag));
    assert_refused(desk(state), run, PAWL_ERR_STALE, "");
    struct pawl_run next = claim_run(desk(state));
    assert_int_equal(next.run, run.run + 1);
    assert_refused(desk(state), run, PAWL_ERR_STALE, "");
    assert_refused(desk(state), (struct pawl_run){ next.id, next.run + 1 }, PAWL_ERR_STALE, "");
    assert_int_equal(state_of(desk(state), run.id), PAWL_STATE_ACTIVE);
    KIT_OK(pawl_complete(desk(state), &next, (struct pawl_span){ 0 }, &diag));
    assert_refused(desk(state), next, PAWL_ERR_STALE, "");
}

static void unknown_jobs_are_not_found(void **state)
{
    assert_refused(desk(state), nobody, PAWL_ERR_NOT_FOUND, "");
}

static void run_must_be_named(void **state)
{
    struct pawl_run run = fresh_run(desk(state));
    run.run = 0;
    assert_refused(desk(state), run, PAWL_ERR_ARG, "run");
    run.run = -1;
    assert_refused(desk(state), run, PAWL_ERR_ARG, "run");
    assert_int_equal(state_of(desk(state), run.id), PAWL_STATE_ACTIVE);
}

/* ---- fail, give back ---- */

static void failure_tells_what_follows(void **state)
{
    struct kit *kit = *state;
    struct pawl_retry retry = { .attempts_max = 2, .initial_ms = 500, .jitter = PAWL_JITTER_OFF };
    submit(kit->pawl, &(struct pawl_job_spec){ .retry = retry });
    struct pawl_run run = claim_run(kit->pawl);
    struct pawl_report report = { .type = "net.reset",
                                  .code = "E1",
                                  .message = "line one\nline two",
                                  .details = kit_span("{\"try\":1}") };
    struct pawl_failed failed;
    KIT_OK(pawl_fail(kit->pawl, &run, &report, &failed, &diag));
    assert_int_equal(failed.to, PAWL_STATE_RETRYABLE);
    assert_int_equal(failed.attempt, 1);
    assert_int_equal(failed.delay_ms, 500);
    assert_int_equal(failed.due_at_ms, kit->now_ms + 500);
    kit->now_ms += 500;
    struct pawl_upkeep done;
    KIT_OK(pawl_upkeep_turn(kit->pawl, NULL, &done, &diag));
    run = claim_run(kit->pawl);
    KIT_OK(pawl_fail(kit->pawl, &run, &(struct pawl_report){ 0 }, &failed, &diag));
    assert_int_equal(failed.to, PAWL_STATE_DISCARDED);
    assert_int_equal(failed.attempt, 2);
    assert_int_equal(failed.delay_ms, -1);
    assert_int_equal(failed.due_at_ms, 0);
    struct pawl_story story = { .failures = NULL };
    KIT_OK(pawl_story_get(kit->pawl, run.id, &story, &diag));
    assert_int_equal(story.failure_count, 2);
    assert_string_equal(story.failures[0].type, "net.reset");
    assert_string_equal(story.failures[0].message, "line one\nline two");
    assert_string_equal(story.failures[0].worker, "far-1");
    pawl_story_release(&story);
}

static void worker_may_know_better_than_the_policy(void **state)
{
    struct pawl_run run = fresh_run(desk(state));
    struct pawl_failed failed;
    struct pawl_report report = { .retry_after_ms = 12345 };
    KIT_OK(pawl_fail(desk(state), &run, &report, &failed, &diag));
    assert_int_equal(failed.due_at_ms, KIT_NOW_MS + 12345);
    run = fresh_run(desk(state));
    report = (struct pawl_report){ .not_retryable = true };
    KIT_OK(pawl_fail(desk(state), &run, &report, &failed, &diag));
    assert_int_equal(failed.to, PAWL_STATE_DISCARDED);
    run = fresh_run(desk(state));
    report = (struct pawl_report){ .requeue = true };
    KIT_OK(pawl_fail(desk(state), &run, &report, &failed, &diag));
    assert_int_equal(failed.to, PAWL_STATE_AVAILABLE);
    run = claim_run(desk(state));
    report = (struct pawl_report){ .lapse = true };
    KIT_OK(pawl_fail(desk(state), &run, &report, NULL, &diag)); // the caller does not need the
                                                                // result
    assert_int_equal(state_of(desk(state), run.id), PAWL_STATE_AVAILABLE);
}

static void reports_keep_their_rules(void **state)
{
    char *long_type = kit_repeat("t", 256);
    char *long_text = kit_repeat("m", PAWL__ERROR_BYTES_MAX + 1);
    const struct {
        struct pawl_report report;
        enum pawl_err err;
        const char *field;
    } rows[] = {
        { { .type = long_type }, PAWL_ERR_LIMIT, "type" },
        { { .type = "a\nb" }, PAWL_ERR_ARG, "type" },
        { { .code = long_type }, PAWL_ERR_LIMIT, "code" },
        { { .error_class = long_type }, PAWL_ERR_LIMIT, "error_class" },
        { { .error_class = "\xc3" }, PAWL_ERR_ARG, "error_class" },
        { { .message = long_text }, PAWL_ERR_LIMIT, "message" },
        { { .message = "broken \xc3" }, PAWL_ERR_ARG, "message" },
        { { .details = { "{]", 2 } }, PAWL_ERR_ARG, "details" },
        { { .details = { long_text, PAWL__ERROR_BYTES_MAX + 1 } }, PAWL_ERR_LIMIT, "details" },
        { { .retry_after_ms = -1 }, PAWL_ERR_ARG, "retry_after_ms" },
        { { .retry_after_ms = PAWL__DURATION_MAX_MS + 1 }, PAWL_ERR_ARG, "retry_after_ms" },
    };
    struct pawl_run run = fresh_run(desk(state));
    for (size_t i = 0; i < COUNT(rows); i++) {
        print_message("# row %zu\n", i);
        KIT_FAILS(pawl_fail(desk(state), &run, &rows[i].report, NULL, &diag), rows[i].err,
                  rows[i].field);
    }
    assert_int_equal(state_of(desk(state), run.id), PAWL_STATE_ACTIVE);
    long_text[PAWL__ERROR_BYTES_MAX] = long_type[255] = '\0';
    struct pawl_report largest = {
        .type = long_type, .code = long_type, .error_class = long_type, .message = long_text
    };
    KIT_OK(pawl_fail(desk(state), &run, &largest, NULL, &diag));
    free(long_text);
    free(long_type);
}

static void what_is_given_back_charges_nothing(void **state)
{
    struct pawl_run run = fresh_run(desk(state));
    KIT_FAILS(pawl_give_back(desk(state), &run, -1, &diag), PAWL_ERR_ARG, "delay_ms");
    KIT_OK(pawl_give_back(desk(state), &run, 0, &diag));
    assert_int_equal(state_of(desk(state), run.id), PAWL_STATE_AVAILABLE);
    run = claim_run(desk(state));
    KIT_OK(pawl_give_back(desk(state), &run, 100, &diag));
    struct pawl_jobs jobs = { .at = NULL };
    KIT_OK(pawl_get(desk(state), run.id, &jobs, &diag));
    assert_int_equal(jobs.at[0].state, PAWL_STATE_SCHEDULED);
    assert_int_equal(jobs.at[0].due_at_ms, KIT_NOW_MS + 100);
    assert_int_equal(jobs.at[0].free_runs, 2);
    pawl_jobs_release(&jobs);
}

/* ---- extend ---- */

static void extension_answers_for_each_run(void **state)
{
    struct kit *kit = *state;
    struct pawl_run lost = fresh_run(kit->pawl);
    KIT_OK(pawl_complete(kit->pawl, &lost, (struct pawl_span){ 0 }, &diag));
    struct pawl_run mine = fresh_run(kit->pawl);
    struct pawl_run runs[] = { lost, mine, nobody, { .id = mine.id, .run = 0 } };
    enum pawl_err results[COUNT(runs)];
    memset(results, 0x7f, sizeof results);
    struct pawl_extension extension = { .runs = runs, .count = COUNT(runs), .lease_ms = 1234 };
    kit->now_ms += 100;
    KIT_OK(pawl_extend(kit->pawl, &extension, results, &diag));
    assert_int_equal(results[0], PAWL_ERR_STALE);
    assert_int_equal(results[1], PAWL_OK);
    assert_int_equal(results[2], PAWL_ERR_NOT_FOUND);
    assert_int_equal(results[3], PAWL_ERR_STALE);
    struct pawl_jobs jobs = { .at = NULL };
    KIT_OK(pawl_get(kit->pawl, mine.id, &jobs, &diag));
    assert_int_equal(jobs.at[0].lease_until_ms, kit->now_ms + 1234);
    pawl_jobs_release(&jobs);
}

static void timed_extension_is_bound_to_the_timeout(void **state)
{
    struct kit *kit = *state;
    submit(kit->pawl, &(struct pawl_job_spec){ .timeout_ms = 40000 });
    struct pawl_run run = claim_run(kit->pawl);
    enum pawl_err result;
    struct pawl_extension extension = {
        .runs = &run, .count = 1, .lease_ms = 90000, .timed = true
    };
    KIT_OK(pawl_extend(kit->pawl, &extension, &result, &diag));
    struct pawl_jobs jobs = { .at = NULL };
    KIT_OK(pawl_get(kit->pawl, run.id, &jobs, &diag));
    assert_int_equal(jobs.at[0].lease_until_ms, KIT_NOW_MS + 40000);
    pawl_jobs_release(&jobs);
}

static void extensions_keep_their_rules(void **state)
{
    static struct pawl_run runs[PAWL_CLAIM_MAX + 1];
    static enum pawl_err results[PAWL_CLAIM_MAX + 1];
    runs[0] = fresh_run(desk(state));
    const struct {
        struct pawl_extension extension;
        const char *field;
    } rows[] = {
        { { runs, 0, .lease_ms = 1 }, "count" },
        { { runs, PAWL_CLAIM_MAX + 1, .lease_ms = 1 }, "count" },
        { { runs, SIZE_MAX, .lease_ms = 1 }, "count" },
        { { runs, 1, .lease_ms = 0 }, "lease_ms" },
        { { runs, 1, .lease_ms = -1 }, "lease_ms" },
        { { runs, 1, .lease_ms = PAWL__DURATION_MAX_MS + 1 }, "lease_ms" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        KIT_FAILS(pawl_extend(desk(state), &rows[i].extension, results, &diag), PAWL_ERR_ARG,
                  rows[i].field);
    }
    struct pawl_extension most = { runs, PAWL_CLAIM_MAX, .lease_ms = PAWL__DURATION_MAX_MS };
    KIT_OK(pawl_extend(desk(state), &most, results, &diag));
    assert_int_equal(results[0], PAWL_OK);
    assert_int_equal(results[PAWL_CLAIM_MAX - 1], PAWL_ERR_NOT_FOUND);
}

/* ---- progress and checkpoints ---- */

static void progress_is_told_and_only_grows(void **state)
{
    struct pawl_run run = fresh_run(desk(state));
    struct pawl_progress progress = { .value = 0.5,
                                      .message = "half",
                                      .data = kit_span("{\"page\":7}") };
    KIT_OK(pawl_progress(desk(state), &run, &progress, &diag));
    progress = (struct pawl_progress){ .value = 0.25 };
    KIT_OK(pawl_progress(desk(state), &run, &progress, &diag));
    progress = (struct pawl_progress){ .value = -1, .message = "still" };
    run.run = 0; // whichever is active
    KIT_OK(pawl_progress(desk(state), &run, &progress, &diag));
    struct pawl_story story = { .failures = NULL };
    KIT_OK(pawl_story_get(desk(state), run.id, &story, &diag));
    assert_true(story.progress == 0.5);
    assert_string_equal(story.progress_message, "still");
    assert_int_equal(story.progress_data.len, 10);
    pawl_story_release(&story);
}

static void progress_keeps_its_rules(void **state)
{
    struct pawl_run run = fresh_run(desk(state));
    char *long_text = kit_repeat("1", 64 * 1024 + 1);
    const struct {
        struct pawl_progress progress;
        enum pawl_err err;
        const char *field;
    } rows[] = {
        { { .value = 1.001 }, PAWL_ERR_ARG, "value" },
        { { .value = NAN }, PAWL_ERR_ARG, "value" },
        { { .value = INFINITY }, PAWL_ERR_ARG, "value" },
        { { .message = long_text }, PAWL_ERR_LIMIT, "message" },
        { { .message = "\xff" }, PAWL_ERR_ARG, "message" },
        { { .data = { "x", 1 } }, PAWL_ERR_ARG, "data" },
        { { .data = { long_text, 64 * 1024 + 1 } }, PAWL_ERR_LIMIT, "data" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        KIT_FAILS(pawl_progress(desk(state), &run, &rows[i].progress, &diag), rows[i].err,
                  rows[i].field);
    }
    free(long_text);
    struct pawl_progress done = { .value = 1 };
    KIT_OK(pawl_complete(desk(state), &run, (struct pawl_span){ 0 }, &diag));
    run.run = 0;
    KIT_FAILS(pawl_progress(desk(state), &run, &done, &diag), PAWL_ERR_STATE, "");
    struct pawl_run unknown = { .id = nobody.id };
    KIT_FAILS(pawl_progress(desk(state), &unknown, &done, &diag), PAWL_ERR_NOT_FOUND, "");
}

static void checkpoints_are_counted_kept_and_forgotten(void **state)
{
    struct pawl_run run = fresh_run(desk(state));
    int64_t sequence = 0;
    KIT_OK(pawl_checkpoint(desk(state), &run, kit_span("{\"at\":1}"), &sequence, &diag));
    assert_int_equal(sequence, 1);
    KIT_OK(pawl_checkpoint(desk(state), &run, kit_span("{\"at\":2}"), NULL, &diag));
    KIT_OK(pawl_give_back(desk(state), &run, 0, &diag));
    struct pawl_run anyone = { .id = run.id };
    KIT_OK(pawl_checkpoint(desk(state), &anyone, kit_span("{\"at\":3}"), &sequence, &diag));
    assert_int_equal(sequence, 3);
    struct pawl_story story = { .failures = NULL };
    KIT_OK(pawl_story_get(desk(state), run.id, &story, &diag));
    assert_int_equal(story.checkpoint.len, 8);
    assert_memory_equal(story.checkpoint.at, "{\"at\":3}", 8);
    pawl_story_release(&story);
    KIT_OK(pawl_checkpoint(desk(state), &anyone, (struct pawl_span){ 0 }, NULL, &diag));
    KIT_OK(pawl_story_get(desk(state), run.id, &story, &diag));
    assert_int_equal(story.checkpoint.len, 0);
    pawl_story_release(&story);
    KIT_OK(pawl_checkpoint(desk(state), &anyone, kit_span("1"), &sequence, &diag));
    assert_int_equal(sequence, 1);
}

static void checkpoints_keep_their_rules(void **state)
{
    struct pawl_run run = fresh_run(desk(state));
    char *big = kit_repeat("1", PAWL__CHECKPOINT_BYTES_MAX + 1);
    struct pawl_span too_big = { big, PAWL__CHECKPOINT_BYTES_MAX + 1 };
    KIT_FAILS(pawl_checkpoint(desk(state), &run, too_big, NULL, &diag), PAWL_ERR_LIMIT, "state");
    KIT_FAILS(pawl_checkpoint(desk(state), &run, kit_span("nul"), NULL, &diag), PAWL_ERR_ARG,
              "state");
    free(big);
    KIT_OK(pawl_complete(desk(state), &run, (struct pawl_span){ 0 }, &diag));
    struct pawl_run anyone = { .id = run.id };
    KIT_FAILS(pawl_checkpoint(desk(state), &anyone, kit_span("1"), NULL, &diag), PAWL_ERR_STATE,
              "");
}

/* ---- ends and lines ---- */

static void owner_alone_ends_his_run(void **state)
{
    struct pawl *pawl = desk(state);
    struct pawl_run run = fresh_run(pawl), older = run;
    struct pawl_controlled out = { .from = PAWL_STATE_NONE };
    const struct pawl_by by = { .actor = "far-1", .reason = "asked to" };
    older.run++;
    KIT_FAILS(pawl_control_run(pawl, &older, PAWL_CONTROL_SKIP, &by, &out, &diag), PAWL_ERR_STALE,
              "");
    assert_int_equal(state_of(pawl, run.id), PAWL_STATE_ACTIVE);
    KIT_OK(pawl_control_run(pawl, &run, PAWL_CONTROL_SKIP, &by, &out, &diag));
    assert_int_equal(out.from, PAWL_STATE_ACTIVE);
    assert_int_equal(out.to, PAWL_STATE_SKIPPED);
    const struct pawl_run any = { .id = run.id };
    KIT_FAILS(pawl_control_run(pawl, &any, PAWL_CONTROL_CANCEL, NULL, &out, &diag), PAWL_ERR_STATE,
              "");
    assert_int_equal(out.from, PAWL_STATE_SKIPPED);
    KIT_FAILS(pawl_control_run(pawl, &nobody, PAWL_CONTROL_CANCEL, NULL, NULL, &diag),
              PAWL_ERR_NOT_FOUND, "");
    KIT_FAILS(pawl_control_run(pawl, &any, PAWL_CONTROL_END, NULL, NULL, &diag), PAWL_ERR_ARG,
              "control");
    const struct pawl_run negative = { .id = run.id, .run = -1 };
    KIT_FAILS(pawl_control_run(pawl, &negative, PAWL_CONTROL_CANCEL, NULL, NULL, &diag),
              PAWL_ERR_ARG, "run");
}

static void lines_of_a_run_are_kept_with_the_job(void **state)
{
    struct pawl *pawl = desk(state);
    struct pawl_run run = fresh_run(pawl);
    struct pawl_story story = { .owned = NULL };
    char *line = kit_repeat("x", 5000);
    KIT_OK(pawl_log(pawl, &run, 2, "slow", &diag));
    KIT_OK(pawl_log(pawl, &run, 0, line, &diag));
    KIT_OK(pawl_story_get(pawl, run.id, &story, &diag));
    assert_int_equal(story.log_count, 2);
    assert_string_equal(story.log[0].text, "slow");
    assert_int_equal(story.log[0].level, 2);
    assert_int_equal(story.log[0].run, run.run);
    assert_int_equal(strlen(story.log[1].text), 4096);
    pawl_story_release(&story);
    KIT_FAILS(pawl_log(pawl, &run, 4, "x", &diag), PAWL_ERR_ARG, "level");
    KIT_FAILS(pawl_log(pawl, &run, -1, "x", &diag), PAWL_ERR_ARG, "level");
    KIT_FAILS(pawl_log(pawl, &nobody, 1, "x", &diag), PAWL_ERR_NOT_FOUND, "");
    free(line);
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, kit_open, kit_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(claim_gives_jobs_with_a_lease),
        WITH_STORE(timed_claim_is_bound_to_the_timeout),
        WITH_STORE(claim_of_nothing_is_no_error),
        WITH_STORE(claim_takes_one_unless_more_is_asked_for),
        WITH_STORE(claim_goes_left_to_right_and_by_type),
        WITH_STORE(claim_arguments_keep_their_rules),
        WITH_STORE(routed_job_is_assigned),
        WITH_STORE(timed_assignment_is_bound_to_the_timeout),
        WITH_STORE(route_that_is_given_back_or_lapses_is_free),
        WITH_STORE(routes_are_checked),
        WITH_STORE(completion_keeps_its_result),
        WITH_STORE(results_are_bounded_json),
        WITH_STORE(who_has_lost_his_run_writes_nothing),
        WITH_STORE(unknown_jobs_are_not_found),
        WITH_STORE(run_must_be_named),
        WITH_STORE(failure_tells_what_follows),
        WITH_STORE(worker_may_know_better_than_the_policy),
        WITH_STORE(reports_keep_their_rules),
        WITH_STORE(what_is_given_back_charges_nothing),
        WITH_STORE(extension_answers_for_each_run),
        WITH_STORE(timed_extension_is_bound_to_the_timeout),
        WITH_STORE(extensions_keep_their_rules),
        WITH_STORE(progress_is_told_and_only_grows),
        WITH_STORE(progress_keeps_its_rules),
        WITH_STORE(checkpoints_are_counted_kept_and_forgotten),
        WITH_STORE(checkpoints_keep_their_rules),
        WITH_STORE(owner_alone_ends_his_run),
        WITH_STORE(lines_of_a_run_are_kept_with_the_job),
    };
    return cmocka_run_group_tests_name("api/remote", tests, NULL, NULL);
}
