/* Looking for jobs that are ready: the best of the wanted lanes, in order of rank.
 *
 * A scan reads as many rows of pawl_ready as it finds jobs, whatever the backlog: each lane is a
 * range of the table, already in order, and lanes of one queue are merged by rank, as are the
 * lane's jobs that are still in memory (head.c).
 *
 * Plain jobs are given by the scan itself, up to the first one that has expired, or has a tie that
 * claims concern: what was read is all that a claim needs, and their rows go with those of other
 * claims (plain.c).
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/core/claim.h"
#include "store/core/settle.h"
#include "store/sqlite/sqlite.h"

#include <assert.h>
#include <string.h>

enum { CHUNK_MAX = 64 };

struct row {
    int64_t rank, key, run, base_run, free_runs;
    int64_t bytes; /* of the arguments */
    int extras;    /* what was not read */
    struct pawl_job job;
};

/* One lane's waiting jobs, read in chunks. */
struct cursor {
    struct pawl__claim_lane *lane;
    struct row *rows;
    size_t count, at, chunk;
    bool in_head;                  /* reads memory instead */
    uint32_t head_at;              /* the next one there */
    bool drained;                  /* nothing behind rows[count] */
    int64_t read_rank, read_key;   /* the last one read */
    int64_t given_rank, given_key; /* the last one given out */
    size_t given_count;
};

struct scan {
    struct pawl__backend *sq;
    struct pawl__claim *claim;
    bool gives; /* plain jobs, at once */
    struct cursor *cursors;
    size_t cursor_count;
    sqlite3_blob *args; /* to know the length of long ones */
};

/* ---- reading ---- */

/* A statement that is bound to the row's key gives one row. */
static enum pawl_err step_one(struct pawl__backend *sq, sqlite3_stmt *stmt)
{
    bool found;
    enum pawl_err err = pawl__sq_step(sq, stmt, &found);
    if (err || found) return err;
    return pawl__fail(sq->set.diag, PAWL_ERR_CORRUPT,
                      "the store is damaged: a waiting job has no facts");
}

/* All of the job, or all but its arguments. */
static enum pawl_err read_job(struct pawl__backend *sq, int64_t key, bool brief,
                              struct pawl__arena *arena, struct pawl_job *job)
{
    sqlite3_stmt *stmt = pawl__sq_stmt(sq, brief ? SQL_JOB_FACTS_BRIEF : SQL_JOB_FACTS);
    pawl__sq_bind(stmt, SQL_JOB_FACTS_key, key); // the same in both
    enum pawl_err err = step_one(sq, stmt);
    if (err) return err;
    err = pawl__sq_read_facts(stmt, arena, job);
    sqlite3_reset(stmt);
    return err ? pawl__fail_nomem(sq->set.diag) : PAWL_OK;
}

/* Long arguments: how long, without reading them. */
static enum pawl_err measure_args(struct scan *scan, struct row *row)
{
    struct pawl__sq_conn *conn = &scan->sq->writer;
    int code = scan->args ? sqlite3_blob_reopen(scan->args, row->key)
                          : sqlite3_blob_open(conn->db, "main", "pawl_job", "args", row->key, 0,
                                              &scan->args);
    if (code) return pawl__sq_error(conn, scan->sq->set.diag, "read a job's arguments");
    row->bytes = sqlite3_blob_bytes(scan->args);
    return PAWL_OK;
}

static enum pawl_err read_args(const struct scan *scan, struct row *row)
{
    struct pawl__backend *sq = scan->sq;
    sqlite3_stmt *stmt = pawl__sq_stmt(sq, SQL_JOB_ARGS);
    pawl__sq_bind(stmt, SQL_JOB_ARGS_key, row->key);
    enum pawl_err err = step_one(sq, stmt);
    if (err) return err;
    bool ok = pawl__sq_column_span(stmt, 0, &scan->claim->op->arena, &row->job.args);
    sqlite3_reset(stmt);
    return ok ? PAWL_OK : pawl__fail_nomem(sq->set.diag);
}

