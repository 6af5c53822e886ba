/* Jobs of equal rank are claimed in the order of their submission, whatever their ids are. The
 * clock does not move, so jobs with the same due time have equal ranks. */
#include "support/ops.h"

#include <pawl/remote.h>

enum { JOBS = 60, BATCH = 5 };

static struct pawl *open_api(struct rig *rig)
{
    struct pawl_config config = { .store = rig->url, .clock = &rig->clock->clock, .seed = 7 };
    struct pawl *pawl = NULL;
    assert_ok(rig, pawl_open(&config, &pawl, &rig->diag));
    return pawl;
}

/* ---- ids that a caller may choose ---- */

/* The i-th of a shuffle of 0..60. */
static uint8_t shuffled(size_t i)
{
    return (uint8_t)((i * 37 + 11) % 61);
}

/* Not of version 7: says nothing about time. */
static struct pawl_job_id any_id(size_t i)
{
    return (struct pawl_job_id){ { shuffled(i), 0xa5, 1, 2, 3, 4, 0x45, 6, 0x87, 7 } };
}

/* Of version 7 and `ago_ms` old, in an order of their own. */
static struct pawl_job_id timed_id(struct rig *rig, size_t i, int64_t ago_ms)
{
    int64_t ms = rig_now(rig) - ago_ms;
    struct pawl_job_id id = { { 0 } };
    for (int byte = 0; byte < 6; byte++)
        id.b[byte] = (uint8_t)(ms >> (40 - 8 * byte));
    id.b[6] = 0x7f;
    id.b[7] = shuffled(i);
    id.b[8] = 0x80;
    id.b[15] = (uint8_t)i;
    return id;
}

/* Each kind that there is, one after the other; false: made by the store's own. */
static bool choose_id(struct rig *rig, size_t i, struct pawl_job_id *out)
{
    switch (i % 5) {
    case 0:
        return false;
    case 1:
        *out = any_id(i);
        return true;
    case 2:
        *out = timed_id(rig, i, 0);
        return true;
    case 3:
        *out = timed_id(rig, i, 500);
        return true;
    default:
        *out = timed_id(rig, i, -60000);
        return true;
    }
}

/* ---- submit and claim ---- */

static void submit_batch(struct rig *rig, struct pawl *pawl, struct pawl_job_spec *specs,
                         size_t count, struct pawl_job_id *ids)
{
    struct pawl_submitted out[JOBS];
    assert_ok(rig, pawl_submit_many(pawl, specs, count, out, &rig->diag));
    for (size_t i = 0; i < count; i++)
        ids[i] = out[i].id;
}

/* JOBS jobs, `batch` at a time, with ids of all kinds; every one like `spec`. */
static void submit_mixed(struct rig *rig, struct pawl *pawl, size_t batch,
                         const struct pawl_job_spec *spec, struct pawl_job_id *ids)
{
    struct pawl_job_id chosen[JOBS];
    struct pawl_job_spec specs[JOBS];
    for (size_t i = 0; i < JOBS; i++) {
        specs[i] = *spec;
        if (choose_id(rig, i, &chosen[i])) specs[i].id = &chosen[i];
    }
    for (size_t i = 0; i < JOBS; i += batch)
        submit_batch(rig, pawl, specs + i, batch, ids + i);
}

/* Claims `step` at a time until nothing is left; `ids` is what there is, in order. */
static void assert_claimed(struct rig *rig, struct pawl *pawl, int64_t step,
                           const struct pawl_job_id *ids, size_t count)
{
    static const char *const queues[] = { "default" };
    const struct pawl_claim claim = {
        .queues = queues, .queue_count = 1, .limit = step, .worker = WORKER
    };
    size_t at = 0;
    for (;;) {
        struct pawl_jobs jobs = { 0 };
        assert_ok(rig, pawl_claim(pawl, &claim, &jobs, &rig->diag));
        for (size_t i = 0; i < jobs.count; i++) {
            assert_true(at < count);
            assert_id(ids[at++], jobs.at[i].id);
        }
        bool done = jobs.count == 0;
        pawl_jobs_release(&jobs);
        if (done) break;
    }
    assert_int_equal(count, at);
}

static const struct pawl_job_spec plain = { .type = "work" };

/* ---- tests ---- */

