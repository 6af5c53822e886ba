/* The rules about nodes, queues, locks, settings and retention, without a database. */
#include "store/core/set.h"

#include "base/diag.h"
#include "base/test_kit.h"

#include <stdio.h>

#define NOW_MS INT64_C(1000000)
#define MEMBER "{\"host\":\"h\",\"lease_ms\":30000}"

enum { NAMES_MAX = 32, TEXT_MAX = 100 };

/* A row that was stored. */
struct kept {
    enum pawl__record_kind kind;
    union pawl__record_row row;
    char name[TEXT_MAX], text[TEXT_MAX];
};

struct pawl__backend {
    struct kept kept[NAMES_MAX];
    size_t count;
    struct pawl__set set;
    struct pawl_diag diag;
    int loads, put[PAWL__TABLES];
    bool held;                      /* another transaction has all locks */
    char runs_end[TEXT_MAX];        /* the newest */
    uint32_t ended[PAWL_STATE_END]; /* how many jobs there are to be retired */
    int64_t asked_before_ms;
    int64_t archived, purged;
};

static struct kept *find(struct pawl__backend *b, enum pawl__record_kind kind, const char *name)
{
    for (size_t i = 0; i < b->count; i++) {
        if (b->kept[i].kind == kind && strcmp(b->kept[i].name, name) == 0) return &b->kept[i];
    }
    return NULL;
}

static const char **text_of(struct kept *kept)
{
    return kept->kind == PAWL__RECORD_NODE    ? &kept->row.node.info
           : kept->kind == PAWL__RECORD_LOCK  ? &kept->row.lock.owner
           : kept->kind == PAWL__RECORD_TOKEN ? &kept->row.token.scopes
                                              : &kept->row.setting.value;
}

static void keep(struct pawl__backend *b, enum pawl__record_kind kind, const void *row,
                 size_t bytes)
{
    const char *name = *(const char *const *)row;
    struct kept *to = find(b, kind, name);
    if (!to) to = &b->kept[b->count++];
    assert_true(b->count <= NAMES_MAX);
    to->kind = kind;
    memcpy(&to->row, row, bytes);
    char text[TEXT_MAX]; // the row may have been read from here
    snprintf(text, sizeof text, "%s", *text_of(to));
    memmove(to->name, name, strlen(name) + 1);
    memcpy(to->text, text, sizeof text);
    to->row.lock.name = to->name;
    *text_of(to) = to->text;
}

static enum pawl_err load_records(struct pawl__backend *b, struct pawl__set *set)
{
    b->loads++;
    for (int kind = 0; kind < PAWL__RECORD_KINDS; kind++) {
        bool turn = kind == PAWL__RECORD_TURN; // of which there are locks
        const struct pawl__list *wanted = &set->records.wanted[kind];
        size_t bytes = pawl__record_shapes[kind].of->bytes;
        for (size_t i = 0; i < wanted->count; i++) {
            const void *key = (const char *)wanted->rows + i * bytes;
            const struct kept *kept = find(b,
                                           turn ? PAWL__RECORD_LOCK : (enum pawl__record_kind)kind,
                                           *(const char *const *)key);
            if (!kept) continue;
            if (turn && b->held) {
                pawl__set_record_held(set, PAWL__RECORD_TURN, key);
            } else {
                (void)pawl__set_record_loaded(set, (enum pawl__record_kind)kind, &kept->row);
            }
        }
    }
    return PAWL_OK;
}

static enum pawl_err load_keys(struct pawl__backend *b, struct pawl__set *set, bool wait)
{
    (void)b, (void)set, (void)wait;
    return PAWL_OK;
}

/* Whatever is asked for is in the archive. */
static enum pawl_err load(struct pawl__backend *b, struct pawl__set *set, bool wait)
{
    (void)b, (void)wait;
    for (size_t i = 0; i < set->unread_count; i++) {
        set->unread[i]->state = PAWL_STATE_CANCELLED;
        set->unread[i]->finished_at_ms = 1;
        pawl__row_loaded(set, set->unread[i], PAWL__FOUND_ARCHIVED);
    }
    return PAWL_OK;
}

