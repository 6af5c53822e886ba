#include "fault/api_walk.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define BIT(name) PAWL_STATE_BIT(PAWL_STATE_##name)

enum { RICH = 0, MANY = 1, MANY_COUNT = 3, PLAIN = 4, ENDED = 5 };

static struct pawl_job_id job_id(size_t index)
{
    return kit_job_id(100 + index, 0, false);
}

/* True on success. Only want of memory may make a call fail. */
static bool went(struct api_walk *walk, const char *what, enum pawl_err err,
                 const struct pawl_diag *diag)
{
    if (!err) return true;
    walk->failures++;
    if (err != PAWL_ERR_NOMEM) {
        kit_complain(walk->complaints, "%s: %s gave %s: %s", walk->name, what, pawl_err_name(err),
                     diag->text);
    } else if (diag->err != err || !diag->text[0]) {
        kit_complain(walk->complaints, "%s: %s says nothing", walk->name, what);
    }
    return false;
}

static bool open_pawl(struct api_walk *walk)
{
    struct pawl_config config = {
        .store = walk->url, .clock = &walk->clock.clock, .busy_timeout_ms = 1000, .seed = 7
    };
    for (int i = 0; i < 2; i++) {
        struct pawl_diag diag = { 0 };
        if (went(walk, "open", pawl_open(&config, &walk->pawl, &diag), &diag)) return true;
    }
    return false;
}

static void submit_rich(struct api_walk *walk)
{
    static const char *const tags[] = { "red", "green" };
    static const char *const final[] = { "auth.*", "input" };
    static const char *const meta_keys[] = { "tenant" };
    static const char args[] = "[{\"to\":\"someone\",\"n\":[1,2,3]}]";
    static const char meta[] = "{\"tenant\":\"acme\",\"trace\":{\"a\":1}}";
    struct pawl_job_id id = job_id(RICH);
    struct pawl_job_spec spec = {
        .id = &id,
        .type = "mail.send",
        .queue = "mail",
        .args = { args, sizeof args - 1 },
        .meta = { meta, sizeof meta - 1 },
        .tags = tags,
        .tag_count = 2,
        .priority = 3,
        .retry = { .attempts_max = 5, .non_retryable = final, .non_retryable_count = 2 },
        .business_key = "order-1",
        .unique = { .keys = PAWL_UNIQUE_TYPE | PAWL_UNIQUE_ARGS | PAWL_UNIQUE_META,
                    .meta_keys = meta_keys,
                    .meta_key_count = 1 },
        .principal = "alice"
    };
    struct pawl_submitted out;
    struct pawl_diag diag = { 0 };
    walk->states[RICH] = BIT(AVAILABLE);
    walk->promised[RICH] = went(walk, "submit", pawl_submit(walk->pawl, &spec, &out, &diag), &diag);
}

static void submit_others(struct api_walk *walk)
{
    struct pawl_job_id ids[API_WALK_JOBS];
    struct pawl_job_spec specs[API_WALK_JOBS];
    struct pawl_submitted out[API_WALK_JOBS];
    struct pawl_diag diag = { 0 };
    for (size_t i = 0; i < API_WALK_JOBS; i++) {
        ids[i] = job_id(i);
        specs[i] = (struct pawl_job_spec){ .id = &ids[i], .type = "plain" };
        if (i != RICH) walk->states[i] = BIT(AVAILABLE);
    }
    bool many = went(walk, "submit many",
                     pawl_submit_many(walk->pawl, &specs[MANY], MANY_COUNT, out, &diag), &diag);
    for (size_t i = MANY; i < MANY + MANY_COUNT; i++) {
        walk->promised[i] = many;
    }
    for (size_t i = PLAIN; i <= ENDED; i++) {
        walk->promised[i] =
            went(walk, "submit", pawl_submit(walk->pawl, &specs[i], out, &diag), &diag);
    }
}

static void control(struct api_walk *walk, size_t index, enum pawl_control what,
                    enum pawl_state to_state)
{
    struct pawl_by by = { "tester", "to see" };
    struct pawl_diag diag = { 0 };
    enum pawl_state to;
    // only what is surely there and waits can be moved in only one way
    if (!walk->promised[index] || walk->states[index] != BIT(AVAILABLE)) return;
    bool done = went(walk, pawl_control_name(what),
                     pawl_control(walk->pawl, job_id(index), what, &by, &to, &diag), &diag);
    walk->states[index] = PAWL_STATE_BIT(to_state) | (done ? 0 : walk->states[index]);
}

