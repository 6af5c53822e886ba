/* The catalogue on PostgreSQL: read when its version in the store is not the one we know, for each
 * new queue or lane and each pause makes that grow; what a batch lacks is made before its
 * transaction. The counters' deltas, written before the commit.
 *
 * Runs on: the session's thread. */
#include "store/postgres/postgres.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum pawl_err pawl__pg_catalog_refresh(struct pawl__backend *pg, int64_t version)
{
    if (version == pg->catalog_version) return PAWL_OK;
    enum pawl_err err = pawl__sql_catalog_read(pg, 0); // one with a lower number may come later
    if (!err) pg->catalog_version = version;
    return err;
}

/* What the operations of a batch name and the catalogue has not; the lists may be NULL. */
struct missing {
    bool any;
    struct pawl__pg_list *queues, *types;
};

static void miss(struct missing *missing, const char *queue, const char *type)
{
    missing->any = true;
    if (missing->queues) pawl__pg_list_add_text(missing->queues, queue);
    if (missing->types) pawl__pg_list_add_text(missing->types, type);
}

/* Lanes of follow-ups are made with those of the jobs that they follow. */
static void find_lanes(const struct pawl__backend *pg, const struct pawl_job_spec *spec,
                       struct missing *missing)
{
    const char *queue = spec->queue ? spec->queue : "default";
    if (!pawl__catalog_lane(&pg->set.catalog, queue, spec->type)) miss(missing, queue, spec->type);
    if (spec->on_success) find_lanes(pg, spec->on_success, missing);
    if (spec->on_failure) find_lanes(pg, spec->on_failure, missing);
}

static void find_missing(const struct pawl__backend *pg, const struct pawl__op *op,
                         struct missing *missing)
{
    struct pawl__names names;
    pawl__core_names(op, &names);
    if (names.queue && !pawl__catalog_queue(&pg->set.catalog, names.queue)) {
        miss(missing, names.queue, NULL);
    }
    for (size_t i = 0; i < names.job_count; i++) {
        find_lanes(pg, names.jobs[i].spec, missing);
    }
}

static bool list_missing(const struct pawl__backend *pg, struct pawl__op **ops, size_t count,
                         struct missing missing)
{
    for (size_t i = 0; i < count; i++) {
        find_missing(pg, ops[i], &missing);
    }
    return missing.any;
}

/* The catalog's row comes first and makes those who do this wait for each other, so that they never
 * meet in the tables behind it. */
static enum pawl_err make_missing(struct pawl__backend *pg, struct pawl__op **ops, size_t count)
{
    struct pawl__pg_conn *conn = &pg->writer;
    struct pawl__pg_open how = pawl__pg_how(pg, true);
    pawl__pg_say(conn, PG_BEGIN);
    conn->in_transaction = true;
    if (conn->pooled) pawl__pg_conduct(conn, &how);
    pawl__pg_call(conn, PG_CATALOG_GROW);
    pawl__pg_send_keep(conn, 0);
    pawl__pg_call(conn, PG_QUEUE_INSERT);
    pawl__pg_bind_some(conn, PG_QUEUE_INSERT_now_ms,
                       pg->clock ? pawl__clock_wall_ms(pg->clock) : 0); // else the server's
    list_missing(
        pg, ops, count,
        (struct missing){ .queues = pawl__pg_list(conn, PG_QUEUE_INSERT_names, PAWL__PG_TEXTS) });
    pawl__pg_send(conn);
    pawl__pg_call(conn, PG_LANE_INSERT);
    list_missing(
        pg, ops, count,
        (struct missing){ .queues = pawl__pg_list(conn, PG_LANE_INSERT_names, PAWL__PG_TEXTS),
                          .types = pawl__pg_list(conn, PG_LANE_INSERT_types, PAWL__PG_TEXTS) });
    pawl__pg_send(conn);
    pawl__pg_say(conn, PG_COMMIT);
    enum pawl_err err = pawl__pg_sync(conn, pg->set.diag);
    if (err) return err;
    conn->in_transaction = false;
    return pawl__pg_catalog_refresh(pg, pawl__pg_int(conn->kept[0], 0, 0));
}

enum pawl_err pawl__pg_catalog_prepare(struct pawl__backend *pg, struct pawl__op **ops,
                                       size_t count)
{
    bool missing = list_missing(pg, ops, count, (struct missing){ .any = false });
    return missing ? make_missing(pg, ops, count) : PAWL_OK;
}

/* All that can be made was made before the transaction began. */
enum pawl_err pawl__pg_queue(struct pawl__backend *pg, const char *name, struct pawl_diag *diag)
{
    if (pawl__catalog_queue(&pg->set.catalog, name)) return PAWL_OK;
    return pawl__fail(diag, PAWL_ERR_ARG, "the queue's name is not UTF-8");
}

enum pawl_err pawl__pg_lane_at(struct pawl__backend *pg, const char *queue, const char *type,
                               uint32_t *out, struct pawl_diag *diag)
{
    const struct pawl__lane *lane = pawl__catalog_lane(&pg->set.catalog, queue, type);
    if (!lane) {
        return pawl__fail(diag, PAWL_ERR_ARG, "the job's queue or type is not UTF-8");
    }
    *out = lane->at;
    return PAWL_OK;
}

/* ---- counters ---- */

static void fold(struct pawl__backend *pg)
{
    pg->unfolded = 0;
    pawl__pg_call(&pg->writer, PG_COUNT_FOLD);
    pawl__pg_bind(&pg->writer, PG_COUNT_FOLD_number, PAWL__PG_LOCK_FOLD);
    pawl__pg_bind(&pg->writer, PG_COUNT_FOLD_limit, PAWL__PG_FOLD_ROWS_MAX);
    pawl__pg_send(&pg->writer);
}

enum pawl_err pawl__pg_counts_flush(struct pawl__backend *pg)
{
    struct pawl__pg_conn *conn = &pg->writer;
    pawl__pg_call(conn, PG_COUNT_ADD);
    struct pawl__pg_list *lanes = pawl__pg_list(conn, PG_COUNT_ADD_lanes, PAWL__PG_INTS);
    struct pawl__pg_list *states = pawl__pg_list(conn, PG_COUNT_ADD_states, PAWL__PG_INTS);
    struct pawl__pg_list *deltas = pawl__pg_list(conn, PG_COUNT_ADD_deltas, PAWL__PG_INTS);
    for (uint32_t i = 0; i < pg->set.catalog.touched_count; i++) {
        const struct pawl__lane *lane = pg->set.catalog.lanes[pg->set.catalog.touched[i]];
        for (int state = 0; state < PAWL_STATE_END; state++) {
            if (!lane->delta[state]) continue;
            pawl__pg_list_add(lanes, lane->id);
            pawl__pg_list_add(states, state);
            pawl__pg_list_add(deltas, lane->delta[state]);
        }
    }
    if (!lanes->count) return PAWL_OK;
    pawl__pg_send(conn);
    if (++pg->unfolded >= PAWL__PG_FOLD_COMMITS) fold(pg);
    return PAWL_OK;
}
