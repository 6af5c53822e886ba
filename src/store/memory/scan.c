/* Looking for rows in their order.
 *
 * Runs on: the committer's thread, inside a transaction. */
#include "store/core/claim.h"
#include "store/core/settle.h"
#include "store/memory/memory.h"

#include "base/diag.h"

#include <string.h>

/* ---- jobs that are ready ---- */

static const struct pawl__mem_row *in_lane(const struct pawl__mem_row *row, uint32_t lane)
{
    return row && pawl__mem_job_of(row)->lane == lane ? row : NULL;
}

static bool is_better(const struct pawl__mem_row *a, const struct pawl__mem_row *b)
{
    const struct pawl__mem_job *left = a->data, *right = b->data;
    if (left->rank != right->rank) return left->rank < right->rank;
    return memcmp(&left->seat, &right->seat, sizeof left->seat) < 0;
}

struct scan {
    struct pawl__backend *mem;
    struct pawl__claim *claim;
};

/* The lanes of one queue, each of which is in order, merged. */
static enum pawl_err merge_lanes(void *ctx, struct pawl__claim_lane *lanes, size_t count)
{
    struct scan *scan = ctx;
    struct pawl__claim *claim = scan->claim;
    struct pawl__backend *mem = scan->mem;
    const struct pawl__mem_index *index =
        pawl__mem_index_of(mem, PAWL__MEM_JOB, PAWL__MEM_JOB_READY);
    const struct pawl__mem_row **heads = pawl__arena_alloc(&mem->set.arena, count * sizeof(*heads));
    if (!heads) return pawl__fail_nomem(mem->set.diag);
    for (size_t i = 0; i < count; i++) {
        const struct pawl__mem_job first = { .lane = lanes[i].at, .rank = INT64_MIN };
        heads[i] =
            in_lane(pawl__mem_from(index, &(struct pawl__mem_row){ .data = &first }), lanes[i].at);
    }
    while (pawl__claim_room(claim)) {
        size_t best = count;
        for (size_t i = 0; i < count; i++) {
            if (heads[i] && (best == count || is_better(heads[i], heads[best]))) best = i;
        }
        if (best == count) break;
        const struct pawl__mem_row *row = heads[best];
        pawl__claim_found(claim, row->of, (int64_t)pawl__mem_job_of(row)->args.len);
        heads[best] = in_lane(pawl__mem_after(index, row), lanes[best].at);
    }
    return PAWL_OK;
}

enum pawl_err pawl__mem_scan_ready(struct pawl__backend *mem, struct pawl__claim *claim)
{
    return pawl__claim_scan(claim, merge_lanes, &(struct scan){ .mem = mem, .claim = claim });
}

/* ---- jobs that are due ---- */

static int64_t due_at(const struct pawl__mem_row *row, enum pawl__due what)
{
    const struct pawl__mem_job *job = row->data;
    return what == PAWL__DUE_RUN     ? job->due_at_ms
           : what == PAWL__DUE_LEASE ? job->lease_until_ms
                                     : job->expires_at_ms;
}

static const struct pawl__mem_index *due_index(const struct pawl__backend *mem, enum pawl__due what)
{
    static const size_t indexes[] = { [PAWL__DUE_RUN] = PAWL__MEM_JOB_DUE,
                                      [PAWL__DUE_LEASE] = PAWL__MEM_JOB_LEASE,
                                      [PAWL__DUE_EXPIRY] = PAWL__MEM_JOB_EXPIRY };
    return pawl__mem_index_of(mem, PAWL__MEM_JOB, indexes[what]);
}

enum pawl_err pawl__mem_scan_due(struct pawl__backend *mem, enum pawl__due what, int64_t limit,
                                 struct pawl_job_id *ids, size_t *count, bool *more)
{
    const struct pawl__mem_index *index = due_index(mem, what);
    const struct pawl__mem_row *row = pawl__mem_from(index, NULL);
    *count = 0;
    for (; row && due_at(row, what) <= mem->set.now_ms; row = pawl__mem_after(index, row)) {
        if ((int64_t)*count == limit) break;
        ids[(*count)++] = row->of;
    }
    *more = (int64_t)*count == limit;
    return PAWL_OK;
}

