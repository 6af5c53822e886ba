/* Schedules on every store: what becomes of instants (reference: docs/cron.md). */
#include "cron/cron_kit.h"

/* ---- firing ---- */

static void instant_makes_a_job_once(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("h");
    struct pawl_schedule_put out = put(&desk, &spec);
    assert_int_equal(PAWL_PUT_CREATED, out.put);
    assert_i64(MONDAY_MS + HOUR_MS, out.next_at_ms);
    assert_i64(0, fire_at(&desk, MONDAY_MS + HOUR_MS - 1));
    assert_i64(1, fire_at(&desk, MONDAY_MS + HOUR_MS));
    assert_i64(0, fire(&desk));
    struct pawl_schedule schedule = look(&desk, "h");
    assert_i64(1, schedule.runs);
    assert_i64(MONDAY_MS + HOUR_MS, schedule.last_at_ms);
    assert_i64(MONDAY_MS + 2 * HOUR_MS, schedule.next_at_ms);
    assert_int_equal(PAWL_SCHEDULE_ACTIVE, schedule.state);
    assert_history("created fired@3600", &desk, "h");
    assert_jobs("3600:available", &desk);
    desk_close(&desk);
}

static void jobs_have_the_follow_ups_of_the_template(struct rig *rig)
{
    const struct pawl_job_spec alarm = { .type = "alarm", .queue = "after" };
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("h");
    struct pawl_schedules shown = { 0 };
    spec.job.on_failure = &alarm;
    assert_int_equal(PAWL_PUT_CREATED, put(&desk, &spec).put);
    assert_int_equal(PAWL_PUT_UNCHANGED, put(&desk, &spec).put);
    assert_i64(1, fire_at(&desk, MONDAY_MS + HOUR_MS));
    const struct pawl_filter every = { .queues = NULL };
    struct pawl_jobs jobs = { 0 };
    assert_ok(rig, pawl_query(desk.pawl, &every, NULL, &jobs, &rig->diag));
    assert_int_equal(1, jobs.count);
    assert_ok(rig,
              pawl_control(desk.pawl, jobs.at[0].id, PAWL_CONTROL_CANCEL, NULL, NULL, &rig->diag));
    pawl_jobs_release(&jobs);
    const char *queue = "after";
    const struct pawl_filter made = { .queues = &queue, .queue_count = 1 };
    assert_ok(rig, pawl_query(desk.pawl, &made, NULL, &jobs, &rig->diag));
    assert_int_equal(1, jobs.count);
    assert_text("alarm", jobs.at[0].type);
    pawl_jobs_release(&jobs);
    assert_ok(rig, pawl_schedule_get(desk.pawl, "h", &shown, &rig->diag));
    assert_non_null(shown.at[0].spec.job.on_failure);
    assert_text("alarm", shown.at[0].spec.job.on_failure->type);
    assert_null(shown.at[0].spec.job.on_success);
    pawl_schedules_release(&shown);
    desk_close(&desk);
}

static void job_has_the_template_and_says_where_it_is_from(struct rig *rig)
{
    static const char *const tags[] = { "a", "b" };
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("say \"hi\"");
    spec.job = (struct pawl_job_spec){ .type = "mail.send",
                                       .queue = "mail",
                                       .args = span_of("[1,{\"x\":2}]"),
                                       .meta = span_of("{\"tenant\": 7 } "),
                                       .extra = span_of("{\"e\":1}"),
                                       .tags = tags,
                                       .tag_count = 2,
                                       .priority = 5,
                                       .expires_in_ms = 1000,
                                       .timeout_ms = 2000,
                                       .lease_ms = 3000,
                                       .keep_ms = 4000,
                                       .retry = { .attempts_max = 9, .initial_ms = 77 },
                                       .principal = "me",
                                       .trace_id = "t" };
    put(&desk, &spec);
    assert_i64(1, fire_at(&desk, MONDAY_MS + HOUR_MS));
    struct pawl_jobs found = { 0 };
    assert_ok(rig, pawl_query(desk.pawl, &(struct pawl_filter){ .tags = tags, .tag_count = 1 },
                              NULL, &found, &rig->diag));
    assert_int_equal(1, found.count);
    const struct pawl_job *job = found.at;
    assert_text("mail.send", job->type);
    assert_text("mail", job->queue);
    assert_span(spec.job.args, job->args);
    assert_span(span_of("{\"tenant\": 7,\"cron_name\":\"say \\\"hi\\\"\","
                        "\"cron_triggered_at\":\"2026-01-05T01:00:00.000Z\"}"),
                job->meta);
    assert_span(spec.job.extra, job->extra);
    assert_span(span_of("[\"a\",\"b\"]"), job->tags);
    assert_int_equal(5, job->priority);
    assert_i64(MONDAY_MS + HOUR_MS + 1000, job->expires_at_ms);
    assert_i64(2000, job->timeout_ms);
    assert_i64(3000, job->lease_ms);
    assert_i64(4000, job->keep_ms);
    assert_int_equal(9, job->attempts_max);
    assert_within("77", rig_text(rig, "%.*s", (int)job->retry.len, job->retry.at));
    assert_text("me", job->principal);
    assert_text("t", job->trace_id);
    pawl_jobs_release(&found);
    desk_close(&desk);
}

