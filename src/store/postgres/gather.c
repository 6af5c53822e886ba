/* Doing many of the same at once. Submits and completions of one transaction are gathered in arrays
 * and written by one statement.
 *
 * 1. Order is kept as far as anybody can see: whatever reads a table flushes first what was
 *    gathered for it, so an operation finds what those before it did.
 * 2. What cannot go with the others (a taken id, a held key, a lost run) is done by itself, the
 *    long way.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SLOT_JOBS, SLOT_ARCHIVED, SLOT_ENDS };

enum { ALIKE_MAX = 8 }; /* kinds of new jobs that are written each by itself */

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

/* ---- new jobs ---- */

/* Lists of gather->lists, one for each column. */
enum { L_ID, L_LANE, L_RANK, L_STATE, L_ARRIVAL, L_KEYS, L_FACTS };
_Static_assert(L_FACTS + PAWL__JOB_FACTS_COUNT == PAWL__PG_LISTS, "a list for each column");

/* The parameters that take the facts. */
enum { PG_GATHERED_JOBS_created_at_ms = 0 }; // is none: it is now_ms for all
#define X(member, column, ...) PG_GATHERED_JOBS_##column,
static const int fact_params[] = { PAWL__JOB_FACTS(X) };
#undef X

static void begin_lists(struct pawl__pg_gather *gather)
{
    static const enum pawl__pg_kind own[L_FACTS] = {
        [L_ID] = PAWL__PG_IDS, [L_ARRIVAL] = PAWL__PG_IDS, [L_KEYS] = PAWL__PG_BYTES
    };
    for (int i = 0; i < L_FACTS; i++) {
        pawl__pg_list_begin(&gather->lists[i], own[i]);
    }
    for (int i = 0; i < PAWL__JOB_FACTS_COUNT; i++) {
        pawl__pg_list_begin(&gather->lists[L_FACTS + i],
                            pawl__pg_list_kind(pawl__new_facts[i].kind));
    }
}

static bool has_extras(const struct pawl__pg_new_row *row)
{
    return pawl__new_has_extras(row->job, &row->settled);
}

static int fact_count(bool extras)
{
    return extras ? PAWL__JOB_FACTS_COUNT : PAWL__JOB_HEAD_COUNT;
}

static void list_row(struct pawl__pg_list *lists, const struct pawl__pg_new_row *row, bool extras)
{
    pawl__pg_list_add_id(&lists[L_ID], row->job->id);
    pawl__pg_list_add(&lists[L_LANE], row->lane_id);
    pawl__pg_list_add(&lists[L_RANK], row->settled.rank);
    pawl__pg_list_add(&lists[L_STATE], row->settled.state);
    const struct pawl_job_id *arrival = pawl__pg_arrival_of(row->job);
    pawl__pg_list_add_bytes(&lists[L_ARRIVAL], arrival, arrival ? sizeof *arrival : 0);
    if (extras) {
        uint8_t keys[PAWL__KEYS_MAX * PAWL__KEY_RECORD_BYTES];
        pawl__pg_list_add_bytes(&lists[L_KEYS], keys, pawl__pg_pack_keys(row->job, keys));
    }
    for (int i = 0; i < fact_count(extras); i++) {
        const struct pawl__new_field *field = &pawl__new_facts[i];
        if (!fact_params[i]) continue;
        pawl__pg_list_offer(&lists[L_FACTS + i], field->kind,
                            pawl__new_value(field, row->job, &row->settled));
    }
}

static enum pawl_err gather_submit(struct pawl__backend *pg, struct pawl__op *op, bool *taken)
{
    struct pawl__pg_gather *gather = &pg->gather;
    size_t count = op->submit.count;
    if (!reserve((void **)&gather->news, &gather->new_cap, gather->new_count, count,
                 sizeof *gather->news) ||
        !reserve((void **)&gather->submits, &gather->submit_cap, gather->submit_count, 1,
                 sizeof *gather->submits)) {
        return pawl__fail_nomem(pg->diag);
    }
    for (size_t i = 0; i < count; i++) {
        const struct pawl__new_job *job = &op->submit.jobs[i];
        const struct pawl__lane *lane =
            pawl__catalog_lane(&pg->catalog, job->spec->queue, job->spec->type);
        if (!lane) return PAWL_OK; // the long way says why
        gather->news[gather->new_count + i] = (struct pawl__pg_new_row){
            .job = job,
            .lane_id = lane->id,
            .lane = lane->at,
            .settled =
                pawl__settle(job->spec, &(struct pawl__settling){ pg->now_ms, pg->boost_ms, 0 }),
        };
    }
    *taken = true;
    for (size_t i = 0; i < count; i++) {
        gather->keyed |= op->submit.jobs[i].key_count > 0;
    }
    gather->new_count += count;
    gather->submits[gather->submit_count++] = op;
    return PAWL_OK;
}

