/* Listeners, which are called after each commit, and hooks of submits. */
#include "engine/stand.h"

#include <sched.h>

/* ---- a listener ---- */

enum { RECEIVED_MAX = 4096 };

struct received {
    struct pawl_moved moved;
    char queue[32], type[32];
};

static struct {
    struct pawl__mutex mutex;
    struct pawl__cond change;
    /* guarded by mutex: */
    bool shut, inside;
    size_t count;
    struct received list[RECEIVED_MAX];
} listener;

static void listen(void *ctx, const struct pawl_moved *moved)
{
    (void)ctx;
    pawl__lock(&listener.mutex);
    listener.inside = true;
    pawl__cond_broadcast(&listener.change);
    while (listener.shut) {
        pawl__cond_wait(&listener.change, &listener.mutex);
    }
    if (listener.count < RECEIVED_MAX) {
        struct received *received = &listener.list[listener.count++];
        received->moved = *moved;
        snprintf(received->queue, sizeof received->queue, "%s", moved->queue);
        snprintf(received->type, sizeof received->type, "%s", moved->type);
    }
    listener.inside = false;
    pawl__cond_broadcast(&listener.change);
    pawl__unlock(&listener.mutex);
}

static void begin_listening(struct stand *stand)
{
    static bool ready;
    if (!ready) {
        pawl__mutex_init(&listener.mutex);
        pawl__cond_init(&listener.change);
        ready = true;
    }
    listener.shut = listener.inside = false;
    listener.count = 0;
    expect_ok(stand, pawl_listen(stand->pawl, listen, NULL, &stand->diag));
}

/* Ends it: all that was told before has been received then. */
static void end_listening(struct stand *stand)
{
    settle(stand);
    expect_ok(stand, pawl_listen(stand->pawl, NULL, NULL, &stand->diag));
}

/* The moves of one job as "submitted>available>active>completed". */
static const char *life_of(struct pawl_job_id id)
{
    static char text[2048];
    size_t len = 0;
    enum pawl_state last = PAWL_STATE_NONE;
    text[0] = '\0';
    for (size_t i = 0; i < listener.count; i++) {
        const struct pawl_moved *moved = &listener.list[i].moved;
        if (!same_id(moved->id, id)) continue;
        if (moved->from != last) fail_msg("%s, then a move from %d", text, moved->from);
        last = moved->to;
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", len ? ">" : "",
                                pawl_state_name(last, PAWL_VOCABULARY_PAWL));
        assert_true(len < sizeof text);
    }
    return text;
}

static enum pawl_outcome fail_once(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    (void)task;
    return stand->runs++ == 0 ? PAWL_OUTCOME_RETRY : PAWL_OUTCOME_DONE;
}

static void life_of_a_job_is_told_in_order(struct stand *stand)
{
    begin_listening(stand);
    handle(stand, "work", fail_once);
    static const struct pawl_node_queue queue = { .name = "mail" };
    start(stand, &(struct pawl_node_config){ .queues = &queue, .queue_count = 1 });
    struct pawl_job_id id = submit(stand, &(struct pawl_job_spec){ .queue = "mail" });
    live(stand, 1000);
    end_listening(stand);
    assert_text("available>active>retryable>available>active>completed", life_of(id));
    assert_i64(6, (int64_t)listener.count);
    static const int64_t runs[] = { 0, 1, 1, 1, 2, 2 };
    for (size_t i = 0; i < listener.count; i++) {
        assert_i64(runs[i], listener.list[i].moved.run);
        assert_text("mail", listener.list[i].queue);
        assert_text("work", listener.list[i].type);
        assert_i64(0, listener.list[i].moved.lost);
        assert_i64(STAND_START_MS + (i < 3 ? 0 : 1000), listener.list[i].moved.at_ms);
    }
}

static enum pawl_outcome as_told(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    (void)stand;
    pawl_task_delay(task, 1000);
    return (enum pawl_outcome)(pawl_task_job(task)->args.at[1] - '0');
}