/* Columns of ready_next. */
enum {
    NEXT_RANK,
    NEXT_KEY,
    NEXT_RUN,
    NEXT_BASE,
    NEXT_FREE,
    NEXT_TAIL,
    NEXT_ID_HEAD,
    NEXT_EXTRAS,
    NEXT_HEAD, /* {{job.head}} */
    NEXT_ARGS = NEXT_HEAD + PAWL__JOB_HEAD_COUNT - 1
};
_Static_assert(PAWL__JOB_args == PAWL__JOB_FACTS_FIRST + PAWL__JOB_HEAD_COUNT - 1,
               "args is the last of PAWL__JOB_HEAD");

/* A job without extras is in the row already. */
static enum pawl_err read_row(struct scan *scan, sqlite3_stmt *stmt, struct row *row)
{
    row->rank = sqlite3_column_int64(stmt, NEXT_RANK);
    row->key = sqlite3_column_int64(stmt, NEXT_KEY);
    row->run = sqlite3_column_int64(stmt, NEXT_RUN);
    row->base_run = sqlite3_column_int64(stmt, NEXT_BASE);
    row->free_runs = sqlite3_column_int64(stmt, NEXT_FREE);
    row->bytes = sqlite3_column_bytes(stmt, NEXT_ARGS); // 0 if they are long
    row->extras = sqlite3_column_int(stmt, NEXT_EXTRAS);
    bool displaced = sqlite3_column_type(stmt, NEXT_ID_HEAD) != SQLITE_NULL;
    int64_t head = displaced ? sqlite3_column_int64(stmt, NEXT_ID_HEAD) : row->key;
    row->job = pawl__job_empty;
    row->job.id = pawl__sq_join(head, sqlite3_column_int64(stmt, NEXT_TAIL));
    if (!scan->gives || row->extras & PAWL__SQ_EXTRAS_FIELDS) return PAWL_OK;
    bool brief = row->extras || pawl__claim_omits(scan->claim, row->bytes);
    size_t count = PAWL__JOB_HEAD_COUNT - (brief ? 1 : 0); // the last one is args
    enum pawl_err err = pawl__sq_read(stmt, NEXT_HEAD, &pawl__job_fields[PAWL__JOB_FACTS_FIRST],
                                      count, &scan->claim->op->arena, &row->job);
    return err ? pawl__fail_nomem(scan->sq->set.diag) : PAWL_OK;
}

/* What the row lacks to decide about it. Of a job that is not given in the end, so much is read for
 * nothing; it is the last one. */
static enum pawl_err read_extras(struct scan *scan, struct row *row)
{
    bool is_long = row->extras & PAWL__SQ_EXTRAS_ARGS;
    enum pawl_err err = is_long ? measure_args(scan, row) : PAWL_OK;
    if (err || !scan->gives || !(row->extras & PAWL__SQ_EXTRAS_FIELDS)) return err;
    bool brief = is_long || pawl__claim_omits(scan->claim, row->bytes);
    return read_job(scan->sq, row->key, brief, &scan->claim->op->arena, &row->job);
}

static enum pawl_err read_head(struct scan *scan, struct cursor *cursor)
{
    cursor->count = cursor->at = 0;
    while (cursor->head_at && cursor->count < cursor->chunk) {
        const struct pawl__sq_head_job *from = pawl__sq_head_at(scan->sq, cursor->head_at);
        struct row *row = &cursor->rows[cursor->count++];
        *row = (struct row){ .rank = from->rank, .key = from->key, .job = pawl__job_empty };
        row->job.id = pawl__sq_join(from->key, from->tail);
        row->job.priority = from->priority;
        row->job.attempts_max = from->attempts_max;
        row->job.created_at_ms = from->created_at_ms;
        row->job.due_at_ms = from->due_at_ms;
        row->job.args.at = pawl__arena_dup(&scan->claim->op->arena, from->args, from->args_len);
        row->job.args.len = from->args_len;
        row->bytes = from->args_len;
        if (!row->job.args.at) return pawl__fail_nomem(scan->sq->set.diag);
        cursor->head_at = from->next;
    }
    cursor->drained = !cursor->head_at;
    return PAWL_OK;
}

