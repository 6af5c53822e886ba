/* Random operations, drawn from a seed, on a real store and on the model at once. After each the
 * answers are compared, every so often all that can be seen.
 *
 *     model_test                                   the seeds of CI, on each store in turn
 *     model_test --seed N [--steps M] [--store URL]    one seed by hand
 *
 * A difference prints seed, step, operation and both answers, and the command that repeats it. */
#include "base/rng.h"
#include "model/model.h"
#include "support/ops.h"

#include <pthread.h>

enum {
    STEPS = 2500,
    SEEDS = 40,
    LOOK_EVERY = 50, /* steps between comparisons of everything */
    KEY_NAMES = 40,
    BATCH = 5
};

/* Where each job is by what the commits told, and nothing else. */
struct mirror {
    pthread_mutex_t mutex;
    struct mirrored {
        struct pawl_job_id id;
        enum pawl_state state;
    } * at;
    size_t count, cap;
    char wrong[256]; /* the first move that did not begin where the one before had ended */
};

struct world {
    struct rig rig;
    struct mirror mirror;
    struct model model;
    struct pawl__rng rng;
    uint64_t seed;
    int64_t step;
    const char *store;
    char op[512];
};

static const char *const queue_names[MODEL_QUEUES] = { "q0", "q1", "q2" };
static const char *const type_names[MODEL_TYPES] = { "t0", "t1", "t2" };
static const char *const worker_names[MODEL_WORKERS] = { "w0", "w1", "w2" };

static uint64_t below(struct world *w, uint64_t bound)
{
    return pawl__rng_below(&w->rng, bound);
}

static bool chance(struct world *w, uint64_t percent)
{
    return below(w, 100) < percent;
}

static const char *state_name(enum pawl_state state)
{
    return pawl_state_name(state, PAWL_VOCABULARY_PAWL);
}

static void name_op(struct world *w, const char *format, ...) PAWL_PRINTF(2, 3);
static void name_op(struct world *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(w->op, sizeof w->op, format, args);
    va_end(args);
}

static void differ(struct world *w, const char *format, ...) PAWL_PRINTF(2, 3);
static void differ(struct world *w, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    print_error("seed %llu step %lld: %s: %s\n"
                "repeat: model_test --seed %llu --steps %lld --store %s\n",
                (unsigned long long)w->seed, (long long)w->step, w->op, text,
                (unsigned long long)w->seed, (long long)w->step + 1, w->store);
    fail();
}

static void same(struct world *w, const char *what, int64_t expected, int64_t actual)
{
    if (expected != actual)
        differ(w, "%s: the model says %lld, the store %lld", what, (long long)expected,
               (long long)actual);
}

static void same_err(struct world *w, enum pawl_err expected, enum pawl_err actual)
{
    if (expected != actual)
        differ(w, "the model says %s, the store %s: %s", pawl_err_name(expected),
               pawl_err_name(actual), actual == PAWL_OK ? "" : w->rig.diag.text);
}

static const char *id_text(struct world *w, struct pawl_job_id id)
{
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(id, text);
    return rig_text(&w->rig, "%s", text);
}

/* ---- comparing ---- */

static void compare_times(struct world *w, const struct model_job *m, const struct pawl_job *job)
{
    same(w, "created_at_ms", m->created_at_ms, job->created_at_ms);
    same(w, "lease_until_ms", m->lease_until_ms, job->lease_until_ms);
    if (!model_ended(m)) {
        same(w, "due_at_ms", m->due_at_ms, job->due_at_ms);
        same(w, "expires_at_ms", m->expires_at_ms, job->expires_at_ms);
    }
    if (m->state != PAWL_STATE_PAUSED) {
        same(w, "finished_at_ms", m->finished_at_ms, job->finished_at_ms);
        same(w, "dead_letter", m->dead_letter, job->dead_letter);
    }
    if (m->state == PAWL_STATE_ACTIVE)
        same(w, "started_at_ms", m->started_at_ms, job->started_at_ms);
}

static void compare_job(struct world *w, const struct model_job *m, const struct pawl_job *job)
{
    if (m->state != job->state)
        differ(w, "job %s: the model says %s, the store %s", id_text(w, m->id),
               state_name(m->state), state_name(job->state));
    same(w, "paused_from", m->paused_from, job->paused_from);
    same(w, "priority", m->priority, job->priority);
    same(w, "attempt", model_attempt(m), job->attempt);
    same(w, "run", m->run, job->run);
    same(w, "free_runs", m->free_runs, job->free_runs);
    same(w, "archived", m->archived, job->archived);
    same(w, "attempts_max", m->retry.attempts_max, job->attempts_max);
    same(w, "queue", 0, strcmp(queue_names[m->queue], job->queue));
    same(w, "type", 0, strcmp(type_names[m->type], job->type));
    if (m->state == PAWL_STATE_ACTIVE || m->routed)
        same(w, "worker", 0, strcmp(worker_names[m->worker], job->worker));
    compare_times(w, m, job);
}

static void look_at(struct world *w, const struct model_job *m)
{
    if (m->gone) {
        if (model_find(&w->model, m->id) == NULL && job_exists(&w->rig, m->id))
            differ(w, "job %s should be gone", id_text(w, m->id));
        return;
    }
    struct pawl_job job = job_get(&w->rig, m->id);
    compare_job(w, m, &job);
}

static void compare_counts(struct world *w)
{
    struct pawl_stats told = stats_of(&w->rig);
    int64_t count[PAWL_STATE_END] = { 0 }, archived = 0, next_due = 0;
    for (size_t i = 0; i < w->model.count; i++) {
        const struct model_job *m = &w->model.jobs[i];
        if (m->gone) continue;
        archived += m->archived;
        if (m->archived) continue;
        count[m->state]++;
        bool waits = m->state == PAWL_STATE_SCHEDULED || m->state == PAWL_STATE_RETRYABLE;
        if (waits && (next_due == 0 || m->due_at_ms < next_due)) next_due = m->due_at_ms;
    }
    for (enum pawl_state state = 1; state < PAWL_STATE_END; state++)
        same(w, rig_text(&w->rig, "count of %s", state_name(state)), count[state],
             told.count[state]);
    same(w, "count of archived", archived, told.archived);
    same(w, "next_due_at_ms", next_due, told.next_due_at_ms);
}

