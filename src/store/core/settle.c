/* See settle.h. */
#include "store/core/flow.h"
#include "store/core/settle.h"

#include "base/diag.h"
#include "store/core/flow.h"

#include <assert.h>

enum { LOADS_MAX = 8 }; /* for one move */

static const struct {
    int32_t bit;
    const struct pawl__tie *tie;
} ties[] = {
#define X(bit, name, ...) { 1 << (bit), &pawl__tie_##name },
    PAWL__TIES(X)
#undef X
        { 0, NULL },
};

/* ---- what is to be followed up ---- */

/* Those of a job's ties that its move concerns. What no rule here knows may be concerned. */
static int32_t concerned(int32_t all, const struct pawl__row *row, enum pawl_state from)
{
    bool resumed = from == PAWL_STATE_PAUSED && pawl__row_keeps_end(row);
    for (size_t i = 0; ties[i].tie; i++) {
        const struct pawl__tie *tie = ties[i].tie;
        bool asks = (all & ties[i].bit) && tie->concerns;
        bool not_so = asks && (!tie->concerns(from, row->state) || (tie->ends && resumed));
        if (not_so) all &= ~ties[i].bit;
    }
    return all;
}

bool pawl__settle_lets(int32_t all, enum pawl_state from, enum pawl_state to)
{
    for (size_t i = 0; all && ties[i].tie; i++) {
        bool asks = (all & ties[i].bit & ~PAWL__TIES_OWN) && ties[i].tie->concerns;
        if (asks && !ties[i].tie->concerns(from, to)) all &= ~ties[i].bit;
    }
    return !all;
}

void pawl__settle_note(struct pawl__set *set, const struct pawl__row *row, enum pawl_state from)
{
    int32_t others = concerned(row->ties & ~PAWL__TIES_OWN, row, from);
    bool completed = row->state == PAWL_STATE_COMPLETED;
    if (!others) return;
    pawl__set_unsettle(set, &(struct pawl__unsettled){
                                .at_ms = set->now_ms,
                                .id = row->id,
                                .ties = others,
                                .run = row->run,
                                .from = from,
                                .to = row->state,
                                .details = completed ? row->result : (struct pawl_span){ 0 } });
}

void pawl__settle_again(struct pawl__set *set, const struct pawl__unsettled *entry)
{
    uint8_t need = PAWL__NEED_RUN | PAWL__NEED_FACTS | PAWL__NEED_STAND;
    set->unsettled_bytes += entry->bytes < 0 ? PAWL__SETTLE_BYTES_MAX : entry->bytes;
    bool fits = !set->unsettled_count || set->unsettled_bytes <= PAWL__SETTLE_BYTES_MAX;
    set->unsettled_more |= !fits;
    if (set->unsettled_more) return;
    if (entry->bytes) need |= PAWL__NEED_JOB;
    struct pawl__row *row = pawl__set_want(set, entry->id, need);
    if (row) row->job_arena = &set->arena;
    pawl__set_unsettle(set, entry);
}

/* ---- ties about the job itself ---- */

int32_t pawl__settle_entries(const struct pawl__row *row)
{
    bool lives = row->found == PAWL__FOUND_LIVE && !row->has_end;
    return row->ties & (lives ? PAWL__TIES_OWN : PAWL__TIES_REPORTED);
}

void pawl__settle_own(struct pawl__set *set, struct pawl__row *row, int32_t tie)
{
    row->was.entries &= ~tie;
    pawl__row_tie(set, row, row->ties & ~tie);
}

/* It came back, and may have to be read whole. The store says how long it is when it lists this. */
static void list_unchecked(struct pawl__set *set, const struct pawl__row *row)
{
    pawl__set_put(set, PAWL__TABLE_UNSETTLED,
                  &(struct pawl__unsettled){ .at_ms = set->now_ms,
                                             .id = row->id,
                                             .ties = PAWL__TIE_UNCHECKED,
                                             .bytes = -1,
                                             .run = row->run,
                                             .from = row->was.state,
                                             .to = row->state });
    pawl__notices_due(&set->notices, set->now_ms); // soon
}

