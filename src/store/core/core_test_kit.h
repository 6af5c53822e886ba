/* The rules, without a database: a backend whose rows are in an array, and operations in one line.
 * Not part of the library. */
#ifndef PAWL_STORE_CORE_TEST_KIT_H
#define PAWL_STORE_CORE_TEST_KIT_H

#include "store/core/set.h"

#include "base/diag.h"
#include "base/test_kit.h"
#include "store/core/course.h"

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
    bool keys_held; /* by another transaction, for who does not wait */
    size_t keys_read;
    struct pawl__set set;
    struct pawl_diag diag;
    struct pawl__arena arena; /* operations' results */
    int loads, stores;
    int put[PAWL__TABLES];          /* rows of other tables */
    struct pawl__progress progress; /* the first of the newest batch */
    struct pawl_job_id found[8];    /* what scans find */
    size_t found_count;
};

/* How moves changed the number of jobs in a state. */
static inline int64_t counted(const struct pawl__backend *b, enum pawl_state state)
{
    return b->set.catalog.lanes[0]->delta[state];
}

static inline struct pawl__row *stored(struct pawl__backend *b, struct pawl_job_id id)
{
    for (size_t i = 0; i < b->count; i++) {
        if (memcmp(&b->rows[i].id, &id, sizeof id) == 0) return &b->rows[i];
    }
    return NULL;
}

static inline enum pawl_err load(struct pawl__backend *b, struct pawl__set *set, bool wait)
{
    (void)wait; // nobody holds anything
    b->loads++;
    for (size_t i = 0; i < set->unread_count; i++) {
        struct pawl__row *row = set->unread[i];
        assert_true(i == 0 || memcmp(&set->unread[i - 1]->id, &row->id, sizeof row->id) < 0);
        const struct pawl__row *from = stored(b, row->id);
        struct pawl__row asked = *row;
        if (from) *row = *from;
        if (!from) row->found = PAWL__FOUND_ABSENT;
        row->need = asked.need;
        row->run_data = asked.run_data;
        if (from) pawl__row_loaded(set, row, (enum pawl__found)from->found);
        row->has |= PAWL__NEED_CRASHES | PAWL__NEED_RUN_DATA;
        if (row->job) row->has |= PAWL__NEED_JOB;
    }
    return PAWL_OK;
}

static inline enum pawl_err load_keys(struct pawl__backend *b, struct pawl__set *set, bool wait)
{
    b->keys_read += set->unread_keys;
    for (size_t i = set->key_count - set->unread_keys; i < set->key_count; i++) {
        set->keys[i].held = !wait && b->keys_held;
        for (size_t k = 0; k < b->held_count; k++) {
            if (memcmp(b->held[k].digest, set->keys[i].digest, 16) != 0) continue;
            pawl__key_hold(set, &set->keys[i],
                           &(struct pawl__key_holder){ .id = b->held[k].id, .stored = true });
        }
    }
    return PAWL_OK;
}

static inline enum pawl_err lane(struct pawl__backend *b, const char *queue, const char *type,
                                 uint32_t *out, struct pawl_diag *diag)
{
    (void)b, (void)type;
    *out = 0;
    return queue ? PAWL_OK : pawl__fail(diag, PAWL_ERR_ARG, "no queue");
}

static inline bool is_holder(const struct pawl__backend *b, const struct pawl__key_row *key)
{
    for (size_t i = 0; i < b->held_count; i++) {
        bool same = memcmp(b->held[i].digest, key->digest.at, 16) == 0 &&
                    memcmp(&b->held[i].id, &key->id, sizeof key->id) == 0;
        if (same) return true;
    }
    return false;
}

/* Is something there that is to be new? */
static inline bool is_taken(struct pawl__backend *b, const struct pawl__set *set)
{
    const struct pawl__list *keys = &set->lists[PAWL__TABLE_KEY_NEW];
    for (size_t i = 0; i < set->row_count; i++) {
        const struct pawl__row *row = pawl__set_at(set, i);
        if (row->birth && stored(b, row->id)) return true;
    }
    for (size_t i = 0; i < keys->count; i++) {
        if (is_holder(b, (const struct pawl__key_row *)keys->rows + i)) return true;
    }
    return false;
}