/* ---- listening ---- */

static struct mirrored *mirror_find(struct mirror *mirror, struct pawl_job_id id)
{
    for (size_t i = mirror->count; i > 0; i--)
        if (same_id(mirror->at[i - 1].id, id)) return &mirror->at[i - 1];
    if (mirror->count == mirror->cap) {
        mirror->cap = mirror->cap ? mirror->cap * 2 : 256;
        mirror->at = realloc(mirror->at, mirror->cap * sizeof *mirror->at);
        if (mirror->at == NULL) abort();
    }
    mirror->at[mirror->count] = (struct mirrored){ .id = id };
    return &mirror->at[mirror->count++];
}

static void mirror_move(struct mirror *mirror, const struct pawl__move *move)
{
    struct mirrored *seen = mirror_find(mirror, move->id);
    bool begins = move->from == PAWL_STATE_NONE; // also an id that was deleted and used again
    if (!begins && seen->state != move->from && mirror->wrong[0] == '\0')
        snprintf(mirror->wrong, sizeof mirror->wrong,
                 "a move from %s to %s was told of a job in %s", state_name(move->from),
                 state_name(move->to), state_name(seen->state));
    seen->state = move->to;
}

static void hear(void *ctx, const struct pawl__notice *notice)
{
    struct mirror *mirror = ctx;
    pthread_mutex_lock(&mirror->mutex);
    for (size_t i = 0; i < notice->move_count; i++)
        mirror_move(mirror, &notice->moves[i]);
    pthread_mutex_unlock(&mirror->mutex);
}

static void listen_to(struct world *w)
{
    assert_ok(&w->rig, pawl__store_watch(w->rig.store, hear, &w->mirror, true, &w->rig.diag));
}

/* Notices follow the answers, so a further answer means that the earlier notices are here. */
static void compare_told(struct world *w)
{
    assert_ok(&w->rig, setting_put(&w->rig, "step", "1"));
    assert_ok(&w->rig, setting_put(&w->rig, "step", "2"));
    pthread_mutex_lock(&w->mirror.mutex);
    char wrong[sizeof w->mirror.wrong];
    memcpy(wrong, w->mirror.wrong, sizeof wrong);
    const struct model_job *astray = NULL;
    for (size_t i = 0; i < w->model.count; i++) {
        const struct model_job *m = &w->model.jobs[i];
        if (!m->gone && mirror_find(&w->mirror, m->id)->state != m->state) astray = m;
    }
    pthread_mutex_unlock(&w->mirror.mutex);
    if (wrong[0] != '\0') differ(w, "%s", wrong);
    if (astray != NULL)
        differ(w, "job %s is %s, but that was not told", id_text(w, astray->id),
               state_name(astray->state));
}

static void compare_all(struct world *w)
{
    struct claimed all = query_all(&w->rig, &(struct pawl_filter){ .archived = true }, true);
    size_t there = 0;
    for (size_t i = 0; i < w->model.count; i++)
        there += !w->model.jobs[i].gone;
    same(w, "jobs", (int64_t)there, (int64_t)all.count);
    for (size_t i = 0; i < all.count; i++) {
        const struct model_job *m = model_find(&w->model, all.at[i].id);
        if (m == NULL) differ(w, "job %s should not be there", id_text(w, all.at[i].id));
        compare_job(w, m, &all.at[i]);
    }
    compare_counts(w);
    compare_told(w);
    if (w->model.count == 0) return;
    const struct model_job *any = &w->model.jobs[below(w, w->model.count)];
    if (any->gone || model_find(&w->model, any->id) != any) return;
    struct pawl_story story = story_of(&w->rig, any->id);
    int64_t failures = any->failures < PAWL__FAILURES_KEPT ? any->failures : PAWL__FAILURES_KEPT;
    same(w, "failures", failures, (int64_t)story.failure_count);
    same(w, "checkpoint", any->checkpoint, story.checkpoint_sequence);
}

/* Does another job share the first half of this id? A store may put such jobs in any order among
 * their equals. */
static bool is_odd(const struct world *w, const struct model_job *m)
{
    for (size_t i = 0; i < w->model.count; i++) {
        const struct model_job *other = &w->model.jobs[i];
        if (other != m && memcmp(other->id.b, m->id.b, 8) == 0) return true;
    }
    return false;
}

/* A job whose time is over may be expired by whoever meets it first. */
static void adopt_expiry(struct world *w, struct model_job *m)
{
    bool open = !m->gone && !model_ended(m) && m->state != PAWL_STATE_PAUSED &&
                m->state != PAWL_STATE_ACTIVE && model_expired(&w->model, m);
    if (open && state_of(&w->rig, m->id) == PAWL_STATE_EXPIRED) model_expire(&w->model, m);
}

/* ---- picking ---- */

/* NULL: there are none at all. One in twenty is a job that is gone. */
static struct model_job *pick(struct world *w)
{
    if (w->model.count == 0) return NULL;
    bool gone_too = chance(w, 5);
    for (int i = 0; i < 50; i++) {
        struct model_job *m = &w->model.jobs[below(w, w->model.count)];
        if (m->gone && model_find(&w->model, m->id) != NULL) continue; // its id lives on
        if (gone_too || !m->gone) return m;
    }
    return NULL;
}

static struct model_job *pick_in(struct world *w, enum pawl_state state)
{
    size_t seen = 0, at = SIZE_MAX;
    for (size_t i = 0; i < w->model.count; i++) {
        const struct model_job *m = &w->model.jobs[i];
        if (!m->gone && m->state == state && below(w, ++seen) == 0) at = i;
    }
    return at == SIZE_MAX ? NULL : &w->model.jobs[at];
}

/* Mostly a run that is under way, sometimes one that is over or never was. */
static struct model_job *pick_run(struct world *w, struct pawl__run_ref *ref)
{
    struct model_job *m = chance(w, 80) ? pick_in(w, PAWL_STATE_ACTIVE) : pick(w);
    if (m == NULL) return NULL;
    *ref = (struct pawl__run_ref){ .id = m->id, .run = m->run };
    if (chance(w, 10)) ref->run += (int64_t)below(w, 3) - 1;
    return m;
}

