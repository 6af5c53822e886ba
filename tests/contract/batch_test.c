/* Several operations in one transaction: each has its own result, in the order of the list, and the
 * failure of one does not affect the others. */
#include "support/ops.h"

#include <pthread.h>

/* Counts answers; the test waits for all of them. */
struct tally {
    pthread_mutex_t mutex;
    pthread_cond_t all_done;
    size_t waiting;
    struct pawl__op *order[4096];
    size_t answered;
};

static void tally_done(struct pawl__op *op)
{
    struct tally *tally = op->user;
    pthread_mutex_lock(&tally->mutex);
    tally->order[tally->answered++] = op;
    if (--tally->waiting == 0) pthread_cond_signal(&tally->all_done);
    pthread_mutex_unlock(&tally->mutex);
}

/* Post `ops` as one list and wait for every answer. */
static void post_all(struct rig *rig, struct tally *tally, struct pawl__op *ops, size_t count)
{
    memset(tally, 0, sizeof *tally);
    pthread_mutex_init(&tally->mutex, NULL);
    pthread_cond_init(&tally->all_done, NULL);
    tally->waiting = count;
    for (size_t i = 0; i < count; i++) {
        ops[i].done = tally_done;
        ops[i].user = tally;
        ops[i].next = i + 1 < count ? &ops[i + 1] : NULL;
    }
    pawl__store_post_list(rig->store, &ops[0]);
    pthread_mutex_lock(&tally->mutex);
    while (tally->waiting > 0)
        pthread_cond_wait(&tally->all_done, &tally->mutex);
    pthread_mutex_unlock(&tally->mutex);
    pthread_cond_destroy(&tally->all_done);
    pthread_mutex_destroy(&tally->mutex);
    for (size_t i = 0; i < count; i++)
        rig_keep(rig, &ops[i].arena);
}

static struct tally tally;

static struct pawl__op submit_op(struct rig *rig, const struct pawl_job_spec *spec)
{
    struct pawl__new_job *job = pawl__arena_calloc(&rig->arena, 1, sizeof *job);
    struct pawl_submitted *out = pawl__arena_calloc(&rig->arena, 1, sizeof *out);
    assert_true(job != NULL && out != NULL);
    *job = job_new(rig, spec);
    return (struct pawl__op){ .kind = PAWL__OP_SUBMIT,
                              .submit = { .jobs = job, .count = 1, .out = out } };
}

static const char *const default_queue[] = { "default" };

static struct pawl__op claim_some(int64_t limit)
{
    return (struct pawl__op){ .kind = PAWL__OP_CLAIM,
                              .claim = { .queues = default_queue,
                                         .queue_count = 1,
                                         .limit = limit,
                                         .worker = WORKER,
                                         .lease_ms = LEASE_MS } };
}

static struct pawl__op complete_op(struct pawl_run ref)
{
    return (struct pawl__op){ .kind = PAWL__OP_COMPLETE, .complete = { .ref = ref } };
}

static struct pawl__op control_op(struct pawl_job_id id, enum pawl_control what)
{
    return (struct pawl__op){ .kind = PAWL__OP_CONTROL, .control = { .id = id, .control = what } };
}

static void whole_life_fits_in_one_list(struct rig *rig)
{
    struct pawl__op ops[5];
    ops[0] = submit_op(rig, NULL);
    struct pawl_job_id id = ops[0].submit.jobs[0].id;
    ops[1] = claim_some(1);
    ops[2] = complete_op((struct pawl_run){ .id = id, .run = 1 });
    ops[3] = complete_op((struct pawl_run){ .id = id, .run = 1 });
    ops[4] = control_op(id, PAWL_CONTROL_CANCEL);
    post_all(rig, &tally, ops, COUNT(ops));
    assert_int_equal(PAWL_OK, ops[0].err);
    assert_state(AVAILABLE, ops[0].submit.out->state);
    assert_int_equal(PAWL_OK, ops[1].err);
    assert_int_equal(1, ops[1].claim.job_count);
    assert_id(id, ops[1].claim.jobs[0].id);
    assert_int_equal(PAWL_OK, ops[2].err);
    assert_int_equal(PAWL_ERR_STALE, ops[3].err);
    assert_int_equal(PAWL_ERR_STATE, ops[4].err);
    assert_state(COMPLETED, ops[4].control.from);
    assert_state(COMPLETED, state_of(rig, id));
    for (size_t i = 0; i < COUNT(ops); i++)
        assert_i64(rig_now(rig), ops[i].now_ms);
}