static void operate(struct api_walk *walk)
{
    struct pawl_diag diag = { 0 };
    struct pawl_by by = { "tester", NULL };
    int64_t fence, moved;
    control(walk, PLAIN, PAWL_CONTROL_PAUSE, PAWL_STATE_PAUSED);
    control(walk, ENDED, PAWL_CONTROL_CANCEL, PAWL_STATE_CANCELLED);
    if (walk->promised[MANY]) {
        (void)went(walk, "priority", pawl_priority(walk->pawl, job_id(MANY), 9, &by, NULL, &diag),
                   &diag);
    }
    (void)went(walk, "queue pause", pawl_queue_pause(walk->pawl, "mail", true, &by, &diag), &diag);
    if (went(walk, "lock", pawl_lock_try(walk->pawl, "leader", "me", 5000, &fence, &diag), &diag)) {
        (void)went(walk, "renew", pawl_lock_renew(walk->pawl, "leader", "me", 5000, &diag), &diag);
    }
    struct pawl_filter nobody = { .principal = "nobody" };
    (void)went(walk, "bulk",
               pawl_control_many(walk->pawl, &nobody, PAWL_CONTROL_CANCEL, 10, &by, &moved, &diag),
               &diag);
    struct pawl_upkeep upkeep;
    (void)went(walk, "upkeep", pawl_upkeep_turn(walk->pawl, NULL, &upkeep, &diag), &diag);
}

/* ---- workers elsewhere ---- */

/* Posted calls are answered on another thread; here each is waited for. */
struct waited {
    pthread_mutex_t mutex;
    pthread_cond_t change;
    struct pawl_answer *answer;
};

static void arrive(struct pawl_answer *taken_answer)
{
    struct waited *waited = taken_answer->ctx;
    pthread_mutex_lock(&waited->mutex);
    waited->answer = taken_answer;
    pthread_cond_signal(&waited->change);
    pthread_mutex_unlock(&waited->mutex);
}

/* The answer to what was posted; NULL when it was refused or failed. Free it. */
static struct pawl_answer *await(struct api_walk *walk, const char *what, enum pawl_err err,
                                 struct waited *waited, const struct pawl_diag *diag)
{
    if (!went(walk, what, err, diag)) return NULL;
    pthread_mutex_lock(&waited->mutex);
    while (!waited->answer) {
        pthread_cond_wait(&waited->change, &waited->mutex);
    }
    struct pawl_answer *answer = waited->answer;
    waited->answer = NULL;
    pthread_mutex_unlock(&waited->mutex);
    if (went(walk, what, answer->err, &answer->diag)) return answer;
    pawl_answer_free(answer);
    return NULL;
}

static const char *const far_queues[] = { "far" };
static const struct pawl_claim far_claim = {
    .queues = far_queues, .queue_count = 1, .worker = "far-1", .limit = 2, .timed = true
};

static void submit_far(struct api_walk *walk, struct waited *waited)
{
    struct pawl_job_spec specs[] = { { .type = "plain", .queue = "far", .timeout_ms = 1000 },
                                     { .type = "plain", .queue = "far", .expires_in_ms = 1000 },
                                     { .type = "plain", .queue = "far" } };
    struct pawl_diag diag = { 0 };
    pawl_answer_free(await(walk, "post submit",
                           pawl_post_submit(walk->pawl, specs, 3, arrive, waited, &diag), waited,
                           &diag));
}