/* What an owner's write must be answered with, before its own rules. */
static enum pawl_err fence(const struct model_job *m, int64_t run)
{
    if (m->gone) return PAWL_ERR_NOT_FOUND;
    return model_owns(m, run) ? PAWL_OK : PAWL_ERR_STALE;
}

/* ---- submit ---- */

struct draft {
    struct model_job job;
    struct pawl_job_spec spec;
    int64_t expires_in_ms;
};

static void draft_id(struct world *w, struct draft *d)
{
    d->job.id = rig_id(&w->rig);
    if (w->model.count == 0) return;
    const struct model_job *other = &w->model.jobs[below(w, w->model.count)];
    if (chance(w, 2)) {
        d->job.id = other->id;
    } else if (chance(w, 3)) {
        memcpy(d->job.id.b, other->id.b, 8);
        d->job.id.b[12] ^= (uint8_t)(1 + below(w, 255));
    }
}

static void draft_times(struct world *w, struct draft *d)
{
    int64_t now = w->model.now_ms;
    d->job.due_at_ms = now;
    if (chance(w, 30)) d->spec.delay_ms = 1 + (int64_t)below(w, 120000);
    if (chance(w, 5)) d->spec.pending = true;
    if (d->spec.delay_ms == 0 && chance(w, 5))
        d->spec.due_at_ms = now - 50000 + (int64_t)below(w, 100000);
    if (d->spec.delay_ms != 0) d->job.due_at_ms = now + d->spec.delay_ms;
    if (d->spec.due_at_ms != 0) d->job.due_at_ms = d->spec.due_at_ms;
    if (chance(w, 25)) d->spec.expires_in_ms = d->expires_in_ms = 1 + (int64_t)below(w, 300000);
    if (chance(w, 10)) d->spec.lease_ms = d->job.lease_ms = 1 + (int64_t)below(w, 60000);
    if (chance(w, 10))
        d->spec.sla_soft_at_ms = d->job.sla_soft_at_ms = now + (int64_t)below(w, 200000000);
    if (chance(w, 10))
        d->spec.sla_hard_at_ms = d->job.sla_hard_at_ms =
            (d->job.sla_soft_at_ms != 0 ? d->job.sla_soft_at_ms : now) +
            (int64_t)below(w, 200000000);
    if (chance(w, 10)) d->spec.keep_ms = d->job.keep_ms = 1 + (int64_t)below(w, 1000000);
}

static void draft_key(struct world *w, struct draft *d, enum pawl__key_kind kind)
{
    struct model_key key = { .kind = kind,
                             .name = (int32_t)below(w, KEY_NAMES),
                             .states = LIVE_STATES,
                             .on_conflict = PAWL_CONFLICT_REJECT };
    if (kind == PAWL__KEY_IDEMPOTENCY) {
        key.on_conflict = PAWL_CONFLICT_IGNORE;
        if (chance(w, 50)) key.period_ms = 1 + (int64_t)below(w, 500000);
    }
    if (kind == PAWL__KEY_UNIQUE) {
        key.on_conflict = (enum pawl_conflict)(1 + below(w, PAWL_CONFLICT_END - 1));
        if (chance(w, 30)) key.period_ms = 1 + (int64_t)below(w, 500000);
        if (chance(w, 30)) key.states = (uint32_t)below(w, ALL_STATES + 1) & ALL_STATES;
    }
    d->job.keys[d->job.key_count++] = key;
}

static struct draft draft_job(struct world *w)
{
    struct draft d = { 0 };
    draft_id(w, &d);
    draft_times(w, &d);
    d.job.queue = (int32_t)below(w, MODEL_QUEUES);
    d.job.type = (int32_t)below(w, MODEL_TYPES);
    d.spec.queue = queue_names[d.job.queue];
    d.spec.type = type_names[d.job.type];
    if (chance(w, 40)) d.job.priority = d.spec.priority = (int32_t)below(w, 201) - 100;
    d.spec.retry = (struct pawl_retry){ .attempts_max = 1 + (int32_t)below(w, 5),
                                        .backoff = (enum pawl_backoff)below(w, PAWL_BACKOFF_END),
                                        .initial_ms = 1 + (int64_t)below(w, 20000),
                                        .jitter = PAWL_JITTER_OFF,
                                        .on_exhaustion = (enum pawl_exhaustion)below(w, 3) };
    pawl__retry_resolve(&d.spec.retry);
    d.job.retry = d.spec.retry;
    for (int kind = PAWL__KEY_IDEMPOTENCY; kind <= PAWL__KEY_UNIQUE; kind++)
        if (chance(w, 12)) draft_key(w, &d, (enum pawl__key_kind)kind);
    return d;
}

static struct pawl__new_job draft_done(struct world *w, struct draft *d)
{
    d->spec.id = &d->job.id;
    struct pawl__new_job job = job_new(&w->rig, &d->spec);
    for (size_t k = 0; k < d->job.key_count; k++) {
        const struct model_key *from = &d->job.keys[k];
        struct pawl__key key = key_new(from->kind, rig_text(&w->rig, "name-%d", from->name));
        key.states = from->states;
        key.period_ms = from->period_ms;
        key.on_conflict = from->on_conflict;
        job.keys[job.key_count++] = key;
    }
    return job;
}

/* Which of several holders a key answers with, or keeps the schedule of, is the store's affair. */
static void adopt_submitted(struct world *w, const struct model *before, const struct draft *d,
                            const struct model_submitted *expected,
                            const struct pawl_submitted *actual)
{
    same(w, "deduplicated", expected->deduplicated, actual->deduplicated);
    same(w, "replaced", expected->replaced, actual->replaced);
    if (!expected->deduplicated) {
        if (!same_id(d->job.id, actual->id)) differ(w, "another id came back");
        struct model_job *m = &w->model.jobs[expected->job];
        struct pawl_job job = job_get(&w->rig, m->id);
        if (expected->replaced && m->due_at_ms != job.due_at_ms) {
            if (m->expires_at_ms != 0) m->expires_at_ms += job.due_at_ms - m->due_at_ms;
            m->due_at_ms = job.due_at_ms;
            if (m->state != PAWL_STATE_PENDING)
                m->state = m->due_at_ms > w->model.now_ms ? PAWL_STATE_SCHEDULED
                                                          : PAWL_STATE_AVAILABLE;
        }
        // A later one of the same batch may have replaced it since.
        if (m->state != PAWL_STATE_CANCELLED) same(w, "state", m->state, actual->state);
        return;
    }
    size_t *met = calloc(before->count + 1, sizeof *met);
    bool known = false;
    for (size_t k = 0; met != NULL && k < d->job.key_count && !known; k++) {
        size_t count = model_conflicts(before, &d->job.keys[k], met);
        for (size_t i = 0; i < count; i++)
            known = known || same_id(before->jobs[met[i]].id, actual->id);
    }
    free(met);
    if (!known) differ(w, "%s does not hold the key", id_text(w, actual->id));
    // Within a batch the holder may have moved on since; alone it is where the model has it.
    const struct model_job *m = model_find(&w->model, actual->id);
    if (before->count == w->model.count)
        same(w, "state of the holder", m == NULL ? PAWL_STATE_NONE : m->state, actual->state);
}

