/* The public API on every store. If a test needs a worker, the rig claims and finishes jobs on the
 * same store. */
#include "support/ops.h"

#include <pthread.h>

static struct pawl *open_api(struct rig *rig)
{
    struct pawl_config config = { .store = rig->url, .clock = &rig->clock->clock, .seed = 7 };
    struct pawl *pawl = NULL;
    assert_ok(rig, pawl_open(&config, &pawl, &rig->diag));
    return pawl;
}

static struct pawl_job_id submit_api(struct rig *rig, struct pawl *pawl,
                                     const struct pawl_job_spec *spec)
{
    struct pawl_submitted out = { 0 };
    assert_ok(rig, pawl_submit(pawl, spec, &out, &rig->diag));
    return out.id;
}

static int64_t count_api(struct rig *rig, struct pawl *pawl, const struct pawl_filter *filter)
{
    int64_t count = -1;
    assert_ok(rig, pawl_count(pawl, filter, &count, &rig->diag));
    return count;
}

static const struct pawl_job_spec plain = { .type = "work" };

static void fresh_ids_are_unique_and_sort_by_time(struct rig *rig)
{
    struct pawl *pawl = open_api(rig);
    struct pawl_job_id last = { { 0 } };
    for (int i = 0; i < 50; i++) {
        struct pawl_job_id id = submit_api(rig, pawl, &plain);
        assert_true(memcmp(last.b, id.b, sizeof id.b) < 0);
        assert_int_equal(7, id.b[6] >> 4);
        last = id;
        if (i % 10 == 0) rig_advance(rig, 1);
    }
    pawl_close(pawl);
}

static void many_are_all_or_nothing_and_name_the_culprit(struct rig *rig)
{
    struct pawl *pawl = open_api(rig);
    struct pawl_job_id taken = submit_api(rig, pawl, &plain);
    struct pawl_job_spec specs[5];
    struct pawl_submitted out[5];
    for (size_t i = 0; i < COUNT(specs); i++)
        specs[i] = plain;
    specs[3].id = &taken;
    assert_err(rig, PAWL_ERR_EXISTS, pawl_submit_many(pawl, specs, 5, out, &rig->diag));
    assert_within("[3]", rig->diag.field);
    specs[3] = plain;
    struct pawl_job_id other = { { 1 } }, same = { { 2 } };
    specs[0].id = &same;
    specs[1].id = &other;
    specs[2].id = specs[4].id = &same;
    assert_err(rig, PAWL_ERR_EXISTS, pawl_submit_many(pawl, specs, 5, out, &rig->diag));
    assert_text("[2].id", rig->diag.field);
    assert_text("[2]: job [0] of the same batch has the same id", rig->diag.text);
    specs[0] = specs[1] = specs[2] = specs[4] = plain;
    specs[2].type = "";
    assert_err(rig, PAWL_ERR_ARG, pawl_submit_many(pawl, specs, 5, out, &rig->diag));
    assert_within("[2]", rig->diag.field);
    specs[2] = plain;
    specs[1].business_key = specs[4].business_key = "same";
    assert_err(rig, PAWL_ERR_DUPLICATE, pawl_submit_many(pawl, specs, 5, out, &rig->diag));
    assert_within("[4]", rig->diag.field);
    assert_i64(1, count_api(rig, pawl, &(struct pawl_filter){ 0 }));
    specs[4] = plain;
    assert_ok(rig, pawl_submit_many(pawl, specs, 5, out, &rig->diag));
    assert_i64(6, count_api(rig, pawl, &(struct pawl_filter){ 0 }));
    pawl_close(pawl);
}

