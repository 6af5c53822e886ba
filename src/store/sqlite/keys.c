/* Keys: the holders of all that a batch asks about, read by one statement.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/sqlite/sqlite.h"

#include <string.h>

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

enum pawl_err pawl__sq_keys_load(struct pawl__backend *sq, struct pawl__set *set, bool wait)
{
    (void)wait; // one transaction writes at a time
    struct pawl__set_key *keys = set->keys + (set->key_count - set->unread_keys);
    if (!set->unread_keys) return PAWL_OK;
    sq->keys.rows = keys;
    sq->keys.count = set->unread_keys;
    sqlite3_stmt *stmt = pawl__sq_stmt(sq, SQL_SET_HOLDERS);
    bool found;
    enum pawl_err err;
    while (!(err = pawl__sq_step(sq, stmt, &found)) && found) {
        struct pawl__key_holder holder = { .until_ms = sqlite3_column_int64(stmt, 2),
                                           .stored = true };
        memcpy(holder.id.b, sqlite3_column_blob(stmt, 1), sizeof holder.id.b);
        pawl__key_hold(set, &keys[sqlite3_column_int64(stmt, 0)], &holder);
    }
    return err;
}