static enum pawl_err submit_singly(struct pawl__backend *pg, struct pawl__op **ops, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ops[i]->err = pawl__pg_op_submit(pg, ops[i]);
        if (ops[i]->err && !pawl__pg_is_own(ops[i]->err)) return ops[i]->err;
    }
    return PAWL_OK;
}

struct held_digest {
    uint8_t digest[16];
    bool held; /* by an earlier job; else it is a newcomer's */
};

static int compare_digests(const void *a, const void *b)
{
    return memcmp(((const struct held_digest *)a)->digest, ((const struct held_digest *)b)->digest,
                  16);
}

static size_t count_digests(const struct pawl__pg_gather *gather)
{
    size_t count = 0;
    for (size_t i = 0; i < gather->new_count; i++) {
        count += gather->news[i].job->key_count;
    }
    return count;
}

/* The digests that stand in a newcomer's way: held, or brought by two of them; sorted. */
static enum pawl_err list_conflicts(struct pawl__backend *pg, struct held_digest **out,
                                    size_t *count)
{
    struct pawl__pg_gather *gather = &pg->gather;
    size_t digests = count_digests(gather), n = 0;
    *count = 0;
    if (!digests) return PAWL_OK;
    struct pawl__pg_list *list = &gather->lists[0];
    pawl__pg_list_begin(list, PAWL__PG_BYTES);
    struct held_digest *all = pawl__arena_calloc(&pg->arena, 2 * digests, sizeof *all);
    if (!all) return pawl__fail_nomem(pg->diag);
    for (size_t i = 0; i < gather->new_count; i++) {
        const struct pawl__new_job *job = gather->news[i].job;
        for (size_t k = 0; k < job->key_count; k++) {
            memcpy(all[n++].digest, job->keys[k].digest, 16);
            pawl__pg_list_add_bytes(list, job->keys[k].digest, 16);
        }
    }
    pawl__pg_call(&pg->writer, PG_KEY_HELD);
    pawl__pg_bind_list(&pg->writer, PG_KEY_HELD_digests, list);
    PGresult *rows;
    enum pawl_err err = pawl__pg_ask(&pg->writer, &rows, pg->diag);
    if (err) return err;
    for (int i = 0; i < PQntuples(rows); i++) {
        assert(n < 2 * digests);
        memcpy(all[n].digest, pawl__pg_raw(rows, i, 0).at, 16);
        all[n++].held = true;
    }
    qsort(all, n, sizeof *all, compare_digests);
    for (size_t i = 1; i < n; i++) { // a held one lies beside the newcomer's
        if (compare_digests(&all[i - 1], &all[i]) == 0) all[(*count)++] = all[i];
    }
    *out = all;
    return PAWL_OK;
}

static bool meets_conflict(const struct pawl__op *op, const struct held_digest *list, size_t count)
{
    for (size_t i = 0; i < op->submit.count; i++) {
        const struct pawl__new_job *job = &op->submit.jobs[i];
        for (size_t k = 0; k < job->key_count; k++) {
            struct held_digest key = { .held = false };
            memcpy(key.digest, job->keys[k].digest, 16);
            if (bsearch(&key, list, count, sizeof key, compare_digests)) return true;
        }
    }
    return false;
}

