/* The rules of a claim, without a database: jobs in an array, in order of rank. */
#include "store/core/claim.h"

#include "base/diag.h"
#include "base/test_kit.h"
#include "store/core/course.h"

#include <string.h>

#define NOW_MS INT64_C(1000000)

enum { JOBS_MAX = 1100, LEASE_MS = 30000 };

/* A store in an array. */
struct pawl__backend {
    struct {
        struct pawl__row row;
        struct pawl_job job;
        int64_t bytes; /* of its arguments */
        bool held;     /* by another transaction */
    } jobs[JOBS_MAX];
    size_t count;
    struct pawl__set set;
    struct pawl_diag diag;
    int scans, whole; /* how many scans there were, and how many jobs were read in whole */
    int unsettled;
};

struct scan {
    struct pawl__backend *b;
    struct pawl__claim *claim;
    bool gives;
};

static bool is_ready(const struct scan *scan, const struct pawl__claim_lane *lane, size_t i)
{
    const struct pawl__row *row = &scan->b->jobs[i].row;
    if (row->lane != lane->at || row->state != PAWL_STATE_AVAILABLE) return false;
    scan->claim->passed_over |= scan->b->jobs[i].held;
    return !scan->b->jobs[i].held;
}

static void give(struct pawl__backend *b, struct pawl__claim *claim, struct pawl__claim_lane *lane,
                 size_t i)
{
    struct pawl__row *row = &b->jobs[i].row;
    struct pawl__claim_stand stand = { .order = { .rank = row->rank, .seat = row->id },
                                       .run = row->run + 1,
                                       .lease_until_ms = pawl__claim_lease(claim, &b->jobs[i].job),
                                       .args_bytes = b->jobs[i].bytes };
    assert_non_null(pawl__claim_give(claim, lane, &b->jobs[i].job, &stand));
    row->state = PAWL_STATE_ACTIVE;
    row->run++;
}

/* The queues of these tests have one lane each, and jobs are put in order of rank. */
static enum pawl_err scan_lanes(void *ctx, struct pawl__claim_lane *lanes, size_t count)
{
    const struct scan *scan = ctx;
    struct pawl__backend *b = scan->b;
    assert_int_equal(count, 1);
    for (size_t i = 0; i < b->count && pawl__claim_room(scan->claim); i++) {
        const struct pawl__row *row = &b->jobs[i].row;
        if (!is_ready(scan, lanes, i)) continue;
        if (!scan->gives || row->ties || pawl__claim_expired(scan->claim, row->expires_at_ms)) {
            pawl__claim_found(scan->claim, row->id, b->jobs[i].bytes);
        } else {
            give(b, scan->claim, lanes, i);
        }
    }
    return PAWL_OK;
}

static enum pawl_err scan_ready(struct pawl__backend *b, struct pawl__claim *claim)
{
    b->scans++;
    return pawl__claim_scan(claim, scan_lanes, &(struct scan){ .b = b, .claim = claim });
}

/* As a server does it: plain jobs by one statement, whatever lies between them. */
static enum pawl_err claim_plain(struct pawl__backend *b, struct pawl__claim *claim)
{
    b->scans++;
    return pawl__claim_scan(claim, scan_lanes,
                            &(struct scan){ .b = b, .claim = claim, .gives = true });
}

static size_t index_of(struct pawl__backend *b, struct pawl_job_id id)
{
    size_t i = 0;
    while (memcmp(&b->jobs[i].row.id, &id, sizeof id) != 0) {
        i++;
        assert_true(i < b->count);
    }
    return i;
}

static enum pawl_err load_keys(struct pawl__backend *b, struct pawl__set *set, bool wait)
{
    (void)b, (void)set, (void)wait;
    return PAWL_OK;
}

static enum pawl_err load(struct pawl__backend *b, struct pawl__set *set, bool wait)
{
    (void)wait;
    for (size_t i = 0; i < set->unread_count; i++) {
        struct pawl__row asked = *set->unread[i], *row = set->unread[i];
        size_t at = index_of(b, row->id);
        *row = b->jobs[at].row;
        row->need = asked.need;
        row->args_bytes = asked.args_bytes;
        row->job_arena = asked.job_arena;
        pawl__row_loaded(set, row, PAWL__FOUND_LIVE);
        if (!(row->need & PAWL__NEED_JOB)) continue;
        *pawl__row_job(set, row) = b->jobs[at].job;
        b->whole++;
    }
    return PAWL_OK;
}

