/* See claim.h. */
#include "store/core/claim.h"

#include "base/diag.h"
#include "store/core/course.h"
#include "store/core/settle.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { AHEAD_FACTOR = 8 };

/* ---- where to take from ---- */

/* Does the claim take jobs of this type? */
static bool wants_type(const struct pawl__op *op, const char *type)
{
    if (op->claim.type_count == 0) return true;
    for (size_t i = 0; i < op->claim.type_count; i++) {
        if (pawl__type_matches(op->claim.types[i], type)) return true;
    }
    return false;
}

/* The lanes of a queue that are wanted go to `lanes`, unless that is NULL; how many. */
static size_t list_lanes(const struct pawl__claim *claim, const struct pawl__queue *queue,
                         uint32_t turn, struct pawl__claim_lane *lanes)
{
    const struct pawl__catalog *catalog = &claim->set->catalog;
    size_t count = 0;
    for (uint32_t at = queue->first_lane; at; at = catalog->lanes[at - 1]->next_lane) {
        if (!wants_type(claim->op, catalog->lanes[at - 1]->type)) continue;
        if (lanes) lanes[count] = (struct pawl__claim_lane){ .at = at - 1, .turn = turn };
        count++;
    }
    return count;
}

/* A queue that the claim names and that is not paused; NULL also if it was named before. */
static const struct pawl__queue *queue_at(const struct pawl__claim *claim, size_t at)
{
    const char *const *names = claim->op->claim.queues;
    for (size_t i = 0; i < at; i++) {
        if (strcmp(names[i], names[at]) == 0) return NULL;
    }
    const struct pawl__queue *queue = pawl__catalog_queue(&claim->set->catalog, names[at]);
    return queue && !queue->paused ? queue : NULL;
}

static bool plan_lanes(struct pawl__claim *claim)
{
    struct pawl__op *op = claim->op;
    const struct pawl__queue **queues =
        pawl__arena_alloc(&op->arena, (op->claim.queue_count + 1) * sizeof(*queues));
    size_t count = 0;
    if (!queues) return false;
    for (size_t i = 0; i < op->claim.queue_count; i++) {
        queues[i] = queue_at(claim, i);
        if (queues[i]) count += list_lanes(claim, queues[i], 0, NULL);
    }
    claim->lanes = pawl__arena_alloc(&op->arena, (count + 1) * sizeof *claim->lanes);
    if (!claim->lanes) return false;
    for (size_t i = 0; i < op->claim.queue_count; i++) {
        struct pawl__claim_lane *to = &claim->lanes[claim->lane_count];
        if (queues[i]) claim->lane_count += list_lanes(claim, queues[i], (uint32_t)i, to);
    }
    return true;
}

/* How many lanes, from `first` on, are of the same queue. */
static size_t lanes_of_queue(const struct pawl__claim *claim, size_t first)
{
    size_t end = first;
    while (end < claim->lane_count && claim->lanes[end].turn == claim->lanes[first].turn) {
        end++;
    }
    return end - first;
}

size_t pawl__claim_count(const struct pawl__claim *claim)
{
    return claim->op->claim.job_count - claim->first + claim->set->scanned_count;
}

size_t pawl__claim_room(const struct pawl__claim *claim)
{
    if (claim->full || claim->set->failed) return 0;
    return claim->wanted - pawl__claim_count(claim);
}

enum pawl_err pawl__claim_scan(struct pawl__claim *claim, pawl__scan_lanes_fn *scan_lanes,
                               void *scan)
{
    enum pawl_err err = PAWL_OK;
    size_t count;
    for (size_t at = 0; !err && at < claim->lane_count && pawl__claim_room(claim); at += count) {
        count = lanes_of_queue(claim, at);
        err = scan_lanes(scan, &claim->lanes[at], count);
    }
    return err;
}

static struct pawl__claim_lane *lane_of(const struct pawl__claim *claim, uint32_t at)
{
    size_t i = 0;
    while (claim->lanes[i].at != at) {
        i++;
        assert(i < claim->lane_count);
    }
    return &claim->lanes[i];
}

