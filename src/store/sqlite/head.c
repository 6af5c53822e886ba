/* Jobs that have just come. What is submitted is often claimed a moment later; such a job is kept
 * in memory, facts and all, and never sees pawl_ready: two statements and their pages less for
 * each.
 *
 * 1. pawl_job makes the job durable, and pawl_head says between which keys a job that stands
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

_Static_assert(PAWL__JOB_HEAD_COUNT == 5, "struct pawl__sq_head_job has all of PAWL__JOB_HEAD");

/* The range must stay short: it is walked when it is absorbed. */
#define KEY_SLACK_MS INT64_C(10000)

/* Empty, as if nothing had ever been taken. */
static void forget(struct pawl__backend *sq)
{
    struct pawl__sq_head *head = &sq->head;
    for (uint32_t i = 0; i < sq->set.catalog.lane_count; i++) {
        struct pawl__lane *lane = sq->set.catalog.lanes[i];
        lane->own.head.first = lane->own.head.last = lane->own.head.next = 0;
        lane->own.head.listed = false;
    }
    for (uint32_t i = 0; head->jobs && i < PAWL__SQ_HEAD_MAX; i++) {
        head->jobs[i].next = i + 1 < PAWL__SQ_HEAD_MAX ? i + 2 : 0;
    }
    head->free = head->jobs ? 1 : 0;
    head->count = head->first_lane = 0;
}

static enum pawl_err read_kept(struct pawl__backend *sq)
{
    sqlite3_stmt *stmt = pawl__sq_stmt(sq, SQL_HEAD_GET);
    bool found;
    enum pawl_err err = pawl__sq_step(sq, stmt, &found);
    if (err) return err;
    if (found) sqlite3_reset(stmt);
    sq->head.kept = found;
    return PAWL_OK;
}

static enum pawl_err absorb_range(struct pawl__backend *sq)
{
    if (!sq->head.kept) return PAWL_OK;
    enum pawl_err err = pawl__sq_do(sq, SQL_HEAD_ABSORB);
    if (!err) err = pawl__sq_do(sq, SQL_HEAD_CLEAR);
    if (!err) sq->head.kept = false;
    return err;
}

enum pawl_err pawl__sq_head_begin(struct pawl__backend *sq)
{
    struct pawl__sq_head *head = &sq->head;
    head->turn++;
    if (head->valid) return PAWL_OK;
    forget(sq);
    head->changed = false;
    enum pawl_err err = read_kept(sq);
    if (!err) err = absorb_range(sq);
    head->valid = !err;
    return err;
}

static bool allocate(struct pawl__backend *sq)
{
    if (sq->head.jobs) return true;
    sq->head.jobs = malloc(PAWL__SQ_HEAD_MAX * sizeof *sq->head.jobs);
    if (!sq->head.jobs) return false; // then without
    forget(sq);
    return true;
}

static struct pawl__sq_head_job *job_at(const struct pawl__sq_head *head, uint32_t at)
{
    assert(at > 0 && at <= PAWL__SQ_HEAD_MAX);
    return &head->jobs[at - 1];
}

const struct pawl__sq_head_job *pawl__sq_head_at(const struct pawl__backend *sq, uint32_t at)
{
    return job_at(&sq->head, at);
}

static bool suits(struct pawl__backend *sq, const struct pawl__sq_new_row *row)
{
    if (row->settled.state != PAWL_STATE_AVAILABLE || row->extras) return false;
    if (row->job->spec->args.len > PAWL__SQ_HEAD_ARGS_MAX) return false;
    int64_t off_ms = pawl__sq_key_time(row->key) - sq->set.now_ms;
    if (off_ms > KEY_SLACK_MS || off_ms < -KEY_SLACK_MS) return false;
    const struct pawl__lane *lane = sq->set.catalog.lanes[row->lane];
    if (!lane->own.head.last) return true;
    const struct pawl__sq_head_job *last = job_at(&sq->head, lane->own.head.last);
    return row->settled.rank >= last->rank && row->key > last->key;
}

static void append(struct pawl__backend *sq, struct pawl__lane *lane, uint32_t at)
{
    struct pawl__sq_head *head = &sq->head;
    if (lane->own.head.last) {
        job_at(head, lane->own.head.last)->next = at;
    } else {
        lane->own.head.first = at;
    }
    lane->own.head.last = at;
    if (lane->own.head.listed) return;
    lane->own.head.listed = true;
    lane->own.head.next = head->first_lane;
    head->first_lane = lane->at + 1;
}

