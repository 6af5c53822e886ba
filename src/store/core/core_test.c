/* The rules, without a database: rows in an array, operations, the rows afterwards. */
#include "store/core/set.h"

#include "base/diag.h"
#include "base/test_kit.h"
#include "store/decide.h"

#include <stdio.h>
#include <string.h>

#define NOW_MS INT64_C(1000000)

enum { ROWS_MAX = 512, HOLDERS_MAX = 40 };

struct held {
    uint8_t digest[16];
    struct pawl_job_id id;
};

/* A store in an array. */
struct pawl__backend {
    struct pawl__row rows[ROWS_MAX];
    size_t count;
    struct held held[HOLDERS_MAX];
    size_t held_count;
    struct pawl__set set;
    struct pawl__rng rng;
    struct pawl_diag diag;
    struct pawl__arena arena; /* operations' results */
    struct pawl__tale tale;
    struct pawl__catalog catalog;
    int loads, stores;
    int put[PAWL__TABLES];          /* rows of other tables */
    struct pawl__progress progress; /* the first of the newest batch */
    int64_t counts[PAWL_STATE_END]; /* how moves changed them */
    struct pawl_job_id found[8];    /* what scans find */
    size_t found_count;
};

static struct pawl__row *stored(struct pawl__backend *b, struct pawl_job_id id)
{
    for (size_t i = 0; i < b->count; i++) {
        if (memcmp(&b->rows[i].id, &id, sizeof id) == 0) return &b->rows[i];
    }
    return NULL;
}

static enum pawl_err load(struct pawl__backend *b, struct pawl__set *set, bool wait)
{
    assert_true(wait); // no job has ties here
    b->loads++;
    for (size_t i = 0; i < set->unread_count; i++) {
        struct pawl__row *row = set->unread[i];
        assert_true(i == 0 || memcmp(&set->unread[i - 1]->id, &row->id, sizeof row->id) < 0);
        const struct pawl__row *from = stored(b, row->id);
        struct pawl__row asked = *row;
        if (from) *row = *from;
        if (!from) row->found = PAWL__FOUND_ABSENT;
        row->need = asked.need;
        row->slot = asked.slot;
        row->notes = asked.notes;
        if (from) pawl__row_loaded(set, row, (enum pawl__found)from->found);
        row->has |= PAWL__NEED_CRASHES | PAWL__NEED_NOTES;
    }
    return PAWL_OK;
}

static enum pawl_err load_keys(struct pawl__backend *b, struct pawl__set *set)
{
    for (size_t i = set->key_count - set->unread_keys; i < set->key_count; i++) {
        for (size_t k = 0; k < b->held_count; k++) {
            if (memcmp(b->held[k].digest, set->keys[i].digest, 16) != 0) continue;
            pawl__key_hold(set, &set->keys[i],
                           &(struct pawl__key_holder){ .id = b->held[k].id, .stored = true });
        }
    }
    return PAWL_OK;
}

static enum pawl_err lane(struct pawl__backend *b, const char *queue, const char *type,
                          uint32_t *out, struct pawl_diag *diag)
{
    (void)b, (void)type;
    *out = 0;
    return queue ? PAWL_OK : pawl__fail(diag, PAWL_ERR_ARG, "no queue");
}

static enum pawl_err store(struct pawl__backend *b, struct pawl__set *set)
{
    b->stores++;
    for (size_t i = 0; i < set->row_count; i++) {
        const struct pawl__row *row = pawl__set_at(set, i);
        if (!row->wrote && !row->birth) continue;
        struct pawl__row *to = row->birth ? &b->rows[b->count++] : stored(b, row->id);
        int64_t rank = row->birth || row->wrote & PAWL__WROTE_FACTS ? row->rank : to->rank;
        *to = *row;
        to->rank = rank;
        if (row->gone) to->found = PAWL__FOUND_ABSENT;
        to->wrote = to->need = to->gone = 0;
        to->restored = to->end_new = false;
        to->birth = NULL;
        if (row->birth) to->keys = (struct pawl_span){ "", 0 }; // not the set's memory
    }
    const struct pawl__key_row *puts = set->lists[PAWL__TABLE_KEY_PUT].rows;
    for (size_t i = 0; i < set->lists[PAWL__TABLE_KEY_PUT].count; i++) {
        memcpy(b->held[b->held_count].digest, puts[i].digest.at, 16);
        b->held[b->held_count++].id = puts[i].id;
    }
    const struct pawl__key_row *drops = set->lists[PAWL__TABLE_KEY_DROP].rows;
    for (size_t i = 0; i < set->lists[PAWL__TABLE_KEY_DROP].count; i++) {
        for (size_t k = 0; k < b->held_count; k++) {
            if (memcmp(&b->held[k].id, &drops[i].id, 16) == 0)
                b->held[k--] = b->held[--b->held_count];
        }
    }
    if (set->lists[PAWL__TABLE_PROGRESS].count) {
        b->progress = *(const struct pawl__progress *)set->lists[PAWL__TABLE_PROGRESS].rows;
    }
    for (size_t i = 0; i < PAWL__TABLES; i++) {
        b->put[i] += (int)set->lists[i].count;
    }
    return PAWL_OK;
}

static void count(struct pawl__backend *b, uint32_t lane, enum pawl_state from, enum pawl_state to)
{
    (void)lane;
    if (from != PAWL__OUTSIDE) b->counts[from]--;
    if (to != PAWL__OUTSIDE) b->counts[to]++;
}

static enum pawl_err scan_due(struct pawl__backend *b, enum pawl__due what, int64_t limit,
                              struct pawl_job_id *ids, size_t *found, bool *more)
{
    (void)what;
    assert_true((int64_t)b->found_count <= limit);
    memcpy(ids, b->found, b->found_count * sizeof *ids);
    *found = b->found_count;
    *more = false;
    return PAWL_OK;
}

static enum pawl_err forget_keys(struct pawl__backend *b, int64_t limit)
{
    (void)b, (void)limit;
    return PAWL_OK;
}

static enum pawl_err next_due(struct pawl__backend *b, enum pawl__due what, int64_t *at_ms)
{
    (void)b, (void)what;
    *at_ms = 77;
    return PAWL_OK;
}