static bool name_lane(const struct pawl__claim *claim, struct pawl__claim_lane *lane)
{
    if (lane->type) return true;
    const struct pawl__lane *of = claim->set->catalog.lanes[lane->at];
    const char *queue = pawl__catalog_queue_name(&claim->set->catalog, of);
    lane->queue = pawl__arena_dup(&claim->op->arena, queue, strlen(queue));
    lane->type = pawl__arena_dup(&claim->op->arena, of->type, strlen(of->type));
    return lane->queue && lane->type;
}

/* May more jobs be given? */
static bool has_room(const struct pawl__op *op)
{
    return op->claim.job_count < (size_t)op->claim.limit;
}

/* ---- what a scan finds ---- */

void pawl__claim_found(struct pawl__claim *claim, struct pawl_job_id id, int64_t args_bytes)
{
    struct pawl__set *set = claim->set;
    size_t before = set->scanned_count;
    pawl__set_scanned(set, id, claim->need);
    if (set->scanned_count == before) return; // it is listed twice, or there is no memory
    set->scanned[before]->args_bytes = args_bytes;
    set->scanned[before]->job_arena = &claim->op->arena;
}

bool pawl__claim_fits(struct pawl__claim *claim, int64_t args_bytes)
{
    const struct pawl__op *op = claim->op;
    bool first = !op->claim.job_count;
    bool fits = !op->claim.bytes_max || first || claim->bytes + args_bytes <= op->claim.bytes_max;
    claim->full |= !fits;
    return fits;
}

int64_t pawl__claim_lease(const struct pawl__claim *claim, const struct pawl_job *job)
{
    return claim->set->now_ms +
           pawl__lease_of(&(struct pawl__lease_wish){ .timeout_ms = job->timeout_ms,
                                                      .own_ms = job->lease_ms,
                                                      .lease_ms = claim->op->claim.lease_ms,
                                                      .timed = claim->op->claim.timed });
}

/* ---- giving ---- */

static struct pawl_job *give(struct pawl__claim *claim, struct pawl__claim_lane *lane,
                             const struct pawl_job *facts, const struct pawl__claim_stand *stand)
{
    struct pawl__op *op = claim->op;
    bool routed = op->kind == PAWL__OP_ROUTE;
    assert(has_room(op));
    if (!name_lane(claim, lane)) return NULL;
    struct pawl_job *job = &op->claim.jobs[op->claim.job_count];
    *job = *facts;
    job->queue = lane->queue;
    job->type = lane->type;
    job->worker = claim->worker;
    job->state = routed ? PAWL_STATE_PENDING : PAWL_STATE_ACTIVE;
    job->run = stand->run;
    job->attempt = stand->run - stand->base_run;
    job->free_runs = stand->free_runs;
    job->started_at_ms = routed ? 0 : claim->set->now_ms;
    job->lease_until_ms = stand->lease_until_ms;
    claim->orders[op->claim.job_count] = stand->order;
    claim->orders[op->claim.job_count++].turn = lane->turn;
    claim->bytes += stand->args_bytes;
    return job;
}

struct pawl_job *pawl__claim_give(struct pawl__claim *claim, struct pawl__claim_lane *lane,
                                  const struct pawl_job *facts,
                                  const struct pawl__claim_stand *stand)
{
    struct pawl__set *set = claim->set;
    assert(claim->op->kind == PAWL__OP_CLAIM);
    assert(pawl__settle_lets(facts->ties, PAWL_STATE_AVAILABLE, PAWL_STATE_ACTIVE));
    struct pawl_job *job = give(claim, lane, facts, stand);
    if (!job) return NULL;
    pawl__set_moved(set, &(struct pawl__plain_move){ .id = job->id,
                                                     .run = job->run,
                                                     .lane = lane->at,
                                                     .from = PAWL_STATE_AVAILABLE,
                                                     .to = PAWL_STATE_ACTIVE });
    return job;
}