static void what_was_put_is_read_and_may_be_put_again(struct rig *rig)
{
    static const char *const tags[] = { "a" };
    static const char *const members[] = { "x" };
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = {
        .name = "full",
        .recurrence = { .expression = "0 9 * * MON-FRI",
                        .zone = "Europe/Berlin",
                        .gap = PAWL_GAP_SHIFT,
                        .start_at_ms = MONDAY_MS,
                        .end_at_ms = MONDAY_MS + 100 * DAY_MS },
        .job = { .type = "work",
                 .tags = tags,
                 .tag_count = 1,
                 .args = span_of("[{\"x\":1}]"),
                 .unique = { .keys = PAWL_UNIQUE_ARGS, .args_keys = members, .args_key_count = 1 },
                 .business_key = "k" },
        .overlap = PAWL_OVERLAP_QUEUE,
        .misfire = PAWL_MISFIRE_CATCH_UP,
        .catch_up = 3,
        .late_max_ms = DAY_MS,
        .jitter_ms = 500,
        .max_runs = 12,
        .catch_up_paused = true,
        .description = "two\nlines",
        .meta = span_of("{\"owner\":\"me\"}"),
    };
    put(&desk, &spec);
    struct pawl_schedules found = { 0 };
    assert_ok(rig, pawl_schedule_get(desk.pawl, "full", &found, &rig->diag));
    const struct pawl_schedule_spec *got = &found.at->spec;
    assert_text("0 9 * * MON-FRI", got->recurrence.expression);
    assert_text("Europe/Berlin", got->recurrence.zone);
    assert_int_equal(PAWL_GAP_SHIFT, got->recurrence.gap);
    assert_i64(MONDAY_MS + 100 * DAY_MS, got->recurrence.end_at_ms);
    assert_int_equal(PAWL_OVERLAP_QUEUE, got->overlap);
    assert_int_equal(3, got->catch_up);
    assert_text("two\nlines", got->description);
    assert_span(spec.meta, got->meta);
    assert_int_equal(1, got->job.tag_count);
    assert_text("x", got->job.unique.args_keys[0]);
    assert_text("k", got->job.business_key);
    struct pawl_schedule_put out = put(&desk, got);
    assert_int_equal(PAWL_PUT_UNCHANGED, out.put);
    assert_i64(1, out.version);
    pawl_schedules_release(&found);
    assert_int_equal(PAWL_PUT_UNCHANGED, put(&desk, &spec).put);
    desk_close(&desk);
}

static void interval_counts_from_its_registration(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    rig_advance(rig, 1234);
    struct pawl_schedule_spec spec = hourly("i");
    spec.recurrence.expression = "@every 90m";
    spec.overlap = PAWL_OVERLAP_ALLOW;
    assert_i64(MONDAY_MS + 1234 + 90 * MINUTE_MS, put(&desk, &spec).next_at_ms);
    assert_i64(1, fire_at(&desk, MONDAY_MS + 2 * HOUR_MS));
    assert_i64(MONDAY_MS + 1234 + 180 * MINUTE_MS, look(&desk, "i").next_at_ms);
    assert_int_equal(PAWL_PUT_UNCHANGED, put(&desk, &spec).put);
    spec.recurrence.expression = "@every 1h";
    assert_i64(MONDAY_MS + 3 * HOUR_MS, put(&desk, &spec).next_at_ms);
    desk_close(&desk);
}

static void list_of_instants_fires_and_ends(struct rig *rig)
{
    const int64_t instants[] = { MONDAY_MS + 5000, MONDAY_MS + 1000, MONDAY_MS + 5000 };
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("l");
    spec.recurrence = (struct pawl_recurrence){ .instants = instants, .instant_count = 3 };
    spec.overlap = PAWL_OVERLAP_ALLOW;
    assert_i64(MONDAY_MS + 1000, put(&desk, &spec).next_at_ms);
    assert_i64(1, fire_at(&desk, MONDAY_MS + 1000));
    assert_i64(1, fire_at(&desk, MONDAY_MS + 5000));
    struct pawl_schedule schedule = look(&desk, "l");
    assert_int_equal(PAWL_SCHEDULE_EXHAUSTED, schedule.state);
    assert_text("past", schedule.reason);
    assert_i64(0, schedule.next_at_ms);
    assert_history("created fired@1 fired@5 exhausted", &desk, "l");
    assert_int_equal(PAWL_PUT_UNCHANGED, put(&desk, &spec).put); // though it is over
    desk_close(&desk);
}

static void many_due_at_once_are_all_fired(struct rig *rig)
{
    enum { SCHEDULES = 250 };
    struct desk desk = desk_open(rig);
    for (int i = 0; i < SCHEDULES; i++) {
        struct pawl_schedule_spec spec = hourly(rig_text(rig, "s%03d", i));
        spec.job.queue = i % 2 ? "odd" : "even";
        put(&desk, &spec);
    }
    assert_i64(SCHEDULES, fire_at(&desk, MONDAY_MS + HOUR_MS));
    assert_i64(SCHEDULES, count_in(&desk, PAWL_STATE_AVAILABLE));
    assert_i64(0, fire(&desk));
    desk_close(&desk);
}

/* ---- late ---- */

struct late_case {
    const char *expected;
    enum pawl_misfire misfire;
    int32_t catch_up;
    int64_t late_max_ms, go_ms;
};

static void late_instants_fire_as_the_policy_says(struct rig *rig)
{
    static const struct late_case cases[] = {
        { "created fired@3600", PAWL_MISFIRE_SKIP, 0, 0, HOUR_MS + 59 * MINUTE_MS },
        { "created misfire@3600x2", PAWL_MISFIRE_SKIP, 0, 0, 2 * HOUR_MS },
        { "created fired@3600 misfire@7200x2", PAWL_MISFIRE_DEFAULT, 0, 0, 3 * HOUR_MS },
        { "created fired@3600 fired@7200 misfire@10800x3", PAWL_MISFIRE_CATCH_UP, 2, 0,
          5 * HOUR_MS },
        { "created fired@3600 fired@7200 fired@10800", PAWL_MISFIRE_CATCH_UP, 0, 0, 3 * HOUR_MS },
        { "created late@3600x1", PAWL_MISFIRE_DEFAULT, 0, 1000, HOUR_MS + 1001 },
        { "created fired@3600", PAWL_MISFIRE_DEFAULT, 0, 1000, HOUR_MS + 1000 },
    };
    struct desk desk = desk_open(rig);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pawl_schedule_spec spec = hourly(rig_text(rig, "late%zu", i));
        spec.overlap = PAWL_OVERLAP_ALLOW;
        spec.misfire = cases[i].misfire;
        spec.catch_up = cases[i].catch_up;
        spec.late_max_ms = cases[i].late_max_ms;
        put(&desk, &spec);
        fire_at(&desk, desk_now(&desk) + cases[i].go_ms);
        int64_t moved = desk_now(&desk) - MONDAY_MS;
        assert_text(cases[i].expected, history(&desk, spec.name));
        assert_i64((moved / HOUR_MS + 1) * HOUR_MS, look(&desk, spec.name).next_at_ms - MONDAY_MS);
        assert_ok(rig, pawl_schedule_remove(desk.pawl, spec.name, 0, &rig->diag));
        rig->clock->wall_ms -= moved; // the next one begins on Monday too
    }
    desk_close(&desk);
}

