/* New jobs: their rows of pawl_job and their tags, by one statement for many. Plain ones come from
 * plain.c, the others are rows of the working set.
 *
 * Runs on: the session's thread, inside a transaction. */
#include "store/postgres/postgres.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SLOT_ARCHIVED = 0 };

enum { ALIKE_MAX = 8 }; /* kinds of new jobs that are written each by itself */

/* Those that are written together. */
struct news {
    struct pawl__pg_new_row *rows;
    size_t count;
};

/* ---- of any kind ---- */

/* A list for each column. */
enum { L_ID, L_LANE, L_RANK, L_STATE, L_ARRIVAL, L_KEYS, L_FACTS };
enum { LISTS = L_FACTS + PAWL__JOB_FACTS_COUNT };
_Static_assert((int)LISTS <= (int)PAWL__PG_LISTS_MAX, "a list for each column");

/* The parameters that take them, which both statements number alike. */
enum { PG_NEW_JOBS_created_at_ms = 0 }; // is none: it is now_ms for all
#define X(member, column, ...) PG_NEW_JOBS_##column,
static const int params[LISTS] = { PG_NEW_JOBS_ids,    PG_NEW_JOBS_lanes,    PG_NEW_JOBS_ranks,
                                   PG_NEW_JOBS_states, PG_NEW_JOBS_arrivals, PG_NEW_JOBS_keys,
                                   PAWL__JOB_FACTS(X) };
#undef X

static bool has_extras(const struct pawl__pg_new_row *row)
{
    return pawl__new_has_extras(row->job, &row->settled);
}

static int fact_count(bool extras)
{
    return extras ? PAWL__JOB_FACTS_COUNT : PAWL__JOB_HEAD_COUNT;
}

/* What pawl_job.arrival is to be; NULL: the id says it. */
static const struct pawl_job_id *arrival_of(const struct pawl__new_job *job)
{
    static const struct pawl_job_id none;
    bool own = memcmp(&job->arrival, &none, sizeof none) == 0 ||
               memcmp(&job->arrival, &job->id, sizeof job->id) == 0;
    return own ? NULL : &job->arrival;
}

static enum pawl__pg_kind kind_of(int list)
{
    static const enum pawl__pg_kind own[L_FACTS] = {
        [L_ID] = PAWL__PG_IDS, [L_ARRIVAL] = PAWL__PG_IDS, [L_KEYS] = PAWL__PG_BYTES
    };
    return list < L_FACTS ? own[list] : pawl__pg_list_kind(pawl__new_facts[list - L_FACTS].kind);
}

static void begin_lists(struct pawl__pg_conn *conn, bool extras, struct pawl__pg_list *lists[LISTS])
{
    for (int i = 0; i < L_FACTS + fact_count(extras); i++) {
        bool none = !params[i] || (i == L_KEYS && !extras);
        lists[i] = none ? NULL : pawl__pg_list(conn, params[i], kind_of(i));
    }
}

static void list_row(struct pawl__pg_list *lists[LISTS], const struct pawl__pg_new_row *row,
                     bool extras)
{
    pawl__pg_list_add_id(lists[L_ID], row->job->id);
    pawl__pg_list_add(lists[L_LANE], row->lane_id);
    pawl__pg_list_add(lists[L_RANK], row->settled.rank);
    pawl__pg_list_add(lists[L_STATE], row->settled.state);
    const struct pawl_job_id *arrival = arrival_of(row->job);
    pawl__pg_list_add_bytes(lists[L_ARRIVAL], arrival, arrival ? sizeof *arrival : 0);
    if (extras) pawl__pg_list_add_bytes(lists[L_KEYS], row->keys.at, row->keys.len);
    for (int i = 0; i < fact_count(extras); i++) {
        const struct pawl__new_field *field = &pawl__new_facts[i];
        if (!lists[L_FACTS + i]) continue;
        pawl__pg_list_offer(lists[L_FACTS + i], field->kind,
                            pawl__new_value(field, row->job, &row->settled));
    }
}

