/* Claiming and routing: the best waiting jobs of the wanted lanes, in order of rank.
 *
 * What the roll names is taken if the job says that it is available, at this rank or a smaller one:
 * then its turn has come, wherever else it may be listed. What was not taken, though it should have
 * been, because somebody holds the job, goes back onto the roll.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Columns of claim_take before the facts. */
enum { TAKE_RANK, TAKE_RUN, TAKE_BASE, TAKE_FREE, TAKE_LEASE_UNTIL, TAKE_FACTS };

/* Columns of claim_hold. */
enum { HELD_ID, HELD_EXPIRES, HELD_RANK, HELD_BYTES };

enum { SLOT_TAKEN, SLOT_LEFT, SLOT_HELD };

/* By which jobs are in order. */
struct turn {
    int64_t rank;
    struct pawl_job_id seat;
};

struct claim {
    struct pawl__backend *pg;
    struct pawl__op *op;
    struct pawl__pg_ready ready;
    struct turn *turns; /* of the jobs that were claimed */
    const char *worker; /* as long-lived as the jobs */
    int64_t expired;    /* how many it met that were past their time */
    int64_t bytes;      /* of the arguments of the jobs that were claimed */
    bool full;          /* the next job would exceed bytes_max */
};

static bool fits(const struct claim *claim, int64_t bytes)
{
    int64_t max = claim->op->claim.bytes_max;
    bool first = !claim->op->claim.job_count && !claim->bytes;
    return !max || first || claim->bytes + bytes <= max;
}

static enum pawl_err name_lane(struct claim *claim, struct pawl__pg_cursor *cursor)
{
    if (cursor->queue_name) return PAWL_OK;
    const char *queue = claim->pg->catalog.queues[cursor->lane->queue].name;
    const char *type = cursor->lane->type;
    cursor->type_name = pawl__arena_dup(&claim->op->arena, type, strlen(type));
    cursor->queue_name = pawl__arena_dup(&claim->op->arena, queue, strlen(queue));
    bool ok = cursor->queue_name && cursor->type_name;
    return ok ? PAWL_OK : pawl__fail_nomem(claim->pg->diag);
}

/* ---- claiming ---- */

static void list_chosen(const struct claim *claim, struct pawl__pg_list *list)
{
    pawl__pg_list_begin(list, PAWL__PG_IDS);
    for (size_t i = 0; i < claim->ready.pick_count; i++) {
        if (!claim->ready.picks[i].settled) pawl__pg_list_add_id(list, claim->ready.picks[i].id);
    }
}

static int compare_candidates(const void *a, const void *b)
{
    const struct pawl__pg_pick *left = a, *right = b;
    return memcmp(left->id.b, right->id.b, sizeof left->id.b);
}

static struct pawl__pg_pick *find_candidate(const struct claim *claim, struct pawl_job_id id)
{
    const struct pawl__pg_pick key = { .id = id };
    return bsearch(&key, claim->ready.picks, claim->ready.pick_count, sizeof key,
                   compare_candidates);
}

/* An id can be listed twice: all of its kind lie side by side. */
static void settle(struct claim *claim, struct pawl_job_id id)
{
    struct pawl__pg_pick *end = claim->ready.picks + claim->ready.pick_count;
    struct pawl__pg_pick *at = find_candidate(claim, id);
    assert(at);
    while (at > claim->ready.picks && memcmp(at[-1].id.b, id.b, sizeof id.b) == 0) {
        at--;
    }
    for (; at < end && memcmp(at->id.b, id.b, sizeof id.b) == 0; at++) {
        at->settled = true;
    }
}

/* Rows of claim_take, in the order in which the claimer shall have them. */
struct taken {
    int64_t rank;
    const struct pawl__pg_pick *pick;
    int at;
};

static int compare_taken(const void *a, const void *b)
{
    const struct taken *left = a, *right = b;
    return pawl__pg_compare_ranks(left->rank, &left->pick->seat, right->rank, &right->pick->seat);
}

