/* The working set on PostgreSQL: how it is read and locked, by one statement for a whole batch.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

#include <assert.h>
#include <string.h>

enum { LOOKS_MAX = 8 };

/* A statement that takes the ids of jobs: which of the unread rows it is asked about, where its
 * answer is kept, and what is made of a row of that, which begins with the id. */
struct lookup {
    enum pawl__pg sql;
    int ids; /* its parameter */
    int slot;
    bool (*wants)(const struct pawl__row *row);
    enum pawl_err (*read)(struct pawl__backend *pg, const PGresult *rows, int at,
                          struct pawl__row *row);
};
#define LOOKUP(name, slot, wants, read)                                                            \
    {                                                                                              \
        PG_##name, PG_##name##_ids, slot, wants, read                                              \
    }

enum { SLOT_ROWS, SLOT_SHARED, SLOT_KNOWN, SLOT_CRASHES, SLOT_JOBS };
enum { SLOT_PROGRESS, SLOT_RUN_DATA };

/* False: no row wants it, and the answer is empty. */
static bool send_lookup(struct pawl__backend *pg, const struct lookup *lookup)
{
    struct pawl__pg_conn *conn = &pg->writer;
    pawl__pg_call(conn, lookup->sql);
    struct pawl__pg_list *ids = pawl__pg_list(conn, lookup->ids, PAWL__PG_IDS);
    for (size_t i = 0; i < pg->set.unread_count; i++) {
        const struct pawl__row *row = pg->set.unread[i];
        if (lookup->wants(row)) pawl__pg_list_add_id(ids, row->id);
    }
    if (lookup->sql == PG_SET_JOB) {
        int64_t max = pg->set.args_max;
        pawl__pg_bind(conn, PG_SET_JOB_args_max, max ? max : INT64_MAX);
    }
    if (ids->count) {
        pawl__pg_send_keep(conn, lookup->slot);
    } else {
        pawl__pg_drop(conn, lookup->slot);
    }
    return ids->count > 0;
}

static enum pawl_err read_lookup(struct pawl__backend *pg, const struct lookup *lookup)
{
    const PGresult *rows = pg->writer.kept[lookup->slot];
    enum pawl_err err = PAWL_OK;
    for (int i = 0; !err && i < PQntuples(rows); i++) { // NULL has none
        struct pawl__row *row = pawl__set_find(&pg->set, pawl__pg_id(rows, i, 0));
        assert(row);
        err = lookup->read(pg, rows, i, row);
    }
    return err;
}

/* ---- rows ---- */

/* Columns of set_live and set_archived. */
enum { GOT_ID, GOT_LANE, GOT_ARRIVAL, GOT_PLACE, GOT_FIELDS };

/* Answers stay until the slot is used again, but a rule may ask for more: so texts are copied. */
static enum pawl_err read_row(struct pawl__backend *pg, const PGresult *rows, int at,
                              struct pawl__row *row, enum pawl__found found)
{
    struct pawl__lane *lane;
    enum pawl_err err = pawl__sql_lane_by_id(pg, pawl__pg_int(rows, at, GOT_LANE), &lane);
    if (err) return err;
    row->lane = lane->at;
    row->arrival = pawl__pg_id(rows, at, GOT_ARRIVAL);
    err = pawl__pg_read(rows, at, GOT_FIELDS, pawl__row_fields, PAWL__ROW_READ_COUNT,
                        &pg->set.arena, row);
    if (err) return pawl__fail_nomem(pg->set.diag);
    pawl__row_loaded(&pg->set, row, found);
    return PAWL_OK;
}

static enum pawl_err read_live(struct pawl__backend *pg, const PGresult *rows, int at,
                               struct pawl__row *row)
{
    struct pawl__pg_tid place = pawl__pg_tid(rows, at, GOT_PLACE);
    memcpy(row->own.b, place.b, sizeof place.b);
    return read_row(pg, rows, at, row, PAWL__FOUND_LIVE);
}

static enum pawl_err read_archived(struct pawl__backend *pg, const PGresult *rows, int at,
                                   struct pawl__row *row)
{
    return read_row(pg, rows, at, row, PAWL__FOUND_ARCHIVED);
}

static bool is_unread(const struct pawl__row *row)
{
    return row->found == PAWL__FOUND_UNREAD;
}

