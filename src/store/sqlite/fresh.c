/* Jobs that have just come. What is submitted is often claimed a moment later; such a job is kept
 * in memory, facts and all, and never sees pawl_ready: two statements and their pages less for
 * each.
 *
 * 1. pawl_job makes the job durable, and pawl_fresh says between which keys a job that stands
 * nowhere is available. Outside of that range every job has a row in some place.
 * 2. While no other process has written and no transaction was rolled back, memory holds exactly
 *    those jobs. Otherwise it is forgotten and the range absorbed: its jobs get rows in pawl_ready.
 *    So whoever finds the row after a crash, or in another process's file, needs to know no more.
 * 3. A lane's jobs are a list, ascending in rank and key. A job that would not go to the end of it,
 * is large or has extras goes to pawl_ready, as all do when there is no room.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/sqlite/sqlite.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(PAWL__JOB_HEAD_COUNT == 5, "struct pawl__sq_fresh_job has all of PAWL__JOB_HEAD");

/* The range must stay short: it is walked when it is absorbed. */
#define KEY_SLACK_MS INT64_C(10000)

/* Empty, as if nothing had ever been taken. */
static void forget(struct pawl__backend *sq)
{
    struct pawl__sq_fresh *fresh = &sq->fresh;
    for (uint32_t i = 0; i < sq->set.catalog.lane_count; i++) {
        struct pawl__lane *lane = sq->set.catalog.lanes[i];
        lane->own.fresh.first = lane->own.fresh.last = lane->own.fresh.next = 0;
        lane->own.fresh.listed = false;
    }
    for (uint32_t i = 0; fresh->jobs && i < PAWL__SQ_FRESH_MAX; i++) {
        fresh->jobs[i].next = i + 1 < PAWL__SQ_FRESH_MAX ? i + 2 : 0;
    }
    fresh->free = fresh->jobs ? 1 : 0;
    fresh->count = fresh->first_lane = 0;
}

static enum pawl_err read_kept(struct pawl__backend *sq)
{
    sqlite3_stmt *stmt = pawl__sq_stmt(sq, SQL_FRESH_GET);
    bool found;
    enum pawl_err err = pawl__sq_step(sq, stmt, &found);
    if (err) return err;
    if (found) sqlite3_reset(stmt);
    sq->fresh.kept = found;
    return PAWL_OK;
}

static enum pawl_err absorb_range(struct pawl__backend *sq)
{
    if (!sq->fresh.kept) return PAWL_OK;
    enum pawl_err err = pawl__sq_do(sq, SQL_FRESH_ABSORB);
    if (!err) err = pawl__sq_do(sq, SQL_FRESH_CLEAR);
    if (!err) sq->fresh.kept = false;
    return err;
}

enum pawl_err pawl__sq_fresh_begin(struct pawl__backend *sq)
{
    struct pawl__sq_fresh *fresh = &sq->fresh;
    fresh->turn++;
    if (fresh->valid) return PAWL_OK;
    forget(sq);
    fresh->changed = false;
    enum pawl_err err = read_kept(sq);
    if (!err) err = absorb_range(sq);
    fresh->valid = !err;
    return err;
}

static bool allocate(struct pawl__backend *sq)
{
    if (sq->fresh.jobs) return true;
    sq->fresh.jobs = malloc(PAWL__SQ_FRESH_MAX * sizeof *sq->fresh.jobs);
    if (!sq->fresh.jobs) return false; // then without
    forget(sq);
    return true;
}

static struct pawl__sq_fresh_job *job_at(const struct pawl__sq_fresh *fresh, uint32_t at)
{
    assert(at > 0 && at <= PAWL__SQ_FRESH_MAX);
    return &fresh->jobs[at - 1];
}

const struct pawl__sq_fresh_job *pawl__sq_fresh_at(const struct pawl__backend *sq, uint32_t at)
{
    return job_at(&sq->fresh, at);
}

static bool suits(struct pawl__backend *sq, const struct pawl__sq_new_row *row)
{
    if (row->settled.state != PAWL_STATE_AVAILABLE || row->extras) return false;
    if (row->job->spec->args.len > PAWL__SQ_FRESH_ARGS_MAX) return false;
    int64_t off_ms = pawl__sq_key_time(row->key) - sq->set.now_ms;
    if (off_ms > KEY_SLACK_MS || off_ms < -KEY_SLACK_MS) return false;
    const struct pawl__lane *lane = sq->set.catalog.lanes[row->lane];
    if (!lane->own.fresh.last) return true;
    const struct pawl__sq_fresh_job *last = job_at(&sq->fresh, lane->own.fresh.last);
    return row->settled.rank >= last->rank && row->key > last->key;
}