static enum pawl_err sort_rows(struct claim *claim, const PGresult *rows, int rank, int id,
                               struct taken **out)
{
    size_t count = (size_t)PQntuples(rows);
    *out = pawl__arena_alloc(&claim->pg->arena, (count + 1) * sizeof **out);
    if (!*out) return pawl__fail_nomem(claim->pg->diag);
    for (size_t i = 0; i < count; i++) {
        (*out)[i] = (struct taken){ pawl__pg_int(rows, (int)i, rank),
                                    find_candidate(claim, pawl__pg_id(rows, (int)i, id)), (int)i };
    }
    qsort(*out, count, sizeof **out, compare_taken);
    return PAWL_OK;
}

/* Room for the next job of the answer. */
static enum pawl_err new_job(struct claim *claim, const struct pawl__pg_cursor *cursor,
                             const PGresult *rows, int at, int first, struct pawl_job **out)
{
    struct pawl__op *op = claim->op;
    struct pawl_job *job = &op->claim.jobs[op->claim.job_count++];
    if (pawl__pg_read_facts(rows, at, first, &op->arena, job)) {
        return pawl__fail_nomem(claim->pg->diag);
    }
    job->queue = cursor->queue_name;
    job->type = cursor->type_name;
    job->worker = claim->worker;
    *out = job;
    return PAWL_OK;
}

static enum pawl_err give_row(struct claim *claim, const PGresult *rows, const struct taken *taken)
{
    struct pawl__pg_cursor *cursor = taken->pick->cursor;
    struct pawl_job *job = NULL;
    enum pawl_err err = name_lane(claim, cursor);
    if (!err) err = new_job(claim, cursor, rows, taken->at, TAKE_FACTS, &job);
    if (err) return err;
    claim->turns[claim->op->claim.job_count - 1] = (struct turn){ taken->rank, taken->pick->seat };
    job->state = PAWL_STATE_ACTIVE;
    job->run = pawl__pg_int(rows, taken->at, TAKE_RUN);
    job->attempt = job->run - pawl__pg_int(rows, taken->at, TAKE_BASE);
    job->free_runs = pawl__pg_int(rows, taken->at, TAKE_FREE);
    job->started_at_ms = claim->pg->now_ms;
    job->lease_until_ms = pawl__pg_int(rows, taken->at, TAKE_LEASE_UNTIL);
    claim->bytes += (int64_t)job->args.len;
    pawl__pg_moved(claim->pg, cursor->lane, job->id, job->run, PAWL_STATE_AVAILABLE,
                   PAWL_STATE_ACTIVE);
    pawl__pg_roll_lease(claim->pg, job->lease_until_ms, job->worker, job->id);
    settle(claim, job->id);
    return PAWL_OK;
}

static int args_max_parameter(enum pawl__pg sql)
{
    if (sql == PG_CLAIM_TAKE) return PG_CLAIM_TAKE_args_max;
    return sql == PG_CLAIM_TAKE_HELD ? (int)PG_CLAIM_TAKE_HELD_args_max
                                     : (int)PG_CLAIM_TAKE_LIGHT_args_max;
}

