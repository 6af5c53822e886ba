/* The working set on SQLite: how it is written.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/sqlite/sqlite.h"

#include <stdlib.h>

/* ---- from one place to another ---- */

enum place { READY, ACTIVE, WAIT, DONE };

static enum place place_of(enum pawl_state state)
{
    switch (state) {
    case PAWL_STATE_AVAILABLE:
        return READY;
    case PAWL_STATE_ACTIVE:
        return ACTIVE;
    case PAWL_STATE_SCHEDULED:
    case PAWL_STATE_PENDING:
    case PAWL_STATE_RETRYABLE:
    case PAWL_STATE_PAUSED:
        return WAIT;
    default:
        return DONE;
    }
}

static bool moved(const struct pawl__row *row)
{
    return row->birth || row->wrote & PAWL__WROTE_STAND;
}

/* In a place, and not in the archive or nowhere. */
static bool was_there(const struct pawl__row *row)
{
    return !row->restored && !row->birth;
}

static bool left(const struct pawl__row *row, enum place place)
{
    return moved(row) && was_there(row) && place_of(row->was.state) == place;
}

static bool entered(const struct pawl__row *row, enum place place)
{
    return moved(row) && place_of(row->state) == place;
}

/* A job that is paused after its end keeps the row there. */
static bool left_done(const struct pawl__row *row)
{
    return moved(row) && was_there(row) && row->was.has_end && !pawl__row_keeps_end(row);
}

static bool entered_done(const struct pawl__row *row)
{
    return moved(row) && row->end_new;
}

static bool wrote_plan(const struct pawl__row *row)
{
    return row->wrote & PAWL__WROTE_FACTS;
}

/* Its time to live may have begun only now. */
static bool may_expire_again(const struct pawl__row *row)
{
    bool back = row->was.state == PAWL_STATE_ACTIVE || row->was.state == PAWL_STATE_PAUSED;
    bool may = (moved(row) && back) || wrote_plan(row);
    return may && row->expires_at_ms && !pawl_state_is_terminal(row->state);
}

static bool restored(const struct pawl__row *row)
{
    return row->restored;
}

static bool restored_with_end(const struct pawl__row *row)
{
    return row->restored && pawl__row_keeps_end(row);
}

/* It runs on. */
static bool wrote_run(const struct pawl__row *row)
{
    bool wrote = row->wrote & (PAWL__WROTE_LEASE | PAWL__WROTE_FACTS);
    return wrote && !moved(row) && row->state == PAWL_STATE_ACTIVE;
}

static bool archived(const struct pawl__row *row)
{
    return row->wrote & PAWL__WROTE_ARCHIVE;
}

static bool gone(const struct pawl__row *row)
{
    return row->gone;
}

static bool gone_live(const struct pawl__row *row)
{
    return row->gone == PAWL__FOUND_LIVE;
}

static bool gone_archived(const struct pawl__row *row)
{
    return row->gone == PAWL__FOUND_ARCHIVED;
}

/* A statement and the rows that it is about: those that it `concerns`, or that changed places. */
struct write {
    enum pawl__sql sql;
    bool (*concerns)(const struct pawl__row *row);
    bool (*moves)(const struct pawl__row *row, enum place place);
    enum place place;
};

static bool is_about(const struct write *write, const struct pawl__row *row)
{
    return write->moves ? write->moves(row, write->place) : write->concerns(row);
}

/* In this order. */
static const struct write writes[] = {
    { SQL_SET_RESTORE_JOB, restored },
    { SQL_SET_RESTORE_DONE, restored_with_end },
    { SQL_SET_LEAVE_ARCHIVE, restored },
    { SQL_SET_PLAN, wrote_plan },
    { SQL_SET_RUN, wrote_run },
    { SQL_SET_LEAVE_READY, .moves = left, .place = READY },
    { SQL_SET_LEAVE_ACTIVE, .moves = left, .place = ACTIVE },
    { SQL_SET_LEAVE_WAIT, .moves = left, .place = WAIT },
    { SQL_SET_LEAVE_DONE, left_done },
    { SQL_SET_ENTER_READY, .moves = entered, .place = READY },
    { SQL_SET_ENTER_ACTIVE, .moves = entered, .place = ACTIVE },
    { SQL_SET_ENTER_WAIT, .moves = entered, .place = WAIT },
    { SQL_SET_ENTER_DONE, entered_done },
    { SQL_SET_EXPIRY, may_expire_again },
    { SQL_SET_ARCHIVE, archived },
    { SQL_SET_LEAVE_DONE, archived },
    { SQL_SET_DROP_JOB, archived },
};

