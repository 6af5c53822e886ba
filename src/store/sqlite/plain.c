/* What goes without the working set: plain submits, claimed runs and completions. Each is written
 * by one statement per table for many of them, over arrays that are virtual tables.
 *
 * Runs that were claimed are put off until something may look for them, so that those of several
 * claims go together.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/sqlite/columns.h"

#include <assert.h>
#include <stdlib.h>

/* ---- new jobs: see new.c ---- */

/* A job that gets the first half of its id for a key. */
bool pawl__sq_suits(struct pawl__backend *sq, const struct pawl__new_job *job)
{
    return !job->tags.len && pawl__sq_key_fits(sq, job) &&
           pawl__sq_split(job->id).head > sq->archive_high;
}

/* True when all that is available could be kept in memory. */
static bool keep_in_head(struct pawl__backend *sq, struct pawl__sq_new_row *rows, size_t count)
{
    bool all = true;
    for (size_t i = 0; i < count; i++) {
        rows[i].in_head = pawl__sq_head_take(sq, &rows[i]);
        all &= rows[i].in_head || rows[i].settled.state != PAWL_STATE_AVAILABLE;
    }
    return all;
}

/* Ids that callers chose may be those of displaced jobs, which have other keys. Archived jobs with
 * the same key there are none: see pawl__sq_suits. */
static enum pawl_err find_displaced(struct pawl__backend *sq, bool *found)
{
    sqlite3_stmt *stmt = pawl__sq_stmt(sq, SQL_NEW_KNOWN);
    enum pawl_err err = pawl__sq_step(sq, stmt, found);
    if (!err && *found) sqlite3_reset(stmt);
    return err;
}