static void step_submit(struct world *w)
{
    size_t count = chance(w, 85) ? 1 : 2 + below(w, BATCH - 1);
    struct draft drafts[BATCH];
    struct pawl__new_job jobs[BATCH];
    struct pawl_submitted out[BATCH] = { 0 };
    struct model_submitted expected[BATCH] = { 0 };
    struct model before[BATCH], undo = model_copy(&w->model);
    size_t failing = SIZE_MAX, copied = 0;
    name_op(w, "submit %zu", count);
    for (size_t i = 0; i < count; i++) {
        drafts[i] = draft_job(w);
        jobs[i] = draft_done(w, &drafts[i]);
    }
    for (size_t i = 0; i < count && failing == SIZE_MAX; i++) {
        before[copied++] = model_copy(&w->model);
        expected[i] = model_submit(&w->model, &drafts[i].job, drafts[i].expires_in_ms,
                                   drafts[i].spec.pending);
        if (expected[i].err != PAWL_OK) failing = i;
    }
    size_t failed_index = SIZE_MAX;
    enum pawl_err err = submit_jobs(&w->rig, jobs, count, out, &failed_index);
    if (failing == SIZE_MAX) {
        same_err(w, PAWL_OK, err);
        for (size_t i = 0; i < count; i++)
            adopt_submitted(w, &before[i], &drafts[i], &expected[i], &out[i]);
    } else {
        if (err != expected[failing].other_err) same_err(w, expected[failing].err, err);
        same(w, "failed_index", (int64_t)failing, (int64_t)failed_index);
        model_release(&w->model);
        w->model = model_copy(&undo);
    }
    for (size_t i = 0; i < copied; i++)
        model_release(&before[i]);
    model_release(&undo);
}

/* ---- claim, route, assign ---- */

/* Equals go by id; but where an odd one is among them, in any order. */
static bool may_go_instead(const struct world *w, const struct model_job *m,
                           const struct model_job *want)
{
    int64_t rank = model_rank(want);
    if (model_rank(m) != rank || m->queue != want->queue || m->state != PAWL_STATE_AVAILABLE)
        return false;
    for (size_t i = 0; i < w->model.count; i++) {
        const struct model_job *equal = &w->model.jobs[i];
        bool waits = !equal->gone && equal->state == PAWL_STATE_AVAILABLE;
        if (waits && model_rank(equal) == rank && is_odd(w, equal)) return true;
    }
    return false;
}

static void follow_claim(struct world *w, enum pawl__op_kind kind, const struct claimed *got,
                         const size_t *expected, size_t count, int32_t worker, int64_t lease_ms)
{
    same(w, "jobs claimed", (int64_t)count, (int64_t)got->count);
    for (size_t i = 0; i < count; i++) {
        struct model_job *want = &w->model.jobs[expected[i]];
        struct model_job *m = model_find(&w->model, got->at[i].id);
        if (m == NULL) differ(w, "claimed a job that is not there");
        if (m != want && !may_go_instead(w, m, want))
            differ(w, "place %zu: the model says %s, the store %s", i, id_text(w, want->id),
                   id_text(w, m->id));
    }
    for (size_t i = 0; i < count; i++) {
        struct model_job *m = model_find(&w->model, got->at[i].id);
        if (kind == PAWL__OP_CLAIM) {
            model_start(&w->model, m, worker, lease_ms);
        } else {
            model_route(&w->model, m, worker, lease_ms);
        }
        compare_job(w, m, &got->at[i]);
    }
}

static void step_claim(struct world *w, enum pawl__op_kind kind)
{
    int32_t queues[MODEL_QUEUES];
    const char *names[MODEL_QUEUES], *types[MODEL_TYPES];
    size_t queue_count = 1 + below(w, MODEL_QUEUES), type_count = 0;
    int32_t first = (int32_t)below(w, MODEL_QUEUES), worker = (int32_t)below(w, MODEL_WORKERS);
    for (size_t i = 0; i < queue_count; i++) {
        queues[i] = (first + (int32_t)i) % MODEL_QUEUES;
        names[i] = queue_names[queues[i]];
    }
    uint32_t mask = chance(w, 70) ? (1u << MODEL_TYPES) - 1 : 1u << below(w, MODEL_TYPES);
    for (int t = 0; t < MODEL_TYPES; t++)
        if (mask != (1u << MODEL_TYPES) - 1 && (mask >> t & 1)) types[type_count++] = type_names[t];
    int64_t limit = chance(w, 10) ? 50 : (int64_t)below(w, 6),
            lease_ms = 1000 * (1 + (int64_t)below(w, 60));
    name_op(w, "%s from %s and %zu more, types %x, limit %lld",
            kind == PAWL__OP_CLAIM ? "claim" : "route", names[0], queue_count - 1, mask,
            (long long)limit);
    size_t expected[64];
    size_t count = model_claimable(&w->model, queues, queue_count, mask, (size_t)limit, expected);
    struct pawl__op op = { .kind = kind,
                           .claim = { .queues = names,
                                      .queue_count = queue_count,
                                      .types = types,
                                      .type_count = type_count,
                                      .limit = limit,
                                      .worker = worker_names[worker],
                                      .lease_ms = lease_ms } };
    struct claimed got = claim_op(&w->rig, &op);
    follow_claim(w, kind, &got, expected, count, worker, lease_ms);
    for (size_t i = 0; i < w->model.count; i++)
        if (w->model.jobs[i].state == PAWL_STATE_AVAILABLE) adopt_expiry(w, &w->model.jobs[i]);
}

