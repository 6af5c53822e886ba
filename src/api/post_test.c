/* Tests asynchronous calls. Answers arrive on the committer's thread, which a plug can block, so
 * that calls posted in the meantime are certainly in progress. */
#include "api/check.h"
#include "api/test_kit.h"

#include <pthread.h>
#include <stdatomic.h>

static struct pawl *desk(void **state)
{
    return ((struct kit *)*state)->pawl;
}

static const char *const default_queue[] = { "default" };

static const struct pawl_claim usual_claim = {
    .queues = default_queue, .queue_count = 1, .worker = "far-1", .limit = 100
};

/* ---- waiting for answers ---- */

struct tray {
    struct pawl__mutex mutex;
    struct pawl__cond change;
    /* guarded by mutex: */
    struct pawl_answer *answers[64];
    size_t count;
    bool held, pulled; /* by a plug */
    struct pawl__op plug;
};

static void tray_init(struct tray *tray)
{
    memset(tray, 0, sizeof *tray);
    pawl__mutex_init(&tray->mutex);
    pawl__cond_init(&tray->change);
}

static void tray_release(struct tray *tray)
{
    for (size_t i = 0; i < tray->count; i++) {
        pawl_answer_free(tray->answers[i]);
    }
    pawl__cond_release(&tray->change);
    pawl__mutex_release(&tray->mutex);
}

static void put_in_tray(struct pawl_answer *taken_answer)
{
    struct tray *tray = taken_answer->ctx;
    pawl__lock(&tray->mutex);
    tray->answers[tray->count++] = taken_answer;
    pawl__cond_broadcast(&tray->change);
    pawl__unlock(&tray->mutex);
}

/* The index-th answer that came; the tray's. */
static struct pawl_answer *answer_of(struct tray *tray, size_t index)
{
    pawl__lock(&tray->mutex);
    while (tray->count <= index) {
        pawl__cond_wait(&tray->change, &tray->mutex);
    }
    struct pawl_answer *answer = tray->answers[index];
    pawl__unlock(&tray->mutex);
    return answer;
}

static void hold(struct pawl__op *op)
{
    struct tray *tray = op->user;
    pawl__lock(&tray->mutex);
    tray->held = true;
    pawl__cond_broadcast(&tray->change);
    while (!tray->pulled) {
        pawl__cond_wait(&tray->change, &tray->mutex);
    }
    pawl__unlock(&tray->mutex);
}

/* Blocks all answers until the plug is pulled. */
static void plug_in(struct pawl *pawl, struct tray *tray)
{
    tray->plug = (struct pawl__op){ .kind = PAWL__OP_EXTEND, .done = hold, .user = tray };
    pawl__store_post(pawl->store, &tray->plug);
    pawl__lock(&tray->mutex);
    while (!tray->held) {
        pawl__cond_wait(&tray->change, &tray->mutex);
    }
    pawl__unlock(&tray->mutex);
}

static void plug_pull(struct tray *tray)
{
    pawl__lock(&tray->mutex);
    tray->pulled = true;
    pawl__cond_broadcast(&tray->change);
    pawl__unlock(&tray->mutex);
}

/* ---- each call ---- */

static struct pawl_job_id submit(struct pawl *pawl, const struct pawl_job_spec *spec)
{
    struct pawl_job_spec full = spec ? *spec : (struct pawl_job_spec){ 0 };
    if (!full.type) full.type = "work";
    struct pawl_submitted out;
    KIT_OK(pawl_submit(pawl, &full, &out, &diag));
    return out.id;
}

static struct pawl_run fresh_run(struct pawl *pawl)
{
    struct pawl_jobs jobs = { .at = NULL };
    submit(pawl, NULL);
    KIT_OK(pawl_claim(pawl, &usual_claim, &jobs, &diag));
    assert_int_equal(jobs.count, 1);
    struct pawl_run run = { jobs.at[0].id, jobs.at[0].run };
    pawl_jobs_release(&jobs);
    return run;
}