/* Operations whose keys must be asked about one by one leave the others. */
static enum pawl_err part_conflicts(struct pawl__backend *pg, struct pawl__op ***late,
                                    size_t *late_count)
{
    struct pawl__pg_gather *gather = &pg->gather;
    struct held_digest *list;
    size_t count;
    *late_count = 0;
    enum pawl_err err = list_conflicts(pg, &list, &count);
    if (err || !count) return err;
    *late = pawl__arena_calloc(&pg->arena, gather->submit_count, sizeof **late);
    if (!*late) return pawl__fail_nomem(pg->diag);
    size_t ops = 0, jobs = 0, from = 0;
    for (size_t i = 0; i < gather->submit_count; i++) {
        struct pawl__op *op = gather->submits[i];
        size_t n = op->submit.count;
        if (meets_conflict(op, list, count)) {
            (*late)[(*late_count)++] = op;
        } else {
            gather->submits[ops++] = op;
            memmove(&gather->news[jobs], &gather->news[from], n * sizeof *gather->news);
            jobs += n;
        }
        from += n;
    }
    gather->submit_count = ops;
    gather->new_count = jobs;
    return PAWL_OK;
}

static void send_jobs(struct pawl__backend *pg, bool extras)
{
    struct pawl__pg_conn *conn = &pg->writer;
    struct pawl__pg_list *lists = pg->gather.lists;
    pawl__pg_call(conn, extras ? PG_GATHERED_JOBS : PG_GATHERED_JOBS_PLAIN);
    // the statements number their parameters alike
    pawl__pg_bind(conn, PG_GATHERED_JOBS_now_ms, pg->now_ms);
    for (int i = L_ID; i <= L_ARRIVAL; i++) {
        pawl__pg_bind_list(conn, PG_GATHERED_JOBS_ids + i, &lists[i]);
    }
    for (int i = 0; i < fact_count(extras); i++) {
        if (fact_params[i]) pawl__pg_bind_list(conn, fact_params[i], &lists[L_FACTS + i]);
    }
    if (extras) pawl__pg_bind_list(conn, PG_GATHERED_JOBS_keys, &lists[L_KEYS]);
    pawl__pg_send_keep(conn, SLOT_JOBS);
    pawl__pg_call(conn, PG_ARCHIVE_HAS);
    pawl__pg_bind_list(conn, PG_ARCHIVE_HAS_ids, &lists[L_ID]);
    pawl__pg_send_keep(conn, SLOT_ARCHIVED);
}
enum { PG_GATHERED_JOBS_PLAIN_created_at_ms = 0 };
#define X(member, column, ...)                                                                     \
    _Static_assert((int)PG_GATHERED_JOBS_PLAIN_##column == (int)PG_GATHERED_JOBS_##column,         \
                   "parameters are numbered alike");
PAWL__JOB_HEAD(X)
#undef X
_Static_assert((int)PG_GATHERED_JOBS_PLAIN_now_ms == (int)PG_GATHERED_JOBS_now_ms &&
                   (int)PG_GATHERED_JOBS_PLAIN_ids == (int)PG_GATHERED_JOBS_ids &&
                   PG_GATHERED_JOBS_arrivals - PG_GATHERED_JOBS_ids == L_ARRIVAL,
               "parameters are numbered as the lists are");

/* Take back exactly what was written. */
static void delete_jobs(struct pawl__backend *pg)
{
    const PGresult *rows = pg->writer.kept[SLOT_JOBS];
    struct pawl__pg_list *list = &pg->gather.lists[0];
    pawl__pg_list_begin(list, PAWL__PG_IDS);
    for (int i = 0; i < PQntuples(rows); i++) {
        pawl__pg_list_add_id(list, pawl__pg_id(rows, i, 0));
    }
    pawl__pg_call(&pg->writer, PG_JOB_DELETE);
    pawl__pg_bind_list(&pg->writer, PG_JOB_DELETE_ids, list);
    pawl__pg_send_exact(&pg->writer, list->count);
}

static void send_tags(struct pawl__backend *pg)
{
    struct pawl__pg_gather *gather = &pg->gather;
    struct pawl__pg_list *ids = &gather->lists[0], *tags = &gather->lists[1];
    pawl__pg_list_begin(ids, PAWL__PG_IDS);
    pawl__pg_list_begin(tags, PAWL__PG_TEXTS);
    for (size_t i = 0; i < gather->new_count; i++) {
        const struct pawl__new_job *job = gather->news[i].job;
        if (!job->tags.len) continue;
        pawl__pg_list_add_id(ids, job->id);
        pawl__pg_list_add_span(tags, job->tags);
    }
    if (!ids->count) return;
    pawl__pg_call(&pg->writer, PG_TAG_INSERT);
    pawl__pg_bind_list(&pg->writer, PG_TAG_INSERT_ids, ids);
    pawl__pg_bind_list(&pg->writer, PG_TAG_INSERT_tags, tags);
    pawl__pg_send(&pg->writer);
}

