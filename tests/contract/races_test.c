/* Races: threads meet at a barrier, then all request the same. Exactly one succeeds, and the others
 * get the documented error. Each race runs on one store and, if it can be opened twice, on two
 * handles of it. */
#include "support/ops.h"

#include <pthread.h>

enum { RACERS = 6, ROUNDS = 25, RUNS_MAX = 8 };

struct racer {
    pthread_t thread;
    pthread_barrier_t *barrier;
    struct pawl__store *store;
    struct pawl__op op;
    enum pawl_err err;
    struct pawl_run runs[RUNS_MAX]; /* that it has claimed */
    size_t run_count;
};

static void *race(void *ctx)
{
    struct racer *racer = ctx;
    pthread_barrier_wait(racer->barrier);
    racer->err = pawl__store_do(racer->store, &racer->op);
    return NULL;
}

/* All at once; ops are filled in. `run` is what each does. */
static void run_race_of(struct rig *rig, struct racer *racers, size_t count, void *(*run)(void *))
{
    pthread_barrier_t barrier;
    assert_int_equal(0, pthread_barrier_init(&barrier, NULL, (unsigned)count));
    for (size_t i = 0; i < count; i++) {
        racers[i].barrier = &barrier;
        if (racers[i].store == NULL) racers[i].store = rig->store;
        assert_int_equal(0, pthread_create(&racers[i].thread, NULL, run, &racers[i]));
    }
    for (size_t i = 0; i < count; i++)
        assert_int_equal(0, pthread_join(racers[i].thread, NULL));
    pthread_barrier_destroy(&barrier);
    for (size_t i = 0; i < count; i++)
        rig_keep(rig, &racers[i].op.arena);
}

static void run_race(struct rig *rig, struct racer *racers, size_t count)
{
    run_race_of(rig, racers, count, race);
}

/* How many of the racers got `err`; the rest must have got `other`. */
static size_t count_err(const struct racer *racers, size_t count, enum pawl_err err,
                        enum pawl_err other)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        n += racers[i].err == err;
        if (racers[i].err != err && racers[i].err != other)
            fail_msg("racer %zu: %s", i, pawl_err_name(racers[i].err));
    }
    return n;
}

static const char *const queues[] = { "default" };

static struct pawl__op claim_some(int64_t limit)
{
    return (struct pawl__op){ .kind = PAWL__OP_CLAIM,
                              .claim = { .queues = queues,
                                         .queue_count = 1,
                                         .limit = limit,
                                         .worker = WORKER,
                                         .lease_ms = LEASE_MS } };
}

/* Claims again for as long as it has room and is told that more may be there. */
static void *race_to_claim(void *ctx)
{
    struct racer *racer = ctx;
    int64_t room = racer->op.claim.limit;
    pthread_barrier_wait(racer->barrier);
    do {
        racer->op.claim.limit = room - (int64_t)racer->run_count;
        racer->err = pawl__store_do(racer->store, &racer->op);
        if (racer->err != PAWL_OK) break;
        for (size_t i = 0; i < racer->op.claim.job_count; i++)
            racer->runs[racer->run_count++] = ref_of(&racer->op.claim.jobs[i]);
    } while (racer->op.claim.more);
    return NULL;
}

/* Every racer claims `limit` of `jobs`: no job twice, none left while somebody had room. */
static void claim_race(struct rig *rig, struct rig *peer, size_t jobs, int64_t limit)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct pawl_job_id *ids = submit_n(rig, jobs, NULL);
        struct racer racers[RACERS] = { 0 };
        for (size_t i = 0; i < RACERS; i++) {
            racers[i].op = claim_some(limit);
            if (peer != NULL && i % 2 == 1) racers[i].store = peer->store;
        }
        run_race_of(rig, racers, RACERS, race_to_claim);
        assert_int_equal(RACERS, count_err(racers, RACERS, PAWL_OK, PAWL_OK));
        size_t total = 0;
        for (size_t i = 0; i < RACERS; i++) {
            assert_true((int64_t)racers[i].run_count <= limit);
            for (size_t k = 0; k < racers[i].run_count; k++, total++)
                assert_ok(rig, complete(rig, racers[i].runs[k], NULL));
        }
        size_t room = (size_t)limit * RACERS;
        assert_int_equal(jobs < room ? jobs : room, total);
        for (size_t i = 0; i < jobs && total == jobs; i++)
            assert_state(COMPLETED, state_of(rig, ids[i]));
    }
}