static void report_far(struct api_walk *walk, const struct pawl_run *run, struct waited *waited)
{
    static const char details[] = "{\"why\":[1,2,3]}";
    struct pawl_diag diag = { 0 };
    struct pawl_span json = { details, sizeof details - 1 };
    struct pawl_extension extension = { .runs = run, .count = 1, .lease_ms = 500, .timed = true };
    struct pawl_report report = { .type = "oops", .message = "no", .details = json };
    struct pawl_progress progress = { .value = 0.5, .message = "half", .data = json };
    enum pawl_err result;
    (void)went(walk, "extend", pawl_extend(walk->pawl, &extension, &result, &diag), &diag);
    (void)went(walk, "progress", pawl_progress(walk->pawl, run, &progress, &diag), &diag);
    (void)went(walk, "checkpoint", pawl_checkpoint(walk->pawl, run, json, NULL, &diag), &diag);
    pawl_answer_free(await(walk, "post extend",
                           pawl_post_extend(walk->pawl, &extension, arrive, waited, &diag), waited,
                           &diag));
    pawl_answer_free(await(walk, "post fail",
                           pawl_post_fail(walk->pawl, run, &report, arrive, waited, &diag), waited,
                           &diag));
}

static void work_far(struct api_walk *walk, struct waited *waited)
{
    struct pawl_diag diag = { 0 };
    struct pawl_span result = { "[1]", 3 };
    struct pawl_jobs jobs = { 0 };
    if (went(walk, "claim", pawl_claim(walk->pawl, &far_claim, &jobs, &diag), &diag)) {
        for (size_t i = 0; i < jobs.count; i++) {
            struct pawl_run run = { jobs.at[i].id, jobs.at[i].run };
            report_far(walk, &run, waited);
        }
    }
    pawl_jobs_release(&jobs);
    struct pawl_answer *claimed =
        await(walk, "post claim", pawl_post_claim(walk->pawl, &far_claim, arrive, waited, &diag),
              waited, &diag);
    for (size_t i = 0; claimed && i < claimed->job_count; i++) {
        struct pawl_run run = { claimed->jobs[i].id, claimed->jobs[i].run };
        pawl_answer_free(await(walk, "post complete",
                               pawl_post_complete(walk->pawl, &run, result, arrive, waited, &diag),
                               waited, &diag));
    }
    pawl_answer_free(claimed);
}

static void keep_settings(struct api_walk *walk)
{
    struct pawl_diag diag = { 0 };
    struct pawl_settings settings = { 0 };
    (void)went(walk, "setting", pawl_setting_put(walk->pawl, "walk.a", "1", &diag), &diag);
    (void)went(walk, "settings", pawl_settings_get(walk->pawl, "walk.", &settings, &diag), &diag);
    pawl_settings_release(&settings);
}

static void keep_for_servers(struct api_walk *walk)
{
    struct pawl_diag diag = { 0 };
    struct pawl_args_schemas schemas = { 0 };
    struct pawl_queue_configs configs = { 0 };
    const struct pawl_args_schema schema = { .uri = "u", .schema = { "{}", 2 } };
    const struct pawl_queue_config config = { .queue = "mail", .rate_limit = { "{}", 2 } };
    const struct pawl_args_schema_filter filter = { .name = "u" };
    struct pawl *pawl = walk->pawl;
    (void)went(walk, "request", pawl_request_note(pawl, "k", "f", 1000, &diag), &diag);
    (void)went(walk, "configuration", pawl_queue_config_put(pawl, &config, &diag), &diag);
    (void)went(walk, "configurations", pawl_queue_configs_get(pawl, NULL, &configs, &diag), &diag);
    pawl_queue_configs_release(&configs);
    if (!went(walk, "schema", pawl_args_schema_add(pawl, &schema, &diag), &diag)) return;
    (void)went(walk, "schemas", pawl_args_schemas_get(pawl, &filter, &schemas, &diag), &diag);
    pawl_args_schemas_release(&schemas);
    (void)went(walk, "schema", pawl_args_schema_drop(pawl, &schema, &diag), &diag);
}

static void work_elsewhere(struct api_walk *walk)
{
    struct waited waited = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL };
    submit_far(walk, &waited);
    work_far(walk, &waited);
    keep_settings(walk);
    keep_for_servers(walk);
}