static enum pawl_state state_of(struct pawl *pawl, struct pawl_job_id id)
{
    struct pawl_jobs jobs = { .at = NULL };
    KIT_OK(pawl_get(pawl, id, &jobs, &diag));
    enum pawl_state state = jobs.at[0].state;
    pawl_jobs_release(&jobs);
    return state;
}

static void job_walks_through_posted_calls(void **state)
{
    struct kit *kit = *state;
    struct tray tray;
    tray_init(&tray);
    struct pawl_job_spec specs[] = { { .type = "first" }, { .type = "second", .delay_ms = 10 } };
    KIT_OK(pawl_post_submit(kit->pawl, specs, 2, put_in_tray, &tray, &diag));
    struct pawl_answer *submitted = answer_of(&tray, 0);
    assert_int_equal(submitted->err, PAWL_OK);
    assert_ptr_equal(submitted->ctx, &tray);
    assert_int_equal(submitted->now_ms, kit->now_ms);
    assert_int_equal(submitted->submitted_count, 2);
    assert_int_equal(submitted->failed_index, 2); // none
    assert_int_equal(submitted->submitted[0].state, PAWL_STATE_AVAILABLE);
    assert_int_equal(submitted->submitted[1].state, PAWL_STATE_SCHEDULED);
    assert_true(memcmp(&submitted->submitted[0].id, &submitted->submitted[1].id, 16) < 0);

    KIT_OK(pawl_post_claim(kit->pawl, &usual_claim, put_in_tray, &tray, &diag));
    struct pawl_answer *claimed = answer_of(&tray, 1);
    assert_int_equal(claimed->err, PAWL_OK);
    assert_int_equal(claimed->job_count, 1);
    assert_null(claimed->submitted);
    assert_string_equal(claimed->jobs[0].type, "first");
    assert_string_equal(claimed->jobs[0].worker, "far-1");
    assert_int_equal(claimed->jobs[0].lease_until_ms, kit->now_ms + 30000);
    struct pawl_run run = { claimed->jobs[0].id, claimed->jobs[0].run };

    kit->now_ms += 1000;
    struct pawl_run runs[] = { run, { .id = run.id, .run = 7 }, { .id = { { 9 } }, .run = 1 } };
    struct pawl_extension extension = { .runs = runs, .count = 3, .lease_ms = 5000 };
    KIT_OK(pawl_post_extend(kit->pawl, &extension, put_in_tray, &tray, &diag));
    struct pawl_answer *extended = answer_of(&tray, 2);
    assert_int_equal(extended->err, PAWL_OK);
    assert_int_equal(extended->now_ms, kit->now_ms);
    assert_int_equal(extended->result_count, 3);
    assert_int_equal(extended->results[0], PAWL_OK);
    assert_int_equal(extended->results[1], PAWL_ERR_STALE);
    assert_int_equal(extended->results[2], PAWL_ERR_NOT_FOUND);

    struct pawl_report report = { .type = "oops", .retry_after_ms = 400 };
    KIT_OK(pawl_post_fail(kit->pawl, &run, &report, put_in_tray, &tray, &diag));
    struct pawl_answer *failed = answer_of(&tray, 3);
    assert_int_equal(failed->err, PAWL_OK);
    assert_int_equal(failed->failed.to, PAWL_STATE_RETRYABLE);
    assert_int_equal(failed->failed.attempt, 1);
    assert_int_equal(failed->failed.delay_ms, 400);
    assert_int_equal(failed->failed.due_at_ms, kit->now_ms + 400);

    run = fresh_run(kit->pawl);
    KIT_OK(pawl_post_complete(kit->pawl, &run, kit_span("[1]"), put_in_tray, &tray, &diag));
    assert_int_equal(answer_of(&tray, 4)->err, PAWL_OK);
    assert_int_equal(state_of(kit->pawl, run.id), PAWL_STATE_COMPLETED);
    tray_release(&tray);
}

