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

/* Statements that take the ids of jobs, and where their answers are kept. */
struct call {
    enum pawl__pg sql;
    int ids;
    int slot;
};
#define CALL(name, slot) ((struct call){ PG_##name, PG_##name##_ids, slot })

static struct pawl__pg_list *begin_call(struct pawl__backend *pg, struct call call)
{
    pawl__pg_call(&pg->writer, call.sql);
    return pawl__pg_list(&pg->writer, call.ids, PAWL__PG_IDS);
}

/* True: it was sent, for there are some. */
static bool send_call(struct pawl__backend *pg, struct call call, const struct pawl__pg_list *ids)
{
    if (ids->count) pawl__pg_send_keep(&pg->writer, call.slot);
    return ids->count > 0;
}

/* About all that were not found so far, which are some. */
static struct pawl__pg_list *send_unread(struct pawl__backend *pg, struct call call)
{
    struct pawl__pg_list *ids = begin_call(pg, call);
    for (size_t i = 0; i < pg->set.unread_count; i++) {
        const struct pawl__row *row = pg->set.unread[i];
        if (row->found == PAWL__FOUND_UNREAD) pawl__pg_list_add_id(ids, row->id);
    }
    pawl__pg_send_keep(&pg->writer, call.slot);
    return ids;
}

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

static bool has_unread(const struct pawl__backend *pg)
{
    for (size_t i = 0; i < pg->set.unread_count; i++) {
        if (pg->set.unread[i]->found == PAWL__FOUND_UNREAD) return true;
    }
    return false;
}

static enum pawl_err look_in_archive(struct pawl__backend *pg, struct call call)
{
    struct pawl__pg_list *ids = send_unread(pg, call);
    pawl__pg_call(&pg->writer, PG_SET_KNOWN);
    pawl__pg_list_again(&pg->writer, PG_SET_KNOWN_ids, ids);
    pawl__pg_send_keep(&pg->writer, SLOT_KNOWN);
    enum pawl_err err = pawl__pg_sync(&pg->writer, pg->diag);
    if (!err) err = read_rows(pg, call.slot, PAWL__FOUND_ARCHIVED);
    if (!err) read_known(pg);
    return err;
}

/* Jobs that were not found live. A job moves to the archive, which is the order in which it is
 * looked for, so one that moves meanwhile is met all the same; for one that comes back, look again.
 */
static enum pawl_err look_again(struct pawl__backend *pg)
{
    enum pawl_err err = PAWL_OK;
    for (int i = 0; !err && i < LOOKS_MAX && has_unread(pg); i++) {
        err = look_in_archive(pg, CALL(SET_ARCHIVED, SLOT_ROWS));
        if (err || !has_unread(pg)) return err;
        send_unread(pg, CALL(SET_LIVE, SLOT_ROWS));
        err = pawl__pg_sync(&pg->writer, pg->diag);
        if (!err) err = read_rows(pg, SLOT_ROWS, PAWL__FOUND_LIVE);
    }
    if (err || !has_unread(pg)) return err;
    pg->writer.again = true; // nothing has happened so far
    return pawl__fail(pg->diag, PAWL_ERR_BUSY,
                      "could not read a job: it moves between the store and its archive");
}

/* The same without waiting: what is known and was not read is held by others, or has just moved. */
static enum pawl_err look_past(struct pawl__backend *pg)
{
    if (!has_unread(pg)) return PAWL_OK;
    enum pawl_err err = look_in_archive(pg, CALL(SET_ARCHIVED_FREE, SLOT_ROWS));
    for (size_t i = 0; !err && i < pg->set.unread_count; i++) {
        struct pawl__row *row = pg->set.unread[i];
        if (row->found == PAWL__FOUND_UNREAD) row->found = PAWL__FOUND_HELD;
    }
    return err;
}

/* ---- crashes ---- */