static void years_of_missed_seconds_are_counted_quickly(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("s");
    spec.recurrence.expression = "* * * * * *";
    put(&desk, &spec);
    assert_i64(1, fire_at(&desk, MONDAY_MS + 2 * 365 * DAY_MS));
    assert_history("created fired@1 misfire@2x10000", &desk, "s");
    assert_i64(10000, look(&desk, "s").skips);
    desk_close(&desk);
}

/* ---- overlap ---- */

static void skip_makes_no_job_while_one_lives(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("o");
    put(&desk, &spec);
    assert_i64(1, fire_at(&desk, MONDAY_MS + HOUR_MS));
    assert_i64(0, fire_at(&desk, MONDAY_MS + 2 * HOUR_MS)); // it waits
    struct pawl_run run = claim_next(&desk);
    assert_i64(0, fire_at(&desk, MONDAY_MS + 3 * HOUR_MS)); // it runs
    complete_run(&desk, run);
    assert_i64(1, fire_at(&desk, MONDAY_MS + 4 * HOUR_MS));
    assert_history("created fired@3600 overlap_skip@7200x1 overlap_skip@10800x1 fired@14400", &desk,
                   "o");
    assert_i64(2, look(&desk, "o").skips);
    desk_close(&desk);
}

static void paused_and_retryable_jobs_are_alive(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("o");
    put(&desk, &spec);
    assert_i64(1, fire_at(&desk, MONDAY_MS + HOUR_MS));
    struct pawl_job_id id = look(&desk, "o").last_job;
    assert_ok(rig, pawl_control(desk.pawl, id, PAWL_CONTROL_PAUSE, NULL, NULL, &rig->diag));
    assert_i64(0, fire_at(&desk, MONDAY_MS + 2 * HOUR_MS));
    assert_ok(rig, pawl_control(desk.pawl, id, PAWL_CONTROL_RESUME, NULL, NULL, &rig->diag));
    struct pawl_run run = claim_next(&desk);
    assert_ok(rig, pawl_fail(desk.pawl, &run, &(struct pawl_report){ .retry_after_ms = DAY_MS },
                             NULL, &rig->diag));
    assert_i64(0, fire_at(&desk, MONDAY_MS + 3 * HOUR_MS));
    assert_ok(rig, pawl_control(desk.pawl, id, PAWL_CONTROL_CANCEL, NULL, NULL, &rig->diag));
    assert_i64(1, fire_at(&desk, MONDAY_MS + 4 * HOUR_MS));
    desk_close(&desk);
}

static void allow_makes_a_job_for_each_instant(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("o");
    spec.overlap = PAWL_OVERLAP_ALLOW;
    put(&desk, &spec);
    for (int i = 1; i <= 120; i++) {
        assert_i64(1, fire_at(&desk, MONDAY_MS + i * HOUR_MS));
    }
    assert_i64(120, count_in(&desk, PAWL_STATE_AVAILABLE));
    spec.overlap = PAWL_OVERLAP_SKIP; // which sees those that were made before
    put(&desk, &spec);
    assert_i64(0, fire_at(&desk, MONDAY_MS + 121 * HOUR_MS));
    desk_close(&desk);
}

static void queue_holds_jobs_until_those_before_have_ended(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("o");
    spec.overlap = PAWL_OVERLAP_QUEUE;
    put(&desk, &spec);
    for (int i = 1; i <= 3; i++) {
        assert_i64(1, fire_at(&desk, MONDAY_MS + i * HOUR_MS));
    }
    assert_history("created fired@3600 fired@7200(queued) fired@10800(queued)", &desk, "o");
    assert_jobs("3600:available 7200:pending 10800:pending", &desk);
    assert_i64(2, look(&desk, "o").queued);
    struct pawl_job_id held = look(&desk, "o").last_job;
    assert_err(rig, PAWL_ERR_STATE,
               pawl_control(desk.pawl, held, PAWL_CONTROL_ACTIVATE, NULL, NULL, &rig->diag));
    assert_within("waits for earlier jobs of its schedule", rig->diag.text);
    complete_next(&desk);
    assert_jobs("3600:completed 7200:available 10800:pending", &desk);
    struct pawl_run run = claim_next(&desk);
    assert_ok(rig, pawl_fail(desk.pawl, &run, &(struct pawl_report){ .not_retryable = true }, NULL,
                             &rig->diag));
    assert_jobs("3600:completed 7200:discarded 10800:available", &desk);
    assert_i64(0, look(&desk, "o").queued);
    complete_next(&desk);
    assert_i64(1, fire_at(&desk, MONDAY_MS + 4 * HOUR_MS));
    assert_jobs("3600:completed 7200:discarded 10800:completed 14400:available", &desk);
    desk_close(&desk);
}

static void queued_job_may_be_paused_or_cancelled(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("o");
    spec.overlap = PAWL_OVERLAP_QUEUE;
    put(&desk, &spec);
    struct pawl_job_id ids[5];
    for (int i = 1; i <= 4; i++) {
        assert_i64(1, fire_at(&desk, MONDAY_MS + i * HOUR_MS));
        ids[i] = look(&desk, "o").last_job;
    }
    assert_ok(rig, pawl_control(desk.pawl, ids[2], PAWL_CONTROL_CANCEL, NULL, NULL, &rig->diag));
    assert_ok(rig, pawl_control(desk.pawl, ids[3], PAWL_CONTROL_PAUSE, NULL, NULL, &rig->diag));
    complete_next(&desk);
    assert_jobs("3600:completed 7200:cancelled 10800:paused 14400:pending", &desk);
    assert_ok(rig, pawl_control(desk.pawl, ids[3], PAWL_CONTROL_RESUME, NULL, NULL, &rig->diag));
    complete_next(&desk);
    assert_jobs("3600:completed 7200:cancelled 10800:completed 14400:available", &desk);
    desk_close(&desk);
}