static void a_batch_runs_as_it_was_given(struct rig *rig)
{
    static const uint8_t order[BATCH] = { 1, 3, 0, 4, 2 };
    struct pawl *pawl = open_api(rig);
    struct pawl_job_id chosen[BATCH], ids[BATCH];
    struct pawl_job_spec specs[BATCH];
    for (size_t i = 0; i < BATCH; i++) {
        chosen[i] = timed_id(rig, 0, 0);
        chosen[i].b[7] = order[i];
        specs[i] = (struct pawl_job_spec){ .type = "work", .id = &chosen[i] };
    }
    submit_batch(rig, pawl, specs, BATCH, ids);
    assert_claimed(rig, pawl, BATCH, chosen, BATCH);
    pawl_close(pawl);
}

static void single_jobs_run_as_they_came(struct rig *rig)
{
    struct pawl *pawl = open_api(rig);
    struct pawl_job_id ids[JOBS];
    submit_mixed(rig, pawl, 1, &plain, ids);
    assert_claimed(rig, pawl, JOBS, ids, JOBS);
    pawl_close(pawl);
}

static void batches_run_as_they_came(struct rig *rig)
{
    struct pawl *pawl = open_api(rig);
    struct pawl_job_id ids[JOBS];
    submit_mixed(rig, pawl, 12, &plain, ids);
    assert_claimed(rig, pawl, 7, ids, JOBS);
    pawl_close(pawl);
}

static void one_at_a_time_is_the_same_order(struct rig *rig)
{
    struct pawl *pawl = open_api(rig);
    struct pawl_job_id ids[JOBS];
    submit_mixed(rig, pawl, JOBS, &plain, ids);
    assert_claimed(rig, pawl, 1, ids, JOBS);
    pawl_close(pawl);
}

static void jobs_with_more_to_them_keep_their_place(struct rig *rig)
{
    static const char *const tags[] = { "a" };
    const struct pawl_job_spec more = {
        .type = "work", .tags = tags, .tag_count = 1, .timeout_ms = 5000
    };
    struct pawl *pawl = open_api(rig);
    struct pawl_job_id ids[3 * JOBS], chosen[3 * JOBS];
    for (size_t i = 0; i < COUNT(ids); i++) {
        struct pawl_job_spec spec = i % 3 == 1 ? more : plain;
        if (i % 3 != 2) {
            chosen[i] = any_id(i % JOBS);
            chosen[i].b[14] = (uint8_t)i;
            spec.id = &chosen[i];
        }
        submit_batch(rig, pawl, &spec, 1, &ids[i]);
    }
    assert_claimed(rig, pawl, 50, ids, COUNT(ids));
    pawl_close(pawl);
}

static void types_are_merged_in_order(struct rig *rig)
{
    static const char *const types[] = { "one", "two", "three" };
    struct pawl *pawl = open_api(rig);
    struct pawl_job_id ids[JOBS], chosen;
    for (size_t i = 0; i < JOBS; i++) {
        struct pawl_job_spec spec = { .type = types[i * i % 3] };
        if (choose_id(rig, i, &chosen)) spec.id = &chosen;
        submit_batch(rig, pawl, &spec, 1, &ids[i]);
    }
    assert_claimed(rig, pawl, JOBS, ids, JOBS);
    pawl_close(pawl);
}

static void jobs_that_fall_due_together_run_as_they_came(struct rig *rig)
{
    struct pawl *pawl = open_api(rig);
    struct pawl_job_id ids[JOBS];
    const struct pawl_job_spec later = { .type = "work", .due_at_ms = rig_now(rig) + 1000 };
    submit_mixed(rig, pawl, 12, &later, ids);
    rig_advance(rig, 1000);
    struct pawl_upkeep done = { 0 };
    assert_ok(rig, pawl_upkeep_turn(pawl, NULL, &done, &rig->diag));
    assert_i64(JOBS, done.promoted);
    assert_claimed(rig, pawl, 9, ids, JOBS);
    pawl_close(pawl);
}

