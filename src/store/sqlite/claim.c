/* Claiming and routing: the best waiting jobs of the wanted lanes, dealt out in order of rank.
 *
 * A claim reads as many rows of pawl_ready as it takes, whatever the backlog: each lane is a range
 * of the table, already in order, and lanes of one queue are merged by rank, as are the lane's jobs
 * that are still in memory (fresh.c).
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/sqlite/sqlite.h"

#include <assert.h>
#include <string.h>

enum { CHUNK_MAX = 64 };

struct row {
    int64_t rank, key, run, base_run, free_runs;
    int64_t bytes; /* of the arguments */
    bool unread;   /* they would exceed the bound: read when the job is taken, if it is */
    struct pawl_job job;
};

/* One lane's waiting jobs, read in chunks. */
struct cursor {
    struct pawl__lane *lane;
    struct row *rows;
    size_t count, at, chunk;
    bool fresh;                    /* reads memory instead */
    uint32_t fresh_at;             /* the next one there */
    bool drained;                  /* nothing behind rows[count] */
    int64_t taken_rank, taken_key; /* the last one given out */
    size_t taken_count;
    const char *queue_name, *type_name; /* as long-lived as the jobs */
};

struct claim {
    struct pawl__backend *sq;
    struct pawl__op *op;
    struct cursor *cursors;
    size_t cursor_count;
    const char *worker;              /* as long-lived as the jobs */
    int64_t expired;                 /* how many it met that were past their time */
    int64_t read_bytes, given_bytes; /* of arguments */
    bool full;                       /* the next job would exceed bytes_max */
};

/* May the arguments be read before it is known whether the job is taken? */
static bool may_read(const struct claim *claim, int64_t bytes)
{
    int64_t max = claim->op->claim.bytes_max;
    return !max || !claim->read_bytes || claim->read_bytes + bytes <= max;
}

static bool fits(const struct claim *claim, int64_t bytes)
{
    int64_t max = claim->op->claim.bytes_max;
    return !max || !claim->op->claim.job_count || claim->given_bytes + bytes <= max;
}

/* Are arguments of this length left out? */
static bool leaves_out(const struct claim *claim, int64_t bytes)
{
    int64_t max = claim->op->kind == PAWL__OP_CLAIM ? claim->op->claim.args_max : 0;
    return max && bytes > max;
}

/* All of the job, or all but its arguments. */
static enum pawl_err read_job(struct claim *claim, int64_t key, bool brief, struct pawl_job *job)
{
    struct pawl__backend *sq = claim->sq;
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, brief ? SQL_JOB_FACTS_BRIEF : SQL_JOB_FACTS);
    pawl__sq_bind(stmt, SQL_JOB_FACTS_key, key); // the same in both
    bool found;
    enum pawl_err err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag);
    if (err) return err;
    if (!found) {
        return pawl__fail(sq->diag, PAWL_ERR_CORRUPT,
                          "the store is damaged: a waiting job has no facts");
    }
    err = pawl__sq_read_facts(stmt, &claim->op->arena, job);
    sqlite3_reset(stmt);
    return err ? pawl__fail_nomem(sq->diag) : PAWL_OK;
}

/* Columns of ready_next. */
enum {
    NEXT_RANK,
    NEXT_KEY,
    NEXT_RUN,
    NEXT_BASE,
    NEXT_FREE,
    NEXT_TAIL,
    NEXT_EXTRAS,
    NEXT_HEAD, /* {{job.head}} */
    NEXT_ARGS = NEXT_HEAD + PAWL__JOB_HEAD_COUNT - 1
};
_Static_assert(PAWL__JOB_args == PAWL__JOB_FACTS_FIRST + PAWL__JOB_HEAD_COUNT - 1,
               "args is the last of PAWL__JOB_HEAD");