static const struct {
    enum pawl__table table;
    enum pawl__record_kind kind;
    bool drop;
} kinds[] = {
    { PAWL__TABLE_NODE_NEW, PAWL__RECORD_NODE, false },
    { PAWL__TABLE_NODE_PUT, PAWL__RECORD_NODE, false },
    { PAWL__TABLE_NODE_DROP, PAWL__RECORD_NODE, true },
    { PAWL__TABLE_LOCK_NEW, PAWL__RECORD_LOCK, false },
    { PAWL__TABLE_LOCK_PUT, PAWL__RECORD_LOCK, false },
    { PAWL__TABLE_TOKEN_NEW, PAWL__RECORD_TOKEN, false },
    { PAWL__TABLE_TOKEN_PUT, PAWL__RECORD_TOKEN, false },
    { PAWL__TABLE_SETTING_NEW, PAWL__RECORD_SETTING, false },
    { PAWL__TABLE_SETTING_PUT, PAWL__RECORD_SETTING, false },
    { PAWL__TABLE_SETTING_DROP, PAWL__RECORD_SETTING, true },
};

static void store_list(struct pawl__backend *b, const struct pawl__set *set, size_t at)
{
    const struct pawl__list *list = &set->lists[kinds[at].table];
    size_t bytes = pawl__set_tables[kinds[at].table].bytes;
    for (size_t i = 0; i < list->count; i++) {
        const void *row = (const char *)list->rows + i * bytes;
        struct kept *kept = find(b, kinds[at].kind, *(const char *const *)row);
        if (!kinds[at].drop) keep(b, kinds[at].kind, row, bytes);
        if (kinds[at].drop && kept) kept->name[0] = '\0';
    }
}

static void note_gone(const struct pawl__list *list, char out[TEXT_MAX])
{
    const struct pawl__gone *gone = list->rows;
    if (list->count) snprintf(out, TEXT_MAX, "%s", gone[list->count - 1].name);
}

static enum pawl_err store(struct pawl__backend *b, struct pawl__set *set)
{
    for (size_t i = 0; i < COUNT(kinds); i++) {
        store_list(b, set, i);
    }
    for (size_t i = 0; i < PAWL__TABLES; i++) {
        b->put[i] += (int)set->lists[i].count;
    }
    note_gone(&set->lists[PAWL__TABLE_RUNS_END], b->runs_end);
    for (size_t i = 0; i < set->row_count; i++) {
        b->archived += (pawl__set_at(set, i)->wrote & PAWL__WROTE_ARCHIVE) != 0;
        b->purged += pawl__set_at(set, i)->gone == PAWL__FOUND_ARCHIVED;
    }
    return PAWL_OK;
}

static bool is_silent(const struct kept *kept, int64_t at_ms)
{
    return kept->name[0] && kept->kind == PAWL__RECORD_NODE && kept->row.node.lease_ms &&
           kept->row.node.alive_until_ms <= at_ms;
}

static bool is_old(const struct kept *kept, int64_t at_ms)
{
    return kept->name[0] && kept->kind == PAWL__RECORD_NODE &&
           kept->row.node.heartbeat_at_ms < at_ms;
}

static enum pawl_err census(struct pawl__backend *b, const char *name, struct pawl_census *out,
                            int64_t *silent)
{
    for (size_t i = 0; i < b->count; i++) {
        const struct kept *kept = &b->kept[i];
        if (kept->kind != PAWL__RECORD_NODE || strcmp(kept->name, name) == 0) continue;
        out->alive += kept->row.node.alive_until_ms > b->set.now_ms;
        *silent += is_silent(kept, b->set.now_ms);
    }
    out->ready = 7;
    return PAWL_OK;
}

static enum pawl_err scan_nodes(struct pawl__backend *b, enum pawl__nodes which, int64_t at_ms,
                                int64_t limit)
{
    bool (*fits)(const struct kept *, int64_t) = which == PAWL__NODES_SILENT ? is_silent : is_old;
    for (size_t i = 0; limit > 0 && i < b->count; i++) {
        if (!fits(&b->kept[i], at_ms)) continue;
        (void)pawl__set_record_loaded(&b->set, PAWL__RECORD_NODE, &b->kept[i].row);
        limit--;
    }
    return PAWL_OK;
}