/* ---- the rule, for jobs that are in the set ---- */

static enum pawl_err take(struct pawl__claim *claim, struct pawl__row *row)
{
    bool routed = claim->op->kind == PAWL__OP_ROUTE;
    enum pawl_event event = routed ? PAWL_EVENT_ROUTE : PAWL_EVENT_CLAIM;
    struct pawl__target target = { .worker = claim->worker,
                                   .lease_until_ms = pawl__claim_lease(claim, row->job) };
    if (routed) {
        target.lease_until_ms = claim->set->now_ms + claim->op->claim.lease_ms;
        target.reason = "routed";
    }
    enum pawl_err err = pawl__row_move(claim->set, row, &event, 1, &target);
    assert(!err); // it was available
    const struct pawl_job *job = give(
        claim, lane_of(claim, row->lane), row->job,
        &(struct pawl__claim_stand){ .order = { .rank = row->rank, .seat = *pawl__row_seat(row) },
                                     .run = row->run,
                                     .base_run = row->base_run,
                                     .free_runs = row->free_runs,
                                     .lease_until_ms = row->lease_until_ms,
                                     .args_bytes = row->args_bytes });
    return job ? err : pawl__fail_nomem(claim->set->diag);
}

static enum pawl_err expire(struct pawl__claim *claim, struct pawl__row *row)
{
    static const enum pawl_event event = PAWL_EVENT_EXPIRE;
    claim->expired++;
    claim->again = true;
    return pawl__row_move(claim->set, row, &event, 1, &pawl__expired);
}

/* The jobs that will be taken are read, if the scan was not to. */
static void want_taken(const struct pawl__claim *claim)
{
    struct pawl__claim ahead = *claim;
    struct pawl__op op = { .kind = claim->op->kind, .claim = claim->op->claim };
    ahead.op = &op;
    for (size_t i = 0; i < claim->set->scanned_count && has_room(&op); i++) {
        const struct pawl__row *row = claim->set->scanned[i];
        if (pawl__claim_expired(claim, row->expires_at_ms)) continue;
        if (!pawl__claim_fits(&ahead, row->args_bytes)) return;
        ahead.bytes += row->args_bytes;
        op.claim.job_count++;
        pawl__set_want(claim->set, row->id, PAWL__NEED_JOB);
    }
}

static enum pawl_err take_found(struct pawl__claim *claim)
{
    const struct pawl__set *set = claim->set;
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < set->scanned_count && has_room(claim->op); i++) {
        struct pawl__row *row = set->scanned[i];
        assert(row->found == PAWL__FOUND_LIVE && row->state == PAWL_STATE_AVAILABLE);
        if (pawl__claim_expired(claim, row->expires_at_ms)) {
            err = expire(claim, row);
        } else if (pawl__claim_fits(claim, row->args_bytes)) {
            err = take(claim, row);
        } else {
            break;
        }
    }
    return err;
}

/* ---- order ---- */

int pawl__claim_compare(const struct pawl__claim_order *a, const struct pawl__claim_order *b)
{
    if (a->turn != b->turn) return a->turn < b->turn ? -1 : 1;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    return memcmp(a->seat.b, b->seat.b, sizeof a->seat.b);
}

struct ordered {
    struct pawl__claim_order order;
    struct pawl_job job;
};

static int compare(const void *a, const void *b)
{
    return pawl__claim_compare(&((const struct ordered *)a)->order,
                               &((const struct ordered *)b)->order);
}

/* What claim_plain gave comes before what the rule took, whatever their ranks. */
static enum pawl_err sort_jobs(struct pawl__claim *claim)
{
    struct pawl_job *jobs = &claim->op->claim.jobs[claim->first];
    struct pawl__claim_order *orders = &claim->orders[claim->first];
    size_t count = claim->op->claim.job_count - claim->first;
    struct ordered *all = pawl__arena_alloc(&claim->set->arena, (count + 1) * sizeof *all);
    if (!all) return pawl__fail_nomem(claim->set->diag);
    for (size_t i = 0; i < count; i++) {
        all[i] = (struct ordered){ orders[i], jobs[i] };
    }
    qsort(all, count, sizeof *all, compare);
    for (size_t i = 0; i < count; i++) {
        orders[i] = all[i].order;
        jobs[i] = all[i].job;
    }
    return PAWL_OK;
}