enum pawl_err pawl__mem_next_due(struct pawl__backend *mem, enum pawl__due what, int64_t *at_ms)
{
    const struct pawl__mem_row *row = pawl__mem_from(due_index(mem, what), NULL);
    *at_ms = row ? due_at(row, what) : 0;
    return PAWL_OK;
}

static enum pawl_err forget_requests(struct pawl__backend *mem, int64_t limit)
{
    enum pawl__mem_table table = PAWL__MEM_RECORD(REQUEST);
    const struct pawl__mem_index *index = pawl__mem_index_of(mem, table, PAWL__MEM_BY_KEY);
    struct pawl__mem_row *row = pawl__mem_from(index, NULL), *next;
    enum pawl_err err = PAWL_OK;
    for (; row && !err && limit > 0; row = next) {
        next = pawl__mem_after(index, row);
        if (((const struct pawl__request_key *)row->data)->until_ms > mem->set.now_ms) continue;
        err = pawl__mem_drop(mem, table, row);
        limit--;
    }
    return err;
}

enum pawl_err pawl__mem_forget_keys(struct pawl__backend *mem, int64_t limit)
{
    int64_t left = limit;
    const struct pawl__mem_index *index =
        pawl__mem_index_of(mem, PAWL__MEM_KEY, PAWL__MEM_KEY_BY_END);
    enum pawl_err err = PAWL_OK;
    for (; !err && left > 0; left--) {
        struct pawl__mem_row *row = pawl__mem_from(index, NULL);
        if (!row || ((const struct pawl__key_row *)row->data)->until_ms > mem->set.now_ms) break;
        err = pawl__mem_drop(mem, PAWL__MEM_KEY, row);
    }
    return err ? err : forget_requests(mem, limit);
}

/* ---- jobs that have ended ---- */

static bool is_kept(const struct pawl__ended *what, const struct pawl__mem_job *job)
{
    return what->archived && job->keep_ms &&
           job->finished_at_ms + job->keep_ms > what->kept_until_ms;
}

enum pawl_err pawl__mem_scan_ended(struct pawl__backend *mem, const struct pawl__ended *what,
                                   bool *more)
{
    const struct pawl__mem_index *index =
        pawl__mem_index_of(mem, PAWL__MEM_JOB, PAWL__MEM_JOB_ENDED);
    const struct pawl__mem_job first = { .archived = what->archived, .state = what->state };
    const struct pawl__mem_row *row =
        pawl__mem_from(index, &(struct pawl__mem_row){ .data = &first });
    int64_t found = 0;
    *more = false;
    for (; row && found < what->limit; row = pawl__mem_after(index, row)) {
        const struct pawl__mem_job *job = row->data;
        bool fits = job->archived == what->archived && job->state == what->state &&
                    job->finished_at_ms < what->before_ms;
        if (!fits) break;
        if (is_kept(what, job) || (job->ties & PAWL__TIE_FLOW)) continue; // goes with its flow
        if (what->archived) pawl__set_scanned(&mem->set, row->of, PAWL__NEED_KEYS);
        if (!what->archived) pawl__set_ended(&mem->set, row->of, job->lane, job->state);
        found++;
    }
    return PAWL_OK;
}

/* ---- moves that are to be followed up ---- */

/* The first entry behind `after` that has any of these ties. */
static const struct pawl__mem_row *next_entry(const struct pawl__backend *mem, int32_t ties,
                                              int64_t after)
{
    const struct pawl__mem_index *index =
        pawl__mem_index_of(mem, PAWL__MEM_UNSETTLED, PAWL__MEM_BY_KEY);
    const struct pawl__mem_row *row =
        pawl__mem_after(index, &(struct pawl__mem_row){ .seq = after });
    while (row && !(((const struct pawl__unsettled *)row->data)->ties & ties)) {
        row = pawl__mem_after(index, row);
    }
    return row;
}