static void batches_have_bounds(struct rig *rig)
{
    struct pawl *pawl = open_api(rig);
    static struct pawl_job_spec specs[PAWL_BATCH_MAX + 1];
    static struct pawl_submitted out[PAWL_BATCH_MAX + 1];
    for (size_t i = 0; i < COUNT(specs); i++)
        specs[i] = plain;
    assert_int_not_equal(PAWL_OK, pawl_submit_many(pawl, specs, 0, out, &rig->diag));
    assert_int_not_equal(PAWL_OK,
                         pawl_submit_many(pawl, specs, PAWL_BATCH_MAX + 1, out, &rig->diag));
    assert_i64(0, count_api(rig, pawl, &(struct pawl_filter){ 0 }));
    assert_ok(rig, pawl_submit_many(pawl, specs, PAWL_BATCH_MAX, out, &rig->diag));
    assert_i64(PAWL_BATCH_MAX, count_api(rig, pawl, &(struct pawl_filter){ 0 }));
    pawl_close(pawl);
}

static void bulk_limits_have_bounds(struct rig *rig)
{
    struct pawl *pawl = open_api(rig);
    submit_api(rig, pawl, &plain);
    static const int64_t bad[] = { 0, -1, PAWL_BULK_MAX + 1, INT64_MAX, INT64_MIN };
    struct pawl_filter all = { 0 };
    int64_t moved = -1;
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_err(
            rig, PAWL_ERR_ARG,
            pawl_control_many(pawl, &all, PAWL_CONTROL_CANCEL, bad[i], NULL, &moved, &rig->diag));
        assert_err(rig, PAWL_ERR_ARG,
                   pawl_delete_many(pawl, &all, bad[i], NULL, &moved, &rig->diag));
    }
    assert_i64(1,
               count_api(rig, pawl,
                         &(struct pawl_filter){ .states = PAWL_STATE_BIT(PAWL_STATE_AVAILABLE) }));
    assert_ok(rig, pawl_control_many(pawl, &all, PAWL_CONTROL_CANCEL, 1, NULL, &moved, &rig->diag));
    assert_i64(1, moved);
    assert_ok(rig, pawl_control_many(pawl, &all, PAWL_CONTROL_RETRY, PAWL_BULK_MAX, NULL, &moved,
                                     &rig->diag));
    assert_i64(1, moved);
    pawl_close(pawl);
}

static void control_answers_with_the_state(struct rig *rig)
{
    struct pawl *pawl = open_api(rig);
    struct pawl_job_id id = submit_api(rig, pawl, &plain), unknown = rig_id(rig);
    enum pawl_state to = PAWL_STATE_NONE;
    assert_ok(rig, pawl_control(pawl, id, PAWL_CONTROL_PAUSE, NULL, &to, &rig->diag));
    assert_state(PAUSED, to);
    assert_ok(rig, pawl_control(pawl, id, PAWL_CONTROL_PAUSE, NULL, &to, &rig->diag));
    assert_state(PAUSED, to);
    assert_err(rig, PAWL_ERR_STATE,
               pawl_control(pawl, id, PAWL_CONTROL_RETRY, NULL, &to, &rig->diag));
    assert_state(PAUSED, to);
    assert_within("paused", rig->diag.text);
    assert_ok(rig, pawl_control(pawl, id, PAWL_CONTROL_RESUME, NULL, NULL, NULL));
    assert_ok(rig, pawl_control(pawl, id, PAWL_CONTROL_CANCEL, NULL, &to, &rig->diag));
    assert_state(CANCELLED, to);
    assert_err(rig, PAWL_ERR_STATE,
               pawl_control(pawl, id, PAWL_CONTROL_CANCEL, NULL, &to, &rig->diag));
    assert_state(CANCELLED, to);
    assert_err(rig, PAWL_ERR_NOT_FOUND,
               pawl_control(pawl, unknown, PAWL_CONTROL_CANCEL, NULL, &to, &rig->diag));
    pawl_close(pawl);
}

