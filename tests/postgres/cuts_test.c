/* The connection is cut at each round trip of every kind of write: by the server, or silently,
 * before the server received the statement, after it executed it, or at an unknown moment between.
 * Each time the write has either happened once, with its normal result, or not happened, and the
 * error says so; repeating it gives the normal result; and the store's check finds nothing.
 *
 * What was written is compared by the results and all data of the jobs, as texts that must equal
 * those of an undisturbed write. Each round has jobs of its own and deletes them at the end, by
 * operations of the store. */
#include "support/ops.h"
#include "postgres/gate.h"

#include "base/buf.h"

#include <libpq-fe.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum { SCENE_MAX = 5, BATCH = 3, JOBS = SCENE_MAX + BATCH, OPS_MAX = 6 };
enum { TRIPS_MAX = 100, TRIES_MAX = 1000, PATIENCE_S = 120 };

#define HOUR_MS INT64_C(3600000)
#define QUEUE "default"

/* ---- what is done ---- */

struct deed {
    enum pawl__op_kind kind;
    enum pawl_control control;
};

/* The n-th deed is done to the n-th job of the scene, unless it looks for its jobs itself. */
struct act {
    const char *name;
    enum pawl_state scene[SCENE_MAX];
    bool archived; /* the scene's jobs are in the archive */
    struct deed deeds[OPS_MAX];
    size_t deed_count;
    int64_t late_ms; /* the time has come for it only then */
    bool skips;      /* passes over what somebody holds, and be it its own dead self */
};

#define DEEDS(...)                                                                                 \
    .deeds = { __VA_ARGS__ },                                                                      \
    .deed_count = sizeof((const struct deed[]){ __VA_ARGS__ }) / sizeof(struct deed)
#define ACTIVE PAWL_STATE_ACTIVE
#define AVAILABLE PAWL_STATE_AVAILABLE
#define CANCEL                                                                                     \
    {                                                                                              \
        PAWL__OP_CONTROL, PAWL_CONTROL_CANCEL                                                      \
    }

static const struct act acts[] = {
    { "submit", DEEDS({ PAWL__OP_SUBMIT }) },
    { "claim", { AVAILABLE, AVAILABLE }, DEEDS({ PAWL__OP_CLAIM }), .skips = true },
    { "complete",
      { ACTIVE, ACTIVE, ACTIVE },
      DEEDS({ PAWL__OP_COMPLETE }, { PAWL__OP_COMPLETE }, { PAWL__OP_COMPLETE }) },
    { "fail", { ACTIVE, ACTIVE }, DEEDS({ PAWL__OP_FAIL }, { PAWL__OP_FAIL }) },
    { "snooze", { ACTIVE }, DEEDS({ PAWL__OP_SNOOZE }) },
    { "extend", { ACTIVE, ACTIVE }, DEEDS({ PAWL__OP_EXTEND }) },
    { "cancel", { ACTIVE, AVAILABLE }, DEEDS(CANCEL, CANCEL) },
    { "cancel all", { AVAILABLE, AVAILABLE }, DEEDS({ PAWL__OP_BULK, PAWL_CONTROL_CANCEL }) },
    { "note", { ACTIVE, ACTIVE }, DEEDS({ PAWL__OP_LOG }, { PAWL__OP_CHECKPOINT }) },
    { "delete", { PAWL_STATE_COMPLETED }, DEEDS({ PAWL__OP_DELETE }) },
    { "promote",
      { PAWL_STATE_SCHEDULED, PAWL_STATE_RETRYABLE },
      DEEDS({ PAWL__OP_PROMOTE }),
      .late_ms = HOUR_MS + 1000,
      .skips = true },
    { "lapse",
      { ACTIVE, ACTIVE },
      DEEDS({ PAWL__OP_LAPSE }),
      .late_ms = 2 * LEASE_MS,
      .skips = true },
    { "expire",
      { AVAILABLE, AVAILABLE },
      DEEDS({ PAWL__OP_EXPIRE }),
      .late_ms = 2 * HOUR_MS,
      .skips = true },
    { "archive",
      { PAWL_STATE_COMPLETED, PAWL_STATE_DISCARDED },
      DEEDS({ PAWL__OP_ARCHIVE }),
      .late_ms = HOUR_MS,
      .skips = true },
    { "purge",
      { PAWL_STATE_COMPLETED, PAWL_STATE_DISCARDED },
      .archived = true,
      DEEDS({ PAWL__OP_PURGE }),
      .late_ms = HOUR_MS,
      .skips = true },
    { "many at once",
      { ACTIVE, ACTIVE, ACTIVE, AVAILABLE, AVAILABLE },
      DEEDS({ PAWL__OP_COMPLETE }, { PAWL__OP_FAIL }, { PAWL__OP_EXTEND }, CANCEL,
            { PAWL__OP_SUBMIT }, { PAWL__OP_CLAIM }) },
};

