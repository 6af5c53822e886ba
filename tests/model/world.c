#include "model/world.h"

const char *const queue_names[MODEL_QUEUES] = { "q0", "q1", "q2" };
const char *const type_names[MODEL_TYPES] = { "t0", "t1", "t2" };
const char *const worker_names[MODEL_WORKERS] = { "w0", "w1", "w2" };

uint64_t below(struct world *w, uint64_t bound)
{
    return pawl__rng_below(&w->rng, bound);
}

bool chance(struct world *w, uint64_t percent)
{
    return below(w, 100) < percent;
}

const char *state_name(enum pawl_state state)
{
    return pawl_state_name(state, PAWL_VOCABULARY_PAWL);
}

void name_op(struct world *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(w->op, sizeof w->op, format, args);
    va_end(args);
}

void differ(struct world *w, const char *format, ...)
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

void same(struct world *w, const char *what, int64_t expected, int64_t actual)
{
    if (expected != actual)
        differ(w, "%s: the model says %lld, the store %lld", what, (long long)expected,
               (long long)actual);
}

void same_err(struct world *w, enum pawl_err expected, enum pawl_err actual)
{
    if (expected != actual)
        differ(w, "the model says %s, the store %s: %s", pawl_err_name(expected),
               pawl_err_name(actual), actual == PAWL_OK ? "" : w->rig.diag.text);
}

const char *id_text(struct world *w, struct pawl_job_id id)
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

void compare_job(struct world *w, const struct model_job *m, const struct pawl_job *job)
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

void look_at(struct world *w, const struct model_job *m)
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

void listen_to(struct world *w)
{
    assert_ok(&w->rig, pawl__store_watch(w->rig.store, hear, &w->mirror, true, &w->rig.diag));
}

/* Notices follow the answers, so a further answer means that the earlier notices are here. */
void compare_told(struct world *w)
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

void compare_all(struct world *w)
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

bool is_odd(const struct world *w, const struct model_job *m)
{
    for (size_t i = 0; i < w->model.count; i++) {
        const struct model_job *other = &w->model.jobs[i];
        if (other != m && memcmp(other->id.b, m->id.b, 8) == 0) return true;
    }
    return false;
}

void adopt_expiry(struct world *w, struct model_job *m)
{
    bool open = !m->gone && !model_ended(m) && m->state != PAWL_STATE_PAUSED &&
                m->state != PAWL_STATE_ACTIVE && model_expired(&w->model, m);
    if (open && state_of(&w->rig, m->id) == PAWL_STATE_EXPIRED) model_expire(&w->model, m);
}

/* ---- picking ---- */

struct model_job *pick(struct world *w)
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

struct model_job *pick_in(struct world *w, enum pawl_state state)
{
    size_t seen = 0, at = SIZE_MAX;
    for (size_t i = 0; i < w->model.count; i++) {
        const struct model_job *m = &w->model.jobs[i];
        if (!m->gone && m->state == state && below(w, ++seen) == 0) at = i;
    }
    return at == SIZE_MAX ? NULL : &w->model.jobs[at];
}

struct model_job *pick_run(struct world *w, struct pawl_run *ref)
{
    struct model_job *m = chance(w, 80) ? pick_in(w, PAWL_STATE_ACTIVE) : pick(w);
    if (m == NULL) return NULL;
    *ref = (struct pawl_run){ .id = m->id, .run = m->run };
    if (chance(w, 10)) ref->run += (int64_t)below(w, 3) - 1;
    return m;
}

enum pawl_err fence(const struct model_job *m, int64_t run)
{
    if (m->gone) return PAWL_ERR_NOT_FOUND;
    return model_owns(m, run) ? PAWL_OK : PAWL_ERR_STALE;
}
