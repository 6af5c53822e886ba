/* Follow-ups of single jobs, on every store: made with the end of the job, whatever ended it. */
#include "support/ops.h"

#include <pawl/flow.h>

#include <stdio.h>

struct desk {
    struct rig *rig;
    struct pawl *pawl;
};

static void desk_open(struct desk *desk, struct rig *rig)
{
    struct pawl_config config = { .store = rig->url, .clock = &rig->clock->clock, .seed = 7 };
    *desk = (struct desk){ .rig = rig };
    assert_ok(rig, pawl_open(&config, &desk->pawl, &rig->diag));
}

static void desk_close(struct desk *desk)
{
    pawl_close(desk->pawl);
}

static struct pawl_job_id desk_submit(struct desk *desk, const struct pawl_job_spec *spec)
{
    struct pawl_submitted out = { 0 };
    assert_ok(desk->rig, pawl_submit(desk->pawl, spec, &out, &desk->rig->diag));
    return out.id;
}

static const struct pawl_job_spec cheer = { .type = "cheer", .queue = "after" };
static const struct pawl_job_spec alarm = { .type = "alarm", .queue = "after" };
static const struct pawl_job_spec work = {
    .type = "work", .retry.attempts_max = 1, .on_success = &cheer, .on_failure = &alarm
};

static void desk_upkeep(struct desk *desk)
{
    struct pawl_upkeep done = { .more = true };
    while (done.more) {
        assert_ok(desk->rig, pawl_upkeep_turn(desk->pawl, NULL, &done, &desk->rig->diag));
    }
}

/* A run of the job that is next in the queue. */
static struct pawl_run desk_claim(struct desk *desk, const char *queue)
{
    const struct pawl_claim wish = {
        .queues = &queue, .queue_count = 1, .limit = 1, .worker = "w", .lease_ms = 30000
    };
    struct pawl_jobs jobs = { 0 };
    rig_advance(desk->rig, 1); // follow-ups of one ms are in no order
    assert_ok(desk->rig, pawl_claim(desk->pawl, &wish, &jobs, &desk->rig->diag));
    assert_int_equal(1, jobs.count);
    struct pawl_run run = { jobs.at[0].id, jobs.at[0].run };
    pawl_jobs_release(&jobs);
    return run;
}

static void desk_fails(struct desk *desk, const struct pawl_run *run)
{
    const struct pawl_report report = { .type = "e", .message = "no" };
    assert_ok(desk->rig, pawl_fail(desk->pawl, run, &report, NULL, &desk->rig->diag));
}

static void desk_control(struct desk *desk, struct pawl_job_id id, enum pawl_control what)
{
    assert_ok(desk->rig, pawl_control(desk->pawl, id, what, NULL, NULL, &desk->rig->diag));
}

/* What is in the queue "after", oldest first: "cheer(completed) alarm(discarded)". */
static const char *after(struct desk *desk)
{
    const char *queue = "after", *text = "";
    const struct pawl_filter filter = { .queues = &queue, .queue_count = 1 };
    const struct pawl_page page = { .limit = 1000, .oldest_first = true };
    struct pawl_jobs jobs = { 0 };
    assert_ok(desk->rig, pawl_query(desk->pawl, &filter, &page, &jobs, &desk->rig->diag));
    for (size_t i = 0; i < jobs.count; i++) {
        char state[32] = "?";
        const char *meta =
            rig_text(desk->rig, "%.*s", (int)jobs.at[i].meta.len, jobs.at[i].meta.at);
        const char *at = strstr(meta, "\"parent_state\":\"");
        if (at) sscanf(at + 16, "%31[a-z]", state);
        text = rig_text(desk->rig, "%s%s%s(%s)", text, i ? " " : "", jobs.at[i].type, state);
    }
    pawl_jobs_release(&jobs);
    return text;
}
#define assert_after(expected, desk) assert_text(expected, after(desk))

/* ---- every way to end ---- */