static void send_keys(struct pawl__backend *pg)
{
    struct pawl__pg_gather *gather = &pg->gather;
    struct pawl__pg_list *digests = &gather->lists[0], *ids = &gather->lists[1],
                         *untils = &gather->lists[2];
    pawl__pg_list_begin(digests, PAWL__PG_BYTES);
    pawl__pg_list_begin(ids, PAWL__PG_IDS);
    pawl__pg_list_begin(untils, PAWL__PG_INTS);
    for (size_t i = 0; i < gather->new_count; i++) {
        const struct pawl__new_job *job = gather->news[i].job;
        for (size_t k = 0; k < job->key_count; k++) {
            pawl__pg_list_add_bytes(digests, job->keys[k].digest, 16);
            pawl__pg_list_add_id(ids, job->id);
            pawl__pg_list_add_some(untils, pawl__pg_key_until(pg, &job->keys[k]));
        }
    }
    if (!ids->count) return;
    pawl__pg_call(&pg->writer, PG_GATHERED_KEYS);
    pawl__pg_bind_list(&pg->writer, PG_GATHERED_KEYS_digests, digests);
    pawl__pg_bind_list(&pg->writer, PG_GATHERED_KEYS_ids, ids);
    pawl__pg_bind_list(&pg->writer, PG_GATHERED_KEYS_untils, untils);
    pawl__pg_send(&pg->writer);
}