static bool is_unread_own(const struct pawl__row *row)
{
    return is_unread(row) && !row->shared;
}

static bool is_unread_shared(const struct pawl__row *row)
{
    return is_unread(row) && row->shared;
}

static bool has_unread(const struct pawl__backend *pg)
{
    for (size_t i = 0; i < pg->set.unread_count; i++) {
        if (is_unread(pg->set.unread[i])) return true;
    }
    return false;
}

/* What has not been found is known to be this. */
static void settle_unread(struct pawl__backend *pg, enum pawl__found found)
{
    for (size_t i = 0; i < pg->set.unread_count; i++) {
        if (is_unread(pg->set.unread[i])) pg->set.unread[i]->found = (uint8_t)found;
    }
}

/* ---- where jobs may be ---- */

/* It was not found where it was looked for, but there is such a job: it has moved meanwhile. */
static enum pawl_err read_known(struct pawl__backend *pg, const PGresult *rows, int at,
                                struct pawl__row *row)
{
    (void)pg, (void)rows, (void)at;
    if (row->found == PAWL__FOUND_ABSENT) row->found = PAWL__FOUND_UNREAD;
    return PAWL_OK;
}

/* What is in neither table, as of one instant, is absent. */
static enum pawl_err look_in_archive(struct pawl__backend *pg, const struct lookup *archived)
{
    static const struct lookup known = LOOKUP(SET_KNOWN, SLOT_KNOWN, is_unread, read_known);
    (void)send_lookup(pg, archived);
    (void)send_lookup(pg, &known);
    enum pawl_err err = pawl__pg_sync(&pg->writer, pg->set.diag);
    if (!err) err = read_lookup(pg, archived);
    if (!err) settle_unread(pg, PAWL__FOUND_ABSENT);
    return err ? err : read_lookup(pg, &known);
}

/* Jobs that were not found live. A job moves to the archive, which is the order in which it is
 * looked for, so one that moves meanwhile is met all the same; for one that comes back, look again.
 */
static enum pawl_err look_again(struct pawl__backend *pg)
{
    static const struct lookup archived = LOOKUP(SET_ARCHIVED, SLOT_ROWS, is_unread, read_archived);
    static const struct lookup back = LOOKUP(SET_LIVE, SLOT_ROWS, is_unread, read_live);
    enum pawl_err err = PAWL_OK;
    for (int i = 0; !err && i < LOOKS_MAX && has_unread(pg); i++) {
        err = look_in_archive(pg, &archived);
        if (err || !has_unread(pg)) return err;
        (void)send_lookup(pg, &back);
        err = pawl__pg_sync(&pg->writer, pg->set.diag);
        if (!err) err = read_lookup(pg, &back);
    }
    if (err || !has_unread(pg)) return err;
    pg->writer.again = true; // nothing has happened so far
    return pawl__fail(pg->set.diag, PAWL_ERR_BUSY,
                      "could not read a job: it moves between the store and its archive");
}

/* The same without waiting: what is known and was not read is held by others, or has just moved. */
static enum pawl_err look_past(struct pawl__backend *pg)
{
    static const struct lookup archived =
        LOOKUP(SET_ARCHIVED_FREE, SLOT_ROWS, is_unread, read_archived);
    enum pawl_err err = has_unread(pg) ? look_in_archive(pg, &archived) : PAWL_OK;
    if (!err) settle_unread(pg, PAWL__FOUND_HELD);
    return err;
}

/* ---- what only some rows need ---- */

/* Nothing more is asked than whether there is such a job; it is not locked. */
static bool is_asked(const struct pawl__row *row)
{
    return !row->need;
}

static enum pawl_err read_asked(struct pawl__backend *pg, const PGresult *rows, int at,
                                struct pawl__row *row)
{
    (void)pg, (void)rows, (void)at;
    row->found = PAWL__FOUND_LIVE;
    return PAWL_OK;
}

static bool lacks_crashes(const struct pawl__row *row)
{
    return row->need & ~row->has & PAWL__NEED_CRASHES;
}

/* A run whose lease lapsed counts if it is of this series of attempts. */
static enum pawl_err read_crash(struct pawl__backend *pg, const PGresult *rows, int at,
                                struct pawl__row *row)
{
    (void)pg;
    row->crashes += pawl__pg_int(rows, at, 1) > row->base_run;
    return PAWL_OK;
}

