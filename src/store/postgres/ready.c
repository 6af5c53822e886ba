/* Reading the roll of what is ready: the best ids of the wanted lanes of a queue, in order of rank.
 *
 * About as many ids are read as are wanted, whatever the backlog: each lane is a range of the roll,
 * already in order. Lanes are read in chunks and merged here. A row of the roll may be dealt out
 * when no lane can have a better one: it is not behind the last row read of a lane that goes on.
 *
 * All rows that are read are locked, and those that another claimer holds are passed over. Rows
 * that were read and not dealt out are free again when the transaction ends.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

#include <assert.h>
#include <stdlib.h>

enum {
    DENSITY_FIRST = 8, /* ids in a row, before we have seen one */
    AHEAD_MIN = 8 /* rows of each lane that are looked at: what is behind the last is unknown */
};

/* Columns of ready_next. */
enum { NEXT_AT, NEXT_RANK, NEXT_SEAT, NEXT_PLACE, NEXT_IDS };

/* A row of the roll; its ids from `at` on are not dealt out yet. */
struct pawl__pg_ready_row {
    struct pawl__pg_cursor *cursor;
    struct pawl__claim_order order;
    struct pawl__pg_tid place;
    struct pawl_job_id *ids;
    size_t at, count;
};

static int compare_rows(const void *a, const void *b)
{
    const struct pawl__pg_ready_row *left = a, *right = b;
    return pawl__claim_compare(&left->order, &right->order);
}

/* ---- reading ---- */

static bool room_for_rows(struct pawl__pg_ready *ready, size_t more)
{
    if (!more) return true;
    void *rows = pawl__room_for(ready->rows, &ready->cap, ready->count + more, sizeof *ready->rows);
    if (rows) ready->rows = rows;
    return rows != NULL;
}

static struct pawl__lane *lane_of(const struct pawl__pg_ready *ready,
                                  const struct pawl__pg_cursor *cursor)
{
    return ready->pg->set.catalog.lanes[cursor->lane->at];
}

/* How many rows of the roll have so many ids, as far as the lane's rows are known. */
static size_t rows_for(const struct pawl__pg_ready *ready, const struct pawl__pg_cursor *cursor,
                       size_t ids)
{
    size_t density = lane_of(ready, cursor)->own.density;
    return ids / (density ? density : DENSITY_FIRST) + 1;
}

/* How many rows of a lane to ask for, of `count` lanes that are asked: about what is wanted, when
 * all of them give alike. What is read and not taken is work for nothing. */
static size_t rows_to_ask(const struct pawl__pg_ready *ready, const struct pawl__pg_cursor *cursor,
                          size_t count)
{
    if (cursor->rows) return cursor->rows;
    return rows_for(ready, cursor, (ready->pick_max - ready->pick_count) / count);
}

/* Ask for the next rows of each lane in `asked`. */
static enum pawl_err ask_rows(struct pawl__pg_ready *ready, struct pawl__pg_cursor **asked,
                              size_t count)
{
    struct pawl__pg_conn *conn = &ready->pg->writer;
    pawl__pg_call(conn, PG_READY_NEXT);
    struct pawl__pg_list *lanes = pawl__pg_list(conn, PG_READY_NEXT_lanes, PAWL__PG_INTS);
    struct pawl__pg_list *ranks = pawl__pg_list(conn, PG_READY_NEXT_ranks, PAWL__PG_INTS);
    struct pawl__pg_list *seats = pawl__pg_list(conn, PG_READY_NEXT_seats, PAWL__PG_IDS);
    struct pawl__pg_list *limits = pawl__pg_list(conn, PG_READY_NEXT_limits, PAWL__PG_INTS);
    for (size_t i = 0; i < count; i++) {
        asked[i]->rows = rows_to_ask(ready, asked[i], count);
        pawl__pg_list_add(lanes, lane_of(ready, asked[i])->id);
        pawl__pg_list_add(ranks, asked[i]->order.rank);
        pawl__pg_list_add_id(seats, asked[i]->order.seat);
        pawl__pg_list_add(limits, (int64_t)asked[i]->rows);
    }
    pawl__pg_send_keep(conn, 0);
    return pawl__pg_sync(conn, ready->pg->set.diag);
}

