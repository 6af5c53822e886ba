/* The working set on PostgreSQL: how it is written, by one statement for each table. Nothing is
 * waited for.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

#include <assert.h>
#include <string.h>

/* ---- lists of a statement's parameters ---- */

enum { LISTS_MAX = 48 };

/* A list for each parameter: they are in the order of the fields. `first` is what names the job or
 * its row, and comes before those. */
static void begin_lists(struct pawl__backend *pg, enum pawl__pg sql,
                        const enum pawl__pg_kind *first, const struct pawl__field *fields,
                        size_t count, struct pawl__pg_list *lists[LISTS_MAX])
{
    int at = 0;
    assert(count < LISTS_MAX);
    pawl__pg_call(&pg->writer, sql);
    if (first) lists[at++] = pawl__pg_list(&pg->writer, 1, *first);
    pawl__pg_lists(&pg->writer, at + 1, fields, count, &lists[at]);
}

/* A statement that takes the ids of jobs, and nothing else. */
struct by_ids {
    enum pawl__pg sql;
    int ids;
};
#define BY_IDS(name)                                                                               \
    {                                                                                              \
        PG_##name, PG_##name##_ids                                                                 \
    }

static struct pawl__pg_list *begin_ids(struct pawl__backend *pg, struct by_ids call)
{
    pawl__pg_call(&pg->writer, call.sql);
    return pawl__pg_list(&pg->writer, call.ids, PAWL__PG_IDS);
}

static void begin_again(struct pawl__backend *pg, struct by_ids call, struct pawl__pg_list *ids)
{
    pawl__pg_call(&pg->writer, call.sql);
    pawl__pg_list_again(&pg->writer, call.ids, ids);
}

/* ---- rows ---- */

static const struct pawl__field *const written = pawl__row_fields + PAWL__ROW_FIXED_COUNT;

_Static_assert((int)PG_SET_WRITE_places == 1 && (int)PG_SET_WRITE_RESTORED_ids == 1 &&
                   (int)PG_SET_WRITE_result == PAWL__ROW_WRITTEN_COUNT + 1 &&
                   (int)PG_SET_WRITE_RESTORED_result == PAWL__ROW_WRITTEN_COUNT + 1,
               "a list for each column");

/* Where a row that is written comes from. */
enum origin { PLACE, ARCHIVE, BIRTH };

static enum origin origin_of(const struct pawl__row *row)
{
    return row->birth ? BIRTH : row->restored ? ARCHIVE : PLACE;
}

static void list_row(struct pawl__pg_list **lists, const struct pawl__row *row)
{
    if (origin_of(row) == PLACE) {
        pawl__pg_list_add_bytes(lists[0], row->own.b, sizeof(struct pawl__pg_tid));
    } else {
        pawl__pg_list_add_id(lists[0], row->id);
    }
    pawl__pg_lists_offer(&lists[1], written, PAWL__ROW_WRITTEN_COUNT, row);
}

static bool is_written(const struct pawl__row *row)
{
    return row->wrote & (PAWL__WROTE_STAND | PAWL__WROTE_FACTS | PAWL__WROTE_LEASE);
}

static void restore_rows(struct pawl__backend *pg)
{
    struct pawl__pg_list *ids = begin_ids(pg, (struct by_ids)BY_IDS(SET_RESTORE));
    for (size_t i = 0; i < pg->set.row_count; i++) {
        const struct pawl__row *row = pawl__set_at(&pg->set, i);
        if (is_written(row) && origin_of(row) == ARCHIVE) pawl__pg_list_add_id(ids, row->id);
    }
    pawl__pg_send_exact(&pg->writer, ids->count);
}

/* There are some. */
static void write_rows(struct pawl__backend *pg, enum origin origin)
{
    const enum pawl__pg_kind first = origin == PLACE ? PAWL__PG_TIDS : PAWL__PG_IDS;
    struct pawl__pg_list *lists[LISTS_MAX] = { NULL };
    if (origin == ARCHIVE) restore_rows(pg);
    begin_lists(pg, origin == PLACE ? PG_SET_WRITE : PG_SET_WRITE_RESTORED, &first, written,
                PAWL__ROW_WRITTEN_COUNT, lists);
    for (size_t i = 0; i < pg->set.row_count; i++) {
        const struct pawl__row *row = pawl__set_at(&pg->set, i);
        if (is_written(row) && origin_of(row) == origin) list_row(lists, row);
    }
    pawl__pg_send_exact(&pg->writer, lists[0]->count);
}