static enum pawl_err scan_locks(struct pawl__backend *b, const char *owner, int64_t limit)
{
    for (size_t i = 0; limit > 0 && i < b->count; i++) {
        const struct kept *kept = &b->kept[i];
        if (kept->kind != PAWL__RECORD_LOCK || strcmp(kept->row.lock.owner, owner) != 0) continue;
        (void)pawl__set_record_loaded(&b->set, PAWL__RECORD_LOCK, &kept->row);
        limit--;
    }
    return PAWL_OK;
}

static enum pawl_err scan_ended(struct pawl__backend *b, const struct pawl__ended *what, bool *more)
{
    b->asked_before_ms = what->before_ms;
    assert_int_equal(what->kept_until_ms, b->set.now_ms);
    *more = false;
    for (uint32_t i = 0; i < b->ended[what->state] && (int64_t)i < what->limit; i++) {
        struct pawl_job_id id = { { (uint8_t)what->state, (uint8_t)(i >> 8), (uint8_t)i } };
        if (what->archived) pawl__set_scanned(&b->set, id, PAWL__NEED_KEYS);
        if (!what->archived) (void)pawl__set_ended(&b->set, id, 0, what->state);
    }
    return PAWL_OK;
}

/* There are no flows. */
static enum pawl_err scan_ended_flows(struct pawl__backend *b, const struct pawl__ended *what)
{
    assert_int_equal(what->kept_until_ms, b->set.now_ms);
    return PAWL_OK;
}

/* A name with a "?" cannot be stored here. */
static enum pawl_err queue(struct pawl__backend *b, const char *name, struct pawl_diag *diag)
{
    if (strchr(name, '?')) return pawl__fail(diag, PAWL_ERR_ARG, "not a name");
    return pawl__catalog_learn_queue(&b->set.catalog, b->set.catalog.queue_count + 1, name, false,
                                     diag);
}

static const struct pawl__core_table table = {
    .queue = queue,
    .load_records = load_records,
    .load_keys = load_keys,
    .load = load,
    .store = store,
    .census = census,
    .scan_nodes = scan_nodes,
    .scan_locks = scan_locks,
    .scan_ended = scan_ended,
    .scan_ended_flows = scan_ended_flows,
};

static struct pawl__backend *open_store(void)
{
    static struct pawl__backend backend;
    backend = (struct pawl__backend){ .count = 0 };
    backend.set = (struct pawl__set){
        .table = &table, .backend = &backend, .now_ms = NOW_MS, .diag = &backend.diag
    };
    assert_int_equal(pawl__catalog_learn_queue(&backend.set.catalog, 1, "mail", false, NULL),
                     PAWL_OK);
    assert_int_equal(pawl__catalog_learn_lane(&backend.set.catalog, 1, 1, "send", NULL), PAWL_OK);
    return &backend;
}

static void close_store(struct pawl__backend *b)
{
    assert_true(pawl__set_is_empty(&b->set) && b->set.records.count == 0);
    pawl__set_release(&b->set);
}

/* Alone, or together with others where that is possible. */
static void run_ops(struct pawl__backend *b, struct pawl__op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ops[i].diag = &b->diag;
        ops[i].now_ms = b->set.now_ms;
        if (pawl__core_decides(&ops[i])) {
            assert_int_equal(pawl__core_add(&b->set, &ops[i]), PAWL_OK);
        } else {
            assert_int_equal(pawl__core_scan(&b->set, &ops[i]), PAWL_OK);
        }
    }
    assert_int_equal(pawl__core_run(&b->set), PAWL_OK);
}

static struct pawl__op node_op(enum pawl__op_kind kind, const char *name, int64_t started_at_ms)
{
    return (struct pawl__op){
        .kind = kind, .node = { .name = name, .info = MEMBER, .started_at_ms = started_at_ms }
    };
}

static struct pawl__op lock_op(enum pawl__op_kind kind, const char *name, const char *owner)
{
    return (struct pawl__op){ .kind = kind,
                              .lock = { .name = name, .owner = owner, .ttl_ms = 1000 } };
}

