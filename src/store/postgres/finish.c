/* Leases are extended by the owners of runs. Every write names the run.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

#include <stdlib.h>
#include <string.h>

static void list_refs(struct pawl__backend *pg, const struct pawl__op *op)
{
    struct pawl__pg_list *ids = &pg->gather.lists[0], *runs = &pg->gather.lists[1];
    pawl__pg_list_begin(ids, PAWL__PG_IDS);
    pawl__pg_list_begin(runs, PAWL__PG_INTS);
    for (size_t i = 0; i < op->extend.count; i++) {
        pawl__pg_list_add_id(ids, op->extend.refs[i].id);
        pawl__pg_list_add(runs, op->extend.refs[i].run);
    }
}

static int compare_refs(const void *a, const void *b)
{
    const struct pawl_run *left = a, *right = b;
    int way = memcmp(left->id.b, right->id.b, sizeof left->id.b);
    return way ? way : left->run < right->run ? -1 : left->run > right->run;
}

/* The runs that were extended, in order. */
static enum pawl_err extend_all(struct pawl__backend *pg, struct pawl__op *op,
                                struct pawl_run **out, size_t *count)
{
    struct pawl__pg_conn *conn = &pg->writer;
    pawl__pg_call(conn, PG_JOB_EXTEND);
    pawl__pg_bind(conn, PG_JOB_EXTEND_lease_until_ms, pg->now_ms + op->extend.lease_ms);
    pawl__pg_bind_bool(conn, PG_JOB_EXTEND_timed, op->extend.timed);
    pawl__pg_bind_list(conn, PG_JOB_EXTEND_ids, &pg->gather.lists[0]);
    pawl__pg_bind_list(conn, PG_JOB_EXTEND_runs, &pg->gather.lists[1]);
    pawl__pg_bind(conn, PG_JOB_EXTEND_now_ms, pg->now_ms);
    PGresult *rows;
    enum pawl_err err = pawl__pg_ask(conn, &rows, pg->diag);
    if (err) return err;
    *count = (size_t)PQntuples(rows);
    *out = pawl__arena_alloc(&pg->arena, (*count + 1) * sizeof **out);
    if (!*out) return pawl__fail_nomem(pg->diag);
    for (size_t i = 0; i < *count; i++) {
        struct pawl_job_id id = pawl__pg_id(rows, (int)i, 0);
        const char *worker = pawl__pg_text(rows, (int)i, 3, &pg->arena);
        if (!worker) return pawl__fail_nomem(pg->diag);
        (*out)[i] = (struct pawl_run){ id, pawl__pg_int(rows, (int)i, 1) };
        pawl__pg_roll_lease(pg, pawl__pg_int(rows, (int)i, 2), worker, id);
    }
    qsort(*out, *count, sizeof **out, compare_refs);
    return PAWL_OK;
}

/* Not extended: lost, if there is such a job. */
static enum pawl_err find_lost(struct pawl__backend *pg, struct pawl__op *op)
{
    pawl__pg_call(&pg->writer, PG_JOB_KNOWN_MANY);
    pawl__pg_bind_list(&pg->writer, PG_JOB_KNOWN_MANY_ids, &pg->gather.lists[0]);
    PGresult *rows;
    enum pawl_err err = pawl__pg_ask(&pg->writer, &rows, pg->diag);
    for (int i = 0; !err && i < PQntuples(rows); i++) {
        enum pawl_err *result = &op->extend.results[pawl__pg_int(rows, i, 0) - 1];
        if (*result) *result = PAWL_ERR_STALE;
    }
    return err;
}

enum pawl_err pawl__pg_op_extend(struct pawl__backend *pg, struct pawl__op *op)
{
    if (!op->extend.count) return PAWL_OK;
    struct pawl_run *extended;
    size_t count;
    bool all = true;
    list_refs(pg, op);
    enum pawl_err err = extend_all(pg, op, &extended, &count);
    if (err) return err;
    for (size_t i = 0; i < op->extend.count; i++) {
        bool found =
            bsearch(&op->extend.refs[i], extended, count, sizeof *extended, compare_refs) != NULL;
        op->extend.results[i] = found ? PAWL_OK : PAWL_ERR_NOT_FOUND;
        all &= found;
    }
    return all ? PAWL_OK : find_lost(pg, op);
}