static void locks_refuse_times_that_are_none(struct rig *rig)
{
    struct pawl *pawl = open_api(rig);
    int64_t fence = 0;
    assert_err(rig, PAWL_ERR_ARG, pawl_lock_try(pawl, "l", "o", 0, &fence, &rig->diag));
    assert_err(rig, PAWL_ERR_ARG, pawl_lock_try(pawl, "l", "o", -5, &fence, &rig->diag));
    assert_err(rig, PAWL_ERR_ARG, pawl_lock_try(pawl, NULL, "o", 5, &fence, &rig->diag));
    assert_err(rig, PAWL_ERR_ARG, pawl_lock_try(pawl, "l", NULL, 5, &fence, &rig->diag));
    assert_ok(rig, pawl_lock_try(pawl, "l", "o", 5, &fence, &rig->diag));
    assert_err(rig, PAWL_ERR_ARG, pawl_lock_renew(pawl, "l", "o", 0, &rig->diag));
    assert_err(rig, PAWL_ERR_HELD, pawl_lock_try(pawl, "l", "p", 5, &fence, &rig->diag));
    assert_ok(rig, pawl_lock_release(pawl, "l", "o", &rig->diag));
    pawl_close(pawl);
}

static void specs_that_make_no_sense_are_refused(struct rig *rig)
{
    struct pawl *pawl = open_api(rig);
    int64_t now = rig_now(rig);
    const struct pawl_job_spec bad[] = {
        { .type = NULL },
        { .type = "a", .queue = "" },
        { .type = "a", .priority = PAWL_PRIORITY_MAX + 1 },
        { .type = "a", .delay_ms = 5, .due_at_ms = now },
        { .type = "a", .delay_ms = -1 },
        { .type = "a", .expires_in_ms = 5, .expires_at_ms = now + 5 },
        { .type = "a", .sla_soft_at_ms = now + 2, .sla_hard_at_ms = now + 1 },
        { .type = "a", .args = { "{}", 2 } },
        { .type = "a", .args = { "[", 1 } },
        { .type = "a", .meta = { "[]", 2 } },
        { .type = "a", .unique = { .keys = PAWL_UNIQUE_META } },
        { .type = "a", .retry = { .attempts_max = -1 } },
    };
    struct pawl_submitted out;
    for (size_t i = 0; i < COUNT(bad); i++) {
        enum pawl_err err = pawl_submit(pawl, &bad[i], &out, &rig->diag);
        if (err != PAWL_ERR_ARG) fail_msg("spec %zu: %s", i, pawl_err_name(err));
        assert_true(rig->diag.field[0] != '\0');
    }
    assert_i64(0, count_api(rig, pawl, &(struct pawl_filter){ .archived = true }));
    struct pawl_job_spec soft = { .type = "a", .sla_soft_at_ms = now + 1 };
    struct pawl_job_spec hard = { .type = "a", .sla_hard_at_ms = now + 1 };
    submit_api(rig, pawl, &soft);
    submit_api(rig, pawl, &hard);
    pawl_close(pawl);
}

static void pages_have_a_usual_size(struct rig *rig)
{
    struct pawl *pawl = open_api(rig);
    for (int i = 0; i < 60; i++)
        submit_api(rig, pawl, &plain);
    struct pawl_jobs jobs = { 0 };
    assert_ok(rig, pawl_query(pawl, &(struct pawl_filter){ 0 }, NULL, &jobs, &rig->diag));
    assert_int_equal(50, jobs.count);
    assert_i64(-1, jobs.total);
    struct pawl_page next = { .cursor = jobs.next, .count = true };
    struct pawl_jobs rest = { 0 };
    assert_ok(rig, pawl_query(pawl, &(struct pawl_filter){ 0 }, &next, &rest, &rig->diag));
    assert_int_equal(10, rest.count);
    assert_i64(60, rest.total);
    assert_text("", rest.next);
    pawl_jobs_release(&jobs);
    pawl_jobs_release(&rest);
    pawl_jobs_release(&rest);
    struct pawl_page too_long = { .limit = PAWL_PAGE_MAX + 1 };
    assert_err(rig, PAWL_ERR_ARG,
               pawl_query(pawl, &(struct pawl_filter){ 0 }, &too_long, &jobs, &rig->diag));
    pawl_close(pawl);
}