static void completion_is_followed(struct rig *rig)
{
    struct desk desk;
    desk_open(&desk, rig);
    struct pawl_job_id id = desk_submit(&desk, &work);
    assert_after("", &desk);
    struct pawl_run run = desk_claim(&desk, "default");
    assert_ok(rig, pawl_complete(desk.pawl, &run, span_of("{\"rows\":3}"), &rig->diag));
    assert_after("cheer(completed)", &desk);
    run = desk_claim(&desk, "after");
    struct pawl_flow_inputs inputs = { 0 };
    assert_ok(rig, pawl_flow_inputs_get(desk.pawl, run.id, &inputs, &rig->diag));
    assert_int_equal(1, inputs.count);
    assert_text("parent", inputs.at[0].name);
    assert_id(id, inputs.at[0].id);
    assert_state(COMPLETED, inputs.at[0].state);
    assert_span(span_of("{\"rows\":3}"), inputs.at[0].result);
    pawl_flow_inputs_release(&inputs);
    assert_err(rig, PAWL_ERR_NOT_FOUND, pawl_flow_inputs_get(desk.pawl, id, &inputs, &rig->diag));
    desk_close(&desk);
}

static void only_the_last_failure_is_followed(struct rig *rig)
{
    struct desk desk;
    struct pawl_job_spec spec = work;
    desk_open(&desk, rig);
    spec.retry.attempts_max = 2;
    desk_submit(&desk, &spec);
    struct pawl_run run = desk_claim(&desk, "default");
    desk_fails(&desk, &run);
    assert_after("", &desk);
    rig_advance(rig, 60000);
    desk_upkeep(&desk);
    run = desk_claim(&desk, "default");
    desk_fails(&desk, &run);
    assert_after("alarm(discarded)", &desk);
    desk_close(&desk);
}

static void lost_lease_is_followed(struct rig *rig)
{
    struct desk desk;
    desk_open(&desk, rig);
    desk_submit(&desk, &work);
    desk_claim(&desk, "default");
    rig_advance(rig, 31000);
    desk_upkeep(&desk);
    assert_after("alarm(discarded)", &desk);
    desk_close(&desk);
}

static void lapse_told_by_a_server_is_followed(struct rig *rig)
{
    struct desk desk;
    desk_open(&desk, rig);
    desk_submit(&desk, &work);
    struct pawl_run run = desk_claim(&desk, "default");
    const struct pawl_report report = { .lapse = true };
    assert_ok(rig, pawl_fail(desk.pawl, &run, &report, NULL, &rig->diag));
    assert_after("alarm(discarded)", &desk);
    desk_close(&desk);
}

static void expiry_is_followed(struct rig *rig)
{
    struct desk desk;
    struct pawl_job_spec spec = work;
    desk_open(&desk, rig);
    spec.expires_in_ms = 1000;
    desk_submit(&desk, &spec);
    rig_advance(rig, 2000);
    desk_upkeep(&desk);
    assert_after("alarm(expired)", &desk);
    desk_submit(&desk, &spec);
    rig_advance(rig, 2000); // a claim finds that it has expired
    const char *queue = "default";
    const struct pawl_claim wish = {
        .queues = &queue, .queue_count = 1, .limit = 1, .worker = "w", .lease_ms = 30000
    };
    struct pawl_jobs jobs = { 0 };
    assert_ok(rig, pawl_claim(desk.pawl, &wish, &jobs, &rig->diag));
    assert_int_equal(0, jobs.count);
    pawl_jobs_release(&jobs);
    assert_after("alarm(expired) alarm(expired)", &desk);
    desk_close(&desk);
}

static void cancellation_is_followed(struct rig *rig)
{
    struct desk desk;
    desk_open(&desk, rig);
    desk_control(&desk, desk_submit(&desk, &work), PAWL_CONTROL_CANCEL);
    assert_after("alarm(cancelled)", &desk);
    desk_submit(&desk, &work);
    struct pawl_run run = desk_claim(&desk, "default");
    desk_control(&desk, run.id, PAWL_CONTROL_CANCEL);
    assert_after("alarm(cancelled) alarm(cancelled)", &desk);
    assert_err(rig, PAWL_ERR_STALE,
               pawl_complete(desk.pawl, &run, span_of(""), &rig->diag)); // and not twice
    assert_after("alarm(cancelled) alarm(cancelled)", &desk);
    desk_close(&desk);
}

static void skipped_job_has_no_follow_up(struct rig *rig)
{
    struct desk desk;
    desk_open(&desk, rig);
    desk_control(&desk, desk_submit(&desk, &work), PAWL_CONTROL_SKIP);
    assert_after("", &desk);
    desk_close(&desk);
}