static void one_job_goes_to_one_claimer(struct rig *rig)
{
    claim_race(rig, NULL, 1, 1);
}

static void ten_jobs_are_shared_out_without_loss(struct rig *rig)
{
    claim_race(rig, NULL, 10, 4);
}

static void one_job_goes_to_one_of_two_stores(struct rig *rig)
{
    struct rig peer;
    rig_open_peer(&peer, rig);
    claim_race(rig, &peer, 1, 1);
    claim_race(rig, &peer, 10, 4);
    rig_close(&peer);
}

/* ---- routers ---- */

static const char *const routers[RACERS] = { "w-0", "w-1", "w-2", "w-3", "w-4", "w-5" };

/* Routers and claimers at once: each job goes to one of them. */
static void route_race(struct rig *rig, struct rig *peer, size_t jobs, int64_t limit)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct pawl_job_id *ids = submit_n(rig, jobs, NULL);
        struct racer racers[RACERS] = { 0 };
        for (size_t i = 0; i < RACERS; i++) {
            racers[i].op = claim_some(limit);
            if (i % 3) racers[i].op.kind = PAWL__OP_ROUTE;
            racers[i].op.claim.worker = routers[i];
            if (peer != NULL && i % 2 == 1) racers[i].store = peer->store;
        }
        run_race_of(rig, racers, RACERS, race_to_claim);
        assert_int_equal(RACERS, count_err(racers, RACERS, PAWL_OK, PAWL_OK));
        size_t total = 0, room = (size_t)limit * RACERS;
        for (size_t i = 0; i < RACERS; i++) {
            for (size_t k = 0; k < racers[i].run_count; k++, total++)
                assert_text(routers[i], job_get(rig, racers[i].runs[k].id).worker);
        }
        assert_int_equal(jobs < room ? jobs : room, total);
        for (size_t i = 0; i < jobs; i++)
            assert_ok(rig, control(rig, ids[i], PAWL_CONTROL_CANCEL));
    }
}

static void routers_share_jobs_with_claimers(struct rig *rig)
{
    route_race(rig, NULL, 1, 1);
    route_race(rig, NULL, 10, 4);
}

static void routers_of_two_stores_share_jobs(struct rig *rig)
{
    struct rig peer;
    rig_open_peer(&peer, rig);
    route_race(rig, &peer, 10, 4);
    rig_close(&peer);
}

/* Assigned by its worker, given back and cancelled at once: what comes first decides, and a
 * cancellation of what was assigned or given back still happens. */
static void one_thing_becomes_of_a_routed_job(struct rig *rig)
{
    for (int round = 0; round < ROUNDS; round++) {
        submit_one(rig, NULL);
        struct pawl_job routed = route_n(rig, "default", 1).at[0];
        struct racer racers[RACERS] = { 0 };
        for (size_t i = 0; i < RACERS; i++) {
            racers[i].op = (struct pawl__op){ .kind = i % 2 ? PAWL__OP_ASSIGN : PAWL__OP_UNROUTE,
                                              .assign = { .id = routed.id,
                                                          .worker = WORKER,
                                                          .token = routed.lease_until_ms,
                                                          .lease_ms = LEASE_MS } };
        }
        if (round % 2) {
            racers[0].op =
                (struct pawl__op){ .kind = PAWL__OP_CONTROL,
                                   .control = { .id = routed.id, .control = PAWL_CONTROL_CANCEL } };
        }
        run_race(rig, racers, RACERS);
        size_t won = count_err(racers, RACERS, PAWL_OK, PAWL_ERR_STALE);
        assert_int_equal(won, 1 + (round % 2 && won == 2));
        struct pawl_job job = job_get(rig, routed.id);
        if (round % 2) assert_state(CANCELLED, job.state);
        assert_true(job.run <= 1);
        if (!(round % 2)) assert_ok(rig, control(rig, routed.id, PAWL_CONTROL_CANCEL));
    }
}

/* ---- ends ---- */

/* `make` fills in one racer's operation for job `run`; exactly one of them wins. */
static void finish_race(struct rig *rig, struct rig *peer,
                        struct pawl__op (*make)(const struct pawl_job *run, size_t i),
                        enum pawl_err loser)
{
    for (int round = 0; round < ROUNDS; round++) {
        submit_one(rig, NULL);
        struct pawl_job run = claim_one(rig, "default");
        struct racer racers[RACERS] = { 0 };
        for (size_t i = 0; i < RACERS; i++) {
            racers[i].op = make(&run, i);
            if (peer != NULL && i % 2 == 1) racers[i].store = peer->store;
        }
        run_race(rig, racers, RACERS);
        assert_int_equal(1, count_err(racers, RACERS, PAWL_OK, loser));
        assert_true(pawl_state_is_terminal(state_of(rig, run.id)));
    }
}