static void every_outcome_is_told(struct stand *stand)
{
    static const char *const lives[PAWL_OUTCOME_END] = {
        [PAWL_OUTCOME_DONE] = "available>active>completed",
        [PAWL_OUTCOME_RETRY] = "available>active>retryable",
        [PAWL_OUTCOME_RETRY_AFTER] = "available>active>retryable",
        [PAWL_OUTCOME_DISCARD] = "available>active>discarded",
        [PAWL_OUTCOME_SNOOZE] = "available>active>scheduled",
        [PAWL_OUTCOME_CANCEL] = "available>active>cancelled",
        [PAWL_OUTCOME_SKIP] = "available>active>skipped",
    };
    begin_listening(stand);
    handle(stand, "work", as_told);
    start_workers(stand, 4);
    struct pawl_job_id ids[PAWL_OUTCOME_END];
    for (int i = 0; i < PAWL_OUTCOME_END; i++) {
        char args[16];
        snprintf(args, sizeof args, "[%d]", i);
        ids[i] = submit_args(stand, NULL, args);
    }
    work_all(stand);
    end_listening(stand);
    for (int i = 0; i < PAWL_OUTCOME_END; i++) {
        assert_text(lives[i], life_of(ids[i]));
    }
}

/* That a job is deleted is no move, nor that it is archived. */
static void actions_of_operators_are_reported(struct stand *stand)
{
    begin_listening(stand); // no node runs: one may listen all the same
    struct pawl_job_id a = submit(stand, &(struct pawl_job_spec){ .delay_ms = 1000 });
    struct pawl_job_id b = submit(stand, &(struct pawl_job_spec){ .pending = true });
    struct pawl_job_id c = submit(stand, NULL);
    expect_ok(stand, control_job(stand, a, PAWL_CONTROL_PAUSE));
    expect_ok(stand, control_job(stand, a, PAWL_CONTROL_RESUME));
    expect_ok(stand, control_job(stand, a, PAWL_CONTROL_CANCEL));
    expect_ok(stand, control_job(stand, a, PAWL_CONTROL_RETRY));
    expect_ok(stand, control_job(stand, b, PAWL_CONTROL_ACTIVATE));
    expect_ok(stand, control_job(stand, c, PAWL_CONTROL_SKIP));
    expect_ok(stand, pawl_delete(stand->pawl, c, NULL, &stand->diag));
    end_listening(stand);
    assert_text("scheduled>paused>scheduled>cancelled>available", life_of(a));
    assert_text("pending>available", life_of(b));
    assert_text("available>skipped", life_of(c));
}

static enum pawl_outcome miss_deadline(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    const struct pawl_job *job = pawl_task_job(task);
    const struct pawl__move missed = { .id = job->id,
                                       .run = job->run,
                                       .from = PAWL_STATE_ACTIVE,
                                       .to = PAWL_STATE_ACTIVE,
                                       .missed = PAWL_DEADLINE_HARD,
                                       .queue = job->queue,
                                       .type = job->type };
    pawl__coordinator_notice(
        stand->engine,
        &(struct pawl__notice){ .control = true, .moves = &missed, .move_count = 1 });
    stand->runs += !pawl_task_cancelled(task);
    return PAWL_OUTCOME_DONE;
}

static void a_missed_deadline_ends_no_run(struct stand *stand)
{
    begin_listening(stand);
    handle(stand, "work", miss_deadline);
    start(stand, NULL);
    submit(stand, NULL);
    work_all(stand);
    end_listening(stand);
    assert_i64(1, stand->runs);
    assert_i64(1, counters_of(stand).completed);
}

