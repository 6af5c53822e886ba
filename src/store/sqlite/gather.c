/* Doing many of the same at once. Plain submits, claimed runs and completions of one transaction
 * are gathered in arrays and written by one statement per table.
 *
 * 1. Order is kept as far as anybody can see: whatever reads a table flushes first what was
 * gathered for it, so an operation finds what those before it did.
 * 2. What cannot go with the others (a taken key, a lost run) is decided by the core, before all
 * that is in the working set.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/sqlite/columns.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Room for `more` in a growing array; the memory is kept from one transaction to the next. */
static bool reserve(void **array, size_t *cap, size_t count, size_t more, size_t bytes)
{
    if (count + more <= *cap) return true;
    size_t want = *cap ? *cap * 2 : 1024;
    while (want < count + more) {
        want *= 2;
    }
    void *grown = realloc(*array, want * bytes);
    if (!grown) return false;
    *array = grown;
    *cap = want;
    return true;
}

/* ---- new jobs: see new.c ---- */

/* A job that gets the first half of its id for a key. */
static bool suits(struct pawl__backend *sq, const struct pawl__new_job *job)
{
    return !job->tags.len && pawl__sq_key_fits(sq, job) &&
           pawl__sq_split(job->id).head > sq->archive_high;
}

static enum pawl_err gather_job(struct pawl__backend *sq, const struct pawl__new_job *job)
{
    uint32_t lane;
    enum pawl_err err = pawl__sq_lane_at(sq, job->spec->queue, job->spec->type, &lane, NULL);
    if (err) return err;
    struct pawl__settled settled =
        pawl__settle(job->spec, &(struct pawl__settling){ sq->now_ms, sq->boost_ms, 0 });
    pawl__sq_new_fill(sq, job, &settled, lane, &sq->news.rows[sq->news.count++]);
    return PAWL_OK;
}

static enum pawl_err gather_submit(struct pawl__backend *sq, struct pawl__op *op, bool *taken)
{
    struct pawl__sq_gather *gather = &sq->gather;
    size_t count = op->submit.count;
    for (size_t i = 0; i < count; i++) {
        if (!suits(sq, &op->submit.jobs[i])) return PAWL_OK;
    }
    *taken = true;
    if (!pawl__sq_new_reserve(sq, count) ||
        !reserve((void **)&gather->submits, &gather->submit_cap, gather->submit_count, 1,
                 sizeof *gather->submits)) {
        return pawl__fail_nomem(sq->diag);
    }
    gather->submits[gather->submit_count++] = op;
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < count; i++) {
        err = gather_job(sq, &op->submit.jobs[i]);
    }
    return err;
}

/* Some key is taken: the core decides them, before what came behind them. */
static enum pawl_err submit_singly(struct pawl__backend *sq)
{
    size_t count = sq->gather.submit_count;
    enum pawl_err err = PAWL_OK;
    sq->gather.submit_count = sq->news.count = 0;
    for (size_t i = 0; !err && i < count; i++) {
        err = pawl__core_add(&sq->set, sq->gather.submits[i]);
    }
    if (!err) pawl__core_came_first(&sq->set, count);
    return err;
}

static void accept_jobs(struct pawl__backend *sq)
{
    const struct pawl__sq_new_row *row = sq->news.rows;
    for (size_t i = 0; i < sq->gather.submit_count; i++) {
        struct pawl__op *op = sq->gather.submits[i];
        for (size_t j = 0; j < op->submit.count; j++, row++) {
            op->submit.out[j] =
                (struct pawl_submitted){ .id = row->job->id, .state = row->settled.state };
            pawl__sq_moved(sq, sq->catalog.lanes[row->lane], row->job->id, 0, PAWL__OUTSIDE,
                           row->settled.state);
            if (row->settled.state == PAWL_STATE_SCHEDULED) {
                pawl__tale_due(&sq->tale, row->settled.due_at_ms);
            }
        }
    }
}

/* True when all that is available could be kept in memory. */
static bool keep_fresh(struct pawl__backend *sq)
{
    bool all = true;
    for (size_t i = 0; i < sq->news.count; i++) {
        struct pawl__sq_new_row *row = &sq->news.rows[i];
        row->fresh = pawl__sq_fresh_take(sq, row);
        all &= row->fresh || row->settled.state != PAWL_STATE_AVAILABLE;
    }
    return all;
}