/* The fingerprint is of the values, not of their spelling. */
static void unique_compares_values(struct rig *rig)
{
    struct pawl *pawl = open_api(rig);
    struct pawl_job_spec spec = { .type = "a",
                                  .args = span_of("[{\"x\":1,\"y\":[true,null]}]"),
                                  .unique = { .keys = PAWL_UNIQUE_TYPE | PAWL_UNIQUE_ARGS,
                                              .on_conflict = PAWL_CONFLICT_IGNORE } };
    struct pawl_job_id id = submit_api(rig, pawl, &spec);
    spec.args = span_of(" [ { \"y\" : [ true , null ] , \"x\" : 1.0 } ] ");
    struct pawl_submitted out = { 0 };
    assert_ok(rig, pawl_submit(pawl, &spec, &out, &rig->diag));
    assert_true(out.deduplicated);
    assert_id(id, out.id);
    spec.args = span_of("[{\"x\":2,\"y\":[true,null]}]");
    assert_ok(rig, pawl_submit(pawl, &spec, &out, &rig->diag));
    assert_false(out.deduplicated);
    pawl_close(pawl);
}

struct submitter {
    pthread_t thread;
    pthread_barrier_t *barrier;
    struct pawl *pawl;
    struct pawl_submitted out;
    enum pawl_err err;
};

static void *submit_keyed(void *ctx)
{
    struct submitter *s = ctx;
    struct pawl_job_spec spec = { .type = "a", .idempotency_key = "once" };
    pthread_barrier_wait(s->barrier);
    s->err = pawl_submit(s->pawl, &spec, &s->out, NULL);
    return NULL;
}

static void repeats_at_once_all_get_the_one_job(struct rig *rig)
{
    struct pawl *pawl = open_api(rig);
    struct submitter all[8] = { 0 };
    pthread_barrier_t barrier;
    assert_int_equal(0, pthread_barrier_init(&barrier, NULL, COUNT(all)));
    for (size_t i = 0; i < COUNT(all); i++) {
        all[i].barrier = &barrier;
        all[i].pawl = pawl;
        assert_int_equal(0, pthread_create(&all[i].thread, NULL, submit_keyed, &all[i]));
    }
    size_t fresh = 0;
    for (size_t i = 0; i < COUNT(all); i++)
        assert_int_equal(0, pthread_join(all[i].thread, NULL));
    for (size_t i = 0; i < COUNT(all); i++) {
        assert_int_equal(PAWL_OK, all[i].err);
        assert_id(all[0].out.id, all[i].out.id);
        fresh += !all[i].out.deduplicated;
    }
    assert_int_equal(1, fresh);
    pthread_barrier_destroy(&barrier);
    pawl_close(pawl);
}

static void upkeep_does_what_time_asks_for(struct rig *rig)
{
    struct pawl *pawl = open_api(rig);
    submit_api(rig, pawl, &(struct pawl_job_spec){ .type = "a", .delay_ms = 100 });
    submit_api(rig, pawl, &(struct pawl_job_spec){ .type = "a", .expires_in_ms = 100 });
    struct pawl_job_id ended = submit_api(rig, pawl, &plain);
    assert_ok(rig, pawl_control(pawl, ended, PAWL_CONTROL_CANCEL, NULL, NULL, &rig->diag));
    struct pawl_retention short_lived = { .archive_after_ms = 50, .purge_after_ms = 500 };
    struct pawl_upkeep done = { 0 };
    rig_advance(rig, 100);
    assert_ok(rig, pawl_upkeep_turn(pawl, &short_lived, &done, &rig->diag));
    assert_i64(1, done.promoted);
    assert_i64(1, done.expired);
    assert_i64(1, done.archived);
    assert_i64(0, done.purged + done.lapsed);
    rig_advance(rig, 500);
    assert_ok(rig, pawl_upkeep_turn(pawl, &short_lived, &done, &rig->diag));
    assert_i64(1, done.purged);
    pawl_close(pawl);
}