static void later_operations_see_earlier_ones(struct rig *rig)
{
    struct pawl__op ops[7];
    struct pawl_job_spec keyed = { .business_key = "b" };
    ops[0] = claim_some(1); // nothing is there yet
    ops[1] = submit_op(rig, &keyed);
    struct pawl_job_id id = ops[1].submit.jobs[0].id;
    ops[2] = submit_op(rig, &keyed);
    ops[3] = control_op(id, PAWL_CONTROL_CANCEL);
    ops[4] = submit_op(rig, &keyed);
    ops[5] = control_op(id, PAWL_CONTROL_RETRY);
    ops[6] = claim_some(10);
    post_all(rig, &tally, ops, COUNT(ops));
    static const enum pawl_err expected[] = { PAWL_OK, PAWL_OK, PAWL_ERR_DUPLICATE,
                                              PAWL_OK, PAWL_OK, PAWL_ERR_DUPLICATE,
                                              PAWL_OK };
    for (size_t i = 0; i < COUNT(ops); i++)
        assert_int_equal(expected[i], ops[i].err);
    assert_int_equal(0, ops[0].claim.job_count);
    assert_int_equal(1, ops[6].claim.job_count);
    assert_id(ops[4].submit.jobs[0].id, ops[6].claim.jobs[0].id);
}

static void failing_operations_hurt_no_other(struct rig *rig)
{
    enum { PAIRS = 100 };
    struct pawl_job_id taken = submit_one(rig, &(struct pawl_job_spec){ .queue = "other" });
    static struct pawl__op ops[2 * PAIRS];
    static struct pawl_diag diags[2 * PAIRS];
    memset(diags, 0, sizeof diags);
    struct pawl_job_id nobody = rig_id(rig);
    for (size_t i = 0; i < PAIRS; i++) {
        ops[2 * i] = submit_op(rig, NULL);
        struct pawl__op *bad = &ops[2 * i + 1];
        if (i % 4 == 0) *bad = submit_op(rig, &(struct pawl_job_spec){ .id = &taken });
        if (i % 4 == 1) *bad = complete_op((struct pawl_run){ .id = nobody, .run = 1 });
        if (i % 4 == 2) *bad = control_op(taken, PAWL_CONTROL_RESUME);
        if (i % 4 == 3) *bad = complete_op((struct pawl_run){ .id = taken, .run = 9 });
        ops[2 * i].diag = &diags[2 * i];
        bad->diag = &diags[2 * i + 1];
    }
    post_all(rig, &tally, ops, 2 * PAIRS);
    static const enum pawl_err bad_errs[] = { PAWL_ERR_EXISTS, PAWL_ERR_NOT_FOUND, PAWL_ERR_STATE,
                                              PAWL_ERR_STALE };
    for (size_t i = 0; i < PAIRS; i++) {
        assert_int_equal(PAWL_OK, ops[2 * i].err);
        assert_text("", diags[2 * i].text); // written only on failure
        assert_int_equal(bad_errs[i % 4], ops[2 * i + 1].err);
        assert_int_equal(bad_errs[i % 4], diags[2 * i + 1].err);
        assert_true(diags[2 * i + 1].text[0] != '\0');
    }
    assert_i64(PAIRS + 1, count_state(rig, PAWL_STATE_AVAILABLE));
}