static enum pawl_err match(struct pawl__backend *b, const struct pawl_filter *filter, int64_t limit,
                           struct pawl__arena *arena, struct pawl_job_id **ids, size_t *count)
{
    (void)filter, (void)arena;
    assert_true((int64_t)b->found_count <= limit);
    *ids = b->found;
    *count = b->found_count;
    return PAWL_OK;
}

static const struct pawl__core_table table = {
    .lane = lane,
    .load_keys = load_keys,
    .load = load,
    .store = store,
    .count = count,
    .scan_due = scan_due,
    .next_due = next_due,
    .forget_keys = forget_keys,
    .match = match,
};

static struct pawl__backend *open_store(void)
{
    static struct pawl__backend backend;
    backend = (struct pawl__backend){ .count = 0 };
    pawl__rng_seed(&backend.rng, 7);
    backend.set = (struct pawl__set){ .table = &table,
                                      .backend = &backend,
                                      .rng = &backend.rng,
                                      .tale = &backend.tale,
                                      .catalog = &backend.catalog,
                                      .now_ms = NOW_MS,
                                      .diag = &backend.diag };
    assert_int_equal(pawl__catalog_learn_queue(&backend.catalog, 1, "mail", false, NULL), PAWL_OK);
    assert_int_equal(pawl__catalog_learn_lane(&backend.catalog, 1, 1, "send", NULL), PAWL_OK);
    return &backend;
}

static void close_store(struct pawl__backend *b)
{
    assert_true(pawl__set_is_empty(&b->set));
    pawl__set_release(&b->set);
    pawl__tale_release(&b->tale);
    pawl__catalog_release(&b->catalog);
    pawl__arena_release(&b->arena);
}

static struct pawl_job_id id_of(uint32_t n)
{
    struct pawl_job_id id = { { 0 } };
    memcpy(id.b + 12,
           (uint8_t[]){ (uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n }, 4);
    return id;
}

static struct pawl__row *put(struct pawl__backend *b, uint32_t n, enum pawl_state state)
{
    struct pawl__row *row = &b->rows[b->count++];
    *row = (struct pawl__row){ .id = id_of(n),
                               .found = PAWL__FOUND_LIVE,
                               .state = state,
                               .attempts_max = 3,
                               .due_at_ms = 500,
                               .keys = { "", 0 },
                               .retry = { "", 0 } };
    if (state == PAWL_STATE_ACTIVE) {
        row->run = 1;
        row->started_at_ms = 600;
        row->lease_until_ms = NOW_MS - 1;
        row->worker = "w";
    }
    if (pawl_state_is_terminal(state)) {
        row->run = 1;
        row->has_end = true;
        row->finished_at_ms = 900;
        row->end_reason = "ended";
    }
    return row;
}

static void hold(struct pawl__backend *b, struct pawl__row *row, const char record[17])
{
    row->keys = (struct pawl_span){ record, 17 };
    memcpy(b->held[b->held_count].digest, record + 1, 16);
    b->held[b->held_count++].id = row->id;
}

#define BUSINESS_KEY                                                                               \
    "\x02"                                                                                         \
    "0123456789abcdef"

/* ---- operations ---- */

static struct pawl__op fail_op(uint32_t n, int64_t run)
{
    return (struct pawl__op){ .kind = PAWL__OP_FAIL,
                              .fail = { .ref = { id_of(n), run }, .report = { .code = "E" } } };
}

static struct pawl__op snooze_op(uint32_t n, int64_t run, int64_t delay_ms)
{
    return (struct pawl__op){ .kind = PAWL__OP_SNOOZE,
                              .snooze = { .ref = { id_of(n), run }, .delay_ms = delay_ms } };
}

static struct pawl__op complete_op(uint32_t n, int64_t run)
{
    return (struct pawl__op){ .kind = PAWL__OP_COMPLETE,
                              .complete = { .ref = { id_of(n), run }, .result = { "1", 1 } } };
}

static struct pawl__op control_op(uint32_t n, enum pawl_control control)
{
    return (struct pawl__op){ .kind = PAWL__OP_CONTROL,
                              .control = { .id = id_of(n), .control = control } };
}

static void run_ops(struct pawl__backend *b, struct pawl__op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(pawl__core_add(&b->set, &ops[i]), PAWL_OK);
    }
    assert_int_equal(pawl__core_run(&b->set), PAWL_OK);
    for (size_t i = 0; i < count; i++) {
        pawl__arena_release(&ops[i].arena);
    }
}

/* ---- the set ---- */

static void rows_are_found_by_id_and_stay_where_they_are(void **state)
{
    struct pawl__backend *b = open_store();
    struct pawl__row *first = pawl__set_want(&b->set, id_of(1), PAWL__NEED_RUN);
    for (uint32_t i = 2; i < 5000; i++) {
        assert_non_null(pawl__set_want(&b->set, id_of(i), PAWL__NEED_RUN));
    }
    assert_ptr_equal(pawl__set_find(&b->set, id_of(1)), first);
    assert_ptr_equal(pawl__set_want(&b->set, id_of(1), PAWL__NEED_FACTS), first);
    assert_int_equal(first->need, PAWL__NEED_RUN | PAWL__NEED_FACTS);
    assert_int_equal(b->set.unread_count, 4999);
    assert_null(pawl__set_find(&b->set, id_of(5000)));
    pawl__set_clear(&b->set);
    assert_null(pawl__set_find(&b->set, id_of(1)));
    for (uint32_t i = 0; i < 3; i++) { // few in a large index
        assert_non_null(pawl__set_want(&b->set, id_of(i), PAWL__NEED_RUN));
    }
    pawl__set_clear(&b->set);
    for (size_t i = 0; i < b->set.by_id.cap; i++) {
        assert_int_equal(b->set.by_id.slots[i], 0);
    }
    close_store(b);
}

