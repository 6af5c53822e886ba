/* The working set on PostgreSQL: how it is read and locked, by one statement for a whole batch.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

#include <assert.h>
#include <string.h>

enum { SLOT_ROWS, SLOT_CRASHES, SLOT_ASKED, SLOT_KNOWN, SLOT_JOBS, SLOT_SHARED };

enum { LOOKS_MAX = 8 };

/* ---- rows ---- */

/* Columns of set_live and set_archived. */
enum { GOT_ID, GOT_LANE, GOT_ARRIVAL, GOT_PLACE, GOT_FIELDS };

/* Answers stay until the slot is used again, but a rule may ask for more: so texts are copied. */
static enum pawl_err read_row(struct pawl__backend *pg, const PGresult *rows, int i,
                              struct pawl__row *row, enum pawl__found found)
{
    struct pawl__lane *lane;
    enum pawl_err err = pawl__sql_lane_by_id(pg, pawl__pg_int(rows, i, GOT_LANE), &lane);
    if (err) return err;
    row->lane = lane->at;
    row->arrival = pawl__pg_id(rows, i, GOT_ARRIVAL);
    if (found == PAWL__FOUND_LIVE) {
        struct pawl__pg_tid place = pawl__pg_tid(rows, i, GOT_PLACE);
        memcpy(row->own.b, place.b, sizeof place.b);
    }
    err = pawl__pg_read(rows, i, GOT_FIELDS, pawl__row_fields, PAWL__ROW_READ_COUNT, &pg->set.arena,
                        row);
    if (err) return pawl__fail_nomem(pg->diag);
    pawl__row_loaded(&pg->set, row, found);
    return PAWL_OK;
}

static enum pawl_err read_rows(struct pawl__backend *pg, int slot, enum pawl__found found)
{
    const PGresult *rows = pg->writer.kept[slot];
    enum pawl_err err = PAWL_OK;
    for (int i = 0; !err && i < PQntuples(rows); i++) {
        struct pawl__row *row = pawl__set_find(&pg->set, pawl__pg_id(rows, i, GOT_ID));
        assert(row);
        err = read_row(pg, rows, i, row, found);
    }
    return err;
}

/* How many were not found so far; their ids are listed. */
static size_t list_unread(struct pawl__backend *pg, struct pawl__pg_list *ids)
{
    pawl__pg_list_begin(ids, PAWL__PG_IDS);
    for (size_t i = 0; i < pg->set.unread_count; i++) {
        const struct pawl__row *row = pg->set.unread[i];
        if (row->found == PAWL__FOUND_UNREAD) pawl__pg_list_add_id(ids, row->id);
    }
    return (size_t)ids->count;
}

static void send_ids(struct pawl__backend *pg, enum pawl__pg sql, struct pawl__pg_list *ids,
                     int slot)
{
    pawl__pg_call(&pg->writer, sql);
    pawl__pg_bind_list(&pg->writer, 1, ids);
    pawl__pg_send_keep(&pg->writer, slot);
}
_Static_assert(PG_SET_LIVE_ids == 1 && PG_SET_ARCHIVED_ids == 1 && PG_SET_LIVE_FREE_ids == 1 &&
                   PG_SET_ARCHIVED_FREE_ids == 1 && PG_SET_KNOWN_ids == 1 &&
                   PG_SET_LIVE_SHARED_ids == 1 && PG_SET_CRASHES_ids == 1 &&
                   PG_SET_PROGRESS_READ_ids == 1 && PG_SET_NOTES_READ_ids == 1,
               "parameters are numbered alike");

/* What is in neither table, as of one instant, is absent. The rest has moved meanwhile. */
static void read_known(struct pawl__backend *pg)
{
    const PGresult *rows = pg->writer.kept[SLOT_KNOWN];
    for (size_t i = 0; i < pg->set.unread_count; i++) {
        struct pawl__row *row = pg->set.unread[i];
        if (row->found == PAWL__FOUND_UNREAD) row->found = PAWL__FOUND_ABSENT;
    }
    for (int i = 0; i < PQntuples(rows); i++) {
        struct pawl__row *row = pawl__set_find(&pg->set, pawl__pg_id(rows, i, 0));
        assert(row);
        if (row->found == PAWL__FOUND_ABSENT) row->found = PAWL__FOUND_UNREAD;
    }
}

static enum pawl_err look_in_archive(struct pawl__backend *pg, struct pawl__pg_list *ids, bool wait)
{
    send_ids(pg, wait ? PG_SET_ARCHIVED : PG_SET_ARCHIVED_FREE, ids, SLOT_ROWS);
    send_ids(pg, PG_SET_KNOWN, ids, SLOT_KNOWN);
    enum pawl_err err = pawl__pg_sync(&pg->writer, pg->diag);
    if (!err) err = read_rows(pg, SLOT_ROWS, PAWL__FOUND_ARCHIVED);
    if (!err) read_known(pg);
    return err;
}

