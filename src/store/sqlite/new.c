/* New jobs: their rows of pawl_job and what stands beside those, whatever their number, by one
 * statement for each table.
 *
 * A job's key is the first half of its id. Where that will not do (it is not of about now, or
 * taken) the job is displaced: it gets the next free key, by itself.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/sqlite/columns.h"

#include <assert.h>

enum { DISPLACED_AHEAD_MS = 10000 }; /* how far displaced keys may run ahead of the clock */

/* ---- as a table ---- */

/* The columns of {{own}}, {{job.facts}}, and the state. */
#define X(member, column, ...) ", " #column
static const char new_table[] =
    "CREATE TABLE x (key, tail, head, lane, rank, extras, keys" PAWL__JOB_FACTS(X) ", state)";
#undef X

/* Called for every column of every job that is submitted: not a loop over pawl__new_facts. */
#define SPEC(member) row->job->spec->member
#define TEXTS(member) row->job->member
#define SETTLED(member) row->settled.member
#define FACT(member, column, kind, value, ...)                                                     \
    case COL_##member:                                                                             \
        pawl__sq_result(to, PAWL__KIND_##kind, &value);                                            \
        break;

static int64_t extras_of(const struct pawl__sq_new_row *row)
{
    bool is_long = row->job->spec->args.len > PAWL__SQ_ARGS_SHORT;
    return (row->extras ? PAWL__SQ_EXTRAS_FIELDS : 0) | (is_long ? PAWL__SQ_EXTRAS_ARGS : 0);
}

static void new_column(const void *rows, size_t at, int column, sqlite3_context *to)
{
    const struct pawl__sq_new_row *row = &((const struct pawl__sq_new_row *)rows)[at];
    switch (column) {
    case COL_KEY:
        sqlite3_result_int64(to, row->key);
        break;
    case COL_TAIL:
        sqlite3_result_int64(to, row->tail);
        break;
    case COL_HEAD:
        if (row->displaced) sqlite3_result_int64(to, pawl__sq_split(row->job->id).head);
        break;
    case COL_LANE:
        sqlite3_result_int64(to, row->lane_id);
        break;
    case COL_RANK:
        sqlite3_result_int64(to, row->settled.rank);
        break;
    case COL_EXTRAS:
        sqlite3_result_int64(to, extras_of(row));
        break;
    case COL_KEYS:
        if (row->keys.len) {
            sqlite3_result_blob(to, row->keys.at, (int)row->keys.len, SQLITE_STATIC);
        }
        break;
    case COL_STAND: { // the state; jobs in the head go to no other table
        enum pawl_state state = row->in_head ? PAWL_STATE_NONE : row->settled.state;
        pawl__sq_result(to, PAWL__KIND_SOME_STATE, &state);
        break;
    }
        PAWL__JOB_FACTS(FACT)
    }
}

int pawl__sq_new_attach(struct pawl__backend *sq)
{
    sq->news.source = (struct pawl__sq_source){ .schema = new_table, .column = new_column };
    return pawl__sq_source_attach(sq->writer.db, "pawl_set_new", &sq->news.source);
}

void pawl__sq_new_show(struct pawl__backend *sq, const struct pawl__sq_new_row *rows, size_t count)
{
    sq->news.source.rows = rows;
    sq->news.source.count = count;
}

void pawl__sq_new_fill(const struct pawl__backend *sq, const struct pawl__new_job *job,
                       const struct pawl__settled *settled, uint32_t lane,
                       struct pawl__sq_new_row *out)
{
    struct pawl__sq_halves halves = pawl__sq_split(job->id);
    *out = (struct pawl__sq_new_row){ .job = job,
                                      .key = halves.head,
                                      .tail = halves.tail,
                                      .lane_id = sq->set.catalog.lanes[lane]->id,
                                      .lane = lane,
                                      .settled = *settled,
                                      .extras = pawl__new_has_extras(job, settled) };
}

/* ---- rows of the working set ---- */

/* Keys are shared with the archive. New ids are newer than all that is in it, so mostly there is
 * nothing to ask. */
static enum pawl_err is_in_archive(struct pawl__backend *sq, int64_t key, bool *out)
{
    *out = false;
    if (key > sq->archive_high) return PAWL_OK;
    sqlite3_stmt *stmt = pawl__sq_stmt(sq, SQL_ARCHIVE_HAS);
    pawl__sq_bind(stmt, SQL_ARCHIVE_HAS_key, key);
    enum pawl_err err = pawl__sq_step(sq, stmt, out);
    if (*out) sqlite3_reset(stmt);
    return err;
}

static enum pawl_err insert(struct pawl__backend *sq, const struct pawl__sq_new_row *rows,
                            size_t count, bool *taken)
{
    *taken = false;
    if (!count) return PAWL_OK;
    pawl__sq_new_show(sq, rows, count);
    return pawl__sq_insert(sq, SQL_NEW_JOBS, taken);
}

static enum pawl_err insert_one(struct pawl__backend *sq, const struct pawl__sq_new_row *row,
                                bool *taken)
{
    enum pawl_err err = is_in_archive(sq, row->key, taken);
    return err || *taken ? err : insert(sq, row, 1, taken);
}

/* The first key to try for a job that cannot have its id's first half: that of its arrival, so that
 * it stands among the others as it came; without one, behind the ids of this ms. */
static int64_t displaced_key(const struct pawl__backend *sq, const struct pawl__new_job *job)
{
    struct pawl_job_id arrival = pawl__sq_arrival(job);
    int64_t key = pawl__sq_key_is_natural(sq, arrival) ? pawl__sq_split(arrival).head
                                                       : pawl__sq_key_at(sq->set.now_ms) | 0x8000;
    return key > sq->displaced_last ? key : sq->displaced_last + 1;
}

/* Under the next free key. The search goes on where the last one ended, so a stretch of taken keys
 * is walked once. */
static enum pawl_err insert_displaced(struct pawl__backend *sq, struct pawl__sq_new_row *row)
{
    bool taken = true;
    enum pawl_err err = PAWL_OK;
    if (pawl__sq_key_time(sq->displaced_last) > sq->set.now_ms + DISPLACED_AHEAD_MS) {
        sq->displaced_last = 0; // the clock was set back
    }
    row->displaced = row->extras = true;
    for (row->key = displaced_key(sq, row->job); !err && taken; row->key += taken) {
        err = insert_one(sq, row, &taken);
    }
    sq->displaced_last = row->key;
    return err;
}

/* Those that may have their id's first half for a key, at once, or each by itself where one is
 * taken. */
static enum pawl_err insert_natural(struct pawl__backend *sq, struct pawl__sq_new_row *rows,
                                    size_t count)
{
    bool taken;
    enum pawl_err err = insert(sq, rows, count, &taken);
    if (err || !taken) return err;
    for (size_t i = 0; !err && i < count; i++) {
        err = insert_one(sq, &rows[i], &taken);
        if (!err && taken) err = insert_displaced(sq, &rows[i]);
    }
    return err;
}

/* In the order in which they came, which is that of displaced keys. */
static enum pawl_err insert_all(struct pawl__backend *sq, struct pawl__sq_new_row *rows,
                                size_t count)
{
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < count;) {
        size_t end = i;
        while (end < count && !rows[end].displaced) {
            end++;
        }
        if (end > i) err = insert_natural(sq, &rows[i], end - i);
        if (!err && end < count) err = insert_displaced(sq, &rows[end]);
        i = end + 1;
    }
    return err;
}

