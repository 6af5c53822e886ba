/* One batch of operations, one transaction; the same for every store.
 *
 * 1. In order, as far as anybody can see. Claims that were posted singly are put off while only
 *    operations come that name their jobs, for each would have to write first what those change.
 * 2. Plain submits and completions do not enter the set: they are gathered, and handed to the
 *    backend together. What is gathered is written before the set is run, and what the backend
 *    refuses of it is decided by the set, before all that came behind.
 * 3. An operation that fails for reasons of its own (a lost race, a broken rule) has changed
 *    nothing, and leaves the transaction whole. Any other error fails the batch.
 * 4. A batch of which nothing was committed may be done again, a bounded number of times: rules
 * have no effect outside of the set. */
#include "store/core/keys.h"

#include "base/diag.h"
#include "store/core/course.h"
#include "store/core/deadline.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES_MAX = 5 };

bool pawl__err_is_own(enum pawl_err err)
{
    switch (err) {
    case PAWL_ERR_ARG:
    case PAWL_ERR_NOT_FOUND:
    case PAWL_ERR_EXISTS:
    case PAWL_ERR_DUPLICATE:
    case PAWL_ERR_STATE:
    case PAWL_ERR_STALE:
    case PAWL_ERR_HELD:
        return true;
    default:
        return false;
    }
}

/* ---- plain submits ---- */

static bool room_for(struct pawl__set *set, size_t jobs)
{
    struct pawl__gathered *gathered = &set->gathered;
    struct pawl__op **submits =
        PAWL__SET_GROW(set, gathered->submits, gathered->submit_cap, gathered->submit_count);
    if (submits) gathered->submits = submits;
    struct pawl__new *news = pawl__room_for(gathered->news, &gathered->new_cap,
                                            gathered->new_count + jobs + 1, sizeof *news);
    if (news) gathered->news = news;
    return submits && news;
}

/* Nothing is gathered of jobs of which one has to go through the set. */
static enum pawl_err gather_jobs(struct pawl__set *set, const struct pawl__new_job *jobs,
                                 size_t count, bool *taken)
{
    const struct pawl__quick *quick = pawl__core_quick(set->table);
    struct pawl__gathered *gathered = &set->gathered;
    for (size_t i = 0; quick->suits && i < count; i++) {
        if (!quick->suits(set->backend, &jobs[i])) return PAWL_OK;
    }
    if (!room_for(set, count)) return pawl__fail_nomem(set->diag);
    for (size_t i = 0; i < count; i++) {
        const struct pawl__new_job *job = &jobs[i];
        struct pawl__new *to = &gathered->news[gathered->new_count + i];
        enum pawl_err err =
            set->table->lane(set->backend, job->spec->queue, job->spec->type, &to->lane, NULL);
        if (err) return pawl__err_is_own(err) ? PAWL_OK : err; // the rule says why
        to->job = job;
        to->settled =
            pawl__settle(job->spec, &(struct pawl__settling){ set->now_ms, set->boost_ms, 0 });
    }
    *taken = true;
    gathered->new_count += count;
    return PAWL_OK;
}

static enum pawl_err gather_submit(struct pawl__set *set, struct pawl__op *op, bool *taken)
{
    struct pawl__gathered *gathered = &set->gathered;
    enum pawl_err err = gather_jobs(set, op->submit.jobs, op->submit.count, taken);
    if (!err && *taken) gathered->submits[gathered->submit_count++] = op;
    return err;
}

static void accept(struct pawl__set *set, const struct pawl__new *job, struct pawl_submitted *out)
{
    enum pawl_state state = job->settled.state;
    *out = (struct pawl_submitted){ .id = job->job->id, .state = state };
    pawl__set_moved(
        set, &(struct pawl__plain_move){
                 .id = job->job->id, .lane = job->lane, .from = PAWL__OUTSIDE, .to = state });
    if (state == PAWL_STATE_SCHEDULED) pawl__notices_due(&set->notices, job->settled.due_at_ms);
}

/* An id is taken after all. */
static enum pawl_err submit_by_set(struct pawl__set *set)
{
    enum pawl_err err = PAWL_OK;
    size_t count = set->gathered.submit_count;
    for (size_t i = 0; !err && i < count; i++) {
        err = pawl__core_add(set, set->gathered.submits[i]);
    }
    if (!err) pawl__core_came_first(set, count);
    return err;
}