static enum pawl_err read_chunk(struct scan *scan, struct cursor *cursor)
{
    if (cursor->in_head) return read_head(scan, cursor);
    struct pawl__backend *sq = scan->sq;
    sqlite3_stmt *stmt = pawl__sq_stmt(sq, SQL_READY_NEXT);
    pawl__sq_bind(stmt, SQL_READY_NEXT_lane, sq->set.catalog.lanes[cursor->lane->at]->id);
    pawl__sq_bind(stmt, SQL_READY_NEXT_rank, cursor->read_rank);
    pawl__sq_bind(stmt, SQL_READY_NEXT_key, cursor->read_key);
    pawl__sq_bind(stmt, SQL_READY_NEXT_limit, (int64_t)cursor->chunk);
    cursor->count = cursor->at = 0;
    bool found = false;
    enum pawl_err err;
    while (!(err = pawl__sq_step(sq, stmt, &found)) && found) {
        err = read_row(scan, stmt, &cursor->rows[cursor->count]);
        if (err) break;
        cursor->count++;
    }
    if (found) sqlite3_reset(stmt);
    cursor->drained = cursor->count < cursor->chunk;
    if (cursor->drained) return err;
    cursor->read_rank = cursor->rows[cursor->count - 1].rank;
    cursor->read_key = cursor->rows[cursor->count - 1].key;
    return err;
}

/* ---- cursors ---- */

static enum pawl_err open_cursor(struct scan *scan, const struct cursor *how)
{
    struct cursor *cursor = &scan->cursors[scan->cursor_count++];
    *cursor = *how;
    return read_chunk(scan, cursor);
}

static uint32_t first_in_head(const struct scan *scan, const struct pawl__claim_lane *lane)
{
    return scan->sq->set.catalog.lanes[lane->at]->own.head.first;
}

/* A cursor on each lane, and one on what it has in memory. Chunks are small when lanes are many:
 * what is read and not taken is work for nothing. */
static enum pawl_err open_cursors(struct scan *scan, struct pawl__claim_lane *lanes, size_t count)
{
    assert(count > 0);
    struct pawl__arena *arena = &scan->claim->op->arena;
    size_t wanted = pawl__claim_room(scan->claim), cursors = count;
    for (size_t i = 0; i < count; i++) {
        cursors += first_in_head(scan, &lanes[i]) != 0;
    }
    size_t chunk = wanted / cursors + 1;
    if (chunk > CHUNK_MAX) chunk = CHUNK_MAX;
    if (chunk > wanted) chunk = wanted;
    scan->cursor_count = 0;
    scan->cursors = pawl__arena_calloc(arena, cursors, sizeof *scan->cursors);
    struct row *rows = pawl__arena_alloc(arena, cursors * chunk * sizeof *rows);
    if (!scan->cursors || !rows) return pawl__fail_nomem(scan->sq->set.diag);
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < count; i++) {
        struct cursor how = {
            .lane = &lanes[i], .rows = rows, .chunk = chunk, .read_rank = INT64_MIN
        };
        rows += chunk;
        err = open_cursor(scan, &how);
        how.head_at = first_in_head(scan, &lanes[i]);
        if (err || !how.head_at) continue;
        how.rows = rows;
        how.in_head = true;
        rows += chunk;
        err = open_cursor(scan, &how);
    }
    return err;
}

static bool before(const struct row *a, const struct row *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->key < b->key;
}

/* The cursor that stands on the best job; NULL: all lanes are empty. */
static enum pawl_err best_cursor(struct scan *scan, struct cursor **out)
{
    *out = NULL;
    for (size_t i = 0; i < scan->cursor_count; i++) {
        struct cursor *cursor = &scan->cursors[i];
        if (cursor->at == cursor->count && !cursor->drained) {
            enum pawl_err err = read_chunk(scan, cursor);
            if (err) return err;
        }
        if (cursor->at == cursor->count) continue;
        if (!*out || before(&cursor->rows[cursor->at], &(*out)->rows[(*out)->at])) *out = cursor;
    }
    return PAWL_OK;
}

