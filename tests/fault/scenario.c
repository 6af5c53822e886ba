#include "fault/scenario.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BIT(name) PAWL_STATE_BIT(PAWL_STATE_##name)
#define ERR_BIT(name) (UINT32_C(1) << PAWL_ERR_##name)

/* Of the nine jobs: 0 alone, 1 with a key, 2 to 6 together, 7 after reopening, 8 when judging. */
enum { ALONE = 0, KEYED = 1, BATCH = 2, BATCH_COUNT = 5, LATE = 7, LAST = 8 };
enum { LONG_ARGS_BYTES = 20000, CLAIMED = 4 };

/* An error after which nobody knows what the file holds. */
#define DOUBTFUL (ERR_BIT(FULL) | ERR_BIT(IO) | ERR_BIT(CORRUPT) | ERR_BIT(READONLY))

static struct pawl_job_id job_id(size_t index)
{
    return kit_job_id(1 + index, 0, false);
}

static void complain(struct scenario *scenario, const char *what, const char *detail)
{
    kit_complain(scenario->complaints, "%s: %s: %s", scenario->name, what, detail);
}

/* An error must be one of those that such a fault may cause, and say something. */
static void judge_error(struct scenario *scenario, const char *what, enum pawl_err err,
                        const struct pawl_diag *diag)
{
    char text[512];
    scenario->failures++;
    if (!(scenario->errors_allowed & (UINT32_C(1) << err))) {
        snprintf(text, sizeof text, "unexpected error %s: %s", pawl_err_name(err), diag->text);
        complain(scenario, what, text);
    }
    if (diag->err != err || !diag->text[0]) {
        snprintf(text, sizeof text, "%s, but its diagnosis says %s \"%s\"", pawl_err_name(err),
                 pawl_err_name(diag->err), diag->text);
        complain(scenario, what, text);
    }
}

/* ---- operations ---- */

static int64_t reopened(struct scenario *scenario)
{
    struct pawl__store_counters counters = { 0 };
    pawl__store_counters_get(scenario->store, &counters);
    return counters.reopened;
}

/* While the file is in doubt and no time passes, nothing is written. Then time passes. */
static void probe_doubt(struct scenario *scenario)
{
    struct pawl_diag diag = { 0 };
    struct pawl__op op = { .kind = PAWL__OP_SETTING_PUT,
                           .diag = &diag,
                           .setting = { .name = "probe", .value = "1" } };
    enum pawl_err err = pawl__store_do(scenario->store, &op);
    pawl__arena_release(&op.arena);
    if (err != PAWL_ERR_UNSAFE) {
        complain(scenario, "a write after one that left doubt got", pawl_err_name(err));
    }
    kit_clock_advance(&scenario->clock, 1100);
}

static enum pawl_err act(struct scenario *scenario, struct pawl__op *op, const char *what)
{
    struct pawl_diag diag = { 0 };
    op->diag = &diag;
    if (!scenario->in_doubt) scenario->reopened_before = reopened(scenario);
    enum pawl_err err = pawl__store_do(scenario->store, op);
    if (err) {
        judge_error(scenario, what, err, &diag);
        bool doubtful = (DOUBTFUL & (UINT32_C(1) << err)) != 0;
        if (err == PAWL_ERR_UNSAFE && !scenario->in_doubt) {
            complain(scenario, what, "refused as unsafe without a reason");
        }
        if (doubtful) {
            scenario->in_doubt = true;
            scenario->reopened_before = reopened(scenario);
        }
        if (doubtful || err == PAWL_ERR_UNSAFE) probe_doubt(scenario);
        return err;
    }
    if (scenario->in_doubt && reopened(scenario) <= scenario->reopened_before) {
        complain(scenario, what, "written while in doubt");
    }
    scenario->in_doubt = false;
    return PAWL_OK;
}

/* The jobs `first` to `first + count - 1`, in one operation. */
static void submit(struct scenario *scenario, size_t first, size_t count)
{
    static char long_args[LONG_ARGS_BYTES];
    struct pawl_job_spec specs[BATCH_COUNT];
    struct pawl__new_job jobs[BATCH_COUNT];
    struct pawl_submitted out[BATCH_COUNT];
    memset(long_args, ' ', sizeof long_args);
    long_args[0] = '[';
    long_args[sizeof long_args - 1] = ']';
    for (size_t i = 0; i < count; i++) {
        specs[i] = (struct pawl_job_spec){ .type = "walk" };
        if (i == 1) specs[i].args = (struct pawl_span){ long_args, sizeof long_args };
        if (i == BATCH_COUNT - 1) specs[i].delay_ms = 60000;
        kit_new_job(&jobs[i], &specs[i], job_id(first + i), &scenario->retry);
        scenario->jobs[first + i].asked = true;
        scenario->jobs[first + i].states = specs[i].delay_ms ? BIT(SCHEDULED) : BIT(AVAILABLE);
    }
    if (first == KEYED) {
        specs[0].idempotency_key = "once";
        jobs[0].keys[jobs[0].key_count++] = kit_key(PAWL__KEY_IDEMPOTENCY, 77);
    }
    struct pawl__op op = { .kind = PAWL__OP_SUBMIT,
                           .submit = { .jobs = jobs, .count = count, .out = out } };
    enum pawl_err err = act(scenario, &op, "submit");
    for (size_t i = 0; i < count && !err; i++) {
        scenario->jobs[first + i].promised = true;
    }
    pawl__arena_release(&op.arena);
}

