/* Keys: the holders of all that a batch asks about, read by one statement, and the keys of a job
 * that goes.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/sqlite/sqlite.h"

#include <string.h>

/* ---- loading ---- */

#define KEY_TABLE "CREATE TABLE x (at, digest)"

static void key_column(const void *rows, size_t at, int column, sqlite3_context *to)
{
    const struct pawl__set_key *key = &((const struct pawl__set_key *)rows)[at];
    if (column == 0) sqlite3_result_int64(to, (int64_t)at);
    if (column == 1) sqlite3_result_blob(to, key->digest, sizeof key->digest, SQLITE_STATIC);
}

int pawl__sq_keys_attach(struct pawl__backend *sq)
{
    sq->keys = (struct pawl__sq_source){ .schema = KEY_TABLE, .column = key_column };
    return pawl__sq_source_attach(sq->writer.db, "pawl_set_key", &sq->keys);
}

enum pawl_err pawl__sq_keys_load(struct pawl__backend *sq, struct pawl__set *set)
{
    struct pawl__set_key *keys = set->keys + (set->key_count - set->unread_keys);
    if (!set->unread_keys) return PAWL_OK;
    sq->keys.rows = keys;
    sq->keys.count = set->unread_keys;
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_SET_HOLDERS);
    bool found;
    enum pawl_err err;
    while (!(err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag)) && found) {
        struct pawl__key_holder holder = { .until_ms = sqlite3_column_int64(stmt, 2),
                                           .stored = true };
        memcpy(holder.id.b, sqlite3_column_blob(stmt, 1), sizeof holder.id.b);
        pawl__key_hold(set, &keys[sqlite3_column_int64(stmt, 0)], &holder);
    }
    return err;
}

/* ---- a job that goes ---- */

static enum pawl_err delete_key(struct pawl__backend *sq, const uint8_t digest[16],
                                struct pawl_job_id id)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_KEY_DELETE);
    pawl__sq_bind_bytes(stmt, SQL_KEY_DELETE_digest, digest, 16);
    pawl__sq_bind_bytes(stmt, SQL_KEY_DELETE_id, id.b, sizeof id.b);
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}

enum pawl_err pawl__sq_forget(struct pawl__backend *sq, int64_t key, struct pawl_job_id id,
                              struct pawl_span tags, struct pawl_span keys)
{
    static const enum pawl__sql by_key[] = { SQL_FAILURE_DELETE, SQL_PROGRESS_DELETE,
                                             SQL_CHECKPOINT_DELETE, SQL_LOG_DELETE };
    sqlite3_stmt *deeds = pawl__sq_use(&sq->writer, SQL_DEED_DELETE);
    pawl__sq_bind_bytes(deeds, SQL_DEED_DELETE_job_id, id.b, sizeof id.b);
    enum pawl_err err = pawl__sq_run(&sq->writer, deeds, sq->diag);
    for (size_t i = 0; !err && i < sizeof by_key / sizeof *by_key; i++) {
        sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, by_key[i]);
        pawl__sq_bind(stmt, 1, key);
        err = pawl__sq_run(&sq->writer, stmt, sq->diag);
    }
    if (!err && tags.len) {
        sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_TAG_DELETE);
        pawl__sq_bind(stmt, SQL_TAG_DELETE_key, key);
        pawl__sq_bind_span(stmt, SQL_TAG_DELETE_tags, tags);
        err = pawl__sq_run(&sq->writer, stmt, sq->diag);
    }
    for (size_t at = 0; !err && at + PAWL__KEY_RECORD_BYTES <= keys.len;
         at += PAWL__KEY_RECORD_BYTES) {
        if ((uint8_t)keys.at[at] == PAWL__KEY_IDEMPOTENCY) continue; // outlives its job
        err = delete_key(sq, (const uint8_t *)keys.at + at + 1, id);
    }
    return err;
}