enum pawl_err pawl__sq_gather_flush_jobs(struct pawl__backend *sq)
{
    const struct pawl__sq_news *news = &sq->news;
    if (!news->count) return PAWL_OK;
    bool extras = false, waits = false, expires = false, taken;
    for (size_t i = 0; i < news->count; i++) {
        extras |= news->rows[i].extras;
        waits |= news->rows[i].settled.state != PAWL_STATE_AVAILABLE;
        expires |= news->rows[i].settled.expires_at_ms != 0;
    }
    pawl__sq_new_show(sq, news->rows, news->count);
    struct pawl__sq_conn *conn = &sq->writer;
    enum pawl_err err = pawl__sq_insert(
        conn, pawl__sq_use(conn, extras ? SQL_NEW_JOBS : SQL_NEW_JOBS_PLAIN), &taken, sq->diag);
    if (!err && taken) return submit_singly(sq);
    if (!err && !keep_fresh(sq)) err = pawl__sq_exec(conn, SQL_NEW_READY, sq->diag);
    if (!err && waits) err = pawl__sq_exec(conn, SQL_NEW_WAIT, sq->diag);
    if (!err && expires) err = pawl__sq_exec(conn, SQL_NEW_EXPIRY, sq->diag);
    if (!err) accept_jobs(sq);
    sq->gather.submit_count = sq->news.count = 0;
    return err;
}

/* ---- claimed runs ---- */

#define RUN_TABLE                                                                                  \
    "CREATE TABLE x (key, tail, lane, run, base_run, free_runs, started_at_ms, lease_until_ms, "   \
    "worker)"

static void run_column(const void *rows, size_t at, int column, sqlite3_context *to)
{
    const struct pawl__sq_run_row *row = &((const struct pawl__sq_run_row *)rows)[at];
    if (column == 8) {
        pawl__sq_result(to, PAWL__KIND_TEXT, &row->worker);
    } else if (column == 1 && row->hidden) {
        sqlite3_result_null(to);
    } else {
        sqlite3_result_int64(to, row->n[column]);
    }
}

enum pawl_err pawl__sq_gather_run(struct pawl__backend *sq, const struct pawl__sq_run_row *row)
{
    struct pawl__sq_gather *gather = &sq->gather;
    if (!reserve((void **)&gather->claimed, &gather->claimed_cap, gather->claimed_count, 1,
                 sizeof *gather->claimed)) {
        return pawl__fail_nomem(sq->diag);
    }
    gather->claimed[gather->claimed_count++] = *row;
    return PAWL_OK;
}

enum pawl_err pawl__sq_gather_flush_runs(struct pawl__backend *sq)
{
    struct pawl__sq_gather *gather = &sq->gather;
    if (!gather->claimed_count) return PAWL_OK;
    gather->runs.rows = gather->claimed;
    gather->runs.count = gather->claimed_count;
    gather->claimed_count = 0;
    return pawl__sq_exec(&sq->writer, SQL_GATHERED_ACTIVE, sq->diag);
}

/* ---- completions ---- */

#define END_TABLE "CREATE TABLE x (at, key, tail, run, owned, finished_at_ms, result)"

enum { END_KEY, END_TAIL, END_RUN, END_OWNED, END_NOW };

static void end_column(const void *rows, size_t at, int column, sqlite3_context *to)
{
    const struct pawl__sq_gather *gather = rows;
    size_t turn = gather->turns[at].at;
    const struct pawl__sq_end_row *row = &gather->ended[turn];
    switch (column) {
    case 0:
        sqlite3_result_int64(to, (int64_t)turn);
        break;
    case 6:
        pawl__sq_result(to, PAWL__KIND_JSON, &row->op->complete.result);
        break;
    default:
        sqlite3_result_int64(to, row->n[column - 1]);
        break;
    }
}

/* gathered_own(at, lane, key): the key; called for each run that is still owned. */
static void note_owned(sqlite3_context *to, int argc, sqlite3_value **argv)
{
    (void)argc;
    struct pawl__sq_gather *gather = sqlite3_user_data(to);
    struct pawl__sq_end_row *row = &gather->ended[sqlite3_value_int64(argv[0])];
    row->n[END_OWNED] = 1;
    row->lane = sqlite3_value_int64(argv[1]);
    sqlite3_result_int64(to, sqlite3_value_int64(argv[2]));
}

static enum pawl_err gather_complete(struct pawl__backend *sq, struct pawl__op *op)
{
    struct pawl__sq_gather *gather = &sq->gather;
    if (!reserve((void **)&gather->ended, &gather->ended_cap, gather->ended_count, 1,
                 sizeof *gather->ended)) {
        return pawl__fail_nomem(sq->diag);
    }
    struct pawl__sq_halves halves = pawl__sq_split(op->complete.ref.id);
    struct pawl__sq_end_row *row = &gather->ended[gather->ended_count++];
    *row = (struct pawl__sq_end_row){ .op = op };
    row->n[END_KEY] = halves.head;
    row->n[END_TAIL] = halves.tail;
    row->n[END_RUN] = op->complete.ref.run;
    row->n[END_NOW] = sq->now_ms;
    return PAWL_OK;
}