static void many_operations_are_one_load_and_one_store(void **state)
{
    struct pawl__backend *b = open_store();
    struct pawl__op ops[64];
    for (uint32_t i = 0; i < COUNT(ops); i++) {
        put(b, 1000 - i, PAWL_STATE_ACTIVE); // load checks that they come in order of id
        ops[i] = snooze_op(1000 - i, 1, 5000);
    }
    run_ops(b, ops, COUNT(ops));
    assert_int_equal(b->loads, 1);
    assert_int_equal(b->stores, 1);
    assert_int_equal(b->counts[PAWL_STATE_SCHEDULED], COUNT(ops));
    assert_int_equal(b->rows[5].due_at_ms, NOW_MS + 5000);
    assert_int_equal(b->rows[5].free_runs, 1);
    close_store(b);
}

/* ---- order ---- */

static void operations_see_those_before_them(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_ACTIVE);
    struct pawl__op ops[] = {
        fail_op(1, 1),                      // retryable
        complete_op(1, 1),                  // too late
        control_op(1, PAWL_CONTROL_CANCEL), // cancelled
        control_op(1, PAWL_CONTROL_CANCEL), // is so already
        control_op(1, PAWL_CONTROL_RETRY),  // available
        control_op(1, PAWL_CONTROL_PAUSE),
        control_op(1, PAWL_CONTROL_PAUSE), // nothing to do
        control_op(1, PAWL_CONTROL_RESUME),
        fail_op(2, 1), // there is none
    };
    const enum pawl_err expected[] = { PAWL_OK, PAWL_ERR_STALE, PAWL_OK, PAWL_ERR_STATE,    PAWL_OK,
                                       PAWL_OK, PAWL_OK,        PAWL_OK, PAWL_ERR_NOT_FOUND };
    run_ops(b, ops, COUNT(ops));
    for (size_t i = 0; i < COUNT(ops); i++) {
        assert_int_equal(ops[i].err, expected[i]);
    }
    const struct pawl__row *row = &b->rows[0];
    assert_int_equal(row->state, PAWL_STATE_AVAILABLE);
    assert_int_equal(row->base_run, 1);
    assert_int_equal(row->due_at_ms, NOW_MS);
    assert_false(row->has_end);
    assert_int_equal(b->put[PAWL__TABLE_FAILURE], 1);
    assert_int_equal(b->put[PAWL__TABLE_AUDIT], 4); // without those that did nothing
    assert_int_equal(b->counts[PAWL_STATE_ACTIVE], -1);
    assert_int_equal(b->counts[PAWL_STATE_AVAILABLE], 1);
    assert_int_equal(b->counts[PAWL_STATE_CANCELLED], 0);
    close_store(b);
}

static void an_operation_that_is_refused_changes_nothing(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_COMPLETED);
    put(b, 2, PAWL_STATE_ACTIVE);
    struct pawl__op ops[] = { control_op(1, PAWL_CONTROL_CANCEL), snooze_op(2, 7, 100),
                              fail_op(2, 0) };
    run_ops(b, ops, COUNT(ops));
    assert_int_equal(ops[0].err, PAWL_ERR_STATE);
    assert_int_equal(ops[0].control.from, PAWL_STATE_COMPLETED);
    assert_int_equal(ops[1].err, PAWL_ERR_STALE);
    assert_int_equal(ops[2].err, PAWL_ERR_STALE);
    assert_int_equal(b->rows[0].state, PAWL_STATE_COMPLETED);
    assert_int_equal(b->rows[1].state, PAWL_STATE_ACTIVE);
    for (int i = 0; i < PAWL_STATE_END; i++) {
        assert_int_equal(b->counts[i], 0);
    }
    close_store(b);
}

static void a_completion_goes_its_own_way_unless_the_set_could_tell(void **state)
{
    struct pawl__backend *b = open_store();
    struct pawl__op complete = complete_op(1, 1), fail = fail_op(1, 1);
    struct pawl__op retry = control_op(2, PAWL_CONTROL_RETRY);
    assert_false(pawl__core_takes(&b->set, &complete));
    assert_true(pawl__core_takes(&b->set, &fail));
    assert_int_equal(pawl__core_add(&b->set, &fail), PAWL_OK);
    assert_true(pawl__core_takes(&b->set, &complete));
    complete = complete_op(3, 1);
    assert_false(pawl__core_takes(&b->set, &complete));
    assert_int_equal(pawl__core_add(&b->set, &retry), PAWL_OK); // asks about holders of its keys
    assert_false(pawl__core_takes(&b->set, &complete)); // posted singly: it may as well come first
    complete.chained = true;
    assert_true(pawl__core_takes(&b->set, &complete));
    assert_int_equal(pawl__core_run(&b->set), PAWL_OK);
    close_store(b);
}

static void what_did_not_go_its_own_way_comes_first(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_ACTIVE);
    struct pawl__op complete = complete_op(1, 1), cancel = control_op(1, PAWL_CONTROL_CANCEL);
    struct pawl__op late = complete_op(1, 1);
    assert_int_equal(pawl__core_add(&b->set, &cancel), PAWL_OK);
    assert_int_equal(pawl__core_add(&b->set, &complete), PAWL_OK);
    assert_int_equal(pawl__core_add(&b->set, &late), PAWL_OK);
    pawl__core_came_first(&b->set, 2);
    assert_int_equal(pawl__core_run(&b->set), PAWL_OK);
    assert_int_equal(complete.err, PAWL_OK);
    assert_int_equal(late.err, PAWL_ERR_STALE);
    assert_int_equal(cancel.err, PAWL_ERR_STATE);
    assert_int_equal(b->rows[0].state, PAWL_STATE_COMPLETED);
    close_store(b);
}

static void a_submit_goes_its_own_way_unless_it_asks_something(void **state)
{
    struct pawl__backend *b = open_store();
    struct pawl__new_job job = { .id = id_of(1), .fresh_id = true };
    struct pawl__op submit = { .kind = PAWL__OP_SUBMIT, .submit = { .jobs = &job, .count = 1 } };
    struct pawl__op cancel = control_op(1, PAWL_CONTROL_CANCEL);
    assert_false(pawl__core_takes(&b->set, &submit));
    job.fresh_id = false;
    assert_true(pawl__core_takes(&b->set, &submit)); // somebody may have it
    job = (struct pawl__new_job){ .id = id_of(1), .fresh_id = true, .key_count = 1 };
    assert_true(pawl__core_takes(&b->set, &submit)); // somebody may hold its key
    job.key_count = 0;
    assert_int_equal(pawl__core_add(&b->set, &cancel), PAWL_OK);
    assert_true(pawl__core_takes(&b->set, &submit)); // the cancel must not find it
    b->set.careful = true;
    job.id = id_of(2);
    assert_true(pawl__core_takes(&b->set, &submit));
    b->set.careful = false;
    assert_false(pawl__core_takes(&b->set, &submit));
    assert_int_equal(pawl__core_run(&b->set), PAWL_OK);
    assert_int_equal(cancel.err, PAWL_ERR_NOT_FOUND);
    close_store(b);
}