/* Two locks of one owner, and one of another. */
static void take_locks(struct pawl__backend *b, const char *owner)
{
    struct pawl__op ops[] = { lock_op(PAWL__OP_LOCK_TRY, "first", owner),
                              lock_op(PAWL__OP_LOCK_TRY, "other", "somebody else"),
                              lock_op(PAWL__OP_LOCK_TRY, "second", owner) };
    run_ops(b, ops, COUNT(ops));
    for (size_t i = 0; i < COUNT(ops); i++) {
        assert_int_equal(ops[i].err, PAWL_OK);
    }
}

static void expect_locks(struct pawl__backend *b, const char *owner)
{
    static const char *const names[] = { "first", "second" };
    for (size_t i = 0; i < COUNT(names); i++) {
        const struct pawl__lock *lock = &find(b, PAWL__RECORD_LOCK, names[i])->row.lock;
        assert_string_equal(lock->owner, owner);
        assert_int_equal(lock->fence, 1);
        assert_int_equal(lock->expires_at_ms != 0, *owner != '\0');
    }
    const struct pawl__lock *other = &find(b, PAWL__RECORD_LOCK, "other")->row.lock;
    assert_string_equal(other->owner, "somebody else");
}

static const struct pawl__node *node_of(struct pawl__backend *b, const char *name)
{
    const struct kept *kept = find(b, PAWL__RECORD_NODE, name);
    assert_non_null(kept);
    return &kept->row.node;
}

/* ---- nodes ---- */

static void a_name_is_free_when_its_lease_is_over(void **state)
{
    struct pawl__backend *b = open_store();
    struct pawl__op join = node_op(PAWL__OP_NODE_JOIN, "n", 0);
    run_ops(b, &join, 1);
    assert_int_equal(join.err, PAWL_OK);
    assert_int_equal(join.node.started_at_ms, NOW_MS);
    assert_int_equal(node_of(b, "n")->alive_until_ms, NOW_MS + 30000);
    assert_int_equal(node_of(b, "n")->lease_ms, 30000);
    assert_int_equal(b->put[PAWL__TABLE_NODE_NEW], 1);
    assert_int_equal(b->put[PAWL__TABLE_RUNS_END], 0);
    take_locks(b, "n");
    b->set.now_ms += 29999;
    run_ops(b, &join, 1);
    assert_int_equal(join.err, PAWL_ERR_HELD);
    assert_non_null(strstr(b->diag.text, "29999 ms ago"));
    expect_locks(b, "n");
    b->set.now_ms += 1;
    run_ops(b, &join, 1);
    assert_int_equal(join.err, PAWL_OK);
    assert_string_equal(b->runs_end, "n");
    expect_locks(b, "");
    assert_int_equal(b->put[PAWL__TABLE_NODE_PUT], 1);
    close_store(b);
}

static void only_the_newest_start_is_heard(void **state)
{
    struct pawl__backend *b = open_store();
    struct pawl__op put[] = { node_op(PAWL__OP_NODE_PUT, "n", 5),
                              node_op(PAWL__OP_NODE_PUT, "n", 6),
                              node_op(PAWL__OP_NODE_PUT, "n", 5) };
    run_ops(b, put, 3);
    assert_int_equal(put[1].err, PAWL_OK);
    assert_int_equal(put[1].node.census.alive, 1);
    assert_int_equal(put[1].node.census.ready, 7);
    assert_int_equal(put[2].err, PAWL_ERR_STALE);
    assert_int_equal(put[2].node.census.alive, 0);
    take_locks(b, "n");
    struct pawl__op drop[] = { node_op(PAWL__OP_NODE_DROP, "n", 5),
                               node_op(PAWL__OP_NODE_DROP, "n", 6),
                               node_op(PAWL__OP_NODE_DROP, "n", 0) };
    run_ops(b, drop, 3);
    assert_int_equal(drop[0].err, PAWL_ERR_NOT_FOUND);
    assert_int_equal(drop[1].err, PAWL_OK);
    assert_int_equal(drop[2].err, PAWL_ERR_NOT_FOUND);
    expect_locks(b, "");
    assert_int_equal(b->put[PAWL__TABLE_RUNS_END], 0); // its jobs may still be reported
    close_store(b);
}

