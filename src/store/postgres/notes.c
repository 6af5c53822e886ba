/* What a run leaves behind while it runs: progress, a checkpoint, log lines.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

#include <assert.h>

/* A run above 0 must be the current one. */
static enum pawl_err find_for(struct pawl__backend *pg, const struct pawl_run *ref,
                              struct pawl__pg_place *place, struct pawl_diag *diag)
{
    if (ref->run > 0) return pawl__pg_place_owned(pg, ref, place, diag);
    return pawl__pg_place_any(pg, ref->id, place, diag);
}

struct progress {
    double value; /* negative: none */
    struct pawl_span message, data;
};

/* What this run has reported before; an earlier run's does not count. */
static enum pawl_err read_progress(struct pawl__backend *pg, const struct pawl__pg_place *place,
                                   struct progress *out)
{
    *out = (struct progress){ .value = -1 };
    pawl__pg_call(&pg->writer, PG_PROGRESS_GET);
    pawl__pg_bind_id(&pg->writer, PG_PROGRESS_GET_id, &place->id);
    PGresult *row;
    enum pawl_err err = pawl__pg_ask(&pg->writer, &row, pg->diag);
    if (err || !PQntuples(row) || pawl__pg_int(row, 0, 0) != place->run) return err;
    if (!pawl__pg_is_null(row, 0, 1)) out->value = pawl__pg_double(row, 0, 1);
    bool ok = pawl__pg_span(row, 0, 2, &pg->arena, &out->message) &&
              pawl__pg_span(row, 0, 3, &pg->arena, &out->data);
    return ok ? PAWL_OK : pawl__fail_nomem(pg->diag);
}

enum pawl_err pawl__pg_op_progress(struct pawl__backend *pg, struct pawl__op *op)
{
    struct pawl__pg_conn *conn = &pg->writer;
    struct pawl__pg_place place;
    enum pawl_err err = find_for(pg, &op->progress.ref, &place, op->diag);
    if (err) return err;
    if (place.state != PAWL_STATE_ACTIVE) {
        return pawl__fail_state(op->diag, place.id, place.state, "report progress of");
    }
    struct progress progress;
    err = read_progress(pg, &place, &progress);
    if (err) return err;
    double value = op->progress.value > 1 ? 1 : op->progress.value;
    if (value > progress.value) progress.value = value; // it never goes back
    if (op->progress.message.len) progress.message = op->progress.message;
    if (op->progress.data.len) progress.data = op->progress.data;
    pawl__pg_call(conn, PG_PROGRESS_PUT);
    pawl__pg_bind_id(conn, PG_PROGRESS_PUT_id, &place.id);
    pawl__pg_bind(conn, PG_PROGRESS_PUT_run, place.run);
    pawl__pg_bind(conn, PG_PROGRESS_PUT_at_ms, pg->now_ms);
    pawl__pg_bind_double(conn, PG_PROGRESS_PUT_value, progress.value);
    pawl__pg_bind_span(conn, PG_PROGRESS_PUT_message, progress.message);
    pawl__pg_bind_span(conn, PG_PROGRESS_PUT_data, progress.data);
    pawl__pg_send_exact(conn, 1);
    return PAWL_OK;
}

static enum pawl_err save_checkpoint(struct pawl__backend *pg, struct pawl__op *op,
                                     struct pawl_job_id id)
{
    pawl__pg_call(&pg->writer, PG_CHECKPOINT_PUT);
    pawl__pg_bind_id(&pg->writer, PG_CHECKPOINT_PUT_id, &id);
    pawl__pg_bind(&pg->writer, PG_CHECKPOINT_PUT_at_ms, pg->now_ms);
    pawl__pg_bind_span(&pg->writer, PG_CHECKPOINT_PUT_state, op->checkpoint.state);
    PGresult *row;
    enum pawl_err err = pawl__pg_ask(&pg->writer, &row, pg->diag);
    if (!err) op->checkpoint.sequence = pawl__pg_int(row, 0, 0);
    return err;
}

enum pawl_err pawl__pg_op_checkpoint(struct pawl__backend *pg, struct pawl__op *op)
{
    struct pawl__pg_place place;
    enum pawl_err err = find_for(pg, &op->checkpoint.ref, &place, op->diag);
    if (err) return err;
    bool save = op->checkpoint.state.len > 0;
    if (save && pawl_state_is_terminal(place.state)) {
        return pawl__fail_state(op->diag, place.id, place.state, "save a checkpoint of");
    }
    if (save) return save_checkpoint(pg, op, place.id);
    op->checkpoint.sequence = 0;
    pawl__pg_call(&pg->writer, PG_CHECKPOINT_DELETE);
    pawl__pg_bind_id_list(&pg->writer, PG_CHECKPOINT_DELETE_ids, place.id);
    pawl__pg_send(&pg->writer);
    return PAWL_OK;
}

/* Is there such a job? If so, it stays until the commit. */
static enum pawl_err find_known(struct pawl__backend *pg, struct pawl__op *op)
{
    struct pawl__pg_conn *conn = &pg->writer;
    pawl__pg_call(conn, PG_JOB_KNOWN);
    pawl__pg_bind_id(conn, PG_JOB_KNOWN_id, &op->log.ref.id);
    pawl__pg_send_keep(conn, 0);
    pawl__pg_call(conn, PG_ARCHIVE_KNOWN);
    pawl__pg_bind_id(conn, PG_ARCHIVE_KNOWN_id, &op->log.ref.id);
    pawl__pg_send_keep(conn, 1);
    enum pawl_err err = pawl__pg_sync(conn, pg->diag);
    if (err) return err;
    bool known = PQntuples(conn->kept[0]) || PQntuples(conn->kept[1]);
    return known ? PAWL_OK : pawl__fail_unknown(op->diag, op->log.ref.id);
}

/* A line that is too long is cut, not refused: half of what went wrong is better than nothing. */
enum pawl_err pawl__pg_op_log(struct pawl__backend *pg, struct pawl__op *op)
{
    struct pawl__pg_conn *conn = &pg->writer;
    enum pawl_err err = find_known(pg, op);
    if (err) return err;
    struct pawl_span text = op->log.text;
    if (text.len > PAWL__LOG_LINE_BYTES_MAX) {
        text.len = PAWL__LOG_LINE_BYTES_MAX;
        while (text.len && ((uint8_t)text.at[text.len] & 0xC0) == 0x80) {
            text.len--; // not in the middle of a character
        }
    }
    pawl__pg_call(conn, PG_LOG_INSERT);
    pawl__pg_bind_id(conn, PG_LOG_INSERT_id, &op->log.ref.id);
    pawl__pg_bind(conn, PG_LOG_INSERT_run, op->log.ref.run);
    pawl__pg_bind(conn, PG_LOG_INSERT_at_ms, pg->now_ms);
    pawl__pg_bind(conn, PG_LOG_INSERT_level, op->log.level);
    pawl__pg_bind_span(conn, PG_LOG_INSERT_text, text);
    if (!text.len) pawl__pg_bind_string(conn, PG_LOG_INSERT_text, ""); // an empty line is a line
    pawl__pg_send(conn);
    pawl__pg_call(conn, PG_LOG_TRIM);
    pawl__pg_bind_id(conn, PG_LOG_TRIM_id, &op->log.ref.id);
    pawl__pg_bind(conn, PG_LOG_TRIM_first, PAWL__LOG_FIRST_KEPT);
    pawl__pg_bind(conn, PG_LOG_TRIM_last, PAWL__LOG_LAST_KEPT);
    pawl__pg_send(conn);
    return PAWL_OK;
}
