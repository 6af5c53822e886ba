/* Where a job stands, and how it is routed and assigned, which the core has not taken over: a move
 * asks the lifecycle, writes and counts.
 *
 * A place that was found is locked until the transaction ends, so what is decided by it stays true.
 * What follows from it is sent without waiting for an answer.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

#include <assert.h>
#include <string.h>

enum { LOOKS_MAX = 2 };

enum { SLOT_JOB, SLOT_ARCHIVE };

/* Columns of place. */
enum {
    AT_ID,
    AT_LANE,
    AT_PRIORITY,
    AT_ATTEMPTS_MAX,
    AT_CREATED,
    AT_DUE,
    AT_EXPIRES,
    AT_TIMEOUT,
    AT_SLA_SOFT,
    AT_SLA_HARD,
    AT_TAGS,
    AT_RETRY,
    AT_KEYS,
    AT_STATE,
    AT_PAUSED_FROM,
    AT_RUN,
    AT_BASE_RUN,
    AT_FREE_RUNS,
    AT_STARTED,
    AT_LEASE_UNTIL,
    AT_FINISHED,
    AT_WORKER,
    AT_RANK,
    AT_ARRIVAL
};

static void read_numbers(const PGresult *row, struct pawl__pg_place *out)
{
    *out = (struct pawl__pg_place){
        .id = pawl__pg_id(row, 0, AT_ID),
        .arrival = pawl__pg_id(row, 0, AT_ARRIVAL),
        .priority = (int32_t)pawl__pg_int(row, 0, AT_PRIORITY),
        .attempts_max = (int32_t)pawl__pg_int(row, 0, AT_ATTEMPTS_MAX),
        .created_at_ms = pawl__pg_int(row, 0, AT_CREATED),
        .due_at_ms = pawl__pg_int(row, 0, AT_DUE),
        .rank = pawl__pg_int(row, 0, AT_RANK),
        .expires_at_ms = pawl__pg_int(row, 0, AT_EXPIRES),
        .timeout_ms = pawl__pg_int(row, 0, AT_TIMEOUT),
        .sla_soft_at_ms = pawl__pg_int(row, 0, AT_SLA_SOFT),
        .sla_hard_at_ms = pawl__pg_int(row, 0, AT_SLA_HARD),
        .state = (enum pawl_state)pawl__pg_int(row, 0, AT_STATE),
        .paused_from = (enum pawl_state)pawl__pg_int(row, 0, AT_PAUSED_FROM),
        .run = pawl__pg_int(row, 0, AT_RUN),
        .base_run = pawl__pg_int(row, 0, AT_BASE_RUN),
        .free_runs = pawl__pg_int(row, 0, AT_FREE_RUNS),
        .started_at_ms = pawl__pg_int(row, 0, AT_STARTED),
        .lease_until_ms = pawl__pg_int(row, 0, AT_LEASE_UNTIL),
        .finished_at_ms = pawl__pg_int(row, 0, AT_FINISHED),
    };
}

static enum pawl_err read_place(struct pawl__backend *pg, const PGresult *row,
                                struct pawl__pg_place *out)
{
    read_numbers(row, out);
    struct pawl_span worker = pawl__pg_raw(row, 0, AT_WORKER);
    if (worker.len > PAWL_WORKER_BYTES_MAX) worker.len = PAWL_WORKER_BYTES_MAX;
    memcpy(out->worker, worker.at, worker.len);
    bool ok = pawl__pg_span(row, 0, AT_TAGS, &pg->arena, &out->tags) &&
              pawl__pg_span(row, 0, AT_RETRY, &pg->arena, &out->retry) &&
              pawl__pg_span(row, 0, AT_KEYS, &pg->arena, &out->keys);
    if (!ok) return pawl__fail_nomem(pg->diag);
    if (out->finished_at_ms) out->rank = pawl__pg_rank_of(pg, out, out->due_at_ms);
    return pawl__pg_lane_by_id(pg, pawl__pg_int(row, 0, AT_LANE), &out->lane);
}

static enum pawl_err read_archived(struct pawl__backend *pg, const PGresult *row,
                                   struct pawl_job_id id, struct pawl__pg_place *out)
{
    *out = (struct pawl__pg_place){ .id = id,
                                    .archived = true,
                                    .state = (enum pawl_state)pawl__pg_int(row, 0, 1),
                                    .created_at_ms = pawl__pg_int(row, 0, 2),
                                    .finished_at_ms = pawl__pg_int(row, 0, 5) };
    bool ok = pawl__pg_span(row, 0, 3, &pg->arena, &out->tags) &&
              pawl__pg_span(row, 0, 4, &pg->arena, &out->keys);
    if (!ok) return pawl__fail_nomem(pg->diag);
    return pawl__pg_lane_by_id(pg, pawl__pg_int(row, 0, 0), &out->lane);
}

static void look(struct pawl__backend *pg, enum pawl__pg sql, const struct pawl_job_id *id,
                 int slot)
{
    pawl__pg_call(&pg->writer, sql);
    pawl__pg_bind_id(&pg->writer, 1, id);
    pawl__pg_send_keep(&pg->writer, slot);
}

/* One round trip. A job moves to the archive, which is the order in which we look, so one that
 * moves meanwhile is met all the same; for one that comes back, look again. */