static void old_nodes_are_forgotten_when_one_joins(void **state)
{
    enum { DAY_MS = 86400000 };
    struct pawl__backend *b = open_store();
    struct pawl__op join[] = { node_op(PAWL__OP_NODE_JOIN, "a", 0),
                               node_op(PAWL__OP_NODE_JOIN, "b", 0),
                               node_op(PAWL__OP_NODE_JOIN, "c", 0) };
    run_ops(b, &join[0], 1);
    run_ops(b, &join[2], 1);
    b->set.now_ms += DAY_MS;
    run_ops(b, &join[1], 1);
    assert_non_null(find(b, PAWL__RECORD_NODE, "a")); // not yet
    b->set.now_ms += 1;
    run_ops(b, &join[0], 1); // it was as old itself
    assert_int_equal(join[0].err, PAWL_OK);
    assert_non_null(find(b, PAWL__RECORD_NODE, "a"));
    assert_non_null(find(b, PAWL__RECORD_NODE, "b"));
    assert_null(find(b, PAWL__RECORD_NODE, "c"));
    close_store(b);
}

static void silent_nodes_are_given_up_unless_they_said_no_lease(void **state)
{
    struct pawl__backend *b = open_store();
    struct pawl__op put[] = { node_op(PAWL__OP_NODE_PUT, "a", 5),
                              node_op(PAWL__OP_NODE_PUT, "gone", 5),
                              node_op(PAWL__OP_NODE_PUT, "php", 5),
                              node_op(PAWL__OP_NODE_PUT, "odd", 5) };
    put[2].node.info = "php 8";
    put[3].node.info = "{\"lease_ms\":-3}";
    run_ops(b, put, 4);
    assert_int_equal(put[3].node.census.alive, 4);
    take_locks(b, "gone");
    b->set.now_ms += 30000;
    run_ops(b, put, 1);
    assert_int_equal(put[0].node.census.alive, 1);
    assert_int_equal(put[0].node.census.given_up, 1);
    assert_string_equal(b->runs_end, "gone");
    expect_locks(b, "");
    assert_string_equal(node_of(b, "gone")->info, "{\"host\":\"h\",\"lapsed_lease_ms\":30000}");
    assert_int_equal(node_of(b, "gone")->started_at_ms, 6);
    run_ops(b, put, 2);
    assert_int_equal(put[0].node.census.given_up, 0); // once
    assert_int_equal(put[1].err, PAWL_ERR_STALE);     // and hears of it
    struct pawl__op join = node_op(PAWL__OP_NODE_JOIN, "gone", 0);
    run_ops(b, &join, 1);
    assert_int_equal(join.err, PAWL_OK); // at once: the name is free
    close_store(b);
}

/* ---- queues ---- */

static struct pawl__op pause_op(const char *name, bool paused)
{
    return (struct pawl__op){ .kind = PAWL__OP_QUEUE_PAUSE,
                              .queue = { .queue = name, .paused = paused } };
}

static void pause_is_written_and_seen_at_once(void **state)
{
    struct pawl__backend *b = open_store();
    struct pawl__op pause = pause_op("mail", true), resume = pause_op("mail", false);
    run_ops(b, &pause, 1);
    assert_int_equal(pause.err, PAWL_OK);
    assert_int_equal(b->put[PAWL__TABLE_QUEUE_PUT], 1);
    assert_int_equal(b->put[PAWL__TABLE_AUDIT], 1);
    assert_true(pawl__catalog_queue(&b->set.catalog, "mail")->paused);
    assert_false(b->set.notices.ready);
    run_ops(b, &resume, 1);
    assert_int_equal(b->put[PAWL__TABLE_QUEUE_PUT], 2);
    assert_false(pawl__catalog_queue(&b->set.catalog, "mail")->paused);
    assert_true(b->set.notices.ready); // what waits there can be claimed
    close_store(b);
}