static void send_jobs(struct pawl__backend *pg, const struct news *news, bool extras)
{
    struct pawl__pg_conn *conn = &pg->writer;
    struct pawl__pg_list *lists[LISTS] = { NULL };
    pawl__pg_call(conn, extras ? PG_NEW_JOBS : PG_NEW_JOBS_PLAIN);
    pawl__pg_bind(conn, PG_NEW_JOBS_now_ms, pg->set.now_ms);
    begin_lists(conn, extras, lists);
    for (size_t i = 0; i < news->count; i++) {
        list_row(lists, &news->rows[i], extras);
    }
    pawl__pg_send(conn);
}
enum { PG_NEW_JOBS_PLAIN_created_at_ms = 0 };
#define X(member, column, ...)                                                                     \
    _Static_assert((int)PG_NEW_JOBS_PLAIN_##column == (int)PG_NEW_JOBS_##column,                   \
                   "parameters are numbered alike");
PAWL__JOB_HEAD(X)
#undef X
_Static_assert((int)PG_NEW_JOBS_PLAIN_now_ms == (int)PG_NEW_JOBS_now_ms &&
                   (int)PG_NEW_JOBS_PLAIN_ids == (int)PG_NEW_JOBS_ids &&
                   (int)PG_NEW_JOBS_PLAIN_lanes == (int)PG_NEW_JOBS_lanes &&
                   (int)PG_NEW_JOBS_PLAIN_ranks == (int)PG_NEW_JOBS_ranks &&
                   (int)PG_NEW_JOBS_PLAIN_states == (int)PG_NEW_JOBS_states &&
                   (int)PG_NEW_JOBS_PLAIN_arrivals == (int)PG_NEW_JOBS_arrivals,
               "parameters are numbered alike");

static void send_tags(struct pawl__backend *pg, const struct news *news)
{
    struct pawl__pg_conn *conn = &pg->writer;
    pawl__pg_call(conn, PG_TAG_INSERT);
    struct pawl__pg_list *ids = pawl__pg_list(conn, PG_TAG_INSERT_ids, PAWL__PG_IDS);
    struct pawl__pg_list *tags = pawl__pg_list(conn, PG_TAG_INSERT_tags, PAWL__PG_TEXTS);
    for (size_t i = 0; i < news->count; i++) {
        const struct pawl__new_job *job = news->rows[i].job;
        if (!job->tags.len) continue;
        pawl__pg_list_add_id(ids, job->id);
        pawl__pg_list_add_span(tags, job->tags);
    }
    if (ids->count) pawl__pg_send(conn);
}

/* ---- that differ in little ---- */

static bool are_alike(const struct pawl__pg_new_row *a, const struct pawl__pg_new_row *b)
{
    return a->lane == b->lane && a->settled.state == b->settled.state &&
           a->settled.due_at_ms == b->settled.due_at_ms && a->settled.rank == b->settled.rank &&
           a->job->spec->priority == b->job->spec->priority &&
           a->job->spec->retry.attempts_max == b->job->spec->retry.attempts_max;
}

