/* Jobs that have ended: how they are found. What is made of them is core/retire.c's.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

enum { ROLL_ROWS = 16 }; /* taken at a time */
enum { GOES_MAX = 8 };   /* for one state */

enum { SLOT_OLD, SLOT_HELD };

static void send_ended(struct pawl__backend *pg, const struct pawl__ended *what,
                       const struct pawl__pg_taken *taken, int64_t limit)
{
    struct pawl__pg_conn *conn = &pg->writer;
    pawl__pg_call(conn, PG_ENDED_OLD);
    struct pawl__pg_list *ids = pawl__pg_list_taken(pg, PG_ENDED_OLD_ids, taken);
    pawl__pg_bind(conn, PG_ENDED_OLD_state, what->state);
    pawl__pg_bind(conn, PG_ENDED_OLD_before_ms, what->before_ms);
    pawl__pg_send_keep(conn, SLOT_OLD);
    pawl__pg_call(conn, PG_ENDED_HOLD);
    pawl__pg_list_again(conn, PG_ENDED_HOLD_ids, ids);
    pawl__pg_bind(conn, PG_ENDED_HOLD_state, what->state);
    pawl__pg_bind(conn, PG_ENDED_HOLD_before_ms, what->before_ms);
    pawl__pg_bind(conn, PG_ENDED_HOLD_limit, limit);
    pawl__pg_send_keep(conn, SLOT_HELD);
    pawl__pg_roll_delete(pg, PG_ENDED_DELETE, PG_ENDED_DELETE_places, taken->places,
                         taken->row_count);
}

/* What is not archived now, because others hold it, there are too many, or it goes with its flow,
 * stays on the roll. The next sweep goes on behind members of flows. */
static enum pawl_err keep_ended(struct pawl__backend *pg, enum pawl_state state,
                                const PGresult *old, const PGresult *held)
{
    struct pawl_job_id *ours;
    enum pawl_err err = pawl__pg_ids_sorted(pg, held, &ours);
    for (int i = 0; !err && i < PQntuples(old); i++) {
        struct pawl_job_id id = pawl__pg_id(old, i, 0);
        if (pawl__pg_ids_have(ours, (size_t)PQntuples(held), id)) continue;
        int64_t at_ms = pawl__pg_int(old, i, 1);
        pawl__pg_roll_ended(pg, state, at_ms, id);
        bool member = pawl__pg_bool(old, i, 2);
        if (member && at_ms > pg->ended_after_ms[state]) pg->ended_after_ms[state] = at_ms;
    }
    return err;
}

/* A job that ended twice may be on two rows of the roll, and is found again. */
static enum pawl_err take_held(struct pawl__backend *pg, enum pawl_state state,
                               const PGresult *held)
{
    for (int i = 0; i < PQntuples(held); i++) {
        struct pawl__lane *lane;
        enum pawl_err err = pawl__sql_lane_by_id(pg, pawl__pg_int(held, i, 1), &lane);
        if (err) return err;
        (void)pawl__set_ended(&pg->set, pawl__pg_id(held, i, 0), lane->at, state);
    }
    return PAWL_OK;
}

/* Some rows of the roll, and those of their jobs that are old enough. */
static enum pawl_err take_ended(struct pawl__backend *pg, const struct pawl__ended *what,
                                int64_t limit, bool *more)
{
    struct pawl__pg_conn *conn = &pg->writer;
    struct pawl__pg_taken taken;
    pawl__pg_call(conn, PG_ENDED_DUE);
    pawl__pg_bind(conn, PG_ENDED_DUE_state, what->state);
    pawl__pg_bind(conn, PG_ENDED_DUE_after_ms, pg->ended_after_ms[what->state]);
    pawl__pg_bind(conn, PG_ENDED_DUE_before_ms, what->before_ms);
    pawl__pg_bind(conn, PG_ENDED_DUE_limit, ROLL_ROWS);
    enum pawl_err err = pawl__pg_roll_take(pg, &taken);
    *more = !err && taken.row_count == ROLL_ROWS;
    if (err || !taken.row_count) return err;
    send_ended(pg, what, &taken, limit);
    err = pawl__pg_sync(conn, pg->set.diag);
    if (!err) err = keep_ended(pg, what->state, conn->kept[SLOT_OLD], conn->kept[SLOT_HELD]);
    return err ? err : take_held(pg, what->state, conn->kept[SLOT_HELD]);
}

static enum pawl_err scan_live(struct pawl__backend *pg, const struct pawl__ended *what, bool *more)
{
    size_t before = pg->set.scanned_count;
    enum pawl_err err = pawl__pg_rolls_flush(pg);
    *more = true;
    for (int i = 0; !err && *more && i < GOES_MAX; i++) {
        int64_t left = what->limit - (int64_t)(pg->set.scanned_count - before);
        if (left <= 0) break;
        err = take_ended(pg, what, left, more);
    }
    if (!err && !*more) pg->ended_after_ms[what->state] = 0; // from the beginning
    return err;
}

static enum pawl_err scan_archive(struct pawl__backend *pg, const struct pawl__ended *what)
{
    pawl__pg_call(&pg->writer, PG_ARCHIVE_OLD);
    pawl__pg_bind(&pg->writer, PG_ARCHIVE_OLD_state, what->state);
    pawl__pg_bind(&pg->writer, PG_ARCHIVE_OLD_before_ms, what->before_ms);
    pawl__pg_bind(&pg->writer, PG_ARCHIVE_OLD_kept_until_ms, what->kept_until_ms);
    pawl__pg_bind(&pg->writer, PG_ARCHIVE_OLD_limit, what->limit);
    PGresult *rows;
    enum pawl_err err = pawl__pg_ask(&pg->writer, &rows, pg->set.diag);
    for (int i = 0; !err && i < PQntuples(rows); i++) {
        pawl__set_scanned(&pg->set, pawl__pg_id(rows, i, 0), PAWL__NEED_KEYS);
    }
    return err;
}

enum pawl_err pawl__pg_scan_ended(struct pawl__backend *pg, const struct pawl__ended *what,
                                  bool *more)
{
    *more = false;
    return what->archived ? scan_archive(pg, what) : scan_live(pg, what, more);
}
