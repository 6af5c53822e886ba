/* Steps of submitters and workers. */
#include "model/world.h"

enum { KEY_NAMES = 40, BATCH = 5 };

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
    if (chance(w, 10)) {
        d->spec.lease_ms = d->job.lease_ms = PAWL_LEASE_MIN_MS + (int64_t)below(w, 60000);
    }
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

void step_submit(struct world *w)
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

void step_claim(struct world *w, enum pawl__op_kind kind)
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

/* A routed job is assigned to its worker, or given back. */
void step_assign(struct world *w)
{
    struct model_job *m = chance(w, 90) ? pick_in(w, PAWL_STATE_PENDING) : pick(w);
    if (m == NULL) return;
    int32_t worker = chance(w, 85) ? m->worker : (int32_t)below(w, MODEL_WORKERS);
    int64_t token = m->lease_until_ms + (chance(w, 10) ? 1 : 0);
    bool back = chance(w, 25);
    name_op(w, "%s %s", back ? "unroute" : "assign", id_text(w, m->id));
    bool good = !m->gone && m->routed && m->worker == worker && token == m->lease_until_ms &&
                m->lease_until_ms > w->model.now_ms;
    enum pawl_err expected = m->gone ? PAWL_ERR_NOT_FOUND : good ? PAWL_OK : PAWL_ERR_STALE;
    struct pawl_job job = { 0 };
    enum pawl_err err = back ? unroute(&w->rig, m->id, worker_names[worker], token)
                             : assign(&w->rig, m->id, worker_names[worker], token, &job);
    if (good && err == PAWL_ERR_STALE && model_expired(&w->model, m)) {
        adopt_expiry(w, m); // its time was over while it was routed
        return;
    }
    same_err(w, expected, err);
    if (err != PAWL_OK) return;
    if (back) {
        model_lapse(&w->model, m);
        adopt_expiry(w, m);
        look_at(w, m);
        return;
    }
    model_start(&w->model, m, worker, LEASE_MS);
    compare_job(w, m, &job);
}

/* ---- owners ---- */

void step_complete(struct world *w)
{
    struct pawl_run ref;
    struct model_job *m = pick_run(w, &ref);
    if (m == NULL) return;
    name_op(w, "complete %s run %lld", id_text(w, m->id), (long long)ref.run);
    enum pawl_err expected = fence(m, ref.run);
    same_err(w, expected, complete(&w->rig, ref, chance(w, 50) ? "{\"x\":1}" : NULL));
    if (expected == PAWL_OK) model_complete(&w->model, m);
    look_at(w, m);
}

void step_fail(struct world *w)
{
    struct pawl_run ref;
    struct model_job *m = pick_run(w, &ref);
    if (m == NULL) return;
    struct pawl_report report = { .type = "x.y", .message = "no" };
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

void step_snooze(struct world *w)
{
    struct pawl_run ref;
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

void step_extend(struct world *w)
{
    struct pawl_run ref;
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

void step_checkpoint(struct world *w)
{
    struct pawl_run ref;
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