static void queue_has_a_limit(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("o");
    spec.overlap = PAWL_OVERLAP_QUEUE;
    spec.misfire = PAWL_MISFIRE_CATCH_UP;
    spec.catch_up = PAWL_CATCH_UP_MAX;
    put(&desk, &spec);
    assert_i64(101, fire_at(&desk, MONDAY_MS + 104 * HOUR_MS));
    assert_i64(PAWL_SCHEDULE_QUEUED_MAX, count_in(&desk, PAWL_STATE_PENDING));
    assert_i64(3, look(&desk, "o").skips);
    for (int i = 0; i < 101; i++) {
        complete_next(&desk);
    }
    assert_i64(101, count_in(&desk, PAWL_STATE_COMPLETED));
    desk_close(&desk);
}

static void cancel_previous_cancels_what_runs(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("o");
    spec.overlap = PAWL_OVERLAP_CANCEL_PREVIOUS;
    put(&desk, &spec);
    assert_i64(1, fire_at(&desk, MONDAY_MS + HOUR_MS));
    struct pawl_run run = claim_next(&desk);
    assert_i64(1, fire_at(&desk, MONDAY_MS + 2 * HOUR_MS));
    assert_jobs("3600:cancelled 7200:available", &desk);
    assert_err(rig, PAWL_ERR_STALE,
               pawl_complete(desk.pawl, &run, (struct pawl_span){ 0 }, &rig->diag));
    struct pawl_firings found = { 0 };
    assert_ok(rig, pawl_schedule_history(desk.pawl, "o", 0, 1, &found, &rig->diag));
    assert_i64(1, found.at->cancelled);
    assert_true(found.more);
    pawl_firings_release(&found);
    desk_close(&desk);
}

static void edit_to_queue_waits_for_jobs_that_were_made_before(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("o");
    put(&desk, &spec);
    assert_i64(1, fire_at(&desk, MONDAY_MS + HOUR_MS));
    spec.overlap = PAWL_OVERLAP_QUEUE;
    put(&desk, &spec);
    assert_i64(1, fire_at(&desk, MONDAY_MS + 2 * HOUR_MS));
    assert_jobs("3600:available 7200:pending", &desk);
    complete_next(&desk);
    assert_jobs("3600:completed 7200:available", &desk);
    desk_close(&desk);
}

/* ---- keys ---- */

static void key_that_is_held_skips_the_instant(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("k");
    spec.job.business_key = "only";
    spec.overlap = PAWL_OVERLAP_ALLOW;
    put(&desk, &spec);
    assert_i64(1, fire_at(&desk, MONDAY_MS + HOUR_MS));
    assert_i64(0, fire_at(&desk, MONDAY_MS + 2 * HOUR_MS));
    assert_history("created fired@3600 duplicate@7200x1", &desk, "k");
    struct pawl_schedule_ran ran;
    assert_err(rig, PAWL_ERR_DUPLICATE,
               pawl_schedule_run(desk.pawl, "k", true, NULL, &ran, &rig->diag));
    complete_next(&desk);
    assert_i64(1, fire_at(&desk, MONDAY_MS + 3 * HOUR_MS));
    desk_close(&desk);
}

static void unique_policy_sees_the_instant_if_it_names_it(struct rig *rig)
{
    static const char *const members[] = { "cron_triggered_at" };
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("u");
    spec.overlap = PAWL_OVERLAP_ALLOW;
    spec.job.unique =
        (struct pawl_unique){ .keys = PAWL_UNIQUE_META, .meta_keys = members, .meta_key_count = 1 };
    put(&desk, &spec);
    assert_i64(1, fire_at(&desk, MONDAY_MS + HOUR_MS));
    assert_i64(1, fire_at(&desk, MONDAY_MS + 2 * HOUR_MS));
    spec.job.unique = (struct pawl_unique){ .keys = PAWL_UNIQUE_ARGS };
    put(&desk, &spec);
    assert_i64(1, fire_at(&desk, MONDAY_MS + 3 * HOUR_MS));
    assert_i64(0, fire_at(&desk, MONDAY_MS + 4 * HOUR_MS));
    desk_close(&desk);
}

static void one_text_is_read_in_each_dialect(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("q");
    spec.recurrence.expression = "0 0 12 ? * 2";
    spec.recurrence.dialect = PAWL_DIALECT_QUARTZ;
    assert_i64(MONDAY_MS + 12 * HOUR_MS, put(&desk, &spec).next_at_ms);
    spec.name = "c";
    spec.recurrence.dialect = PAWL_DIALECT_CRON;
    assert_i64(MONDAY_MS + 36 * HOUR_MS, put(&desk, &spec).next_at_ms);
    assert_i64(1, fire_at(&desk, MONDAY_MS + 12 * HOUR_MS));
    assert_i64(MONDAY_MS + 180 * HOUR_MS, look(&desk, "q").next_at_ms);
    assert_i64(1, fire_at(&desk, MONDAY_MS + 36 * HOUR_MS));
    desk_close(&desk);
}

static void clock_that_is_set_back_fires_nothing_twice(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("b");
    spec.overlap = PAWL_OVERLAP_ALLOW;
    put(&desk, &spec);
    for (int i = 1; i <= 3; i++) {
        assert_i64(1, fire_at(&desk, MONDAY_MS + i * HOUR_MS));
    }
    for (int i = 1; i <= 3; i++) { // that their jobs are there does not matter
        complete_next(&desk);
    }
    int64_t deleted = 0;
    assert_ok(rig, pawl_delete_many(desk.pawl, &(struct pawl_filter){ .queues = NULL }, 10, NULL,
                                    &deleted, &rig->diag));
    assert_i64(3, deleted);
    rig->clock->wall_ms -= 2 * HOUR_MS;
    assert_i64(0, fire(&desk));
    assert_text("clock_back", look(&desk, "b").reason);
    assert_i64(MONDAY_MS + 4 * HOUR_MS, look(&desk, "b").next_at_ms);
    bool changed;
    assert_ok(rig, pawl_schedule_pause(desk.pawl, "b", NULL, &changed, &rig->diag));
    assert_ok(rig, pawl_schedule_resume(desk.pawl, "b", NULL, &changed, &rig->diag));
    assert_i64(MONDAY_MS + 2 * HOUR_MS, look(&desk, "b").next_at_ms);
    assert_i64(0, fire_at(&desk, MONDAY_MS + 2 * HOUR_MS)); // it has made one
    assert_i64(0, fire_at(&desk, MONDAY_MS + 3 * HOUR_MS));
    assert_i64(1, fire_at(&desk, MONDAY_MS + 4 * HOUR_MS));
    assert_i64(4, look(&desk, "b").runs);
    desk_close(&desk);
}

