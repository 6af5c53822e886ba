/* Is there anything to be claimed or swept? core/peek.c asks, and makes of it what it says.
 *
 * Runs on: the session's thread, outside a transaction. */
#include "store/postgres/postgres.h"

/* Columns of peek. */
enum {
    PEEK_NOW,
    PEEK_VERSION,
    PEEK_READY,
    PEEK_DUE,
    PEEK_LEASE,
    PEEK_EXPIRY,
    PEEK_KEY,
    PEEK_ENDED,
    PEEK_OLD,
    PEEK_UNSETTLED,
    PEEK_RECOUNT,
    PEEK_FLOW,
    PEEK_FIRE,
    PEEK_DEADLINE
};

static void list_states(struct pawl__pg_list *list, uint32_t states)
{
    for (int state = PAWL_STATE_COMPLETED; state < PAWL_STATE_END; state++) {
        if (states & PAWL_STATE_BIT(state)) pawl__pg_list_add(list, state);
    }
}

static void call_peek(struct pawl__backend *pg, const struct pawl__peek *peek)
{
    struct pawl__pg_conn *conn = &pg->writer;
    pawl__pg_call(conn, PG_PEEK);
    struct pawl__pg_list *lanes = pawl__pg_list(conn, PG_PEEK_lanes, PAWL__PG_INTS);
    for (size_t i = 0; i < peek->lane_count; i++) {
        pawl__pg_list_add(lanes, pg->set.catalog.lanes[peek->lanes[i]]->id);
    }
    list_states(pawl__pg_list(conn, PG_PEEK_ended_states, PAWL__PG_INTS), peek->ended_states);
    list_states(pawl__pg_list(conn, PG_PEEK_old_states, PAWL__PG_INTS), peek->old_states);
    pawl__pg_bind(conn, PG_PEEK_ended_age_ms, peek->ended_age_ms);
    pawl__pg_bind(conn, PG_PEEK_old_age_ms, peek->old_age_ms);
    pawl__pg_bind(conn, PG_PEEK_ties, peek->ties);
    pawl__pg_bind_some(conn, PG_PEEK_now_ms, pg->clock ? pawl__clock_wall_ms(pg->clock) : 0);
}

bool pawl__pg_peek(struct pawl__backend *pg, struct pawl__peek *peek)
{
    struct pawl__pg_open how = pawl__pg_how(pg, true);
    PGresult *seen;
    if (!pg->writer.pg || !pg->catalog_version) return false;
    if (pg->writer.pooled)
        pawl__pg_conduct(&pg->writer, &how); // up to the sync it is one transaction
    call_peek(pg, peek);
    if (pawl__pg_ask(&pg->writer, &seen, NULL)) return false;
    peek->now_ms = pawl__pg_int(seen, 0, PEEK_NOW);
    peek->ready = pawl__pg_bool(seen, 0, PEEK_READY);
    peek->ended = pawl__pg_bool(seen, 0, PEEK_ENDED);
    peek->old = pawl__pg_bool(seen, 0, PEEK_OLD);
    peek->run_at_ms = pawl__pg_int(seen, 0, PEEK_DUE);
    peek->lease_at_ms = pawl__pg_int(seen, 0, PEEK_LEASE);
    peek->expiry_at_ms = pawl__pg_int(seen, 0, PEEK_EXPIRY);
    peek->key_at_ms = pawl__pg_int(seen, 0, PEEK_KEY);
    peek->unsettled_at_ms = pawl__pg_int(seen, 0, PEEK_UNSETTLED);
    peek->recount_at_ms = pawl__pg_int(seen, 0, PEEK_RECOUNT);
    peek->flow_at_ms = pawl__pg_int(seen, 0, PEEK_FLOW);
    peek->fire_at_ms = pawl__pg_int(seen, 0, PEEK_FIRE);
    peek->deadline_at_ms = pawl__pg_int(seen, 0, PEEK_DEADLINE);
    return pawl__pg_int(seen, 0, PEEK_VERSION) == pg->catalog_version;
}