/* ---- ends ---- */

static void a_job_paused_after_its_end_goes_back_to_it(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_DISCARDED);
    b->rows[0].rank = -1; // of no use any more
    struct pawl__op pause = control_op(1, PAWL_CONTROL_PAUSE);
    struct pawl__op resume = control_op(1, PAWL_CONTROL_RESUME);
    run_ops(b, &pause, 1);
    assert_int_equal(b->rows[0].state, PAWL_STATE_PAUSED);
    assert_int_equal(b->rows[0].paused_from, PAWL_STATE_DISCARDED);
    assert_true(b->rows[0].has_end);
    assert_int_not_equal(b->rows[0].rank, -1);
    run_ops(b, &resume, 1);
    assert_int_equal(b->rows[0].state, PAWL_STATE_DISCARDED);
    assert_int_equal(b->rows[0].finished_at_ms, 900);
    assert_string_equal(b->rows[0].end_reason, "ended");
    close_store(b);
}

static void a_job_paused_after_its_end_can_end_anew(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_DISCARDED);
    struct pawl__op ops[] = { control_op(1, PAWL_CONTROL_PAUSE),
                              control_op(1, PAWL_CONTROL_CANCEL) };
    run_ops(b, ops, COUNT(ops));
    assert_int_equal(ops[1].err, PAWL_OK);
    assert_int_equal(b->rows[0].state, PAWL_STATE_CANCELLED);
    assert_int_equal(b->rows[0].finished_at_ms, NOW_MS);
    assert_string_equal(b->rows[0].end_reason, "cancelled on request");
    close_store(b);
}

static void an_archived_job_comes_back_only_if_something_is_done_to_it(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_CANCELLED)->found = PAWL__FOUND_ARCHIVED;
    struct pawl__op refused = control_op(1, PAWL_CONTROL_CANCEL);
    struct pawl__op stale = fail_op(1, 1);
    struct pawl__op retry = control_op(1, PAWL_CONTROL_RETRY);
    run_ops(b, &refused, 1);
    assert_int_equal(refused.err, PAWL_ERR_STATE);
    run_ops(b, &stale, 1);
    assert_int_equal(stale.err, PAWL_ERR_STALE);
    assert_int_equal(b->rows[0].found, PAWL__FOUND_ARCHIVED);
    run_ops(b, &retry, 1);
    assert_int_equal(retry.err, PAWL_OK);
    assert_int_equal(b->rows[0].found, PAWL__FOUND_LIVE);
    assert_int_equal(b->rows[0].state, PAWL_STATE_AVAILABLE);
    assert_int_equal(b->counts[PAWL_STATE_NONE], -1); // the archive
    assert_int_equal(b->counts[PAWL_STATE_AVAILABLE], 1);
    close_store(b);
}

/* ---- keys ---- */

static void a_revived_job_needs_its_business_key(void **state)
{
    struct pawl__backend *b = open_store();
    hold(b, put(b, 1, PAWL_STATE_CANCELLED), BUSINESS_KEY);
    hold(b, put(b, 2, PAWL_STATE_ACTIVE), BUSINESS_KEY);
    struct pawl__op retry = control_op(1, PAWL_CONTROL_RETRY);
    struct pawl_diag diag = { 0 };
    retry.diag = &diag;
    run_ops(b, &retry, 1);
    assert_int_equal(retry.err, PAWL_ERR_DUPLICATE);
    assert_string_equal(diag.field, "business_key");
    assert_int_equal(b->rows[0].state, PAWL_STATE_CANCELLED);
    struct pawl__op ops[] = { complete_op(2, 1), control_op(1, PAWL_CONTROL_RETRY) };
    run_ops(b, ops, COUNT(ops)); // the completion is seen
    assert_int_equal(ops[1].err, PAWL_OK);
    assert_int_equal(b->rows[0].state, PAWL_STATE_AVAILABLE);
    close_store(b);
}

static void of_two_that_are_revived_the_first_has_the_key(void **state)
{
    struct pawl__backend *b = open_store();
    hold(b, put(b, 1, PAWL_STATE_CANCELLED), BUSINESS_KEY);
    hold(b, put(b, 2, PAWL_STATE_CANCELLED), BUSINESS_KEY);
    struct pawl__op ops[] = { control_op(2, PAWL_CONTROL_RETRY),
                              control_op(1, PAWL_CONTROL_RETRY) };
    run_ops(b, ops, COUNT(ops));
    assert_int_equal(ops[0].err, PAWL_OK);
    assert_int_equal(ops[1].err, PAWL_ERR_DUPLICATE);
    close_store(b);
}

/* ---- submits ---- */

static const struct pawl_job_spec work = { .type = "work", .queue = "default" };
static const struct pawl_job_spec lost = { .type = "work" }; // has no lane

/* A new job with a unique key for each of `keys`; a capital replaces, any other rejects. */
static struct pawl__new_job job_of(uint32_t n, const char *keys)
{
    struct pawl__new_job job = { .id = id_of(n), .fresh_id = true, .spec = &work };
    for (; *keys; keys++) {
        struct pawl__key *key = &job.keys[job.key_count++];
        bool replaces = *keys >= 'A' && *keys <= 'Z';
        *key = (struct pawl__key){
            .kind = PAWL__KEY_UNIQUE,
            .states = PAWL_STATE_BIT(PAWL_STATE_AVAILABLE) | PAWL_STATE_BIT(PAWL_STATE_ACTIVE),
            .on_conflict = replaces ? PAWL_CONFLICT_REPLACE : PAWL_CONFLICT_REJECT
        };
        memset(key->digest, replaces ? *keys - 'A' + 'a' : *keys, sizeof key->digest);
    }
    return job;
}