static enum pawl_err store(struct pawl__backend *b, struct pawl__set *set)
{
    for (size_t i = 0; i < set->row_count; i++) {
        const struct pawl__row *row = pawl__set_at(set, i);
        if (!row->wrote) continue;
        struct pawl__row *to = &b->jobs[index_of(b, row->id)].row;
        *to = *row;
        to->wrote = to->need = to->has = 0;
        to->job = NULL;
        to->worker = NULL;
    }
    b->unsettled += (int)set->lists[PAWL__TABLE_UNSETTLED].count;
    return PAWL_OK;
}

static const struct pawl__core_table slow = {
    .load_keys = load_keys, .load = load, .store = store, .scan_ready = scan_ready
};
static const struct pawl__core_table quick = { .load_keys = load_keys,
                                               .load = load,
                                               .store = store,
                                               .scan_ready = scan_ready,
                                               .quick = { .claim_plain = claim_plain } };

static struct pawl__backend backend;

static void learn(const char *queue, int64_t id, bool paused)
{
    assert_int_equal(pawl__catalog_learn_queue(&backend.set.catalog, id, queue, paused, NULL),
                     PAWL_OK);
    assert_int_equal(pawl__catalog_learn_lane(&backend.set.catalog, id, id, "send", NULL), PAWL_OK);
}

static int64_t counted_active(const struct pawl__backend *b)
{
    int64_t active = 0;
    for (uint32_t i = 0; i < b->set.catalog.lane_count; i++) {
        active += b->set.catalog.lanes[i]->delta[PAWL_STATE_ACTIVE];
    }
    return active;
}

static struct pawl__backend *open_store(const struct pawl__core_table *table)
{
    memset(&backend, 0, sizeof backend);
    backend.set.table = table;
    backend.set.backend = &backend;
    backend.set.now_ms = NOW_MS;
    backend.set.diag = &backend.diag;
    learn("mail", 1, false);
    learn("later", 2, false);
    learn("shut", 3, true);
    return &backend;
}

static void close_store(struct pawl__backend *b)
{
    assert_true(pawl__set_is_empty(&b->set));
    pawl__set_release(&b->set);
}

static struct pawl_job_id id_of(size_t n)
{
    struct pawl_job_id id = { { 0 } };
    id.b[14] = (uint8_t)(n >> 8);
    id.b[15] = (uint8_t)n;
    return id;
}

/* The next job, of rank and number `count`. */
static struct pawl__row *put(struct pawl__backend *b, uint32_t lane)
{
    size_t at = b->count++;
    b->jobs[at].row = (struct pawl__row){ .id = id_of(at),
                                          .found = PAWL__FOUND_LIVE,
                                          .state = PAWL_STATE_AVAILABLE,
                                          .lane = lane,
                                          .rank = (int64_t)at };
    b->jobs[at].job = pawl__job_empty;
    b->jobs[at].job.id = id_of(at);
    return &b->jobs[at].row;
}

static void put_bytes(struct pawl__backend *b, int64_t bytes)
{
    put(b, 0);
    b->jobs[b->count - 1].bytes = bytes;
}

static struct pawl__op claim(struct pawl__backend *b, struct pawl__op op)
{
    static const char *const queues[] = { "mail" };
    op.kind = op.kind ? op.kind : PAWL__OP_CLAIM;
    op.claim.worker = "w";
    if (!op.claim.lease_ms) op.claim.lease_ms = LEASE_MS;
    if (!op.claim.queues) op.claim.queues = queues;
    if (!op.claim.queue_count) op.claim.queue_count = 1;
    assert_int_equal(pawl__core_scan(&b->set, &op), PAWL_OK);
    return op;
}

static void assert_given(struct pawl__op *op, size_t expected, const size_t *numbers)
{
    assert_int_equal(op->claim.job_count, expected);
    for (size_t i = 0; i < expected; i++) {
        struct pawl_job_id id = id_of(numbers[i]);
        assert_memory_equal(&op->claim.jobs[i].id, &id, sizeof id);
    }
    pawl__arena_release(&op->arena);
}
#define GIVEN(op, ...)                                                                             \
    assert_given(op, sizeof((size_t[]){ __VA_ARGS__ }) / sizeof(size_t), (size_t[]){ __VA_ARGS__ })