static enum pawl_err keep_row(struct pawl__pg_ready *ready, const PGresult *answer, int at,
                              struct pawl__pg_cursor *cursor)
{
    struct pawl__pg_ready_row row = { .cursor = cursor,
                                      .order = { .rank = pawl__pg_int(answer, at, NEXT_RANK),
                                                 .seat = pawl__pg_id(answer, at, NEXT_SEAT) },
                                      .place = pawl__pg_tid(answer, at, NEXT_PLACE),
                                      .count = pawl__pg_ids_count(answer, at, NEXT_IDS) };
    row.ids = pawl__arena_alloc(&ready->pg->arena, (row.count + 1) * sizeof *row.ids);
    if (!row.ids) return pawl__fail_nomem(ready->pg->set.diag);
    pawl__pg_ids(answer, at, NEXT_IDS, row.ids);
    assert(ready->rows && ready->count < ready->cap);
    ready->rows[ready->count++] = row;
    if (pawl__claim_compare(&row.order, &cursor->order) > 0) cursor->order = row.order;
    return PAWL_OK;
}

/* What was read of one lane. */
struct got {
    size_t rows, ids;
};

static void note_density(struct pawl__lane *lane, const struct got *got)
{
    if (got->rows) lane->own.density = (uint32_t)((got->ids + got->rows - 1) / got->rows);
}

static enum pawl_err read_rows(struct pawl__pg_ready *ready, struct pawl__pg_cursor **asked,
                               size_t count)
{
    enum pawl_err err = ask_rows(ready, asked, count);
    if (err) return err;
    const PGresult *answer = ready->pg->writer.kept[0];
    struct got *got = pawl__arena_calloc(&ready->pg->arena, count, sizeof *got);
    size_t rows = (size_t)PQntuples(answer);
    if (!got || !room_for_rows(ready, rows)) return pawl__fail_nomem(ready->pg->set.diag);
    for (size_t i = 0; !err && i < rows; i++) {
        size_t at = (size_t)pawl__pg_int(answer, (int)i, NEXT_AT) - 1;
        assert(at < count);
        err = keep_row(ready, answer, (int)i, asked[at]);
        got[at].rows++;
        got[at].ids += pawl__pg_ids_count(answer, (int)i, NEXT_IDS);
    }
    for (size_t i = 0; i < count; i++) {
        asked[i]->drained = got[i].rows < asked[i]->rows;
        asked[i]->rows = 0;
        note_density(lane_of(ready, asked[i]), &got[i]);
    }
    if (err || !ready->rows) return err; // nothing at all so far
    qsort(ready->rows + ready->first, ready->count - ready->first, sizeof *ready->rows,
          compare_rows);
    return PAWL_OK;
}

/* No lane that goes on can have a better one than this: it is not behind what was read of any. */
static bool is_best(const struct pawl__pg_ready *ready, const struct pawl__pg_ready_row *row)
{
    for (size_t i = 0; i < ready->cursor_count; i++) {
        const struct pawl__pg_cursor *cursor = &ready->cursors[i];
        if (cursor->drained || cursor == row->cursor) continue;
        if (pawl__claim_compare(&row->order, &cursor->order) > 0) return false;
    }
    return true;
}

/* Go on with lanes that may hold something better than the best row we have; with none at hand,
 * with all that are not drained. False: there is nothing more. */
static enum pawl_err read_more(struct pawl__pg_ready *ready, bool *more)
{
    const struct pawl__pg_ready_row *best = ready->first < ready->count ? &ready->rows[ready->first]
                                                                        : NULL;
    struct pawl__pg_cursor **asked =
        pawl__arena_alloc(&ready->pg->arena, (ready->cursor_count + 1) * sizeof *asked);
    if (!asked) return pawl__fail_nomem(ready->pg->set.diag);
    size_t count = 0;
    for (size_t i = 0; i < ready->cursor_count; i++) {
        struct pawl__pg_cursor *cursor = &ready->cursors[i];
        if (cursor->drained) continue;
        if (best && pawl__claim_compare(&best->order, &cursor->order) <= 0) continue;
        asked[count++] = cursor;
    }
    *more = count > 0;
    return count ? read_rows(ready, asked, count) : PAWL_OK;
}