void pawl__settle_list(struct pawl__set *set)
{
    for (size_t i = 0; i < set->row_count; i++) {
        const struct pawl__row *row = pawl__set_at(set, i);
        if (!((row->ties | row->was.entries) & PAWL__TIES_OWN) || !row->wrote) continue;
        int32_t has = pawl__settle_entries(row), moot = row->was.entries & ~has;
        for (int32_t bit = 1; bit <= moot; bit <<= 1) {
            if (!(moot & bit)) continue;
            pawl__set_put(set, PAWL__TABLE_MOOT, &(struct pawl__moot){ row->id, bit });
        }
        if (!row->birth && has & ~row->was.entries & PAWL__TIE_UNCHECKED) list_unchecked(set, row);
    }
}

/* ---- one move ---- */

static bool is_held(const struct pawl__set *set, struct pawl_job_id id)
{
    const struct pawl__row *row = pawl__set_find(set, id);
    return row && row->found == PAWL__FOUND_HELD;
}

/* By one tie. `*later`: not yet. What it wants is read in any case, here, where nobody waits. */
static enum pawl_err follow_tie(struct pawl__set *set, const struct pawl__tie *tie,
                                const struct pawl__unsettled *move, bool *later)
{
    enum pawl_err err = PAWL_OK;
    bool lacks = true;
    *later = false;
    for (int loads = 0; !err && !*later && lacks; loads++) {
        *later = !tie->follow(set, move);
        lacks = pawl__set_lacks(set);
        *later |= lacks && loads == LOADS_MAX;
        err = pawl__set_load(set, false);
    }
    return !err && set->failed ? pawl__fail_nomem(set->diag) : err;
}

/* The move is a copy: what follows may add others. Bits that are done leave `ties`. */
static enum pawl_err follow(struct pawl__set *set, struct pawl__unsettled *move)
{
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && ties[i].tie; i++) {
        bool later;
        if (!(move->ties & ties[i].bit)) continue;
        err = follow_tie(set, ties[i].tie, move, &later);
        if (!err && !later) move->ties &= ~ties[i].bit;
    }
    return err;
}

static void want(struct pawl__set *set, const struct pawl__unsettled *move)
{
    for (size_t i = 0; ties[i].tie; i++) {
        bool wants = (move->ties & ties[i].bit) && ties[i].tie->want;
        if (wants) ties[i].tie->want(set, move);
    }
}

/* Bits that no rule here knows belong to a newer program, and stay. */
static void leave(struct pawl__set *set, const struct pawl__unsettled *before,
                  const struct pawl__unsettled *after)
{
    bool is_new = !before->seq, changed = before->ties != after->ties;
    if (!is_new && changed) {
        pawl__set_put(set, PAWL__TABLE_FOLLOWED, &(struct pawl__followed){ before->seq });
    }
    if (!after->ties || !(is_new || changed)) return;
    pawl__set_put(set, PAWL__TABLE_UNSETTLED, after);
    pawl__notices_due(&set->notices, set->now_ms); // soon
}

/* ---- rounds ---- */

/* What is wanted of one may depend on what another load has read. */
static enum pawl_err load_round(struct pawl__set *set, size_t first, size_t end)
{
    enum pawl_err err = PAWL_OK;
    bool lacks = true;
    for (int loads = 0; !err && lacks && loads < LOADS_MAX; loads++) {
        for (size_t i = first; i < end; i++) {
            want(set, &set->unsettled[i]);
        }
        lacks = pawl__set_lacks(set);
        err = pawl__set_load(set, false);
    }
    return err;
}

