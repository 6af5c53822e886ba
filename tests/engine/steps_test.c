/* The steps of a run in their order: bind, check for a cancellation, gates, find the handler,
 * execute, outcome, release, clear. */
#include "engine/stand.h"

/* ---- the order ---- */

struct named_hook {
    struct stand *stand;
    const char *name;
    bool shut;
    int64_t delay_ms;
};

static bool hook_before(void *ctx, struct pawl_task *task, int64_t *delay_ms)
{
    struct named_hook *hook = ctx;
    (void)task;
    trace(hook->stand, "%s.before ", hook->name);
    *delay_ms = hook->delay_ms;
    return !hook->shut;
}

static void hook_after(void *ctx, struct pawl_task *task, enum pawl_outcome outcome)
{
    struct named_hook *hook = ctx;
    (void)task;
    trace(hook->stand, "%s.after(%d) ", hook->name, (int)outcome);
}

static void add_hook(struct stand *stand, struct named_hook *hook, const char *name)
{
    *hook = (struct named_hook){ .stand = stand, .name = name };
    struct pawl_hooks hooks = { .before_run = hook_before, .after_run = hook_after, .ctx = hook };
    expect_ok(stand, pawl_hook(stand->pawl, &hooks, &stand->diag));
}

static enum pawl_outcome note_run(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    (void)task;
    trace(stand, "run ");
    stand->runs++;
    return PAWL_OUTCOME_SKIP;
}

static void hooks_stand_around_the_handler(struct stand *stand)
{
    struct named_hook a, b;
    add_hook(stand, &a, "a");
    add_hook(stand, &b, "b");
    handle(stand, "work", note_run);
    start(stand, NULL);
    submit(stand, NULL);
    assert_i64(1, work_all(stand));
    assert_text("a.before b.before run b.after(6) a.after(6) ", stand->trace);
}

static enum pawl_outcome look_at_job(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    const struct pawl_job *job = pawl_task_job(task);
    struct pawl_job kept = job_of(stand, job->id);
    assert_text("work", job->type);
    assert_text("mail", job->queue);
    assert_text("node", job->worker);
    assert_span(span_of("[1, \"two\"]"), job->args);
    assert_span(span_of("{\"k\":\"v\"}"), job->meta);
    assert_i64(1, job->run);
    assert_i64(1, job->attempt);
    assert_i64(now_ms(stand), job->started_at_ms);
    assert_i64(now_ms(stand) + STAND_LEASE_MS, job->lease_until_ms);
    assert_state(ACTIVE, job->state);
    assert_state(ACTIVE, kept.state);
    assert_text("node", kept.worker);
    assert_false(pawl_task_cancelled(task));
    assert_i64(0, pawl_task_deadline_ms(task));
    stand->runs++;
    return PAWL_OUTCOME_DONE;
}

static void handler_finds_its_job(struct stand *stand)
{
    handle(stand, "work", look_at_job);
    struct pawl_node_queue queue = { .name = "mail" };
    start(stand, &(struct pawl_node_config){ .queues = &queue, .queue_count = 1 });
    submit(stand, &(struct pawl_job_spec){ .queue = "mail",
                                           .args = span_of("[1, \"two\"]"),
                                           .meta = span_of("{\"k\":\"v\"}") });
    assert_i64(1, work_all(stand));
    assert_i64(1, stand->runs);
}

static void nothing_is_held_after_a_run(struct stand *stand)
{
    handle(stand, "work", count_run);
    start_workers(stand, 4);
    for (int i = 0; i < 10; i++) {
        submit(stand, NULL);
    }
    work_all(stand);
    struct pawl_counters counters = counters_of(stand);
    assert_i64(0, counters.running);
    assert_i64(0, counters.waiting);
    assert_null(stand->engine->held);
    assert_null(stand->engine->queue_head);
    assert_i64(0, stand->engine->groups[0].held);
    assert_i64(0, stand->engine->finishing);
    assert_i64(10, stand->runs);
}

/* ---- was it cancelled ---- */

