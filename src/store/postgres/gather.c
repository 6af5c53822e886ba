/* Doing many of the same at once. Submits and completions of one transaction are gathered in arrays
 * and written by one statement.
 *
 * 1. Order is kept as far as anybody can see: whatever reads a table flushes first what was
 *    gathered for it, so an operation finds what those before it did.
 * 2. What cannot go with the others (a lost run) is decided by the core, before all that is in the
 *    working set.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SLOT_ENDS = 2 };

/* Room for `more` in a growing array; the memory is kept from one transaction to the next. */
static bool reserve(void **array, size_t *cap, size_t count, size_t more, size_t bytes)
{
    if (count + more <= *cap) return true;
    size_t want = *cap ? *cap * 2 : 1024;
    while (want < count + more) {
        want *= 2;
    }
    void *grown = realloc(*array, want * bytes);
    if (!grown) return false;
    *array = grown;
    *cap = want;
    return true;
}

/* ---- new jobs: see new.c ---- */

static enum pawl_err gather_submit(struct pawl__backend *pg, struct pawl__op *op, bool *taken)
{
    struct pawl__pg_gather *gather = &pg->gather;
    size_t count = op->submit.count;
    struct pawl__pg_new_row *rows = pawl__pg_new_reserve(pg, count);
    if (!rows || !reserve((void **)&gather->submits, &gather->submit_cap, gather->submit_count, 1,
                          sizeof *gather->submits)) {
        return pawl__fail_nomem(pg->diag);
    }
    for (size_t i = 0; i < count; i++) {
        const struct pawl__new_job *job = &op->submit.jobs[i];
        const struct pawl__lane *lane =
            pawl__catalog_lane(&pg->catalog, job->spec->queue, job->spec->type);
        if (!lane) return PAWL_OK; // the core says why
        rows[i] = (struct pawl__pg_new_row){
            .job = job,
            .lane_id = lane->id,
            .lane = lane->at,
            .settled =
                pawl__settle(job->spec, &(struct pawl__settling){ pg->now_ms, pg->boost_ms, 0 }),
        };
    }
    *taken = true;
    pg->news.count += count;
    gather->submits[gather->submit_count++] = op;
    return PAWL_OK;
}

static void accept_jobs(struct pawl__backend *pg)
{
    const struct pawl__pg_new_row *row = pg->news.rows;
    for (size_t i = 0; i < pg->gather.submit_count; i++) {
        struct pawl__op *op = pg->gather.submits[i];
        for (size_t j = 0; j < op->submit.count; j++, row++) {
            op->submit.out[j] =
                (struct pawl_submitted){ .id = row->job->id, .state = row->settled.state };
            pawl__pg_moved(pg, pg->catalog.lanes[row->lane], row->job->id, 0, PAWL__OUTSIDE,
                           row->settled.state);
            if (row->settled.state == PAWL_STATE_SCHEDULED) {
                pawl__tale_due(&pg->tale, row->settled.due_at_ms);
            }
            if (row->settled.state == PAWL_STATE_AVAILABLE) {
                pawl__pg_roll_ready(pg, &(struct pawl__pg_waiting){ .lane = row->lane_id,
                                                                    .rank = row->settled.rank,
                                                                    .id = row->job->id,
                                                                    .arrival = row->job->arrival });
            }
        }
    }
}

/* Needs no answer: all are written, or the transaction fails, and is done again with care. */
void pawl__pg_gather_flush_jobs(struct pawl__backend *pg)
{
    if (!pg->news.count) return;
    pawl__pg_new_write(pg);
    accept_jobs(pg);
    pg->gather.submit_count = pg->news.count = 0;
}

/* ---- completions ---- */

static enum pawl_err gather_complete(struct pawl__backend *pg, struct pawl__op *op)
{
    struct pawl__pg_gather *gather = &pg->gather;
    if (!reserve((void **)&gather->ended, &gather->ended_cap, gather->ended_count, 1,
                 sizeof *gather->ended)) {
        return pawl__fail_nomem(pg->diag);
    }
    gather->ended[gather->ended_count++] = op;
    return PAWL_OK;
}

/* A completion, and where it stands among all. */
struct turn {
    struct pawl__op *op;
    size_t at;
};

static int compare_ids(const struct pawl__op *a, const struct pawl__op *b)
{
    return memcmp(a->complete.ref.id.b, b->complete.ref.id.b, sizeof(struct pawl_job_id));
}