/* ---- bounds, jitter ---- */

static void runs_are_counted_and_bounded(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("m");
    spec.max_runs = 2;
    put(&desk, &spec);
    assert_i64(1, fire_at(&desk, MONDAY_MS + HOUR_MS));
    assert_i64(0, fire_at(&desk, MONDAY_MS + 2 * HOUR_MS)); // skipped: no run
    complete_next(&desk);
    assert_i64(1, fire_at(&desk, MONDAY_MS + 3 * HOUR_MS));
    struct pawl_schedule schedule = look(&desk, "m");
    assert_int_equal(PAWL_SCHEDULE_EXHAUSTED, schedule.state);
    assert_text("max_runs", schedule.reason);
    assert_err(rig, PAWL_ERR_STATE, pawl_schedule_pause(desk.pawl, "m", NULL, NULL, &rig->diag));
    spec.max_runs = 3;
    assert_int_equal(PAWL_SCHEDULE_ACTIVE, put(&desk, &spec).state);
    complete_next(&desk);
    assert_i64(1, fire_at(&desk, MONDAY_MS + 4 * HOUR_MS));
    assert_int_equal(PAWL_SCHEDULE_EXHAUSTED, look(&desk, "m").state);
    desk_close(&desk);
}

static void caught_up_runs_are_bounded_too(struct rig *rig)
{
    static const enum pawl_overlap policies[] = { PAWL_OVERLAP_ALLOW,
                                                  PAWL_OVERLAP_CANCEL_PREVIOUS };
    struct desk desk = desk_open(rig);
    for (size_t i = 0; i < COUNT(policies); i++) {
        struct pawl_schedule_spec spec = hourly(rig_text(rig, "m%zu", i));
        spec.max_runs = 2;
        spec.overlap = policies[i];
        spec.misfire = PAWL_MISFIRE_CATCH_UP;
        put(&desk, &spec);
        assert_i64(2, fire_at(&desk, desk_now(&desk) + 5 * HOUR_MS));
        assert_int_equal(PAWL_SCHEDULE_EXHAUSTED, look(&desk, spec.name).state);
    }
    desk_close(&desk);
}

static void start_and_end_bound_the_instants(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("b");
    spec.recurrence.start_at_ms = MONDAY_MS + 3 * HOUR_MS;
    spec.recurrence.end_at_ms = MONDAY_MS + 4 * HOUR_MS;
    assert_i64(MONDAY_MS + 3 * HOUR_MS, put(&desk, &spec).next_at_ms);
    assert_i64(1, fire_at(&desk, MONDAY_MS + 5 * HOUR_MS));
    assert_history("created fired@10800 exhausted", &desk, "b");
    desk_close(&desk);
}

static void jitter_delays_the_job_and_not_the_instant(struct rig *rig)
{
    static const struct {
        const char *name;
        int64_t delay_ms;
    } rows[] = { { "nightly-report", 19074 }, { "cleanup", 8518 } };
    struct desk desk = desk_open(rig);
    desk_go(&desk, INT64_C(1767225600000) - DAY_MS);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct pawl_schedule_spec spec = hourly(rows[i].name);
        spec.recurrence.expression = "@daily";
        spec.jitter_ms = 60000;
        put(&desk, &spec);
    }
    assert_i64(2, fire_at(&desk, INT64_C(1767225600000)));
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct pawl_jobs found = { 0 };
        struct pawl_schedule schedule = look(&desk, rows[i].name);
        assert_i64(INT64_C(1767225600000), schedule.last_at_ms);
        assert_ok(rig, pawl_get(desk.pawl, schedule.last_job, &found, &rig->diag));
        assert_i64(INT64_C(1767225600000) + rows[i].delay_ms, found.at->due_at_ms);
        assert_state(SCHEDULED, found.at->state);
        pawl_jobs_release(&found);
    }
    desk_close(&desk);
}

/* ---- zones ---- */

static void local_times_that_are_lost_are_told(struct rig *rig)
{
    const int64_t march = INT64_C(1774569600000); // 2026-03-27T00:00:00Z
    struct desk desk = desk_open(rig);
    desk_go(&desk, march);
    struct pawl_schedule_spec spec = hourly("z");
    spec.recurrence =
        (struct pawl_recurrence){ .expression = "30 2 * * *", .zone = "Europe/Berlin" };
    spec.overlap = PAWL_OVERLAP_ALLOW;
    put(&desk, &spec);
    for (int hour = 1; hour <= 4 * 24; hour++) {
        fire_at(&desk, march + hour * HOUR_MS);
    }
    struct pawl_schedule schedule = look(&desk, "z");
    assert_i64(3, schedule.runs); // 27, 28, 30 March: 02:30 on the 29th does not exist
    assert_i64(1, schedule.skips);
    assert_within("dst_skip@", history(&desk, "z"));
    desk_close(&desk);
}

static void local_times_that_come_twice_fire_once(struct rig *rig)
{
    const int64_t october = INT64_C(1792800000000); // 2026-10-24T00:00:00Z
    struct desk desk = desk_open(rig);
    desk_go(&desk, october);
    struct pawl_schedule_spec spec = hourly("z");
    spec.recurrence =
        (struct pawl_recurrence){ .expression = "30 2 * * *", .zone = "Europe/Berlin" };
    spec.overlap = PAWL_OVERLAP_ALLOW;
    put(&desk, &spec);
    for (int half = 1; half <= 3 * 48; half++) {
        fire_at(&desk, october + half * 30 * MINUTE_MS);
    }
    assert_i64(3, look(&desk, "z").runs);
    desk_close(&desk);
}

