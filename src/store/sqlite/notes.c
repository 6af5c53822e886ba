/* What a run leaves behind while it runs: progress, a checkpoint, log lines.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/sqlite/sqlite.h"

#include <assert.h>

/* A run above 0 must be the current one. */
static enum pawl_err find_for(struct pawl__backend *sq, const struct pawl_run *ref,
                              struct pawl__sq_place *place, struct pawl_diag *diag)
{
    if (ref->run > 0) return pawl__sq_place_owned(sq, ref, place, diag);
    enum pawl_err err = pawl__sq_place_find(sq, ref->id, place);
    if (err == PAWL_ERR_NOT_FOUND) err = pawl__sq_place_archived(sq, ref->id, place);
    return err == PAWL_ERR_NOT_FOUND ? pawl__fail_unknown(diag, ref->id) : err;
}

struct progress {
    double value; /* negative: none */
    struct pawl_span message, data;
};

/* What this run has reported before; an earlier run's does not count. */
static enum pawl_err read_progress(struct pawl__backend *sq, const struct pawl__sq_place *place,
                                   struct pawl__arena *arena, struct progress *out)
{
    *out = (struct progress){ .value = -1 };
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_PROGRESS_GET);
    pawl__sq_bind(stmt, SQL_PROGRESS_GET_key, place->key);
    bool found;
    enum pawl_err err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag);
    if (err || !found) return err;
    bool ok = true;
    if (sqlite3_column_int64(stmt, 0) == place->run) {
        if (sqlite3_column_type(stmt, 1) != SQLITE_NULL)
            out->value = sqlite3_column_double(stmt, 1);
        ok = pawl__sq_column_span(stmt, 2, arena, &out->message) &&
             pawl__sq_column_span(stmt, 3, arena, &out->data);
    }
    sqlite3_reset(stmt);
    return ok ? PAWL_OK : pawl__fail_nomem(sq->diag);
}

enum pawl_err pawl__sq_op_progress(struct pawl__backend *sq, struct pawl__op *op)
{
    struct pawl__sq_place place;
    enum pawl_err err = find_for(sq, &op->progress.ref, &place, op->diag);
    if (err) return err;
    if (place.state != PAWL_STATE_ACTIVE) {
        return pawl__fail_state(op->diag, place.id, place.state, "report progress of");
    }
    struct progress progress;
    err = read_progress(sq, &place, &op->arena, &progress);
    if (err) return err;
    double value = op->progress.value > 1 ? 1 : op->progress.value;
    if (value > progress.value) progress.value = value; // it never goes back
    if (op->progress.message.len) progress.message = op->progress.message;
    if (op->progress.data.len) progress.data = op->progress.data;
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_PROGRESS_PUT);
    pawl__sq_bind(stmt, SQL_PROGRESS_PUT_key, place.key);
    pawl__sq_bind(stmt, SQL_PROGRESS_PUT_run, place.run);
    pawl__sq_bind(stmt, SQL_PROGRESS_PUT_at_ms, sq->now_ms);
    pawl__sq_bind_some(stmt, SQL_PROGRESS_PUT_value, 0);
    if (stmt && progress.value >= 0) {
        sqlite3_bind_double(stmt, SQL_PROGRESS_PUT_value, progress.value);
    }
    pawl__sq_bind_span(stmt, SQL_PROGRESS_PUT_message, progress.message);
    pawl__sq_bind_span(stmt, SQL_PROGRESS_PUT_data, progress.data);
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}

static enum pawl_err read_sequence(struct pawl__backend *sq, int64_t key, int64_t *out)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_CHECKPOINT_SEQUENCE);
    pawl__sq_bind(stmt, SQL_CHECKPOINT_SEQUENCE_key, key);
    bool found;
    enum pawl_err err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag);
    *out = 0;
    if (err || !found) return err;
    *out = sqlite3_column_int64(stmt, 0);
    sqlite3_reset(stmt);
    return PAWL_OK;
}

enum pawl_err pawl__sq_op_checkpoint(struct pawl__backend *sq, struct pawl__op *op)
{
    struct pawl__sq_place place;
    enum pawl_err err = find_for(sq, &op->checkpoint.ref, &place, op->diag);
    if (err) return err;
    bool save = op->checkpoint.state.len > 0;
    if (save && pawl_state_is_terminal(place.state)) {
        return pawl__fail_state(op->diag, place.id, place.state, "save a checkpoint of");
    }
    sqlite3_stmt *stmt =
        pawl__sq_use(&sq->writer, save ? SQL_CHECKPOINT_PUT : SQL_CHECKPOINT_DELETE);
    pawl__sq_bind(stmt, SQL_CHECKPOINT_PUT_key, place.key); // the first in both
    if (save) {
        pawl__sq_bind(stmt, SQL_CHECKPOINT_PUT_at_ms, sq->now_ms);
        pawl__sq_bind_span(stmt, SQL_CHECKPOINT_PUT_state, op->checkpoint.state);
    }
    err = pawl__sq_run(&sq->writer, stmt, sq->diag);
    return err ? err : read_sequence(sq, place.key, &op->checkpoint.sequence);
}

/* A line that is too long is cut, not refused: half of what went wrong is better than nothing. */
enum pawl_err pawl__sq_op_log(struct pawl__backend *sq, struct pawl__op *op)
{
    int64_t key;
    enum pawl_err err = pawl__sq_find(&sq->writer, op->log.ref.id, &key, sq->diag);
    if (err == PAWL_ERR_NOT_FOUND) {
        err = pawl__sq_find_archived(&sq->writer, op->log.ref.id, &key, sq->diag);
    }
    if (err == PAWL_ERR_NOT_FOUND) return pawl__fail_unknown(op->diag, op->log.ref.id);
    if (err) return err;
    struct pawl_span text = op->log.text;
    if (text.len > PAWL__LOG_LINE_BYTES_MAX) {
        text.len = PAWL__LOG_LINE_BYTES_MAX;
        while (text.len && ((uint8_t)text.at[text.len] & 0xC0) == 0x80) {
            text.len--; // not in the middle of a character
        }
    }
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_LOG_INSERT);
    pawl__sq_bind(stmt, SQL_LOG_INSERT_key, key);
    pawl__sq_bind(stmt, SQL_LOG_INSERT_run, op->log.ref.run);
    pawl__sq_bind(stmt, SQL_LOG_INSERT_at_ms, sq->now_ms);
    pawl__sq_bind(stmt, SQL_LOG_INSERT_level, op->log.level);
    if (stmt) { // an empty line is a line
        sqlite3_bind_text(stmt, SQL_LOG_INSERT_text, text.len ? text.at : "", (int)text.len,
                          SQLITE_STATIC);
    }
    err = pawl__sq_run(&sq->writer, stmt, sq->diag);
    if (err) return err;
    stmt = pawl__sq_use(&sq->writer, SQL_LOG_TRIM);
    pawl__sq_bind(stmt, SQL_LOG_TRIM_key, key);
    pawl__sq_bind(stmt, SQL_LOG_TRIM_first, PAWL__LOG_FIRST_KEPT);
    pawl__sq_bind(stmt, SQL_LOG_TRIM_last, PAWL__LOG_LAST_KEPT);
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}
