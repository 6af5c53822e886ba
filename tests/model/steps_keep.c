/* Steps of operators, of time and of the store itself. */
#include "model/world.h"

/* ---- operators ---- */

void step_control(struct world *w)
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

void step_priority(struct world *w)
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

void step_delete(struct world *w)
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

void step_bulk(struct world *w)
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

void step_queue(struct world *w)
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

void step_promote(struct world *w)
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

void step_lapse(struct world *w)
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

void step_expire(struct world *w)
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

void step_retire(struct world *w, enum pawl__op_kind kind)
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

void step_clock(struct world *w)
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

void step_reopen(struct world *w)
{
    bool wanted = chance(w, 20); // drawn in any case: a seed is the same walk on every store
    bool forgets = strstr(w->rig.url, "memory:") != NULL; // "sqlite::memory:" and "memory:"
    if (!wanted || forgets) return;
    name_op(w, "reopen");
    compare_told(w);
    rig_reopen(&w->rig);
    listen_to(w);
}