static void empty_claim_is_answered(void **state)
{
    struct tray tray;
    tray_init(&tray);
    KIT_OK(pawl_post_claim(desk(state), &usual_claim, put_in_tray, &tray, &diag));
    assert_int_equal(answer_of(&tray, 0)->err, PAWL_OK);
    assert_int_equal(answer_of(&tray, 0)->job_count, 0);
    tray_release(&tray);
}

static void free_takes_nothing(void **state)
{
    (void)state;
    pawl_answer_free(NULL);
}

/* ---- what is refused at once ---- */

static void never(struct pawl_answer *taken_answer)
{
    (void)taken_answer;
    abort();
}

static void bad_arguments_are_told_at_once_and_never_answered(void **state)
{
    struct pawl *pawl = desk(state);
    struct pawl_run run = fresh_run(pawl), unnamed = { .id = run.id };
    struct pawl_span broken = { "{", 1 };
    struct pawl_claim no_worker = { .queues = default_queue, .queue_count = 1 };
    struct pawl_report bad_report = { .details = broken };
    struct pawl_report fine = { .type = "oops" };
    struct pawl_job_spec specs[] = { { .type = "work" }, { .type = "Bad Type" } };
    KIT_FAILS(pawl_post_submit(pawl, specs, 0, never, NULL, &diag), PAWL_ERR_ARG, "count");
    KIT_FAILS(pawl_post_submit(pawl, specs, PAWL_BATCH_MAX + 1, never, NULL, &diag), PAWL_ERR_LIMIT,
              "count");
    KIT_FAILS(pawl_post_submit(pawl, specs, 2, never, NULL, &diag), PAWL_ERR_ARG, "[1].type");
    KIT_FAILS(pawl_post_submit(pawl, &specs[1], 1, never, NULL, &diag), PAWL_ERR_ARG, "type");
    KIT_FAILS(pawl_post_claim(pawl, &no_worker, never, NULL, &diag), PAWL_ERR_ARG, "worker");
    KIT_FAILS(pawl_post_complete(pawl, &run, broken, never, NULL, &diag), PAWL_ERR_ARG, "result");
    KIT_FAILS(pawl_post_complete(pawl, &unnamed, (struct pawl_span){ 0 }, never, NULL, &diag),
              PAWL_ERR_ARG, "run");
    KIT_FAILS(pawl_post_fail(pawl, &run, &bad_report, never, NULL, &diag), PAWL_ERR_ARG, "details");
    KIT_FAILS(pawl_post_fail(pawl, &unnamed, &fine, never, NULL, &diag), PAWL_ERR_ARG, "run");
    static const size_t counts[] = { 0, PAWL_CLAIM_MAX + 1, SIZE_MAX, SIZE_MAX / 8 };
    for (size_t i = 0; i < COUNT(counts); i++) {
        struct pawl_extension extension = { .runs = &run, .count = counts[i], .lease_ms = 1 };
        KIT_FAILS(pawl_post_extend(pawl, &extension, never, NULL, &diag), PAWL_ERR_ARG, "count");
    }
    struct pawl_extension no_time = { .runs = &run, .count = 1 };
    KIT_FAILS(pawl_post_extend(pawl, &no_time, never, NULL, &diag), PAWL_ERR_ARG, "lease_ms");
    assert_int_not_equal(pawl_post_extend(pawl, &no_time, never, NULL, NULL), PAWL_OK);
    assert_int_equal(state_of(pawl, run.id), PAWL_STATE_ACTIVE);
    int64_t count = -1;
    KIT_OK(pawl_count(pawl, NULL, &count, &diag));
    assert_int_equal(count, 1);
}

