/* Claiming and routing: the best waiting jobs of the wanted lanes, dealt out in order of rank.
 *
 * A claim reads about as many rows as it takes, whatever the backlog: each lane is a range of the
 * index pawl_live_ready, already in order. Lanes of one queue are read in chunks and merged here. A
 * row may be dealt out when no lane can have a better one: it is not behind the last row read of a
 * lane that goes on.
 *
 * All rows that are read are locked, and those that another claimer holds are passed over. Rows
 * that were read and not taken are free again when the transaction ends.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A statement sees what was committed before it began. When others took all of that meanwhile, what
 * they left came later: who comes away with nothing looks again. */
enum { LOOKS_MAX = 3 };

/* Columns of ready_next before the facts. */
enum { NEXT_AT, NEXT_RANK, NEXT_RUN, NEXT_BASE, NEXT_FREE, NEXT_PLACE, NEXT_FACTS };

/* Where a lane's reading has come to. */
struct cursor {
    struct pawl__pg_lane *lane;
    bool drained; /* nothing behind it */
    int64_t rank; /* the last one read */
    struct pawl_job_id id;
    const char *queue_name, *type_name; /* as long-lived as the jobs */
};

struct row {
    struct cursor *cursor;
    int64_t rank;
    struct pawl_job_id id;
    const PGresult *answer;
    int at; /* in the answer */
};

struct claim {
    struct pawl__backend *pg;
    struct pawl__op *op;
    struct cursor *cursors;
    size_t cursor_count, chunk;
    struct row *rows; /* read, not yet dealt out; in order from `first` on */
    size_t first, count, cap;
    PGresult **answers; /* that `rows` point into */
    size_t answer_count, answer_cap;
    const char *worker; /* as long-lived as the jobs */
    int64_t expired;    /* how many it met that were past their time */
};

static bool wants_type(const struct pawl__op *op, const char *type)
{
    if (op->claim.type_count == 0) return true;
    for (size_t i = 0; i < op->claim.type_count; i++) {
        if (strcmp(op->claim.types[i], type) == 0) return true;
    }
    return false;
}

static int compare(int64_t rank, const struct pawl_job_id *id, int64_t other_rank,
                   const struct pawl_job_id *other_id)
{
    if (rank != other_rank) return rank < other_rank ? -1 : 1;
    return memcmp(id->b, other_id->b, sizeof id->b);
}

static int compare_rows(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    return compare(left->rank, &left->id, right->rank, &right->id);
}

/* ---- reading ---- */

static bool keep_answer(struct claim *claim, PGresult **answer)
{
    if (claim->answer_count == claim->answer_cap) {
        size_t cap = claim->answer_cap ? claim->answer_cap * 2 : 8;
        PGresult **grown = realloc(claim->answers, cap * sizeof *grown);
        if (!grown) return false;
        claim->answers = grown;
        claim->answer_cap = cap;
    }
    claim->answers[claim->answer_count++] = *answer;
    *answer = NULL; // ours now
    return true;
}

static bool room_for_rows(struct claim *claim, size_t more)
{
    if (claim->count + more <= claim->cap) return true;
    size_t cap = (claim->count + more) * 2;
    struct row *grown = realloc(claim->rows, cap * sizeof *grown);
    if (!grown) return false;
    claim->rows = grown;
    claim->cap = cap;
    return true;
}

/* Ask for the next chunk of each lane in `asked`. */
static enum pawl_err ask_chunks(struct claim *claim, struct cursor **asked, size_t count)
{
    struct pawl__pg_conn *conn = &claim->pg->writer;
    struct pawl__pg_list *lanes = &claim->pg->gather.lists[0], *ranks = &claim->pg->gather.lists[1],
                         *ids = &claim->pg->gather.lists[2];
    pawl__pg_list_begin(lanes, PAWL__PG_INTS);
    pawl__pg_list_begin(ranks, PAWL__PG_INTS);
    pawl__pg_list_begin(ids, PAWL__PG_IDS);
    for (size_t i = 0; i < count; i++) {
        pawl__pg_list_add(lanes, asked[i]->lane->id);
        pawl__pg_list_add(ranks, asked[i]->rank);
        pawl__pg_list_add_id(ids, asked[i]->id);
    }
    pawl__pg_call(conn, PG_READY_NEXT);
    pawl__pg_bind_list(conn, PG_READY_NEXT_lanes, lanes);
    pawl__pg_bind_list(conn, PG_READY_NEXT_ranks, ranks);
    pawl__pg_bind_list(conn, PG_READY_NEXT_ids, ids);
    pawl__pg_bind(conn, PG_READY_NEXT_limit, (int64_t)claim->chunk);
    pawl__pg_send_keep(conn, 0);
    return pawl__pg_sync(conn, claim->pg->diag);
}