static enum pawl_err run_round(struct pawl__set *set, size_t first, size_t end)
{
    enum pawl_err err = load_round(set, first, end);
    for (size_t i = first; !err && i < end; i++) {
        struct pawl__unsettled before = set->unsettled[i], after = before;
        if (!is_held(set, before.id)) err = follow(set, &after);
        if (!err) leave(set, &before, &after);
    }
    return err;
}

enum pawl_err pawl__settle_run(struct pawl__set *set)
{
    enum pawl_err err = PAWL_OK;
    size_t at = set->unsettled_done;
    while (!err && at < set->unsettled_count && at < PAWL__SETTLE_MAX) {
        size_t end = set->unsettled_count;
        if (end > PAWL__SETTLE_MAX) end = PAWL__SETTLE_MAX;
        err = run_round(set, at, end);
        at = end;
    }
    for (; !err && at < set->unsettled_count; at++) {
        leave(set, &set->unsettled[at], &set->unsettled[at]);
    }
    set->unsettled_done = at;
    return !err && set->failed ? pawl__fail_nomem(set->diag) : err;
}

/* ---- the sweep ---- */

int32_t pawl__settle_known(void)
{
    int32_t all = 0;
    for (size_t i = 0; ties[i].tie; i++) {
        all |= ties[i].bit;
    }
    return all;
}

/* What others hold is not waited for here either. Entries that cannot be followed up yet must not
 * keep those behind them from being looked at: the next sweep goes on where this one ends, and
 * begins anew when there is nothing behind. */
static enum pawl_err scan_entries(struct pawl__set *set, struct pawl__op *op)
{
    int64_t limit = op->sweep.limit < PAWL__SETTLE_MAX ? op->sweep.limit : PAWL__SETTLE_MAX;
    enum pawl_err err =
        set->table->unsettled(set->backend, pawl__settle_known(), set->swept_seq, limit);
    if (!err && set->failed) err = pawl__fail_nomem(set->diag);
    if (err) return err;
    size_t found = set->unsettled_count;
    op->sweep.more = set->unsettled_more || (found && found == (size_t)limit);
    set->swept_seq = op->sweep.more ? set->unsettled[found - 1].seq : 0;
    set->sweeps_full = found ? set->sweeps_full + 1 : 0;
    bool more;
    err = pawl__flow_scan_due(set, limit - (int64_t)found, &more);
    op->sweep.more |= more;
    return err ? err : pawl__set_load(set, false);
}

enum { SWEEPS_FULL_MAX = 8 };

/* Flows are repaired when no entry is left, so that no other flow is waited for meanwhile; and from
 * time to time if that never happens. */
enum pawl_err pawl__scan_settle(struct pawl__set *set, struct pawl__op *op)
{
    bool entries = set->sweeps_full < SWEEPS_FULL_MAX;
    op->sweep.more = !entries;
    if (!entries) set->sweeps_full = 0;
    enum pawl_err err = entries ? scan_entries(set, op) : PAWL_OK;
    if (err || set->unsettled_count) return err;
    bool more = false;
    err = pawl__flow_repair(set, &more);
    op->sweep.more |= more;
    return err;
}

/* There is more to do if there was no room for all that follows. */
enum pawl_err pawl__rule_settle(struct pawl__set *set, struct pawl__op *op)
{
    enum pawl_err err = pawl__settle_run(set);
    op->sweep.moved = (int64_t)set->lists[PAWL__TABLE_FOLLOWED].count;
    op->sweep.more |= set->unsettled_count > PAWL__SETTLE_MAX;
    return err;
}

enum pawl_err pawl__after_settle(struct pawl__set *set, struct pawl__op *op)
{
    op->sweep.next_at_ms = 0;
    enum pawl_err err =
        set->table->next_unsettled(set->backend, pawl__settle_known(), &op->sweep.next_at_ms);
    if (err || op->sweep.next_at_ms) return err;
    err = set->table->next_flow(set->backend, &op->sweep.next_at_ms);
    return err ? err : pawl__flow_next_due(set, &op->sweep.next_at_ms);
}