static void accept_jobs(struct pawl__backend *pg)
{
    const struct pawl__pg_new_row *row = pg->gather.news;
    for (size_t i = 0; i < pg->gather.submit_count; i++) {
        struct pawl__op *op = pg->gather.submits[i];
        for (size_t j = 0; j < op->submit.count; j++, row++) {
            op->submit.out[j] =
                (struct pawl_submitted){ .id = row->job->id, .state = row->settled.state };
            pawl__pg_moved(pg, pg->catalog.lanes[row->lane], row->job->id, 0, PAWL__OUTSIDE,
                           row->settled.state);
            if (row->settled.state == PAWL_STATE_SCHEDULED) {
                pawl__pg_tale_due(pg, row->settled.due_at_ms);
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

static bool are_alike(const struct pawl__pg_new_row *a, const struct pawl__pg_new_row *b)
{
    return a->lane == b->lane && a->settled.state == b->settled.state &&
           a->settled.due_at_ms == b->settled.due_at_ms && a->settled.rank == b->settled.rank &&
           a->job->spec->priority == b->job->spec->priority &&
           a->job->spec->retry.attempts_max == b->job->spec->retry.attempts_max;
}

/* Number the rows by what they have in common. False: they have too little, or one needs care. */
static bool sort_alike(struct pawl__backend *pg, size_t *kinds)
{
    struct pawl__pg_gather *gather = &pg->gather;
    const struct pawl__pg_new_row *first[ALIKE_MAX];
    *kinds = 0;
    for (size_t i = 0; i < gather->new_count; i++) {
        struct pawl__pg_new_row *row = &gather->news[i];
        if (!row->job->fresh_id || has_extras(row)) return false;
        size_t kind = 0;
        while (kind < *kinds && !are_alike(first[kind], row)) {
            kind++;
        }
        if (kind == ALIKE_MAX) return false;
        if (kind == *kinds) first[(*kinds)++] = row;
        row->alike = (uint8_t)kind;
    }
    return true;
}

/* Needs no answer: all are written, or the transaction fails. */
static void send_alike(struct pawl__backend *pg, size_t kind)
{
    struct pawl__pg_conn *conn = &pg->writer;
    struct pawl__pg_list *ids = &pg->gather.lists[0], *args = &pg->gather.lists[1];
    const struct pawl__pg_new_row *one = NULL;
    pawl__pg_list_begin(ids, PAWL__PG_IDS);
    pawl__pg_list_begin(args, PAWL__PG_TEXTS);
    for (size_t i = 0; i < pg->gather.new_count; i++) {
        const struct pawl__pg_new_row *row = &pg->gather.news[i];
        if (row->alike != kind) continue;
        one = row;
        pawl__pg_list_add_id(ids, row->job->id);
        pawl__pg_list_offer(args, PAWL__KIND_ARGS, &row->job->spec->args);
    }
    assert(one); // no kind is without a row
    pawl__pg_call(conn, PG_GATHERED_JOBS_ALIKE);
    pawl__pg_bind(conn, PG_GATHERED_JOBS_ALIKE_lane, one->lane_id);
    pawl__pg_bind(conn, PG_GATHERED_JOBS_ALIKE_priority, one->job->spec->priority);
    pawl__pg_bind(conn, PG_GATHERED_JOBS_ALIKE_attempts_max, one->job->spec->retry.attempts_max);
    pawl__pg_bind(conn, PG_GATHERED_JOBS_ALIKE_now_ms, pg->now_ms);
    pawl__pg_bind(conn, PG_GATHERED_JOBS_ALIKE_due_at_ms, one->settled.due_at_ms);
    pawl__pg_bind(conn, PG_GATHERED_JOBS_ALIKE_rank, one->settled.rank);
    pawl__pg_bind(conn, PG_GATHERED_JOBS_ALIKE_state, one->settled.state);
    pawl__pg_bind_bool(conn, PG_GATHERED_JOBS_ALIKE_waits,
                       one->settled.state == PAWL_STATE_SCHEDULED);
    pawl__pg_bind_bool(conn, PG_GATHERED_JOBS_ALIKE_held, one->settled.state == PAWL_STATE_PENDING);
    pawl__pg_bind_list(conn, PG_GATHERED_JOBS_ALIKE_ids, ids);
    pawl__pg_bind_list(conn, PG_GATHERED_JOBS_ALIKE_args, args);
    pawl__pg_send(conn);
}

static enum pawl_err insert_gathered(struct pawl__backend *pg, bool *all)
{
    struct pawl__pg_gather *gather = &pg->gather;
    bool extras = false;
    size_t kinds;
    *all = true;
    if (!pg->careful && sort_alike(pg, &kinds)) {
        for (size_t i = 0; i < kinds; i++) {
            send_alike(pg, i);
        }
        return PAWL_OK;
    }
    for (size_t i = 0; i < gather->new_count; i++) {
        extras |= has_extras(&gather->news[i]);
    }
    begin_lists(gather);
    for (size_t i = 0; i < gather->new_count; i++) {
        list_row(gather->lists, &gather->news[i], extras);
    }
    send_jobs(pg, extras);
    struct pawl__pg_conn *conn = &pg->writer;
    enum pawl_err err = pawl__pg_sync(conn, pg->diag);
    if (err) return err;
    *all = (size_t)PQntuples(conn->kept[SLOT_JOBS]) == gather->new_count &&
           !PQntuples(conn->kept[SLOT_ARCHIVED]);
    if (*all) {
        if (extras) send_tags(pg);
        if (extras) send_keys(pg);
        return PAWL_OK;
    }
    delete_jobs(pg);
    return PAWL_OK;
}

enum pawl_err pawl__pg_gather_flush_jobs(struct pawl__backend *pg)
{
    struct pawl__pg_gather *gather = &pg->gather;
    if (!gather->new_count) return PAWL_OK;
    struct pawl__op **late = NULL;
    size_t late_count;
    bool all = true;
    enum pawl_err err = part_conflicts(pg, &late, &late_count);
    if (!err && gather->new_count) err = insert_gathered(pg, &all);
    if (err) return err;
    if (all) accept_jobs(pg);
    if (!all) err = submit_singly(pg, gather->submits, gather->submit_count);
    gather->submit_count = gather->new_count = 0;
    gather->keyed = false;
    return err ? err : submit_singly(pg, late, late_count);
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
    enum pawl_err err = pawl__pg_gather_flush_jobs(pg);
    return err ? err : flush_ends(pg);
}

void pawl__pg_gather_reset(struct pawl__backend *pg)
{
    struct pawl__pg_gather *gather = &pg->gather;
    gather->submit_count = gather->new_count = gather->ended_count = 0;
    gather->keyed = false;
}

void pawl__pg_gather_release(struct pawl__pg_gather *gather)
{
    free(gather->submits);
    free(gather->news);
    free(gather->ended);
    for (int i = 0; i < PAWL__PG_LISTS; i++) {
        pawl__pg_list_release(&gather->lists[i]);
    }
    memset(gather, 0, sizeof *gather);
}