static int compare_turns(const void *a, const void *b)
{
    const struct turn *left = a, *right = b;
    int way = compare_ids(left->op, right->op);
    return way ? way : left->at < right->at ? -1 : 1;
}

/* In order of id: two that do this at once lock in one order, and the same pages are met again and
 * again. */
static void sort_ends(struct pawl__pg_gather *gather, struct turn *turns)
{
    for (size_t i = 0; i < gather->ended_count; i++) {
        turns[i] = (struct turn){ gather->ended[i], i };
    }
    qsort(turns, gather->ended_count, sizeof *turns, compare_turns);
    for (size_t i = 0; i < gather->ended_count; i++) {
        gather->ended[i] = turns[i].op;
    }
}

/* Does another before it, in order of id, report the same job? That one goes first. */
static bool is_repeat(const struct pawl__pg_gather *gather, size_t at)
{
    return at > 0 && compare_ids(gather->ended[at], gather->ended[at - 1]) == 0;
}

/* A run without a result, and mostly all are, goes with others of the same number. */
static bool is_plain(const struct pawl__pg_gather *gather, size_t at)
{
    return gather->ended[at]->complete.result.len == 0 && !is_repeat(gather, at);
}

/* Those that go together, in order of id: with the first plain one's run, or all others. */
static size_t pick_ends(const struct pawl__pg_gather *gather, bool plain, struct turn *out)
{
    size_t count = 0;
    int64_t run = -1;
    for (size_t i = 0; i < gather->ended_count; i++) {
        bool fits = is_plain(gather, i);
        if (fits && run < 0) run = gather->ended[i]->complete.ref.run;
        fits &= gather->ended[i]->complete.ref.run == run;
        if (fits == plain) out[count++] = (struct turn){ gather->ended[i], i };
    }
    return count;
}

static enum pawl_err note_end(struct pawl__backend *pg, const struct turn *turn, int64_t lane_id)
{
    const struct pawl_run *ref = &turn->op->complete.ref;
    struct pawl__lane *lane;
    enum pawl_err err = pawl__pg_lane_by_id(pg, lane_id, &lane);
    if (err) return err;
    pawl__pg_moved(pg, lane, ref->id, ref->run, PAWL_STATE_ACTIVE, PAWL_STATE_COMPLETED);
    pawl__pg_roll_ended(pg, PAWL_STATE_COMPLETED, pg->now_ms, ref->id);
    pg->gather.ended[turn->at] = NULL;
    return PAWL_OK;
}

static int find_turn(const void *key, const void *element)
{
    const struct turn *turn = element;
    return memcmp(key, turn->op->complete.ref.id.b, sizeof(struct pawl_job_id));
}

static enum pawl_err end_plain(struct pawl__backend *pg, const struct turn *turns, size_t count)
{
    if (!count) return PAWL_OK;
    struct pawl__pg_list *ids = &pg->gather.lists[0];
    pawl__pg_list_begin(ids, PAWL__PG_IDS);
    for (size_t i = 0; i < count; i++) {
        pawl__pg_list_add_id(ids, turns[i].op->complete.ref.id);
    }
    pawl__pg_call(&pg->writer, PG_GATHERED_DONE_ALIKE);
    pawl__pg_bind_list(&pg->writer, PG_GATHERED_DONE_ALIKE_ids, ids);
    pawl__pg_bind(&pg->writer, PG_GATHERED_DONE_ALIKE_run, turns[0].op->complete.ref.run);
    pawl__pg_bind(&pg->writer, PG_GATHERED_DONE_ALIKE_now_ms, pg->now_ms);
    pawl__pg_send_keep(&pg->writer, SLOT_ENDS);
    enum pawl_err err = pawl__pg_sync(&pg->writer, pg->diag);
    const PGresult *rows = pg->writer.kept[SLOT_ENDS];
    for (int i = 0; !err && i < PQntuples(rows); i++) {
        struct pawl_job_id id = pawl__pg_id(rows, i, 0);
        const struct turn *turn = bsearch(id.b, turns, count, sizeof *turns, find_turn);
        assert(turn);
        err = note_end(pg, turn, pawl__pg_int(rows, i, 1));
    }
    return err;
}