/* Claim those that pg->gather.lists[0] names; `sql` says on which conditions. */
static enum pawl_err take(struct claim *claim, enum pawl__pg sql)
{
    struct pawl__pg_conn *conn = &claim->pg->writer;
    const struct pawl__op *op = claim->op;
    pawl__pg_call(conn, sql);
    // the statements number their parameters alike
    pawl__pg_bind(conn, PG_CLAIM_TAKE_now_ms, claim->pg->now_ms);
    pawl__pg_bind(conn, PG_CLAIM_TAKE_lease_ms, op->claim.lease_ms);
    pawl__pg_bind_bool(conn, PG_CLAIM_TAKE_timed, op->claim.timed);
    pawl__pg_bind_string(conn, PG_CLAIM_TAKE_worker, claim->worker);
    pawl__pg_bind_list(conn, PG_CLAIM_TAKE_ids, &claim->pg->gather.lists[0]);
    if (sql != PG_CLAIM_TAKE_HELD) {
        pawl__pg_bind(conn, PG_CLAIM_TAKE_rank_max, claim->ready.rank_max);
    }
    if (sql == PG_CLAIM_TAKE_LIGHT) {
        pawl__pg_bind(conn, PG_CLAIM_TAKE_LIGHT_bytes_max, op->claim.bytes_max - claim->bytes);
    }
    pawl__pg_bind(conn, args_max_parameter(sql),
                  op->claim.args_max ? op->claim.args_max : INT64_MAX);
    pawl__pg_send_keep(conn, SLOT_TAKEN);
    enum pawl_err err = pawl__pg_sync(conn, claim->pg->diag);
    if (err) return err;
    const PGresult *rows = conn->kept[SLOT_TAKEN];
    struct taken *taken;
    err = sort_rows(claim, rows, TAKE_RANK, TAKE_FACTS + COL_ID, &taken);
    for (int i = 0; !err && i < PQntuples(rows); i++) {
        err = give_row(claim, rows, &taken[i]);
    }
    return err;
}
_Static_assert((int)PG_CLAIM_TAKE_now_ms == (int)PG_CLAIM_TAKE_HELD_now_ms &&
                   (int)PG_CLAIM_TAKE_lease_ms == (int)PG_CLAIM_TAKE_HELD_lease_ms &&
                   (int)PG_CLAIM_TAKE_timed == (int)PG_CLAIM_TAKE_HELD_timed &&
                   (int)PG_CLAIM_TAKE_worker == (int)PG_CLAIM_TAKE_HELD_worker &&
                   (int)PG_CLAIM_TAKE_ids == (int)PG_CLAIM_TAKE_HELD_ids &&
                   (int)PG_CLAIM_TAKE_now_ms == (int)PG_CLAIM_TAKE_LIGHT_now_ms &&
                   (int)PG_CLAIM_TAKE_lease_ms == (int)PG_CLAIM_TAKE_LIGHT_lease_ms &&
                   (int)PG_CLAIM_TAKE_timed == (int)PG_CLAIM_TAKE_LIGHT_timed &&
                   (int)PG_CLAIM_TAKE_worker == (int)PG_CLAIM_TAKE_LIGHT_worker &&
                   (int)PG_CLAIM_TAKE_ids == (int)PG_CLAIM_TAKE_LIGHT_ids &&
                   (int)PG_CLAIM_TAKE_rank_max == (int)PG_CLAIM_TAKE_LIGHT_rank_max,
               "parameters are numbered alike");

struct ranked {
    struct turn turn;
    struct pawl_job job;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct turn *left = &((const struct ranked *)a)->turn,
                      *right = &((const struct ranked *)b)->turn;
    return pawl__pg_compare_ranks(left->rank, &left->seat, right->rank, &right->seat);
}

/* The jobs from `first` on did not come in order of their own ranks. */
static enum pawl_err sort_jobs(struct claim *claim, size_t first)
{
    struct pawl_job *jobs = claim->op->claim.jobs + first;
    size_t count = claim->op->claim.job_count - first;
    struct ranked *ranked = pawl__arena_alloc(&claim->pg->arena, (count + 1) * sizeof *ranked);
    if (!ranked) return pawl__fail_nomem(claim->pg->diag);
    for (size_t i = 0; i < count; i++) {
        ranked[i] = (struct ranked){ claim->turns[first + i], jobs[i] };
    }
    qsort(ranked, count, sizeof *ranked, compare_ranked);
    for (size_t i = 0; i < count; i++) {
        jobs[i] = ranked[i].job;
    }
    return PAWL_OK;
}

/* ---- what is left over ---- */

static enum pawl_err hold_left(struct claim *claim)
{
    struct pawl__pg_conn *conn = &claim->pg->writer;
    struct pawl__pg_list *ids = &claim->pg->gather.lists[0];
    list_chosen(claim, ids);
    pawl__pg_call(conn, PG_CLAIM_LEFT);
    pawl__pg_bind_list(conn, PG_CLAIM_LEFT_ids, ids);
    pawl__pg_bind(conn, PG_CLAIM_LEFT_rank_max, claim->ready.rank_max);
    pawl__pg_send_keep(conn, SLOT_LEFT);
    pawl__pg_call(conn, PG_CLAIM_HOLD);
    pawl__pg_bind_list(conn, PG_CLAIM_HOLD_ids, ids);
    pawl__pg_bind(conn, PG_CLAIM_HOLD_rank_max, claim->ready.rank_max);
    pawl__pg_send_keep(conn, SLOT_HELD);
    return pawl__pg_sync(conn, claim->pg->diag);
}

static void list_again(struct claim *claim, const struct pawl__pg_pick *pick, int64_t rank)
{
    claim->op->claim.more = true;
    pawl__pg_roll_ready(claim->pg, &(struct pawl__pg_waiting){ .lane = pick->cursor->lane->id,
                                                               .rank = rank,
                                                               .id = pick->id,
                                                               .arrival = pick->seat });
}

