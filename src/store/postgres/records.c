/* Nodes, locks and other records: how they are read. What is made of them is the core's.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

/* Records of another transaction that is not waited for are there with their key alone, in columns
 * behind all fields. */
static bool read_record(struct pawl__backend *pg, const PGresult *rows, int at,
                        enum pawl__record_kind kind)
{
    const struct pawl__record_shape *shape = &pawl__record_shapes[kind];
    const struct pawl__set_table *of = shape->of;
    union pawl__record_row row;
    bool held = PQgetisnull(rows, at, 0);
    int first = held ? (int)of->count : 0;
    size_t count = held ? shape->keys : of->count;
    if (pawl__pg_read(rows, at, first, of->fields, count, &pg->set.arena, &row)) return false;
    if (held) pawl__set_record_held(&pg->set, kind, &row);
    if (!held) (void)pawl__set_record_loaded(&pg->set, kind, &row);
    return true;
}

#define X(name, ...) PG_##name##_LOAD,
static const enum pawl__pg loads[PAWL__RECORD_KINDS] = { PAWL__RECORDS(X) };
#undef X

/* By a list for each field of the key. */
static void send_load(struct pawl__backend *pg, enum pawl__record_kind kind, int slot)
{
    const struct pawl__record_shape *shape = &pawl__record_shapes[kind];
    const struct pawl__list *wanted = &pg->set.records.wanted[kind];
    struct pawl__pg_list *lists[PAWL__PG_LISTS_MAX] = { NULL };
    pawl__pg_call(&pg->writer, loads[kind]);
    pawl__pg_lists(&pg->writer, 1, shape->of->fields, shape->keys, lists);
    for (size_t i = 0; i < wanted->count; i++) {
        const char *key = (const char *)wanted->rows + i * shape->of->bytes;
        pawl__pg_lists_offer(lists, shape->of->fields, shape->keys, key);
    }
    pawl__pg_send_keep(&pg->writer, slot);
}

/* As many kinds as there is room for answers; one round trip. */
static enum pawl_err load_some(struct pawl__backend *pg, int *kind)
{
    enum pawl__record_kind sent[PAWL__PG_SLOTS];
    int count = 0;
    for (; *kind < PAWL__RECORD_KINDS && count < PAWL__PG_SLOTS; (*kind)++) {
        if (!pg->set.records.wanted[*kind].count) continue;
        sent[count] = (enum pawl__record_kind) * kind;
        send_load(pg, sent[count], count);
        count++;
    }
    enum pawl_err err = pawl__pg_sync(&pg->writer, pg->set.diag);
    for (int i = 0; !err && i < count; i++) {
        const PGresult *rows = pg->writer.kept[i];
        for (int row = 0; row < PQntuples(rows); row++) {
            pg->set.failed |= !read_record(pg, rows, row, sent[i]);
        }
    }
    return err;
}

enum pawl_err pawl__pg_load_records(struct pawl__backend *pg, struct pawl__set *set)
{
    (void)set;
    enum pawl_err err = PAWL_OK;
    for (int kind = 0; !err && kind < PAWL__RECORD_KINDS;) {
        err = load_some(pg, &kind);
    }
    return err;
}