/* A cursor on each lane. */
enum pawl_err pawl__pg_ready_open(struct pawl__pg_ready *ready, struct pawl__claim_lane *lanes,
                                  size_t count)
{
    ready->first = ready->count = ready->cursor_count = ready->pick_count = 0;
    ready->dealt = (struct pawl__claim_order){ .rank = INT64_MIN };
    ready->cursors = pawl__arena_calloc(&ready->pg->arena, count, sizeof *ready->cursors);
    if (!ready->cursors) return pawl__fail_nomem(ready->pg->set.diag);
    for (size_t i = 0; i < count; i++) {
        ready->cursors[ready->cursor_count++] =
            (struct pawl__pg_cursor){ .lane = &lanes[i], .order.rank = INT64_MIN };
    }
    return PAWL_OK;
}

/* ---- looking ahead ---- */

/* Columns of ready_ahead. */
enum { AHEAD_AT, AHEAD_IDS, AHEAD_ROWS };

/* Each lane gets an equal part of what is wanted, and as much again is for those that the newest
 * picks are of, where more like them may follow: all together about twice what is wanted, and the
 * least of each lane. */
static enum pawl_err ask_ahead(struct pawl__pg_ready *ready, size_t wanted, size_t givable,
                               PGresult **out)
{
    struct pawl__pg_conn *conn = &ready->pg->writer;
    pawl__pg_call(conn, PG_READY_AHEAD);
    pawl__pg_bind(conn, PG_READY_AHEAD_now_ms, ready->pg->set.now_ms);
    pawl__pg_bind(conn, PG_READY_AHEAD_wanted, (int64_t)wanted);
    pawl__pg_bind(conn, PG_READY_AHEAD_givable, (int64_t)givable);
    pawl__pg_bind(conn, PG_READY_AHEAD_rank, ready->dealt.rank);
    pawl__pg_bind_id(conn, PG_READY_AHEAD_seat, &ready->dealt.seat);
    struct pawl__pg_list *lanes = pawl__pg_list(conn, PG_READY_AHEAD_lanes, PAWL__PG_INTS);
    struct pawl__pg_list *limits = pawl__pg_list(conn, PG_READY_AHEAD_limits, PAWL__PG_INTS);
    for (size_t i = 0; i < ready->cursor_count; i++) {
        const struct pawl__pg_cursor *cursor = &ready->cursors[i];
        size_t ids = wanted / ready->cursor_count;
        if (ready->pick_count) ids += wanted * cursor->dealt / ready->pick_count;
        pawl__pg_list_add(lanes, lane_of(ready, cursor)->id);
        pawl__pg_list_add(limits, AHEAD_MIN + (int64_t)rows_for(ready, cursor, ids));
    }
    return pawl__pg_ask(conn, out, ready->pg->set.diag);
}

/* One row more of each lane, to know that nothing of it comes before what others have; without
 * those that were read. */
static void plan_rows(struct pawl__pg_ready *ready, const PGresult *answer)
{
    for (size_t i = 0; i < ready->cursor_count; i++) {
        ready->cursors[i].rows = ready->cursor_count > 1;
    }
    for (int i = 0; i < PQntuples(answer); i++) {
        size_t at = (size_t)pawl__pg_int(answer, i, AHEAD_AT) - 1;
        assert(at < ready->cursor_count);
        ready->cursors[at].rows += (size_t)pawl__pg_int(answer, i, AHEAD_ROWS);
    }
    for (size_t i = ready->first; i < ready->count; i++) {
        const struct pawl__pg_ready_row *row = &ready->rows[i];
        if (!row->at && row->cursor->rows) row->cursor->rows--;
    }
}

enum pawl_err pawl__pg_ready_ahead(struct pawl__pg_ready *ready, size_t wanted, size_t givable,
                                   size_t *out)
{
    PGresult *answer;
    enum pawl_err err = ask_ahead(ready, wanted, givable, &answer);
    if (err) return err;
    *out = 0;
    for (int i = 0; i < PQntuples(answer); i++) {
        *out += (size_t)pawl__pg_int(answer, i, AHEAD_IDS);
    }
    if (ready->first < ready->count && ready->rows[ready->first].at) {
        *out += ready->rows[ready->first].count - ready->rows[ready->first].at;
    }
    if (*out > wanted) *out = wanted;
    if (*out < givable) *out = givable;
    plan_rows(ready, answer);
    return PAWL_OK;
}

