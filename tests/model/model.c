#include "model/model.h"

#include <assert.h>

void model_release(struct model *model)
{
    free(model->jobs);
    *model = (struct model){ 0 };
}

struct model model_copy(const struct model *model)
{
    struct model copy = *model;
    copy.jobs = calloc(model->cap ? model->cap : 1, sizeof *copy.jobs);
    if (copy.jobs == NULL) abort();
    if (model->count > 0) memcpy(copy.jobs, model->jobs, model->count * sizeof *copy.jobs);
    return copy;
}

struct model_job *model_find(struct model *model, struct pawl_job_id id)
{
    for (size_t i = model->count; i > 0; i--) {
        struct model_job *job = &model->jobs[i - 1];
        if (!job->gone && memcmp(job->id.b, id.b, sizeof id.b) == 0) return job;
    }
    return NULL;
}

int64_t model_rank(const struct model_job *job)
{
    struct pawl__rank_of of = { .due_at_ms = job->due_at_ms,
                                .priority = job->priority,
                                .boost_ms = PAWL__RANK_BOOST_MS,
                                .sla_soft_at_ms = job->sla_soft_at_ms,
                                .sla_hard_at_ms = job->sla_hard_at_ms };
    return pawl__rank(&of);
}

int64_t model_attempt(const struct model_job *job)
{
    return job->run - job->base_run;
}

bool model_expired(const struct model *model, const struct model_job *job)
{
    return job->expires_at_ms != 0 && job->expires_at_ms <= model->now_ms;
}

bool model_owns(const struct model_job *job, int64_t run)
{
    return job->state == PAWL_STATE_ACTIVE && job->run == run;
}

bool model_ended(const struct model_job *job)
{
    return pawl_state_is_terminal(job->state);
}

/* ---- moves ---- */

static void end(struct model *model, struct model_job *job, enum pawl_state state)
{
    job->state = state;
    job->finished_at_ms = model->now_ms;
    job->lease_until_ms = 0;
    job->routed = false;
    job->paused_from = PAWL_STATE_NONE;
    job->dead_letter = false;
}

static void wait_in(struct model_job *job, enum pawl_state state, int64_t due_at_ms)
{
    job->state = state;
    job->due_at_ms = due_at_ms;
    job->lease_until_ms = 0;
    job->routed = false;
}

static int compare_ranks(const struct model_job *a, const struct model_job *b)
{
    int64_t x = model_rank(a), y = model_rank(b);
    if (x != y) return x < y ? -1 : 1;
    return memcmp(a->id.b, b->id.b, sizeof a->id.b);
}

static bool claimable(const struct model *model, const struct model_job *job, int32_t queue,
                      uint32_t types)
{
    return !job->gone && job->state == PAWL_STATE_AVAILABLE && job->queue == queue &&
           (types >> job->type & 1) && !model_expired(model, job);
}

/* Best first, by looking at all of them again for each place. */
size_t model_claimable(const struct model *model, const int32_t *queues, size_t queue_count,
                       uint32_t types, size_t limit, size_t *out)
{
    size_t count = 0;
    for (size_t q = 0; q < queue_count; q++) {
        if (model->paused[queues[q]]) continue;
        while (count < limit) {
            size_t best = SIZE_MAX;
            for (size_t i = 0; i < model->count; i++) {
                bool taken = false;
                for (size_t k = 0; k < count; k++)
                    taken = taken || out[k] == i;
                if (taken || !claimable(model, &model->jobs[i], queues[q], types)) continue;
                if (best == SIZE_MAX || compare_ranks(&model->jobs[i], &model->jobs[best]) < 0)
                    best = i;
            }
            if (best == SIZE_MAX) break;
            out[count++] = best;
        }
    }
    return count;
}

void model_start(struct model *model, struct model_job *job, int32_t worker, int64_t lease_ms)
{
    job->state = PAWL_STATE_ACTIVE;
    job->routed = false;
    job->run++;
    job->worker = worker;
    job->started_at_ms = model->now_ms;
    job->lease_until_ms = model->now_ms + (job->lease_ms != 0 ? job->lease_ms : lease_ms);
}

void model_route(struct model *model, struct model_job *job, int32_t worker, int64_t lease_ms)
{
    job->state = PAWL_STATE_PENDING;
    job->routed = true;
    job->worker = worker;
    job->lease_until_ms = model->now_ms + lease_ms;
}

void model_complete(struct model *model, struct model_job *job)
{
    end(model, job, PAWL_STATE_COMPLETED);
}

static void give_back(struct model_job *job)
{
    job->free_runs++;
    wait_in(job, PAWL_STATE_AVAILABLE, job->due_at_ms);
}