static void upkeep_takes_back_lapsed_leases(struct rig *rig)
{
    struct pawl *pawl = open_api(rig);
    struct pawl_job_id id = submit_api(rig, pawl, &plain);
    struct pawl_job run = claim_one(rig, "default");
    rig_advance(rig, LEASE_MS + 1);
    struct pawl_upkeep done = { 0 };
    assert_ok(rig, pawl_upkeep_turn(pawl, NULL, &done, &rig->diag));
    assert_i64(1, done.lapsed);
    assert_err(rig, PAWL_ERR_STALE, complete(rig, ref_of(&run), NULL));
    struct pawl_jobs jobs = { 0 };
    assert_ok(rig, pawl_get(pawl, id, &jobs, &rig->diag));
    assert_state(AVAILABLE, jobs.at[0].state);
    pawl_jobs_release(&jobs);
    pawl_close(pawl);
}

/* The newest job as the API shows it; the caller releases `jobs`. */
static const struct pawl_job *get_api(struct rig *rig, struct pawl *pawl, struct pawl_job_id id,
                                      struct pawl_jobs *jobs)
{
    assert_ok(rig, pawl_get(pawl, id, jobs, &rig->diag));
    return &jobs->at[0];
}

static void assert_same_spec(const struct pawl_job *old, const struct pawl_job *new)
{
    assert_text(old->type, new->type);
    assert_text(old->queue, new->queue);
    assert_span(old->args, new->args);
    assert_span(old->meta, new->meta);
    assert_span(old->extra, new->extra);
    assert_span(old->tags, new->tags);
    assert_span(old->retry, new->retry);
    assert_span(old->unique, new->unique);
    assert_text(old->business_key, new->business_key);
    assert_text(old->principal, new->principal);
    assert_text(old->trace_id, new->trace_id);
    assert_int_equal(old->priority, new->priority);
    assert_int_equal(old->attempts_max, new->attempts_max);
    assert_i64(old->timeout_ms, new->timeout_ms);
    assert_i64(old->lease_ms, new->lease_ms);
    assert_i64(old->keep_ms, new->keep_ms);
}

static const struct pawl_queue_stats *find_queue(struct rig *rig, struct pawl *pawl,
                                                 const char *name, struct pawl_stats *stats)
{
    pawl_stats_release(stats);
    assert_ok(rig, pawl_stats_get(pawl, stats, &rig->diag));
    for (size_t i = 0; i < stats->queue_count; i++) {
        if (strcmp(stats->queues[i].queue, name) == 0) return &stats->queues[i];
    }
    return NULL;
}

static void an_empty_queue_can_be_deleted(struct rig *rig)
{
    struct pawl *pawl = open_api(rig);
    struct pawl_stats stats = { 0 };
    struct pawl_retention all = { .archive_after_ms = 1 };
    assert_err(rig, PAWL_ERR_NOT_FOUND, pawl_queue_delete(pawl, "old", NULL, &rig->diag));
    struct pawl_job_id id =
        submit_api(rig, pawl, &(struct pawl_job_spec){ .type = "t", .queue = "old" });
    assert_err(rig, PAWL_ERR_STATE, pawl_queue_delete(pawl, "old", NULL, &rig->diag));
    assert_within("it has 1 job", rig->diag.text);
    assert_ok(rig, pawl_control(pawl, id, PAWL_CONTROL_SKIP, NULL, NULL, &rig->diag));
    assert_err(rig, PAWL_ERR_STATE, pawl_queue_delete(pawl, "old", NULL, &rig->diag));
    struct pawl_upkeep done = { 0 };
    rig_advance(rig, 5000);
    assert_ok(rig, pawl_upkeep_turn(pawl, &all, &done, &rig->diag));
    assert_i64(1, done.archived);
    assert_ok(rig, pawl_queue_pause(pawl, "old", true, NULL, &rig->diag));
    assert_non_null(find_queue(rig, pawl, "old", &stats));
    int64_t archived = stats.archived;
    assert_ok(rig, pawl_queue_delete(pawl, "old", NULL, &rig->diag));
    assert_null(find_queue(rig, pawl, "old", &stats));
    assert_i64(archived, stats.archived);
    assert_err(rig, PAWL_ERR_NOT_FOUND, pawl_queue_delete(pawl, "old", NULL, &rig->diag));
    id = submit_api(rig, pawl, &(struct pawl_job_spec){ .type = "t", .queue = "old" });
    const struct pawl_queue_stats *back = find_queue(rig, pawl, "old", &stats);
    assert_non_null(back);
    assert_false(back->paused);
    assert_i64(1, back->count[PAWL_STATE_AVAILABLE]);
    pawl_stats_release(&stats);
    pawl_close(pawl);
}

