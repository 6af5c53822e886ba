/* What time does to jobs: due ones become available, leases lapse, jobs and keys expire.
 *
 * Runs on: the session's thread, inside a transaction. Each sweep takes a bounded number, oldest
 * first, and says when the next one is due. What another process sweeps just now is passed over, so
 * all may do it at once. */
#include "store/postgres/postgres.h"

#include <assert.h>

static int64_t bounded(int64_t limit)
{
    return limit < PAWL__MAINTENANCE_MAX ? limit : PAWL__MAINTENANCE_MAX;
}

static enum pawl_err read_next(struct pawl__backend *pg, enum pawl__pg sql, int64_t *next_at_ms)
{
    pawl__pg_call(&pg->writer, sql);
    PGresult *row;
    enum pawl_err err = pawl__pg_ask(&pg->writer, &row, pg->diag);
    if (!err) *next_at_ms = pawl__pg_int(row, 0, 0); // 0 for NULL: nothing waits
    return err;
}

/* pawl_live knows all that is needed, so a due job's facts are not even read. */
static enum pawl_err promote_rows(struct pawl__backend *pg, const PGresult *rows)
{
    struct pawl__pg_list *ids = &pg->gather.lists[0];
    pawl__pg_list_begin(ids, PAWL__PG_IDS);
    for (int i = 0; i < PQntuples(rows); i++) {
        enum pawl_state from = (enum pawl_state)pawl__pg_int(rows, i, 2);
        assert(pawl__lifecycle_next(from, PAWL_EVENT_DUE, PAWL_STATE_NONE) == PAWL_STATE_AVAILABLE);
        struct pawl_job_id id = pawl__pg_id(rows, i, 0);
        struct pawl__pg_lane *lane;
        enum pawl_err err = pawl__pg_lane_by_id(pg, pawl__pg_int(rows, i, 1), &lane);
        if (err) return err;
        pawl__pg_list_add_id(ids, id);
        pawl__pg_moved(pg, lane, id, pawl__pg_int(rows, i, 3), from, PAWL_STATE_AVAILABLE);
    }
    if (!ids->count) return PAWL_OK;
    pawl__pg_call(&pg->writer, PG_LIVE_PROMOTE);
    pawl__pg_bind_list(&pg->writer, PG_LIVE_PROMOTE_ids, ids);
    pawl__pg_send_exact(&pg->writer, ids->count);
    return PAWL_OK;
}

enum pawl_err pawl__pg_op_promote(struct pawl__backend *pg, struct pawl__op *op)
{
    int64_t limit = bounded(op->sweep.limit);
    pawl__pg_call(&pg->writer, PG_LIVE_DUE);
    pawl__pg_bind(&pg->writer, PG_LIVE_DUE_now_ms, pg->now_ms);
    pawl__pg_bind(&pg->writer, PG_LIVE_DUE_limit, limit);
    PGresult *rows;
    enum pawl_err err = pawl__pg_ask(&pg->writer, &rows, pg->diag);
    if (err) return err;
    op->sweep.moved = PQntuples(rows);
    op->sweep.more = op->sweep.moved == limit;
    err = promote_rows(pg, rows);
    return err ? err : read_next(pg, PG_LIVE_NEXT_DUE, &op->sweep.next_at_ms);
}

/* Ids that the call under construction lists in its first column, copied out. */
static enum pawl_err list_ids(struct pawl__backend *pg, struct pawl__arena *arena,
                              struct pawl_job_id **out, size_t *count)
{
    PGresult *rows;
    enum pawl_err err = pawl__pg_ask(&pg->writer, &rows, pg->diag);
    if (err) return err;
    *count = (size_t)PQntuples(rows);
    *out = pawl__arena_alloc(arena, (*count + 1) * sizeof **out);
    if (!*out) return pawl__fail_nomem(pg->diag);
    for (size_t i = 0; i < *count; i++) {
        (*out)[i] = pawl__pg_id(rows, (int)i, 0);
    }
    return PAWL_OK;
}