static enum pawl_err look_for(struct pawl__backend *pg, struct pawl_job_id id, bool archive,
                              struct pawl__pg_place *out)
{
    struct pawl__pg_conn *conn = &pg->writer;
    for (int i = 0; i < LOOKS_MAX; i++) {
        look(pg, PG_PLACE, &id, SLOT_JOB);
        if (archive) look(pg, PG_PLACE_ARCHIVED, &id, SLOT_ARCHIVE);
        enum pawl_err err = pawl__pg_sync(conn, pg->diag);
        if (err) return err;
        if (PQntuples(conn->kept[SLOT_JOB])) return read_place(pg, conn->kept[SLOT_JOB], out);
        if (archive && PQntuples(conn->kept[SLOT_ARCHIVE])) {
            return read_archived(pg, conn->kept[SLOT_ARCHIVE], id, out);
        }
    }
    return PAWL_ERR_NOT_FOUND;
}

enum pawl_err pawl__pg_place_find(struct pawl__backend *pg, struct pawl_job_id id,
                                  struct pawl__pg_place *out)
{
    return look_for(pg, id, false, out);
}

enum pawl_err pawl__pg_place_any(struct pawl__backend *pg, struct pawl_job_id id,
                                 struct pawl__pg_place *out, struct pawl_diag *diag)
{
    enum pawl_err err = look_for(pg, id, true, out);
    return err == PAWL_ERR_NOT_FOUND ? pawl__fail_unknown(diag, id) : err;
}

int64_t pawl__pg_rank_of(const struct pawl__backend *pg, const struct pawl__pg_place *place,
                         int64_t due_at_ms)
{
    return pawl__rank(&(struct pawl__rank_of){ .due_at_ms = due_at_ms,
                                               .priority = place->priority,
                                               .boost_ms = pg->boost_ms,
                                               .sla_soft_at_ms = place->sla_soft_at_ms,
                                               .sla_hard_at_ms = place->sla_hard_at_ms });
}

/* The job is routed, or begins to run. */
static void enter_lease(struct pawl__backend *pg, struct pawl__pg_place *place, enum pawl_state to,
                        const struct pawl__pg_target *target)
{
    struct pawl__pg_conn *conn = &pg->writer;
    bool runs = to == PAWL_STATE_ACTIVE;
    place->run += runs;
    pawl__pg_call(conn, PG_JOB_LEASE);
    pawl__pg_bind(conn, PG_JOB_LEASE_state, to);
    pawl__pg_bind(conn, PG_JOB_LEASE_run, place->run);
    pawl__pg_bind_some(conn, PG_JOB_LEASE_started_at_ms, runs ? pg->now_ms : 0);
    pawl__pg_bind(conn, PG_JOB_LEASE_lease_until_ms, target->lease_until_ms);
    pawl__pg_bind_text(conn, PG_JOB_LEASE_worker, target->worker);
    pawl__pg_bind_text(conn, PG_JOB_LEASE_reason, target->reason);
    pawl__pg_bind_id(conn, PG_JOB_LEASE_id, &place->id);
    pawl__pg_send_exact(conn, 1);
    pawl__pg_roll_lease(pg, target->lease_until_ms, target->worker, place->id);
}

static void enter_end(struct pawl__backend *pg, struct pawl__pg_place *place, enum pawl_state to,
                      const struct pawl__pg_target *target)
{
    struct pawl__pg_conn *conn = &pg->writer;
    pawl__pg_call(conn, PG_JOB_END);
    pawl__pg_bind(conn, PG_JOB_END_state, to);
    pawl__pg_bind(conn, PG_JOB_END_finished_at_ms, pg->now_ms);
    pawl__pg_bind_text(conn, PG_JOB_END_worker, place->worker);
    pawl__pg_bind_text(conn, PG_JOB_END_reason, target->reason);
    pawl__pg_bind_id(conn, PG_JOB_END_id, &place->id);
    pawl__pg_send_exact(conn, 1);
    place->finished_at_ms = pg->now_ms;
    pawl__pg_roll_ended(pg, to, place->finished_at_ms, place->id);
}

enum pawl_err pawl__pg_move(struct pawl__backend *pg, struct pawl__pg_place *place,
                            const enum pawl_event *events, size_t event_count,
                            const struct pawl__pg_target *target)
{
    enum pawl_state to = place->state;
    for (size_t i = 0; i < event_count; i++) {
        to = pawl__lifecycle_next(to, events[i], place->paused_from);
        assert(to != PAWL_STATE_NONE || i == 0); // whoever chains moves knows that they chain
        if (to == PAWL_STATE_NONE) return PAWL_ERR_STATE;
    }
    if (pawl_state_is_terminal(to)) {
        enter_end(pg, place, to, target);
    } else {
        assert(to == PAWL_STATE_PENDING || to == PAWL_STATE_ACTIVE); // the core does the rest
        enter_lease(pg, place, to, target);
    }
    pawl__pg_moved(pg, place->lane, place->id, place->run, place->state, to);
    place->state = to;
    return PAWL_OK;
}

void pawl__pg_deed(struct pawl__backend *pg, const struct pawl_job_id *id, const char *subject,
                   const char *action, const struct pawl_by *by, enum pawl_state from,
                   enum pawl_state to)
{
    struct pawl__pg_conn *conn = &pg->writer;
    pawl__pg_call(conn, PG_DEED_INSERT);
    pawl__pg_bind(conn, PG_DEED_INSERT_at_ms, pg->now_ms);
    pawl__pg_bind_id(conn, PG_DEED_INSERT_job_id, id);
    pawl__pg_bind_text(conn, PG_DEED_INSERT_subject, subject);
    pawl__pg_bind_text(conn, PG_DEED_INSERT_action, action);
    pawl__pg_bind_text(conn, PG_DEED_INSERT_actor, by->actor);
    pawl__pg_bind_text(conn, PG_DEED_INSERT_reason, by->reason);
    pawl__pg_bind_some(conn, PG_DEED_INSERT_from_state, from);
    pawl__pg_bind_some(conn, PG_DEED_INSERT_to_state, to);
    pawl__pg_send_exact(conn, 1);
}