/* A job without extras is in the row already; of another the rest is read. */
static enum pawl_err read_row(struct claim *claim, sqlite3_stmt *stmt, struct row *row)
{
    row->rank = sqlite3_column_int64(stmt, NEXT_RANK);
    row->key = sqlite3_column_int64(stmt, NEXT_KEY);
    row->run = sqlite3_column_int64(stmt, NEXT_RUN);
    row->base_run = sqlite3_column_int64(stmt, NEXT_BASE);
    row->free_runs = sqlite3_column_int64(stmt, NEXT_FREE);
    row->bytes = sqlite3_column_bytes(stmt, NEXT_ARGS);
    row->unread = !may_read(claim, row->bytes);
    if (row->unread) return PAWL_OK;
    claim->read_bytes += row->bytes;
    bool brief = leaves_out(claim, row->bytes);
    if (sqlite3_column_int(stmt, NEXT_EXTRAS)) return read_job(claim, row->key, brief, &row->job);
    row->job = pawl__job_empty;
    row->job.id = pawl__sq_join(row->key, sqlite3_column_int64(stmt, NEXT_TAIL));
    size_t count = PAWL__JOB_HEAD_COUNT - (brief ? 1 : 0); // the last one is args
    enum pawl_err err = pawl__sq_read(stmt, NEXT_HEAD, &pawl__job_fields[PAWL__JOB_FACTS_FIRST],
                                      count, &claim->op->arena, &row->job);
    return err ? pawl__fail_nomem(claim->sq->diag) : PAWL_OK;
}

static enum pawl_err read_fresh(struct claim *claim, struct cursor *cursor)
{
    cursor->count = cursor->at = 0;
    while (cursor->fresh_at && cursor->count < cursor->chunk) {
        const struct pawl__sq_fresh_job *from = pawl__sq_fresh_at(claim->sq, cursor->fresh_at);
        struct row *row = &cursor->rows[cursor->count++];
        *row = (struct row){ .rank = from->rank, .key = from->key, .job = pawl__job_empty };
        row->job.id = pawl__sq_join(from->key, from->tail);
        row->job.priority = from->priority;
        row->job.attempts_max = from->attempts_max;
        row->job.created_at_ms = from->created_at_ms;
        row->job.due_at_ms = from->due_at_ms;
        row->job.args.at = pawl__arena_dup(&claim->op->arena, from->args, from->args_len);
        row->job.args.len = from->args_len;
        row->bytes = from->args_len;
        claim->read_bytes += row->bytes;
        if (!row->job.args.at) return pawl__fail_nomem(claim->sq->diag);
        cursor->fresh_at = from->next;
    }
    cursor->drained = !cursor->fresh_at;
    return PAWL_OK;
}

static enum pawl_err read_chunk(struct claim *claim, struct cursor *cursor)
{
    if (cursor->fresh) return read_fresh(claim, cursor);
    struct pawl__backend *sq = claim->sq;
    bool first = cursor->count == 0;
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_READY_NEXT);
    pawl__sq_bind(stmt, SQL_READY_NEXT_lane, cursor->lane->id);
    pawl__sq_bind(stmt, SQL_READY_NEXT_rank, first ? INT64_MIN : cursor->taken_rank);
    pawl__sq_bind(stmt, SQL_READY_NEXT_key, first ? INT64_MIN : cursor->taken_key);
    pawl__sq_bind(stmt, SQL_READY_NEXT_limit, (int64_t)cursor->chunk);
    cursor->count = cursor->at = 0;
    bool found = false, unread = false;
    enum pawl_err err;
    while (!(err = pawl__sq_row(&sq->writer, stmt, &found, sq->diag)) && found && !unread) {
        err = read_row(claim, stmt, &cursor->rows[cursor->count]);
        if (err) break;
        unread = cursor->rows[cursor->count++].unread; // that is far enough
    }
    if (found) sqlite3_reset(stmt);
    cursor->drained = !unread && cursor->count < cursor->chunk;
    return err;
}

static enum pawl_err name_lane(struct claim *claim, struct cursor *cursor)
{
    const char *queue = claim->sq->catalog.queues[cursor->lane->queue].name;
    const char *type = cursor->lane->type;
    cursor->queue_name = pawl__arena_dup(&claim->op->arena, queue, strlen(queue));
    cursor->type_name = pawl__arena_dup(&claim->op->arena, type, strlen(type));
    bool ok = cursor->queue_name && cursor->type_name;
    return ok ? PAWL_OK : pawl__fail_nomem(claim->sq->diag);
}

static enum pawl_err open_cursor(struct claim *claim, const struct cursor *how)
{
    struct cursor *cursor = &claim->cursors[claim->cursor_count++];
    *cursor = *how;
    enum pawl_err err = read_chunk(claim, cursor);
    return err || !cursor->count ? err : name_lane(claim, cursor);
}