struct stage {
    struct rig rig; /* sets the scene and looks at the outcome; not gated */
    char url[RIG_URL_BYTES];
    PGconn *watch;
    struct gate gate;
    struct hand_clock clock;
    struct pawl__store *store; /* behind the gate */

    unsigned round;
    const struct act *act;
    size_t scene_count;
    struct pawl_job_id ids[JOBS]; /* the scene's, then the batch's */
    struct pawl_run refs[SCENE_MAX];
    struct pawl__op ops[OPS_MAX];
    struct pawl_diag diags[OPS_MAX];
    struct pawl__new_job batch[BATCH];
    struct pawl_submitted submitted[BATCH];
    enum pawl_err extended[SCENE_MAX];
    _Atomic size_t left; /* operations without an answer */
};

static const char *const queues[] = { QUEUE };
static const struct pawl_filter of_queue = { .queues = queues, .queue_count = 1 };

/* ---- the scene ---- */

static struct pawl_job_spec spec_of(struct stage *stage, size_t i)
{
    return (struct pawl_job_spec){ .id = &stage->ids[i],
                                   .queue = QUEUE,
                                   .business_key = rig_text(&stage->rig, "key %zu", i),
                                   .expires_in_ms = HOUR_MS };
}

static void set_scene(struct stage *stage, const struct act *act)
{
    struct rig *rig = &stage->rig;
    hand_clock_set(rig->clock, HAND_CLOCK_START_MS - 1000);
    stage->act = act;
    stage->round++;
    for (size_t i = 0; i < JOBS; i++) {
        stage->ids[i] = (struct pawl_job_id){ { 0x01, 0x97, 0x73, 0, 0, 0, 0x70, 0, 0x80 } };
        stage->ids[i].b[13] = (uint8_t)(stage->round >> 8);
        stage->ids[i].b[14] = (uint8_t)stage->round;
        stage->ids[i].b[15] = (uint8_t)(i + 1);
    }
    stage->scene_count = 0;
    for (size_t i = 0; i < SCENE_MAX && act->scene[i] != PAWL_STATE_NONE; i++) {
        struct pawl_job_spec spec = spec_of(stage, i);
        if (act->scene[i] != AVAILABLE) spec.expires_in_ms = 0;
        stage->refs[i] = (struct pawl_run){ job_in(rig, act->scene[i], &spec), 1 };
        stage->scene_count++;
    }
    hand_clock_set(rig->clock, HAND_CLOCK_START_MS);
    if (act->archived) assert_i64((int64_t)stage->scene_count, archive_all(rig));
}

static void fill_submit(struct stage *stage, struct pawl__op *op)
{
    for (size_t i = 0; i < BATCH; i++) {
        struct pawl_job_spec spec = spec_of(stage, SCENE_MAX + i);
        if (i == 1) spec.delay_ms = HOUR_MS;
        stage->batch[i] = job_new(&stage->rig, &spec);
    }
    op->submit.jobs = stage->batch;
    op->submit.count = BATCH;
    op->submit.out = stage->submitted;
}