static void cancelled_between_claim_and_run_never_runs(struct stand *stand)
{
    struct named_hook gate;
    add_hook(stand, &gate, "gate");
    handle(stand, "work", note_run);
    start(stand, NULL);
    struct pawl_job_id id = submit(stand, NULL);
    turn(stand);
    assert_i64(1, counters_of(stand).waiting);
    expect_ok(stand, control_job(stand, id, PAWL_CONTROL_CANCEL));
    settle(stand);
    work_all(stand);
    assert_text("", stand->trace); // not even the gates were asked
    assert_state(CANCELLED, state_of_job(stand, id));
    struct pawl_counters counters = counters_of(stand);
    assert_i64(1, counters.cancelled);
    assert_i64(0, counters.completed + counters.snoozed + counters.stale);
    assert_i64(0, counters.waiting + counters.running);
}

static void cancelling_one_of_a_claim_spares_the_others(struct stand *stand)
{
    for (int which = 0; which < 3; which++) {
        struct stand other;
        stand_open(&other, stand->kind);
        handle(&other, "work", note_args);
        start_workers(&other, 3);
        static const char *const args[] = { "[0]", "[1]", "[2]" };
        struct pawl_job_spec specs[3];
        struct pawl_submitted out[3];
        for (int i = 0; i < 3; i++) {
            specs[i] = (struct pawl_job_spec){ .type = "work", .args = span_of(args[i]) };
        }
        expect_ok(&other, pawl_submit_many(other.pawl, specs, 3, out, &other.diag));
        turn(&other);
        assert_i64(3, counters_of(&other).waiting);
        assert_i64(1, counters_of(&other).claims_full);
        expect_ok(&other, control_job(&other, out[which].id, PAWL_CONTROL_CANCEL));
        settle(&other);
        work_all(&other);
        static const char *const traces[] = { "1 2 ", "0 2 ", "0 1 " };
        assert_text(traces[which], other.trace);
        assert_state(CANCELLED, state_of_job(&other, out[which].id));
        assert_i64(2, count_in(&other, PAWL_STATE_COMPLETED));
        assert_i64(0, counters_of(&other).waiting);
        stand_close(&other);
    }
}

static void all_of_a_claim_may_be_cancelled(struct stand *stand)
{
    handle(stand, "work", note_args);
    start_workers(stand, 8);
    struct pawl_job_spec specs[5];
    struct pawl_submitted out[5];
    for (int i = 0; i < 5; i++) {
        specs[i] = (struct pawl_job_spec){ .type = "work" };
    }
    expect_ok(stand, pawl_submit_many(stand->pawl, specs, 5, out, &stand->diag));
    turn(stand);
    assert_i64(5, counters_of(stand).waiting);
    for (int i = 4; i >= 0; i--) {
        expect_ok(stand, control_job(stand, out[i].id, PAWL_CONTROL_CANCEL));
    }
    settle(stand);
    submit_args(stand, NULL, "[6]");
    work_all(stand);
    assert_text("6 ", stand->trace);
    assert_i64(5, counters_of(stand).cancelled);
}

static void discarded_by_an_operator_before_its_run_never_runs(struct stand *stand)
{
    handle(stand, "work", note_run);
    start(stand, NULL);
    struct pawl_job_id id = submit(stand, NULL);
    turn(stand);
    expect_ok(stand, control_job(stand, id, PAWL_CONTROL_DISCARD));
    settle(stand);
    work_all(stand);
    assert_text("", stand->trace);
    assert_state(DISCARDED, state_of_job(stand, id));
}

/* ---- the gates ---- */

static void shut_gate_gives_the_job_back_for_its_delay(struct stand *stand)
{
    struct named_hook gate;
    add_hook(stand, &gate, "gate");
    gate.shut = true;
    gate.delay_ms = 5000;
    handle(stand, "work", note_run);
    start(stand, NULL);
    struct pawl_job_id id = submit(stand, NULL);
    assert_i64(1, work_all(stand));
    assert_text("gate.before ", stand->trace); // neither the handler nor what follows it
    assert_state(SCHEDULED, state_of_job(stand, id));
    assert_i64(now_ms(stand) + 5000, job_of(stand, id).due_at_ms);
    assert_i64(1, counters_of(stand).snoozed);
    assert_i64(0, counters_of(stand).failed);
    assert_i64(0, counters_of(stand).run_us.count); // nothing ran, so nothing was quick
    gate.shut = false;
    live(stand, 4999);
    assert_i64(0, stand->runs);
    live(stand, 1);
    assert_i64(1, stand->runs);
    assert_i64(1, counters_of(stand).run_us.count);
    assert_state(SKIPPED, state_of_job(stand, id));
}