static struct pawl__op submit_op(const struct pawl__new_job *jobs, size_t count,
                                 struct pawl_submitted *out)
{
    return (struct pawl__op){ .kind = PAWL__OP_SUBMIT,
                              .submit = { .jobs = jobs, .count = count, .out = out } };
}

static void jobs_of_a_batch_meet_in_memory(void **state)
{
    struct pawl__backend *b = open_store();
    const struct pawl__new_job jobs[] = { job_of(1, "a"), job_of(2, "a"), job_of(3, "A"),
                                          job_of(4, "b") };
    struct pawl_submitted out[4] = { { .state = PAWL_STATE_NONE } };
    struct pawl__op ops[] = { submit_op(&jobs[0], 1, &out[0]), submit_op(&jobs[1], 1, &out[1]),
                              submit_op(&jobs[2], 1, &out[2]), submit_op(&jobs[3], 1, &out[3]) };
    run_ops(b, ops, COUNT(ops));
    assert_int_equal(ops[0].err, PAWL_OK);
    assert_int_equal(ops[1].err, PAWL_ERR_DUPLICATE);
    assert_memory_equal(&ops[1].submit.holder.id, &jobs[0].id, sizeof jobs[0].id);
    assert_int_equal(ops[2].err, PAWL_OK);
    assert_true(out[2].replaced);
    assert_int_equal(ops[3].err, PAWL_OK);
    assert_int_equal(b->loads, 0); // no holder was there, and no id need be looked for
    assert_int_equal(b->stores, 1);
    assert_int_equal(b->count, 3);
    assert_int_equal(stored(b, id_of(1))->state, PAWL_STATE_CANCELLED);
    assert_int_equal(stored(b, id_of(3))->state, PAWL_STATE_AVAILABLE);
    assert_int_equal(b->counts[PAWL_STATE_AVAILABLE], 2);
    assert_int_equal(b->counts[PAWL_STATE_CANCELLED], 1);
    assert_int_equal(b->put[PAWL__TABLE_AUDIT], 1);
    assert_int_equal(b->held_count, 3);
    close_store(b);
}

/* The first of them has replaced a job that ran, the second is refused. */
static void a_submit_that_fails_late_is_taken_back(void **state)
{
    struct pawl__backend *b = open_store();
    hold(b, put(b, 1, PAWL_STATE_ACTIVE),
         "\x03"
         "aaaaaaaaaaaaaaaa");
    hold(b, put(b, 2, PAWL_STATE_ACTIVE),
         "\x03"
         "bbbbbbbbbbbbbbbb");
    struct pawl__new_job jobs[] = { job_of(3, "A"), job_of(4, "b") };
    struct pawl_submitted out[2] = { { .state = PAWL_STATE_NONE } };
    struct pawl__op ops[] = { submit_op(jobs, 2, out), complete_op(1, 1),
                              control_op(3, PAWL_CONTROL_CANCEL) };
    run_ops(b, ops, COUNT(ops));
    assert_int_equal(ops[0].err, PAWL_ERR_DUPLICATE);
    assert_int_equal(ops[0].submit.failed_index, 1);
    assert_int_equal(out[0].state, PAWL_STATE_NONE);
    assert_int_equal(ops[1].err, PAWL_OK); // it still runs
    assert_int_equal(ops[2].err, PAWL_ERR_NOT_FOUND);
    assert_int_equal(b->count, 2);
    assert_int_equal(b->held_count, 2);
    assert_int_equal(b->put[PAWL__TABLE_KEY_DROP], 0);
    assert_int_equal(b->put[PAWL__TABLE_AUDIT], 0);
    assert_false(b->tale.control);
    assert_int_equal(b->counts[PAWL_STATE_ACTIVE], -1);
    assert_int_equal(b->counts[PAWL_STATE_COMPLETED], 1);
    assert_int_equal(b->counts[PAWL_STATE_AVAILABLE], 0);
    close_store(b);
}

/* Whatever it is that refuses it, of one job or of several. */
static void a_refused_submit_leaves_its_keys_and_its_id_free(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_AVAILABLE);
    struct pawl__new_job jobs[] = { job_of(2, "a"), job_of(1, "b") };
    struct pawl__new_job nowhere[] = { job_of(2, "a"), job_of(3, "b") };
    struct pawl__new_job after[] = { job_of(2, "ab") };
    jobs[1].fresh_id = false;
    nowhere[1].spec = &lost;
    struct pawl_submitted out[2];
    struct pawl__op ops[] = { submit_op(jobs, 2, out), submit_op(nowhere, 2, out),
                              submit_op(after, 1, out) };
    run_ops(b, ops, COUNT(ops));
    assert_int_equal(ops[0].err, PAWL_ERR_EXISTS);
    assert_int_equal(ops[1].err, PAWL_ERR_ARG);
    assert_int_equal(ops[2].err, PAWL_OK);
    assert_int_equal(b->count, 2);
    assert_int_equal(b->held_count, 2);
    assert_int_equal(b->counts[PAWL_STATE_AVAILABLE], 1);
    close_store(b);
}

static void of_the_holders_that_ended_the_newest_are_remembered(void **state)
{
    enum { OLD = PAWL__KEY_HOLDERS_KEPT + 4 };
    struct pawl__backend *b = open_store();
    for (uint32_t i = 1; i <= OLD; i++) {
        hold(b, put(b, i, PAWL_STATE_COMPLETED),
             "\x03"
             "aaaaaaaaaaaaaaaa");
    }
    const struct pawl__new_job jobs[] = { job_of(100, "a"), job_of(101, "a") };
    struct pawl_submitted out[2];
    struct pawl__op together = submit_op(jobs, 2, out), alone = submit_op(jobs, 1, out);
    run_ops(b, &together, 1);
    assert_int_equal(together.err, PAWL_ERR_DUPLICATE); // of the first, which did not happen
    assert_int_equal(b->put[PAWL__TABLE_KEY_DROP], 0);
    run_ops(b, &alone, 1);
    assert_int_equal(alone.err, PAWL_OK);
    assert_int_equal(b->put[PAWL__TABLE_KEY_DROP], OLD - PAWL__KEY_HOLDERS_KEPT);
    close_store(b);
}

