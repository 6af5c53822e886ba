#include "engine/stand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- time ---- */

static int64_t wall_ms(void *ctx)
{
    struct stand_clock *clock = ctx;
    return atomic_load(&clock->now_us) / 1000 + atomic_load(&clock->step_ms);
}

/* Another zero than the wall's, so that one cannot pass for the other. */
static int64_t mono_us(void *ctx)
{
    struct stand_clock *clock = ctx;
    return atomic_load(&clock->now_us) - STAND_START_MS * 1000 + 7000000;
}

int64_t now_ms(struct stand *stand)
{
    return wall_ms(stand->clock);
}

void move_clock_us(struct stand *stand, int64_t by_us)
{
    atomic_fetch_add(&stand->clock->now_us, by_us);
}

void stand_step_wall(struct stand *stand, int64_t by_ms)
{
    atomic_fetch_add(&stand->clock->step_ms, by_ms);
}

void move_clock(struct stand *stand, int64_t by_ms)
{
    move_clock_us(stand, by_ms * 1000);
}

/* ---- opening and closing ---- */

static void open_store(struct stand *stand)
{
    struct pawl_config config = { .store = stand->url,
                                  .clock = &stand->clock->clock,
                                  .durability = PAWL_DURABILITY_RELAXED, // nobody cuts the power
                                  .seed = stand->clock == &stand->own_clock ? 1 : 2 };
    expect_ok(stand, pawl_open(&config, &stand->pawl, &stand->diag));
    stand->engine = stand->pawl->engine;
}

void stand_open(struct stand *stand, const struct store_kind *kind)
{
    *stand = (struct stand){ .kind = kind };
    stand->clock = &stand->own_clock;
    stand->own_clock.clock = (struct pawl_clock){ wall_ms, mono_us, stand->clock };
    atomic_store(&stand->own_clock.now_us, STAND_START_MS * 1000);
    kind->make(stand->url, sizeof stand->url);
    open_store(stand);
}

void stand_open_peer(struct stand *peer, struct stand *of)
{
    *peer = (struct stand){ .kind = of->kind, .clock = of->clock };
    memcpy(peer->url, of->url, sizeof peer->url);
    open_store(peer);
}

void stand_close(struct stand *stand)
{
    for (size_t i = 0; i < stand->jobs_count; i++) {
        pawl_jobs_release(&stand->jobs[i]);
    }
    for (size_t i = 0; i < stand->story_count; i++) {
        pawl_story_release(&stand->stories[i]);
    }
    pawl_close(stand->pawl);
    if (stand->clock == &stand->own_clock) stand->kind->dispose(stand->url);
}

/* ---- the node ---- */

void handle(struct stand *stand, const char *type, pawl_handler_fn *fn)
{
    expect_ok(stand, pawl_handle(stand->pawl, type, fn, stand, &stand->diag));
}

enum pawl_outcome note_args(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    struct pawl_span args = pawl_task_job(task)->args;
    assert_true(args.len >= 2);
    trace(stand, "%.*s ", (int)args.len - 2, args.at + 1);
    stand->runs++;
    return PAWL_OUTCOME_DONE;
}

enum pawl_outcome count_run(struct pawl_task *task, void *ctx)
{
    struct stand *stand = ctx;
    (void)task;
    stand->runs++;
    return PAWL_OUTCOME_DONE;
}

void start(struct stand *stand, const struct pawl_node_config *config)
{
    struct pawl_node_config full = config ? *config : (struct pawl_node_config){ 0 };
    if (!full.name) full.name = "node";
    if (!full.workers) full.workers = 1;
    expect_ok(stand, pawl__engine_start_by_hand(stand->engine, &full, &stand->diag));
    turn(stand);
}

void start_workers(struct stand *stand, int32_t workers)
{
    start(stand, &(struct pawl_node_config){ .workers = workers });
}

int64_t stop(struct stand *stand)
{
    int64_t given_back = -1;
    pawl_stop(stand->pawl, &(struct pawl_drain){ .finish_ms = -1, .cancel_ms = -1 }, &given_back);
    return given_back;
}

