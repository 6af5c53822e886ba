/* Looking for jobs that are ready: the best of the wanted lanes, in order of rank.
 *
 * What the roll names is ready if the job says that it is available, at this rank or a smaller one:
 * then its turn has come, wherever else it may be listed. What was not found, though it should have
 * been, because another transaction holds the job, goes back onto the roll, as does what is found
 * and not taken.
 *
 * Plain jobs are taken by one statement, which is guarded: those that have ties or have expired,
 * and those whose row is or was locked, are left to the core.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Columns of claim_take before the facts. */
enum { TAKE_RANK, TAKE_RUN, TAKE_BASE, TAKE_FREE, TAKE_LEASE_UNTIL, TAKE_BYTES, TAKE_FACTS };

/* Columns of claim_hold. */
enum { HELD_ID, HELD_RANK, HELD_BYTES, HELD_EXPIRED };

enum { SLOT_TAKEN, SLOT_LEFT, SLOT_HELD };

struct scan {
    struct pawl__backend *pg;
    struct pawl__claim *claim;
    bool takes;     /* plain jobs, at once */
    size_t expired; /* of those that were found */
    struct pawl__pg_ready ready;
};

/* How many more may be found that have not expired. */
static size_t givable(const struct scan *scan)
{
    size_t room = pawl__claim_room(scan->claim);
    size_t good = scan->claim->givable - (pawl__claim_count(scan->claim) - scan->expired);
    return good < room ? good : room;
}

/* ---- picks in order of id ---- */

/* Those that are not settled, as a parameter of the call under construction. */
static struct pawl__pg_list *list_picks(const struct scan *scan, int at)
{
    struct pawl__pg_list *list = pawl__pg_list(&scan->pg->writer, at, PAWL__PG_IDS);
    for (size_t i = 0; i < scan->ready.pick_count; i++) {
        if (!scan->ready.picks[i].settled) pawl__pg_list_add_id(list, scan->ready.picks[i].id);
    }
    return list;
}

static int compare_picks(const void *a, const void *b)
{
    const struct pawl__pg_pick *left = a, *right = b;
    return memcmp(left->id.b, right->id.b, sizeof left->id.b);
}

static struct pawl__pg_pick *find_pick(const struct scan *scan, struct pawl_job_id id)
{
    const struct pawl__pg_pick key = { .id = id };
    return bsearch(&key, scan->ready.picks, scan->ready.pick_count, sizeof key, compare_picks);
}

/* An id can be listed twice: all of its kind lie side by side. */
static void settle(struct scan *scan, struct pawl_job_id id)
{
    struct pawl__pg_pick *end = scan->ready.picks + scan->ready.pick_count;
    struct pawl__pg_pick *at = find_pick(scan, id);
    assert(at);
    while (at > scan->ready.picks && memcmp(at[-1].id.b, id.b, sizeof id.b) == 0) {
        at--;
    }
    for (; at < end && memcmp(at->id.b, id.b, sizeof id.b) == 0; at++) {
        at->settled = true;
    }
}

/* Rows of an answer, in the order in which the claimer shall have them. */
struct turn {
    struct pawl__claim_order order;
    const struct pawl__pg_pick *pick;
    int at;
};

static int compare_turns(const void *a, const void *b)
{
    return pawl__claim_compare(&((const struct turn *)a)->order, &((const struct turn *)b)->order);
}

static enum pawl_err sort_rows(struct scan *scan, const PGresult *rows, int rank, int id,
                               struct turn **out)
{
    size_t count = (size_t)PQntuples(rows);
    *out = pawl__arena_alloc(&scan->pg->arena, (count + 1) * sizeof **out);
    if (!*out) return pawl__fail_nomem(scan->pg->set.diag);
    for (size_t i = 0; i < count; i++) {
        const struct pawl__pg_pick *pick = find_pick(scan, pawl__pg_id(rows, (int)i, id));
        (*out)[i] = (struct turn){ .order = { .rank = pawl__pg_int(rows, (int)i, rank),
                                              .seat = pick->seat },
                                   .pick = pick,
                                   .at = (int)i };
    }
    qsort(*out, count, sizeof **out, compare_turns);
    return PAWL_OK;
}

/* ---- plain jobs ---- */

static enum pawl_err give_row(struct scan *scan, const PGresult *rows, const struct turn *turn)
{
    struct pawl__backend *pg = scan->pg;
    struct pawl_job facts;
    if (pawl__pg_read_facts(rows, turn->at, TAKE_FACTS, &scan->claim->op->arena, &facts)) {
        return pawl__fail_nomem(pg->set.diag);
    }
    const struct pawl__claim_stand stand = {
        .order = turn->order,
        .run = pawl__pg_int(rows, turn->at, TAKE_RUN),
        .base_run = pawl__pg_int(rows, turn->at, TAKE_BASE),
        .free_runs = pawl__pg_int(rows, turn->at, TAKE_FREE),
        .lease_until_ms = pawl__pg_int(rows, turn->at, TAKE_LEASE_UNTIL),
        .args_bytes = pawl__pg_int(rows, turn->at, TAKE_BYTES),
    };
    const struct pawl_job *job =
        pawl__claim_give(scan->claim, turn->pick->cursor->lane, &facts, &stand);
    if (!job) return pawl__fail_nomem(pg->set.diag);
    pawl__pg_roll_lease(pg, job->lease_until_ms, job->worker, job->id);
    settle(scan, job->id);
    return PAWL_OK;
}