/* What somebody else holds goes back onto the roll: he may let it go as it is. */
static enum pawl_err put_back(struct claim *claim, const PGresult *left, const PGresult *held)
{
    struct pawl_job_id *ours;
    enum pawl_err err = pawl__pg_ids_sorted(claim->pg, held, &ours);
    for (int i = 0; !err && i < PQntuples(left); i++) {
        struct pawl_job_id id = pawl__pg_id(left, i, 0);
        if (pawl__pg_ids_have(ours, (size_t)PQntuples(held), id)) continue;
        list_again(claim, find_candidate(claim, id), pawl__pg_int(left, i, 1));
    }
    return err;
}

/* Jobs that expired while nobody looked are not given out but ended. */
static enum pawl_err expire(struct claim *claim, const struct pawl_job_id *ids, size_t count)
{
    claim->expired += count; // bounded: the sweep does the rest
    return pawl__core_expire(&claim->pg->set, ids, count);
}

/* The ids of claim_hold that are past their time, in the transaction's arena, and those to be
 * taken, in lists[0]. From the first one on that would exceed bytes_max they go back onto the roll.
 */
static enum pawl_err part_held(struct claim *claim, const PGresult *held, struct pawl_job_id **gone,
                               size_t *gone_count)
{
    struct pawl__pg_list *ids = &claim->pg->gather.lists[0];
    *gone_count = 0;
    *gone = pawl__arena_alloc(&claim->pg->arena, ((size_t)PQntuples(held) + 1) * sizeof **gone);
    if (!*gone) return pawl__fail_nomem(claim->pg->diag);
    struct taken *rows;
    enum pawl_err err = sort_rows(claim, held, HELD_RANK, HELD_ID, &rows);
    if (err) return err;
    int64_t before = claim->bytes;
    pawl__pg_list_begin(ids, PAWL__PG_IDS);
    for (int i = 0; i < PQntuples(held); i++) {
        int64_t expires_at_ms = pawl__pg_int(held, rows[i].at, HELD_EXPIRES);
        int64_t bytes = pawl__pg_int(held, rows[i].at, HELD_BYTES);
        bool expired = expires_at_ms && expires_at_ms <= claim->pg->now_ms;
        claim->full = claim->full || (!expired && !fits(claim, bytes));
        if (claim->full) {
            list_again(claim, rows[i].pick, rows[i].rank);
        } else if (expired) {
            (*gone)[(*gone_count)++] = rows[i].pick->id;
        } else {
            pawl__pg_list_add_id(ids, rows[i].pick->id);
            claim->bytes += bytes;
        }
    }
    claim->bytes = before; // they count when they are taken
    return PAWL_OK;
}

/* Why were some not taken? Most have moved on since they were listed. */
static enum pawl_err look_at_left(struct claim *claim)
{
    struct pawl__pg_conn *conn = &claim->pg->writer;
    struct pawl_job_id *gone = NULL;
    size_t gone_count = 0;
    enum pawl_err err = hold_left(claim);
    if (!err) err = put_back(claim, conn->kept[SLOT_LEFT], conn->kept[SLOT_HELD]);
    if (!err) err = part_held(claim, conn->kept[SLOT_HELD], &gone, &gone_count);
    if (!err && claim->pg->gather.lists[0].count) err = take(claim, PG_CLAIM_TAKE_HELD);
    return err ? err : expire(claim, gone, gone_count);
}

/* ---- routing ---- */

static enum pawl_err read_job(struct pawl__backend *pg, struct pawl_job_id id, PGresult **row)
{
    pawl__pg_call(&pg->writer, PG_JOB_FACTS);
    pawl__pg_bind_id(&pg->writer, PG_JOB_FACTS_id, &id);
    enum pawl_err err = pawl__pg_ask(&pg->writer, row, pg->diag);
    if (err || PQntuples(*row)) return err;
    return pawl__fail(pg->diag, PAWL_ERR_CORRUPT, "the store is damaged: a job has no facts");
}