static struct pawl__op make_complete(const struct pawl_job *run, size_t i)
{
    (void)i;
    return (struct pawl__op){ .kind = PAWL__OP_COMPLETE, .complete = { .ref = ref_of(run) } };
}

static struct pawl__op make_cancel(const struct pawl_job *run, size_t i)
{
    (void)i;
    return (struct pawl__op){ .kind = PAWL__OP_CONTROL,
                              .control = { .id = run->id, .control = PAWL_CONTROL_CANCEL } };
}

static struct pawl__op make_own_ending(const struct pawl_job *run, size_t i)
{
    if (i % 3 == 0) return make_complete(run, i);
    return (struct pawl__op){ .kind = PAWL__OP_CONTROL,
                              .control = { .id = run->id,
                                           .control = i % 3 == 1 ? PAWL_CONTROL_CANCEL
                                                                 : PAWL_CONTROL_DISCARD,
                                           .run = run->run } };
}

static void one_completion_wins(struct rig *rig)
{
    finish_race(rig, NULL, make_complete, PAWL_ERR_STALE);
}

static void one_cancel_wins(struct rig *rig)
{
    finish_race(rig, NULL, make_cancel, PAWL_ERR_STATE);
}

static void one_of_all_endings_wins(struct rig *rig)
{
    finish_race(rig, NULL, make_own_ending, PAWL_ERR_STALE);
}

static void one_ending_wins_across_two_stores(struct rig *rig)
{
    struct rig peer;
    rig_open_peer(&peer, rig);
    finish_race(rig, &peer, make_complete, PAWL_ERR_STALE);
    finish_race(rig, &peer, make_cancel, PAWL_ERR_STATE);
    finish_race(rig, &peer, make_own_ending, PAWL_ERR_STALE);
    rig_close(&peer);
}

/* Operator against owner: one terminal state, and each side knows whether it was its own. */
static void cancel_and_completion_agree(struct rig *rig)
{
    for (int round = 0; round < ROUNDS; round++) {
        submit_one(rig, NULL);
        struct pawl_job run = claim_one(rig, "default");
        struct racer racers[2] = { 0 };
        racers[0].op = make_complete(&run, 0);
        racers[1].op = make_cancel(&run, 1);
        run_race(rig, racers, 2);
        enum pawl_state state = state_of(rig, run.id);
        if (racers[0].err == PAWL_OK) {
            assert_int_equal(PAWL_ERR_STATE, racers[1].err);
            assert_state(COMPLETED, state);
        } else {
            assert_int_equal(PAWL_ERR_STALE, racers[0].err);
            assert_int_equal(PAWL_OK, racers[1].err);
            assert_state(CANCELLED, state);
        }
    }
}

/* Pausing and cancelling, retrying and cancelling: the end follows from who was first. */
static void controls_race_to_a_consistent_end(struct rig *rig)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct pawl_job_spec spec = { .business_key = rig_text(rig, "key-%d", round) };
        struct pawl_job_id id = submit_one(rig, &spec);
        struct racer racers[3] = { 0 };
        static const enum pawl_control controls[] = { PAWL_CONTROL_PAUSE, PAWL_CONTROL_CANCEL,
                                                      PAWL_CONTROL_RETRY };
        for (size_t i = 0; i < 3; i++)
            racers[i].op = (struct pawl__op){ .kind = PAWL__OP_CONTROL,
                                              .control = { .id = id, .control = controls[i] } };
        run_race(rig, racers, 3);
        count_err(racers, 3, PAWL_OK, PAWL_ERR_STATE);
        assert_int_equal(PAWL_OK, racers[1].err); // a live job can always be cancelled
        enum pawl_state state = state_of(rig, id);
        bool retried = racers[2].err == PAWL_OK;
        assert_true(retried || state == PAWL_STATE_CANCELLED);
        bool free_key = submit_spec(rig, &spec, NULL) == PAWL_OK;
        assert_int_equal(pawl_state_is_terminal(state), free_key);
    }
}