static size_t count_cursors(const struct claim *claim, const struct pawl__queue *queue)
{
    const struct pawl__catalog *catalog = &claim->sq->catalog;
    size_t count = 0;
    for (uint32_t at = queue->first_lane; at; at = catalog->lanes[at - 1]->next_lane) {
        const struct pawl__lane *lane = catalog->lanes[at - 1];
        if (pawl__claim_wants(claim->op, lane->type)) count += lane->own.fresh.first ? 2 : 1;
    }
    return count;
}

/* A cursor on each wanted lane of the queue, and one on what it has in memory. Chunks are small
 * when lanes are many: what is read and not taken is work for nothing. */
static enum pawl_err open_cursors(struct claim *claim, const struct pawl__queue *queue,
                                  size_t wanted)
{
    struct pawl__catalog *catalog = &claim->sq->catalog;
    size_t count = count_cursors(claim, queue);
    claim->cursor_count = 0;
    if (!count) return PAWL_OK;
    size_t chunk = wanted / count + 1;
    if (chunk > CHUNK_MAX) chunk = CHUNK_MAX;
    if (chunk > wanted) chunk = wanted;
    claim->cursors = pawl__arena_calloc(&claim->op->arena, count, sizeof *claim->cursors);
    struct row *rows = pawl__arena_alloc(&claim->op->arena, count * chunk * sizeof *rows);
    if (!claim->cursors || !rows) return pawl__fail_nomem(claim->sq->diag);
    enum pawl_err err = PAWL_OK;
    for (uint32_t at = queue->first_lane; !err && at; at = catalog->lanes[at - 1]->next_lane) {
        struct pawl__lane *lane = catalog->lanes[at - 1];
        if (!pawl__claim_wants(claim->op, lane->type)) continue;
        struct cursor how = { .lane = lane, .rows = rows, .chunk = chunk };
        rows += chunk;
        err = open_cursor(claim, &how);
        if (err || !lane->own.fresh.first) continue;
        how.rows = rows;
        how.fresh = true;
        how.fresh_at = lane->own.fresh.first;
        rows += chunk;
        err = open_cursor(claim, &how);
    }
    return err;
}

static bool before(const struct row *a, const struct row *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->key < b->key;
}

/* The cursor that stands on the best job; NULL: all lanes are empty. */
static enum pawl_err best_cursor(struct claim *claim, struct cursor **out)
{
    *out = NULL;
    for (size_t i = 0; i < claim->cursor_count; i++) {
        struct cursor *cursor = &claim->cursors[i];
        if (cursor->at == cursor->count && !cursor->drained) {
            enum pawl_err err = read_chunk(claim, cursor);
            if (err) return err;
        }
        if (cursor->at == cursor->count) continue;
        if (!*out || before(&cursor->rows[cursor->at], &(*out)->rows[(*out)->at])) *out = cursor;
    }
    return PAWL_OK;
}

/* What was given out leaves the ready table in one stroke per lane. */
static enum pawl_err close_cursors(struct claim *claim)
{
    for (size_t i = 0; i < claim->cursor_count; i++) {
        const struct cursor *cursor = &claim->cursors[i];
        if (!cursor->taken_count) continue;
        if (cursor->fresh) {
            pawl__sq_fresh_drop(claim->sq, cursor->lane, cursor->taken_count);
            continue;
        }
        bool one = cursor->taken_count == 1;
        sqlite3_stmt *stmt =
            pawl__sq_use(&claim->sq->writer, one ? SQL_READY_DELETE : SQL_READY_DELETE_THROUGH);
        pawl__sq_bind(stmt, SQL_READY_DELETE_lane, cursor->lane->id); // same order in both
        pawl__sq_bind(stmt, SQL_READY_DELETE_rank, cursor->taken_rank);
        pawl__sq_bind(stmt, SQL_READY_DELETE_key, cursor->taken_key);
        enum pawl_err err = pawl__sq_run(&claim->sq->writer, stmt, claim->sq->diag);
        if (err) return err;
    }
    return PAWL_OK;
}

static enum pawl_err gather_active(struct pawl__backend *sq, const struct row *row, int64_t lane,
                                   const struct pawl_job *job)
{
    struct pawl__sq_halves halves = pawl__sq_split(job->id);
    return pawl__sq_gather_run(sq,
                               &(struct pawl__sq_run_row){
                                   .n = { row->key, halves.tail, lane, job->run, row->base_run,
                                          row->free_runs, job->started_at_ms, job->lease_until_ms },
                                   .hidden = halves.head != row->key || job->ties,
                                   .worker = job->worker });
}