static struct scenario_job *find(struct scenario *scenario, struct pawl_job_id id)
{
    for (size_t i = 0; i < SCENARIO_JOBS; i++) {
        if (kit_same_id(job_id(i), id)) return &scenario->jobs[i];
    }
    return NULL;
}

static void claim(struct scenario *scenario)
{
    static const char *const queues[] = { "default" };
    struct pawl__op op = { .kind = PAWL__OP_CLAIM,
                           .claim = { .queues = queues,
                                      .queue_count = 1,
                                      .limit = CLAIMED,
                                      .worker = "walker",
                                      .lease_ms = 30000 } };
    enum pawl_err err = act(scenario, &op, "claim");
    for (size_t i = 0; i < SCENARIO_JOBS && err; i++) {
        if (scenario->jobs[i].states & BIT(AVAILABLE)) scenario->jobs[i].states |= BIT(ACTIVE);
    }
    for (size_t i = 0; i < op.claim.job_count && !err; i++) {
        struct scenario_job *job = find(scenario, op.claim.jobs[i].id);
        if (!job || !job->asked) {
            complain(scenario, "claim", "gave a job that was never submitted");
            continue;
        }
        job->promised = true; // a failed submit that has happened after all
        job->states = BIT(ACTIVE);
        job->run = op.claim.jobs[i].run;
        job->ours = true;
    }
    pawl__arena_release(&op.arena);
}

/* The next run of ours, or NULL. */
static struct scenario_job *take_run(struct scenario *scenario, struct pawl_run *ref)
{
    for (size_t i = 0; i < SCENARIO_JOBS; i++) {
        struct scenario_job *job = &scenario->jobs[i];
        if (!job->ours) continue;
        job->ours = false;
        *ref = (struct pawl_run){ job_id(i), job->run };
        return job;
    }
    return NULL;
}

static void move(struct scenario *scenario, struct scenario_job *job, struct pawl__op *op,
                 enum pawl_state to, const char *what)
{
    enum pawl_err err = act(scenario, op, what);
    job->states = (err ? job->states : 0) | PAWL_STATE_BIT(to);
    pawl__arena_release(&op->arena);
}

static void end_runs(struct scenario *scenario)
{
    struct pawl_run ref;
    struct scenario_job *job;
    for (int i = 0; i < 2; i++) {
        if (!(job = take_run(scenario, &ref))) return;
        struct pawl__op op = { .kind = PAWL__OP_COMPLETE,
                               .complete = { .ref = ref, .result = { "{}", 2 } } };
        move(scenario, job, &op, PAWL_STATE_COMPLETED, "complete");
    }
    if (!(job = take_run(scenario, &ref))) return;
    struct pawl__op failing = { .kind = PAWL__OP_FAIL,
                                .fail = { .ref = ref,
                                          .report = { .type = "oops", .message = "did not" } } };
    move(scenario, job, &failing, PAWL_STATE_RETRYABLE, "fail");
    if (!(job = take_run(scenario, &ref))) return;
    struct pawl__op snoozing = { .kind = PAWL__OP_SNOOZE,
                                 .snooze = { .ref = ref, .delay_ms = 60000 } };
    move(scenario, job, &snoozing, PAWL_STATE_SCHEDULED, "snooze");
}

static void cancel(struct scenario *scenario, size_t index)
{
    struct scenario_job *job = &scenario->jobs[index];
    if (!job->promised) return; // it may not be there
    struct pawl__op op = { .kind = PAWL__OP_CONTROL,
                           .control = { .id = job_id(index), .control = PAWL_CONTROL_CANCEL } };
    move(scenario, job, &op, PAWL_STATE_CANCELLED, "cancel");
}

static void put_setting(struct scenario *scenario)
{
    struct pawl__op op = { .kind = PAWL__OP_SETTING_PUT,
                           .setting = { .name = "walk", .value = "done" } };
    scenario->setting_asked = true;
    scenario->setting_promised = act(scenario, &op, "setting") == PAWL_OK;
    pawl__arena_release(&op.arena);
}