static enum pawl_err refuse_mail(void *ctx, struct pawl_job_spec *spec, struct pawl_diag *diag)
{
    (void)ctx;
    if (strcmp(spec->type, "mail") != 0) return PAWL_OK;
    *diag = (struct pawl_diag){ .err = PAWL_ERR_UNSUPPORTED, .field = "type", .text = "no mail" };
    return PAWL_ERR_UNSUPPORTED;
}

static atomic_int told;

static void count_submits(void *ctx, const struct pawl_submitted *submitted)
{
    (void)ctx;
    (void)submitted;
    told++;
}

static void hooks_stand_around_posted_submits(void **state)
{
    struct pawl_hooks hooks = { .before_submit = refuse_mail, .after_submit = count_submits };
    KIT_OK(pawl_hook(desk(state), &hooks, &diag));
    struct tray tray;
    tray_init(&tray);
    told = 0;
    struct pawl_job_spec specs[] = { { .type = "work" }, { .type = "mail" } };
    KIT_FAILS(pawl_post_submit(desk(state), specs, 2, never, NULL, &diag), PAWL_ERR_UNSUPPORTED,
              "[1].type");
    specs[1].type = "work";
    KIT_OK(pawl_post_submit(desk(state), specs, 2, put_in_tray, &tray, &diag));
    assert_int_equal(answer_of(&tray, 0)->err, PAWL_OK);
    assert_int_equal(told, 2);
    tray_release(&tray);
}

/* ---- what is refused later ---- */

static void assert_answer(const struct pawl_answer *answer, enum pawl_err err, const char *field)
{
    assert_int_equal(answer->err, err);
    assert_int_equal(answer->diag.err, err);
    assert_string_equal(answer->diag.field, field);
    assert_true(answer->diag.text[0] != '\0');
    assert_null(answer->submitted);
    assert_null(answer->jobs);
    assert_null(answer->results);
    assert_int_equal(answer->submitted_count + answer->job_count + answer->result_count, 0);
}

static void who_has_lost_his_run_is_answered_so(void **state)
{
    struct pawl *pawl = desk(state);
    struct tray tray;
    tray_init(&tray);
    struct pawl_run run = fresh_run(pawl), nobody = { .id = { { 9 } }, .run = 1 };
    struct pawl_report report = { .type = "oops" };
    KIT_OK(pawl_give_back(pawl, &run, 0, &diag));
    KIT_OK(pawl_post_complete(pawl, &run, (struct pawl_span){ 0 }, put_in_tray, &tray, &diag));
    assert_answer(answer_of(&tray, 0), PAWL_ERR_STALE, "");
    KIT_OK(pawl_post_fail(pawl, &run, &report, put_in_tray, &tray, &diag));
    assert_answer(answer_of(&tray, 1), PAWL_ERR_STALE, "");
    assert_int_equal(answer_of(&tray, 1)->failed.to, PAWL_STATE_NONE);
    KIT_OK(pawl_post_complete(pawl, &nobody, (struct pawl_span){ 0 }, put_in_tray, &tray, &diag));
    assert_answer(answer_of(&tray, 2), PAWL_ERR_NOT_FOUND, "");
    KIT_OK(pawl_post_fail(pawl, &nobody, &report, put_in_tray, &tray, &diag));
    assert_answer(answer_of(&tray, 3), PAWL_ERR_NOT_FOUND, "");
    assert_int_equal(state_of(pawl, run.id), PAWL_STATE_AVAILABLE);
    tray_release(&tray);
}