static enum pawl_err flush_submits(struct pawl__set *set)
{
    struct pawl__gathered *gathered = &set->gathered;
    const struct pawl__new *job = gathered->news;
    bool taken = false;
    if (!gathered->new_count) return PAWL_OK;
    enum pawl_err err =
        pawl__core_quick(set->table)->submit_plain(set->backend, job, gathered->new_count, &taken);
    if (!err && taken) err = submit_by_set(set);
    for (size_t i = 0; !err && !taken && i < gathered->submit_count; i++) {
        struct pawl__op *op = gathered->submits[i];
        for (size_t k = 0; k < op->submit.count; k++) {
            accept(set, job++, &op->submit.out[k]);
        }
    }
    gathered->submit_count = gathered->new_count = 0;
    return err;
}

/* ---- plain jobs that a rule makes ---- */

enum pawl_err pawl__core_plain(struct pawl__set *set, const struct pawl__new_job *job, bool *taken)
{
    bool plain = job->fresh_id && !job->key_count && !pawl__first_deadline(job->spec);
    *taken = false;
    if (!pawl__core_quick(set->table)->submit_plain || set->careful || !plain) return PAWL_OK;
    return gather_jobs(set, job, 1, taken);
}

/* What could not be written so goes through the set. */
static enum pawl_err submit_all(struct pawl__set *set, const struct pawl__new *news, size_t count)
{
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < count; i++) {
        struct pawl__op ask = { .kind = PAWL__OP_SUBMIT,
                                .submit = { .jobs = news[i].job, .count = 1 } };
        struct pawl_submitted out;
        err = pawl__submit_one(set, &ask, news[i].job, &out);
    }
    return err;
}

enum pawl_err pawl__core_plain_write(struct pawl__set *set)
{
    struct pawl__gathered *gathered = &set->gathered;
    const struct pawl__new *news = gathered->news;
    size_t count = gathered->new_count;
    bool taken = false;
    assert(!gathered->submit_count); // or the answers would be for those
    if (!count) return PAWL_OK;
    gathered->new_count = 0;
    enum pawl_err err =
        pawl__core_quick(set->table)->submit_plain(set->backend, news, count, &taken);
    if (err) return err;
    if (taken) return submit_all(set, news, count);
    for (size_t i = 0; i < count; i++) {
        struct pawl_submitted out;
        accept(set, &news[i], &out);
    }
    return PAWL_OK;
}

/* ---- plain completions ---- */

static enum pawl_err gather_end(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl__gathered *gathered = &set->gathered;
    struct pawl__ending *ends =
        PAWL__SET_GROW(set, gathered->ends, gathered->end_cap, gathered->end_count);
    if (!ends) return pawl__fail_nomem(set->diag);
    gathered->ends = ends;
    ends[gathered->end_count++] = (struct pawl__ending){ .op = op };
    return PAWL_OK;
}

static void accept_end(struct pawl__set *set, const struct pawl__ending *end)
{
    const struct pawl_run *ref = &end->op->complete.ref;
    pawl__set_moved(set, &(struct pawl__plain_move){ .id = ref->id,
                                                     .run = ref->run,
                                                     .lane = end->lane,
                                                     .from = PAWL_STATE_ACTIVE,
                                                     .to = PAWL_STATE_COMPLETED });
}

/* Those that own no run are decided by the set, which says why. */
static enum pawl_err flush_ends(struct pawl__set *set)
{
    struct pawl__gathered *gathered = &set->gathered;
    size_t count = gathered->end_count, before = set->op_count;
    if (!count) return PAWL_OK;
    gathered->end_count = 0;
    enum pawl_err err =
        pawl__core_quick(set->table)->finish_plain(set->backend, gathered->ends, count);
    for (size_t i = 0; !err && i < count; i++) {
        if (gathered->ends[i].done) {
            accept_end(set, &gathered->ends[i]);
        } else {
            err = pawl__core_add(set, gathered->ends[i].op);
        }
    }
    if (!err) pawl__core_came_first(set, set->op_count - before);
    return err;
}

/* ---- one operation ---- */

static enum pawl_err gather(struct pawl__set *set, struct pawl__op *op, bool *taken)
{
    const struct pawl__quick *quick = pawl__core_quick(set->table);
    *taken = false;
    if (set->lone && !quick->for_one) return PAWL_OK;
    if (op->kind == PAWL__OP_SUBMIT && quick->submit_plain) return gather_submit(set, op, taken);
    if (op->kind != PAWL__OP_COMPLETE || !quick->finish_plain) return PAWL_OK;
    *taken = true;
    return gather_end(set, op);
}