static void send_take(struct scan *scan)
{
    struct pawl__pg_conn *conn = &scan->pg->writer;
    const struct pawl__op *op = scan->claim->op;
    bool first = !op->claim.job_count && scan->ready.pick_count == 1;
    bool light = op->claim.bytes_max && !first;
    pawl__pg_call(conn, light ? PG_CLAIM_TAKE_LIGHT : PG_CLAIM_TAKE);
    // the statements number their parameters alike
    pawl__pg_bind(conn, PG_CLAIM_TAKE_now_ms, scan->pg->set.now_ms);
    pawl__pg_bind(conn, PG_CLAIM_TAKE_lease_min, PAWL_LEASE_MIN_MS);
    pawl__pg_bind(conn, PG_CLAIM_TAKE_lease_ms, op->claim.lease_ms);
    pawl__pg_bind_bool(conn, PG_CLAIM_TAKE_timed, op->claim.timed);
    pawl__pg_bind_string(conn, PG_CLAIM_TAKE_worker, scan->claim->worker);
    list_picks(scan, PG_CLAIM_TAKE_ids);
    pawl__pg_bind(conn, PG_CLAIM_TAKE_rank_max, scan->ready.rank_max);
    if (light) {
        pawl__pg_bind(conn, PG_CLAIM_TAKE_LIGHT_bytes_max,
                      op->claim.bytes_max - scan->claim->bytes);
    }
    pawl__pg_bind(conn, light ? (int)PG_CLAIM_TAKE_LIGHT_args_max : (int)PG_CLAIM_TAKE_args_max,
                  op->claim.args_max ? op->claim.args_max : INT64_MAX);
    pawl__pg_send_keep(conn, SLOT_TAKEN);
}
_Static_assert((int)PG_CLAIM_TAKE_now_ms == (int)PG_CLAIM_TAKE_LIGHT_now_ms &&
                   (int)PG_CLAIM_TAKE_lease_min == (int)PG_CLAIM_TAKE_LIGHT_lease_min &&
                   (int)PG_CLAIM_TAKE_lease_ms == (int)PG_CLAIM_TAKE_LIGHT_lease_ms &&
                   (int)PG_CLAIM_TAKE_timed == (int)PG_CLAIM_TAKE_LIGHT_timed &&
                   (int)PG_CLAIM_TAKE_worker == (int)PG_CLAIM_TAKE_LIGHT_worker &&
                   (int)PG_CLAIM_TAKE_ids == (int)PG_CLAIM_TAKE_LIGHT_ids &&
                   (int)PG_CLAIM_TAKE_rank_max == (int)PG_CLAIM_TAKE_LIGHT_rank_max,
               "parameters are numbered alike");

/* With a bound in bytes all of them, or none. */
static enum pawl_err take_plain(struct scan *scan)
{
    send_take(scan);
    enum pawl_err err = pawl__pg_sync(&scan->pg->writer, scan->pg->set.diag);
    if (err) return err;
    const PGresult *rows = scan->pg->writer.kept[SLOT_TAKEN];
    struct turn *turns;
    err = sort_rows(scan, rows, TAKE_RANK, TAKE_FACTS + COL_ID, &turns);
    for (int i = 0; !err && i < PQntuples(rows); i++) {
        err = give_row(scan, rows, &turns[i]);
    }
    return err;
}

/* ---- what is left ---- */

static enum pawl_err hold_left(struct scan *scan, bool *any)
{
    struct pawl__pg_conn *conn = &scan->pg->writer;
    pawl__pg_call(conn, PG_CLAIM_LEFT);
    struct pawl__pg_list *ids = list_picks(scan, PG_CLAIM_LEFT_ids);
    *any = ids->count > 0;
    if (!*any) return PAWL_OK;
    pawl__pg_bind(conn, PG_CLAIM_LEFT_rank_max, scan->ready.rank_max);
    pawl__pg_send_keep(conn, SLOT_LEFT);
    pawl__pg_call(conn, PG_CLAIM_HOLD);
    pawl__pg_list_again(conn, PG_CLAIM_HOLD_ids, ids);
    pawl__pg_bind(conn, PG_CLAIM_HOLD_rank_max, scan->ready.rank_max);
    pawl__pg_bind(conn, PG_CLAIM_HOLD_now_ms, scan->pg->set.now_ms);
    pawl__pg_bind(conn, PG_CLAIM_HOLD_givable, (int64_t)givable(scan));
    pawl__pg_send_keep(conn, SLOT_HELD);
    return pawl__pg_sync(conn, scan->pg->set.diag);
}

/* What is not ours goes back onto the roll: another transaction holds it, which may leave the job
 * as it is, or it is more than can be given. */