struct pawl__verdict model_fail(struct model *model, struct model_job *job,
                                const struct pawl_report *report)
{
    int64_t charged = model_attempt(job) - job->free_runs;
    struct pawl__verdict verdict = pawl__retry_decide(&job->retry, report, charged, NULL);
    if (verdict.kind == PAWL__VERDICT_REQUEUE) {
        give_back(job);
        return verdict;
    }
    job->failures++;
    if (verdict.kind != PAWL__VERDICT_RETRY) {
        end(model, job, PAWL_STATE_DISCARDED);
        job->dead_letter = verdict.kind == PAWL__VERDICT_DEAD_LETTER;
    } else if (model_expired(model, job)) {
        end(model, job, PAWL_STATE_EXPIRED);
        verdict.delay_ms = -1;
    } else {
        wait_in(job, PAWL_STATE_RETRYABLE, model->now_ms + verdict.delay_ms);
    }
    return verdict;
}

void model_snooze(struct model *model, struct model_job *job, int64_t delay_ms)
{
    if (delay_ms <= 0) {
        give_back(job);
        return;
    }
    job->free_runs++;
    wait_in(job, PAWL_STATE_SCHEDULED, model->now_ms + delay_ms);
}

bool model_lapsed(const struct model *model, const struct model_job *job)
{
    bool leased = job->state == PAWL_STATE_ACTIVE || job->routed;
    return !job->gone && leased && job->lease_until_ms <= model->now_ms;
}

void model_lapse(struct model *model, struct model_job *job)
{
    if (job->routed) {
        wait_in(job, PAWL_STATE_AVAILABLE, job->due_at_ms);
        return;
    }
    job->failures++;
    job->crashes++;
    bool spent = model_attempt(job) - job->free_runs >= job->retry.attempts_max;
    if (spent || job->crashes >= PAWL__CRASHES_MAX) {
        end(model, job, PAWL_STATE_DISCARDED);
        job->dead_letter = job->retry.on_exhaustion == PAWL_EXHAUSTION_DEAD_LETTER;
    } else {
        wait_in(job, PAWL_STATE_AVAILABLE, job->due_at_ms);
    }
}

void model_expire(struct model *model, struct model_job *job)
{
    end(model, job, PAWL_STATE_EXPIRED);
}

bool model_due(const struct model *model, const struct model_job *job)
{
    bool waits = job->state == PAWL_STATE_SCHEDULED || job->state == PAWL_STATE_RETRYABLE;
    return !job->gone && waits && job->due_at_ms <= model->now_ms;
}

void model_promote(struct model_job *job)
{
    wait_in(job, PAWL_STATE_AVAILABLE, job->due_at_ms);
}

/* ---- control ---- */

static enum pawl_event event_of(enum pawl_control control)
{
#define X(number, name, verb, event, ...) [number] = PAWL_EVENT_##event,
    static const enum pawl_event events[PAWL_CONTROL_END] = { PAWL_CONTROLS(X) };
#undef X
    return events[control];
}

bool model_control_moves(const struct model_job *job, enum pawl_control control)
{
    return pawl__lifecycle_next(job->state, event_of(control), job->paused_from) != PAWL_STATE_NONE;
}

static bool business_key_taken(const struct model *model, const struct model_job *job)
{
    for (size_t k = 0; k < job->key_count; k++) {
        const struct model_key *key = &job->keys[k];
        if (key->kind != PAWL__KEY_BUSINESS) continue;
        for (size_t i = 0; i < model->count; i++) {
            const struct model_job *other = &model->jobs[i];
            if (other == job || other->gone || model_ended(other)) continue;
            for (size_t o = 0; o < other->key_count; o++)
                if (other->keys[o].kind == key->kind && other->keys[o].name == key->name)
                    return true;
        }
    }
    return false;
}

static void pause_job(struct model_job *job)
{
    // A route is not remembered: what was routed comes back as available.
    job->paused_from = job->routed ? PAWL_STATE_AVAILABLE : job->state;
    job->state = PAWL_STATE_PAUSED;
    job->routed = job->archived = false;
    job->lease_until_ms = 0;
}

static void revive(struct model *model, struct model_job *job)
{
    wait_in(job, PAWL_STATE_AVAILABLE, model->now_ms);
    job->base_run = job->run;
    job->free_runs = job->crashes = 0;
    job->finished_at_ms = job->expires_at_ms = 0;
    job->archived = job->dead_letter = false;
}