/* ---- scans ---- */

static void a_bulk_that_meets_a_taken_key_moves_nothing(void **state)
{
    struct pawl__backend *b = open_store();
    struct pawl_filter filter = { .states = 0 };
    put(b, 1, PAWL_STATE_CANCELLED);
    hold(b, put(b, 2, PAWL_STATE_CANCELLED), BUSINESS_KEY);
    hold(b, put(b, 3, PAWL_STATE_ACTIVE), BUSINESS_KEY);
    b->found[0] = id_of(1);
    b->found[1] = id_of(2);
    b->found_count = 2;
    struct pawl__op bulk = { .kind = PAWL__OP_BULK,
                             .bulk = {
                                 .filter = &filter, .control = PAWL_CONTROL_RETRY, .limit = 10 } };
    assert_true(pawl__core_scans(&bulk));
    assert_int_equal(pawl__core_scan(&b->set, &bulk), PAWL_OK);
    assert_int_equal(bulk.err, PAWL_ERR_DUPLICATE);
    assert_int_equal(bulk.bulk.moved, 0);
    assert_int_equal(b->stores, 0);
    b->rows[2].state = PAWL_STATE_COMPLETED;
    assert_int_equal(pawl__core_scan(&b->set, &bulk), PAWL_OK);
    assert_int_equal(bulk.err, PAWL_OK);
    assert_int_equal(bulk.bulk.moved, 2);
    close_store(b);
}

/* It was scheduled when the scan found it, and has been claimed since. */
static void a_bulk_leaves_alone_what_no_longer_matches(void **state)
{
    struct pawl__backend *b = open_store();
    struct pawl_filter filter = { .states = PAWL_STATE_BIT(PAWL_STATE_SCHEDULED) };
    put(b, 1, PAWL_STATE_ACTIVE);
    put(b, 2, PAWL_STATE_SCHEDULED);
    b->found[0] = id_of(1);
    b->found[1] = id_of(2);
    b->found_count = 2;
    struct pawl__op bulk = { .kind = PAWL__OP_BULK,
                             .bulk = {
                                 .filter = &filter, .control = PAWL_CONTROL_CANCEL, .limit = 10 } };
    assert_int_equal(pawl__core_scan(&b->set, &bulk), PAWL_OK);
    assert_int_equal(bulk.err, PAWL_OK);
    assert_int_equal(bulk.bulk.moved, 1);
    assert_int_equal(b->rows[0].state, PAWL_STATE_ACTIVE);
    close_store(b);
}

static void due_jobs_become_available(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_SCHEDULED);
    put(b, 2, PAWL_STATE_RETRYABLE)->worker = "w";
    put(b, 3, PAWL_STATE_SCHEDULED)->due_at_ms = NOW_MS + 1; // it was snoozed meanwhile
    put(b, 4, PAWL_STATE_CANCELLED);
    for (uint32_t i = 1; i <= 5; i++) { // the fifth is gone
        b->found[b->found_count++] = id_of(i);
    }
    struct pawl__op promote = { .kind = PAWL__OP_PROMOTE, .sweep = { .limit = 10 } };
    assert_int_equal(pawl__core_scan(&b->set, &promote), PAWL_OK);
    assert_int_equal(promote.sweep.moved, 2);
    assert_int_equal(promote.sweep.next_at_ms, 77);
    assert_int_equal(b->rows[0].state, PAWL_STATE_AVAILABLE);
    assert_int_equal(b->rows[1].state, PAWL_STATE_AVAILABLE);
    assert_null(b->rows[1].worker);
    assert_int_equal(b->rows[2].state, PAWL_STATE_SCHEDULED);
    assert_int_equal(b->rows[3].state, PAWL_STATE_CANCELLED);
    pawl__arena_release(&promote.arena);
    close_store(b);
}

/* The backend moves some by itself; the set is for the others. */
static enum pawl_err promote_plain(struct pawl__backend *b, int64_t limit, struct pawl_job_id *ids,
                                   size_t *found, int64_t *moved, bool *more)
{
    *moved = 40;
    return scan_due(b, PAWL__DUE_RUN, limit, ids, found, more);
}

static void what_the_backend_promoted_is_counted(void **state)
{
    struct pawl__backend *b = open_store();
    struct pawl__core_table quick = table;
    quick.promote_plain = promote_plain;
    b->set.table = &quick;
    put(b, 1, PAWL_STATE_SCHEDULED);
    b->found[b->found_count++] = id_of(1);
    struct pawl__op promote = { .kind = PAWL__OP_PROMOTE, .sweep = { .limit = 100 } };
    assert_int_equal(pawl__core_scan(&b->set, &promote), PAWL_OK);
    assert_int_equal(promote.sweep.moved, 41);
    assert_int_equal(b->rows[0].state, PAWL_STATE_AVAILABLE);
    pawl__arena_release(&promote.arena);
    close_store(b);
}

static void a_lease_that_ended_is_charged_until_it_is_a_poison_pill(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_ACTIVE);
    put(b, 2, PAWL_STATE_ACTIVE)->crashes = PAWL__CRASHES_MAX - 1;
    put(b, 3, PAWL_STATE_PENDING)->lease_until_ms = 5; // routed
    for (uint32_t i = 0; i < 3; i++) {
        b->found[b->found_count++] = id_of(i + 1);
    }
    struct pawl__op lapse = { .kind = PAWL__OP_LAPSE, .sweep = { .limit = 10 } };
    assert_int_equal(pawl__core_scan(&b->set, &lapse), PAWL_OK);
    assert_int_equal(lapse.sweep.moved, 3);
    assert_int_equal(lapse.sweep.next_at_ms, 77);
    assert_int_equal(b->rows[0].state, PAWL_STATE_AVAILABLE);
    assert_int_equal(b->rows[1].state, PAWL_STATE_DISCARDED);
    assert_int_equal(b->rows[2].state, PAWL_STATE_AVAILABLE);
    assert_int_equal(b->put[PAWL__TABLE_FAILURE], 2);
    pawl__arena_release(&lapse.arena);
    close_store(b);
}