static void append(struct pawl__backend *sq, struct pawl__lane *lane, uint32_t at)
{
    struct pawl__sq_fresh *fresh = &sq->fresh;
    if (lane->own.fresh.last) {
        job_at(fresh, lane->own.fresh.last)->next = at;
    } else {
        lane->own.fresh.first = at;
    }
    lane->own.fresh.last = at;
    if (lane->own.fresh.listed) return;
    lane->own.fresh.listed = true;
    lane->own.fresh.next = fresh->first_lane;
    fresh->first_lane = lane->at + 1;
}

bool pawl__sq_fresh_take(struct pawl__backend *sq, const struct pawl__sq_new_row *row)
{
    struct pawl__sq_fresh *fresh = &sq->fresh;
    if (!suits(sq, row) || !allocate(sq) || !fresh->free) return false;
    const uint32_t at = fresh->free;
    struct pawl__sq_fresh_job *job = job_at(fresh, at);
    const struct pawl_job_spec *spec = row->job->spec;
    fresh->free = job->next;
    job->key = row->key;
    job->tail = row->tail;
    job->rank = row->settled.rank;
    job->created_at_ms = row->settled.created_at_ms;
    job->due_at_ms = row->settled.due_at_ms;
    job->priority = spec->priority;
    job->attempts_max = spec->retry.attempts_max;
    job->next = 0;
    job->turn = fresh->turn;
    const struct pawl_span args = spec->args.len ? spec->args : (struct pawl_span){ "[]", 2 };
    job->args_len = (uint32_t)args.len;
    memcpy(job->args, args.at, args.len);
    append(sq, sq->set.catalog.lanes[row->lane], at);
    fresh->count++;
    fresh->changed = true;
    return true;
}

void pawl__sq_fresh_drop(struct pawl__backend *sq, struct pawl__lane *lane, size_t count)
{
    struct pawl__sq_fresh *fresh = &sq->fresh;
    for (size_t i = 0; i < count; i++) {
        const uint32_t at = lane->own.fresh.first;
        struct pawl__sq_fresh_job *job = job_at(fresh, at);
        lane->own.fresh.first = job->next;
        if (!lane->own.fresh.first) lane->own.fresh.last = 0;
        job->next = fresh->free;
        fresh->free = at;
        fresh->count--;
    }
    fresh->changed = true;
}

struct range {
    int64_t low, high;
    uint32_t turn; /* of the oldest */
};

/* Over the first and last of each lane; lanes without jobs leave the list. */
static struct range span_lanes(struct pawl__backend *sq)
{
    struct pawl__sq_fresh *fresh = &sq->fresh;
    struct range range = { .low = INT64_MAX, .high = INT64_MIN, .turn = fresh->turn };
    for (uint32_t *link = &fresh->first_lane; *link;) {
        struct pawl__lane *lane = sq->set.catalog.lanes[*link - 1];
        if (!lane->own.fresh.first) {
            *link = lane->own.fresh.next;
            lane->own.fresh.listed = false;
            continue;
        }
        const struct pawl__sq_fresh_job *first = job_at(fresh, lane->own.fresh.first);
        const struct pawl__sq_fresh_job *last = job_at(fresh, lane->own.fresh.last);
        if (first->key < range.low) range.low = first->key;
        if (last->key > range.high) range.high = last->key;
        if (fresh->turn - first->turn > fresh->turn - range.turn) range.turn = first->turn;
        link = &lane->own.fresh.next;
    }
    return range;
}

static enum pawl_err put_range(struct pawl__backend *sq, const struct range *range)
{
    sqlite3_stmt *stmt = pawl__sq_stmt(sq, SQL_FRESH_PUT);
    pawl__sq_bind(stmt, SQL_FRESH_PUT_low, range->low);
    pawl__sq_bind(stmt, SQL_FRESH_PUT_high, range->high);
    enum pawl_err err = pawl__sq_end(sq, stmt);
    if (!err) sq->fresh.kept = true;
    return err;
}

enum pawl_err pawl__sq_fresh_absorb(struct pawl__backend *sq)
{
    struct pawl__sq_fresh *fresh = &sq->fresh;
    if (!fresh->count) return PAWL_OK;
    const struct range range = span_lanes(sq);
    enum pawl_err err = pawl__sq_runs_flush(sq); // or they would stand nowhere
    if (!err) err = put_range(sq, &range);
    if (!err) err = absorb_range(sq);
    forget(sq);
    fresh->changed = false;
    return err;
}

enum pawl_err pawl__sq_fresh_flush(struct pawl__backend *sq)
{
    struct pawl__sq_fresh *fresh = &sq->fresh;
    if (!fresh->changed) return PAWL_OK;
    fresh->changed = false;
    if (fresh->count) {
        const struct range range = span_lanes(sq);
        bool old = fresh->turn - range.turn > PAWL__SQ_FRESH_TURNS_MAX;
        return old ? pawl__sq_fresh_absorb(sq) : put_range(sq, &range);
    }
    if (!fresh->kept) return PAWL_OK;
    fresh->kept = false;
    return pawl__sq_do(sq, SQL_FRESH_CLEAR);
}