static enum pawl_err route_one(struct claim *claim, const struct pawl__pg_pick *candidate)
{
    struct pawl__backend *pg = claim->pg;
    struct pawl__pg_place place;
    enum pawl_err err = pawl__pg_place_find(pg, candidate->id, &place);
    if (err == PAWL_ERR_NOT_FOUND) return PAWL_OK;
    if (err) return err;
    if (place.state != PAWL_STATE_AVAILABLE || place.rank > claim->ready.rank_max) return PAWL_OK;
    if (place.expires_at_ms && place.expires_at_ms <= pg->now_ms) {
        return expire(claim, &candidate->id, 1);
    }
    PGresult *row;
    struct pawl_job *job = NULL;
    err = read_job(pg, candidate->id, &row);
    if (!err) err = name_lane(claim, candidate->cursor);
    if (!err) err = new_job(claim, candidate->cursor, row, 0, 0, &job);
    if (err) return err;
    claim->turns[claim->op->claim.job_count - 1] = (struct turn){ place.rank, candidate->seat };
    job->state = PAWL_STATE_PENDING;
    job->run = place.run;
    job->attempt = place.run - place.base_run;
    job->free_runs = place.free_runs;
    job->lease_until_ms = pg->now_ms + claim->op->claim.lease_ms;
    static const enum pawl_event route[] = { PAWL_EVENT_ROUTE };
    return pawl__pg_move(pg, &place, route, 1,
                         &(struct pawl__pg_target){ .lease_until_ms = job->lease_until_ms,
                                                    .worker = job->worker,
                                                    .reason = "routed" });
}

static enum pawl_err route_chosen(struct claim *claim)
{
    size_t before = claim->op->claim.job_count;
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < claim->ready.pick_count; i++) {
        err = route_one(claim, &claim->ready.picks[i]);
    }
    return err ? err : sort_jobs(claim, before);
}

/* ---- together ---- */

static enum pawl_err claim_chosen(struct claim *claim)
{
    size_t before = claim->op->claim.job_count;
    qsort(claim->ready.picks, claim->ready.pick_count, sizeof *claim->ready.picks,
          compare_candidates);
    list_chosen(claim, &claim->pg->gather.lists[0]);
    bool bounded = claim->op->claim.bytes_max && (before || claim->ready.pick_count > 1);
    enum pawl_err err = take(claim, bounded ? PG_CLAIM_TAKE_LIGHT : PG_CLAIM_TAKE);
    size_t taken = claim->op->claim.job_count - before;
    if (err || taken == claim->ready.pick_count) return err;
    err = look_at_left(claim);
    bool mixed = taken && claim->op->claim.job_count - before > taken;
    return err || !mixed ? err : sort_jobs(claim, before);
}

static enum pawl_err claim_queue(struct claim *claim, const struct pawl__queue *queue)
{
    struct pawl__op *op = claim->op;
    size_t limit = (size_t)op->claim.limit;
    bool more = true;
    enum pawl_err err = pawl__pg_ready_open(&claim->ready, op, queue, limit - op->claim.job_count);
    if (err || !claim->ready.cursor_count) return err;
    while (!err && more && !claim->full && op->claim.job_count < limit &&
           claim->expired < PAWL__MAINTENANCE_MAX) {
        err = pawl__pg_ready_pick(&claim->ready, limit - op->claim.job_count, &more);
        if (err || !claim->ready.pick_count) break;
        err = (op->kind == PAWL__OP_ROUTE ? route_chosen : claim_chosen)(claim);
    }
    if (!err) pawl__pg_ready_strike(&claim->ready);
    return err;
}

static enum pawl_err claim_queues(struct claim *claim)
{
    struct pawl__op *op = claim->op;
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < op->claim.queue_count; i++) {
        const struct pawl__queue *queue =
            pawl__catalog_queue(&claim->pg->catalog, op->claim.queues[i]);
        if (!queue || queue->paused) continue;
        err = claim_queue(claim, queue);
        if (claim->full || op->claim.job_count == (size_t)op->claim.limit) break;
    }
    return err;
}

/* Rows of the roll that are left were locked by another claim, which may give back a part of what
 * is on them, or were not read because of PAWL__MAINTENANCE_MAX. This claim does not wait for
 * locks: their owner may be suspended. It says that more may be there. */
static enum pawl_err look_for_more(struct claim *claim)
{
    struct pawl__op *op = claim->op;
    bool any = false;
    bool full = op->claim.job_count == (size_t)op->claim.limit;
    enum pawl_err err = full ? PAWL_OK : pawl__pg_ready_any(claim->pg, op, &any);
    op->claim.more = !full && (any || op->claim.more);
    return err;
}