static void batch_that_clashes_names_the_one(void **state)
{
    struct pawl *pawl = desk(state);
    struct tray tray;
    tray_init(&tray);
    struct pawl_job_id taken = submit(pawl, &(struct pawl_job_spec){ .business_key = "order 1" });
    struct pawl_job_spec specs[] = { { .type = "work" },
                                     { .type = "work" },
                                     { .type = "work", .business_key = "order 1" } };
    KIT_OK(pawl_post_submit(pawl, specs, 3, put_in_tray, &tray, &diag));
    assert_answer(answer_of(&tray, 0), PAWL_ERR_DUPLICATE, "[2].business_key");
    assert_non_null(strstr(answer_of(&tray, 0)->diag.text, "[2]: "));
    assert_memory_equal(&answer_of(&tray, 0)->holder.id, &taken, sizeof taken);
    assert_int_equal(answer_of(&tray, 0)->holder.state, PAWL_STATE_AVAILABLE);
    assert_int_equal(answer_of(&tray, 0)->failed_index, 2);
    specs[1].id = &taken;
    specs[2].business_key = NULL;
    KIT_OK(pawl_post_submit(pawl, specs, 3, put_in_tray, &tray, &diag));
    assert_answer(answer_of(&tray, 1), PAWL_ERR_EXISTS, "[1].id");
    assert_int_equal(answer_of(&tray, 1)->failed_index, 1);
    assert_int_equal(answer_of(&tray, 1)->holder.state, PAWL_STATE_NONE);
    KIT_OK(pawl_post_submit(pawl, &specs[1], 1, put_in_tray, &tray, &diag)); // a lone one: no index
    assert_answer(answer_of(&tray, 2), PAWL_ERR_EXISTS, "id");
    int64_t count = -1;
    KIT_OK(pawl_count(pawl, NULL, &count, &diag));
    assert_int_equal(count, 1);
    tray_release(&tray);
}

/* The blocking call reports the same. */
static void both_forms_name_the_same_one(void **state)
{
    struct pawl *pawl = desk(state);
    struct tray tray;
    tray_init(&tray);
    submit(pawl, &(struct pawl_job_spec){ .business_key = "order 1" });
    struct pawl_job_spec specs[] = { { .type = "work" },
                                     { .type = "work", .business_key = "order 1" } };
    struct pawl_submitted out[2];
    struct pawl_diag blocking = { .text = "" };
    assert_int_equal(pawl_submit_many(pawl, specs, 2, out, &blocking), PAWL_ERR_DUPLICATE);
    KIT_OK(pawl_post_submit(pawl, specs, 2, put_in_tray, &tray, &diag));
    assert_answer(answer_of(&tray, 0), PAWL_ERR_DUPLICATE, blocking.field);
    assert_string_equal(answer_of(&tray, 0)->diag.text, blocking.text);
    tray_release(&tray);
}

/* ---- memory ---- */

/* Arguments are read until the answer, and not after: the sanitizers check that. Texts are on the
 * heap, so that an access is detected. */
static void arguments_are_borrowed_until_the_answer(void **state)
{
    struct pawl *pawl = desk(state);
    struct tray tray;
    tray_init(&tray);
    plug_in(pawl, &tray);
    char *type = strdup("work"), *args = strdup("[\"abc\"]"), *worker = strdup("far-2");
    char *queue = strdup("q"), *key = strdup("order 1");
    struct pawl_job_spec *spec = calloc(1, sizeof *spec);
    struct pawl_claim *claim = calloc(1, sizeof *claim);
    const char **queues = calloc(1, sizeof *queues);
    assert_true(type && args && worker && queue && key && spec && claim && queues);
    *spec = (struct pawl_job_spec){
        .type = type, .queue = queue, .args = { args, 7 }, .business_key = key
    };
    queues[0] = queue;
    *claim = (struct pawl_claim){ .queues = queues, .queue_count = 1, .worker = worker };
    KIT_OK(pawl_post_submit(pawl, spec, 1, put_in_tray, &tray, &diag));
    pawl__lock(&tray.mutex);
    assert_int_equal(tray.count, 0); // it did not wait
    pawl__unlock(&tray.mutex);
    plug_pull(&tray);
    assert_int_equal(answer_of(&tray, 0)->err, PAWL_OK);
    KIT_OK(pawl_post_claim(pawl, claim, put_in_tray, &tray, &diag));
    struct pawl_answer *claimed = answer_of(&tray, 1);
    memset(args, 'x', 7);
    memset(worker, 'x', 5);
    free(type);
    free(args);
    free(worker);
    free(queue);
    free(key);
    free(spec);
    free(claim);
    free(queues);
    assert_int_equal(claimed->job_count, 1);
    assert_string_equal(claimed->jobs[0].worker, "far-2");
    assert_string_equal(claimed->jobs[0].queue, "q");
    assert_memory_equal(claimed->jobs[0].args.at, "[\"abc\"]", 7);
    assert_string_equal(claimed->jobs[0].business_key, "order 1");
    tray_release(&tray);
}