static void pause_of_no_queue_is_refused_alone(void **state)
{
    struct pawl__backend *b = open_store();
    struct pawl__op ops[] = { pause_op("?", true), pause_op("mail", true) };
    run_ops(b, ops, 2);
    assert_int_equal(ops[0].err, PAWL_ERR_ARG);
    assert_int_equal(ops[1].err, PAWL_OK);
    assert_int_equal(b->put[PAWL__TABLE_QUEUE_PUT], 1);
    assert_int_equal(b->put[PAWL__TABLE_AUDIT], 1);
    close_store(b);
}

/* ---- locks ---- */

static void operations_on_a_lock_see_those_before_them(void **state)
{
    struct pawl__backend *b = open_store();
    struct pawl__op ops[] = {
        lock_op(PAWL__OP_LOCK_TRY, "l", "a"),     lock_op(PAWL__OP_LOCK_TRY, "l", "b"),
        lock_op(PAWL__OP_LOCK_TRY, "m", "b"),     lock_op(PAWL__OP_LOCK_TRY, "l", "a"),
        lock_op(PAWL__OP_LOCK_RELEASE, "l", "b"), lock_op(PAWL__OP_LOCK_RELEASE, "l", "a"),
        lock_op(PAWL__OP_LOCK_RENEW, "l", "a"),   lock_op(PAWL__OP_LOCK_TRY, "l", "b"),
        lock_op(PAWL__OP_LOCK_RENEW, "n", "a"),
    };
    static const enum pawl_err errs[] = { PAWL_OK,        PAWL_ERR_HELD,  PAWL_OK,
                                          PAWL_OK,        PAWL_ERR_STALE, PAWL_OK,
                                          PAWL_ERR_STALE, PAWL_OK,        PAWL_ERR_STALE };
    run_ops(b, ops, COUNT(ops));
    for (size_t i = 0; i < COUNT(ops); i++) {
        assert_int_equal(ops[i].err, errs[i]);
    }
    assert_int_equal(b->loads, 1);
    assert_int_equal(ops[3].lock.fence, 2);
    assert_int_equal(ops[7].lock.fence, 3);
    assert_int_equal(b->put[PAWL__TABLE_LOCK_NEW], 2); // one row a lock, and none for "n"
    const struct pawl__lock *lock = &find(b, PAWL__RECORD_LOCK, "l")->row.lock;
    assert_string_equal(lock->owner, "b");
    assert_int_equal(lock->expires_at_ms, NOW_MS + 1000);
    close_store(b);
}

static void a_lock_that_ran_out_is_taken_and_not_renewed(void **state)
{
    struct pawl__backend *b = open_store();
    struct pawl__op take = lock_op(PAWL__OP_LOCK_TRY, "l", "a");
    run_ops(b, &take, 1);
    b->set.now_ms += 1000;
    struct pawl__op ops[] = { lock_op(PAWL__OP_LOCK_RENEW, "l", "a"),
                              lock_op(PAWL__OP_LOCK_TRY, "l", "b") };
    run_ops(b, ops, 2);
    assert_int_equal(ops[0].err, PAWL_ERR_STALE);
    assert_int_equal(ops[1].err, PAWL_OK);
    assert_int_equal(ops[1].lock.fence, 2);
    assert_int_equal(b->put[PAWL__TABLE_LOCK_PUT], 1);
    close_store(b);
}

/* ---- settings ---- */

static void of_a_setting_the_last_value_counts(void **state)
{
    struct pawl__backend *b = open_store();
    static const char *const values[][2] = {
        { "a", "1" }, { "b", "" }, { "a", "2" }, { "c", "3" }
    };
    struct pawl__op ops[COUNT(values) + 1];
    for (size_t i = 0; i < COUNT(values); i++) {
        ops[i] = (struct pawl__op){ .kind = PAWL__OP_SETTING_PUT,
                                    .setting = { .name = values[i][0], .value = values[i][1] } };
    }
    ops[COUNT(values)] =
        (struct pawl__op){ .kind = PAWL__OP_SETTING_PUT, .setting = { .name = "c" } };
    run_ops(b, ops, COUNT(ops));
    assert_string_equal(find(b, PAWL__RECORD_SETTING, "a")->row.setting.value, "2");
    assert_string_equal(find(b, PAWL__RECORD_SETTING, "b")->row.setting.value, "");
    assert_null(find(b, PAWL__RECORD_SETTING, "c"));
    assert_int_equal(b->loads, 1);
    close_store(b);
}