/* What was gathered first: nothing in the set is about it, or could be seen by it. */
static enum pawl_err flush(struct pawl__set *set)
{
    enum pawl_err err = flush_submits(set);
    if (!err) err = flush_ends(set);
    return err ? err : pawl__core_run(set);
}

/* What a claim must see: completions can wait, unless it was posted in a list behind them, for they
 * must not find the claim's run. */
static enum pawl_err flush_before(struct pawl__set *set, const struct pawl__op *op)
{
    bool ends = op->chained && set->gathered.end_count;
    if (op->kind != PAWL__OP_CLAIM || ends) return flush(set);
    enum pawl_err err = flush_submits(set);
    return err || pawl__set_is_empty(set) ? err : flush(set);
}

static enum pawl_err apply_one(struct pawl__set *set, struct pawl__op *op)
{
    assert(op->kind < PAWL__OP_END);
    bool taken = false;
    op->now_ms = set->now_ms;
    op->err = PAWL_OK;
    enum pawl_err err = pawl__core_precedes(set, op) ? flush(set) : PAWL_OK;
    if (!err && !pawl__core_takes(set, op)) err = gather(set, op, &taken);
    if (err || taken) return err;
    if (pawl__core_decides(op)) return pawl__core_add(set, op);
    err = flush_before(set, op);
    return err ? err : pawl__core_scan(set, op);
}

/* ---- in order ---- */

struct put_off {
    struct pawl__op *first, **last;
};

static bool can_wait(const struct pawl__op *op)
{
    return op->kind == PAWL__OP_CLAIM && !op->chained;
}

static enum pawl_err apply_put_off(struct pawl__set *set, struct put_off *claims,
                                   pawl__apply_one_fn *one)
{
    enum pawl_err err = PAWL_OK;
    for (struct pawl__op *op = claims->first; op && !err; op = op->next) {
        err = one(set, op);
    }
    *claims = (struct put_off){ .first = NULL, .last = &claims->first };
    return err;
}

enum pawl_err pawl__core_each(struct pawl__set *set, struct pawl__op **ops, size_t count,
                              pawl__apply_one_fn *one)
{
    struct put_off claims = { .first = NULL, .last = &claims.first };
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < count; i++) {
        struct pawl__op *op = ops[i];
        if (can_wait(op)) {
            op->next = NULL;
            *claims.last = op;
            claims.last = &op->next;
            continue;
        }
        if (!pawl__core_decides(op)) err = apply_put_off(set, &claims, one);
        if (!err) err = one(set, op);
    }
    return err ? err : apply_put_off(set, &claims, one);
}

enum pawl_err pawl__core_do(struct pawl__set *set, struct pawl__op **ops, size_t count)
{
    set->lone = count == 1 && (ops[0]->kind != PAWL__OP_SUBMIT || ops[0]->submit.count == 1);
    enum pawl_err err = pawl__core_each(set, ops, count, apply_one);
    return err ? err : flush(set);
}

/* ---- one transaction ---- */

static enum pawl_err transact(struct pawl__set *set, struct pawl__op **ops, size_t count)
{
    const struct pawl__core_table *table = set->table;
    pawl__notices_begin(&set->notices);
    enum pawl_err err = table->begin(set->backend, ops, count);
    if (!err) err = pawl__core_do(set, ops, count);
    if (!err) err = table->commit(set->backend);
    set->gathered.submit_count = set->gathered.new_count = set->gathered.end_count = 0;
    pawl__set_clear(set);
    if (err) table->rollback(set->backend);
    pawl__catalog_forget_counts(&set->catalog);
    return err;
}

enum pawl_err pawl__core_apply(struct pawl__set *set, struct pawl__op **ops, size_t count,
                               struct pawl_diag *diag)
{
    const struct pawl__core_table *table = set->table;
    struct pawl__op *left[PAWL__PEEK_MAX];
    enum pawl_err err = PAWL_OK;
    set->diag = diag;
    set->careful = false;
    size_t all = count;
    count = pawl__core_peek(set, ops, count, left);
    if (count < all) ops = left;
    if (!count) pawl__notices_begin(&set->notices); // and that is all of it
    for (int tries = 1; count; tries++) {
        err = transact(set, ops, count);
        enum pawl__retry retry = err && table->retry ? table->retry(set->backend) : PAWL__RETRY_NO;
        if (retry == PAWL__RETRY_NO || tries == TRIES_MAX) break;
        set->careful |= retry == PAWL__RETRY_CAREFULLY;
    }
    set->diag = NULL;
    return err;
}