static void a_deadline_is_missed_on_time(struct stand *stand)
{
    begin_listening(stand);
    start_workers(stand, -1);
    submit(stand, &(struct pawl_job_spec){ .sla_soft_at_ms = STAND_START_MS + 700,
                                           .sla_hard_at_ms = STAND_START_MS + 900 });
    settle(stand);
    live(stand, 700);
    assert_i64(0, counters_of(stand).deadlines_missed);
    live(stand, 1);
    assert_i64(1, counters_of(stand).deadlines_missed);
    live(stand, 200);
    assert_i64(2, counters_of(stand).deadlines_missed);
    end_listening(stand);
    assert_i64(3, (int64_t)listener.count);
    static const enum pawl_deadline kinds[] = { PAWL_DEADLINE_NONE, PAWL_DEADLINE_SOFT,
                                                PAWL_DEADLINE_HARD };
    for (size_t i = 0; i < listener.count; i++)
        assert_int_equal(kinds[i], listener.list[i].moved.missed);
}

static enum pawl_outcome be_cancelled(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    expect_ok(stand, control_job(stand, pawl_task_job(task)->id, PAWL_CONTROL_CANCEL));
    return PAWL_OUTCOME_DONE;
}

static void what_is_refused_is_not_told(struct stand *stand)
{
    begin_listening(stand);
    handle(stand, "work", be_cancelled);
    start(stand, NULL);
    struct pawl_job_id id = submit(stand, NULL);
    work_all(stand);
    expect_err(stand, PAWL_ERR_STATE, control_job(stand, id, PAWL_CONTROL_PAUSE));
    end_listening(stand);
    assert_text("available>active>cancelled", life_of(id));
}

static void what_time_does_is_told(struct stand *stand)
{
    begin_listening(stand);
    handle(stand, "work", count_run);
    struct pawl_node_config config = { .retention = { .archive_after_ms = 10000,
                                                      .purge_after_ms = -1 } };
    start(stand, &config);
    struct pawl_job_id due = submit(stand, &(struct pawl_job_spec){ .delay_ms = 1000 });
    struct pawl_job_id old =
        submit(stand, &(struct pawl_job_spec){ .type = "nobody", .expires_in_ms = 1000 });
    live(stand, 60000);
    end_listening(stand);
    assert_text("scheduled>available>active>completed", life_of(due));
    assert_text("available>expired", life_of(old));
}

static void moves_of_many_jobs_keep_each_ones_order(struct stand *stand)
{
    enum { JOBS = 300 };
    begin_listening(stand);
    handle(stand, "work", count_run);
    start_workers(stand, 3);
    struct pawl_job_id ids[JOBS];
    for (int i = 0; i < JOBS; i++) {
        ids[i] = submit(stand, NULL);
    }
    work_all(stand);
    end_listening(stand);
    for (int i = 0; i < JOBS; i++) {
        assert_text("available>active>completed", life_of(ids[i]));
    }
    assert_i64(3 * JOBS, (int64_t)listener.count);
}

static void nothing_is_told_after_the_end(struct stand *stand)
{
    begin_listening(stand);
    submit(stand, NULL);
    end_listening(stand);
    assert_i64(1, (int64_t)listener.count);
    submit(stand, NULL);
    settle(stand);
    assert_i64(1, (int64_t)listener.count);
    begin_listening(stand);
    submit(stand, NULL);
    end_listening(stand);
    assert_i64(1, (int64_t)listener.count); // the one that came while somebody listened
}

static void listener_outlives_the_node(struct stand *stand)
{
    begin_listening(stand);
    handle(stand, "work", count_run);
    start(stand, NULL);
    stop(stand);
    struct pawl_job_id a = submit(stand, NULL);
    start(stand, NULL);
    work_all(stand);
    stop(stand);
    struct pawl_job_id b = submit(stand, NULL);
    end_listening(stand);
    assert_text("available>active>completed", life_of(a));
    assert_text("available", life_of(b));
}

static int64_t second_heard;

static void second_listener(void *ctx, const struct pawl_moved *moved)
{
    (void)ctx;
    (void)moved;
    second_heard++;
}

static void newer_listener_takes_the_place(struct stand *stand)
{
    begin_listening(stand);
    submit(stand, NULL);
    settle(stand);
    second_heard = 0;
    expect_ok(stand, pawl_listen(stand->pawl, second_listener, NULL, &stand->diag));
    assert_i64(1, (int64_t)listener.count);
    submit(stand, NULL);
    end_listening(stand);
    assert_i64(1, (int64_t)listener.count);
    assert_i64(1, second_heard);
}