enum pawl_err pawl__pg_op_claim(struct pawl__backend *pg, struct pawl__op *op)
{
    op->claim.jobs = NULL;
    op->claim.job_count = 0;
    op->claim.more = false;
    if (op->claim.limit <= 0) return PAWL_OK;
    enum pawl_event event = op->kind == PAWL__OP_ROUTE ? PAWL_EVENT_ROUTE : PAWL_EVENT_CLAIM;
    assert(pawl__lifecycle_next(PAWL_STATE_AVAILABLE, event, PAWL_STATE_NONE));
    (void)event;
    op->claim.jobs =
        pawl__arena_calloc(&op->arena, (size_t)op->claim.limit, sizeof *op->claim.jobs);
    if (!op->claim.jobs) return pawl__fail_nomem(pg->diag);
    struct claim claim = { .pg = pg, .op = op, .ready = { .pg = pg } };
    claim.turns = pawl__arena_calloc(&pg->arena, (size_t)op->claim.limit, sizeof *claim.turns);
    if (!claim.turns) return pawl__fail_nomem(pg->diag);
    claim.worker = pawl__arena_dup(&op->arena, op->claim.worker, strlen(op->claim.worker));
    if (!claim.worker) return pawl__fail_nomem(pg->diag);
    enum pawl_err err = pawl__pg_rolls_flush(pg);
    if (!err) err = claim_queues(&claim);
    if (!err) err = look_for_more(&claim);
    pawl__pg_ready_release(&claim.ready);
    pg->claims_empty = !op->claim.job_count;
    return err;
}

static enum pawl_err name_job(struct pawl__backend *pg, struct pawl__op *op,
                              const struct pawl__pg_place *place, struct pawl_job *job)
{
    const char *queue = pg->catalog.queues[place->lane->queue].name;
    job->queue = pawl__arena_dup(&op->arena, queue, strlen(queue));
    job->type = pawl__arena_dup(&op->arena, place->lane->type, strlen(place->lane->type));
    job->worker = pawl__arena_dup(&op->arena, op->assign.worker, strlen(op->assign.worker));
    return job->queue && job->type && job->worker ? PAWL_OK : pawl__fail_nomem(pg->diag);
}

enum pawl_err pawl__pg_op_assign(struct pawl__backend *pg, struct pawl__op *op)
{
    static const enum pawl_event assign[] = { PAWL_EVENT_ASSIGN };
    struct pawl__pg_place place;
    enum pawl_err err = pawl__pg_place_any(pg, op->assign.id, &place, op->diag);
    if (err) return err;
    if (place.state != PAWL_STATE_PENDING || place.lease_until_ms != op->assign.token ||
        place.lease_until_ms <= pg->now_ms || strcmp(place.worker, op->assign.worker) != 0) {
        char text[PAWL_JOB_ID_TEXT_BYTES];
        pawl_job_id_text(op->assign.id, text);
        return pawl__fail(op->diag, PAWL_ERR_STALE,
                          "job \"%s\" is not, or no longer, routed to \"%s\"", text,
                          op->assign.worker);
    }
    struct pawl_job *job = pawl__arena_calloc(&op->arena, 1, sizeof *job);
    if (!job) return pawl__fail_nomem(pg->diag);
    PGresult *row;
    err = read_job(pg, op->assign.id, &row);
    if (!err && pawl__pg_read_facts(row, 0, 0, &op->arena, job)) err = pawl__fail_nomem(pg->diag);
    if (!err) err = name_job(pg, op, &place, job);
    if (err) return err;
    int64_t lease_ms = job->lease_ms ? job->lease_ms : op->assign.lease_ms;
    struct pawl__pg_target target = {
        .worker = op->assign.worker,
        .lease_until_ms = pg->now_ms + pawl__lease_of(job->timeout_ms, lease_ms, false)
    };
    err = pawl__pg_move(pg, &place, assign, 1, &target);
    if (err) return err;
    job->state = place.state;
    job->run = place.run;
    job->attempt = place.run - place.base_run;
    job->free_runs = place.free_runs;
    job->started_at_ms = pg->now_ms;
    job->lease_until_ms = target.lease_until_ms;
    op->assign.job = job;
    return PAWL_OK;
}