/* ---- one scan ---- */

/* How many jobs to look at beyond those that can still be given. The last scan found only jobs that
 * had expired: the next one looks at several times as many as were met so far, so that a thousand
 * of them cost five scans. */
static size_t look_ahead(const struct pawl__claim *claim, size_t lacking)
{
    int64_t rest = PAWL__MAINTENANCE_MAX - claim->expired - (int64_t)lacking;
    int64_t ahead = AHEAD_FACTOR * claim->expired;
    bool gave = claim->op->claim.job_count > claim->first;
    if (gave || rest < 0) return 0;
    return (size_t)(ahead < rest ? ahead : rest);
}

enum pawl_err pawl__scan_claim(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl__claim *claim = set->claim;
    const struct pawl__core_table *table = set->table;
    pawl__scan_ready_fn *claim_plain = pawl__core_quick(table)->claim_plain;
    size_t lacking = (size_t)op->claim.limit - op->claim.job_count;
    size_t ahead = look_ahead(claim, lacking);
    bool plain = op->kind == PAWL__OP_CLAIM && claim_plain && !ahead;
    claim->first = op->claim.job_count;
    claim->wanted = lacking + ahead;
    claim->givable = lacking;
    claim->need = PAWL__NEED_RUN | PAWL__NEED_FACTS;
    if (!op->claim.bytes_max && !ahead) claim->need |= PAWL__NEED_JOB; // most will be taken
    claim->again = claim->passed_over = false;
    set->args_max = op->kind == PAWL__OP_CLAIM ? op->claim.args_max : 0;
    enum pawl_err err = (plain ? claim_plain : table->scan_ready)(set->backend, claim);
    set->claims_empty = op->claim.job_count == claim->first && !set->scanned_count;
    return err;
}

enum pawl_err pawl__rule_claim(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl__claim *claim = set->claim;
    want_taken(claim);
    if (pawl__set_lacks(set)) return PAWL_OK; // called again
    size_t plain = op->claim.job_count;
    enum pawl_err err = take_found(claim);
    bool mixed = plain > claim->first && op->claim.job_count > plain;
    return err || !mixed ? err : sort_jobs(claim);
}

/* ---- one claim ---- */

static bool begin(struct pawl__claim *claim)
{
    struct pawl__op *op = claim->op;
    size_t limit = (size_t)op->claim.limit;
    op->claim.jobs = pawl__arena_calloc(&op->arena, limit, sizeof *op->claim.jobs);
    claim->orders = pawl__arena_alloc(&op->arena, limit * sizeof *claim->orders);
    claim->worker = pawl__arena_dup(&op->arena, op->claim.worker, strlen(op->claim.worker));
    return op->claim.jobs && claim->orders && claim->worker && plan_lanes(claim);
}

/* What expired was not given: there may be others behind it. */
static enum pawl_err scan_all(struct pawl__claim *claim)
{
    const struct pawl__op *op = claim->op;
    enum pawl_err err = PAWL_OK;
    claim->again = claim->lane_count > 0;
    while (!err && claim->again && !claim->full && has_room(op) &&
           claim->expired < PAWL__MAINTENANCE_MAX) {
        err = pawl__core_scan_once(claim->set, claim->op);
    }
    return err;
}

enum pawl_err pawl__core_claim(struct pawl__set *set, struct pawl__op *op)
{
    struct pawl__claim claim = { .set = set, .op = op };
    op->claim.jobs = NULL;
    op->claim.job_count = 0;
    op->claim.more = false;
    if (op->claim.limit <= 0) return PAWL_OK;
    if (!begin(&claim)) return pawl__fail_nomem(set->diag);
    set->claim = &claim;
    enum pawl_err err = scan_all(&claim);
    set->claim = NULL;
    bool cut = claim.full || claim.expired >= PAWL__MAINTENANCE_MAX;
    op->claim.more = has_room(op) && (cut || claim.passed_over);
    return err;
}