static void bulk_cancellation_is_followed_for_each(struct rig *rig)
{
    enum { JOBS = 700 };
    struct desk desk;
    struct pawl_job_spec specs[JOBS];
    struct pawl_submitted out[JOBS];
    const char *queue = "after";
    desk_open(&desk, rig);
    for (size_t i = 0; i < JOBS; i++) {
        specs[i] = work;
    }
    assert_ok(rig, pawl_submit_many(desk.pawl, specs, JOBS, out, &rig->diag));
    const char *type = "work";
    const struct pawl_filter all = { .types = &type, .type_count = 1 };
    int64_t moved = 0, count = 0;
    assert_ok(rig, pawl_control_many(desk.pawl, &all, PAWL_CONTROL_CANCEL, 1000, NULL, &moved,
                                     &rig->diag));
    assert_i64(JOBS, moved);
    desk_upkeep(&desk);
    const struct pawl_filter made = { .queues = &queue, .queue_count = 1 };
    assert_ok(rig, pawl_count(desk.pawl, &made, &count, &rig->diag));
    assert_i64(JOBS, count);
    desk_close(&desk);
}

static void replaced_job_is_followed(struct rig *rig)
{
    struct desk desk;
    struct pawl_job_spec spec = work;
    desk_open(&desk, rig);
    spec.unique =
        (struct pawl_unique){ .keys = PAWL_UNIQUE_TYPE, .on_conflict = PAWL_CONFLICT_REPLACE };
    desk_submit(&desk, &spec);
    desk_submit(&desk, &spec);
    assert_after("alarm(cancelled)", &desk);
    desk_close(&desk);
}

/* A node that comes back under its name takes the runs of the old one over: their leases end. */
static void job_of_a_dead_node_is_followed(struct rig *rig)
{
    struct desk desk;
    struct pawl_node node = { .name = "w", .lease_ms = 30000 };
    desk_open(&desk, rig);
    assert_ok(rig, pawl_node_join(desk.pawl, &node, &node.started_at_ms, &rig->diag));
    desk_submit(&desk, &work);
    const char *queue = "default";
    const struct pawl_claim wish = {
        .queues = &queue, .queue_count = 1, .limit = 1, .worker = "w", .lease_ms = 3600000
    };
    struct pawl_jobs jobs = { 0 };
    assert_ok(rig, pawl_claim(desk.pawl, &wish, &jobs, &rig->diag));
    assert_int_equal(1, jobs.count);
    pawl_jobs_release(&jobs);
    rig_advance(rig, 31000);
    assert_ok(rig, pawl_node_join(desk.pawl, &node, &node.started_at_ms, &rig->diag));
    desk_upkeep(&desk);
    assert_after("alarm(discarded)", &desk);
    desk_close(&desk);
}

/* ---- once for each end ---- */

static void each_end_is_followed_once(struct rig *rig)
{
    struct desk desk;
    desk_open(&desk, rig);
    struct pawl_job_id id = desk_submit(&desk, &work);
    struct pawl_run run = desk_claim(&desk, "default");
    desk_fails(&desk, &run);
    assert_after("alarm(discarded)", &desk);
    rig_advance(rig, 1000);
    desk_control(&desk, id, PAWL_CONTROL_PAUSE); // out of its end, and back
    desk_control(&desk, id, PAWL_CONTROL_RESUME);
    desk_upkeep(&desk);
    assert_after("alarm(discarded)", &desk);
    desk_control(&desk, id, PAWL_CONTROL_RETRY);
    run = desk_claim(&desk, "default");
    desk_fails(&desk, &run);
    assert_after("alarm(discarded) alarm(discarded)", &desk);
    desk_control(&desk, id, PAWL_CONTROL_RETRY);
    run = desk_claim(&desk, "default");
    assert_ok(rig, pawl_complete(desk.pawl, &run, span_of("1"), &rig->diag));
    assert_after("alarm(discarded) alarm(discarded) cheer(completed)", &desk);
    desk_close(&desk);
}

static void paused_end_that_is_cancelled_is_followed(struct rig *rig)
{
    struct desk desk;
    desk_open(&desk, rig);
    struct pawl_job_id id = desk_submit(&desk, &work);
    desk_control(&desk, id, PAWL_CONTROL_PAUSE);
    desk_control(&desk, id, PAWL_CONTROL_CANCEL);
    assert_after("alarm(cancelled)", &desk);
    desk_close(&desk);
}