static enum pawl_outcome fail_run_of(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    stand->runs++;
    pawl_task_error(task, "boom", (struct pawl_span){ 0 }, "it broke");
    return PAWL_OUTCOME_RETRY;
}

/* As often as it likes: the job's only attempt is still there afterwards. */
static void shut_gate_charges_nothing(struct stand *stand)
{
    struct named_hook gate;
    add_hook(stand, &gate, "gate");
    gate.shut = true;
    gate.delay_ms = 1000;
    handle(stand, "work", fail_run_of);
    start(stand, NULL);
    struct pawl_job_id id =
        submit(stand, &(struct pawl_job_spec){ .retry = { .attempts_max = 1 } });
    live(stand, 5500);
    struct pawl_job job = job_of(stand, id);
    assert_i64(6, job.free_runs);
    assert_i64(6, job.run);
    assert_state(SCHEDULED, job.state);
    assert_i64(0, (int64_t)story_of_job(stand, id)->failure_count);
    gate.shut = false;
    live(stand, 1000);
    assert_i64(1, stand->runs);
    assert_state(DISCARDED, state_of_job(stand, id));
    assert_i64(1, (int64_t)story_of_job(stand, id)->failure_count);
}

/* Else it would be claimed and given back as fast as the disk can. */
static void shut_gate_without_delay_is_asked_again_after_a_second(struct stand *stand)
{
    struct named_hook gate;
    add_hook(stand, &gate, "gate");
    gate.shut = true;
    handle(stand, "work", note_run);
    start(stand, NULL);
    struct pawl_job_id id = submit(stand, NULL);
    assert_i64(1, work_all(stand));
    assert_state(SCHEDULED, state_of_job(stand, id));
    assert_i64(now_ms(stand) + 1000, job_of(stand, id).due_at_ms);
    gate.shut = false;
    live(stand, 1000);
    assert_i64(1, stand->runs);
    assert_i64(1, job_of(stand, id).free_runs);
}

static void second_gate_is_asked_after_the_first(struct stand *stand)
{
    struct named_hook first, second;
    add_hook(stand, &first, "first");
    add_hook(stand, &second, "second");
    handle(stand, "work", note_run);
    first.shut = true;
    first.delay_ms = second.delay_ms = 1000;
    start(stand, NULL);
    submit(stand, NULL);
    work_all(stand);
    assert_text("first.before ", stand->trace);
    first.shut = false;
    second.shut = true;
    stand->trace[0] = '\0';
    live(stand, 1000);
    // whoever let it pass is told that it did not run, and can give back what it holds for it
    assert_text("first.before second.before first.after(4) ", stand->trace);
    assert_i64(0, stand->runs);
}

/* ---- only what is registered ---- */

static void only_registered_types_are_claimed(struct stand *stand)
{
    handle(stand, "known", note_args);
    start_workers(stand, 4);
    struct pawl_job_id other = submit(stand, &(struct pawl_job_spec){ .type = "other" });
    struct pawl_job_id longer = submit(stand, &(struct pawl_job_spec){ .type = "known.not" });
    submit(stand, &(struct pawl_job_spec){ .type = "known", .args = span_of("[1]") });
    work_all(stand);
    assert_text("1 ", stand->trace);
    live(stand, 600000);
    assert_state(AVAILABLE, state_of_job(stand, other));
    assert_state(AVAILABLE, state_of_job(stand, longer));
    assert_i64(0, job_of(stand, other).run);
}

static enum pawl_outcome note_type(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    trace(stand, "%s ", pawl_task_job(task)->type);
    return PAWL_OUTCOME_DONE;
}