/* ---- what becomes of a routed job ---- */

void pawl__want_assign(struct pawl__set *set, const struct pawl__op *op)
{
    struct pawl__row *row = pawl__set_want(
        set, op->assign.id, PAWL__NEED_RUN | PAWL__NEED_FACTS | PAWL__NEED_STAND | PAWL__NEED_JOB);
    if (row) row->job_arena = &set->arena; // several may want it
}

static enum pawl_err check_route(const struct pawl__set *set, const struct pawl__op *op,
                                 const struct pawl__row *row)
{
    const char *worker = row->worker ? row->worker : "";
    bool routed = row->state == PAWL_STATE_PENDING && row->lease_until_ms == op->assign.token &&
                  row->lease_until_ms > set->now_ms && strcmp(worker, op->assign.worker) == 0;
    if (routed) return PAWL_OK;
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(op->assign.id, text);
    return pawl__fail(op->diag, PAWL_ERR_STALE, "job \"%s\" is not, or no longer, routed to \"%s\"",
                      text, op->assign.worker);
}

/* The answer, as the row is now. */
static bool hand_over(struct pawl__set *set, struct pawl__op *op, const struct pawl__row *row)
{
    const struct pawl__lane *lane = set->catalog.lanes[row->lane];
    struct pawl_job job = *row->job;
    job.queue = pawl__catalog_queue_name(&set->catalog, lane);
    job.type = lane->type;
    job.worker = row->worker;
    job.state = row->state;
    job.priority = row->priority;
    job.run = row->run;
    job.attempt = row->run - row->base_run;
    job.free_runs = row->free_runs;
    job.started_at_ms = row->started_at_ms;
    job.lease_until_ms = row->lease_until_ms;
    op->assign.job = pawl__arena_alloc(&op->arena, sizeof job + pawl__job_text_bytes(&job));
    if (op->assign.job) *op->assign.job = pawl__job_copy(&job, (char *)(op->assign.job + 1));
    return op->assign.job != NULL;
}

enum pawl_err pawl__rule_assign(struct pawl__set *set, struct pawl__op *op)
{
    static const enum pawl_event event = PAWL_EVENT_ASSIGN;
    struct pawl__row *row;
    enum pawl_err err = pawl__row_known(set, op->assign.id, &row, op->diag);
    if (!err) err = check_route(set, op, row);
    if (err) return err;
    const struct pawl__lease_wish lease = { .timeout_ms = row->timeout_ms,
                                            .own_ms = row->job->lease_ms,
                                            .lease_ms = op->assign.lease_ms,
                                            .timed = op->assign.timed };
    err = pawl__row_move(
        set, row, &event, 1,
        &(struct pawl__target){ .worker = op->assign.to ? op->assign.to : op->assign.worker,
                                .lease_until_ms = set->now_ms + pawl__lease_of(&lease) });
    assert(!err); // it was pending
    return hand_over(set, op, row) ? err : pawl__fail_nomem(set->diag);
}

void pawl__want_unroute(struct pawl__set *set, const struct pawl__op *op)
{
    (void)pawl__set_want(set, op->assign.id, PAWL__NEED_RUN | PAWL__NEED_FACTS | PAWL__NEED_STAND);
}

enum pawl_err pawl__rule_unroute(struct pawl__set *set, struct pawl__op *op)
{
    static const enum pawl_event event = PAWL_EVENT_LAPSE;
    struct pawl__row *row;
    enum pawl_err err = pawl__row_known(set, op->assign.id, &row, op->diag);
    if (!err) err = check_route(set, op, row);
    return err ? err : pawl__row_move(set, row, &event, 1, &(struct pawl__target){ 0 });
}