static void fill(struct stage *stage, size_t i)
{
    const struct deed *deed = &stage->act->deeds[i];
    struct pawl__op *op = &stage->ops[i];
    stage->diags[i] = (struct pawl_diag){ 0 };
    *op = (struct pawl__op){ .kind = deed->kind, .diag = &stage->diags[i] };
    switch (deed->kind) {
    case PAWL__OP_SUBMIT:
        fill_submit(stage, op);
        break;
    case PAWL__OP_CLAIM:
        op->claim.queues = queues;
        op->claim.queue_count = 1;
        op->claim.limit = JOBS;
        op->claim.worker = "claimer";
        op->claim.lease_ms = LEASE_MS;
        break;
    case PAWL__OP_COMPLETE:
        op->complete.ref = stage->refs[i];
        op->complete.result = span_of("{\"done\":true}");
        break;
    case PAWL__OP_FAIL:
        op->fail.ref = stage->refs[i];
        op->fail.report = (struct pawl_report){ .type = "oops",
                                                .message = "went wrong",
                                                .not_retryable = i == 0 };
        break;
    case PAWL__OP_SNOOZE:
        op->snooze.ref = stage->refs[i];
        op->snooze.delay_ms = HOUR_MS;
        break;
    case PAWL__OP_EXTEND:
        op->extend.refs = stage->refs;
        op->extend.count = stage->scene_count;
        op->extend.lease_ms = 3 * LEASE_MS;
        op->extend.results = stage->extended;
        break;
    case PAWL__OP_CONTROL:
        op->control.id = stage->ids[i];
        op->control.control = deed->control;
        op->control.by = (struct pawl_by){ .actor = "operator" };
        break;
    case PAWL__OP_BULK:
        op->bulk.filter = &of_queue;
        op->bulk.control = deed->control;
        op->bulk.limit = JOBS;
        break;
    case PAWL__OP_LOG:
        op->log.ref = stage->refs[i];
        op->log.text = span_of("so far, so good");
        break;
    case PAWL__OP_CHECKPOINT:
        op->checkpoint.ref = stage->refs[i];
        op->checkpoint.state = span_of("{\"at\":1}");
        break;
    case PAWL__OP_DELETE:
        op->remove.id = stage->ids[i];
        break;
    case PAWL__OP_ARCHIVE:
    case PAWL__OP_PURGE:
        op->retire.states = TERMINAL_STATES;
        op->retire.age_ms = 0;
        op->retire.limit = JOBS;
        break;
    default:
        op->sweep.limit = JOBS;
        break;
    }
}

static void count_down(struct pawl__op *op)
{
    struct stage *stage = op->user;
    stage->left--;
}

static void start(struct stage *stage)
{
    size_t count = stage->act->deed_count;
    hand_clock_set(&stage->clock, HAND_CLOCK_START_MS + stage->act->late_ms);
    for (size_t i = 0; i < count; i++) {
        fill(stage, i);
        stage->ops[i].done = count_down;
        stage->ops[i].user = stage;
        stage->ops[i].next = i + 1 < count ? &stage->ops[i + 1] : NULL;
    }
    stage->left = count;
    pawl__store_post_list(stage->store, stage->ops);
}

static void await_answers(struct stage *stage)
{
    for (int64_t us = 0; stage->left > 0; us += 200, usleep(200))
        if (us > PATIENCE_S * INT64_C(1000000)) fail_msg("%s is stuck", stage->act->name);
}

/* ---- what came of it ---- */

/* What was answered, and what is to be seen. Freed by the caller. */
struct seen {
    char *told, *state;
    int64_t moved; /* jobs, by those who look for them */
};

static int64_t moved_by(const struct pawl__op *op)
{
    switch (op->kind) {
    case PAWL__OP_CLAIM:
        return (int64_t)op->claim.job_count;
    case PAWL__OP_PROMOTE:
    case PAWL__OP_LAPSE:
    case PAWL__OP_EXPIRE:
        return op->sweep.moved;
    case PAWL__OP_ARCHIVE:
    case PAWL__OP_PURGE:
        return op->retire.moved;
    default:
        return 0;
    }
}

