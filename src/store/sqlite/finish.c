/* Leases are extended by the owners of runs. Every write names the run.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/sqlite/sqlite.h"

/* `tail` NULL: the run of a displaced job. */
static enum pawl_err extend_row(struct pawl__backend *sq, int64_t key, const int64_t *tail,
                                const struct pawl__op *op, int64_t run, bool *extended)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_ACTIVE_EXTEND);
    pawl__sq_bind(stmt, SQL_ACTIVE_EXTEND_key, key);
    if (tail) pawl__sq_bind(stmt, SQL_ACTIVE_EXTEND_tail, *tail);
    if (!tail) pawl__sq_bind_null(stmt, SQL_ACTIVE_EXTEND_tail);
    pawl__sq_bind(stmt, SQL_ACTIVE_EXTEND_run, run);
    pawl__sq_bind(stmt, SQL_ACTIVE_EXTEND_now_ms, sq->now_ms);
    pawl__sq_bind(stmt, SQL_ACTIVE_EXTEND_timed, op->extend.timed);
    pawl__sq_bind(stmt, SQL_ACTIVE_EXTEND_lease_until_ms, sq->now_ms + op->extend.lease_ms);
    enum pawl_err err = pawl__sq_run(&sq->writer, stmt, sq->diag);
    *extended = !err && sqlite3_changes(sq->writer.db) > 0;
    return err;
}

/* Not under its id's first half: gone, or stored under another key. */
static enum pawl_err extend_elsewhere(struct pawl__backend *sq, struct pawl__op *op, size_t i)
{
    const struct pawl_run *ref = &op->extend.refs[i];
    struct pawl__sq_place place;
    enum pawl_err err = pawl__sq_place_owned(sq, ref, &place, NULL);
    bool extended = false;
    const int64_t *tail = err || place.displaced ? NULL : &place.tail;
    if (!err) err = extend_row(sq, place.key, tail, op, ref->run, &extended);
    if (err && !pawl__err_is_own(err)) return err;
    op->extend.results[i] = err ? err : extended ? PAWL_OK : PAWL_ERR_STALE;
    return PAWL_OK;
}

static enum pawl_err extend_one(struct pawl__backend *sq, struct pawl__op *op, size_t i)
{
    const struct pawl_run *ref = &op->extend.refs[i];
    struct pawl__sq_halves halves = pawl__sq_split(ref->id);
    op->extend.results[i] = PAWL_OK;
    if (!pawl__sq_is_key(ref->id)) return extend_elsewhere(sq, op, i);
    bool extended;
    enum pawl_err err = extend_row(sq, halves.head, &halves.tail, op, ref->run, &extended);
    return err || extended ? err : extend_elsewhere(sq, op, i);
}

enum pawl_err pawl__sq_op_extend(struct pawl__backend *sq, struct pawl__op *op)
{
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < op->extend.count; i++) {
        err = extend_one(sq, op, i);
    }
    return err;
}