/* ---- pause, resume, edit, run ---- */

static void paused_schedule_does_not_fire(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("p");
    const struct pawl_by by = { .actor = "me", .reason = "holiday" };
    bool changed = false;
    put(&desk, &spec);
    assert_ok(rig, pawl_schedule_pause(desk.pawl, "p", &by, &changed, &rig->diag));
    assert_true(changed);
    assert_ok(rig, pawl_schedule_pause(desk.pawl, "p", &by, &changed, &rig->diag));
    assert_false(changed);
    struct pawl_schedule schedule = look(&desk, "p");
    assert_int_equal(PAWL_SCHEDULE_PAUSED, schedule.state);
    assert_text("holiday", schedule.reason);
    assert_i64(0, schedule.next_at_ms);
    assert_i64(0, fire_at(&desk, MONDAY_MS + 3 * HOUR_MS + 1));
    assert_int_equal(PAWL_PUT_UNCHANGED, put(&desk, &spec).put); // which does not resume it
    assert_ok(rig, pawl_schedule_resume(desk.pawl, "p", &by, &changed, &rig->diag));
    assert_true(changed);
    assert_ok(rig, pawl_schedule_resume(desk.pawl, "p", &by, &changed, &rig->diag));
    assert_false(changed);
    assert_i64(MONDAY_MS + 4 * HOUR_MS, look(&desk, "p").next_at_ms);
    assert_history("created paused resumed disabled@3600x3", &desk, "p");
    assert_i64(1, fire_at(&desk, MONDAY_MS + 4 * HOUR_MS));
    desk_close(&desk);
}

static void resume_may_catch_up(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("p");
    spec.catch_up_paused = true;
    put(&desk, &spec);
    assert_ok(rig, pawl_schedule_pause(desk.pawl, "p", NULL, NULL, &rig->diag));
    desk_go(&desk, MONDAY_MS + 3 * HOUR_MS + 1);
    assert_ok(rig, pawl_schedule_resume(desk.pawl, "p", NULL, NULL, &rig->diag));
    assert_history("created paused resumed fired@3600 misfire@7200x2", &desk, "p");
    assert_i64(MONDAY_MS + 4 * HOUR_MS, look(&desk, "p").next_at_ms);
    desk_close(&desk);
}

static void disabled_is_part_of_the_definition(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("d");
    spec.disabled = true;
    struct pawl_schedule_put out = put(&desk, &spec);
    assert_int_equal(PAWL_SCHEDULE_PAUSED, out.state);
    assert_i64(0, fire_at(&desk, MONDAY_MS + HOUR_MS));
    spec.disabled = false;
    out = put(&desk, &spec);
    assert_int_equal(PAWL_PUT_CHANGED, out.put);
    assert_i64(2, out.version);
    assert_i64(MONDAY_MS + 2 * HOUR_MS, out.next_at_ms);
    spec.disabled = true;
    assert_int_equal(PAWL_SCHEDULE_PAUSED, put(&desk, &spec).state);
    assert_ok(rig, pawl_schedule_resume(desk.pawl, "d", NULL, NULL, &rig->diag));
    spec.disabled = false;
    assert_int_equal(PAWL_PUT_UNCHANGED, put(&desk, &spec).put);
    desk_close(&desk);
}

static void edit_settles_by_the_old_definition_first(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("e");
    put(&desk, &spec);
    desk_go(&desk, MONDAY_MS + HOUR_MS + 1);
    spec.recurrence.expression = "30 * * * *";
    struct pawl_schedule_put out = put(&desk, &spec);
    assert_int_equal(PAWL_PUT_CHANGED, out.put);
    assert_i64(2, out.version);
    assert_i64(MONDAY_MS + 90 * MINUTE_MS, out.next_at_ms);
    assert_history("created edited fired@3600", &desk, "e");
    spec.job.priority = 7; // next stays
    assert_i64(MONDAY_MS + 90 * MINUTE_MS, put(&desk, &spec).next_at_ms);
    desk_close(&desk);
}

static void options_guard_a_put(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("g");
    struct pawl_schedule_put_options options = { .change_only = true };
    struct pawl_schedule_put out;
    assert_err(rig, PAWL_ERR_NOT_FOUND,
               pawl_schedule_put(desk.pawl, &spec, &options, &out, &rig->diag));
    options = (struct pawl_schedule_put_options){ .dry_run = true };
    assert_ok(rig, pawl_schedule_put(desk.pawl, &spec, &options, &out, &rig->diag));
    assert_int_equal(PAWL_PUT_CREATED, out.put);
    assert_i64(MONDAY_MS + HOUR_MS, out.next_at_ms);
    struct pawl_schedules found = { 0 };
    assert_err(rig, PAWL_ERR_NOT_FOUND, pawl_schedule_get(desk.pawl, "g", &found, &rig->diag));
    put(&desk, &spec);
    options = (struct pawl_schedule_put_options){ .create_only = true };
    assert_err(rig, PAWL_ERR_EXISTS,
               pawl_schedule_put(desk.pawl, &spec, &options, &out, &rig->diag));
    spec.max_runs = 5;
    options = (struct pawl_schedule_put_options){ .dry_run = true };
    assert_ok(rig, pawl_schedule_put(desk.pawl, &spec, &options, &out, &rig->diag));
    assert_int_equal(PAWL_PUT_CHANGED, out.put);
    assert_i64(1, look(&desk, "g").version);
    options = (struct pawl_schedule_put_options){ .version = 1 };
    assert_ok(rig, pawl_schedule_put(desk.pawl, &spec, &options, &out, &rig->diag));
    spec.max_runs = 6;
    assert_err(rig, PAWL_ERR_STALE,
               pawl_schedule_put(desk.pawl, &spec, &options, &out, &rig->diag));
    assert_err(rig, PAWL_ERR_STALE, pawl_schedule_remove(desk.pawl, "g", 1, &rig->diag));
    assert_ok(rig, pawl_schedule_remove(desk.pawl, "g", 2, &rig->diag));
    assert_err(rig, PAWL_ERR_NOT_FOUND, pawl_schedule_remove(desk.pawl, "g", 0, &rig->diag));
    desk_close(&desk);
}