/* Neither changes a state of ours that has ended. */
static void archive(struct scenario *scenario)
{
    struct pawl__op op = { .kind = PAWL__OP_ARCHIVE,
                           .retire = { .states = BIT(COMPLETED),
                                       .age_ms = -INT64_C(86400000), /* whatever has ended */
                                       .limit = 10 } };
    (void)!act(scenario, &op, "archive");
    pawl__arena_release(&op.arena);
}

static void promote(struct scenario *scenario)
{
    kit_clock_advance(&scenario->clock, 3600000);
    struct pawl__op op = { .kind = PAWL__OP_PROMOTE, .sweep = { .limit = 100 } };
    enum pawl_err err = act(scenario, &op, "promote");
    for (size_t i = 0; i < SCENARIO_JOBS; i++) {
        struct scenario_job *job = &scenario->jobs[i];
        uint32_t waiting = job->states & (BIT(SCHEDULED) | BIT(RETRYABLE));
        if (waiting) job->states |= BIT(AVAILABLE);
        if (!err) job->states &= ~waiting;
    }
    pawl__arena_release(&op.arena);
}

/* ---- reads ---- */

/* What was promised must be seen, in a state that was promised. Reads may fail while faults are
 * about, but not lie. */
static void read_jobs(struct scenario *scenario, bool may_fail)
{
    struct pawl_job_id ids[SCENARIO_JOBS];
    for (size_t i = 0; i < SCENARIO_JOBS; i++) {
        ids[i] = job_id(i);
    }
    struct pawl__arena arena = { 0 };
    struct pawl_job *jobs = NULL;
    size_t found = 0, at = 0;
    struct pawl_diag diag = { 0 };
    enum pawl_err err =
        pawl__store_get(scenario->store, ids, SCENARIO_JOBS, &arena, &jobs, &found, &diag);
    if (err && may_fail) judge_error(scenario, "get", err, &diag);
    if (err && !may_fail) complain(scenario, "get", diag.text);
    bool present[SCENARIO_JOBS] = { false };
    for (size_t i = 0; i < SCENARIO_JOBS && !err; i++) {
        const struct scenario_job *expected = &scenario->jobs[i];
        present[i] = at < found && kit_same_id(jobs[at].id, ids[i]);
        char text[128];
        if (present[i] && !(expected->states & PAWL_STATE_BIT(jobs[at].state))) {
            snprintf(text, sizeof text, "job %zu is %s, may be %" PRIx32, i,
                     kit_state(jobs[at].state), expected->states);
            complain(scenario, "get", text);
        }
        if (expected->promised && !present[i]) {
            snprintf(text, sizeof text, "job %zu is lost", i);
            complain(scenario, "get", text);
        }
        at += present[i];
    }
    for (size_t i = BATCH; i < BATCH + BATCH_COUNT; i++) {
        if (present[i] != present[BATCH]) complain(scenario, "get", "a batch is there in part");
    }
    pawl__arena_release(&arena);
}

static void read_others(struct scenario *scenario)
{
    struct pawl__arena arena = { 0 };
    struct pawl_jobs jobs = { 0 };
    struct pawl_stats stats = { 0 };
    struct pawl_story story = { 0 };
    struct pawl_diag diag = { 0 };
    struct pawl_filter filter = { .archived = true };
    struct pawl_page page = { .limit = 3, .count = true };
    enum pawl_err err = pawl__store_query(scenario->store, &filter, &page, &arena, &jobs, &diag);
    if (err) judge_error(scenario, "query", err, &diag);
    err = pawl__store_stats(scenario->store, &arena, &stats, &diag);
    if (err) judge_error(scenario, "statistics", err, &diag);
    if (scenario->jobs[ALONE].promised) {
        err = pawl__store_story(scenario->store, job_id(ALONE), NULL, &arena, &story, &diag);
        if (err) judge_error(scenario, "story", err, &diag);
    }
    pawl__arena_release(&arena);
}

static void read_setting(struct scenario *scenario)
{
    struct pawl__arena arena = { 0 };
    const char *value = NULL;
    struct pawl_diag diag = { 0 };
    enum pawl_err err = pawl__store_setting(scenario->store, "walk", &arena, &value, &diag);
    bool there = err == PAWL_OK && strcmp(value, "done") == 0;
    if (err && err != PAWL_ERR_NOT_FOUND) complain(scenario, "setting", diag.text);
    if (scenario->setting_promised && !there) complain(scenario, "setting", "is lost");
    if (!scenario->setting_asked && there) complain(scenario, "setting", "came from nowhere");
    pawl__arena_release(&arena);
}