static void tell(const struct stage *stage, const struct pawl__op *op, struct pawl__buf *out)
{
    pawl__buf_printf(out, "%s", pawl_err_name(op->err));
    switch (op->err ? PAWL__OP_END : op->kind) {
    case PAWL__OP_SUBMIT:
        for (size_t i = 0; i < BATCH; i++)
            pawl__buf_printf(out, " %02x is %d", stage->submitted[i].id.b[15],
                             (int)stage->submitted[i].state);
        break;
    case PAWL__OP_CLAIM:
        for (size_t i = 0; i < op->claim.job_count; i++)
            pawl__buf_printf(out, " %02x run %d of %s until %lld", op->claim.jobs[i].id.b[15],
                             (int)op->claim.jobs[i].run, op->claim.jobs[i].worker,
                             (long long)op->claim.jobs[i].lease_until_ms);
        break;
    case PAWL__OP_EXTEND:
        for (size_t i = 0; i < op->extend.count; i++)
            pawl__buf_printf(out, " %s", pawl_err_name(stage->extended[i]));
        break;
    case PAWL__OP_FAIL:
        pawl__buf_printf(out, " to %d at %lld", (int)op->fail.to, (long long)op->fail.due_at_ms);
        break;
    case PAWL__OP_CONTROL:
        pawl__buf_printf(out, " %d to %d", (int)op->control.from, (int)op->control.to);
        break;
    case PAWL__OP_BULK:
        pawl__buf_printf(out, " %d", (int)op->bulk.moved);
        break;
    case PAWL__OP_CHECKPOINT:
        pawl__buf_printf(out, " number %d", (int)op->checkpoint.sequence);
        break;
    case PAWL__OP_PROMOTE:
    case PAWL__OP_LAPSE:
    case PAWL__OP_EXPIRE:
    case PAWL__OP_ARCHIVE:
    case PAWL__OP_PURGE:
        pawl__buf_printf(out, " %d", (int)moved_by(op));
        break;
    default:
        break;
    }
    pawl__buf_add_text(out, "\n");
}

static char *text_of(struct pawl__buf *buf)
{
    pawl__buf_add(buf, "", 1);
    assert_false(buf->failed);
    return buf->at;
}

static char *state_text(struct stage *stage)
{
    struct pawl__buf buf = { 0 };
    for (size_t i = 0; i < JOBS; i++) {
        const char *text = job_text(&stage->rig, stage->ids[i]);
        pawl__buf_printf(&buf, "job %zu%s\n", i, text + strcspn(text, " ")); // without its id
    }
    return text_of(&buf);
}

static struct seen look(struct stage *stage)
{
    struct pawl__buf told = { 0 };
    struct seen seen = { .moved = 0 };
    for (size_t i = 0; i < stage->act->deed_count; i++) {
        struct pawl__op *op = &stage->ops[i];
        tell(stage, op, &told);
        if (op->err == PAWL_OK) seen.moved += moved_by(op);
        pawl__arena_release(&op->arena);
    }
    seen.told = text_of(&told);
    seen.state = state_text(stage);
    return seen;
}

static void forget(struct seen *seen)
{
    free(seen->told);
    free(seen->state);
}

static bool is_same(const struct seen *a, const struct seen *b)
{
    return strcmp(a->told, b->told) == 0 && strcmp(a->state, b->state) == 0;
}

static struct seen do_it(struct stage *stage)
{
    start(stage);
    await_answers(stage);
    return look(stage);
}

static void end_scene(struct stage *stage)
{
    struct rig *rig = &stage->rig;
    for (size_t i = 0; i < JOBS; i++) {
        enum pawl_state state = state_of(rig, stage->ids[i]);
        if (LIVE_STATES & PAWL_STATE_BIT(state))
            assert_ok(rig, control(rig, stage->ids[i], PAWL_CONTROL_CANCEL));
        if (state != PAWL_STATE_NONE) assert_ok(rig, delete_job(rig, stage->ids[i]));
    }
    rig_tidy(rig);
}