static void step_assign(struct world *w)
{
    struct model_job *m = chance(w, 90) ? pick_in(w, PAWL_STATE_PENDING) : pick(w);
    if (m == NULL) return;
    int32_t worker = chance(w, 85) ? m->worker : (int32_t)below(w, MODEL_WORKERS);
    int64_t token = m->lease_until_ms + (chance(w, 10) ? 1 : 0);
    name_op(w, "assign %s", id_text(w, m->id));
    bool good = !m->gone && m->routed && m->worker == worker && token == m->lease_until_ms &&
                m->lease_until_ms > w->model.now_ms;
    enum pawl_err expected = m->gone ? PAWL_ERR_NOT_FOUND : good ? PAWL_OK : PAWL_ERR_STALE;
    struct pawl_job job = { 0 };
    enum pawl_err err = assign(&w->rig, m->id, worker_names[worker], token, &job);
    if (good && err == PAWL_ERR_STALE && model_expired(&w->model, m)) {
        adopt_expiry(w, m); // its time was over while it was routed
        return;
    }
    same_err(w, expected, err);
    if (err != PAWL_OK) return;
    model_start(&w->model, m, worker, LEASE_MS);
    compare_job(w, m, &job);
}

/* ---- owners ---- */

static void step_complete(struct world *w)
{
    struct pawl__run_ref ref;
    struct model_job *m = pick_run(w, &ref);
    if (m == NULL) return;
    name_op(w, "complete %s run %lld", id_text(w, m->id), (long long)ref.run);
    enum pawl_err expected = fence(m, ref.run);
    same_err(w, expected, complete(&w->rig, ref, chance(w, 50) ? "{\"x\":1}" : NULL));
    if (expected == PAWL_OK) model_complete(&w->model, m);
    look_at(w, m);
}

static void step_fail(struct world *w)
{
    struct pawl__run_ref ref;
    struct model_job *m = pick_run(w, &ref);
    if (m == NULL) return;
    struct pawl__report report = { .type = "x.y", .message = "no" };
    report.requeue = chance(w, 10);
    report.not_retryable = chance(w, 10);
    if (chance(w, 5)) report.code = "DEAD_LETTER";
    if (chance(w, 10)) report.retry_after_ms = 1 + (int64_t)below(w, 50000);
    name_op(w, "fail %s run %lld%s", id_text(w, m->id), (long long)ref.run,
            report.requeue ? " requeue" : "");
    enum pawl_err expected = fence(m, ref.run);
    struct failed out = { 0 };
    same_err(w, expected, fail_run(&w->rig, ref, report, &out));
    if (expected == PAWL_OK) {
        int64_t attempt = model_attempt(m);
        struct pawl__verdict verdict = model_fail(&w->model, m, &report);
        if (out.to == PAWL_STATE_EXPIRED) adopt_expiry(w, m); // requeued after its time
        same(w, "to", m->state, out.to);
        same(w, "attempt", attempt, out.attempt);
        if (!model_ended(m)) same(w, "due_at_ms", m->due_at_ms, out.due_at_ms);
        if (!model_ended(m)) same(w, "delay_ms", verdict.delay_ms, out.delay_ms);
        if (model_ended(m)) same(w, "delay_ms", -1, out.delay_ms);
    }
    look_at(w, m);
}

static void step_snooze(struct world *w)
{
    struct pawl__run_ref ref;
    struct model_job *m = pick_run(w, &ref);
    if (m == NULL) return;
    int64_t delay_ms = chance(w, 50) ? 0 : 1 + (int64_t)below(w, 60000);
    name_op(w, "snooze %s run %lld by %lld", id_text(w, m->id), (long long)ref.run,
            (long long)delay_ms);
    enum pawl_err expected = fence(m, ref.run);
    same_err(w, expected, snooze(&w->rig, ref, delay_ms));
    if (expected == PAWL_OK) {
        model_snooze(&w->model, m, delay_ms);
        adopt_expiry(w, m);
    }
    look_at(w, m);
}

static void step_extend(struct world *w)
{
    struct pawl__run_ref ref;
    struct model_job *m = pick_run(w, &ref);
    if (m == NULL) return;
    int64_t lease_ms = 1 + (int64_t)below(w, 60000);
    name_op(w, "extend %s run %lld", id_text(w, m->id), (long long)ref.run);
    enum pawl_err expected = fence(m, ref.run);
    if (expected == PAWL_OK && m->lease_until_ms <= w->model.now_ms) expected = PAWL_ERR_STALE;
    same_err(w, expected, extend(&w->rig, ref, lease_ms));
    if (expected == PAWL_OK) m->lease_until_ms = w->model.now_ms + lease_ms;
    look_at(w, m);
}

static void step_checkpoint(struct world *w)
{
    struct pawl__run_ref ref;
    struct model_job *m = pick_run(w, &ref);
    if (m == NULL || ref.run <= 0) return; // that would not be fenced
    bool save = chance(w, 80);
    name_op(w, "checkpoint %s run %lld", id_text(w, m->id), (long long)ref.run);
    enum pawl_err expected = fence(m, ref.run);
    int64_t sequence = -1;
    struct pawl_span state = save ? span_of("{\"at\":1}") : (struct pawl_span){ 0 };
    same_err(w, expected, checkpoint(&w->rig, ref, state, &sequence));
    if (expected != PAWL_OK) return;
    m->checkpoint = save ? m->checkpoint + 1 : 0;
    if (save) same(w, "sequence", m->checkpoint, sequence);
}

/* ---- operators ---- */

static void step_control(struct world *w)
{
    struct model_job *m = pick(w);
    if (m == NULL) return;
    enum pawl_control what = (enum pawl_control)(1 + below(w, PAWL_CONTROL_END - 1));
    int64_t run = chance(w, 10) ? m->run + (int64_t)below(w, 2) : 0;
    name_op(w, "control %d of %s (%s), run %lld", (int)what, id_text(w, m->id),
            state_name(m->state), (long long)run);
    enum pawl_state from = m->gone ? PAWL_STATE_NONE : m->state;
    enum pawl_err expected = m->gone ? PAWL_ERR_NOT_FOUND : run > 0 ? fence(m, run) : PAWL_OK;
    if (expected == PAWL_OK) expected = model_control(&w->model, m, what);
    struct controlled out = { 0 };
    enum pawl_err err = control_by(&w->rig, m->id, what, run, (struct pawl_by){ 0 }, &out);
    same_err(w, expected, err);
    if (err == PAWL_OK || err == PAWL_ERR_STATE) {
        same(w, "from", from, out.from);
        same(w, "to", m->state, out.to);
    }
    look_at(w, m);
}