/* ---- tokens ---- */

static void a_use_never_takes_back_a_revocation(void **state)
{
    struct pawl__backend *b = open_store();
    static const char hash[32];
    static const struct pawl_token tokens[] = {
        { .id = "t", .used_at_ms = 1 }, // not there yet
        { .id = "t", .scopes = "read", .hash = { hash, sizeof hash }, .created_at_ms = 2 },
        { .id = "t", .revoked_at_ms = 30 },
        { .id = "t", .revoked_at_ms = 31 },
        { .id = "t", .scopes = "admin", .hash = { hash, sizeof hash }, .used_at_ms = 9 },
        { .id = "t", .used_at_ms = 8 },
    };
    struct pawl__op ops[COUNT(tokens)];
    for (size_t i = 0; i < COUNT(tokens); i++) {
        ops[i] = (struct pawl__op){ .kind = PAWL__OP_TOKEN_PUT, .token = &tokens[i] };
    }
    run_ops(b, ops, COUNT(ops));
    for (size_t i = 0; i < COUNT(ops); i++) {
        assert_int_equal(ops[i].err, i ? PAWL_OK : PAWL_ERR_NOT_FOUND);
    }
    const struct pawl_token *token = &find(b, PAWL__RECORD_TOKEN, "t")->row.token;
    assert_string_equal(token->scopes, "read");
    assert_int_equal(token->created_at_ms, 2);
    assert_int_equal(token->revoked_at_ms, 30);
    assert_int_equal(token->used_at_ms, 9);
    assert_int_equal(b->put[PAWL__TABLE_TOKEN_NEW], 1);
    close_store(b);
}

static struct pawl__record *want(struct pawl__backend *b, enum pawl__record_kind kind,
                                 const char *name)
{
    return pawl__set_want_record(&b->set, kind, &(union pawl__record_row){ .lock.name = name });
}

static void rows_are_found_among_many(void **state)
{
    struct pawl__backend *b = open_store();
    struct pawl__record *wanted[1000];
    char names[1000][16];
    for (size_t i = 0; i < COUNT(wanted); i++) {
        snprintf(names[i], sizeof names[i], "%zu", i);
        wanted[i] = want(b, PAWL__RECORD_LOCK, names[i]);
    }
    assert_int_equal(b->set.records.unread, COUNT(wanted));
    for (size_t i = 0; i < COUNT(wanted); i++) {
        assert_ptr_equal(want(b, PAWL__RECORD_LOCK, names[i]), wanted[i]);
        assert_ptr_not_equal(want(b, PAWL__RECORD_SETTING, names[i]), wanted[i]);
    }
    assert_int_equal(b->set.records.wanted[PAWL__RECORD_LOCK].count, COUNT(wanted));
    pawl__set_clear(&b->set);
    close_store(b);
}

/* ---- retention ---- */

static struct pawl__op retire_op(enum pawl__op_kind kind, const char *owner, int64_t limit)
{
    return (struct pawl__op){ .kind = kind,
                              .retire = { .states = ~UINT32_C(0),
                                          .age_ms = 400,
                                          .limit = limit,
                                          .owner = owner,
                                          .pause_ms = 1000 } };
}