static void run_now_leaves_the_instants_alone(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("r");
    const struct pawl_by by = { .actor = "me" };
    struct pawl_schedule_ran ran = { .skip = PAWL_SKIP_NONE };
    spec.max_runs = 1;
    put(&desk, &spec);
    rig_advance(rig, 5000);
    assert_ok(rig, pawl_schedule_run(desk.pawl, "r", false, &by, &ran, &rig->diag));
    assert_int_equal(PAWL_SKIP_NONE, ran.skip);
    assert_i64(MONDAY_MS + 5000, ran.at_ms);
    assert_jobs("5:available", &desk);
    struct pawl_schedule schedule = look(&desk, "r");
    assert_i64(0, schedule.runs);
    assert_i64(MONDAY_MS + HOUR_MS, schedule.next_at_ms);
    assert_ok(rig, pawl_schedule_run(desk.pawl, "r", false, &by, &ran, &rig->diag));
    assert_int_equal(PAWL_SKIP_OVERLAP, ran.skip);
    assert_ok(rig, pawl_schedule_run(desk.pawl, "r", true, &by, &ran, &rig->diag));
    assert_int_equal(PAWL_SKIP_NONE, ran.skip);
    assert_history("created ran@5 overlap_skip@5x1 ran@5", &desk, "r");
    assert_ok(rig, pawl_schedule_pause(desk.pawl, "r", NULL, NULL, &rig->diag));
    assert_ok(rig, pawl_schedule_run(desk.pawl, "r", true, &by, &ran, &rig->diag));
    assert_err(rig, PAWL_ERR_NOT_FOUND,
               pawl_schedule_run(desk.pawl, "x", true, &by, &ran, &rig->diag));
    assert_i64(3, count_in(&desk, PAWL_STATE_AVAILABLE));
    desk_close(&desk);
}

static void removal_releases_what_was_held(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("o");
    spec.overlap = PAWL_OVERLAP_QUEUE;
    put(&desk, &spec);
    for (int i = 1; i <= 3; i++) {
        assert_i64(1, fire_at(&desk, MONDAY_MS + i * HOUR_MS));
    }
    assert_ok(rig, pawl_schedule_remove(desk.pawl, "o", 0, &rig->diag));
    assert_jobs("3600:available 7200:available 10800:available", &desk);
    struct pawl_firings found = { 0 };
    assert_err(rig, PAWL_ERR_NOT_FOUND,
               pawl_schedule_history(desk.pawl, "o", 0, 10, &found, &rig->diag));
    for (int i = 0; i < 3; i++) {
        complete_next(&desk);
    }
    put(&desk, &spec); // another one: it has no history
    assert_history("created", &desk, "o");
    desk_close(&desk);
}

static void history_is_bounded(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec spec = hourly("h");
    spec.overlap = PAWL_OVERLAP_ALLOW;
    spec.misfire = PAWL_MISFIRE_CATCH_UP;
    spec.catch_up = 300;
    put(&desk, &spec);
    assert_i64(300, fire_at(&desk, MONDAY_MS + 300 * HOUR_MS));
    struct pawl_firings found = { 0 };
    assert_ok(rig, pawl_schedule_history(desk.pawl, "h", 0, 1000, &found, &rig->diag));
    assert_in_range(found.count, PAWL_FIRINGS_KEPT, PAWL_FIRINGS_KEPT + 16);
    assert_i64(301, found.at[0].number);
    pawl_firings_release(&found);
    assert_ok(rig, pawl_schedule_history(desk.pawl, "h", 300, 2, &found, &rig->diag));
    assert_int_equal(2, found.count);
    assert_i64(299, found.at[0].number);
    assert_true(found.more);
    pawl_firings_release(&found);
    desk_close(&desk);
}

/* ---- lists and declarations ---- */

static void lists_are_paged_and_filtered(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    for (int i = 0; i < 5; i++) {
        struct pawl_schedule_spec spec = hourly(rig_text(rig, "%s.%d", i % 2 ? "b" : "a", i));
        put(&desk, &spec);
    }
    assert_ok(rig, pawl_schedule_pause(desk.pawl, "a.2", NULL, NULL, &rig->diag));
    struct pawl_schedule_filter filter = { .limit = 2 };
    struct pawl_schedules found = { 0 };
    assert_ok(rig, pawl_schedules_get(desk.pawl, &filter, &found, &rig->diag));
    assert_int_equal(2, found.count);
    assert_true(found.more);
    assert_text("a.2", found.at[1].spec.name);
    filter.after = rig_text(rig, "%s", found.at[1].spec.name);
    pawl_schedules_release(&found);
    filter.limit = 10;
    assert_ok(rig, pawl_schedules_get(desk.pawl, &filter, &found, &rig->diag));
    assert_int_equal(3, found.count);
    assert_false(found.more);
    pawl_schedules_release(&found);
    filter = (struct pawl_schedule_filter){ .name_prefix = "b." };
    assert_ok(rig, pawl_schedules_get(desk.pawl, &filter, &found, &rig->diag));
    assert_int_equal(2, found.count);
    pawl_schedules_release(&found);
    filter = (struct pawl_schedule_filter){ .states = 1U << PAWL_SCHEDULE_PAUSED };
    assert_ok(rig, pawl_schedules_get(desk.pawl, &filter, &found, &rig->diag));
    assert_int_equal(1, found.count);
    pawl_schedules_release(&found);
    desk_close(&desk);
}