/* A run is charged; a job that was routed and not assigned in time goes back where it was. */
static enum pawl_err lapse_one(struct pawl__backend *pg, struct pawl__op *op, struct pawl_job_id id)
{
    static const enum pawl_event lapse[] = { PAWL_EVENT_LAPSE };
    struct pawl__pg_place place;
    enum pawl_err err = pawl__pg_place_need(pg, id, &place);
    if (err) return err;
    if (place.state == PAWL_STATE_ACTIVE) return pawl__pg_lapse_run(pg, &place, &op->arena);
    return pawl__pg_move(pg, &place, lapse, 1, &(struct pawl__pg_target){ 0 });
}

static enum pawl_err lapse_all(struct pawl__backend *pg, struct pawl__op *op, enum pawl_state state,
                               int64_t limit)
{
    struct pawl_job_id *ids;
    size_t count;
    pawl__pg_call(&pg->writer, PG_LIVE_LAPSED);
    pawl__pg_bind(&pg->writer, PG_LIVE_LAPSED_now_ms, pg->now_ms);
    pawl__pg_bind(&pg->writer, PG_LIVE_LAPSED_state, state);
    pawl__pg_bind(&pg->writer, PG_LIVE_LAPSED_limit, limit);
    enum pawl_err err = list_ids(pg, &op->arena, &ids, &count);
    for (size_t i = 0; !err && i < count; i++) {
        err = lapse_one(pg, op, ids[i]);
    }
    if (!err) op->sweep.moved += (int64_t)count;
    return err;
}

enum pawl_err pawl__pg_op_lapse(struct pawl__backend *pg, struct pawl__op *op)
{
    op->sweep.moved = 0;
    int64_t limit = bounded(op->sweep.limit);
    enum pawl_err err = lapse_all(pg, op, PAWL_STATE_ACTIVE, limit);
    if (!err && op->sweep.moved < limit) {
        err = lapse_all(pg, op, PAWL_STATE_PENDING, limit - op->sweep.moved);
    }
    op->sweep.more = op->sweep.moved == limit;
    return err ? err : read_next(pg, PG_LIVE_NEXT_LEASE, &op->sweep.next_at_ms);
}

static void forget_keys(struct pawl__backend *pg, int64_t limit)
{
    pawl__pg_call(&pg->writer, PG_KEY_FORGET);
    pawl__pg_bind(&pg->writer, PG_KEY_FORGET_now_ms, pg->now_ms);
    pawl__pg_bind(&pg->writer, PG_KEY_FORGET_limit, limit);
    pawl__pg_send(&pg->writer);
}

enum pawl_err pawl__pg_op_expire(struct pawl__backend *pg, struct pawl__op *op)
{
    static const enum pawl_event expire[] = { PAWL_EVENT_EXPIRE };
    int64_t limit = bounded(op->sweep.limit);
    struct pawl_job_id *ids;
    size_t count = 0;
    op->sweep.moved = 0;
    pawl__pg_call(&pg->writer, PG_LIVE_EXPIRING);
    pawl__pg_bind(&pg->writer, PG_LIVE_EXPIRING_now_ms, pg->now_ms);
    pawl__pg_bind(&pg->writer, PG_LIVE_EXPIRING_limit, limit);
    enum pawl_err err = list_ids(pg, &op->arena, &ids, &count);
    for (size_t i = 0; !err && i < count; i++) {
        struct pawl__pg_place place;
        err = pawl__pg_place_need(pg, ids[i], &place);
        if (err) break;
        err = pawl__pg_move(pg, &place, expire, 1,
                            &(struct pawl__pg_target){ .reason = "expired before it could run" });
        op->sweep.moved += !err;
    }
    op->sweep.more = (int64_t)count == limit;
    if (err) return err;
    forget_keys(pg, limit);
    return read_next(pg, PG_LIVE_NEXT_EXPIRY, &op->sweep.next_at_ms);
}