/* What is given back is due anew; the clock stands still, so that is the same rank. */
static void a_job_that_is_given_back_keeps_its_place(struct rig *rig)
{
    static const char *const queues[] = { "default" };
    const struct pawl_claim claim = {
        .queues = queues, .queue_count = 1, .limit = 3, .worker = WORKER
    };
    struct pawl *pawl = open_api(rig);
    struct pawl_job_id ids[JOBS];
    submit_mixed(rig, pawl, 12, &plain, ids);
    struct pawl_jobs jobs = { 0 };
    assert_ok(rig, pawl_claim(pawl, &claim, &jobs, &rig->diag));
    assert_int_equal(3, jobs.count);
    for (size_t i = jobs.count; i-- > 0;) {
        struct pawl_run run = { jobs.at[i].id, jobs.at[i].run };
        assert_ok(rig, pawl_give_back(pawl, &run, 0, &rig->diag));
    }
    pawl_jobs_release(&jobs);
    assert_claimed(rig, pawl, 1, ids, JOBS);
    pawl_close(pawl);
}

/* Retried in reverse, and all of them due at the same instant. */
static void a_job_that_is_brought_back_keeps_its_place(struct rig *rig)
{
    struct pawl *pawl = open_api(rig);
    struct pawl_job_id ids[JOBS];
    submit_mixed(rig, pawl, 12, &plain, ids);
    assert_claimed(rig, pawl, JOBS, ids, JOBS);
    for (size_t i = 0; i < JOBS; i++)
        assert_ok(rig, pawl_control(pawl, ids[i], PAWL_CONTROL_DISCARD, NULL, NULL, &rig->diag));
    rig_advance(rig, 1000);
    const struct pawl_retention keep = { .archive_after_ms = 500 };
    struct pawl_upkeep done = { 0 };
    assert_ok(rig, pawl_upkeep_turn(pawl, &keep, &done, &rig->diag));
    assert_i64(JOBS, done.archived);
    for (size_t i = JOBS; i-- > 0;)
        assert_ok(rig, pawl_control(pawl, ids[i], PAWL_CONTROL_RETRY, NULL, NULL, &rig->diag));
    assert_claimed(rig, pawl, 7, ids, JOBS);
    pawl_close(pawl);
}

static void finishing_and_extending_find_the_job_by_its_id(struct rig *rig)
{
    static const char *const queues[] = { "default" };
    const struct pawl_claim claim = {
        .queues = queues, .queue_count = 1, .limit = JOBS, .worker = WORKER, .lease_ms = 1000
    };
    struct pawl *pawl = open_api(rig);
    struct pawl_job_id ids[JOBS];
    submit_mixed(rig, pawl, JOBS, &plain, ids);
    struct pawl_jobs jobs = { 0 };
    assert_ok(rig, pawl_claim(pawl, &claim, &jobs, &rig->diag));
    assert_int_equal(JOBS, jobs.count);
    for (size_t i = 0; i < jobs.count; i++) {
        struct pawl_run run = { jobs.at[i].id, jobs.at[i].run }, stale = { run.id, run.run + 1 };
        enum pawl_err result;
        const struct pawl_extension extension = { .runs = &run, .count = 1, .lease_ms = 5000 };
        assert_ok(rig, pawl_extend(pawl, &extension, &result, &rig->diag));
        assert_int_equal(PAWL_OK, result);
        struct pawl_span none = { NULL, 0 };
        assert_err(rig, PAWL_ERR_STALE, pawl_complete(pawl, &stale, none, &rig->diag));
        assert_ok(rig, pawl_complete(pawl, &run, none, &rig->diag));
    }
    pawl_jobs_release(&jobs);
    int64_t completed = 0;
    const struct pawl_filter done = { .states = PAWL_STATE_BIT(PAWL_STATE_COMPLETED) };
    assert_ok(rig, pawl_count(pawl, &done, &completed, &rig->diag));
    assert_i64(JOBS, completed);
    pawl_close(pawl);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(a_batch_runs_as_it_was_given),
        CONTRACT(single_jobs_run_as_they_came),
        CONTRACT(batches_run_as_they_came),
        CONTRACT(one_at_a_time_is_the_same_order),
        CONTRACT(jobs_with_more_to_them_keep_their_place),
        CONTRACT(types_are_merged_in_order),
        CONTRACT(jobs_that_fall_due_together_run_as_they_came),
        CONTRACT(a_job_that_is_given_back_keeps_its_place),
        CONTRACT(a_job_that_is_brought_back_keeps_its_place),
        CONTRACT(finishing_and_extending_find_the_job_by_its_id),
    };
    return contract_run("order", tests, COUNT(tests));
}