static enum pawl_err read_chunks(struct claim *claim, struct cursor **asked, size_t count)
{
    enum pawl_err err = ask_chunks(claim, asked, count);
    if (err) return err;
    PGresult **kept = &claim->pg->writer.kept[0];
    const PGresult *answer = *kept;
    size_t *got = pawl__arena_calloc(&claim->pg->arena, count, sizeof *got);
    size_t rows = (size_t)PQntuples(answer);
    if (!got || !room_for_rows(claim, rows) || !keep_answer(claim, kept)) {
        return pawl__fail_nomem(claim->pg->diag);
    }
    for (size_t i = 0; i < rows; i++) {
        size_t at = (size_t)pawl__pg_int(answer, (int)i, NEXT_AT) - 1;
        assert(at < count);
        struct row row = { .cursor = asked[at],
                           .rank = pawl__pg_int(answer, (int)i, NEXT_RANK),
                           .id = pawl__pg_id(answer, (int)i, NEXT_FACTS + COL_ID),
                           .answer = answer,
                           .at = (int)i };
        claim->rows[claim->count++] = row;
        if (!got[at]++ || compare(row.rank, &row.id, asked[at]->rank, &asked[at]->id) > 0) {
            asked[at]->rank = row.rank;
            asked[at]->id = row.id;
        }
    }
    for (size_t i = 0; i < count; i++) {
        asked[i]->drained = got[i] < claim->chunk;
    }
    if (!claim->rows) return PAWL_OK; // nothing at all so far
    qsort(claim->rows + claim->first, claim->count - claim->first, sizeof *claim->rows,
          compare_rows);
    return PAWL_OK;
}

/* No lane that goes on can have a better one than this: it is not behind what was read of any. */
static bool is_best(const struct claim *claim, const struct row *row)
{
    for (size_t i = 0; i < claim->cursor_count; i++) {
        const struct cursor *cursor = &claim->cursors[i];
        if (cursor->drained || cursor == row->cursor) continue;
        if (compare(row->rank, &row->id, cursor->rank, &cursor->id) > 0) return false;
    }
    return true;
}

/* Go on with lanes that may hold something better than the best row we have; with none at hand,
 * with all that are not drained. False: there is nothing more. */
static enum pawl_err read_more(struct claim *claim, bool *more)
{
    const struct row *best = claim->first < claim->count ? &claim->rows[claim->first] : NULL;
    struct cursor **asked =
        pawl__arena_alloc(&claim->pg->arena, (claim->cursor_count + 1) * sizeof *asked);
    if (!asked) return pawl__fail_nomem(claim->pg->diag);
    size_t count = 0;
    for (size_t i = 0; i < claim->cursor_count; i++) {
        struct cursor *cursor = &claim->cursors[i];
        if (cursor->drained) continue;
        if (best && compare(best->rank, &best->id, cursor->rank, &cursor->id) <= 0) continue;
        asked[count++] = cursor;
    }
    *more = count > 0;
    return count ? read_chunks(claim, asked, count) : PAWL_OK;
}

static enum pawl_err name_lane(struct claim *claim, struct cursor *cursor)
{
    if (cursor->queue_name) return PAWL_OK;
    const char *queue = claim->pg->lanes.queues[cursor->lane->queue].name;
    const char *type = cursor->lane->type;
    cursor->type_name = pawl__arena_dup(&claim->op->arena, type, strlen(type));
    cursor->queue_name = pawl__arena_dup(&claim->op->arena, queue, strlen(queue));
    bool ok = cursor->queue_name && cursor->type_name;
    return ok ? PAWL_OK : pawl__fail_nomem(claim->pg->diag);
}

/* A cursor on each wanted lane of the queue. Chunks are small when lanes are many: what is read and
 * not taken is work for nothing. */
