/* See deadline.h. */
#include "store/core/deadline.h"

#include "base/time_text.h"

#include <assert.h>
#include <stdio.h>

static int64_t instant_of(const struct pawl__row *row, enum pawl_deadline deadline)
{
    return deadline == PAWL_DEADLINE_SOFT ? row->sla_soft_at_ms : row->sla_hard_at_ms;
}

enum pawl_err pawl__scan_deadline(struct pawl__set *set, struct pawl__op *op)
{
    int64_t limit = op->sweep.limit < PAWL__MAINTENANCE_MAX ? op->sweep.limit
                                                            : PAWL__MAINTENANCE_MAX;
    op->sweep.moved = op->sweep.next_at_ms = 0;
    enum pawl_err err = set->table->scan_deadlines(set->backend, set->now_ms, limit);
    op->sweep.more = (int64_t)set->records.count == limit;
    for (size_t i = 0; !err && i < set->records.count; i++) {
        const struct pawl__deadline *found = &set->records.at[i]->first->row.deadline;
        (void)pawl__set_want_shared(set, found->id,
                                    PAWL__NEED_RUN | PAWL__NEED_FACTS | PAWL__NEED_STAND);
    }
    return err;
}

/* ---- one job ---- */

static void report(struct pawl__set *set, const struct pawl__row *row, enum pawl_deadline deadline)
{
    const struct pawl__lane *lane = set->catalog.lanes[row->lane];
    char at[PAWL__INSTANT_TEXT_BYTES], reason[96];
    pawl__instant_text(instant_of(row, deadline), at);
    int len =
        snprintf(reason, sizeof reason, "the %s deadline was %s", pawl_deadline_text(deadline), at);
    assert(len < (int)sizeof reason);
    pawl__set_put(set, PAWL__TABLE_AUDIT,
                  &(struct pawl__audit){ .at_ms = set->now_ms,
                                         .id = row->id,
                                         .action = "miss",
                                         .reason = pawl__set_text(set, reason, (size_t)len + 1),
                                         .from = row->state,
                                         .to = row->state });
    if (!set->notices.all_moves) return;
    pawl__notices_move(&set->notices,
                       &(struct pawl__move){ .id = row->id,
                                             .run = row->run,
                                             .from = row->state,
                                             .to = row->state,
                                             .missed = deadline,
                                             .queue = pawl__catalog_queue_name(&set->catalog, lane),
                                             .type = lane->type });
}

/* Those before `from_ms` were looked at. A run that ends in a transaction which is still open has
 * not ended. Returns the next one; 0: there is none. */
static int64_t look_at(struct pawl__set *set, const struct pawl__row *row, int64_t from_ms,
                       int64_t *missed)
{
    for (enum pawl_deadline deadline = PAWL_DEADLINE_SOFT; deadline < PAWL_DEADLINE_END;
         deadline++) {
        int64_t at_ms = instant_of(row, deadline);
        if (!at_ms || at_ms < from_ms) continue;
        if (at_ms >= set->now_ms) return at_ms; // the hard one is not before the soft one
        if (row->has_end && row->finished_at_ms <= at_ms) continue;
        report(set, row, deadline);
        ++*missed;
    }
    return 0;
}

enum pawl_err pawl__rule_deadline(struct pawl__set *set, struct pawl__op *op)
{
    op->sweep.moved = 0;
    for (size_t i = 0; i < set->records.count; i++) {
        struct pawl__record *record = set->records.at[i]->first;
        struct pawl__deadline *due = &record->row.deadline;
        const struct pawl__row *row = pawl__set_find(set, due->id);
        bool known = row && (row->found == PAWL__FOUND_LIVE || row->found == PAWL__FOUND_ARCHIVED);
        int64_t next_ms = known ? look_at(set, row, due->at_ms, &op->sweep.moved) : 0;
        due->at_ms = next_ms;
        record->there = next_ms != 0;
        record->changed = true;
    }
    return PAWL_OK;
}

/* One that is now is met by what ends now. */
enum pawl_err pawl__after_deadline(struct pawl__set *set, struct pawl__op *op)
{
    enum pawl_err err = set->table->next_deadline(set->backend, &op->sweep.next_at_ms);
    if (!err && op->sweep.next_at_ms) op->sweep.next_at_ms++;
    return err;
}