/* Jobs that were not found live, of which `ids` is the list. A job moves to the archive, which is
 * the order in which it is looked for, so one that moves meanwhile is met all the same; for one
 * that comes back, look again. */
static enum pawl_err look_again(struct pawl__backend *pg, struct pawl__pg_list *ids)
{
    enum pawl_err err = PAWL_OK;
    for (int i = 0; !err && i < LOOKS_MAX && list_unread(pg, ids); i++) {
        err = look_in_archive(pg, ids, true);
        if (err || !list_unread(pg, ids)) continue;
        send_ids(pg, PG_SET_LIVE, ids, SLOT_ROWS);
        err = pawl__pg_sync(&pg->writer, pg->diag);
        if (!err) err = read_rows(pg, SLOT_ROWS, PAWL__FOUND_LIVE);
    }
    if (err || !list_unread(pg, ids)) return err;
    pg->writer.again = true; // nothing has happened so far
    return pawl__fail(pg->diag, PAWL_ERR_BUSY,
                      "could not read a job: it moves between the store and its archive");
}

/* The same without waiting: what is known and was not read is held by others, or has just moved. */
static enum pawl_err look_past(struct pawl__backend *pg, struct pawl__pg_list *ids)
{
    if (!list_unread(pg, ids)) return PAWL_OK;
    enum pawl_err err = look_in_archive(pg, ids, false);
    for (size_t i = 0; !err && i < pg->set.unread_count; i++) {
        struct pawl__row *row = pg->set.unread[i];
        if (row->found == PAWL__FOUND_UNREAD) row->found = PAWL__FOUND_HELD;
    }
    return err;
}

/* ---- crashes ---- */

static bool send_crashes(struct pawl__backend *pg)
{
    struct pawl__pg_list *ids = &pg->set_lists[1];
    pawl__pg_list_begin(ids, PAWL__PG_IDS);
    for (size_t i = 0; i < pg->set.unread_count; i++) {
        struct pawl__row *row = pg->set.unread[i];
        if (!(row->need & ~row->has & PAWL__NEED_CRASHES)) continue;
        row->crashes = 0;
        pawl__pg_list_add_id(ids, row->id);
    }
    if (ids->count) send_ids(pg, PG_SET_CRASHES, ids, SLOT_CRASHES);
    return ids->count > 0;
}

/* Those of this series of attempts. */
static void read_crashes(struct pawl__backend *pg)
{
    const PGresult *rows = pg->writer.kept[SLOT_CRASHES];
    for (int i = 0; i < PQntuples(rows); i++) {
        struct pawl__row *row = pawl__set_find(&pg->set, pawl__pg_id(rows, i, 0));
        assert(row);
        row->crashes += pawl__pg_int(rows, i, 1) > row->base_run;
    }
    for (size_t i = 0; i < pg->set.unread_count; i++) {
        struct pawl__row *row = pg->set.unread[i];
        row->has |= row->need & PAWL__NEED_CRASHES;
    }
}

/* ---- whole jobs ---- */

static bool send_jobs(struct pawl__backend *pg)
{
    struct pawl__pg_list *ids = &pg->set_lists[3];
    pawl__pg_list_begin(ids, PAWL__PG_IDS);
    for (size_t i = 0; i < pg->set.unread_count; i++) {
        const struct pawl__row *row = pg->set.unread[i];
        if (row->need & PAWL__NEED_JOB) pawl__pg_list_add_id(ids, row->id);
    }
    if (!ids->count) return false;
    pawl__pg_call(&pg->writer, PG_SET_JOB);
    pawl__pg_bind_list(&pg->writer, PG_SET_JOB_ids, ids);
    pawl__pg_bind(&pg->writer, PG_SET_JOB_args_max,
                  pg->set.args_max ? pg->set.args_max : INT64_MAX);
    pawl__pg_send_keep(&pg->writer, SLOT_JOBS);
    return true;
}

/* The row is locked by now, or held by others and of no use. */
static void read_jobs(struct pawl__backend *pg)
{
    const PGresult *rows = pg->writer.kept[SLOT_JOBS];
    for (int i = 0; i < PQntuples(rows); i++) {
        struct pawl__row *row = pawl__set_find(&pg->set, pawl__pg_id(rows, i, COL_ID));
        assert(row);
        struct pawl_job *job = pawl__row_job(&pg->set, row);
        if (job && pawl__pg_read_facts(rows, i, 0, row->job_arena, job)) pg->set.failed = true;
    }
}

/* ---- whether a job is there ---- */

/* Of some nothing more is asked; they are not locked. */
static bool send_asked(struct pawl__backend *pg)
{
    struct pawl__pg_list *ids = &pg->set_lists[2];
    pawl__pg_list_begin(ids, PAWL__PG_IDS);
    for (size_t i = 0; i < pg->set.unread_count; i++) {
        struct pawl__row *row = pg->set.unread[i];
        if (row->need) continue;
        row->found = PAWL__FOUND_ABSENT; // unless it is found
        pawl__pg_list_add_id(ids, row->id);
    }
    if (ids->count) send_ids(pg, PG_SET_KNOWN, ids, SLOT_ASKED);
    return ids->count > 0;
}

