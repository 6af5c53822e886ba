/* Nodes, locks and tokens: how they are found. What is made of them is core/cluster.c's.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

/* A turn that another transaction has is there with its name alone, in a column behind all fields.
 */
static void read_rows(struct pawl__backend *pg, const PGresult *rows, enum pawl__named_kind kind)
{
    const struct pawl__set_table *of = pawl__named_table(kind);
    for (int i = 0; i < PQntuples(rows); i++) {
        union pawl__named_row row = { .name = NULL };
        if (PQgetisnull(rows, i, 0)) {
            pawl__set_named_held(&pg->set, PQgetvalue(rows, i, (int)of->count));
        } else if (pawl__pg_read(rows, i, 0, of->fields, of->count, &pg->set.arena, &row)) {
            pg->set.failed = true;
        } else {
            (void)pawl__set_named_loaded(&pg->set, kind, &row);
        }
    }
}

/* What is read, and by which statement. */
static const struct {
    enum pawl__named_kind kind;
    enum pawl__pg sql;
    int names;
    bool turn;
} loads[] = { { PAWL__NAMED_NODE, PG_NODE_LOAD, PG_NODE_LOAD_names, false },
              { PAWL__NAMED_LOCK, PG_LOCK_LOAD, PG_LOCK_LOAD_names, false },
              { PAWL__NAMED_LOCK, PG_LOCK_TURN, PG_LOCK_TURN_names, true },
              { PAWL__NAMED_TOKEN, PG_TOKEN_LOAD, PG_TOKEN_LOAD_names, false } };

enum { LOADS = sizeof loads / sizeof *loads };

static bool send_load(struct pawl__backend *pg, int at)
{
    pawl__pg_call(&pg->writer, loads[at].sql);
    struct pawl__pg_list *names = pawl__pg_list(&pg->writer, loads[at].names, PAWL__PG_TEXTS);
    for (size_t i = 0; i < pg->set.names.count; i++) {
        const struct pawl__named *named = pg->set.names.at[i];
        if (named->read || named->kind != loads[at].kind || named->turn != loads[at].turn) continue;
        pawl__pg_list_add_text(names, named->row.name);
    }
    if (!names->count) return false;
    pawl__pg_send_keep(&pg->writer, at);
    return true;
}

enum pawl_err pawl__pg_load_named(struct pawl__backend *pg, struct pawl__set *set)
{
    (void)set;
    bool sent[LOADS];
    for (int i = 0; i < LOADS; i++) {
        sent[i] = send_load(pg, i);
    }
    enum pawl_err err = pawl__pg_sync(&pg->writer, pg->diag);
    for (int i = 0; !err && i < LOADS; i++) {
        if (sent[i]) read_rows(pg, pg->writer.kept[i], loads[i].kind);
    }
    return err;
}