static enum pawl_outcome note_b(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    assert_text("b", pawl_task_job(task)->type);
    trace(stand, "(b) ");
    return PAWL_OUTCOME_DONE;
}

static void each_type_has_its_handler(struct stand *stand)
{
    static const char *const types[] = { "c", "a", "e", "d" }; // not in order
    for (size_t i = 0; i < COUNT(types); i++) {
        handle(stand, types[i], note_type);
    }
    handle(stand, "b", note_b);
    start(stand, NULL);
    static const char *const order[] = { "a", "b", "c", "d", "e" };
    for (size_t i = 0; i < COUNT(order); i++) {
        submit(stand, &(struct pawl_job_spec){ .type = order[i] });
        move_clock(stand, 1);
    }
    work_all(stand);
    assert_text("a (b) c d e ", stand->trace);
}

static enum pawl_outcome note_prefix(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    trace(stand, "(%s) ", pawl_task_job(task)->type);
    return PAWL_OUTCOME_DONE;
}

static void types_without_a_handler_go_to_the_longest_prefix(struct stand *stand)
{
    handle(stand, "b.*", note_prefix);
    handle(stand, "b.c.*", note_type);
    handle(stand, "b.x", note_type);
    start(stand, NULL);
    static const char *const order[] = { "b.x", "b.y", "b.c.d", "b.c", "b", "bc.d" };
    for (size_t i = 0; i < COUNT(order); i++) {
        submit(stand, &(struct pawl_job_spec){ .type = order[i] });
        move_clock(stand, 1);
    }
    work_all(stand);
    // what is not registered does not run
    assert_text("b.x (b.y) b.c.d (b.c) ", stand->trace);
}

static void registering_is_checked(struct stand *stand)
{
    struct pawl_diag *diag = &stand->diag;
    expect_err(stand, PAWL_ERR_ARG, pawl_start(stand->pawl, NULL, diag)); // nothing could run
    handle(stand, "work", count_run);
    expect_err(stand, PAWL_ERR_EXISTS, pawl_handle(stand->pawl, "work", count_run, NULL, diag));
    assert_text("type", diag->field);
    expect_err(stand, PAWL_ERR_ARG, pawl_handle(stand->pawl, "", count_run, NULL, diag));
    expect_err(stand, PAWL_ERR_ARG, pawl_handle(stand->pawl, NULL, count_run, NULL, diag));
    static const char *const wrong[] = { "a*", ".*", "a..*", "**", "a.*.b", "a.*.*", "A.*" };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        expect_err(stand, PAWL_ERR_ARG, pawl_handle(stand->pawl, wrong[i], count_run, NULL, diag));
    }
    start(stand, NULL);
    expect_err(stand, PAWL_ERR_STATE, pawl_handle(stand->pawl, "late", count_run, NULL, diag));
    expect_err(stand, PAWL_ERR_STATE, pawl_start(stand->pawl, NULL, diag));
    expect_err(stand, PAWL_ERR_STATE, pawl_hook(stand->pawl, &(struct pawl_hooks){ 0 }, diag));
}

static void settings_of_a_node_are_checked(struct stand *stand)
{
    static const char long_name[300] = { [0 ... 298] = 'x' };
    static const struct pawl_node_queue bad_limit = { .name = "a", .concurrency = -1 };
    static const struct pawl_node_queue bad_name = { .name = "a queue" };
    static const struct {
        struct pawl_node_config config;
        const char *field;
    } rows[] = {
        { { .workers = -2 }, "workers" },
        { { .workers = PAWL__WORKERS_MAX + 1 }, "workers" },
        { { .lease_ms = -1 }, "lease_ms" },
        { { .lease_ms = 99 }, "lease_ms" },
        { { .lease_ms = INT64_MAX }, "lease_ms" },
        { { .claim_bytes_max = -1 }, "claim_bytes_max" },
        { { .poll_min_ms = -1 }, "poll_min_ms" },
        { { .poll_max_ms = -1 }, "poll_max_ms" },
        { { .poll_max_ms = INT64_MAX }, "poll_max_ms" },
        { { .name = long_name }, "name" },
        { { .queues = &bad_limit, .queue_count = 1 }, "queues" },
        { { .queues = &bad_name, .queue_count = 1 }, "queue" },
    };
    handle(stand, "work", count_run);
    for (size_t i = 0; i < COUNT(rows); i++) {
        stand->diag = (struct pawl_diag){ 0 };
        enum pawl_err err = pawl_start(stand->pawl, &rows[i].config, &stand->diag);
        if (!err) pawl_stop(stand->pawl, NULL, NULL);
        if (err != PAWL_ERR_ARG && err != PAWL_ERR_LIMIT) {
            fail_msg("row %zu (%s): %s", i, rows[i].field, pawl_err_name(err));
        }
        assert_text(rows[i].field, stand->diag.field);
    }
    start(stand, NULL); // what was refused has left nothing behind
    submit(stand, NULL);
    assert_i64(1, work_all(stand));
}