enum pawl_err pawl__mem_unsettled(struct pawl__backend *mem, int32_t ties, int64_t after,
                                  int64_t limit)
{
    const struct pawl__mem_row *row = next_entry(mem, ties, after);
    for (; row && limit > 0; limit--, row = next_entry(mem, ties, row->seq)) {
        struct pawl__unsettled entry = *(const struct pawl__unsettled *)row->data;
        entry.seq = row->seq;
        pawl__settle_again(&mem->set, &entry);
    }
    return PAWL_OK;
}

enum pawl_err pawl__mem_next_unsettled(struct pawl__backend *mem, int32_t ties, int64_t *at_ms)
{
    const struct pawl__mem_row *row = next_entry(mem, ties, 0);
    *at_ms = row ? ((const struct pawl__unsettled *)row->data)->at_ms : 0;
    return PAWL_OK;
}

/* ---- nodes ---- */

static bool is_silent(const struct pawl__node *node, int64_t at_ms)
{
    return node->lease_ms && node->alive_until_ms <= at_ms;
}

static int64_t count_ready(const struct pawl__backend *mem)
{
    int64_t ready = 0;
    for (uint32_t i = 0; i < mem->lane_count; i++) {
        ready += mem->counts[i].n[PAWL_STATE_AVAILABLE];
    }
    return ready;
}

enum pawl_err pawl__mem_census(struct pawl__backend *mem, const char *name, struct pawl_census *out,
                               int64_t *silent)
{
    out->alive = out->silent_at_ms = *silent = 0;
    out->ready = count_ready(mem);
    PAWL__MEM_EACH(row, mem, PAWL__MEM_RECORD(NODE), PAWL__MEM_BY_KEY)
    {
        const struct pawl__node *node = row->data;
        if (strcmp(node->name, name) == 0) continue;
        bool alive = node->alive_until_ms > mem->set.now_ms;
        out->alive += alive;
        *silent += is_silent(node, mem->set.now_ms);
        bool next = !out->silent_at_ms || node->alive_until_ms < out->silent_at_ms;
        if (alive && node->lease_ms && next) out->silent_at_ms = node->alive_until_ms;
    }
    return PAWL_OK;
}

enum pawl_err pawl__mem_scan_nodes(struct pawl__backend *mem, enum pawl__nodes which, int64_t at_ms,
                                   int64_t limit)
{
    PAWL__MEM_EACH(row, mem, PAWL__MEM_RECORD(NODE), PAWL__MEM_BY_KEY)
    {
        const struct pawl__node *node = row->data;
        bool found = which == PAWL__NODES_SILENT ? is_silent(node, at_ms)
                                                 : node->heartbeat_at_ms < at_ms;
        if (limit == 0) break;
        if (!found) continue;
        (void)pawl__set_record_loaded(&mem->set, PAWL__RECORD_NODE, node);
        limit--;
    }
    return PAWL_OK;
}

enum pawl_err pawl__mem_scan_locks(struct pawl__backend *mem, const char *owner, int64_t limit)
{
    PAWL__MEM_EACH(row, mem, PAWL__MEM_RECORD(LOCK), PAWL__MEM_BY_KEY)
    {
        const struct pawl__lock *lock = row->data;
        if (limit == 0) break;
        if (strcmp(lock->owner, owner) != 0) continue;
        (void)pawl__set_record_loaded(&mem->set, PAWL__RECORD_LOCK, lock);
        limit--;
    }
    return PAWL_OK;
}

/* ---- deadlines ---- */

/* There is no order of time: tests have few. */
static const struct pawl__mem_row *first_deadline(const struct pawl__backend *mem, int64_t from_ms,
                                                  const struct pawl__mem_row *after)
{
    const struct pawl__mem_row *best = NULL;
    bool behind = !after;
    PAWL__MEM_EACH(row, mem, PAWL__MEM_DEADLINE, PAWL__MEM_BY_KEY)
    {
        int64_t at_ms = ((const struct pawl__deadline *)row->data)->at_ms;
        bool next = at_ms > from_ms || (at_ms == from_ms && behind);
        behind |= row == after;
        if (!next) continue;
        if (!best || at_ms < ((const struct pawl__deadline *)best->data)->at_ms) best = row;
    }
    return best;
}