static enum pawl_err insert_routed(struct pawl__backend *sq, const struct row *row, int64_t lane,
                                   const struct pawl_job *job)
{
    sqlite3_stmt *stmt = pawl__sq_use(&sq->writer, SQL_WAIT_INSERT);
    pawl__sq_bind(stmt, SQL_WAIT_INSERT_key, row->key);
    pawl__sq_bind(stmt, SQL_WAIT_INSERT_lane, lane);
    pawl__sq_bind(stmt, SQL_WAIT_INSERT_state, PAWL_STATE_PENDING);
    pawl__sq_bind_some(stmt, SQL_WAIT_INSERT_paused_from, 0);
    pawl__sq_bind(stmt, SQL_WAIT_INSERT_rank, row->rank);
    pawl__sq_bind(stmt, SQL_WAIT_INSERT_run, row->run);
    pawl__sq_bind(stmt, SQL_WAIT_INSERT_base_run, row->base_run);
    pawl__sq_bind(stmt, SQL_WAIT_INSERT_free_runs, row->free_runs);
    pawl__sq_bind(stmt, SQL_WAIT_INSERT_due_at_ms, job->due_at_ms);
    pawl__sq_bind_some(stmt, SQL_WAIT_INSERT_started_at_ms, 0);
    pawl__sq_bind(stmt, SQL_WAIT_INSERT_lease_until_ms, job->lease_until_ms);
    pawl__sq_bind_text(stmt, SQL_WAIT_INSERT_worker, job->worker);
    pawl__sq_bind_text(stmt, SQL_WAIT_INSERT_reason, "routed");
    return pawl__sq_run(&sq->writer, stmt, sq->diag);
}

static void start_job(struct claim *claim, const struct row *row, struct pawl_job *job)
{
    const struct pawl__op *op = claim->op;
    int64_t lease_ms = op->claim.lease_ms;
    bool routed = op->kind == PAWL__OP_ROUTE;
    if (!routed && job->lease_ms) lease_ms = job->lease_ms;
    job->state = routed ? PAWL_STATE_PENDING : PAWL_STATE_ACTIVE;
    job->run = row->run + !routed;
    job->attempt = job->run - row->base_run;
    job->free_runs = row->free_runs;
    job->started_at_ms = routed ? 0 : claim->sq->now_ms;
    job->lease_until_ms =
        claim->sq->now_ms +
        (routed ? lease_ms : pawl__lease_of(job->timeout_ms, lease_ms, op->claim.timed));
}

/* A job that expired while nobody looked is not given out but ended. It has extras, so it is in
 * pawl_ready until the cursors are closed. */
static enum pawl_err expire_row(struct claim *claim, const struct row *row)
{
    claim->expired++; // bounded: the sweep does the rest
    return pawl__core_expire(&claim->sq->set, &row->job.id, 1);
}

/* Give the job that the cursor stands on to the claimer. */
static enum pawl_err give_row(struct claim *claim, struct cursor *cursor, const struct row *row)
{
    struct pawl__op *op = claim->op;
    struct pawl_job *job = &op->claim.jobs[op->claim.job_count++];
    *job = row->job;
    claim->given_bytes += row->bytes;
    start_job(claim, row, job);
    job->queue = cursor->queue_name;
    job->type = cursor->type_name;
    job->worker = claim->worker;
    pawl__sq_moved(claim->sq, cursor->lane, job->id, job->run, PAWL_STATE_AVAILABLE, job->state);
    return op->kind == PAWL__OP_ROUTE ? insert_routed(claim->sq, row, cursor->lane->id, job)
                                      : gather_active(claim->sq, row, cursor->lane->id, job);
}

static enum pawl_err take_row(struct claim *claim, struct cursor *cursor)
{
    struct row *row = &cursor->rows[cursor->at];
    if (row->unread) {
        enum pawl_err err = read_job(claim, row->key, false, &row->job);
        if (err) return err;
    }
    int64_t expires_at_ms = row->job.expires_at_ms;
    bool expired = expires_at_ms && expires_at_ms <= claim->sq->now_ms;
    enum pawl_err err = expired ? expire_row(claim, row) : give_row(claim, cursor, row);
    cursor->taken_rank = row->rank;
    cursor->taken_key = row->key;
    cursor->taken_count++;
    cursor->at++;
    return err;
}