/* What was given out leaves the ready table in one stroke per lane. */
static enum pawl_err close_cursors(struct scan *scan)
{
    struct pawl__backend *sq = scan->sq;
    for (size_t i = 0; i < scan->cursor_count; i++) {
        const struct cursor *cursor = &scan->cursors[i];
        struct pawl__lane *lane = sq->set.catalog.lanes[cursor->lane->at];
        if (!cursor->given_count) continue;
        if (cursor->in_head) {
            pawl__sq_head_drop(sq, lane, cursor->given_count);
            continue;
        }
        bool one = cursor->given_count == 1;
        sqlite3_stmt *stmt = pawl__sq_stmt(sq, one ? SQL_READY_DELETE : SQL_READY_DELETE_THROUGH);
        pawl__sq_bind(stmt, SQL_READY_DELETE_lane, lane->id); // same order in both
        pawl__sq_bind(stmt, SQL_READY_DELETE_rank, cursor->given_rank);
        pawl__sq_bind(stmt, SQL_READY_DELETE_key, cursor->given_key);
        enum pawl_err err = pawl__sq_end(sq, stmt);
        if (err) return err;
    }
    return PAWL_OK;
}

/* ---- giving ---- */

/* Give the job that the cursor stands on to the claimer. */
static enum pawl_err give_row(struct scan *scan, struct cursor *cursor, struct row *row)
{
    struct pawl__backend *sq = scan->sq;
    struct pawl__claim *claim = scan->claim;
    bool lacks = row->extras & PAWL__SQ_EXTRAS_ARGS && !pawl__claim_omits(claim, row->bytes);
    enum pawl_err err = lacks ? read_args(scan, row) : PAWL_OK;
    if (err) return err;
    const struct pawl__sq_halves halves = pawl__sq_split(row->job.id);
    bool displaced = halves.head != row->key;
    const struct pawl__claim_stand stand = {
        .order = { .rank = row->rank,
                   .seat = displaced ? pawl__sq_join(row->key, 0) : row->job.id },
        .run = row->run + 1,
        .base_run = row->base_run,
        .free_runs = row->free_runs,
        .lease_until_ms = pawl__claim_lease(claim, &row->job),
        .args_bytes = row->bytes,
    };
    const struct pawl_job *job = pawl__claim_give(claim, cursor->lane, &row->job, &stand);
    if (!job) return pawl__fail_nomem(sq->set.diag);
    cursor->given_rank = row->rank;
    cursor->given_key = row->key;
    cursor->given_count++;
    return pawl__sq_runs_add(
        sq, &(struct pawl__sq_run_row){
                .n = { row->key, halves.tail, sq->set.catalog.lanes[cursor->lane->at]->id, job->run,
                       row->base_run, row->free_runs, job->started_at_ms, job->lease_until_ms },
                .hidden = displaced || row->job.ties,
                .worker = job->worker });
}

/* From the first job on that cannot be given at once all go into the set. */
static enum pawl_err meet_row(struct scan *scan, struct cursor *cursor)
{
    struct row *row = &cursor->rows[cursor->at];
    struct pawl__claim *claim = scan->claim;
    enum pawl_err err = read_extras(scan, row);
    if (err) return err;
    bool lets = pawl__settle_lets(row->job.ties, PAWL_STATE_AVAILABLE, PAWL_STATE_ACTIVE);
    if (!lets || pawl__claim_expired(claim, row->job.expires_at_ms)) scan->gives = false;
    if (scan->gives && !pawl__claim_fits(claim, row->bytes)) return PAWL_OK;
    cursor->at++;
    if (scan->gives) return give_row(scan, cursor, row);
    pawl__claim_found(claim, row->job.id, row->bytes);
    return PAWL_OK;
}

static enum pawl_err scan_lanes(void *ctx, struct pawl__claim_lane *lanes, size_t count)
{
    struct scan *scan = ctx;
    enum pawl_err err = open_cursors(scan, lanes, count);
    while (!err && pawl__claim_room(scan->claim)) {
        struct cursor *best;
        err = best_cursor(scan, &best);
        if (err || !best) break;
        err = meet_row(scan, best);
    }
    return err ? err : close_cursors(scan);
}

static enum pawl_err run_scan(struct scan *scan)
{
    enum pawl_err err = pawl__claim_scan(scan->claim, scan_lanes, scan);
    sqlite3_blob_close(scan->args); // NULL is fine
    return err;
}

enum pawl_err pawl__sq_claim_plain(struct pawl__backend *sq, struct pawl__claim *claim)
{
    return run_scan(&(struct scan){ .sq = sq, .claim = claim, .gives = true });
}

enum pawl_err pawl__sq_scan_ready(struct pawl__backend *sq, struct pawl__claim *claim)
{
    return run_scan(&(struct scan){ .sq = sq, .claim = claim });
}
