/* Jobs that have ended: to the archive, and out of it.
 *
 * Runs on: the session's thread, inside a transaction, a bounded number at a time. */
#include "store/postgres/postgres.h"

#include <assert.h>

enum { ROLL_ROWS = 16 }; /* taken at a time */
enum { GOES_MAX = 8 };   /* for one state */

/* Run `sql` with the list of ids that are being retired. */
static void send_for_all(struct pawl__backend *pg, enum pawl__pg sql, struct pawl__pg_list *ids)
{
    pawl__pg_call(&pg->writer, sql);
    pawl__pg_bind_list(&pg->writer, 1, ids);
    pawl__pg_send_exact(&pg->writer, ids->count);
}

/* One column names the job, the next its lane. */
static enum pawl_err count_rows(struct pawl__backend *pg, const PGresult *rows,
                                enum pawl_state from, enum pawl_state to, struct pawl__pg_list *ids)
{
    pawl__pg_list_begin(ids, PAWL__PG_IDS);
    for (int i = 0; i < PQntuples(rows); i++) {
        struct pawl__lane *lane;
        enum pawl_err err = pawl__pg_lane_by_id(pg, pawl__pg_int(rows, i, 1), &lane);
        if (err) return err;
        pawl__pg_list_add_id(ids, pawl__pg_id(rows, i, 0));
        pawl__pg_count(pg, lane, from, to);
    }
    return PAWL_OK;
}

enum { SLOT_OLD, SLOT_HELD };

static void send_ended(struct pawl__backend *pg, const struct pawl__op *op, enum pawl_state state,
                       const struct pawl__pg_taken *taken, int64_t limit)
{
    struct pawl__pg_conn *conn = &pg->writer;
    struct pawl__pg_list *ids = &pg->gather.lists[0];
    pawl__pg_list_taken(ids, taken);
    pawl__pg_call(conn, PG_ENDED_OLD);
    pawl__pg_bind_list(conn, PG_ENDED_OLD_ids, ids);
    pawl__pg_bind(conn, PG_ENDED_OLD_state, state);
    pawl__pg_bind(conn, PG_ENDED_OLD_before_ms, pawl__retire_before_ms(op));
    pawl__pg_send_keep(conn, SLOT_OLD);
    pawl__pg_call(conn, PG_ENDED_HOLD);
    pawl__pg_bind_list(conn, PG_ENDED_HOLD_ids, ids);
    pawl__pg_bind(conn, PG_ENDED_HOLD_state, state);
    pawl__pg_bind(conn, PG_ENDED_HOLD_before_ms, pawl__retire_before_ms(op));
    pawl__pg_bind(conn, PG_ENDED_HOLD_limit, limit);
    pawl__pg_send_keep(conn, SLOT_HELD);
    pawl__pg_roll_delete(pg, PG_ENDED_DELETE, taken->places, taken->row_count);
}

/* What is not archived now, because somebody holds it or there are too many, stays on the roll. */
static enum pawl_err keep_ended(struct pawl__backend *pg, enum pawl_state state,
                                const PGresult *old, const PGresult *held)
{
    struct pawl_job_id *ours;
    enum pawl_err err = pawl__pg_ids_sorted(pg, held, &ours);
    for (int i = 0; !err && i < PQntuples(old); i++) {
        struct pawl_job_id id = pawl__pg_id(old, i, 0);
        if (pawl__pg_ids_have(ours, (size_t)PQntuples(held), id)) continue;
        pawl__pg_roll_ended(pg, state, pawl__pg_int(old, i, 1), id);
    }
    return err;
}

/* Some rows of the roll, and whichever of their jobs are old enough. */
static enum pawl_err archive_some(struct pawl__backend *pg, struct pawl__op *op,
                                  enum pawl_state state, int64_t limit, int64_t *moved, bool *more)
{
    struct pawl__pg_conn *conn = &pg->writer;
    struct pawl__pg_taken taken;
    pawl__pg_call(conn, PG_ENDED_DUE);
    pawl__pg_bind(conn, PG_ENDED_DUE_state, state);
    pawl__pg_bind(conn, PG_ENDED_DUE_before_ms, pawl__retire_before_ms(op));
    pawl__pg_bind(conn, PG_ENDED_DUE_limit, ROLL_ROWS);
    enum pawl_err err = pawl__pg_roll_take(pg, &taken);
    *more = !err && taken.row_count == ROLL_ROWS;
    if (err || !taken.row_count) return err;
    send_ended(pg, op, state, &taken, limit);
    err = pawl__pg_sync(conn, pg->diag);
    struct pawl__pg_list *ids = &pg->gather.lists[0];
    if (!err) err = keep_ended(pg, state, conn->kept[SLOT_OLD], conn->kept[SLOT_HELD]);
    if (!err) err = count_rows(pg, conn->kept[SLOT_HELD], state, PAWL_STATE_NONE, ids);
    if (err) return err;
    *moved += ids->count;
    if (ids->count) send_for_all(pg, PG_ARCHIVE_INSERT, ids);
    return PAWL_OK;
}