enum pawl_err model_control(struct model *model, struct model_job *job, enum pawl_control control)
{
    if (control == PAWL_CONTROL_PAUSE && job->state == PAWL_STATE_PAUSED) return PAWL_OK;
    enum pawl_state to = pawl__lifecycle_next(job->state, event_of(control), job->paused_from);
    if (to == PAWL_STATE_NONE) return PAWL_ERR_STATE;
    switch (control) {
    case PAWL_CONTROL_PAUSE:
        pause_job(job);
        break;
    case PAWL_CONTROL_RESUME:
        job->state = to;
        job->paused_from = PAWL_STATE_NONE;
        break;
    case PAWL_CONTROL_RETRY:
        if (business_key_taken(model, job)) return PAWL_ERR_DUPLICATE;
        revive(model, job);
        break;
    case PAWL_CONTROL_PROMOTE:
        wait_in(job, PAWL_STATE_AVAILABLE,
                job->due_at_ms < model->now_ms ? job->due_at_ms : model->now_ms);
        break;
    case PAWL_CONTROL_ACTIVATE:
        wait_in(job, PAWL_STATE_AVAILABLE, job->due_at_ms);
        break;
    default:
        end(model, job, to);
    }
    return PAWL_OK;
}

/* ---- submit ---- */

static bool meets(const struct model *model, const struct model_key *key,
                  const struct model_job *holder)
{
    for (size_t k = 0; k < holder->key_count; k++) {
        const struct model_key *held = &holder->keys[k];
        if (held->kind != key->kind || held->name != key->name) continue;
        if (key->kind == PAWL__KEY_IDEMPOTENCY)
            return held->until_ms == 0 || held->until_ms > model->now_ms;
        if (holder->gone || !(key->states & PAWL_STATE_BIT(holder->state))) return false;
        return key->period_ms == 0 || holder->created_at_ms + key->period_ms > model->now_ms;
    }
    return false;
}

size_t model_conflicts(const struct model *model, const struct model_key *key, size_t *out)
{
    size_t count = 0;
    for (size_t i = 0; i < model->count; i++)
        if (meets(model, key, &model->jobs[i])) out[count++] = i;
    return count;
}

static size_t append(struct model *model, const struct model_job *job)
{
    if (model->count == model->cap) {
        model->cap = model->cap ? model->cap * 2 : 64;
        model->jobs = realloc(model->jobs, model->cap * sizeof *model->jobs);
        if (model->jobs == NULL) abort();
    }
    model->jobs[model->count] = *job;
    return model->count++;
}

/* The newcomer replaces whom its key meets; `*due` becomes a cancelled one's, if it is to stay. */
static bool replace(struct model *model, const struct model_key *key, const size_t *met,
                    size_t count, int64_t *due)
{
    bool replaced = false;
    for (size_t i = 0; i < count; i++) {
        struct model_job *holder = &model->jobs[met[i]];
        if (model_ended(holder)) continue;
        if (key->on_conflict == PAWL_CONFLICT_REPLACE_EXCEPT_SCHEDULE) *due = holder->due_at_ms;
        end(model, holder, PAWL_STATE_CANCELLED);
        replaced = true;
    }
    return replaced;
}

/* Asks the keys; false when that settles it. */
static bool ask_keys(struct model *model, const struct model_job *job, int64_t *due,
                     struct model_submitted *out)
{
    size_t *met = calloc(model->count + 1, sizeof *met);
    if (met == NULL) abort();
    for (size_t k = 0; k < job->key_count && out->err == PAWL_OK && !out->deduplicated; k++) {
        const struct model_key *key = &job->keys[k];
        size_t count = model_conflicts(model, key, met);
        if (count == 0) continue;
        if (key->on_conflict == PAWL_CONFLICT_REJECT) {
            out->err = PAWL_ERR_DUPLICATE;
        } else if (key->on_conflict == PAWL_CONFLICT_IGNORE) {
            out->deduplicated = true;
        } else if (replace(model, key, met, count, due)) {
            out->replaced = true;
        }
    }
    free(met);
    return out->err == PAWL_OK && !out->deduplicated;
}

struct model_submitted model_submit(struct model *model, const struct model_job *given,
                                    int64_t expires_in_ms, bool pending)
{
    struct model_submitted out = { 0 };
    struct model_job job = *given;
    bool taken = model_find(model, job.id) != NULL;
    if (!ask_keys(model, &job, &job.due_at_ms, &out)) {
        out.other_err = taken && out.err != PAWL_OK ? PAWL_ERR_EXISTS : out.err;
        return out;
    }
    if (taken) {
        out.err = out.other_err = PAWL_ERR_EXISTS;
        return out;
    }
    if (job.due_at_ms < model->now_ms) job.due_at_ms = model->now_ms;
    if (expires_in_ms != 0) job.expires_at_ms = job.due_at_ms + expires_in_ms;
    job.created_at_ms = model->now_ms;
    job.state = pending                         ? PAWL_STATE_PENDING
                : job.due_at_ms > model->now_ms ? PAWL_STATE_SCHEDULED
                                                : PAWL_STATE_AVAILABLE;
    for (size_t k = 0; k < job.key_count; k++)
        if (job.keys[k].kind == PAWL__KEY_IDEMPOTENCY && job.keys[k].period_ms != 0)
            job.keys[k].until_ms = model->now_ms + job.keys[k].period_ms;
    out.job = append(model, &job);
    return out;
}
