/* What goes without the working set: plain submits and completions, by one statement for many.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SLOT_ENDS = 2 };

/* ---- new jobs: see new.c ---- */

/* Needs no answer: all are written, or the transaction fails, and is done again with care. */
enum pawl_err pawl__pg_submit_plain(struct pawl__backend *pg, const struct pawl__new *news,
                                    size_t count, bool *taken)
{
    struct pawl__pg_new_row *rows = pawl__arena_alloc(&pg->arena, count * sizeof *rows);
    if (!rows) return pawl__fail_nomem(pg->set.diag);
    *taken = false;
    for (size_t i = 0; i < count; i++) {
        const struct pawl__settled *settled = &news[i].settled;
        int64_t lane_id = pg->set.catalog.lanes[news[i].lane]->id;
        rows[i] = (struct pawl__pg_new_row){
            .job = news[i].job, .lane_id = lane_id, .lane = news[i].lane, .settled = *settled
        };
        if (settled->state != PAWL_STATE_AVAILABLE) continue;
        pawl__pg_roll_ready(pg, &(struct pawl__pg_waiting){ .lane = lane_id,
                                                            .rank = settled->rank,
                                                            .id = news[i].job->id,
                                                            .arrival = news[i].job->arrival });
    }
    pawl__pg_new_write(pg, rows, count);
    return PAWL_OK;
}

/* ---- completions ---- */

/* A completion, and where it stands among all. The id is copied: sorting compares little else. */
struct turn {
    struct pawl_job_id id;
    struct pawl__ending *end;
    size_t at;
};

static const struct pawl_run *ref_of(const struct turn *turn)
{
    return &turn->end->op->complete.ref;
}

static int compare_ids(const struct turn *a, const struct turn *b)
{
    return memcmp(a->id.b, b->id.b, sizeof a->id.b);
}

static int compare_turns(const void *a, const void *b)
{
    const struct turn *left = a, *right = b;
    int way = compare_ids(left, right);
    return way ? way : left->at < right->at ? -1 : 1;
}

/* Does another before it, in order of id, report the same job? That one goes first. */
static bool is_repeat(const struct turn *turns, size_t at)
{
    return at > 0 && compare_ids(&turns[at], &turns[at - 1]) == 0;
}

/* A run without a result, and mostly all are, goes with others of the same number. */
static bool is_plain(const struct turn *turns, size_t at)
{
    return turns[at].end->op->complete.result.len == 0 && !is_repeat(turns, at);
}

/* Those that go together, in order of id: with the first plain one's run, or all others. */
static size_t pick_ends(const struct turn *turns, size_t count, bool plain, struct turn *out)
{
    size_t picked = 0;
    int64_t run = -1;
    for (size_t i = 0; i < count; i++) {
        bool fits = is_plain(turns, i);
        if (fits && run < 0) run = ref_of(&turns[i])->run;
        fits &= ref_of(&turns[i])->run == run;
        if (fits == plain) out[picked++] = turns[i];
    }
    return picked;
}

static enum pawl_err note_end(struct pawl__backend *pg, const struct turn *turn, int64_t lane_id)
{
    struct pawl__lane *lane;
    enum pawl_err err = pawl__sql_lane_by_id(pg, lane_id, &lane);
    if (err) return err;
    assert(!turn->end->done);
    turn->end->done = true;
    turn->end->lane = lane->at;
    pawl__pg_roll_ended(pg, PAWL_STATE_COMPLETED, pg->set.now_ms, ref_of(turn)->id);
    return PAWL_OK;
}

static int find_turn(const void *key, const void *element)
{
    const struct turn *turn = element;
    return memcmp(key, turn->id.b, sizeof turn->id.b);
}