/* The run of a repeat is one that nobody has: it finds nothing, and goes the long way. */
static void send_ends(struct pawl__backend *pg, const struct turn *turns, size_t count)
{
    struct pawl__pg_gather *gather = &pg->gather;
    struct pawl__pg_list *ids = &gather->lists[0], *runs = &gather->lists[1],
                         *results = &gather->lists[2];
    pawl__pg_list_begin(ids, PAWL__PG_IDS);
    pawl__pg_list_begin(runs, PAWL__PG_INTS);
    pawl__pg_list_begin(results, PAWL__PG_TEXTS);
    for (size_t i = 0; i < count; i++) {
        const struct pawl_run *ref = &turns[i].op->complete.ref;
        bool repeat = i > 0 && compare_ids(turns[i].op, turns[i - 1].op) == 0;
        pawl__pg_list_add_id(ids, ref->id);
        pawl__pg_list_add(runs, repeat ? -1 : ref->run);
        pawl__pg_list_add_span(results, turns[i].op->complete.result);
    }
    pawl__pg_call(&pg->writer, PG_GATHERED_DONE);
    pawl__pg_bind_list(&pg->writer, PG_GATHERED_DONE_ids, ids);
    pawl__pg_bind_list(&pg->writer, PG_GATHERED_DONE_runs, runs);
    pawl__pg_bind_list(&pg->writer, PG_GATHERED_DONE_results, results);
    pawl__pg_bind(&pg->writer, PG_GATHERED_DONE_now_ms, pg->now_ms);
    pawl__pg_send_keep(&pg->writer, SLOT_ENDS);
}

static enum pawl_err end_others(struct pawl__backend *pg, const struct turn *turns, size_t count)
{
    if (!count) return PAWL_OK;
    send_ends(pg, turns, count);
    enum pawl_err err = pawl__pg_sync(&pg->writer, pg->diag);
    const PGresult *rows = pg->writer.kept[SLOT_ENDS];
    for (int i = 0; !err && i < PQntuples(rows); i++) {
        size_t at = (size_t)pawl__pg_int(rows, i, 0) - 1;
        assert(at < count && pg->gather.ended[turns[at].at]);
        err = note_end(pg, &turns[at], pawl__pg_int(rows, i, 1));
    }
    return err;
}

/* Those that own no run are decided by the core, before what came behind them: it says why. */
static enum pawl_err complete_singly(struct pawl__backend *pg, struct pawl__op **ops, size_t count)
{
    enum pawl_err err = PAWL_OK;
    size_t before = pg->set.op_count;
    for (size_t i = 0; !err && i < count; i++) {
        if (ops[i]) err = pawl__core_add(&pg->set, ops[i]);
    }
    pawl__core_came_first(&pg->set, pg->set.op_count - before);
    return err;
}

static enum pawl_err flush_ends(struct pawl__backend *pg)
{
    struct pawl__pg_gather *gather = &pg->gather;
    size_t count = gather->ended_count;
    if (!count) return PAWL_OK;
    struct turn *turns = pawl__arena_alloc(&pg->arena, count * sizeof *turns);
    struct turn *others = pawl__arena_alloc(&pg->arena, count * sizeof *others);
    if (!turns || !others) return pawl__fail_nomem(pg->diag);
    sort_ends(gather, turns);
    size_t plain = pick_ends(gather, true, turns), rest = pick_ends(gather, false, others);
    gather->ended_count = 0;
    enum pawl_err err = end_plain(pg, turns, plain);
    if (!err) err = end_others(pg, others, rest);
    return err ? err : complete_singly(pg, gather->ended, count);
}

/* ---- together ---- */

enum pawl_err pawl__pg_gather(struct pawl__backend *pg, struct pawl__op *op, bool *taken)
{
    *taken = false;
    if (op->kind == PAWL__OP_SUBMIT) return gather_submit(pg, op, taken);
    if (op->kind != PAWL__OP_COMPLETE) return PAWL_OK;
    *taken = true;
    return gather_complete(pg, op);
}

enum pawl_err pawl__pg_gather_flush(struct pawl__backend *pg)
{
    pawl__pg_gather_flush_jobs(pg);
    return flush_ends(pg);
}

void pawl__pg_gather_reset(struct pawl__backend *pg)
{
    struct pawl__pg_gather *gather = &pg->gather;
    gather->submit_count = gather->ended_count = 0;
    pg->news.count = 0;
}

void pawl__pg_gather_release(struct pawl__pg_gather *gather)
{
    free(gather->submits);
    free(gather->ended);
    for (int i = 0; i < PAWL__PG_LISTS; i++) {
        pawl__pg_list_release(&gather->lists[i]);
    }
    memset(gather, 0, sizeof *gather);
}