static bool wants_turn(struct stand *stand)
{
    pawl__lock(&stand->engine->mutex);
    bool wanted = stand->engine->turn_wanted;
    pawl__unlock(&stand->engine->mutex);
    return wanted;
}

int64_t turn(struct stand *stand)
{
    for (int i = 0; i < STAND_TURNS_MAX; i++) {
        int64_t next_us = pawl__engine_turn(stand->engine);
        if (!wants_turn(stand) && next_us > mono_us(stand->clock)) return next_us;
    }
    fail_msg("the coordinator always has something to do");
    return 0;
}

void settle(struct stand *stand)
{
    pawl__engine_settle(stand->engine);
}

bool work(struct stand *stand)
{
    return pawl__engine_work(stand->engine);
}

int64_t work_all(struct stand *stand)
{
    int64_t ran = 0, before;
    do {
        before = ran;
        turn(stand);
        while (work(stand)) {
            ran++;
        }
    } while (ran > before);
    return ran;
}

static void live_for(struct stand *stand, int64_t ms, bool working)
{
    int64_t until_us = mono_us(stand->clock) + ms * 1000;
    for (;;) {
        if (working) (void)work_all(stand);
        int64_t next_us = turn(stand);
        if (next_us > until_us) next_us = until_us;
        int64_t left_us = next_us - mono_us(stand->clock);
        if (left_us > 0) move_clock_us(stand, left_us);
        if (mono_us(stand->clock) >= until_us) break;
    }
    turn(stand);
    if (working) (void)work_all(stand);
}

void live(struct stand *stand, int64_t ms)
{
    live_for(stand, ms, true);
}

void live_turning(struct stand *stand, int64_t ms)
{
    live_for(stand, ms, false);
}

/* ---- jobs ---- */

struct pawl_job_id submit(struct stand *stand, const struct pawl_job_spec *spec)
{
    struct pawl_job_spec full = spec ? *spec : (struct pawl_job_spec){ 0 };
    if (!full.type) full.type = "work";
    if (!full.retry.jitter) full.retry.jitter = PAWL_JITTER_OFF;
    struct pawl_submitted out;
    expect_ok(stand, pawl_submit(stand->pawl, &full, &out, &stand->diag));
    return out.id;
}

struct pawl_job_id submit_args(struct stand *stand, const char *queue, const char *args)
{
    return submit(stand, &(struct pawl_job_spec){ .queue = queue, .args = span_of(args) });
}

struct pawl_job job_of(struct stand *stand, struct pawl_job_id id)
{
    assert_true(stand->jobs_count < STAND_KEPT_MAX);
    struct pawl_jobs *jobs = &stand->jobs[stand->jobs_count++];
    expect_ok(stand, pawl_get(stand->pawl, id, jobs, &stand->diag));
    return jobs->at[0];
}

enum pawl_state state_of_job(struct stand *stand, struct pawl_job_id id)
{
    struct pawl_jobs jobs = { 0 };
    enum pawl_err err = pawl_get(stand->pawl, id, &jobs, &stand->diag);
    enum pawl_state state = err ? PAWL_STATE_NONE : jobs.at[0].state;
    pawl_jobs_release(&jobs);
    if (err != PAWL_ERR_NOT_FOUND) expect_ok(stand, err);
    return state;
}

const struct pawl_story *story_of_job(struct stand *stand, struct pawl_job_id id)
{
    assert_true(stand->story_count < STAND_KEPT_MAX);
    struct pawl_story *story = &stand->stories[stand->story_count++];
    expect_ok(stand, pawl_story_get(stand->pawl, id, story, &stand->diag));
    return story;
}

enum pawl_err control_job(struct stand *stand, struct pawl_job_id id, enum pawl_control control)
{
    return pawl_control(stand->pawl, id, control, NULL, NULL, &stand->diag);
}

int64_t count_in(struct stand *stand, enum pawl_state state)
{
    int64_t count = -1;
    struct pawl_filter filter = { .states = PAWL_STATE_BIT(state) };
    expect_ok(stand, pawl_count(stand->pawl, &filter, &count, &stand->diag));
    return count;
}

struct pawl_counters counters_of(struct stand *stand)
{
    struct pawl_counters counters;
    pawl_counters_get(stand->pawl, &counters);
    return counters;
}