bool pawl__sq_head_take(struct pawl__backend *sq, const struct pawl__sq_new_row *row)
{
    struct pawl__sq_head *head = &sq->head;
    if (!suits(sq, row) || !allocate(sq) || !head->free) return false;
    const uint32_t at = head->free;
    struct pawl__sq_head_job *job = job_at(head, at);
    const struct pawl_job_spec *spec = row->job->spec;
    head->free = job->next;
    job->key = row->key;
    job->tail = row->tail;
    job->rank = row->settled.rank;
    job->created_at_ms = row->settled.created_at_ms;
    job->due_at_ms = row->settled.due_at_ms;
    job->priority = spec->priority;
    job->attempts_max = spec->retry.attempts_max;
    job->next = 0;
    job->turn = head->turn;
    const struct pawl_span args = spec->args.len ? spec->args : (struct pawl_span){ "[]", 2 };
    job->args_len = (uint32_t)args.len;
    memcpy(job->args, args.at, args.len);
    append(sq, sq->set.catalog.lanes[row->lane], at);
    head->count++;
    head->changed = true;
    return true;
}

void pawl__sq_head_drop(struct pawl__backend *sq, struct pawl__lane *lane, size_t count)
{
    struct pawl__sq_head *head = &sq->head;
    for (size_t i = 0; i < count; i++) {
        const uint32_t at = lane->own.head.first;
        struct pawl__sq_head_job *job = job_at(head, at);
        lane->own.head.first = job->next;
        if (!lane->own.head.first) lane->own.head.last = 0;
        job->next = head->free;
        head->free = at;
        head->count--;
    }
    head->changed = true;
}

struct range {
    int64_t low, high;
    uint32_t turn; /* of the oldest */
};

/* Over the first and last of each lane; lanes without jobs leave the list. */
static struct range span_lanes(struct pawl__backend *sq)
{
    struct pawl__sq_head *head = &sq->head;
    struct range range = { .low = INT64_MAX, .high = INT64_MIN, .turn = head->turn };
    for (uint32_t *link = &head->first_lane; *link;) {
        struct pawl__lane *lane = sq->set.catalog.lanes[*link - 1];
        if (!lane->own.head.first) {
            *link = lane->own.head.next;
            lane->own.head.listed = false;
            continue;
        }
        const struct pawl__sq_head_job *first = job_at(head, lane->own.head.first);
        const struct pawl__sq_head_job *last = job_at(head, lane->own.head.last);
        if (first->key < range.low) range.low = first->key;
        if (last->key > range.high) range.high = last->key;
        if (head->turn - first->turn > head->turn - range.turn) range.turn = first->turn;
        link = &lane->own.head.next;
    }
    return range;
}

static enum pawl_err put_range(struct pawl__backend *sq, const struct range *range)
{
    sqlite3_stmt *stmt = pawl__sq_stmt(sq, SQL_HEAD_PUT);
    pawl__sq_bind(stmt, SQL_HEAD_PUT_low, range->low);
    pawl__sq_bind(stmt, SQL_HEAD_PUT_high, range->high);
    enum pawl_err err = pawl__sq_end(sq, stmt);
    if (!err) sq->head.kept = true;
    return err;
}

enum pawl_err pawl__sq_head_absorb(struct pawl__backend *sq)
{
    struct pawl__sq_head *head = &sq->head;
    if (!head->count) return PAWL_OK;
    const struct range range = span_lanes(sq);
    enum pawl_err err = pawl__sq_runs_flush(sq); // or they would stand nowhere
    if (!err) err = put_range(sq, &range);
    if (!err) err = absorb_range(sq);
    forget(sq);
    head->changed = false;
    return err;
}

enum pawl_err pawl__sq_head_flush(struct pawl__backend *sq)
{
    struct pawl__sq_head *head = &sq->head;
    if (!head->changed) return PAWL_OK;
    head->changed = false;
    if (head->count) {
        const struct range range = span_lanes(sq);
        bool old = head->turn - range.turn > PAWL__SQ_HEAD_TURNS_MAX;
        return old ? pawl__sq_head_absorb(sq) : put_range(sq, &range);
    }
    if (!head->kept) return PAWL_OK;
    head->kept = false;
    return pawl__sq_do(sq, SQL_HEAD_CLEAR);
}