static void look(struct api_walk *walk)
{
    static const char *const queues[] = { "mail", "default" };
    struct pawl_diag diag = { 0 };
    struct pawl_jobs jobs = { 0 };
    struct pawl_filter filter = { .queues = queues, .queue_count = 2, .archived = true };
    struct pawl_page page = { .limit = 2, .count = true };
    if (went(walk, "query", pawl_query(walk->pawl, &filter, &page, &jobs, &diag), &diag)) {
        char cursor[PAWL_CURSOR_BYTES];
        memcpy(cursor, jobs.next, sizeof cursor);
        page.cursor = cursor;
        pawl_jobs_release(&jobs);
        if (*cursor) {
            (void)went(walk, "query", pawl_query(walk->pawl, &filter, &page, &jobs, &diag), &diag);
        }
    }
    pawl_jobs_release(&jobs);
    int64_t count;
    filter = (struct pawl_filter){ .meta_key = "tenant", .meta_value = "acme" };
    (void)went(walk, "count", pawl_count(walk->pawl, &filter, &count, &diag), &diag);
    struct pawl_story story = { 0 };
    if (walk->promised[RICH]) {
        (void)went(walk, "get", pawl_get(walk->pawl, job_id(RICH), &jobs, &diag), &diag);
        (void)went(walk, "story", pawl_story_get(walk->pawl, job_id(RICH), &story, &diag), &diag);
    }
    pawl_jobs_release(&jobs);
    pawl_story_release(&story);
    struct pawl_stats stats = { 0 };
    struct pawl_locks locks = { 0 };
    struct pawl_nodes nodes = { 0 };
    (void)went(walk, "statistics", pawl_stats_get(walk->pawl, &stats, &diag), &diag);
    (void)went(walk, "locks", pawl_locks_get(walk->pawl, &locks, &diag), &diag);
    (void)went(walk, "nodes", pawl_nodes_get(walk->pawl, &nodes, &diag), &diag);
    pawl_stats_release(&stats);
    pawl_locks_release(&locks);
    pawl_nodes_release(&nodes);
}

void api_walk_init(struct api_walk *walk, struct kit_complaints *complaints, const char *path)
{
    *walk = (struct api_walk){ .complaints = complaints };
    snprintf(walk->path, sizeof walk->path, "%s", path);
    snprintf(walk->url, sizeof walk->url, "sqlite:%.500s", path);
    kit_store_remove(path);
    kit_clock_init(&walk->clock, KIT_START_MS, false);
}

void api_walk_run(struct api_walk *walk)
{
    if (!open_pawl(walk)) return;
    submit_rich(walk);
    submit_others(walk);
    operate(walk);
    work_elsewhere(walk);
    look(walk);
    pawl_close(walk->pawl);
}

static void note_finding(void *ctx, const char *finding)
{
    struct api_walk *walk = ctx;
    kit_complain(walk->complaints, "%s: check finds: %s", walk->name, finding);
}

static void judge_job(struct api_walk *walk, size_t index, bool *present)
{
    struct pawl_jobs jobs = { 0 };
    struct pawl_diag diag = { 0 };
    enum pawl_err err = pawl_get(walk->pawl, job_id(index), &jobs, &diag);
    *present = err == PAWL_OK;
    if (err == PAWL_ERR_NOT_FOUND && walk->promised[index]) {
        kit_complain(walk->complaints, "%s: job %zu is lost", walk->name, index);
    } else if (err && err != PAWL_ERR_NOT_FOUND) {
        kit_complain(walk->complaints, "%s: get: %s", walk->name, diag.text);
    } else if (!err && !(walk->states[index] & PAWL_STATE_BIT(jobs.at[0].state))) {
        kit_complain(walk->complaints, "%s: job %zu is %s", walk->name, index,
                     kit_state(jobs.at[0].state));
    }
    pawl_jobs_release(&jobs);
}

void api_walk_judge(struct api_walk *walk)
{
    int64_t failures = walk->failures;
    if (open_pawl(walk)) {
        bool present[API_WALK_JOBS];
        struct pawl_diag diag = { 0 };
        for (size_t i = 0; i < API_WALK_JOBS; i++) {
            judge_job(walk, i, &present[i]);
        }
        if (present[MANY] != present[MANY + 1] || present[MANY] != present[MANY + 2]) {
            kit_complain(walk->complaints, "%s: a batch is there in part", walk->name);
        }
        (void)went(walk, "check", pawl_check(walk->pawl, note_finding, walk, &diag), &diag);
        pawl_close(walk->pawl);
    }
    if (walk->failures != failures) {
        kit_complain(walk->complaints, "%s: it does not work with memory back", walk->name);
    }
}