static void *end_it(void *arg)
{
    struct stand *stand = arg;
    enum pawl_err err = pawl_listen(stand->pawl, NULL, NULL, NULL);
    return err ? arg : NULL;
}

static bool somebody_listens(struct stand *stand)
{
    pawl__lock(&stand->engine->mutex);
    bool listens = stand->engine->notifier != NULL;
    pawl__unlock(&stand->engine->mutex);
    return listens;
}

/* The listener is slow, and is being ended: the node must not miss its own wake-ups meanwhile. */
static void ending_a_slow_listener_costs_the_node_no_wake_up(struct stand *stand)
{
    begin_listening(stand);
    handle(stand, "work", count_run);
    start(stand, NULL);
    listener.shut = true;
    submit(stand, &(struct pawl_job_spec){ .type = "nobody" });
    pawl__lock(&listener.mutex);
    while (!listener.inside) {
        pawl__cond_wait(&listener.change, &listener.mutex);
    }
    pawl__unlock(&listener.mutex);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, end_it, stand), 0);
    while (somebody_listens(stand)) {
        sched_yield();
    }
    submit(stand, NULL);
    submit(stand, &(struct pawl_job_spec){ .delay_ms = 500 });
    settle(stand);
    bool woken = work(stand);
    pawl__lock(&listener.mutex);
    listener.shut = false;
    pawl__cond_broadcast(&listener.change);
    pawl__unlock(&listener.mutex);
    void *failed;
    pthread_join(thread, &failed);
    assert_null(failed);
    assert_true(woken);
    live(stand, 500);
    assert_i64(2, stand->runs);
}

/* ---- hooks around submits ---- */

struct desk {
    struct stand *stand;
    const char *name;
    enum pawl_err refusal;
    int32_t raise; /* by which it raises the priority */
};

static enum pawl_err at_desk(void *ctx, struct pawl_job_spec *spec, struct pawl_diag *diag)
{
    struct desk *desk = ctx;
    trace(desk->stand, "%s? ", desk->name);
    spec->priority += desk->raise;
    if (!desk->refusal) return PAWL_OK;
    return pawl__fail_field(diag, desk->refusal, "type", "no \"%s\" today", spec->type);
}

static void past_desk(void *ctx, const struct pawl_submitted *submitted)
{
    struct desk *desk = ctx;
    trace(desk->stand, "%s:%s ", desk->name,
          pawl_state_name(submitted->state, PAWL_VOCABULARY_PAWL));
}

static void add_desk(struct stand *stand, struct desk *desk, const char *name)
{
    *desk = (struct desk){ .stand = stand, .name = name };
    struct pawl_hooks hooks = { .before_submit = at_desk, .after_submit = past_desk, .ctx = desk };
    expect_ok(stand, pawl_hook(stand->pawl, &hooks, &stand->diag));
}

static void hooks_see_each_submit_in_order(struct stand *stand)
{
    struct desk a, b;
    add_desk(stand, &a, "a");
    add_desk(stand, &b, "b");
    submit(stand, NULL); // no node is needed
    assert_text("a? b? a:available b:available ", stand->trace);
    stand->trace[0] = '\0';
    struct pawl_job_spec specs[2] = { { .type = "work", .delay_ms = 5 }, { .type = "work" } };
    struct pawl_submitted out[2];
    expect_ok(stand, pawl_submit_many(stand->pawl, specs, 2, out, &stand->diag));
    assert_text("a? b? a? b? a:scheduled b:scheduled a:available b:available ", stand->trace);
    assert_i64(3, counters_of(stand).submitted);
}

static void hooks_may_change_a_spec(struct stand *stand)
{
    struct desk a, b;
    add_desk(stand, &a, "a");
    add_desk(stand, &b, "b");
    a.raise = 10;
    b.raise = 3;
    struct pawl_job_spec spec = { .type = "work", .priority = 1 };
    struct pawl_submitted out;
    expect_ok(stand, pawl_submit(stand->pawl, &spec, &out, &stand->diag));
    assert_i64(14, job_of(stand, out.id).priority);
    assert_i64(1, spec.priority); // the caller's own is as it was
}