enum pawl_err pawl__mem_scan_deadlines(struct pawl__backend *mem, int64_t before_ms, int64_t limit)
{
    const struct pawl__mem_row *row = first_deadline(mem, INT64_MIN, NULL);
    for (; row && limit > 0; limit--) {
        const struct pawl__deadline *deadline = row->data;
        if (deadline->at_ms >= before_ms) break;
        (void)pawl__set_record_loaded(&mem->set, PAWL__RECORD_DEADLINE, deadline);
        row = first_deadline(mem, deadline->at_ms, row);
    }
    return PAWL_OK;
}

enum pawl_err pawl__mem_next_deadline(struct pawl__backend *mem, int64_t *at_ms)
{
    const struct pawl__mem_row *row = first_deadline(mem, INT64_MIN, NULL);
    *at_ms = row ? ((const struct pawl__deadline *)row->data)->at_ms : 0;
    return PAWL_OK;
}

/* ---- flows ---- */

static int64_t timer_at(const struct pawl__mem_row *row)
{
    return ((const struct pawl__flow_timer *)row->data)->at_ms;
}

enum pawl_err pawl__mem_scan_timers(struct pawl__backend *mem, int64_t limit)
{
    PAWL__MEM_EACH(row, mem, PAWL__MEM_RECORD(FLOW_TIMER), PAWL__MEM_BY_KEY)
    {
        if (limit == 0) break;
        if (timer_at(row) > mem->set.now_ms) continue;
        (void)pawl__set_record_loaded(&mem->set, PAWL__RECORD_FLOW_TIMER, row->data);
        limit--;
    }
    return PAWL_OK;
}

enum pawl_err pawl__mem_next_timer(struct pawl__backend *mem, int64_t *at_ms)
{
    *at_ms = 0;
    PAWL__MEM_EACH(row, mem, PAWL__MEM_RECORD(FLOW_TIMER), PAWL__MEM_BY_KEY)
    {
        if (!*at_ms || timer_at(row) < *at_ms) *at_ms = timer_at(row);
    }
    return PAWL_OK;
}

enum pawl_err pawl__mem_scan_waits(struct pawl__backend *mem, const char *key, int64_t limit)
{
    PAWL__MEM_EACH(row, mem, PAWL__MEM_RECORD(FLOW_SIGNAL), PAWL__MEM_BY_KEY)
    {
        const struct pawl__flow_signal *signal = row->data;
        if (limit == 0) break;
        if (!signal->waits || strcmp(signal->key, key) != 0) continue;
        (void)pawl__set_record_loaded(&mem->set, PAWL__RECORD_FLOW_SIGNAL, signal);
        limit--;
    }
    return PAWL_OK;
}

/* ---- jobs that match a filter ---- */

enum pawl_err pawl__mem_match(struct pawl__backend *mem, const struct pawl_filter *filter,
                              int64_t limit, struct pawl__arena *arena, struct pawl_job_id **ids,
                              size_t *count)
{
    struct pawl__arena scratch = { 0 };
    *count = 0;
    *ids = pawl__arena_alloc(arena, (size_t)limit * sizeof **ids);
    if (!*ids) return pawl__fail_nomem(mem->set.diag);
    PAWL__MEM_EACH(row, mem, PAWL__MEM_JOB, PAWL__MEM_JOB_BY_AGE)
    {
        struct pawl_job job = pawl__mem_view(mem, row);
        if ((int64_t)*count == limit) break;
        if (pawl__mem_passes(filter, &job, &scratch)) (*ids)[(*count)++] = row->of;
    }
    pawl__arena_release(&scratch);
    return PAWL_OK;
}