/* The roll is written when the set is empty again. */
static void enroll_lease(struct pawl__backend *pg, const struct pawl__row *row)
{
    const char *worker = pawl__arena_dup(&pg->arena, row->worker, strlen(row->worker));
    if (!worker) pg->rolls[PAWL__PG_ROLL_LEASE].failed = true;
    if (worker) pawl__pg_roll_lease(pg, row->lease_until_ms, worker, row->id);
}

/* Where it is to be found from now on. A row of a roll that it has left means nothing. */
static void enroll(struct pawl__backend *pg, const struct pawl__row *row)
{
    bool came = origin_of(row) != PLACE || row->state != row->was.state;
    bool listed = row->rank == row->was.rank && !row->own.b[PAWL__PG_OFF_ROLL];
    if (row->state == PAWL_STATE_AVAILABLE && (came || !listed)) {
        pawl__pg_roll_ready(
            pg, &(struct pawl__pg_waiting){ .lane = pg->set.catalog.lanes[row->lane]->id,
                                            .rank = row->rank,
                                            .id = row->id,
                                            .arrival = row->arrival });
    }
    if (row->lease_until_ms && (came || row->wrote & PAWL__WROTE_LEASE)) enroll_lease(pg, row);
    if (pawl_state_is_terminal(row->state) && (came || row->end_new)) {
        pawl__pg_roll_ended(pg, row->state, row->finished_at_ms, row->id);
    }
}

/* ---- other tables ---- */

#define X(name, ...) PG_SET_##name,
static const enum pawl__pg statements[PAWL__TABLES] = { PAWL__SET_TABLES(X) };
#undef X

/* Those that touch as many rows as they are given; or not, where another session was faster, as all
 * that write records do. */
static const enum {
    EXACT = 1,
    RACES
} checks[PAWL__TABLES] = {
    [PAWL__TABLE_FAILURE] = EXACT,   [PAWL__TABLE_AUDIT] = EXACT,
    [PAWL__TABLE_KEY_PUT] = EXACT,   [PAWL__TABLE_CHECKED] = EXACT,
    [PAWL__TABLE_PROGRESS] = RACES,  [PAWL__TABLE_CHECKPOINT_PUT] = RACES,
    [PAWL__TABLE_LINE] = EXACT,      [PAWL__TABLE_FOLLOWED] = EXACT,
    [PAWL__TABLE_UNSETTLED] = EXACT, [PAWL__TABLE_QUEUE_PUT] = EXACT,
};

/* What belongs to a job begins with its row. */
static void put_list(struct pawl__backend *pg, enum pawl__table table)
{
    static const enum pawl__pg_kind ids = PAWL__PG_IDS;
    const struct pawl__set_table *of = &pawl__set_tables[table];
    const struct pawl__list *list = &pg->set.lists[table];
    struct pawl__pg_list *lists[LISTS_MAX] = { NULL };
    begin_lists(pg, statements[table], of->of_job ? &ids : NULL, of->fields, of->count, lists);
    for (size_t i = 0; i < list->count; i++) {
        const char *row = (const char *)list->rows + i * of->bytes;
        const struct pawl__row *const *job = (const void *)row;
        if (of->of_job) pawl__pg_list_add_id(lists[0], (*job)->id);
        pawl__pg_lists_offer(&lists[of->of_job], of->fields, of->count, row);
    }
    if (checks[table] == RACES || pawl__record_shape_of(table)) {
        pawl__pg_send_race(&pg->writer, (int32_t)list->count);
    } else if (checks[table] == EXACT) {
        pawl__pg_send_exact(&pg->writer, (int32_t)list->count);
    } else {
        pawl__pg_send(&pg->writer);
    }
}

static void archive_rows(struct pawl__backend *pg)
{
    struct pawl__pg_list *ids = begin_ids(pg, (struct by_ids)BY_IDS(SET_ARCHIVE));
    for (size_t i = 0; i < pg->set.row_count; i++) {
        const struct pawl__row *row = pawl__set_at(&pg->set, i);
        if (row->wrote & PAWL__WROTE_ARCHIVE) pawl__pg_list_add_id(ids, row->id);
    }
    pawl__pg_send_exact(&pg->writer, ids->count);
}

