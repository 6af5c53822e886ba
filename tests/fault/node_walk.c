#include "fault/node_walk.h"

#include "api/api.h"

#include <stdio.h>
#include <string.h>

enum { TURNS = 24, STEP_MS = 700, FINISH_TURNS = 400 };

/* What a call gave. Only want of memory may make it fail, or that the run is no longer ours. */
static bool went(struct node_walk *walk, const char *what, enum pawl_err err)
{
    if (!err) return true;
    atomic_fetch_add(&walk->failures, 1);
    if (err != PAWL_ERR_NOMEM && err != PAWL_ERR_STALE) {
        kit_complain(walk->complaints, "%s: %s gave %s", walk->name, what, pawl_err_name(err));
    }
    return false;
}

/* ---- handlers and hooks ---- */

static enum pawl_outcome use_everything(struct pawl_task *task, void *ctx)
{
    struct node_walk *walk = ctx;
    struct pawl_span state = { "{\"step\":1}", 10 }, found = { "", 0 };
    pawl_task_log(task, 1, "run %d", (int)pawl_task_job(task)->run);
    (void)went(walk, "resume", pawl_task_resume(task, &found, NULL));
    (void)went(walk, "checkpoint", pawl_task_checkpoint(task, state, NULL));
    (void)went(walk, "progress", pawl_task_progress(task, 0.5, "half"));
    (void)went(walk, "extend", pawl_task_extend(task, 60000, NULL));
    bool kept = went(walk, "result", pawl_task_result(task, state));
    pawl_task_delay(task, STEP_MS);
    return kept ? PAWL_OUTCOME_DONE : PAWL_OUTCOME_SNOOZE;
}

static enum pawl_outcome fail_once(struct pawl_task *task, void *ctx)
{
    (void)ctx;
    if (pawl_task_job(task)->run > 1) return PAWL_OUTCOME_DONE;
    pawl_task_error(task, "net.down", (struct pawl_span){ "{\"a\":1}", 7 }, "no %s", "route");
    return PAWL_OUTCOME_RETRY;
}

static bool let_pass(void *ctx, struct pawl_task *task, int64_t *delay_ms)
{
    (void)ctx;
    *delay_ms = STEP_MS;
    return pawl_task_job(task)->run != 1 || pawl_task_job(task)->priority == 0;
}

static void hear(void *ctx, const struct pawl_moved *moved)
{
    struct node_walk *walk = ctx;
    (void)moved;
    atomic_fetch_add(&walk->heard, 1);
}

/* ---- the walk ---- */

static bool open_pawl(struct node_walk *walk)
{
    struct pawl_config config = {
        .store = walk->url, .clock = &walk->clock.clock, .busy_timeout_ms = 1000, .seed = 7
    };
    bool ok = false;
    for (int i = 0; i < 2 && !ok; i++) {
        ok = went(walk, "open", pawl_open(&config, &walk->pawl, NULL));
    }
    return ok;
}

static bool set_up(struct node_walk *walk)
{
    struct pawl *pawl = walk->pawl;
    struct pawl_hooks hooks = { .before_run = let_pass, .ctx = walk };
    bool ok = went(walk, "hook", pawl_hook(pawl, &hooks, NULL));
    ok = went(walk, "handle", pawl_handle(pawl, "all", use_everything, walk, NULL)) && ok;
    ok = went(walk, "handle", pawl_handle(pawl, "once", fail_once, walk, NULL)) && ok;
    (void)went(walk, "listen", pawl_listen(pawl, hear, walk, NULL));
    return ok;
}

static void submit(struct node_walk *walk)
{
    for (int i = 0; i < NODE_WALK_JOBS; i++) {
        struct pawl_job_spec spec = { .type = i % 2 ? "all" : "once",
                                      .queue = i % 3 ? "default" : "narrow",
                                      .timeout_ms = i % 4 ? 0 : 10000,
                                      .lease_ms = i % 5 ? 0 : 2000,
                                      .priority = i % 6 ? 0 : 1,
                                      .retry = { .attempts_max = 50, .initial_ms = 100 } };
        struct pawl_submitted out;
        if (went(walk, "submit", pawl_submit(walk->pawl, &spec, &out, NULL))) {
            walk->ids[walk->promised++] = out.id;
        }
    }
}