static void a_damaged_retry_policy_does_not_hold_up_others(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_ACTIVE)->retry = (struct pawl_span){ "not JSON", 8 };
    put(b, 2, PAWL_STATE_ACTIVE);
    b->found[b->found_count++] = id_of(1);
    b->found[b->found_count++] = id_of(2);
    struct pawl__op lapse = { .kind = PAWL__OP_LAPSE, .sweep = { .limit = 10 } };
    assert_int_equal(pawl__core_scan(&b->set, &lapse), PAWL_OK);
    assert_int_equal(lapse.err, PAWL_OK);
    assert_int_equal(lapse.sweep.moved, 2);
    assert_int_equal(b->rows[0].state, PAWL_STATE_DISCARDED);
    assert_string_equal(b->rows[0].end_reason, "its retry policy is damaged");
    assert_true(b->rows[0].dead_letter);
    assert_int_equal(b->rows[1].state, PAWL_STATE_AVAILABLE);
    pawl__arena_release(&lapse.arena);
    close_store(b);
}

static void jobs_expire_unless_they_run_or_were_revived(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_AVAILABLE)->expires_at_ms = NOW_MS;
    put(b, 2, PAWL_STATE_ACTIVE)->expires_at_ms = NOW_MS;
    put(b, 3, PAWL_STATE_PAUSED)->expires_at_ms = NOW_MS - 1;
    put(b, 4, PAWL_STATE_AVAILABLE); // its time to live was over when it was retried
    put(b, 5, PAWL_STATE_SCHEDULED)->expires_at_ms = NOW_MS + 1;
    for (uint32_t i = 1; i <= 6; i++) { // the sixth is gone
        b->found[b->found_count++] = id_of(i);
    }
    struct pawl__op expire = { .kind = PAWL__OP_EXPIRE, .sweep = { .limit = 10 } };
    assert_int_equal(pawl__core_scan(&b->set, &expire), PAWL_OK);
    assert_int_equal(expire.sweep.moved, 1);
    assert_int_equal(expire.sweep.next_at_ms, 77);
    assert_int_equal(b->rows[0].state, PAWL_STATE_EXPIRED);
    assert_string_equal(b->rows[0].end_reason, "expired before it could run");
    assert_int_equal(b->rows[1].state, PAWL_STATE_ACTIVE);
    assert_int_equal(b->rows[2].state, PAWL_STATE_PAUSED);
    assert_int_equal(b->rows[3].state, PAWL_STATE_AVAILABLE);
    assert_int_equal(b->rows[4].state, PAWL_STATE_SCHEDULED);
    pawl__arena_release(&expire.arena);
    close_store(b);
}

/* ---- while it runs ---- */

static void only_its_owner_extends_a_lease_that_has_not_ended(void **state)
{
    struct pawl__backend *b = open_store();
    for (uint32_t i = 1; i <= 3; i++) {
        put(b, i, PAWL_STATE_ACTIVE)->lease_until_ms = NOW_MS + (i != 3);
    }
    b->rows[1].timeout_ms = NOW_MS + 40 - b->rows[1].started_at_ms;
    const struct pawl_run refs[] = {
        { id_of(1), 1 }, { id_of(1), 2 }, { id_of(2), 1 }, { id_of(3), 1 }, { id_of(4), 1 }
    };
    const enum pawl_err expected[] = { PAWL_OK, PAWL_ERR_STALE, PAWL_OK, PAWL_ERR_STALE,
                                       PAWL_ERR_NOT_FOUND };
    enum pawl_err results[COUNT(refs)];
    struct pawl__op extend = { .kind = PAWL__OP_EXTEND,
                               .extend = { .refs = refs,
                                           .count = COUNT(refs),
                                           .lease_ms = 50,
                                           .timed = true,
                                           .results = results } };
    run_ops(b, &extend, 1);
    for (size_t i = 0; i < COUNT(refs); i++) {
        assert_int_equal(results[i], expected[i]);
    }
    assert_int_equal(b->rows[0].lease_until_ms, NOW_MS + 50);
    assert_int_equal(b->rows[1].lease_until_ms, NOW_MS + 40); // until its timeout
    assert_int_equal(b->rows[2].lease_until_ms, NOW_MS);
    extend.extend.lease_ms = 40;
    extend.extend.timed = false;
    run_ops(b, &extend, 1);
    assert_int_equal(b->rows[0].lease_until_ms, NOW_MS + 40);
    assert_int_equal(b->rows[1].lease_until_ms, NOW_MS + 41); // not just with its timeout
    close_store(b);
}

static struct pawl__op progress_op(uint32_t n, int64_t run, double value, const char *message)
{
    return (struct pawl__op){ .kind = PAWL__OP_PROGRESS,
                              .progress = { .ref = { id_of(n), run },
                                            .value = value,
                                            .message = { message, strlen(message) } } };
}

static void progress_never_goes_back(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_ACTIVE);
    put(b, 2, PAWL_STATE_AVAILABLE);
    struct pawl__op ops[] = { progress_op(1, 1, 0.5, "half"), progress_op(1, 1, 0.25, ""),
                              progress_op(1, 0, -1, "still"), progress_op(1, 2, 1, "late"),
                              progress_op(2, 0, 1, "early") };
    const enum pawl_err expected[] = { PAWL_OK, PAWL_OK, PAWL_OK, PAWL_ERR_STALE, PAWL_ERR_STATE };
    run_ops(b, ops, COUNT(ops));
    for (size_t i = 0; i < COUNT(ops); i++) {
        assert_int_equal(ops[i].err, expected[i]);
    }
    assert_int_equal(b->put[PAWL__TABLE_PROGRESS], 1);
    assert_true(b->progress.value == 0.5);
    assert_string_equal(b->progress.message.at, "still");
    assert_int_equal(b->progress.run, 1);
    close_store(b);
}