static void step_priority(struct world *w)
{
    struct model_job *m = pick(w);
    if (m == NULL) return;
    int32_t priority = (int32_t)below(w, 201) - 100, before = 0;
    name_op(w, "priority of %s (%s)", id_text(w, m->id), state_name(m->state));
    bool waits = !model_ended(m) && m->state != PAWL_STATE_ACTIVE;
    enum pawl_err expected = m->gone ? PAWL_ERR_NOT_FOUND : waits ? PAWL_OK : PAWL_ERR_STATE;
    same_err(w, expected, set_priority(&w->rig, m->id, priority, &before));
    if (expected == PAWL_OK) {
        same(w, "before", m->priority, before);
        m->priority = priority;
    }
    look_at(w, m);
}

static void step_delete(struct world *w)
{
    struct model_job *m = pick(w);
    if (m == NULL) return;
    name_op(w, "delete %s (%s)", id_text(w, m->id), state_name(m->state));
    enum pawl_err expected = m->gone          ? PAWL_ERR_NOT_FOUND
                             : model_ended(m) ? PAWL_OK
                                              : PAWL_ERR_STATE;
    same_err(w, expected, delete_job(&w->rig, m->id));
    if (expected == PAWL_OK) m->gone = true;
    look_at(w, m);
}

struct bulk_draft {
    struct pawl_filter filter;
    const char *queue;
    int32_t queue_index; /* -1: any */
    enum pawl_control control;
    int64_t limit;
};

static bool bulk_matches(const struct bulk_draft *d, const struct model_job *m)
{
    if (m->gone || (m->archived && !d->filter.archived)) return false;
    if (d->queue_index >= 0 && m->queue != d->queue_index) return false;
    if (d->filter.states != 0 && !(d->filter.states & PAWL_STATE_BIT(m->state))) return false;
    return d->control == PAWL_CONTROL_NONE ? model_ended(m) : model_control_moves(m, d->control);
}

/* A bulk whose limit binds takes the oldest; which are those is clear unless ids are odd. */
static void adopt_bulk(struct world *w, const struct bulk_draft *d, int64_t moved)
{
    int64_t found = 0;
    bool odd = false, left = false;
    for (size_t i = 0; i < w->model.count; i++) {
        struct model_job *m = &w->model.jobs[i];
        if (!bulk_matches(d, m)) continue;
        enum pawl_state now = state_of(&w->rig, m->id);
        odd = odd || is_odd(w, m);
        if (now == m->state) {
            left = true;
            continue;
        }
        if (left && !odd) differ(w, "%s moved before an older one", id_text(w, m->id));
        found++;
        if (d->control == PAWL_CONTROL_NONE) {
            m->gone = true;
        } else {
            same_err(w, PAWL_OK, model_control(&w->model, m, d->control));
        }
        look_at(w, m);
    }
    same(w, "jobs that moved", moved, found);
}

static void step_bulk(struct world *w)
{
    struct bulk_draft d = { .queue_index = chance(w, 70) ? (int32_t)below(w, MODEL_QUEUES) : -1 };
    d.control = (enum pawl_control)below(w, PAWL_CONTROL_END);
    d.limit = chance(w, 60) && d.control != PAWL_CONTROL_RETRY ? 1 + (int64_t)below(w, 4)
                                                               : PAWL_BULK_MAX;
    if (d.queue_index >= 0) {
        d.queue = queue_names[d.queue_index];
        d.filter.queues = &d.queue;
        d.filter.queue_count = 1;
    }
    if (chance(w, 50)) d.filter.states = (uint32_t)below(w, ALL_STATES + 1) & ALL_STATES;
    d.filter.archived = chance(w, 20);
    name_op(w, "bulk control %d, queue %d, states %x, limit %lld%s", (int)d.control, d.queue_index,
            d.filter.states, (long long)d.limit, d.filter.archived ? ", archived" : "");
    int64_t eligible = 0;
    struct model trial = model_copy(&w->model);
    enum pawl_err expected = PAWL_OK;
    for (size_t i = 0; i < trial.count && expected == PAWL_OK; i++) {
        if (!bulk_matches(&d, &trial.jobs[i])) continue;
        eligible++;
        if (d.control == PAWL_CONTROL_RETRY)
            expected = model_control(&trial, &trial.jobs[i], d.control);
    }
    model_release(&trial);
    int64_t moved = -1;
    same_err(w, expected, bulk(&w->rig, &d.filter, d.control, d.limit, &moved));
    if (expected != PAWL_OK) return;
    same(w, "moved", eligible < d.limit ? eligible : d.limit, moved);
    adopt_bulk(w, &d, moved);
}

static void step_queue(struct world *w)
{
    int32_t queue = (int32_t)below(w, MODEL_QUEUES);
    bool paused = chance(w, 30);
    name_op(w, "%s queue %d", paused ? "pause" : "open", queue);
    queue_pause(&w->rig, queue_names[queue], paused);
    w->model.paused[queue] = paused;
}

/* ---- time ---- */

static int64_t some_limit(struct world *w)
{
    return chance(w, 50) ? PAWL__MAINTENANCE_MAX : 1 + (int64_t)below(w, 5);
}