static int compare_turns(const void *a, const void *b)
{
    int64_t left = ((const struct pawl__sq_turn *)a)->key;
    int64_t right = ((const struct pawl__sq_turn *)b)->key;
    return left < right ? -1 : left > right;
}

/* In order of key the same pages are met again and again: that saves more than sorting costs. */
static bool sort_ends(struct pawl__sq_gather *gather, size_t count)
{
    if (!reserve((void **)&gather->turns, &gather->turn_cap, 0, count, sizeof *gather->turns)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        gather->turns[i] = (struct pawl__sq_turn){ .key = gather->ended[i].n[END_KEY], .at = i };
    }
    qsort(gather->turns, count, sizeof *gather->turns, compare_turns);
    return true;
}

/* Those that own no run under their id's first half (stale, unknown or displaced), and all of them
 * when two report the same run, are decided by the core, before what came behind them. */
static enum pawl_err complete_singly(struct pawl__backend *sq, size_t count, bool all)
{
    enum pawl_err err = PAWL_OK;
    size_t before = sq->set.op_count;
    for (size_t i = 0; !err && i < count; i++) {
        const struct pawl__sq_end_row *row = &sq->gather.ended[i];
        if (!row->n[END_OWNED] || all) err = pawl__core_add(&sq->set, row->op);
    }
    pawl__core_came_first(&sq->set, sq->set.op_count - before);
    return err;
}

static enum pawl_err flush_ends(struct pawl__backend *sq)
{
    struct pawl__sq_gather *gather = &sq->gather;
    size_t count = gather->ended_count;
    if (!count) return PAWL_OK;
    gather->ended_count = 0;
    if (!sort_ends(gather, count)) return pawl__fail_nomem(sq->diag);
    gather->ends.rows = gather;
    gather->ends.count = count;
    bool taken = false;
    enum pawl_err err = pawl__sq_insert(&sq->writer, pawl__sq_use(&sq->writer, SQL_GATHERED_DONE),
                                        &taken, sq->diag);
    if (err) return err;
    if (taken) return complete_singly(sq, count, true);
    err = pawl__sq_exec(&sq->writer, SQL_GATHERED_LEFT, sq->diag);
    for (size_t i = 0; !err && i < count; i++) {
        if (!gather->ended[i].n[END_OWNED]) continue;
        struct pawl__lane *lane;
        err = pawl__sq_lane_by_id(sq, gather->ended[i].lane, &lane);
        if (err) return err;
        pawl__sq_moved(sq, lane, gather->ended[i].op->complete.ref.id, gather->ended[i].n[END_RUN],
                       PAWL_STATE_ACTIVE, PAWL_STATE_COMPLETED);
    }
    return err ? err : complete_singly(sq, count, false);
}

/* ---- together ---- */

enum pawl_err pawl__sq_gather_attach(struct pawl__backend *sq, struct pawl_diag *diag)
{
    struct pawl__sq_gather *gather = &sq->gather;
    gather->runs = (struct pawl__sq_source){ .schema = RUN_TABLE, .column = run_column };
    gather->ends = (struct pawl__sq_source){ .schema = END_TABLE, .column = end_column };
    sqlite3 *db = sq->writer.db;
    if (pawl__sq_source_attach(db, "gathered_run", &gather->runs) == SQLITE_OK &&
        pawl__sq_source_attach(db, "gathered_end", &gather->ends) == SQLITE_OK &&
        sqlite3_create_function_v2(db, "gathered_own", 3, SQLITE_UTF8 | SQLITE_DIRECTONLY, gather,
                                   note_owned, NULL, NULL, NULL) == SQLITE_OK) {
        return PAWL_OK;
    }
    return pawl__sq_error(&sq->writer, diag, "set up the store");
}

enum pawl_err pawl__sq_gather(struct pawl__backend *sq, struct pawl__op *op, bool *taken)
{
    *taken = false;
    if (op->kind == PAWL__OP_SUBMIT) return gather_submit(sq, op, taken);
    if (op->kind != PAWL__OP_COMPLETE || !pawl__sq_is_key(op->complete.ref.id)) return PAWL_OK;
    *taken = true;
    return gather_complete(sq, op);
}

enum pawl_err pawl__sq_gather_flush(struct pawl__backend *sq)
{
    enum pawl_err err = pawl__sq_gather_flush_jobs(sq);
    if (!err) err = pawl__sq_gather_flush_runs(sq);
    return err ? err : flush_ends(sq);
}

void pawl__sq_gather_reset(struct pawl__backend *sq)
{
    struct pawl__sq_gather *gather = &sq->gather;
    gather->submit_count = gather->claimed_count = gather->ended_count = 0;
    sq->news.count = 0;
}

void pawl__sq_gather_release(struct pawl__sq_gather *gather)
{
    free(gather->submits);
    free(gather->claimed);
    free(gather->ended);
    free(gather->turns);
    memset(gather, 0, sizeof *gather);
}