static void drop_kept(struct pawl__backend *pg, struct pawl__pg_list *ids)
{
#define X(name) BY_IDS(SET_DROP_##name),
    static const struct by_ids kept[] = { PAWL__KEPT(X) };
#undef X
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        begin_again(pg, kept[i], ids);
        pawl__pg_send(&pg->writer);
    }
}

/* With all that is kept with them. After all other tables: what was written there in the same batch
 * goes too. The jobs first, which waits for who takes notes of one: so the notes are seen. */
static void delete_rows(struct pawl__backend *pg, enum pawl__found from, struct by_ids jobs)
{
    struct pawl__pg_list *ids =
        begin_ids(pg, (struct by_ids)BY_IDS(SET_DROP_TAGS)); // which the jobs name
    for (size_t i = 0; i < pg->set.row_count; i++) {
        const struct pawl__row *row = pawl__set_at(&pg->set, i);
        if (row->gone == from) pawl__pg_list_add_id(ids, row->id);
    }
    if (!ids->count) return;
    pawl__pg_send(&pg->writer);
    begin_again(pg, jobs, ids);
    pawl__pg_send_exact(&pg->writer, ids->count);
    drop_kept(pg, ids);
}

static enum pawl_err store(struct pawl__backend *pg, struct pawl__set *set)
{
    bool from[BIRTH + 1] = { false }, gone = false, archived = false;
    enum pawl_err err = pawl__pg_births_store(pg);
    if (err) return err;
    for (size_t i = 0; i < set->row_count; i++) {
        const struct pawl__row *row = pawl__set_at(set, i);
        bool off_roll = row->own.b[PAWL__PG_OFF_ROLL];
        if (is_written(row) || row->birth || off_roll) enroll(pg, row);
        from[origin_of(row)] |= is_written(row);
        gone |= row->gone != 0;
        archived |= (row->wrote & PAWL__WROTE_ARCHIVE) != 0;
    }
    for (int i = PLACE; i <= BIRTH; i++) {
        if (from[i]) write_rows(pg, (enum origin)i);
    }
    for (int i = 0; i < PAWL__TABLES; i++) {
        if (set->lists[i].count) put_list(pg, (enum pawl__table)i);
    }
    if (archived) archive_rows(pg);
    if (gone) delete_rows(pg, PAWL__FOUND_LIVE, (struct by_ids)BY_IDS(JOB_DELETE));
    if (gone) delete_rows(pg, PAWL__FOUND_ARCHIVED, (struct by_ids)BY_IDS(ARCHIVE_DELETE));
    return PAWL_OK;
}

/* ---- what the core asks for ---- */

const struct pawl__core_table pawl__pg_core = {
    .begin = pawl__pg_begin,
    .commit = pawl__pg_commit,
    .rollback = pawl__pg_rollback,
    .retry = pawl__pg_retry,
    .show = pawl__pg_show,
    .quick = { .for_one = true,
               .submit_plain = pawl__pg_submit_plain,
               .finish_plain = pawl__pg_finish_plain,
               .claim_plain = pawl__pg_claim_plain,
               .promote_plain = pawl__pg_promote_plain,
               .peek = pawl__pg_peek },
    .queue = pawl__pg_queue,
    .lane = pawl__pg_lane_at,
    .load_records = pawl__pg_load_records,
    .load_keys = pawl__pg_keys_load,
    .load = pawl__pg_set_load,
    .store = store,
    .scan_due = pawl__pg_scan_due,
    .next_due = pawl__pg_next_due,
    .forget_keys = pawl__sql_forget_keys,
    .unsettled = pawl__sql_unsettled,
    .next_unsettled = pawl__sql_next_unsettled,
    .scan_flows = pawl__sql_scan_flows,
    .scan_ended_flows = pawl__sql_scan_ended_flows,
    .flow_doubts = pawl__sql_flow_doubts,
    .next_flow = pawl__sql_next_flow,
    .scan_schedules = pawl__sql_scan_schedules,
    .next_schedule = pawl__sql_next_schedule,
    .scan_ended = pawl__pg_scan_ended,
    .census = pawl__sql_census,
    .scan_nodes = pawl__sql_scan_nodes,
    .scan_locks = pawl__sql_scan_locks,
    .scan_timers = pawl__sql_scan_timers,
    .next_timer = pawl__sql_next_timer,
    .scan_waits = pawl__sql_scan_waits,
    .scan_deadlines = pawl__sql_scan_deadlines,
    .next_deadline = pawl__sql_next_deadline,
    .scan_ready = pawl__pg_scan_ready,
    .match = pawl__sql_match,
};