/* ---- cuts ---- */

/* How an act goes when nothing breaks. */
struct plan {
    char *before;
    struct seen once, twice;
};

static struct plan rehearse(struct stage *stage, const struct act *act)
{
    set_scene(stage, act);
    struct plan plan = { .before = state_text(stage) };
    plan.once = do_it(stage);
    plan.twice = do_it(stage);
    assert_string_not_equal(plan.before, plan.once.state);
    end_scene(stage);
    return plan;
}

static void forget_plan(struct plan *plan)
{
    free(plan->before);
    forget(&plan->once);
    forget(&plan->twice);
}

static PGresult *say(PGconn *pg, const char *text)
{
    PGresult *result = PQexec(pg, text);
    if (PQresultStatus(result) != PGRES_TUPLES_OK) fail_msg("%s: %s", text, PQerrorMessage(pg));
    return result;
}

/* As an administrator does: whoever the store has there. Those that it calls in their place are let
 * be. */
static void terminate(struct stage *stage)
{
    char look[256];
    PGresult *ended = say(stage->watch, "SELECT string_agg(pid::text, ', '),"
                                        " bool_or(pg_terminate_backend(pid)) FROM pg_stat_activity"
                                        " WHERE application_name = 'cut'");
    assert_false(PQgetisnull(ended, 0, 0));
    int len = snprintf(look, sizeof look, "SELECT FROM pg_stat_activity WHERE pid IN (%s)",
                       PQgetvalue(ended, 0, 0));
    assert_true(len > 0 && (size_t)len < sizeof look);
    PQclear(ended);
    for (int i = 0, left = 1; left > 0; i++, usleep(1000)) {
        if (i > PATIENCE_S * 1000) fail_msg("the server's processes do not end");
        PGresult *there = say(stage->watch, look);
        left = PQntuples(there);
        PQclear(there);
    }
}

struct cut {
    const char *name;
    bool terminates;
    enum gate_fate fate;
};

/* False: it was done before it came to that round trip. */
static bool cut_at(struct stage *stage, const struct cut *cut, int trip)
{
    gate_set(&stage->gate, true);
    start(stage);
    for (int passed = 0, naps = 0; stage->left > 0;) {
        if (!gate_await(&stage->gate, 1000)) {
            if (++naps > PATIENCE_S * 1000) fail_msg("%s is stuck", stage->act->name);
            continue;
        }
        if (++passed == trip) {
            if (cut->terminates) terminate(stage);
            gate_end(&stage->gate, cut->fate);
            await_answers(stage);
            return true;
        }
        gate_pass(&stage->gate);
    }
    gate_set(&stage->gate, false);
    return false;
}

static void compare(const struct stage *stage, const struct cut *cut, int trip, const char *when,
                    const struct seen *expected, const struct seen *seen)
{
    if (is_same(expected, seen)) return;
    print_error("expected:\n%s%s\nseen:\n%s%s\n", expected->told, expected->state, seen->told,
                seen->state);
    fail_msg("%s, %s at round trip %d: %s", stage->act->name, cut->name, trip, when);
}

/* Who passes over what is held leaves it behind as long as the server has not noticed that its
 * client is gone: not all of it has happened, and that is what was said. Another try finds the
 * rest. True: it took several answers, which add up. */
static bool find_rest(struct stage *stage, const struct plan *plan, struct seen *seen)
{
    int64_t moved = seen->moved;
    int tries = 0;
    while (tries < TRIES_MAX && strcmp(seen->state, plan->once.state) != 0) {
        usleep(10000);
        forget(seen);
        *seen = do_it(stage);
        moved += seen->moved;
        tries++;
    }
    assert_i64(plan->once.moved, moved);
    return tries > 0;
}