static void *free_answer(void *arg)
{
    pawl_answer_free(arg);
    return NULL;
}

static void answer_may_be_freed_on_another_thread(void **state)
{
    struct tray tray;
    tray_init(&tray);
    submit(desk(state), NULL);
    KIT_OK(pawl_post_claim(desk(state), &usual_claim, put_in_tray, &tray, &diag));
    assert_int_equal(answer_of(&tray, 0)->job_count, 1);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, free_answer, tray.answers[0]), 0);
    pthread_join(thread, NULL);
    tray.count = 0;
    tray_release(&tray);
}

static void answer_outlives_the_store(void **state)
{
    struct kit *kit = *state;
    struct tray tray;
    tray_init(&tray);
    submit(kit->pawl, NULL);
    KIT_OK(pawl_post_claim(kit->pawl, &usual_claim, put_in_tray, &tray, &diag));
    (void)answer_of(&tray, 0);
    pawl_close(kit->pawl);
    kit->pawl = NULL;
    assert_string_equal(tray.answers[0]->jobs[0].type, "work");
    tray_release(&tray);
}

/* ---- closing ---- */

static void *close_store(void *arg)
{
    pawl_close(arg);
    return NULL;
}

/* Every call is answered with its real result, and a claim still finds its engine. */
static void closing_waits_for_answers_to_come(void **state)
{
    struct kit *kit = *state;
    enum { ROUNDS = 8 };
    struct tray tray;
    tray_init(&tray);
    submit(kit->pawl, NULL);
    plug_in(kit->pawl, &tray);
    struct pawl_job_spec spec = { .type = "later", .delay_ms = 1000, .expires_in_ms = 1000 };
    for (int i = 0; i < ROUNDS; i++) {
        KIT_OK(pawl_post_submit(kit->pawl, &spec, 1, put_in_tray, &tray, &diag));
        KIT_OK(pawl_post_claim(kit->pawl, &usual_claim, put_in_tray, &tray, &diag));
    }
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, close_store, kit->pawl), 0);
    plug_pull(&tray);
    pthread_join(thread, NULL);
    kit->pawl = NULL;
    assert_int_equal(tray.count, 2 * ROUNDS);
    size_t claimed = 0, submitted = 0;
    for (size_t i = 0; i < tray.count; i++) {
        assert_int_equal(tray.answers[i]->err, PAWL_OK);
        claimed += tray.answers[i]->job_count;
        submitted += tray.answers[i]->submitted_count;
    }
    assert_int_equal(claimed, 1);
    assert_int_equal(submitted, ROUNDS);
    tray_release(&tray);
}

struct relay {
    struct tray tray;
    struct pawl *pawl;
    int left;
};

/* On the committer's thread: answers may post. */
static void pass_on(struct pawl_answer *taken_answer)
{
    struct relay *relay = taken_answer->ctx;
    enum pawl_err err = taken_answer->err;
    pawl_answer_free(taken_answer);
    if (!err && --relay->left > 0) {
        err = pawl_post_claim(relay->pawl, &usual_claim, pass_on, relay, NULL);
    }
    if (err) relay->left = -1;
}

