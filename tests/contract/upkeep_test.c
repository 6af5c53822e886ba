/* Maintenance: backup while the store is in use, check, schema, the committer's counters. */
#include "support/ops.h"

#include <pthread.h>
#include <unistd.h>

struct backup {
    char dir[RIG_URL_BYTES - 64];
    char path[RIG_URL_BYTES - 32];
    char url[RIG_URL_BYTES];
};

static struct backup backup_make(void)
{
    struct backup b;
    temp_dir_make(b.dir, sizeof b.dir);
    snprintf(b.path, sizeof b.path, "%s/backup.db", b.dir);
    snprintf(b.url, sizeof b.url, "sqlite:%s", b.path);
    return b;
}

static int count_calls(void *ctx, int64_t done, int64_t total)
{
    int64_t *calls = ctx;
    (*calls)++;
    return done > total; // never
}

static int stop_at_once(void *ctx, int64_t done, int64_t total)
{
    (void)ctx;
    (void)done;
    (void)total;
    return 1;
}

static void backup_holds_every_job(struct rig *rig)
{
    struct pawl_job_id ids[PAWL_STATE_END];
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++)
        ids[state] = job_in(rig, state, NULL);
    struct backup b = backup_make();
    int64_t calls = 0;
    assert_ok(rig, pawl__store_backup(rig->store, b.path, count_calls, &calls, &rig->diag));
    assert_true(calls > 0);
    struct rig copy;
    rig_open_url(&copy, b.url);
    hand_clock_set(copy.clock, rig_now(rig));
    rig_check(&copy);
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++)
        assert_text(job_text(rig, ids[state]), job_text(&copy, ids[state]));
    assert_int_equal(1, claim_n(&copy, job_get(&copy, ids[2]).queue, 1).count);
    assert_state(AVAILABLE, state_of(rig, ids[2])); // a copy, not the store itself
    rig_close(&copy);
    temp_dir_remove(b.dir);
}

static void backup_overwrites_nothing(struct rig *rig)
{
    struct backup b = backup_make();
    assert_ok(rig, pawl__store_backup(rig->store, b.path, NULL, NULL, &rig->diag));
    assert_err(rig, PAWL_ERR_EXISTS,
               pawl__store_backup(rig->store, b.path, NULL, NULL, &rig->diag));
    assert_within(b.path, rig->diag.text);
    temp_dir_remove(b.dir);
}

static void stopped_backup_leaves_nothing(struct rig *rig)
{
    submit_n(rig, 500, NULL);
    struct backup b = backup_make();
    assert_int_not_equal(PAWL_OK,
                         pawl__store_backup(rig->store, b.path, stop_at_once, NULL, &rig->diag));
    assert_int_not_equal(0, access(b.path, F_OK));
    assert_ok(rig, pawl__store_backup(rig->store, b.path, NULL, NULL, &rig->diag));
    temp_dir_remove(b.dir);
}

static void backup_that_cannot_be_says_what_can(struct rig *rig)
{
    struct backup b = backup_make();
    enum pawl_err err = pawl__store_backup(rig->store, b.path, NULL, NULL, &rig->diag);
    assert_err(rig, rig->kind->no_backup ? PAWL_ERR_UNSUPPORTED : PAWL_OK, err);
    if (err) assert_within(rig->kind->no_backup, rig->diag.text);
    assert_int_equal(err ? -1 : 0, access(b.path, F_OK));
    temp_dir_remove(b.dir);
}

struct writer {
    pthread_t thread;
    struct pawl__store *store;
    struct pawl__new_job *jobs;
    size_t count;
    enum pawl_err err;
};

static void *write_on(void *ctx)
{
    struct writer *w = ctx;
    for (size_t i = 0; i < w->count && w->err == PAWL_OK; i++) {
        struct pawl_submitted out;
        struct pawl__op op = { .kind = PAWL__OP_SUBMIT,
                               .submit = { .jobs = &w->jobs[i], .count = 1, .out = &out } };
        w->err = pawl__store_do(w->store, &op);
        pawl__arena_release(&op.arena);
    }
    return NULL;
}

/* What was there before the backup began is in it, and what it holds is whole. */
static void backup_runs_beside_writers(struct rig *rig)
{
    enum { MANY = 300 };
    submit_n(rig, 200, NULL);
    static struct pawl__new_job jobs[MANY];
    for (size_t i = 0; i < MANY; i++)
        jobs[i] = job_new(rig, NULL);
    struct writer w = { .store = rig->store, .jobs = jobs, .count = MANY };
    assert_int_equal(0, pthread_create(&w.thread, NULL, write_on, &w));
    struct backup b = backup_make();
    enum pawl_err err = pawl__store_backup(rig->store, b.path, NULL, NULL, &rig->diag);
    assert_int_equal(0, pthread_join(w.thread, NULL));
    assert_ok(rig, err);
    assert_int_equal(PAWL_OK, w.err);
    struct rig copy;
    rig_open_url(&copy, b.url);
    rig_check(&copy);
    int64_t there = count_state(&copy, PAWL_STATE_AVAILABLE);
    assert_true(there >= 200 && there <= 200 + MANY);
    rig_close(&copy);
    temp_dir_remove(b.dir);
}

static void schema_is_the_newest_once_opened(struct rig *rig)
{
    struct pawl_config config = { .store = rig->url, .clock = &rig->clock->clock };
    struct pawl_schema schema = { 0 };
    assert_ok(rig, pawl__store_schema(&config, &schema, &rig->diag));
    assert_true(schema.newest > 0);
    assert_int_equal(schema.newest, schema.version);
    assert_int_equal(schema.version, stats_of(rig).schema_version);
}

static void counters_tell_what_was_committed(struct rig *rig)
{
    struct pawl__store_counters before, after;
    pawl__store_counters_get(rig->store, &before);
    for (int i = 0; i < 5; i++)
        submit_one(rig, NULL);
    pawl__store_counters_get(rig->store, &after);
    assert_i64(5, after.commits - before.commits);
    assert_i64(5, after.ops - before.ops);
    assert_i64(0, after.failed_commits + after.reopened);
    assert_true(after.commit_us_max <= after.commit_us);
    assert_true(after.batch_max >= 1);
}

/* An operation that is refused is no failed commit. */
static void refusals_are_not_failed_commits(struct rig *rig)
{
    struct pawl_job_id id = submit_one(rig, NULL);
    assert_err(rig, PAWL_ERR_EXISTS, submit_spec(rig, &(struct pawl_job_spec){ .id = &id }, NULL));
    assert_err(rig, PAWL_ERR_STATE, control(rig, id, PAWL_CONTROL_RESUME));
    struct pawl__store_counters counters;
    pawl__store_counters_get(rig->store, &counters);
    assert_i64(0, counters.failed_commits);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT_COPIED(backup_holds_every_job),
        CONTRACT_COPIED(backup_overwrites_nothing),
        CONTRACT_COPIED(stopped_backup_leaves_nothing),
        CONTRACT_COPIED(backup_runs_beside_writers),
        CONTRACT(backup_that_cannot_be_says_what_can),
        CONTRACT_SHARED(schema_is_the_newest_once_opened),
        CONTRACT(counters_tell_what_was_committed),
        CONTRACT(refusals_are_not_failed_commits),
    };
    return contract_run("upkeep", tests, COUNT(tests));
}