static const struct pawl__core_table *const ways[] = { &slow, &quick };

/* ---- tests ---- */

static void a_job_is_given_the_same_either_way(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct pawl__backend *b = open_store(ways[i]);
        struct pawl__row *row = put(b, 0);
        row->run = 4;
        struct pawl__op op = claim(b, (struct pawl__op){ .claim.limit = 5 });
        const struct pawl_job *job = op.claim.jobs;
        assert_int_equal(op.claim.job_count, 1);
        assert_int_equal(job->state, PAWL_STATE_ACTIVE);
        assert_int_equal(job->run, 5);
        assert_int_equal(job->attempt, 5);
        assert_int_equal(job->started_at_ms, NOW_MS);
        assert_int_equal(job->lease_until_ms, NOW_MS + LEASE_MS);
        assert_string_equal(job->worker, "w");
        assert_string_equal(job->queue, "mail");
        assert_string_equal(job->type, "send");
        assert_int_equal(row->state, PAWL_STATE_ACTIVE);
        assert_int_equal(row->run, 5);
        assert_int_equal(counted_active(b), 1);
        assert_false(op.claim.more);
        assert_int_equal(b->scans, 1);
        pawl__arena_release(&op.arena);
        close_store(b);
    }
}

static void queues_are_emptied_from_left_to_right(void **state)
{
    (void)state;
    static const char *const queues[] = { "later", "shut", "nowhere", "mail", "later" };
    for (size_t i = 0; i < 2; i++) {
        struct pawl__backend *b = open_store(ways[i]);
        put(b, 0)->ties = 1 << 30; // the rule's, on either way
        put(b, 1);
        put(b, 1)->ties = 1 << 30;
        put(b, 2);
        put(b, 0);
        put(b, 1);
        struct pawl__op op = { .claim = { .queues = queues, .queue_count = 5, .limit = 9 } };
        op = claim(b, op);
        GIVEN(&op, 1, 2, 5, 0, 4);
        close_store(b);
    }
}

static void what_expired_is_ended_and_does_not_count(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct pawl__backend *b = open_store(ways[i]);
        for (int n = 0; n < 6; n++) {
            put(b, 0)->expires_at_ms = n % 2 ? NOW_MS + 1 : NOW_MS;
        }
        struct pawl__op op = claim(b, (struct pawl__op){ .claim.limit = 2 });
        assert_false(op.claim.more);
        GIVEN(&op, 1, 3);
        assert_int_equal(b->jobs[0].row.state, PAWL_STATE_EXPIRED);
        assert_string_equal(b->jobs[0].row.end_reason, "expired before it could run");
        assert_int_equal(b->jobs[2].row.state, PAWL_STATE_EXPIRED);
        close_store(b);
    }
}

static void a_claim_ends_no_more_than_a_sweep_does(void **state)
{
    (void)state;
    struct pawl__backend *b = open_store(&slow);
    for (int n = 0; n < PAWL__MAINTENANCE_MAX + 50; n++) {
        put(b, 0)->expires_at_ms = 1;
    }
    struct pawl__op op = claim(b, (struct pawl__op){ .claim.limit = 100 });
    assert_int_equal(op.claim.job_count, 0);
    assert_true(op.claim.more);
    assert_int_equal(b->scans, 2); // of 100, and of the rest
    assert_int_equal(b->jobs[PAWL__MAINTENANCE_MAX - 1].row.state, PAWL_STATE_EXPIRED);
    assert_int_equal(b->jobs[PAWL__MAINTENANCE_MAX].row.state, PAWL_STATE_AVAILABLE);
    pawl__arena_release(&op.arena);
    close_store(b);
}