static bool try_cut(struct stage *stage, const struct act *act, const struct plan *plan,
                    const struct cut *cut, int trip)
{
    set_scene(stage, act);
    bool was_cut = cut_at(stage, cut, trip);
    struct seen once = look(stage);
    struct seen expected = plan->once;
    if (act->skips && find_rest(stage, plan, &once)) expected.told = once.told;
    compare(stage, cut, trip, "it did not happen once", &expected, &once);
    struct seen twice = do_it(stage);
    compare(stage, cut, trip, "another try", &plan->twice, &twice);
    rig_check(&stage->rig);
    forget(&once);
    forget(&twice);
    end_scene(stage);
    return was_cut;
}

static void cut_everywhere(struct stage *stage, const struct cut *cut)
{
    int trips = 0;
    for (size_t i = 0; i < COUNT(acts); i++) {
        struct plan plan = rehearse(stage, &acts[i]);
        int trip = 1;
        while (trip < TRIPS_MAX && try_cut(stage, &acts[i], &plan, cut, trip))
            trip++;
        assert_true(trip > 2 && trip < TRIPS_MAX);
        trips += trip - 1;
        forget_plan(&plan);
    }
    print_message("# %zu acts, %d cuts\n", COUNT(acts), trips);
    struct pawl__store_counters counters;
    pawl__store_counters_get(stage->store, &counters);
    assert_i64(0, counters.failed_commits);
}

static void terminated_at_every_round_trip(void **state)
{
    cut_everywhere(*state, &(struct cut){ "terminated", true, GATE_PASS });
}

static void answer_lost_at_every_round_trip(void **state)
{
    cut_everywhere(*state, &(struct cut){ "answer lost", false, GATE_LOSE_ANSWER });
}

static void request_lost_at_every_round_trip(void **state)
{
    cut_everywhere(*state, &(struct cut){ "request lost", false, GATE_LOSE_REQUEST });
}

static void lost_from_sight_at_every_round_trip(void **state)
{
    cut_everywhere(*state, &(struct cut){ "lost from sight", false, GATE_LOSE_SIGHT });
}

/* ---- the stage ---- */

static int set_up(void **state)
{
    static struct stage stage;
    const char *host = strstr(getenv("PAWL_TEST_POSTGRES"), "host=");
    char dir[64], url[RIG_URL_BYTES];
    snprintf(dir, sizeof dir, "%.*s", (int)strcspn(host + 5, "&"), host + 5);
    stage = (struct stage){ .round = 0 };
    postgres_make(stage.url, sizeof stage.url);
    rig_open_url(&stage.rig, stage.url);
    stage.watch = PQconnectdb(stage.url);
    assert_int_equal(CONNECTION_OK, PQstatus(stage.watch));
    gate_open(&stage.gate, dir);
    gate_url(&stage.gate, stage.url, "&application_name=cut", url, sizeof url);
    hand_clock_init(&stage.clock, HAND_CLOCK_START_MS);
    struct pawl_config config = {
        .store = url, .clock = &stage.clock.clock, .busy_timeout_ms = 60000, .seed = 1
    };
    assert_ok(&stage.rig, pawl__store_open(&config, &stage.store, &stage.rig.diag));
    *state = &stage;
    return 0;
}

static int tear_down(void **state)
{
    struct stage *stage = *state;
    gate_set(&stage->gate, false);
    pawl__store_close(stage->store);
    gate_close(&stage->gate);
    PQfinish(stage->watch);
    rig_close(&stage->rig);
    postgres_dispose(stage->url);
    return 0;
}

int main(void)
{
    if (getenv("PAWL_TEST_POSTGRES") == NULL) {
        printf("1..0 # SKIP PAWL_TEST_POSTGRES names no server\n");
        return 0;
    }
#define CUT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CUT(terminated_at_every_round_trip),
        CUT(answer_lost_at_every_round_trip),
        CUT(request_lost_at_every_round_trip),
        CUT(lost_from_sight_at_every_round_trip),
    };
    // where there is less time: what a server says and what nobody hears, of everything
    return _cmocka_run_group_tests("cuts", tests, scaled(100) < 100 ? 2 : COUNT(tests), NULL, NULL);
}