static void claims_of_many_fetchers_share_the_jobs(struct rig *rig)
{
    struct pawl_job_id *ids = submit_n(rig, 10, NULL);
    struct pawl__op ops[4];
    for (size_t i = 0; i < COUNT(ops); i++)
        ops[i] = claim_some(3);
    post_all(rig, &tally, ops, COUNT(ops));
    static const size_t counts[] = { 3, 3, 3, 1 };
    size_t seen = 0;
    for (size_t i = 0; i < COUNT(ops); i++) {
        assert_int_equal(counts[i], ops[i].claim.job_count);
        for (size_t k = 0; k < ops[i].claim.job_count; k++)
            assert_id(ids[seen++], ops[i].claim.jobs[k].id);
    }
}

static void list_longer_than_a_transaction_is_all_answered(struct rig *rig)
{
    enum { MANY = 3000 };
    static struct pawl__op ops[MANY];
    for (size_t i = 0; i < MANY; i++)
        ops[i] = submit_op(rig, NULL);
    post_all(rig, &tally, ops, MANY);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(PAWL_OK, ops[i].err);
        assert_ptr_equal(&ops[i], tally.order[i]);
    }
    assert_i64(MANY, count_state(rig, PAWL_STATE_AVAILABLE));
}

static void short_list_is_one_transaction(struct rig *rig)
{
    struct pawl__store_counters before, after;
    pawl__store_counters_get(rig->store, &before);
    static struct pawl__op ops[500];
    for (size_t i = 0; i < COUNT(ops); i++)
        ops[i] = submit_op(rig, NULL);
    post_all(rig, &tally, ops, COUNT(ops));
    pawl__store_counters_get(rig->store, &after);
    assert_i64(1, after.commits - before.commits);
    assert_i64(500, after.ops - before.ops);
    assert_i64(0, after.failed_commits);
}

static struct pawl__op bulk_op(const struct pawl_filter *filter, enum pawl_control what)
{
    return (struct pawl__op){ .kind = PAWL__OP_BULK,
                              .bulk = { .filter = filter, .control = what, .limit = 10 } };
}

/* Wherever a store looks for the jobs of one state: what came there a moment ago is found. */
static void filter_finds_what_the_list_has_moved(struct rig *rig)
{
    struct pawl_filter available = { .states = PAWL_STATE_BIT(PAWL_STATE_AVAILABLE) };
    struct pawl_filter active = { .states = PAWL_STATE_BIT(PAWL_STATE_ACTIVE) };
    struct pawl_filter cancelled = { .states = PAWL_STATE_BIT(PAWL_STATE_CANCELLED) };
    struct pawl__op ops[] = {
        submit_op(rig, NULL),
        bulk_op(&available, PAWL_CONTROL_CANCEL),
        bulk_op(&cancelled, PAWL_CONTROL_RETRY),
        claim_some(1),
        bulk_op(&active, PAWL_CONTROL_CANCEL),
    };
    post_all(rig, &tally, ops, COUNT(ops));
    assert_i64(1, ops[1].bulk.moved);
    assert_i64(1, ops[2].bulk.moved);
    assert_int_equal(1, ops[3].claim.job_count);
    assert_i64(1, ops[4].bulk.moved);
    assert_state(CANCELLED, state_of(rig, ops[0].submit.jobs[0].id));
}