static enum pawl_err archive_state(struct pawl__backend *pg, struct pawl__op *op,
                                   enum pawl_state state, int64_t limit, int64_t *moved)
{
    bool more = true;
    enum pawl_err err = pawl__pg_rolls_flush(pg);
    for (int i = 0; !err && more && i < GOES_MAX && *moved < limit; i++) {
        err = archive_some(pg, op, state, limit - *moved, moved, &more);
    }
    op->retire.more |= more && !err;
    return err;
}

void pawl__pg_forget_all(struct pawl__backend *pg, struct pawl__pg_list *ids)
{
    static const enum pawl__pg kept[] = { PG_FAILURE_DELETE, PG_PROGRESS_DELETE,
                                          PG_CHECKPOINT_DELETE, PG_LOG_DELETE, PG_DEED_DELETE };
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        pawl__pg_call(&pg->writer, kept[i]);
        pawl__pg_bind_list(&pg->writer, 1, ids);
        pawl__pg_send(&pg->writer);
    }
}

static enum pawl_err forget_rows(struct pawl__backend *pg, const PGresult *rows)
{
    for (int i = 0; i < PQntuples(rows); i++) {
        struct pawl__pg_place place = { .id = pawl__pg_id(rows, i, 0) };
        bool ok = pawl__pg_span(rows, i, 2, &pg->arena, &place.tags) &&
                  pawl__pg_span(rows, i, 3, &pg->arena, &place.keys);
        if (!ok) return pawl__fail_nomem(pg->diag);
        pawl__pg_forget(pg, &place);
    }
    return PAWL_OK;
}

static enum pawl_err purge_state(struct pawl__backend *pg, struct pawl__op *op,
                                 enum pawl_state state, int64_t limit, int64_t *moved)
{
    pawl__pg_call(&pg->writer, PG_ARCHIVE_OLD);
    pawl__pg_bind(&pg->writer, PG_ARCHIVE_OLD_state, state);
    pawl__pg_bind(&pg->writer, PG_ARCHIVE_OLD_before_ms, pawl__retire_before_ms(op));
    pawl__pg_bind(&pg->writer, PG_ARCHIVE_OLD_now_ms, pg->now_ms);
    pawl__pg_bind(&pg->writer, PG_ARCHIVE_OLD_limit, limit);
    PGresult *rows;
    enum pawl_err err = pawl__pg_ask(&pg->writer, &rows, pg->diag);
    struct pawl__pg_list *ids = &pg->gather.lists[0];
    if (!err) err = count_rows(pg, rows, PAWL_STATE_NONE, PAWL__OUTSIDE, ids);
    if (err) return err;
    *moved = ids->count;
    if (!ids->count) return PAWL_OK;
    send_for_all(pg, PG_ARCHIVE_DELETE, ids);
    pawl__pg_forget_all(pg, ids);
    return forget_rows(pg, rows);
}

enum pawl_err pawl__pg_op_archive(struct pawl__backend *pg, struct pawl__op *op)
{
    int64_t limit = op->retire.limit < PAWL__MAINTENANCE_MAX ? op->retire.limit
                                                             : PAWL__MAINTENANCE_MAX;
    bool purge = op->kind == PAWL__OP_PURGE;
    op->retire.moved = 0;
    op->retire.more = false;
    bool ours;
    enum pawl_err err = pawl__pg_retire_begin(pg, op, &ours);
    if (err || !ours) return err;
    for (int state = PAWL_STATE_COMPLETED; !err && state < PAWL_STATE_END; state++) {
        int64_t left = limit - op->retire.moved, moved = 0;
        if (left <= 0) break;
        if (!(op->retire.states & PAWL_STATE_BIT(state))) continue;
        err = (purge ? purge_state : archive_state)(pg, op, (enum pawl_state)state, left, &moved);
        op->retire.moved += moved;
        op->retire.more |= moved == left;
    }
    return err;
}

enum pawl_err pawl__pg_op_purge(struct pawl__backend *pg, struct pawl__op *op)
{
    return pawl__pg_op_archive(pg, op); // the same walk; op->kind tells which
}