/* Six threads submit the same thing. */
static void submit_race(struct rig *rig, struct rig *peer, const struct pawl_job_spec *spec,
                        enum pawl_err loser)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct pawl_job_spec one = *spec;
        struct pawl_job_id id = rig_id(rig);
        if (spec->id != NULL) one.id = &id;
        struct pawl__new_job jobs[RACERS];
        struct pawl_submitted out[RACERS] = { 0 };
        struct racer racers[RACERS] = { 0 };
        for (size_t i = 0; i < RACERS; i++) {
            jobs[i] = job_new(rig, &one);
            racers[i].op =
                (struct pawl__op){ .kind = PAWL__OP_SUBMIT,
                                   .submit = { .jobs = &jobs[i], .count = 1, .out = &out[i] } };
            if (peer != NULL && i % 2 == 1) racers[i].store = peer->store;
        }
        run_race(rig, racers, RACERS);
        size_t won = count_err(racers, RACERS, PAWL_OK, loser);
        size_t stored = 0;
        for (size_t i = 0; i < RACERS; i++)
            stored += racers[i].err == PAWL_OK && !out[i].deduplicated;
        assert_int_equal(1, stored);
        if (loser == PAWL_OK) {
            for (size_t i = 0; i < RACERS; i++)
                assert_id(out[0].id, out[i].id); // all are told of the same job
        } else {
            assert_int_equal(1, won);
        }
        assert_i64(1, count_state(rig, PAWL_STATE_AVAILABLE));
        assert_ok(rig, bulk(rig, &(struct pawl_filter){ 0 }, PAWL_CONTROL_CANCEL, 100, NULL));
        rig_advance(rig, 10);
    }
}

static void one_submit_of_an_id_wins(struct rig *rig)
{
    struct pawl_job_id any = { { 0 } };
    submit_race(rig, NULL, &(struct pawl_job_spec){ .id = &any }, PAWL_ERR_EXISTS);
}

static void one_submit_of_a_business_key_wins(struct rig *rig)
{
    submit_race(rig, NULL, &(struct pawl_job_spec){ .business_key = "b" }, PAWL_ERR_DUPLICATE);
}

static void one_submit_of_an_idempotency_key_stores(struct rig *rig)
{
    struct pawl_job_spec spec = { .idempotency_key = "k", .idempotency_ms = 10 };
    submit_race(rig, NULL, &spec, PAWL_OK);
}

static void one_submit_wins_across_two_stores(struct rig *rig)
{
    struct rig peer;
    rig_open_peer(&peer, rig);
    struct pawl_job_id any = { { 0 } };
    submit_race(rig, &peer, &(struct pawl_job_spec){ .id = &any }, PAWL_ERR_EXISTS);
    submit_race(rig, &peer, &(struct pawl_job_spec){ .business_key = "b" }, PAWL_ERR_DUPLICATE);
    struct pawl_job_spec spec = { .idempotency_key = "k", .idempotency_ms = 10 };
    submit_race(rig, &peer, &spec, PAWL_OK);
    rig_close(&peer);
}

/* Rounds in which each racer brings a name's row: as many as `err` says get it. */
static void name_race(struct rig *rig, struct rig *peer,
                      struct pawl__op (*op)(const char *name, struct rig *rig, size_t racer),
                      enum pawl_err err)
{
    for (int round = 0; round < ROUNDS; round++) {
        const char *name = rig_queue(rig);
        struct racer racers[RACERS] = { 0 };
        for (size_t i = 0; i < RACERS; i++) {
            racers[i].op = op(name, rig, i);
            if (peer != NULL && i % 2 == 1) racers[i].store = peer->store;
        }
        run_race(rig, racers, RACERS);
        size_t won = count_err(racers, RACERS, PAWL_OK, err);
        assert_int_equal(err ? 1 : RACERS, won);
    }
}

static struct pawl__op add_schema(const char *name, struct rig *rig, size_t racer)
{
    struct pawl_args_schema *schema = pawl__arena_calloc(&rig->arena, 1, sizeof *schema);
    assert_non_null(schema);
    schema->type = name;
    schema->version = "1";
    schema->schema = span_of(rig_text(rig, "%zu", racer));
    return (struct pawl__op){ .kind = PAWL__OP_SCHEMA_ADD, .schema = schema };
}

static struct pawl__op note_request(const char *name, struct rig *rig, size_t racer)
{
    return (struct pawl__op){ .kind = PAWL__OP_REQUEST_NOTE,
                              .request = { name, rig_text(rig, "request %zu", racer), LEASE_MS } };
}