static enum pawl_err put_back(struct scan *scan, const PGresult *left, const PGresult *held)
{
    struct pawl_job_id *ours;
    enum pawl_err err = pawl__pg_ids_sorted(scan->pg, held, &ours);
    for (int i = 0; !err && i < PQntuples(left); i++) {
        struct pawl_job_id id = pawl__pg_id(left, i, 0);
        if (pawl__pg_ids_have(ours, (size_t)PQntuples(held), id)) continue;
        const struct pawl__pg_pick *pick = find_pick(scan, id);
        uint32_t lane = pick->cursor->lane->at;
        scan->claim->passed_over = true;
        pawl__pg_roll_ready(
            scan->pg, &(struct pawl__pg_waiting){ .lane = scan->pg->set.catalog.lanes[lane]->id,
                                                  .rank = pawl__pg_int(left, i, 1),
                                                  .id = pick->id,
                                                  .arrival = pick->seat });
    }
    return err;
}

/* Those that are ours now are what the scan finds; set_store.c lists them again if they stay. */
static enum pawl_err find_held(struct scan *scan, const PGresult *held)
{
    struct turn *turns;
    enum pawl_err err = sort_rows(scan, held, HELD_RANK, HELD_ID, &turns);
    for (int i = 0; !err && i < PQntuples(held); i++) {
        size_t before = pawl__claim_count(scan->claim);
        pawl__claim_found(scan->claim, turns[i].pick->id,
                          pawl__pg_int(held, turns[i].at, HELD_BYTES));
        bool expired = pawl__pg_bool(held, turns[i].at, HELD_EXPIRED);
        // it may be listed twice
        scan->expired += expired ? pawl__claim_count(scan->claim) - before : 0;
        struct pawl__row *row = pawl__set_find(scan->claim->set, turns[i].pick->id);
        if (row) row->own.b[PAWL__PG_OFF_ROLL] = true;
    }
    // the core chooses by size, in order: nothing that comes behind these may be taken before
    if (scan->claim->op->claim.bytes_max && PQntuples(held)) scan->takes = false;
    return err;
}

/* Most of what is left has moved on since it was listed. */
static enum pawl_err look_at_left(struct scan *scan)
{
    PGresult **kept = scan->pg->writer.kept;
    bool any;
    enum pawl_err err = hold_left(scan, &any);
    if (err || !any) return err;
    err = put_back(scan, kept[SLOT_LEFT], kept[SLOT_HELD]);
    return err ? err : find_held(scan, kept[SLOT_HELD]);
}

/* ---- together ---- */

/* How many to pick next: as many as can be given, and the expired ones before them. */
static enum pawl_err look_ahead(struct scan *scan, size_t *picks)
{
    size_t wanted = pawl__claim_room(scan->claim);
    *picks = givable(scan);
    if (wanted == *picks) return PAWL_OK;
    return pawl__pg_ready_ahead(&scan->ready, wanted, *picks, picks);
}

static enum pawl_err pick(struct scan *scan, bool *more)
{
    struct pawl__pg_ready *ready = &scan->ready;
    size_t picks;
    enum pawl_err err = look_ahead(scan, &picks);
    if (!err) err = pawl__pg_ready_pick(ready, picks, more);
    if (!err) qsort(ready->picks, ready->pick_count, sizeof *ready->picks, compare_picks);
    return err;
}

static enum pawl_err scan_lanes(void *ctx, struct pawl__claim_lane *lanes, size_t count)
{
    struct scan *scan = ctx;
    struct pawl__pg_ready *ready = &scan->ready;
    bool more = true;
    if (!givable(scan)) return PAWL_OK;
    enum pawl_err err = pawl__pg_ready_open(ready, lanes, count);
    while (!err && more && givable(scan)) {
        err = pick(scan, &more);
        if (err || !ready->pick_count) break;
        if (scan->takes) err = take_plain(scan);
        if (!err) err = look_at_left(scan);
    }
    if (!err) pawl__pg_ready_strike(ready);
    return err;
}

/* Rows of the roll that are left were locked by another claim, which may give back a part of what
 * is on them. This one does not wait for locks: their owner may be suspended. */
static enum pawl_err look_for_more(struct scan *scan)
{
    bool any = false;
    enum pawl_err err = !givable(scan) ? PAWL_OK : pawl__pg_ready_any(scan->pg, scan->claim, &any);
    scan->claim->passed_over |= any;
    return err;
}

static enum pawl_err run_scan(struct scan *scan)
{
    scan->ready.pg = scan->pg;
    enum pawl_err err = pawl__pg_rolls_flush(scan->pg);
    if (!err) err = pawl__claim_scan(scan->claim, scan_lanes, scan);
    if (!err) err = look_for_more(scan);
    pawl__pg_ready_release(&scan->ready);
    return err;
}

enum pawl_err pawl__pg_claim_plain(struct pawl__backend *pg, struct pawl__claim *claim)
{
    return run_scan(&(struct scan){ .pg = pg, .claim = claim, .takes = true });
}

enum pawl_err pawl__pg_scan_ready(struct pawl__backend *pg, struct pawl__claim *claim)
{
    return run_scan(&(struct scan){ .pg = pg, .claim = claim });
}
