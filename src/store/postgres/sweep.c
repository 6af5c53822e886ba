/* Jobs that are due: found for the core, which decides what becomes of them; plain ones that are to
 * run become available right here. What another process sweeps just now is passed over, so all may
 * do it at once.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

#include <assert.h>

enum { ROLL_ROWS = 16 }; /* taken at a time */
enum { GOES_MAX = 8 };   /* in one sweep */

/* Jobs whose lease has run out and that were not taken, because somebody holds them or they are too
 * many, stay on the roll. */
static enum pawl_err keep_lapsed(struct pawl__backend *pg, const PGresult *lapsed,
                                 const PGresult *held)
{
    struct pawl_job_id *ours;
    enum pawl_err err = pawl__pg_ids_sorted(pg, held, &ours);
    for (int i = 0; !err && i < PQntuples(lapsed); i++) {
        struct pawl_job_id id = pawl__pg_id(lapsed, i, 0);
        if (pawl__pg_ids_have(ours, (size_t)PQntuples(held), id)) continue;
        const char *worker = pawl__pg_text(lapsed, i, 2, &pg->arena);
        if (!worker) return pawl__fail_nomem(pg->set.diag);
        pawl__pg_roll_lease(pg, pawl__pg_int(lapsed, i, 1), worker, id);
    }
    return err;
}

enum { SLOT_LAPSED, SLOT_HELD };

static enum pawl_err hold_lapsed(struct pawl__backend *pg, const struct pawl__pg_taken *taken,
                                 int64_t limit)
{
    struct pawl__pg_conn *conn = &pg->writer;
    pawl__pg_call(conn, PG_LEASE_LAPSED);
    struct pawl__pg_list *ids = pawl__pg_list_taken(pg, PG_LEASE_LAPSED_ids, taken);
    pawl__pg_bind(conn, PG_LEASE_LAPSED_now_ms, pg->set.now_ms);
    pawl__pg_send_keep(conn, SLOT_LAPSED);
    pawl__pg_call(conn, PG_LEASE_HOLD);
    pawl__pg_list_again(conn, PG_LEASE_HOLD_ids, ids);
    pawl__pg_bind(conn, PG_LEASE_HOLD_now_ms, pg->set.now_ms);
    pawl__pg_bind(conn, PG_LEASE_HOLD_limit, limit);
    pawl__pg_send_keep(conn, SLOT_HELD);
    pawl__pg_roll_delete(pg, PG_LEASE_DELETE, PG_LEASE_DELETE_places, taken->places,
                         taken->row_count);
    enum pawl_err err = pawl__pg_sync(conn, pg->set.diag);
    return err ? err : keep_lapsed(pg, conn->kept[SLOT_LAPSED], conn->kept[SLOT_HELD]);
}

/* Some rows of the roll, and whichever of their jobs have lapsed. */
static enum pawl_err take_lapsed(struct pawl__backend *pg, int64_t limit, struct pawl_job_id *ids,
                                 size_t *count, bool *more)
{
    struct pawl__pg_taken taken;
    pawl__pg_call(&pg->writer, PG_LEASE_DUE);
    pawl__pg_bind(&pg->writer, PG_LEASE_DUE_now_ms, pg->set.now_ms);
    pawl__pg_bind(&pg->writer, PG_LEASE_DUE_limit, ROLL_ROWS);
    enum pawl_err err = pawl__pg_roll_take(pg, &taken);
    *more = !err && taken.row_count == ROLL_ROWS;
    if (err || !taken.row_count) return err;
    err = hold_lapsed(pg, &taken, limit);
    if (err) return err;
    const PGresult *held = pg->writer.kept[SLOT_HELD];
    for (int i = 0; i < PQntuples(held); i++) {
        ids[(*count)++] = pawl__pg_id(held, i, 0);
    }
    return PAWL_OK;
}

/* When the next lease ends. Most jobs are done long before: their rows are weeded out, or we would
 * come back for each. */
static enum pawl_err next_lease(struct pawl__backend *pg, int64_t *next_at_ms)
{
    enum { SLOT_WEEDED, SLOT_NEXT };
    struct pawl__pg_conn *conn = &pg->writer;
    enum pawl_err err = PAWL_OK;
    bool more = true;
    for (int i = 0; !err && more && i < GOES_MAX; i++) {
        pawl__pg_call(conn, PG_LEASE_WEED);
        pawl__pg_bind(conn, PG_LEASE_WEED_limit, ROLL_ROWS);
        pawl__pg_send_keep(conn, SLOT_WEEDED);
        pawl__pg_call(conn, PG_LEASE_NEXT);
        pawl__pg_send_keep(conn, SLOT_NEXT);
        err = pawl__pg_sync(conn, pg->set.diag);
        if (err) break;
        *next_at_ms = pawl__pg_int(conn->kept[SLOT_NEXT], 0, 0); // 0 for NULL: nothing waits
        more = pawl__pg_int(conn->kept[SLOT_WEEDED], 0, 0) == ROLL_ROWS &&
               !pawl__pg_bool(conn->kept[SLOT_WEEDED], 0, 1);
    }
    return err;
}

/* A job whose lease was extended is on several rows, and may be found again. */
static enum pawl_err scan_leases(struct pawl__backend *pg, int64_t limit, struct pawl_job_id *ids,
                                 size_t *count, bool *more)
{
    enum pawl_err err = pawl__pg_rolls_flush(pg);
    *more = true;
    for (int i = 0; !err && *more && i < GOES_MAX && (int64_t)*count < limit; i++) {
        err = take_lapsed(pg, limit - (int64_t)*count, ids, count, more);
    }
    *more |= (int64_t)*count == limit;
    return err;
}