static enum pawl_err open_cursors(struct claim *claim, const struct pawl__pg_queue *queue,
                                  size_t wanted)
{
    const struct pawl__pg_lanes *lanes = &claim->pg->lanes;
    size_t count = 0;
    for (uint32_t at = queue->first_lane; at; at = lanes->lanes[at - 1]->next_lane) {
        count += wants_type(claim->op, lanes->lanes[at - 1]->type);
    }
    claim->first = claim->count = claim->cursor_count = 0;
    if (!count) return PAWL_OK;
    claim->chunk = count == 1 ? wanted : wanted / count + 1;
    if (claim->chunk > wanted) claim->chunk = wanted;
    claim->cursors = pawl__arena_calloc(&claim->op->arena, count, sizeof *claim->cursors);
    if (!claim->cursors) return pawl__fail_nomem(claim->pg->diag);
    for (uint32_t at = queue->first_lane; at; at = lanes->lanes[at - 1]->next_lane) {
        struct pawl__pg_lane *lane = lanes->lanes[at - 1];
        if (!wants_type(claim->op, lane->type)) continue;
        claim->cursors[claim->cursor_count++] = (struct cursor){ .lane = lane, .rank = INT64_MIN };
    }
    return PAWL_OK;
}

/* ---- dealing out ---- */

/* A timed lease ends with the job's timeout at the latest. One that is not lasts a ms longer than
 * asked for where it would end just then: so the sweep can tell a run that took too long from one
 * whose worker is gone. */
int64_t pawl__pg_lease_of(int64_t timeout_ms, int64_t lease_ms, bool timed)
{
    if (!timeout_ms) return lease_ms;
    if (timed) return timeout_ms < lease_ms ? timeout_ms : lease_ms;
    return lease_ms + (lease_ms == timeout_ms);
}

static void start_job(struct claim *claim, const struct row *row, struct pawl_job *job)
{
    const struct pawl__op *op = claim->op;
    int64_t lease_ms = op->claim.lease_ms;
    bool routed = op->kind == PAWL__OP_ROUTE;
    if (!routed && job->lease_ms) lease_ms = job->lease_ms;
    if (!routed) lease_ms = pawl__pg_lease_of(job->timeout_ms, lease_ms, op->claim.timed);
    job->state = routed ? PAWL_STATE_PENDING : PAWL_STATE_ACTIVE;
    job->run = pawl__pg_int(row->answer, row->at, NEXT_RUN) + !routed;
    job->attempt = job->run - pawl__pg_int(row->answer, row->at, NEXT_BASE);
    job->free_runs = pawl__pg_int(row->answer, row->at, NEXT_FREE);
    job->started_at_ms = routed ? 0 : claim->pg->now_ms;
    job->lease_until_ms = claim->pg->now_ms + lease_ms;
}

static enum pawl_err move_row(struct claim *claim, const struct row *row, enum pawl_event event,
                              const struct pawl__pg_target *target)
{
    struct pawl__pg_place place;
    enum pawl_err err = pawl__pg_place_need(claim->pg, row->id, &place);
    return err ? err : pawl__pg_move(claim->pg, &place, &event, 1, target);
}

/* Give the job to the claimer. */
static enum pawl_err give_row(struct claim *claim, const struct row *row)
{
    struct pawl__op *op = claim->op;
    struct pawl_job *job = &op->claim.jobs[op->claim.job_count++];
    enum pawl_err err = pawl__pg_read_facts(row->answer, row->at, NEXT_FACTS, &op->arena, job);
    if (err) return pawl__fail_nomem(claim->pg->diag);
    err = name_lane(claim, row->cursor);
    if (err) return err;
    start_job(claim, row, job);
    job->queue = row->cursor->queue_name;
    job->type = row->cursor->type_name;
    job->worker = claim->worker;
    if (op->kind == PAWL__OP_ROUTE) {
        return move_row(claim, row, PAWL_EVENT_ROUTE,
                        &(struct pawl__pg_target){ .lease_until_ms = job->lease_until_ms,
                                                   .worker = job->worker,
                                                   .reason = "routed" });
    }
    pawl__pg_moved(claim->pg, row->cursor->lane, job->id, job->run, PAWL_STATE_AVAILABLE,
                   PAWL_STATE_ACTIVE);
    return pawl__pg_gather_run(
        claim->pg,
        &(struct pawl__pg_run_row){ .place = pawl__pg_tid(row->answer, row->at, NEXT_PLACE),
                                    .lease_until_ms = job->lease_until_ms,
                                    .worker = job->worker });
}