/* ---- what a run leaves behind ---- */

static enum pawl_outcome leave_and_find(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    struct pawl_span found = { "x", 1 };
    expect_ok(stand, pawl_task_resume(task, &found, &stand->diag));
    if (stand->runs++ == 0) {
        assert_i64(0, (int64_t)found.len);
        expect_ok(stand, pawl_task_checkpoint(task, span_of("{\"page\":1}"), &stand->diag));
        expect_ok(stand, pawl_task_checkpoint(task, span_of("{\"page\":2}"), &stand->diag));
        return PAWL_OUTCOME_RETRY;
    }
    assert_span(span_of("{\"page\":2}"), found);
    expect_ok(stand, pawl_task_checkpoint(task, span_of(""), &stand->diag));
    expect_ok(stand, pawl_task_resume(task, &found, &stand->diag));
    assert_i64(0, (int64_t)found.len);
    return PAWL_OUTCOME_DONE;
}

static void next_run_finds_the_checkpoint(struct stand *stand)
{
    handle(stand, "work", leave_and_find);
    start(stand, NULL);
    submit(stand, NULL);
    live(stand, 2000);
    assert_i64(2, stand->runs);
}

/* ---- what parents left ---- */

static enum pawl_outcome name_inputs(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    const struct pawl_flow_inputs *inputs, *again;
    const struct pawl_job *job = pawl_task_job(task);
    expect_ok(stand, pawl_task_inputs(task, &inputs, &stand->diag));
    expect_ok(stand, pawl_task_inputs(task, &again, &stand->diag));
    assert_ptr_equal(inputs, again);
    if (!pawl_flow_has_inputs(job)) assert_int_equal(0, inputs->count);
    trace(stand, "%s(", inputs->node);
    for (size_t i = 0; i < inputs->count; i++) {
        const struct pawl_flow_input *input = &inputs->at[i];
        trace(stand, "%s=%.*s ", input->name, (int)input->result.len, input->result.at);
        assert_ptr_equal(input, pawl_flow_input_find(inputs, input->name));
    }
    trace(stand, ")");
    assert_null(pawl_flow_input_find(inputs, "nobody"));
    expect_ok(stand, pawl_task_result(task, job->args));
    return PAWL_OUTCOME_DONE;
}

static void handlers_find_what_parents_left(struct stand *stand)
{
    const struct pawl_flow_edge edges[] = { { .parent = "a" }, { .parent = "b" } };
    const struct pawl_flow_node nodes[] = {
        { .name = "a", .job = { .type = "work", .args = span_of("[1]") } },
        { .name = "b", .job = { .type = "work", .args = span_of("[2]") } },
        { .name = "c", .job = { .type = "work" }, .after = edges, .after_count = 2 },
    };
    const struct pawl_flow_spec spec = { .nodes = nodes, .node_count = 3 };
    struct pawl_job_id id;
    handle(stand, "work", name_inputs);
    start(stand, NULL);
    expect_ok(stand, pawl_flow_submit(stand->pawl, &spec, &id, &stand->diag));
    assert_i64(3, work_all(stand));
    submit(stand, NULL);
    assert_i64(1, work_all(stand));
    assert_text("a()b()c(a=[1] b=[2] )()", stand->trace);
}