enum pawl_err pawl__sq_submit_plain(struct pawl__backend *sq, const struct pawl__new *news,
                                    size_t count, bool *taken)
{
    struct pawl__sq_new_row *rows = pawl__sq_new_room(sq, count);
    *taken = false;
    if (!rows) return pawl__fail_nomem(sq->set.diag);
    bool chosen = false, extras = false, waits = false, expires = false;
    for (size_t i = 0; i < count; i++) {
        pawl__sq_new_fill(sq, news[i].job, &news[i].settled, news[i].lane, &rows[i]);
        chosen |= !news[i].job->fresh_id;
        extras |= rows[i].extras;
        waits |= rows[i].settled.state != PAWL_STATE_AVAILABLE;
        expires |= rows[i].settled.expires_at_ms != 0;
    }
    pawl__sq_new_show(sq, rows, count);
    enum pawl_err err = chosen ? find_displaced(sq, taken) : PAWL_OK;
    if (err || *taken) return err;
    err = pawl__sq_insert(sq, extras ? SQL_NEW_JOBS : SQL_NEW_JOBS_PLAIN, taken);
    if (err || *taken) return err;
    if (!keep_in_head(sq, rows, count)) err = pawl__sq_do(sq, SQL_NEW_READY);
    if (!err && waits) err = pawl__sq_do(sq, SQL_NEW_WAIT);
    if (!err && expires) err = pawl__sq_do(sq, SQL_NEW_EXPIRY);
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

enum pawl_err pawl__sq_runs_add(struct pawl__backend *sq, const struct pawl__sq_run_row *row)
{
    struct pawl__sq_plain *plain = &sq->plain;
    struct pawl__sq_run_row *claimed = pawl__room_for(plain->claimed, &plain->claimed_cap,
                                                      plain->claimed_count + 1, sizeof *claimed);
    if (!claimed) return pawl__fail_nomem(sq->set.diag);
    plain->claimed = claimed;
    claimed[plain->claimed_count++] = *row;
    return PAWL_OK;
}

enum pawl_err pawl__sq_runs_flush(struct pawl__backend *sq)
{
    struct pawl__sq_plain *plain = &sq->plain;
    if (!plain->claimed_count) return PAWL_OK;
    plain->runs.rows = plain->claimed;
    plain->runs.count = plain->claimed_count;
    plain->claimed_count = 0;
    return pawl__sq_do(sq, SQL_GATHERED_ACTIVE);
}

/* ---- completions ---- */

#define END_TABLE "CREATE TABLE x (at, key, tail, run, owned, finished_at_ms, result)"

enum { END_KEY, END_TAIL, END_RUN, END_OWNED, END_NOW };

static void end_column(const void *rows, size_t at, int column, sqlite3_context *to)
{
    const struct pawl__sq_plain *plain = rows;
    size_t turn = plain->turns[at].at;
    const struct pawl__sq_end_row *row = &plain->ended[turn];
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
    struct pawl__sq_plain *plain = sqlite3_user_data(to);
    struct pawl__sq_end_row *row = &plain->ended[sqlite3_value_int64(argv[0])];
    row->n[END_OWNED] = 1;
    row->lane = sqlite3_value_int64(argv[1]);
    sqlite3_result_int64(to, sqlite3_value_int64(argv[2]));
}

static bool list_ends(struct pawl__backend *sq, const struct pawl__ending *ends, size_t count)
{
    struct pawl__sq_plain *plain = &sq->plain;
    void *ended = pawl__room_for(plain->ended, &plain->ended_cap, count, sizeof *plain->ended);
    if (!ended) return false;
    plain->ended = ended;
    for (size_t i = 0; i < count; i++) {
        struct pawl__sq_halves halves = pawl__sq_split(ends[i].op->complete.ref.id);
        struct pawl__sq_end_row *row = &plain->ended[i];
        *row = (struct pawl__sq_end_row){ .op = ends[i].op };
        row->n[END_KEY] = halves.head;
        row->n[END_TAIL] = halves.tail;
        row->n[END_RUN] = ends[i].op->complete.ref.run;
        row->n[END_NOW] = sq->set.now_ms;
    }
    return true;
}

static int compare_turns(const void *a, const void *b)
{
    int64_t left = ((const struct pawl__sq_turn *)a)->key;
    int64_t right = ((const struct pawl__sq_turn *)b)->key;
    return left < right ? -1 : left > right;
}

/* In order of key the same pages are met again and again: that saves more than sorting costs. */
static bool sort_ends(struct pawl__sq_plain *plain, size_t count)
{
    void *turns = pawl__room_for(plain->turns, &plain->turn_cap, count, sizeof *plain->turns);
    if (!turns) return false;
    plain->turns = turns;
    for (size_t i = 0; i < count; i++) {
        plain->turns[i] = (struct pawl__sq_turn){ .key = plain->ended[i].n[END_KEY], .at = i };
    }
    qsort(plain->turns, count, sizeof *plain->turns, compare_turns);
    return true;
}

/* Those that own no run under their id's first half (stale, unknown or displaced), and all of them
 * when two report the same run, are left. */
enum pawl_err pawl__sq_finish_plain(struct pawl__backend *sq, struct pawl__ending *ends,
                                    size_t count)
{
    struct pawl__sq_plain *plain = &sq->plain;
    if (!list_ends(sq, ends, count) || !sort_ends(plain, count))
        return pawl__fail_nomem(sq->set.diag);
    plain->ends.rows = plain;
    plain->ends.count = count;
    bool taken = false;
    enum pawl_err err = pawl__sq_runs_flush(sq);
    if (err) return err;
    err = pawl__sq_insert(sq, SQL_GATHERED_DONE, &taken);
    if (err || taken) return err;
    err = pawl__sq_do(sq, SQL_GATHERED_LEFT);
    for (size_t i = 0; !err && i < count; i++) {
        struct pawl__lane *lane;
        ends[i].done = plain->ended[i].n[END_OWNED];
        if (!ends[i].done) continue;
        err = pawl__sql_lane_by_id(sq, plain->ended[i].lane, &lane);
        if (!err) ends[i].lane = lane->at;
    }
    return err;
}

/* ---- together ---- */

enum pawl_err pawl__sq_plain_attach(struct pawl__backend *sq, struct pawl_diag *diag)
{
    struct pawl__sq_plain *plain = &sq->plain;
    plain->runs = (struct pawl__sq_source){ .schema = RUN_TABLE, .column = run_column };
    plain->ends = (struct pawl__sq_source){ .schema = END_TABLE, .column = end_column };
    sqlite3 *db = sq->writer.db;
    if (pawl__sq_source_attach(db, "gathered_run", &plain->runs) == SQLITE_OK &&
        pawl__sq_source_attach(db, "gathered_end", &plain->ends) == SQLITE_OK &&
        sqlite3_create_function_v2(db, "gathered_own", 3, SQLITE_UTF8 | SQLITE_DIRECTONLY, plain,
                                   note_owned, NULL, NULL, NULL) == SQLITE_OK) {
        return PAWL_OK;
    }
    return pawl__sq_error(&sq->writer, diag, "set up the store");
}