/* Number the rows by what they have in common. False: they have too little, or one needs care. */
static bool sort_alike(const struct news *news, size_t *kinds)
{
    const struct pawl__pg_new_row *first[ALIKE_MAX];
    *kinds = 0;
    for (size_t i = 0; i < news->count; i++) {
        struct pawl__pg_new_row *row = &news->rows[i];
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
static void send_alike(struct pawl__backend *pg, const struct news *news, size_t kind)
{
    struct pawl__pg_conn *conn = &pg->writer;
    const struct pawl__pg_new_row *one = NULL;
    pawl__pg_call(conn, PG_NEW_JOBS_ALIKE);
    struct pawl__pg_list *ids = pawl__pg_list(conn, PG_NEW_JOBS_ALIKE_ids, PAWL__PG_IDS);
    struct pawl__pg_list *args = pawl__pg_list(conn, PG_NEW_JOBS_ALIKE_args, PAWL__PG_TEXTS);
    for (size_t i = 0; i < news->count; i++) {
        const struct pawl__pg_new_row *row = &news->rows[i];
        if (row->alike != kind) continue;
        one = row;
        pawl__pg_list_add_id(ids, row->job->id);
        pawl__pg_list_offer(args, PAWL__KIND_ARGS, &row->job->spec->args);
    }
    assert(one); // no kind is without a row
    pawl__pg_bind(conn, PG_NEW_JOBS_ALIKE_lane, one->lane_id);
    pawl__pg_bind(conn, PG_NEW_JOBS_ALIKE_priority, one->job->spec->priority);
    pawl__pg_bind(conn, PG_NEW_JOBS_ALIKE_attempts_max, one->job->spec->retry.attempts_max);
    pawl__pg_bind(conn, PG_NEW_JOBS_ALIKE_now_ms, pg->set.now_ms);
    pawl__pg_bind(conn, PG_NEW_JOBS_ALIKE_due_at_ms, one->settled.due_at_ms);
    pawl__pg_bind(conn, PG_NEW_JOBS_ALIKE_rank, one->settled.rank);
    pawl__pg_bind(conn, PG_NEW_JOBS_ALIKE_state, one->settled.state);
    pawl__pg_bind_bool(conn, PG_NEW_JOBS_ALIKE_waits, one->settled.state == PAWL_STATE_SCHEDULED);
    pawl__pg_bind_bool(conn, PG_NEW_JOBS_ALIKE_held, one->settled.state == PAWL_STATE_PENDING);
    pawl__pg_send(conn);
}

/* ---- together ---- */

static void send_any(struct pawl__backend *pg, const struct news *news)
{
    bool extras = false;
    for (size_t i = 0; i < news->count; i++) {
        extras |= has_extras(&news->rows[i]);
    }
    send_jobs(pg, news, extras);
    if (extras) send_tags(pg, news);
}

void pawl__pg_new_write(struct pawl__backend *pg, struct pawl__pg_new_row *rows, size_t count)
{
    const struct news news = { rows, count };
    size_t kinds;
    if (!sort_alike(&news, &kinds)) {
        send_any(pg, &news);
        return;
    }
    for (size_t i = 0; i < kinds; i++) {
        send_alike(pg, &news, i);
    }
}

/* An id that the caller chose, which is not among the live ones, may have come and gone to the
 * archive since it was looked for. */
static enum pawl_err look_for_archived(struct pawl__backend *pg, const struct news *news)
{
    pawl__pg_call(&pg->writer, PG_ARCHIVE_HAS);
    struct pawl__pg_list *ids = pawl__pg_list(&pg->writer, PG_ARCHIVE_HAS_ids, PAWL__PG_IDS);
    for (size_t i = 0; i < news->count; i++) {
        const struct pawl__new_job *job = news->rows[i].job;
        if (!job->fresh_id) pawl__pg_list_add_id(ids, job->id);
    }
    if (!ids->count) return PAWL_OK;
    pawl__pg_send_keep(&pg->writer, SLOT_ARCHIVED);
    enum pawl_err err = pawl__pg_sync(&pg->writer, pg->set.diag);
    if (err || !PQntuples(pg->writer.kept[SLOT_ARCHIVED])) return err;
    pg->writer.clash = true; // it will be found the next time
    return pawl__fail(pg->set.diag, PAWL_ERR_BUSY, "could not submit: an id was taken meanwhile");
}

enum pawl_err pawl__pg_births_store(struct pawl__backend *pg)
{
    struct news news = { .count = 0 };
    for (size_t i = 0; i < pg->set.row_count; i++) {
        news.count += pawl__set_at(&pg->set, i)->birth != NULL;
    }
    if (!news.count) return PAWL_OK;
    news.rows = pawl__arena_alloc(&pg->arena, news.count * sizeof *news.rows);
    if (!news.rows) return pawl__fail_nomem(pg->set.diag);
    struct pawl__pg_new_row *to = news.rows;
    for (size_t i = 0; i < pg->set.row_count; i++) {
        const struct pawl__row *row = pawl__set_at(&pg->set, i);
        if (!row->birth) continue;
        *to++ = (struct pawl__pg_new_row){ .job = row->birth->job,
                                           .lane_id = pg->set.catalog.lanes[row->lane]->id,
                                           .settled = row->birth->settled,
                                           .lane = row->lane,
                                           .keys = row->keys };
    }
    pawl__pg_new_write(pg, news.rows, news.count);
    return look_for_archived(pg, &news);
}