static void archived_job_keeps_its_follow_ups(struct rig *rig)
{
    struct desk desk;
    const struct pawl_retention at_once = { .archive_after_ms = 1 };
    struct pawl_upkeep done;
    desk_open(&desk, rig);
    struct pawl_job_id id = desk_submit(&desk, &work);
    desk_control(&desk, id, PAWL_CONTROL_CANCEL);
    rig_advance(rig, 1000);
    assert_ok(rig, pawl_upkeep_turn(desk.pawl, &at_once, &done, &rig->diag));
    struct pawl_jobs jobs = { 0 };
    assert_ok(rig, pawl_get(desk.pawl, id, &jobs, &rig->diag));
    assert_true(jobs.at[0].archived);
    assert_span(span_of("{\"type\":\"alarm\",\"queue\":\"after\",\"args\":[]}"),
                jobs.at[0].on_failure);
    pawl_jobs_release(&jobs);
    desk_control(&desk, id, PAWL_CONTROL_RETRY);
    struct pawl_run run = desk_claim(&desk, "default");
    desk_fails(&desk, &run);
    assert_after("alarm(cancelled) alarm(discarded)", &desk);
    desk_close(&desk);
}

/* ---- what is made ---- */

static void follow_up_is_as_it_was_described(struct rig *rig)
{
    static const char *const tags[] = { "Red", "blue", "red" };
    const struct pawl_job_spec last = { .type = "last", .queue = "after" };
    const struct pawl_job_spec spec = { .type = "full.one",
                                        .queue = "other",
                                        .args = span_of("[1, {\"a\" : 2}]"),
                                        .meta = span_of("{ \"team\" : \"a\" }"),
                                        .extra = span_of("{\"x\":1}"),
                                        .tags = tags,
                                        .tag_count = 3,
                                        .priority = -3,
                                        .delay_ms = 5000,
                                        .expires_in_ms = 7000,
                                        .timeout_ms = 11,
                                        .lease_ms = 1300,
                                        .keep_ms = 17,
                                        .retry = { .attempts_max = 9, .initial_ms = 19 },
                                        .principal = "ann",
                                        .trace_id = "t",
                                        .on_failure = &last };
    struct desk desk;
    struct pawl_job_spec parent = work;
    desk_open(&desk, rig);
    parent.on_failure = &spec;
    struct pawl_job_id id = desk_submit(&desk, &parent);
    rig_advance(rig, 60000);
    desk_control(&desk, id, PAWL_CONTROL_CANCEL);
    const char *queue = "other";
    struct pawl_jobs jobs = { 0 };
    assert_ok(rig,
              pawl_query(desk.pawl, &(struct pawl_filter){ .queues = &queue, .queue_count = 1 },
                         NULL, &jobs, &rig->diag));
    assert_int_equal(1, jobs.count);
    const struct pawl_job *job = &jobs.at[0];
    char parent_id[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, parent_id);
    assert_text("full.one", job->type);
    assert_span(spec.args, job->args);
    assert_span(span_of(rig_text(rig,
                                 "{\"parent_id\":\"%s\",\"parent_state\":\"cancelled\","
                                 "\"team\" : \"a\" }",
                                 parent_id)),
                job->meta);
    assert_span(spec.extra, job->extra);
    assert_span(span_of("[\"red\",\"blue\"]"), job->tags);
    assert_i64(-3, job->priority);
    assert_state(SCHEDULED, job->state);
    assert_i64(rig_now(rig), job->created_at_ms);
    assert_i64(rig_now(rig) + 5000, job->due_at_ms);
    assert_i64(rig_now(rig) + 12000, job->expires_at_ms);
    assert_i64(11, job->timeout_ms);
    assert_i64(1300, job->lease_ms);
    assert_i64(17, job->keep_ms);
    assert_i64(9, job->attempts_max);
    assert_span(span_of("{\"attempts_max\":9,\"initial_ms\":19}"), job->retry);
    assert_text("ann", job->principal);
    assert_text("t", job->trace_id);
    assert_span(span_of("{\"type\":\"last\",\"queue\":\"after\",\"args\":[]}"), job->on_failure);
    desk_control(&desk, job->id, PAWL_CONTROL_CANCEL);
    pawl_jobs_release(&jobs);
    const char *last_queue = "after";
    assert_ok(rig, pawl_query(desk.pawl,
                              &(struct pawl_filter){ .queues = &last_queue, .queue_count = 1 },
                              NULL, &jobs, &rig->diag));
    assert_int_equal(1, jobs.count);
    assert_text("last", jobs.at[0].type);
    pawl_jobs_release(&jobs);
    desk_close(&desk);
}