/* ---- what happened ---- */

void trace(struct stand *stand, const char *format, ...)
{
    size_t len = strlen(stand->trace);
    va_list args;
    va_start(args, format);
    int more = vsnprintf(stand->trace + len, sizeof stand->trace - len, format, args);
    va_end(args);
    assert_true(more >= 0 && len + (size_t)more < sizeof stand->trace);
}

void stand_expect_err_at(struct stand *stand, enum pawl_err expected, enum pawl_err actual,
                         const char *what, const char *file, int line)
{
    if (actual == expected) return;
    print_error("%s: expected %s, got %s: %s\n", what, pawl_err_name(expected),
                pawl_err_name(actual), actual == PAWL_OK ? "" : stand->diag.text);
    _fail(file, line);
}

/* ---- holding up the store ---- */

static void hold(struct pawl__op *op)
{
    struct plug *plug = op->user;
    pawl__lock(&plug->mutex);
    plug->in = true;
    pawl__cond_broadcast(&plug->change);
    while (!plug->pulled) {
        pawl__cond_wait(&plug->change, &plug->mutex);
    }
    plug->out = true;
    pawl__cond_broadcast(&plug->change);
    pawl__unlock(&plug->mutex);
}

void plug_post(struct stand *stand, struct plug *plug)
{
    *plug = (struct plug){ .op = { .kind = PAWL__OP_EXTEND, .done = hold, .user = plug } };
    pawl__mutex_init(&plug->mutex);
    pawl__cond_init(&plug->change);
    pawl__store_post(stand->pawl->store, &plug->op);
}

void plug_wait(struct plug *plug)
{
    pawl__lock(&plug->mutex);
    while (!plug->in) {
        pawl__cond_wait(&plug->change, &plug->mutex);
    }
    pawl__unlock(&plug->mutex);
}

void plug_pull(struct plug *plug)
{
    pawl__lock(&plug->mutex);
    plug->pulled = true;
    pawl__cond_broadcast(&plug->change);
    while (!plug->out) {
        pawl__cond_wait(&plug->change, &plug->mutex);
    }
    pawl__unlock(&plug->mutex);
}

/* ---- running ---- */

struct placed_test {
    const struct stand_test *test;
    const struct store_kind *kind;
    struct stand stand;
};

static void print_finding(void *ctx, const char *finding)
{
    (void)ctx;
    print_error("store check: %s\n", finding);
}

static int set_up(void **state)
{
    struct placed_test *placed = *state;
    stand_open(&placed->stand, placed->kind);
    return 0;
}

static void run_body(void **state)
{
    struct placed_test *placed = *state;
    struct stand *stand = &placed->stand;
    placed->test->body(stand);
    expect_ok(stand, pawl_check(stand->pawl, print_finding, NULL, &stand->diag));
}

static int tear_down(void **state)
{
    struct placed_test *placed = *state;
    stand_close(&placed->stand);
    return 0;
}

int stand_run(const char *suite, const struct stand_test *tests, size_t count)
{
    const char *wanted = getenv("PAWL_TEST_STORES");
    size_t n = 0, max = count * store_kind_count;
    struct CMUnitTest *units = calloc(max, sizeof *units);
    struct placed_test *placed = calloc(max, sizeof *placed);
    char(*names)[160] = calloc(max, sizeof *names);
    if (!units || !placed || !names) abort();
    for (size_t k = 0; k < store_kind_count; k++) {
        const struct store_kind *kind = &store_kinds[k];
        if (wanted && *wanted && strcmp(wanted, kind->name) != 0) continue;
        for (size_t i = 0; i < count; i++) {
            if (tests[i].shared && !kind->shared) continue;
            snprintf(names[n], sizeof names[n], "%s: %s", kind->name, tests[i].name);
            placed[n] = (struct placed_test){ .test = &tests[i], .kind = kind };
            units[n] = (struct CMUnitTest){ names[n], run_body, set_up, tear_down, &placed[n] };
            n++;
        }
    }
    int failed = _cmocka_run_group_tests(suite, units, n, NULL, NULL);
    free(names);
    free(placed);
    free(units);
    return failed;
}