static void answers_may_post_and_closing_waits_for_these_too(void **state)
{
    struct kit *kit = *state;
    struct relay relay = { .pawl = kit->pawl, .left = 50 };
    tray_init(&relay.tray);
    plug_in(kit->pawl, &relay.tray);
    KIT_OK(pawl_post_claim(kit->pawl, &usual_claim, pass_on, &relay, &diag));
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, close_store, kit->pawl), 0);
    plug_pull(&relay.tray);
    pthread_join(thread, NULL);
    kit->pawl = NULL;
    assert_int_equal(relay.left, 0);
    tray_release(&relay.tray);
}

/* ---- expecting ---- */

static void posted_route_is_assigned(void **state)
{
    struct kit *kit = *state;
    struct tray tray;
    tray_init(&tray);
    submit(kit->pawl, NULL);
    KIT_OK(pawl_post_route(kit->pawl, &usual_claim, put_in_tray, &tray, &diag));
    struct pawl_answer *routed = answer_of(&tray, 0);
    assert_int_equal(routed->err, PAWL_OK);
    assert_int_equal(routed->job_count, 1);
    assert_int_equal(routed->jobs[0].state, PAWL_STATE_PENDING);
    struct pawl_assignment assignment = { .routed = { .id = routed->jobs[0].id,
                                                      .worker = usual_claim.worker,
                                                      .token = routed->jobs[0].lease_until_ms } };
    KIT_OK(pawl_post_assign(kit->pawl, &assignment, put_in_tray, &tray, &diag));
    struct pawl_answer *assigned = answer_of(&tray, 1);
    assert_int_equal(assigned->err, PAWL_OK);
    assert_int_equal(assigned->job_count, 1);
    assert_int_equal(assigned->jobs[0].run, 1);
    KIT_OK(pawl_post_assign(kit->pawl, &assignment, put_in_tray, &tray, &diag));
    assert_int_equal(answer_of(&tray, 2)->err, PAWL_ERR_STALE);
    assert_int_equal(answer_of(&tray, 2)->job_count, 0);
    assignment.routed.token = 0;
    KIT_FAILS(pawl_post_assign(kit->pawl, &assignment, never, NULL, &diag), PAWL_ERR_ARG, "token");
    tray_release(&tray);
}

static void counters_know_posted_submits(void **state)
{
    struct tray tray;
    tray_init(&tray);
    struct pawl_job_spec specs[] = { { .type = "work", .idempotency_key = "a" },
                                     { .type = "work" } };
    for (size_t i = 0; i < 2; i++) {
        KIT_OK(pawl_post_submit(desk(state), specs, 2, put_in_tray, &tray, &diag));
        assert_int_equal(answer_of(&tray, i)->err, PAWL_OK);
    }
    assert_false(answer_of(&tray, 0)->submitted[0].deduplicated);
    assert_true(answer_of(&tray, 1)->submitted[0].deduplicated);
    struct pawl_counters counters;
    pawl_counters_get(desk(state), &counters);
    assert_int_equal(counters.submitted, 3);
    tray_release(&tray);
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, kit_open, kit_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(job_walks_through_posted_calls),
        WITH_STORE(empty_claim_is_answered),
        cmocka_unit_test(free_takes_nothing),
        WITH_STORE(bad_arguments_are_told_at_once_and_never_answered),
        WITH_STORE(hooks_stand_around_posted_submits),
        WITH_STORE(who_has_lost_his_run_is_answered_so),
        WITH_STORE(batch_that_clashes_names_the_one),
        WITH_STORE(both_forms_name_the_same_one),
        WITH_STORE(arguments_are_borrowed_until_the_answer),
        WITH_STORE(answer_may_be_freed_on_another_thread),
        WITH_STORE(answer_outlives_the_store),
        WITH_STORE(closing_waits_for_answers_to_come),
        WITH_STORE(answers_may_post_and_closing_waits_for_these_too),
        WITH_STORE(posted_route_is_assigned),
        WITH_STORE(counters_know_posted_submits),
    };
    return cmocka_run_group_tests_name("api/post", tests, NULL, NULL);
}