enum pawl_err pawl__pg_ready_any(struct pawl__backend *pg, const struct pawl__claim *claim,
                                 bool *any)
{
    pawl__pg_call(&pg->writer, PG_READY_ANY);
    struct pawl__pg_list *list = pawl__pg_list(&pg->writer, PG_READY_ANY_lanes, PAWL__PG_INTS);
    for (size_t i = 0; i < claim->lane_count; i++) {
        pawl__pg_list_add(list, pg->set.catalog.lanes[claim->lanes[i].at]->id);
    }
    PGresult *row;
    enum pawl_err err = pawl__pg_ask(&pg->writer, &row, pg->set.diag);
    *any = !err && pawl__pg_bool(row, 0, 0);
    return err;
}

/* ---- dealing out ---- */

/* What the look ahead has planned, of all lanes at once. */
static enum pawl_err read_planned(struct pawl__pg_ready *ready)
{
    struct pawl__pg_cursor **asked =
        pawl__arena_alloc(&ready->pg->arena, (ready->cursor_count + 1) * sizeof *asked);
    if (!asked) return pawl__fail_nomem(ready->pg->set.diag);
    size_t count = 0;
    for (size_t i = 0; i < ready->cursor_count; i++) {
        struct pawl__pg_cursor *cursor = &ready->cursors[i];
        if (cursor->rows && !cursor->drained) asked[count++] = cursor;
    }
    return count ? read_rows(ready, asked, count) : PAWL_OK;
}

static enum pawl_err begin_picks(struct pawl__pg_ready *ready, size_t limit)
{
    ready->pick_count = 0;
    ready->pick_max = limit;
    ready->rank_max = INT64_MIN;
    for (size_t i = 0; i < ready->cursor_count; i++) {
        ready->cursors[i].dealt = 0;
    }
    ready->picks = pawl__arena_calloc(&ready->pg->arena, limit, sizeof *ready->picks);
    return ready->picks ? read_planned(ready) : pawl__fail_nomem(ready->pg->set.diag);
}

static void deal_out(struct pawl__pg_ready *ready, struct pawl__pg_ready_row *row)
{
    ready->dealt = row->order;
    ready->rank_max = row->order.rank;
    while (row->at < row->count && ready->pick_count < ready->pick_max) {
        const struct pawl_job_id id = row->ids[row->at++];
        row->cursor->dealt++;
        ready->picks[ready->pick_count++] = (struct pawl__pg_pick){
            .id = id, .seat = row->count == 1 ? row->order.seat : id, .cursor = row->cursor
        };
    }
    if (row->at == row->count) ready->first++;
}

enum pawl_err pawl__pg_ready_pick(struct pawl__pg_ready *ready, size_t limit, bool *more)
{
    enum pawl_err err = begin_picks(ready, limit);
    *more = true;
    while (!err && ready->pick_count < limit) {
        struct pawl__pg_ready_row *row = ready->first < ready->count ? &ready->rows[ready->first]
                                                                     : NULL;
        if (row && is_best(ready, row)) {
            deal_out(ready, row);
            continue;
        }
        err = read_more(ready, more);
        if (!*more) break;
    }
    return err;
}

/* Rows of which all is taken go; of one at most, some is left. */
void pawl__pg_ready_strike(struct pawl__pg_ready *ready)
{
    struct pawl__pg_conn *conn = &ready->pg->writer;
    pawl__pg_call(conn, PG_READY_DELETE);
    struct pawl__pg_list *places = pawl__pg_list(conn, PG_READY_DELETE_places, PAWL__PG_TIDS);
    for (size_t i = 0; i < ready->first; i++) {
        pawl__pg_list_add_bytes(places, ready->rows[i].place.b, sizeof ready->rows[i].place.b);
    }
    if (places->count) pawl__pg_send_exact(conn, places->count);
    if (ready->first == ready->count || !ready->rows[ready->first].at) return;
    const struct pawl__pg_ready_row *row = &ready->rows[ready->first];
    pawl__pg_call(conn, PG_READY_REST);
    places = pawl__pg_list(conn, PG_READY_REST_places, PAWL__PG_TIDS);
    pawl__pg_list_add_bytes(places, row->place.b, sizeof row->place.b);
    struct pawl__pg_list *ids = pawl__pg_list(conn, PG_READY_REST_ids, PAWL__PG_IDS);
    for (size_t i = row->at; i < row->count; i++) {
        pawl__pg_list_add_id(ids, row->ids[i]);
    }
    pawl__pg_send_exact(conn, 1);
}

void pawl__pg_ready_release(struct pawl__pg_ready *ready)
{
    free(ready->rows);
}