static enum pawl_err insert_rest(struct pawl__backend *sq, size_t count)
{
    bool expires = false, tags = false;
    for (size_t i = 0; i < count; i++) {
        expires |= sq->news.rows[i].settled.expires_at_ms != 0;
        tags |= sq->news.rows[i].job->tags.len > 0;
    }
    pawl__sq_new_show(sq, sq->news.rows, count);
    enum pawl_err err = PAWL_OK;
    if (expires) err = pawl__sq_do(sq, SQL_NEW_EXPIRY);
    if (!err && tags) err = pawl__sq_do(sq, SQL_NEW_TAGS);
    return err;
}

static enum pawl_err fill(struct pawl__backend *sq, const struct pawl__row *row,
                          struct pawl__sq_new_row *out)
{
    const struct pawl__birth *birth = row->birth;
    bool archived = false, fits = pawl__sq_key_fits(sq, birth->job);
    pawl__sq_new_fill(sq, birth->job, &birth->settled, row->lane, out);
    enum pawl_err err = fits ? is_in_archive(sq, out->key, &archived) : PAWL_OK;
    out->displaced = !fits || archived;
    out->keys = row->keys;
    return err;
}

enum pawl_err pawl__sq_births_store(struct pawl__backend *sq, struct pawl__row **born, size_t count)
{
    if (!count) return PAWL_OK;
    struct pawl__sq_new_row *rows = pawl__sq_new_room(sq, count);
    if (!rows) return pawl__fail_nomem(sq->set.diag);
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < count; i++) {
        err = fill(sq, born[i], &rows[i]);
    }
    if (!err) err = insert_all(sq, rows, count);
    for (size_t i = 0; !err && i < count; i++) {
        born[i]->own.key = rows[i].key;
    }
    return err ? err : insert_rest(sq, count);
}
