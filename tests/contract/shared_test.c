/* Two handles on one URL, as in two processes: each sees the commits of the other, and contention
 * is never reported as an error. */
#include "support/ops.h"

#include <pthread.h>

static void each_sees_what_the_other_committed(struct rig *rig)
{
    struct rig peer;
    rig_open_peer(&peer, rig);
    struct pawl_job_id a = submit_one(rig, &(struct pawl_job_spec){ .queue = "a" });
    assert_state(AVAILABLE, state_of(&peer, a));
    struct pawl_job_id b = submit_one(&peer, &(struct pawl_job_spec){ .queue = "b" });
    assert_state(AVAILABLE, state_of(rig, b));
    struct pawl_job run = claim_one(&peer, "a");
    assert_state(ACTIVE, state_of(rig, a));
    assert_ok(rig, complete(rig, ref_of(&run), "1"));
    assert_err(&peer, PAWL_ERR_STALE, complete(&peer, ref_of(&run), "2"));
    assert_span(span_of("1"), job_get(&peer, a).result);
    assert_ok(rig, control(rig, b, PAWL_CONTROL_CANCEL));
    assert_err(&peer, PAWL_ERR_STATE, control(&peer, b, PAWL_CONTROL_CANCEL));
    rig_check(&peer);
    rig_close(&peer);
}

/* Queues and types that one made are known to the other, whatever it remembers. */
static void names_are_shared(struct rig *rig)
{
    struct rig peer;
    rig_open_peer(&peer, rig);
    for (int i = 0; i < 20; i++) {
        struct rig *one = i % 2 == 0 ? rig : &peer, *other = i % 2 == 0 ? &peer : rig;
        const char *queue = rig_text(one, "shared-%d", i);
        struct pawl_job_id first =
            submit_one(one, &(struct pawl_job_spec){ .queue = queue, .type = "x" });
        struct pawl_job_id second =
            submit_one(other, &(struct pawl_job_spec){ .queue = queue, .type = "x" });
        struct claimed jobs = claim_n(other, queue, 10);
        assert_int_equal(2, jobs.count);
        assert_true(same_id(first, jobs.at[0].id) || same_id(first, jobs.at[1].id));
        assert_true(same_id(second, jobs.at[0].id) || same_id(second, jobs.at[1].id));
    }
    rig_check(&peer);
    rig_close(&peer);
}

static void keys_and_pauses_are_shared(struct rig *rig)
{
    struct rig peer;
    rig_open_peer(&peer, rig);
    submit_one(rig, &(struct pawl_job_spec){ .business_key = "b" });
    assert_err(&peer, PAWL_ERR_DUPLICATE,
               submit_spec(&peer, &(struct pawl_job_spec){ .business_key = "b" }, NULL));
    queue_pause(&peer, "default", true);
    assert_int_equal(0, claim_n(rig, "default", 10).count);
    queue_pause(rig, "default", false);
    assert_int_equal(1, claim_n(&peer, "default", 10).count);
    assert_ok(rig, lock_try(rig, "leader", "a", 1000, NULL));
    assert_err(&peer, PAWL_ERR_HELD, lock_try(&peer, "leader", "b", 1000, NULL));
    rig_close(&peer);
}

static void counts_are_shared(struct rig *rig)
{
    struct rig peer;
    rig_open_peer(&peer, rig);
    for (int i = 0; i < 30; i++) {
        struct rig *one = i % 2 == 0 ? rig : &peer;
        job_in(one, (enum pawl_state)(1 + i % (PAWL_STATE_END - 1)), NULL);
        if (i % 7 == 0) rig_check(i % 3 == 0 ? rig : &peer);
    }
    rig_check(&peer);
    rig_close(&peer);
}

/* ---- contention ---- */

enum { WRITERS = 4, JOBS_EACH = 60 };

struct writer {
    pthread_t thread;
    pthread_barrier_t *barrier;
    struct pawl__store *store;
    struct pawl__new_job *jobs;
    int64_t finished;
    enum pawl_err err;
};