static void checkpoints_are_numbered_until_they_are_deleted(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_ACTIVE);
    struct pawl__op ops[4];
    for (size_t i = 0; i < COUNT(ops); i++) {
        ops[i] = (struct pawl__op){ .kind = PAWL__OP_CHECKPOINT,
                                    .checkpoint = { .ref = { id_of(1), 1 },
                                                    .state = { "{}", i == 2 ? 0 : 2 } } };
    }
    run_ops(b, ops, COUNT(ops));
    assert_int_equal(ops[1].checkpoint.sequence, 2);
    assert_int_equal(ops[2].checkpoint.sequence, 0);
    assert_int_equal(ops[3].checkpoint.sequence, 1);
    assert_int_equal(b->put[PAWL__TABLE_CHECKPOINT_PUT], 1);
    assert_int_equal(b->put[PAWL__TABLE_CHECKPOINT_DROP], 0);
    close_store(b);
}

/* ---- priority and deletion ---- */

static void a_new_priority_is_a_new_rank(void **state)
{
    struct pawl__backend *b = open_store();
    b->set.boost_ms = 10;
    put(b, 1, PAWL_STATE_AVAILABLE);
    put(b, 2, PAWL_STATE_ACTIVE);
    struct pawl__op ops[2];
    for (uint32_t i = 0; i < COUNT(ops); i++) {
        ops[i] = (struct pawl__op){ .kind = PAWL__OP_PRIORITY,
                                    .priority = { .id = id_of(i + 1), .priority = 7 } };
    }
    run_ops(b, ops, COUNT(ops));
    assert_int_equal(ops[0].err, PAWL_OK);
    assert_int_equal(ops[1].err, PAWL_ERR_STATE);
    assert_int_equal(b->rows[0].priority, 7);
    assert_int_equal(b->rows[0].rank, 500 - 7 * 10);
    assert_int_equal(b->rows[1].priority, 0);
    assert_int_equal(b->put[PAWL__TABLE_AUDIT], 1);
    close_store(b);
}

static void what_is_deleted_is_unknown_and_its_key_free(void **state)
{
    struct pawl__backend *b = open_store();
    hold(b, put(b, 1, PAWL_STATE_CANCELLED), BUSINESS_KEY);
    hold(b, put(b, 2, PAWL_STATE_ACTIVE), BUSINESS_KEY);
    put(b, 3, PAWL_STATE_COMPLETED)->found = PAWL__FOUND_ARCHIVED;
    struct pawl__op ops[5] = { control_op(2, PAWL_CONTROL_CANCEL) };
    const uint32_t ids[] = { 1, 2, 3, 2 };
    for (size_t i = 0; i < COUNT(ids); i++) {
        ops[i + 1] =
            (struct pawl__op){ .kind = PAWL__OP_DELETE, .remove = { .id = id_of(ids[i]) } };
    }
    run_ops(b, ops, COUNT(ops));
    const enum pawl_err expected[] = { PAWL_OK, PAWL_OK, PAWL_OK, PAWL_OK, PAWL_ERR_NOT_FOUND };
    for (size_t i = 0; i < COUNT(ops); i++) {
        assert_int_equal(ops[i].err, expected[i]);
    }
    assert_int_equal(b->held_count, 0);
    assert_int_equal(b->counts[PAWL_STATE_CANCELLED], -1); // one came and both went
    assert_int_equal(b->counts[PAWL_STATE_NONE], -1);
    assert_int_equal(b->put[PAWL__TABLE_AUDIT], 4);
    close_store(b);
}

static void listeners_hear_of_interference_with_runs_alone(void **state)
{
    struct pawl__backend *b = open_store();
    put(b, 1, PAWL_STATE_ACTIVE);
    put(b, 2, PAWL_STATE_AVAILABLE);
    struct pawl__op ops[] = { control_op(1, PAWL_CONTROL_CANCEL),
                              control_op(2, PAWL_CONTROL_CANCEL) };
    run_ops(b, ops, COUNT(ops));
    assert_true(b->tale.control);
    assert_int_equal(b->tale.move_count, 1);
    assert_memory_equal(&b->tale.moves[0].id, &ops[0].control.id, sizeof(struct pawl_job_id));
    assert_string_equal(b->tale.moves[0].queue, "mail");
    close_store(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_found_by_id_and_stay_where_they_are),
        cmocka_unit_test(many_operations_are_one_load_and_one_store),
        cmocka_unit_test(operations_see_those_before_them),
        cmocka_unit_test(an_operation_that_is_refused_changes_nothing),
        cmocka_unit_test(a_completion_goes_its_own_way_unless_the_set_could_tell),
        cmocka_unit_test(what_did_not_go_its_own_way_comes_first),
        cmocka_unit_test(a_submit_goes_its_own_way_unless_it_asks_something),
        cmocka_unit_test(a_job_paused_after_its_end_goes_back_to_it),
        cmocka_unit_test(a_job_paused_after_its_end_can_end_anew),
        cmocka_unit_test(an_archived_job_comes_back_only_if_something_is_done_to_it),
        cmocka_unit_test(a_revived_job_needs_its_business_key),
        cmocka_unit_test(of_two_that_are_revived_the_first_has_the_key),
        cmocka_unit_test(jobs_of_a_batch_meet_in_memory),
        cmocka_unit_test(a_submit_that_fails_late_is_taken_back),
        cmocka_unit_test(a_refused_submit_leaves_its_keys_and_its_id_free),
        cmocka_unit_test(of_the_holders_that_ended_the_newest_are_remembered),
        cmocka_unit_test(a_bulk_that_meets_a_taken_key_moves_nothing),
        cmocka_unit_test(a_bulk_leaves_alone_what_no_longer_matches),
        cmocka_unit_test(due_jobs_become_available),
        cmocka_unit_test(what_the_backend_promoted_is_counted),
        cmocka_unit_test(a_lease_that_ended_is_charged_until_it_is_a_poison_pill),
        cmocka_unit_test(a_damaged_retry_policy_does_not_hold_up_others),
        cmocka_unit_test(jobs_expire_unless_they_run_or_were_revived),
        cmocka_unit_test(only_its_owner_extends_a_lease_that_has_not_ended),
        cmocka_unit_test(progress_never_goes_back),
        cmocka_unit_test(checkpoints_are_numbered_until_they_are_deleted),
        cmocka_unit_test(a_new_priority_is_a_new_rank),
        cmocka_unit_test(what_is_deleted_is_unknown_and_its_key_free),
        cmocka_unit_test(listeners_hear_of_interference_with_runs_alone),
    };
    return cmocka_run_group_tests_name("core", tests, NULL, NULL);
}
