/* Looking before leaping: a process with nothing to do claims and sweeps all the same, for notices
 * can be lost. Where a store can tell by one statement whether there is anything to be claimed or
 * swept, and there is not, all is answered by that, and no transaction is begun. */
#include "store/core/set.h"

#include "store/core/settle.h"

#include <assert.h>

/* ---- what to look for ---- */

static void add_retired(const struct pawl__op *op, uint32_t *states, int64_t *age_ms)
{
    if (!*states || op->retire.age_ms < *age_ms) *age_ms = op->retire.age_ms;
    *states |= op->retire.states;
}

/* True: the look can answer it. */
static bool add_op(struct pawl__peek *peek, const struct pawl__op *op)
{
    switch (op->kind) {
    case PAWL__OP_ARCHIVE:
        add_retired(op, &peek->ended_states, &peek->ended_age_ms);
        return true;
    case PAWL__OP_PURGE:
        add_retired(op, &peek->old_states, &peek->old_age_ms);
        return true;
    case PAWL__OP_CLAIM:
    case PAWL__OP_PROMOTE:
    case PAWL__OP_LAPSE:
    case PAWL__OP_EXPIRE:
    case PAWL__OP_DEADLINE:
    case PAWL__OP_SETTLE:
    case PAWL__OP_FIRE:
        return true;
    default:
        return false;
    }
}

/* All lanes that the claims may take from, and a few more: types are not asked about. How many;
 * they are listed, unless `out` is NULL. */
static size_t list_lanes(const struct pawl__set *set, struct pawl__op **ops, size_t count,
                         uint32_t *out)
{
    const struct pawl__catalog *catalog = &set->catalog;
    size_t lanes = 0;
    for (size_t i = 0; i < count; i++) {
        if (ops[i]->kind != PAWL__OP_CLAIM) continue;
        for (size_t k = 0; k < ops[i]->claim.queue_count; k++) {
            const struct pawl__queue *queue = pawl__catalog_queue(catalog, ops[i]->claim.queues[k]);
            if (!queue || queue->paused) continue;
            for (uint32_t at = queue->first_lane; at; at = catalog->lanes[at - 1]->next_lane) {
                if (out) out[lanes] = at - 1;
                lanes++;
            }
        }
    }
    return lanes;
}

/* Heartbeats neither move a job nor wait for one. Whatever else is in the batch, it has a
 * transaction anyway; and a claim after one that found jobs will find more, if it has any lanes. */
static bool is_worth_it(const struct pawl__set *set, struct pawl__op **ops, size_t count,
                        struct pawl__peek *peek)
{
    size_t can = 0;
    bool claims = false;
    for (size_t i = 0; i < count; i++) {
        bool answers = add_op(peek, ops[i]);
        if (!answers && ops[i]->kind != PAWL__OP_NODE_PUT) return false;
        can += answers;
        claims |= ops[i]->kind == PAWL__OP_CLAIM;
    }
    peek->lane_count = list_lanes(set, ops, count, NULL);
    return can && (!claims || set->claims_empty || !peek->lane_count);
}

/* ---- what was seen ---- */

/* 0 is never. */
static int64_t earlier(int64_t a, int64_t b)
{
    return a && (!b || a < b) ? a : b;
}

/* When the next one of a sweep is due; 0: nothing waits for it. */
static int64_t next_of(const struct pawl__op *op, const struct pawl__peek *peek)
{
    switch (op->kind) {
    case PAWL__OP_PROMOTE:
        return peek->run_at_ms;
    case PAWL__OP_LAPSE:
        return peek->lease_at_ms;
    case PAWL__OP_SETTLE:
        if (peek->unsettled_at_ms) return peek->unsettled_at_ms;
        return earlier(peek->recount_at_ms, peek->flow_at_ms);
    case PAWL__OP_FIRE:
        return peek->fire_at_ms;
    case PAWL__OP_DEADLINE: // one that is now is met by what ends now
        return peek->deadline_at_ms ? peek->deadline_at_ms + 1 : 0;
    default:
        assert(op->kind == PAWL__OP_EXPIRE);
        return peek->expiry_at_ms;
    }
}

static bool is_due(int64_t at_ms, const struct pawl__peek *peek)
{
    return at_ms && at_ms <= peek->now_ms;
}

static bool is_nothing(const struct pawl__op *op, const struct pawl__peek *peek)
{
    switch (op->kind) {
    case PAWL__OP_CLAIM:
        return !peek->ready;
    case PAWL__OP_ARCHIVE:
        return !peek->ended;
    case PAWL__OP_PURGE:
        return !peek->old;
    case PAWL__OP_NODE_PUT:
        return true;
    case PAWL__OP_SETTLE: // whenever it was left
        return !peek->unsettled_at_ms && !is_due(peek->recount_at_ms, peek) &&
               !is_due(peek->flow_at_ms, peek);
    case PAWL__OP_EXPIRE:
        return !is_due(peek->expiry_at_ms, peek) && !is_due(peek->key_at_ms, peek);
    default:
        return !is_due(next_of(op, peek), peek);
    }
}

static void answer_nothing(struct pawl__op *op, const struct pawl__peek *peek)
{
    op->err = PAWL_OK;
    op->now_ms = peek->now_ms;
    switch (op->kind) {
    case PAWL__OP_CLAIM:
        op->claim.jobs = NULL;
        op->claim.job_count = 0;
        op->claim.more = false;
        break;
    case PAWL__OP_ARCHIVE:
    case PAWL__OP_PURGE:
        op->retire.moved = 0;
        op->retire.more = false;
        break;
    default:
        op->sweep.moved = 0;
        op->sweep.more = false;
        op->sweep.next_at_ms = next_of(op, peek);
        break;
    }
}

/* Whatever goes wrong, the long way says so. A batch goes together: what one operation does, the
 * next may find. */
static bool finds_nothing(struct pawl__set *set, struct pawl__op **ops, size_t count,
                          struct pawl__peek *peek)
{
    uint32_t *lanes = pawl__arena_alloc(&set->arena, (peek->lane_count + 1) * sizeof *lanes);
    if (!lanes) return false;
    (void)list_lanes(set, ops, count, lanes);
    peek->lanes = lanes;
    if (!pawl__core_quick(set->table)->peek(set->backend, peek)) return false;
    for (size_t i = 0; i < count; i++) {
        if (!is_nothing(ops[i], peek)) return false;
    }
    return true;
}

size_t pawl__core_peek(struct pawl__set *set, struct pawl__op **ops, size_t count,
                       struct pawl__op *left[PAWL__PEEK_MAX])
{
    struct pawl__peek peek = { .ties = pawl__settle_known() };
    if (!pawl__core_quick(set->table)->peek || count > PAWL__PEEK_MAX) return count;
    if (!is_worth_it(set, ops, count, &peek)) return count;
    bool nothing = finds_nothing(set, ops, count, &peek);
    pawl__arena_reset(&set->arena);
    if (!nothing) return count;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (ops[i]->kind == PAWL__OP_NODE_PUT) {
            left[kept++] = ops[i];
        } else {
            answer_nothing(ops[i], &peek);
        }
    }
    return kept;
}