static void expired_jobs_in_front_cost_few_scans(void **state)
{
    (void)state;
    enum { EXPIRED = 800 };
    for (size_t i = 0; i < 2; i++) {
        struct pawl__backend *b = open_store(ways[i]);
        for (int n = 0; n < EXPIRED; n++) {
            put(b, 0)->expires_at_ms = 1;
        }
        put(b, 0);
        put(b, 0);
        struct pawl__op op = claim(b, (struct pawl__op){ .claim.limit = 1 });
        assert_false(op.claim.more);
        GIVEN(&op, EXPIRED);
        assert_int_equal(b->scans, 4); // 1 + 9 + 81 + 729 jobs
        assert_int_equal(b->whole, 2); // the first that was met, and the one that was given
        assert_int_equal(b->jobs[EXPIRED - 1].row.state, PAWL_STATE_EXPIRED);
        assert_int_equal(b->jobs[EXPIRED + 1].row.state, PAWL_STATE_AVAILABLE);
        close_store(b);
    }
}

static void arguments_are_bounded_but_for_the_first(void **state)
{
    (void)state;
    struct pawl__backend *b = open_store(&slow);
    put_bytes(b, 500);
    put_bytes(b, 40);
    put_bytes(b, 60);
    put_bytes(b, 1);
    struct pawl__op op = { .claim = { .limit = 9, .bytes_max = 100 } };
    struct pawl__op first = claim(b, op);
    assert_true(first.claim.more);
    GIVEN(&first, 0);
    assert_int_equal(b->whole, 1); // what is not taken is not read
    struct pawl__op next = claim(b, op);
    assert_true(next.claim.more);
    GIVEN(&next, 1, 2);
    struct pawl__op last = claim(b, op);
    assert_false(last.claim.more);
    GIVEN(&last, 3);
    close_store(b);
}

static void jobs_that_others_hold_are_passed_over(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct pawl__backend *b = open_store(ways[i]);
        put(b, 0);
        b->jobs[0].held = true;
        put(b, 0);
        put(b, 0);
        struct pawl__op all = claim(b, (struct pawl__op){ .claim.limit = 1 });
        assert_false(all.claim.more); // it has as many as it asked for
        GIVEN(&all, 1);
        struct pawl__op rest = claim(b, (struct pawl__op){ .claim.limit = 9 });
        assert_true(rest.claim.more);
        GIVEN(&rest, 2);
        close_store(b);
    }
}

static void a_claim_of_a_job_with_ties_is_followed_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct pawl__backend *b = open_store(ways[i]);
        put(b, 0);
        put(b, 0)->ties = 1 << 30; // of a newer program: it is left for that
        put(b, 0);
        struct pawl__op op = claim(b, (struct pawl__op){ .claim.limit = 9 });
        GIVEN(&op, 0, 1, 2);
        assert_int_equal(b->unsettled, 1);
        assert_int_equal(counted_active(b), 3);
        close_store(b);
    }
}

static void a_routed_job_is_pending_until_it_is_assigned(void **state)
{
    (void)state;
    struct pawl__backend *b = open_store(&quick);
    const struct pawl__row *row = put(b, 0);
    b->jobs[0].job.lease_ms = 5 * LEASE_MS;
    struct pawl__op op = claim(b, (struct pawl__op){ .kind = PAWL__OP_ROUTE, .claim.limit = 1 });
    assert_int_equal(op.claim.jobs[0].state, PAWL_STATE_PENDING);
    assert_int_equal(op.claim.jobs[0].started_at_ms, 0);
    assert_int_equal(op.claim.jobs[0].run, 0);
    assert_int_equal(op.claim.jobs[0].lease_until_ms, NOW_MS + LEASE_MS); // the token's
    assert_int_equal(row->state, PAWL_STATE_PENDING);
    assert_string_equal(row->reason, "routed");
    GIVEN(&op, 0);
    close_store(b);
}

static struct pawl__op assign_op(const char *worker, int64_t token)
{
    return (struct pawl__op){
        .kind = PAWL__OP_ASSIGN,
        .assign = { .id = id_of(0), .worker = worker, .token = token, .lease_ms = LEASE_MS }
    };
}

static enum pawl_err assign(struct pawl__backend *b, struct pawl__op *op)
{
    assert_int_equal(pawl__core_add(&b->set, op), PAWL_OK);
    assert_int_equal(pawl__core_run(&b->set), PAWL_OK);
    return op->err;
}

