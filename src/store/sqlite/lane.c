/* The catalogue on SQLite: read when PRAGMA data_version says that another process wrote, and made
 * where it lacks something; the counters' deltas, written before the commit.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/sqlite/sqlite.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int64_t last_lane(const struct pawl__catalog *catalog)
{
    return catalog->lane_count ? catalog->lanes[catalog->lane_count - 1]->id : 0;
}

static enum pawl_err read_archive_high(struct pawl__backend *sq)
{
    sqlite3_stmt *stmt = pawl__sq_stmt(sq, SQL_ARCHIVE_HIGH);
    bool found;
    enum pawl_err err = pawl__sq_step(sq, stmt, &found);
    if (err || !found) return err;
    bool none = sqlite3_column_type(stmt, 0) == SQLITE_NULL;
    sq->archive_high = none ? INT64_MIN : sqlite3_column_int64(stmt, 0);
    sqlite3_reset(stmt);
    return PAWL_OK;
}

enum pawl_err pawl__sq_catalog_refresh(struct pawl__backend *sq)
{
    sqlite3_stmt *stmt = pawl__sq_stmt(sq, SQL_DATA_VERSION);
    bool found;
    enum pawl_err err = pawl__sq_step(sq, stmt, &found);
    if (err) return err;
    int64_t version = found ? sqlite3_column_int64(stmt, 0) : 0;
    if (found) sqlite3_reset(stmt);
    if (!sq->catalog_stale && version == sq->data_version) return PAWL_OK;
    sq->head.valid = false;
    if (sq->catalog_stale) pawl__catalog_clear(&sq->set.catalog);
    sq->catalog_stale = true; // unless both succeed
    err = pawl__sql_catalog_read(sq, last_lane(&sq->set.catalog));
    if (!err) err = read_archive_high(sq);
    if (err) return err;
    sq->catalog_stale = false;
    sq->data_version = version;
    return PAWL_OK;
}

enum pawl_err pawl__sq_queue(struct pawl__backend *sq, const char *name, struct pawl_diag *diag)
{
    (void)diag;
    if (pawl__catalog_queue(&sq->set.catalog, name)) return PAWL_OK;
    sqlite3_stmt *stmt = pawl__sq_stmt(sq, SQL_QUEUE_INSERT);
    pawl__sq_bind_text(stmt, SQL_QUEUE_INSERT_name, name);
    pawl__sq_bind(stmt, SQL_QUEUE_INSERT_created_at_ms, sq->set.now_ms);
    enum pawl_err err = pawl__sq_end(sq, stmt);
    if (err) return err;
    return pawl__catalog_learn_queue(&sq->set.catalog, sqlite3_last_insert_rowid(sq->writer.db),
                                     name, false, sq->set.diag);
}

enum pawl_err pawl__sq_lane_of(struct pawl__backend *sq, const char *queue, const char *type,
                               struct pawl__lane **out)
{
    *out = pawl__catalog_lane(&sq->set.catalog, queue, type);
    if (*out) return PAWL_OK;
    enum pawl_err err = pawl__sq_queue(sq, queue, NULL);
    if (err) return err;
    const struct pawl__queue *owner = pawl__catalog_queue(&sq->set.catalog, queue);
    sqlite3_stmt *stmt = pawl__sq_stmt(sq, SQL_LANE_INSERT);
    pawl__sq_bind(stmt, SQL_LANE_INSERT_queue_id, owner->id);
    pawl__sq_bind_text(stmt, SQL_LANE_INSERT_type, type);
    err = pawl__sq_end(sq, stmt);
    if (err) return err;
    err = pawl__catalog_learn_lane(&sq->set.catalog, sqlite3_last_insert_rowid(sq->writer.db),
                                   owner->id, type, sq->set.diag);
    if (!err) *out = pawl__catalog_lane(&sq->set.catalog, queue, type);
    return err;
}

enum pawl_err pawl__sq_lane_at(struct pawl__backend *sq, const char *queue, const char *type,
                               uint32_t *out, struct pawl_diag *diag)
{
    (void)diag;
    struct pawl__lane *lane;
    enum pawl_err err = pawl__sq_lane_of(sq, queue, type, &lane);
    if (!err) *out = lane->at;
    return err;
}

static enum pawl_err flush_lane(struct pawl__backend *sq, struct pawl__lane *lane)
{
    for (int state = 0; state < PAWL_STATE_END; state++) {
        if (!lane->delta[state]) continue;
        sqlite3_stmt *stmt = pawl__sq_stmt(sq, SQL_COUNT_ADD);
        pawl__sq_bind(stmt, SQL_COUNT_ADD_lane, lane->id);
        pawl__sq_bind(stmt, SQL_COUNT_ADD_state, state);
        pawl__sq_bind(stmt, SQL_COUNT_ADD_delta, lane->delta[state]);
        enum pawl_err err = pawl__sq_end(sq, stmt);
        if (!err && sqlite3_changes(sq->writer.db) == 0) {
            stmt = pawl__sq_stmt(sq, SQL_COUNT_INSERT);
            pawl__sq_bind(stmt, SQL_COUNT_INSERT_lane, lane->id);
            pawl__sq_bind(stmt, SQL_COUNT_INSERT_state, state);
            pawl__sq_bind(stmt, SQL_COUNT_INSERT_delta, lane->delta[state]);
            err = pawl__sq_end(sq, stmt);
        }
        if (err) return err;
    }
    return PAWL_OK;
}

enum pawl_err pawl__sq_counts_flush(struct pawl__backend *sq)
{
    for (uint32_t i = 0; i < sq->set.catalog.touched_count; i++) {
        enum pawl_err err = flush_lane(sq, sq->set.catalog.lanes[sq->set.catalog.touched[i]]);
        if (err) return err;
    }
    return PAWL_OK;
}