static bool needs_job(const struct pawl__row *row)
{
    return row->need & PAWL__NEED_JOB;
}

/* The row is locked by now, or held by others and of no use. */
static enum pawl_err read_job(struct pawl__backend *pg, const PGresult *rows, int at,
                              struct pawl__row *row)
{
    struct pawl_job *job = pawl__row_job(&pg->set, row);
    if (job && pawl__pg_read_facts(rows, at, 0, row->job_arena, job)) pg->set.failed = true;
    return PAWL_OK;
}

static bool lacks_run_data(const struct pawl__row *row)
{
    bool known = row->found == PAWL__FOUND_LIVE || row->found == PAWL__FOUND_ARCHIVED;
    return known && (row->need & ~row->has & PAWL__NEED_RUN_DATA);
}

static bool lacks_progress(const struct pawl__row *row)
{
    return lacks_run_data(row) && row->run_data->reports;
}

static enum pawl_err read_progress(struct pawl__backend *pg, const PGresult *rows, int at,
                                   struct pawl__row *row)
{
    const struct pawl__set_table *of = &pawl__set_tables[PAWL__TABLE_PROGRESS];
    struct pawl__progress *progress = &row->run_data->progress;
    progress->row = row;
    if (pawl__pg_read(rows, at, 1, of->fields, of->count, &pg->set.arena, progress)) {
        pg->set.failed = true;
    }
    return PAWL_OK;
}

static enum pawl_err read_run_data(struct pawl__backend *pg, const PGresult *rows, int at,
                                   struct pawl__row *row)
{
    (void)pg;
    row->run_data->checkpoint.sequence = pawl__pg_int(rows, at, 1);
    row->run_data->lines = pawl__pg_int(rows, at, 2);
    return PAWL_OK;
}

/* ---- together ---- */

/* The first look, where most jobs are. */
static const struct lookup live = LOOKUP(SET_LIVE, SLOT_ROWS, is_unread_own, read_live);
static const struct lookup live_free = LOOKUP(SET_LIVE_FREE, SLOT_ROWS, is_unread_own, read_live);
static const struct lookup shared =
    LOOKUP(SET_LIVE_SHARED, SLOT_SHARED, is_unread_shared, read_live);
static const struct lookup asked = LOOKUP(SET_KNOWN, SLOT_KNOWN, is_asked, read_asked);
static const struct lookup crashes = LOOKUP(SET_CRASHES, SLOT_CRASHES, lacks_crashes, read_crash);
static const struct lookup jobs = LOOKUP(SET_JOB, SLOT_JOBS, needs_job, read_job);

static enum pawl_err load_run_data(struct pawl__backend *pg)
{
    static const struct lookup progress =
        LOOKUP(SET_PROGRESS_READ, SLOT_PROGRESS, lacks_progress, read_progress);
    static const struct lookup run_data =
        LOOKUP(SET_RUN_DATA_READ, SLOT_RUN_DATA, lacks_run_data, read_run_data);
    (void)send_lookup(pg, &progress);
    if (!send_lookup(pg, &run_data)) return PAWL_OK; // and no progress is asked for either
    enum pawl_err err = pawl__pg_sync(&pg->writer, pg->set.diag);
    if (!err) err = read_lookup(pg, &progress);
    return err ? err : read_lookup(pg, &run_data);
}

/* One round trip, if all are live, and one more for notes. */
enum pawl_err pawl__pg_set_load(struct pawl__backend *pg, struct pawl__set *set, bool wait)
{
    const struct lookup *looks[] = { wait ? &live : &live_free, &shared, &asked, &crashes, &jobs };
    enum { ROWS = 3, LOOKS = sizeof looks / sizeof *looks };
    for (size_t i = 0; i < set->unread_count; i++) {
        if (is_asked(set->unread[i])) set->unread[i]->found = PAWL__FOUND_ABSENT; // or is found
    }
    for (int i = 0; i < LOOKS; i++) {
        (void)send_lookup(pg, looks[i]);
    }
    enum pawl_err err = pawl__pg_sync(&pg->writer, pg->set.diag);
    for (int i = 0; !err && i < LOOKS; i++) {
        if (i == ROWS) err = wait ? look_again(pg) : look_past(pg);
        if (!err) err = read_lookup(pg, looks[i]);
    }
    return err ? err : load_run_data(pg);
}