static void keys_of_follow_ups_are_asked(struct rig *rig)
{
    struct desk desk;
    const struct pawl_job_spec lone = { .type = "alarm", .queue = "after", .business_key = "k" };
    struct pawl_job_spec spec = work;
    struct pawl_story story = { 0 };
    desk_open(&desk, rig);
    spec.on_failure = &lone;
    desk_control(&desk, desk_submit(&desk, &spec), PAWL_CONTROL_CANCEL);
    struct pawl_job_id second = desk_submit(&desk, &spec);
    desk_control(&desk, second, PAWL_CONTROL_CANCEL);
    assert_after("alarm(cancelled)", &desk);
    assert_ok(rig, pawl_story_get(desk.pawl, second, &story, &rig->diag));
    const struct pawl_audit_entry *last = &story.audit[story.audit_count - 1];
    assert_text("follow_up", last->action);
    assert_within("on_failure was not submitted: ", last->reason);
    assert_within("holds the same business_key", last->reason);
    pawl_story_release(&story);
    desk_control(&desk, desk_claim(&desk, "after").id, PAWL_CONTROL_CANCEL);
    desk_control(&desk, desk_submit(&desk, &spec), PAWL_CONTROL_CANCEL); // the key is free
    assert_after("alarm(cancelled) alarm(cancelled)", &desk);
    desk_close(&desk);
}

static void unique_follow_up_replaces_an_earlier_one(struct rig *rig)
{
    struct desk desk;
    const struct pawl_job_spec newest = { .type = "alarm",
                                          .queue = "after",
                                          .unique = { .keys = PAWL_UNIQUE_TYPE,
                                                      .on_conflict = PAWL_CONFLICT_REPLACE },
                                          .on_failure = &cheer };
    struct pawl_job_spec spec = work;
    desk_open(&desk, rig);
    spec.on_failure = &newest;
    desk_control(&desk, desk_submit(&desk, &spec), PAWL_CONTROL_CANCEL);
    rig_advance(rig, 1000);
    desk_control(&desk, desk_submit(&desk, &spec), PAWL_CONTROL_CANCEL);
    desk_upkeep(&desk);
    const char *queue = "after";
    const struct pawl_filter live = { .queues = &queue,
                                      .queue_count = 1,
                                      .states = PAWL_STATE_BIT(PAWL_STATE_AVAILABLE) };
    int64_t count = 0;
    assert_ok(rig, pawl_count(desk.pawl, &live, &count, &rig->diag));
    assert_i64(2, count); // the newest one, and what follows the one that it replaced
    desk_close(&desk);
}

static void node_of_a_flow_has_follow_ups_too(struct rig *rig)
{
    struct desk desk;
    const struct pawl_flow_edge edge = { .parent = "a" };
    const struct pawl_flow_node nodes[] = {
        { .name = "a", .job = work },
        { .name = "b", .job = work, .after = &edge, .after_count = 1 },
    };
    const struct pawl_flow_spec spec = { .nodes = nodes, .node_count = 2 };
    struct pawl_job_id id;
    desk_open(&desk, rig);
    assert_ok(rig, pawl_flow_submit(desk.pawl, &spec, &id, &rig->diag));
    struct pawl_run run = desk_claim(&desk, "default");
    desk_fails(&desk, &run); // which cancels b
    desk_upkeep(&desk);
    const char *made = after(&desk);
    assert_within("alarm(discarded)", made);
    assert_within("alarm(cancelled)", made);
    desk_close(&desk);
}

static void rerun_has_the_same_follow_ups(struct rig *rig)
{
    struct desk desk;
    struct pawl_submitted out;
    desk_open(&desk, rig);
    struct pawl_job_id id = desk_submit(&desk, &work);
    desk_control(&desk, id, PAWL_CONTROL_CANCEL);
    assert_ok(rig, pawl_rerun(desk.pawl, id, &out, &rig->diag));
    struct pawl_run run = desk_claim(&desk, "default");
    assert_ok(rig, pawl_complete(desk.pawl, &run, span_of(""), &rig->diag));
    assert_after("alarm(cancelled) cheer(completed)", &desk);
    desk_close(&desk);
}