static void jobs_are_retired_up_to_a_limit(void **state)
{
    struct pawl__backend *b = open_store();
    b->ended[PAWL_STATE_COMPLETED] = 3;
    b->ended[PAWL_STATE_CANCELLED] = 5;
    struct pawl__op some = retire_op(PAWL__OP_ARCHIVE, NULL, 7);
    struct pawl__op all = retire_op(PAWL__OP_ARCHIVE, NULL, 1000000);
    run_ops(b, &some, 1);
    assert_int_equal(some.retire.moved, 7);
    assert_true(some.retire.more);
    assert_int_equal(b->asked_before_ms, NOW_MS - 400);
    assert_int_equal(b->archived, 7);
    assert_int_equal(b->set.catalog.lanes[0]->delta[PAWL_STATE_COMPLETED], -3);
    assert_int_equal(b->set.catalog.lanes[0]->delta[PAWL_STATE_CANCELLED], -4);
    assert_int_equal(b->set.catalog.lanes[0]->delta[PAWL_STATE_NONE], 7);
    run_ops(b, &all, 1);
    assert_int_equal(all.retire.moved, 8);
    assert_false(all.retire.more);
    b->ended[PAWL_STATE_CANCELLED] = 5000;
    run_ops(b, &all, 1);
    assert_int_equal(all.retire.moved, PAWL__MAINTENANCE_MAX);
    assert_true(all.retire.more);
    struct pawl__op none = retire_op(PAWL__OP_PURGE, NULL, 0);
    run_ops(b, &none, 1);
    assert_int_equal(none.retire.moved, 0);
    struct pawl__op purge = retire_op(PAWL__OP_PURGE, NULL, 4);
    purge.retire.states = PAWL_STATE_BIT(PAWL_STATE_CANCELLED);
    run_ops(b, &purge, 1);
    assert_int_equal(purge.retire.moved, 4);
    assert_int_equal(b->purged, 4);
    close_store(b);
}

static void one_owner_at_a_time_retires(void **state)
{
    struct pawl__backend *b = open_store();
    b->ended[PAWL_STATE_COMPLETED] = 1;
    struct pawl__op a = retire_op(PAWL__OP_ARCHIVE, "a", 10);
    struct pawl__op other = retire_op(PAWL__OP_ARCHIVE, "b", 10);
    struct pawl__op purge = retire_op(PAWL__OP_PURGE, "b", 10);
    run_ops(b, &a, 1);
    run_ops(b, &other, 1);
    run_ops(b, &purge, 1);
    assert_int_equal(a.retire.moved, 1);
    assert_int_equal(other.retire.moved, 0);
    assert_int_equal(purge.retire.moved, 1); // has a lock of its own
    b->set.now_ms += 1000;
    run_ops(b, &other, 1);
    assert_int_equal(other.retire.moved, 1);
    close_store(b);
}

/* Held is neither free nor absent: the lock is not even written. */
static void a_turn_that_another_transaction_has_is_not_waited_for(void **state)
{
    struct pawl__backend *b = open_store();
    b->ended[PAWL_STATE_COMPLETED] = 1;
    struct pawl__op first = retire_op(PAWL__OP_ARCHIVE, "a", 10);
    struct pawl__op next = retire_op(PAWL__OP_ARCHIVE, "b", 10);
    run_ops(b, &first, 1);
    b->set.now_ms += 1000;
    b->held = true;
    run_ops(b, &next, 1);
    assert_int_equal(next.retire.moved, 0);
    assert_false(next.retire.more);
    assert_int_equal(b->put[PAWL__TABLE_LOCK_NEW] + b->put[PAWL__TABLE_LOCK_PUT], 1);
    b->held = false;
    run_ops(b, &next, 1);
    assert_int_equal(next.retire.moved, 1);
    close_store(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_free_when_its_lease_is_over),
        cmocka_unit_test(only_the_newest_start_is_heard),
        cmocka_unit_test(old_nodes_are_forgotten_when_one_joins),
        cmocka_unit_test(silent_nodes_are_given_up_unless_they_said_no_lease),
        cmocka_unit_test(pause_is_written_and_seen_at_once),
        cmocka_unit_test(pause_of_no_queue_is_refused_alone),
        cmocka_unit_test(operations_on_a_lock_see_those_before_them),
        cmocka_unit_test(a_lock_that_ran_out_is_taken_and_not_renewed),
        cmocka_unit_test(of_a_setting_the_last_value_counts),
        cmocka_unit_test(a_use_never_takes_back_a_revocation),
        cmocka_unit_test(rows_are_found_among_many),
        cmocka_unit_test(jobs_are_retired_up_to_a_limit),
        cmocka_unit_test(one_owner_at_a_time_retires),
        cmocka_unit_test(a_turn_that_another_transaction_has_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