static void read_asked(struct pawl__backend *pg)
{
    const PGresult *rows = pg->writer.kept[SLOT_ASKED];
    for (int i = 0; i < PQntuples(rows); i++) {
        struct pawl__row *row = pawl__set_find(&pg->set, pawl__pg_id(rows, i, 0));
        assert(row);
        row->found = PAWL__FOUND_LIVE;
    }
}

/* ---- notes ---- */

enum { SLOT_PROGRESS, SLOT_NOTES };

static bool send_notes(struct pawl__backend *pg)
{
    struct pawl__pg_list *ids = &pg->set_lists[0], *reports = &pg->set_lists[1];
    pawl__pg_list_begin(ids, PAWL__PG_IDS);
    pawl__pg_list_begin(reports, PAWL__PG_IDS);
    for (size_t i = 0; i < pg->set.unread_count; i++) {
        struct pawl__row *row = pg->set.unread[i];
        bool known = row->found == PAWL__FOUND_LIVE || row->found == PAWL__FOUND_ARCHIVED;
        if (!known || !(row->need & ~row->has & PAWL__NEED_NOTES)) continue;
        pawl__pg_list_add_id(ids, row->id);
        if (row->notes->reports) pawl__pg_list_add_id(reports, row->id);
        row->has |= PAWL__NEED_NOTES;
    }
    if (!ids->count) return false;
    send_ids(pg, PG_SET_PROGRESS_READ, reports, SLOT_PROGRESS);
    send_ids(pg, PG_SET_NOTES_READ, ids, SLOT_NOTES);
    return true;
}

static void read_notes(struct pawl__backend *pg)
{
    const struct pawl__set_table *of = &pawl__set_tables[PAWL__TABLE_PROGRESS];
    const PGresult *rows = pg->writer.kept[SLOT_PROGRESS];
    for (int i = 0; i < PQntuples(rows); i++) {
        struct pawl__row *row = pawl__set_find(&pg->set, pawl__pg_id(rows, i, 0));
        row->notes->progress.row = row;
        if (pawl__pg_read(rows, i, 1, of->fields, of->count, &pg->set.arena,
                          &row->notes->progress)) {
            pg->set.failed = true;
        }
    }
    rows = pg->writer.kept[SLOT_NOTES];
    for (int i = 0; i < PQntuples(rows); i++) {
        struct pawl__row *row = pawl__set_find(&pg->set, pawl__pg_id(rows, i, 0));
        row->notes->checkpoint.sequence = pawl__pg_int(rows, i, 1);
        row->notes->lines = pawl__pg_int(rows, i, 2);
    }
}

/* The first look, where most jobs are. True: some were looked for. */
static bool send_live(struct pawl__backend *pg, struct pawl__pg_list *ids, bool wait)
{
    struct pawl__pg_list *shared = &pg->set_lists[4];
    pawl__pg_list_begin(ids, PAWL__PG_IDS);
    pawl__pg_list_begin(shared, PAWL__PG_IDS);
    for (size_t i = 0; i < pg->set.unread_count; i++) {
        const struct pawl__row *row = pg->set.unread[i];
        if (row->found == PAWL__FOUND_UNREAD)
            pawl__pg_list_add_id(row->shared ? shared : ids, row->id);
    }
    if (ids->count) send_ids(pg, wait ? PG_SET_LIVE : PG_SET_LIVE_FREE, ids, SLOT_ROWS);
    if (shared->count) send_ids(pg, PG_SET_LIVE_SHARED, shared, SLOT_SHARED);
    return ids->count || shared->count;
}

static enum pawl_err read_live(struct pawl__backend *pg)
{
    enum pawl_err err = PAWL_OK;
    if (pg->set_lists[0].count) err = read_rows(pg, SLOT_ROWS, PAWL__FOUND_LIVE);
    if (!err && pg->set_lists[4].count) err = read_rows(pg, SLOT_SHARED, PAWL__FOUND_LIVE);
    return err;
}

/* One round trip, if all are live, and one more for notes. */
enum pawl_err pawl__pg_set_load(struct pawl__backend *pg, struct pawl__set *set, bool wait)
{
    (void)set;
    struct pawl__pg_list *ids = &pg->set_lists[0];
    bool asked = send_asked(pg), rows = send_live(pg, ids, wait);
    bool crashes = send_crashes(pg), jobs = send_jobs(pg);
    enum pawl_err err = pawl__pg_sync(&pg->writer, pg->diag);
    if (!err && rows) err = read_live(pg);
    if (!err && rows) err = wait ? look_again(pg, ids) : look_past(pg, ids);
    if (!err && crashes) read_crashes(pg);
    if (!err && jobs) read_jobs(pg);
    if (!err && asked) read_asked(pg);
    if (err || !send_notes(pg)) return err;
    err = pawl__pg_sync(&pg->writer, pg->diag);
    if (!err) read_notes(pg);
    return err;
}
