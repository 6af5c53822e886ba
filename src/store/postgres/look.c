/* Is there anything to be claimed or swept? core/peek.c asks, and makes of it what it says.
 *
 * Runs on: the session's thread, outside a transaction. */
#include "store/postgres/postgres.h"

/* Columns of look. */
enum {
    LOOK_NOW,
    LOOK_VERSION,
    LOOK_READY,
    LOOK_DUE,
    LOOK_LEASE,
    LOOK_EXPIRY,
    LOOK_KEY,
    LOOK_ENDED,
    LOOK_OLD,
    LOOK_UNSETTLED
};

static void list_states(struct pawl__pg_list *list, uint32_t states)
{
    for (int state = PAWL_STATE_COMPLETED; state < PAWL_STATE_END; state++) {
        if (states & PAWL_STATE_BIT(state)) pawl__pg_list_add(list, state);
    }
}

static void call_look(struct pawl__backend *pg, const struct pawl__look *look)
{
    struct pawl__pg_conn *conn = &pg->writer;
    pawl__pg_call(conn, PG_LOOK);
    struct pawl__pg_list *lanes = pawl__pg_list(conn, PG_LOOK_lanes, PAWL__PG_INTS);
    for (size_t i = 0; i < look->lane_count; i++) {
        pawl__pg_list_add(lanes, pg->set.catalog.lanes[look->lanes[i]]->id);
    }
    list_states(pawl__pg_list(conn, PG_LOOK_ended_states, PAWL__PG_INTS), look->ended_states);
    list_states(pawl__pg_list(conn, PG_LOOK_old_states, PAWL__PG_INTS), look->old_states);
    pawl__pg_bind(conn, PG_LOOK_ended_age_ms, look->ended_age_ms);
    pawl__pg_bind(conn, PG_LOOK_old_age_ms, look->old_age_ms);
    pawl__pg_bind(conn, PG_LOOK_ties, look->ties);
    pawl__pg_bind_some(conn, PG_LOOK_now_ms, pg->clock ? pawl__clock_wall_ms(pg->clock) : 0);
}

bool pawl__pg_look(struct pawl__backend *pg, struct pawl__look *look)
{
    struct pawl__pg_open how = pawl__pg_how(pg, true);
    PGresult *seen;
    if (!pg->writer.pg || !pg->catalog_version) return false;
    if (pg->writer.pooled)
        pawl__pg_conduct(&pg->writer, &how); // up to the sync it is one transaction
    call_look(pg, look);
    if (pawl__pg_ask(&pg->writer, &seen, NULL)) return false;
    look->now_ms = pawl__pg_int(seen, 0, LOOK_NOW);
    look->ready = pawl__pg_bool(seen, 0, LOOK_READY);
    look->ended = pawl__pg_bool(seen, 0, LOOK_ENDED);
    look->old = pawl__pg_bool(seen, 0, LOOK_OLD);
    look->run_at_ms = pawl__pg_int(seen, 0, LOOK_DUE);
    look->lease_at_ms = pawl__pg_int(seen, 0, LOOK_LEASE);
    look->expiry_at_ms = pawl__pg_int(seen, 0, LOOK_EXPIRY);
    look->key_at_ms = pawl__pg_int(seen, 0, LOOK_KEY);
    look->unsettled_at_ms = pawl__pg_int(seen, 0, LOOK_UNSETTLED);
    return pawl__pg_int(seen, 0, LOOK_VERSION) == pg->catalog_version;
}