static enum pawl_err claim_queue(struct claim *claim, const struct pawl__queue *queue)
{
    struct pawl__op *op = claim->op;
    size_t limit = (size_t)op->claim.limit;
    enum pawl_err err = open_cursors(claim, queue, limit - op->claim.job_count);
    while (!err && op->claim.job_count < limit && claim->expired < PAWL__MAINTENANCE_MAX) {
        struct cursor *best;
        err = best_cursor(claim, &best);
        if (err || !best) break;
        claim->full = !fits(claim, best->rows[best->at].bytes);
        if (claim->full) break;
        err = take_row(claim, best);
    }
    return err ? err : close_cursors(claim);
}

enum pawl_err pawl__sq_op_claim(struct pawl__backend *sq, struct pawl__op *op)
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
    if (!op->claim.jobs) return pawl__fail_nomem(sq->diag);
    struct claim claim = { .sq = sq, .op = op };
    claim.worker = pawl__arena_dup(&op->arena, op->claim.worker, strlen(op->claim.worker));
    if (!claim.worker) return pawl__fail_nomem(sq->diag);
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < op->claim.queue_count; i++) {
        const struct pawl__queue *queue = pawl__catalog_queue(&sq->catalog, op->claim.queues[i]);
        if (!queue || queue->paused) continue;
        err = claim_queue(&claim, queue);
        if (op->claim.job_count == (size_t)op->claim.limit) return err;
        if (claim.full) break;
    }
    op->claim.more = claim.full || claim.expired >= PAWL__MAINTENANCE_MAX;
    return err;
}

enum pawl_err pawl__sq_op_assign(struct pawl__backend *sq, struct pawl__op *op)
{
    static const enum pawl_event assign[] = { PAWL_EVENT_ASSIGN };
    struct pawl__sq_place place;
    enum pawl_err err = pawl__sq_place_find(sq, op->assign.id, &place);
    if (err == PAWL_ERR_NOT_FOUND) err = pawl__sq_place_archived(sq, op->assign.id, &place);
    if (err == PAWL_ERR_NOT_FOUND) return pawl__fail_unknown(op->diag, op->assign.id);
    if (err) return err;
    if (place.state != PAWL_STATE_PENDING || place.lease_until_ms != op->assign.token ||
        place.lease_until_ms <= sq->now_ms || strcmp(place.worker, op->assign.worker) != 0) {
        char text[PAWL_JOB_ID_TEXT_BYTES];
        pawl_job_id_text(op->assign.id, text);
        return pawl__fail(op->diag, PAWL_ERR_STALE,
                          "job \"%s\" is not, or no longer, routed to \"%s\"", text,
                          op->assign.worker);
    }
    struct claim claim = { .sq = sq, .op = op };
    struct pawl_job *job = pawl__arena_calloc(&op->arena, 1, sizeof *job);
    if (!job) return pawl__fail_nomem(sq->diag);
    err = read_job(&claim, place.key, false, job);
    if (err) return err;
    int64_t lease_ms = job->lease_ms ? job->lease_ms : op->assign.lease_ms;
    struct pawl__sq_target target = {
        .worker = op->assign.worker,
        .lease_until_ms = sq->now_ms + pawl__lease_of(job->timeout_ms, lease_ms, false)
    };
    err = pawl__sq_move(sq, &place, assign, 1, &target);
    if (err) return err;
    const char *queue = sq->catalog.queues[place.lane->queue].name;
    job->queue = pawl__arena_dup(&op->arena, queue, strlen(queue));
    job->type = pawl__arena_dup(&op->arena, place.lane->type, strlen(place.lane->type));
    job->worker = pawl__arena_dup(&op->arena, op->assign.worker, strlen(op->assign.worker));
    if (!job->queue || !job->type || !job->worker) return pawl__fail_nomem(sq->diag);
    job->state = place.state;
    job->run = place.run;
    job->attempt = place.run - place.base_run;
    job->free_runs = place.free_runs;
    job->started_at_ms = sq->now_ms;
    job->lease_until_ms = target.lease_until_ms;
    op->assign.job = job;
    return PAWL_OK;
}