static enum pawl_err end_plain(struct pawl__backend *pg, const struct turn *turns, size_t count)
{
    if (!count) return PAWL_OK;
    pawl__pg_call(&pg->writer, PG_GATHERED_DONE_ALIKE);
    pawl__pg_bind(&pg->writer, PG_GATHERED_DONE_ALIKE_run, ref_of(&turns[0])->run);
    pawl__pg_bind(&pg->writer, PG_GATHERED_DONE_ALIKE_now_ms, pg->set.now_ms);
    struct pawl__pg_list *ids =
        pawl__pg_list(&pg->writer, PG_GATHERED_DONE_ALIKE_ids, PAWL__PG_IDS);
    for (size_t i = 0; i < count; i++) {
        pawl__pg_list_add_id(ids, ref_of(&turns[i])->id);
    }
    pawl__pg_send_keep(&pg->writer, SLOT_ENDS);
    enum pawl_err err = pawl__pg_sync(&pg->writer, pg->set.diag);
    const PGresult *rows = pg->writer.kept[SLOT_ENDS];
    const struct turn *next = turns, *end = turns + count;
    for (int i = 0; !err && i < PQntuples(rows); i++) {
        struct pawl_job_id id = pawl__pg_id(rows, i, 0);
        // mostly all were done, and are answered in the order in which they were sent
        if (next == end || find_turn(id.b, next) != 0) {
            next = bsearch(id.b, turns, count, sizeof *turns, find_turn);
        }
        assert(next);
        err = note_end(pg, next++, pawl__pg_int(rows, i, 1));
    }
    return err;
}

/* The run of a repeat is one that nobody has: it finds nothing, and goes the long way. */
static void send_ends(struct pawl__backend *pg, const struct turn *turns, size_t count)
{
    struct pawl__pg_conn *conn = &pg->writer;
    pawl__pg_call(conn, PG_GATHERED_DONE);
    pawl__pg_bind(conn, PG_GATHERED_DONE_now_ms, pg->set.now_ms);
    struct pawl__pg_list *ids = pawl__pg_list(conn, PG_GATHERED_DONE_ids, PAWL__PG_IDS);
    struct pawl__pg_list *runs = pawl__pg_list(conn, PG_GATHERED_DONE_runs, PAWL__PG_INTS);
    struct pawl__pg_list *results = pawl__pg_list(conn, PG_GATHERED_DONE_results, PAWL__PG_TEXTS);
    for (size_t i = 0; i < count; i++) {
        const struct pawl_run *ref = ref_of(&turns[i]);
        bool repeat = is_repeat(turns, i);
        pawl__pg_list_add_id(ids, ref->id);
        pawl__pg_list_add(runs, repeat ? -1 : ref->run);
        pawl__pg_list_add_span(results, turns[i].end->op->complete.result);
    }
    pawl__pg_send_keep(conn, SLOT_ENDS);
}

static enum pawl_err end_others(struct pawl__backend *pg, const struct turn *turns, size_t count)
{
    if (!count) return PAWL_OK;
    send_ends(pg, turns, count);
    enum pawl_err err = pawl__pg_sync(&pg->writer, pg->set.diag);
    const PGresult *rows = pg->writer.kept[SLOT_ENDS];
    for (int i = 0; !err && i < PQntuples(rows); i++) {
        size_t at = (size_t)pawl__pg_int(rows, i, 0) - 1;
        assert(at < count);
        err = note_end(pg, &turns[at], pawl__pg_int(rows, i, 1));
    }
    return err;
}

/* In order of id: two that do this at once lock in one order, and the same pages are met again and
 * again. */
enum pawl_err pawl__pg_finish_plain(struct pawl__backend *pg, struct pawl__ending *ends,
                                    size_t count)
{
    struct turn *all = pawl__arena_alloc(&pg->arena, count * sizeof *all);
    struct turn *some = pawl__arena_alloc(&pg->arena, count * sizeof *some);
    if (!all || !some) return pawl__fail_nomem(pg->set.diag);
    for (size_t i = 0; i < count; i++) {
        all[i] = (struct turn){ ends[i].op->complete.ref.id, &ends[i], i };
    }
    qsort(all, count, sizeof *all, compare_turns);
    enum pawl_err err = end_plain(pg, some, pick_ends(all, count, true, some));
    return err ? err : end_others(pg, some, pick_ends(all, count, false, some));
}
