/* The working set on SQLite: how it is read.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/sqlite/sqlite.h"

#include <string.h>

/* Columns of the statements that read rows. */
enum { GOT_AT, GOT_KEY, GOT_LANE, GOT_FIELDS };

static enum pawl_err read_row(struct pawl__backend *sq, sqlite3_stmt *stmt, struct pawl__row *row,
                              enum pawl__found found)
{
    struct pawl__lane *lane;
    enum pawl_err err = pawl__sq_lane_by_id(sq, sqlite3_column_int64(stmt, GOT_LANE), &lane);
    if (err) return err;
    row->own.key = sqlite3_column_int64(stmt, GOT_KEY);
    row->lane = lane->at;
    err = pawl__sq_read(stmt, GOT_FIELDS, pawl__row_fields, PAWL__ROW_READ_COUNT, &sq->set.arena,
                        row);
    if (err) return pawl__fail_nomem(sq->diag);
    pawl__row_loaded(&sq->set, row, found);
    return PAWL_OK;
}

static enum pawl_err read_rows(struct pawl__backend *sq, enum pawl__sql sql, enum pawl__found found)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, sql);
    bool there = false;
    enum pawl_err err;
    while (!(err = pawl__sq_row(&sq->writer, stmt, &there, sq->diag)) && there) {
        struct pawl__row *row = sq->set_tables.list[sqlite3_column_int64(stmt, GOT_AT)];
        err = read_row(sq, stmt, row, found);
        if (err) break;
    }
    if (err && there) sqlite3_reset(stmt);
    return err;
}

/* Where a job may be, in the order in which it is looked for. `runs`: only those of which no more
 * than a run is wanted. */
static const struct {
    enum pawl__sql sql;
    enum pawl__found found;
    bool runs;
} looks[] = {
    { SQL_SET_ACTIVE, PAWL__FOUND_LIVE, true },
    { SQL_SET_LIVE, PAWL__FOUND_LIVE, false },
    { SQL_SET_LIVE_DISPLACED, PAWL__FOUND_LIVE, false },
    { SQL_SET_ARCHIVED, PAWL__FOUND_ARCHIVED, false },
    { SQL_SET_ARCHIVED_DISPLACED, PAWL__FOUND_ARCHIVED, false },
};

/* Shows what was not found so far; how many. */
static size_t show_unread(struct pawl__backend *sq, bool runs)
{
    size_t count = 0;
    for (size_t i = 0; i < sq->set.unread_count; i++) {
        struct pawl__row *row = sq->set.unread[i];
        if (row->found != PAWL__FOUND_UNREAD) continue;
        if (runs && (row->need & (PAWL__NEED_STAND | PAWL__NEED_KEYS))) continue;
        sq->set_tables.list[count++] = row;
    }
    pawl__sq_set_show(sq, count);
    return count;
}

static enum pawl_err load_rows(struct pawl__backend *sq, struct pawl__set *set)
{
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; i < set->unread_count; i++) {
        set->unread[i]->own.key = pawl__sq_split(set->unread[i]->id).head;
    }
    for (size_t i = 0; !err && i < sizeof looks / sizeof *looks; i++) {
        if (show_unread(sq, looks[i].runs)) err = read_rows(sq, looks[i].sql, looks[i].found);
    }
    for (size_t i = 0; i < set->unread_count; i++) {
        if (set->unread[i]->found == PAWL__FOUND_UNREAD) set->unread[i]->found = PAWL__FOUND_ABSENT;
    }
    return err;
}

static enum pawl_err load_crashes(struct pawl__backend *sq, struct pawl__set *set)
{
    struct pawl__row **list = sq->set_tables.list;
    size_t count = 0;
    for (size_t i = 0; i < set->unread_count; i++) {
        struct pawl__row *row = set->unread[i];
        bool live = row->found == PAWL__FOUND_LIVE;
        if (live && (row->need & PAWL__NEED_CRASHES)) list[count++] = row;
    }
    if (!count) return PAWL_OK;
    pawl__sq_set_show(sq, count);
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_SET_CRASHES);
    bool found;
    enum pawl_err err;
    while (!(err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag)) && found) {
        struct pawl__row *row = list[sqlite3_column_int64(stmt, 0)];
        row->crashes = sqlite3_column_int64(stmt, 1);
        row->has |= PAWL__NEED_CRASHES;
    }
    return err;
}

static enum pawl_err load_key(struct pawl__backend *sq, struct pawl__set_key *key)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_KEY_HOLDERS);
    pawl__sq_bind_bytes(stmt, SQL_KEY_HOLDERS_digest, key->digest, sizeof key->digest);
    bool found;
    enum pawl_err err;
    while (!(err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag)) && found) {
        struct pawl__key_holder holder = { .until_ms = sqlite3_column_int64(stmt, 1) };
        memcpy(holder.id.b, sqlite3_column_blob(stmt, 0), sizeof holder.id.b);
        pawl__key_hold(&sq->set, key, &holder);
    }
    return err;
}

enum pawl_err pawl__sq_set_load(struct pawl__backend *sq, struct pawl__set *set)
{
    enum pawl_err err = pawl__sq_set_reserve(sq, set->unread_count);
    if (!err) err = load_rows(sq, set);
    if (!err) err = load_crashes(sq, set);
    for (size_t i = set->key_count - set->unread_keys; !err && i < set->key_count; i++) {
        err = load_key(sq, &set->keys[i]);
    }
    return err;
}