static struct pawl__op put_config(const char *name, struct rig *rig, size_t racer)
{
    struct pawl_queue_config *config = pawl__arena_calloc(&rig->arena, 1, sizeof *config);
    assert_non_null(config);
    *config = (struct pawl_queue_config){ name, span_of(rig_text(rig, "%zu", racer)) };
    return (struct pawl__op){ .kind = PAWL__OP_CONFIG_PUT, .config = config };
}

static void one_schema_of_a_name_is_added(struct rig *rig)
{
    name_race(rig, NULL, add_schema, PAWL_ERR_EXISTS);
}

static void one_request_gets_a_key(struct rig *rig)
{
    name_race(rig, NULL, note_request, PAWL_ERR_DUPLICATE);
}

static void one_gets_a_name_across_two_stores(struct rig *rig)
{
    struct rig peer;
    rig_open_peer(&peer, rig);
    name_race(rig, &peer, add_schema, PAWL_ERR_EXISTS);
    name_race(rig, &peer, note_request, PAWL_ERR_DUPLICATE);
    rig_close(&peer);
}

/* Nobody is refused, and one row is left. */
static void configurations_replace_each_other(struct rig *rig)
{
    name_race(rig, NULL, put_config, PAWL_OK);
    struct pawl_queue_configs found = { 0 };
    assert_ok(rig, pawl__store_configs(rig->store, NULL, &rig->arena, &found, &rig->diag));
    assert_int_equal(ROUNDS, found.count);
}

static void one_taker_of_a_lock_wins(struct rig *rig)
{
    int64_t last = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct racer racers[RACERS] = { 0 };
        for (size_t i = 0; i < RACERS; i++)
            racers[i].op = (struct pawl__op){
                .kind = PAWL__OP_LOCK_TRY,
                .lock = { .name = "leader", .owner = rig_text(rig, "node-%zu", i), .ttl_ms = 1000 }
            };
        run_race(rig, racers, RACERS);
        assert_int_equal(1, count_err(racers, RACERS, PAWL_OK, PAWL_ERR_HELD));
        for (size_t i = 0; i < RACERS; i++) {
            if (racers[i].err != PAWL_OK) continue;
            assert_true(racers[i].op.lock.fence > last);
            last = racers[i].op.lock.fence;
        }
        rig_advance(rig, 1000);
    }
}

static struct pawl__op look_at_deadlines(void)
{
    return (struct pawl__op){ .kind = PAWL__OP_DEADLINE,
                              .sweep = { .limit = PAWL__MAINTENANCE_MAX } };
}

static void deadline_race(struct rig *rig, struct rig *peer)
{
    enum { JOBS = 20 };
    for (int round = 0; round < ROUNDS; round++) {
        struct pawl_job_spec spec = { .sla_soft_at_ms = rig_now(rig) + 5,
                                      .sla_hard_at_ms = rig_now(rig) + 8 };
        submit_n(rig, JOBS, &spec);
        rig_advance(rig, round % 2 ? 10 : 7);
        struct racer racers[RACERS] = { 0 };
        for (size_t i = 0; i < RACERS; i++) {
            racers[i].op = look_at_deadlines();
            if (peer != NULL && i % 2 == 1) racers[i].store = peer->store;
        }
        run_race(rig, racers, RACERS);
        assert_int_equal(RACERS, count_err(racers, RACERS, PAWL_OK, PAWL_OK));
        rig_advance(rig, 10);
        int64_t missed = deadlines(rig).moved;
        for (size_t i = 0; i < RACERS; i++)
            missed += racers[i].op.sweep.moved;
        assert_i64(2 * JOBS, missed);
    }
}

static void one_sweeper_reports_a_missed_deadline(struct rig *rig)
{
    deadline_race(rig, NULL);
}

static void one_of_two_stores_reports_a_missed_deadline(struct rig *rig)
{
    struct rig peer;
    rig_open_peer(&peer, rig);
    deadline_race(rig, &peer);
    rig_close(&peer);
}