/* Live, and out of the archive. */
static void rerun_submits_the_same_once_more(struct rig *rig)
{
    static const char *const tags[] = { "red", "b c" };
    struct pawl *pawl = open_api(rig);
    int64_t start_ms = rig_now(rig);
    struct pawl_job_spec spec = { .type = "mail.send",
                                  .queue = "mail",
                                  .args = span_of("[ 1.50, null ]"),
                                  .meta = span_of("{\"tenant\":\"acme\"}"),
                                  .extra = span_of("{\"schema\":\"urn:x\"}"),
                                  .tags = tags,
                                  .tag_count = COUNT(tags),
                                  .priority = 42,
                                  .expires_in_ms = 60000,
                                  .timeout_ms = 1500,
                                  .lease_ms = 2500,
                                  .sla_soft_at_ms = start_ms + 7000,
                                  .sla_hard_at_ms = start_ms + 9000,
                                  .keep_ms = 86400000,
                                  .retry = { .attempts_max = 7, .initial_ms = 123 },
                                  .idempotency_key = "once",
                                  .business_key = "bus",
                                  .unique = { .keys = PAWL_UNIQUE_TYPE | PAWL_UNIQUE_ARGS },
                                  .principal = "ada",
                                  .trace_id = "4bf9" };
    struct pawl_job_id id = submit_api(rig, pawl, &spec);
    for (int round = 0; round < 2; round++) {
        struct pawl_jobs before = { 0 }, after = { 0 };
        struct pawl_submitted out = { 0 };
        assert_err(rig, PAWL_ERR_STATE, pawl_rerun(pawl, id, &out, &rig->diag));
        assert_within("it is available", rig->diag.text);
        assert_ok(rig, pawl_control(pawl, id, PAWL_CONTROL_SKIP, NULL, NULL, &rig->diag));
        rig_advance(rig, 5000);
        if (round == 1) {
            struct pawl_retention all = { .archive_after_ms = 1 };
            struct pawl_upkeep done = { 0 };
            assert_ok(rig, pawl_upkeep_turn(pawl, &all, &done, &rig->diag));
            assert_i64(2, done.archived);
        }
        assert_ok(rig, pawl_rerun(pawl, id, &out, &rig->diag));
        assert_state(AVAILABLE, out.state);
        const struct pawl_job *old = get_api(rig, pawl, id, &before);
        const struct pawl_job *new = get_api(rig, pawl, out.id, &after);
        assert_int_equal(round == 1, old->archived);
        assert_state(SKIPPED, old->state);
        assert_same_spec(old, new);
        assert_text("", new->idempotency_key);
        assert_i64(0, new->attempt + new->run);
        assert_i64(rig_now(rig), new->due_at_ms);
        assert_i64(rig_now(rig) + 60000, new->expires_at_ms);
        assert_i64(rig_now(rig) + 7000, new->sla_soft_at_ms);
        assert_i64(rig_now(rig) + 9000, new->sla_hard_at_ms);
        assert_err(rig, PAWL_ERR_DUPLICATE, pawl_rerun(pawl, id, &out, &rig->diag));
        id = new->id;
        pawl_jobs_release(&before);
        pawl_jobs_release(&after);
    }
    struct pawl_submitted out = { 0 };
    assert_err(rig, PAWL_ERR_NOT_FOUND, pawl_rerun(pawl, rig_id(rig), &out, &rig->diag));
    pawl_close(pawl);
}