static void what_hooks_make_of_a_spec_is_checked(struct stand *stand)
{
    struct desk a;
    add_desk(stand, &a, "a");
    a.raise = 1000;
    struct pawl_job_spec spec = { .type = "work" };
    struct pawl_submitted out;
    enum pawl_err err = pawl_submit(stand->pawl, &spec, &out, &stand->diag);
    assert_true(err == PAWL_ERR_ARG || err == PAWL_ERR_LIMIT);
    assert_text("priority", stand->diag.field);
}

static void hooks_may_refuse(struct stand *stand)
{
    struct desk a, b;
    add_desk(stand, &a, "a");
    add_desk(stand, &b, "b");
    a.refusal = PAWL_ERR_HELD;
    struct pawl_job_spec specs[2] = { { .type = "work" }, { .type = "work" } };
    struct pawl_submitted out[2];
    expect_err(stand, PAWL_ERR_HELD, pawl_submit(stand->pawl, specs, out, &stand->diag));
    assert_text("no \"work\" today", stand->diag.text);
    assert_text("a? ", stand->trace); // the next is not even asked
    expect_err(stand, PAWL_ERR_HELD, pawl_submit_many(stand->pawl, specs, 2, out, &stand->diag));
    assert_text("[0].type", stand->diag.field);
    assert_i64(0, counters_of(stand).submitted);
    assert_i64(0, count_in(stand, PAWL_STATE_AVAILABLE));
    assert_text("a? a? ", stand->trace);
}

static void repeats_are_not_counted_as_submitted(struct stand *stand)
{
    struct desk a;
    add_desk(stand, &a, "a");
    submit(stand, &(struct pawl_job_spec){ .idempotency_key = "k" });
    submit(stand, &(struct pawl_job_spec){ .idempotency_key = "k" });
    assert_i64(1, counters_of(stand).submitted);
}

static void there_may_be_sixteen_hooks(struct stand *stand)
{
    struct desk desks[16];
    for (int i = 0; i < 16; i++) {
        add_desk(stand, &desks[i], "x");
    }
    expect_err(stand, PAWL_ERR_LIMIT,
               pawl_hook(stand->pawl, &(struct pawl_hooks){ 0 }, &stand->diag));
    submit(stand, NULL);
    assert_i64(16 * 3 + 16 * 12, (int64_t)strlen(stand->trace));
}

static void hooks_may_be_empty(struct stand *stand)
{
    expect_ok(stand, pawl_hook(stand->pawl, &(struct pawl_hooks){ 0 }, &stand->diag));
    handle(stand, "work", count_run);
    start(stand, NULL);
    submit(stand, NULL);
    assert_i64(1, work_all(stand));
    assert_i64(1, stand->runs);
}

int main(void)
{
    static const struct stand_test tests[] = {
        STAND(life_of_a_job_is_told_in_order),
        STAND(every_outcome_is_told),
        STAND(actions_of_operators_are_reported),
        STAND(a_missed_deadline_ends_no_run),
        STAND(a_deadline_is_missed_on_time),
        STAND(what_is_refused_is_not_told),
        STAND(what_time_does_is_told),
        STAND(moves_of_many_jobs_keep_each_ones_order),
        STAND(nothing_is_told_after_the_end),
        STAND(listener_outlives_the_node),
        STAND(newer_listener_takes_the_place),
        STAND(ending_a_slow_listener_costs_the_node_no_wake_up),
        STAND(hooks_see_each_submit_in_order),
        STAND(hooks_may_change_a_spec),
        STAND(what_hooks_make_of_a_spec_is_checked),
        STAND(hooks_may_refuse),
        STAND(repeats_are_not_counted_as_submitted),
        STAND(there_may_be_sixteen_hooks),
        STAND(hooks_may_be_empty),
    };
    return stand_run("engine_events", tests, COUNT(tests));
}