/* Smallest above zero. */
static int64_t sooner(int64_t a, int64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

static void step_promote(struct world *w)
{
    int64_t limit = some_limit(w), eligible = 0, moved = 0, next = 0;
    int64_t last_moved = INT64_MIN, first_left = INT64_MAX;
    name_op(w, "promote %lld", (long long)limit);
    struct swept swept = sweep(&w->rig, PAWL__OP_PROMOTE, limit);
    for (size_t i = 0; i < w->model.count; i++) {
        struct model_job *m = &w->model.jobs[i];
        if (!m->gone && model_due(&w->model, m)) {
            eligible++;
            bool promoted = state_of(&w->rig, m->id) == PAWL_STATE_AVAILABLE;
            moved += promoted;
            if (promoted && m->due_at_ms > last_moved) last_moved = m->due_at_ms;
            if (!promoted && m->due_at_ms < first_left) first_left = m->due_at_ms;
            if (promoted) model_promote(m);
            look_at(w, m);
        }
        bool waits = m->state == PAWL_STATE_SCHEDULED || m->state == PAWL_STATE_RETRYABLE;
        if (!m->gone && waits) next = sooner(next, m->due_at_ms);
    }
    same(w, "moved", eligible < limit ? eligible : limit, swept.moved);
    same(w, "jobs that moved", moved, swept.moved);
    same(w, "next_at_ms", next, swept.next_at_ms);
    if (last_moved > first_left) differ(w, "a later one was promoted before an earlier one");
}

static void step_lapse(struct world *w)
{
    int64_t limit = some_limit(w), eligible = 0, moved = 0, next = 0;
    name_op(w, "lapse %lld", (long long)limit);
    struct swept swept = sweep(&w->rig, PAWL__OP_LAPSE, limit);
    for (size_t i = 0; i < w->model.count; i++) {
        struct model_job *m = &w->model.jobs[i];
        if (model_lapsed(&w->model, m)) {
            eligible++;
            if (state_of(&w->rig, m->id) != m->state) {
                moved++;
                model_lapse(&w->model, m);
                adopt_expiry(w, m);
            }
            look_at(w, m);
        }
        if (!m->gone) next = sooner(next, m->lease_until_ms);
    }
    same(w, "moved", eligible < limit ? eligible : limit, swept.moved);
    same(w, "jobs that moved", moved, swept.moved);
    same(w, "next_at_ms", next, swept.next_at_ms);
}

static bool may_expire(const struct model_job *m)
{
    return !m->gone && pawl__lifecycle_next(m->state, PAWL_EVENT_EXPIRE, PAWL_STATE_NONE);
}

static void step_expire(struct world *w)
{
    int64_t limit = some_limit(w), eligible = 0, moved = 0, next = 0;
    name_op(w, "expire %lld", (long long)limit);
    struct swept swept = sweep(&w->rig, PAWL__OP_EXPIRE, limit);
    for (size_t i = 0; i < w->model.count; i++) {
        struct model_job *m = &w->model.jobs[i];
        if (!may_expire(m) || m->expires_at_ms == 0) continue;
        if (!model_expired(&w->model, m)) {
            next = sooner(next, m->expires_at_ms);
            continue;
        }
        eligible++;
        enum pawl_state before = m->state;
        adopt_expiry(w, m);
        moved += m->state != before;
        look_at(w, m);
    }
    same(w, "jobs that moved", moved, swept.moved);
    if (swept.moved > limit) differ(w, "moved %lld", (long long)swept.moved);
    if (limit < PAWL__MAINTENANCE_MAX) return;
    same(w, "moved", eligible, swept.moved);
    // A store may wake for nothing now and then, but never too late, and never at once again.
    bool in_time = next == 0 || (swept.next_at_ms != 0 && swept.next_at_ms <= next);
    if (!in_time || (swept.next_at_ms != 0 && swept.next_at_ms <= w->model.now_ms))
        differ(w, "next_at_ms: the model says %lld, the store %lld", (long long)next,
               (long long)swept.next_at_ms);
}

struct retire_draft {
    enum pawl__op_kind kind;
    uint32_t states;
    int64_t before_ms, limit;
    bool more, all; /* out: go on; all that must go have gone */
};

static void retire_once(struct world *w, struct retire_draft *d)
{
    bool purge = d->kind == PAWL__OP_PURGE;
    int64_t told = retire_step(&w->rig, d->kind, d->states, d->before_ms, d->limit, &d->more),
            moved = 0;
    d->all = true;
    for (size_t i = 0; i < w->model.count; i++) {
        struct model_job *m = &w->model.jobs[i];
        bool fits = !m->gone && m->archived == purge && model_ended(m) &&
                    (d->states & PAWL_STATE_BIT(m->state)) && m->finished_at_ms < d->before_ms;
        bool kept = m->finished_at_ms + m->keep_ms > w->model.now_ms;
        if (!fits || (purge && kept)) continue;
        bool gone = !job_exists(&w->rig, m->id);
        bool went = purge ? gone : !gone && job_get(&w->rig, m->id).archived;
        moved += went;
        d->all = d->all && (went || kept); // a record that is to be kept may stay where it is
        if (went && purge) m->gone = true;
        if (went && !purge) m->archived = true;
        look_at(w, m);
    }
    same(w, "jobs that moved", moved, told);
    if (told > d->limit) differ(w, "moved %lld", (long long)told);
}

static void step_retire(struct world *w, enum pawl__op_kind kind)
{
    struct retire_draft d = { .kind = kind,
                              .states = (uint32_t)below(w, ALL_STATES + 1) & TERMINAL_STATES,
                              .before_ms = w->model.now_ms - (int64_t)below(w, 200000),
                              .limit = some_limit(w) };
    if (chance(w, 50)) d.states = TERMINAL_STATES;
    bool thorough = chance(w, 30);
    name_op(w, "%s states %x limit %lld", kind == PAWL__OP_PURGE ? "purge" : "archive", d.states,
            (long long)d.limit);
    retire_once(w, &d);
    // A step may begin in the middle. Once it has come to the end, a whole round finds everything.
    for (int round = 0; thorough && round < 2; round++) {
        for (int step = 0; step < 10000; step++) {
            retire_once(w, &d);
            if (!d.more) break;
        }
    }
    if (thorough && !d.all) differ(w, "a whole round left some behind");
}

/* An instant that matters to some job, so that boundaries are met exactly. */
static int64_t some_instant(struct world *w)
{
    if (w->model.count == 0) return 0;
    const struct model_job *m = &w->model.jobs[below(w, w->model.count)];
    switch (below(w, 5)) {
    case 0:
        return m->due_at_ms;
    case 1:
        return m->expires_at_ms;
    case 2:
        return m->lease_until_ms;
    case 3:
        return m->finished_at_ms + m->keep_ms;
    default:
        if (m->key_count == 0) return 0;
        return m->keys[0].until_ms != 0 ? m->keys[0].until_ms
                                        : m->created_at_ms + m->keys[0].period_ms;
    }
}

static void step_clock(struct world *w)
{
    static const int64_t spans[] = { 1, 10, 1000, 30000, 60000, 300000, 3600000 };
    int64_t by = 1 + (int64_t)below(w, (uint64_t)spans[below(w, COUNT(spans))]);
    int64_t at = chance(w, 50) ? some_instant(w) : 0;
    bool exact = at > w->model.now_ms && at - w->model.now_ms < 3600000;
    if (exact) by = at - w->model.now_ms;
    name_op(w, "clock by %lld", (long long)by);
    rig_advance(&w->rig, by);
    w->model.now_ms += by;
    if (!exact) return;
    // Before anything else moves the clock on.
    if (chance(w, 40)) step_lapse(w);
    if (chance(w, 40)) step_promote(w);
    if (chance(w, 40)) step_expire(w);
}

static void step_reopen(struct world *w)
{
    bool wanted = chance(w, 20); // drawn in any case: a seed is the same walk on every store
    if (!wanted || strcmp(w->rig.url, "sqlite::memory:") == 0) return;
    name_op(w, "reopen");
    compare_told(w);
    rig_reopen(&w->rig);
    listen_to(w);
}

/* ---- the walk ---- */

/* weight, step */
#define STEPS_LIST(X)                                                                              \
    X(22, step_submit(w))                                                                          \
    X(14, step_claim(w, PAWL__OP_CLAIM))                                                           \
    X(4, step_claim(w, PAWL__OP_ROUTE))                                                            \
    X(4, step_assign(w))                                                                           \
    X(8, step_complete(w))                                                                         \
    X(9, step_fail(w))                                                                             \
    X(4, step_snooze(w))                                                                           \
    X(4, step_extend(w))                                                                           \
    X(2, step_checkpoint(w))                                                                       \
    X(12, step_control(w))                                                                         \
    X(2, step_bulk(w))                                                                             \
    X(3, step_priority(w))                                                                         \
    X(2, step_delete(w))                                                                           \
    X(1, step_queue(w))                                                                            \
    X(5, step_promote(w))                                                                          \
    X(4, step_lapse(w))                                                                            \
    X(3, step_expire(w))                                                                           \
    X(1, step_retire(w, PAWL__OP_ARCHIVE))                                                         \
    X(1, step_retire(w, PAWL__OP_PURGE))                                                           \
    X(12, step_clock(w))                                                                           \
    X(1, step_reopen(w))

static void take_step(struct world *w)
{
    int64_t total = 0;
#define X(weight, call) total += weight;
    STEPS_LIST(X)
#undef X
    int64_t draw = (int64_t)below(w, (uint64_t)total);
#define X(weight, call)                                                                            \
    if (draw < weight) {                                                                           \
        call;                                                                                      \
        return;                                                                                    \
    }                                                                                              \
    draw -= weight;
    STEPS_LIST(X)
#undef X
}

static void walk(struct world *w, int64_t steps)
{
    pawl__rng_seed(&w->rng, w->seed);
    w->model.now_ms = rig_now(&w->rig);
    pthread_mutex_init(&w->mirror.mutex, NULL);
    listen_to(w);
    for (w->step = 0; w->step < steps; w->step++) {
        take_step(w);
        if (w->step % LOOK_EVERY != LOOK_EVERY - 1) continue;
        compare_all(w);
        rig_tidy(&w->rig);
    }
    name_op(w, "the end");
    compare_all(w);
    rig_check(&w->rig);
}

static int set_up(void **state)
{
    struct world *w = *state;
    // Three in four on the quickest store, the first of the table; the rest take turns.
    size_t turn =
        w->seed % 4 == 0 && store_kind_count > 1 ? 1 + w->seed / 4 % (store_kind_count - 1) : 0;
    const struct store_kind *kind = &store_kinds[turn];
    rig_open(&w->rig, kind);
    w->store = kind->shared ? "sqlite:FILE (a new one)" : w->rig.url;
    return 0;
}

static void run_seed(void **state)
{
    walk(*state, STEPS);
}

static int tear_down(void **state)
{
    struct world *w = *state;
    rig_close(&w->rig);
    model_release(&w->model);
    free(w->mirror.at);
    return 0;
}

static int run_seeds(size_t count)
{
    struct CMUnitTest *tests = calloc(count, sizeof *tests);
    struct world *worlds = calloc(count, sizeof *worlds);
    char(*names)[32] = calloc(count, sizeof *names);
    if (tests == NULL || worlds == NULL || names == NULL) abort();
    for (size_t i = 0; i < count; i++) {
        worlds[i].seed = i + 1;
        snprintf(names[i], sizeof names[i], "seed %zu", i + 1);
        tests[i] = (struct CMUnitTest){ names[i], run_seed, set_up, tear_down, &worlds[i] };
    }
    int failed = _cmocka_run_group_tests("model", tests, count, NULL, NULL);
    free(names);
    free(worlds);
    free(tests);
    return failed;
}

static int run_one(uint64_t seed, int64_t steps, const char *url)
{
    static struct world w;
    w = (struct world){ .seed = seed, .store = url };
    rig_open_url(&w.rig, url);
    walk(&w, steps); // a difference ends the program
    printf("seed %llu: %lld steps, %zu jobs, no difference\n", (unsigned long long)seed,
           (long long)steps, w.model.count);
    rig_close(&w.rig);
    model_release(&w.model);
    free(w.mirror.at);
    return 0;
}

int main(int argc, char **argv)
{
    const char *seed = NULL, *steps = NULL, *url = "sqlite::memory:";
    for (int i = 1; i < argc; i += 2) {
        const char **option = strcmp(argv[i], "--seed") == 0    ? &seed
                              : strcmp(argv[i], "--steps") == 0 ? &steps
                              : strcmp(argv[i], "--store") == 0 ? &url
                                                                : NULL;
        if (option == NULL || i + 1 == argc) {
            fprintf(stderr, "usage: model_test [--seed N [--steps M] [--store URL]]\n");
            return 2;
        }
        *option = argv[i + 1];
    }
    if (seed == NULL) return run_seeds((size_t)scaled(SEEDS));
    return run_one(strtoull(seed, NULL, 10), steps != NULL ? strtoll(steps, NULL, 10) : STEPS, url);
}