static void deleted_parent_is_remembered_by_its_state(struct rig *rig)
{
    struct desk desk;
    struct pawl_flow_inputs inputs = { 0 };
    desk_open(&desk, rig);
    struct pawl_job_id id = desk_submit(&desk, &work);
    desk_control(&desk, id, PAWL_CONTROL_CANCEL);
    assert_ok(rig, pawl_delete(desk.pawl, id, NULL, &rig->diag));
    struct pawl_run run = desk_claim(&desk, "after");
    assert_ok(rig, pawl_flow_inputs_get(desk.pawl, run.id, &inputs, &rig->diag));
    assert_int_equal(1, inputs.count);
    assert_id(id, inputs.at[0].id);
    assert_state(CANCELLED, inputs.at[0].state);
    assert_span(span_of("null"), inputs.at[0].result);
    pawl_flow_inputs_release(&inputs);
    desk_close(&desk);
}

/* ---- what is refused ---- */

static void refusals_name_the_member(struct rig *rig)
{
    static const struct pawl_job_id id = { { 1 } };
    static char much[PAWL_FOLLOW_BYTES_MAX + 8];
    memset(much, 'x', sizeof much);
    memcpy(much, "[\"", 2);
    memcpy(much + sizeof much - 3, "\"]", 3);
    const struct pawl_job_spec bad_retry = { .type = "a", .retry.cap_ms = -1 };
    const struct pawl_job_spec four = { .type = "a" };
    const struct pawl_job_spec three = { .type = "a", .on_success = &four };
    const struct pawl_job_spec two = { .type = "a", .on_failure = &three };
    const struct {
        struct pawl_job_spec follow;
        enum pawl_err err;
        const char *field;
    } rows[] = {
        { { .type = NULL }, PAWL_ERR_ARG, "on_failure.type" },
        { { .type = "Bad" }, PAWL_ERR_ARG, "on_failure.type" },
        { { .type = "a", .queue = "Bad" }, PAWL_ERR_ARG, "on_failure.queue" },
        { { .type = "a", .id = &id }, PAWL_ERR_ARG, "on_failure.id" },
        { { .type = "a", .args = span_of("{}") }, PAWL_ERR_ARG, "on_failure.args" },
        { { .type = "a", .meta = span_of("{\"parent_id\":1}") }, PAWL_ERR_ARG, "on_failure.meta" },
        { { .type = "a", .args = span_of(much) }, PAWL_ERR_LIMIT, "on_failure" },
        { { .type = "a", .on_success = &bad_retry },
          PAWL_ERR_ARG,
          "on_failure.on_success.retry.cap_ms" },
        { { .type = "a", .on_success = &two },
          PAWL_ERR_LIMIT,
          "on_failure.on_success.on_failure.on_success" },
    };
    struct desk desk;
    struct pawl_submitted out;
    desk_open(&desk, rig);
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct pawl_job_spec spec = { .type = "work", .on_failure = &rows[i].follow };
        assert_err(rig, rows[i].err, pawl_submit(desk.pawl, &spec, &out, &rig->diag));
        assert_text(rows[i].field, rig->diag.field);
    }
    desk_close(&desk);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(completion_is_followed),
        CONTRACT(only_the_last_failure_is_followed),
        CONTRACT(lost_lease_is_followed),
        CONTRACT(lapse_told_by_a_server_is_followed),
        CONTRACT(expiry_is_followed),
        CONTRACT(cancellation_is_followed),
        CONTRACT(skipped_job_has_no_follow_up),
        CONTRACT(bulk_cancellation_is_followed_for_each),
        CONTRACT(replaced_job_is_followed),
        CONTRACT(job_of_a_dead_node_is_followed),
        CONTRACT(each_end_is_followed_once),
        CONTRACT(paused_end_that_is_cancelled_is_followed),
        CONTRACT(archived_job_keeps_its_follow_ups),
        CONTRACT(follow_up_is_as_it_was_described),
        CONTRACT(keys_of_follow_ups_are_asked),
        CONTRACT(unique_follow_up_replaces_an_earlier_one),
        CONTRACT(node_of_a_flow_has_follow_ups_too),
        CONTRACT(rerun_has_the_same_follow_ups),
        CONTRACT(deleted_parent_is_remembered_by_its_state),
        CONTRACT(refusals_name_the_member),
    };
    return contract_run("follow", tests, COUNT(tests));
}