/* Statements that take now and a limit. */
struct sweep {
    enum pawl__pg sql;
    int now_ms, limit;
};
#define SWEEP(name) ((struct sweep){ PG_##name, PG_##name##_now_ms, PG_##name##_limit })

static enum pawl_err ask_due(struct pawl__backend *pg, struct sweep sweep, int64_t limit,
                             PGresult **rows)
{
    pawl__pg_call(&pg->writer, sweep.sql);
    pawl__pg_bind(&pg->writer, sweep.now_ms, pg->set.now_ms);
    pawl__pg_bind(&pg->writer, sweep.limit, limit);
    return pawl__pg_ask(&pg->writer, rows, pg->set.diag);
}

static enum pawl_err scan_jobs(struct pawl__backend *pg, struct sweep sweep, int64_t limit,
                               struct pawl_job_id *ids, size_t *count, bool *more)
{
    PGresult *rows;
    enum pawl_err err = ask_due(pg, sweep, limit, &rows);
    if (err) return err;
    for (int i = 0; i < PQntuples(rows); i++) {
        ids[(*count)++] = pawl__pg_id(rows, i, 0);
    }
    *more = (int64_t)*count == limit;
    return PAWL_OK;
}

enum pawl_err pawl__pg_scan_due(struct pawl__backend *pg, enum pawl__due what, int64_t limit,
                                struct pawl_job_id *ids, size_t *count, bool *more)
{
    *count = 0;
    if (what == PAWL__DUE_LEASE) return scan_leases(pg, limit, ids, count, more);
    struct sweep sweep = what == PAWL__DUE_RUN ? SWEEP(JOB_DUE) : SWEEP(JOB_EXPIRING);
    return scan_jobs(pg, sweep, limit, ids, count, more);
}

/* ---- promotion of jobs without ties ---- */

/* Columns of job_due. */
enum { DUE_ID, DUE_PLACE, DUE_TIES, DUE_LANE, DUE_STATE, DUE_RUN, DUE_RANK, DUE_ARRIVAL };

static enum pawl_err promote_row(struct pawl__backend *pg, const PGresult *rows, int at,
                                 struct pawl_job_id id)
{
    enum pawl_state from = (enum pawl_state)pawl__pg_int(rows, at, DUE_STATE);
    assert(pawl__lifecycle_next(from, PAWL_EVENT_DUE, PAWL_STATE_NONE) == PAWL_STATE_AVAILABLE);
    struct pawl__lane *lane;
    enum pawl_err err = pawl__sql_lane_by_id(pg, pawl__pg_int(rows, at, DUE_LANE), &lane);
    if (err) return err;
    pawl__set_moved(&pg->set, &(struct pawl__plain_move){ .id = id,
                                                          .run = pawl__pg_int(rows, at, DUE_RUN),
                                                          .lane = lane->at,
                                                          .from = from,
                                                          .to = PAWL_STATE_AVAILABLE });
    pawl__pg_roll_ready(
        pg, &(struct pawl__pg_waiting){ .lane = lane->id,
                                        .rank = pawl__pg_int(rows, at, DUE_RANK),
                                        .id = id,
                                        .arrival = pawl__pg_id(rows, at, DUE_ARRIVAL) });
    return PAWL_OK;
}

/* Those without ties, of which there are `count`, become available. */
static void send_promoted(struct pawl__backend *pg, const PGresult *rows, int32_t count)
{
    pawl__pg_call(&pg->writer, PG_JOB_PROMOTE);
    struct pawl__pg_list *places = pawl__pg_list(&pg->writer, PG_JOB_PROMOTE_places, PAWL__PG_TIDS);
    for (int i = 0; i < PQntuples(rows); i++) {
        struct pawl_span place = pawl__pg_raw(rows, i, DUE_PLACE);
        if (!pawl__pg_int(rows, i, DUE_TIES)) pawl__pg_list_add_bytes(places, place.at, place.len);
    }
    pawl__pg_send_exact(&pg->writer, count);
}

enum pawl_err pawl__pg_promote_plain(struct pawl__backend *pg, int64_t limit,
                                     struct pawl_job_id *ids, size_t *count, int64_t *moved,
                                     bool *more)
{
    PGresult *rows;
    enum pawl_err err = ask_due(pg, SWEEP(JOB_DUE), limit, &rows);
    for (int i = 0; !err && i < PQntuples(rows); i++) {
        struct pawl_job_id id = pawl__pg_id(rows, i, DUE_ID);
        bool tied = pawl__pg_int(rows, i, DUE_TIES);
        if (tied) ids[(*count)++] = id;
        if (!tied) err = promote_row(pg, rows, i, id);
        *moved += !tied;
    }
    if (err) return err;
    *more = PQntuples(rows) == limit;
    if (*moved) send_promoted(pg, rows, (int32_t)*moved);
    return PAWL_OK;
}

/* ---- what is due next ---- */

enum pawl_err pawl__pg_next_due(struct pawl__backend *pg, enum pawl__due what, int64_t *at_ms)
{
    if (what == PAWL__DUE_RUN) return pawl__sql_number(pg, PAWL__READ_JOB_NEXT_DUE, at_ms);
    if (what == PAWL__DUE_EXPIRY) return pawl__sql_number(pg, PAWL__READ_JOB_NEXT_EXPIRY, at_ms);
    enum pawl_err err = pawl__pg_rolls_flush(pg);
    return err ? err : next_lease(pg, at_ms);
}