static bool send_crashes(struct pawl__backend *pg)
{
    const struct call call = CALL(SET_CRASHES, SLOT_CRASHES);
    struct pawl__pg_list *ids = begin_call(pg, call);
    for (size_t i = 0; i < pg->set.unread_count; i++) {
        struct pawl__row *row = pg->set.unread[i];
        if (!(row->need & ~row->has & PAWL__NEED_CRASHES)) continue;
        row->crashes = 0;
        pawl__pg_list_add_id(ids, row->id);
    }
    return send_call(pg, call, ids);
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
    const struct call call = CALL(SET_JOB, SLOT_JOBS);
    struct pawl__pg_list *ids = begin_call(pg, call);
    pawl__pg_bind(&pg->writer, PG_SET_JOB_args_max,
                  pg->set.args_max ? pg->set.args_max : INT64_MAX);
    for (size_t i = 0; i < pg->set.unread_count; i++) {
        const struct pawl__row *row = pg->set.unread[i];
        if (row->need & PAWL__NEED_JOB) pawl__pg_list_add_id(ids, row->id);
    }
    return send_call(pg, call, ids);
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
    const struct call call = CALL(SET_KNOWN, SLOT_ASKED);
    struct pawl__pg_list *ids = begin_call(pg, call);
    for (size_t i = 0; i < pg->set.unread_count; i++) {
        struct pawl__row *row = pg->set.unread[i];
        if (row->need) continue;
        row->found = PAWL__FOUND_ABSENT; // unless it is found
        pawl__pg_list_add_id(ids, row->id);
    }
    return send_call(pg, call, ids);
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

static bool lacks_notes(const struct pawl__row *row)
{
    bool known = row->found == PAWL__FOUND_LIVE || row->found == PAWL__FOUND_ARCHIVED;
    return known && (row->need & ~row->has & PAWL__NEED_NOTES);
}

/* Progress is asked for of those alone that report some. */
static void send_notes(struct pawl__backend *pg)
{
    const struct call progress = CALL(SET_PROGRESS_READ, SLOT_PROGRESS);
    const struct call notes = CALL(SET_NOTES_READ, SLOT_NOTES);
    struct pawl__pg_list *ids = begin_call(pg, progress);
    for (size_t i = 0; i < pg->set.unread_count; i++) {
        const struct pawl__row *row = pg->set.unread[i];
        if (lacks_notes(row) && row->notes->reports) pawl__pg_list_add_id(ids, row->id);
    }
    pawl__pg_send_keep(&pg->writer, progress.slot);
    ids = begin_call(pg, notes);
    for (size_t i = 0; i < pg->set.unread_count; i++) {
        struct pawl__row *row = pg->set.unread[i];
        if (!lacks_notes(row)) continue;
        pawl__pg_list_add_id(ids, row->id);
        row->has |= PAWL__NEED_NOTES;
    }
    (void)send_call(pg, notes, ids);
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
static bool send_live(struct pawl__backend *pg, struct call call, bool shared)
{
    struct pawl__pg_list *ids = begin_call(pg, call);
    for (size_t i = 0; i < pg->set.unread_count; i++) {
        const struct pawl__row *row = pg->set.unread[i];
        bool wanted = row->found == PAWL__FOUND_UNREAD && row->shared == shared;
        if (wanted) pawl__pg_list_add_id(ids, row->id);
    }
    return send_call(pg, call, ids);
}

static bool any_lacks_notes(const struct pawl__backend *pg)
{
    for (size_t i = 0; i < pg->set.unread_count; i++) {
        if (lacks_notes(pg->set.unread[i])) return true;
    }
    return false;
}

/* One round trip, if all are live, and one more for notes. */
enum pawl_err pawl__pg_set_load(struct pawl__backend *pg, struct pawl__set *set, bool wait)
{
    (void)set;
    bool asked = send_asked(pg);
    bool rows =
        send_live(pg, wait ? CALL(SET_LIVE, SLOT_ROWS) : CALL(SET_LIVE_FREE, SLOT_ROWS), false);
    bool shared = send_live(pg, CALL(SET_LIVE_SHARED, SLOT_SHARED), true);
    bool crashes = send_crashes(pg), jobs = send_jobs(pg);
    enum pawl_err err = pawl__pg_sync(&pg->writer, pg->diag);
    if (!err && rows) err = read_rows(pg, SLOT_ROWS, PAWL__FOUND_LIVE);
    if (!err && shared) err = read_rows(pg, SLOT_SHARED, PAWL__FOUND_LIVE);
    if (!err && (rows || shared)) err = wait ? look_again(pg) : look_past(pg);
    if (!err && crashes) read_crashes(pg);
    if (!err && jobs) read_jobs(pg);
    if (!err && asked) read_asked(pg);
    if (err || !any_lacks_notes(pg)) return err;
    send_notes(pg);
    err = pawl__pg_sync(&pg->writer, pg->diag);
    if (!err) read_notes(pg);
    return err;
}