static void rerun_keeps_every_field_of_the_list(struct rig *rig)
{
    struct pawl *pawl = open_api(rig);
    struct pawl_job_spec spec = spec_full(rig);
    struct pawl_jobs jobs = { 0 };
    struct pawl_submitted out = { 0 };
    struct pawl_job_id id = submit_api(rig, pawl, &spec);
    assert_ok(rig, pawl_control(pawl, id, PAWL_CONTROL_SKIP, NULL, NULL, &rig->diag));
    assert_ok(rig, pawl_rerun(pawl, id, &out, &rig->diag));
    spec.idempotency_key = ""; // the clock stands still, so instants stay as they were
    struct pawl__new_job wanted = job_new(rig, &spec);
    wanted.id = out.id;
    assert_submitted(&wanted, rig_now(rig), get_api(rig, pawl, out.id, &jobs));
    pawl_jobs_release(&jobs);
    pawl_close(pawl);
}

/* It runs at once, and lives as long as the first one could once it was due. */
static void rerun_leaves_the_delay_out(struct rig *rig)
{
    static const struct {
        int64_t delay_ms, ttl_ms, expected_ms;
    } cases[] = { { 3600000, 60000, 60000 }, { 3600000, 0, 0 }, { 0, 60000, 60000 } };
    struct pawl *pawl = open_api(rig);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pawl_jobs jobs = { 0 };
        struct pawl_submitted out = { 0 };
        const struct pawl_job_spec spec = { .type = "t",
                                            .delay_ms = cases[i].delay_ms,
                                            .expires_in_ms = cases[i].ttl_ms };
        struct pawl_job_id id = submit_api(rig, pawl, &spec);
        rig_advance(rig, 1000);
        assert_ok(rig, pawl_control(pawl, id, PAWL_CONTROL_CANCEL, NULL, NULL, &rig->diag));
        assert_ok(rig, pawl_rerun(pawl, id, &out, &rig->diag));
        assert_state(AVAILABLE, out.state);
        const struct pawl_job *new = get_api(rig, pawl, out.id, &jobs);
        int64_t expected_ms = cases[i].expected_ms;
        assert_i64(expected_ms ? rig_now(rig) + expected_ms : 0, new->expires_at_ms);
        pawl_jobs_release(&jobs);
    }
    pawl_close(pawl);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(fresh_ids_are_unique_and_sort_by_time),
        CONTRACT(many_are_all_or_nothing_and_name_the_culprit),
        CONTRACT(batches_have_bounds),
        CONTRACT(bulk_limits_have_bounds),
        CONTRACT(control_answers_with_the_state),
        CONTRACT(locks_refuse_times_that_are_none),
        CONTRACT(specs_that_make_no_sense_are_refused),
        CONTRACT(pages_have_a_usual_size),
        CONTRACT(unique_compares_values),
        CONTRACT(repeats_at_once_all_get_the_one_job),
        CONTRACT(upkeep_does_what_time_asks_for),
        CONTRACT(rerun_submits_the_same_once_more),
        CONTRACT(rerun_keeps_every_field_of_the_list),
        CONTRACT(rerun_leaves_the_delay_out),
        CONTRACT(an_empty_queue_can_be_deleted),
        CONTRACT_SHARED(upkeep_takes_back_lapsed_leases),
    };
    return contract_run("api", tests, COUNT(tests));
}