/* Moving one job twice in a list is where counters that are kept aside would slip. */
static void one_job_may_move_many_times_in_a_list(struct rig *rig)
{
    struct pawl_job_id id = submit_one(rig, NULL);
    static const enum pawl_control controls[] = { PAWL_CONTROL_PAUSE,  PAWL_CONTROL_RESUME,
                                                  PAWL_CONTROL_CANCEL, PAWL_CONTROL_RETRY,
                                                  PAWL_CONTROL_PAUSE,  PAWL_CONTROL_CANCEL,
                                                  PAWL_CONTROL_RETRY,  PAWL_CONTROL_SKIP };
    struct pawl__op ops[COUNT(controls)];
    for (size_t i = 0; i < COUNT(controls); i++)
        ops[i] = control_op(id, controls[i]);
    post_all(rig, &tally, ops, COUNT(ops));
    for (size_t i = 0; i < COUNT(ops); i++)
        assert_int_equal(PAWL_OK, ops[i].err);
    assert_state(SKIPPED, state_of(rig, id));
    assert_int_equal(COUNT(controls), story_of(rig, id).audit_count);
}

/* A queue that a failed submit was about to make, and that the next one makes indeed. */
static void names_of_a_refused_submit_are_not_remembered(struct rig *rig)
{
    struct pawl_job_id taken = submit_one(rig, NULL);
    struct pawl_job_spec fresh = { .queue = "new-queue", .type = "new-type" };
    struct pawl_job_spec clash = { .id = &taken };
    struct pawl__new_job jobs[] = { job_new(rig, &fresh), job_new(rig, &clash) };
    struct pawl_submitted out[2];
    struct pawl__op ops[3];
    ops[0] = (struct pawl__op){ .kind = PAWL__OP_SUBMIT,
                                .submit = { .jobs = jobs, .count = 2, .out = out } };
    ops[1] = submit_op(rig, &fresh);
    ops[2] = submit_op(rig, &fresh);
    post_all(rig, &tally, ops, COUNT(ops));
    assert_int_equal(PAWL_ERR_EXISTS, ops[0].err);
    assert_int_equal(PAWL_OK, ops[1].err);
    assert_int_equal(2, claim_n(rig, "new-queue", 10).count);
}

static void every_kind_of_operation_shares_a_transaction(struct rig *rig)
{
    submit_n(rig, 6, NULL);
    struct claimed runs = claim_n(rig, "default", 5);
    struct pawl_run refs[5];
    for (size_t i = 0; i < 5; i++)
        refs[i] = ref_of(&runs.at[i]);
    enum pawl_err result = PAWL_ERR_END;
    struct pawl_filter all = { .states = PAWL_STATE_BIT(PAWL_STATE_SCHEDULED) };
    struct pawl__op ops[] = {
        complete_op(refs[0]),
        { .kind = PAWL__OP_FAIL, .fail = { .ref = refs[1], .report = { .type = "x" } } },
        { .kind = PAWL__OP_SNOOZE, .snooze = { .ref = refs[2], .delay_ms = 5 } },
        { .kind = PAWL__OP_EXTEND,
          .extend = { .refs = &refs[3], .count = 1, .lease_ms = 99, .results = &result } },
        { .kind = PAWL__OP_PROGRESS, .progress = { .ref = refs[3], .value = 0.5 } },
        { .kind = PAWL__OP_CHECKPOINT, .checkpoint = { .ref = refs[3], .state = span_of("1") } },
        { .kind = PAWL__OP_LOG, .log = { .ref = refs[3], .text = span_of("line") } },
        control_op(refs[4].id, PAWL_CONTROL_CANCEL),
        { .kind = PAWL__OP_DELETE, .remove = { .id = refs[4].id } },
        { .kind = PAWL__OP_ROUTE,
          .claim = { .queues = default_queue,
                     .queue_count = 1,
                     .limit = 1,
                     .worker = "w",
                     .lease_ms = 5 } },
        { .kind = PAWL__OP_BULK,
          .bulk = { .filter = &all, .control = PAWL_CONTROL_PAUSE, .limit = 10 } },
        { .kind = PAWL__OP_PRIORITY, .priority = { .id = refs[2].id, .priority = 4 } },
        { .kind = PAWL__OP_PROMOTE, .sweep = { .limit = 10 } },
        { .kind = PAWL__OP_LAPSE, .sweep = { .limit = 10 } },
        { .kind = PAWL__OP_EXPIRE, .sweep = { .limit = 10 } },
        { .kind = PAWL__OP_ARCHIVE,
          .retire = { .states = TERMINAL_STATES, .age_ms = -1, .limit = 10 } },
        { .kind = PAWL__OP_PURGE,
          .retire = { .states = TERMINAL_STATES, .age_ms = -1, .limit = 10 } },
        { .kind = PAWL__OP_NODE_PUT, .node = { .name = "n", .info = "", .started_at_ms = 1 } },
        { .kind = PAWL__OP_LOCK_TRY, .lock = { .name = "l", .owner = "o", .ttl_ms = 5 } },
        { .kind = PAWL__OP_LOCK_RENEW, .lock = { .name = "l", .owner = "o", .ttl_ms = 5 } },
        { .kind = PAWL__OP_LOCK_RELEASE, .lock = { .name = "l", .owner = "o" } },
        { .kind = PAWL__OP_NODE_DROP, .node = { .name = "n" } },
        { .kind = PAWL__OP_SETTING_PUT, .setting = { .name = "s", .value = "v" } },
        { .kind = PAWL__OP_QUEUE_PAUSE, .queue = { .queue = "default", .paused = true } },
        claim_some(1),
        submit_op(rig, NULL),
    };
    post_all(rig, &tally, ops, COUNT(ops));
    for (size_t i = 0; i < COUNT(ops); i++)
        if (ops[i].err != PAWL_OK) fail_msg("operation %zu: %s", i, pawl_err_name(ops[i].err));
    assert_int_equal(PAWL_OK, result);
    assert_int_equal(1, ops[9].claim.job_count);
    assert_i64(1, ops[10].bulk.moved);
    assert_i64(1, ops[15].retire.moved);
    assert_i64(1, ops[16].retire.moved);
    assert_int_equal(0, ops[24].claim.job_count); // the queue was paused by then
    assert_false(job_exists(rig, refs[0].id));
    assert_state(PAUSED, state_of(rig, refs[2].id));
    assert_false(job_exists(rig, refs[4].id));
}

