/* JOIN: a rule with tables of its own. When a job starts it declares who waits for it: its priority
 * is ten times how many ids further the first of them is, and how many there are. When it ends its
 * edges are judged, and a job that waits for nobody any more is activated. */
#include "settle/watch.h"

#include "store/core/settle.h"

#include <assert.h>

static struct pawl_job_id child_of(const struct pawl__row *row, int32_t at)
{
    struct pawl_job_id id = row->id;
    for (int32_t i = row->priority / 10 + at; i > 0; i--) {
        id = watch_next(id);
    }
    return id;
}

static struct pawl__records *edges_of(struct pawl__set *set, struct pawl_job_id parent)
{
    return pawl__set_want_records(set, PAWL__RECORD_EDGE, &(struct pawl__edge){ .parent = parent });
}

static struct pawl__record *join_of(struct pawl__set *set, struct pawl_job_id child)
{
    return pawl__set_want_record(set, PAWL__RECORD_JOIN, &(struct pawl__join){ .child = child });
}

static void want_edges(struct pawl__set *set, const struct pawl__unsettled *move)
{
    (void)edges_of(set, move->id);
}

/* Once for each job: one that is tried again has declared its edges. */
static bool declare(struct pawl__set *set, const struct pawl__row *row, struct pawl__records *edges)
{
    int32_t count = edges->first ? 0 : row->priority % 10;
    for (int32_t i = 0; i < count; i++) {
        const struct pawl__record *join = join_of(set, child_of(row, i));
        if (join && join->of->held) return false;
    }
    if (pawl__set_lacks(set)) return true;
    for (int32_t i = 0; i < count; i++) {
        struct pawl_job_id child = child_of(row, i);
        struct pawl__record *join = join_of(set, child);
        pawl__records_add(set, edges, &(struct pawl__edge){ .parent = row->id, .child = child });
        join->row.join.pending++;
        join->there = join->changed = true;
    }
    return true;
}

/* One parent less. */
static void count_down(struct pawl__set *set, struct pawl__record *join, struct pawl__row *child)
{
    const enum pawl_event event = PAWL_EVENT_ACTIVATE;
    join->there = --join->row.join.pending > 0;
    join->changed = true;
    bool waits = child->found == PAWL__FOUND_LIVE && child->state == PAWL_STATE_PENDING;
    if (join->there || !waits) return;
    enum pawl_err err =
        pawl__row_move(set, child, &event, 1, &(struct pawl__target){ .reason = NULL });
    assert(!err);
}

static bool judge(struct pawl__set *set, enum pawl_state verdict, struct pawl__records *edges)
{
    enum { NEED = PAWL__NEED_RUN | PAWL__NEED_FACTS | PAWL__NEED_STAND };
    for (struct pawl__record *edge = edges->first; edge; edge = edge->next) {
        const struct pawl__row *child = pawl__set_want(set, edge->row.edge.child, NEED);
        const struct pawl__record *join = join_of(set, edge->row.edge.child);
        if (child && child->found == PAWL__FOUND_HELD) return false;
        if (join && join->of->held) return false;
    }
    if (pawl__set_lacks(set)) return true;
    for (struct pawl__record *edge = edges->first; edge; edge = edge->next) {
        if (edge->row.edge.verdict) continue;
        edge->row.edge.verdict = verdict;
        edge->changed = true;
        count_down(set, join_of(set, edge->row.edge.child),
                   pawl__set_find(set, edge->row.edge.child));
    }
    return true;
}

/* The parent may be in the archive by now. */
static bool follow(struct pawl__set *set, const struct pawl__unsettled *move)
{
    const struct pawl__row *row = pawl__set_find(set, move->id);
    struct pawl__records *edges = edges_of(set, move->id);
    if (pawl__set_lacks(set) || !edges || row->found == PAWL__FOUND_ABSENT) return true;
    if (move->to == PAWL_STATE_ACTIVE) return declare(set, row, edges);
    return !pawl_state_is_terminal(move->to) || judge(set, move->to, edges);
}

const struct pawl__tie pawl__tie_JOIN = { .want = want_edges, .follow = follow };