static void a_routed_job_is_assigned_to_its_worker_alone(void **state)
{
    (void)state;
    struct pawl__backend *b = open_store(&quick);
    struct pawl__row *row = put(b, 0);
    *row = (struct pawl__row){ .id = row->id,
                               .found = PAWL__FOUND_LIVE,
                               .state = PAWL_STATE_PENDING,
                               .run = 3,
                               .base_run = 1,
                               .lease_until_ms = NOW_MS + 5,
                               .worker = "w",
                               .reason = "routed" };
    b->jobs[0].job.lease_ms = 2 * LEASE_MS;
    struct pawl__op late = assign_op("w", NOW_MS + 4), other = assign_op("v", NOW_MS + 5),
                    own = assign_op("w", NOW_MS + 5), again = own;
    assert_int_equal(assign(b, &late), PAWL_ERR_STALE);
    assert_int_equal(assign(b, &other), PAWL_ERR_STALE);
    assert_int_equal(row->state, PAWL_STATE_PENDING);
    assert_int_equal(assign(b, &own), PAWL_OK);
    const struct pawl_job *job = own.assign.job;
    assert_int_equal(job->state, PAWL_STATE_ACTIVE);
    assert_int_equal(job->run, 4);
    assert_int_equal(job->attempt, 3);
    assert_int_equal(job->started_at_ms, NOW_MS);
    assert_int_equal(job->lease_until_ms, NOW_MS + 2 * LEASE_MS);
    assert_string_equal(job->worker, "w");
    assert_string_equal(job->queue, "mail");
    assert_string_equal(job->type, "send");
    assert_int_equal(row->state, PAWL_STATE_ACTIVE);
    assert_null(row->reason);
    assert_int_equal(assign(b, &again), PAWL_ERR_STALE);
    pawl__arena_release(&own.arena);
    close_store(b);
}

static void a_route_that_has_lapsed_is_not_assigned(void **state)
{
    (void)state;
    struct pawl__backend *b = open_store(&quick);
    struct pawl__row *row = put(b, 0);
    row->state = PAWL_STATE_PENDING;
    row->lease_until_ms = NOW_MS;
    row->worker = "w";
    struct pawl__op op = assign_op("w", NOW_MS);
    assert_int_equal(assign(b, &op), PAWL_ERR_STALE);
    assert_int_equal(row->state, PAWL_STATE_PENDING);
    close_store(b);
}

static void leases_have_a_floor_and_keep_clear_of_the_timeout(void **state)
{
    (void)state;
    static const struct {
        struct pawl__lease_wish wish;
        int64_t ms;
    } cases[] = {
        { { .lease_ms = 30000 }, 30000 },
        { { .lease_ms = 30000, .own_ms = 70000 }, 70000 },
        { { .lease_ms = 30000, .own_ms = 5 }, PAWL_LEASE_MIN_MS },
        { { .lease_ms = 30000, .own_ms = PAWL_LEASE_MIN_MS }, PAWL_LEASE_MIN_MS },
        { { .lease_ms = 30000, .timeout_ms = 10 }, 30000 },
        { { .lease_ms = 30000, .timeout_ms = 10, .timed = true }, 10 },
        { { .lease_ms = 30000, .timeout_ms = 30000 }, 30001 },
        { { .lease_ms = 30000, .timeout_ms = 30000, .timed = true }, 30000 },
        { { .lease_ms = 30000, .timeout_ms = PAWL_LEASE_MIN_MS, .own_ms = 7 },
          PAWL_LEASE_MIN_MS + 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(pawl__lease_of(&cases[i].wish), cases[i].ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_is_given_the_same_either_way),
        cmocka_unit_test(queues_are_emptied_from_left_to_right),
        cmocka_unit_test(what_expired_is_ended_and_does_not_count),
        cmocka_unit_test(a_claim_ends_no_more_than_a_sweep_does),
        cmocka_unit_test(expired_jobs_in_front_cost_few_scans),
        cmocka_unit_test(arguments_are_bounded_but_for_the_first),
        cmocka_unit_test(jobs_that_others_hold_are_passed_over),
        cmocka_unit_test(a_claim_of_a_job_with_ties_is_followed_up),
        cmocka_unit_test(a_routed_job_is_pending_until_it_is_assigned),
        cmocka_unit_test(a_routed_job_is_assigned_to_its_worker_alone),
        cmocka_unit_test(a_route_that_has_lapsed_is_not_assigned),
        cmocka_unit_test(leases_have_a_floor_and_keep_clear_of_the_timeout),
    };
    return cmocka_run_group_tests_name("claim", tests, NULL, NULL);
}