static void one_sweeper_takes_a_lease_back(struct rig *rig)
{
    for (int round = 0; round < ROUNDS; round++) {
        const char *queue = rig_queue(rig);
        submit_one(rig, &(struct pawl_job_spec){ .queue = queue });
        struct pawl_job run = claim_one(rig, queue);
        rig_advance(rig, LEASE_MS + 1);
        struct racer racers[RACERS] = { 0 };
        for (size_t i = 0; i < RACERS; i++)
            racers[i].op =
                i == 0 ? make_complete(&run, i)
                       : (struct pawl__op){ .kind = PAWL__OP_LAPSE, .sweep = { .limit = 10 } };
        run_race(rig, racers, RACERS);
        int64_t moved = 0;
        for (size_t i = 1; i < RACERS; i++) {
            assert_int_equal(PAWL_OK, racers[i].err);
            moved += racers[i].op.sweep.moved;
        }
        bool completed = racers[0].err == PAWL_OK;
        assert_i64(completed ? 0 : 1, moved);
        assert_int_equal(completed ? PAWL_STATE_COMPLETED : PAWL_STATE_AVAILABLE,
                         state_of(rig, run.id));
    }
}

/* Readers never see a job in no place, or in two, while writers move it about. */
struct watcher {
    pthread_t thread;
    struct pawl__store *store;
    _Atomic bool stop;
    int64_t rounds, wrong;
    enum pawl_err err;
};

static void *watch(void *ctx)
{
    struct watcher *w = ctx;
    while (!atomic_load(&w->stop) && w->err == PAWL_OK) {
        struct pawl__arena arena = { 0 };
        struct pawl_jobs jobs = { 0 };
        struct pawl_page page = { .limit = PAWL_PAGE_MAX, .count = true };
        struct pawl_filter all = { .archived = true };
        w->err = pawl__store_query(w->store, &all, &page, &arena, &jobs, NULL);
        if (w->err == PAWL_OK && (jobs.count != 20 || jobs.total != 20)) w->wrong++;
        struct pawl_stats stats = { 0 };
        if (w->err == PAWL_OK) w->err = pawl__store_stats(w->store, &arena, &stats, NULL);
        int64_t sum = stats.archived;
        for (int state = 1; state < PAWL_STATE_END; state++)
            sum += stats.count[state];
        if (w->err == PAWL_OK && sum != 20) w->wrong++;
        w->rounds++;
        pawl__arena_release(&arena);
    }
    return NULL;
}

static void readers_see_whole_transactions(struct rig *rig)
{
    struct pawl_job_id *ids = submit_n(rig, 20, NULL);
    struct watcher w = { .store = rig->store };
    assert_int_equal(0, pthread_create(&w.thread, NULL, watch, &w));
    struct pawl_filter all = { 0 };
    for (int round = 0; round < 60; round++) {
        claim_n(rig, "default", 7);
        bulk(rig, &all, PAWL_CONTROL_CANCEL, 20, NULL);
        rig_advance(rig, 1);
        archive_all(rig);
        for (size_t i = 0; i < 20; i++)
            control(rig, ids[i], PAWL_CONTROL_RETRY);
    }
    atomic_store(&w.stop, true);
    assert_int_equal(0, pthread_join(w.thread, NULL));
    assert_int_equal(PAWL_OK, w.err);
    assert_true(w.rounds > 0);
    assert_i64(0, w.wrong);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(one_job_goes_to_one_claimer),
        CONTRACT(ten_jobs_are_shared_out_without_loss),
        CONTRACT_SHARED(one_job_goes_to_one_of_two_stores),
        CONTRACT(routers_share_jobs_with_claimers),
        CONTRACT_SHARED(routers_of_two_stores_share_jobs),
        CONTRACT(one_thing_becomes_of_a_routed_job),
        CONTRACT(one_completion_wins),
        CONTRACT(one_cancel_wins),
        CONTRACT(one_of_all_endings_wins),
        CONTRACT_SHARED(one_ending_wins_across_two_stores),
        CONTRACT(cancel_and_completion_agree),
        CONTRACT(controls_race_to_a_consistent_end),
        CONTRACT(one_submit_of_an_id_wins),
        CONTRACT(one_submit_of_a_business_key_wins),
        CONTRACT(one_submit_of_an_idempotency_key_stores),
        CONTRACT_SHARED(one_submit_wins_across_two_stores),
        CONTRACT(one_schema_of_a_name_is_added),
        CONTRACT(one_request_gets_a_key),
        CONTRACT_SHARED(one_gets_a_name_across_two_stores),
        CONTRACT(configurations_replace_each_other),
        CONTRACT(one_taker_of_a_lock_wins),
        CONTRACT(one_sweeper_takes_a_lease_back),
        CONTRACT(one_sweeper_reports_a_missed_deadline),
        CONTRACT_SHARED(one_of_two_stores_reports_a_missed_deadline),
        CONTRACT(readers_see_whole_transactions),
    };
    return contract_run("races", tests, COUNT(tests));
}