static void posting_to_a_store_that_closes_is_answered(struct rig *rig)
{
    enum { MANY = 200 };
    static struct pawl__op ops[MANY];
    memset(&tally, 0, sizeof tally);
    pthread_mutex_init(&tally.mutex, NULL);
    pthread_cond_init(&tally.all_done, NULL);
    tally.waiting = MANY;
    for (size_t i = 0; i < MANY; i++) {
        ops[i] = submit_op(rig, NULL);
        ops[i].done = tally_done;
        ops[i].user = &tally;
        pawl__store_post(rig->store, &ops[i]);
    }
    rig_reopen(rig); // closing applies what is in the inbox
    assert_int_equal(MANY, tally.answered);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(PAWL_OK, ops[i].err);
        rig_keep(rig, &ops[i].arena);
    }
    assert_i64(MANY, count_state(rig, PAWL_STATE_AVAILABLE));
    pthread_cond_destroy(&tally.all_done);
    pthread_mutex_destroy(&tally.mutex);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(whole_life_fits_in_one_list),
        CONTRACT(later_operations_see_earlier_ones),
        CONTRACT(failing_operations_hurt_no_other),
        CONTRACT(claims_of_many_fetchers_share_the_jobs),
        CONTRACT(list_longer_than_a_transaction_is_all_answered),
        CONTRACT(short_list_is_one_transaction),
        CONTRACT(filter_finds_what_the_list_has_moved),
        CONTRACT(one_job_may_move_many_times_in_a_list),
        CONTRACT(names_of_a_refused_submit_are_not_remembered),
        CONTRACT(every_kind_of_operation_shares_a_transaction),
        CONTRACT_SHARED(posting_to_a_store_that_closes_is_answered),
    };
    return contract_run("batch", tests, COUNT(tests));
}