static enum pawl_outcome report(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    struct pawl_job_id id = pawl_task_job(task)->id;
    expect_ok(stand, pawl_task_progress(task, 0.25, "a quarter"));
    expect_ok(stand, pawl_task_progress(task, 0.75, NULL));
    expect_ok(stand, pawl_task_progress(task, 0.5, "back?"));
    const struct pawl_story *story = story_of_job(stand, id);
    assert_true(story->progress == 0.75);
    pawl_task_log(task, 1, "line %d of %s", 1, "two");
    pawl_task_log(task, 3, "line %d", 2);
    return PAWL_OUTCOME_DONE;
}

static void progress_and_log_are_kept_with_the_job(struct stand *stand)
{
    handle(stand, "work", report);
    start(stand, NULL);
    struct pawl_job_id id = submit(stand, NULL);
    work_all(stand);
    const struct pawl_story *story = story_of_job(stand, id);
    assert_i64(2, (int64_t)story->log_count);
    assert_text("line 1 of two", story->log[0].text);
    assert_i64(1, story->log[0].level);
    assert_i64(1, story->log[0].run);
    assert_i64(now_ms(stand), story->log[0].at_ms);
    assert_text("line 2", story->log[1].text);
    assert_i64(3, story->log[1].level);
}

static enum pawl_outcome go_on_after_cancel(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    struct pawl_diag *diag = &stand->diag;
    assert_false(pawl_task_cancelled(task));
    assert_false(pawl_task_wait(task, 0));
    expect_ok(stand, control_job(stand, pawl_task_job(task)->id, PAWL_CONTROL_CANCEL));
    settle(stand);
    assert_true(pawl_task_cancelled(task)); // at once: no turn was needed
    assert_true(pawl_task_wait(task, 3600000));
    expect_err(stand, PAWL_ERR_STALE, pawl_task_progress(task, 0.5, NULL));
    expect_err(stand, PAWL_ERR_STALE, pawl_task_checkpoint(task, span_of("{}"), diag));
    expect_err(stand, PAWL_ERR_STALE, pawl_task_extend(task, 1000, diag));
    stand->runs++;
    return PAWL_OUTCOME_DONE;
}

static void cancelled_run_is_told_at_once_and_can_write_no_more(struct stand *stand)
{
    handle(stand, "work", go_on_after_cancel);
    start(stand, NULL);
    struct pawl_job_id id = submit(stand, NULL);
    work_all(stand);
    assert_i64(1, stand->runs);
    struct pawl_job job = job_of(stand, id);
    assert_state(CANCELLED, job.state);
    assert_i64(0, (int64_t)job.result.len);
    struct pawl_counters counters = counters_of(stand);
    assert_i64(1, counters.cancelled);
    assert_i64(0, counters.completed);
    assert_i64(0, counters.running);
}

int main(void)
{
    static const struct stand_test tests[] = {
        STAND(hooks_stand_around_the_handler),
        STAND(handler_finds_its_job),
        STAND(nothing_is_held_after_a_run),
        STAND(cancelled_between_claim_and_run_never_runs),
        STAND(cancelling_one_of_a_claim_spares_the_others),
        STAND(all_of_a_claim_may_be_cancelled),
        STAND(discarded_by_an_operator_before_its_run_never_runs),
        STAND(shut_gate_gives_the_job_back_for_its_delay),
        STAND(shut_gate_charges_nothing),
        STAND(shut_gate_without_delay_is_asked_again_after_a_second),
        STAND(second_gate_is_asked_after_the_first),
        STAND(only_registered_types_are_claimed),
        STAND(each_type_has_its_handler),
        STAND(types_without_a_handler_go_to_the_longest_prefix),
        STAND(registering_is_checked),
        STAND(settings_of_a_node_are_checked),
        STAND(next_run_finds_the_checkpoint),
        STAND(handlers_find_what_parents_left),
        STAND(progress_and_log_are_kept_with_the_job),
        STAND(cancelled_run_is_told_at_once_and_can_write_no_more),
    };
    return stand_run("engine_steps", tests, COUNT(tests));
}