/* Submit one, claim one, complete it. A claim that finds nothing although all others have submitted
 * as many as they claimed passed over what the others hold, and says so. */
static enum pawl_err write_one(struct writer *w, size_t i)
{
    struct pawl_submitted out;
    struct pawl__op submit = { .kind = PAWL__OP_SUBMIT,
                               .submit = { .jobs = &w->jobs[i], .count = 1, .out = &out } };
    enum pawl_err err = pawl__store_do(w->store, &submit);
    pawl__arena_release(&submit.arena);
    if (err != PAWL_OK) return err;
    static const char *const queue[] = { "default" };
    struct pawl__op claim = { .kind = PAWL__OP_CLAIM,
                              .claim = { .queues = queue,
                                         .queue_count = 1,
                                         .limit = 1,
                                         .worker = WORKER,
                                         .lease_ms = LEASE_MS } };
    do {
        err = pawl__store_do(w->store, &claim);
    } while (err == PAWL_OK && claim.claim.more);
    for (size_t k = 0; err == PAWL_OK && k < claim.claim.job_count; k++, w->finished++) {
        struct pawl__op complete = { .kind = PAWL__OP_COMPLETE,
                                     .complete = { .ref = ref_of(&claim.claim.jobs[k]) } };
        err = pawl__store_do(w->store, &complete);
        pawl__arena_release(&complete.arena);
    }
    pawl__arena_release(&claim.arena);
    return err;
}

static void *write_all(void *ctx)
{
    struct writer *w = ctx;
    pthread_barrier_wait(w->barrier);
    for (size_t i = 0; i < JOBS_EACH && w->err == PAWL_OK; i++)
        w->err = write_one(w, i);
    return NULL;
}

static void contention_never_shows_as_an_error(struct rig *rig)
{
    struct rig peer;
    rig_open_peer(&peer, rig);
    static struct pawl__new_job jobs[WRITERS][JOBS_EACH];
    struct writer writers[WRITERS] = { 0 };
    pthread_barrier_t barrier;
    assert_int_equal(0, pthread_barrier_init(&barrier, NULL, WRITERS));
    for (size_t i = 0; i < WRITERS; i++) {
        for (size_t k = 0; k < JOBS_EACH; k++)
            jobs[i][k] = job_new(rig, NULL);
        writers[i] = (struct writer){ .barrier = &barrier,
                                      .store = i % 2 == 0 ? rig->store : peer.store,
                                      .jobs = jobs[i] };
        assert_int_equal(0, pthread_create(&writers[i].thread, NULL, write_all, &writers[i]));
    }
    int64_t finished = 0;
    for (size_t i = 0; i < WRITERS; i++) {
        assert_int_equal(0, pthread_join(writers[i].thread, NULL));
        if (writers[i].err != PAWL_OK) fail_msg("writer %zu: %s", i, pawl_err_name(writers[i].err));
        finished += writers[i].finished;
    }
    pthread_barrier_destroy(&barrier);
    assert_i64(WRITERS * JOBS_EACH, finished);
    assert_i64(WRITERS * JOBS_EACH, count_state(rig, PAWL_STATE_COMPLETED));
    rig_check(&peer);
    rig_close(&peer);
}

static void one_may_close_while_the_other_works(struct rig *rig)
{
    for (int i = 0; i < 5; i++) {
        struct rig peer;
        rig_open_peer(&peer, rig);
        peer.id_space += (uint32_t)i;
        submit_one(&peer, NULL);
        submit_one(rig, NULL);
        rig_close(&peer);
        submit_one(rig, NULL);
    }
    assert_i64(15, count_state(rig, PAWL_STATE_AVAILABLE));
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT_SHARED(each_sees_what_the_other_committed),
        CONTRACT_SHARED(names_are_shared),
        CONTRACT_SHARED(keys_and_pauses_are_shared),
        CONTRACT_SHARED(counts_are_shared),
        CONTRACT_SHARED(contention_never_shows_as_an_error),
        CONTRACT_SHARED(one_may_close_while_the_other_works),
    };
    return contract_run("shared", tests, COUNT(tests));
}