/* A backup is whole, or not there. */
static void back_up(struct scenario *scenario)
{
    struct pawl_diag diag = { 0 };
    enum pawl_err err = pawl__store_backup(scenario->store, scenario->copy_path, NULL, NULL, &diag);
    scenario->copied = err == PAWL_OK;
    for (size_t i = 0; i < SCENARIO_JOBS; i++) {
        scenario->copied_jobs[i] = scenario->jobs[i].promised;
    }
    if (!err) return;
    judge_error(scenario, "backup", err, &diag);
    if (access(scenario->copy_path, F_OK) == 0) complain(scenario, "backup", "left a part behind");
}

static void judge_copy(struct scenario *scenario)
{
    if (!scenario->copied) return;
    char url[KIT_PATH_BYTES + 16];
    snprintf(url, sizeof url, "sqlite:%s", scenario->copy_path);
    struct pawl_config config = kit_config(url, &scenario->clock.clock);
    struct pawl__store *copy = NULL;
    struct pawl_diag diag = { 0 };
    if (pawl__store_open(&config, &copy, &diag)) {
        complain(scenario, "the backup does not open", diag.text);
        return;
    }
    kit_check(scenario->complaints, copy, scenario->name);
    for (size_t i = 0; i < SCENARIO_JOBS; i++) {
        struct pawl__arena arena = { 0 };
        struct pawl_job *job = NULL;
        struct pawl_job_id id = job_id(i);
        size_t found = 0;
        enum pawl_err err = pawl__store_get(copy, &id, 1, &arena, &job, &found, &diag);
        if (err) complain(scenario, "get from the backup", diag.text);
        if (!found && scenario->copied_jobs[i]) complain(scenario, "the backup", "lacks a job");
        pawl__arena_release(&arena);
    }
    pawl__store_close(copy);
}

/* ---- the walk ---- */

static bool open_store(struct scenario *scenario, bool judging)
{
    struct pawl_config config = {
        .store = scenario->url, .clock = &scenario->clock.clock, .busy_timeout_ms = 200, .seed = 1
    };
    for (int i = 0; i < (judging ? 1 : SCENARIO_OPENINGS); i++) {
        struct pawl_diag diag = { 0 };
        enum pawl_err err = pawl__store_open(&config, &scenario->store, &diag);
        scenario->in_doubt = false;
        if (!err) return true;
        if (judging)
            complain(scenario, "open", diag.text);
        else
            judge_error(scenario, "open", err, &diag);
        if (scenario->store) complain(scenario, "open", "failed, and gave a store");
        scenario->store = NULL;
        kit_clock_advance(&scenario->clock, 1100);
    }
    return false;
}

void scenario_init(struct scenario *scenario, struct kit_complaints *complaints, const char *path)
{
    *scenario = (struct scenario){ .complaints = complaints };
    snprintf(scenario->path, sizeof scenario->path, "%s", path);
    snprintf(scenario->url, sizeof scenario->url, "sqlite:%.500s", path);
    snprintf(scenario->copy_path, sizeof scenario->copy_path, "%s-copy", scenario->path);
    kit_store_remove(path);
    kit_store_remove(scenario->copy_path);
    kit_clock_init(&scenario->clock, KIT_START_MS, false);
    kit_retry_init(&scenario->retry, 3, 60000);
}

void scenario_release(struct scenario *scenario)
{
    kit_retry_release(&scenario->retry);
}

void scenario_close(struct scenario *scenario)
{
    if (scenario->store) pawl__store_close(scenario->store);
    scenario->store = NULL;
}

void scenario_run(struct scenario *scenario)
{
    if (!open_store(scenario, false)) return;
    submit(scenario, ALONE, 1);
    submit(scenario, KEYED, 1);
    submit(scenario, BATCH, BATCH_COUNT);
    claim(scenario);
    end_runs(scenario);
    cancel(scenario, BATCH + BATCH_COUNT - 1);
    put_setting(scenario);
    archive(scenario);
    read_jobs(scenario, true);
    read_others(scenario);
    back_up(scenario);
    scenario_close(scenario);
    if (!open_store(scenario, false)) return;
    submit(scenario, LATE, 1);
    promote(scenario);
    read_jobs(scenario, true);
}

void scenario_judge(struct scenario *scenario)
{
    if (!open_store(scenario, true)) return;
    kit_check(scenario->complaints, scenario->store, scenario->name);
    read_jobs(scenario, false);
    read_setting(scenario);
    scenario->errors_allowed = 0;
    submit(scenario, LAST, 1);
    claim(scenario);
    end_runs(scenario);
    read_jobs(scenario, false);
    kit_check(scenario->complaints, scenario->store, scenario->name);
    scenario_close(scenario);
    judge_copy(scenario);
}