static bool start_by_hand(struct node_walk *walk)
{
    static const struct pawl_node_queue queues[] = { { "narrow", 1 }, { "default", 0 } };
    struct pawl_node_config node = {
        .name = "walker", .queues = queues, .queue_count = 2, .workers = 3, .lease_ms = 5000
    };
    return went(walk, "start", pawl__engine_start_by_hand(walk->pawl->engine, &node, NULL));
}

static void turn(struct node_walk *walk)
{
    (void)pawl__engine_turn(walk->pawl->engine);
    while (pawl__engine_work(walk->pawl->engine)) {
    }
    kit_clock_advance(&walk->clock, STEP_MS);
}

/* Threads that are not to be had: a start that fails leaves nothing behind. */
static void start_for_real(struct node_walk *walk)
{
    struct pawl_node_config node = { .name = "runner", .workers = 2 };
    if (went(walk, "start", pawl_start(walk->pawl, &node, NULL))) {
        pawl_stop(walk->pawl, &(struct pawl_drain){ .finish_ms = -1, .cancel_ms = -1 }, NULL);
    }
}

void node_walk_init(struct node_walk *walk, struct kit_complaints *complaints, const char *path)
{
    *walk = (struct node_walk){ .complaints = complaints };
    snprintf(walk->url, sizeof walk->url, "sqlite:%.500s", path);
    kit_store_remove(path);
    kit_clock_init(&walk->clock, KIT_START_MS, false);
}

void node_walk_run(struct node_walk *walk)
{
    if (!open_pawl(walk)) return;
    bool ready = set_up(walk);
    submit(walk);
    if (ready && start_by_hand(walk)) {
        for (int i = 0; i < TURNS; i++) {
            turn(walk);
        }
        pawl_stop(walk->pawl, NULL, NULL);
    }
    if (ready) start_for_real(walk);
    pawl_close(walk->pawl);
    walk->pawl = NULL;
}

/* ---- afterwards ---- */

static bool all_ended(struct node_walk *walk)
{
    struct pawl_stats stats = { 0 };
    bool known = went(walk, "stats", pawl_stats_get(walk->pawl, &stats, NULL));
    int64_t ended = stats.count[PAWL_STATE_COMPLETED] + stats.count[PAWL_STATE_DISCARDED];
    pawl_stats_release(&stats);
    return known && ended >= (int64_t)walk->promised;
}

/* Discarded: three of its leases lapsed, because the node had no memory for what it had claimed. */
static void judge_job(struct node_walk *walk, struct pawl_job_id id)
{
    struct pawl_jobs jobs = { 0 };
    if (went(walk, "get", pawl_get(walk->pawl, id, &jobs, NULL))) {
        enum pawl_state state = jobs.at[0].state;
        if (state != PAWL_STATE_COMPLETED && state != PAWL_STATE_DISCARDED) {
            kit_complain(walk->complaints, "%s: a job is %s", walk->name, kit_state(state));
        }
    }
    pawl_jobs_release(&jobs);
}

static void note_finding(void *ctx, const char *finding)
{
    struct node_walk *walk = ctx;
    kit_complain(walk->complaints, "%s: check finds: %s", walk->name, finding);
}

void node_walk_judge(struct node_walk *walk)
{
    int64_t failures = atomic_load(&walk->failures);
    kit_clock_advance(&walk->clock, 60000); // whatever it held has lapsed
    if (open_pawl(walk)) {
        if (set_up(walk) && start_by_hand(walk)) {
            for (int i = 0; i < FINISH_TURNS && !all_ended(walk); i++) {
                turn(walk);
            }
            pawl_stop(walk->pawl, NULL, NULL);
        }
        for (size_t i = 0; i < walk->promised; i++) {
            judge_job(walk, walk->ids[i]);
        }
        (void)went(walk, "check", pawl_check(walk->pawl, note_finding, walk, NULL));
        pawl_close(walk->pawl);
    }
    if (atomic_load(&walk->failures) != failures) {
        kit_complain(walk->complaints, "%s: it does not work with memory back", walk->name);
    }
}