/* After all other tables: what was written there in the same batch goes too. */
static const struct write drops[] = {
    { SQL_SET_DROP_TAGS, gone_live }, { SQL_SET_DROP_ARCHIVED_TAGS, gone_archived },
    { SQL_SET_DROP_EXPIRY, gone },    { SQL_SET_LEAVE_DONE, gone_live },
    { SQL_SET_DROP_JOB, gone_live },  { SQL_SET_LEAVE_ARCHIVE, gone_archived },
};
#define X(name) { SQL_SET_DROP_##name, gone },
static const struct write kept_drops[] = { PAWL__KEPT(X) };
#undef X

static int compare_keys(const void *a, const void *b)
{
    const struct pawl__row *const *left_row = a, *const *right_row = b;
    int64_t left_key = (*left_row)->own.key, right_key = (*right_row)->own.key;
    return left_key < right_key ? -1 : left_key > right_key;
}

/* In order of key: the same pages are met again and again. */
static size_t list_changed(struct pawl__backend *sq)
{
    size_t count = 0;
    for (size_t i = 0; i < sq->set.row_count; i++) {
        struct pawl__row *row = pawl__set_at(&sq->set, i);
        if (row->wrote || row->birth) sq->set_tables.changed[count++] = row;
    }
    if (count) qsort(sq->set_tables.changed, count, sizeof(struct pawl__row *), compare_keys);
    return count;
}

/* See archive_high. */
static void raise_archive(struct pawl__backend *sq, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct pawl__row *row = sq->set_tables.changed[i];
        if (archived(row) && row->own.key > sq->archive_high) sq->archive_high = row->own.key;
    }
}

/* How many of the `count` rows that were changed a statement is about; those are shown. */
static size_t show_concerned(struct pawl__backend *sq, size_t count, const struct write *write)
{
    struct pawl__sq_set *tables = &sq->set_tables;
    size_t shown = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_about(write, tables->changed[i])) tables->list[shown++] = tables->changed[i];
    }
    pawl__sq_set_show(sq, shown);
    return shown;
}

/* May it be one that is in memory and not in the file? What can expire never is. */
static bool may_be_in_head(const struct pawl__row *row)
{
    bool is_meant = moved(row) || wrote_plan(row);
    return is_meant && was_there(row) && place_of(row->was.state) == READY && !row->expires_at_ms;
}

/* What is written expects its jobs in the file, not in memory. Before any job is written that does
 * not stand anywhere yet, or it would be taken for one of those in memory. */
static enum pawl_err absorb(struct pawl__backend *sq)
{
    for (size_t i = 0; i < sq->set.row_count; i++) {
        if (may_be_in_head(pawl__set_at(&sq->set, i))) return pawl__sq_head_absorb(sq);
    }
    return PAWL_OK;
}

static enum pawl_err store_births(struct pawl__backend *sq)
{
    size_t count = 0;
    for (size_t i = 0; i < sq->set.move_count; i++) {
        const struct pawl__set_move *move = &sq->set.moves[i];
        if (pawl__move_is_birth(move)) sq->set_tables.list[count++] = move->row;
    }
    return pawl__sq_births_store(sq, sq->set_tables.list, count);
}

static enum pawl_err write_rows(struct pawl__backend *sq, size_t count, const struct write *list,
                                size_t length)
{
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < length; i++) {
        if (!show_concerned(sq, count, &list[i])) continue;
        err = pawl__sq_do(sq, list[i].sql);
    }
    return err;
}

/* ---- other tables ---- */

#define X(name, ...) SQL_SET_##name,
const enum pawl__sql pawl__sq_put[PAWL__TABLES] = { PAWL__SET_TABLES(X) };
#undef X

static enum pawl_err store_lists(struct pawl__backend *sq, const struct pawl__set *set)
{
    enum pawl_err err = PAWL_OK;
    for (int i = 0; !err && i < PAWL__TABLES; i++) {
        if (!set->lists[i].count) continue;
        pawl__sq_set_show_list(sq, (enum pawl__table)i, &set->lists[i]);
        err = pawl__sq_do(sq, pawl__sq_put[i]);
    }
    return err;
}

enum pawl_err pawl__sq_set_store(struct pawl__backend *sq, struct pawl__set *set)
{
    enum pawl_err err = pawl__sq_set_reserve(sq, set->row_count);
    if (!err) err = absorb(sq);
    if (!err) err = store_births(sq);
    if (err) return err;
    size_t count = list_changed(sq); // new ones know their keys by now
    raise_archive(sq, count);
    err = write_rows(sq, count, writes, sizeof writes / sizeof *writes);
    if (!err) err = store_lists(sq, set);
    if (err || !show_concerned(sq, count, &(struct write){ .concerns = gone })) return err;
    err = write_rows(sq, count, kept_drops, sizeof kept_drops / sizeof *kept_drops);
    return err ? err : write_rows(sq, count, drops, sizeof drops / sizeof *drops);
}