static void what_is_declared_no_more_is_cleaned_up(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    struct pawl_schedule_spec specs[] = { hourly("one"), hourly("two"), hourly("three") };
    struct pawl_schedule_spec kept = hourly("by hand");
    struct pawl_declaration declaration = { .group = "app", .specs = specs, .count = 3 };
    struct pawl_declared declared = { .created = 0 };
    put(&desk, &kept);
    assert_ok(rig, pawl_schedules_declare(desk.pawl, &declaration, &declared, &rig->diag));
    assert_i64(3, declared.created);
    rig_advance(rig, MINUTE_MS);
    declaration.count = 2;
    specs[1].max_runs = 3;
    assert_ok(rig, pawl_schedules_declare(desk.pawl, &declaration, &declared, &rig->diag));
    assert_i64(0, declared.created);
    assert_i64(1, declared.changed);
    assert_i64(1, declared.unchanged);
    int64_t removed = -1;
    assert_ok(rig, pawl_schedules_clean(desk.pawl, "app", declared.at_ms, 0, &removed, &rig->diag));
    assert_i64(1, removed);
    struct pawl_schedules found = { 0 };
    assert_ok(rig, pawl_schedules_get(desk.pawl, NULL, &found, &rig->diag));
    assert_int_equal(3, found.count);
    assert_text("by hand", found.at[0].spec.name);
    assert_text("", found.at[0].group);
    assert_text("one", found.at[1].spec.name);
    assert_text("app", found.at[1].group);
    pawl_schedules_release(&found);
    desk_close(&desk);
}

/* ---- refusals ---- */

static void refuses(struct desk *desk, const char *field, const struct pawl_schedule_spec *spec)
{
    struct rig *rig = desk->rig;
    enum pawl_err err = pawl_schedule_put(desk->pawl, spec, NULL, NULL, &rig->diag);
    if (err != PAWL_ERR_ARG && err != PAWL_ERR_LIMIT) fail_msg("%s was not refused", field);
    assert_text(field, rig->diag.field);
    assert_int_equal(err, pawl_schedule_check(spec, desk_now(desk), NULL, NULL, NULL));
}

static void what_makes_no_sense_is_refused(struct rig *rig)
{
    struct desk desk = desk_open(rig);
    const struct pawl_job_id id = { { 1 } };
    struct pawl_schedule_spec spec;
#define REFUSES(field, ...)                                                                        \
    spec = hourly("x");                                                                            \
    __VA_ARGS__;                                                                                   \
    refuses(&desk, field, &spec);
    REFUSES("name", spec.name = "")
    REFUSES("expression", spec.recurrence.expression = "61 * * * *")
    REFUSES("zone", spec.recurrence.zone = "CET")
    REFUSES("job.type", spec.job.type = NULL)
    REFUSES("job.queue", spec.job.queue = "No")
    REFUSES("job.id", spec.job.id = &id)
    REFUSES("job.delay_ms", spec.job.delay_ms = 1)
    REFUSES("job.idempotency_key", spec.job.idempotency_key = "k")
    REFUSES("job.pending", spec.job.pending = true)
    REFUSES("job.meta", spec.job.meta = span_of("{\"cron_name\":1}"))
    REFUSES("catch_up", spec.catch_up = 3)
    REFUSES("catch_up", spec.misfire = PAWL_MISFIRE_CATCH_UP; spec.catch_up = 1001)
    REFUSES("jitter_ms", spec.jitter_ms = DAY_MS + 1)
    REFUSES("end_at_ms", spec.recurrence.start_at_ms = spec.recurrence.end_at_ms = MONDAY_MS)
    REFUSES("meta", spec.meta = span_of("{"))
#undef REFUSES
    spec = hourly("x");
    spec.recurrence.end_at_ms = MONDAY_MS;
    refuses(&desk, "expression", &spec);
    const char *warning = NULL;
    spec = hourly("x");
    spec.misfire = PAWL_MISFIRE_CATCH_UP;
    assert_ok(rig, pawl_schedule_check(&spec, MONDAY_MS, NULL, &warning, &rig->diag));
    assert_non_null(warning);
    desk_close(&desk);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(instant_makes_a_job_once),
        CONTRACT(jobs_have_the_follow_ups_of_the_template),
        CONTRACT(job_has_the_template_and_says_where_it_is_from),
        CONTRACT(what_was_put_is_read_and_may_be_put_again),
        CONTRACT(interval_counts_from_its_registration),
        CONTRACT(list_of_instants_fires_and_ends),
        CONTRACT(many_due_at_once_are_all_fired),
        CONTRACT(late_instants_fire_as_the_policy_says),
        CONTRACT(years_of_missed_seconds_are_counted_quickly),
        CONTRACT(skip_makes_no_job_while_one_lives),
        CONTRACT(paused_and_retryable_jobs_are_alive),
        CONTRACT(allow_makes_a_job_for_each_instant),
        CONTRACT(queue_holds_jobs_until_those_before_have_ended),
        CONTRACT(queued_job_may_be_paused_or_cancelled),
        CONTRACT(queue_has_a_limit),
        CONTRACT(cancel_previous_cancels_what_runs),
        CONTRACT(edit_to_queue_waits_for_jobs_that_were_made_before),
        CONTRACT(key_that_is_held_skips_the_instant),
        CONTRACT(unique_policy_sees_the_instant_if_it_names_it),
        CONTRACT(one_text_is_read_in_each_dialect),
        CONTRACT(clock_that_is_set_back_fires_nothing_twice),
        CONTRACT(runs_are_counted_and_bounded),
        CONTRACT(caught_up_runs_are_bounded_too),
        CONTRACT(start_and_end_bound_the_instants),
        CONTRACT(jitter_delays_the_job_and_not_the_instant),
        CONTRACT(local_times_that_are_lost_are_told),
        CONTRACT(local_times_that_come_twice_fire_once),
        CONTRACT(paused_schedule_does_not_fire),
        CONTRACT(resume_may_catch_up),
        CONTRACT(disabled_is_part_of_the_definition),
        CONTRACT(edit_settles_by_the_old_definition_first),
        CONTRACT(options_guard_a_put),
        CONTRACT(run_now_leaves_the_instants_alone),
        CONTRACT(removal_releases_what_was_held),
        CONTRACT(history_is_bounded),
        CONTRACT(lists_are_paged_and_filtered),
        CONTRACT(what_is_declared_no_more_is_cleaned_up),
        CONTRACT(what_makes_no_sense_is_refused),
    };
    return contract_run("cron", tests, COUNT(tests));
}