/* A job that expired while nobody looked is not given out but ended. */
static enum pawl_err take_row(struct claim *claim, const struct row *row)
{
    int64_t expires_at_ms = pawl__pg_int(row->answer, row->at, NEXT_FACTS + COL_EXPIRES);
    if (!expires_at_ms || expires_at_ms > claim->pg->now_ms) return give_row(claim, row);
    claim->expired++; // bounded: the sweep does the rest
    return move_row(claim, row, PAWL_EVENT_EXPIRE,
                    &(struct pawl__pg_target){ .reason = "expired before it could run" });
}

static enum pawl_err claim_queue(struct claim *claim, const struct pawl__pg_queue *queue)
{
    struct pawl__op *op = claim->op;
    size_t limit = (size_t)op->claim.limit;
    bool more = true;
    enum pawl_err err = open_cursors(claim, queue, limit - op->claim.job_count);
    while (!err && op->claim.job_count < limit && claim->expired < PAWL__MAINTENANCE_MAX) {
        if (claim->first < claim->count && is_best(claim, &claim->rows[claim->first])) {
            err = take_row(claim, &claim->rows[claim->first++]);
            continue;
        }
        err = read_more(claim, &more);
        if (!more) break;
    }
    return err;
}

static enum pawl_err claim_queues(struct claim *claim)
{
    struct pawl__op *op = claim->op;
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < op->claim.queue_count; i++) {
        const struct pawl__pg_queue *queue = pawl__pg_queue_find(claim->pg, op->claim.queues[i]);
        if (!queue || queue->paused) continue;
        err = pawl__pg_gather_flush_jobs(claim->pg); // the queue may have been named before
        if (!err) err = claim_queue(claim, queue);
        if (op->claim.job_count == (size_t)op->claim.limit) break;
    }
    return err;
}

static void release(struct claim *claim)
{
    for (size_t i = 0; i < claim->answer_count; i++) {
        PQclear(claim->answers[i]);
    }
    free(claim->answers);
    free(claim->rows);
}

enum pawl_err pawl__pg_op_claim(struct pawl__backend *pg, struct pawl__op *op)
{
    op->claim.jobs = NULL;
    op->claim.job_count = 0;
    if (op->claim.limit <= 0) return PAWL_OK;
    enum pawl_event event = op->kind == PAWL__OP_ROUTE ? PAWL_EVENT_ROUTE : PAWL_EVENT_CLAIM;
    assert(pawl__lifecycle_next(PAWL_STATE_AVAILABLE, event, PAWL_STATE_NONE));
    (void)event;
    op->claim.jobs =
        pawl__arena_calloc(&op->arena, (size_t)op->claim.limit, sizeof *op->claim.jobs);
    if (!op->claim.jobs) return pawl__fail_nomem(pg->diag);
    struct claim claim = { .pg = pg, .op = op };
    claim.worker = pawl__arena_dup(&op->arena, op->claim.worker, strlen(op->claim.worker));
    if (!claim.worker) return pawl__fail_nomem(pg->diag);
    enum pawl_err err = PAWL_OK;
    for (int look = 0; !err && !op->claim.job_count && look < LOOKS_MAX; look++) {
        err = claim_queues(&claim);
    }
    release(&claim);
    pg->claims_empty = !op->claim.job_count;
    return err;
}

static enum pawl_err read_job(struct pawl__backend *pg, struct pawl__op *op, struct pawl_job *job)
{
    pawl__pg_call(&pg->writer, PG_JOB_FACTS);
    pawl__pg_bind_id(&pg->writer, PG_JOB_FACTS_id, &op->assign.id);
    PGresult *row;
    enum pawl_err err = pawl__pg_ask(&pg->writer, &row, pg->diag);
    if (err) return err;
    if (!PQntuples(row)) {
        return pawl__fail(pg->diag, PAWL_ERR_CORRUPT, "the store is damaged: a job has no facts");
    }
    err = pawl__pg_read_facts(row, 0, 0, &op->arena, job);
    return err ? pawl__fail_nomem(pg->diag) : PAWL_OK;
}

static enum pawl_err name_job(struct pawl__backend *pg, struct pawl__op *op,
                              const struct pawl__pg_place *place, struct pawl_job *job)
{
    const char *queue = pg->lanes.queues[place->lane->queue].name;
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
    err = read_job(pg, op, job);
    if (!err) err = name_job(pg, op, &place, job);
    if (err) return err;
    int64_t lease_ms = job->lease_ms ? job->lease_ms : op->assign.lease_ms;
    struct pawl__pg_target target = {
        .worker = op->assign.worker,
        .lease_until_ms = pg->now_ms + pawl__pg_lease_of(job->timeout_ms, lease_ms, false)
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