static inline enum pawl_err store(struct pawl__backend *b, struct pawl__set *set)
{
    if (is_taken(b, set)) return PAWL_ERR_BUSY;
    b->stores++;
    for (size_t i = 0; i < set->row_count; i++) {
        const struct pawl__row *row = pawl__set_at(set, i);
        if (!row->wrote && !row->birth) continue;
        struct pawl__row *to = row->birth ? &b->rows[b->count++] : stored(b, row->id);
        int64_t rank = row->birth || row->wrote & PAWL__WROTE_FACTS ? row->rank : to->rank;
        struct pawl_span keys = row->birth ? (struct pawl_span){ "", 0 } : to->keys;
        *to = *row;
        to->rank = rank;
        to->keys = keys; // not the set's memory
        if (row->gone) to->found = PAWL__FOUND_ABSENT;
        to->wrote = to->need = to->gone = 0;
        to->restored = to->end_new = false;
        to->birth = NULL;
    }
    const struct pawl__key_row *news = set->lists[PAWL__TABLE_KEY_NEW].rows;
    for (size_t i = 0; i < set->lists[PAWL__TABLE_KEY_NEW].count; i++) {
        memcpy(b->held[b->held_count].digest, news[i].digest.at, 16);
        b->held[b->held_count++].id = news[i].id;
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

static inline enum pawl_err scan_due(struct pawl__backend *b, enum pawl__due what, int64_t limit,
                                     struct pawl_job_id *ids, size_t *found, bool *more)
{
    (void)what;
    assert_true((int64_t)b->found_count <= limit);
    memcpy(ids, b->found, b->found_count * sizeof *ids);
    *found = b->found_count;
    *more = false;
    return PAWL_OK;
}

static inline enum pawl_err forget_keys(struct pawl__backend *b, int64_t limit)
{
    (void)b, (void)limit;
    return PAWL_OK;
}

static inline enum pawl_err next_due(struct pawl__backend *b, enum pawl__due what, int64_t *at_ms)
{
    (void)b, (void)what;
    *at_ms = 77;
    return PAWL_OK;
}

static inline enum pawl_err match(struct pawl__backend *b, const struct pawl_filter *filter,
                                  int64_t limit, struct pawl__arena *arena,
                                  struct pawl_job_id **ids, size_t *count)
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
    .scan_due = scan_due,
    .next_due = next_due,
    .forget_keys = forget_keys,
    .match = match,
};

static inline struct pawl__backend *open_store(void)
{
    static struct pawl__backend backend;
    backend = (struct pawl__backend){ .count = 0 };
    backend.set = (struct pawl__set){
        .table = &table, .backend = &backend, .now_ms = NOW_MS, .diag = &backend.diag
    };
    pawl__rng_seed(&backend.set.rng, 7);
    assert_int_equal(pawl__catalog_learn_queue(&backend.set.catalog, 1, "mail", false, NULL),
                     PAWL_OK);
    assert_int_equal(pawl__catalog_learn_lane(&backend.set.catalog, 1, 1, "send", NULL), PAWL_OK);
    return &backend;
}

static inline void close_store(struct pawl__backend *b)
{
    assert_true(pawl__set_is_empty(&b->set));
    pawl__set_release(&b->set);
    pawl__arena_release(&b->arena);
}

static inline struct pawl_job_id id_of(uint32_t n)
{
    struct pawl_job_id id = { { 0 } };
    memcpy(id.b + 12,
           (uint8_t[]){ (uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n }, 4);
    return id;
}

static inline struct pawl__row *put(struct pawl__backend *b, uint32_t n, enum pawl_state state)
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

static inline void hold(struct pawl__backend *b, struct pawl__row *row, const char record[17])
{
    row->keys = (struct pawl_span){ record, 17 };
    memcpy(b->held[b->held_count].digest, record + 1, 16);
    b->held[b->held_count++].id = row->id;
}

#define BUSINESS_KEY                                                                               \
    "\x02"                                                                                         \
    "0123456789abcdef"

/* ---- operations ---- */

static inline struct pawl__op fail_op(uint32_t n, int64_t run)
{
    return (struct pawl__op){ .kind = PAWL__OP_FAIL,
                              .fail = { .ref = { id_of(n), run }, .report = { .code = "E" } } };
}

static inline struct pawl__op snooze_op(uint32_t n, int64_t run, int64_t delay_ms)
{
    return (struct pawl__op){ .kind = PAWL__OP_SNOOZE,
                              .snooze = { .ref = { id_of(n), run }, .delay_ms = delay_ms } };
}

static inline struct pawl__op complete_op(uint32_t n, int64_t run)
{
    return (struct pawl__op){ .kind = PAWL__OP_COMPLETE,
                              .complete = { .ref = { id_of(n), run }, .result = { "1", 1 } } };
}

static inline struct pawl__op control_op(uint32_t n, enum pawl_control control)
{
    return (struct pawl__op){ .kind = PAWL__OP_CONTROL,
                              .control = { .id = id_of(n), .control = control } };
}

static inline void run_ops(struct pawl__backend *b, struct pawl__op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(pawl__core_add(&b->set, &ops[i]), PAWL_OK);
    }
    assert_int_equal(pawl__core_run(&b->set), PAWL_OK);
    for (size_t i = 0; i < count; i++) {
        pawl__arena_release(&ops[i].arena);
    }
}

#endif
